"""Twins: rows of one direction, up to the rounding of their storage.

Each twin of a row takes a place in its neighbour list, so lists count twins once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from embaudit.core.checked import (
    RNG,
    Flags,
    Indices,
    Matrix,
    as_generator,
    frozen,
    is_number,
)
from embaudit.core.parallel import row_blocks
from embaudit.core.plain import plain_dict
from embaudit.core.results import Result
from embaudit.core.words import counted, percent, percents_alike, visible
from embaudit.errors import must_be
from embaudit.linalg.duplicates import (
    cluster_representatives,
    duplicate_representatives,
    near_pairs,
    resolution,
    spaced_places,
    spacing_of,
)
from embaudit.linalg.intervals import wilson_interval
from embaudit.linalg.nearest import neighbours
from embaudit.linalg.pair_cosines import pair_cosines
from embaudit.linalg.rows import sample_rows
from embaudit.model import FactorModel, SideName
from embaudit.model.side import Side
from embaudit.model.sizes import require_model

MOST_DIRECTIONS = 200_000
"""Largest number of directions among which all near pairs are searched for."""
SAMPLE_ROWS = 400
"""Number of rows whose nearest row is searched for if there are more directions."""
MOST_COSINES = 50_000_000
"""Largest number of cosines computed for the nearest rows of this sample.

At least 100 rows are in the sample, even if they need more.
"""
N_NAMED = 3
"""Number of rows of the largest group that are named."""


@dataclass(frozen=True, eq=False)
class Twins(Result):
    """Twins among the rows of one side: pairs whose cosine exceeds `1 − tolerance`.

    A group is a first row with all later rows that are its twins and in no earlier
    group. So every row of a group is a twin of the first row, which can stand for it.
    Connected components would also join rows that are not twins of each other. A row
    all of whose twins are in other groups is a group of its own.

    Examples
    --------
    >>> import embaudit as ea
    >>> rows = [[1.0, 0.0], [0.0, 1.0], [2.0, 0.0]]
    >>> found = ea.twins(ea.FactorModel.from_vectors(rows))
    >>> found.n_pairs, found.first.tolist(), found.copies.tolist()
    (1, [0, 1, 0], [1, 0, 0])
    """

    role: SideName
    """Side of the rows."""
    title: str = field(repr=False)
    """Title of a row, such as "item"."""
    tolerance: float
    """Largest distance from 1 of the cosine of twins."""
    n_rows: int
    """Rows that have a direction."""
    exact: bool
    """True if all pairs were searched for. If not, pairs and groups are those of
    identical rows only, and there may be more."""
    n_sampled: int
    """Number of rows in the sample for `share`; 0 if `exact`."""
    n_pairs: int
    """Pairs of twins."""
    n_groups: int
    """Number of groups of the rows that have a twin."""
    largest: int
    """Number of rows of the largest group; 0 if there are no twins."""
    names: tuple[str, ...]
    """Names of some twins."""
    share: float
    """Share of the rows that have a twin."""
    ci_low: float
    """Lower end of its 95 % interval (Wilson); the share itself if `exact`."""
    ci_high: float
    """Upper end."""
    first: Indices = field(repr=False)
    """(n,) representative of each row: the first row of its group."""
    alone: Flags = field(repr=False)
    """(n,) True for rows that were found to have no twin."""
    on_a_line: bool = False
    """True if all cosines are 1 or −1. No rows are called twins then."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; None stands for an undefined number."""
        return plain_dict(
            {
                "role": self.role,
                "tolerance": self.tolerance,
                "n_rows": self.n_rows,
                "exact": self.exact,
                "n_sampled": self.n_sampled,
                "n_pairs": self.n_pairs,
                "n_groups": self.n_groups,
                "largest": self.largest,
                "names": self.names,
                "share": self.share,
                "ci_low": self.ci_low,
                "ci_high": self.ci_high,
                "on_a_line": self.on_a_line,
            }
        )

    def __repr__(self) -> str:
        pairs = counted(self.n_pairs, "pair")
        return f"Twins({pairs} of {counted(self.n_rows, self.title)})"

    @property
    def copies(self) -> Indices:
        """(n,) number of other rows that each row represents."""
        return np.maximum(np.bincount(self.first, minlength=len(self.first)) - 1, 0)

    def explain(self) -> str:
        """Describe how many rows are twins, and name some.

        Examples
        --------
        >>> rows = [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
        >>> print(twins(FactorModel.from_vectors(rows)).explain())
        67 % of 3 item rows have a duplicate (cosine above 1−2.1e-15): 1 pair, 1 group,
        the largest of 2 rows (0, 1).
        """
        title = self.title
        if self.on_a_line:
            return f"All {title} rows lie on one line, so none are called duplicates."
        n_rows = f"{self.n_rows:,} {title} rows"
        above = f"cosine above 1−{self.tolerance:.2g}"
        if self.exact and not self.n_pairs:
            return f"No two of {n_rows} have a {above}."
        names = ", ".join(visible(name) for name in self.names)
        if self.largest > len(self.names):
            names += ", …"
        pairs = counted(self.n_pairs, "pair")
        groups = counted(self.n_groups, "group")
        found = f"{pairs}, {groups}, the largest of {self.largest:,} rows ({names})"
        if self.exact:
            share = percent(self.share)
            return f"{share} of {n_rows} have a duplicate ({above}): {found}."
        share = " to ".join(percents_alike([self.ci_low, self.ci_high]))
        sample = f"by a sample of {self.n_sampled}"
        identical = f"; identical are {found}" if self.n_pairs else ""
        return f"{share} of {n_rows} have a duplicate ({above}), {sample}{identical}."


