"""Files of language models as llama.cpp has them, written by the package gguf."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path


def gguf_file(
    path: Path,
    tensors: dict[str, np.ndarray],
    *,
    architecture: str = "llama",
    kinds: dict[str, str] | str = "F32",
    tokens: list[str] | None = None,
    types: list[int] | None = None,
    **keys: Any,
) -> Path:
    """Write tensors, each in its type, by the package gguf; `keys` are metadata of the architecture."""
    import gguf

    writer = gguf.GGUFWriter(path, architecture)
    for key, value in keys.items():
        add = {
            bool: writer.add_bool,
            int: writer.add_uint32,
            float: writer.add_float32,
            str: writer.add_string,
        }
        add[type(value)](f"{architecture}.{key.replace('__', '.')}", value)
    if tokens is not None:
        writer.add_token_list(tokens)
        writer.add_token_merges(["a b", "c d"])
    if types is not None:
        writer.add_token_types(types)
    for name, array in tensors.items():
        called = kinds if isinstance(kinds, str) else kinds.get(name, "F32")
        kind = gguf.GGMLQuantizationType[called if array.ndim > 1 else "F32"]
        writer.add_tensor(
            name, gguf.quantize(array.astype(np.float32), kind), raw_dtype=kind
        )
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


RMS = {"attention__layer_norm_rms_epsilon": 1e-5}
LAYER = {"attention__layer_norm_epsilon": 1e-5}
