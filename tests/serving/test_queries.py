"""Rows that queries find: brute force, laws, planted rows, and real words."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from models import random_model
from scipy.optimize import linprog
from scipy.spatial.distance import cdist

import embaudit as ea
from embaudit.errors import InputError
from embaudit.linalg.best_matches import Order, best_matches
from embaudit.model import FactorModel
from embaudit.serving.closeness import Closeness, closeness_of_best, random_mixtures
from embaudit.serving.equal_popularity import (
    deviation_by_chance,
    lists_needed,
    most_by_chance,
    unreached_by_chance,
)
from embaudit.serving.far_limit import far_limit
from embaudit.serving.index_metric import SERVED
from embaudit.serving.nearness import Nearness

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def topical(
    n_items: int, n_queries: int, k: int = 24, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Items and queries about twenty subjects."""
    draw = np.random.default_rng(seed)
    subjects = draw.standard_normal((20, k))
    items = subjects[np.arange(n_items) % 20] + 0.6 * draw.standard_normal((n_items, k))
    queries = subjects[draw.integers(20, size=n_queries)]
    return items, queries + 0.6 * draw.standard_normal((n_queries, k))


def similarities(measure: str, queries: np.ndarray, items: np.ndarray) -> np.ndarray:
    if measure == "dot":
        return queries @ items.T
    if measure == "cosine":
        return 1 - cdist(queries, items, "cosine")
    return -cdist(queries, items)


def counts_of(values: np.ndarray, n: int) -> np.ndarray:
    """Count how often each column is among the `n` largest values of a row."""
    best = np.argsort(-values, axis=1, kind="stable")[:, :n]
    return np.bincount(best.ravel(), minlength=values.shape[1])


# Brute force


@pytest.mark.parametrize("served", SERVED)
def test_counts_equal_brute_force(served: Any) -> None:
    items, queries = topical(150, 90, 6)
    items *= np.exp(np.random.default_rng(1).normal(0, 0.7, (150, 1)))
    found = ea.query_reach(items, queries, served=served)
    values = similarities(served, queries, items)
    expected = counts_of(values, 10)
    np.testing.assert_array_equal(found.counts, expected)
    np.testing.assert_array_equal(found.unreached, np.flatnonzero(expected == 0))
    assert found.new_per_list == np.count_nonzero(expected == 1) / 90
    top = found.most_listed_rows()[0]
    assert top["row"] == expected.argmax()
    assert top["share"] == expected.max() / 90
    best = values.max(axis=1)
    if served == "dot":
        best = best / np.linalg.norm(queries, axis=1)
    np.testing.assert_allclose(found.nearness.closeness.values, best, atol=1e-9)


@pytest.mark.parametrize("biases", [(), ("left_bias", "right_bias")])
def test_a_model_of_two_sides_lists_by_its_scores(biases: tuple[str, ...]) -> None:
    model = random_model(3, biases=biases, link="identity")
    found = ea.query_reach(model, n_neighbours=3)
    np.testing.assert_array_equal(found.counts, counts_of(model.scores(), 3))
    assert found.has_bias == bool(biases)
    assert found.query_title == model.title("left")


def test_left_rows_as_queries_are_counted_like_the_left_side_itself() -> None:
    model = random_model(3, link="identity")
    for served in (None, *SERVED):
        own = ea.query_reach(model, served=served)
        given_again = ea.query_reach(model, model.left, served=served)
        np.testing.assert_array_equal(own.counts, given_again.counts)


@pytest.mark.parametrize("compared", ["cosine", "dot", "distance"])
def test_one_table_is_listed_by_the_comparison_of_its_training(compared: Any) -> None:
    items, queries = topical(60, 40)
    items *= np.linspace(0.2, 3, 60)[:, None]
    model = FactorModel.from_vectors(items, compared=compared)
    served = {"distance": "l2"}.get(compared, compared)
    by_training = ea.query_reach(model, queries)
    assert by_training.measure == served
    declared = ea.query_reach(items, queries, served=served)
    np.testing.assert_array_equal(by_training.counts, declared.counts)


