"""Kilobytes that would fill all memory are refused at once; so is what a header says and the file does not hold."""

from __future__ import annotations

import gzip
import re
import time
import zipfile

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather, ipc, parquet

import embaudit as ea
from embaudit.blocks import block_cosines
from embaudit.errors import InputError
from embaudit.io import read_interactions, read_titles
from embaudit.io.codecs import arrow
from embaudit.io.codecs.unpacked import FREE, TEXT_FREE
from embaudit.io.tables.columns import open_table, read_frame

BOMB = "bytes would become .* or more, as those of no model or table do"


def refused_at_once(read, path, match=BOMB):
    start = time.process_time()
    with pytest.raises(InputError, match=match) as error:
        read(path)
    assert time.process_time() - start < 2, "in a second, on a machine at rest"
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
    assert int(re.search(r"become ([\d,]+)", said)[1].replace(",", "")) <= 2 * TEXT_FREE


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
    npz(tmp_path / "bomb.npz", (FREE // 64 + 1, 8))
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


def test_a_dictionary_of_one_long_text(tmp_path):
    places = pa.array(np.zeros(1000, np.int32))
    texts = pa.DictionaryArray.from_arrays(places, pa.array(["x" * 10**6]))
    path = tmp_path / "a.parquet"
    written = pa.table({"movieId": np.arange(1000), "title": texts})
    parquet.write_table(written, path, store_schema=False)
    refused_at_once(read_titles, path)
    assert open_table(path).names == ("movieId", "title")


@pytest.mark.parametrize("name", ["a.parquet", "a.feather", "a.arrows"])
def test_tables_that_claim_more_than_fits(tmp_path, name, monkeypatch):
    path, zeros = tmp_path / name, pa.array(np.zeros(10**6))
    written = pa.table(
        {
            "x": zeros,
            "v": pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(10**7, "f4")), 10),
        }
    )
    if name.endswith(".parquet"):
        parquet.write_table(written, path, compression="zstd")
    elif name.endswith(".feather"):
        feather.write_feather(written, str(path), compression="zstd")
    else:
        with ipc.new_stream(
            path, written.schema, options=ipc.IpcWriteOptions(compression="zstd")
        ) as file:
            file.write_table(written)
    assert ea.load(path, ignore="x").right.shape == (10**6, 10)
    monkeypatch.setattr(arrow, "available_memory", lambda: 47_000_000)
    refused_at_once(ea.load, path, "that fits")
    refused_at_once(read_frame, path, "that fits")
    # Files that are larger than memory themselves are read in batches.
    monkeypatch.setattr(arrow, "UNPACKED", 10**6)
    assert ea.load(path, ignore="x").right.shape == (10**6, 10)
