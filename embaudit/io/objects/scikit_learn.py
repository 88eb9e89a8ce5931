"""Live estimators of scikit-learn: linear classifiers, networks, decompositions; pipelines and searches around them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import Floats, Indices
from embaudit.errors import InputError, must_be
from embaudit.io.objects.library import has
from embaudit.io.objects.reading import Given, Own, Reading
from embaudit.io.readers.assemble import two_labels
from embaudit.model import FactorModel

TAKEN = {"right": "coef_", "right_bias": "intercept_", "right_ids": "classes_", "right_names": "classes_",
         "link": "its class"}  # fmt: skip
OF_LAYERS = {**TAKEN, "right": "the last of coefs_", "right_bias": "the last of intercepts_"}
OF_COMPONENTS = {"right": "components_", "right_bias": "mean_", "right_ids": "feature_names_in_"}


def read(model: Any, given: Given) -> Reading:
    """Take a fitted estimator, or the one inside a pipeline or a search, which sees transformed inputs.

    Raises
    ------
    InputError
        If it is not fitted, or is neither a linear classifier, a network nor a decomposition.
    """
    if has(model, "best_estimator_"):
        return read(model.best_estimator_, given)
    if has(model, "steps"):
        before, last = model[:-1], model.steps[-1][1]
        if given.inputs is not None and len(before):
            given = replace(given, inputs=_quiet(before.transform, given.inputs))
        return read(last, given)
    if has(model, "coef_", "classes_"):
        made = _classifier(model)
        probes = _probes(made.rank)
        own = _probabilities(model, made, probes)
        reaching = None if given.inputs is None else _dense(given.inputs)
        return Reading(made, own, _method(made), probes, reaching, TAKEN)
    if has(model, "coefs_", "out_activation_"):
        return _network(model, given)
    if has(model, "components_"):
        return _decomposition(model, given)
    raise must_be(
        "an estimator of scikit-learn",
        "a fitted linear classifier, network or decomposition, a fitted model of a known library",
        type(model).__name__,
    )


def _quiet(function: Callable[[Any], Any], values: Any) -> Any:
    """Call what warns of inputs without the names of their columns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(values)


def _dense(values: Any) -> NDArray[Any]:
    return np.asarray(values.toarray() if hasattr(values, "toarray") else values)


def _probes(rank: int) -> Floats:
    return np.random.default_rng(0).normal(size=(3, rank))


def _method(made: FactorModel) -> str:
    return "predict_proba" if made.link == "softmax" else "decision_function"


def _probabilities(model: Any, made: FactorModel, inputs: Floats) -> Own:
    """Return what the estimator itself says of some inputs."""

    def own(rows: Indices, labels: Indices) -> Floats:
        return np.asarray(_quiet(getattr(model, _method(made)), inputs[rows]))[:, labels]

    return own


def _network(model: Any, given: Given) -> Reading:
    made = _network_head(model)
    inputs = _probes(model.n_features_in_)
    proba = _probabilities(model, made.replace(link="softmax", objective=None), inputs)
    reaching = None if given.inputs is None else _hidden(model, _dense(given.inputs))
    if made.link != "softmax":
        # One sigmoid a label shows no softmax, so that its scores are not held against probabilities.
        return Reading(made, inputs=reaching, taken=OF_LAYERS)
    return Reading(made, proba, "predict_proba", _hidden(model, inputs), reaching, OF_LAYERS)


def _decomposition(model: Any, given: Given) -> Reading:
    """Read components that inputs are put together from again, which `inverse_transform` shows.

    Raises
    ------
    InputError
        If nothing is put together from them, as in LDA of topics, NCA or Nystroem.
    """
    name, names = type(model).__name__, getattr(model, "feature_names_in_", None)
    back = getattr(model, "inverse_transform", None)
    if not callable(back):
        remedy = "pass its components_.T to FactorModel.from_vectors if their rows are vectors all the same"
        raise must_be(f"the components_ of {name}", "those of its inverse_transform", "none", remedy)
    components = _dense(model.components_)
    if given.inputs is None:
        units = np.eye(len(components))
        made, origin = FactorModel.from_vectors(components.T, ids=names), _dense(back(0 * units[:1]))

        def of_units(left: Indices, right: Indices) -> Floats:
            return np.asarray(_dense(back(units[left])) - origin)[:, right]

        return Reading(made, of_units, "inverse_transform", units, taken=OF_COMPONENTS)
    rows = np.asarray(_quiet(model.transform, given.inputs))
    made = FactorModel(
        rows, components.T, right_bias=getattr(model, "mean_", None), right_ids=names, roles=("input", "item")
    )

    def own(left: Indices, right: Indices) -> Floats:
        return np.asarray(_dense(back(rows[left])))[:, right]

    return Reading(made, own, "inverse_transform", taken=OF_COMPONENTS)


