"""Movement of the cosines between two equivalent models: what may change while predictions do not.

Signed mean, RMS and Pearson's r over *all* pairs need no pair: with unit rows B (before) and C (after),
`Σ s = ½(‖Σ rows‖² − p)`, `Σ s² = ½(‖BᵀB‖² − p)` and `Σ s s' = ½(‖BᵀC‖² − p)` in the Frobenius norm. The rest
(mean |Δ|, maximum, quantiles, Spearman, sign flips) is gathered over every pair in tiles where there are at
most `EXACT_PAIRS`, and over sampled pairs, with a bootstrap confidence interval, where there are more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from embaudit.arrays import Matrix, row_blocks, row_norms, unit_rows
from embaudit.pairs import PairTally, tally_all_pairs, tally_pairs
from embaudit.similarity import TIE, Neighbours, n_pairs, neighbour_tiles, neighbours, sample_pairs

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from embaudit.arrays import Indices
    from embaudit.model import FactorModel, Role, Side

EXACT_PAIRS = 50_000_000
"""Up to here all pairs are visited: a pass over as many takes about a second on two cores
(`benchmarks/bench_movement.py`)."""
QUERIES = 400
"""Rows whose neighbours are compared; all of them where there are no more."""
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
RECORD = (
    *("role", "mean_abs", "max_abs", "rms", "mean", "pearson", "spearman", "sign_flips", "top_n", "top_n_overlap"),
    *("n_pairs", "exact", "ci_low", "ci_high", "n_zero"),
)
"""Fields of the audit's movement records."""


@dataclass(frozen=True, eq=False)
class Movement:
    """How far the cosines of one role moved between two models; Δ is after less before."""

    role: Role
    """left, right or cross (left-right)."""
    n_pairs: int
    """Pairs behind the figures that need pairs."""
    exact: bool
    """Whether these were all pairs."""
    n_zero: int
    """Rows without direction, left out."""
    mean: float
    """Mean of Δ over all pairs."""
    rms: float
    """Root mean square of Δ over all pairs."""
    pearson: float
    """Correlation of the cosines before and after over all pairs; NaN where one side does not vary."""
    mean_abs: float
    """Mean of |Δ|."""
    ci_low: float
    """Lower end of its 95 % bootstrap interval; the mean itself where exact."""
    ci_high: float
    """Upper end."""
    max_abs: float
    """Largest |Δ| among the pairs visited."""
    quantiles: dict[float, float]
    """Quantiles of |Δ|, to 0.001."""
    histogram: NDArray[np.int64]
    """Counts of |Δ| in equal bins from 0 to 2."""
    spearman: float
    """Rank correlation, from 256 quantile bins a side."""
    sign_flips: float
    """Share of pairs whose cosine changed sign by more than rounding."""
    top_n: int
    """N of the neighbour lists; 0 where there are none (left-right pairs)."""
    top_n_overlap: float
    """Mean share of a row's N nearest rows that stay among its N nearest, ties counted as kept; NaN without lists."""

    def to_dict(self) -> dict[str, Any]:
        """Return the record of the audit's JSON, without the histogram."""
        record = {name: getattr(self, name) for name in RECORD}
        return record | {"quantiles": {f"{level:g}": value for level, value in self.quantiles.items()}}


@dataclass(frozen=True, eq=False)
class CosineSums:
    """Sums of cosines over all pairs, from Gram matrices."""

    total: float
    before: float
    after: float
    before_squared: float
    after_squared: float
    product: float

    @property
    def mean(self) -> float:
        """Mean of Δ."""
        return (self.after - self.before) / self.total

    @property
    def rms(self) -> float:
        """Root mean square of Δ."""
        return float(np.sqrt(max(0.0, self.before_squared - 2 * self.product + self.after_squared) / self.total))

    @property
    def pearson(self) -> float:
        """Correlation of before and after."""
        n = self.total
        variances = (self.before_squared - self.before**2 / n) * (self.after_squared - self.after**2 / n)
        covariance = self.product - self.before * self.after / n
        # Below this the variance is the rounding of its own subtraction.
        floor = (64 * np.finfo(float).eps * self.before_squared) * self.after_squared
        return float(np.clip(covariance / np.sqrt(variances), -1, 1)) if variances > floor else float("nan")


