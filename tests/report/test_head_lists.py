"""Neighbour lists of heads: rows that were asked for stand beside the convention that the screen names."""

from __future__ import annotations

import numpy as np
import pytest
from models import random_model

import embaudit as ea
from embaudit.model.final_norm import FinalNorm
from embaudit.report.documents import document
from embaudit.report.next_steps import Invocation
from embaudit.report.terminal import first_screen

pytestmark = pytest.mark.usefixtures("without_attacks")


@pytest.mark.parametrize("norm", [None, FinalNorm("rms", [1.0, 2.0, 3.0, 9.0])])
def test_labels_that_were_asked_for_stand_beside_the_convention(norm):
    rows = random_model(p=40, k=4).right + 2
    head = ea.FactorModel.from_softmax(rows, labels=[f"l{i}" for i in range(40)])
    (lists,) = document(
        ea.audit(head if norm is None else head.replace(final_norm=norm), n_gauges=1, show=["l7"])
    ).lists
    after = rows if norm is None else rows * np.asarray(norm.gain)
    unit = after - after.mean(axis=0)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    assert lists.headings[1].endswith("average row subtracted")
    assert [near.name for near in lists.after] == [f"l{i}" for i in np.argsort(-unit @ unit[7])[1:6]]


def test_lists_of_a_normalised_head_stand_beside_a_model_that_moves_them():
    head = ea.FactorModel.from_softmax(random_model(0, p=9, k=4).right)
    found = ea.audit(head, n_gauges=1, normalised=True)
    assert found.evidence.equivalents[0].name == "orthogonal 1"
    assert found.evidence.examples_gauge == "rows rearranged at their lengths"


def test_a_name_that_is_a_digit_is_no_number_of_a_row():
    rows, names = random_model(p=12, k=4).right + 2, list("0123456789ab")
    named, bare = (ea.FactorModel.from_softmax(rows, labels=labels) for labels in (names, None))
    for head, called in ((named, "'7'"), (bare, "label 7")):
        made = document(ea.audit(head, n_gauges=1, show=["7"]))
        assert made.lists[0].name == called
        others = {near.name for near in made.lists[0].before}
        assert others < ({*map(repr, names[:10]), "a", "b"} if called == "'7'" else {f"label {i}" for i in range(12)})
    compared = document(ea.compare(named, named.replace(right=rows[::-1] + 1)))
    in_table = {row[0] for grid in compared.grids if "moved most" in grid.title for row in grid.rows}
    assert in_table < {*map(repr, names[:10]), "a", "b"}
    assert {each.name for each in compared.lists} < {*map(repr, names[:10]), "a", "b"}


@pytest.mark.parametrize(("mean", "contradicts"), [(0.0, False), (0.03, True)])
def test_no_list_is_called_chosen_by_a_training_that_the_rows_contradict(mean, contradicts):
    rows = random_model(p=40, k=4).right
    head = ea.FactorModel.from_softmax(rows - rows.mean(axis=0) + mean, objective="softmax-decay")
    found = ea.audit(head, n_gauges=1)
    shown = first_screen(found, Invocation("head.npz"))
    assert ("EMB306" in found.answer.findings) is contradicts
    assert ("Training chose the left list" in shown) is not contradicts
    assert ("the mean row contradicts the training" in " ".join(str(found.answer).split())) is contradicts
