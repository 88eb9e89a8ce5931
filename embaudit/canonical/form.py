"""The canonical form of a model: one representative of all equivalent models, and the family it lies in.

With the thin singular value decomposition of the scores `P Qᵀ = U s Vᵀ`, the models `P = U sᵉ, Q = V s¹⁻ᵉ`
for e from 0 to 1 hold every canonical gauge: e = 0 left-whitened (right cosines become prediction cosines),
e = ½ balanced (`PᵀP = QᵀQ`, what equal weight decay learns), e = 1 right-whitened (right cosines become
those of the projector V Vᵀ). Nothing n×p is ever built.

A direction whose s is below √eps of the largest, in float64, is left as it is beside them: to whiten what is little
more than rounding would amplify it, to leave it out would change predictions. Where none of the rest can be told from
zero in float64, the rest is dropped.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np

from embaudit.canonical.row_span import complement
from embaudit.core.checked import EPS, Floats, Matrix, Vector, frozen, is_number
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
FIRM = float(np.sqrt(EPS))
"""A direction whose singular value is below this share of the largest is left alone by every canonical gauge."""


def require_both_sides(model: FactorModel, what: str) -> None:
    """Refuse a one-sided model, naming what is missing and why it is needed."""
    require_two_sides(model, what)
    if model.left is None:
        users, items = model.roles
        # What a softmax head is multiplied with comes from before or from behind a final norm.
        if users == "input":
            options = Sentence(
                "{}, or the states before the final norm as {}",
                Option("inputs"),
                Option("states"),
            )
        else:
            options = Sentence("{}", Option("left"))
        raise InputError(
            "{} must be read from the predictions, {} against {}; got {} factors only; "
            "add the {}s with {} when the model is read.",
            what,
            users,
            items,
            items,
            users,
            options,
        )


@dataclass(frozen=True, eq=False)
class CanonicalForm:
    """The singular value decomposition of a model's scores, kept as k×k matrices that act on its factors.

    The scores are those of `P Qᵀ` without biases; a side whose mean says nothing (see
    `FactorModel.centred_sides`) is centred first. Equivalent models have the same form, up to signs.
    """

    singular_values: Vector
    """(k,) s of the scores, largest first, including those that rounding cannot tell from zero."""
    rank: int
    """Number r of directions that the predictions see."""
    resolution: float
    """Singular values up to here cannot be told from zero, as precisely as the rows are stored."""
    n_seen: int
    """Number of directions that float64 tells from zero."""
    firm: int
    """Number of those that a gauge changes; it leaves the others alone."""
    left_centre: Vector
    """(k,) what is subtracted from every left row: its mean, or 0."""
    right_centre: Vector
    """(k,) what is subtracted from every right row: its mean, or 0."""
    left: Moments
    """Mean and root of the left factors."""
    right: Moments
    """Mean and root of the right factors."""
    left_root: Matrix
    """(k, k) `R_P` with `R_Pᵀ R_P = PᵀP`, after the centring."""
    right_root: Matrix
    """(k, k) `R_Q` with `R_Qᵀ R_Q = QᵀQ`, after the centring."""
    u: Matrix
    """(k, k) of `R_P R_Qᵀ = u s vᵀ`."""
    v: Matrix
    """(k, k) of `R_P R_Qᵀ = u s vᵀ`."""
    shifts_left: bool
    """True if a gauge can centre the left rows of this model, a free right bias absorbing it."""
    keeps_left_mean: bool = False
    """True if the left rows are decomposed with a mean that predictions do not see."""

    def __repr__(self) -> str:
        s = self.singular_values
        return f"CanonicalForm(rank {self.rank} of {len(s)}, singular values {s[0]:.4g} to {s[self.rank - 1]:.4g})"

    @property
    def is_full_rank(self) -> bool:
        """True if the predictions see every latent dimension; if not, no gauge reaches the canonical form."""
        return self.rank == len(self.singular_values)

    @cached_property
    def metrics(self) -> tuple[Matrix, Matrix]:
        """(r, r) `AᵀA` of the left map at exponent 1, `BᵀB` of the right map at 0; others are scaled by powers of s."""
        return gram(self.left_map(1.0)), gram(self.right_map(0.0))

    def left_map(self, exponent: float) -> Floats:
        """Return A (k, r) with `(P − centre) A = U sᵉ`: `A = R_Qᵀ v s^(e−1)`, since `P R_Qᵀ v = U s`."""
        s = self.singular_values[: self.rank]
        return np.asarray(
            (self.right_root.T @ self.v[:, : self.rank])
            * s ** (require_exponent(exponent) - 1)
        )

    def right_map(self, exponent: float) -> Floats:
        """Return B (k, r) with `(Q − centre) B = V s¹⁻ᵉ` and `AᵀB = I`."""
        s = self.singular_values[: self.rank]
        return np.asarray(
            (self.left_root.T @ self.u[:, : self.rank])
            * s ** -require_exponent(exponent)
        )

    @property
    def leaves_alone(self) -> bool:
        """True if directions stay as they are beside the canonical ones, in all models of the family."""
        return self.firm < self.n_seen

    @cached_property
    def family(self) -> tuple[Floats, Floats, Vector]:
        """Maps L, R (k, m) and scales d (m,) of all exponents: `P L d^(e−1)` and `Q R d^(−e)` have the same scores.

        L and R are `R_Qᵀ v` and `R_Pᵀ u`, and d is s. What is left alone fills them up to k columns, orthogonal to the
        firm ones of the other side, so that `LᵀR = diag(d)`; its scale is the mean one of the others, whatever e is.
        """
        n, s = self.firm, self.singular_values[: self.firm]
        left: Floats = self.right_root.T @ self.v[:, :n]
        right: Floats = self.left_root.T @ self.u[:, :n]
        if not self.leaves_alone:
            return left, right, s
        beside = complement(right), complement(left)
        # Principal angles pair up the complements of both sides, so that LᵀR is diagonal there, too.
        turn, cosines, back = np.linalg.svd(beside[0].T @ beside[1])
        mean = float(np.exp(np.log(s).mean()))
        size = np.exp(np.log(np.linalg.svd(left / np.sqrt(s), compute_uv=False)).mean())
        scales = np.sqrt(mean / cosines)
        left = np.hstack([left, beside[0] @ turn * scales * size])
        right = np.hstack([right, beside[1] @ back.T * scales / size])
        return left, right, np.append(s, [mean] * len(cosines))

    def maps(self, exponent: float) -> dict[SideName, Floats]:
        """Return the (k, m) matrix that makes each side at exponent e; m is k where no direction is dropped."""
        left, right, scales = self.family
        return {
            "left": left * scales ** (require_exponent(exponent) - 1),
            "right": right * scales**-exponent,
        }

    @property
    def needs_new_bias(self) -> bool:
        """True if centring the left rows adds a right bias that the model does not have."""
        return not self.shifts_left and bool(self.left_centre.any())

    @cached_property
    def without_new_bias(self) -> CanonicalForm:
        """The same form without the centring of left rows, where that needs a new bias.

        If the form drops directions, the mean can lie in a dropped direction, so the
        form is returned unchanged.
        """
        if not self.needs_new_bias or not self.is_full_rank:
            return self
        return replace(self, left_centre=np.zeros(len(self.left_centre)))

    def affine(self, side: SideName, linear: Floats) -> RowMap:
        """Return the function that centres rows of a side and maps them; what is rounding becomes zero."""
        centre, moments = (
            (self.right_centre, self.right)
            if side == "right"
            else (self.left_centre, self.left)
        )
        return affine(centre, linear, moments.precision)

    def view(self, x: Matrix, side: SideName, exponent: float) -> Mapped:
        """Return rows of a side as they are at exponent e, made where they are asked for."""
        linear = self.maps(exponent)[side]
        return Mapped(x, self.affine(side, linear), linear.shape[1])

    def gauge(self, exponent: float) -> Gauge | None:
        """Return the gauge from the model to exponent e, centring what it may.

        None where a direction is dropped, or the gauge is singular to working precision: `at_exponent` still gives an
        equivalent model, in the first case in fewer dimensions.
        """
        linear = self.maps(exponent)["left"]
        if linear.shape[1] < len(linear):
            return None
        u, s, vt = np.linalg.svd(linear)
        # A matrix this near to singular has an inverse of rounding errors.
        if s[-1] <= 2 * len(s) * EPS * s[0]:
            return None
        gauge = Gauge.from_svd(u, s, vt)
        left_shift = -(self.left_centre @ gauge.left) if self.shifts_left else None
        right_shift = -(self.right_centre @ gauge.right)
        return Gauge(gauge.left, gauge.right, left_shift, right_shift)  # type: ignore[arg-type]


def require_exponent(exponent: float) -> float:
    """Refuse an exponent outside [0, 1]."""
    if not is_number(exponent) or not 0 <= exponent <= 1:
        raise must_be(
            "the exponent",
            "a number from 0 (left-whitened) to 1 (right-whitened)",
            repr(exponent),
        )
    return float(exponent)


def canonical_form(
    model: FactorModel, *, keep_left_mean: bool = False
) -> CanonicalForm:
    """Decompose the scores of a model from its factors: QR of both sides, then a k×k decomposition.

    Parameters
    ----------
    model : FactorModel
        With both sides. A model that predicts cosines is taken with rows of length 1.
    keep_left_mean : bool
        Do not subtract the mean of the left rows where no bias of the model absorbs it.

    Raises
    ------
    InputError
        If a side is missing, every score is zero, or the factors are of no ordinary length.

    Examples
    --------
    >>> model = FactorModel.from_user_item([[3.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]])
    >>> form = canonical_form(model)
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
    require_both_sides(model, "the canonical form")
    if keep_left_mean:
        return _decomposed(model, keep_left_mean=True)
    form = _FORMS.get(model)
    if form is None:
        form = _decomposed(model, keep_left_mean=False)
        _FORMS[model] = form
    return form


