"""Neighbour lists of heads, next to those with the mean row subtracted."""

from __future__ import annotations

import numpy as np
import pytest
from models import random_model

import embaudit as ea
from embaudit.model.final_norm import FinalNorm
from embaudit.report.documents import document
from embaudit.report.next_steps import Invocation
from embaudit.report.page import page
from embaudit.report.terminal import first_screen


@pytest.mark.parametrize("norm", [None, FinalNorm("rms", [1.0, 2.0, 3.0, 9.0])])
def test_neighbours_of_a_label_are_listed_with_the_mean_row_subtracted(norm):
    rows = random_model(p=40, k=4).right + 2
    head = ea.FactorModel.from_softmax(rows, labels=[f"l{i}" for i in range(40)])
    (lists,) = document(
        ea.audit(head.replace(final_norm=norm), n_gauges=1, n_starts=0, show=["l7"])
    ).lists
    after = rows if norm is None else rows * np.asarray(norm.gain)
    unit = after - after.mean(axis=0)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    assert lists.headings[1].endswith("mean row subtracted")
    assert [near.name for near in lists.after] == [
        f"l{i}" for i in np.argsort(-unit @ unit[7])[1:6]
    ]


def test_lists_of_a_normalised_head_stand_next_to_a_model_that_changes_them():
    head = ea.FactorModel.from_softmax(random_model(0, p=9, k=4).right)
    found = ea.audit(head, n_gauges=1, n_starts=0, normalised=True)
    assert found.evidence.equivalents[0].name == "orthogonal 1"
    assert found.evidence.examples_gauge == "rows rearranged at their lengths"


@pytest.mark.parametrize(("trained", "lists"), [("cosine", 1), ("identity", 2)])
def test_an_equivalent_model_is_listed_only_if_it_changes_a_list(trained, lists):
    rows = random_model(0, p=30, k=20).right
    found = ea.audit(
        ea.FactorModel.from_arrays(None, rows, link=trained), n_gauges=1, n_starts=0
    )
    assert {len(each.table.headings) for each in document(found).lists} == {
        2 * lists + 1
    }
    screen = " ".join(first_screen(found, Invocation("x.npy")).split())
    shown = page(found)
    assert (
        "in another model with the same " in shown,
        "there may still be one." in shown,
    ) == (lists == 2, lists == 1)
    assert (
        "which favour neither list." in screen,
        "there may still be one." in screen,
    ) == (lists == 2, lists == 1)