def test_a_softmax_head_lists_the_most_probable_labels() -> None:
    draw = np.random.default_rng(0)
    rows, states = draw.normal(size=(30, 4)), draw.normal(size=(50, 4))
    bias = draw.normal(size=30)
    found = ea.query_reach(FactorModel.from_softmax(rows, bias), states, n_neighbours=2)
    np.testing.assert_array_equal(found.counts, counts_of(states @ rows.T + bias, 2))


# Chance


def test_expected_rows_in_no_list_and_their_deviation_agree_with_draws() -> None:
    draw = np.random.default_rng(0)
    m, n, n_rows = 60, 3, 40
    unreached = []
    largest = []
    for _ in range(4_000):
        listed = np.argsort(draw.random((m, n_rows)), axis=1)[:, :n]
        counts = np.bincount(listed.ravel(), minlength=n_rows)
        unreached.append(np.count_nonzero(counts == 0))
        largest.append(counts.max())
    expected = n_rows * unreached_by_chance(m, n, n_rows)
    deviation = deviation_by_chance(m, n, n_rows)
    error = deviation / np.sqrt(len(unreached))
    assert np.mean(unreached) == pytest.approx(expected, abs=4 * error)
    assert np.std(unreached) == pytest.approx(deviation, rel=0.06)
    most = most_by_chance(m, n, n_rows)
    assert np.mean(np.array(largest) > most) <= 0.01 + 0.005
    # One list fewer would be exceeded too often for the bound.
    assert n_rows * np.mean(np.array(largest) > most - 2) > 0.01


def test_the_needed_number_of_queries_is_the_smallest_one() -> None:
    for n, n_rows in ((1, 2), (3, 40), (10, 9_742)):
        needed = lists_needed(n, n_rows)
        assert unreached_by_chance(needed, n, n_rows) <= 0.05
        assert unreached_by_chance(needed - 1, n, n_rows) > 0.05


def test_rows_that_queries_draw_at_random_raise_nothing() -> None:
    """Items on a circle are equally popular for queries on the circle."""
    angles = np.linspace(0, 2 * np.pi, 400, endpoint=False)
    items = np.column_stack([np.cos(angles), np.sin(angles)])
    turns = np.random.default_rng(0).uniform(0, 2 * np.pi, 2_000)
    queries = np.column_stack([np.cos(turns), np.sin(turns)])
    for served in SERVED:
        found = ea.query_reach(items, queries, served=served)
        assert (found.has_hubs, found.has_unreached, found.has_far) == (False,) * 3


def test_with_few_queries_nothing_is_concluded_about_rows_in_no_list() -> None:
    items, queries = topical(1_000, 50)
    found = ea.query_reach(items, queries)
    assert len(found.unreached) > 500
    assert not found.has_unreached
    assert found.queries_needed == 299
    assert "too few queries to say which items nobody finds" in found.on_reach
    assert "at least 299 different queries are needed" in found.on_reach
    assert "In no list" not in found.explain()


# Planted rows


def test_a_row_in_the_direction_that_all_queries_share_is_a_hub() -> None:
    items, queries = topical(500, 400)
    queries += 3
    items[7] = 9.0
    found = ea.query_reach(items, queries)
    assert found.has_hubs
    assert found.hubs[0][0] == 7
    assert found.hubs[0][1] > 0.99
    assert "In most lists: item 7 (" in found.on_hubs


def test_hubs_by_inner_product_are_the_planted_long_rows() -> None:
    items, queries = topical(400, 300)
    queries[:, 0] = 3.0
    items[[5, 80, 200], :] = 0
    items[[5, 80, 200], 0] = [60.0, 61.0, 62.0]
    found = ea.query_reach(items, queries, served="dot")
    assert found.hubs[:3] == [(5, 1.0), (80, 1.0), (200, 1.0)]
    assert 0.3 <= found.filled < 0.4
    assert "4 items of 400 fill 3" in found.on_hubs
    by_cosine = ea.query_reach(items, queries, served="cosine")
    assert by_cosine.filled < 0.3


