"""A comparison in plain sentences: what changed, why, and what to do next.

Each function writes one statement, or "" if there is nothing to say.
"""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

from embaudit.comparison.agreement import Agreement
from embaudit.comparison.change import RoleChange
from embaudit.comparison.sameness import IDENTITY
from embaudit.comparison.verdict import (
    AXES,
    OTHER_SPACE,
    changes_unseen,
    is_weighted,
    share_kept,
    share_kept_by_prediction,
)
from embaudit.core.ties import first_best, reaches
from embaudit.core.tolerances import FLOAT32_TIE, PRINTED_COSINE, SAME_SCORES
from embaudit.core.words import apportioned, counted, percent, percents, snapped

if TYPE_CHECKING:
    from embaudit.comparison.result import Comparison

KEYS = {
    "ids": "their ids",
    "names": "their names",
    "row numbers": "the order of their rows",
}
"""What rows were matched by, in words."""
UNCHANGED = 0.01
"""Mean change of cosines below which they count as unchanged."""
LISTS_LOST = 0.05
"""Share of neighbours from which on a list counts as changed."""
SAME_ORDER = 0.999
"""Correlation of scores above which the two models rank nearly alike."""
USUAL_THRESHOLD = 0.8
"""Threshold that is carried over in a sentence."""


def paragraphs(comparison: Comparison) -> tuple[str, ...]:
    """Write all statements but the next step; the verdict comes first."""
    verdict = comparison.verdict
    texts = []
    if verdict.word:
        texts.append(str(verdict))
    texts += [matching(comparison), predictions(comparison)]
    for role, change in comparison.changes.items():
        title = comparison.title(role)
        texts.append(
            f"{cosines(comparison, change, title)} {lists(comparison, change, title)}"
        )
        # A threshold does not carry over between unrelated models.
        if verdict.word != OTHER_SPACE:
            texts.append(threshold(change, title))
    texts += [too_few_rows(comparison), predicted_lists(comparison)]
    if not verdict.word:
        texts.append(verdict.reason)
    return tuple(text.strip() for text in texts if text.strip())


def matching(comparison: Comparison) -> str:
    """Say which rows were compared, how they were matched, and which were skipped."""
    titles_by_key: dict[str, list[str]] = {}
    unmatched = []
    for role, change in comparison.changes.items():
        match, title = change.match, comparison.title(role)
        titles_by_key.setdefault(match.key, []).append(counted(len(match), title))
        if match.only_before:
            unmatched.append(
                f"{counted(match.only_before, title)} of the first model alone"
            )
        if match.only_after:
            unmatched.append(f"{counted(match.only_after, title)} of the second alone")
    compared = [
        f"{' and '.join(titles)}, matched by {KEYS[key]}"
        for key, titles in titles_by_key.items()
    ]
    text = f"Compared: {', and '.join(compared)}."
    if unmatched:
        text += f" Not compared: {', '.join(unmatched)}."
    return text


def predictions(comparison: Comparison) -> str:
    """Say how far the predictions agree."""
    agreement = comparison.agreement
    if agreement is None:
        return "Only one side was loaded, so predictions could not be compared."
    texts = []
    if comparison.n_states:
        texts.append(
            f"Predictions are compared for {agreement.n_rows:,} random states behind "
            "the final norms."
        )
    over = _shared_titles(comparison)
    if agreement.same:
        texts.append(f"The two models predict the same{over}.")
        return " ".join(texts)
    texts.append(_different_links(agreement))
    texts.append(
        f"Their {_noun(agreement)} correlate by {agreement.score_correlation:.3f} "
        f"within a row{over}, and {percent(agreement.ranking_overlap)} of their top "
        f"{agreement.top_n} are shared."
    )
    texts.append(_different_sizes(agreement))
    texts.append(_unlike_rows(comparison, agreement))
    if agreement.kl_divergence is not None:
        texts.append(
            f"KL divergence {agreement.kl_divergence:.2g}, distance of log-probability "
            f"differences {agreement.difference_distance:.2g} of their size."
        )
        texts.append(agreement.kl_warning)
    return " ".join(text for text in texts if text)


