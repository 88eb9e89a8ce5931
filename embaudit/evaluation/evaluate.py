"""Evaluation of similarities by labels, or by interactions held out from training."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from embaudit.canonical.form import EXPONENTS, canonical_form
from embaudit.canonical.identified import identified_factors
from embaudit.canonical.row_span import in_span
from embaudit.core.checked import (
    RNG,
    Floats,
    Indices,
    as_count,
    as_generator,
    named_keywords,
)
from embaudit.core.parallel import row_blocks
from embaudit.core.progress import track
from embaudit.errors import InputError, Parameter, must_be
from embaudit.evaluation.coverage import coverage_of, most_popular_tenth
from embaudit.evaluation.held_out import HeldOut, counts_in, held_out_interactions
from embaudit.evaluation.list_measures import (
    LIST_MEASURES,
    UserQueries,
    user_weights,
    without_each_group,
)
from embaudit.evaluation.measures import LABEL_MEASURES, Version, query_measures
from embaudit.evaluation.result import CSLS, POPULARITY, PREDICTION, RAW, Evaluation
from embaudit.evaluation.truth import Truth, as_truth
from embaudit.io import model_of
from embaudit.io.files import AnyPath
from embaudit.linalg.intervals import draw_groups
from embaudit.linalg.nearest import list_length, nearest_by_product, neighbours
from embaudit.linalg.rows import sample_rows, unit_rows
from embaudit.model import Equivalence, FactorModel, SideName
from embaudit.model.centring import centre_of
from embaudit.model.sizes import require_ordinary_size

CANDIDATES = 50_000
"""Largest number of rows among which the neighbours of labelled rows are searched; more
are sampled. By interactions, neighbours are searched among all rows, and CSLS, which
needs the neighbours of each row, is skipped for more rows than these."""
LABEL_QUERIES = 1_000
"""Default number of rows that are queries by labels."""
HELD_OUT_QUERIES = 20_000
"""Default number of held-out items of users that are queries by interactions."""
MakeVersion: TypeAlias = Callable[[], Version]
"""Makes the vectors of a similarity when they are needed."""


@named_keywords
def evaluate_similarities(
    model: FactorModel | AnyPath | object,
    truth: Truth | Sequence[Any] | NDArray[Any] | None = None,
    *,
    interactions: Any = None,
    training: Any = None,
    role: SideName | str = "right",
    n_neighbours: int | None = None,
    n_queries: int | None = None,
    separator: str | None = None,
    last: int | None = None,
    user: str | int | None = None,
    item: str | int | None = None,
    time: str | int | None = None,
    rng: RNG = 0,
) -> Evaluation:
    """Score similarities by labels, or by held-out interactions of users.

    By labels, a row is a query, and rows that share a label with it should be near: the
    measures are precision, AUC and NDCG. By interactions, each held-out item of a user
    is a query, and the other held-out items of this user should be listed: the measures
    are hit rate, recall and NDCG of the list (see `UserQueries.measures`), averaged
    over the queries of each user and then over users.

    The similarities are the raw cosine, the dot product, the cosine of centred rows,
    CSLS and, if both sides are loaded, the cosines in the three canonical gauges,
    including the prediction cosine. CSLS is the cosine less half the mean cosine of the
    candidate with its 10 nearest, so hubs are listed less (Conneau et al. 2018, section
    2.3; the mean of the query changes no list). If the numbers of interactions behind
    the rows are known, popularity alone is judged as well. Its list for every query
    holds the rows with the most interactions.

    Parameters
    ----------
    model : FactorModel, path or object
        A model, or an object that `embaudit.load` reads.
    truth : sequence or Truth, optional
        Labels of the rows of the side, one or many per row (see `as_truth`).
    interactions : path, data frame or HeldOut, optional
        Interactions that were held out from training, instead of `truth` (see
        `held_out_interactions`).
    training : path or data frame, optional
        Interactions of the training, from which the popularity of each row is counted.
        By default, the counts that the model holds are used.
    role : {"left", "right"}
        Side.
    n_neighbours : int, optional
        Length of the neighbour lists. The default is 10, but at most a third of the
        other rows.
    n_queries : int, optional
        Number of queries, drawn at random if there are more. The default is 1,000 rows
        by labels and 20,000 held-out items by interactions, drawn as evenly over the
        users as possible.
    separator : str, optional
        Text between the labels of a row, such as "|". By default, the separator is
        detected (see `as_truth`).
    last : int, optional
        Keep only the last interactions of each user, at least 2.
    user, item, time : str or int, optional
        Columns of `interactions`, by name or position.
    rng : numpy Generator or int
        Generator or seed that draws the queries and the groups behind the intervals;
        the same seed gives the same numbers.

    Returns
    -------
    Evaluation
        Each measure of each similarity, with intervals for the difference from the
        cosine.

    Raises
    ------
    InputError
        If labels are missing, too few rows have one, or too few users have two held-out
        items.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> items = np.array([[1.0, 0.1], [1.0, -0.1], [0.1, 1.0], [-0.1, 1.0]])
    >>> model = FactorModel.from_vectors(items, ids=[10, 20, 30, 40])
    >>> found = evaluate_similarities(model, ["a", "a", "b", "b"], n_neighbours=1)
    >>> found.value("cosine"), round(found.chance, 3)
    (1.0, 0.333)

    User 1 consumes the first two items later on, and user 2 the last two.

    >>> import pandas as pd
    >>> later = pd.DataFrame({"user": [1, 1, 2, 2], "item": [10, 20, 30, 40]})
    >>> found = evaluate_similarities(model, interactions=later, n_neighbours=1)
    >>> found.value("cosine", "recall"), found.value("dot product", "recall")
    (1.0, 1.0)
    """
    if truth is None and interactions is None:
        raise must_be(
            "the relations to judge by", "given as truth or as interactions", "neither"
        )
    if truth is not None and interactions is not None:
        raise must_be(
            "the relations to judge by", "given as truth or as interactions", "both"
        )
    columns: dict[str, Any] = {"last": last, "user": user, "item": item, "time": time}
    if truth is None:
        _require_unused("truth", separator=separator)
    else:
        _require_unused("interactions", **columns)
    if isinstance(interactions, HeldOut):
        _require_unused("a path or a data frame", **columns)
    model = model_of(model)
    require_ordinary_size(model)
    model = in_span(model)
    role = model.side_name(role)
    if training is not None:
        counts = counts_in(training, model, role)
        model = model.replace(**{f"{role}_counts": counts})
    draw = as_generator(rng)
    if truth is not None:
        labels = as_truth(truth, len(model.factors(role)), separator=separator)
        return _by_labels(model, labels, role, n_neighbours, n_queries, draw)
    held_out = interactions
    if not isinstance(held_out, HeldOut):
        held_out = held_out_interactions(interactions, model, role=role, **columns)
    return _by_interactions(model, held_out, role, n_neighbours, n_queries, draw)


def _require_unused(needed: str, **options: Any) -> None:
    """Raise InputError if an option is given whose argument `needed` is missing."""
    for name, value in options.items():
        if value is not None:
            raise InputError(
                "{} must be omitted unless {} is given.", Parameter(name), needed
            )


def _by_labels(
    model: FactorModel,
    labels: Truth,
    role: SideName,
    n_neighbours: int | None,
    n_queries: int | None,
    draw: np.random.Generator,
) -> Evaluation:
    """Judge similarities by labels of rows."""
    n_rows = len(model.factors(role))
    rows = labels.labelled
    rows = rows[model.side(role).norms[rows] > 0]
    n_usable = len(rows)
    title = model.title(role)
    if n_usable < 3:
        raise must_be(
            f"the number of {title}s with a label and a nonzero row",
            "at least 3",
            n_usable,
            f"label more {title}s; rows of zeros do not count",
        )
    n = _length(n_neighbours, n_usable)
    size = LABEL_QUERIES
    if n_queries is not None:
        size = as_count(n_queries, "n_queries", least=2)
    rows = sample_rows(rows, CANDIDATES, draw)
    queries = np.sort(draw.permutation(len(rows))[:size])
    chance, answerable = _chance(labels, rows, queries)
    queries = queries[answerable]
    if len(queries) < 2:
        raise InputError(
            "{} must relate some pairs of rows but not all; got labels for which no "
            "row has both related and unrelated rows.",
            Parameter("truth"),
        )
    makers = similarities(model, role, rows)
    versions = {name: make() for name, make in makers.items()}
    groups = draw_groups(len(rows), draw)
    by_query, replicates, lists = query_measures(
        versions, labels, rows, queries, groups, n=n
    )
    counts = _counts(model, role, rows)
    popular_weights, counts_of_queries = None, None
    if counts is not None:
        popular_weights = most_popular_tenth(counts)
        counts_of_queries = counts[queries]
    coverage = {
        name: coverage_of(lists_of_one, len(rows), popular_weights)
        for name, lists_of_one in lists.items()
    }
    return Evaluation(
        role=role,
        title=title,
        n=n,
        measures=LABEL_MEASURES,
        n_candidates=len(rows),
        n_left_out=n_rows - n_usable,
        queries=rows[queries],
        by_query=by_query,
        replicates=replicates,
        coverage=coverage,
        chance=chance,
        n_rows=n_rows,
        counts=counts_of_queries,
    )


def _by_interactions(
    model: FactorModel,
    held_out: HeldOut,
    role: SideName,
    n_neighbours: int | None,
    n_queries: int | None,
    draw: np.random.Generator,
) -> Evaluation:
    """Judge similarities by held-out interactions of users."""
    norms = model.side(role).norms
    rows = np.flatnonzero(norms > 0)
    held_out = held_out.related(norms > 0)
    title = model.title(role)
    if held_out.n_owners < 2:
        raise must_be(
            f"the number of {held_out.owner}s with two held-out {title}s of nonzero "
            "rows",
            "at least 2",
            held_out.n_owners,
            "a row of zeros does not count",
        )
    n = _length(n_neighbours, len(rows))
    size = HELD_OUT_QUERIES
    if n_queries is not None:
        size = as_count(n_queries, "n_queries", least=2)
    query_pairs = held_out.sample(size, draw)
    places = np.searchsorted(rows, held_out.rows)
    queries = UserQueries(held_out.owners, places, query_pairs, len(rows))
    # If there are more users than queries, users without a query get no number.
    _, users = np.unique(queries.users, return_inverse=True)
    items, item_of_query = np.unique(queries.items, return_inverse=True)
    groups = draw_groups(int(users[-1]) + 1, draw)
    counts = _counts(model, role, rows)
    popular_weights, counts_of_queries = None, None
    if counts is not None:
        popular_weights = most_popular_tenth(counts)
        counts_of_queries = counts[queries.items]
    by_query, replicates, coverage = {}, {}, {}
    versions = similarities(model, role, rows)
    for name, make in track(versions.items(), "judging similarities", len(versions)):
        # Only the vectors of one similarity are in memory at a time.
        query_vectors, candidate_vectors = make()
        lists = nearest_by_product(query_vectors[items], candidate_vectors, items, n)
        coverage[name] = coverage_of(lists, len(rows), popular_weights)
        by_query[name] = queries.measures(lists[item_of_query])
        replicates[name] = without_each_group(by_query[name], users, groups)
    return Evaluation(
        role=role,
        title=title,
        n=n,
        measures=LIST_MEASURES,
        n_candidates=len(rows),
        n_left_out=len(norms) - len(rows),
        queries=rows[queries.items],
        by_query=by_query,
        replicates=replicates,
        coverage=coverage,
        chance=float(user_weights(users) @ queries.chance_of_hit(n)),
        n_rows=len(norms),
        relation=f"belong to the same {held_out.owner}",
        counts=counts_of_queries,
        users=users,
        user_title=held_out.owner,
        n_held_out=len(held_out.rows),
    )


def _length(n_neighbours: int | None, n_candidates: int) -> int:
    """Return the length of the lists, for which other candidates must remain."""
    if n_neighbours is None:
        n_neighbours = list_length(None, n_candidates)
    return as_count(n_neighbours, "n_neighbours", most=n_candidates - 2)


def _counts(model: FactorModel, role: SideName, rows: Indices) -> Floats | None:
    """Return the number of interactions of each of some rows; None if unknown."""
    counts = model.side(role).counts
    if counts is None:
        return None
    return np.asarray(counts, dtype=np.float64)[rows]


def scaled_locally(unit: NDArray[np.float64], n: int = 10) -> Version:
    """Return vectors whose dot product is CSLS.

    CSLS is the cosine less half the mean cosine of the candidate with its `n` nearest.

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
    n_others = len(rows) - 1
    is_usable = (n_related > 0) & (n_related < n_others)
    if not is_usable.any():
        return float("nan"), is_usable
    chance = n_related[is_usable].mean() / n_others
    return float(chance), is_usable


