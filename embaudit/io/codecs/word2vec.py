"""word2vec and GloVe files: text with or without a header, and word2vec's binary variant.

A line is a token and its numbers. Tokens may hold spaces (so numbers are counted from the right) and bytes that are no
UTF-8 (kept as escapes, so that different tokens stay different).
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from embaudit.core.parallel import row_blocks
from embaudit.errors import InputError, must_be
from embaudit.io.codecs.arrays import Stream
from embaudit.io.codecs.unpacked import open_bytes

FASTTEXT = (793712314).to_bytes(4, "little")
HEADER = re.compile(rb"(\d{1,12}) (\d{1,7})\s*")
NUMBERS = re.compile(rb"[-+0-9.eE]+|[-+]?(?:nan|inf)", re.IGNORECASE)
CONTROL = re.compile(rb"[\x00-\x1f\x7f]")
IN_TEXT, IN_BINARY = re.compile(r"[ \n\r]"), re.compile(r"[\s\x00-\x1f\x7f]")
"""Characters that no written token may hold."""
WILD = 1e15
"""No embedding holds such a number; letters read as float32 do."""
LINES = 4096
"""Lines parsed at a time."""


def blocks(path: Path) -> Iterator[tuple[list[bytes], NDArray[np.float32]]]:
    """Yield tokens and their vectors, some thousand at a time.

    Raises
    ------
    InputError
        If the file is cut off, or a line has another number of columns.
    """
    try:
        with open_bytes(path) as file:
            yield from _blocks(file, path)
    except (OSError, MemoryError) as error:
        raise InputError(f"{path} cannot be read: {error}.") from error


def shape(path: Path) -> tuple[int | None, int]:
    """Return the number of vectors, where a header says it, and their size, from the first line.

    Raises
    ------
    InputError
        If it is no line of such a file.
    """
    with open_bytes(path) as file:
        return _header(file, path)[:2]


def _header(file: IO[bytes], path: Path) -> tuple[int | None, int, bytes]:
    """Return the number of vectors, where a header says it, their size, and the first line behind a header."""
    first = file.readline(2**20).removeprefix(codecs.BOM_UTF8)
    if first.startswith(FASTTEXT):
        remedy = "save its vectors as .vec, as fastText writes beside it"
        raise must_be(f"{path}", "vectors", "a fastText model", remedy)
    header = HEADER.fullmatch(first)
    if header is None:
        return None, _dimension(first, path), first
    return int(header[1]), int(header[2]), file.readline(2**20)


def is_word2vec(path: Path) -> bool:
    """Check whether a file, whatever it is called, begins with a header and a token with as many numbers as it says."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        header = HEADER.fullmatch(file.readline(64))
        return header is not None and _is_text(file.readline(2**20), int(header[2]))


def _blocks(file: IO[bytes], path: Path) -> Iterator[tuple[list[bytes], NDArray[np.float32]]]:
    """Yield tokens and vectors of either variant, told by the second line."""
    count, size, line = _header(file, path)
    if count == 0 or not size:
        raise must_be(f"the header of {path}", "a count and a dimension above 0", f"{count} {size}")
    if count is None or _is_text(line, size):
        return _text(chain([line], file), size, count, path)
    return _binary(line, file, count, size, path)


def _is_text(line: bytes, size: int) -> bool:
    fields = line.rstrip().rsplit(b" ", size)
    return len(fields) == size + 1 and all(NUMBERS.fullmatch(field) for field in fields[1:])


def _dimension(first: bytes, path: Path) -> int:
    """Count the numbers at the end of the first line."""
    fields = first.rstrip().split(b" ")
    size = len(fields)
    while size and NUMBERS.fullmatch(fields[size - 1]):
        size -= 1
    # A token that is a number itself is still the token.
    size = len(fields) - max(size, 1)
    if not size:
        raise must_be(
            f"{path}", "lines of a token and its numbers, cut by spaces", repr(first[:60].decode("utf-8", "replace"))
        )
    return size


def _text(
    lines: Iterable[bytes], size: int, count: int | None, path: Path
) -> Iterator[tuple[list[bytes], NDArray[np.float32]]]:
    """Yield tokens and vectors of lines of text, and check their number."""
    done = 0
    walk = iter(lines)
    while block := list(islice(walk, LINES)):
        yield _numbers(block, size, done, path)
        if not block[-1].endswith(b"\n"):
            remedy = "fetch it again, or end that line if it is whole"
            raise must_be(f"{path}", "whole lines", "a last line without an end", remedy)
        done += len(block)
        if count is not None and done > count:
            break
    if count is not None and done != count:
        raise _other_count(path, count, "more" if done > count else f"{done}")


