"""Live estimators of scikit-learn: linear classifiers, networks, decompositions; pipelines and searches around them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.errors import InputError, must_be
from embaudit.foundation.checked import Floats, Indices
from embaudit.io.objects.classifiers import classifier, hidden, network_head
from embaudit.io.objects.library import has
from embaudit.io.objects.reading import Given, Own, Reading
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
        reaching = given.inputs if given.inputs is None or not len(before) else _quiet(before.transform, given.inputs)
        return read(last, replace(given, inputs=reaching))
    if has(model, "coef_", "classes_"):
        made = classifier(model)
        probes = _probes(made.rank)
        own = _probabilities(model, made, probes)
        return Reading(made, own, _method(made), probes, _dense(given.inputs), TAKEN)
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


def _dense(values: Any) -> NDArray[Any] | None:
    return None if values is None else np.asarray(values.toarray() if hasattr(values, "toarray") else values)


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
    made = network_head(model)
    inputs = _probes(model.n_features_in_)
    proba = _probabilities(model, made.replace(link="softmax", objective=None), inputs)
    reaching = None if given.inputs is None else hidden(model, _dense(given.inputs))
    if made.link != "softmax":
        # One sigmoid a label shows no softmax, so that its scores are not held against probabilities.
        return Reading(made, inputs=reaching, taken=OF_LAYERS)
    return Reading(made, proba, "predict_proba", hidden(model, inputs), reaching, OF_LAYERS)


def _decomposition(model: Any, given: Given) -> Reading:
    names = getattr(model, "feature_names_in_", None)
    made = FactorModel.from_vectors(np.asarray(model.components_).T, ids=names)
    if given.inputs is None:
        return Reading(made, taken=OF_COMPONENTS)
    if not callable(getattr(model, "inverse_transform", None)):
        raise InputError(f"inputs must be left out here; {type(model).__name__} cannot go back from components.")
    rows = np.asarray(_quiet(model.transform, given.inputs))
    mean = getattr(model, "mean_", None)
    both = FactorModel(rows, made.right, right_bias=mean, right_ids=names, roles=("input", "item"))

    def own(left: Indices, right: Indices) -> Floats:
        return np.asarray(model.inverse_transform(rows[left]))[:, right]

    return Reading(both, own, "inverse_transform", taken=OF_COMPONENTS)
