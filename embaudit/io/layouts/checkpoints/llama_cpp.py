"""Networks of llama.cpp: their settings, from the metadata of GGUF files.

The keys are those of `gguf-py/gguf/constants.py` of llama.cpp, the scales of logits
those of its graphs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from embaudit.io.layouts.checkpoints.architectures import Architecture
from embaudit.io.layouts.checkpoints.config import SOFT_CAP, Config
from embaudit.model.final_norm import NormKind

OUTPUT_NORM = "output_norm"
"""Name of the final norm of every architecture in llama.cpp."""
DIVIDED = ("granite", "granitehybrid", "granitemoe", "minicpm")
"""Architectures whose logits llama.cpp divides by their scale; it multiplies those of
others.
"""
ENCODERS = (
    "t5encoder",
    "bert",
    "modern-bert",
    "neo-bert",
    "nomic-bert",
    "nomic-bert-moe",
    "jina-bert-v2",
    "clip",
    "eurobert",
    "gemma-embedding",
)
"""Architectures of llama.cpp that predict no tokens."""
SOFT_CAPS = {"gemma2": 30.0}
"""Soft caps of llama.cpp for architectures whose files name none."""
SCALES = {"grok": 0.5773502691896257}
"""Scales of logits of llama.cpp for architectures whose files name none."""


def config_of_gguf(metadata: Mapping[str, Any], *, shifted: bool) -> Config:
    """Determine final norm, scale and soft cap of a GGUF file, as llama.cpp does.

    The gains multiply as they are stored: if a network multiplies by 1 + w, its
    converter has added the 1 already (`conversion/gemma.py` of llama.cpp).

    Parameters
    ----------
    metadata : mapping
        The metadata of the file, by key.
    shifted : bool
        True if the norm has a bias, as no RMSNorm has.

    Examples
    --------
    >>> metadata = {
    ...     "general.architecture": "phi2",
    ...     "phi2.attention.layer_norm_epsilon": 1e-5,
    ... }
    >>> config_of_gguf(metadata, shifted=False).architecture.kind
    'layer'
    >>> config_of_gguf({"general.architecture": "gemma2"}, shifted=False).soft_cap
    30.0
    """
    name = metadata.get("general.architecture")
    is_adapter = metadata.get("general.type") == "adapter"
    if not isinstance(name, str):
        return Config(is_encoder=is_adapter)

    # llama.cpp stores the epsilon of the norm that it computes, so the key tells which.
    layer_key = f"{name}.attention.layer_norm_epsilon"
    rms_key = f"{name}.attention.layer_norm_rms_epsilon"
    is_layer_norm = shifted or (layer_key in metadata and rms_key not in metadata)
    kind: NormKind = "layer" if is_layer_norm else "rms"

    architecture = Architecture(OUTPUT_NORM, kind, constant=name == "olmo")
    if name in DIVIDED:
        architecture = replace(architecture, divisor_key="logit_scale")
    else:
        architecture = replace(architecture, multiplier_key="logit_scale")
    scale = metadata.get(f"{name}.logit_scale", SCALES.get(name))
    if scale == 0:
        # llama.cpp applies no scale then.
        scale = None
    settings = {
        "logit_scale": scale,
        "hidden_size": metadata.get(f"{name}.embedding_length"),
        SOFT_CAP: metadata.get(f"{name}.{SOFT_CAP}", SOFT_CAPS.get(name)),
    }
    if is_layer_norm:
        settings["layer_norm_epsilon"] = metadata.get(layer_key)
    else:
        settings["layer_norm_rms_epsilon"] = metadata.get(rms_key)
    # A pooling of states, or attention in both directions, makes vectors of texts
    # instead of the next token.
    is_pooled = bool(metadata.get(f"{name}.pooling_type"))
    is_bidirectional = metadata.get(f"{name}.attention.causal") is False
    return Config(
        settings,
        architecture,
        f"the architecture {name} of its metadata",
        is_encoder=is_adapter or name in ENCODERS or is_pooled or is_bidirectional,
        origin="the metadata of a GGUF file",
    )
