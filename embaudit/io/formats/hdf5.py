"""HDF5 files: named arrays, an embedding of AnnData, or the weights of Keras."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.core.words import listed
from embaudit.errors import File, InputError, Option, Sentence, must_be
from embaudit.io.arrays import Arrays, Tensor
from embaudit.io.contents import Contents, Source
from embaudit.io.damaged import READ_ERRORS, reason
from embaudit.io.formats import ARRAYS, register
from embaudit.io.json_text import parsed
from embaudit.io.layouts.reading import contents_of
from embaudit.io.options import Request
from embaudit.io.unpacked import member, require_sense

WEIGHTS, CONFIG = "model.weights.h5", "config.json"
"""Members of a `.keras` archive: the numbers and the layers."""
VARIABLES = {"dense": ("kernel", "bias"), "embedding": ("embeddings",)}
"""Names of the numbered variables of a layer, by its class. The group of a layer has
the name of the class, such as `dense` or `dense_1`.
"""
OPTIMIZERS = ("optimizer", "optimizer_weights")
PASSED = (
    "InputLayer",
    "Embedding",
    "Flatten",
    "Reshape",
    "Add",
    "Dropout",
    "Functional",
    "Sequential",
)
"""Layers of Keras that do not change a product of two tables, perhaps with biases."""
SCORES = ("", "linear", "softmax")
"""Activations that do not change the scores of labels, or turn them into probabilities.
"""
SHOWN = 4
"""Data frames that a sentence names."""
SIDES = {"obsm": "obs", "varm": "var", "X": "obs", "layers": "obs"}
"""Tables of AnnData that hold the ids of rows, by the group of an array."""


class Hdf5:
    """The arrays of an HDF5 file, or of the one in a `.keras` archive.

    Raises
    ------
    InputError
        If it is damaged, or keeps numbers in other files.
    """

    def __init__(self, path: Path) -> None:
        """List the datasets, the ids of AnnData and the layers of Keras.

        No numbers are read.
        """
        self.path = path
        self.tensors: dict[str, Tensor] = {}
        self.frames: list[str] = []
        """Groups into which pandas wrote a data frame."""
        self.index: dict[str, str] = {}
        """Dataset of the ids, by group of AnnData."""
        self._places: dict[str, str] = {}
        """Place of each dataset in the file, by its name in `tensors`."""
        self._sizes: dict[str, tuple[int, int]] = {}
        """Bytes that each dataset takes in memory and in the file, by name."""
        with self._opened() as file:
            datasets = _datasets(file)
            for place, dataset in datasets.items():
                if _is_data_frame(place, dataset, datasets):
                    self.frames.append(place.rpartition("/")[0])
                self._require_own_numbers(place, dataset)
                is_of_optimizer = place.split("/")[0] in OPTIMIZERS
                # AnnData writes None as a dataset without a shape.
                if not is_of_optimizer and dataset.shape is not None:
                    self._add(self._name_of(file, place), place, dataset)
            for group in ("obs", "var"):
                if group in file and "_index" in file[group].attrs:
                    # HDF5 reads a damaged attribute without an end, so the attribute is
                    # read only if the index does not have its usual name.
                    name = "_index"
                    if name not in file[group]:
                        name = file[group].attrs["_index"]
                    self.index[group] = f"{group}/{name}"
            text = file.attrs.get("model_config")
        if path.suffix.lower() == ".keras":
            with _errors_of(path), zipfile.ZipFile(path) as archive:
                text = member(archive, CONFIG)
        self.config = None
        """Settings of the layers of Keras; None if the file has none."""
        if text is not None:
            # Keras can write NaN, such as the mask value of a layer. No number of the
            # settings is used.
            with _errors_of(path):
                self.config = parsed(text, infinite=True)

    def _require_own_numbers(self, place: str, dataset: Any) -> None:
        """Refuse a dataset whose numbers are in other files."""
        if dataset.external or dataset.is_virtual:
            raise must_be(
                Sentence("{} of {}", place, File(self.path)),
                "stored in the file itself",
                "a dataset in other files",
                "copy it into this file",
            )

    def _add(self, name: str, place: str, dataset: Any) -> None:
        """Add a dataset under a name; if the name is taken, under its place."""
        if name in self.tensors:
            name = place
        dtype = dataset.dtype.name
        if dataset.dtype.kind in "OS":
            dtype = "str"
        self.tensors[name] = Tensor(tuple(dataset.shape), dtype)
        self._places[name] = place
        # A fill value takes no space in the file, and a chunk is unpacked whole.
        n_values = max(math.prod(dataset.shape), math.prod(dataset.chunks or ()))
        self._sizes[name] = (
            n_values * dataset.dtype.itemsize,
            dataset.id.get_storage_size(),
        )

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        """Open the file, or the one in the archive, and refuse a damaged one."""
        h5py = import_module("h5py")
        with _errors_of(self.path):
            source: Any = self.path
            if self.path.suffix.lower() == ".keras":
                with zipfile.ZipFile(self.path) as archive:
                    source = BytesIO(member(archive, WEIGHTS))
            with h5py.File(source, "r") as file:
                yield file

    def _name_of(self, file: Any, place: str) -> str:
        """Name a variable of Keras after its layer, and other datasets by their place.

        Keras 3 numbers the variables of a layer in a group `vars`. The order of the
        variables says which is which.
        """
        parts = place.split("/")
        if parts[0] == "model_weights":
            return ".".join(name.removesuffix(":0") for name in parts[-2:])
        is_numbered = len(parts) > 2 and parts[-2] == "vars" and parts[-1].isdecimal()
        if not is_numbered:
            return place
        variables = VARIABLES.get(parts[-3].rstrip("_0123456789"), ())
        number = int(parts[-1])
        layer = file["/".join(parts[:-1])].attrs.get("name", parts[-3])
        if number < len(variables):
            return f"{layer}.{variables[number]}"
        return f"{layer}.{number}"

    def require_sense(self, name: str) -> None:
        """Refuse a dataset that is many times larger in memory than in the file.

        A damaged header can claim a size that no memory holds.
        """
        n_bytes, stored_bytes = self._sizes[name]
        try:
            require_sense(n_bytes, stored_bytes)
        except ValueError as error:
            raise must_be(
                Sentence("{} of {}", name, File(self.path)),
                "a dataset that is stored in the file",
                error,
                "write it again",
            ) from error

    def __getitem__(self, name: str) -> NDArray[Any]:
        self.require_sense(name)
        with self._opened() as file:
            dataset = file[self._places[name]]
            if self.tensors[name].dtype == "str":
                texts = dataset.asstr("utf-8", "backslashreplace")[()]
                return np.asarray(texts, dtype=np.str_)
            return np.asarray(dataset[()])


@contextmanager
def _errors_of(path: Path) -> Iterator[None]:
    """Turn errors of reading a damaged file into one sentence that names it."""
    try:
        yield
    except InputError:
        raise
    except READ_ERRORS as error:
        raise must_be(
            File(path), "a valid HDF5 file", reason(error), "write it again"
        ) from error


def _datasets(file: Any) -> dict[str, Any]:
    """Return the datasets of a file by their place.

    Links are not followed, because a file must not lead to other files of the reader.
    """
    datasets = {}

    def add(place: str, entry: Any) -> None:
        # Groups have no shape.
        if hasattr(entry, "shape"):
            datasets[place] = entry

    file.visititems(add)
    return datasets


def _is_data_frame(place: str, dataset: Any, places: Collection[str]) -> bool:
    """Return True for the dataset by which a data frame of pandas is known.

    A frame in the "fixed" format has the names of its columns in `axis0`, next to
    blocks of values. A frame in the "table" format has one dataset of records.
    """
    group, _, last = place.rpartition("/")
    if last == "axis0":
        return f"{group}/block0_values" in places
    fields = dataset.dtype.names or ()
    return last == "table" and "index" in fields


@register(
    "hdf5",
    suffixes=(".h5", ".hdf5", ".h5ad", ".keras"),
    origin="HDF5, AnnData, weights of Keras",
    content="factors, head, vectors",
    options=ARRAYS,
    extra="hdf5",
    package="h5py",
)
def read(path: Path, request: Request) -> Contents:
    """Determine which arrays become what, by their names.

    Raises
    ------
    InputError
        If the file is damaged, or the names leave more than one reading.
    """
    stored = Hdf5(path)
    if stored.frames and request.weight is None:
        key = stored.frames[0]
        others = ""
        if len(stored.frames) > 1:
            others = f" (or another of {listed(stored.frames, SHOWN)})"
        raise InputError(
            "{} must hold named arrays; it holds data frames of pandas; convert one in "
            "Python: import pandas; pandas.read_hdf({}, {}).to_parquet("
            "'vectors.parquet'){}.",
            File(path),
            repr(str(path)),
            repr(key),
            others,
        )
    if stored.index:
        found = contents_of(stored, _of_anndata(stored, request), path)
        if request.weight is None:
            layout = f"{found.fields['right'].name} of AnnData"
            found = replace(found, layout=layout)
    else:
        found = of_keras(stored, stored.config, request, path)
    # Only arrays that are used are checked, before any of their numbers are read.
    for source in found.fields.values():
        if source.name in stored.tensors:
            stored.require_sense(source.name)
    return found


def of_keras(arrays: Arrays, config: Any, request: Request, where: object) -> Contents:
    """Determine which arrays become which fields.

    The settings of Keras can say which layer has a softmax, and how two tables are
    compared.

    Parameters
    ----------
    arrays : Arrays
        The weights, named `LAYER.VARIABLE`. Live models put their own name before that.
    config : Any
        Settings of the model as Keras writes them in JSON; None without settings.
    request : Request
        The options of the caller.
    where : object
        The file or the model, for messages.

    Raises
    ------
    InputError
        If layers are quantised, or if layers other than a product or a cosine follow
        two tables and the caller names no link.
    """
    if "QuantizedDTypePolicy" in str(config):
        raise must_be(
            File(where),
            "unquantised numbers",
            "layers that Keras has quantised",
            "save the model before it is quantised",
        )
    layers = list(_layers(config))
    activations = {}
    for kind, settings in layers:
        if kind == "Dense":
            activations[f"{settings.get('name')}.kernel"] = _activation(settings)
    layout = None
    head = _softmax_head(arrays, activations, request)
    if head is not None:
        request = replace(request, kind="head", weight=head)
        layout = f"{head} of Keras, the last layer with a softmax"
    contents = contents_of(arrays, request, where)
    if layout is not None:
        contents = replace(contents, layout=layout)
    _require_known_activation(contents, activations, request, where)
    has_two_tables = "left" in contents.fields
    has_link = "link" in contents.fields or request.link is not None
    if not has_two_tables or has_link or not layers:
        return contents
    link = Source.from_value("its Dot layer", _link_of_product(layers, where))
    return replace(contents, fields={**contents.fields, "link": link})


def _softmax_head(
    arrays: Arrays, activations: Mapping[str, str], request: Request
) -> str | None:
    """Return the kernel of the last dense layer if it has a softmax; else None.

    A softmax before other layers chooses among experts.
    """
    is_open = request.weight is None and request.left is None
    if not is_open or request.kind not in ("auto", "head") or not activations:
        return None
    last = list(activations)[-1]
    kernels = [name for name in arrays.tensors if _is_name_of(name, last)]
    if activations[last] == "softmax" and len(kernels) == 1:
        return kernels[0]
    return None


def _is_name_of(name: str, kernel: str) -> bool:
    """Return True for the name of a kernel, perhaps after the name of its model."""
    return name == kernel or name.endswith(f".{kernel}")


def _require_known_activation(
    contents: Contents, activations: Mapping[str, str], request: Request, where: object
) -> None:
    """Refuse a head with an activation such as a sigmoid, unless options explain it.

    Such an activation does not make probabilities of labels that exclude each other.
    """
    is_head = "link" in contents.fields
    is_explained = request.kind != "auto" or request.link is not None
    if not is_head or is_explained:
        return
    right = contents.fields["right"].name
    for kernel, activation in activations.items():
        if activation not in SCORES and _is_name_of(right, kernel):
            raise must_be(
                Sentence("the head of {}", File(where)),
                "a softmax over labels",
                f"{right} with {activation}",
                Sentence(
                    "say {} if a softmax follows {}, or {} if each label is predicted "
                    "on its own",
                    Option("kind", "head"),
                    right,
                    Option("link", "sigmoid"),
                ),
            )


def _link_of_product(layers: list[tuple[str, dict[str, Any]]], where: object) -> str:
    """Return the link of two tables: cosine if a Dot layer normalises, else identity.

    Raises
    ------
    InputError
        If another layer follows the tables, because it makes other scores of their
        product.
    """
    link = "identity"
    others = []
    for kind, settings in layers:
        if kind == "Dot":
            if settings.get("normalize"):
                link = "cosine"
        elif kind not in PASSED:
            others.append(f"{kind} {_activation(settings)}".strip())
    if others:
        different = list(dict.fromkeys(others))
        raise must_be(
            Sentence("the layers of {} behind its tables", File(where)),
            "a Dot layer",
            ", ".join(different),
            Sentence(
                "say how their product becomes a score with {} (or cosine, sigmoid)",
                Option("link", "identity"),
            ),
        )
    return link


def _layers(config: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield class and settings of the layers of a model of Keras.

    Layers inside other models and wrappers are included.
    """
    if not isinstance(config, dict):
        return
    layers = config.get("config")
    if isinstance(layers, dict):
        # A model lists its layers, and a wrapper has one.
        layers = layers.get("layers") or [layers.get("layer")]
    # Otherwise, it is a sequential model of Keras before 2.2.3, whose settings are the
    # list of layers.
    if not isinstance(layers, list):
        return
    for layer in layers:
        if isinstance(layer, dict) and isinstance(layer.get("config"), dict):
            yield str(layer.get("class_name")), layer["config"]
            yield from _layers(layer)


