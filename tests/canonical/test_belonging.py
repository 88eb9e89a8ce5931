"""A canonical form that is passed as `form` must be that of the model it is passed with."""

import numpy as np
import pytest

from embaudit.canonical import (
    at_exponent,
    canonical_form,
    identified_cosines,
    identified_factors,
    position,
)
from embaudit.errors import InputError
from embaudit.io import load, save
from embaudit.remedy import fix
from tests.models import random_model

MODEL = random_model(n=12, p=9, k=3)
FORM = canonical_form(MODEL)


def fixed_vectors(model, form):
    return fix(model, role="right", form=form).vectors()


def vectors_at_a_quarter(model, form):
    return at_exponent(model, 0.25, form=form).right


def cosine_of_two_items(model, form):
    return identified_cosines(model, role="right", pairs=[[0, 1]], form=form)


def item_factors(model, form):
    return identified_factors(model, "right", form=form)


def exponent_of_position(model, form):
    return position(model, form=form).exponent


FUNCTIONS = [
    fixed_vectors,
    vectors_at_a_quarter,
    cosine_of_two_items,
    item_factors,
    exponent_of_position,
]
OTHER_MODELS = {
    "another model of the same shapes": random_model(1, n=12, p=9, k=3),
    "items moved by 1e-7": MODEL.replace(right=MODEL.right + 1e-7 * np.eye(9, 3)),
    "users twice as long": MODEL.replace(left=2 * MODEL.left),
    "one more user": MODEL.replace(left=np.vstack([MODEL.left, np.zeros(3)])),
    "users moved by 1": MODEL.replace(left=MODEL.left + 1.0),
}
COSINES = MODEL.replace(link="cosine")
OTHER_LINKS = {
    "a bias that absorbs shifts": MODEL.replace(right_bias=np.ones(9)),
    "another link": MODEL.replace(link="ranking"),
}


def assert_refused(function, model, form, got):
    with pytest.raises(InputError) as refused:
        function(model, form)
    assert str(refused.value) == (
        f"form must be the canonical form of this model; got {got}; "
        "leave it out, or make it by canonical_form(model)."
    )


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("model", OTHER_MODELS.values(), ids=OTHER_MODELS)
def test_the_form_of_a_model_with_other_rows_is_refused(function, model):
    assert_refused(function, model, FORM, "that of another one")


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("model", OTHER_LINKS.values(), ids=OTHER_LINKS)
def test_the_form_of_a_model_with_other_biases_or_another_link_is_refused(
    function, model
):
    assert_refused(
        function, model, FORM, "that of one with other biases or another link"
    )


@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_form_of_a_model_with_fewer_columns_is_refused(function):
    wider = random_model(1, n=12, p=9, k=4)
    assert_refused(function, wider, FORM, "that of one with 3 columns in place of 4")


# No exponent keeps cosines of rows, so `at_exponent` refuses such a model by itself.
@pytest.mark.parametrize(
    "function", [each for each in FUNCTIONS if each is not vectors_at_a_quarter]
)
def test_the_form_of_a_model_that_predicts_scores_does_not_serve_cosines(function):
    assert_refused(function, COSINES, FORM, "that of another one")


@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_same_rows_read_from_a_file_may_use_the_form(function, tmp_path):
    save(MODEL, tmp_path / "m.npz")
    again = load(tmp_path / "m.npz")
    np.testing.assert_array_equal(function(again, FORM), function(MODEL, FORM))


def test_rows_in_a_direction_that_the_form_does_not_know_are_refused():
    """The form has no third direction, so predictions along it would be lost."""
    flat = MODEL.replace(right=MODEL.right * [1.0, 1.0, 0.0])
    form = canonical_form(flat)
    assert form.rank == 2

    first_item = flat.take(right=np.array([0]))
    scores = at_exponent(first_item, 0.5, form=form).scores()
    np.testing.assert_allclose(scores, first_item.scores(), atol=1e-12)

    tilted = flat.take(right=np.array([0, 1])).replace(
        right=[[0.0, 0.0, 1e-3], [0.1, 0.0, 0.0]]
    )
    with pytest.raises(InputError, match="got that of another one"):
        at_exponent(tilted, 0.5, form=form)
