"""Lists of an index, compared with the lists that a model was trained to give.

An index ranks rows by inner product, cosine or Euclidean distance. A model was trained
for one of them. If the two differ, the index lists other rows than the model does.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import (
    RNG,
    Floats,
    Indices,
    as_count,
    as_generator,
    named_keywords,
    require_one_of,
)
from embaudit.core.plain import plain_dict
from embaudit.core.results import Result
from embaudit.core.sizes import N_QUERIES
from embaudit.core.ties import exceeds
from embaudit.core.tolerances import EXACT_SHAPE
from embaudit.core.words import drawn_of, in_millions, percent, row_called, three_digits
from embaudit.errors import must_be
from embaudit.io import read
from embaudit.io.files import AnyPath
from embaudit.io.intake import Metric
from embaudit.linalg.best_matches import (
    BestMatches,
    Measure,
    Order,
    best_matches,
    shares_kept,
)
from embaudit.linalg.nearest import list_length, require_length, tie_of
from embaudit.linalg.rows import sample_rows
from embaudit.model import FactorModel, Side, SideName
from embaudit.model.sizes import require_ordinary_size

if TYPE_CHECKING:
    import pandas as pd

Served: TypeAlias = Literal["cosine", "dot", "l2"]
"""How an index compares rows: by cosine, inner product or Euclidean distance."""
SERVED: tuple[Served, ...] = get_args(Served)
"""The measures of an index."""
DECLARED = "as you declared"
"""Source of a measure that the caller gave."""
CHANGED = 0.05
"""Share of the listed rows above which a change of lists is reported."""
SHOWN = 5
"""Number of worst-hit rows that are shown."""
LONG, SHORT = 0.95, 0.05
"""Quantiles of the lengths whose ratio tells how far lengths are spread."""
MEASURE_WORDS: dict[Measure, str] = {
    "dot": "inner product",
    "cosine": "cosine",
    "l2": "Euclidean distance",
    "hyperbolic": "hyperbolic distance",
}
"""Words that follow "compares by" in a sentence."""
TRAINED_WORDS: dict[Measure, str] = {
    "dot": "dot products",
    "cosine": "cosines",
    "l2": "Euclidean distances",
    "hyperbolic": "hyperbolic distances",
}
"""Words that follow "was trained on" in a sentence."""


class Basis(Enum):
    """Measure that the lists of an index are compared with."""

    TRAINING = "the measure of the training"
    """The order in which the model predicts."""
    BETWEEN_SIDES = "the measure between both sides"
    """The measure of the training between two sides, applied to rows of one side.

    The training compared no rows of this side with each other."""
    THIS_AUDIT = "the cosine that the audit is about"
    """The cosine, because it is not known how the rows were trained."""


class Lengths(Enum):
    """The lengths of the indexed rows that have a direction."""

    UNIT = "all 1"
    """All rows with a direction have length 1."""
    EQUAL = "all equal"
    """All rows with a direction have one length, which is not 1."""
    SPREAD = "spread"
    """Rows with a direction have different lengths."""
    LOST = "lost"
    """The store divided the rows by their lengths."""


@dataclass(frozen=True, eq=False)
class ServedLists:
    """The lists of an index in one direction, such as items for users."""

    role: SideName
    """Side of the queries; the listed rows are those of the right side."""
    query: str
    """Title of a query, such as "user"."""
    item: str
    """Title of a listed row, such as "item"."""
    served: Served
    """Measure of the index."""
    trained: Measure
    """Measure that the index is compared with."""
    basis: Basis
    """Where that measure comes from."""
    is_assumed: bool
    """True if neither the file nor the caller declared how the model predicts."""
    n: int
    """Length of the lists."""
    queries: Indices
    """(m,) rows whose lists were compared."""
    n_rows: int
    """Number of rows that have a direction, from which the queries were drawn."""
    sampled_from: int | None
    """Number of rows of the table, if only a sample of them was searched; else None."""
    kept_by_query: Floats
    """(m,) share of each list that the index keeps."""
    labels: NDArray[Any] = field(repr=False)
    """(m,) titles, ids or numbers of the queries."""
    row_title: str
    """Title that stands before the number of a query; empty if queries have names."""
    kept_without_bias: float | None
    """Share that the measure of the training keeps without the bias, because an index
    of the factors does not hold the bias. None for a model without a bias."""
    popularity: tuple[float, float]
    """Median popularity of the rows listed by the model, and by the index."""
    popularity_is_length: bool
    """True if popularity is the length of a row, False for numbers of interactions."""
    own_first: float | None
    """Share of the queries that are their own best match in the index; None between two
    sides."""

    @property
    def kept(self) -> float:
        """Share of the lists that the index keeps, as the mean over the queries."""
        return float(self.kept_by_query.mean())

    @property
    def changed(self) -> float:
        """Share of the lists that the index replaces."""
        return 1 - self.kept

    @property
    def changes(self) -> bool:
        """True if the index replaces more than 5 % of the lists."""
        return exceeds(self.changed, CHANGED)

    @property
    def title(self) -> str:
        """The direction, such as "user → item"."""
        return f"{self.query} → {self.item}"

    @property
    def measured_on(self) -> str:
        """Number of measured lists, and number of lists that they were drawn from.

        If a sample of a table was searched alone, the size of the table is added.
        """
        lists = f"lists of {drawn_of(len(self.queries), self.n_rows, self.query)}"
        if self.sampled_from is None:
            return lists
        return f"{lists}, a sample of {in_millions(self.sampled_from)}"

    @property
    def bias_changes(self) -> bool:
        """True if the bias, which the index lacks, changes more than 5 % of lists."""
        if self.kept_without_bias is None:
            return False
        return exceeds(1 - self.kept_without_bias, CHANGED)

    @property
    def has_other_measure(self) -> bool:
        """True if the index uses another measure than the training."""
        return self.served != self.trained

    def worst(self) -> list[dict[str, Any]]:
        """Return up to 5 queries whose lists change most.

        If lists change equally, the queries with the smallest row numbers come first.

        Columns
        -------
        row : int
            Number of the row.
        query : str
            Its title, id or number.
        kept : float
            Share of its list that the index keeps.
        """
        # Shares of lists of n rows differ by 1/n or not at all, so rounding to 9
        # decimals removes only floating-point errors.
        kept = np.round(self.kept_by_query, 9)
        order = np.argsort(kept, kind="stable")
        changed = order[kept[order] < 1]
        return [
            {
                "row": int(self.queries[place]),
                "query": row_called(self.row_title, str(self.labels[place])),
                "kept": float(self.kept_by_query[place]),
            }
            for place in changed[:SHOWN]
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; None stands for an undefined number."""
        before, after = self.popularity
        return plain_dict(
            {
                "direction": self.title,
                "role": self.role,
                "compared_with": self.basis.value,
                "trained": self.trained,
                "top_n": self.n,
                "n_queries": len(self.queries),
                "n_rows": self.n_rows,
                "sampled_from": self.sampled_from,
                "kept": self.kept,
                "kept_without_bias": self.kept_without_bias,
                "popularity": "length" if self.popularity_is_length else "interactions",
                "popularity_before": before,
                "popularity_after": after,
                "own_first": self.own_first,
                "worst": self.worst(),
            }
        )

    @property
    def conflict(self) -> str:
        """Say how the index compares rows, and how the model or the audit does."""
        index = f"Your index compares by {MEASURE_WORDS[self.served]}"
        trained = TRAINED_WORDS[self.trained]
        if self.basis is Basis.THIS_AUDIT:
            if self.changes:
                return f"{index} and not by the cosine that this audit is about"
            if self.has_other_measure:
                return f"{index}, and this audit is about the cosine"
            return f"{index}, which this audit is about"
        if self.basis is Basis.BETWEEN_SIDES:
            return (
                f"{index}, and the model was trained on {trained} between both sides "
                f"and on none between {self.item}s"
            )
        if self.has_other_measure:
            contrast = "but" if self.changes else "and"
            verb = "is assumed to predict by" if self.is_assumed else "was trained on"
            return f"{index}, {contrast} the model {verb} {trained}"
        if self.bias_changes:
            return (
                f"{index}, as the model predicts, but it does not hold the {self.item} "
                "bias"
            )
        if self.is_assumed:
            return f"{index}, by which the model is assumed to predict"
        return f"{index}, as the model was trained"

    @property
    def sentence(self) -> str:
        """Say how the lists differ, and on how many lists this was measured."""
        if self.basis is not Basis.BETWEEN_SIDES:
            return f"{self.conflict}: {self.change}; measured on {self.measured_on}."
        return (
            f"Of each {self.item}'s top {self.n} by {MEASURE_WORDS[self.trained]}, the "
            f"index keeps {percent(self.kept)}, measured on {self.measured_on}. "
            f"Training compared no {self.item}s with each other, so no measure between "
            "them is the right one."
        )

    @property
    def change(self) -> str:
        """Say which share of the lists the index replaces, and by which rows."""
        if not exceeds(self.changed, 0):
            return f"all of each {self.query}'s top {self.n} stays"
        return (
            f"{percent(self.changed)} of each {self.query}'s top {self.n} changes"
            f"{self._other_popularity}"
        )

    @property
    def _other_popularity(self) -> str:
        """Say if the index shows rarer or more popular rows, or shorter or longer."""
        before = three_digits(self.popularity[0])
        after = three_digits(self.popularity[1])
        # Medians that are printed alike show no difference.
        if before == after or not self.changes:
            return ""
        is_less = self.popularity[1] < self.popularity[0]
        if self.popularity_is_length:
            comparison = "shorter" if is_less else "longer"
            return (
                f", and {self.item}s with {comparison} vectors are shown (median "
                f"length {after} instead of {before})"
            )
        comparison = "rarer" if is_less else "more popular"
        return (
            f", and {comparison} {self.item}s are shown (median {after} interactions "
            f"instead of {before})"
        )

    @property
    def own_cause(self) -> str:
        """Say how many rows the bias alone changes, if the measure differs, too."""
        if not (self.has_other_measure and self.bias_changes):
            return ""
        if self.kept_without_bias is None:
            return ""
        share = 1 - self.kept_without_bias
        return (
            f"The {self.item} bias, which the index does not hold, alone changes "
            f"{percent(share)}."
        )

    @property
    def own_matches(self) -> str:
        """Say how often a row is its own best match, if not always."""
        if self.own_first is None or not exceeds(1, self.own_first):
            return ""
        share = percent(self.own_first)
        return f"Of these {self.item}s, {share} are their own best match."

    @property
    def remedy(self) -> str:
        """Advise how to serve instead; empty if the index lists what the model does."""
        if self.basis is Basis.BETWEEN_SIDES:
            return (
                f"For similar {self.item}s, serve the vectors that `embaudit fix` "
                "writes with `--as prediction --unit`."
            )
        if self.basis is Basis.THIS_AUDIT:
            compared = "dot" if self.served == "dot" else "distance"
            return (
                "Serve by cosine, or, if training compared these rows as the index "
                f"does, say so with `--compared {compared}`."
            )
        if self.has_other_measure:
            return self._measure_remedy
        if self.bias_changes:
            return self._bias_remedy
        return ""

    @property
    def _measure_remedy(self) -> str:
        """Advise how to serve by the measure of the training."""
        if self.trained == "hyperbolic":
            return (
                "Take a longer list from the index, and sort it by hyperbolic distance."
            )
        advice = f"Serve by {MEASURE_WORDS[self.trained]}"
        if self.bias_changes:
            return self._bias_remedy
        if self.trained == "cosine":
            return f"{advice}, or divide the {self.item} vectors by their lengths."
        if self.trained == "dot":
            return (
                f"{advice}, or index the vectors that `embaudit fix --as equal-length` "
                "writes."
            )
        return f"{advice}."

    @property
    def _bias_remedy(self) -> str:
        """Advise how to bring the bias into the vectors."""
        if self.trained == "dot":
            return (
                "Index the vectors that `embaudit fix --as equal-length` writes: they "
                f"hold the {self.item} bias."
            )
        return (
            f"Serve by {MEASURE_WORDS[self.trained]}, and add the {self.item} bias to "
            "what the index returns."
        )

    @property
    def headline(self) -> str:
        """The conflict, the change and the remedy in whole sentences."""
        sentences = [
            f"{self.conflict}: {self.change}, on {self.measured_on}.",
            self.own_cause,
            self.own_matches,
            self.remedy,
        ]
        return " ".join(filter(None, sentences))


