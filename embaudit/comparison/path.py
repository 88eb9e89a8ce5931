"""Rows of a half on the way from one model to the other, and their cosines at each step.

Only pairs within a half are looked at, by the gauge that was fitted on the other half.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from embaudit.comparison.folds import Fold
from embaudit.comparison.seen import Pairing
from embaudit.foundation.checked import Floats, Indices
from embaudit.kernels.pairs import pair_cosines
from embaudit.model import SideName

PARTNERS = 32
"""Other rows each row is compared with."""


@dataclass(frozen=True, eq=False)
class Path:
    """Rows of a half on the way from the first model to the second, each step for one reason."""

    rows: Indices
    """Their positions in the match."""
    versions: tuple[Floats, ...]
    """As they are, as far as predictions see them, gauged, the second model's as far as seen, and as they are."""
    reasons: tuple[str, ...]
    """Why rows move from each version to the next."""

    @property
    def hides(self) -> bool:
        """Whether a model has dimensions that no prediction sees."""
        old, old_seen, _, new_seen, new = self.versions
        return old_seen is not old or new_seen is not new

    @property
    def end(self) -> int:
        """Which version the gauge should lead to."""
        return 3 if self.reasons[1] == "gauge" else 1

    def changes(self, pairs: Indices) -> tuple[Floats, ...]:
        """Compute cosines before, after, gauged and where the gauge should lead, and as far as seen, of each pair."""
        cosines = {key: pair_cosines(x, x, pairs) for key, x in {id(x): x for x in self.versions}.items()}
        found = [cosines[id(x)] for x in self.versions]
        return found[0], found[4], found[2], found[self.end], found[3] - found[1]


def path_of(role: SideName, found: Pairing, fold: Fold) -> Path:
    """Follow the rows of one side that a fold judges."""
    rows = fold.held_out[role]
    raw = [x[rows] for x in found.raw[role]]
    # What predictions see in full is the same array, so that no step is taken, and searched, in vain.
    old_seen, new_seen = (
        cut if seen is whole else seen[rows]
        for cut, seen, whole in zip(raw, found.seen[role], found.raw[role], strict=True)
    )
    gauged = fold.gauge.apply(role, found.fitted[role][0][rows])
    steps = ("gauge", "learning") if found.forward else ("learning", "gauge")
    return Path(rows, (raw[0], old_seen, gauged, new_seen, raw[1]), ("unseen", *steps, "unseen"))


def draw_pairs(n_rows: int, rng: np.random.Generator) -> Indices:
    """Pair every row of a half with others of it."""
    count = min(PARTNERS, n_rows - 1)
    steps = 1 + np.argsort(rng.random(n_rows - 1))[:count]
    order = rng.permutation(n_rows)
    partners = order[np.add.outer(steps, np.arange(n_rows)) % n_rows]
    return np.column_stack([np.tile(order, count), partners.ravel()])


def mean_size(change: Floats) -> float:
    """Average how large changes are, where they are defined; 0 where none is."""
    known = np.abs(change[np.isfinite(change)])
    return float(known.mean()) if len(known) else 0.0
