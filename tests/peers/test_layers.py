"""scikit-learn, Keras and torch: what gives a label's probability is read with what reaches it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from embaudit.errors import InputError
from embaudit.io import load

if TYPE_CHECKING:
    from pathlib import Path

DRAW = np.random.default_rng(0)
X = DRAW.normal(size=(120, 6))
LABELS = np.array(["ant", "bee", "cat"])[
    np.argmax(X[:, :3] + 0.3 * DRAW.normal(size=(120, 3)), axis=1)
]


def held(library: str, model: str, column: str = "scores") -> Any:
    return pytest.mark.holds(column, library=library, model=model)


CLASSIFIERS = ("LogisticRegression", "Pipeline", "GridSearchCV", "Pipeline of GridSearchCV", "MLPClassifier",
               "SGDClassifier")  # fmt: skip


def estimators() -> dict[str, Any]:
    from sklearn.linear_model import LogisticRegression, SGDClassifier
    from sklearn.model_selection import GridSearchCV
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures, StandardScaler

    piped = make_pipeline(
        StandardScaler(), PolynomialFeatures(2), LogisticRegression(max_iter=500)
    )
    return {
        "LogisticRegression": LogisticRegression(),
        "Pipeline": piped,
        "GridSearchCV": GridSearchCV(
            piped, {"logisticregression__C": [0.1, 1.0]}, cv=2
        ),
        "Pipeline of GridSearchCV": make_pipeline(
            StandardScaler(), GridSearchCV(LogisticRegression(), {"C": [1.0]})
        ),
        "MLPClassifier": make_pipeline(
            StandardScaler(), MLPClassifier([5], max_iter=300, random_state=0)
        ),
        "SGDClassifier": SGDClassifier(loss="log_loss", random_state=0),
    }


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=held("scikit-learn", name)) for name in CLASSIFIERS],
)
def test_estimators_predict_what_was_read_of_them(name: str) -> None:
    fitted = estimators()[name].fit(X, LABELS)
    model = load(fitted, inputs=X)
    ours, theirs = model.predictions(), fitted.predict_proba(X)
    if name == "SGDClassifier":
        # One sigmoid a label.
        ours, theirs = model.scores(), fitted.decision_function(X)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-5)
    assert model.names("right").tolist() == ["ant", "bee", "cat"]


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=held("scikit-learn", name)) for name in ("PCA", "NMF")],
)
def test_components_multiply_to_what_they_stand_for(name: str) -> None:
    import sklearn.decomposition

    fitted = getattr(sklearn.decomposition, name)(3, random_state=0).fit(np.abs(X))
    model = load(fitted, inputs=np.abs(X))
    theirs = fitted.inverse_transform(fitted.transform(np.abs(X)))
    np.testing.assert_allclose(model.scores(), theirs, rtol=0, atol=1e-5)


def network(keras: Any, activation: str, units: int = 3) -> Any:
    keras.utils.set_random_seed(0)
    layers = [
        keras.layers.Input((6,)),
        keras.layers.Dense(5, "relu"),
        keras.layers.Dense(units, activation),
    ]
    return keras.Sequential(layers)


@pytest.fixture(scope="module")
def keras() -> Any:
    import os

    os.environ["KERAS_BACKEND"] = "torch"
    return pytest.importorskip("keras")


@pytest.mark.parametrize(
    "activation",
    [
        pytest.param(a, marks=held("keras", f"Dense {a}"))
        for a in ("softmax", "sigmoid")
    ],
)
def test_dense_layers(keras: Any, activation: str) -> None:
    net = network(keras, activation)
    states = np.asarray(
        keras.ops.convert_to_numpy(keras.Model(net.inputs, net.layers[-2].output)(X))
    )
    model = load(net.layers[-1], inputs=states)
    theirs = keras.ops.convert_to_numpy(net(X))
    np.testing.assert_allclose(model.predictions(), theirs, rtol=0, atol=1e-5)
    if activation == "softmax":
        np.testing.assert_array_equal(load(net).right, model.right)


@held("keras", "Dense relu")
def test_a_dense_layer_that_gives_no_probabilities_is_refused(
    keras: Any, record_property: Any
) -> None:
    net = network(keras, "relu")
    with pytest.raises(
        InputError,
        match="activation of a Dense layer must be softmax, sigmoid or linear",
    ):
        load(net.layers[-1])
    with pytest.raises(InputError, match="regression"):
        load(network(keras, "linear", units=1).layers[-1])
    record_property("held", "refused")


@pytest.mark.parametrize(("normalize", "last", "link"), [(False, None, "identity"), (True, None, "cosine"),
                                                         (False, "sigmoid", "sigmoid")])  # fmt: skip
@held("keras", "Model of two tables")
def test_models_of_two_tables(
    keras: Any, normalize: bool, last: str | None, link: str, tmp_path: Path
) -> None:
    inputs = [keras.Input((1,), dtype="int32", name=name) for name in ("item", "user")]
    tables = [
        keras.layers.Embedding(8 - 2 * n, 3, name=f"{x.name}_embedding")(x)
        for n, x in enumerate(inputs)
    ]
    score = keras.layers.Dot(1, normalize=normalize)(
        [keras.layers.Flatten()(table) for table in tables]
    )
    net = keras.Model(
        inputs, score if last is None else keras.layers.Activation(last)(score)
    )
    net.save(tmp_path / "m.keras")
    for given, reading in ((net, load), (tmp_path / "m.keras", load)):
        if last is not None:
            with pytest.raises(
                InputError, match="must be a Dot; got Activation sigmoid"
            ):
                reading(given)
        model = reading(given, **({} if last is None else {"link": last}))
        assert (model.link.name, model.n_left, model.n_right) == (link, 6, 8)


class _Towers:
    """Users times items, with the biases that a user and an item have, as people write it."""

    def __new__(cls, torch: Any, names: tuple[str, str]) -> Any:
        class Towers(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                for name, rows in zip(names, (20, 30), strict=True):
                    setattr(self, name, torch.nn.Embedding(rows, 4))
                self.user_bias, self.item_bias = (
                    torch.nn.Embedding(20, 1),
                    torch.nn.Embedding(30, 1),
                )

            def forward(self, user: Any, item: Any) -> Any:
                left, right = (getattr(self, name) for name in names)
                biases = self.user_bias(user)[..., 0] + self.item_bias(item)[..., 0]
                return (left(user) * right(item)).sum(-1) + biases

        return Towers().eval()


@pytest.mark.parametrize("names", [("user_embedding", "item_embedding"), ("user_embeddings", "item_embeddings"),
                                   ("u_factors", "i_factors")])  # fmt: skip
@held("torch", "Module")
def test_modules_of_users_and_items(names: tuple[str, str]) -> None:
    import torch

    net = _Towers(torch, names)
    users, items = (torch.tensor(rows) for rows in np.indices((20, 30)).reshape(2, -1))
    theirs = net(users, items).detach().numpy().reshape(20, 30)
    for given in (net, net.state_dict()):
        model = load(given, left_ids=np.arange(20) + 5)
        np.testing.assert_allclose(model.scores(), theirs, rtol=0, atol=1e-5)
    assert model.names("left")[0] == 5


@held("torch", "Linear")
def test_linear_layers_and_embeddings() -> None:
    import torch

    layer, states = torch.nn.Linear(6, 3), torch.tensor(X, dtype=torch.float32)
    theirs = torch.softmax(layer(states), -1).detach().numpy()
    np.testing.assert_allclose(
        load(layer, inputs=X).predictions(), theirs, rtol=0, atol=1e-5
    )
    assert load(torch.nn.Embedding(7, 3)).link.name == "identity"
    with pytest.raises(InputError, match='pass kind="head"'):
        load(torch.nn.Linear(8, 1))


@held("torch", "Module", "file")
def test_files_of_a_module(tmp_path: Path) -> None:
    import safetensors.torch
    import torch

    net = _Towers(torch, ("user_embedding", "item_embedding"))
    safetensors.torch.save_file(net.state_dict(), tmp_path / "m.safetensors")
    np.testing.assert_allclose(
        load(tmp_path / "m.safetensors").scores(), load(net).scores(), atol=1e-6
    )
    torch.save(net.state_dict(), tmp_path / "m.pt")
    with pytest.raises(InputError, match=r"safetensors\.torch\.save_file"):
        load(tmp_path / "m.pt")
