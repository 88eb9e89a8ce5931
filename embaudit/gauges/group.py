"""Gauge groups: which gauges there are, how to draw one, and which set holds which."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from embaudit.core.checked import EPS, RNG, Vector, as_generator, frozen, is_number
from embaudit.errors import must_be
from embaudit.gauges.gauge import Gauge
from embaudit.linalg.structured import WIDE, StructuredLinearMap, StructuredRotation
from embaudit.model import FactorModel
from embaudit.model.equivalence import Equivalence


class GaugeGroup(ABC):
    """A set of gauges of one rank: a group, or the part of it within a budget.

    `a <= b` means that every gauge of a is one of b. A class that names neither `kind` nor `title` is called by
    what it is called in Python.

    Examples
    --------
    >>> from embaudit.gauges import Diagonal, GeneralLinear
    >>> Diagonal(2) <= GeneralLinear(2), Diagonal(2) >= Diagonal(2, max_condition=3.0), Diagonal(2) <= Diagonal(3)
    (True, True, False)
    >>> from embaudit.gauges import Affine, Orthogonal, Translation
    >>> print(*(f"{group.kind}: {group.title}" for group in (Orthogonal, Diagonal, GeneralLinear)), sep=", ")
    orthogonal: a rotation (control), diagonal: random rescalings, linear: random linear maps
    >>> Translation.title, Affine.title, type("TurnedAround", (Orthogonal,), {}).title
    ('random translations', 'random affine maps', 'random turned around gauges')
    >>> Diagonal(2) <= 3
    Traceback (most recent call last):
        ...
    TypeError: '<=' not supported between instances of 'Diagonal' and 'int'
    >>> Diagonal(2) >= 3
    Traceback (most recent call last):
        ...
    TypeError: '>=' not supported between instances of 'Diagonal' and 'int'
    """

    kind: ClassVar[str]
    """Name of such gauges on the command line and in the records of an audit."""
    title: ClassVar[str]
    """Title of several random ones in tables."""
    rank: int

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "kind" not in vars(cls):
            cls.kind = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", cls.__name__).lower()
        if "title" not in vars(cls):
            cls.title = f"random {cls.kind} gauges"

    def name_in(self, model: FactorModel) -> str:  # noqa: ARG002
        """Name the set among those of a model."""
        return self.kind

    @property
    @abstractmethod
    def preserves(self) -> Equivalence:
        """Level that every gauge of the set preserves in a model without biases."""

    def preserves_in(self, model: FactorModel) -> Equivalence:
        """Return the level that every gauge preserves in this model, whose free biases may absorb a shift."""
        if model.link.needs_lengths and not self.fixes_lengths:
            return Equivalence.NOTHING
        return Equivalence.COSINES if self.fixes_cosines else self.preserves

    @property
    def fixes_lengths(self) -> bool:
        """True if no row changes its length under any gauge of the set."""
        return False

    @property
    @abstractmethod
    def fixes_cosines(self) -> bool:
        """True if no same-side cosine moves under any gauge of the set."""

    @property
    @abstractmethod
    def is_group(self) -> bool:
        """True if composing two gauges of the set stays in it; a budget makes it False."""

    @property
    def has_inverses(self) -> bool:
        """True if the inverse of every gauge of the set belongs to it."""
        return True

    @abstractmethod
    def sample(self, *, rng: RNG = 0) -> Gauge:
        """Draw a gauge; with a budget, one that spends it all."""

    @abstractmethod
    def contains(self, gauge: Gauge) -> bool:
        """Check that the gauge belongs to the set, within rounding."""

    @abstractmethod
    def includes(self, other: GaugeGroup) -> bool:
        """Check that every gauge of `other` belongs to the set."""

    def identity(self) -> Gauge:
        """Return the gauge that changes nothing, a member of every set."""
        return Gauge.identity(self.rank)

    def is_within(self, other: GaugeGroup) -> bool:  # noqa: ARG002
        """Check that every gauge of the set belongs to `other`, for a set that `other` cannot know of.

        A group written elsewhere answers here for the larger sets of this package.
        """
        return False

    def __le__(self, other: GaugeGroup) -> bool:
        if not isinstance(other, GaugeGroup):
            return NotImplemented
        return other.rank == self.rank and (
            other.includes(self) or self.is_within(other)
        )

    def __ge__(self, other: GaugeGroup) -> bool:
        if not isinstance(other, GaugeGroup):
            return NotImplemented
        # Not `other <= self`: for a subclass Python asks here first, and the two would ask each other forever.
        return other.rank == self.rank and (
            self.includes(other) or other.is_within(self)
        )


def require_budget(
    name: str, budget: float | None, least: float, most: float = np.inf
) -> None:
    """Refuse a budget that is no number, below its least value or beyond what float64 can hold.

    Examples
    --------
    >>> require_budget("max_condition", 10.0, 1.0, 10.0)
    >>> require_budget("max_condition", 11.0, 1.0, 10.0)
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: max_condition must be at most 10, what float64 can hold; got 11; None sets no bound.
    """
    if budget is None:
        return
    if not (is_number(budget) and budget >= least):
        # A shift of 0 is one; a condition number below 1 is none, so what it counts is told.
        remedy = (
            "it is the largest stretch over the smallest, such as 2"
            if least == 1
            else "None sets no bound"
        )
        raise must_be(name, f"a finite number >= {least:g}", repr(budget), remedy)
    if budget > most:
        raise must_be(
            name,
            f"at most {most:g}, what float64 can hold",
            f"{budget:g}",
            "None sets no bound",
        )


def within_budget(spent: float, budget: float | None) -> bool:
    """Check a condition number or a length against its budget, up to rounding."""
    return budget is None or spent <= budget * (1 + 1e-9)


def covers(budget: float | None, other: float | None) -> bool:
    """Check that a budget is at least as large as another, None being unbounded."""
    return budget is None or (other is not None and other <= budget)


def sample_spectrum(rank: int, max_condition: float | None, rng: RNG) -> Vector:
    """Draw positive scales; with a budget, the largest over the smallest is the budget (a hair below it).

    Without a budget the logarithms are standard normal.
    """
    logarithms = as_generator(rng).standard_normal(rank)
    if max_condition is None:
        return np.exp(logarithms)
    # Stretched in logarithms, so that the largest over the smallest scale is the budget; their geometric mean is 1.
    spread = np.ptp(logarithms)
    if spread > 0:
        # A hair below the budget: rounding of the scales must not spend more than it.
        logarithms *= np.log(max_condition) * (1 - 8 * EPS * rank) / spread
    scales: Vector = np.exp(logarithms - logarithms.mean())
    return scales


def random_rotation(
    rank: int, rng: np.random.Generator
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Draw an orthogonal matrix uniformly (Haar): QR of a Gaussian matrix with the signs of R taken out."""
    q, r = np.linalg.qr(rng.standard_normal((rank, rank)))
    # LAPACK fixes the signs of R, which would make the draw uneven (Mezzadri, Notices of the AMS 54, 2007).
    return np.asarray(q * np.sign(np.diag(r)))


def random_linear(scales: Vector, rng: np.random.Generator) -> Gauge:
    """Draw `M = U diag(scales) Vᵀ`, U and V uniform; in very many dimensions U is structured, and V the identity.

    Examples
    --------
    >>> gauge = random_linear(np.linspace(1, 2, 300), np.random.default_rng(0))
    >>> gauge, round(float(np.linalg.cond(np.asarray(gauge.left))), 9)
    (Gauge(rank 300, condition number 2), 2.0)
    """
    rank = len(scales)
    if rank <= WIDE:
        return Gauge.from_svd(
            random_rotation(rank, rng), scales, random_rotation(rank, rng)
        )
    # Both M and M⁻ᵀ have the same rotation, and inverse scales.
    turn = StructuredRotation.sample(rank, rng)
    return Gauge(
        StructuredLinearMap(frozen(scales), turn),
        StructuredLinearMap(frozen(1 / scales), turn),
    )
