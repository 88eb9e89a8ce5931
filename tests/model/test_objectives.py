"""A gauge keeps the objective of a model if and only if it keeps its value.

The value of each objective is computed here from its formula.
"""

from __future__ import annotations

import numpy as np
import pytest

import embaudit as ea
from embaudit.errors import InputError
from embaudit.gauges import Diagonal, Gauge, GeneralLinear, Orthogonal
from embaudit.model import LINK_NAMES, with_objective
from embaudit.model.objectives import OBJECTIVES

N, P, K = 12, 9, 3
DRAW = np.random.default_rng(0)
WANTED = DRAW.standard_normal((N, P))
LABELS = DRAW.integers(P, size=N)
ROTATION = Orthogonal(K).sample(rng=1)
SHIFT = [0.3, -0.2, 0.5]
LEFT_COUNTS = DRAW.integers(1, 9, size=N)
RIGHT_COUNTS = DRAW.integers(1, 9, size=P)
COSINES = [name for name, row in OBJECTIVES.items() if row.links == ("cosine",)]
TRAINED = [name for name, row in OBJECTIVES.items() if row.sides == 2]
WITHOUT_COSINES = [name for name in TRAINED if name not in COSINES]
GAUGES = {
    "identity": Gauge.identity(K),
    "orthogonal": ROTATION,
    "reflection": Gauge.diagonal([1.0, -1.0, 1.0]),
    "similarity": Gauge.linear(2 * ROTATION.left),
    "diagonal": Diagonal(K, max_condition=3.0).sample(rng=2),
    "linear": GeneralLinear(K, max_condition=3.0).sample(rng=3),
    "right translation": Gauge.translation(K, right=SHIFT),
    "left translation": Gauge.translation(K, left=SHIFT),
    "rotated translation": ROTATION @ Gauge.translation(K, right=SHIFT),
    "affine": GeneralLinear(K, max_condition=3.0).sample(rng=4)
    @ Gauge.translation(K, left=SHIFT, right=SHIFT),
}


def squared(model):
    return np.sum((WANTED - model.scores()) ** 2)


def entropy(scores):
    scores = scores - scores.max(axis=1, keepdims=True)
    return np.sum(np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(N), LABELS])


def decay(*factors):
    return sum(np.sum(x**2) for x in factors)


def counted_decay(model):
    left = LEFT_COUNTS @ np.sum(model.left**2, axis=1)
    right = RIGHT_COUNTS @ np.sum(model.right**2, axis=1)
    return left + right


def negative_parts(model):
    return decay(np.minimum(model.left, 0), np.minimum(model.right, 0))


def given_inputs(model, inputs):
    return entropy(inputs @ model.right.T + model.right_bias)


VALUES = {
    "product": lambda m, _: squared(m) + decay(m.left @ m.right.T),
    "factors": lambda m, _: squared(m) + decay(m.left, m.right),
    "factors-counted": lambda m, _: squared(m) + counted_decay(m),
    # No function is known that such training minimises. This one changes under every
    # gauge, so that no gauge keeps the name.
    "decoupled-decay": lambda m, _: np.sum(m.left**3) + np.sum(m.right**3),
    # A penalty on negative numbers stands for the constraint.
    "non-negative": lambda m, _: squared(m) + negative_parts(m),
    "none": lambda m, _: squared(m),
    "softmax": lambda m, _: entropy(m.scores()),
    "softmax-decay": lambda m, _: entropy(m.scores()) + decay(m.left, m.right),
    "logistic": given_inputs,
    "logistic-l1": lambda m, inputs: given_inputs(m, inputs) + np.abs(m.right).sum(),
    "logistic-decay": lambda m, inputs: given_inputs(m, inputs) + decay(m.right),
    "cosine": lambda m, _: np.sum((WANTED - m.scores()) ** 2),
    # Training can learn any temperature; here it is 0.07.
    "temperature": lambda m, _: entropy(m.scores() / 0.07),
    "fixed-temperature": lambda m, _: entropy(m.scores() / 0.07),
}


def trained(name, *, balanced=True, **changes):
    """Make a model with free biases.

    Weight decay leaves balanced factors: PᵀP = QᵀQ, up to a rotation.
    """
    left = DRAW.standard_normal((N, K))
    right = DRAW.standard_normal((P, K))
    if balanced:
        left, right = balanced_factors(left), balanced_factors(right)
    link = OBJECTIVES[name].links[0]
    fields = {"link": link, "objective": name}
    if link != "cosine":
        fields["right_bias"] = np.linspace(0, 1, P)
    if link == "identity":
        fields["left_bias"] = np.linspace(-1, 0, N)
    return ea.FactorModel.from_arrays(left, right, **fields | changes)


def balanced_factors(rows):
    """Return centred factors with the Gram matrix Rᵀ diag(9, 4, 1) R."""
    basis, _ = np.linalg.qr(rows - rows.mean(axis=0))
    return basis * [3, 2, 1] @ ROTATION.left


def expected_objective(name, before, after):
    """Return the name of the objective if both models have one value, else None."""
    inputs = before.left
    value_before = VALUES[name](before, inputs)
    value_after = VALUES[name](after, inputs)
    if np.isclose(value_before, value_after, rtol=1e-10):
        return name
    return None


def test_a_number_is_refused_as_an_objective():
    sentence = (
        "objective must be a name that `embaudit explain objectives` lists; got 3;"
    )
    with pytest.raises(InputError, match=sentence):
        ea.FactorModel.from_user_item([[1.0]], [[1.0]], objective=3)


