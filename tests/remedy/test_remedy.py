"""Vectors and roles of each remedy, and options that `fix` refuses."""

from __future__ import annotations

import numpy as np
import pytest
from decaying import ALL_PAIRS_OF_ITEMS, decaying_model
from hypothesis import given, settings
from hypothesis import strategies as st
from models import random_model

from embaudit.canonical import identified_cosines
from embaudit.errors import EquivalenceError, InputError
from embaudit.gauges import GeneralLinear
from embaudit.io import load
from embaudit.linalg.rows import unit_rows
from embaudit.model import FactorModel
from embaudit.model.final_norm import FinalNorm
from embaudit.remedy import fix

MODEL = random_model(n=9, p=8, k=3)
WITH_USER_BIAS = MODEL.replace(left_bias=np.zeros(9))
HEAD = FactorModel.from_softmax(MODEL.right)
HEAD_WITH_INPUTS = HEAD.replace(left=MODEL.left)
RMS_NORM = FinalNorm("rms", [1.0, 2.0, 4.0])
COMPARED_ROWS = np.random.default_rng(0).normal(size=(9, 3))
COMPARED_BY_COSINE = FactorModel.from_vectors(COMPARED_ROWS, compared="cosine")
COMPARED_BY_DOT = FactorModel.from_vectors(COMPARED_ROWS, compared="dot")

# Vectors of predictions


def cosine_table(rows):
    """Return the cosines of all pairs of rows, computed without the package."""
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit @ unit.T


def cosines_of_scores(model, role):
    """Return the cosines of the rows of scores for users, of the columns for items."""
    scores = model.scores() if role == "left" else model.scores().T
    return cosine_table(scores)


EACH_ROLE = st.sampled_from(["left", "right"])
SEEDS = st.integers(0, 2**32 - 1)


@pytest.mark.parametrize("unit", [False, True], ids=["any length", "length 1"])
@given(seed=SEEDS, role=EACH_ROLE)
@settings(max_examples=25)
def test_prediction_vectors_have_the_cosines_of_the_scores(unit, seed, role):
    model = decaying_model(seed)
    rows = fix(model, "prediction", role=role, unit=unit).vectors(role)
    expected = cosines_of_scores(model, role)
    np.testing.assert_allclose(cosine_table(rows), expected, atol=1e-10)


@pytest.mark.parametrize("unit", [False, True], ids=["any length", "length 1"])
@given(seed=SEEDS, kappa=st.floats(1, 1e4), role=EACH_ROLE)
@settings(max_examples=25)
def test_prediction_vectors_of_equivalent_models_have_the_same_cosines(
    unit, seed, kappa, role
):
    model = decaying_model(seed)
    equivalent = GeneralLinear(5, max_condition=kappa).sample(rng=seed).act(model)
    rows = fix(equivalent, "prediction", role=role, unit=unit).vectors(role)
    expected = cosines_of_scores(model, role)
    np.testing.assert_allclose(cosine_table(rows), expected, atol=1e-9)


def test_prediction_vectors_of_a_model_of_cosines_have_its_prediction_cosines(tmp_path):
    model = decaying_model(8, link="cosine")
    rows = load(fix(model, "prediction").write(tmp_path / "v.npz")).right
    np.testing.assert_allclose(
        FactorModel.from_vectors(rows).cosines("right", ALL_PAIRS_OF_ITEMS),
        identified_cosines(model, role="right", pairs=ALL_PAIRS_OF_ITEMS),
        atol=1e-12,
    )


# Rows that training compared with each other


def test_rows_compared_by_cosine_can_be_written_with_length_1(tmp_path):
    written = load(fix(COMPARED_BY_COSINE, unit=True).write(tmp_path / "u.npz"))
    np.testing.assert_allclose(written.right, unit_rows(COMPARED_ROWS))


def test_file_of_compared_rows_says_how_they_were_compared(tmp_path):
    written = load(fix(COMPARED_BY_COSINE, unit=True).write(tmp_path / "u.npz"))
    assert written.compared == "cosine"


def test_rows_compared_by_dot_products_stay_as_they_are():
    np.testing.assert_array_equal(fix(COMPARED_BY_DOT).vectors(), COMPARED_ROWS)


# Frames


@pytest.fixture(scope="module")
def frame():
    """Return the frame of a remedy of rows with ids and titles."""
    named = COMPARED_BY_COSINE.replace(
        right_ids=list("abcdefghi"), right_names=list("rstuvwxyz")
    )
    return fix(named, unit=True).to_frame()


def test_frame_has_columns_of_ids_titles_and_vectors(frame):
    assert list(frame) == ["id", "title", "vector"]


def test_frame_has_the_ids_of_the_rows(frame):
    assert list(frame["id"]) == list("abcdefghi")


def test_frame_has_the_titles_of_the_rows(frame):
    assert list(frame["title"]) == list("rstuvwxyz")


def test_frame_has_the_vectors_of_the_remedy(frame):
    np.testing.assert_allclose(np.stack(frame["vector"]), unit_rows(COMPARED_ROWS))


# Sides of a remedy


@pytest.mark.parametrize(
    ("model", "options", "roles"),
    [
        pytest.param(MODEL, {}, ("right",), id="items by default"),
        pytest.param(MODEL, {"role": "item"}, ("right",), id="items"),
        pytest.param(MODEL, {"role": "left"}, ("left",), id="users"),
    ],
)
def test_prediction_vectors_are_of_one_side(model, options, roles):
    assert fix(model, "prediction", **options).roles == roles


