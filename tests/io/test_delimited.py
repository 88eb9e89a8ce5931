"""Separators, headers, encodings and quotes of delimited text are detected; an error
names its line.
"""

from __future__ import annotations

import csv
import gzip
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from example_files import refusal
from hypothesis import example, given, settings
from hypothesis import strategies as st

from embaudit.io import load, read, read_interactions, read_titles

if TYPE_CHECKING:
    from pathlib import Path


def titles_of(path: Path) -> dict[Any, str]:
    ids, titles = read_titles(path)
    return dict(zip(ids.tolist(), titles.tolist(), strict=True))


@pytest.mark.parametrize(
    ("name", "text", "titles"),
    [
        # Real tables of titles: MovieLens 1M, MovieLens 100K, Book-Crossing.
        (
            "movies.dat",
            "1::Toy Story (1995)::Animation|Children's\n2::Heat: Part 1::Crime\n",
            {1: "Toy Story (1995)", 2: "Heat: Part 1"},
        ),
        (
            "u.item",
            "1|Heat, The|01-Jan-1995||0|0\n2|Ran|01-Jan-1985||0|1\n",
            {1: "Heat, The", 2: "Ran"},
        ),
        (
            "BX-Books.csv",
            '"ISBN";"Book-Title"\n"0195153448";"Clara; a novel"\n"034545104X";"B, C"\n',
            {"0195153448": "Clara; a novel", "034545104X": "B, C"},
        ),
        # A comma in each title, in files without a header.
        ("t.txt", "1;Heat, The\n2;Ran, The\n", {1: "Heat, The", 2: "Ran, The"}),
        ("t.csv", "1;Heat, The\n2;Ran, The\n", {1: "Heat, The", 2: "Ran, The"}),
        ("t.csv", "1,a;b\n2,c;d\n", {1: "a;b", 2: "c;d"}),
        # A list with bars in each row.
        ("t.txt", "7,1|2|3\n8,4|5|6\n", {7: "1|2|3", 8: "4|5|6"}),
        # Empty lines above the header and between rows, and no last line end.
        ("t.csv", "\n\nid,title\n1,Heat\n\n2,Ran", {1: "Heat", 2: "Ran"}),
        # Other ends of lines, and a quoted one.
        ("t.csv", "id,title\r\n1,Heat\r\n2,Ran\r\n", {1: "Heat", 2: "Ran"}),
        ("t.csv", 'id,title\n1,"Heat\nThe"\n2,Ran\n', {1: "Heat\nThe", 2: "Ran"}),
        # Words that pandas takes for missing ones.
        ("t.csv", "id,title\nNA,null\nnan,None\n", {"NA": "null", "nan": "None"}),
        # Single quotes are letters.
        ("t.csv", "id,title\n1,'night\n2,'Til\n", {1: "'night", 2: "'Til"}),
    ],
)
def test_the_separator_is_found(
    tmp_path: Path, name: str, text: str, titles: dict[Any, str]
) -> None:
    path = tmp_path / name
    path.write_text(text, newline="")
    assert titles_of(path) == titles


@pytest.mark.parametrize(
    "text", ["a\t[1, 2]\nb\t[3, 4.5]\n", "a\t{1,2}\nb\t{3,4.5}\n", "a;1;2\nb;3;4.5\n"]
)
def test_vectors_in_a_csv_file_may_be_cut_by_another_separator(
    tmp_path: Path, text: str
) -> None:
    path = tmp_path / "v.csv"
    path.write_text(text)
    model = load(path)
    assert model.right.tolist() == [[1, 2], [3, 4.5]]
    assert model.right_ids.tolist() == ["a", "b"]


