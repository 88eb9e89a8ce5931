"""Neighbours that stay in several runs: a law, brute force, a real model, bad input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
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


def noisy_runs(n_runs: int = 3) -> list[ea.FactorModel]:
    draw = np.random.default_rng(1)
    return [
        ea.FactorModel.from_user_item(
            USERS + 0.3 * draw.standard_normal(USERS.shape),
            ITEMS + 0.3 * draw.standard_normal(ITEMS.shape),
            user_ids=np.arange(N_USERS),
            item_ids=np.arange(100, 100 + N_ITEMS),
        )
        for _ in range(n_runs)
    ]


def cosines_of(rows: np.ndarray) -> np.ndarray:
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit @ unit.T


def brute_force(cosines: list[np.ndarray], n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the lists of the first run, and how many runs list each entry."""
    listed = []
    for matrix in cosines:
        hidden = matrix - 3 * np.eye(len(matrix))
        listed.append(np.argsort(-hidden, axis=1)[:, :n])
    n_listing = np.array(
        [
            [sum(other in lists[row] for lists in listed) for other in listed[0][row]]
            for row in range(len(listed[0]))
        ]
    )
    return listed[0], n_listing


@pytest.mark.parametrize("n_runs", [2, 3, 5])
def test_lists_and_counts_equal_brute_force_on_the_scores(n_runs: int) -> None:
    runs = noisy_runs(n_runs)
    cosines = [cosines_of(run.scores().T) for run in runs]
    lists, n_listing = brute_force(cosines, 5)
    found = ea.stable_neighbours(runs, n_neighbours=5)
    np.testing.assert_array_equal(found.indices, lists)
    np.testing.assert_array_equal(found.n_listing, n_listing)
    assert found.stable_share == pytest.approx((n_listing == n_runs).mean())
    assert 0 < found.stable_share < 1
    entries = np.array([np.take_along_axis(one, lists, 1) for one in cosines])
    np.testing.assert_allclose(found.mean_cosines, entries.mean(axis=0))
    np.testing.assert_allclose(
        found.cosine_deviations, entries.std(axis=0, ddof=1), atol=1e-12
    )


def test_lists_of_one_table_are_those_by_the_cosine_of_its_rows() -> None:
    rows = [run.right for run in noisy_runs()]
    lists, n_listing = brute_force([cosines_of(one) for one in rows], 5)
    models = [ea.FactorModel.from_vectors(one) for one in rows]
    found = ea.stable_neighbours(models, n_neighbours=5)
    assert found.similarity == "cosine"
    np.testing.assert_array_equal(found.indices, lists)
    np.testing.assert_array_equal(found.n_listing, n_listing)


@pytest.mark.parametrize("role", ["left", "right"])
def test_all_neighbours_of_gauged_copies_are_stable(role: Any) -> None:
    model = noisy_runs(1)[0]
    group = GeneralLinear(4, max_condition=10.0)
    copies = [group.sample(rng=seed).act(model) for seed in range(3)]
    found = ea.stable_neighbours([model, *copies], role=role)
    assert found.stable_share == 1
    assert found.cosine_deviations.max() < 1e-9
    by_cosine = ea.stable_neighbours(
        [ea.FactorModel.from_vectors(one.side(role).rows) for one in (model, *copies)]
    )
    assert by_cosine.stable_share < 1


def test_a_run_whose_rows_have_collapsed_lists_no_neighbour() -> None:
    runs = noisy_runs(3)
    runs[2] = runs[2].replace(right=np.ones((N_ITEMS, 4)))
    assert ea.stable_neighbours(runs, n_neighbours=3).stable_share == 0


def test_rows_are_matched_by_ids_over_all_runs() -> None:
    runs = noisy_runs()
    order = np.random.default_rng(2).permutation(N_ITEMS)
    mixed = [runs[0], runs[1].take(right=order), runs[2]]
    same = ea.stable_neighbours(runs, n_neighbours=4).to_frame()
    pd.testing.assert_frame_equal(
        ea.stable_neighbours(mixed, n_neighbours=4).to_frame(), same
    )
    fewer = [runs[0].take(right=np.arange(2, 30)), runs[1], runs[2]]
    fewer[2] = runs[2].take(right=np.arange(28))
    found = ea.stable_neighbours(fewer, n_neighbours=4)
    assert found.n_shared == 26
    assert set(found.to_frame()["id"]) == set(range(102, 128))


def test_shares_by_popularity_are_means_over_thirds() -> None:
    counts = np.arange(N_ITEMS) // 2 + 1
    runs = [run.replace(right_counts=counts) for run in noisy_runs()]
    found = ea.stable_neighbours(runs, n_neighbours=4)
    records = found.by_count()
    assert [record["third"] for record in records] == ["few", "some", "many"]
    for record in records:
        is_member = (counts >= record["least"]) & (counts <= record["most"])
        assert record["n_lists"] == np.count_nonzero(is_member)
        expected = (found.n_listing[is_member] == 3).mean()
        assert record["stable_share"] == pytest.approx(expected)
    assert ea.stable_neighbours(noisy_runs()).by_count() == []


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
    _, n_listing = brute_force(cosines, 10)
    np.testing.assert_array_equal(found.n_listing, n_listing)
    assert 0 < found.stable_share < 1


@pytest.mark.parametrize(
    ("runs", "sentence"),
    [
        (noisy_runs(1), "runs must be two or more models; got 1"),
        ("model.npz", "runs must be a list, such as"),
        (
            [*noisy_runs(2), ea.FactorModel.from_vectors(ITEMS)],
            "every run must be a model of users and items, as the first one is; got",
        ),
        (
            [*noisy_runs(2), ea.FactorModel.from_user_item(USERS, ITEMS)],
            "runs 1 and 3: ",
        ),
        (
            [*noisy_runs(2), noisy_runs(1)[0].replace(left=np.zeros((N_USERS, 4)))],
            "the scores of run 3 must be not all 0; got zeros",
        ),
    ],
)
def test_runs_that_cannot_be_compared_are_refused(runs: Any, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        ea.stable_neighbours(runs)
    assert str(caught.value).startswith(sentence)
