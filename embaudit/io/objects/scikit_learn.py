"""Live estimators of scikit-learn: linear classifiers, networks and decompositions.

They may be inside pipelines and searches.
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

LINEAR = {
    "right": "coef_",
    "right_bias": "intercept_",
    "right_ids": "classes_",
    "right_names": "classes_",
    "link": "its class",
}
NETWORK = {
    **LINEAR,
    "right": "the last of coefs_",
    "right_bias": "the last of intercepts_",
}
COMPONENTS = {
    "right": "components_",
    "right_bias": "mean_",
    "right_ids": "feature_names_in_",
}


def read(model: Any, request: Request) -> Contents:
    """Take a fitted estimator, or the one inside a pipeline or a search.

    The estimator inside sees transformed inputs.

    Raises
    ------
    InputError
        If it is not fitted, or is neither a linear classifier, a network nor a
        decomposition.
    """
    if has(model, "best_estimator_"):
        return read(model.best_estimator_, request)
    if has(model, "steps"):
        before, last = model[:-1], model.steps[-1][1]
        if request.inputs is not None and len(before):
            request = replace(request, inputs=_quiet(before.transform, request.inputs))
        return read(last, request)
    if has(model, "classes_") and (has(model, "coef_") or has(model, "coefs_")):
        return _classifier(model, request.inputs)
    if has(model, "components_"):
        return _decomposition(model, request.inputs)
    wanted, remedy = (
        "a fitted linear classifier, network or decomposition",
        "fit it first, or pass the one inside",
    )
    raise must_be("an estimator of scikit-learn", wanted, type(model).__name__, remedy)


def _quiet(function: Callable[[Any], Any], values: Any) -> Any:
    """Call what warns of inputs without the names of their columns.

    Raises
    ------
    InputError
        If they are no inputs of it: of another width, or negative where it takes
        counts.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(values)
        except ValueError as error:
            got = str(error).splitlines()[0].rstrip(".")
            raise must_be(
                "inputs",
                "rows that the estimator takes",
                got,
                "pass what it predicts of",
            ) from error


def _dense(values: Any) -> NDArray[Any]:
    return np.asarray(values.toarray() if hasattr(values, "toarray") else values)


def _classifier(model: Any, inputs: Any) -> Contents:
    """Score random inputs by a classifier itself.

    All inputs are carried through the layers before the last one.
    """
    made, sources = (
        (_network(model), NETWORK) if has(model, "coefs_") else (_linear(model), LINEAR)
    )
    method = "predict_proba" if made.link.name == "softmax" else "decision_function"
    if inputs is not None:
        _quiet(
            model.predict, inputs
        )  # Refused there: layers are multiplied here without a check.
    reaching = None if inputs is None else _reaching(model, inputs)
    if not has(model, method):
        # One sigmoid a label shows no softmax, so that its scores are not held against
        # probabilities.
        return Contents.from_model(made, sources, inputs=reaching)
    probes = np.random.default_rng(0).normal(size=(3, model.n_features_in_))

    def scores(rows: Indices, labels: Indices) -> Floats:
        return np.asarray(_quiet(getattr(model, method), probes))[rows, labels]

    own = OwnScores(scores, method, _reaching(model, probes))
    return Contents.from_model(made, sources, own=own, inputs=reaching)


def _decomposition(model: Any, inputs: Any) -> Contents:
    """Read components that inputs are put together from again.

    `inverse_transform` shows whether they are.

    Raises
    ------
    InputError
        If nothing is put together from them, as in LDA of topics, NCA or Nystroem.
    """
    name, names = type(model).__name__, getattr(model, "feature_names_in_", None)
    back = getattr(model, "inverse_transform", None)
    if not callable(back):
        remedy = (
            "pass its components_.T to FactorModel.from_vectors if their rows are "
            "vectors all the same"
        )
        raise must_be(
            f"the components_ of {name}",
            "those of its inverse_transform",
            "none",
            remedy,
        )
    components = _dense(model.components_)
    units, rows = (
        np.eye(len(components)),
        None if inputs is None else np.asarray(_quiet(model.transform, inputs)),
    )
    # Vectors alone are compared without the mean of the data, which is the bias of what
    # inputs are put together to.
    bias = None if rows is None else getattr(model, "mean_", None)
    origin = _dense(back(0 * units[:1])) if rows is None else 0.0

    def scores(left: Indices, right: Indices) -> Floats:
        return np.asarray(_dense(back(units)) - origin)[left, right]

    made = FactorModel.from_arrays(None, components.T, right_bias=bias, right_ids=names)
    own = OwnScores(scores, "inverse_transform", units)
    return Contents.from_model(made, COMPONENTS, own=own, inputs=rows)


