"""Gauges fitted on one half of the shared rows, to judge the other.

The gauge that judges a half is chosen and fitted on the other half alone: no row is judged by a gauge it helped to fit.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from embaudit.comparison.fits import GROUPS, GaugeFit, fit_gauge, unexplained
from embaudit.foundation.checked import Indices

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from embaudit.comparison.fits import Rows
    from embaudit.model import SideName

    Groups: TypeAlias = tuple[str, ...]
    Sides: TypeAlias = dict[SideName, NDArray[np.uint8]]
    Shifts: TypeAlias = tuple[SideName, ...]

SIDES: Shifts = ("left", "right")
EXPLAINED = 1e-8
"""Share of the spread below which a gauge explains all that float32 can show."""
WORSE = 1.1
"""A larger group must beat a smaller one by this factor of unexplained spread to be preferred."""


@dataclass(frozen=True, eq=False)
class Fold:
    """One half of the shared rows, and the gauge fitted on the other half."""

    held_out: dict[SideName, Indices]
    """For each side, positions in the match."""
    trained_on: dict[SideName, Indices]
    """The same of the rows that the gauge was fitted on."""
    fits: dict[str, GaugeFit]
    """The best gauge of each group."""
    chosen: str
    """The smallest group that served a part of the training half, kept out of its own fit, as well as any."""

    @property
    def gauge(self) -> GaugeFit:
        """The gauge that judges this half."""
        return self.fits[self.chosen]

    def without(self, rows: Rows, groups: Sides, shifts: Shifts) -> list[Fold]:
        """Fit its gauge again without each group of entities, of all sides at once."""
        variants = []
        for group in range(min(int(g.max()) for g in groups.values()) + 1):
            rest = {role: train[groups[role][train] != group] for role, train in self.trained_on.items()}
            fit = fit_gauge(_part(rows, rest), self.chosen, shifts)
            variants.append(replace(self, fits=self.fits | {self.chosen: fit}))
        return variants


def _part(rows: Rows, chosen: dict[SideName, Indices]) -> Rows:
    return {role: (x[chosen[role]], y[chosen[role]]) for role, (x, y) in rows.items()}


def folds(rows: Rows, rng: np.random.Generator, groups: Groups = GROUPS, shifts: Shifts = SIDES) -> list[Fold]:
    """Cut the rows in halves at random, and fit on each half the gauges that judge the other."""
    halves: list[dict[SideName, Indices]] = [{}, {}]
    for role, (x, _) in rows.items():
        order = rng.permutation(len(x))
        for half, part in zip(halves, np.array_split(order, 2), strict=True):
            half[role] = part
    return [_fold(rows, train, held_out, groups, shifts) for held_out, train in (halves, halves[::-1])]


def whole(rows: Rows, groups: Groups = GROUPS, shifts: Shifts = SIDES) -> list[Fold]:
    """Fit on all rows and judge them all: for models of one prediction, where a gauge is there to be found."""
    everything: dict[SideName, Indices] = {role: np.arange(len(x)) for role, (x, _) in rows.items()}
    fits = {group: fit_gauge(rows, group, shifts) for group in groups}
    left = {group: _mean_unexplained(fit, rows) for group, fit in fits.items()}
    return [Fold(everything, everything, fits, _smallest(left))]


def _fold(
    rows: Rows, train: dict[SideName, Indices], held_out: dict[SideName, Indices], groups: Groups, shifts: Shifts
) -> Fold:
    training = _part(rows, train)
    fits = {group: fit_gauge(training, group, shifts) for group in groups}
    return Fold(held_out, train, fits, _choose(training, groups, shifts))


def _choose(training: Rows, groups: Groups, shifts: Shifts) -> str:
    """Choose the smallest group that serves as well as any, on a third of the training rows left out of a fit."""
    inner = {role: np.arange(len(x)) for role, (x, _) in training.items()}
    fitted = _part(training, {role: i[i % 3 > 0] for role, i in inner.items()})
    judged = _part(training, {role: i[i % 3 == 0] for role, i in inner.items()})
    return _smallest({group: _mean_unexplained(fit_gauge(fitted, group, shifts), judged) for group in groups})


def _smallest(left: dict[str, float]) -> str:
    bound = max(EXPLAINED, WORSE * min(left.values()))
    return next(group for group, value in left.items() if value <= bound)


def _mean_unexplained(fit: GaugeFit, rows: Rows) -> float:
    return float(np.mean([unexplained(fit, role, rows) for role in rows]))


def held_out_error(role: SideName, rows: Rows, parts: list[Fold]) -> dict[str, float]:
    """Compute for each group the share of the held-out rows' spread that its gauges leave."""
    judged = [_part(rows, fold.held_out) for fold in parts]
    return {
        group: float(np.mean([unexplained(f.fits[group], role, part) for f, part in zip(parts, judged, strict=True)]))
        for group in parts[0].fits
    }
