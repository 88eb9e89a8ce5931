"""Networks of transformers: embaudit reads heads and norms that give their logits."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from peers.random_networks import N_TOKENS, Inputs, Network, rows_of, small_config
from peers.trained import installed
from scipy.special import log_softmax

from embaudit.errors import InputError
from embaudit.io import load, read

if TYPE_CHECKING:
    from pathlib import Path

    from embaudit import FactorModel

pytestmark = pytest.mark.skipif(
    installed("transformers") is None, reason="not installed"
)
CAUSAL = [
    "biogpt",
    "bloom",
    "codegen",
    "cohere",
    "cohere2",
    "ernie4_5",
    "falcon",
    "falcon_mamba",
    "gemma",
    "gemma2",
    "gemma3_text",
    "glm",
    "gpt2",
    "gpt_bigcode",
    "gpt_neox",
    "gpt_oss",
    "gptj",
    "granite",
    "helium",
    "llama",
    "mamba",
    "mistral",
    "mixtral",
    "mpt",
    "nemotron",
    "olmo2",
    "opt",
    "persimmon",
    "phi",
    "phi3",
    "qwen2",
    "qwen3",
    "rwkv",
    "smollm3",
    "stablelm",
    "starcoder2",
    "xglm",
]
MASKED = [
    "albert",
    "bert",
    "camembert",
    "deberta-v2",
    "distilbert",
    "electra",
    "modernbert",
    "mpnet",
    "roberta",
    "xlm-roberta",
]
SEQUENCE_TO_SEQUENCE = [
    "bart",
    "blenderbot",
    "blenderbot-small",
    "led",
    "longt5",
    "m2m_100",
    "marian",
    "mbart",
    "mt5",
    "mvp",
    "nllb-moe",
    "pegasus",
    "pegasus_x",
    "plbart",
    "switch_transformers",
    "t5",
    "umt5",
]
ARCHITECTURES = {
    "CausalLM": CAUSAL,
    "MaskedLM": MASKED,
    "Seq2SeqLM": SEQUENCE_TO_SEQUENCE,
}
"""Architectures by the name of the class of transformers that makes them."""


def every_network(column: str) -> pytest.MarkDecorator:
    """Run a test for all architectures, and fill a column of the table of libraries."""
    parameters = [
        pytest.param(
            (name, kind),
            id=name,
            marks=pytest.mark.holds(column, library="transformers", model=name),
        )
        for kind, names in ARCHITECTURES.items()
        for name in names
    ]
    return pytest.mark.parametrize("network", parameters, indirect=True)


@pytest.fixture(scope="module")
def network(request: pytest.FixtureRequest) -> Network:
    return Network(*request.param)


@pytest.fixture(scope="module")
def folder(network: Network, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder in which the network was saved."""
    path = tmp_path_factory.mktemp(network.name)
    network.live.save_pretrained(path)
    return path


def assert_logits(model: FactorModel, logits: np.ndarray, atol: float) -> None:
    """Check probabilities, which fix logits up to a constant per row."""
    expected = log_softmax(logits.astype(np.float64), axis=1)
    # The logits differ enough to tell a right head from a wrong one.
    assert np.ptp(expected) > 0.1
    found = np.log(model.predictions())
    np.testing.assert_allclose(found, expected, rtol=0, atol=atol)


# Language models


@every_network("scores")
def test_states_give_the_logits_of_the_live_network(network: Network) -> None:
    states = network.last_states
    if network.name in MASKED:
        # A layer with a norm stands between the last hidden states and the head.
        states = network.inputs_of(network.live.get_output_embeddings())
    model = load(network.live, inputs=states)
    assert_logits(model, network.logits, atol=1e-5)
    assert model.n_right == N_TOKENS
    assert model.roles == ("input", "label")


