"""HDF5 files: arrays by name, embeddings of AnnData, weights of Keras as Keras 3 lays them out."""

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

P, Q = np.arange(10.0).reshape(5, 2), np.arange(14.0).reshape(7, 2) + 1
A, B = np.arange(5.0), np.arange(7.0)


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
    ids = np.array([f"é{i}".encode() for i in range(7)])
    path = written(
        tmp_path / f"m{suffix}",
        user_factors=P,
        item_factors=Q,
        item_bias=B,
        item_ids=ids,
        seed=3,
    )
    model = load(path)
    np.testing.assert_array_equal(model.scores(), P @ Q.T + B)
    assert model.right_ids is not None
    assert model.right_ids.tolist() == [f"é{i}" for i in range(7)]
    assert inspect(path).explain() == (
        "Read as hdf5: user_factors (5 × 2) as left factors, item_factors (7 × 2) as right factors, item_bias (7) as "
        "right bias, item_ids (7) as right ids. Layout: user_factors/item_factors of implicit. Not used: seed. User ids: "
        "none, so rows go by their number."
    )
    nested = written(tmp_path / f"n{suffix}", a__b=P, c__d=Q, c__e=B)
    np.testing.assert_array_equal(
        load(nested, left="a/b", weight="c/d", bias="c/e").right_bias, B
    )
    assert "got c/e (7,), one value for each entity of c/d" in refused(
        nested, left="a/b", weight="c/d"
    )


def test_damage_and_other_files(tmp_path: Path) -> None:
    for size in (0, 30):
        (tmp_path / "m.keras").write_bytes(b"PK\3\4" + bytes(size))
        assert "must be a whole HDF5 file" in refused(tmp_path / "m.keras")
    written(tmp_path / "secret.h5", W=Q)
    with h5py.File(tmp_path / "link.h5", "w") as file:
        file["W"] = h5py.ExternalLink("secret.h5", "W")
    assert "must be one recognised table, pair or head" in refused(tmp_path / "link.h5")
    with h5py.File(tmp_path / "virtual.h5", "w") as file:
        layout = h5py.VirtualLayout(shape=Q.shape, dtype=float)
        layout[:] = h5py.VirtualSource(str(tmp_path / "secret.h5"), "W", shape=Q.shape)
        file.create_virtual_dataset("W", layout)
    refused(tmp_path / "virtual.h5")


def test_a_dataset_without_a_shape_is_passed_over(tmp_path: Path) -> None:
    """AnnData writes None so."""
    path = written(tmp_path / "m.h5", W=Q, uns__base=h5py.Empty("f8"))
    np.testing.assert_array_equal(load(path).right, Q)
    only = written(tmp_path / "only.h5", W=h5py.Empty("f8"))
    assert "must be one recognised table, pair or head; got no matrix" in refused(only)


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


def test_one_of_several_embeddings_has_to_be_chosen(tmp_path: Path) -> None:
    path = anndata(
        tmp_path / "a.h5ad", obsm__X_pca=P, obsm__X_umap=P + 1, varm__PCs=Q[:3]
    )
    refused(path)
    for weight, expected, first in (
        ("obsm/X_umap", P + 1, "cell 0"),
        ("varm/PCs", Q[:3], "a"),
        ("X", np.ones((5, 3)), "cell 0"),
    ):
        model = load(path, weight=weight)
        np.testing.assert_array_equal(model.right, expected)
        assert model.names("right")[0] == first
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
    with h5py.File(path.with_suffix(".weights.h5"), "w") as file:
        weights(file)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("metadata.json", "{}")
        archive.writestr(
            "config.json",
            json.dumps({"class_name": "Sequential", "config": {"layers": layers}}),
        )
        archive.write(path.with_suffix(".weights.h5"), "model.weights.h5")
    return path


def two_layers(file: Any) -> None:
    layer(file, "layers/dense", "hidden", np.ones((3, 2)), np.ones(2))
    layer(file, "layers/dense_1", "out", Q.T, B)
    layer(file, "optimizer", "adam", Q.T, B)


