"""word2vec and GloVe files: text with or without a header, and word2vec's binary variant.

A line is a token and its numbers. Tokens may hold spaces (so numbers are counted from the right) and bytes that are no
UTF-8 (kept as escapes, so that different tokens stay different).
"""

from __future__ import annotations

import re
import zlib
from itertools import chain, islice
from typing import IO, TYPE_CHECKING

import numpy as np

from embaudit.errors import InputError, must_be
from embaudit.foundation.workers import row_blocks
from embaudit.io.codecs.delimited import open_bytes
from embaudit.io.files import plain_suffix, written_whole
from embaudit.io.readers.numpy_arrays import require_one_side
from embaudit.model import FactorModel

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from embaudit.io.files import AnyPath
    from embaudit.io.request import Request

FASTTEXT = (793712314).to_bytes(4, "little")
HEADER = re.compile(rb"(\d{1,12}) (\d{1,7})\s*")
NUMBERS = re.compile(rb"[-+0-9.eE]+|[-+]?(?:nan|inf)", re.IGNORECASE)
LINES = 4096
"""Lines parsed at a time."""


def recognises(path: Path) -> bool:
    """Whatever ends as such files do."""
    return plain_suffix(path) in (".txt", ".vec", ".bin", ".w2v")


def read(path: Path, request: Request) -> FactorModel:
    """Read one table of vectors, tokens as ids.

    Raises
    ------
    InputError
        If the file is cut off, or a line has another number of columns.
    """
    if request.kind in ("factors", "head"):
        raise InputError(f'kind must be "vectors" for a word2vec file, which is one side; got "{request.kind}".')
    try:
        with open_bytes(path) as file:
            tokens, vectors = _read(file, path)
    except (OSError, EOFError, zlib.error, MemoryError) as error:
        raise InputError(f"{path} cannot be read: {error}.") from error
    if all(b"." in token and NUMBERS.fullmatch(token) for token in tokens):
        raise must_be(f"{path}", "a table of tokens and vectors", "numbers only", "save bare vectors as .npy or .csv")
    ids = np.array([token.decode("utf-8", "backslashreplace") for token in tokens], dtype=np.str_)
    return FactorModel.from_vectors(vectors, ids=ids)


def _read(file: IO[bytes], path: Path) -> tuple[list[bytes], NDArray[np.float32]]:
    first = file.readline(2**20)
    if first.startswith(FASTTEXT):
        raise must_be(f"{path}", "vectors", "a fastText model", "use the .vec file that fastText writes beside it")
    header = HEADER.fullmatch(first)
    if header is None:
        return _text(chain([first], file), _dimension(first, path), None, path)
    count, size = int(header[1]), int(header[2])
    if not count or not size:
        raise must_be(f"the header of {path}", "a count and a dimension above 0", first.decode().strip())
    second = file.readline(2**20)
    if _is_text(second, size):
        return _text(chain([second], file), size, count, path)
    return _binary(second, file, count, size, path)


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


def _text(lines: Iterable[bytes], size: int, count: int | None, path: Path) -> tuple[list[bytes], NDArray[np.float32]]:
    tokens: list[bytes] = []
    parts: list[NDArray[np.float32]] = []
    walk = iter(lines)
    while block := list(islice(walk, LINES)):
        parts.append(_numbers(block, size, len(tokens), tokens, path))
        if not block[-1].endswith(b"\n"):
            raise must_be(
                f"{path}",
                "whole lines",
                "a last line without an end",
                "fetch it again, or end that line if it is whole",
            )
        if count is not None and len(tokens) > count:
            break
    if count is not None and len(tokens) != count:
        got = f"{'more' if len(tokens) > count else len(tokens)}"
        raise must_be(f"{path}", f"a table of {count} vectors, as its header says", got, "fetch it again")
    return tokens, np.concatenate(parts)


def _numbers(block: list[bytes], size: int, done: int, tokens: list[bytes], path: Path) -> NDArray[np.float32]:
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
    return vectors


def _binary(
    start: bytes, file: IO[bytes], count: int, size: int, path: Path
) -> tuple[list[bytes], NDArray[np.float32]]:
    width = 4 * size
    tokens: list[bytes] = []
    parts: list[NDArray[np.float32]] = []
    buffer = start
    for rows in row_blocks(count, size):
        vectors = np.empty((rows.stop - rows.start, size), dtype=np.float32)
        for i in range(len(vectors)):
            end = buffer.find(b" ")
            while end < 0 or len(buffer) < end + 1 + width:
                more = file.read(2**20 + width)
                if not more or (end < 0 and len(buffer) > 2**20):
                    got = f"{len(tokens)}"
                    raise must_be(f"{path}", f"a table of {count} vectors, as its header says", got, "fetch it again")
                buffer += more
                end = buffer.find(b" ")
            # The original program ends each vector with a newline, gensim does not.
            tokens.append(buffer[:end].lstrip(b"\n"))
            vectors[i] = np.frombuffer(buffer, "<f4", size, end + 1)
            buffer = buffer[end + 1 + width :]
        parts.append(vectors)
    return tokens, np.concatenate(parts)


def _token(text: str) -> str:
    if not text or re.search(r"[\n\r]", text) or text != text.strip(" "):
        raise must_be(
            "an id in a word2vec file", "text without line ends and outer spaces", repr(text), "save it as .parquet"
        )
    return text


def _written(model: FactorModel) -> Iterator[str]:
    ids = np.arange(model.n_right) if model.right_ids is None else model.right_ids
    yield f"{model.n_right} {model.rank}\n"
    for token, row in zip(ids, model.right, strict=True):
        yield f"{_token(str(token))} {' '.join(map(str, row))}\n"


def write(model: FactorModel, path: AnyPath, *, force: bool = False) -> None:
    """Write word2vec text with its header; the numbers read back as they were in float32.

    Raises
    ------
    InputError
        If the model holds more than one side, or an id the format cannot hold.
    """
    require_one_side(model, ".txt", ids=True)
    with written_whole(path, force=force, mode="w") as file:
        file.writelines(_written(model))
