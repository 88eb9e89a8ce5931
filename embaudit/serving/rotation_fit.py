"""The rotation between two models in their common form, fitted to shared rows.

The models can be larger than memory, because rows are read block by block, and only
k×k matrices are summed up.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Self

import numpy as np

from embaudit.canonical.form import CanonicalForm, canonical_form, form_of_moments
from embaudit.comparison.matching import Match
from embaudit.core.checked import Flags, Floats, Indices, Vector
from embaudit.core.parallel import fill_in_threads, parallel_map, row_blocks
from embaudit.core.tolerances import EPS, EXPLAINED_SPREAD
from embaudit.errors import InputError, must_be
from embaudit.linalg.mapped import RowMap, affine
from embaudit.linalg.moments import Moments, moments
from embaudit.linalg.procrustes import best_rotation
from embaudit.linalg.rows import block_norms, unit_rows
from embaudit.linalg.taken import taken_rows
from embaudit.linalg.transformed_rows import Rows
from embaudit.model import FactorModel, SideName
from embaudit.model.equivalence import Equivalence

BLOCK_BYTES = 2**22
"""Size in float64 of the shared rows of both models that are read at a time.

Each block is changed several times, so it should fit into the cache."""
BALANCED = 0.5
"""Exponent of the form in which the rotation is fitted."""


@dataclass(frozen=True, eq=False)
class SharedRows:
    """The rows of one side that both models hold, as their links multiply them."""

    role: SideName
    match: Match
    old: FactorModel
    new: FactorModel

    def __len__(self) -> int:
        return len(self.match)

    def blocks(self) -> list[slice]:
        """Cut the rows into blocks."""
        n_columns = self.old.rank + self.new.rank
        return list(row_blocks(len(self), n_columns, budget=BLOCK_BYTES))

    @cached_property
    def old_stored(self) -> Rows:
        """(m, k₀) the stored rows of the old model."""
        return taken_rows(self.old.factors(self.role), self.match.before)

    @cached_property
    def new_stored(self) -> Rows:
        """(m, k₁) the stored rows of the new model, in the same order."""
        return taken_rows(self.new.factors(self.role), self.match.after)

    def old_rows(self, places: slice | Indices) -> Floats:
        """Return some old rows in float64, as the link multiplies them."""
        rows = np.asarray(self.old_stored[places], dtype=np.float64)
        return self.old.product_rows(self.role, rows)

    def new_rows(self, places: slice | Indices) -> Floats:
        """Return the same rows of the new model."""
        rows = np.asarray(self.new_stored[places], dtype=np.float64)
        return self.new.product_rows(self.role, rows)


@dataclass(frozen=True, eq=False)
class Coordinates:
    """The way from the stored rows of a model to the common form, and back."""

    maps: dict[SideName, Floats]
    """(k, m) matrix of each side, from centred rows to the common form."""
    inverses: dict[SideName, Floats]
    """(m, k) matrix of each side, from the common form to centred rows."""
    centres: dict[SideName, Vector]
    """(k,) the mean shared row of a centred side, 0 of other sides."""
    n_firm: int
    """Number of leading columns of the form in which the rotation is fitted."""

    @classmethod
    def as_stored(cls, model: FactorModel) -> Self:
        """Take the stored rows for the form."""
        identity: Floats = np.eye(model.rank)
        origin: Vector = np.zeros(model.rank)
        same = dict.fromkeys(model.sides, identity)
        return cls(same, same, dict.fromkeys(model.sides, origin), model.rank)

    @classmethod
    def balanced(cls, form: CanonicalForm, *, whole: bool) -> Self:
        """Lead to the balanced form.

        If `whole`, directions that no prediction sees get columns, too.
        """
        family = form.invertible_family if whole else form.family
        maps = family.maps(BALANCED)
        # The product of one matrix with the transpose of the other is the identity.
        inverses: dict[SideName, Floats] = {
            "left": maps["right"].T,
            "right": maps["left"].T,
        }
        centres: dict[SideName, Vector] = {
            "left": form.left_centre,
            "right": form.right_centre,
        }
        return cls(maps, inverses, centres, form.n_firm)

    def firm(self, role: SideName, rows: Floats) -> Floats:
        """Bring rows of a side into the leading columns of the form."""
        linear = self.maps[role][:, : self.n_firm]
        centre = self.centres[role]
        if centre.any():
            rows = rows - centre
        return np.asarray(rows @ linear)


@dataclass(frozen=True, eq=False)
class RotationFit:
    """Rotations between two models in their common form."""

    shared: dict[SideName, SharedRows]
    """The shared rows of each side."""
    old: Coordinates
    """Coordinates of the old model."""
    new: Coordinates
    """Coordinates of the new model."""
    is_second_half: dict[SideName, Flags]
    """(m,) the half that each shared row belongs to."""
    rotation: Floats
    """(m₁, m₀) rotation that is fitted to all shared rows."""
    held_out: tuple[Floats, Floats]
    """Rotations that judge the first and the second half of the shared rows.

    Each is fitted to the other half, or to all rows if the fit is exact."""
    is_exact: bool
    """True if the rotation leaves less difference than float32 resolves."""
    shifts: tuple[SideName, ...]
    """Sides that are shifted to the mean row of the old model."""

    def row_map(self, role: SideName, rotation: Floats) -> RowMap:
        """Return the map of new stored rows into the coordinates of the old rows."""
        linear = self.new.maps[role] @ rotation @ self.old.inverses[role]
        dtype = self.shared[role].new.factors(role).dtype
        spacing = float(np.finfo(dtype).eps)
        precision = max(spacing, len(linear) * EPS)
        if role not in self.shifts:
            return affine(np.zeros(len(linear)), linear, precision)
        map_centred = affine(self.new.centres[role], linear, precision)
        old_centre = self.old.centres[role]
        return lambda block: map_centred(block) + old_centre

    def multiplied_map(self, role: SideName, rotation: Floats) -> RowMap:
        """Return the same map for rows that the link may divide by their length."""
        function = self.row_map(role, rotation)
        new = self.shared[role].new
        return lambda block: function(new.product_rows(role, block))


def fit_rotation(
    old: FactorModel,
    new: FactorModel,
    matches: dict[SideName, Match],
    draw: np.random.Generator,
) -> RotationFit:
    """Bring two models into one form, and fit the rotation between them."""
    shared = {
        role: SharedRows(role, found, old, new) for role, found in matches.items()
    }
    shifts: tuple[SideName, ...] = ()
    if is_linear(old, new):
        old_form, new_form, is_centred = _forms(old, new, shared)
        old_coordinates = Coordinates.balanced(old_form, whole=True)
        new_coordinates = Coordinates.balanced(new_form, whole=False)
        # A shift of the labels changes no probability and no bias of a softmax.
        if is_centred and old.predicts is new.predicts is Equivalence.PROBABILITIES:
            shifts = ("right",)
    else:
        _require_all_directions(new, shared)
        old_coordinates = Coordinates.as_stored(old)
        new_coordinates = Coordinates.as_stored(new)
    n_sources = new_coordinates.maps["right"].shape[1]
    n_targets = old_coordinates.maps["right"].shape[1]
    if n_sources > n_targets:
        raise must_be(
            "the model to align",
            f"a model of at most {n_targets} dimensions, like the other model",
            f"{n_sources} dimensions",
            "align the other model with this one, or train with as many dimensions",
        )
    halves = {
        role: draw.permutation(len(rows)) % 2 == 1 for role, rows in shared.items()
    }
    crosses, old_square, new_square = _cross_moments(
        shared, old_coordinates, new_coordinates, halves
    )
    cross = crosses.sum(axis=0)
    rotation = best_rotation(cross, n_sources, n_targets)
    # The sum of squares that the rotation leaves is
    # Σ ‖x R − y‖² = Σ ‖x‖² + Σ ‖y‖² − 2 tr(Rᵀ C), with C = Σ xᵀ y.
    trace = np.vdot(rotation[: cross.shape[0], : cross.shape[1]], cross)
    unexplained = old_square + new_square - 2 * trace
    is_exact = bool(unexplained <= EXPLAINED_SPREAD * old_square)
    held_out = (rotation, rotation)
    if not is_exact:
        # The first half is judged by the rotation of the second half, and vice versa.
        held_out = (
            best_rotation(crosses[1], n_sources, n_targets),
            best_rotation(crosses[0], n_sources, n_targets),
        )
    return RotationFit(
        shared=shared,
        old=old_coordinates,
        new=new_coordinates,
        is_second_half=halves,
        rotation=rotation,
        held_out=held_out,
        is_exact=is_exact,
        shifts=shifts,
    )


def is_linear(old: FactorModel, new: FactorModel) -> bool:
    """Return True if every linear gauge keeps the predictions of the models.

    Only rotations keep the predictions of models that predict cosines. One table alone
    is only rotated, too, because its cosines should stay.
    """
    has_both_sides = old.left is not None and new.left is not None
    return has_both_sides and Equivalence.COSINES not in (old.predicts, new.predicts)


def _forms(
    old: FactorModel, new: FactorModel, shared: dict[SideName, SharedRows]
) -> tuple[CanonicalForm, CanonicalForm, bool]:
    """Decompose the scores between the shared rows of both models.

    Sides whose mean says nothing in either model are centred, unless the centred
    scores of a model miss a direction: the mean row can lie in it.

    Returns
    -------
    old_form, new_form : CanonicalForm
    is_centred : bool
        True if sides were centred.
    """
    sides: tuple[SideName, SideName] = ("left", "right")
    old_left, old_right = (_shared_moments(old, role, shared[role]) for role in sides)
    new_left, new_right = (_shared_moments(new, role, shared[role]) for role in sides)
    centred = tuple(side for side in old.free_shifts if side in new.free_shifts)
    if centred:
        old_form = form_of_moments(
            old_left, old_right, centred=centred, shifts_left=False
        )
        new_form = form_of_moments(
            new_left, new_right, centred=centred, shifts_left=False
        )
        if old_form.n_seen == old.rank and new_form.n_seen == new.rank:
            return old_form, new_form, True
    old_form = form_of_moments(old_left, old_right, centred=(), shifts_left=False)
    new_form = form_of_moments(new_left, new_right, centred=(), shifts_left=False)
    if new_form.n_seen < new.rank:
        n_seen = canonical_form(new).n_seen
        if new_form.n_seen < n_seen:
            raise _too_few_directions(new_form.n_seen, n_seen)
    return old_form, new_form, False


def _shared_moments(model: FactorModel, role: SideName, shared: SharedRows) -> Moments:
    """Sum up the shared rows of a side as the link multiplies them."""
    rows = shared.new_stored if model is shared.new else shared.old_stored
    if rows is model.factors(role):
        return model.moments(role)
    return moments(rows, normalise=role in model.link.unit_sides)


def _require_all_directions(
    new: FactorModel, shared: dict[SideName, SharedRows]
) -> None:
    """Raise InputError if shared rows leave out a direction of the new rows."""
    if all(len(rows) == len(new.side(role)) for role, rows in shared.items()):
        return
    n_shared = _n_directions(
        [_shared_moments(new, role, rows) for role, rows in shared.items()]
    )
    n_all = _n_directions([new.moments(role) for role in shared])
    if n_shared < n_all:
        raise _too_few_directions(n_shared, n_all)


def _n_directions(sums: list[Moments]) -> int:
    """Count the directions that the rows of some sides span together."""
    scaled_roots = []
    for part in sums:
        # Each side is scaled to norm 1, so that both sides count alike.
        norm = float(np.linalg.norm(part.root))
        if norm > 0:
            scaled_roots.append(part.root / norm)
        else:
            scaled_roots.append(part.root)
    s = np.linalg.svd(np.vstack(scaled_roots), compute_uv=False)
    precision = max(part.precision for part in sums)
    return int((s > precision * s[0]).sum())


def _too_few_directions(got: int, needed: int) -> InputError:
    """Return the error for shared rows that leave some directions open."""
    return must_be(
        "the rows in both models",
        f"enough to span the {needed} dimensions of the model to align",
        f"rows that span {got} dimensions",
        "share more rows, or train both models on the same data",
    )


def _cross_moments(
    shared: dict[SideName, SharedRows],
    old: Coordinates,
    new: Coordinates,
    is_second_half: dict[SideName, Flags],
) -> tuple[Floats, float, float]:
    """Sum `xᵀ y` over the shared rows of both halves, and the squares of both models.

    x are new and y old rows in the common form. In the balanced form both sides of a
    model have the same sum of squares, so both sides count alike.

    Returns
    -------
    crosses : array of shape (2, k₁, k₀)
        Σ xᵀ y of the first and of the second half.
    old_square, new_square : float
        Σ ‖y‖² and Σ ‖x‖².
    """
    crosses = np.zeros((2, new.n_firm, old.n_firm))
    old_square = new_square = 0.0
    for role, rows in shared.items():
        sums_of_block = partial(
            _cross_moments_of_block, rows, old, new, is_second_half[role]
        )
        for cross, old_part, new_part in parallel_map(sums_of_block, rows.blocks()):
            crosses += cross
            old_square += old_part
            new_square += new_part
    return crosses, old_square, new_square


def _cross_moments_of_block(
    rows: SharedRows,
    old: Coordinates,
    new: Coordinates,
    is_second_half: Flags,
    block: slice,
) -> tuple[Floats, float, float]:
    """Return the sums of `_cross_moments` over one block of the rows of a side."""
    x = new.firm(rows.role, rows.new_rows(block))
    y = old.firm(rows.role, rows.old_rows(block))
    is_second = is_second_half[block]
    is_first = ~is_second
    first = x[is_first].T @ y[is_first]
    second = x[is_second].T @ y[is_second]
    old_square = float(np.vdot(y, y))
    new_square = float(np.vdot(x, x))
    return np.array([first, second]), old_square, new_square


def _angles(first: Floats, second: Floats) -> Vector:
    """Return the angle between rows in radians, and NaN where a row is zero.

    The chord between two rows of length 1 is 2 sin(θ/2), which keeps the digits of a
    small angle.
    """
    chords = block_norms(unit_rows(first) - unit_rows(second))
    return np.asarray(2 * np.arcsin(np.minimum(chords / 2, 1)))


def measure_angles(fit: RotationFit, role: SideName) -> tuple[Floats, Floats | None]:
    """Return the angles between old and new rows after and before the alignment.

    The angle of a row after the alignment is measured by the rotation that was fitted
    to the other half of the rows. Rows of different widths have no angle before.
    """
    rows = fit.shared[role]
    after = np.empty(len(rows))
    before = np.empty(len(rows)) if rows.old.rank == rows.new.rank else None
    maps = [fit.row_map(role, rotation) for rotation in fit.held_out]

    def fill(block: slice) -> None:
        old = rows.old_rows(block)
        new = rows.new_rows(block)
        if before is not None:
            before[block] = _angles(old, new)
        is_second = fit.is_second_half[role][block]
        map_first, map_second = maps
        aligned = np.empty_like(old)
        aligned[~is_second] = map_first(new[~is_second])
        aligned[is_second] = map_second(new[is_second])
        after[block] = _angles(old, aligned)

    fill_in_threads(fill, rows.blocks())
    return after, before