@every_network("file")
def test_the_folder_holds_the_same_head_and_the_norm_before_it(
    network: Network, folder: Path
) -> None:
    live, stored = load(network.live), load(folder)
    np.testing.assert_array_equal(stored.right, live.right)
    assert stored.link == live.link
    assert (stored.right_bias is None) == (live.right_bias is None)
    if live.right_bias is not None:
        np.testing.assert_array_equal(stored.right_bias, live.right_bias)
    np.testing.assert_array_equal(stored.final_norm.gain, live.final_norm.gain)


@every_network("file")
def test_head_and_norm_of_the_folder_give_the_logits(
    network: Network, folder: Path
) -> None:
    from safetensors import safe_open

    stored = read(folder).norm
    with safe_open(folder / "model.safetensors", "np") as file:
        layer = network.layer_with(file.get_tensor(stored.name))
    states = stored.norm.applied(network.inputs_of(layer))
    assert_logits(load(folder).replace(left=states), network.logits, atol=1e-4)


@every_network("titles")
def test_labels_are_tokens_and_rows_without_a_token_are_padding(
    network: Network, folder: Path
) -> None:
    n_named = N_TOKENS - 3
    vocabulary = {f"t{row}": row for row in range(n_named)}
    (folder / "tokenizer.json").write_text(json.dumps({"model": {"vocab": vocabulary}}))
    names = load(folder).names("right")
    assert names[7] == "t7"
    assert names[n_named - 1] == f"t{n_named - 1}"
    assert names[n_named] == f"<padding {n_named}>"


def test_the_advice_for_token_ids_of_an_encoder_and_decoder_works() -> None:
    """Token ids are no hidden states. The error has a call that returns the states."""
    import torch

    network = Network("t5", "Seq2SeqLM").live
    ids = torch.arange(3, 9)[None]
    targets = ids[:, :4]
    with pytest.raises(InputError, match="which are token ids; pass model") as refused:
        load(network, inputs=ids)
    call = str(refused.value).partition("; pass ")[2].removesuffix(".")
    with torch.no_grad():
        states = eval(call, {"model": network, "ids": ids, "TARGETS": targets})
        logits = network(ids, decoder_input_ids=targets).logits
    assert_logits(load(network, inputs=states), rows_of(logits), atol=1e-5)


# Classifiers

CLASSES = {0: "bad", 1: "good", 2: "ugly"}


@pytest.mark.holds("scores", library="transformers", model="classifiers")
@pytest.mark.parametrize(
    "name", ["bart", "bert", "distilbert", "gpt2", "roberta", "t5", "xlnet"]
)
def test_classes_of_a_classifier_live_and_in_a_folder(
    name: str, tmp_path: Path
) -> None:
    import torch
    from transformers import AutoModelForSequenceClassification

    config = small_config(name, id2label=CLASSES)
    live = AutoModelForSequenceClassification.from_config(config).eval()
    last_layer = layer_with_outputs(live, len(CLASSES))
    states = torch.randn(9, last_layer.in_features)
    with torch.no_grad():
        logits = last_layer(states)
    model = load(live, inputs=rows_of(states))
    assert_logits(model, rows_of(logits), atol=1e-5)
    live.save_pretrained(tmp_path)
    stored = load(tmp_path)
    np.testing.assert_array_equal(stored.right, model.right)
    assert model.names("right").tolist() == list(CLASSES.values())
    assert stored.names("right").tolist() == list(CLASSES.values())


def layer_with_outputs(network: Any, n_outputs: int) -> Any:
    """Return the only linear layer with this number of outputs."""
    found = [
        layer
        for layer in network.modules()
        if getattr(layer, "out_features", None) == n_outputs
    ]
    assert len(found) == 1
    return found[0]


