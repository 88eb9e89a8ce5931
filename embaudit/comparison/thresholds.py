"""Thresholds on a cosine that carry over from one model to another, and vectors that changed places between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import Floats
from embaudit.core.ties import TIE
from embaudit.linalg.intervals import jackknife_margin
from embaudit.linalg.pairs import draw_pairs, pair_cosines

COSINES = tuple(i / 20 for i in range(10, 20))
"""Thresholds in the first model, .5 to .95."""
PAIRS = 200_000
"""Pairs whose cosines are compared; all of them where there are no more."""
MIN_PAIRS = 20
"""Pairs that must lie above a threshold, and below it, for its share to mean anything."""


@dataclass(frozen=True)
class CarriedThreshold:
    """A cosine in the first model, and the one that as many pairs exceed in the second."""

    before: float
    """The threshold in the first model."""
    share: float
    """Share of the pairs that lie above it there."""
    after: float
    """The cosine above which the same share of the pairs lies in the second model."""
    low: float
    """Lower end of its 95 % interval, over other entities too."""
    high: float
    """Upper end."""

    def __str__(self) -> str:
        interval = (
            ""
            if f"{self.low:.2f}" == f"{self.high:.2f}"
            else f" ({self.low:.2f} to {self.high:.2f})"
        )
        return f"{self.before:.2f} before corresponds to {self.after:.2f}{interval} now"


def thresholds(
    before: Floats, after: Floats, groups: NDArray[np.integer], rng: np.random.Generator
) -> tuple[CarriedThreshold, ...]:
    """Find the cosine in the second model that as large a share of the pairs exceeds as a threshold in the first.

    Parameters
    ----------
    before, after : array of shape (m, k)
        Rows of the same entities in either model.
    groups : array of int (m,)
        The group of each entity; groups are left out in turn for the intervals, since pairs share entities.
    rng : numpy Generator
        Draws the pairs, without replacement.

    Returns
    -------
    tuple of CarriedThreshold
        For .5 to .95 in steps of .05, where at least 20 pairs lie above and 20 below, and some cosine
        parts as many of the second model's pairs.

    Examples
    --------
    >>> x = np.random.default_rng(0).standard_normal((600, 3))
    >>> same = thresholds(x, x, np.arange(600) % 20, np.random.default_rng(0))
    >>> str(same[6]), all(abs(one.after - one.before) < 0.01 for one in same)
    ('0.80 before corresponds to 0.80 now', True)
    """
    pairs = draw_pairs(len(before), PAIRS, rng=rng)
    old, new = pair_cosines(before, before, pairs), pair_cosines(after, after, pairs)
    # In rising order of the second model's cosines, so that those of a part of the pairs are in order, too.
    order = np.argsort(new)
    order = order[np.isfinite(old[order] + new[order])]
    old, new, (first, second) = old[order], new[order], groups[pairs[order].T]
    # A pair is left out with either of its entities.
    samples = [
        slice(None),
        *((first != label) & (second != label) for label in np.unique(groups)),
    ]
    both = ((old[rest], new[rest]) for rest in samples)
    after_cosines, *replicates = (
        [_exceeded(*cosines, c) for c in COSINES] for cosines in both
    )
    margins = jackknife_margin(np.array(replicates)).tolist()
    carried = []
    for cosine, after_cosine, margin in zip(
        COSINES, after_cosines, margins, strict=True
    ):
        count = int((old >= cosine - TIE).sum())
        # A tie in a sample would leave an interval from -1 to 1, which tells nobody anything.
        if (
            min(count, len(old) - count) >= MIN_PAIRS
            and np.isfinite([after_cosine, margin]).all()
        ):
            low, high = (
                max(-1.0, after_cosine - margin),
                min(1.0, after_cosine + margin),
            )
            carried.append(
                CarriedThreshold(cosine, count / len(old), after_cosine, low, high)
            )
    return tuple(carried)


def _exceeded(old: Floats, ranked: Floats, cosine: float) -> float:
    """Return the cosine that as many of the second model's pairs reach as reach a threshold in the first.

    NaN where none does: pairs of one cosine, as duplicates have, cannot be parted.
    """
    # Half way between the last pair above and the first below: no pair of the sample itself is the threshold.
    count = np.count_nonzero(old >= cosine - TIE)
    if not 0 < count < len(ranked):
        return float("nan")
    below, above = ranked[len(ranked) - count - 1 :][:2]
    return float(above + below) / 2 if above - below > TIE else float("nan")


def n_displaced(before: Floats, after: Floats) -> int:
    """Count the entities whose vector in the second model is that of another entity in the first.

    Only vectors that no two entities share count, so that duplicates that stay as they are do not.

    Examples
    --------
    >>> x = np.arange(12.0).reshape(4, 3)
    >>> n_displaced(x, x), n_displaced(x, x[[1, 0, 2, 3]]), n_displaced(x, 2 * x)
    (0, 2, 0)
    """
    if before.shape[1] != after.shape[1]:
        return 0
    # Equal vectors of both models get one number; a count of 2 with an owner is one entity in each model.
    _, place, counts = np.unique(
        np.vstack([before, after]), axis=0, return_inverse=True, return_counts=True
    )
    first, second = np.split(place.ravel(), [len(before)])
    owners = np.full(len(counts), -1)
    owners[first] = np.arange(len(first))
    alone = (counts[second] == 2) & (owners[second] >= 0)
    return int((alone & (owners[second] != np.arange(len(second)))).sum())
