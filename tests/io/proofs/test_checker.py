"""The checker's own parts, on claims made by hand: exact numbers, and both sides of each tolerance."""

from __future__ import annotations

import hashlib
import itertools

import numpy as np
import pytest
from claimed import claim, fails, gauge, link

import embaudit.io.proofs.verify as checker

EPS = 2.0**-52
STORED = 2.0**-23
"""Spacing of float32 at 1."""


# Small functions


def test_a_hash_is_of_shapes_and_doubles_and_of_sorted_json():
    long = np.arange(140_000.0)
    known = hashlib.sha256(b'{"a": 1, "b": 2}' + b"[140000]" + long.tobytes() + b'"word"').hexdigest()
    assert checker.digest({"b": 2, "a": 1}, long, "word") == known
    assert checker.digest({"b": 2, "a": 1}, long.astype(np.float32), "word") == known
    assert checker.digest(np.eye(2)) != checker.digest(np.eye(2).ravel())


def test_a_problem_is_told_unless_all_holds():
    checker.require([True, True], "wrong")
    fails("wrong", checker.require, [True, False], "wrong")


def test_unit_rows():
    found = checker.unit(np.array([[3.0, 4], [0, -2]]))
    assert np.allclose(found, [[0.6, 0.8], [0, -1]], rtol=0, atol=1e-15)
    with np.errstate(all="ignore"):
        assert np.isnan(checker.unit(np.zeros((1, 2)))).all()


def shifted_extremes(c, a, b, r):
    """Least and largest cosine over shifts of length r, by trying 20,001 directions."""
    angle = np.linspace(0, 2 * np.pi, 20_001)
    moves = r * np.column_stack([np.cos(angle), np.sin(angle)])
    x, y = moves + np.array([a, 0]), moves + b * np.array([c, np.sqrt(1 - c * c)])
    cosines = (x * y).sum(axis=1) / np.linalg.norm(x, axis=1) / np.linalg.norm(y, axis=1)
    return cosines.min(), cosines.max()


def shifted(c, a, b, r):
    """Least and largest cosine that the checker finds."""
    with np.errstate(all="ignore"):
        t = np.sqrt((1 - np.array([c])) / (1 + np.array([c])))
        most, least = checker.inscribed(t, np.array([float(a)]), np.array([float(b)]), r)
    return np.ravel(checker.cosine(np.array([most, least])))


@pytest.mark.parametrize(
    ("c", "a", "b", "r"),
    [(0.3, 1, 2, 0.4), (-0.5, 2, 1.5, 0.9), (0.9, 1, 3, 0.5), (0.1, 1, 1, 0.9), (-0.95, 3, 1, 0.3), (0.8, 5, 1, 0.7)],
)
def test_a_shift_makes_the_least_and_largest_cosine_that_inscribed_angles_have(c, a, b, r):
    assert shifted(c, a, b, r) == pytest.approx(shifted_extremes(c, a, b, r), abs=1e-6)


@pytest.mark.parametrize(
    ("given", "ends"),
    [
        ((0.3, 1.0, 2.0, 1.5), (-1, 1)),
        ((0.3, 2.0, 1.0, 1.5), (-1, 1)),
        ((1.0, 2.0, 2.0, 0.5), (1, 1)),
        ((-1.0, 2.0, 2.0, 0.0), (-1, -1)),
    ],
)
def test_shifts_past_a_row_reach_everything_and_equal_rows_stay_equal(given, ends):
    assert shifted(*given).tolist() == list(ends)


@pytest.mark.parametrize("b", [1.0, 2.0])
def test_a_shift_as_long_as_the_shorter_row_turns_it_by_half_a_turn(b):
    # What is left of that row points anywhere on its own half of the plane.
    assert shifted(0.0, 1.0, b, 1.0) == pytest.approx((-1, b / np.hypot(1, b)), abs=1e-12)


