"""Proof that two models differ only by a change of axes, or by rounding.

A gauge carries each row of one model to a row `x M + t`. The proof fits the gauges of
each group to all shared rows, smallest group first, and accepts the first gauge for
which

- every row y of the other model lies within its rounding, `‖x M + t − y‖ ≤ b` with
  `b = ρ ‖x‖ ‖M‖ + ρ' ‖y‖`, where ρ and ρ' are the relative rounding of the two files;
- all rows together do, `Σ ‖x M + t − y‖² ≤ Σ b² / 3`, because rounding is uniform
  between its bounds, so its mean square is a third of the largest square; and
- biases and offset make up for the shift t, so that the predictions are the same.

A row that was trained further by less than its rounding cannot be told from a rounded
one. Each model must hold all rows of the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from embaudit.comparison.fits import GaugeFit, fit_gauge
from embaudit.comparison.matching import Match, Pairing
from embaudit.core.checked import Floats, Indices, Matrix
from embaudit.core.parallel import row_blocks
from embaudit.core.tolerances import EPS, FLOAT32_SPACING, MAX_STRETCHED_ROUNDING, TIE
from embaudit.linalg.duplicates import spacing_of
from embaudit.model import FactorModel, SideName
from embaudit.model.equivalence import Equivalence

IDENTITY = "identity"
"""Name of the group whose only gauge leaves every row as it is."""
FEW_ROWS = 256
"""Number of rows that tell most models apart."""
Roundings: TypeAlias = dict[SideName, float]
"""Relative rounding of the rows of each side."""


def proven_gauge(
    before: FactorModel,
    after: FactorModel,
    matches: dict[SideName, Match],
    paired: Pairing,
    *,
    has_states: bool = False,
) -> GaugeFit | None:
    """Find a gauge that carries all rows of one model to the other, up to rounding.

    Parameters
    ----------
    before, after : FactorModel
        The two models.
    matches : dict of role to Match
        All shared rows of each side.
    paired : Pairing
        Shared rows, or a sample of them, to which gauges are fitted.
    has_states : bool
        True if the left rows are random states times the gains of final norms. Gains
        are rounded as the right rows are.

    Returns
    -------
    GaugeFit or None
        The gauge of the smallest group, "identity" first. None if no gauge is proven.
        If only one side was loaded, its predictions are unknown, so that only gauges
        that keep all cosines of its rows are accepted.
    """
    if any(match.only_before or match.only_after for match in matches.values()):
        return None
    if before.sides != after.sides or before.link != after.link:
        return None
    has_norm = before.final_norm is not None or after.final_norm is not None
    if has_norm and before.left_side is None:
        # The norms of these heads differ, and no inputs tell what the heads predict.
        return None
    pair = MappedRows(before, after, matches, paired, has_states)
    # Few rows tell most models apart. They can fit a shorter format than the others, so
    # their rounding is an upper bound.
    few_rows = slice(0, FEW_ROWS)
    rounding_of_few = pair.roundings(few_rows)
    rounding_of_all = None
    for fit in _candidates(paired, before):
        if not pair.is_mapped(fit, few_rows, rounding_of_few):
            continue
        if rounding_of_all is None:
            rounding_of_all = pair.roundings(slice(None))
        is_mapped = pair.is_mapped(fit, slice(None), rounding_of_all)
        if is_mapped and pair.keeps_predictions(fit, rounding_of_all):
            return fit
    return None


def _candidates(paired: Pairing, model: FactorModel) -> Iterator[GaugeFit]:
    """Yield the gauges that could be proven, from the smallest group to the largest."""
    source, target = next(iter(paired.fitted.values()))
    if source.shape[1] == target.shape[1]:
        identity, no_shift = np.eye(source.shape[1]), np.zeros(source.shape[1])
        yield GaugeFit(IDENTITY, identity, identity, no_shift, no_shift)
    for group in paired.groups:
        is_one_sided = model.left_side is None
        # Shifts keep distances, and no other gauge but a rotation keeps one table.
        if is_one_sided and group != "rotation" and not model.link.measures_distances:
            continue
        yield fit_gauge(paired.fitted, group, paired.shifts)


@dataclass(frozen=True, eq=False)
class MappedRows:
    """All shared rows of two models, as sources and targets of a gauge."""

    before: FactorModel
    after: FactorModel
    matches: dict[SideName, Match]
    paired: Pairing
    has_states: bool

    def roundings(self, rows: slice) -> tuple[Roundings, Roundings]:
        """Bound the relative rounding of the rows of the source and of the target."""
        before, after = (
            {role: row_rounding(model.factors(role)[rows]) for role in model.sides}
            for model in (self.before, self.after)
        )
        if self.has_states:
            for roundings in (before, after):
                roundings["left"] = max(roundings["left"], roundings["right"])
        if self.paired.forward:
            return before, after
        return after, before

    def is_mapped(
        self, fit: GaugeFit, rows: slice, roundings: tuple[Roundings, Roundings]
    ) -> bool:
        """Return True if the gauge carries the rows of both sides to their counterparts."""
        if _largest(roundings) * fit.condition_number > MAX_STRETCHED_ROUNDING:
            return False
        return all(
            self._is_side_mapped(role, fit, rows, roundings)
            for role in self.before.sides
        )

    def _is_side_mapped(
        self,
        role: SideName,
        fit: GaugeFit,
        rows: slice,
        roundings: tuple[Roundings, Roundings],
    ) -> bool:
        match = self.matches[role]
        first, last, _ = rows.indices(len(match))
        matrix = fit.left if role == "left" else fit.right
        shift = fit.left_shift if role == "left" else fit.right_shift
        stretch = float(np.linalg.norm(matrix, 2))
        squared_error = squared_bound = 0.0
        for block in row_blocks(last - first, self.before.rank + self.after.rank):
            places = slice(first + block.start, first + block.stop)
            source, target = self.paired.seen_rows(
                self.before, self.after, match, places
            )
            error = np.linalg.norm(fit.apply(role, source) - target, axis=1)
            # A mapped row and a shift can both be longer than their sum.
            size = np.linalg.norm(target, axis=1) + float(np.linalg.norm(shift))
            bound = roundings[0][role] * stretch * np.linalg.norm(source, axis=1)
            bound += roundings[1][role] * size
            if (error > bound).any():
                return False
            squared_error += float(error @ error)
            squared_bound += float(bound @ bound)
        return squared_error <= squared_bound / 3

    def keeps_predictions(
        self, fit: GaugeFit, roundings: tuple[Roundings, Roundings]
    ) -> bool:
        """Return True if biases, offset and shifts leave the predictions as they are.

        With `p' = p M + u` and `q' = q M⁻ᵀ + w`, the scores differ by a number for each
        left row, `d = a' − a + p M · w`, a number for each right row, `e = b' − b + u ·
        q M⁻ᵀ`, and a constant `c' − c + u · w`. A softmax and an order see only the
        differences of the numbers e.
        """
        rounding = _largest(roundings)
        if self.before.left_side is None:
            return self._keeps_one_table(fit, rounding)
        if not self.before.link.sees_biases:
            return True
        models = (self.before, self.after)
        if not self.paired.forward:
            models = (self.after, self.before)
        left, left_size = self._score_change("left", fit)
        right, right_size = self._score_change("right", fit)
        constant = models[1].offset - models[0].offset
        constant += float(fit.left_shift @ fit.right_shift)
        size = left_size + right_size + abs(models[0].offset) + abs(models[1].offset)
        size += float(np.linalg.norm(fit.left_shift) * np.linalg.norm(fit.right_shift))
        tolerance = 4 * rounding * fit.condition_number * size
        if np.ptp(right) > tolerance:
            return False
        if self.before.predicts <= Equivalence.PROBABILITIES:
            return True
        mean_change = float(left.mean() + right.mean()) + constant
        return bool(np.ptp(left) <= tolerance and abs(mean_change) <= tolerance)

    def _score_change(self, role: SideName, fit: GaugeFit) -> tuple[Floats, float]:
        """Return what is added to the scores of each row, and the size of its terms."""
        match = self.matches[role]
        change = _bias(self.after, role, match.after)
        change = change - _bias(self.before, role, match.before)
        size = _largest_bias(self.before, role) + _largest_bias(self.after, role)
        if not self.paired.forward:
            change = -change
        # A shift of one side is multiplied with the mapped rows of the other side.
        other_shift = fit.right_shift if role == "left" else fit.left_shift
        if other_shift.any():
            matrix = fit.left if role == "left" else fit.right
            source, _ = self.paired.seen_rows(
                self.before, self.after, match, slice(0, len(match))
            )
            mapped = source @ matrix
            change = change + mapped @ other_shift
            longest = float(np.linalg.norm(mapped, axis=1).max())
            size += longest * float(np.linalg.norm(other_shift))
        return change, size

    def _keeps_one_table(self, fit: GaugeFit, rounding: float) -> bool:
        """Return True if the gauge is a rotation, up to a scale that changes nothing."""
        tolerance = 4 * rounding
        sizes = np.linalg.svd(fit.right, compute_uv=False)
        if sizes[0] - sizes[-1] > tolerance * sizes[0]:
            return False
        if self.before.link.needs_lengths and abs(sizes[0] - 1) > tolerance:
            return False
        # Biases of a head without inputs may differ by a constant.
        change, size = self._score_change("right", fit)
        return bool(np.ptp(change) <= tolerance * size)


def row_rounding(rows: Matrix) -> float:
    """Bound the rounding of rows, relative to their lengths.

    A number in a format of spacing s is rounded by s / 2 of its size at most. Numbers
    that all have fewer digits than the shortest format were not rounded to it: whole or
    half numbers, for example, are data as they are. Rows that were computed in float32
    by a map of k columns carry √k + 8 further roundings, as in
    `embaudit.linalg.duplicates.resolution`.

    Examples
    --------
    >>> rows = np.random.default_rng(0).standard_normal((9, 4))
    >>> for kind in (np.float16, np.float32, np.float64):
    ...     print(f"{row_rounding(rows.astype(kind)):.1e}")
    4.9e-04
    6.6e-07
    1.0e-09
    >>> print(f"{row_rounding(np.round(2 * rows) / 2):.1e}")
    1.0e-09
    """
    blocks = [
        np.asarray(rows[block], dtype=np.float64) for block in row_blocks(*rows.shape)
    ]
    spacing = min(spacing_of(block) for block in blocks)
    if all(_has_fewer_digits(block, spacing) for block in blocks):
        spacing = EPS
    computed = (8 + np.sqrt(rows.shape[1])) * min(spacing, FLOAT32_SPACING) / 2
    return max(TIE, float(spacing / 2 + computed))


def _has_fewer_digits(block: Floats, spacing: float) -> bool:
    """Return True if numbers would fit a format of twice the spacing."""
    significands = np.frexp(block)[0]
    units = significands / spacing
    return bool((units == np.rint(units)).all())


def _largest(roundings: tuple[Roundings, Roundings]) -> float:
    return max(*roundings[0].values(), *roundings[1].values())


def _bias(model: FactorModel, role: SideName, rows: Indices) -> Floats:
    """Return the biases of some rows, zeros if the side has none."""
    bias = model.side(role).bias
    if bias is None:
        return np.zeros(len(rows))
    return np.asarray(bias, dtype=np.float64)[rows]


def _largest_bias(model: FactorModel, role: SideName) -> float:
    bias = model.side(role).bias
    return 0.0 if bias is None else float(np.abs(bias).max())