def is_only_best_of_some_vector(items: np.ndarray, row: int) -> bool:
    """Decide by a linear program if some q has q·x_row > q·x for all other rows."""
    others = np.delete(items, row, axis=0)
    k = items.shape[1]
    # Maximise t with q·(x − x_row) + t <= 0 for all other rows x and |q| <= 1.
    matrix = np.column_stack([others - items[row], np.ones(len(others))])
    solved = linprog(
        np.append(np.zeros(k), -1.0),
        A_ub=matrix,
        b_ub=np.zeros(len(others)),
        bounds=[(-1, 1)] * k + [(None, 1)],
    )
    return bool(-solved.fun > 1e-7)


def test_short_rows_inside_the_hull_are_in_no_list_by_inner_product() -> None:
    items, queries = topical(300, 1_500, 5)
    items[:20] *= 0.01
    found = ea.query_reach(items, queries, served="dot")
    assert set(range(20)) <= set(found.unreached.tolist())
    assert found.has_unreached
    assert len(found.examined) == 16
    np.testing.assert_array_equal(found.never_first, found.examined)
    for row in found.never_first:
        assert not is_only_best_of_some_vector(items, row)
    assert "proven" in found.on_unreached
    assert "Their vectors are shorter" in found.on_unreached
    # By cosine the direction of each row lists it first.
    by_cosine = ea.query_reach(items, np.vstack([queries, items]), served="cosine")
    assert len(by_cosine.unreached) == 0
    assert by_cosine.never_first.tolist() == []


def test_a_row_outside_of_the_hull_is_not_called_out_of_reach() -> None:
    """Item 0 is the best one of vectors along axis 5, which no query has."""
    items, queries = topical(300, 1_500, 6)
    items[:, 5] = 0
    queries[:, 5] = 0
    items[0] = [0, 0, 0, 0, 0, 0.001]
    found = ea.query_reach(items, queries, served="dot")
    assert 0 in found.examined
    assert 0 not in found.never_first
    assert is_only_best_of_some_vector(items, 0)


@given(seed=st.integers(0, 10**6))
def test_what_no_vector_lists_first_is_confirmed_by_linear_programs(seed: int) -> None:
    draw = np.random.default_rng(seed)
    items, queries = draw.normal(size=(25, 3)), draw.normal(size=(200, 3))
    found = ea.query_reach(items, queries, served="dot", n_neighbours=1)
    for row in found.examined:
        is_proven = row in found.never_first
        assert is_only_best_of_some_vector(items, row) != is_proven


def test_by_cosine_and_distance_a_row_is_first_for_itself() -> None:
    items = np.random.default_rng(0).normal(size=(80, 4))
    for served in ("cosine", "l2"):
        found = ea.query_reach(items, items, served=served, n_neighbours=1)
        np.testing.assert_array_equal(found.counts, 1)


# Planted queries

FAR = [3, 50, 120, 121, 299]
"""Numbers of the queries that `with_far_queries` plants far from all items."""


def with_far_queries() -> tuple[np.ndarray, np.ndarray]:
    """Unit items, and unit queries of which five lie opposite to the mean item."""
    items, queries = topical(800, 300)
    items /= np.linalg.norm(items, axis=1, keepdims=True)
    queries[FAR] = -items.mean(axis=0)
    queries[FAR] += 0.02 * np.random.default_rng(1).normal(size=(5, 24))
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    return items, queries


@pytest.mark.parametrize("served", SERVED)
def test_planted_far_queries_are_found_and_no_others(served: Any) -> None:
    items, queries = with_far_queries()
    found = ea.query_reach(items, queries, served=served)
    assert found.has_far
    assert np.flatnonzero(found.nearness.is_far).tolist() == FAR
    assert sorted(query["number"] for query in found.farthest()) == FAR
    assert "5 queries of 300 are far from all items" in found.on_far


