"""Neighbours that stay in several runs: which lists survive a retraining?

Rows are compared within each run only: by prediction cosine if both sides are known, so
no gauge lies between two runs, and otherwise by the cosine of the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from embaudit.canonical.identified import prediction_views
from embaudit.comparison.crowded import kept_shares
from embaudit.comparison.matching import MIN_SHARED, match
from embaudit.core.checked import (
    RNG,
    Floats,
    Indices,
    Vector,
    as_count,
    as_generator,
    as_list,
    named_keywords,
)
from embaudit.core.plain import plain_dict
from embaudit.core.results import Result
from embaudit.core.sizes import N_QUERIES
from embaudit.core.words import counted, drawn_of, percent, three_decimals
from embaudit.errors import InputError, must_be
from embaudit.io import model_of
from embaudit.io.files import AnyPath
from embaudit.linalg.intervals import independent_draws, mean_interval
from embaudit.linalg.nearest import (
    NeighbourLists,
    list_length,
    neighbours,
    require_length,
)
from embaudit.linalg.pairs import pair_cosines
from embaudit.linalg.rows import row_norms, sample_rows
from embaudit.linalg.taken import taken_rows
from embaudit.linalg.transformed_rows import Rows
from embaudit.model import FactorModel, SideName
from embaudit.model.sizes import require_ordinary_size
from embaudit.movements.twins import representatives_of, without_copies

if TYPE_CHECKING:
    import pandas as pd

MIN_ROWS = 3
"""Fewest rows that can have lists: a row, its neighbour, and a row left out."""
THIRDS = ("few", "some", "many")
"""Names of the thirds of the rows, by their interactions."""


@dataclass(frozen=True, eq=False)
class StableNeighbours(Result):
    """Lists of the first of several runs, and how many runs list each neighbour.

    Examples
    --------
    >>> draw = np.random.default_rng(0)
    >>> users, items = draw.normal(size=(40, 3)), draw.normal(size=(30, 3))
    >>> runs = [
    ...     FactorModel.from_user_item(users, items + 0.2 * draw.normal(size=(30, 3)))
    ...     for _ in range(3)
    ... ]
    >>> found = stable_neighbours(runs, n_neighbours=4)
    >>> found.n_runs, found.n_listing.shape, found.stable_share < 1
    (3, (30, 4), True)
    """

    role: SideName
    """Side of the rows."""
    row_title: str
    """Title of a row, such as "item"."""
    similarity: str
    """By what rows are compared: "prediction cosine" or "cosine"."""
    n_runs: int
    """Number of runs."""
    n_shared: int
    """Rows that all runs hold."""
    n_without_direction: int
    """Shared rows that have no cosine in at least one run. They are in no list."""
    n_rows: int
    """Rows that have a list; `rows` is a sample of them if it is shorter."""
    ids: NDArray[Any] = field(repr=False)
    """(p,) ids of the compared rows, or their numbers in the first run."""
    names: NDArray[Any] | None = field(repr=False)
    """(p,) their titles in the first run; None without titles."""
    counts: Vector | None = field(repr=False)
    """(p,) their interactions, of the first run that knows them; None if unknown."""
    rows: Indices = field(repr=False)
    """(m,) places in `ids` of the rows whose lists these are."""
    indices: Indices = field(repr=False)
    """(m, n) places of their neighbours in the first run, nearest first."""
    n_listing: Indices = field(repr=False)
    """(m, n) number of runs that list the neighbour, from 1 on."""
    mean_cosines: Floats = field(repr=False)
    """(m, n) mean of the cosine over the runs."""
    cosine_deviations: Floats = field(repr=False)
    """(m, n) standard deviation of the cosine over the runs (divisor: runs less 1)."""

    def to_dict(self) -> dict[str, Any]:
        """Return the record for JSON, with None for numbers that do not exist."""
        low, high = self.interval
        return plain_dict(
            {
                "role": self.role,
                "similarity": self.similarity,
                "n_runs": self.n_runs,
                "n_neighbours": self.n,
                "n_lists": len(self.rows),
                "n_rows": self.n_rows,
                "n_shared": self.n_shared,
                "n_without_direction": self.n_without_direction,
                "stable_share": self.stable_share,
                "stable_share_ci_low": low,
                "stable_share_ci_high": high,
                "by_runs": self.by_runs(),
                "by_count": self.by_count(),
                "typical_deviation": self.typical_deviation,
                "explanation": self.explain(),
            }
        )

    def __repr__(self) -> str:
        return (
            f"StableNeighbours({self.n} nearest of "
            f"{counted(len(self.rows), self.row_title)} in {self.n_runs} runs, "
            f"{percent(self.stable_share)} stable)"
        )

    @property
    def n(self) -> int:
        """Length of a list."""
        return int(self.indices.shape[1])

    @property
    def stable_by_list(self) -> Floats:
        """(m,) share of the neighbours of each list that all runs list."""
        return np.asarray((self.n_listing == self.n_runs).mean(axis=1))

    @property
    def stable_share(self) -> float:
        """Share of the neighbours of the first run that all runs list."""
        return float(self.stable_by_list.mean())

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the stable share, for other rows of these runs."""
        draws = independent_draws(len(self.rows), self.n_rows)
        low, high = mean_interval(self.stable_by_list, draws)
        return max(low, 0.0), min(high, 1.0)

    @property
    def typical_deviation(self) -> float:
        """Median standard deviation of the cosine of a neighbour over the runs."""
        return float(np.median(self.cosine_deviations))

    def by_runs(self) -> list[dict[str, Any]]:
        """Return the share of the neighbours that a number of runs lists.

        Columns
        -------
        runs : int
            Number of runs, the first of which lists the neighbour in any case.
        share : float
            Share of the neighbours that exactly so many runs list.
        """
        return [
            {"runs": n_runs, "share": float((self.n_listing == n_runs).mean())}
            for n_runs in range(self.n_runs, 0, -1)
        ]

    def by_count(self) -> list[dict[str, Any]]:
        """Return the stable share of rows with few, some and many interactions.

        The list is empty without counts, and if all counts are the same.

        Columns
        -------
        third : {"few", "some", "many"}
            Third of the rows with lists, by their interactions. Rows of one count are
            in one third.
        least : float
            Fewest interactions of these rows.
        most : float
            Most interactions.
        n_lists : int
            Number of these rows.
        stable_share : float
            Share of their neighbours that all runs list.
        """
        if self.counts is None:
            return []
        counts = self.counts[self.rows]
        if counts.min() == counts.max():
            return []
        edges = np.quantile(counts, [1 / 3, 2 / 3])
        thirds = np.searchsorted(edges, counts, side="left")
        records = []
        for number, name in enumerate(THIRDS):
            is_member = thirds == number
            if not is_member.any():
                continue
            records.append(
                {
                    "third": name,
                    "least": float(counts[is_member].min()),
                    "most": float(counts[is_member].max()),
                    "n_lists": int(np.count_nonzero(is_member)),
                    "stable_share": float(self.stable_by_list[is_member].mean()),
                }
            )
        return records

    def to_frame(self) -> pd.DataFrame:
        """Return one row per neighbour of the first run.

        The columns are `id`, `neighbour` (ids, or row numbers of the first run),
        `title` and `neighbour_title` if rows have titles, `place` (from 1), `runs`
        (number of runs that list the neighbour), `stable` (True if all do),
        `mean_cosine` and `sd_cosine` (over the runs).
        """
        import pandas as pd

        m, n = self.indices.shape
        own = np.repeat(self.rows, n)
        other = self.indices.ravel()
        columns: dict[str, Any] = {"id": self.ids[own], "neighbour": self.ids[other]}
        if self.names is not None:
            columns["title"] = self.names[own]
            columns["neighbour_title"] = self.names[other]
        columns["place"] = np.tile(np.arange(1, n + 1), m)
        columns["runs"] = self.n_listing.ravel()
        columns["stable"] = self.n_listing.ravel() == self.n_runs
        columns["mean_cosine"] = self.mean_cosines.ravel()
        columns["sd_cosine"] = self.cosine_deviations.ravel()
        return pd.DataFrame(columns)

    def explain(self) -> str:
        """Say how many neighbours all runs list, and how far cosines vary."""
        return " ".join(self.paragraphs)

    @property
    def paragraphs(self) -> tuple[str, ...]:
        """The sentences, one paragraph for each thing that was measured."""
        runs = "both runs" if self.n_runs == 2 else f"all {self.n_runs} runs"
        share = percent(self.stable_share)
        low, high = self.interval
        if low < high:
            share += f" ({percent(low)} to {percent(high)})"
        lists = drawn_of(len(self.rows), self.n_rows, self.row_title)
        texts = [
            f"Of the {self.n} {self.row_title}s that the first run lists as nearest by "
            f"{self.similarity}, {runs} list {share} (lists of {lists})."
        ]
        thirds = self.by_count()
        if len(thirds) > 1:
            fewest, most = thirds[0], thirds[-1]
            texts.append(
                f"This share is {percent(fewest['stable_share'])} for "
                f"{self.row_title}s with few interactions ({_span(fewest)}), and "
                f"{percent(most['stable_share'])} for those with many ({_span(most)})."
            )
        texts.append(
            f"Over the runs, the {self.similarity} of a neighbour has a typical "
            f"standard deviation of {three_decimals(self.typical_deviation)}."
        )
        return tuple(texts)