def _linear(model: Any) -> FactorModel:
    """Take a linear classifier.

    Its probabilities are a softmax, or one sigmoid per label, of linear scores.

    With two labels scikit-learn stores one row w: the labels' rows are 0 and w. One
    sigmoid per label is no softmax: only what keeps the scores keeps its probabilities.

    Raises
    ------
    InputError
        For margins without probabilities (LinearSVC, hinge loss, ridge) and scores of
        other kinds.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["no", "no", "yes", "yes"]
    >>> _linear(LogisticRegression().fit(X, y)).right[0]
    array([0.])
    """
    name, labels = type(model).__name__, np.asarray(model.classes_)
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
            f"coef_ must have one row a class; got {len(weights)} rows for "
            f"{len(labels)} classes."
        )
    # SGDClassifier has a loss and fits each label alone; so do liblinear and
    # multi_class="ovr" of LogisticRegression.
    options = getattr(model, "solver", ""), getattr(model, "multi_class", "")
    one_against_rest = (
        hasattr(model, "loss") or options[0] == "liblinear" or options[1] == "ovr"
    )
    bias = np.broadcast_to(np.asarray(model.intercept_, dtype=float), (len(weights),))
    link = "sigmoid" if one_against_rest else "softmax"
    return softmax_head(weights, bias, labels, link=link, objective=_objective(model))


NO_PENALTY, L2, L1 = (
    "sklearn-logistic-no-penalty",
    "sklearn-logistic",
    "sklearn-logistic-l1",
)
"""Words for the training of linear classifiers, by their penalty."""


def _objective(model: Any) -> str:
    """Name the training of a linear classifier by its penalty.

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
    penalty = getattr(model, "penalty", None)
    # LogisticRegressionCV has chosen one C and one share of L1 per class, of those that
    # it was given.
    l1_shares = getattr(model, "l1_ratio_", getattr(model, "l1_ratio", None))
    if has(model, "loss"):
        # SGDClassifier names its penalty; its share of L1 counts only in an elastic
        # net.
        is_free = penalty is None or model.alpha == 0
        l1_shares = l1_shares if penalty == "elasticnet" else None
    else:
        # C divides the loss, so without a bound there is no penalty.
        strengths = getattr(model, "C_", getattr(model, "C", 1.0))
        is_free = penalty == "none" or bool(np.isinf(strengths).any())
    if is_free:
        return NO_PENALTY
    shares = [] if l1_shares is None else np.atleast_1d(l1_shares).tolist()
    return L1 if penalty == "l1" or any(shares) else L2


def _network(model: Any) -> FactorModel:
    """Take the last layer of a fitted MLPClassifier.

    Its decay counts the layers before it, too.
    """
    # A network of two labels has one sigmoid, which is a softmax of the rows 0 and w.
    is_softmax = model.out_activation_ == "softmax" or len(model.classes_) == 2
    link = "softmax" if is_softmax else "sigmoid"
    if getattr(model, "alpha", 0):
        objective = "last-layer-l2"
    else:
        objective = "last-layer" if is_softmax else "none"
    weights, bias = np.asarray(model.coefs_[-1]).T, np.asarray(model.intercepts_[-1])
    return softmax_head(weights, bias, model.classes_, link=link, objective=objective)


def _reaching(model: Any, inputs: Any) -> NDArray[Any]:
    """Return the inputs of the last layer.

    The inputs go through all layers before it, of which a linear model has none.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> coefs, intercepts = [[[1.0, -1.0]], [[1.0], [1.0]]], [[0.5, 0.0], [0.0]]
    >>> layers = SimpleNamespace(coefs_=coefs, intercepts_=intercepts)
    >>> layers.activation = "relu"
    >>> _reaching(layers, [[2.0]])
    array([[2.5, 0. ]])
    """
    states = _dense(inputs)
    if has(model, "coefs_"):
        for weights, bias in zip(
            model.coefs_[:-1], model.intercepts_[:-1], strict=True
        ):
            states = ACTIVATIONS[model.activation](states @ np.asarray(weights) + bias)
    return states


ACTIVATIONS: dict[str, Callable[[Floats], Floats]] = {
    "identity": lambda x: x,
    "relu": lambda x: np.maximum(x, 0),
    "tanh": np.tanh,
    "logistic": lambda x: 1 / (1 + np.exp(-x)),
}
"""Activation functions by their names in scikit-learn."""
