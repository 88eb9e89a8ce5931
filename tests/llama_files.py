"""Files of language models as llama.cpp and llama2.c have them: written by the package gguf, and after `export.py`."""

from __future__ import annotations

import struct
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
        add = {bool: writer.add_bool, int: writer.add_uint32, float: writer.add_float32, str: writer.add_string}
        add[type(value)](f"{architecture}.{key.replace('__', '.')}", value)
    if tokens is not None:
        writer.add_token_list(tokens)
        writer.add_token_merges(["a b", "c d"])
    if types is not None:
        writer.add_token_types(types)
    for name, array in tensors.items():
        called = kinds if isinstance(kinds, str) else kinds.get(name, "F32")
        kind = gguf.GGMLQuantizationType[called if array.ndim > 1 else "F32"]
        writer.add_tensor(name, gguf.quantize(array.astype(np.float32), kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


RMS = {"attention__layer_norm_rms_epsilon": 1e-5}
LAYER = {"attention__layer_norm_epsilon": 1e-5}


def grouped(rows: np.ndarray, group: int) -> bytes:
    """Round a matrix as `quantize_q80` does, and write its integers and then the scale of each group."""
    groups = rows.reshape(-1, group).astype(np.float32)
    scales = np.abs(groups).max(axis=1) / np.float32(127)
    return np.round(groups / scales[:, None]).astype(np.int8).tobytes() + scales.astype("<f4").tobytes()


def llama2c_file(
    path: Path,
    embedding: np.ndarray,
    gain: np.ndarray,
    head: np.ndarray | None = None,
    *,
    version: int = 0,
    group: int = 4,
    heads: tuple[int, int] = (2, 1),
) -> Path:
    """Write a checkpoint of two layers with other numbers in them, its classifier shared unless a head is given."""
    (vocab, dim), layers, hidden, positions = embedding.shape, 2, 12, 3
    sizes = (dim, hidden, layers, *heads, vocab, positions)
    narrow = dim * heads[1] // heads[0]
    draw = np.random.default_rng(7)
    norms = [draw.standard_normal((layers, dim)) for _ in range(2)]
    shapes = [(dim, dim), (narrow, dim), (narrow, dim), (dim, dim), (hidden, dim), (dim, hidden), (hidden, dim)]
    matrices = [draw.standard_normal(shape) for shape in shapes for _ in range(layers)]

    def floats(*arrays: np.ndarray) -> bytes:
        return b"".join(np.asarray(array, dtype="<f4").tobytes() for array in arrays)

    last = [] if head is None else [head]
    if version == 0:
        signed = (*sizes[:5], -vocab if head is not None else vocab, positions)
        angles = draw.standard_normal((2, positions, dim // heads[0] // 2))
        body = floats(embedding, norms[0], *matrices[: 4 * layers], norms[1], *matrices[4 * layers :])
        path.write_bytes(struct.pack("<7i", *signed) + body + floats(gain, angles, *last))
        return path
    flags = struct.pack("<Bi", head is None, group) if version == 2 else struct.pack("<B", head is None)
    header = (b"24ka" + struct.pack("<i7i", version, *sizes) + flags).ljust(256, b"\0")
    front, tables = floats(*norms, gain), [embedding, *matrices, *last]
    body = b"".join(grouped(x, group) for x in tables) if version == 2 else floats(*tables)
    path.write_bytes(header + front + body)
    return path


def tokenizer_bin(path: Path, tokens: list[str]) -> Path:
    """Write tokens as `tokenizer.py` of llama2.c does."""
    encoded = [token.encode() for token in tokens]
    entries = b"".join(struct.pack("<fI", -i, len(text)) + text for i, text in enumerate(encoded))
    path.write_bytes(struct.pack("<I", max(map(len, encoded))) + entries)
    return path