def _classifier(model: Any) -> FactorModel:
    """Take a linear classifier whose probabilities are a softmax, or one sigmoid a label, of linear scores.

    With two labels scikit-learn stores one row w: the labels' rows are 0 and w. One sigmoid a label is no softmax: only
    what keeps the scores keeps its probabilities, so its link is the identity.

    Raises
    ------
    InputError
        For margins without probabilities (LinearSVC, hinge loss, ridge) and scores of other kinds.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["no", "no", "yes", "yes"]
    >>> _classifier(LogisticRegression().fit(X, y)).right[0]
    array([0.])
    """
    name, labels = type(model).__name__, np.asarray(model.classes_)
    if not hasattr(model, "predict_proba") or hasattr(model, "support_vectors_"):
        raise InputError(
            f"the classifier must predict probabilities from linear scores; got {name}, whose margins no link "
            "turns into predictions; fit LogisticRegression, or use FactorModel.from_vectors with its coef_."
        )
    if getattr(model, "loss", "log_loss") not in ("log_loss", "log"):
        raise InputError(f"the loss of {name} must be log_loss, whose probabilities are sigmoids; got {model.loss!r}.")
    weights = np.asarray(model.coef_)
    bias = np.broadcast_to(np.asarray(model.intercept_, dtype=float), (len(weights),))
    if len(weights) == 1:
        return _head(*two_labels(weights, bias), labels, objective=_objective(model))
    if len(weights) != len(labels):
        raise InputError(f"coef_ must have one row a class; got {len(weights)} rows for {len(labels)} classes.")
    one_against_rest = (
        hasattr(model, "loss")
        or getattr(model, "solver", "") == "liblinear"
        or getattr(model, "multi_class", "") == "ovr"
    )
    return _head(weights, bias, labels, softmax=not one_against_rest, objective=_objective(model))


def _head(weights: Any, bias: Any, labels: Any, *, softmax: bool = True, objective: str | None = None) -> FactorModel:
    model = FactorModel.from_softmax(weights, bias, labels=labels, objective=objective)
    return model if softmax else model.replace(link="identity", objective=None)


def _objective(model: Any) -> str | None:
    strength = getattr(model, "C", None)
    if strength is None:
        return None
    penalty, l1 = getattr(model, "penalty", None), getattr(model, "l1_ratio", None)
    if np.isinf(strength) or penalty == "none":
        return "logistic"
    return "logistic-decay" if not l1 and penalty not in ("l1", "elasticnet") else None


def _network_head(model: Any) -> FactorModel:
    """Take the last layer of a fitted MLPClassifier.

    Raises
    ------
    InputError
        For a regressor.
    """
    if getattr(model, "classes_", None) is None or model.out_activation_ == "identity":
        raise InputError(f"the network must be a classifier; got {type(model).__name__}, which predicts numbers.")
    weights, bias, labels = (
        np.asarray(model.coefs_[-1]).T,
        np.asarray(model.intercepts_[-1]),
        np.asarray(model.classes_),
    )
    objective = "softmax-decay" if getattr(model, "alpha", 0) else "softmax"
    if len(weights) == 1:
        return _head(*two_labels(weights, bias), labels, objective=objective)
    return _head(weights, bias, labels, softmax=model.out_activation_ == "softmax", objective=objective)


def _hidden(model: Any, inputs: Any) -> Floats:
    """Return what reaches the last layer of a network: the inputs through all layers before.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> coefs, intercepts = [[[1.0, -1.0]], [[1.0], [1.0]]], [[0.5, 0.0], [0.0]]
    >>> layers = SimpleNamespace(coefs_=coefs, intercepts_=intercepts, activation="relu")
    >>> _hidden(layers, [[2.0]])
    array([[2.5, 0. ]])
    """
    found = np.asarray(inputs, dtype=float)
    for weights, bias in zip(model.coefs_[:-1], model.intercepts_[:-1], strict=True):
        found = ACTIVATIONS[model.activation](found @ np.asarray(weights) + bias)
    return found


ACTIVATIONS: dict[str, Callable[[Floats], Floats]] = {
    "identity": lambda x: x,
    "relu": lambda x: np.maximum(x, 0),
    "tanh": np.tanh,
    "logistic": lambda x: 1 / (1 + np.exp(-x)),
}
"""What scikit-learn calls the functions between layers."""
