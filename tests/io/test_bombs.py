"""Small files that would unpack to gigabytes, or whose header claims more than the file
holds, are refused at once.
"""

from __future__ import annotations

import gzip
import json
import re
import time
import tracemalloc
import zipfile
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pytest
from fuzz.bombs import BOMBS
from pyarrow import feather, ipc, parquet

import embaudit as ea
from embaudit.blocks import block_cosines
from embaudit.errors import InputError
from embaudit.io import inspect, read_interactions, read_titles

BOMB = "bytes would become .* or more, as those of no model or table do"


def refused_at_once(read, path, match=BOMB):
    start = time.process_time()
    with pytest.raises(InputError, match=match) as error:
        read(path)
    # A second on a machine at rest; whoever unpacks the whole file takes minutes.
    assert time.process_time() - start < 10
    assert str(path) in str(error.value)
    return str(error.value)


@pytest.mark.parametrize(
    ("name", "read", "head", "unit"),
    [
        ("a.csv.gz", read_interactions, b"userId,movieId,rating\n", b"1,1,1\n"),
        ("zeros.csv.gz", read_interactions, b"userId,movieId,rating\n", b"\0"),
        ("title.csv.gz", read_titles, b"movieId,title\n1,", b"a"),
        ("v.vec.gz", ea.load, b"", b"w 1 1 1\n"),
    ],
)
def test_gzip_bombs(tmp_path, name, read, head, unit):
    path = tmp_path / name
    path.write_bytes(gzip.compress(head + unit * (2**23 // len(unit)), mtime=0))
    said = refused_at_once(read, path)
    unpacked = int(re.search(r"become ([\d,]+)", said)[1].replace(",", ""))
    assert unpacked <= 2**23, "reading stopped after at most 8 MiB"


def npz(path, shape, kind=zipfile.ZIP_DEFLATED, size=None, descr="<f8"):
    """Write one array of zeros, whose header says `shape`."""
    with (
        zipfile.ZipFile(path, "w", kind) as archive,
        archive.open("W.npy", "w") as member,
    ):
        np.lib.format.write_array_header_1_0(
            member, {"descr": descr, "fortran_order": False, "shape": shape}
        )
        member.write(bytes(8 * np.prod(shape) if size is None else size))


@pytest.mark.parametrize(
    "read",
    [
        lambda path: ea.load(path).right[0, 0],
        lambda path: block_cosines(path, path).global_cosine,
    ],
)
def test_archives_are_measured_before_they_are_unpacked(tmp_path, read):
    npz(tmp_path / "bomb.npz", (2**19 + 1, 8))  # 32 MiB of zeros
    refused_at_once(read, tmp_path / "bomb.npz")
    npz(tmp_path / "less.npz", (9, 8), size=8)
    refused_at_once(read, tmp_path / "less.npz", "says 576 bytes, and 8 follow")
    npz(tmp_path / "more.npz", (9, 8), size=577)
    refused_at_once(read, tmp_path / "more.npz", "says 576 bytes, and 577 follow")
    for kind in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        npz(tmp_path / f"{kind}.npz", (9, 8), kind)
        refused_at_once(
            read, tmp_path / f"{kind}.npz", r"'W.npy' is packed otherwise\)"
        )
    np.savez_compressed(tmp_path / "fine.npz", W=np.eye(9))
    assert read(tmp_path / "fine.npz") == pytest.approx(1)


@pytest.mark.parametrize("large", ["model.weights.h5", "config.json"])
def test_keras_archives_are_measured_before_they_are_unpacked(tmp_path, large):
    with h5py.File(tmp_path / "weights.h5", "w") as file:
        file["W"] = np.eye(9)
    members = {
        "model.weights.h5": (tmp_path / "weights.h5").read_bytes(),
        "config.json": b"{}",
    }
    members[large] = bytes(2**25 + 1)
    path = tmp_path / "model.keras"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    refused_at_once(ea.load, path)


@pytest.mark.parametrize(
    ("shape", "options"),
    [
        ((2**19 + 1, 8), {"fillvalue": 1.0}),
        ((2**40, 2**10), {"fillvalue": 1.0, "chunks": (64, 8)}),
        ((9, 8), {"chunks": (2**19 + 1, 8), "maxshape": (None, 8)}),
    ],
)
def test_hdf5_datasets_that_take_no_place_in_the_file(tmp_path, shape, options):
    path = tmp_path / "bomb.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("W", shape, "f8", **options)
    assert path.stat().st_size < 2**14
    refused_at_once(lambda path: ea.load(path).right[0, 0], path)
    refused_at_once(inspect, path)


@pytest.mark.slow
@pytest.mark.parametrize("size", [2**24, 2**26])
def test_a_pickle_of_millions_of_operations_is_not_kept_in_memory(tmp_path, size):
    path = tmp_path / "model.pt"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model/data.pkl", b"N" * size)
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match="it is a pickle, which could run code"):
            ea.load(path)
        assert tracemalloc.get_traced_memory()[1] < 2e8
    finally:
        tracemalloc.stop()


def test_a_dictionary_of_one_long_text(tmp_path):
    places = pa.array(np.zeros(1000, np.int32))
    texts = pa.DictionaryArray.from_arrays(places, pa.array(["x" * 10**6]))
    path = tmp_path / "a.parquet"
    written = pa.table({"movieId": np.arange(1000), "title": texts})
    parquet.write_table(written, path, store_schema=False)
    refused_at_once(read_titles, path)


def write_table(path, table, compression):
    if path.suffix == ".parquet":
        is_packed = compression == "zstd"
        kind = compression if is_packed else "none"
        parquet.write_table(table, path, compression=kind, use_dictionary=is_packed)
    elif path.suffix == ".feather":
        feather.write_feather(table, str(path), compression=compression)
    else:
        kind = compression if compression == "zstd" else None
        options = ipc.IpcWriteOptions(compression=kind)
        with ipc.new_stream(path, table.schema, options=options) as file:
            file.write_table(table)


@pytest.mark.parametrize("name", ["a.parquet", "a.feather", "a.arrows"])
def test_tables_that_claim_more_than_memory_holds(tmp_path, name, monkeypatch):
    """A packed table of 48 MB of zeros is refused where 47 MB are free.

    A file that is itself about as large is read in batches instead.
    """
    path, zeros = tmp_path / name, pa.array(np.zeros(10**6))
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(10**7, "f4")), 10)
    table = pa.table({"x": zeros, "v": vectors})
    write_table(path, table, "zstd")
    assert ea.load(path, ignore="x").right.shape == (10**6, 10)
    machine_with_free_memory(monkeypatch, kilobytes=45_898)
    refused_at_once(ea.load, path, "that fits")
    write_table(path, table, "uncompressed")
    assert ea.load(path, ignore="x").right.shape == (10**6, 10)


