"""Certificates: neighbours that no gauge within a condition number can displace.

With `z = artanh(cos)` a gauge of condition κ moves each z by at most ln κ. So a
neighbour j of i stays ahead of an excluded item l while `z_ij - z_il > 2 ln κ`, and its
*certified radius* is `exp((z_ij - z_il) / 2)` for the first excluded item l. If shifts
of length at most τ come before the gauge, z_ij is the smallest and z_il the largest
value that a shift reaches, and every excluded item counts. The condition is sufficient,
not necessary, like that of certified radii in adversarial robustness (Cohen, Rosenfeld
& Kolter, "Certified Adversarial Robustness via Randomized Smoothing", ICML 2019).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from embaudit.core.checked import (
    Flags,
    Floats,
    Indices,
    Matrix,
    as_list,
    as_numbers,
    frozen,
)
from embaudit.core.parallel import parallel_map, row_blocks
from embaudit.core.plain import plain_dict
from embaudit.core.results import Picture, PlottableResult
from embaudit.core.tolerances import EPS, ROW_ROUNDING, TIE
from embaudit.core.words import at_least, percent
from embaudit.errors import must_be
from embaudit.gauges import Affine, Translation
from embaudit.linalg.nearest import NeighbourLists, neighbours
from embaudit.linalg.rows import row_norms, unit_rows
from embaudit.model import FactorModel, SideName
from embaudit.model.sizes import require_model
from embaudit.ranges.affine import SameSideRangeSolver
from embaudit.ranges.cosine_range import require_gauges_of
from embaudit.ranges.half_angle import tangent_of
from embaudit.ranges.range_solver import AffineBudget, ranges_of_pairs
from embaudit.ranges.translation import positive_root

if TYPE_CHECKING:
    import pandas as pd

BLOCK_BYTES = 4 * 2**20
BATCH = 4096
"""Number of exact tangents that are computed at once."""
STATED = (1.1, 1.5, 2.0)
"""Condition numbers at which `explain` states the certain share of entries."""


@dataclass(frozen=True, eq=False)
class CertifiedNeighbours(PlottableResult):
    """The exact top-N list of each row, with the certified radius of each entry.

    The radius is the condition number below which an entry is certain to stay in its
    list. An entry whose cosine is within 1e-9 of the cosine of the first excluded item
    is tied and has the radius 1. Otherwise the radius is infinite for all entries of a
    list that excludes no row and, without shifts, for an entry of exactly the direction
    of the row, because no linear gauge separates parallel rows.

    Examples
    --------
    >>> import embaudit as ea
    >>> rows = [[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]]
    >>> found = ea.certified_neighbours(ea.FactorModel.from_vectors(rows), n=1)
    >>> found.certified(2.0).ravel()
    array([ True,  True, False])
    >>> found.list_curve([1.5, 4.4]).round(3)
    array([0.667, 0.333])
    """

    role: SideName
    """Side of the rows."""
    rows: Indices
    """(m,) the rows whose lists these are."""
    indices: Indices
    """(m, N) their neighbours, best first; equal cosines in order of row number."""
    cosines: Floats
    """(m, N) their cosines."""
    runner_up: Floats
    """(m,) the cosine of the first excluded row, -inf where none is left."""
    radii: Floats
    """(m, N) certified radii, at least 1; NaN in the list of a zero row and in places
    that no row fills."""
    max_shift: float | None = 0.0
    """Longest shift before the linear gauge; None for any length."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; None stands for an undefined number."""
        return plain_dict(
            {
                "role": self.role,
                "n": self.n,
                "n_undefined": self.n_undefined,
                "tied_share": self.tied_share,
                "n_rows": len(self.rows),
                "certified": self.stated_shares,
                "entries": self.first_entries,
            }
        )

    def __repr__(self) -> str:
        m, n = self.indices.shape
        return f"CertifiedNeighbours(top {n} of {m:,} {self.role} rows)"

    @property
    def n(self) -> int:
        """Length of a list."""
        return int(self.indices.shape[1])

    @property
    def n_undefined(self) -> int:
        """Number of entries without a radius; curves skip them."""
        return int(np.isnan(self.radii).sum())

    @property
    def tied_share(self) -> float:
        """Share of entries of radius 1: tied with the first excluded item."""
        radii = self.radii[~np.isnan(self.radii)]
        return float((radii <= 1).mean()) if radii.size else float("nan")

    def curve(self, kappas: ArrayLike) -> Floats:
        """Compute the share of entries that are certain to stay in their list, by κ.

        They stay under every shift of at most `max_shift` and gauge of condition κ.

        Examples
        --------
        >>> model = FactorModel.from_vectors([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]])
        >>> certified_neighbours(model, n=1).curve([1.0, 4.0, 1e3]).round(3)
        array([1.   , 0.667, 0.   ])
        """
        return _share_above(self.radii[~np.isnan(self.radii)], kappas)

    def list_curve(self, kappas: ArrayLike) -> Floats:
        """Compute the share of rows whose whole list is certified at κ."""
        is_entry = ~np.isnan(self.radii)
        shortest = np.where(is_entry, self.radii, np.inf).min(axis=1, initial=np.inf)
        return _share_above(shortest[is_entry.any(axis=1)], kappas)

    def certified(self, kappa: float) -> Flags:
        """Flag the entries, as (m, N), that are certified at κ."""
        return np.asarray(self.radii > _as_conditions(kappa))

    @property
    def stated_shares(self) -> dict[float, float]:
        """Share of the entries that are certified, by κ."""
        return dict(zip(STATED, self.curve(STATED), strict=True))

    @property
    def first_entries(self) -> pd.DataFrame:
        """The first 1,000 rows of `to_frame`; JSON has no infinite radii."""
        return self.to_frame().head(1_000)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per entry: its row, place, neighbour, cosine and radius.

        A zero row has no entries.
        """
        import pandas as pd

        m, n = self.indices.shape
        listed = {
            "neighbour": self.indices.ravel(),
            "cosine": self.cosines.ravel(),
            "radius": self.radii.ravel(),
        }
        whose = {
            "row": np.repeat(self.rows, n),
            "place": np.tile(np.arange(1, n + 1), m),
        }
        frame = pd.DataFrame(whose | listed)
        return frame[frame["neighbour"] >= 0].reset_index(drop=True)

    def explain(self) -> str:
        """Describe the share of the entries that is certain to stay."""
        stay = ", ".join(
            f"{at_least(share)} within κ = {kappa:g}"
            for kappa, share in self.stated_shares.items()
        )
        if self.max_shift is None:
            gauges = "no linear gauge and any shift together displace"
        elif self.max_shift == 0:
            gauges = "no linear gauge displaces"
        else:
            shifts = f"shift up to {self.max_shift:.3g}"
            gauges = f"no linear gauge and {shifts} together displace"
        lists = f"top-{self.n} lists of {len(self.rows):,} {self.role} rows"
        return (
            f"Of the entries of {lists}, {gauges}: {stay}. {percent(self.tied_share)} "
            "tie with the first row left out, and nothing is certain of them."
        )

    def plot(self, ax: Any = None, *, attacks: Iterable[Any] = ()) -> Picture:
        """Draw the share of entries that are certain to stay against κ.

        The share that each attack (`worst_gauge`) left in place is added.
        """
        return self._plot(
            ax, attacks=as_list(attacks, "attacks", "audit.evidence.limits.attacks")
        )


def _as_conditions(kappas: ArrayLike) -> Floats:
    conditions = as_numbers(kappas, "condition numbers")
    if not (conditions >= 1).all():
        raise must_be("condition numbers", "at least 1", conditions.min())
    return conditions


def _share_above(radii: Floats, kappas: ArrayLike) -> Floats:
    """Return the share of radii above each condition number; NaN without any radius.

    Examples
    --------
    >>> _share_above(np.array([2.0, 3.0, 1.0, np.inf]), [1.0, 2.0, 4.0])
    array([0.75, 0.5 , 0.25])
    >>> _share_above(np.zeros(0), [1.0])
    array([nan])
    """
    wanted = _as_conditions(kappas)
    if not radii.size:
        return np.full(wanted.shape, np.nan)
    above = radii.size - np.searchsorted(np.sort(radii), wanted, side="right")
    share: Floats = above / radii.size
    return share


def certified_neighbours(
    model: FactorModel,
    *,
    role: SideName | str = "right",
    n: int = 10,
    rows: ArrayLike | None = None,
    group: Affine | Translation | None = None,
) -> CertifiedNeighbours:
    """Find the exact top-n list of each row and certify its entries.

    The entries are certified against linear gauges or, with a `group`, affine gauges.

    Parameters
    ----------
    model : FactorModel
        The model. Its cosine matrix is computed in tiles and never stored as a whole.
    role : {"right", "left"}
        Which side.
    n : int
        Length of a list.
    rows : array of int, optional
        Rows whose lists are certified, for example a sample; all by default.
    group : Affine or Translation, optional
        Set whose shifts come before the linear gauge; no shifts by default. Its
        condition number is ignored, because the radius is a condition number.

    Returns
    -------
    CertifiedNeighbours
        The lists, and for each entry the condition number up to which it stays.

    Raises
    ------
    InputError
        If there are not more than n rows, or the group is of another kind or rank.
    EquivalenceError
        If its shifts would change what the model predicts.

    Examples
    --------
    >>> rows = [[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]]
    >>> found = certified_neighbours(FactorModel.from_vectors(rows), n=1)
    >>> found.indices.ravel().tolist(), found.radii.ravel().round(2).tolist()
    ([1, 0, 1], [4.48, 4.26, 1.05])
    >>> shifts = Translation(2, max_shift=0.2)
    >>> head = FactorModel.from_softmax(rows)
    >>> found = certified_neighbours(head, n=1, group=shifts)
    >>> found.radii.ravel().round(2).tolist()
    [3.54, 3.38, 1.0]
    """
    require_model(model)
    role = model.side_name(role)
    factors = model.factors(role)
    max_shift: float | None = 0.0
    if group is not None:
        if not isinstance(group, Affine | Translation):
            raise must_be(
                "group",
                "an Affine or a Translation",
                repr(group),
                "omit the group for linear gauges",
            )
        require_gauges_of(model, group)
        max_shift = group.max_shift if role == group.side else 0.0
    lists = neighbours(factors, n, rows=rows)
    radii = _radii(factors, lists, max_shift)
    indices, cosines = frozen(lists.indices), frozen(lists.cosines)
    runner_up = frozen(lists.runner_up)
    return CertifiedNeighbours(
        role, frozen(lists.rows), indices, cosines, runner_up, frozen(radii), max_shift
    )


def _radii(factors: Matrix, lists: NeighbourLists, max_shift: float | None) -> Floats:
    """Compute the radii `√(t' / t)` against shifts followed by a linear gauge.

    t is the largest half-angle tangent that a shift gives the entry, and t' the
    smallest one that it gives any rival. A gauge of condition κ makes the first at most
    κ t and the second at least t' / κ. To allow for rounding, t is taken a little
    larger and t' a little smaller.
    """
    is_entry = lists.indices >= 0
    row, place = np.nonzero(is_entry)
    entries = np.column_stack([lists.rows[row], lists.indices[row, place]])
    largest_shift = None if max_shift is None else max_shift * (1 + ROW_ROUNDING)
    solver = SameSideRangeSolver(AffineBudget(max_shift=largest_shift))
    entry_ends = ranges_of_pairs(solver, factors, factors, entries.astype(np.intp))
    entry_tangents = np.full(lists.indices.shape, np.nan)
    entry_tangents[is_entry] = entry_ends.lower.tangent * (1 + ROW_ROUNDING)
    if max_shift == 0:
        largest_cosines = lists.runner_up + _cosine_rounding(factors.shape[1])
        rival_tangents = tangent_of(np.clip(largest_cosines, -1, 1))
    else:
        shift = np.inf if max_shift is None else max_shift
        rival_tangents = _nearest_rivals(factors, lists, shift)
    with np.errstate(divide="ignore", invalid="ignore"):
        radii = np.sqrt(rival_tangents[:, None] / entry_tangents)
    # 0/0: an entry and a rival that both have exactly the direction of the row.
    radii[np.isnan(radii) & is_entry] = 1.0
    radii[np.isinf(rival_tangents)[:, None] & is_entry] = np.inf
    is_tied = lists.cosines <= lists.runner_up[:, None] + TIE
    return np.asarray(np.where(is_tied, 1.0, np.maximum(radii, 1.0)))


def _cosine_rounding(k: int) -> float:
    """Bound the rounding of a cosine that is computed from unit rows of k entries."""
    return float(4 * (8 + np.sqrt(k)) * EPS)


def _nearest_rivals(factors: Matrix, lists: NeighbourLists, max_shift: float) -> Floats:
    """Compute the smallest half-angle tangent of each row and any of its rivals.

    Rivals are the rows outside its list, and shifts up to a length make it smallest.

    A shift can bring pairs together whose cosines are far apart, so every excluded row
    is a rival. The smallest tangent of a pair has a closed form in the lengths and the
    cosine (see `embaudit.ranges.translation`) and falls as the cosine or the shift
    grows. With both taken a little larger than computed, the closed form bounds the
    tangents of a whole tile from below. Only rivals whose bound is below the smallest
    exact tangent so far are computed exactly.

    Parameters
    ----------
    factors : array of shape (p, k)
        The side that is shifted.
    lists : NeighbourLists
        The lists.
    max_shift : float
        Longest shift, above 0.

    Returns
    -------
    array of shape (m,)
        A lower bound that is exact up to rounding. It is infinite if the list excludes
        no row. A shift gives a zero row any direction, so all bounds are 0 if there is
        one.
    """
    lengths = row_norms(factors)
    n_directed = int((lengths > 0).sum())
    nearest = np.full(len(lists.rows), np.inf)
    if n_directed < len(lengths):
        return np.zeros(len(nearest))
    if n_directed <= lists.indices.shape[1] + 1:
        return nearest
    # A shift as long as the row gives it any direction, so no search is needed.
    nearest[lengths[lists.rows] <= max_shift] = 0
    searched = np.flatnonzero(lengths[lists.rows] > max_shift)
    unit = unit_rows(factors)

    def smallest_tangents(batch: slice) -> Floats:
        rows = lists.rows[searched[batch]]
        cosines = np.clip(unit[rows] @ unit.T, -1, 1)
        cosines[np.arange(len(rows)), rows] = -np.inf
        np.put_along_axis(cosines, lists.indices[searched[batch]], -np.inf, axis=1)
        bounds = _bounds(cosines, lengths[rows], lengths, max_shift, factors.shape[1])
        return _smallest_tangents(factors, rows, bounds, max_shift)

    parts = row_blocks(len(searched), len(factors), budget=BLOCK_BYTES)
    nearest[searched] = np.concatenate(
        [*parallel_map(smallest_tangents, parts), np.empty(0)]
    )
    return nearest * (1 - ROW_ROUNDING)


def _bounds(
    cosines: Floats, own: Floats, rival_lengths: Floats, radius: float, k: int
) -> Floats:
    """Bound the smallest tangent of each pair of a tile from below.

    The formulas are those of `embaudit.ranges.translation`, with the cosine and the
    radius a little larger than computed. The bound is infinite for rows that are no
    rivals, whose cosine is -inf.
    """
    a = own[:, None]
    b = rival_lengths
    r = radius * (1 + ROW_ROUNDING)
    cosine = np.minimum(cosines + _cosine_rounding(k), 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        alpha = np.sqrt((a - r) * (a + r))
        beta = np.sqrt((b - r) * (b + r))
        # Law of cosines, in a form that does not cancel for nearly equal rows.
        base = np.sqrt((a - b) ** 2 + 2 * a * b * (1 - cosine))
        area = a * b * np.sqrt((1 - cosine) * (1 + cosine))
        inner = a * b * cosine - r * r

        # The equation of the largest cosine, multiplied by the base. Its constant is 0
        # if the disc meets the line through the two rows.
        smaller = np.maximum(area * (1 - ROW_ROUNDING) - r * base, 0)
        larger = area + r * base
        tangent = positive_root(larger, inner, smaller, alpha * beta)
        bound = tangent * (1 - ROW_ROUNDING)

    # A shift that is as long as the shorter row can make the two rows parallel.
    takes_row_to_origin = r >= np.minimum(a, b)
    bound[takes_row_to_origin | np.isnan(bound)] = 0
    is_no_rival = np.isneginf(cosines)
    bound[is_no_rival] = np.inf
    return np.asarray(bound)


def _smallest_tangents(
    factors: Matrix, rows: Indices, bounds: Floats, max_shift: float
) -> Floats:
    """Compute the smallest tangent of each row with any rival.

    The rival of the smallest bound comes first, and then every rival whose bound is
    below the smallest tangent so far.
    """
    solver = SameSideRangeSolver(AffineBudget(max_shift=max_shift * (1 + ROW_ROUNDING)))
    lines = np.arange(len(rows))
    first = bounds.argmin(axis=1)
    pairs = np.column_stack([rows, first])
    best = ranges_of_pairs(solver, factors, factors, pairs).upper.tangent
    bounds[lines, first] = np.inf
    candidates = np.argwhere(bounds < best[:, None])
    for start in range(0, len(candidates), BATCH):
        line, rival = candidates[start : start + BATCH].T
        # The best tangents have become smaller in the meantime.
        is_open = bounds[line, rival] < best[line]
        line, rival = line[is_open], rival[is_open]
        pairs = np.column_stack([rows[line], rival])
        nearest = ranges_of_pairs(solver, factors, factors, pairs).upper
        np.minimum.at(best, line, nearest.tangent)
    return best
