"""Certificates: neighbours that no linear gauge within a condition number can displace.

With `z = artanh(cos)` a gauge of condition κ moves each z by at most ln κ. So a neighbour j of i stays ahead of an
excluded item l while `z_ij - z_il > 2 ln κ`: its *certified radius* is `exp((z_ij - z_il)/2)` for the first such l.
This is a sufficient condition, as certified radii are in adversarial robustness (Cohen, Rosenfeld & Kolter 2019).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from embaudit.errors import must_be
from embaudit.foundation.checked import frozen
from embaudit.gauges.gauge import EPS
from embaudit.kernels.nearest import TIE, Neighbours, neighbours
from embaudit.ranges.half_angle import tangent_of
from embaudit.ranges.reach import Fixed, as_numbers, reach_of_pairs

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from embaudit.foundation.checked import Indices, Matrix
    from embaudit.model import FactorModel, SideName

_NEAR = 0.999


@dataclass(frozen=True, eq=False, repr=False)
class CertifiedNeighbours:
    """The exact top-N list of each row, and up to which condition number each entry is certain to stay in it.

    Ties get nothing: an entry whose cosine is within 1e-9 of that of the first excluded item has radius 1, whichever
    of them the list happens to hold. Entries of exactly the row's direction never separate from it and are infinitely
    safe otherwise, as are all entries where nothing is left to exclude.
    """

    role: SideName
    rows: Indices
    """(m,) the rows asked for."""
    indices: Indices
    """(m, N) their neighbours, best first; equal cosines in order of row number."""
    cosines: NDArray[np.float64]
    """(m, N) their cosines."""
    runner_up: NDArray[np.float64]
    """(m,) the cosine of the first excluded row, -inf where none is left."""
    radii: NDArray[np.float64]
    """(m, N) certified radii, at least 1; NaN for a row without direction or a place it cannot fill."""

    def __repr__(self) -> str:
        m, n = self.indices.shape
        return f"CertifiedNeighbours(top {n} of {m:,} {self.role} rows)"

    @property
    def n(self) -> int:
        """Length of a list."""
        return int(self.indices.shape[1])

    @property
    def n_undefined(self) -> int:
        """Number of entries without a radius, which no curve counts."""
        return int(np.isnan(self.radii).sum())

    @property
    def tied_share(self) -> float:
        """Share of entries of radius 1: tied with the first excluded item."""
        known = self.radii[~np.isnan(self.radii)]
        return float((known <= 1).mean()) if known.size else float("nan")

    def curve(self, kappas: ArrayLike) -> NDArray[np.float64]:
        """Compute the share of entries that stay in their list under every linear gauge of condition κ.

        Examples
        --------
        >>> from embaudit.model import FactorModel
        >>> model = FactorModel.from_vectors([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]])
        >>> certified_neighbours(model, n=1).curve([1.0, 4.0, 1e3]).round(3)
        array([1.   , 0.667, 0.   ])
        """
        return _share_above(self.radii[~np.isnan(self.radii)], kappas)

    def list_curve(self, kappas: ArrayLike) -> NDArray[np.float64]:
        """Compute the share of rows whose whole list is certified at κ."""
        known = ~np.isnan(self.radii)
        shortest = np.where(known, self.radii, np.inf).min(axis=1, initial=np.inf)
        return _share_above(shortest[known.any(axis=1)], kappas)

    def certified(self, kappa: float) -> NDArray[np.bool_]:
        """Which entries, as (m, N), are certified at κ."""
        return np.asarray(self.radii > _as_conditions(kappa))


def _as_conditions(kappas: ArrayLike) -> NDArray[np.float64]:
    given = as_numbers(kappas, "condition numbers")
    if not (given >= 1).all():
        raise must_be("condition numbers", "at least 1", given.min())
    return given


def _share_above(radii: NDArray[np.float64], kappas: ArrayLike) -> NDArray[np.float64]:
    wanted = _as_conditions(kappas)
    if not radii.size:
        return np.full(wanted.shape, np.nan)
    above = radii.size - np.searchsorted(np.sort(radii), wanted, side="right")
    share: NDArray[np.float64] = above / radii.size
    return share


def certified_neighbours(
    model: FactorModel, *, role: SideName | str = "right", n: int = 10, rows: ArrayLike | None = None
) -> CertifiedNeighbours:
    """Find the exact top-n list of each row and certify its entries against linear gauges.

    Parameters
    ----------
    model : FactorModel
        The model; tiles of the cosine matrix are computed and dropped, it is never held.
    role : {"right", "left"}
        Which side.
    n : int
        Length of a list.
    rows : array of int, optional
        For which rows, for instance a sample; all by default.

    Returns
    -------
    CertifiedNeighbours

    Raises
    ------
    InputError
        If there are not more than n rows.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> model = FactorModel.from_vectors([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]])
    >>> found = certified_neighbours(model, n=1)
    >>> found.indices.ravel().tolist(), found.radii.ravel().round(2).tolist()
    ([1, 0, 1], [4.48, 4.26, 1.05])
    """
    role = model.side_name(role)
    factors = model.factors(role)
    found = neighbours(factors, n, rows=rows)
    radii = _radii(factors, found)
    radii[np.isin(found.rows, model.zero_rows(role))] = np.nan
    return CertifiedNeighbours(
        role, *(frozen(array) for array in (found.rows, found.indices, found.cosines, found.runner_up, radii))
    )


def _radii(factors: Matrix, found: Neighbours) -> NDArray[np.float64]:
    # A list is only as sure as its cosines: the entry is taken a rounding lower, the excluded item one higher.
    rounding = 4 * (8 + np.sqrt(factors.shape[1])) * EPS
    depth = _depth(found.cosines - rounding)
    near = np.argwhere(found.cosines > _NEAR)
    if len(near):
        table = np.column_stack([found.rows[near[:, 0]], found.indices[tuple(near.T)]]).astype(np.intp)
        tangent = reach_of_pairs(Fixed(factors.shape[1]), factors, factors, table).lower
        with np.errstate(divide="ignore"):
            depth[tuple(near.T)] = -np.log(tangent)
    with np.errstate(over="ignore", invalid="ignore"):
        radii = np.exp((depth - _depth(found.runner_up + rounding)[:, None]) / 2)
    tied = found.cosines <= found.runner_up[:, None] + TIE
    radii = np.where(tied, 1.0, np.maximum(radii, 1.0))
    radii[np.isneginf(found.cosines)] = np.nan
    return np.asarray(radii)


def _depth(cosines: NDArray[Any]) -> NDArray[np.float64]:
    """Compute artanh, infinite beyond ±1."""
    with np.errstate(divide="ignore"):
        return np.asarray(-np.log(tangent_of(np.clip(cosines, -1, 1))))
