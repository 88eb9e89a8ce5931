"""simpson: the association of two columns over all rows and within groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import (
    RNG,
    Floats,
    as_count,
    as_seed,
    is_number,
)
from embaudit.core.sizes import MOST_COUNT
from embaudit.core.tolerances import LARGEST_MAGNITUDE, SMALLEST_MAGNITUDE
from embaudit.core.words import counted, listed
from embaudit.errors import InputError, must_be
from embaudit.io.tables.columns import read_frame
from embaudit.simpson.association import group_sums, permutation_p_value
from embaudit.simpson.report import SimpsonReport, report_from_sums

if TYPE_CHECKING:
    import pandas as pd

MOST_PERMUTATIONS = 1_000_000
"""Largest number of permutations, which takes hours for a million rows."""
MOST_ROWS = 10_000_000
"""Largest number of rows to which a column of counts can expand."""
PLOTTED_ROWS = 2_000
"""Largest number of rows in the picture of a report, drawn at random."""


def simpson(
    frame: Any,
    x: str,
    y: str,
    groups: str | Sequence[str],
    *,
    counts: str | None = None,
    min_size: int = 5,
    alpha: float = 0.05,
    n_permutations: int = 999,
    rng: RNG = 0,
) -> SimpsonReport:
    """Compare the association of two columns over all rows with the one within groups.

    Pooled covariance = covariance within groups + covariance of the group means. If
    the second term opposes the first and outweighs it, the pooled association is the
    reverse of the one within groups (Simpson's paradox).

    Parameters
    ----------
    frame : DataFrame, mapping of columns, or path of a .csv, .tsv or .parquet file
        One row per case.
    x, y : str
        Two columns, numeric or of two categories. Categories are coded as 0 and 1 in
        sorted order, and a note says which is which.
    groups : str or sequence of str
        Column that groups the rows. Several columns group by their combinations.
    counts : str, optional
        Column that says how many cases a row stands for.
    min_size : int
        Smaller groups have no vote on the sign. They stay in the covariances and are
        counted in the notes.
    alpha : float
        Largest p-value that counts as significant.
    n_permutations : int
        Number of permutations of the group labels for the p-value; 0 for no p-value.
    rng : numpy Generator, int or None
        Source of randomness. The report and its JSON hold the seed: the given one, or
        one that is drawn from a generator.

    Returns
    -------
    SimpsonReport
        Correlations, slopes and covariances, the kind of the change, and the
        permutation p-value of `r_pooled - r_within`.

    Raises
    ------
    InputError
        If a column is missing, x or y is constant, infinite or beyond 1e±100, or the
        rows form fewer than two groups.

    Notes
    -----
    Rows that lack x, y or a group are skipped and counted. The p-value is that of one
    grouping. If you try several, adjust their p-values, for example with
    `scipy.stats.false_discovery_control`.

    Data alone cannot tell whether the pooled association or the one within groups is
    the right one: group by a cause of both x and y, not by a consequence (Pearl 2014).

    References
    ----------
    Simpson, "The interpretation of interaction in contingency tables", Journal of the
    Royal Statistical Society B 13 (1951); Bickel, Hammel & O'Connell, "Sex bias in
    graduate admissions", Science 187 (1975); Pearl, "Understanding Simpson's paradox",
    The American Statistician 68 (2014).

    Examples
    --------
    >>> table = {
    ...     "dose": [1, 2, 3, 6, 7, 8],
    ...     "health": [7, 6, 5, 9, 8, 7],
    ...     "young": [0, 0, 0, 1, 1, 1],
    ... }
    >>> simpson(table, x="dose", y="health", groups="young", min_size=3)
    SimpsonReport(health on dose by young: reversal, r +0.540 pooled
    and -1.000 within 2 groups)
    """
    import pandas as pd

    seed = as_seed(rng)
    as_count(min_size, "min_size", least=2, most=MOST_COUNT)
    as_count(n_permutations, "n_permutations", least=0, most=MOST_PERMUTATIONS)
    if not (is_number(alpha) and 0 < alpha <= 1):
        raise must_be("alpha", "above 0 and at most 1", repr(alpha))
    columns = _group_columns(groups)
    _require_different_columns(x, y, counts, columns)
    table = read_frame(frame, (x, y, counts)).rename(columns=str)
    if len(table) == 0:
        got = "a header only" if len(table.columns) else "an empty table"
        raise must_be("the table", "a table with rows", got)
    if counts is not None:
        table = _repeat_rows(table, counts)

    x_values, x_name, x_notes = _as_numbers(table, x, "x")
    y_values, y_name, y_notes = _as_numbers(table, y, "y")
    keys = pd.DataFrame({name: _column(table, name, "groups") for name in columns})
    is_complete = ~np.isnan(x_values) & ~np.isnan(y_values) & keys.notna().all(axis=1)
    x_values = x_values[is_complete]
    y_values = y_values[is_complete]
    codes, names = _group_codes(keys[is_complete])
    if len(x_values) < 3 or np.ptp(x_values) == 0 or np.ptp(y_values) == 0:
        raise InputError(
            "x and y must both vary over at least 3 rows that have x, y and a group; "
            f"got {counted(len(x_values), 'such row')}."
        )
    if len(names) < 2:
        allowed = "columns of at least two groups among the rows that have x and y"
        raise must_be("groups", allowed, len(names))

    notes = x_notes + y_notes
    n_missing = int((~is_complete).sum())
    if n_missing:
        skipped = f"{n_missing} of {counted(len(table), 'row')} skipped"
        notes = [f"{skipped}: {x}, {y} or the group is missing", *notes]
    draw = np.random.default_rng(seed)
    p_value = permutation_p_value(x_values, y_values, codes, n_permutations, draw)
    plotted = draw.permutation(len(codes))[:PLOTTED_ROWS]
    rows = pd.DataFrame({"x": x_values, "y": y_values, "code": codes})
    sums = group_sums(x_values, y_values, codes)
    return report_from_sums(
        sums.set_axis(pd.Index(names, dtype=object)),
        x=x_name,
        y=y_name,
        groups=columns,
        n_missing=n_missing,
        p_value=p_value,
        n_permutations=n_permutations,
        seed=seed,
        alpha=alpha,
        min_size=min_size,
        notes=tuple(notes),
        sample=rows.iloc[plotted],
    )


def _group_columns(groups: str | Sequence[str]) -> tuple[str, ...]:
    """Return the grouping columns, each once."""
    if isinstance(groups, str):
        return (groups,)
    is_sequence = isinstance(groups, (list, tuple)) and len(groups) > 0
    if not is_sequence or not all(isinstance(name, str) for name in groups):
        raise must_be("groups", "a column or a list of columns", repr(groups))
    return tuple(dict.fromkeys(groups))


def _require_different_columns(
    x: str, y: str, counts: str | None, groups: tuple[str, ...]
) -> None:
    """Raise InputError unless x, y, counts and groups name different columns."""
    names = {"x": x, "y": y}
    if counts is not None:
        names["counts"] = counts
    for role, name in names.items():
        if not isinstance(name, str):
            raise must_be(role, "the name of a column, as text", repr(name))
    if x == y:
        raise must_be("x and y", "two different columns", repr(x))
    if counts in (x, y):
        raise must_be("counts", "another column than x and y", repr(counts))
    for name in groups:
        if name in (x, y, counts):
            raise must_be("groups", "other columns than x, y and counts", repr(name))


def _column(table: pd.DataFrame, column: str, role: str) -> pd.Series[Any]:
    """Return a column by its name, which must be unique."""
    names = [str(name) for name in table.columns]
    if column not in names:
        allowed = f"a column of the table ({listed(names, 10) or 'it has none'})"
        raise must_be(role, allowed, repr(column))
    if names.count(column) > 1:
        got = f"several columns {column!r}"
        raise must_be(role, "a column with a unique name", got, "rename these columns")
    return table[column]


def _repeat_rows(table: pd.DataFrame, counts: str) -> pd.DataFrame:
    """Repeat each row as often as a column of counts says."""
    import pandas as pd

    column = _column(table, counts, "counts")
    numbers = np.asarray(pd.to_numeric(column, errors="coerce"), dtype=np.float64)
    is_whole = np.isfinite(numbers) & (numbers == np.round(numbers))
    is_count = is_whole & (numbers >= 0)
    if not is_count.all():
        got = f"other values in column {counts!r}"
        raise must_be("counts", "whole numbers >= 0", got)
    total = numbers.sum()
    if not 0 < total <= MOST_ROWS:
        raise must_be("the sum of counts", f"from 1 to {MOST_ROWS:,}", f"{total:,.0f}")
    positions = np.repeat(np.arange(len(table)), numbers.astype(np.intp))
    return table.iloc[positions]


def _as_numbers(
    table: pd.DataFrame, column: str, role: str
) -> tuple[Floats, str, list[str]]:
    """Return a column as numbers, its name, and a note if it had two categories.

    Missing values become NaN. Of two categories the second one counts as 1.
    """
    import pandas as pd

    series = _column(table, column, role)
    label = f"{role} ({column!r})"
    if pd.api.types.is_any_real_numeric_dtype(series.dtype):
        values = series.to_numpy(dtype=np.float64, na_value=np.nan)
        name = column
        notes = []
    else:
        codes, categories = _category_codes(series, label)
        if len(categories) != 2:
            got = f"{len(categories)} categories"
            raise must_be(label, "a column of numbers or of two categories", got)
        values = np.where(codes >= 0, codes.astype(np.float64), np.nan)
        name = f"{column}={categories[1]}"
        notes = [f"{column}: {categories[0]} counts as 0, {categories[1]} as 1"]
    present = values[~np.isnan(values)]
    if np.isinf(present).any():
        repair = "repair those rows or mark them missing"
        raise must_be(label, "finite", "infinity", repair)
    if len(present) == 0 or np.ptp(present) == 0:
        got = "a single value" if len(present) else "no value"
        raise must_be(label, "a column that varies", got)
    size = float(np.abs(present).max())
    if not SMALLEST_MAGNITUDE <= size <= LARGEST_MAGNITUDE:
        allowed = "a column whose largest number is between 1e-100 and 1e100"
        raise must_be(label, allowed, f"{size:g}", "choose another unit")
    return values, name, notes


def _category_codes(
    series: pd.Series[Any], label: str
) -> tuple[NDArray[np.intp], list[str]]:
    """Code the distinct values of a column in sorted order, missing ones by −1."""
    import pandas as pd

    try:
        codes, values = pd.factorize(series, sort=True)
    except TypeError as error:
        raise _cells_error(series, label) from error
    return codes, [str(value) for value in values]


def _group_codes(keys: pd.DataFrame) -> tuple[NDArray[np.intp], list[str]]:
    """Code the groups of rows in sorted order, and return their names."""
    try:
        grouped = keys.groupby(list(keys.columns), observed=True)
        codes = np.asarray(grouped.ngroup(), dtype=np.intp)
        levels = grouped.size().index
    except TypeError as error:
        label = f"the grouping {keys.columns[0]!r}"
        raise _cells_error(keys.iloc[:, 0], label) from error
    if len(keys.columns) == 1:
        return codes, [str(level) for level in levels]
    return codes, [", ".join(str(part) for part in level) for level in levels]


def _cells_error(series: pd.Series[Any], label: str) -> InputError:
    """Return the error for a column of lists or other objects."""
    got = f"cells such as {series.iloc[0]!r}"
    return must_be(label, "a column of plain values", got, "write one value per cell")
