"""The size of an effect from which findings report it."""

from __future__ import annotations

from embaudit.core.ties import exceeds, reaches
from embaudit.movements import Movement

MOVES = 0.05
"""Mean |Δcos| from which cosines count as moving noticeably."""
CHANGED = 0.05
"""Share of changed neighbours from which lists count as changing noticeably."""
HANDFUL = 5
"""Number of changed lists up to which a share says little: one label of ten is 10 %."""


def is_effect(share: float, n_lists: int) -> bool:
    """Check that changed lists are many: 5 % of them, and more than a handful.

    Examples
    --------
    >>> is_effect(0.1, 10), is_effect(0.1, 100), is_effect(0.01, 1000)
    (False, True, False)
    >>> is_effect(float("nan"), 0)
    False
    """
    return reaches(share, CHANGED) and exceeds(share * n_lists, HANDFUL)


def changes_lists(movement: Movement) -> bool:
    """Check that a movement of cosines changes many neighbour lists noticeably."""
    changed = 1 - movement.top_n_overlap
    return bool(movement.top_n) and is_effect(changed, movement.n_lists)
