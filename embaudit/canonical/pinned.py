"""The test whether predictions of unit rows pin the cosines within each side.

A model of cosines keeps `p̂ · q̂`, so its gauges are the metrics `S = M Mᵀ` with `p̂ᵀ S
p̂ = 1` and `q̂ᵀ S⁻¹ q̂ = 1` on all unit rows. A normalised head keeps `x · ŵ` up to a
number for each input x. The inputs are learned, so only the labels restrict a gauge:
`ŵ' = N ŵ + v` may be anything that has length 1 on every label.

The test counts constraints. It does not search for a second metric of two sides
(docs/theory.md, "Rows of length 1 may pin the rest"). Dividing rows by their length
*after* training pins nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from embaudit.canonical.pinning import Models, Pinning, Reason, Remedy, Status
from embaudit.canonical.quadratic_forms import (
    LARGEST,
    LARGEST_SHOWN,
    Span,
    form_rounding,
    n_forms,
    on_no_hyperplane,
    span_of,
)
from embaudit.canonical.row_span import (
    n_directions,
    outside_shares,
    rows_space,
    spanning_bases,
    turned,
    used_dimensions,
)
from embaudit.canonical.tight_frames import forms_tight_frame
from embaudit.canonical.witnesses import find_equivalent_head, find_reflection
from embaudit.core.checked import RNG, Floats, as_generator, frozen, is_number
from embaudit.core.tolerances import (
    EPS,
    FRAME_LOSS,
    HIDING_FRAME_LOSS,
    MIN_MOVEMENT,
    USED_SHARE,
)
from embaudit.errors import must_be
from embaudit.gauges import Gauge
from embaudit.linalg.rows import unit_rows
from embaudit.model import OPPOSITE, FactorModel, SideName
from embaudit.model.sizes import require_model
from embaudit.model.trainings import known_objective

SPARE = 4
"""Above the size that is counted, one row per so many numbers of a form is needed in
addition to one row per number."""
Roundings: TypeAlias = Mapping[SideName, float]
"""The `form_rounding` of each side as stored."""


def pinned_test(
    model: FactorModel,
    *,
    whole: FactorModel | None = None,
    max_condition: float = 3.0,
    rng: RNG = 0,
) -> Pinning:
    """Test whether predictions of unit rows pin the cosines within each side.

    The test decides in the dimensions that the rows span. If rounding may have made
    some of these dimensions, it decides with and without them. If the results differ,
    it is undecided.

    Parameters
    ----------
    model : FactorModel
        Its link divides one side or both by their lengths.
    whole : FactorModel, optional
        The model with all rows, if `model` has a sample of them. The test decides in
        the dimensions that all rows span.
    max_condition : float
        κ of the witness of a head.
    rng : numpy Generator or int, optional
        Draws the pairs of labels that a witness may move the most.

    Returns
    -------
    Pinning
        The answer (pinned, free or undecided), and a model that shows a movement.

    Raises
    ------
    InputError
        If the link divides no side, or the condition number is not above 1.

    Examples
    --------
    Three axes and their opposites, as labels: 6 constraints on 9 numbers.

    >>> from embaudit.model import FactorModel, softmax_link
    >>> axes = np.vstack([np.eye(3), -np.eye(3)])
    >>> head = FactorModel.from_softmax(axes, link=softmax_link(unit_rows=True))
    >>> found = pinned_test(head)
    >>> found, round(found.largest, 9)
    (Pinning(free, 6 of 9 constraints), 0.8)
    >>> pinned_test(head.take(right=np.array([0]))).because
    'one label makes no pair'

    Two axes leave one of three numbers of a metric open, and a third direction fixes
    it.

    >>> corner = FactorModel.from_user_item(np.eye(2), np.eye(2), link="cosine")
    >>> pinned_test(corner)
    Pinning(undecided, 2 of 3 constraints)
    >>> pinned_test(corner.replace(right=[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]))
    Pinning(pinned, 3 of 3 constraints)
    >>> pinned_test(FactorModel.from_vectors(np.eye(2), compared="dot"))
    Pinning(pinned, 3 of 3 constraints)
    """
    if whole is None:
        whole = model
    require_model(model, whole)
    if model.compared is None and not model.link.unit_sides:
        raise must_be(
            "the link",
            "a link that divides rows by their lengths",
            model.link.name,
            "use `audit` instead",
        )
    if not is_number(max_condition) or max_condition <= 1:
        raise must_be("max_condition", "a number above 1", repr(max_condition))
    draw = as_generator(rng)
    # A rotation hides the format in which rows were rounded, so it is read before.
    rounding = {side: form_rounding(model.factors(side)) for side in model.sides}
    results = []
    for basis in spanning_bases(whole):
        pinning = _decide(turned(model, basis), rounding, max_condition, draw)
        results.append(_in_columns(pinning, model.rank, basis))
    without, result = results[0], results[-1]
    if without.status is result.status:
        return result
    return Pinning(
        Status.UNDECIDED,
        Reason.ROUNDING_DECIDES,
        result.models,
        result.rank,
        result.needed,
        roles=model.roles,
        number=result.dimensions - without.dimensions,
        among=model.rank,
        alternatives=(without.status, result.status),
        remedy=Remedy.MORE_DIGITS,
        dimensions=result.dimensions,
        width=result.width,
    )


def _in_columns(pinning: Pinning, k: int, basis: Floats | None) -> Pinning:
    """Express the result for rows `x @ basis` in the k columns of x."""
    if basis is None:
        return replace(pinning, dimensions=k, width=k)
    pinning = replace(pinning, dimensions=basis.shape[1], width=k)
    if pinning.flip is not None:
        unseen = frozen(basis @ pinning.flip.unseen @ basis.T)
        pinning = replace(pinning, flip=replace(pinning.flip, unseen=unseen))
    if pinning.witness is not None:
        # Dimensions that no row uses are stretched as much as the longest other one, so
        # that the condition number stays.
        gauge = pinning.witness
        unused = np.eye(k) - basis @ basis.T
        stretch = float(np.linalg.norm(gauge.left, 2))
        witness = Gauge(
            basis @ gauge.left @ basis.T + stretch * unused,
            basis @ gauge.right @ basis.T + unused / stretch,
            basis @ gauge.left_shift,
            basis @ gauge.right_shift,
        )
        pinning = replace(pinning, witness=witness)
    return pinning


def _decide(
    model: FactorModel,
    rounding: Roundings,
    max_condition: float,
    draw: np.random.Generator,
) -> Pinning:
    """Decide for a model whose rows span every column."""
    if model.compared is not None:
        return _decide_one_table(model)
    if "left" in model.link.unit_sides:
        if model.left is None:
            return _decide_one_side(model, rounding)
        return _decide_both_sides(model, rounding)
    shown = find_reflection(model, "right", Models.HEADS)
    if shown is not None:
        return shown
    return _decide_head(model, rounding, max_condition, draw)


def _verdict(
    model: FactorModel,
    status: Status,
    reason: Reason,
    models: Models,
    rank: int,
    needed: int,
    **fields: Any,
) -> Pinning:
    """Make a result with the titles of the model."""
    return Pinning(status, reason, models, rank, needed, roles=model.roles, **fields)


def _too_large(model: FactorModel, models: Models, needed: int) -> Pinning:
    """Return the undecided result for forms of more numbers than are tried."""
    rank = _most_constraints(model, needed)
    return _verdict(model, Status.UNDECIDED, Reason.TOO_LARGE, models, rank, needed)


def _most_constraints(model: FactorModel, needed: int) -> int:
    """Bound the constraints of a span that was not counted: a row adds one at most."""
    n = 0
    for side in model.link.unit_sides:
        if side in model.sides:
            n += n_directions(model, side)
    return min(n, needed)


# One table, and one side without the other


def _decide_one_table(model: FactorModel) -> Pinning:
    """Conclude for rows whose cosines or products with each other are predicted.

    Products of different generic rows fix the lengths, too, strictly beyond Ledermann's
    bound `(n − k)² > n + k` (Bekker and ten Berge, 1997). Up to the bound they may
    leave lengths open, or a few to choose from.
    """
    n, k = model.n_right, model.rank
    reason = Reason.COMPARED_BY_COSINE
    if model.compared == "dot":
        reason = Reason.COMPARED_BY_PRODUCT
        if n <= k or (n - k) ** 2 <= n + k:
            reason = Reason.COMPARED_BY_PRODUCT_OF_FEW
    needed = n_forms(k)
    return _verdict(
        model,
        Status.PINNED,
        reason,
        Models.TABLES,
        needed,
        needed,
        number=n,
        among=k,
    )


def _decide_one_side(model: FactorModel, rounding: Roundings) -> Pinning:
    """Decide without the other side: pinned if the lifts of this side span everything.

    If the cosines go through a softmax, equivalent rows are `N (q + w)`, so the forms
    with a linear part must be spanned. Otherwise there can be other rows: all triangles
    on a circle are affine images of each other, and in two dimensions four other rows
    `±(a, b)`, `±(a, −b)` may keep their lengths.
    """
    affine = _hides_a_number(model)
    models = Models.GAUGES
    if affine:
        models = Models.AFFINE
    needed = n_forms(model.rank, affine=affine)
    if needed > LARGEST_SHOWN:
        return _too_large(model, models, needed)
    span = span_of(model.right, affine=affine, rounding=rounding["right"])
    rank = span.rank
    if span.is_full:
        return _verdict(model, Status.PINNED, Reason.FIXES_ALL, models, rank, needed)
    if needed > LARGEST:
        reason = Reason.SIDE_NOT_SHOWN
        rank = _most_constraints(model, needed)
    elif span.is_nearly_full:
        reason = Reason.NEARLY_LEAVES_A_FORM
    else:
        reason = Reason.LEAVES_DIRECTIONS
    undecided = _verdict(
        model,
        Status.UNDECIDED,
        reason,
        models,
        rank,
        needed,
        remedy=Remedy.OTHER_SIDE,
    )
    return _with_missing_rows(model, undecided, {"right": span}, rounding)


def _with_missing_rows(
    model: FactorModel,
    pinning: Pinning,
    spans: Mapping[SideName, Span],
    rounding: Roundings,
) -> Pinning:
    """Add to an undecided test how many further rows of one side would decide it.

    Nothing is added if rows of a side depend on each other, as on a cone, because
    further rows of the same model may depend on each other, too.
    """
    hides = _hides_a_number(model)
    if n_forms(model.rank, affine=hides) > LARGEST_SHOWN:
        return pinning
    missing: dict[SideName, int] = {}
    for side, span in spans.items():
        n = n_directions(model, side)
        is_counted = span.needed <= LARGEST
        if n >= span.needed or (is_counted and span.rank < n):
            return pinning
        # Behind a softmax, left rows decide only if no hyperplane holds the right rows.
        needs_no_plane = hides and side == "left"
        stored = rounding["right"]
        if needs_no_plane and not on_no_hyperplane(model.right, rounding=stored):
            continue
        # Right rows alone must also fix what a softmax hides; see `_fixes_the_number`.
        needed = n_forms(model.rank, affine=hides and side == "right")
        missing[side] = needed - n
        if needed > LARGEST:
            # A full span is recognised with a few more rows than numbers.
            missing[side] += needed // SPARE
    return replace(pinning, rows_missing=missing)


# Two sides of unit rows


def _decide_both_sides(model: FactorModel, rounding: Roundings) -> Pinning:
    """Decide from both sides.

    The cosines are free if one side does not see a direction of the other. They are
    pinned by the lifts of one side, or by both sides as tight frames. These conditions
    are sufficient, not necessary.
    """
    for side in model.sides:
        shown = find_reflection(model, side, Models.SAME_RANK)
        if shown is not None:
            return shown
    used = used_dimensions(model, most_outside=MIN_MOVEMENT / 2)
    if used.shape[1] < model.rank:
        return _decide_by_frames(model, used)
    return _decide_by_lifts(model, rounding)


def _decide_by_frames(model: FactorModel, used: Floats) -> Pinning:
    """Decide from the few dimensions that hold both sides.

    The parts of the rows outside of these dimensions move no stored cosine by
    `MIN_MOVEMENT`. A metric of all dimensions may stretch these parts very far, so
    lifts of the rows prove nothing. Tight frames prove that the cosines are pinned,
    because they rule out models of any width.
    """
    r, k = used.shape[1], model.rank
    needed = n_forms(r)
    rows = {side: unit_rows(model.factors(side) @ used) for side in model.sides}
    shares = [outside_shares(model.factors(side), used).max() for side in model.sides]
    outside = float(max(shares))
    hides = _hides_a_number(model)
    most_lost = FRAME_LOSS
    if hides:
        most_lost = HIDING_FRAME_LOSS
    is_pinned = (
        r * outside <= most_lost
        and forms_tight_frame(rows["left"])
        and forms_tight_frame(rows["right"], centred=hides)
    )
    status, reason = Status.UNDECIDED, Reason.HARDLY_USED_DIMENSIONS
    if is_pinned:
        status, reason = Status.PINNED, Reason.TIGHT_FRAMES
        rank = needed
    elif needed > LARGEST:
        rank = _most_constraints(model, needed)
    else:
        rank = span_of(*rows.values()).rank
    return _verdict(
        model,
        status,
        reason,
        Models.USED_DIMENSIONS,
        rank,
        needed,
        number=r,
        among=k,
        outside=outside,
    )


def _decide_by_lifts(model: FactorModel, rounding: Roundings) -> Pinning:
    """Decide from both sides whose rows use every dimension.

    If the lifts of one side span everything, S = I on that side (docs/theory.md, "Rows
    of length 1 may pin the rest"). An equivalent model is a linear image of this one if
    the other side has full column rank.
    """
    needed = n_forms(model.rank)
    if needed > LARGEST_SHOWN:
        return _too_large(model, Models.SAME_RANK, needed)
    spans: dict[SideName, Span] = {}
    for side in model.sides:
        spans[side] = span_of(model.factors(side), rounding=rounding[side])
    undecided = _why_lifts_do_not_decide(model, spans, rounding)
    if undecided is None:
        full: SideName = "left"
        if spans["right"].is_full:
            full = "right"
        return _verdict(
            model,
            Status.PINNED,
            Reason.FIXES_ALL,
            Models.SAME_RANK,
            needed,
            needed,
            side=full,
        )
    reason, side, remedy = undecided
    if needed > LARGEST:
        rank = _most_constraints(model, needed)
    else:
        # To first order, S and S⁻¹ are bound by the lifts of both sides together.
        rank = span_of(*(model.factors(side) for side in model.sides)).rank
    pinning = _verdict(
        model,
        Status.UNDECIDED,
        reason,
        Models.SAME_RANK,
        rank,
        needed,
        side=side,
        among=model.rank,
        remedy=remedy,
    )
    return _with_missing_rows(model, pinning, spans, rounding)


def _why_lifts_do_not_decide(
    model: FactorModel, spans: Mapping[SideName, Span], rounding: Roundings
) -> tuple[Reason, SideName, Remedy] | None:
    """Return the reason, its side, and what would decide; None if the lifts decide."""
    if spans["right"].is_full:
        full: SideName = "right"
    elif spans["left"].is_full:
        full = "left"
    elif spans["right"].is_nearly_full:
        return Reason.NEARLY_LEAVES_A_FORM, "right", Remedy.NONE
    elif spans["left"].is_nearly_full:
        return Reason.NEARLY_LEAVES_A_FORM, "left", Remedy.NONE
    else:
        return Reason.NO_SIDE_ALONE, "right", Remedy.NONE
    other = OPPOSITE[full]
    if not _has_every_direction(model, other, rounding[other]):
        return Reason.FIXES_ALL_BUT_OTHER_LACKS_DIRECTIONS, full, Remedy.NONE
    if _hides_a_number(model) and not _fixes_the_number(model, spans, rounding):
        remedy = Remedy.RIGHT_ROWS
        if spans["left"].is_full:
            remedy = Remedy.RIGHT_ROW_OFF_THE_HYPERPLANE
        return Reason.FIXES_ALL_BUT_HIDDEN_NUMBERS, full, remedy
    return None


def _has_every_direction(model: FactorModel, side: SideName, rounding: float) -> bool:
    """Check beyond rounding that the rows of a side span every dimension."""
    if rows_space(model, side, model.free_shifts).shape[1] < model.rank:
        return False
    # Rows of float32 that were widened to float64 span dimensions by rounding alone. So
    # some row must hold more of its squared length there than rounding leaves.
    rows = FactorModel.from_vectors(model.factors(side))
    clearly_used = used_dimensions(rows, most_outside=max(USED_SHARE, rounding**2 / 4))
    return bool(clearly_used.shape[1] == model.rank)


def _hides_a_number(model: FactorModel) -> bool:
    """Check for cosines behind a softmax, which hides one number per left row."""
    law = known_objective(model.objective, alone=model.left is None)
    return law is not None and law.name == "fixed-temperature"


def _fixes_the_number(
    model: FactorModel, spans: Mapping[SideName, Span], rounding: Roundings
) -> bool:
    """Check that no number per row can be added to the cosines at the same rank.

    Let `P'Q'ᵀ = PQᵀ + a 1ᵀ` with unit rows, P and Q of full column rank k. If 1 is no
    combination of the columns of Q, then `a = P w`, because the rank would grow
    otherwise, so that `q' = N(q + w)` and `p' = N⁻ᵀ p`. If the lifts of P span all
    forms, N is a rotation, and `‖q + w‖ = 1` for all q puts them on one hyperplane
    unless w is 0. If the lifts of Q span all forms with a linear part, N is a rotation
    and w is 0 at once.
    """
    stored = rounding["right"]
    if spans["left"].is_full and on_no_hyperplane(model.right, rounding=stored):
        return True
    return span_of(model.right, affine=True, rounding=stored).is_full


# Heads of unit labels


def _decide_head(
    model: FactorModel,
    rounding: Roundings,
    max_condition: float,
    draw: np.random.Generator,
) -> Pinning:
    """Decide from the labels alone: each form that they leave free is a free head."""
    models = Models.HEADS
    # Under a soft cap no number may be added to a row of scores.
    is_capped = model.link.soft_cap is not None
    affine = not is_capped
    needed = n_forms(model.rank, affine=affine)
    if needed > LARGEST_SHOWN:
        free = _with_fewer_labels(model, needed)
        if free is None:
            return _too_large(model, models, needed)
        return free
    span = span_of(model.right, affine=affine, rounding=rounding["right"])
    rank = span.rank
    if span.is_full and is_capped:
        status, reason = Status.UNDECIDED, Reason.FIXES_ALL_BUT_CAPPED
    elif span.is_full:
        status, reason = Status.PINNED, Reason.FIXES_ALL
    elif span.is_nearly_full:
        status, reason = Status.UNDECIDED, Reason.NEARLY_LEAVES_A_FORM
    elif len(model.right_side.directed) < 2:
        status, reason = Status.PINNED, Reason.ONE_ROW
    elif affine and _have_one_direction(model):
        status, reason = Status.FREE, Reason.ONE_DIRECTION
    else:
        return _free_head(model, span, max_condition, draw, affine=affine)
    return _verdict(model, status, reason, models, rank, needed)


def _have_one_direction(model: FactorModel) -> bool:
    """Return True if all labels that are not zero have the same direction."""
    units = unit_rows(model.right[model.right_side.directed])
    return bool(np.abs(units - units[0]).max() <= 4 * EPS)


def _free_head(
    model: FactorModel,
    span: Span,
    max_condition: float,
    draw: np.random.Generator,
    *,
    affine: bool,
) -> Pinning:
    """Show an equivalent head that a free form gives, if it moves a cosine."""
    n, needed = len(model.right_side.directed), span.needed
    is_counted = needed <= LARGEST
    rank = span.rank
    if not is_counted:
        rank = _most_constraints(model, needed)
    reason = Reason.LEAVES_NUMBERS
    if n < needed:
        reason = Reason.TOO_FEW_ROWS
    free = _verdict(
        model,
        Status.FREE,
        reason,
        Models.HEADS,
        rank,
        needed,
        number=n,
        among=model.rank,
    )
    shown = find_equivalent_head(model, span, free, max_condition, draw, affine=affine)
    if shown is not None:
        return shown
    if is_counted:
        return replace(free, status=Status.UNDECIDED, reason=Reason.NOTHING_MOVED)
    fewer_labels = _with_fewer_labels(model, needed)
    if fewer_labels is not None:
        return fewer_labels
    return replace(free, status=Status.UNDECIDED, reason=Reason.LABELS_NOT_SHOWN)


def _with_fewer_labels(model: FactorModel, needed: int) -> Pinning | None:
    """Conclude without a witness that fewer labels than numbers leave a form free.

    Each label fixes one number of a form, so some form vanishes on all labels. If
    labels span every dimension, it moves the cosine of some pair.
    """
    k, n = model.rank, len(model.right_side.directed)
    if n >= n_forms(k):
        return None
    if rows_space(model, "right", model.free_shifts).shape[1] < k:
        return None
    return _verdict(
        model,
        Status.FREE,
        Reason.TOO_FEW_ROWS,
        Models.HEADS,
        n,
        needed,
        number=n,
        among=k,
    )
