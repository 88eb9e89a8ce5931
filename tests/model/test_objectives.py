"""An objective keeps its name exactly where its value, computed here from its formula, stays."""

from __future__ import annotations

import numpy as np
import pytest

import embaudit as ea
from embaudit.errors import InputError
from embaudit.gauges import Diagonal, Gauge, GeneralLinear, Orthogonal
from embaudit.model import LINK_NAMES
from embaudit.model.objectives import OBJECTIVES

N, P, K = 12, 9, 3
DRAW = np.random.default_rng(0)
WANTED = DRAW.standard_normal((N, P))
LABELS = DRAW.integers(P, size=N)
ROTATION = Orthogonal(K).sample(rng=1)
SHIFT = [0.3, -0.2, 0.5]
COUNTS = DRAW.integers(1, 9, size=N), DRAW.integers(1, 9, size=P)
COSINES = [name for name, row in OBJECTIVES.items() if row.links == ("cosine",)]
TRAINED = [name for name, row in OBJECTIVES.items() if row.sides == 2]
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
    return decay(
        *(
            x * np.sqrt(n)[:, None]
            for x, n in zip((model.left, model.right), COUNTS, strict=True)
        )
    )


def given_inputs(model, inputs):
    return entropy(inputs @ model.right.T + model.right_bias)


VALUES = {
    "product": lambda m, _: squared(m) + decay(m.left @ m.right.T),
    "factors": lambda m, _: squared(m) + decay(m.left, m.right),
    "factors-counted": lambda m, _: squared(m) + counted_decay(m),
    # Nobody knows what such training minimises, so no change may pass for harmless.
    "decoupled-decay": lambda m, _: np.sum(m.left**3) + np.sum(m.right**3),
    # What is negative may not be, whatever it costs.
    "non-negative": lambda m, _: (
        squared(m) + sum(np.sum(np.minimum(x, 0) ** 2) for x in (m.left, m.right))
    ),
    "none": lambda m, _: squared(m),
    "softmax": lambda m, _: entropy(m.scores()),
    "softmax-decay": lambda m, _: entropy(m.scores()) + decay(m.left, m.right),
    "logistic": given_inputs,
    "logistic-l1": lambda m, inputs: given_inputs(m, inputs) + np.abs(m.right).sum(),
    "logistic-decay": lambda m, inputs: given_inputs(m, inputs) + decay(m.right),
    "cosine": lambda m, _: np.sum((WANTED - m.scores()) ** 2),
    # A training that learns the temperature may take any; these take 0.07.
    "temperature": lambda m, _: entropy(m.scores() / 0.07),
    "fixed-temperature": lambda m, _: entropy(m.scores() / 0.07),
}


def trained(name, *, balanced=True, **changes):
    """A model with free biases; balanced, as weight decay leaves it, up to a rotation."""
    left, right = (DRAW.standard_normal((n, K)) for n in (N, P))
    if balanced:
        left, right = (
            np.linalg.qr(x - x.mean(axis=0))[0] * [3, 2, 1] @ ROTATION.left
            for x in (left, right)
        )
    link = OBJECTIVES[name].links[0]
    biases = {} if link == "cosine" else {"right_bias": np.linspace(0, 1, P)}
    if link == "identity":
        biases["left_bias"] = np.linspace(-1, 0, N)
    return ea.FactorModel.from_arrays(
        left, right, link=link, objective=name, **{**biases, **changes}
    )


def keeps_its_value(name, before, after):
    values = [VALUES[name](model, before.left) for model in (before, after)]
    return bool(np.isclose(*values, rtol=1e-10))


def test_what_is_no_name_is_refused():
    with pytest.raises(
        InputError,
        match=r"objective must be a word of `embaudit explain objectives`; got 3;",
    ):
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
    assert after.objective == (name if keeps_its_value(name, model, after) else None)


@pytest.mark.parametrize("balanced", [True, False])
@pytest.mark.parametrize("exponent", [0.0, 0.3, 0.5, 1.0])
@pytest.mark.parametrize("name", [name for name in TRAINED if name not in COSINES])
def test_an_exponent_keeps_an_objective_where_it_keeps_its_value(
    name, exponent, balanced
):
    model = trained(name, balanced=balanced)
    after = ea.at_exponent(model, exponent)
    assert after.objective == (name if keeps_its_value(name, model, after) else None)
    kinds = {0.0: "left-whitened", 0.5: "balanced", 1.0: "right-whitened"}
    if exponent in kinds:
        remedy = ea.fix(model, kinds[exponent])
        assert remedy.to_model().objective == after.objective
        assert ea.fix(model, kinds[exponent], dimensions=2).to_model().objective is None


def test_every_answer_occurs_at_an_exponent():
    names = ("product", "factors", "softmax", "softmax-decay", "logistic")
    found = {
        (n, e): ea.at_exponent(trained(n), e).objective for n in names for e in (0.5, 1)
    }
    assert {pair for pair, kept in found.items() if kept} == {
        ("factors", 0.5), ("softmax", 0.5), ("softmax", 1), ("softmax-decay", 0.5),
    } | {("product", e) for e in (0.5, 1)}  # fmt: skip


@pytest.mark.parametrize("name", [name for name in TRAINED if name not in COSINES])
def test_centring_keeps_an_objective_where_it_keeps_its_value(name):
    model = trained(name, balanced=False)
    after = ea.fix(model, "centred").to_model()
    assert after.objective == (name if keeps_its_value(name, model, after) else None)


@pytest.mark.parametrize("kind", GAUGES)
def test_vectors_that_hold_prediction_cosines_keep_their_name_while_they_hold_them(
    kind,
):
    vectors = ea.FactorModel.from_vectors(DRAW.standard_normal((P, K))).replace(
        objective="prediction"
    )
    if kind in ("diagonal", "linear", "affine") or "translation" in kind:
        with pytest.raises(ea.EquivalenceError):
            GAUGES[kind].act(vectors)
        return
    after = GAUGES[kind].act(vectors)
    same = np.allclose(
        vectors.cosines("right", [[0, 1], [2, 3]]),
        after.cosines("right", [[0, 1], [2, 3]]),
        atol=1e-12,
    )
    assert (after.objective, after.compared, same) == ("prediction", "cosine", True)


def models_of(sides):
    left = DRAW.standard_normal((N, K)) if sides == 2 else None
    return lambda link, name=None: ea.FactorModel.from_arrays(
        left, DRAW.standard_normal((P, K)), link=link, objective=name
    )


@pytest.mark.parametrize("sides", [1, 2])
@pytest.mark.parametrize("link", LINK_NAMES)
@pytest.mark.parametrize("name", OBJECTIVES)
def test_a_link_and_an_objective_that_contradict_are_refused(name, link, sides):
    row, make = OBJECTIVES[name], models_of(sides)
    alone = sides == 1 and link == "identity"
    fits = alone or (name != "prediction" and link in row.links)
    for made in (lambda: make(link, name), lambda: make(link).replace(objective=name)):
        if fits:
            assert made().objective == name
        else:
            remedy = (
                "for vectors of one side"
                if name == "prediction"
                else f"choose link {row.links[0]}"
            )
            with pytest.raises(
                ea.InputError,
                match=rf"model with {link} link; got '{name}'; .*{remedy}",
            ):
                made()
    if alone or not fits or link == "cosine":
        return
    with pytest.raises(ea.InputError, match="choose link"):
        make(link, name).replace(link="cosine")
