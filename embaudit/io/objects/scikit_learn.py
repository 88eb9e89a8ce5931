"""Live estimators of scikit-learn: linear classifiers, networks and decompositions.

An estimator can be inside a pipeline or a search.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import Floats, Indices
from embaudit.errors import InputError, must_be
from embaudit.io.contents import Contents, OwnScores
from embaudit.io.objects.helpers import has, softmax_head
from embaudit.io.options import Request
from embaudit.model import FactorModel

PLACES_OF_LINEAR = {
    "right": "coef_",
    "right_bias": "intercept_",
    "right_ids": "classes_",
    "right_names": "classes_",
    "link": "its class",
}
PLACES_OF_NETWORK = {
    **PLACES_OF_LINEAR,
    "right": "the last of coefs_",
    "right_bias": "the last of intercepts_",
}
PLACES_OF_DECOMPOSITION = {
    "right": "components_",
    "right_bias": "mean_",
    "right_ids": "feature_names_in_",
}


def read(model: Any, request: Request) -> Contents:
    """Read a fitted estimator, or the estimator inside a pipeline or a search.

    The earlier steps of a pipeline transform the caller's inputs.

    Raises
    ------
    InputError
        If it is not fitted, or is neither a linear classifier, a network nor a
        decomposition.
    """
    if has(model, "best_estimator_"):
        return read(model.best_estimator_, request)
    if has(model, "steps"):
        earlier_steps = model[:-1]
        _name, last_step = model.steps[-1]
        if request.inputs is not None and len(earlier_steps):
            inputs = _call(earlier_steps.transform, request.inputs)
            request = replace(request, inputs=inputs)
        return read(last_step, request)
    if has(model, "classes_") and (has(model, "coef_") or has(model, "coefs_")):
        return _read_classifier(model, request.inputs)
    if has(model, "components_"):
        return _read_decomposition(model, request.inputs)
    raise must_be(
        "an estimator of scikit-learn",
        "a fitted linear classifier, network or decomposition",
        type(model).__name__,
        "fit it first, or pass the estimator inside it",
    )


def _call(method: Callable[[Any], Any], inputs: Any) -> Any:
    """Call a method of an estimator without its warnings.

    Estimators that were fitted on data frames warn of inputs without column names.

    Raises
    ------
    InputError
        If the method does not take these inputs, for example because of their width, or
        because they are negative and it takes counts.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return method(inputs)
        except ValueError as error:
            got = str(error).splitlines()[0].rstrip(".")
            raise must_be(
                "inputs",
                "rows that the estimator accepts",
                got,
                "pass the rows that its predictions are made from",
            ) from error


def _dense(values: Any) -> NDArray[Any]:
    return np.asarray(values.toarray() if hasattr(values, "toarray") else values)


def _read_classifier(model: Any, inputs: Any) -> Contents:
    """Read a classifier, and compare its scores of random inputs with its own.

    All inputs pass through the layers before the last one.
    """
    if has(model, "coefs_"):
        head, places = _head_of_network(model), PLACES_OF_NETWORK
    else:
        head, places = _head_of_linear(model), PLACES_OF_LINEAR
    states = None
    if inputs is not None:
        # `predict` refuses inputs that do not fit; the layers below do not check them.
        _call(model.predict, inputs)
        states = _inputs_of_last_layer(model, inputs)
    # The probabilities of one sigmoid per label are normalised, so its scores are
    # compared.
    is_softmax = head.link.name == "softmax"
    method = "predict_proba" if is_softmax else "decision_function"
    if not has(model, method):
        return Contents.from_model(head, places, inputs=states)
    probes = np.random.default_rng(0).normal(size=(3, model.n_features_in_))

    def scores(rows: Indices, labels: Indices) -> Floats:
        return np.asarray(_call(getattr(model, method), probes))[rows, labels]

    own = OwnScores(scores, method, _inputs_of_last_layer(model, probes))
    return Contents.from_model(head, places, own=own, inputs=states)


def _read_decomposition(model: Any, inputs: Any) -> Contents:
    """Read the components of a decomposition, one column per feature.

    They are compared with what `inverse_transform` returns for unit vectors. With
    inputs, the left side is what `transform` returns for them.

    Raises
    ------
    InputError
        If the decomposition has no `inverse_transform`, such as LDA of topics, NCA or
        Nystroem: its components do not reconstruct the inputs.
    """
    name = type(model).__name__
    reconstruct = getattr(model, "inverse_transform", None)
    if not callable(reconstruct):
        raise must_be(
            f"the components_ of {name}",
            "used by its inverse_transform",
            "an estimator without inverse_transform",
            "pass its components_.T to FactorModel.from_vectors if these rows are "
            "vectors nevertheless",
        )
    components = _dense(model.components_)
    units = np.eye(len(components))
    if inputs is None:
        # Vectors alone are compared without the mean of the data.
        left, bias = None, None
        mean = _dense(reconstruct(np.zeros((1, len(components)))))
    else:
        # A reconstruction is a product plus the mean, which is the bias.
        left = np.asarray(_call(model.transform, inputs))
        bias = getattr(model, "mean_", None)
        mean = np.zeros(1)

    def scores(rows: Indices, features: Indices) -> Floats:
        return np.asarray(_dense(reconstruct(units)) - mean)[rows, features]

    vectors = FactorModel.from_arrays(
        None,
        components.T,
        right_bias=bias,
        right_ids=getattr(model, "feature_names_in_", None),
    )
    own = OwnScores(scores, "inverse_transform", units)
    return Contents.from_model(vectors, PLACES_OF_DECOMPOSITION, own=own, inputs=left)