def _different_links(agreement: Agreement) -> str:
    """Say that the two models turn scores into different predictions."""
    first, second = agreement.predicts
    if first != second:
        return f"The first model predicts {first}, the second {second}."
    first, second = agreement.links
    if first != second:
        return (
            f"The first model has the link {first}, the second {second}, so equal "
            "scores are different predictions."
        )
    return ""


def _noun(agreement: Agreement) -> str:
    # The rows of one table are compared with each other, by cosine or dot product.
    return "similarities" if agreement.of_one_table else "scores"


def _shared_titles(comparison: Comparison) -> str:
    """Name the sides on which one model has rows that the other model lacks.

    A softmax over the labels that both models hold differs from that over all labels.
    """
    titles = []
    for role, change in comparison.changes.items():
        if change.match.only_before or change.match.only_after:
            titles.append(f"{comparison.title(role)}s")
    if not titles:
        return ""
    return f", over the {' and '.join(titles)} that both hold"


def _different_sizes(agreement: Agreement) -> str:
    """Say how far scores differ that are in the same order."""
    is_same_order = agreement.score_correlation > SAME_ORDER
    is_same_size = agreement.score_distance <= SAME_SCORES
    if not is_same_order or is_same_size or "rankings" in agreement.predicts:
        return ""
    noun, within = _noun(agreement), agreement.difference_distance
    # No probability shows a number that is added to all logits of a row.
    distance = agreement.score_distance
    if agreement.kl_divergence is not None:
        distance = within
    # Scores that are s times as large differ by |s − 1| of their size, with and without
    # the mean of a row.
    expected = abs(agreement.scale - 1)
    error = max(abs(distance - expected), abs(within - expected))
    if expected >= UNCHANGED and error <= UNCHANGED * expected:
        return (
            f"Yet the {noun} of the second model are {agreement.scale:.3g} times as "
            "large."
        )
    size = f"{distance:.1g}"
    if distance >= UNCHANGED:
        size = percent(distance)
    if within < UNCHANGED * distance:
        return (
            f"Yet their {noun} differ by {size} of their size, each row by one number."
        )
    return f"Yet their {noun} differ by {size} of their size."


def _unlike_rows(comparison: Comparison, agreement: Agreement) -> str:
    """Name the shares of rows whose scores differ from those of the first model."""
    # For one table there is one share, that of its rows.
    n_sides = len(agreement.unlike)
    counts = (agreement.n_rows, agreement.n_columns)[:n_sides]
    unlike = []
    for title, share, count in zip(
        comparison.roles[-n_sides:], agreement.unlike, counts, strict=True
    ):
        if share >= PRINTED_COSINE:
            unlike.append(f"{percent(share)} of {counted(count, title)}")
    if not unlike:
        return ""
    noun = _noun(agreement).capitalize()
    return f"{noun} of {' and '.join(unlike)} correlate by less than 0.3."


def cosines(comparison: Comparison, change: RoleChange, title: str) -> str:
    """Say how far the cosines of one side changed, and why."""
    without = _rows_without_direction(change, title)
    start = f"The {title}s' cosines"
    if without:
        start = f"{without} The others' cosines"
    if change.mean_total < FLOAT32_TIE:
        return f"{start} are the same."
    if change.mean_total < UNCHANGED:
        return f"{start} are the same to {change.mean_total:.2g} on average."
    text = f"{start} differ by {change.mean_total:.2f} on average."
    return f"{text} {_causes(comparison, change, title)}".strip()


def _rows_without_direction(change: RoleChange, title: str) -> str:
    if not change.n_without_direction:
        return ""
    places = ("in the first model", "in the second model", "in both")
    rows = []
    for count, place in zip(change.zero_rows, places, strict=True):
        if count == 1:
            rows.append(f"1 has no cosine {place}")
        elif count:
            rows.append(f"{count:,} have no cosine {place}")
    return f"Of {counted(len(change.match), title)}, {' and '.join(rows)}."


