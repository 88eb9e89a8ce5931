"""Validation, dtype policy and streamed row computations, against independent arithmetic."""

from __future__ import annotations

import os
import tempfile
import tracemalloc
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf
from scipy import stats
from snapshots import assert_refused

from embaudit.core import parallel
from embaudit.core.checked import as_factors, as_rows
from embaudit.core.parallel import BLOCK_BYTES, row_blocks
from embaudit.errors import InputError
from embaudit.linalg import scratch as module
from embaudit.linalg.pairs import pair_cosines
from embaudit.linalg.rows import (
    gram,
    row_norms,
    sample_rows,
    triangular_factor,
    unit_rows,
)
from embaudit.linalg.scratch import scratch

EPS = np.finfo(np.float64).eps
EXTREME = [1e-320, 1e-200, 1e-141, 1e-139, 1e-30, 1.0, 1e30, 1e139, 1e141, 1e200, 1e307]


@st.composite
def extreme_rows(draw: st.DrawFn) -> np.ndarray:
    """Rows whose squares overflow, underflow, or do both at once."""
    entry = st.sampled_from([0.0, 1.0, -0.75, 0.001]) | st.floats(-1, 1)
    row = np.array(draw(st.lists(entry, min_size=1, max_size=5)))
    return (
        row
        * draw(st.sampled_from(EXTREME))
        * np.where(np.arange(len(row)) % 2, draw(st.sampled_from([1, 1e-150])), 1)
    )


def exact_norm(row: np.ndarray) -> mpf:
    return mp.sqrt(mp.fsum(mpf(float(x)) ** 2 for x in row))


@given(extreme_rows())
def test_row_norms_at_extreme_norms(row: np.ndarray) -> None:
    with mp.workdps(50):
        exact = exact_norm(row)
        error = abs(mpf(float(row_norms(row[None])[0])) - exact)
        # Half a unit of the smallest subnormal is all that can be said down there.
        assert error <= 4 * len(row) * EPS * exact + mpf(5e-324)


@given(extreme_rows())
def test_unit_rows_at_extreme_norms(row: np.ndarray) -> None:
    unit = unit_rows(row[None])[0]
    with mp.workdps(50):
        exact = exact_norm(row)
        if exact == 0:
            assert np.isnan(unit).all()
            return
        for got, x in zip(unit, row, strict=True):
            assert abs(mpf(float(got)) - mpf(float(x)) / exact) <= 4 * len(row) * EPS


@given(st.data())
def test_pair_cosines_at_extreme_norms(data: st.DataObject) -> None:
    x, y = data.draw(extreme_rows()), data.draw(extreme_rows())
    k = min(len(x), len(y))
    x, y = x[:k], y[:k]
    got = float(pair_cosines(x[None], y[None], [[0, 0]])[0])
    with mp.workdps(50):
        norms = exact_norm(x) * exact_norm(y)
        if norms == 0:
            assert np.isnan(got)
            return
        exact = (
            mp.fsum(mpf(float(a)) * mpf(float(b)) for a, b in zip(x, y, strict=True))
            / norms
        )
        assert abs(mpf(got) - exact) <= 8 * k * EPS
    assert -1 <= got <= 1


@given(st.integers(0, 200), st.integers(1, 20), st.integers(1, 400))
def test_row_blocks_cover_every_row_once_within_budget(
    n_rows: int, n_columns: int, budget: int
) -> None:
    blocks = list(row_blocks(n_rows, n_columns, budget=budget))
    assert [row for block in blocks for row in range(n_rows)[block]] == list(
        range(n_rows)
    )
    for block in blocks:
        assert (
            block.stop - block.start == 1
            or 8 * n_columns * (block.stop - block.start) <= budget
        )


@given(st.data())
def test_gram_against_fractions(data: st.DataObject) -> None:
    entries = st.integers(-8, 8).map(lambda i: i / 4)
    n, k = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 4))
    rows = st.lists(st.lists(entries, min_size=k, max_size=k), min_size=n, max_size=n)
    x = data.draw(rows)
    exact = [
        [sum(Fraction(x[i][a]) * Fraction(x[i][b]) for i in range(n)) for b in range(k)]
        for a in range(k)
    ]
    np.testing.assert_array_equal(gram(np.array(x, np.float32)), np.array(exact, float))


def test_triangular_factor_resolves_what_a_gram_matrix_cannot() -> None:
    """A singular value of 1e-12 relative survives; squared it drowns in rounding."""
    rng = np.random.default_rng(0)
    u, v = (
        np.linalg.qr(rng.standard_normal((300, 3)))[0],
        np.linalg.qr(rng.standard_normal((3, 3)))[0],
    )
    x = (u * [1.0, 1e-3, 1e-12]) @ v
    smallest = np.linalg.svd(triangular_factor(x), compute_uv=False)[-1]
    assert smallest == pytest.approx(1e-12, rel=1e-2)
    squared = np.linalg.eigvalsh(gram(x))[0]
    assert abs(squared - 1e-24) > 1e-20