@dataclass(frozen=True, eq=False)
class IndexMetric(Result):
    """How an index compares rows, and how this changes the lists of a model.

    Examples
    --------
    >>> import embaudit as ea
    >>> users = [[1.0, 0.0], [0.0, 1.0]]
    >>> items = [[2.0, 2.0], [1.0, 0.1], [0.1, 1.0]]
    >>> model = ea.FactorModel.from_user_item(users, items, link="identity")
    >>> found = ea.index_metric(model, "cosine")
    >>> found.to_frame()[["direction", "kept", "popularity_after"]].round(2)
         direction  kept  popularity_after
    0  user → item   0.0              1.00
    1  item → item   1.0              2.83
    """

    served: Served
    """Measure of the index."""
    source: str
    """Source of the measure: "as you declared", or the place in the store."""
    stated: Metric | None
    """Metric that the store states; None without one."""
    lengths: Lengths
    """The lengths of the indexed rows that have a direction."""
    has_zero_rows: bool
    """True if some indexed rows are zero, so that they have no cosine."""
    has_exact_lengths: bool
    """True if these lengths are equal up to the rounding of the stored numbers."""
    length_ratio: float
    """Ratio of the 95th to the 5th percentile of these lengths; NaN without lengths."""
    directions: tuple[ServedLists, ...]
    """The lists of each direction, those of the training first."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; None stands for an undefined number."""
        return plain_dict(
            {
                "metric": self.served,
                "source": self.source,
                "stated": self.stated,
                "lengths": self.lengths.value,
                "has_zero_rows": self.has_zero_rows,
                "has_exact_lengths": self.has_exact_lengths,
                "length_ratio": self.length_ratio,
                "directions": self.directions,
                "explanation": self.explain(),
            }
        )

    def __repr__(self) -> str:
        kept = ", ".join(
            f"{lists.title} {percent(lists.kept)} kept" for lists in self.directions
        )
        return f"IndexMetric({self.served}: {kept or 'no lists'})"

    def to_frame(self) -> pd.DataFrame:
        """Return one row per direction; the columns are those of `records`."""
        import pandas as pd

        return pd.DataFrame(self.records())

    def records(self) -> list[dict[str, Any]]:
        """Return one record per direction.

        Columns
        -------
        direction : str
            Queries and listed rows, such as "user → item".
        served : {"cosine", "dot", "l2"}
            Measure of the index.
        trained : {"cosine", "dot", "l2", "hyperbolic"}
            Measure that the index is compared with.
        compared_with : str
            Source of that measure.
        top_n : int
            Length of the lists.
        n_queries : int
            Number of queries.
        kept : float
            Share of the lists that the index keeps.
        kept_without_bias : float | None
            Share that the measure of the training keeps without the bias.
        popularity : {"interactions", "length"}
            Unit of the medians.
        popularity_before : float
            Median popularity of the rows that the model lists.
        popularity_after : float
            Median popularity of the rows that the index lists.
        own_first : float | None
            Share of the rows that are their own best match; None between two sides.
        """
        records = []
        for lists in self.directions:
            record = lists.to_dict()
            record["served"] = self.served
            for name in ("role", "n_rows", "sampled_from", "worst"):
                del record[name]
            records.append(record)
        return records

    @property
    def contradiction(self) -> str:
        """Say that the store states another metric than the caller; else empty."""
        if self.stated is None or not self.stated.is_stated:
            return ""
        agrees = self.stated.name == self.served
        if agrees:
            return ""
        return (
            f"The index compares by {self.stated}; you declared "
            f"{MEASURE_WORDS[self.served]}, which counts here."
        )

    @property
    def on_default(self) -> str:
        """Say that nothing but a default of the store tells the measure; else empty."""
        if self.source == DECLARED or self.stated is None:
            return ""
        if not self.stated.is_default:
            return ""
        return (
            f"The store states no measure: {MEASURE_WORDS[self.served]} is "
            f"{self.stated.source}. If your queries choose another measure, name it "
            "with `--served`."
        )

    @property
    def on_lengths(self) -> str:
        """Describe the lengths of the indexed rows."""
        if self.lengths is Lengths.LOST:
            return (
                "The store divided the rows by their lengths, which are lost, so this "
                "finding says nothing about the original vectors: audit these with "
                f"`--served {self.served}`."
            )
        if self.lengths is Lengths.SPREAD:
            return (
                "The lengths of the indexed rows are spread: the 95th percentile is "
                f"{self.length_ratio:.3g} times the 5th."
            )
        rows = "All indexed rows"
        on_zeros = ""
        if self.has_zero_rows:
            rows = "All indexed rows that are not zero"
            on_zeros = (
                " Rows of zeros have no cosine, so only the other two measures can "
                "list them."
            )
        length = "one length"
        if self.lengths is Lengths.UNIT:
            length = "length 1"
        if not self.has_exact_lengths:
            return (
                f"{rows} have {length}, up to 0.1 %. This can still exchange rows that "
                f"are nearly equally near.{on_zeros}"
            )
        them = "these rows" if self.has_zero_rows else "them"
        return (
            f"{rows} have {length}, so inner product, cosine and Euclidean distance "
            f"rank {them} alike.{on_zeros}"
        )

    def explain(self) -> str:
        """Describe in plain words how the index changes the lists of the model."""
        texts = [self.contradiction, self.on_default]
        for lists in self.directions:
            texts += [lists.sentence, lists.own_cause, lists.own_matches]
            if lists.changes:
                texts.append(lists.remedy)
        texts.append(self.on_lengths)
        return " ".join(filter(None, texts))


