"""Whole tables as data frames, whatever holds them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from embaudit.errors import InputError, must_be
from embaudit.io.codecs.arrow import SUFFIXES, ArrowTable
from embaudit.io.codecs.delimited import BY_SUFFIX, sniff
from embaudit.io.files import on_this_machine
from embaudit.io.refusals import refuse_pickles

if TYPE_CHECKING:
    import pandas as pd


def read_frame(table: Any) -> pd.DataFrame:
    """Return a data frame from one, from a mapping of columns, or from a file of text, Parquet, Feather or Arrow.

    Raises
    ------
    InputError
        If a file is absent, of another kind or broken.

    Examples
    --------
    >>> read_frame({"x": [1, 2], "y": [3, 4]}).shape
    (2, 2)
    """
    import pandas as pd

    if isinstance(table, pd.DataFrame):
        return table
    if isinstance(table, Mapping):
        try:
            return pd.DataFrame({str(name): np.asarray(column) for name, column in table.items()})
        except ValueError as error:
            raise must_be("the columns of the table", "of one length", "different ones") from error
    if not isinstance(table, (str, os.PathLike)):
        raise must_be("the table", "a data frame, a mapping of columns or a path", type(table).__name__)
    path = on_this_machine(table, "the table")
    if not path.is_file():
        raise must_be("the table", "an existing file", str(path))
    refuse_pickles(path)
    # Before a suffix such as .gz, which pandas unpacks.
    kind = next((s for s in map(str.lower, path.suffixes[::-1]) if s in (*BY_SUFFIX, *SUFFIXES)), "")
    if not kind:
        raise must_be("the table", "a .csv, .tsv or .parquet file", path.name)
    try:
        return _of_text(path, BY_SUFFIX[kind]) if kind in BY_SUFFIX else ArrowTable.open(path).to_pandas()
    except InputError:
        raise
    except (ValueError, OSError) as error:
        raise must_be(path.name, f"a readable {kind} table", str(error).splitlines()[0]) from error


def _of_text(path: Path, usual: str) -> pd.DataFrame:
    """Read text with pandas: the usual separator stands unless the header does without it."""
    import pandas as pd

    try:
        source = sniff(path, header=True)
    except InputError:  # what no separator cuts evenly, pandas may still read, or says why not
        return pd.read_csv(path, sep=usual)
    other = len(source.separator) == 1 and not any(usual in name for name in source.names or ())
    return pd.read_csv(path, sep=source.separator if other else usual, encoding=source.encoding)
