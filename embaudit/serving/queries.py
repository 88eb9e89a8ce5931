"""Rows that queries list too often or never, and queries that are far from all rows.

An index lists n of N rows for each query. The lists of m queries show which rows fill
them (hubs), and which rows are in none of them. Chance alone leaves rows out, too, and
most rows if there are few queries. So both numbers are compared with equal popularity
(`embaudit.serving.equal_popularity`). `embaudit.serving.nearness` says when a query is
far from all rows.

Rows that are equal in the order of the lists count as one row, and so do equal queries:
the second one of two equal rows is in a list only if the first one is, and the lists of
two equal queries are not independent.

*Rows that no query at all lists first.* By cosine or distance, a query that is equal to
a row lists this row first. By inner product this does not hold: a row inside the convex
hull of other rows is first for no query, because its inner product is a weighted mean
of theirs (Demeter, Kimmel & Downey, "Stolen Probability", ACL 2020). With a bias, the
hull is that of the rows with the bias as one more column, and queries have a 1 there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embaudit.core.checked import (
    RNG,
    Floats,
    Indices,
    Matrix,
    Vector,
    as_generator,
    named_keywords,
)
from embaudit.core.plain import plain_dict
from embaudit.core.results import Result
from embaudit.core.ties import exceeds, largest_first, reaches
from embaudit.core.tolerances import TIE
from embaudit.core.words import (
    counted,
    in_decimals,
    listed,
    percent,
    row_called,
)
from embaudit.errors import must_be
from embaudit.heads.argmaxable import argmaxable
from embaudit.io import model_of, read
from embaudit.io.files import AnyPath
from embaudit.io.intake import Metric
from embaudit.linalg.best_matches import Measure, Order, best_matches
from embaudit.linalg.duplicates import duplicate_representatives
from embaudit.linalg.hubs import ONE_IN, Hubs, hubs, occurrences
from embaudit.linalg.nearest import list_length, require_length
from embaudit.linalg.rows import sample_rows
from embaudit.linalg.taken import taken_rows
from embaudit.model import FactorModel, Side
from embaudit.model.sizes import require_ordinary_size
from embaudit.serving.equal_popularity import (
    MOST_UNREACHED,
    deviation_by_chance,
    lists_needed,
    most_by_chance,
    unreached_by_chance,
)
from embaudit.serving.index_metric import (
    MEASURE_WORDS,
    Served,
    bias_of,
    has_metric,
    index_measure,
    trained_measure,
)
from embaudit.serving.nearness import MAX_REFERENCES, Nearness, measure_nearness

if TYPE_CHECKING:
    import pandas as pd

FILLED = 0.1
"""Hubs are reported if they fill at least this share of all places in lists."""
UNREACHED = 0.01
"""Rows in no list are reported if at least this share of all rows is in no list beyond
chance."""
HANDFUL = 5
"""Smallest reported number of rows in no list beyond chance."""
RARE = 0.25
"""Rows in no list are reported if their popularity, by the estimate of Good and Turing,
is at most this share of the average popularity."""
DEVIATIONS = 4.0
"""Standard deviations by which more rows must be in no list than by chance."""
MOST_PRODUCTS = 10**12
"""Largest number of products of two entries for the lists (about 1 minute)."""
LEAST_QUERIES = 1_000
"""Number of queries whose lists are computed even if this takes longer."""
MOST_EXAMINED = 16
"""Largest number of rows in no list that are tested: can any query list them first?"""
SHOWN = 10
"""Number of rows and queries of a table."""
NAMED = 3
"""Number of rows and queries that a sentence names."""


@dataclass(frozen=True, eq=False)
class QueryReach(Result):
    """The rows that the lists of some queries hold, and how near the queries come.

    Examples
    --------
    >>> draw = np.random.default_rng(0)
    >>> items, queries = draw.normal(size=(50, 3)), draw.normal(size=(200, 3))
    >>> found = query_reach(items, queries)
    >>> found.n, found.counts.sum(), len(found.unreached)
    (10, np.int64(2000), 0)
    """

    measure: Measure
    """How the lists compare queries and rows."""
    source: str
    """Source of the measure, in words."""
    has_bias: bool
    """True if the bias of the rows is added."""
    item: str
    """Title of a row, such as "item"."""
    labels: NDArray[Any] = field(repr=False)
    """Titles, ids or numbers of all rows."""
    row_title: str
    """Title that stands before the number of a row; empty if rows have names."""
    query_title: str
    """Title of a query, such as "query" or "user"."""
    query_labels: NDArray[Any] = field(repr=False)
    """Titles, ids or numbers of all queries."""
    n: int
    """Length of the lists."""
    n_queries: int
    """Number of queries that were given."""
    n_zeros: int
    """Number of queries of zeros, which have no order and were skipped."""
    n_different: int
    """Number of different queries that are not skipped."""
    queries: Indices
    """(m,) numbers of the queries whose lists were counted."""
    n_undirected: int
    """Number of rows of zeros that no list can hold, because they have no cosine."""
    sampled_from: int | None
    """Number of rows of the table, if only a sample of them was searched; else None."""
    rows: Indices
    """(N,) numbers of the different rows that lists can hold."""
    counts: Indices
    """(N,) number of lists that hold each of these rows."""
    most_listed: Hubs
    """The rows that are in most lists."""
    lengths: tuple[float, float] | None
    """Median length of the rows in no list and of the other rows, by inner product."""
    examined: Indices
    """Rows in no list that were tested for a query that lists them first."""
    never_first: Indices
    """Examined rows that no query at all lists first."""
    reference_title: str
    """Title of the reference rows: "item", or the title of a left row."""
    nearness: Nearness | None
    """How near the queries come to their best rows; None if this cannot be judged."""

    # Rows in many lists, and in none

    @property
    def unreached(self) -> Indices:
        """Numbers of the rows that no list holds."""
        return np.asarray(self.rows[self.counts == 0])

    @property
    def share_unreached(self) -> float:
        """Share of the rows that no list holds."""
        return len(self.unreached) / len(self.rows)

    @property
    def by_chance(self) -> float:
        """Share of the rows that chance leaves in no list."""
        return unreached_by_chance(len(self.queries), self.n, len(self.rows))

    @property
    def new_per_list(self) -> float:
        """Expected number of unreached rows in the list of a further query.

        By the estimate of Good and Turing it is the mean number of rows per list that
        no other list holds.
        """
        return float(np.count_nonzero(self.counts == 1)) / len(self.queries)

    @property
    def average_per_list(self) -> float:
        """Expected number if the unreached rows were of average popularity: `u · n/N`.

        u is the number of unreached rows.
        """
        return len(self.unreached) * self.n / len(self.rows)

    @property
    def most_by_chance(self) -> int:
        """Number of lists that no row would exceed by chance, with 99 % certainty."""
        return most_by_chance(len(self.queries), self.n, len(self.rows))

    @property
    def has_enough_queries(self) -> bool:
        """True if chance would leave at most 5 % of the rows in no list."""
        return reaches(MOST_UNREACHED, self.by_chance)

    @property
    def queries_needed(self) -> int:
        """Smallest number of queries for which `has_enough_queries` holds."""
        return lists_needed(self.n, len(self.rows))

    @property
    def hubs(self) -> list[tuple[int, float]]:
        """Numbers of the hubs, and the share of the lists that each one is in.

        Hubs are the 1 % of the rows that are in most lists, ten rows at most, if they
        are in more lists than chance alone would bring any row into.
        """
        if len(self.rows) < ONE_IN:
            return []
        least = self.most_by_chance / len(self.queries)
        pairs = zip(self.most_listed.few, self.most_listed.lists_with, strict=True)
        return [(row, share) for row, share in pairs if exceeds(share, least)]

    @property
    def filled(self) -> float:
        """Share of all places in lists that the hubs fill."""
        return sum(share for _, share in self.hubs) / self.n

    @property
    def has_hubs(self) -> bool:
        """True if the hubs fill at least 10 % of all places."""
        return reaches(self.filled, FILLED)

    @property
    def has_unreached(self) -> bool:
        """True if clearly more rows than by chance are in no list.

        Further queries would reach rows that are merely less popular. So the rows in no
        list must also have at most a quarter of the average popularity.
        """
        if not self.has_enough_queries:
            return False
        if not reaches(RARE * self.average_per_list, self.new_per_list):
            return False
        n_rows = len(self.rows)
        excess = len(self.unreached) - n_rows * self.by_chance
        deviation = deviation_by_chance(len(self.queries), self.n, n_rows)
        least = max(UNREACHED * n_rows, HANDFUL, DEVIATIONS * deviation)
        return reaches(excess, least)

    @property
    def has_far(self) -> bool:
        """True if clearly some queries are far, or if the queries do not fit."""
        return self.nearness is not None and self.nearness.has_far

    # Sentences

    @property
    def items(self) -> str:
        """The rows in the plural, such as "items"."""
        return f"{self.item}s"

    @property
    def all_items(self) -> str:
        """The rows that were searched, such as "all items" or "all sampled items"."""
        if self.sampled_from is None:
            return f"all {self.items}"
        return f"all sampled {self.items}"

    @property
    def on_queries(self) -> str:
        """Say how many queries were counted, and how the lists compare."""
        text = f"The top {self.n} of {self._measured_on} was computed"
        parts = [f"{text} by {MEASURE_WORDS[self.measure]} ({self.source})."]
        if self.sampled_from is not None:
            parts.append(
                f"Only a sample of {len(self.rows):,} of {self.sampled_from:,} "
                f"{self.items} was searched."
            )
        n_equal = self.n_queries - self.n_zeros - self.n_different
        if n_equal:
            parts.append(
                f"Equal queries count once: {n_equal:,} of {self.n_queries:,} repeat "
                "another one."
            )
        if self.n_zeros:
            parts.append(
                f"{_queries(self.n_zeros)} of zeros {_was(self.n_zeros)} skipped."
            )
        if self.n_undirected:
            parts.append(
                f"{counted(self.n_undirected, self.item)} of zeros can be in no list, "
                f"because rows of zeros have no {MEASURE_WORDS[self.measure]}."
            )
        return " ".join(parts)

    @property
    def _measured_on(self) -> str:
        """Number of queries whose lists were counted."""
        m = len(self.queries)
        if m < self.n_different:
            return f"{m:,} of {self.n_different:,} {self._plural_of_queries}"
        return self._counted_queries(m)

    @property
    def measured_on(self) -> str:
        """Number of lists, and number of queries that they were drawn from.

        If a sample of a table was searched alone, the size of the table is added.
        """
        lists = f"lists of {self._measured_on}"
        if self.sampled_from is None:
            return lists
        sample = f"{len(self.rows):,} of {self.sampled_from:,} {self.items}"
        return f"{lists} among a sample of {sample}"

    @property
    def _plural_of_queries(self) -> str:
        if self.query_title == "query":
            return "queries"
        return f"{self.query_title}s"

    def _counted_queries(self, count: int) -> str:
        if self.query_title == "query":
            return _queries(count)
        return counted(count, self.query_title)

    def _row_name(self, row: int) -> str:
        """Return the name of a row, or its title and number."""
        return row_called(self.row_title, str(self.labels[row]))

    def _query_name(self, query: int) -> str:
        """Return the name of a query, or its title and number."""
        return row_called(self.query_title, str(self.query_labels[query]))

    @property
    def on_hubs(self) -> str:
        """Name the rows that are in most lists, and compare them with chance."""
        pairs = list(
            zip(self.most_listed.few, self.most_listed.lists_with, strict=True)
        )
        named = listed(
            [
                f"{self._row_name(row)} ({percent(share)})"
                for row, share in pairs[:NAMED]
            ],
            NAMED,
        )
        m = len(self.queries)
        chance = (
            f"If {self.all_items} were equally popular, each would be in "
            f"{_figure(m * self.n / len(self.rows))} of {m:,} lists on average, and no "
            f"{self.item} in more than {self.most_by_chance:,} (99 % sure)."
        )
        if not self.has_hubs:
            return f"In most lists: {named}. {chance}"
        hubs_named = counted(len(self.hubs), self.item)
        verb = "fills" if len(self.hubs) == 1 else "fill"
        return (
            f"{hubs_named} of {len(self.rows):,} {verb} {percent(self.filled)} of all "
            f"places in the lists. In most lists: {named}. {chance}"
        )

    @property
    def on_reach(self) -> str:
        """Say how many rows are in no list, and how many would be by chance."""
        n_rows = len(self.rows)
        m = len(self.queries)
        if not len(self.unreached):
            return f"Each of {self._all_rows} is in the top {self.n} of some query."
        found = (
            f"{len(self.unreached):,} of {self._all_rows} "
            f"({percent(self.share_unreached)}) {_is(len(self.unreached))} in no top "
            f"{self.n} of {self._counted_queries(m)}."
        )
        chance = (
            f"If {self.all_items} were equally popular, "
            f"{_figure(n_rows * self.by_chance)} ({percent(self.by_chance)}) would be "
            "in no list by chance."
        )
        if not self.has_enough_queries:
            return (
                f"{found} {chance} So there are too few queries to say which "
                f"{self.items} nobody finds: at least {self.queries_needed:,} "
                "different queries are needed."
            )
        return f"{found} {chance} {self._on_further_queries}"

    @property
    def _all_rows(self) -> str:
        if self.sampled_from is not None:
            return f"{len(self.rows):,} sampled {self.items}"
        if len(self.labels) == len(self.rows):
            return counted(len(self.rows), self.item)
        return f"{len(self.rows):,} different {self.items}"

    @property
    def _on_further_queries(self) -> str:
        """Say how many rows in no list a further query would list."""
        return (
            f"A further query of this kind would list {_figure(self.new_per_list)} of "
            "them on average (estimate of Good and Turing). It would list "
            f"{_figure(self.average_per_list)} of the same number of {self.items} of "
            "average popularity."
        )

    @property
    def on_unreached(self) -> str:
        """Name rows in no list, and say why if this is known."""
        if not len(self.unreached):
            return ""
        names = [str(row["name"]) for row in self.shown_unreached()[:NAMED]]
        n_more = len(self.unreached) - len(names)
        text = ", ".join(names)
        if n_more:
            text += f" and {n_more:,} more"
        parts = [f"In no list: {text}."]
        if self.lengths is not None:
            short, long = self.lengths
            if exceeds(long, short * 1.05):
                parts.append(
                    f"Their vectors are shorter (median length {_figure(short)}; "
                    f"other {self.items}: {_figure(long)})."
                )
        parts.append(self.on_all_queries)
        return " ".join(filter(None, parts))

    @property
    def on_all_queries(self) -> str:
        """Say which rows no query at all can list first."""
        if self.measure in ("cosine", "l2") and not self.has_bias:
            return (
                f"By {MEASURE_WORDS[self.measure]}, no {self.item} is out of reach of "
                "every query: a query with the same vector lists it first."
            )
        if not len(self.never_first):
            return ""
        n_examined = len(self.examined)
        n_never = len(self.never_first)
        return (
            f"{n_never:,} of the {n_examined:,} shortest of them can be the best "
            f"{self.item} of no query, whatever its vector (proven, up to rounding: "
            f"inside the convex hull of the other {self.items})."
        )

    @property
    def on_far(self) -> str:
        """Say which queries are far from all rows."""
        near = self.nearness
        if near is None:
            return ""
        word = _CLOSENESS.get(self.measure, "score")
        typical = self._level(near.typical_closeness)
        unrelated = self._level(near.unrelated_closeness)
        if not near.fits:
            reference = percent(near.reference_near_share or 0.0)
            return (
                f"The queries do not fit these {self.items}: only "
                f"{percent(near.near_share)} of them are nearer to some {self.item} "
                "than 95 % of unrelated queries (random mixtures of all queries). Of "
                f"the {self.reference_title}s, {reference} are nearer than 95 % of "
                f"mixtures of {self.reference_title}s. The best {word} of the typical "
                f"(median) query is {typical}, and {unrelated} for the typical "
                "unrelated query."
            )
        if not near.n_far:
            found = f"No query is far from {self.all_items}"
            if not near.shows_subjects:
                found = (
                    f"No query is clearly far from {self.all_items}, but only "
                    f"{percent(near.near_share)} of the queries are nearer to some "
                    f"{self.item} than 95 % of unrelated queries (random mixtures of "
                    "all queries)"
                )
            return (
                f"{found}: the typical (median) best {word} is {typical}, and "
                f"{unrelated} for unrelated queries."
            )
        far = self.farthest()
        names = listed([str(record["query"]) for record in far[:NAMED]], NAMED)
        farthest = self._level(float(near.closeness.values.min()))
        n_more = near.n_far - min(NAMED, len(far))
        if n_more > 0:
            names += f" and {n_more:,} more"
        return (
            f"{self._counted_queries(near.n_far)} of {len(self.queries):,} "
            f"{_is(near.n_far)} far from {self.all_items}: {names}. The best {word} of "
            f"the farthest is {farthest}. It is {typical} "
            f"for the typical (median) query, and {unrelated} for the typical "
            "unrelated query (a random mixture of all queries)."
        )

    def _level(self, value: float) -> str:
        """Write the closeness of a best row; a distance is positive."""
        if self.measure == "l2":
            value = -value
        if self.measure == "cosine" and not self.has_bias:
            return in_decimals(value, 2)
        return _figure(value)

    def explain(self) -> str:
        """Describe which rows the queries find, and how near to rows they are."""
        unreached = ""
        if self.has_enough_queries:
            unreached = self.on_unreached
        return " ".join(
            filter(
                None,
                [
                    self.on_queries,
                    self.on_hubs,
                    self.on_reach,
                    unreached,
                    self.on_far,
                ],
            )
        )

    def __repr__(self) -> str:
        n_rows = counted(len(self.rows), self.item)
        return (
            f"QueryReach({len(self.unreached):,} of {n_rows} in no "
            f"top {self.n} of {self._counted_queries(len(self.queries))})"
        )

    # Tables

    def shown_unreached(self) -> list[dict[str, Any]]:
        """Return up to 10 rows in no list.

        Rows that no query at all lists first come first, then the smallest numbers.

        Columns
        -------
        row : int
            Number of the row.
        name : str
            Its title, id or number.
        never_first : bool
            True if it is proven that no query at all lists it first.
        """
        never: list[int] = self.never_first.tolist()
        others = [row for row in self.unreached[:SHOWN].tolist() if row not in never]
        return [
            {"row": row, "name": self._row_name(row), "never_first": row in never}
            for row in (never + others)[:SHOWN]
        ]

    def farthest(self) -> list[dict[str, Any]]:
        """Return up to 10 queries that are far from all rows, the farthest first.

        Columns
        -------
        query : str
            Title, id or number of the query.
        number : int
            Number of the query.
        best : float
            Closeness to its best row, as in `Closeness.values`; by distance, the
            distance.
        """
        if self.nearness is None:
            return []
        far = np.flatnonzero(self.nearness.is_far)
        closest = self.nearness.closeness.values[far]
        sign = -1.0 if self.measure == "l2" else 1.0
        return [
            {
                "query": self._query_name(int(self.queries[far[place]])),
                "number": int(self.queries[far[place]]),
                "best": sign * float(closest[place]),
            }
            for place in largest_first(-closest)[:SHOWN]
        ]

    def most_listed_rows(self) -> list[dict[str, Any]]:
        """Return up to 10 rows that are in most lists.

        Columns
        -------
        row : int
            Number of the row.
        name : str
            Its title, id or number.
        lists : int
            Number of lists that hold it.
        share : float
            Share of the lists that hold it.
        """
        records = []
        for place in np.argsort(-self.counts, kind="stable")[:SHOWN]:
            count = int(self.counts[place])
            if count:
                share = count / len(self.queries)
                records.append({**self._record(place), "share": share})
        return records

    def records(self) -> list[dict[str, Any]]:
        """Return one record per different row.

        Columns
        -------
        row : int
            Number of the row.
        name : str
            Its title, id or number.
        lists : int
            Number of lists that hold it.
        """
        return [self._record(place) for place in range(len(self.rows))]

    def _record(self, place: int) -> dict[str, Any]:
        """Describe a row that lists can hold, by its place in `rows`."""
        row = int(self.rows[place])
        return {
            "row": row,
            "name": self._row_name(row),
            "lists": int(self.counts[place]),
        }

    def to_frame(self) -> pd.DataFrame:
        """Return one line per different row, with the columns of `records`."""
        import pandas as pd

        return pd.DataFrame(self.records(), columns=["row", "name", "lists"])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; None stands for an undefined number."""
        return plain_dict(
            {
                "measure": self.measure,
                "source": self.source,
                "has_bias": self.has_bias,
                "top_n": self.n,
                "n_queries": self.n_queries,
                "n_zeros": self.n_zeros,
                "n_different": self.n_different,
                "n_lists": len(self.queries),
                "n_rows": len(self.rows),
                "n_undirected": self.n_undirected,
                "sampled_from": self.sampled_from,
                "most_listed": self.most_listed_rows(),
                "most_by_chance": self.most_by_chance,
                "hubs": [row for row, _ in self.hubs],
                "filled": self.filled,
                "skewness": self.most_listed.skewness,
                "n_unreached": len(self.unreached),
                "unreached_by_chance": len(self.rows) * self.by_chance,
                "new_per_list": self.new_per_list,
                "queries_needed": self.queries_needed,
                "unreached": self.shown_unreached(),
                "n_examined": len(self.examined),
                "never_first": self.never_first,
                "nearness": self.nearness,
                "far": self.farthest(),
                "explanation": self.explain(),
            }
        )


