"""The canonical form of a model, and the family of equivalent models it leads to.

Let `P Qᵀ = U s Vᵀ` be the thin singular value decomposition of the scores. The models
`P = U sᵉ, Q = V s¹⁻ᵉ` for e from 0 to 1 are equivalent:

- e = 0 is left-whitened: right cosines are prediction cosines.
- e = ½ is balanced: `PᵀP = QᵀQ`, which equal weight decay on both sides learns.
- e = 1 is right-whitened: right cosines are those of the projector `V Vᵀ`.

Everything is computed from k×k matrices; the n×p matrix of scores is never built.

A direction whose singular value is below √eps of the largest, in float64, is kept
unchanged next to the others: whitening would amplify what is little more than rounding,
and dropping it would change predictions. Directions that float64 cannot tell from zero
are dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, wraps
from typing import TypeVar
from weakref import WeakKeyDictionary

import numpy as np

from embaudit.canonical.row_span import complement
from embaudit.core.checked import Floats, Matrix, Vector, frozen, is_number
from embaudit.core.tolerances import EPS, FAINT_DIRECTION
from embaudit.errors import EquivalenceError, InputError, Option, Sentence, must_be
from embaudit.gauges import Gauge
from embaudit.linalg.mapped import Mapped, RowMap, affine
from embaudit.linalg.moments import Moments
from embaudit.linalg.rows import float64_blocks, gram
from embaudit.model import FactorModel, SideName, require_two_sides
from embaudit.model.equivalence import Equivalence
from embaudit.model.objectives import Linear
from embaudit.model.sizes import require_ordinary_size
from embaudit.model.trainings import kept_objective

EXPONENTS = {"left-whitened": 0.0, "balanced": 0.5, "right-whitened": 1.0}
"""The canonical gauges by name."""


def require_both_sides(model: FactorModel, purpose: str) -> None:
    """Raise InputError for a one-sided model, with the missing side in the message.

    The message names the purpose that needs both sides.
    """
    require_two_sides(model, purpose)
    if model.left is not None:
        return
    users, items = model.roles
    options = Sentence("{} or {}", Option("left"), Option("left_file"))
    if users == "input":
        # Inputs of a softmax head are read before or behind a final norm.
        options = Sentence(
            "{}, or the states before the final norm as {}",
            Option("inputs"),
            Option("states"),
        )
    raise InputError(
        "{} must be computed from the factors of both sides; got {} factors only; "
        "add the {}s with {} when the model is loaded.",
        purpose,
        items,
        users,
        options,
    )


@dataclass(frozen=True, eq=False)
class CanonicalFamily:
    """Maps to the equivalent models of all exponents.

    The rows `P L d^(e−1)` and `Q R d^(−e)` have the same scores for every e, because
    `LᵀR = diag(d)`.
    """

    left: Floats
    """(k, m) matrix L."""
    right: Floats
    """(k, m) matrix R."""
    scales: Vector
    """(m,) vector d."""

    def maps(self, exponent: float) -> dict[SideName, Floats]:
        """Return the (k, m) matrix of each side that leads to exponent e."""
        return {
            "left": self.left * self.scales ** (require_exponent(exponent) - 1),
            "right": self.right * self.scales**-exponent,
        }


@dataclass(frozen=True, eq=False)
class CanonicalForm:
    """The singular value decomposition of a model's scores, as k×k matrices.

    The scores are `P Qᵀ`, without biases. A side is centred first if predictions do not
    depend on its mean row (see `FactorModel.centred_sides`). Equivalent models have the
    same form, up to signs.

    Examples
    --------
    >>> import embaudit as ea
    >>> users, items = [[3.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]
    >>> model = ea.FactorModel.from_user_item(users, items)
    >>> form = ea.canonical_form(model)
    >>> form.singular_values, form.is_full_rank
    (array([3., 1.]), True)
    >>> round(form.gauge(0.5).condition_number, 3)
    1.732
    """

    singular_values: Vector
    """(k,) s of the scores, largest first, with those that are zero up to rounding."""
    rank: int
    """Number r of directions that the predictions see."""
    resolution: float
    """Largest singular value that the rounding of the stored rows can explain."""
    n_seen: int
    """Number of directions that float64 tells from zero."""
    n_firm: int
    """Number of directions that a canonical gauge stretches: see `FAINT_DIRECTION`."""
    left_centre: Vector
    """(k,) vector that is subtracted from every left row: the mean row, or 0."""
    right_centre: Vector
    """(k,) vector that is subtracted from every right row: the mean row, or 0."""
    left: Moments
    """Mean and root of the left factors."""
    right: Moments
    """Mean and root of the right factors."""
    left_root: Matrix
    """(k, k) `R_P` with `R_Pᵀ R_P = PᵀP`, after the centring."""
    right_root: Matrix
    """(k, k) `R_Q` with `R_Qᵀ R_Q = QᵀQ`, after the centring."""
    u: Matrix
    """(k, k) left singular vectors of `R_P R_Qᵀ = u s vᵀ`."""
    v: Matrix
    """(k, k) right singular vectors of `R_P R_Qᵀ = u s vᵀ`."""
    shifts_left: bool
    """True if a right bias of the model absorbs a shift of the left rows."""

    def __repr__(self) -> str:
        s = self.singular_values
        return (
            f"CanonicalForm(rank {self.rank} of {len(s)}, "
            f"singular values {s[0]:.4g} to {s[self.rank - 1]:.4g})"
        )

    @property
    def is_full_rank(self) -> bool:
        """True if the predictions see every dimension.

        If not, no gauge leads to the canonical form.
        """
        return self.rank == len(self.singular_values)

    @property
    def keeps_weak_directions(self) -> bool:
        """True if directions are kept unchanged in all models of the family."""
        return self.n_firm < self.n_seen

    @cached_property
    def metrics(self) -> tuple[Matrix, Matrix]:
        """(r, r) `AᵀA` of the left map at exponent 1, `BᵀB` of the right map at 0."""
        return gram(self.left_map(1.0)), gram(self.right_map(0.0))

    def left_map(self, exponent: float) -> Floats:
        """Return A (k, r) with `(P − centre) A = U sᵉ`.

        `A = R_Qᵀ v s^(e−1)`, because `P R_Qᵀ v = U s`.
        """
        s = self.singular_values[: self.rank]
        directions = self.right_root.T @ self.v[:, : self.rank]
        return np.asarray(directions * s ** (require_exponent(exponent) - 1))

    def right_map(self, exponent: float) -> Floats:
        """Return B (k, r) with `(Q − centre) B = V s¹⁻ᵉ` and `AᵀB = I`."""
        s = self.singular_values[: self.rank]
        directions = self.left_root.T @ self.u[:, : self.rank]
        return np.asarray(directions * s ** -require_exponent(exponent))

    @cached_property
    def family(self) -> CanonicalFamily:
        """The maps to all exponents: `L = R_Qᵀ v`, `R = R_Pᵀ u` and `d = s`.

        If directions are kept unchanged, L and R get k columns, as in
        `invertible_family`.
        """
        if self.keeps_weak_directions:
            return self.invertible_family
        return self._firm_family

    @property
    def _firm_family(self) -> CanonicalFamily:
        """The maps of the directions that a canonical gauge stretches."""
        return CanonicalFamily(
            left=self.right_root.T @ self.v[:, : self.n_firm],
            right=self.left_root.T @ self.u[:, : self.n_firm],
            scales=self.singular_values[: self.n_firm],
        )

    @cached_property
    def invertible_family(self) -> CanonicalFamily:
        """The maps to all exponents with k columns, so no direction is dropped.

        The added columns are orthogonal to the firm columns of the other side. Their
        scale is the geometric mean of the firm singular values, so that no exponent
        stretches them against the firm directions on average.
        """
        family = self._firm_family
        left, right, s = family.left, family.right, family.scales
        if len(s) == len(left):
            return family

        # Rotate the bases E and F of the two complements by the singular vectors of
        # EᵀF, whose singular values are the cosines of the principal angles between
        # them. So EᵀF becomes diagonal.
        left_basis, right_basis = complement(right), complement(left)
        left_turn, cosines, right_turn = np.linalg.svd(left_basis.T @ right_basis)
        left_basis = left_basis @ left_turn
        right_basis = right_basis @ right_turn.T

        # Scale the columns so that their products become the mean scale, and their
        # lengths are like those of the firm columns of the balanced map L d^(-½).
        mean_scale = _geometric_mean(s)
        stretches = np.linalg.svd(left / np.sqrt(s), compute_uv=False)
        stretch = _geometric_mean(stretches)
        lengths = np.sqrt(mean_scale / cosines)
        return CanonicalFamily(
            left=np.hstack([left, left_basis * lengths * stretch]),
            right=np.hstack([right, right_basis * lengths / stretch]),
            scales=np.append(s, np.full(len(cosines), mean_scale)),
        )

    def maps(self, exponent: float) -> dict[SideName, Floats]:
        """Return the (k, m) matrix of each side that leads to exponent e.

        m is k if no direction is dropped.
        """
        return self.family.maps(exponent)

    def affine(self, side: SideName, linear: Floats) -> RowMap:
        """Return the function that centres rows of a side and maps them.

        Results that are zero up to rounding become zero.
        """
        if side == "left":
            return affine(self.left_centre, linear, self.left.precision)
        return affine(self.right_centre, linear, self.right.precision)

    def view(self, x: Matrix, side: SideName, exponent: float) -> Mapped:
        """Return rows of a side at exponent e, computed when they are taken."""
        linear = self.maps(exponent)[side]
        return Mapped(x, self.affine(side, linear), linear.shape[1])

    def gauge(self, exponent: float) -> Gauge | None:
        """Return the gauge from the model to exponent e.

        It centres the rows of a side if biases or the link absorb the shift.

        Returns
        -------
        Gauge or None
            None if a direction is dropped, or if the gauge is singular to working
            precision. `at_exponent` still gives an equivalent model, in the first case
            with fewer dimensions.
        """
        linear = self.maps(exponent)["left"]
        if linear.shape[1] < len(linear):
            return None
        u, s, vt = np.linalg.svd(linear)
        # The inverse of a matrix this near to singular consists of rounding errors.
        if s[-1] <= 2 * len(s) * EPS * s[0]:
            return None
        gauge = Gauge.from_svd(u, s, vt)
        right_shift: Vector = -(self.right_centre @ gauge.right)
        left_shift: Vector = np.zeros(len(right_shift))
        if self.shifts_left:
            left_shift = -(self.left_centre @ gauge.left)
        return Gauge(gauge.left, gauge.right, left_shift, right_shift)


def _geometric_mean(values: Vector) -> float:
    """Return the geometric mean of positive values."""
    return float(np.exp(np.log(values).mean()))


def require_exponent(exponent: float) -> float:
    """Refuse an exponent outside [0, 1]."""
    if not is_number(exponent) or not 0 <= exponent <= 1:
        raise must_be(
            "the exponent",
            "a number from 0 (left-whitened) to 1 (right-whitened)",
            repr(exponent),
        )
    return float(exponent)


Form = TypeVar("Form")


def _once_per_model(
    compute: Callable[[FactorModel], Form],
) -> Callable[[FactorModel], Form]:
    """Remember the form that a function computes of a model while the model exists.

    A form holds no reference to its model, so that both are freed together. Models
    cannot change, and copies of a model are other keys. Two threads that ask for a new
    form at the same time both compute it, with equal results.
    """
    forms: WeakKeyDictionary[FactorModel, Form] = WeakKeyDictionary()

    @wraps(compute)
    def remembered(model: FactorModel) -> Form:
        if model in forms:
            return forms[model]
        form = compute(model)
        forms[model] = form
        return form

    return remembered


def canonical_form(model: FactorModel) -> CanonicalForm:
    """Decompose the scores of a model from its factors.

    The form is computed once per model, by a QR decomposition of both sides and a
    singular value decomposition of a k×k matrix.

    Parameters
    ----------
    model : FactorModel
        With both sides. A model that predicts cosines is taken with rows of length 1.

    Returns
    -------
    CanonicalForm
        The singular values of the scores, and maps from the factors to each exponent.

    Raises
    ------
    InputError
        If a side is missing, every score is zero, or the factors are of no ordinary
        length.

    Examples
    --------
    >>> users, items = [[3.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]
    >>> form = canonical_form(FactorModel.from_user_item(users, items))
    >>> form.singular_values, form.rank
    (array([3., 1.]), 2)
    >>> form
    CanonicalForm(rank 2 of 2, singular values 3 to 1)
    >>> round(form.gauge(0.0).condition_number, 12)
    3.0
    >>> far = FactorModel.from_user_item(np.diag([1.0, 1e16]), np.diag([1.0, 1e-16]))
    >>> canonical_form(far).rank, canonical_form(far).gauge(0.5) is None
    (2, True)
    """
    return _require_form(form_unless_zero(model))


def form_unless_zero(model: FactorModel) -> CanonicalForm | None:
    """Return the canonical form of a model, or None if every score is zero.

    For any other model this is `canonical_form`, with the same errors.

    Examples
    --------
    >>> users, items = [[1.0, 0.0]], [[0.0, 1.0]]
    >>> form_unless_zero(FactorModel.from_user_item(users, items)) is None
    True
    """
    require_both_sides(model, "the canonical form")
    return _form_of_scores(model)


@_once_per_model
def _form_of_scores(model: FactorModel) -> CanonicalForm | None:
    """Decompose the scores of a model with both sides."""
    return _decompose(model, model.centred_sides)


def _require_form(form: CanonicalForm | None) -> CanonicalForm:
    """Raise InputError for scores that are all zero, because they have no form."""
    if form is None:
        raise InputError(
            "at least one score must differ from zero; got factors whose products are "
            "all zero; check the input."
        )
    return form


@_once_per_model
def form_without_new_bias(model: FactorModel) -> CanonicalForm:
    """Return the form that leads to equivalent models with the biases of this model.

    The canonical form of a softmax head subtracts the mean input. If the head has no
    label bias that absorbs this, only a new bias can, and it would make a head of
    another family. So the inputs keep their mean here. The maps of the family stay the
    same, unless they drop a direction: the mean can lie in that direction, so the
    scores are decomposed with the mean then.
    """
    form = canonical_form(model)
    if form.shifts_left or not form.left_centre.any():
        return form
    if form.is_full_rank:
        return replace(form, left_centre=np.zeros(model.rank))
    return _require_form(_decompose(model, model.free_shifts))


def _decompose(
    model: FactorModel, centred: tuple[SideName, ...]
) -> CanonicalForm | None:
    """Compute the form of a model after some of its sides are centred.

    Return None if every score is zero.
    """
    left, right = model.moments("left"), model.moments("right")
    if not model.link.unit_sides and (
        _is_extreme(left.root) or _is_extreme(right.root)
    ):
        require_ordinary_size(model)
    return _decompose_moments(
        left, right, centred=centred, shifts_left="left" in model.free_shifts
    )


def form_of_moments(
    left: Moments,
    right: Moments,
    *,
    centred: tuple[SideName, ...],
    shifts_left: bool,
) -> CanonicalForm:
    """Compute the form of the scores between the rows that moments sum up.

    Parameters
    ----------
    left, right : Moments
        Moments of the rows of each side as the link multiplies them.
    centred : tuple of {"left", "right"}
        Sides that are centred first.
    shifts_left : bool
        True if a right bias absorbs a shift of the left rows.

    Raises
    ------
    InputError
        If every score is zero.
    """
    form = _decompose_moments(left, right, centred=centred, shifts_left=shifts_left)
    return _require_form(form)


def _decompose_moments(
    left: Moments,
    right: Moments,
    *,
    centred: tuple[SideName, ...],
    shifts_left: bool,
) -> CanonicalForm | None:
    """Compute the form of `form_of_moments`, or return None if every score is zero."""
    n_columns = len(left.mean)
    left_centre: Vector = np.zeros(n_columns)
    right_centre: Vector = np.zeros(n_columns)
    left_root, right_root = left.root, right.root
    if "left" in centred:
        left_root, left_centre = left.centred_root, left.mean
    if "right" in centred:
        right_root, right_centre = right.centred_root, right.mean

    # P = O R_P and Q = O' R_Q with orthonormal O and O', so that the scores have the
    # singular values of the k×k matrix R_P R_Qᵀ.
    u, s, vt = np.linalg.svd(left_root @ right_root.T)

    # Rounding is relative to the rows before centring. Rows carry the rounding of their
    # storage, and the decomposition that of float64. Roots by way of a Gram matrix are
    # less precise than QR, so that fewer directions can be whitened.
    scale = _size_of_products(left.root, right.root)
    resolution = max(left.precision, right.precision) * scale
    rounding = n_columns * EPS * scale
    by_gram = [side.precision for side in (left, right) if side.route == "gram"]
    root_rounding = max(by_gram, default=0.0) * scale
    rank = _count_above(s, resolution)
    if rank == 0:
        return None
    return CanonicalForm(
        singular_values=frozen(s),
        rank=rank,
        resolution=resolution,
        n_seen=_count_above(s, rounding),
        n_firm=_count_above(s, max(rounding, root_rounding, FAINT_DIRECTION * s[0])),
        left_centre=left_centre,
        right_centre=right_centre,
        left=left,
        right=right,
        left_root=left_root,
        right_root=right_root,
        u=frozen(u),
        v=frozen(vt.T),
        shifts_left=shifts_left,
    )


def _is_extreme(root: Matrix) -> bool:
    """Return True if products with this root can leave the range of float64."""
    return not 1e-90 < np.abs(root).max() < 1e90


def _count_above(values: Vector, least: float) -> int:
    """Count the values that are larger than `least`."""
    return int((values > least).sum())


def _size_of_products(left_root: Matrix, right_root: Matrix) -> float:
    """Return the size of the terms of a score: `‖P D‖ ‖Q D⁻¹‖`.

    The diagonal D gives the columns of both sides equal lengths, because a rescaling of
    the columns loses no digits.
    """
    p, q = np.linalg.norm(left_root, axis=0), np.linalg.norm(right_root, axis=0)
    used = (p > 0) & (q > 0)
    if not used.any():
        return 0.0
    d = np.sqrt(q[used] / p[used])
    left_size = np.linalg.norm(left_root[:, used] * d, 2)
    right_size = np.linalg.norm(right_root[:, used] / d, 2)
    return float(left_size * right_size)


def at_exponent(model: FactorModel, exponent: float) -> FactorModel:
    """Return the equivalent model `P = U sᵉ, Q = V s¹⁻ᵉ`.

    Directions that no prediction sees are dropped, so its rank may be smaller.
    Directions that predictions hardly see (singular values below 1.5e-8 of the largest)
    stay unchanged, in columns next to U and V. Means that the predictions leave free
    are removed and absorbed by biases; a softmax model without a right bias gets one.
    The objective is kept if its value stays, as under `Gauge.act`.

    Parameters
    ----------
    model : FactorModel
        With both sides. A model that predicts cosines is refused, because it leaves the
        lengths free and not the cosines.
    exponent : float
        From 0 to 1.

    Returns
    -------
    FactorModel
        The equivalent model.

    Raises
    ------
    EquivalenceError
        If the model predicts cosines.
    InputError
        If a side is missing, or the exponent lies outside [0, 1].

    Examples
    --------
    >>> users, items = [[3.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]
    >>> model = FactorModel.from_user_item(users, items)
    >>> np.abs(at_exponent(model, 0.0).right).round(12)
    array([[3., 0.],
           [0., 1.]])
    >>> at_exponent(model, 1.1)
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: the exponent must be a number from 0 ... got 1.1.
    >>> at_exponent(model.replace(link="cosine"), 0.5)
    Traceback (most recent call last):
        ...
    embaudit.errors.EquivalenceError: a model at another exponent must keep the
    predictions; got a model that predicts cosines, which every other exponent changes;
    use its identified cosines instead.
    """
    require_exponent(exponent)
    require_both_sides(model, "a model at another exponent")
    if model.predicts is Equivalence.COSINES:
        raise EquivalenceError(
            "a model at another exponent must keep the predictions; got a model that "
            "predicts cosines, which every other exponent changes; use its identified "
            "cosines instead."
        )
    return model_at(model, exponent, canonical_form(model))


def model_at(model: FactorModel, exponent: float, form: CanonicalForm) -> FactorModel:
    """Return the equivalent model at an exponent.

    Parameters
    ----------
    model : FactorModel
        The model of the form, or some of its rows.
    exponent : float
        From 0 to 1.
    form : CanonicalForm
        Its family leads to the equivalent model.
    """
    return model.replace(
        left=form.view(model.factors("left"), "left", exponent).stored(),
        right=form.view(model.right, "right", exponent).stored(),
        objective=objective_at(model, form, exponent),
        **absorbed_biases(model, form.left_centre, form.right_centre),
    )


def shifted_sides(
    model: FactorModel, centres: Mapping[SideName, Vector]
) -> tuple[SideName, ...]:
    """List the sides whose centres are longer than rounding, so that rows move."""
    shifted: list[SideName] = []
    for side, centre in centres.items():
        eps = np.finfo(model.factors(side).dtype).eps
        rounding = model.rank * eps * np.abs(model.moments(side).root).max()
        if np.linalg.norm(centre) > rounding:
            shifted.append(side)
    return tuple(shifted)


def objective_at(
    model: FactorModel, form: CanonicalForm, exponent: float
) -> str | None:
    """Return the objective of a model if it keeps its value at an exponent."""
    if model.objective is None:
        return None
    centres: dict[SideName, Vector] = {
        "left": form.left_centre,
        "right": form.right_centre,
    }
    shifted = shifted_sides(model, centres)
    # A new bias makes a larger family of models, whose minimum may lie lower.
    if "left" in shifted and not form.shifts_left:
        return None
    gauge = form.gauge(exponent)
    linear = Linear.ANY
    if gauge is not None:
        linear = gauge.linear_kind
    return kept_objective(model.objective, linear, shifted)


def absorbed_biases(
    model: FactorModel, left_centre: Vector, right_centre: Vector
) -> dict[str, Vector]:
    """Return the biases that keep the predictions if two centres are subtracted.

    These are c for left rows p and d for right rows q:
    `p·q = (p − c)·(q − d) + (q − d)·c + p·d`. The right bias absorbs the second term.
    The left bias absorbs the third; if the model has none, its predictions do not see
    a number that is added to a row of scores.
    """
    biases: dict[str, Vector] = {}
    if left_centre.any():
        added = _products_with(model, "right", left_centre, origin=right_centre)
        if model.right_bias is not None:
            added = model.right_bias + added
        biases["right_bias"] = added
    if right_centre.any() and model.left_bias is not None:
        origin = np.zeros(model.rank)
        added = _products_with(model, "left", right_centre, origin=origin)
        biases["left_bias"] = model.left_bias + added
    return biases


def _products_with(
    model: FactorModel, side: SideName, vector: Vector, *, origin: Vector
) -> Vector:
    """Compute `(x − origin) · vector` for every row x of a side."""
    products = []
    for _, block in float64_blocks(model.factors(side)):
        products.append((model.product_rows(side, block) - origin) @ vector)
    return np.concatenate(products)
