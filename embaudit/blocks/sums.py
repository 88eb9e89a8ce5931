"""Sums of squares and products by block, streamed in float64: pairwise within a piece, exactly across pieces."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import Floats
from embaudit.errors import must_be
from embaudit.io.codecs.arrays import Readable

Integers = NDArray[np.int32]
"""Powers of two, as ldexp takes them."""

PIECE = 2**15
"""Entries worked on at a time: the float64 copies and products stay in the second-level cache."""
READ = 8
"""Pieces asked of a source at a time: a call of a reader costs more than a look at a piece."""
MANY_BLOCKS = 10**6
"""Number of blocks from which numpy adds them up pairwise: adding exactly takes a tenth of a second a million."""
SAFE = 1e140
"""Squared norms between 1/SAFE and SAFE multiply without overflow or underflow."""


@dataclass(frozen=True, eq=False)
class BlockSums:
    """Sums of squares and products by block, of entries divided by powers of two.

    The powers are 0 unless a block's numbers are so large or small that their squares leave the range of float64.
    """

    products: Floats
    """(3, B) `Σx²`, `Σy²` and `Σxy` of each block, in units of its own."""
    exponents: Integers
    """(2, B) powers of two that the entries of x and of y were divided by."""

    def cosines(self) -> Floats:
        """Compute the cosine of every block, NaN where a side is zero."""
        xx, yy, xy = self.products
        squares = xx * yy
        # One square root of a product rounds once less than a product of two; a block's units keep it in range.
        cosines: Floats = np.divide(
            xy, np.sqrt(squares), out=np.full(len(xy), np.nan), where=squares > 0
        )
        return np.clip(cosines, -1, 1)

    def in_units_of_the_largest(self) -> BlockSums:
        """Bring all blocks to the powers of two of the largest one of each side, beside which others may vanish."""
        if not self.exponents.any():
            return self
        # log2 of a norm is half that of its square, plus the power of two of its units.
        sizes = np.full(self.exponents.shape, -np.inf)
        np.log2(self.products[:2], out=sizes, where=self.products[:2] > 0)
        largest = (sizes / 2 + self.exponents).argmax(axis=1)
        units = self.exponents[[0, 1], largest][:, None]
        x, y = self.exponents - units
        products = np.ldexp(self.products, np.stack([2 * x, 2 * y, x + y]))
        return BlockSums(products, np.broadcast_to(units, self.exponents.shape))

    def total(self) -> BlockSums:
        """Add all blocks up to one, each sum rounded once."""
        same = self.in_units_of_the_largest()
        sums = [
            float(s.sum()) if len(s) >= MANY_BLOCKS else math.fsum(s.tolist())
            for s in same.products
        ]
        return BlockSums(np.array(sums)[:, None], same.exponents[:, :1])


def concatenate(parts: list[BlockSums]) -> BlockSums:
    """Line up the blocks of several tensors."""
    products, exponents = (
        [getattr(sums, name) for sums in parts] for name in ("products", "exponents")
    )
    return BlockSums(
        np.concatenate(products, axis=1), np.concatenate(exponents, axis=1)
    )


@dataclass(frozen=True)
class SharedTensor:
    """One tensor of both sides, cut into blocks of the same number of entries in C order."""

    x: Readable
    y: Readable
    names: tuple[str, str]
    """Names of the tensor in x and in y: an array that stands alone has none."""
    inner: int
    """Entries of a block."""

    @property
    def size(self) -> int:
        """Number of entries."""
        return self.x.tensors[self.names[0]].size

    @property
    def count(self) -> int:
        """Number of blocks."""
        return self.size // self.inner

    def pieces(self) -> Iterator[tuple[slice, Floats]]:
        """Yield blocks and their entries (2, blocks, entries), x above y: several blocks, or a part of one.

        The array is overwritten by the next step.
        """
        # A piece is as many whole blocks as fit into the cache, or a part of one that does not. `outer` is passed over
        # at once: the whole tensor, or one such block, so that no piece reaches into the next block.
        step = PIECE // self.inner * self.inner or PIECE
        outer = self.size if self.inner <= PIECE else self.inner
        both = np.empty((2, step))
        reads = [
            source.open(name)
            for source, name in zip((self.x, self.y), self.names, strict=True)
        ]
        for begin in range(0, self.size, outer):
            for start in range(begin, begin + outer, READ * step):
                length = min(READ * step, begin + outer - start)
                sides = [read(start, start + length) for read in reads]
                for at in range(0, length, step):
                    n = min(step, length - at)
                    for row, side in zip(both, sides, strict=True):
                        row[:n] = side[at : at + n]
                    first, m = (start + at) // self.inner, max(1, n // self.inner)
                    yield slice(first, first + m), both[:, :n].reshape(2, m, -1)

    def exponents(self) -> Integers:
        """Return the power of two just above the largest entry of each block, for both sides."""
        # np.maximum carries a nan on, so that one look at the end finds it.
        largest = np.zeros((2, self.count))
        for blocks, piece in self.pieces():
            with np.errstate(invalid="ignore"):
                largest[:, blocks] = np.maximum(
                    largest[:, blocks], np.abs(piece).max(axis=2)
                )
        for side, name, values in zip("xy", self.names, largest, strict=True):
            if not np.isfinite(values).all():
                raise must_be(
                    f"{name or 'every entry'} in {side}",
                    "finite",
                    "nan or infinity",
                    "repair or drop it",
                )
        return np.frexp(largest)[1]

    def products(self, exponents: Integers | None = None) -> Floats:
        """Sum squares and products (3, blocks) of entries divided by powers of two."""
        parts = []
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            for blocks, piece in self.pieces():
                if exponents is not None:
                    np.ldexp(piece, -exponents[:, blocks, None], out=piece)
                terms = (piece[0] * piece[0], piece[1] * piece[1], piece[0] * piece[1])
                parts.append(
                    np.stack(
                        [
                            term.sum(axis=1) if term.shape[1] > 1 else term[:, 0]
                            for term in terms
                        ]
                    )
                )
        # Every block has as many parts as every other: one where pieces hold whole blocks.
        by_block = np.concatenate(parts, axis=1).reshape(3, self.count, -1)
        if by_block.shape[2] == 1:
            return by_block[:, :, 0]
        # Infinity, where sums leave the range of float64, calls for powers of two: fsum would raise an OverflowError.
        sums = np.full(by_block.shape[:2], np.inf)
        for cell in zip(
            *np.nonzero(np.abs(by_block).sum(axis=2) < np.inf), strict=True
        ):
            sums[cell] = math.fsum(by_block[cell])
        return sums

    def sums(self) -> BlockSums:
        """Stream the tensor and sum squares and products by block.

        Raises
        ------
        InputError
            If an entry is not finite.

        Notes
        -----
        A product of two float32 or bfloat16 numbers is exact in float64. Within a piece of some ten thousand entries
        numpy adds pairwise, pieces are added exactly, so the relative error of `Σx²` does not grow with the size.
        Blocks whose squares leave the range of float64 are read again, scaled by a power of two.
        """
        # Squares of float32 and narrower numbers, and their sums, never leave the range of float64.
        sources = zip((self.x, self.y), self.names, strict=True)
        narrow = all(
            source.tensors[name].dtype in ("float32", "float16", "bfloat16")
            for source, name in sources
        )
        products = self.products()
        in_range = (products[:2] >= 1 / SAFE) & (products[:2] <= SAFE)
        if np.isfinite(products).all() and (narrow or in_range.all()):
            return BlockSums(products, np.zeros((2, self.count), dtype=np.int32))
        # Squares left the range of float64: once more, each block divided by the power of two above its largest entry.
        exponents = self.exponents()
        return BlockSums(self.products(exponents), exponents)
