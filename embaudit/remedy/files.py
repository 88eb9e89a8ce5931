"""Writing factors that are computed while they are written, a chunk of rows at a time, and looking them up again.

What `embaudit.io` writes it holds in memory; the files made here are the same ones, readable by `embaudit.io.load`.
"""

from __future__ import annotations

import json
import zipfile
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, TypeAlias

import numpy as np

from embaudit.errors import must_be
from embaudit.foundation.progress import track
from embaudit.io.files import plain_suffix, written_whole
from embaudit.io.readers.native import MARK, VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from embaudit.foundation.checked import Matrix
    from embaudit.io.files import AnyPath

Blocks: TypeAlias = "Iterator[tuple[slice, Matrix]]"
SUFFIXES = (".npz", ".npy", ".safetensors", ".parquet", ".pq")
"""Formats that can be written a chunk at a time."""
SAFETENSORS = {"<f8": "F64", "<f4": "F32", "<i8": "I64"}


@dataclass(frozen=True)
class Stream:
    """Rows that are computed when they are asked for."""

    shape: tuple[int, int]
    """Rows and columns."""
    dtype: np.dtype[Any]
    """float32 or float64."""
    blocks: Callable[[], Blocks]
    """Starts computing: yields `(rows, block)` in order."""
    n_blocks: int | None = None
    """How many blocks there will be, where that is known."""

    def rows(self) -> Iterator[NDArray[Any]]:
        """Yield the rows as contiguous little-endian blocks, announcing progress."""
        done = track(self.blocks(), "writing vectors", self.n_blocks)
        for _, block in done:
            yield np.ascontiguousarray(block, dtype=self.dtype.newbyteorder("<"))


def write_npz(
    path: AnyPath, streams: Mapping[str, Stream], arrays: Mapping[str, NDArray[Any]], *, force: bool = False
) -> None:
    """Write embaudit's own model file: `left`, `right` or both streamed, all else as given.

    Parameters
    ----------
    path : path
        A file that ends in `.npz`.
    streams : mapping of str to Stream
        "right", and "left" where there is one.
    arrays : mapping of str to array
        Link, roles, offset, biases, ids and names under the fields' names.
    force : bool
        Whether an existing file may be replaced.
    """
    with written_whole(path, force=force) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, array in {MARK: np.array(VERSION), **arrays}.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)
        for name, stream in streams.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                _write_npy(member, stream)


def _write_npy(file: IO[bytes], stream: Stream) -> None:
    header = {"descr": stream.dtype.newbyteorder("<").str, "fortran_order": False, "shape": stream.shape}
    np.lib.format.write_array_header_1_0(file, header)
    for block in stream.rows():
        file.write(block.data.cast("B"))


def write_vectors(path: AnyPath, stream: Stream, ids: NDArray[Any] | None = None, *, force: bool = False) -> None:
    """Write one table of vectors as `.npy`, `.safetensors` or `.parquet`.

    Parameters
    ----------
    path : path
        Its suffix names the format.
    stream : Stream
        The rows.
    ids : array of shape (n,), optional
        Unique identifiers. `.npy` has no room for them and `.safetensors` for integers only.
    force : bool
        Whether an existing file may be replaced.

    Raises
    ------
    InputError
        If the suffix is another one, the file exists, or the format has no room for the ids.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from embaudit.io import load
    >>> rows = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> stream = Stream(rows.shape, rows.dtype, lambda: iter([(slice(0, 2), rows)]))
    >>> with TemporaryDirectory() as folder:
    ...     write_vectors(Path(folder, "v.parquet"), stream, np.array(["a", "b"]))
    ...     load(Path(folder, "v.parquet")).right_ids
    array(['a', 'b'], dtype='<U1')
    """
    from pathlib import Path

    writers = {".npy": _npy, ".safetensors": _safetensors, ".parquet": _parquet, ".pq": _parquet}
    suffix = plain_suffix(Path(path))
    if suffix not in writers:
        raise must_be("the output", "a file that ends in one of " + " ".join(writers), path)
    _require_room(suffix, ids)
    with written_whole(path, force=force) as file:
        writers[suffix](file, stream, ids)


