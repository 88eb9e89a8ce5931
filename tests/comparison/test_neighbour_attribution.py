"""What becomes of cosines and neighbours on the way from one model to another, pair by pair."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from embaudit.comparison.change import role_change
from embaudit.comparison.fits import folds, whole
from embaudit.comparison.matching import Match, Pairing
from embaudit.comparison.neighbour_attribution import (
    OUTCOMES,
    SEARCHED,
    TIED,
    AttributionSteps,
    attribution_steps,
    first_step_losing_neighbour,
    neighbour_attribution,
    refit_effects,
)
from embaudit.linalg.intervals import draw_groups
from embaudit.linalg.nearest import neighbours
from embaudit.linalg.pairs import pair_cosines


def path(*versions, forward=True):
    steps = ("gauge", "learning") if forward else ("learning", "gauge")
    return AttributionSteps(np.arange(len(versions[0])), versions, ("unseen", *steps, "unseen"))


def test_a_neighbour_is_lost_to_the_first_step_that_drives_it_out():
    x = np.eye(3)
    known = np.array([[True, True, True, True, True, False]])
    # Of five neighbours, one stays; the others leave at steps 1 to 4; the last was none.
    kept = {
        1: [[True, False, True, True, True, True]],
        2: [[True, True, False, True, True, True]],
        3: [[True, True, True, False, True, True]],
        4: [[True, False, False, False, False, True]],
    }
    found = first_step_losing_neighbour(path(x, x + 1, x + 2, x + 3, x + 4), known, lambda i: np.array(kept[i]))
    assert dict(zip(OUTCOMES, found[:, 0].astype(int).tolist(), strict=True)) == {
        "kept": [1, 0, 0, 0, 0, 0],
        "lost_to_gauge": [0, 0, 1, 0, 0, 0],
        "lost_to_unseen": [0, 1, 0, 0, 1, 0],
        "lost_to_learning": [0, 0, 0, 1, 0, 0],
    }
    other = first_step_losing_neighbour(
        path(x, x + 1, x + 2, x + 3, x + 4, forward=False), known, lambda i: np.array(kept[i])
    )
    np.testing.assert_array_equal(other[[0, 3, 2, 1]], found)


def halves(seed=0, m=12, k=2):
    draw = np.random.default_rng(seed)
    x = draw.standard_normal((m, k))
    other = x @ np.diag([1.0, 3.0]) + 0.5 * draw.standard_normal((m, k))
    found = Pairing({"right": (x, other)}, {"right": (x, other)}, ("rotation", "linear"), (), True)
    parts = [replace(fold, group="linear") for fold in folds(found.fitted, draw, ("rotation", "linear"), ())]
    return found, parts, draw_groups(m, draw, most=4)


def test_counts_of_neighbours_and_their_shares_without_each_group():
    found, parts, groups = halves()
    paths = [attribution_steps("right", found, fold) for fold in parts]
    told = neighbour_attribution(paths, groups, 3, np.random.default_rng(0))
    assert (SEARCHED, TIED, told.n) == (2_000, 1e-6, 3)
    cells = []
    for half in paths:
        lists = [neighbours(x, 3) for x in half.versions]
        for row, former in enumerate(lists[0].indices):
            near = [set(each.indices[row]) for each in lists]
            for other in former:
                fate = "kept" if other in near[4] else "lost_to_gauge" if other not in near[2] else "lost_to_learning"
                cells.append((half.rows[row], half.rows[other], fate))
    for name in OUTCOMES:
        assert told.counts[name].sum() == sum(fate == name for *_, fate in cells)
        by_row = {row: sum(fate == name for one, _, fate in cells if one == row) for row in range(12)}
        assert dict(zip(told.searched, told.counts[name], strict=True)) == by_row
        for group in range(4):
            rest = [fate for one, two, fate in cells if group not in (groups[one], groups[two])]
            assert told.replicates[name][group] == pytest.approx(rest.count(name) / len(rest))
    halves_of = [[fate for one, _, fate in cells if one in half.rows] for half in paths]
    expected = [[fates_.count(name) for fates_ in halves_of] for name in OUTCOMES]
    assert told.by_part.tolist() == expected
    assert neighbour_attribution(paths, groups, 9, np.random.default_rng(0)).n == 5


def test_the_change_of_a_row_is_the_mean_over_all_its_pairs():
    draw = np.random.default_rng(0)
    x, other = draw.standard_normal((2, 9, 2))
    found = Pairing({"right": (x, other)}, {"right": (x, other)}, ("linear",), (), True)
    parts, groups = whole(found.fitted, found.groups, ()), draw_groups(9, draw)
    refits = [(fold, fold.without(found.fitted, {"right": groups}, ())) for fold in parts]
    shared = Match("right", np.arange(9), np.arange(9), np.array(list("abcdefghi")), 0, 0, by_ids=False)
    told = role_change("right", shared, found, parts, groups, refits, n=3, rng=draw)
    pairs = np.array([(i, j) for i in range(9) for j in range(9) if i != j])
    gauged = parts[0].gauge.apply("right", x)
    old, new, carried = (pair_cosines(rows, rows, pairs).reshape(9, 8) for rows in (x, other, gauged))
    total, remainder = np.abs(new - old).mean(axis=1), np.abs(new - carried).mean(axis=1)
    np.testing.assert_allclose(told.total, total)
    np.testing.assert_allclose(told.remainder, np.minimum(remainder, total))
    np.testing.assert_allclose(told.gauge, np.maximum(total - remainder, 0), atol=1e-12)
    assert told.unseen.tolist() == [0] * 9
    assert told.correlation == pytest.approx(np.corrcoef(old.ravel(), new.ravel())[0, 1])
    assert told.gauged_correlation == pytest.approx(np.corrcoef(carried.ravel(), new.ravel())[0, 1])
    assert told.halvings["total"] == pytest.approx([total.mean()])
    for group in range(9):
        rest = groups != group
        cells = [abs(c) for c, (i, j) in zip((new - old).ravel(), pairs, strict=True) if rest[i] and rest[j]]
        assert told.replicates["total"][group] == pytest.approx(np.mean(cells))
    shares_without = neighbour_attribution([attribution_steps("right", found, parts[0])], groups, 3, draw).replicates
    effects = refit_effects("right", found, refits, n=3, rng=draw)
    assert any(effects[name].any() for name in OUTCOMES)
    for name in OUTCOMES:
        np.testing.assert_allclose(told.replicates[name], shares_without[name] + effects[name])
