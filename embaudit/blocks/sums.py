"""Sums of squares and products by block, streamed: pairwise within a piece, compensated across pieces, in float64."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embaudit.blocks.partition import AnyLayout, Layout
from embaudit.errors import must_be
from embaudit.foundation.checked import Floats
from embaudit.io.codecs.arrays import Arrays, Read

Integers = NDArray[np.int64]

PIECE = 2**15
"""Entries worked on at a time: the float64 copies and products stay in the second-level cache."""
READ = 2**18
"""Entries asked of a source at a time."""
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
        # What comes before plus what comes after: subtracting a large block would leave its rounding error.
        nothing = np.zeros((3, 1))
        before = np.concatenate([nothing, sums.cumsum(axis=1)[:, :-1]], axis=1)
        after = np.concatenate([sums[:, ::-1].cumsum(axis=1)[:, -2::-1], nothing], axis=1)
        rest = before + after
        exponents = np.zeros(len(self.xx), dtype=np.int64)
        return BlockSums(rest[0], rest[1], rest[2], exponents, exponents).cosines()

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
    """Return the power of two of the block of largest norm: what underflows beside it does not count."""
    if not exponents.any():
        return 0
    size = np.full(len(squares), -np.inf)
    np.log2(squares, out=size, where=squares > 0)
    return int(exponents[np.argmax(size / 2 + exponents)])


def concatenate(parts: list[BlockSums]) -> BlockSums:
    """Line up the blocks of several tensors."""
    return BlockSums(*(np.concatenate([getattr(p, f) for p in parts]) for f in ("xx", "yy", "xy", "ex", "ey")))


class _Compensated:
    """Running sums (3, m) with the rounding error of every addition kept beside them (Neumaier 1974)."""

    def __init__(self, count: int) -> None:
        self._sum = np.zeros((3, count))
        self._error = np.zeros((3, count))

    def add(self, blocks: slice, values: Floats) -> None:
        old = self._sum[:, blocks]
        with np.errstate(over="ignore", invalid="ignore"):
            new = old + values
            back = new - old
            self._error[:, blocks] += (old - (new - back)) + (values - back)
        self._sum[:, blocks] = new

    def result(self) -> Floats:
        with np.errstate(over="ignore", invalid="ignore"):
            total: Floats = self._sum + self._error
        return total


def _pieces(layout: AnyLayout, size: int) -> Iterator[tuple[int, int]]:
    """Cut `0:size` so that every piece is some whole cycles or lies within one."""
    cycle = layout.cycle
    if cycle <= PIECE:
        step = PIECE // cycle * cycle
        yield from ((start, min(start + step, size)) for start in range(0, size, step))
        return
    for begin in range(0, size, cycle):
        end = min(begin + cycle, size)
        yield from ((start, min(start + PIECE, end)) for start in range(begin, end, PIECE))


def _by_block(layout: AnyLayout, start: int, products: Floats) -> tuple[slice, Floats]:
    """Sum products (3, n) of the entries from `start` on by block: numpy sums along a row pairwise."""
    length, cycle = products.shape[1], layout.cycle
    if length > cycle:
        turned = products.reshape(3, length // cycle, layout.count, -1).transpose(0, 2, 1, 3)
        return slice(0, layout.count), np.ascontiguousarray(turned).reshape(3, layout.count, -1).sum(axis=2)
    first, edges = layout.cuts(start, start + length)
    blocks = slice(first, first + len(edges))
    if len(edges) == length:
        return blocks, products
    return blocks, products.sum(axis=1, keepdims=True) if len(edges) == 1 else np.add.reduceat(products, edges, axis=1)


class _Buffered:
    """Ask a source for large parts, hand out small pieces in float64."""

    def __init__(self, read: Read, size: int) -> None:
        self._read, self._left = read, size
        self._part: NDArray[np.generic] = np.empty(0)
        self._position = 0

    def take(self, count: int, out: Floats) -> None:
        done = 0
        while done < count:
            if self._position == len(self._part):
                self._part, self._position = self._read(min(READ, self._left)), 0
                self._left -= len(self._part)
            n = min(count - done, len(self._part) - self._position)
            out[done : done + n] = self._part[self._position : self._position + n]
            self._position, done = self._position + n, done + n


def _walk(x: Arrays, y: Arrays, name: str, layout: AnyLayout) -> Iterator[tuple[int, Floats]]:
    """Yield `(start, entries (2, n))` of a tensor, x above y; the array is overwritten by the next step."""
    size = x.tensors[name].size
    both = np.empty((2, min(size, PIECE)))
    with x.open(name) as read_x, y.open(name) as read_y:
        left, right = _Buffered(read_x, size), _Buffered(read_y, size)
        for start, stop in _pieces(layout, size):
            piece = both[:, : stop - start]
            left.take(stop - start, piece[0])
            right.take(stop - start, piece[1])
            yield start, piece


def _scaled_walk(
    x: Arrays, y: Arrays, name: str, layout: AnyLayout, exponents: Integers
) -> Iterator[tuple[int, Floats]]:
    for start, piece in _walk(x, y, name, layout):
        blocks = _block_of(layout, start, piece.shape[1])
        yield start, np.ldexp(piece, -exponents[:, blocks].astype(np.int32))


def _block_of(layout: AnyLayout, start: int, length: int) -> NDArray[np.intp]:
    if isinstance(layout, Layout):
        return np.arange(start, start + length) // layout.inner % layout.count
    return np.searchsorted(layout.edges, np.arange(start, start + length), side="right") - 1


def _accumulate(walk: Iterator[tuple[int, Floats]], layout: AnyLayout) -> Floats:
    sums = _Compensated(layout.count)
    products = np.empty((3, PIECE))
    for start, piece in walk:
        part = products[:, : piece.shape[1]]
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            np.multiply(piece, piece, out=part[:2])
            np.multiply(piece[0], piece[1], out=part[2])
            sums.add(*_by_block(layout, start, part))
    return sums.result()


def _exponents(x: Arrays, y: Arrays, name: str, layout: AnyLayout) -> Integers:
    """Return the power of two just above the largest entry of each block, for both sides."""
    largest = np.zeros((2, layout.count))
    for start, piece in _walk(x, y, name, layout):
        blocks = _block_of(layout, start, piece.shape[1])
        with np.errstate(invalid="ignore"):
            for side, values in zip(largest, np.abs(piece), strict=True):
                np.maximum.at(side, blocks, values)
    for letter, values in zip("xy", largest, strict=True):
        if not np.isfinite(values).all():
            raise must_be(f"{name or 'every entry'} in {letter}", "finite", "nan or infinity", "repair or drop it")
    return np.frexp(largest)[1].astype(np.int64)


def sum_blocks(x: Arrays, y: Arrays, name: str, layout: AnyLayout) -> BlockSums:
    """Stream one tensor of two sources, of one shape in both, and sum squares and products by block.

    Raises
    ------
    InputError
        If an entry is not finite.

    Notes
    -----
    A product of two float32 or bfloat16 numbers is exact in float64. Within a piece of some ten thousand entries numpy
    adds pairwise, pieces are added with compensation, so the relative error of `Σx²` does not grow with the size.
    Blocks whose squares leave the range of float64 are read again, scaled by a power of two.
    """
    sums = _accumulate(_walk(x, y, name, layout), layout)
    zero = np.zeros(layout.count, dtype=np.int64)
    narrow = all(source.tensors[name].dtype in ("float32", "float16", "bfloat16") for source in (x, y))
    strange = ~np.isfinite(sums).all() or (not narrow and ((sums[:2] < 1 / SAFE) | (sums[:2] > SAFE)).any())
    if not strange:
        return BlockSums(sums[0], sums[1], sums[2], zero, zero)
    exponents = _exponents(x, y, name, layout)
    sums = _accumulate(_scaled_walk(x, y, name, layout, exponents), layout)
    return BlockSums(sums[0], sums[1], sums[2], exponents[0], exponents[1])
