"""One table of rows that are compared with each other: only orthogonal maps keep
cosines and products.
"""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np
import pytest

import embaudit as ea
from embaudit.errors import EquivalenceError, InputError
from embaudit.gauges import Gauge, GeneralLinear, Orthogonal
from embaudit.model import Equivalence, FactorModel

DRAW = np.random.default_rng(0)
ROWS = DRAW.standard_normal((40, 4)) * [4.0, 2.0, 1.0, 0.5] + 0.3
UNIT = ROWS / np.linalg.norm(ROWS, axis=1, keepdims=True)
TABLES = {by: FactorModel.from_vectors(ROWS, compared=by) for by in ("cosine", "dot")}
WORDS = {"cosine": "cosine", "dot": "dot product"}
PREDICTED = {"cosine": UNIT @ UNIT.T, "dot": ROWS @ ROWS.T}
FEW = {"n_gauges": 2, "n_pairs": 50, "n_starts": 1, "n_steps": 2}
both = pytest.mark.parametrize("by", ["cosine", "dot"])


@both
def test_scores_are_products_or_cosines_of_the_rows_with_each_other(by):
    model = TABLES[by]
    assert (model.compared, model.left, model.sides) == (by, None, ("right",))
    assert model.predicts is Equivalence.COSINES
    near = partial(np.testing.assert_allclose, rtol=1e-13, atol=1e-13)
    near(model.scores(), PREDICTED[by])
    near(model.predictions([3, 1]), PREDICTED[by][[3, 1]])


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("cosine", "compared by cosine"),
        ("dot", "compared by dot product"),
        ("distance", "compared by distance"),
        ("hyperbolic", "compared by hyperbolic distance"),
    ],
)
def test_a_model_says_in_english_how_its_rows_are_compared(how, words):
    model = FactorModel.from_vectors([[0.5], [0.25]], compared=how)
    assert repr(model) == f"FactorModel(2 items, 1 dimension, {words}, float64)"
    with pytest.raises(InputError, match=f"{words} must be a single table of rows"):
        model.replace(offset=1.0)
    with pytest.raises(InputError, match=f"got rows {words}"):
        ea.canonical_form(model)
    with pytest.raises(InputError, match=f"omitted if rows are {words}"):
        model.replace(objective="factors")


def kept(model, gauge):
    """Return True if rows that a gauge moves by its definition predict the same."""
    moved = model.replace(right=model.right @ gauge.matrix("right") + gauge.right_shift)
    return bool(np.allclose(moved.scores(), model.scores(), rtol=1e-9, atol=1e-9))


@both
@pytest.mark.parametrize(
    ("gauge", "keeps"),
    [
        (Orthogonal(4).sample(rng=1), ("cosine", "dot")),
        (Gauge.diagonal([1.0, -1.0, 1.0, -1.0]), ("cosine", "dot")),
        (Gauge.linear(2 * Orthogonal(4).sample(rng=2).matrix("left")), ("cosine",)),
        (Gauge.diagonal([1.0, 1.0, 1.0, 1.5]), ()),
        (GeneralLinear(4, max_condition=2.0).sample(rng=3), ()),
        (Gauge.translation(4, right=[0.5, 0.0, 0.0, 0.0]), ()),
        (Gauge.translation(4, left=[0.5, 0.0, 0.0, 0.0]), ("cosine", "dot")),
    ],
)
def test_a_gauge_acts_if_and_only_if_it_keeps_the_predictions(by, gauge, keeps):
    model = TABLES[by]
    assert kept(model, gauge) == (by in keeps)
    if by in keeps and not gauge.shifts_left:
        np.testing.assert_allclose(
            gauge.act(model).cosines("right"), model.cosines("right"), atol=1e-12
        )
        return
    sentence = "one map acts on both rows that are compared"
    with pytest.raises(EquivalenceError, match=sentence):
        gauge.act(model)


