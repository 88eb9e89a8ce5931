"""Tables of very many columns, of which a sample of rows is audited.

A (columns × columns) decomposition of more than 4,096 columns takes many minutes, and
so does the comparison of all rows with every equivalent model. The sampled rows span no
more dimensions than there are rows, and every model that predicts the same as the table
predicts the same for these rows.

Tables of n rows and k columns that are not zero are sampled only if
`n < k (k + 1) / 2`. In a larger table, the rows x can be so many that only the
symmetric matrix H = 0 has `xᵀ H x = 0` for all of them. Lengths of 1 then fix the
cosines, which no sample shows. All rows are also audited if the sampled rows are zero
or have one direction.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

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


def drawn_rows(model: FactorModel, show: Sequence[str], *, rng: int) -> Indices | None:
    """Draw the rows that are audited; return None if all rows are.

    All rows of a model of two sides are audited, because rows can use directions that
    only rows outside of a sample of the other side use. A head has samples of its own.

    Parameters
    ----------
    model : FactorModel
        The model as it was read.
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
    drawn = sample_rows(n, DRAWN_ROWS, np.random.default_rng(rng))
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
    items = counted(n_rows, model.title("right"))
    choice = "drawn at random"
    n_shown = model.n_right - DRAWN_ROWS
    if n_shown > 0:
        choice += f" except for {n_shown:,} to show"
    return (
        f"Audited: {model.n_right:,} of {items}, {choice}, because rows have more than "
        f"{MOST_COLUMNS:,} columns. All figures and lists are about these rows."
    )
