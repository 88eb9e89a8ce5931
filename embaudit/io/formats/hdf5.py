"""HDF5 files: named arrays, an embedding of AnnData, the weights of a Keras model."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Iterator
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
"""Names of the numbered variables of a layer, by the class that its group is called
after.
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
"""Layers of Keras that leave the product of two tables, perhaps with biases, as it is.
"""
SCORES = ("", "linear", "softmax")
"""Activations that leave scores of labels as they are, or make probabilities of them.
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
        """Groups that pandas wrote a data frame into."""
        self.index: dict[str, str] = {}
        """By group of AnnData: the dataset of its ids."""
        self._places: dict[str, str] = {}
        self._sizes: dict[str, tuple[int, int]] = {}
        """By name: the bytes that a dataset takes in memory and in the file."""
        with self._opened() as file:
            datasets: list[tuple[str, Any]] = []
            # Links are not followed: a file must not lead to other files of the reader.
            file.visititems(
                lambda place, x: (
                    datasets.append((place, x)) if hasattr(x, "shape") else None
                )
            )
            places = {place for place, _ in datasets}
            for place, dataset in datasets:
                group, _, last = place.rpartition("/")
                fields = dataset.dtype.names or ()
                is_fixed = last == "axis0" and f"{group}/block0_values" in places
                if is_fixed or (last == "table" and "index" in fields):
                    self.frames.append(group)
                if dataset.external or dataset.is_virtual:
                    raise must_be(
                        Sentence("{} of {}", place, File(path)),
                        "in the file itself",
                        "a dataset in others",
                        "copy it there",
                    )
                # AnnData writes None as a dataset without a shape.
                if place.split("/")[0] in OPTIMIZERS or dataset.shape is None:
                    continue
                name = self._called(file, place)
                name = place if name in self.tensors else name
                is_text = dataset.dtype.kind in "OS"
                self.tensors[name] = Tensor(
                    tuple(dataset.shape), "str" if is_text else dataset.dtype.name
                )
                self._places[name] = place
                # A fill value takes no place in the file, and a chunk is unpacked
                # whole.
                values = max(math.prod(dataset.shape), math.prod(dataset.chunks or ()))
                self._sizes[name] = (
                    values * dataset.dtype.itemsize,
                    dataset.id.get_storage_size(),
                )
            for group in ("obs", "var"):
                if group in file and "_index" in file[group].attrs:
                    # The usual name needs no attribute, which HDF5 reads without an end
                    # where it is damaged.
                    called = (
                        "_index"
                        if "_index" in file[group]
                        else file[group].attrs["_index"]
                    )
                    self.index[group] = f"{group}/{called}"
            text = file.attrs.get("model_config")
            if path.suffix.lower() == ".keras":
                with zipfile.ZipFile(path) as archive:
                    text = member(archive, CONFIG)
            # Keras may write NaN, such as the mask value of a layer; no number is used.
            self.config = None if text is None else parsed(text, infinite=True)
            """Settings of the layers of Keras; None where nothing says them."""

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        """Open the file, or the one in the archive, and refuse a damaged one."""
        h5py = import_module("h5py")
        try:
            if self.path.suffix.lower() == ".keras":
                with zipfile.ZipFile(self.path) as archive:
                    source: Any = BytesIO(member(archive, WEIGHTS))
            else:
                source = self.path
            with h5py.File(source, "r") as file:
                yield file
        except InputError:
            raise
        except READ_ERRORS as error:
            raise must_be(
                File(self.path), "a whole HDF5 file", reason(error), "write it again"
            ) from error

    def _called(self, file: Any, place: str) -> str:
        """Name a variable of Keras after its layer, anything else after its place."""
        parts = place.split("/")
        if parts[0] == "model_weights":
            return ".".join(name.removesuffix(":0") for name in parts[-2:])
        # Keras 3 numbers the variables of a layer in a group `vars`; their order says
        # which is which.
        if len(parts) > 2 and parts[-2] == "vars" and parts[-1].isdecimal():
            variables = VARIABLES.get(parts[-3].rstrip("_0123456789"), ())
            number = int(parts[-1])
            layer = file["/".join(parts[:-1])].attrs.get("name", parts[-3])
            return f"{layer}.{variables[number] if number < len(variables) else number}"
        return place

    def require_sense(self, name: str) -> None:
        """Refuse a dataset that is many times larger in memory than in the file.

        Raises
        ------
        InputError
            If it is.
        """
        try:
            require_sense(*self._sizes[name])
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
                return np.asarray(
                    dataset.asstr("utf-8", "backslashreplace")[()], dtype=np.str_
                )
            return np.asarray(dataset[()])


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
        others = f" (or another of {listed(stored.frames, SHOWN)})"
        raise InputError(
            "{} must be named arrays; it holds data frames of pandas; convert one in "
            "Python: import pandas; pandas.read_hdf({}, {}).to_parquet("
            "'vectors.parquet'){}.",
            File(path),
            repr(str(path)),
            repr(key),
            others if len(stored.frames) > 1 else "",
        )
    if stored.index:
        found = contents_of(stored, _of_anndata(stored, request), path)
        if request.weight is None:
            layout = f"{found.fields['right'].name} of AnnData"
            found = replace(found, layout=layout)
    else:
        found = of_keras(stored, stored.config, request, path)
    # Only what is used has to make sense, also if no numbers are read.
    for source in found.fields.values():
        if source.name in stored.tensors:
            stored.require_sense(source.name)
    return found


def of_keras(arrays: Arrays, config: Any, request: Request, where: object) -> Contents:
    """Determine which arrays become which fields.

    Keras may say which layer has a softmax, and how two tables are compared.

    Raises
    ------
    InputError
        If layers are quantised, or others than a product or a cosine stand behind two
        tables and nobody names the link.
    """
    if "QuantizedDTypePolicy" in str(config):
        raise must_be(
            File(where),
            "numbers as they are",
            "layers that Keras has quantised",
            "save the model before it is quantised",
        )
    layers = list(_layers(config))
    activations = {
        f"{layer.get('name')}.kernel": _activation(layer)
        for kind, layer in layers
        if kind == "Dense"
    }
    layout = None
    if (
        request.weight is None
        and request.left is None
        and request.kind in ("auto", "head")
    ):
        # A softmax before other layers chooses among experts; live models put their own
        # name before that of a layer.
        last = next(reversed(activations), "")
        heads = [name for name in arrays.tensors if f".{name}".endswith(f".{last}")]
        is_softmax = activations.get(last) == "softmax" and len(heads) == 1
        if is_softmax:
            request = replace(request, kind="head", weight=heads[0])
            layout = f"{heads[0]} of Keras, the last layer with a softmax"
    base = contents_of(arrays, request, where)
    if layout is not None:
        base = replace(base, layout=layout)
    right = base.fields["right"].name
    other = next(
        (
            x
            for layer, x in activations.items()
            if x not in SCORES and f".{right}".endswith(f".{layer}")
        ),
        None,
    )
    if (
        other is not None
        and "link" in base.fields
        and request.kind == "auto"
        and request.link is None
    ):
        remedy = Sentence(
            "say {} if a softmax follows {}, or {} for labels apart",
            Option("kind", "head"),
            right,
            Option("link", "sigmoid"),
        )
        raise must_be(
            Sentence("the head of {}", File(where)),
            "a softmax over labels",
            f"{right} with {other}",
            remedy,
        )
    if (
        "left" not in base.fields
        or "link" in base.fields
        or request.link is not None
        or not layers
    ):
        return base
    # Any other layer behind the product makes another score of it.
    between = [
        f"{kind} {_activation(layer)}".strip()
        for kind, layer in layers
        if kind not in (*PASSED, "Dot")
    ]
    if between:
        remedy = Sentence(
            "say what becomes of their product with {} (or cosine, sigmoid)",
            Option("link", "identity"),
        )
        raise must_be(
            Sentence("the layers of {} behind its tables", File(where)),
            "a Dot",
            ", ".join(dict.fromkeys(between)),
            remedy,
        )
    cosine = any(kind == "Dot" and layer.get("normalize") for kind, layer in layers)
    link = Source.of("its Dot layer", "cosine" if cosine else "identity")
    return replace(base, fields={**base.fields, "link": link})


def _layers(config: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield class and settings of the layers of a model of Keras.

    Layers inside other models and wrappers are included.
    """
    settings = config.get("config") if isinstance(config, dict) else None
    # Sequential models of Keras before 2.2.3 list their layers without a name.
    layers = (
        settings.get("layers") or [settings.get("layer")]
        if isinstance(settings, dict)
        else settings
    )
    for layer in layers if isinstance(layers, list) else ():
        if isinstance(layer, dict) and isinstance(layer.get("config"), dict):
            yield str(layer.get("class_name")), layer["config"]
            yield from _layers(layer)


