"""safetensors: a length of eight bytes, a JSON header, then the bytes of the tensors.

A checkpoint is one file, or several shards with an index that says which shard holds
which tensor.
Reference: https://huggingface.co/docs/safetensors (format).
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from embaudit.errors import File, Option, Sentence, must_be
from embaudit.io.arrays import Place, Read, Stream, Tensor, as_stored, widened
from embaudit.io.contents import Contents, Source
from embaudit.io.damaged import reason
from embaudit.io.draft import Draft, fields_in, roles_in
from embaudit.io.files import existing_file
from embaudit.io.formats import ARRAYS, register, register_writer
from embaudit.io.json_text import parsed, parsed_once, require_few_keys
from embaudit.io.layouts.checkpoints.config import read_config
from embaudit.io.layouts.checkpoints.row_names import classes_of, named_by, tokens_of
from embaudit.io.layouts.checkpoints.tasks import is_classifier
from embaudit.io.layouts.layout import Layout
from embaudit.io.layouts.low_rank import is_low_rank_adapter
from embaudit.io.layouts.reading import contents_of_layout, layout_of
from embaudit.io.options import Request

MOST_NUMBERS = 2**59
"""Largest number of entries of a tensor that NumPy can address in float64."""
MOST_HEADER = 10**8
"""Largest number of bytes of a header that the library safetensors accepts."""
SINGLE = "model.safetensors"
"""Name of the only file of a checkpoint in a folder."""
INDEX = "model.safetensors.index.json"
"""Name of the index of the shards of a checkpoint in a folder."""
ADAPTER = "adapter_model.safetensors"
"""The file of a folder in which PEFT writes a low-rank adapter, which is no model."""
DTYPES = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "BF16": "bfloat16",
    "I8": "int8",
    "I16": "int16",
    "I32": "int32",
    "I64": "int64",
    "U8": "uint8",
    "U16": "uint16",
    "U32": "uint32",
    "U64": "uint64",
    "BOOL": "bool",
}
"""Types of numbers by their codes in a header, as NumPy names them."""
CODES = {
    np.dtype(name).newbyteorder("<").str: code
    for code, name in DTYPES.items()
    if name != "bfloat16"
}
"""Codes by the types of NumPy for arrays in little-endian order."""


def recognises(path: Path) -> bool:
    """Return True for a file, an index of shards, or a folder with one of the two."""
    if path.is_dir():
        return any((path / name).exists() for name in (SINGLE, INDEX, ADAPTER))
    return path.name.lower().endswith((".safetensors", ".safetensors.index.json"))


def widen_bfloat16(raw: NDArray[Any]) -> NDArray[np.float32]:
    """Return the numbers of bfloat16, which are the upper halves of float32 numbers.

    Examples
    --------
    >>> widen_bfloat16(np.array([0x3F80, 0xC000], dtype=np.uint16))
    array([ 1., -2.], dtype=float32)
    """
    # The bits are shifted as integers: nothing is rounded, and a NaN keeps its bits.
    wide = np.left_shift(np.asarray(raw), np.uint32(16), dtype=np.uint32)
    return np.asarray(wide).view(np.float32)


def numbers_at(place: Place, dtype: str) -> NDArray[Any]:
    """Return the numbers at a place, which are mapped into memory and stay on disk.

    Numbers in float16 and bfloat16 become float32.
    """
    if 0 in place.shape:
        return np.empty(place.shape, dtype=np.float32)
    raw = place.mapped()
    if dtype == "bfloat16":
        return widened(raw, widen_bfloat16)
    return as_stored(raw) if dtype == "float16" else raw


@dataclass(frozen=True)
class StoredTensor:
    """A tensor of a checkpoint, and the place of its numbers."""

    tensor: Tensor
    place: Place


class Safetensors:
    """The tensors of a checkpoint.

    Parameters
    ----------
    path : path
        One file, an index of shards, or a folder with one of the two.

    Raises
    ------
    InputError
        If a file is missing or cut off, or is no safetensors file.
    """

    def __init__(self, path: Path) -> None:
        if path.is_dir():
            names = (name for name in (SINGLE, INDEX) if (path / name).exists())
            path = path / next(names, ADAPTER)
        self.path = existing_file(path)
        self.metadata: dict[str, str] = {}
        """Texts in the header of a single file, next to the tensors."""
        if path.suffix.lower() == ".json":
            stored = _read_shards(path)
        else:
            self.metadata, stored = _read_header(path)
        self.tensors = {name: entry.tensor for name, entry in stored.items()}
        self._places = {name: entry.place for name, entry in stored.items()}

    def place(self, name: str) -> Place:
        """Return the place of the numbers of a tensor.

        Raises
        ------
        InputError
            If NumPy cannot compute with its type, such as float8.
        """
        dtype = self.tensors[name].dtype
        place = self._places[name]
        if dtype not in DTYPES.values():
            raise must_be(
                Sentence("tensor {} of {}", repr(name), File(place.path)),
                "of dtype " + ", ".join(DTYPES),
                dtype,
                "convert it to F32",
            )
        return place

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Return one tensor, which is mapped into memory.

        Numbers in float16 and bfloat16 become float32. Large tensors are then kept in a
        temporary file.
        """
        return numbers_at(self.place(name), self.tensors[name].dtype)

    def open(self, name: str) -> Read:
        """Return a reader of pieces of one tensor."""
        read = self.place(name).entries
        if self.tensors[name].dtype == "bfloat16":
            return lambda start, stop: widen_bfloat16(read(start, stop))
        return read


