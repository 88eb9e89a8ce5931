"""Shifts of all labels: the shortest for a pair, and nearest labels after a shift."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from embaudit.core.checked import Floats, Indices, Vector
from embaudit.core.parallel import parallel_map, row_blocks
from embaudit.core.plain import plain_dict
from embaudit.core.ties import largest_first
from embaudit.core.tolerances import TIE
from embaudit.heads.label_sample import LabelSample
from embaudit.linalg.mapped import shifted_rows
from embaudit.linalg.nearest import list_length, neighbours
from embaudit.linalg.pair_cosines import pair_cosines
from embaudit.linalg.pairs import draw_pairs, n_pairs
from embaudit.model import FactorModel
from embaudit.movements.neighbourhoods import (
    N_LISTED,
    NearestChanged,
    Neighbourhood,
    named_neighbourhoods,
)
from embaudit.movements.twins import representatives_of, twins, without_copies
from embaudit.ranges.translation import shifts_to_reach

TARGETS = (0.0, -1.0, 1.0)
"""Cosines to which pairs of labels are shifted."""
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Levels of the quantiles of the shortest shifts."""
N_SHOWN = 5
"""Number of examples: pairs with the shortest and longest shifts, and labels."""


@dataclass(frozen=True)
class PairShift:
    """One pair of labels and the shortest shift that gives it a target cosine."""

    names: tuple[str, str]
    """The two labels."""
    cosine: float
    """Cosine of the two labels as the head stands."""
    shift: float
    """Length of the shortest shift, in median row lengths."""


@dataclass(frozen=True)
class ShiftSummary:
    """Shortest shifts of many pairs to one target, in median row lengths.

    At a target of 0 or 1 some of them are infima: slightly longer shifts come as near
    to the target as desired.
    """

    target: float
    """The cosine to reach."""
    n_pairs: int
    """Pairs that some shift brings to the target."""
    n_fixed: int
    """Pairs that no shift brings to the target: equal rows keep cosine 1."""
    exact: bool
    """True if these are all pairs of labels."""
    quantiles: dict[float, float]
    """Quantiles of the shift."""
    within_one: float
    """Share of pairs for which a shift of one median row length suffices."""
    easiest: tuple[PairShift, ...]
    """Pairs with the shortest shifts."""
    hardest: tuple[PairShift, ...]
    """Pairs with the longest shifts."""


def panel_pairs(
    panel: LabelSample, size: int, rng: np.random.Generator
) -> tuple[Indices, bool]:
    """Return all pairs of the panel, or a sample of `size` of them.

    The flag is True if these are all pairs of the head.
    """
    count = len(panel.labels)
    is_all = n_pairs(count) <= size and not panel.is_sample
    return draw_pairs(count, size, rng=rng), is_all


def shift_summaries(
    panel: LabelSample, pairs: Indices, *, exact: bool
) -> tuple[ShiftSummary, ...]:
    """Summarise the shortest shifts of pairs of the panel for each target.

    In one dimension there are none, because cosines are signs.
    """
    rows = np.asarray(panel.model.right, dtype=np.float64)
    if rows.shape[1] < 2:
        return ()

    def shortest(block: slice) -> Floats:
        first, second = pairs[block].T
        return np.asarray(shifts_to_reach(rows[first], rows[second], TARGETS))

    blocks = row_blocks(len(pairs), 8 * rows.shape[1])
    parts = list(parallel_map(shortest, blocks, in_threads=True))
    shifts = np.concatenate(parts, axis=1) / panel.median_norm
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
    """Summarise the shortest shifts of all pairs to one target."""
    # No shift brings equal rows to another cosine than 1, so their shift is infinite.
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
    quantiles: dict[float, float] = {}
    within_one = 0.0
    if len(movable):
        quantiles = {level: float(np.quantile(reached, level)) for level in QUANTILES}
        within_one = float(np.mean(reached <= 1 + TIE))
    return ShiftSummary(
        target=target,
        n_pairs=len(movable),
        n_fixed=len(pairs) - len(movable),
        exact=exact,
        quantiles=quantiles,
        within_one=within_one,
        easiest=shown(easiest[:N_SHOWN]),
        hardest=shown(hardest[:N_SHOWN]),
    )


@dataclass(frozen=True)
class NeighbourChange:
    """Effect of a translation on the nearest labels."""

    n_rows: int
    """Labels whose neighbours were compared: one of each group of copies."""
    exact: bool
    """True if these were all labels with a direction."""
    top1_changed: float
    """Share of them whose nearest label changed; ties count as kept."""
    ci_low: float
    """Lower end of its 95 % interval (Wilson); the share itself if exact."""
    ci_high: float
    """Upper end."""
    top_n: int
    """N of the longer lists."""
    top_n_changed: float
    """Mean share of a label's N nearest labels that are no longer among them."""
    examples: tuple[Neighbourhood, ...]
    """A few labels with their neighbours before and after.

    Labels that lost most neighbours come first, and labels with twins last.
    """
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
    """Compare the `n` nearest labels of some rows before and after a shift.

    Duplicates change places by rounding alone, so one of each group stands for all of
    them, both among the rows and in the lists.

    Examples
    --------
    >>> rows = [[9.0, 1.0], [9.0, -1.0], [11.0, 1.2], [11.0, -0.8]]
    >>> head = FactorModel.from_softmax(rows)
    >>> shift = -head.right.mean(axis=0)
    >>> neighbour_change(head, np.arange(4), shift, n=1, exact=True).top1_changed
    1.0
    """
    copies, first = twins(model), representatives_of(model, "right")
    labels = without_copies(rows, first)
    n = list_length(n, len(without_copies(model.right_side.directed, first)))
    if n < 1:
        # All labels are copies of one, so there are no lists.
        return NeighbourChange(
            n_rows=len(labels),
            exact=exact,
            top1_changed=np.nan,
            ci_low=np.nan,
            ci_high=np.nan,
            top_n=0,
            top_n_changed=np.nan,
            examples=(),
            compared=tuple(labels.tolist()),
        )
    before = neighbours(model.right, n, rows=labels, first=first)
    shifted = shifted_rows(model.right, shift)
    after = neighbours(shifted, n, rows=labels, first=first)
    nearest = NearestChanged.from_lists(before, after, exact=exact)
    lost = np.count_nonzero((before.indices >= 0) & ~before.kept_in(after), axis=1)
    nearest_lost = ~before.first(1).kept_in(after.first(1))[:, 0]
    # Labels without duplicates come first, then labels by the neighbours that they
    # lost; a lost nearest neighbour counts twice.
    order = np.lexsort((-lost - nearest_lost, ~copies.alone[labels]))
    shown = order[:N_SHOWN]
    examples = named_neighbourhoods(
        model.names("right"),
        before.take(shown),
        after.take(shown),
        first=copies.first,
        most=N_LISTED,
    )
    return NeighbourChange(
        n_rows=len(labels),
        exact=exact,
        top1_changed=nearest.share,
        ci_low=nearest.ci_low,
        ci_high=nearest.ci_high,
        top_n=n,
        top_n_changed=1 - before.overlap(after),
        examples=examples,
        compared=tuple(labels.tolist()),
    )
