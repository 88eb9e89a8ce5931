"""Each kind of claim, made by hand: what stands, and each way in which it does not."""

from __future__ import annotations

import json

import claimed
import numpy as np
import pytest
from claimed import claim, gauge, link

import embaudit.io.proofs.verify as checker

EPS = 2.0**-52
CORNERS = [[0.0, 0.0], [1.0, 0.0], [-0.5, 0.8], [-0.5, -0.8]]
"""Three labels around one that never leads."""


@pytest.fixture(autouse=True)
def _quiet():
    with np.errstate(all="ignore"):
        yield


def fails(problem, found):
    claimed.fails(problem, found.check)


def stands(name, value, right, left=None, *, numbers=None, kind=None, **fields):
    """Check a claim, and that a wrong kind, a wrong value and each wrong number are found."""
    shown = name.split(":")[0] in "moved origin origin-decides shortest stretched reached declared identification"
    kind = kind or ("shown" if shown else "proven")
    numbers = numbers or {}
    claim(name, right, left, kind=kind, value=value, numbers=numbers, **fields).check()
    fails("it is of another kind", claim(
        name, right, left, kind="shown" if kind == "proven" else "proven", value=value, numbers=numbers, **fields
    ))  # fmt: skip
    for key in numbers:
        wrong = numbers | {key: numbers[key] + 1e-3}
        with pytest.raises(ArithmeticError, match=f"^{key} is "):
            claim(name, right, left, kind=kind, value=value, numbers=wrong, **fields).check()
    if value is not None:
        with pytest.raises(ArithmeticError, match=r"^value is "):
            claim(name, right, left, kind=kind, value=value + 1e-3, numbers=numbers, **fields).check()


@pytest.mark.parametrize(("by", "right"), [(0.9e-9, True), (-0.9e-9, True), (1.1e-9, False), (-1.1e-9, False)])
@pytest.mark.parametrize("size", [1, 1000])
def test_numbers_are_close(by, right, size):
    # A head of two dimensions and 2 or 2000 labels holds as many times more labels than dimensions.
    rows = np.vstack([np.eye(2) if i % 2 else np.zeros((1, 2)) for i in range(2 * size)])[: 2 * size]
    value = len(rows) / np.linalg.matrix_rank(rows - rows.mean(axis=0))
    found = claim("simplex", rows, value=value + by * value)
    if right:
        return found.check()
    return fails(f"value is {value}, not {value + by * value}", found)


@pytest.mark.parametrize(("by", "right"), [(0.9e-9, True), (1.5e-9, False)])
def test_small_numbers_have_nine_digits_after_the_point(by, right):
    found = claim("moved:right", **CROSS, **STRETCH, kind="shown", pairs=[[0, 1]], value=0.6 + by)
    if right:
        found.check()
    else:
        with pytest.raises(ArithmeticError, match=r"^value is "):
            found.check()


# Shown


CROSS = {"right": [[1.0, 1.0], [1.0, -1.0], [1.0, 0.0]], "left": [[1.0, 2.0], [0.5, 1.0]]}
STRETCH = gauge(np.diag([1.0, 0.5]), n=(2, 3))
"""Cosines of items 0, 1, 2 go from 0, .71, .71 to -.6, .45, .45."""


def test_an_equal_model_that_moves_cosines():
    change = 0.5**0.5 - 0.2**0.5
    mean = (0.6 + 2 * change) / 3
    stands("moved:right", mean, **CROSS, **STRETCH, numbers={"mean": mean, "largest": 0.6, "condition": 2.0})
    stands("stretched:right", mean, **CROSS, **STRETCH, numbers={"condition": 2.0})
    stands("moved:right", change, **CROSS, **STRETCH, pairs=[[0, 2]], numbers={"largest": change})
    lost = {"listed": [0], "lists": [[2]]}
    stands("moved:right", mean, **CROSS, **STRETCH, **lost, numbers={"lost": 0.0})