_CLOSENESS: dict[Measure, str] = {
    "cosine": "cosine",
    "dot": "inner product",
    "l2": "distance",
}
"""Word for how near a query comes to its best row."""


def _queries(count: int) -> str:
    """Count queries.

    Examples
    --------
    >>> _queries(1), _queries(2_000)
    ('1 query', '2,000 queries')
    """
    return "1 query" if count == 1 else f"{count:,} queries"


def _is(count: int) -> str:
    return "is" if count == 1 else "are"


def _was(count: int) -> str:
    return "was" if count == 1 else "were"


def _figure(value: float) -> str:
    """Write a number with up to three digits, and large numbers in full.

    Examples
    --------
    >>> _figure(0.5), _figure(1234.5), _figure(1e-8), _figure(0.0)
    ('0.5', '1,234', '<0.001', '0')
    """
    if 0 < value < 0.001:
        return "<0.001"
    if abs(value) >= 1_000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


@named_keywords
def query_reach(
    items: FactorModel | AnyPath | object,
    queries: FactorModel | AnyPath | ArrayLike | None = None,
    *,
    served: Served | None = None,
    n_neighbours: int | None = None,
    rng: RNG = 0,
) -> QueryReach:
    """Find the rows that queries list too often or never, and queries far from rows.

    Parameters
    ----------
    items : FactorModel, path or object
        The rows to list: a model, or an object that `embaudit.load` reads. The right
        rows of a model of two sides are listed.
    queries : FactorModel, path, array or object, optional
        The queries: one table of vectors that `embaudit.load` reads, as wide as the
        rows. By default the left rows of a model of two sides.
    served : {"cosine", "dot", "l2"}, optional
        How the index compares queries and rows. By default the measure that the store
        or the FAISS file of the rows states, or else the measure by which the model
        predicts, with its bias, or else the cosine.
    n_neighbours : int, optional
        Length of the lists. The default is 10, but at most a third of the other rows.
    rng : numpy Generator or int
        Draws the queries if all of them take too long, and the random mixtures of
        queries that queries are compared with.

    Returns
    -------
    QueryReach
        The number of lists that hold each row, and the closeness of the queries.

    Raises
    ------
    InputError
        If the queries are not one table of the width of the rows, if all queries are
        zero, or if fewer than two different rows can be listed.

    Examples
    --------
    By inner product, the short item between the two others is never the best one.

    >>> items = [[2.0, 0.0], [0.0, 2.0], [0.5, 0.5]]
    >>> angles = np.linspace(0, np.pi / 2, 50)
    >>> queries = np.column_stack([np.cos(angles), np.sin(angles)])
    >>> query_reach(items, queries, served="dot").unreached.tolist()
    [2]
    >>> query_reach(items, queries, served="cosine").unreached.tolist()
    []
    """
    reading = read(items)
    stated = None if reading.intake is None else reading.intake.metric
    model = reading.model
    require_length(n_neighbours, model.n_right)
    side = query_side(model, queries)
    return measure_reach(
        model,
        side,
        served,
        stated,
        n_neighbours=n_neighbours,
        rng=as_generator(rng),
    )


