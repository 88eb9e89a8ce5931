"""Equivalent models of unit rows in which cosines within a side differ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from embaudit.canonical.moved import moved_cosines
from embaudit.canonical.pinning import Flip, Models, Pinning, Reason, Status
from embaudit.canonical.quadratic_forms import Span, n_forms, pack, unpack
from embaudit.canonical.row_span import rows_space
from embaudit.core.checked import Floats, frozen
from embaudit.core.ties import first_best, first_largest, largest_first
from embaudit.core.tolerances import EPS, FORM_SIZE, MIN_MOVEMENT, ROUNDING, TIE
from embaudit.gauges import Gauge
from embaudit.linalg.rows import unit_rows
from embaudit.model import OPPOSITE, FactorModel, SideName

CANDIDATE_PAIRS = 48
"""Number of pairs of labels that a witness of a head is made to move."""
CANDIDATE_DRAWS = 8
"""Number of free forms of a head that are drawn at random."""


def with_movement(model: FactorModel, pinning: Pinning) -> Pinning | None:
    """Measure how far the equivalent model of a verdict moves the cosines.

    Returns
    -------
    Pinning or None
        None if no cosine of unit rows moves by more than `MIN_MOVEMENT`.
    """
    twin = pinning.twin(model)
    moved = {}
    residual = largest = 0.0
    for side in model.sides:
        moved[side] = moved_cosines(model.factors(side), twin.factors(side))
        if side in model.link.unit_sides:
            largest = max(largest, moved[side].max_abs)
            lengths = twin.side(side).norms[model.side(side).directed]
            error = float(np.abs(lengths - 1).max(initial=0.0))
            residual = max(residual, error)
    if largest <= MIN_MOVEMENT:
        return None
    return replace(pinning, moved=moved, residual=residual)


def find_reflection(
    model: FactorModel, side: SideName, models: Models
) -> Pinning | None:
    """Show that rows of a side may differ in directions that the other side lacks.

    Components outside the span of the other side take part in no prediction, so each
    row can be reflected there independently of the other rows.

    Returns
    -------
    Pinning or None
        None if the other side is missing, or if the rows have no such components.
    """
    other = OPPOSITE[side]
    if other not in model.sides:
        return None
    space = rows_space(model, other, model.free_shifts)
    n_unseen = model.rank - space.shape[1]
    unseen = np.eye(model.rank) - space @ space.T
    outside = unit_rows(model.factors(side), none=0) @ unseen
    if n_unseen == 0 or np.abs(outside).max() < MIN_MOVEMENT:
        return None
    # Reflect every second row in the order of their components along the longest one,
    # so that pairs of rows in one direction come apart.
    longest = first_largest(np.einsum("ij,ij->i", outside, outside), TIE)
    order = largest_first(np.abs(outside @ outside[longest]), TIE)
    reflected = np.sort(order[::2])
    pinning = Pinning(
        Status.FREE,
        Reason.REACHES_INTO_UNSEEN,
        models,
        rank=0,
        needed=n_forms(model.rank),
        roles=model.roles,
        side=side,
        number=n_unseen,
        flip=Flip(side, frozen(reflected), frozen(unseen)),
    )
    return with_movement(model, pinning)


def find_equivalent_head(
    model: FactorModel,
    span: Span,
    pinning: Pinning,
    max_condition: float,
    draw: np.random.Generator,
    *,
    affine: bool,
) -> Pinning | None:
    """Find the equivalent head that moves the cosines of labels the most.

    Every form that vanishes on the labels gives an equivalent head. The forms that are
    tried move some drawn pairs the most, or are random.

    Parameters
    ----------
    model : FactorModel
        A softmax head of unit labels.
    span : Span
        The span of the lifts of the labels.
    pinning : Pinning
        The verdict that the head would show.
    max_condition : float
        κ of the gauge.
    draw : numpy Generator
        Draws pairs and forms.
    affine : bool
        Whether forms have a linear part.

    Returns
    -------
    Pinning or None
        None if no tried head has unit labels and moves a cosine.
    """
    units = unit_rows(model.right[model.right_side.directed])
    rounding = 64 * model.rank * EPS * max_condition**2
    shown = []
    for form in _free_forms(span, units, draw, affine=affine):
        witness = head_gauge(form, model.rank, max_condition)
        found = with_movement(model, replace(pinning, witness=witness))
        if found is not None and found.residual <= rounding:
            shown.append(found)
    if not shown:
        return None
    return first_best(shown, lambda found: found.moved["right"].max_abs, TIE)


def _free_forms(
    span: Span, units: Floats, draw: np.random.Generator, *, affine: bool
) -> Iterator[Floats]:
    """Yield forms of norm 1 that vanish on all labels, each with both signs."""
    # A form T with linear part g moves the cosine of labels i and j by its value at
    # them. So project the functional uᵢᵀ T uⱼ, or uᵢᵀ T uⱼ + g·(uᵢ + uⱼ), onto the free
    # forms.
    i, j = draw.integers(len(units), size=(2, CANDIDATE_PAIRS))
    products = np.einsum("ni,nj->nij", units[i], units[j])
    functionals = pack((products + products.transpose(0, 2, 1)) / 2)
    if affine:
        functionals = np.hstack([functionals, units[i] + units[j]])
    random = draw.standard_normal((CANDIDATE_DRAWS, functionals.shape[1]))
    forms = (np.vstack([functionals, random]) @ span.free) @ span.free.T
    sizes = np.linalg.norm(forms, axis=1)
    forms = forms[sizes > FORM_SIZE] / sizes[sizes > FORM_SIZE, None]
    yield from forms
    yield from -forms


def head_gauge(form: Floats, k: int, max_condition: float) -> Gauge:
    """Return the gauge of a head that a free form gives.

    Labels become `u' = N u + v` with `N² = s (I + tT)` and `N v = s t g / 2`. On every
    label `uᵀTu + g·u = 0`, so that `‖u'‖² = s + ‖v‖²`. With `h = t g / 2` this is 1 for
    `s = 1 / (1 + hᵀ (I + tT)⁻¹ h)`. The inputs take N⁻¹.

    Parameters
    ----------
    form : array of shape (N,)
        T and, for affine forms, g as `pack` lists them.
    k : int
        Number of dimensions.
    max_condition : float
        Bound of κ(N), which limits t.
    """
    n_quadratic = n_forms(k)
    linear_part = np.zeros(k)
    if len(form) > n_quadratic:
        linear_part = form[n_quadratic:]
    values, vectors = np.linalg.eigh(unpack(form[:n_quadratic], k))
    # For the largest eigenvalue `high` and the smallest one `−low` of T,
    # κ(N)² = (1 + t high) / (1 − t low) ≤ κ² holds up to
    # t = (κ² − 1) / (high + κ² low). If T vanishes, the size of the form limits t.
    low, high = -min(values[0], 0.0), max(values[-1], 0.0)
    by_condition = (max_condition**2 - 1) / max(high + max_condition**2 * low, ROUNDING)
    by_size = 2.0 / max(float(np.linalg.norm(form)), ROUNDING) * max_condition
    t = min(by_condition, by_size)
    stretched = 1 + t * values
    h = vectors.T @ (t * linear_part / 2)
    s = 1 / (1 + float(h @ (h / stretched)))
    scales = np.sqrt(s * stretched)
    shift = vectors @ (s * h / scales)
    # A gauge multiplies left rows by M and right rows by M⁻ᵀ.
    linear = Gauge.from_svd(vectors, 1 / scales, vectors.T)
    return Gauge(linear.left, linear.right, None, shift)  # type: ignore[arg-type]
