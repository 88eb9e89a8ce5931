"""How far two models agree in what they predict, against small tables of scores."""

from __future__ import annotations

import numpy as np
import pytest

import embaudit as ea
from embaudit.comparison.agreement import agreement
from embaudit.comparison.matching import Match
from embaudit.model import FactorModel


def everyone(n):
    return Match(
        "right", np.arange(n), np.arange(n), np.arange(n), 0, 0, key="row numbers"
    )


def test_distances_of_scores_rankings_and_correlations_of_a_model_of_five_rows_by_hand():
    one = FactorModel.from_user_item(np.eye(2), np.array([[1.0, 0], [0, 1], [2, 1]]))
    two = one.replace(right=np.array([[1.0, 0], [0, 1], [2, 2]]))
    users, items = everyone(2), everyone(3)
    found = agreement(one, two, users, items, rng=np.random.default_rng(0), top_n=1)
    assert (found.n_rows, found.n_columns, found.top_n, found.same) == (2, 3, 1, False)
    scores = [np.array([[1.0, 0, 2], [0, 1, 1]]), np.array([[1.0, 0, 2], [0, 1, 2]])]
    assert found.score_distance == pytest.approx(1 / np.sqrt(7))
    centred = [s - s.mean(axis=1, keepdims=True) for s in scores]
    expected = np.sqrt(((centred[1] - centred[0]) ** 2).sum() / (centred[0] ** 2).sum())
    assert found.difference_distance == pytest.approx(expected)
    # The first item asked for ties with the best of the first model, and is not the
    # best of the second.
    assert found.ranking_overlap == 0.5
    assert found.score_correlation == pytest.approx(
        (1 + np.corrcoef([0, 1, 1], [0, 1, 2])[0, 1]) / 2
    )
    assert agreement(one, two, users, items, rng=np.random.default_rng(0)).top_n == 2
    assert agreement(one, one, users, items, rng=np.random.default_rng(0)).same


@pytest.mark.parametrize(("gap", "same"), [(0.9e-5, True), (1.1e-5, False)])
@pytest.mark.parametrize("link", ["identity", "softmax", "ranking"])
def test_models_agree_if_predictions_differ_by_less_than_1e_5(gap, same, link):
    draw = np.random.default_rng(0)
    p, q = draw.standard_normal((9, 3)), draw.standard_normal((8, 3))
    q -= q.mean(axis=0)
    one = FactorModel.from_user_item(p, q, link=link)
    if link == "ranking":
        # A pair of scores in the other order by the gap, in rows whose spread is 1.
        scores = one.scores()
        size = np.sqrt(np.mean((scores - scores.mean(axis=1, keepdims=True)) ** 2))
        order = np.argsort(scores[0])
        one = FactorModel.from_user_item(np.eye(9), (scores.T).copy(), link=link)
        low, high = order[:2]
        right, other = one.right.copy(), one.right.copy()
        right[high, 0] = right[low, 0] + gap * size
        other[high, 0] = right[low, 0] - gap * size
        models = one.replace(right=right), one.replace(right=other)
    else:
        models = one, one.replace(left=p * (1 + gap))
    found = agreement(*models, everyone(9), everyone(8), rng=np.random.default_rng(0))
    assert found.same == same


def test_agreement_is_judged_at_the_level_that_the_link_predicts():
    """A shift of items moves scores and no probability; the size of an old inversion counts, not that of a new one."""
    draw = np.random.default_rng(0)
    p, q = draw.standard_normal((2, 9, 3))
    for link, same in (("identity", False), ("softmax", True), ("ranking", True)):
        one = FactorModel.from_user_item(p, q, link=link)
        two = one.replace(right=np.add(q, [1, 2, 3]))
        assert agreement(one, two, everyone(9), everyone(9), rng=draw).same == same
    scores = np.tile([0.0, 1e-3, 1.0, 2.0], (9, 1))
    one = FactorModel.from_user_item(np.eye(9), scores.T, link="ranking")
    two = one.replace(right=scores.T[[1, 0, 2, 3]] * 1e4)
    for models in ((one, two), (two, one)):
        assert not agreement(*models, everyone(9), everyone(4), rng=draw).same
    level = FactorModel.from_user_item(p, 0 * q, link="ranking")
    assert agreement(level, level, everyone(9), everyone(9), rng=draw).same


@pytest.mark.parametrize("by", ["cosine", "dot"])
def test_a_row_is_not_its_own_neighbour_when_vectors_are_compared(by):
    draw = np.random.default_rng(5)
    one, two = draw.standard_normal((2, 60, 8))
    two[:40] += one[:40]
    models, rows = (
        [FactorModel.from_vectors(x, compared=by) for x in (one, two)],
        everyone(60),
    )
    found = agreement(*models, rows, rows, rng=draw)
    tables = [
        model.scores()[~np.eye(60, dtype=bool)].reshape(60, 59) for model in models
    ]
    old, new = (np.argsort(-scores, axis=1)[:, :10] for scores in tables)
    shared = [len({*a} & {*b}) / 10 for a, b in zip(old, new, strict=True)]
    assert found.ranking_overlap == pytest.approx(np.mean(shared))
    old, new = tables
    correlations = [np.corrcoef(a, b)[0, 1] for a, b in zip(old, new, strict=True)]
    assert found.score_correlation == pytest.approx(np.mean(correlations))
    assert found.score_distance == pytest.approx(
        np.linalg.norm(new - old) / np.linalg.norm(old)
    )
    # As many rows are unlike as correlate little, but for those that the columns' means
    # decide; there is one side.
    assert found.unlike == (
        pytest.approx(np.mean(np.array(correlations) < 0.3), abs=0.1),
    )
    text = ea.compare(*models).explain()
    assert ". Their similarities correlate by 0" in text
    assert all(words not in text for words in ("user", "score", "embaudit fix"))
    assert agreement(models[0], models[0], rows, rows, rng=draw).same
