"""Gauge groups: sets of gauges, described by constraints on M and two budgets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from embaudit.core.checked import (
    RNG,
    Floats,
    Matrix,
    Vector,
    as_count,
    as_generator,
    is_number,
    require_one_of,
)
from embaudit.core.tolerances import EPS, TIE
from embaudit.errors import must_be
from embaudit.gauges.constraint import IDENTITY, ORTHOGONAL, Constraint
from embaudit.gauges.gauge import MOST_RANK, Gauge
from embaudit.linalg.rows import WIDE
from embaudit.model import FactorModel, SideName
from embaudit.model.equivalence import Equivalence


class GaugeGroup(ABC):
    """A set of gauges of one rank: a group, or the part of a group within a budget.

    A set is described by five fields: the rank, the constraints on M, a budget for the
    condition number of M, the side that is shifted, and a budget for the length of the
    shift. A budget of None means that there is no bound. The set consists of all gauges
    that meet these fields.

    `a <= b` means that every gauge of a belongs to b. It compares the fields: each
    constraint of b must be a constraint of a, too, and the budgets of a must not exceed
    the budgets of b. So a set with a constraint of its own lies only in the sets whose
    constraints it lists, and contains only sets that list this constraint.

    Examples
    --------
    >>> from embaudit.gauges import Diagonal, GeneralLinear
    >>> Diagonal(2) <= GeneralLinear(2), Diagonal(2) >= Diagonal(2, max_condition=3.0)
    (True, True)
    >>> Diagonal(2) <= Diagonal(3)
    False
    >>> Diagonal(2) <= 3
    Traceback (most recent call last):
        ...
    TypeError: '<=' not supported between instances of 'Diagonal' and 'int'
    >>> Diagonal.constraints, GeneralLinear.constraints
    (frozenset({Constraint(diagonal)}), frozenset())
    """

    kind: ClassVar[str]
    """Name of these gauges on the command line and in the records of an audit."""
    title: ClassVar[str]
    """Title of several random gauges in tables."""
    constraints: ClassVar[frozenset[Constraint]]
    """Properties that every M of the set has; empty if M can be any invertible map."""
    most_condition: ClassVar[float] = np.inf
    """Largest budget for κ(M) that float64 can hold."""
    rank: int
    """Number of latent dimensions k."""
    # A subclass declares the budgets that a user can choose as fields of its own.
    max_condition: float | None = None
    """Largest condition number κ of M; None means that there is no bound."""
    side: SideName = "right"
    """Side that is shifted."""
    max_shift: float | None = 0.0
    """Largest length of the shift, in the unit of the rows; None for any length."""

    def __init_subclass__(cls, **keywords: Any) -> None:
        """Raise TypeError if a subclass does not say which maps it contains."""
        super().__init_subclass__(**keywords)
        if not hasattr(cls, "constraints"):
            raise TypeError(
                f"{cls.__name__} must have `constraints`: the properties that every M "
                "of the set has (frozenset() if M can be any invertible map)."
            )

    def __post_init__(self) -> None:
        """Check the rank and the budgets."""
        as_count(self.rank, "rank", most=MOST_RANK)
        require_budget("max_condition", self.max_condition, 1.0, self.most_condition)
        require_one_of(self.side, "side", ("left", "right"))
        require_budget("max_shift", self.max_shift, 0.0)

    def name_in(self, model: FactorModel) -> str:  # noqa: ARG002
        """Return the name of the set in the words of a model."""
        return self.kind

    @property
    def preserves(self) -> Equivalence:
        """Level that every gauge of the set preserves in a model without biases.

        M and M⁻¹ cancel in the scores, and a rotation also preserves cosines. A shift
        of right rows adds a number to a whole row of scores, which the softmax and the
        order within the row ignore. A shift of left rows adds a number to each column.
        """
        if self.max_shift != 0:
            if self.side == "right":
                return Equivalence.PROBABILITIES
            return Equivalence.NOTHING
        if self._is_orthogonal:
            return Equivalence.COSINES
        return Equivalence.SCORES

    def preserves_in(self, model: FactorModel) -> Equivalence:
        """Return the level that every gauge preserves in this model.

        A free bias of the other side absorbs a shift. If the model divides one side by
        its lengths, M must preserve lengths.
        """
        if self._is_orthogonal:
            linear = Equivalence.COSINES
        elif model.link.needs_lengths:
            linear = Equivalence.NOTHING
        elif self.is_conformal:
            linear = Equivalence.COSINES
        else:
            linear = Equivalence.SCORES
        other_bias = model.left_bias if self.side == "right" else model.right_bias
        if self.max_shift == 0 or (
            model.link.needs_lengths and self.side in model.free_shifts
        ):
            shift = Equivalence.COSINES
        elif other_bias is not None:
            shift = Equivalence.SCORES
        else:
            shift = self.preserves
        return min(linear, shift)

    @property
    def _is_orthogonal(self) -> bool:
        """True if M can only rotate and reflect the rows."""
        return ORTHOGONAL in self.constraints

    @property
    def is_conformal(self) -> bool:
        """True if M can only rotate the rows and scale them as a whole."""
        return self._is_orthogonal or self.rank == 1 or self.max_condition == 1

    @property
    def fixes_lengths(self) -> bool:
        """True if no gauge of the set changes the length of a row."""
        return self.max_shift == 0 and self._is_orthogonal

    @property
    def fixes_cosines(self) -> bool:
        """True if no gauge of the set moves a cosine within a side."""
        return self.max_shift == 0 and self.is_conformal

    @property
    def is_group(self) -> bool:
        """True if two gauges of the set compose to a gauge of the set.

        Two gauges within a budget can compose to one that exceeds it.
        """
        stretches_compose = self.is_conformal or self.max_condition is None
        return stretches_compose and self.max_shift in (None, 0)

    @property
    def has_inverses(self) -> bool:
        """True if the inverse of every gauge of the set belongs to it.

        The length of a shift is measured before M acts. So the inverse of a stretch
        after a bounded shift can have a longer shift.
        """
        return self._is_orthogonal or self.max_shift in (None, 0)

    @abstractmethod
    def sample(self, *, rng: RNG = 0) -> Gauge:
        """Draw a gauge that uses up its budgets."""

    def contains(self, gauge: Gauge) -> bool:
        """Return True if the gauge belongs to the set, within rounding."""
        if not isinstance(gauge, Gauge):
            raise must_be(
                "gauge",
                "a Gauge",
                repr(gauge),
                "Gauge.linear makes a gauge of a matrix",
            )
        if gauge.rank != self.rank:
            return False
        return self._contains_linear_part(gauge) and self._contains_shift(gauge)

    def _contains_linear_part(self, gauge: Gauge) -> bool:
        for constraint in self.constraints:
            if not constraint.is_met_by(gauge):
                return False
        return within_budget(gauge.condition_number, self.max_condition)

    def _contains_shift(self, gauge: Gauge) -> bool:
        if self.max_shift == 0:
            return not gauge.shifts
        if any(side != self.side for side in gauge.shifts):
            return False
        # The rounding of M M⁻¹, which is in the shift, grows with κ.
        rounding = 8 * EPS * gauge.condition_number
        length = float(np.linalg.norm(gauge.shift_before(self.side)))
        return within_budget(length * (1 - rounding), self.max_shift)

    def includes(self, other: GaugeGroup) -> bool:
        """Return True if every gauge of `other` belongs to the set."""
        if other.rank != self.rank:
            return False
        return self._includes_linear_part(other) and self._includes_shift(other)

    def _includes_linear_part(self, other: GaugeGroup) -> bool:
        # Every set contains the identity.
        if IDENTITY in other.constraints:
            return True
        for constraint in self.constraints - other.constraints:
            # In one dimension every M is a multiple of the identity.
            if not (self.rank == 1 and constraint.allows_scale):
                return False
        # The condition number of such a multiple is 1, whatever the budget.
        return self.rank == 1 or covers(self.max_condition, other.max_condition)

    def _includes_shift(self, other: GaugeGroup) -> bool:
        if other.max_shift == 0:
            return True
        same_side = other.side == self.side
        return same_side and covers(self.max_shift, other.max_shift)

    def identity(self) -> Gauge:
        """Return the gauge that changes nothing, which belongs to every set."""
        return Gauge.identity(self.rank)

    def __le__(self, other: GaugeGroup) -> bool:
        if not isinstance(other, GaugeGroup):
            return NotImplemented
        return other.includes(self)

    def __ge__(self, other: GaugeGroup) -> bool:
        if not isinstance(other, GaugeGroup):
            return NotImplemented
        return self.includes(other)


def require_budget(
    name: str, budget: float | None, least: float, most: float = np.inf
) -> None:
    """Raise InputError unless a budget is None, or a number in the range of float64.

    Examples
    --------
    >>> require_budget("max_condition", 10.0, 1.0, 10.0)
    >>> require_budget("max_condition", 11.0, 1.0, 10.0)
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: max_condition must be at most 10, the limit of ...
    """
    if budget is None:
        return
    if not (is_number(budget) and budget >= least):
        remedy = "None sets no bound"
        if least == 1:
            # No condition number is below 1, so the message says what it measures.
            remedy = "it is the largest stretch divided by the smallest, such as 2"
        raise must_be(name, f"a finite number >= {least:g}", repr(budget), remedy)
    if budget > most:
        raise must_be(
            name,
            f"at most {most:g}, the limit of float64",
            f"{budget:g}",
            "None sets no bound",
        )


def within_budget(spent: float, budget: float | None) -> bool:
    """Return True if a condition number or length is within a budget up to rounding."""
    return budget is None or spent <= budget * (1 + TIE)


def covers(budget: float | None, other: float | None) -> bool:
    """Return True if a budget is at least as large as another; None has no bound."""
    return budget is None or (other is not None and other <= budget)


def sample_spectrum(rank: int, max_condition: float | None, rng: RNG) -> Vector:
    """Draw log-normal scales.

    With a budget, the logarithms are stretched so that the largest scale over the
    smallest is the budget, and shifted so that the geometric mean is 1.
    """
    logarithms = as_generator(rng).standard_normal(rank)
    if max_condition is None:
        return np.exp(logarithms)
    spread = np.ptp(logarithms)
    if spread > 0:
        # Slightly below the budget, so that rounding of the scales does not exceed it.
        logarithms *= np.log(max_condition) * (1 - 8 * EPS * rank) / spread
    scales: Vector = np.exp(logarithms - logarithms.mean())
    return scales


def random_rotation(rank: int, rng: np.random.Generator) -> Floats:
    """Draw an orthogonal matrix uniformly (Haar measure).

    It is Q of the QR decomposition of a Gaussian matrix, with the signs of R moved into
    Q. LAPACK fixes these signs, which would make the draw uneven (Mezzadri, Notices of
    the AMS 54, 2007).
    """
    q, r = np.linalg.qr(rng.standard_normal((rank, rank)))
    return np.asarray(q * np.sign(np.diag(r)))


def random_basis(rank: int, rng: np.random.Generator) -> Matrix:
    """Draw 256 orthonormal columns uniformly."""
    return np.linalg.qr(rng.standard_normal((rank, WIDE))).Q


def random_linear(rank: int, scales: Vector, rng: np.random.Generator) -> Gauge:
    """Draw `M = U diag(scales) Vᵀ` with uniform U and V, or with uniform directions W.

    A k×k matrix per gauge would take too long if k is large. So above 256 dimensions
    there are 256 scales, of uniform orthonormal directions W, and
    `M = I + W diag(scales - 1) Wᵀ`.

    Examples
    --------
    >>> draw = np.random.default_rng(0)
    >>> gauge = random_linear(300, sample_spectrum(WIDE, 2.0, draw), draw)
    >>> gauge, round(float(np.linalg.cond(gauge.matrix("left"))), 9)
    (Gauge(rank 300, condition number 2), 2.0)
    """
    if rank > WIDE:
        return Gauge(scales, 1 / scales, basis=random_basis(rank, rng))
    u, v = random_rotation(rank, rng), random_rotation(rank, rng)
    return Gauge.from_svd(u, scales, v)
