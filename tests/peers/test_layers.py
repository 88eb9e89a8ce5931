"""scikit-learn, Keras and torch: the layer that computes label probabilities is read
with its inputs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from embaudit.errors import InputError
from embaudit.io import load

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

DRAW = np.random.default_rng(0)
X = DRAW.normal(size=(120, 6))
LABELS = np.array(["ant", "bee", "cat"])[
    np.argmax(X[:, :3] + 0.3 * DRAW.normal(size=(120, 3)), axis=1)
]


def held(library: str, model: str, column: str = "scores") -> Any:
    return pytest.mark.holds(column, library=library, model=model)


CLASSIFIERS = (
    "LogisticRegression",
    "Pipeline",
    "GridSearchCV",
    "Pipeline of GridSearchCV",
    "MLPClassifier",
    "SGDClassifier",
)


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
    # Keras reads the variable when it is imported. Processes that tests start later
    # must not inherit it, because they may import TensorFlow.
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KERAS_BACKEND", "torch")
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


@pytest.fixture
def two_tables(keras: Any) -> Callable[..., Any]:
    """Return a function that builds a network with tables of users and items."""

    def build(*, normalize: bool = False, last: str | None = None) -> Any:
        item = keras.Input((1,), dtype="int32", name="item")
        user = keras.Input((1,), dtype="int32", name="user")
        items = keras.layers.Embedding(8, 3, name="item_embedding")(item)
        users = keras.layers.Embedding(6, 3, name="user_embedding")(user)
        score = keras.layers.Dot(1, normalize=normalize)(
            [keras.layers.Flatten()(items), keras.layers.Flatten()(users)]
        )
        if last is not None:
            score = keras.layers.Activation(last)(score)
        return keras.Model([item, user], score)

    return build


def live(net: Any, folder: Path) -> Any:
    return net


def saved(net: Any, folder: Path) -> Path:
    net.save(folder / "m.keras")
    return folder / "m.keras"


live_and_saved = pytest.mark.parametrize("source", [live, saved])


@pytest.mark.parametrize(("normalize", "link"), [(False, "identity"), (True, "cosine")])
@live_and_saved
@held("keras", "Model of two tables")
def test_models_of_two_tables(
    two_tables: Any, source: Any, tmp_path: Path, normalize: bool, link: str
) -> None:
    model = load(source(two_tables(normalize=normalize), tmp_path))
    assert (model.link.name, model.n_left, model.n_right) == (link, 6, 8)


@live_and_saved
@held("keras", "Model of two tables")
def test_a_model_with_an_activation_needs_its_link(
    two_tables: Any, source: Any, tmp_path: Path
) -> None:
    net = source(two_tables(last="sigmoid"), tmp_path)
    with pytest.raises(InputError, match="must be a Dot layer; got Activation sigmoid"):
        load(net)
    model = load(net, link="sigmoid")
    assert (model.link.name, model.n_left, model.n_right) == ("sigmoid", 6, 8)


def towers(
    torch: Any, users: str = "user_embedding", items: str = "item_embedding"
) -> Any:
    """Return a network of 20 users times 30 items, with biases, as people write it."""

    class Towers(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            setattr(self, users, torch.nn.Embedding(20, 4))
            setattr(self, items, torch.nn.Embedding(30, 4))
            self.user_bias = torch.nn.Embedding(20, 1)
            self.item_bias = torch.nn.Embedding(30, 1)

        def forward(self, user: Any, item: Any) -> Any:
            products = getattr(self, users)(user) * getattr(self, items)(item)
            biases = self.user_bias(user)[..., 0] + self.item_bias(item)[..., 0]
            return products.sum(-1) + biases

    return Towers().eval()


@pytest.mark.parametrize(
    ("users", "items"),
    [
        ("user_embedding", "item_embedding"),
        ("user_embeddings", "item_embeddings"),
        ("u_factors", "i_factors"),
    ],
)
@pytest.mark.parametrize("is_live", [True, False])
@held("torch", "Module")
def test_modules_of_users_and_items(users: str, items: str, is_live: bool) -> None:
    import torch

    net = towers(torch, users, items)
    pairs = torch.cartesian_prod(torch.arange(20), torch.arange(30))
    theirs = net(pairs[:, 0], pairs[:, 1]).detach().numpy().reshape(20, 30)
    model = load(net if is_live else net.state_dict())
    np.testing.assert_allclose(model.scores(), theirs, rtol=0, atol=1e-5)


def test_ids_can_be_given_for_the_users_of_a_module() -> None:
    import torch

    model = load(towers(torch), left_ids=np.arange(20) + 5)
    assert model.names("left").tolist() == list(range(5, 25))


@held("torch", "Linear")
def test_a_linear_layer() -> None:
    import torch

    layer, states = torch.nn.Linear(6, 3), torch.tensor(X, dtype=torch.float32)
    theirs = torch.softmax(layer(states), -1).detach().numpy()
    model = load(layer, inputs=X)
    np.testing.assert_allclose(model.predictions(), theirs, rtol=0, atol=1e-5)


def test_a_linear_layer_of_one_label_needs_its_kind() -> None:
    import torch

    with pytest.raises(InputError, match='pass kind="head"'):
        load(torch.nn.Linear(8, 1))


def test_an_embedding_is_a_table_of_vectors() -> None:
    import torch

    embedding = torch.nn.Embedding(7, 3)
    model = load(embedding)
    np.testing.assert_array_equal(model.right, embedding.weight.detach())
    assert model.link.name == "identity"


@held("torch", "Module", "file")
def test_safetensors_of_a_module(tmp_path: Path) -> None:
    import safetensors.torch
    import torch

    net = towers(torch)
    safetensors.torch.save_file(net.state_dict(), tmp_path / "m.safetensors")
    from_file = load(tmp_path / "m.safetensors").scores()
    np.testing.assert_allclose(from_file, load(net).scores(), atol=1e-6)


@held("torch", "Module", "file")
def test_the_refusal_of_a_pickled_module_names_safetensors(tmp_path: Path) -> None:
    import torch

    torch.save(towers(torch).state_dict(), tmp_path / "m.pt")
    with pytest.raises(InputError, match=r"safetensors\.torch\.save_file"):
        load(tmp_path / "m.pt")