@pytest.mark.parametrize("served", SERVED)
@pytest.mark.parametrize("scale", [1e-90, 1e-12, 1e12, 1e90])
def test_far_queries_do_not_depend_on_the_unit_of_the_vectors(
    served: Any, scale: float
) -> None:
    items, queries = with_far_queries()
    near = ea.query_reach(items, queries, served=served).nearness
    scaled = ea.query_reach(items * scale, queries * scale, served=served).nearness
    assert np.flatnonzero(scaled.is_far).tolist() == FAR
    assert scaled.has_far
    assert scaled.near_share == near.near_share
    assert scaled.near_share_by_reference == near.near_share_by_reference
    assert scaled.reference_near_share == near.reference_near_share
    unit = 1.0 if served == "cosine" else scale
    np.testing.assert_allclose(
        scaled.closeness.values, near.closeness.values * unit, rtol=1e-9
    )


def test_queries_whose_squares_overflow_are_refused() -> None:
    items, queries = topical(60, 40)
    with pytest.raises(InputError, match="between 1e-100 and 1e\\+100 long"):
        ea.query_reach(items, queries * 1e200, served="l2")


@pytest.mark.parametrize("served", SERVED)
@pytest.mark.parametrize("scale", [1e-90, 1e-12, 1e12, 1e90])
def test_whether_queries_fit_does_not_depend_on_the_unit_of_the_vectors(
    served: Any, scale: float
) -> None:
    items, queries = topical(800, 300)
    turn = np.linalg.qr(np.random.default_rng(5).normal(size=(24, 24)))[0]
    found = ea.query_reach(items, queries @ turn, served=served)
    scaled = ea.query_reach(items * scale, queries @ turn * scale, served=served)
    assert scaled.nearness.fits == found.nearness.fits
    assert scaled.nearness.near_share == found.nearness.near_share


def test_queries_outside_the_span_of_the_rows_are_far_from_all_rows() -> None:
    draw = np.random.default_rng(0)
    items, queries = draw.normal(size=(500, 12)), draw.normal(size=(200, 12))
    items[:, 6:] = 0
    queries[:, 6:] *= 0.1
    queries[:6, :6] = 0
    found = ea.query_reach(items, queries)
    assert not found.nearness.near_share > 0.5
    assert np.flatnonzero(found.nearness.is_far).tolist() == list(range(6))


def test_queries_of_another_model_do_not_fit() -> None:
    items, queries = topical(800, 300)
    turn = np.linalg.qr(np.random.default_rng(5).normal(size=(24, 24)))[0]
    assert ea.query_reach(items, queries).nearness.fits
    found = ea.query_reach(items, queries @ turn)
    assert not found.nearness.fits
    assert found.has_far
    assert found.on_far.startswith("The queries do not fit these items: only ")


def test_queries_about_one_subject_fit() -> None:
    items, _ = topical(800, 1)
    one_subject = items[0] + 0.3 * np.random.default_rng(2).normal(size=(200, 24))
    found = ea.query_reach(items, one_subject)
    assert found.nearness.fits
    assert not found.has_far


def test_mixtures_have_the_mean_and_the_covariance_of_the_queries() -> None:
    _, queries = topical(20, 60, 4)
    mixed = random_mixtures(queries, 100_000, np.random.default_rng(0))
    mean, covariance = queries.mean(axis=0), np.cov(queries.T)
    np.testing.assert_allclose(mixed.mean(axis=0), mean, atol=0.02)
    np.testing.assert_allclose(np.cov(mixed.T), covariance, atol=0.03)


def test_closeness_is_the_cosine_the_product_or_minus_the_distance() -> None:
    items, queries = topical(50, 30, 5)
    for measure in SERVED:
        order = Order(measure, items)
        best = best_matches(order, queries, 1)
        values = similarities(measure, queries, items).max(axis=1)
        if measure == "dot":
            values = values / np.linalg.norm(queries, axis=1)
        near = closeness_of_best(order, queries, best.values[:, 0])
        np.testing.assert_allclose(near, values, atol=1e-9)


