"""The direction that all rows of a side share, and the effect of removing it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from embaudit.core.checked import Floats, Indices, Matrix, Vector
from embaudit.linalg.mapped import Mapped
from embaudit.linalg.nearest import NeighbourLists, neighbours
from embaudit.linalg.rows import map_chunks, ordered_sum, row_norms, unit_rows
from embaudit.linalg.transformed_rows import Rows
from embaudit.model import FactorModel, SideName
from embaudit.model.centring import centre_of
from embaudit.movements.neighbourhoods import NearestChanged
from embaudit.movements.twins import without_copies


@dataclass(frozen=True)
class CommonDirection:
    """Direction that all rows share, which raises the cosine of any two rows."""

    mean_cosine: float
    """Mean cosine of all pairs of rows with a direction, exact."""
    offset: float
    """Length of the mean row, divided by the median length of a row."""
    centring: NearestChanged
    """Change of the nearest rows if the mean row is subtracted from all rows."""

    @classmethod
    def from_model(
        cls,
        model: FactorModel,
        role: SideName,
        lists: NeighbourLists,
        representatives: Indices | None = None,
    ) -> Self:
        """Measure the common direction of the rows of a side.

        Zero rows do not count, except zero rows of a softmax head (see `centre_of`).

        Parameters
        ----------
        model : FactorModel
        role : {"left", "right"}
            Side of the rows.
        lists : NeighbourLists
            The nearest rows of some rows, as stored.
        representatives : array of int (n,), optional
            The row that stands for each row in lists, if there are duplicates.

        Examples
        --------
        >>> rows = [[9.0, 1.0], [9.0, -1.0], [11.0, 1.2], [11.0, -0.8]]
        >>> model = FactorModel.from_vectors(rows)
        >>> lists = neighbours(model.right, 1)
        >>> shared = CommonDirection.from_model(model, "right", lists)
        >>> round(shared.mean_cosine, 3), round(shared.offset, 3)
        (0.986, 0.996)
        >>> shared.centring.share
        1.0
        """
        side = model.side(role)
        centre = centre_of(model, role)
        offset = float("nan")
        if side.median_length > 0:
            offset = float(np.linalg.norm(centre)) / side.median_length
        keeps_zero_rows = model.link.name != "softmax"
        centred = centred_rows(side.rows, centre, keeps_zero_rows=keeps_zero_rows)
        lists_after = neighbours(centred, 1, rows=lists.rows, first=representatives)
        n_distinct = len(without_copies(side.directed, representatives))
        return cls(
            mean_cosine=mean_cosine(side.rows, side.norms),
            offset=offset,
            centring=NearestChanged.from_lists(
                lists, lists_after, exact=len(lists.rows) == n_distinct
            ),
        )


def centred_rows(x: Rows, centre: Vector, *, keeps_zero_rows: bool) -> Mapped:
    """Subtract a centre from all rows.

    If zero rows are kept, they stay zero and so do not get the direction `-centre`.

    Examples
    --------
    >>> x = np.array([[2.0, 1.0], [0.0, 0.0]])
    >>> centred_rows(x, np.array([1.0, 1.0]), keeps_zero_rows=True)[:]
    array([[1., 0.],
           [0., 0.]])
    """

    def subtract(block: Floats) -> Floats:
        centred = block - centre
        if keeps_zero_rows:
            is_zero = ~block.any(axis=1)
            centred[is_zero] = 0
        return centred

    return Mapped(x, subtract, x.shape[1])


def mean_cosine(x: Matrix, norms: Vector | None = None) -> float:
    """Compute the mean cosine of all pairs of rows from the sum of the unit rows.

    For m unit rows u, `Σ cos = (‖Σ u‖² − m) / 2` over the m(m−1)/2 pairs. Rows without
    direction are skipped.

    Parameters
    ----------
    x : array of shape (p, k)
        The rows, which can be on disk.
    norms : array of shape (p,), optional
        Lengths of the rows, if they are known.

    Returns
    -------
    float
        NaN if fewer than two rows have a direction.

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
