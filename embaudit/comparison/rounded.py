"""Final norms and rounding of the heads that are compared.

Rounding alone may make the numbers of one head from those of another, in the gauge of their final norms.

Heads behind norms with gains γ and γ' give the same logits where `W' diag(γ') = W diag(γ)`. Rounded, each number of
W' lies within a step of the type from that of `W diag(γ/γ')`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from embaudit.comparison.matching import Match
from embaudit.core.checked import Floats
from embaudit.core.parallel import row_blocks
from embaudit.heads.conventions import Convention
from embaudit.io import Rounding, model_and_intake, rounding_of
from embaudit.model import FactorModel
from embaudit.model.final_norm import FinalNorm

STATES = 1000
"""Random states at least; two more for each dimension, so that they span them all in each half of a fit."""
FLOAT32 = 2.0**-22
"""Relative error of products in float32, in which heads are folded."""


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """A model, and what its file or network says of it."""

    model: FactorModel
    norm: FinalNorm | None = None
    """Norm before a head that has no inputs of its own."""
    rounding: Rounding | None = None
    """Rounding of its right rows; None where they are not rounded."""

    @classmethod
    def of(cls, source: object) -> LoadedModel:
        """Read what a caller gave.

        Examples
        --------
        >>> LoadedModel.of(FactorModel.from_vectors([[1.0, 2.0]])).norm is None
        True
        """
        model, intake = model_and_intake(source)
        norm = model.final_norm if model.left is None else None
        return cls(model, norm, rounding_of(model, intake))

    def behind(self, states: Floats) -> LoadedModel:
        """Put normalised states through the norm, as inputs of the head.

        A shift β adds `Wβ` to the logits, so it is put there: then inputs leave out what no state reaches.
        """
        assert self.norm is not None
        head = self.model
        bias = Convention("folded", self.norm.gain).bias(head, self.norm)
        left = self.norm.gain * states
        return replace(
            self, model=head.replace(left=left, right_bias=bias, objective=None)
        )


def with_states(
    before: LoadedModel, after: LoadedModel, draw: np.random.Generator
) -> tuple[LoadedModel, LoadedModel, int]:
    """Give two heads behind norms of one kind the same random states; they are left as they are where they differ.

    Returns
    -------
    pair of LoadedModel, and how many states
    """
    first, second = before.norm, after.norm
    if (
        first is None
        or second is None
        or first.kind != second.kind
        or first.width != second.width
    ):
        return before, after, 0
    states = first.normalised(
        draw.standard_normal((STATES + 2 * first.width, first.width))
    )
    return before.behind(states), after.behind(states), len(states)


@dataclass(frozen=True)
class Rounded:
    """Distance of two heads, counted in steps of the types that they are rounded to."""

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
        """True if rounding alone can make one model of the other, in that gauge."""
        return self.beyond == 0.0


def rounded(before: LoadedModel, after: LoadedModel, match: Match) -> Rounded | None:
    """Count the numbers that are further from their counterparts than a step.

    Where no prediction shows the mean row, it may differ too.

    Parameters
    ----------
    before, after : LoadedModel
        Two models of the same rank.
    match : Match
        Their shared right rows.

    Returns
    -------
    Rounded or None
        None where neither is rounded, or the gauge between them is not known: one has a norm and the other none.
    """
    kinds = tuple(
        "" if loaded.rounding is None else loaded.rounding.kind
        for loaded in (before, after)
    )
    scale = _between(before, after)
    if not any(kinds) or scale is None:
        return None
    # A shift that no probability shows may lie between the models too: the mean difference is tried as well.
    free = "right" in before.model.free_shifts and "right" in after.model.free_shifts
    counted_steps = _counted(before, after, match, scale, 0.0)
    if free and counted_steps[0] > 0:
        counted_steps = min(
            counted_steps,
            _counted(
                before, after, match, scale, _mean_apart(before, after, match, scale)
            ),
        )
    beyond, largest = counted_steps
    sizes = np.abs(scale)
    return Rounded(
        (kinds[0], kinds[1]), beyond, largest, float(sizes.max() / sizes.min())
    )


def _between(before: LoadedModel, after: LoadedModel) -> Floats | None:
    """Return γ/γ', ones where neither model has a norm; None where it is not known."""
    if before.model.rank != after.model.rank:
        return None
    if before.norm is None and after.norm is None:
        return np.ones(before.model.rank)
    if before.norm is None or after.norm is None or before.norm.kind != after.norm.kind:
        return None
    gains = before.norm.gain, after.norm.gain
    return gains[0] / gains[1] if gains[0].all() and gains[1].all() else None


def _apart(
    before: LoadedModel, after: LoadedModel, match: Match, scale: Floats
) -> Iterator[tuple[Floats, Floats]]:
    """Yield blocks of differences, and of how large a step is there."""
    for block in row_blocks(len(match), len(scale)):
        rows_before, rows_after = match.before[block], match.after[block]
        old = np.asarray(before.model.right[rows_before], dtype=np.float64) * scale
        new = np.asarray(after.model.right[rows_after], dtype=np.float64)
        steps = FLOAT32 * (np.abs(old) + np.abs(new))
        # Each number may have been rounded by its own step on either side; those before are scaled as the numbers are.
        steps += _steps(before.rounding, rows_before) * np.abs(scale) + _steps(
            after.rounding, rows_after
        )
        yield new - old, steps


def _steps(rounding: Rounding | None, rows: np.ndarray) -> Floats | float:
    """Read the steps of some rows; rows that lie together in the file are read together."""
    if rounding is None:
        return 0.0
    first, last = int(rows.min()), int(rows.max()) + 1
    # One read of the span is cheaper than many of single rows while half of it is wanted.
    if last - first <= 2 * len(rows):
        return np.asarray(
            rounding.steps(slice(first, last))[rows - first], dtype=np.float64
        )
    return np.vstack(
        [rounding.steps(slice(row, row + 1)) for row in rows.tolist()]
    ).astype(np.float64)


def _mean_apart(
    before: LoadedModel, after: LoadedModel, match: Match, scale: Floats
) -> Floats:
    total = np.zeros(len(scale))
    for difference, _ in _apart(before, after, match, scale):
        total += difference.sum(axis=0)
    return total / len(match)


def _counted(
    before: LoadedModel,
    after: LoadedModel,
    match: Match,
    scale: Floats,
    shift: Floats | float,
) -> tuple[float, float]:
    """Return the share of numbers that are further than a step, and the largest distance in steps."""
    count, largest = 0, 0.0
    for difference, steps in _apart(before, after, match, scale):
        # Where both numbers are 0 the step may be 0, too; its floor keeps 0/0 out.
        far = np.abs(difference - shift)
        count += int((far > steps).sum())
        largest = max(
            largest, float((far / np.maximum(steps, np.finfo(float).tiny)).max())
        )
    return count / (len(match) * len(scale)), largest
