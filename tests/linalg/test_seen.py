"""Rows seen through a map, in float64 and in float32, and the largest of what passes by in tiles."""

from __future__ import annotations

import numpy as np
import pytest

from embaudit.linalg.largest import Largest
from embaudit.linalg.seen import Mapped, Seen, single

X = np.array([[3.0, 4.0], [0.0, 0.0], [-1.0, 0.5]], dtype=np.float32)
LINEAR = np.array([[2.0, 0.0, 1.0], [0.0, 0.5, -1.0]])


def test_seen_rows_are_mapped_and_shifted_whichever_are_taken():
    seen = Seen(X, LINEAR, np.array([1.0, 0.0, -1.0]))
    wanted = X.astype(float) @ LINEAR + [1, 0, -1]
    assert (seen.shape, len(seen), seen.dtype) == ((3, 3), 3, np.float32)
    np.testing.assert_array_equal(seen[1:], wanted[1:])
    np.testing.assert_array_equal(seen[np.array([2, 0])], wanted[[2, 0]])
    block, grown = seen.single(slice(0, 3))
    assert block.dtype == np.float32
    np.testing.assert_allclose(block, wanted, rtol=1e-6)
    # ‖x‖ ‖M‖ + ‖shift‖ over what came out; lengths in float32 are told with what these may be off.
    size = np.linalg.norm(LINEAR)
    added = np.array([5.0, 0.0, np.sqrt(1.25)]) * (1 + 2.0**-10) * size + np.sqrt(2)
    np.testing.assert_allclose(grown, added / np.linalg.norm(wanted, axis=1), rtol=1e-6)


@pytest.mark.parametrize("shift", [[0.0, 0.0], [0.0, 1.0]])
def test_without_a_shift_rounding_grows_by_the_stretch_of_the_map_at_most(shift):
    linear = np.diag([3.0, 4.0])
    seen = Seen(X, linear, np.array(shift))
    block, grown = single(seen, slice(0, 3))
    np.testing.assert_allclose(block, X @ linear + shift, rtol=1e-6)
    if any(shift):
        np.testing.assert_allclose(grown[1], 1.0, rtol=1e-6)
        assert len(set(grown.round(6))) == 3
    else:
        np.testing.assert_allclose(grown, [5 / 3] * 3)


@pytest.mark.parametrize("size", [1e-14, 1e-16, 1e-30, 3.0])
def test_what_was_added_up_is_known_of_rows_whose_squares_vanish_in_float32(size):
    x = np.array([[3.0, 4.0]], dtype=np.float32) * np.float32(size)
    seen = Seen(x, np.diag([1e16, 0.0]), np.array([0.0, 1.0]))
    grown = float(single(seen, slice(0, 1))[1][0])
    needed = (5e16 * size + 1) / np.hypot(3e16 * size, 1)
    assert needed * (1 - 1e-5) <= grown <= needed * (1 + 2e-3)


def test_mapped_rows_are_copies_in_float64():
    mapped = Mapped(X, lambda block: np.multiply(block, 2, out=block)[:, :1], 1)
    assert (mapped.shape, len(mapped), mapped.dtype) == ((3, 1), 3, np.float32)
    assert mapped[:2].tolist() == [[6.0], [0.0]]
    assert mapped[:2].dtype == np.float64
    assert X[0, 0] == 3.0


def test_tiles_are_merged_with_their_columns():
    best = Largest(2, 2).add(np.array([[1.0, 3.0], [0.0, -np.inf]])).add(np.array([[2.0, 3.0], [-1.0, 5.0]]), 2)
    assert best.columns.tolist() == [[1, 3], [3, 0]]
    assert best.values.tolist() == [[3.0, 3.0], [5.0, 0.0]]
    assert best.bar.tolist() == [3.0, 0.0]
    nothing = Largest(1, 2).merge(np.array([], dtype=np.intp), np.array([], dtype=np.intp), np.array([]))
    assert nothing.columns.tolist() == [[-1, -1]]
