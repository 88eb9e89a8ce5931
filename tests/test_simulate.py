"""The simulated data has the law its recipe states, whichever of the two ways a user's items were drawn."""

from __future__ import annotations

import itertools
import tracemalloc

import numpy as np
import pytest
from scipy import integrate, stats

import embaudit.simulate as simulate
from embaudit.errors import InputError
from embaudit.simulate import simulate_interactions

POPULARITY = np.array([1.0, 0.6, 0.3, 2.0, 0.5])
CLUSTERS = np.array([0, 1, 0, 1, 2])
PREFERENCE = np.array([0.5, 0.2, 0.3])


def sequential_probabilities(
    weights: np.ndarray, k: int
) -> dict[tuple[int, ...], float]:
    """Probability of every set of `k` items drawn one after the other without replacement, by enumeration."""
    total: dict[tuple[int, ...], float] = {}
    for order in itertools.permutations(range(len(weights)), k):
        left, probability = weights.sum(), 1.0
        for item in order:
            probability *= weights[item] / left
            left -= weights[item]
        key = tuple(sorted(order))
        total[key] = total.get(key, 0.0) + probability
    return total


def drawn_sets(
    k: int, n: int, *, dense_share: float, rounds: int, monkeypatch: pytest.MonkeyPatch
) -> np.ndarray:
    monkeypatch.setattr(simulate, "_DENSE_SHARE", dense_share)
    monkeypatch.setattr(simulate, "_ROUNDS", rounds)
    sampler = simulate._Sampler(CLUSTERS, POPULARITY, 3)
    logs = np.tile(np.log(PREFERENCE), (n, 1))
    matrix = simulate._draw_rows(np.random.default_rng(5), sampler, logs, np.full(n, k))
    return matrix.indices.reshape(n, k)


@pytest.mark.parametrize(
    ("dense_share", "rounds"),
    [(8, 3), (0.1, 1), (0.1, 20)],
    ids=["race", "both", "repeats"],
)
@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_every_set_of_items_has_the_probability_of_sequential_draws(
    k, dense_share, rounds, monkeypatch
):
    n = 30_000
    expected = sequential_probabilities(PREFERENCE[CLUSTERS] * POPULARITY, k)
    sets = drawn_sets(
        k, n, dense_share=dense_share, rounds=rounds, monkeypatch=monkeypatch
    )
    keys, counts = np.unique(sets, axis=0, return_counts=True)
    observed = dict(zip(map(tuple, keys.tolist()), counts.tolist(), strict=True))
    assert observed.keys() <= expected.keys()
    if len(expected) > 1:
        f_obs = [observed.get(key, 0) for key in expected]
        assert stats.chisquare(f_obs, [n * v for v in expected.values()]).pvalue > 1e-3


def test_the_chi_square_test_notices_a_wrong_law(monkeypatch):
    """Drawing by weights without the preferences is rejected, so the test above can fail."""
    sets = drawn_sets(2, 30_000, dense_share=8, rounds=3, monkeypatch=monkeypatch)
    wrong = sequential_probabilities(POPULARITY, 2)
    f_obs = [int((sets == key).all(axis=1).sum()) for key in wrong]
    assert stats.chisquare(f_obs, [30_000 * v for v in wrong.values()]).pvalue < 1e-12


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
def test_density_popularity_inverts_the_distribution_of_a_truncated_power_law(exponent):
    uniform = np.linspace(0, 1, 11)
    x = simulate._power_density(uniform, exponent, 0.01)
    total = integrate.quad(lambda t: t**-exponent, 0.01, 1)[0]
    below = [
        integrate.quad(lambda t: t**-exponent, 0.01, edge)[0] / total for edge in x
    ]
    np.testing.assert_allclose(below, uniform, atol=1e-8)


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
    """Beyond the result, memory does not grow with users × items (2,000 × 20,000 doubles are 320 MB)."""
    simulate_interactions(10, 10, 2)
    tracemalloc.start()
    data = simulate_interactions(2_000, 20_000, max_items=max_items, rng=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak - 12 * data.matrix.nnz < budget
