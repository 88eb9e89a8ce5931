"""Vectors in Parquet and Arrow files, and in folders of them."""

from __future__ import annotations

import base64
import struct
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from example_files import npy, refusal, table, write_all
from pyarrow import parquet

from embaudit.errors import InputError
from embaudit.io import inspect, load, read, save
from embaudit.model import FactorModel

if TYPE_CHECKING:
    from pathlib import Path

ROWS = [[1, 2], [3, 4.5]]
IDS = {"id": ["a", "b"]}


@pytest.mark.parametrize("suffix", [".parquet", ".pq", ".feather", ".arrow", ".ipc"])
@pytest.mark.parametrize(
    ("columns", "dtype"),
    [
        ({"v": ROWS}, np.float64),
        ({"v": pa.array(ROWS, pa.list_(pa.float32(), 2))}, np.float32),
        ({"v": pa.array(ROWS, pa.large_list(pa.float64()))}, np.float64),
        ({"e0": [1.0, 3.0], "e1": [2.0, 4.5]}, np.float64),
        ({"e0": pa.array([1, 3], "float32"), "e1": [2.0, 4.5]}, np.float64),
    ],
)
def test_lists_and_numbered_columns(
    tmp_path: Path, suffix: str, columns: Any, dtype: Any
) -> None:
    content = table({"id": pa.array(["a", "b"]).dictionary_encode(), **columns})
    path = tmp_path / f"v{suffix}"
    written = tmp_path / ("t.parquet" if suffix == ".pq" else path.name)
    content(written)  # type: ignore[operator]
    model = load(written.rename(path))
    assert model.right.tolist() == ROWS
    assert model.right.dtype == dtype
    assert model.right_ids.tolist() == ["a", "b"]


def test_titles_and_counts_are_read_if_no_cell_is_empty(tmp_path: Path) -> None:
    whole = {**IDS, "v": ROWS, "title": ["Heat", "Ran"], "interactions": [3, 4]}
    model = load(write_all(tmp_path, {"v.parquet": table(whole)}))
    assert model.right_names.tolist() == ["Heat", "Ran"]
    assert model.right_counts.tolist() == [3, 4]
    path = write_all(tmp_path, {"w.parquet": table({**whole, "title": ["Heat", None]})})
    assert load(path).right_names is None


def test_counts_that_are_text_are_left_over(tmp_path: Path) -> None:
    columns = {**IDS, "v": ROWS, "interactions": ["3", "4"]}
    found = read(write_all(tmp_path, {"v.parquet": table(columns)}))
    assert found.model.right_counts is None
    assert [part.name for part in found.intake.left_over] == ["interactions"]


def test_the_link_and_the_objective_are_kept_in_the_metadata(tmp_path: Path) -> None:
    said = {"embaudit_link": "cosine", "embaudit_objective": "clip"}
    found = read(write_all(tmp_path, {"v.parquet": table({**IDS, "v": ROWS}, **said)}))
    assert (found.model.link.name, found.model.objective) == ("cosine", "clip")
    assert found.intake.training_source.startswith("the metadata in ")


@pytest.mark.parametrize("suffix", [".parquet", ".feather", ".safetensors", ".npz"])
def test_a_file_of_embaudit_keeps_the_nouns_of_its_rows(
    tmp_path: Path, suffix: str
) -> None:
    model = FactorModel.from_vectors(ROWS).replace(roles=("input", "label"))
    path = tmp_path / f"labels{suffix}"
    save(model, path)
    assert load(path).roles == ("input", "label")
    assert load(path, right_name="word").roles == ("input", "word")


def test_rows_of_a_head_are_labels_unless_the_metadata_names_them(
    tmp_path: Path,
) -> None:
    plain = table({**IDS, "v": ROWS})
    words = table({**IDS, "v": ROWS}, embaudit_right_name="word")
    write_all(tmp_path, {"plain.parquet": plain, "words.parquet": words})
    assert load(tmp_path / "plain.parquet", kind="head").title("right") == "label"
    assert load(tmp_path / "words.parquet", kind="head").title("right") == "word"


