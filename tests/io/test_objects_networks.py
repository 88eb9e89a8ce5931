"""Live layers and networks of torch, transformers, TransformerLens and Keras."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from example_files import refusal
from imitations import Tensor, imitation

from embaudit.errors import InputError
from embaudit.io import load
from embaudit.model import LINKS, Link, softmax_link

DRAW = np.random.default_rng(7)
USERS, ITEMS, A, B = (
    DRAW.normal(size=(6, 3)),
    DRAW.normal(size=(8, 3)),
    DRAW.normal(size=6),
    DRAW.normal(size=8),
)
MODULE = "torch.nn.modules.module.Module"
LINEAR = ("torch.nn.modules.linear.Linear", MODULE)
SCORES = USERS @ ITEMS.T
OTHER_SCORES = (
    r"scores read from Net must equal its own scores; got .* where its forward says"
)
"""The refusal of a network that predicts other scores than its factors."""


def unimplemented(_: Any, *inputs: Any) -> None: ...


def module(state: Any, forward: Any = unimplemented, **attributes: Any) -> Any:
    tensors = {key: Tensor(value) for key, value in state.items()}
    made = imitation(
        "mine.Net", MODULE, state_dict=lambda _: tensors, forward=forward, **attributes
    )
    type(made).__call__ = forward
    return made


@pytest.mark.parametrize(
    ("link", "fits"), [(None, False), ("sigmoid", True), ("identity", False)]
)
def test_what_a_network_makes_of_a_user_and_an_item_is_held_against_its_factors(
    link: str | None, fits: bool
) -> None:
    def forward(_: Any, user: Any, item: Any) -> Tensor:
        return Tensor(1 / (1 + np.exp(-SCORES[user.array, item.array])))

    net = module({"user_emb.weight": USERS, "item_emb.weight": ITEMS}, forward)
    options = {} if link is None else {"link": link}
    if fits:
        assert load(net, **options).link == LINKS["sigmoid"]
    else:
        with pytest.raises(InputError, match=OTHER_SCORES):
            load(net, **options)


def test_row_numbers_of_half_precision_are_not_rounded() -> None:
    users, items = np.arange(4002.0)[:, None] % 7, np.arange(3.0)[:, None] + 1
    forward = lambda _, user, item: Tensor(  # noqa: E731
        (users[user.array] * items[item.array]).sum(axis=1)
    )
    net = module({"user_emb.weight": users, "item_emb.weight": items}, forward)
    for tensor in net.state_dict().values():
        tensor.dtype = "torch.float16"
    assert load(net).n_left == 4002


class Batched:
    """A network whose `forward` takes a batch: two tables of rows, or a head, in layers
    that can be watched.
    """

    def __new__(
        cls, state: Any, layers: dict[str, Any], score: Any, **attributes: Any
    ) -> Any:
        watched: dict[str, Any] = {}

        def forward(_: Any, batch: Any) -> Any:
            reaching = [pick(batch.array) for pick in layers.values()]
            for name, rows in zip(layers, reaching, strict=True):
                if name in watched:
                    watched[name](None, (Tensor(rows),))
            return Tensor(score(*reaching))

        def layer(_: Any, name: str) -> Any:
            def watch(hook: Any) -> Any:
                watched[name] = hook
                return SimpleNamespace(remove=lambda: watched.pop(name))

            return SimpleNamespace(register_forward_pre_hook=watch)

        return module(state, forward, get_submodule=layer, **attributes)


TOWERS = {"user_emb": lambda batch: batch[:, 0], "item_emb": lambda batch: batch[:, 1]}
PAIRS = np.array([[0, 1], [5, 7], [2, 2]])


@pytest.mark.parametrize(("off", "fits"), [(0.0, True), (3.5, False)])
def test_example_inputs_show_what_a_network_of_batches_predicts(
    off: float, fits: bool
) -> None:
    state = {"user_emb.weight": USERS, "item_emb.weight": ITEMS}
    net = Batched(state, TOWERS, lambda users, items: SCORES[users, items] + off)
    message = (
        r'got forward\(batch\), which was not called; .* or say link="identity" if'
    )
    with pytest.raises(InputError, match=message):
        load(net)
    if fits:
        assert load(net, inputs=PAIRS).left_side is not None
    else:
        with pytest.raises(InputError, match=OTHER_SCORES):
            load(net, inputs=PAIRS)
    assert load(net, link="identity").n_left == 6
    trains = Batched(
        state, TOWERS, lambda users, items: SCORES[users, items], training=True
    )
    with pytest.raises(
        InputError,
        match=r"in evaluation mode; got a network in training mode; call its "
        r"eval\(\) first",
    ):
        load(trains, inputs=PAIRS)
    alone = Batched(state, TOWERS, lambda users, _: SCORES[users])
    with pytest.raises(
        InputError,
        match="the outputs of Net must be one score per pair; got 8 for 3 pairs",
    ):
        load(alone, inputs=PAIRS)


@pytest.mark.parametrize("last", ["logits", "softmax", "log", "sigmoid"])
def test_example_inputs_reach_a_head(last: str) -> None:
    def score(states: Any) -> Any:
        logits = states @ ITEMS.T + B
        softmax = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        return {
            "logits": logits,
            "softmax": softmax,
            "log": np.log(softmax),
            "sigmoid": 1 / (1 + np.exp(-logits)),
        }[last]

    layers = {"classifier": lambda batch: np.tanh(batch)}
    net = Batched({"classifier.weight": ITEMS, "classifier.bias": B}, layers, score)
    if last != "sigmoid":
        np.testing.assert_allclose(
            load(net, inputs=USERS).left, np.tanh(USERS), atol=1e-12
        )
        with pytest.raises(
            InputError, match='or say kind="head" if a softmax follows the product'
        ):
            load(net)
        return
    with pytest.raises(
        InputError, match="scores read from Net must equal its own scores"
    ):
        load(net, inputs=USERS)
    assert load(net, inputs=USERS, link="sigmoid").link == LINKS["sigmoid"]
    other = Batched({"classifier.weight": ITEMS}, layers, lambda states: states)
    with pytest.raises(
        InputError,
        match=r"outputs of Net must be 8 scores per input, one per label; got \(6, 3\)",
    ):
        load(other, inputs=USERS)


def language_model(
    state: Any, config: dict[str, Any], head: Any, **attributes: Any
) -> Any:
    said = SimpleNamespace(to_dict=lambda: config, **config)
    return imitation(
        "transformers.models.gemma2.modeling_gemma2.Gemma2ForCausalLM",
        MODULE,
        "transformers.modeling_utils.PreTrainedModel",
        config=said,
        get_output_embeddings=lambda _: head,
        state_dict=lambda _: {name: Tensor(x) for name, x in state.items()},
        **attributes,
    )


def test_input_embeddings_are_no_head() -> None:
    state = {"embeddings.word_embeddings.weight": ITEMS, "wte.weight": ITEMS}
    words = SimpleNamespace(weight=Tensor(ITEMS))
    bare = language_model(state, {}, None, get_input_embeddings=lambda _: words)
    with pytest.raises(
        InputError,
        match=r"a model with a head; got Gemma2ForCausalLM; load it with its head, "
        r"or pass",
    ):
        load(bare)
    vectors = load(bare, kind="vectors")
    assert (vectors.link, vectors.n_right) == (LINKS["identity"], 8)


@pytest.mark.parametrize(
    "name",
    ["HookedTransformer.HookedTransformer", "model_bridge.bridge.TransformerBridge"],
)
@pytest.mark.parametrize(
    ("cap", "link"),
    [
        (-1.0, LINKS["softmax"]),
        (None, LINKS["softmax"]),
        (15.0, softmax_link(soft_cap=15.0)),
    ],
)
def test_transformer_lens_holds_a_column_a_token(
    cap: float | None, link: Link, name: str
) -> None:
    unembed = SimpleNamespace(W_U=Tensor(ITEMS.T), b_U=Tensor(B))
    model = imitation(
        f"transformer_lens.{name}",
        MODULE,
        unembed=unembed,
        cfg=SimpleNamespace(output_logits_soft_cap=cap),
    )
    head = load(model, inputs=USERS)
    np.testing.assert_allclose(head.scores(), SCORES + B, atol=1e-12)
    assert head.link == link


def dense(activation: str, kernel: Any = ITEMS.T, bias: Any = B) -> Any:
    variable = SimpleNamespace(numpy=lambda: bias)
    return imitation(
        "keras.src.layers.core.dense.Dense",
        MODULE,
        kernel=SimpleNamespace(numpy=lambda: kernel),
        bias=None if bias is None else variable,
        activation=SimpleNamespace(__name__=activation),
    )


@pytest.mark.parametrize(
    ("activation", "link"),
    [("softmax", "softmax"), ("linear", "softmax"), ("sigmoid", "sigmoid")],
)
def test_dense_of_keras_holds_a_column_a_label(activation: str, link: str) -> None:
    model = load(dense(activation), inputs=USERS)
    np.testing.assert_allclose(model.scores(), SCORES + B, atol=1e-12)
    assert (model.link.name, model.roles) == (link, ("input", "label"))
    assert load(dense(activation, bias=None)).right_bias is None


def test_dense_of_keras_that_is_no_head() -> None:
    one = load(dense("sigmoid", ITEMS[:1].T, B[:1]), inputs=USERS)
    np.testing.assert_allclose(one.scores()[:, 1], USERS @ ITEMS[0] + B[0], atol=1e-12)
    with pytest.raises(
        InputError,
        match="must be scores of at least 2 labels; got one score; pass kind",
    ):
        load(dense("linear", ITEMS[:1].T, B[:1]))
    message = "activation of a Dense layer must be softmax, sigmoid or linear; got relu"
    with pytest.raises(InputError, match=message):
        load(dense("relu"))


# One example of each kind of layer and network


ROWS = np.arange(8.0).reshape(4, 2)


def layer_of_torch(name: str, **attributes: Any) -> Any:
    return imitation(f"torch.nn.modules.{name}", MODULE, **attributes)


def linear(weight: Any, bias: Any = None) -> Any:
    biases = None if bias is None else Tensor(bias)
    return layer_of_torch("linear.Linear", weight=Tensor(weight), bias=biases)


def test_a_linear_layer_is_a_head_with_its_bias() -> None:
    head = load(linear(ROWS, bias=np.array([0.0, 1.0, 2.0, 3.0])))
    assert head.link.name == "softmax"
    assert head.right.tolist() == ROWS.tolist()
    assert head.right_bias.tolist() == [0, 1, 2, 3]


def test_labels_name_the_rows_of_a_linear_layer() -> None:
    labels = ["a", "b", "c", "d"]
    layer = linear(ROWS, bias=np.zeros(4))
    assert load(layer, labels=labels).names("right").tolist() == labels


def test_a_linear_layer_scores_its_inputs() -> None:
    head = load(linear(ROWS), inputs=np.array([[1.0, 1.0]]))
    # This input sums up each row of (0, 1), (2, 3), (4, 5) and (6, 7).
    assert head.scores().tolist() == [[1, 5, 9, 13]]


def test_a_linear_layer_of_one_output_is_a_head_only_if_asked() -> None:
    """Its score is the logit of the second of two labels."""
    layer = linear(ROWS[1:2])
    sentence = refusal(load, layer)
    assert "at least 2 labels; got one score; pass kind=" in sentence
    head = load(layer, kind="head")
    assert head.right.tolist() == [[0, 0], [2, 3]]


def test_a_linear_layer_of_one_output_is_one_vector_if_vectors_are_asked_for() -> None:
    vectors = load(linear(ROWS[1:2], np.array([5.0])), kind="vectors")
    assert vectors.right.tolist() == [[2, 3]]
    assert vectors.right_bias is None


@pytest.mark.parametrize("name", ["sparse.Embedding", "sparse.EmbeddingBag"])
def test_an_embedding_is_vectors_unless_it_is_called_a_head(name: str) -> None:
    layer = layer_of_torch(name, weight=Tensor(ROWS))
    assert load(layer).link.name == "identity"
    assert load(layer).right.tolist() == ROWS.tolist()
    assert load(layer, kind="head").link.name == "softmax"


def test_wrappers_of_a_model_are_opened() -> None:
    """`torch.compile`, DataParallel and PEFT keep the model inside another object."""
    layer = layer_of_torch("sparse.Embedding", weight=Tensor(ROWS))
    parallel = imitation("torch.nn.parallel.DataParallel", MODULE, module=layer)
    compiled = imitation(
        "torch._dynamo.eval_frame.OptimizedModule", MODULE, _orig_mod=parallel
    )
    tuned = imitation(
        "peft.peft_model.PeftModel", MODULE, get_base_model=lambda _: layer
    )
    for wrapped in (parallel, compiled, tuned):
        assert load(wrapped).right.tolist() == ROWS.tolist()


def test_a_language_model_has_a_head_a_cap_and_a_final_norm() -> None:
    head = SimpleNamespace(weight=Tensor(ROWS), bias=Tensor(np.arange(4.0)))
    config = {"model_type": "llama", "final_logit_softcapping": 30.0}
    state = {"model.norm.weight": np.array([0.5, 2.0]), "lm_head.weight": ROWS}
    model = load(language_model(state, config, head))
    assert model.right.tolist() == ROWS.tolist()
    assert model.right_bias.tolist() == [0, 1, 2, 3]
    assert model.link == softmax_link(soft_cap=30.0)
    assert model.final_norm.gain.tolist() == [0.5, 2.0]


def test_classes_of_a_live_classifier_are_named_by_its_configuration() -> None:
    labels = {0: "bad", 1: "good"}
    network = imitation(
        "transformers.LlamaForSequenceClassification",
        MODULE,
        "transformers.modeling_utils.PreTrainedModel",
        config=SimpleNamespace(to_dict=lambda: {"id2label": labels}),
        state_dict=lambda _: {"score.weight": Tensor(ROWS[:2])},
        get_output_embeddings=lambda _: None,
    )
    model = load(network)
    assert model.right.tolist() == ROWS[:2].tolist()
    assert model.names("right").tolist() == ["bad", "good"]


TABLES = {"user_emb.weight": ROWS[:2], "item_emb.weight": ROWS}
HALF = Tensor(ROWS, "torch.bfloat16")
QUANTISED = Tensor(np.ones((3, 2), np.int8))


def watched(forward: Any, state: Any = TABLES) -> Any:
    """Return a network whose layers can be watched while `forward` runs."""
    handle = SimpleNamespace(remove=lambda: None)
    layer = SimpleNamespace(register_forward_pre_hook=lambda _: handle)
    return module(state, forward, get_submodule=lambda *_: layer)


@pytest.mark.parametrize(
    ("network", "options", "part"),
    [
        (
            layer_of_torch("linear.Linear", weight=QUANTISED, bias=None),
            {},
            "got quantised weights; read the network before it is quantised",
        ),
        # A quantised layer of torch gives its weight by a method.
        (
            layer_of_torch("linear.Linear", weight=lambda _: None, bias=None),
            {},
            "got quantised weights; read the network before it is quantised",
        ),
        (linear(ROWS), {"wieght": "x"}, "the nearest one is weight"),
        (linear(ROWS), {"bias": "x"}, "an option for Linear of torch must be one of"),
        (
            layer_of_torch("adaptive.AdaptiveLogSoftmaxWithLoss"),
            {},
            "which has a softmax per cluster of labels",
        ),
        (watched(lambda _, user, item: 3), {}, "one array; got int; say link="),
        (watched(lambda _, user, item: [1.0]), {}, "one array; got list; say link="),
        (watched(lambda _, user, item: [][1]), {}, "inputs that its forward accepts"),
        (
            watched(lambda _, batch: batch),
            {"inputs": ["a"]},
            "numbers, or a dictionary",
        ),
        (
            watched(lambda _, batch: Tensor(ROWS)),
            {"inputs": ROWS},
            "must be in layers that forward calls with an array; got arrays of other",
        ),
        (
            watched(lambda _, batch: batch),
            {},
            "pass example inputs of forward as inputs=",
        ),
    ],
)
def test_networks_that_leave_a_question_are_refused(
    network: Any, options: Any, part: str
) -> None:
    assert part in refusal(load, network, **options)


def test_layers_that_forward_calls_by_keyword_alone_are_refused() -> None:
    """A hook of torch gets only positional arguments: (), if a layer has none."""
    hooks = []

    def register(hook: Any) -> Any:
        hooks.append(hook)
        return SimpleNamespace(remove=lambda: hooks.remove(hook))

    def forward(_: Any, _batch: Any) -> Tensor:
        for hook in hooks:
            hook(None, ())
        return Tensor(ROWS)

    layer = SimpleNamespace(register_forward_pre_hook=register)
    network = module(TABLES, forward, get_submodule=lambda *_: layer)
    assert (
        "must be in layers that forward calls with an array; got arrays of other"
        in refusal(load, network, inputs=ROWS)
    )
    assert not hooks


def test_weights_in_bfloat16_are_read_without_loss() -> None:
    layer = layer_of_torch("linear.Linear", weight=HALF, bias=None)
    head = load(layer)
    assert (head.right.tolist(), head.right.dtype) == (ROWS.tolist(), np.float64)
