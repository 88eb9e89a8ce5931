"""The canonical form against dense decompositions, and what equivalent models share."""

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
    left, right = (side in model.link.centred(model) for side in ("left", "right"))
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
    """Also after translations that the free biases absorb; without them the gauge is refused."""
    model = make(3, biases=biases)
    gauge = GeneralLinear(5, max_condition=50.0).sample(rng=1)
    shifts = {
        side: np.ones(5)
        for side, bias in (("left", "item_bias"), ("right", "user_bias"))
        if bias in biases
    }
    other = Gauge.translation(5, **shifts).act(gauge.act(model))
    one, two = (at_exponent(m, 0.5) for m in (model, other))
    signs = np.sign((one.right * two.right).sum(axis=0))
    np.testing.assert_allclose(two.right * signs, one.right, atol=1e-10)
    np.testing.assert_allclose(two.left * signs, one.left, atol=1e-10)


def test_uncentred_factors_would_not_be_canonical_where_a_bias_is_free():
    """The negative side of centring: a translated model has other singular values without it."""
    model = make(3, biases=("right_bias",))
    other = Gauge.translation(5, left=np.ones(5)).act(model)
    np.testing.assert_allclose(other.scores(), model.scores(), atol=1e-12)
    raw = [
        np.linalg.svd(m.left @ m.right.T, compute_uv=False)[:5] for m in (model, other)
    ]
    assert np.abs(raw[0] - raw[1]).max() > 1
    forms = [canonical_form(m).singular_values for m in (model, other)]
    np.testing.assert_allclose(*forms, rtol=1e-11)


@pytest.mark.parametrize("side", ["left", "right", "both"])
def test_directions_that_no_prediction_sees_are_split_off(side):
    model = make(4)
    draw = np.random.default_rng(5)
    extra = {
        s: draw.standard_normal((len(model.factors(s)), 2)) * (side not in (s, "both"))
        for s in ("left", "right")
    }
    wider = model.replace(
        **{s: np.column_stack([model.factors(s), extra[s]]) for s in extra}
    )
    gauged = GeneralLinear(7, max_condition=100.0).sample(rng=0).act(wider)
    for case in (wider, gauged):
        form = canonical_form(case)
        assert (form.rank, form.is_full_rank, form.gauge(0.5)) == (5, False, None)
        for exponent in EXPONENTS.values():
            found = at_exponent(case, exponent)
            assert found.rank == 5
            np.testing.assert_allclose(found.scores(), model.scores(), atol=1e-11)


def test_a_row_that_is_the_mean_has_no_direction_in_a_canonical_model():
    right = [[1.0, 1], [3, 1], [2, 4], [2, 2], [2, 2]]
    model = FactorModel(
        [[0.0, 1], [-1, -3], [1, -3], [-2, 2], [0, 1]], right, left_bias=np.zeros(5)
    )
    for made in canonical_models(model):
        for rows in (
            made.rows(model, "right")[:],
            at_exponent(model, made.exponent).right,
        ):
            assert rows.any(axis=1).tolist() == [True] * 3 + [False] * 2
        # The shift is told in the rows at hand: the mean row has the length of the median one.
        assert made.shift_in(model) == pytest.approx(1)


def test_vanishing_scores_are_refused():
    turn = np.array([[0.6, 0.8], [-0.8, 0.6]])
    for left, right in (
        ([[1.0, 0.0]], [[0.0, 1.0]]),
        (turn[:1] * [[1.0], [2.0]], turn[1:] * [[1.0], [3.0]]),
    ):
        with pytest.raises(InputError, match="the scores must differ from zero"):
            canonical_form(FactorModel(left, right))
        with pytest.raises(InputError, match="the scores must differ from zero"):
            seen_directions(FactorModel(left, right), ())


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