def _unit(x: Matrix, rows: slice) -> NDArray[np.float64]:
    return np.nan_to_num(unit_rows(x[rows]))


@dataclass(frozen=True)
class _SideSums:
    """Sums of the unit rows of one side, and their cross Gram matrices before-before, before-after, after-after."""

    count: int
    before: NDArray[np.float64]
    after: NDArray[np.float64]
    bb: NDArray[np.float64]
    bc: NDArray[np.float64]
    cc: NDArray[np.float64]

    @classmethod
    def of(cls, before: Matrix, after: Matrix) -> _SideSums:
        k, m = before.shape[1], after.shape[1]
        sums = [np.zeros(k), np.zeros(m), np.zeros((k, k)), np.zeros((k, m)), np.zeros((m, m))]
        count = 0
        for rows in row_blocks(len(before), k + m):
            b, c = _unit(before, rows), _unit(after, rows)
            count += int(np.count_nonzero(b.any(axis=1)))
            for total, part in zip(sums, (b.sum(0), c.sum(0), b.T @ b, b.T @ c, c.T @ c), strict=True):
                total += part
        return cls(count, *sums)


def cosine_sums(before: FactorModel, after: FactorModel, role: Role) -> CosineSums:
    """Sum the cosines of all pairs of a role, before and after, from k×k matrices in one pass over the rows.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> model = FactorModel.from_vectors([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    >>> round(cosine_sums(model, model, "right").before, 6)
    1.4
    """
    if role != "cross":
        side = _SideSums.of(before.factors(role), after.factors(role))
        doubles = [float((x**2).sum()) for x in (side.before, side.after, side.bb, side.cc, side.bc)]
        return CosineSums(n_pairs(side.count), *((value - side.count) / 2 for value in doubles))
    users = _SideSums.of(before.factors("left"), after.factors("left"))
    items = _SideSums.of(before.right, after.right)
    return CosineSums(
        users.count * items.count,
        float(users.before @ items.before),
        float(users.after @ items.after),
        float((users.bb * items.bb).sum()),
        float((users.cc * items.cc).sum()),
        float((users.bc * items.bc).sum()),
    )


