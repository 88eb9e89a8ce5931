"""Alignment of second moments: its distribution over random rotations, and its value
for rows of one space.
"""

from __future__ import annotations

import numpy as np
import pytest

from embaudit.linalg.alignment import BlockMoments, alignment


def rotation(n_columns, rng):
    """Draw from the Haar measure:

    QR of a normal matrix, with signs that make the factorisation unique.
    """
    q, r = np.linalg.qr(rng.normal(size=(n_columns, n_columns)))
    return q * np.sign(np.diag(r))


def test_under_random_rotations_the_mean_is_1_and_the_deviation_that_of_the_formula():
    rng = np.random.default_rng(0)
    first, second = (
        np.diag([5.0, 3.0, 1.0, 0.5, 0.1]),
        np.diag([4.0, 1.0, 1.0, 1.0, 0.0]),
    )
    stated = alignment(first, second).deviation
    values = []
    for _ in range(20_000):
        q = rotation(5, rng)
        values.append(alignment(first, q @ second @ q.T).value)
    # The standard error of the mean is sd/√n, and that of the standard deviation is
    # near sd/√(2n).
    assert np.mean(values) == pytest.approx(1, abs=4 * stated / np.sqrt(20_000))
    assert np.std(values) == pytest.approx(stated, rel=0.03)


def test_a_moment_aligns_with_itself_by_the_dimensions_per_effective_rank():
    # The effective rank of (2, 1, 1) is 16/6, so a = 3 · 6/16.
    moment = np.diag([2.0, 1.0, 1.0])
    assert alignment(moment, moment).value == pytest.approx(3 * 6 / 16)
    rows = np.diag(np.sqrt([2.0, 1.0, 1.0]))
    assert BlockMoments.from_blocks([rows]).effective_rank(np.array([0])) == (
        pytest.approx(16 / 6)
    )


def test_scale_does_not_count():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(7, 4)), rng.normal(size=(9, 4))
    plain = alignment(x.T @ x, y.T @ y)
    scaled = alignment(1e9 * x.T @ x, 1e-9 * y.T @ y)
    assert scaled.value == pytest.approx(plain.value)
    assert scaled.z == pytest.approx(plain.z)


@pytest.mark.parametrize("moment", [np.eye(3), np.zeros((3, 3))])
def test_a_moment_without_preferred_axes_decides_nothing(moment):
    assert alignment(moment, np.diag([1.0, 0.0, 0.0])).z == 0


# 3,000 columns: the moments of 4 blocks take more than the memory for them.
@pytest.mark.parametrize("n_columns", [6, 3_000])
def test_pooled_blocks_align_as_the_moments_of_all_their_rows_do(n_columns):
    rng = np.random.default_rng(2)
    blocks = [rng.normal(size=(n, n_columns)) for n in (5, 8, 6, 9)]
    first, second = np.vstack(blocks[:2]), np.vstack(blocks[2:])
    pooled = BlockMoments.from_blocks(blocks).alignment(
        np.array([0, 1]), np.array([2, 3])
    )
    whole = alignment(first.T @ first, second.T @ second)
    assert pooled.value == pytest.approx(whole.value)
    assert pooled.deviation == pytest.approx(whole.deviation)
