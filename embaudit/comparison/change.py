"""Change of the cosines of one side between two models, and the part of it that a gauge explains.

Only pairs and neighbours within a half are looked at, by the gauge that was fitted on the other half.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from embaudit.comparison.fits import WORSE, CrossFitHalf, held_out_error
from embaudit.comparison.matching import Match, Pairing
from embaudit.comparison.neighbour_attribution import (
    OUTCOMES,
    TIED,
    attribution_steps,
    draw_pairs,
    mean_size,
    neighbour_attribution,
    plain_steps,
    refit_effects,
    shares,
)
from embaudit.comparison.thresholds import CarriedThreshold, n_displaced, thresholds
from embaudit.core.checked import Floats, Indices
from embaudit.linalg.intervals import jackknife_margin, standard_error
from embaudit.linalg.nearest import neighbours
from embaudit.model import SideName
from embaudit.movements.neighbourhoods import Neighbourhood, by_name

if TYPE_CHECKING:
    import pandas as pd

PARTS = ("total", "gauge", "unseen", "remainder")
"""The mean change of a cosine, and what it consists of."""
EACH = 2
"""Entities that moved most, and entities in the middle, whose neighbours are shown."""


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
    """(m,) of it, what is left between the gauged model and the other one; the three add up to the total."""
    correlation: float
    """Pearson correlation of the cosines before and after."""
    gauged_correlation: float
    """Correlation of the cosines once the gauge is taken out."""
    n_neighbours: int
    """Length of the neighbour lists."""
    searched: Indices
    """Positions in `match` whose neighbours were looked up; again in each halving."""
    kept: Indices
    """Neighbours that are the same before and after."""
    lost_to_gauge: Indices
    """Former neighbours that the gauge alone drives out."""
    lost_to_unseen: Indices
    """Former neighbours that dimensions drive out which no prediction sees."""
    lost_to_learning: Indices
    """Former neighbours that the gauge would have kept, but the second model drops."""
    replicates: dict[str, Floats]
    """Estimates of each mean (total, ...) and share of neighbours without each of up to 20 groups of entities."""
    halvings: dict[str, Floats]
    """Estimate of each component in every random half split, for the interval."""
    examples: tuple[Neighbourhood, ...] = ()
    """The nearest of some entities in either model: of two that moved most, and of two in the middle."""
    predicted_kept: float | None = None
    """Share of former neighbours by prediction cosine that are still near by it; None without predictions."""
    thresholds: tuple[CarriedThreshold, ...] = ()
    """Cosines of the first model, and those of the second that the same share of pairs exceeds."""
    n_candidates: int = 0
    """Entities among which neighbours are looked up at a time: half of the shared ones, or all of them."""
    n_displaced: int = 0
    """Entities whose vector in the second model is another one's in the first."""

    def interval(self, name: str) -> tuple[float, float]:
        """Return the 95 % interval of a mean (total, ...) or share of neighbours (kept, ...), over other entities too.

        Of the part and the losses that a gauge of the group found explains: what another group would, is not in it.
        Pairs share entities, so groups of entities are left out in turn; which halves were drawn is chance besides.
        """
        by_name: dict[str, float | None] = {**self.neighbour_shares, "predicted_kept": self.predicted_kept}
        share = by_name.get(name)
        value = float(np.nanmean(getattr(self, name))) if share is None else share
        margin = float(jackknife_margin(self.replicates[name], beside=standard_error(self.halvings[name])))
        return max(0.0, value - margin), min(1.0 if name in by_name else 2.0, value + margin)

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
        return int(np.isnan(self.total).sum())

    @property
    def neighbour_shares(self) -> dict[str, float]:
        """Shares of the former neighbours that stayed, and that left for each reason."""
        counts = {name: getattr(self, name).sum() for name in OUTCOMES}
        former = max(1, sum(counts.values()))
        return {name: float(count / former) for name, count in counts.items()}

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each entity, the one that moved most first."""
        import pandas as pd

        parts = {name: getattr(self, name) for name in PARTS}
        return pd.DataFrame({"name": self.match.names, **parts}).sort_values(
            "total", ascending=False, kind="stable", ignore_index=True
        )


def role_change(
    role: SideName,
    match: Match,
    paired: Pairing,
    parts: list[CrossFitHalf],
    groups: NDArray[np.uint8],
    refits: Sequence[tuple[CrossFitHalf, Sequence[CrossFitHalf]]],
    *,
    n: int,
    rng: np.random.Generator,
    predicted: tuple[Floats, Floats] | None = None,
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
    parts : list of CrossFitHalf
        Two halves of each cut, one after the other, or all rows.
    groups : array of shape (m,)
        The group of each entity, which are left out in turn.
    refits : sequence of (CrossFitHalf, sequence of CrossFitHalf)
        Some of the parts and what they are without each group.
    n : int
        Length of the neighbour lists.
    rng : numpy Generator
        Draws pairs and rows.
    predicted : pair of array of shape (m, r), optional
        The rows whose plain cosine is the prediction cosine, in either model.

    Returns
    -------
    RoleChange
    """
    paths = [attribution_steps(role, paired, fold) for fold in parts]
    drawn = [draw_pairs(len(path.rows), rng) for path in paths]
    pairs = np.concatenate([path.rows[pair] for path, pair in zip(paths, drawn, strict=True)])
    steps = [path.changes(pair) for path, pair in zip(paths, drawn, strict=True)]
    old, new, gauged, end, visible = map(np.concatenate, zip(*steps, strict=True))
    # A row's change, what predictions see of it, and what is left once the gauge is taken out.
    rows = (_row_means(np.abs(change), pairs, groups) for change in (new - old, visible, end - gauged))
    means = _split(*rows, hides=paths[0].hides)
    lists = neighbour_attribution(paths, groups, n, rng)
    replicates = {name: _without(values[:, :-1], groups) for name, values in means.items()} | lists.replicates
    for name, effect in refit_effects(role, paired, refits, n=lists.n, rng=rng).items():
        replicates[name] = replicates[name] + effect
    sizes = np.array(
        [[mean_size(x) for x in (new - old, visible, end - gauged)] for old, new, gauged, end, visible in steps]
    )
    # Halves of one cut share their gauges' luck: their mean is one observation of it.
    halvings = _split(*_halvings(sizes.T).mean(axis=2), hides=paths[0].hides)
    by_row: dict[str, Any] = {name: values[:, -1] for name, values in means.items()} | lists.counts
    predicted_kept = None
    if predicted is not None:
        # Looked up as the cosines' lists are, within halves, so that the two shares can be compared.
        scored = neighbour_attribution([plain_steps(*predicted, path.rows) for path in paths], groups, n, rng)
        predicted_kept = float(shares(scored.by_part.sum(axis=1))[0])
        replicates["predicted_kept"] = scored.replicates["kept"]
        halvings["predicted_kept"] = shares(_halvings(scored.by_part).sum(axis=2))[0]
    before, after = paired.raw[role]
    return RoleChange(
        role=role,
        match=match,
        unexplained=held_out_error(role, paired.fitted, parts),
        correlation=_pearson(old, new),
        gauged_correlation=_pearson(gauged, end),
        n_neighbours=lists.n,
        searched=lists.searched,
        replicates=replicates,
        halvings=halvings | dict(zip(OUTCOMES, shares(_halvings(lists.by_part).sum(axis=2)), strict=True)),
        examples=examples(match, paired.raw[role], by_row["total"], n=n),
        predicted_kept=predicted_kept,
        thresholds=thresholds(before, after, groups, rng),
        n_candidates=max(len(path.rows) for path in paths),
        n_displaced=n_displaced(before, after),
        **by_row,
    )


