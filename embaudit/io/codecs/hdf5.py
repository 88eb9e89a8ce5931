"""HDF5: arrays by name; the weights of Keras are called as their layers are."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.errors import InputError, must_be
from embaudit.io.codecs.arrays import Tensor
from embaudit.io.codecs.npy import READ_ERRORS, reason
from embaudit.io.json_text import parsed

WEIGHTS, CONFIG = "model.weights.h5", "config.json"
"""Members of a `.keras` archive: the numbers and the layers."""
VARIABLES = {"dense": ("kernel", "bias"), "embedding": ("embeddings",)}
"""Names of the numbered variables of a layer, by the class that its group is called after."""
OPTIMIZERS = ("optimizer", "optimizer_weights")


class Hdf5:
    """The arrays of an HDF5 file, or of the one in a `.keras` archive.

    Raises
    ------
    InputError
        If it is damaged, or keeps numbers in other files.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.tensors: dict[str, Tensor] = {}
        self.index: dict[str, str] = {}
        """By group of AnnData: the dataset of its ids."""
        self._places: dict[str, str] = {}
        with self._opened() as file:
            for place, dataset in self._datasets(file):
                self._note(self._called(file, place), place, dataset)
            self.config = self._config(file)
            self.index = {
                group: f"{group}/{file[group].attrs['_index']}"
                for group in ("obs", "var")
                if group in file and "_index" in file[group].attrs
            }

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        """Open the file, or the one in the archive, and refuse a damaged one."""
        h5py = import_module("h5py")
        try:
            if self.path.suffix.lower() == ".keras":
                with zipfile.ZipFile(self.path) as archive:
                    source: Any = BytesIO(archive.read(WEIGHTS))
            else:
                source = self.path
            with h5py.File(source, "r") as file:
                yield file
        except InputError:
            raise
        except READ_ERRORS as error:
            raise must_be(f"{self.path}", "a whole HDF5 file", reason(error), "write it again") from error

    def _datasets(self, file: Any) -> list[tuple[str, Any]]:
        datasets: list[tuple[str, Any]] = []
        # Links are not followed: a file must not lead to other files of the reader.
        file.visititems(lambda place, dataset: datasets.append((place, dataset)) if hasattr(dataset, "shape") else None)
        elsewhere = next((place for place, dataset in datasets if dataset.external or dataset.is_virtual), None)
        if elsewhere is not None:
            raise must_be(f"{elsewhere} of {self.path}", "in the file itself", "a dataset in others", "copy it there")
        return [(place, dataset) for place, dataset in datasets if place.split("/")[0] not in OPTIMIZERS]

    def _called(self, file: Any, place: str) -> str:
        """Name a variable of Keras after its layer, anything else after its place."""
        parts = place.split("/")
        if parts[0] == "model_weights":
            return ".".join(name.removesuffix(":0") for name in parts[-2:])
        if len(parts) > 2 and parts[-2] == "vars" and parts[-1].isdecimal():
            variables = VARIABLES.get(parts[-3].rstrip("_0123456789"), ())
            number = int(parts[-1])
            layer = file["/".join(parts[:-1])].attrs.get("name", parts[-3])
            return f"{layer}.{variables[number] if number < len(variables) else number}"
        return place

    def _note(self, name: str, place: str, dataset: Any) -> None:
        name = place if name in self.tensors else name
        is_text = dataset.dtype.kind in "OS"
        self.tensors[name] = Tensor(tuple(dataset.shape), "str" if is_text else dataset.dtype.name)
        self._places[name] = place

    def _config(self, file: Any) -> Any:
        """Return what Keras says of the layers, None where nothing does."""
        text = file.attrs.get("model_config")
        if self.path.suffix.lower() == ".keras":
            with zipfile.ZipFile(self.path) as archive:
                text = archive.read(CONFIG)
        return None if text is None else parsed(text)

    def __getitem__(self, name: str) -> NDArray[Any]:
        with self._opened() as file:
            dataset = file[self._places[name]]
            if self.tensors[name].dtype == "str":
                return np.asarray(dataset.asstr("utf-8", "backslashreplace")[()], dtype=np.str_)
            return np.asarray(dataset[()])
