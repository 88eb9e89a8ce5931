"""Comparison of two models over the same entities.

It splits the change into the part that a gauge explains and the part that the second
model learned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace

import numpy as np

from embaudit.canonical.identified import prediction_views
from embaudit.canonical.row_span import span_basis, turned
from embaudit.comparison.agreement import Agreement, agreement
from embaudit.comparison.change import (
    AttributionSteps,
    RoleChange,
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
from embaudit.comparison.sameness import prove_same
from embaudit.comparison.states import LoadedModel, with_states
from embaudit.comparison.verdict import OTHER_SPACE, UNRELATED
from embaudit.comparison.weights import RowWeights, row_weights
from embaudit.core.checked import (
    RNG,
    Floats,
    Indices,
    Matrix,
    Vector,
    as_generator,
    as_list,
    named_keywords,
)
from embaudit.core.parallel import one_blas_thread, row_blocks
from embaudit.core.progress import track
from embaudit.core.ties import exceeds, reaches
from embaudit.core.tolerances import EXPLAINED_SPREAD, FLOAT32_TIE
from embaudit.core.words import number_by_limit, percent
from embaudit.errors import InputError, Parameter
from embaudit.io.files import AnyPath
from embaudit.linalg.nearest import require_length
from embaudit.linalg.pair_cosines import pair_cosines
from embaudit.linalg.rows import sample_rows
from embaudit.model import FactorModel, SideName
from embaudit.model.sizes import require_ordinary_size

ROWS = 50_000
"""Largest number of shared entities of a side that are compared; more are sampled."""
LITTLE = 0.1
"""Share of a change that remains at most if a gauge explains nearly all of it."""
MAX_CUTS = 5
"""Largest number of cuts in halves."""
SAME_RUN = 0.5
"""Smallest correlation of the scores of a model with those of a second run of it.

