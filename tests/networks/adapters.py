"""Pairs of low-rank factors, PEFT folders, and updates as dense matrices."""

from __future__ import annotations

import json

import numpy as np
from safetensors.numpy import save_file

PREFIX = "base_model.model."


def pair(seed, n_outputs=60, n_inputs=40, rank=4):
    """Draw B and A with dimensions of different sizes."""
    draw = np.random.default_rng(seed)
    b = draw.normal(size=(n_outputs, rank)) * np.linspace(1, 3, rank)
    return b, draw.normal(size=(rank, n_inputs))


def regauged(factors, seed=0, condition=10.0):
    """Return B G and the inverse of G times A, for a random G."""
    b, a = factors
    draw = np.random.default_rng(seed)
    u, _, vt = np.linalg.svd(draw.normal(size=(b.shape[1], b.shape[1])))
    scales = np.geomspace(1, condition, b.shape[1]) / np.sqrt(condition)
    return (b @ u * scales) @ vt, vt.T @ (u.T @ a / scales[:, None])


def write_adapter(folder, modules, *, dtype=np.float32, other=None, **config):
    """Write modules with their factors as PEFT does; config=None leaves it out."""
    folder.mkdir(parents=True, exist_ok=True)
    arrays = dict(other or {})
    for name, (b, a) in modules.items():
        arrays[f"{PREFIX}{name}.lora_A.weight"] = a
        arrays[f"{PREFIX}{name}.lora_B.weight"] = b
    save_file(
        {name: np.ascontiguousarray(x, dtype=dtype) for name, x in arrays.items()},
        folder / "adapter_model.safetensors",
    )
    settings = {"peft_type": "LORA", "lora_alpha": 8, "r": 4} | config
    (folder / "adapter_config.json").write_text(json.dumps(settings))
    return folder


def dense(factors, scale=1.0):
    """Return the update as a matrix (out, in)."""
    b, a = (np.asarray(one, np.float64) for one in factors)
    return scale * b @ a
