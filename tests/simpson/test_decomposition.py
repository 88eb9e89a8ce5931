"""Covariances within and between groups against numpy, p-values against enumeration."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import embaudit as ea
from embaudit.simpson import ReversalKind

numbers = st.floats(-1000, 1000).map(lambda value: round(value, 2))


@st.composite
def tables(draw: st.DrawFn) -> pd.DataFrame:
    """Draw a table of up to four groups in which x and y vary."""
    n = draw(st.integers(4, 40))
    frame = pd.DataFrame(
        {
            "x": draw(hnp.arrays(float, n, elements=numbers)),
            "y": draw(hnp.arrays(float, n, elements=numbers)),
            "g": draw(hnp.arrays(int, n, elements=st.integers(0, 3))),
        }
    )
    assume((frame.min() < frame.max()).all())
    return frame


def shifted(frame, offset):
    return frame.assign(x=frame["x"] + offset, y=frame["y"] - offset)


def compared(frame, **options):
    return ea.simpson(frame, "x", "y", "g", **{"n_permutations": 0, **options})


@given(tables(), st.sampled_from([0.0, 1e6]))
def test_within_plus_between_is_the_pooled_covariance(frame, offset):
    report = compared(shifted(frame, offset))
    covariance = np.cov(frame["x"], frame["y"], bias=True)
    scale = max(1.0, covariance[0, 0], covariance[1, 1])
    parts = report.covariance_within + report.covariance_between
    assert parts == pytest.approx(covariance[0, 1], abs=1e-8 * scale)
    groups = report.to_frame()
    assert groups["covariance_within"].sum() == pytest.approx(report.covariance_within)
    assert groups["covariance_between"].sum() == pytest.approx(
        report.covariance_between, abs=1e-8 * scale
    )


@given(tables(), st.sampled_from([0.0, 1e6]))
def test_numbers_of_a_group_are_those_of_its_rows(frame, offset):
    groups = compared(shifted(frame, offset)).to_frame()
    for name, rows in frame.groupby("g"):
        group = groups.loc[str(name)]
        assert group["n"] == len(rows)
        assert group["mean_x"] - offset == pytest.approx(rows["x"].mean(), abs=1e-8)
        assert group["std_x"] == pytest.approx(np.std(rows["x"]), abs=1e-8)
        is_constant = rows.min() == rows.max()
        assert np.isnan(group["slope"]) == is_constant["x"]
        assert np.isnan(group["r"]) == (is_constant["x"] or is_constant["y"])
        if np.std(rows["x"]) > 0.1:
            slope = np.polyfit(rows["x"], rows["y"], 1)[0]
            assert group["slope"] == pytest.approx(slope, abs=1e-5, rel=1e-5)


@given(tables())
def test_pooled_and_within_are_regressions_without_and_with_group_intercepts(frame):
    report = compared(frame)
    x, y = frame["x"], frame["y"]
    r_pooled = np.corrcoef(x, y)[0, 1]
    assert report.r_pooled == pytest.approx(r_pooled, abs=1e-9)
    x = x - x.groupby(frame["g"]).transform("mean")
    y = y - y.groupby(frame["g"]).transform("mean")
    if x.std() > 0.1 and y.std() > 0.1:
        assert report.r_within == pytest.approx(np.corrcoef(x, y)[0, 1], abs=1e-9)
        assert report.slope_within == pytest.approx((x @ y) / (x @ x))


@given(tables())
def test_a_full_reversal_needs_a_between_term_that_opposes_and_outweighs(frame):
    report = compared(frame, min_size=2)
    if report.kind is ReversalKind.REVERSAL:
        within, between = report.covariance_within, report.covariance_between
        assert within * between < 0
        assert abs(between) > abs(within)
    groups = report.to_frame()["covariance_within"]
    pooled = report.covariance_within + report.covariance_between
    sign = np.sign(pooled)
    if sign and (groups * sign <= 0).all() and (groups * sign < 0).any():
        assert report.covariance_between * sign > 0
        assert abs(report.covariance_between) > abs(report.covariance_within)


def test_a_between_term_that_opposes_but_is_smaller_reverses_nothing():
    # Inside each group y rises by 10 with x; the second group lies 1 right and 1 down.
    frame = pd.DataFrame(
        {
            "x": [0.0, 10.0, 1.0, 11.0],
            "y": [1.0, 11.0, 0.0, 10.0],
            "g": ["a", "a", "b", "b"],
        }
    )
    report = compared(frame, min_size=2)
    assert report.covariance_within == 25
    assert report.covariance_between == -0.25
    assert report.kind is ReversalKind.NONE


def shift_of_correlation(x, y, codes):
    """Return |r pooled - r within| from correlations of numpy."""
    means_x = np.array([x[codes == code].mean() for code in codes])
    means_y = np.array([y[codes == code].mean() for code in codes])
    r_within = np.corrcoef(x - means_x, y - means_y)[0, 1]
    return abs(np.corrcoef(x, y)[0, 1] - r_within)


@pytest.mark.parametrize("sizes", [(4, 4), (5, 3), (2, 6)])
def test_the_p_value_is_the_share_of_all_groupings_that_change_as_much(sizes):
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((2, 8))
    x[: sizes[0]] += 1.5
    y[: sizes[0]] -= 1.5
    observed = np.repeat([0, 1], sizes)
    changes = []
    for chosen in itertools.combinations(range(8), sizes[0]):
        codes = np.where(np.isin(np.arange(8), chosen), 0, 1)
        changes.append(shift_of_correlation(x, y, codes))
    exact = np.mean(np.array(changes) >= shift_of_correlation(x, y, observed) - 1e-9)
    frame = pd.DataFrame({"x": x, "y": y, "g": observed})
    p_value = compared(frame, n_permutations=20_000).p_value
    # Three standard errors of a share of one half are 0.011.
    assert p_value == pytest.approx(exact, abs=0.011)


@pytest.mark.parametrize("distance", [1, 1e3, 1e5])
def test_the_p_value_of_three_groups_is_that_of_all_permutations(distance):
    rng = np.random.default_rng(3)
    x, y = rng.standard_normal((2, 7))
    observed = np.array([0, 0, 0, 1, 1, 2, 2])
    x += distance * observed
    y -= distance * observed
    changes = {
        codes: shift_of_correlation(x, y, np.array(codes))
        for codes in set(itertools.permutations(observed.tolist()))
    }
    # 7! / (3! 2! 2!) different assignments, each equally probable.
    assert len(changes) == 210
    exact = np.mean(np.array([*changes.values()]) >= changes[tuple(observed)] - 1e-9)
    frame = pd.DataFrame({"x": x, "y": y, "g": observed})
    p_value = compared(frame, n_permutations=20_000).p_value
    assert p_value == pytest.approx(exact, abs=0.011)


@pytest.mark.parametrize("distance", [1e3, 1e4, 1e5])
def test_rounding_breaks_no_ties_of_groups_that_lie_far_apart(distance):
    # Four pairs recur in 4! / 2520 = 1 / 105 of all groupings, with the names of the
    # pairs exchanged. These change the correlation exactly as much.
    rng = np.random.default_rng(13)
    codes = np.repeat([0, 1, 2, 3], 2)
    x, y = rng.standard_normal((2, 8))
    centres = rng.standard_normal((2, 4))
    frame = pd.DataFrame(
        {
            "x": x + distance * centres[0, codes],
            "y": y + distance * centres[1, codes],
            "g": codes,
        }
    )
    p_value = compared(frame, n_permutations=5_000).p_value
    # Three standard errors below 1 / 105.
    assert p_value >= 1 / 105 - 0.0042


def test_p_values_of_noise_are_uniform():
    rng = np.random.default_rng(7)
    p_values = []
    for _ in range(300):
        frame = pd.DataFrame(rng.standard_normal((30, 2)), columns=["x", "y"])
        frame["g"] = np.repeat([0, 1, 2], [10, 12, 8])
        p_values.append(compared(frame, n_permutations=99, rng=rng).p_value)
    assert min(p_values) >= 0.01
    assert scipy.stats.kstest(p_values, "uniform").pvalue > 1e-3


def test_noise_is_seldom_called_significant():
    rng = np.random.default_rng(11)
    n_significant = 0
    for _ in range(200):
        frame = pd.DataFrame(rng.exponential(size=(60, 2)), columns=["x", "y"])
        frame["g"] = rng.choice(["p", "q", "r"], 60)
        report = compared(frame, n_permutations=199, rng=rng)
        n_significant += report.is_significant
    # At a level of 5 %, more than 20 of 200 has a probability below 0.2 %.
    assert n_significant <= 20


def test_there_is_no_p_value_without_permutations_or_variation_within_groups():
    frame = pd.DataFrame({"x": [0, 0, 1, 1], "y": [0, 1, 2, 4], "g": list("aabb")})
    for n_permutations in (0, 9):
        report = compared(frame, min_size=2, n_permutations=n_permutations)
        assert math.isnan(report.p_value)
        assert math.isnan(report.r_within)
        assert report.is_significant is False
        assert report.kind is ReversalKind.UNDECIDED