def _span(third: dict[str, Any]) -> str:
    """Write the range of the interactions of a third of the rows."""
    return f"{third['least']:,.6g} to {third['most']:,.6g}"


@named_keywords
def stable_neighbours(
    runs: Sequence[FactorModel | AnyPath | object],
    *,
    role: SideName | str = "right",
    n_neighbours: int | None = None,
    n_lists: int | None = N_QUERIES,
    by_row: bool | None = None,
    partial: bool = False,
    rng: RNG = 0,
) -> StableNeighbours:
    """Find the neighbours of the first run that other runs list, too.

    The lists are those of the rows that all runs hold, by prediction cosine if both
    sides are known, and by the cosine of the rows otherwise. Prediction cosines are
    computed over the rows of the other side that all runs hold. A neighbour that ties
    with the last one in the list of another run counts as listed there, unless many
    more rows tie than in the first run.

    Parameters
    ----------
    runs : sequence of FactorModel, path or object
        Two or more models of the same entities, such as trainings with other seeds, or
        objects that `embaudit.load` reads. Their ranks can differ.
    role : {"left", "right"}
        Side of the lists.
    n_neighbours : int, optional
        Length of the lists. The default is 10, but at most a third of the other rows.
    n_lists : int, optional
        Number of rows whose lists are compared, drawn at random if there are more; None
        for all rows.
    by_row : bool, optional
        True if the rows of all runs are the same entities in the same order, so ids are
        ignored. This is the default for models in memory without ids, but not for
        files.
    partial : bool
        True if less than half of the smaller of two runs may match. Entities that have
        two titles are skipped then.
    rng : numpy Generator or int
        Draws the rows.

    Returns
    -------
    StableNeighbours

    Raises
    ------
    InputError
        If there are fewer than two runs, they have other sides, ids are missing or
        name other entities, all scores of a run vanish, or too few rows are shared.

    Examples
    --------
    >>> from embaudit.gauges import Gauge
    >>> draw = np.random.default_rng(0)
    >>> users, items = draw.normal(size=(40, 2)), draw.normal(size=(30, 2))
    >>> model = FactorModel.from_user_item(users, items)
    >>> copies = [Gauge.diagonal([axis, 1.0]).act(model) for axis in (1.0, 4.0, 9.0)]
    >>> print(stable_neighbours(copies))
    Of the 10 items that the first run lists as nearest by prediction cosine, all 3 runs
    list 100 % (lists of all 30 items). Over the runs, the prediction cosine of a
    neighbour has a typical standard deviation of 0.000.
    """
    sources = as_list(runs, "runs", "[first, second, third]")
    draw = as_generator(rng)
    if n_lists is not None:
        as_count(n_lists, "n_lists")
    if len(sources) < 2:
        raise must_be("runs", "two or more models", len(sources))
    if by_row is None and not all(isinstance(one, FactorModel) for one in sources):
        by_row = False
    models = [model_of(source) for source in sources]
    side = _side_of_lists(models, role)
    reference = models[0]
    shared = _shared_rows(models, by_row=by_row, partial=partial)
    reduced = [
        _take(model, {name: numbers[run] for name, numbers in shared.items()})
        for run, model in enumerate(models)
    ]
    compared = [
        _compared_rows(model, side, run) for run, model in enumerate(reduced, start=1)
    ]
    has_direction = np.all([row_norms(rows) > 0 for rows in compared], axis=0)
    places = np.flatnonzero(has_direction)
    searched = [taken_rows(rows, places) for rows in compared]
    first = _first_duplicates(reduced, side, places)
    eligible = without_copies(np.arange(len(places)), first)
    title = reference.title(side)
    if len(eligible) < MIN_ROWS:
        raise must_be(
            f"the shared {title}s that have different directions in all runs",
            f"at least {MIN_ROWS}",
            len(eligible),
            "rows of zeros and duplicates do not count",
        )
    require_length(n_neighbours, len(eligible))
    # Each list leaves out a row, so it is full in every run and can change.
    n = list_length(n_neighbours, len(eligible), left_out=1)
    judged = eligible
    if n_lists is not None:
        judged = sample_rows(eligible, n_lists, draw)
    lists = [neighbours(rows, n, rows=judged, first=first) for rows in searched]
    cosines = _cosines_in_runs(lists[0], searched)
    own = reduced[0].side(side)
    numbers = shared[side][0][places]
    return StableNeighbours(
        role=side,
        row_title=title,
        similarity="cosine" if reference.left is None else "prediction cosine",
        n_runs=len(models),
        n_shared=len(has_direction),
        n_without_direction=len(has_direction) - len(places),
        n_rows=len(eligible),
        ids=numbers if own.ids is None else np.asarray(own.ids)[places],
        names=None if own.names is None else np.asarray(own.names)[places],
        counts=_counts(reduced, side, places),
        rows=judged,
        indices=lists[0].indices,
        n_listing=_count_runs(lists, first, len(places)),
        mean_cosines=cosines.mean(axis=0),
        cosine_deviations=cosines.std(axis=0, ddof=1),
    )


