"""Sample sizes of an audit: random models, pairs, lists, and the steps of attacks."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from embaudit.core.checked import MOST_COUNT, as_count
from embaudit.core.words import counted
from embaudit.movements.movement import QUERIES

MAX_SIZES = {"n_gauges": 10_000, "n_pairs": MOST_COUNT, "n_lists": 100_000, "n_starts": 1_000, "n_steps": 10_000}
"""Largest sample sizes: more would take long, or all memory, and tell nothing more."""


@dataclass(frozen=True)
class Effort:
    """Numbers of what is drawn and tried; fewer cost less, and every figure says of how many it is.

    Examples
    --------
    >>> print(Effort())
    8 models a group, 100,000 pairs, 400 lists, attacks of 3 × 20 steps
    """

    n_gauges: int = 8
    """Random draws from each group."""
    n_pairs: int = 100_000
    """Pairs drawn without replacement; all where there are no more."""
    n_lists: int = QUERIES
    """Rows of a side whose neighbours are compared."""
    n_starts: int = 3
    """Starting points of each attack."""
    n_steps: int = 20
    """Gradient steps from each."""

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            as_count(value, name, least=0 if name == "n_steps" else 1, most=MAX_SIZES[name])

    def __str__(self) -> str:
        samples = counted(self.n_gauges, "model"), counted(self.n_pairs, "pair"), counted(self.n_lists, "list")
        attacks = f"attacks of {self.n_starts:,} × {counted(self.n_steps, 'step')}"
        return "{} a group, {}, {}, {}".format(*samples, attacks)


EFFORT = Effort()
"""Sample sizes of an audit."""
QUICK = Effort(2, 20_000, 100, 1, 5)
"""Sample sizes of a quick audit: a share near 0.43 has a 95 % interval of ± 0.7 points from 20,000 pairs, and a mean
overlap of 100 lists of 10 one of some ± 6 points; two draws of each group show whether cosines move."""


def effort_of(*, quick: bool, **sizes: int | None) -> Effort:
    """Return the sample sizes of an audit; those that are given go before the usual ones.

    Examples
    --------
    >>> effort_of(quick=True, n_gauges=None, n_pairs=500)
    Effort(n_gauges=2, n_pairs=500, n_lists=100, n_starts=1, n_steps=5)
    """
    usual = asdict(QUICK if quick else EFFORT)
    return Effort(**usual | {name: size for name, size in sizes.items() if size is not None})