@named_keywords
def index_metric(
    model: FactorModel | AnyPath | object,
    served: Served | None = None,
    *,
    n_neighbours: int | None = None,
    n_lists: int = N_QUERIES,
    rng: RNG = 0,
) -> IndexMetric:
    """Compare the lists of an index with the lists that the model was trained to give.

    Parameters
    ----------
    model : FactorModel, path or object
        A model, or an object that `embaudit.load` reads.
    served : {"cosine", "dot", "l2"}, optional
        How the index compares rows. By default the measure that the store or the FAISS
        file states is used.
    n_neighbours : int, optional
        Length of the lists. The default is 10, but at most a third of the other rows.
    n_lists : int
        Largest number of queries of each direction; all rows if there are no more.
    rng : numpy Generator or int
        Draws the queries; the same seed gives the same numbers.

    Returns
    -------
    IndexMetric
        The share of each list that the index keeps, and whether it lists rarer rows.

    Raises
    ------
    InputError
        If `served` is not one of these words, or if neither the caller nor the store
        says how the index compares rows.

    Examples
    --------
    The longer item is listed for every user by inner product, but not by cosine.

    >>> from embaudit.model import FactorModel
    >>> users = [[1.0, 0.0], [0.0, 1.0]]
    >>> items = [[2.0, 2.0], [1.0, 0.1], [0.1, 1.0]]
    >>> model = FactorModel.from_user_item(users, items, link="identity")
    >>> print(index_metric(model, "cosine").directions[0].headline)
    Your index compares by cosine, but the model was trained on dot products: 100 % of
    each user's top 1 changes, and items with shorter vectors are shown (median length
    1 instead of 2.83), on lists of all 2 users. Serve by inner product, or ...
    """
    reading = read(model)
    stated = None if reading.intake is None else reading.intake.metric
    as_count(n_lists, "n_lists")
    require_length(n_neighbours, reading.model.n_right)
    return served_lists(
        reading.model,
        served,
        stated,
        n_neighbours=n_neighbours,
        n_lists=n_lists,
        rng=as_generator(rng),
    )