@pytest.mark.parametrize(
    "activation", ["softmax", {"class_name": "function", "config": "softmax"}]
)
def test_the_layer_with_the_softmax_is_the_head(
    tmp_path: Path, activation: Any
) -> None:
    path = keras(
        tmp_path / "m.keras",
        [dense("hidden", "relu"), dense("out", activation)],
        two_layers,
    )
    model = load(path)
    np.testing.assert_array_equal(model.right, Q)
    np.testing.assert_array_equal(model.right_bias, B)
    assert model.link.name == "softmax"
    assert inspect(path).line() == (
        "read as hdf5: out.kernel, out.bias; not used: hidden.kernel (3 × 2), hidden.bias (2)"
    )
    assert load(path, weight="hidden.kernel", kind="vectors").right.shape == (2, 3)
    gate = keras(
        tmp_path / "g.keras",
        [dense("hidden", activation), dense("out", "tanh")],
        two_layers,
    )
    assert (
        f"the arrays of {gate} must be one recognised table, pair or head"
        in refused(gate)
    )
    assert (
        "must be a softmax over labels; got out.kernel with tanh; say kind='head'"
        in refused(gate, weight="out.kernel")
    )
    keras(
        gate,
        [dense("out", "tanh")],
        lambda file: layer(file, "layers/dense", "out", Q.T),
    )
    assert "must be one recognised table, pair or head" in refused(gate)
    assert load(gate, weight="out.kernel", link="sigmoid").link.name == "sigmoid"


@pytest.mark.parametrize(
    ("layers", "link"),
    [([("Dot", {"normalize": True})], "cosine"), ([("Dot", {}), ("Dropout", {})], "identity"),
     ([("Dot", {}), ("Activation", {"activation": "sigmoid"})], None), ([("Concatenate", {})], None)],
)  # fmt: skip
def test_what_keras_says_of_two_tables_is_their_link(
    tmp_path: Path, layers: Any, link: str | None
) -> None:
    def weights(file: Any) -> None:
        layer(file, "layers/embedding", "user_embedding", P)
        layer(file, "layers/embedding_1", "item_embedding", Q)

    said = [
        {"class_name": kind, "config": settings}
        for kind, settings in (("Embedding", {}), *layers)
    ]
    path = keras(tmp_path / "m.keras", said, weights)
    tables = [SimpleNamespace(path=f"{n}_embedding/embeddings", numpy=lambda x=x: x, shape=x.shape, dtype="float32")
              for n, x in (("user", P), ("item", Q))]  # fmt: skip
    inputs = [SimpleNamespace(name=x) for x in ("item", "user")]
    live = imitation("keras.src.models.model.Model", weights=tables, inputs=inputs,
                     get_config=lambda _: {"layers": said})  # fmt: skip
    for given, reading in ((path, load), (live, load)):
        expected = FactorModel.from_arrays(P, Q, link=link or "sigmoid").predictions()
        object.__setattr__(
            live,
            "predict",
            lambda pairs, verbose, by=expected: by[pairs[1][:, 0], pairs[0][:, 0]],
        )
        if link is None:
            with pytest.raises(
                InputError,
                match=r"must be a Dot; got .*; say what becomes of their product with link",
            ):
                reading(given)
            assert reading(given, link="sigmoid").link.name == "sigmoid"
        else:
            assert reading(given).link.name == link
    live.weights[0].numpy = lambda: P + 1
    with pytest.raises(InputError, match="scores read from Model must be its own"):
        load(live, link="cosine")


def test_weights_that_older_versions_of_keras_wrote(tmp_path: Path) -> None:
    path = written(tmp_path / "m.h5", model_weights__out__out__kernel=0)
    with h5py.File(path, "w") as file:
        file["model_weights/hidden/hidden/kernel:0"] = np.ones((3, 2))
        file["model_weights/hidden/hidden/bias:0"] = np.ones(2)
        file["model_weights/out/out/kernel:0"] = Q.T
        file["model_weights/out/out/bias:0"] = B
        file["optimizer_weights/out/kernel:0"] = Q.T
        file.attrs["model_config"] = json.dumps(
            {"config": [dense("hidden", "relu"), dense("out", "softmax")]}
        )
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
    assert (
        f"pandas.read_hdf({str(path)!r}, 'emb').to_parquet('vectors.parquet')."
        in refusal(load, path)
    )
    more = {**FRAMES[layout], "y/axis0": [0, 1], "y/block0_values": np.ones((2, 2))}
    path = write_all(tmp_path, {"w.h5": hdf5(more)})
    assert "(or another of emb, y)" in refusal(load, path)


def test_an_array_in_a_data_frame_of_pandas_can_be_named(tmp_path: Path) -> None:
    path = write_all(tmp_path, {"v.h5": hdf5(FRAMES["fixed"])})
    options = {"weight": "emb/block0_values", "id_array": "emb/axis1"}
    model = load(path, kind="vectors", **options)
    assert model.right.tolist() == [[1, 1, 1], [1, 1, 1]]
    assert model.right_ids.tolist() == ["a", "b"]
