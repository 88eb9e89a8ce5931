"""Rows seen through a map, in float64 and in float32, and the largest of what passes by in tiles."""

from __future__ import annotations

import numpy as np
import pytest

from embaudit.kernels import largest, nearest
from embaudit.kernels.largest import Largest, hits
from embaudit.kernels.nearest import neighbours, tie_of
from embaudit.kernels.passes import cached_blocks, in_order
from embaudit.kernels.ranks import area_under_curve
from embaudit.kernels.rows import row_norms, unit_rows
from embaudit.kernels.seen import LONGER, Mapped, Seen, lengths, single

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


def test_a_map_that_loses_directions_is_looked_at_row_by_row():
    flat = Seen(np.array([[3.0, 4.0], [0.0, 2.0], [0.0, 0.0]]), np.diag([1.0, 0.0]), np.zeros(2))
    # A row that the map sends to 0 has lost everything, one that was 0 had nothing to lose.
    assert single(flat, slice(0, 3))[1].tolist() == [pytest.approx(LONGER * 5 / 3), np.inf, 0.0]
    narrow = Seen(np.array([[3.0, 4.0]]), np.array([[2.0], [0.0]]), np.zeros(1))
    assert single(narrow, slice(0, 1))[1].tolist() == [pytest.approx(LONGER * 5 / 3)]


@pytest.mark.parametrize("size", [1e-14, 1e-16, 1e-30, 3.0])
def test_what_was_added_up_is_known_of_rows_whose_squares_vanish_in_float32(size):
    x = np.array([[3.0, 4.0]], dtype=np.float32) * np.float32(size)
    seen = Seen(x, np.diag([1e16, 0.0]), np.array([0.0, 1.0]))
    grown = float(single(seen, slice(0, 1))[1][0])
    needed = (5e16 * size + 1) / np.hypot(3e16 * size, 1)
    assert needed * (1 - 1e-5) <= grown <= needed * (1 + 2e-3)


def test_stored_rows_are_as_they_are():
    block, grown = single(X, slice(1, 3))
    np.testing.assert_array_equal(block, X[1:])
    assert grown.tolist() == [1.0, 1.0]
    assert lengths(np.array([[3e30, 4e30]], dtype=np.float32)).tolist() == [np.inf]


def test_mapped_rows_are_copies_in_float64():
    mapped = Mapped(X, lambda block: np.multiply(block, 2, out=block)[:, :1], 1)
    assert (mapped.shape, len(mapped), mapped.dtype) == ((3, 1), 3, np.float32)
    assert mapped[:2].tolist() == [[6.0], [0.0]]
    assert mapped[:2].dtype == np.float64
    assert X[0, 0] == 3.0


# --- the largest of what passes by ----------------------------------------------------------------------------------


def test_what_exceeds_the_bar_is_taken_and_no_more_than_is_kept_where_that_is_much(monkeypatch):
    tile = np.arange(60.0).reshape(2, 30)
    row, column, value = hits(tile, np.array([25.0, 58.0]), 2)
    assert (row.tolist(), column.tolist(), value.tolist()) == (
        [0] * 4 + [1],
        [26, 27, 28, 29, 29],
        [26, 27, 28, 29, 59],
    )
    asked = []
    foremost = largest._foremost
    monkeypatch.setattr(largest, "_foremost", lambda tile, keep: asked.append(keep) or foremost(tile, keep))
    # 2 · (8 + 4 · 2) = 32 entries are few, 33 are many.
    assert len(hits(tile, np.array([13.0, 43.0]), 2)[0]) == 32
    assert asked == []
    assert hits(tile, np.array([12.0, 43.0]), 2)[1].tolist() == [28, 29, 28, 29]
    assert asked == [2]


def test_of_equals_the_first_are_foremost():
    tile = np.array([[1.0, 3.0, 3.0, 3.0], [5.0, 1.0, 1.0, 0.0], [2.0, 2.0, 2.0, 9.0]])
    assert largest._foremost(tile, 2).tolist() == [
        [False, True, True, False],
        [True, True, False, False],
        [True, False, False, True],
    ]
    assert largest._foremost(tile, 4).all()


