"""Networks that do more than multiply by the named arrays are read correctly with the
library, or refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from embaudit.errors import InputError
from embaudit.io import load

if TYPE_CHECKING:
    from pathlib import Path

torch = pytest.importorskip("torch")
BATCH = np.array([[0, 1], [2, 3], [5, 7], [1, 0]])
X = np.random.default_rng(0).normal(size=(7, 5))


class Towers(torch.nn.Module):
    """Two tables, and what `score` makes of a row of each."""

    def __init__(self, score: Any = None, **layers: Any) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.user_embedding, self.item_embedding = (
            torch.nn.Embedding(6, 3),
            torch.nn.Embedding(8, 3),
        )
        self.score = score or (lambda _, left, right: (left * right).sum(-1))
        for name, layer in layers.items():
            setattr(self, name, layer)

    def forward(self, user: Any, item: Any) -> Any:
        return self.score(self, self.user_embedding(user), self.item_embedding(item))


class Batched(Towers):
    """The same, with a `forward` of batches."""

    def forward(self, batch: Any) -> Any:
        users, items = (
            (batch["user"], batch["item"]) if isinstance(batch, dict) else batch.T
        )
        return super().forward(users, items)


def unit(rows: Any) -> Any:
    return torch.nn.functional.normalize(rows, dim=-1)


OTHERS = {
    "normalised": lambda _, left, right: (unit(left) * unit(right)).sum(-1),
    "sigmoid": lambda _, left, right: torch.sigmoid((left * right).sum(-1)),
    "+3.5": lambda _, left, right: (left * right).sum(-1) + 3.5,
    "Euclidean": lambda _, left, right: -((left - right) ** 2).sum(-1),
}


@pytest.mark.parametrize("name", OTHERS)
def test_scores_that_are_no_products_are_seen_by_their_forward(name: str) -> None:
    for network, inputs in (
        (Towers(OTHERS[name]), None),
        (Batched(OTHERS[name]), BATCH),
    ):
        with pytest.raises(
            InputError, match=r"scores read from .* must equal its own scores"
        ):
            load(network.eval(), inputs=inputs)
    links = {"normalised": "cosine", "sigmoid": "sigmoid"}
    if name in links:
        for network, inputs in (
            (Towers(OTHERS[name]), None),
            (Batched(OTHERS[name]), BATCH),
        ):
            assert (
                load(network.eval(), inputs=inputs, link=links[name]).link.name
                == links[name]
            )


def test_what_cannot_be_compared_is_read_with_a_link_alone() -> None:
    network = Batched().eval()
    message = (
        r"compared with the output of forward; got forward\(batch\).* inputs=, "
        r'or say link="ident'
    )
    with pytest.raises(InputError, match=message):
        load(network)
    for options in (
        {"link": "identity"},
        {"inputs": BATCH},
        {"inputs": torch.tensor(BATCH)},
    ):
        assert load(network, **options).n_left == 6
    assert load(network, kind="vectors").n_right == 8
    by_name = {"user": BATCH[:, 0], "item": BATCH[:, 1]}
    assert load(Batched().eval(), inputs=by_name).n_left == 6
    with pytest.raises(
        InputError, match="scores read from Batched must equal its own scores"
    ):
        load(Batched(OTHERS["normalised"]).eval(), inputs=by_name)
    with pytest.raises(InputError, match="the inputs of a network must be numbers"):
        load(Batched().eval(), inputs={"user": ["a"], "item": None})
    with pytest.raises(
        InputError,
        match="the inputs of Batched must be inputs that its forward accepts; got "
        "'item'",
    ):
        load(Batched().eval(), inputs={"user": BATCH[:, 0]})
    with pytest.raises(
        InputError,
        match="the inputs of Batched must be inputs that its forward accepts; got",
    ):
        load(network, inputs=np.array([[0, 99]]))


def test_layers_after_the_tables_ask_for_the_outputs_of_towers() -> None:
    network = Towers(
        lambda net, left, right: (left * net.item_mlp(right)).sum(-1),
        item_mlp=torch.nn.Linear(3, 3),
    )
    message = r"item_mlp.weight \(3, 3\), a layer beside the tables.*outputs of both"
    for given in (network.eval(), network.state_dict()):
        with pytest.raises(InputError, match=message):
            load(given)


def test_networks_that_train_and_networks_in_wrappers() -> None:
    with pytest.raises(
        InputError,
        match=r"in evaluation mode; got a network in training mode; call its "
        r"eval\(\) first",
    ):
        load(Towers())
    network = Towers().eval()
    for given in (torch.compile(network), torch.nn.DataParallel(network)):
        for each in (given, given.state_dict()):
            np.testing.assert_array_equal(
                load(each).right, network.item_embedding.weight.detach()
            )


class Classifier(torch.nn.Module):
    """A head behind a layer, with what follows it."""

    def __init__(self, last: Any) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.body, self.classifier, self.last = (
            torch.nn.Linear(5, 4),
            torch.nn.Linear(4, 3),
            last,
        )

    def forward(self, x: Any) -> Any:
        return self.last(self.classifier(torch.relu(self.body(x))))


@pytest.mark.parametrize(
    "last", [torch.nn.Identity(), torch.nn.Softmax(-1), torch.nn.LogSoftmax(-1)]
)
def test_a_head_is_compared_by_what_reaches_it(last: Any) -> None:
    network = Classifier(last).eval()
    head = load(network, inputs=X)
    states = torch.relu(network.body(torch.tensor(X, dtype=torch.float32)))
    np.testing.assert_allclose(head.left, states.detach(), atol=1e-6)
    assert head.link.name == "softmax"
    with pytest.raises(InputError, match='kind="head" if a softmax follows'):
        load(network)
    assert load(network, kind="head").n_right == 3


class Cosines(torch.nn.Module):
    """ArcFace: cosines of features with a bare parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(3, 5))

    def forward(self, x: Any) -> Any:
        return 30 * unit(x) @ unit(self.weight).T


