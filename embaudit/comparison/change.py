"""Change of the cosines of one side between two models, and the part of a gauge in it.

Rows are followed from the first model to the second in steps: as stored, the part that
predictions see, the gauged part, the seen part of the second model, and its stored
rows. Pairs within a half, and the neighbours of its rows among all rows, are judged by
the gauge that was fitted to the other half. The change of cosines and the change of
lists have the same parts: the part of the gauge is what the gauge takes away, so a
gauge that moves cosines or lists without bringing them nearer explains nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from embaudit.comparison.fits import CrossFitHalf
from embaudit.comparison.kept_neighbours import kept_fractions
from embaudit.comparison.matching import Match, Pairing
from embaudit.comparison.thresholds import CarriedThreshold, n_displaced, thresholds
from embaudit.comparison.weights import RowWeights
from embaudit.core.checked import Floats, Indices
from embaudit.core.ties import largest_first
from embaudit.core.tolerances import FLOAT32_TIE
from embaudit.linalg.intervals import (
    draw_groups,
    jackknife_margin,
    leave_out_means,
    standard_error,
)
from embaudit.linalg.nearest import NeighbourLists, list_length, neighbours
from embaudit.linalg.pair_cosines import pair_cosines
from embaudit.linalg.pairs import all_pairs, n_pairs
from embaudit.linalg.rows import sample_rows
from embaudit.model import SideName
from embaudit.movements.neighbourhoods import Neighbourhood, named_neighbourhoods
from embaudit.movements.twins import without_copies

if TYPE_CHECKING:
    import pandas as pd

PARTS = ("total", "gauge", "unseen", "remainder")
"""The mean change of a cosine, and its parts."""
OUTCOMES = ("kept", "lost_to_gauge", "lost_to_unseen", "lost_to_learning")
"""Outcomes of a former neighbour: it stays, or is lost for one of the reasons."""
N_EXAMPLES = 2
"""Number of entities that moved most, and of entities in the middle, whose neighbours
are shown."""
PARTNERS = 32
"""Number of pairs per row, if there are that many."""
SEARCHED = 2_000
"""Number of rows whose neighbours are searched."""
COUNT_DECIMALS = 9
"""Decimals of counts of lost neighbours, which are fractions if lists are crowded."""


@dataclass(frozen=True, eq=False)
class AttributionSteps:
    """Rows of a half on the way from the first model to the second.

    Each step changes the rows for one reason.
    """

    rows: Indices
    """Positions in the match of the half that is judged: its pairs, and its neighbours
    among all rows."""
    versions: tuple[Floats, ...]
    """Rows of the first model as stored, their seen parts, and these gauged; of the
    second model the seen parts and the rows as stored."""
    forward: bool
    """True if the first model's rows are gauged; False if those of the second model
    are."""
    pairs: Indices
    """(m, 2) pairs of rows of the half."""
    cosines: Floats
    """(5, m) cosines of the pairs in each version."""

    @property
    def visible(self) -> Floats:
        """(m,) change of the cosines of the seen parts."""
        return np.asarray(self.cosines[3] - self.cosines[1])

    @property
    def end(self) -> Floats:
        """(m,) cosines that the gauge should lead to."""
        return np.asarray(self.cosines[3 if self.forward else 1])

    @property
    def remainder(self) -> Floats:
        """(m,) change of the cosines that the gauge leaves."""
        return np.asarray(self.end - self.cosines[2])


def attribution_steps(
    role: SideName, paired: Pairing, fold: CrossFitHalf, rng: np.random.Generator
) -> AttributionSteps:
    """Follow the rows of one side that a fold judges, and pairs of them."""
    old, new = paired.raw[role]
    old_seen, new_seen = paired.visible[role]
    gauged = fold.gauge.apply(role, paired.fitted[role][0])
    versions = (old, old_seen, gauged, new_seen, new)
    rows = fold.held_out[role]
    pairs = draw_pairs(rows, rng)
    # If predictions see every dimension, the seen part is the same array as the stored
    # rows, and its cosines are computed once.
    cosines: dict[int, Floats] = {}
    for version in versions:
        if id(version) not in cosines:
            cosines[id(version)] = pair_cosines(version, version, pairs)
    by_version = np.array([cosines[id(version)] for version in versions])
    return AttributionSteps(rows, versions, paired.forward, pairs, by_version)


def draw_pairs(rows: Indices, rng: np.random.Generator) -> Indices:
    """Pair every row of a half with other rows of it."""
    n_rows = len(rows)
    count = min(PARTNERS, n_rows - 1)
    # The rows stand on a circle in random order, and partners stand at random
    # distances. So every row has as many partners, none of them twice or itself.
    distances = 1 + np.argsort(rng.random(n_rows - 1))[:count]
    order = rng.permutation(rows)
    partners = order[np.add.outer(distances, np.arange(n_rows)) % n_rows]
    return np.column_stack([np.tile(order, count), partners.ravel()])


def mean_size(change: Floats) -> float:
    """Return the mean absolute value of the defined changes; 0 if none is defined."""
    sizes = np.abs(change[np.isfinite(change)])
    return float(sizes.mean()) if len(sizes) else 0.0


@dataclass(frozen=True, eq=False)
class RoleChange:
    """Change of one side's cosines, on rows that were held out of every fit."""

    role: SideName
    """Side whose cosines are compared."""
    match: Match
    """The shared entities that were judged, in the order of the arrays below."""
    unexplained: dict[str, float]
    """Share of the held-out rows' spread that the best gauge of each group leaves."""
    total: Floats
    """(m,) mean absolute change of a row's cosines."""
    gauge: Floats
    """(m,) part of the total that the gauge takes away."""
    unseen: Floats
    """(m,) part of the total that dimensions make which no prediction sees."""
    remainder: Floats
    """(m,) part of the total between the gauged model and the other one.

    The three parts add up to the total."""
    correlation: float
    """Pearson correlation of the cosines before and after."""
    gauged_correlation: float
    """Correlation of the cosines once the gauge is taken out."""
    n_pairs: int
    """Number of different pairs behind the change and the first correlation.

    They are all pairs, or pairs that were drawn."""
    n_neighbours: int
    """Length of the neighbour lists."""
    outcomes: dict[str, float]
    """Number of former neighbours that stayed, and that were lost for each reason, over
    all cuts.

    The numbers are fractions if lists are crowded (see `kept_fractions`)."""
    replicates: dict[str, Floats]
    """The mean change and shares of neighbours kept without each of up to 20 groups of
    entities."""
    cut_error: float
    """Standard error of the mean change that comes from the draw of the halves."""
    examples: tuple[Neighbourhood, ...] = ()
    """Neighbours in either model of two entities that moved most and two in the
    middle."""
    predicted_kept: float | None = None
    """Share of former neighbours by prediction cosine that are still near by it; None
    without predictions."""
    thresholds: tuple[CarriedThreshold, ...] = ()
    """Cosines of the first model, and cosines of the second model that the same share
    of pairs exceeds."""
    n_duplicates: int = 0
    """Number of entities that are not listed because they duplicate a listed one in
    both models."""
    zero_rows: tuple[int, ...] = (0, 0, 0)
    """Number of entities that are a zero row in the first model alone, in the second
    alone, and in both."""
    n_displaced: int = 0
    """Entities that have the vector of another entity of the first model."""
    weighted_by: str = "equal"
    """Weights of rows in the weighted shares: by "interactions", by "slots" in lists,
    or "equal"."""
    weighted_shared: float = 1.0
    """Weighted share of the first model's entities that the second has."""
    weighted_kept: float = 1.0
    """Weighted share of former neighbours that stayed."""
    weighted_predicted_kept: float | None = None
    """Weighted share of former neighbours by prediction cosine that are still near by
    it."""
    slight_gauge: float = 0.0
    """Mean change that the best gauge takes away, also if that is too little to be
    counted as `gauge`."""

    def interval(self, name: str) -> tuple[float, float]:
        """Return a 95 % interval that allows for other entities.

        Pairs share entities, so groups of entities are left out in turn. The interval
        of the mean change also allows for the draw of the halves.

        Parameters
        ----------
        name : {"total", "kept", "predicted_kept"}
            "total" is the mean change.
        """
        if name == "total":
            margin = float(
                jackknife_margin(self.replicates[name], other_error=self.cut_error)
            )
            low, high = self.mean_total - margin, self.mean_total + margin
            return max(0.0, low), min(2.0, high)
        share = self.predicted_kept
        if name == "kept":
            share = self.neighbour_shares["kept"]
        assert share is not None, "there are no predictions"
        margin = float(jackknife_margin(self.replicates[name]))
        return max(0.0, share - margin), min(1.0, share + margin)

    @property
    def mean_total(self) -> float:
        """Mean absolute change of the cosines."""
        return float(np.nanmean(self.total))

    @property
    def mean_gauge(self) -> float:
        """Mean absolute change that the gauge makes."""
        return float(np.nanmean(self.gauge))

    @property
    def mean_unseen(self) -> float:
        """Mean absolute change that dimensions make which no prediction sees."""
        return float(np.nanmean(self.unseen))

    @property
    def mean_remainder(self) -> float:
        """Mean absolute change that the gauge does not explain."""
        return float(np.nanmean(self.remainder))

    @property
    def n_without_direction(self) -> int:
        """Number of entities that are a zero row in a model, so they have no cosine."""
        return sum(self.zero_rows)

    @property
    def neighbour_shares(self) -> dict[str, float]:
        """Shares of the former neighbours that stayed, and lost for each reason."""
        n_former = max(1, sum(self.outcomes.values()))
        return {name: count / n_former for name, count in self.outcomes.items()}

    def to_frame(self) -> pd.DataFrame:
        """Return one row per entity, by decreasing movement."""
        import pandas as pd

        columns = {"name": self.match.names}
        columns |= {name: getattr(self, name) for name in PARTS}
        return pd.DataFrame(columns).sort_values(
            "total", ascending=False, kind="stable", ignore_index=True
        )


