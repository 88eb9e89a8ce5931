"""Rows seen through a map, in float64 and in float32, and the largest of what passes by in tiles."""

from __future__ import annotations

import numpy as np

from embaudit.linalg.topk import TopK
from embaudit.linalg.transformed_rows import TransformedRows

X = np.array([[3.0, 4.0], [0.0, 0.0], [-1.0, 0.5]], dtype=np.float32)
LINEAR = np.array([[2.0, 0.0, 1.0], [0.0, 0.5, -1.0]])


def test_seen_rows_are_mapped_and_shifted_whichever_are_taken():
    seen = TransformedRows(X, LINEAR, np.array([1.0, 0.0, -1.0]))
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


def test_tiles_are_merged_with_their_columns():
    best = TopK(2, 2).add(np.array([[1.0, 3.0], [0.0, -np.inf]])).add(np.array([[2.0, 3.0], [-1.0, 5.0]]), 2)
    assert best.columns.tolist() == [[1, 3], [3, 0]]
    assert best.values.tolist() == [[3.0, 3.0], [5.0, 0.0]]
    assert best.threshold.tolist() == [3.0, 0.0]
    nothing = TopK(1, 2).merge(np.array([], dtype=np.intp), np.array([], dtype=np.intp), np.array([]))
    assert nothing.columns.tolist() == [[-1, -1]]
