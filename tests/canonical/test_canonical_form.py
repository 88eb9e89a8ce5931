"""The canonical form against dense decompositions; equivalent models have the same
form.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from models import random_model

from embaudit.canonical import EXPONENTS, at_exponent, canonical_form, seen_directions
from embaudit.canonical.equivalents import canonical_models
from embaudit.errors import InputError
from embaudit.gauges import Gauge, GeneralLinear
from embaudit.model import FactorModel
from embaudit.model.equivalence import largest_gap

BIASES = ((), ("left_bias",), ("right_bias",), ("left_bias", "right_bias"))


def make(
    seed: int, *, n=40, p=25, k=5, biases=(), link="identity", dtype=np.float64
) -> FactorModel:
    means = tuple(np.random.default_rng(seed + 1_000).standard_normal((2, k)))
    shape = {
        "n": n,
        "p": p,
        "k": k,
        "scales": (1, np.geomspace(3, 0.3, k)),
        "means": means,
    }
    return random_model(seed, **shape, biases=biases, link=link, dtype=dtype)


def centred_scores(model: FactorModel) -> np.ndarray:
    """The scores whose columns and rows the identified cosines compare, densely."""
    scores = model.left.astype(np.float64) @ model.right.astype(np.float64).T
    left, right = (side in model.centred_sides for side in ("left", "right"))
    if left:
        scores = scores - scores.mean(axis=0)
    if right:
        scores = scores - scores.mean(axis=1, keepdims=True)
    return scores


@pytest.mark.parametrize("link", ["identity", "softmax", "ranking"])
@pytest.mark.parametrize("biases", BIASES)
def test_singular_values_are_those_of_the_dense_scores(biases, link):
    model = make(0, biases=biases, link=link)
    expected = np.linalg.svd(centred_scores(model), compute_uv=False)[:5]
    np.testing.assert_allclose(
        canonical_form(model).singular_values, expected, rtol=1e-12
    )


@pytest.mark.parametrize("exponent", [0.0, 0.3, 0.5, 1.0])
def test_factors_at_an_exponent_are_the_scaled_singular_vectors(exponent):
    model = make(1)
    u, s, vt = np.linalg.svd(model.scores(), full_matrices=False)
    found = at_exponent(model, exponent)
    signs = np.sign((found.left * u[:, :5]).sum(axis=0))
    np.testing.assert_allclose(
        found.left * signs, u[:, :5] * s[:5] ** exponent, atol=1e-11
    )
    np.testing.assert_allclose(
        found.right * signs, vt[:5].T * s[:5] ** (1 - exponent), atol=1e-11
    )


@given(
    seed=st.integers(0, 2**32 - 1),
    exponent=st.floats(0, 1),
    link=st.sampled_from(["identity", "softmax", "ranking"]),
    biases=st.sampled_from(BIASES),
    dtype=st.sampled_from([np.float32, np.float64]),
)
@settings(max_examples=40)
def test_a_model_at_an_exponent_predicts_the_same(seed, exponent, link, biases, dtype):
    model = make(seed, n=12, p=9, k=3, biases=biases, link=link, dtype=dtype)
    other = at_exponent(model, exponent)
    size = float(np.abs(model.scores()).max() + 10)
    assert other.link is model.link
    assert other.left.dtype == dtype
    assert (
        largest_gap(model.predicts, model.scores(), other.scores())
        <= 4e3 * np.finfo(dtype).eps * size
    )


@pytest.mark.parametrize("biases", BIASES)
def test_equivalent_models_have_one_canonical_form(biases):
    """Also after translations that the free biases absorb; without them the gauge is
    refused."""
    model = make(3, biases=biases)
    shifts = {}
    if "right_bias" in biases:
        shifts["left"] = np.ones(5)
    if "left_bias" in biases:
        shifts["right"] = np.ones(5)
    gauged = GeneralLinear(5, max_condition=50.0).sample(rng=1).act(model)
    gauged = Gauge.translation(5, **shifts).act(gauged)

    expected = at_exponent(model, 0.5)
    found = at_exponent(gauged, 0.5)
    # Singular vectors are unique up to their signs.
    signs = np.sign((expected.right * found.right).sum(axis=0))
    np.testing.assert_allclose(found.right * signs, expected.right, atol=1e-10)
    np.testing.assert_allclose(found.left * signs, expected.left, atol=1e-10)


@pytest.fixture(scope="module")
def model_and_its_translation():
    """Two models with the same scores: the item bias absorbs a shift of the users."""
    model = make(3, biases=("right_bias",))
    translated = Gauge.translation(5, left=np.ones(5)).act(model)
    np.testing.assert_allclose(translated.scores(), model.scores(), atol=1e-12)
    return model, translated


def test_the_canonical_form_of_a_translated_model_has_the_same_singular_values(
    model_and_its_translation,
):
    model, translated = model_and_its_translation
    np.testing.assert_allclose(
        canonical_form(model).singular_values,
        canonical_form(translated).singular_values,
        rtol=1e-11,
    )


def test_the_products_of_uncentred_factors_are_not_canonical_where_a_bias_is_free(
    model_and_its_translation,
):
    """This is why the canonical form centres: a translation moves these products."""
    model, translated = model_and_its_translation
    before = np.linalg.svd(model.left @ model.right.T, compute_uv=False)
    after = np.linalg.svd(translated.left @ translated.right.T, compute_uv=False)
    assert np.abs(before - after)[:5].max() > 1


def with_unseen_columns(model, zero_sides):
    """Add two columns that are zero on some sides, and normal draws on the others.

    No score sees these columns, because one factor of each product is zero.
    """
    draw = np.random.default_rng(5)
    sides = {}
    for side in ("left", "right"):
        rows = model.factors(side)
        columns = draw.standard_normal((len(rows), 2))
        if side in zero_sides:
            columns[:] = 0
        sides[side] = np.hstack([rows, columns])
    return model.replace(**sides)


@pytest.fixture(
    scope="module", params=[("left",), ("right",), ("left", "right")], ids="-".join
)
def model_and_wider(request):
    """A model of rank 5, and the same model with two unseen columns."""
    model = make(4)
    return model, with_unseen_columns(model, zero_sides=request.param)


@pytest.fixture(scope="module", params=["axes", "mixed"])
def model_and_unseen(request, model_and_wider):
    """The unseen directions are two columns, or a linear gauge mixes all columns."""
    model, wider = model_and_wider
    if request.param == "mixed":
        wider = GeneralLinear(7, max_condition=100.0).sample(rng=0).act(wider)
    return model, wider


def test_the_rank_does_not_count_directions_that_no_prediction_sees(model_and_unseen):
    _, wider = model_and_unseen
    form = canonical_form(wider)
    assert form.rank == 5
    assert not form.is_full_rank


def test_no_gauge_leads_to_the_canonical_form_if_directions_are_unseen(
    model_and_unseen,
):
    _, wider = model_and_unseen
    assert canonical_form(wider).gauge(0.5) is None


@pytest.mark.parametrize("exponent", EXPONENTS.values(), ids=EXPONENTS)
def test_a_canonical_model_drops_unseen_directions_and_keeps_the_scores(
    model_and_unseen, exponent
):
    model, wider = model_and_unseen
    canonical = at_exponent(wider, exponent)
    assert canonical.rank == 5
    np.testing.assert_allclose(canonical.scores(), model.scores(), atol=1e-11)


# The mean of the five items is (2, 2). The user bias is free, so items are centred, and
# the last two items become zero. The centred items are (-1, -1), (1, -1) and (0, 2),
# whose lengths are √2, √2 and 2, and 0 for the other two.
MEAN_ROWS_MODEL = FactorModel.from_arrays(
    left=[[0.0, 1.0], [-1.0, -3.0], [1.0, -3.0], [-2.0, 2.0], [0.0, 1.0]],
    right=[[1.0, 1.0], [3.0, 1.0], [2.0, 4.0], [2.0, 2.0], [2.0, 2.0]],
    left_bias=np.zeros(5),
)
HAS_DIRECTION = [True, True, True, False, False]


@pytest.mark.parametrize("exponent", EXPONENTS.values(), ids=EXPONENTS)
def test_a_row_that_is_the_mean_has_no_direction_at_an_exponent(exponent):
    items = at_exponent(MEAN_ROWS_MODEL, exponent).right
    assert items.any(axis=1).tolist() == HAS_DIRECTION


def test_a_row_that_is_the_mean_has_no_direction_in_a_canonical_model():
    equivalents = list(canonical_models(MEAN_ROWS_MODEL))
    assert len(equivalents) == len(EXPONENTS)
    for canonical in equivalents:
        items = canonical.rows(MEAN_ROWS_MODEL, "right")[:]
        assert items.any(axis=1).tolist() == HAS_DIRECTION


def test_the_shift_of_a_canonical_model_is_given_in_lengths_of_the_stored_rows():
    """The mean row (2, 2) is also the median of the stored rows in length: √8 / √8."""
    equivalents = list(canonical_models(MEAN_ROWS_MODEL))
    shifts = [canonical.shift_in(MEAN_ROWS_MODEL) for canonical in equivalents]
    assert shifts == pytest.approx([1, 1, 1])


# Scores that vanish exactly, and scores that vanish up to rounding: all users lie along
# (0.6, 0.8), and all items along (-0.8, 0.6).
VANISHING = [
    FactorModel.from_arrays([[1.0, 0.0]], [[0.0, 1.0]]),
    FactorModel.from_arrays([[0.6, 0.8], [1.2, 1.6]], [[-0.8, 0.6], [-2.4, 1.8]]),
]


@pytest.mark.parametrize("model", VANISHING, ids=["exactly", "by-rounding"])
def test_vanishing_scores_have_no_canonical_form(model):
    with pytest.raises(InputError, match="at least one score must differ from zero"):
        canonical_form(model)


@pytest.mark.parametrize("model", VANISHING, ids=["exactly", "by-rounding"])
def test_vanishing_scores_have_no_seen_directions(model):
    with pytest.raises(InputError, match="at least one score must differ from zero"):
        seen_directions(model, ())


@pytest.mark.parametrize("size", [1e200, 1e-200])
def test_the_canonical_form_refuses_rows_whose_length_leaves_1e_minus_100_to_1e100(
    size,
):
    model = random_model(k=2)
    with pytest.raises(
        InputError,
        match=r"user factors must be between 1e-100 and 1e\+100 long in float64; got",
    ):
        canonical_form(model.replace(left=size * model.left))


@pytest.mark.parametrize("scales", [[1e9, 1.0, 1e-9, 1.0], [1e-9, 1e-9, 1e9, 1.0]])
def test_a_rescaling_of_columns_loses_no_direction(scales):
    model = random_model(k=4).replace(left=random_model(k=4).left * [1, 1, 1, 0])
    form = canonical_form(Gauge.diagonal(scales).act(model))
    assert (form.rank, form.n_seen) == (3, 3)
    np.testing.assert_allclose(
        form.singular_values[:3], canonical_form(model).singular_values[:3], rtol=1e-9
    )


def test_balanced_factors_have_equal_gram_matrices_and_whitened_ones_the_identity():
    model = make(2)
    balanced, left, right = (at_exponent(model, e) for e in (0.5, 0, 1))
    np.testing.assert_allclose(
        balanced.left.T @ balanced.left, balanced.right.T @ balanced.right, atol=1e-10
    )
    np.testing.assert_allclose(left.left.T @ left.left, np.eye(5), atol=1e-12)
    np.testing.assert_allclose(right.right.T @ right.right, np.eye(5), atol=1e-12)


@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0])
def test_a_direction_made_by_float32_leaves_the_scores_at_every_exponent(exponent):
    """All items have −3 in a column, which a free user bias takes up.

    Rounding after a rotation leaves about 1e-7 of it, and whitening stretches that to
    the size of the other columns.
    """
    draw = np.random.default_rng(0)
    users = draw.standard_normal((7, 3))
    items = np.column_stack([draw.standard_normal((6, 2)), np.full(6, -3.0)])
    rotation = np.linalg.qr(draw.standard_normal((3, 3)))[0]
    model = FactorModel.from_arrays(
        (users @ rotation).astype(np.float32),
        (items @ rotation).astype(np.float32),
        left_bias=np.zeros(7),
    )
    scores = at_exponent(model, exponent).scores()
    np.testing.assert_allclose(scores, model.scores(), atol=1e-5)
