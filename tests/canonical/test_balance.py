"""The balance laws of weight decay, on trained factors."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from embaudit.canonical.balance import balance, balanced_maps
from embaudit.model import FactorModel


def als(ratings, rank, decay, *, counted, sweeps=4000):
    """Alternating least squares over observed ratings; decay times the number of
    ratings of a row if `counted`."""
    draw = np.random.default_rng(1)
    seen = ~np.isnan(ratings)
    q = draw.standard_normal((ratings.shape[1], rank))
    for _ in range(sweeps):
        p = _solved(ratings, seen, q, decay, counted=counted)
        before, q = q, _solved(ratings.T, seen.T, p, decay, counted=counted)
        if np.abs(q - before).max() < 1e-11:
            break
    return p, q, seen


def _solved(ratings, seen, other, decay, *, counted):
    rows = np.empty((len(ratings), other.shape[1]))
    for i, known in enumerate(seen):
        x = other[known]
        weight = decay * (known.sum() if counted else 1)
        rows[i] = np.linalg.solve(
            x.T @ x + weight * np.eye(x.shape[1]), x.T @ ratings[i, known]
        )
    return rows


@pytest.fixture(scope="module")
def ratings():
    draw = np.random.default_rng(0)
    table = draw.standard_normal((40, 3)) @ draw.standard_normal(
        (3, 25)
    ) + 0.1 * draw.standard_normal((40, 25))
    table[draw.random(table.shape) > np.linspace(0.25, 0.9, 25)] = np.nan
    return table


@pytest.mark.parametrize("counted", [True, False])
def test_each_kind_of_decay_obeys_its_own_law_and_breaks_the_other(ratings, counted):
    p, q, seen = als(ratings, 3, 0.05, counted=counted)
    model = FactorModel.from_user_item(
        p, q, user_counts=seen.sum(axis=1), item_counts=seen.sum(axis=0)
    )
    plain, weighted = (
        balance(p, q).condition_number,
        balanced_maps(model, counted=True).condition_number,
    )
    own, other = (weighted, plain) if counted else (plain, weighted)
    assert own == pytest.approx(1, abs=1e-5)
    assert other > 1.01
    assert balanced_maps(model.replace(right_counts=None), counted=True) is None


def test_the_condition_is_that_of_the_gauge_an_optimiser_finds(ratings):
    draw = np.random.default_rng(2)
    p, q = (
        draw.standard_normal((30, 2)) * [3, 1],
        draw.standard_normal((20, 2)) @ [[1, 0.4], [0, 2]],
    )

    def penalty(entries):
        m = entries.reshape(2, 2)
        return np.sum((p @ m) ** 2) + np.sum((q @ np.linalg.inv(m).T) ** 2)

    m = minimize(
        penalty, np.eye(2).ravel(), method="BFGS", options={"gtol": 1e-9}
    ).x.reshape(2, 2)
    assert balance(p, q).condition_number == pytest.approx(np.linalg.cond(m), rel=1e-6)


@pytest.fixture(scope="module")
def counting(ratings):
    """A converged ALS-WR with the counts it was trained with."""
    p, q, seen = als(ratings, 3, 0.05, counted=True)
    counts = {"user_counts": seen.sum(axis=1), "item_counts": seen.sum(axis=0)}
    return FactorModel.from_user_item(p, q, **counts, objective="factors-counted")


def test_balanced_maps_keep_every_score_and_leave_equal_gram_matrices(counting):
    """A direction that one side lacks has no score, so none is left of it."""
    blind = counting.replace(left=counting.left * [1, 1, 0])
    for model, counted, rank in (
        (counting, False, 3),
        (counting, True, 3),
        (blind, False, 2),
    ):
        maps = balanced_maps(model, counted=counted).linear
        p, q = model.left @ maps["left"], model.right @ maps["right"]
        np.testing.assert_allclose(p @ q.T, model.left @ model.right.T, atol=1e-9)
        weights = (model.left_counts, model.right_counts) if counted else (1.0, 1.0)
        grams = [
            x.T @ (x * np.reshape(w, (-1, 1)))
            for x, w in zip((p, q), weights, strict=True)
        ]
        np.testing.assert_allclose(*grams, atol=1e-9)
        assert p.shape[1] == rank
    assert balanced_maps(counting.replace(left=0 * counting.left)) is None
