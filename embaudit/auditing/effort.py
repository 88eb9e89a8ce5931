"""How many samples an audit takes: random models, pairs, lists, and the steps of attacks."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import ceil

from embaudit.foundation.checked import MOST_COUNT, as_count
from embaudit.movements.movement import QUERIES

MOST = {"n_gauges": 10_000, "n_pairs": MOST_COUNT, "n_lists": 100_000, "n_starts": 1_000, "n_steps": 10_000}
"""More would take long, or all memory, and say nothing more."""


@dataclass(frozen=True)
class Effort:
    """Numbers of what is drawn and tried; fewer cost less, and every figure says of how many it is.

    Examples
    --------
    >>> Effort().cut(0.25)
    Effort(n_gauges=2, n_pairs=25000, n_lists=100, n_starts=1, n_steps=5)
    """

    n_gauges: int = 8
    """Random draws from each group."""
    n_pairs: int = 100_000
    """Pairs, where there are too many to visit all."""
    n_lists: int = QUERIES
    """Rows of a side whose neighbours are compared."""
    n_starts: int = 3
    """Starting points of each attack."""
    n_steps: int = 20
    """Gradient steps from each."""

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            as_count(value, name, least=0 if name == "n_steps" else 1, most=MOST[name])

    def cut(self, share: float) -> Effort:
        """Take a share of each number, never below `LEAST`, nor below a number that is there already."""
        fewest = asdict(LEAST)
        return Effort(**{name: min(n, max(fewest[name], ceil(share * n))) for name, n in asdict(self).items()})

    def less_than(self, other: Effort) -> dict[str, tuple[int, int]]:
        """Tell which numbers are smaller than in another: those there, and those here."""
        pairs = {name: (there, getattr(self, name)) for name, there in asdict(other).items()}
        return {name: (there, here) for name, (there, here) in pairs.items() if here < there}


EFFORT = Effort()
"""What an audit takes where nobody asks for more or less."""
LEAST = Effort(1, 10_000, 50, 1, 2)
"""What an audit still says something by."""
