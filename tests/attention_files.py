"""Small networks with attention, in folders as transformers writes them.

`forward` is an independent NumPy network of the same architectures: token and position
embeddings, attention layers with residual connections, and logits of tied embeddings.
It reads the tensors of a folder by their names in transformers.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file, save_file

WIDTH, VOCABULARY, N_LAYERS = 12, 17, 2


@dataclass(frozen=True)
class Network:
    """One architecture with random weights."""

    name: str
    """`model_type`."""
    heads: int = 2
    key_heads: int = 2
    width: int = 4
    """Columns of a head."""
    rotated: int = 0
    """Columns of a head that are rotated."""
    pairs: bool = False
    """True if neighbouring columns are rotated together, False for halves."""
    has_bias: bool = False
    """True if queries, keys, values and outputs have a bias."""
    has_norms: bool = False
    """True if queries and keys have an RMSNorm each."""
    adds_one: bool = False
    """True if a gain w of an RMSNorm multiplies by 1 + w."""
    config: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.name


LLAMA = Network("llama", heads=4, key_heads=2, rotated=4)
LLAMA_BIAS = Network("qwen2", heads=4, key_heads=2, rotated=4, has_bias=True)
QWEN3 = Network("qwen3", heads=4, key_heads=2, rotated=4, has_norms=True)
GEMMA3 = Network(
    "gemma3_text", heads=4, key_heads=1, rotated=4, has_norms=True, adds_one=True
)
COHERE = Network("cohere", heads=2, key_heads=1, width=6, rotated=6, pairs=True)
STABLELM = Network(
    "stablelm", rotated=2, width=6, config={"partial_rotary_factor": 0.34}
)
GPT2 = Network("gpt2", heads=3, key_heads=3, has_bias=True)
BERT = Network("bert", has_bias=True)
ALL = (LLAMA, LLAMA_BIAS, QWEN3, GEMMA3, COHERE, STABLELM, GPT2, BERT)


class Drawn:
    """Random tensors in float64, by name."""

    def __init__(self, network: Network, seed: int) -> None:
        self.network = network
        self.draw = np.random.default_rng(seed)
        self.tensors: dict[str, np.ndarray] = {}

    def matrix(self, name: str, *shape: int) -> None:
        """Draw a matrix."""
        self.tensors[name] = self.draw.standard_normal(shape) / np.sqrt(shape[-1])

    def linear(self, name: str, n_out: int, n_in: int) -> None:
        """Draw a linear layer, with a bias if the network has them."""
        self.matrix(f"{name}.weight", n_out, n_in)
        if self.network.has_bias:
            self.tensors[f"{name}.bias"] = self.draw.standard_normal(n_out)

    def norm(self, name: str, size: int, *, has_shift: bool) -> None:
        """Draw the gains of a norm."""
        self.tensors[f"{name}.weight"] = self.draw.uniform(0.5, 2, size)
        if has_shift:
            self.tensors[f"{name}.bias"] = self.draw.standard_normal(size)


def tensors_of(network: Network, seed: int = 0) -> dict[str, np.ndarray]:
    """Draw the tensors of a network in float64."""
    drawn = Drawn(network, seed)
    if network.name == "gpt2":
        _draw_gpt2(drawn)
    elif network.name == "bert":
        _draw_bert(drawn)
    else:
        _draw_llama(drawn)
    return drawn.tensors


def _draw_gpt2(drawn: Drawn) -> None:
    rows = drawn.network.heads * drawn.network.width
    drawn.matrix("transformer.wte.weight", VOCABULARY, WIDTH)
    drawn.matrix("transformer.wpe.weight", 8, WIDTH)
    for layer in range(N_LAYERS):
        block = f"transformer.h.{layer}"
        drawn.norm(f"{block}.ln_1", WIDTH, has_shift=True)
        for part, shape in (("c_attn", (WIDTH, 3 * rows)), ("c_proj", (rows, WIDTH))):
            drawn.matrix(f"{block}.attn.{part}.weight", *shape)
            bias = drawn.draw.standard_normal(shape[1])
            drawn.tensors[f"{block}.attn.{part}.bias"] = bias


def _draw_bert(drawn: Drawn) -> None:
    rows = drawn.network.heads * drawn.network.width
    embeddings = "bert.embeddings"
    drawn.matrix(f"{embeddings}.word_embeddings.weight", VOCABULARY, WIDTH)
    drawn.matrix(f"{embeddings}.position_embeddings.weight", 8, WIDTH)
    drawn.matrix(f"{embeddings}.token_type_embeddings.weight", 2, WIDTH)
    drawn.norm(f"{embeddings}.LayerNorm", WIDTH, has_shift=True)
    for layer in range(N_LAYERS):
        block = f"bert.encoder.layer.{layer}.attention"
        for part in ("query", "key", "value"):
            drawn.linear(f"{block}.self.{part}", rows, WIDTH)
        drawn.linear(f"{block}.output.dense", WIDTH, rows)


def _draw_llama(drawn: Drawn) -> None:
    network = drawn.network
    rows, key_rows = network.heads * network.width, network.key_heads * network.width
    drawn.matrix("model.embed_tokens.weight", VOCABULARY, WIDTH)
    for layer in range(N_LAYERS):
        block = f"model.layers.{layer}"
        has_shift = network.name == "stablelm"
        drawn.norm(f"{block}.input_layernorm", WIDTH, has_shift=has_shift)
        drawn.linear(f"{block}.self_attn.q_proj", rows, WIDTH)
        drawn.linear(f"{block}.self_attn.k_proj", key_rows, WIDTH)
        drawn.linear(f"{block}.self_attn.v_proj", key_rows, WIDTH)
        drawn.linear(f"{block}.self_attn.o_proj", WIDTH, rows)
        if network.has_norms:
            for part in ("q_norm", "k_norm"):
                name = f"{block}.self_attn.{part}"
                drawn.norm(name, network.width, has_shift=False)


def config_of(network: Network) -> dict[str, Any]:
    """Return the content of `config.json`."""
    return {
        "model_type": network.name,
        "num_attention_heads": network.heads,
        "num_key_value_heads": network.key_heads,
        "head_dim": network.width,
        "hidden_size": WIDTH,
        "num_hidden_layers": N_LAYERS,
        "rope_theta": 100.0,
        **network.config,
    }


def folder_of(
    path: Path, network: Network, tensors: dict[str, np.ndarray] | None = None
) -> Path:
    """Write a network to a folder, and return the folder."""
    path.mkdir(parents=True, exist_ok=True)
    if tensors is None:
        tensors = tensors_of(network)
    (path / "config.json").write_text(json.dumps(config_of(network)), encoding="utf-8")
    contiguous = {name: np.ascontiguousarray(x) for name, x in tensors.items()}
    save_file(contiguous, path / "model.safetensors")
    return path


class Live:
    """A network in memory, as transformers has it."""

    def __init__(self, network: Network) -> None:
        self.config = self
        self._network = network

    def to_dict(self) -> dict[str, Any]:
        """Return the configuration."""
        return config_of(self._network)

    def state_dict(self) -> dict[str, np.ndarray]:
        """Return the tensors."""
        return tensors_of(self._network)


def stored_in(path: Path) -> dict[str, np.ndarray]:
    """Read the tensors of a folder."""
    return load_file(path / "model.safetensors")


def forward(
    network: Network, tensors: dict[str, np.ndarray], tokens: np.ndarray
) -> np.ndarray:
    """Compute the logits of a text."""
    states = embedded(network, tensors, tokens)
    for layer in range(N_LAYERS):
        states = states + _attention(network, tensors, layer, states)
    embeddings = next(x for name, x in tensors.items() if _is_embedding(name))
    return states @ embeddings.T


def _is_embedding(name: str) -> bool:
    return name.endswith(
        ("wte.weight", "embed_tokens.weight", "word_embeddings.weight")
    )


def embedded(
    network: Network, tensors: dict[str, np.ndarray], tokens: np.ndarray
) -> np.ndarray:
    embeddings = next(x for name, x in tensors.items() if _is_embedding(name))
    states = embeddings[tokens]
    if network.name == "gpt2":
        return states + tensors["transformer.wpe.weight"][: len(tokens)]
    if network.name == "bert":
        states = (
            states
            + tensors["bert.embeddings.position_embeddings.weight"][: len(tokens)]
        )
        states = states + tensors["bert.embeddings.token_type_embeddings.weight"][0]
        return _layer_norm(states, tensors, "bert.embeddings.LayerNorm")
    if network.name.startswith("gemma"):
        states = states * np.sqrt(WIDTH)
    return states


def _layer_norm(x: np.ndarray, tensors: dict[str, np.ndarray], name: str) -> np.ndarray:
    centred = x - x.mean(axis=-1, keepdims=True)
    unit = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5)
    return unit * tensors[f"{name}.weight"] + tensors.get(f"{name}.bias", 0)


def _rms_norm(x: np.ndarray, gain: np.ndarray) -> np.ndarray:
    return gain * x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + 1e-5)


def layer_inputs(
    network: Network, tensors: dict[str, np.ndarray], layer: int, states: np.ndarray
) -> np.ndarray:
    """Apply the norm before the attention of a layer."""
    if network.name == "bert":
        return states
    if network.name == "gpt2":
        return _layer_norm(states, tensors, f"transformer.h.{layer}.ln_1")
    name = f"model.layers.{layer}.input_layernorm"
    if network.name in ("cohere", "stablelm"):
        return _layer_norm(states, tensors, name)
    return _rms_norm(states, tensors[f"{name}.weight"] + network.adds_one)


def projections(
    network: Network, tensors: dict[str, np.ndarray], layer: int, inputs: np.ndarray
) -> list[np.ndarray]:
    """Return queries, keys and values of all heads, (n, heads, width) each."""
    if network.name == "gpt2":
        name = f"transformer.h.{layer}.attn.c_attn"
        rows = inputs @ tensors[f"{name}.weight"] + tensors[f"{name}.bias"]
        parts = np.split(rows, 3, axis=1)
    else:
        if network.name == "bert":
            block = f"bert.encoder.layer.{layer}.attention.self"
            names = ("query", "key", "value")
        else:
            block = f"model.layers.{layer}.self_attn"
            names = ("q_proj", "k_proj", "v_proj")
        parts = [
            inputs @ tensors[f"{block}.{name}.weight"].T
            + tensors.get(f"{block}.{name}.bias", 0)
            for name in names
        ]
    heads = [part.reshape(len(inputs), -1, network.width) for part in parts]
    if network.has_norms:
        for place, name in ((0, "q_norm"), (1, "k_norm")):
            gain = tensors[f"model.layers.{layer}.self_attn.{name}.weight"]
            heads[place] = _rms_norm(heads[place], gain + network.adds_one)
    return heads


def rotate(network: Network, rows: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Turn rows, (n, heads, width), by their positions."""
    half = network.rotated // 2
    turned = np.array(rows)
    for plane in range(half):
        first, second = plane, plane + half
        if network.pairs:
            first, second = 2 * plane, 2 * plane + 1
        angle = (positions * 100.0 ** (-plane / half))[:, None]
        a, b = rows[..., first], rows[..., second]
        turned[..., first] = a * np.cos(angle) - b * np.sin(angle)
        turned[..., second] = b * np.cos(angle) + a * np.sin(angle)
    return turned


