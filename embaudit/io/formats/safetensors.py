"""safetensors: a length of eight bytes, a JSON header, then the bytes of the tensors.

A checkpoint lies in one file or in shards.
Reference: https://huggingface.co/docs/safetensors (format).
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from embaudit.errors import File, Option, Sentence, must_be
from embaudit.io.arrays import Place, Read, Stream, Tensor, as_stored, widened
from embaudit.io.contents import Contents, Source
from embaudit.io.damaged import reason
from embaudit.io.draft import Draft, fields_in
from embaudit.io.files import existing_file
from embaudit.io.formats import ARRAYS, register, register_writer
from embaudit.io.json_text import parsed, parsed_once, require_few_keys
from embaudit.io.layouts.checkpoints.config import config_of
from embaudit.io.layouts.checkpoints.row_names import classes_of, named_by, tokens_of
from embaudit.io.layouts.checkpoints.tasks import is_classifier
from embaudit.io.layouts.layout import Layout
from embaudit.io.layouts.low_rank import is_low_rank_adapter
from embaudit.io.layouts.reading import contents_of_layout, layout_of
from embaudit.io.options import Request

MOST_NUMBERS = 2**59
"""Numbers of a tensor at most: in float64 they take half of the addresses."""
MOST_HEADER = 10**8
"""Bytes of a header at most, as the library has it."""
SINGLE = "model.safetensors"
INDEX = "model.safetensors.index.json"
DTYPES = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "BF16": "bfloat16",
    **{
        f"{sign}{bits}": f"{'u' * (sign == 'U')}int{bits}"
        for sign in "IU"
        for bits in (8, 16, 32, 64)
    },
    "BOOL": "bool",
}
CODES = {
    np.dtype(name).newbyteorder("<").str: code
    for code, name in DTYPES.items()
    if name != "bfloat16"
}


def recognises(path: Path) -> bool:
    """Return whether a path is a file, an index of shards, or a folder with one."""
    if path.is_dir():
        return (path / SINGLE).exists() or (path / INDEX).exists()
    return path.name.lower().endswith((".safetensors", ".safetensors.index.json"))


def widen_bfloat16(raw: NDArray[Any]) -> NDArray[np.float32]:
    """Read the upper halves of float32 numbers, which is what bfloat16 is.

    Examples
    --------
    >>> widen_bfloat16(np.array([0x3F80, 0xC000], dtype=np.uint16))
    array([ 1., -2.], dtype=float32)
    """
    # Shifted as integers: no rounding, and the bits of a NaN stay.
    wide = np.left_shift(np.asarray(raw), np.uint32(16), dtype=np.uint32)
    return np.asarray(wide).view(np.float32)


def numbers_at(place: Place, dtype: str) -> NDArray[Any]:
    """Map numbers into memory, so that they stay on disk.

    Numbers in float16 and bfloat16 become float32.
    """
    if 0 in place.shape:
        return np.empty(place.shape, dtype=np.float32)
    raw = place.mapped()
    if dtype == "bfloat16":
        return widened(raw, widen_bfloat16)
    return as_stored(raw) if dtype == "float16" else raw


class Safetensors:
    """The tensors of a checkpoint.

    It is one file, the shards that an index names, or a directory with one of them.

    Raises
    ------
    InputError
        If a file is missing, cut off or no safetensors file.
    """

    def __init__(self, path: Path) -> None:
        if path.is_dir():
            path = path / SINGLE if (path / SINGLE).exists() else path / INDEX
        self.path = existing_file(path)
        self.metadata, placed = (
            ({}, _sharded(path))
            if path.suffix.lower() == ".json"
            else _with_header(path)
        )
        """Texts that the header of a single file holds beside the tensors, and the
        tensors.
        """
        self.tensors = {name: tensor for name, (tensor, _) in placed.items()}
        self._places = {name: place for name, (_, place) in placed.items()}

    def place(self, name: str) -> Place:
        """Return the place of the numbers of a tensor.

        Raises
        ------
        InputError
            If it is stored in a type that is no plain number.
        """
        tensor, place = self.tensors[name], self._places[name]
        if tensor.dtype not in DTYPES.values():
            what = Sentence("tensor {} of {}", repr(name), File(place.path))
            raise must_be(
                what, "of dtype " + ", ".join(DTYPES), tensor.dtype, "convert it to F32"
            )
        return place

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Map one tensor into memory.

        Numbers in float16 and bfloat16 become float32, in a temporary file if they are
        many.
        """
        return numbers_at(self.place(name), self.tensors[name].dtype)

    def open(self, name: str) -> Read:
        """Return a reader of pieces of one tensor."""
        read, is_short = (
            self.place(name).entries,
            self.tensors[name].dtype == "bfloat16",
        )
        return (
            (lambda start, stop: widen_bfloat16(read(start, stop)))
            if is_short
            else read
        )