@pytest.mark.parametrize(("n_queries", "n_rows"), [(60, 900), (400, 300), (900, 90)])
def test_queries_drawn_like_the_rows_are_rarely_reported(
    n_queries: int, n_rows: int
) -> None:
    """The bound of 5 % holds for the ranks alone, without the other two conditions."""
    draw = np.random.default_rng(0)
    limit = far_limit(n_queries, n_rows)
    n_reports = 0
    for _ in range(2_000):
        values = draw.standard_cauchy(n_queries + n_rows)
        level = np.sort(values[n_queries:])[limit.rank - 1]
        n_reports += (values[:n_queries] < level).sum() >= limit.least_far
    assert n_reports / 2_000 <= 0.05 + 0.012
    # The rank is the largest one, or the number of queries the smallest one.
    assert n_reports / 2_000 > 0.02


@pytest.mark.parametrize("served", ["l2", "cosine"])
def test_long_queries_are_not_far_if_rows_are_as_long(served: Any) -> None:
    """Rows of heavy tails are isolated, and so are queries that are drawn like them."""
    n_reports = 0
    for seed in range(20):
        draw = np.random.default_rng(seed)
        both = draw.standard_normal((800, 12)) + 0.5
        both *= np.exp(0.8 * draw.standard_normal((800, 1)))
        found = ea.query_reach(both[:500], both[500:], served=served)
        n_reports += found.has_far
    assert n_reports <= 3


def test_a_far_query_is_farther_than_nearly_all_rows() -> None:
    of_mixtures = np.full(400, 0.5)
    near = Nearness(
        is_cosine=False,
        closeness=Closeness(np.append(np.full(395, 0.9), np.full(5, 0.1)), of_mixtures),
        reference_closeness=Closeness(np.full(1_500, 0.8), of_mixtures),
    )
    assert (near.n_far, near.has_far) == (5, True)
    # The sixth lowest of 1,500 rows limits far queries; five isolated rows do not.
    isolated = near.reference_closeness.values.copy()
    isolated[:5] = 0.05
    five_isolated = Closeness(isolated.copy(), of_mixtures)
    assert replace(near, reference_closeness=five_isolated).has_far
    isolated[5] = 0.1
    six_isolated = Closeness(isolated, of_mixtures)
    assert replace(near, reference_closeness=six_isolated).n_far == 0


# Laws


@given(seed=st.integers(0, 10**6), served=st.sampled_from(SERVED))
def test_a_rotation_changes_no_list(seed: int, served: Any) -> None:
    items, queries = topical(60, 40, 5, seed)
    turn = np.linalg.qr(np.random.default_rng(seed).normal(size=(5, 5)))[0]
    before = ea.query_reach(items, queries, served=served)
    after = ea.query_reach(items @ turn, queries @ turn, served=served)
    np.testing.assert_array_equal(before.counts, after.counts)


def test_the_length_of_queries_changes_nothing_by_cosine_and_product() -> None:
    items, queries = topical(300, 200)
    longer = queries * np.linspace(0.1, 9, 200)[:, None]
    for served in ("cosine", "dot"):
        before = ea.query_reach(items, queries, served=served)
        after = ea.query_reach(items, longer, served=served)
        np.testing.assert_array_equal(before.counts, after.counts)
        np.testing.assert_array_equal(before.nearness.is_far, after.nearness.is_far)
        assert before.nearness.typical_closeness == pytest.approx(
            after.nearness.typical_closeness
        )


def test_copies_of_rows_and_of_queries_count_once() -> None:
    items, queries = topical(100, 80)
    once = ea.query_reach(items, queries)
    twice = ea.query_reach(
        np.repeat(items, 15, axis=0),
        np.vstack([queries, 2 * queries[:30]]),
        n_neighbours=once.n,
    )
    np.testing.assert_array_equal(once.counts, twice.counts)
    np.testing.assert_array_equal(twice.rows, 15 * np.arange(100))
    assert (twice.n_queries, twice.n_different) == (110, 80)
    assert "30 of 110 repeat another one" in twice.on_queries


def test_rows_of_one_direction_differ_by_product() -> None:
    items, queries = topical(100, 80)
    longer = np.vstack([items, 2 * items])
    by_product = ea.query_reach(longer, queries, served="dot")
    assert len(by_product.rows) == 200
    expected = counts_of(queries @ longer.T, by_product.n)
    np.testing.assert_array_equal(by_product.counts, expected)
    assert len(ea.query_reach(longer, queries, served="cosine").rows) == 100