Other seeds of ALS on MovieLens reach 0.94, and ALS of two disjoint halves of its
ratings reaches 0.59. A model with collapsed rows reached 0.40 there, but nothing
guarantees that such models stay below the limit."""
CUT_ENTITIES = 2_000
"""Number of entities in all cuts together, so many entities are cut only once."""


@named_keywords
def compare(
    before: FactorModel | AnyPath | object,
    after: FactorModel | AnyPath | object,
    *,
    roles: Sequence[SideName | str] | None = None,
    n_neighbours: int | None = None,
    by_row: bool | None = None,
    partial: bool = False,
    same_numbers: bool = False,
    fail_below: Mapping[str, float] | None = None,
    reference: FactorModel | AnyPath | object | None = None,
    allow_swapped: bool = False,
    rng: RNG = 0,
) -> Comparison:
    """Compare two trained models: may the second one replace the first?

    The answer, `Comparison.verdict`, is SAME if a gauge is proven to carry all rows of
    one model to the other, so that only a change of axes or rounding lies between them;
    OTHER SPACE if neither cosines nor scores of the two models are related; and CLOSE
    or DIFFERENT if limits or a reference run were given to judge by.

    Entities are matched by id. The best rotation, diagonal, general linear and affine
    gauge are fitted to one half of the entities and judged on the other half, and the
    other way round; few entities are cut in halves up to 5 times. Only gauges that keep
    the predictions count. The change of a cosine has three parts: the part that the
    gauge takes away, the part of dimensions that no prediction sees, and a remainder.
    Rows that duplicate each other in both models count once in lists and thresholds;
    rows that one model tells apart count as two. Prediction cosines are computed over
    the rows of the other side that both models hold.

    Parameters
    ----------
    before, after : FactorModel, path or object
        Two models over the same entities, or objects that `embaudit.load` reads.
        Their ranks can differ.
    roles : sequence of {"left", "right"}, optional
        Sides to report; by default all sides that both models have. The gauge is fitted
        to all of these sides in any case.
    n_neighbours : int, optional
        Length of the neighbour lists. They are searched among all shared entities, or
        50,000 of them. The default is 10, but at most a third of the other rows.
    by_row : bool, optional
        True if the rows of both models are the same entities in the same order, so ids
        are ignored. This is the default for two models in memory without ids, but not
        for files.
    partial : bool
        True if less than half of the smaller model may match. Entities that have two
        titles are skipped then.
    same_numbers : bool
        True if an entity has one row number, or one number as id, in both models, and
        new entities have new numbers. One model may have more rows than the other then.
    fail_below : dict of str to float, optional
        Smallest accepted values of `Comparison.shares_kept`, such as {"kept": 0.7}. If
        a value is below its limit, the verdict is DIFFERENT, otherwise CLOSE.
    reference : FactorModel, path or object, optional
        A second training run of the first model with another seed. Its shares, less an
        allowance, are the limits that `fail_below` does not set. The share of rows that
        both models hold has no such limit.
    allow_swapped : bool
        True if rows may have the vector of another row although limits are given.
    rng : numpy Generator or int
        Draws the halves, pairs and rows; the same seed gives the same numbers.

    Returns
    -------
    Comparison
        The verdict, the parts of the change, and the shares of lists that stay.

    Raises
    ------
    InputError
        If a side or its ids are missing, ids are of two kinds or have other titles,
        less than half of the entities or fewer than 8 are shared, every score of a
        model vanishes, or the reference is no second run of the first model: its scores
        correlate by less than 0.5 with those of the first model, or it holds the rows
        of the second model.

    Examples
    --------
    >>> from embaudit.gauges import Gauge
    >>> from embaudit.model import FactorModel
    >>> draw = np.random.default_rng(0)
    >>> users, items = draw.standard_normal((40, 2)), draw.standard_normal((30, 2))
    >>> model = FactorModel.from_user_item(users, items)
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
        same_numbers=same_numbers,
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
            same_numbers=same_numbers,
        )
        _require_second_run(second_seed)
        if comparison.sameness is None:
            _require_another_file(after, reference)
        shares = second_seed.shares_kept()
    # Invalid limits are refused here, before anything is written.
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
    same_numbers: bool,
) -> Comparison:
    """Compare two models without limits."""
    are_models = isinstance(before, FactorModel) and isinstance(after, FactorModel)
    if by_row is None and not are_models:
        by_row = False
    loaded = (LoadedModel.load(before), LoadedModel.load(after))
    reported = _roles(loaded[0].model, loaded[1].model, roles)
    for source in loaded:
        require_ordinary_size(source.model)
    first, second, n_states = with_states(*loaded, draw)
    spans = (span_basis(first), span_basis(second))
    before, after = turned(first, spans[0]), turned(second, spans[1])
    # All loaded sides are fitted, because predictions depend on both sides.
    sides = _roles(before, after, None)
    by = {"right": by_row, "left": True if n_states else by_row}
    # Each side has a stream of its own, so its numbers do not depend on whether the
    # other side is loaded.
    seeds = dict(zip(("left", "right"), draw.integers(2**63, size=2), strict=True))
    draws: Draws = {role: np.random.default_rng(seeds[role]) for role in sides}
    shared: dict[SideName, Match] = {}
    drawn: dict[SideName, Indices] = {}
    matches: dict[SideName, Match] = {}
    for role in sides:
        shared[role] = match(
            before,
            after,
            role,
            by_row=by[role],
            partial=partial,
            same_numbers=same_numbers,
        )
    for role in sides:
        drawn[role] = sample_rows(len(shared[role]), ROWS, draws[role])
        matches[role] = shared[role].take(drawn[role])
    require_length(n_neighbours, max(len(matches[role]) for role in reported))
    # Weights have streams of their own, so they change no other draw.
    streams = draw.spawn(len(sides))
    weights = {
        role: row_weights(before, role, stream)
        for role, stream in zip(sides, streams, strict=True)
    }
    paired = pairing(before, after, matches)
    predictions = _agreement(before, after, matches, weights, draw)
    parts, errors, fits = _gauges(paired, predictions, draws)
    steps = _steps(paired, parts, draws)
    slight = slight_gauges(paired, parts, steps)
    # A gauge acts on both sides, so a gauge that brings one side nearer and takes the
    # other side further apart is no explanation.
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
        for role in track(reported, "comparing cosines", len(reported))
    }
    typical = _typical(parts)
    condition_number = typical.gauge.condition_number
    too_few_for = 0
    if not fits and _is_undecided(before, after, paired, changes):
        # The fitted gauges do not say how much the gauge between the models moves.
        condition_number = float("nan")
        too_few_for = first.rank
    sameness = None
    if not any(change.n_displaced for change in changes.values()):
        sameness = prove_same(
            (first, second),
            (before, after),
            spans,
            shared,
            paired,
            has_states=n_states > 0,
        )
    return Comparison(
        before.roles,
        changes,
        predictions,
        typical.group,
        condition_number,
        fits,
        n_states=n_states,
        too_few_for=too_few_for,
        sameness=sameness,
    )


