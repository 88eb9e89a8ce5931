"""Change of the cosines of one side between two models, and the part of it that a gauge explains.

Rows are followed from the first model to the second in steps: as stored, as predictions
see them, gauged, and the same of the second model. Pairs within a half, and the
neighbours of its rows among all rows, are judged by the gauge that was fitted on the
other half. The change of cosines and that of lists are split alike: the gauge's part is
what it takes away, and a gauge that moves cosines or lists without bringing them nearer
explains nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from embaudit.comparison.fits import CrossFitHalf
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
from embaudit.linalg.pairs import all_pairs, n_pairs, pair_cosines
from embaudit.linalg.rows import sample_rows
from embaudit.model import SideName
from embaudit.movements.neighbourhoods import Neighbourhood, by_name
from embaudit.movements.twins import once

if TYPE_CHECKING:
    import pandas as pd

PARTS = ("total", "gauge", "unseen", "remainder")
"""The mean change of a cosine, and what it consists of."""
OUTCOMES = ("kept", "lost_to_gauge", "lost_to_unseen", "lost_to_learning")
"""Outcomes of a former neighbour: it stays, or is lost for one of the reasons."""
EACH = 2
"""Entities that moved most, and entities in the middle, whose neighbours are shown."""
PARTNERS = 32
"""Number of other rows that each row is compared with, and pairs asked for per row: all
where there are no more."""
SEARCHED = 2_000
"""Rows whose neighbours are looked up."""


@dataclass(frozen=True, eq=False)
class AttributionSteps:
    """Rows of a half on the way from the first model to the second, each step for one reason."""

    rows: Indices
    """Positions in the match of the half that is judged: its pairs, and its neighbours
    among all rows."""
    versions: tuple[Floats, ...]
    """Rows of the first model as stored, as predictions see them and gauged; of the
    second, seen and as stored."""
    forward: bool
    """True if the first model's rows are gauged; else those of the second, on the way
    back."""
    pairs: Indices
    """(m, 2) pairs of rows of the half."""
    cosines: Floats
    """(5, m) cosines of the pairs in each version."""

    @property
    def visible(self) -> Floats:
        """(m,) change of the cosines as far as predictions see it."""
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
    # What predictions see in full is the same array, so that no step is taken, and
    # searched, in vain.
    (old, new), (old_seen, new_seen) = paired.raw[role], paired.visible[role]
    gauged = fold.gauge.apply(role, paired.fitted[role][0])
    versions, rows = (old, old_seen, gauged, new_seen, new), fold.held_out[role]
    pairs = draw_pairs(rows, rng)
    cosines = {
        key: pair_cosines(x, x, pairs)
        for key, x in {id(x): x for x in versions}.items()
    }
    by_version = np.array([cosines[id(x)] for x in versions])
    return AttributionSteps(rows, versions, paired.forward, pairs, by_version)


def draw_pairs(rows: Indices, rng: np.random.Generator) -> Indices:
    """Pair every row of a half with others of it."""
    n_rows = len(rows)
    count = min(PARTNERS, n_rows - 1)
    # Partners stand at random distances around a random circle: every row has as many,
    # none twice and never itself.
    steps = 1 + np.argsort(rng.random(n_rows - 1))[:count]
    order = rng.permutation(rows)
    partners = order[np.add.outer(steps, np.arange(n_rows)) % n_rows]
    return np.column_stack([np.tile(order, count), partners.ravel()])


def mean_size(change: Floats) -> float:
    """Average how large changes are, where they are defined; 0 where none is."""
    sizes = np.abs(change[np.isfinite(change)])
    return float(sizes.mean()) if len(sizes) else 0.0


@dataclass(frozen=True, eq=False)
class RoleChange:
    """The change of one side's cosines, its gauge part and the remainder, on rows held out of every fit."""

    role: SideName
    """Side whose cosines are compared."""
    match: Match
    """The shared entities that were judged, in the order of the arrays below."""
    unexplained: dict[str, float]
    """Share of the held-out rows' spread that the best gauge of each group leaves."""
    total: Floats
    """(m,) mean absolute change of a row's cosines."""
    gauge: Floats
    """(m,) of it, what the gauge takes away."""
    unseen: Floats
    """(m,) of it, what dimensions do that no prediction sees."""
    remainder: Floats
    """(m,) of it, what is left between the gauged model and the other one; the three
    add up to the total."""
    correlation: float
    """Pearson correlation of the cosines before and after."""
    gauged_correlation: float
    """Correlation of the cosines once the gauge is taken out."""
    n_pairs: int
    """Different pairs whose cosines the change and the first correlation are about: all
    of them, or drawn ones."""
    n_neighbours: int
    """Length of the neighbour lists."""
    outcomes: dict[str, int]
    """Former neighbours that stayed, and how many of the lost ones are due to each
    reason, over all cuts."""
    replicates: dict[str, Floats]
    """The mean change and shares of neighbours kept without each of up to 20 groups of
    entities."""
    cut_error: float
    """Standard error of the mean change from which halves were drawn."""
    examples: tuple[Neighbourhood, ...] = ()
    """The nearest of some entities in either model: of two that moved most, and of two
    in the middle."""
    predicted_kept: float | None = None
    """Share of former neighbours by prediction cosine that are still near by it; None
    without predictions."""
    thresholds: tuple[CarriedThreshold, ...] = ()
    """Cosines of the first model, and those of the second that the same share of pairs
    exceeds."""
    n_duplicates: int = 0
    """Entities left out of lists, since they duplicate one that is listed, in both
    models."""
    zero_rows: tuple[int, ...] = (0, 0, 0)
    """Number of entities that are a zero row in the first model alone, in the second
    alone, and in both."""
    n_displaced: int = 0
    """Entities whose vector in the second model is another one's in the first."""
    weighted_by: str = "equal"
    """How rows count in the weighted shares: by "interactions", "slots" in lists, or
    "equal"."""
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
        """Return the 95 % interval of the mean change ("total"), "kept" or "predicted_kept", over other entities too.

        Pairs share entities, so groups of entities are left out in turn; which halves
        were drawn is chance besides.
        """
        if name == "total":
            margin = float(
                jackknife_margin(self.replicates[name], beside=self.cut_error)
            )
            return max(0.0, self.mean_total - margin), min(
                2.0, self.mean_total + margin
            )
        share = self.neighbour_shares["kept"] if name == "kept" else self.predicted_kept
        assert share is not None, "there are predictions"
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
        """Number of entities that are a zero row in one of the models, and so have no cosine."""
        return sum(self.zero_rows)

    @property
    def neighbour_shares(self) -> dict[str, float]:
        """Shares of the former neighbours that stayed, and that left for each reason."""
        former = max(1, sum(self.outcomes.values()))
        return {name: count / former for name, count in self.outcomes.items()}

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each entity, the one that moved most first."""
        import pandas as pd

        return pd.DataFrame(
            {"name": self.match.names, **{name: getattr(self, name) for name in PARTS}}
        ).sort_values("total", ascending=False, kind="stable", ignore_index=True)


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
        Which side.
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
        are looked up.
    weights : RowWeights
        Weights of all rows of the first model.
    weighted_shared : float
        Weight of the first model's rows that the second has.
    predicted : pair of array of shape (m, r), optional
        The rows whose plain cosine is the prediction cosine, in either model.
    slight_gauge : float
        Mean change that the best gauge takes away.

    Returns
    -------
    RoleChange
    """
    groups, pairs = (
        draw_groups(len(match), rng),
        np.concatenate([path.pairs for path in steps]),
    )
    old, _, gauged, _, new = np.concatenate([path.cosines for path in steps], axis=1)
    visible, end, left = (
        np.concatenate([getattr(x, name) for x in steps])
        for name in ("visible", "end", "remainder")
    )
    total, visible_change, remainder = (
        _row_means(np.abs(change), pairs, len(match))
        for change in (new - old, visible, left)
    )
    gauge, unseen, _ = _split(total, visible_change, remainder)
    # Any gauge brings some rows nearer: those that it takes further apart are set
    # against them.
    most = _split(*(float(np.nanmean(x)) for x in (total, visible_change, remainder)))[
        0
    ]
    gauge *= min(1.0, most / (float(np.nanmean(gauge)) or 1.0))
    remainder = total - unseen - gauge
    # Halves of one cut share their gauges' luck: their mean is one observation of it.
    by_part = np.array([mean_size(path.cosines[4] - path.cosines[0]) for path in steps])
    by_cut = np.mean(np.split(by_part, max(1, len(steps) // 2)), axis=1)
    # Where as many pairs are asked for as there are, those between the halves have a
    # change, too. No gauge is judged on them, so that a row's parts keep the shares
    # that they have within the halves.
    if n_pairs(len(match)) <= max(len(pairs), PARTNERS * len(match)):
        pairs, by_cut = all_pairs(len(match)), by_cut[:1]
        old, new = (pair_cosines(x, x, pairs) for x in paired.raw[role])
        within, total = total, _row_means(np.abs(new - old), pairs, len(match))
        factor = np.divide(total, within, out=np.zeros_like(total), where=within > 0)
        unseen, remainder = (
            factor * unseen,
            np.where(within > 0, factor * remainder, total),
        )
    replicates = {"total": leave_out_means(np.abs(new - old), pairs, groups)}
    # Lists are those among all shared rows: a list within one half would be nobody's.
    # Duplicates count once.
    (before, after), first = paired.raw[role], paired.first[role]
    standing = np.unique(first)
    n = list_length(n, len(standing))
    rows = once(sample_rows(len(match), SEARCHED, rng), first)
    former, latter = (neighbours(x, n, rows=rows, first=first) for x in (before, after))
    _, replicates["kept"] = _kept(former, latter, groups)
    weighted_kept = _weighted_kept(former, latter, match, weights)
    n_former, *lost = np.sum(
        [neighbour_counts(path, former, latter, first) for path in steps], axis=0
    ).tolist()
    outcomes = dict(
        zip(OUTCOMES, map(int, (n_former - lost[0], *_split(*lost))), strict=True)
    )
    predicted_kept = weighted_predicted_kept = None
    if predicted is not None:
        old_lists, new_lists = (
            neighbours(x, n, rows=rows, first=first) for x in predicted
        )
        predicted_kept, replicates["predicted_kept"] = _kept(
            old_lists, new_lists, groups
        )
        weighted_predicted_kept = _weighted_kept(old_lists, new_lists, match, weights)
    zeros = ~np.array([before.any(axis=1), after.any(axis=1)])
    moved, examples = (
        standing[example_rows(total[standing])],
        tuple[Neighbourhood, ...](),
    )
    if len(moved):
        lists = (neighbours(x, n, rows=moved, first=first) for x in (before, after))
        examples = by_name(match.names, *lists, first=first, tie=FLOAT32_TIE)
    return RoleChange(
        role=role,
        match=match,
        unexplained=unexplained,
        total=total,
        gauge=np.maximum(total - remainder - unseen, 0.0),
        unseen=unseen,
        remainder=remainder,
        correlation=_pearson(old, new),
        gauged_correlation=_pearson(gauged, end),
        n_pairs=len(
            np.unique(np.sort(pairs[np.isfinite(new - old)]) @ [len(match), 1])
        ),
        n_neighbours=n,
        outcomes=outcomes,
        replicates=replicates,
        cut_error=standard_error(by_cut),
        examples=examples,
        predicted_kept=predicted_kept,
        thresholds=thresholds(before[standing], after[standing], rng),
        n_duplicates=len(match) - len(standing),
        zero_rows=tuple(np.bincount([1, 2] @ zeros, minlength=4)[1:].tolist()),
        n_displaced=n_displaced(before, after),
        weighted_by=weights.source,
        weighted_shared=weighted_shared,
        weighted_kept=weighted_kept,
        weighted_predicted_kept=weighted_predicted_kept,
        slight_gauge=slight_gauge,
    )


def _weighted_kept(
    former: NeighbourLists, latter: NeighbourLists, match: Match, weights: RowWeights
) -> float:
    """Return the share of former neighbours that stayed, with the lists weighed by their rows."""
    listed = former.indices >= 0
    n_listed = listed.sum(axis=1)
    has_list = n_listed > 0
    if not has_list.any():
        return 0.0
    n_lost = n_listed - former.kept_in(latter, tie=FLOAT32_TIE).sum(axis=1)
    shares_lost = n_lost[has_list] / n_listed[has_list]
    # Weights add up to 1 but for rounding; nothing lost is exactly 1 this way.
    return 1.0 - weights.mean(shares_lost, match.before[former.rows[has_list]])


def _split(total: Any, visible: Any, remainder: Any) -> tuple[Any, Any, Any]:
    """Split a change into what a gauge takes away, what comes from unseen dimensions, and a remainder."""
    # A gauge that takes cosines or lists further apart has no part in the change, and
    # no negative one.
    remainder = np.minimum(remainder, total)
    unseen = np.clip(total - visible, 0, total - remainder)
    return total - remainder - unseen, unseen, remainder


def _kept(
    former: NeighbourLists, latter: NeighbourLists, groups: NDArray[np.uint8]
) -> tuple[float, Floats]:
    """Compute the share of former neighbours that stayed, and the same without each group of entities."""
    row, place = np.nonzero(former.indices >= 0)
    stays = former.kept_in(latter, tie=FLOAT32_TIE)[row, place].astype(np.float64)
    ends = np.column_stack([former.rows[row], former.indices[row, place]])
    return float(stays.mean()) if len(stays) else 0.0, leave_out_means(
        stays, ends, groups
    )


def _row_means(values: Floats, pairs: Indices, n_rows: int) -> Floats:
    """Average over all pairs that a row is in; NaN where there is none."""
    defined = np.isfinite(values)
    ends = pairs[defined].ravel()
    sums = np.bincount(ends, np.repeat(values[defined], 2), minlength=n_rows)
    counts = np.bincount(ends, minlength=n_rows)
    return np.asarray(
        np.divide(sums, counts, out=np.full(n_rows, np.nan), where=counts > 0)
    )


def _pearson(x: Floats, y: Floats) -> float:
    defined = np.isfinite(x) & np.isfinite(y)
    x, y = x[defined] - x[defined].mean(), y[defined] - y[defined].mean()
    size = float(np.linalg.norm(x) * np.linalg.norm(y))
    return float(x @ y) / size if size else float("nan")


def example_rows(moved: Floats) -> Indices:
    """Choose the rows that moved most and those in the middle; none where nothing moved.

    Examples
    --------
    >>> example_rows(np.array([0.1, 0.5, np.nan, 0.2, 0.4, 0.3])).tolist()
    [1, 4, 5, 3]
    >>> example_rows(np.array([0.0, 1e-9])).tolist()
    []
    """
    order = largest_first(moved, FLOAT32_TIE)
    order = order[moved[order] > FLOAT32_TIE]
    middle = order[EACH:][max(0, len(order) // 2 - EACH) :]
    return np.concatenate([order[:EACH], middle[:EACH]])


def neighbour_counts(
    path: AttributionSteps,
    former: NeighbourLists,
    latter: NeighbourLists,
    first: Indices,
) -> tuple[int, int, int, int]:
    """Count a half's former neighbours: all; lost; lost as far as predictions see; lost beside the gauged rows.

    Parameters
    ----------
    path : AttributionSteps
        The steps.
    former, latter : NeighbourLists
        Lists of the same rows in the first version and in the last one; those of the
        half count.
    first : array of shape (m,)
        The row that stands for each in lists.
    """
    half, versions, n = (
        np.flatnonzero(np.isin(former.rows, path.rows)),
        path.versions,
        former.indices.shape[1],
    )
    former, latter = former.of(half), latter.of(half)
    lists = {id(versions[0]): former, id(versions[-1]): latter}
    for version in versions[1:-1]:
        if id(version) not in lists:
            lists[id(version)] = neighbours(version, n, rows=former.rows, first=first)
    steps = (0, 4), (1, 3), (2, 3) if path.forward else (1, 2)
    pairs = [[lists[id(versions[i])] for i in ends] for ends in steps]
    lost = [
        int(((old.indices >= 0) & ~old.kept_in(new, tie=FLOAT32_TIE)).sum())
        for old, new in pairs
    ]
    return int((former.indices >= 0).sum()), lost[0], lost[1], lost[2]
