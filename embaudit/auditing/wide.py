"""Samples of rows: of tables of very many columns, and of long ones in quick audits.

A (columns × columns) decomposition of more than 4,096 columns takes many minutes, and
so does the comparison of all rows with every equivalent model. The sampled rows span no
more dimensions than there are rows, and every model that predicts the same as the table
predicts the same for these rows.

Tables of n rows and k columns that are not zero are sampled only if
`n < k (k + 1) / 2`. In a larger table, the rows x can be so many that only the
symmetric matrix H = 0 has `xᵀ H x = 0` for all of them. Lengths of 1 then fix the
cosines, which no sample shows. All rows are also audited if the sampled rows are zero
or have one direction.

A quick audit of a long table compares the cosines and lists of a sample of rows with
their cosines and lists in equivalent models. The sample serves only to measure the size
of changes. Whether cosines are fixed is decided for all rows, and traits such as
duplicates describe all rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from embaudit.auditing.options import AuditOptions
from embaudit.canonical.row_span import n_directions, used_columns
from embaudit.core.checked import Indices
from embaudit.core.words import counted
from embaudit.linalg.rows import sample_rows
from embaudit.model import FactorModel
from embaudit.movements.neighbourhoods import find_rows

MOST_COLUMNS = 4_096
"""Number of columns that are not zero up to which all rows are audited."""
DRAWN_ROWS = 2_048
"""Number of rows that are drawn from a table of more columns."""
QUICK_ROWS = 200_000
"""Largest number of rows that a quick audit compares with equivalent models.

All duplicates among this number of rows are found, and their lists take as many cosines
as the lists of a usual audit.
"""


def drawn_rows(model: FactorModel, show: Sequence[str], *, rng: int) -> Indices | None:
    """Draw the rows that are audited; return None if all rows are.

    All rows of a model of two sides are audited, because rows can use directions that
    only rows outside of a sample of the other side use. A head has samples of its own.

    Parameters
    ----------
    model : FactorModel
        The model as read.
    show : sequence of str
        Ids or titles of rows to show, which are audited in addition to the drawn ones.
    rng : int
        Seed of the draw.
    """
    is_one_table = model.left is None and model.link.name != "softmax"
    if not is_one_table or model.rank <= MOST_COLUMNS:
        return None
    # Columns of zeros are dropped before rows are decomposed, so they cost nothing.
    k = np.count_nonzero(used_columns(model))
    n = model.n_right
    if k <= MOST_COLUMNS or not DRAWN_ROWS < n < k * (k + 1) // 2:
        return None
    return _drawn(model, DRAWN_ROWS, show, rng)


def quick_rows(
    model: FactorModel, options: AuditOptions, *, rng: int
) -> Indices | None:
    """Draw the rows that a quick audit compares; return None if all are compared.

    Parameters
    ----------
    model : FactorModel
        The audited model.
    options : AuditOptions
        Whether the audit is quick, and the rows to show.
    rng : int
        Seed of the draw.

    Examples
    --------
    >>> few = FactorModel.from_vectors(np.eye(3))
    >>> quick_rows(few, AuditOptions(quick=True), rng=0) is None
    True
    """
    is_one_table = model.left is None and model.link.name != "softmax"
    is_long = is_one_table and model.n_right > QUICK_ROWS
    if not (options.quick and is_long):
        return None
    return _drawn(model, QUICK_ROWS, options.show, rng)


def _drawn(
    model: FactorModel, n_rows: int, show: Sequence[str], rng: int
) -> Indices | None:
    """Draw rows and add the rows to show; return None if all have one direction."""
    drawn = sample_rows(model.n_right, n_rows, np.random.default_rng(rng))
    rows = drawn
    if show:
        rows = np.union1d(drawn, find_rows(model, "right", show))
    if n_directions(model.take(right=rows), "right") < 2:
        # The few rows that have another direction decide, and the sample misses them.
        return None
    return rows


def sample_sentence(model: FactorModel, n_rows: int) -> str:
    """State that the audited model has a sample of the rows that were read.

    Examples
    --------
    >>> sample_sentence(FactorModel.from_vectors(np.eye(3)), 20_000)
    'Audited: 3 of 20,000 items, drawn at random, because rows have more than 4,096 ...'
    """
    sample = _sample(model, n_rows, DRAWN_ROWS)
    return (
        f"Audited: {sample}, because rows have more than {MOST_COLUMNS:,} columns. All "
        "figures and lists are about these rows."
    )


def quick_sentence(model: FactorModel, n_rows: int) -> str:
    """State that a quick audit compares a sample of the rows.

    Examples
    --------
    >>> quick_sentence(FactorModel.from_vectors(np.eye(3)), 300_000)
    'Compared: 3 of 300,000 items, drawn at random, because the audit is quick. ...'
    """
    sample = _sample(model, n_rows, QUICK_ROWS)
    items = f"{model.title('right')}s"
    return (
        f"Compared: {sample}, because the audit is quick. Lists and changes of cosines "
        f"are about these {items}, which are searched alone. Whether cosines are fixed "
        f"is decided for all {items}, and duplicates, hubs, lengths and dimensions are "
        "those of all."
    )


def _sample(model: FactorModel, n_rows: int, n_drawn: int) -> str:
    """Write how many of so many rows a model has, and how they were chosen."""
    choice = "drawn at random"
    n_shown = model.n_right - n_drawn
    if n_shown > 0:
        choice += f" except for {n_shown:,} to show"
    return f"{model.n_right:,} of {counted(n_rows, model.title('right'))}, {choice}"