def _read_shards(index: Path) -> dict[str, StoredTensor]:
    """Return the tensors that an index names, with their places in the shards."""
    try:
        shard_of: dict[str, str] = parsed(index.read_bytes())["weight_map"]
        files = sorted({os.fspath(name) for name in shard_of.values()})
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise must_be(
            f"{index}",
            "an index of safetensors shards with a weight_map",
            "other content",
        ) from error
    shards = {}
    for file in files:
        _texts, shards[file] = _read_header(_shard_beside(index, file))
    tensors = {}
    for name, file in shard_of.items():
        if name not in shards[file]:
            raise must_be(
                f"{index}",
                "an index whose tensors are all in its shards",
                f"{name!r}, which {file} does not hold",
            )
        tensors[name] = shards[file][name]
    return tensors


def _shard_beside(index: Path, name: str) -> Path:
    """Return the path of a shard in the folder of its index, or below it.

    An index that somebody else wrote must not lead to other files of this machine.

    Raises
    ------
    InputError
        If the shard is not there.
    """
    if Path(name).is_absolute() or ".." in Path(name).parts:
        raise must_be(
            "every shard", f"in the folder of {index.name}", repr(name), "move it there"
        )
    try:
        is_there = (index.parent / name).is_file()
    except (OSError, ValueError):
        # No file can have such a name.
        is_there = False
    if not is_there:
        raise must_be(
            "every shard",
            f"in the folder of {index.name}",
            f"no file {name}",
            "fetch this file",
        )
    return existing_file(index.parent / name)


def _read_header(path: Path) -> tuple[dict[str, str], dict[str, StoredTensor]]:
    """Return the texts in the header of one file, and the tensors by name."""
    from safetensors import SafetensorError, safe_open

    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            # The library refuses a longer header below.
            text = file.read(min(length, MOST_HEADER))
            require_few_keys(text)
            # The library checks that the tensors fill the file without gaps, but does
            # not return where they begin. So the header is parsed here as well.
            with safe_open(path, framework="numpy"):
                header = parsed_once(text)
    except (SafetensorError, ValueError) as error:
        got = reason(error).removeprefix("Error while deserializing header: ")
        raise must_be(
            File(path), "a valid safetensors file", got, "fetch it again"
        ) from error
    texts = header.pop("__metadata__", None) or {}
    tensors = {}
    for name, entry in header.items():
        shape = tuple(entry["shape"])
        # NumPy creates no array of such a shape, even if another dimension is 0.
        if prod(max(size, 1) for size in shape) > MOST_NUMBERS:
            raise must_be(
                Sentence("tensor {} of {}", repr(name), File(path)),
                "of a shape that memory can hold",
                shape,
                "fetch it again",
            )
        # Types that NumPy does not know keep their code, and `place` refuses them.
        dtype = DTYPES.get(entry["dtype"], entry["dtype"])
        start = 8 + length + entry["data_offsets"][0]
        place = Place(path, start, _dtype_in_file(dtype), shape)
        tensors[name] = StoredTensor(Tensor(shape, dtype), place)
    return texts, tensors


def _dtype_in_file(dtype: str) -> np.dtype[Any]:
    """Return the type of NumPy that the bytes of a tensor are mapped as."""
    if dtype == "bfloat16":
        # NumPy has no bfloat16. `widen_bfloat16` takes its bits as integers.
        dtype = "uint16"
    elif dtype not in DTYPES.values():
        dtype = "uint8"
    return np.dtype(dtype).newbyteorder("<")


def write_tensors(
    file: IO[bytes], streams: Mapping[str, Stream], metadata: Mapping[str, str]
) -> None:
    """Write a safetensors file, one block of rows at a time."""
    header: dict[str, Any] = {"__metadata__": dict(metadata)} if metadata else {}
    end = 0
    for name, stream in streams.items():
        start, end = end, end + prod(stream.shape) * stream.dtype.itemsize
        header[name] = {
            "dtype": CODES[stream.stored.str],
            "shape": list(stream.shape),
            "data_offsets": [start, end],
        }
    text = json.dumps(header).encode()
    # Numbers begin at a multiple of eight bytes, so that a mapped array is aligned.
    text += b" " * (-len(text) % 8)
    file.write(len(text).to_bytes(8, "little") + text)
    for stream in streams.values():
        stream.write(file)


NAMES = "embaudit_names"
"""Key in the header under which embaudit writes the names of rows, as a JSON list."""
MODEL2VEC = "model2vec"
"""The `model_type` of Model2Vec. Its matrices of int8 have one scale for all numbers,
so their cosines are those of the numbers that they stand for.
"""
SHARD = re.compile(r"-\d{5}-of-(\d{5})\.safetensors$")
"""Ending of the file name of one shard of a checkpoint."""


