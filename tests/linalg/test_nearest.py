"""Cosines of pairs, uniform sampling and exact neighbours, against brute force."""

from __future__ import annotations

import re
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import factor_matrices, seeds

import embaudit as ea
from embaudit.core import parallel
from embaudit.core.checked import as_factors
from embaudit.core.tolerances import TIE
from embaudit.errors import InputError
from embaudit.linalg.mapped import shifted_rows
from embaudit.linalg.nearest import neighbours
from embaudit.linalg.pair_cosines import pair_cosines


def cosine_matrix(x: np.ndarray) -> np.ndarray:
    """All cosines in long double; a row itself and rows without direction are -inf."""
    wide = x.astype(np.longdouble)
    norms = np.sqrt((wide**2).sum(axis=1))
    unit = wide / np.where(norms == 0, 1, norms)[:, None]
    cosines = (unit @ unit.T).astype(np.float64)
    cosines[:, norms == 0] = -np.inf
    np.fill_diagonal(cosines, -np.inf)
    return cosines


def brute_force(
    x: np.ndarray, n: int
) -> tuple[list[list[int]], list[list[float]], list[float]]:
    """Sort all rows; only for inputs with exact cosines, whose ties are ties."""
    cosines = cosine_matrix(x)
    order = [
        sorted(range(len(x)), key=lambda j, row=row: (-row[j], j)) for row in cosines
    ]
    ranked = [[row[j] for j in js] for row, js in zip(cosines, order, strict=True)]
    return (
        [js[:n] for js in order],
        [values[:n] for values in ranked],
        [values[n] for values in ranked],
    )


@st.composite
def searches(draw: st.DrawFn) -> tuple[np.ndarray, int, np.ndarray]:
    x = draw(factor_matrices(draw(st.integers(2, 12)), draw(st.integers(1, 4))))
    rows = draw(st.lists(st.integers(0, len(x) - 1), min_size=1, max_size=8))
    return x, draw(st.integers(1, len(x) - 1)), np.array(rows)


@given(searches())
def test_neighbours_are_the_n_largest_cosines(
    search: tuple[np.ndarray, int, np.ndarray],
) -> None:
    x, n, rows = search
    cosines = cosine_matrix(x)
    found = neighbours(as_factors(x, "item factors"), n, rows=rows)
    np.testing.assert_array_equal(found.rows, rows)
    assert found.indices.shape == found.cosines.shape == (len(rows), n)
    for row, listed, values in zip(rows, found.indices, found.cosines, strict=True):
        largest = np.sort(cosines[row])[::-1][:n]
        # Rows of zeros have no cosine and are no neighbours.
        is_filled = np.isfinite(largest) & x[row].any()
        assert (listed[~is_filled] == -1).all()
        assert np.isnan(values[~is_filled]).all()

        listed, values, largest = (
            listed[is_filled],
            values[is_filled],
            largest[is_filled],
        )
        assert row not in listed
        assert len(set(listed)) == len(listed)
        assert (np.diff(values) <= 0).all()
        assert (np.abs(values) <= 1).all()
        np.testing.assert_allclose(values, largest, rtol=0, atol=1e-14)
        np.testing.assert_allclose(cosines[row, listed], largest, rtol=0, atol=1e-14)


@given(searches())
def test_the_runner_up_is_the_largest_cosine_that_is_not_listed(
    search: tuple[np.ndarray, int, np.ndarray],
) -> None:
    x, n, rows = search
    cosines = cosine_matrix(x)
    found = neighbours(as_factors(x, "item factors"), n, rows=rows)
    for row, runner_up in zip(rows, found.runner_up, strict=True):
        ordered = [*np.sort(cosines[row])[::-1], -np.inf]
        if x[row].any():
            np.testing.assert_allclose(runner_up, ordered[n], rtol=0, atol=1e-14)
        else:
            assert np.isnan(runner_up)


@given(st.integers(2, 30), st.integers(1, 4), st.data())
def test_ties_go_by_row_number(n_rows: int, rank: int, data: st.DataObject) -> None:
    """Rows along the axes have cosines of exactly -1, 0 and 1, so nearly everything
    ties.
    """
    axes = data.draw(
        st.lists(st.integers(0, rank - 1), min_size=n_rows, max_size=n_rows)
    )
    lengths = data.draw(
        st.lists(
            st.sampled_from([-2.0, 0.0, 1.0, 4.0]), min_size=n_rows, max_size=n_rows
        )
    )
    x = np.eye(rank)[axes] * np.array(lengths)[:, None]
    n = data.draw(st.integers(1, n_rows - 1))
    indices, cosines, runner_up = brute_force(x, n)
    found = neighbours(x, n)
    for row in range(n_rows):
        if x[row].any():
            expected = [
                j if c > -np.inf else -1
                for j, c in zip(indices[row], cosines[row], strict=True)
            ]
            assert found.indices[row].tolist() == expected
            assert found.runner_up[row] == runner_up[row]