def has_metric(stated: Metric | None) -> bool:
    """Return True if a store states a metric by which lists can be compared."""
    return stated is not None and stated.name in SERVED


def needs_metric(model: FactorModel) -> bool:
    """Return True for a model of two sides whose lists depend on the index.

    Items of one length without a bias are ranked alike by all three measures. An item
    of zeros is not: its inner products are larger than negative ones, and it has no
    cosine.
    """
    if model.left_side is None:
        return False
    if bias_of(model) is not None or _has_zero_rows(model.right_side):
        return True
    return lengths_of(model.right_side) is Lengths.SPREAD


def _has_zero_rows(side: Side) -> bool:
    """Return True if some rows of a side are zero, so that they have no direction."""
    return len(side.directed) < len(side)


def _has_exact_lengths(side: Side) -> bool:
    """Return True if all rows with a direction have one length up to storage rounding.

    Lengths that differ by more exchange rows of nearly one cosine, even if
    `lengths_of` calls the lengths equal.
    """
    lengths = side.norms[side.directed]
    if not len(lengths):
        return True
    return bool(np.ptp(lengths) <= tie_of(side.rows) * lengths.max())


def lengths_of(side: Side) -> Lengths:
    """Describe the lengths of the rows that have a direction.

    Examples
    --------
    >>> lengths_of(Side([[2.0], [-2.0], [0.0]], "item")).value
    'all equal'
    """
    if side.is_unit:
        return Lengths.UNIT
    lengths = side.norms[side.directed]
    if len(lengths) and np.ptp(lengths) <= EXACT_SHAPE * side.median_length:
        return Lengths.EQUAL
    return Lengths.SPREAD


