"""How much work the evidence of a softmax head is, counted like that of an audit.

The factors come from measurements of its parts on heads of 500 to 50,000 labels in 64 to 1,024 dimensions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from embaudit.auditing.heads import ARGMAX_LABELS, asked_for_neighbours, head_sizes, most_pairs
from embaudit.model import Equivalence
from embaudit.movements.movement import share_of

if TYPE_CHECKING:
    from embaudit.auditing.effort import Effort
    from embaudit.model import FactorModel

TABLED = 45
"""Cosines among the labels of a panel that are compared in the time of one drawn pair."""
PLACED = 0.7
"""Cosines that take as long as a number of a row of the panel."""
SHORTEST = 60
"""Dimensions in which the shortest shifts of a pair take a cosine longer."""
LED = 30
"""Labels among which one is asked whether it leads in the time of a cosine."""
SURVEYED = 25
"""Numbers of the rows of all labels that are looked at in the time of a cosine."""


def head_work(head: FactorModel, effort: Effort) -> tuple[float, float]:
    """Count products, and cosines that take as long as the rest.

    Examples
    --------
    >>> import numpy as np
    >>> from embaudit.auditing.effort import EFFORT, LEAST
    >>> from embaudit.model import FactorModel
    >>> head = FactorModel.from_softmax(np.random.default_rng(0).normal(size=(3_000, 4)))
    >>> few, many = (head_work(head, effort) for effort in (LEAST, EFFORT))
    >>> few[0] < many[0], few[1] < many[1]
    (True, True)
    """
    n, k = head.n_right, head.rank
    sizes = head_sizes(k, effort)
    panel = min(n, sizes["n_labels"])
    asked = min(panel, asked_for_neighbours(n, k, effort.n_lists))
    pairs = min(panel**2 / 2, most_pairs(k, sizes["n_pairs"]))
    led = min(n, share_of(ARGMAX_LABELS, effort.n_lists))
    visits = 1 + sizes["n_gauges"] * _kinds(head)
    cosines = visits * panel**2 / TABLED + PLACED * panel * k + pairs * (1 + k / SHORTEST) + led * n / LED
    # Two searches, of products in single precision that take half as long.
    return float(asked * n * k), cosines + n * k / SURVEYED


def _kinds(head: FactorModel) -> int:
    """Count the kinds of random heads."""
    if head.predicts is Equivalence.COSINES:
        return 0
    return 3 if "right" in head.free_shifts else 1
