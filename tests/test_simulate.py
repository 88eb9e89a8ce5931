"""Simulated data follow the documented distribution, for both ways to draw items."""

from __future__ import annotations

import itertools
import tracemalloc

import numpy as np
import pytest
from scipy import integrate, stats

from embaudit.errors import InputError
from embaudit.simulate import SimulatedInteractions, simulate_interactions


def probabilities_of_sets(
    data: SimulatedInteractions, k: int, *, with_preferences: bool = True
) -> dict[tuple[int, ...], float]:
    """Mean over users of the probability of each set of `k` items.

    A user draws items one after the other without replacement, with weights that are
    the popularity of an item times the user's preference for its cluster.
    """
    weights = np.tile(data.popularity, (len(data.preferences), 1))
    if with_preferences:
        weights = weights * data.preferences[:, data.clusters]
    n_items = weights.shape[1]
    totals: dict[tuple[int, ...], float] = {}
    for order in itertools.permutations(range(n_items), k - 1):
        left, probability = weights.sum(axis=1), np.ones(len(weights))
        for item in order:
            probability = probability * weights[:, item] / left
            left = left - weights[:, item]
        last = (probability / left) @ weights / len(weights)
        for item in set(range(n_items)) - set(order):
            key = tuple(sorted((*order, item)))
            totals[key] = totals.get(key, 0.0) + float(last[item])
    return totals


def p_value(data: SimulatedInteractions, k: int, **options: bool) -> float:
    """The p-value of a chi-square test of the sets drawn; rare sets are counted
    together.
    """
    n = len(data.preferences)
    keys, counts = np.unique(
        data.matrix.indices.reshape(n, k), axis=0, return_counts=True
    )
    drawn = dict(zip(map(tuple, keys.tolist()), counts.tolist(), strict=True))
    expected = {
        key: n * value
        for key, value in probabilities_of_sets(data, k, **options).items()
    }
    assert drawn.keys() <= expected.keys()
    often = [key for key, value in expected.items() if value >= 10]
    observed = [drawn.get(key, 0) for key in often]
    wanted = [expected[key] for key in often]
    if len(often) < len(expected):
        observed.append(n - sum(observed))
        wanted.append(n - sum(wanted))
    return float(stats.chisquare(observed, wanted).pvalue)


# Few of many items are drawn one by one and repeats are dropped; others are drawn by a
# race.
@pytest.mark.parametrize(
    ("n_items", "k"), [(5, 1), (5, 2), (5, 3), (16, 1), (16, 2), (24, 3)]
)
def test_every_set_of_items_has_the_probability_of_sequential_draws(n_items, k):
    data = simulate_interactions(
        10_000, n_items, 3, min_items=k, max_items=k, concentration=0.5, rng=5
    )
    assert p_value(data, k) > 1e-3


def test_drawing_without_preferences_would_be_noticed():
    data = simulate_interactions(
        10_000, 5, 3, min_items=2, max_items=2, concentration=0.5, rng=5
    )
    assert p_value(data, 2, with_preferences=False) < 1e-12


def test_all_items_are_drawn_if_a_user_takes_as_many():
    n_users, n_items = 50, 5
    data = simulate_interactions(
        n_users, n_items, 2, min_items=n_items, max_items=n_items
    )
    drawn = data.matrix.toarray() > 0
    assert drawn.shape == (n_users, n_items)
    assert drawn.all()


def test_shapes_and_truth():
    data = simulate_interactions(500, 60, 4, rng=3)
    assert data.matrix.shape == (500, 60)
    assert data.matrix.dtype == np.float64
    assert set(data.matrix.data) == {1.0}
    assert data.matrix.has_canonical_format
    assert data.clusters.shape == data.popularity.shape == (60,)
    assert data.exponents.shape == (4,)
    np.testing.assert_allclose(data.preferences.sum(axis=1), 1)
    per_user = np.diff(data.matrix.indptr)
    assert per_user.min() >= 1
    assert per_user.max() <= 60
    assert not data.popularity.flags.writeable
    assert data.seed == 3


