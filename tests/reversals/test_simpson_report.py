"""A report in numbers and words, and the kinds of groupings on both sides of their bounds."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import embaudit as ea
from embaudit.reversals import Association, Grouping, Kind

TABLE = pd.DataFrame({"dose": [1, 2, 3, 6, 7, 8], "health": [7, 6, 5, 9, 8, 7], "young": list("aaabbb")})
FOUND = ea.simpson(TABLE, x="dose", y="health", groups="young", min_size=3, n_permutations=0)
SAID = (
    "Reversal by young: over all 6 rows r(dose, health) = +0.540, within 2 groups -1.000. 2 of 2 groups with a vote "
    "(100% of their rows) have the opposite sign. Covariance +1.833 = within -0.6667 + between +2.5. Where dose is "
    "higher on average health is higher, and that outweighs what happens inside the groups."
)


def test_the_record_of_a_report():
    x, y = TABLE["dose"], TABLE["health"]
    pooled = {
        "n": 6, "r": pytest.approx(np.corrcoef(x, y)[0, 1]), "slope": pytest.approx(np.polyfit(x, y, 1)[0]),
        "spearman": pytest.approx(x.corr(y, method="spearman")), "p": None,
    }  # fmt: skip
    told = FOUND.to_dict()
    (grouping,) = told["groupings"]
    assert told["pooled"] == grouping["pooled"] == pooled
    counts = ("n_rows", "n_missing", "n_findings", "n_undecided", "n_significant")
    assert [told[name] for name in counts] == [6, 0, 1, 0, 0]
    alone = {"r": pytest.approx(-1.0), "slope": -1.0, "spearman": pytest.approx(-1.0), "p": None}
    assert grouping["within"] == {"n": 6, **alone}
    assert (grouping["columns"], grouping["kind"], grouping["share_reversed"]) == (["young"], "reversal", 1.0)
    assert grouping["covariance"] == pytest.approx({"pooled": 11 / 6, "within": -2 / 3, "between": 2.5})
    first, second = grouping["groups"]
    assert [(one["group"], one["mean_x"], one["mean_y"]) for one in (first, second)] == [("a", 2, 6), ("b", 7, 8)]
    for one in (first, second):
        assert (one["r"], one["slope"], one["votes"], one["opposes"]) == (pytest.approx(-1.0), -1.0, True, True)
        assert (one["covariance_within"], one["covariance_between"]) == pytest.approx((-1 / 3, 1.25))


def test_a_report_in_words():
    assert FOUND.explain() == SAID
    assert FOUND.to_frame().loc["young", ["kind", "effect"]].tolist() == ["reversal", FOUND.pooled.r + 1]
    with pytest.raises(KeyError):
        FOUND["old"]
    falling = TABLE.assign(dose=-TABLE["dose"])
    turned = ea.simpson(falling, x="dose", y="health", groups="young", min_size=3, n_permutations=0)
    assert "Where dose is higher on average health is lower, and that outweighs" in turned.explain()
    assert turned["young"].kind is Kind.REVERSAL


def grouping(pooled, within, r=(-0.5, -0.5), n=(10.0, 10.0), p=(0.01, 0.01), **options):
    moments = SimpleNamespace(r=np.array(r), n=np.array(n))
    nothing = np.full(len(r), math.nan)
    pooled, within = (Association(20, one, 1.0, p=level) for one, level in zip((pooled, within), p, strict=True))
    levels = tuple("abcd"[: len(r)])
    return Grouping(("g",), levels, moments, pooled, within, nothing, nothing, 0.5, **options)


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ({"pooled": 0.5, "within": -0.5}, Kind.REVERSAL),
        ({"pooled": 0.5, "within": -0.5, "r": (-0.5, 0.5)}, Kind.PARTIAL),
        ({"pooled": 0.5, "within": -0.5, "r": (-0.5, 0.5), "n": (9.0, 11.0)}, Kind.NONE),
        # Signs that agree, or of which one is none, are not opposed.
        ({"pooled": 0.5, "within": 0.5}, Kind.NONE),
        ({"pooled": 0.8, "within": 0.2}, Kind.VANISHING),
        ({"pooled": 0.8, "within": 0.2001}, Kind.NONE),
        ({"pooled": 0.8, "within": 0.2, "p": (0.05, 1.0)}, Kind.VANISHING),
        ({"pooled": 0.8, "within": 0.2, "p": (0.0501, 0.0)}, Kind.NONE),
        ({"pooled": 0.8, "within": 0.2, "p": (math.nan, 1.0)}, Kind.VANISHING),
        ({"pooled": 0.8, "within": 0.0}, Kind.VANISHING),
        ({"pooled": 0.2, "within": 0.8}, Kind.MASKED),
        ({"pooled": 0.2001, "within": 0.8}, Kind.NONE),
        ({"pooled": 0.2, "within": 0.8, "p": (1.0, 0.05)}, Kind.MASKED),
        ({"pooled": 0.2, "within": 0.8, "p": (0.0, 0.0501)}, Kind.NONE),
        ({"pooled": 0.5, "within": math.nan}, Kind.UNDECIDED),
        ({"pooled": 0.5, "within": -0.5, "n": (4.0, 10.0), "min_size": 5}, Kind.UNDECIDED),
        ({"pooled": 0.5, "within": -0.5, "n": (5.0, 10.0), "min_size": 5}, Kind.REVERSAL),
        ({"pooled": 0.5, "within": -0.5, "r": (-0.5, math.nan)}, Kind.UNDECIDED),
    ],
)  # fmt: skip
def test_a_kind_is_told_by_signs_shares_and_sizes(given, kind):
    found = grouping(**given)
    assert found.kind is kind
    assert found.is_finding is (kind not in (Kind.NONE, Kind.UNDECIDED))


def test_a_finding_is_confirmed_by_the_associations_it_rests_on():
    cases = (
        ({"pooled": 0.5, "within": -0.5}, (True, False, False)),
        ({"pooled": 0.8, "within": 0.2}, (True, True, False)),
        ({"pooled": 0.2, "within": 0.8}, (True, False, True)),
    )
    for given, confirmed in cases:
        levels = ((0.05, 0.05), (0.05, 0.06), (0.06, 0.05))
        for p, wanted in zip(levels, confirmed, strict=True):
            found = grouping(**given, p=p, p_adjusted=0.05)
            assert found.is_significant
            assert found.is_confirmed == (wanted and found.is_finding)
            assert not grouping(**given, p=p, p_adjusted=0.0501).is_confirmed
    assert grouping(0.5, -0.25).effect == 0.75
    assert grouping(0.5, math.nan).effect == 0.0
    assert grouping(0.5, -0.5, r=(-0.5, 0.5, 0.0), n=(10.0, 5.0, 25.0)).share_reversed == 0.25
    assert grouping(0.0, -0.5).share_reversed == 0.0


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
