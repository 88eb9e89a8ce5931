"""Live models: stand-ins with each library's attributes, and scikit-learn's own."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.decomposition import NMF, TruncatedSVD
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.svm import SVC, LinearSVC

from embaudit import FactorModel, Link
from embaudit.errors import InputError
from embaudit.io import from_object

DRAW = np.random.default_rng(7)
USERS, ITEMS, A, B = DRAW.normal(size=(6, 3)), DRAW.normal(size=(8, 3)), DRAW.normal(size=6), DRAW.normal(size=8)
X = DRAW.normal(size=(60, 4))
THREE = np.array(["ant", "bee", "cat"])[(X[:, 0] > 0).astype(int) + (X[:, 1] > 0)]
TWO = np.where(X[:, 0] + 0.3 * X[:, 1] > 0, "yes", "no")


class Tensor:
    """What a torch tensor looks like from outside; it refuses NumPy while it carries a gradient."""

    def __init__(self, array: Any, dtype: str = "torch.float32", detached: bool = False) -> None:
        self.array, self.dtype, self.detached, self.shape = array, dtype, detached, np.shape(array)

    def detach(self) -> Tensor:
        return Tensor(self.array, self.dtype, True)

    def cpu(self) -> Tensor:
        return self

    def float(self) -> Tensor:
        return Tensor(self.array, "torch.float32", self.detached)

    def numpy(self) -> Any:
        assert self.detached
        assert self.dtype == "torch.float32"
        return self.array

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("call detach first")


def embedding(array: Any) -> SimpleNamespace:
    return SimpleNamespace(weight=Tensor(array))


def scores(bias: bool = True, offset: float = 0.0) -> Any:
    return USERS @ ITEMS.T + (A[:, None] + B if bias else 0) + offset


def check(model: FactorModel, expected: Any) -> None:
    np.testing.assert_allclose(model.scores(), expected, rtol=1e-10, atol=1e-10)


def test_implicit() -> None:
    check(from_object(SimpleNamespace(user_factors=USERS, item_factors=ITEMS, factors=3)), scores(False))
    on_gpu = SimpleNamespace(to_numpy=lambda: USERS), SimpleNamespace(to_numpy=lambda: ITEMS)
    check(from_object(SimpleNamespace(user_factors=on_gpu[0], item_factors=on_gpu[1], factors=3)), scores(False))
    users, items = np.column_stack([USERS, np.ones(6)]), np.column_stack([ITEMS, B])
    bpr = from_object(SimpleNamespace(user_factors=users, item_factors=items, factors=3, regularization=0.01))
    check(bpr, USERS @ ITEMS.T + B)
    assert (bpr.link, bpr.objective, bpr.rank) == (Link.RANKING, "factors-counted", 3)


@pytest.mark.parametrize(("loss", "link"), [("warp", Link.RANKING), ("bpr", Link.RANKING), ("logistic", Link.IDENTITY)])
def test_lightfm_rows_are_features(loss: str, link: Link) -> None:
    model = SimpleNamespace(user_embeddings=USERS, item_embeddings=ITEMS, user_biases=A, item_biases=B, loss=loss)
    check(from_object(model), scores())
    features = csr_matrix(DRAW.integers(0, 2, size=(4, 6)).astype(float))
    made = from_object(model, user_features=features)
    dense = features.toarray()
    check(made, (dense @ USERS) @ ITEMS.T + (dense @ A)[:, None] + B)
    assert made.link is link
    with pytest.raises(InputError, match="one column a feature: 8; got 6"):
        from_object(model, item_features=features)
    with pytest.raises(InputError, match="only LightFM"):
        from_object(SimpleNamespace(u_factors=USERS, i_factors=ITEMS), item_features=features)


def test_surprise() -> None:
    trainset = SimpleNamespace(global_mean=3.5, to_raw_uid=lambda row: f"u{row}", to_raw_iid=lambda row: f"i{row}")
    svd = SimpleNamespace(pu=USERS, qi=ITEMS, bu=A, bi=B, trainset=trainset, biased=True)
    model = from_object(svd)
    check(model, scores(offset=3.5))
    assert model.right_ids is not None
    assert model.right_ids[7] == "i7"
    svd.biased = False
    check(from_object(svd), scores(False))


def test_cornac() -> None:
    mf = SimpleNamespace(u_factors=USERS, i_factors=ITEMS, u_biases=A, i_biases=B, global_mean=2.0, use_bias=True)
    check(from_object(mf), scores(offset=2.0))
    mf.use_bias = False
    check(from_object(mf), scores(False))
    bpr = from_object(SimpleNamespace(u_factors=USERS, i_factors=ITEMS, i_biases=B))
    check(bpr, USERS @ ITEMS.T + B)
    assert bpr.link is Link.RANKING


def test_lenskit_of_both_ages() -> None:
    old = SimpleNamespace(
        user_features_=USERS, item_features_=ITEMS, user_index_=np.arange(6) + 10, item_index_=np.arange(8),
        bias=SimpleNamespace(mean_=3.0, user_offsets_=A, item_offsets_=B),
    )  # fmt: skip
    vocabulary = SimpleNamespace(ids=lambda: np.arange(6) + 10, __len__=lambda: 6)
    new = SimpleNamespace(
        user_embeddings=Tensor(USERS), item_embeddings=ITEMS, users=vocabulary,
        bias=SimpleNamespace(global_bias=3.0, user_biases=A, item_biases=B),
    )  # fmt: skip
    for lenskit in (old, new):
        model = from_object(lenskit)
        check(model, scores(offset=3.0))
        assert model.left_ids is not None
        assert model.left_ids[0] == 10


def test_recbole_leaves_the_padding_row_out() -> None:
    plain = SimpleNamespace(user_embedding=embedding(USERS), item_embedding=embedding(ITEMS))
    check(from_object(plain), scores(False))
    model = from_object(SimpleNamespace(**vars(plain), USER_ID="user_id", ITEM_ID="item_id"))
    check(model, scores(False)[1:, 1:])
    assert model.right_ids is not None
    assert model.right_ids.tolist() == list(range(1, 8))


@pytest.mark.parametrize("decomposition", [TruncatedSVD(3, random_state=0), NMF(3, random_state=0, max_iter=2000)])
def test_components(decomposition: Any) -> None:
    decomposition.fit(np.abs(X))
    model = from_object(decomposition)
    np.testing.assert_array_equal(model.right, decomposition.components_.T)
    assert model.left is None


@pytest.mark.parametrize("labels", [TWO, THREE])
@pytest.mark.parametrize("classifier", [LogisticRegression(C=3.0), MLPClassifier(5, max_iter=3000, random_state=0)])
def test_softmax_classifiers_keep_their_probabilities(classifier: Any, labels: Any) -> None:
    classifier.fit(X, labels)
    model = from_object(classifier)
    inputs = X
    if hasattr(classifier, "coefs_"):
        inputs = np.maximum(X @ classifier.coefs_[0] + classifier.intercepts_[0], 0)
    assert model.link is Link.SOFTMAX
    np.testing.assert_allclose(model.replace(left=inputs).predictions(), classifier.predict_proba(X), atol=1e-9)
    assert model.names("right").tolist() == sorted(set(labels))
    assert model.objective == ("softmax-decay" if hasattr(classifier, "coefs_") else "logistic-decay")


def test_one_sigmoid_a_label_is_no_softmax() -> None:
    sgd = SGDClassifier(loss="log_loss", random_state=0).fit(X, THREE)
    model = from_object(sgd)
    assert model.link is Link.IDENTITY
    check(model.replace(left=X), sgd.decision_function(X))
    two = SGDClassifier(loss="log_loss", random_state=0).fit(X, TWO)
    np.testing.assert_allclose(from_object(two).replace(left=X).predictions(), two.predict_proba(X), atol=1e-12)


@pytest.mark.parametrize(
    "classifier",
    [LinearSVC(), SGDClassifier(), SGDClassifier(loss="modified_huber"), RidgeClassifier(), SVC(kernel="linear")],
)
def test_margins_are_refused(classifier: Any) -> None:
    with pytest.raises(InputError, match=r"probabilities|log_loss"):
        from_object(classifier.fit(X, THREE))


def test_gensim() -> None:
    words = [f"w{i}" for i in range(8)]
    vectors = SimpleNamespace(vectors=ITEMS, index_to_key=words)
    for model in (vectors, SimpleNamespace(wv=vectors)):
        read = from_object(model)
        assert read.right_ids is not None
        assert read.right_ids.tolist() == words


def implicit(columns: int = 0, **strength: float) -> Any:
    users = np.column_stack([USERS, *[np.ones(6)] * (columns > 0), *[A] * (columns > 1)])
    items = np.column_stack([ITEMS, *[B] * (columns > 0), *[np.ones(8)] * (columns > 1)])
    return SimpleNamespace(user_factors=users, item_factors=items, factors=3, **strength)


def lightfm(user: float, item: float) -> Any:
    return SimpleNamespace(
        user_embeddings=USERS, item_embeddings=ITEMS, user_biases=A, item_biases=B, user_alpha=user, item_alpha=item
    )


def surprise(**attributes: Any) -> Any:
    trainset = SimpleNamespace(global_mean=3.5)
    return SimpleNamespace(pu=USERS, qi=ITEMS, trainset=trainset, biased=False, **attributes)


def cornac(**attributes: Any) -> Any:
    return SimpleNamespace(u_factors=USERS, i_factors=ITEMS, **attributes)


@pytest.mark.parametrize(
    ("trained", "objective"),
    [
        (implicit(regularization=0.1), "factors"),
        (implicit(regularization=0.0), "none"),
        (implicit(), None),
        (implicit(1, regularization=0.1), "factors-counted"),
        (implicit(1, regularization=0.0), "none"),
        (implicit(2, regularization=0.1), None),
        (implicit(2, regularization=0.0), "none"),
        (lightfm(0.0, 0.0), "none"),
        (lightfm(0.1, 0.1), None),
        (lightfm(0.0, 0.1), None),
        (surprise(reg_pu=0.02, reg_qi=0.1, lr_pu=0.005), "factors-counted"),
        (surprise(reg_pu=0, reg_qi=0, lr_pu=0.005), "none"),
        (surprise(reg_pu=0.02, reg_qi=0, lr_pu=0.005), None),
        (surprise(reg_pu=0.02, reg_qi=0.02, lr_pu=0.005, yj=ITEMS), None),
        (surprise(reg_pu=0.06, reg_qi=0.06), None),
        (surprise(), None),
        (cornac(lambda_reg=0.02), "factors-counted"),
        (cornac(lambda_reg=0.02, backend="cpu"), "factors-counted"),
        (cornac(lambda_reg=0.02, backend="pytorch"), None),
        (cornac(lambda_reg=0.0), "none"),
        (cornac(), None),
    ],
)
def test_each_library_names_the_objective_it_has(trained: Any, objective: str | None) -> None:
    assert from_object(trained).objective == objective


def test_torch() -> None:
    layer = SimpleNamespace(weight=Tensor(ITEMS), bias=Tensor(B), out_features=8)
    np.testing.assert_array_equal(from_object(layer).right_bias, B)
    assert from_object(SimpleNamespace(weight=Tensor(ITEMS), bias=None, out_features=8)).right_bias is None
    state = {"classifier.weight": Tensor(ITEMS, "torch.bfloat16"), "classifier.bias": Tensor(B), "steps": 3}
    for model in (state, SimpleNamespace(state_dict=lambda: state)):
        head = from_object(model)
        assert head.link is Link.SOFTMAX
        np.testing.assert_array_equal(head.right, ITEMS)
    towers = {"user_emb.weight": Tensor(USERS), "item_emb.weight": Tensor(ITEMS)}
    check(from_object(towers), scores(False))
    assert from_object(towers, link="cosine").link is Link.COSINE
    with pytest.raises(InputError, match="weight must be one of"):
        from_object(state, weight="fc.weight")


def test_what_is_no_known_model() -> None:
    model = FactorModel.from_vectors(ITEMS)
    assert from_object(model, objective="none").objective == "none"
    with pytest.raises(InputError, match="weight must be left out"):
        from_object(model, weight="a")
    with pytest.raises(InputError, match="kind must be"):
        from_object(model, kind="factors")
    for unknown in (3, LinearRegression().fit(X, X[:, 0]), LogisticRegression()):
        with pytest.raises(InputError, match="a fitted model of a known library"):
            from_object(unknown)
    with pytest.raises(InputError, match="predicts numbers"):
        from_object(MLPRegressor(hidden_layer_sizes=(2,), max_iter=5000, random_state=0).fit(X, X[:, 0]))