def twins(
    model: FactorModel,
    *,
    role: SideName | str = "right",
    tolerance: float | None = None,
    rng: RNG = 0,
) -> Twins:
    """Find the rows of one side that have one direction, up to rounding of the storage.

    Identical rows are found by sorting rows by their products with a random vector. All
    twins are found among up to 200,000 different directions, unless very many rows are
    near each other. Otherwise the nearest rows of a sample are searched for, and the
    share of rows with a twin has an interval. No p×p matrix is built.

    Parameters
    ----------
    model : FactorModel
        The model; one side is enough.
    role : {"right", "left"}
        Side of the rows.
    tolerance : float, optional
        Twins have a cosine above `1 − tolerance`. The default is the largest effect of
        rounding, `(8 + √k) ε + spacing² / 2` for k columns: the spacing is that of the
        shortest format that holds the numbers (2⁻⁷ for bfloat16, 2⁻¹⁰ for float16), and
        ε that of float64 (2⁻⁵²). The value for float64 is also the smallest tolerance.
    rng : numpy Generator or int
        Draws the sample, if one is needed.

    Returns
    -------
    Twins
        The pairs and groups of twins, and the share of rows that have one.

    Raises
    ------
    InputError
        If the tolerance is not in [0, 1), or `rng` is not a seed.

    Examples
    --------
    >>> rows = [[1.0, 0.0], [0.0, 1.0], [2.0, 0.0], [1.0, 0.001], [1.0, 1.0]]
    >>> found = twins(FactorModel.from_vectors(rows, ids=list("abcde")))
    >>> found.n_pairs, found.n_groups, found.names, found.share
    (1, 1, ('a', 'c'), 0.4)
    >>> twins(FactorModel.from_vectors(rows), tolerance=1e-4).n_pairs
    3
    """
    require_model(model)
    role, draw = model.side_name(role), as_generator(rng)
    if tolerance is not None and (not is_number(tolerance) or not 0 <= tolerance < 1):
        raise must_be("tolerance", "a number from 0 to below 1", repr(tolerance))
    side = model.side(role)
    if tolerance is not None:
        return _twins(side, role, tolerance, draw)
    if not isinstance(rng, int):
        return _twins(side, role, copy_tolerance(side), draw)
    by_seed = _TWINS.setdefault(side, {})
    if rng not in by_seed:
        by_seed[rng] = _twins(side, role, copy_tolerance(side), draw)
    return by_seed[rng]


def copy_tolerance(side: Side) -> float:
    """Return how far below 1 rounding of the storage can bring the cosine of twins.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(9, 4)).astype(np.float16)
    >>> thirds = x / np.float64(3)
    >>> [f"{copy_tolerance(Side(rows, 'item')):.1e}" for rows in (x, thirds)]
    ['4.8e-07', '2.2e-15']
    """
    rows = side.directed
    if len(rows):
        rows = rows[spaced_places(len(rows))]
    sample = np.asarray(side.rows[rows], dtype=np.float64)
    return resolution(side.rows.shape[1], spacing_of(sample))


def representatives_of(model: FactorModel, role: SideName) -> Indices | None:
    """Return the representative of each row of a side: the first row of its group.

    Only representatives have neighbour lists and are in them. Return None if no rows
    are twins.

    Examples
    --------
    >>> model = FactorModel.from_vectors([[1.0, 0.0], [0.0, 1.0], [2.0, 0.0]])
    >>> representatives_of(model, "right").tolist()
    [0, 1, 0]
    """
    groups = twins(model, role=role)
    return groups.first if groups.copies.any() else None


