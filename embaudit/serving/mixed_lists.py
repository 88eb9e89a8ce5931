"""Lists that mix vectors of an old and of an aligned new model."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np

from embaudit.core.checked import Flags, Floats, Indices
from embaudit.core.plain import plain_dict
from embaudit.core.sizes import N_QUERIES
from embaudit.core.ties import exceeds, reaches
from embaudit.core.words import drawn_of, percent_with_interval
from embaudit.linalg.best_matches import (
    BestMatches,
    Order,
    best_matches,
    shares_kept,
)
from embaudit.linalg.intervals import independent_draws, mean_interval
from embaudit.linalg.mapped import Mapped
from embaudit.linalg.nearest import list_length, tie_of
from embaudit.linalg.rows import sample_rows
from embaudit.linalg.transformed_rows import Rows
from embaudit.model import FactorModel, SideName
from embaudit.serving.index_metric import bias_of, trained_measure
from embaudit.serving.rotation_fit import RotationFit

LIST_PRODUCTS = 5 * 10**9
"""Number of multiplications that the lists of one direction can take.

Fewer lists are drawn from large tables."""
FEWEST_LISTS = 100
"""Number of lists that are drawn at least, however large the tables are."""
KEPT_BEYOND_OTHERS = 0.5
"""Least share that mixed lists hold of what another query's list does not hold.

