"""Matrix Market: a dense matrix in text, one number a line by columns, gzipped or not.

Reference: https://math.nist.gov/MatrixMarket/formats.html.
"""

from __future__ import annotations

import zlib
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.errors import InputError, must_be
from embaudit.io.codecs.arrays import UNNAMED, Read, Tensor
from embaudit.io.codecs.memory import Memory
from embaudit.io.codecs.unpacked import open_bytes

BROKEN = (ValueError, OSError, EOFError, zlib.error, OverflowError, TypeError, IndexError, MemoryError, KeyError)
"""What scipy raises at a file that is cut off or altered."""


class MatrixMarket:
    """The one matrix of a `.mtx` file.

    Raises
    ------
    InputError
        If it is damaged, complex, or sparse, as interactions are.
    """

    def __init__(self, path: Path) -> None:
        from scipy.io import mminfo

        self._path = path
        try:
            rows, columns, entries, layout, field, symmetry = mminfo(path)
        except BROKEN as error:
            raise self._damaged(error) from error
        if layout == "coordinate":
            remedy = f"factorize it: embaudit.ProductPenaltyMF(50).fit(scipy.io.mmread({str(path)!r}).tocsr())"
            got = f"a sparse one with {entries:,} of {rows:,} × {columns:,} entries, as interactions are"
            raise must_be(f"{path}", "a dense matrix, one vector a row", got, f"in Python, {remedy}")
        if field not in ("real", "double", "integer", "unsigned-integer") or symmetry != "general":
            raise must_be(f"{path}", "a general matrix of real numbers", f"a {symmetry} one of {field} numbers")
        self.tensors = {UNNAMED: Tensor((int(rows), int(columns)), "float64")}

    def _damaged(self, error: Exception) -> InputError:
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        return must_be(f"{self._path}", "a whole Matrix Market file", reason, "write it again")

    def __getitem__(self, name: str) -> NDArray[Any]:
        # scipy's reader takes the process down at bytes that are no numbers.
        import pyarrow as pa
        from pyarrow import csv

        rows, columns = self.tensors[name].shape
        try:
            with open_bytes(self._path) as file:
                line = file.readline()
                while line.startswith(b"%") or not line.strip():
                    line = file.readline()
                read = csv.ReadOptions(column_names=["number"])
                kinds = csv.ConvertOptions(column_types={"number": pa.float64()}, strings_can_be_null=False)
                numbers = csv.read_csv(file, read_options=read, convert_options=kinds).column(0)
        except BROKEN as error:
            raise self._damaged(error) from error
        if len(numbers) != rows * columns or numbers.null_count:
            raise must_be(
                f"{self._path}", f"{rows * columns:,} numbers, as it says", f"{len(numbers):,}", "write it again"
            )
        return np.asarray(numbers.to_numpy()).reshape(columns, rows).T

    def open(self, name: str) -> AbstractContextManager[Read]:
        """Read it whole and give out pieces: text has no place for a row."""
        return Memory({name: self[name]}).open(name)