def test_an_attack_says_which_number_is_its_value():
    pairs = {"pairs": [[0, 1], [0, 2]], "facts": {"value": "mean"}}
    mean = (0.6 + 0.5**0.5 - 0.2**0.5) / 2
    stands("reached:movement:right:linear", mean, **CROSS, **STRETCH, **pairs)
    # Items at 80, 70 and 88 degrees; a first column 20 times as wide puts them at 16, 8 and 55.
    wide = gauge(np.diag([0.05, 1.0]), n=(2, 3))
    right = np.column_stack([np.ones(3), np.tan(np.radians([80, 70, 88]))])
    lists = {"listed": [0, 1], "facts": {"value": "lost"}}
    stands("reached:neighbours:right:linear", 0.5, right, CROSS["left"], **wide, **lists, lists=[[2], [0]])
    found = claim("reached:neighbours:right:linear", right, CROSS["left"], **wide, **lists, lists=[[1], [0]],
                  kind="shown", value=0.5)  # fmt: skip
    fails("a list does not hold the nearest rows", found)


def test_other_cosines_of_unit_rows_are_the_largest_of_each_side():
    right = np.array([[0.6, 0.8], [0.8, 0.6], [1.0, 0.0]])
    left = np.array([[0.0, 1.0]])
    flip = {"reflected": [0], "mirror": np.diag([1.0, 0.0]), "facts": {"side": "right"}}
    given = {"link": link("cosine"), "rows_left": [0], "rows_right": [0, 1, 2], **flip}
    # Item 0 is reflected where users have nothing: its cosines with items 1 and 2 go from .96 and .6 to 0 and -.6.
    stands("free:right", 1.2, right, left, kind="shown", pairs=[[0, 1], [0, 2]], **given,
           numbers={"largest": 1.2, "mean": 1.08, "condition": 1.0})  # fmt: skip
    stands("identification", 0.96, right, left, pairs=[[0, 1]], **given)
    fails("no cosine moves", claim("free:right", right, left, kind="shown", value=0.0, pairs=[[1, 2]], **given))
    given |= {"reflected": [1], "link": link("identity")}
    for angle, moves in ((0.4e-3, False), (0.6e-3, True)):
        right[1] = np.sin(angle), np.cos(angle)
        right[2] = 1, 0
        for name in ("identification", "free:right"):
            found = claim(name, right, left, kind="shown", value=2 * np.sin(angle), pairs=[[1, 2]], **given)
            if moves:
                found.check()
            else:
                fails("no cosine moves", found)


def test_freedom_of_one_side_is_told_of_that_side():
    right, left = CROSS["right"], [[1.0, 2.0], [2.0, -1.0]]
    own, other = 0.5**0.5 - 0.2**0.5, 1.5 / np.sqrt(2 * 4.25)
    assert own < other
    stands("free:right", own, right, left, kind="shown", **STRETCH, pairs=[[0, 2]])
    stands("free:left", other, right, left, kind="shown", **STRETCH, pairs=[[0, 1]])
    stands("identification", other, right, left, **STRETCH, pairs=[[0, 1]], facts={"role": "left"})
    stands("identification", own, right, left, **STRETCH, pairs=[[0, 2]])


def test_movement_is_no_number_of_lists_alone():
    found = claim("reached:neighbours:right:linear", **CROSS, **STRETCH, lists=[[2]], listed=[0], kind="shown",
                  value=0.1, facts={"value": "lost"}, numbers={"mean": 0.1})  # fmt: skip
    with pytest.raises(KeyError, match="mean"):
        found.check()


HEAD = np.array([[2.0, 1.0], [2.0, -1.0], [5.0, 0.0], [3.0, 4.0]])


