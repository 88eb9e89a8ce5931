"""Numbers half way between two printed ones are printed alike whatever their last bits are."""

from __future__ import annotations

import numpy as np
import pytest

from embaudit.core.words import apportioned, percent, share_of, two_decimals

BITS = [-2, -1, 0, 1, 2]
"""Steps of the last bit of a float64."""


def moved(value: float, steps: int) -> float:
    return value + steps * float(np.spacing(value))


@pytest.mark.parametrize("steps", BITS)
def test_halves_are_printed_as_even_digits(steps: int) -> None:
    assert two_decimals(moved(0.125, steps)) == "0.12"
    assert two_decimals(moved(0.375, steps)) == "0.38"
    assert percent(moved(0.125, steps)) == "12 %"
    assert share_of(moved(0.25, steps), 10) == "2 of 10"


@pytest.mark.parametrize("steps", BITS)
def test_of_equal_parts_the_first_one_is_rounded_up(steps: int) -> None:
    assert apportioned([0.145, moved(0.145, steps)], 0.29, 0.01) == [0.15, 0.14]
