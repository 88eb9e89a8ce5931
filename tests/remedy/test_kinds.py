"""Vectors of each kind against formulas computed here from the scores."""

from __future__ import annotations

import numpy as np
import pytest
from models import random_model

from embaudit.errors import InputError
from embaudit.model import FactorModel
from embaudit.model.final_norm import FinalNorm
from embaudit.remedy import fix

MODEL = random_model(n=50, p=30, k=5, scales=(1, np.geomspace(2, 0.2, 5)))


def cosine_table(rows):
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit @ unit.T


def score_factors(model, k=5):
    """The singular vectors and values of the score matrix, U, s and V."""
    u, s, vt = np.linalg.svd(model.scores())
    return u[:, :k], s[:k], vt[:k].T


def assert_same_but_for_column_signs(found, expected):
    signs = np.sign((found * expected).sum(axis=0))
    np.testing.assert_allclose(found, expected * signs, atol=1e-10)


def test_prediction_vectors_of_items_have_the_cosines_of_score_columns():
    vectors = fix(MODEL, "prediction").vectors()
    np.testing.assert_allclose(
        cosine_table(vectors), cosine_table(MODEL.scores().T), atol=1e-10
    )


def test_prediction_vectors_of_users_have_the_cosines_of_score_rows():
    vectors = fix(MODEL, "prediction", role="user").vectors("left")
    np.testing.assert_allclose(
        cosine_table(vectors), cosine_table(MODEL.scores()), atol=1e-10
    )


def test_prediction_vectors_of_labels_have_the_cosines_of_double_centred_logits():
    """Softmax shows no shift of all logits of an input, and the bias absorbs their
    mean.
    """
    head = MODEL.replace(link="softmax", right_bias=np.zeros(30))
    logits = head.scores()
    centred = logits - logits.mean(axis=0)
    centred = centred - centred.mean(axis=1, keepdims=True)
    vectors = fix(head, "prediction").vectors()
    np.testing.assert_allclose(
        cosine_table(vectors), cosine_table(centred.T), atol=1e-10
    )


def test_prediction_cosines_of_three_items_by_hand():
    """Two users score three items (2, 1), (0, 2), (4, 2): cosines 1/√5, 1 and 1/√5."""
    model = FactorModel.from_user_item(
        [[1.0, 0.0], [0.5, 2.0]], [[2.0, 0.0], [0.0, 1.0], [4.0, 0.0]]
    )
    assert model.scores().tolist() == [[2, 0, 4], [1, 2, 2]]
    found = cosine_table(fix(model, "prediction").vectors())
    expected = [1 / np.sqrt(5), 1, 1 / np.sqrt(5)]
    np.testing.assert_allclose(found[np.triu_indices(3, 1)], expected, atol=1e-12)


def test_balanced_vectors_share_the_singular_values_equally():
    u, s, v = score_factors(MODEL)
    made = fix(MODEL, "balanced").to_model()
    assert_same_but_for_column_signs(made.left, u * np.sqrt(s))
    assert_same_but_for_column_signs(made.right, v * np.sqrt(s))
    np.testing.assert_allclose(made.left.T @ made.left, np.diag(s), atol=1e-9)
    np.testing.assert_allclose(made.right.T @ made.right, np.diag(s), atol=1e-9)


@pytest.mark.parametrize(
    ("kind", "whitened", "other"),
    [("left-whitened", "left", "right"), ("right-whitened", "right", "left")],
)
def test_whitened_vectors_have_a_gram_matrix_that_is_a_multiple_of_the_identity(
    kind, whitened, other
):
    made = fix(MODEL, kind).to_model()
    rows = made.factors(whitened)
    gram = rows.T @ rows
    np.testing.assert_allclose(gram, gram[0, 0] * np.eye(5), atol=1e-9 * gram[0, 0])
    table = MODEL.scores() if other == "left" else MODEL.scores().T
    np.testing.assert_allclose(
        cosine_table(made.factors(other)), cosine_table(table), atol=1e-10
    )


@pytest.mark.parametrize("kind", ["balanced", "left-whitened", "right-whitened"])
def test_equivalent_kinds_leave_every_score(kind):
    made = fix(MODEL, kind).to_model()
    np.testing.assert_allclose(made.scores(), MODEL.scores(), atol=1e-11)


