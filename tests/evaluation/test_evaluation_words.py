"""The verdict of an evaluation, its numbers and its labels, made by hand on both sides of every threshold."""

from __future__ import annotations

import json

import numpy as np
import pytest
from models import random_model
from reading import too_long
from scipy.stats import t

from embaudit.canonical import at_exponent
from embaudit.errors import InputError
from embaudit.evaluation import Evaluation, as_truth, evaluate_similarities
from embaudit.evaluation.evaluate import scaled_locally, similarities
from embaudit.model import FactorModel

Q = 1_000
UNSEEN = -np.log(0.05) / Q


def evaluation(margin=0.0, queries=Q, **values):
    """Similarities with a precision, AUC and NDCG each, and two replicates that put them `margin` from a neighbour."""
    by_query = {name.replace("_", " "): np.tile(found, (queries, 1)) for name, found in values.items()}
    spread = np.array([[1.0], [-1]]) * margin / t.ppf(0.975, 1)
    replicates = {name: rows[0] + (spread if name != "cosine" else 0 * spread) for name, rows in by_query.items()}
    return Evaluation("right", "item", 5, 70, 3, np.arange(queries), by_query, replicates, 0.25, 80)


def test_a_verdict_says_whether_the_best_is_beyond_chance():
    found = evaluation(cosine=(0.5, 0.6, 0.7), dot_product=(0.5, 0.9, 0.9))
    assert "50.0% share a label with the item asked for; 25.0% would by chance." in found.explain()
    assert found.explain().startswith(
        "1,000 of 80 items asked, neighbours among 70. Of the 5 nearest by raw cosine, 50.0%"
    )
    assert found.explain().endswith("No other similarity does better.")
    assert [found.best(measure) for measure in ("precision", "auc", "ndcg")] == ["cosine", "dot product", "dot product"]
    for margin, interval, better in (
        (0.0, "+11.7 to +12.3", True),
        (0.119, "+0.1 to +23.9", True),
        (0.13, "-1.0 to +25.0", False),
    ):
        text = evaluation(margin, cosine=(0.5, 0.6, 0.7), dot_product=(0.62, 0.6, 0.7)).explain()
        assert f"by {interval} percentage points" in text
        assert "picked as the best of 1)" in text
        assert ("The best, dot product, serves better: 62.0%" in text) == better
        assert ("None is surely better: the best, dot product, reaches 62.0%" in text) != better
        assert too_long(text) == []
    found = evaluation(cosine=(0.5, 0.5, 0.5), dot_product=(0.5 + UNSEEN, 0.5, 0.5), other=(0, 0, 0))
    assert "picked as the best of 2)" in found.explain()
    assert "None is surely better" in found.explain()


def test_thirds_by_counts():
    """Against a loop over the queries; equal counts stay together, and no counts give no thirds."""
    draw = np.random.default_rng(2)
    counts = draw.permutation(np.repeat([1.0, 2, 3, 5, 8, 100], 10))
    model = random_model(n=40, p=60, k=3)
    model = model.replace(right_counts=counts)
    found = evaluate_similarities(model, draw.integers(3, size=60), n=4)
    records = found.by_count()
    assert [(one["least"], one["most"]) for one in records if one["similarity"] == "cosine"] == [
        (1, 2),
        (3, 5),
        (8, 100),
    ]
    for one in records:
        within = [i for i, row in enumerate(found.queries) if one["least"] <= counts[row] <= one["most"]]
        assert one["n_queries"] == len(within)
        assert one["precision"] == pytest.approx(found.by_query[one["similarity"]][within, 0].mean())
    for none in (None, np.full(60, 7.0)):
        assert evaluate_similarities(model.replace(right_counts=none), draw.integers(3, size=60), n=4).by_count() == []


def test_csls_lists_hubs_less():
    """Against the formula: 2 cos − r(x) − r(y), r the mean cosine with the ten nearest, gives the same lists."""
    draw = np.random.default_rng(6)
    rows = draw.standard_normal((80, 5)) + 0.7
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    asking, listed = scaled_locally(unit)
    cosines = unit @ unit.T
    np.fill_diagonal(cosines, -2)
    near = np.sort(cosines, axis=1)[:, -10:].mean(axis=1)
    csls = 2 * cosines - near[:, None] - near
    scores = asking @ listed.T
    np.fill_diagonal(scores, -4)
    np.testing.assert_array_equal(np.argsort(-csls, axis=1)[:, :20], np.argsort(-scores, axis=1)[:, :20])
    most = [np.bincount(np.argsort(-x, axis=1)[:, :10].ravel(), minlength=80).max() for x in (cosines, csls)]
    assert most[1] < most[0]


