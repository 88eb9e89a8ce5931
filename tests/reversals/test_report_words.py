"""Every number and every word of a report of groupings."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from records import open_records

import embaudit as ea
from embaudit.errors import InputError
from embaudit.reversals.grouped import GroupedRows
from embaudit.reversals.grouping import FADED, Kind
from embaudit.reversals.permutation import _batches, adjusted
from embaudit.reversals.report import shortened

TABLE = pd.DataFrame({"dose": [1, 2, 3, 6, 7, 8], "health": [7, 6, 5, 9, 8, 7], "young": list("aaabbb")})
FOUND = ea.simpson(TABLE, x="dose", y="health", groups="young", min_size=3, n_permutations=0)
NOTHING = dict.fromkeys(("p_grouping", "p_adjusted"))
SAID = (
    "Reversal by young: over all 6 rows r(dose, health) = +0.540, within 2 groups -1.000. 2 of 2 groups with a vote "
    "(100% of their rows) have the opposite sign. Covariance +1.833 = within -0.6667 + between +2.5. Where dose is "
    "higher on average health is higher, and that outweighs what happens inside the groups."
)


def test_records_are_closed():
    assert open_records("reversals") == set()


def test_the_record_of_a_report():
    x, y = TABLE["dose"], TABLE["health"]
    pooled = {
        "n": 6,
        "r": pytest.approx(np.corrcoef(x, y)[0, 1]),
        "slope": pytest.approx(np.polyfit(x, y, 1)[0]),
        "spearman": pytest.approx(x.corr(y, method="spearman")),
        "p": None,
    }
    told = FOUND.to_dict()
    (grouping,) = told.pop("groupings")
    assert told == {
        "x": "dose",
        "y": "health",
        "n_rows": 6,
        "n_missing": 0,
        "alpha": 0.05,
        "pooled": pooled,
        "n_findings": 1,
        "n_undecided": 0,
        "n_significant": 0,
        "notes": [],
    }
    groups = grouping.pop("groups")
    alone = {"r": pytest.approx(-1.0), "slope": -1.0, "spearman": pytest.approx(-1.0), "p": None}
    assert grouping == {
        "columns": ["young"],
        "kind": "reversal",
        "pooled": pooled,
        "within": {"n": 6, **alone},
        "effect": pytest.approx(np.corrcoef(x, y)[0, 1] + 1),
        "share_reversed": 1.0,
        "covariance": pytest.approx({"pooled": 11 / 6, "within": -2 / 3, "between": 2.5}),
        **NOTHING,
        "is_significant": False,
        "is_confirmed": False,
        "n_missing": 0,
        "n_groups": 2,
    }
    assert groups == [
        {
            "group": name,
            "n": 3,
            "r": pytest.approx(-1.0),
            "slope": -1.0,
            "spearman": pytest.approx(-1.0),
            "p_adjusted": None,
            "mean_x": mean_x,
            "mean_y": mean_y,
            "votes": True,
            "opposes": True,
            "covariance_within": pytest.approx(-1 / 3),
            "covariance_between": pytest.approx(1.25),
        }
        for name, mean_x, mean_y in (("a", 2.0, 6.0), ("b", 7.0, 8.0))
    ]
    assert len(FOUND.to_dict(limit=1)["groupings"][0]["groups"]) == 1


def test_a_report_in_words():
    assert FOUND.explain() == SAID
    assert repr(FOUND["young"]) == "Grouping(young: reversal, r +0.540 pooled and -1.000 within 2 groups)"
    assert repr(FOUND) == f"SimpsonReport(health on dose, 6 rows: 1 finding in 1 grouping, first {FOUND['young']!r})"
    with pytest.raises(KeyError):
        FOUND["old"]
    assert FOUND.to_frame().reset_index().iloc[0].dropna().to_dict() == {
        "grouping": "young",
        "kind": "reversal",
        "n_groups": 2,
        "r_pooled": FOUND.pooled.r,
        "r_within": -1.0,
        "slope_pooled": FOUND.pooled.slope,
        "slope_within": -1.0,
        "effect": FOUND.pooled.r + 1,
        "share_reversed": 1.0,
        "covariance_within": pytest.approx(-2 / 3),
        "covariance_between": pytest.approx(2.5),
        "significant": False,
        "confirmed": False,
    }
    falling = TABLE.assign(dose=-TABLE["dose"])
    turned = ea.simpson(falling, x="dose", y="health", groups="young", min_size=3, n_permutations=0)
    assert "Where dose is higher on average health is lower, and that outweighs" in turned.explain()
    assert turned["young"].kind is Kind.REVERSAL


def test_what_is_undecided_and_what_is_left_aside_in_words():
    table = TABLE.assign(k=list("aabbcc"), z=[1, 1, 1, 1, 1, None], old=["u"] * 3 + ["v"] * 2 + [None])
    found = ea.simpson(table, x="dose", y="health", min_size=3, n_permutations=0)
    assert found.explain().splitlines()[-1].startswith("Undecided, for want of two groups with a vote: ")
    assert "z: not tried as a grouping, it has a single value" in found.notes
    assert "k: 3 groups of fewer than 3 rows without a vote" in found.notes
    assert "old: 1 row without a group left out" in found.notes
    assert "old: 1 group of fewer than 3 rows without a vote" in found.notes
    assert found["old"].n_missing == 1
    assert found["old"].pooled.n == 5
    short = found.explain(limit=1).splitlines()
    assert any(line.endswith("more") or "more." in line for line in short)
    assert found.listed_notes(limit=1)[1:] == [f"… and {len(found.notes) - 1} more"]
    flat = ea.simpson(TABLE.assign(health=[1, 2, 3, 6, 7, 8]), x="dose", y="health", groups="young", min_size=3,
                      n_permutations=0)  # fmt: skip
    assert flat.explain() == "The one grouping does not change the association of dose and health."
    assert flat["young"].kind is Kind.NONE
    many = ea.simpson(table.assign(health=[1, 2, 3, 6, 7, 8.5]), x="dose", y="health", groups=["young", "old"],
                      min_size=2, n_permutations=0)  # fmt: skip
    assert many.explain() == "None of 3 groupings changes the association of dose and health."
    constant = TABLE.assign(dose=[1, 1, 1, 6, 7, 8], c=list("aaabbb"))
    noted = ea.simpson(constant, x="dose", y="health", groups="c", min_size=2, n_permutations=0)
    assert noted.notes == ("c: 1 group in which x or y is constant, without a correlation",)


def test_lists_are_cut_short():
    assert shortened(["a", "b", "c"], 2) == ["a", "b", "… and 1 more"]
    assert shortened(["a", "b"], 2) == ["a", "b"]
    assert shortened(["x"] * 1202, 1)[1] == "… and 1,201 more"
    with pytest.raises(InputError, match="limit must be an integer >= 1; got 0"):
        shortened(["a"], 0)


def moments_of(pooled, within):
    """Two groups of ten whose pooled and common correlations are as asked for."""
    grouping = FOUND["young"]
    ends = [replace_r(one, r) for one, r in ((grouping.pooled, pooled), (grouping.within, within))]
    return type(grouping)(**{**vars_of(grouping), "pooled": ends[0], "within": ends[1]})


def replace_r(association, r):
    return type(association)(association.n, r, association.slope, p=0.01)


def vars_of(grouping):
    names = ("columns", "levels", "moments", "pooled", "within", "spearman", "p_groups", "p_grouping", "min_size")
    return {name: getattr(grouping, name) for name in names}


@pytest.mark.parametrize(
    ("pooled", "within", "kind"),
    [
        (0.8, 0.8 * FADED, Kind.VANISHING),
        (0.8, 0.8 * FADED + 1e-9, Kind.NONE),
        (0.8 * FADED, 0.8, Kind.MASKED),
        (0.8 * FADED + 1e-9, 0.8, Kind.NONE),
        (0.5, -0.5, Kind.REVERSAL),
        (0.5, np.nan, Kind.UNDECIDED),
    ],
)
def test_kinds_on_both_sides_of_their_bounds(pooled, within, kind):
    found = moments_of(pooled, within)
    assert found.kind is kind
    assert found.is_finding == (kind not in (Kind.NONE, Kind.UNDECIDED))
    assert [one.rank for one in Kind] == [0, 1, 2, 3, 4, 5]
    assert found.effect == (0.0 if np.isnan(within) else pooled - within)


def test_groups_are_cut_centred_and_ranked():
    rows = GroupedRows.sort(
        np.array([5.0, 1.0, 3.0, 1e9, 1e9]), np.array([1.0, 2.0, 4.0, 8.0, 6.0]), np.array([1, 0, 1, 2, 2])
    )
    assert rows.counts.tolist() == [1, 2, 2]
    assert list(rows.slices()) == [slice(0, 1), slice(1, 3), slice(3, 5)]
    x, y = rows.centred()
    assert x.tolist() == [0, 1, -1, 0, 0]
    assert y.tolist() == [0, -1.5, 1.5, 1, -1]
    found = rows.moments()
    assert found.sxx.tolist() == [0, 2, 0]
    assert found.sxy.tolist() == [0, -3, 0]
    assert np.isnan(found.r).tolist() == [True, False, True]
    assert np.isnan(found.slope).tolist() == [True, False, True]
    assert rows.spearman()[1] == pytest.approx(-1)
    total = np.array([[1.0, 5, 3, 1e9, 1e9], [2.0, 1, 4, 8, 6]])
    assert found.total[1] == pytest.approx(5 * np.var(total[1]))
    assert found.total[2] == pytest.approx(5 * np.cov(total, bias=True)[0, 1])


def test_permutations_come_in_batches_and_p_values_are_adjusted(monkeypatch):
    monkeypatch.setattr("embaudit.reversals.permutation.WORK", 100)
    assert list(_batches(30, 8)) == [3, 3, 2]
    assert list(_batches(101, 2)) == [1, 1]
    p = np.array([0.01, np.nan, 0.04, 0.03])
    np.testing.assert_allclose(adjusted(p, "holm"), [0.03, np.nan, 0.06, 0.06])
    np.testing.assert_allclose(adjusted(np.array([0.6, 0.7]), "holm"), [1.0, 1.0])
    assert adjusted(np.array([np.nan]), "bh").tolist() != [0.0]
    with pytest.raises(InputError, match='correction must be one of "bh", "holm"; got'):
        adjusted(p, "none")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"min_size": 1}, "min_size must be an integer from 2 to 100000000; got 1."),
        ({"n_permutations": -1}, "n_permutations must be an integer from 0 to 1000000; got -1."),
        ({"share": 0.0}, "share must be above 0 and at most 1; got 0.0."),
        ({"alpha": 1.1}, "alpha must be above 0 and at most 1; got 1.1."),
        ({"correction": "none"}, 'correction must be one of "bh", "holm"; got \'none\'.'),
    ],
)
def test_settings_that_are_none_are_refused(settings, said):
    with pytest.raises(InputError) as refused:
        ea.simpson(TABLE, x="dose", y="health", groups="young", **settings)
    assert str(refused.value) == said


def test_holm_needs_enough_permutations():
    found = ea.simpson(TABLE, x="dose", y="health", groups="young", min_size=3, n_permutations=9, correction="holm")
    assert found.notes == (
        "9 permutations cannot make one of 1 groupings significant after Holm's adjustment; raise n_permutations to 20 "
        "or more",
    )
    enough = ea.simpson(TABLE, x="dose", y="health", groups="young", min_size=3, n_permutations=19, correction="holm")
    assert enough.notes == ()