_FORMS: WeakKeyDictionary[FactorModel, CanonicalForm] = WeakKeyDictionary()
"""The form of each model that was decomposed, as long as the model exists."""


def _decomposed(model: FactorModel, *, keep_left_mean: bool) -> CanonicalForm:
    """Compute a canonical form."""
    left, right = model.moments("left"), model.moments("right")
    # Products of two sides fit into float64 where no entry of a root is extreme; others are looked at row by row.
    if not model.link.unit_sides and not all(
        1e-90 < np.abs(side.root).max() < 1e90 for side in (left, right)
    ):
        require_ordinary_size(model)
    centred: tuple[SideName, ...] = model.centred_sides
    if keep_left_mean:
        centred = tuple(side for side in centred if side in model.free_shifts)
    left_root, right_root = (
        moments.centred_root if side in centred else moments.root
        for side, moments in (("left", left), ("right", right))
    )
    # P = O R_P and Q = O' R_Q with orthonormal O, O': the scores' singular values are those of the k×k R_P R_Qᵀ.
    u, s, vt = np.linalg.svd(left_root @ right_root.T)
    # Rows are known to their own rounding, what is left of them without their mean too.
    scale = _scale(left.root, right.root)
    resolution, rounding = (
        max(left.precision, right.precision) * scale,
        model.rank * EPS * scale,
    )
    # What a root was computed with, not what its rows are stored with, decides which directions it can whiten.
    roots = (
        max(
            (side.precision for side in (left, right) if side.route == "gram"),
            default=0.0,
        )
        * scale
    )
    rank, n_seen, firm = (
        int((s > least).sum())
        for least in (resolution, rounding, max(rounding, roots, FIRM * s[0]))
    )
    if rank == 0:
        raise InputError(
            "the scores must differ from zero; got factors whose products all vanish; check the input."
        )
    zero = np.zeros(model.rank)
    return CanonicalForm(
        singular_values=frozen(s),
        rank=rank,
        resolution=resolution,
        n_seen=n_seen,
        firm=firm,
        left_centre=left.mean if "left" in centred else zero,
        right_centre=right.mean if "right" in centred else zero,
        left=left,
        right=right,
        left_root=left_root,
        right_root=right_root,
        u=frozen(u),
        v=frozen(vt.T),
        shifts_left="left" in model.free_shifts,
        keeps_left_mean=keep_left_mean,
    )