def _causes(comparison: Comparison, change: RoleChange, title: str) -> str:
    """Name the parts of a mean change: axes, unseen dimensions and real change."""
    sizes = (change.mean_gauge, change.mean_unseen, change.mean_remainder)
    axes, unseen, real = apportioned(sizes, round(change.mean_total, 2), 0.01)
    texts = []
    if axes and not comparison.too_few_for:
        verb = "explains"
        if comparison.agreement is None:
            verb = "could explain"
        texts.append(
            f"A change of axes ({AXES[comparison.group]}, condition number "
            f"{comparison.condition_number:.3g}) {verb} {axes:.2f} of it."
        )
    if unseen:
        texts.append(f"Dimensions that no prediction sees explain {unseen:.2f} of it.")
    if comparison.too_few_for:
        return " ".join(texts)
    if not texts:
        return _no_cause(change)
    if real:
        texts.append(
            f"{real:.2f} of it is a real change, on {title}s that were not used to "
            "find the axes."
        )
    return " ".join(texts)


def _no_cause(change: RoleChange) -> str:
    """Say that a change of axes was not credited with any part of a mean change."""
    if list(change.unexplained) == ["rotation"]:
        return "The models differ by more than a rotation of the axes."
    if change.slight_gauge >= PRINTED_COSINE:
        # Rounded up, because it is a bound.
        bound = ceil(snapped(100 * change.slight_gauge)) / 100
        return f"A change of axes explains at most {bound:.2f} of it."
    # Lists can change by less than two decimals of a mean show.
    if change.outcomes["lost_to_gauge"]:
        return f"A change of axes explains less than {2 * PRINTED_COSINE:.2f} of it."
    return "No change of axes explains any of it."


def _is_unchanged(change: RoleChange) -> bool:
    """Return True if neither the cosines nor the lists of a side changed noticeably."""
    has_lists = change.neighbour_shares["kept"] > 1 - LISTS_LOST
    return change.mean_total < UNCHANGED and has_lists


def lists(comparison: Comparison, change: RoleChange, title: str) -> str:
    """Say which share of the nearest neighbours stays, and why others were lost.

    The reasons are counted with equal weights, so they are left to a table if rows have
    weights.
    """
    shares = change.neighbour_shares
    if _is_unchanged(change):
        return ""
    axes = shares["lost_to_gauge"]
    real = shares["lost_to_learning"]
    if comparison.too_few_for:
        axes, real = 0.0, axes + real
    lost = {
        "to a change of axes": axes,
        "to dimensions that no prediction sees": shares["lost_to_unseen"],
        "to a real change": real,
    }
    lost = {reason: share for reason, share in lost.items() if share > 0}
    duplicates = ""
    if change.n_duplicates:
        duplicates = " (duplicates count once)"
    kept = percent(share_kept(comparison, change))
    text = f"Of {change.n_neighbours} nearest {title}s{duplicates}, {kept} stay"
    if not lost or comparison.too_few_for or is_weighted(comparison, change):
        return f"{text}."
    texts = percents(list(lost.values()))
    parts = [
        f"{share} are lost {reason}" for share, reason in zip(texts, lost, strict=True)
    ]
    if len(parts) == 1:
        return f"{text}; {parts[0]}."
    return f"{text}; {', '.join(parts[:-1])} and {parts[-1]}."


def threshold(change: RoleChange, title: str) -> str:
    """Carry one threshold over; the table has all."""
    moved = [
        carried
        for carried in change.thresholds
        if reaches(abs(carried.after - carried.before), UNCHANGED)
    ]
    if not moved or change.mean_total < UNCHANGED:
        return ""
    usual = first_best(moved, lambda carried: -abs(carried.before - USUAL_THRESHOLD))
    verb = "lower"
    if usual.after > usual.before:
        verb = "raise"
    return (
        f"To keep as many {title}-{title} pairs as before ({percent(usual.share)} of "
        f"all), {verb} your threshold from {usual.before:.2f} to {usual}."
    )


def too_few_rows(comparison: Comparison) -> str:
    """Say that these rows are too few to find a change of axes."""
    if not comparison.too_few_for:
        return ""
    rows = [
        counted(len(change.match), comparison.title(role))
        for role, change in comparison.changes.items()
    ]
    return (
        f"These {' and '.join(rows)} are too few, or too alike, for "
        f"{counted(comparison.too_few_for, 'dimension')}, so they do not say which "
        "part of the change is a change of axes."
    )