@pytest.mark.holds("scores", library="transformers", model="classifiers")
def test_a_classifier_of_images_whose_only_matrix_is_its_head(tmp_path: Path) -> None:
    import torch
    from transformers import ResNetConfig, ResNetForImageClassification

    config = ResNetConfig(
        embedding_size=8,
        hidden_sizes=[8, 16],
        depths=[1, 1],
        layer_type="basic",
        num_labels=5,
    )
    live = ResNetForImageClassification(config).eval()
    live.save_pretrained(tmp_path)
    inputs_of_head = Inputs(live.classifier[1])
    with torch.no_grad():
        outputs = live(pixel_values=torch.randn(4, 3, 32, 32))
    logits, states = rows_of(outputs.logits), inputs_of_head.rows
    assert_logits(load(live, inputs=states), logits, atol=1e-5)
    assert_logits(load(tmp_path, kind="head", inputs=states), logits, atol=1e-5)
    with pytest.raises(InputError, match=r"name it with bias='classifier\.1\.bias'"):
        load(tmp_path)


# Networks without a head


@pytest.mark.holds("scores", library="transformers", model="networks without a head")
def test_input_embeddings_of_a_live_network_are_no_head(record_property: Any) -> None:
    from transformers import AutoModel

    bare = AutoModel.from_config(small_config("bert"))
    with pytest.raises(InputError, match='its head, or pass kind="vectors"'):
        load(bare)
    assert load(bare, kind="vectors").n_right == N_TOKENS
    record_property("held", "refused")


@pytest.mark.holds("scores", library="transformers", model="networks without a head")
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("llama", "must be one recognised table, pair or head"),
        ("t5", "there, for it is a T5Model; got only shared"),
    ],
)
def test_input_embeddings_in_a_folder_are_no_head(
    name: str, reason: str, record_property: Any, tmp_path: Path
) -> None:
    from transformers import AutoModel

    AutoModel.from_config(small_config(name)).save_pretrained(tmp_path)
    with pytest.raises(InputError, match=reason):
        load(tmp_path)
    record_property("held", "refused")


# Files of checkpoints


@pytest.mark.holds("file", library="transformers", model="llama")
def test_shards_of_a_checkpoint_are_read_as_one_file(tmp_path: Path) -> None:
    from transformers import AutoModelForCausalLM

    live = AutoModelForCausalLM.from_config(small_config("llama")).eval()
    live.save_pretrained(tmp_path, max_shard_size="2KB")
    assert len(list(tmp_path.glob("*.safetensors"))) > 1
    for path in (tmp_path, tmp_path / "model.safetensors.index.json"):
        stored = load(path)
        np.testing.assert_array_equal(stored.right, load(live).right)
        assert stored.final_norm.width == live.config.hidden_size


@pytest.mark.parametrize("n_files", [1, 2])
def test_the_advice_for_a_pickled_checkpoint_works(
    tmp_path: Path, n_files: int
) -> None:
    """The error has code that converts the files. It copes with shared weights.

    The head is tied, so two names share its weights. They are in different files if
    there are two.
    """
    from transformers import AutoModelForCausalLM

    config = small_config("llama", tie_word_embeddings=True)
    live = AutoModelForCausalLM.from_config(config)
    config.save_pretrained(tmp_path)
    write_pickles(live.state_dict(), tmp_path, n_files)
    with pytest.raises(InputError) as refused:
        load(tmp_path)
    advice = str(refused.value).partition("convert it in Python: ")[2]
    code = advice.partition(", or embaudit")[0].removesuffix(".")
    exec(code, {})
    stored = load(tmp_path)
    np.testing.assert_array_equal(stored.right, load(live).right)
    assert stored.final_norm.width == config.hidden_size


def write_pickles(tensors: dict[str, Any], folder: Path, n_files: int) -> None:
    """Write tensors as PyTorch does, in one file or in numbered parts."""
    import torch

    for number, names in enumerate(np.array_split(list(tensors), n_files)):
        part = {str(name): tensors[name] for name in names}
        file_name = "pytorch_model.bin"
        if n_files > 1:
            file_name = f"pytorch_model-{number + 1:05}-of-{n_files:05}.bin"
        torch.save(part, folder / file_name)
