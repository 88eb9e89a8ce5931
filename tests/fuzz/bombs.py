"""Small files that claim, or unpack to, far more data than a machine can hold."""

from __future__ import annotations

import gzip
import io
import json
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
from pyarrow import ipc, parquet

Writer = Callable[[Path], None]

MANY = 10**6
HUGE = 2**40
UNPACKED = 400 * 2**20
"""Bytes of zeros in a file that is compressed: twice what a reader may take."""
BATCH = 2**20
"""Zeros that are compressed at a time."""


def npy_header(shape: tuple[int, ...]) -> bytes:
    """Return the header of a float64 .npy file."""
    file = io.BytesIO()
    header = {"descr": "<f8", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)
    return file.getvalue()


def write_zip(path: Path, members: dict[str, Iterator[bytes] | bytes]) -> None:
    """Write a zip archive; a member given as an iterator is compressed in pieces."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, content in members.items():
            pieces = [content] if isinstance(content, bytes) else content
            with archive.open(name, "w", force_zip64=True) as member:
                for piece in pieces:
                    member.write(piece)


def repeated(piece: bytes, size: int = UNPACKED) -> Iterator[bytes]:
    """Yield a piece until about `size` bytes are reached."""
    block = piece * (BATCH // len(piece))
    for _ in range(size // len(block)):
        yield block


def zeros(head: bytes = b"") -> Iterator[bytes]:
    """Yield a header and then zeros."""
    yield head
    yield from repeated(b"\0")


# NumPy
# ---------------------------------------------------------------------------------


def npy_shape(path: Path) -> None:
    """Declare 2^43 numbers and hold none."""
    path.write_bytes(npy_header((HUGE, 8)))


def npy_dimensions(path: Path) -> None:
    """Declare an array of a million dimensions in the header."""
    shape = "(" + "1," * MANY + ")"
    text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}}}\n".encode()
    path.write_bytes(b"\x93NUMPY\x02\x00" + struct.pack("<I", len(text)) + text)


def npz_shape(path: Path) -> None:
    """Declare 2^43 numbers and hold none."""
    write_zip(path, {"W.npy": npy_header((HUGE, 8))})


def npz_zeros(path: Path) -> None:
    """Compress a true array of zeros."""
    write_zip(path, {"W.npy": zeros(npy_header((UNPACKED // 64, 8)))})


def npz_understated(path: Path) -> None:
    """Compress zeros and state a small size in the directory of the archive."""
    npz_zeros(path)
    content = bytearray(path.read_bytes())
    entry = content.rindex(b"PK\x01\x02")
    content[entry + 24 : entry + 28] = struct.pack("<I", 1000)
    path.write_bytes(content)


def many_members(path: Path, name: str = "{}.npy") -> None:
    """Write 100,000 empty members."""
    with zipfile.ZipFile(path, "w") as archive:
        for number in range(100_000):
            archive.writestr(zipfile.ZipInfo(name.format(number)), b"")


# Keras and PyTorch
# ---------------------------------------------------------------------


def h5_bytes(write: Writer) -> bytes:
    """Return the content of an HDF5 file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "weights.h5"
        write(path)
        return path.read_bytes()


def keras_weights(path: Path) -> None:
    """Compress zeros in the place of the weights."""
    write_zip(path, {"config.json": b"{}", "model.weights.h5": zeros()})


def keras_config(path: Path) -> None:
    """Compress a configuration of brackets only."""
    weights = h5_bytes(h5_small)
    write_zip(path, {"model.weights.h5": weights, "config.json": repeated(b"[")})


def keras_fill(path: Path) -> None:
    """Hold an HDF5 file whose dataset is its fill value."""
    write_zip(path, {"config.json": b"{}", "model.weights.h5": h5_bytes(h5_fill)})


def pt_operations(path: Path) -> None:
    """Compress a pickle of 400 million operations."""
    write_zip(path, {"model/data.pkl": repeated(b"N")})