@register(
    "safetensors",
    suffixes=(".safetensors",),
    origin="checkpoints in one file",
    content="a head, factors or vectors",
    options=ARRAYS,
    recognises=recognises,
)
@register(
    "shards",
    suffixes=(".json", "/"),
    origin="checkpoints in a directory or in shards",
    content="a head, factors or vectors",
    options=ARRAYS,
    recognises=recognises,
)
def read(path: Path, request: Request) -> Contents:
    """Read a head, two factor matrices or one table of vectors.

    The names of the rows of a head are read from files next to the checkpoint.

    Raises
    ------
    InputError
        If a file is damaged, or the tensors' names leave more than one reading.
    """
    checkpoint = _open(path, request)
    if request.weight is None and is_low_rank_adapter(checkpoint.tensors):
        raise must_be(
            File(path),
            "a model or vectors",
            "a low-rank adapter (LoRA)",
            "audit it with embaudit.audit_lora or `embaudit audit`, or merge it into "
            "its model (model.merge_and_unload() in PEFT) and save the result",
        )
    config = read_config(checkpoint.path.parent)
    layout = layout_of(checkpoint, request, path, config)
    contents = contents_of_layout(checkpoint, layout, request, path, config)
    fields = dict(contents.fields)
    texts = {name: str(text) for name, text in checkpoint.metadata.items()}
    for field, value in fields_in(texts, request.kind).items():
        fields[field] = Source.from_value("the metadata", value)
    if "right_names" not in fields:
        n_rows = layout.n_rows(checkpoint.tensors)
        if layout.head and n_rows == 1:
            # One row of a binary head stands for two labels.
            n_rows = 2
        fields |= _names(checkpoint, layout, n_rows)
    roles = roles_in(texts, contents.roles)
    return replace(contents, fields=fields, roles=roles)


def _names(checkpoint: Safetensors, layout: Layout, n_rows: int) -> dict[str, Source]:
    """Return the fields that name the rows: names in the header, else those of a head.

    A head is named by its configuration (classes) or its vocabulary (tokens).
    """
    try:
        names = parsed(str(checkpoint.metadata.get(NAMES, "null")).encode())
    except ValueError:
        names = None
    if isinstance(names, list) and len(names) == n_rows:
        return {"right_names": Source.from_value("the metadata", list(map(str, names)))}
    if not layout.head:
        return {}
    folder = checkpoint.path.parent
    config = read_config(folder)
    if is_classifier(layout.right, config.architectures):
        return named_by(classes_of(config.settings, n_rows, "id2label of config.json"))
    return named_by(tokens_of(folder, n_rows))


def _open(path: Path, request: Request) -> Safetensors:
    """Open a checkpoint.

    Raises
    ------
    InputError
        If the file is one shard of several, and the caller names no array of it.
    """
    shard = SHARD.search(path.name)
    n_shards = 1 if shard is None else int(shard[1])
    if n_shards > 1 and request.weight is None:
        raise must_be(
            File(path),
            "a complete checkpoint",
            f"one part of {n_shards}",
            Sentence(
                "give its folder or its .safetensors.index.json, or name an array of "
                "this part with {}",
                Option("weight"),
            ),
        )
    checkpoint = Safetensors(path)
    if read_config(checkpoint.path.parent).model_type == MODEL2VEC:
        for name, tensor in checkpoint.tensors.items():
            if tensor.dtype == "int8":
                checkpoint.tensors[name] = replace(
                    tensor, dtype="float32", rounded="I8"
                )
    return checkpoint


def keeps(draft: Draft) -> frozenset[str]:
    """Return the fields that a file holds next to the vectors.

    These are link, objective, counts and names, the bias of a head, and ids that are
    signed integers of 64 bits.
    """
    fields = {"link", "objective", "right_counts", "right_names"}
    ids = draft.fields.get("right_ids")
    if ids is not None and ids.dtype.kind in "iu" and ids.max() < 2**63:
        fields.add("right_ids")
    if draft.link.name == "softmax":
        fields.add("right_bias")
    return frozenset(fields)


@register_writer("safetensors", keeps)
def write(file: IO[bytes], draft: Draft) -> None:
    """Write a head as weight and bias, and other vectors as one table.

    The tensors get names by which `read` recognises them.
    """
    name = "lm_head" if draft.link.name == "softmax" else "item_factors"
    tensors = {f"{name}.weight": draft.right}
    bias = draft.fields.get("right_bias")
    if bias is not None:
        tensors[f"{name}.bias"] = Stream.from_array(bias)
    ids = draft.fields.get("right_ids")
    if ids is not None:
        tensors["item_ids"] = Stream.from_array(ids.astype("<i8"))
    counts = draft.fields.get("right_counts")
    if counts is not None:
        tensors["item_counts"] = Stream.from_array(counts)
    metadata = dict(draft.metadata)
    names = draft.fields.get("right_names")
    if names is not None:
        metadata[NAMES] = json.dumps([str(name) for name in names])
    write_tensors(file, tensors, metadata)
