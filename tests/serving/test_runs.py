"""Neighbours in several runs: laws, brute force, sentences and bad input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

import embaudit as ea
from embaudit.errors import InputError
from embaudit.gauges import GeneralLinear

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

N_USERS, N_ITEMS = 50, 30
DRAW = np.random.default_rng(0)
USERS = DRAW.standard_normal((N_USERS, 4))
ITEMS = DRAW.standard_normal((N_ITEMS, 4))


def noisy_runs(n_runs: int = 3, noise: float = 0.3) -> list[ea.FactorModel]:
    """Return models whose rows differ by independent noise."""
    draw = np.random.default_rng(1)
    return [
        ea.FactorModel.from_user_item(
            USERS + noise * draw.standard_normal(USERS.shape),
            ITEMS + noise * draw.standard_normal(ITEMS.shape),
            user_ids=np.arange(N_USERS),
            item_ids=np.arange(100, 100 + N_ITEMS),
        )
        for _ in range(n_runs)
    ]


def item_tables(n_runs: int = 3, noise: float = 0.3) -> list[ea.FactorModel]:
    """Return the items of `noisy_runs` without users."""
    return [ea.FactorModel.from_vectors(run.right) for run in noisy_runs(n_runs, noise)]


def unrelated_run(seed: int = 5) -> ea.FactorModel:
    """Return a model of the same ids, whose rows have nothing to do with the others."""
    draw = np.random.default_rng(seed)
    return ea.FactorModel.from_user_item(
        draw.standard_normal(USERS.shape),
        draw.standard_normal(ITEMS.shape),
        user_ids=np.arange(N_USERS),
        item_ids=np.arange(100, 100 + N_ITEMS),
    )


def cosines_of(rows: np.ndarray) -> np.ndarray:
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit @ unit.T


def brute_force(cosines: list[np.ndarray], n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the lists of the first run, and how many runs list each neighbour."""
    lists = []
    for matrix in cosines:
        without_own = matrix - 3 * np.eye(len(matrix))
        lists.append(np.argsort(-without_own, axis=1)[:, :n])
    run_counts = np.zeros(lists[0].shape, dtype=int)
    for row in range(len(run_counts)):
        for place, neighbour in enumerate(lists[0][row]):
            run_counts[row, place] = sum(neighbour in one[row] for one in lists)
    return lists[0], run_counts


# Numbers


@pytest.mark.parametrize("n_runs", [2, 3, 5])
def test_lists_and_counts_equal_brute_force_on_the_scores(n_runs: int) -> None:
    runs = noisy_runs(n_runs)
    cosines = [cosines_of(run.scores().T) for run in runs]
    lists, run_counts = brute_force(cosines, 5)
    found = ea.stable_neighbours(runs, n_neighbours=5)
    np.testing.assert_array_equal(found.indices, lists)
    np.testing.assert_array_equal(found.run_counts, run_counts)
    assert found.stable_share == pytest.approx((run_counts == n_runs).mean())
    assert 0 < found.stable_share < 1


def test_cosines_are_averaged_over_the_runs() -> None:
    runs = noisy_runs()
    cosines = [cosines_of(run.scores().T) for run in runs]
    lists, _ = brute_force(cosines, 5)
    found = ea.stable_neighbours(runs, n_neighbours=5)
    entries = np.array([np.take_along_axis(one, lists, 1) for one in cosines])
    np.testing.assert_allclose(found.mean_cosines, entries.mean(axis=0))
    deviations = entries.std(axis=0, ddof=1)
    np.testing.assert_allclose(found.cosine_deviations, deviations, atol=1e-12)
    assert found.typical_deviation == pytest.approx(np.median(deviations))


def test_lists_of_users_compare_rows_of_the_scores() -> None:
    runs = noisy_runs()
    lists, run_counts = brute_force([cosines_of(run.scores()) for run in runs], 5)
    found = ea.stable_neighbours(runs, role="user", n_neighbours=5)
    np.testing.assert_array_equal(found.indices, lists)
    np.testing.assert_array_equal(found.run_counts, run_counts)


