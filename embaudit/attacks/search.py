"""How an attack looks for the worst metric: many spectra at once, gradient ascent, small turns at the end.

The share of list entries driven out is piecewise constant and full of local optima; its gradient is that of a smooth
stand-in. So vertices of the window (every logarithm at one of its two ends) and random interior points are compared in
the coordinates, the principal axes and random axes, all spectra of one set of axes at once. How many depends on what
they cost.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, product
from typing import Any, NamedTuple

import numpy as np

from embaudit.attacks.metric import Metric, clipped
from embaudit.attacks.targets import Target
from embaudit.foundation.checked import Floats
from embaudit.foundation.parallel import raise_if_cancelled
from embaudit.gauges.group import random_rotation

BUDGET = 1e9
"""Multiplications that screening may spend, and again polishing."""
BATCH = 32
"""Random spectra tried in one set of axes."""
MOST_AXES, FEWEST_AXES = 100, 3
MOST_TURNS, FEWEST_TURNS = 40, 1
N_POLISHED = 3
"""So many of the best metrics are polished: each ends at another local optimum."""


def _first(pair: tuple[float, Metric]) -> float:
    return pair[0]


class Drawn(NamedTuple):
    """What one turn of a search drew."""

    axes: Floats | None
    """Random axes; None where these are not drawn."""
    logs: Floats
    """(m, k) spectra."""
    state: Mapping[str, Any]
    """Where the generator goes on."""


@dataclass(frozen=True)
class Source:
    """Where all searches of one kind draw from, each from its beginning."""

    seed: int
    drawn: dict[int, Drawn] = field(default_factory=dict)
    """What they draw to compare, by turns, once one of them has."""


def two_sources(draw: np.random.Generator) -> tuple[Source, Source]:
    """Draw one for searches among diagonal gauges, and one for those among all."""
    first, second = draw.integers(2**62, size=2).tolist()
    return Source(first), Source(second)


class Search(NamedTuple):
    """One search, among all linear gauges or the diagonal ones."""

    target: Target
    spread: Floats
    """Gram matrix of the rows attacked, for their principal axes."""
    window: float
    goal: float
    """What nothing can exceed: there the search ends."""
    n_starts: int
    n_steps: int
    diagonal: bool
    draw: np.random.Generator
    drawn: dict[int, Drawn]
    """Axes and spectra that another search from the same state drew to compare; those of this one are left here."""

    def best(self, *more: Metric) -> tuple[float, Metric]:
        """Find the best metric from `n_starts` starts of its own and those given, never worse than these."""
        found = []
        for start in chain(more, self._starts()):
            found.append(self._ascend(start))
            if found[-1][0] >= self.goal:
                return found[-1]
        for _, metric in heapq.nlargest(min(N_POLISHED, self.n_starts), found, key=_first):
            found.append(self._ascend(self._polish(metric)))
        return max(found, key=_first)

    @property
    def rank(self) -> int:
        """Number of latent dimensions."""
        return len(self.spread)

    def _affordable(self, n_spectra: int, most: int, fewest: int) -> int:
        turning, each = self.target.cost
        return int(np.clip(BUDGET / (turning * (not self.diagonal) + each * n_spectra), fewest, most))

    def _starts(self) -> Iterator[Metric]:
        """Yield both orders along the principal axes, which ascend well, then the best of many that are compared."""
        axes = self._axes()
        yield from (Metric(axes, logs) for logs in self._ramps(axes)[: self.n_starts])
        found = []
        for turn in range(self._affordable(2 * BATCH, MOST_AXES, FEWEST_AXES)):
            raise_if_cancelled()
            axes, logs = self._compared(turn)
            values = self.target.screen(axes, logs)
            found += [(values[at], Metric(axes, logs[at])) for at in np.argsort(-values)[: self.n_starts]]
        n_more = max(1, self.n_starts - 2)
        yield from (metric for _, metric in heapq.nlargest(n_more, found, key=_first))

    def _compared(self, turn: int) -> tuple[Floats | None, Floats]:
        """Return axes, and the spectra to compare along them; whatever the rows, a state gives the same draws."""
        if turn not in self.drawn:
            axes = random_rotation(self.rank, self.draw) if turn > 1 and not self.diagonal else None
            logs = np.vstack(list(self._random_logs(vertices=turn < 2 or not self.diagonal)))
            self.drawn[turn] = Drawn(axes, logs, self.draw.bit_generator.state)
        axes, logs, self.draw.bit_generator.state = self.drawn[turn]
        return (self._axes() if turn == 0 else axes), logs

    def _axes(self) -> Floats | None:
        return None if self.diagonal else np.linalg.eigh(self.spread)[1]

    def _ramps(self, axes: Floats | None) -> Floats:
        """Spectra in order of the energy along each axis, rising and falling."""
        energy = np.diag(self.spread if axes is None else axes.T @ self.spread @ axes)
        ramp = np.argsort(np.argsort(energy)) / max(1, self.rank - 1) - 0.5
        return clipped(np.outer([1, -1], ramp) * self.window, self.window)

    def _random_logs(self, *, vertices: bool) -> Iterator[Floats]:
        """Yield vertices of the window, all of them if they are few, and points inside that span it."""
        k, draw = self.rank, self.draw
        if vertices:
            if 2**k - 2 <= BATCH:
                corners = np.array(list(product((-0.5, 0.5), repeat=k))[1:-1])
            else:
                counts = draw.integers(1, k, size=(BATCH, 1))
                corners = np.where(draw.random((BATCH, k)).argsort(axis=1) < counts, 0.5, -0.5)
            yield clipped(corners * self.window, self.window) if len(corners) else np.zeros((1, k))
        inner = draw.standard_normal((BATCH // 4 if vertices else BATCH, k))
        inner *= self.window / np.maximum(np.ptp(inner, axis=1, keepdims=True), 1e-300)
        yield clipped(inner, self.window)

    def _ascend(self, metric: Metric) -> tuple[float, Metric]:
        """Gradient ascent that doubles its step after a gain and halves it after a loss; the best metric met."""
        best, size = self.target.value(metric), self.window / 2
        direction = self._direction(metric)
        for _ in range(self.n_steps):
            raise_if_cancelled()
            if size < 1e-4 * self.window or best >= self.goal or not direction.any():
                break
            trial = metric.step(direction, size, self.window, diagonal=self.diagonal)
            value = self.target.value(trial)
            if value > best:
                best, metric, size = value, trial, min(2 * size, 2 * self.window)
                direction = self._direction(metric)
            else:
                size /= 2
        return best, metric

    def _direction(self, metric: Metric) -> Floats:
        direction = self.target.gradient(metric)
        if self.diagonal:
            direction = np.diag(np.diag(direction))
            length = float(np.abs(direction).max())
        else:
            length = float(np.abs(np.linalg.eigvalsh(direction)).max())
        return direction / length if length > 0 else direction

    def _polish(self, metric: Metric) -> Metric:
        """Turn the axes a little and move single logarithms, as long as the screened value gains."""
        value, size = self.target.screen(metric.axes, metric.logs[None])[0], 0.5
        for _ in range(self._affordable(N_POLISHED * BATCH, MOST_TURNS, FEWEST_TURNS)):
            raise_if_cancelled()
            axes = None if self.diagonal else self._turned(metric.axes, size)
            logs = self._near(metric.logs, size)
            values = self.target.screen(axes, logs)
            at = int(values.argmax())
            if values[at] > value:
                value, metric, size = values[at], Metric(axes, logs[at]), min(1.0, 1.5 * size)
            else:
                size *= 0.9
        return metric

    def _turned(self, axes: Floats | None, size: float) -> Floats:
        start = np.eye(self.rank) if axes is None else axes
        q, r = np.linalg.qr(start + size * self.draw.standard_normal(start.shape) / np.sqrt(self.rank))
        return np.asarray(q * np.sign(np.diag(r)))

    def _near(self, logs: Floats, size: float) -> Floats:
        """The same spectrum, some with one logarithm at the other end, some with two exchanged, some shaken."""
        many = np.tile(logs, (BATCH, 1))
        third = BATCH // 3
        at, other = self.draw.integers(self.rank, size=(2, BATCH))
        lines = np.arange(1, third)
        many[lines, at[lines]] = np.where(logs[at[lines]] > 0, -self.window / 2, self.window / 2)
        lines = np.arange(third, 2 * third)
        many[lines, at[lines]], many[lines, other[lines]] = logs[other[lines]], logs[at[lines]]
        lines = np.arange(2 * third, BATCH)
        many[lines] += size * self.window / 2 * self.draw.standard_normal((len(lines), self.rank))
        return clipped(many, self.window)
