"""Duplicate rows and near pairs, compared with a search of all pairs."""

from __future__ import annotations

import numpy as np
import pytest

from embaudit.linalg.duplicates import (
    duplicate_representatives,
    near_pairs,
    resolution,
    spacing_of,
)
from embaudit.linalg.pair_cosines import pair_cosines


def rows_around_few_directions(n, k):
    """Rows around eight directions, at distances on both sides of that of near pairs.

    Their lengths differ, because only directions count.
    """
    draw = np.random.default_rng(0)
    directions = draw.standard_normal((8, k))
    noise = 0.01 * draw.standard_normal((n, k))
    rows = directions[draw.integers(8, size=n)] + noise
    return rows * draw.uniform(0.1, 9, size=(n, 1))


def near_pairs_by_all_cosines(x, least):
    """Compute all cosines, and list the pairs i < j above `least`."""
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    # The entries above the diagonal are the pairs i < j.
    is_near = np.triu(unit @ unit.T > least, k=1)
    return np.argwhere(is_near).tolist()


@pytest.mark.parametrize("k", [2, 3, 6, 30])
@pytest.mark.parametrize("least", [0.9999, 0.99, 0.5])
@pytest.mark.parametrize("n", [24, 120])
def test_near_pairs_are_those_of_all_pairs(k, least, n):
    x = rows_around_few_directions(n, k)
    expected = near_pairs_by_all_cosines(x, least)
    assert len(expected) > n / 6
    assert sorted(near_pairs(x, np.arange(n), least).tolist()) == expected


BFLOAT16, FLOAT16, FLOAT32 = 8, 11, 24
"""Binary digits of the significand of each format, with the leading one."""


def numbers_of(digits):
    """Random numbers of any size that are rounded to so many binary digits."""
    significands, exponents = np.frexp(
        np.random.default_rng(0).standard_normal((40, 7))
    )
    whole = np.rint(significands * 2.0**digits)
    return np.ldexp(whole, exponents - digits)


@pytest.mark.parametrize("digits", [BFLOAT16, FLOAT16, FLOAT32])
def test_numbers_of_a_format_have_the_spacing_of_this_format(digits):
    """Between 1 and 2, numbers of d binary digits are 2^(1 − d) apart."""
    assert spacing_of(numbers_of(digits)) == 2.0 ** (1 - digits)


@pytest.mark.parametrize("digits", [BFLOAT16, FLOAT16, FLOAT32])
def test_zeros_are_numbers_of_every_format(digits):
    x = numbers_of(digits)
    with_zeros = np.vstack([x, np.zeros((1, 7))])
    assert spacing_of(with_zeros) == spacing_of(x)


@pytest.mark.parametrize(
    ("digits", "spacing_of_next_format"),
    [(BFLOAT16, 2.0**-10), (FLOAT16, 2.0**-23), (FLOAT32, 2.0**-52)],
)
def test_one_number_with_a_further_digit_needs_the_next_format(
    digits, spacing_of_next_format
):
    x = numbers_of(digits)
    x[3, 2] = 1 + 2.0**-digits
    assert spacing_of(x) == spacing_of_next_format


def test_whole_numbers_were_not_rounded_so_they_have_the_spacing_of_float64():
    whole = np.rint(9 * numbers_of(BFLOAT16))
    assert spacing_of(whole) == 2.0**-52


def test_below_its_smallest_ordinary_number_a_format_has_fewer_digits():
    """The steps of float16 do not shrink below 2⁻²⁴, those of bfloat16 do.

    2⁻²⁴ and 3·2⁻²⁴ are multiples of both, so the shorter format is taken.
    """
    x = np.array([[0.5, 2.0**-24, 3 * 2.0**-24]])
    assert spacing_of(x) == 2.0**-7


def test_numbers_that_float16_holds_with_few_digits_are_numbers_of_float16():
    x = np.array([[0.1, 7e-8]], dtype=np.float16)
    assert spacing_of(x.astype(np.float64)) == 2.0**-10


def test_a_number_between_the_smallest_steps_of_float16_needs_float32():
    """1.5·2⁻²⁴ has two digits, but float16 has only multiples of 2⁻²⁴ there."""
    x = np.array([[float(np.float16(0.1)), 1.5 * 2.0**-24]])
    assert spacing_of(x) == 2.0**-23


BASE = np.random.default_rng(0).standard_normal((4, 5))
ROWS_AND_COPIES = np.vstack([BASE, 2 * BASE[::-1], -BASE, BASE[:1] + 1e-4])
"""Rows 4 to 7 are twice the rows 3, 2, 1, 0. Rows 8 to 11 are opposite to rows 0 to 3,
and row 12 is near to row 0."""


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_of_one_direction_have_the_first_one_as_representative(dtype):
    x = ROWS_AND_COPIES.astype(dtype)
    found = duplicate_representatives(x, np.arange(13))
    assert found.tolist() == [0, 1, 2, 3, 3, 2, 1, 0, 8, 9, 10, 11, 12]


def test_representatives_are_places_among_the_compared_rows():
    """Of the rows 1, 5, 6 and 9 only row 6 has the direction of an earlier row, 1."""
    found = duplicate_representatives(ROWS_AND_COPIES, np.array([1, 5, 6, 9]))
    assert found.tolist() == [0, 1, 0, 3]


def test_duplicates_are_found_among_thousands_of_rows_of_five_directions():
    draw = np.random.default_rng(0)
    directions = draw.standard_normal((5, 16))
    direction_of_row = draw.integers(5, size=3_000)
    x = directions[direction_of_row] * draw.uniform(0.1, 9, size=(3_000, 1))
    first_row_of = {}
    expected = []
    for row, direction in enumerate(direction_of_row):
        first_row_of.setdefault(direction, row)
        expected.append(first_row_of[direction])
    found = duplicate_representatives(x, np.arange(3_000))
    assert found.tolist() == expected


def rows_with_the_cosine(cosine):
    """Search the angles near arccos for two rows with exactly this computed cosine."""
    for angle in np.arccos(cosine) * np.linspace(0.9, 1.1, 400):
        x = np.array([[1.0, 0.0], [np.cos(angle), np.sin(angle)]])
        if pair_cosines(x, x, [[0, 1]])[0] == cosine:
            return x
    raise AssertionError(f"no angle has the cosine {cosine!r}")


def test_a_cosine_that_rounding_alone_can_bring_below_1_is_that_of_a_copy():
    x = rows_with_the_cosine(1 - resolution(2))
    assert duplicate_representatives(x, np.arange(2)).tolist() == [0, 0]


def test_the_next_smaller_cosine_is_that_of_another_row():
    x = rows_with_the_cosine(np.nextafter(1 - resolution(2), 0))
    assert duplicate_representatives(x, np.arange(2)).tolist() == [0, 1]


def test_rows_that_drift_away_from_the_first_row_are_no_copies_of_it():
    """The second row is a copy of the first, and the third is one of the second only.

    The angles are 0.8 and 1.6 times the largest angle of copies.
    """
    largest_angle = np.arccos(1 - resolution(2))
    angles = largest_angle * np.array([0.0, 0.8, 1.6])
    rows = np.column_stack([np.cos(angles), np.sin(angles)])
    last_two = rows[1:]
    assert duplicate_representatives(last_two, np.arange(2)).tolist() == [0, 0]
    assert duplicate_representatives(rows, np.arange(3)).tolist() == [0, 0, 2]
