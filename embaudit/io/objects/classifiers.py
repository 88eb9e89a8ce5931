"""The last layer of scikit-learn's classifiers, and what reaches it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from embaudit.errors import InputError
from embaudit.foundation.checked import Floats
from embaudit.io.readers.assemble import two_labels
from embaudit.model import FactorModel


def classifier(model: Any) -> FactorModel:
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
    >>> classifier(LogisticRegression().fit(X, y)).right[0]
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


def network_head(model: Any) -> FactorModel:
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


def hidden(model: Any, inputs: Any) -> Floats:
    """Return what reaches the last layer of a network: the inputs through all layers before.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> coefs, intercepts = [[[1.0, -1.0]], [[1.0], [1.0]]], [[0.5, 0.0], [0.0]]
    >>> layers = SimpleNamespace(coefs_=coefs, intercepts_=intercepts, activation="relu")
    >>> hidden(layers, [[2.0]])
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
