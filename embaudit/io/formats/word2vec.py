"""word2vec, fastText and GloVe files, in text or in the binary variant of word2vec.

Text has a header or none. A line is a token and its numbers, and tokens become ids.
Tokens may hold spaces, so numbers are counted from the right. Bytes of tokens that are
no UTF-8 are kept as escapes, so that different tokens stay different.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator
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
from embaudit.io.unpacked import open_bytes

FASTTEXT = (793712314).to_bytes(4, "little")
HEADER = re.compile(rb"(\d{1,18}) (\d{1,18})\s*")
NUMBERS = re.compile(rb"[-+0-9.eE]+|[-+]?(?:nan|inf)", re.IGNORECASE)
CONTROL = re.compile(rb"[\x00-\x1f\x7f]")
IN_TEXT, IN_BINARY = re.compile(r"[ \n\r]"), re.compile(r"[\s\x00-\x1f\x7f]")
"""Characters that no written token may hold."""
WILD = 1e15
"""No embedding holds such a number; letters read as float32 do."""
LINES = 4096
"""Lines parsed at a time."""


def is_word2vec(path: Path) -> bool:
    """Return whether a file begins with a header and a token.

    The token must have as many numbers as the header says. The name of the file does
    not count.
    """
    if not path.is_file():
        return False
    with path.open("rb") as file:
        header = HEADER.fullmatch(file.readline(64))
        return header is not None and _is_text(file.readline(2**20), int(header[2]))


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
    """Determine the vectors of all tokens by the first line.

    It says how many vectors there are and of which size.

    Raises
    ------
    InputError
        If the file is cut off, holds numbers only, or a line has another number of
        columns.
    """
    with open_bytes(path) as file:
        shape = _header(file, path)[:2]
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
            count, size, line = _header(file, path)
            if count == 0 or not size:
                raise must_be(
                    Sentence("the header of {}", File(path)),
                    "a count and a dimension above 0",
                    f"{count} {size}",
                )
            if count is None or _is_text(line, size):
                tokens, vectors = _of_text(chain([line], file), count, size, path)
            else:
                tokens, vectors = _of_binary(line + file.read(), count, size, path)
    except (OSError, MemoryError) as error:
        raise InputError("{} cannot be read: {}.", File(path), error) from error
    if all(b"." in token and NUMBERS.fullmatch(token) for token in tokens):
        raise must_be(
            File(path),
            "a table of tokens and vectors",
            "numbers only",
            "save bare vectors as .npy or .csv",
        )
    return as_texts(
        [token.decode("utf-8", "backslashreplace") for token in tokens], "words"
    ), vectors


def _header(file: IO[bytes], path: Path) -> tuple[int | None, int, bytes]:
    """Return the number of vectors, their size, and the first line behind a header.

    The number is None if there is no header.
    """
    first = file.readline(2**20).removeprefix(codecs.BOM_UTF8)
    if first.startswith(FASTTEXT):
        remedy = "save its vectors as .vec, as fastText writes beside it"
        raise must_be(File(path), "vectors", "a fastText model", remedy)
    if header := HEADER.fullmatch(first):
        return int(header[1]), int(header[2]), file.readline(2**20)
    # Numbers are counted from the end; a token that is a number itself is still the
    # token.
    fields = first.rstrip().split(b" ")
    size = next(
        (n for n, field in enumerate(fields[:0:-1]) if not NUMBERS.fullmatch(field)),
        len(fields) - 1,
    )
    if not size:
        got = repr(first[:60].decode("utf-8", "replace"))
        raise must_be(
            File(path), "lines of a token and its numbers, cut by spaces", got
        )
    return None, size, first


def _is_text(line: bytes, size: int) -> bool:
    fields = line.rstrip().rsplit(b" ", size)
    return len(fields) == size + 1 and all(
        NUMBERS.fullmatch(field) for field in fields[1:]
    )


# What is too large for float32 becomes infinite, which the model refuses.
@np.errstate(over="ignore")
def _of_text(
    lines: Iterator[bytes], count: int | None, size: int, path: Path
) -> tuple[list[bytes], NDArray[np.float32]]:
    """Parse lines into tokens and vectors, and check their number."""
    tokens: list[bytes] = []
    parts = []
    while block := list(islice(lines, LINES)):
        vectors = np.empty((len(block), size), dtype=np.float32)
        for vector, line in zip(vectors, block, strict=True):
            fields = line.rstrip(b" \r\n").rsplit(b" ", size)
            try:
                # Python takes 3_1 for 31.
                if len(fields) != size + 1 or b"_" in line[len(fields[0]) :]:
                    raise ValueError
                vector[:] = [float(field) for field in fields[1:]]
            except ValueError:
                shown = repr(line[:40].decode("utf-8", "replace"))
                got = f"{shown} as line {len(tokens) + 1} of the vectors"
                raise must_be(
                    File(path),
                    f"lines of a token and {size} numbers",
                    got,
                    "fetch it again",
                ) from None
            tokens.append(fields[0])
        parts.append(vectors)
        if not block[-1].endswith(b"\n") and _may_be_cut(block[-1], size):
            remedy = "fetch it again, or end that line if it is whole"
            raise must_be(
                File(path), "whole lines", "a last line without an end", remedy
            )
        if count is not None and len(tokens) > count:
            raise _other_count(path, count, "more")
    if count not in (None, len(tokens)):
        raise _other_count(path, count, f"{len(tokens)}")
    return tokens, np.concatenate(parts)


def _may_be_cut(line: bytes, size: int) -> bool:
    r"""Return True if the last number of a line has fewer decimals than all others.

    A last line without a line end is usual, for example after `"\n".join`. A file that
    was cut off within its last number looks the same, except that this number is
    shorter.
    """
    numbers = line.rsplit(b" ", size)[1:]
    decimals = [len(number.partition(b".")[2]) for number in numbers]
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
            "fetch it again; a token that holds a space also shifts what follows, so "
            "save such vectors as text"
        )
        raise must_be(
            File(path),
            f"at its end after {count} vectors, as its header says",
            "more bytes",
            remedy,
        )
    return tokens, vectors


def _require_aligned(
    tokens: list[bytes], vectors: NDArray[np.float32], path: Path
) -> None:
    """Refuse what is read of a binary file whose tokens hold spaces.

    Then tokens hold bytes of numbers, and letters are read as numbers.
    """
    garbled = next((token for token in tokens if CONTROL.search(token)), None)
    # Written so that a NaN is wild, too, and no second table is made.
    wild = ~((vectors.max(axis=1) < WILD) & (vectors.min(axis=1) > -WILD))
    if garbled is None and wild.any():
        garbled = tokens[int(np.argmax(wild))]
    if garbled is not None:
        got = f"other bytes at token {garbled[:40].decode('utf-8', 'replace')!r}"
        remedy = (
            "a token that holds a space shifts what follows, so save such vectors as "
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
            remedy = (
                "save it as .parquet or .csv, or call the rows by ids without spaces"
            )
            raise must_be(
                "an id in a word2vec file",
                "text without spaces and line ends",
                repr(token),
                remedy,
            )
        file.write(token.encode() + b" " + encoded(row) + b"\n")