@pytest.mark.parametrize("angle", [1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize(("a", "b", "r"), [(1.0, 1.0, 0.9), (2.0, 2.0, 0.5), (1.0, 1.0, 0.1)])
def test_shifts_of_nearly_parallel_rows_keep_their_digits(angle, a, b, r):
    # Rows of equal length a: tan(θ/2) is a sin(θ/2) to a cos(θ/2) -+ r, shifted along the bisector.
    half, one = angle / 2, np.array([a])
    known = a * np.sin(half) / (a * np.cos(half) + np.array([-r, r]))
    found = np.ravel(checker.inscribed(np.array([np.tan(half)]), one, one, r))
    assert np.allclose(found, known, rtol=1e-9, atol=0)


@pytest.mark.parametrize("b", [3.0, 4.0, 5.5])
def test_a_shift_at_right_angles_to_the_shorter_row_is_no_0_by_0(b):
    """The difference of the rows stands on the shorter one, which is as long as the shift: all of it can be turned."""
    a = np.sqrt(b**2 + 1)
    t = np.sqrt((1 - b / a) / (1 + b / a))
    for scale in (1 - 1e-9, 1.0, 1 + 1e-15):
        with np.errstate(all="ignore"):  # as whoever calls it does
            most, least = checker.inscribed(np.array([t]), np.array([a]), np.array([b]), b * scale)
        assert least[0] == pytest.approx(0, abs=1e-4)
        assert most[0] > 1e4


@pytest.mark.parametrize(("t", "value"), [(0.0, 1), (1.0, 0), (np.inf, -1), (0.5, 0.6), (2.0, -0.6)])
def test_a_cosine_of_a_half_angle(t, value):
    assert checker.cosine(t) == pytest.approx(value, abs=1e-15)


def cosines_of_corners(x, y, square):
    """Cosines under every choice of weights 1 and square."""
    weights = np.array(list(itertools.product([1.0, square], repeat=len(x))))
    return (weights @ (x * y)) / np.sqrt((weights @ (x * x)) * (weights @ (y * y)))


@pytest.mark.parametrize("seed", range(4))
def test_the_largest_cosine_under_weights_is_that_of_a_corner(seed):
    x, y = np.random.default_rng(seed).standard_normal((2, 5))
    y[1] = x[1] * y[1] ** 2 + (0 if seed % 2 else 0.1)
    x[4] = y[4] = 0
    best = cosines_of_corners(x, y, 9.0).max()
    assert best > 0

    def found(top):
        with np.errstate(all="ignore"):
            return checker.weighted(x[None], y[None], np.array([top]), np.array([np.nan]), 9.0)[0]

    assert found(best) == pytest.approx(best, abs=1e-12)
    assert found(best - 0.05) > best - 0.05
    assert found(min(best + 0.05, 1.0)) <= best + 1e-12


def test_a_negative_end_is_bounded_by_its_slope_and_by_no_other():
    x, y = np.array([[1.0, 1.0]]), np.array([[-1.0, -0.1]])
    t = np.linspace(1, 4, 300_001)
    each = [(-a - 0.1 * b) / np.sqrt((a + b) * (a + 0.01 * b)) for a, b in ((t, 1 + 0 * t), (1 + 0 * t, t))]
    top, at = max((cosines.max(), int(cosines.argmax())) for cosines in each)
    a, b = (1.0, t[at]) if each[1].max() > each[0].max() else (t[at], 1.0)
    slope = np.sqrt((a + 0.01 * b) / (a + b))

    def found(end, s):
        return checker.weighted(x, y, np.array([end]), np.array([s]), 4.0)[0]

    assert found(top + 1e-9, slope) == top + 1e-9
    assert found(top - 1e-3, slope) == 2
    assert found(top + 1e-9, 1.3 * slope) == 2
    assert found(top + 1e-9, slope / 1.3) == 2
    assert found(0.0, slope) == 2
    # What the slope leaves over is counted relative to the sum of |xy|, 1.1 here: so much more or less of the end.
    excess = 1.1e-9 / ((slope + 1 / slope) * 0.5)
    assert found(top - 0.3 * excess, slope) == top - 0.3 * excess
    assert found(top - 3 * excess, slope) == 2


# What a claim knows of the model


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("moved:left", ("moved", "left", "")),
        ("range:cross:linear:2.0", ("range", "cross", "linear")),
        ("reached:movement:right:affine", ("reached", "right", "affine")),
        ("bound:neighbours:left:linear", ("bound", "left", "linear")),
        ("origin", ("origin", "right", "")),
    ],
)
def test_a_name_says_what_is_checked(name, parts):
    found = claim(name, [[1.0]])
    assert (found.about, found.role, found.group) == parts