def trained_measure(model: FactorModel) -> Measure | None:
    """Return the measure by which a model predicts.

    The result is None for one table whose rows were compared in an unknown way.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> model = FactorModel.from_user_item([[1.0]], [[1.0], [2.0]])
    >>> trained_measure(model), trained_measure(model.replace(link="cosine"))
    ('dot', 'cosine')
    >>> trained_measure(FactorModel.from_vectors([[1.0]], compared="distance"))
    'l2'
    """
    compared = model.link.compares
    if compared == "distance":
        return "l2"
    if compared is not None:
        return compared
    if model.left_side is None:
        return None
    if "right" in model.link.unit_sides:
        return "cosine"
    return "dot"


def bias_of(model: FactorModel) -> Floats | None:
    """Return the bias of the right rows, or None if it changes no ranking.

    A bias that is the same for all rows changes no ranking.
    """
    bias = model.right_bias
    if bias is None or not model.link.sees_biases:
        return None
    is_constant = np.ptp(bias) == 0
    if is_constant:
        return None
    return np.asarray(bias, dtype=np.float64)


def served_lists(
    model: FactorModel,
    served: Served | None,
    stated: Metric | None = None,
    *,
    n_neighbours: int | None = None,
    n_lists: int = N_QUERIES,
    rows: Indices | None = None,
    rng: np.random.Generator,
) -> IndexMetric:
    """Compare the lists of an index with the lists of a model.

    Parameters
    ----------
    model, served, n_neighbours, n_lists, rng
        As for `index_metric`.
    stated : Metric, optional
        Metric that the store of the model states. It is used if `served` is None.
    rows : array of int, optional
        Rows of one table that are searched alone, as in a quick audit of a long table.
        By default all rows are searched. Lengths are always those of all rows.
    """
    metric, source = index_measure(served, stated)
    require_ordinary_size(model)
    right = model.right_side
    lengths = lengths_of(right)
    if stated is not None and stated.unit_rows:
        lengths = Lengths.LOST
    ratio = np.nan
    if len(right.directed):
        short, long = np.quantile(right.norms[right.directed], [SHORT, LONG])
        ratio = float(long / short)
    searched = model
    if rows is not None:
        searched = model.take(right=rows)
    n = list_length(n_neighbours, searched.n_right)
    directions = []
    for role, trained, basis in _directions(searched):
        side = searched.side(role)
        # Queries without direction have no cosine, so the lists cannot be compared. A
        # list without another row that has a direction could hold none by cosine.
        candidates = np.intersect1d(side.eligible_rows, side.directed)
        n_listable = len(searched.right_side.directed)
        if role == "right":
            n_listable -= 1
        if n < 1 or not len(candidates) or n_listable < 1:
            continue
        queries = sample_rows(candidates, n_lists, rng)
        lists = _lists(
            searched, role, queries, len(candidates), metric, trained, basis, n
        )
        if rows is not None:
            lists = _renumbered(lists, model, rows)
        directions.append(lists)
    return IndexMetric(
        served=metric,
        source=source,
        stated=stated,
        lengths=lengths,
        has_zero_rows=_has_zero_rows(right),
        has_exact_lengths=_has_exact_lengths(right),
        length_ratio=ratio,
        directions=tuple(directions),
    )


