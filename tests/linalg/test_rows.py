"""Validation, dtypes and blockwise computations of rows, against independent
arithmetic.
"""

from __future__ import annotations

import os
import re
import tempfile
import tracemalloc
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp, mpf
from scipy import stats

from embaudit.core.checked import as_factors
from embaudit.core.parallel import BLOCK_BYTES, row_blocks
from embaudit.errors import InputError
from embaudit.linalg.pair_cosines import pair_cosines
from embaudit.linalg.rows import (
    gram,
    row_norms,
    sample_rows,
    triangular_factor,
    unit_rows,
)
from embaudit.linalg.scratch import scratch
from embaudit.model import FactorModel

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


LARGEST = float(np.finfo(np.float64).max)


@pytest.mark.parametrize(
    ("row", "unit"),
    [
        ([LARGEST, LARGEST], [np.sqrt(0.5), np.sqrt(0.5)]),
        ([-LARGEST, 0.75 * LARGEST], [-0.8, 0.6]),
    ],
)
def test_a_finite_row_whose_norm_overflows_has_a_unit_row(
    row: list[float], unit: list[float]
) -> None:
    found = unit_rows(np.array([row]))
    np.testing.assert_allclose(found, [unit], rtol=1e-15)


def test_a_row_next_to_one_whose_norm_overflows_has_its_own_unit_row() -> None:
    rows = np.array([[LARGEST, LARGEST], [3.0, 4.0]])
    np.testing.assert_allclose(unit_rows(rows)[1], [0.6, 0.8], rtol=1e-15)


def test_the_gram_matrix_of_no_rows_is_zero() -> None:
    no_rows = np.zeros((0, 2))
    np.testing.assert_array_equal(gram(no_rows), np.zeros((2, 2)))


def test_no_rows_have_no_norms() -> None:
    no_rows = np.zeros((0, 2))
    assert row_norms(no_rows).shape == (0,)


def test_rows_without_columns_have_the_norm_0() -> None:
    no_columns = np.zeros((3, 0))
    np.testing.assert_array_equal(row_norms(no_columns), np.zeros(3))


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
    """Quarters have exact products and sums in float64."""
    quarters = st.integers(-8, 8).map(lambda i: i / 4)
    n = data.draw(st.integers(1, 5))
    k = data.draw(st.integers(1, 4))
    row = st.lists(quarters, min_size=k, max_size=k)
    x = data.draw(st.lists(row, min_size=n, max_size=n))
    expected = np.zeros((k, k))
    for a in range(k):
        for b in range(k):
            products = [Fraction(row[a]) * Fraction(row[b]) for row in x]
            expected[a, b] = float(sum(products))
    np.testing.assert_array_equal(gram(np.array(x, np.float32)), expected)


def test_triangular_factor_resolves_what_a_gram_matrix_cannot() -> None:
    """The square of a relative singular value of 1e-12 is below the rounding."""
    rng = np.random.default_rng(0)
    u, _ = np.linalg.qr(rng.standard_normal((300, 3)))
    v, _ = np.linalg.qr(rng.standard_normal((3, 3)))
    x = (u * [1.0, 1e-3, 1e-12]) @ v
    smallest = np.linalg.svd(triangular_factor(x), compute_uv=False)[-1]
    assert smallest == pytest.approx(1e-12, rel=1e-2)
    squared = np.linalg.eigvalsh(gram(x))[0]
    assert abs(squared - 1e-24) > 1e-20


