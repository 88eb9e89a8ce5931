"""The table: x and y as numbers, and the groupings that its columns make."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from itertools import chain, combinations, islice, pairwise
from math import comb
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import Floats
from embaudit.core.words import listed
from embaudit.errors import InputError, must_be

if TYPE_CHECKING:
    import pandas as pd

Groups: TypeAlias = str | Sequence[str | tuple[str, ...]]
Levels: TypeAlias = tuple[NDArray[np.intp], list[str]]
"""(n,) group of each row, −1 where it is missing, and the names of the groups."""

MAX_GROUPINGS = 200
"""Largest number of groupings tried; more are left out, with a note."""
FEW = 10
"""A numeric column with at most so many values groups rows as it is; one with more is cut into bins."""
MAX_LEVELS = 50
"""A column with more categories is not tried unless named: it is more like an id than a group."""
ORDINARY = (1e-60, 1e60)
"""Sizes of numbers between which products of sums of squares neither overflow nor vanish."""
MAX_ROWS = 50_000_000
"""Rows that a column of counts may expand to."""


def _column(frame: pd.DataFrame, column: str, role: str) -> pd.Series[Any]:
    """Return a column of its own name."""
    if column not in frame.columns:
        names = [str(name) for name in frame.columns]
        raise must_be(
            role,
            f"a column of the table ({listed(names, 10) or 'it has none'})",
            repr(column),
        )
    if list(frame.columns).count(column) > 1:
        raise must_be(
            role,
            "a column of its own name",
            f"several columns {column!r}",
            "rename them",
        )
    return frame[column]


def expanded(frame: pd.DataFrame, counts: str) -> pd.DataFrame:
    """Repeat each row as often as a column of counts says."""
    import pandas as pd

    column = _column(frame, counts, "counts")
    times = np.asarray(pd.to_numeric(column, errors="coerce"), dtype=np.float64)
    if not (
        np.isfinite(times).all()
        and (times >= 0).all()
        and (times == np.round(times)).all()
    ):
        raise must_be("counts", "whole numbers >= 0", f"column {counts!r} with others")
    if not 0 < times.sum() <= MAX_ROWS:
        raise must_be(
            "the sum of counts", f"from 1 to {MAX_ROWS:,}", f"{times.sum():,.0f}"
        )
    return frame.drop(columns=counts).loc[frame.index.repeat(times.astype(np.intp))]


def _factorized(series: pd.Series[Any], name: str) -> Levels:
    """Code the distinct values of a column by whole numbers in sorted order."""
    import pandas as pd

    try:
        codes, levels = pd.factorize(series, sort=True)
    except TypeError as error:
        remedy = "tables hold one value a cell"
        raise must_be(
            name, "of plain values", f"cells such as {series.iloc[0]!r}", remedy
        ) from error
    return codes.astype(np.intp), [str(level) for level in levels]


def as_numbers(
    frame: pd.DataFrame, column: str, role: str
) -> tuple[Floats, str, list[str]]:
    """Return a column as float64, NaN where missing, and its title; of two categories the second counts as 1.

    A note says which became 0 and which 1.

    Raises
    ------
    InputError
        If it has three or more categories, is infinite somewhere, does not vary, or squares of its numbers overflow.
    """
    import pandas as pd

    series, name, title, notes = (
        _column(frame, column, role),
        f"{role} ({column!r})",
        column,
        [],
    )
    if pd.api.types.is_numeric_dtype(
        series.dtype
    ) and not pd.api.types.is_complex_dtype(series.dtype):
        values = series.to_numpy(dtype=np.float64, na_value=np.nan)
    else:
        # Two categories have a difference of means, which is a slope; of three no order is known.
        codes, levels = _factorized(series, name)
        if len(levels) != 2:
            raise must_be(
                name, "numeric or of two categories", f"{len(levels)} categories"
            )
        values = np.where(codes < 0, np.nan, codes.astype(np.float64))
        title, notes = (
            f"{column}={levels[1]}",
            [f"{column}: {levels[0]} counts as 0, {levels[1]} as 1"],
        )
    if np.isinf(values).any():
        raise must_be(
            name, "finite", "infinity", "repair those rows or mark them missing"
        )
    present = values[~np.isnan(values)]
    if not len(present) or present.min() == present.max():
        raise must_be(
            name,
            "a column that varies",
            "one value only" if len(present) else "no value",
        )
    largest = float(np.abs(present).max())
    if not ORDINARY[0] <= largest <= ORDINARY[1]:
        raise must_be(
            name,
            "between 1e-60 and 1e60 at its largest",
            f"{largest:g}",
            "take another unit",
        )
    return values, title, notes


def _labelled(frame: pd.DataFrame, column: str, bins: int) -> tuple[Levels, list[str]]:
    """Group rows by one column: its categories, or bins of its numbers at their quantiles, which a note says."""
    import pandas as pd

    series = _column(frame, column, "groups")
    if pd.api.types.is_complex_dtype(series.dtype):
        raise must_be(
            f"the grouping {column!r}", "categories or real numbers", "complex numbers"
        )
    # An infinite number belongs to no bin: such a row has no group.
    values = (
        series.replace([np.inf, -np.inf], np.nan)
        if pd.api.types.is_float_dtype(series.dtype)
        else series
    )
    if not (pd.api.types.is_numeric_dtype(values.dtype) and values.nunique() > FEW):
        return _factorized(values, f"the grouping {column!r}"), []
    numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
    # Equal quantiles, of a value that many rows share, make one edge: then there are fewer bins.
    edges = np.unique(np.nanquantile(numbers, np.linspace(0, 1, bins + 1)))
    codes = pd.cut(numbers, edges.tolist(), labels=False, include_lowest=True)
    n_bins = int(pd.Series(codes).nunique())
    levels = [f"{a:.4g} to {b:.4g}" for a, b in pairwise(edges)]
    note = f"{column}: numbers cut into {n_bins} bins of like size"
    return (np.where(np.isnan(codes), -1, codes).astype(np.intp), levels), [note]


def _crossed(first: Levels, second: Levels) -> Levels:
    """Group by both at once; only combinations that occur are groups."""
    (codes, names), (other_codes, other_names) = first, second
    in_both = (codes >= 0) & (other_codes >= 0)
    # A pair of codes as one number; those that occur are numbered anew, in the order of both.
    present, numbers = np.unique(
        (codes * len(other_names) + other_codes)[in_both], return_inverse=True
    )
    both = np.full(len(codes), -1, dtype=np.intp)
    both[in_both] = numbers
    return both, [
        f"{names[code // len(other_names)]}, {other_names[code % len(other_names)]}"
        for code in present
    ]


def _unsuitable(frame: pd.DataFrame, column: str) -> str | None:
    """Return why a column cannot group rows, None where it can."""
    import pandas as pd

    series = _column(frame, column, "groups")
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


def _wanted(
    frame: pd.DataFrame, groups: Groups | None, axes: tuple[str, str]
) -> tuple[list[Any], list[str]]:
    """List columns and combinations to group by, all that are suitable by default, and notes on others."""
    if groups is None:
        reasons = {
            name: _unsuitable(frame, name)
            for name in map(str, frame.columns)
            if name not in axes
        }
        notes = [
            f"{name}: not tried as a grouping, it has {reason}"
            for name, reason in reasons.items()
            if reason
        ]
        return [name for name, reason in reasons.items() if not reason], notes
    several = (
        isinstance(groups, Iterable)
        and not isinstance(groups, str)
        and getattr(groups, "ndim", True)
    )
    names: list[Any] = list(groups) if several else [groups]
    wanted = [tuple(name) if isinstance(name, list) else name for name in names]
    if not all(
        isinstance(name, (str, tuple))
        and name
        and all(isinstance(c, str) for c in name)
        for name in wanted
    ):
        raise must_be("groups", "names of columns, or tuples of them", repr(groups))
    for column in (
        c for name in wanted for c in ((name,) if isinstance(name, str) else name)
    ):
        if column in axes:
            raise must_be("groups", "other columns than x and y", repr(column))
    return wanted, []


def find_groupings(
    frame: pd.DataFrame,
    groups: Groups | None,
    axes: tuple[str, str],
    bins: int,
    depth: int,
) -> tuple[dict[tuple[str, ...], Levels], list[str]]:
    """Return the groupings to try by their columns, and notes on columns cut into bins or left out."""
    wanted, notes = _wanted(frame, groups, axes)
    singles = list(dict.fromkeys(name for name in wanted if isinstance(name, str)))
    named = dict.fromkeys(name for name in wanted if not isinstance(name, str))
    # Single columns first, then pairs and so on: what is left out at the limit are the largest combinations.
    sizes = range(1, min(depth, len(singles)) + 1)
    count = sum(comb(len(singles), k) for k in sizes) + len(named)
    crossed = chain(*(combinations(singles, k) for k in sizes), named)
    tried = list(dict.fromkeys(islice(crossed, MAX_GROUPINGS)))
    parts: dict[str, Levels] = {}
    for column in dict.fromkeys(chain(*tried)):
        parts[column], note = _labelled(frame, column, bins)
        notes += note
    if not parts:
        raise InputError(
            "the table must have a column to group its rows by; got none beside x and y."
        )
    if count > MAX_GROUPINGS:
        notes.append(
            f"{count - MAX_GROUPINGS:,} of {count:,} groupings not tried; name those of interest"
        )
    return {
        columns: reduce(_crossed, [parts[c] for c in columns]) for columns in tried
    }, notes
