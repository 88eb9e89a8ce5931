"""How an attack looks for a shift and a metric together: the metric for the worst shifts found, then each in turn."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from embaudit.attacks.metric import Metric
from embaudit.attacks.targets import Target
from embaudit.foundation.checked import Floats
from embaudit.foundation.parallel import raise_if_cancelled
from embaudit.model import SideName

N_ROUNDS = 3
"""So many times shift and metric take turns."""


class Found(NamedTuple):
    """A value, and the shift and the metric that reach it."""

    value: float
    shift: Floats
    metric: Metric


def _value(found: Found) -> float:
    return found.value


class JointSearch(NamedTuple):
    """One search among the gauges that shift one side and then change the metric."""

    target_at: Callable[[Floats], Target]
    """What the attack maximises once the rows are shifted."""
    search: Callable[[Target, Floats, Metric | None], tuple[float, Metric]]
    """The best metric for that target, not below one that is given."""
    side: SideName
    spread: Floats
    """Second moments of the rows shifted, about 0."""
    mean: Floats
    radius: float
    goal: float
    n_starts: int
    n_steps: int
    draw: np.random.Generator

    def best(self) -> Found:
        """Find the best shift and metric; the first tried is no shift at all, so it is never below a linear attack."""
        still = Metric(None, np.zeros(len(self.mean)))
        nothing = np.zeros(len(self.mean))
        best = Found(*self._searched(nothing, None))
        starts = [best, *self._starts(still), *self._starts(best.metric)]
        shifted = [self._ascend(found) for found in starts]
        for found in heapq.nlargest(max(2, self.n_starts // 3), shifted, key=_value):
            best = max(best, found, self._in_turns(found), key=_value)
            if best.value >= self.goal:
                break
        return best

    def _searched(self, shift: Floats, metric: Metric | None) -> tuple[float, Floats, Metric]:
        value, found = self.search(self.target_at(shift), shift, metric)
        return value, shift, found

    def _starts(self, metric: Metric) -> list[Found]:
        """Shifts of the whole length along the mean, the principal axes and at random: the worst under a metric."""
        axes = np.linalg.eigh(self.spread)[1].T[-2:]
        drawn = self.draw.standard_normal((4 * self.n_starts, len(self.mean)))
        every = [sign * row for row in (self.mean, *axes) for sign in (-1.0, 1.0)] + list(drawn)
        whole = [
            self._within(row * self.radius / length) for row in every if (length := float(np.linalg.norm(row))) > 0
        ]
        found = [Found(self.target_at(shift).value(metric), shift, metric) for shift in whole]
        return heapq.nlargest(self.n_starts, found, key=_value)

    def _within(self, shift: Floats) -> Floats:
        # A hair inside, so that rounding never spends more than the budget.
        length = float(np.linalg.norm(shift)) * (1 + 1e-12)
        return shift if length <= self.radius else shift * (self.radius / length)

    def _in_turns(self, found: Found) -> Found:
        """Improve the metric and the shift in turn, as long as it gains."""
        for turn in range(N_ROUNDS):
            better = self._ascend(Found(*self._searched(found.shift, found.metric if turn else None)))
            if better.value <= found.value:
                break
            found = better
        return found

    def _ascend(self, found: Found) -> Found:
        """Gradient ascent in the ball, which doubles its step after a gain and halves it after a loss."""
        size, target = self.radius / 2, self.target_at(found.shift)
        pull = target.pull(found.metric, self.side)
        for _ in range(self.n_steps):
            raise_if_cancelled()
            length = float(np.linalg.norm(pull))
            if not 0 < length < np.inf or size < 1e-4 * self.radius or found.value >= self.goal:
                break
            shift = self._within(found.shift + pull * (size / length))
            target = self.target_at(shift)
            value = target.value(found.metric)
            if value > found.value:
                found, size = Found(value, shift, found.metric), min(2 * size, 2 * self.radius)
                pull = target.pull(found.metric, self.side)
            else:
                size /= 2
        return found
