"""Cosines within a side that predictions pin, in models that divide rows by their length.

A model of cosines keeps `p̂ · q̂`: gauges `S = M Mᵀ` with `p̂ᵀ S p̂ = 1` and `q̂ᵀ S⁻¹ q̂ = 1` on all rows. A normalised
head keeps `x · ŵ` up to a number for each x, and x is learned, so only the labels have a say: `ŵ' = N ŵ + v` may be
anything that has length 1 on every label, a translation included. Normalising *after* training pins nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from embaudit.canonical.pinning import TABLE, Flip, Moved, Pinning
from embaudit.canonical.quadratic_span import (
    EPS,
    LARGEST,
    LARGEST_SHOWN,
    Span,
    n_forms,
    packed,
    span_of,
    symmetric,
    tangent,
)
from embaudit.canonical.second_metric import certified_stretch, cone_stretch, second_metrics
from embaudit.core.checked import RNG, Floats, Matrix, as_generator, frozen, is_number
from embaudit.core.words import counted
from embaudit.errors import must_be
from embaudit.gauges import Gauge
from embaudit.linalg.duplicates import duplicate_representatives
from embaudit.linalg.pairs import draw_pairs, pair_cosines
from embaudit.linalg.rows import unit_rows
from embaudit.model import OPPOSITE, FactorModel, SideName
from embaudit.model.sizes import require_model

MIN_MOVEMENT = 1e-3
"""A movement below this shows nothing: rounding in a constraint that only bends leaves its fourth root. Nor does any
that a proof leaves open; a metric of condition exp(t) moves no cosine by more than t."""
PAIRS = 20_000
"""Pairs of a side that movements are taken from."""
CANDIDATES = 48
"""Directions among which a head's witness is chosen."""


def pinned_test(model: FactorModel, *, max_condition: float = 3.0, rng: RNG = 0) -> Pinning:
    """Test whether the predictions of a model with unit rows pin the cosines within each side.

    Parameters
    ----------
    model : FactorModel
        Its link divides one side or both by their lengths.
    max_condition : float
        Largest κ of a witness; of a head, it is spent in full.
    rng : numpy Generator or int, optional
        Draws the starts of the search.

    Raises
    ------
    InputError
        If the link divides no side, or the condition number is not above 1.

    Examples
    --------
    Three axes and their opposites, as labels: 6 constraints on 9 numbers.

    >>> from embaudit.model import FactorModel, Softmax
    >>> axes = np.vstack([np.eye(3), -np.eye(3)])
    >>> found = pinned_test(FactorModel(None, axes, link=Softmax(unit_rows=True)))
    >>> found, round(found.largest, 9)
    (Pinning(free, 6 of 9 constraints), 0.8)
    >>> corner = FactorModel(np.eye(2), np.eye(2), link="cosine")
    >>> pinned_test(corner)
    Pinning(pinned, 2 of 3 constraints)
    >>> pinned_test(FactorModel.from_vectors(np.eye(2), compared="dot"))
    Pinning(pinned, 3 of 3 constraints)
    """
    require_model(model)
    if model.compared is not None:
        return _one_table(model)
    if not model.link.unit_sides:
        raise must_be("the link", "one that divides rows by their length", str(model.link), "read `audit` instead")
    if not is_number(max_condition) or max_condition <= 1:
        raise must_be("max_condition", "a number above 1", repr(max_condition))
    draw = as_generator(rng)
    if "left" in model.link.unit_sides:
        return _one_side(model) if model.left is None else _both_sides(model, max_condition, draw)
    return _unseen_by(model, "right", SCOPES["head"]) or _head(model, max_condition, draw)


SCOPES = {
    "gauge": "linear maps of these rows, whatever the other side holds, if that has full rank",
    "cosine": "equivalent models of the same rank",
    "head": "equivalent models of the same rank whose inputs are learned and span every direction",
}


def _too_large(model: FactorModel, scope: str, needed: int) -> Pinning:
    because = f"a gauge has {needed:,} numbers here, and "
    if needed > LARGEST_SHOWN:
        because += f"no proof is tried above {LARGEST_SHOWN:,}"
    else:
        because += f"no side proves alone that it fixes them; above {LARGEST:,} no other proof is tried"
    # The span was not decomposed: a row adds one form at most.
    most = sum(_n_directions(model, side) for side in model.link.unit_sides if side in model.sides)
    return Pinning("undecided", because, scope, min(most, needed), needed)


def _n_directions(model: FactorModel, side: SideName) -> int:
    directed = model.side(side).directed
    return len(np.unique(duplicate_representatives(model.factors(side), directed)))


