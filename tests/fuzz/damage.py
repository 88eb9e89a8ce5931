"""Ways to damage a file: truncation, random changes, and changes within a format."""

from __future__ import annotations

import ast
import gzip
import io
import json
import re
import sqlite3
import struct
import warnings
import zipfile
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import feather, parquet

ODD_NUMBERS = (
    b"nan",
    b"1e400",
    b"-1",
    b"",
    b"9" * 30,
    b"1e-320",
    b"0x10",
    b"1e308",
    b"-0",
    b"1_000",
    b"inf",
    b"0",
)
ODD_TEXTS = (
    b'"',
    b"\x00",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\r",
    b"\n\n",
    b"::",
    b"\xed\xa0\x80",
    "\u202e".encode(),
    b"\x1f",
    b"=1+1",
    b"[bold]",
    b"<b>",
    b"'",
    b"\\",
    b"\t",
    b"," * 50,
    b"\x1b[2J",
    "é".encode("latin-1"),
    b" " * 300,
)
ODD_VALUES: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    1e308,
    2**62,
    2**64,
    "",
    "x" * 300,
    [],
    {},
    [[]],
    "\ud800",
    "../x",
    1.5,
    [1, 2],
    "\n",
)
ODD_TYPES = (
    "|O",
    "<f2",
    ">f8",
    "<c16",
    "|S5",
    "<U9",
    "<M8[ns]",
    "<m8[s]",
    "|V8",
    "<f16",
    "|b1",
    "<i8",
    ">u2",
    "<f4",
    "",
    "q",
    "f8,f8",
    "(2,)f8",
    "|V0",
    "<U0",
)
ODD_DESCRIPTIONS = (
    "[('a', '<f8')]",
    "[('a', '<f8', (2, 2)), ('b', '|O')]",
    "None",
    "'<f8' * 9",
    "[[]]",
    "('<f8', 3)",
)
ODD_CELLS: tuple[Any, ...] = (
    None,
    -1,
    0,
    1.5,
    2**62,
    "",
    "x" * 300,
    "\n",
    "\ud7ff",
    "nan",
    b"",
    b"\0",
    b"\xff" * 64,
    b"\0" * 512,
)
ODD_SHAPES = (
    (),
    (0,),
    (-1, 3),
    (2**62, 3),
    (18,),
    (6, 3, 1),
    (2**31, 2**31, 2**31),
    (1,) * 70,
    (6, -3),
    (True, 18),
)


def damaged(name: str, whole: bytes, draw: np.random.Generator) -> bytes:
    """Damage a file in one or several ways at random."""
    chosen = draw.integers(10)
    if chosen == 0:
        return whole[: draw.integers(len(whole))]
    if chosen < 4:
        return flipped(whole, draw)
    if chosen < 6:
        return _moved(whole, draw)
    return crafted(name, whole, draw)


def flipped(whole: bytes, draw: np.random.Generator) -> bytes:
    """Flip a few bits, or write a few other bytes; damage near the ends, where headers
    are, is more likely.
    """
    changed = bytearray(whole)
    for _ in range(draw.integers(1, 5)):
        place = int(
            draw.integers(len(whole))
            if draw.random() < 0.5
            else draw.integers(min(200, len(whole)))
        )
        place = len(whole) - 1 - place if draw.random() < 0.4 else place
        changed[place] = (
            changed[place] ^ 1 << int(draw.integers(8))
            if draw.random() < 0.6
            else draw.integers(256)
        )
    return bytes(changed)


def _moved(whole: bytes, draw: np.random.Generator) -> bytes:
    """Leave out a piece, repeat it, or put another in its place."""
    start, stop = sorted(draw.integers(len(whole) + 1, size=2).tolist())
    stop = min(stop, start + int(draw.integers(1, 65)))
    piece = (
        b"",
        whole[start:stop] * 2,
        draw.bytes(stop - start),
        b"\0" * (stop - start),
    )[draw.integers(4)]
    return whole[:start] + piece + whole[stop:]


def crafted(name: str, whole: bytes, draw: np.random.Generator) -> bytes:
    """Change what is said in a file and keep its form."""
    suffix = Path(name).suffix
    if suffix == ".gz":
        return gzip.compress(_text(gzip.decompress(whole), draw), mtime=0)
    ways = {
        ".npz": _archive,
        ".npy": _npy,
        ".safetensors": _safetensors,
        ".json": _json,
        ".db": _database,
        ".sqlite3": _database,
    }
    if suffix in (".parquet", ".feather", ".arrow"):
        return _table(whole, draw, suffix)
    return ways.get(suffix, _text)(whole, draw)


def _choice(options: tuple[Any, ...], draw: np.random.Generator) -> Any:
    return options[int(draw.integers(len(options)))]


