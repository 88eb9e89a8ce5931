"""FAISS indexes.

Models are read from indexes that keep vectors as they were given: flat, in lists
(IVFFlat) or in a graph (HNSWFlat), with ids or without. The codes of a compressed index
stand for other vectors, which `decoded_vectors` returns.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from embaudit.core.tolerances import FLOAT32_ORTHONORMAL
from embaudit.errors import File, InputError, must_be
from embaudit.io.contents import Contents, Source
from embaudit.io.draft import Draft
from embaudit.io.formats import register, register_writer
from embaudit.io.intake import Metric
from embaudit.io.options import Request

LIMITS = ("loop_limit", "vector_byte_limit")
"""Limits of faiss, from 1.14 on, while it reads: vectors of vectors, and bytes of each
vector.
"""
TABLES = ("IO_FLAG_SKIP_PRECOMPUTE_TABLE", "IO_FLAG_PQ_SKIP_SDC_TABLE")
"""Flags to leave out the tables that faiss computes for searches in compressed indexes.
"""


@register(
    "faiss",
    suffixes=(".faiss", ".index"),
    origin="FAISS: Flat, IVFFlat, HNSWFlat",
    content="vectors, ids, metric",
    extra="faiss",
)
def read(path: Path, request: Request) -> Contents:  # noqa: ARG001
    """Determine the vectors of an index, and the ids it was given.

    An index has no header, so it is opened for that.

    Raises
    ------
    InputError
        If it is damaged, empty, or a compressed index, whose vectors are other ones.
    """
    index = opened(path)
    vectors, ids = vectors_of(index, path)
    metric = metric_of(index)
    fields = {
        "right": Source(
            f"the vectors of {type(index).__name__}", lambda: vectors, vectors.shape
        )
    }
    if ids is not None:
        fields["right_ids"] = Source("its ids", lambda: ids, ids.shape)
    return Contents(fields, metric=metric)


def opened(path: Path) -> Any:
    """Open an index.

    Raises
    ------
    InputError
        If the file is damaged.
    """
    faiss = import_module("faiss")
    # A header may say that it is followed by more than the file holds; faiss would ask
    # for the memory. Tables that are computed while a file is read can be larger than
    # the file, so they are left out.
    flags = sum(getattr(faiss, flag, 0) for flag in TABLES)
    limits = {
        name: getattr(faiss, f"get_deserialization_{name}", int)() for name in LIMITS
    }
    try:
        for name in LIMITS:
            getattr(faiss, f"set_deserialization_{name}", int)(path.stat().st_size)
        index = faiss.read_index(str(path), flags)
    except (RuntimeError, MemoryError) as error:
        raise InputError(
            "{} must be a valid FAISS index; faiss cannot read it; write it again.",
            File(path),
        ) from error
    finally:
        for name, limit in limits.items():
            getattr(faiss, f"set_deserialization_{name}", int)(limit)
    return index


def metric_of(index: Any) -> Metric:
    """Return the metric that the header of an index states."""
    faiss = import_module("faiss")
    names = {faiss.METRIC_INNER_PRODUCT: "dot", faiss.METRIC_L2: "l2"}
    number = int(index.metric_type)
    name = names.get(number, f"metric {number} of FAISS")
    return Metric(name, "the header of the index")


def vectors_of(
    index: Any, where: object
) -> tuple[NDArray[Any], NDArray[np.int64] | None]:
    """Return the vectors of an index in the order of their ids, and the ids.

    The ids are None if the index was given none.

    Raises
    ------
    InputError
        If it keeps other vectors than it was given, or none.
    """
    faiss = import_module("faiss")
    parts = _parts_of(index)
    keeps_vectors = not parts.transforms and (
        isinstance(parts.storage, faiss.IndexFlat)
        or type(parts.storage) is faiss.IndexIVFFlat
    )
    if not index.ntotal or not keeps_vectors:
        allowed = (
            "an index that keeps vectors as they are (flat, IVFFlat or HNSWFlat, with "
            "ids or without)"
        )
        remedy = (
            "save the vectors that were added to it as .npy or .parquet; `embaudit "
            "compare VECTORS INDEX --copy` says which neighbour lists this index keeps"
        )
        raise must_be(File(where), allowed, f"{parts.kind} of {index.ntotal}", remedy)
    if isinstance(parts.storage, faiss.IndexFlat):
        return parts.storage.reconstruct_n(), parts.id_map
    decoded = decoded_vectors(index, where)
    return decoded.rows[:], decoded.ids


@dataclass(frozen=True, eq=False)
class _Parts:
    """The parts of an index, as objects of their own classes."""

    kind: str
    """Class of the index inside a map of ids."""
    id_map: NDArray[np.int64] | None
    """(n,) ids of a map of ids; None without one."""
    transforms: list[Any]
    """Transforms of a vector before it is stored, in this order."""
    storage: Any
    """The part that holds vectors or their codes."""


def _parts_of(index: Any) -> _Parts:
    """Find the part of an index that holds vectors or codes."""
    faiss = import_module("faiss")
    storage = faiss.downcast_index(index)
    id_map = None
    if isinstance(storage, (faiss.IndexIDMap, faiss.IndexIDMap2)):
        id_map = faiss.vector_to_array(storage.id_map)
        storage = faiss.downcast_index(storage.index)
    kind = type(storage).__name__
    transforms: list[Any] = []
    if isinstance(storage, faiss.IndexPreTransform):
        chain = storage.chain
        transforms = [
            faiss.downcast_VectorTransform(chain.at(place))
            for place in range(chain.size())
        ]
        storage = faiss.downcast_index(storage.index)
    if isinstance(storage, faiss.IndexHNSW):
        storage = faiss.downcast_index(storage.storage)
    return _Parts(kind, id_map, transforms, storage)


@dataclass(frozen=True, eq=False)
class DecodedRows:
    """Vectors of an index, decoded while they are read."""

    index: Any = field(repr=False)
    """The index. It owns the parts that decode, so it has to live as long as they do.
    """
    parts: _Parts = field(repr=False)
    """Its parts."""
    codes: NDArray[np.uint8] = field(repr=False)
    """(n, bytes) codes, each with its cell if the index has lists."""

    @property
    def shape(self) -> tuple[int, int]:
        """Number of vectors and of columns."""
        return len(self.codes), int(self.index.d)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of decoded vectors."""
        return np.dtype(np.float32)

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, rows: Any, /) -> NDArray[np.float32]:
        codes = np.ascontiguousarray(self.codes[rows])
        vectors: NDArray[np.float32] = self.parts.storage.sa_decode(codes)
        for transform in reversed(self.parts.transforms):
            vectors = transform.reverse_transform(vectors)
        return vectors