def _attention(
    network: Network, tensors: dict[str, np.ndarray], layer: int, states: np.ndarray
) -> np.ndarray:
    inputs = layer_inputs(network, tensors, layer, states)
    queries, keys, values = projections(network, tensors, layer, inputs)
    positions = np.arange(len(states))
    queries = rotate(network, queries, positions)
    keys = rotate(network, keys, positions)
    outputs = []
    for head in range(network.heads):
        key_head = head * network.key_heads // network.heads
        scores = queries[:, head] @ keys[:, key_head].T / np.sqrt(network.width)
        if network.name != "bert":
            scores = np.where(np.tri(len(states)) > 0, scores, -np.inf)
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        weights /= weights.sum(axis=1, keepdims=True)
        outputs.append(weights @ values[:, key_head])
    joined = np.concatenate(outputs, axis=1)
    if network.name == "gpt2":
        name = f"transformer.h.{layer}.attn.c_proj"
        return joined @ tensors[f"{name}.weight"] + tensors[f"{name}.bias"]
    if network.name == "bert":
        name = f"bert.encoder.layer.{layer}.attention.output.dense"
    else:
        name = f"model.layers.{layer}.self_attn.o_proj"
    return joined @ tensors[f"{name}.weight"].T + tensors.get(f"{name}.bias", 0)