def _text(whole: bytes, draw: np.random.Generator) -> bytes:
    """Put an odd number or odd letters where a number, a word or a separator was, or
    change whole lines.
    """
    if draw.random() < 0.2:
        lines = whole.split(b"\n")
        line = int(draw.integers(len(lines)))
        lines[line : line + 1] = _choice(
            ([], [lines[line]] * 2, [b""], [lines[line] * 2], [b"\xff" + lines[line]]),
            draw,
        )
        return b"\n".join(lines)
    places = list(re.finditer(rb"[\w.+-]+|[^\w\s]|\s", whole))
    place = places[int(draw.integers(len(places)))]
    odd = _choice(ODD_NUMBERS if draw.random() < 0.5 else ODD_TEXTS, draw)
    return whole[: place.start()] + odd + whole[place.end() :]


def _npy(whole: bytes, draw: np.random.Generator) -> bytes:
    """Say another shape, type or order of the same numbers."""
    length = struct.unpack("<H", whole[8:10])[0]
    said = ast.literal_eval(whole[10 : 10 + length].decode())
    descr = repr(said["descr"])
    key = int(draw.integers(5))
    if key == 0:
        descr = repr(_choice(ODD_TYPES, draw))
    elif key == 1:
        descr = _choice(ODD_DESCRIPTIONS, draw)
    shape = repr(_choice(ODD_SHAPES, draw)) if key == 2 else repr(said["shape"])
    order = (
        _choice(("True", "1", "None", "'F'"), draw)
        if key == 3
        else repr(said["fortran_order"])
    )
    text = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}"
    if key == 4:
        text = _choice(
            (
                "{",
                "{}",
                "[" * 300,
                "(" * 5000,
                "1" * 4000,
                "{'descr': 'f8'}",
                "\x00",
                "-" * 9000,
            ),
            draw,
        )
    numbers = whole[10 + length :]
    if draw.random() < 0.3:
        numbers = np.resize(
            np.array([np.nan, 1e300, -1e-320, np.inf, 0.0]), len(numbers) // 8
        ).tobytes()
    return (
        b"\x93NUMPY\x01\x00"
        + struct.pack("<H", len(text) + 1)
        + text.encode()
        + b"\n"
        + numbers
    )


def _archive(whole: bytes, draw: np.random.Generator) -> bytes:
    """Change, drop, rename or repeat a member of an archive with right checksums."""
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        members = [
            (one.filename, one.compress_type, archive.read(one))
            for one in archive.infolist()
        ]
    chosen = int(draw.integers(len(members)))
    name, kind, content = members[chosen]
    way = int(draw.integers(7))
    if way < 3:
        content = _npy(content, draw)
    elif way == 3:
        content = flipped(content, draw)
    elif way == 4:
        name = _choice(
            (
                "x.npy",
                "../x.npy",
                ".npy",
                " ",
                "left.npy",
                "a\nb.npy",
                "W.npy/",
                "bias.npy",
            ),
            draw,
        )
    elif way == 6:
        kind = int(
            _choice((zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2, zipfile.ZIP_DEFLATED), draw)
        )
    members[chosen] = (name, kind, content)
    if way == 5:
        del members[chosen]
    buffer = io.BytesIO()
    with (
        warnings.catch_warnings(action="ignore"),
        zipfile.ZipFile(buffer, "w") as archive,
    ):
        for name, kind, content in members:
            archive.writestr(name, content, kind)
    return buffer.getvalue()


def _json(whole: bytes, draw: np.random.Generator) -> bytes:
    """Put an odd value somewhere, or nest without end."""
    if draw.random() < 0.1:
        return (
            whole[: draw.integers(len(whole))]
            + _choice((b"[", b'{"a":'), draw) * 100_000
        )
    return json.dumps(_changed(json.loads(whole), draw)).encode()


def _changed(value: Any, draw: np.random.Generator) -> Any:
    if not isinstance(value, dict | list) or not value or draw.random() < 0.1:
        return _choice(ODD_VALUES, draw)
    if isinstance(value, list):
        place = int(draw.integers(len(value)))
        return [*value[:place], _changed(value[place], draw), *value[place + 1 :]]
    key = _choice(tuple(value), draw)
    if draw.random() < 0.2:
        return {
            str(_choice(ODD_VALUES, draw)) if name == key else name: one
            for name, one in value.items()
        }
    return {**value, key: _changed(value[key], draw)}


def _safetensors(whole: bytes, draw: np.random.Generator) -> bytes:
    """Change the header and its length with it."""
    length = int.from_bytes(whole[:8], "little")
    header = _json(whole[8 : 8 + length].rstrip(), draw)
    return len(header).to_bytes(8, "little") + header + whole[8 + length :]


