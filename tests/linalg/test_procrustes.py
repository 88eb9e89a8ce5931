"""The best rotation between two sets of rows, and selections of rows by number."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import orthogonal_procrustes

from embaudit.linalg.moments import moments
from embaudit.linalg.procrustes import best_rotation
from embaudit.linalg.taken import TakenRows


@given(seed=st.integers(0, 2**32 - 1), k=st.integers(1, 6))
def test_the_rotation_is_that_of_scipy(seed, k):
    draw = np.random.default_rng(seed)
    x, y = draw.standard_normal((2, 20, k))
    expected, _ = orthogonal_procrustes(x, y)
    np.testing.assert_allclose(best_rotation(x.T @ y, k, k), expected, atol=1e-9)


@pytest.mark.parametrize(("n", "m"), [(2, 4), (4, 2), (3, 3)])
def test_every_source_direction_has_an_image_at_right_angles_to_the_others(n, m):
    draw = np.random.default_rng(0)
    rotation = best_rotation(draw.standard_normal((n, m)), 5, 7)
    assert rotation.shape == (5, 7)
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(5), atol=1e-14)


@pytest.mark.parametrize(("n", "m"), [(2, 4), (4, 2)])
def test_no_other_rotation_is_nearer_if_the_widths_differ(n, m):
    """The trace is at most the sum of the singular values (von Neumann)."""
    cross = np.random.default_rng(1).standard_normal((n, m))
    rotation = best_rotation(cross, 5, 7)[:n, :m]
    reached = np.vdot(rotation, cross)
    assert reached == pytest.approx(np.linalg.svd(cross, compute_uv=False).sum())


def test_a_direction_without_counterpart_goes_to_an_unused_column_first():
    """Two sources meet one target; the second goes to the column after the leading."""
    cross = np.array([[2.0], [0.0]])
    rotation = best_rotation(cross, 2, 3)
    expected = [[1, 0, 0], [0, 1, 0]]
    np.testing.assert_allclose(np.abs(rotation), expected, atol=1e-15)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_moments_of_taken_rows_are_those_of_a_copy(dtype):
    x = np.random.default_rng(2).standard_normal((300, 4)).astype(dtype)
    numbers = np.random.default_rng(3).permutation(300)[:200]
    found, expected = moments(TakenRows(x, numbers)), moments(x[numbers])
    np.testing.assert_array_equal(found.root, expected.root)
    np.testing.assert_array_equal(found.mean, expected.mean)