def _head_of_linear(model: Any) -> FactorModel:
    """Return the head of a linear classifier: a softmax, or one sigmoid per label.

    For two labels scikit-learn stores one row w, which stands for the rows 0 and w.

    Raises
    ------
    InputError
        If the classifier predicts no probabilities (LinearSVC, hinge loss, ridge), or
        does not predict them by a softmax or sigmoids of linear scores.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["no", "no", "yes", "yes"]
    >>> _head_of_linear(LogisticRegression().fit(X, y)).right[0]
    array([0.])
    """
    name = type(model).__name__
    labels = np.asarray(model.classes_)
    if not hasattr(model, "predict_proba") or hasattr(model, "support_vectors_"):
        raise InputError(
            "the classifier must predict probabilities from linear scores; got "
            f"{name}, whose margins no link turns into predictions; fit "
            "LogisticRegression, or use FactorModel.from_vectors with its coef_."
        )
    if getattr(model, "loss", "log_loss") not in ("log_loss", "log"):
        raise InputError(
            f"the loss of {name} must be log_loss, whose probabilities are sigmoids; "
            f"got {model.loss!r}."
        )
    weights = np.asarray(model.coef_)
    if 1 < len(weights) != len(labels):
        raise InputError(
            f"coef_ must have one row per class; got {len(weights)} rows for "
            f"{len(labels)} classes."
        )
    # SGDClassifier, which has a loss, fits each label against the others. So do the
    # solver liblinear and multi_class="ovr" of LogisticRegression.
    fits_one_against_rest = (
        hasattr(model, "loss")
        or getattr(model, "solver", "") == "liblinear"
        or getattr(model, "multi_class", "") == "ovr"
    )
    bias = np.broadcast_to(np.asarray(model.intercept_, dtype=float), (len(weights),))
    link = "sigmoid" if fits_one_against_rest else "softmax"
    return softmax_head(weights, bias, labels, link=link, objective=_objective(model))


NO_PENALTY = "sklearn-logistic-no-penalty"
L2 = "sklearn-logistic"
L1 = "sklearn-logistic-l1"
"""Objectives of linear classifiers, by their penalty."""


def _objective(model: Any) -> str:
    """Return the objective of a linear classifier, which follows from its penalty.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> _objective(SimpleNamespace(C=1.0, penalty="l2"))
    'sklearn-logistic'
    >>> _objective(SimpleNamespace(C_=np.array([0.1, np.inf])))
    'sklearn-logistic-no-penalty'
    >>> _objective(SimpleNamespace(alpha=1e-4, penalty="elasticnet", l1_ratio=0.15))
    'sklearn-logistic-l1'
    """
    penalty = getattr(model, "penalty", "deprecated")
    if has(model, "loss"):
        # SGDClassifier
        is_free = model.alpha == 0
    else:
        # C multiplies the loss, so an infinite C means that there is no penalty.
        # LogisticRegressionCV keeps the C that it chose for each class in `C_`.
        strengths = getattr(model, "C_", getattr(model, "C", 1.0))
        is_free = bool(np.isinf(strengths).any())
    if is_free or penalty is None or penalty == "none":
        return NO_PENALTY
    if penalty == "l1":
        return L1
    if penalty == "l2":
        return L2
    # An elastic net, or "deprecated": LogisticRegression of scikit-learn 1.8 names no
    # penalty, but its share of L1, which LogisticRegressionCV chooses for each class.
    l1_ratio: Any = getattr(model, "l1_ratio_", getattr(model, "l1_ratio", None))
    return L1 if any(np.atleast_1d(l1_ratio).tolist()) else L2


def _head_of_network(model: Any) -> FactorModel:
    """Return the last layer of a fitted MLPClassifier as a head.

    The weight decay of the layers before it is part of the objective, too.
    """
    # For two labels the network has one sigmoid, which is the softmax of rows 0 and w.
    is_softmax = model.out_activation_ == "softmax" or len(model.classes_) == 2
    link = "softmax" if is_softmax else "sigmoid"
    if getattr(model, "alpha", 0):
        objective = "last-layer-l2"
    else:
        objective = "last-layer" if is_softmax else "none"
    weights = np.asarray(model.coefs_[-1]).T
    bias = np.asarray(model.intercepts_[-1])
    return softmax_head(weights, bias, model.classes_, link=link, objective=objective)


def _inputs_of_last_layer(model: Any, inputs: Any) -> NDArray[Any]:
    """Return the outputs of all layers before the last one, for inputs of a classifier.

    A linear classifier has no layers before the last one.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> coefs, intercepts = [[[1.0, -1.0]], [[1.0], [1.0]]], [[0.5, 0.0], [0.0]]
    >>> layers = SimpleNamespace(coefs_=coefs, intercepts_=intercepts)
    >>> layers.activation = "relu"
    >>> _inputs_of_last_layer(layers, [[2.0]])
    array([[2.5, 0. ]])
    """
    states = _dense(inputs)
    if not has(model, "coefs_"):
        return states
    activation = ACTIVATIONS[model.activation]
    for weights, bias in zip(model.coefs_[:-1], model.intercepts_[:-1], strict=True):
        states = activation(states @ np.asarray(weights) + bias)
    return states


ACTIVATIONS: dict[str, Callable[[Floats], Floats]] = {
    "identity": lambda x: x,
    "relu": lambda x: np.maximum(x, 0),
    "tanh": np.tanh,
    "logistic": lambda x: 1 / (1 + np.exp(-x)),
}
"""Activation functions by their names in scikit-learn."""