@pytest.mark.parametrize(
    ("dtype", "spread"), [(np.float64, 1e-4), (np.float32, 1e-4), (np.float32, 1.0)]
)
def test_a_search_in_float32_misses_nothing(dtype: type, spread: float) -> None:
    """Rows that crowd about their mean are nearer to each other than float32 tells."""
    x = (1 + spread * np.random.default_rng(4).standard_normal((30_000, 8))).astype(
        dtype
    )
    rows, unit = (
        np.array([7, 20_000, 29_999]),
        x / np.linalg.norm(x.astype(np.float64), axis=1, keepdims=True),
    )
    cosines = unit[rows] @ unit.T
    cosines[np.arange(3), rows] = -2
    best, found = np.sort(cosines)[:, ::-1], neighbours(x, 5, rows=rows)
    np.testing.assert_allclose(found.cosines, best[:, :5], rtol=0, atol=1e-15)
    np.testing.assert_allclose(found.runner_up, best[:, 5], rtol=0, atol=1e-15)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("workers", ["1", "2", "3"])
def test_blocks_and_threads_do_not_choose_among_equal_cosines(
    monkeypatch: pytest.MonkeyPatch, workers: str, dtype: type
) -> None:
    """Rows on a grid have many equal cosines; 5,000 rows pass by in several blocks."""
    x = np.random.default_rng(0).integers(-3, 4, size=(5_000, 4)).astype(dtype)
    rows = np.arange(0, 5_000, 25)
    rows = rows[x[rows].any(axis=1)]
    monkeypatch.setenv("EMBAUDIT_WORKERS", workers)
    found = ea.neighbours(x, 7, rows=rows)
    cosines = cosine_matrix(x)[rows]
    order = np.argsort(-np.round(cosines, 12), axis=1, kind="stable")
    expected = np.take_along_axis(cosines, order[:, :8], axis=1)
    np.testing.assert_array_equal(found.indices, order[:, :7])
    np.testing.assert_allclose(found.cosines, expected[:, :7], rtol=0, atol=1e-14)
    np.testing.assert_allclose(found.runner_up, expected[:, 7], rtol=0, atol=1e-14)


def test_a_shift_moves_every_row_before_the_search() -> None:
    x = np.random.default_rng(2).standard_normal((50, 3)).astype(np.float32)
    shift = np.array([0.5, -2.0, 1.0])
    one, other = (
        neighbours(y, 4, rows=[3, 9])
        for y in (shifted_rows(x, shift), x.astype(np.float64) + shift)
    )
    np.testing.assert_array_equal(one.indices, other.indices)
    np.testing.assert_allclose(one.cosines, other.cosines, rtol=0, atol=1e-15)
    assert (one.indices != neighbours(x, 4, rows=[3, 9]).indices).any()


def test_kept_means_listed_or_tied_with_the_last_one_listed() -> None:
    draw = np.random.default_rng(3)
    before, after = draw.standard_normal((2, 40, 3))
    after[10:] = np.vstack(
        [2 * after[:10], 0.3 * after[:10], 7 * after[:10]]
    )  # bundles of four parallel rows
    n = 6
    one, other = neighbours(before, n), neighbours(after, n)
    cosines = cosine_matrix(after)
    last = np.sort(cosines, axis=1)[:, -n]
    expected = np.take_along_axis(cosines, one.indices, axis=1) >= last[:, None] - TIE
    np.testing.assert_array_equal(one.kept_in(other), expected)
    assert one.overlap(other) == expected.mean() < 1
    assert neighbours(before, 1, rows=[0]).overlap(neighbours(before, 1, rows=[0])) == 1
    listed = [
        [i in row for i in mine]
        for mine, row in zip(one.indices, other.indices, strict=True)
    ]
    assert (expected & ~np.array(listed)).any(), (
        "a tie that is not listed counts as kept"
    )
    wide = np.take_along_axis(cosines, one.indices, axis=1) >= last[:, None] - 0.05
    np.testing.assert_array_equal(one.kept_in(other, tie=0.05), wide)
    assert wide.sum() > expected.sum()


def test_neighbours_never_build_the_square() -> None:
    n_rows = 9000
    x = np.random.default_rng(0).standard_normal((n_rows, 4)).astype(np.float32)
    tracemalloc.start()
    try:
        neighbours(x, 3, rows=np.arange(0, n_rows, 2))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # What was asked for would be 324 MB of cosines, one row block of them 32 MB.
    assert peak < parallel.BLOCK_BYTES


THREE_ROWS = np.ones((3, 2))


@pytest.mark.parametrize("number", [0, -1, 3, 1.0, "2", None])
def test_the_number_of_neighbours_is_an_integer_below_the_number_of_rows(
    number: Any,
) -> None:
    with pytest.raises(
        InputError, match=r"number of neighbours must be an integer from 1 to 2; got"
    ):
        ea.neighbours(THREE_ROWS, number)


