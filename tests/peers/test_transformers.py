"""Networks of transformers: embaudit reads heads and norms that give their logits."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from peers.random_networks import (
    N_TOKENS,
    Inputs,
    Network,
    random_network,
    random_tensor,
    rows_of,
    small_config,
)
from peers.trained import installed
from scipy.special import log_softmax

from embaudit.errors import InputError
from embaudit.io import load, read

if TYPE_CHECKING:
    from collections.abc import Callable
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
    """Return a random network. Making it takes long, and no test changes it."""
    return Network(*request.param)


@pytest.fixture
def folder(network: Network, tmp_path: Path) -> Path:
    """Return a new folder in which the network was saved."""
    network.live.save_pretrained(tmp_path)
    return tmp_path


def assert_logits(model: FactorModel, logits: np.ndarray, atol: float) -> None:
    """Check probabilities, which fix logits up to a constant per row."""
    expected = log_softmax(logits.astype(np.float64), axis=1)
    # The logits differ enough to tell a right head from a wrong one.
    assert np.ptp(expected) > 0.1
    found = np.log(model.predictions())
    np.testing.assert_allclose(found, expected, rtol=0, atol=atol)


def assert_same_arrays(found: Any, expected: Any) -> None:
    """Check two optional arrays, both of which can be None."""
    assert (found is None) == (expected is None)
    if expected is not None:
        np.testing.assert_array_equal(found, expected)


# Language models


@every_network("scores")
def test_states_give_the_logits_of_the_live_network(network: Network) -> None:
    states = network.last_states
    if network.name in MASKED:
        # A layer with a norm stands between the last hidden states and the head.
        states = network.inputs_of(network.live.get_output_embeddings())
    model = load(network.live, inputs=states)
    assert_logits(model, network.logits, atol=1e-5)


@every_network("scores")
def test_the_rows_of_a_live_network_are_its_inputs_and_one_label_per_token(
    network: Network,
) -> None:
    model = load(network.live, inputs=network.last_states)
    assert model.roles == ("input", "label")
    assert model.n_left == len(network.last_states)
    assert model.n_right == N_TOKENS


@every_network("file")
def test_the_folder_holds_the_same_head(network: Network, folder: Path) -> None:
    live, stored = load(network.live), load(folder)
    assert stored.link == live.link
    np.testing.assert_array_equal(stored.right, live.right)
    assert_same_arrays(stored.right_bias, live.right_bias)


@every_network("file")
def test_the_folder_holds_the_same_norm_before_the_head(
    network: Network, folder: Path
) -> None:
    live, stored = load(network.live).final_norm, load(folder).final_norm
    assert live is not None
    assert stored is not None
    assert stored.kind == live.kind
    assert stored.epsilon == live.epsilon
    np.testing.assert_array_equal(stored.gain, live.gain)
    assert_same_arrays(stored.shift, live.shift)


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


N_NAMED = N_TOKENS - 3
"""Tokens of the vocabulary in a folder. The other rows of the head are padding."""


@pytest.fixture
def folder_with_vocabulary(folder: Path) -> Path:
    """Return a folder of a network and its tokens t0, t1 and so on."""
    vocabulary = {f"t{row}": row for row in range(N_NAMED)}
    (folder / "tokenizer.json").write_text(json.dumps({"model": {"vocab": vocabulary}}))
    return folder


@every_network("titles")
def test_the_names_of_labels_are_tokens(folder_with_vocabulary: Path) -> None:
    names = load(folder_with_vocabulary).names("right")
    assert names[:N_NAMED].tolist() == [f"t{row}" for row in range(N_NAMED)]


@every_network("titles")
def test_labels_without_a_token_are_padding(folder_with_vocabulary: Path) -> None:
    names = load(folder_with_vocabulary).names("right")
    padding = [f"<padding {row}>" for row in range(N_NAMED, N_TOKENS)]
    assert names[N_NAMED:].tolist() == padding


def test_the_advice_for_token_ids_of_an_encoder_and_decoder_returns_the_states() -> (
    None
):
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


@dataclass
class Classifier:
    """A random network whose last layer gives the logits of classes."""

    live: Any
    states: np.ndarray
    """(n, k) random inputs of the last layer."""
    logits: np.ndarray
    """(n, 3) its outputs for them."""


@pytest.fixture
def classifier(request: pytest.FixtureRequest) -> Classifier:
    """Return a classifier of texts, of the architecture that a parameter names."""
    import torch
    from transformers import AutoModelForSequenceClassification

    config = small_config(request.param, id2label=CLASSES)
    live = random_network(AutoModelForSequenceClassification.from_config, config)
    last_layer = layer_with_outputs(live, len(CLASSES))
    states = random_tensor(9, last_layer.in_features)
    with torch.no_grad():
        logits = last_layer(states)
    return Classifier(live, rows_of(states), rows_of(logits))


def layer_with_outputs(network: Any, n_outputs: int) -> Any:
    """Return the only linear layer with this number of outputs."""
    found = [
        layer
        for layer in network.modules()
        if getattr(layer, "out_features", None) == n_outputs
    ]
    assert len(found) == 1
    return found[0]


def every_classifier(column: str) -> Callable[[Any], Any]:
    """Run a test for classifiers of several architectures, and fill a column."""
    names = ["bart", "bert", "distilbert", "gpt2", "roberta", "t5", "xlnet"]
    parametrize = pytest.mark.parametrize("classifier", names, indirect=True)
    holds = pytest.mark.holds(column, library="transformers", model="classifiers")
    return lambda test: holds(parametrize(test))


@every_classifier("scores")
def test_states_give_the_logits_of_a_live_classifier(classifier: Classifier) -> None:
    model = load(classifier.live, inputs=classifier.states)
    assert_logits(model, classifier.logits, atol=1e-5)


@every_classifier("scores")
def test_the_folder_of_a_classifier_holds_the_same_head(
    classifier: Classifier, tmp_path: Path
) -> None:
    classifier.live.save_pretrained(tmp_path)
    live, stored = load(classifier.live), load(tmp_path)
    assert stored.link == live.link
    np.testing.assert_array_equal(stored.right, live.right)
    assert_same_arrays(stored.right_bias, live.right_bias)


@every_classifier("scores")
def test_labels_of_a_live_classifier_are_its_classes(classifier: Classifier) -> None:
    names = load(classifier.live).names("right")
    assert names.tolist() == list(CLASSES.values())


@every_classifier("scores")
def test_labels_of_the_folder_of_a_classifier_are_its_classes(
    classifier: Classifier, tmp_path: Path
) -> None:
    classifier.live.save_pretrained(tmp_path)
    names = load(tmp_path).names("right")
    assert names.tolist() == list(CLASSES.values())


@pytest.fixture
def image_classifier() -> Classifier:
    """Return a classifier of images whose only matrix is its head."""
    import torch
    from transformers import ResNetConfig, ResNetForImageClassification

    config = ResNetConfig(
        embedding_size=8,
        hidden_sizes=[8, 16],
        depths=[1, 1],
        layer_type="basic",
        num_labels=5,
    )
    live = random_network(ResNetForImageClassification, config)
    inputs_of_head = Inputs(live.classifier[1])
    with torch.no_grad():
        outputs = live(pixel_values=random_tensor(4, 3, 32, 32))
    return Classifier(live, inputs_of_head.rows, rows_of(outputs.logits))


of_image_classifier = pytest.mark.holds(
    "scores", library="transformers", model="classifiers"
)


@of_image_classifier
def test_states_give_the_logits_of_a_live_classifier_of_images(
    image_classifier: Classifier,
) -> None:
    model = load(image_classifier.live, inputs=image_classifier.states)
    assert_logits(model, image_classifier.logits, atol=1e-5)


@of_image_classifier
def test_the_folder_of_a_classifier_of_images_is_read_as_a_head_on_request(
    image_classifier: Classifier, tmp_path: Path
) -> None:
    image_classifier.live.save_pretrained(tmp_path)
    model = load(tmp_path, kind="head", inputs=image_classifier.states)
    assert_logits(model, image_classifier.logits, atol=1e-5)


@of_image_classifier
def test_the_only_matrix_of_a_folder_is_not_taken_for_vectors_next_to_a_bias(
    image_classifier: Classifier, tmp_path: Path
) -> None:
    image_classifier.live.save_pretrained(tmp_path)
    with pytest.raises(InputError, match=r"name it with bias='classifier\.1\.bias'"):
        load(tmp_path)


# Networks without a head

of_network_without_head = pytest.mark.holds(
    "scores", library="transformers", model="networks without a head"
)


def network_without_head(architecture: str) -> Any:
    """Return a random network whose only table is that of its input embeddings."""
    from transformers import AutoModel

    return random_network(AutoModel.from_config, small_config(architecture))


@of_network_without_head
def test_input_embeddings_of_a_live_network_are_no_head(record_property: Any) -> None:
    with pytest.raises(InputError, match='its head, or pass kind="vectors"'):
        load(network_without_head("bert"))
    record_property("held", "refused")


def test_input_embeddings_of_a_live_network_are_vectors_on_request() -> None:
    network = network_without_head("bert")
    model = load(network, kind="vectors")
    expected = network.get_input_embeddings().weight
    np.testing.assert_array_equal(model.right, rows_of(expected))


@of_network_without_head
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("llama", "must be one recognised table, pair or head"),
        ("t5", "in the file, because it is a T5Model; got only shared"),
    ],
)
def test_input_embeddings_in_a_folder_are_no_head(
    name: str, reason: str, record_property: Any, tmp_path: Path
) -> None:
    network_without_head(name).save_pretrained(tmp_path)
    with pytest.raises(InputError, match=reason):
        load(tmp_path)
    record_property("held", "refused")


# Files of checkpoints


def random_llama(**settings: Any) -> Any:
    """Return a random language model."""
    from transformers import AutoModelForCausalLM

    config = small_config("llama", **settings)
    return random_network(AutoModelForCausalLM.from_config, config)


def assert_head_and_norm(stored: FactorModel, live: Any) -> None:
    """Check that the head and the norm before it are those of a live network."""
    gains = live.model.norm.weight.detach().numpy()
    np.testing.assert_array_equal(stored.right, load(live).right)
    np.testing.assert_array_equal(stored.final_norm.gain, gains)


@pytest.mark.holds("file", library="transformers", model="llama")
@pytest.mark.parametrize("name", ["", "model.safetensors.index.json"])
def test_shards_of_a_checkpoint_are_read_as_one_file(name: str, tmp_path: Path) -> None:
    live = random_llama()
    live.save_pretrained(tmp_path, max_shard_size="2KB")
    assert len(list(tmp_path.glob("*.safetensors"))) > 1
    assert_head_and_norm(load(tmp_path / name), live)


@pytest.mark.parametrize("n_files", [1, 2])
def test_the_advice_for_a_pickled_checkpoint_converts_its_files(
    tmp_path: Path, n_files: int
) -> None:
    """The error has code that converts the files. It copes with shared weights.

    The head is tied, so two names share its weights. They are in different files if
    there are two.
    """
    live = random_llama(tie_word_embeddings=True)
    live.config.save_pretrained(tmp_path)
    write_pickles(live.state_dict(), tmp_path, n_files)
    with pytest.raises(InputError) as refused:
        load(tmp_path)
    advice = str(refused.value).partition("convert it in Python: ")[2]
    code = advice.partition(", or embaudit")[0].removesuffix(".")
    exec(code, {})
    assert_head_and_norm(load(tmp_path), live)


def write_pickles(tensors: dict[str, Any], folder: Path, n_files: int) -> None:
    """Write tensors as PyTorch does, in one file or in numbered parts."""
    import torch

    for number, names in enumerate(np.array_split(list(tensors), n_files)):
        part = {str(name): tensors[name] for name in names}
        file_name = "pytorch_model.bin"
        if n_files > 1:
            file_name = f"pytorch_model-{number + 1:05}-of-{n_files:05}.bin"
        torch.save(part, folder / file_name)