def _sharded(index: Path) -> dict[str, tuple[Tensor, Place]]:
    """Place every tensor of the shards that an index names."""
    try:
        homes: dict[str, str] = parsed(index.read_bytes())["weight_map"]
        files = sorted({os.fspath(name) for name in homes.values()})
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise must_be(
            f"{index}",
            "an index of safetensors shards with a weight_map",
            "other content",
        ) from error
    shards = {name: _with_header(_shard(index, name))[1] for name in files}
    absent = [name for name, home in homes.items() if name not in shards[home]]
    if absent:
        raise must_be(
            f"{index}",
            "an index of tensors its files hold",
            f"{absent[0]!r}, which is in none",
        )
    return {name: shards[home][name] for name, home in homes.items()}


def _shard(index: Path, name: str) -> Path:
    """Find one shard below the folder of its index.

    An index must not lead to other files of the reader.
    """
    if Path(name).is_absolute() or ".." in Path(name).parts:
        raise must_be(
            "every shard", f"in the folder of {index.name}", repr(name), "move it there"
        )
    try:
        is_there = (index.parent / name).is_file()
    # Names that no file can have.
    except (OSError, ValueError):
        is_there = False
    if not is_there:
        raise must_be(
            "every shard", f"beside {index.name}", f"no file {name}", "fetch it too"
        )
    return existing_file(index.parent / name)


def _with_header(path: Path) -> tuple[dict[str, str], dict[str, tuple[Tensor, Place]]]:
    """Return the texts in the header of one file, and its tensors with their places."""
    from safetensors import SafetensorError, safe_open

    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            # The library refuses a longer header.
            text = file.read(min(length, MOST_HEADER))
            require_few_keys(text)
            # The library checks that the tensors fill the file, one after another, but
            # does not say where they begin.
            with safe_open(path, framework="numpy"):
                header = parsed_once(text)
    except (SafetensorError, ValueError) as error:
        got = reason(error).removeprefix("Error while deserializing header: ")
        raise must_be(
            File(path), "a safetensors file that is whole", got, "fetch it again"
        ) from error
    metadata = header.pop("__metadata__", None) or {}
    placed = {}
    for name, entry in header.items():
        kind, shape = DTYPES.get(entry["dtype"], entry["dtype"]), tuple(entry["shape"])
        # numpy makes no such array, even if another dimension is 0.
        if prod(max(size, 1) for size in shape) > MOST_NUMBERS:
            raise must_be(
                Sentence("tensor {} of {}", repr(name), File(path)),
                "of a shape that memory can hold",
                shape,
                "fetch it again",
            )
        # Halves of float32 are read as integers, and numbers that numpy does not know
        # as bytes.
        stored = np.dtype(
            "u2" if kind == "bfloat16" else kind if kind in DTYPES.values() else "u1"
        ).newbyteorder("<")
        placed[name] = (
            Tensor(shape, kind),
            Place(path, 8 + length + entry["data_offsets"][0], stored, shape),
        )
    return metadata, placed


