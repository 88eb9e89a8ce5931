"""Shortest common shift of all labels that brings the cosine of a pair to 0, to −1 and to 1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from embaudit.core.checked import Floats, Indices
from embaudit.core.parallel import parallel_map, row_blocks
from embaudit.linalg.pairs import draw_pairs, n_pairs, pair_cosines
from embaudit.ranges.translation import shifts_to_reach
from embaudit.softmax.label_sample import LabelSample

TARGETS = (0.0, -1.0, 1.0)
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
SHOWN = 5


@dataclass(frozen=True)
class PairShift:
    """One pair of labels and the shift it needs."""

    names: tuple[str, str]
    """The two labels."""
    cosine: float
    """Cosine of the two labels as the head stands."""
    shift: float
    """Length of the shortest shift, in median row lengths."""


@dataclass(frozen=True)
class ShiftSummary:
    """Shortest shifts of many pairs to one target, in median row lengths.

    At a target of 0 or 1 some are infima: a slightly longer shift comes as near as one likes.
    """

    target: float
    """The cosine to reach."""
    n_pairs: int
    """Pairs asked about that some shift brings there."""
    n_fixed: int
    """Pairs that no shift brings there: equal rows keep cosine 1."""
    exact: bool
    """True if these were all pairs of labels."""
    quantiles: dict[float, float]
    """Quantiles of the shift."""
    within_one: float
    """Share of pairs that a shift of one median row length suffices for."""
    easiest: tuple[PairShift, ...]
    """Pairs with the shortest shifts."""
    hardest: tuple[PairShift, ...]
    """Pairs with the longest."""


def panel_pairs(panel: LabelSample, size: int, rng: np.random.Generator) -> tuple[Indices, bool]:
    """All pairs of the panel, or `size` drawn ones, and whether they are all pairs of the head."""
    count = len(panel.labels)
    return draw_pairs(count, size, rng=rng), n_pairs(count) <= size and not panel.is_sample


def shift_summaries(panel: LabelSample, pairs: Indices, *, exact: bool) -> tuple[ShiftSummary, ...]:
    """Summarise the shifts of pairs of the panel for each target; in one dimension cosines are signs, so none."""
    rows = np.asarray(panel.model.right, dtype=np.float64)
    if rows.shape[1] < 2:
        return ()
    shifts = np.empty((len(TARGETS), len(pairs)))

    def fill(block: slice) -> None:
        a, b = (rows[pairs[block, side]] for side in (0, 1))
        shifts[:, block] = shifts_to_reach(a, b, TARGETS) / panel.median_norm

    list(parallel_map(fill, row_blocks(len(pairs), 8 * rows.shape[1]), in_threads=True))
    cosines = pair_cosines(rows, rows, pairs)
    return tuple(
        _summary(panel, pairs, cosines, lengths, target, exact=exact)
        for target, lengths in zip(TARGETS, shifts, strict=True)
    )


def _summary(
    panel: LabelSample, pairs: Indices, cosines: Floats, shifts: Floats, target: float, *, exact: bool
) -> ShiftSummary:
    """Summarise the shortest shifts of all pairs to one target, with the easiest and the hardest pairs."""
    # Equal rows need an infinite shift for anything but a cosine of 1: counted apart, in no quantile.
    movable = np.flatnonzero(np.isfinite(shifts))
    order = movable[np.argsort(shifts[movable], kind="stable")]
    names = panel.model.names("right").astype(str)

    def shown(which: Indices) -> tuple[PairShift, ...]:
        return tuple(
            PairShift((str(names[i]), str(names[j])), float(cosine), float(shift))
            for (i, j), cosine, shift in zip(pairs[which], cosines[which], shifts[which], strict=True)
        )

    reached = shifts[movable]
    return ShiftSummary(
        target=target,
        n_pairs=len(movable),
        n_fixed=len(pairs) - len(movable),
        exact=exact,
        quantiles={level: float(np.quantile(reached, level)) for level in QUANTILES} if len(movable) else {},
        within_one=float(np.mean(reached <= 1)) if len(movable) else 0.0,
        easiest=shown(order[:SHOWN]),
        hardest=shown(order[::-1][:SHOWN]),
    )
