"""Results as the plain values that JSON can hold."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


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


def record(value: Any, *names: str, **more: Any) -> dict[str, Any]:
    """Make the JSON record of a dataclass: the attributes `names`, or without any the fields that its repr shows.

    What is given as `more` comes behind them.

    Examples
    --------
    >>> from embaudit.model.drift import Drift
    >>> from embaudit.model import Equivalence
    >>> record(Drift(Equivalence.SCORES, 0.5, 0.1, 1.0, 9, True), "level", "max_abs", ok=True)
    {'level': 'scores', 'max_abs': 0.5, 'ok': True}
    """
    names = names or tuple(each.name for each in fields(value) if each.repr)
    return {name: plain(each) for name, each in ({name: getattr(value, name) for name in names} | more).items()}


def frame_of(records: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Make a table of plain records, in which a number that does not exist is NaN again.

    Examples
    --------
    >>> frame_of([{"share": None}]).dtypes.astype(str).to_dict()
    {'share': 'float64'}
    """
    import pandas as pd

    return pd.DataFrame([{key: math.nan if x is None else x for key, x in record.items()} for record in records])
