"""Both sides of what decides about groupings, and everything a table says of its columns."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import embaudit as ea
from embaudit.errors import InputError
from embaudit.reversals import table as module
from embaudit.reversals.grouped import Association, GroupedRows, correlation
from embaudit.reversals.grouping import Grouping, Kind
from embaudit.reversals.permutation import _batches, _p, adjusted
from embaudit.reversals.report import shortened
from embaudit.reversals.search import _mean_spearman, _resolution_note, _Settings, simpson
from embaudit.reversals.structures import FLAT, _moments
from embaudit.reversals.table import Labelled, _combined, _exponent, find_groupings, labelled, numbers


def near(value):
    return float(np.nextafter(value, math.inf))


# --- kinds of groupings ------------------------------------------------------------------------------------------


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
        ({"pooled": 0.5, "within": -0.5, "r": (-0.5, 0.5), "n": (9.0, 11.0), "share": 0.45}, Kind.REVERSAL),
        ({"pooled": 0.5, "within": -0.5, "r": (-0.5, 0.5), "n": (9.0, 11.0), "share": 0.46}, Kind.NONE),
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


# --- sums and p-values -------------------------------------------------------------------------------------------


def test_a_correlation_is_one_at_most_and_none_where_nothing_varies():
    found = [correlation(4.0, 9.0, xy).item() for xy in (6.5, 6.0, 3.0, 0.0, -6.5)]
    assert found == [1.0, 1.0, pytest.approx(0.5, rel=1e-14), 0.0, -1.0]
    assert np.isnan([correlation(0.0, 1.0, 0.0).item(), correlation(1.0, 0.0, 0.0).item()]).all()
    rows = GroupedRows.sort(np.array([1.0, 1.0, 2.0, 4.0]), np.array([1.0, 3.0, 1.0, 5.0]), np.array([0, 0, 1, 1]))
    moments = rows.moments()
    np.testing.assert_array_equal(moments.slope, [math.nan, 2.0])
    assert math.isnan(moments.association((0.0, 1.0, 0.0)).slope)
    half = pytest.approx(0.5, rel=1e-14)
    assert vars(moments.association((2.0, 8.0, 2.0))) == {
        "n": 4, "r": half, "slope": 1.0, "spearman": pytest.approx(math.nan, nan_ok=True),
        "p": pytest.approx(math.nan, nan_ok=True),
    }  # fmt: skip
    words = moments.association((2.0, 8.0, 2.0)).to_dict()
    assert words == {"n": 4, "r": half, "slope": 1.0, "spearman": None, "p": None}


@pytest.mark.parametrize("n", [1.0, 5.0])
def test_a_variance_of_cosines_that_is_rounding_is_none(n):
    for share, kept in ((0.99, False), (1.01, True)):
        spread = share * FLAT * n
        for side in (0, 1):
            squares = [2.0, 2.0]
            squares[side] = spread
            found = _moments(np.array([[n], [0.0], [0.0], [squares[0]], [squares[1]], [0.5 * spread]]))
            sums = [found.sxx[0], found.syy[0]]
            assert (sums[side] > 0) == kept
            assert (sums[side], sums[1 - side]) == (spread if kept else 0.0, 2.0)
            assert found.sxy[0] == (0.5 * spread if kept else 0.0)
    shifted = _moments(np.array([[n], [2.0 * n], [3.0 * n], [6.0 * n], [11.0 * n], [7.0 * n]]))
    np.testing.assert_allclose(
        [shifted.mean_x, shifted.mean_y, shifted.sxx, shifted.syy, shifted.sxy], [[2], [3], [2 * n], [2 * n], [n]]
    )


def test_batches_and_p_values_count_what_they_say():
    assert list(_batches(2**20, 5)) == [2, 2, 1]
    assert list(_batches(2**22, 2)) == [1, 1]
    assert list(_batches(0, 3)) == [3]
    assert list(_batches(3, 0)) == []
    assert _p(np.array([0, 3, 19]), 19).tolist() == [0.05, 0.2, 1.0]
    np.testing.assert_allclose(adjusted(np.array([0.9, 0.5, 0.02]), "holm"), [1.0, 1.0, 0.06])
    assert _mean_spearman(np.array([0.5, math.nan, -0.25]), np.array([1.0, 5.0, 3.0])) == -0.0625
    assert math.isnan(_mean_spearman(np.array([math.nan]), np.array([3.0])))


def test_too_few_permutations_are_told_where_holm_leaves_nothing():
    def notes(n_groupings, **changes):
        given = {"alpha": 0.05, "n_permutations": 19, "correction": "holm"} | changes
        return _resolution_note(n_groupings, SimpleNamespace(**given))

    assert notes(1) == notes(2, correction="bh") == notes(2, n_permutations=0) == []
    assert notes(1, n_permutations=18) == [
        "18 permutations cannot make one of 1 groupings significant after Holm's adjustment; raise n_permutations to "
        "20 or more"
    ]
    assert notes(2) == [
        "19 permutations cannot make one of 2 groupings significant after Holm's adjustment; raise n_permutations to "
        "40 or more"
    ]


def test_settings_end_where_they_say():
    given = {"min_size": 2, "share": 1.0, "alpha": 1.0, "n_permutations": 0, "correction": "bh", "rng": None}
    assert _Settings(**given).min_size == 2
    assert _Settings(**given | {"n_permutations": 1_000_000, "share": 1e-9, "alpha": 1e-9}).alpha == 1e-9
    for name, bad, words in (
        ("min_size", 1, "min_size must be an integer from 2 to 100000000; got 1."),
        ("n_permutations", -1, "n_permutations must be an integer from 0 to 1000000; got -1."),
        ("n_permutations", 1_000_001, "n_permutations must be an integer from 0 to 1000000; got 1000001."),
        ("share", 0.0, "share must be above 0 and at most 1; got 0.0."),
        ("alpha", 1.01, "alpha must be above 0 and at most 1; got 1.01."),
        ("alpha", "a", "alpha must be above 0 and at most 1; got 'a'."),
        ("correction", "none", 'correction must be one of "bh", "holm"; got \'none\'.'),
    ):
        with pytest.raises(InputError) as refused:
            _Settings(**given | {name: bad})
        assert str(refused.value) == words


def test_columns_are_named_by_texts_of_their_own():
    table = {"a": [1.0, 2.0, 3.0], "b": [3.0, 1.0, 2.0]}
    for given, words in (
        ({"x": 1, "y": "b"}, "x must be the name of a column, as text; got 1."),
        ({"x": "a", "y": None}, "y must be the name of a column, as text; got None."),
        ({"x": "a", "y": "b", "counts": 0}, "counts must be the name of a column, as text; got 0."),
        ({"x": "a", "y": "b", "counts": "a"}, "counts must be another column than x and y; got 'a'."),
        ({"x": "a", "y": "b", "counts": "b"}, "counts must be another column than x and y; got 'b'."),
        ({"x": "a", "y": "b", "depth": 0}, "depth must be an integer >= 1; got 0."),
        ({"x": "a", "y": "b", "bins": 0}, "bins must be an integer >= 1; got 0."),
    ):
        with pytest.raises(InputError) as refused:
            simpson.__wrapped__(table, **given)
        assert str(refused.value) == words


# --- tables ------------------------------------------------------------------------------------------------------


def test_numbers_are_cut_into_bins_where_they_are_many():
    for n, levels in ((10, 10), (11, 2)):
        frame = pd.DataFrame({"a": np.arange(float(n))})
        found, note = labelled(frame, "a", 2)
        assert len(found.levels) == levels
        assert note == (None if n == 10 else "a: numbers cut into 2 bins of like size")
    assert found.levels == ("0 to 5", "5 to 10")
    assert found.codes.tolist() == [0] * 6 + [1] * 5
    values = np.array([0.0] * 9 + [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, np.nan, np.inf])
    found, _ = labelled(pd.DataFrame({"a": values}), "a", 4)
    assert found.levels == ("0 to 1", "1 to 5.5", "5.5 to 10")
    assert found.codes.tolist() == [0] * 10 + [1] * 4 + [2] * 5 + [-1, -1]
    empty, _ = labelled(pd.DataFrame({"a": [*range(11), *[10] * 9]}), "a", 2)
    assert (empty.levels, empty.codes.max()) == (("0 to 9.5", "9.5 to 10"), 1)


def test_groups_are_crossed_where_both_are_known():
    one = Labelled(("a",), np.array([0, 1, -1, 1, 0]), ("u", "v"))
    other = Labelled(("b",), np.array([2, 0, 1, -1, 2]), ("x", "y", "z"))
    both = one.crossed(other)
    assert (both.columns, both.levels, both.codes.tolist()) == (("a", "b"), ("u, z", "v, x"), [0, 1, -1, -1, 0])
    known = Labelled(("a",), np.array([0, 1]), ("u", "v")).crossed(Labelled(("b",), np.array([0, 0]), ("x",)))
    assert (known.levels, known.codes.tolist()) == (("u, x", "v, x"), [0, 1])


def test_columns_that_cannot_group_are_named_with_their_reason():
    n = 60
    frame = pd.DataFrame({
        "x": np.arange(n), "y": np.arange(n)[::-1], "one": "a", "none": [None] * n, "two": ["a", "b"] * 30,
        "fifty": [str(i % 50) for i in range(n)], "more": [str(i % 51) for i in range(n)], "real": np.arange(n) / 7,
        "when": pd.date_range("2020", periods=n), "lists": [[1]] * n, "turned": np.arange(n) * 1j,
    })  # fmt: skip
    found, notes = find_groupings(frame, None, ("x", "y"), bins=3, depth=1, most=99)
    assert [one.columns[0] for one in found] == ["two", "fifty", "real"]
    assert notes == [
        "one: not tried as a grouping, it has a single value",
        "none: not tried as a grouping, it has no value",
        "more: not tried as a grouping, it has 51 categories",
        "when: not tried as a grouping, it has dates",
        "lists: not tried as a grouping, it has no plain values",
        "turned: not tried as a grouping, it has complex numbers",
        "real: numbers cut into 3 bins of like size",
    ]


def test_combinations_are_counted_before_they_are_made(monkeypatch):
    names = ["a", "b", "c"]
    assert _combined(names, 1) == []
    assert _combined(names, 2) == [("a", "b"), ("a", "c"), ("b", "c")]
    monkeypatch.setattr(module, "MOST_COMBINATIONS", 4)
    assert _combined(names, 3)[-1] == ("a", "b", "c")
    monkeypatch.setattr(module, "MOST_COMBINATIONS", 3)
    with pytest.raises(InputError) as refused:
        _combined(names, 3)
    assert str(refused.value) == "depth must be of at most 3 combinations; got 4; lower it or name groups."


def test_columns_become_numbers_with_a_title_and_a_note():
    frame = pd.DataFrame({
        "real": [1.0, 2.0, np.nan], "kind": ["b", "a", None], "huge": [2.0**300, -1.0, 0.0], "edge": [1e60, 0.0, 1.0],
        "flag": [True, False, True], "three": list("abc"),
    })  # fmt: skip
    values, title, note = numbers(frame, "real", "x")
    np.testing.assert_array_equal(values, [1.0, 2.0, np.nan])
    assert (title, note) == ("real", None)
    values, title, note = numbers(frame, "kind", "x")
    np.testing.assert_array_equal(values, [1.0, 0.0, np.nan])
    assert (title, note) == ("kind=b", "kind: a counts as 0, b as 1")
    values, title, note = numbers(frame, "huge", "x")
    np.testing.assert_array_equal(values, [0.5, -(2.0**-301), 0.0])
    assert (title, note) == ("huge", "huge: divided by 2^301; slopes, means and covariances are in that unit")
    assert numbers(frame, "edge", "x")[2] is None
    assert numbers(frame, "flag", "x")[0].tolist() == [1.0, 0.0, 1.0]
    assert [_exponent(x) for x in (1e-60, 1e60, 1e-61, 1e61)] == [0, 0, -202, 203]
    for column, words in (
        ("three", "x ('three') must be numeric or of two categories; got 3 categories."),
        ("none", "x must be a column of the table (real, kind, huge, edge, flag, three); got 'none'."),
    ):
        with pytest.raises(InputError) as refused:
            numbers(frame, column, "x")
        assert str(refused.value) == words
    with pytest.raises(InputError, match=r"^x must be a column of its own name; got several columns 'a'; rename them"):
        numbers(pd.DataFrame([[1, 2]], columns=["a", "a"]), "a", "x")
    with pytest.raises(InputError, match=r"^x \('a'\) must be finite; got infinity; repair those rows or mark them"):
        numbers(pd.DataFrame({"a": [1.0, np.inf]}), "a", "x")
    with pytest.raises(InputError, match=r"^x \('a'\) must be a column that varies; got no value\.$"):
        numbers(pd.DataFrame({"a": [np.nan, np.nan]}), "a", "x")


# --- searches ----------------------------------------------------------------------------------------------------


def test_what_varies_little_varies():
    frame = pd.DataFrame({"x": [0.0, 1, 2, 5, 6, 7], "y": [5.0, 4, 3, 9, 8, 7], "g": list("aaabbb")})
    small = frame.assign(x=frame["x"] * 1e-3, y=frame["y"] * 1e-3)
    found, scaled = (ea.simpson(t, x="x", y="y", groups="g", min_size=3, n_permutations=0) for t in (frame, small))
    assert found.groupings[0].kind is scaled.groupings[0].kind is Kind.REVERSAL
    assert scaled.groupings[0].within.r == pytest.approx(found.groupings[0].within.r)
    three = frame.iloc[[0, 1, 5]].assign(g=list("aab"))
    assert ea.simpson(three, x="x", y="y", groups="g", min_size=2, n_permutations=0).pooled.n == 3
    with pytest.raises(InputError, match=r"^x and y must both vary over at least 3 rows that have both; got 2 such"):
        ea.simpson(three.assign(x=[0.0, 1.0, np.nan]), x="x", y="y", groups="g", n_permutations=0)
    missing = pd.concat([frame, pd.DataFrame({"x": [np.nan], "y": [1.0], "g": [None]})])
    report = ea.simpson(missing.assign(h=["u"] * 7), x="x", y="y", min_size=3, n_permutations=0)
    assert report.notes == (
        "1 of 7 rows left out: x or y is missing",
        "h: not tried as a grouping, it has a single value",
    )
    assert report.n_missing == 1
    one = frame.assign(g=[*"aaa", None, None, None])
    told = ea.simpson(one, x="x", y="y", groups=["g"], min_size=3, n_permutations=0).notes
    assert told == ("g: not a grouping, it leaves 1 group of the rows that have x and y",)
    flat = frame.assign(y=[5.0, 5, 5, 5, 9, 8], g=[*"aabb", None, None])
    told = ea.simpson(flat, x="x", y="y", groups=["g"], min_size=2, n_permutations=0).notes
    assert told == ("g: not a grouping, x or y is constant in the rows that have one",)


def test_lists_are_cut_where_they_are_longer():
    lines = ["a", "b", "c"]
    assert [shortened(lines, n) for n in (None, 4, 3, 2, 1)] == [
        lines, lines, lines, ["a", "b", "… and 1 more"], ["a", "… and 2 more"],
    ]  # fmt: skip
    with pytest.raises(InputError, match=r"^limit must be an integer >= 1; got 0\.$"):
        shortened(lines, 0)


@pytest.mark.parametrize("share", [0.0, 1.01, -1.0])
def test_a_share_of_clusters_is_above_0_and_at_most_1(share):
    draw = np.random.default_rng(0)
    rows, clusters = draw.standard_normal((8, 2)), list("aaaabbbb")
    assert ea.similarity_reversal(rows, rows, clusters, share=1.0).groupings[0].share == 1.0
    with pytest.raises(InputError, match=rf"^share must be above 0 and at most 1; got {share}\.$"):
        ea.similarity_reversal(rows, rows, clusters, share=share)
