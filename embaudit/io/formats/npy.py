"""Arrays in files: `.npy` stays on disk, `.npz` is read by the names of its arrays."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import IO

from embaudit.errors import File, must_be
from embaudit.io.arrays import UNNAMED, Memory
from embaudit.io.contents import Contents
from embaudit.io.draft import Draft
from embaudit.io.files import existing_file
from embaudit.io.formats import ARRAYS, register, register_writer
from embaudit.io.layouts.layout import squeezed
from embaudit.io.layouts.reading import contents_beside
from embaudit.io.layouts.recipes import is_factor
from embaudit.io.npy import Npy, Npz, write_npy
from embaudit.io.options import Request
from embaudit.io.refusals import refuse_foreign
from embaudit.io.tables.sparse import refuse_sparse

FILES = {"bias": "bias_file", "left_bias": "left_bias_file"}
"""Options of files next to a file of one array, by the array that each holds."""


@register(
    "npz",
    suffixes=(".npz",),
    origin="named NumPy arrays",
    content="factors, head, vectors",
    options=ARRAYS,
)
def read_npz(path: Path, request: Request) -> Npz:  # noqa: ARG001
    """Open an archive of named arrays.

    Raises
    ------
    InputError
        If the file is damaged, or one of two factors is pickled.
    """
    stored = Npz(path)
    refuse_sparse(path, stored.tensors)
    for name in stored.pickled:
        if is_factor(name):
            # Refused there, because half of a pair must not pass for the whole.
            stored[name]
    return stored


@register(
    "npy",
    suffixes=(".npy",),
    origin="one NumPy array, kept on disk",
    content="vectors, others beside",
    options=("left_bias_file", "bias_file", "transpose"),
)
def read_npy(path: Path, request: Request) -> Contents:
    """Determine the fields of one array, and of the files of biases next to it.

    Raises
    ------
    InputError
        If a file is damaged, or the array is no matrix.
    """
    names = {"weight": str(path)}
    for array, option in FILES.items():
        file = getattr(request, option)
        if file is not None:
            names[array] = str(existing_file(file))
    for name in names.values():
        refuse_foreign(Path(name))
    arrays = Memory({name: Npy(Path(name))[UNNAMED] for name in names.values()})
    shape = arrays.tensors[str(path)].shape
    if len(squeezed(shape)) != 2:
        raise must_be(
            File(path),
            "a matrix with one row per entity",
            f"shape {shape}",
            "save one slice as a matrix",
        )
    contents = contents_beside(arrays, names, request, path)
    return replace(contents, files=tuple(names.values()))


def keeps(draft: Draft) -> frozenset[str]:  # noqa: ARG001
    """Nothing but the right factors: `.npy` holds one array."""
    return frozenset()


@register_writer("npy", keeps)
def write(file: IO[bytes], draft: Draft) -> None:
    """Write the right factors alone as `.npy`."""
    write_npy(file, draft.right)