def test_zeros_are_skipped_and_named() -> None:
    items, queries = topical(100, 80)
    items[:4] = 0
    queries[:3] = 0
    found = ea.query_reach(items, queries)
    assert (found.n_zeros, found.n_undirected, len(found.rows)) == (3, 4, 96)
    assert "3 queries of zeros were skipped" in found.on_queries
    assert "4 items of zeros can be in no list" in found.on_queries
    by_product = ea.query_reach(items, queries, served="dot")
    # Four rows of zeros are equal rows.
    assert len(by_product.rows) == 97


# The audit


def audited(items: Any, queries: Any, **options: Any) -> ea.Audit:
    sizes = {"n_gauges": 1, "n_pairs": 50, "n_starts": 0}
    return ea.audit(items, queries=queries, **sizes, **options)


def test_an_audit_holds_what_the_function_returns() -> None:
    items, queries = topical(300, 1_500, 5)
    items[:20] *= 0.01
    found = audited(items, queries, served="dot")
    alone = ea.query_reach(items, queries, served="dot")
    assert found.to_dict()["queries"] == alone.to_dict()
    assert "EMB503" in [finding.code for finding in found.findings]
    assert found.to_dict()["options"]["queries"] == "in memory"


def test_without_queries_an_audit_says_nothing_about_them() -> None:
    items, _ = topical(60, 1)
    assert audited(items, None).to_dict()["queries"] is None


def test_an_audit_of_queries_is_verified_and_needs_queries_in_memory() -> None:
    items, queries = topical(60, 50)
    record = json.loads(json.dumps(audited(items, queries).to_dict()))
    assert ea.verify(record, items, queries=queries).ok
    with pytest.raises(InputError, match="queries must be given, because the audit"):
        ea.verify(record, items)


def test_the_first_screen_says_what_queries_find(
    tmp_path: Path, embaudit: Callable[..., Any]
) -> None:
    items, queries = topical(300, 1_500, 5)
    items[:20] *= 0.01
    np.save(tmp_path / "items.npy", items)
    np.save(tmp_path / "queries.npy", queries)
    np.save(tmp_path / "few.npy", queries[:40])
    words = ("audit", str(tmp_path / "items.npy"), "--served", "dot", "--queries")
    printed = " ".join(embaudit(*words, str(tmp_path / "queries.npy")).out.split())
    assert "EMB503 tip: no query finds " in printed
    printed = " ".join(embaudit(*words, str(tmp_path / "few.npy")).out.split())
    assert "too few queries to say which items nobody finds" in printed


# Real vectors