def test_the_mean_row_is_removed():
    centre = HEAD.mean(axis=0)
    moved = gauge(np.eye(2), right=-centre, n=(2, 4))
    before, after = (x / np.linalg.norm(x, axis=1)[:, None] for x in (HEAD, HEAD - centre))
    rise = np.abs(after @ after.T - before @ before.T)[np.triu_indices(4, 1)]
    nearest = (before @ before.T - 2 * np.eye(4)).argmax(axis=1)
    lost = float((nearest != (after @ after.T - 3 * np.eye(4)).argmax(axis=1)).mean())
    lists = {"listed": [0, 1, 2, 3], "lists": nearest[:, None], "among": [0, 1, 2, 3]}
    known = {"link": link("softmax"), **moved, **lists}
    assert 0 < lost < 1
    stands("origin", lost, HEAD, **known, facts={"value": "lost"}, numbers={"mean": rise.mean(), "lost": lost})
    stands("origin", lost, HEAD, **known)
    few = np.abs(after @ after.T - before @ before.T)[0, 1]
    stands("origin-decides", lost, HEAD, **known | {"among": [0, 1]}, facts={"value": "lost"}, numbers={"mean": few})
    for by, right in ((4e-9, True), (-4e-9, True), (6e-9, False), (-6e-9, False)):  # 1e-9 of the largest number, 5
        shift = -centre + [by, 0]
        found = claim(
            "origin", HEAD, kind="shown", value=lost, **known | {"shift_right": shift}, facts={"value": "lost"}
        )
        if right:
            found.check()
        else:
            fails("it keeps the mean row", found)


def guarded(known, bias=False, **fields):
    """Largest change of log-probabilities at an input, by hand: (value, fields of the claim)."""
    x, among = np.array([0.3, 0.7]), [0, 1, 3]

    def log(w, b):
        z = w @ x
        if known["unit_rows"]:
            z = w @ x / np.linalg.norm(w, axis=1)
        z = z + b
        z = z if known["soft_cap"] is None else known["soft_cap"] * np.tanh(z / known["soft_cap"])
        return z - np.log(np.exp(z).sum())

    b = np.array([0.5, -1.0, 2.0, 0.1])[among] if bias else np.zeros(3)
    change = np.abs(log(HEAD[among] - HEAD.mean(axis=0), b) - log(HEAD[among], b)).max()
    return change, {"link": known, "input": x, "among": among}


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("known", [link("softmax", soft_cap=1.5), link("softmax", unit_rows=True)])
@pytest.mark.parametrize("name", ["declared", "origin"])
def test_an_input_notices_that_the_mean_row_is_gone(known, bias, name):
    value, fields = guarded(known, bias)
    assert value > 0.01

    def made(value, kind="shown"):
        found = claim(name, HEAD, value=value, kind=kind, bias="right" if bias else "", **fields)
        if bias:
            found.model["right_bias"] = np.array([0.5, -1.0, 2.0, 0.1])
        return found

    made(value).check()
    for by in (1e-6, -1e-6):
        with pytest.raises(ArithmeticError, match=r"^value is "):
            made(value + by).check()
    fails("it is of another kind", made(value, "proven"))


def test_two_labels_are_made_opposite():
    # Rows of labels 0 and 1 have the middle (2, 0), 2 of the median length long.
    length = 2 / np.median(np.linalg.norm(HEAD, axis=1))
    known = {"link": link("softmax"), "pairs": [[0, 1]]}
    stands("shortest", length, HEAD, **known, **gauge(np.eye(2), right=[-2.0, 0], n=(2, 4)),
           numbers={"length": length, "largest": 1.6, "mean": 1.6})  # fmt: skip
    for by, right in ((0.6e-3, True), (1.2e-3, False), (2.4e-3, False)):
        # Rows (by, 1) and (by, -1): their cosine is -1 + 2 by².
        found = claim("shortest", HEAD, kind="shown", value=(2 - by) / 2 * length, **known,
                      **gauge(np.eye(2), right=[by - 2, 0], n=(2, 4)))  # fmt: skip
        if right:
            found.check()
        else:
            fails("the two labels are not opposite", found)


# Proven


def test_a_budget_is_that_of_the_name():
    for by, right in ((0.9e-5, True), (-0.9e-5, True), (1.1e-5, False), (-1.1e-5, False)):
        found = claim("range:right:linear:2.0", CORNERS, pairs=[[1, 2]], max_condition=2 / (1 + by))
        if right:
            found.proven()
        else:
            with pytest.raises(ArithmeticError, match=r"^its name has another budget$"):
                found.proven()


def reach(c, kappa):
    """Ends of a cosine under linear gauges, as a ratio of squared half angles."""
    ratio, square = (1 - c) / (1 + c), kappa**2
    return (1 - ratio * square) / (1 + ratio * square), (1 - ratio / square) / (1 + ratio / square)


