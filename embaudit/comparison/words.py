"""A comparison in plain words: what changed, why, and what to do next. Each sentence rests on one measure."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

from embaudit.comparison.agreement import SAME, Agreement
from embaudit.comparison.change import RoleChange
from embaudit.core.ties import first_best, reaches
from embaudit.core.words import apportioned, counted, percent, percents, snapped

if TYPE_CHECKING:
    from embaudit.comparison.result import Comparison

_GAUGES = {
    "rotation": "a rotation",
    "diagonal": "one scale for each dimension",
    "linear": "a general linear change of the coordinates",
    "affine": "a general linear change of the coordinates with a shift",
}
_KEYS = {
    "ids": "their ids",
    "names": "their names",
    "row numbers": "the order of their rows",
}
STILL = 0.01
"""Mean change of cosines below which they count as unchanged."""
LISTS = 0.05
"""Share of former neighbours that may go before a list counts as changed."""
SHOWN = 0.005
"""Least number that two digits show."""
UNRELATED = 0.1
"""Share of lists kept, and correlation of scores, up to which two models have nothing in common."""
ALIKE = 0.999
"""Correlation of scores from which they differ in size alone, and by how much is told."""
AXES = " on the axes that both models share, which are a convention"
"""What heads that are folded and centred still depend on."""
USUAL = 0.8
"""The threshold that is carried over in a sentence."""


def statements(comparison: Comparison) -> tuple[str, ...]:
    """Describe the entities compared, the change and its reasons; the last sentence may name a next step."""
    parts = [_matching(comparison), _predictions(comparison)]
    for role, change in comparison.changes.items():
        title = comparison.title(role)
        parts += [_cosines(comparison, change, title), _threshold(change, title)]
    displaced = [
        _displaced(comparison, change, comparison.title(role))
        for role, change in comparison.changes.items()
    ]
    # Where rows were mixed up, nothing else is worth doing first.
    parts += [
        _too_few(comparison),
        _predicted(comparison),
        " ".join(filter(None, displaced)) or _next(comparison),
    ]
    return tuple(sentence for sentence in parts if sentence)


def _matching(comparison: Comparison) -> str:
    """Describe the entities compared, how they were matched, and those left out."""
    shared: dict[str, list[str]] = {}
    left_out = []
    for role, change in comparison.changes.items():
        match, title = change.match, comparison.title(role)
        shared.setdefault(match.key, []).append(counted(len(match), title))
        if match.only_before or match.only_after:
            only = f"{counted(match.only_before, title)} of the first model alone, {match.only_after:,} of the second"
            left_out.append(f"Left out: {only}.")
    matched = ", and ".join(
        f"{' and '.join(rows)}, matched by {_KEYS[key]}" for key, rows in shared.items()
    )
    return " ".join([f"Compared: {matched}.", *left_out])


def _predictions(comparison: Comparison) -> str:
    """Describe how far the predictions agree, and for which inputs of heads without any."""
    agreement = comparison.agreement
    if agreement is None:
        return "Only one side was loaded, so what the models predict could not be compared."
    text = ""
    if comparison.n_states:
        text = f"Predictions are compared for {agreement.n_rows:,} random states, each brought through the final norm "
        text += "before either head. "
    # A softmax over the labels of both is another one than that over all labels of either.
    lacking = [
        role
        for role, x in comparison.changes.items()
        if x.match.only_before or x.match.only_after
    ]
    titles = " and ".join(f"{comparison.title(role)}s" for role in lacking)
    over = f", over the {titles} that both hold" if lacking else ""
    if agreement.same:
        return f"{text}The two models predict the same{over}."
    if agreement.predicts[0] != agreement.predicts[1]:
        text += f"The first model predicts {agreement.predicts[0]}, the second {agreement.predicts[1]}. "
    # Rows of one table are compared with each other, by cosine or dot product.
    noun = "similarities" if agreement.of_one_table else "scores"
    text += f"Their {noun} correlate by {agreement.score_correlation:.3f} within a row{over}, and "
    text += f"{percent(agreement.ranking_overlap)} of their top {agreement.top_n} are shared."
    if (
        agreement.score_correlation > ALIKE
        and agreement.score_distance > SAME
        and "rankings" not in agreement.predicts
    ):
        text += f" Yet {_difference(agreement, noun)}."
    # Of one table the rows are those of its one side.
    n_rows = (agreement.n_rows, agreement.n_columns)[: len(agreement.unlike)]
    sides = zip(comparison.roles[-len(n_rows) :], agreement.unlike, n_rows, strict=True)
    unlike = [
        f"{percent(share)} of {counted(n, title)}"
        for title, share, n in sides
        if share >= SHOWN
    ]
    text += (
        f" {noun.capitalize()} of {' and '.join(unlike)} correlate by less than 0.3."
        if unlike
        else ""
    )
    if agreement.kl_divergence is not None:
        text += f" KL divergence {agreement.kl_divergence:.2g}, distance of log-probability differences "
        text += f"{agreement.difference_distance:.2g} of their size. {agreement.kl_warning}".rstrip()
    return text


def _difference(agreement: Agreement, noun: str) -> str:
    """Describe how far scores in the same order differ: by one factor or one number a row where that is all."""
    # Log-probabilities differ by a constant of a row that no probability shows.
    is_softmax, within, scale = (
        agreement.kl_divergence is not None,
        agreement.difference_distance,
        agreement.scale,
    )
    distance, gap = within if is_softmax else agreement.score_distance, abs(scale - 1)
    # Scores that are s times as large are |s - 1| of their size away, with the mean of a row and without.
    if gap >= STILL and max(abs(distance - gap), abs(within - gap)) <= STILL * gap:
        return f"the {noun} of the second are {scale:.3g} times as large"
    by_row = ", each row by one number" if within < STILL * distance else ""
    size = percent(distance) if distance >= STILL else f"{distance:.1g}"
    return f"their {noun} differ by {size} of their size{by_row}"


def _cosines(comparison: Comparison, change: RoleChange, title: str) -> str:
    """Describe the change of one side's cosines and lists, after the rows that have no cosine."""
    start, n_without = f"The {title}s' cosines", change.n_without_direction
    if n_without:
        places = zip(
            change.zero_rows,
            ("in the first model", "in the second model", "in both"),
            strict=True,
        )
        rows = [
            f"{n:,} {'has' if n == 1 else 'have'} no direction {place}"
            for n, place in places
            if n
        ]
        start = f"Of {counted(len(change.match), title)}, {' and '.join(rows)}. The others' cosines"
    lists = _lists(comparison, change, title)
    if change.mean_total < STILL:
        size = (
            ""
            if change.mean_total < 1e-6
            else f" to {change.mean_total:.2g} on average"
        )
        return f"{start} are the same{size}.{'' if _is_still(change) else lists}"
    mean, low, high = (
        f"{x:.2f}" for x in (change.mean_total, *change.interval("total"))
    )
    interval = "" if low == high == mean else f" (95 %: {low} to {high})"
    return f"{start} differ by {mean}{interval} on average{_parts(comparison, change, title)}.{lists}"