@pytest.mark.parametrize("dimensions", [1, 3])
def test_dimensions_keeps_the_directions_of_the_largest_singular_values(dimensions):
    u, s, v = score_factors(MODEL, dimensions)
    made = fix(MODEL, "balanced", dimensions=dimensions).to_model()
    assert_same_but_for_column_signs(made.right, v * np.sqrt(s))
    np.testing.assert_allclose(made.scores(), u * s @ v.T, atol=1e-11)
    vectors = fix(MODEL, "prediction", dimensions=dimensions).vectors()
    assert vectors.shape == (30, dimensions)
    np.testing.assert_allclose(cosine_table(vectors), cosine_table(v * s), atol=1e-9)


def test_a_refusal_of_dimensions_names_the_width_of_the_stored_rows():
    """Both sides are 0 in the last two of five columns, so predictions see three."""
    draw = np.random.default_rng(0)
    users, items = (np.pad(draw.normal(size=(9, 3)), ((0, 0), (0, 2))) for _ in "ab")
    model = FactorModel.from_user_item(users, items)
    sentence = "from 1 to 3; got 9; the predictions see 3 of the 5 dimensions"
    with pytest.raises(InputError, match=sentence):
        fix(model, "prediction", dimensions=9)


def test_centred_label_vectors_are_the_rows_less_their_mean_row():
    head = FactorModel.from_softmax(MODEL.right + 1)
    vectors = fix(head, "centred").vectors()
    np.testing.assert_allclose(vectors, MODEL.right - MODEL.right.mean(axis=0))


def test_folded_vectors_are_the_rows_times_the_gains_of_the_norm():
    head = FactorModel.from_softmax([[1.0, 2.0], [3.0, -1.0], [0.0, 1.0]])
    norm = FinalNorm("rms", [2.0, 10.0])
    folded = fix(head, "folded", final_norm=norm).vectors()
    assert folded.tolist() == [[2, 20], [6, -10], [0, 10]]


HEAD_OF_THREE = FactorModel.from_softmax([[1.0, 2.0], [3.0, -1.0], [2.0, 2.0]])
"""A head whose mean row is (2, 1)."""


def test_folded_centred_vectors_behind_an_rmsnorm_are_centred_rows_times_the_gains():
    norm = FinalNorm("rms", [2.0, 10.0])
    expected = [[-2, 10], [2, -20], [0, 10]]
    vectors = fix(HEAD_OF_THREE, "folded-centred", final_norm=norm).vectors()
    np.testing.assert_allclose(vectors, expected, atol=1e-14)


def test_folded_centred_vectors_behind_a_layernorm_sum_to_zero_too():
    """Each row behind the RMSNorm less its mean: (-2, 10) becomes (-6, 6)."""
    norm = FinalNorm("layer", [2.0, 10.0])
    expected = [[-6, 6], [11, -11], [-5, 5]]
    vectors = fix(HEAD_OF_THREE, "folded-centred", final_norm=norm).vectors()
    np.testing.assert_allclose(vectors, expected, atol=1e-14)


@pytest.mark.parametrize("kind", ["prediction", "balanced", "right-whitened"])
def test_unit_divides_each_vector_by_its_length(kind):
    plain, unit = (
        fix(MODEL, kind, role="item", unit=unit).vectors() for unit in (False, True)
    )
    lengths = np.linalg.norm(plain, axis=1, keepdims=True)
    np.testing.assert_allclose(unit, plain / lengths, atol=1e-14)


STRETCH = np.geomspace(1e-3, 1e3, 8)
LINKS_OF_EQUIVALENTS = ("identity", "sigmoid", "softmax")


@pytest.mark.parametrize("link", LINKS_OF_EQUIVALENTS)
@pytest.mark.parametrize("kind", ["balanced", "left-whitened", "right-whitened"])
@pytest.mark.parametrize("stretch", [1.0, STRETCH], ids=["even", "stretched"])
def test_an_equivalent_model_keeps_all_scores_to_twelve_digits(link, kind, stretch):
    """Also if the columns of one side are a million times as long as others."""
    draw = np.random.default_rng(0)
    users, items = draw.standard_normal((50, 8)) + 1, draw.standard_normal((40, 8)) + 1
    model = FactorModel.from_user_item(
        users * stretch,
        items / stretch,
        user_bias=draw.standard_normal(50),
        item_bias=draw.standard_normal(40),
        link=link,
    )
    before, after = model.scores(), fix(model, kind).to_model().scores()
    change = after - before
    if link == "softmax":
        # A softmax does not see a number that is added to a row of scores.
        change -= change.mean(axis=1, keepdims=True)
    assert np.abs(change).max() <= 1e-12 * np.abs(before).max()
