"""Several files, data frames or arrays are read like one table with all their rows."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import dataset, feather, ipc, parquet

import embaudit as ea
from embaudit.errors import InputError
from embaudit.io import inspect, load, read

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

ROWS = np.random.default_rng(0).standard_normal((12, 4)).astype(np.float32)
TABLE = pa.table({"id": range(70, 82), "vector": list(ROWS), "year": [2000] * 12})


def shards(
    folder: Path, suffix: str = ".parquet", pieces: Sequence[int] = (5, 0, 7)
) -> Path:
    folder.mkdir()
    start = 0
    for number, rows in enumerate(pieces):
        path, piece = folder / f"part-{number}{suffix}", TABLE.slice(start, rows)
        start += rows
        if suffix == ".parquet":
            parquet.write_table(piece, path)
        elif suffix == ".arrows":
            with ipc.new_stream(path, piece.schema) as file:
                file.write_table(piece)
        elif suffix == ".csv":
            frame = pd.DataFrame(ROWS[start - rows : start]).add_prefix("e")
            frame.insert(0, "id", piece["id"].to_pandas())
            frame.to_csv(path, index=False)
        else:
            feather.write_feather(piece, str(path))
    (folder / "_SUCCESS").write_text("")
    (folder / ".part-0.parquet.crc").write_text("")
    return folder


@pytest.mark.parametrize("suffix", [".parquet", ".feather", ".arrows", ".csv"])
def test_a_folder_a_pattern_and_a_list_are_one_table(
    tmp_path: Path, suffix: str
) -> None:
    folder = shards(tmp_path / "shards", suffix)
    files = sorted(folder.glob(f"part*{suffix}"))
    for given in (folder, f"{folder}/*{suffix}", files):
        reading = read(given)
        np.testing.assert_allclose(reading.model.right, ROWS, rtol=1e-6)
        assert reading.model.right_ids is not None
        assert reading.model.right_ids.tolist() == list(range(70, 82))
        assert reading.intake.format == "tables"
        rows = None if suffix == ".csv" else 12
        assert [(part.became, part.shape[0]) for part in inspect(given).parts] == [
            ("right", rows),
            ("right_ids", rows),
        ]


def test_partitions_are_columns(tmp_path: Path) -> None:
    table = TABLE.set_column(2, "year", pa.array([2000] * 5 + [2001] * 7))
    dataset.write_dataset(
        table,
        tmp_path / "d",
        format="parquet",
        partitioning=["year"],
        partitioning_flavor="hive",
    )
    reading = read(tmp_path / "d")
    assert reading.model.right.tolist() == ROWS.tolist()
    assert [part.name for part in reading.intake.left_over] == ["year"]
    deep = pa.table({"vector": list(ROWS), "item": [f"i{row}" for row in range(12)]})
    dataset.write_dataset(
        deep,
        tmp_path / "e",
        format="parquet",
        partitioning=["item"],
        partitioning_flavor="hive",
    )
    assert load(tmp_path / "e", vector_id="item").names("right")[:2].tolist() == [
        "i0",
        "i1",
    ]
    dataset.write_dataset(
        deep.set_column(1, "item", [[f"a/{row}" for row in range(12)]]),
        tmp_path / "f",
        format="parquet",
        partitioning=["item"],
        partitioning_flavor="hive",
    )
    assert "a/7" in load(tmp_path / "f", vector_id="item").names("right").tolist()


def test_files_of_other_columns_and_kinds_are_refused(tmp_path: Path) -> None:
    folder = shards(tmp_path / "shards")
    parquet.write_table(
        TABLE.select(TABLE.column_names[::-1])[5:], folder / "part-2.parquet"
    )
    assert load(folder).right.tolist() == ROWS.tolist()
    parquet.write_table(TABLE.drop_columns("year"), folder / "part-3.parquet")
    with pytest.raises(
        InputError,
        match=r"columns of .*part-3.parquet must be .*; got none in place of year",
    ):
        load(folder)
    parquet.write_table(
        TABLE.set_column(2, "year", TABLE["year"].cast("int32")),
        folder / "part-3.parquet",
    )
    with pytest.raises(
        InputError,
        match=r"part-0.parquet; got year .int32. in place of year .int64.; w",
    ):
        load(folder)
    (folder / "part-3.parquet").unlink()
    pd.DataFrame({"a": [1]}).to_csv(folder / "x.csv")
    with pytest.raises(
        InputError,
        match=r"tables of one kind: Parquet, Arrow or CSV; got .csv, .parquet",
    ):
        load(folder)
    with pytest.raises(
        InputError,
        match=r"or a pattern that matches files; got .*nothing-\*.parquet; check "
        r"the path",
    ):
        load(f"{folder}/nothing-*.parquet")
    with pytest.raises(InputError, match="a list of at least one file"):
        load([])
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="an empty folder"):
        load(tmp_path / "empty")
    with pytest.raises(
        InputError, match="tables of one kind: Parquet, Arrow or CSV; got none"
    ):
        load(tmp_path / "empty", format="tables")
    assert load(folder / "part-0.parquet", format="tables").n_right == 5


def test_a_folder_of_text_is_read_as_one_file_of_it(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,e0,e1\n007,1,2\n7,3,1\n")
    (tmp_path / "b.csv").write_text("id,e0,e1\n8,0.5,2.5\n")
    model = load(tmp_path)
    assert model.names("right").tolist() == ["007", "7", "8"]
    np.testing.assert_array_equal(model.right, [[1, 2], [3, 1], [0.5, 2.5]])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            "id,e0,e1\n8,,2\n",
            "column e0 of {folder} must be finite numbers; "
            "got an empty cell in line 2 of {folder}/b.csv",
        ),
        (
            "id,e0,e2\n8,1,2\n",
            "the columns of {folder}/b.csv must be the columns of {folder}/a.csv; "
            "got id, e0, e2; write it with the same columns in the same order",
        ),
    ],
)
def test_a_folder_of_text_with_a_file_that_does_not_fit_is_refused(
    tmp_path: Path, rows: str, message: str
) -> None:
    (tmp_path / "a.csv").write_text("id,e0,e1\n007,1,2\n7,3,1\n")
    (tmp_path / "b.csv").write_text(rows)
    with pytest.raises(InputError) as refused:
        load(tmp_path)
    assert message.format(folder=tmp_path) in str(refused.value)


def test_the_command_line_takes_folders_patterns_and_lists(
    embaudit: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = shards(tmp_path / "shards")
    monkeypatch.chdir(folder)
    for given in (str(folder), f"{folder}/*.parquet"):
        assert "vector" in embaudit("formats", given).out
    files = "part-0.parquet", folder / "part-1.parquet", "part-2.parquet"
    assert embaudit("audit", *files, "--quick").out.startswith(
        "part-0.parquet and 2 more: vectors, 12 items, 4 dimensions\n"
    )
    assert embaudit("audit", files[0], "--quick").out.startswith(
        "part-0.parquet: vectors, 5 items, 4 dimensions\n"
    )
    assert (
        ea.audit([files[0]], n_gauges=1, groups=["diagonal"]).source,
        load(files).n_right,
    ) == (".", 12)


def test_embeddings_of_anndata() -> None:
    data = SimpleNamespace(
        obsm={"X_pca": ROWS}, obs_names=pd.Index([f"cell {row}" for row in range(12)])
    )
    assert load(data).names("right")[3] == "cell 3"
    data.obsm["X_umap"] = ROWS[:, :2]
    with pytest.raises(
        InputError, match="they are X_pca, X_umap; choose one with weight"
    ):
        load(data)
    assert load(data, weight="X_umap").right.shape == (12, 2)


LETTERS = list("abcdefghijkl")
"""Ids of the twelve rows."""


def test_an_array_and_a_list_are_vectors() -> None:
    assert load(ROWS).right.tolist() == ROWS.tolist()
    assert load(ROWS.tolist()).right.tolist() == ROWS.tolist()


def test_a_list_of_whole_numbers_is_data_and_not_quantised() -> None:
    model = load([[1, 0], [0, 1], [1, 1]])
    assert model.right.dtype == np.float64


def test_two_arrays_are_two_sides_whose_link_is_assumed() -> None:
    reading = read(ROWS, left=2 * ROWS[:5], ids=LETTERS)
    model, intake = reading.model, reading.intake
    assert (model.n_left, model.n_right) == (5, 12)
    assert model.names("right").tolist() == LETTERS
    assert intake is not None
    assert intake.assumed == ("the identity link",)


def test_an_array_with_biases_and_labels_is_a_softmax_head() -> None:
    head = load(ROWS, bias=np.arange(12.0), labels=LETTERS)
    assert head.link.name == "softmax"
    assert head.names("right").tolist() == LETTERS


def test_an_array_with_inputs_has_inputs_on_its_left_side() -> None:
    model = load(ROWS, inputs=ROWS[:3])
    assert model.roles[0] == "input"


def test_biases_of_an_array_come_from_a_file(tmp_path: Path) -> None:
    np.save(tmp_path / "b.npy", np.arange(12.0))
    model = load(ROWS, bias_file=tmp_path / "b.npy")
    assert model.right_bias.tolist() == list(range(12))


LEFT_ROWS = 2 * ROWS[:5]
LEFT_FRAME = pd.DataFrame({"id": list("abcde"), "vector": [*LEFT_ROWS]})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the rows of both sides in several formats."""
    np.save(tmp_path / "items.npy", ROWS)
    np.savez(tmp_path / "items.npz", x=ROWS)
    np.save(tmp_path / "columns.npy", ROWS.T)
    shards(tmp_path / "shards")
    np.save(tmp_path / "users.npy", LEFT_ROWS)
    LEFT_FRAME.to_parquet(tmp_path / "users.parquet")
    return tmp_path


