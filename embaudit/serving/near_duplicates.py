"""Groups of rows that nearly duplicate each other in two tables.

A map that was fitted to a row says nothing new about a near-duplicate of this row. So
near-duplicates must not be divided between the rows that fit a map and those that
judge it. Two rows are near-duplicates if, in both tables, their distance at length 1 is
at most a tenth of the typical (root mean square) distance. In vectors without a common
direction this is a cosine of at least .99.

Rows are compared by sketches: their products with at most 64 orthonormal vectors. The
signs of the products of a sketch with random vectors are the same for most pairs of
near-duplicates (Charikar, STOC 2002). So the sketches are sorted by these signs,
several times with other random vectors, and only rows that follow each other are
compared.
Groups are the connected parts of the graph of near-duplicates. A few pairs are missed,
because they never follow each other.
"""

from __future__ import annotations

import numpy as np

from embaudit.core.checked import Flags, Floats, Indices
from embaudit.core.parallel import fill_in_threads, row_blocks
from embaudit.linalg.rows import unit_rows
from embaudit.linalg.transformed_rows import Rows
from embaudit.serving.map_fit import PairedRows

NEAR = 0.1
"""Largest distance of near-duplicates, as a share of the typical distance."""
WIDTH = 64
"""Largest number of columns of a sketch."""
SORTS = 8
"""Number of times that the sketches are sorted."""
SIGNS = 12
"""Number of signs that sort the sketches each time."""
MOST_OF_GROUP = 0.05
"""Largest share of the rows in one group. Larger groups arise if all rows lie close
together, for example in two dimensions, and then they are no groups of duplicates."""


def near_duplicate_groups(rows: PairedRows, places: Indices) -> Indices:
    """Return the number of the group of near-duplicates of each row.

    Parameters
    ----------
    rows : PairedRows
        Rows of both tables.
    places : array of int (m,)
        Places of the rows to group.

    Returns
    -------
    array of int (m,)
        The number of the group of each row, in no special order.

    Examples
    --------
    >>> x = np.random.default_rng(0).standard_normal((60, 8))
    >>> x[40] = x[3] + 0.001
    >>> rows = PairedRows(x, -2 * x, of_unit_length=True)
    >>> groups = near_duplicate_groups(rows, np.arange(60))
    >>> bool(groups[40] == groups[3]), len(np.unique(groups))
    (True, 59)
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    draw = np.random.default_rng(0)
    first = _sketch(rows.old, places, draw)
    second = _sketch(rows.new, places, draw)
    both = np.hstack([first, second])
    sources = []
    targets = []
    for _ in range(SORTS):
        products = both @ draw.standard_normal((both.shape[1], SIGNS + 1)).astype("f4")
        codes = (products[:, :SIGNS] > 0) @ (1 << np.arange(SIGNS))
        order = np.lexsort((products[:, SIGNS], codes))
        is_near = _near_to_next(first[order]) & _near_to_next(second[order])
        sources.append(order[:-1][is_near])
        targets.append(order[1:][is_near])
    source, target = np.concatenate(sources), np.concatenate(targets)
    size = len(places)
    pairs = coo_array((np.ones(len(source)), (source, target)), shape=(size, size))
    n_groups, groups = connected_components(pairs, directed=False)
    sizes = np.bincount(groups)
    is_too_large = sizes[groups] > max(1, MOST_OF_GROUP * size)
    groups[is_too_large] = n_groups + np.arange(np.count_nonzero(is_too_large))
    return np.asarray(groups)


def _sketch(x: Rows, places: Indices, draw: np.random.Generator) -> Floats:
    """Project unit rows, less their mean, to few columns.

    The typical distance of two sketches is 1.
    """
    k = x.shape[1]
    width = min(k, WIDTH)
    vectors = np.linalg.qr(draw.standard_normal((k, width)))[0]
    sketch = np.empty((len(places), width), dtype=np.float32)

    def fill(block: slice) -> None:
        rows = np.ascontiguousarray(x[places[block]], dtype=np.float64)
        sketch[block] = unit_rows(rows, none=0) @ vectors

    fill_in_threads(fill, row_blocks(len(places), k))
    sketch -= sketch.mean(axis=0, dtype=np.float64)
    mean_square = float(np.square(sketch).sum(axis=1).mean(dtype=np.float64))
    if mean_square > 0:
        # The mean squared distance of two rows is twice the mean square of a row.
        sketch /= np.sqrt(2 * mean_square)
    return sketch


def _near_to_next(sketch: Floats) -> Flags:
    """Flag the rows that are near to the following row, without the last row."""
    differences = np.diff(sketch, axis=0)
    return np.asarray(np.vecdot(differences, differences) <= NEAR**2)
