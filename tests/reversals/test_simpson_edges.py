"""Groups in which nothing goes with anything: r is exactly 0, and no sign is opposed."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import embaudit as ea
from embaudit.reversals.grouped import GroupedRows
from embaudit.reversals.grouping import Kind
from embaudit.reversals.permutation import grouping_p_value
from embaudit.reversals.table import expanded, find_groupings

LEVEL = ([0, 1, 2], [1, 0, 1])
"""Mean products cancel: r is 0 to the last bit."""


def table(*groups):
    return pd.DataFrame(
        [(x, y, name) for name, (xs, ys) in zip("abcdef", groups, strict=False) for x, y in zip(xs, ys, strict=True)],
        columns=["x", "y", "g"],
    )


def found(frame):
    return ea.simpson(frame, x="x", y="y", groups=["g"], min_size=3, n_permutations=0).groupings[0]


def test_a_group_with_r_zero_opposes_no_sign():
    falling, apart = ([5, 6, 7], [9, 8, 7]), ([20, 21, 22], [31, 30, 29])
    without, level = found(table(falling, apart)), found(table(falling, apart, LEVEL))
    np.testing.assert_allclose(level.moments.r, [-1.0, -1.0, 0.0], rtol=1e-15)
    assert level.moments.r[2] == 0
    assert level.votes.all()
    assert level.opposes.tolist() == [True, True, False]
    assert without.share_reversed == 1.0
    assert level.share_reversed == pytest.approx(6 / 9)


def test_where_all_groups_have_r_zero_the_pooled_association_vanishes_within():
    up = found(table(LEVEL, (np.add(LEVEL[0], 10), np.add(LEVEL[1], 10))))
    assert up.moments.r.tolist() == [0.0, 0.0]
    assert up.within.r == 0.0
    assert up.pooled.r > 0.9
    assert not up.opposes.any()
    assert str(up.kind) == "vanishing"


def test_rows_are_repeated_as_often_as_counted_and_one_at_least_is_left(monkeypatch):
    frame = pd.DataFrame({"x": [1.0, 2.0], "n": [1, 0]})
    assert expanded(frame, "n").to_dict("list") == {"x": [1.0]}
    assert expanded(frame.assign(n=[2, 1]), "n").to_dict("list") == {"x": [1.0, 1.0, 2.0]}
    monkeypatch.setattr("embaudit.reversals.table.MAX_ROWS", 3)
    assert len(expanded(frame.assign(n=[2, 1]), "n")) == 3
    for counts in ([0, 0], [2, 2]):
        with pytest.raises(ea.errors.InputError, match=f"^the sum of counts must be from 1 to 3; got {sum(counts)}"):
            expanded(frame.assign(n=counts), "n")


@pytest.mark.parametrize("other", [float("nan"), float("inf"), -1, 0.5])
def test_one_count_that_is_none_is_refused_among_others(other):
    frame = pd.DataFrame({"x": [1.0, 2.0], "n": [3, other]})
    with pytest.raises(ea.errors.InputError, match=r"^counts must be whole numbers >= 0; got column 'n' with others"):
        expanded(frame, "n")


def test_groupings_are_counted_only_beyond_the_most():
    frame = pd.DataFrame({"x": range(6), "y": range(6), "a": list("ppqqrr"), "b": list("rsrsrs")})
    for most, notes in ((3, []), (2, ["1 of 3 groupings not tried; name those of interest"])):
        found, told = find_groupings(frame, None, ("x", "y"), bins=2, depth=2, most=most)
        assert (len(found), told) == (most, notes)


def test_an_unfit_column_is_named_by_its_role():
    frame = pd.DataFrame({"u": [1.0, 1.0, 1.0], "v": [1.0, 2.0, 4.0], "g": list("aab")})
    for x, y, name in (("u", "v", r"x \('u'\)"), ("v", "u", r"y \('u'\)")):
        with pytest.raises(ea.errors.InputError, match=f"^{name} must be a column that varies; got one value only"):
            ea.simpson(frame, x=x, y=y, groups=["g"])


def test_the_kinds_are_these():
    assert [kind.value for kind in Kind] == [
        "reversal", "partial reversal", "vanishing", "masked", "no reversal", "undecided"
    ]  # fmt: skip
    assert [kind.rank for kind in Kind] == [0, 1, 2, 3, 4, 5]


def test_p_values_have_no_unit():
    draw = np.random.default_rng(0)
    x, y = draw.standard_normal((2, 30))
    codes = np.arange(30) % 3
    found = {
        grouping_p_value(GroupedRows.sort(unit * x, unit * y, codes), 199, np.random.default_rng(1))
        for unit in (1.0, 2.0**-12, 2.0**12)
    }
    assert len(found) == 1


def test_where_no_group_votes_none_is_reversed():
    none = found(table(([0, 0, 0], [1, 2, 3]), ([5, 5, 5], [3, 2, 2])))
    assert (none.votes.any(), none.share_reversed, none.kind) == (False, 0.0, Kind.UNDECIDED)