def test_values_and_intervals():
    found = evaluation(0.03, cosine=(0.5, 0.6, 0.7), dot_product=(0.01, 0.98, 0.75))
    assert (found.value("dot product"), found.value("cosine", "auc"), found.value("cosine", "ndcg")) == pytest.approx(
        (0.01, 0.6, 0.7)
    )
    rows = {(row["similarity"], row["measure"]): row for row in found.records()}
    assert list(rows) == [(s, m) for s in ("cosine", "dot product") for m in ("precision", "auc", "ndcg")]
    assert rows["cosine", "auc"] == pytest.approx(
        {
            "similarity": "cosine", "measure": "auc", "value": 0.6, "ci_low": 0.6 - UNSEEN, "ci_high": 0.6 + UNSEEN,
            "difference": 0.0, "difference_ci_low": -UNSEEN, "difference_ci_high": UNSEEN,
        }
    )  # fmt: skip
    low, high, middle = rows["dot product", "precision"], rows["dot product", "auc"], rows["dot product", "ndcg"]
    assert (low["ci_low"], low["ci_high"]) == pytest.approx((0, 0.04))
    assert (high["ci_low"], high["ci_high"]) == pytest.approx((0.95, 1))
    assert (middle["difference"], middle["difference_ci_low"], middle["difference_ci_high"]) == pytest.approx(
        (0.05, 0.02, 0.08)
    )
    wide = {row["measure"]: row for row in evaluation(5.0, cosine=(0.5,) * 3, dot_product=(0.6,) * 3).records()[3:]}
    assert (wide["auc"]["difference_ci_low"], wide["auc"]["difference_ci_high"]) == (-1, 1)
    assert found.to_frame().to_dict("records") == found.records()
    told = json.loads(json.dumps(found.to_dict()))
    assert told == {
        "role": "right", "title": "item", "n": 5, "n_candidates": 70, "n_left_out": 3, "chance": 0.25, "n_queries": Q,
        "n_rows": 80, "by_count": [],
        "records": found.records(), "explanation": found.explain(),
    }  # fmt: skip


def test_a_measure_that_is_none_is_refused():
    with pytest.raises(InputError, match="measure must be one of precision, auc, ndcg; got 'recall'"):
        evaluation(cosine=(0.5,) * 3).value("cosine", "recall")


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


def test_a_separator_may_be_another_or_none():
    assert as_truth(["a;b", "c"], 2, separator=";").labels == ("a", "b", "c")
    assert as_truth(["a|b", "c"], 2, separator="").labels == ("a|b", "c")
    assert as_truth(["a|b", "c"], 2).labels == ("a", "b", "c")


@pytest.mark.parametrize("given", [np.array("a"), {"a": "b"}, 5])
def test_labels_are_a_list(given):
    with pytest.raises(InputError, match="truth must be a list with the labels of each row"):
        as_truth(given, 1)


def test_gains_are_common_over_all_labels():
    truth = as_truth(["a|b", "b|c", "a|b", "d", None, None], 6)
    found = truth.gains(np.array([0, 4]), np.arange(6))
    np.testing.assert_allclose(found, [[1, 1 / 3, 1, 0, 0, 0], [0, 0, 0, 0, 0, 0]])
    assert found.dtype == np.float32


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


def test_a_row_at_the_mean_is_similar_to_nothing():
    model = FactorModel.from_vectors(np.array([[1.0, 1], [2, 2], [3, 3]]))
    found = dict(similarities(model, "right"))["centred cosine"](np.arange(3))
    assert found[1].tolist() == [0, 0]


def test_three_rows_are_enough_and_lists_leave_one_out():
    model = FactorModel.from_vectors(np.random.default_rng(0).standard_normal((5, 2)))
    labels = ["a", "a", "b", None, None]
    found = evaluate_similarities(model, labels, n=1)
    assert (found.n, found.n_candidates, found.n_left_out, found.title, found.role) == (1, 3, 2, "item", "right")
    assert found.queries.tolist() == [0, 1]
    assert found.chance == 0.5
    with pytest.raises(InputError, match="n must be an integer from 1 to 1; got 2"):
        evaluate_similarities(model, labels, n=2)
    with pytest.raises(InputError, match="must be at least 3; got 2; label more items; a row of zeros does not count"):
        evaluate_similarities(model, ["a", "b", None, None, None], n=1)
    with pytest.raises(InputError, match="n_queries must be an integer >= 2; got 1"):
        evaluate_similarities(model, labels, n=1, n_queries=1)
    assert len(evaluate_similarities(model, labels, n=1, n_queries=2, rng=1).by_query["cosine"]) <= 2
    with pytest.raises(InputError, match=r"truth must relate some rows and not all; got labels that leave nothing to "):
        evaluate_similarities(model, ["a", "b", "c", None, None], n=1)


def test_queries_that_nothing_answers_are_left_out():
    """One label of every row, one of a single row, one of two rows: chance is over queries that can be answered."""
    labels = ["a", "b", "b", "c", "c", "c", "a|b|c|d"]
    found = evaluate_similarities(random_model(n=9, p=7, k=2), labels, n=2)
    # The last row is related to all others, the first to the last alone.
    assert found.queries.tolist() == [0, 1, 2, 3, 4, 5]
    assert found.chance == pytest.approx(np.mean([1, 2, 2, 3, 3, 3]) / 6)
