"""Proven statements on edge cases: equal rows, parallel rows, rounded bounds."""

from __future__ import annotations

import re

import numpy as np
import pytest

from embaudit import audit
from embaudit.auditing.equivalence_class import equivalence_class_of
from embaudit.auditing.finding import Kind
from embaudit.heads.argmaxable import argmaxable
from embaudit.heads.coordinates import label_coordinates
from embaudit.model import FactorModel, softmax_link
from embaudit.movements import movement

EFFORT = {"n_gauges": 1, "n_starts": 1, "n_steps": 2}


def normalised(rows):
    return FactorModel.from_softmax(rows).replace(link=softmax_link(unit_rows=True))


def codes(model, **options):
    return {one.code for one in audit(model, **EFFORT, **options).conclusions}


def test_labels_of_one_direction_are_one_label_to_a_head_that_divides_by_lengths():
    rows = np.array([[1.0, 0, 0], [2, 0, 0], [0, 1, 0]])
    head = normalised(rows)
    assert label_coordinates(head).rank == 1
    assert "EMB302" not in codes(head)


def test_labels_of_one_direction_are_two_labels_to_a_head_that_keeps_lengths():
    rows = np.array([[1.0, 0, 0], [2, 0, 0], [0, 1, 0]])
    head = FactorModel.from_softmax(rows)
    assert label_coordinates(head).rank == 2
    assert "EMB302" in codes(head)


UNIT_ROWS_AND_A_SHORT_ROW = np.vstack([np.eye(2), -np.eye(2), [[0.1, 0.07]]])


def test_a_short_row_inside_the_hull_never_leads():
    head = FactorModel.from_softmax(UNIT_ROWS_AND_A_SHORT_ROW)
    assert "EMB304" in codes(head, hull=True)


def test_a_short_row_leads_in_a_head_that_divides_by_lengths():
    head = normalised(UNIT_ROWS_AND_A_SHORT_ROW)
    assert "EMB304" not in codes(head, hull=True)
    assert argmaxable(head).n_cannot == 0
    # The input that points along the short row puts it ahead.
    short_row = UNIT_ROWS_AND_A_SHORT_ROW[-1:]
    assert head.replace(left=short_row).scores().argmax() == 4


@pytest.mark.parametrize("side", ["left", "right"])
def test_no_shift_is_said_to_part_rows_that_are_equal(side):
    draw = np.random.default_rng(0)
    alike, other = (
        np.repeat(draw.standard_normal((1, 3)), 5, axis=0),
        draw.standard_normal((6, 3)),
    )
    if side == "right":
        model = FactorModel.from_softmax(alike)
    else:
        model = FactorModel.from_arrays(
            alike,
            other,
            link=softmax_link(unit_rows=True),
            right_bias=draw.standard_normal(6),
        )
    free = equivalence_class_of(model, [side]).freedom[side]
    assert (free.moves, free.kind) == (True, Kind.PROVEN)
    assert "opposite" not in free.because
    one_apart = model.replace(**{side: alike + np.eye(5, 3)})
    assert "opposite" in equivalence_class_of(one_apart, [side]).freedom[side].because


def test_two_labels_on_a_line_are_not_promised_any_cosine():
    found = audit(FactorModel.from_softmax([[1.0], [2.0]]), **EFFORT).conclusions
    (independent,) = [one for one in found if one.code == "EMB302"]
    assert "any cosines that 2 labels can have in 1 dimension" in independent.text


@pytest.mark.parametrize("seed", range(6))
def test_a_bound_is_printed_no_smaller_and_a_certain_share_no_larger_than_it_is(seed):
    draw = np.random.default_rng(seed)
    model = FactorModel.from_user_item(
        draw.standard_normal((25, 3)), draw.standard_normal((23, 3))
    )
    told = {"bound": [], "certified": []}
    for one in audit(model, n_neighbours=2, max_condition=1.1, **EFFORT).conclusions:
        if one.code in told:
            number = re.search(
                r"([\d.]*\d)( %)?(\. This holds| of the lists| of \d+ listed)", one.text
            )
            told[one.code].append(
                (float(number[1]) / (100 if number[2] else 1), one.value)
            )
    assert all(printed >= value - 1e-6 for printed, value in told["bound"])
    assert all(printed <= value + 1e-6 for printed, value in told["certified"])
    assert any(
        printed != round(value, 2)
        for values in told.values()
        for printed, value in values
    )


