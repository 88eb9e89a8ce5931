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

Integers = NDArray[np.int64]

PIECE = 2**15
"""Entries worked on at a time: the float64 copies and products stay in the second-level cache."""
READ = 8
"""Pieces asked of a source at a time: a call of a reader costs more than a look at a piece."""
SAFE = 1e140
"""Squared norms between 1/SAFE and SAFE multiply without overflow or underflow."""


@dataclass(frozen=True, eq=False)
class BlockSums:
    """Per block `Σx²`, `Σy²` and `Σxy` of entries divided by the powers of two `2^ex` and `2^ey`.

    The powers are 0 unless a block's numbers are so large or small that their squares leave the range of float64.
    """

    xx: Floats
    yy: Floats
    xy: Floats
    ex: Integers
    ey: Integers

    def cosines(self) -> Floats:
        """Compute the cosine of every block, NaN where a side is zero."""
        product = self.xx * self.yy
        cosines: Floats = np.divide(self.xy, np.sqrt(product), out=np.full(len(product), np.nan), where=product > 0)
        return np.clip(cosines, -1, 1)

    def weights(self) -> tuple[Floats, float]:
        """Return `‖x_b‖‖y_b‖` of every block and `‖x‖‖y‖`, both in the units of the total."""
        total = self.total()
        exponents = self.ex + self.ey - total.ex - total.ey
        return np.ldexp(np.sqrt(self.xx * self.yy), _clip(exponents)), math.sqrt(total.xx[0] * total.yy[0])

    def total(self) -> BlockSums:
        """Add all blocks up to one, each sum rounded once."""
        ex, ey = _leading_exponent(self.xx, self.ex), _leading_exponent(self.yy, self.ey)
        dx, dy = self.ex - ex, self.ey - ey
        xx, yy, xy = _exact(self.xx, 2 * dx), _exact(self.yy, 2 * dy), _exact(self.xy, dx + dy)
        return BlockSums(np.array([xx]), np.array([yy]), np.array([xy]), np.array([ex]), np.array([ey]))

    def without(self) -> Floats:
        """Compute for each block the cosine of everything else, NaN where a side is then zero."""
        total = self.total()
        units = np.stack([2 * (self.ex - total.ex), 2 * (self.ey - total.ey), self.ex + self.ey - total.ex - total.ey])
        sums = np.ldexp(np.stack([self.xx, self.yy, self.xy]), _clip(units))
        # Entries before plus entries after: subtracting a large block would leave its rounding error.
        nothing = np.zeros((3, 1))
        before = np.concatenate([nothing, sums.cumsum(axis=1)[:, :-1]], axis=1)
        after = np.concatenate([sums[:, ::-1].cumsum(axis=1)[:, -2::-1], nothing], axis=1)
        exponents = np.zeros(len(self.xx), dtype=np.int64)
        xx, yy, xy = before + after
        return BlockSums(xx, yy, xy, exponents, exponents).cosines()

    def profiles(self) -> tuple[Floats, Floats]:
        """Compute the unit vectors of block norms, `‖x_b‖/‖x‖` and `‖y_b‖/‖y‖`."""
        total = self.total()
        x = np.ldexp(np.sqrt(self.xx), _clip(self.ex - total.ex)) / math.sqrt(total.xx[0])
        y = np.ldexp(np.sqrt(self.yy), _clip(self.ey - total.ey)) / math.sqrt(total.yy[0])
        return x, y


def _clip(exponents: Integers) -> NDArray[np.int32]:
    return np.clip(exponents, -4000, 4000).astype(np.int32)


def _exact(values: Floats, exponents: Integers) -> float:
    scaled = np.ldexp(values, _clip(exponents)) if exponents.any() else values
    return math.fsum(scaled.tolist()) if len(values) < 10**6 else float(scaled.sum())


def _leading_exponent(squares: Floats, exponents: Integers) -> int:
    """Return the power of two of the block of largest norm: a block that underflows beside it does not count."""
    if not exponents.any():
        return 0
    size = np.full(len(squares), -np.inf)
    np.log2(squares, out=size, where=squares > 0)
    return int(exponents[np.argmax(size / 2 + exponents)])


def concatenate(parts: list[BlockSums]) -> BlockSums:
    """Line up the blocks of several tensors."""
    return BlockSums(*(np.concatenate([getattr(p, f) for p in parts]) for f in ("xx", "yy", "xy", "ex", "ey")))


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
        step = PIECE // self.inner * self.inner or PIECE
        outer = self.size if self.inner <= PIECE else self.inner
        both = np.empty((2, step))
        with self.x.open(self.names[0]) as read_x, self.y.open(self.names[1]) as read_y:
            for begin in range(0, self.size, outer):
                for start in range(begin, begin + outer, READ * step):
                    length = min(READ * step, begin + outer - start)
                    sides = read_x(length), read_y(length)
                    for at in range(0, length, step):
                        n = min(step, length - at)
                        for row, side in zip(both, sides, strict=True):
                            row[:n] = side[at : at + n]
                        first, m = (start + at) // self.inner, max(1, n // self.inner)
                        yield slice(first, first + m), both[:, :n].reshape(2, m, -1)

    def exponents(self) -> Integers:
        """Return the power of two just above the largest entry of each block, for both sides."""
        largest = np.zeros((2, self.count))
        for blocks, piece in self.pieces():
            with np.errstate(invalid="ignore"):
                largest[:, blocks] = np.maximum(largest[:, blocks], np.abs(piece).max(axis=2))
        for side, name, values in zip("xy", self.names, largest, strict=True):
            if not np.isfinite(values).all():
                raise must_be(f"{name or 'every entry'} in {side}", "finite", "nan or infinity", "repair or drop it")
        return np.frexp(largest)[1].astype(np.int64)

    def products(self, exponents: Integers | None = None) -> Floats:
        """Sum squares and products (3, blocks) of entries divided by powers of two."""
        parts = []
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            for blocks, piece in self.pieces():
                if exponents is not None:
                    np.ldexp(piece, -exponents[:, blocks, None].astype(np.int32), out=piece)
                terms = (piece[0] * piece[0], piece[1] * piece[1], piece[0] * piece[1])
                parts.append(np.stack([term.sum(axis=1) if term.shape[1] > 1 else term[:, 0] for term in terms]))
        # Every block has as many parts as every other.
        by_block = np.concatenate(parts, axis=1).reshape(3, self.count, -1)
        if by_block.shape[2] == 1:
            return by_block[:, :, 0]
        return np.array([[_rounded_once(block) for block in side] for side in by_block])

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
        sums, zero = self.products(), np.zeros(self.count, dtype=np.int64)
        sources = zip((self.x, self.y), self.names, strict=True)
        narrow = all(source.tensors[name].dtype in ("float32", "float16", "bfloat16") for source, name in sources)
        squares = sums[:2]
        if np.isfinite(sums).all() and (narrow or not ((squares < 1 / SAFE) | (squares > SAFE)).any()):
            return BlockSums(sums[0], sums[1], sums[2], zero, zero)
        # Squares left the range of float64: once more, each block divided by the power of two above its largest entry.
        exponents = self.exponents()
        sums = self.products(exponents)
        return BlockSums(sums[0], sums[1], sums[2], exponents[0], exponents[1])


def _rounded_once(parts: Floats) -> float:
    """Add sums of pieces; infinity where they leave the range of float64, which calls for powers of two."""
    return math.fsum(parts) if np.abs(parts).sum() < np.inf else math.inf
