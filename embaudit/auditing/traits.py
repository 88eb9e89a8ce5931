"""Traits: what the rows of one side are like, whatever the model predicts.

Copies, usual cosines, the direction that all rows share, hubs, and what a bias kept as a column does to neighbours.
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
from embaudit.linalg.mapped import shifted_rows
from embaudit.linalg.nearest import NeighbourLists, list_length, neighbours
from embaudit.linalg.rows import each_chunk, in_order, row_norms, sample_rows, unit_rows
from embaudit.model import FactorModel, SideName
from embaudit.model.side import Side
from embaudit.movements import Levels, Twins, levels, twins
from embaudit.movements.movement import SEARCHED
from embaudit.movements.neighbourhoods import (
    LISTED,
    NearestChanged,
    Neighbourhood,
    by_name,
)
from embaudit.movements.twins import once, standing_rows

MIN_ROWS = 30
"""Rows with a direction below which what is typical of them is not asked."""
MIN_ORTHOGONAL = 6
"""Fewest rows whose right angles are reported: fewer rows are often so by chance."""
MAX_HUBS = 10
"""Rows at most whose share of all places is told."""
ONE_IN = 100
"""Hubs are one row in so many."""
MAX_ROWS = 200_000
"""Rows up to which they are held a second time, with the bias as a column."""


@dataclass(frozen=True)
class CommonDirection:
    """Direction that the rows share: how similar two rows are before anything is told of them."""

    mean_cosine: float
    """Mean cosine of all pairs of rows with a direction, exact."""
    offset: float
    """Length of the mean row, in median rows."""
    centring: NearestChanged
    """Change of the nearest rows when the mean row is removed."""


@dataclass(frozen=True)
class Hubs:
    """Hubs: how unevenly rows occur in the lists of others."""

    n_lists: int
    """Lists looked at."""
    top_n: int
    """Length of the lists."""
    skewness: float
    """Skewness of how often a row occurs in them; 0 where all occur alike. Chance alone
    leaves 1/√mean.
    """
    few: tuple[int, ...]
    """The rows that occur most, one in a hundred and ten at most, the most frequent
    first.
    """
    lists_with: tuple[float, ...]
    """Share of the lists that each of them stands in."""
    filled: float
    """Share of all places that they fill together."""


@dataclass(frozen=True)
class BiasColumns:
    """Lists of nearest rows with the bias counted in, against those without it."""

    kept: float
    """Mean share of a list without the bias that is in the list with it."""
    n_neighbours: int
    """Length of a list."""
    n_rows: int
    """Rows asked."""
    columns: int
    """Number of columns added: the bias alone, or the bias and a constant 1."""


@dataclass(frozen=True, eq=False)
class Traits:
    """Traits of the rows of one side; None where there is nothing to report, or there are too few rows."""

    role: SideName
    """Side of the rows."""
    n_rows: int
    """Rows that have a direction."""
    off_unit: float
    """Largest distance of the length of one of them from 1."""
    orthonormal: bool
    """True if the columns are at right angles and equally long; never with no more rows
    than columns.
    """
    twins: Twins | None = None
    """Copies among the rows."""
    levels: Levels | None = None
    """Levels that a value of their cosine is read against."""
    direction: CommonDirection | None = None
    """The direction that all rows share."""
    hubs: Hubs | None = None
    """Hub rows, copies counted once; None where one in a hundred is less than a row."""
    near_duplicates: NearDuplicates | None = None
    """Rows much closer to their nearest row than usual, but not equal to it."""
    bias_columns: BiasColumns | None = None
    """Effect on neighbours of a bias kept as a column; of right rows only, and not of a
    softmax head.
    """
    orthogonal_rows: bool = False
    """True if all rows are at right angles, so that every cosine is 0 but for rounding.
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
    """Look at the rows of one side.

    Parameters
    ----------
    model : FactorModel
        The whole model, also of a head with very many labels.
    role : {"left", "right"}
        Which side; two of its rows at least have a direction.
    n_neighbours : int
        Length of the lists.
    lists : NeighbourLists, optional
        The `n_neighbours` nearest rows of those that are looked at, copies counted
        once; of drawn ones by default.
    parts : array of str, optional
        The name of the part of each row of one table, if parts of it are known; see
        `two_spaces`.
    rng : numpy Generator
        Draws rows and pairs where there are too many to look at all.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> model = FactorModel.from_vectors([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    >>> found = traits_of(model, "right", rng=np.random.default_rng(0))
    >>> found.n_rows, found.is_unit, found.direction
    (3, True, None)
    """
    side = model.side(role)
    alive = len(side.directed)
    off_unit = float(np.abs(side.norms[side.directed] - 1).max())
    copies, usual = twins(model, role=role), levels(model, role=role)
    is_one_table = model.left_side is None and model.link.name != "softmax"
    spaces = None
    if is_one_table:
        # A generator of its own, so that other draws do not depend on the number of
        # rows drawn here.
        spaces = two_spaces(model, role, parts, rng=rng.spawn(1)[0])
    plainly = Traits(
        role,
        alive,
        off_unit,
        _orthonormal(side),
        copies,
        usual,
        orthogonal_rows=_orthogonal_rows(side, usual),
        dimensions=dimensions_of(side.rows, side.directed, rng.spawn(1)[0]),
        spaces=spaces,
    )
    first = standing_rows(model, role)
    standing = once(side.directed, first)
    # What follows looks at typical rows and their lists, in which one row stands for
    # each group of duplicates.
    if len(standing) < MIN_ROWS:
        return plainly
    if lists is None:
        # Beside its own row a list has to leave one row out at least, else it could not
        # change.
        n = list_length(n_neighbours, len(standing), left_out=1)
        drawn = sample_rows(
            side.directed, max(50, min(N_QUERIES, SEARCHED // len(side.directed))), rng
        )
        lists = neighbours(side.rows, n, rows=once(drawn, first), first=first)
    counted_in = role == "right" and counts_bias(model)
    return replace(
        plainly,
        direction=common_direction(side, lists, first),
        hubs=hubs(lists, standing) if len(standing) >= ONE_IN else None,
        near_duplicates=near_duplicates(side.rows, standing, lists),
        bias_columns=bias_columns(side, lists, first, both=model.left_bias is not None)
        if counted_in
        else None,
    )


def _orthonormal(side: Side) -> bool:
    if len(side) <= side.rows.shape[1]:
        return False
    norms = side.outline.column_norms
    # No column is longer than the largest singular value, none shorter than the
    # smallest.
    if norms.max() - norms.min() > EXACT_SHAPE * norms.max():
        return False
    s = np.linalg.svd(side.moments.root, compute_uv=False)
    return bool(s[0] - s[-1] <= EXACT_SHAPE * s[0])


def _orthogonal_rows(side: Side, usual: Levels) -> bool:
    """Return True if no cosine lies outside ±0.001; test the drawn pairs first."""
    rows = side.directed
    if not MIN_ORTHOGONAL <= len(rows) <= side.rows.shape[1]:
        return False
    if max(-usual.cosines[0], usual.cosines[-1]) > EXACT_SHAPE:
        return False
    units = unit_rows(np.asarray(side.rows[rows], dtype=np.float64))
    cosines = units @ units.T
    np.fill_diagonal(cosines, 0)
    return bool(np.abs(cosines).max() <= EXACT_SHAPE)


def mean_cosine(x: Matrix, norms: Vector | None = None) -> float:
    """Compute the mean cosine of all pairs of rows, from the sum of their directions; no pair is formed.

    With m unit rows, `Σ cos = (‖Σ u‖² − m) / 2` over the m(m−1)/2 pairs. Rows without
    direction are left out; NaN where there are fewer than two others.

    Parameters
    ----------
    x : array of shape (p, k)
        The rows; may lie on disk.
    norms : array of shape (p,), optional
        Their lengths, where they are known.

    Examples
    --------
    >>> round(mean_cosine(np.array([[1.0, 0.0], [3.0, 4.0], [0.0, 2.0], [0.0, 0.0]])), 6)
    0.466667
    """
    m = int(np.count_nonzero(row_norms(x) if norms is None else norms))
    total = in_order(each_chunk(x, lambda rows: unit_rows(x[rows], none=0).sum(axis=0)))
    return float((total @ total - m) / (m * (m - 1))) if m > 1 else float("nan")


def common_direction(
    side: Side, lists: NeighbourLists, first: Indices | None = None
) -> CommonDirection:
    """Measure the common direction of the rows of a side.

    Parameters
    ----------
    side : Side
        The rows.
    lists : NeighbourLists
        The nearest rows of some of them, as they are.
    first : array of int, optional
        The row that stands for each in the lists, where rows are copies.

    Examples
    --------
    >>> side = Side([[9.0, 1.0], [9.0, -1.0], [11.0, 1.2], [11.0, -0.8]], "item")
    >>> found = common_direction(side, neighbours(side.rows, 1))
    >>> round(found.mean_cosine, 3), round(found.offset, 3), found.centring.share
    (0.986, 0.996, 1.0)
    """
    # In float64, since the sum of very many float32 rows loses digits.
    mean = np.asarray(np.mean(side.rows, axis=0, dtype=np.float64))
    centred = neighbours(
        shifted_rows(side.rows, -mean), 1, rows=lists.rows, first=first
    )
    return CommonDirection(
        mean_cosine(side.rows, side.norms),
        float(np.linalg.norm(mean)) / side.median_length
        if side.median_length
        else float("nan"),
        NearestChanged.of(
            lists, centred, exact=len(lists.rows) == len(once(side.directed, first))
        ),
    )


def hubs(lists: NeighbourLists, standing: Indices) -> Hubs:
    """Count how often rows occur in lists.

    Parameters
    ----------
    lists : NeighbourLists
        Of some or all rows, each of them full.
    standing : array of int
        The rows that may occur in them, one of each group of copies.

    Examples
    --------
    Every row of a circle has the same number of neighbours.

    >>> turn = np.linspace(0, 2 * np.pi, 200, endpoint=False)
    >>> found = hubs(neighbours(np.column_stack([np.cos(turn), np.sin(turn)]), 2), np.arange(200))
    >>> found.skewness, found.lists_with, found.filled
    (0.0, (0.01, 0.01), 0.01)
    """
    # The lists may be those of some rows only, while every standing row may occur in
    # them.
    occurs = np.bincount(lists.indices.ravel(), minlength=len(lists.searched))[standing]
    # Stable, so that of rows that occur alike the first ones are named on every
    # machine.
    few = np.argsort(-occurs, kind="stable")[
        : min(MAX_HUBS, max(1, len(occurs) // ONE_IN))
    ]
    # The skewness of k-occurrence measures hubs since Radovanović et al. (2010).
    off = occurs - occurs.mean()
    spread = float(np.square(off).mean())
    return Hubs(
        n_lists=len(lists.rows),
        top_n=lists.indices.shape[1],
        skewness=float((off**3).mean() / spread**1.5) if spread > 0 else 0.0,
        few=tuple(standing[few].tolist()),
        lists_with=tuple((occurs[few] / len(lists.rows)).tolist()),
        filled=float(occurs[few].sum() / lists.indices.size),
    )


def counts_bias(model: FactorModel) -> bool:
    """Check for a bias that a library which keeps it among the factors would count in other neighbour lists.

    Examples
    --------
    >>> model = FactorModel.from_user_item([[1.0]], [[1.0], [2.0]], item_bias=[0.0, 1.0])
    >>> counts_bias(model), counts_bias(model.replace(right_bias=[1.0, 1.0])), counts_bias(model.replace(link="cosine"))
    (True, False, False)
    """
    told = model.right_bias is not None and np.ptp(model.right_bias) > 0
    return bool(
        told
        and model.link.name != "softmax"
        and model.link.sees_biases
        and model.n_right <= MAX_ROWS
    )


def stored_rows(side: Side, *, both: bool) -> Matrix:
    """Put a side as implicit stores it: the bias in a column, and a constant 1 where the other side has a bias `both`.

    Examples
    --------
    >>> stored_rows(Side([[1.0], [2.0]], "item", bias=[0.5, 0.25]), both=True)
    array([[1.  , 0.5 , 1.  ],
           [2.  , 0.25, 1.  ]])
    """
    assert side.bias is not None
    constant = [np.ones(len(side), dtype=side.rows.dtype)] if both else []
    return np.column_stack([side.rows, side.bias.astype(side.rows.dtype), *constant])


def bias_columns(
    side: Side, lists: NeighbourLists, first: Indices | None = None, *, both: bool
) -> BiasColumns:
    """Compare lists of nearest rows with those that count the bias in.

    Parameters
    ----------
    side : Side
        The rows and their bias.
    lists : NeighbourLists
        The nearest rows of some of them, without it.
    first : array of int, optional
        The row that stands for each in the lists, where rows are copies.
    both : bool
        Whether the other side has a bias too, so that a constant stands beside this
        one's.

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
    """List the nearest of a few rows without their bias, and with it among the factors; copies count it, too.

    Examples
    --------
    >>> side = Side([[1.0, 0.0], [1.0, 0.1], [1.0, 0.2]], "item", bias=[3.0, -3.0, 3.0])
    >>> (found,) = beside_bias(side, np.array([0]), 1, both=False)
    >>> found.before[0][0], found.after[0][0]
    ('1', '2')
    """
    stored = stored_rows(side, both=both)
    # Rows that are equal but for their bias are no copies in the longer rows.
    first = twins(FactorModel.from_vectors(stored)).first
    lists = (neighbours(x, n, rows=rows, first=first) for x in (side.rows, stored))
    return by_name(side.labels, *lists, first=first, most=LISTED)