def test_every_objective_has_a_formula_here():
    assert list(VALUES) == TRAINED


@pytest.mark.parametrize("kind", GAUGES)
@pytest.mark.parametrize("name", TRAINED)
def test_acting_keeps_an_objective_where_it_keeps_its_value(name, kind):
    model = trained(name, balanced=False)
    try:
        after = GAUGES[kind].act(model)
    except ea.EquivalenceError:
        assert name in COSINES
        assert not GAUGES[kind].fixes_cosines
        return
    assert after.objective == expected_objective(name, model, after)


@pytest.mark.parametrize("balanced", [True, False])
@pytest.mark.parametrize("exponent", [0.0, 0.3, 0.5, 1.0])
@pytest.mark.parametrize("name", WITHOUT_COSINES)
def test_an_exponent_keeps_an_objective_where_it_keeps_its_value(
    name, exponent, balanced
):
    model = trained(name, balanced=balanced)
    after = ea.at_exponent(model, exponent)
    assert after.objective == expected_objective(name, model, after)
    kinds = {0.0: "left-whitened", 0.5: "balanced", 1.0: "right-whitened"}
    if exponent in kinds:
        remedy = ea.fix(model, kinds[exponent])
        assert remedy.to_model().objective == after.objective
        assert ea.fix(model, kinds[exponent], dimensions=2).to_model().objective is None


@pytest.mark.parametrize(
    ("name", "exponent", "is_kept"),
    [
        ("product", 0.5, True),
        ("product", 1, True),
        ("factors", 0.5, True),
        ("factors", 1, False),
        ("softmax", 0.5, True),
        ("softmax", 1, True),
        ("softmax-decay", 0.5, True),
        ("softmax-decay", 1, False),
        ("logistic", 0.5, False),
        ("logistic", 1, False),
    ],
)
def test_weight_decay_holds_at_the_balanced_exponent_only(name, exponent, is_kept):
    after = ea.at_exponent(trained(name), exponent)
    assert (after.objective == name) == is_kept


@pytest.mark.parametrize("name", WITHOUT_COSINES)
def test_centring_keeps_an_objective_where_it_keeps_its_value(name):
    model = trained(name, balanced=False)
    after = ea.fix(model, "centred").to_model()
    assert after.objective == expected_objective(name, model, after)


@pytest.mark.parametrize("kind", GAUGES)
def test_vectors_of_prediction_cosines_keep_the_name_if_cosines_stay(kind):
    table = ea.FactorModel.from_vectors(DRAW.standard_normal((P, K)))
    vectors = table.replace(objective="prediction")
    if kind in ("diagonal", "linear", "affine") or "translation" in kind:
        with pytest.raises(ea.EquivalenceError):
            GAUGES[kind].act(vectors)
        return
    after = GAUGES[kind].act(vectors)
    assert (after.objective, after.compared) == ("prediction", "cosine")
    pairs = [[0, 1], [2, 3]]
    before_cosines = vectors.cosines("right", pairs)
    np.testing.assert_allclose(
        after.cosines("right", pairs), before_cosines, atol=1e-12
    )


def model_of(sides, link, name=None):
    left = None
    if sides == 2:
        left = DRAW.standard_normal((N, K))
    return ea.FactorModel(left, DRAW.standard_normal((P, K)), link, objective=name)


@pytest.mark.parametrize("sides", [1, 2])
@pytest.mark.parametrize("link", LINK_NAMES)
@pytest.mark.parametrize("name", OBJECTIVES)
def test_a_link_and_an_objective_that_contradict_are_refused(name, link, sides):
    if expects_agreement(name, link, sides):
        assert model_of(sides, link, name).objective == name
        assert model_of(sides, link).replace(objective=name).objective == name
        return
    remedy = f"choose link {OBJECTIVES[name].links[0]}"
    if name == "prediction":
        remedy = "for vectors of one side"
    sentence = rf"model with {link} link; got '{name}'; .*{remedy}"
    with pytest.raises(InputError, match=sentence):
        model_of(sides, link, name)
    with pytest.raises(InputError, match=sentence):
        model_of(sides, link).replace(objective=name)


def expects_agreement(name, link, sides):
    """Vectors alone have the identity link if nothing better is known."""
    if sides == 1 and link == "identity":
        return True
    return name != "prediction" and link in OBJECTIVES[name].links


@pytest.mark.parametrize("word", ["clip", "bge", "transe", "bpr", "factors"])
@pytest.mark.parametrize(
    "vectors",
    [
        pytest.param(ea.FactorModel.from_vectors(WANTED), id="vectors"),
        pytest.param(ea.FactorModel(None, WANTED), id="a model without left rows"),
    ],
)
def test_every_way_to_name_the_training_of_vectors_gives_the_same_link(vectors, word):
    changed = vectors.replace(objective=word)
    assert changed.link == with_objective(vectors, word).link
    assert changed.link == ea.load(WANTED, kind="vectors", objective=word).link


CONTRADICTED_BY_COSINES = [
    (name, link, sides)
    for name in WITHOUT_COSINES
    for link in OBJECTIVES[name].links
    for sides in (1, 2)
    # Vectors alone can have the identity link because nothing better is known.
    if (sides, link) != (1, "identity")
]


@pytest.mark.parametrize(("name", "link", "sides"), CONTRADICTED_BY_COSINES)
def test_a_new_link_that_contradicts_the_objective_is_refused(name, link, sides):
    model = model_of(sides, link, name)
    with pytest.raises(InputError, match="choose link"):
        model.replace(link="cosine")