def test_lists_of_one_table_are_those_by_the_cosine_of_its_rows() -> None:
    models = item_tables()
    lists, run_counts = brute_force([cosines_of(model.right) for model in models], 5)
    found = ea.stable_neighbours(models, n_neighbours=5)
    assert found.similarity == "cosine"
    np.testing.assert_array_equal(found.indices, lists)
    np.testing.assert_array_equal(found.run_counts, run_counts)


def test_shares_of_runs_and_of_numbers_of_runs_equal_brute_force() -> None:
    runs = noisy_runs()
    cosines = [cosines_of(run.scores().T) for run in runs]
    _, run_counts = brute_force(cosines, 5)
    found = ea.stable_neighbours(runs, n_neighbours=5)
    for record in found.frequencies():
        expected = (run_counts == record["n_runs"]).mean()
        assert record["share"] == pytest.approx(expected)
    for record in found.by_run():
        _, pair_counts = brute_force([cosines[0], cosines[record["run"] - 1]], 5)
        assert record["share"] == pytest.approx((pair_counts == 2).mean())


def test_a_sample_of_lists_has_an_interval_and_states_its_size() -> None:
    runs = noisy_runs()
    found = ea.stable_neighbours(runs, n_neighbours=5, n_lists=12)
    whole = ea.stable_neighbours(runs, n_neighbours=5)
    low, high = found.interval
    assert low < found.stable_share < high
    assert "lists of 12 of 30 items" in found.explain()
    assert whole.interval == (whole.stable_share, whole.stable_share)
    assert "lists of all 30 items" in whole.explain()
    for row, counts in zip(found.rows, found.run_counts, strict=True):
        np.testing.assert_array_equal(counts, whole.run_counts[row])


def test_runs_on_halves_of_real_ratings_equal_brute_force(
    shared_data: Callable[[str], Path],
) -> None:
    ratings = pd.read_csv(shared_data("ml-latest-small") / "ratings.csv")
    users, _ = pd.factorize(ratings["userId"])
    items, _ = pd.factorize(ratings["movieId"])
    popular = np.flatnonzero(np.bincount(items) >= 30)
    runs = []
    for seed in range(3):
        half = np.random.default_rng(seed).random(len(ratings)) < 0.5
        entries = (np.ones(half.sum()), (users[half], items[half]))
        matrix = csr_matrix(entries, shape=(users.max() + 1, items.max() + 1))
        matrix = matrix[:, popular]
        runs.append(ea.ProductPenaltyMF(20, alpha=10.0).fit(matrix).model(matrix))
    found = ea.stable_neighbours(runs, n_lists=None)
    cosines = [cosines_of(run.scores().T) for run in runs]
    _, run_counts = brute_force(cosines, 10)
    np.testing.assert_array_equal(found.run_counts, run_counts)
    assert 0 < found.stable_share < 1


# Laws


@pytest.mark.parametrize("role", ["left", "right"])
@given(seeds=st.lists(st.integers(0, 999), min_size=1, max_size=3))
def test_gauged_copies_keep_all_neighbours(role: Any, seeds: list[int]) -> None:
    model = noisy_runs(1)[0]
    group = GeneralLinear(4, max_condition=10.0)
    copies = [group.sample(rng=seed).act(model) for seed in seeds]
    found = ea.stable_neighbours([model, *copies], role=role)
    assert found.stable_share == 1
    assert found.cosine_deviations.max() < 1e-9
    assert found.copies == tuple((run + 2, 1) for run in range(len(seeds)))


def test_plain_cosines_of_gauged_copies_lose_neighbours() -> None:
    model = noisy_runs(1)[0]
    copy = GeneralLinear(4, max_condition=10.0).sample(rng=0).act(model)
    tables = [ea.FactorModel.from_vectors(one.right) for one in (model, copy)]
    assert ea.stable_neighbours(tables).stable_share < 1


def test_a_gauge_moves_no_run_and_no_third() -> None:
    runs = noisy_runs()
    group = GeneralLinear(4, max_condition=10.0)
    gauged = [group.sample(rng=seed).act(run) for seed, run in enumerate(runs)]
    before, after = ea.stable_neighbours(runs), ea.stable_neighbours(gauged)
    np.testing.assert_array_equal(before.run_counts, after.run_counts)
    np.testing.assert_allclose(before.popularity, after.popularity)
    assert [record["n_lists"] for record in before.by_popularity()] == [10, 10, 10]
    assert before.explain() == after.explain()