def pt_texts(path: Path) -> None:
    """Pickle a list of half a million distinct names, each of which is remembered."""
    names = (f"{number:07d}".encode() for number in range(MANY // 2))
    pieces = b"".join(b"\x8c\x07" + name + b"\x94" for name in names)
    write_zip(path, {"model/data.pkl": b"\x80\x04](" + pieces + b"e."})


def pt_tensor(path: Path) -> None:
    """Declare a tensor of 2^40 rows, whose storage is empty."""
    size = b"\x8a\x06" + HUGE.to_bytes(6, "little")
    storage = b"(U\x07storagectorch\nFloatStorage\nU\x010U\x03cpu" + size + b"tQ"
    shape = size + b"K\x08\x86" + b"K\x08K\x01\x86"
    tensor = b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + b"K\x00" + shape
    pickled = b"\x80\x02}U\x06weight" + tensor + b"\x89N" + b"tRs."
    write_zip(path, {"model/data.pkl": pickled, "model/data/0": b""})


def pt_legacy(path: Path) -> None:
    """Write a pickle of two million operations without an archive."""
    path.write_bytes(b"\x80\x02" + b"N" * (2 * MANY))


def pt_members(path: Path) -> None:
    """Write 100,000 empty storages."""
    many_members(path, "model/data/{}")


# HDF5
# ----------------------------------------------------------------------------------


def h5_small(path: Path) -> None:
    """Write a small dataset."""
    with h5py.File(path, "w") as file:
        file["W"] = np.eye(9)


def h5_fill(path: Path) -> None:
    """Declare 2^43 numbers that are the fill value."""
    with h5py.File(path, "w") as file:
        shape = (HUGE, 8)
        file.create_dataset("W", shape, "f8", fillvalue=1.0, chunks=(64, 8))


def h5_chunks(path: Path) -> None:
    """Compress chunks of zeros."""
    rows = BATCH // 64
    content = zlib.compress(bytes(BATCH), 9)
    with h5py.File(path, "w") as file:
        made = file.create_dataset(
            "W", (UNPACKED // 64, 8), "f8", chunks=(rows, 8), compression=9
        )
        for start in range(0, UNPACKED // 64, rows):
            made.id.write_direct_chunk((start, 0), content)


def h5_nested(path: Path) -> None:
    """Nest 2,000 groups."""
    with h5py.File(path, "w", libver="latest") as file:
        group = file
        for _ in range(2000):
            group = group.create_group("g")
        group["W"] = np.eye(9)


def h5_datasets(path: Path) -> None:
    """Hold 5,000 datasets."""
    with h5py.File(path, "w", libver="latest") as file:
        for number in range(5000):
            file.create_dataset(f"W{number}", (9, 8), "f8")


def h5_loops(path: Path) -> None:
    """Link 20 groups to each other in all ways, so paths never end."""
    with h5py.File(path, "w") as file:
        groups = [file.create_group(f"g{number}") for number in range(20)]
        for group in groups:
            for number, other in enumerate(groups):
                group[f"h{number}"] = other
        file["W"] = np.eye(9)


# Arrow and Parquet
# ---------------------------------------------------------------------


def zero_batch() -> pa.RecordBatch:
    """Return a batch of vectors of zeros."""
    values = pa.array(np.zeros(BATCH, "f4"))
    return pa.record_batch({"v": pa.FixedSizeListArray.from_arrays(values, 8)})


def write_arrow(path: Path, batches: list[pa.RecordBatch], repeats: int = 1) -> None:
    """Write compressed record batches, as a stream for `.arrows`."""
    schema = batches[0].schema
    options = ipc.IpcWriteOptions(compression="zstd")
    start = ipc.new_stream if path.suffix == ".arrows" else ipc.new_file
    with start(path, schema, options=options) as file:
        for _ in range(repeats):
            for batch in batches:
                file.write_batch(batch)


def arrow_zeros(path: Path) -> None:
    """Compress buffers of zeros."""
    write_arrow(path, [zero_batch()], UNPACKED // (4 * BATCH))


def columns(number: int) -> dict[str, pa.Array]:
    """Return so many columns of one number."""
    one = pa.array([1.0])
    return {f"c{place}": one for place in range(number)}


def arrow_columns(path: Path) -> None:
    """Hold 8,000 columns."""
    write_arrow(path, [pa.record_batch(columns(8000))])


def dictionary_batch() -> pa.RecordBatch:
    """Return 1,000 rows that share one text of a megabyte."""
    places = pa.array(np.zeros(1000, np.int32))
    texts = pa.DictionaryArray.from_arrays(places, pa.array(["x" * 10**6]))
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(np.ones(4000)), 4)
    return pa.record_batch({"id": texts, "v": vectors})


def arrow_dictionary(path: Path) -> None:
    """Repeat one long text by a dictionary."""
    write_arrow(path, [dictionary_batch()])


def parquet_dictionary(path: Path) -> None:
    """Repeat one long text by a dictionary."""
    table = pa.Table.from_batches([dictionary_batch()])
    parquet.write_table(table, path, store_schema=False)


def parquet_run(path: Path) -> None:
    """Hold 64 million rows of two equal numbers."""
    schema = pa.schema({"e0": pa.float64(), "e1": pa.float64()})
    zero = pa.array(np.zeros(2**24))
    table = pa.table({"e0": zero, "e1": zero}, schema=schema)
    with parquet.ParquetWriter(path, schema, compression="zstd") as file:
        for _ in range(4):
            file.write_table(table, row_group_size=2**26)


def parquet_nulls(path: Path) -> None:
    """Hold two billion nulls: a run of levels and no value."""
    parquet.write_table(pa.table({"a": pa.nulls(2**31 - 2)}), path)


def parquet_list(path: Path) -> None:
    """Hold one list of 64 million zeros."""
    values = pa.array(np.zeros(2**26, "f4"))
    lists = pa.ListArray.from_arrays(pa.array([0, 2**26], pa.int32()), values)
    parquet.write_table(pa.table({"v": lists}), path, compression="zstd")


def parquet_columns(path: Path) -> None:
    """Hold 8,000 columns."""
    parquet.write_table(pa.table(columns(8000)), path)


def parquet_groups(path: Path) -> None:
    """Hold 5,000 row groups of one row."""
    parquet.write_table(
        pa.table({"e0": np.ones(5000), "e1": np.ones(5000)}), path, row_group_size=1
    )


def parquet_nested(path: Path) -> None:
    """Nest 200 structs."""
    array = pa.array([1.0, 2.0])
    for _ in range(200):
        array = pa.StructArray.from_arrays([array], ["s"])
    parquet.write_table(pa.table({"v": array}), path)


# Text
# ----------------------------------------------------------------------------------


def json_keys(path: Path) -> None:
    """Hold half a million keys without vectors."""
    path.write_text(json.dumps({str(key): [] for key in range(MANY // 2)}))


def json_many_keys(path: Path) -> None:
    """Hold a million keys without vectors."""
    path.write_text(json.dumps({str(key): [] for key in range(MANY)}))


def json_equal(path: Path) -> None:
    """Hold 100,000 equal vectors, so that all neighbours tie."""
    path.write_text(json.dumps([[0.1, 0.2, 0.3, 0.4]] * (MANY // 10)))


def json_empty(path: Path) -> None:
    """Hold a million empty objects."""
    path.write_text("[" + "{}," * MANY + "{}]")


def json_deep(path: Path) -> None:
    """Nest a million lists."""
    path.write_text("[" * MANY + "]" * MANY)


def json_number(path: Path) -> None:
    """Hold one number of a million digits."""
    path.write_text("[[" + "1" * MANY + ", 2], [3, 4]]")


def csv_line(path: Path) -> None:
    """Hold one line of 10 MB."""
    path.write_text("id,a\n1," + "1" * 10**7)


def csv_columns(path: Path) -> None:
    """Hold a million columns and two rows."""
    path.write_text("1,".join("" for _ in range(MANY)) + "1\n" + "1," * MANY + "1\n")


def csv_named_columns(path: Path) -> None:
    """Hold 300,000 columns of numbers below their names."""
    names = ",".join(f"e{number}" for number in range(300_000))
    row = ",".join(["1.5"] * 300_000)
    path.write_text(f"id,{names}\n1,{row}\n2,{row}\n")


def csv_quote(path: Path) -> None:
    """Open a quote that never closes."""
    path.write_text('id,title\n1,"' + "a,b\n" * (MANY // 2))


def gzip_rows(path: Path) -> None:
    """Compress rows without end."""
    with gzip.GzipFile(path, "wb", 1, mtime=0) as file:
        file.write(b"id,e0,e1\n")
        for piece in repeated(b"1,1,1\n"):
            file.write(piece)


def gzip_line(path: Path) -> None:
    """Compress one line without end."""
    with gzip.GzipFile(path, "wb", 1, mtime=0) as file:
        for piece in repeated(b"1"):
            file.write(piece)


def word2vec_header(path: Path) -> None:
    """Declare 10^12 rows and hold one."""
    path.write_bytes(b"1000000000000 4\nword 1 2 3 4\n")


def word2vec_wide(path: Path) -> None:
    """Declare rows of 10^12 numbers."""
    path.write_bytes(b"4 1000000000000\nword 1 2 3 4\n")


def word2vec_binary(path: Path) -> None:
    """Declare 10^12 rows and hold one."""
    path.write_bytes(b"1000000000000 4\nword " + np.ones(4, "f4").tobytes())


# GGUF and safetensors
# ------------------------------------------------------------------


def gguf_head(n_tensors: int, n_keys: int) -> bytes:
    """Return the first bytes of a GGUF file."""
    return b"GGUF" + struct.pack("<IQQ", 3, n_tensors, n_keys)


def gguf_key(number: int) -> bytes:
    """Return a key whose value is one byte."""
    name = f"{number:06d}".encode()
    return struct.pack("<Q", len(name)) + name + struct.pack("<IB", 0, 1)


def gguf_keys(path: Path) -> None:
    """Hold a million keys."""
    path.write_bytes(gguf_head(0, MANY) + b"".join(map(gguf_key, range(MANY))))


def gguf_claimed_keys(path: Path) -> None:
    """Declare 2^40 keys and hold one."""
    path.write_bytes(gguf_head(1, HUGE) + gguf_key(0))


def gguf_claimed_tensors(path: Path) -> None:
    """Declare 2^40 tensors and hold none."""
    path.write_bytes(gguf_head(HUGE, 1) + gguf_key(0))


def gguf_array(path: Path) -> None:
    """Declare an array of 2^40 texts as the value of a key."""
    key = struct.pack("<Q", 1) + b"k" + struct.pack("<IIQ", 9, 8, HUGE)
    path.write_bytes(gguf_head(0, 1) + key + bytes(1000))


def gguf_nested(path: Path) -> None:
    """Nest 100,000 arrays."""
    key = struct.pack("<QcI", 1, b"k", 9)
    path.write_bytes(gguf_head(0, 1) + key + struct.pack("<IQ", 9, 1) * 100_000)


def safetensors(path: Path, header: bytes) -> None:
    """Write a header and no tensor."""
    path.write_bytes(struct.pack("<Q", len(header)) + header)


def safetensors_entries(path: Path, n_entries: int = 100_000) -> None:
    """Hold empty tensors."""
    entry = '"{}":{{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}'
    entries = ",".join(entry.format(number) for number in range(n_entries))
    safetensors(path, b"{" + entries.encode() + b"}")


def safetensors_many_entries(path: Path) -> None:
    """Hold 300,000 empty tensors."""
    safetensors_entries(path, 300_000)


def safetensors_length(path: Path) -> None:
    """Declare a header of 2^60 bytes."""
    path.write_bytes(struct.pack("<Q", 2**60) + b"{}")


def safetensors_deep(path: Path) -> None:
    """Nest a million lists in the header."""
    safetensors(path, b'{"W":' + b"[" * MANY + b"]" * MANY + b"}")


def safetensors_shape(path: Path) -> None:
    """Declare a tensor of 2^43 numbers and hold none."""
    entry = {"dtype": "F32", "shape": [HUGE, 8], "data_offsets": [0, HUGE * 32]}
    safetensors(path, json.dumps({"W": entry}).encode())


BOMBS: dict[str, Writer] = {
    "shape.npy": npy_shape,
    "dimensions.npy": npy_dimensions,
    "shape.npz": npz_shape,
    "zeros.npz": npz_zeros,
    "understated.npz": npz_understated,
    "members.npz": many_members,
    "weights.keras": keras_weights,
    "config.keras": keras_config,
    "fill.keras": keras_fill,
    "members.keras": many_members,
    "operations.pt": pt_operations,
    "texts.pt": pt_texts,
    "tensor.pt": pt_tensor,
    "legacy.pt": pt_legacy,
    "members.pt": pt_members,
    "fill.h5": h5_fill,
    "chunks.h5": h5_chunks,
    "nested.h5": h5_nested,
    "datasets.h5": h5_datasets,
    "loops.h5": h5_loops,
    "zeros.feather": arrow_zeros,
    "zeros.arrows": arrow_zeros,
    "columns.feather": arrow_columns,
    "dictionary.feather": arrow_dictionary,
    "dictionary.parquet": parquet_dictionary,
    "run.parquet": parquet_run,
    "nulls.parquet": parquet_nulls,
    "list.parquet": parquet_list,
    "columns.parquet": parquet_columns,
    "groups.parquet": parquet_groups,
    "nested.parquet": parquet_nested,
    "keys.json": json_keys,
    "many_keys.json": json_many_keys,
    "equal.json": json_equal,
    "empty.json": json_empty,
    "deep.json": json_deep,
    "number.json": json_number,
    "line.csv": csv_line,
    "columns.csv": csv_columns,
    "named_columns.csv": csv_named_columns,
    "quote.csv": csv_quote,
    "rows.csv.gz": gzip_rows,
    "line.vec.gz": gzip_line,
    "header.vec": word2vec_header,
    "wide.vec": word2vec_wide,
    "header.bin": word2vec_binary,
    "keys.gguf": gguf_keys,
    "claimed_keys.gguf": gguf_claimed_keys,
    "claimed_tensors.gguf": gguf_claimed_tensors,
    "array.gguf": gguf_array,
    "nested.gguf": gguf_nested,
    "entries.safetensors": safetensors_entries,
    "many_entries.safetensors": safetensors_many_entries,
    "length.safetensors": safetensors_length,
    "deep.safetensors": safetensors_deep,
    "shape.safetensors": safetensors_shape,
}
"""Name of each file, whose suffix picks the reader, and the function that writes it."""
