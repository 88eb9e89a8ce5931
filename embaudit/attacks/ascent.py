"""The search of an attack: projected gradient ascent from the best of many starts, in growing sets of displacements.

Diagonal metrics come first, then all metrics, then shifts too. Each set begins with the best of the one before, so that
an attack on a larger set never ends below one on a smaller set with the same seed.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from operator import itemgetter

import numpy as np

from embaudit.attacks.displacement import Budget, Displacement, clipped, within
from embaudit.attacks.objectives import Table, Target
from embaudit.core.checked import Floats
from embaudit.core.parallel import raise_if_cancelled
from embaudit.gauges.group import random_rotation
from embaudit.linalg.rows import gram

N_DRAWN, IN_ALL = 24, 400
"""Random starts compared in each set, at least, and times dimensions; the best are climbed from."""


def best_displacement(
    objective: Target, budgets: Sequence[Budget], n_starts: int, n_steps: int, goal: float, draw: np.random.Generator
) -> Displacement:
    """Find the best displacement; the search ends at the goal, which none can exceed."""
    r = objective.table.x.shape[1]
    best = Displacement(np.zeros(r), None, np.zeros(r))
    # Each set holds the one before: its best displacement starts the next search, which cannot end below it.
    for budget in budgets:
        ramps, candidates = _ramps(objective.table, budget, best), _drawn(objective.table, budget, best, draw)
        drawn = heapq.nlargest(max(1, n_starts - len(ramps)), candidates, key=lambda start: _value(objective, start))
        tops = [_ascend(objective, start, budget, n_steps, goal) for start in (best, *ramps, *drawn)]
        # Most searches end with their steps, before the top: the best goes on.
        value, best = _ascend(objective, max(tops, key=itemgetter(0))[1], budget, 2 * n_steps, goal)
        if value >= goal:
            break
    return best


def _value(objective: Target, displacement: Displacement) -> float:
    raise_if_cancelled()
    return objective.at(displacement)[0]


def _ascend(
    objective: Target, start: Displacement, budget: Budget, n_steps: int, goal: float
) -> tuple[float, Displacement]:
    """Climb; the step, a share of the budget, doubles after a gain and halves after a loss."""
    best, size = start, 0.5
    value, slopes = objective.at(start)
    slope = slopes()
    for _ in range(n_steps):
        raise_if_cancelled()
        if value >= goal or size < 1e-4 or not (slope.metric.any() or slope.shift.any()):
            break
        # A gain doubles the share of the budget that a step takes, a loss halves it: no line search is needed.
        trial = best.step(slope, size, budget)
        tried, slopes = objective.at(trial)
        if tried > value:
            best, value, slope, size = trial, tried, slopes(), min(2 * size, 2.0)
        else:
            size /= 2
    return value, best


def _attacked(table: Table) -> Floats:
    return table.x if table.y is None or table.is_shifted[0] else table.y


def _ramps(table: Table, budget: Budget, best: Displacement) -> list[Displacement]:
    """Return spectra in order of the energy along the principal axes or coordinates, rising and falling.

    They ascend well wherever a few directions hold most of the rows. With shifts these have their place.
    """
    if budget.radius:
        return []
    x = _attacked(table)
    # Principal axes of the rows; scaled by their sum of squares so that no scale of the model matters.
    axes = None if budget.is_diagonal else np.linalg.eigh(gram(x) / max(float(np.square(x).sum()), 1e-300))[1]
    energy = np.square(x if axes is None else x @ axes).sum(axis=0)
    # Ranks from -½ to ½, so that the widest stretch lies between the strongest and the weakest direction.
    ramp = np.argsort(np.argsort(energy)) / max(1, len(energy) - 1) - 0.5
    return [best._replace(axes=axes, logs=clipped(sign * ramp * budget.window, budget.window)) for sign in (1.0, -1.0)]


def _drawn(table: Table, budget: Budget, best: Displacement, draw: np.random.Generator) -> Iterator[Displacement]:
    """Yield shifts of the whole length; without any, vertices of the window, each axis at one of its ends."""
    x = _attacked(table)
    r = x.shape[1]
    if not budget.radius:
        for _ in range(max(N_DRAWN, IN_ALL // r)):
            # A random number of axes at the upper end of the window, at least one, the others at the lower end.
            corners = np.where(draw.permutation(r) < draw.integers(1, max(2, r)), 0.5, -0.5)
            axes = None if budget.is_diagonal else random_rotation(r, draw)
            yield best._replace(axes=axes, logs=clipped(corners * budget.window, budget.window))
        return
    # The two directions in which the rows are longest, beside their mean and some at random.
    principal = np.linalg.eigh(gram(x) / max(float(np.square(x).sum()), 1e-300))[1].T[-2:]
    still = best._replace(axes=None, logs=np.zeros(r))
    for row in (x.mean(axis=0), *principal, *draw.standard_normal((N_DRAWN // 4, r))):
        for sign in (-1.0, 1.0) if row.any() else ():
            shift = within(row * (2 * sign * budget.radius / np.linalg.norm(row)), budget.radius)
            yield from (start._replace(shift=shift) for start in (best, still))
