"""Maps of rows of very many columns for which no square matrix is made: scales, between turns that mix all columns.

A dense k×k matrix takes k³ operations to draw uniformly, and k² for each row it is applied to. A turn here is made of
random signs and of cosine transforms, which takes k numbers, and k log k operations for each row.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Self, TypeAlias, overload

import numpy as np
from numpy.typing import DTypeLike, NDArray

from embaudit.core.checked import EPS, Floats, Matrix, Vector, frozen

WIDE = 256
"""Columns above which maps are drawn so."""


@dataclass(frozen=True, eq=False)
class StructuredRotation:
    """The orthogonal matrix `diag(a) C diag(b) C diag(c)`, or its transpose; C is the orthonormal cosine transform.

    With random signs a, b and c the first transform spreads each row over all columns, the second mixes what is spread:
    its entries are nearly independent and normal, of variance 1/k. It is not uniform among all turns.

    Examples
    --------
    >>> turn = StructuredRotation.sample(300, np.random.default_rng(0))
    >>> square = turn.of(np.eye(300))
    >>> bool(np.abs(square @ square.T - np.eye(300)).max() < 1e-14), np.allclose(turn.T.of(square), np.eye(300))
    (True, True)
    """

    signs: NDArray[np.int8]
    """(3, k) a, b and c."""
    back: bool = False
    """True for the transpose."""

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

        first, *rest = self.signs[::-1] if self.back else self.signs
        transform = idct if self.back else dct
        x = x * first.astype(x.dtype)
        for signs in rest:
            x = transform(x, norm="ortho", overwrite_x=True)
            x *= signs.astype(x.dtype)
        return x


class Structured(ABC):
    """A square matrix that is not made: rows are multiplied by `x @ it`, and `np.asarray` makes it."""

    # Products with arrays are made here, not by numpy.
    __array_ufunc__ = None
    scales: Vector
    """(r,) singular values, with signs; none is 0."""

    @abstractmethod
    def __len__(self) -> int: ...

    @property
    @abstractmethod
    def T(self) -> Structured:  # noqa: N802
        """The transpose."""

    @property
    @abstractmethod
    def sizes(self) -> Floats:
        """All singular values, in no order."""

    @abstractmethod
    def of(self, x: NDArray[Any]) -> NDArray[Any]:
        """Multiply rows, as precisely as they are given."""

    @abstractmethod
    def is_undone_by(self, other: Structured) -> bool:
        """Check that `it · otherᵀ` is the identity, to what can be seen without making either."""

    @property
    def shape(self) -> tuple[int, int]:
        """Shape (k, k) of the matrix."""
        return len(self), len(self)

    def astype(self, dtype: DTypeLike) -> Self:  # noqa: ARG002
        """Return itself: it computes as precisely as the rows that it is given."""
        return self

    def __array__(
        self, dtype: DTypeLike | None = None, copy: bool | None = None
    ) -> Floats:
        return np.asarray(np.eye(len(self)) @ self, dtype=dtype)

    def __rmatmul__(self, x: NDArray[Any]) -> NDArray[Any]:
        x = np.asarray(x)
        return self.of(x if x.dtype == np.float32 else np.asarray(x, np.float64))

    @overload
    def __matmul__(self, other: Structured) -> Structured | Floats: ...
    @overload
    def __matmul__(self, other: NDArray[Any]) -> Floats: ...
    def __matmul__(self, other: Structured | NDArray[Any]) -> Structured | Floats:
        return np.asarray((np.asarray(other).T @ self.T).T)


@dataclass(frozen=True, eq=False)
class StructuredLinearMap(Structured):
    """The square matrix `first · diag(scales) · last`, for turns that may be missing.

    Examples
    --------
    >>> twice = StructuredLinearMap(np.array([2.0, 4.0]))
    >>> np.array([[1.0, 1.0]]) @ twice, twice @ np.array([1.0, 1.0]), np.asarray(twice.T)
    (array([[2., 4.]]), array([2., 4.]), array([[2., 0.],
           [0., 4.]]))
    >>> half, other = StructuredLinearMap(1 / twice.scales), Spanned(np.eye(2), 1 / twice.scales, 1.0)
    >>> [twice.is_undone_by(one) for one in (half, twice, other)]
    [True, False, False]
    """

    scales: Vector
    """(k,) none is 0."""
    first: StructuredRotation | None = None
    """Rotation before the scales."""
    last: StructuredRotation | None = None
    """Rotation after the scales."""

    @classmethod
    def identity(cls, rank: int) -> Self:
        """Make the map that changes nothing."""
        return cls(frozen(np.ones(rank)))

    def __len__(self) -> int:
        return len(self.scales)

    @property
    def T(self) -> Self:  # noqa: N802
        """The transpose."""
        first, last = (
            None if turn is None else turn.T for turn in (self.last, self.first)
        )
        return replace(self, first=first, last=last)

    @property
    def sizes(self) -> Floats:
        """Sizes of the scales."""
        return np.abs(self.scales)

    def of(self, x: NDArray[Any]) -> NDArray[Any]:
        """Turn rows, scale them, and turn them again."""
        x = (x if self.first is None else self.first.of(x)) * self.scales.astype(
            x.dtype
        )
        return x if self.last is None else self.last.of(x)

    def __matmul__(self, other: Any) -> Any:
        if (
            isinstance(other, StructuredLinearMap)
            and self.last is None
            and other.first is None
        ):
            return StructuredLinearMap(
                frozen(self.scales * other.scales), self.first, other.last
            )
        return super().__matmul__(other)

    def is_undone_by(self, other: Structured) -> bool:
        """Check that the rotations are the same, and the scales cancel."""
        if not isinstance(other, StructuredLinearMap):
            return False
        same = all(
            _same(*turns)
            for turns in ((self.first, other.first), (self.last, other.last))
        )
        return same and _cancel(self.scales, other.scales)


@dataclass(frozen=True, eq=False)
class Spanned(Structured):
    """The symmetric matrix `rest · I + W diag(scales − rest) Wᵀ`: scales in the span of few columns, one outside it.

    Examples
    --------
    >>> one = Spanned(np.array([[0.6], [0.8]]), np.array([3.0]), 1.0)
    >>> np.array([[0.6, 0.8], [0.8, -0.6]]) @ one
    array([[ 1.8,  2.4],
           [ 0.8, -0.6]])
    >>> third, elsewhere = replace(one, scales=1 / one.scales), replace(one, axes=np.array([[1.0], [0.0]]))
    >>> [one.is_undone_by(each) for each in (third, one, elsewhere, StructuredLinearMap(1 / one.sizes))]
    [True, False, False, False]
    >>> one.sizes, Spanned(np.eye(1), np.array([3.0]), 1.0).sizes, one.shape
    (array([3., 1.]), array([3.]), (2, 2))
    """

    axes: Matrix
    """(k, r) W, orthonormal."""
    scales: Vector
    """(r,) positive."""
    rest: float
    """Scale of rows at right angles to W."""

    def __len__(self) -> int:
        return len(self.axes)

    @property
    def T(self) -> Self:  # noqa: N802
        """Itself."""
        return self

    @property
    def sizes(self) -> Floats:
        """The scales, and what is outside, if anything is."""
        k, r = self.axes.shape
        return np.asarray(self.scales if k == r else np.append(self.scales, self.rest))

    def of(self, x: NDArray[Any]) -> NDArray[Any]:
        """Scale rows, and their parts in the span otherwise."""
        axes = np.asarray(self.axes, x.dtype)
        # x M = rest x + ((x W) (scales − rest)) Wᵀ: two thin products instead of a square one.
        inside = (x @ axes) * (self.scales - self.rest).astype(x.dtype)
        return np.asarray(x * x.dtype.type(self.rest) + inside @ axes.T)

    def is_undone_by(self, other: Structured) -> bool:
        """Check that the span is the same, orthonormal, and the scales cancel."""
        if not isinstance(other, Spanned) or other.axes is not self.axes:
            return False
        error = np.abs(self.axes.T @ self.axes - np.eye(len(self.scales))).max()
        ends = np.append(self.scales, self.rest), np.append(other.scales, other.rest)
        return bool(error <= 64 * len(self.scales) * EPS) and _cancel(*ends)


Linear: TypeAlias = Matrix | Structured
"""Linear map that rows can be multiplied by."""


def as_simplest(linear: Linear) -> Linear:
    """Return a diagonal matrix as the scales that it is: rows take k products then, and not k².

    Examples
    --------
    >>> type(as_simplest(np.diag([1.0, 2.0]))).__name__, type(as_simplest(np.ones((2, 2)))).__name__
    ('StructuredLinearMap', 'ndarray')
    """
    if isinstance(linear, Structured) or linear.shape[0] != linear.shape[1]:
        return linear
    scales = np.diag(linear)
    diagonal = scales.all() and np.count_nonzero(linear) == len(scales)
    return (
        StructuredLinearMap(frozen(scales.astype(np.float64))) if diagonal else linear
    )


def _cancel(scales: Vector, inverse: Vector) -> bool:
    return bool(np.abs(scales * inverse - 1).max() <= 64 * EPS)


def _same(
    rotation: StructuredRotation | None, other: StructuredRotation | None
) -> bool:
    if rotation is None or other is None:
        return rotation is other
    return rotation.back == other.back and np.array_equal(rotation.signs, other.signs)


def stretches(linear: Linear) -> Floats:
    """Compute the singular values of a map, the largest first.

    Examples
    --------
    >>> stretches(StructuredLinearMap(np.array([1.0, -3.0]))), stretches(np.diag([1.0, -3.0]))
    (array([3., 1.]), array([3., 1.]))
    """
    if isinstance(linear, Structured):
        return np.sort(linear.sizes)[::-1]
    return np.asarray(np.linalg.svd(linear, compute_uv=False))
