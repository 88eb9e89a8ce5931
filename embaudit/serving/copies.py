"""Copies of vectors in fewer bits or dimensions: which neighbour lists do they keep?

Lists are by cosine. A copy is judged by the lists that it keeps, which are measured,
and by the entries that are proven to stay (`embaudit.serving.copy_proofs`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import (
    RNG,
    Flags,
    Floats,
    Indices,
    as_count,
    as_generator,
    named_keywords,
)
from embaudit.core.plain import plain_dict
from embaudit.core.results import Result
from embaudit.core.sizes import N_QUERIES
from embaudit.core.ties import leading_places, reaches, tie_tolerance
from embaudit.core.tolerances import FLOAT32_TIE
from embaudit.core.words import (
    at_least,
    counted,
    down,
    drawn_of,
    percent,
    percent_by_limit,
    row_called,
    two_decimals,
    up,
)
from embaudit.errors import must_be
from embaudit.io import model_of
from embaudit.io.files import AnyPath
from embaudit.io.options import is_path
from embaudit.linalg.best_matches import Order, best_matches
from embaudit.linalg.intervals import independent_draws, mean_interval
from embaudit.linalg.nearest import (
    NeighbourLists,
    list_length,
    neighbours,
    require_length,
)
from embaudit.linalg.pair_cosines import pair_cosines
from embaudit.linalg.rows import sample_rows, unit_rows
from embaudit.linalg.transformed_rows import Rows
from embaudit.model import FactorModel, Side, SideName
from embaudit.model.sizes import require_ordinary_size
from embaudit.serving.copy_formats import (
    CopiedRows,
    FirstColumns,
    Format,
    PrincipalAxes,
    bytes_per_number,
    format_named,
    is_format_name,
)
from embaudit.serving.copy_lists import Searched, shares_of_lists_kept
from embaudit.serving.copy_proofs import (
    N_NEAREST,
    Changes,
    Lists,
    measure_changes,
    stays_for_queries,
    stays_for_stored_rows,
)
from embaudit.serving.copy_sources import given_copy

if TYPE_CHECKING:
    import pandas as pd

ENOUGH = 0.99
"""Share of the lists that a copy should keep."""
UNSEEN_LOSSES = 3.0
"""If none of n drawn lists loses entries, up to 3/n of all lists can lose them (rule of
three, with a confidence of 95 %)."""
NARROWING = 4
"""This many times as many lists make an interval half as long."""
SHOWN = 5
"""Number of rows that are shown."""
UNRELATED = 75.0
"""Median angle in degrees above which the rows of a copy look unrelated."""
LARGEST_ANGLE = 180.0


def truncated_range(
    head_cosine: float, head_share: float, other_head_share: float
) -> tuple[float, float]:
    """Return the cosines that two rows can have, given the cosine of their heads.

    Both ends are attained. The cosine is `√(e f) c ± √((1 − e) (1 − f))` at most, with
    the cosine c of the first columns, which hold the shares e and f of the squared
    lengths.

    Parameters
    ----------
    head_cosine : float
        Cosine of the first columns of both rows.
    head_share, other_head_share : float
        Share of the squared length of each row that its first columns hold.

    Examples
    --------
    >>> low, high = truncated_range(0.8, 0.5, 0.5)
    >>> round(low, 9), round(high, 9)
    (-0.1, 0.9)
    """
    middle = np.sqrt(head_share * other_head_share) * head_cosine
    half = np.sqrt(max(1 - head_share, 0) * max(1 - other_head_share, 0))
    return float(middle - half), float(middle + half)


def share_interval(shares: Floats, total: int) -> tuple[float, float]:
    """Return the 95 % interval of the mean share of all lists.

    It is the mean itself if all lists were measured. Otherwise up to 3/n of all lists
    can lose entries even if none of n drawn lists does, so the lower end allows for
    these losses.

    Parameters
    ----------
    shares : array of shape (n,)
        Share of each drawn list that is kept.
    total : int
        Number of all lists.

    Examples
    --------
    >>> share_interval(np.ones(300), 300)
    (1.0, 1.0)
    >>> low, high = share_interval(np.ones(300), 10**9)
    >>> round(low, 4), high
    (0.99, 1.0)
    """
    mean = float(shares.mean())
    draws = independent_draws(len(shares), total)
    low, high = mean_interval(shares, draws)
    low = min(low, mean * (1 - min(1.0, UNSEEN_LOSSES / draws)))
    return max(low, 0.0), min(high, 1.0)


@dataclass(frozen=True, eq=False)
class StoredCopy:
    """One copy, and the lists that it keeps."""

    name: str
    """Name of the format, or of the file."""
    n_columns: int
    """Number of columns of the copy."""
    bytes_per_vector: float
    """Bytes that a vector takes."""
    kept_by_list: Floats = field(repr=False)
    """(m,) share of the list of each row that the copy keeps. Query and rows are
    copied."""
    n_rows: int
    """Number of rows that have a list; the measured ones are a sample of them."""
    proven: float
    """Share of the entries of these lists that stay in every copy whose rows turn by at
    most the same angles."""
    proven_for_queries: float
    """Share of the entries of the lists of queries that stay if the query itself is not
    copied. The queries are the given ones, or otherwise the rows."""
    kept_by_query: Floats | None = field(repr=False)
    """(q,) share of the list of each given query that is kept; None without queries."""
    n_given_queries: int
    """Number of given queries; the measured ones are a sample of them."""
    angles: Floats = field(repr=False)
    """(p,) angle in degrees between each row and its copy; 180 for a row that has no
    direction in one of them."""
    n_lost: int
    """Number of rows that have a direction in the original and none in the copy, so
    that lists of the copy cannot hold them."""
    sure_lead: float
    """Lead in cosine with which a row stays before another one for every query."""
    is_turned: bool
    """True if the copy has other axes, and angles are those after the best rotation."""
    head_share: float | None
    """Median share of the squared length that the leading columns hold; None for
    copies of all columns."""
    typical_head_cosine: float | None
    """Median cosine of an entry in the leading columns; None for other copies, and if
    no entry has a cosine there."""
    kept_in_principal_axes: float | None
    """Share of the lists that as many principal axes keep; None for other copies."""
    names: NDArray[Any] = field(repr=False)
    """(p,) titles, ids or numbers of the rows."""
    row_title: str = field(repr=False)
    """Title that stands before the number of a row; empty if rows have names."""

    @property
    def kept(self) -> float:
        """Share of the lists that the copy keeps, as the mean over the rows."""
        return float(self.kept_by_list.mean())

    @cached_property
    def interval(self) -> tuple[float, float]:
        """95 % interval of this share over all rows (see `share_interval`)."""
        return share_interval(self.kept_by_list, self.n_rows)

    @property
    def kept_for_queries(self) -> float | None:
        """Share of the lists of given queries that the copy keeps; None without."""
        if self.kept_by_query is None:
            return None
        return float(self.kept_by_query.mean())

    @cached_property
    def interval_for_queries(self) -> tuple[float, float] | None:
        """95 % interval of this share over all given queries; None without."""
        if self.kept_by_query is None:
            return None
        return share_interval(self.kept_by_query, self.n_given_queries)

    @property
    def keeps_enough(self) -> bool:
        """True if the copy keeps 99 % of all lists, at the low end of the interval.

        The lists of given queries count as much as those of rows: both have to be kept.
        """
        return all(reaches(low, ENOUGH) for low, _ in self._intervals)

    @property
    def may_keep_enough(self) -> bool:
        """True if the drawn lists leave it open whether the copy keeps 99 %."""
        reaches_enough = all(reaches(high, ENOUGH) for _, high in self._intervals)
        return reaches_enough and not self.keeps_enough

    @property
    def kept_words(self) -> str:
        """The share of lists kept and its interval, which show if 99 % is reached."""
        text = percent_by_limit(self.kept, ENOUGH)
        low, high = self.interval
        if low < high:
            low_text = percent_by_limit(low, ENOUGH)
            high_text = percent_by_limit(high, ENOUGH)
            text += f" ({low_text} to {high_text})"
        return text

    @property
    def kept_words_for_queries(self) -> str:
        """The same share for given queries; a dash without queries."""
        if self.kept_for_queries is None:
            return "–"
        return percent_by_limit(self.kept_for_queries, ENOUGH)

    @property
    def _intervals(self) -> list[tuple[float, float]]:
        """The intervals of the lists of rows, and of given queries."""
        intervals = [self.interval]
        if self.interval_for_queries is not None:
            intervals.append(self.interval_for_queries)
        return intervals

    @property
    def median_angle(self) -> float:
        """Median angle in degrees between a row and its copy."""
        return float(np.median(self.angles))

    @property
    def largest_angle(self) -> float:
        """Largest angle in degrees between a row and its copy."""
        return float(self.angles.max())

    @property
    def typical_range(self) -> tuple[float, float] | None:
        """Cosines that two rows of typical heads can have; None without such heads."""
        if self.head_share is None or self.typical_head_cosine is None:
            return None
        return truncated_range(
            self.typical_head_cosine, self.head_share, self.head_share
        )

    def most_turned(self) -> list[dict[str, Any]]:
        """Return up to 5 rows that turned most, the largest angle first.

        Rows that turned by rounding only are not listed.

        Columns
        -------
        name : str
            Title, id or number of the row.
        angle : float
            Angle in degrees between the row and its copy.
        """
        tolerance = tie_tolerance(LARGEST_ANGLE)
        places = leading_places(self.angles, SHOWN, tolerance)
        return [
            {
                "name": row_called(self.row_title, str(self.names[place])),
                "angle": float(self.angles[place]),
            }
            for place in places
            if self.angles[place] > tolerance
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; None stands for an undefined number."""
        low, high = self.interval
        query_low, query_high = self.interval_for_queries or (None, None)
        return plain_dict(
            {
                "copy": self.name,
                "columns": self.n_columns,
                "bytes_per_vector": self.bytes_per_vector,
                "kept": self.kept,
                "kept_ci_low": low,
                "kept_ci_high": high,
                "proven": self.proven,
                "proven_for_queries": self.proven_for_queries,
                "kept_for_queries": self.kept_for_queries,
                "kept_for_queries_ci_low": query_low,
                "kept_for_queries_ci_high": query_high,
                "median_angle": self.median_angle,
                "largest_angle": self.largest_angle,
                "sure_lead": self.sure_lead,
                "n_lost": self.n_lost,
                "is_turned": self.is_turned,
                "head_share": self.head_share,
                "typical_head_cosine": self.typical_head_cosine,
                "typical_range": self.typical_range,
                "kept_in_principal_axes": self.kept_in_principal_axes,
                "most_turned": self.most_turned(),
            }
        )