def test_the_order_of_later_runs_changes_no_count() -> None:
    runs = noisy_runs(4)
    turned = [runs[0], runs[3], runs[1], runs[2]]
    np.testing.assert_array_equal(
        ea.stable_neighbours(runs).run_counts, ea.stable_neighbours(turned).run_counts
    )


def test_a_run_whose_rows_have_collapsed_lists_no_neighbour() -> None:
    runs = noisy_runs(3)
    runs[2] = runs[2].replace(right=np.ones((N_ITEMS, 4)))
    found = ea.stable_neighbours(runs, n_neighbours=3)
    assert found.stable_share == 0
    assert found.unrelated_runs == [3]


# Rows of the runs


def test_rows_are_matched_by_ids_in_any_order() -> None:
    runs = noisy_runs()
    order = np.random.default_rng(2).permutation(N_ITEMS)
    mixed = [runs[0], runs[1].take(right=order), runs[2].take(right=order[::-1])]
    same = ea.stable_neighbours(runs, n_neighbours=4).to_frame()
    found = ea.stable_neighbours(mixed, n_neighbours=4).to_frame()
    pd.testing.assert_frame_equal(found, same)


def test_rows_that_a_run_lacks_are_in_no_list() -> None:
    runs = noisy_runs()
    runs[0] = runs[0].take(right=np.arange(2, 30))
    runs[2] = runs[2].take(right=np.arange(28))
    found = ea.stable_neighbours(runs, n_neighbours=4)
    assert (found.n_first, found.n_shared) == (28, 26)
    frame = found.to_frame()
    assert set(frame["id"]) == set(range(102, 128))
    assert set(frame["neighbour"]) <= set(range(102, 128))
    text = "Of the 28 items of the first run, these are in no list: 2 not in all runs."
    assert text in found.explain()


def test_rows_of_zeros_and_duplicates_of_all_runs_are_in_no_list() -> None:
    runs = []
    for run in noisy_runs():
        items = run.right.copy()
        items[7] = 2 * items[3]
        runs.append(run.replace(right=items))
    items = runs[1].right.copy()
    items[5] = 0
    runs[1] = runs[1].replace(right=items)
    # Rows 8 and 9 are duplicates in one run only, so they stay.
    items = runs[2].right.copy()
    items[9] = items[8]
    runs[2] = runs[2].replace(right=items)
    found = ea.stable_neighbours(runs, n_neighbours=4)
    assert (found.n_without_direction, found.n_duplicates) == (1, 1)
    ids = set(found.to_frame()["id"])
    assert set(range(100, 130)) - ids == {105, 107}
    assert set(found.to_frame()["neighbour"]) <= ids
    assert "1 without a cosine in a run, 1 that duplicate" in found.explain()


def test_runs_can_have_other_ranks() -> None:
    runs = noisy_runs()
    draw = np.random.default_rng(3)
    wide = ea.FactorModel.from_user_item(
        np.column_stack([runs[1].left, 0.1 * draw.standard_normal((N_USERS, 2))]),
        np.column_stack([runs[1].right, draw.standard_normal((N_ITEMS, 2))]),
        user_ids=np.arange(N_USERS),
        item_ids=np.arange(100, 100 + N_ITEMS),
    )
    found = ea.stable_neighbours([runs[0], wide], n_neighbours=5)
    cosines = [cosines_of(run.scores().T) for run in (runs[0], wide)]
    _, run_counts = brute_force(cosines, 5)
    np.testing.assert_array_equal(found.run_counts, run_counts)


# Popularity


def test_shares_by_interactions_are_means_over_thirds() -> None:
    counts = np.arange(N_ITEMS) // 2 + 1
    runs = [run.replace(right_counts=counts) for run in noisy_runs()]
    found = ea.stable_neighbours(runs, n_neighbours=4)
    records = found.by_popularity()
    assert [record["third"] for record in records] == [1, 2, 3]
    assert [record["n_lists"] for record in records] == [10, 10, 10]
    for record in records:
        is_member = (counts >= record["least"]) & (counts <= record["most"])
        assert record["n_lists"] == np.count_nonzero(is_member)
        expected = (found.run_counts[is_member] == 3).mean()
        assert record["stable_share"] == pytest.approx(expected)
    assert "items with 1 to 5 interactions, and" in found.explain()


