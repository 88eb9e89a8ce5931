"""Proof that two models differ only by a change of axes, or by rounding.

The rows as they are stored are compared first: the models are identical if every number
differs by at most the rounding of both files. Otherwise a gauge must carry each row of
one model to a row `x M + t` of the other. The proof fits the gauges of each group to
all shared rows, smallest group first, and accepts the first gauge for which

- every row y of the other model lies within its rounding, `‖x M + t − y‖ ≤ b` with
  `b = ρ ‖x‖ ‖M‖ + ρ' (‖y‖ + ‖t‖)`, where ρ and ρ' are the relative rounding of the
  two files;
- all rows together do, `Σ ‖x M + t − y‖² ≤ Σ b² / 3`, because rounding is uniform
  between its bounds, so its mean square is a third of the largest square; and
- biases and offset make up for the shift t, so that the predictions are the same.

A row that was trained further by less than its rounding cannot be told from a rounded
one. Each model must hold all rows of the other.

Predictions see only a part of the rows: directions in which the other side is zero, and
lengths that the link divides by, change no prediction. A gauge is fitted to the part
that predictions see, and `Sameness` says whether the other part is the same, too.
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
FLOAT16_STEP = 2.0**-24
"""Distance of the smallest numbers of float16."""


@dataclass(frozen=True)
class Sameness:
    """A gauge that is proven to carry all rows of one model to the other."""

    group: str
    """Smallest group that holds the gauge; "identity" if only rounding differs."""
    scale: float = 1.0
    """Length of the second model's right rows over that of the first model's.

    It is 1 unless `group` is "rotation"."""
    turns: bool = True
    """False if the gauge of the group "rotation" is one scale and turns no axis."""
    may_change_unseen: bool = False
    """True unless the part of the rows that no prediction sees is proven the same."""
    changes_lengths: bool = False
    """True if lengths of rows differ that no prediction depends on."""


@dataclass(frozen=True)
class Rounding:
    """Bounds of the rounding of rows."""

    per_number: float
    """Rounding of each stored number, relative to the number."""
    per_row: float
    """Rounding of a row that was computed in float32, relative to its length."""
    smallest_step: float = 0.0
    """Distance of the smallest numbers of the format."""

    @property
    def total(self) -> float:
        """Rounding of a row, relative to its length."""
        return max(TIE, self.per_number + self.per_row)


Roundings: TypeAlias = dict[SideName, Rounding]
"""Rounding of the rows of each side."""


def prove_same(
    stored: tuple[FactorModel, FactorModel],
    spanned: tuple[FactorModel, FactorModel],
    spans: tuple[Floats | None, Floats | None],
    matches: dict[SideName, Match],
    paired: Pairing,
    *,
    has_states: bool = False,
) -> Sameness | None:
    """Find a gauge that carries all rows of one model to the other, up to rounding.

    Parameters
    ----------
    stored : pair of FactorModel
        The first and the second model with all of their columns.
    spanned : pair of FactorModel
        The same models in the dimensions that their rows span.
    spans : pair of array of shape (k, width), or None
        Columns that lead from the stored rows to the spanned ones; None if both are the
        same.
    matches : dict of role to Match
        All shared rows of each side.
    paired : Pairing
        Shared rows, or a sample of them, to which gauges are fitted.
    has_states : bool
        True if the left rows are random states times the gains of final norms. Gains
        are rounded as the right rows are.

    Returns
    -------
    Sameness or None
        The gauge of the smallest group, "identity" first. None if no gauge is proven.
        If only one side was loaded, its predictions are unknown, so that only gauges
        that keep all cosines of its rows are accepted.
    """
    if not _is_comparable(stored, matches):
        return None
    before, after = stored
    pair = ModelPair(stored, spanned, matches, paired, has_states)
    # Few rows tell most models apart. They can fit a shorter format than the others, so
    # their rounding is an upper bound.
    few_rows = slice(0, FEW_ROWS)
    rounding_of_few = pair.roundings(few_rows)
    identity = _identity(paired, spans, before.rank == after.rank)
    if before.rank == after.rank and pair.are_stored_alike(few_rows, rounding_of_few):
        rounding_of_all = pair.roundings(slice(None))
        if pair.are_stored_alike(slice(None), rounding_of_all):
            no_gauge = _gauge_of_identity(np.eye(spanned[0].rank))
            if pair.keeps_predictions(no_gauge, rounding_of_all):
                return Sameness(IDENTITY)
            return None

    sees_all = paired.sees_all and not before.link.unit_sides
    for fit in _candidates(paired, before, identity):
        # If the stored numbers differ by more than rounding, no gauge that is the
        # identity up to rounding explains them.
        if sees_all and _is_near(fit, identity, _largest(rounding_of_few)):
            continue
        if not pair.is_mapped(fit, few_rows, rounding_of_few):
            continue
        rounding_of_all = pair.roundings(slice(None))
        is_mapped = pair.is_mapped(fit, slice(None), rounding_of_all)
        if is_mapped and pair.keeps_predictions(fit, rounding_of_all):
            return _sameness(fit, identity, pair, rounding_of_all)
    return None


def _is_comparable(
    stored: tuple[FactorModel, FactorModel], matches: dict[SideName, Match]
) -> bool:
    """Return True if both models hold all rows and make the same kind of prediction."""
    before, after = stored
    if any(match.only_before or match.only_after for match in matches.values()):
        return False
    if before.sides != after.sides or before.link != after.link:
        return False
    # The norms of heads without inputs differ, so nothing tells what the heads predict.
    has_norm = before.final_norm is not None or after.final_norm is not None
    return not (has_norm and before.left_side is None)


def _sameness(
    fit: GaugeFit,
    identity: GaugeFit | None,
    pair: ModelPair,
    roundings: tuple[Roundings, Roundings],
) -> Sameness:
    """Describe a proven gauge, and what it says about the unseen part of the rows."""
    scale, turns = 1.0, True
    if fit.group == "rotation":
        scale = float(np.linalg.svd(fit.right, compute_uv=False).max())
        if identity is not None:
            error = np.linalg.norm(fit.right / scale - identity.right, 2)
            turns = bool(error > 4 * _largest(roundings))
        if not pair.paired.forward:
            scale = 1 / scale
    return Sameness(
        fit.group,
        scale,
        turns,
        may_change_unseen=not (
            pair.paired.sees_all or pair.keeps_cosines(fit, roundings)
        ),
        changes_lengths=pair.changes_lengths(roundings),
    )


def _identity(
    paired: Pairing, spans: tuple[Floats | None, Floats | None], has_one_rank: bool
) -> GaugeFit | None:
    """Return the gauge that leaves the stored rows as they are.

    The seen rows of the two models stand on axes of their own, `x S B` and `y S' B'`,
    so the identity of the stored axes is `Bᵀ Sᵀ S' B'` there.

    Returns
    -------
    GaugeFit or None
        None if the models have different numbers of columns, or predictions see
        different directions of them.
    """
    first, second = paired.bases
    if not has_one_rank or first.shape[1] != second.shape[1]:
        return None
    if spans[0] is not None:
        first = spans[0] @ first
    if spans[1] is not None:
        second = spans[1] @ second
    source, target = first, second
    if not paired.forward:
        source, target = second, first
    matrix = source.T @ target
    sizes = np.linalg.svd(matrix, compute_uv=False)
    # Two subspaces are the same if all cosines of their principal angles are 1.
    if sizes.min() < 0.5:
        return None
    return _gauge_of_identity(matrix)


def _gauge_of_identity(matrix: Floats) -> GaugeFit:
    """Return the gauge of a matrix, without a shift, under the name of the identity."""
    inverse = np.asarray(np.linalg.inv(matrix), dtype=np.float64)
    no_shift = np.zeros(matrix.shape[1])
    return GaugeFit(IDENTITY, matrix, inverse.T, no_shift, no_shift)


def _candidates(
    paired: Pairing, model: FactorModel, identity: GaugeFit | None
) -> Iterator[GaugeFit]:
    """Yield the gauges that could be proven, from the smallest group to the largest.

    If predictions see all of the stored numbers, the identity was judged by these.
    """
    sees_all = paired.sees_all and not model.link.unit_sides
    if identity is not None and not sees_all:
        yield identity
    for group in paired.groups:
        is_one_sided = model.left_side is None
        # Shifts keep distances, and no other gauge but a rotation keeps one table.
        if is_one_sided and group != "rotation" and not model.link.measures_distances:
            continue
        yield fit_gauge(paired.fitted, group, paired.shifts)


def _is_near(fit: GaugeFit, identity: GaugeFit | None, rounding: float) -> bool:
    """Return True if a gauge differs from the identity by no more than rounding."""
    if identity is None or fit.left_shift.any() or fit.right_shift.any():
        return False
    error = np.linalg.norm(fit.right - identity.right, 2)
    return bool(error <= 4 * rounding)


@dataclass(frozen=True, eq=False)
class ModelPair:
    """Two models and all of their shared rows."""

    stored: tuple[FactorModel, FactorModel]
    spanned: tuple[FactorModel, FactorModel]
    matches: dict[SideName, Match]
    paired: Pairing
    has_states: bool

    def roundings(self, rows: slice) -> tuple[Roundings, Roundings]:
        """Bound the rounding of the stored rows of the first and second model."""
        before, after = (
            {role: row_rounding(model.factors(role)[rows]) for role in model.sides}
            for model in self.stored
        )
        if self.has_states:
            for roundings in (before, after):
                roundings["left"] = max(
                    roundings["left"], roundings["right"], key=lambda x: x.total
                )
        return before, after

    def _directed(
        self, roundings: tuple[Roundings, Roundings]
    ) -> tuple[Roundings, Roundings]:
        """Return the roundings of the source and of the target of a gauge."""
        if self.paired.forward:
            return roundings
        return roundings[1], roundings[0]

    def are_stored_alike(
        self, rows: slice, roundings: tuple[Roundings, Roundings]
    ) -> bool:
        """Return True if no stored number differs by more than rounding."""
        first, second = self.stored
        for role in first.sides:
            match = self.matches[role]
            start, stop, _ = rows.indices(len(match))
            for block in row_blocks(stop - start, first.rank + second.rank):
                places = slice(start + block.start, start + block.stop)
                old = _stored_rows(first, role, match.before[places])
                new = _stored_rows(second, role, match.after[places])
                bound = _number_bound(old, roundings[0][role])
                bound += _number_bound(new, roundings[1][role])
                if (np.abs(old - new) > bound).any():
                    return False
        return True

    def is_mapped(
        self, fit: GaugeFit, rows: slice, roundings: tuple[Roundings, Roundings]
    ) -> bool:
        """Return True if the gauge carries all rows to their counterparts."""
        if _largest(roundings) * fit.condition_number > MAX_STRETCHED_ROUNDING:
            return False
        return all(
            self._is_side_mapped(role, fit, rows, roundings)
            for role in self.spanned[0].sides
        )

    def _is_side_mapped(
        self,
        role: SideName,
        fit: GaugeFit,
        rows: slice,
        roundings: tuple[Roundings, Roundings],
        *,
        is_seen_part: bool = True,
    ) -> bool:
        match = self.matches[role]
        first, last, _ = rows.indices(len(match))
        matrix, shift = fit.left, fit.left_shift
        if role == "right":
            matrix, shift = fit.right, fit.right_shift
        stretch = float(np.linalg.norm(matrix, 2))
        of_source, of_target = self._directed(roundings)
        before, after = self.spanned
        rows_of = self.paired.seen_rows if is_seen_part else self.paired.whole_rows
        squared_error = squared_bound = 0.0
        for block in row_blocks(last - first, before.rank + after.rank):
            places = slice(first + block.start, first + block.stop)
            source, target = rows_of(before, after, match, places)
            error = np.linalg.norm(fit.apply(role, source) - target, axis=1)
            # A mapped row and a shift can both be longer than their sum.
            size = np.linalg.norm(target, axis=1) + float(np.linalg.norm(shift))
            bound = of_source[role].total * stretch * np.linalg.norm(source, axis=1)
            bound += of_target[role].total * size
            if (error > bound).any():
                return False
            squared_error += float(error @ error)
            squared_bound += float(bound @ bound)
        return squared_error <= squared_bound / 3

    def keeps_cosines(
        self, fit: GaugeFit, roundings: tuple[Roundings, Roundings]
    ) -> bool:
        """Return True if a rotation of all columns carries the rows of each side.

        It may differ between the sides, because no prediction sees all columns.
        """
        if fit.group not in (IDENTITY, "rotation"):
            return False
        source_rank, target_rank = (model.rank for model in self.spanned)
        if not self.paired.forward:
            source_rank, target_rank = target_rank, source_rank
        # A map to fewer columns would drop directions.
        if source_rank > target_rank:
            return False
        for role, (old, new) in self.paired.raw.items():
            source, target = (old, new) if self.paired.forward else (new, old)
            rotation = fit_gauge({role: (source, target)}, "rotation")
            is_mapped = self._is_side_mapped(
                role, rotation, slice(None), roundings, is_seen_part=False
            )
            if not is_mapped:
                return False
        return True

    def changes_lengths(self, roundings: tuple[Roundings, Roundings]) -> bool:
        """Return True if lengths differ that the link divides by."""
        first, second = self.stored
        for role in first.link.unit_sides:
            match = self.matches[role]
            old = first.side(role).norms[match.before]
            new = second.side(role).norms[match.after]
            bound = roundings[0][role].total * old + roundings[1][role].total * new
            if (np.abs(old - new) > bound).any():
                return True
        return False

    def keeps_predictions(
        self, fit: GaugeFit, roundings: tuple[Roundings, Roundings]
    ) -> bool:
        """Return True if biases, offset and shifts leave the predictions as they are.

        With `p' = p M + u` and `q' = q M⁻ᵀ + w`, the scores differ by a number for each
        left row, `d = a' − a + p M · w`, a number for each right row, `e = b' − b + u ·
        q M⁻ᵀ`, and a constant `c' − c + u · w`. They are the same if all d are one
        number, all e are one number, and these two cancel the constant. A softmax and
        an order see only the differences of the numbers e.
        """
        first, second = self.stored
        if first.left_side is None:
            return self._keeps_one_table(fit, roundings)
        if not first.link.sees_biases:
            return True
        # Each range holds the numbers that d (or e) can be for all rows.
        least_e, largest_e = self._common_change("right", fit, roundings)
        if least_e > largest_e:
            return False
        if max(first.predicts, second.predicts) <= Equivalence.PROBABILITIES:
            return True
        least_d, largest_d = self._common_change("left", fit, roundings)
        if least_d > largest_d:
            return False
        models = (first, second) if self.paired.forward else (second, first)
        shifts_product = float(
            np.linalg.norm(fit.left_shift) * np.linalg.norm(fit.right_shift)
        )
        constant = models[1].offset - models[0].offset
        constant += float(fit.left_shift @ fit.right_shift)
        tolerance = self._shift_rounding(fit, roundings) * shifts_product
        tolerance += sum(_offset_rounding(model.offset) for model in models)
        least = constant + least_d + least_e
        largest = constant + largest_d + largest_e
        return least <= tolerance and largest >= -tolerance

    def _common_change(
        self, role: SideName, fit: GaugeFit, roundings: tuple[Roundings, Roundings]
    ) -> tuple[float, float]:
        """Return the range of numbers that equal the score change of each row.

        The range is empty, so its lower end exceeds its upper end, if the scores of two
        rows change by different numbers.
        """
        match = self.matches[role]
        old = _bias(self.stored[0], role, match.before)
        new = _bias(self.stored[1], role, match.after)
        change = new - old
        tolerance = np.zeros(len(match))
        for bias, rounding in ((old, roundings[0][role]), (new, roundings[1][role])):
            if self.has_states:
                # These biases are sums of products of the rows and the norm's shift.
                tolerance += 4 * rounding.total * np.abs(bias).max()
            else:
                tolerance += row_rounding(bias[:, None]).total * np.abs(bias)
        if not self.paired.forward:
            change = -change
        # A shift of one side is multiplied with the mapped rows of the other side.
        other_shift = fit.right_shift if role == "left" else fit.left_shift
        if other_shift.any():
            matrix = fit.left if role == "left" else fit.right
            source, _ = self.paired.seen_rows(
                *self.spanned, match, slice(0, len(match))
            )
            mapped = source @ matrix
            change = change + mapped @ other_shift
            longest = float(np.linalg.norm(mapped, axis=1).max())
            product = longest * float(np.linalg.norm(other_shift))
            tolerance += self._shift_rounding(fit, roundings) * product
        return float((change - tolerance).max()), float((change + tolerance).min())

    def _shift_rounding(
        self, fit: GaugeFit, roundings: tuple[Roundings, Roundings]
    ) -> float:
        """Bound the relative error of a product with a fitted shift."""
        return 4 * _largest(roundings) * fit.condition_number

    def _keeps_one_table(
        self, fit: GaugeFit, roundings: tuple[Roundings, Roundings]
    ) -> bool:
        """Return True if the gauge is a rotation, up to a scale without effect."""
        tolerance = 4 * _largest(roundings)
        model = self.stored[0]
        sizes = np.linalg.svd(fit.right, compute_uv=False)
        if sizes[0] - sizes[-1] > tolerance * sizes[0]:
            return False
        if model.link.needs_lengths and abs(sizes[0] - 1) > tolerance:
            return False
        if not model.link.sees_biases:
            return True
        least, largest = self._common_change("right", fit, roundings)
        if least > largest:
            return False
        # A softmax does not see a number that is added to all biases.
        is_constant_free = model.predicts <= Equivalence.PROBABILITIES
        return is_constant_free or least <= 0 <= largest


def row_rounding(rows: Matrix) -> Rounding:
    """Bound the rounding of rows.

    A number in a format of spacing s is rounded by s / 2 of its size at most. Numbers
    that all have fewer digits than the shortest format were not rounded to it: whole or
    half numbers, for example, are data as they are. Rows that were computed in float32
    by a map of k columns carry √k + 8 further roundings, as in
    `embaudit.linalg.duplicates.resolution`.

    Examples
    --------
    >>> rows = np.random.default_rng(0).standard_normal((9, 4))
    >>> for kind in (np.float16, np.float32, np.float64):
    ...     print(f"{row_rounding(rows.astype(kind)).total:.1e}")
    4.9e-04
    6.6e-07
    1.0e-09
    >>> print(f"{row_rounding(np.round(2 * rows) / 2).total:.1e}")
    1.0e-09
    """
    blocks = [
        np.asarray(rows[block], dtype=np.float64) for block in row_blocks(*rows.shape)
    ]
    spacing = min(spacing_of(block) for block in blocks)
    if all(_has_fewer_digits(block, spacing) for block in blocks):
        spacing = EPS
    computed = (8 + np.sqrt(rows.shape[1])) * min(spacing, FLOAT32_SPACING) / 2
    smallest_step = FLOAT16_STEP if spacing == float(np.finfo(np.float16).eps) else 0.0
    return Rounding(spacing / 2, float(computed), smallest_step)


def _has_fewer_digits(block: Floats, spacing: float) -> bool:
    """Return True if numbers would fit a format of twice the spacing."""
    significands = np.frexp(block)[0]
    units = significands / spacing
    return bool((units == np.rint(units)).all())


def _number_bound(rows: Floats, rounding: Rounding) -> Floats:
    """Bound the rounding of each number of some rows."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    bound = rounding.per_number * np.abs(rows)
    bound += max(TIE, rounding.per_row) * lengths
    return bound + rounding.smallest_step / 2


def _largest(roundings: tuple[Roundings, Roundings]) -> float:
    of_sides = [*roundings[0].values(), *roundings[1].values()]
    return max(rounding.total for rounding in of_sides)


def _stored_rows(model: FactorModel, role: SideName, places: Indices) -> Floats:
    return np.asarray(model.factors(role)[places], dtype=np.float64)


def _bias(model: FactorModel, role: SideName, rows: Indices) -> Floats:
    """Return the biases of some rows, zeros if the side has none."""
    bias = model.side(role).bias
    if bias is None:
        return np.zeros(len(rows))
    return np.asarray(bias, dtype=np.float64)[rows]


def _offset_rounding(offset: float) -> float:
    """Bound the rounding of an offset."""
    return row_rounding(np.array([[offset]])).total * abs(offset)
