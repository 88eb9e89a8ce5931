"""Evaluation of similarities by known labels, against scikit-learn and by hand."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from models import random_model
from scipy.stats import binom
from sklearn.metrics import ndcg_score, roc_auc_score

from embaudit.canonical import at_exponent
from embaudit.errors import InputError
from embaudit.evaluation import (
    as_truth,
    evaluate_similarities,
    separator_in,
)
from embaudit.evaluation.measures import LeaveOutMeasures
from embaudit.gauges import Gauge
from embaudit.linalg.intervals import draw_groups
from embaudit.model import FactorModel
from embaudit.report.evaluation_document import evaluation_document, evaluation_table
from embaudit.simulate import simulate_interactions
from embaudit.solvers import FactorPenaltyMF, ProductPenaltyMF

GENRES = ["A|B", "A", "B|C", "C", None, "", "A|C", "B", "A|B", "C", "B", "A"]


make = partial(random_model, n=30, p=12, k=3)


def jaccard(a, b):
    return len(a & b) / len(a | b)


def similarity_matrix(model, similarity):
    """Return the similarities of all pairs of items, by their definition."""
    if similarity == "dot product":
        return model.right @ model.right.T
    if similarity == "cosine":
        rows = model.right
    elif similarity == "balanced cosine":
        rows = at_exponent(model, 0.5).right
    else:
        assert similarity == "prediction cosine"
        rows = model.scores().T  # Each item is the column of its scores.
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit @ unit.T


@pytest.mark.parametrize(
    "similarity", ["cosine", "dot product", "prediction cosine", "balanced cosine"]
)
def test_precision_auc_and_ndcg_agree_with_counting_and_scikit_learn(similarity):
    model = make()
    similarities = similarity_matrix(model, similarity)
    labelled = [row for row, labels in enumerate(GENRES) if labels]
    label_sets = {row: set(GENRES[row].split("|")) for row in labelled}

    found = evaluate_similarities(model, GENRES, n_neighbours=3)

    assert found.queries.tolist() == labelled
    assert found.n_candidates == 10
    assert found.n_left_out == 2
    for query, measured in zip(labelled, found.by_query[similarity], strict=True):
        others = [row for row in labelled if row != query]
        gains = np.array([jaccard(label_sets[query], label_sets[j]) for j in others])
        scores = similarities[query, others]
        nearest = np.argsort(-scores)[:3]
        precision = np.mean(gains[nearest] > 0)
        auc = roc_auc_score(gains > 0, scores)
        ndcg = ndcg_score([gains], [scores], k=3)
        np.testing.assert_allclose(measured, [precision, auc, ndcg], atol=1e-6)


def test_a_gauge_changes_measures_of_the_raw_cosine_but_not_of_the_prediction_cosine():
    draw = np.random.default_rng(0)
    clusters = np.repeat(np.arange(3), 20)
    right = np.eye(3)[clusters] + 0.15 * draw.standard_normal((60, 3))
    right = np.column_stack([right, 0.1 * draw.standard_normal((60, 5))])
    model = FactorModel.from_user_item(draw.standard_normal((200, 8)), right)
    blown_up = Gauge.diagonal([1.0] * 3 + [1 / 40] * 5).act(model)
    first, second = (evaluate_similarities(m, clusters) for m in (model, blown_up))
    np.testing.assert_allclose(
        first.by_query["prediction cosine"],
        second.by_query["prediction cosine"],
        atol=1e-12,
    )
    assert first.value("cosine") > 0.95
    assert second.value("cosine") < 0.6
    assert second.best() == "prediction cosine"
    verdict = second.explain().splitlines()[0]
    assert verdict.startswith("By precision (")
    assert "AUC (" in verdict
    assert "prediction cosine serves best, with 95 % confidence" in verdict
    frame = second.to_frame().set_index(["similarity", "measure"])
    assert frame.loc[("prediction cosine", "precision"), "difference_ci_low"] > 0.2
    assert (
        frame.loc["cosine", ["difference_ci_low", "difference_ci_high"]]
        .isna()
        .all(axis=None)
    )


def with_pairs(n_pairs):
    """Evaluate 40 items of which some pairs share a label."""
    draw = np.random.default_rng(0)
    model = FactorModel.from_vectors(draw.standard_normal((40, 3)))
    labels = [f"pair {i // 2}" for i in range(2 * n_pairs)]
    labels += [f"alone {i}" for i in range(2 * n_pairs, 40)]
    return evaluate_similarities(model, labels, n_neighbours=3)


def test_28_queries_give_no_verdict():
    explanation = with_pairs(14).explain()
    assert "28 queries are too few to say which similarity is better" in explanation
    assert "By precision" not in explanation


def test_30_queries_give_a_verdict():
    assert "By precision" in with_pairs(15).explain()


@pytest.mark.parametrize(("n_pairs", "is_marked"), [(14, False), (15, True)])
def test_only_differences_over_30_queries_are_marked(n_pairs, is_marked):
    """A difference of 1 is marked in the table and the figure if queries suffice."""
    found = with_pairs(n_pairs)
    by_query = {**found.by_query, "CSLS": found.by_query["CSLS"] + 1}
    apart = replace(found, by_query=by_query)
    assert ("*" in str(evaluation_table(apart))) == is_marked
    (figure,) = evaluation_document(apart).top
    assert figure.columns["marked"].any() == is_marked


def test_the_prediction_cosine_finds_simulated_clusters_better_than_right_whitening():
    data = simulate_interactions(2_000, 300, rng=0)
    model = ProductPenaltyMF(30, alpha=100.0).fit(data.matrix).model(data.matrix)
    found = evaluate_similarities(model, data.clusters, n_queries=200)
    values = {name: found.value(name, "auc") for name in found.by_query}
    assert values["prediction cosine"] > values["right-whitened cosine"] + 0.02
    assert all(value > 0.5 for value in values.values())


def test_after_equal_weight_decay_the_raw_cosine_is_the_balanced_one():
    data = simulate_interactions(800, 100, rng=1)
    model = FactorPenaltyMF(8, alpha=5.0).fit(data.matrix).model(data.matrix)
    found = evaluate_similarities(model, data.clusters)
    np.testing.assert_allclose(
        found.by_query["cosine"], found.by_query["balanced cosine"], atol=1e-9
    )


def test_vectors_alone_and_models_of_cosines_are_judged_by_fewer_similarities():
    assert set(
        evaluate_similarities(
            FactorModel.from_vectors(make().right), GENRES, n_neighbours=3
        ).by_query
    ) == {
        "cosine",
        "dot product",
        "centred cosine",
        "CSLS",
    }
    found = evaluate_similarities(make().replace(link="cosine"), GENRES, n_neighbours=3)
    assert "prediction cosine" in found.by_query
    assert "balanced cosine" not in found.by_query


def test_rows_of_zeros_are_neither_queries_nor_neighbours():
    model = make()
    right = model.right.copy()
    right[0] = 0
    found = evaluate_similarities(model.replace(right=right), GENRES, n_neighbours=3)
    assert found.n_left_out == 3
    assert "among 9 (3 without label or direction are skipped)" in found.explain()
    assert 0 not in found.queries


@pytest.mark.parametrize(
    ("labels", "options", "sentence"),
    [
        (GENRES[:5], {}, "truth must be a list of 12 entries, one per row; got 5"),
        (["A"] * 12, {}, "at least two labels, .*; got A"),
        ([None] * 12, {}, "at least two labels, .*; got none"),
        (GENRES, {"n_neighbours": 10}, "n_neighbours must be an integer from 1 to 8"),
        (GENRES, {"n_queries": 1, "n_neighbours": 2}, "n_queries must be an integer"),
        (
            [f"label {i}" for i in range(12)],
            {"n_neighbours": 2},
            "truth must relate some pairs of rows but not all",
        ),
        (
            ["A|B"] * 12,
            {"n_neighbours": 2},
            "truth must relate some pairs of rows but not all",
        ),
        ([*"AB", *[None] * 10], {}, "must be at least 3; got 2; label more items"),
    ],
)
def test_evaluate_similarities_refuses(labels, options, sentence):
    with pytest.raises(InputError, match=sentence):
        evaluate_similarities(make(), labels, **options)


@cache
def noise(seed):
    draw = np.random.default_rng(seed)
    model = FactorModel.from_user_item(
        draw.standard_normal((60, 5)), draw.standard_normal((50, 5))
    )
    return evaluate_similarities(model, draw.integers(3, size=50), rng=seed)


def test_random_labels_seldom_give_a_winner():
    """An interval without an allowance for picking the best would err far too often."""
    wins, naive = 0, 0
    for seed in range(100):
        found = noise(seed)
        wins += found.better("precision") is not None
        lift = found.by_query[found.best()][:, 0] - found.by_query["cosine"][:, 0]
        error = lift.std(ddof=1) / np.sqrt(len(lift))
        naive += lift.mean() > 1.96 * error > 0
    assert wins <= binom.ppf(0.95, 100, 0.025) == 5
    assert naive >= 10


def measured(scores, gains, n):
    """Precision, AUC and NDCG from their definitions, pair by pair."""
    related = gains > 0
    if related.all() or not related.any():
        return (np.nan, np.nan, np.nan)
    listed = gains[np.argsort(-scores, kind="stable")[:n]]
    ahead = scores[related][:, None] - scores[~related]
    discounts = 1 / np.log2(np.arange(len(listed)) + 2)
    ideal = np.sort(gains)[::-1][:n]
    return (
        (listed > 0).mean(),
        ((ahead > 0) + (ahead == 0) / 2).mean(),
        listed @ discounts / (ideal @ discounts),
    )


@given(st.integers(0, 2**32 - 1), st.integers(3, 40), st.integers(1, 5), st.booleans())
def test_measures_without_a_group_are_those_of_the_remaining_candidates(
    seed, m, n, ties
):
    draw = np.random.default_rng(seed)
    scores = (
        draw.integers(4, size=(2, m)).astype(float)
        if ties
        else draw.standard_normal((2, m))
    )
    gains = draw.choice([0, 0, 0.5, 1], size=(2, m)).astype(np.float32)
    itself = ([0, 1], draw.integers(m, size=2))
    scores[itself] = gains[itself] = -np.inf
    groups = draw_groups(m, draw)
    found, _ = LeaveOutMeasures(gains, groups, n).measures(scores)
    assert found.shape == (2, min(m, 20) + 1, 3)
    for group, query in np.ndindex(found.shape[1], 2):
        rest = (groups != group) & (gains[query] >= 0)
        if rest.sum() >= n:
            expected = measured(scores[query, rest], gains[query, rest], n)
            np.testing.assert_allclose(found[query, group], expected, atol=1e-6)


# Labels


def test_labels_of_any_type_become_texts_and_missing_ones_are_left_out():
    found = as_truth(
        [
            "b | a",
            ["c", None, float("nan"), ""],
            {"a"},
            np.array([1, 2]),
            ("x",),
            2.5,
            None,
            float("nan"),
        ],
        8,
    )
    assert found.labels == ("1", "2", "2.5", "a", "b", "c", "x")
    columns = [np.flatnonzero(row).tolist() for row in found.table.toarray() == 1]
    assert columns == [[3, 4], [5], [3], [0, 1], [6], [2], [], []]
    assert found.table.sum() == 8
    assert found.table.dtype == np.float32
    assert found.labelled.tolist() == [0, 1, 2, 3, 4, 5]
    assert repr(found) == "Truth(8 rows, 7 labels, 8 assignments)"
    assert as_truth(found, 8) is found
    missing = ["", " ", "nan", "None", "NULL", "na", "N/A", "(no genres listed)"]
    assert as_truth([*missing, "a", "b"], 10).labelled.tolist() == [8, 9]


@pytest.mark.parametrize(
    ("texts", "separator"),
    [
        (["Comedy|Drama", "Drama"], "|"),
        (["Action, Sci-Fi|Drama", "Drama, War", "War"], "|"),
        (["Comedy, Drama", "Drama", "Comedy", None], ", "),
        (["Comedy,Drama", "Drama", "Comedy"], ","),
        (["Comedy; Drama", "Drama", "Comedy"], ";"),
        (["Crime, Law; Drama", "Drama", "Crime, Law"], ";"),
        # Names, places and records in JSON are one label each.
        (["Lee, Ang", "Ray, Nicholas", "Ozu, Yasujiro", "Lee, Spike"], "|"),
        (["Paris, Texas", "Austin, Texas", "Rome, Italy", "Bari, Italy"], "|"),
        (["['a', 'b']", "['a']", "['b']"], "|"),
        (["a", "b"], "|"),
    ],
)
def test_the_separator_of_labels_is_what_leaves_fewer_labels_than_texts(
    texts, separator
):
    assert separator_in(texts) == separator


@pytest.mark.parametrize("separator", ["|", ", ", ";"])
def test_the_separator_of_labels_does_not_change_an_evaluation(separator):
    """Items of two kinds share a label with 29 of the 39 others, the rest with 19."""
    cells = [("Drama", "Comedy"), ("Drama",), ("Comedy", "War"), ("War",)]
    labels = [separator.join(cell) for cell in cells] * 10
    items = np.random.default_rng(0).normal(size=(40, 3))
    found = evaluate_similarities(FactorModel.from_vectors(items), labels)
    assert found.chance == pytest.approx(24 / 39)
    assert "by chance it would be 62 %" in found.explain()
    whole = evaluate_similarities(FactorModel.from_vectors(items), labels, separator="")
    assert whole.chance == pytest.approx(9 / 39)


# Queries


def test_queries_without_a_related_row_are_left_out():
    """The last row has a label of its own."""
    labels = ["a", "a", "b", "b", "b", "c"]
    model = random_model(n=9, p=6, k=2)
    found = evaluate_similarities(model, labels, n_neighbours=2)
    assert found.queries.tolist() == [0, 1, 2, 3, 4]


def test_queries_without_an_unrelated_row_do_not_count_for_chance():
    """The last row is related to all others, and the first row to the last alone."""
    labels = ["a", "b", "b", "c", "c", "c", "a|b|c|d"]
    n_related = [1, 2, 2, 3, 3, 3]
    model = random_model(n=9, p=7, k=2)
    found = evaluate_similarities(model, labels, n_neighbours=2)
    assert found.queries.tolist() == [0, 1, 2, 3, 4, 5]
    assert found.chance == pytest.approx(np.mean(n_related) / 6)


def test_zero_rows_do_not_change_the_centred_cosine():
    rows = np.random.default_rng(0).standard_normal((100, 6)) + 3
    with_zero_rows = np.vstack([rows, np.zeros((50, 6))])
    labels = [str(number) for number in np.arange(100) % 7]
    expected = evaluate_similarities(FactorModel.from_vectors(rows), labels)
    found = evaluate_similarities(
        FactorModel.from_vectors(with_zero_rows), labels + [None] * 50
    )
    for measure in expected.measures:
        assert found.value("centred cosine", measure) == pytest.approx(
            expected.value("centred cosine", measure), abs=1e-12
        )