def _table(whole: bytes, draw: np.random.Generator, suffix: str) -> bytes:
    """Cast, rename, empty, thin out or repeat a column."""
    source = pa.BufferReader(whole)
    table = (
        parquet.read_table(source)
        if suffix == ".parquet"
        else feather.read_table(source)
    )
    place = int(draw.integers(table.num_columns))
    column, name = table.column(place), table.column_names[place]
    way = int(draw.integers(6))
    if way == 0:
        column = pa.array(_odd_column(len(column), draw))
    elif way == 1:
        name = _choice(
            ("", "id", "x" * 300, "\n", "0", "__index_level_0__", *table.column_names),
            draw,
        )
    elif way == 2:
        table, column = table.slice(0, 0), column.slice(0, 0)
    elif way == 3:
        column = pa.array(
            [None if draw.random() < 0.3 else one for one in column.to_pylist()],
            column.type,
        )
    table = (
        table.remove_column(place)
        if way == 4
        else table.set_column(place, name, column)
    )
    table = (
        table.replace_schema_metadata({"pandas": "[" * 3, "link": "\x00"})
        if way == 5
        else table
    )
    sink = pa.BufferOutputStream()
    table = _writable(table)
    if suffix == ".parquet":
        parquet.write_table(table, sink)
    else:
        feather.write_feather(table, sink)
    return sink.getvalue().to_pybytes()


def _database(whole: bytes, draw: np.random.Generator) -> bytes:
    """Put an odd value into a cell, or delete, repeat or rename what lies in a database
    of SQLite.
    """
    with closing(sqlite3.connect(":memory:")) as database:
        database.deserialize(whole)
        query = "SELECT name FROM sqlite_master WHERE rootpage > 0 AND type = 'table'"
        tables = [name for (name,) in database.execute(query)]
        table = _choice(tuple(tables), draw)
        columns = database.execute(f"PRAGMA table_info({table})").fetchall()
        column = _choice(tuple(name for _, name, *_ in columns), draw)
        rows = [row for (row,) in database.execute(f"SELECT rowid FROM {table}")]
        way = int(draw.integers(8))
        # A value that a key already has, or that a column cannot hold, stays as it is.
        with suppress(sqlite3.Error):
            if way == 0:
                database.execute(f"ALTER TABLE {table} RENAME TO other")
            elif way == 1:
                database.execute(f"ALTER TABLE {table} RENAME COLUMN {column} TO other")
            elif way == 2:
                _change_declaration(database, draw)
            elif rows and way == 3:
                database.execute(
                    f"DELETE FROM {table} WHERE rowid = ?", [_choice(tuple(rows), draw)]
                )
            elif rows:
                _change_cell(database, table, column, _choice(tuple(rows), draw), draw)
        database.commit()
        return database.serialize()


def _change_declaration(
    database: sqlite3.Connection, draw: np.random.Generator
) -> None:
    """Change the words that created a table, as nobody but a forger does."""
    database.execute("PRAGMA writable_schema = ON")
    query = "SELECT rowid, sql FROM sqlite_master WHERE sql IS NOT NULL"
    row, words = _choice(tuple(database.execute(query).fetchall()), draw)
    changed = _text(words.encode(), draw).decode(errors="replace")
    update = "UPDATE sqlite_master SET sql = ? WHERE rowid = ?"
    database.execute(update, [changed, row])


def _change_cell(
    database: sqlite3.Connection,
    table: str,
    column: str,
    row: int,
    draw: np.random.Generator,
) -> None:
    """Put an odd value into a cell, or damage the text or the bytes that it holds."""
    query = f"SELECT {column} FROM {table} WHERE rowid = ?"
    (value,) = database.execute(query, [row]).fetchone()
    if isinstance(value, str) and value and draw.random() < 0.5:
        value = _text(value.encode(), draw).decode(errors="replace")
    elif isinstance(value, bytes) and value and draw.random() < 0.5:
        value = _moved(flipped(value, draw), draw)
    else:
        value = _choice(ODD_CELLS, draw)
    update = f"UPDATE {table} SET {column} = ? WHERE rowid = ?"
    database.execute(update, [value, row])


def _writable(table: pa.Table) -> pa.Table:
    """Take missing lists for empty ones, which older versions of Arrow cannot write."""
    for place, field in enumerate(table.schema):
        if pa.types.is_fixed_size_list(field.type) and table.column(place).null_count:
            lists = [one or [] for one in table.column(place).to_pylist()]
            table = table.set_column(
                place, field.name, pa.array(lists, pa.list_(field.type.value_type))
            )
    return table


def _odd_column(length: int, draw: np.random.Generator) -> list[Any]:
    one = _choice(
        (
            None,
            True,
            b"\xff",
            [1.0],
            [],
            [None, 1.0],
            {"a": 1},
            2**62,
            "x",
            [[1.0]],
            np.nan,
            1e300,
        ),
        draw,
    )
    rows = [one] * length
    if isinstance(one, list) and length and draw.random() < 0.5:
        rows[0] = one * 2
    return rows