def _activation(settings: dict[str, Any]) -> str:
    """Return the name of the activation of a layer, empty for none."""
    stored = settings.get("activation")
    return str((stored.get("config") if isinstance(stored, dict) else stored) or "")


def _of_anndata(stored: Hdf5, request: Request) -> Request:
    """Choose the embedding of an AnnData file, with the ids of its rows."""
    weight = request.weight
    if weight is None:
        matrices = {
            name: x.shape
            for name, x in stored.tensors.items()
            if name.startswith(("obsm/", "varm/"))
        }
        matrices = {name: shape for name, shape in matrices.items() if len(shape) == 2}
        of_rows = [name for name in matrices if name.startswith("obsm/")]
        if len(of_rows) != 1:
            listed = ", ".join(f"{name} {shape}" for name, shape in matrices.items())
            if matrices:
                name = next(iter(matrices))
                choice = Sentence("choose one with {}", Option("weight", name))
            else:
                choice = Sentence("compute one")
            # An AnnData file calls the measured matrix X.
            measured = Option("weight", "X")
            remedy = Sentence("{}, or take what was measured with {}", choice, measured)
            raise must_be(
                Sentence("the embedding of {}", File(stored.path)),
                "one",
                listed or "none",
                remedy,
            )
        weight = of_rows[0]
    side = SIDES.get(weight.split("/")[0])
    ids = request.id_array or stored.index.get(side or "")
    kind = "vectors" if request.kind == "auto" else request.kind
    return replace(request, kind=kind, weight=weight, id_array=ids)
