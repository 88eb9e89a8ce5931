"""Live estimators of scikit-learn: the model predicts what the estimator predicts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.decomposition import NMF, PCA, LatentDirichletAllocation, TruncatedSVD
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.neural_network import BernoulliRBM, MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from embaudit import FactorModel
from embaudit.errors import InputError
from embaudit.io import load
from embaudit.model import LINKS

if TYPE_CHECKING:
    from pathlib import Path

DRAW = np.random.default_rng(7)
X = DRAW.normal(size=(60, 4))
THREE = np.array(["ant", "bee", "cat"])[(X[:, 0] > 0).astype(int) + (X[:, 1] > 0)]
TWO = np.where(X[:, 0] + 0.3 * X[:, 1] > 0, "yes", "no")


def test_inputs_of_predict_can_lie_in_a_file(tmp_path: Path) -> None:
    """The file holds inputs of the whole pipeline, not of its last step."""
    classifier = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, THREE)
    file = tmp_path / "inputs.npy"
    np.save(file, X[:7])
    np.testing.assert_allclose(
        load(classifier, inputs=file).predictions(),
        classifier.predict_proba(X[:7]),
        atol=1e-9,
    )


@pytest.mark.parametrize(
    "decomposition",
    [TruncatedSVD(3, random_state=0), NMF(3, random_state=0, max_iter=2000)],
)
def test_components(decomposition: Any) -> None:
    decomposition.fit(np.abs(X))
    model = load(decomposition)
    np.testing.assert_array_equal(model.right, decomposition.components_.T)
    assert model.left is None


@pytest.mark.parametrize("labels", [TWO, THREE])
@pytest.mark.parametrize(
    "classifier",
    [LogisticRegression(C=3.0), MLPClassifier(5, max_iter=3000, random_state=0)],
)
def test_softmax_classifiers_keep_their_probabilities(
    classifier: Any, labels: Any
) -> None:
    classifier.fit(X, labels)
    model = load(classifier)
    inputs = X
    if hasattr(classifier, "coefs_"):
        inputs = np.maximum(X @ classifier.coefs_[0] + classifier.intercepts_[0], 0)
    assert model.link == LINKS["softmax"]
    np.testing.assert_allclose(
        model.replace(left=inputs).predictions(), classifier.predict_proba(X), atol=1e-9
    )
    assert model.names("right").tolist() == sorted(set(labels))
    assert model.objective == (
        "last-layer-l2" if hasattr(classifier, "coefs_") else "sklearn-logistic"
    )


def test_one_sigmoid_a_label_is_no_softmax() -> None:
    sgd = SGDClassifier(loss="log_loss", random_state=0).fit(X, THREE)
    model = load(sgd)
    assert model.link == LINKS["sigmoid"]
    np.testing.assert_allclose(
        model.replace(left=X).scores(), sgd.decision_function(X), atol=1e-10
    )
    two = SGDClassifier(loss="log_loss", random_state=0).fit(X, TWO)
    np.testing.assert_allclose(
        load(two).replace(left=X).predictions(), two.predict_proba(X), atol=1e-12
    )


BY_L1_RATIO = pytest.mark.skipif(
    LogisticRegression().penalty == "l2",
    reason="before scikit-learn 1.8, l1_ratio counts only with penalty='elasticnet'",
)


@pytest.mark.parametrize(
    ("classifier", "objective"),
    [
        (LogisticRegression(), "sklearn-logistic"),
        (LogisticRegression(C=np.inf), "sklearn-logistic-no-penalty"),
        pytest.param(
            LogisticRegression(l1_ratio=1.0, solver="saga"),
            "sklearn-logistic-l1",
            marks=BY_L1_RATIO,
        ),
        (LogisticRegression(penalty=None), "sklearn-logistic-no-penalty"),
        (
            # The share of L1 is ignored.
            LogisticRegression(penalty="l2", l1_ratio=0.5, solver="saga"),
            "sklearn-logistic",
        ),
        (LogisticRegressionCV(Cs=2), "sklearn-logistic"),
        (LogisticRegressionCV(Cs=[np.inf]), "sklearn-logistic-no-penalty"),
        (SGDClassifier("log_loss"), "sklearn-logistic"),
        (SGDClassifier("log_loss", penalty="l1"), "sklearn-logistic-l1"),
        (SGDClassifier("log_loss", penalty="elasticnet"), "sklearn-logistic-l1"),
        (SGDClassifier("log_loss", penalty=None), "sklearn-logistic-no-penalty"),
        (MLPClassifier(5), "last-layer-l2"),
        (MLPClassifier(5, alpha=0), "last-layer"),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore")
def test_a_classifier_names_its_training_by_its_penalty(
    classifier: Any, objective: str
) -> None:
    assert load(classifier.fit(X, THREE)).objective == objective


@pytest.mark.parametrize(
    "classifier",
    [
        LinearSVC(),
        SGDClassifier(),
        SGDClassifier(loss="modified_huber"),
        RidgeClassifier(),
        SVC(kernel="linear"),
    ],
)
def test_margins_are_refused(classifier: Any) -> None:
    with pytest.raises(InputError, match=r"probabilities|log_loss"):
        load(classifier.fit(X, THREE))


@pytest.mark.parametrize("labels", [TWO, THREE])
@pytest.mark.parametrize(
    "classifier",
    [
        LogisticRegression(C=3.0),
        *[
            MLPClassifier(
                (5, 3),
                activation=a,
                max_iter=200,
                tol=1,
                n_iter_no_change=2,
                random_state=0,
            )
            for a in ("identity", "logistic", "tanh", "relu")
        ],
        make_pipeline(StandardScaler(), LogisticRegression()),
        make_pipeline(LogisticRegression()),
        GridSearchCV(
            make_pipeline(StandardScaler(), LogisticRegression()),
            {"logisticregression__C": [1]},
            cv=2,
        ),
    ],
)
def test_inputs_are_what_predict_takes(classifier: Any, labels: Any) -> None:
    classifier.fit(X, labels)
    model = load(classifier, inputs=X[:7])
    assert model.roles == ("input", "label")
    np.testing.assert_allclose(
        model.predictions(), classifier.predict_proba(X[:7]), atol=1e-9
    )


@pytest.mark.parametrize(
    "decomposition",
    [TruncatedSVD(3, random_state=0), NMF(3, random_state=0, max_iter=2000), PCA(2)],
)
def test_a_decomposition_with_inputs_has_two_sides(decomposition: Any) -> None:
    data = np.abs(X)
    decomposition.fit(data)
    model = load(decomposition, inputs=data)
    assert model.roles == ("input", "item")
    back = decomposition.inverse_transform(decomposition.transform(data))
    np.testing.assert_allclose(model.scores(), back, atol=1e-9)
    sparse = load(
        TruncatedSVD(3, random_state=0).fit(csr_matrix(data)), inputs=csr_matrix(data)
    )
    assert (sparse.n_left, sparse.n_right) == (60, 4)


@pytest.mark.parametrize(
    "decomposition",
    [
        LatentDirichletAllocation(2, random_state=0),
        Nystroem(n_components=3, random_state=0),
        NeighborhoodComponentsAnalysis(2, random_state=0),
        BernoulliRBM(2, random_state=0, n_iter=1),
    ],
)
def test_components_of_what_never_goes_back_are_refused(decomposition: Any) -> None:
    with pytest.raises(
        InputError,
        match=r"must be used by its inverse_transform; got an estimator without "
        r"inverse_transform; pass its",
    ):
        load(decomposition.fit(np.abs(X), TWO))


@pytest.mark.parametrize(
    "model", [PCA(2), NMF(2), LogisticRegression(), MLPClassifier((3,), tol=1.0)]
)
def test_inputs_of_another_width_are_refused_in_the_words_of_the_library(
    model: Any,
) -> None:
    inputs = np.random.default_rng(0).random((40, 5))
    fitted = model.fit(inputs, inputs[:, 0] > 0.5)
    assert load(fitted, inputs=inputs).n_left == 40
    message = (
        "^inputs must be rows that the estimator accepts; got X has 3 features, but"
    )
    with pytest.raises(InputError, match=message):
        load(fitted, inputs=inputs[:, :3])


def test_negative_inputs_of_nmf_are_refused_in_the_words_of_the_library() -> None:
    inputs = np.random.default_rng(0).random((40, 5))
    fitted = NMF(2, max_iter=2000).fit(inputs)
    message = "got Negative values in data passed to X in NMF; pass the rows that"
    with pytest.raises(InputError, match=message):
        load(fitted, inputs=-inputs)


def test_what_is_no_known_model() -> None:
    model = FactorModel.from_vectors(X)
    assert load(model, objective="none").objective == "none"
    with pytest.raises(
        InputError, match=r"an option for model must be one of .*; got weight"
    ):
        load(model, weight="a")
    with pytest.raises(InputError, match="kind must be"):
        load(model, kind="factors")
    network = MLPRegressor(hidden_layer_sizes=(2,), max_iter=5000, random_state=0).fit(
        X, X[:, 0]
    )
    for unknown in (
        3,
        LinearRegression().fit(X, X[:, 0]),
        LogisticRegression(),
        network,
    ):
        with pytest.raises(
            InputError, match=r"a fitted (linear classifier|model of a known library)"
        ):
            load(unknown)
    two_sided = FactorModel.from_user_item(X, X)
    with pytest.raises(
        InputError,
        match="inputs must be omitted, because the model has users of its own",
    ):
        load(two_sided, inputs=X)
    head = load(FactorModel.from_vectors(X), inputs=X[:3])
    assert (head.roles, head.n_left) == (("input", "item"), 3)
