"""The checkpoints of llama2.c: a header of seven integers, then numbers in an order that the program knows.

Reference: https://github.com/karpathy/llama2.c, `export.py` (`legacy_export`, `version1_export`, `version2_export`),
`run.c` and `runq.c`, which read them, and `tokenizer.py` for the file of tokens. The legacy layout has no magic: a
vocabulary below 0 says that the classifier is a matrix of its own. Version 1 is the same behind a header of 256 bytes,
in another order; version 2 rounds every matrix to integers of 8 bits, a scale for each group after them.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.errors import must_be
from embaudit.foundation.workers import row_blocks
from embaudit.io.codecs.arrays import Place, Read, Tensor
from embaudit.io.codecs.memory import Memory
from embaudit.io.files import first_bytes

MAGIC = b"24ka"
"""0x616b3432, little-endian."""
LEGACY, HEADER = 28, 256
"""Bytes before the numbers."""
MOST = 2**24
"""No dimension, layer count or vocabulary is larger; text read as integers is."""
EMBEDDING, NORM, HEAD = "tok_embeddings.weight", "norm.weight", "output.weight"
FLOAT = np.dtype("<f4")


@dataclass(frozen=True)
class Shape:
    """What the header says.

    Examples
    --------
    >>> Shape(64, 172, 5, 8, 4, 512, 512, shared=True, version=0).n_layer_weights
    45312
    """

    dim: int
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    vocab: int
    positions: int
    _: KW_ONLY
    shared: bool
    """Whether the token embeddings are the classifier, too."""
    version: int
    """0 for the legacy layout."""
    group: int = 0
    """Numbers that share a scale, in version 2."""

    @property
    def is_plausible(self) -> bool:
        """Whether a network can be of that shape."""
        sizes = (self.dim, self.hidden, self.layers, self.heads, self.kv_heads, self.vocab, self.positions)
        if not all(0 < size < MOST for size in sizes):
            return False
        return self.dim % self.heads == 0 and self.heads % self.kv_heads == 0

    @property
    def n_layer_weights(self) -> int:
        """Numbers in the matrices of one layer: four of attention and three of the feed-forward network."""
        narrow = self.dim * self.kv_heads // self.heads
        return 2 * self.dim * (self.dim + narrow) + 3 * self.dim * self.hidden

    def size(self, numbers: int) -> int:
        """Return the bytes of some numbers of matrices."""
        return numbers + 4 * (numbers // self.group) if self.version == 2 else 4 * numbers

    def sections(self) -> Iterator[tuple[str, int]]:
        """Yield the parts behind the header in order, and how many bytes each takes; empty names are not read."""
        table, norms = self.size(self.vocab * self.dim), 4 * 2 * self.layers * self.dim
        matrices, head = self.size(self.layers * self.n_layer_weights), [] if self.shared else [(HEAD, table)]
        if self.version == 0:
            # After the final norm come the angles of the positions, which no reader needs any more.
            angles = 4 * 2 * self.positions * (self.dim // self.heads // 2)
            yield from ((EMBEDDING, table), ("", norms + matrices), (NORM, 4 * self.dim), ("", angles))
        else:
            yield from (("", norms), (NORM, 4 * self.dim), (EMBEDDING, table), ("", matrices))
        yield from head


def shape_of(path: Path) -> Shape | None:
    """Read the header; None where it is that of no network.

    Examples
    --------
    >>> shape_of(Path("no-such-file")) is None
    True
    """
    header = first_bytes(path, HEADER)
    if header.startswith(MAGIC) and len(header) == HEADER:
        version, *sizes, shared, group = struct.unpack_from("<i7iBi", header, 4)
        found = Shape(*sizes, shared=bool(shared), version=version, group=group)
        return found if found.is_plausible else None
    if len(header) < LEGACY:
        return None
    *sizes, vocab, positions = struct.unpack_from("<7i", header)
    found = Shape(*(*sizes, abs(vocab), positions), shared=vocab > 0, version=0)
    return found if found.is_plausible else None


def begins(path: Path) -> bool:
    """Whether a file begins as a checkpoint of llama2.c does; no text and no index of another tool looks so."""
    return path.suffix.lower() == ".bin" and (first_bytes(path).startswith(MAGIC) or shape_of(path) is not None)


class Llama2c:
    """Token embeddings, final norm and classifier of one checkpoint; the layers between are passed over.

    Raises
    ------
    InputError
        If its header says nothing that fits its size.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        shape = shape_of(path)
        if shape is None:
            raise self._broken("a header of no network")
        if shape.version not in (0, 1, 2):
            raise must_be(f"{path}", "a checkpoint of llama2.c in version 0, 1 or 2", shape.version, "export it anew")
        # Groups that cross rows would tie a row to the next one's scale; the exporter never makes them.
        if shape.version == 2 and (shape.group < 1 or shape.dim % shape.group):
            raise self._broken(f"groups of {shape.group} in rows of {shape.dim}")
        self.shape = shape
        start, self._starts = HEADER if shape.version else LEGACY, dict[str, int]()
        for name, size in shape.sections():
            self._starts |= {name: start} if name else {}
            start += size
        if start != path.stat().st_size:
            raise self._broken(f"{path.stat().st_size:,} bytes where its header asks for {start:,}")
        table, rounded = (shape.vocab, shape.dim), "Q8_0" if shape.version == 2 else ""
        tensors = {EMBEDDING: Tensor(table, "float32", rounded), NORM: Tensor((shape.dim,), "float32")}
        self.tensors = tensors if shape.shared else {**tensors, HEAD: tensors[EMBEDDING]}

    def _broken(self, got: str) -> Exception:
        return must_be(f"{self.path}", "a checkpoint of llama2.c that is whole", got, "export it anew")

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Read one array; float32 stays on disk, rounded numbers become float32, a block of rows at a time."""
        tensor, start = self.tensors[name], self._starts[name]
        if not tensor.rounded:
            return Place(self.path, start, FLOAT, tensor.shape).mapped()
        rows, width = tensor.shape
        whole = Place(self.path, start, np.dtype("i1"), tensor.shape)
        found = np.empty(tensor.shape, dtype=np.float32)
        with np.errstate(all="ignore"):
            for part in row_blocks(rows, width):
                scales = self.scales(name, part)
                groups = whole.rows(part).reshape(*scales.shape, self.shape.group)
                found[part] = (groups * scales[:, :, None]).reshape(-1, width)
        return found

    def scales(self, name: str, rows: slice) -> NDArray[np.float32]:
        """Read the scale of each group in some rows of a rounded matrix."""
        tensor = self.tensors[name]
        shape = (tensor.shape[0], tensor.shape[1] // self.shape.group)
        return Place(self.path, self._starts[name] + tensor.size, FLOAT, shape).rows(rows)

    def open(self, name: str) -> AbstractContextManager[Read]:
        """Read it whole and give out pieces."""
        return Memory({name: self[name]}).open(name)


def tokens_of(path: Path) -> list[str] | None:
    """Read a `tokenizer.bin`: the longest length, then of each token its score, its length and its bytes.

    Returns
    -------
    list of str or None
        None where there is no such file, or it is damaged.

    Examples
    --------
    >>> tokens_of(Path("no-such-file")) is None
    True
    """
    try:
        data = path.read_bytes()
    except OSError:
        return None
    position, found = 4, list[str]()
    while position < len(data):
        if position + 8 > len(data):
            return None
        (length,) = struct.unpack_from("<I", data, position + 4)
        position += 8 + length
        if position > len(data):
            return None
        found.append(data[position - length : position].decode("utf-8", "backslashreplace"))
    return found or None