def words_of(texts: list[str], data: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean token vector per text, and flags of the texts that have one."""
    folder = data / "survey" / "model2vec"
    tokens = np.asarray(ea.load(folder / "model.safetensors").right, dtype=np.float64)
    vocabulary = json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]
    vectors = np.zeros((len(texts), tokens.shape[1]))
    for place, text in enumerate(texts):
        words = re.findall("[a-z]+", text.lower())
        rows = [vocabulary[word] for word in words if word in vocabulary]
        if rows:
            vectors[place] = tokens[rows].mean(axis=0)
    return vectors, vectors.any(axis=1)


def test_titles_find_films_by_their_words(shared_data: Callable[[str], Path]) -> None:
    folder = shared_data("ml-latest-small").parent
    films = pd.read_csv(folder / "ml-latest-small" / "movies.csv")
    films = films.iloc[::4]
    texts = (films["title"] + " " + films["genres"]).tolist()
    vectors, has_words = words_of(texts, folder)
    short, short_has_words = words_of(films["title"].str.split("(").str[0], folder)
    items, queries = vectors[has_words], short[short_has_words]
    found = ea.query_reach(items, queries)
    different_items = np.unique(items.round(12), axis=0)
    different_queries = np.unique(
        (queries / np.linalg.norm(queries, axis=1, keepdims=True)).round(9), axis=0
    )
    assert abs(len(found.rows) - len(different_items)) <= 20
    assert abs(found.n_different - len(different_queries)) <= 5
    values = similarities("cosine", queries[found.queries], items[found.rows])
    np.testing.assert_array_equal(found.counts, counts_of(values, 10))
    # Titles have the subjects of films; turned at random, they lose them.
    assert found.nearness.near_share > 0.9
    assert found.nearness.fits
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(128, 128)))[0]
    assert not ea.query_reach(items, queries @ turn).nearness.fits


# Bad input


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "another width": (
        lambda: ea.query_reach(np.eye(4), np.ones((3, 5))),
        "queries must be vectors of 4 columns, as the item rows are; got vectors of 5 "
        "columns; encode them with the model that made these rows",
    ),
    "another width in an audit": (
        lambda: ea.audit(np.eye(4), queries=np.ones((3, 5))),
        "queries must be vectors of 4 columns",
    ),
    "NaN": (
        lambda: ea.query_reach(np.eye(2), [[np.nan, 1.0]]),
        "finite",
    ),
    "only zeros": (
        lambda: ea.query_reach(np.eye(2), np.zeros((3, 2))),
        "queries must be vectors that are not all zero; got only rows of zeros",
    ),
    "two sides": (
        lambda: ea.query_reach(
            np.eye(2), FactorModel.from_user_item(np.eye(2), np.eye(2))
        ),
        "queries must be one table of vectors; got a model of two sides",
    ),
    "no queries": (
        lambda: ea.query_reach(np.eye(2)),
        "queries must be given, because the model has one side only",
    ),
    "a missing file": (
        lambda: ea.query_reach(np.eye(2), "no.npy"),
        "no.npy",
    ),
    "equal rows": (
        lambda: ea.query_reach(np.ones((4, 2)), np.ones((3, 2))),
        "lists can hold must be at least 2",
    ),
    "long lists": (
        lambda: ea.query_reach(np.eye(4), np.eye(4), n_neighbours=4),
        "n_neighbours must be an integer from 1 to 3",
    ),
    "another measure": (
        lambda: ea.query_reach(np.eye(4), np.eye(4), served="magic"),
        "served must be one of cosine, dot, l2",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_bad_argument_is_refused_in_one_sentence(name: str) -> None:
    call, sentence = REFUSED[name]
    with pytest.raises(InputError, match=re.escape(sentence)) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_fewer_than_thirty_queries_are_counted_but_not_called_far() -> None:
    items, queries = topical(200, 29)
    found = ea.query_reach(items, queries)
    assert found.counts.sum() == 290
    assert found.nearness is None
    assert not found.has_far
    assert found.to_dict()["nearness"] is None


def test_names_of_rows_and_queries_are_used() -> None:
    items, queries = topical(200, 300)
    queries[0] = -items.mean(axis=0)
    ids = [f"text {i}" for i in range(200)]
    words = [f"words {i}" for i in range(300)]
    found = ea.query_reach(
        FactorModel.from_vectors(items, ids=ids),
        FactorModel.from_vectors(queries, ids=words),
    )
    assert found.most_listed_rows()[0]["name"].startswith("text ")
    assert [query["query"] for query in found.farthest()] == ["words 0"]
    assert found.to_frame().columns.tolist() == ["row", "name", "lists"]
    assert len(found.to_frame()) == len(found.rows)


def test_unrelated_queries_are_not_called_near():
    """Queries as far as mixtures: none is farther than the others, and none is near."""
    draw = np.random.default_rng(0)
    centres = 2 * draw.standard_normal((10, 16))
    items = centres[draw.integers(10, size=300)] + 0.3 * draw.standard_normal((300, 16))
    queries = draw.standard_normal((400, 16))
    found = ea.query_reach(FactorModel.from_user_item(queries, items))
    assert found.nearness.n_far == 0
    assert found.nearness.near_share < 0.1
    assert found.on_far.startswith("No query is clearly far from all items, but only ")
    near = centres[draw.integers(10, size=400)] + 0.3 * draw.standard_normal((400, 16))
    found = ea.query_reach(items, near, served="cosine")
    assert found.on_far.startswith("No query is far from all items: ")
