"""Constraints on the linear part M of a gauge, which describe sets of gauges."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from embaudit.gauges.gauge import Gauge
from embaudit.model.objectives import Linear


@dataclass(frozen=True, eq=False)
class Constraint:
    """A property that every M of a set has.

    The maps with the property must be a group: products and inverses of such maps have
    the property, and so has the identity. `GaugeGroup` relies on it.

    Two constraints are equal only if they are the same object, because functions cannot
    be compared. So a constraint is a constant that all groups with the property import.

    Examples
    --------
    >>> from embaudit.gauges import Diagonal
    >>> Diagonal.constraints
    frozenset({Constraint(diagonal)})
    """

    name: str
    """Adjective or noun that describes M."""
    is_met_by: Callable[[Gauge], bool]
    """Function that returns True if M of a gauge has the property, within rounding.

    Products of gauges are not exact, so the function must allow for an error relative
    to the largest entry of M.
    """
    allows_scale: bool = False
    """True if every multiple of the identity has the property.

    In one dimension every M is such a multiple, so every M has the property there.
    """

    def __repr__(self) -> str:
        return f"Constraint({self.name})"


# `GaugeGroup` itself uses these two. Another constraint stands in the module of the
# group that introduces it.
IDENTITY = Constraint("identity", lambda gauge: gauge.linear_kind is Linear.IDENTITY)
"""M changes nothing. Every set of gauges contains this map."""
ORTHOGONAL = Constraint(
    "orthogonal", lambda gauge: gauge.linear_kind <= Linear.ROTATION
)
"""M keeps the length of every row."""
