"""Logits that do not fit into one block, and heads asked for one neighbour."""

from __future__ import annotations

import numpy as np
import pytest
from head_examples import random_head

from embaudit.foundation.parallel import row_blocks
from embaudit.model import FactorModel
from embaudit.softmax import argmaxable, logit_cosines
from embaudit.softmax.coordinates import label_coordinates
from embaudit.softmax.panel import make_panel
from embaudit.softmax.twins import ROUNDING, _tolerance, first_twins


def of_threes(n, k):
    return row_blocks(n, k, budget=8 * 3 * k)


@pytest.mark.parametrize("bias", [False, True])
def test_logits_in_several_blocks_are_those_of_one(monkeypatch, bias):
    head = random_head(4, 11, 2, bias=bias)
    space = label_coordinates(head)
    inputs = np.column_stack([np.random.default_rng(0).normal(size=(5, space.rank)), np.ones(5)])
    whole = list(space.logit_blocks(inputs))
    assert [labels for labels, _ in whole] == [slice(0, 11)]
    monkeypatch.setattr("embaudit.softmax.coordinates.row_blocks", of_threes)
    parts = list(space.logit_blocks(inputs))
    assert [labels for labels, _ in parts] == [slice(0, 3), slice(3, 6), slice(6, 9), slice(9, 11)]
    np.testing.assert_allclose(np.vstack([logits for _, logits in parts]), whole[0][1], atol=1e-14)
    np.testing.assert_allclose(space.of(np.arange(11)) @ inputs.T, whole[0][1], atol=1e-13)


@pytest.mark.parametrize("seed", range(4))
def test_what_a_head_can_predict_does_not_depend_on_blocks(monkeypatch, seed):
    head = random_head(seed, 13, 2, bias=seed % 2 == 1)
    inputs = np.random.default_rng(seed).normal(size=(9, 2))
    pairs = np.array([[0, 12], [3, 4], [5, 11]])

    def answers():
        return argmaxable(head).to_dict(), logit_cosines(head, pairs=pairs, inputs=inputs)

    whole = answers()
    monkeypatch.setattr("embaudit.softmax.coordinates.row_blocks", of_threes)
    parts = answers()
    assert parts[0] == whole[0]
    assert whole[0]["n_can"] > 2
    np.testing.assert_allclose(parts[1], whole[1], atol=1e-12)


def test_a_panel_needs_two_labels_that_are_asked():
    rows = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.5], [2.0, 1.0]])
    for aside, labels in (([0, 1, 1, 1], [0, 1, 2, 3]), ([0, 0, 1, 1], [0, 1]), ([0, 0, 0, 0], [0, 1, 2, 3])):
        head = FactorModel(None, rows, "softmax", right_aside=np.array(aside, dtype=bool))
        assert make_panel(head, 10, np.random.default_rng(0)).labels.tolist() == labels


@pytest.mark.parametrize(("apart", "twins"), [(0.0, True), (0.9, True), (1.1, False), (1e6, False)])
def test_labels_of_one_row_are_twins_up_to_the_rounding_of_the_largest_bias(apart, twins):
    rows = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 1.0], [1.0, 0.0], [-2.0, 1.0]])
    bias = np.array([1.0, -5.0, 0.0, 1.0 + apart * ROUNDING * 5.0, 2.0])
    space = label_coordinates(FactorModel.from_softmax(rows))
    assert first_twins(space, bias).tolist() == [0, 1, 2, 0 if twins else 3, 4]
    assert first_twins(space, None).tolist() == [0, 1, 2, 0, 4]
    assert first_twins(space, np.zeros(5)).tolist() == [0, 1, 2, 0, 4]


@pytest.mark.parametrize(("apart", "twins"), [(0.1, True), (100.0, False)])
def test_rows_that_rounding_parts_are_those_of_twins(apart, twins):
    rows = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 1.0], [1.0, 0.0], [-2.0, 1.0]])
    space = label_coordinates(FactorModel.from_softmax(rows))
    # In the coordinates, where rows are as long as the whitening makes them.
    rows[3, 0] += apart * _tolerance(space) / np.linalg.norm(space.whitening[0])
    moved = label_coordinates(FactorModel.from_softmax(rows))
    assert first_twins(moved, None).tolist() == [0, 1, 2, 0 if twins else 3, 4]
    longest = np.linalg.norm(rows[2])
    expected = ROUNDING * longest * np.linalg.norm(space.whitening, axis=0).max()
    assert _tolerance(space) == pytest.approx(expected, rel=1e-12, abs=0)