@dataclass(frozen=True, eq=False)
class CopyComparison(Result):
    """Copies of the same vectors, and the neighbour lists that they keep.

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(size=(60, 16))
    >>> found = compare_copies(rows, ["float16", "binary"])
    >>> found.cheapest.name, found.copies[1].proven
    ('float16', 0.0)
    """

    role: SideName
    """Side of the rows."""
    title: str
    """Title of a row, such as "item"."""
    n: int
    """Length of the lists."""
    n_lists: int
    """Number of rows whose lists were measured."""
    n_rows: int
    """Number of rows that have a list."""
    n_queries: int | None
    """Number of given queries whose lists were measured; None without queries."""
    bytes_per_vector: float
    """Bytes that a vector of the original takes."""
    copies: tuple[StoredCopy, ...]
    """The copies, in the order in which they were given."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; None stands for an undefined number."""
        cheapest = self.cheapest
        return plain_dict(
            {
                "role": self.role,
                "title": self.title,
                "top_n": self.n,
                "n_lists": self.n_lists,
                "n_rows": self.n_rows,
                "n_queries": self.n_queries,
                "bytes_per_vector": self.bytes_per_vector,
                "cheapest": None if cheapest is None else cheapest.name,
                "copies": [copy.to_dict() for copy in self.copies],
                "explanation": self.explain(),
            }
        )

    def __repr__(self) -> str:
        kept = ", ".join(f"{copy.name} {percent(copy.kept)}" for copy in self.copies)
        return f"CopyComparison({self.n} nearest {self.title}s kept: {kept})"

    def records(self) -> list[dict[str, Any]]:
        """Return one record per copy.

        Columns
        -------
        copy : str
            Name of the format or of the file.
        columns : int
            Number of columns.
        bytes_per_vector : float
            Bytes that a vector takes.
        kept : float
            Share of the lists that the copy keeps, with the ends of its 95 % interval.
        proven : float
            Share of the entries that stay in every copy with the same angles.
        proven_for_queries : float
            Share of the entries that stay for queries that are not copied.
        kept_for_queries : float | None
            Share of the lists of given queries that is kept, with its interval.
        median_angle, largest_angle : float
            Angle in degrees between a row and its copy.
        sure_lead : float
            Lead in cosine with which a row stays before another one for every query.
        n_lost : int
            Rows that have no direction in the copy only.
        is_turned : bool
            True if angles are those after the best common rotation.
        head_share, typical_head_cosine, kept_in_principal_axes : float | None
            Figures of copies of the leading columns.
        """
        records = []
        for copy in self.copies:
            record = copy.to_dict()
            del record["most_turned"], record["typical_range"]
            records.append(record)
        return records

    def to_frame(self) -> pd.DataFrame:
        """Return one row per copy, with the columns of `records`."""
        import pandas as pd

        return pd.DataFrame(self.records())

    def moved_frame(self) -> pd.DataFrame:
        """Return the rows of each copy that turned most: `copy`, `name` and `angle`."""
        import pandas as pd

        records = [
            {"copy": copy.name, **record}
            for copy in self.copies
            for record in copy.most_turned()
        ]
        return pd.DataFrame(records, columns=["copy", "name", "angle"])

    @property
    def by_size(self) -> list[StoredCopy]:
        """The copies by increasing size; for equal sizes, by decreasing kept share."""
        return sorted(
            self.copies, key=lambda copy: (copy.bytes_per_vector, -round(copy.kept, 9))
        )

    @property
    def cheapest(self) -> StoredCopy | None:
        """The smallest copy that keeps 99 % of the lists; None if no copy does."""
        return next((copy for copy in self.by_size if copy.keeps_enough), None)

    @property
    def lists(self) -> str:
        """Name the measured lists and their number."""
        return f"lists of {drawn_of(self.n_lists, self.n_rows, self.title)}"

    @property
    def _n_more_lists(self) -> int:
        """Number of lists that may decide: so many that an interval is halved.

        More lists than there are rows or queries cannot be drawn.
        """
        n_available = self.n_rows
        for copy in self.copies:
            n_available = max(n_available, copy.n_given_queries)
        n_drawn = max(self.n_lists, self.n_queries or 0)
        return min(NARROWING * n_drawn, n_available)

    @property
    def conclusion(self) -> str:
        """Say which copy is the smallest one that keeps 99 % of the lists."""
        top = f"each {self.title}'s top {self.n}"
        if self.n_queries is not None:
            top += " and of the lists of the given queries"
        copy = self._named_copy
        is_only = len(self.copies) == 1
        share = (
            f"{copy.kept_words}, in {_bytes(copy)} per vector instead of "
            f"{self.bytes_per_vector:,.0f} ({self.lists})."
        )
        if copy.keeps_enough and is_only:
            text = f"{copy.name} keeps 99 % of {top} by cosine: {share}"
        elif copy.keeps_enough:
            text = (
                f"{copy.name} is the smallest of these copies that keeps 99 % of {top} "
                f"by cosine: {share}"
            )
        elif is_only:
            verb = "is not known to keep" if copy.may_keep_enough else "does not keep"
            text = f"{copy.name} {verb} 99 % of {top} by cosine. It keeps {share}"
        else:
            is_open = any(copy.may_keep_enough for copy in self.copies)
            verb = "is known to keep" if is_open else "keeps"
            text = (
                f"No copy {verb} 99 % of {top} by cosine. {copy.name} keeps most: "
                f"{share}"
            )
        names = [copy.name for copy in self._undecided_copies]
        if names:
            verb = "keeps" if len(names) == 1 else "keep"
            text += (
                f" More lists can decide whether {' and '.join(names)} {verb} 99 % "
                f"(`--n-lists {self._n_more_lists}`)."
            )
        return text

    @property
    def _named_copy(self) -> StoredCopy:
        """The copy whose share the conclusion gives: the cheapest, or that keeps most.

        The paragraph of this copy does not repeat the share.
        """
        if self.cheapest is not None:
            return self.cheapest
        return max(self.copies, key=lambda copy: round(copy.kept, 9))

    @property
    def _undecided_copies(self) -> list[StoredCopy]:
        """The copies that more lists could make the cheapest one, smallest first."""
        cheapest = self.cheapest
        undecided = []
        for copy in self.by_size:
            is_smaller = (
                cheapest is None or copy.bytes_per_vector < cheapest.bytes_per_vector
            )
            if copy.may_keep_enough and is_smaller:
                undecided.append(copy)
        return undecided

    def explain(self) -> str:
        """Say which copy to store, and what each copy keeps."""
        return " ".join(self.paragraphs)

    @property
    def paragraphs(self) -> tuple[str, ...]:
        """The conclusion, and one paragraph for each copy."""
        return (self.conclusion, *(self._on_copy(copy) for copy in self.copies))

    def _on_copy(self, copy: StoredCopy) -> str:
        """Describe one copy."""
        turned = f"rows turn by {_degrees(copy.median_angle)} (median)."
        if copy is self._named_copy:
            texts = [f"{copy.name}: {turned}"]
        else:
            texts = [
                f"{copy.name}: {copy.kept_words} of the lists kept, in {_bytes(copy)} "
                f"per vector; {turned}"
            ]
        queries = "queries"
        if copy.kept_for_queries is not None and self.n_queries is not None:
            queries = "given queries"
            number = counted(self.n_queries, "given query", "given queries")
            texts.append(
                f"Of the lists of {number}, {copy.kept_words_for_queries} are kept."
            )
        if copy.proven == 0 and copy.proven_for_queries == 0:
            texts.append(
                "These angles prove nothing: neighbours are nearer to each other than "
                "the rows turn."
            )
        else:
            texts.append(
                f"Proven to stay are {at_least(copy.proven)} of the entries in every "
                "copy that turns no row further, and "
                f"{at_least(copy.proven_for_queries)} for {queries} that are not "
                "copied."
            )
        if copy.sure_lead < 1:
            texts.append(
                "For every query that is not copied, a row that leads another one by "
                f"{up(copy.sure_lead, 4):.2g} in cosine stays before it."
            )
        texts += self._on_head(copy)
        if copy.n_lost:
            lost = counted(copy.n_lost, self.title)
            texts.append(f"{lost} have no direction in the copy, so no list has them.")
        if copy.is_turned:
            texts.append(
                "The copy has other axes, so angles are those after the best common "
                "rotation, and queries have to be rotated, too."
            )
        elif copy.median_angle > UNRELATED and copy.head_share is None:
            texts.append(
                "Unrelated rows turn as far: check that the copy holds the same rows "
                "in the same order."
            )
        return " ".join(texts)

    def _on_head(self, copy: StoredCopy) -> list[str]:
        """Say what leading columns hold, and what principal axes would keep."""
        texts = []
        limits = copy.typical_range
        if (
            limits is not None
            and copy.head_share is not None
            and copy.typical_head_cosine is not None
        ):
            low, high = max(down(limits[0]), -1.0), min(up(limits[1]), 1.0)
            cosine = two_decimals(copy.typical_head_cosine)
            texts.append(
                f"Its columns hold {percent(copy.head_share)} of the squared length of "
                f"the median row, so two such rows with a cosine of {cosine} in the "
                f"copy can have any cosine from {low:.2f} to {high:.2f} in the "
                "original."
            )
        if copy.kept_in_principal_axes is not None:
            texts.append(
                "After `embaudit fix --rotate pca`, which changes no cosine, as many "
                f"columns keep {percent(copy.kept_in_principal_axes)} of the lists."
            )
        return texts


