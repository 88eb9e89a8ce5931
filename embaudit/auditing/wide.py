"""Tables of very many columns, of which a sample of rows is audited.

A (columns × columns) decomposition of more than 4,096 columns takes many minutes, and
so does the comparison of all rows with every equivalent model. The sampled rows span no
more dimensions than there are rows, and every model that predicts the same as the table
predicts the same for these rows.

Tables of n rows and k columns are sampled only if `n < k (k + 1) / 2`. In a larger
table, the rows x can be so many that only the symmetric matrix H = 0 has `xᵀ H x = 0`
for all of them. Lengths of 1 then fix the cosines, which no sample shows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from embaudit.core.checked import Indices
from embaudit.core.words import counted
from embaudit.linalg.rows import sample_rows
from embaudit.model import FactorModel
from embaudit.movements.neighbourhoods import find_rows

MOST_COLUMNS = 4_096
"""Number of columns up to which all rows are audited."""
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
    n, k = model.n_right, model.rank
    if model.left is not None or model.link.name == "softmax" or k <= MOST_COLUMNS:
        return None
    if not DRAWN_ROWS < n < k * (k + 1) // 2:
        return None
    rows = sample_rows(n, DRAWN_ROWS, np.random.default_rng(rng))
    return np.union1d(rows, find_rows(model, "right", show))


def sample_sentence(model: FactorModel, n_rows: int) -> str:
    """State that the audited model has a sample of the rows that were read.

    Examples
    --------
    >>> sample_sentence(FactorModel.from_vectors(np.eye(3)), 20_000)
    'Audited: 3 of 20,000 items, drawn at random, because rows have more than 4,096 ...'
    """
    items = counted(n_rows, model.title("right"))
    return (
        f"Audited: {model.n_right:,} of {items}, drawn at random, because rows have "
        f"more than {MOST_COLUMNS:,} columns. All figures and lists are about these "
        "rows."
    )
