"""Models as people have them: a model, a path, arrays, a data frame, or a trained object of another library."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from embaudit.errors import (
    InputError,
    Option,
    Parameter,
    Sentence,
    must_be,
    with_taker,
    without_secrets,
)
from embaudit.io.arrays import UNNAMED, Memory, as_array
from embaudit.io.contents import Contents
from embaudit.io.damaged import reason
from embaudit.io.files import AnyPath, existing_file, together
from embaudit.io.formats import COLUMNS
from embaudit.io.formats.npy import FILES
from embaudit.io.formats.tables import contents_of_table
from embaudit.io.intake import Intake, Reading
from embaudit.io.layouts.reading import contents_beside
from embaudit.io.loading import read, reading_of, require_options, with_left
from embaudit.io.npy import Npy
from embaudit.io.objects.live import read_object
from embaudit.io.options import Request
from embaudit.io.tables.arrow import ArrowTable
from embaudit.io.tables.columns import TableFile
from embaudit.model import FactorModel

Given: TypeAlias = FactorModel | AnyPath | object


def as_reading(source: Given, **options: Any) -> tuple[FactorModel, Intake | None]:
    """Return a model as `as_model` does, and its intake where it was read from a file or an object.

    Options are those of `load`. `left` can also be an array or a data frame itself, and
    beside an array `bias` and `left_bias` are arrays.

    Examples
    --------
    >>> as_reading(FactorModel.from_vectors([[1.0, 2.0]]))
    (FactorModel(1 item, 2 dimensions, identity link, float64, no users), None)
    >>> as_reading(np.eye(2), left=np.ones((3, 2)), ids=["a", "b"])[0]
    FactorModel(3 users × 2 items, 2 dimensions, identity link, float64)
    """
    options = {name: value for name, value in options.items() if value is not None}
    if isinstance(source, FactorModel | Reading):
        if options:
            raise InputError(
                "{} must be left out beside a model, which says it; use its replace.",
                Parameter(next(iter(options))),
            )
        return (
            (source, None)
            if isinstance(source, FactorModel)
            else (source.model, source.intake)
        )
    reading = _read(source, options)
    return reading.model, reading.intake


def _read(source: Any, options: dict[str, Any]) -> Reading:
    """Read a path, an AnnData object, a data frame, arrays or an object of a library."""
    options = _with_contents_of_left(options)
    if _is_path(source):
        return read(source, **options)
    contents = _in_memory(source, options)
    if contents is None:
        return read_object(source, **options)
    fields, request, name = contents
    return reading_of(*with_left(fields, request), name)


def _with_contents_of_left(options: dict[str, Any]) -> dict[str, Any]:
    """Replace left factors that are an array or a data frame by their contents.

    The name of an array stays as it is.
    """
    left = options.get("left")
    if left is None or isinstance(left, str):
        return options
    turned = {}
    if options.get("transpose") in ("left", "both", True):
        turned = {"transpose": "right"}
    contents = None if _is_path(left) else _in_memory(left, turned)
    if contents is None:
        remedy: str | Sentence = ""
        if _is_path(left):
            remedy = Sentence("give a file as {}", Option("left_file", str(left)))
        raise must_be(
            "left",
            "an array, a data frame or the name of an array",
            type(left).__name__,
            remedy,
        )
    if "left_file" in options:
        raise InputError(
            "{} must be left out beside {}; both give the left side.",
            Parameter("left"),
            Option("left_file"),
        )
    others = {name: value for name, value in options.items() if name != "left"}
    return {**others, "left_file": contents[0]}


def _is_path(source: object) -> bool:
    return isinstance(source, (str, os.PathLike)) or _is_list_of_paths(source)


def _is_list_of_paths(source: object) -> bool:
    return isinstance(source, (list, tuple)) and all(
        isinstance(item, (str, os.PathLike)) for item in source
    )


def _in_memory(
    source: Any, options: dict[str, Any]
) -> tuple[Contents, Request, str] | None:
    """Return the fields that AnnData, a data frame or an array holds, with the options and a name; else None."""
    if hasattr(source, "obsm") and hasattr(source, "obs_names"):
        return _of_anndata(source, options)
    # Pandas, polars and DuckDB give tables of Arrow by this protocol; a lazy frame is
    # collected first.
    frame = source.collect() if type(source).__name__ == "LazyFrame" else source
    if hasattr(frame, "__arrow_c_stream__") and not hasattr(frame, "dtype"):
        return _of_frame(frame, options)
    if isinstance(source, (list, tuple, np.ndarray)) or (
        hasattr(source, "detach") and hasattr(source, "shape")
    ):
        return _of_array(source, options)
    return None


def _of_frame(frame: Any, options: dict[str, Any]) -> tuple[Contents, Request, str]:
    """Read a data frame as a table in a file is read."""
    import pyarrow as pa

    if type(frame).__module__.partition(".")[0] == "pandas":
        # Row numbers are no ids; any other index is.
        counted = (
            type(frame.index).__name__ == "RangeIndex" and frame.index.name is None
        )
        try:
            frame = pa.Table.from_pandas(frame, preserve_index=not counted)
        except (ValueError, TypeError) as error:
            what, remedy = (
                "columns of one type each, called by different names",
                "repair it, or leave that column out",
            )
            raise must_be("the data frame", what, reason(error), remedy) from error
    table = ArrowTable.of(Path("the data frame"), pa.table(frame))
    request = Request.of(options.pop("kind", "auto"), options)
    require_options(request, ("left", *COLUMNS), "data frames")
    return contents_of_table(TableFile.of(table), request), request, "data frame"


def _of_anndata(data: Any, options: dict[str, Any]) -> tuple[Contents, Request, str]:
    """Read one embedding of AnnData, with the names of its observations."""
    name = options.pop("weight", None) or (
        next(iter(data.obsm)) if len(data.obsm) == 1 else None
    )
    if name is None or name.removeprefix("obsm/") not in data.obsm:
        names = ", ".join(data.obsm) or "none"
        raise InputError(
            "{} must be one of the embeddings in obsm; they are {}; choose one with {}.",
            Parameter("weight"),
            names,
            Option("weight"),
        )
    return _of_array(
        np.asarray(data.obsm[name.removeprefix("obsm/")]),
        {"ids": np.asarray(data.obs_names), **options},
    )


def _of_array(array: Any, options: dict[str, Any]) -> tuple[Contents, Request, str]:
    """Read arrays as those of a file are read whose names the caller says."""
    if isinstance(array, (list, tuple)) and any(
        getattr(x, "ndim", 1) > 1 for x in array
    ):
        got = f"a {type(array).__name__} of arrays"
        raise must_be(
            "the array",
            "one matrix",
            got,
            Sentence(
                "give the right one, and the other with {}",
                Option("left", placeholder="ARRAY"),
            ),
        )
    arrays = {"weight": as_array(array)}
    for name, option in FILES.items():
        values, file = options.pop(name, None), options.pop(option, None)
        if values is not None and file is not None:
            raise InputError(
                "{} must be left out beside {}; both give the same.",
                Parameter(name),
                Option(option),
            )
        if _is_path(values):
            remedy = Sentence("give a file as {}", Option(option, str(values)))
            raise must_be(name, "an array beside an array", repr(values), remedy)
        if values is not None:
            arrays[name] = as_array(values)
        if file is not None:
            arrays[name] = Npy(existing_file(file))[UNNAMED]
    request = Request.of(options.pop("kind", "auto"), options)
    require_options(request, ("left", *FILES, *FILES.values(), "transpose"), "arrays")
    names = {name: name for name in arrays}
    return (
        contents_beside(Memory(arrays), names, request, "the arrays"),
        request,
        "array",
    )


def model_and_intake(source: Given) -> tuple[FactorModel, Intake | None]:
    """Return a model and its intake for a function that takes no options of reading.

    Raises
    ------
    InputError
        If the file cannot be read or the object is of no known kind. A sentence that
        names options says which function takes them.
    """
    try:
        return as_reading(source)
    except InputError as error:
        if isinstance(source, FactorModel | Reading):
            raise
        raise with_taker(error, _taker(source)) from error


def _taker(source: object) -> str:
    """Return the function that reads a source with options."""
    if _is_path(source):
        return "embaudit.load"
    is_array = isinstance(source, (list, tuple)) or hasattr(source, "shape")
    return f"embaudit.io.{'as_reading' if is_array else 'from_object'}"


def as_model(source: Given) -> FactorModel:
    """Return a model as it is, read one from a path, or take one from arrays, a data frame or an object.

    Parameters
    ----------
    source : FactorModel, path, array, data frame, object or Reading
        What `load` or `from_object` takes; call them yourself where something has to be
        said about it.

    Raises
    ------
    InputError
        If the file cannot be read or the object is of no known kind.

    Examples
    --------
    >>> as_model({"W": [[1.0, 2.0]]})
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: ...
    """
    return model_and_intake(source)[0]


def source_of(source: object) -> str | None:
    """Return where a model comes from: its path, or the folder of its files, if that is what was given.

    Examples
    --------
    >>> source_of("model.npz"), source_of(["shards/a.parquet", "shards/b.parquet"]), source_of(object())
    ('model.npz', 'shards', None)
    """
    if _is_list_of_paths(source) and source:
        folder = together(map(Path, source))[0]  # type: ignore[call-overload]
        return without_secrets(str(folder))
    if not isinstance(source, (str, os.PathLike)):
        return None
    return without_secrets(os.fspath(source))
