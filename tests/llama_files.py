"""Small GGUF files, the format of llama.cpp, written by the package gguf."""

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
    """Write tensors and metadata, and return the path.

    `kinds` is the type of all matrices, or of each by its name; vectors stay in F32.
    `keys` are metadata of the architecture; two underscores stand for a dot.
    """
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
        kind_name = kinds if isinstance(kinds, str) else kinds.get(name, "F32")
        if array.ndim == 1:
            kind_name = "F32"
        kind = gguf.GGMLQuantizationType[kind_name]
        writer.add_tensor(
            name, gguf.quantize(array.astype(np.float32), kind), raw_dtype=kind
        )
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


# Metadata by which a reader tells an RMSNorm from a LayerNorm.
RMS = {"attention__layer_norm_rms_epsilon": 1e-5}
LAYER = {"attention__layer_norm_epsilon": 1e-5}
