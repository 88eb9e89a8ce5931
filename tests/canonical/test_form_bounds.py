"""Both sides of each bound that decides about forms, positions and habits, to the last unit where it is one."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from embaudit.canonical.form import EXPONENTS, CanonicalForm, canonical_form, prediction_map
from embaudit.canonical.identified import prediction_view
from embaudit.canonical.positions import position
from embaudit.canonical.reduction import seen_directions
from embaudit.errors import InputError
from embaudit.model import FactorModel

EPS = float(np.finfo(np.float64).eps)


# --- habits ------------------------------------------------------------------------------------------------------


# --- positions ---------------------------------------------------------------------------------------------------


# --- forms, balance, directions ----------------------------------------------------------------------------------


def test_a_map_that_is_singular_to_rounding_is_no_gauge():
    for roundings, there in ((2.0, False), (2.02, True)):
        form = SimpleNamespace(
            maps=lambda exponent, r=roundings: {"left": np.diag([8.0, 8.0 * r * 2 * EPS])},
            left_centre=np.array([1.0, 2.0]),
            right_centre=np.array([3.0, 4.0]),
            shifts_left=True,
        )
        gauge = CanonicalForm.gauge(form, 0.5)
        assert (gauge is not None) is there
    np.testing.assert_allclose(gauge.left_shift, -form.left_centre @ gauge.left)
    np.testing.assert_allclose(gauge.right_shift, -form.right_centre @ gauge.right)
    form.shifts_left = False
    assert not CanonicalForm.gauge(form, 0.5).shifts_left


# --- equal models ------------------------------------------------------------------------------------------------


# --- words -------------------------------------------------------------------------------------------------------


def test_scores_that_vanish_have_no_directions():
    apart = np.array([[1.0, 0.0], [2.0, 0.0]]), np.array([[0.0, 1.0], [0.0, 3.0]])
    turn = np.array([[0.6, 0.8], [-0.8, 0.6]])
    for left, right in (apart, (apart[0] @ turn, apart[1] @ turn)):
        with pytest.raises(InputError) as refused:
            seen_directions(FactorModel(left, right), ())
        assert str(refused.value) == (
            "the scores must differ from zero; got factors whose products all vanish; check the input."
        )
    assert seen_directions(FactorModel(np.eye(2), np.eye(2)[:1]), ()).tolist() == [[1.0], [0.0]]


def test_prediction_vectors_are_those_of_the_map_of_their_side():
    left, right = np.random.default_rng(2).standard_normal((2, 9, 3))
    model = FactorModel(left, right)
    form = canonical_form(model)
    for role, rows, other in (("right", right, left), ("left", left, right)):
        found = prediction_view(model, form, role)
        whole = rows @ prediction_map(form, role)
        np.testing.assert_allclose(np.vstack([found[:4], found[4:]]), whole, rtol=1e-9)
        scores = other @ rows.T
        np.testing.assert_allclose(whole @ whole.T, scores.T @ scores, rtol=1e-9, atol=1e-9)
    with pytest.raises(InputError) as refused:
        prediction_map(form, "cross")
    assert str(refused.value) == """role must be one of "left", "right"; got 'cross'."""


def test_a_position_is_a_table_of_all_gauges():
    model = FactorModel(*np.random.default_rng(3).standard_normal((2, 9, 3)))
    found = position(model)
    frame = found.to_frame()
    assert frame.index.name == "gauge"
    assert frame.index.tolist() == [*found.distances, "nearest"]
    assert frame["exponent"].tolist() == [*(EXPONENTS[name] for name in found.distances), found.exponent]
    wanted = np.exp([*found.distances.values(), found.distance])
    np.testing.assert_allclose(frame["condition"], wanted, rtol=1e-15)