def load_with_left(folder: Path, rows: Any, left: Any) -> ea.FactorModel:
    """Load two sides; a text is the name of a file."""
    if isinstance(rows, str):
        rows = folder / rows
    if isinstance(left, str):
        return load(rows, left_file=folder / left)
    return load(rows, left=left)


@pytest.mark.parametrize(
    "rows",
    [TABLE, "shards", ROWS, "items.npz", "items.npy"],
    ids=["table", "folder", "array", "archive", "file"],
)
@pytest.mark.parametrize(
    "left",
    [LEFT_FRAME, "users.parquet", LEFT_ROWS, "users.npy"],
    ids=["frame", "table file", "array", "array file"],
)
def test_vectors_of_any_kind_can_have_a_left_side_of_any_kind(
    folder: Path, rows: Any, left: Any
) -> None:
    model = load_with_left(folder, rows, left)
    np.testing.assert_array_equal(model.right, ROWS)
    np.testing.assert_array_equal(model.left, LEFT_ROWS)


@pytest.mark.parametrize("rows", [TABLE, "shards"], ids=["table", "folder"])
@pytest.mark.parametrize("left", [LEFT_FRAME, "users.parquet"], ids=["frame", "file"])
def test_tables_of_both_sides_give_their_ids(
    folder: Path, rows: Any, left: Any
) -> None:
    model = load_with_left(folder, rows, left)
    assert model.right_ids.tolist() == list(range(70, 82))
    assert model.left_ids.tolist() == list("abcde")


