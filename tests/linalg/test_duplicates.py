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
from embaudit.linalg.pairs import pair_cosines
from embaudit.linalg.rows import unit_rows


def crowded(seed=0, n=120, k=6, noise=0.01):
    """Rows around a few directions, at distances on both sides of that of twins."""
    draw = np.random.default_rng(seed)
    directions = draw.standard_normal((8, k))
    rows = directions[draw.integers(8, size=n)] + noise * draw.standard_normal((n, k))
    return rows * draw.uniform(0.1, 9, size=(n, 1))


def pairs_of(x, least):
    unit = unit_rows(x)
    return np.argwhere(np.triu(unit @ unit.T > least, 1)).tolist()


@pytest.mark.parametrize("k", [2, 3, 6, 30])
@pytest.mark.parametrize("least", [0.9999, 0.99, 0.5])
@pytest.mark.parametrize("n", [24, 120])
def test_near_pairs_are_those_of_all_pairs(k, least, n):
    x = crowded(n=n, k=k)
    wanted = pairs_of(x, least)
    assert len(wanted) > n / 6
    assert sorted(near_pairs(x, np.arange(len(x)), least).tolist()) == wanted


@pytest.mark.parametrize("digits", [8, 11, 24])
def test_the_spacing_is_that_of_the_shortest_format_that_holds_all_numbers(digits):
    draw = np.random.default_rng(0)
    numbers, exponents = np.frexp(draw.standard_normal((40, 7)))
    x = np.ldexp(np.rint(np.ldexp(numbers, digits)), exponents - digits)
    spacing = 2.0 ** (1 - digits)
    assert spacing_of(x) == spacing
    assert spacing_of(np.vstack([x, np.zeros((1, 7))])) == spacing
    x[3, 2] = 1 + 2.0**-digits
    assert spacing_of(x) == {8: 2.0**-10, 11: 2.0**-23, 24: 2.0**-52}[digits]
    assert spacing_of(np.rint(9 * x)) == 2.0**-52
    # Below the smallest ordinary number of a format its steps no longer shrink.
    tiny = np.array([[0.5, 2.0**-24, 3 * 2.0**-24]])
    assert spacing_of(tiny) == 2.0**-7
    assert spacing_of(np.float16([[0.1, 7e-8]]).astype(float)) == 2.0**-10


def test_first_copies_are_rows_of_one_direction_whatever_their_length():
    base = np.random.default_rng(0).standard_normal((4, 5))
    x = np.vstack([base, 2 * base[::-1], -base, base[:1] + 1e-4])
    found = duplicate_representatives(x, np.arange(13)).tolist()
    assert found == [0, 1, 2, 3, 3, 2, 1, 0, 8, 9, 10, 11, 12]
    assert duplicate_representatives(x, np.array([1, 5, 6, 9])).tolist() == [0, 1, 0, 3]
    in_float32 = duplicate_representatives(x.astype(np.float32), np.arange(13))
    assert in_float32.tolist() == found


def test_duplicates_are_found_in_a_large_group_and_among_rows_of_few_directions():
    draw = np.random.default_rng(0)
    directions = draw.standard_normal((5, 16))
    which = draw.integers(5, size=3_000)
    x = directions[which] * draw.uniform(0.1, 9, size=(3_000, 1))
    first = np.array([np.flatnonzero(which == one)[0] for one in range(5)])
    found = duplicate_representatives(x, np.arange(3_000))
    assert found.tolist() == first[which].tolist()


def test_a_cosine_as_far_from_1_as_rounding_brings_one_is_that_of_a_copy():
    edge = 1 - resolution(2)
    found = {}
    for angle in np.arccos(edge) * np.linspace(0.9, 1.1, 400):
        x = np.array([[1.0, 0.0], [np.cos(angle), np.sin(angle)]])
        cosine = float(pair_cosines(x, x, [[0, 1]])[0])
        found[cosine] = duplicate_representatives(x, np.arange(2)).tolist()
    assert found[edge] == [0, 0]
    assert found[np.nextafter(edge, 0)] == [0, 1]