def _halvings(by_part: NDArray[np.number]) -> NDArray[np.number]:
    """Put the two halves of each cut together, in a last axis; all rows at once are a cut of their own."""
    n_parts = by_part.shape[1]
    return np.stack(np.split(by_part, max(1, n_parts // 2), axis=1), axis=1)


def _split(total: Floats, visible: Floats, remainder: Floats, *, hides: bool) -> dict[str, Floats]:
    """Split mean changes of rows into what the gauge takes away, unseen dimensions do, and what is left."""
    # A gauge that takes cosines further apart has no part in the change, and no negative one.
    remainder = np.minimum(remainder, total)
    unseen = np.clip(total - visible, 0, total - remainder) if hides else np.where(np.isnan(total), np.nan, 0.0)
    return dict(zip(PARTS, (total, total - remainder - unseen, unseen, remainder), strict=True))


def serving(paired: Pairing, parts: list[CrossFitHalf], rng: np.random.Generator) -> list[CrossFitHalf]:
    """Keep the chosen gauges if they bring the cosines of all sides together nearer, else take a rotation.

    A gauge acts on both sides: one that helps one side and spoils the other is not what happened.
    """
    apart, still_apart = 0.0, 0.0
    for role in paired.raw:
        paths = [attribution_steps(role, paired, fold) for fold in parts]
        steps = [path.changes(draw_pairs(len(path.rows), rng)) for path in paths]
        apart += mean_size(np.concatenate([visible for *_, visible in steps]))
        still_apart += mean_size(np.concatenate([end - gauged for _, _, gauged, end, _ in steps]))
    return parts if still_apart * WORSE <= apart else [replace(fold, group="rotation") for fold in parts]


def _row_means(values: Floats, pairs: Indices, groups: NDArray[np.uint8]) -> Floats:
    """Average over all pairs a row is in without partners of each group and, last, with all; NaN where there is none.

    Returns
    -------
    array of shape (m, groups + 1)
    """
    defined = np.isfinite(values)
    rows, partners = pairs[defined].ravel(), pairs[defined][:, ::-1].ravel()
    shape = len(groups), int(groups.max()) + 1
    cells = rows * shape[1] + groups[partners]
    sums, counts = (
        np.bincount(cells, weights, minlength=shape[0] * shape[1]).reshape(shape)
        for weights in (np.repeat(values[defined], 2), None)
    )
    # All partners less those of one group leave the others; the whole stands last.
    sums, counts = (np.hstack([(total := x.sum(axis=1, keepdims=True)) - x, total]) for x in (sums, counts))
    return np.asarray(np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0))


def _without(values: Floats, groups: NDArray[np.uint8]) -> Floats:
    """Average each column over the rows of the other groups."""
    own = groups[:, None] == np.arange(values.shape[1])
    return np.asarray(np.nanmean(np.where(own, np.nan, values), axis=0))


def _pearson(x: Floats, y: Floats) -> float:
    defined = np.isfinite(x) & np.isfinite(y)
    x, y = x[defined] - x[defined].mean(), y[defined] - y[defined].mean()
    size = float(np.linalg.norm(x) * np.linalg.norm(y))
    return float(x @ y) / size if size else float("nan")


def examples(match: Match, rows: tuple[Floats, Floats], moved: Floats, *, n: int) -> tuple[Neighbourhood, ...]:
    """List the nearest shared entities, in either model, of two entities that moved most and of two in the middle.

    Parameters
    ----------
    match : Match
        The shared entities.
    rows : pair of array of shape (m, k)
        Their rows in the first model and in the second.
    moved : array of shape (m,)
        Mean change of the cosines of each; NaN where it has none.
    n : int
        Length of the lists.
    """
    rows_shown = example_rows(moved)
    if not len(rows_shown):
        return ()
    # Neighbours are judged among all that are shared: a list within one half would be nobody's.
    lists = [neighbours(x, min(n, len(moved) - 1), rows=rows_shown) for x in rows]
    return by_name(match.names, lists[0], lists[1], first=np.arange(len(moved)), tie=TIED)


def example_rows(moved: Floats) -> Indices:
    """Choose the rows that moved most and those in the middle; none where nothing moved.

    Examples
    --------
    >>> example_rows(np.array([0.1, 0.5, np.nan, 0.2, 0.4, 0.3])).tolist()
    [1, 4, 5, 3]
    >>> example_rows(np.array([0.0, 1e-9])).tolist()
    []
    """
    order = np.argsort(-moved, kind="stable")
    order = order[moved[order] > TIED]
    middle = order[EACH:][max(0, len(order) // 2 - EACH) :]
    return np.concatenate([order[:EACH], middle[:EACH]])
