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
from embaudit.io import model_of
from embaudit.io.files import AnyPath
from embaudit.linalg.intervals import draw_groups, jackknife_margin
from embaudit.linalg.nearest import list_length, neighbours
from embaudit.linalg.rows import sample_rows, unit_rows
from embaudit.model import Equivalence, FactorModel, SideName
from embaudit.model.sizes import require_ordinary_size

if TYPE_CHECKING:
    import pandas as pd

CANDIDATES = 50_000
"""Largest number of rows among which neighbours are searched; more are sampled."""
MIN_QUERIES = 30
"""Smallest number of queries for a verdict.

No interval over fewer queries is narrower than ±0.1 (rule of three)."""
CONFIDENCE = "with 95 % confidence"
"""Words for an interval of a difference from the raw cosine that excludes 0."""
RAW = "cosine"
"""Baseline similarity, the cosine of the stored factors."""
CSLS = "CSLS"
"""The cosine less the local mean that makes hubs."""
PREDICTION = "prediction cosine"
"""The plain cosine of right rows in the left-whitened gauge, and of left rows in the
right-whitened gauge."""


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
    """Number of rows that have a label and a direction, or 50,000 of them."""
    n_left_out: int
    """Number of rows that lack a label or a direction."""
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
    """(q,) number of interactions of each query; None if unknown."""

    def to_dict(self) -> dict[str, Any]:
        """Return the record for JSON, with None for numbers that do not exist."""
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
        return (
            f"Evaluation({len(self.queries):,} {self.title}s, precision at {self.n}: "
            f"{parts}, chance {self.chance:.3f})"
        )

    @property
    def decides(self) -> bool:
        """True if there are enough queries to say which similarity is better."""
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
        """Return one row per similarity and measure.

        Returns
        -------
        DataFrame
            Columns similarity, measure, value, ci_low, ci_high (95 %, by leaving out
            groups of entities, as queries and as candidates) and the same for the
            difference from the raw cosine. The intervals of the differences in one
            measure hold together: in 95 % of cases all of them are true, so the best
            similarity can be picked afterwards.
        """
        import pandas as pd

        return pd.DataFrame(self.records())

    def records(self) -> list[dict[str, Any]]:
        """Return one record per similarity and measure, the rows of `to_frame`.

        Columns
        -------
        similarity : str
            Name of the similarity.
        measure : {"precision", "auc", "ndcg"}
            Measure.
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
            for place, measure in enumerate(MEASURES):
                value, low, high = self._interval(name, place)
                difference, least, largest = self._difference(name, place)
                rows.append(
                    {
                        "similarity": name,
                        "measure": measure,
                        "value": value,
                        "ci_low": low,
                        "ci_high": high,
                        "difference": difference,
                        "difference_ci_low": least,
                        "difference_ci_high": largest,
                    }
                )
        return rows

    def by_count(self) -> list[dict[str, Any]]:
        """Return the precision of each similarity by the interactions of the queries.

        The list is empty without counts, and if all counts are the same.

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
        records = []
        for number, third in enumerate(("tail", "middle", "head")):
            is_member = place == number
            if not is_member.any():
                continue
            counts = self.counts[is_member]
            for name, values in self.by_query.items():
                records.append(
                    {
                        "third": third,
                        "similarity": name,
                        "least": float(counts.min()),
                        "most": float(counts.max()),
                        "n_queries": int(np.count_nonzero(is_member)),
                        "precision": float(values[is_member, 0].mean()),
                    }
                )
        return records

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
        texts = [self._sample(), self._baseline()]
        if not self.decides:
            texts.append(
                f"{len(self.queries)} queries are too few to say which similarity is "
                f"better; this needs {MIN_QUERIES}."
            )
            return " ".join(texts)
        texts.append(self._best_precision())
        texts += [self._best_by(measure) for measure in MEASURES[1:]]
        texts.append(self._worse_prediction())
        return " ".join(text for text in texts if text)

    def _sample(self) -> str:
        """Say how many rows are queries and candidates."""
        queries = f"{len(self.queries):,} of {counted(self.n_rows, self.title)}"
        if self.n_candidates == self.n_rows:
            return f"Queries: {queries}; neighbours are searched among all."
        reasons = []
        if self.n_candidates + self.n_left_out < self.n_rows:
            reasons.append("drawn at random")
        if self.n_left_out:
            reasons.append(
                f"{self.n_left_out:,} without label or direction are skipped"
            )
        return (
            f"Queries: {queries}; neighbours are searched among "
            f"{self.n_candidates:,} ({', '.join(reasons)})."
        )

    def _baseline(self) -> str:
        """Give the precision of the raw cosine and of a random list."""
        chance = percent(self.chance).replace("<", "less than ")
        return (
            f"Of the {self.n} nearest by cosine, {percent(self.value(RAW))} "
            f"{self.relation} with the query (precision); by chance it would be "
            f"{chance}."
        )

    def _best_precision(self) -> str:
        """Say which similarity has the best precision, and how sure this is."""
        winner = self._better(MEASURES[0])
        best = winner or self.best()
        difference, low, high = self._difference(best, 0)
        figures = (
            f"{percent(self.value(best))}, a difference of {100 * low:+.1f} to "
            f"{100 * high:+.1f} percentage points from the cosine (95 %, allowing for "
            f"{len(self.by_query) - 1} comparisons)"
        )
        if winner:
            return f"By precision, {winner} serves better: {figures}."
        if exceeds(difference, 0):
            return (
                f"By precision, no other similarity is better {CONFIDENCE}: the best, "
                f"{best}, reaches {figures}."
            )
        return "By precision, no other similarity does better."

    def _best_by(self, measure: str) -> str:
        """Say which similarity is best by a measure next to precision."""
        winner = self._better(measure)
        if not winner:
            return f"By {measure.upper()}, no other similarity is better {CONFIDENCE}."
        value = three_decimals(self.value(winner, measure))
        baseline = three_decimals(self.value(RAW, measure))
        return (
            f"By {measure.upper()}, {winner} is better {CONFIDENCE}: {value} against "
            f"{baseline}."
        )

    def _worse_prediction(self) -> str:
        """Name the measures by which the prediction cosine is worse.

        An audit recommends it because predictions fix it, and not because it finds
        more.
        """
        if PREDICTION not in self.by_query:
            return ""
        measures = []
        for place, measure in enumerate(MEASURES):
            if self._difference(PREDICTION, place)[2] < 0:
                measures.append(measure if place == 0 else measure.upper())
        if not measures:
            return ""
        return f"The {PREDICTION} is worse by {' and '.join(measures)} {CONFIDENCE}."

    def _better(self, measure: str) -> str | None:
        """Return the best similarity of those that are surely better than the cosine.

        The interval of the difference must lie above 0. None if no similarity has one.
        """
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

    The similarities are the raw cosine, the dot product, the cosine of centred rows,
    CSLS and, if both sides are loaded, the cosines in the three canonical gauges, one
    of which is the prediction cosine. CSLS is the cosine less half the mean cosine of
    the candidate with its 10 nearest, so hubs are listed less (Conneau et al. 2018,
    section 2.3; the mean of the query changes no list).

    Parameters
    ----------
    model : FactorModel, path or object
        A model, or an object that `embaudit.load` reads.
    truth : sequence or Truth
        Labels of the rows of the side, one or many per row (see `as_truth`), or the
        items that users consumed last (see `last_together`).
    role : {"left", "right"}
        Side.
    n_neighbours : int, optional
        Length of the neighbour lists. The default is 10, but at most a third of the
        other rows.
    n_queries : int
        Number of rows whose neighbours are judged, drawn at random if there are more.
    separator : str, optional
        Text between the labels of a row, such as "|". By default it is found (see
        `as_truth`).
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
    >>> model, labels = FactorModel.from_vectors(items), ["a", "a", "b", "b"]
    >>> found = evaluate_similarities(model, labels, n_neighbours=1)
    >>> found.value("cosine"), round(found.chance, 3)
    (1.0, 0.333)
    """
    model = model_of(model)
    require_ordinary_size(model)
    model = in_span(model)
    role = model.side_name(role)
    x = model.factors(role)
    labels = as_truth(truth, len(x), separator=separator)
    rows = labels.labelled
    if labels.is_complete:
        rows = np.arange(len(x))
    rows = rows[model.side(role).norms[rows] > 0]
    left_out = len(x) - len(rows)
    if len(rows) < 3:
        title = model.title(role)
        raise must_be(
            f"the {title}s that have a label and a direction",
            "at least 3",
            len(rows),
            f"label more {title}s; a row of zeros does not count",
        )
    if n_neighbours is None:
        n_neighbours = list_length(None, len(rows))
    n = as_count(n_neighbours, "n_neighbours", most=len(rows) - 2)
    as_count(n_queries, "n_queries", least=2)
    draw = as_generator(rng)
    rows = sample_rows(rows, CANDIDATES, draw)
    labelled = np.flatnonzero(np.isin(rows, labels.labelled))
    queries = np.sort(labelled[draw.permutation(len(labelled))[:n_queries]])
    chance, answerable = _chance(labels, rows, queries)
    queries = queries[answerable]
    if len(queries) < 2:
        raise InputError(
            "{} must relate some rows and not all; got labels by which no row has both "
            "related and unrelated rows.",
            Parameter("truth"),
        )
    vectors = {name: make(rows) for name, make in similarities(model, role)}
    versions: dict[str, Version] = {name: (x, x) for name, x in vectors.items()}
    versions[CSLS] = scaled_locally(vectors[RAW])
    groups = draw_groups(len(rows), draw)
    by_query, replicates = query_measures(versions, labels, rows, queries, groups, n=n)
    counts = model.side(role).counts
    if counts is not None:
        counts = np.asarray(counts, dtype=np.float64)[rows[queries]]
    return Evaluation(
        role=role,
        title=model.title(role),
        n=n,
        n_candidates=len(rows),
        n_left_out=left_out,
        queries=rows[queries],
        by_query=by_query,
        replicates=replicates,
        chance=chance,
        n_rows=len(x),
        relation=labels.relation,
        counts=counts,
    )


def scaled_locally(unit: NDArray[np.float64], n: int = 10) -> Version:
    """Return vectors whose dot product is CSLS.

    It is the cosine less half the mean cosine of the candidate with its `n` nearest.

    Examples
    --------
    >>> x, y = scaled_locally(np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]]), 1)
    >>> (x @ y.T).round(2)
    array([[ 0.7,  0.2, -0.4],
           [ 0.3,  0.6,  0.4],
           [-0.3,  0.4,  0.6]])
    """
    # The dot product of (u, 1) and (v, −r/2) is u·v − r/2, so lists are searched as for
    # any other similarity.
    near = neighbours(unit, min(n, len(unit) - 1))
    cosines = np.where(near.indices >= 0, near.cosines, np.nan)
    half_means = np.nanmean(cosines, axis=1) / 2
    queries = np.column_stack([unit, np.ones(len(unit))])
    candidates = np.column_stack([unit, -half_means])
    return queries, candidates


def _chance(
    truth: Truth, rows: Indices, queries: Indices
) -> tuple[float, NDArray[np.bool_]]:
    """Return the mean share of related candidates, and flags of the usable queries.

    A query is usable if some but not all candidates are related to it.
    """
    counts = []
    for block in row_blocks(len(queries), 4 * len(rows)):
        gains = truth.gains(rows[queries[block]], rows)
        # A query shares its labels with itself, which does not count.
        counts.append((gains > 0).sum(axis=1) - 1)
    n_related = np.concatenate(counts)
    is_usable = (n_related > 0) & (n_related < len(rows) - 1)
    if not is_usable.any():
        return float("nan"), is_usable
    return float((n_related[is_usable] / (len(rows) - 1)).mean()), is_usable


def similarities(
    model: FactorModel, role: SideName
) -> Iterator[tuple[str, Callable[[Indices], NDArray[np.float64]]]]:
    """Yield the name of each similarity and a function that makes vectors of rows.

    The similarity is the dot product of these vectors.
    """
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
        # At this exponent the cosine is the prediction cosine, which is yielded above
        # (docs/theory.md, "The canonical line").
        if exponent != (0 if role == "right" else 1):
            view = form.view(x, role, exponent)
            yield f"{name} cosine", lambda rows, view=view: directions(view[rows])  # type: ignore[misc]