@pytest.fixture(scope="module")
def on_disk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A float32 matrix of 205 MB, nearly all of it zero so that the file takes no space."""
    path = tmp_path_factory.mktemp("factors") / "factors.npy"
    x = np.lib.format.open_memmap(
        path, mode="w+", dtype=np.float32, shape=(3_200_000, 16)
    )
    x[::1000] = 1 + np.arange(16)
    x.flush()
    return path


@pytest.mark.parametrize(
    ("compute", "result_bytes"),
    [
        (lambda x: as_factors(x, "item factors"), 0),
        (row_norms, 3_200_000 * 8),
        (gram, 16 * 16 * 8),
        (
            lambda x: pair_cosines(
                x, x, np.column_stack([np.arange(0, 3_200_000, 16)] * 2)
            ),
            200_000 * 8 * 5,
        ),
    ],
    ids=["as_factors", "row_norms", "gram", "pair_cosines"],
)
def test_memory_mapped_factors_are_streamed(
    compute: object, result_bytes: int, on_disk: Path
) -> None:
    """Half of what the file is in float64 (410 MB): a few blocks of working memory, whatever its size."""
    x = np.load(on_disk, mmap_mode="r")
    tracemalloc.start()
    try:
        compute(x)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 6 * BLOCK_BYTES + result_bytes


def test_factors_are_read_only_and_the_callers_stay_writeable() -> None:
    mine = np.ones((2, 2), order="F")
    factors = as_factors(mine, "item factors")
    with pytest.raises(ValueError, match="read-only"):
        factors[0, 0] = 2
    mine[0, 0] = 2
    assert mine.flags.writeable


BAD_FACTORS: Any = (
    [[1.0, np.nan]], [[np.inf]], np.array([[1.0], [-np.inf]], dtype=np.float32),
    np.array([[np.inf]], dtype=np.float16), [[1j]], [["1.0"]], [[b"1"]], [[True]],
    np.array([[1.0, None]], dtype=object), np.array([["2020-01-01"]], dtype="M8[D]"),
    np.array([[(1.0,)]], dtype=[("x", "f8")]), [[1.0], [1.0, 2.0]], np.empty((0, 3)), np.empty((3, 0)), [],
    [1.0, 2.0], 1.0, np.ones((1, 1, 1)), None, np.ma.array([[1.0, 2.0]], mask=[[False, True]]), {"a": 1},
)  # fmt: skip


def test_bad_factors_and_rows_are_refused() -> None:
    rows: Any = (
        [True, False, True],
        [0.5],
        [-1],
        [3],
        "a",
        ["a"],
        1,
        [[0, 1]],
        [[0], [0, 1]],
        None,
    )
    asked: Any = [partial(as_factors, bad, "item factors") for bad in BAD_FACTORS]
    assert_refused("rows", [*asked, *(partial(as_rows, bad, 3) for bad in rows)])


def test_the_first_bad_entry_is_located(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.zeros((100, 3), dtype=np.float32)
    x[71, 2] = np.inf
    monkeypatch.setattr(parallel.row_blocks, "__kwdefaults__", {"budget": 10 * 3 * 8})
    with pytest.raises(
        InputError,
        match=r"finite; got inf at row 71, column 2; repair or drop that row\.$",
    ):
        as_factors(x, "item factors")


def test_rows_are_drawn_once_each_in_order_and_uniformly() -> None:
    draw = np.random.default_rng(0)
    found = [sample_rows(5, 2, draw) for _ in range(4000)]
    assert all(a < b for a, b in found)
    assert (
        stats.chisquare(np.bincount(np.concatenate(found), minlength=5)).pvalue > 0.01
    )
    assert set(sample_rows(np.array([9, 4, 6]), 2, draw).tolist()) < {4, 6, 9}


def test_on_both_sides_of_what_is_held(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(module, "HELD", 48)
    assert not isinstance(scratch((3, 4), np.float32), np.memmap)
    large = scratch((3, 5), np.float32)
    assert isinstance(large, np.memmap)
    assert (large.shape, large.dtype) == ((3, 5), np.float32)
    large[1] = 7
    assert large.sum() == 35
    assert list(tmp_path.iterdir()) == []


def test_without_room_it_is_held(monkeypatch):
    def full(*_, **_options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "HELD", 0)
    for place, name in ((os, "posix_fallocate"), (tempfile, "TemporaryFile")):
        monkeypatch.setattr(place, name, full)
        found = scratch((3, 5), np.float32)
        assert not isinstance(found, np.memmap)
        assert (found.shape, found.dtype) == ((3, 5), np.float32)