def test_vectors_of_a_stored_head_are_read_alone_if_asked(tmp_path: Path) -> None:
    content = table({**IDS, "v": ROWS}, embaudit_link="softmax")
    path = write_all(tmp_path, {"v.parquet": content})
    assert load(path).link.name == "softmax"
    assert load(path).names("right").tolist() == ["a", "b"]
    assert load(path, kind="vectors").link.name == "identity"


@pytest.mark.parametrize(
    ("index", "ids"),
    [
        (pd.Index(["x", "y"], name="what"), ["x", "y"]),
        (pd.Index(["x", "y"]), ["x", "y"]),
        (pd.MultiIndex.from_tuples([(1, 2), (3, 4)], names=["a", "b"]), None),
    ],
)
def test_the_index_of_pandas_is_the_ids(tmp_path: Path, index: Any, ids: Any) -> None:
    pd.DataFrame({"v": ROWS}, index=index).to_parquet(tmp_path / "v.parquet")
    model = load(tmp_path / "v.parquet")
    assert (model.right_ids is None) if ids is None else model.right_ids.tolist() == ids


@pytest.mark.parametrize(
    ("columns", "options", "part"),
    [
        ({"v": [[1, 2], [3, 4]]}, {}, "floating-point numbers; got int64, counts or"),
        ({"e0": [1, 2], "e1": [3, 4]}, {}, "column e0 of"),
        ({"e0": [1.0, None], "e1": [3.0, 4.0]}, {}, "free of missing numbers; got 1"),
        ({"v": [[1.0, 2], [3, None]]}, {}, "got 1 missing, the first in row 1"),
        ({"v": [[1.0], None]}, {}, "a vector in every row; got no vector in row 1"),
        ({"v": pa.array([[], []], pa.list_(pa.float64()))}, {}, "got empty lists"),
        ({"v": ROWS, "id": ["a", None]}, {}, "an id in every row; got no id in row 1"),
        ({"v": ROWS, "id": [1, 1]}, {}, "item ids must be unique; got 1 in 2 rows"),
        (
            {"v": ROWS},
            {"vector": "v", "bias": "v"},
            "bias must be a column that is not part",
        ),
        (
            {"id": pa.array([], "int64"), "v": pa.array([], pa.list_(pa.float64()))},
            {},
            "a table with rows; got no rows",
        ),
    ],
)
def test_damaged_tables_are_refused(
    tmp_path: Path, columns: Any, options: Any, part: str
) -> None:
    path = write_all(tmp_path, {"v.parquet": table(columns)})
    assert part in refusal(lambda: load(path, **options).right)


@pytest.mark.skipif(
    int(pa.__version__.split(".")[0]) < 20, reason="writes no histograms of levels"
)
@pytest.mark.parametrize("column", [0, 1])
@pytest.mark.parametrize("group", [0, 1])
def test_damaged_header_of_a_list_does_not_end_the_process(
    tmp_path: Path, column: int, group: int
) -> None:
    path = tmp_path / "v.parquet"
    lists = [*ROWS, *ROWS]
    parquet.write_table(pa.table({"v": lists, "w": lists}), path, row_group_size=2)
    # The header of each column counts its values by definition level: 0, 0, 0, 4, in
    # the compact form of Thrift. The damaged header has three counts, of which the
    # last one takes two bytes, so that the length of the header stays.
    counts, damaged = b"\x19\x46\0\0\0\x08", b"\x19\x36\0\0\x88\0"
    parts = path.read_bytes().split(counts)
    assert len(parts) == 5
    place = 2 * group + column + 1
    before, after = counts.join(parts[:place]), counts.join(parts[place:])
    path.write_bytes(before + damaged + after)
    # A process of its own: pyarrow can end it.
    command = [sys.executable, "-m", "embaudit", "formats", path.name]
    ended = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 2
    assert ended.stderr == (
        "embaudit: v.parquet must be a readable .parquet table; got Definition level "
        "histogram size mismatch, size: 3, expected: 4; write it again.\n"
    )


