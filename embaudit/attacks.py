"""Attacks: concrete gauges within a budget that move cosines, or neighbour lists, as far as a search can find.

Up to what no cosine sees a linear gauge is one symmetric positive matrix, and moving it by `S ← S^½ exp(H) S^½` changes
the cosine of unit rows a, b of the moved side at the rate

    d cos = aᵀ H b - cos/2 (aᵀ H a + bᵀ H b),

so a gradient is one k×k matrix. After each step the logarithms of the eigenvalues are clipped to a window as wide as
the budget. The best of several seeded starts is an inner bound, `embaudit.ranges` gives the outer one: *attack <= truth
<= certificate*. They differ for two reasons: the certificate lets every pair choose its own worst gauge, where the
attack must find one for all, and the search may stop at a local optimum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
from threadpoolctl import threadpool_limits

from embaudit.arrays import gram, unit_rows
from embaudit.errors import must_be
from embaudit.gauges import Diagonal, Gauge, GaugeGroup, GeneralLinear
from embaudit.gauges.group import random_rotation
from embaudit.progress import track
from embaudit.ranges import CertifiedNeighbours, certified_neighbours, cosine_range
from embaudit.similarity import sample_pairs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from embaudit.arrays import Matrix
    from embaudit.model import FactorModel, Role, Side

    Array = NDArray[np.float64]

Objective: TypeAlias = Literal["movement", "neighbours"]
N_RIVALS = 3
"""The smooth objective follows this many times N excluded items of each list."""


@dataclass(frozen=True, eq=False, repr=False)
class Attack:
    """The worst gauge found, and the bound it cannot pass."""

    gauge: Gauge
    """A gauge within the budget."""
    objective: Objective
    role: Role
    group: GaugeGroup
    achieved: float
    """What the gauge does: mean |Δcos| over the pairs, or the share of list entries destroyed."""
    bound: float
    """What no gauge of the set can exceed, by ranges or certificates."""
    n_items: int
    """Number of pairs, or of list entries, both numbers are about."""

    @property
    def gap(self) -> float:
        """How far the truth may lie above what was achieved."""
        return self.bound - self.achieved

    def explain(self) -> str:
        """Say in one sentence what the two numbers are and why they differ."""
        what = "mean change of a cosine" if self.objective == "movement" else "share of list entries displaced"
        return (
            f"The worst gauge within the budget has a {what} between {self.achieved:.3g} (found by search) and "
            f"{self.bound:.3g} (proven); the proof allows each {'pair' if self.objective == 'movement' else 'entry'} "
            "its own worst gauge, and the search may have stopped at a local optimum."
        )

    def __repr__(self) -> str:
        return f"Attack({self.objective} of {self.role}: {self.achieved:.4g} achieved, at most {self.bound:.4g})"


class _Target(Protocol):
    """What an attack maximises."""

    def value(self, metric: Metric) -> float:
        """Return what counts in the end, under a metric."""
        ...

    def gradient(self, metric: Metric) -> Array:
        """Direction H of steepest ascent of something smooth that follows it, k×k symmetric."""
        ...


class Metric(NamedTuple):
    """A gauge by the metric `V diag(exp(l)) Vᵀ` it puts on the side attacked (left for cross pairs)."""

    vectors: Array
    logs: Array

    def root(self, sign: float = 1.0) -> Array:
        """Return the symmetric root R, or its inverse with `sign = -1`."""
        return np.asarray((self.vectors * np.exp(sign * self.logs / 2)) @ self.vectors.T)

    def gauge(self, role: Role) -> Gauge:
        """Return the gauge that puts this metric on the side."""
        return Gauge(self.root(-1), self.root()) if role == "right" else Gauge(self.root(), self.root(-1))

    def step(self, direction: Array, size: float, window: float, *, diagonal: bool) -> Metric:
        """Go along a direction and clip the logarithms to a window."""
        if diagonal:
            return Metric(self.vectors, _clipped(self.logs + size * np.diag(direction), window))
        values, turned = np.linalg.eigh(direction)
        root = self.root()
        moved = root @ (turned * np.exp(size * values)) @ turned.T @ root
        squares, vectors = np.linalg.eigh((moved + moved.T) / 2)
        floor = squares[-1] * np.exp(-2 * window)
        return Metric(vectors, _clipped(np.log(np.maximum(squares, floor)), window))


def _clipped(logs: Array, window: float) -> Array:
    """Clip to the window of that width that moves the values least at either end, centred on 0."""
    middle = (logs.max() + logs.min()) / 2
    # A hair inside, so that rounding never spends more than the budget.
    return np.asarray(np.clip(logs - middle, -window / 2, window / 2) * (1 - 1e-12))


class _Movement:
    """Mean |Δcos| over sampled pairs."""

    def __init__(self, model: FactorModel, role: Role, pairs: NDArray[np.intp], before: Array) -> None:
        sides = ("left", "right") if role == "cross" else (role, role)
        known = ~np.isnan(before)
        self.pairs, self.before, self.cross = pairs[known], before[known], role == "cross"
        self.x, self.y = (
            unit_rows(model.factors(side)[column])  # type: ignore[arg-type]
            for side, column in zip(sides, self.pairs.T, strict=True)
        )

    def _moved(self, metric: Metric) -> tuple[Array, Array, Array]:
        x, y = unit_rows(self.x @ metric.root()), unit_rows(self.y @ metric.root(-1.0 if self.cross else 1.0))
        return x, y, np.einsum("ij,ij->i", x, y)

    def value(self, metric: Metric) -> float:
        return float(np.abs(self._moved(metric)[2] - self.before).mean())

    def gradient(self, metric: Metric) -> Array:
        x, y, cosine = self._moved(metric)
        push = np.sign(cosine - self.before)
        return _rate(x, y, cosine, push, cross=self.cross)


def _rate(x: Array, y: Array, cosine: Array, push: Array, *, cross: bool) -> Array:
    """Return H of steepest ascent of Σ push · cos, for unit rows."""
    own = (x * (push * cosine)[:, None]).T @ x
    other = (y * (push * cosine)[:, None]).T @ y
    if cross:
        return np.asarray((other - own) / 2)
    both = (x * push[:, None]).T @ y
    return np.asarray((both + both.T - own - other) / 2)


class _Lists:
    """Share of the entries of top-N lists that a gauge drives out, over sampled rows."""

    def __init__(self, model: FactorModel, side: Side, found: CertifiedNeighbours) -> None:
        self.all = np.nan_to_num(unit_rows(model.factors(side)))
        self.empty = ~self.all.any(axis=1)
        known = ~np.isnan(found.radii)
        whole = known.all(axis=1)
        self.rows, self.entries = found.rows[whole], found.indices[whole]
        self.n_rivals = min(N_RIVALS * found.n, len(self.all) - found.n - 1)

    def _cosines(self, rows: Array) -> Array:
        cosines = rows[self.rows] @ rows.T
        cosines[:, self.empty] = -np.inf
        cosines[np.arange(len(self.rows)), self.rows] = -np.inf
        return np.asarray(cosines)

    def _excluded(self, rows: Array) -> NDArray[np.intp]:
        """Strongest items outside each list."""
        cosines = self._cosines(rows)
        np.put_along_axis(cosines, self.entries, -np.inf, axis=1)
        return np.argpartition(-cosines, self.n_rivals - 1, axis=1)[:, : self.n_rivals]

    def _moved(self, metric: Metric) -> Array:
        return np.nan_to_num(unit_rows(self.all @ metric.root()))

    def value(self, metric: Metric) -> float:
        cosines = self._cosines(self._moved(metric))
        n = self.entries.shape[1]
        entries = np.take_along_axis(cosines, self.entries, axis=1)
        # An entry stays if fewer than N others are ahead of it; equal within rounding is not ahead.
        nth = -np.partition(-cosines, n - 1, axis=1)[:, n - 1]
        return float((entries < nth[:, None] - 1e-9).mean())

    def gradient(self, metric: Metric) -> Array:
        """Push every rival above every entry it is near to, weighted by a logistic function of how near."""
        rows = self._moved(metric)
        rivals = self._excluded(rows)
        a = rows[self.rows]
        inside, outside = (np.einsum("ik,ijk->ij", a, rows[index]) for index in (self.entries, rivals))
        margins = outside[:, None, :] - inside[:, :, None]
        width = np.abs(margins).mean() / 4 + 1e-12
        push = 1 / np.cosh(np.clip(margins / width, -50, 50) / 2) ** 2
        total = np.zeros((a.shape[1],) * 2)
        for index, cosine, force in ((rivals, outside, push.sum(1)), (self.entries, inside, -push.sum(2))):
            first = np.repeat(a, index.shape[1], axis=0)
            total += _rate(first, rows[index.ravel()], cosine.ravel(), force.ravel(), cross=False)
        return total


def _starts(
    rank: int, window: float, spread: Array, n_starts: int, rng: np.random.Generator, *, diagonal: bool
) -> Iterator[Metric]:
    """Yield metrics that spend the budget: along the principal axes, once along the coordinates, then at random."""
    axes = np.eye(rank) if diagonal else np.linalg.eigh(spread)[1]
    energy = np.einsum("ji,jk,ki->i", axes, spread, axes)
    ramp = np.argsort(np.argsort(energy)) / max(1, rank - 1) - 0.5
    for turn in range(n_starts):
        if turn < 2:
            yield Metric(axes, (1 - 2 * turn) * ramp * window)
        else:
            logs = rng.permutation(np.where(np.arange(rank) < rng.integers(1, max(2, rank)), 0.5, -0.5)) * window
            yield Metric(np.eye(rank) if diagonal or turn == 2 else random_rotation(rank, rng), logs)


def _ascend(target: _Target, metric: Metric, window: float, n_steps: int, *, diagonal: bool) -> tuple[float, Metric]:
    """Gradient ascent that doubles its step after a gain and halves it after a loss; the best metric met."""
    best, size = target.value(metric), window / 2
    direction = _unit_direction(target, metric, diagonal=diagonal)
    for _ in range(n_steps):
        if size < 1e-4 * window or not direction.any():
            break
        trial = metric.step(direction, size, window, diagonal=diagonal)
        value = target.value(trial)
        if value > best:
            best, metric, size = value, trial, min(2 * size, 2 * window)
            direction = _unit_direction(target, metric, diagonal=diagonal)
        else:
            size /= 2
    return best, metric


def _unit_direction(target: _Target, metric: Metric, *, diagonal: bool) -> Array:
    direction = target.gradient(metric)
    direction = np.diag(np.diag(direction)) if diagonal else direction
    length = float(np.abs(np.linalg.eigvalsh(direction)).max())
    return direction / length if length > 0 else direction


def _require_budget(group: GaugeGroup) -> float:
    if not isinstance(group, (Diagonal, GeneralLinear)) or group.max_condition is None:
        raise must_be(
            "group", "Diagonal or GeneralLinear with a max_condition", group, "an attack needs a budget to spend"
        )
    return group.max_condition


def worst_gauge(
    model: FactorModel,
    group: GaugeGroup,
    *,
    role: Role = "right",
    objective: Objective = "movement",
    n_pairs: int = 2_000,
    n_rows: int = 100,
    n: int = 10,
    n_starts: int = 6,
    n_steps: int = 40,
    rng: np.random.Generator | int | None = None,
) -> Attack:
    """Search a budget for the gauge that does most harm to the cosines while it keeps every prediction.

    Parameters
    ----------
    model : FactorModel
        The model.
    group : Diagonal or GeneralLinear
        With a `max_condition`.
    role : {"right", "left", "cross"}
        Which cosines; cross pairs have no neighbour lists.
    objective : {"movement", "neighbours"}
        Maximise the mean |Δcos| of sampled pairs, or the share of top-n entries of sampled rows driven out.
    n_pairs, n_rows : int
        Size of the sample, of pairs or of rows.
    n : int
        Length of the lists.
    n_starts, n_steps : int
        Starting points, and gradient steps from each.
    rng : numpy Generator or int, optional
        Source of randomness.

    Returns
    -------
    Attack
        With what it achieved and what the ranges or certificates of the same sample allow at most.

    Raises
    ------
    InputError
        If the group has no budget, or the objective does not fit the role.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> model = FactorModel.from_vectors([[1.0, 0.0], [0.0, 1.0]])
    >>> attack = worst_gauge(model, GeneralLinear(2, max_condition=3.0), n_pairs=1, rng=0)
    >>> round(attack.achieved, 6), round(attack.bound, 6)
    (0.8, 0.8)
    """
    window = 2 * np.log(_require_budget(group))
    draw = np.random.default_rng(rng)
    if objective == "movement":
        target, bound, size = _movement_target(model, group, role, n_pairs, draw)
    elif objective == "neighbours":
        target, bound, size = _list_target(model, group, role, n, n_rows, draw)
    else:
        raise must_be("objective", 'one of "movement", "neighbours"', repr(objective))
    best, metric = 0.0, Metric(np.eye(model.rank), np.zeros(model.rank))
    if not size or group.fixes_cosines:
        return Attack(metric.gauge(role), objective, role, group, best, bound, size)
    diagonal = isinstance(group, Diagonal)
    spread = _spread(model.factors("left" if role == "cross" else role))
    starts = _starts(model.rank, window, spread, n_starts, draw, diagonal=diagonal)
    # Threads of BLAS cost more than they give on k×k matrices.
    with threadpool_limits(limits=1, user_api="blas"):
        for start in track(starts, "attack", n_starts):
            value, found = _ascend(target, start, window, n_steps, diagonal=diagonal)
            if value > best:
                best, metric = value, found
    return Attack(metric.gauge(role), objective, role, group, best, bound, size)


def _spread(factors: Matrix) -> Array:
    total = gram(factors)
    return np.asarray(total / max(float(np.trace(total)), np.finfo(float).tiny))


def _movement_target(
    model: FactorModel, group: GaugeGroup, role: Role, n_pairs: int, draw: np.random.Generator
) -> tuple[_Target, float, int]:
    first = model.factors("left" if role == "cross" else role)
    pairs = sample_pairs(len(first), n_pairs, n_columns=model.n_right if role == "cross" else None, rng=draw)
    found = cosine_range(model, group, role=role, pairs=pairs)
    before = found.before
    reach = np.maximum(found.upper - before, before - found.lower)
    target = _Movement(model, role, pairs, before)
    return target, float(np.nanmean(reach)) if len(target.pairs) else 0.0, len(target.pairs)


def _list_target(
    model: FactorModel, group: GaugeGroup, role: Role, n: int, n_rows: int, draw: np.random.Generator
) -> tuple[_Target, float, int]:
    if role == "cross":
        raise must_be("role", 'one of "left", "right" for neighbour lists', repr(role))
    total = len(model.factors(role))
    rows = np.sort(draw.permutation(total)[:n_rows])
    found = certified_neighbours(model, role=role, n=n, rows=rows)
    target = _Lists(model, role, found)
    known = found.radii[np.isin(found.rows, target.rows)]
    bound = float((known <= _require_budget(group)).mean()) if known.size else 0.0
    # Lists that hold everything have no rival.
    return target, bound, int(known.size) if target.n_rivals > 0 else 0
