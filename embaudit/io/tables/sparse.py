"""Sparse matrices of interactions, as `scipy.sparse.save_npz` writes them."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import numpy as np

from embaudit.errors import File, InputError, Sentence, must_be
from embaudit.io.damaged import READ_ERRORS, unreadable
from embaudit.io.npy import Npz
from embaudit.io.tables.arrow import ArrowTable
from embaudit.io.tables.columns import TableFile

PLACES = ({"indices", "indptr"}, {"row", "col"}, {"coords"}, {"offsets"})
"""Names of the arrays of positions, by format."""


def is_sparse(names: Collection[str]) -> bool:
    """Return True if the arrays of an `.npz` file form a sparse matrix.

    Examples
    --------
    >>> is_sparse(["format", "shape", "data", "indices", "indptr"])
    True
    """
    present = set(names)
    has_numbers = {"format", "shape", "data"} <= present
    return has_numbers and any(places <= present for places in PLACES)


def read_sparse(path: Path) -> TableFile:
    """Read a sparse matrix as a table of users, items and ratings.

    Rows of the matrix are users and columns are items. Their ids are their numbers.

    Raises
    ------
    InputError
        If the file is damaged, is not a sparse matrix, or has a format other than CSR,
        CSC and COO.
    """
    import pyarrow as pa
    from scipy import sparse

    stored = Npz(path)
    if not is_sparse(stored.tensors):
        raise must_be(
            File(path),
            "a table of interactions, or a sparse matrix of scipy.sparse.save_npz",
            f"the arrays {', '.join(stored.tensors)}"
            if stored.tensors
            else "no arrays",
        )
    try:
        kind = np.asarray(stored["format"]).item()
        kind = kind.decode() if isinstance(kind, bytes) else str(kind)
        n_rows, n_columns = (int(n) for n in stored["shape"])
        shape = (n_rows, n_columns)
        if kind in ("csr", "csc"):
            parts = (stored["data"], stored["indices"], stored["indptr"])
            constructor = sparse.csr_matrix if kind == "csr" else sparse.csc_matrix
            matrix = constructor(parts, shape=shape)
            matrix.check_format(full_check=True)
            entries = matrix.tocoo()
        elif kind == "coo" and "coords" not in stored.tensors:
            places = (stored["row"], stored["col"])
            entries = sparse.coo_matrix((stored["data"], places), shape=shape)
        else:
            entries = None
        if entries is not None:
            ratings = np.asarray(entries.data, dtype=np.float64)
            columns = {"user": entries.row, "item": entries.col, "rating": ratings}
            return TableFile.from_arrow(ArrowTable.from_memory(path, pa.table(columns)))
    except InputError:
        raise
    except READ_ERRORS as error:
        raise unreadable(path, "a valid sparse matrix", error) from error
    remedy = "save it with scipy.sparse.save_npz(path, matrix.tocsr())"
    got = Sentence("the format {}", kind)
    raise must_be(File(path), "a sparse matrix in CSR, CSC or COO", got, remedy)


def refuse_sparse(path: Path, names: Collection[str]) -> None:
    """Raise InputError for a sparse matrix in place of a model.

    Raises
    ------
    InputError
        If the arrays of the file are those of a sparse matrix.
    """
    if is_sparse(names):
        raise InputError(
            "{} must be a model or vectors; it is a sparse matrix; if it holds "
            "interactions of users (rows) with items, factorize it first: "
            "`embaudit fit {} --objective product`; if its rows are vectors, write "
            "them in Python: import numpy, scipy.sparse; "
            "numpy.save('vectors.npy', scipy.sparse.load_npz({}).toarray()).",
            File(path),
            File(path),
            repr(str(path)),
        )