def test_a_range_is_a_median_width_and_a_bound_a_mean():
    rows = np.array([[1.0, 0], [1, 0.3], [1, 1], [-1, 0.5]])
    units = rows / np.linalg.norm(rows, axis=1)[:, None]
    c = (units @ units.T)[np.triu_indices(4, 1)]
    pairs = np.column_stack(np.triu_indices(4, 1))
    low, high = reach(c, 2.0)
    stands("range:right:linear:2.0", np.median(high - low), rows, pairs=pairs, max_condition=2.0)
    stands("range:right:linear:1.0", 0.0, rows, pairs=pairs)
    most = np.maximum(high - c, c - low).mean()
    stands("bound:movement:right:linear", most, rows, pairs=pairs, max_condition=2.0)
    stands("bound:movement:right:diagonal", most, rows, pairs=pairs, max_condition=2.0)


@pytest.mark.parametrize(("bias", "side"), [("left", "right"), ("right", "left")])
def test_a_shift_is_in_medians_of_the_side_that_may_be_shifted(bias, side):
    right, left = np.array([[3.0, 0], [0, 4], [3, 3]]), np.array([[1.0, 0.5], [0, 1]])
    pairs = np.argwhere(np.ones((2, 3)))
    units = [x / np.linalg.norm(x, axis=1)[:, None] for x in (left, right)]
    angle = np.arccos(units[0] @ units[1].T).ravel()
    moving = {"left": left, "right": right}[side]
    length = np.linalg.norm(moving, axis=1)
    turn = np.arcsin(0.1 * np.median(length) / length)[pairs[:, int(side == "right")]]
    width = np.cos(np.maximum(angle - turn, 0)) - np.cos(np.minimum(angle + turn, np.pi))
    stands("range:cross:affine:1.0", np.median(width), right, left, bias=bias, pairs=pairs, max_condition=1.0,
           max_shift=0.1)  # fmt: skip


def test_certified_lists_are_counted_whole_and_by_entry():
    rows = np.array([[1.0, 0], [1, 0.01], [1, -0.2], [0, 1], [-1, 0.1]])
    lists = {"listed": [0, 3], "lists": [[1, 2], [1, 0]]}
    # Of list 0 both stay; of list 3 one: the cosine .01 of row 1 is just ahead of those of rows 2 and 4.
    c = (rows / np.linalg.norm(rows, axis=1)[:, None]) @ (rows / np.linalg.norm(rows, axis=1)[:, None]).T
    ahead = np.arctanh([[c[0, 1], c[0, 2]], [c[3, 1], c[3, 0]]]) - np.arctanh([[c[0, 3]], [c[3, 4]]])
    for kappa in (1.0, 1.2, 2.0, 4.0):
        stays = ahead > 2 * np.log(kappa)
        stands(f"certified:right:linear:{kappa}", stays.all(axis=1).mean(), rows, **lists, max_condition=kappa)
        stands("bound:neighbours:right:linear", 1 - stays.mean(), rows, **lists, max_condition=kappa)
    assert (ahead > 2 * np.log(1.2)).mean() > 0


WEIGHTS = {"hidden": [0], "others": [[1, 2, 3]], "ahead": np.full((1, 3), 1 / 3), "most": np.zeros((1, 3))}


def argmax(bias=None, rows=CORNERS, **changed):
    found = claim("argmax", rows, value=1, **WEIGHTS | {k: np.array(v, dtype=float) for k, v in changed.items()})
    found.model["right_bias"] = None if bias is None else np.array(bias, dtype=float)
    return found


