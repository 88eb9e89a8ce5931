"""HDF5 files: arrays by name, embeddings of AnnData, and weights of Keras in the layout
of Keras 3.
"""

from __future__ import annotations

import json
import zipfile
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np
import pytest
from example_files import hdf5, refusal, write_all
from imitations import imitation

from embaudit import FactorModel
from embaudit.errors import InputError
from embaudit.io import inspect, load

if TYPE_CHECKING:
    from pathlib import Path

P = np.arange(10.0).reshape(5, 2)
Q = np.arange(14.0).reshape(7, 2) + 1
B = np.arange(7.0)


def written(path: Path, **arrays: Any) -> Path:
    with h5py.File(path, "w") as file:
        for name, array in arrays.items():
            file[name.replace("__", "/")] = array
    return path


def refused(path: Path, **options: Any) -> str:
    with pytest.raises(InputError) as error:
        load(path, **options)
    return str(error.value)


@pytest.mark.parametrize("suffix", [".h5", ".hdf5"])
def test_arrays_by_name(tmp_path: Path, suffix: str) -> None:
    ids = [f"é{i}" for i in range(7)]
    path = written(
        tmp_path / f"m{suffix}",
        user_factors=P,
        item_factors=Q,
        item_bias=B,
        item_ids=np.array([id_.encode() for id_ in ids]),
        seed=3,
    )
    model = load(path)
    np.testing.assert_array_equal(model.scores(), P @ Q.T + B)
    assert model.right_ids is not None
    assert model.right_ids.tolist() == ids


def test_the_report_names_the_arrays_of_a_file(tmp_path: Path) -> None:
    path = written(tmp_path / "m.h5", user_factors=P, item_factors=Q, item_bias=B, x=3)
    sentences = (
        "Read as hdf5: user_factors (5 × 2) as left factors, "
        "item_factors (7 × 2) as right factors, item_bias (7) as right bias.",
        "Layout: user_factors/item_factors of implicit.",
        "Not used: x.",
        "User ids: none, so rows go by their number.",
        "Item ids: none, so rows go by their number.",
    )
    assert inspect(path).explain() == " ".join(sentences)


def test_options_name_arrays_in_groups(tmp_path: Path) -> None:
    path = written(tmp_path / "n.h5", a__b=P, c__d=Q, c__e=B)
    model = load(path, left="a/b", weight="c/d", bias="c/e")
    np.testing.assert_array_equal(model.right_bias, B)

    message = refused(path, left="a/b", weight="c/d")
    assert "got c/e (7,), one value for each entity of c/d" in message


@pytest.mark.parametrize("n_bytes", [0, 30])
def test_a_damaged_archive_of_keras_is_refused(tmp_path: Path, n_bytes: int) -> None:
    path = tmp_path / "m.keras"
    path.write_bytes(b"PK\3\4" + bytes(n_bytes))
    assert "must be a valid HDF5 file" in refused(path)


def test_links_to_other_files_are_not_followed(tmp_path: Path) -> None:
    written(tmp_path / "secret.h5", W=Q)
    path = tmp_path / "link.h5"
    with h5py.File(path, "w") as file:
        file["W"] = h5py.ExternalLink("secret.h5", "W")
    assert "must be one recognised table, pair or head" in refused(path)


def test_virtual_datasets_over_other_files_are_refused(tmp_path: Path) -> None:
    secret = written(tmp_path / "secret.h5", W=Q)
    path = tmp_path / "virtual.h5"
    with h5py.File(path, "w") as file:
        layout = h5py.VirtualLayout(shape=Q.shape, dtype=float)
        layout[:] = h5py.VirtualSource(str(secret), "W", shape=Q.shape)
        file.create_virtual_dataset("W", layout)
    refused(path)


def test_a_dataset_without_a_shape_is_skipped(tmp_path: Path) -> None:
    """AnnData writes None as such a dataset."""
    path = written(tmp_path / "m.h5", W=Q, uns__base=h5py.Empty("f8"))
    np.testing.assert_array_equal(load(path).right, Q)


def test_a_file_of_datasets_without_a_shape_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "only.h5", W=h5py.Empty("f8"))
    assert "must be one recognised table, pair or head; got no matrix" in refused(path)


# AnnData


def anndata(path: Path, **arrays: Any) -> Path:
    written(
        path,
        X=np.ones((5, 3)),
        obs___index=[f"cell {i}" for i in range(5)],
        var___index=list("abc"),
        **arrays,
    )
    with h5py.File(path, "a") as file:
        for group in ("obs", "var"):
            file[group].attrs["_index"] = "_index"
    return path


