"""Results as the plain values that JSON can hold."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from types import EllipsisType
from typing import Annotated, Any, Literal, TypeAlias

from embaudit.core.deferred import pd

SCHEMA_VERSION: Literal[1] = 1
"""`schema_version` of all JSON that is written. It is raised when a field is renamed,
removed, or changes its type or meaning, not when a field is added."""
Finite: TypeAlias = Annotated[float, {"type": "number"}]
"""A number that is never null in JSON; the mapping holds what its JSON Schema says besides."""


def plain(value: Any) -> Any:
    """Turn tables, arrays, results, tuples and numbers into plain values; a number that does not exist becomes null.

    Examples
    --------
    >>> import numpy as np
    >>> plain({"share": np.float64("nan"), 3: (np.int64(1), np.array([0.5]))})
    {'share': None, '3': [1, [0.5]]}
    """
    if hasattr(value, "to_dict"):
        value = value.to_dict("records") if hasattr(value, "iloc") else value.to_dict()
    elif is_dataclass(value) and not isinstance(value, type):
        return record(value)
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if isinstance(value, Enum):
        # Levels that compare as numbers are written by the word that people read.
        return str(value) if isinstance(value, str) else value.name.lower()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def entries(kind: type, *names: str | EllipsisType) -> Iterator[tuple[str, str]]:
    """Pair the keys of a record with the attributes that hold their values.

    Parameters
    ----------
    kind : type
        A class that declares its record as `RECORD`; without it a dataclass has the fields that its repr shows.
    *names : str or ...
        Entries in place of those declared. `...` stands for the fields that the repr shows. "key" is an attribute, and
        "key=path" gives it another name; a path has dots, and its last part may be a method without arguments. Dots in
        a key nest, a last part `*` joins the record found there, and a `?` at the end leaves out what is empty.

    Examples
    --------
    >>> from embaudit.model.drift import Drift
    >>> [*entries(Drift, "level", "of.rows=n_rows", "n=names.__len__")]
    [('level', 'level'), ('of.rows', 'n_rows'), ('n', 'names.__len__')]
    """
    for name in names or getattr(kind, "RECORD", (...,)):
        if isinstance(name, str):
            key, _, path = name.partition("=")
            yield key, path or key.rstrip("?")
        else:
            yield from ((each.name, each.name) for each in fields(kind) if each.repr)


def record(value: Any, *names: str | EllipsisType, **more: Any) -> dict[str, Any]:
    """Make the JSON record of a result: the entries that its class declares, or `names` (see `entries`).

    What is given as `more` comes behind them.

    Examples
    --------
    >>> from embaudit.model.drift import Drift
    >>> from embaudit.model import Equivalence
    >>> record(Drift(Equivalence.SCORES, 0.5, 0.1, 1.0, 9, True), "level", "rows.n=n_rows", ok=True)
    {'level': 'scores', 'rows': {'n': 9}, 'ok': True}
    """
    written: dict[str, Any] = {}
    for key, path in entries(type(value), *names):
        *outer, last = key.split(".")
        place, content = written, value
        for name in outer:
            place = place.setdefault(name, {})
        for name in path.split("."):
            content = None if content is None else getattr(content, name)
        content = plain(content() if callable(content) else content)
        if last == "*":
            place |= content
        elif content or not last.endswith("?"):
            place[last.rstrip("?")] = content
    return written | {name: plain(content) for name, content in more.items()}


class Recorded:
    """A part of a result: its record holds what its class declares."""

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON can hold it; None for a number that does not exist."""
        return record(self)


def frame_of(records: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Make a table of plain records, in which a number that does not exist is NaN again.

    Examples
    --------
    >>> frame_of([{"share": None}]).dtypes.astype(str).to_dict()
    {'share': 'float64'}
    """
    return pd.DataFrame(
        [
            {key: math.nan if x is None else x for key, x in record.items()}
            for record in records
        ]
    )
