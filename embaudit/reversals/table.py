"""The table: take x and y from it, and find the columns that can group its rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from math import comb
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from embaudit.errors import InputError, must_be
from embaudit.foundation.checked import Floats
from embaudit.foundation.words import listed

if TYPE_CHECKING:
    import pandas as pd


Groups: TypeAlias = str | Sequence[str | tuple[str, ...]]
FEW = 10
"""A numeric column with at most so many values groups rows as it is; one with more is cut into bins."""
MAX_LEVELS = 50
"""A column with more categories than this is not tried unasked: it is more like a name than a group."""
ORDINARY = (1e-60, 1e60)
"""Largest numbers between which products of sums of squares neither overflow nor vanish."""
MOST_COMBINATIONS = 100_000
"""Of columns that one may ask to group by; listing more takes long."""
MAX_ROWS = 50_000_000
"""Rows that a column of counts may expand to."""


@dataclass(frozen=True, eq=False)
class Labelled:
    """One way to group rows."""

    columns: tuple[str, ...]
    codes: NDArray[np.intp]
    """(n,) group of each row, −1 where it is missing."""
    levels: tuple[str, ...]
    """Names of the groups."""

    def crossed(self, other: Labelled) -> Labelled:
        """Group by both at once; only combinations that occur are groups."""
        both = self.codes * len(other.levels) + other.codes
        present, codes = np.unique(np.where((self.codes < 0) | (other.codes < 0), -1, both), return_inverse=True)
        known = present[present >= 0]
        levels = tuple(f"{self.levels[c // len(other.levels)]}, {other.levels[c % len(other.levels)]}" for c in known)
        return Labelled(self.columns + other.columns, codes - int(len(known) < len(present)), levels)


def require_column(frame: pd.DataFrame, column: str, role: str) -> pd.Series[Any]:
    """Return a column, or name those there are."""
    if column not in frame.columns:
        known = [str(name) for name in frame.columns]
        raise must_be(role, f"a column of the table ({listed(known, 10) or 'it has none'})", repr(column))
    if list(frame.columns).count(column) > 1:
        raise must_be(role, "a column of its own name", f"several columns {column!r}", "rename them")
    return frame[column]


def expanded(frame: pd.DataFrame, counts: str | None) -> pd.DataFrame:
    """Repeat each row as often as a column of counts says."""
    if counts is None:
        return frame
    import pandas as pd

    column = require_column(frame, counts, "counts")
    times = np.asarray(pd.to_numeric(column, errors="coerce"), dtype=np.float64)
    if not (np.isfinite(times).all() and (times >= 0).all() and (times == np.round(times)).all()):
        raise must_be("counts", "whole numbers >= 0", f"column {counts!r} with others")
    if not 0 < times.sum() <= MAX_ROWS:
        raise must_be("the sum of counts", f"from 1 to {MAX_ROWS:,}", f"{times.sum():,.0f}")
    return frame.drop(columns=counts).loc[frame.index.repeat(times.astype(np.intp))]


def numbers(frame: pd.DataFrame, column: str, role: str) -> tuple[Floats, str, str | None]:
    """Return a column as float64, NaN where missing, and its title; of two categories the second counts as 1.

    A note says which became 0 and which 1, or by which power of two huge or tiny numbers were divided.

    Raises
    ------
    InputError
        If it has three or more categories, is infinite somewhere, or does not vary.
    """
    import pandas as pd

    series, title, note = require_column(frame, column, role), column, None
    if pd.api.types.is_numeric_dtype(series.dtype) and not pd.api.types.is_complex_dtype(series.dtype):
        values = series.to_numpy(dtype=np.float64, na_value=np.nan)
    else:
        codes, levels = _factorized(series, f"{role} ({column!r})")
        if len(levels) != 2:
            raise must_be(f"{role} ({column!r})", "numeric or of two categories", f"{len(levels)} categories")
        values = np.where(codes < 0, np.nan, codes.astype(np.float64))
        title, note = f"{column}={levels[1]}", f"{column}: {levels[0]} counts as 0, {levels[1]} as 1"
    if np.isinf(values).any():
        raise must_be(f"{role} ({column!r})", "finite", "infinity", "repair those rows or mark them missing")
    known = values[~np.isnan(values)]
    if not len(known) or known.min() == known.max():
        raise must_be(f"{role} ({column!r})", "a column that varies", "one value only" if len(known) else "no value")
    exponent = _exponent(float(np.abs(known).max()))
    if exponent:
        note = f"{column}: divided by 2^{exponent}; slopes, means and covariances are in that unit"
    return np.ldexp(values, -exponent), title, note


def _exponent(largest: float) -> int:
    """Power of two that numbers are divided by so that their squares stay within float64; 0 for ordinary ones."""
    return 0 if ORDINARY[0] <= largest <= ORDINARY[1] else int(np.frexp(largest)[1])


def _factorized(series: pd.Series[Any], what: str) -> tuple[NDArray[np.intp], pd.Index[Any]]:
    """Number the distinct values of a column in sorted order, −1 where missing."""
    import pandas as pd

    try:
        codes, levels = pd.factorize(series, sort=True)
    except TypeError as error:
        raise must_be(
            what, "of plain values", f"cells such as {series.iloc[0]!r}", "tables hold one value a cell"
        ) from error
    return codes.astype(np.intp), levels


def _levels(series: pd.Series[Any]) -> tuple[NDArray[np.intp], tuple[str, ...]]:
    codes, levels = _factorized(series, f"the grouping {str(series.name)!r}")
    return codes, tuple(str(level) for level in levels)


def _binned(series: pd.Series[Any], bins: int) -> tuple[NDArray[np.intp], tuple[str, ...]]:
    """Cut at quantiles; equal quantiles make fewer bins."""
    import pandas as pd

    values = series.to_numpy(dtype=np.float64, na_value=np.nan)
    edges = np.unique(np.nanquantile(values, np.linspace(0, 1, bins + 1)))
    codes = np.maximum(np.searchsorted(edges, values, side="left") - 1, 0)
    levels = [f"{a:.4g} to {b:.4g}" for a, b in pairwise(edges)]
    return _used(np.where(pd.isna(series), -1, codes).astype(np.intp), levels)


def _used(codes: NDArray[np.intp], levels: list[str]) -> tuple[NDArray[np.intp], tuple[str, ...]]:
    """Leave out levels that no row has."""
    present = np.unique(codes[codes >= 0])
    renumbered = np.full(len(levels) + 1, -1, dtype=np.intp)
    renumbered[present] = np.arange(len(present))
    return renumbered[codes], tuple(levels[level] for level in present)


def labelled(frame: pd.DataFrame, column: str, bins: int) -> tuple[Labelled, str | None]:
    """Group rows by one column: its categories, or bins of its numbers (then a note says so)."""
    import pandas as pd

    series = require_column(frame, column, "groups")
    if pd.api.types.is_complex_dtype(series.dtype):
        raise must_be(f"the grouping {column!r}", "categories or real numbers", "complex numbers")
    values = series.replace([np.inf, -np.inf], np.nan) if pd.api.types.is_float_dtype(series.dtype) else series
    if pd.api.types.is_numeric_dtype(values.dtype) and values.nunique() > FEW:
        codes, levels = _binned(values, bins)
        return Labelled((column,), codes, levels), f"{column}: numbers cut into {len(levels)} bins of like size"
    return Labelled((column,), *_levels(values)), None


def _unsuitable(frame: pd.DataFrame, column: str) -> str | None:
    """Say why a column cannot group rows, None where it can."""
    import pandas as pd

    series = require_column(frame, column, "groups")
    if pd.api.types.is_datetime64_any_dtype(series.dtype):
        return "dates"
    if pd.api.types.is_complex_dtype(series.dtype):
        return "complex numbers"
    try:
        count = int(series.nunique())
    except TypeError:
        return "no plain values"
    if count < 2:
        return "a single value" if count else "no value"
    numeric = pd.api.types.is_numeric_dtype(series.dtype)
    return None if numeric or count <= MAX_LEVELS else f"{count} categories"


def find_groupings(
    frame: pd.DataFrame, groups: Groups | None, taken: tuple[str, ...], *, bins: int, depth: int, most: int
) -> tuple[list[Labelled], list[str]]:
    """List the groupings to try, and notes on columns cut into bins or left out.

    Parameters
    ----------
    frame : DataFrame
        The rows with x and y.
    groups : str, sequence of str and tuples, or None
        Columns; a tuple is a combination. None tries every column that is not x or y.
    taken : tuple of str
        x and y.
    bins : int
        Bins of a numeric column.
    depth : int
        Combine up to this many columns (tuples are taken as they are).
    most : int
        Groupings to return; a note counts those left out.
    """
    wanted = _wanted(groups)
    notes: list[str] = []
    if groups is None:
        for column in (str(name) for name in frame.columns if name not in taken):
            reason = _unsuitable(frame, column)
            if reason is None:
                wanted.append(column)
            else:
                notes.append(f"{column}: not tried as a grouping, it has {reason}")
    singles = [name for name in wanted if isinstance(name, str)]
    combined = _combined(singles, min(depth, len(singles)))
    tuples = [tuple(name) for name in wanted if not isinstance(name, str)]
    parts: dict[str, Labelled] = {}
    for column in dict.fromkeys([*singles, *(name for combo in tuples for name in combo)]):
        if column in taken:
            raise must_be("groups", "other columns than x and y", repr(column))
        parts[column], note = labelled(frame, column, bins)
        notes += [note] if note else []
    if not parts:
        raise InputError("the table must have a column to group its rows by; got none beside x and y.")
    every = list(dict.fromkeys([(name,) for name in singles] + combined + tuples))
    if len(every) > most:
        notes.append(f"{len(every) - most} of {len(every)} groupings not tried; name those of interest")
    return [_cross(parts, combo) for combo in every[:most]], notes


def _combined(names: list[str], depth: int) -> list[tuple[str, ...]]:
    """List the combinations of 2 to `depth` columns, unless they fill the memory."""
    count = sum(comb(len(names), k) for k in range(2, depth + 1))
    if count > MOST_COMBINATIONS:
        raise must_be(
            "depth", f"of at most {MOST_COMBINATIONS:,} combinations", f"{count:,}", "lower it or name groups"
        )
    return [combo for k in range(2, depth + 1) for combo in combinations(names, k)]


def _wanted(groups: Groups | None) -> list[str | tuple[str, ...]]:
    """List the columns and combinations asked for."""
    if groups is None or isinstance(groups, str):
        return [] if groups is None else [groups]
    given: list[Any] = list(groups) if isinstance(groups, Iterable) and np.ndim(groups) else [groups]
    combos = [tuple(name) if isinstance(name, list) else name for name in given]
    if not all(isinstance(name, (str, tuple)) and name and all(isinstance(c, str) for c in name) for name in combos):
        raise must_be("groups", "names of columns, or tuples of them", repr(groups))
    return combos


def _cross(parts: dict[str, Labelled], combo: tuple[str, ...]) -> Labelled:
    result = parts[combo[0]]
    for column in combo[1:]:
        result = result.crossed(parts[column])
    return result