def _is_still(change: RoleChange) -> bool:
    """Check that neither the cosines nor the lists of a side changed so that anybody would notice."""
    return change.mean_total < STILL and change.neighbour_shares["kept"] > 1 - LISTS


def _parts(comparison: Comparison, change: RoleChange, title: str) -> str:
    """Describe the parts of a mean change that a gauge and unseen dimensions explain, and the rest."""
    is_known = not comparison.too_few_for
    parts, sizes = [], (change.mean_gauge, change.mean_unseen, change.mean_remainder)
    gauge, unseen, rest = apportioned(sizes, round(change.mean_total, 2), 0.01)
    if gauge and is_known:
        verb = "could be" if comparison.agreement is None else "is"
        cause = f"{_GAUGES[comparison.group]} (condition number {comparison.condition_number:.3g})"
        parts.append(f"{gauge:.2f} {verb} the work of {cause}")
    if unseen:
        parts.append(f"{unseen:.2f} comes from dimensions that no prediction sees")
    if not parts:
        return _unexplained(change) if is_known else ""
    if rest and is_known:
        parts.append(f"{rest:.2f} remains, on {title}s that were not used to find it")
    return f". Of that, {'. '.join(parts)}"


def _unexplained(change: RoleChange) -> str:
    """Describe a change that no gauge was credited with."""
    # A rotation keeps every cosine.
    if [*change.unexplained] == ["rotation"]:
        return ", and no rotation, the one gauge that keeps cosines, explains it"
    if change.slight_gauge >= SHOWN:
        # Rounded up, because it is a bound.
        bound = ceil(snapped(100 * change.slight_gauge)) / 100
        return f", of which no gauge explains more than {bound:.2f}"
    # Lists can change by less than two digits of a mean show.
    if change.outcomes["lost_to_gauge"]:
        return f", of which a gauge explains less than {2 * SHOWN:.2f}"
    return ", and no gauge explains it"


