"""Heads whose weights, biases or scales have unusual names."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from imitations import Tensor, imitation
from safetensors.numpy import save_file

from embaudit.errors import InputError
from embaudit.io import inspect, load, read
from embaudit.model import LINKS

if TYPE_CHECKING:
    from pathlib import Path

DRAW = np.random.default_rng(7)
WORDS, BIAS = (
    DRAW.normal(size=(8, 3)).astype(np.float32),
    DRAW.normal(size=8).astype(np.float32),
)
PLACES = DRAW.normal(size=(5, 3)).astype(np.float32)


NAMED = {"id2label": {"0": "bad", "2": "ugly", "1": "good"}}


def classifier(
    folder: Path, rows: int, name: str = "classifier.weight", **config: Any
) -> Path:
    save_file(
        {name: WORDS[:rows].copy(), "other.weight": PLACES},
        folder / "model.safetensors",
    )
    (folder / "config.json").write_text(json.dumps(config))
    return folder


@pytest.mark.parametrize(
    ("rows", "names"),
    [
        (3, ["bad", "good", "ugly"]),
        (5, ["bad", "good", "ugly", "<padding 3>", "<padding 4>"]),
    ],
)
def test_classes_of_a_folder_are_called_by_its_configuration(
    tmp_path: Path, rows: int, names: list[str]
) -> None:
    found = read(classifier(tmp_path, rows, **NAMED))
    assert found.model.right_names is not None
    assert found.model.right_names.tolist() == names
    assert found.intake == inspect(tmp_path)


@pytest.mark.parametrize(
    "name",
    [
        "BartForSequenceClassification",
        "MistralModel",
        "T5EncoderModel",
        "XForQuestionAnswering",
    ],
)
def test_input_embeddings_of_a_network_without_tokens_to_choose_are_no_head(
    tmp_path: Path, name: str
) -> None:
    folder = classifier(tmp_path, 8, "model.shared.weight", architectures=[name])
    for reading in (load, inspect):
        with pytest.raises(InputError):
            reading(folder)
    np.testing.assert_array_equal(
        load(folder, weight="model.shared.weight").right, WORDS
    )
    for architectures in (
        ["GPT2LMHeadModel"],
        ["GPT2DoubleHeadsModel"],
        ["MarianMTModel"],
        ["EncoderDecoderModel"],
        ["T5ForConditionalGeneration"],
        [name, "XForCausalLM"],
        [],
        None,
    ):
        classifier(tmp_path, 8, "model.shared.weight", architectures=architectures)
        np.testing.assert_array_equal(load(folder).right, WORDS)


def live(config: dict[str, Any], bias: Any = None, **attributes: Any) -> Any:
    head = SimpleNamespace(
        weight=Tensor(WORDS), bias=None if bias is None else Tensor(bias)
    )
    attributes = {
        "state_dict": lambda _: {"lm_head.weight": Tensor(WORDS)},
        **attributes,
    }
    return imitation(
        "transformers.models.x.modeling_x.X",
        "transformers.modeling_utils.PreTrainedModel",
        config=SimpleNamespace(to_dict=lambda: config),
        get_output_embeddings=lambda _: head,
        **attributes,
    )


@pytest.mark.parametrize(
    ("name", "config", "factor"),
    [
        ("t5", {"d_model": 16}, 0.25),
        ("t5", {"d_model": 16, "tie_word_embeddings": False}, 1.0),
        (
            "umt5",
            {
                "d_model": 16,
                "tie_word_embeddings": True,
                "scale_decoder_outputs": False,
            },
            1.0,
        ),
        (
            "longt5",
            {"d_model": 4, "tie_word_embeddings": False, "scale_decoder_outputs": True},
            0.5,
        ),
        ("t5", {}, 1.0),
        ("mt5", {"d_model": 16}, 1.0),
    ],
)
def test_tied_embeddings_of_t5_see_smaller_states(
    tmp_path: Path, name: str, config: Any, factor: float
) -> None:
    """T5 divides the states by the root of d_model before a head tied to its inputs."""
    gain = np.float32([1.0, 2.0, 4.0])
    tensors = {"lm_head.weight": WORDS, "decoder.final_layer_norm.weight": gain}
    stored(tmp_path, tensors, {"model_type": name, **config})
    np.testing.assert_array_equal(load(tmp_path).final_norm.gain, factor * gain)


@pytest.mark.parametrize(
    ("config", "name", "gain"),
    [
        ({"model_type": "llama"}, "model.norm.weight", 1.0),
        ({"model_type": "gemma"}, "model.norm.weight", 2.0),
        ({"model_type": "cohere", "logit_scale": 0.25}, "model.norm.weight", 0.25),
        ({}, "transformer.ln_f.weight", 1.0),
        ({"model_type": "llama"}, "model.layers.0.norm.weight", None),
    ],
)
def test_the_final_norm_of_a_live_network(
    config: Any, name: str, gain: float | None
) -> None:
    network = live(
        config,
        state_dict=lambda _: {
            name: Tensor(np.ones(3)),
            "lm_head.weight": Tensor(WORDS),
        },
    )
    head = load(network)
    assert (head.final_norm is None) == (gain is None)
    if head.final_norm is not None:
        np.testing.assert_array_equal(head.final_norm.gain, np.full(3, gain))
    layer = name.removesuffix(".weight")
    assert (
        load(network, norm="none").final_norm,
        load(network, link="identity").final_norm,
    ) == (None,) * 2
    assert read(network, norm=layer, norm_kind="layer").norm.norm.kind == "layer"
    # One before a projection is none before the head, nor is one before vectors.
    network.state_dict = lambda: {
        name: Tensor(np.ones(2)),
        "lm_head.weight": Tensor(WORDS),
    }
    assert load(network).final_norm is None


@pytest.mark.parametrize(
    ("config", "scale"),
    [
        ({}, 1.0),
        ({"model_type": "cohere", "logit_scale": 0.25}, 0.25),
        # The last hidden states of T5 are divided by the root of d_model.
        ({"model_type": "t5", "d_model": 16}, 0.25),
        ({"model_type": "t5", "d_model": 16, "tie_word_embeddings": False}, 1.0),
    ],
)
def test_states_of_a_live_network_can_lie_in_a_file(
    tmp_path: Path, config: Any, scale: float
) -> None:
    states = np.float32([[1.0, 2.0, 3.0], [0.0, -1.0, 0.5]])
    file = tmp_path / "states.npy"
    np.save(file, states)
    for place in (file, str(file)):
        head = load(live(config), inputs=place)
        np.testing.assert_array_equal(head.left, scale * states)
        np.testing.assert_allclose(head.scores(), scale * states @ WORDS.T, rtol=1e-5)


def stored(
    folder: Path, tensors: dict[str, Any], config: dict[str, Any] | None = None
) -> Path:
    save_file(
        {name: np.ascontiguousarray(x) for name, x in tensors.items()},
        folder / "model.safetensors",
    )
    if config is not None:
        (folder / "config.json").write_text(json.dumps(config))
    return folder / "model.safetensors"


LORA = {f"base_model.model.lm_head.lora_{x}.default.weight": PLACES for x in "AB"}


@pytest.mark.parametrize(
    ("tensors", "got"),
    [
        (
            {"transformer.wte.weight": WORDS, "generator.weight": WORDS},
            "wte.weight and generator.weight, both",
        ),
        (
            {"model.embed_tokens.weight": WORDS, "proj_out": WORDS.T},
            "embed_tokens.weight and proj_out, both (8, 3)",
        ),
        (
            {
                "model.embed_tokens.weight": WORDS,
                "base_model.model.lm_head.base_layer.weight": WORDS,
                **LORA,
            },
            "base_model.model.lm_head.base_layer.weight, which changes it; "
            "merge the adapters",
        ),
        (
            {"score.weight": PLACES, "score.modules_to_save.default.weight": PLACES},
            "modules_to_save.default.weight,",
        ),
        (
            {
                "fc.weight": PLACES,
                "decoder.weight": WORDS[:, :1] @ np.ones((1, 5), np.float32),
            },
            "its last layer; got fc.weight (5, 3), whose outputs decoder.weight takes; "
            "name it with weight",
        ),
        (
            {"linear.weight": np.ones((8, 1), np.float32), "factors.weight": WORDS},
            "rows of labels; got linear.weight (8, 1), "
            "one number for each row of factors.weight",
        ),
        (
            {"linear.weight": np.ones((1, 8), np.float32), "factors.weight": WORDS},
            "linear.weight (1, 8), one number",
        ),
    ],
)
def test_a_head_that_a_name_alone_chose_is_asked_for(
    tmp_path: Path, tensors: dict[str, Any], got: str
) -> None:
    path = stored(tmp_path, tensors)
    for read_it in (load, inspect):
        with pytest.raises(InputError) as refused:
            read_it(path)
        assert f"the head of {path} must be" in str(refused.value)
        assert got in str(refused.value)
    name = next(iter(tensors))
    assert load(path, weight=name, kind="head").link == LINKS["softmax"]


def test_a_dense_layer_of_sentence_transformers_is_no_head(tmp_path: Path) -> None:
    config = {
        "in_features": 3,
        "out_features": 8,
        "activation_function": "torch.nn.modules.activation.Tanh",
    }
    path = stored(
        tmp_path,
        {"linear.weight": WORDS, "linear.bias": np.ones(8, np.float32)},
        config,
    )
    for read_it in (load, inspect):
        with pytest.raises(
            InputError,
            match=r"got a Dense layer of sentence-transformers with torch\..*\.Tanh;",
        ):
            read_it(path)
    assert load(path, kind="head").link == LINKS["softmax"]


OTHER_TASKS = (
    (
        {"problem_type": "multi_label_classification"},
        3,
        "XForSequenceClassification",
        "the problem_type multi_label_",
    ),
    (
        {"problem_type": "regression"},
        3,
        "XForSequenceClassification",
        "the problem_type regression",
    ),
    (
        {"id2label": {"0": "LABEL_0"}},
        1,
        "XForSequenceClassification",
        "one label: a reward or a regression",
    ),
    ({}, 1, "XForMultipleChoice", "the task XForMultipleChoice"),
    ({}, 1, "XRewardModel", "the task XRewardModel"),
)


@pytest.mark.parametrize(("config", "rows", "name", "got"), OTHER_TASKS)
def test_a_last_layer_without_a_softmax_is_refused(
    tmp_path: Path, config: dict[str, Any], rows: int, name: str, got: str
) -> None:
    path = stored(
        tmp_path,
        {"classifier.weight": WORDS[:rows]},
        {**config, "architectures": [name]},
    )
    state = {"classifier.weight": Tensor(WORDS[:rows])}
    live = imitation(
        f"transformers.models.x.{name}",
        "transformers.modeling_utils.PreTrainedModel",
        config=SimpleNamespace(to_dict=lambda: config),
        state_dict=lambda _: state,
        get_output_embeddings=lambda _: None,
    )
    for reading, given in ((load, path), (load, live)):
        with pytest.raises(
            InputError, match=f"must be a softmax over labels; got {got}"
        ):
            reading(given)
        assert reading(given, kind="head").link == LINKS["softmax"]


def test_a_live_head_with_adapters_is_refused() -> None:
    layer = imitation("peft.tuners.lora.layer.Linear", weight=Tensor(WORDS), bias=None)
    model = imitation(
        "transformers.models.x.XForCausalLM",
        "transformers.modeling_utils.PreTrainedModel",
        get_output_embeddings=lambda _: layer,
        config=SimpleNamespace(to_dict=dict),
    )
    wrapped = imitation("peft.peft_model.PeftModel", get_base_model=lambda _: model)
    for given in (model, wrapped):
        with pytest.raises(
            InputError,
            match=r"got a matrix with adapters of PEFT; merge .* with "
            r"merge_and_unload\(\)",
        ):
            load(given)
