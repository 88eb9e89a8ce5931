"""The form of another model is refused wherever a form may be given; the same rows are taken, however they came."""

import numpy as np
import pytest

from embaudit.canonical import at_exponent, canonical_form, identified_cosines, identified_factors, position
from embaudit.errors import InputError
from embaudit.remedy import fix
from tests.models import random_model

MODEL = random_model(n=12, p=9, k=3)
FORM = canonical_form(MODEL)
TAKES = {
    "fix": lambda model, form=FORM: fix(model, role="right", form=form).vectors(),
    "at_exponent": lambda model, form=FORM: at_exponent(model, 0.25, form=form).right,
    "position": lambda model, form=FORM: position(model, form=form).to_dict(),
    "identified_factors": lambda model, form=FORM: identified_factors(model, "right", form=form),
    "identified_cosines": lambda model, form=FORM: identified_cosines(model, role="right", form=form),
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
        "one number": (MODEL.replace(right=MODEL.right + 1e-7 * np.eye(9, 3)), "that of another one"),
        "a side twice as long": (MODEL.replace(left=2 * MODEL.left), "that of another one"),
        "a row more": (MODEL.replace(left=np.vstack([MODEL.left, np.zeros(3)])), "that of another one"),
        "a row moved": (MODEL.replace(left=MODEL.left + 1.0), "that of another one"),
        "a bias that absorbs": (MODEL.replace(right_bias=np.ones(9)), "that of one with other biases or another link"),
        "another link": (MODEL.replace(link="ranking"), "that of one with other biases or another link"),
        "more columns": (random_model(1, n=12, p=9, k=4), "that of one with 3 columns in place of 4"),
        "rows of length 1": (MODEL.replace(link="cosine"), "that of another one"),
    }.values(),
)
def test_the_form_of_another_model_is_refused(name, other, got):
    if name == "at_exponent" and other.link == "cosine":
        pytest.skip("no exponent keeps what it predicts, whatever the form")
    assert refusal(TAKES[name], other) == ANOTHER.format(got)


@pytest.mark.parametrize("fields", [{}, {"biases": ["left_bias", "right_bias"]}, {"link": "softmax"}, {"k": 20}])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_some_rows_of_a_model_are_taken_with_the_form_of_the_whole(fields, dtype):
    model = random_model(n=30, p=19, **{"k": 5, "dtype": dtype, **fields})
    form = canonical_form(model)
    rows = np.array([7, 2, 11])
    exponent, factors = at_exponent(model, 0.3, form=form), identified_factors(model, "right", form=form)
    for some in (model.take(left=rows, right=rows), model.take(left=rows), model.take(right=rows)):
        made = at_exponent(some, 0.3, form=form)
        assert np.allclose(made.predictions(), some.predictions(), rtol=0, atol=500 * np.finfo(dtype).eps)
        wanted = exponent.right[rows] if some.n_right == 3 else exponent.right
        assert np.allclose(made.right, wanted, rtol=0, atol=1e-5)
    some = model.take(right=rows)
    assert np.allclose(identified_factors(some, "right", form=form), factors[rows], rtol=0, atol=1e-5)
    shuffled = model.take(left=np.arange(30)[::-1])
    assert np.allclose(identified_factors(shuffled, "right", form=form), factors, rtol=0, atol=1e-5)


def test_rows_in_a_direction_that_the_form_does_not_know_are_refused():
    """Their predictions would be lost with the direction."""
    flat = MODEL.replace(right=MODEL.right * [1.0, 1.0, 0.0])
    form = canonical_form(flat)
    assert form.rank == 2
    at_exponent(flat.take(right=np.array([0])), 0.5, form=form)
    tilted = flat.take(right=np.array([0, 1])).replace(right=[[0.0, 0.0, 1e-3], [0.1, 0.0, 0.0]])
    assert refusal(lambda: at_exponent(tilted, 0.5, form=form)) == ANOTHER.format("that of another one")
