"""The first table of a comparison: every measure of the change, for each side."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from embaudit.comparison import Comparison
from embaudit.comparison.change import RoleChange
from embaudit.comparison.verdict import (
    is_weighted,
    share_kept,
    share_kept_by_prediction,
    weights_of,
)
from embaudit.core.words import drawn_of, percent, percent_with_interval, percents
from embaudit.linalg.pairs import n_pairs
from embaudit.report.tables import Table, interval_note

PART_TITLES = {
    "gauge": "by a change of axes",
    "unseen": "by dimensions no prediction sees",
    "remainder": "by a real change",
}
"""Parts of the mean change of cosines; see `embaudit.comparison.change.PARTS`."""
OUTCOME_TITLES = {
    "kept": "kept",
    "lost_to_gauge": "lost to a change of axes",
    "lost_to_unseen": "lost to dimensions no prediction sees",
    "lost_to_learning": "lost to a real change",
}
"""Outcomes of former neighbours; see `embaudit.comparison.change.OUTCOMES`."""


@dataclass(frozen=True)
class Measure:
    """A figure of one side, and the row of the table in which it stands."""

    name: str
    """Name of the row."""
    text: str
    """The figure."""
    is_informative: bool = True
    """False if the row can be dropped as far as this side is concerned."""


def summary_table(comparison: Comparison) -> Table:
    r"""Tabulate the informative measures of a comparison, with a column for each side.

    Examples
    --------
    >>> from embaudit.comparison import compare
    >>> from embaudit.model import FactorModel
    >>> draw = np.random.default_rng(0)
    >>> users, items = draw.standard_normal((40, 2)), draw.standard_normal((30, 2))
    >>> model = FactorModel.from_user_item(users, items)
    >>> print("\n".join(str(summary_table(compare(model, model))).splitlines()[:4]))
    what changed
    measure                 users  items
    shared                     40     30
    10 nearest kept         100 %  100 %
    """
    changes = comparison.changes
    sides = [f"{comparison.title(role)}s" for role in changes]
    lengths = [change.n_neighbours for change in changes.values()]
    # A small side has shorter lists. Both columns share the name of a row, so the name
    # contains the length only if the lengths are equal.
    has_one_length = len(set(lengths)) == 1
    nearest = f"{lengths[0]} nearest" if has_one_length else "nearest"
    measures_by_side = [
        _measures(comparison, change, nearest) for change in changes.values()
    ]
    # A row that is informative for one side has a figure of the other side, too.
    rows = [
        [measures[0].name, *(measure.text for measure in measures)]
        for measures in zip(*measures_by_side, strict=True)
        if any(measure.is_informative for measure in measures)
    ]
    explained_brackets = interval_note(text for _, *texts in rows for text in texts)
    notes = []
    weights = weights_of(comparison)
    if weights and any(is_weighted(comparison, change) for change in changes.values()):
        notes.append(f"kept: {weights}")
    if explained_brackets:
        notes.append(explained_brackets)
    if not has_one_length:
        pairs = zip(lengths, sides, strict=True)
        notes.append(f"nearest: {', '.join(f'{n} {side}' for n, side in pairs)}")
    return Table(
        "what changed",
        pd.DataFrame(rows, columns=["measure", *sides]),
        "; ".join(notes),
        # Each row has a unit of its own, so its cells are texts already.
        formats=dict.fromkeys(sides, str),
        has_intervals=bool(explained_brackets),
    )


def _measures(
    comparison: Comparison, change: RoleChange, nearest: str
) -> list[Measure]:
    """Return the measures of a side, in the order of the table.

    All sides have the same measures. `nearest` names a list of neighbours.
    """
    return [
        *_row_counts(change),
        *_kept_neighbours(comparison, change, nearest),
        *_lost_neighbours(comparison, change),
        *_cosine_changes(comparison, change),
    ]


def _row_counts(change: RoleChange) -> list[Measure]:
    """Return how many rows the models share, and how many are in one model only."""
    match = change.match
    n_without_direction = change.n_without_direction
    return [
        Measure("shared", f"{len(match):,}"),
        Measure(
            "only in the first model", f"{match.only_before:,}", match.only_before > 0
        ),
        Measure(
            "only in the second model", f"{match.only_after:,}", match.only_after > 0
        ),
        Measure(
            "without a cosine", f"{n_without_direction:,}", n_without_direction > 0
        ),
    ]


def _kept_neighbours(
    comparison: Comparison, change: RoleChange, nearest: str
) -> list[Measure]:
    """Return the shares of former neighbours, by cosine and by prediction cosine."""
    kept = share_kept(comparison, change)
    by_prediction = share_kept_by_prediction(comparison, change)
    # Intervals are known only for shares in which rows count equally.
    with_intervals = not is_weighted(comparison, change)
    kept_text = percent(kept)
    if with_intervals:
        kept_text = percent_with_interval(kept, change.interval("kept"))
    if by_prediction is None:
        by_prediction_text = "–"
    elif with_intervals:
        interval = change.interval("predicted_kept")
        by_prediction_text = percent_with_interval(by_prediction, interval)
    else:
        by_prediction_text = percent(by_prediction)
    return [
        Measure(f"{nearest} kept", kept_text),
        Measure(
            f"{nearest} by prediction cosine kept",
            by_prediction_text,
            by_prediction is not None,
        ),
    ]


def _lost_neighbours(comparison: Comparison, change: RoleChange) -> list[Measure]:
    """Return the shares of former neighbours that were lost for each reason.

    In these shares rows count equally. So they do not add up with a weighted share of
    kept neighbours, and are informative only without weights.
    """
    has_weights = is_weighted(comparison, change)
    is_split = not comparison.too_few_for
    shares = change.neighbour_shares
    is_informative = {
        "lost_to_gauge": is_split and not has_weights,
        "lost_to_unseen": shares["lost_to_unseen"] > 0 and not has_weights,
        "lost_to_learning": is_split and not has_weights,
    }
    texts = percents([shares[outcome] for outcome in is_informative])
    return [
        Measure(OUTCOME_TITLES[outcome], text, is_informative[outcome])
        for outcome, text in zip(is_informative, texts, strict=True)
    ]


def _cosine_changes(comparison: Comparison, change: RoleChange) -> list[Measure]:
    """Return the mean change of cosines, its parts, and correlations of cosines."""
    is_split = not comparison.too_few_for
    n_rows = len(change.match) - change.n_without_direction
    return [
        Measure("mean change of cosines", _mean_change_text(change)),
        Measure("mean over", drawn_of(change.n_pairs, n_pairs(n_rows), "pair")),
        Measure(PART_TITLES["gauge"], f"{change.mean_gauge:.3f}", is_split),
        Measure(
            PART_TITLES["unseen"], f"{change.mean_unseen:.3f}", change.mean_unseen > 0
        ),
        Measure(PART_TITLES["remainder"], f"{change.mean_remainder:.3f}", is_split),
        Measure("correlation of cosines", _correlation_text(change.correlation)),
        Measure(
            "correlation on the same axes",
            _correlation_text(change.gauged_correlation),
            is_split,
        ),
    ]


def _mean_change_text(change: RoleChange) -> str:
    """Write the mean change with its interval, unless three decimals do not show it."""
    mean = f"{change.mean_total:.3f}"
    low, high = [f"{end:.3f}" for end in change.interval("total")]
    if low == high == mean:
        return mean
    return f"{mean} ({low} to {high})"


def _correlation_text(correlation: float) -> str:
    """Write a correlation; a dash if it is not defined."""
    return "–" if np.isnan(correlation) else f"{correlation:.3f}"