def test_a_label_between_others_never_leads():
    argmax().check()
    argmax(bias=[0, 0, 0, 0]).check()
    argmax(bias=[-1, 0, 2, 0]).check()
    argmax(rows=np.array(CORNERS) + 7).check()
    argmax(bias=[1, 1, 1, 1]).check()
    argmax(ahead=[[1 / 3 + 2e-7 / 3, 1 / 3 - 1e-7 / 3, 1 / 3 - 1e-7 / 3]], most=[[1e-7, 0, 0]]).check()
    twice = {key: np.vstack([np.array(value)] * 2) for key, value in WEIGHTS.items() if key != "hidden"}
    claim("argmax", CORNERS, value=1, hidden=[0, 0], **{**twice, "others": twice["others"].astype(np.int32)}).check()
    found = argmax()
    found.claim["value"] = 2
    fails("value is 1, not 2", found)


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"ahead": [[2 / 3, 2 / 3, -1 / 3]]}, "no weights"),
        ({"most": [[1e-8, -1e-8, 0]]}, "no weights"),
        ({"ahead": np.array([[1, 1, 1]]) * (1 + 2e-9) / 3}, "no weights"),
        ({"ahead": np.array([[1, 1, 1]]) * (1 - 2e-9) / 3}, "no weights"),
        ({"ahead": [[0.4, 0.3, 0.3]]}, "the weights do not balance"),
        ({"ahead": [[1 / 3 - 2e-9, 1 / 3 + 1e-9, 1 / 3 + 1e-9]]}, "the weights do not balance"),
        ({"bias": [1, 0, 0, 0]}, "the weights do not balance"),
        ({"bias": [1 / 3 + 3e-9, 0, 0, 1]}, "the weights do not balance"),
        ({"bias": [10 / 3 + 15e-9, 0, 0, 10]}, "the weights do not balance"),
        (
            {"ahead": [[1 / 3 - 2e-9, 1 / 3 + 1e-9, 1 / 3 + 1e-9]], "rows": np.array(CORNERS) + 7},
            "the weights do not balance",
        ),
        ({"most": [[1.1e-6 / 3] * 3]}, "the weights leave a lead"),
    ],
)
def test_weights_that_show_nothing(changed, problem):
    fails(problem, argmax(**changed))


@pytest.mark.parametrize(
    "changed",
    [
        {"ahead": np.array([[1, 1, 1]]) * (1 + 0.9e-9) / 3},
        {"ahead": [[1 / 3 - 0.6e-9, 1 / 3 + 0.3e-9, 1 / 3 + 0.3e-9]]},
        {"bias": [1 / 3 + 0.5e-9, 0, 0, 1]},
        {"bias": [10 / 3 + 5e-9, 0, 0, 10]},
        {"ahead": [[1 / 3 - 0.6e-9, 1 / 3 + 0.3e-9, 1 / 3 + 0.3e-9]], "rows": 1000 * np.array(CORNERS)},
        {"most": [[0.9e-6 / 3] * 3]},
    ],
)
def test_weights_up_to_rounding(changed):
    argmax(**changed).check()


def test_a_simplex_has_more_labels_than_dimensions():
    stands("simplex", 2.0, CORNERS)
    stands("simplex", 1.5, [[1.0, 0, 0], [0, 1, 0], [0, 0, 1]])
    flat = np.column_stack([CORNERS, np.zeros(4)]) * [1, 0.01, 0]
    largest = np.linalg.svd(flat - flat.mean(axis=0), compute_uv=False)[0]
    for share, value in ((0.5, 2.0), (1.6, 4 / 3)):
        # A column at right angles to both others has a singular value of its own; 3 ε of the largest are rounding.
        off = flat + share * 3 * EPS * largest / 12**0.5 * np.array([[0.0, 0, 3], [0, 0, -1], [0, 0, -1], [0, 0, -1]])
        claim("simplex", off, value=value).check()


def dropping(basis, n, **fields):
    basis = np.array(basis, dtype=float)
    return {**gauge(basis, basis, n=n), "facts": {"map": True}, **fields}


def test_what_predictions_do_not_see():
    left = [[1.0, 0, 0], [0, 1, 0]]
    right = [[1.0, 0, 0], [0, 3, 4], [0, 0, 0]]
    seen = dropping([[1, 0], [0, 1], [0, 0]], (2, 2))
    stands("outside:right", 1, right, left, numbers={"share": 16 / 25}, **seen)
    claim("free:right", right, left, **seen).check()
    claim("reduction", right, left, **seen).check()
    claim("reduction", right, left, **dropping(np.eye(3), (2, 2))).check()
    fails("no cosine moves", claim("free:right", right, left, **dropping(np.eye(3), (2, 2))))
    with pytest.raises(ArithmeticError, match=r"^a prediction moves by"):
        claim("free:right", right, left, **dropping([[1.0], [0], [0]], (2, 2))).check()


