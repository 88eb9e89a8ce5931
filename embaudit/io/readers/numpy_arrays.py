"""Arrays in files: `.npy` stays on disk, `.npz` is read by the names of its arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from numpy.typing import NDArray

from embaudit.errors import must_be
from embaudit.io.codecs.arrays import UNNAMED, Arrays
from embaudit.io.codecs.npy import Npy, Npz, write_npy
from embaudit.io.files import existing_file
from embaudit.io.intake import Contents
from embaudit.io.readers.assemble import contents_beside, contents_of
from embaudit.io.readers.layout import FACTORS, plain, squeezed
from embaudit.io.refusals import refuse_unread
from embaudit.io.request import Request
from embaudit.io.saving import Draft

FILES = ("left", "bias", "left_bias")
"""Options that name other files of one array beside a single one."""


class Beside:
    """Arrays that have a file each, under the names of options; none is read before it is asked for."""

    def __init__(self, paths: Mapping[str, Path]) -> None:
        self.homes = paths
        self._files: dict[str, Arrays] = {option: Npy(path) for option, path in paths.items()}
        self.tensors = {option: file.tensors[UNNAMED] for option, file in self._files.items()}

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._files[name][UNNAMED]


def contents(path: Path, request: Request) -> Contents:
    """Determine the fields of the arrays of an `.npz` by their names, or of one array beside files of others.

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
        return contents_of(stored, request, path)
    beside = {option: getattr(request, option) for option in FILES if getattr(request, option) is not None}
    paths = {"weight": path, **{option: existing_file(name) for option, name in beside.items()}}
    for other in paths.values():
        refuse_unread(other)
    files = Beside(paths)
    shape = files.tensors["weight"].shape
    if len(squeezed(shape)) != 2:
        raise must_be(f"{path}", "a matrix, one row an entity", f"shape {shape}", "choose one slice, and save that")
    base = contents_beside(files, request, path)
    fields = {field: replace(x, name=str(paths.get(x.name, x.name))) for field, x in base.fields.items()}
    return replace(base, fields=fields, files=tuple(map(str, paths.values())))


def keeps(draft: Draft) -> frozenset[str]:  # noqa: ARG001
    """Nothing but the right factors: `.npy` holds one array."""
    return frozenset()


def write(file: IO[bytes], draft: Draft) -> None:
    """Write the right factors alone as `.npy`."""
    write_npy(file, draft.right)
