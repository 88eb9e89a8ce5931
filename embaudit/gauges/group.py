"""Gauge groups: sets of gauges, described by constraints on M and two budgets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from embaudit.core.checked import RNG, as_count, require_one_of
from embaudit.core.tolerances import EPS
from embaudit.errors import must_be
from embaudit.gauges.budgets import covers_budget, is_within_budget, require_budget
from embaudit.gauges.constraint import IDENTITY, ORTHOGONAL, Constraint
from embaudit.gauges.gauge import MOST_RANK, Gauge
from embaudit.model import FactorModel, SideName
from embaudit.model.equivalence import Equivalence


class GaugeGroup(ABC):
    """A set of gauges of one rank: a group, or the part of a group within a budget.

    A set is described by five fields: the rank, the constraints on M, a budget for the
    condition number of M, the side that is shifted, and a budget for the length of the
    shift. A budget of None means that there is no bound. The set consists of *all*
    gauges that meet these fields, so `contains`, `<=` and all properties follow from
    the fields.

    `a <= b` means that every gauge of a belongs to b. It compares the fields: each
    constraint of b must be a constraint of a, too, and the budgets of a must not exceed
    the budgets of b. So a set with a constraint of its own lies only in the sets whose
    constraints it lists, and contains only sets that list this constraint.

    Notes
    -----
    A subclass is a frozen dataclass, and states:

    - `kind` and `title`, its names.
    - `constraints`, every property that all of its maps M have, even if it follows from
      another one: `Translation` lists that M is the identity and that M is orthogonal.
      If it contains only some of the maps that meet these properties, such as
      permutations, it needs a `Constraint` of its own.
    - `rank`, its first field.
    - `max_condition` and `max_shift`, a field if a user can choose the budget, else a
      class attribute: 1 for maps that cannot stretch, 0 for sets without shifts.
    - `side`, a field if the set shifts rows.
    - `most_condition`, if float64 limits the condition number.
    - `sample`, which draws a gauge. It must use up each budget, because the laws in
      `tests/contract.py` and the attacks compare the drawn gauges with the budgets.

    "Add a gauge" in `docs/contributing.md` lists the other places that a new set needs.

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
        """Level that every gauge of the set preserves in a model without biases."""
        return min(self._preserved_by_linear_part, self._preserved_by_shift)

    @property
    def _preserved_by_linear_part(self) -> Equivalence:
        """Level that every M preserves.

        M and M⁻¹ cancel in the scores, and a rotation also preserves cosines.
        """
        if self._is_orthogonal:
            return Equivalence.COSINES
        return Equivalence.SCORES

    @property
    def _preserved_by_shift(self) -> Equivalence:
        """Level that every shift preserves in a model without biases.

        A shift of right rows adds a number to a whole row of scores, which the softmax
        and the order within the row ignore. A shift of left rows adds a number to each
        column, which changes the order within rows.
        """
        if self.max_shift == 0:
            return Equivalence.COSINES
        if self.side == "right":
            return Equivalence.PROBABILITIES
        return Equivalence.NOTHING

    def preserves_in(self, model: FactorModel) -> Equivalence:
        """Return the level that every gauge preserves in this model."""
        return min(
            self._linear_part_preserves_in(model), self._shift_preserves_in(model)
        )

    def _linear_part_preserves_in(self, model: FactorModel) -> Equivalence:
        """Return the level that every M preserves in this model."""
        if self._is_orthogonal:
            return Equivalence.COSINES
        if model.link.needs_lengths:
            # The model divides one side by its lengths, so M must preserve lengths.
            return Equivalence.NOTHING
        if self.is_conformal:
            return Equivalence.COSINES
        return Equivalence.SCORES

    def _shift_preserves_in(self, model: FactorModel) -> Equivalence:
        """Return the level that every shift preserves in this model."""
        if self.max_shift == 0:
            return Equivalence.COSINES
        if model.link.needs_lengths and self.side in model.free_shifts:
            return Equivalence.COSINES
        other_bias = model.right_bias
        if self.side == "right":
            other_bias = model.left_bias
        if other_bias is not None:
            # The number that a shift adds to the scores is absorbed by this free bias.
            return Equivalence.SCORES
        return self._preserved_by_shift

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
        if self.max_condition is not None and not self.is_conformal:
            return False
        return self.max_shift in (None, 0)

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
        """Return True if M meets all constraints and the budget."""
        for constraint in self.constraints:
            if not constraint.is_met_by(gauge):
                return False
        return is_within_budget(gauge.condition_number, self.max_condition)

    def _contains_shift(self, gauge: Gauge) -> bool:
        """Return True if the shift is one of this side, within the budget.

        Its length is measured before M acts.
        """
        if self.max_shift == 0:
            return not gauge.shifts
        if any(side != self.side for side in gauge.shifts):
            return False
        # The shift before M is computed as M⁻¹ times the shift after M, or M times it.
        # The rounding error of this product grows with κ.
        rounding = 8 * EPS * gauge.condition_number
        length = float(np.linalg.norm(gauge.shift_before(self.side)))
        return is_within_budget(length * (1 - rounding), self.max_shift)

    def includes(self, other: GaugeGroup) -> bool:
        """Return True if every gauge of `other` belongs to the set."""
        if other.rank != self.rank:
            return False
        return self._includes_linear_part(other) and self._includes_shift(other)

    def _includes_linear_part(self, other: GaugeGroup) -> bool:
        """Return True if every M of `other` belongs to the set."""
        # Every set contains the identity.
        if IDENTITY in other.constraints:
            return True
        for constraint in self.constraints - other.constraints:
            # In one dimension every M is a multiple of the identity.
            if not (self.rank == 1 and constraint.allows_scale):
                return False
        if self.rank == 1:
            # The condition number of such a multiple is 1, whatever the budget.
            return True
        return covers_budget(self.max_condition, other.max_condition)

    def _includes_shift(self, other: GaugeGroup) -> bool:
        """Return True if every shift of `other` belongs to the set."""
        if other.max_shift == 0:
            return True
        if other.side != self.side:
            return False
        return covers_budget(self.max_shift, other.max_shift)

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
