"""Adapters that PEFT trained and saved: their updates, and a gauge that changes no
logit.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file
from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

import embaudit as ea
from embaudit.io.adapters import read_adapter
from embaudit.networks.lora_comparison import Likeness

peft = pytest.importorskip("peft")
SIZES = {"vocab_size": 60, "hidden_size": 32, "num_attention_heads": 4}


def llama():
    torch.manual_seed(0)
    config = LlamaConfig(
        **SIZES, num_hidden_layers=2, intermediate_size=48, num_key_value_heads=2
    )
    return LlamaForCausalLM(config)


def gpt2():
    torch.manual_seed(0)
    return GPT2LMHeadModel(GPT2Config(vocab_size=60, n_embd=32, n_head=4, n_layer=2))


def tokens(seed):
    return torch.randint(0, 60, (16, 12), generator=torch.Generator().manual_seed(seed))


def trained(network, settings, seed=0, data=0, n_steps=30):
    """Train an adapter to predict random texts."""
    base = network()
    torch.manual_seed(seed)
    model = peft.get_peft_model(
        base, peft.LoraConfig(task_type="CAUSAL_LM", **settings)
    )
    optimiser = torch.optim.Adam(model.parameters(), lr=0.01)
    texts = tokens(100 + data)
    for _ in range(n_steps):
        optimiser.zero_grad()
        model(input_ids=texts, labels=texts).loss.backward()
        optimiser.step()
    return model.eval()


LLAMA = {"r": 4, "lora_alpha": 6, "target_modules": ["q_proj", "v_proj"]}
CASES = {
    "Llama": (llama, LLAMA),
    "rank stabilised": (llama, LLAMA | {"use_rslora": True}),
    "patterns": (
        llama,
        LLAMA
        | {
            "rank_pattern": {"layers.1.self_attn.v_proj": 2},
            "alpha_pattern": {"^model.layers.0.self_attn.q_proj": 3, "v_proj": 5},
        },
    ),
    "embedding": (llama, LLAMA | {"target_modules": ["embed_tokens", "down_proj"]}),
    "GPT-2": (gpt2, {"r": 3, "target_modules": ["c_attn"], "fan_in_fan_out": True}),
    "DoRA": (llama, LLAMA | {"use_dora": True}),
    "trained head": (llama, LLAMA | {"modules_to_save": ["lm_head"]}),
}


@pytest.mark.parametrize(("network", "settings"), CASES.values(), ids=CASES)
def test_updates_are_those_of_peft(tmp_path, network, settings):
    model = trained(network, settings)
    model.save_pretrained(tmp_path)
    adapter = read_adapter(tmp_path)
    layers = {
        name.removeprefix("base_model.model."): module
        for name, module in model.named_modules()
        if hasattr(module, "get_delta_weight")
    }
    assert adapter.pairs.keys() == layers.keys()
    for name, layer in layers.items():
        pair = adapter.pairs[name]
        update = pair.scale * np.asarray(pair.b, float) @ np.asarray(pair.a, float)
        expected = layer.get_delta_weight("default").detach().double().numpy()
        if expected.shape != update.shape or name.endswith("c_attn"):
            # PEFT turns the update of an embedding, and of a Conv1D of GPT-2.
            update = update.T
        np.testing.assert_allclose(update, expected, atol=1e-6)
        assert np.abs(expected).max() > 1e-3
    others = {"DoRA": "lora_magnitude_vector", "trained head": "lm_head"}
    named = [name for name in others.values() if name in str(adapter.left_over)]
    is_other = settings.get("use_dora") or "modules_to_save" in settings
    assert bool(named) == bool(is_other)
    assert ea.audit_lora(tmp_path).findings[0].code == "EMB601"


def regauge(folder, target, seed=0):
    """Write the adapter in other factors."""
    draw = np.random.default_rng(seed)
    arrays = load_file(folder / "adapter_model.safetensors")
    for name in [name for name in arrays if "lora_A" in name]:
        other = name.replace("lora_A", "lora_B")
        gauge = draw.normal(size=(len(arrays[name]), len(arrays[name])))
        b = arrays[other].astype(float) @ gauge
        a = np.linalg.solve(gauge, arrays[name].astype(float))
        arrays[other], arrays[name] = b.astype("f4"), a.astype("f4")
    target.mkdir()
    save_file(arrays, target / "adapter_model.safetensors", {"format": "pt"})
    config = (folder / "adapter_config.json").read_text()
    (target / "adapter_config.json").write_text(config)


def logits(folder):
    model = peft.PeftModel.from_pretrained(llama(), folder).eval()
    with torch.no_grad():
        return model(input_ids=tokens(5)).logits.numpy()


def test_other_factors_of_the_same_update_give_the_same_logits(tmp_path):
    trained(llama, LLAMA).save_pretrained(tmp_path / "one")
    regauge(tmp_path / "one", tmp_path / "other")
    first, second = (logits(tmp_path / name) for name in ("one", "other"))
    np.testing.assert_allclose(first, second, atol=1e-4)
    with torch.no_grad():
        without = llama()(input_ids=tokens(5)).logits.numpy()
    assert np.abs(first - without).max() > 0.1
    found = ea.compare_lora(tmp_path / "one", tmp_path / "other")
    assert found.likeness is Likeness.SAME_UPDATE
    assert found.factor_cosine < 0.9


def test_the_same_random_start_deceives_factors_and_not_updates(tmp_path):
    """With one seed both adapters begin with the same A, and learn different texts."""
    for name, seed, data in (("one", 0, 0), ("data", 0, 1), ("seed", 1, 0)):
        trained(llama, LLAMA, seed=seed, data=data).save_pretrained(tmp_path / name)
    other_data, other_seed = (
        ea.compare_lora(tmp_path / "one", tmp_path / name) for name in ("data", "seed")
    )
    assert other_data.factor_cosine > other_seed.factor_cosine
    assert other_data.likeness is Likeness.UNRELATED
    assert other_seed.likeness is Likeness.RELATED