def query_side(
    model: FactorModel, queries: FactorModel | AnyPath | ArrayLike | None
) -> Side:
    """Read queries, and check that they are as wide as the rows of a model.

    The result is the left side of the model if there are no queries.
    """
    if queries is None:
        if model.left_side is None:
            raise must_be(
                "queries",
                "given, because the model has one side only",
                "None",
                "name a table of vectors",
            )
        return model.left_side
    table = model_of(queries)
    if table.left_side is not None:
        raise must_be("queries", "one table of vectors", "a model of two sides")
    if table.rank != model.rank:
        raise must_be(
            "queries",
            f"vectors of {counted(model.rank, 'column')}, as the "
            f"{model.title('right')} rows are",
            f"vectors of {counted(table.rank, 'column')}",
            "encode them with the model that made these rows",
        )
    require_ordinary_size(table)
    return table.right_side


def measure_reach(
    model: FactorModel,
    query_rows: Side,
    served: Served | None,
    stated: Metric | None = None,
    *,
    n_neighbours: int | None = None,
    searched: Indices | None = None,
    rng: np.random.Generator,
) -> QueryReach:
    """Find the rows that queries list too often or never, and queries far from rows.

    Parameters
    ----------
    model : FactorModel
        The model whose right rows are listed.
    query_rows : Side
        The queries, as `query_side` reads them.
    stated : Metric, optional
        Metric that the store of the model states. It is used if `served` is None.
    searched : array of int, optional
        Rows that lists can hold, as in a quick audit of a long table; all by default.
    served, n_neighbours, rng
        As for `query_reach`.
    """
    require_ordinary_size(model)
    side = model.right_side
    measure, bias, source = _measure(model, served, stated)
    rows = _different(side, measure, bias)
    if searched is not None:
        rows = np.intersect1d(rows, searched)
    if len(rows) < 2:
        raise must_be(
            f"the number of different {side.title}s that lists can hold",
            "at least 2",
            len(rows),
        )
    n = list_length(n_neighbours, len(rows))
    listed_bias = None if bias is None else bias[rows]
    order = Order(measure, taken_rows(side.rows, rows), listed_bias)

    distinct = _different_queries(query_rows, measure, bias)
    n_zeros = 0
    if measure in ("cosine", "dot") and bias is None:
        n_zeros = len(query_rows) - len(query_rows.directed)
    most = max(LEAST_QUERIES, MOST_PRODUCTS // (len(rows) * model.rank))
    numbers = sample_rows(distinct, most, rng)
    queries = np.ascontiguousarray(query_rows.rows[numbers], dtype=np.float64)
    if served is None and not has_metric(stated):
        queries = model.product_rows("left", queries)
    best = best_matches(order, queries, n)
    counts = occurrences(best.indices, len(rows))
    unreached = rows[counts == 0]

    lengths = None
    examined = never_first = rows[:0]
    if measure == "dot" and len(unreached):
        norms = side.norms
        reached = rows[counts > 0]
        lengths = (
            float(np.median(norms[unreached])),
            float(np.median(norms[reached])),
        )
        by_length = unreached[largest_first(-norms[unreached])]
        examined = np.sort(by_length[:MOST_EXAMINED])
        never_first = _never_first(model, bias, examined)
    references, own = _reference_rows(model, query_rows, rows, rng)
    title = "query"
    if query_rows is model.left_side:
        title = query_rows.title
    return QueryReach(
        measure=measure,
        source=source,
        has_bias=bias is not None,
        item=side.title,
        labels=side.labels,
        row_title=model.row_title("right"),
        query_title=title,
        query_labels=query_rows.labels,
        n=n,
        n_queries=len(query_rows),
        n_zeros=n_zeros,
        n_different=len(distinct),
        queries=numbers,
        n_undirected=len(side) - len(side.directed) if measure == "cosine" else 0,
        sampled_from=None if searched is None else len(side),
        rows=rows,
        counts=counts,
        most_listed=hubs(rows[best.indices], rows),
        lengths=lengths,
        examined=examined,
        never_first=never_first,
        reference_title=side.title
        if model.left_side is None
        else model.left_side.title,
        nearness=measure_nearness(
            order,
            queries,
            best.values[:, 0],
            references=references,
            own=own,
            rng=rng,
        ),
    )


def _measure(
    model: FactorModel, served: Served | None, stated: Metric | None
) -> tuple[Measure, Floats | None, str]:
    """Return how lists compare queries and rows, the bias to add, and the source."""
    if served is not None or has_metric(stated):
        metric, source = index_measure(served, stated)
        return metric, None, source
    measure = trained_measure(model)
    if model.link.name == "softmax":
        measure = "cosine" if "right" in model.link.unit_sides else "dot"
    if measure is None:
        return "cosine", None, "the measure of this audit; `--served` chooses another"
    if model.link.is_assumed:
        return measure, bias_of(model), "by which the model is assumed to predict"
    return measure, bias_of(model), "by which the model predicts"


def _different(side: Side, measure: Measure, bias: Floats | None) -> Indices:
    """Return the first row of each set of rows that are equal in an order.

    Rows of one direction are equal if lengths and biases change no order. Otherwise
    equal rows also have equal lengths and equal biases.

    Parameters
    ----------
    side : Side
        Rows to list, or queries.
    measure : str
        The measure in which rows are equal: "cosine" if lengths change no order. Rows
        of zeros have no cosine, so they are left out then.
    bias : array, optional
        Bias of each row.
    """
    directed = side.directed
    places = duplicate_representatives(side.rows, directed)
    if measure == "cosine" and bias is None:
        return directed[np.unique(places)]
    groups = np.full(len(side), -1)
    groups[directed] = directed[places]
    return _first_of_equal(groups, side.norms, bias)


def _different_queries(
    query_rows: Side, measure: Measure, bias: Floats | None
) -> Indices:
    """Return the first one of each set of equal queries.

    The length of a query changes no order by cosine and by inner product. Without a
    bias, a query of zeros has no order by these measures.
    """
    has_lengths = bias is not None or measure in ("l2", "hyperbolic")
    if has_lengths:
        return _different(query_rows, "l2", None)
    if not len(query_rows.directed):
        raise must_be("queries", "vectors that are not all zero", "only rows of zeros")
    return _different(query_rows, "cosine", None)


def _first_of_equal(groups: Indices, lengths: Vector, bias: Vector | None) -> Indices:
    """Return the first row of each set of rows of one group, length and bias.

    Parameters
    ----------
    groups : array of int (n,)
        Rows of one direction have the same number.
    lengths : array of shape (n,)
    bias : array of shape (n,), optional

    Examples
    --------
    >>> _first_of_equal(np.array([0, 1, 0, 0]), np.array([1.0, 1.0, 2.0, 1.0]), None)
    array([0, 1, 2])
    """
    values = np.zeros(len(groups)) if bias is None else bias
    order = np.lexsort((np.arange(len(groups)), values, lengths, groups))
    sizes = lengths[order]
    values = values[order]
    is_first = np.ones(len(groups), dtype=bool)
    is_first[1:] = (
        (np.diff(groups[order]) != 0)
        | (np.diff(sizes) > TIE * sizes[1:])
        | (np.abs(np.diff(values)) > TIE * np.abs(values).max(initial=0.0))
    )
    starts = np.flatnonzero(is_first)
    return np.sort(np.minimum.reduceat(order, starts))


def _never_first(model: FactorModel, bias: Floats | None, rows: Indices) -> Indices:
    """Return the given rows that no query at all lists first by inner product."""
    matrix: Matrix = model.right
    if len(model.right_side.directed) < 2 or bool((matrix == matrix[:1]).all()):
        return rows[:0]
    head = FactorModel.from_softmax(matrix, bias)
    return np.asarray(rows[argmaxable(head, rows=rows).cannot])


def _reference_rows(
    model: FactorModel, query_rows: Side, rows: Indices, rng: np.random.Generator
) -> tuple[Floats | None, Indices | None]:
    """Return the reference rows of `embaudit.serving.nearness`.

    These are left rows of a model of two sides, or rows of the lists themselves with
    their places among these. A softmax head without inputs has none, and neither has a
    model whose left rows are the queries.
    """
    left = model.left_side
    if query_rows is left:
        return None, None
    if left is not None:
        sample = sample_rows(left.directed, MAX_REFERENCES, rng)
        block = np.ascontiguousarray(left.rows[sample], dtype=np.float64)
        return model.product_rows("left", block), None
    if model.link.name == "softmax":
        return None, None
    norms = model.right_side.norms
    places = sample_rows(np.flatnonzero(norms[rows] > 0), MAX_REFERENCES, rng)
    block = np.ascontiguousarray(model.right[rows[places]], dtype=np.float64)
    return block, places
