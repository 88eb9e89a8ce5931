"""The least of a function with one valley: where it is, against an independent search, and how many places it takes."""

from __future__ import annotations

from math import cosh, exp

import pytest
from scipy.optimize import minimize_scalar

from embaudit.kernels.minimum import minimum

VALLEYS = {
    "a parabola": lambda x: (x - 0.3) ** 2 + 1,
    "a corner": lambda x: abs(x - 0.6),
    "falling": lambda x: -x,
    "rising": lambda x: 2.0 + x,
    "steep and flat": lambda x: max(exp(5 * (x - 0.4)), exp(-2 * (x - 0.4))),
    "nearly flat": lambda x: cosh(9 * (x - 0.7)) ** 0.3 + 0.1 * abs(x - 0.5),
    "even": lambda x: 0.0 * x,
}


@pytest.mark.parametrize("name", VALLEYS)
@pytest.mark.parametrize("within", [1e-3, 1e-6])
def test_it_goes_where_the_library_goes(name, within):
    tried = []

    def valley(x):
        tried.append(x)
        return float(VALLEYS[name](x))

    found = minimum(valley, 0.0, 1.0, within=within)
    expected = minimize_scalar(VALLEYS[name], bounds=(0, 1), method="bounded", options={"xatol": within})
    assert (found.x, found.value) == pytest.approx((expected.x, expected.fun), abs=within / 2)
    assert len(tried) == expected.nfev
    assert all(0 < x < 1 for x in tried)
    assert found.value == min(map(VALLEYS[name], tried))


def test_the_least_of_a_parabola_is_found_within_what_was_asked():
    for low, high in ((-3.0, 5.0), (0.2, 0.31)):
        assert minimum(VALLEYS["a parabola"], low, high, within=1e-7).x == pytest.approx(0.3, abs=1e-7)


def test_an_end_is_neared_and_never_tried():
    assert 0 < 1 - minimum(VALLEYS["falling"], 0.0, 1.0, within=1e-4).x < 1e-4
