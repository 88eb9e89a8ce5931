"""Heads of huge and tiny numbers, and heads of which little can be said."""

from __future__ import annotations

import numpy as np
import pytest
from head_examples import random_head

from embaudit.errors import InputError
from embaudit.model import FactorModel
from embaudit.softmax import (
    argmaxable,
    label_combinations,
    logit_cosines,
    projector_cosines,
    shared_halves,
)


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