@pytest.mark.parametrize(
    ("known", "bias", "unseen", "rows_free", "columns_free", "unit"),
    [
        (link(), "", False, False, False, ()),
        (link(), "left", False, True, False, ()),
        (link(), "right", False, False, True, ()),
        (link("ranking"), "", True, True, False, ()),
        (link("cosine"), "left right", False, False, False, ("left", "right")),
        (link("softmax"), "", True, True, False, ()),
        (link("softmax", soft_cap=3.0), "right", False, False, True, ()),
        (link("softmax", unit_rows=True), "", True, True, False, ("right",)),
        (link("identity", soft_cap=None), "left right", False, True, True, ()),
    ],
)
def test_what_a_link_and_biases_leave_free(known, bias, unseen, rows_free, columns_free, unit):
    found = claim("pinned:right", [[1.0]], [[1.0]], link=known, bias=bias)
    assert (found.unseen, found.rows_free, found.columns_free) == (unseen, rows_free, columns_free)
    assert tuple(found.unit) == unit


@pytest.mark.parametrize(
    ("left", "right", "known"),
    [
        (np.float64, np.float64, (EPS, 1e-9)),
        (np.float32, np.float64, (STORED, 1e-5)),
        (np.float64, np.float32, (STORED, 1e-5)),
    ],
)
def test_single_precision_has_a_tolerance_of_its_own(left, right, known):
    found = claim("pinned:right", np.eye(2, dtype=right), np.eye(2, dtype=left))
    assert (found.storage, found.tolerance) == known
    alone = claim("pinned:right", np.eye(2, dtype=right))
    assert (alone.storage, alone.tolerance) == ((EPS, 1e-9) if right is np.float64 else (STORED, 1e-5))


def test_rows_are_those_looked_at_as_the_link_multiplies_them():
    right = [[3.0, 4.0], [0.0, 2.0], [5.0, 0.0]]
    found = claim("moved:right", right, [[2.0, 0.0], [1.0, 1.0], [0.0, 1.0]], labels=[2, 0])
    assert found.rows("right").tolist() == [[5, 0], [3, 4]]
    assert found.rows("right", [1]).tolist() == [[3, 4]]
    assert found.rows("left").tolist() == [[2, 0], [1, 1], [0, 1]]
    assert claim("moved:right", right).rows("left").tolist() == [[1, 0], [0, 1]]
    cosines = claim("moved:right", right, link=link("softmax", unit_rows=True), basis=[[0.0], [1.0]])
    assert np.allclose(cosines.rows("right"), [[0.8], [1], [0]])
    assert cosines.rows("left").tolist() == [[0], [1]]


def test_rows_of_another_model_are_mapped_shifted_or_reflected():
    right, left = [[3.0, 4.0], [0.0, 2.0]], [[1.0, 1.0], [2.0, 0.0]]
    found = claim("moved:right", right, left, **gauge([[2, 0], [0, 1]], left=[1, 0], right=[0, 3], n=(2, 2)))
    assert found.other("left").tolist() == [[3, 1], [5, 0]]
    assert found.other("right", [0]).tolist() == [[1.5, 7]]
    mirror = np.diag([0.0, 1.0])
    turned = claim("free:right", right, left, facts={"side": "right"}, reflected=[1], mirror=mirror)
    assert turned.other("right").tolist() == [[3, 4], [0, -2]]
    assert turned.other("right", [1, 0]).tolist() == [[0, -2], [3, 4]]
    assert turned.other("left").tolist() == left


def test_the_median_length_of_a_row():
    found = claim("reached:right", [[3.0, 4.0], [0.0, 2.0], [5.0, 12.0]], [[1.0, 0.0], [6.0, 8.0]])
    assert found.median("right") == 5
    assert found.median("left") == 5.5


# Gauges


def checked(a, b=None, p=((1.0,),), q=((1.0,),), name="moved:right", **fields):
    shifts = {side: fields.pop(f"to_{side}", None) for side in ("left", "right")}
    return claim(name, q, p, **gauge(a, b, **shifts, n=(len(p), len(q))), **fields).gauge


def moves(gap, bound):
    return f"a prediction moves by {gap:.1e}, rounding explains {bound:.1e}"


