"""Text and binary files of word2vec, GloVe and fastText."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from example_files import gz, refusal, write_all

from embaudit.io import load

if TYPE_CHECKING:
    from pathlib import Path

ONE, TWO = np.float32([1.5, -2.0]).tobytes(), np.float32([0.25, 4.0]).tobytes()


@pytest.mark.parametrize(
    ("name", "text", "tokens", "rows"),
    [
        # word2vec: the count and the width stand in the first line.
        ("v.vec", "2 2\na 1 2\nb 3 4.5\n", ["a", "b"], [[1, 2], [3, 4.5]]),
        # GloVe has no such line.
        ("v.txt", "a 1 2\nb 3 4.5\n", ["a", "b"], [[1, 2], [3, 4.5]]),
        ("v.txt.gz", gz("a 1 2\nb 3 4.5\n"), ["a", "b"], [[1, 2], [3, 4.5]]),
        # Joining lines leaves no line end behind the last one.
        ("v.txt", "a 1.25 2.50\nb 3.00 4.75", ["a", "b"], [[1.25, 2.5], [3, 4.75]]),
        ("v.vec", "2 2\na 1 2\nb 3 4.5", ["a", "b"], [[1, 2], [3, 4.5]]),
        # A token may hold a space, as in GloVe of Common Crawl.
        ("v.vec", "2 2\na 1 2\nb c 3 4.5\n", ["a", "b c"], [[1, 2], [3, 4.5]]),
        # A token may be a number; without a header the first line is a vector.
        ("v.txt", "7 1 2 5\na 3 4 6\n", ["7", "a"], [[1, 2, 5], [3, 4, 6]]),
        # Two aligned columns, and a token that is padded or cut off by a tab.
        ("v.txt", "a  1.0  2.0\nb  3.0 10.5\n", ["a", "b"], [[1, 2], [3, 10.5]]),
        ("v.txt", "a   1.0 2.0\nbcd 3.0 4.5\n", ["a", "bcd"], [[1, 2], [3, 4.5]]),
        ("v.vec", "a\t1.0 2.0\nb\t3.0 4.5\n", ["a", "b"], [[1, 2], [3, 4.5]]),
        ("v.vec", "a\t1.0\t2.0\nb\t3.0\t4.5\n", ["a", "b"], [[1, 2], [3, 4.5]]),
        ("v.vec", "2  2\na  1  2\nb  3  4.5\n", ["a", "b"], [[1, 2], [3, 4.5]]),
        ("v.txt", "2 2\na\t1\t2\nb\t3\t4.5\n", ["a", "b"], [[1, 2], [3, 4.5]]),
        ("v.txt", "2\t2\na\t1\t2\nb\t3\t4.5\n", ["a", "b"], [[1, 2], [3, 4.5]]),
        (
            "v.txt.gz",
            gz("2\t2\na\t1\t2\nb\t3\t4.5\n"),
            ["a", "b"],
            [[1, 2], [3, 4.5]],
        ),
        # Spaces and tabs at the ends of lines.
        ("v.txt", "a 1.0 2.0 \nb 3.0 4.5\t\r\n", ["a", "b"], [[1, 2], [3, 4.5]]),
        # Tokens of GloVe of Common Crawl, in the first line as well.
        (
            "v.txt",
            ". . . 1.25 2.5\nat name@domain.com 3.25 4.5\n. 0.5 0.75\n",
            [". . .", "at name@domain.com", "."],
            [[1.25, 2.5], [3.25, 4.5], [0.5, 0.75]],
        ),
        # An empty token, a space, and a comma.
        ("v.txt", " 1.5 2.5\na 3.5 4.5\n", ["", "a"], [[1.5, 2.5], [3.5, 4.5]]),
        ("v.txt", "  1.5 2.5\na 3.5 4.5\n", [" ", "a"], [[1.5, 2.5], [3.5, 4.5]]),
        ("v.txt", ", 1.5 2.5\na,b 3.5 4.5\n", [",", "a,b"], [[1.5, 2.5], [3.5, 4.5]]),
        # A nonbreaking space and an integer in a token, as in French thousands.
        (
            "v.vec",
            "2 2\n10\xa0000 1.5 2.5\nWindows 98 3.5 4.5\n",
            ["10\xa0000", "Windows 98"],
            [[1.5, 2.5], [3.5, 4.5]],
        ),
        # A version has fewer decimals than the vector; the header tells the size.
        (
            "v.txt",
            "2 2\npython 2.7 0.125 0.25\nitem 1 0.75 0.5\n",
            ["python 2.7", "item 1"],
            [[0.125, 0.25], [0.75, 0.5]],
        ),
        # Empty lines.
        ("v.txt", "\na 1 2\n \nb 3 4.5\n\n", ["a", "b"], [[1, 2], [3, 4.5]]),
        # The name of the file does not matter if its text is clear.
        ("words", "2 2\na 1 2\nb 3 4.5\n", ["a", "b"], [[1, 2], [3, 4.5]]),
    ],
)
def test_text(tmp_path: Path, name: str, text: Any, tokens: Any, rows: Any) -> None:
    model = load(write_all(tmp_path, {name: text}))
    assert model.right_ids.tolist() == tokens
    assert model.right.tolist() == rows
    assert model.right.dtype == np.float32


@pytest.mark.parametrize("name", ["v.bin", "v.w2v"])
@pytest.mark.parametrize("end", [b"\n", b""])
def test_binary(tmp_path: Path, name: str, end: bytes) -> None:
    """The program word2vec ends each vector with a line end; gensim does not."""
    content = b"2 2\na " + ONE + end + b"b " + TWO + end
    model = load(write_all(tmp_path, {name: content}))
    assert model.right_ids.tolist() == ["a", "b"]
    assert model.right.tolist() == [[1.5, -2.0], [0.25, 4.0]]


def test_a_token_that_is_not_utf8_keeps_its_bytes_as_escapes(tmp_path: Path) -> None:
    content = b"2 2\na " + ONE + b"\nb\xe9 " + TWO + b"\n"
    model = load(write_all(tmp_path, {"v.bin": content}))
    assert model.right_ids.tolist() == ["a", "b\\xe9"]


@pytest.mark.parametrize(
    ("name", "content", "part"),
    [
        ("v.vec", "2 2\na 1 2\n", "2 vectors, as its header says; got 1"),
        ("v.vec", f"{10**12} 4\na 1 2 3 4\n", f"{10**12} vectors, as its header says"),
        ("v.vec", f"{10**12} 4\na 1 2 3 4\n", "got 1;"),
        ("v.vec", f"2 {10**12}\na 1 2 3 4\n", "2 vectors, as its header says; got 0"),
        ("v.bin", f"{10**12} 2\na ".encode() + ONE, "as its header says; got 1;"),
        ("v.vec", "1 2\na 1 2\nb 1 2\n", "1 vectors, as its header says; got more"),
        ("v.vec", "0 2\n", "a count and a dimension above 0; got 0 2"),
        ("v.vec", "2 0\na\nb\n", "a count and a dimension above 0; got 2 0"),
        ("v.vec", "a 1 2\nb 1\n", "got 'b 1\\n' as line 2 of the vectors"),
        ("v.vec", "a 1 2\nb 1 x\n", "a token and 2 numbers; got 'b 1 x\\n'"),
        # The last number may have lost its decimals.
        ("v.txt", "a 1.25 2.50\nb 3.00 4.7", "got a last line without a line end"),
        ("v.txt", "a 1.25 2.50\nb 3.00 4", "got a last line without a line end"),
        ("v.vec", "a_b 1 2\nb 1 3_1\n", "got 'b 1 3_1\\n'"),
        ("v.vec", "a 1 2\na 1 2\n", "item ids must be unique; got a in 2 rows"),
        ("v.vec", "a 1 2\nb 1 nan\n", "finite; got nan at row 1, column 1"),
        ("v.vec", "word\n", "lines of a token and its numbers, separated by spaces"),
        # Most lines have two numbers, and the first has another count.
        ("v.txt", "a 1\nb 1 2\nc 3 4\n", "and 2 numbers; got 'a 1\\n' as line 1"),
        ("v.txt", "a 1.5 2.5 3.5\nb 1.5 2.5\nc 3.5 4.5\n", "2 numbers; got 'a 1.5 2.5"),
        # Two lines in one, a decimal too many far below, a nonbreaking space.
        ("v.txt", "a 1.5 2.5b 3.5 4.5\nc 5.5 6.5\nd 1.5 2.5\n", "as line 1"),
        ("v.txt", "a 1.5 2.5\n" * 200 + "b 1.5 2.5 3.5\n", "as line 201"),
        ("v.txt", "a\xa01.5 2.5\nb\xa03.5 4.5\n", "and 1 number; got 'a\\xa01.5 2.5"),
        # The header has a smaller dimension than the lines.
        ("v.vec", "2 1\na 1.5 2.5\nb 3.5 4.5\n", "and 1 number; got 'a 1.5 2.5\\n'"),
        ("v.vec", "2 1\na 1 2\nb 3 4\n", "got 'a 1 2\\n' and most others like it"),
        # More lines have a third number than the first hundred.
        (
            "v.txt",
            "".join(f"a{row} 1 2\n" for row in range(100))
            + "".join(f"b{row} 1 2 3\n" for row in range(101)),
            "got 'b0 1 2 3\\n' and most others like it",
        ),
        (
            "v.txt",
            "# made by x\na 1.5 2.5\nb 3.5 4.5\n",
            "got '# made by x\\n' as line 1",
        ),
        ("v.txt", "word x y\na 1.5 2.5\nb 3.5 4.5\n", "got 'word x y\\n' as line 1"),
        # A data frame numbers its columns.
        ("v.txt", " 0 1\na 1.5 2.5\nb 3.5 4.5\n", "got ' 0 1\\n' as line 1"),
        (
            "v.txt",
            "word 0 1 2 3 4\na 1.5 2 3 4 5\nb 3 4.5 5 6 7\n",
            "drop that line if it numbers the columns",
        ),
        # Counts of words, and tokens that hold numbers of the vector.
        (
            "v.txt",
            "".join(f"w{n} {n} 0.5 {n}.25\n" for n in range(6)),
            "must be a fraction, like the other numbers; got whole numbers "
            "such as 0; drop",
        ),
        ("v.txt", "a,1.5 2.5\nb,3.5 4.5\n", "'a,1.5 2.5\\n' and most others like it"),
        ("v.txt", "a:1.5 2.5\nb:3.5 4.5\n", "'a:1.5 2.5\\n' and most others like it"),
        (
            "v.txt",
            " 0.5 1.5\n -0.25 2.5\n",
            "got numbers only; save vectors without tokens",
        ),
        (
            "v.txt",
            "a 1,5 2,5\nb 3,5 4,5\n",
            "a token and its numbers, separated by spaces",
        ),
        (
            "v.vec",
            "0.5 1.5 2.5\n-0.25 1e-3 2\n",
            "got numbers only; save vectors without tokens",
        ),
        ("v.vec", b"\xba\x16\x4f\x2f" + bytes(60), "got a fastText model"),
        ("v.bin", b"3 2\na " + ONE + b"b " + TWO, "3 vectors, as its header says"),
        ("v.bin", b"1 2\na " + ONE + b"\nmore", "a file that ends after 1 vectors"),
        ("v.bin", b"1 2\na\x01 " + ONE, "tokens without spaces and their numbers"),
        ("v.bin", b"1 2\na " + 8 * b"\x7f", "got other bytes at token 'a'"),
    ],
)
def test_damaged_files_are_refused(
    tmp_path: Path, name: str, content: Any, part: str
) -> None:
    path = write_all(tmp_path, {name: content})
    assert part in refusal(lambda: load(path).right)


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"kind": "factors"}, 'kind must be "vectors", because'),
        ({"kind": "head"}, "the file holds no softmax head"),
        ({"weight": "x"}, "an option for word2vec files must be one of"),
        ({"labels": ["x"]}, "2 item names"),
        ({"ids": ["x"]}, "item ids must be a list of 2"),
        ({"left": "no.npy"}, "got left; say left_file=FILE"),
        ({"left_file": "no.npy"}, "got no.npy; check the path"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    tmp_path: Path, options: Any, part: str
) -> None:
    path = write_all(tmp_path, {"v.vec": "2 2\na 1 2\nb 3 4\n"})
    assert part in refusal(load, path, **options)