def test_interactions_are_those_of_the_first_run_that_knows_them() -> None:
    runs = noisy_runs()
    counts = np.arange(N_ITEMS) + 1
    runs[1] = runs[1].replace(right_counts=counts)
    runs[2] = runs[2].replace(right_counts=counts[::-1].copy())
    found = ea.stable_neighbours(runs)
    assert found.popularity_measure == "interactions"
    np.testing.assert_array_equal(found.popularity, counts)


def test_without_interactions_the_length_of_scores_stands_for_popularity() -> None:
    runs = noisy_runs()
    found = ea.stable_neighbours(runs)
    assert found.popularity_measure == "score length"
    lengths = np.linalg.norm(runs[0].scores(), axis=0)
    np.testing.assert_allclose(found.popularity, lengths)
    assert "for items whose scores have length" in found.explain()


def test_without_scores_the_length_of_rows_stands_for_popularity() -> None:
    runs = item_tables()
    found = ea.stable_neighbours(runs)
    assert found.popularity_measure == "row length"
    lengths = np.linalg.norm(runs[0].right, axis=1)
    np.testing.assert_allclose(found.popularity, lengths)
    assert "for items whose vectors have length" in found.explain()


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.float16])
def test_rows_of_one_length_have_no_thirds(kind: type) -> None:
    runs = []
    for run in item_tables():
        rows = run.right / np.linalg.norm(run.right, axis=1, keepdims=True)
        runs.append(ea.FactorModel.from_vectors(rows.astype(kind)))
    found = ea.stable_neighbours(runs)
    assert found.by_popularity() == []
    assert "length" not in found.explain()


def test_rows_of_one_count_are_in_one_third() -> None:
    counts = np.r_[np.full(20, 1), np.full(10, 9)]
    runs = [run.replace(right_counts=counts) for run in noisy_runs()]
    found = ea.stable_neighbours(runs)
    ranges = [(one["least"], one["most"]) for one in found.by_popularity()]
    assert ranges == [(1, 1), (9, 9)]
    assert "items with 1 interaction, and" in found.explain()


def test_equal_lengths_are_in_one_third_whatever_their_last_bits_are() -> None:
    runs = item_tables()
    unit = runs[0].right / np.linalg.norm(runs[0].right, axis=1, keepdims=True)
    lengths = np.r_[np.full(20, 1.0), np.full(10, 2.0)]
    lengths *= 1 + 1e-15 * DRAW.standard_normal(N_ITEMS)
    runs[0] = ea.FactorModel.from_vectors(unit * lengths[:, None])
    sizes = [one["n_lists"] for one in ea.stable_neighbours(runs).by_popularity()]
    assert sizes == [20, 10]


# Words


def test_a_run_that_lists_no_more_than_chance_is_named() -> None:
    found = ea.stable_neighbours([*noisy_runs(2), unrelated_run()])
    assert found.unrelated_runs == [3]
    text = found.explain()
    assert "Run 3 lists" in text
    assert "which chance can explain (unrelated runs would list 34 %)" in text
    assert "Run 2 lists" not in text


@pytest.mark.parametrize("noise", [0.1, 0.5])
def test_related_runs_are_not_called_unrelated(noise: float) -> None:
    found = ea.stable_neighbours(noisy_runs(noise=noise))
    assert found.unrelated_runs == []
    assert "chance can explain" not in found.explain()


def test_nearly_all_unrelated_runs_are_named() -> None:
    runs = [noisy_runs(1)[0], *(unrelated_run(seed) for seed in range(40))]
    found = ea.stable_neighbours(runs, n_neighbours=5)
    assert len(found.unrelated_runs) >= 36


def test_unrelated_runs_list_as_many_as_chance_says() -> None:
    draw = np.random.default_rng(0)
    shares, chances = [], []
    for _ in range(20):
        runs = [
            ea.FactorModel.from_vectors(draw.standard_normal((40, 8))) for _ in range(3)
        ]
        found = ea.stable_neighbours(runs, n_neighbours=8)
        shares.append(found.stable_share)
        chances.append(found.chance_share)
    assert chances == pytest.approx([(8 / 39) ** 2] * 20)
    assert np.mean(shares) == pytest.approx(chances[0], abs=0.01)


