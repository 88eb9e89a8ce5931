"""Cosines of blocks: the identity and the bounds, for every division of the vectors."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from embaudit.blocks import BlockCosines, block_cosines
from embaudit.errors import InputError

sizes = st.integers(2, 24)
entries = st.floats(-100, 100, allow_subnormal=False).map(lambda v: round(v, 3))


@st.composite
def cut_vectors(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    n = draw(sizes)
    x, y = (
        draw(hnp.arrays(float, n, elements=entries)),
        draw(hnp.arrays(float, n, elements=entries)),
    )
    x[0] = x[0] or 1.0
    y[-1] = y[-1] or 1.0
    return x, y, draw(hnp.arrays(int, n, elements=st.integers(0, 4)))


def brute_force(
    x: np.ndarray, y: np.ndarray, labels: np.ndarray
) -> tuple[dict[str, float], float]:
    """Cosines with 50 digits, straight from the definition."""
    with mpmath.workdps(50):

        def cosine(a: np.ndarray, b: np.ndarray) -> float:
            dot = mpmath.fsum(
                mpmath.mpf(float(p)) * mpmath.mpf(float(q))
                for p, q in zip(a, b, strict=True)
            )
            squares = [
                mpmath.fsum(mpmath.mpf(float(p)) ** 2 for p in v) for v in (a, b)
            ]
            return (
                float(dot / mpmath.sqrt(squares[0] * squares[1]))
                if all(squares)
                else math.nan
            )

        return {
            str(b): cosine(x[labels == b], y[labels == b]) for b in np.unique(labels)
        }, cosine(x, y)


def test_blocks_of_cosine_1_can_have_a_global_cosine_of_3_over_root_10() -> None:
    result = block_cosines([1, 1], [1, 2])
    with mpmath.workdps(50):
        exact = float(3 / mpmath.sqrt(10))
    assert result.cosines.tolist() == [1.0, 1.0]
    assert result.global_cosine == exact == result.norm_cosine
    assert result.mean_cosine == pytest.approx(1.0, abs=1e-15)
    assert result.bounds_without_norms == (0.0, 1.0)
    assert result.bounds[0] == pytest.approx(exact, abs=1e-15)


def test_cut_by_rows_a_vector_is_one_block() -> None:
    x = {"w": np.array([[1.0, 2.0], [3.0, 4.0]]), "b": np.array([1.0, 2.0, 3.0])}
    for cut, names in (("rows", ["w[0]", "w[1]", "b"]), ("tensors", ["w", "b"])):
        found = block_cosines(x, x, cut)
        assert found.names == names


@given(cut_vectors())
def test_local_and_global_cosines_agree_with_their_definition(
    case: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> None:
    x, y, labels = case
    result = block_cosines(x, y, blocks=labels)
    local, whole = brute_force(x, y, labels)
    assert result.global_cosine == pytest.approx(whole, abs=1e-15)
    for name, cosine in zip(result.names, result.cosines, strict=True):
        assert cosine == pytest.approx(local[name], abs=4e-15, nan_ok=True)


@given(cut_vectors())
def test_the_global_cosine_is_a_mean_of_local_cosines_times_a_cosine_of_lengths(
    case: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> None:
    x, y, labels = case
    result = block_cosines(x, y, blocks=labels)
    assert result.identity_error < 1e-14
    assert 0 <= result.norm_cosine <= 1
    if result.norm_cosine:
        product = result.norm_cosine * result.mean_cosine
        assert product == pytest.approx(result.global_cosine, abs=1e-14)


@given(cut_vectors())
def test_the_global_cosine_lies_within_its_bounds(
    case: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> None:
    x, y, labels = case
    result = block_cosines(x, y, blocks=labels)
    for low, high in (result.bounds, result.bounds_without_norms):
        assert low - 1e-14 <= result.global_cosine <= high + 1e-14


@given(cut_vectors())
def test_the_gap_of_a_block_is_half_its_squared_distance_between_unit_vectors(
    case: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> None:
    x, y, labels = case
    result = block_cosines(x, y, blocks=labels)
    difference = x / np.linalg.norm(x) - y / np.linalg.norm(y)
    for name, gap in zip(result.names, result.gaps, strict=True):
        expected = (difference[labels == int(name)] ** 2).sum() / 2
        assert gap == pytest.approx(expected, abs=1e-14)
        assert gap >= -1e-16


@given(cut_vectors())
def test_gaps_add_up_to_1_less_the_cosine(
    case: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> None:
    x, y, labels = case
    result = block_cosines(x, y, blocks=labels)
    gap = 1 - result.global_cosine
    norm_gap = 1 - result.norm_cosine
    assert math.fsum(result.gaps) == pytest.approx(gap, abs=1e-14)
    assert math.fsum(result.norm_gaps) == pytest.approx(norm_gap, abs=1e-14)


@given(cut_vectors())
def test_the_cosine_without_a_block_is_that_of_the_other_entries(
    case: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> None:
    x, y, labels = case
    result = block_cosines(x, y, blocks=labels)
    for name, without in zip(result.names, result.without, strict=True):
        kept = labels != int(name)
        lengths = np.linalg.norm(x[kept]) * np.linalg.norm(y[kept])
        expected = math.nan
        if lengths > 0:
            expected = x[kept] @ y[kept] / lengths
        assert without == pytest.approx(expected, abs=1e-13, nan_ok=True)


def turned(x: np.ndarray, cosine: float, norm: float) -> np.ndarray:
    """A plane vector of a given cosine with x and a given norm."""
    sine = math.sqrt(1 - cosine**2)
    return norm / np.linalg.norm(x) * (np.array([[cosine, -sine], [sine, cosine]]) @ x)


@given(
    st.floats(-1, 1),
    st.lists(st.tuples(st.floats(0.1, 10), st.floats(0.1, 10)), min_size=2, max_size=6),
)
def test_bounds_with_norms_are_attained(
    level: float, norms: list[tuple[float, float]]
) -> None:
    x = [np.array([a, 0.0]) for a, _ in norms]
    result = block_cosines(
        x, [turned(block, level, b) for block, (_, b) in zip(x, norms, strict=True)]
    )
    assert result.global_cosine == pytest.approx(result.bounds[0], abs=1e-12)
    assert result.global_cosine == pytest.approx(result.bounds[1], abs=1e-12)


@pytest.mark.parametrize("cosines", [(0.9, 0.3), (0.9, -0.4), (-0.2, -0.8)])
def test_bounds_without_norms_are_approached(cosines: tuple[float, float]) -> None:
    def with_norms(a: tuple[float, float], b: tuple[float, float]) -> BlockCosines:
        x = [np.array([norm, 0.0]) for norm in a]
        return block_cosines(
            x, [turned(block, c, n) for block, c, n in zip(x, cosines, b, strict=True)]
        )

    low, high = with_norms((1, 1), (1, 1)).bounds_without_norms
    eps = 1e-7
    reached = [
        with_norms(a, b).global_cosine
        for a in ((1, eps), (eps, 1))
        for b in ((1, eps), (eps, 1))
    ]
    assert min(reached) == pytest.approx(low, abs=1e-6)
    assert max(reached) == pytest.approx(high, abs=1e-6)
    assert (low, high) == (min(0, *cosines), max(0, *cosines))


def test_the_published_upper_bound_fails_when_all_local_cosines_are_negative() -> None:
    result = block_cosines([[1.0], [1.0]], [[-1.0], [-100.0]])
    assert result.cosines.max() == -1
    assert result.global_cosine > result.cosines.max()
    assert result.global_cosine <= result.bounds_without_norms[1]


def test_blocks_of_very_different_size_keep_their_own_cosine() -> None:
    x = np.array([[1e-99, 1e-99], [1.0, 0.0], [1e99, 1e99]])
    y = np.array([[1e-99, 0.0], [1.0, 1.0], [1e99, -1e99]])
    result = block_cosines(x, y)
    np.testing.assert_allclose(
        result.cosines, [math.sqrt(0.5), math.sqrt(0.5), 0.0], atol=1e-15
    )
    assert result.global_cosine == pytest.approx(0, abs=1e-15)
    assert result.zero_blocks == {"x": 0, "y": 0, "both": 0}


def test_a_block_shorter_than_1e_100_counts_as_zero() -> None:
    x = np.array([[1e-101, 0.0], [1.0, 1.0]])
    y = np.array([[1.0, 0.0], [1.0, 0.0]])
    result = block_cosines(x, y)
    np.testing.assert_allclose(result.cosines, [math.nan, math.sqrt(0.5)])
    assert result.zero_blocks == {"x": 1, "y": 0, "both": 0}


@pytest.mark.parametrize("size", [1e-101, 1e-170, 1e101, 1e170, 1e300])
def test_vectors_beyond_the_range_of_lengths_are_refused(size: float) -> None:
    with pytest.raises(InputError, match=r"norm of y must be from 1e-100 to 1e\+100"):
        block_cosines([1.0, 2.0], [size, size])


def test_two_rows_are_cut_into_dimensions_that_add_up_to_their_cosine() -> None:
    x, y = np.array([3.0, 0.0, 1.0]), np.array([3.0, 1.0, 0.0])
    # The norms are √10: the first dimension adds 9/10, the other two have a zero each.
    result = block_cosines(x, y)
    np.testing.assert_allclose(result.contributions, [0.9, 0.0, 0.0], atol=1e-15)
    assert result.global_cosine == pytest.approx(0.9, abs=1e-15)
    grouped = block_cosines(x, y, ["popularity", "taste", "taste"])
    assert grouped.names == ["popularity", "taste"]
    np.testing.assert_allclose(grouped.contributions, [0.9, 0.0], atol=1e-15)


def test_blocks_of_equal_vectors_share_no_gap():
    """The global cosine is 1 up to rounding, so no block explains a part of a gap."""
    x = np.random.default_rng(0).normal(size=(5, 7))
    gaps = block_cosines(x, x).largest_gaps(share=None)
    assert (gaps["gap_share"] == 0).all()
    assert len(gaps) == 5
