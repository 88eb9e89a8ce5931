"""The search of an attack: gauges as a shift and a metric, what they move, and projected gradient ascent.

Up to what no cosine sees, a gauge is a shift of rows and then one symmetric positive matrix, the *metric*. A budget κ
is a window of width `2 ln κ` for the logarithms of its eigenvalues. An attack maximises the mean movement of pairs, or
the share of list entries driven out, from the best of many starts, in growing sets of displacements: diagonal metrics
come first, then all metrics, then shifts too. Each set begins with the best of the one before, so that an attack on a
larger set never ends below one on a smaller set with the same seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import NamedTuple, TypeAlias

import numpy as np

from embaudit.core.checked import Flags, Floats, Indices
from embaudit.core.ties import (
    TIE,
    cosine_rounding,
    first_best,
    first_largest,
    largest_first,
)
from embaudit.gauges import Affine, Gauge, GaugeGroup
from embaudit.gauges.group import random_rotation
from embaudit.linalg.nearest import TopK
from embaudit.linalg.rows import gram, row_norms
from embaudit.model import Role

INSIDE = 1 - 1e-12
"""A hair within the budget, so that rounding never spends more."""


class Budget(NamedTuple):
    """Displacements allowed."""

    window: float
    """Largest difference of the logarithms of a metric."""
    radius: float = 0.0
    """Longest shift."""
    is_diagonal: bool = False
    """True if the metric is diagonal in the coordinates."""


class Slopes(NamedTuple):
    """Direction of steepest ascent."""

    metric: Floats
    """(r, r) H: the metric moves by `S ← S^½ exp(H) S^½`."""
    shift: Floats
    """Direction of the shift (r,)."""


class Displacement(NamedTuple):
    """A shift, then the metric `A diag(exp(l)) Aᵀ`, of the side attacked (the left one for cross pairs)."""

    shift: Floats
    """Shift added to each row (r,)."""
    axes: Floats | None
    """A, orthogonal; None for the coordinates."""
    logs: Floats
    """(r,) l."""

    def root(self, sign: float = 1.0) -> Floats:
        """Return the symmetric root of the metric, or its inverse with `sign = -1`."""
        scales = np.exp(sign * self.logs / 2)
        return (
            np.diag(scales)
            if self.axes is None
            else np.asarray((self.axes * scales) @ self.axes.T)
        )

    def stretched(self, rows: Floats, sign: float = 1.0) -> Floats:
        """Multiply rows by the root."""
        return (
            rows * np.exp(sign * self.logs / 2)
            if self.axes is None
            else np.asarray(rows @ self.root(sign))
        )

    def step(self, slopes: Slopes, size: float, budget: Budget) -> Displacement:
        """Go a share of the budget along slopes, and project onto the budget."""
        shift, length = self.shift, float(np.linalg.norm(slopes.shift))
        if 0 < length < np.inf:
            shift = within(
                shift + slopes.shift * (size * budget.radius / length), budget.radius
            )
        if budget.is_diagonal:
            # Within diagonal metrics the slope is the diagonal of H, and logarithms simply add up.
            direction = np.diag(slopes.metric)
            most = float(np.abs(direction).max())
            logs = self.logs + direction * (
                size * budget.window / most if most > 0 else 0.0
            )
            return Displacement(shift, None, clipped(logs, budget.window))
        # exp(H) by its eigenvalues, scaled such that the largest takes the share `size` of the window.
        values, turned = np.linalg.eigh(slopes.metric)
        most = float(np.abs(values).max())
        values = np.exp(values * (size * budget.window / most if most > 0 else 0.0))
        root = self.root()
        # S ← S^½ exp(H) S^½: steps of the same length from every metric, and positive whatever H is.
        moved = root @ (turned * values) @ turned.T @ root
        squares, axes = np.linalg.eigh((moved + moved.T) / 2)
        # Rounding may make eigenvalues far below the window negative; the projection clips such ones anyway.
        squares = np.maximum(squares, squares[-1] * np.exp(-2 * budget.window))
        return Displacement(shift, axes, clipped(np.log(squares), budget.window))

    def gauge(self, group: GaugeGroup, role: Role, span: Floats | None) -> Gauge:
        """Make the gauge of the set; with a span, it acts only in the span.

        Rows of the attacked side are multiplied by S^½ and rows of the other side by its
        inverse, so that predictions stay.
        """
        shift = self.shift
        scales = np.exp(self.logs / 2)
        if span is not None:
            axes = span if self.axes is None else span @ self.axes
            shift = span @ shift
            on_side = Gauge(1 / scales, scales, basis=axes)
        elif self.axes is None:
            on_side = Gauge.diagonal(1 / scales)
        else:
            on_side = Gauge.from_svd(self.axes, 1 / scales, self.axes.T)
        linear = on_side if role == "right" else on_side.inverse()
        if isinstance(group, Affine) and shift.any():
            return group.after(shift, linear)
        return linear


def clipped(logs: Floats, window: float) -> Floats:
    """Clip to the window of that width that moves the values least at either end, centred on 0."""
    middle = (logs.max() + logs.min()) / 2
    return np.asarray(np.clip(logs - middle, -window / 2, window / 2) * INSIDE)


def within(shift: Floats, radius: float) -> Floats:
    """Shorten a shift to a radius."""
    length = float(np.linalg.norm(shift))
    return shift if length <= radius * INSIDE else shift * (radius * INSIDE / length)


N_RIVALS = 3
"""The smooth objective of lists follows this many times N excluded rows of each list."""

Ascent: TypeAlias = tuple[float, Callable[[], Slopes]]
"""A value, and how to compute the slopes of something smooth that follows it."""


Moved: TypeAlias = tuple[Floats, Floats, Floats, Floats]
"""Unit rows and lengths of both sides."""


class Table(NamedTuple):
    """Rows that pairs are made of, in few dimensions."""

    x: Floats
    """(m, r) rows of the side attacked; of the left one for cross pairs."""
    y: Floats | None = None
    """(n, r) rows of the other side of cross pairs, whose metric is the inverse; None within a side."""
    is_shifted: tuple[bool, bool] = (False, False)
    """Flags: shifts move x; shifts move the second rows of pairs."""

    def moved(self, displacement: Displacement) -> Moved:
        """Return unit rows and lengths of both sides after a displacement; rows of zeros stay so."""
        x, lengths = _moved(self.x, displacement, self.is_shifted[0])
        return (
            x,
            lengths,
            *(
                (x, lengths)
                if self.y is None
                else _moved(self.y, displacement, self.is_shifted[1], -1.0)
            ),
        )

    def slopes(
        self,
        displacement: Displacement,
        moved: Moved,
        first: Indices,
        second: Indices,
        force: Floats,
    ) -> Slopes:
        """Return the slopes of `Σ force · cos` over pairs.

        For unit rows a, b of one side the metric moves a cosine at the rate `aᵀ H b - cos/2 (aᵀ H a + bᵀ H b)`; across
        sides at `cos/2 (bᵀ H b - aᵀ H a)`. A shift before the metric moves it by `S^½ (b - cos a) / ‖a‖` for a.
        """
        x, x_lengths, y, y_lengths = moved
        a, b = x[first], y[second]
        # Derivatives of a·b/(‖a‖‖b‖) at unit rows: along H, what pulls rows together less what lengthens them.
        pulled = force * np.einsum("ij,ij->i", a, b)
        own, other = (a * pulled[:, None]).T @ a, (b * pulled[:, None]).T @ b
        both = np.zeros_like(own) if self.y is not None else (a * force[:, None]).T @ b
        metric = (both + both.T - own + (other if self.y is not None else -other)) / 2
        shift = np.zeros(x.shape[1])
        if self.is_shifted[0]:
            shift += displacement.stretched(
                (force / x_lengths[first]) @ b - (pulled / x_lengths[first]) @ a
            )
        if self.is_shifted[1]:
            shift_gradient = (force / y_lengths[second]) @ a - (
                pulled / y_lengths[second]
            ) @ b
            shift += displacement.stretched(
                shift_gradient, 1.0 if self.y is None else -1.0
            )
        return Slopes(metric, shift)


def _moved(
    rows: Floats, displacement: Displacement, is_shifted: bool, sign: float = 1.0
) -> tuple[Floats, Floats]:
    x = displacement.stretched(rows + displacement.shift if is_shifted else rows, sign)
    # A search asks this ten thousand times: no blocks, no threads.
    lengths = np.sqrt(np.einsum("ij,ij->i", x, x))
    x /= np.where(lengths > 0, lengths, 1.0)[:, None]
    return x, lengths


@dataclass(frozen=True, eq=False)
class MeanShiftObjective:
    """Mean |Δcos| of pairs."""

    table: Table
    pairs: Indices
    """(m, 2) places in the table."""
    before: Floats
    """(m,) cosines of the stored rows."""

    def at(self, displacement: Displacement) -> Ascent:
        """Evaluate it; slopes push each cosine on in the direction it moved."""
        moved, (first, second) = self.table.moved(displacement), self.pairs.T
        x, _, y, _ = moved
        change = np.einsum("ij,ij->i", x[first], y[second]) - self.before
        # The derivative of |Δ|. It is 0 where nothing has moved yet, so the search starts
        # elsewhere. There `change` is rounding, whose sign must not choose a direction.
        has_moved = np.abs(change) > cosine_rounding(self.table.x.shape[1])
        push = np.where(has_moved, np.sign(change), 0.0)
        return float(np.abs(change).mean()), lambda: self.table.slopes(
            displacement, moved, first, second, push
        )


@dataclass(frozen=True, eq=False)
class NeighbourLossObjective:
    """Share of the entries of top-N lists that the rows of a table drive out."""

    table: Table
    rows: Indices
    """(m,) places of the rows whose lists these are."""
    entries: Indices
    """(m, N) places of their entries."""
    tie: float
    """A lead up to here drives nothing out: rounding of the stored rows may move as much."""

    def at(self, displacement: Displacement) -> Ascent:
        """Evaluate it, which is piecewise constant; slopes are those of a smooth stand-in."""
        moved = self.table.moved(displacement)
        cosines = cosines_of(moved[0], self.rows)
        # The share lost jumps; what is climbed is a smooth count of rivals that are about to pass entries.
        lost = float(driven_out(cosines, self.entries, self.tie).mean())
        return lost, lambda: self._slopes(displacement, moved, cosines)

    def _slopes(
        self, displacement: Displacement, moved: Moved, cosines: Floats
    ) -> Slopes:
        """Push every rival above every entry it is near to, weighted by a logistic function of how near."""
        n, free = self.entries.shape[1], cosines.shape[1] - self.entries.shape[1] - 1
        rivals = excluded(cosines, self.entries, min(N_RIVALS * n, free))
        inside, outside = (
            np.take_along_axis(cosines, index, axis=1)
            for index in (self.entries, rivals)
        )
        margins = outside[:, None, :] - inside[:, :, None]
        # A quarter of the mean margin: only rivals about that near count, whatever the scale of the cosines.
        width = np.abs(margins).mean() / 4 + 1e-12
        # The slope of a logistic function: entries far ahead of, or far behind, a rival have nothing to gain.
        push = 1 / np.cosh(np.clip(margins / width, -50, 50) / 2) ** 2
        targets = np.hstack([rivals, self.entries])
        force = np.hstack([push.sum(axis=1), -push.sum(axis=2)])
        first = np.repeat(self.rows, targets.shape[1])
        return self.table.slopes(
            displacement, moved, first, targets.ravel(), force.ravel()
        )


Target: TypeAlias = MeanShiftObjective | NeighbourLossObjective
"""A value of displacements, to be maximised."""


def cosines_of(rows: Floats, some: Indices) -> Floats:
    """Cosines of some unit rows with all; -inf with themselves and with rows of zeros."""
    cosines = rows[some] @ rows.T
    cosines[:, ~rows.any(axis=1)] = -np.inf
    cosines[np.arange(len(some)), some] = -np.inf
    return np.asarray(cosines)


def excluded(cosines: Floats, entries: Indices, count: int) -> Indices:
    """Return the strongest rows outside each list."""
    if not count:
        return np.zeros((len(cosines), 0), dtype=np.intp)
    outside = cosines.copy()
    np.put_along_axis(outside, entries, -np.inf, axis=1)
    return TopK(len(outside), count).add(outside).columns


def driven_out(cosines: Floats, entries: Indices, tie: float) -> Flags:
    """Flag entries that have n others ahead of them by more than a tie.

    No search for neighbours: a few rows are compared under very many metrics, and only the n-th cosine counts.
    """
    last = -entries.shape[1]
    threshold = np.partition(cosines, last, axis=1)[:, last, None]
    return np.asarray(np.take_along_axis(cosines, entries, axis=1) < threshold - tie)


N_DRAWN, IN_ALL = 24, 400
"""Random starts compared in each set, at least, and times dimensions; the best are climbed from."""


def best_displacement(
    objective: Target,
    budgets: Sequence[Budget],
    n_starts: int,
    n_steps: int,
    goal: float,
    draw: np.random.Generator,
) -> Displacement:
    """Find the best displacement; the search ends at the goal, which none can exceed."""
    r = objective.table.x.shape[1]
    best = Displacement(np.zeros(r), None, np.zeros(r))
    # Each set holds the one before: its best displacement starts the next search, which cannot end below it.
    for budget in budgets:
        ramps, candidates = (
            _ramps(objective.table, budget, best),
            _drawn(objective.table, budget, best, draw),
        )
        starts = list(candidates)
        values = [_value(objective, start) for start in starts]
        n_drawn = max(1, n_starts - len(ramps))
        drawn = [starts[i] for i in largest_first(values)[:n_drawn]]
        tops = [
            _ascend(objective, start, budget, n_steps, goal)
            for start in (best, *ramps, *drawn)
        ]
        # Most searches end with their steps, before the top: the best goes on.
        value, best = _ascend(
            objective, first_best(tops, itemgetter(0))[1], budget, 2 * n_steps, goal
        )
        if value >= goal:
            break
    return best


def _value(objective: Target, displacement: Displacement) -> float:
    return objective.at(displacement)[0]


def _ascend(
    objective: Target, start: Displacement, budget: Budget, n_steps: int, goal: float
) -> tuple[float, Displacement]:
    """Climb; the step, a share of the budget, doubles after a gain and halves after a loss."""
    best, size = start, 0.5
    value, slopes = objective.at(start)
    slope = slopes()
    for _ in range(n_steps):
        if (
            value >= goal
            or size < 1e-4
            or not (slope.metric.any() or slope.shift.any())
        ):
            break
        # A gain doubles the share of the budget that a step takes, a loss halves it: no line search is needed.
        trial = best.step(slope, size, budget)
        tried, slopes = objective.at(trial)
        # A gain that rounding explains is none.
        if tried > value * (1 + TIE):
            best, value, slope, size = trial, tried, slopes(), min(2 * size, 2.0)
        else:
            size /= 2
    return value, best


def _attacked(table: Table) -> Floats:
    return table.x if table.y is None or table.is_shifted[0] else table.y


TILT = 1e-3
"""Perturbation of the mean squares of the axes, relative to their mean."""


def _principal_axes(x: Floats) -> Floats:
    """Return the principal axes of rows as columns, those with most energy last.

    Where several axes have the same energy, rounding would choose the axes and their
    signs. So each coordinate gets a little more weight than the one before, and the
    largest entry of each axis is positive.

    Examples
    --------
    >>> _principal_axes(np.eye(2)).round(9).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    r = x.shape[1]
    # Divided by the sum of squares, so that no scale of the model matters.
    energy = gram(x) / max(float(np.square(x).sum()), 1e-300)
    axes = np.linalg.eigh(energy + np.diag(np.linspace(0.0, TILT / r, r)))[1]
    largest = [first_largest(sizes) for sizes in np.abs(axes).T]
    return np.asarray(axes * np.sign(axes[largest, np.arange(r)]))


