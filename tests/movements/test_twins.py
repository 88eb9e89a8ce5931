"""Twins (duplicate rows) against all pairs, and the confidence interval of a sample."""

from __future__ import annotations

import numpy as np
import pytest

import embaudit as ea
from embaudit.model import FactorModel
from embaudit.movements import twins


def crowded(seed=0, n=90, k=5):
    """Rows around a few directions: copies, near copies, and rows in between."""
    draw = np.random.default_rng(seed)
    rows = draw.standard_normal((9, k))[draw.integers(9, size=n)]
    return np.vstack(
        [
            rows + 0.012 * draw.standard_normal((n, k)),
            draw.standard_normal((20, k)),
            rows[:6],
            rows[:6] * 3,
        ]
    )


def brute_force(x, tolerance):
    """Return which pairs are near, and the first row of the group of each row."""
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    near = unit @ unit.T > 1 - tolerance
    np.fill_diagonal(near, val=False)
    first = np.full(len(x), -1)
    for row in range(len(x)):
        if first[row] < 0:
            first[(first < 0) & near[row]] = row
            first[row] = row
    return near, first


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("tolerance", [1e-2, 1e-4, 1e-5])
class TestAgainstAllPairs:
    """Every number against a search of all pairs."""

    @pytest.fixture
    def rows(self, seed):
        return crowded(seed)

    @pytest.fixture
    def found(self, rows, tolerance):
        return twins(FactorModel.from_vectors(rows), tolerance=tolerance)

    def test_pairs_of_twins_have_a_cosine_above_one_less_the_tolerance(
        self, rows, found, tolerance
    ):
        near, _ = brute_force(rows, tolerance)
        assert found.exact
        assert found.n_rows == len(rows)
        assert found.n_pairs == near.sum() // 2 > 10

    def test_share_is_that_of_rows_with_a_twin(self, rows, found, tolerance):
        near, _ = brute_force(rows, tolerance)
        has_twin = near.any(axis=1)
        assert (~found.alone).tolist() == has_twin.tolist()
        assert found.share == found.ci_low == found.ci_high == has_twin.mean()

    def test_a_group_is_a_first_row_with_its_twins(self, rows, found, tolerance):
        near, first = brute_force(rows, tolerance)
        assert found.first.tolist() == first.tolist()
        assert found.n_groups == len(set(first[near.any(axis=1)]))
        assert found.largest == np.bincount(first).max()

    def test_copies_are_the_other_rows_that_a_row_stands_for(
        self, rows, found, tolerance
    ):
        _, first = brute_force(rows, tolerance)
        counts = [max(first.tolist().count(row) - 1, 0) for row in range(len(rows))]
        assert found.copies.tolist() == counts


def pair(cosine):
    return FactorModel.from_vectors(
        [[1.0, 0.0], [cosine, np.sqrt(1 - cosine**2)], [0.0, 1.0]]
    )


def test_twins_have_a_cosine_above_one_less_the_tolerance():
    assert twins(pair(1 - 0.99e-4), tolerance=1e-4).n_pairs == 1
    assert twins(pair(1 - 1.01e-4), tolerance=1e-4).n_pairs == 0
    assert twins(pair(0.91), tolerance=0.1).n_pairs == 1
    assert twins(pair(0.89), tolerance=0.1).n_pairs == 0
    assert twins(pair(1 - 1e-9), tolerance=0).n_pairs == 0


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_distinct_rows_in_few_dimensions_have_no_copies(dtype):
    """Nearly all of these rows have another row within 1e-4, by density alone."""
    x = np.random.default_rng(0).standard_normal((43_234, 4)).astype(dtype)
    found = twins(FactorModel.from_vectors(x))
    assert found.exact
    assert found.share < 5e-4
    assert dtype is np.float16 or found.n_pairs == 0
    plane = x[:2_000, :2]
    unit = plane / np.linalg.norm(plane.astype(np.float64), axis=1, keepdims=True)
    gaps = np.diff(np.sort(np.arctan2(*unit.T)))
    spacing = float(np.finfo(dtype).eps)
    assert twins(FactorModel.from_vectors(plane)).n_pairs >= (gaps < spacing / 2).sum()
    assert dtype is np.float16 or twins(FactorModel.from_vectors(plane)).share < 0.01, (
        "gaps are 2e-3 in the median"
    )
    some = twins(FactorModel.from_vectors(x[:9_000]), tolerance=1e-4)
    assert some.share > 0.004


def crowd_and_others(n_crowded=2_400, n_alone=3_600):
    """Rows within a cosine of 1 - 1e-4 of each other, and rows far from all others.

    The crowd has more near pairs than the search of all pairs takes, so that the share
    of rows with a twin comes from a sample.
    """
    draw = np.random.default_rng(0)
    crowd = np.ones(8) + 1e-3 * draw.standard_normal((n_crowded, 8))
    return FactorModel.from_vectors(
        np.vstack([crowd, draw.standard_normal((n_alone, 8))])
    )


def test_the_interval_of_a_sampled_share_holds_at_its_rate():
    model = crowd_and_others()
    found = [twins(model, tolerance=1e-4, rng=seed) for seed in range(50)]
    assert not any(one.exact for one in found)
    assert sum(one.ci_low <= 0.4 <= one.ci_high for one in found) >= 45
    # 400 rows are looked up: the interval of a share of 0.4 is 2 * 1.96 * 0.0245 wide.
    widths = [one.ci_high - one.ci_low for one in found]
    assert np.mean(widths) == pytest.approx(0.096, abs=0.002)
    assert np.mean([one.share for one in found]) == pytest.approx(0.4, abs=0.01)


def test_a_sampled_share_is_said_to_come_from_a_sample():
    text = twins(crowd_and_others(), tolerance=1e-4).explain()
    assert text.endswith(
        "of 6,000 item rows have a duplicate (cosine above 1−0.0001), "
        "by a sample of 400."
    )


def test_rows_scaled_by_a_number_are_copies():
    x = np.random.default_rng(0).standard_normal((240, 8))
    model = FactorModel.from_vectors(np.vstack([x, 3 * x[:60]]).astype(np.float16))
    found = twins(model)
    assert found.exact
    assert (found.n_pairs, found.n_groups, found.largest) == (60, 60, 2)
    assert found.share == pytest.approx(120 / 300)


def test_tokens_that_were_never_trained_are_near_each_other_but_no_copies(shared_data):
    head = ea.load(shared_data("lm-stories260K"))
    found = twins(head)
    # Tokens that training never saw are 2.5e-4 apart: near, but more than the rounding
    # of float32.
    assert (found.n_pairs, found.share, found.exact) == (0, 0, True)
    near = twins(head, tolerance=1e-4)
    assert (near.n_pairs, near.n_groups, near.largest, near.share) == (
        17_519,
        11,
        186,
        221 / 512,
    )
