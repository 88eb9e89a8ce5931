"""Groups in which nothing goes with anything: r is exactly 0, and no sign is opposed."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import embaudit as ea

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
