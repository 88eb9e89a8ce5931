"""GGUF, the files of llama.cpp: metadata, a table of tensors, then their numbers.

The numbers are often rounded in blocks. Reference:
https://github.com/ggml-org/ggml/blob/master/docs/gguf.md. The package gguf knows the
types and undoes their rounding. Its reader of headers is not used, because it follows
any length that a damaged file declares, and makes an array of each token.
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import replace
from importlib import import_module
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.errors import File, InputError, Option, Sentence, must_be
from embaudit.io.arrays import Place, Tensor, decode_to_buffer
from embaudit.io.contents import Contents
from embaudit.io.files import first_bytes
from embaudit.io.formats import ARRAYS, register
from embaudit.io.formats.safetensors import numbers_at
from embaudit.io.layouts.checkpoints.llama_cpp import OUTPUT_NORM, config_of_gguf
from embaudit.io.layouts.checkpoints.row_names import RowNames, named_by
from embaudit.io.layouts.reading import contents_of
from embaudit.io.options import Request

MAGIC = b"GGUF"
VERSIONS = (2, 3)
"""Versions with lengths of eight bytes; version 1 was in use for some weeks of 2023."""
TOKENS, TYPES = "tokenizer.ggml.tokens", "tokenizer.ggml.token_type"
"""The lists of the metadata that are kept: the tokens, and the type of each."""
SCALARS = {
    0: "B",
    1: "b",
    2: "H",
    3: "h",
    4: "I",
    5: "i",
    6: "f",
    7: "?",
    10: "Q",
    11: "q",
    12: "d",
}
"""Kinds of numbers in the metadata, as `struct` calls them."""
TEXT, LIST = 8, 9
AXES = 4
"""Axes of a tensor at most, as llama.cpp has it."""
PLAIN = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "BF16": "bfloat16",
    "I8": "int8",
    "I16": "int16",
    "I32": "int32",
    "I64": "int64",
}
"""Types whose numbers are not rounded in blocks."""
EXACT = ("F64", "F32", "I8", "I16", "I32", "I64")
"""Types that networks are trained in, and integers."""


def begins(path: Path) -> bool:
    """Check for the first bytes of GGUF, whatever the file is called."""
    return first_bytes(path).startswith(MAGIC)


class Gguf:
    """The metadata and the tensors of one file.

    Only the header is read at first.

    Raises
    ------
    InputError
        If it is damaged, of another version, or its numbers are not all there.
    """

    def __init__(self, path: Path) -> None:
        """Read the header, and check that every tensor lies inside the file."""
        self.path = path
        self.metadata: dict[str, Any] = {}
        """Values by key: numbers, texts, tokens and their types; None for other lists.
        """
        self._places: dict[str, tuple[str, tuple[int, ...], Place | None]] = {}
        """By name: type, shape, rows first, and place; no place for a type that the
        package gguf does not know.
        """
        try:
            with (
                path.open("rb") as file,
                mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
            ):
                self._read_header(data)
        except (ValueError, struct.error) as error:
            if isinstance(error, InputError):
                raise
            raise must_be(
                File(path), "a valid GGUF file", str(error), "fetch it again"
            ) from error
        self.tensors = {
            name: Tensor(
                shape, PLAIN.get(kind, "float32"), "" if kind in EXACT else kind
            )
            for name, (kind, shape, _) in self._places.items()
        }

    def _read_header(self, data: mmap.mmap) -> None:
        """Read the metadata, then the table of tensors.

        Numbers begin at the next multiple of the alignment.
        """
        if data.read(4) != MAGIC:
            raise ValueError("other content")
        version = _number(data, "I")
        if version not in VERSIONS:
            raise must_be(
                File(self.path),
                "little-endian GGUF of version 2 or 3",
                f"version {version}",
                "convert it again",
            )
        n_tensors, n_keys = _number(data, "Q"), _number(data, "Q")
        for _ in range(n_keys):
            key = _text(data)
            self.metadata[key] = _value(
                data, _number(data, "I"), keep=key in (TOKENS, TYPES)
            )
        entries = [_entry(data) for _ in range(n_tensors)]
        step = self.metadata.get("general.alignment", 32)
        if not isinstance(step, int) or step < 1:
            raise ValueError(f"an alignment of {step}")
        base = -(-data.tell() // step) * step
        for name, shape, kind, start in entries:
            if name in self._places:
                raise ValueError("one name for two tensors")
            self._places[name] = self._place(name, shape, kind, base + start)

    def _place(
        self, name: str, shape: tuple[int, ...], number: int, start: int
    ) -> tuple[str, tuple[int, ...], Place | None]:
        """Return the place of a tensor that begins at this byte, rows first.

        The number is that of its type.
        """
        gguf = import_module("gguf")
        try:
            kind = gguf.GGMLQuantizationType(number)
        except ValueError:
            return f"type {number}", shape, None
        block, size = gguf.GGML_QUANT_SIZES[kind]
        # A row is stored as whole blocks of so many numbers, each of `size` bytes.
        *rows, width = shape or (1,)
        if width % block:
            raise ValueError(
                f"{name!r} with {width} numbers in a row, cut in blocks of {block}"
            )
        stored = (*rows, width // block * size)
        if start + prod(stored) > self.path.stat().st_size:
            raise ValueError(f"cut-off bytes of {name!r}")
        plain = PLAIN.get(kind.name)
        dtype = np.dtype(
            "u1" if plain is None else "u2" if plain == "bfloat16" else plain
        ).newbyteorder("<")
        return (
            kind.name,
            shape,
            Place(self.path, start, dtype, stored if plain is None else shape),
        )

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Read one tensor.

        Numbers in float32 stay on disk. Shorter ones become float32, as
        `decode_to_buffer` holds them.

        Raises
        ------
        InputError
            If the package cannot undo the rounding of its type.
        """
        kind, shape, place = self._places[name]
        if place is not None and kind in PLAIN:
            return numbers_at(place, PLAIN[kind])
        if prod(shape) == 0:
            what = Sentence("tensor {} of {}", repr(name), File(self.path))
            got = " × ".join(map(str, shape))
            raise must_be(what, "a tensor with numbers", got, "convert it again")
        # Refused before room is set aside: the size of a tensor of another type is a
        # claim of the header.
        self._undone(name, self._blocks(name, slice(0, 1)))
        flat = (prod(shape[:-1]), shape[-1])
        undone = decode_to_buffer(
            flat, np.float32, lambda rows: self._undone(name, self._blocks(name, rows))
        )
        return undone.reshape(shape)

    def _blocks(self, name: str, rows: slice) -> NDArray[np.uint8]:
        """Read some rows of a rounded tensor as they are stored.

        The shape is (rows, blocks, bytes).
        """
        kind, _, place = self._places[name]
        if place is None:
            raise self._unknown(name)
        gguf = import_module("gguf")
        size = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[kind]][1]
        flat = Place(
            self.path,
            place.start,
            place.dtype,
            (prod(place.shape[:-1]), place.shape[-1]),
        )
        return flat.rows(rows).reshape(rows.stop - rows.start, -1, size)

    def _undone(self, name: str, blocks: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Make float32 of blocks as they are stored.

        The numbers are checked when a model is made of them.
        """
        gguf = import_module("gguf")
        try:
            with np.errstate(all="ignore"):
                kind = gguf.GGMLQuantizationType[self._places[name][0]]
                return np.asarray(
                    gguf.dequantize(blocks.reshape(len(blocks), -1), kind)
                )
        except NotImplementedError as error:
            raise self._unknown(name) from error

    def _unknown(self, name: str) -> InputError:
        remedy = "convert it to F16, or update the package gguf"
        what = Sentence("tensor {} of {}", repr(name), File(self.path))
        return must_be(
            what,
            "of a type that the package gguf can read",
            self._places[name][0],
            remedy,
        )


def _take(data: mmap.mmap, size: int) -> bytes:
    # A damaged length may be larger than any memory.
    if size > len(data) - data.tell():
        raise ValueError("a header that is cut off")
    return data.read(size)


def _number(data: mmap.mmap, code: str) -> Any:
    (number,) = struct.unpack(f"<{code}", _take(data, struct.calcsize(f"<{code}")))
    return number


def _text(data: mmap.mmap) -> str:
    """Read a text; tokens of some files are bytes that are no text."""
    return _take(data, _number(data, "Q")).decode("utf-8", "backslashreplace")


def _value(data: mmap.mmap, kind: int, *, keep: bool) -> Any:
    """Read what stands behind a key; None for a list that is not kept."""
    if kind in SCALARS:
        return _number(data, SCALARS[kind])
    if kind == TEXT:
        return _text(data)
    if kind != LIST:
        raise ValueError(f"a value of kind {kind} in its header")
    inner, count = _number(data, "I"), _number(data, "Q")
    if inner in SCALARS:
        code = SCALARS[inner]
        stored = _take(data, count * struct.calcsize(f"<{code}"))
        return list(struct.unpack(f"<{count}{code}", stored)) if keep else None
    if inner != TEXT:
        raise ValueError("a list of lists in its header")
    if keep:
        return [_text(data) for _ in range(count)]
    for _ in range(count):
        _take(data, _number(data, "Q"))
    return None


def _entry(data: mmap.mmap) -> tuple[str, tuple[int, ...], int, int]:
    """Read name, shape, type and first byte of the next tensor.

    Shapes are stored with rows last.
    """
    name, n_axes = _text(data), _number(data, "I")
    if n_axes > AXES:
        raise ValueError(f"{name!r} of {n_axes} dimensions")
    shape = tuple(_number(data, "Q") for _ in range(n_axes))[::-1]
    if prod(shape) >= 2**62:
        raise ValueError(f"{name!r} of {prod(shape):,} numbers")
    return name, shape, _number(data, "I"), _number(data, "Q")


EMBEDDING, HEAD = "token_embd.weight", "output.weight"
NO_TEXT = (2, 3, 5)
"""Kinds of tokens that stand for no text: unknown, control, unused (`TokenType` of the
package `gguf`).
"""


@register(
    "gguf",
    suffixes=(".gguf",),
    magic=MAGIC,
    origin="llama.cpp, Ollama: floats, Q8_0, Q4_0 and others",
    content="a head, token vectors",
    options=ARRAYS,
    extra="gguf",
)
def read(path: Path, request: Request) -> Contents:
    """Determine the head, or the matrix that was named, its tokens and the soft cap.

    Raises
    ------
    InputError
        If the file is damaged, one part of many, or holds no head.
    """
    file = Gguf(path)
    parts = file.metadata.get("split.count")
    if isinstance(parts, int) and parts > 1 and request.weight is None:
        remedy = Sentence(
            "merge them with `llama-gguf-split --merge`, or name a tensor of this part "
            "with {}",
            Option("weight"),
        )
        raise must_be(File(path), "a complete model", f"one part of {parts}", remedy)
    config = config_of_gguf(
        file.metadata, shifted=f"{OUTPUT_NORM}.bias" in file.tensors
    )
    base = contents_of(file, request, path, config)
    name, tokens = base.fields["right"].name, None
    # Rows of other matrices are none of tokens.
    if name in (EMBEDDING, HEAD):
        special = {
            row
            for row, kind in enumerate(file.metadata.get(TYPES) or ())
            if kind in NO_TEXT
        }
        stored = dict(enumerate(file.metadata.get(TOKENS) or ()))
        tokens = RowNames.from_vocabulary(
            stored, file.tensors[name].shape[0], TOKENS, special
        )
    return replace(base, fields={**base.fields, **named_by(tokens)})