def _other_count(path: Path, count: int, got: str) -> InputError:
    return must_be(f"{path}", f"a table of {count} vectors, as its header says", got, "fetch it again")


# What is too large for float32 becomes infinite, which the model refuses.
@np.errstate(over="ignore")
def _numbers(block: list[bytes], size: int, done: int, path: Path) -> tuple[list[bytes], NDArray[np.float32]]:
    """Parse lines into tokens and vectors."""
    tokens: list[bytes] = []
    vectors = np.empty((len(block), size), dtype=np.float32)
    for i, line in enumerate(block):
        fields = line.rstrip(b" \r\n").rsplit(b" ", size)
        try:
            if len(fields) != size + 1:
                raise ValueError
            vectors[i] = [float(field) for field in fields[1:]]
        except ValueError:
            shown = repr(line[:40].decode("utf-8", "replace"))
            got = f"{shown} as line {done + i + 1} of the vectors"
            raise must_be(f"{path}", f"lines of a token and {size} numbers", got, "fetch it again") from None
        tokens.append(fields[0])
    return tokens, vectors


def _binary(
    buffer: bytes, file: IO[bytes], count: int, size: int, path: Path
) -> Iterator[tuple[list[bytes], NDArray[np.float32]]]:
    """Yield tokens and vectors of the binary variant, and check their number."""
    width = 4 * size
    for rows in row_blocks(count, size):
        tokens: list[bytes] = []
        vectors = np.empty((rows.stop - rows.start, size), dtype=np.float32)
        for vector in vectors:
            end = buffer.find(b" ")
            while end < 0 or len(buffer) < end + 1 + width:
                more = file.read(2**20 + width)
                if not more or (end < 0 and len(buffer) > 2**20):
                    raise _other_count(path, count, f"{rows.start + len(tokens)}")
                buffer += more
                end = buffer.find(b" ")
            # The original program ends each vector with a newline, gensim does not.
            tokens.append(buffer[:end].lstrip(b"\n"))
            vector[:] = np.frombuffer(buffer, "<f4", size, end + 1)
            buffer = buffer[end + 1 + width :]
        _require_aligned(tokens, vectors, path)
        yield tokens, vectors
    if (buffer + file.read(2**20)).strip(b"\n"):
        remedy = "fetch it again; a token that holds a space also shifts what follows, so save such vectors as text"
        raise must_be(f"{path}", f"at its end after {count} vectors, as its header says", "more bytes", remedy)


def _require_aligned(tokens: list[bytes], vectors: NDArray[np.float32], path: Path) -> None:
    """Refuse what is read of a binary file whose tokens hold spaces: bytes of numbers in tokens, letters as numbers."""
    garbled = next((token for token in tokens if CONTROL.search(token)), None)
    wild = ~(np.abs(vectors) < WILD).all(axis=1)
    if garbled is None and wild.any():
        garbled = tokens[int(np.argmax(wild))]
    if garbled is not None:
        got = f"other bytes at token {garbled[:40].decode('utf-8', 'replace')!r}"
        remedy = "a token that holds a space shifts what follows, so save such vectors as text"
        raise must_be(f"{path}", "tokens without spaces and their numbers", got, remedy)


def _token(text: str, apart: re.Pattern[str]) -> str:
    if not text or apart.search(text):
        remedy = "save it as .parquet or .csv, or call the rows by ids without spaces"
        raise must_be("an id in a word2vec file", "text without spaces and line ends", repr(text), remedy)
    return text


def write(file: IO[bytes], stream: Stream, tokens: Iterable[object]) -> None:
    """Write text with its header, a block of rows at a time.

    Raises
    ------
    InputError
        If a token holds what separates tokens.
    """
    count, size = stream.shape
    file.write(f"{count} {size}\n".encode())
    walk = iter(tokens)
    for block in stream.rows():
        lines = (f"{_token(str(next(walk)), IN_TEXT)} {' '.join(map(str, row))}\n" for row in block)
        file.writelines(line.encode() for line in lines)


def write_binary(file: IO[bytes], stream: Stream, tokens: Iterable[object]) -> None:
    """Write the binary variant in float32, as the original program does.

    Raises
    ------
    InputError
        If a token holds what separates tokens, or a byte that no token has.
    """
    count, size = stream.shape
    file.write(f"{count} {size}\n".encode())
    walk = iter(tokens)
    for block in stream.rows():
        rows = np.ascontiguousarray(block, dtype="<f4")
        lines = (f"{_token(str(next(walk)), IN_BINARY)} ".encode() + row.tobytes() + b"\n" for row in rows)
        file.writelines(lines)