def _require_room(suffix: str, ids: NDArray[Any] | None) -> None:
    """Refuse to lose ids in silence."""
    elsewhere = "use .npz, .parquet or .txt, or drop the ids"
    if ids is not None and suffix == ".npy":
        raise must_be("ids in a .npy file", "absent, it holds one array", f"{len(ids)} of them", elsewhere)
    if ids is not None and suffix == ".safetensors" and ids.dtype.kind not in "iu":
        raise must_be("ids in a .safetensors file", "integers", f"text such as {str(ids[0])!r}", elsewhere)


def _npy(file: IO[bytes], stream: Stream, ids: NDArray[Any] | None) -> None:
    del ids
    _write_npy(file, stream)


def _safetensors(file: IO[bytes], stream: Stream, ids: NDArray[Any] | None) -> None:
    parts = {"item_factors.weight": (stream.dtype.newbyteorder("<").str, stream.shape)}
    if ids is not None:
        parts["item_ids"] = ("<i8", (len(ids),))  # type: ignore[assignment]
    header: dict[str, Any] = {}
    end = 0
    for name, (dtype, shape) in parts.items():
        start, end = end, end + int(np.prod(shape)) * np.dtype(dtype).itemsize
        header[name] = {"dtype": SAFETENSORS[dtype], "shape": list(shape), "data_offsets": [start, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    file.write(len(text).to_bytes(8, "little") + text)
    for block in stream.rows():
        file.write(block.data.cast("B"))
    if ids is not None:
        file.write(ids.astype("<i8").tobytes())


def _parquet(file: IO[bytes], stream: Stream, ids: NDArray[Any] | None) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    n, k = stream.shape
    names = pa.array(np.arange(n) if ids is None else ids)
    numbers = pa.from_numpy_dtype(stream.dtype)
    schema = pa.schema([("id", names.type), ("vector", pa.list_(numbers, k))])
    options = {"compression": "none", "use_dictionary": False, "write_statistics": False}
    with parquet.ParquetWriter(file, schema, **options) as writer:
        start = 0
        for block in stream.rows():
            vectors = pa.FixedSizeListArray.from_arrays(pa.array(block.reshape(-1)), k)
            writer.write_batch(pa.record_batch([names.slice(start, len(block)), vectors], schema=schema))
            start += len(block)


def stored_rows(path: Path, name: str, rows: slice) -> NDArray[Any]:
    """Read some rows back from a file written here, without reading the others.

    Parameters
    ----------
    path : Path
        The file.
    name : str
        Which array of an `.npz`: "left" or "right".
    rows : slice
        Consecutive rows.

    Returns
    -------
    array of shape (len(rows), k)
    """
    suffix = plain_suffix(path)
    if suffix == ".npy":
        return np.array(np.load(path, mmap_mode="r", allow_pickle=False)[rows])
    if suffix == ".npz":
        return _from_npz(path, name, rows)
    if suffix == ".safetensors":
        from safetensors import safe_open

        with safe_open(path, framework="np") as tensors:
            return np.asarray(tensors.get_slice("item_factors.weight")[rows.start : rows.stop])
    return _from_parquet(path, rows)


def _from_npz(path: Path, name: str, rows: slice) -> NDArray[Any]:
    with zipfile.ZipFile(path) as archive:
        start = archive.getinfo(f"{name}.npy").header_offset
    with path.open("rb") as file:
        # A stored member begins after its local header: 30 bytes, its name, its extra field.
        file.seek(start + 26)
        lengths = np.frombuffer(file.read(4), "<u2")
        file.seek(start + 30 + int(lengths.sum()))
        np.lib.format.read_magic(file)
        shape, _, dtype = np.lib.format.read_array_header_1_0(file)
        width = shape[1] * dtype.itemsize
        file.seek(rows.start * width, 1)
        return np.frombuffer(file.read((rows.stop - rows.start) * width), dtype).reshape(-1, shape[1])


def _from_parquet(path: Path, rows: slice) -> NDArray[Any]:
    from pyarrow import parquet

    from embaudit.io.codecs.arrow import stacked

    with parquet.ParquetFile(path) as file:
        lengths = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
        ends = np.cumsum(lengths)
        first, last = np.searchsorted(ends, [rows.start, rows.stop - 1], side="right")
        groups = file.read_row_groups(list(range(first, last + 1)), columns=["vector"])
    start = rows.start - int(ends[first] - lengths[first])
    return stacked(groups.column(0), "vector")[start : start + rows.stop - rows.start]
