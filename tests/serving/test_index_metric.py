"""Lists of an index against lists of the model: laws, brute force and a real model."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from models import random_model
from scipy.sparse import csr_matrix
from scipy.spatial.distance import cdist

import embaudit as ea
from embaudit.errors import InputError
from embaudit.io.intake import Metric
from embaudit.model import LINK_NAMES, FactorModel
from embaudit.serving.index_metric import (
    SERVED,
    Basis,
    Lengths,
    lengths_of,
    needs_metric,
    served_lists,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SPREAD = np.exp(np.random.default_rng(9).normal(0, 0.8, (30, 1)))
"""Lengths of 30 items that differ."""


def kept(found: ea.IndexMetric) -> list[float]:
    return [lists.kept for lists in found.directions]


def unit(rows: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
    return (rows / lengths).astype(rows.dtype)


# Laws


@given(
    seed=st.integers(0, 10**6),
    served=st.sampled_from(SERVED),
    link=st.sampled_from(LINK_NAMES),
    dtype=st.sampled_from([np.float64, np.float32, np.float16]),
)
def test_rows_of_length_1_are_ranked_alike_by_every_measure(
    seed: int, served: Any, link: str, dtype: Any
) -> None:
    model = random_model(seed, dtype=dtype)
    model = model.replace(left=unit(model.left), right=unit(model.right), link=link)
    found = ea.index_metric(model, served)
    assert kept(found) == [1.0, 1.0]
    assert found.lengths is Lengths.UNIT
    assert not needs_metric(model)


def test_a_row_of_zeros_is_ranked_by_product_though_all_others_have_length_1() -> None:
    rows = unit(np.random.default_rng(0).standard_normal((12, 3)))
    rows[4] = 0
    users = np.random.default_rng(1).standard_normal((20, 3))
    model = FactorModel.from_user_item(users, rows, link="identity")
    assert needs_metric(model)
    found = ea.index_metric(model, "cosine", n_neighbours=11)
    # The list by cosine holds all items but the one of zeros. The list by product holds
    # it unless every other product is positive.
    is_listed = (users @ rows.T < 0).any(axis=1)
    assert is_listed.any()
    expected = np.where(is_listed, 10 / 11, 1.0)
    np.testing.assert_allclose(found.directions[0].kept_by_query, expected)
    assert found.on_lengths == (
        "All indexed rows that are not zero have length 1, "
        "so inner product, cosine and Euclidean distance rank these rows alike. "
        "Rows of zeros have no cosine, so only the other two measures can list them."
    )


@given(seed=st.integers(0, 10**6), link=st.sampled_from(LINK_NAMES))
def test_the_measure_of_the_training_keeps_all_lists(seed: int, link: str) -> None:
    model = random_model(seed, scales=(1.0, SPREAD), link=link)
    served = "cosine" if link == "cosine" else "dot"
    assert kept(ea.index_metric(model, served)) == [1.0, 1.0]


@pytest.mark.parametrize(
    ("compared", "served"), [("cosine", "cosine"), ("dot", "dot"), ("distance", "l2")]
)
def test_the_comparison_of_one_table_keeps_all_lists(
    compared: Any, served: Any
) -> None:
    rows = np.random.default_rng(0).standard_normal((30, 5)) * SPREAD
    model = FactorModel.from_vectors(rows, compared=compared)
    assert kept(ea.index_metric(model, served)) == [1.0]
    for other in SERVED:
        if other != served:
            assert kept(ea.index_metric(model, other))[0] < 0.9


def test_a_column_that_gives_all_items_one_length_keeps_the_lists_by_product() -> None:
    # `embaudit explain EMB501` advises this column for an index without inner product.
    model = random_model(3, scales=(1.0, SPREAD), biases=("right_bias",))
    with_bias = np.column_stack([model.right, model.right_bias])
    squares = (with_bias**2).sum(axis=1)
    items = np.column_stack([with_bias, np.sqrt(squares.max() - squares)])
    users = np.column_stack([model.left, np.ones(40), np.zeros(40)])
    served = FactorModel.from_user_item(users, items, link="identity")
    assert lengths_of(served.right_side) is Lengths.EQUAL
    for metric in SERVED:
        assert ea.index_metric(served, metric).directions[0].kept == 1.0
    by_score = np.argsort(-model.scores(), axis=1)[:, :10]
    by_product = np.argsort(-(users @ items.T), axis=1)[:, :10]
    np.testing.assert_array_equal(np.sort(by_product), np.sort(by_score))


def test_the_length_of_users_changes_no_list_by_cosine_or_product() -> None:
    model = random_model(0, scales=(1.0, SPREAD), link="identity")
    longer = model.replace(left=model.left * np.linspace(0.1, 9, 40)[:, None])
    for served in ("cosine", "dot"):
        assert ea.index_metric(model, served).directions[0].kept == (
            ea.index_metric(longer, served).directions[0].kept
        )


@pytest.mark.parametrize("seed", range(3))
def test_a_rotation_changes_no_figure_though_every_item_has_copies(seed: int) -> None:
    draw = np.random.default_rng(5)
    items = np.repeat(draw.standard_normal((12, 4)) * SPREAD[:12], 4, axis=0)
    users = draw.standard_normal((25, 4))
    square = np.linalg.qr(np.random.default_rng(seed).standard_normal((4, 4)))[0]
    before = FactorModel.from_user_item(users, items, link="identity")
    after = FactorModel.from_user_item(users @ square, items @ square, link="identity")
    for served in SERVED:
        found_before = ea.index_metric(before, served)
        found_after = ea.index_metric(after, served)
        for old, new in zip(
            found_before.directions, found_after.directions, strict=True
        ):
            np.testing.assert_array_equal(old.kept_by_query, new.kept_by_query)
            assert old.popularity == pytest.approx(new.popularity)
            assert old.own_first == new.own_first
            old_worst = [record["row"] for record in old.worst()]
            new_worst = [record["row"] for record in new.worst()]
            assert old_worst == new_worst


# Brute force


def similarities(measure: str, queries: np.ndarray, rows: np.ndarray) -> np.ndarray:
    if measure == "dot":
        return queries @ rows.T
    if measure == "cosine":
        return 1 - cdist(queries, rows, "cosine")
    return -cdist(queries, rows)


def top(values: np.ndarray, n: int, *, is_own: bool) -> np.ndarray:
    """Flag the `n` largest values of each row.

    If `is_own`, queries and rows are the same, and no query flags itself.
    """
    values = values.copy()
    if is_own:
        np.fill_diagonal(values, -np.inf)
    flags = np.zeros(values.shape, dtype=bool)
    best = np.argsort(-values, axis=1, kind="stable")[:, :n]
    np.put_along_axis(flags, best, True, axis=1)
    return flags


def share(first: np.ndarray, second: np.ndarray) -> float:
    return float((first & second).sum() / first.sum())


def median(popularity: np.ndarray, flags: np.ndarray) -> float:
    return float(np.median(np.broadcast_to(popularity, flags.shape)[flags]))


@pytest.mark.parametrize("served", SERVED)
@pytest.mark.parametrize("link", ["identity", "softmax", "ranking", "cosine"])
@pytest.mark.parametrize("biases", [(), ("left_bias", "right_bias")])
def test_shares_of_two_sides_equal_brute_force(
    served: Any, link: str, biases: tuple[str, ...]
) -> None:
    model = random_model(7, scales=(1.0, SPREAD), biases=biases, link=link)
    model = model.replace(right_counts=np.arange(30) ** 2)
    users, items = model.left, model.right
    trained = "cosine" if link == "cosine" else "dot"
    for_users, for_items = ea.index_metric(model, served).directions
    n = for_users.n
    assert n == 10

    # Items for users.
    by_model = top(model.scores(), n, is_own=False)
    by_index = top(similarities(served, users, items), n, is_own=False)
    assert for_users.kept == pytest.approx(share(by_model, by_index), abs=1e-12)
    counts = model.right_counts
    assert for_users.popularity == (median(counts, by_model), median(counts, by_index))
    if biases and link != "cosine":
        unbiased = top(similarities(trained, users, items), n, is_own=False)
        assert for_users.kept_without_bias == pytest.approx(share(by_model, unbiased))
    else:
        assert for_users.kept_without_bias is None

    # Items for items.
    by_model = top(similarities(trained, items, items), n, is_own=True)
    by_index = top(similarities(served, items, items), n, is_own=True)
    assert for_items.kept == pytest.approx(share(by_model, by_index), abs=1e-12)
    assert for_items.basis is Basis.BETWEEN_SIDES
    values = similarities(served, items, items)
    is_own_best = np.diag(values) >= values.max(axis=1) - 1e-9
    assert for_items.own_first == is_own_best.mean()


@pytest.mark.parametrize("served", SERVED)
@pytest.mark.parametrize("compared", [None, "cosine", "dot", "distance"])
def test_shares_of_one_table_equal_brute_force(served: Any, compared: Any) -> None:
    rows = np.random.default_rng(0).standard_normal((300, 8))
    rows *= np.exp(np.random.default_rng(1).normal(0, 0.8, (300, 1)))
    model = FactorModel.from_vectors(rows, compared=compared)
    (lists,) = ea.index_metric(model, served, n_neighbours=7).directions
    measure = {None: "cosine", "distance": "l2"}.get(compared, compared)
    reference = top(similarities(measure, rows, rows), 7, is_own=True)
    index = top(similarities(served, rows, rows), 7, is_own=True)
    assert lists.kept == pytest.approx(share(reference, index), abs=1e-12)
    assert lists.basis is (Basis.TRAINING if compared else Basis.THIS_AUDIT)
    lengths = np.linalg.norm(rows, axis=1)
    assert lists.popularity == pytest.approx(
        (median(lengths, reference), median(lengths, index))
    )


def test_hyperbolic_distance_is_compared_with_the_index() -> None:
    directions = unit(np.random.default_rng(0).standard_normal((60, 3)))
    lengths = np.linspace(0.3, 0.999, 60)
    rows = directions * lengths[:, None]
    model = FactorModel.from_vectors(rows, compared="hyperbolic")
    (lists,) = ea.index_metric(model, "l2").directions
    # The distance in the Poincaré ball (Nickel and Kiela, 2017).
    gaps = 1 - lengths**2
    squares = cdist(rows, rows, "sqeuclidean")
    distances = np.arccosh(1 + 2 * squares / np.outer(gaps, gaps))
    by_model = top(-distances, 10, is_own=True)
    by_index = top(-cdist(rows, rows), 10, is_own=True)
    assert lists.kept == pytest.approx(share(by_model, by_index), abs=1e-12)
    assert 0.1 < lists.kept < 0.9
    assert "the model was trained on hyperbolic distances" in lists.headline


# Examples by hand


def by_hand() -> FactorModel:
    """Two users and three items, the longest of which wins every product."""
    return FactorModel.from_arrays(
        [[1.0, 0.0], [0.0, 1.0]],
        [[2.0, 2.0], [1.0, 0.1], [0.1, 1.0]],
        link="identity",
        left_ids=["ann", "bob"],
        right_ids=["hit", "west", "north"],
        right_counts=[90, 4, 6],
    )


def test_the_index_lists_the_rare_item_of_each_user_instead_of_the_hit() -> None:
    for_users = ea.index_metric(by_hand(), "cosine", n_neighbours=1).directions[0]
    assert for_users.kept == 0.0
    assert for_users.popularity == (90, 5)
    assert for_users.headline == (
        "Your index compares by cosine, but the model was trained on dot products: "
        "100 % of each user's top 1 changes, and rarer items are shown (median 5 "
        "interactions instead of 90), on lists of all 2 users. Serve by inner product, "
        "or index the vectors that `embaudit fix --as equal-length` writes."
    )
    worst = [record["query"] for record in for_users.worst()]
    assert worst == ["ann", "bob"]


def test_by_product_the_hit_is_the_best_match_of_all_items() -> None:
    assert ea.index_metric(by_hand(), "dot").directions[1].own_first == 1 / 3
    assert ea.index_metric(by_hand(), "cosine").directions[1].own_first == 1.0


def test_the_ratio_of_lengths_is_that_of_their_quantiles() -> None:
    lengths = np.sqrt([8, 1.01, 1.01])
    ratio = ea.index_metric(by_hand(), "dot").length_ratio
    assert ratio == pytest.approx(np.quantile(lengths, 0.95) / np.sqrt(1.01))


def test_an_assumed_link_is_called_assumed() -> None:
    model = FactorModel.from_user_item(by_hand().left, by_hand().right)
    assert model.link.is_assumed
    headline = ea.index_metric(model, "cosine").directions[0].headline
    assert "the model is assumed to predict by dot products" in headline


def test_without_counts_the_words_say_lengths() -> None:
    model = by_hand().replace(right_counts=None)
    headline = ea.index_metric(model, "cosine", n_neighbours=1).directions[0].headline
    assert "items with shorter vectors are shown (median length 1 instead of 2.83" in (
        headline
    )


def by_hand_with_bias() -> FactorModel:
    """Two users and three items; only the bias recommends the hit to bob."""
    return by_hand().replace(
        right=[[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]], right_bias=[5.0, 0.0, 0.0]
    )


def test_an_index_by_the_measure_of_the_training_lacks_the_bias() -> None:
    model = by_hand_with_bias()
    assert needs_metric(model)
    lists = ea.index_metric(model, "dot", n_neighbours=1).directions[0]
    assert (lists.kept, lists.kept_without_bias) == (0.5, 0.5)
    assert lists.headline == (
        "Your index compares by inner product, as the model predicts, but it does not "
        "hold the item bias: 50 % of each user's top 1 changes, and rarer items are "
        "shown (median 47 interactions instead of 90), on lists of all 2 users. "
        "Index the vectors that `embaudit fix --as equal-length` writes: "
        "they hold the item bias."
    )


def test_the_bias_is_a_second_cause_next_to_the_measure() -> None:
    lists = ea.index_metric(by_hand_with_bias(), "cosine", n_neighbours=1).directions[0]
    cause = "The item bias, which the index does not hold, alone changes 50 %."
    assert cause in lists.headline
    assert "equal-length` writes: they hold the item bias." in lists.headline


def test_a_bias_that_is_the_same_for_all_items_changes_nothing() -> None:
    model = by_hand().replace(right_bias=[3.0, 3.0, 3.0])
    assert ea.index_metric(model, "dot").directions[0].kept_without_bias is None


@pytest.mark.parametrize("rounding", [-1e-14, 0.0, 1e-14])
def test_a_change_of_exactly_5_percent_is_not_reported(rounding: float) -> None:
    lists = ea.index_metric(by_hand(), "cosine").directions[0]
    at_limit = replace(lists, kept_by_query=np.array([0.9, 1.0]) + rounding)
    assert not at_limit.changes
    beyond = replace(lists, kept_by_query=np.array([0.88, 1.0]) + rounding)
    assert beyond.changes


def test_queries_are_drawn_and_counted() -> None:
    model = random_model(0, n=90, scales=(1.0, SPREAD))
    found = ea.index_metric(model, "cosine", n_lists=20, rng=1)
    lists = found.directions[0]
    assert len(lists.queries) == 20
    assert lists.measured_on == "lists of 20 of 90 users"
    assert found.records()[0]["n_queries"] == 20


def test_the_seed_draws_the_queries() -> None:
    model = random_model(0, n=90, scales=(1.0, SPREAD))
    first = ea.index_metric(model, "cosine", n_lists=20, rng=1)
    again = ea.index_metric(model, "cosine", n_lists=20, rng=1)
    other = ea.index_metric(model, "cosine", n_lists=20, rng=2)
    assert first.to_dict() == again.to_dict()
    queries = first.directions[0].queries
    assert queries.tolist() != other.directions[0].queries.tolist()


def test_the_table_has_a_row_per_direction() -> None:
    frame = ea.index_metric(by_hand(), "cosine").to_frame()
    assert list(frame["direction"]) == ["user → item", "item → item"]


def test_rows_without_direction_are_no_queries() -> None:
    model = by_hand()
    model = model.replace(left=np.vstack([model.left, [[0.0, 0.0]]]), left_ids=None)
    lists = ea.index_metric(model, "dot").directions[0]
    assert lists.queries.tolist() == [0, 1]
    assert lists.n_rows == 2


# Where the metric comes from


STATED = Metric("l2", "the collection")


def test_the_metric_of_the_store_is_used_by_default() -> None:
    found = served_lists(by_hand(), None, STATED, rng=np.random.default_rng(0))
    assert (found.served, found.contradiction) == ("l2", "")
    assert found.source == "l2, as the collection says"


def test_the_option_comes_before_the_store_and_says_so() -> None:
    found = served_lists(by_hand(), "dot", STATED, rng=np.random.default_rng(0))
    assert found.served == "dot"
    assert found.contradiction == (
        "The index compares by l2, as the collection says; you declared inner product, "
        "which counts here."
    )
    assert found.contradiction in found.explain()


def test_a_default_of_the_store_is_named_unless_the_caller_declares_a_metric() -> None:
    default = Metric("l2", "the default of this store", is_default=True)
    found = served_lists(by_hand(), None, default, rng=np.random.default_rng(0))
    assert found.on_default == (
        "The store states no measure: Euclidean distance is the default of this store. "
        "If your queries choose another measure, name it with `--served`."
    )
    assert found.on_default in found.explain()
    for measure in ("l2", "dot"):
        declared = served_lists(
            by_hand(), measure, default, rng=np.random.default_rng(0)
        )
        assert declared.on_default == ""
    stated = served_lists(by_hand(), None, STATED, rng=np.random.default_rng(0))
    assert stated.on_default == ""


def test_lengths_that_the_store_lost_are_named() -> None:
    rows = unit(np.random.default_rng(0).standard_normal((20, 4)))
    stated = Metric("cosine", "the collection", unit_rows=True)
    model = FactorModel.from_vectors(rows)
    found = served_lists(model, None, stated, rng=np.random.default_rng(0))
    assert found.lengths is Lengths.LOST
    assert "audit these with `--served cosine`" in found.explain()


@pytest.mark.parametrize(
    ("served", "sentence"),
    [
        (None, "served must be one of cosine, dot, l2; got None; the model does not"),
        ("ip", "served must be one of cosine, dot, l2; got 'ip'"),
        (3, "served must be one of cosine, dot, l2; got 3"),
    ],
)
def test_a_metric_that_is_unknown_is_refused(served: Any, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        ea.index_metric(by_hand(), served)
    assert str(caught.value).startswith(sentence)


@pytest.mark.parametrize(
    ("keywords", "sentence"),
    [
        ({"n_neighbours": 3}, "n_neighbours must be an integer from 1 to 2"),
        ({"n_lists": 0}, "n_lists must be an integer >= 1"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(
    keywords: dict[str, int], sentence: str
) -> None:
    with pytest.raises(InputError) as caught:
        ea.index_metric(by_hand(), "dot", **keywords)
    assert str(caught.value).startswith(sentence)


# A real model


def test_shares_of_a_model_of_real_ratings_equal_brute_force(
    shared_data: Callable[[str], Path],
) -> None:
    ratings = pd.read_csv(shared_data("ml-latest-small") / "ratings.csv")
    users, user_ids = pd.factorize(ratings["userId"])
    items, item_ids = pd.factorize(ratings["movieId"])
    matrix = csr_matrix((np.ones(len(ratings)), (users, items)))
    model = ea.FactorPenaltyMF(50, alpha=10.0).fit(matrix).model(matrix)
    for served in SERVED:
        lists = ea.index_metric(model, served, n_lists=1_000).directions[0]
        reference = top(model.left @ model.right.T, 10, is_own=False)
        index = top(similarities(served, model.left, model.right), 10, is_own=False)
        assert len(lists.queries) == len(user_ids)
        assert lists.kept == pytest.approx(share(reference, index), abs=2e-4)
        assert lists.changes == (served != "dot")
    assert len(item_ids) == model.n_right


# Lists that hold nothing, and lengths that only nearly agree


@pytest.mark.parametrize("served", SERVED)
def test_no_lists_are_compared_if_no_other_row_has_a_direction(served: Any) -> None:
    rows = np.zeros((9, 2))
    rows[3] = [1.0, 2.0]
    found = ea.index_metric(FactorModel.from_vectors(rows), served, n_neighbours=2)
    assert found.directions == ()
    two_sides = FactorModel.from_user_item(np.eye(2), rows, link="identity")
    found = ea.index_metric(two_sides, served, n_neighbours=2)
    assert [lists.role for lists in found.directions] == ["left"]
    assert "of each user" in found.explain()


def test_lengths_that_nearly_agree_are_not_said_to_rank_alike() -> None:
    """Rows in a narrow cone of lengths 0.9995 to 1.0005 are exchanged."""
    draw = np.random.default_rng(0)
    rows = draw.normal(size=(400, 8))
    rows[:, 0] += 60
    rows = unit(rows) * draw.uniform(0.9995, 1.0005, size=(400, 1))
    model = FactorModel.from_vectors(rows, compared="dot")
    found = ea.index_metric(model, "cosine")
    assert found.lengths is Lengths.UNIT
    assert found.directions[0].kept < 0.9
    assert found.on_lengths == (
        "All indexed rows have length 1, up to 0.1 %. "
        "This can still exchange rows that are nearly equally near."
    )


def test_lengths_of_float32_rows_of_length_1_agree_exactly() -> None:
    rows = np.random.default_rng(0).normal(size=(50, 7)).astype(np.float32)
    found = ea.index_metric(FactorModel.from_vectors(unit(rows)), "dot")
    assert found.has_exact_lengths
    assert found.on_lengths.endswith("rank them alike.")