def _is_undecided(
    before: FactorModel,
    after: FactorModel,
    paired: Pairing,
    changes: dict[SideName, RoleChange],
) -> bool:
    """Return True if the rows are too few to measure the part that a gauge explains.

    A gauge that explains nearly all of the change is found even by few rows.
    """
    has_remainder = any(
        exceeds(change.mean_remainder, max(FLOAT32_TIE, LITTLE * change.mean_total))
        for change in changes.values()
    )
    # No gauge moves cosines of vectors that hold prediction cosines.
    has_prediction_vectors = before.objective == after.objective == "prediction"
    is_movable = "linear" in paired.groups and not has_prediction_vectors
    return has_remainder and is_movable and is_open(paired.fitted, paired.shifts)


def _require_second_run(second_seed: Comparison) -> None:
    """Raise InputError if a reference is no second run of the first model.

    Its limits would be so low that they stop no model.
    """
    verdict = second_seed.verdict
    if verdict.word == OTHER_SPACE:
        reason = verdict.reason
    else:
        reason = _why_no_second_run(second_seed)
    if reason:
        raise InputError(
            "{} must be a second training run of the first model; {} Give limits with "
            "{} if there is no second run.",
            Parameter("reference"),
            reason,
            Parameter("fail_below"),
        )


def _why_no_second_run(second_seed: Comparison) -> str:
    """Say why a related reference is no second run; empty if it can be one."""
    for title, count in second_seed.swapped.items():
        return f"{count:,} of its {title}s have the vector of another {title}."
    scores = second_seed.agreement
    if scores is not None:
        if reaches(scores.score_correlation, SAME_RUN):
            return ""
        correlation = number_by_limit(scores.score_correlation, SAME_RUN)
        return (
            f"its scores correlate by {correlation} with those of the first model, and "
            f"those of a second run by at least {SAME_RUN}."
        )
    # Vectors of one side have no scores, so their neighbour lists are compared.
    for role, change in second_seed.changes.items():
        chance = change.n_neighbours / len(change.match)
        kept = change.neighbour_shares["kept"]
        if kept <= UNRELATED + chance:
            return (
                f"it keeps {percent(kept)} of {change.n_neighbours} nearest "
                f"{second_seed.title(role)}s, which is hardly more than chance."
            )
    return ""


def _require_another_file(
    after: FactorModel | AnyPath | object, reference: FactorModel | AnyPath | object
) -> None:
    """Raise InputError if the reference holds the rows of the second model.

    Every model is as near to the first model as it is itself, so it would pass.
    """
    model = LoadedModel.load(after).model
    other = LoadedModel.load(reference).model
    if _has_rows_of(model, other):
        raise InputError(
            "{} must be a second training run of the first model; got a model with "
            "exactly the rows of the second model, so that every comparison would "
            "pass. Give limits with {} if there is no second run.",
            Parameter("reference"),
            Parameter("fail_below"),
        )


