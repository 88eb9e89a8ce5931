"""Arrays, data frames and AnnData objects in memory."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from embaudit.errors import InputError, Option, Parameter, Sentence, must_be
from embaudit.io.arrays import UNNAMED, Memory, as_array
from embaudit.io.contents import Contents, Source
from embaudit.io.files import existing_file
from embaudit.io.formats import COLUMNS
from embaudit.io.formats.npy import FILES
from embaudit.io.layouts.reading import contents_beside
from embaudit.io.npy import Npy
from embaudit.io.objects.kinds import LiveKind
from embaudit.io.options import Request
from embaudit.io.tables.columns import TableFile, table_of_frame


def is_array(value: Any) -> bool:
    """Return whether an object is an array, a tensor of torch, or nested lists.

    Examples
    --------
    >>> is_array(np.eye(2)), is_array([[1.0]]), is_array({"W": [[1.0]]})
    (True, True, False)
    """
    if isinstance(value, list | tuple | np.ndarray):
        return True
    return hasattr(value, "detach") and hasattr(value, "shape")


def kind_of_table(value: Any) -> LiveKind | None:
    """Return the kind of an array, a data frame or AnnData; None for other objects."""
    if hasattr(value, "obsm") and hasattr(value, "obs_names"):
        return ANNDATA
    # Data frames of pandas, polars and DuckDB have this method of the Arrow protocol.
    # A lazy frame of polars has it once it is collected.
    is_table = hasattr(value, "__arrow_c_stream__") and not hasattr(value, "dtype")
    if is_table or type(value).__name__ == "LazyFrame":
        return FRAME
    return ARRAY if is_array(value) else None


def read_frame(frame: Any, request: Request) -> TableFile:  # noqa: ARG001
    """Take a data frame as a table.

    Raises
    ------
    InputError
        If a column holds values of several types, or two have the same name.
    """
    return table_of_frame(frame)


def read_anndata(data: Any, request: Request) -> Contents:
    """Read one embedding of AnnData, with the names of its observations.

    Raises
    ------
    InputError
        If it has no embedding of the name that the caller gives, or if it does not have
        exactly one and the caller names none.
    """
    name = request.weight
    if name is None and len(data.obsm) == 1:
        name = next(iter(data.obsm))
    if name is not None:
        # Files of AnnData name the embedding by its place.
        name = name.removeprefix("obsm/")
    if name is None or name not in data.obsm:
        names = ", ".join(data.obsm) or "none"
        raise InputError(
            "{} must be one of the embeddings in obsm; they are {}; choose one with "
            "{}.",
            Parameter("weight"),
            names,
            Option("weight"),
        )
    rows = np.asarray(data.obsm[name])
    contents = read_array(rows, replace(request, weight=None))
    ids = Source.from_value("obs_names", np.asarray(data.obs_names))
    return replace(contents, fields={**contents.fields, "right_ids": ids})


def read_array(array: Any, request: Request) -> Contents:
    """Read an array, and the arrays of biases next to it.

    Raises
    ------
    InputError
        If it is several arrays, or no matrix.
    """
    entries = array if isinstance(array, list | tuple) else ()
    if any(getattr(entry, "ndim", 1) > 1 for entry in entries):
        raise must_be(
            "the array",
            "one matrix",
            f"a {type(array).__name__} of arrays",
            Sentence(
                "give the right array, and the left array with {}",
                Option("left", placeholder="ARRAY"),
            ),
        )
    arrays = {"weight": as_array(array)}
    if not np.ndim(arrays["weight"]):
        raise must_be("the array", "one matrix", "a number")
    for name, option in FILES.items():
        values = getattr(request, name)
        if values is not None:
            arrays[name] = as_array(values)
        file = getattr(request, option)
        if file is not None:
            arrays[name] = Npy(existing_file(file))[UNNAMED]
    names = {name: name for name in arrays}
    return contents_beside(Memory(arrays), names, request, "the arrays")


OPTIONS_OF_ARRAYS = (*FILES, *FILES.values(), "transpose")
"""Options of arrays: arrays or files of biases, and the sides that are transposed."""
ARRAY = LiveKind(
    read_array, options=("left", *OPTIONS_OF_ARRAYS), name="array", noun="arrays"
)
FRAME = LiveKind(
    read_frame, options=("left", *COLUMNS), name="data frame", noun="data frames"
)
ANNDATA = LiveKind(
    read_anndata,
    options=("left", "weight", *OPTIONS_OF_ARRAYS),
    name="array",
    noun="arrays",
)
