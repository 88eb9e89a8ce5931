"""GGUF, the files of llama.cpp: metadata by key, a table of tensors, then their numbers, often rounded in blocks.

Reference: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md. The package gguf knows the types and undoes their
rounding. Its reader of headers is not used: it follows whatever length a damaged file declares, and makes an array of
each token.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.errors import InputError, must_be
from embaudit.io.codecs.arrays import Place, Read, Tensor
from embaudit.io.codecs.buffer import decode_to_buffer
from embaudit.io.codecs.memory import Memory
from embaudit.io.codecs.safetensors import numbers_at
from embaudit.io.files import first_bytes

MAGIC = b"GGUF"
VERSIONS = (2, 3)
"""Versions with lengths of eight bytes; version 1 was in use for some weeks of 2023."""
TOKENS, TYPES = "tokenizer.ggml.tokens", "tokenizer.ggml.token_type"
"""The one list of the metadata that is kept."""
SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
"""Kinds of numbers in the metadata, as `struct` calls them."""
TEXT, LIST = 8, 9
DIMENSIONS = 4
"""Axes of a tensor at most, as llama.cpp has it."""
PLAIN = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16",
    "I8": "int8", "I16": "int16", "I32": "int32", "I64": "int64",
}  # fmt: skip
"""Types whose numbers are not rounded in blocks."""
EXACT = ("F64", "F32", "I8", "I16", "I32", "I64")
"""Types that networks are trained in, and integers."""


def begins(path: Path) -> bool:
    """Check for the first bytes of GGUF, whatever the file is called."""
    return first_bytes(path).startswith(MAGIC)


@dataclass(frozen=True)
class _Entry:
    """A row of the table of tensors."""

    name: str
    shape: tuple[int, ...]
    """Rows first; the file has them last."""
    kind: int
    """Its type, as a number."""
    start: int
    """Its first byte, counted from where numbers begin."""


class Gguf:
    """The metadata and the tensors of one file; nothing but the header is read at first.

    Raises
    ------
    InputError
        If it is damaged, of another version, or its numbers are not all there.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.metadata: dict[str, Any] = {}
        """Values by key: numbers, texts, tokens and their types; None for other lists."""
        try:
            with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                entries, base = self._header(_Cursor(data))
            self._places = {entry.name: self._place(entry, base) for entry in entries}
        except (ValueError, struct.error) as error:
            if isinstance(error, InputError):
                raise
            raise must_be(f"{path}", "a GGUF file that is whole", str(error), "fetch it again") from error
        if len(self._places) != len(entries):
            raise must_be(f"{path}", "a GGUF file that is whole", "one name for two tensors", "fetch it again")
        self.tensors = {name: _tensor(kind, shape) for name, (kind, shape, _) in self._places.items()}

    def _header(self, cursor: _Cursor) -> tuple[list[_Entry], int]:
        """Read metadata and table; return the latter and the first byte of the numbers."""
        if cursor.take(4) != MAGIC:
            raise ValueError("other content")
        version = cursor.number("I")
        if version not in VERSIONS:
            raise must_be(f"{self.path}", "GGUF of version 2 or 3, little-endian", version, "convert it anew")
        n_tensors, n_keys = cursor.number("Q"), cursor.number("Q")
        for _ in range(n_keys):
            key = cursor.text()
            self.metadata[key] = cursor.value(cursor.number("I"), keep=key in (TOKENS, TYPES))
        entries = [cursor.entry() for _ in range(n_tensors)]
        step = self.metadata.get("general.alignment", 32)
        if not isinstance(step, int) or step < 1:
            raise ValueError(f"an alignment of {step}")
        return entries, -(-cursor.position // step) * step

    def _place(self, entry: _Entry, base: int) -> tuple[str, tuple[int, ...], Place | None]:
        """Return type, shape and place of a tensor; no place for a type that the package gguf does not know."""
        gguf = import_module("gguf")
        try:
            kind = gguf.GGMLQuantizationType(entry.kind)
        except ValueError:
            return f"type {entry.kind}", entry.shape, None
        block, size = gguf.GGML_QUANT_SIZES[kind]
        *rows, width = entry.shape or (1,)
        if width % block:
            raise ValueError(f"{entry.name!r} with {width} numbers in a row, cut in blocks of {block}")
        stored = (*rows, width // block * size)
        if base + entry.start + prod(stored) > self.path.stat().st_size:
            raise ValueError(f"cut-off bytes of {entry.name!r}")
        plain = PLAIN.get(kind.name)
        dtype = np.dtype("u1" if plain is None else "u2" if plain == "bfloat16" else plain).newbyteorder("<")
        shape = stored if plain is None else entry.shape
        return kind.name, entry.shape, Place(self.path, base + entry.start, dtype, shape)

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Read one tensor; float32 stays on disk, what is shorter becomes float32, as `decode_to_buffer` holds it.

        Raises
        ------
        InputError
            If the package cannot undo the rounding of its type.
        """
        kind, shape, place = self._places[name]
        if place is not None and kind in PLAIN:
            return numbers_at(place, PLAIN[kind])
        *rows, width = shape
        flat = (prod(rows), width)
        if place is None:
            # Refused before room is set aside: the size of such a tensor is a claim of the header.
            self.blocks(name, slice(0, 1))
        undone = decode_to_buffer(flat, np.float32, lambda block: self.undone(name, self.blocks(name, block)))
        return undone.reshape(shape)

    def blocks(self, name: str, rows: slice) -> NDArray[np.uint8]:
        """Read some rows of a rounded tensor as they are stored.

        Returns
        -------
        array of shape (rows, blocks, bytes)
        """
        kind, _, place = self._places[name]
        number, undo = _undoing(kind)
        if place is None or undo is None:
            remedy = "convert it to F16, or update the package gguf"
            raise must_be(f"tensor {name!r} of {self.path}", "of a type that the package gguf can read", kind, remedy)
        size = import_module("gguf").GGML_QUANT_SIZES[number][1]
        flat = Place(self.path, place.start, place.dtype, (prod(place.shape[:-1]), place.shape[-1]))
        return flat.rows(rows).reshape(rows.stop - rows.start, -1, size)

    def undone(self, name: str, blocks: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Make float32 of blocks as they are stored; the numbers are judged where a model is made of them."""
        _, undo = _undoing(self._places[name][0])
        assert undo is not None
        with np.errstate(all="ignore"):
            return undo(blocks.reshape(len(blocks), -1))

    def open(self, name: str) -> AbstractContextManager[Read]:
        """Read it whole and give out pieces."""
        return Memory({name: self[name]}).open(name)


def _tensor(kind: str, shape: tuple[int, ...]) -> Tensor:
    return Tensor(shape, PLAIN.get(kind, "float32"), "" if kind in EXACT else kind)


@cache
def _undoing(kind: str) -> tuple[Any, Callable[[NDArray[np.uint8]], NDArray[np.float32]] | None]:
    """Return the number of a type and what makes float32 of its rows; None where the package has no way."""
    gguf = import_module("gguf")
    try:
        number = gguf.GGMLQuantizationType[kind]
        gguf.dequantize(np.zeros((1, gguf.GGML_QUANT_SIZES[number][1]), dtype=np.uint8), number)
    except (KeyError, NotImplementedError):
        return None, None
    return number, lambda rows: np.asarray(gguf.dequantize(rows, number))


class _Cursor:
    """Takes numbers and texts of a header one after another."""

    def __init__(self, data: mmap.mmap) -> None:
        self._data, self._size, self.position = data, len(data), 0

    def skip(self, size: int) -> int:
        """Pass some bytes, and return where they begin."""
        start = self.position
        if size > self._size - start:
            raise ValueError("a header that is cut off")
        self.position = start + size
        return start

    def take(self, size: int) -> bytes:
        """Return the next bytes."""
        start = self.skip(size)
        return self._data[start : self.position]

    def number(self, code: str) -> Any:
        """Return the next number."""
        (number,) = struct.unpack(f"<{code}", self.take(struct.calcsize(f"<{code}")))
        return number

    def text(self) -> str:
        """Return the next text; tokens of some files are bytes that are no text."""
        return self.take(self.number("Q")).decode("utf-8", "backslashreplace")

    def value(self, kind: int, *, keep: bool) -> Any:
        """Return what stands behind a key; None for a list that is not kept."""
        if kind in SCALARS:
            return self.number(SCALARS[kind])
        if kind == TEXT:
            return self.text()
        if kind != LIST:
            raise ValueError(f"a value of kind {kind} in its header")
        return self._list(self.number("I"), self.number("Q"), keep=keep)

    def _list(self, kind: int, count: int, *, keep: bool) -> list[Any] | None:
        """Return a list of numbers or texts; None for one that is not kept."""
        if kind in SCALARS:
            start = self.skip(count * struct.calcsize(f"<{SCALARS[kind]}"))
            return list(struct.unpack_from(f"<{count}{SCALARS[kind]}", self._data, start)) if keep else None
        if kind != TEXT:
            raise ValueError("a list of lists in its header")
        if keep:
            return [self.text() for _ in range(count)]
        for _ in range(count):
            self.skip(self.number("Q"))
        return None

    def entry(self) -> _Entry:
        """Return what the table says of the next tensor."""
        name, n_dimensions = self.text(), self.number("I")
        if n_dimensions > DIMENSIONS:
            raise ValueError(f"{name!r} of {n_dimensions} dimensions")
        shape = tuple(self.number("Q") for _ in range(n_dimensions))[::-1]
        if prod(shape) >= 2**62:
            raise ValueError(f"{name!r} of {prod(shape):,} numbers")
        return _Entry(name, shape, self.number("I"), self.number("Q"))