def role_change(
    role: SideName,
    match: Match,
    paired: Pairing,
    steps: list[AttributionSteps],
    unexplained: dict[str, float],
    n: int | None,
    rng: np.random.Generator,
    weights: RowWeights,
    weighted_shared: float,
    predicted: tuple[Floats, Floats] | None = None,
    slight_gauge: float = 0.0,
) -> RoleChange:
    """Measure the change of one side's cosines on rows held out of the fits.

    Parameters
    ----------
    role : {"left", "right"}
        Side.
    match : Match
        Its shared entities.
    paired : Pairing
        Their rows.
    steps : list of AttributionSteps
        The rows of this side that each part judges: two halves of each cut, one after
        the other, or all rows.
    unexplained : dict of str to float
        Share of the held-out rows' spread that the best gauge of each group leaves.
    n : int, optional
        Length of the neighbour lists.
    rng : numpy Generator
        Draws the groups of entities that are left out in turn, and the rows whose lists
        are searched.
    weights : RowWeights
        Weights of all rows of the first model.
    weighted_shared : float
        Weight of the first model's rows that the second has.
    predicted : pair of array of shape (m, r), optional
        The rows of either model in a form whose plain cosine is the prediction cosine.
    slight_gauge : float
        Mean change that the best gauge takes away.
    """
    groups = draw_groups(len(match), rng)
    cosines = _cosine_change(paired.raw[role], steps)
    replicates = {
        "total": leave_out_means(np.abs(cosines.change), cosines.pairs, groups)
    }

    # Neighbours are searched among all shared rows, because a list within one half
    # would be nobody's list. Duplicates count once.
    before, after = paired.raw[role]
    first = paired.first[role]
    representatives = np.unique(first)
    n = list_length(n, len(representatives))
    rows = without_copies(sample_rows(len(match), SEARCHED, rng), first)
    former = neighbours(before, n, rows=rows, first=first)
    latter = neighbours(after, n, rows=rows, first=first)
    _, replicates["kept"] = _kept(former, latter, first, groups)
    weighted_kept = _weighted_kept(former, latter, first, match, weights)
    outcomes = _outcomes(steps, former, latter, first)

    predicted_kept = weighted_predicted_kept = None
    if predicted is not None:
        old_lists = neighbours(predicted[0], n, rows=rows, first=first)
        new_lists = neighbours(predicted[1], n, rows=rows, first=first)
        predicted_kept, replicates["predicted_kept"] = _kept(
            old_lists, new_lists, first, groups
        )
        weighted_predicted_kept = _weighted_kept(
            old_lists, new_lists, first, match, weights
        )

    examples: tuple[Neighbourhood, ...] = ()
    moved = representatives[example_rows(cosines.total[representatives])]
    if len(moved):
        old_lists = neighbours(before, n, rows=moved, first=first)
        new_lists = neighbours(after, n, rows=moved, first=first)
        examples = named_neighbourhoods(
            match.names, old_lists, new_lists, first=first, tie=FLOAT32_TIE
        )

    return RoleChange(
        role=role,
        match=match,
        unexplained=unexplained,
        total=cosines.total,
        gauge=np.maximum(cosines.total - cosines.remainder - cosines.unseen, 0.0),
        unseen=cosines.unseen,
        remainder=cosines.remainder,
        correlation=cosines.correlation,
        gauged_correlation=cosines.gauged_correlation,
        n_pairs=_n_different(cosines.pairs[np.isfinite(cosines.change)], len(match)),
        n_neighbours=n,
        outcomes=outcomes,
        replicates=replicates,
        cut_error=cosines.cut_error,
        examples=examples,
        predicted_kept=predicted_kept,
        thresholds=thresholds(before[representatives], after[representatives], rng),
        n_duplicates=len(match) - len(representatives),
        zero_rows=_zero_rows(before, after),
        n_displaced=n_displaced(before, after),
        weighted_by=weights.source,
        weighted_shared=weighted_shared,
        weighted_kept=weighted_kept,
        weighted_predicted_kept=weighted_predicted_kept,
        slight_gauge=slight_gauge,
    )


