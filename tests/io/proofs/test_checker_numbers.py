"""What the checker computes of pairs, lists and ranges, against numbers by hand and the package's own ranges."""

from __future__ import annotations

import numpy as np
import pytest
from claimed import claim, fails, gauge, link
from models import random_model

from embaudit.auditing.proof.limits import _across, _within
from embaudit.gauges import Affine, Diagonal, GeneralLinear
from embaudit.kernels.pairs import all_pairs
from embaudit.model import FactorModel
from embaudit.ranges import certified_neighbours, cosine_range

RIGHT = [[1.0, 0.0], [0.0, 0.0], [3.0, 4.0], [0.0, 2.0]]


@pytest.fixture(autouse=True)
def _quiet():
    with np.errstate(all="ignore"):
        yield


def instead(found, after):
    """Let another model hold these rows."""
    after = np.array(after, dtype=float)
    found.other = lambda side, which=None: after if which is None else after[which]
    return found


# Pairs


def test_tiles_hold_cosines_and_mark_what_is_no_pair():
    found = claim("moved:right", RIGHT, [[0.0, 0.0], [0.0, 1.0]])
    ((part, tile),) = found.tiles(None, None, found.rows)
    assert part == slice(0, 2**22 // 4 + 1)
    own = [[-2, -2, 0.6, 0], [-2, -2, -2, -2], [0.6, -2, -2, 0.8], [0, -2, 0.8, -2]]
    assert np.allclose(tile, own, rtol=0, atol=1e-15)
    ((part, tile),) = found.tiles(np.array([2, 1]), np.array([2, 3, 0]), found.rows)
    assert part == slice(0, 2**22 // 3 + 1)
    assert np.allclose(tile, [[-2, 0.8, 0.6], [-2, -2, -2]], rtol=0, atol=1e-15)
    across = claim("moved:cross", RIGHT, [[0.0, 0.0], [0.0, 1.0]])
    ((part, tile),) = across.tiles(None, None, across.rows)
    assert np.allclose(tile, [[-2, -2, -2, -2], [0, -2, 0.8, 1]], rtol=0, atol=1e-15)
    parallel = claim("moved:right", [[0.1, 0.3], [0.1, 0.3], [-0.1, -0.3]] * np.arange(1, 8).repeat(3)[:3, None])
    ((_, tile),) = parallel.tiles(None, None, lambda s, i: 1.1 * np.eye(2)[[0, 0]])
    assert tile.tolist() == [[-2, 1], [1, -2]]


def test_cosines_are_never_beyond_1():
    draw = np.random.default_rng(0).standard_normal((60, 3))
    found = claim("moved:right", np.vstack([draw, -draw]))
    ((_, tile),) = found.tiles(None, None, found.rows)
    assert sorted({tile[i, i + 60] for i in range(60)})[0] == -1
    ((_, tile),) = claim("moved:right", np.vstack([draw, draw])).tiles(
        None,
        None,
        lambda side, which: np.vstack([draw, draw]),
    )
    assert max(tile[i, i + 60] for i in range(60)) == 1


AFTER = [[1.0, 0.0], [0.0, 0.0], [0.0, 1.0], [0.0, -1.0]]
"""Cosines of rows 0, 2, 3 go from .6, 0, .8 to 0, 0, -1."""


@pytest.mark.parametrize(
    ("arrays", "mean", "largest"),
    [
        ({"pairs": [[0, 2], [0, 3], [0, 1], [2, 3]]}, 0.8, 1.8),
        ({"pairs": [[0, 2], [0, 3], [1, 2]]}, 0.3, 0.6),
        ({"among": [0, 2, 1]}, 0.6, 0.6),
        ({}, 0.8, 1.8),
    ],
)
def test_movement_is_of_the_pairs_stored_or_of_all(arrays, mean, largest):
    found = instead(claim("moved:right", RIGHT, **arrays), AFTER)
    assert found.movement() == pytest.approx((mean, largest), abs=1e-12)


@pytest.mark.parametrize("pairs", [None, [[0, 0], [0, 2]]])
def test_movement_across_is_of_both_sides(pairs):
    found = claim("moved:cross", [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [[1.0, 1.0]], pairs=pairs, **gauge(np.eye(2)))
    found.other = lambda side, which=None: (found.rows(side) * ([1, 0] if side == "left" else 1))[  # type: ignore
        slice(None) if which is None else which
    ]
    moved = np.array([1 - 0.5**0.5, 1 - 0.5**0.5, 0.5**0.5][:: 1 if pairs is None else 2])
    assert found.movement() == pytest.approx((moved.mean(), moved.max()), abs=1e-12)


def test_movement_is_counted_over_all_tiles():
    found = claim("moved:right", RIGHT)
    tiles = [(slice(0, 1), np.array([[0.5, -2.0]]), np.array([[1.0, -2.0]])),
             (slice(1, 2), np.array([[-2.0, 0.5, 0.0]]), np.array([[-2.0, 0.4, 0.0]]))]  # fmt: skip
    found.tiles = lambda *given: iter(tiles)
    assert found.movement() == pytest.approx((0.2, 0.5))


# Lists


def at_angles(*degrees):
    angles = np.radians(degrees)
    return np.column_stack([np.cos(angles), np.sin(angles)])


def listed(before, after, lists, rows=(0,), known=None, **arrays):
    found = claim("reached:neighbours:right:linear", before, listed=list(rows), lists=lists, known=known, **arrays)
    return instead(found, after)


def test_the_share_of_lists_that_stays():
    before, after = at_angles(0, 10, 20, 30, 40), at_angles(0, 10, 50, 30, 40)
    assert listed(before, after, [[1, 2]]).lost().tolist() == [0.5, 0.5]
    assert listed(before, after, [[1]]).lost().tolist() == [0, 0]
    assert listed(before, after, [[1, 2], [2, 4]], (0, 3)).lost().tolist() == [0.25, 0.25]
    fails("a list does not hold the nearest rows", listed(before, after, [[1, 3]]).lost)


def near(gap, kind=np.float64):
    """Two rows, the second of which has a cosine with the first axis that is so much larger."""
    high = 0.6 + gap
    return np.array([[1, 0], [0.6, 0.8], [high, np.sqrt(1 - high**2)], [-1, 0]], dtype=kind)


@pytest.mark.parametrize(("gap", "stands"), [(0.9e-9, True), (2e-9, False)])
def test_rows_that_tie_with_the_last_of_a_list_may_stand_in_it(gap, stands):
    found = listed(near(gap), near(0), [[1]])
    if stands:
        assert found.lost().tolist() == [0, 0]
    else:
        fails("a list does not hold the nearest rows", found.lost)


@pytest.mark.parametrize(
    ("gap", "kind", "lost"),
    [
        (0.45e-9, np.float64, [0, 0]),
        (1e-9 - 9.5 * 2.0**-52, np.float64, [0, 0]),
        (1e-9, np.float64, [0, 1]),
        (1e-9 + 9.5 * 2.0**-52, np.float64, [1, 1]),
        (1.55e-9, np.float64, [1, 1]),
        (7.9 * 2.0**-23, np.float32, [0, 0]),
        (8.1 * 2.0**-23, np.float32, [0, 1]),
        (23.9 * 2.0**-23, np.float32, [0, 1]),
        (24.1 * 2.0**-23, np.float32, [1, 1]),
    ],
)
def test_rows_about_a_tie_behind_the_last_of_the_other_list_may_have_stayed(gap, kind, lost):
    found = listed(near(0, kind), near(gap), [[1]])
    found.rows = lambda side, which=None: near(0)[slice(None) if which is None else which]
    assert found.lost().tolist() == lost


@pytest.mark.parametrize(("value", "stands"), [(0.0, True), (0.5, True), (1.0, True), (1.1, False), (-0.1, False)])
def test_a_share_at_the_edge_of_a_tie_stands_either_way(value, stands):
    found = claim("reached:neighbours:right:linear", near(0), listed=[0], lists=[[1]], kind="shown", value=value,
                  facts={"value": "lost"})  # fmt: skip
    instead(found, near(1e-9)).gauge = lambda: 1.0
    if stands:
        return found.check()
    return fails(f"value is {float(value > 0)}, not {value}", found.check)


def test_a_shift_gives_rows_of_zeros_a_direction_among_those_listed():
    before = np.vstack([at_angles(0, 10, 20), np.zeros((1, 2))])
    near, far = (before + at_angles(angle) for angle in (5, 180))
    assert [listed(before, after, [[1, 2]]).lost().tolist() for after in (near, far)] == [[0.5, 0.5], [0, 0]]
    # The other way round a row that has none any more has left every list.
    assert listed(near, before, [[1, 3]]).lost().tolist() == [0.5, 0.5]


def test_what_claims_share_is_computed_once():
    known: dict[str, float] = {}
    arrays = {"one": [1], "two": [2]}
    before, after = at_angles(0, 10, 20), at_angles(0, 30, 20)
    for order in (list(arrays), list(arrays)[::-1]):
        found = listed(before, after, [[1]], known=known, **{name: arrays[name] for name in order})
        assert found.lost().tolist() == [1, 1]
        found.proof["arrays"] = dict(sorted(found.proof["arrays"].items(), reverse=order[0] == "one"))
        assert found.lost().tolist() == [1, 1]
    assert len(known) == 1
    known |= dict.fromkeys(known, 0.25)
    assert found.lost() == 0.25
    own: dict[str, float] = {}
    for side in ("left", "right"):
        both = claim(f"moved:{side}", before, before, known=own, listed=[0], lists=[[1]])
        instead(both, after).lost()
    assert len(own) == 2


def certifiable(shift=None, known=None, role="right"):
    """A model, its certificate, and a claim about the same lists."""
    model = FactorModel.from_softmax(random_model(3, n=None, p=8, k=2).right)
    group = None if shift is None else Affine(2, side="right", max_condition=2.0, max_shift=shift)
    found = certified_neighbours(model, n=2, group=group)
    stored = {"listed": found.rows, "lists": found.indices}
    made = claim(f"certified:{role}:linear:2.0", model.right, known=known, link=link("softmax"), **stored)
    return found, made


@pytest.mark.parametrize("shift", [None, 0.1])
def test_lists_are_certified_up_to_their_radii(shift):
    found, made = certifiable(shift)
    radii = found.radii[found.radii > 1.01]
    assert len(radii) > 5
    for kappa in np.concatenate([radii * (1 - 2e-6), radii * (1 + 2e-6)]):
        lists, entries = made.certified(kappa, shift or 0.0)
        assert lists.tolist() == [found.list_curve([kappa])[0]] * 2
        assert entries.tolist() == [found.curve([kappa])[0]] * 2
    assert len(made.known) == 1


def test_at_the_edge_of_a_radius_an_entry_may_stay_or_leave():
    # Rows at 10 and 60 degrees: tan 30° / tan 5°.
    radius = np.sqrt(np.tan(np.radians(30)) / np.tan(np.radians(5)))
    made = claim("certified:right:linear:2", at_angles(0, 10, 60), listed=[0], lists=[[1]])
    for by, stay in ((-6e-7, [1, 1]), (-4e-7, [1, 0]), (4e-7, [1, 0]), (6e-7, [0, 0])):
        assert [found.tolist() for found in made.certified(radius * (1 + by), 0.0)] == [stay, stay]


def test_certificates_of_other_roles_and_shifts_are_others():
    known: dict[str, object] = {}
    for role, shift in (("right", 0.0), ("right", 0.1), ("left", 0.0)):
        claim(f"certified:{role}:linear:2", RIGHT, RIGHT, known=known, listed=[0], lists=[[2]]).certified(2.0, shift)
    assert len(known) == 3
    for order in (("a", "b"), ("b", "a")):
        found = claim("certified:right:linear:2", RIGHT, known=known, listed=[0], lists=[[2]], a=[1], b=[1])
        found.proof["arrays"] = {name: found.proof["arrays"][name] for name in ("listed", "lists", *order)}
        found.certified(2.0, 0.0)
    assert len(known) == 4


@pytest.mark.parametrize(
    ("rows", "lists", "ratio"),
    [
        (near(-0.1), [[1]], 2 / 3**0.5),
        (near(-0.9e-9), [[1]], 0.0),
        (near(-2e-9), [[1]], 1 + 2e-9 / (1 - 0.36)),
        (near(0.1), [[1]], 0.0),
        (near(0.1)[[0, 1, 3]], [[1, 2]], np.inf),
        (near(0.1)[[0, 1, 3]], [[1]], np.inf),
    ],
)
def test_by_how_much_lists_stay_ahead(rows, lists, ratio):
    (found,) = claim("certified:right:linear:2", rows, listed=[0], lists=lists).ratios(0.0)
    assert found[0, 0] == pytest.approx(ratio, rel=1e-12, abs=0)


@pytest.mark.parametrize("n", [1, 2])
def test_where_nothing_is_left_shifts_change_nothing(n):
    rows = near(0.1)[: n + 1]
    (found,) = claim("certified:right:linear:2", rows, listed=[0], lists=[list(range(1, n + 1))]).ratios(0.05)
    assert found.tolist() == [[np.inf] * n]


# Ranges


def reached(model, group, role="right", slopes=None, ends=None, name="linear"):
    """Ends by the package and by the checker, for all pairs with a cosine."""
    x = model.factors("left" if role == "cross" else role)
    y = model.factors("right" if role == "cross" else role)
    pairs = all_pairs(len(y)) if role != "cross" else np.argwhere(np.ones((len(x), len(y))))
    known = cosine_range(model, group, role=role, pairs=pairs)
    if name == "diagonal":
        call = _across if role == "cross" else _within
        slopes = call(
            *(np.asarray(f[i]) for f, i in zip((x, y), pairs.T, strict=True)),
            group.max_condition if model.rank > 1 else 1.0,
        )
    bias = " ".join(s for s in ("left", "right") if getattr(model, f"{s}_bias") is not None)
    stored = {} if name != "diagonal" else {"ends": np.column_stack([known.lower, known.upper]), "slopes": slopes}
    made = claim(
        f"range:{role}:{name}:2.0", model.right, model.left, bias=bias, pairs=pairs, **stored,
        link=link(str(model.link.name)), max_condition=2.0, max_shift=getattr(group, "max_shift", None),
    )  # fmt: skip
    return known, made


def has_ends(known, made, kappa, shift=0.0, name="linear"):
    before, low, high = made.reach(name, kappa, shift)
    seen = np.isfinite(known.lower)
    assert len(before) == seen.sum() > 0
    assert np.allclose(before, known.before[seen], rtol=0, atol=1e-12)
    digits = 1e-9 if name == "diagonal" else 1e-12
    assert np.allclose(low, known.lower[seen], rtol=0, atol=digits)
    assert np.allclose(high, known.upper[seen], rtol=0, atol=digits)


def a_model(k=2, **fields):
    """A few rows, two of them parallel, two opposite, two nearly so, one zero."""
    model = random_model(5, n=4, p=4, k=k, **fields)
    first = model.right[:1]
    nearly = 2 * first + 1e-7 * model.right[1:2]
    right = np.vstack([model.right, 3 * first, -2 * first, nearly, -nearly, np.zeros((1, k))])
    biases = {} if model.right_bias is None else {"right_bias": np.zeros(len(right))}
    return model.replace(right=right, **biases)


@pytest.mark.parametrize("role", ["right", "left", "cross"])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_linear_ranges_are_those_of_the_package(role, k):
    known, made = reached(a_model(k), GeneralLinear(k, max_condition=2.0), role)
    has_ends(known, made, 2.0)


@pytest.mark.parametrize(("side", "other"), [("right", "left"), ("left", "right")])
@pytest.mark.parametrize("shift", [0.3, 1.5, 4.0])
@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("across", [False, True])
def test_affine_ranges_are_those_of_the_package(side, other, shift, k, across):
    model = a_model(k, biases=(f"{other}_bias",))
    group = Affine(k, side=side, max_condition=2.0, max_shift=shift)
    known, made = reached(model, group, "cross" if across else side)
    has_ends(known, made, 2.0, shift)


@pytest.mark.parametrize("role", ["right", "left", "cross"])
@pytest.mark.parametrize("k", [1, 3])
def test_diagonal_ranges_are_those_of_the_package(role, k):
    known, made = reached(a_model(k), Diagonal(k, max_condition=3.0), role, name="diagonal")
    has_ends(known, made, 3.0, name="diagonal")


def test_the_group_of_a_range_is_that_of_its_name():
    known, made = reached(a_model(3), Diagonal(3, max_condition=2.0), name="diagonal")
    assert made.proven()["value"] == pytest.approx(np.nanmedian(known.upper - known.lower), abs=1e-9)


@pytest.mark.parametrize("column", [0, 1])
@pytest.mark.parametrize(("by", "stands"), [(0.5e-8, True), (-0.5e-8, True), (1.5e-8, False), (-1.5e-8, False)])
def test_an_end_is_extreme_to_eight_digits(column, by, stands):
    _, made = reached(a_model(3), Diagonal(3, max_condition=2.0), name="diagonal")
    at = int(np.flatnonzero(np.isnan(made["slopes"][:, column]) & (abs(made["ends"][:, column]) < 0.99))[0])
    made.arrays["ends"][at, column] += by
    if stands:
        made.reach("diagonal", 2.0, 0.0)
    else:
        fails("an end of a diagonal range is not the extreme cosine", made.reach, "diagonal", 2.0, 0.0)


@pytest.mark.parametrize(("by", "stands"), [(0.45e-7, True), (-0.45e-7, True), (0.6e-7, False), (-0.6e-7, False)])
def test_a_slope_across_is_the_best(by, stands):
    # Weights are 1 and 4, at their ends: then 5 s = 65 / s, and an error of s counts twice.
    slope = np.sqrt(13.0) * (1 + by)
    made = claim("range:cross:diagonal:2.0", [[1.0, 16.0]], [[1.0, 1.0]], pairs=[[0, 0]], slopes=[[slope, 1.0]])
    if not stands:
        return fails("a slope is not the best", made.reach, "diagonal", 2.0, 0.0)
    before, low, high = made.reach("diagonal", 2.0, 0.0)
    assert before[0] == pytest.approx(17 / np.sqrt(2 * 257))
    # At a slope of 1 lengths are at most (4 + 1/4 + 4 + 256/4) / 2 or (1 + 1 + 1 + 256) / 2 a coordinate.
    assert (low[0], high[0]) == pytest.approx((17 / (max(2, 4.25) / 2 + max(257, 68) / 2), 17 / np.sqrt(5 * 65)))
    return None
