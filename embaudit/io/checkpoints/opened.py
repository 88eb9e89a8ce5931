"""A checkpoint in whatever format it is, and what it says of the norm before its head."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from embaudit.io.checkpoints.architectures import Architecture
from embaudit.io.checkpoints.config import Config, config_of
from embaudit.io.codecs import gguf, safetensors
from embaudit.io.codecs.arrays import Arrays
from embaudit.io.codecs.gguf import Gguf
from embaudit.io.codecs.safetensors import Safetensors

OF_GGUF = "output_norm"
"""Name of the final norm of every architecture in llama.cpp."""
DIVIDED = ("granite", "granitehybrid", "granitemoe", "minicpm")
"""Architectures whose logits llama.cpp divides by their scale; those of others it multiplies."""
SCALES = {"grok": 0.5773502691896257}
"""The scale that llama.cpp takes where a file says none."""


def opened(path: Path) -> tuple[Arrays, Config] | None:
    """Open a checkpoint; None where a file is none that keeps a norm beside its head."""
    if safetensors.recognises(path):
        checkpoint = Safetensors(path)
        return checkpoint, config_of(checkpoint.path.parent)
    if gguf.begins(path):
        file = Gguf(path)
        return file, config_of_gguf(file.metadata, shifted=f"{OF_GGUF}.bias" in file.tensors)
    return None


def config_of_gguf(metadata: Mapping[str, Any], *, shifted: bool) -> Config:
    """Determine the final norm of a GGUF file from its metadata, as llama.cpp does.

    The gains multiply as they stand: where a network multiplies by 1 + w, its converter has added the 1 already. See
    `conversion/gemma.py` of llama.cpp; the keys are those of its `gguf-py/gguf/constants.py`, the scales of logits
    those of its graphs.

    Parameters
    ----------
    metadata : mapping
        What the file says by key.
    shifted : bool
        Whether the norm has a bias, as no RMSNorm has.

    Examples
    --------
    >>> said = {"general.architecture": "phi2", "phi2.attention.layer_norm_epsilon": 1e-5}
    >>> config_of_gguf(said, shifted=False).architecture.kind
    'layer'
    """
    name = metadata.get("general.architecture")
    if not isinstance(name, str):
        return Config()
    by_mean = f"{name}.attention.layer_norm_epsilon" in metadata
    by_square = f"{name}.attention.layer_norm_rms_epsilon" in metadata
    architecture = Architecture(
        OF_GGUF,
        "layer" if shifted or (by_mean and not by_square) else "rms",
        scale="/scale" if name in DIVIDED else "scale",
        constant=name == "olmo",
    )
    scale = metadata.get(f"{name}.logit_scale", SCALES.get(name))
    width = metadata.get(f"{name}.embedding_length")
    epsilon = metadata.get(f"{name}.attention.layer_norm_{'rms_' if architecture.kind == 'rms' else ''}epsilon")
    return Config(
        {"scale": scale, "hidden_size": width, "norm_eps": epsilon},
        architecture,
        f"the architecture {name} of its metadata",
    )