def _activation(settings: dict[str, Any]) -> str:
    """Return the name of the activation of a layer, empty for none."""
    activation = settings.get("activation")
    if isinstance(activation, dict):
        activation = activation.get("config")
    return str(activation or "")


def _of_anndata(stored: Hdf5, request: Request) -> Request:
    """Choose the embedding of an AnnData file, with the ids of its rows.

    Raises
    ------
    InputError
        If the caller names no array, and the file does not have exactly one embedding
        of its observations.
    """
    weight = request.weight
    if weight is None:
        weight = _only_embedding(stored)
    ids = request.id_array
    side = SIDES.get(weight.split("/")[0])
    if ids is None and side is not None:
        ids = stored.index.get(side)
    kind = request.kind
    if kind == "auto":
        kind = "vectors"
    return replace(request, kind=kind, weight=weight, id_array=ids)


def _only_embedding(stored: Hdf5) -> str:
    """Return the name of the only matrix of an AnnData file in `obsm`."""
    matrices = {}
    for name, tensor in stored.tensors.items():
        if name.startswith(("obsm/", "varm/")) and len(tensor.shape) == 2:
            matrices[name] = tensor.shape
    of_observations = [name for name in matrices if name.startswith("obsm/")]
    if len(of_observations) == 1:
        return of_observations[0]
    choice = Sentence("compute one")
    if matrices:
        first = next(iter(matrices))
        choice = Sentence("choose one with {}", Option("weight", first))
    shapes = [f"{name} {shape}" for name, shape in matrices.items()]
    raise must_be(
        File(stored.path),
        "a file with one embedding",
        ", ".join(shapes) or "no embedding",
        # An AnnData file calls the measured matrix X.
        Sentence(
            "{}, or read the measured matrix with {}", choice, Option("weight", "X")
        ),
    )