A list of the new model for another query holds some of the same rows, for example
popular ones, so these say nothing about the vectors. The limit is a convention: half of
what is specific to a query must stay."""
MOST_LOST = 0.05
"""Share of the list that mixed lists may hold less than lists of old vectors alone."""


class Mixing(StrEnum):
    """Whether old and new vectors may serve lists together."""

    YES = "yes"
    """Most of what is specific to a query stays, and about as much as with old vectors.
    """
    NO = "no"
    """Most of what is specific to a query changes, or more than with old vectors."""
    UNDECIDED = "undecided"
    """The drawn lists do not decide between the two."""


@dataclass(frozen=True, eq=False)
class MixedLists:
    """Lists of the nearest rows of one model for queries of the other model.

    The lists are compared with the lists of the new model for the same queries, among
    the rows that both models hold. Rows of one side are compared by cosine, and rows of
    different sides as the models predict.
    """

    titles: tuple[str, str]
    """Titles of a query and of a listed row, such as "user" and "item"."""

    query: SideName
    """Side of the queries."""
    listed: SideName
    """Side of the listed rows."""
    n: int
    """Length of the lists."""
    n_rows: int
    """Shared rows with a direction, from which the queries were drawn."""
    old_among_new: Floats = field(repr=False)
    """(m,) share of each list of the new model that the old query finds among new rows.
    """
    new_among_old: Floats = field(repr=False)
    """(m,) share that the new query finds among old rows."""
    old_among_old: Floats = field(repr=False)
    """(m,) share that the old model has itself, without any mixing."""
    of_another: Floats = field(repr=False)
    """(m,) share that the new model lists for another query."""

    @property
    def title(self) -> str:
        """The direction, such as "user → item"."""
        return " → ".join(self.titles)

    @property
    def mixed(self) -> Floats:
        """(m,) shares of the kind of mixed lists that holds less on average."""
        if exceeds(float(self.old_among_new.mean()), float(self.new_among_old.mean())):
            return self.new_among_old
        return self.old_among_new

    def interval(self, values: Floats) -> tuple[float, float]:
        """Return the 95 % interval of a mean over the queries."""
        return mean_interval(values, independent_draws(len(values), self.n_rows))

    @property
    def mixing(self) -> Mixing:
        """Decide by intervals whether old and new vectors may be mixed.

        Vectors may be mixed if each kind of mixed list passes two conditions. Of the
        rows of the new model's list that the list of another query does not hold, it
        holds at least half. Of the whole list, it holds at most 5 % less than a list of
        old vectors alone, which served until now. The answer is NO if an interval
        excludes one of the two conditions, and UNDECIDED if an interval allows both
        answers.

        Without the first condition, the answer would be YES for unrelated vectors whose
        lists agree because an item bias decides most of them.
        """
        is_sure = True
        for values in (self.old_among_new, self.new_among_old):
            least = self.of_another + KEPT_BEYOND_OTHERS * (1 - self.of_another)
            low, high = self.interval(values - least)
            low_gain, high_gain = self.interval(values - self.old_among_old)
            if exceeds(0, high) or exceeds(-MOST_LOST, high_gain):
                return Mixing.NO
            if not (reaches(low, 0) and reaches(low_gain, -MOST_LOST)):
                is_sure = False
        if is_sure:
            return Mixing.YES
        return Mixing.UNDECIDED

    @property
    def sentence(self) -> str:
        """Say which share of the new model's lists mixed vectors keep."""
        query, listed = self.titles
        lists = f"Of the {self.n} {listed}s that the new model lists for each {query}"
        return (
            f"{lists}, mixed vectors keep {self._share(self.mixed)}, old vectors among "
            f"themselves {self._share(self.old_among_old)}, and the new list of "
            f"another {query} {self._share(self.of_another)} "
            f"({drawn_of(len(self.mixed), self.n_rows, 'list')})."
        )

    def _share(self, values: Floats) -> str:
        """Write a mean share with its interval, if there is one."""
        low, high = self.interval(values)
        interval = (max(low, 0.0), min(high, 1.0))
        return percent_with_interval(float(values.mean()), interval)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; None stands for an undefined number."""
        record: dict[str, Any] = {
            "direction": self.title,
            "query": self.query,
            "listed": self.listed,
            "n_neighbours": self.n,
            "n_lists": len(self.mixed),
            "n_rows": self.n_rows,
        }
        names = ("old_among_new", "new_among_old", "old_among_old", "of_another")
        for name in names:
            values = getattr(self, name)
            record[name] = float(values.mean())
            record[f"{name}_ci_low"], record[f"{name}_ci_high"] = self.interval(values)
        record["may_be_mixed"] = self.mixing.value
        return plain_dict(record)


def compare_lists(
    fit: RotationFit,
    query: SideName,
    listed: SideName,
    directed: dict[SideName, Flags],
    n_neighbours: int | None,
    draw: np.random.Generator,
) -> MixedLists:
    """Compare lists of mixed vectors with the lists of the new model.

    The rotation that maps each half of the queries was fitted to the other half.

    Parameters
    ----------
    fit : RotationFit
        Rotations between both models.
    query, listed : {"left", "right"}
        Sides of the queries and of the listed rows.
    directed : dict of array of shape (m,)
        True for the shared rows of each side that have a direction in both models.
    n_neighbours : int, optional
        Length of the lists.
    draw : numpy Generator
        Draws the queries.
    """
    queries, rows = fit.shared[query], fit.shared[listed]
    old, new = rows.old, rows.new
    n = list_length(n_neighbours, len(rows))
    eligible = np.flatnonzero(directed[query])
    # Four lists are searched for each query.
    n_affordable = LIST_PRODUCTS // (4 * len(rows) * old.rank)
    n_queries = min(N_QUERIES, max(FEWEST_LISTS, n_affordable))
    drawn = sample_rows(eligible, n_queries, draw)
    tie = max(tie_of(old.factors(listed)), tie_of(new.factors(listed)))
    old_order = _order(old, query, listed, rows.old_stored, rows.match.before)
    shares = np.empty((4, len(drawn)))
    for half, rotation in enumerate(fit.held_out):
        part = np.flatnonzero(fit.is_second_half[query][drawn] == bool(half))
        if not len(part):
            continue
        places = drawn[part]
        own = None
        if query == listed:
            # The same places stand for the new and for the old queries.
            own = np.concatenate([places, places])
        new_queries = fit.row_map(query, rotation)(queries.new_rows(places))
        both_queries = np.vstack([new_queries, queries.old_rows(places)])
        aligned = Mapped(
            rows.new_stored, fit.multiplied_map(listed, rotation), old.rank
        )
        new_order = _order(new, query, listed, aligned, rows.match.after)
        among_new = best_matches(new_order, both_queries, n, own=own)
        among_old = best_matches(old_order, both_queries, n, own=own)
        reference, old_among_new = _halves(among_new)
        new_among_old, old_among_old = _halves(among_old)
        # Rows next to each other can be alike, so the other query is drawn.
        order = draw.permutation(len(part))
        another = np.empty_like(order)
        another[order] = np.roll(order, 1)
        of_another = reference.take(another)
        compared = (old_among_new, new_among_old, old_among_old, of_another)
        for row, lists in enumerate(compared):
            shares[row, part] = shares_kept(reference, lists, tie)
    titles = (new.title(query), new.title(listed))
    return MixedLists(titles, query, listed, n, len(eligible), *shares)


def _order(
    model: FactorModel, query: SideName, listed: SideName, rows: Rows, numbers: Indices
) -> Order:
    """Return the order in which some rows of a side are listed.

    Parameters
    ----------
    rows : rows of shape (m, k)
        The rows to list.
    numbers : array of int (m,)
        Their row numbers in the model, which pick their biases.
    """
    if query == listed:
        return Order("cosine", rows)
    measure = trained_measure(model) or "dot"
    bias = bias_of(model)
    if bias is not None:
        bias = bias[numbers]
    return Order(measure, rows, bias)


def _halves(lists: BestMatches) -> tuple[BestMatches, BestMatches]:
    """Return the lists of the first and of the second half of the queries."""
    middle = len(lists.queries) // 2
    return lists.take(slice(middle)), lists.take(slice(middle, None))