def _with_missing(model: FactorModel, pinning: Pinning, spans: Mapping[SideName, Span]) -> Pinning:
    """Add to a test that is undecided how many rows more of one side would span all forms, and so decide it.

    Nothing is added where rows of a side depend on each other, as on a cone: so may further rows of the same model.
    """
    needed = n_forms(model.rank)
    if needed > LARGEST_SHOWN:
        return pinning
    missing: dict[SideName, int] = {}
    for side, span in spans.items():
        n = _n_directions(model, side)
        if n >= span.needed or (span.needed <= LARGEST and span.rank < n):
            return pinning
        # Where no span is decomposed, a few rows more than numbers keep the Gram matrix away from a singular one.
        missing[side] = needed - n + (needed // 100 if needed > LARGEST else 0)
    fewest = min(missing, key=lambda side: missing[side])
    rows = counted(missing[fewest], f"more {model.title(fewest)} row")
    told = f"; {rows} in general position would decide it"
    return replace(pinning, because=f"{pinning.because}{told}", needed=needed, rows_missing=missing)


def _one_table(model: FactorModel) -> Pinning:
    """Conclude from what is predicted: the cosines, or the products that they are computed from."""
    title, n, k = model.title("right"), model.n_right, model.rank
    because = f"the cosines of {title} rows with each other are what is predicted"
    if model.compared == "dot":
        because = f"the products of {title} rows with each other and with themselves fix them but for a rotation"
        # Strictly beyond Ledermann's bound products of different generic rows fix lengths, too (Bekker and ten Berge,
        # 1997); up to it they may leave lengths open, or a few to choose from.
        if n <= k or (n - k) ** 2 <= n + k:
            because += f". So few as {n:,} rows of {k:,} numbers may need those with themselves"
    return Pinning("pinned", because, TABLE, n_forms(k), n_forms(k))


def _one_side(model: FactorModel) -> Pinning:
    """Decide without the other side: pinned where this one spans everything, never free."""
    k, title = model.rank, model.title("right")
    scope, needed = SCOPES["gauge"], n_forms(k)
    span = span_of(model.right, np.eye(k))
    if span.is_full:
        return Pinning("pinned", f"the {title} rows alone fix every number of a metric", scope, span.rank, needed)
    if needed > LARGEST:
        return _with_missing(model, _too_large(model, scope, needed), {"right": span})
    because = f"the {title} rows leave {counted(needed - span.rank, 'direction')}, which the other side may fix"
    because = _nearly(title) if span.is_nearly_full else because
    return _with_missing(model, Pinning("undecided", because, scope, span.rank, needed), {"right": span})


def _nearly(title: str) -> str:
    return f"the {title} rows nearly leave some metric free, one that keeps every length but for rounding"


def _rows_space(model: FactorModel, side: SideName) -> Floats:
    """Return an orthonormal basis (k, r) of the directions that rows of a side have, less what a free bias absorbs."""
    moments = model.moments(side)
    absorbed = side == "left" and model.right_bias is not None and model.link.sees_biases
    _, s, vt = np.linalg.svd(moments.centred_root if absorbed else moments.root)
    # Rounding is that of the rows as they are: centred ones may be nothing else.
    return np.asarray(vt[s > 16 * moments.precision * np.linalg.norm(moments.root, 2)].T)


def _unseen_by(model: FactorModel, side: SideName, scope: str) -> Pinning | None:
    """Show by a reflection that rows of a side may differ in directions that the other side does not have."""
    other = OPPOSITE[side]
    if other not in model.sides:
        return None
    # What lies outside the span of the other side takes no part in a prediction and can be reflected, row by row.
    space = _rows_space(model, other)
    unseen = np.eye(model.rank) - space @ space.T
    x = unit_rows(model.factors(side), none=0)
    outside = x @ unseen
    if space.shape[1] == model.rank or np.abs(outside).max() < MIN_MOVEMENT:
        return None
    first = outside[np.argmax(np.einsum("ij,ij->i", outside, outside))]
    # Every second of the rows that lie in one direction, so that pairs of them come apart.
    order = np.argsort(-np.abs(outside @ first), kind="stable")
    flip = Flip(side, frozen(np.sort(order[::2])), frozen(unseen))
    hidden = f"{counted(model.rank - space.shape[1], 'direction')} no {model.title(other)} has"
    because = f"{model.title(side)} rows reach into {hidden}"
    pinning = Pinning("free", because, scope, 0, n_forms(model.rank), flip=flip)
    return _with_movement(model, pinning)


def _with_movement(model: FactorModel, pinning: Pinning) -> Pinning | None:
    """Add what the equivalent model moves; None where that is nothing."""
    twin = pinning.twin(model)
    moved = {side: _moved(model.factors(side), twin.factors(side)) for side in model.sides}
    lengths = [np.abs(twin.side(s).norms[model.side(s).directed] - 1).max(initial=0.0) for s in model.link.unit_sides]
    result = Pinning(**vars(pinning) | {"moved": moved, "residual": float(max(lengths))})
    watched = {side: m for side, m in moved.items() if side in model.link.unit_sides}
    return result if max(m.max_abs for m in watched.values()) > MIN_MOVEMENT else None


def _moved(before: Matrix, after: Matrix) -> Moved:
    n = len(before)
    if n < 2:
        return Moved(0.0, 0.0, 0)
    pairs = draw_pairs(n, PAIRS, rng=0)
    change = np.abs(pair_cosines(after, after, pairs) - pair_cosines(before, before, pairs))
    change = change[~np.isnan(change)]
    return Moved(float(change.mean()), float(change.max()), len(change)) if len(change) else Moved(0.0, 0.0, 0)


def _both_sides(model: FactorModel, most: float, draw: np.random.Generator) -> Pinning:
    """Decide from both sides: unseen directions, a proof, or a search for a second metric."""
    scope = SCOPES["cosine"]
    for side in model.sides:
        if (shown := _unseen_by(model, side, scope)) is not None:
            return shown
    spaces = [_rows_space(model, side) for side in model.sides]
    basis = spaces[0] if spaces[0].shape[1] >= spaces[1].shape[1] else spaces[1]
    m = basis.shape[1]
    left, right = (span_of(model.factors(side), basis) for side in model.sides)
    # Constraints near I: forms that vanish on the rows of both sides are what first order leaves free.
    rank = right.needed if left.is_full or right.is_full else right.needed - len(tangent(left, right))
    proof = _proof(model, left, right, basis) if all(s.shape[1] == m for s in spaces) else None
    if proof is not None:
        return Pinning("pinned", proof, scope, rank, n_forms(m))
    large = right.needed > LARGEST
    if large:
        pinning = _too_large(model, scope, right.needed)
    else:
        pinning = _searched(model, (left, right), basis, rank, most, draw)
    return pinning if pinning.status != "undecided" else _with_missing(model, pinning, {"left": left, "right": right})


def _proof(model: FactorModel, left: Span, right: Span, basis: Floats) -> str | None:
    """Return the argument that no metric but I is left, if one of the known ones holds."""
    m = basis.shape[1]
    if m < model.rank:
        small = len(model.right) + model.n_left <= 2 * LARGEST
        held = small and 2 * cone_stretch(model.factors("left"), model.right, basis) < MIN_MOVEMENT
        return "the rows of either side add up to the identity with weights that are not negative" if held else None
    for span, side in ((right, "right"), (left, "left")):
        if span.is_full:
            return f"the {model.title(side)} rows alone fix every number of a metric"
    if left.clear and right.clear and certified_stretch(left, right, m) < MIN_MOVEMENT:
        return "both sides hold one positive form, which S and its inverse can only share at the identity"
    return None


def _searched(
    model: FactorModel, spans: tuple[Span, Span], basis: Floats, rank: int, most: float, draw: np.random.Generator
) -> Pinning:
    """Find the metric that moves cosines the furthest, or say that none was found."""
    scope, needed = SCOPES["cosine"], spans[0].needed
    best = Pinning("undecided", "", scope, rank, needed)
    metrics = [] if any(span.held is None for span in spans) else second_metrics(*spans, basis.shape[1], draw, most)
    for metric in metrics:
        # S on the basis and 1 elsewhere.
        values, vectors = np.linalg.eigh(np.eye(len(basis)) + basis @ (metric - np.eye(len(metric))) @ basis.T)
        gauge = Gauge.from_svd(vectors, np.sqrt(values), vectors.T)
        because = "another metric keeps every length on both sides"
        pinning = _with_movement(model, Pinning("free", because, scope, rank, needed, witness=gauge))
        if pinning is not None and pinning.residual <= 64 * model.rank * EPS * most and pinning.largest > best.largest:
            best = pinning
    if best.status == "free":
        return best
    first_order = "to first order nothing is free" if rank == needed else "some directions are free to first order"
    nearly = [_nearly(model.title(side)) for side, span in zip(model.sides, spans, strict=True) if span.is_nearly_full]
    if nearly:
        return Pinning("undecided", nearly[0], scope, rank, needed)
    because = f"{first_order}, no proof holds for both sides together, and no second metric was found"
    return Pinning("undecided", because, scope, rank, needed)


def _head(model: FactorModel, most: float, draw: np.random.Generator) -> Pinning:
    """Decide from the labels alone: what they leave free is linear, so a null space is a set of equivalent models."""
    k, title, scope = model.rank, model.title("right"), SCOPES["head"]
    # Under a cap no number may be added to a row of scores.
    affine = getattr(model.link, "soft_cap", None) is None
    span = span_of(model.right, np.eye(k), affine=affine)
    if span.is_full and not affine:
        because = f"the {title} rows fix every gauge, but under a cap equal probabilities do not imply equal scores"
        return Pinning("undecided", because, scope, span.rank, span.needed)
    if span.is_full:
        because = f"the {title} rows alone fix every number of a change of axes"
        return Pinning("pinned", because, scope, span.rank, span.needed)
    if span.is_nearly_full:
        return Pinning("undecided", _nearly(title), scope, span.rank, span.needed)
    if span.needed > LARGEST:
        return _counted(model) or _too_large(model, scope, span.needed)
    units = unit_rows(model.right[model.right_side.directed])
    if len(units) < 2:
        return Pinning("pinned", f"one {title} makes no pair", scope, span.rank, span.needed)
    if affine and np.abs(units - units[0]).max() <= 4 * EPS:
        because = f"all {title} rows have one direction, so no input has a say, and inputs of 0 go with any rows"
        return Pinning("free", because, scope, span.rank, span.needed)
    rows_leave = f"the {title} rows leave {counted(span.needed - span.rank, 'number')} of a change of axes free"
    because = _too_few(model) if len(units) < span.needed else rows_leave
    shown = []
    for free in _candidates(span, units, draw, affine=affine):
        witness = _head_gauge(free, k, most)
        pinning = _with_movement(model, Pinning("free", because, scope, span.rank, span.needed, witness=witness))
        shown += [pinning] if pinning is not None and pinning.residual <= 64 * k * EPS * most**2 else []
    because = "what the rows leave free moved no cosine"
    unknown = Pinning("undecided", because, scope, span.rank, span.needed)
    return max(shown, key=lambda pinning: pinning.moved["right"].max_abs if pinning.moved else 0.0, default=unknown)


def _too_few(model: FactorModel) -> str:
    labels = counted(len(model.right_side.directed), model.title("right"))
    return f"{labels} are too few to fix a space of {counted(model.rank, 'dimension')}"


def _counted(model: FactorModel) -> Pinning | None:
    """Show without a witness that fewer labels than numbers leave some free: if labels span, some cosine moves."""
    k, n = model.rank, len(model.right_side.directed)
    # Each label fixes one number of a form; with fewer labels than numbers some form vanishes on all of them.
    if n >= n_forms(k) or _rows_space(model, "right").shape[1] < k:
        return None
    return Pinning("free", _too_few(model), SCOPES["head"], n, n_forms(k))


def _candidates(span: Span, units: Floats, draw: np.random.Generator, *, affine: bool) -> list[Floats]:
    """Return free forms: those nearest to moving one pair, some at random, each in both signs."""
    # A form moves the cosine of labels i and j by its value at them: project that functional onto what is free.
    i, j = draw.integers(len(units), size=(2, CANDIDATES))
    products = np.einsum("ni,nj->nij", units[i], units[j])
    wanted = packed((products + products.transpose(0, 2, 1)) / 2)
    wanted = np.hstack([wanted, units[i] + units[j]]) if affine else wanted
    wanted = np.vstack([wanted, draw.standard_normal((8, wanted.shape[1]))])
    assert span.free is not None
    forms = (wanted @ span.free) @ span.free.T
    sizes = np.linalg.norm(forms, axis=1)
    forms = forms[sizes > 1e-6] / sizes[sizes > 1e-6, None]
    return [*forms, *-forms]


def _head_gauge(free: Floats, k: int, most: float) -> Gauge:
    """Return `ŵ' = N ŵ + v` of `N² = s(I + tT)`, `N v = s t g/2`, with t as large as κ(N) allows.

    On the labels `ŵᵀTŵ + g·ŵ = 0`, so that `‖ŵ'‖² = s + ‖v‖²`, which is 1 for `s = 1/(1 + hᵀ(I + tT)⁻¹h)`, `h = t g/2`.
    """
    form = symmetric(free[: n_forms(k)], k)
    values, vectors = np.linalg.eigh(form)
    # κ(N)² = (1 + t high)/(1 − t low) <= most² holds up to t = (most² − 1)/(high + most² low). Where T vanishes the
    # second term limits t.
    low, high = -min(values[0], 0.0), max(values[-1], 0.0)
    t = min((most**2 - 1) / max(high + most**2 * low, 1e-12), 2.0 / max(float(np.linalg.norm(free)), 1e-12) * most)
    slope = t * free[n_forms(k) :] / 2 if len(free) > n_forms(k) else np.zeros(k)
    stretched = 1 + t * values
    h = vectors.T @ slope
    s = 1 / (1 + float(h @ (h / stretched)))
    scales = np.sqrt(s * stretched)
    shift = vectors @ (s * h / scales)
    # Labels take N and v; the inputs, which the gauge calls left, take N⁻¹.
    linear = Gauge.from_svd(vectors, 1 / scales, vectors.T)
    return Gauge(linear.left, linear.right, None, shift)  # type: ignore[arg-type]
