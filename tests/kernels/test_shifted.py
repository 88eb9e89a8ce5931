"""Lists of rows as they are and with a shift, by one product for both, are those of two searches in float64."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embaudit.kernels import nearest, screened, shifted
from embaudit.kernels.nearest import neighbours, neighbours_and_shifted
from embaudit.kernels.rows import unit_rows
from embaudit.kernels.seen import Seen
from embaudit.kernels.shifted import _both, _Queries, is_scaled, screened_both, slack_of
from embaudit.kernels.stretch import Stretch, Turn


class Told:
    """Takes every bound, where lists would take the largest."""

    def __init__(self, n_queries, keep):
        self.keep, self.bar = keep, np.full(n_queries, -np.inf)


def bounds_of(x, rows, shift):
    """All upper bounds of both kinds, (2, m, p); those of a row and itself are -inf."""
    queries = _Queries.of(np.asarray(x[rows], dtype=np.float64), shift)
    found = np.full((2, len(rows), len(x)), -np.inf)
    parts = _both(x, slice(0, len(x)), rows, queries, shift, [Told(len(rows), len(x))] * 2)
    for bounds, hits in zip(found, parts, strict=True):
        for row, column, value in hits:
            bounds[row, column] = value
    return found


def shifted_by(x, shift):
    if isinstance(x, Seen):
        return Seen(x.x, x.linear, x.shift + shift)
    return Seen(x, Stretch.identity(x.shape[1]), shift)


@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), k=st.integers(1, 60), power=st.floats(-6, 3), lengths=st.floats(0, 3))
def test_no_cosine_exceeds_its_bound(seed, k, power, lengths):
    draw = np.random.default_rng(seed)
    x = (draw.standard_normal((60, k)) * 10.0 ** draw.uniform(-lengths, lengths, (60, 1))).astype(np.float32)
    shift = 10.0**power * draw.standard_normal(k)
    rows, scaled = np.arange(0, 60, 7), Seen(x, Stretch(10.0 ** draw.uniform(-2, 2, k)), np.zeros(k))
    views = (x, shifted_by(x, shift)), (scaled, shifted_by(scaled, shift))
    for seen, bounds in (
        (one, more) for both in views for one, more in zip(both, bounds_of(both[0], rows, shift), strict=True)
    ):
        unit = unit_rows(seen)
        cosines = unit[rows] @ unit.T
        cosines[np.arange(len(rows)), rows] = -np.inf
        assert (cosines <= bounds).all()


def test_bounds_are_tight_enough_to_be_of_use():
    draw = np.random.default_rng(0)
    x, rows = draw.standard_normal((200, 64)).astype(np.float32), np.arange(9)
    shift = draw.standard_normal(64) / 2
    for rows_seen, bounds in zip((x, shifted_by(x, shift)), bounds_of(x, rows, shift), strict=True):
        unit = unit_rows(rows_seen)
        known = np.isfinite(bounds)
        assert known.sum() == 9 * 199
        assert (bounds - unit[rows] @ unit.T)[known].max() < 2.5e-5


def test_the_slack_is_what_errors_come_to_or_all_there_is():
    gamma = 100 * 2.0**-24
    grown = np.array([1.0, 3.0, 0.0999 / gamma, 0.1001 / gamma, np.inf])
    expected = [2.5 * gamma, 5.5 * gamma, 0.14985 + gamma, 2.0, 2.0]
    np.testing.assert_allclose(slack_of(92, grown), expected, rtol=1e-6)
    assert slack_of(92, grown).dtype == np.float32


def test_queries_hold_what_makes_both_products_of_one():
    rows, shift = np.array([[3.0, 4.0], [0.0, 0.0], [-1.0, 0.0], [1e-9, 0.0]]), np.array([1.0, 0.0])
    found = _Queries.of(rows, shift)
    np.testing.assert_allclose(found.moved, [[0.5**0.5, 0.5**0.5], [1, 0], [0, 0], [1, 0]], rtol=1e-7)
    assert found.along.tolist() == [1.0, 0.0]
    np.testing.assert_allclose(found.factor[:, 0], [32**0.5 / 5, 0, 0, 0], rtol=1e-7)
    np.testing.assert_allclose(found.share[:, 0], [0.2, 0, 1, 0], rtol=1e-7)
    np.testing.assert_allclose(found.level[:, 0], [0.5**0.5, 1, 0, 1], rtol=1e-7)
    gamma = 10 * 2.0**-24
    np.testing.assert_allclose(found.slack, [gamma * (1.5 * (32**0.5 + 1) / 5 + 1), 2, gamma * 2.5, 2], rtol=1e-6)
    assert not _Queries.of(rows, np.zeros(2)).along.any()


KINDS = ["plain", "twins", "zero rows", "huge and tiny", "one cluster", "at the mean"]


def rows_of(kind, draw):
    x = draw.standard_normal((400, 6))
    if kind == "twins":
        x[100:200] = x[:100] * draw.uniform(0.5, 2, (100, 1))
    if kind == "zero rows":
        x[::3] = 0
    if kind == "huge and tiny":
        x *= 10.0 ** draw.integers(-30, 30, (400, 1))
    if kind == "one cluster":
        x = x * 1e-5 + draw.standard_normal(6)
    return x.astype(np.float32)


def same_lists(quick, plain):
    np.testing.assert_allclose(quick.cosines, plain.cosines, atol=1e-12)
    np.testing.assert_allclose(quick.runner_up, plain.runner_up, atol=1e-12)
    apart = np.abs(np.diff(np.column_stack([plain.cosines, plain.runner_up]), axis=1)) > 1e-12
    sure = apart & np.column_stack([np.ones(len(plain.rows), dtype=bool), apart[:, :-1]])
    assert (quick.indices == plain.indices)[sure].all()
    assert quick.searched is plain.searched
    assert np.array_equal(quick.shift, plain.shift)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scaled", [False, True])
def test_lists_of_both_are_those_of_float64(monkeypatch, kind, scaled):
    draw = np.random.default_rng(5)
    x, shift = rows_of(kind, draw), draw.standard_normal(6)
    rows = np.sort(draw.choice(400, 30, replace=False))
    if scaled:
        x = Seen(x, Stretch(np.linspace(0.1, 4, 6)), np.zeros(6))
    if kind == "at the mean":
        shift = -np.asarray(x[rows[3:4]], dtype=np.float64)[0]
    plain = neighbours(x, 5, rows=rows), neighbours(x, 2, rows=rows, shift=shift)
    monkeypatch.setattr(nearest, "MANY", 400)
    monkeypatch.setattr(screened, "WIDEST", 64)
    monkeypatch.setattr(screened, "TILE", 64 * 7)
    monkeypatch.setattr(shifted, "TILE", 64 * 7)
    quick = neighbours_and_shifted(x, 5, 2, rows=rows, shift=shift)
    for found, expected in zip(quick, plain, strict=True):
        same_lists(found, expected)


def test_ties_are_in_order_of_rows(monkeypatch):
    monkeypatch.setattr(nearest, "MANY", 1)
    x = np.tile(np.array([[1.0, 2.0, 3.0], [3.0, 1.0, 2.0]], dtype=np.float32), (40, 1))
    found = neighbours_and_shifted(x, 4, 3, rows=np.array([6, 7]), shift=np.ones(3))
    assert found[0].indices.tolist() == [[0, 2, 4, 8], [1, 3, 5, 9]]
    assert found[1].indices.tolist() == [[0, 2, 4], [1, 3, 5]]


@pytest.mark.parametrize(("many", "dtype", "products"), [(60, np.float32, 1), (61, np.float32, 0), (60, np.float64, 0)])
def test_very_many_rows_in_float32_are_multiplied_once(monkeypatch, many, dtype, products):
    x, shift = np.random.default_rng(0).standard_normal((60, 4)).astype(dtype), np.full(4, 0.5)
    monkeypatch.setattr(nearest, "MANY", many)
    made, real = [], nearest.screened_both
    monkeypatch.setattr(nearest, "screened_both", lambda *given: made.append(given[3:]) or real(*given))
    monkeypatch.setattr(nearest, "screened", None if products else screened.screened)
    monkeypatch.setattr(nearest, "_searched", None if products else nearest._searched)
    found = neighbours_and_shifted(x, 3, 1, rows=np.arange(5), shift=shift)
    assert made == [(4, 2)] * products
    assert [lists.indices.shape for lists in found] == [(5, 3), (5, 1)]
    assert [lists.runner_up.shape for lists in found] == [(5,), (5,)]


def test_rows_are_scaled_ones_where_their_columns_are_multiplied_and_no_more():
    x, turn = np.eye(4, dtype=np.float32), Turn.sample(4, np.random.default_rng(0))
    scales, none = np.arange(1.0, 5), np.zeros(4)
    assert is_scaled(x)
    assert is_scaled(Seen(x, Stretch(scales), none))
    for other in (
        np.eye(4), Seen(np.eye(4), Stretch(scales), none), Seen(x, Stretch(scales), np.eye(4)[2]),
        Seen(x, np.diag(scales), none), Seen(x, Stretch(scales, turn), none),
        Seen(x, Stretch(scales, None, turn), none),
    ):  # fmt: skip
        assert not is_scaled(other)


def test_a_block_with_a_row_of_no_usual_length_or_hardly_any_once_shifted_is_multiplied_twice(monkeypatch):
    draw = np.random.default_rng(3)
    x, rows, told, real = draw.standard_normal((128, 6)).astype(np.float32), np.arange(9), [], shifted.multiplied
    monkeypatch.setattr(screened, "WIDEST", 64)
    monkeypatch.setattr(screened, "FEWEST", 64)
    monkeypatch.setattr(shifted, "multiplied", lambda *given: told.append(given[1].start) or real(*given))
    shift = draw.standard_normal(6)
    gone = -shift.astype(np.float32)
    # Of the last, some digits of the sum with the shift are left, too few to tell a cosine.
    for row in (0 * x[70], x[70] * np.float32(2e15), x[70] * np.float32(1e-16), gone, gone * np.float32(1 + 3e-6)):
        y = x.copy()
        y[70] = row
        told.clear()
        found = screened_both(y, rows, shift, 3, 3)
        assert told == [64, 64]
        for view, (best, settled) in zip((y, shifted_by(y, shift)), found, strict=True):
            unit = unit_rows(view, none=0)
            cosines = unit[rows] @ unit.T
            cosines[rows, rows] = -np.inf
            np.testing.assert_allclose(best.values[settled], -np.sort(-cosines, axis=1)[settled, :3], atol=1e-12)
            assert settled.sum() >= 8
    told.clear()
    screened_both(x, rows, shift, 3, 3)
    assert told == []


def test_so_many_candidates_are_kept_beside_those_asked_for(monkeypatch):
    kept, real = [], shifted.Merged
    monkeypatch.setattr(shifted, "Merged", lambda n, keep: kept.append((n, keep)) or real(n, keep))
    screened_both(np.eye(4, 128, dtype=np.float32), np.array([0, 2]), np.ones(128), 2, 1)
    assert kept == [(2, 20), (2, 19)]
