"""Whether rounding alone makes the numbers of one head from those of another, in the gauge of their final norms.

Heads behind norms with gains γ and γ' give the same logits where `W' diag(γ') = W diag(γ)`. Rounded, each number of
W' lies within a step of the type from that of `W diag(γ/γ')`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from embaudit.foundation.checked import Floats
from embaudit.foundation.parallel import row_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from embaudit.comparison.given import Given
    from embaudit.comparison.matching import Match
    from embaudit.io import Rounding

FLOAT32 = 2.0**-22
"""Relative error of products in float32, in which heads are folded."""


@dataclass(frozen=True)
class Rounded:
    """How far two heads are apart, counted in steps of the types that they are rounded to."""

    kinds: tuple[str, str]
    """The type of each; empty where a head is not rounded."""
    beyond: float
    """Share of the numbers that are further than a step from their counterparts."""
    largest: float
    """The largest distance, in steps."""
    condition_number: float
    """κ of the gauge between the two final norms; 1 where they are one up to a factor."""

    @property
    def explains(self) -> bool:
        """Whether rounding alone can make the one of the other, in that gauge."""
        return self.beyond == 0.0


def rounded(before: Given, after: Given, match: Match) -> Rounded | None:
    """Count the numbers that are further from their counterparts than a step.

    Where no prediction shows the mean row, it may differ too.

    Parameters
    ----------
    before, after : Given
        Two models of the same rank.
    match : Match
        Their shared right rows.

    Returns
    -------
    Rounded or None
        None where neither is rounded, or the gauge between them is not known: one has a norm and the other none.
    """
    kinds = tuple("" if given.rounding is None else given.rounding.kind for given in (before, after))
    scale = _between(before, after)
    if not any(kinds) or scale is None:
        return None
    free = "right" in before.model.free_shifts and "right" in after.model.free_shifts
    found = _counted(before, after, match, scale, 0.0)
    if free and found[0] > 0:
        found = min(found, _counted(before, after, match, scale, _mean_apart(before, after, match, scale)))
    beyond, largest = found
    sizes = np.abs(scale)
    return Rounded((kinds[0], kinds[1]), beyond, largest, float(sizes.max() / sizes.min()))


def _between(before: Given, after: Given) -> Floats | None:
    """Return γ/γ', ones where neither model has a norm; None where it is not known."""
    if before.model.rank != after.model.rank:
        return None
    if before.norm is None and after.norm is None:
        return np.ones(before.model.rank)
    if before.norm is None or after.norm is None or before.norm.kind != after.norm.kind:
        return None
    gains = before.norm.gain, after.norm.gain
    return gains[0] / gains[1] if gains[0].all() and gains[1].all() else None


def _apart(before: Given, after: Given, match: Match, scale: Floats) -> Iterator[tuple[Floats, Floats]]:
    """Yield blocks of differences, and of how large a step is there."""
    for part in row_blocks(len(match), len(scale)):
        one, two = match.before[part], match.after[part]
        old = np.asarray(before.model.right[one], dtype=np.float64) * scale
        new = np.asarray(after.model.right[two], dtype=np.float64)
        steps = FLOAT32 * (np.abs(old) + np.abs(new))
        steps += _steps(before.rounding, one) * np.abs(scale) + _steps(after.rounding, two)
        yield new - old, steps


def _steps(rounding: Rounding | None, rows: np.ndarray) -> Floats | float:
    """Read the steps of some rows; rows that lie together in the file are read together."""
    if rounding is None:
        return 0.0
    first, last = int(rows.min()), int(rows.max()) + 1
    if last - first <= 2 * len(rows):
        return np.asarray(rounding.steps(slice(first, last))[rows - first], dtype=np.float64)
    return np.vstack([rounding.steps(slice(row, row + 1)) for row in rows.tolist()]).astype(np.float64)


def _mean_apart(before: Given, after: Given, match: Match, scale: Floats) -> Floats:
    total = np.zeros(len(scale))
    for difference, _ in _apart(before, after, match, scale):
        total += difference.sum(axis=0)
    return total / len(match)


def _counted(before: Given, after: Given, match: Match, scale: Floats, shift: Floats | float) -> tuple[float, float]:
    """Return the share of numbers that are further than a step, and the largest distance in steps."""
    count, largest = 0, 0.0
    for difference, steps in _apart(before, after, match, scale):
        far = np.abs(difference - shift)
        count += int((far > steps).sum())
        largest = max(largest, float((far / np.maximum(steps, np.finfo(float).tiny)).max()))
    return count / (len(match) * len(scale)), largest