def _lists(comparison: Comparison, change: RoleChange, title: str) -> str:
    """Describe the share of nearest neighbours that changed, by reason."""
    shares = change.neighbour_shares
    gauge, unseen, rest = (
        shares[f"lost_to_{reason}"] for reason in ("gauge", "unseen", "learning")
    )
    if comparison.too_few_for:
        gauge, rest = 0.0, gauge + rest
    reasons = {
        "as a gauge could do"
        if comparison.agreement is None
        else "because of the gauge": gauge,
        "because of dimensions that no prediction sees": unseen,
        "otherwise": rest,
    }
    lost = {reason: share for reason, share in reasons.items() if share > 0}
    once = " (duplicates count once)" if change.n_duplicates else ""
    start = f" Of {change.n_neighbours} nearest {title}s{once}, {percent(sum(lost.values()))} changed"
    if len(lost) > 1:
        return f"{start}: {', '.join(map(' '.join, zip(percents([*lost.values()]), lost, strict=True)))}."
    return "".join(
        f"{start}{'' if reason == 'otherwise' else f', {reason}'}." for reason in lost
    )


def _displaced(comparison: Comparison, change: RoleChange, title: str) -> str:
    """Name ids and vectors that were mixed up, or look as if they were."""
    scores, count, n = comparison.agreement, change.n_displaced, len(change.match)
    if count:
        return f"{count:,} of {n:,} {title}s now have the vector that another {title} had: check that ids fit their rows."
    n_lost, is_all = (
        sum(change.zero_rows[:2]),
        all(x.mean_total < STILL for x in comparison.changes.values()),
    )
    if n_lost and is_all and not (scores and scores.same):
        return f"No gauge makes rows of zeros: find out why one model alone has them ({counted(n_lost, title)})."
    lists = max(change.neighbour_shares["kept"], change.predicted_kept or 0.0)
    # Of few rows, chance alone keeps some in a list.
    chance = change.n_neighbours / n
    if (
        lists > UNRELATED + chance
        or scores is None
        or abs(scores.score_correlation) > UNRELATED
    ):
        return ""
    key = change.match.key
    return (
        f"Same {key}, other vectors: {percent(1 - lists)} of the nearest {title}s changed, and scores correlate by "
        f"{scores.score_correlation:.2f}. Check that {key} fit their rows in both models."
    )


def _threshold(change: RoleChange, title: str) -> str:
    """Carry one threshold over; the table has all."""
    moved = [
        threshold
        for threshold in change.thresholds
        if reaches(abs(threshold.after - threshold.before), STILL)
    ]
    if not moved or change.mean_total < STILL:
        return ""
    usual = first_best(moved, lambda threshold: -abs(threshold.before - USUAL))
    direction = "raise" if usual.after > usual.before else "lower"
    return (
        f"To keep as many {title}-{title} pairs as before ({percent(usual.share)} of all), "
        f"{direction} your threshold from {usual.before:.2f} to {usual}."
    )


def _too_few(comparison: Comparison) -> str:
    """Describe why the part of a gauge cannot be told from these rows."""
    if not comparison.too_few_for:
        return ""
    rows = " and ".join(
        counted(len(x.match), comparison.title(role))
        for role, x in comparison.changes.items()
    )
    return (
        f"These {rows} are too few, or too alike, for {counted(comparison.too_few_for, 'dimension')}: a gauge of some "
        "says nothing about the others. How much of the change a gauge explains cannot be said from them."
    )