def _bytes(copy: StoredCopy) -> str:
    """Write the bytes that a vector takes, such as "1 byte"."""
    return counted(round(copy.bytes_per_vector), "byte")


def _degrees(angle: float) -> str:
    """Write an angle in degrees, with more digits for a small one.

    Examples
    --------
    >>> _degrees(36.74), _degrees(0.0213), _degrees(4e-13)
    ('36.7°', '0.021°', '0.0°')
    """
    if angle < 1e-9:
        return "0.0°"
    if angle < 1:
        return f"{angle:.2g}°"
    return f"{angle:.1f}°"


@named_keywords
def compare_copies(
    original: FactorModel | AnyPath | object,
    copies: object,
    *,
    queries: FactorModel | AnyPath | object | None = None,
    role: SideName | str = "right",
    n_neighbours: int | None = None,
    n_lists: int | None = N_QUERIES,
    rng: RNG = 0,
) -> CopyComparison:
    """Judge copies of vectors by the neighbour lists that they keep.

    Parameters
    ----------
    original : FactorModel, path or object
        The vectors, or an object that `embaudit.load` reads.
    copies : str, path, array, FactorModel, mapping, or a list of these
        Names of formats, which are made from the original: "float16", "bfloat16",
        "int8" (one scale per row), "int8-columns" (a range per column, as FAISS and
        sentence-transformers have it), "binary" (signs), "first:128" (the first
        columns) and "pca:128" (the first principal axes). Or copies that are stored
        already: models or files of them, FAISS indexes of codes or their files, arrays
        of int8, packed signs (uint8), or a mapping, `.npz` or `.safetensors` file of
        codes with a "scale", an "offset" or a "zero_point". A copy and the original are
        matched by ids if both have them, and otherwise by the order of their rows.
    queries : FactorModel, array, path or object, optional
        Vectors that search the copies as they are. By default the rows themselves.
    role : {"right", "left"}
        Side of the rows.
    n_neighbours : int, optional
        Length of the lists. The default is 10, but at most a third of the other rows.
    n_lists : int, optional
        Number of rows whose lists are compared, and of queries, drawn at random if
        there are more; None for all of them.
    rng : numpy Generator or int
        Draws the rows.

    Returns
    -------
    CopyComparison
        The share of the lists that each copy keeps, and the smallest copy that keeps
        99 % of them.

    Raises
    ------
    InputError
        If there is no such format, a copy cannot be read or holds other rows, or fewer
        than 3 rows have a direction.

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(size=(60, 16)).astype(np.float32)
    >>> found = compare_copies(rows, ["int8", "first:8"])
    >>> print(found.conclusion)
    int8 is the smallest of these copies that keeps 99 % of each item's top 10 by
    cosine: 99.2 %, in 20 bytes per vector instead of 64 (lists of all 60 items).
    """
    model, draw = model_of(original), as_generator(rng)
    if n_lists is not None:
        as_count(n_lists, "n_lists")
    require_ordinary_size(model)
    role = model.side_name(role)
    side = model.side(role)
    title = model.title(role)
    rows = side.directed
    if len(rows) < 3:
        raise must_be(
            f"the number of {title}s with a nonzero row",
            "at least 3",
            len(rows),
            "rows of zeros do not count",
        )
    require_length(n_neighbours, len(rows))
    n = list_length(n_neighbours, len(rows), left_out=1)
    # All copies are read before the search, so that a wrong one is refused at once.
    read_copies = []
    for name, source in _named(copies):
        copied, kind = _copy_of(source, side, role)
        read_copies.append((name, copied, kind))
    if n_lists is not None:
        rows = sample_rows(rows, n_lists, draw)
    unit_queries = _unit_queries(queries, side)
    search = _Search(side, rows, n)
    if unit_queries is not None:
        drawn: Indices = np.arange(len(unit_queries))
        if n_lists is not None:
            drawn = sample_rows(drawn, n_lists, draw)
        search.add_queries(unit_queries[drawn], len(unit_queries))
    stored = [
        _judged(name, copied, kind, search, model.row_title(role))
        for name, copied, kind in read_copies
    ]
    n_queries = None
    if search.queries is not None:
        n_queries = len(search.queries)
    return CopyComparison(
        role=role,
        title=title,
        n=n,
        n_lists=len(rows),
        n_rows=len(side.directed),
        n_queries=n_queries,
        bytes_per_vector=float(side.rows.shape[1] * bytes_per_number(side.rows)),
        copies=tuple(stored),
    )