def _scale(left_root: Matrix, right_root: Matrix) -> float:
    """Size of what is summed up in a score: `‖P D‖ ‖Q D⁻¹‖` with the D that evens out the columns.

    A rescaling of the columns loses no digits, so it must not count as a loss.
    """
    p, q = np.linalg.norm(left_root, axis=0), np.linalg.norm(right_root, axis=0)
    used = (p > 0) & (q > 0)
    if not used.any():
        return 0.0
    # With this D the columns of both sides have the same lengths.
    d = np.sqrt(q[used] / p[used])
    return float(
        np.linalg.norm(left_root[:, used] * d, 2)
        * np.linalg.norm(right_root[:, used] / d, 2)
    )


def at_exponent(model: FactorModel, exponent: float) -> FactorModel:
    """Return the equivalent model `P = U sᵉ, Q = V s¹⁻ᵉ`.

    Directions that no prediction sees are dropped, so its rank may be smaller; those that predictions hardly see
    (singular values below 1.5e-8 of the largest) stay as they are, in columns beside U and V. Means that the
    predictions leave free are removed and absorbed: into the biases where there are any, and for a softmax model
    without a bias into a new one. The objective stays named where it keeps its value, as under `Gauge.act`.

    Parameters
    ----------
    model : FactorModel
        With both sides; not one that predicts cosines, whose lengths are free and whose cosines are not.
    exponent : float
        From 0 to 1.

    Raises
    ------
    EquivalenceError
        If the model predicts cosines.
    InputError
        If a side is missing, or the exponent lies outside [0, 1].

    Examples
    --------
    >>> model = FactorModel.from_user_item([[3.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]])
    >>> np.abs(at_exponent(model, 0.0).right).round(12)
    array([[3., 0.],
           [0., 1.]])
    >>> for wrong in (-0.1, 1.1):
    ...     try:
    ...         at_exponent(model, wrong)
    ...     except InputError as error:
    ...         print(error)
    the exponent must be a number from 0 (left-whitened) to 1 (right-whitened); got -0.1.
    the exponent must be a number from 0 (left-whitened) to 1 (right-whitened); got 1.1.
    >>> at_exponent(model.replace(link="cosine"), 0.5)
    Traceback (most recent call last):
        ...
    embaudit.errors.EquivalenceError: a model at another exponent must predict the same; got one that predicts cosines,
    which every exponent but its own changes; read its identified cosines instead.
    """
    require_exponent(exponent)
    require_both_sides(model, "a model at another exponent")
    form = canonical_form(model)
    if model.predicts is Equivalence.COSINES:
        text = "a model at another exponent must predict the same; got one that predicts cosines, which every exponent"
        raise EquivalenceError(
            f"{text} but its own changes; read its identified cosines instead."
        )
    return model_at(model, exponent, form)


