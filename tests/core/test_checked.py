"""Checks of arguments accept every usable value and name the mistake in all others."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from embaudit.core.checked import (
    as_count,
    as_factors,
    as_generator,
    as_list,
    as_numbers,
    as_rows,
    as_seed,
    as_texts,
    as_vector,
    is_integer,
    is_number,
    require_each,
    require_one_of,
)
from embaudit.errors import InputError


@pytest.mark.parametrize("value", [2, 2.5, np.int8(2), np.float16(0.5), -(10**300)])
def test_finite_real_numbers_are_numbers(value):
    assert is_number(value)


@pytest.mark.parametrize(
    "value",
    [
        True,
        np.True_,
        "2",
        1j,
        None,
        np.nan,
        np.inf,
        np.float32("inf"),
        10**400,
        Fraction(1, 2),
        np.array(2.0),
        [2],
    ],
)
def test_booleans_arrays_and_infinite_values_are_no_numbers(value):
    assert not is_number(value)


def test_integers_are_python_or_numpy_integers_and_no_booleans():
    assert is_integer(3)
    assert is_integer(np.uint8(3))
    assert not any(is_integer(value) for value in (True, np.True_, 3.0, "3", None))


@pytest.mark.parametrize(
    ("call", "part"),
    [
        (lambda: as_count(0, "n"), "n must be an integer >= 1; got 0"),
        (lambda: as_count(True, "n"), "an integer >= 1; got True"),
        (lambda: as_count(9, "n", most=8), "an integer from 1 to 8; got 9"),
        (lambda: require_one_of("c", "x", ["a", "b"]), "one of a, b; got 'c'"),
        (lambda: require_one_of(np.array("a"), "x", ["a"]), "one of a; got array"),
        (lambda: as_list("ab", "x", "[1]"), "a list, such as [1]; got 'ab'"),
        (lambda: as_list(b"ab", "x", "[1]"), "a list, such as [1]"),
        (lambda: as_list({"a": 1}, "x", "[1]"), "a list, such as [1]"),
        (lambda: as_list(np.array(3), "x", "[1]"), "a list, such as [1]"),
        (lambda: as_list(3, "x", "[1]"), "a list, such as [1]; got 3"),
        (lambda: as_rows([0.0], 2), "a vector of integers; got float64 of shape (1,)"),
        (lambda: as_rows([0, 2], 2), "row numbers from 0 to 1; got 2"),
        (lambda: as_rows([-1], 2), "row numbers from 0 to 1; got -1"),
        (lambda: as_numbers(["a"], "x"), "an array of real numbers; got dtype <U1"),
        (lambda: as_numbers("a", "x"), "an array of real numbers; got 'a'"),
        (lambda: as_factors([1.0], "x"), "one row and one column; got shape (1,)"),
        (lambda: as_factors(3.0, "x"), "one row and one column; got one float"),
        (lambda: as_factors(np.ones((0, 2)), "x"), "got shape (0, 2)"),
        (lambda: as_factors([["a"]], "x"), "convert it to float32 or float64"),
        (lambda: as_factors([[1.0, np.inf]], "x"), "got inf at row 0, column 1"),
        (lambda: as_vector([1.0], "x", 2), "a vector of 2 numbers; got shape (1,)"),
        (lambda: as_vector([np.nan, 1], "x", 2), "got nan at row 0, column 0"),
        (lambda: require_each(["a", np.nan], "ids"), "got nan in row 1"),
        (lambda: require_each(np.array([1.0, np.nan]), "ids"), "got nan in row 1"),
        (
            lambda: as_texts(["a" * 10**6, *"b" * 99], "x"),
            "characters among 100 texts; shorten",
        ),
        (lambda: as_generator(True), "an integer >= 0 or None; got True"),
        (lambda: as_generator(1.0), "an integer >= 0 or None; got 1.0"),
    ],
)
def test_an_unusable_argument_is_named_with_what_is_allowed(call, part):
    with pytest.raises(InputError) as error:
        call()
    assert part in str(error.value)


def test_texts_nan_and_none_are_labels_if_they_are_texts():
    require_each(["nan", "None"], "ids")


@pytest.mark.parametrize(
    ("stored", "kept"),
    [("f2", "f4"), ("f4", "f4"), ("f8", "f8"), ("i2", "f8"), ("u1", "f8")],
)
def test_factors_keep_single_and_double_precision(stored, kept):
    assert as_factors(np.ones((2, 2), dtype=stored), "x").dtype == kept


def test_factors_are_a_read_only_view_and_the_array_of_the_caller_stays_writeable():
    array = np.ones((2, 2))
    factors = as_factors(array, "x")
    assert np.shares_memory(array, factors)
    assert not factors.flags.writeable
    assert array.flags.writeable


def test_a_seed_is_kept_and_no_seed_draws_one():
    assert as_seed(np.int64(7)) == 7
    assert 0 <= as_seed(None) < 2**31
    draw = np.random.default_rng(0)
    assert as_seed(draw) == np.random.default_rng(0).integers(2**31)