def without_copies(rows: Indices, first: Indices | None) -> Indices:
    """Replace rows by their representatives, each one once and in order.

    Examples
    --------
    >>> without_copies(np.array([1, 2, 3]), np.array([0, 0, 2, 3])).tolist()
    [0, 2, 3]
    >>> without_copies(np.array([1, 2]), None).tolist()
    [1, 2]
    """
    return rows if first is None else np.unique(first[rows])


_TWINS: WeakKeyDictionary[Side, dict[int, Twins]] = WeakKeyDictionary()
"""Twins at the default tolerance by side and seed, because many steps of an audit need
them."""


def _twins(
    side: Side, role: SideName, tolerance: float, draw: np.random.Generator
) -> Twins:
    """Search for the twins of a side, or estimate their share from a sample."""
    x, rows = side.rows, side.directed
    # Below the rounding of float64, chance would tell copies apart.
    least = 1 - max(tolerance, resolution(x.shape[1]))
    # On one line all cosines are 1 or −1 because there is one dimension only, so equal
    # directions do not show that rows were copied.
    on_a_line = _on_a_line(x, rows)
    if on_a_line:
        representative: Indices = np.arange(len(rows))
        n_twins: Indices = np.zeros(len(rows), dtype=np.intp)
        exact = True
    else:
        representative, n_twins, exact = _groups(x, rows, least)
    if exact:
        n_sampled = 0
        share = float(np.count_nonzero(n_twins)) / max(1, len(rows))
        low, high = share, share
    else:
        size = max(100, min(SAMPLE_ROWS, MOST_COSINES // len(rows)))
        sample = rows[sample_rows(len(rows), size, draw)]
        n_sampled = len(sample)
        # A row has a twin exactly if its nearest row is one.
        nearest = neighbours(x, 1, rows=sample).cosines[:, 0]
        share = float((nearest > least).mean())
        low, high = wilson_interval(share, n_sampled)
    # Rows without direction are their own representatives, and have no twin.
    first = np.arange(len(x))
    alone = np.ones(len(x), dtype=bool)
    first[rows] = rows[representative]
    alone[rows] = n_twins == 0
    sizes = np.bincount(first[~alone], minlength=len(x))
    members = rows[:0]
    if sizes.any():
        members = np.flatnonzero(first == sizes.argmax())
    return Twins(
        role=role,
        title=side.title,
        tolerance=float(tolerance),
        n_rows=len(rows),
        exact=exact,
        n_sampled=n_sampled,
        # Each pair was counted at both of its rows.
        n_pairs=int(n_twins.sum()) // 2,
        n_groups=int(np.count_nonzero(sizes)),
        largest=len(members),
        names=tuple(side.labels[members[:N_NAMED]].astype(str).tolist()),
        share=share,
        ci_low=low,
        ci_high=high,
        first=frozen(first),
        alone=frozen(alone),
        on_a_line=on_a_line,
    )


def _on_a_line(x: Matrix, rows: Indices) -> bool:
    """Return True if every row has the direction of the first row, or the opposite one.

    Most rows are not read, because one of the first blocks has another direction.
    """
    least = 1 - resolution(x.shape[1])
    pairs = np.column_stack([np.resize(rows[:1], len(rows)), rows])
    for block in row_blocks(len(rows), x.shape[1]):
        if not (np.abs(pair_cosines(x, x, pairs[block])) >= least).all():
            return False
    return True


def _groups(x: Matrix, rows: Indices, least: float) -> tuple[Indices, Indices, bool]:
    """Group the twins among rows that have a direction.

    Identical rows are found first, so only different directions are compared, and each
    direction counts as often as it occurs.

    Returns
    -------
    representative : array of shape (m,)
        The place in `rows` of the first row of each row's group.
    n_twins : array of shape (m,)
        The number of twins of each row.
    exact : bool
        False if there are too many directions, or too many near pairs, to compare. The
        groups are those of identical rows then.
    """
    # `distinct` holds one place in `rows` per direction, `direction` the direction of
    # each row, and `count` the number of rows of each direction.
    identical = duplicate_representatives(x, rows)
    distinct, direction, count = np.unique(
        identical, return_inverse=True, return_counts=True
    )
    pairs = None
    if len(distinct) <= MOST_DIRECTIONS:
        pairs = near_pairs(x, rows[distinct], least)
    exact = pairs is not None
    if pairs is None:
        pairs = np.empty((0, 2), dtype=np.intp)
    # The twins of a row are the other rows of its direction, and all rows of the
    # directions that its direction is paired with.
    n_twins = count - 1
    np.add.at(n_twins, pairs[:, 0], count[pairs[:, 1]])
    np.add.at(n_twins, pairs[:, 1], count[pairs[:, 0]])
    representative = distinct[cluster_representatives(len(distinct), pairs)]
    return representative[direction], n_twins[direction], exact
