"""Labels of a head: one a line, a JSON list, or a JSON map between label and row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.errors import InputError, must_be
from embaudit.io.files import AnyPath, existing_file
from embaudit.io.json_text import parsed


def read_labels(path: AnyPath, n_rows: int, *, what: str = "label") -> NDArray[np.str_]:
    r"""Read the names of `n_rows` rows.

    Parameters
    ----------
    path : path
        `.json`: a list, a map label → row (as tokenizers keep it) or row → label (as configurations do,
        also under the key "id2label"); anything else: text, one label a line, in the order of the rows.
    n_rows : int
        How many labels there must be.
    what : str
        What a row is called in an error.

    Returns
    -------
    array of str, shape (n_rows,)

    Raises
    ------
    InputError
        If their number differs, or a map does not name every row exactly once.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder, "vocab.json")
    ...     _ = file.write_text('{"b": 1, "a": 0}')
    ...     read_labels(file, 2)
    array(['a', 'b'], dtype='<U1')
    """
    where = existing_file(path)
    try:
        text = where.read_text(encoding="utf-8-sig")
        labels = _from_json(parsed(text), n_rows) if where.suffix.lower() == ".json" else _lines(text)
    except OSError as error:
        raise InputError(f"{where} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise must_be("the file of labels", "text in UTF-8", f"other bytes in {where}", "convert it") from error
    except ValueError as error:
        if isinstance(error, InputError):
            raise InputError(f"{where}: {error}") from error
        raise must_be("the file of labels", "valid JSON", f"{where} ({error})") from error
    if len(labels) != n_rows:
        raise must_be(
            f"{where}",
            f"a file of {n_rows} {what} names, one a row",
            f"{len(labels)}",
            "check that it belongs to this model",
        )
    return np.array(labels, dtype=np.str_)


def _lines(text: str) -> list[str]:
    # Not splitlines: a form feed or a line separator may itself be a token of a vocabulary.
    lines = text.split("\n")
    return [line.removesuffix("\r") for line in (lines[:-1] if lines[-1] == "" else lines)]


def _from_json(content: Any, n_rows: int) -> list[str]:
    if isinstance(content, list):
        return [str(label) for label in content]
    if isinstance(content, dict) and isinstance(content.get("id2label"), dict):
        content = content["id2label"]
    if not isinstance(content, dict):
        raise must_be("the labels", "a JSON list or a map between label and row", type(content).__name__)
    by_row = (
        {_row(key): str(value) for key, value in content.items()} if _rows_are_keys(content) else _inverted(content)
    )
    if len(by_row) != n_rows:
        raise must_be("the labels", f"a map of {n_rows} rows", len(by_row), "check that it belongs to this model")
    missing = [row for row in range(n_rows) if row not in by_row]
    if missing:
        raise must_be("the labels", f"a map that names every row from 0 to {n_rows - 1}", f"none for row {missing[0]}")
    return [by_row[row] for row in range(n_rows)]


def _rows_are_keys(content: Mapping[str, Any]) -> bool:
    return not all(isinstance(value, int) and not isinstance(value, bool) for value in content.values())


def _inverted(content: Mapping[str, int]) -> dict[int, str]:
    by_row: dict[int, str] = {}
    for label, row in content.items():
        if row in by_row:
            raise must_be("the labels", "a map with one label a row", f"{by_row[row]!r} and {label!r} for row {row}")
        by_row[row] = label
    return by_row


def _row(key: str) -> int:
    try:
        return int(key)
    except ValueError:
        raise must_be(
            "the labels", "a map label → row or row → label", f"the key {key!r} with a value that is no row"
        ) from None