def _named(copies: object) -> Iterable[tuple[str, object]]:
    """Return the copies with their names."""
    given: list[tuple[str, object]] = []
    if isinstance(copies, Mapping) and not _is_mapping_of_codes(copies):
        given = [(str(name), copy) for name, copy in copies.items()]
    elif isinstance(copies, list | tuple):
        given = [(_name_of(copy, place), copy) for place, copy in enumerate(copies, 1)]
    else:
        given = [(_name_of(copies, 1), copies)]
    if not given:
        raise must_be(
            "copies",
            "names of formats, or copies of the vectors",
            "an empty list",
            'for example copies=["int8", "float16"]',
        )
    return given


def _is_mapping_of_codes(copies: Mapping[Any, Any]) -> bool:
    """Return True for one copy of codes, not for copies by their names."""
    return any(
        isinstance(value, np.ndarray) and value.dtype in (np.int8, np.uint8)
        for name, value in copies.items()
        if name in ("codes", "vectors")
    )


def _name_of(copy: object, place: int) -> str:
    """Return the name of a copy: its format, the name of its file, or its place."""
    if isinstance(copy, str) and is_format_name(copy):
        return copy
    if is_path(copy):
        return Path(str(copy)).name
    return f"copy {place}"


def _copy_of(
    copy: object, side: Side, role: SideName
) -> tuple[CopiedRows, Format | None]:
    """Make a copy in a format, or read a given one."""
    if isinstance(copy, str):
        looks_like_file = "." in copy or "/" in copy or Path(copy).exists()
        if is_format_name(copy) or not looks_like_file:
            kind = format_named(copy)
            return kind.copy(side.rows), kind
    return given_copy(copy, side, role), None


