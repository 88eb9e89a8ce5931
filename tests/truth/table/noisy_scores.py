"""Models with small errors of their scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from truth.table.case import (
    BOTH_FREE,
    CONVENTION,
    UNDECLARED,
    Case,
    two_sides,
)
from truth.table.rows import orthonormal

from embaudit.model import FactorModel

if TYPE_CHECKING:
    from collections.abc import Iterator


def cases() -> Iterator[Case]:
    """Yield neighbours with a large lead, and neighbours with a small lead."""
    # At a tolerance of 0.1, a neighbour is certain if its angle is at least 0.401
    # radians smaller than the angle of the next row. Standard errors are about 0.002.
    off = {"n_neighbours": 1, "tolerance": 0.1, "noise": 0.01}
    yield Case(
        "scores a little off, neighbours far ahead",
        items_at_angles([0.0, 0.05, 1.0, 1.06, 2.0, 2.07]),
        truth=BOTH_FREE,
        findings=UNDECLARED,
        says=(
            "100 % of the 1 nearest are certain to stay",
            "100 % of the 1 nearest are stable",
        ),
        options=off,
        answer=CONVENTION,
    )
    # The angles to the next and to the previous item differ by 1e-4 radians.
    steps = 0.2 + 1e-4 * np.arange(8)
    yield Case(
        "scores a little off, neighbours hardly ahead",
        items_at_angles([0.0, *np.cumsum(steps[:7])]),
        truth=BOTH_FREE,
        findings=UNDECLARED,
        says=("0 % of the 1 nearest are certain to stay",),
        never=("100 % of the 1 nearest are stable",),
        options=off,
        answer=CONVENTION,
    )


def items_at_angles(angles: list[float]) -> FactorModel:
    """Return items on a circle, with users whose columns are orthonormal.

    Then the prediction cosines of the items are the cosines of their rows.
    """
    items = np.column_stack([np.cos(angles), np.sin(angles)])
    return two_sides(3 * orthonormal(6, 2), 2 * items, link="identity")