@pytest.mark.parametrize(("turn", "free"), [(1.002, True), (1.0005, False)])
def test_freedom_without_a_number_needs_a_pair_that_moves(turn, free):
    # Rows (1, 1) and (1, -1): stretching a column by t moves their cosine by (t² - 1) / (t² + 1), about t - 1.
    found = claim("free:right", [[1.0, 1], [1, -1]], [[1.0, 0], [0, 1]], pairs=[[0, 1]],
                  **gauge(np.diag([1.0, turn]), n=(2, 2)))  # fmt: skip
    if free:
        found.check()
    else:
        fails("no cosine moves", found)


def test_of_stored_pairs_one_must_move():
    rows = [[1.0, 1], [1, -1], [1, 0], [2, 0]]
    known = gauge(np.diag([1.0, 2.0]), n=(2, 4))
    claim("free:right", rows, np.eye(2), pairs=[[0, 1]], **known).check()
    fails("no cosine moves", claim("free:right", rows, np.eye(2), pairs=[[2, 3]], **known))


# Pinned


def spanning(n=3, right=None, **fields):
    right = right if right is not None else [[1.0, 0], [0, 2], [3, 3], [1, 2]]
    given = {"link": link("cosine"), "facts": {"side": "right"}} | fields
    return claim("pinned:right", right, right, spanning=list(range(n)), **given)


def test_rows_that_span_all_forms_pin():
    spanning().check()
    fails("too few rows span", spanning(2))
    fails("too few rows span", spanning(4))
    fails("the rows do not span", spanning(right=[[1.0, 0], [0, 2], [0, 3], [1, 2]]))
    fails("the rows do not span", spanning(link=link()))
    head = {"link": link("softmax", unit_rows=True), "facts": {}}
    five = [[1.0, 0], [0, 2], [3, 3], [1, -2], [-1, -0.2], [-5, 1]]
    spanning(5, five, **head).check()
    fails("too few rows span", spanning(3, five, **head))
    fails("too few rows span", spanning(6, five, **head))
    fails("the rows do not span", spanning(5, [[1.0, 0], [0, 2], [3, 3], [1, 2], [1, 0]], **head))
    fails("the rows do not span", spanning(5, five, link=link("softmax"), facts={}))
    fails("too few rows span", spanning(5, five, link=link("softmax", 2.0, True), facts={}))
    one = claim("pinned:left", five, [[1.0, 0], [0, 2], [0, 3]], spanning=[0, 1, 2], link=link("cosine"),
                facts={"side": "left"})  # fmt: skip
    fails("the rows do not span", one)


@pytest.mark.parametrize(("share", "enough"), [(1.04, True), (0.96, False)])
def test_rows_span_beyond_rounding(share, enough):
    # Two axes and a third row at a small angle to one of them, found by halves.
    low, high = 1e-9, 1.0
    for _ in range(200):
        t = (low * high) ** 0.5
        u = np.array([[1.0, 0], [0, 1], [np.cos(t), np.sin(t)]])
        least = np.linalg.eigvalsh((u @ u.T) ** 2)[0]
        low, high = (t, high) if least < share * 64 * 3 * EPS else (low, t)
    found = spanning(right=np.array([[1.0, 0], [0, 1], [np.cos(high), np.sin(high)]]))
    if enough:
        found.check()
    else:
        fails("the rows do not span", found)


AXES = np.vstack([np.eye(2), -np.eye(2)])


def weighed(left=(1.0, 1), right=(1.0, 1), rows=((1.0, 0), (0, 1)), others=None, known=None):
    return claim("pinned:right", rows if others is None else others, rows, weights_left=np.array(left, dtype=float),
                 weights_right=np.array(right, dtype=float), link=known or link("cosine"))  # fmt: skip


