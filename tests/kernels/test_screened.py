"""The search in float32 with a proven bound finds what the one in float64 finds, ties by row included."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embaudit.kernels import nearest, screened
from embaudit.kernels.largest import Largest
from embaudit.kernels.nearest import neighbours
from embaudit.kernels.rows import unit_rows
from embaudit.kernels.seen import Mapped, Seen


def rows_of(kind, draw, p=400, k=6):
    x = draw.standard_normal((p, k))
    if kind == "twins":
        x[100:200] = x[:100] * draw.uniform(0.5, 2, (100, 1))
    if kind == "zero rows":
        x[::3] = 0
    if kind == "huge and tiny":
        x *= 10.0 ** draw.integers(-30, 30, (p, 1))
    if kind == "beyond float32":
        x *= 10.0 ** draw.choice([-60, 0, 60], (p, 1))
    if kind == "one cluster":
        x = x * 1e-5 + draw.standard_normal(k)
    return x


KINDS = ["plain", "twins", "zero rows", "huge and tiny", "one cluster"]
STORED = [(kind, dtype) for kind in KINDS for dtype in (np.float32, np.float64)] + [("beyond float32", np.float64)]


@pytest.mark.parametrize(("kind", "dtype"), STORED)
@pytest.mark.parametrize("how", ["as stored", "stretched", "shifted", "first of its twins"])
def test_lists_are_those_of_float64(monkeypatch, kind, dtype, how):
    draw = np.random.default_rng(5)
    x = rows_of(kind, draw).astype(dtype)
    first = None
    if how in ("stretched", "shifted"):
        shift = np.zeros(6) if how == "stretched" else draw.standard_normal(6)
        x = Seen(x, draw.standard_normal((6, 6)), shift)
    elif how != "as stored":
        first = np.where((np.arange(400) >= 100) & (np.arange(400) < 200), np.arange(400) - 100, np.arange(400))
    rows = np.sort(draw.choice(400, 30, replace=False))
    monkeypatch.setattr(nearest, "MANY", 1_000)
    plain = neighbours(x, 5, rows=rows, first=first)
    monkeypatch.setattr(nearest, "MANY", 1)
    monkeypatch.setattr(screened, "WIDEST", 64)
    quick = neighbours(x, 5, rows=rows, first=first)
    np.testing.assert_allclose(quick.cosines, plain.cosines, atol=1e-12)
    np.testing.assert_allclose(quick.runner_up, plain.runner_up, atol=1e-12)
    apart = np.abs(np.diff(np.column_stack([plain.cosines, plain.runner_up]), axis=1)) > 1e-12
    sure = apart & np.column_stack([np.ones(len(rows), dtype=bool), apart[:, :-1]])
    assert (quick.indices == plain.indices)[sure].all()


@pytest.mark.parametrize("searched", ["stored", "seen", "mapped"])
def test_a_shift_is_added_to_rows_that_are_seen_too(monkeypatch, searched):
    draw = np.random.default_rng(7)
    x, linear, shift = draw.standard_normal((400, 6)), draw.standard_normal((6, 6)), draw.standard_normal(6)
    views = {
        "stored": x @ linear,
        "seen": Seen(x, linear, np.ones(6)),
        "mapped": Mapped(x, lambda row: row @ linear, 6),
    }
    rows = np.arange(0, 400, 17)
    expected = neighbours(x @ linear + (searched == "seen") + shift, 5, rows=rows)
    monkeypatch.setattr(nearest, "MANY", 1)
    slow = []
    monkeypatch.setattr(
        nearest, "_searched", lambda *given, own=nearest._searched: slow.append(given[1]) or own(*given)
    )
    found = neighbours(views[searched], 5, rows=rows, shift=shift)
    assert (found.indices == expected.indices).all()
    np.testing.assert_allclose(found.cosines, expected.cosines, atol=1e-14)
    assert len(slow) == (searched == "mapped")


def test_ties_are_in_order_of_rows(monkeypatch):
    monkeypatch.setattr(nearest, "MANY", 1)
    x = np.tile(np.array([[1.0, 2.0, 3.0], [3.0, 1.0, 2.0]]), (40, 1))
    assert neighbours(x, 4, rows=[6, 7]).indices.tolist() == [[0, 2, 4, 8], [1, 3, 5, 9]]


@pytest.mark.parametrize("kind", ["plain", "twins"])
def test_hits_that_wait_longer_change_no_list(monkeypatch, kind):
    x = rows_of(kind, np.random.default_rng(2)).astype(np.float32)
    monkeypatch.setattr(nearest, "MANY", 1)
    monkeypatch.setattr(screened, "WIDEST", 16)
    found = []
    for waiting in (0, 3, 10**9):
        monkeypatch.setattr(screened, "WAITING", waiting)
        found.append(neighbours(x, 5, rows=np.arange(0, 400, 9)))
    for other in found[1:]:
        np.testing.assert_array_equal(other.indices, found[0].indices)
        np.testing.assert_array_equal(other.cosines, found[0].cosines)


def test_hits_of_several_blocks_are_in_order_of_rows_and_then_of_columns():
    blocks = [([0, 2], [5, 1], [0.1, 0.2]), ([0, 0, 1], [7, 9, 8], [0.3, 0.4, 0.5])]
    row, column, value = screened._together([tuple(map(np.array, block)) for block in blocks])
    assert (row.tolist(), column.tolist()) == ([0, 0, 0, 1, 2], [5, 7, 9, 8, 1])
    assert value.tolist() == [0.1, 0.3, 0.4, 0.5, 0.2]


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), k=st.integers(1, 40), power=st.floats(0, 6), shift=st.floats(0, 30))
def test_no_cosine_exceeds_its_bound(seed, k, power, shift):
    draw = np.random.default_rng(seed)
    x = draw.standard_normal((60, k)).astype(np.float32)
    seen = Seen(x, draw.standard_normal((k, k)) * 10.0 ** draw.uniform(-power, 0, k), shift * draw.standard_normal(k))
    queries = unit_rows(seen[np.arange(8)])
    rows, inverse, slack = screened._inverse_lengths(seen, slice(0, 60))
    found = (queries.astype(np.float32) @ rows.T) * inverse
    exact = queries @ unit_rows(seen).T
    assert (np.abs(found - exact) <= slack).all()


def test_bounds_are_tight_enough_to_be_of_use():
    draw = np.random.default_rng(0)
    x = draw.standard_normal((200, 64)).astype(np.float32)
    assert screened._inverse_lengths(x, slice(0, 200))[2].max() < 3e-5
    stretched = Seen(x, np.diag(np.linspace(1, 2, 64)), np.zeros(64))
    assert screened._inverse_lengths(stretched, slice(0, 200))[2].max() < 3e-4


def test_candidates_are_looked_up_where_their_bound_leaves_them_a_place():
    turns = np.array([0.0, 0.1, 0.2, 0.2 + 1e-7, 0.2 + 2e-7, 0.3, 0.4, 0.5])
    x = np.column_stack([np.cos(turns), np.sin(turns)]).astype(np.float32)
    looked_up = []

    class Watched:
        shape, dtype = x.shape, x.dtype

        def __len__(self):
            return len(x)

        def __getitem__(self, rows):
            if not isinstance(rows, slice):
                looked_up.append(np.asarray(rows).tolist())
            return x[rows]

    best, settled = screened.screened(Watched(), np.array([0]), 2, spare=5)
    asked, foremost, others = looked_up
    assert asked == [0]
    assert len(foremost) == 2
    # Of the other five the two that come within rounding of the second; not those whose bound lies below.
    assert sorted(foremost + others) == [1, 2, 3, 4]
    assert (best.columns.tolist(), settled.tolist()) == ([[1, 2]], [True])
    exact = unit_rows(x.astype(np.float64))
    np.testing.assert_allclose(best.values[0], exact[[1, 2]] @ exact[0], rtol=0, atol=1e-15)
    # Where fewer have a place than are kept, all are looked up.
    looked_up.clear()
    best, _ = screened.screened(Watched(), np.array([0]), 7, spare=5)
    assert sorted(np.concatenate(looked_up[1:]).tolist()) == [1, 2, 3, 4, 5, 6, 7]
    assert best.columns[0, 0] == 1


def test_candidates_are_looked_up_a_few_at_a_time(monkeypatch):
    x = rows_of("plain", np.random.default_rng(1))
    whole, _ = screened.screened(x, np.arange(30), 5)
    monkeypatch.setattr(screened, "LOOKED_UP", 8 * 6 * 7)
    some, _ = screened.screened(x, np.arange(30), 5)
    assert (some.columns == whole.columns).all()
    assert (some.values == whole.values).all()


@pytest.mark.parametrize(("bound", "sure"), [(1.0, False), (1.0 - 1e-9, True)])
def test_a_list_is_open_where_a_row_left_out_may_be_as_near_and_come_first(bound, sure):
    x, candidates = np.array([[1.0, 0.0], [2.0, 0.0], [3.0, 0.0]]), Largest(1, 1)
    candidates.merge(np.array([0]), np.array([2]), np.array([bound]))
    best, settled = screened.settled(x, x[:1], candidates, 1)
    assert (best.columns.tolist(), best.values.tolist(), settled.tolist()) == ([[2]], [[1.0]], [sure])


def test_few_candidates_are_not_enough_where_many_tie():
    x = np.tile(np.array([[1.0, 2.0, 3.0]]), (60, 1))
    assert not screened.screened(x, np.array([0]), 4)[1].any()
    assert screened.screened(x[:15], np.array([0]), 4)[1].all()


@pytest.mark.parametrize(("n_rows", "times"), [(1_999, 1), (2_000, 2)])
def test_what_few_candidates_leave_open_more_of_them_settle(monkeypatch, n_rows, times):
    draw = np.random.default_rng(1)
    x = draw.standard_normal((n_rows, 8)).astype(np.float32)
    x[100:160] = x[0] + 1e-9 * draw.standard_normal((60, 8)).astype(
        np.float32
    )  # nearer to each other than float32 tells
    plain = nearest._searched(x, np.array([0, 7]), 4, None, None)
    monkeypatch.setattr(nearest, "MANY", 1)
    spares, searched, screen, search = [], [], nearest.screened, nearest._searched
    monkeypatch.setattr(
        nearest,
        "screened",
        lambda *given, spare=None: spares.append((given[1].tolist(), spare)) or screen(*given, spare=spare),
    )
    monkeypatch.setattr(nearest, "_searched", lambda *given: searched.append(given[1].tolist()) or search(*given))
    found = neighbours(x, 3, rows=np.array([0, 7]))
    assert spares == [([0, 7], None), ([0], 2_000)][:times]
    assert searched == [[0]][: 2 - times]
    np.testing.assert_allclose(np.column_stack([found.cosines, found.runner_up]), plain.values, atol=1e-14)
    assert found.indices[1].tolist() == plain.columns[1, :3].tolist()


def test_so_many_candidates_are_kept_beside_those_asked_for(monkeypatch):
    kept, real = [], screened._upper_bounds
    monkeypatch.setattr(screened, "_upper_bounds", lambda *given: kept.append(given[3]) or real(*given))
    for width, spare in ((3, None), (128, None), (3, 5)):
        screened.screened(np.eye(4, width, dtype=np.float32), np.array([0]), 2, spare=spare)
    assert kept == [18, 20, 7]


def test_what_exceeds_a_bar_with_its_slack_is_taken_but_a_row_itself():
    tile = np.array([[0.5, 0.4, 0.3], [0.5, 0.4, 0.3]], dtype=np.float32)
    own, bar, slack = np.array([9, 4]), np.array([0.55, 0.55]), np.array([0.2, 0.0625], dtype=np.float32)
    row, column, value = screened.taken(tile, slice(0, 2), slice(3, 6), own, bar, slack, 5)
    found = {(int(i), int(j)): float(v) for i, j, v in zip(row, column, value, strict=True)}
    assert found == pytest.approx({(0, 3): 0.7, (0, 4): 0.6, (1, 3): 0.5625})
