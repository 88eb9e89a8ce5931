"""Numbers in sentences: the last bits of a number decide nothing, and shares are not
rounded to 0 or 100 %.
"""

from __future__ import annotations

import numpy as np
import pytest

from embaudit.core.words import (
    apportioned,
    percent,
    percents_apart,
    share_of,
    three_decimals,
    two_decimals,
)

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


@pytest.mark.parametrize("steps", BITS)
@pytest.mark.parametrize("share", [0.9975, 0.9985, 0.9915, 0.0025, 0.0045])
def test_a_share_is_rounded_alike_in_a_sentence_and_in_a_table(
    share: float, steps: int
) -> None:
    in_sentence = float(percent(moved(share, steps)).removesuffix(" %"))
    in_table = float(three_decimals(moved(share, steps)))
    assert in_sentence == pytest.approx(100 * in_table, abs=1e-9)


def test_small_shares_are_told_apart() -> None:
    assert percents_apart([0.05, 0.000274, 0.0001]) == ["5 %", "0.03 %", "0.01 %"]
    assert percents_apart([0.9996, 0.99977, 1.0]) == ["99.96 %", "99.98 %", "100 %"]
    assert percents_apart([0.000274, 0.000274]) == ["<0.1 %", "<0.1 %"]
    assert percents_apart([]) == []


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0, "0 %"),
        (0.0001, "<0.1 %"),
        (0.000274, "<0.1 %"),
        (0.001, "0.1 %"),
        (0.0099, "1.0 %"),
        (0.01, "1 %"),
        (0.5, "50 %"),
        (0.99, "99 %"),
        (0.9901, "99.0 %"),
        (0.99999, "99.9 %"),
        (1.0, "100 %"),
        (np.nan, "–"),
    ],
)
def test_shares_are_never_rounded_to_all_or_nothing(share, text):
    assert percent(share) == text