@pytest.mark.parametrize(
    "text",
    [
        "a,1,2\nb,3,4.5\n",
        "a, 1, 2\nb, 3, 4.5\n",
        "a;1;2\nb;3;4.5\n",
        "a|1|2\nb|3|4.5\n",
        "a::1::2\nb::3::4.5\n",
        "a\t1\t2\nb\t3\t4.5\n",
        "id,e0,e1\na,1,2\nb,3,4.5\n",
        'a;"[1, 2]"\nb;"[3, 4.5]"\n',
        "a\t[1 2]\nb\t[3 4.5]\n",
    ],
)
def test_a_table_in_a_txt_file_is_told_by_its_content(
    tmp_path: Path, text: str
) -> None:
    path = tmp_path / "v.txt"
    path.write_text(text)
    reading = read(path)
    assert reading.intake.format == "table"
    assert reading.model.right.tolist() == [[1, 2], [3, 4.5]]
    assert reading.model.right_ids.tolist() == ["a", "b"]


def test_columns_of_a_table_in_a_txt_file_can_be_chosen(tmp_path: Path) -> None:
    path = tmp_path / "v.txt"
    path.write_text("key,x,e0,e1\na,7,1,2\nb,8,3,4.5\n")
    model = load(path, vector="e0:e1", vector_id="key", ignore="x")
    assert model.right.tolist() == [[1, 2], [3, 4.5]]


@pytest.mark.parametrize("name", ["v.csv", "v.txt"])
def test_the_sign_in_front_of_a_header_of_savetxt_is_no_name(
    tmp_path: Path, name: str
) -> None:
    rows = np.array([[1.5, 2, 3, 4, 5], [6, 7, 8, 9, 10.5]])
    for header in ("e0,e1,e2,e3,e4", "0,1,2,3,4"):
        np.savetxt(tmp_path / name, rows, delimiter=",", header=header)
        np.testing.assert_array_equal(load(tmp_path / name).right, rows)


@pytest.mark.parametrize(
    "text",
    [
        "a\t0.5,1.5,2.5\nb\t3.5,4.5,5.5\n",
        "a;0.5,1.5,2.5\nb;3.5,4.5,5.5\n",
        "a::0.5,1.5,2.5\nb::3.5,4.5,5.5\n",
        "a,0.5;1.5;2.5\nb,3.5;4.5;5.5\n",
        "a,0.5 1.5 2.5\nb,3.5 4.5 5.5\n",
        "a\t0.5 1.5 2.5\nb\t3.5 4.5 5.5\n",
        "id\tembedding\na\t0.5,1.5,2.5\nb\t3.5,4.5,5.5\n",
    ],
)
@pytest.mark.parametrize("name", ["v.csv", "v.tsv"])
def test_the_separator_of_a_list_does_not_cut_cells(
    tmp_path: Path, name: str, text: str
) -> None:
    path = tmp_path / name
    path.write_text(text)
    model = load(path)
    assert model.right.tolist() == [[0.5, 1.5, 2.5], [3.5, 4.5, 5.5]]
    assert model.right_ids.tolist() == ["a", "b"]


@pytest.mark.parametrize("name", ["v.csv", "v.txt"])
@pytest.mark.parametrize("header", ["e0\te1\te2", "0\t1\t2", '"V1"\t"V2"\t"V3"'])
def test_the_header_of_r_has_no_name_for_the_ids(
    tmp_path: Path, name: str, header: str
) -> None:
    path = tmp_path / name
    path.write_text(header + "\na\t0.5\t1.5\t2.5\nb\t3.5\t4.5\t5.5\n")
    model = load(path)
    assert model.right.tolist() == [[0.5, 1.5, 2.5], [3.5, 4.5, 5.5]]
    assert model.right_ids.tolist() == ["a", "b"]


POINT = "; write decimals with a point"
LABELS = (
    "a,0.5,0,1.5\nb,0.25,3,0.1\nc,1.5,0,2.5\nd,0.1,1,0.2\ne,3.5,1,4.5\nf,0.3,0,1.1\n"
)