def test_weights_make_one_positive_form_on_both_sides():
    weighed().check()
    weighed((1, 2), (1, 2)).check()
    weighed((1, 1, 5), (1, 1, 5), rows=((3.0, 0), (0, 1), (0, 0))).check()
    fails("the two sides hold other forms", weighed((1, 2), (2, 1)))
    weighed((1, 1), (1 + 0.9e-8, 1)).check()
    fails("the two sides hold other forms", weighed((1, 1), (1 + 1.1e-8, 1)))
    weighed((3, 3), (3 + 2.9e-8, 3)).check()
    fails("the two sides hold other forms", weighed((3, 3), (3 + 3.1e-8, 3)))
    fails("no positive form", weighed(known=link()))
    fails("no positive form", weighed((1, -1), (1, -1)))
    weighed((1, 1.1e-4), (1, 1.1e-4)).check()
    fails("no positive form", weighed((1, 0.9e-4), (1, 0.9e-4)))
    weighed((10, 1.1e-3), (10, 1.1e-3)).check()
    fails("no positive form", weighed((10, 0.9e-3), (10, 0.9e-3)))
    # On a line in the plane the form is singular; it stands where it is 1 on all rows and no weight is negative.
    line = ((1.0, 0), (-1, 0))
    weighed((0.5, 0.5), (1, 0), rows=line).check()
    weighed((0.5, 0.5), (1 + 0.9e-8, 0), rows=line).check()
    fails("no positive form", weighed((0.5, 0.6), (1.1, 0), rows=line))
    fails("no positive form", weighed((0.5, 0.5 + 1.2e-8), (1 + 1.2e-8, 0), rows=line))
    weighed((0, 1), (1, 0), rows=line).check()
    fails("no positive form", weighed((2, -1), (1, 0), rows=line))
    # Another left row off that line: what holds on the line says nothing of it.
    off = ((1.0, 0), (-1, 0), (0.6, 0.8))
    fails("no positive form", weighed((0.5, 0.5, 0), (1, 0), rows=off, others=line))
    fails("no positive form", weighed((2, -1), (2, -1), rows=line))
    fails("no positive form", weighed((0.5, 0.5), (1, 0), rows=line, known=link("softmax")))
    fails("no positive form", weighed((1, 0), (1, 0), rows=((1.0, 0), (1, 0.1))))


@pytest.mark.parametrize(
    ("name", "bias", "k", "known", "problem"),
    [
        ("pinned:right", "", 1, link(), None),
        ("pinned:cross", "", 1, link(), None),
        ("pinned:right", "right", 1, link(), None),
        ("pinned:left", "left", 1, link(), None),
        ("pinned:right", "left", 1, link(), "a shift could turn a sign"),
        ("pinned:left", "right", 1, link(), "a shift could turn a sign"),
        ("pinned:cross", "right", 1, link(), "a shift could turn a sign"),
        ("pinned:cross", "left", 1, link(), "a shift could turn a sign"),
        ("pinned:right", "", 2, link(), "a shift could turn a sign"),
        ("pinned:right", "", 1, link("softmax"), "a shift could turn a sign"),
        ("pinned:left", "", 1, link("ranking"), "equal models are not known"),
        ("pinned:left", "", 1, link("softmax", soft_cap=2.0), "equal models are not known"),
    ],
)
def test_on_a_line_only_a_shift_could_turn_a_sign(name, bias, k, known, problem):
    found = claim(name, np.ones((2, k)), np.ones((2, k)), bias=bias, link=known)
    if problem is None:
        found.check()
    else:
        fails(problem, found)


# The whole record


def recorded():
    """A record of two claims on one array: (arrays of the file, model)."""
    x = np.array(CORNERS)
    model = {"left": None, "right": x, "left_bias": None, "right_bias": None}
    said = {"arrays": {name: None if a is None else checker.digest(a) for name, a in model.items()}, "link": link()}
    claims = []
    for value in (2.0, 3.0):
        entry = {
            "name": "simplex", "kind": "proven", "value": value, "scope": {"max_condition": None, "max_shift": None},
            "proof": {"arrays": {"b": "a1", "a": "a0"}, "numbers": {}},
        }  # fmt: skip
        claims.append(entry | {"digest": checker.digest(entry, said, np.eye(2), np.zeros(3))})
    record = {"model": said, "claims": claims}
    return record, {"a0": np.eye(2), "a1": np.zeros(3)}, model


def verified(record, arrays, model):
    return checker.verify({"record": np.array(json.dumps(record)), **arrays}, model)


NO_ARRAY = "another array than the one that was audited"
SAME = [("left", ""), ("right", ""), ("left_bias", ""), ("right_bias", "")]