def predicted_lists(comparison: Comparison) -> str:
    """Say which share of the neighbours by prediction cosine stays."""
    shares = []
    for role, change in comparison.changes.items():
        kept = share_kept_by_prediction(comparison, change)
        if kept is None or (change.mean_total < UNCHANGED and kept == 1):
            continue
        shares.append(
            f"{percent(kept)} of {change.n_neighbours} nearest "
            f"{comparison.title(role)}s"
        )
    if not shares:
        return ""
    lists_kept = " and ".join(shares)
    return f"By prediction cosine, which no change of axes moves, {lists_kept} stay."


def next_step(comparison: Comparison) -> str:
    """Say what to do next."""
    # If rows were mixed up, their ids have to be checked first.
    mixed_up = _mixed_up_rows(comparison) or _rows_of_zeros(comparison)
    if mixed_up:
        return mixed_up
    if comparison.verdict.word == OTHER_SPACE:
        return "Use the vectors, thresholds and lists of one model only."
    return f"{_next_of_related(comparison)} {_alignment(comparison)}".strip()


def _next_of_related(comparison: Comparison) -> str:
    """Advise on models whose vectors or predictions are related."""
    if comparison.same_up_to is not None:
        return _next_of_same(comparison)
    agreement = comparison.agreement
    if agreement is None:
        return _next_of_one_side(comparison)
    return _next_of_predictions(comparison, agreement)


def _alignment(comparison: Comparison) -> str:
    """Name the command after which an index can keep vectors of the first model."""
    if not comparison.mixable:
        return ""
    *others, last = comparison.mixable
    directions = last
    if others:
        directions = f"{', '.join(others)} and {last}"
    return (
        "To mix old and new vectors in one index, for example while you replace them, "
        "align the second model (NEW) with the first (OLD): `embaudit fix NEW "
        f"--align-to OLD`. Then they may be mixed for {directions}."
    )


def _next_of_predictions(comparison: Comparison, agreement: Agreement) -> str:
    """Advise on two models whose predictions were compared."""
    changes = comparison.changes.values()
    is_unchanged = all(_is_unchanged(change) for change in changes)
    has_lists = all(
        change.predicted_kept is None or change.predicted_kept > 1 - LISTS_LOST
        for change in changes
    )
    if agreement.same and is_unchanged and has_lists:
        return _next_of_unchanged(comparison)
    if "rankings" in agreement.predicts and not (is_unchanged and has_lists):
        return (
            "Rankings do not fix the lengths of users, and so they do not fix the "
            "prediction cosines: compare the rankings of the models."
        )
    # Tables compared by distance have no vectors whose cosines both models share.
    by_distance = agreement.same and agreement.of_one_table
    if comparison.explained and not by_distance:
        return _next_of_other_axes(comparison)
    if agreement.same:
        return (
            "The cosines differ where no prediction depends on them: compare the "
            "predictions of the models."
        )
    if comparison.fits or is_unchanged:
        return _next_of_other_scores(comparison, agreement, is_unchanged=is_unchanged)
    if agreement.of_one_table:
        # The plain cosines are prediction cosines already.
        return ""
    return _next_of_changed(comparison)


def _mixed_up_rows(comparison: Comparison) -> str:
    texts = []
    for role, change in comparison.changes.items():
        title, n_rows = comparison.title(role), len(change.match)
        if change.n_displaced:
            texts.append(
                f"{change.n_displaced:,} of {n_rows:,} {title}s now have the vector "
                f"that another {title} had: check that ids fit their rows."
            )
    return " ".join(texts)


def _rows_of_zeros(comparison: Comparison) -> str:
    """Name rows that are zero in one model alone, if nothing else changed."""
    agreement = comparison.agreement
    if agreement is not None and agreement.same:
        return ""
    changes = comparison.changes.values()
    if not all(change.mean_total < UNCHANGED for change in changes):
        return ""
    texts = []
    for role, change in comparison.changes.items():
        n_zero = sum(change.zero_rows[:2])
        if n_zero:
            texts.append(
                "No change of axes makes rows of zeros: find out why one model alone "
                f"has them ({counted(n_zero, comparison.title(role))})."
            )
    return " ".join(texts)