def index_measure(served: Served | None, stated: Metric | None) -> tuple[Served, str]:
    """Return the measure of an index and its source. The caller overrules the store."""
    if served is not None:
        require_one_of(served, "served", SERVED)
        return served, DECLARED
    if stated is not None:
        for metric in SERVED:
            if stated.name == metric:
                return metric, str(stated)
    raise must_be(
        "served",
        "one of " + ", ".join(SERVED),
        "None",
        "the model does not say how an index compares its rows",
    )


def _directions(model: FactorModel) -> list[tuple[SideName, Measure, Basis]]:
    """Return the side of the queries, the measure to compare with, and its source."""
    trained = trained_measure(model)
    if trained is None:
        return [("right", "cosine", Basis.THIS_AUDIT)]
    if model.left_side is None:
        return [("right", trained, Basis.TRAINING)]
    return [
        ("left", trained, Basis.TRAINING),
        ("right", trained, Basis.BETWEEN_SIDES),
    ]


def _lists(
    model: FactorModel,
    role: SideName,
    queries: Indices,
    n_rows: int,
    served: Served,
    trained: Measure,
    basis: Basis,
    n: int,
) -> ServedLists:
    """Compare the lists of some queries by the index and by the model.

    Parameters
    ----------
    queries : array of int
        Rows of the side `role`.
    n_rows : int
        Number of rows from which the queries were drawn.
    served, trained : str
        Measure of the index, and the measure that it is compared with.
    basis : Basis
        Source of `trained`.
    n : int
        Length of the lists.
    """
    side = model.side(role)
    right = model.right_side
    # The index compares rows as stored. A link may divide them by their lengths first.
    stored = np.ascontiguousarray(side.rows[queries], dtype=np.float64)
    multiplied = model.product_rows(role, stored)
    own = queries if role == "right" else None
    bias = bias_of(model) if basis is Basis.TRAINING else None
    tie = max(tie_of(side.rows), tie_of(right.rows))

    reference = best_matches(Order(trained, right.rows, bias), multiplied, n, own=own)
    index = best_matches(Order(served, right.rows), stored, n, own=own)
    without_bias = None
    if bias is not None:
        unbiased = index
        if served != trained:
            unbiased = best_matches(Order(trained, right.rows), multiplied, n, own=own)
        without_bias = float(shares_kept(reference, unbiased, tie).mean())
    own_first = None
    if own is not None:
        own_first = float(_is_own_best(index, own, tie).mean())
    popularity, is_length = _popularity(right)
    return ServedLists(
        role=role,
        query=side.title,
        item=right.title,
        served=served,
        trained=trained,
        basis=basis,
        is_assumed=model.link.is_assumed,
        n=n,
        queries=queries,
        n_rows=n_rows,
        sampled_from=None,
        kept_by_query=shares_kept(reference, index, tie),
        labels=side.labels[queries],
        row_title=model.row_title(role),
        kept_without_bias=without_bias,
        popularity=(_median(popularity, reference), _median(popularity, index)),
        popularity_is_length=is_length,
        own_first=own_first,
    )