@dataclass(frozen=True, eq=False)
class _CosineChange:
    """Change of cosines over pairs, and its parts per row."""

    pairs: Indices
    """(m, 2) pairs."""
    change: Floats
    """(m,) change of the cosine of each pair."""
    total: Floats
    """Mean absolute change per row."""
    unseen: Floats
    """Part of the total that comes from dimensions that no prediction sees."""
    remainder: Floats
    """Part of the total that the gauge leaves."""
    correlation: float
    """Correlation of the cosines before and after."""
    gauged_correlation: float
    """Correlation once the gauge is taken out."""
    cut_error: float
    """Standard error that comes from the draw of the halves."""


def _cosine_change(
    raw: tuple[Floats, Floats], steps: list[AttributionSteps]
) -> _CosineChange:
    """Measure the change of cosines within the halves, or of all pairs of few rows."""
    n_rows = len(raw[0])
    pairs = np.concatenate([path.pairs for path in steps])
    old, _, gauged, _, new = np.concatenate([path.cosines for path in steps], axis=1)
    visible = np.concatenate([path.visible for path in steps])
    end = np.concatenate([path.end for path in steps])
    left_over = np.concatenate([path.remainder for path in steps])

    total = _row_means(np.abs(new - old), pairs, n_rows)
    visible_change = _row_means(np.abs(visible), pairs, n_rows)
    remainder = _row_means(np.abs(left_over), pairs, n_rows)
    gauge, unseen, _ = _split(total, visible_change, remainder)
    # Any gauge brings some rows nearer and takes others further apart, so the parts of
    # the rows must not add up to more than the part of the mean.
    largest, _, _ = _split(
        float(np.nanmean(total)),
        float(np.nanmean(visible_change)),
        float(np.nanmean(remainder)),
    )
    gauge *= min(1.0, largest / (float(np.nanmean(gauge)) or 1.0))
    remainder = total - unseen - gauge

    # The two halves of a cut depend on each other, so their mean is one observation.
    by_part = np.array([mean_size(path.cosines[4] - path.cosines[0]) for path in steps])
    n_cuts = max(1, len(steps) // 2)
    by_cut = np.mean(np.split(by_part, n_cuts), axis=1)

    # If as many pairs were drawn as there are, take all pairs, also those between the
    # halves. No gauge is judged on these, so the parts of a row keep the shares that
    # they have within the halves.
    if n_pairs(n_rows) <= max(len(pairs), PARTNERS * n_rows):
        pairs, by_cut = all_pairs(n_rows), by_cut[:1]
        old = pair_cosines(raw[0], raw[0], pairs)
        new = pair_cosines(raw[1], raw[1], pairs)
        within = total
        total = _row_means(np.abs(new - old), pairs, n_rows)
        factor = np.divide(total, within, out=np.zeros_like(total), where=within > 0)
        unseen = factor * unseen
        remainder = np.where(within > 0, factor * remainder, total)

    return _CosineChange(
        pairs=pairs,
        change=new - old,
        total=total,
        unseen=unseen,
        remainder=remainder,
        correlation=_pearson(old, new),
        gauged_correlation=_pearson(gauged, end),
        cut_error=standard_error(by_cut),
    )


def _n_different(pairs: Indices, n_rows: int) -> int:
    """Count the different pairs."""
    return len(np.unique(np.sort(pairs) @ [n_rows, 1]))


def _zero_rows(before: Floats, after: Floats) -> tuple[int, ...]:
    """Count the rows that are zero in the first model, in the second, and in both."""
    is_zero_before, is_zero_after = ~before.any(axis=1), ~after.any(axis=1)
    return (
        int(np.count_nonzero(is_zero_before & ~is_zero_after)),
        int(np.count_nonzero(is_zero_after & ~is_zero_before)),
        int(np.count_nonzero(is_zero_before & is_zero_after)),
    )


def _outcomes(
    steps: list[AttributionSteps],
    former: NeighbourLists,
    latter: NeighbourLists,
    first: Indices,
) -> dict[str, float]:
    """Count the former neighbours by outcome, over all parts."""
    counts = [neighbour_counts(path, former, latter, first) for path in steps]
    n_former, n_lost, n_visible, n_left = np.sum(counts, axis=0).tolist()
    lost_to_gauge, lost_to_unseen, lost_to_learning = _split(n_lost, n_visible, n_left)
    values = (n_former - n_lost, lost_to_gauge, lost_to_unseen, lost_to_learning)
    return {
        name: round(float(value), COUNT_DECIMALS)
        for name, value in zip(OUTCOMES, values, strict=True)
    }


def _weighted_kept(
    former: NeighbourLists,
    latter: NeighbourLists,
    first: Indices,
    match: Match,
    weights: RowWeights,
) -> float:
    """Return the share of former neighbours that stayed, weighted by row."""
    is_entry = former.indices >= 0
    n_entries = is_entry.sum(axis=1)
    has_list = n_entries > 0
    if not has_list.any():
        return 0.0
    n_lost = n_entries - kept_fractions(former, latter, first).sum(axis=1)
    shares_lost = n_lost[has_list] / n_entries[has_list]
    # Weights add up to 1 only up to rounding. If nothing is lost, this is exactly 1.
    return 1.0 - weights.mean(shares_lost, match.before[former.rows[has_list]])


def _split(total: Any, visible: Any, remainder: Any) -> tuple[Any, Any, Any]:
    """Split a change into its parts.

    Returns
    -------
    gauge, unseen, remainder : array or number
        The parts that a gauge takes away, that come from unseen dimensions, and that
        remain.
    """
    # A gauge that takes cosines or lists further apart has no part in the change, and
    # no negative part.
    remainder = np.minimum(remainder, total)
    unseen = np.clip(total - visible, 0, total - remainder)
    return total - remainder - unseen, unseen, remainder


def _kept(
    former: NeighbourLists,
    latter: NeighbourLists,
    first: Indices,
    groups: NDArray[np.uint8],
) -> tuple[float, Floats]:
    """Return the share of former neighbours that stayed, and without each group."""
    row, place = np.nonzero(former.indices >= 0)
    stays = kept_fractions(former, latter, first)[row, place]
    ends = np.column_stack([former.rows[row], former.indices[row, place]])
    share = float(stays.mean()) if len(stays) else 0.0
    return share, leave_out_means(stays, ends, groups)


def _row_means(values: Floats, pairs: Indices, n_rows: int) -> Floats:
    """Return the mean over all pairs of each row; NaN for a row without pairs."""
    defined = np.isfinite(values)
    ends = pairs[defined].ravel()
    sums = np.bincount(ends, np.repeat(values[defined], 2), minlength=n_rows)
    counts = np.bincount(ends, minlength=n_rows)
    means = np.full(n_rows, np.nan)
    return np.asarray(np.divide(sums, counts, out=means, where=counts > 0))


def _pearson(x: Floats, y: Floats) -> float:
    """Return the correlation of the defined pairs; NaN if a variable is constant."""
    defined = np.isfinite(x) & np.isfinite(y)
    x, y = x[defined] - x[defined].mean(), y[defined] - y[defined].mean()
    size = float(np.linalg.norm(x) * np.linalg.norm(y))
    return float(x @ y) / size if size else float("nan")


def example_rows(moved: Floats) -> Indices:
    """Choose the rows that moved most and rows in the middle.

    Rows that did not move are not chosen.

    Examples
    --------
    >>> example_rows(np.array([0.1, 0.5, np.nan, 0.2, 0.4, 0.3])).tolist()
    [1, 4, 5, 3]
    >>> example_rows(np.array([0.0, 1e-9])).tolist()
    []
    """
    order = largest_first(moved, FLOAT32_TIE)
    order = order[moved[order] > FLOAT32_TIE]
    middle = order[N_EXAMPLES:][max(0, len(order) // 2 - N_EXAMPLES) :]
    return np.concatenate([order[:N_EXAMPLES], middle[:N_EXAMPLES]])


def neighbour_counts(
    path: AttributionSteps,
    former: NeighbourLists,
    latter: NeighbourLists,
    first: Indices,
) -> tuple[float, float, float, float]:
    """Count the former neighbours of a half.

    Parameters
    ----------
    path : AttributionSteps
        The steps.
    former, latter : NeighbourLists
        Lists of the same rows in the first version and in the last one. Only the rows
        of the half count.
    first : array of shape (m,)
        The row that stands for each row in lists.

    Returns
    -------
    tuple of float
        Number of all former neighbours, of lost ones, of those lost between the seen
        parts, and of those that the gauge does not bring back.
    """
    half = np.flatnonzero(np.isin(former.rows, path.rows))
    n = former.indices.shape[1]
    former, latter = former.take(half), latter.take(half)
    versions = path.versions
    lists = {id(versions[0]): former, id(versions[-1]): latter}
    for version in versions[1:-1]:
        if id(version) not in lists:
            lists[id(version)] = neighbours(version, n, rows=former.rows, first=first)
    in_order = [lists[id(version)] for version in versions]
    gauged_step = (2, 3) if path.forward else (1, 2)
    n_lost = []
    for start, end in ((0, 4), (1, 3), gauged_step):
        old, new = in_order[start], in_order[end]
        is_entry = old.indices >= 0
        n_lost.append(float((1 - kept_fractions(old, new, first))[is_entry].sum()))
    n_former = float(np.count_nonzero(former.indices >= 0))
    return n_former, n_lost[0], n_lost[1], n_lost[2]