def _unit_queries(queries: object, side: Side) -> Floats | None:
    """Return given queries as unit rows, without zero rows; None without queries."""
    if queries is None:
        return None
    given = model_of(queries).side("right")
    width = side.rows.shape[1]
    if given.rows.shape[1] != width:
        raise must_be(
            "queries",
            f"vectors of {counted(width, 'column')}, like the original",
            counted(given.rows.shape[1], "column"),
        )
    rows = given.directed
    if not len(rows):
        raise must_be("queries", "vectors that are not all zero", "rows of zeros")
    return unit_rows(given.rows[rows])


class _Search:
    """The lists of the original, longer than needed, for rows and for queries."""

    def __init__(self, side: Side, rows: Indices, n: int) -> None:
        self.side = side
        self.x: Rows = side.rows
        self.n = n
        self.length = min(n + N_NEAREST, len(self.x) - 1)
        nearest = neighbours(self.x, self.length, rows=rows)
        self.former: NeighbourLists = nearest.first(n)
        self.by_row = Searched(self.x, self.x, _lists_of_rows(nearest))
        self.queries: Floats | None = None
        self.by_query: Searched | None = None
        self.n_given_queries = 0

    def add_queries(self, queries: Floats, n_given: int) -> None:
        """Search by queries of length 1, which are drawn from `n_given` queries."""
        self.queries = queries
        self.by_query = _searched_by(queries, self.x, self.length)
        self.n_given_queries = n_given