def model_at(model: FactorModel, exponent: float, form: CanonicalForm) -> FactorModel:
    """Return the equivalent model at an exponent; `form` must be the form of the model."""
    return model.replace(
        left=form.view(model.factors("left"), "left", exponent).stored(),
        right=form.view(model.right, "right", exponent).stored(),
        objective=objective_at(model, form, exponent),
        **absorbed_biases(model, form.left_centre, form.right_centre),
    )


def shifted_sides(
    model: FactorModel, centres: Mapping[SideName, Vector]
) -> tuple[SideName, ...]:
    """List the sides that move, beyond rounding, when their centres are subtracted."""

    def moves(side: SideName, centre: Vector) -> bool:
        rounding = (
            model.rank
            * np.finfo(model.factors(side).dtype).eps
            * np.abs(model.moments(side).root).max()
        )
        return bool(np.linalg.norm(centre) > rounding)

    return tuple(side for side, centre in centres.items() if moves(side, centre))


def objective_at(
    model: FactorModel, form: CanonicalForm, exponent: float
) -> str | None:
    """Return the objective of a model where it keeps its value at an exponent; None where it does not."""
    shifts = shifted_sides(
        model, {"left": form.left_centre, "right": form.right_centre}
    )
    # A bias that was not there makes a larger family of models, whose minimum may lie lower.
    if model.objective is None or ("left" in shifts and not form.shifts_left):
        return None
    gauge = form.gauge(exponent)
    return kept_objective(
        model.objective, Linear.ANY if gauge is None else gauge.linear_kind, shifts
    )


def absorbed_biases(
    model: FactorModel, left_centre: Vector, right_centre: Vector
) -> dict[str, Vector]:
    """Return the biases that keep the predictions when the centres are subtracted from the rows.

    `p·q = (p − c)·(q − d) + (q − d)·c + p·d`: the middle term goes to the right bias, the last to the left
    one, or nowhere where a row of scores is known up to a constant only.
    """

    def popularity(side: SideName, centre: Vector, vector: Vector) -> Vector:
        blocks = (
            model.seen(side, block) for _, block in float64_blocks(model.factors(side))
        )
        return np.concatenate([(block - centre) @ vector for block in blocks])

    biases: dict[str, Vector] = {}
    if left_centre.any():
        added = popularity("right", right_centre, left_centre)
        biases["right_bias"] = (
            added if model.right_bias is None else model.right_bias + added
        )
    if right_centre.any() and model.left_bias is not None:
        added = popularity("left", np.zeros(model.rank), right_centre)
        biases["left_bias"] = model.left_bias + added
    return biases
