"""How often the interval of a share of sampled labels holds the share of all labels."""

from __future__ import annotations

import numpy as np
import pytest

from embaudit.model import FactorModel
from embaudit.softmax.neighbour_change import neighbour_change


def test_sampled_labels_stand_for_all():
    draw = np.random.default_rng(0)
    head = FactorModel.from_softmax(draw.standard_normal((1_500, 3)) + 0.3)
    shift = -head.right.mean(axis=0)
    truth = neighbour_change(head, np.arange(1_500), shift, n=3, exact=True)
    assert 0.2 < truth.top1_changed < 0.8
    assert truth.ci_low == truth.ci_high == truth.top1_changed
    ends = []
    for _ in range(300):
        found = neighbour_change(head, draw.permutation(1_500)[:60], shift, n=3, exact=False, n_examples=0)
        ends.append((found.ci_low, found.ci_high))
    ends = np.array(ends)
    held = np.mean((ends[:, 0] <= truth.top1_changed) & (truth.top1_changed <= ends[:, 1]))
    assert 0.93 <= held <= 0.985
    middle = ends.mean(axis=1, keepdims=True)
    shorter = middle + 1.44 / 1.96 * (ends - middle)
    assert np.mean((shorter[:, 0] <= truth.top1_changed) & (truth.top1_changed <= shorter[:, 1])) < 0.92


@pytest.mark.parametrize("seed", range(6))
def test_examples_are_the_labels_that_lost_most(seed):
    rows = np.random.default_rng(seed).standard_normal((9, 3))
    shift = np.array([1.0, -0.5, 0.2])
    head = FactorModel.from_softmax(rows, labels=list("012345678"))
    found = neighbour_change(head, np.arange(9), shift, n=3, exact=True, n_examples=9)
    lists = []
    for moved in (rows, rows + shift):
        unit = moved / np.linalg.norm(moved, axis=1, keepdims=True)
        cosines = unit @ unit.T
        np.fill_diagonal(cosines, -np.inf)
        lists.append(np.argsort(-cosines, axis=1)[:, :3])
    before, after = lists
    lost = [len(set(one) - set(other)) + (one[0] != other[0]) for one, other in zip(before, after, strict=True)]
    assert [lost[int(example.name)] for example in found.examples] == sorted(lost, reverse=True)
    assert found.top_n_changed == pytest.approx(
        np.mean([len(set(a) - set(b)) for a, b in zip(*lists, strict=True)]) / 3
    )
