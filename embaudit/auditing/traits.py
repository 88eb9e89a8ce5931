"""Traits: properties of the rows of one side that depend on no prediction.

These are duplicates, typical cosines, the direction that all rows share, hubs, the
dimensions that the rows use, parts with separate coordinate systems, and the effect on
neighbours of a bias that is stored as a column.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from embaudit.auditing.bias_columns import BiasColumns, bias_can_change_neighbours
from embaudit.auditing.common_direction import CommonDirection
from embaudit.auditing.near_duplicates import NearDuplicates, near_duplicates
from embaudit.auditing.spaces import TwoSpaces, two_spaces
from embaudit.core.checked import Indices
from embaudit.core.sizes import N_QUERIES
from embaudit.core.tolerances import EXACT_SHAPE
from embaudit.linalg.dimensions import Dimensions, dimensions_of
from embaudit.linalg.hubs import ONE_IN, Hubs, hubs
from embaudit.linalg.nearest import NeighbourLists, list_length, neighbours
from embaudit.linalg.rows import sample_rows, unit_rows
from embaudit.model import FactorModel, SideName
from embaudit.model.side import Side
from embaudit.movements import Levels, Twins, levels, twins
from embaudit.movements.movement import MOST_LIST_COSINES
from embaudit.movements.twins import representatives_of, without_copies

MIN_ROWS = 30
"""Smallest number of distinct rows whose neighbours and mean row are examined."""
MIN_ORTHOGONAL = 6
"""Smallest number of rows whose right angles are reported, because fewer rows are often
at right angles by chance.
"""
MIN_LISTS = 50
"""Smallest number of rows that get neighbour lists, however many cosines this takes."""


@dataclass(frozen=True, eq=False)
class Traits:
    """Traits of the rows of one side.

    A trait is None if it was not found, or if the side has too few rows to tell.
    """

    role: SideName
    """Side of the rows."""
    n_rows: int
    """Number of rows with a direction."""
    off_unit: float
    """Largest difference between 1 and the length of a row with a direction."""
    orthonormal: bool
    """True if the columns are at right angles and equally long.

    False if there are no more rows than columns, because this says little then.
    """
    twins: Twins | None = None
    """Duplicates among the rows."""
    levels: Levels | None = None
    """Quantiles of the cosines of random pairs, with which a cosine can be compared."""
    direction: CommonDirection | None = None
    """The direction that all rows share."""
    hubs: Hubs | None = None
    """Hub rows, duplicates counted once; None if there are fewer than 100 rows."""
    near_duplicates: NearDuplicates | None = None
    """Rows much closer to their nearest row than usual, but not equal to it."""
    bias_columns: BiasColumns | None = None
    """Effect on neighbours of a bias as a column, for right rows of a model that is not
    a softmax head.
    """
    orthogonal_rows: bool = False
    """True if all rows are at right angles, so that every cosine is 0 up to rounding.
    """
    dimensions: Dimensions | None = None
    """Dimensions that the rows use."""
    spaces: TwoSpaces | None = None
    """Two parts of one table that do not seem to share one coordinate system; None if
    none were found.
    """

    @property
    def is_unit(self) -> bool:
        """True if all rows have length 1."""
        return self.off_unit <= EXACT_SHAPE


def traits_of(
    model: FactorModel,
    role: SideName,
    *,
    n_neighbours: int | None = None,
    lists: NeighbourLists | None = None,
    parts: NDArray[np.str_] | None = None,
    rng: np.random.Generator,
) -> Traits:
    """Measure the traits of the rows of one side.

    Parameters
    ----------
    model : FactorModel
        The model with all rows, even if it is a head with very many labels.
    role : {"left", "right"}
        Side of the rows. At least two of its rows must have a direction.
    n_neighbours : int, optional
        Length of the neighbour lists. The default is 10, or less for few rows.
    lists : NeighbourLists, optional
        The `n_neighbours` nearest rows of some rows, in which one row stands for each
        group of duplicates. By default, lists of a random sample are computed.
    parts : array of str (n,), optional
        The name of the part of each row, if parts of the table are known; see
        `two_spaces`.
    rng : numpy Generator
        Draws rows and pairs if there are too many to measure all.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> model = FactorModel.from_vectors([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    >>> traits = traits_of(model, "right", rng=np.random.default_rng(0))
    >>> traits.n_rows, traits.is_unit, traits.direction
    (3, True, None)
    """
    side = model.side(role)
    side_levels = levels(model, role=role)
    # The two searches that `spawn` serves have generators of their own, so that the
    # rows that are drawn below do not depend on how many rows these searches draw.
    spaces = None
    is_one_table = model.left_side is None and model.link.name != "softmax"
    if is_one_table:
        spaces = two_spaces(model, role, parts, rng=rng.spawn(1)[0])
    traits = Traits(
        role,
        n_rows=len(side.directed),
        off_unit=float(np.abs(side.norms[side.directed] - 1).max()),
        orthonormal=_has_orthonormal_columns(side),
        twins=twins(model, role=role),
        levels=side_levels,
        orthogonal_rows=_has_orthogonal_rows(side, side_levels),
        dimensions=dimensions_of(side.rows, side.directed, rng.spawn(1)[0]),
        spaces=spaces,
    )
    # In neighbour lists, one row stands for each group of duplicates.
    representatives = representatives_of(model, role)
    distinct = without_copies(side.directed, representatives)
    if len(distinct) < MIN_ROWS:
        return traits
    if lists is None:
        lists = _lists_of_sample(side, representatives, n_neighbours, rng)
    hub_rows = None
    if len(distinct) >= ONE_IN:
        hub_rows = hubs(lists.indices, distinct)
    bias_columns = None
    if role == "right" and bias_can_change_neighbours(model):
        bias_columns = BiasColumns.from_model(model, lists, representatives)
    return replace(
        traits,
        direction=CommonDirection.from_model(model, role, lists, representatives),
        hubs=hub_rows,
        near_duplicates=near_duplicates(side.rows, distinct, lists),
        bias_columns=bias_columns,
    )


def _lists_of_sample(
    side: Side,
    representatives: Indices | None,
    n_neighbours: int | None,
    rng: np.random.Generator,
) -> NeighbourLists:
    """Find the nearest rows of a random sample of the rows that have a direction."""
    rows = side.directed
    n_distinct = len(without_copies(rows, representatives))
    # Each list leaves out at least one row, because a list of all other rows is the
    # same in every model.
    length = list_length(n_neighbours, n_distinct, left_out=1)
    n_affordable = min(N_QUERIES, MOST_LIST_COSINES // len(rows))
    sample = sample_rows(rows, max(MIN_LISTS, n_affordable), rng)
    queries = without_copies(sample, representatives)
    return neighbours(side.rows, length, rows=queries, first=representatives)


def _has_orthonormal_columns(side: Side) -> bool:
    """Return True if the columns are at right angles and equally long.

    All singular values of such a matrix are equal.
    """
    if len(side) <= side.rows.shape[1]:
        return False
    lengths = side.moments.column_norms
    # All lengths of columns lie between the smallest and the largest singular value, so
    # columns of different lengths need no decomposition.
    if lengths.max() - lengths.min() > EXACT_SHAPE * lengths.max():
        return False
    s = np.linalg.svd(side.moments.root, compute_uv=False)
    return bool(s[0] - s[-1] <= EXACT_SHAPE * s[0])


def _has_orthogonal_rows(side: Side, side_levels: Levels) -> bool:
    """Return True if the cosines of all pairs of rows are 0 up to rounding."""
    rows = side.directed
    n_columns = side.rows.shape[1]
    if not MIN_ORTHOGONAL <= len(rows) <= n_columns:
        return False
    # Random pairs are known already, and most tables fail this cheap test.
    smallest, largest = side_levels.cosines[0], side_levels.cosines[-1]
    if max(-smallest, largest) > EXACT_SHAPE:
        return False
    units = unit_rows(np.asarray(side.rows[rows], dtype=np.float64))
    cosines = units @ units.T
    np.fill_diagonal(cosines, 0)
    return bool(np.abs(cosines).max() <= EXACT_SHAPE)
