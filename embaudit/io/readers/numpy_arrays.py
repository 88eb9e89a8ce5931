"""NumPy's own files: `.npy` stays on disk, `.npz` is read by the names of its arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from embaudit.errors import InputError, must_be
from embaudit.io.codecs.npz import BROKEN, Npz, reason
from embaudit.io.files import existing_file, written_whole
from embaudit.io.readers.assemble import assemble
from embaudit.io.readers.layout import FACTORS, plain
from embaudit.io.request import Request, as_kind

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from embaudit.io.files import AnyPath
    from embaudit.io.readers.layout import Shapes
    from embaudit.model import FactorModel

FILES = ("left", "bias", "left_bias", "embedding")
"""Options that name other `.npy` files beside a single one."""


def recognises(path: Path) -> bool:
    """Whatever ends in `.npy` or `.npz` and is nothing more special."""
    return path.suffix.lower() in (".npy", ".npz")


def open_npy(path: Path) -> NDArray[Any]:
    """Map an array into memory, so that it stays on disk.

    Raises
    ------
    InputError
        If it is cut off, pickled or no `.npy` file.
    """
    try:
        return np.lib.format.open_memmap(path, mode="r")
    except BROKEN as error:
        if "Python objects" in str(error):
            raise InputError(
                f"{path} must be a plain array; it is pickled, which could run code; save it as numbers."
            ) from error
        raise InputError(f"{path} must be a whole .npy file; it is not ({reason(error)}); save it again.") from error


class _Files:
    """Single arrays in their own files, with the names that `choose` knows."""

    def __init__(self, path: Path, request: Request) -> None:
        self.arrays = {"weight": open_npy(path)}
        for option in FILES:
            name = getattr(request, option)
            if name is not None:
                self.arrays[option] = open_npy(existing_file(name))
        self.shapes: Shapes = {name: array.shape for name, array in self.arrays.items()}

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.arrays[name]


def read(path: Path, request: Request) -> FactorModel:
    """Read an `.npz` by the names of its arrays, or a `.npy` with `left` and `bias` naming files beside it.

    Raises
    ------
    InputError
        If the file is damaged or ambiguous.
    """
    if path.suffix.lower() == ".npz":
        stored = Npz(path)
        for name in stored.pickled:
            if plain(name) in FACTORS:
                stored[name]  # Refused there: half of a pair must not pass for the whole.
        return assemble(stored, request, path)
    files = _Files(path, request)
    if len(files.shapes["weight"]) != 2:
        raise must_be(f"{path}", "a matrix, one row an entity", f"shape {files.shapes['weight']}")
    names = {option: option for option in FILES if option in files.shapes}
    if request.left is not None:
        kind = request.kind
        chosen = Request(kind="factors", right="weight", transpose=request.transpose, **names)
        return as_kind(assemble(files, chosen, path), kind)
    kind = "head" if request.kind == "auto" and names else "vectors" if request.kind == "auto" else request.kind
    return assemble(files, Request(kind=kind, weight="weight", transpose=request.transpose, **names), path)


def write(model: FactorModel, path: AnyPath, *, force: bool = False) -> None:
    """Write the right factors alone as `.npy`.

    Raises
    ------
    InputError
        If the model holds more than one side, which the format cannot.
    """
    require_one_side(model, ".npy")
    with written_whole(path, force=force) as file:
        np.save(file, model.right, allow_pickle=False)


def require_one_side(model: FactorModel, suffix: str, *, bias: bool = False, ids: bool = False) -> None:
    """Refuse to drop a side, or (unless the format holds a `bias`, `ids`) a bias or ids, in silence.

    Raises
    ------
    InputError
        If the model holds more than the right factors.
    """
    if model.left is not None:
        raise must_be(
            f"a model saved as {suffix}", "one side only", f"{model.roles[0]} and {model.roles[1]} factors",
            "save it as .npz, or keep one side only",
        )  # fmt: skip
    if model.right_bias is not None and not bias:
        raise must_be(f"a model saved as {suffix}", "free of biases", f"a {model.roles[1]} bias", "save it as .npz")
    if model.right_ids is not None and not ids:
        raise must_be(f"a model saved as {suffix}", "free of ids", "ids", "save it as .npz, .parquet or .txt")
