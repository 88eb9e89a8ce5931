"""What is known of heads that are compared beside their numbers: the norms before them, and how they were rounded.

Rounding alone may make the numbers of one head from those of another, in the gauge of their final norms.

Heads behind norms with gains γ and γ' give the same logits where `W' diag(γ') = W diag(γ)`. Rounded, each number of
W' lies within a step of the type from that of `W diag(γ/γ')`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from embaudit.core.checked import Floats
from embaudit.core.parallel import row_blocks
from embaudit.io import Rounding, as_reading, rounding_of
from embaudit.model import FactorModel
from embaudit.model.final_norm import FinalNorm
from embaudit.softmax.folding import Convention

if TYPE_CHECKING:
    from collections.abc import Iterator

    from embaudit.comparison.matching import Match

STATES = 1000
"""Random states at least; two more for each dimension, so that they span them all in each half of a fit."""
FLOAT32 = 2.0**-22
"""Relative error of products in float32, in which heads are folded."""


@dataclass(frozen=True, eq=False)
class Given:
    """A model, and what its file or network says of it."""

    model: FactorModel
    norm: FinalNorm | None = None
    """What stands before a head that has no inputs of its own."""
    rounding: Rounding | None = None
    """How its right rows are rounded; None where they are not."""

    @classmethod
    def of(cls, given: object) -> Given:
        """Read what a caller gave.

        Examples
        --------
        >>> Given.of(FactorModel.from_vectors([[1.0, 2.0]])).norm is None
        True
        """
        model, intake = as_reading(given)
        norm = model.final_norm if model.left is None else None
        return cls(model, norm, rounding_of(model, intake))

    def behind(self, states: Floats) -> Given:
        """Put normalised states through the norm, as inputs of the head.

        A shift β adds `Wβ` to the logits, so it is put there: then inputs leave out what no state reaches.
        """
        assert self.norm is not None
        head = self.model
        bias = Convention("folded", self.norm.gain).bias(head, self.norm)
        left = self.norm.gain * states
        return replace(self, model=head.replace(left=left, right_bias=bias, objective=None))


def with_states(before: Given, after: Given, draw: np.random.Generator) -> tuple[Given, Given, int]:
    """Give two heads behind norms of one kind the same random states; they are left as they are where they differ.

    Returns
    -------
    pair of Given, and how many states
    """
    one, two = before.norm, after.norm
    if one is None or two is None or one.kind != two.kind or one.width != two.width:
        return before, after, 0
    states = one.normalised(draw.standard_normal((STATES + 2 * one.width, one.width)))
    return before.behind(states), after.behind(states), len(states)


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
