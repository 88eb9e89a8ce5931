"""Heads of few, equal, huge and tiny rows: what decides about their labels, and what is told of them."""

from __future__ import annotations

import numpy as np
import pytest
from head_examples import random_head

from embaudit import softmax
from embaudit.core.parallel import row_blocks
from embaudit.errors import InputError
from embaudit.model import FactorModel
from embaudit.softmax import (
    argmaxable,
    label_combinations,
    logit_cosines,
    projector_cosines,
    shared_halves,
)
from embaudit.softmax.coordinates import label_coordinates
from embaudit.softmax.panel import make_panel
from embaudit.softmax.twins import ROUNDING, first_twins

# --- coordinates -------------------------------------------------------------------------------------------------


def test_the_residual_of_a_bias_is_what_a_least_squares_fit_leaves_at_spread_1():
    head = random_head(2, 12, 3, bias=True)
    table = np.column_stack([np.ones(12), head.right])
    rest = head.right_bias - table @ np.linalg.lstsq(table, head.right_bias, rcond=None)[0]
    space = label_coordinates(head)
    np.testing.assert_allclose(space.residual, rest / np.sqrt((rest**2).mean()), atol=1e-12)
    assert repr(space) == "LabelCoordinates(12 labels, affine rank 3)"
    assert label_coordinates(head.replace(right_bias=np.full(12, 3.0))).residual.tolist() == [0.0] * 12
    spread = float(np.sqrt((rest**2).mean()))
    linear = head.right @ [1.0, -2.0, 0.5]
    for share, left in ((0.5e-9, False), (2e-9, True)):
        bias = linear + share * np.ptp(linear) / spread * rest
        assert label_coordinates(head.replace(right_bias=bias)).residual.any() == left


# --- combinations ------------------------------------------------------------------------------------------------


CIRCLE = np.linspace(0, 2 * np.pi, 20_001)


@pytest.mark.parametrize("seed", range(3))
def test_a_margin_leaves_out_what_only_few_inputs_give(seed):
    head = random_head(seed, 4, 2)
    inputs = np.vstack([np.cos(CIRCLE), np.sin(CIRCLE)])
    unit = head.right / np.linalg.norm(head.right, axis=1, keepdims=True)
    for margin in (0.05, 0.2, 0.5):
        logits = unit @ inputs
        sizes = np.abs(logits)
        kept = sizes.min(axis=0) > margin * sizes.max(axis=0)
        wanted = {tuple(row) for row in (logits[:, kept] > 0).T.tolist()}
        assert {tuple(row) for row in label_combinations(head, margin=margin).on.tolist()} == wanted


# --- projector cosines -------------------------------------------------------------------------------------------


def of_threes(n, k):
    return row_blocks(n, k, budget=8 * 3 * k)


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


@pytest.mark.parametrize("scale", [1e200, 1e-200, 1e307, 1e-300])
def test_what_a_head_pins_down_does_not_depend_on_its_scale(scale):
    head = random_head(0, 12, 3, inputs=20)
    scaled = head.replace(right=head.right * scale)
    pairs = [[0, 1], [2, 3]]
    small, same = (FactorModel.from_softmax(model.right[:4]) for model in (scaled, head))
    assert projector_cosines(scaled, pairs=pairs).cosines == pytest.approx(projector_cosines(head, pairs=pairs).cosines)
    assert logit_cosines(scaled, pairs=pairs) == pytest.approx(logit_cosines(head, pairs=pairs))
    assert (argmaxable(scaled).can_lead == argmaxable(head).can_lead).all()
    assert (shared_halves(scaled, pairs).can_share == shared_halves(head, pairs).can_share).all()
    assert (label_combinations(small).on == label_combinations(same).on).all()


def test_a_label_at_the_mean_row_has_no_projector_cosine_at_any_scale():
    rows = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0], [0.0, 0.0]])
    for scale in (1.0, 1e160):
        cosines = projector_cosines(FactorModel.from_softmax(scale * (rows + 3.0)), pairs=[[0, 1], [0, 4]]).cosines
        assert cosines[0] == pytest.approx(-1.0)
        assert np.isnan(cosines[1])


def test_a_label_without_row_and_bias_leaves_no_combination():
    found = label_combinations(FactorModel.from_softmax([[0.0, 0.0], [1.0, 0.0]]))
    assert found.on.shape == (0, 2)
    assert found.to_dict() == {"labels": ["0", "1"], "n_feasible": 0, "n_all": 4}
    assert len(label_combinations(FactorModel.from_softmax([[0.0, 0.0], [1.0, 0.0]], [1.0, 0.0])).on) == 2


@pytest.mark.parametrize(
    ("inputs", "rows", "message"),
    [
        (np.ones((5, 3)), None, "inputs must differ from each other"),
        (None, np.ones((12, 3)), "label rows must differ from each other"),
    ],
)
def test_logit_cosines_of_nothing_that_varies_are_refused(inputs, rows, message):
    head = random_head(0, 12, 3, inputs=20)
    model = head if rows is None else head.replace(right=rows)
    with pytest.raises(InputError, match=message):
        logit_cosines(model, pairs=[[0, 1]], inputs=inputs)


def test_a_name_of_earlier_versions_says_what_replaces_it():
    with pytest.raises(AttributeError, match=r"softmax.label_rankings is gone; softmax.argmaxable says which"):
        _ = softmax.label_rankings
    with pytest.raises(AttributeError, match="has no attribute 'odd'"):
        _ = softmax.odd