def test_a_record_is_verified_claim_by_claim():
    record, arrays, model = recorded()
    assert verified(record, arrays, model) == [*SAME, ("simplex", ""), ("simplex", "value is 2.0, not 3.0")]
    other = model | {"left": np.eye(2), "right_bias": np.zeros(4)}
    assert verified(record, arrays, other)[:4] == [("left", NO_ARRAY), *SAME[1:3], ("right_bias", NO_ARRAY)]
    changed = arrays | {"a1": np.ones(3)}
    assert verified(record, changed, model)[4] == ("simplex", "its words were changed")
    record["claims"][0]["text"] = "more"
    assert verified(record, arrays, model)[4] == ("simplex", "its words were changed")


def test_a_claim_that_cannot_be_read_is_not_proven():
    record, arrays, model = recorded()
    record["claims"][0].pop("kind")
    record["claims"].append({"proof": 1})
    found = verified(record, arrays, model)
    assert found[4] == ("simplex", "'kind'")
    assert found[6] == ("None", "'scope'")
    record["claims"][0] = {"name": "simplex", "proof": {"arrays": {}}, "kind": "proven", "scope": {}, "value": None}
    assert verified(record, arrays, model)[4] == ("simplex", "'max_condition'")


@pytest.mark.parametrize(("stored", "problem"), [("a0", ""), ("a1", "its basis is not that of the reduction")])
def test_a_basis_is_that_of_the_reduction(stored, problem):
    record, arrays, model = recorded()
    arrays["a1"] = np.diag([1.0, -1.0])
    reduction = {"name": "reduction", "proof": {"arrays": {"gauge_left": "a0"}}}
    entry = record["claims"][0]
    entry["proof"]["arrays"] = {"basis": stored}
    entry.pop("digest")
    entry["digest"] = checker.digest(entry, record["model"], arrays[stored])
    record["claims"][1] = reduction
    assert verified(record, arrays, model)[4] == ("simplex", problem)


# The command line


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run the checker on files of a folder: (exit code, lines printed, errors)."""
    monkeypatch.chdir(tmp_path)
    record, arrays, model = recorded()
    record["claims"].pop()
    for name, rows in (("P", np.eye(2)), ("Q", model["right"]), ("a", np.zeros(2)), ("b", np.ones(4))):
        np.save(f"{name}.npy", rows)
    np.savez("proof.npz", record=np.array(json.dumps(record)), **arrays)

    def call(*arguments):
        monkeypatch.setattr("sys.argv", ["verify.py", *arguments])
        code = checker.main()
        streams = capsys.readouterr()
        return code, streams.out.splitlines(), streams.err

    return call


def test_one_side_or_two_with_their_biases_are_named(run):
    stands = [f"stands  {name}" for name in ("left", "right", "left_bias", "right_bias", "simplex")]
    assert run("proof.npz", "Q.npy") == (0, stands, "")
    assert run("proof.npz", "-", "Q.npy") == (0, stands, "")
    assert run("proof.npz", "-", "Q.npy", "-", "-") == (0, stands, "")
    wrong = [f"FAILS  {name}  {NO_ARRAY}" for name in ("left", "right", "left_bias", "right_bias")]
    assert run("proof.npz", "P.npy", "Q.npy", "a.npy", "b.npy") == (
        1, [wrong[0], stands[1], wrong[2], wrong[3], stands[4]], ""
    )  # fmt: skip
    assert run("proof.npz", "P.npy", "Q.npy")[1] == [wrong[0], *stands[1:]]
    code, lines, _ = run("proof.npz", "P.npy")
    assert (code, lines[:4]) == (1, [stands[0], wrong[1], *stands[2:4]])


def test_input_that_cannot_be_read_is_told_with_how_to_call(run):
    how = checker.__doc__
    assert run("proof.npz") == (2, [], f"a proof and a model must be named; {how}\n")
    assert run("proof.npz", "Q.npy", "-") == (2, [], f"a proof and a model must be named; {how}\n")
    code, lines, errors = run("none.npz", "Q.npy")
    assert (code, lines) == (2, [])
    assert errors.endswith(f"'none.npz'; {how}\n")
