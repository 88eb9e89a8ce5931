"""Writing: `save` picks a format by the suffix, and loses nothing in silence.

Vectors may be computed while they are written.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import require_one_of
from embaudit.errors import File, InputError, must_be
from embaudit.io.array_files import open_arrays
from embaudit.io.draft import Draft
from embaudit.io.files import AnyPath, as_path, plain_suffix
from embaudit.io.formats import (
    Format,
    address_of,
    list_formats,
    store_of,
    writer_of,
)
from embaudit.io.loading import load, read
from embaudit.io.outputs import open_output, output_target
from embaudit.io.tables.titles import places_of
from embaudit.model import FactorModel


def save(
    model: FactorModel | Draft,
    path: AnyPath,
    *,
    force: bool = False,
    metric: str | None = None,
) -> None:
    """Write a model in the format that the suffix of the file names.

    A `.npz` file holds all of it, other formats hold vectors, and most of them ids.

    Parameters
    ----------
    model : FactorModel or Draft
        What to write; the rows of a draft may be computed while they are written.
    path : path
        The file, or the address of a table in a store. It appears only when it is
        complete.
    force : bool
        Whether an existing file or table may be replaced.
    metric : {"cosine", "dot"}, optional
        How a store compares the vectors: by default as the model compares its rows.

    Raises
    ------
    InputError
        If the suffix names no format that can be written, the file exists, or the
        format cannot hold the model.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import embaudit as ea
    >>> model = ea.FactorModel.from_vectors([[1.0, 0.0], [0.6, 0.8]], ids=["a", "b"])
    >>> with TemporaryDirectory() as folder:
    ...     ea.save(model, Path(folder, "items.parquet"))
    ...     again = ea.load(Path(folder, "items.parquet"))
    >>> again.right_ids
    array(['a', 'b'], dtype='<U1')
    """
    if not isinstance(model, FactorModel | Draft):
        raise must_be(
            "the model",
            "a FactorModel",
            type(model).__name__,
            "convert an object with load",
        )
    draft = Draft.from_model(model) if isinstance(model, FactorModel) else model
    entry = writer_of(path)
    _require_room(draft, entry, path)
    if entry.tables is not None:
        save_table(draft, path, metric or draft.link.compares, force=force)
        return
    assert entry.write is not None
    with open_output(as_path(path, "the output"), force=force) as file:
        entry.write(file, draft)


METRICS = ("cosine", "dot")
"""Comparisons of rows that every store has."""


def save_table(
    draft: Draft, address: AnyPath, metric: str | None, *, force: bool
) -> Mapping[str, str]:
    """Write vectors as a new table of a store, whole or not at all.

    Returns
    -------
    mapping of str
        Options of `load` that the table needs to be read with its ids.

    Raises
    ------
    InputError
        As `save` does.
    """
    entry = writer_of(address)
    assert entry.tables is not None
    _require_room(draft, entry, address)
    if metric is None:
        raise must_be(
            "vectors written to a store",
            "vectors with a known metric",
            "vectors without a metric",
            "write a file, or pass a metric to `save`",
        )
    require_one_of(metric, "metric", METRICS)
    return entry.tables.write(address_of(address), draft, metric, force)


def kind_of_output(path: AnyPath) -> str:
    """Name the kind of a file or a table.

    Examples
    --------
    >>> kind_of_output("vectors.csv")
    '.csv file'
    """
    entry = writer_of(path)
    if entry.tables is not None:
        return f"table of {entry.name}"
    return f"{plain_suffix(as_path(path, 'the output'))} file"


def _require_room(draft: Draft, entry: Format, path: AnyPath) -> None:
    """Refuse a format that has no room for the fields of a draft."""
    # Two sides have one format; of other losses, the formats that have room for the
    # whole draft are named.
    losses = draft.losses(room_in(entry, draft))
    if "left" in losses:
        raise must_be(
            f"a model saved as a {kind_of_output(path)}",
            "one side only",
            f"{' and '.join(draft.roles)} factors",
            "save it as .npz, or keep one side only",
        )
    if losses:
        roomy = [
            candidate.suffixes[0]
            for candidate in list_formats()
            if candidate.write is not None
            and candidate.is_usable
            and not draft.losses(room_in(candidate, draft))
        ]
        needed = f"a file that can record {next(iter(losses.values()))}"
        raise must_be(
            "the output",
            needed,
            f"a {kind_of_output(path)}",
            f"write {' or '.join(roomy)}",
        )


def room_in(entry: Format, draft: Draft) -> frozenset[str]:
    """Return the fields of a model that a format can hold beside its right factors."""
    entry.require_usable()
    return entry.keeps(draft)


def stored_side(path: Path, side: str) -> Callable[[slice], NDArray[Any]]:
    """Return a reader of consecutive rows of a side of a file that `save` wrote.

    Rows of plain arrays stay in the file.
    """
    if plain_suffix(path) in (".npz", ".npy", ".safetensors"):
        arrays = open_arrays(path)
        name = side
        if side not in arrays.tensors:
            # Formats of one side have one array under a name of their own.
            name = next(iter(arrays.tensors))
        return arrays.place(name).rows
    return load(path, kind="vectors").right.__getitem__


def stored_table(
    path: AnyPath, ids: NDArray[Any], options: Mapping[str, str]
) -> tuple[Callable[[slice], NDArray[Any]], bool]:
    """Return a reader of the rows of a table in the order of some ids.

    A store returns rows in an order of its own.

    Returns
    -------
    rows : callable
        Takes places among the ids.
    are_unit : bool
        True if the store divided the rows by their lengths.

    Raises
    ------
    InputError
        If the table does not hold these ids.
    """
    reading = read(path, kind="vectors", **options)
    stored = reading.model
    stored_ids = np.arange(stored.n_right)
    if stored.right_ids is not None:
        stored_ids = stored.right_ids
    places = places_of(ids, stored_ids)
    if len(places) != len(stored_ids) or (places < 0).any():
        raise InputError(
            "{} must hold the ids that were written; it holds other ids; write it "
            "again.",
            File(path),
        )
    metric = reading.intake.metric
    return (
        lambda rows: stored.right[places[rows]],
        metric is not None and metric.unit_rows,
    )


def remove_output(path: AnyPath) -> None:
    """Remove a file or a table that `save` wrote, if it is there."""
    store = store_of(path)
    if store is not None and store.tables is not None:
        store.tables.remove(address_of(path))
    else:
        Path(path).unlink(missing_ok=True)


def require_output(
    path: AnyPath, *, sides: Literal[1, 2] = 1, force: bool = False
) -> None:
    """Refuse an output that `save` could not write, before the work that leads to it.

    Parameters
    ----------
    path : path
        The file to write.
    sides : {1, 2}
        How many sides the model will have; only `.npz` holds two.
    force : bool
        Whether an existing file may be replaced.

    Raises
    ------
    InputError
        If the suffix names no format that can be written or holds that many sides, or
        the file exists and `force` is not set.

    Examples
    --------
    >>> require_output("vectors.npy")
    >>> require_output("model.npy", sides=2)
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: ... ends in .npz, which holds both sides; got model.npy.
    """
    entry = writer_of(path)
    entry.require_usable()
    if sides == 2 and entry.name != "embaudit":
        raise must_be(
            "the output",
            "a file that ends in .npz, which holds both sides",
            path,
        )
    if entry.tables is not None:
        entry.tables.require_new(address_of(path), force)
    else:
        output_target(path, force=force)