@pytest.mark.parametrize(
    ("name", "text", "part"),
    [
        # Decimal commas and thousands, alone and in lists.
        ("v.csv", "a;1,5;2,5\nb;3,5;4,5\n", "got '1,5' in line 1" + POINT),
        ("v.txt", "a;1,5;2,5\nb;3,5;4,5\n", "got '1,5' in line 1" + POINT),
        ("v.csv", "1,5;2,5\n3,5;4,5\n", "column 0 of {}"),
        ("v.csv", "a;1,5E-03;2,5\nb;3,5;4,5\n", "got '1,5E-03' in line 1" + POINT),
        ("v.csv", "id;e0;e1\na;1.234,5;2,5\nb;3,5;4,5\n", "got '1.234,5'"),
        ("v.csv", "id;e0;e1\na;1 234.5;2.5\nb;3.5;4.5\n", "got '1 234.5'"),
        ("v.csv", 'id,e0,e1\na,"1,234.5",2.5\nb,3.5,4.5\n', "got '1,234.5'"),
        ("v.tsv", "a\t1,5 2,5\nb\t3,5 4,5\n", "got '1,5 2,5' in row 0" + POINT),
        ("v.tsv", "a\t[1 2]\nb\t[3,5 4]\n", "got '[3,5 4]' in row 1" + POINT),
        ("v.csv", 'a,"1,5;2,5"\nb,"3,5;4,5"\n', "got '1,5;2,5' in row 0" + POINT),
        ("v.tsv", "a\t[1,5, 2,5]\nb\t[3,5, 4,5]\n", "[1,5, 2,5]' in row 0" + POINT),
        ("v.tsv", "a\t1,5, 2,5\nb\t3,5, 4,5\n", "got '1,5, 2,5' in row 0" + POINT),
        # Another separator cuts off the ids.
        ("v.csv", "a 1.5,2.5,3.5\nb 4.5,5.5,6.5\n", "ids only; got 'a 1.5', which"),
        ("v.txt", "a 1.5,2.5,3.5\nb 4.5,5.5,6.5\n", "ids only; got 'a 1.5', which"),
        ("v.csv", "a|1.5,2.5\nb|4.5,5.5\n", "ids only; got 'a|1.5', which"),
        ("v.csv", "a: 1.5, 2.5\nb: 4.5, 5.5\n", "ids only; got 'a: 1.5', which"),
        # A column of labels or counts.
        ("v.csv", LABELS, "column 2 of {} must be fractions, like the other columns"),
        ("v.csv", LABELS, "ignore it with ignore='2' if it holds counts or labels"),
        ("v.csv", LABELS.replace("3", "-1"), "got whole numbers such as 0; ignore"),
        # A date next to numbered columns.
        (
            "v.csv",
            "id,date,e0,e1\na,2020 01 31,1.5,2.5\nb,2020 02 01,3.5,4.5\n",
            "in one column of lists or in one group of columns; got date, "
            "whose cells hold several numbers, and e0 to e1; "
            "choose them with vector='date' or vector='e0:e1'.",
        ),
        # Each line is in quotes.
        ("v.csv", '"a,0.1,0.2"\n"b,0.3,0.4"\n', "3 columns in every line; got 1"),
        # Digits of other scripts.
        ("v.csv", "a,١.٥,2\nb,1,2\n", "must be numbers; got '١.٥' in line 1"),
    ],
)
def test_text_that_could_be_misread_is_refused(
    tmp_path: Path, name: str, text: str, part: str
) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    assert part.format(path) in refusal(lambda: load(path).right)


def test_the_advice_about_what_could_be_misread_works(tmp_path: Path) -> None:
    path = tmp_path / "v.csv"
    path.write_text(LABELS)
    assert load(path, ignore="2").right[1].tolist() == [0.25, 0.1]
    path.write_text(LABELS.replace(",3,", ",3.0,"))
    assert load(path).right[1].tolist() == [0.25, 3, 0.1]
    path.write_text("id,place,e0,e1\na,52 13,1.5,2.5\nb,50 14,3.5,4.5\n")
    for options in ({"vector": "e0:e1"}, {"vector": "e"}, {"ignore": "place"}):
        assert load(path, **options).right.tolist() == [[1.5, 2.5], [3.5, 4.5]]
    assert load(path, vector="place").right.tolist() == [[52, 13], [50, 14]]