def test_tiles_are_merged_with_their_columns():
    best = Largest(2, 2).add(np.array([[1.0, 3.0], [0.0, -np.inf]])).add(np.array([[2.0, 3.0], [-1.0, 5.0]]), 2)
    assert best.columns.tolist() == [[1, 3], [3, 0]]
    assert best.values.tolist() == [[3.0, 3.0], [5.0, 0.0]]
    assert best.bar.tolist() == [3.0, 0.0]
    nothing = Largest(1, 2).merge(np.array([], dtype=np.intp), np.array([], dtype=np.intp), np.array([]))
    assert nothing.columns.tolist() == [[-1, -1]]


# --- searches -------------------------------------------------------------------------------------------------------


def test_shifted_rows_are_searched_as_shifted_however_many_there_are(monkeypatch):
    draw = np.random.default_rng(0)
    x, shift = draw.standard_normal((40, 3)), np.array([3.0, -1.0, 0.5])
    wanted = neighbours(x + shift, 3)
    for many in (2, 41):
        monkeypatch.setattr(nearest, "MANY", many)
        assert neighbours(x, 3, shift=shift).indices.tolist() == wanted.indices.tolist()
    monkeypatch.setattr(nearest, "screened", None)
    assert neighbours(x, 3).indices.shape == (40, 3)


def test_blocks_of_candidates_grow_twofold_up_to_the_widest(monkeypatch):
    monkeypatch.setattr(nearest, "WIDEST", 40)
    monkeypatch.setattr(nearest, "FIRST", 5)

    def widths(n, keep):
        found = list(nearest._blocks(n, 10, keep))
        assert found[0].start == 0
        assert [one.stop for one in found[:-1]] == [one.start for one in found[1:]]
        assert found[-1].stop == n
        return [one.stop - one.start for one in found]

    assert widths(40, 2) == [40]
    assert widths(100, 2) == [5, 10, 20, 40, 25]
    assert widths(100, 4) == [8, 16, 32, 40, 4]
    assert widths(100, 30) == [40, 40, 20]
    assert widths(100, 50) == [50, 50]


def test_ties_are_as_wide_as_the_numbers_are_rounded():
    assert tie_of(np.eye(2)) == 1e-9
    assert tie_of(np.eye(2, dtype=np.float32)) == 16 * 2.0**-23


def test_rows_without_direction_are_nobodys_neighbours():
    x = np.array([[1.0, 0.0], [0.0, 0.0], [1.0, 1.0], [-1.0, 0.0]])
    found = neighbours(x, 3)
    assert found.indices.tolist() == [[2, 3, -1], [-1, -1, -1], [0, 3, -1], [2, 0, -1]]
    assert found.runner_up.tolist()[0] == -np.inf


# --- small things ---------------------------------------------------------------------------------------------------


def test_an_area_counts_ties_half():
    values = np.array([0.1, 0.4, 0.4, 0.8, 0.8])
    positive = np.array([False, True, False, True, False])
    pairs = [(p, n) for p in values[positive] for n in values[~positive]]
    wanted = sum((p > n) + 0.5 * (p == n) for p, n in pairs) / len(pairs)
    assert area_under_curve(values, positive) == pytest.approx(wanted) == pytest.approx(4 / 6)


def test_terms_are_added_in_their_order():
    assert in_order(iter([[1], [2], [3]])) == [1, 2, 3]


def test_cached_blocks_are_of_a_chunk_alone(monkeypatch):
    monkeypatch.setattr("embaudit.kernels.passes.CACHE_BYTES", 2 * 8 * 2)
    x = np.arange(14.0, dtype=np.float32).reshape(7, 2)
    found = [(rows, block.copy()) for rows, block in cached_blocks(x, slice(2, 7))]
    assert [rows for rows, _ in found] == [slice(2, 4), slice(4, 6), slice(6, 7)]
    np.testing.assert_array_equal(np.vstack([block for _, block in found]), x[2:])


@pytest.mark.parametrize("least", [1e-290, 9e-291, 1.1e-290, 3e-320])
def test_directions_of_rows_that_all_but_vanish(least):
    x = np.array([[3.0, 4.0], [3.0 * least, 4.0 * least]])
    np.testing.assert_allclose(unit_rows(x), [[0.6, 0.8]] * 2, rtol=5e-4 if least < 1e-300 else 1e-15)
    assert row_norms(x)[1] == pytest.approx(5 * least, rel=1e-3 if least < 1e-300 else 1e-14)