def write_tensors(
    file: IO[bytes], streams: Mapping[str, Stream], metadata: Mapping[str, str]
) -> None:
    """Write tensors a block of rows at a time."""
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
"""Under which name the header of a file holds the titles of its rows, as a JSON list.
"""
MODEL2VEC = "model2vec"
"""The `model_type` whose matrices of int8 have one scale for all numbers, which changes
no cosine.
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
    """Determine a head, two factor matrices or one table of vectors.

    The names of rows are read from files next to the checkpoint.

    Raises
    ------
    InputError
        If a file is damaged, or the tensors' names leave more than one reading.
    """
    checkpoint = _opened(path, request)
    if request.weight is None and is_low_rank_adapter(checkpoint.tensors):
        raise must_be(
            File(path),
            "a model or vectors",
            "a low-rank adapter (LoRA)",
            "audit it with embaudit.audit_lora or `embaudit audit`, or merge it into "
            "its model (model.merge_and_unload() in PEFT) and save that",
        )
    config = config_of(checkpoint.path.parent)
    layout = layout_of(checkpoint, request, path, config)
    contents = contents_of_layout(checkpoint, layout, request, path, config)
    stored = fields_in(
        {name: str(text) for name, text in checkpoint.metadata.items()}, request.kind
    )
    fields = {
        **contents.fields,
        **{field: Source.of("the metadata", value) for field, value in stored.items()},
    }
    # One row of a binary head stands for two labels.
    n_rows = max(layout.n_rows(checkpoint.tensors), 1 + layout.head)
    names = {} if "right_names" in fields else _names(checkpoint, layout, n_rows)
    return replace(contents, fields={**fields, **names})


def _names(checkpoint: Safetensors, layout: Layout, n_rows: int) -> dict[str, Source]:
    """Return the names of the rows as the file has them.

    The rows of a head are named by a vocabulary or a configuration next to the file.
    """
    try:
        titles = parsed(str(checkpoint.metadata.get(NAMES, "null")).encode())
    except ValueError:
        titles = None
    if isinstance(titles, list) and len(titles) == n_rows:
        return {"right_names": Source.of("the metadata", list(map(str, titles)))}
    if not layout.head:
        return {}
    folder = checkpoint.path.parent
    config = config_of(folder)
    if is_classifier(layout.right, config.architectures):
        return named_by(classes_of(config.values, n_rows, "id2label of config.json"))
    return named_by(tokens_of(folder, n_rows))


def _opened(path: Path, request: Request) -> Safetensors:
    """Open a checkpoint.

    One part of many is no model, unless the caller names an array of it.
    """
    shard = SHARD.search(path.name)
    if shard and int(shard[1]) > 1 and request.weight is None:
        remedy = Sentence(
            "give its folder or its .safetensors.index.json, or name an array of this "
            "part with {}",
            Option("weight"),
        )
        raise must_be(
            File(path), "a whole checkpoint", f"one part of {int(shard[1])}", remedy
        )
    checkpoint = Safetensors(path)
    if config_of(checkpoint.path.parent).model_type == MODEL2VEC:
        whole = {name: x for name, x in checkpoint.tensors.items() if x.dtype == "int8"}
        checkpoint.tensors |= {
            name: replace(x, dtype="float32", rounded="I8") for name, x in whole.items()
        }
    return checkpoint


def keeps(draft: Draft) -> frozenset[str]:
    """Return the fields that a file holds next to the vectors.

    These are link, objective, counts and titles, the bias of a head, and ids that are
    signed integers of 64 bits.
    """
    ids = draft.fields.get("right_ids")
    integers = (
        {"right_ids"}
        if ids is not None and ids.dtype.kind in "iu" and ids.max() < 2**63
        else set()
    )
    bias = {"right_bias"} if draft.link.name == "softmax" else set()
    return frozenset(
        {"link", "objective", "right_counts", "right_names", *integers, *bias}
    )


@register_writer("safetensors", keeps)
def write(file: IO[bytes], draft: Draft) -> None:
    """Write a head as weight and bias, and other vectors as one table.

    The reader knows the names.
    """
    name = "lm_head" if draft.link.name == "softmax" else "item_factors"
    tensors = {f"{name}.weight": draft.right}
    beside = (
        ("right_bias", f"{name}.bias"),
        ("right_ids", "item_ids"),
        ("right_counts", "item_counts"),
    )
    for field, tensor in beside:
        array = draft.fields.get(field)
        if array is not None:
            tensors[tensor] = Stream.of(
                array.astype("<i8") if field == "right_ids" else array
            )
    names = draft.fields.get("right_names")
    titles = {} if names is None else {NAMES: json.dumps([str(name) for name in names])}
    write_tensors(file, tensors, {**draft.metadata, **titles})