def test_a_gauge_has_its_condition_number():
    assert checked(np.diag([2.0, 0.5]), p=[[1.0, 1]], q=[[1.0, 2]])() == pytest.approx(4)
    assert checked([[0.5]])() == 1
    assert claim("free:right", [[1.0, 0]], [[0.0, 1]], facts={"side": "right"}, reflected=[0],
                 mirror=np.diag([0.0, 1.0]), rows_left=[0], rows_right=[0]).gauge() == 1  # fmt: skip


def test_rounding_explains_so_much_of_a_prediction():
    # 4 ε k^1.5 κ |p| |q| + 4 ε (|p| |q| + |p'| |q'|) is 12 ε here; a shorter row does not lower it.
    p = [[1.0], [0.25]]
    assert checked([[1.0]], [[1 + 12 * EPS]], p=p, q=p)() == pytest.approx(1)
    fails(moves(13 * EPS, 12 * EPS), checked([[1.0]], [[1 + 13 * EPS]], p=p, q=p))
    assert checked(np.eye(2), np.diag([1 + 19 * EPS, 1]), p=[[1.0, 0]], q=[[1.0, 0]])() == pytest.approx(1)
    gap, bound = 20 * EPS, (8 * 2**0.5 + 8) * EPS
    fails(moves(gap, bound), checked(np.eye(2), np.diag([1 + 20 * EPS, 1]), p=[[1.0, 0]], q=[[1.0, 0]]))
    # With κ = 4 and rows of length 1 before and 4 after, (16 + 16 + 4) ε in one column, had there been one.
    wide = {"facts": {"map": True}}
    kept = checked([[2.0]], [[0.5 * (1 + 40 * EPS)]], p=[[3.0]], q=[[1.0]], **wide)
    fails(moves(120 * EPS, 36 * EPS), kept)


@pytest.mark.parametrize(("share", "stands"), [(0.99, True), (1.01, False)])
def test_rounding_of_single_precision_is_counted_before_and_after(share, stands):
    one, bound = np.ones((1, 1), dtype=np.float32), 8 * STORED + 4 * EPS
    found = checked([[1.0]], [[1 + share * bound]], p=one, q=one, facts={"map": True})
    if stands:
        found()
    else:
        fails(moves(share * bound, bound), found)
    size = 3.0  # rows three times as long weigh three times as much
    found = checked([[1.0]], [[1 + share * bound]], p=size * one, q=one, facts={"map": True})
    if stands:
        found()
    else:
        fails(moves(3 * share * bound, 3 * bound), found)


@pytest.mark.parametrize(
    ("bias", "to", "stands"),
    [("left", "right", True), ("right", "left", True), ("right", "right", False), ("left", "left", False)],
)
def test_a_bias_takes_up_one_number_a_row_or_a_column(bias, to, stands):
    p, q = [[1.0, 0], [0, 1], [1, 1]], [[2.0, 1], [1, 1], [0, 3]]
    found = checked(np.eye(2), p=p, q=q, bias=bias, **{f"to_{to}": [1.0, 0.5]})
    if stands:
        assert found() == 1
    else:
        with pytest.raises(ArithmeticError, match=r"^a prediction moves by"):
            found()


@pytest.mark.parametrize(
    ("known", "facts", "stands"),
    [(link("softmax"), {"map": True}, True), (link("softmax"), {}, False), (link(), {"map": True}, False)],
)
def test_a_head_gets_a_bias_with_a_map_only(known, facts, stands):
    p, q = [[1.0, 0], [0, 1], [1, 1]], [[2.0, 1], [1, 1], [0, 3]]
    found = checked(np.eye(2), p=p, q=q, link=known, facts=facts, to_left=[1.0, 0.5])
    if stands:
        assert found() == 1
    else:
        with pytest.raises(ArithmeticError, match=r"^a prediction moves by"):
            found()


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("sign", [-1, 1])
def test_rows_of_length_1_keep_it(side, sign):
    def found(by):
        a, b = 1 + sign * by * EPS, 1 / (1 + sign * by * EPS)
        known = link("cosine") if side == "left" else link("softmax", unit_rows=True)
        return checked([[a if side == "left" else b]], [[b if side == "left" else a]], link=known)

    assert found(63)() == pytest.approx(1)
    fails("rows lose their length 1", found(66))