def machine_with_free_memory(monkeypatch, kilobytes):
    """Let Linux tell of so much free memory."""
    read_text = Path.read_text

    def told(self, *arguments, **options):
        if str(self) == "/proc/meminfo":
            return f"MemTotal: 64000000 kB\nMemAvailable: {kilobytes} kB\n"
        return read_text(self, *arguments, **options)

    monkeypatch.setattr(Path, "read_text", told)


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("many_keys.json", "got 1,000,000 keys, of which at most 638,888 are read"),
        ("many_entries.safetensors", "got 1,200,000 keys, of which at most"),
        ("named_columns.csv", "at most 100,000 columns; got 300,001; write"),
    ],
)
def test_files_of_very_many_small_entries(tmp_path, name, part):
    path = tmp_path / name
    BOMBS[name](path)
    refused_at_once(ea.load, path, part)


def test_a_tensor_without_numbers_of_a_huge_shape(tmp_path):
    entry = {"dtype": "F64", "shape": [2**62, 0], "data_offsets": [0, 0]}
    header = json.dumps({"W": entry}).encode()
    path = tmp_path / "v.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header)
    refused_at_once(ea.load, path, "of a shape that memory can hold")


def test_two_arrays_of_one_name(tmp_path):
    """Readers differ in which of them they take, so neither is taken."""
    path = tmp_path / "v.npz"
    np.savez(path, W=np.eye(9))
    with (
        pytest.warns(UserWarning, match="Duplicate name"),
        zipfile.ZipFile(path, "a") as archive,
    ):
        archive.writestr("W.npy", b"")
    refused_at_once(ea.load, path, "the array 'W' twice")
    rows = np.eye(4)
    entry = '"W":{"dtype":"F64","shape":[4,4],"data_offsets":[0,128]}'
    header = f"{{{entry},{entry}}}".encode()
    path = tmp_path / "v.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header + rows.tobytes())
    refused_at_once(ea.load, path, "the key 'W' twice")
