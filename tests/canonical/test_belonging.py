"""The form of another model is refused wherever a form may be given; the same rows are taken, however they came."""

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
from embaudit.remedy import fix
from tests.models import random_model

MODEL = random_model(n=12, p=9, k=3)
FORM = canonical_form(MODEL)
TAKES = {
    "fix": lambda model, form=FORM: fix(model, role="right", form=form).vectors(),
    "at_exponent": lambda model, form=FORM: at_exponent(model, 0.25, form=form).right,
    "position": lambda model, form=FORM: position(model, form=form).to_dict(),
    "identified_factors": lambda model, form=FORM: identified_factors(
        model, "right", form=form
    ),
    "identified_cosines": lambda model, form=FORM: identified_cosines(
        model, role="right", form=form
    ),
}
ANOTHER = "form must be the canonical form of this model; got {}; leave it out, or make it by canonical_form(model)."


def refusal(function, *given):
    with pytest.raises(InputError) as raised:
        function(*given)
    return str(raised.value)


@pytest.mark.parametrize("name", TAKES)
@pytest.mark.parametrize(
    ("other", "got"),
    {
        "same shapes": (random_model(1, n=12, p=9, k=3), "that of another one"),
        "one number": (
            MODEL.replace(right=MODEL.right + 1e-7 * np.eye(9, 3)),
            "that of another one",
        ),
        "a side twice as long": (
            MODEL.replace(left=2 * MODEL.left),
            "that of another one",
        ),
        "a row more": (
            MODEL.replace(left=np.vstack([MODEL.left, np.zeros(3)])),
            "that of another one",
        ),
        "a row moved": (MODEL.replace(left=MODEL.left + 1.0), "that of another one"),
        "a bias that absorbs": (
            MODEL.replace(right_bias=np.ones(9)),
            "that of one with other biases or another link",
        ),
        "another link": (
            MODEL.replace(link="ranking"),
            "that of one with other biases or another link",
        ),
        "more columns": (
            random_model(1, n=12, p=9, k=4),
            "that of one with 3 columns in place of 4",
        ),
        "rows of length 1": (MODEL.replace(link="cosine"), "that of another one"),
    }.values(),
)
def test_the_form_of_another_model_is_refused(name, other, got):
    if name == "at_exponent" and other.link == "cosine":
        pytest.skip("no exponent keeps what it predicts, whatever the form")
    assert refusal(TAKES[name], other) == ANOTHER.format(got)


def test_rows_in_a_direction_that_the_form_does_not_know_are_refused():
    """Their predictions would be lost with the direction."""
    flat = MODEL.replace(right=MODEL.right * [1.0, 1.0, 0.0])
    form = canonical_form(flat)
    assert form.rank == 2
    at_exponent(flat.take(right=np.array([0])), 0.5, form=form)
    tilted = flat.take(right=np.array([0, 1])).replace(
        right=[[0.0, 0.0, 1e-3], [0.1, 0.0, 0.0]]
    )
    assert refusal(lambda: at_exponent(tilted, 0.5, form=form)) == ANOTHER.format(
        "that of another one"
    )
