"""Vectors in JSON: lists, `{id: vector}`, records of an id and a vector, or columns.

A file holds one document, or one document per line.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from embaudit.core.words import listed
from embaudit.errors import File, InputError, Option, Sentence, must_be
from embaudit.io.damaged import reason
from embaudit.io.files import plain_suffix
from embaudit.io.formats import COLUMNS, register
from embaudit.io.json_text import parsed, parsed_once, require_few_keys
from embaudit.io.options import Request
from embaudit.io.tables.arrow import ArrowTable
from embaudit.io.tables.columns import TableFile
from embaudit.io.tables.delimited_rows import as_ids
from embaudit.io.tables.lists import is_vectors
from embaudit.io.unpacked import open_bytes

if TYPE_CHECKING:
    import pyarrow as pa

LINES = (".jsonl", ".ndjson")
ALLOWED = "vectors: lists of numbers, {id: vector}, or records of an id and a vector"
OF_REQUESTS = ("custom_id", "key", "recordId", "id", "_id", "uuid")
"""Keys under which a service returns the id that the caller gave to a request."""
ACTIONS = ("index", "create")
"""Actions in a bulk request of Elasticsearch that a document follows."""
COLUMN_NAMES = {"ids": "id", "documents": "title", "texts": "title"}
"""Names of columns, by the keys under which services return them as lists."""
SHOWN = 4
"""Number of tables, or of keys of an object, that a sentence names."""
DEEPEST = 3
"""Levels of a document that are searched for a table."""
BLOCK = 2**26
"""Longest line in bytes, which is a vector of some million dimensions."""


def table(path: Path) -> pa.Table:
    """Read all of a file as a table. Columns keep the names that the file gives them.

    Raises
    ------
    InputError
        If the file is not valid JSON, or does not hold vectors.
    """
    import pyarrow as pa
    from pyarrow import json

    try:
        with open_bytes(path) as file:
            if plain_suffix(path) not in LINES:
                content = file.read()
                require_few_keys(content)
                return _only_table(parsed_once(content), path)
            if not file.peek(1).startswith(b"{"):  # type: ignore[attr-defined]
                return _only_table(_lines(file), path)
            records = json.read_json(
                file, read_options=json.ReadOptions(block_size=BLOCK)
            )
        has_actions = not {*ACTIONS}.isdisjoint(records.column_names)
        has_vectors = any(is_vectors(column.type) for column in records.schema)
        if has_actions or not has_vectors:
            # The vectors can be inside nested records, which pyarrow does not flatten.
            with open_bytes(path) as file:
                answers = _of_answers(_without_actions(_lines(file)))
            if answers is not None:
                return answers
        # Bytes that are not UTF-8 raise an error only here.
        records.validate(full=True)
        for column in records.columns:
            # pyarrow reads NaN and Infinity, which JSON does not have.
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


def _lines(file: IO[bytes]) -> list[Any]:
    """Parse one document per line."""
    return [parsed(line) for line in file if line.strip()]


def _without_actions(records: list[Any]) -> list[Any]:
    """Join actions of a bulk request of Elasticsearch with the documents after them.

    Other records are returned as they are.

    Examples
    --------
    >>> _without_actions([{"index": {"_id": "a"}}, {"embedding": [0.5]}])
    [{'embedding': [0.5], '_id': 'a'}]
    """
    if len(records) % 2:
        return records
    joined = []
    for action, document in zip(records[::2], records[1::2], strict=True):
        if not (isinstance(action, dict) and isinstance(document, dict)):
            return records
        kind = next(iter(action), "")
        if len(action) != 1 or kind not in ACTIONS:
            return records
        target = action[kind] or {}
        if "_id" in target:
            document = {**document, "_id": target["_id"]}
        joined.append(document)
    return joined


def _only_table(content: Any, path: Path) -> pa.Table:
    """Return the only table of vectors in a document.

    Raises
    ------
    InputError
        If the document holds no table of vectors, or several tables.
    """
    if isinstance(content, dict):
        purpose = _purpose_of(content, path)
        if purpose is not None:
            raise must_be(File(path), ALLOWED, *purpose)
    tables = _tables_in(content)
    if len(tables) > 1:
        remedy = "write each table to a file of its own"
        got = f"{len(tables)} tables: {listed([*tables], SHOWN)}"
        raise must_be(File(path), "one table of vectors", got, remedy)
    if tables:
        return next(iter(tables.values()))
    remedy = "write vectors with json.dump({id: vector.tolist()})"
    raise must_be(File(path), ALLOWED, _described(content), remedy)


def _described(content: Any) -> str:
    """Describe a JSON value without vectors in the words of JSON.

    Examples
    --------
    >>> _described({"error": {"message": "rate limit"}}), _described([]), _described(3)
    ('an object with the keys error', 'an empty list', 'a number')
    """
    if content == {}:
        return "an empty object"
    if content == []:
        return "an empty list"
    if isinstance(content, dict):
        keys = listed([str(key) for key in content], SHOWN)
        return f"an object with the keys {keys}"
    if isinstance(content, list):
        return "a list with other entries"
    if isinstance(content, str):
        return "a text"
    if content is None or isinstance(content, bool):
        return "null, true or false"
    return "a number"


def _tables_in(content: Any, depth: int = DEEPEST) -> dict[str, pa.Table]:
    """Return the tables of vectors in a document, by the path of keys to each table.

    The path is empty if the document itself is a table. Answers of services hold tables
    next to other entries, such as their usage.

    Parameters
    ----------
    content : Any
        The document, as JSON.
    depth : int
        Levels of maps that are searched.
    """
    table = _table_of(content)
    if table is not None:
        return {"": table}
    if not isinstance(content, dict) or depth == 0:
        return {}
    tables = {}
    columns = _columns_in(content)
    if columns:
        # The table has the name of its first column of vectors.
        vectors = [name for name, value in columns.items() if _is_vector(value[0])]
        tables[vectors[0]] = _of_columns(columns)
    for key, value in content.items():
        if key in columns or _is_setting(value):
            continue
        for inner_path, table in _tables_in(value, depth - 1).items():
            path = key
            if inner_path:
                path = f"{key}.{inner_path}"
            tables[path] = table
    return tables


def _is_setting(value: Any) -> bool:
    """Check for a map of one list, such as {"shape": [224, 224]}."""
    if not isinstance(value, dict) or len(value) != 1:
        return False
    (entry,) = value.values()
    return _is_vector(entry)


def _table_of(content: Any) -> pa.Table | None:
    """Make a table of a list or a map of records or of vectors.

    Return None for other content.
    """
    import pyarrow as pa

    vectors = pa.list_(pa.float64())
    if isinstance(content, list) and content:
        if all(isinstance(row, dict) for row in content):
            if any(_is_vector(value) for row in content for value in row.values()):
                return pa.Table.from_struct_array(pa.array(content))
            return _of_answers(content)
        if all(_is_vector(row) for row in content):
            return pa.table({"vector": pa.array(content, vectors)})
    if isinstance(content, dict) and content:
        if all(_is_vector(value) for value in content.values()):
            # Keys of JSON are texts, also if they stand for numbers.
            ids = as_ids(list(content))
            return pa.table({"id": ids, "vector": pa.array(content.values(), vectors)})
        if all(isinstance(value, dict) for value in content.values()):
            return _of_answers([{**row, "id": key} for key, row in content.items()])
    return None


def _columns_in(content: dict[str, Any]) -> dict[str, list[Any]]:
    """Return the lists of a map that are as long as its longest list of vectors.

    Return an empty map without a list of vectors.
    """
    lists = {
        name: value
        for name, value in content.items()
        if isinstance(value, list) and value
    }
    lengths = [len(value) for value in lists.values() if _is_vector(value[0])]
    if not lengths:
        return {}
    n_rows = max(lengths)
    return {name: value for name, value in lists.items() if len(value) == n_rows}


def _of_columns(columns: dict[str, list[Any]]) -> pa.Table:
    """Make a table of a list for each column."""
    import pyarrow as pa

    arrays = {}
    for name, value in columns.items():
        kind = None
        if _is_vector(value[0]):
            kind = pa.list_(pa.float64())
        arrays[COLUMN_NAMES.get(name, name)] = pa.array(value, kind)
    return pa.table(arrays)


def _of_answers(records: list[Any]) -> pa.Table | None:
    """Make a table of answers of services, which hold vectors deep in each record.

    A batch of OpenAI, for example, has a line `{"custom_id": …, "response": {"body":
    {"data": [{"embedding": […]}]}}}` for each request.

    Returns
    -------
    pyarrow.Table or None
        None unless all vectors are in one place of the records. A record without a
        vector, such as the answer to a request that failed, has an empty cell.
    """
    import pyarrow as pa

    ids: list[Any] = []
    vectors: list[list[float] | None] = []
    places: set[tuple[str, ...]] = set()
    for record in records:
        if not isinstance(record, dict):
            return None
        found = list(_vectors_in(record))
        places.update(place for place, _ in found)
        name = next((record[key] for key in OF_REQUESTS if key in record), None)
        if not found:
            vectors.append(None)
            ids.append(name)
        elif len(found) == 1:
            vectors.append(found[0][1])
            ids.append(name)
        else:
            # A request can hold several texts, so its vectors are numbered.
            for number, (_, vector) in enumerate(found):
                vectors.append(vector)
                ids.append(f"{name}/{number}")
    # Lists that hold only whole numbers are shapes of arrays, numbers of tokens and the
    # like.
    has_fractions = any(
        isinstance(number, float) for vector in vectors for number in vector or ()
    )
    if len(places) != 1 or not has_fractions:
        return None
    column = {places.pop()[-1]: pa.array(vectors, pa.list_(pa.float64()))}
    if all(name is None for name in ids):
        return pa.table(column)
    names = [None if name is None else str(name) for name in ids]
    return pa.table({"id": as_ids(names), **column})


def _vectors_in(
    value: Any, place: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], list[float]]]:
    """Yield the vectors in a record, each with the keys that lead to it."""
    if place and _is_vector(value):
        yield place, value
    elif isinstance(value, list):
        for entry in value:
            if isinstance(entry, (dict, list)):
                yield from _vectors_in(entry, place)
    elif isinstance(value, dict):
        for key, entry in value.items():
            yield from _vectors_in(_decoded(key, entry), (*place, key))


def _decoded(key: str, value: Any) -> Any:
    """Decode a vector that is base64 of float32; return other values as they are."""
    if key != "embedding" or not isinstance(value, str):
        return value
    try:
        return np.frombuffer(b64decode(value, validate=True), "<f4").tolist()
    except ValueError:
        return value


def _require_finite(column: pa.ChunkedArray) -> None:
    """Raise ValueError if a number of a column, or inside it, is not finite."""
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
    """Return True for a list of numbers that is not empty. Booleans are rejected."""
    if not isinstance(value, list) or not value:
        return False
    return all(type(number) in (int, float) for number in value)


def _purpose_of(content: dict[str, Any], path: Path) -> tuple[str, Sentence] | None:
    """Return what a file next to a model is, and what to give instead of it.

    Return None for other documents.
    """
    if "embaudit_version" in content:
        return "an audit", Sentence("give the model that was audited")
    if content and all(type(value) is int for value in content.values()):
        labels = Option("labels", str(path))
        return "a vocabulary", Sentence("give the head, and this file with {}", labels)
    if "model_type" in content or "architectures" in content:
        return "a configuration", Sentence("give its folder")
    if "weightsManifest" in content:
        return "a model of TensorFlow.js", Sentence("give its folder")
    if "added_tokens" in content:
        return "a tokenizer", Sentence("give its folder")
    return None


@register(
    "json",
    suffixes=(".json", ".jsonl", ".ndjson"),
    origin="lists, records or a JSON object",
    content="vectors, ids, biases",
    options=COLUMNS,
)
def read(path: Path, request: Request) -> TableFile:  # noqa: ARG001
    """Read a document as a table. All of it is read, because JSON has no header."""
    return TableFile.from_arrow(ArrowTable.from_memory(path, table(path)))