def _next_of_same(comparison: Comparison) -> str:
    """Advise on models that are proven to be the same up to a change of axes."""
    if comparison.agreement is None and comparison.same_up_to != IDENTITY:
        # One side does not say whether the axes of the other side changed, too.
        return (
            "Check that the vectors which these rows are compared with changed in the "
            "same way."
        )
    is_unchanged = all(_is_unchanged(change) for change in comparison.changes.values())
    if is_unchanged and not changes_unseen(comparison):
        return _next_of_equal(comparison)
    agreement = comparison.agreement
    if agreement is not None and agreement.of_one_table:
        # Tables compared by distance have no vectors whose cosines both models share.
        return (
            "The cosines differ where no prediction depends on them: compare the "
            "predictions of the models."
        )
    if agreement is not None and "rankings" in agreement.predicts:
        return (
            "Rankings do not fix the lengths of users, and so they do not fix the "
            "prediction cosines: compare the rankings of the models."
        )
    return _with_fixed_cosines(comparison)


def _next_of_equal(comparison: Comparison) -> str:
    """Advise on models with the same cosines and predictions.

    Their rows can still lie in different axes, and then cannot be mixed.
    """
    sameness = comparison.sameness
    if sameness is None or sameness.group == IDENTITY:
        return "Nothing to do: either model can stand in for the other."
    change = AXES[sameness.group]
    if not sameness.turns:
        change = "one scale for all dimensions"
    return (
        f"The models are equal up to {change}, so either of them can replace the other "
        "as a whole."
    )


def _with_fixed_cosines(comparison: Comparison) -> str:
    """Name the command that gives both models the same cosines."""
    # A head without inputs folds its norm in, and its axes stay a convention.
    if comparison.n_states:
        return (
            "Compare and index them by `embaudit fix MODEL --as folded-centred`, which "
            "gives both the same cosines. Their axes stay a convention that both "
            "models share."
        )
    return (
        "Compare and index them by `embaudit fix MODEL --as prediction`, which gives "
        "both the same cosines."
    )


def _next_of_one_side(comparison: Comparison) -> str:
    remedy = (
        "load the other side of each model, too (`--left-file FILE`, once for each "
        "model)"
    )
    if comparison.roles[0] == "input":
        remedy = "compare them with `--inputs FILE`"
    text = (
        f"Whether the models predict the same cannot be known from one side: {remedy}."
    )
    changes = comparison.changes.values()
    if comparison.fits and any(change.mean_total >= UNCHANGED for change in changes):
        return f"All of the difference could be a change of axes. {text}"
    return text


def _next_of_unchanged(comparison: Comparison) -> str:
    changes = comparison.changes.values()
    if any(change.match.only_before or change.match.only_after for change in changes):
        return (
            "For the rows that both models hold, either model can stand in for the "
            "other; check the rows that one model lacks."
        )
    return "Neither the predictions nor the lists changed noticeably."


def _next_of_other_axes(comparison: Comparison) -> str:
    changes = comparison.changes.values()
    unseen = ""
    if any(change.mean_unseen >= PRINTED_COSINE for change in changes):
        unseen = " and dimensions that no prediction sees"
    text = f"The models are the same up to {AXES[comparison.group]}{unseen}."
    return f"{text} {_with_fixed_cosines(comparison)}"


def _next_of_other_scores(
    comparison: Comparison, agreement: Agreement, *, is_unchanged: bool
) -> str:
    """Advise on models whose cosines or factors agree and whose predictions do not."""
    subject = f"Their factors agree up to {AXES[comparison.group]}"
    if is_unchanged:
        subject = "Their cosines agree"
    if (
        agreement.score_correlation > SAME_ORDER
        and agreement.score_distance > SAME_SCORES
    ):
        return f"{subject}, and the models rank nearly alike."
    return (
        f"{subject}, but their predictions do not: no cosine shows biases, an offset, "
        "lengths or the link. Compare the predictions of the models."
    )


def _next_of_changed(comparison: Comparison) -> str:
    if comparison.n_states:
        return (
            "Compare heads with their norms folded in (`embaudit fix MODEL --as "
            "folded-centred`): differences there come neither from the norms nor from "
            "a mean row that no probability shows. A change of axes can still move "
            "these cosines."
        )
    return (
        "Compare models by prediction cosines (`embaudit fix MODEL --as prediction`): "
        "no change of axes moves them, so a difference there is a real change."
    )