def _renumbered(lists: ServedLists, model: FactorModel, rows: Indices) -> ServedLists:
    """Give the queries of a sample their numbers and names in the whole table.

    Parameters
    ----------
    lists : ServedLists
        Lists of the sample. Queries are numbered by their places in `rows`.
    model : FactorModel
        The whole table.
    rows : array of int
        The right rows in the sample.
    """
    queries = rows[lists.queries]
    return replace(
        lists,
        queries=queries,
        labels=model.right_side.labels[queries],
        row_title=model.row_title("right"),
        sampled_from=model.n_right,
    )


def _is_own_best(index: BestMatches, own: Indices, tie: float) -> NDArray[np.bool_]:
    """Flag queries that are their own best match; another row may tie with them.

    The lists do not hold the queries themselves, so the first row of a list is the best
    other row.
    """
    own_values, own_sizes = index.values_of(own[:, None])
    best_others, sizes = index.values_of(index.indices[:, :1])
    rounding = tie * (own_sizes + sizes)
    return np.asarray(own_values >= best_others - rounding)[:, 0]


def _popularity(side: Side) -> tuple[Floats, bool]:
    """Return the popularity of each row, and True if it is the length of the row.

    Lengths stand for popularity if there are no numbers of interactions.
    """
    if side.counts is not None:
        return np.asarray(side.counts, dtype=np.float64), False
    return side.norms, True


def _median(popularity: Floats, lists: BestMatches) -> float:
    """Return the median popularity of all listed rows.

    A row counts once for each list that it is in.
    """
    listed = lists.indices[lists.indices >= 0]
    if not len(listed):
        return float("nan")
    return float(np.median(popularity[listed]))
