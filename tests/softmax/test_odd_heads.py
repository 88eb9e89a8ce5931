"""Heads of few, equal, huge and tiny rows: what decides about their labels, and what is told of them."""

from __future__ import annotations

import numpy as np
import pytest
from head_examples import random_head

from embaudit import softmax
from embaudit.model import FactorModel
from embaudit.softmax import (
    argmaxable,
    label_combinations,
    logit_cosines,
    projector_cosines,
    shared_halves,
)

# --- coordinates -------------------------------------------------------------------------------------------------


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


def test_a_name_of_earlier_versions_says_what_replaces_it():
    with pytest.raises(AttributeError, match=r"softmax.label_rankings is gone; softmax.argmaxable says which"):
        _ = softmax.label_rankings
    with pytest.raises(AttributeError, match="has no attribute 'odd'"):
        _ = softmax.odd
