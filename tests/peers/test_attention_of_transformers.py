"""transformers: a gauge of an attention head changes no output of a real network.

Networks are small, random and in float64, so that differences are rounding.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from peers.trained import installed

import embaudit as ea
from embaudit.io.attention import read_head

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(
    installed("transformers") is None, reason="not installed"
)
TOKENS, WIDTH = 53, 32
SMALL: dict[str, Any] = {
    "vocab_size": TOKENS,
    **dict.fromkeys(
        ("hidden_size", "d_model", "n_embd", "dim", "word_embed_proj_dim"), WIDTH
    ),
    **dict.fromkeys(("intermediate_size", "d_ff", "ffn_dim", "hidden_dim"), 32),
    **dict.fromkeys(("num_hidden_layers", "n_layer", "num_layers", "n_layers"), 2),
    **dict.fromkeys(("num_attention_heads", "n_head", "num_heads", "n_heads"), 4),
    **dict.fromkeys(("head_dim", "d_kv"), 8),
    "num_key_value_heads": 2,
    "rotary_dim": 4,
    "attention_types": [[["global"], 2]],
    "attention_bias": True,
    "no_rope_layers": [1, 0],
    "embedding_multiplier": 3.0,
    "n_positions": 64,
    "max_position_embeddings": 64,
    "num_local_experts": 2,
    "num_experts": 2,
    "num_experts_per_tok": 1,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "decoder_start_token_id": 1,
}
CAUSAL = (
    "bloom",
    "cohere",
    "gemma",
    "gemma2",
    "gemma3_text",
    "glm",
    "gpt2",
    "gpt_neo",
    "gpt_neox",
    "gptj",
    "granite",
    "llama",
    "mistral",
    "mixtral",
    "opt",
    "phi",
    "phi3",
    "qwen2",
    "qwen3",
    "qwen3_moe",
    "smollm3",
    "stablelm",
    "starcoder2",
)
MASKED = ("bert", "distilbert", "roberta", "xlm-roberta")
KINDS = {
    **dict.fromkeys(CAUSAL, "CausalLM"),
    **dict.fromkeys(MASKED, "MaskedLM"),
    "t5": "Seq2SeqLM",
}
N_PLANES = {
    **dict.fromkeys(("gptj", "glm", "phi"), 2),
    **dict.fromkeys(("gpt_neox", "stablelm"), 1),
    **dict.fromkeys(("bloom", "gpt2", "gpt_neo", "opt", "t5", *MASKED), 0),
}
"""Rotary planes of a head of 8 columns, if they are not 4."""


def network_of(name: str) -> Any:
    """Make a network in which every parameter is random."""
    import torch
    import transformers

    known = transformers.AutoConfig.for_model(name)
    keys = {*known.to_dict(), *getattr(known, "attribute_map", {})}
    config = transformers.AutoConfig.for_model(
        name, **{key: value for key, value in SMALL.items() if key in keys}
    )
    # Grouped products of experts exist in single precision only.
    config._experts_implementation = "eager"
    torch.manual_seed(0)
    kind = getattr(transformers, f"AutoModelFor{KINDS[name]}")
    network = kind.from_config(config).eval().double()
    with torch.no_grad():
        for parameter in network.parameters():
            noise = 0.4 * torch.randn_like(parameter)
            parameter.copy_(noise + 0.6 * (parameter.ndim == 1))
    return network


def logits_of(network: Any, tokens: Any) -> Any:
    import torch

    more = {}
    if network.config.model_type == "t5":
        more = {"decoder_input_ids": tokens}
    with torch.no_grad():
        return network(input_ids=tokens, **more).logits


@pytest.fixture(scope="module", params=KINDS)
def network(request: pytest.FixtureRequest) -> Any:
    return network_of(request.param)


@pytest.mark.parametrize(("layer", "head"), [(0, 0), (1, 3)])
def test_an_equivalent_head_changes_no_output(
    network: Any, layer: int, head: int
) -> None:
    import torch

    tokens = torch.randint(3, TOKENS, (2, 9))
    before = logits_of(network, tokens)
    changed = ea.equivalent_attention(network, layer, head, max_condition=4.0, rng=1)
    stored = copy.deepcopy(network.state_dict())
    for name, tensor in changed.items():
        assert np.abs(tensor - stored[name].numpy()).max() > 0.01, name

    def change_with(names: set[str]) -> float:
        tensors = {name: torch.as_tensor(changed[name]) for name in names}
        network.load_state_dict(stored | tensors)
        difference = (logits_of(network, tokens) - before).abs().max()
        network.load_state_dict(stored)
        return float(difference / before.abs().max())

    # Norms of some networks compute in single precision whatever the weights are.
    assert change_with(set(changed)) < 1e-6
    # A head of which one tensor was left behind computes something else.
    for name in changed:
        if name.endswith(".weight") and len(changed) > 1:
            assert change_with(set(changed) - {name}) > 1e-5, name


def test_the_embedded_tokens_are_what_enters_the_first_layer(network: Any) -> None:
    import torch

    head = read_head(network, 0, 0)
    assert len(head.planes) == N_PLANES.get(network.config.model_type, 4)
    layers = dict(network.named_modules())
    seen: list[Any] = []
    hook = layers[f"{head.layer_name}.{head.family.query}"].register_forward_pre_hook(
        lambda _, inputs: seen.append(inputs[0].detach())
    )
    # Each token is a text of its own; padding has no position in some networks.
    tokens = torch.arange(1, TOKENS)[:, None]
    logits_of(network, tokens)
    hook.remove()
    ours = head.embedded_tokens(np.arange(1, TOKENS))
    if head.norm is not None:
        ours = head.norm.applied(ours)
    np.testing.assert_allclose(seen[0].reshape(-1, WIDTH), ours, atol=2e-6)


def test_a_layer_without_positions_is_free_as_one_without_a_rotation() -> None:
    network = network_of("smollm3")
    assert len(read_head(network, 0, 0).planes) == 4
    assert len(read_head(network, 1, 0).planes) == 0


@pytest.mark.parametrize("name", ["llama", "gpt2"])
def test_a_saved_folder_is_audited_as_the_network(name: str, tmp_path: Path) -> None:
    network = network_of(name)
    network.save_pretrained(tmp_path)
    found = ea.audit_attention(tmp_path, 0, 1)
    assert found.to_dict() == ea.audit_attention(network, 0, 1).to_dict()
    assert str(found.answer) == "NO"
    states = np.random.default_rng(0).standard_normal((40, WIDTH))
    assert ea.audit_attention(tmp_path, 1, 1, states=states).predictions_hold