def test_only_runs_with_equal_cosines_are_called_copies() -> None:
    runs = noisy_runs()
    copy = GeneralLinear(4, max_condition=3.0).sample(rng=0).act(runs[1])
    found = ea.stable_neighbours([*runs, copy])
    assert found.copies == ((4, 2),)
    assert "Run 4 has the same cosines as run 2 up to rounding" in found.explain()
    assert ea.stable_neighbours(runs).copies == ()
    assert "same cosines" not in ea.stable_neighbours(runs).explain()


def test_ties_that_decide_lists_are_named() -> None:
    # All cosines of a model of one dimension are 1 or -1, so every list is a tie.
    flat = [ea.FactorModel.from_vectors(run.right[:, :1]) for run in item_tables()]
    found = ea.stable_neighbours(flat)
    assert found.tied_share == 1
    assert "In 100 % of the first run's lists, the last neighbour ties" in (
        found.explain()
    )
    assert "ties" not in ea.stable_neighbours(noisy_runs()).explain()


def test_shares_of_a_sentence_have_equal_decimals() -> None:
    draw = np.random.default_rng(0)
    rows = draw.standard_normal((900, 8))
    runs = [
        ea.FactorModel.from_vectors(rows + 0.7 * draw.standard_normal(rows.shape))
        for _ in range(3)
    ]
    found = ea.stable_neighbours(runs, n_lists=200)
    low, high = found.interval
    assert low < 0.01 < high
    shown = f"{found.stable_share:.1%} ({low:.1%} to {high:.1%})".replace("%", " %")
    assert shown in found.explain()


def test_a_list_of_one_neighbour_is_written_in_the_singular() -> None:
    text = ea.stable_neighbours(noisy_runs(2), n_neighbours=1).explain()
    assert text.startswith("Both runs list ")
    assert "of the first run's nearest item by prediction cosine" in text


# Bad input


@pytest.mark.parametrize(
    ("runs", "sentence"),
    [
        (noisy_runs(1), "runs must be two or more models; got 1"),
        ([], "runs must be two or more models; got 0"),
        ("model.npz", "runs must be a list, such as"),
        (
            [*noisy_runs(2), ea.FactorModel.from_vectors(ITEMS)],
            "run 3 must be a model of users and items, like run 1; got a model of "
            "items;",
        ),
        (
            [*noisy_runs(2), ea.FactorModel.from_user_item(USERS, ITEMS)],
            "user ids must be in both models or in neither;",
        ),
        (
            [*noisy_runs(2), noisy_runs(1)[0].replace(right_ids=np.arange(500, 530))],
            "The first model is run 1 and the second model is run 3.",
        ),
        (
            [*noisy_runs(2), noisy_runs(1)[0].replace(left=np.zeros((N_USERS, 4)))],
            "the scores of run 3 must be not all 0; got scores that are all 0",
        ),
        (
            [
                run.take(right=np.arange(10 * place, 10 * place + 10))
                for place, run in enumerate(noisy_runs(3))
            ],
            "The first model is run 1 and the second model is run 2.",
        ),
    ],
)
def test_runs_that_cannot_be_compared_are_refused(runs: Any, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        ea.stable_neighbours(runs)
    assert sentence in str(caught.value)


def test_runs_that_share_few_rows_together_are_refused() -> None:
    runs = noisy_runs()
    runs[1] = runs[1].take(right=np.arange(16))
    runs[2] = runs[2].take(right=np.arange(14, 30))
    with pytest.raises(InputError) as caught:
        ea.stable_neighbours(runs)
    assert str(caught.value) == (
        "the number of items in all runs must be at least 8; got 2; compare runs of "
        "the same data."
    )


@pytest.mark.parametrize("n_lists", [0, 1.5])
def test_a_number_of_lists_that_is_none_is_refused(n_lists: Any) -> None:
    with pytest.raises(InputError, match="n_lists"):
        ea.stable_neighbours(noisy_runs(), n_lists=n_lists)
