"""Small random networks of transformers, and the states that reach their layers."""

from __future__ import annotations

from typing import Any

import numpy as np

N_TOKENS = 53
KEYS_BY_SIZE = {
    N_TOKENS: ("vocab_size",),
    64: ("n_positions", "max_position_embeddings"),
    32: (
        "intermediate_size",
        "d_ff",
        "ffn_dim",
        "encoder_ffn_dim",
        "decoder_ffn_dim",
        "hidden_dim",
    ),
    16: (
        "hidden_size",
        "d_model",
        "n_embd",
        "embedding_size",
        "dim",
        "word_embed_proj_dim",
        "attention_hidden_size",
    ),
    8: ("sliding_window",),
    4: (
        "num_attention_heads",
        "n_head",
        "num_heads",
        "n_heads",
        "encoder_attention_heads",
        "decoder_attention_heads",
        "head_dim",
        "d_kv",
        "rotary_dim",
        "state_size",
        "time_step_rank",
    ),
    2: (
        "num_hidden_layers",
        "n_layer",
        "num_layers",
        "n_layers",
        "encoder_layers",
        "decoder_layers",
        "num_key_value_heads",
        "num_local_experts",
        "num_experts",
        "conv_kernel",
        "expand",
    ),
    1: ("num_experts_per_tok",),
}
"""Settings of configurations, by the small number that they get."""
SPECIAL_TOKENS = {
    "pad_token_id": 0,
    "bos_token_id": 1,
    "decoder_start_token_id": 1,
    "eos_token_id": 2,
}
N_SPECIAL = 3


def small_config(architecture: str, **settings: Any) -> Any:
    """Return the configuration of a small network of an architecture."""
    from transformers import AutoConfig

    default = AutoConfig.for_model(architecture)
    keys = {*default.to_dict(), *getattr(default, "attribute_map", {})}
    small = dict(SPECIAL_TOKENS)
    for size, sized_keys in KEYS_BY_SIZE.items():
        small |= dict.fromkeys(sized_keys, size)
    known = {key: value for key, value in small.items() if key in keys}
    return AutoConfig.for_model(architecture, **known, **settings)


def random_network(factory: Any, config: Any) -> Any:
    """Make a network of a configuration, with the same random weights in every run.

    Every gain, bias and buffer is random, so an adapter that misses one, uses it twice
    or takes it for another gives wrong logits.

    Parameters
    ----------
    factory : callable
        Class of transformers, or `from_config` of a class that finds the right one.
    config : transformers.PretrainedConfig
    """
    import torch

    torch.manual_seed(0)
    network = factory(config).eval()
    _randomise(network)
    return network


def random_tensor(*shape: int) -> Any:
    """Draw numbers of a normal distribution, the same ones in every run."""
    import torch

    return torch.randn(*shape, generator=_generator())


def random_tokens(*shape: int) -> Any:
    """Draw tokens that are not special, the same ones in every run."""
    import torch

    return torch.randint(N_SPECIAL, N_TOKENS, shape, generator=_generator())


def _generator() -> Any:
    """Return a generator of its own, which no other draw can advance."""
    import torch

    return torch.Generator().manual_seed(1)


def rows_of(tensor: Any) -> np.ndarray:
    """Return an array with one row per position of all sequences."""
    return tensor.detach().reshape(-1, tensor.shape[-1]).numpy()


class Inputs:
    """Inputs of a layer, as they were when the layer was last called."""

    def __init__(self, layer: Any) -> None:
        self._last: Any = None
        layer.register_forward_pre_hook(self._keep)

    def _keep(self, _: Any, inputs: tuple[Any, ...]) -> None:
        if inputs and hasattr(inputs[0], "detach"):
            self._last = inputs[0]

    @property
    def rows(self) -> np.ndarray:
        """The inputs, one row per position."""
        return rows_of(self._last)


class Network:
    """A random network, its logits for some tokens, and the states inside of it."""

    def __init__(self, name: str, kind: str) -> None:
        import torch
        import transformers

        factory = getattr(transformers, f"AutoModelFor{kind}")
        self.name = name
        self.live = random_network(factory.from_config, small_config(name))
        self._inputs = {layer: Inputs(layer) for layer in self.live.modules()}
        tokens = random_tokens(2, 6)
        arguments = {"input_ids": tokens}
        states = "hidden_states"
        if kind == "Seq2SeqLM":
            arguments["decoder_input_ids"] = tokens
            states = "decoder_hidden_states"
        with torch.no_grad():
            outputs = self.live(**arguments, output_hidden_states=True)
        self.logits = rows_of(outputs.logits)
        self.last_states = rows_of(outputs[states][-1])

    def inputs_of(self, layer: Any) -> np.ndarray:
        """Return the states that reach a layer."""
        return self._inputs[layer].rows

    def layer_with(self, gains: np.ndarray) -> Any:
        """Return the only layer with these weights, which are the gains of a norm."""
        found = []
        for layer in self.live.modules():
            weight = getattr(layer, "weight", None)
            if weight is not None and np.array_equal(weight.detach().numpy(), gains):
                found.append(layer)
        assert len(found) == 1
        return found[0]


def _randomise(network: Any) -> None:
    """Draw all parameters and buffers of logits; gains and biases have mean 0.6."""
    import torch

    with torch.no_grad():
        for parameter in network.parameters():
            mean = 0.6 if parameter.ndim == 1 else 0.0
            parameter.copy_(0.4 * torch.randn_like(parameter) + mean)
        for name, buffer in network.named_buffers():
            if name == "final_logits_bias":
                buffer.copy_(torch.randn_like(buffer))
