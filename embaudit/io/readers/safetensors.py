"""safetensors: heads and tables out of large checkpoints, one tensor at a time, bfloat16 included.

Only the header is read to find a tensor; float32 and float64 stay on disk (a memory map at the tensor's
place), float16 and bfloat16 become float32 block by block.
"""

from __future__ import annotations

import json
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from embaudit.errors import InputError, must_be
from embaudit.foundation.workers import row_blocks
from embaudit.io.files import written_whole
from embaudit.io.readers.assemble import assemble
from embaudit.io.readers.numpy_arrays import require_one_side
from embaudit.model import Link

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from embaudit.io.files import AnyPath
    from embaudit.io.readers.layout import Shapes
    from embaudit.io.request import Request
    from embaudit.model import FactorModel

SINGLE = "model.safetensors"
INDEX = "model.safetensors.index.json"
DTYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4"}


class Tensor(NamedTuple):
    """Where a tensor lies."""

    path: Path
    dtype: str
    shape: tuple[int, ...]
    start: int
    """Its first byte in the file."""


def recognises(path: Path) -> bool:
    """A `.safetensors` file, an index of shards, or a directory with one of them."""
    if path.is_dir():
        return (path / SINGLE).exists() or (path / INDEX).exists()
    return path.name.lower().endswith((".safetensors", ".safetensors.index.json"))


def tensors_of(path: Path) -> dict[str, Tensor]:
    """List the tensors of one file.

    Raises
    ------
    InputError
        If it is cut off or no safetensors file.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="np"):
            pass  # Checks the header against the length of the file.
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            header = json.loads(file.read(length))
    except (SafetensorError, OSError, ValueError) as error:
        raise InputError(f"{path} must be a whole safetensors file; it is not ({error}); fetch it again.") from error
    header.pop("__metadata__", None)
    return {
        name: Tensor(path, entry["dtype"], tuple(entry["shape"]), 8 + length + entry["data_offsets"][0])
        for name, entry in header.items()
    }


def _sharded(index: Path) -> dict[str, Tensor]:
    try:
        places = json.loads(index.read_text(encoding="utf-8"))["weight_map"]
        files = sorted(set(places.values()))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise must_be(f"{index}", "an index of safetensors shards", "other content") from error
    found: dict[str, Tensor] = {}
    for name in files:
        shard = index.parent / name
        if not shard.is_file():
            raise must_be("every shard", f"beside {index.name}", f"no file {name}", "fetch it too")
        found |= tensors_of(shard)
    return found


def read_tensor(tensor: Tensor) -> NDArray[Any]:
    """Map or convert one tensor.

    Raises
    ------
    InputError
        If it is stored in a type that is no plain number.
    """
    if tensor.dtype not in DTYPES:
        got = f"{tensor.dtype} in {tensor.path}"
        raise must_be("a tensor", "stored as one of " + ", ".join(DTYPES), got, "convert it to F32")
    if 0 in tensor.shape:
        return np.empty(tensor.shape, dtype=np.float32)
    raw = np.memmap(tensor.path, DTYPES[tensor.dtype], "r", tensor.start, tensor.shape or (1,))
    if tensor.dtype == "BF16":
        return _widened(raw)
    return np.array(raw, dtype=np.float32) if tensor.dtype == "F16" else raw


def _widened(raw: NDArray[np.uint16]) -> NDArray[np.float32]:
    """Turn bfloat16 into float32, whose upper half it is."""
    wide = np.empty(raw.shape, dtype=np.float32)
    flat, bits = raw.reshape(-1), wide.reshape(-1).view(np.uint32)
    for block in row_blocks(len(flat), 1):
        np.left_shift(flat[block], np.uint32(16), out=bits[block], dtype=np.uint32)
    return wide


class Checkpoint:
    """The tensors of a model, of one file or of many shards."""

    def __init__(self, path: Path) -> None:
        if path.is_dir():
            path = path / SINGLE if (path / SINGLE).exists() else path / INDEX
        self.path = path
        self.tensors = _sharded(path) if path.suffix == ".json" else tensors_of(path)
        self.shapes: Shapes = {name: tensor.shape for name, tensor in self.tensors.items()}

    def __getitem__(self, name: str) -> NDArray[Any]:
        return read_tensor(self.tensors[name])

    @cached_property
    def config(self) -> dict[str, Any]:
        """What `config.json` beside it says, if there is one."""
        beside = self.path.parent / "config.json"
        try:
            content = json.loads(beside.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return content if isinstance(content, dict) else {}


def read(path: Path, request: Request) -> FactorModel:
    """Read a head, two factor matrices or one table of vectors.

    Raises
    ------
    InputError
        If a file is damaged, or the tensors' names leave more than one reading.
    """
    checkpoint = Checkpoint(path)
    model = assemble(checkpoint, request, path)
    config = checkpoint.config
    capped = config.get("final_logit_softcapping") or config.get("text_config", {}).get("final_logit_softcapping")
    # A cap on the logits makes the softmax notice a translation; only what keeps the scores keeps the probabilities.
    return model.replace(link=Link.IDENTITY) if capped and model.link is Link.SOFTMAX else model


def write(model: FactorModel, path: AnyPath, *, force: bool = False) -> None:
    """Write a head as `weight` and `bias`, other vectors as `weight`.

    Raises
    ------
    InputError
        If the model holds two sides, or ids, which the format cannot.
    """
    from safetensors.numpy import save

    require_one_side(model, ".safetensors", bias=model.link is Link.SOFTMAX)
    name = "lm_head" if model.link is Link.SOFTMAX else "item_factors"
    tensors = {f"{name}.weight": np.ascontiguousarray(model.right)}
    if model.right_bias is not None:
        tensors[f"{name}.bias"] = np.ascontiguousarray(model.right_bias)
    with written_whole(path, force=force) as file:
        file.write(save(tensors))
