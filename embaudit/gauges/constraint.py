"""Constraints on the linear part M of a gauge, which describe sets of gauges."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from embaudit.gauges.gauge import Gauge
from embaudit.model.objectives import Linear


@dataclass(frozen=True, eq=False)
class Constraint:
    """A property that every M of a set has.

    Products and inverses of maps with the property must have it, too, and the identity
    must have it. Two constraints are equal only if they are the same object.

    Examples
    --------
    >>> from embaudit.gauges import Diagonal
    >>> Diagonal.constraints
    frozenset({Constraint(diagonal)})
    """

    name: str
    is_met_by: Callable[[Gauge], bool]
    """Return True if M has the property, within rounding.

    Products of gauges are not exact, so a comparison with 0 must allow for rounding.
    """
    allows_scale: bool = False
    """True if every multiple of the identity has the property.

    In one dimension, where every M is such a multiple, it then holds for every M.
    """

    def __repr__(self) -> str:
        return f"Constraint({self.name})"


IDENTITY = Constraint("identity", lambda gauge: gauge.linear_kind is Linear.IDENTITY)
"""M changes nothing. Every set of gauges contains this map."""
ORTHOGONAL = Constraint(
    "orthogonal", lambda gauge: gauge.linear_kind <= Linear.ROTATION
)
"""M keeps the length of every row."""
