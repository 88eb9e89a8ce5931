"""Rows compared with each other: only orthogonal maps keep what is predicted, and it fixes every cosine."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import embaudit as ea
from embaudit.auditing.equivalence_class import equivalence_class_of
from embaudit.canonical.pinned import TABLE
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
    assert (model.compared, model.left, model.sides, model.predicts) == (
        by,
        None,
        ("right",),
        Equivalence.COSINES,
    )
    np.testing.assert_allclose(model.scores(), PREDICTED[by], rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(
        model.predictions([3, 1]), PREDICTED[by][[3, 1]], rtol=1e-13, atol=1e-13
    )


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
    with pytest.raises(InputError, match=f"{words} must be one table of rows alone"):
        model.replace(offset=1.0)
    with pytest.raises(InputError, match=f"got rows {words}"):
        ea.canonical_form(model)
    with pytest.raises(InputError, match=f"left out where rows are {words}"):
        model.replace(objective="factors")


def kept(model, gauge):
    """Whether the rows that a gauge makes, by its definition, have the same predictions."""
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
def test_a_gauge_acts_exactly_where_it_keeps_the_predictions(by, gauge, keeps):
    model = TABLES[by]
    assert kept(model, gauge) == (by in keeps)
    if by in keeps and not gauge.shifts_left:
        np.testing.assert_allclose(
            gauge.act(model).cosines("right"), model.cosines("right"), atol=1e-12
        )
        return
    with pytest.raises(
        EquivalenceError, match="one map acts on both rows that are compared"
    ):
        gauge.act(model)


@both
def test_the_fibre_is_proven_to_move_nothing_and_names_its_models(by):
    found = equivalence_class_of(TABLES[by], ["right"])
    freedom = found.freedom["right"]
    assert (freedom.moves, str(freedom.kind)) == (False, "proven")
    assert (
        found.scope.models
        == TABLE
        == "models that compare these rows with each other in the same way"
    )
    assert TABLE in freedom.because
    assert found.scope.whole


@pytest.mark.parametrize(
    ("n", "k", "alone"),
    [(6, 4, False), (6, 3, False), (7, 3, True), (9, 4, True), (3, 8, False)],
)
def test_products_of_different_rows_fix_lengths_only_where_there_are_enough_rows(
    n, k, alone
):
    """Count the equations of different rows against the numbers that are free, by the rank of their derivatives."""
    x = np.random.default_rng(n).standard_normal((n, k))
    derivatives = []
    for i, j in zip(*np.triu_indices(n, 1), strict=True):
        row = np.zeros((n, k))
        row[i], row[j] = x[j], x[i]
        derivatives.append(row.ravel())
    rotations = k * (k - 1) // 2 if n >= k else n * k - n * (n + 1) // 2
    fixed_locally = np.linalg.matrix_rank(np.array(derivatives)) == n * k - rotations
    said = (
        "need those with themselves"
        not in ea.pinned_test(FactorModel.from_vectors(x, compared="dot")).because
    )
    assert said == alone
    assert (
        fixed_locally >= said
    )  # at the bound itself, 6 rows of 3 numbers, there are several solutions


def test_cosines_through_a_temperature_fix_the_order_and_not_the_level():
    """The other model has one number more, a softmax of another temperature, and the same probabilities."""
    b, temperature = 0.4, 0.05
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
    with pytest.raises(
        InputError, match=f"must be one of two sides; got rows compared by {WORDS[by]}"
    ):
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
    sentence = f"compared by {WORDS[by]} must be one table of rows alone; got {part}"
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
    with pytest.raises(
        InputError, match=f"objective must be left out .* by {WORDS[by]}"
    ):
        ea.audit(TABLES[by], objective="factors")
    with pytest.raises(InputError, match="got a model with softmax link"):
        ea.audit(FactorModel.from_softmax(ROWS), compared=by)


def test_the_objective_cosine_may_be_named_for_rows_compared_by_cosine():
    rows = FactorModel.from_vectors(ROWS)
    found = ea.audit(rows, compared="cosine", objective="cosine", **FEW)
    assert found.model.compared == "cosine"
