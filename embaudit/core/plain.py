"""Results as the plain values that JSON can hold."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum, StrEnum
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import pandas as pd


SCHEMA_VERSION: Literal[1] = 1
"""`schema_version` of all JSON that is written.

It is raised when a field is renamed, removed, or changes its type or meaning, and not
when a field is added.
"""


def plain(value: Any) -> Any:
    """Turn results, tables, arrays, tuples and numbers into values that JSON can hold.

    An object with `to_dict` is written by this method, and any other dataclass as all
    of its fields. NaN and infinity become None.

    Examples
    --------
    >>> import numpy as np
    >>> plain({"share": np.float64("nan"), 3: (np.int64(1), np.array([0.5]))})
    {'share': None, '3': [1, [0.5]]}
    """
    if hasattr(value, "iloc"):
        return plain(value.to_dict("records"))
    if hasattr(value, "to_dict"):
        return plain(value.to_dict())
    if is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: plain(getattr(value, field.name)) for field in fields(value)
        }
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if isinstance(value, StrEnum):
        return str(value)
    if isinstance(value, Enum):
        # Levels, such as a severity, are numbers. People read their names.
        return value.name.lower()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def plain_dict(values: Mapping[str, Any]) -> dict[str, Any]:
    """Turn the values of a record into plain values.

    Examples
    --------
    >>> plain_dict({"rows": (1, 2), "share": float("nan")})
    {'rows': [1, 2], 'share': None}
    """
    return {key: plain(value) for key, value in values.items()}


def frame_of(records: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Make a table of plain records, in which None becomes NaN.

    Examples
    --------
    >>> frame_of([{"share": None}]).dtypes.astype(str).to_dict()
    {'share': 'float64'}
    """
    import pandas as pd

    rows = []
    for record in records:
        row = dict(record)
        for key, value in row.items():
            if value is None:
                row[key] = math.nan
        rows.append(row)
    return pd.DataFrame(rows)
