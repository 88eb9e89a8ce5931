"""The best-fitting gauge, the choice of its group, and the rows that are used: numbers
on both sides of each bound.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from embaudit.comparison.change import attribution_steps, neighbour_counts
from embaudit.comparison.compare import brings_nearer
from embaudit.comparison.fits import fit_gauge, folds
from embaudit.comparison.matching import Pairing
from embaudit.comparison.states import LoadedModel
from embaudit.gauges import GeneralLinear
from embaudit.linalg.nearest import neighbours
from embaudit.model import FactorModel
from embaudit.model.final_norm import FinalNorm


@pytest.mark.parametrize("seed", range(6))
def test_a_direction_without_rows_is_not_stretched_by_the_fitted_gauge(seed):
    draw = np.random.default_rng(seed)
    plane = np.linalg.qr(draw.standard_normal((3, 3)))[0][:2]
    drawn = {
        "left": draw.standard_normal((2, 10, 2)) @ plane,
        "right": draw.standard_normal((2, 9, 2)) @ plane,
    }
    rows = {role: tuple(found) for role, found in drawn.items()}
    np.testing.assert_allclose(
        fit_gauge(rows, "linear").left, fit_gauge(rows, "rotation").left, atol=1e-12
    )


def test_a_fitted_gauge_that_brings_no_cosine_nearer_is_dropped():
    """A map that the factors need and the cosines do not: a far longer row decides the
    fit.
    """
    draw = np.random.default_rng(0)
    x, rows, draws = draw.standard_normal((40, 3)), np.arange(40), {"right": draw}
    turned = x @ np.linalg.qr(draw.standard_normal((3, 3)))[0]
    found = Pairing(
        {"right": (x, turned)},
        {"right": (x, turned)},
        ("rotation", "linear"),
        (),
        True,
        {"right": rows},
        (np.eye(3), np.eye(3)),
    )
    parts = [
        replace(fold, group="linear")
        for fold in folds(found.fitted, draws, ("rotation", "linear"), ())
    ]
    spoilt = GeneralLinear(3, max_condition=9.0).sample(rng=0).left
    bad = [
        replace(
            fold,
            fits=fold.fits
            | {
                "linear": replace(
                    fold.fits["linear"], right=fold.fits["linear"].right @ spoilt
                )
            },
        )
        for fold in parts
    ]
    assert not brings_nearer(
        {"right": [attribution_steps("right", found, fold, draw) for fold in bad]}
    )
    moved = x @ spoilt
    real = Pairing(
        {"right": (x, moved)},
        {"right": (x, moved)},
        ("rotation", "linear"),
        (),
        True,
        {"right": rows},
        (np.eye(3), np.eye(3)),
    )
    good = [
        replace(fold, group="linear")
        for fold in folds(real.fitted, draws, ("rotation", "linear"), ())
    ]
    assert brings_nearer(
        {"right": [attribution_steps("right", real, fold, draw) for fold in good]}
    )


def test_a_head_behind_a_norm_keeps_the_part_of_the_shift_in_its_logits():
    draw = np.random.default_rng(0)
    rows, gain, shift, states = (
        draw.standard_normal(size) for size in ((6, 3), 3, 3, (4, 3))
    )
    norm = FinalNorm("layer", gain, shift)
    head = FactorModel.from_softmax(rows, np.arange(6.0))
    found = LoadedModel(head, norm).with_inputs(states)
    np.testing.assert_allclose(
        found.scores(), (gain * states + shift) @ rows.T + np.arange(6.0), atol=1e-12
    )


@pytest.mark.parametrize("forward", [True, False])
def test_lost_neighbours_are_split_into_unseen_gauge_and_learned_by_brute_force(
    forward,
):
    """Against lists looked up by brute force in every version: hidden columns, a
    stretch, noise, hidden columns.
    """
    draw = np.random.default_rng(4)
    seen, hidden = draw.standard_normal((60, 3)), draw.standard_normal((2, 60, 1))
    other = seen * [1.0, 2.0, 4.0] + 0.4 * draw.standard_normal((60, 3))
    old, new = (
        np.hstack(columns) for columns in zip((seen, other), hidden, strict=True)
    )
    rows = np.arange(60)
    paired = Pairing(
        {"right": (old, new)},
        {"right": (seen, other)},
        ("diagonal",),
        (),
        forward,
        {"right": rows},
        (np.eye(3), np.eye(3)),
    )
    fold = folds(paired.fitted, {"right": draw}, ("diagonal",), ())[0]
    path = attribution_steps("right", paired, fold, draw)

    def lists(x):
        unit = x / np.linalg.norm(x, axis=1, keepdims=True)
        cosines = unit @ unit.T
        np.fill_diagonal(cosines, -2)
        return [set(row) for row in np.argsort(-cosines, axis=1)[:, :5].tolist()]

    every = [lists(x) for x in path.versions]

    def lost(i, j):
        return sum(len(every[i][row] - every[j][row]) for row in path.rows)

    counts = neighbour_counts(
        path, *(neighbours(x, 5, rows=rows) for x in (old, new)), rows
    )
    assert counts == (
        150,
        lost(0, 4),
        lost(1, 3),
        lost(2, 3) if forward else lost(1, 2),
    )
    assert counts[1] > counts[2] > counts[3] > 5


def test_rows_fewer_than_their_dimensions_get_a_rotation_instead_of_a_linear_gauge():
    draw = np.random.default_rng(0)
    one = draw.standard_normal((20, 30))
    turn = np.linalg.qr(draw.standard_normal((30, 30)))[0]
    fits = {
        group: fit_gauge({"right": (one, one @ turn)}, group)
        for group in ("rotation", "linear")
    }
    np.testing.assert_array_equal(fits["linear"].right, fits["rotation"].right)
    some, stretched = one[:, :9], one[:, :9] * np.arange(1, 10)
    assert fit_gauge({"right": (some, stretched)}, "linear").condition_number > 8