def test_same_seed_same_data_other_seed_other_data():
    first, again, other = (
        simulate_interactions(200, 80, 3, rng=seed) for seed in (7, 7, 8)
    )
    np.testing.assert_array_equal(first.matrix.indices, again.matrix.indices)
    np.testing.assert_array_equal(first.preferences, again.preferences)
    assert first.matrix.indices.tolist() != other.matrix.indices.tolist()
    generator = simulate_interactions(200, 80, 3, rng=np.random.default_rng(7))
    np.testing.assert_array_equal(first.matrix.indices, generator.matrix.indices)
    assert generator.seed is None


def test_zipf_popularity_is_rank_to_the_minus_exponent_in_every_cluster():
    data = simulate_interactions(5, 200, 3, rng=2)
    for cluster, exponent in enumerate(data.exponents):
        popularity = np.sort(data.popularity[data.clusters == cluster])[::-1]
        law = np.arange(1, len(popularity) + 1) ** -exponent
        np.testing.assert_allclose(popularity, law / law.sum())
    assert ((data.exponents >= 0.25) & (data.exponents <= 1.5)).all()


@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0, 1.0 + 1e-6, 1.5])
def test_density_popularity_is_drawn_from_a_truncated_power_law(exponent):
    """The law is x^-exponent on [1/n_items, 1]; then popularities are divided by their
    sum.
    """
    n = 5_000
    data = simulate_interactions(
        5, n, 1, popularity_law="density", exponent_range=(exponent, exponent)
    )
    total = integrate.quad(lambda t: t**-exponent, 1 / n, 1)[0]

    def distribution(x):
        if abs(exponent - 1) < 1e-9:
            return np.log(x * n) / total
        end = (1 / n) ** (1 - exponent)
        return (x ** (1 - exponent) - end) / (1 - exponent) / total

    # The scale by which popularities were divided is that of the largest draw, near 1.
    mean = integrate.quad(lambda t: t ** (1 - exponent), 1 / n, 1)[0] / total
    draws = np.clip(data.popularity / data.popularity.mean() * mean, 1 / n, 1)
    assert stats.kstest(draws, distribution).pvalue > 1e-3


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"n_users": 0}, "n_users must be an integer from 1"),
        ({"n_items": -1}, "n_items must be an integer from 1"),
        ({"n_clusters": 0}, "n_clusters must be an integer from 1"),
        ({"cluster_weights": (1.0, 1.0)}, "must be 5 positive numbers, one for each"),
        ({"cluster_weights": (1.0, 1.0, 1.0, 1.0, 0.0)}, "must be 5 positive numbers"),
        ({"exponent_range": (1.5, 0.25)}, "two numbers with 0 <= low <= high"),
        ({"exponent_range": (-0.1, 1.0)}, "two numbers with 0 <= low <= high"),
        ({"popularity_law": "pareto"}, "must be one of zipf, density; got 'pareto'"),
        ({"concentration": 0.0}, "concentration must be a number > 0; got 0.0"),
        ({"concentration": float("nan")}, "concentration must be a number > 0"),
        ({"activity_exponent": -1.0}, "activity_exponent must be a number >= 0"),
        ({"min_items": 0}, r"min_items must be a whole number in 1..100"),
        ({"max_items": 101}, r"max_items must be a whole number in 1..100"),
        ({"min_items": 5, "max_items": 4}, r"max_items must be .* in 5..100"),
    ],
)
def test_simulate_interactions_refuses(options, sentence):
    with pytest.raises(InputError, match=sentence):
        simulate_interactions(**{"n_users": 50, "n_items": 100, **options})


@pytest.mark.parametrize(("max_items", "budget"), [(40, 20e6), (2_000, 60e6)])
def test_memory_stays_bounded(max_items, budget):
    """Beyond the result, memory does not grow with users × items (2,000 × 20,000
    doubles are 320 MB).
    """
    simulate_interactions(10, 10, 2)
    tracemalloc.start()
    data = simulate_interactions(2_000, 20_000, max_items=max_items, rng=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak - 12 * data.matrix.nnz < budget
