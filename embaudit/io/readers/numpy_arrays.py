"""NumPy's own files: `.npy` stays on disk, `.npz` is read by the names of its arrays."""

from __future__ import annotations

from pathlib import Path
from typing import IO

from embaudit.errors import must_be
from embaudit.io.codecs import npy
from embaudit.io.codecs.arrays import UNNAMED
from embaudit.io.codecs.memory import Memory
from embaudit.io.codecs.npy import Npy
from embaudit.io.codecs.npz import Npz
from embaudit.io.draft import Draft
from embaudit.io.files import existing_file
from embaudit.io.readers.assemble import assemble
from embaudit.io.readers.layout import FACTORS, plain
from embaudit.io.request import Request, as_kind
from embaudit.model import FactorModel

FILES = ("left", "bias", "left_bias", "embedding")
"""Options that name other `.npy` files beside a single one."""


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
    beside = {option: getattr(request, option) for option in FILES if getattr(request, option) is not None}
    paths = {"weight": path, **{option: existing_file(name) for option, name in beside.items()}}
    files = Memory({option: Npy(file)[UNNAMED] for option, file in paths.items()})
    shape = files.tensors["weight"].shape
    if len(shape) != 2:
        raise must_be(f"{path}", "a matrix, one row an entity", f"shape {shape}")
    names = {option: option for option in beside}
    if request.left is not None:
        kind = request.kind
        chosen = Request(kind="factors", right="weight", transpose=request.transpose, **names)
        return as_kind(assemble(files, chosen, path), kind)
    kind = "head" if request.kind == "auto" and names else "vectors" if request.kind == "auto" else request.kind
    return assemble(files, Request(kind=kind, weight="weight", transpose=request.transpose, **names), path)


def keeps(draft: Draft) -> frozenset[str]:  # noqa: ARG001
    """Nothing but the right factors: `.npy` holds one array."""
    return frozenset()


def write(file: IO[bytes], draft: Draft) -> None:
    """Write the right factors alone as `.npy`."""
    npy.write(file, draft.right)
