"""Networks of torch whose last layer has no customary name, and inputs that are not
hidden states.
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
nn = torch.nn
X = torch.randn(20, 8, generator=torch.Generator().manual_seed(0))
IDS = torch.arange(24).reshape(4, 6)


class Projected(nn.Module):
    """Two linear layers, of which the first that is defined is called last."""

    def __init__(self) -> None:
        super().__init__()
        self.projection = nn.Linear(16, 5)
        self.body = nn.Linear(8, 16)

    def forward(self, states: Any) -> Any:
        return torch.log_softmax(self.projection(torch.relu(self.body(states))), -1)


class OfTokens(nn.Module):
    """A classifier of texts."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(30, 8)
        self.to_classes = nn.Linear(8, 5)

    def forward(self, ids: Any) -> Any:
        return self.to_classes(self.table(ids).mean(1))


def sequential(*last: Any) -> Any:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 5), *last).eval()


@pytest.mark.parametrize(
    "last",
    [nn.Softmax(-1), nn.LogSoftmax(-1), nn.Sequential(nn.Dropout(), nn.Softmax(-1))],
)
def test_the_last_linear_layer_before_a_softmax_is_a_head(last: Any) -> None:
    network = sequential(last)
    model = load(network)
    np.testing.assert_array_equal(model.right, network[2].weight.detach())
    np.testing.assert_array_equal(model.right_bias, network[2].bias.detach())
    given = load(network, inputs=X)
    states = torch.relu(network[0](X)).detach()
    np.testing.assert_allclose(given.left, states, rtol=1e-6)


def test_scores_of_a_sequential_are_a_head_only_if_asked() -> None:
    network = sequential()
    with pytest.raises(InputError, match="linear layer 2; say kind='head'"):
        load(network)
    np.testing.assert_array_equal(
        load(network, kind="head").right, network[2].weight.detach()
    )


@pytest.mark.parametrize("last", [nn.Sigmoid(), nn.Tanh(), nn.ReLU()])
@pytest.mark.parametrize("options", [{}, {"kind": "head"}])
def test_a_sequential_that_ends_in_another_activation_is_no_head(
    last: Any, options: dict[str, Any]
) -> None:
    with pytest.raises(InputError):
        load(sequential(last), **options)


@pytest.mark.parametrize("network", [Projected().eval(), OfTokens().eval()])
def test_example_inputs_show_which_layer_is_the_last(network: Any) -> None:
    inputs = IDS if isinstance(network, OfTokens) else X
    name = "to_classes" if isinstance(network, OfTokens) else "projection"
    with pytest.raises(InputError, match=r"must be known; .* with inputs=INPUTS, or"):
        load(network, kind="head")
    model = load(network, kind="head", inputs=inputs)
    layer = getattr(network, name)
    np.testing.assert_array_equal(model.right, layer.weight.detach())
    probabilities = torch.softmax(network(inputs), -1).detach()
    np.testing.assert_allclose(model.predictions(), probabilities, atol=1e-6)


def test_the_option_that_a_refusal_names_reads_the_layer() -> None:
    network = Projected().eval()
    options = {"weight": "projection.weight", "bias": "projection.bias"}
    model = load(network, kind="head", ignore="body.*", **options)
    np.testing.assert_array_equal(model.right, network.projection.weight.detach())


# transformers and sentence-transformers


def language_model(transformers: Any) -> Any:
    config = transformers.LlamaConfig(
        vocab_size=40,
        hidden_size=8,
        intermediate_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
    )
    return transformers.AutoModelForCausalLM.from_config(config).eval()


def test_token_ids_are_no_hidden_states() -> None:
    model = language_model(pytest.importorskip("transformers"))
    for inputs in (IDS, IDS.numpy(), {"input_ids": IDS}):
        with pytest.raises(
            InputError, match="which are token ids; pass model"
        ) as refused:
            load(model, inputs=inputs)
    call = str(refused.value).partition("; pass ")[2].removesuffix(".")
    states = eval(call, {"model": model, "inputs": inputs}).detach()
    # States of all positions stand one below another.
    given = load(model, inputs=states)
    logits = model(IDS).logits.detach().reshape(-1, 40)
    np.testing.assert_allclose(given.scores(), logits, atol=1e-6)


def test_token_ids_are_no_states_of_a_classifier() -> None:
    transformers = pytest.importorskip("transformers")
    config = transformers.BertConfig(
        vocab_size=40,
        hidden_size=8,
        intermediate_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_labels=4,
    )
    model = transformers.AutoModelForSequenceClassification.from_config(config).eval()
    with pytest.raises(InputError, match="pass what its last layer gets, one row per"):
        load(model, inputs=IDS)


def test_an_encoder_is_refused_live_as_its_folder_is(tmp_path: Path) -> None:
    sentence_transformers = pytest.importorskip("sentence_transformers")
    tokenizers = pytest.importorskip("tokenizers")
    from sentence_transformers.models import StaticEmbedding

    words = tokenizers.models.WordLevel({"a": 0, "b": 1, "c": 2}, unk_token="c")
    table = StaticEmbedding(tokenizers.Tokenizer(words), embedding_dim=4)
    model = sentence_transformers.SentenceTransformer(modules=[table], device="cpu")
    model.save(str(tmp_path / "encoder"))
    for source in (model, tmp_path / "encoder"):
        for kind in ("auto", "vectors"):
            with pytest.raises(InputError, match="encode"):
                load(source, kind=kind)
    vectors = model.encode(["a", "b"])
    np.testing.assert_array_equal(load(vectors).right, vectors)
