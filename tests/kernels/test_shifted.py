"""Lists of rows as they are and with a shift, by one product for both, are those of two searches in float64."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embaudit.kernels import nearest, screened, shifted
from embaudit.kernels.nearest import neighbours, neighbours_and_shifted
from embaudit.kernels.rows import unit_rows
from embaudit.kernels.seen import Seen
from embaudit.kernels.shifted import _both, _Queries
from embaudit.kernels.stretch import Stretch


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