@pytest.mark.parametrize(
    ("weight", "expected", "first_name"),
    [
        ("obsm/X_umap", P + 1, "cell 0"),
        ("varm/PCs", Q[:3], "a"),
        ("X", np.ones((5, 3)), "cell 0"),
    ],
)
def test_one_of_several_embeddings_has_to_be_chosen(
    tmp_path: Path, weight: str, expected: np.ndarray, first_name: str
) -> None:
    embeddings = {"obsm__X_pca": P, "obsm__X_umap": P + 1, "varm__PCs": Q[:3]}
    path = anndata(tmp_path / "a.h5ad", **embeddings)
    refused(path)
    model = load(path, weight=weight)
    np.testing.assert_array_equal(model.right, expected)
    assert model.names("right")[0] == first_name


def test_a_file_of_anndata_without_embeddings_is_refused(tmp_path: Path) -> None:
    refused(anndata(tmp_path / "b.h5ad"))


# Keras


def layer(file: Any, place: str, name: str, *variables: np.ndarray) -> None:
    group = file.create_group(f"{place}/vars")
    group.attrs["name"] = name
    for i, array in enumerate(variables):
        group[str(i)] = array


def dense(name: str, activation: Any) -> dict[str, Any]:
    return {"class_name": "Dense", "config": {"name": name, "activation": activation}}


def keras(path: Path, layers: list[dict[str, Any]], weights: Any) -> Path:
    """Write an archive of Keras; `weights` writes the arrays into an open HDF5 file."""
    weights_path = path.with_suffix(".weights.h5")
    with h5py.File(weights_path, "w") as file:
        weights(file)
    config = {"class_name": "Sequential", "config": {"layers": layers}}
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("metadata.json", "{}")
        archive.writestr("config.json", json.dumps(config))
        archive.write(weights_path, "model.weights.h5")
    return path


def two_layers(file: Any) -> None:
    layer(file, "layers/dense", "hidden", np.ones((3, 2)), np.ones(2))
    layer(file, "layers/dense_1", "out", Q.T, B)
    layer(file, "optimizer", "adam", Q.T, B)


softmax_activations = pytest.mark.parametrize(
    "activation", ["softmax", {"class_name": "function", "config": "softmax"}]
)


@softmax_activations
def test_the_layer_with_the_softmax_is_the_head(
    tmp_path: Path, activation: Any
) -> None:
    layers = [dense("hidden", "relu"), dense("out", activation)]
    path = keras(tmp_path / "m.keras", layers, two_layers)
    model = load(path)
    np.testing.assert_array_equal(model.right, Q)
    np.testing.assert_array_equal(model.right_bias, B)
    assert model.link.name == "softmax"
    used, _, not_used = inspect(path).line().partition("; ")
    assert used == "read as hdf5: out.kernel, out.bias"
    assert not_used == "not used: hidden.kernel (3 × 2), hidden.bias (2)"


def test_another_layer_of_keras_can_be_read_as_vectors(tmp_path: Path) -> None:
    layers = [dense("hidden", "relu"), dense("out", "softmax")]
    path = keras(tmp_path / "m.keras", layers, two_layers)
    model = load(path, weight="hidden.kernel", kind="vectors")
    assert model.right.shape == (2, 3)


@softmax_activations
def test_a_softmax_before_the_last_layer_is_no_head(
    tmp_path: Path, activation: Any
) -> None:
    layers = [dense("hidden", activation), dense("out", "tanh")]
    path = keras(tmp_path / "g.keras", layers, two_layers)
    expected = f"the arrays of {path} must be one recognised table, pair or head"
    assert expected in refused(path)
    expected = (
        "must be a softmax over labels; got out.kernel with tanh; say kind='head'"
    )
    assert expected in refused(path, weight="out.kernel")


def test_a_layer_with_another_activation_is_read_with_a_link(tmp_path: Path) -> None:
    def weights(file: Any) -> None:
        layer(file, "layers/dense", "out", Q.T)

    path = keras(tmp_path / "g.keras", [dense("out", "tanh")], weights)
    assert "must be one recognised table, pair or head" in refused(path)
    model = load(path, weight="out.kernel", link="sigmoid")
    assert model.link.name == "sigmoid"


def two_tables(file: Any) -> None:
    layer(file, "layers/embedding", "user_embedding", P)
    layer(file, "layers/embedding_1", "item_embedding", Q)


def keras_variable(name: str, array: np.ndarray) -> SimpleNamespace:
    return SimpleNamespace(
        path=f"{name}_embedding/embeddings",
        numpy=lambda: array,
        shape=array.shape,
        dtype="float32",
    )


def keras_model(layers: list[dict[str, Any]], link: str) -> Any:
    """Imitate a model of Keras in memory, whose inputs are items and then users."""
    predictions = FactorModel.from_arrays(P, Q, link=link).predictions()

    def predict(pairs: Any, verbose: Any) -> np.ndarray:
        items, users = pairs
        return predictions[users[:, 0], items[:, 0]]

    model = imitation(
        "keras.src.models.model.Model",
        weights=[keras_variable("user", P), keras_variable("item", Q)],
        inputs=[SimpleNamespace(name="item"), SimpleNamespace(name="user")],
        get_config=lambda _: {"layers": layers},
    )
    # Set in the instance, so that it is called without the model.
    object.__setattr__(model, "predict", predict)
    return model