def _ramps(table: Table, budget: Budget, best: Displacement) -> list[Displacement]:
    """Return spectra in order of the energy along the principal axes or coordinates, rising and falling.

    They ascend well wherever a few directions hold most of the rows. With shifts these have their place.
    """
    if budget.radius:
        return []
    x = _attacked(table)
    axes = None if budget.is_diagonal else _principal_axes(x)
    energy = np.square(x if axes is None else x @ axes).sum(axis=0)
    # Ranks from -½ to ½, so that the widest stretch lies between the strongest and the weakest direction.
    ranks = np.empty(len(energy))
    ranks[largest_first(-energy)] = np.arange(len(energy))
    ramp = ranks / max(1, len(energy) - 1) - 0.5
    return [
        best._replace(
            axes=axes, logs=clipped(sign * ramp * budget.window, budget.window)
        )
        for sign in (1.0, -1.0)
    ]


def _drawn(
    table: Table, budget: Budget, best: Displacement, draw: np.random.Generator
) -> Iterator[Displacement]:
    """Yield shifts of the whole length; without any, vertices of the window, each axis at one of its ends."""
    x = _attacked(table)
    r = x.shape[1]
    if not budget.radius:
        for _ in range(max(N_DRAWN, IN_ALL // r)):
            # A random number of axes at the upper end of the window, at least one, the others at the lower end.
            corners = np.where(
                draw.permutation(r) < draw.integers(1, max(2, r)), 0.5, -0.5
            )
            axes = None if budget.is_diagonal else random_rotation(r, draw)
            yield best._replace(
                axes=axes, logs=clipped(corners * budget.window, budget.window)
            )
        return
    # The two directions in which the rows are longest, their mean, and random directions.
    directions = [*_principal_axes(x).T[-2:], *draw.standard_normal((N_DRAWN // 4, r))]
    mean = x.mean(axis=0)
    # The mean of centred rows is rounding, which has no direction.
    if np.linalg.norm(mean) > TIE * row_norms(x).max(initial=0.0):
        directions.insert(0, mean)
    still = best._replace(axes=None, logs=np.zeros(r))
    for direction in directions:
        for sign in (-1.0, 1.0):
            length = 2 * sign * budget.radius / np.linalg.norm(direction)
            shift = within(direction * length, budget.radius)
            yield from (start._replace(shift=shift) for start in (best, still))