@pytest.mark.parametrize("column", ["0", "1"])
def test_a_column_of_zeros_or_ones_is_one_of_the_vectors(
    tmp_path: Path, column: str
) -> None:
    path = tmp_path / "v.csv"
    path.write_text("".join(f"{letter},{column},0.5,1.5\n" for letter in "abcdefgh"))
    assert load(path).rank == 3


def test_ids_with_times_and_versions_are_ids(tmp_path: Path) -> None:
    path = tmp_path / "v.csv"
    for ids in (["00:00:01.5", "00:00:02.5"], ["v1.5", "v2.5"], ["item 1", "item 2"]):
        path.write_text(f"{ids[0]},0.5,1.5\n{ids[1]},2.5,3.5\n")
        assert load(path).right_ids.tolist() == ids


def test_ids_that_begin_with_the_sign_of_comments_are_ids(tmp_path: Path) -> None:
    path = tmp_path / "v.csv"
    path.write_text("#1,1.5,2.5\n#cat,3.5,4.5\n")
    assert load(path).right_ids.tolist() == ["#1", "#cat"]


@pytest.mark.parametrize("name", ["v.csv", "v.txt"])
@pytest.mark.parametrize("header", ["", "id,e0,e1\n"])
def test_a_comment_above_a_table_is_named(
    tmp_path: Path, name: str, header: str
) -> None:
    path = tmp_path / name
    path.write_text(f"# made by x\n{header}a,1,2\nb,3,4.5\n")
    assert refusal(load, path) == (
        f"the first line of {path} must be a header or a row; got the comment "
        "'# made by x'; drop the lines that begin with #."
    )


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252"])
@pytest.mark.parametrize("n_rows_before", [0, 30_000])
def test_titles_keep_their_letters(
    tmp_path: Path, encoding: str, n_rows_before: int
) -> None:
    """Bytes that are no UTF-8 may stand anywhere; Windows writes curly quotes."""
    path = tmp_path / "t.csv"
    before = "".join(f"{row},Ran\n" for row in range(n_rows_before))
    path.write_text(f"id,title\n{before}99999,Amélie – “A”\n", encoding)
    assert titles_of(path)[99999] == "Amélie – “A”"


def test_bytes_that_windows_does_not_use_are_latin1(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"id,title\n1,\x81\xe9\n2,Ran\n")
    assert titles_of(path)[1] == "\x81é"


def test_utf16_is_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("id\ttitle\n1\tHeat\n", "utf-16")
    sentence = f"{path} must be text in UTF-8; got UTF-16; save it as CSV UTF-8."
    assert refusal(read_titles, path) == sentence


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("id,e0,e1\na,1,2\nb,3\nc,5,6\nd,7,8\n", 3),
        ("id\te0\te1\na\t1\t2\nb\t3\t4\t5\nc\t5\t6\nd\t7\t8\n", 3),
        ('id,t,e0\na,"x\ny",1\nb,z,2\nc,d\ne,f,3\n', 5),
        ("id,e0,e1\n" + "a,1,2\n" * 5000 + "b,3\n", 5002),
    ],
)
def test_a_line_of_another_width_is_named(tmp_path: Path, text: str, line: int) -> None:
    path = tmp_path / "v.csv"
    path.write_text(text)
    sentence = refusal(lambda: load(path).right)
    assert f"{path} must be a table of 3 columns in every line" in sentence
    assert f"in line {line}; repair that line" in sentence


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("1.5\n2.5\n", "got a single column"),
        ("a,b\nc\nd,e,f\ng\n", "got lines of different widths"),
    ],
)
def test_text_without_columns_is_refused(tmp_path: Path, text: str, part: str) -> None:
    path = tmp_path / "v.csv"
    path.write_text(text)
    assert part in refusal(load, path)


