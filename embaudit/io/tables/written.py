"""Tables of results as the content of a file: Parquet, Feather, CSV and TSV."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

PARQUET = (".parquet", ".pq")
FEATHER = (".feather", ".arrow", ".ipc")
SEPARATORS = {".csv": ",", ".tsv": "\t"}
TABLES = (*PARQUET, *FEATHER, *SEPARATORS)
"""Suffixes of files that hold a table of results."""


def write_table(frame: pd.DataFrame, suffix: str) -> str | bytes:
    r"""Return the content of a file that holds a table, without its index.

    Parameters
    ----------
    frame : DataFrame
        The table.
    suffix : str
        One of `TABLES`.

    Returns
    -------
    str or bytes
        Text for CSV and TSV.

    Examples
    --------
    >>> import pandas as pd
    >>> write_table(pd.DataFrame({"id": ["a"], "runs": [3]}), ".csv")
    'id,runs\na,3\n'
    """
    if suffix in SEPARATORS:
        return frame.to_csv(index=False, sep=SEPARATORS[suffix], lineterminator="\n")
    import pyarrow as pa
    from pyarrow import feather, parquet

    table = pa.Table.from_pandas(frame, preserve_index=False)
    content = pa.BufferOutputStream()
    if suffix in PARQUET:
        parquet.write_table(table, content)
    else:
        feather.write_feather(table, content)
    return bytes(content.getvalue())
