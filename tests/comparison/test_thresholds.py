"""Thresholds that keep as many pairs in the second model as in the first."""

from __future__ import annotations

import numpy as np
import pytest

import embaudit as ea


def carried(before, after):
    models = (ea.FactorModel.from_vectors(rows) for rows in (before, after))
    return ea.compare(*models).changes["right"].thresholds


def cosines(rows):
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return (unit @ unit.T)[np.triu_indices(len(rows), 1)]


def test_a_carried_threshold_keeps_the_number_of_pairs_that_numpy_counts():
    draw = np.random.default_rng(0)
    before = draw.standard_normal((300, 4))
    after = before**3
    found = carried(before, after)
    assert [one.before for one in found] == [i / 20 for i in range(10, 20)]
    for one in found:
        n_before = (cosines(before) >= one.before).sum()
        assert one.n_pairs == 300 * 299 / 2
        assert one.share == n_before / one.n_pairs
        assert (cosines(after) > one.after).sum() == n_before
        assert one.low == one.after == one.high


def test_tails_of_fifty_million_pairs_are_counted():
    """Of 10,000 rows in 2 dimensions at angles of 2π i / 10,000.

    Row i lies within an angle α of 2 ⌊10,000 α / 2π⌋ others. cos α = 0.95 at 505.4
    steps, so 10,000 · 505 of 49,995,000 pairs lie above. If all angles are halved, the
    rows cover half a circle, and a pair d steps apart has the cosine cos(π d / 10,000).
    There are 10,000 − d such pairs, and Σ (10,000 − d) for d = 1 to 519 is 5,055,060,
    for d = 1 to 518 it is 5,045,579. No number of steps gives 5,050,000 pairs, and the
    nearest one is off by 0.09 %.
    """
    steps = np.arange(10_000)
    models = [
        np.column_stack([np.cos(turn * steps), np.sin(turn * steps)])
        for turn in (2 * np.pi / 10_000, np.pi / 10_000)
    ]
    last = carried(*models)[-1]
    assert last.n_pairs == 49_995_000
    assert last.share == pytest.approx(5_050_000 / 49_995_000, rel=1e-12)
    assert last.after == pytest.approx(np.cos(518.5 * np.pi / 10_000), abs=2e-4)
    assert last.low == last.after == last.high


def test_of_more_pairs_a_sample_with_its_size_and_an_interval_is_taken():
    """15,000 rows have 112 million pairs. A model keeps its own thresholds."""
    rows = np.random.default_rng(0).standard_normal((15_000, 3))
    found = carried(rows, rows)
    assert len(found) == 10
    for one in found:
        assert one.n_pairs == 200_000
        assert one.low < one.before < one.high
        assert one.high - one.low < 0.02


def test_thresholds_are_carried_over_only_from_twenty_pairs_on():
    rows = np.random.default_rng(2).normal(size=(40, 30))
    assert carried(rows, 2 * rows) == ()
    shares = [one.share for one in carried(rows[:, :4], 2 * rows[:, :4])]
    assert len(shares) > 3
    assert all(20 <= share * 780 <= 760 for share in shares)


def test_no_threshold_parts_pairs_of_equal_cosine():
    """Each row of the second model is one of four, so that a quarter of all cosines is
    1.
    """
    draw = np.random.default_rng(0)
    before, few = draw.normal(size=(400, 3)), draw.normal(size=(4, 5))
    after = few[draw.integers(4, size=400)]
    for one in carried(before, after):
        share_after = (cosines(after) > one.after).mean()
        assert share_after == pytest.approx(one.share, rel=0.01)


def test_rows_without_direction_take_no_part_in_thresholds():
    rows = np.random.default_rng(3).normal(size=(60, 3))
    other = rows**3
    other[:10] = 0
    found = carried(rows, other)
    assert {one.n_pairs for one in found} == {50 * 49 // 2}
    assert [one.share for one in found] == [
        one.share for one in carried(rows[10:], other[10:])
    ]