@pytest.mark.parametrize(
    ("text", "titles"),
    [
        ('1\t"Heroes" and "Low"\n2\tRan\n', ['"Heroes" and "Low"', "Ran"]),
        ('1\t"Heroes\n2\tRan\n', ['"Heroes', "Ran"]),
        # These two quotes enclose what looks like the end of the first row and the
        # begin of the third.
        ('1\t"Heroes\n2\tRan\n3\tLow"\n', ['"Heroes', "Ran", 'Low"']),
        ('1\t5" disc\n2\t"Ran"\n', ['5" disc', "Ran"]),
        # Lines that are no rows are inside of a quoted cell.
        ('1\t"Heroes\nLow"\n2\tRan\n', ["Heroes\nLow", "Ran"]),
        ('"1"\t"Heroes\tLow"\n"2"\t"Ran ""A"""\n', ["Heroes\tLow", 'Ran "A"']),
    ],
)
def test_quotes_in_text_cut_by_tabs_enclose_cells_or_are_letters(
    tmp_path: Path, text: str, titles: list[str]
) -> None:
    path = tmp_path / "t.tsv"
    path.write_text(text)
    assert read_titles(path, id=0, title=1)[1].tolist() == titles


WORDS = st.text(st.sampled_from('ab "\n\r,;\t|é–'), max_size=6)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(WORDS, min_size=1, max_size=8),
    st.sampled_from([",", ";", "\t"]),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    st.sampled_from(["utf-8", "cp1252"]),
    st.booleans(),
)
@example(['"'] * 4, ",", csv.QUOTE_MINIMAL, "utf-8", False)
def test_what_a_csv_writer_writes_is_read_back(
    tmp_path_factory: Any,
    titles: list[str],
    separator: str,
    quoting: Any,
    encoding: str,
    packed: bool,
) -> None:
    path = tmp_path_factory.mktemp("t") / ("t.csv.gz" if packed else "t.csv")
    opened = gzip.open if packed else open
    with opened(path, "wt", encoding=encoding, newline="") as file:
        writer = csv.writer(file, delimiter=separator, quoting=quoting)
        writer.writerow(["id", "title", "rank"])
        writer.writerows([f"i{n}", x, 0.5] for n, x in enumerate(titles))
    assert titles_of(path) == {f"i{n}": x for n, x in enumerate(titles)}


@pytest.mark.parametrize("length", [2**22 - 12, 2**22 - 11, 2**22 - 10, 2**22 - 9])
def test_quotes_at_the_border_of_blocks(tmp_path: Path, length: int) -> None:
    """Files are scanned in blocks of 4 MiB; quotes may stand on either side."""
    path = tmp_path / "t.csv"
    rows = [[1, "x" * length], [2, 'a "b", c'], [3, "d\n,e"], [4, "f"]]
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["id", "title"], *rows])
    assert titles_of(path) == dict(rows)


def test_ids_keep_their_type_and_text(tmp_path: Path) -> None:
    """Large integers stay exact, and one id that is no integer keeps all as texts."""
    path = tmp_path / "v.csv"

    def ids(*cells: str) -> Any:
        rows = "".join(f"{cell},{row}.5,1\n" for row, cell in enumerate(cells))
        path.write_text(f"id,e0,e1\n{rows}")
        return load(path).right_ids

    large = ids(f"{2**53 + 1}", f"{2**53}", f"{2**63 - 1}", f"{-(2**63)}")
    assert large.dtype == np.int64
    assert large.tolist() == [2**53 + 1, 2**53, 2**63 - 1, -(2**63)]
    for cells in (["007", "7"], ["7", "x"], [f"{2**63}", "1"], ["1.0", "1"], ["-0"]):
        assert ids(*cells).tolist() == cells
    ratings = "".join(f"{u},{2**53 + i},1\n" for u in (1, 2) for i in (0, 1))
    path.write_text(f"user,item,rating\n{ratings}")
    assert read_interactions(path).item_ids.tolist() == [2**53, 2**53 + 1]