@pytest.mark.parametrize(
    ("model", "kind", "options", "roles"),
    [
        pytest.param(MODEL, "balanced", {}, ("left", "right"), id="two sides"),
        pytest.param(
            MODEL, "balanced", {"role": "user"}, ("left",), id="one chosen side"
        ),
        pytest.param(
            HEAD_WITH_INPUTS, "centred", {}, ("left", "right"), id="inputs and labels"
        ),
        pytest.param(HEAD, "centred", {}, ("right",), id="labels alone"),
    ],
)
def test_equivalent_kinds_change_all_sides_unless_one_is_chosen(
    model, kind, options, roles
):
    assert fix(model, kind, **options).roles == roles


@pytest.mark.parametrize("head", [HEAD, HEAD_WITH_INPUTS], ids=["bare", "with inputs"])
def test_final_norm_is_folded_into_the_labels_alone(head):
    assert fix(head, "folded", final_norm=RMS_NORM).roles == ("right",)


# Refusals


@pytest.mark.parametrize("kind", ["prediction", "balanced"])
def test_kinds_that_need_predictions_refuse_one_side_alone(kind):
    one_side = FactorModel.from_vectors([[1.0, 2.0]])
    sentence = f"{kind} vectors must be computed from the factors.*add the users"
    with pytest.raises(InputError, match=sentence):
        fix(one_side, kind)


def test_unknown_kind_is_refused():
    with pytest.raises(InputError, match="as must be one of prediction, balanced"):
        fix(MODEL, "whitened")


@pytest.mark.parametrize(
    ("kind", "dimensions"),
    [("prediction", 4), ("balanced", 0)],
    ids=["more than the model has", "none"],
)
def test_impossible_number_of_dimensions_is_refused(kind, dimensions):
    sentence = f"dimensions must be an integer from 1 to 3; got {dimensions}"
    with pytest.raises(InputError, match=sentence):
        fix(MODEL, kind, dimensions=dimensions)


@pytest.mark.parametrize(
    ("model", "kind", "options", "sentence"),
    [
        pytest.param(
            MODEL,
            "balanced",
            {"unit": True},
            "unit must be omitted for a model, .*; choose one side with role",
            id="unit rows on two sides",
        ),
        pytest.param(
            COMPARED_BY_DOT,
            None,
            {"unit": True},
            "unit must be omitted if rows are compared by dot product",
            id="unit rows that are compared by dot product",
        ),
        pytest.param(
            MODEL,
            "centred",
            {"dimensions": 2},
            "dimensions must be omitted for centred vectors",
            id="dimensions of centred vectors",
        ),
        pytest.param(
            COMPARED_BY_COSINE,
            "centred",
            {},
            "must be a model of two sides",
            id="centring compared rows, which have no second side",
        ),
        pytest.param(
            COMPARED_BY_COSINE,
            None,
            {"dimensions": 2},
            "must be a model of two sides",
            id="dimensions of compared rows, which have no second side",
        ),
    ],
)
def test_option_that_does_not_fit_the_model_is_refused(model, kind, options, sentence):
    with pytest.raises(InputError, match=sentence):
        fix(model, kind, **options)


@pytest.mark.parametrize(
    ("model", "kind", "options", "sentence"),
    [
        pytest.param(
            HEAD,
            "folded",
            {},
            "a head whose final norm is known; .*, or use as_='centred'",
            id="a head without a norm",
        ),
        pytest.param(
            MODEL,
            "folded",
            {},
            "a head whose final norm is known; got no head",
            id="no head",
        ),
        pytest.param(
            HEAD,
            "folded-centred",
            {"final_norm": RMS_NORM, "dimensions": 2},
            "all dimensions of the labels; got dimensions",
            id="fewer dimensions",
        ),
        pytest.param(
            HEAD,
            "folded",
            {"final_norm": RMS_NORM, "role": "left"},
            "all dimensions of the labels; got the inputs",
            id="inputs",
        ),
    ],
)
def test_final_norm_that_cannot_be_folded_is_refused(model, kind, options, sentence):
    with pytest.raises(InputError, match=sentence):
        fix(model, kind, **options)


@pytest.mark.parametrize(
    ("model", "kind", "options", "sentence"),
    [
        pytest.param(
            MODEL,
            "centred",
            {},
            "when users or items are shifted, .*; use as_='prediction'",
            id="centring without biases",
        ),
        pytest.param(
            WITH_USER_BIAS,
            "centred",
            {"role": "left"},
            "when users are shifted, since no free bias absorbs it",
            id="centring users without a bias of the items",
        ),
        pytest.param(
            MODEL.replace(link="sigmoid", left=None),
            "centred",
            {},
            "sigmoid link whose predictions change when items are shifted",
            id="centring labels of sigmoids",
        ),
        pytest.param(
            MODEL.replace(link="cosine"),
            "balanced",
            {},
            "predicts cosines must keep its lengths .*; use as_='prediction'",
            id="balancing a model of cosines",
        ),
    ],
)
def test_kind_that_would_change_predictions_is_refused(model, kind, options, sentence):
    with pytest.raises(EquivalenceError, match=sentence):
        fix(model, kind, **options)