@pytest.mark.parametrize(
    "rows", [ROWS, "items.npz", "items.npy"], ids=["array", "archive", "file"]
)
@pytest.mark.parametrize("left", [LEFT_ROWS, "users.npy"], ids=["array", "file"])
def test_arrays_of_both_sides_have_no_ids(folder: Path, rows: Any, left: Any) -> None:
    model = load_with_left(folder, rows, left)
    assert model.right_ids is None
    assert model.left_ids is None


def test_the_report_names_the_file_of_the_left_side(folder: Path) -> None:
    left_file = str(folder / "users.parquet")
    intake = inspect(folder / "items.npy", left_file=left_file)
    assert "users.parquet (5 × 4) as left" in intake.explain()


def test_two_arrays_and_a_bias_are_a_pair_and_no_head() -> None:
    bias = ROWS[:, 0]
    model = load(ROWS, left=LEFT_ROWS.T, bias=bias, transpose="left")
    np.testing.assert_array_equal(model.left, LEFT_ROWS)
    assert model.link.name == "identity"


def test_a_file_of_two_sides_is_no_left_side(tmp_path: Path) -> None:
    ea.save(load(ROWS, left=LEFT_FRAME), tmp_path / "pair.npz")
    message = "left_file must be vectors of one side; got a model of two sides"
    with pytest.raises(InputError, match=message):
        load(TABLE, left_file=tmp_path / "pair.npz")


def test_a_model_of_two_sides_takes_no_left_side(tmp_path: Path) -> None:
    model = load(ROWS, left=LEFT_FRAME)
    message = "left must be omitted, because the model has two sides already"
    with pytest.raises(InputError, match=message):
        load(model, left=ROWS)


def test_one_file_is_not_both_sides(folder: Path) -> None:
    path = str(folder / "users.npy")
    message = "which is the file of this side; if the rows of one table"
    with pytest.raises(InputError, match=message):
        load(path, left_file=path)


def test_a_list_with_the_file_of_the_left_side_is_refused(folder: Path) -> None:
    path = folder / "users.parquet"
    message = "left_file must be a file of the other side; got .*users.parquet, "
    with pytest.raises(InputError, match=message):
        load([path], left_file=path)


def test_sides_of_different_widths_are_refused_with_the_option_that_turns_one(
    folder: Path,
) -> None:
    message = "got 4 and 12; say transpose='right' if each column is one item"
    with pytest.raises(InputError, match=message):
        load(folder / "columns.npy", left=LEFT_FRAME)
    message = "got 5 and 4; say transpose='left' if each column is one user"
    with pytest.raises(InputError, match=message):
        load(ROWS, left=LEFT_ROWS.T)


def test_audits_of_what_people_have(tmp_path: Path) -> None:
    folder = shards(tmp_path / "shards")
    audits = [
        ea.audit(given, n_gauges=1)
        for given in (folder, sorted(folder.glob("part*.parquet")), TABLE)
    ]
    assert [audit.to_dict()["movement"] for audit in audits[1:]] == [
        audits[0].to_dict()["movement"]
    ] * 2
    assert [audit.source for audit in audits] == [str(folder), str(folder), None]