def similarities(
    model: FactorModel, role: SideName, rows: Indices
) -> dict[str, MakeVersion]:
    """Return, for each similarity, a function that makes the vectors of some rows.

    The similarity is the dot product of the vector of a row as a query and the vector
    of a row as a candidate.
    """
    x = model.factors(role)
    centre = centre_of(model, role)

    def stored() -> Floats:
        return np.asarray(x[rows], dtype=np.float64)

    def dot_products() -> Version:
        vectors = stored()
        return vectors, vectors

    versions: dict[str, MakeVersion] = {
        RAW: _cosines_of(lambda: x[rows]),
        "dot product": dot_products,
        "centred cosine": _cosines_of(lambda: stored() - centre),
    }
    if model.left is not None:
        versions[PREDICTION] = _cosines_of(
            lambda: identified_factors(model, role)[rows]
        )
        versions |= _canonical_cosines(model, role, rows)
    if len(rows) <= CANDIDATES:
        versions[CSLS] = lambda: scaled_locally(unit_rows(x[rows], none=0))
    counts = _counts(model, role, rows)
    if counts is not None and counts.min() < counts.max():
        ones = np.ones((len(rows), 1))
        versions[POPULARITY] = lambda: (ones, counts[:, None])
    return versions


def _cosines_of(read: Callable[[], NDArray[np.floating[Any]]]) -> MakeVersion:
    """Return a function that makes unit vectors, alike for queries and candidates."""

    def make() -> Version:
        # A row without direction has the vector 0, so all of its cosines are 0.
        vectors = unit_rows(read(), none=0)
        return vectors, vectors

    return make


def _canonical_cosines(
    model: FactorModel, role: SideName, rows: Indices
) -> dict[str, MakeVersion]:
    """Return the cosines in the canonical gauges, without the prediction cosine.

    The dictionary is empty for a model that predicts cosines.
    """
    if model.predicts is Equivalence.COSINES:
        return {}
    # At this exponent, the cosine is the prediction cosine (docs/theory.md, "The
    # canonical line").
    exponent_of_prediction = 1
    if role == "right":
        exponent_of_prediction = 0
    form = canonical_form(model)
    versions = {}
    for name, exponent in EXPONENTS.items():
        if exponent != exponent_of_prediction:
            view = form.view(model.factors(role), role, exponent)
            read = partial(_rows_of_view, view, rows)
            versions[f"{name} cosine"] = _cosines_of(read)
    return versions


def _rows_of_view(view: Any, rows: Indices) -> Floats:
    """Return some rows of a view, which computes them when they are read."""
    return np.asarray(view[rows])
