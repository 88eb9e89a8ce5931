"""Equivalent models by their names, and what they are where a number is zero or a side is short of rows."""

from __future__ import annotations

import numpy as np
import pytest

from embaudit.canonical.equivalents import canonical_models
from embaudit.canonical.identified import identified_factors
from embaudit.model import FactorModel

SPREAD, EYE = np.diag([9.0, 4.0, 1.0]), np.eye(3)
NAMES = [("exponent 0 (users whitened)", "users whitened"), ("exponent 0.5 (balanced)", "balanced")]
NAMES += [("exponent 1 (items whitened)", "items whitened")]


@pytest.mark.parametrize(("left", "kappas"), [(SPREAD, [9.0, 3.0, 1.0]), (np.diag([9.0, 4.0, 0.0]), [2.25, 1.5, 1.0])])
def test_canonical_models_have_names_and_conditions(left, kappas):
    model = FactorModel.from_user_item(left, EYE)
    found = list(canonical_models(model))
    assert [(one.name, one.title) for one in found] == NAMES
    assert [one.exponent for one in found] == [0.0, 0.5, 1.0]
    assert {one.kind for one in found} == {"canonical"}
    assert {one.shift for one in found} == {0.0}
    assert [one.amplification for one in found] == pytest.approx(kappas)
    whole = left[2, 2] > 0
    assert [one.gauge is not None for one in found] == [whole] * 3
    assert np.isnan([one.condition_number for one in found]).tolist() == [not whole] * 3
    assert np.isnan([one.map_condition for one in found]).tolist() == [whole] * 3
    called = [[one.called(role) for one in found] for role in ("right", "left", "cross")]
    titles = [title for _, title in NAMES]
    assert called[0] == ["users whitened (prediction cosine)", *titles[1:]]
    assert called[1] == [*titles[:2], "items whitened (prediction cosine)"]
    assert called[2] == titles
    for one in found:
        made = one.of(model)
        np.testing.assert_allclose(made.scores(), model.scores(), atol=1e-12)
        for side in ("left", "right"):
            np.testing.assert_allclose(one.rows(model, side)[:], made.factors(side), atol=1e-12)


def test_rows_that_all_but_vanish_in_centring_become_zero():
    draw = np.random.default_rng(0)
    left, right = draw.standard_normal((8, 3)), draw.standard_normal((6, 3)) + 5.0
    right[4] = np.delete(right, 4, axis=0).mean(axis=0)
    model = FactorModel(left, right, link="softmax")
    found = identified_factors(model, "right")
    assert (np.linalg.norm(found, axis=1) > 0).tolist() == [True] * 4 + [False, True]
    scores = (left - left.mean(axis=0)) @ (right - right.mean(axis=0)).T
    scores[:, 4] = 0
    np.testing.assert_allclose(found @ found.T, scores.T @ scores, atol=1e-9)
