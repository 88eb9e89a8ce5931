"""Traits: what the rows of one side are like, whatever the model predicts.

These are duplicates, typical cosines, the direction that all rows share, hubs, and the
effect on neighbours of a bias that is stored as a column.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from embaudit.auditing.near_duplicates import NearDuplicates, near_duplicates
from embaudit.auditing.spaces import TwoSpaces, two_spaces
from embaudit.core.checked import Indices, Matrix, Vector
from embaudit.core.sizes import N_QUERIES
from embaudit.core.tolerances import EXACT_SHAPE
from embaudit.linalg.dimensions import Dimensions, dimensions_of
from embaudit.linalg.hubs import ONE_IN, Hubs, hubs
from embaudit.linalg.mapped import shifted_rows
from embaudit.linalg.nearest import NeighbourLists, list_length, neighbours
from embaudit.linalg.rows import (
    map_chunks,
    ordered_sum,
    row_norms,
    sample_rows,
    unit_rows,
)
from embaudit.model import FactorModel, SideName
from embaudit.model.side import Side
from embaudit.movements import Levels, Twins, levels, twins
from embaudit.movements.movement import MOST_LIST_COSINES
from embaudit.movements.neighbourhoods import (
    N_LISTED,
    NearestChanged,
    Neighbourhood,
    named_neighbourhoods,
)
from embaudit.movements.twins import representatives_of, without_copies

MIN_ROWS = 30
"""Smallest number of distinct rows for which typical values are computed."""
MIN_ORTHOGONAL = 6
"""Smallest number of rows whose right angles are reported, because fewer rows are often
at right angles by chance.
"""
MAX_ROWS = 200_000
"""Largest number of rows of which a second table is made, with the bias as a column."""
MIN_LISTS = 50
"""Smallest number of rows whose neighbour lists are computed for hubs and centring."""


@dataclass(frozen=True)
class CommonDirection:
    """Direction that all rows share, which raises the cosine of any two rows."""

    mean_cosine: float
    """Mean cosine of all pairs of rows with a direction, exact."""
    offset: float
    """Length of the mean row, in median rows."""
    centring: NearestChanged
    """Change of the nearest rows if the mean row is removed."""


@dataclass(frozen=True)
class BiasColumns:
    """Neighbour lists with the bias as a column, compared with those without it."""

    kept: float
    """Mean share of a list without the bias that is in the list with it."""
    n_neighbours: int
    """Length of a list."""
    n_rows: int
    """Number of rows whose lists were compared."""
    columns: int
    """Number of columns added: the bias alone, or the bias and a constant 1."""


@dataclass(frozen=True, eq=False)
class Traits:
    """Traits of the rows of one side.

    A trait is None if there is nothing to report, or if there are too few rows.
    """

    role: SideName
    """Side of the rows."""
    n_rows: int
    """Number of rows with a direction."""
    off_unit: float
    """Largest difference between 1 and the length of such a row."""
    orthonormal: bool
    """True if the columns are at right angles and equally long; False if there are not
    more rows than columns.
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
    n_neighbours : int
        Length of the neighbour lists.
    lists : NeighbourLists, optional
        The `n_neighbours` nearest rows of some rows, duplicates counted once. By
        default lists of drawn rows are computed.
    parts : array of str, optional
        The name of the part of each row, if parts of the table are known; see
        `two_spaces`.
    rng : numpy Generator
        Draws rows and pairs if there are too many to measure all.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> model = FactorModel.from_vectors([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    >>> found = traits_of(model, "right", rng=np.random.default_rng(0))
    >>> found.n_rows, found.is_unit, found.direction
    (3, True, None)
    """
    side = model.side(role)
    off_unit = float(np.abs(side.norms[side.directed] - 1).max())
    side_levels = levels(model, role=role)
    is_one_table = model.left_side is None and model.link.name != "softmax"
    spaces = None
    if is_one_table:
        # This search has a generator of its own, so that other draws do not depend on
        # the number of rows drawn here.
        spaces = two_spaces(model, role, parts, rng=rng.spawn(1)[0])
    traits = Traits(
        role,
        n_rows=len(side.directed),
        off_unit=off_unit,
        orthonormal=_orthonormal(side),
        twins=twins(model, role=role),
        levels=side_levels,
        orthogonal_rows=_orthogonal_rows(side, side_levels),
        dimensions=dimensions_of(side.rows, side.directed, rng.spawn(1)[0]),
        spaces=spaces,
    )
    first = representatives_of(model, role)
    standing = without_copies(side.directed, first)
    # The other traits are about typical rows and their neighbour lists, in which one
    # row stands for each group of duplicates.
    if len(standing) < MIN_ROWS:
        return traits
    if lists is None:
        # A list that leaves no other row out could not change.
        n = list_length(n_neighbours, len(standing), left_out=1)
        most = min(N_QUERIES, MOST_LIST_COSINES // len(side.directed))
        drawn = sample_rows(side.directed, max(MIN_LISTS, most), rng)
        lists = neighbours(side.rows, n, rows=without_copies(drawn, first), first=first)
    traits = replace(
        traits,
        direction=common_direction(side, lists, first),
        near_duplicates=near_duplicates(side.rows, standing, lists),
    )
    if len(standing) >= ONE_IN:
        traits = replace(traits, hubs=hubs(lists.indices, standing))
    if role == "right" and counts_bias(model):
        both = model.left_bias is not None
        traits = replace(
            traits, bias_columns=bias_columns(side, lists, first, both=both)
        )
    return traits


def _orthonormal(side: Side) -> bool:
    """Return True if the columns are at right angles and equally long."""
    if len(side) <= side.rows.shape[1]:
        return False
    norms = side.moments.column_norms
    # All lengths of columns lie between the smallest and the largest singular value, so
    # columns of different lengths need no decomposition.
    if norms.max() - norms.min() > EXACT_SHAPE * norms.max():
        return False
    s = np.linalg.svd(side.moments.root, compute_uv=False)
    return bool(s[0] - s[-1] <= EXACT_SHAPE * s[0])


def _orthogonal_rows(side: Side, side_levels: Levels) -> bool:
    """Return True if no cosine lies outside ±0.001; test the drawn pairs first."""
    rows = side.directed
    if not MIN_ORTHOGONAL <= len(rows) <= side.rows.shape[1]:
        return False
    if max(-side_levels.cosines[0], side_levels.cosines[-1]) > EXACT_SHAPE:
        return False
    units = unit_rows(np.asarray(side.rows[rows], dtype=np.float64))
    cosines = units @ units.T
    np.fill_diagonal(cosines, 0)
    return bool(np.abs(cosines).max() <= EXACT_SHAPE)


def mean_cosine(x: Matrix, norms: Vector | None = None) -> float:
    """Compute the mean cosine of all pairs of rows from the sum of the unit rows.

    For m unit rows u, `Σ cos = (‖Σ u‖² − m) / 2` over the m(m−1)/2 pairs. Rows without
    direction are skipped. Return NaN if fewer than two rows have a direction.

    Parameters
    ----------
    x : array of shape (p, k)
        The rows, which can be on disk.
    norms : array of shape (p,), optional
        Lengths of the rows, if they are known.

    Examples
    --------
    >>> rows = np.array([[1.0, 0.0], [3.0, 4.0], [0.0, 2.0], [0.0, 0.0]])
    >>> round(mean_cosine(rows), 6)
    0.466667
    """
    if norms is None:
        norms = row_norms(x)
    m = int(np.count_nonzero(norms))
    if m < 2:
        return float("nan")
    total = ordered_sum(
        map_chunks(x, lambda rows: unit_rows(x[rows], none=0).sum(axis=0))
    )
    return float((total @ total - m) / (m * (m - 1)))


def common_direction(
    side: Side, lists: NeighbourLists, first: Indices | None = None
) -> CommonDirection:
    """Measure the common direction of the rows of a side.

    Parameters
    ----------
    side : Side
        The rows.
    lists : NeighbourLists
        The nearest rows of some rows, as stored.
    first : array of int, optional
        The row that stands for each row in lists, if there are duplicates.

    Examples
    --------
    >>> side = Side([[9.0, 1.0], [9.0, -1.0], [11.0, 1.2], [11.0, -0.8]], "item")
    >>> found = common_direction(side, neighbours(side.rows, 1))
    >>> round(found.mean_cosine, 3), round(found.offset, 3), found.centring.share
    (0.986, 0.996, 1.0)
    """
    # The sum of very many float32 rows would lose digits in float32.
    mean = np.asarray(np.mean(side.rows, axis=0, dtype=np.float64))
    centred_rows = shifted_rows(side.rows, -mean)
    centred = neighbours(centred_rows, 1, rows=lists.rows, first=first)
    is_of_all = len(lists.rows) == len(without_copies(side.directed, first))
    offset = float("nan")
    if side.median_length:
        offset = float(np.linalg.norm(mean)) / side.median_length
    return CommonDirection(
        mean_cosine=mean_cosine(side.rows, side.norms),
        offset=offset,
        centring=NearestChanged.from_lists(lists, centred, exact=is_of_all),
    )


def counts_bias(model: FactorModel) -> bool:
    """Return True if a right bias would change neighbours as a column of the factors.

    Examples
    --------
    >>> users, items = [[1.0]], [[1.0], [2.0]]
    >>> model = FactorModel.from_user_item(users, items, item_bias=[0.0, 1.0])
    >>> counts_bias(model), counts_bias(model.replace(link="cosine"))
    (True, False)
    >>> counts_bias(model.replace(right_bias=[1.0, 1.0]))
    False
    """
    differs = model.right_bias is not None and np.ptp(model.right_bias) > 0
    return bool(
        differs
        and model.link.name != "softmax"
        and model.link.sees_biases
        and model.n_right <= MAX_ROWS
    )


def stored_rows(side: Side, *, both: bool) -> Matrix:
    """Return the rows of a side as implicit stores them, with the bias as a column.

    If both sides have a bias, a constant 1 is added as another column.

    Examples
    --------
    >>> stored_rows(Side([[1.0], [2.0]], "item", bias=[0.5, 0.25]), both=True)
    array([[1.  , 0.5 , 1.  ],
           [2.  , 0.25, 1.  ]])
    """
    assert side.bias is not None
    columns = [side.rows, side.bias.astype(side.rows.dtype)]
    if both:
        columns.append(np.ones(len(side), dtype=side.rows.dtype))
    return np.column_stack(columns)


def bias_columns(
    side: Side, lists: NeighbourLists, first: Indices | None = None, *, both: bool
) -> BiasColumns:
    """Compare neighbour lists with those of rows that have the bias as a column.

    Parameters
    ----------
    side : Side
        The rows and their bias.
    lists : NeighbourLists
        The nearest rows of some rows, without the bias.
    first : array of int, optional
        The row that stands for each row in lists, if there are duplicates.
    both : bool
        Whether the other side has a bias, too, so that a constant is added.

    Examples
    --------
    >>> side = Side([[1.0, 0.0], [1.0, 0.1], [1.0, 0.2]], "item", bias=[3.0, -3.0, 3.0])
    >>> bias_columns(side, neighbours(side.rows, 1), both=False)
    BiasColumns(kept=0.3333333333333333, n_neighbours=1, n_rows=3, columns=1)
    """
    n = lists.indices.shape[1]
    stored = neighbours(stored_rows(side, both=both), n, rows=lists.rows, first=first)
    return BiasColumns(lists.overlap(stored), n, len(lists.rows), 1 + both)


def beside_bias(
    side: Side, rows: Indices, n: int, *, both: bool
) -> tuple[Neighbourhood, ...]:
    """List the nearest rows of a few rows, without the bias and with it as a column.

    Examples
    --------
    >>> side = Side([[1.0, 0.0], [1.0, 0.1], [1.0, 0.2]], "item", bias=[3.0, -3.0, 3.0])
    >>> (found,) = beside_bias(side, np.array([0]), 1, both=False)
    >>> found.before[0][0], found.after[0][0]
    ('1', '2')
    """
    stored = stored_rows(side, both=both)
    # Rows that differ only in their bias are not duplicates once it is a column.
    first = twins(FactorModel.from_vectors(stored)).first
    without = neighbours(side.rows, n, rows=rows, first=first)
    with_bias = neighbours(stored, n, rows=rows, first=first)
    return named_neighbourhoods(
        side.labels, without, with_bias, first=first, most=N_LISTED
    )