def _lists_of_rows(nearest: NeighbourLists) -> Lists:
    """Return the lists of stored rows with the rows that they belong to."""
    return Lists(nearest.indices, nearest.cosines, nearest.runner_up, nearest.rows)


def _searched_by(queries: Floats, rows: Rows, length: int) -> Searched:
    """Search a table by queries of length 1."""
    best = best_matches(Order("cosine", rows), queries, length)
    cosines = np.where(best.indices < 0, np.nan, best.values)
    # All other rows are at most as near as the last one.
    lists = Lists(best.indices, cosines, best.values[:, -1], None)
    return Searched(rows, queries, lists)


def _judged(
    name: str, copied: CopiedRows, kind: Format | None, search: _Search, row_title: str
) -> StoredCopy:
    """Measure one copy."""
    changes = measure_changes(search.x, copied)
    entries = search.former.indices >= 0
    proven = stays_for_stored_rows(search.by_row.lists, search.n, search.x, changes)
    # Without given queries, the rows themselves search.
    searched = search.by_query or search.by_row
    for_queries = stays_for_queries(
        searched.lists, search.n, searched.queries, search.x, copied, changes
    )
    query_entries = searched.lists.indices[:, : search.n] >= 0
    head_share: float | None = None
    head_cosine: float | None = None
    in_axes: float | None = None
    if kind is not None and kind.n_kept is not None:
        head_share = _median_head_share(search.side, changes)
        head_cosine = _median_cosine(search.former, copied.rows)
        if isinstance(kind, FirstColumns):
            axes = PrincipalAxes(kind.n_columns).copy(search.x)
            in_axes = float(_kept_by_list(search, axes.rows).mean())
    labels = np.asarray(search.side.labels)
    return StoredCopy(
        name=name,
        n_columns=int(copied.rows.shape[1]),
        bytes_per_vector=float(copied.bytes_per_vector),
        kept_by_list=_kept_by_list(search, copied.rows),
        n_rows=len(search.side.directed),
        proven=_share(proven, entries),
        proven_for_queries=_share(for_queries, query_entries),
        kept_by_query=_kept_by_query(search, copied),
        n_given_queries=search.n_given_queries,
        angles=np.degrees(changes.angles),
        n_lost=int(np.count_nonzero(~changes.is_listed[search.side.directed])),
        sure_lead=_sure_lead(changes),
        is_turned=kind is None and copied.axes is not None,
        head_share=head_share,
        typical_head_cosine=head_cosine,
        kept_in_principal_axes=in_axes,
        names=labels,
        row_title=row_title,
    )