def _predicted(comparison: Comparison) -> str:
    """Set the lists by prediction cosine beside those by cosine, which a gauge moves."""
    shares = []
    for role, change in comparison.changes.items():
        share = change.predicted_kept
        if share is None or (change.mean_total < STILL and share == 1):
            continue
        lost, low, high = (
            percent(1 - end)
            for end in (share, *change.interval("predicted_kept")[::-1])
        )
        interval = "" if low == high == lost else f" (95 %: {low} to {high})"
        shares.append(
            f"{lost} of {change.n_neighbours} nearest {comparison.title(role)}s{interval}"
        )
    return f"By prediction cosine, {' and '.join(shares)} changed." if shares else ""


def _next(comparison: Comparison) -> str:
    """Name the next step."""
    agreement, changes, gauge = (
        comparison.agreement,
        comparison.changes.values(),
        _GAUGES[comparison.group],
    )
    if agreement is None:
        moved = any(change.mean_total >= STILL for change in changes)
        all_gauge = (
            "All of the difference could be a gauge. "
            if moved and comparison.fits
            else ""
        )
        both = "save both sides of each, `embaudit.save(embaudit.load(PATH, left=FILE), NEW)`, and compare those"
        remedy = (
            "compare them with `--inputs FILE`"
            if comparison.roles[0] == "input"
            else both
        )
        return f"{all_gauge}Whether the models predict the same cannot be known from one side: {remedy}."
    still = all(map(_is_still, changes))
    served = all(
        change.predicted_kept is None or change.predicted_kept > 1 - LISTS
        for change in changes
    )
    if agreement.same and still and served:
        lost = any(
            change.match.only_before or change.match.only_after for change in changes
        )
        alike = "either model can stand in for the other"
        text = f"For the rows that both hold, {alike}; check those that one lacks."
        return text if lost else f"Nothing to do: {alike}."
    if "rankings" in agreement.predicts and not (still and served):
        start = (
            f"The models are the same up to {gauge}. " if comparison.explained else ""
        )
        return f"{start}Rankings leave lengths of users open, and so prediction cosines: compare what the models rank."
    # Equivalent models share their cosines in one form: a head without inputs folds its norm in.
    form = "folded-centred" if comparison.n_states else "prediction"
    # Tables compared by distance have no vectors whose cosines both models share.
    by_distance = agreement.same and agreement.of_one_table
    if comparison.explained and not by_distance:
        unseen = any(change.mean_unseen >= SHOWN for change in changes)
        beside = " and dimensions that no prediction sees" if unseen else ""
        return (
            f"The models are the same up to {gauge}{beside}. Compare and index them by "
            f"`embaudit fix MODEL --as {form}`, which gives both the same cosines{AXES * bool(comparison.n_states)}."
        )
    if agreement.same:
        return "No prediction asks for what differs in the cosines: compare what the models predict."
    return _next_of_other_predictions(comparison, form, still=still)


def _next_of_other_predictions(
    comparison: Comparison, form: str, *, still: bool
) -> str:
    """Name the next step for models that predict other things.

    Parameters
    ----------
    comparison : Comparison
        A comparison of models with predictions.
    form : str
        The kind of vectors that is compared by `embaudit fix MODEL --as`.
    still : bool
        True if neither cosines nor lists changed.
    """
    agreement = comparison.agreement
    assert agreement is not None, "both models have predictions"
    if comparison.fits or still:
        gauge = _GAUGES[comparison.group]
        what = "cosines agree" if still else f"factors agree up to {gauge}"
        if agreement.score_correlation > ALIKE and agreement.score_distance > SAME:
            return f"Their {what}, and the models rank nearly alike."
        return (
            f"Their {what} and their predictions do not: no cosine shows biases, an offset, lengths or what is made of "
            "the scores. Compare what the models predict."
        )
    if agreement.of_one_table:
        # Their plain cosines are those of the predictions, and there is no form to bring them into.
        return ""
    if comparison.n_states:
        return (
            f"Compare heads with their norms folded in (`embaudit fix MODEL --as {form}`): differences there come "
            "neither from the norms nor from a mean row that no probability shows. A change of the axes can still "
            "move those cosines."
        )
    return (
        f"Compare models by prediction cosines (`embaudit fix MODEL --as {form}`), which no gauge moves: what differs "
        "there is no matter of coordinates."
    )