def fixed_locally(x):
    """Return True if products of different rows fix nearby rows up to rotations.

    The derivative of x_i · x_j by x_i is x_j. All derivatives together have rank n k,
    less the dimension of the rotations of these rows.
    """
    n, k = x.shape
    derivatives = []
    for i, j in itertools.combinations(range(n), 2):
        derivative = np.zeros((n, k))
        derivative[i] = x[j]
        derivative[j] = x[i]
        derivatives.append(derivative.ravel())
    r = min(n, k)
    n_rotations = r * (r - 1) // 2 + r * (k - r)
    return np.linalg.matrix_rank(np.array(derivatives)) == n * k - n_rotations


@pytest.mark.parametrize(
    ("n", "k", "is_enough"),
    [(6, 4, False), (6, 3, False), (7, 3, True), (9, 4, True), (3, 8, False)],
)
def test_products_of_different_rows_fix_lengths_if_there_are_enough_rows(
    n, k, is_enough
):
    x = np.random.default_rng(n).standard_normal((n, k))
    found = ea.pinned_test(FactorModel.from_vectors(x, compared="dot"))
    assert ("may not be enough" not in found.because) == is_enough
    # Six rows of three numbers are fixed locally, but have several solutions.
    if is_enough:
        assert fixed_locally(x)


def test_cosines_through_a_temperature_fix_the_order_and_not_the_level():
    """A model with one more dimension and another temperature has the same softmax."""
    b = 0.4
    temperature = 0.05
    other = np.hstack([np.sqrt(1 - b) * UNIT, np.full((len(UNIT), 1), np.sqrt(b))])
    logits = UNIT @ UNIT.T / temperature
    level = other @ other.T
    shifted = level / ((1 - b) * temperature)
    np.testing.assert_allclose(
        shifted - shifted[:, :1], logits - logits[:, :1], atol=1e-9
    )
    np.testing.assert_allclose(level, (1 - b) * UNIT @ UNIT.T + b)


@both
@pytest.mark.parametrize(
    "function",
    [
        ea.canonical_form,
        ea.position,
        partial(ea.identified_cosines, role="item"),
        partial(ea.fix, as_="centred"),
        partial(ea.fix, as_="balanced"),
    ],
)
def test_functions_of_two_sides_refuse_one_table_of_rows(by, function):
    sentence = f"must be a model of two sides; got rows compared by {WORDS[by]}"
    with pytest.raises(InputError, match=sentence):
        function(TABLES[by])


@both
@pytest.mark.parametrize(
    ("field", "value", "part"),
    [
        ("left", ROWS, "another side"),
        ("right_bias", np.zeros(40), "a bias"),
        ("offset", 1.0, "an offset"),
    ],
)
def test_rows_compared_with_each_other_have_no_other_side_bias_or_offset(
    by, field, value, part
):
    sentence = f"compared by {WORDS[by]} must be a single table of rows; got {part}"
    with pytest.raises(InputError, match=sentence):
        TABLES[by].replace(**{field: value})
    whole = FactorModel.from_arrays(**{"left": None, "right": ROWS, field: value})
    with pytest.raises(InputError, match=sentence):
        ea.audit(whole, compared=by)


@pytest.mark.parametrize("wrong", ["euclidean", 3, ""])
def test_rows_are_compared_by_cosine_dot_product_or_distance_only(wrong):
    said = "compared must be one of cosine, dot, distance, hyperbolic; got"
    with pytest.raises(InputError, match=said):
        FactorModel.from_vectors(ROWS, compared=wrong)


@both
def test_an_audit_of_rows_compared_with_each_other_refuses_an_objective_or_a_head(by):
    sentence = f"objective must be omitted .* by {WORDS[by]}"
    with pytest.raises(InputError, match=sentence):
        ea.audit(TABLES[by], objective="factors")
    with pytest.raises(InputError, match="got a model with softmax link"):
        ea.audit(FactorModel.from_softmax(ROWS), compared=by)


def test_the_objective_cosine_may_be_named_for_rows_compared_by_cosine():
    rows = FactorModel.from_vectors(ROWS)
    found = ea.audit(rows, compared="cosine", objective="cosine", **FEW)
    assert found.model.compared == "cosine"
