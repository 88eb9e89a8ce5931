"""Twins: rows of one direction but for the rounding of their storage, that fill each other's lists of neighbours."""

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
from embaudit.core.words import counted, percent, visible
from embaudit.errors import must_be
from embaudit.linalg.duplicates import (
    cluster_representatives,
    duplicate_representatives,
    near_pairs,
    resolution,
    spacing_of,
    spread,
)
from embaudit.linalg.intervals import wilson_interval
from embaudit.linalg.nearest import neighbours
from embaudit.linalg.pairs import pair_cosines
from embaudit.linalg.rows import sample_rows
from embaudit.model import FactorModel, SideName
from embaudit.model.side import Side
from embaudit.model.sizes import require_model

ROWS = 200_000
"""Rows of different directions up to which every near pair is looked for."""
SAMPLE = 400
"""Rows whose nearest one is looked up where there are more."""
SEARCHED = 50_000_000
"""Cosines computed for that at most, from 100 rows on."""
N_NAMED = 3
"""Rows of the largest group that are named."""


@dataclass(frozen=True, eq=False)
class Twins(Result):
    """Twins among the rows of one side: pairs whose cosine exceeds `1 − tolerance`.

    A group is a first row with all later ones that are its twins and in no earlier group. So every row of a group is
    a twin of the first, which can stand for it; chains of twins, as connected components have them, would join rows
    that are none. A row all of whose twins are in other groups is a group of its own.
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
    """True if all pairs were compared; else pairs and groups are of identical rows only, and there may be more."""
    n_pairs: int
    """Pairs of twins."""
    n_groups: int
    """Groups into which the rows that have a twin fall."""
    largest: int
    """Rows of the largest group; 0 where there are no twins."""
    names: tuple[str, ...]
    """Names of some twins."""
    share: float
    """Share of the rows that have a twin."""
    ci_low: float
    """Lower end of its 95 % interval (Wilson); the share itself where exact."""
    ci_high: float
    """Upper end."""
    first: Indices = field(repr=False)
    """(n,) the row that stands for each: the first of its group, itself where it has no twin."""
    alone: Flags = field(repr=False)
    """(n,) which rows were found to have no twin."""
    on_a_line: bool = False
    """True if all cosines are 1 or −1: then no rows are called twins."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; None stands for an undefined number."""
        return plain_dict(
            {
                "role": self.role,
                "tolerance": self.tolerance,
                "n_rows": self.n_rows,
                "exact": self.exact,
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
        return f"Twins({counted(self.n_pairs, 'pair')} of {counted(self.n_rows, self.title)})"

    @property
    def copies(self) -> Indices:
        """(n,) how many other rows each one stands for."""
        return np.maximum(np.bincount(self.first, minlength=len(self.first)) - 1, 0)

    def explain(self) -> str:
        """Describe how many rows are twins, and name some.

        Examples
        --------
        >>> from dataclasses import replace
        >>> found = twins(FactorModel.from_vectors([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]))
        >>> print(found.explain())
        67 % of 3 item rows have a duplicate (cosine above 1−2.1e-15): 1 pair, 1 group, the largest of 2 rows (0, 1).
        >>> print(replace(found, exact=False, n_pairs=0, ci_low=0.1, ci_high=0.7).explain())
        10 % to 70 % of 3 item rows have a duplicate (cosine above 1−2.1e-15), by a sample.
        """
        above = f"cosine above 1−{self.tolerance:.2g}"
        if self.on_a_line:
            return (
                f"All {self.title} rows lie on one line, so none are called duplicates."
            )
        names = ", ".join(visible(name) for name in self.names) + ", …" * (
            self.largest > len(self.names)
        )
        counts = (
            f"{counted(self.n_pairs, 'pair')}, {counted(self.n_groups, 'group')}, the largest of {self.largest:,} rows "
            f"({names})"
        )
        if not self.exact:
            identical = f"; identical are {counts}" if self.n_pairs else ""
            between = f"{percent(self.ci_low)} to {percent(self.ci_high)}"
            return f"{between} of {self.n_rows:,} {self.title} rows have a duplicate ({above}), by a sample{identical}."
        if not self.n_pairs:
            return f"No two of {self.n_rows:,} {self.title} rows have a {above}."
        return f"{percent(self.share)} of {self.n_rows:,} {self.title} rows have a duplicate ({above}): {counts}."


def twins(
    model: FactorModel,
    *,
    role: SideName | str = "right",
    tolerance: float | None = None,
    rng: RNG = 0,
) -> Twins:
    """Find the rows of one side that are copies of each other, but for the rounding of their storage.

    Identical rows are found by a hash of their directions and verified, others by their order along one dimension or a
    tree over a few, which is exact among up to 200,000 different directions, where not too many rows crowd together;
    else the nearest rows of a sample are looked up, and the share of rows with a twin has an interval. No p×p matrix is
    built.

    Parameters
    ----------
    model : FactorModel
        The model; one side is enough.
    role : {"right", "left"}
        Which side.
    tolerance : float, optional
        Twins have a cosine above `1 − tolerance`. By default it is what rounding explains, `(8 + √k) ε + spacing² / 2`
        of k columns: the spacing is that of the shortest format that holds the numbers (2⁻⁷ for bfloat16, 2⁻¹⁰ for
        float16), and ε that of float64 (2⁻⁵²). What is less than float64 explains counts as 0.
    rng : numpy Generator or int
        Draws the sample, where one is needed.

    Returns
    -------
    Twins

    Raises
    ------
    InputError
        If the tolerance is no number from 0 to below 1, or rng no seed.

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
    if tolerance is not None or not isinstance(rng, int):
        return _twins(
            side, role, copy_tolerance(side) if tolerance is None else tolerance, draw
        )
    by_seed = _TWINS.setdefault(side, {})
    if rng not in by_seed:
        by_seed[rng] = _twins(side, role, copy_tolerance(side), draw)
    return by_seed[rng]


def copy_tolerance(side: Side) -> float:
    """Return how far below 1 the rounding of their storage may bring the cosine of two rows of one direction.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(9, 4)).astype(np.float16)
    >>> f"{copy_tolerance(Side(x, 'item')):.1e}", f"{copy_tolerance(Side(x / np.float64(3), 'item')):.1e}"
    ('4.8e-07', '2.2e-15')
    """
    rows = (
        side.directed[spread(len(side.directed))]
        if len(side.directed)
        else side.directed
    )
    return resolution(
        side.rows.shape[1], spacing_of(np.asarray(side.rows[rows], dtype=np.float64))
    )


def standing_rows(model: FactorModel, role: SideName) -> Indices | None:
    """Return for each row of a side the one that stands for it in lists of neighbours; None where no rows are copies.

    Examples
    --------
    >>> standing_rows(FactorModel.from_vectors([[1.0, 0.0], [0.0, 1.0], [2.0, 0.0]]), "right").tolist()
    [0, 1, 0]
    """
    groups = twins(model, role=role)
    return groups.first if groups.copies.any() else None


def once(rows: Indices, first: Indices | None) -> Indices:
    """Replace rows by those that stand for them, each one once and in order.

    Examples
    --------
    >>> once(np.array([1, 2, 3]), np.array([0, 0, 2, 3])).tolist(), once(np.array([1, 2]), None).tolist()
    ([0, 2, 3], [1, 2])
    """
    return rows if first is None else np.unique(first[rows])


_TWINS: WeakKeyDictionary[Side, dict[int, Twins]] = WeakKeyDictionary()
"""Twins at the usual tolerance, by side and seed: many steps of an audit need them."""


def _twins(
    side: Side, role: SideName, tolerance: float, draw: np.random.Generator
) -> Twins:
    """Search the twins of a side, or estimate their share where a search of all pairs takes too long."""
    x, rows = side.rows, side.directed
    # No tolerance below what float64 rounds: copies would then be told apart by chance.
    least = 1 - max(tolerance, resolution(x.shape[1]))
    # On one line all cosines are 1 or −1 for want of dimensions, not because rows were copied: none is called a twin.
    line = _on_a_line(x, rows)
    search = (
        _Search(np.arange(len(rows)), np.zeros(len(rows), dtype=np.intp))
        if line
        else _search(x, rows, least)
    )
    share, low, high = search.share if search.exact else _sampled(x, rows, least, draw)
    first, alone = np.arange(len(x)), np.ones(len(x), dtype=bool)
    # Rows without direction keep themselves as first, and have no twin.
    first[rows], alone[rows] = rows[search.first], search.n_twins == 0
    sizes = np.bincount(first[~alone], minlength=len(x))
    members = np.flatnonzero(first == sizes.argmax()) if sizes.any() else rows[:0]
    return Twins(
        role=role,
        title=side.title,
        tolerance=float(tolerance),
        n_rows=len(rows),
        exact=search.exact,
        # Each pair was counted at both of its rows.
        n_pairs=int(search.n_twins.sum()) // 2,
        n_groups=int(np.count_nonzero(sizes)),
        largest=len(members),
        names=tuple(side.labels[members[:N_NAMED]].astype(str).tolist()),
        share=share,
        ci_low=low,
        ci_high=high,
        first=frozen(first),
        alone=frozen(alone),
        on_a_line=line,
    )


@dataclass(frozen=True, eq=False)
class _Search:
    """Groups of twins among the rows that have a direction."""

    first: Indices
    """(m,) the place of the row that stands for each."""
    n_twins: Indices
    """(m,) how many twins each one has."""
    exact: bool = True

    @property
    def share(self) -> tuple[float, float, float]:
        """The share of rows with a twin, which is its own interval where all were found."""
        share = float(np.count_nonzero(self.n_twins)) / max(1, len(self.n_twins))
        return share, share, share


def _on_a_line(x: Matrix, rows: Indices) -> bool:
    """Check that every row points as the first one does, or against it; most are not read, as some soon does not."""
    pairs, least = (
        np.column_stack([np.resize(rows[:1], len(rows)), rows]),
        1 - resolution(x.shape[1]),
    )
    parts = row_blocks(len(rows), x.shape[1])
    return all(
        bool((np.abs(pair_cosines(x, x, pairs[block])) >= least).all())
        for block in parts
    )


def _search(x: Matrix, rows: Indices, least: float) -> _Search:
    """Find copies first, so that only different directions are compared, each with the weight of its copies."""
    copy_of = duplicate_representatives(x, rows)
    distinct, which, weight = np.unique(
        copy_of, return_inverse=True, return_counts=True
    )
    # None also where rows crowd together: then groups are of identical rows, and the share comes from a sample.
    pairs = near_pairs(x, rows[distinct], least) if len(distinct) <= ROWS else None
    exact = pairs is not None
    pairs = np.empty((0, 2), dtype=np.intp) if pairs is None else pairs
    first, other = pairs.T
    n_twins = (
        # Twins of a direction: its other copies, and all copies of the directions it is paired with.
        weight
        - 1
        + np.bincount(first, weight[other], len(weight))
        + np.bincount(other, weight[first], len(weight))
    )
    return _Search(
        distinct[cluster_representatives(len(distinct), pairs)][which],
        n_twins.astype(np.intp)[which],
        exact,
    )


def _sampled(
    x: Matrix, rows: Indices, least: float, draw: np.random.Generator
) -> tuple[float, float, float]:
    """Estimate the share of rows that have a twin from some of them, with its interval."""
    sample = sample_rows(len(rows), max(100, min(SAMPLE, SEARCHED // len(rows))), draw)
    # A row has a twin exactly where its nearest row is one.
    share = float((neighbours(x, 1, rows=rows[sample]).cosines[:, 0] > least).mean())
    return (share, *wilson_interval(share, len(sample)))
