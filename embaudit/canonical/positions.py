"""Place of a model among its equivalents: the nearest exponent and how far every canonical gauge is.

The distance between two gauges that cosines can feel is ln κ of the step between them, which is half of
Hilbert's projective metric between their metrics `S = M Mᵀ`.
"""

from __future__ import annotations

import numpy as np

from embaudit.canonical.balance import balanced_maps
from embaudit.canonical.form import EXPONENTS, CanonicalForm, canonical_form, require_both_sides, require_form_of
from embaudit.canonical.library_scaling import log_condition, recognise
from embaudit.canonical.position import HiddenBias, Position
from embaudit.canonical.row_span import in_span
from embaudit.core.checked import Floats, frozen
from embaudit.io import as_model
from embaudit.io.files import AnyPath
from embaudit.linalg.moments import Moments
from embaudit.model import FactorModel, SideName


def position(model: FactorModel | AnyPath | object, *, form: CanonicalForm | None = None) -> Position:
    """Locate a model among its equivalents.

    A model of very many columns is looked at in the dimensions that its rows span, where no column is constant.

    Parameters
    ----------
    model : FactorModel, path or object
        With both sides, or what `embaudit.io.as_model` makes it of.
    form : CanonicalForm, optional
        The form of this model, where it is at hand already.

    Raises
    ------
    InputError
        If a side is missing, every score is zero, or the form is that of another model.

    Examples
    --------
    >>> scores = np.diag([9.0, 4.0, 1.0])
    >>> where = position(FactorModel.from_user_item(scores, np.eye(3)))
    >>> where
    Position(exponent 1.00, ln κ 0 off, effective rank 3 of 3, UΣ, V)
    >>> {name: round(float(np.exp(d)), 9) for name, d in where.distances.items()}
    {'left-whitened': 9.0, 'balanced': 3.0, 'right-whitened': 1.0}
    """
    model = as_model(model)
    require_both_sides(model, "the gauge position")
    rank = model.rank
    if form is None:
        model = in_span(model)
        form = canonical_form(model)
    else:
        spanned = isinstance(form, CanonicalForm) and len(form.left_centre) != rank
        model = in_span(model) if spanned else model
        require_form_of(model, form)
    exponent, distance = nearest_exponent(form)
    counted = balanced_maps(model, counted=True)
    # Rows that have interactions may not span what the predictions see.
    if counted is not None and counted.linear["left"].shape[1] < form.rank:
        counted = None
    return Position(
        roles=model.roles,
        link=model.link,
        exponent=exponent,
        distance=distance,
        distances={name: log_condition(form, e) for name, e in EXPONENTS.items()},
        counted_distance=None if counted is None else float(np.log(counted.condition_number)),
        balancedness=frozen(balancedness(form)),
        singular_values=frozen(form.singular_values[: form.rank]),
        rank=rank,
        resolution=form.resolution,
        habit=recognise(form),
        hidden_biases=hidden_biases("left", form.left) + hidden_biases("right", form.right),
        form=form,
    )


def nearest_exponent(form: CanonicalForm) -> tuple[float, float]:
    """Minimise ln κ over e in [0, 1]: convex in e, since the norms of `A sᵉ` and of its inverse are log-convex.

    Returns
    -------
    exponent, ln κ
    """
    s = form.singular_values[: form.rank]
    if s[0] - s[-1] <= 64 * form.rank * np.finfo(np.float64).eps * s[0]:
        return 0.5, log_condition(form, 0.5)  # every exponent is the same gauge
    from scipy.optimize import minimize_scalar

    minimum = minimize_scalar(
        lambda e: log_condition(form, e), bounds=(0, 1), method="bounded", options={"xatol": 1e-6}
    )
    # A bounded search ends near the minimum, not at it: the named exponents are tried as themselves.
    candidates = {float(minimum.x): float(minimum.fun)} | {e: log_condition(form, e) for e in EXPONENTS.values()}
    return min(((e, d) for e, d in candidates.items()), key=lambda pair: pair[1])


def balancedness(form: CanonicalForm) -> Floats:
    """Compute the eigenvalues of `(PᵀP)^-½ (QᵀQ) (PᵀP)^-½`, as squared singular values of `R_Q R_P⁻¹`."""
    ratio = form.right_root @ np.linalg.pinv(form.left_root, rcond=form.left.precision)
    values: Floats = np.linalg.svd(ratio, compute_uv=False)[: form.rank] ** 2
    return values


def hidden_biases(role: SideName, side: Moments) -> tuple[HiddenBias, ...]:
    """Find what one side has alike in every row: columns, or else one direction that mixes them.

    Examples
    --------
    >>> from embaudit.linalg.moments import moments
    >>> hidden_biases("right", moments(np.array([[1.0, 3.0], [2.0, 3.0], [5.0, 3.0]])))
    (HiddenBias(role='right', column=1, value=3.0...),)
    """
    columns = side.constant_columns
    if columns:
        return tuple(HiddenBias(role, column, float(side.mean[column])) for column in columns)
    if side.n_rows <= len(side.mean) + 1:
        return ()  # so few rows lie on a plane whatever they are
    _, spread, directions = np.linalg.svd(side.centred_root)
    still = directions[spread <= 16 * side.precision * max(spread[0], np.linalg.norm(side.mean))]
    levels = still @ side.mean
    value = float(np.linalg.norm(levels))
    is_bias = value > np.sqrt(side.precision) * np.linalg.norm(side.mean)
    return (HiddenBias(role, None, value),) if is_bias and value else ()