def _share(flags: Flags, entries: Flags) -> float:
    """Return the share of flagged entries; 0 without entries."""
    return int(np.count_nonzero(flags)) / max(int(np.count_nonzero(entries)), 1)


def _kept_by_list(search: _Search, rows: Rows) -> Floats:
    """Return the share of each list that the same rows of a copy keep."""
    # The shares count tied rows, so it does not matter which of them are listed.
    nearest = neighbours(rows, search.length, rows=search.former.rows, first_tied=False)
    copy = Searched(rows, rows, _lists_of_rows(nearest))
    return shares_of_lists_kept(search.by_row, copy, search.n)


def _kept_by_query(search: _Search, copied: CopiedRows) -> Floats | None:
    """Return the share of the list of each given query that a copy keeps."""
    if search.queries is None or search.by_query is None:
        return None
    queries = search.queries
    n_columns = copied.rows.shape[1]
    if copied.axes is not None:
        queries = queries @ copied.axes.T
    elif n_columns <= queries.shape[1]:
        queries = np.ascontiguousarray(queries[:, :n_columns])
    else:
        queries = np.pad(queries, ((0, 0), (0, n_columns - queries.shape[1])))
    copy = _searched_by(unit_rows(queries, none=0), copied.rows, search.length)
    return shares_of_lists_kept(search.by_query, copy, search.n)


def _median_head_share(side: Side, changes: Changes) -> float:
    """Return the median share of the squared length that the leading columns hold.

    The cosine of a row and its head is the root of the share of the head. A head of
    zeros has no cosine, and holds nothing.
    """
    shares = np.cos(changes.angles) ** 2
    shares[~changes.is_listed] = 0
    return float(np.median(shares[side.directed]))


def _median_cosine(lists: NeighbourLists, rows: Rows) -> float | None:
    """Return the median cosine of the entries of lists in a copy.

    None if no entry has a cosine, because rows of the copy are zero.
    """
    row, place = np.nonzero(lists.indices >= 0)
    pairs = np.column_stack([lists.rows[row], lists.indices[row, place]])
    cosines = pair_cosines(rows, rows, pairs)
    cosines = cosines[~np.isnan(cosines)]
    if not len(cosines):
        return None
    return float(np.median(cosines))


def _sure_lead(changes: Changes) -> float:
    """Bound the change of a lead in cosine: the sum of the two largest changes."""
    largest = np.sort(changes.largest_distances[changes.is_listed])[-2:]
    return float(largest.sum() + FLOAT32_TIE + 2 * changes.rounding)
