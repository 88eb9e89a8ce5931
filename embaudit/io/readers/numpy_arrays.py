"""NumPy's own files: `.npy` stays on disk, `.npz` is read by the names of its arrays."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from embaudit.errors import must_be
from embaudit.io.codecs import npy
from embaudit.io.codecs.arrays import UNNAMED
from embaudit.io.codecs.memory import Memory
from embaudit.io.codecs.npy import Npy
from embaudit.io.codecs.npz import Npz
from embaudit.io.draft import Draft
from embaudit.io.files import existing_file
from embaudit.io.intake import Intake
from embaudit.io.readers.assemble import assemble, looked
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
    files, _, chosen = _beside(path, request)
    model = assemble(files, chosen, path)
    return model if request.left is None else as_kind(model, request.kind)


def look(path: Path, request: Request) -> Intake:
    """Say which arrays become what, from headers alone.

    Raises
    ------
    InputError
        As `read` does.
    """
    if path.suffix.lower() == ".npz":
        return looked(Npz(path), request, path, "npz")
    files, paths, chosen = _beside(path, request)
    found = looked(files, chosen, path, "npy")
    parts = tuple(replace(part, name=str(paths.get(part.name, part.name))) for part in found.parts)
    return replace(found, files=tuple(map(str, paths.values())), parts=parts)


def _beside(path: Path, request: Request) -> tuple[Memory, dict[str, Path], Request]:
    """Open a single array and those beside it, which stay on disk, and ask for them by their options."""
    beside = {option: getattr(request, option) for option in FILES if getattr(request, option) is not None}
    paths = {"weight": path, **{option: existing_file(name) for option, name in beside.items()}}
    files = Memory({option: Npy(file)[UNNAMED] for option, file in paths.items()})
    shape = files.tensors["weight"].shape
    if len(shape) != 2:
        raise must_be(f"{path}", "a matrix, one row an entity", f"shape {shape}")
    names: dict[str, Any] = {option: option for option in beside}
    if request.left is not None:
        return files, paths, Request(kind="factors", right="weight", transpose=request.transpose, **names)
    kind = "head" if request.kind == "auto" and names else "vectors" if request.kind == "auto" else request.kind
    return files, paths, Request(kind=kind, weight="weight", transpose=request.transpose, **names)


def keeps(draft: Draft) -> frozenset[str]:  # noqa: ARG001
    """Nothing but the right factors: `.npy` holds one array."""
    return frozenset()


def write(file: IO[bytes], draft: Draft) -> None:
    """Write the right factors alone as `.npy`."""
    npy.write(file, draft.right)