@pytest.fixture(scope="module")
def on_disk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A float32 matrix of 205 MB, nearly all of it zero so that the file takes no
    space.
    """
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
    """Half of what the file is in float64 (410 MB): a few blocks of working memory,
    whatever its size.
    """
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


NOT_A_MATRIX = "must be a matrix with at least one row and one column; got "


@pytest.mark.parametrize(
    ("bad", "part"),
    [
        ([[1.0, np.nan]], "must be finite; got nan at row 0, column 1; repair or drop"),
        ([[np.inf]], "must be finite; got inf at row 0, column 0"),
        (np.float32([[1.0], [-np.inf]]), "must be finite; got -inf at row 1, column 0"),
        (np.float16([[np.inf]]), "must be finite; got inf at row 0, column 0"),
        ([[1j]], "got dtype complex128; convert it to float32 or float64"),
        ([["1.0"]], "got dtype <U3"),
        ([[b"1"]], "got dtype |S1"),
        ([[True]], "got dtype bool"),
        (np.array([[1.0, None]], dtype=object), "got dtype object"),
        (np.array([["2020-01-01"]], dtype="M8[D]"), "got dtype datetime64[D]"),
        (np.array([[(1.0,)]], dtype=[("x", "f8")]), "got dtype [('x', '<f8')]"),
        ([[1.0], [1.0, 2.0]], "must be a rectangular array; got rows that differ"),
        (np.empty((0, 3)), NOT_A_MATRIX + "shape (0, 3)"),
        (np.empty((3, 0)), NOT_A_MATRIX + "shape (3, 0)"),
        ([], NOT_A_MATRIX + "shape (0,)"),
        ([1.0, 2.0], NOT_A_MATRIX + "shape (2,)"),
        (1.0, NOT_A_MATRIX + "one float"),
        (np.ones((1, 1, 1)), NOT_A_MATRIX + "shape (1, 1, 1)"),
        (None, NOT_A_MATRIX + "one NoneType"),
        (np.ma.array([[1.0, 2.0]], mask=[[False, True]]), "got masked entries; fill"),
        ({"a": 1}, NOT_A_MATRIX + "one dict"),
    ],
)
def test_factors_are_refused_unless_they_are_a_finite_real_matrix(
    bad: Any, part: str
) -> None:
    with pytest.raises(InputError, match=f"^item factors .*{re.escape(part)}"):
        FactorModel.from_vectors(bad)


def test_the_first_bad_entry_is_named_by_its_row_in_the_whole_matrix() -> None:
    """Rows are checked in blocks; 100,000 rows of 100 columns are several blocks."""
    x = np.zeros((100_000, 100), dtype=np.float32)
    x[71_000, 2] = np.inf
    x[99_999, 0] = np.nan
    with pytest.raises(InputError, match="got inf at row 71000, column 2; repair or"):
        FactorModel.from_vectors(x)


def test_rows_are_drawn_once_each_in_order_and_uniformly() -> None:
    draw = np.random.default_rng(0)
    found = [sample_rows(5, 2, draw) for _ in range(4000)]
    assert all(a < b for a, b in found)
    assert (
        stats.chisquare(np.bincount(np.concatenate(found), minlength=5)).pvalue > 0.01
    )
    assert set(sample_rows(np.array([9, 4, 6]), 2, draw).tolist()) < {4, 6, 9}


def test_an_array_of_more_than_64_mib_lies_in_a_file_without_a_name(
    monkeypatch, tmp_path
):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert not isinstance(scratch((4096, 4096), np.float32), np.memmap)
    large = scratch((4097, 4096), np.float32)
    assert isinstance(large, np.memmap)
    assert (large.shape, large.dtype) == ((4097, 4096), np.float32)
    large[1, :5] = 7
    assert large[:3].sum() == 35
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("module", "name"), [(os, "posix_fallocate"), (tempfile, "TemporaryFile")]
)
def test_a_large_array_lies_in_memory_where_the_disk_is_full(monkeypatch, module, name):
    def full(*_, **_options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, name, full)
    found = scratch((4097, 4096), np.float32)
    assert not isinstance(found, np.memmap)
    assert (found.shape, found.dtype) == ((4097, 4096), np.float32)


def test_the_number_of_rows_to_draw_from_can_be_a_numpy_integer():
    drawn = sample_rows(np.int64(5), 9, np.random.default_rng(0))
    assert drawn.tolist() == [0, 1, 2, 3, 4]
