"""Vectors in JSON: lists, `{id: vector}`, records of an id and a vector, or columns; whole, or one record a line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from embaudit.errors import File, InputError, Option, Sentence, must_be
from embaudit.io.contents import Contents
from embaudit.io.damaged import reason
from embaudit.io.files import plain_suffix
from embaudit.io.formats import COLUMNS, register
from embaudit.io.formats.tables import contents_of_table
from embaudit.io.json_text import parsed, parsed_once, require_few_keys
from embaudit.io.options import Request
from embaudit.io.tables.arrow import ArrowTable
from embaudit.io.tables.columns import TableFile
from embaudit.io.tables.delimited import as_ids
from embaudit.io.unpacked import open_bytes

if TYPE_CHECKING:
    import pyarrow as pa

LINES = (".jsonl", ".ndjson")
ALLOWED = "vectors: lists of numbers, {id: vector}, or records of an id and a vector"
BLOCK = 2**26
"""A line must fit into so many bytes, which is a vector of some million dimensions."""


def table(path: Path) -> pa.Table:
    """Read all of a file as a table; its columns keep their names where they have any.

    Raises
    ------
    InputError
        If it is no JSON, or holds something else than vectors.
    """
    import pyarrow as pa
    from pyarrow import json

    try:
        with open_bytes(path) as file:
            if plain_suffix(path) not in LINES:
                content = file.read()
                require_few_keys(content)
                return _of(parsed_once(content), path)
            if not file.peek(1).startswith(b"{"):  # type: ignore[attr-defined]
                return _of([parsed(line) for line in file if line.strip()], path)
            records = json.read_json(
                file, read_options=json.ReadOptions(block_size=BLOCK)
            )
            # What is no UTF-8 shows only here.
            records.validate(full=True)
            for column in records.columns:
                # pyarrow reads NaN and Infinity, which are no JSON.
                _require_finite(column)
            return records
    except InputError:
        raise
    except OSError as error:
        raise InputError("{} cannot be read: {}.", File(path), error) from error
    except (ValueError, TypeError, OverflowError, pa.ArrowException) as error:
        raise must_be(
            File(path), f"JSON of {ALLOWED}", reason(error), "write it again"
        ) from error


def _of(content: Any, path: Path, depth: int = 1) -> pa.Table:
    """Make a table of a document: records, lists, a map of vectors, or columns; one level deeper at most."""
    import pyarrow as pa

    vectors = pa.list_(pa.float64())
    if isinstance(content, list) and content:
        # pyarrow cannot make a table of records that are all empty.
        if all(isinstance(row, dict) for row in content) and any(content):
            return pa.Table.from_struct_array(pa.array(content))
        if all(_is_vector(row) for row in content):
            return pa.table({"vector": pa.array(content, vectors)})
    if isinstance(content, dict) and content:
        if all(_is_vector(value) for value in content.values()):
            # JSON has keys as text only.
            ids = as_ids(list(content))
            return pa.table({"id": ids, "vector": pa.array(content.values(), vectors)})
        lists = {
            name: value
            for name, value in content.items()
            if isinstance(value, list) and value
        }
        if rows := max(
            (len(value) for value in lists.values() if _is_vector(value[0])), default=0
        ):
            # What is as long as the vectors is a column; an entry of another kind is
            # none.
            whole = {name: value for name, value in lists.items() if len(value) == rows}
            return pa.table(
                {
                    name: pa.array(x, vectors if _is_vector(x[0]) else None)
                    for name, x in whole.items()
                }
            )
        inner = [value for value in content.values() if isinstance(value, (dict, list))]
        if len(inner) == 1 and depth:
            return _of(inner[0], path, depth - 1)
    raise _other(content, path)


def _require_finite(column: pa.ChunkedArray) -> None:
    """Raise ValueError if a number of a column, or of lists or records in it, is not finite."""
    from pyarrow import compute, types

    kind = column.type
    if types.is_list(kind):
        _require_finite(compute.list_flatten(column))
    elif types.is_struct(kind):
        for field in range(kind.num_fields):
            _require_finite(compute.struct_field(column, field))
    elif (
        types.is_floating(kind)
        and not compute.all(compute.is_finite(column), min_count=0).as_py()
    ):
        raise ValueError("a number that is not finite")


def _is_vector(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(type(x) in (int, float) for x in value)
    )


def _other(content: Any, path: Path) -> InputError:
    """Describe other JSON content and suggest a conversion."""
    got = type(content).__name__
    remedy = Sentence("write vectors with json.dump({id: vector.tolist()})")
    if isinstance(content, dict):
        if "embaudit_version" in content:
            got = "an audit"
            remedy = Sentence("give the model that was audited")
        elif content and all(type(value) is int for value in content.values()):
            got = "a vocabulary"
            labels = Option("labels", str(path))
            remedy = Sentence("give the head, and this with {}", labels)
        elif "model_type" in content or "architectures" in content:
            got = "a configuration"
            remedy = Sentence("give its folder")
        elif "added_tokens" in content:
            got = "a tokenizer"
            remedy = Sentence("give its folder")
    return must_be(File(path), ALLOWED, got, remedy)


@register(
    "json",
    suffixes=(".json", ".jsonl", ".ndjson"),
    origin="lists, records or a map in JSON",
    content="vectors, ids, biases",
    options=COLUMNS,
)
def read(path: Path, request: Request) -> Contents:
    """Map parts of JSON to fields as those of a table.

    Such a document has no header, so all of it is read for that.
    """
    return contents_of_table(TableFile.of(ArrowTable.of(path, table(path))), request)
