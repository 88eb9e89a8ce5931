"""Neighbours that stay in several runs: which lists survive a retraining?

Rows are compared within each run only, so runs can have different axes. If both sides
are known, rows are compared by prediction cosine, which no gauge moves; otherwise they
are compared by the cosine of the rows. A neighbour of the first run is stable if all
runs list it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from embaudit.canonical.identified import prediction_views
from embaudit.comparison.kept_neighbours import kept_fractions
from embaudit.comparison.matching import MIN_SHARED, match
from embaudit.core.checked import (
    RNG,
    Flags,
    Floats,
    Indices,
    Vector,
    as_count,
    as_generator,
    as_list,
    named_keywords,
)
from embaudit.core.plain import plain_dict
from embaudit.core.progress import track
from embaudit.core.results import Result
from embaudit.core.sizes import N_QUERIES
from embaudit.core.ties import exceeds, level_ties, reaches
from embaudit.core.tolerances import EXACT_SHAPE, FLOAT32_TIE
from embaudit.core.words import (
    counted,
    drawn_of,
    percent,
    percent_with_interval,
    three_decimals,
    three_digits,
)
from embaudit.errors import InputError, must_be
from embaudit.io import model_of
from embaudit.io.files import AnyPath
from embaudit.linalg.intervals import independent_draws, mean_interval
from embaudit.linalg.nearest import (
    NeighbourLists,
    list_length,
    neighbours,
    require_length,
    tie_of,
)
from embaudit.linalg.pair_cosines import pair_cosines
from embaudit.linalg.rows import row_norms, sample_rows
from embaudit.linalg.taken import taken_rows
from embaudit.linalg.transformed_rows import Rows
from embaudit.model import FactorModel, SideName
from embaudit.model.sizes import require_ordinary_size
from embaudit.movements.twins import representatives_of, without_copies

if TYPE_CHECKING:
    import pandas as pd

MIN_ROWS = 3
"""Fewest rows that can have lists: a row, its neighbour, and a row that is left out."""
MANY_TIES = 0.05
"""Share of lists with a tie for the last place above which ties are reported."""
NOTABLE_CHANCE = 0.01
"""Smallest share by chance that a sentence mentions."""


class Popularity(StrEnum):
    """Measure of the popularity of a row."""

    INTERACTIONS = "interactions"
    """Number of interactions."""
    SCORE_LENGTH = "score length"
    """Length of the scores of an item in run 1: the root of their sum of squares.

    These are the scores that prediction cosines compare, centred if those are."""
    ROW_LENGTH = "row length"
    """Length of the row in the first run."""


@dataclass(frozen=True, eq=False)
class StableNeighbours(Result):
    """Lists of the first of several runs, and how many runs list each neighbour.

    Runs are numbered from 1.

    Examples
    --------
    >>> draw = np.random.default_rng(0)
    >>> users, items = draw.normal(size=(40, 3)), draw.normal(size=(30, 3))
    >>> runs = [
    ...     FactorModel.from_user_item(users, items + 0.2 * draw.normal(size=(30, 3)))
    ...     for _ in range(3)
    ... ]
    >>> found = stable_neighbours(runs, n_neighbours=4)
    >>> found.n_runs, found.run_counts.shape, found.stable_share < 1
    (3, (30, 4), True)
    """

    role: SideName
    """Side of the rows."""
    row_title: str
    """Title of a row, such as "item"."""
    similarity: str
    """How rows are compared: by "prediction cosine" or by "cosine"."""
    n_first: int
    """Number of rows of the first run."""
    n_shared: int
    """Number of rows that all runs hold."""
    n_without_direction: int
    """Number of shared rows that have no cosine in at least one run.

    These rows are in no list."""
    n_rows: int
    """Number of rows that have a list. `rows` is a sample of them if it is shorter."""
    ids: NDArray[Any] = field(repr=False)
    """(p,) ids of the compared rows, or row numbers in the first run without ids."""
    names: NDArray[Any] | None = field(repr=False)
    """(p,) titles of the compared rows in the first run; None without titles."""
    popularity: Vector = field(repr=False)
    """(p,) popularity of the compared rows."""
    popularity_measure: Popularity
    """Measure of the popularity: interactions, from the first run that has their
    numbers, or a length in run 1 if no run has them."""
    rows: Indices = field(repr=False)
    """(m,) places in `ids` of the rows that the lists belong to."""
    indices: Indices = field(repr=False)
    """(m, n) places in `ids` of their neighbours in the first run, nearest first."""
    is_listed: Flags = field(repr=False)
    """(runs, m, n) True if a run lists the neighbour; always True in the first run."""
    cosines: Floats = field(repr=False)
    """(runs, m, n) cosine of the row and the neighbour in each run."""
    tied_share: float
    """Share of the lists of the first run whose last neighbour ties with a row that is
    not listed."""
    copies: tuple[tuple[int, int], ...]
    """Pairs (run, earlier run) of runs whose cosines are equal up to rounding."""

    def to_dict(self) -> dict[str, Any]:
        """Return the record for JSON; NaN and infinity become None."""
        low, high = self.interval
        return plain_dict(
            {
                "role": self.role,
                "similarity": self.similarity,
                "n_runs": self.n_runs,
                "n_neighbours": self.n,
                "n_lists": len(self.rows),
                "n_rows": self.n_rows,
                "n_first": self.n_first,
                "n_shared": self.n_shared,
                "n_without_direction": self.n_without_direction,
                "n_duplicates": self.n_duplicates,
                "stable_share": self.stable_share,
                "stable_share_ci_low": low,
                "stable_share_ci_high": high,
                "chance_share": self.chance_share,
                "frequencies": self.frequencies(),
                "runs": self.by_run(),
                "popularity": self.popularity_measure,
                "by_popularity": self.by_popularity(),
                "typical_deviation": self.typical_deviation,
                "tied_share": self.tied_share,
                "copies": self.copies,
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
    def n_runs(self) -> int:
        """Number of runs."""
        return len(self.is_listed)

    @property
    def n(self) -> int:
        """Length of a list."""
        return int(self.indices.shape[1])

    @property
    def n_duplicates(self) -> int:
        """Number of shared rows that duplicate an earlier row in all runs.

        They have no list and are in no list, because the earlier row stands for them.
        """
        return self.n_shared - self.n_without_direction - self.n_rows

    @property
    def run_counts(self) -> Indices:
        """(m, n) number of runs that list the neighbour, from 1 on."""
        return np.asarray(np.count_nonzero(self.is_listed, axis=0))

    @property
    def mean_cosines(self) -> Floats:
        """(m, n) mean of the cosine over the runs."""
        return np.asarray(self.cosines.mean(axis=0))

    @property
    def cosine_deviations(self) -> Floats:
        """(m, n) standard deviation of the cosine over the runs (divisor: runs - 1)."""
        return np.asarray(self.cosines.std(axis=0, ddof=1))

    @property
    def stable_by_list(self) -> Floats:
        """(m,) share of the neighbours of each list that all runs list."""
        return np.asarray(self.is_listed.all(axis=0).mean(axis=1))

    @property
    def stable_share(self) -> float:
        """Share of the neighbours of the first run that all runs list."""
        return float(self.stable_by_list.mean())

    @property
    def interval(self) -> tuple[float, float]:
        """95 % interval of the stable share over all rows that have a list."""
        return _share_interval(self.stable_by_list, self.n_rows)

    @property
    def typical_deviation(self) -> float:
        """Median over all neighbours of the standard deviation of the cosine."""
        return float(np.median(self.cosine_deviations))

    @property
    def chance_share(self) -> float:
        """Expected stable share of runs that have nothing in common."""
        return self._chance_of_one_run ** (self.n_runs - 1)

    @property
    def _chance_of_one_run(self) -> float:
        """Expected share of a list that one unrelated run lists."""
        return self.n / (self.n_rows - 1)

    def frequencies(self) -> list[dict[str, Any]]:
        """Return the share of the neighbours for each number of runs.

        Columns
        -------
        n_runs : int
            Number of runs that list a neighbour. The first run lists all of them.
        share : float
            Share of the neighbours that exactly this number of runs lists.
        """
        run_counts = self.run_counts
        return [
            {"n_runs": n_runs, "share": float((run_counts == n_runs).mean())}
            for n_runs in range(self.n_runs, 0, -1)
        ]

    def by_run(self) -> list[dict[str, Any]]:
        """Return the share of the neighbours of the first run that each run lists.

        Columns
        -------
        run : int
            Number of the run, from 2 on.
        share : float
            Share of the neighbours of the first run that this run lists.
        ci_low : float
            Lower end of the 95 % interval of the share.
        ci_high : float
            Upper end.
        """
        records = []
        for run in range(2, self.n_runs + 1):
            shares = self._shares_of_run(run)
            low, high = _share_interval(shares, self.n_rows)
            records.append(
                {
                    "run": run,
                    "share": float(shares.mean()),
                    "ci_low": low,
                    "ci_high": high,
                }
            )
        return records

    def _shares_of_run(self, run: int) -> Floats:
        """Return the share of each list that a run lists, (m,)."""
        return np.asarray(self.is_listed[run - 1].mean(axis=1))

    @property
    def unrelated_runs(self) -> list[int]:
        """Runs that are not shown to list more neighbours than by chance.

        The 95 % interval of the share includes the share by chance, or lies below it.
        The lists count as draws from many more rows: even if all rows have lists, the
        share of an unrelated run differs from chance at random.
        """
        runs = []
        for run in range(2, self.n_runs + 1):
            shares = self._shares_of_run(run)
            low, _ = mean_interval(shares, len(shares))
            if reaches(self._chance_of_one_run, low):
                runs.append(run)
        return runs

    def by_popularity(self) -> list[dict[str, Any]]:
        """Return the stable share of rows of low, middle and high popularity.

        The rows with lists are cut into thirds. Rows of the same popularity are in the
        same third, so thirds can differ in size and a third can be missing. The list is
        empty if all rows have the same popularity.

        Columns
        -------
        third : int
            1 for the least popular rows, 3 for the most popular ones.
        least : float
            Smallest popularity of the third, in the unit of `popularity_measure`.
        most : float
            Largest popularity of the third.
        n_lists : int
            Number of lists of the third.
        stable_share : float
            Share of the neighbours in these lists that all runs list.
        ci_low : float
            Lower end of the 95 % interval of the share.
        ci_high : float
            Upper end.
        """
        popularity = np.asarray(self.popularity[self.rows], dtype=np.float64)
        if not self._popularity_differs(popularity):
            return []
        # Lengths that differ only by rounding must not end up in different thirds.
        popularity = level_ties(popularity[None])[0]
        edges = np.sort(popularity)[_third_places(len(popularity))]
        thirds = 1 + np.searchsorted(edges, popularity, side="left")
        stable_by_list = self.stable_by_list
        records = []
        for third in np.unique(thirds).tolist():
            is_member = thirds == third
            n_lists = int(np.count_nonzero(is_member))
            # About the same share of the rows that were not drawn is in this third.
            n_rows = round(n_lists * self.n_rows / len(self.rows))
            low, high = _share_interval(stable_by_list[is_member], n_rows)
            records.append(
                {
                    "third": third,
                    "least": float(popularity[is_member].min()),
                    "most": float(popularity[is_member].max()),
                    "n_lists": n_lists,
                    "stable_share": float(stable_by_list[is_member].mean()),
                    "ci_low": low,
                    "ci_high": high,
                }
            )
        return records

    def _popularity_differs(self, popularity: Vector) -> bool:
        """Return True if rows differ in popularity by more than rounding of rows."""
        spread = np.ptp(popularity)
        if self.popularity_measure is Popularity.INTERACTIONS:
            return bool(spread > 0)
        return bool(spread > EXACT_SHAPE * np.median(popularity))

    def to_frame(self) -> pd.DataFrame:
        """Return one row per neighbour of the first run.

        The columns are `id` and `neighbour` (ids, or row numbers of the first run),
        `title` and `neighbour_title` if rows have titles, `place` (from 1), `runs`
        (number of runs that list the neighbour), `stable` (True if all runs list it),
        `mean_cosine` and `sd_cosine` (over the runs).
        """
        import pandas as pd

        m, n = self.indices.shape
        own = np.repeat(self.rows, n)
        other = self.indices.ravel()
        run_counts = self.run_counts.ravel()
        columns: dict[str, Any] = {"id": self.ids[own], "neighbour": self.ids[other]}
        if self.names is not None:
            columns["title"] = self.names[own]
            columns["neighbour_title"] = self.names[other]
        columns["place"] = np.tile(np.arange(1, n + 1), m)
        columns["runs"] = run_counts
        columns["stable"] = run_counts == self.n_runs
        columns["mean_cosine"] = self.mean_cosines.ravel()
        columns["sd_cosine"] = self.cosine_deviations.ravel()
        return pd.DataFrame(columns)

    def explain(self) -> str:
        """Say how many neighbours all runs list, and how far cosines vary."""
        return " ".join(self.paragraphs)

    @property
    def paragraphs(self) -> tuple[str, ...]:
        """The sentences, one paragraph for each subject."""
        texts = (
            self._on_stable_share(),
            self._on_unrelated_runs(),
            self._on_copies(),
            self._on_popularity(),
            self._on_deviation(),
            self._on_ties(),
            self._on_skipped_rows(),
        )
        return tuple(filter(None, texts))

    @property
    def lists(self) -> str:
        """Number of compared lists, and number of lists they were drawn from."""
        return f"lists of {drawn_of(len(self.rows), self.n_rows, self.row_title)}"

    def _on_stable_share(self) -> str:
        """Say how many neighbours of the first run all runs list."""
        runs = "Both runs"
        if self.n_runs > 2:
            runs = f"All {self.n_runs} runs"
        nearest = f"nearest {self.row_title}"
        if self.n > 1:
            nearest = f"{self.n} nearest {self.row_title}s"
        by_chance = ""
        if reaches(self.chance_share, NOTABLE_CHANCE):
            by_chance = f"; unrelated runs would list {percent(self.chance_share)}"
        return (
            f"{runs} list {percent_with_interval(self.stable_share, self.interval)} of "
            f"the first run's {nearest} by {self.similarity} ({self.lists}{by_chance})."
        )

    def _on_unrelated_runs(self) -> str:
        """Name the runs that list no more neighbours than chance can explain."""
        texts = []
        for run in self.unrelated_runs:
            share = percent(float(self._shares_of_run(run).mean()))
            texts.append(
                f"Run {run} lists {share} of them, which chance can explain (unrelated "
                f"runs would list {percent(self._chance_of_one_run)}): check that its "
                f"{self.row_title}s are those of the first run and that it was trained."
            )
        return " ".join(texts)

    def _on_copies(self) -> str:
        """Name the runs that have the cosines of an earlier run."""
        texts = []
        for run, earlier in self.copies:
            texts.append(
                f"Run {run} has the same cosines as run {earlier} up to rounding, as a "
                "copy would have, so it does not show what retraining changes."
            )
        return " ".join(texts)

    def _on_popularity(self) -> str:
        """Compare the stable shares of the least and the most popular rows."""
        thirds = self.by_popularity()
        if len(thirds) < 2:
            return ""
        texts = []
        for third in (thirds[0], thirds[-1]):
            interval = (third["ci_low"], third["ci_high"])
            share = percent_with_interval(third["stable_share"], interval)
            rows = popularity_text(
                self.popularity_measure, third["least"], third["most"]
            )
            texts.append(f"{share} for {self.row_title}s {rows}")
        return f"The share is {texts[0]}, and {texts[1]}."

    def _on_deviation(self) -> str:
        """Say how far the cosine of a neighbour varies over the runs."""
        return (
            f"The {self.similarity} of a neighbour has a standard deviation of "
            f"{three_decimals(self.typical_deviation)} over the runs (median of all "
            "neighbours)."
        )

    def _on_ties(self) -> str:
        """Say in how many lists a tie decides which rows are listed."""
        if not exceeds(self.tied_share, MANY_TIES):
            return ""
        return (
            f"In {percent(self.tied_share)} of the first run's lists, the last "
            f"neighbour ties with {self.row_title}s that are not listed, so which of "
            "them is listed says nothing. In another run, a neighbour also counts as "
            "listed if it ties with the last one there."
        )

    def _on_skipped_rows(self) -> str:
        """Say how many rows of the first run have no list, and why."""
        reasons = []
        n_missing = self.n_first - self.n_shared
        if n_missing:
            reasons.append(f"{n_missing:,} not in all runs")
        if self.n_without_direction:
            reasons.append(f"{self.n_without_direction:,} without a cosine in a run")
        if self.n_duplicates:
            reasons.append(f"{self.n_duplicates:,} that duplicate another in all runs")
        if not reasons:
            return ""
        return (
            f"Of the {counted(self.n_first, self.row_title)} of the first run, these "
            f"are in no list: {', '.join(reasons)}."
        )


def popularity_text(measure: Popularity, least: float, most: float) -> str:
    """Describe rows by the range of their popularity.

    Examples
    --------
    >>> popularity_text(Popularity.INTERACTIONS, 1, 4)
    'with 1 to 4 interactions'
    >>> popularity_text(Popularity.ROW_LENGTH, 1.0, 2.5)
    'whose vectors have length 1 to 2.5'
    """
    text = three_digits(least)
    if three_digits(most) != text:
        text += f" to {three_digits(most)}"
    if measure is Popularity.INTERACTIONS:
        noun = "interaction" if text == "1" else "interactions"
        return f"with {text} {noun}"
    if measure is Popularity.SCORE_LENGTH:
        return f"whose scores have length {text}"
    return f"whose vectors have length {text}"


def _third_places(count: int) -> list[int]:
    """Return the places of the last row of the first and second third of sorted rows.

    Examples
    --------
    >>> _third_places(9), _third_places(3), _third_places(400)
    ([2, 5], [0, 1], [132, 266])
    """
    return [max(0, round(count / 3) - 1), max(0, round(2 * count / 3) - 1)]


def _share_interval(shares: Floats, n_rows: int) -> tuple[float, float]:
    """Return the 95 % interval of a mean share, for lists drawn from `n_rows` rows."""
    low, high = mean_interval(shares, independent_draws(len(shares), n_rows))
    return max(low, 0.0), min(high, 1.0)


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
    """Find the neighbours of the first run that the other runs list, too.

    The lists are those of the rows that all runs hold. Rows are compared by prediction
    cosine if both sides are known, and by cosine otherwise. Prediction cosines are
    computed over the rows of the other side that all runs hold. A neighbour that ties
    with the last one in the list of another run counts as listed there, unless many
    more rows tie than in the first run. Rows that duplicate each other in all runs
    count once.

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
        The lists of the first run, and the number of runs that list each neighbour.

    Raises
    ------
    InputError
        If there are fewer than two runs, they have different sides, ids are missing or
        name other entities, all scores of a run vanish, or too few rows are shared.

    Examples
    --------
    >>> from embaudit.gauges import Gauge
    >>> draw = np.random.default_rng(0)
    >>> users, items = draw.normal(size=(40, 2)), draw.normal(size=(30, 2))
    >>> model = FactorModel.from_user_item(users, items)
    >>> copy = Gauge.diagonal([4.0, 1.0]).act(model)
    >>> found = stable_neighbours([model, copy])
    >>> print(found.paragraphs[0])
    Both runs list 100 % of the first run's 10 nearest items by prediction cosine (lists
    of all 30 items; unrelated runs would list 34 %).
    >>> found.copies
    ((2, 1),)
    """
    sources = as_list(runs, "runs", "[first, second, third]")
    draw = as_generator(rng)
    if n_lists is not None:
        as_count(n_lists, "n_lists")
    if len(sources) < 2:
        raise must_be("runs", "two or more models", len(sources))
    if by_row is None and not all(isinstance(run, FactorModel) for run in sources):
        by_row = False
    models = [model_of(source) for source in sources]
    side = _side_of_lists(models, role)
    numbers = _shared_rows(models, by_row=by_row, partial=partial)
    common_models = [
        _take(model, {name: rows[place] for name, rows in numbers.items()})
        for place, model in enumerate(models)
    ]
    views = [
        _compared_rows(model, side, run)
        for run, model in enumerate(common_models, start=1)
    ]
    has_direction = np.all([row_norms(view) > 0 for view in views], axis=0)
    places = np.flatnonzero(has_direction)
    views = [taken_rows(view, places) for view in views]
    representatives = _shared_duplicates(common_models, side, places)
    eligible = without_copies(np.arange(len(places)), representatives)
    title = models[0].title(side)
    if len(eligible) < MIN_ROWS:
        raise must_be(
            f"the number of shared {title}s with different directions in all runs",
            f"at least {MIN_ROWS}",
            len(eligible),
            "rows of zeros and duplicates do not count",
        )
    require_length(n_neighbours, len(eligible))
    # A list of all other rows could not change, so it leaves out at least one of them.
    n = list_length(n_neighbours, len(eligible), left_out=1)
    queries = eligible
    if n_lists is not None:
        queries = sample_rows(eligible, n_lists, draw)
    lists = [
        neighbours(view, n, rows=queries, first=representatives)
        for view in track(views, "searching neighbours", len(views))
    ]
    first = lists[0]
    is_tied = first.end_in_tie(tie=FLOAT32_TIE)
    cosines = _cosines_in_runs(first, views)
    own = common_models[0].side(side)
    ids = numbers[side][0] if own.ids is None else np.asarray(own.ids)
    names = None if own.names is None else np.asarray(own.names)[places]
    popularity, measure = _popularity(common_models, side, places, views[0])
    similarity = "prediction cosine"
    if models[0].left is None:
        similarity = "cosine"
    return StableNeighbours(
        role=side,
        row_title=title,
        similarity=similarity,
        n_first=len(models[0].side(side)),
        n_shared=len(has_direction),
        n_without_direction=len(has_direction) - len(places),
        n_rows=len(eligible),
        ids=ids[places],
        names=names,
        popularity=popularity,
        popularity_measure=measure,
        rows=queries,
        indices=first.indices,
        is_listed=_listed_in_runs(lists, representatives, len(places)),
        cosines=cosines,
        tied_share=float(is_tied.mean()),
        copies=_copies(cosines, max(tie_of(view) for view in views)),
    )


def _side_of_lists(models: list[FactorModel], role: SideName | str) -> SideName:
    """Return the side of the lists, after a check that all runs have the same sides."""
    for number, model in enumerate(models, start=1):
        require_ordinary_size(model)
        if model.sides != models[0].sides:
            raise must_be(
                f"run {number}",
                f"a model of {_titles_of_sides(models[0])}, like run 1",
                f"a model of {_titles_of_sides(model)}",
                "read all runs with the same sides",
            )
    side = models[0].side_name(role)
    # Raise InputError if the runs lack this side.
    models[0].side(side)
    return side


def _titles_of_sides(model: FactorModel) -> str:
    """Name the sides of a model, such as "users and items"."""
    return " and ".join(f"{model.title(side)}s" for side in model.sides)


def _shared_rows(
    models: list[FactorModel], *, by_row: bool | None, partial: bool
) -> dict[SideName, list[Indices]]:
    """Return for each side the row numbers, in each run, of the rows of all runs.

    The rows are in the order of the first run.
    """
    first = models[0]
    shared: dict[SideName, list[Indices]] = {}
    for role in first.sides:
        matches = []
        for number, other in enumerate(models[1:], start=2):
            try:
                pairs = match(first, other, role, by_row=by_row, partial=partial)
            except InputError as error:
                if len(models) == 2:
                    raise
                raise InputError(
                    "{} The first model is run 1 and the second model is run {}.",
                    error.sentence,
                    number,
                ) from error
            matches.append(pairs)
        # Each match is in the order of the first run, so its rows there are sorted.
        common = reduce(np.intersect1d, [pairs.before for pairs in matches])
        if len(common) < MIN_SHARED:
            raise must_be(
                f"the number of {first.title(role)}s in all runs",
                f"at least {MIN_SHARED}",
                len(common),
                "compare runs of the same data",
            )
        shared[role] = [common]
        for pairs in matches:
            places = np.searchsorted(pairs.before, common)
            shared[role].append(pairs.after[places])
    return shared


def _take(model: FactorModel, numbers: dict[SideName, Indices]) -> FactorModel:
    """Return the model of some rows of each side. A whole side is not copied."""
    parts = {}
    for role, rows in numbers.items():
        is_whole = np.array_equal(rows, np.arange(len(model.side(role))))
        if not is_whole:
            parts[role] = rows
    if not parts:
        return model
    return model.take(**parts)


def _compared_rows(model: FactorModel, role: SideName, run: int) -> Rows:
    """Return rows whose plain cosine orders the lists."""
    if model.left is None:
        return model.factors(role)
    views = prediction_views(model)
    if views is None:
        raise must_be(f"the scores of run {run}", "not all 0", "scores that are all 0")
    return views[role]


def _shared_duplicates(
    models: list[FactorModel], role: SideName, places: Indices
) -> Indices | None:
    """Return for each compared row the first row that it duplicates in all runs.

    Rows that differ in at least one run are no duplicates. Return None if there are no
    duplicates.
    """
    groups = []
    for model in models:
        first = representatives_of(model, role)
        if first is None:
            return None
        groups.append(first[places])
    # Two rows are duplicates in all runs if they have the same representative in each.
    _, first_places, group = np.unique(
        np.column_stack(groups), axis=0, return_index=True, return_inverse=True
    )
    return np.asarray(first_places[group.ravel()])


def _listed_in_runs(
    lists: list[NeighbourLists], representatives: Indices | None, n_rows: int
) -> Flags:
    """Flag the runs that list each neighbour of the first run, (runs, m, n)."""
    if representatives is None:
        representatives = np.arange(n_rows)
    is_listed = np.ones((len(lists), *lists[0].indices.shape), dtype=bool)
    for run, other in enumerate(lists[1:], start=1):
        # A neighbour that ties in a crowded list is kept in part, and not flagged.
        is_listed[run] = kept_fractions(lists[0], other, representatives) == 1
    return is_listed


def _cosines_in_runs(lists: NeighbourLists, views: list[Rows]) -> Floats:
    """Return the cosines of the listed pairs of rows in each run, (runs, m, n)."""
    m, n = lists.indices.shape
    pairs = np.column_stack([np.repeat(lists.rows, n), lists.indices.ravel()])
    cosines = [pair_cosines(view, view, pairs).reshape(m, n) for view in views]
    return np.array(cosines)


def _copies(cosines: Floats, tie: float) -> tuple[tuple[int, int], ...]:
    """Return the runs that have the cosines of an earlier run, with the earlier run.

    Examples
    --------
    >>> _copies(np.array([[[0.5]], [[0.7]], [[0.5]], [[0.5]]]), 1e-9)
    ((3, 1), (4, 1))
    """
    copies = []
    for run in range(1, len(cosines)):
        for earlier in range(run):
            if np.abs(cosines[run] - cosines[earlier]).max() <= tie:
                copies.append((run + 1, earlier + 1))
                break
    return tuple(copies)


def _popularity(
    models: list[FactorModel], role: SideName, places: Indices, view: Rows
) -> tuple[Vector, Popularity]:
    """Return the popularity of the compared rows, and its measure.

    Parameters
    ----------
    view : rows of shape (p, k)
        The compared rows of the first run. Their lengths stand for popularity if no run
        knows the interactions.
    """
    for model in models:
        counts = model.side(role).counts
        if counts is not None:
            counts = np.asarray(counts, dtype=np.float64)
            return counts[places], Popularity.INTERACTIONS
    measure = Popularity.SCORE_LENGTH
    if models[0].left is None:
        measure = Popularity.ROW_LENGTH
    return row_norms(view), measure
