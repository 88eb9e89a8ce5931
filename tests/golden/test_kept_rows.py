"""What ranges, lists and moments are for rows that are odd: zero, tiny, huge, equal, opposite, at right angles."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from golden.test_kept_numbers import assert_numbers

import embaudit as ea
from embaudit.gauges import Affine, Diagonal, GeneralLinear, Orthogonal, Translation
from embaudit.linalg.duplicates import duplicate_representatives
from embaudit.linalg.nearest import neighbours, two_stage_topk
from embaudit.linalg.pair_changes import PairChanges
from embaudit.linalg.pairs import cosine_matrix
from embaudit.ranges import condition_to_reach, shift_to_reach

PLAIN = np.array(
    [
        [1, 2, 3],
        [1, 2, 3.5],
        [-2, 1, 0.5],
        [0.3, 0.2, -4],
        [2, 4, 6.6],
        [-3, -1, -2],
        [1, -1, 1],
    ]
)
ODD = {
    "in three dimensions": np.array([
        [1, 2, 3], [2, 4, 6], [-1, -2, -3], [1, 0, 0], [0, 0.5, 0], [0, 0, 0], [3, -1, 2], [1e-90, 2e-90, 0],
        [1e90, -1e90, 1e80], [1, 2, 3 + 1e-5],
    ]),
    "on a plane": np.array([[1, 1], [1, -1.25], [1, 0], [0, 2], [2, 2], [-1, -1.0], [0.6, 0.8], [3, 1]]),
    "on a line": np.array([[1.0], [2], [-3], [0.5]]),
    "of many sizes": PLAIN,
    "of one size": PLAIN / np.linalg.norm(PLAIN, axis=1, keepdims=True),
    "in six dimensions": np.random.default_rng(3).normal(size=(7, 6)) * [5, 3, 2, 1, 1, 0.1] + [1, 0, 0, 2, 0, 0],
    "of whole numbers": np.random.default_rng(4).integers(-2, 3, size=(8, 5)) * 1.0,
}  # fmt: skip


def groups(k):
    budgets = (None, 1.0, 1.5, 1e6)
    return [
        *(kind(k, max_condition=most) for kind in (Diagonal, GeneralLinear) for most in budgets),
        *(Translation(k, max_shift=most) for most in (None, 0.5, 1.0, 40.0)),
        *(Affine(k, max_condition=2.0, max_shift=most) for most in (0.25, 1.0)),
        Affine(k, max_condition=None, max_shift=None), Orthogonal(k),
    ]  # fmt: skip


def ranged(rows):
    """Ends of the ranges of all pairs, whether they are attained, and the cosines that witnesses give a few."""
    pair = ea.FactorModel(left=rows[::-1] + 0.5, right=rows, link="softmax")
    found, all_pairs = {}, np.argwhere(np.ones((len(rows), len(rows))))
    for group in groups(rows.shape[1]):
        for role in ("right", "left", "cross"):
            try:
                range_ = ea.cosine_range(pair, group, role=role, pairs=all_pairs)
            except ea.EquivalenceError as error:
                found[f"{group}, {role}"] = str(error)
                continue
            ends = {
                "lower": range_.lower,
                "upper": range_.upper,
                "at the lower": range_.lower_attained,
            }
            ends |= {"at the upper": range_.upper_attained}
            ends = {
                name: np.reshape(value, (len(rows), -1)) for name, value in ends.items()
            }
            # Whether a shift just as long as a row takes it to the origin is a matter of rounding.
            ends["reached"] = (
                ""
                if getattr(group, "max_shift", 0) == 1
                else reached(range_, len(rows) + 3)
            )
            found[f"{group}, {role}"] = ends | {
                "told": range_.explain(),
                "repr": repr(range_),
            }
    return found


def reached(range_, place):
    """Cosines of a pair at both ends of its range, or why no gauge is found."""
    try:
        return [range_.witness(place, end).act(range_.model).cosines(range_.role, range_.pairs[[place]])
                for end in ("lower", "upper")]  # fmt: skip
    except ea.InputError as error:
        return str(error)


def listed(rows):
    """Lists of neighbours, found in one step and in two, cut, among those that stand for others, and certified."""
    lists, first, directed = (
        neighbours(rows, 3),
        np.arange(len(rows)),
        np.flatnonzero(rows.any(axis=1)),
    )
    first[directed] = directed[duplicate_representatives(rows, directed)]
    few, turned = (
        neighbours(rows, 2, rows=[0, 2]),
        neighbours(rows @ np.triu(np.ones((rows.shape[1],) * 2)), 3),
    )
    some = (
        lists,
        few,
        lists.first(2),
        lists.of(np.array([2, 0])),
        turned,
        lists.among(first, 1),
    )
    best, settled = two_stage_topk(rows, np.arange(len(rows)), 2, spare=1)
    model = ea.FactorModel.from_softmax(rows)
    shifts = [
        Translation(rows.shape[1], max_shift=most) for most in (None, 0.1, 1.0, 1.9)
    ]
    certified = [
        ea.certified_neighbours(model, n=2, group=group) for group in (None, *shifts)
    ]
    return {
        "lists": [[each.rows, each.cosines, each.runner_up, each.tied] for each in some],
        "first": first, "kept": lists.kept_in(turned, tie=0.05),
        "overlap": [lists.overlap(turned, tie=0.05), turned.overlap(lists, tie=0.1), lists.overlap(lists)],
        "in two steps": [best.values, settled], "cosines": cosine_matrix(rows),
        "certified": [[each.radii, each.certified(1.2), each.curve([1, 1.5, 9]), each.explain()] for each in certified],
    }  # fmt: skip


def changed():
    """How far the cosines of pairs move, with intervals, for a sample of any size."""
    before = cosine_matrix(PLAIN)[np.triu_indices(7, 1)]
    some = {
        size: PairChanges(before[:size], np.round(before**3, 3)[:size], 21)
        for size in (2, 9, 21)
    }
    names = (
        "mean_abs",
        "mean_abs_interval",
        "max_abs",
        "sign_flips",
        "spearman",
        "quantiles",
        "intervals",
    )
    return {
        size: [getattr(each, name) for name in names] for size, each in some.items()
    }


NETS = {"ranged": ranged, "listed": listed}


@pytest.mark.parametrize("name", NETS)
@pytest.mark.parametrize("title", ODD)
def test_odd_rows_have_the_numbers_of_the_last_time(name, title):
    assert_numbers(f"{name} odd rows", title, partial(NETS[name], ODD[title]))


ARRAYS = {
    "changed": changed,
    "reaching": lambda: {
        "condition": [
            condition_to_reach(a, b)
            for a in (-1, -0.3, 0, 0.9, 1)
            for b in (-1, -0.2, 0, 0.5, 1)
        ],
        "shift": [
            shift_to_reach(a, b, c)
            for a in PLAIN
            for b in PLAIN[2:5]
            for c in (-1, -0.5, 0, 0.7, 1)
        ],
    },
}


@pytest.mark.parametrize("name", ARRAYS)
def test_arrays_have_the_numbers_of_the_last_time(name):
    assert_numbers("arrays", name, ARRAYS[name])