def test_lengths_of_the_rows_that_are_free_are_not_asked():
    known = link("softmax", unit_rows=True)
    assert checked([[0.5]], [[1.0]], q=[[1.0]], p=[[0.0]], link=known, facts={"map": True})() == 1


def test_the_least_shift_of_a_single_row_or_number_is_seen():
    zero = {"p": [[0.0, 0]], "q": [[0.0, 0]]}
    fails("nothing absorbs a shift of right rows", checked(np.eye(2), to_right=[0.0, 1], **zero))
    fails("nothing absorbs a shift of left rows", checked(np.eye(2), to_left=[0.0, 1], **zero))


@pytest.mark.parametrize(("by", "stands"), [(1140, True), (1165, False)])
def test_rounding_of_lengths_grows_with_the_square_of_the_condition(by, stands):
    a = np.diag([1 + by * EPS, 3.0])
    found = checked(a, p=[[1.0, 0]], q=[[1.0, 0]], link=link("cosine"))
    if stands:
        assert found() == pytest.approx(3)
    else:
        fails("rows lose their length 1", found)


def test_a_gauge_is_in_the_budget():
    def found(kappa):
        return checked(np.diag([kappa, 1.0]), p=[[1.0, 0]], q=[[0.0, 1]], max_condition=2.0)

    assert found(2 * (1 + 0.9e-9))() > 2
    fails("the gauge has condition number 2.00001", found(2.00001))
    fails("the gauge has condition number 2", found(2 * (1 + 1.2e-9)))


@pytest.mark.parametrize(("k", "kappa"), [(1, 1), (2, 1), (2, 3)])
def test_the_matrices_of_a_gauge_are_inverse_to_each_other(k, kappa):
    a = np.diag([kappa, 1.0][-k:])

    def found(by):
        b = np.linalg.inv(a)
        b[-1, -1] += by * EPS
        return checked(a, b, p=[[0.0] * k], q=[[0.0] * k])

    most = 64 * k * kappa
    assert found(most)() == pytest.approx(kappa)
    fails("its two matrices are not inverse to each other", found(most + 1))
    fails("its two matrices are not inverse to each other", found(-most - 1))
    checked(a, 2 * a, p=[[0.0] * k], q=[[0.0] * k], facts={"map": True})()


def test_a_shift_needs_what_absorbs_it():
    zero = {"p": [[0.0]], "q": [[0.0]]}
    fails("nothing absorbs a shift of right rows", checked([[1.0]], to_right=[1.0], **zero))
    fails("nothing absorbs a shift of left rows", checked([[1.0]], to_left=[1.0], **zero))
    assert checked([[1.0]], to_right=[1.0], bias="left", **zero)() == 1
    assert checked([[1.0]], to_left=[1.0], bias="right", **zero)() == 1


@pytest.mark.parametrize(
    ("role", "shift", "budget", "stands"),
    [
        ("right", 1 + 0.5e-9, 0.5, True),
        ("right", 1 + 3e-9, 0.5, False),
        ("right", 0.9e-12, None, True),
        ("right", 2e-12, None, False),
        ("right", 0.5, None, False),
        ("left", 1e-13, 0.5, False),
    ],
)
def test_an_attack_shifts_within_its_budget(role, shift, budget, stands):
    # Rows have median length 2; the matrix halves the shift that is stored.
    a = np.diag([0.5, 1.0])
    for side, bias in (("right", "left"), ("left", "right")):
        stored = np.array([shift, 0]) @ (np.linalg.inv(a) if side == "right" else a)
        wanted = side if role == "right" else {"left": "right", "right": "left"}[side]
        found = checked(
            a, p=[[0.0, 2]], q=[[0.0, 2]], name=f"reached:movement:{wanted}:affine", bias=bias, max_shift=budget,
            **{f"to_{side}": stored},
        )  # fmt: skip
        if stands:
            assert found() == pytest.approx(2)
        else:
            fails(f"the gauge shifts {side} rows by too much", found)


def test_what_is_no_attack_may_shift_as_far_as_it_likes():
    found = checked([[1.0]], p=[[0.0]], q=[[1.0]], bias="left", to_right=[1e9], max_shift=0.1)
    assert found() == 1