def test_lists_of_a_negative_length_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "v.parquet"
    width = 5003
    lists = pa.table(
        {"v": pa.array([[0.5] * width] * 2, pa.list_(pa.float32(), width))}
    )
    parquet.write_table(lists, path)
    # The length stands in the schema of Arrow, which Parquet holds as text.
    schema = lists.schema.serialize().to_pybytes()
    assert schema.count(struct.pack("<i", width)) == 1
    negative = schema.replace(struct.pack("<i", width), struct.pack("<i", -3))
    content = path.read_bytes()
    changed = content.replace(base64.b64encode(schema), base64.b64encode(negative))
    assert changed != content
    path.write_bytes(changed)
    for reading in (inspect, load):
        with pytest.raises(
            InputError, match=r"got lists of -3 numbers; write it again"
        ):
            reading(path)


def test_a_table_needs_columns_of_different_names(tmp_path: Path) -> None:
    parquet.write_table(
        pa.table([[1.0], [2.0]], names=["a", "a"]), tmp_path / "v.parquet"
    )
    assert "'a' more than once; rename one" in refusal(load, tmp_path / "v.parquet")
    pd.DataFrame(index=range(3)).to_parquet(tmp_path / "w.parquet")
    assert "a table with columns" in refusal(load, tmp_path / "w.parquet")


A, B = "id,e0,e1\na,1,2\nb,3,4.5\n", "id,e0,e1\nc,5,6\n"


def test_a_folder_of_text_is_one_table(tmp_path: Path) -> None:
    """Files whose names begin with an underscore or a dot are no part of it."""
    path = write_all(tmp_path, {"d": {"a.csv": A, "b.csv": B, "_x.csv": "x"}})
    model = load(path)
    assert model.right.tolist() == [*ROWS, [5, 6]]
    assert model.right_ids.tolist() == ["a", "b", "c"]


def test_folders_of_partitions_are_one_table(tmp_path: Path) -> None:
    first, second = {"id": [1, 2], "v": ROWS}, {"id": [3], "v": [[5.0, 6.0]]}
    files = {
        "year=2020": {"a.parquet": table(first)},
        "year=2021": {"a.parquet": table(second)},
    }
    found = read(write_all(tmp_path, {"d": files}))
    assert found.model.right_ids.tolist() == [1, 2, 3]
    assert [part.name for part in found.intake.left_over] == ["year"]


@pytest.mark.parametrize(
    ("files", "part"),
    [
        ({"a.csv": A, "b.csv": "id,e0,e2\nc,5,6\n"}, "got id, e0, e2; write it with"),
        (
            {"a.csv": A, "b.csv": "id,e0,e1\nc,x,6\n"},
            "must be numbers; got 'x' in line",
        ),
        (
            {"a.csv": A, "b.parquet": table(IDS)},
            "got .csv, .parquet; give files of",
        ),
        (
            {"a.parquet": table({"v": ROWS}), "b.parquet": table({"w": ROWS})},
            "got w (list<element: double>) in place of v (list<element: double>)",
        ),
        ({"a.npy": npy(np.eye(2))}, "name the file in it"),
    ],
)
def test_folders_that_are_not_one_table_are_refused(
    tmp_path: Path, files: Any, part: str
) -> None:
    path = write_all(tmp_path, {"d": files})
    assert part in refusal(lambda: load(path).right)


@pytest.mark.parametrize(
    ("pattern", "part"),
    [
        ("*.npy", "files read as one must be tables of one kind"),
        ("*.xyz", "a file that exists, or a pattern that matches files; got"),
    ],
)
def test_a_pattern_of_files_is_one_table(
    tmp_path: Path, pattern: str, part: str
) -> None:
    write_all(tmp_path, {"a.npy": npy(np.eye(2)), "b.npy": npy(np.eye(2))})
    assert part in refusal(load, str(tmp_path / pattern))