def keras_layers(*layers: tuple[str, dict[str, Any]]) -> list[dict[str, Any]]:
    embedding = {"class_name": "Embedding", "config": {}}
    others = [{"class_name": kind, "config": config} for kind, config in layers]
    return [embedding, *others]


LAYERS_AND_LINKS = [
    (keras_layers(("Dot", {"normalize": True})), "cosine"),
    (keras_layers(("Dot", {}), ("Dropout", {})), "identity"),
]
LAYERS_OF_NO_LINK = [
    keras_layers(("Dot", {}), ("Activation", {"activation": "sigmoid"})),
    keras_layers(("Concatenate", {})),
]


@pytest.mark.parametrize(("layers", "link"), LAYERS_AND_LINKS)
def test_the_layer_that_joins_two_tables_of_keras_gives_their_link(
    tmp_path: Path, layers: Any, link: str
) -> None:
    path = keras(tmp_path / "m.keras", layers, two_tables)
    assert load(path).link.name == link
    assert load(keras_model(layers, link)).link.name == link


@pytest.mark.parametrize("layers", LAYERS_OF_NO_LINK)
def test_other_layers_behind_two_tables_of_keras_need_a_link(
    tmp_path: Path, layers: Any
) -> None:
    path = keras(tmp_path / "m.keras", layers, two_tables)
    message = (
        "must be a Dot layer; got .*; say how their product becomes a score with link"
    )
    for given in (path, keras_model(layers, "sigmoid")):
        with pytest.raises(InputError, match=message):
            load(given)
        assert load(given, link="sigmoid").link.name == "sigmoid"


def test_a_model_of_keras_that_predicts_other_scores_is_refused() -> None:
    model = keras_model(keras_layers(("Dot", {"normalize": True})), "cosine")
    model.weights[0].numpy = lambda: P + 1
    with pytest.raises(
        InputError, match="scores read from Model must equal its own scores"
    ):
        load(model, link="cosine")


def test_weights_that_older_versions_of_keras_wrote(tmp_path: Path) -> None:
    path = tmp_path / "m.h5"
    layers = [dense("hidden", "relu"), dense("out", "softmax")]
    with h5py.File(path, "w") as file:
        file["model_weights/hidden/hidden/kernel:0"] = np.ones((3, 2))
        file["model_weights/hidden/hidden/bias:0"] = np.ones(2)
        file["model_weights/out/out/kernel:0"] = Q.T
        file["model_weights/out/out/bias:0"] = B
        file["optimizer_weights/out/kernel:0"] = Q.T
        file.attrs["model_config"] = json.dumps({"config": layers})
    model = load(path)
    np.testing.assert_array_equal(model.right, Q)
    np.testing.assert_array_equal(model.right_bias, B)


# Data frames of pandas. `tests/peers/test_hdf_frames.py` runs the line.

ROW = np.dtype([("index", "S2"), ("values_block_0", "<f8", (3,))])
FRAMES: dict[str, dict[str, Any]] = {
    "fixed": {
        "emb/axis0": np.arange(3),
        "emb/axis1": np.array([b"a", b"b"]),
        "emb/block0_items": np.arange(3),
        "emb/block0_values": np.ones((2, 3)),
    },
    "table": {
        "emb/table": np.zeros(2, ROW),
        "emb/_i_table/index/indices": np.zeros((0, 131072), "u4"),
    },
}


@pytest.mark.parametrize("layout", FRAMES)
def test_data_frames_of_pandas_are_refused_with_the_line_that_converts_them(
    tmp_path: Path, layout: str
) -> None:
    path = write_all(tmp_path, {"v.h5": hdf5(FRAMES[layout])})
    line = f"pandas.read_hdf({str(path)!r}, 'emb').to_parquet('vectors.parquet')."
    assert line in refusal(load, path)


@pytest.mark.parametrize("layout", FRAMES)
def test_the_refusal_of_several_data_frames_of_pandas_names_them_all(
    tmp_path: Path, layout: str
) -> None:
    second_frame = {"y/axis0": [0, 1], "y/block0_values": np.ones((2, 2))}
    path = write_all(tmp_path, {"w.h5": hdf5({**FRAMES[layout], **second_frame})})
    assert "(or another of emb, y)" in refusal(load, path)


def test_an_array_in_a_data_frame_of_pandas_can_be_named(tmp_path: Path) -> None:
    path = write_all(tmp_path, {"v.h5": hdf5(FRAMES["fixed"])})
    options = {"weight": "emb/block0_values", "id_array": "emb/axis1"}
    model = load(path, kind="vectors", **options)
    assert model.right.tolist() == [[1, 1, 1], [1, 1, 1]]
    assert model.right_ids.tolist() == ["a", "b"]
