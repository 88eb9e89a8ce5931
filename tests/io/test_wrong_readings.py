"""Tables, labels and vectors that used to be read as something else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from embaudit import FactorModel
from embaudit.errors import InputError
from embaudit.io import flags_named, load, read_interactions, read_labels, read_titles, save

ROWS = np.array([[1.0, 2.0], [3.0, 4.5], [5.0, 7.0]])


@pytest.mark.parametrize(
    ("text", "titles"),
    [
        ('1\t"Weird Al" Yankovic\n2\tBeck\n3\tCher\n', ['"Weird Al" Yankovic', "Beck", "Cher"]),
        ('1\tHunky Dory\n2\t"Heroes\n3\tLow\n4\tLodger\n', ["Hunky Dory", '"Heroes', "Low", "Lodger"]),
        ('1\t"Heroes\n2\tLow\n3\tLodger\n', ['"Heroes', "Low", "Lodger"]),
        ('1\t"a ""b"" c"\n2\tBeck\n3\tCher\n', ['a "b" c', "Beck", "Cher"]),
        ('1\t12" single\n2\tBeck\n3\tCher\n', ['12" single', "Beck", "Cher"]),
        ('1\t"two\nlines"\n2\tBeck\n', ["two\nlines", "Beck"]),
    ],
)
def test_quotes_in_titles_are_letters_where_they_enclose_nothing(tmp_path: Path, text: str, titles: list[str]) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("id\ttitle\n" + text)
    assert read_titles(path)[1].tolist() == titles


def test_a_quote_far_below_swallows_no_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    lines = [f"{i}\t{f'title {i}' if i != 3000 else chr(34) + 'Heroes'}\n" for i in range(6000)]
    path.write_text("id\ttitle\n" + "".join(lines))
    ids, titles = read_titles(path)
    assert (len(ids), titles[2999], titles[3000], titles[3001]) == (6000, "title 2999", '"Heroes', "title 3001")
    path.write_text("user\titem\trating\n" + "".join(f"u{i % 40}\t{line.split(chr(9))[1].strip()}\t1\n"
                    for i, line in enumerate(lines)))  # fmt: skip
    assert read_interactions(path).matrix.nnz == 6000


def test_quotes_that_neither_enclose_nor_leave_columns_alone_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('id,title\n1,"Heat, The"\n2,"Weird Al" Yankovic\n3,x\n')
    with pytest.raises(InputError) as refused:
        read_titles(path)
    assert str(refused.value) == (
        f"the quotes of {path} must be closed before the next column; got others in line 3; double a quote inside a "
        "quoted field, or write the table as Parquet."
    )


NAMES = ["Heat, The", 'a "b"', "plain"]


@pytest.mark.parametrize(
    "options",
    [
        {"index": False},
        {"index": False, "header": False},
        {},
        {"header": False},
        {"index": False, "lineterminator": "\r\n"},
    ],
)
@pytest.mark.parametrize("name", [None, "title"])
@pytest.mark.parametrize("file", ["labels.csv", "labels.txt"])
def test_labels_that_a_series_wrote(tmp_path: Path, options: dict[str, Any], name: str | None, file: str) -> None:
    pd.Series(NAMES, name=name).to_csv(tmp_path / file, **options)
    assert read_labels(tmp_path / file, 3).tolist() == NAMES


def test_a_vocabulary_keeps_its_quotes(tmp_path: Path) -> None:
    path = tmp_path / "vocab.txt"
    for tokens in (['","', ",", "a"], ['"', "b", '""'], ['"a"', "b", "c"], ["0,a", "1,b", "3,c"], ["a,b", "0", "c"]):
        path.write_text("\n".join(tokens) + "\n")
        assert read_labels(path, 3).tolist() == tokens
    path.write_text("other\na\nb\nc\n")
    with pytest.raises(InputError, match="a file of 3 label names, one a row; got 4"):
        read_labels(path, 3)


def test_labels_in_latin_1_are_refused_with_the_conversion(tmp_path: Path) -> None:
    path = tmp_path / "labels.txt"
    path.write_bytes("Amélie\nb\n".encode("latin-1"))
    with pytest.raises(InputError) as refused:
        read_labels(path, 2)
    assert str(refused.value) == (
        f"the file of labels must be text in UTF-8; got other bytes in {path}; "
        f'convert it with: iconv -f latin1 -t utf-8 "{path}" > labels.txt.'
    )


def test_labels_may_be_a_list(tmp_path: Path) -> None:
    np.save(tmp_path / "m.npy", ROWS)
    assert load(tmp_path / "m.npy", labels=["a", "b", "c"]).names("right").tolist() == ["a", "b", "c"]
    with pytest.raises(InputError, match=r"labels must be a file or a list of 3 item names; got shape \(2,\)"):
        load(tmp_path / "m.npy", labels=["a", "b"])


@pytest.mark.parametrize("header", ["", "3 2\n"])
def test_a_byte_order_mark_is_no_part_of_vectors(tmp_path: Path, header: str) -> None:
    path = tmp_path / "v.txt"
    path.write_text(header + "a 1 2\nb 3 4.5\nc 5 7\n", encoding="utf-8-sig")
    model = load(path)
    np.testing.assert_array_equal(model.right, ROWS)
    assert model.names("right").tolist() == ["a", "b", "c"]


def test_the_named_index_of_a_data_frame_is_its_ids(tmp_path: Path) -> None:
    index = pd.Index(["x", "y", "z"], name="asin")
    for frame in (pd.DataFrame(ROWS, index=index, columns=["a0", "a1"]),
                  pd.DataFrame({"label": ["p", "q", "r"], "vector": list(ROWS)}, index=index)):  # fmt: skip
        frame.to_parquet(tmp_path / "v.parquet")
        model = load(tmp_path / "v.parquet")
        assert model.right_ids is not None
        assert model.right_ids.tolist() == ["x", "y", "z"]
        np.testing.assert_array_equal(model.right, ROWS)
    assert load(tmp_path / "v.parquet", id="label").names("right")[0] == "p"


@pytest.mark.parametrize("name", ["words", "index_to_key", "item_ids", "tokens"])
def test_words_beside_an_array_are_its_ids(tmp_path: Path, name: str) -> None:
    np.savez(tmp_path / "m.npz", vectors=ROWS, **{name: np.array(["x", "y", "z"])})
    model = load(tmp_path / "m.npz")
    assert model.right_ids is not None
    assert model.right_ids.tolist() == ["x", "y", "z"]
    np.testing.assert_array_equal(model.right, ROWS)


def test_lines_longer_than_a_sample(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).normal(size=(200, 4096))
    line = [",".join(map(repr, row.tolist())) for row in rows]
    assert min(map(len, line)) > 2**16
    path = tmp_path / "wide.csv"
    for header in ("", ",".join(["id", *(f"d{i}" for i in range(4096))]) + "\n"):
        path.write_text(header + "".join(f"i{i},{text}\n" for i, text in enumerate(line)))
        model = load(path)
        np.testing.assert_array_equal(model.right, rows)
        assert model.names("right")[199] == "i199"


@pytest.mark.parametrize("suffix", [".json", ".JSON"])
def test_weights_are_not_written_into_a_json_file(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"x{suffix}"
    with pytest.raises(InputError, match=r"the output must be a file that ends in one of \.npz \.npy \.safetensors"):
        save(FactorModel.from_vectors(ROWS), path)
    assert not path.exists()


def test_one_hot_columns_are_labels_by_their_names() -> None:
    assert flags_named(["1", "0", "1", None, ""], "Horror") == ["Horror", None, "Horror", None, None]
    assert flags_named(["1", "0", "2"], "cluster") == ["1", "0", "2"]


def test_inputs_are_read_from_a_file(tmp_path: Path) -> None:
    np.savez(tmp_path / "m.npz", W=ROWS, b=[1.0, 2.0, 3.0])
    inputs = np.array([[0.5, 1.0], [2.0, 0.0]])
    np.save(tmp_path / "x.npy", inputs)
    pd.DataFrame(inputs, columns=["a0", "a1"]).to_csv(tmp_path / "x.csv", index=False)
    for given in (tmp_path / "x.npy", str(tmp_path / "x.csv"), inputs):
        model = load(tmp_path / "m.npz", inputs=given)
        assert repr(model) == "FactorModel(2 inputs × 3 labels, 2 dimensions, softmax link, float64, label bias)"
        np.testing.assert_array_equal(model.scores(), inputs @ ROWS.T + [1.0, 2.0, 3.0])


def test_a_short_line_in_a_table_with_quotes_is_said_to_be_short(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('id,title\n1,"Heat, The"\n2\n3,x\n' + "4,y\n" * 2)
    with pytest.raises(InputError, match="columns in every line"):
        read_titles(path, sep=",")