def _has_rows_of(model: FactorModel, other: FactorModel) -> bool:
    """Return True if all sides of two models hold the same rows and biases in order."""
    if (model.left is None) != (other.left is None):
        return False
    if not _are_equal(model.right, other.right):
        return False
    if not _are_equal(model.right_bias, other.right_bias):
        return False
    left_is_equal = _are_equal(model.left, other.left)
    return left_is_equal and _are_equal(model.left_bias, other.left_bias)


def _are_equal(first: Matrix | Vector | None, second: Matrix | Vector | None) -> bool:
    """Return True if two arrays are equal, or both are missing."""
    if first is None or second is None:
        return first is None and second is None
    return first.shape == second.shape and all(
        np.array_equal(first[block], second[block])
        for block in row_blocks(len(first), first.size // max(1, len(first)))
    )


def _agreement(
    before: FactorModel,
    after: FactorModel,
    matches: dict[SideName, Match],
    weights: dict[SideName, RowWeights],
    draw: np.random.Generator,
) -> Agreement | None:
    """Compare the predictions; None if a side is missing."""
    left_role: SideName = "left"
    if before.compared is not None and after.compared is not None:
        # Rows that are compared with each other are both sides of a prediction.
        left_role = "right"
    if left_role not in matches:
        return None
    return agreement(
        before,
        after,
        matches[left_role],
        matches["right"],
        rng=draw,
        weights=(weights[left_role], weights["right"]),
    )


def _views(
    model: FactorModel,
    end: str,
    shared: dict[SideName, Match],
    drawn: dict[SideName, Indices],
) -> dict[SideName, Floats]:
    """Return the drawn rows in a form whose plain cosine is the prediction cosine.

    Prediction cosines are computed over the rows of the other side that both models
    hold.

    Parameters
    ----------
    model : FactorModel
        The first or the second model.
    end : {"before", "after"}
        Which of the two it is.
    shared : dict of role to Match
        All shared rows.
    drawn : dict of role to array of shape (m,)
        Places of the returned rows among the shared rows.
    """
    shared_rows: dict[SideName, Indices] = {
        role: getattr(pairs, end) for role, pairs in shared.items()
    }
    # A side of which all rows are shared stays as it is, because a model knows more
    # about a whole side than about a part of it.
    partial_sides = {
        role: rows
        for role, rows in shared_rows.items()
        if len(rows) < len(model.side(role))
    }
    if partial_sides:
        model = model.take(**partial_sides)
    views = {}
    for role, view in (prediction_views(model) or {}).items():
        if role in partial_sides:
            views[role] = view[drawn[role]]
        elif role in shared_rows:
            views[role] = view[shared_rows[role][drawn[role]]]
    return views


def _gauges(
    paired: Pairing, predictions: Agreement | None, draws: Draws
) -> tuple[list[CrossFitHalf], dict[SideName, dict[str, float]], bool]:
    """Fit the gauges to halves of the rows.

    If the predictions are the same and halves hold too few rows, the gauges are fitted
    to all rows.

    Returns
    -------
    parts : list of CrossFitHalf
        The halves, or one part of all rows.
    errors : dict of role to dict of str to float
        Share of the spread that each group leaves, by side.
    fits : bool
        True if the chosen group leaves nearly nothing.
    """
    options = (paired.groups, paired.shifts)
    n_entities = sum(len(source) for source, _ in paired.fitted.values())
    n_cuts = min(MAX_CUTS, max(1, CUT_ENTITIES // n_entities))
    parts: list[CrossFitHalf] = []
    # Products of few rows are small, and threads of the BLAS would wait for each other
    # longer than they compute.
    is_small = n_entities <= CUT_ENTITIES
    with one_blas_thread() if is_small else nullcontext():
        for _ in range(n_cuts):
            parts += folds(paired.fitted, draws, *options)
    errors = held_out_error(paired.fitted, parts)
    fits = _explains_spread(errors, parts)
    if not fits and predictions is not None and predictions.same:
        # There is a gauge between models of the same predictions, so a fit that is
        # judged on its own rows is not flattered.
        parts_of_all = [whole(paired.fitted, *options)]
        errors_of_all = held_out_error(paired.fitted, parts_of_all)
        if _explains_spread(errors_of_all, parts_of_all):
            return parts_of_all, errors_of_all, True
    return parts, errors, fits


def _steps(
    paired: Pairing, parts: list[CrossFitHalf], draws: Draws
) -> dict[SideName, list[AttributionSteps]]:
    """Follow the rows of every side from the first model to the second, by halves."""
    return {
        role: [attribution_steps(role, paired, fold, draws[role]) for fold in parts]
        for role in paired.raw
    }


def brings_nearer(steps: dict[SideName, list[AttributionSteps]]) -> bool:
    """Return True if the gauges bring the cosines of all sides together nearer."""
    change = remainder = 0.0
    for paths in steps.values():
        change += mean_size(np.concatenate([path.visible for path in paths]))
        remainder += mean_size(np.concatenate([path.remainder for path in paths]))
    # A larger group has to beat a smaller one by this factor for cosines, too.
    return reaches(change, remainder * WORSE)


def slight_gauges(
    paired: Pairing,
    parts: list[CrossFitHalf],
    steps: dict[SideName, list[AttributionSteps]],
) -> dict[SideName, float]:
    """Measure how much of the mean change of cosines the best gauge takes away.

    Gauges that take away too little to be counted are measured, too. A gauge acts on
    both sides, so a side is not credited with more than both sides together.

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
    best = dict.fromkeys(steps, 0.0)
    largest = 0.0
    for group in parts[0].fits:
        gains = {}
        for role, paths in steps.items():
            changes, remainders = [], []
            for fold, path in zip(parts, paths, strict=True):
                rows = fold.fits[group].apply(role, paired.fitted[role][0])
                changes.append(path.visible)
                remainders.append(path.end - pair_cosines(rows, rows, path.pairs))
            change = mean_size(np.concatenate(changes))
            gains[role] = change - mean_size(np.concatenate(remainders))
        total = sum(gains.values())
        if exceeds(total, largest):
            largest = total
            best = {role: min(max(0.0, gain), total) for role, gain in gains.items()}
    return best


def _explains_spread(
    errors: dict[SideName, dict[str, float]], parts: list[CrossFitHalf]
) -> bool:
    """Return True if the chosen group leaves nearly nothing of the rows' spread."""
    group = _typical(parts).group
    mean_error = np.mean([error[group] for error in errors.values()])
    return bool(mean_error <= EXPLAINED_SPREAD)


def _typical(parts: list[CrossFitHalf]) -> CrossFitHalf:
    """Return the part whose group is the upper median, so one outlier has no effect."""
    by_size = sorted(
        parts, key=lambda fold: list(fold.fits).index(fold.group), reverse=True
    )
    return by_size[(len(parts) - 1) // 2]


def _roles(
    before: FactorModel, after: FactorModel, roles: Sequence[SideName | str] | None
) -> tuple[SideName, ...]:
    """Return the sides that both models have, or the given ones."""
    if roles is None:
        return tuple(side for side in before.sides if side in after.sides)
    names = tuple(
        before.side_name(role) for role in as_list(roles, "roles", '["right"]')
    )
    for role in names:
        # These raise InputError if a model lacks the side.
        before.side(role)
        after.side(role)
    if not names or len(set(names)) < len(names):
        raise InputError(
            "{} must name each side once; got {}.", Parameter("roles"), list(roles)
        )
    return names