def _side_of_lists(models: list[FactorModel], role: SideName | str) -> SideName:
    """Return the side of the lists. Raise InputError unless all runs have its sides."""
    for model in models:
        require_ordinary_size(model)
        if model.sides != models[0].sides:
            needed, got = [
                " and ".join(f"{one.title(name)}s" for name in one.sides)
                for one in (models[0], model)
            ]
            raise must_be(
                "every run",
                f"a model of {needed}, as the first one is",
                f"one of {got}",
                "read all runs with the same sides",
            )
    side = models[0].side_name(role)
    models[0].side(side)
    return side


def _shared_rows(
    models: list[FactorModel], *, by_row: bool | None, partial: bool
) -> dict[SideName, list[Indices]]:
    """Return for each side the rows of every run that all runs hold.

    They are in the order of the first run.
    """
    first, others = models[0], models[1:]
    shared: dict[SideName, list[Indices]] = {}
    for role in first.sides:
        matches = []
        for number, other in enumerate(others, start=2):
            try:
                found = match(first, other, role, by_row=by_row, partial=partial)
            except InputError as error:
                if len(models) == 2:
                    raise
                raise InputError("runs 1 and {}: {}", number, error.sentence) from error
            matches.append(found)
        # Rows of the first run are in ascending order in each match.
        common = reduce(np.intersect1d, [found.before for found in matches])
        if len(common) < MIN_SHARED:
            raise must_be(
                f"the {first.title(role)}s that all runs hold",
                f"at least {MIN_SHARED}",
                len(common),
                "compare runs of the same data",
            )
        shared[role] = [common]
        for found in matches:
            places = np.searchsorted(found.before, common)
            shared[role].append(found.after[places])
    return shared


