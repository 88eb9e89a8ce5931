"""TransformerLens: heads that are read from its networks give the logits of these
networks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from peers.trained import installed

from embaudit import FactorModel
from embaudit.io import load, read
from embaudit.model import softmax_link

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(
    installed("transformer-lens") is None, reason="not installed"
)
TOKENS, WIDTH = 53, 16


def native(folder: Path) -> Any:
    from transformer_lens import TransformerBridge
    from transformer_lens.config import TransformerBridgeConfig

    sizes = {
        "d_model": WIDTH,
        "d_head": 4,
        "n_layers": 2,
        "n_heads": 4,
        "n_ctx": 12,
        "d_vocab": TOKENS,
    }
    return TransformerBridge.boot_native(
        TransformerBridgeConfig(**sizes, act_fn="relu", normalization_type="LN", seed=0)
    )


def bridged(folder: Path, kind: str, **more: Any) -> Any:
    """Make a bridge to a small random network of transformers, with a tokenizer that
    knows no words.
    """
    import transformers
    from tokenizers import Tokenizer, models
    from transformer_lens import TransformerBridge

    config = transformers.AutoConfig.for_model(kind, vocab_size=TOKENS, **more)
    network = transformers.AutoModelForCausalLM.from_config(config).eval()
    config.architectures = [type(network).__name__]
    network.save_pretrained(folder)
    words = Tokenizer(
        models.WordLevel({f"t{i}": i for i in range(TOKENS)}, unk_token="t0")
    )
    special = {
        "unk_token": "t0",
        "bos_token": "t1",
        "eos_token": "t2",
        "pad_token": "t2",
    }
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=words, **special
    ).save_pretrained(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    return TransformerBridge.boot_transformers(
        str(folder), hf_model=network, tokenizer=tokenizer
    )


def gpt2(folder: Path) -> Any:
    return bridged(folder, "gpt2", n_embd=WIDTH, n_layer=2, n_head=4, n_positions=32)


def gemma2(folder: Path) -> Any:
    sizes = {
        "hidden_size": WIDTH,
        "intermediate_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
    }
    return bridged(
        folder,
        "gemma2",
        **sizes,
        num_key_value_heads=2,
        head_dim=4,
        pad_token_id=0,
        final_logit_softcapping=0.5,
    )


def compatible(folder: Path) -> Any:
    made = gpt2(folder)
    made.enable_compatibility_mode()
    return made


NETWORKS = {
    "native": native,
    "GPT-2": gpt2,
    "Gemma-2": gemma2,
    "GPT-2 as HookedTransformer": compatible,
}


def logits_and_states(network: Any) -> tuple[Any, Any]:
    import torch

    torch.manual_seed(0)
    with torch.no_grad():
        network.unembed.b_U.copy_(
            torch.randn(TOKENS)
        ) if network.unembed.b_U.requires_grad else None
        logits, cache = network.run_with_cache(torch.randint(3, TOKENS, (2, 6)))
    return (
        x.detach().double().reshape(-1, x.shape[-1]).numpy()
        for x in (logits, cache["unembed.hook_in"])
    )


def require_logits(model: FactorModel, logits: Any) -> None:
    theirs = logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
    assert np.ptp(theirs) > 0.01
    np.testing.assert_allclose(np.log(model.predictions()), theirs, rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(
            name,
            marks=pytest.mark.holds("scores", library="transformer-lens", model=name),
        )
        for name in NETWORKS
    ],
)
def test_states_give_its_own_logits(name: str, tmp_path: Path) -> None:
    network = NETWORKS[name](tmp_path)
    logits, states = logits_and_states(network)
    reading = read(network, inputs=states)
    require_logits(reading.model, logits)
    assert reading.model.n_right == TOKENS
    assert {part.name for part in reading.intake.parts} >= {
        "unembed.W_U",
        "unembed.b_U",
    }
    assert (reading.model.link == softmax_link(soft_cap=0.5)) == (name == "Gemma-2")


@pytest.mark.holds("file", library="transformer-lens", model="native")
def test_its_state_is_the_same_head(tmp_path: Path) -> None:
    from safetensors.torch import save_file

    network = native(tmp_path)
    logits, states = logits_and_states(network)
    state = {
        name: tensor.contiguous().clone()
        for name, tensor in network.state_dict().items()
    }
    save_file(state, tmp_path / "state.safetensors")
    for model in (
        load(state, inputs=states),
        load(tmp_path / "state.safetensors", inputs=states),
    ):
        require_logits(model, logits)
