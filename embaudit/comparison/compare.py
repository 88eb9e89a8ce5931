"""Two trained models over the same entities: what a gauge explains, and what the second one learned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace

import numpy as np

from embaudit.canonical.identified import prediction_views
from embaudit.canonical.row_span import in_span
from embaudit.comparison.agreement import Agreement, agreement
from embaudit.comparison.change import (
    AttributionSteps,
    attribution_steps,
    mean_size,
    role_change,
)
from embaudit.comparison.fits import (
    WORSE,
    CrossFitHalf,
    Draws,
    folds,
    held_out_error,
    is_open,
    whole,
)
from embaudit.comparison.matching import Match, Pairing, match, pairing
from embaudit.comparison.result import Comparison
from embaudit.comparison.sameness import proven_gauge
from embaudit.comparison.states import LoadedModel, with_states
from embaudit.comparison.weights import RowWeights, row_weights
from embaudit.core.checked import (
    RNG,
    Floats,
    Indices,
    as_generator,
    as_list,
    named_keywords,
)
from embaudit.core.parallel import one_blas_thread
from embaudit.core.progress import track
from embaudit.core.ties import exceeds, reaches
from embaudit.core.tolerances import EXPLAINED_SPREAD, FLOAT32_TIE
from embaudit.errors import InputError, Parameter
from embaudit.io.files import AnyPath
from embaudit.linalg.nearest import require_length
from embaudit.linalg.pairs import pair_cosines
from embaudit.linalg.rows import sample_rows
from embaudit.model import FactorModel, SideName
from embaudit.model.sizes import require_ordinary_size

ROWS = 50_000
"""Shared entities of a side that are looked at; more are sampled."""
LITTLE = 0.1
"""Share of a change that may remain where a gauge explains nearly all of it."""
HALVINGS, HALVED = 5, 2_000
"""Number of cuts in halves, at most, of few entities, and number of entities that are
cut in all."""


@named_keywords
def compare(
    before: FactorModel | AnyPath | object,
    after: FactorModel | AnyPath | object,
    *,
    roles: Sequence[SideName | str] | None = None,
    n_neighbours: int | None = None,
    by_row: bool | None = None,
    partial: bool = False,
    fail_below: Mapping[str, float] | None = None,
    reference: FactorModel | AnyPath | object | None = None,
    allow_swapped: bool = False,
    rng: RNG = 0,
) -> Comparison:
    """Compare two trained models: may the second one replace the first?

    The answer, `Comparison.verdict`, is SAME if a gauge is proven to carry all rows of
    one model to the other, so that only a change of axes or rounding lies between them;
    OTHER SPACE if neither cosines nor scores have anything to do with each other; and
    CLOSE or DIFFERENT if limits or a reference run were given to judge by.

    Entities are matched by id. On one half of them the best rotation, diagonal, general
    linear and affine gauge are fitted, on the other half they are judged, and the other
    way round; few entities are cut so up to 5 times. Only gauges that keep the
    predictions count. The change of a cosine is what the gauge takes away of it, what
    dimensions do that no prediction sees, and a remainder. Rows that duplicate each
    other in both models count once in lists and thresholds; rows that one model tells
    apart count as two. Prediction cosines are those over the rows of the other side
    that both models hold.

    Parameters
    ----------
    before, after : FactorModel, path or object
        Two models over the same entities, or what `embaudit.io.as_model` makes them of;
        their ranks may differ.
    roles : sequence of {"left", "right"}, optional
        Sides to report; all that both models have by default. The gauge is fitted on
        all of them anyway.
    n_neighbours : int, optional
        Length of the neighbour lists, looked up among all shared entities, or 50,000 of
        them; a third of the others by default, 10 at most.
    by_row : bool, optional
        Whether the rows of both models are the same entities in the same order: then
        ids are not looked at. By default where both are models in memory without ids,
        which are joined as arrays are; files are not.
    partial : bool
        Whether to go on where less than half of the smaller model matches, and without
        entities of two titles.
    fail_below : dict of str to float, optional
        Least values of `Comparison.shares_kept`, such as {"kept": 0.7}. Below one of
        them the verdict is DIFFERENT, otherwise CLOSE.
    reference : FactorModel, path or object, optional
        A second training run of the first model with another seed. Its shares, less an
        allowance, are the limits that `fail_below` does not set. The share of rows that
        both models hold is not judged by it.
    allow_swapped : bool
        Whether rows that have the vector of another row are allowed if limits are
        given.
    rng : numpy Generator or int
        Draws the halves, pairs and rows; the same seed gives the same numbers.

    Returns
    -------
    Comparison

    Raises
    ------
    InputError
        If a side or its ids are missing, ids are of two kinds or carry other titles,
        less than half of the entities or fewer than 8 are shared, or every score of a
        model vanishes.

    Examples
    --------
    >>> from embaudit.gauges import Gauge
    >>> from embaudit.model import FactorModel
    >>> draw = np.random.default_rng(0)
    >>> model = FactorModel.from_user_item(draw.standard_normal((40, 2)), draw.standard_normal((30, 2)))
    >>> found = compare(model, Gauge.diagonal([5.0, 1.0]).act(model))
    >>> found.group, round(found.condition_number, 6), found.explained
    ('diagonal', 5.0, True)

    Items of one model alone change no prediction cosine of users:

    >>> named = model.replace(left_ids=np.arange(40), right_ids=np.arange(30))
    >>> compare(named, named.take(right=np.arange(20))).changes["left"].predicted_kept
    1.0
    """
    draw = as_generator(rng)
    limits = {} if fail_below is None else fail_below
    comparison = _compared(
        before,
        after,
        roles,
        draw,
        n_neighbours=n_neighbours,
        by_row=by_row,
        partial=partial,
    )
    shares = None
    if reference is not None:
        second_seed = _compared(
            before,
            reference,
            roles,
            draw,
            n_neighbours=n_neighbours,
            by_row=by_row,
            partial=partial,
        )
        shares = second_seed.shares_kept()
    # Limits that make no sense are refused here, before anything is written.
    comparison.below(limits)
    return replace(
        comparison, own_limits=limits, reference=shares, allow_swapped=allow_swapped
    )


def _compared(
    before: FactorModel | AnyPath | object,
    after: FactorModel | AnyPath | object,
    roles: Sequence[SideName | str] | None,
    draw: np.random.Generator,
    *,
    n_neighbours: int | None,
    by_row: bool | None,
    partial: bool,
) -> Comparison:
    """Compare two models without limits."""
    if by_row is None and not (
        isinstance(before, FactorModel) and isinstance(after, FactorModel)
    ):
        by_row = False
    loaded = LoadedModel.of(before), LoadedModel.of(after)
    compared = _roles(loaded[0].model, loaded[1].model, roles)
    for each in loaded:
        require_ordinary_size(each.model)
    first, second, n_states = with_states(*loaded, draw)
    before, after = in_span(first), in_span(second)
    # All sides at hand are fitted: one alone would leave the other, and with it the
    # predictions, out of sight.
    sides = _roles(before, after, None)
    by = {"right": by_row, "left": True if n_states else by_row}
    # Each side draws its own: its numbers are the same where the other side is not
    # loaded.
    seeds = dict(zip(("left", "right"), draw.integers(2**63, size=2), strict=True))
    draws = {role: np.random.default_rng(seeds[role]) for role in sides}
    shared = {
        role: match(before, after, role, by_row=by[role], partial=partial)
        for role in sides
    }
    drawn = {
        role: sample_rows(len(each), ROWS, draws[role]) for role, each in shared.items()
    }
    matches = {role: each.take(drawn[role]) for role, each in shared.items()}
    require_length(n_neighbours, max(len(matches[role]) for role in compared))
    # Streams of their own, so that weights change no other draw.
    weights = {
        role: row_weights(before, role, stream)
        for role, stream in zip(sides, draw.spawn(len(sides)), strict=True)
    }
    paired = pairing(before, after, matches)
    predictions = _agreement(before, after, matches, weights, draw)
    parts, errors, fits = _gauges(paired, predictions, draws)
    steps = _steps(paired, parts, draws)
    slight = slight_gauges(paired, parts, steps)
    # A gauge acts on both sides: one that helps one side and spoils the other is not
    # what happened.
    if not (fits or brings_nearer(steps)):
        parts = [replace(fold, group="rotation") for fold in parts]
        steps = _steps(paired, parts, draws)
    views_before = _views(before, "before", shared, drawn)
    views_after = _views(after, "after", shared, drawn)
    predicted = {}
    if views_before and views_after:
        predicted = {role: (views_before[role], views_after[role]) for role in sides}
    changes = {
        role: role_change(
            role,
            matches[role],
            paired,
            steps[role],
            errors[role],
            n_neighbours,
            draws[role],
            weights[role],
            weights[role].share(shared[role].before),
            predicted.get(role),
            slight[role],
        )
        for role in track(compared, "comparing cosines", len(compared))
    }
    typical = _typical(parts)
    # A smaller gauge may explain nearly all of it even so: what little it leaves is no
    # more than what remains.
    leaves = any(
        exceeds(change.mean_remainder, max(FLOAT32_TIE, LITTLE * change.mean_total))
        for change in changes.values()
    )
    # No gauge moves the cosines of vectors that were made so that their cosines are
    # those of predictions.
    movable = (
        "linear" in paired.groups
        and not before.objective == after.objective == "prediction"
    )
    is_unknown = (
        leaves and movable and not fits and is_open(paired.fitted, paired.shifts)
    )
    # No gauge that was fitted there tells how much the one between the models moves.
    gauge = (
        typical.group,
        float("nan") if is_unknown else typical.gauge.condition_number,
    )
    too_few_for = first.rank if is_unknown else 0
    proven = None
    if not any(change.n_displaced for change in changes.values()):
        proven = proven_gauge(before, after, shared, paired, has_states=n_states > 0)
    return Comparison(
        before.roles,
        changes,
        predictions,
        *gauge,
        fits,
        n_states=n_states,
        too_few_for=too_few_for,
        same_up_to=None if proven is None else proven.group,
    )


def _agreement(
    before: FactorModel,
    after: FactorModel,
    matches: dict[SideName, Match],
    weights: dict[SideName, RowWeights],
    draw: np.random.Generator,
) -> Agreement | None:
    """Compare the predictions; None if a side is missing."""
    left, left_weights = matches.get("left"), weights.get("left")
    if before.compared is not None and after.compared is not None:
        # Rows that are compared with each other stand on both sides of a prediction.
        left, left_weights = matches["right"], weights["right"]
    if left is None:
        return None
    assert left_weights is not None
    return agreement(
        before,
        after,
        left,
        matches["right"],
        rng=draw,
        weights=(left_weights, weights["right"]),
    )


def _views(
    model: FactorModel,
    end: str,
    shared: dict[SideName, Match],
    drawn: dict[SideName, Indices],
) -> dict[SideName, Floats]:
    """Rows drawn whose plain cosine is the prediction cosine, over what both models hold of the other side."""
    held = {role: getattr(each, end) for role, each in shared.items()}
    # A side that the other model holds in full is taken as it is, with what is known of
    # it.
    some = {
        role: rows for role, rows in held.items() if len(rows) < len(model.side(role))
    }
    views = prediction_views(model.take(**some) if some else model) or {}
    places = {
        role: drawn[role] if role in some else rows[drawn[role]]
        for role, rows in held.items()
    }
    return {role: view[places[role]] for role, view in views.items() if role in places}


def _gauges(
    paired: Pairing, predictions: Agreement | None, draws: Draws
) -> tuple[list[CrossFitHalf], dict[SideName, dict[str, float]], bool]:
    """Fit the gauges, on halves or, where the predictions are the same and halves hold too few rows, on all.

    With them come the share of the spread that each group leaves, by side, and whether
    the chosen one leaves next to none.
    """
    options = (paired.groups, paired.shifts)
    halvings = HALVED // sum(len(x) for x, _ in paired.fitted.values())
    cuts = range(min(HALVINGS, max(1, halvings)))
    # Of few rows many small products are made: threads of the BLAS would wait for each
    # other longer than they compute.
    with one_blas_thread() if halvings else nullcontext():
        parts = [fold for _ in cuts for fold in folds(paired.fitted, draws, *options)]
    errors = held_out_error(paired.fitted, parts)
    # Of the same predictions a gauge exists, so that a fit judged on its own rows does
    # not flatter it.
    if not _fits(errors, parts) and predictions is not None and predictions.same:
        together = [whole(paired.fitted, *options)]
        if _fits(of_all := held_out_error(paired.fitted, together), together):
            return together, of_all, True
    return parts, errors, _fits(errors, parts)


def _steps(
    paired: Pairing, parts: list[CrossFitHalf], draws: Draws
) -> dict[SideName, list[AttributionSteps]]:
    """Follow the rows of every side from model to model, half by half."""
    return {
        role: [attribution_steps(role, paired, fold, draws[role]) for fold in parts]
        for role in paired.raw
    }


def brings_nearer(steps: dict[SideName, list[AttributionSteps]]) -> bool:
    """Check that the gauges bring the cosines of all sides together nearer."""
    apart, still_apart = (
        sum(
            mean_size(np.concatenate([getattr(path, name) for path in paths]))
            for paths in steps.values()
        )
        for name in ("visible", "remainder")
    )
    # The factor by which a larger group has to beat a smaller one holds for cosines,
    # too.
    return reaches(apart, still_apart * WORSE)


def slight_gauges(
    paired: Pairing,
    parts: list[CrossFitHalf],
    steps: dict[SideName, list[AttributionSteps]],
) -> dict[SideName, float]:
    """Measure what the best gauge takes away of the mean change of each side's cosines.

    This is also known of a gauge that takes away too little to be counted. A gauge acts
    on both sides, so a side is not credited with more than both sides together.

    Parameters
    ----------
    paired : Pairing
        The shared rows.
    parts : list of CrossFitHalf
        The fits of every group.
    steps : dict of role to list of AttributionSteps
        The pairs that each part judges.

    Returns
    -------
    dict of role to float
        Mean change of a cosine that the gauge takes away, at least 0.
    """
    best, most = dict.fromkeys(steps, 0.0), 0.0
    for group in parts[0].fits:
        nearer = {}
        for role, paths in steps.items():
            before, after = [], []
            for fold, path in zip(parts, paths, strict=True):
                rows = fold.fits[group].apply(role, paired.fitted[role][0])
                before.append(path.visible)
                after.append(path.end - pair_cosines(rows, rows, path.pairs))
            apart, still_apart = map(mean_size, map(np.concatenate, (before, after)))
            nearer[role] = apart - still_apart
        together = sum(nearer.values())
        if exceeds(together, most):
            most = together
            best = {role: min(max(0.0, x), most) for role, x in nearer.items()}
    return best


def _fits(errors: dict[SideName, dict[str, float]], parts: list[CrossFitHalf]) -> bool:
    group = _typical(parts).group
    return bool(
        np.mean([error[group] for error in errors.values()]) <= EXPLAINED_SPREAD
    )


def _typical(parts: list[CrossFitHalf]) -> CrossFitHalf:
    """Take the fold whose group is the upper median: of two the larger, of many no odd one out."""
    by_size = sorted(
        parts, key=lambda fold: list(fold.fits).index(fold.group), reverse=True
    )
    return by_size[(len(parts) - 1) // 2]


def _roles(
    before: FactorModel, after: FactorModel, roles: Sequence[SideName | str] | None
) -> tuple[SideName, ...]:
    both = tuple(side for side in before.sides if side in after.sides)
    if roles is None:
        return both
    named = tuple(
        before.side_name(role) for role in as_list(roles, "roles", '["right"]')
    )
    for role in named:
        before.factors(role), after.factors(role)
    if not named or len(set(named)) < len(named):
        raise InputError(
            "{} must name each side once; got {}.", Parameter("roles"), list(roles)
        )
    return named