class Autoencoder(torch.nn.Module):
    """A bottleneck that is called as heads are."""

    def __init__(self) -> None:
        super().__init__()
        self.fc, self.decoder = torch.nn.Linear(5, 3), torch.nn.Linear(3, 5)

    def forward(self, x: Any) -> Any:
        return self.decoder(self.fc(x))


@pytest.mark.parametrize(
    "network",
    [Classifier(torch.nn.Sigmoid()), Cosines(), Autoencoder()],
    ids=lambda network: type(network).__name__,
)
def test_what_is_called_as_a_head_and_is_none(network: Any) -> None:
    with pytest.raises(InputError):
        load(network.eval(), inputs=X)
    if isinstance(network, Cosines):
        # Weights alone are vectors.
        assert load(network).link.name == "identity"
    else:
        with pytest.raises(InputError):
            load(network)


def test_layers_that_are_no_heads() -> None:
    assert load(torch.nn.EmbeddingBag(5, 3)).link.name == "identity"
    with pytest.raises(
        InputError, match="a head with one softmax; got AdaptiveLogSoftmaxWithLoss"
    ):
        load(torch.nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 10]))
    with pytest.raises(InputError, match="in memory; got a tensor on the meta device"):
        load(torch.nn.Linear(4, 3, device="meta"))
    quantised = torch.ao.quantization.quantize_dynamic(
        Classifier(torch.nn.Identity()), dtype=torch.qint8
    )
    with pytest.raises(
        InputError,
        match="weights of Linear must be floating-point numbers; got quantised weights",
    ):
        load(quantised.classifier)


@pytest.mark.parametrize("key", ["model", "state_dict"])
def test_what_training_loops_store_is_unwrapped_by_the_printed_conversion(
    key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    network, path = Towers(), tmp_path / "last.pt"
    optimizer = torch.optim.Adam(network.parameters())
    torch.save(
        {"epoch": 3, key: network.state_dict(), "optimizer": optimizer.state_dict()},
        path,
    )
    with pytest.raises(InputError) as refused:
        load(path)
    monkeypatch.chdir(tmp_path)
    exec(
        str(refused.value)
        .partition("convert it in Python: ")[2]
        .partition(", or embaudit")[0],
        {},
    )
    np.testing.assert_array_equal(
        load("model.safetensors").right, network.item_embedding.weight.detach()
    )


TASKS = {
    "SequenceClassification": {
        "problem_type": "multi_label_classification",
        "num_labels": 3,
    },
    "SequenceClassification of one": {"num_labels": 1},
    "SequenceClassification of numbers": {
        "problem_type": "regression",
        "num_labels": 2,
    },
    "MultipleChoice": {},
    "QuestionAnswering": {},
}


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", ["Bert", "DistilBert"])
def test_networks_of_other_tasks_are_no_softmax_over_labels(
    name: str, task: str, tmp_path: Path
) -> None:
    import transformers

    small = {
        "vocab_size": 30,
        "hidden_size": 8,
        "dim": 8,
        "intermediate_size": 8,
        "hidden_dim": 8,
        "n_heads": 2,
        "num_attention_heads": 2,
        "num_hidden_layers": 1,
        "n_layers": 1,
    }
    config = getattr(transformers, f"{name}Config")(**small, **TASKS[task])
    live = getattr(transformers, f"{name}For{task.partition(' ')[0]}")(config).eval()
    live.save_pretrained(tmp_path)
    for given, reading in ((live, load), (tmp_path, load)):
        with pytest.raises(InputError):
            reading(given)
