"""Maps of rows of very many columns for which no square matrix is made: scales, between turns that mix all columns.

A dense k×k matrix takes k³ operations to draw uniformly, and k² for each row it is applied to. A turn here is made of
random signs and of cosine transforms, which takes k numbers, and k log k operations for each row.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self, TypeAlias, overload

import numpy as np
from numpy.typing import DTypeLike, NDArray

from embaudit.foundation.checked import Floats, Matrix, Vector, frozen

WIDE = 256
"""Columns above which maps are drawn so."""


@dataclass(frozen=True, eq=False)
class Turn:
    """The orthogonal matrix `diag(a) C diag(b) C diag(c)`, or its transpose; C is the orthonormal cosine transform.

    With random signs a, b and c the first transform spreads each row over all columns, the second mixes what is spread:
    its entries are nearly independent and normal, of variance 1/k. It is not uniform among all turns.

    Examples
    --------
    >>> turn = Turn.sample(300, np.random.default_rng(0))
    >>> square = turn.of(np.eye(300))
    >>> bool(np.abs(square @ square.T - np.eye(300)).max() < 1e-14), np.allclose(turn.T.of(square), np.eye(300))
    (True, True)
    """

    signs: NDArray[np.int8]
    """(3, k) a, b and c."""
    back: bool = False
    """Whether it is the transpose."""

    @classmethod
    def sample(cls, rank: int, rng: np.random.Generator) -> Self:
        """Draw the signs."""
        return cls(np.where(rng.random((3, rank)) < 0.5, -1, 1).astype(np.int8))

    @property
    def T(self) -> Self:  # noqa: N802
        """The transpose, which undoes it."""
        return replace(self, back=not self.back)

    def of(self, x: NDArray[Any]) -> NDArray[Any]:
        """Turn rows, as precisely as they are given."""
        from scipy.fft import dct, idct

        first, *others = self.signs[::-1] if self.back else self.signs
        transform = idct if self.back else dct
        x = x * first.astype(x.dtype)
        for signs in others:
            x = transform(x, norm="ortho", overwrite_x=True)
            x *= signs.astype(x.dtype)
        return x


@dataclass(frozen=True, eq=False)
class Stretch:
    """The square matrix `first · diag(scales) · last`, for turns that may be missing; rows are multiplied by `x @ it`.

    Its singular values are the sizes of the scales. `np.asarray` makes the matrix itself.

    Examples
    --------
    >>> twice = Stretch(np.array([2.0, 4.0]))
    >>> np.array([[1.0, 1.0]]) @ twice, twice @ np.array([1.0, 1.0]), np.asarray(twice.T)
    (array([[2., 4.]]), array([2., 4.]), array([[2., 0.],
           [0., 4.]]))
    """

    scales: Vector
    """(k,) none is 0."""
    first: Turn | None = None
    """What is done before."""
    last: Turn | None = None
    """What is done after."""

    # Products with arrays are made here, not by numpy.
    __array_ufunc__ = None

    @classmethod
    def identity(cls, rank: int) -> Self:
        """Make the map that changes nothing."""
        return cls(frozen(np.ones(rank)))

    @property
    def shape(self) -> tuple[int, int]:
        """As the matrix has it."""
        return len(self.scales), len(self.scales)

    def __len__(self) -> int:
        return len(self.scales)

    @property
    def T(self) -> Self:  # noqa: N802
        """The transpose."""
        first, last = (None if turn is None else turn.T for turn in (self.last, self.first))
        return replace(self, first=first, last=last)

    @property
    def sizes(self) -> Floats:
        """Singular values, in no order."""
        return np.abs(self.scales)

    def astype(self, dtype: DTypeLike) -> Self:  # noqa: ARG002
        """Return itself: it computes as precisely as the rows that it is given."""
        return self

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Floats:
        return np.asarray(np.eye(len(self)) @ self, dtype=dtype)

    def __rmatmul__(self, x: NDArray[Any]) -> NDArray[Any]:
        x = np.asarray(x)
        x = x if x.dtype == np.float32 else x.astype(np.float64, copy=False)
        x = (x if self.first is None else self.first.of(x)) * self.scales.astype(x.dtype)
        return x if self.last is None else self.last.of(x)

    @overload
    def __matmul__(self, other: Stretch) -> Stretch | Floats: ...
    @overload
    def __matmul__(self, other: NDArray[Any]) -> Floats: ...
    def __matmul__(self, other: Stretch | NDArray[Any]) -> Stretch | Floats:
        if not isinstance(other, Stretch):
            return np.asarray((np.asarray(other).T @ self.T).T)
        if self.last is None and other.first is None:
            return Stretch(frozen(self.scales * other.scales), self.first, other.last)
        return np.asarray(self) @ other


Linear: TypeAlias = Matrix | Stretch
"""What rows can be multiplied by."""


def is_inverse(one: Stretch, other: Stretch) -> bool:
    """Whether `one · otherᵀ` is the identity: the same turns, and scales that cancel, within rounding.

    Examples
    --------
    >>> half = Stretch(np.array([0.5, 0.25]))
    >>> is_inverse(Stretch(np.array([2.0, 4.0])), half), is_inverse(half, half)
    (True, False)
    """
    eps = float(np.finfo(np.float64).eps)
    same = all(_same(*turns) for turns in ((one.first, other.first), (one.last, other.last)))
    return same and bool(np.abs(one.scales * other.scales - 1).max() <= 64 * eps)


def _same(one: Turn | None, other: Turn | None) -> bool:
    if one is None or other is None:
        return one is other
    return one.back == other.back and np.array_equal(one.signs, other.signs)


def stretches(linear: Linear) -> Floats:
    """Compute the singular values of a map, the largest first.

    Examples
    --------
    >>> stretches(Stretch(np.array([1.0, -3.0]))), stretches(np.diag([1.0, -3.0]))
    (array([3., 1.]), array([3., 1.]))
    """
    if isinstance(linear, Stretch):
        return np.sort(linear.sizes)[::-1]
    return np.asarray(np.linalg.svd(linear, compute_uv=False))