@dataclass(frozen=True, eq=False)
class DecodedVectors:
    """The vectors that the codes of an index stand for."""

    rows: DecodedRows
    """(n, k) vectors in the order of their ids."""
    ids: NDArray[np.int64] | None
    """(n,) ids; None if the index was given none."""
    bytes_per_vector: float
    """Bytes of the code of a vector, without its id, its cell and its graph."""


def decoded_vectors(index: Any, where: object) -> DecodedVectors:
    """Return the vectors that the codes of an index stand for.

    A flat index, which keeps vectors as they were given, has them as its codes.

    Raises
    ------
    InputError
        If the index is empty, or of a kind whose codes are not decoded here.
    """
    faiss = import_module("faiss")
    parts = _parts_of(index)
    storage = parts.storage
    has_lists = type(storage) in (
        faiss.IndexIVFFlat,
        faiss.IndexIVFPQ,
        faiss.IndexIVFScalarQuantizer,
    )
    if not index.ntotal:
        raise must_be(File(where), "a FAISS index with vectors", "no vectors")
    if not has_lists and not isinstance(storage, faiss.IndexFlatCodes):
        remedy = _line_that_saves(where, "index")
        if isinstance(storage, faiss.IndexIVFFastScan):
            remedy = "build the index without FastScan, which gives the same codes"
        raise must_be(
            File(where),
            "a FAISS index with vectors that are flat or coded by PQ, SQ or LSH, alone "
            "or in lists or a graph",
            f"{parts.kind} of {index.ntotal}",
            remedy,
        )
    if not all(_is_reversible(transform) for transform in parts.transforms):
        raise must_be(
            File(where),
            "a FAISS index without transforms, or with a rotation or a projection",
            f"{parts.kind} of {index.ntotal} with another transform",
            _line_that_saves(where, "index.index"),
        )
    if has_lists:
        codes, ids = _codes_of_lists(storage, parts.id_map, where)
    else:
        codes = faiss.vector_to_array(storage.codes).reshape(storage.ntotal, -1)
        ids = parts.id_map
    rows = DecodedRows(index, parts, codes)
    return DecodedVectors(rows, ids, float(storage.code_size))


