"""Evaluation of similarities by labels that the model never saw."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from embaudit.canonical.form import EXPONENTS, canonical_form
from embaudit.canonical.identified import identified_factors
from embaudit.canonical.row_span import in_span
from embaudit.core.checked import (
    RNG,
    Indices,
    as_count,
    as_generator,
    named_keywords,
    require_one_of,
)
from embaudit.core.parallel import row_blocks
from embaudit.core.plain import plain_dict
from embaudit.core.results import Result
from embaudit.core.ties import exceeds, first_best
from embaudit.core.tolerances import TIE
from embaudit.core.words import counted, percent, three_decimals
from embaudit.errors import InputError, Parameter, must_be
from embaudit.evaluation.measures import MEASURES, Version, query_measures
from embaudit.evaluation.truth import Truth, as_truth
from embaudit.io import as_model
from embaudit.io.files import AnyPath
from embaudit.linalg.intervals import draw_groups, jackknife_margin
from embaudit.linalg.nearest import list_length, neighbours
from embaudit.linalg.rows import sample_rows, unit_rows
from embaudit.model import Equivalence, FactorModel, SideName
from embaudit.model.sizes import require_ordinary_size

if TYPE_CHECKING:
    import pandas as pd

CANDIDATES = 50_000
"""Rows among which neighbours are looked up; more are sampled."""
MIN_QUERIES = 30
"""Queries that a verdict takes: no interval over fewer is narrower than ±0.1 (rule of
three).
"""
CONFIDENCE = "with 95 % confidence"
"""Where the interval of a difference from the raw cosine lies on one side of 0."""
RAW, CSLS = "cosine", "CSLS"
"""Baseline similarity, the cosine of the stored factors; and the same less the local
mean that makes hubs.
"""
PREDICTION = "prediction cosine"
"""Also the plain cosine of right rows in the left-whitened gauge, and of left rows in
the right-whitened one.
"""


@dataclass(frozen=True, eq=False)
class Evaluation(Result):
    """Precision, AUC and NDCG of every similarity, query by query."""

    role: SideName
    """Side of the entities."""
    title: str
    """Title of an entity, such as "item"."""
    n: int
    """Length of the neighbour lists."""
    n_candidates: int
    """Rows that have a label and a direction, or 50,000 of them."""
    n_left_out: int
    """Rows that lack one."""
    queries: Indices
    """Rows whose neighbours were judged, (q,)."""
    by_query: dict[str, NDArray[np.float64]]
    """Precision, AUC and NDCG of each query (q, 3), by similarity."""
    replicates: dict[str, NDArray[np.float64]]
    """Means without each of up to 20 groups of entities (groups, 3), by similarity."""
    chance: float
    """Precision of a random list."""
    n_rows: int
    """Rows of the side."""
    relation: str = "share a label"
    """Verb phrase of two related rows, such as "share a label"."""
    counts: NDArray[np.float64] | None = None
    """(q,) interactions behind each query; None where they are not known."""

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON can hold it; None for a number that does not exist."""
        return plain_dict(
            {
                "role": self.role,
                "title": self.title,
                "n": self.n,
                "n_candidates": self.n_candidates,
                "n_left_out": self.n_left_out,
                "chance": self.chance,
                "n_rows": self.n_rows,
                "n_queries": len(self.queries),
                "records": self.records(),
                "by_count": self.by_count(),
                "explanation": str(self),
            }
        )

    def __repr__(self) -> str:
        parts = ", ".join(
            f"{name} {three_decimals(values[:, 0].mean())}"
            for name, values in self.by_query.items()
        )
        return f"Evaluation({len(self.queries):,} {self.title}s, precision at {self.n}: {parts}, chance {self.chance:.3f})"

    @property
    def decides(self) -> bool:
        """True if enough rows were asked to say which similarity is better."""
        return len(self.queries) >= MIN_QUERIES

    def value(self, similarity: str, measure: str = "precision") -> float:
        """Return the mean of a measure over the queries."""
        require_one_of(similarity, "similarity", self.by_query)
        require_one_of(measure, "measure", MEASURES)
        return float(self.by_query[similarity][:, MEASURES.index(measure)].mean())

    def best(self, measure: str = "precision") -> str:
        """Return the similarity with the highest mean."""
        return first_best(
            list(self.by_query), lambda name: self.value(name, measure), TIE
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each similarity and measure.

        Returns
        -------
        DataFrame
            Columns similarity, measure, value, ci_low, ci_high (95 %, by leaving out
            groups of entities, as queries and as candidates) and the same for the
            difference from the raw cosine. The intervals of the differences in one
            measure hold together: chance keeps all of them true in 95 % of cases,
            whichever of them is picked afterwards.
        """
        import pandas as pd

        return pd.DataFrame(self.records())

    def records(self) -> list[dict[str, Any]]:
        """Return one record a similarity and measure: the rows of `to_frame`.

        Columns
        -------
        similarity : str
            Name of the similarity.
        measure : {"precision", "auc", "ndcg"}
            Measure that it is judged by.
        value : float
            Mean over the queries.
        ci_low : float
            Lower end of its 95 % interval.
        ci_high : float
            Upper end.
        difference : float
            Difference from the raw cosine.
        difference_ci_low : float
            Lower end of its interval; those of one measure hold together. None for the
            raw cosine itself.
        difference_ci_high : float
            Upper end.
        """
        rows = []
        for name in self.by_query:
            for i, measure in enumerate(MEASURES):
                value, low, high = self._interval(name, i)
                difference, less, more = self._difference(name, i)
                rows.append({
                    "similarity": name, "measure": measure, "value": value, "ci_low": low, "ci_high": high,
                    "difference": difference, "difference_ci_low": less, "difference_ci_high": more,
                })  # fmt: skip
        return rows

    def by_count(self) -> list[dict[str, Any]]:
        """Return the precision of each similarity by how many interactions are behind a query; none without counts.

        None where all counts are the same.

        Columns
        -------
        third : {"tail", "middle", "head"}
            The queries with few, some or many interactions.
        similarity : str
            Name of the similarity.
        least : float
            Fewest interactions of these queries.
        most : float
            Most interactions.
        n_queries : int
            Number of these queries.
        precision : float
            Mean over them.
        """
        if self.counts is None or self.counts.min() == self.counts.max():
            return []
        # Thirds of the queries, not of the range of counts, which a few popular
        # entities stretch. Queries of one count stay in one third.
        edges = np.quantile(self.counts, [1 / 3, 2 / 3])
        place = np.searchsorted(edges, self.counts, side="left")
        return [
            {
                "third": third,
                "similarity": name,
                "least": float(self.counts[place == i].min()),
                "most": float(self.counts[place == i].max()),
                "n_queries": int((place == i).sum()),
                "precision": float(values[place == i, 0].mean()),
            }
            for i, third in enumerate(("tail", "middle", "head"))
            if (place == i).any()
            for name, values in self.by_query.items()
        ]

    def _interval(self, name: str, measure: int) -> tuple[float, float, float]:
        value = float(self.by_query[name][:, measure].mean())
        margin = self._margin(self.replicates[name][:, measure], 1)
        return value, max(0.0, value - margin), min(1.0, value + margin)

    def _difference(self, name: str, measure: int) -> tuple[float, float, float]:
        """Return how much a similarity scores above the raw cosine, and the interval.

        The best similarity is picked after all are measured. So the interval is wide
        enough for the intervals of all similarities to hold at the same time. Each
        jackknife replicate leaves the same groups out of both similarities.

        Returns
        -------
        tuple of float
            Mean difference over the queries, and the ends of its interval; the ends are
            NaN for the raw cosine itself.
        """
        if name == RAW:
            return 0.0, float("nan"), float("nan")
        by_query = self.by_query[name][:, measure] - self.by_query[RAW][:, measure]
        replicates = (
            self.replicates[name][:, measure] - self.replicates[RAW][:, measure]
        )
        n_compared = len(self.by_query) - 1
        difference = float(by_query.mean())
        margin = self._margin(replicates, n_compared)
        return difference, max(-1.0, difference - margin), min(1.0, difference + margin)

    def _margin(self, replicates: NDArray[np.float64], n_intervals: int) -> float:
        # A property that no query of n shows can still hold for a share of 3 / n (rule
        # of three), so a value of 1.0 is never certain.
        unseen = -np.log(0.05) / len(self.queries)
        return float(max(unseen, jackknife_margin(replicates, n_intervals)))

    def explain(self) -> str:
        """Describe in plain words which similarity serves these entities best."""
        n, title = len(self.queries), self.title
        drawn = (
            "" if self.n_candidates + self.n_left_out == self.n_rows else "drawn ones; "
        )
        left_out = f" ({drawn}{self.n_left_out:,} lack a label or a direction)"
        among = (
            "all"
            if self.n_candidates == self.n_rows
            else f"{self.n_candidates:,}{left_out}"
        )
        text = (
            f"{n:,} of {counted(self.n_rows, title)} asked, neighbours among {among}. Of the {self.n} nearest by "
            f"cosine, {percent(self.value(RAW))} {self.relation} with the {title} asked for (precision); "
            f"{percent(self.chance).replace('<', 'less than ')} would by chance. "
        )
        if not self.decides:
            return (
                f"{text}{n} asked are too few for a verdict, which takes {MIN_QUERIES}."
            )
        winner = self._better(MEASURES[0])
        best = winner or self.best()
        difference, low, high = self._difference(best, 0)
        by = f"{percent(self.value(best))}, which is {100 * low:+.1f} to {100 * high:+.1f} percentage points from the "
        by += f"cosine's (95 %, allowing for {len(self.by_query) - 1} compared)"
        if winner:
            text += f"By precision, {winner} serves better: {by}."
        elif exceeds(difference, 0):
            text += (
                f"By precision, no other similarity is better {CONFIDENCE}: the best, "
                f"{best}, reaches {by}."
            )
        else:
            text += "By precision, no other similarity does better."
        for measure in MEASURES[1:]:
            winner = self._better(measure)
            better = winner or "no other similarity"
            text += f" By {measure.upper()}, {better} is better {CONFIDENCE}"
            if winner:
                values = self.value(winner, measure), self.value(RAW, measure)
                text += (
                    f": {three_decimals(values[0])} against {three_decimals(values[1])}"
                )
            text += "."
        # What an audit recommends may find less: it is what predictions fix, and no
        # better taste.
        places = range(len(MEASURES)) if PREDICTION in self.by_query else ()
        worse = [
            MEASURES[place]
            for place in places
            if self._difference(PREDICTION, place)[2] < 0
        ]
        measures = " and ".join(
            each if each == MEASURES[0] else each.upper() for each in worse
        )
        return (
            f"{text} The {PREDICTION} is worse by {measures} {CONFIDENCE}."
            if worse
            else text
        )

    def _better(self, measure: str) -> str | None:
        """Return the best similarity whose difference from the raw cosine has an interval above 0, if any has."""
        place = MEASURES.index(measure)
        better = [
            name for name in self.by_query if self._difference(name, place)[1] > 0
        ]
        if not better:
            return None
        return first_best(better, lambda name: self.value(name, measure), TIE)


@named_keywords
def evaluate_similarities(
    model: FactorModel | AnyPath | object,
    truth: Truth | Sequence[Any] | NDArray[Any],
    *,
    role: SideName | str = "right",
    n_neighbours: int | None = None,
    n_queries: int = 1_000,
    separator: str | None = None,
    rng: RNG = 0,
) -> Evaluation:
    """Score similarities by labels: does a neighbour share one?

    Judged are the raw cosine, the dot product, the cosine of centred rows, CSLS and,
    where both sides are at hand, the cosines in the three canonical gauges; one of
    these is the prediction cosine, and is named so. CSLS is the cosine less half the
    mean cosine of the candidate with its 10 nearest, so that hubs are listed less
    (Conneau et al. 2018, section 2.3; the query's own mean changes no list).

    Parameters
    ----------
    model : FactorModel, path or object
        What to judge, or what `embaudit.io.as_model` makes of it.
    truth : sequence or Truth
        Labels of the rows of the side, one or many each (see `as_truth`), or what users
        consumed last (see `last_together`).
    role : {"left", "right"}
        Which side.
    n_neighbours : int, optional
        Length of the neighbour lists; a third of the other rows by default, 10 at most.
    n_queries : int
        Rows whose neighbours are judged, drawn at random if there are more.
    separator : str, optional
        Between the labels of one text, such as "|"; found by default (see `as_truth`).
    rng : numpy Generator or int
        Draws the queries and the groups behind the intervals; the same seed gives the
        same numbers.

    Returns
    -------
    Evaluation

    Raises
    ------
    InputError
        If labels are missing or too few rows have one.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> items = np.array([[1.0, 0.1], [1.0, -0.1], [0.1, 1.0], [-0.1, 1.0]])
    >>> found = evaluate_similarities(FactorModel.from_vectors(items), ["a", "a", "b", "b"], n_neighbours=1)
    >>> found.value("cosine"), round(found.chance, 3)
    (1.0, 0.333)
    """
    model = as_model(model)
    require_ordinary_size(model)
    model = in_span(model)
    role = model.side_name(role)
    x = model.factors(role)
    labels = as_truth(truth, len(x), separator=separator)
    rows = np.arange(len(x)) if labels.is_complete else labels.labelled
    rows = rows[model.side(role).norms[rows] > 0]
    left_out = len(x) - len(rows)
    if len(rows) < 3:
        title = model.title(role)
        remedy = f"label more {title}s; a row of zeros does not count"
        raise must_be(
            f"the {title}s that have a label and a direction",
            "at least 3",
            len(rows),
            remedy,
        )
    usual = list_length(None, len(rows))
    n = as_count(
        usual if n_neighbours is None else n_neighbours,
        "n_neighbours",
        most=len(rows) - 2,
    )
    as_count(n_queries, "n_queries", least=2)
    draw = as_generator(rng)
    rows = sample_rows(rows, CANDIDATES, draw)
    labelled = np.flatnonzero(np.isin(rows, labels.labelled))
    queries = np.sort(labelled[draw.permutation(len(labelled))[:n_queries]])
    chance, answerable = _chance(labels, rows, queries)
    queries = queries[answerable]
    if len(queries) < 2:
        raise InputError(
            "{} must relate some rows and not all; got labels that leave nothing to tell "
            "apart.",
            Parameter("truth"),
        )
    vectors = {name: make(rows) for name, make in similarities(model, role)}
    versions: dict[str, Version] = {name: (x, x) for name, x in vectors.items()}
    versions[CSLS] = scaled_locally(vectors[RAW])
    measured = query_measures(
        versions, labels, rows, queries, draw_groups(len(rows), draw), n=n
    )
    counts = model.side(role).counts
    behind = (
        None if counts is None else np.asarray(counts, dtype=np.float64)[rows[queries]]
    )
    return Evaluation(
        role,
        model.title(role),
        n,
        len(rows),
        left_out,
        rows[queries],
        *measured,
        chance,
        len(x),
        labels.relation,
        behind,
    )


def scaled_locally(unit: NDArray[np.float64], n: int = 10) -> Version:
    """Return vectors whose dot product is the cosine less half the candidate's mean cosine with its `n` nearest.

    Examples
    --------
    >>> x, y = scaled_locally(np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]]), 1)
    >>> (x @ y.T).round(2)
    array([[ 0.7,  0.2, -0.4],
           [ 0.3,  0.6,  0.4],
           [-0.3,  0.4,  0.6]])
    """
    # With (u, 1) and (v, −r/2) the dot product is u·v − r/2, so that lists are searched
    # as for any other similarity.
    near = neighbours(unit, min(n, len(unit) - 1))
    density = np.nanmean(np.where(near.indices >= 0, near.cosines, np.nan), axis=1) / 2
    return np.column_stack([unit, np.ones(len(unit))]), np.column_stack(
        [unit, -density]
    )


def _chance(
    truth: Truth, rows: Indices, queries: Indices
) -> tuple[float, NDArray[np.bool_]]:
    """Compute the mean share of related candidates, and which queries have some but not all of them related."""
    blocks = (queries[block] for block in row_blocks(len(queries), 4 * len(rows)))
    # A query shares its labels with itself, which does not count.
    related = np.concatenate(
        [(truth.gains(rows[block], rows) > 0).sum(axis=1) - 1 for block in blocks]
    )
    answerable = (related > 0) & (related < len(rows) - 1)
    share = related[answerable] / (len(rows) - 1)
    return float(share.mean()) if answerable.any() else float("nan"), answerable


def similarities(
    model: FactorModel, role: SideName
) -> Iterator[tuple[str, Callable[[Indices], NDArray[np.float64]]]]:
    """Yield each similarity's name and a function that makes vectors of rows whose dot product it is."""
    # A row without direction is similar to nothing.
    directions = partial(unit_rows, none=0)
    x = model.factors(role)
    mean = x.mean(axis=0, dtype=np.float64)
    yield RAW, lambda rows: directions(x[rows])
    yield "dot product", lambda rows: np.asarray(x[rows], dtype=np.float64)
    yield (
        "centred cosine",
        lambda rows: directions(np.asarray(x[rows], dtype=np.float64) - mean),
    )
    if model.left is None:
        return
    form = canonical_form(model)
    yield (
        PREDICTION,
        lambda rows: directions(identified_factors(model, role)[rows]),
    )
    if model.predicts is Equivalence.COSINES:
        return
    for name, exponent in EXPONENTS.items():
        # At that exponent the cosine is the prediction cosine, which was yielded
        # already (docs/theory.md, "The canonical line").
        if exponent != (0 if role == "right" else 1):
            view = form.view(x, role, exponent)
            yield f"{name} cosine", lambda rows, view=view: directions(view[rows])  # type: ignore[misc]