@pytest.mark.parametrize(
    ("rows", "part"),
    [
        ([], "rows must be at least one row number; got an empty list"),
        ([3], "rows must be row numbers from 0 to 2; got 3"),
        ([-1], "rows must be row numbers from 0 to 2; got -1"),
        ([True, False, True], "convert a mask to row numbers with np.flatnonzero"),
        ([0.5], "rows must be a vector of integers; got float64 of shape (1,)"),
        ("a", "rows must be a vector of integers; got <U1 of shape ()"),
        (1, "rows must be a vector of integers; got int64 of shape ()"),
        ([[0, 1]], "rows must be a vector of integers; got int64 of shape (1, 2)"),
        ([[0], [0, 1]], "rows must be a rectangular array; got rows that differ"),
    ],
)
def test_neighbours_refuse_rows_that_are_not_row_numbers(rows: Any, part: str) -> None:
    with pytest.raises(InputError, match=re.escape(part)):
        ea.neighbours(THREE_ROWS, 1, rows=rows)


def test_neighbours_refuse_a_single_row_and_a_short_list_of_first_copies() -> None:
    with pytest.raises(InputError, match="rows must be at least 2 to have neighbours"):
        ea.neighbours(THREE_ROWS[:1], 1)
    with pytest.raises(InputError, match="first must be a vector of 3 row numbers"):
        ea.neighbours(THREE_ROWS, 1, first=np.array([0, 1]))


def test_lists_of_different_rows_are_not_compared() -> None:
    two = ea.neighbours(THREE_ROWS, 1, rows=[0, 1])
    one = ea.neighbours(THREE_ROWS, 1, rows=[0])
    with pytest.raises(
        InputError, match="of the same rows; got lists of 2 rows and of 1 other"
    ):
        two.kept_in(one)


@pytest.mark.parametrize(
    ("pairs", "part"),
    [
        ([[0.0, 1.0]], "got float64 of shape (1, 2)"),
        ([0, 1, 2], "got int64 of shape (3,)"),
        ([[0, 1, 2]], "got int64 of shape (1, 3)"),
        ([[0], [0, 1]], "got rows that differ in length"),
        ([["a", "b"]], "got <U1 of shape (1, 2)"),
        ([[True, False]], "got bool of shape (1, 2)"),
        ([[0, 5]], "row numbers from 0 to 2 and from 0 to 2; got (0, 5)"),
        ([[-1, 0]], "row numbers from 0 to 2 and from 0 to 2; got (-1, 0)"),
        ([], "got float64 of shape (0,)"),
    ],
)
def test_cosines_refuse_pairs_that_are_not_row_numbers(pairs: Any, part: str) -> None:
    model = ea.FactorModel.from_vectors(THREE_ROWS)
    with pytest.raises(InputError, match=f"^pairs must be .*{re.escape(part)}"):
        model.cosines("right", pairs)


@given(st.data())
def test_pair_cosines_against_long_double(data: st.DataObject) -> None:
    rank = data.draw(st.integers(1, 5))
    x, y = (
        data.draw(factor_matrices(data.draw(st.integers(1, 5)), rank)) for _ in range(2)
    )
    pairs = np.stack(
        np.meshgrid(np.arange(len(x)), np.arange(len(y))), axis=-1
    ).reshape(-1, 2)
    got = pair_cosines(x, y, pairs)
    wide = [m.astype(np.longdouble) for m in (x, y)]
    norms = [np.sqrt((m**2).sum(axis=1)) for m in wide]
    for (i, j), cosine in zip(pairs, got, strict=True):
        if norms[0][i] == 0 or norms[1][j] == 0:
            assert np.isnan(cosine)
        else:
            exact = (wide[0][i] * wide[1][j]).sum() / (norms[0][i] * norms[1][j])
            assert abs(cosine - exact) <= 16 * np.finfo(float).eps


@given(st.data())
def test_lists_among_rows_that_stand_for_themselves_are_those_of_a_search(
    data: st.DataObject,
) -> None:
    n_rows, n, longer = (
        data.draw(st.integers(3, 25)),
        data.draw(st.integers(1, 4)),
        data.draw(st.integers(0, 8)),
    )
    draw = np.random.default_rng(data.draw(seeds()))
    x = draw.standard_normal((n_rows, 3))
    x[draw.random(n_rows) < 0.1] = 0
    group = np.sort(draw.integers(0, data.draw(st.integers(1, n_rows)), n_rows))
    first = np.searchsorted(group, group)
    rows, n = draw.integers(0, n_rows, 6), min(n, n_rows - 1)
    found = neighbours(x, min(n + longer, n_rows - 1), rows=rows).among(first, n)
    wanted = neighbours(x, n, rows=rows, first=first)
    for name in ("rows", "indices"):
        np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name))
    for name in ("cosines", "runner_up"):
        np.testing.assert_allclose(
            getattr(found, name), getattr(wanted, name), rtol=0, atol=1e-14
        )
