"""Ids of rows that a model file does not hold: a file of one id a row, or a column of a table."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import as_count
from embaudit.io.codecs.arrays import UNNAMED
from embaudit.io.codecs.arrow import SUFFIXES
from embaudit.io.codecs.delimited import BY_SUFFIX
from embaudit.io.codecs.npy import Npy
from embaudit.io.files import existing_file, plain_suffix
from embaudit.io.tables.columns import open_table, plain_ids, read_columns
from embaudit.io.tables.labels import read_labels
from embaudit.io.tables.titles import ID_NAMES, require_rows


def split_column(text: str) -> tuple[Path, str | None]:
    """Split FILE:COLUMN into both.

    Examples
    --------
    >>> split_column("no-such-table.csv:movieId")[1], split_column("no-such-list.txt")[1]
    ('movieId', None)
    >>> split_column("s3://models/movies.csv")[1], split_column("s3://models/movies.csv:movieId")[1]
    (None, 'movieId')
    """
    path, colon, column = text.rpartition(":")
    # The colon of a URL is followed by slashes.
    named = colon and not column.startswith("/") and not Path(text).exists()
    return (Path(path), column) if named else (Path(text), None)


def read_ids(source: Any, n_rows: int, *, what: str = "item") -> NDArray[Any]:
    r"""Read one id for each row, in their order.

    Parameters
    ----------
    source : str or array
        The ids, or FILE or FILE:COLUMN: a table, whose column of ids has a customary name where none is given; or one
        id a line, a JSON list or map as `read_labels` takes it, or a `.npy` array.
    n_rows : int
        How many there must be.
    what : str
        What a row is called in an error.

    Raises
    ------
    InputError
        If the file cannot be read, holds another number of ids, or leaves open which column they are in.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "movies.csv")
    ...     _ = file.write_text("movieId,title\n70,Heat\n3,Ran\n")
    ...     read_ids(f"{file}:movieId", 2)
    array([70,  3])
    """
    as_count(n_rows, "n_rows")
    if not isinstance(source, (str, os.PathLike)):
        return np.asarray(source)
    path, column = split_column(os.fspath(source))
    where = existing_file(path)
    if column is None and where.suffix.lower() == ".npy":
        ids: NDArray[Any] = Npy(where)[UNNAMED]
    elif column is not None or plain_suffix(where) in (*BY_SUFFIX, *SUFFIXES):
        table = open_table(where, customary=ID_NAMES)
        position = table.column("id", column, ID_NAMES, 0)
        ids = plain_ids(table, read_columns(table, {position: "id"})[position], position)
    else:
        ids = read_labels(where, n_rows, what=what)
        ids = ids.astype(np.int64) if all(each.isdecimal() for each in ids.tolist()) else ids
    require_rows(len(ids) if ids.ndim == 1 else f"shape {ids.shape}", n_rows, where, f"{what} ids")
    return ids
