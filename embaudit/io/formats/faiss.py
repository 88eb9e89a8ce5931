"""FAISS indexes that keep vectors as they were given.

They are flat, in lists (IVFFlat) or in a graph (HNSWFlat), with ids or without.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

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
            "{} must be a whole FAISS index; faiss cannot read it.", File(path)
        ) from error
    finally:
        for name, limit in limits.items():
            getattr(faiss, f"set_deserialization_{name}", int)(limit)
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
    inner, ids = index, None
    if isinstance(index, (faiss.IndexIDMap, faiss.IndexIDMap2)):
        inner, ids = (
            faiss.downcast_index(index.index),
            faiss.vector_to_array(index.id_map),
        )
    storage = (
        faiss.downcast_index(inner.storage)
        if type(inner) is faiss.IndexHNSWFlat
        else inner
    )
    if not index.ntotal or not (
        isinstance(storage, faiss.IndexFlat) or type(storage) is faiss.IndexIVFFlat
    ):
        allowed = (
            "an index that keeps vectors as they are (flat, IVFFlat or HNSWFlat, with "
            "ids or without)"
        )
        got = f"{type(storage).__name__} of {index.ntotal}"
        remedy = "save the vectors that were added to it as .npy or .parquet"
        raise must_be(File(where), allowed, got, remedy)
    if isinstance(storage, faiss.IndexFlat):
        return storage.reconstruct_n(0, storage.ntotal), ids
    # Inverted lists hold vectors by their cell; the numbers that they are kept under
    # are their order.
    contents_of_list = import_module("faiss.contrib.inspect_tools").get_invlist
    lists = [
        contents_of_list(storage.invlists, i) for i in range(storage.invlists.nlist)
    ]
    places, codes = (np.concatenate(arrays) for arrays in zip(*lists, strict=True))
    if len(places) != index.ntotal:
        raise must_be(
            File(where),
            f"a whole FAISS index of {index.ntotal:,} vectors",
            f"{len(places):,} in its lists",
        )
    order = np.argsort(places, kind="stable")
    vectors, places = codes.view(np.float32)[order], places[order]
    if ids is not None:
        # Vectors that were added to the inner index have no id in the outer one.
        if places[0] < 0 or places[-1] >= len(ids):
            place = places[0] if places[0] < 0 else places[-1]
            raise must_be(
                File(where),
                f"a whole FAISS index with {len(ids):,} ids",
                f"a vector of number {place:,} in its lists",
            )
        return vectors, ids[places]
    # Without ids FAISS counts; numbers of rows are no ids.
    return vectors, None if np.array_equal(places, np.arange(len(places))) else places


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
