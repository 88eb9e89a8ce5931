"""Shifts of all labels: the shortest one that brings a pair to a cosine, and nearest labels before and after one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from embaudit.core.checked import Floats, Indices, Vector
from embaudit.core.parallel import parallel_map, row_blocks
from embaudit.core.plain import plain_dict
from embaudit.core.ties import TIE, largest_first
from embaudit.heads.label_sample import LabelSample
from embaudit.linalg.mapped import shifted_rows
from embaudit.linalg.nearest import list_length, neighbours
from embaudit.linalg.pairs import draw_pairs, n_pairs, pair_cosines
from embaudit.linalg.transformed_rows import Rows
from embaudit.model import FactorModel
from embaudit.movements.neighbourhoods import (
    LISTED,
    NearestChanged,
    Neighbourhood,
    by_name,
)
from embaudit.movements.twins import once, standing_rows, twins
from embaudit.ranges.translation import shifts_to_reach

TARGETS = (0.0, -1.0, 1.0)
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
N_SHOWN = 5


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


def panel_pairs(
    panel: LabelSample, size: int, rng: np.random.Generator
) -> tuple[Indices, bool]:
    """All pairs of the panel, or `size` drawn ones, and whether they are all pairs of the head."""
    count = len(panel.labels)
    return draw_pairs(count, size, rng=rng), n_pairs(
        count
    ) <= size and not panel.is_sample


def shift_summaries(
    panel: LabelSample, pairs: Indices, *, exact: bool
) -> tuple[ShiftSummary, ...]:
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
    panel: LabelSample,
    pairs: Indices,
    cosines: Floats,
    shifts: Floats,
    target: float,
    *,
    exact: bool,
) -> ShiftSummary:
    """Summarise the shortest shifts of all pairs to one target, with the easiest and the hardest pairs."""
    # Equal rows need an infinite shift for anything but a cosine of 1: counted apart, in no quantile.
    movable = np.flatnonzero(np.isfinite(shifts))
    easiest = movable[largest_first(-shifts[movable])]
    hardest = movable[largest_first(shifts[movable])]
    names = panel.model.names("right").astype(str)

    def shown(which: Indices) -> tuple[PairShift, ...]:
        return tuple(
            PairShift((str(names[i]), str(names[j])), float(cosine), float(shift))
            for (i, j), cosine, shift in zip(
                pairs[which], cosines[which], shifts[which], strict=True
            )
        )

    reached = shifts[movable]
    return ShiftSummary(
        target=target,
        n_pairs=len(movable),
        n_fixed=len(pairs) - len(movable),
        exact=exact,
        quantiles={level: float(np.quantile(reached, level)) for level in QUANTILES}
        if len(movable)
        else {},
        within_one=float(np.mean(reached <= 1 + TIE)) if len(movable) else 0.0,
        easiest=shown(easiest[:N_SHOWN]),
        hardest=shown(hardest[:N_SHOWN]),
    )


@dataclass(frozen=True)
class NeighbourChange:
    """Effect of a translation on the nearest labels."""

    n_rows: int
    """Labels whose neighbours were compared, among all labels: one of each group of copies, as in the lists."""
    exact: bool
    """True if these were all labels with a direction."""
    top1_changed: float
    """Share whose nearest label became another one; ties count as kept."""
    ci_low: float
    """Lower end of its 95 % interval (Wilson); the share itself where exact."""
    ci_high: float
    """Upper end."""
    top_n: int
    """N of the longer lists."""
    top_n_changed: float
    """Mean share of a label's N nearest that are no longer among them."""
    examples: tuple[Neighbourhood, ...]
    """A few labels with their neighbours before and after, those that changed most first; twins come last."""
    compared: tuple[int, ...] = field(default=(), repr=False)
    """The labels whose neighbours were compared."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; None stands for an undefined number."""
        return plain_dict(
            {
                "n_rows": self.n_rows,
                "exact": self.exact,
                "top1_changed": self.top1_changed,
                "ci_low": self.ci_low,
                "ci_high": self.ci_high,
                "top_n": self.top_n,
                "top_n_changed": self.top_n_changed,
                "examples": self.examples,
            }
        )


def neighbour_change(
    model: FactorModel, rows: Indices, shift: Vector, *, n: int | None, exact: bool
) -> NeighbourChange:
    """Compare the `n` nearest labels of some rows before and after a translation of all labels.

    Examples
    --------
    >>> head = FactorModel.from_softmax([[9.0, 1.0], [9.0, -1.0], [11.0, 1.2], [11.0, -0.8]])
    >>> change = neighbour_change(head, np.arange(4), -head.right.mean(axis=0), n=1, exact=True)
    >>> change.top1_changed
    1.0
    >>> neighbour_change(FactorModel.from_softmax([[9.0, 1.0], [0.0, 0.0]]), np.array([0]), np.ones(2), n=1, exact=True)
    NeighbourChange(n_rows=1, exact=True, top1_changed=nan, ..., top_n=0, top_n_changed=nan, examples=())
    """
    # Duplicates change places by rounding alone: one of each group stands for all, in rows asked and in lists.
    copies, first = twins(model), standing_rows(model, "right")
    labels = once(rows, first)
    n = list_length(n, len(once(model.right_side.directed, first)))
    if n < 1:  # all labels are copies of one
        nothing = float("nan")
        return NeighbourChange(
            len(labels),
            exact,
            nothing,
            nothing,
            nothing,
            0,
            nothing,
            (),
            tuple(labels.tolist()),
        )
    versions: tuple[Rows, ...] = (model.right, shifted_rows(model.right, shift))
    before, after = (neighbours(x, n, rows=labels, first=first) for x in versions)
    nearest, changed = (
        NearestChanged.of(before, after, exact=exact),
        1 - before.overlap(after),
    )
    lost = np.count_nonzero((before.indices >= 0) & ~before.kept_in(after), axis=1)
    other = ~before.first(1).kept_in(after.first(1))[:, 0]
    # Examples: labels without duplicates first, then by neighbours lost; a changed nearest one counts once more.
    most = np.lexsort((-lost - other, ~copies.alone[labels]))[:N_SHOWN]
    shown = (lists.of(most) for lists in (before, after))
    examples = by_name(model.names("right"), *shown, first=copies.first, most=LISTED)
    compared = tuple(labels.tolist())
    return NeighbourChange(
        len(labels),
        exact,
        nearest.share,
        nearest.ci_low,
        nearest.ci_high,
        n,
        changed,
        examples,
        compared,
    )