class MovementProbe:
    """Measures how far other models' cosines lie from one model's, computing what belongs to that model once.

    Parameters
    ----------
    model : FactorModel
        The model before.
    role : {"left", "right", "cross"}
        Which cosines.
    n_pairs : int
        Pairs to sample where there are more than `EXACT_PAIRS`.
    n_neighbours : int
        N of the neighbour lists.
    rng : numpy Generator or int, optional
        Draws the sampled pairs and rows.
    """

    def __init__(
        self,
        model: FactorModel,
        role: Role,
        *,
        n_pairs: int = 100_000,
        n_neighbours: int = 10,
        rng: np.random.Generator | int | None = None,
    ) -> None:
        self.model, self.role, self.rng = model, role, np.random.default_rng(rng)
        sides: tuple[Side, ...] = ("left", "right") if role == "cross" else (role,)
        self.valid = {side: np.flatnonzero(row_norms(model.factors(side)) > 0) for side in sides}
        self.n_zero = sum(len(model.factors(side)) - len(rows) for side, rows in self.valid.items())
        self.pairs = self._draw(n_pairs)
        self.top_n, self.queries = self._neighbour_lists(n_neighbours)

    def _draw(self, size: int) -> NDArray[np.intp] | None:
        """Draw pairs of rows that have a direction, or None where all pairs will be visited."""
        counts = [len(rows) for rows in self.valid.values()]
        if n_pairs(*counts) <= EXACT_PAIRS:
            return None
        columns = counts[1] if self.role == "cross" else None
        drawn = sample_pairs(counts[0], size, n_columns=columns, rng=self.rng)
        first, last = next(iter(self.valid.values())), list(self.valid.values())[-1]
        return np.column_stack([first[drawn[:, 0]], last[drawn[:, 1]]])

    def _neighbour_lists(self, n: int) -> tuple[int, Neighbours | None]:
        if self.role == "cross":
            return 0, None
        rows = self.valid[self.role]
        n = min(n, len(rows) - 2)
        if n < 1:
            return 0, None
        chosen = rows if len(rows) <= QUERIES else np.sort(self.rng.choice(rows, QUERIES, replace=False))
        return n, neighbours(self.model.factors(self.role), n, rows=chosen)

    def measure(self, after: FactorModel) -> Movement:
        """Measure the movement to another model of the same entities."""
        tally = self._tally(after)
        sums = cosine_sums(self.model, after, self.role)
        low, high = (tally.mean_abs, tally.mean_abs) if self.pairs is None else tally.bootstrap(self.rng)
        return Movement(
            role=self.role,
            n_pairs=tally.count,
            exact=self.pairs is None,
            n_zero=self.n_zero,
            mean=sums.mean,
            rms=sums.rms,
            pearson=sums.pearson,
            mean_abs=tally.mean_abs,
            ci_low=low,
            ci_high=high,
            max_abs=tally.max_abs,
            quantiles={level: tally.quantile(level) for level in QUANTILES},
            histogram=tally.histogram,
            spearman=tally.spearman,
            sign_flips=tally.sign_flips,
            top_n=self.top_n,
            top_n_overlap=self._overlap(after),
        )

    def _tally(self, after: FactorModel) -> PairTally:
        if self.pairs is not None:
            return tally_pairs(self.model.cosines(self.role, self.pairs), after.cosines(self.role, self.pairs))
        if self.role != "cross":
            rows = self.valid[self.role]
            return tally_all_pairs(*(unit_rows(model.factors(self.role)[rows]) for model in (self.model, after)))
        users, items = self.valid["left"], self.valid["right"]
        before, now = (
            (unit_rows(model.factors("left")[users]), unit_rows(model.right[items])) for model in (self.model, after)
        )
        return tally_all_pairs(before[0], now[0], before[1], now[1])

    def _overlap(self, after: FactorModel) -> float:
        if self.queries is None:
            return float("nan")
        assert self.role != "cross"
        return kept_neighbours(self.queries, after.factors(self.role))


def kept_neighbours(lists: Neighbours, x: Matrix) -> float:
    """Share of the listed neighbours that are still among the N nearest in the factors `x`.

    A neighbour within rounding of the N-th cosine counts as kept: rows of one direction stay tied in every
    equivalent model, and their order says nothing.

    Examples
    --------
    >>> x = np.array([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]])
    >>> kept_neighbours(neighbours(x, 1), x)
    1.0
    """
    n, kept, start = lists.indices.shape[1], 0, 0
    rows: Indices = lists.rows
    for part, tile in neighbour_tiles(unit_rows(x), rows):
        last = -np.partition(-tile, n - 1, axis=1)[:, n - 1 : n]
        listed = lists.indices[start : start + len(part)]
        kept += int(np.count_nonzero(np.take_along_axis(tile, listed, axis=1) >= last - TIE))
        start += len(part)
    return kept / lists.indices.size


def movement(
    before: FactorModel,
    after: FactorModel,
    *,
    role: Role = "right",
    n_pairs: int = 100_000,
    n_neighbours: int = 10,
    rng: np.random.Generator | int | None = 0,
) -> Movement:
    """Measure how far the cosines of a role moved from one model to another.

    Parameters
    ----------
    before, after : FactorModel
        Two models of the same entities, row by row.
    role : {"left", "right", "cross"}
        Left-left, right-right or left-right cosines.
    n_pairs : int
        Pairs to sample where there are more than `EXACT_PAIRS`.
    n_neighbours : int
        N of the neighbour lists.
    rng : numpy Generator or int, optional
        Draws the sampled pairs and rows.

    Returns
    -------
    Movement

    Examples
    --------
    >>> from embaudit.gauges import Gauge
    >>> from embaudit.model import FactorModel
    >>> model = FactorModel.from_user_item([[1.0, 1.0]], [[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    >>> moved = movement(model, Gauge.diagonal([1.0, 4.0]).act(model))
    >>> round(moved.max_abs, 4), moved.exact
    (0.4838, True)
    """
    return MovementProbe(before, role, n_pairs=n_pairs, n_neighbours=n_neighbours, rng=rng).measure(after)