def test_ranges_of_no_width_are_not_called_wider_than_that():
    draw = np.random.default_rng(0)
    model = FactorModel.from_user_item(np.ones((9, 3)), draw.standard_normal((12, 3)))
    told = [
        one
        for one in audit(model, **EFFORT).conclusions
        if (one.code, one.role) == ("range", "left")
    ]
    assert told
    assert all("at least 0.00 wide" in one.text for one in told)


@pytest.mark.parametrize("k", [1, 2])
def test_a_model_whose_biases_can_hold_every_score_is_audited(k):
    draw = np.random.default_rng(246)
    alike, items = (
        np.repeat(draw.standard_normal((1, k)), 3, axis=0),
        draw.standard_normal((4, k)),
    )
    found = audit(
        FactorModel.from_user_item(alike, items, item_bias=np.zeros(4)), **EFFORT
    )
    assert all(one.kind != "canonical" for one in found.evidence.equivalents)
    assert "EMB001" not in {one.code for one in found.conclusions}
    assert all(
        "may hold any rows" in one.text
        for one in found.conclusions
        if one.code == "free"
    )


def test_a_single_pair_at_a_right_angle_has_no_correlation():
    rows = np.eye(2)
    moved = movement(FactorModel.from_vectors(rows), FactorModel.from_vectors(2 * rows))
    assert moved.n_pairs == 1
    assert np.isnan(moved.pearson)


def test_shares_of_labels_say_that_copies_are_counted_once():
    rows = np.random.default_rng(0).standard_normal((12, 4)) + 2
    whole, copied = (
        audit(FactorModel.from_softmax(x), **EFFORT)
        for x in (rows, np.vstack([rows, rows[:3], rows[:3]]))
    )
    told = [
        next(one for one in found.conclusions if one.code == "EMB301")
        for found in (whole, copied)
    ]
    assert ["(duplicates counted once)" in one.text for one in told] == [False, True]


def near_tie():
    """Ten labels at right angles but for one near tie, and one vector added to all of
    them.
    """
    rows = 3 * np.eye(10, 64) - 0.3
    rows[:, 10:] = 0
    rows[0, 20:22], rows[1, 20], rows[2, 21] = (0.6, 0.59), 1.0, 1.0
    return FactorModel.from_softmax(
        rows - rows.mean(axis=0) + 0.02 * (rows[2] - rows.mean(axis=0)) / 3
    )


def five_pairs():
    """Ten labels, each near one other, and a vector at right angles to all of them
    added: their order stays.
    """
    rows = np.repeat(np.eye(5, 64), 2, axis=0) + 0.3 * np.eye(10, 64, 20)
    return FactorModel.from_softmax(rows - rows.mean(axis=0) + 0.4 * np.eye(1, 64, 60))


def test_one_label_of_ten_is_no_effect_and_cosines_that_move_are():
    tie, level = (audit(model, **EFFORT) for model in (near_tie(), five_pairs()))
    assert [found.head.neighbours.top1_changed for found in (tie, level)] == [0.1, 0.0]
    assert [found.head.centred.movement.mean_abs > 0.05 for found in (tie, level)] == [
        False,
        True,
    ]
    assert [found.answer.word for found in (tie, level)] == ["BY CONVENTION", "NO"]


def test_dimensions_that_no_prediction_sees_count_by_what_they_do():
    draw = np.random.default_rng(0)
    users, items = (
        draw.standard_normal((40, 6)) * [1, 1, 1, 0, 0, 0],
        draw.standard_normal((50, 6)),
    )
    models = [
        FactorModel.from_user_item(users, items * scale)
        for scale in ([1, 1, 1, 1e-3, 1e-3, 1e-3], np.ones(6))
    ]
    raised = [
        "EMB203" in {one.code for one in audit(model, **EFFORT).findings}
        for model in models
    ]
    assert raised == [False, True]
