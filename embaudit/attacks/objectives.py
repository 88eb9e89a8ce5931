"""Objectives of an attack: the mean movement of pairs, or the share of list entries driven out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from embaudit.attacks.displacement import Displacement, Slopes
from embaudit.core.checked import Flags, Floats, Indices
from embaudit.linalg.rows import row_norms
from embaudit.linalg.topk import TopK

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
        return x, lengths, *((x, lengths) if self.y is None else _moved(self.y, displacement, self.is_shifted[1], -1.0))

    def slopes(
        self, displacement: Displacement, moved: Moved, first: Indices, second: Indices, force: Floats
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
            shift += displacement.stretched((force / x_lengths[first]) @ b - (pulled / x_lengths[first]) @ a)
        if self.is_shifted[1]:
            shift_gradient = (force / y_lengths[second]) @ a - (pulled / y_lengths[second]) @ b
            shift += displacement.stretched(shift_gradient, 1.0 if self.y is None else -1.0)
        return Slopes(metric, shift)


def _moved(rows: Floats, displacement: Displacement, is_shifted: bool, sign: float = 1.0) -> tuple[Floats, Floats]:
    x = displacement.stretched(rows + displacement.shift if is_shifted else rows, sign)
    lengths = row_norms(x)
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
        # The derivative of |Δ|; it is 0 where nothing moved yet, so that the search starts elsewhere.
        push = np.sign(change)
        return float(np.abs(change).mean()), lambda: self.table.slopes(displacement, moved, first, second, push)


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

    def _slopes(self, displacement: Displacement, moved: Moved, cosines: Floats) -> Slopes:
        """Push every rival above every entry it is near to, weighted by a logistic function of how near."""
        n, free = self.entries.shape[1], cosines.shape[1] - self.entries.shape[1] - 1
        rivals = excluded(cosines, self.entries, min(N_RIVALS * n, free))
        inside, outside = (np.take_along_axis(cosines, index, axis=1) for index in (self.entries, rivals))
        margins = outside[:, None, :] - inside[:, :, None]
        # A quarter of the mean margin: only rivals about that near count, whatever the scale of the cosines.
        width = np.abs(margins).mean() / 4 + 1e-12
        # The slope of a logistic function: entries far ahead of, or far behind, a rival have nothing to gain.
        push = 1 / np.cosh(np.clip(margins / width, -50, 50) / 2) ** 2
        targets = np.hstack([rivals, self.entries])
        force = np.hstack([push.sum(axis=1), -push.sum(axis=2)])
        first = np.repeat(self.rows, targets.shape[1])
        return self.table.slopes(displacement, moved, first, targets.ravel(), force.ravel())


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