def _line_that_saves(where: object, part: str) -> str:
    """Return advice to save the vectors of a part, such as "index" or "index.index"."""
    line = f'numpy.save("vectors.npy", {part}.reconstruct_n())'
    if isinstance(where, Path):
        # The index needs a name, or Python would free it before its part is used.
        line = f"index = faiss.read_index({str(where)!r}); {line}"
    return f"save its vectors, `{line}`, and use those"


def _is_reversible(transform: Any) -> bool:
    """Return True if the original of a transformed vector can be computed.

    A linear transform is reversed by its transpose, so it must be a rotation or a
    projection. FAISS takes each linear transform of a file for one.
    """
    faiss = import_module("faiss")
    if isinstance(transform, faiss.LinearTransform):
        matrix = faiss.vector_to_array(transform.A)
        matrix = matrix.reshape(transform.d_out, transform.d_in).astype(np.float64)
        if transform.d_out > transform.d_in:
            matrix = matrix.T
        difference = matrix @ matrix.T - np.eye(len(matrix))
        return bool(np.abs(difference).max() <= FLOAT32_ORTHONORMAL)
    others = (
        faiss.NormalizationTransform,
        faiss.CenteringTransform,
        faiss.RemapDimensionsTransform,
    )
    return isinstance(transform, others)


def _codes_of_lists(
    index: Any, id_map: NDArray[np.int64] | None, where: object
) -> tuple[NDArray[np.uint8], NDArray[np.int64] | None]:
    """Return the codes of inverted lists in the order of their numbers, and the ids.

    As `sa_decode` reads it, a code begins with the number of its cell.

    Raises
    ------
    InputError
        If the lists do not hold as many vectors as the index says, or vectors that are
        not in the map of ids.
    """
    contents_of_list = import_module("faiss.contrib.inspect_tools").get_invlist
    n_bytes_of_cell = index.coarse_code_size()
    codes_of_cells, numbers_of_cells = [], []
    for cell in range(index.invlists.nlist):
        numbers_of_cell, codes_of_cell = contents_of_list(index.invlists, cell)
        n_rows = len(numbers_of_cell)
        # Flat lists return numbers of float32 instead of bytes.
        codes_of_cell = codes_of_cell.view(np.uint8).reshape(n_rows, index.code_size)
        cell_bytes = cell.to_bytes(n_bytes_of_cell, "little")
        cell_columns = np.tile(np.frombuffer(cell_bytes, np.uint8), (n_rows, 1))
        codes_of_cells.append(np.hstack([cell_columns, codes_of_cell]))
        numbers_of_cells.append(numbers_of_cell)
    codes, numbers = np.concatenate(codes_of_cells), np.concatenate(numbers_of_cells)
    if len(numbers) != index.ntotal:
        raise must_be(
            File(where),
            f"a complete FAISS index of {index.ntotal:,} vectors",
            f"{len(numbers):,} vectors in its lists",
        )
    order = np.argsort(numbers, kind="stable")
    codes, numbers = codes[order], numbers[order]
    if id_map is None:
        # Without ids FAISS counts; numbers of rows are no ids.
        is_count = np.array_equal(numbers, np.arange(len(numbers)))
        return codes, None if is_count else numbers
    # Vectors that were added to the inner index have no id in the outer one.
    if numbers[0] < 0 or numbers[-1] >= len(id_map):
        number = numbers[0] if numbers[0] < 0 else numbers[-1]
        raise must_be(
            File(where),
            f"a complete FAISS index with {len(id_map):,} ids",
            f"a vector with the number {number:,} in its lists",
        )
    return codes, id_map[numbers]


def keeps(draft: Draft) -> frozenset[str]:
    """Ids that are whole numbers from 0 on, of 64 bits with a sign."""
    ids = draft.fields.get("right_ids")
    whole = (
        ids is not None
        and ids.dtype.kind in "iu"
        and 0 <= ids.min() <= ids.max() < 2**63
    )
    return frozenset({"right_ids"}) if whole else frozenset()


@register_writer("faiss", keeps)
def write(file: IO[bytes], draft: Draft) -> None:
    """Write a flat index for inner products in float32, with ids if there are any."""
    faiss = import_module("faiss")
    flat, ids, start = (
        faiss.IndexFlatIP(draft.right.shape[1]),
        draft.fields.get("right_ids"),
        0,
    )
    index = flat if ids is None else faiss.IndexIDMap2(flat)
    for block in draft.right.rows():
        vectors = np.ascontiguousarray(block, dtype=np.float32)
        if ids is None:
            index.add(vectors)
        else:
            index.add_with_ids(
                vectors, ids[start : start + len(block)].astype(np.int64)
            )
        start += len(block)
    file.write(faiss.serialize_index(index).data)
