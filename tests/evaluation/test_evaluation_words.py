"""The verdict of an evaluation, its numbers and its labels, made by hand on both sides of every threshold."""

from __future__ import annotations

import numpy as np
import pytest
from models import random_model
from scipy.stats import t

from embaudit.canonical import at_exponent
from embaudit.evaluation import Evaluation, as_truth, evaluate_similarities
from embaudit.evaluation.evaluate import similarities

Q = 1_000


def evaluation(margin=0.0, queries=Q, **values):
    """Similarities with a precision, AUC and NDCG each, and two replicates that put them `margin` from a neighbour."""
    by_query = {name.replace("_", " "): np.tile(found, (queries, 1)) for name, found in values.items()}
    spread = np.array([[1.0], [-1]]) * margin / t.ppf(0.975, 1)
    replicates = {name: rows[0] + (spread if name != "cosine" else 0 * spread) for name, rows in by_query.items()}
    return Evaluation("right", "item", 5, 70, 3, np.arange(queries), by_query, replicates, 0.25, 80)


# labels


def test_labels_of_any_kind_are_read_as_texts():
    found = as_truth(
        ["b | a", ["c", None, float("nan"), ""], {"a"}, np.array([1, 2]), ("x",), 2.5, None, float("nan")], 8
    )
    assert found.labels == ("1", "2", "2.5", "a", "b", "c", "x")
    assert found.table.toarray().astype(int).tolist() == [
        [0, 0, 0, 1, 1, 0, 0],
        [0, 0, 0, 0, 0, 1, 0],
        [0, 0, 0, 1, 0, 0, 0],
        [1, 1, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 0, 1],
        [0, 0, 1, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 0, 0],
    ]
    assert found.table.dtype == np.float32
    assert found.labelled.tolist() == [0, 1, 2, 3, 4, 5]
    assert repr(found) == "Truth(8 rows, 7 labels, 8 assignments)"
    assert as_truth(found, 8) is found


@pytest.mark.parametrize("missing", ["", " ", "nan", "None", "NULL", "na", "N/A", "(no genres listed)"])
def test_words_for_no_label_are_none(missing):
    assert as_truth([missing, "a", "b"], 3).labelled.tolist() == [1, 2]


# what is judged


@pytest.mark.parametrize("role", ["left", "right"])
@pytest.mark.parametrize("biases", [(), ("left_bias",), ("right_bias",)])
def test_cosines_in_a_canonical_gauge_are_those_of_the_model_in_it(role, biases):
    model = random_model(n=12, p=8, k=3, means=(2.0, 1.0), biases=biases)
    vectors = {name: make(np.arange(len(model.factors(role)))) for name, make in similarities(model, role)}
    prediction = 0 if role == "right" else 1
    for name, exponent in {"left-whitened": 0, "balanced": 0.5, "right-whitened": 1}.items():
        found = vectors["prediction cosine" if exponent == prediction else f"{name} cosine"]
        factors = at_exponent(model, exponent).factors(role)
        expected = factors / np.linalg.norm(factors, axis=1, keepdims=True)
        np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=1e-9)


def test_queries_that_nothing_answers_are_left_out():
    """One label of every row, one of a single row, one of two rows: chance is over queries that can be answered."""
    labels = ["a", "b", "b", "c", "c", "c", "a|b|c|d"]
    found = evaluate_similarities(random_model(n=9, p=7, k=2), labels, n=2)
    # The last row is related to all others, the first to the last alone.
    assert found.queries.tolist() == [0, 1, 2, 3, 4, 5]
    assert found.chance == pytest.approx(np.mean([1, 2, 2, 3, 3, 3]) / 6)
