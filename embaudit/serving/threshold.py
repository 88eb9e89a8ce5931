"""A threshold on scores: what is a high score, and where to set the cut-off?

Without labels, a score is high if few pairs of unrelated rows reach it. The threshold
is then the lowest one that at most a share (`level`) of unrelated pairs reaches.

With labelled pairs, the threshold is chosen on one half of the queries, for the largest
balanced accuracy, F1 or accuracy, and judged on the other half, because a threshold
looks better than it is on the pairs that chose it. There is no threshold if scores and
labels are unrelated: if the 99 % interval of the area under the ROC curve includes 0.5,
or if the chosen threshold is not better than chance on the other half.

The score is the cosine of the stored rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import (
    RNG,
    Indices,
    as_generator,
    is_number,
    named_keywords,
    require_one_of,
)
from embaudit.core.tolerances import TIE
from embaudit.errors import InputError, Parameter, must_be
from embaudit.io import model_of
from embaudit.io.files import AnyPath
from embaudit.io.tables.labelled_pairs import LabelledPairs, read_labelled_pairs
from embaudit.linalg.best_matches import Measure
from embaudit.linalg.intervals import PairErrors
from embaudit.linalg.pair_cosines import pair_cosines
from embaudit.model import FactorModel, Pairs, Role
from embaudit.model.sizes import require_ordinary_size
from embaudit.movements.levels import unrelated_pairs
from embaudit.serving.carried_score import (
    By,
    CarriedScore,
    Counterparts,
    carry,
    labelled_errors,
    scores_in,
)
from embaudit.serving.estimate import Estimate
from embaudit.serving.index_metric import trained_measure
from embaudit.serving.labelled_scores import (
    LabelledScores,
    Scoring,
)
from embaudit.serving.threshold_result import Labelled, ModelIdentity, Threshold
from embaudit.serving.unrelated_scores import UnrelatedScores

LARGEST_LEVEL = 0.5
"""Largest share of unrelated pairs that a threshold may let pass."""
FEWEST_QUERIES = 5
"""Fewest queries that have related pairs, and that have unrelated ones."""


@named_keywords
def threshold(
    model: FactorModel | AnyPath | object,
    *,
    role: Role | str | None = None,
    groups: Sequence[Any] | None = None,
    pairs: AnyPath | object | None = None,
    score: float | None = None,
    to: FactorModel | AnyPath | object | None = None,
    by: By | None = None,
    level: float = 0.01,
    scoring: Scoring | None = None,
    by_row: bool | None = None,
    partial: bool = False,
    same_numbers: bool = False,
    rng: RNG = 0,
) -> Threshold:
    """Say what a high cosine is, and where to set the cut-off.

    Parameters
    ----------
    model : FactorModel, path or object
        The model, or what `embaudit.load` reads.
    role : {"cross", "right", "left"}, optional
        The pairs that are served: a left and a right row, such as a query and a
        document, or two rows of one side. The default is "cross" for a model of two
        sides, and "right" for one table.
    groups : sequence of labels, optional
        The group of each row. Rows of one group are related, so their pairs do not
        count as unrelated. For "cross" give two sequences, of the left and of the right
        rows.
    pairs : path or data frame, optional
        Labelled pairs: columns a and b with ids (row numbers if the model has no ids),
        and label, 1 for related and 0 for unrelated. Column a holds the queries, which
        are independent of each other.
    score : float, optional
        A score to judge, such as the threshold that is in use.
    to : FactorModel, path or object, optional
        Another model of the same rows, to which the recommended threshold and the score
        are carried over.
    by : {"error", "share"}, optional
        Carry the threshold such that the same share of the pairs labelled unrelated
        passes (the default with labels), or the same share of all unrelated pairs.
    level : float
        Largest share of unrelated pairs that may reach the threshold, if no labels
        choose it.
    scoring : {"balanced_accuracy", "f1", "accuracy"}, optional
        What labels choose the threshold for; "balanced_accuracy" by default. It must be
        left out without `pairs`.
    by_row : bool, optional
        True if the rows of both models are the same in the same order.
    partial : bool
        True to skip labelled pairs with unknown ids, and to match less than half of the
        rows of the other model.
    same_numbers : bool
        As for `compare`.
    rng : numpy Generator or int
        Draws the pairs, halves and resamples.

    Returns
    -------
    Threshold
        The recommended threshold, and the share of pairs that pass it, with intervals.

    Raises
    ------
    InputError
        If there are no unrelated pairs, too few queries have labels of both kinds, ids
        are unknown, or rows of the models do not match.

    Examples
    --------
    >>> draw = np.random.default_rng(0)
    >>> topics = np.repeat(draw.standard_normal((40, 16)), 5, axis=0)
    >>> model = FactorModel.from_vectors(topics + draw.standard_normal((200, 16)))
    >>> print(threshold(model, groups=np.repeat(range(40), 5)).conclusion)
    Cut at 0.56: at most 1 % of unrelated item-item pairs reach this cosine (95 %
    interval of the cut: 0.54 to 0.59; all 19,500 pairs).
    """
    draw = as_generator(rng)
    model = model_of(model)
    require_ordinary_size(model)
    if role is None:
        role = "right" if model.left_side is None else "cross"
    role = model.role(role)
    _require_level(level)
    scoring = _checked_scoring(scoring, has_labels=pairs is not None)
    score = _checked_score(score)
    by = _checked_by(by, is_carried=to is not None, has_labels=pairs is not None)
    sides = [model.side(side) for side in Pairs(role).sides]
    space = unrelated_pairs(model, role, groups)
    table = None
    related = None
    if pairs is not None:
        table = read_labelled_pairs(pairs, sides, partial=partial)
        related = table.pairs[table.is_related]
    unrelated = UnrelatedScores.draw(model, role, space, draw, related)
    if len(unrelated) < 2:
        raise must_be(
            "the number of unrelated pairs",
            "at least 2",
            len(unrelated),
            "give more rows",
        )
    by_level = unrelated.threshold_at(level)
    labelled = None
    score_errors = None
    if table is not None:
        labelled = _labelled(model, role, table, scoring, by_level, draw)
        if score is not None:
            # Scores that fall short by rounding reach it.
            (errors,) = labelled.scores.errors([score - TIE], draw)
            score_errors = replace(errors, threshold=score)
    n_all_pairs = Pairs(role).n_pairs(model)
    n_candidates = len(sides[-1].directed)
    if len(sides) == 1:
        n_candidates -= 1
    n_left_out = None
    if groups is not None:
        n_left_out = n_all_pairs - space.total
    result = Threshold(
        role=role,
        title=Pairs(role).titled(model),
        query_title=sides[0].title,
        candidate_title=sides[-1].title,
        n_candidates=n_candidates,
        model=ModelIdentity.from_model(model),
        trained_measure=_trained_measure(model, role),
        level=float(level),
        unrelated=unrelated,
        n_left_out=n_left_out,
        by_level=by_level,
        labelled=labelled,
        score=score,
        score_errors=score_errors,
    )
    if to is None:
        return result
    other = model_of(to)
    require_ordinary_size(other)
    counterparts = Counterparts.from_models(
        model,
        other,
        role,
        by_row=by_row,
        partial=partial,
        same_numbers=same_numbers,
    )
    cuts = [cut for cut in (result.threshold, result.score) if cut is not None]
    carried = [
        _carried(cut, result, table, model, other, counterparts, by, draw)
        for cut in cuts
    ]
    return replace(
        result, other=ModelIdentity.from_model(other), carried=tuple(carried)
    )


def _trained_measure(model: FactorModel, role: Role) -> Measure | None:
    """Return how training compared the rows of such pairs; None if it did not.

    Two rows of one side of a model of two sides were not compared.
    """
    if model.left_side is not None and role != "cross":
        return None
    return trained_measure(model)


def _require_level(level: float) -> None:
    if not (is_number(level) and 0 < level <= LARGEST_LEVEL):
        raise must_be(
            "level",
            f"a share of unrelated pairs above 0, and at most {LARGEST_LEVEL}",
            repr(level),
            "0.01 lets one unrelated pair in a hundred pass",
        )


def _checked_score(score: float | None) -> float | None:
    """Return the score to judge as a float."""
    if score is None:
        return None
    if not is_number(score):
        raise must_be("score", "a finite number", repr(score))
    if abs(score) > 1:
        raise must_be("score", "a cosine, from -1 to 1", score)
    return float(score)


def _checked_scoring(scoring: Scoring | None, *, has_labels: bool) -> Scoring:
    """Return what labels choose a threshold for."""
    if scoring is None:
        return "balanced_accuracy"
    require_one_of(scoring, "scoring", get_args(Scoring))
    if not has_labels:
        raise InputError(
            "{} must be omitted unless {} is given, the labelled pairs that choose a "
            "threshold.",
            Parameter("scoring"),
            Parameter("pairs"),
        )
    return scoring


def _checked_by(by: By | None, *, is_carried: bool, has_labels: bool) -> By:
    """Return what stays the same in another model."""
    if by is None and has_labels:
        return "error"
    if by is None:
        return "share"
    require_one_of(by, "by", get_args(By))
    if not is_carried:
        raise InputError(
            "{} must be omitted unless {} is given, the model that a threshold is "
            "carried to.",
            Parameter("by"),
            Parameter("to"),
        )
    if by == "error" and not has_labels:
        raise InputError(
            "{} must be given if a threshold is carried by error, because only labels "
            "tell which pairs are errors.",
            Parameter("pairs"),
        )
    return by


def _labelled(
    model: FactorModel,
    role: Role,
    table: LabelledPairs,
    scoring: Scoring,
    by_level: Estimate | None,
    draw: np.random.Generator,
) -> Labelled:
    """Choose a threshold on one half of the queries, and judge it on the other."""
    cosines = pair_cosines(*Pairs(role).rows(model), table.pairs)
    has_score = ~np.isnan(cosines)
    scores = LabelledScores.from_pairs(
        cosines[has_score],
        table.is_related[has_score],
        _ends(model, role, table.pairs[has_score]),
    )
    _require_both_labels(scores, model.title(Pairs(role).sides[0]))
    choosing, judging = scores.halves(draw)
    first = scores.of_queries(choosing)
    second = scores.of_queries(judging)
    chosen, chosen_range, judged = None, None, None
    if len(first.levels) > 1:
        chosen = first.choose(scoring)
        chosen_range = first.chosen_range(scoring, draw)
        (judged,) = second.errors([chosen], draw)
    level_cut = None if by_level is None else by_level.value
    cuts = {cut for cut in (chosen, level_cut) if cut is not None}
    thresholds = sorted({*scores.thresholds_of_recall(), *cuts})
    table_of_errors = scores.errors(thresholds, draw)
    at_level = None
    for errors in table_of_errors:
        if errors.threshold == level_cut:
            at_level = errors
    return Labelled(
        scores=scores,
        n_without_direction=int(np.count_nonzero(~has_score)),
        n_repeated=table.n_repeated,
        n_unknown=table.n_unknown,
        scoring=scoring,
        auc=scores.auc_estimate(draw),
        chosen=chosen,
        chosen_range=chosen_range,
        n_choosing=len(choosing),
        judged=judged,
        n_judging=len(judging),
        at_level=at_level,
        table=tuple(table_of_errors),
    )


def _ends(model: FactorModel, role: Role, pairs: Indices) -> NDArray[np.intp]:
    """Return both rows of each pair, with other numbers for rows of another side."""
    shift = 0
    if role == "cross":
        shift = model.n_left
    return np.asarray(pairs + np.array([0, shift]), dtype=np.intp)


def _require_both_labels(scores: LabelledScores, title: str) -> None:
    """Raise InputError unless enough queries have pairs of each label."""
    for label, is_kind in ((1, scores.is_related), (0, ~scores.is_related)):
        n_queries = scores.n_queries_with(is_kind)
        if n_queries < FEWEST_QUERIES:
            raise must_be(
                f"the number of {title}s in the first column with a pair labelled "
                f"{label}",
                f"at least {FEWEST_QUERIES}",
                n_queries,
                f"label pairs of more {title}s, because one half of them chooses the "
                "threshold, and the other half judges it",
            )


def _carried(
    cut: float,
    result: Threshold,
    table: LabelledPairs | None,
    model: FactorModel,
    other: FactorModel,
    counterparts: Counterparts,
    by: By,
    draw: np.random.Generator,
) -> CarriedScore:
    """Carry a threshold to another model."""
    role = result.role
    sample = result.unrelated
    pairs = sample.pairs
    old_scores = sample.scores
    if by == "error":
        assert table is not None
        pairs = table.pairs[~table.is_related]
        old_scores = scores_in(model, role, pairs)
    new_scores = scores_in(other, role, counterparts.pairs(pairs))
    has_scores = ~np.isnan(old_scores) & ~np.isnan(new_scores)
    if np.count_nonzero(has_scores) < 2:
        raise must_be(
            "the number of unrelated pairs whose rows are in both models",
            "at least 2",
            int(np.count_nonzero(has_scores)),
        )
    if by == "error":
        ends = _ends(model, role, pairs[has_scores])
        error_of = labelled_errors(ends)
        n_clusters = min(len(np.unique(rows)) for rows in ends.T)
    else:
        errors = PairErrors(sample.entities[has_scores])
        error_of, n_clusters = errors.of_mean, errors.n_entities
    carried = carry(
        cut, old_scores[has_scores], new_scores[has_scores], error_of, n_clusters
    )
    n_related, recall_before, recall_after = 0, None, None
    if table is not None and carried is not None:
        n_related, recall_before, recall_after = _recalls(
            table, model, other, counterparts, role, carried.before, carried.after, draw
        )
    return CarriedScore(
        by=by,
        before=cut,
        threshold=carried,
        n_pairs=int(np.count_nonzero(has_scores)),
        n_related=n_related,
        recall_before=recall_before,
        recall_after=recall_after,
    )


def _recalls(
    table: LabelledPairs,
    model: FactorModel,
    other: FactorModel,
    counterparts: Counterparts,
    role: Role,
    old_cut: float,
    new_cut: float,
    draw: np.random.Generator,
) -> tuple[int, Estimate | None, Estimate | None]:
    """Return the number of related pairs in both models, and shares above the cuts."""
    old_scores = scores_in(model, role, table.pairs)
    new_scores = scores_in(other, role, counterparts.pairs(table.pairs))
    has_scores = ~np.isnan(old_scores) & ~np.isnan(new_scores)
    is_related = table.is_related[has_scores]
    ends = _ends(model, role, table.pairs[has_scores])
    if not is_related.any():
        return 0, None, None
    recalls = []
    for scores, cut in ((old_scores, old_cut - TIE), (new_scores, new_cut)):
        labelled = LabelledScores.from_pairs(scores[has_scores], is_related, ends)
        (errors,) = labelled.errors([cut], draw)
        recalls.append(errors.recall)
    return int(np.count_nonzero(is_related)), recalls[0], recalls[1]