def _take(model: FactorModel, shared: dict[SideName, Indices]) -> FactorModel:
    """Return the model of the shared rows. A side that is whole is not copied."""
    partial_sides = {
        role: numbers
        for role, numbers in shared.items()
        if not np.array_equal(numbers, np.arange(len(model.side(role))))
    }
    if not partial_sides:
        return model
    return model.take(**partial_sides)


def _compared_rows(model: FactorModel, role: SideName, run: int) -> Rows:
    """Return rows whose plain cosine is the one that lists are ordered by."""
    if model.left is None:
        return model.factors(role)
    views = prediction_views(model)
    if views is None:
        raise must_be(f"the scores of run {run}", "not all 0", "zeros")
    return views[role]


def _first_duplicates(
    models: list[FactorModel], role: SideName, places: Indices
) -> Indices | None:
    """Return for each compared row the first row that duplicates it in all runs.

    Rows that one run tells apart are no duplicates. None if there are no duplicates.
    """
    groups = []
    for model in models:
        first = representatives_of(model, role)
        if first is None:
            return None
        groups.append(first[places])
    _, first_places, group = np.unique(
        np.column_stack(groups), axis=0, return_index=True, return_inverse=True
    )
    return np.asarray(first_places[group.ravel()])


def _count_runs(
    lists: list[NeighbourLists], first: Indices | None, n_rows: int
) -> Indices:
    """Count the runs that list each neighbour of the first run, (m, n)."""
    if first is None:
        first = np.arange(n_rows)
    n_listing = np.ones(lists[0].indices.shape, dtype=np.intp)
    for other in lists[1:]:
        # A neighbour that only has a chance to be listed is not counted.
        n_listing += kept_shares(lists[0], other, first) == 1
    return n_listing


def _cosines_in_runs(lists: NeighbourLists, searched: list[Rows]) -> Floats:
    """Return the cosines of the neighbours in each run, (runs, m, n)."""
    m, n = lists.indices.shape
    pairs = np.column_stack([np.repeat(lists.rows, n), lists.indices.ravel()])
    return np.array([pair_cosines(rows, rows, pairs) for rows in searched]).reshape(
        len(searched), m, n
    )


def _counts(
    models: list[FactorModel], role: SideName, places: Indices
) -> Vector | None:
    """Return the interactions of the rows, from the first run that knows them."""
    for model in models:
        counts = model.side(role).counts
        if counts is not None:
            return np.asarray(counts)[places]
    return None
