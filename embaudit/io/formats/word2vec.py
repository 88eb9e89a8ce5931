"""word2vec, fastText and GloVe files, in text or in the binary variant of word2vec.

Text has a header or none. A line is a token and its numbers, and tokens become ids.
Tokens may hold spaces, so numbers are counted from the right. Without a header, the
number of dimensions is the count of numbers that most of the first lines have. Numbers
are cut by one space each, or, in files with aligned columns, by runs of spaces and
tabs. A line is refused if its token seems to hold numbers of the vector.

Bytes of tokens that are no UTF-8 are kept as escapes, so that different tokens stay
different.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, islice
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import as_texts
from embaudit.errors import File, InputError, Sentence, must_be
from embaudit.io.contents import Contents, Source
from embaudit.io.draft import Draft
from embaudit.io.formats import register, register_writer
from embaudit.io.options import Request
from embaudit.io.tables.delimited import find_whole_column, seem_to_hold_numbers
from embaudit.io.unpacked import open_bytes

FASTTEXT = (793712314).to_bytes(4, "little")
HEADER = re.compile(rb"(\d{1,18})[ \t]+(\d{1,18})\s*")
NUMBER = re.compile(
    rb"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?|[-+]?(?:nan|inf(?:inity)?)",
    re.IGNORECASE,
)
GAP = re.compile(rb"\s|\xc2\xa0")
"""White space inside of a token, or a nonbreaking space in UTF-8."""
ONE_SPACE, WHITE_SPACE = b" ", None
"""Separators of the fields of a line: one space, or a run of spaces and tabs."""
CONTROL = re.compile(rb"[\x00-\x1f\x7f]")
IN_TEXT, IN_BINARY = re.compile(r"[ \n\r]"), re.compile(r"[\s\x00-\x1f\x7f]")
"""Characters that no written token may hold."""
WILD = 1e15
"""No embedding holds such a number; letters read as float32 do."""
LINES = 4096
"""Lines parsed at a time."""
SAMPLE_LINES = 100
"""First lines of a file that decide how its lines are cut."""
SAMPLE_BYTES = 2**22
"""Bytes after which no further line is added to a sample."""
LONGEST_LINE = 2**20
"""Bytes of a line of a sample, at most."""
REPAIR = (
    "repair the line; if the number is a part of the token, save the table as .csv or "
    ".parquet"
)
"""Remedy for a token that seems to hold numbers of the vector."""
INDEX_WIDTH = 5
"""A vector of so many numbers is never 0, 1, 2, … by chance."""


def is_word2vec(path: Path) -> bool:
    """Return whether a file begins with a header and a token.

    The token must have as many numbers as the header says. The name of the file does
    not count.
    """
    if not path.is_file():
        return False
    try:
        with open_bytes(path) as file:
            first = file.readline(64).removeprefix(codecs.BOM_UTF8)
            second = file.readline(LONGEST_LINE)
    except OSError:
        return False
    header = HEADER.fullmatch(first)
    return header is not None and _is_text(second, int(header[2]))


@register(
    "word2vec",
    suffixes=(".txt", ".vec", ".emb"),
    origin="word2vec, fastText, GloVe, node2vec",
    content="vectors, ids",
    recognises_any=is_word2vec,
)
@register(
    "word2vec-binary",
    suffixes=(".bin", ".w2v"),
    origin="word2vec in binary",
    content="vectors, ids",
)
def read(path: Path, request: Request) -> Contents:  # noqa: ARG001
    """Determine the number of vectors and their size by the first lines.

    Raises
    ------
    InputError
        If the file is cut off, holds numbers only, or a line has another number of
        columns.
    """
    with open_bytes(path) as file:
        beginning = _beginning(file, path)
    shape = beginning.count, beginning.size
    table = cache(lambda: _table(path))
    return Contents(
        {
            "right": Source("vectors", lambda: table()[1], shape),
            "right_ids": Source("tokens", lambda: table()[0], shape[:1]),
        }
    )


def _table(path: Path) -> tuple[NDArray[np.str_], NDArray[np.float32]]:
    """Read tokens and vectors of either variant, told by the second line."""
    try:
        with open_bytes(path) as file:
            beginning = _beginning(file, path)
            count, size = beginning.count, beginning.size
            if count == 0 or not size:
                raise must_be(
                    Sentence("the header of {}", File(path)),
                    "a count and a dimension above 0",
                    f"{count} {size}",
                )
            if count is None or _is_text(beginning.lines[0], size):
                tokens, vectors = _of_text(file, beginning, path)
            else:
                data = b"".join(beginning.lines) + file.read()
                tokens, vectors = _of_binary(data, count, size, path)
    except (OSError, MemoryError) as error:
        raise InputError("{} cannot be read: {}.", File(path), error) from error
    if all(_is_component(token) for token in tokens):
        raise must_be(
            File(path),
            "a table of tokens and vectors",
            "numbers only",
            "save vectors without tokens as .npy or .csv",
        )
    return as_texts(
        [token.decode("utf-8", "backslashreplace") for token in tokens], "words"
    ), vectors


@dataclass(frozen=True)
class Beginning:
    """Number and size of the vectors of a file, known from its first lines."""

    count: int | None
    """Number of vectors; None without a header."""
    size: int
    """Number of dimensions."""
    lines: Sequence[bytes]
    """First lines below the header."""


def _beginning(file: IO[bytes], path: Path) -> Beginning:
    """Read the header and the first lines of a file.

    Raises
    ------
    InputError
        If it is a fastText model, or has no header and most of its first lines do not
        end in a number.
    """
    first = file.readline(LONGEST_LINE).removeprefix(codecs.BOM_UTF8)
    if first.startswith(FASTTEXT):
        remedy = "give the .vec file, which fastText writes next to the model"
        raise must_be(File(path), "vectors", "a fastText model", remedy)
    header = HEADER.fullmatch(first)
    lines = [first]
    if header:
        lines = [file.readline(LONGEST_LINE)]
    n_bytes = len(lines[0])
    while lines[-1] and len(lines) < SAMPLE_LINES and n_bytes < SAMPLE_BYTES:
        lines.append(file.readline(LONGEST_LINE))
        n_bytes += len(lines[-1])
    if len(lines) > 1 and not lines[-1]:
        lines.pop()
    if header:
        return Beginning(int(header[1]), int(header[2]), lines)
    # Of equally frequent counts the largest is taken, because lines with fewer numbers
    # are refused, whereas further numbers could pass as parts of tokens.
    counts = Counter(_n_numbers(line) for line in lines if line.strip())
    size = max(counts, key=lambda n: (counts[n], n), default=0)
    if not size:
        got = repr(first[:60].decode("utf-8", "replace"))
        raise must_be(
            File(path), "lines of a token and its numbers, separated by spaces", got
        )
    return Beginning(None, size, lines)


def _n_numbers(line: bytes) -> int:
    """Count the numbers at the end of a line.

    The first field is not counted, because a token that is a number is still the token.
    """
    fields = line.split()
    n_numbers = 0
    for field in fields[:0:-1]:
        if not NUMBER.fullmatch(field):
            break
        n_numbers += 1
    return n_numbers


def _is_text(line: bytes, size: int) -> bool:
    return _fits(line, size, ONE_SPACE) or _fits(line, size, WHITE_SPACE)


def _fits(line: bytes, size: int, separator: bytes | None) -> bool:
    """Return True if a separator cuts a line into a token and numbers.

    A token that ends in spaces does not fit, unless it consists of spaces.
    """
    fields = line.rstrip().rsplit(separator, size)
    if len(fields) != size + 1:
        return False
    token, *numbers = fields
    is_padded = token != token.rstrip() and not token.isspace()
    return not is_padded and all(NUMBER.fullmatch(number) for number in numbers)


def _separator(lines: Sequence[bytes], size: int) -> bytes | None:
    """Return the separator that fits more of the first lines.

    If both fit equally many lines, return one space, because a token can be empty or a
    space.
    """
    n_spaced = sum(_fits(line, size, ONE_SPACE) for line in lines)
    n_aligned = sum(_fits(line, size, WHITE_SPACE) for line in lines)
    if n_aligned > n_spaced:
        return WHITE_SPACE
    return ONE_SPACE


def _is_component(token: bytes) -> bool:
    """Return True for an empty token, and for a number with a decimal point."""
    token = token.strip()
    return not token or (b"." in token and NUMBER.fullmatch(token) is not None)


# What is too large for float32 becomes infinite, which the model refuses.
@np.errstate(over="ignore")
def _of_text(
    file: IO[bytes], beginning: Beginning, path: Path
) -> tuple[list[bytes], NDArray[np.float32]]:
    """Parse lines into tokens and vectors, and check their number."""
    count, size = beginning.count, beginning.size
    separator = _separator(beginning.lines, size)
    _require_no_other_columns(beginning, separator, path)
    lines: Iterator[bytes] = chain(beginning.lines, file)
    if count is None:
        lines = (line for line in lines if line.strip())
    tokens: list[bytes] = []
    parts = []
    n_doubtful, first_doubtful = 0, b""
    while block := list(islice(lines, LINES)):
        if not tokens and count is None:
            _require_no_index(block[0], size, separator, path)
        more, vectors, doubtful = _of_block(block, len(tokens), size, separator, path)
        tokens += more
        n_doubtful += len(doubtful)
        if doubtful and not first_doubtful:
            first_doubtful = doubtful[0]
        parts.append(vectors)
        if not block[-1].endswith(b"\n") and _may_be_cut(block[-1], size):
            remedy = "fetch it again, or end that line if it is complete"
            raise must_be(
                File(path), "complete lines", "a last line without a line end", remedy
            )
        if count is not None and len(tokens) > count:
            raise _other_count(path, count, "more")
    if count not in (None, len(tokens)):
        raise _other_count(path, count, f"{len(tokens)}")
    # Some tokens end in an integer (Windows 98), but not most.
    if 2 * n_doubtful > len(tokens):
        raise _other_line(path, size, first_doubtful, None, REPAIR)
    return tokens, np.concatenate(parts)


def _require_no_other_columns(
    beginning: Beginning, separator: bytes | None, path: Path
) -> None:
    """Raise InputError if the first lines hold more than tokens and vectors.

    Tokens such as `a,1.5` hold numbers of the vectors. Without a header, a column of
    whole numbers next to fractions holds counts or labels.
    """
    size = beginning.size
    tokens, rows = [], []
    for line in beginning.lines:
        if _fits(line, size, separator):
            text = line.decode("utf-8", "replace").rstrip()
            text_separator = None
            if separator is not None:
                text_separator = separator.decode()
            token, *numbers = text.rsplit(text_separator, size)
            tokens.append(token.strip())
            rows.append(numbers)
    if seem_to_hold_numbers(tokens):
        raise _other_line(path, size, beginning.lines[0], None, REPAIR)
    if beginning.count is not None:
        return
    column = find_whole_column(rows)
    if column is not None:
        number = rows[0][column]
        raise must_be(
            Sentence("number {} in the lines of {}", column + 1, File(path)),
            "a fraction, like the other numbers",
            f"whole numbers such as {number}",
            "drop them if they are counts or labels; if they are a part of the "
            f"vectors, write {number}.0 instead of {number}",
        )


def _of_block(
    block: Sequence[bytes],
    n_before: int,
    size: int,
    separator: bytes | None,
    path: Path,
) -> tuple[list[bytes], NDArray[np.float32], list[bytes]]:
    """Parse lines. Return their tokens, vectors, and the lines that are in doubt.

    A line is in doubt if its token and its vector hold integers, because an integer at
    the end of the token can be a part of either.
    """
    tokens = []
    vectors = np.empty((len(block), size), dtype=np.float32)
    doubtful = []
    for row, line in enumerate(block):
        try:
            token, numbers = _token_and_numbers(line, size, separator)
            vectors[row] = [float(number) for number in numbers]
        except ValueError:
            remedy = "repair that line or drop it; the file may be cut off"
            raise _other_line(path, size, line, n_before + row, remedy) from None
        decimals = _decimals_in_token(token, numbers)
        if decimals:
            raise _other_line(path, size, line, n_before + row, REPAIR)
        if decimals == 0:
            doubtful.append(line)
        tokens.append(token)
    return tokens, vectors, doubtful


def _token_and_numbers(
    line: bytes, size: int, separator: bytes | None
) -> tuple[bytes, list[bytes]]:
    """Cut a line. Raise ValueError if it has fewer fields, or digits with underscores.

    Python takes 3_1 for 31.
    """
    token, *numbers = line.rstrip().rsplit(separator, size)
    if len(numbers) != size or b"_" in b"".join(numbers):
        raise ValueError
    if separator is WHITE_SPACE:
        token = token.strip()
    return token, numbers


def _other_line(
    path: Path, size: int, line: bytes, n_before: int | None, remedy: str
) -> InputError:
    """Return the error that shows the beginning of a line below the header.

    The error names the line by the number of lines before it. If this number is None,
    the error says that most lines are like the shown one.
    """
    shown = repr(line[:40].decode("utf-8", "replace"))
    place = "and most others like it"
    if n_before is not None:
        place = f"as line {n_before + 1} of the vectors"
    numbers = "1 number" if size == 1 else f"{size} numbers"
    return must_be(
        File(path),
        f"lines of a token and {numbers}",
        f"{shown} {place}",
        remedy,
    )


def _require_no_index(
    line: bytes, size: int, separator: bytes | None, path: Path
) -> None:
    """Raise InputError for 0, 1, 2, … or 1, 2, 3, …, as data frames number columns.

    A short vector can hold these numbers by chance if it has a token.
    """
    token, *numbers = line.rstrip().rsplit(separator, size)
    if token.strip() and size < INDEX_WIDTH:
        return
    for start in (0, 1):
        if numbers == [b"%d" % (start + place) for place in range(size)]:
            remedy = "drop that line if it numbers the columns"
            raise _other_line(path, size, line, 0, remedy)


def _decimals_in_token(token: bytes, numbers: Sequence[bytes]) -> int | None:
    """Return the decimals of a word of a token that looks like a part of the vector.

    Such a word is a number behind the first word, with at least as many decimals as one
    of the numbers of the vector. In `python 2.7 0.4180 0.2497`, the word 2.7 has fewer,
    so it is a part of the token.
    """
    words = GAP.split(token.strip())[1:]
    decimals = [_n_decimals(word) for word in words if NUMBER.fullmatch(word)]
    if not decimals or max(decimals) < min(map(_n_decimals, numbers)):
        return None
    return max(decimals)


def _n_decimals(number: bytes) -> int:
    return len(number.partition(b".")[2])


def _may_be_cut(line: bytes, size: int) -> bool:
    r"""Return True if the last number of a line has fewer decimals than all others.

    A last line without a line end is usual, for example after `"\n".join`. A file that
    was cut off within its last number looks the same, except that this number is
    shorter.
    """
    decimals = [_n_decimals(number) for number in line.split()[-size:]]
    return size > 1 and decimals[-1] < min(decimals[:-1])


def _other_count(path: Path, count: int | None, got: str) -> InputError:
    return must_be(
        File(path),
        f"a table of {count} vectors, as its header says",
        got,
        "fetch it again",
    )


def _of_binary(
    data: bytes, count: int, size: int, path: Path
) -> tuple[list[bytes], NDArray[np.float32]]:
    """Cut bytes into tokens, each up to a space, and vectors in float32.

    Their number is checked.
    """
    tokens: list[bytes] = []
    width, position = 4 * size, 0
    # A header may claim more vectors than follow, so memory is taken for those that
    # fit.
    n_fitting = min(count, len(data) // (width + 1))
    vectors = np.empty((n_fitting, size), dtype=np.float32)
    for vector in vectors:
        end = data.find(b" ", position)
        if end < 0 or len(data) < end + 1 + width:
            raise _other_count(path, count, f"{len(tokens)}")
        # The original program ends each vector with a newline, gensim does not.
        tokens.append(data[position:end].lstrip(b"\n"))
        vector[:] = np.frombuffer(data, "<f4", size, end + 1)
        position = end + 1 + width
    if n_fitting < count:
        raise _other_count(path, count, f"{n_fitting}")
    _require_aligned(tokens, vectors, path)
    if data[position : position + 2**20].strip(b"\n"):
        remedy = (
            "fetch it again; a token with a space also shifts the numbers after it, so "
            "save such vectors as text"
        )
        raise must_be(
            File(path),
            f"a file that ends after {count} vectors, as its header says",
            "more bytes",
            remedy,
        )
    return tokens, vectors


def _require_aligned(
    tokens: list[bytes], vectors: NDArray[np.float32], path: Path
) -> None:
    """Refuse a binary file that was read wrongly, because tokens contain spaces.

    Then some tokens contain bytes of numbers, and letters are read as numbers.
    """
    garbled = next((token for token in tokens if CONTROL.search(token)), None)
    # Written so that a NaN is wild, too, and no second table is made.
    wild = ~((vectors.max(axis=1) < WILD) & (vectors.min(axis=1) > -WILD))
    if garbled is None and wild.any():
        garbled = tokens[int(np.argmax(wild))]
    if garbled is not None:
        got = f"other bytes at token {garbled[:40].decode('utf-8', 'replace')!r}"
        remedy = (
            "a token with a space shifts the numbers after it, so save such vectors as "
            "text"
        )
        raise must_be(
            File(path), "tokens without spaces and their numbers", got, remedy
        )


def keeps(draft: Draft) -> frozenset[str]:
    """One token a row: the ids, or titles in their place."""
    return frozenset({draft.tokens_are})


@register_writer("word2vec", keeps)
def write(file: IO[bytes], draft: Draft) -> None:
    """Write text with its header; the numbers read back as they were in float32."""
    _write(file, draft, IN_TEXT, lambda row: " ".join(map(str, row)).encode())


@register_writer("word2vec-binary", keeps)
def write_binary(file: IO[bytes], draft: Draft) -> None:
    """Write the binary variant in float32, as the original program does."""
    _write(file, draft, IN_BINARY, lambda row: row.astype("<f4").tobytes())


def _write(
    file: IO[bytes],
    draft: Draft,
    forbidden: re.Pattern[str],
    encoded: Callable[[NDArray[Any]], bytes],
) -> None:
    """Write a header, and a token and its numbers a row."""
    file.write("{} {}\n".format(*draft.right.shape).encode())
    rows = (row for block in draft.right.rows() for row in block)
    for token, row in zip(map(str, draft.tokens), rows, strict=True):
        if not token or forbidden.search(token):
            remedy = "save it as .parquet or .csv, or use ids without spaces"
            raise must_be(
                "an id in a word2vec file",
                "text without spaces and line ends",
                repr(token),
                remedy,
            )
        file.write(token.encode() + b" " + encoded(row) + b"\n")
