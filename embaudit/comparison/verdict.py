"""May I switch from the first model to the second? The answer, in a word."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from embaudit.comparison.sameness import IDENTITY, Sameness
from embaudit.core.tolerances import FLOAT32_TIE
from embaudit.core.words import percent

if TYPE_CHECKING:
    from embaudit.comparison.change import RoleChange
    from embaudit.comparison.result import Comparison

OTHER_SPACE: Literal["OTHER SPACE"] = "OTHER SPACE"
"""Answer for two models whose vectors have nothing in common."""
Word: TypeAlias = Literal["SAME", "CLOSE", "DIFFERENT", "OTHER SPACE", ""]
UNRELATED = 0.1
"""Largest correlation, and share of lists kept beyond chance, of unrelated models."""
GIVE_A_LIMIT = (
    "Give a limit (`--fail-below`) or a second seed (`--reference`) to judge this."
)
AXES = {
    "rotation": "a rotation of the axes",
    "diagonal": "one scale for each dimension",
    "linear": "a linear map of the axes",
    "affine": "a linear map of the axes and a shift",
}
"""Gauge groups in words."""
WEIGHTED = ("shared", "kept", "predicted", "rows")
"""Shares in which rows count by their weights."""


@dataclass(frozen=True)
class Verdict:
    """Whether the second model can replace the first one."""

    word: Word
    """The answer; empty if nothing was given to judge by."""
    reason: str
    """A sentence or two."""

    def __str__(self) -> str:
        if not self.word:
            return self.reason
        return f"{self.word}: {self.reason}"


def judge(comparison: Comparison) -> Verdict:
    """Judge a comparison.

    OTHER SPACE comes first, because no share of two unrelated models means anything. A
    limit that is not reached comes before SAME: a change of axes leaves predictions as
    they are, but can change more neighbour lists than the caller allows.

    Examples
    --------
    >>> import numpy as np
    >>> import embaudit as ea
    >>> rows = np.random.default_rng(0).standard_normal((40, 3))
    >>> model = ea.FactorModel.from_vectors(rows)
    >>> moved = ea.FactorModel.from_vectors(rows + 0.1 * rows**3)
    >>> ea.compare(model, model).verdict.word
    'SAME'
    >>> for limit in (0.1, 0.99):
    ...     ea.compare(model, moved, fail_below={"kept": limit}).verdict.word
    'CLOSE'
    'DIFFERENT'
    >>> ea.compare(model, moved).verdict.word
    ''
    """
    if _is_unrelated(comparison):
        return Verdict(OTHER_SPACE, _why_unrelated(comparison))
    failures = comparison.failures()
    if failures:
        names = list(comparison.below(comparison.limits))
        reasons = [f"{'; '.join(failures)}.", _weights_in(comparison, names)]
        return Verdict("DIFFERENT", " ".join(filter(None, reasons)))
    if comparison.sameness is not None:
        return Verdict("SAME", _why_same(comparison, comparison.sameness))
    if comparison.limits:
        return Verdict("CLOSE", _why_close(comparison))
    return Verdict("", GIVE_A_LIMIT)


def _is_unrelated(comparison: Comparison) -> bool:
    """Return True if neither cosines nor scores of the two models are related."""
    # Vectors under wrong ids, and rows too few to find a change of axes, prove nothing.
    if comparison.swapped or comparison.too_few_for:
        return False
    scores = comparison.agreement
    if scores is not None and abs(scores.score_correlation) > UNRELATED:
        return False
    for change in comparison.changes.values():
        if change.outcomes["lost_to_gauge"] or change.outcomes["lost_to_unseen"]:
            return False
        correlations = (change.correlation, change.gauged_correlation)
        if not all(abs(correlation) <= UNRELATED for correlation in correlations):
            return False
        # In a short table, chance alone keeps some rows in a list.
        chance = change.n_neighbours / len(change.match)
        kept = max(change.neighbour_shares["kept"], change.predicted_kept or 0.0)
        if kept > UNRELATED + chance:
            return False
    return True


def _why_unrelated(comparison: Comparison) -> str:
    """Say that nothing relates the two models, and what to check."""
    kept = []
    for role, change in comparison.changes.items():
        share = percent(share_kept(comparison, change))
        kept.append(
            f"{share} of {change.n_neighbours} nearest {comparison.title(role)}s stay"
        )
    figures = " and ".join(kept)
    if comparison.agreement is not None:
        correlation = comparison.agreement.score_correlation
        figures += f", and scores correlate by {correlation:.2f}"
    keys = {change.match.key for change in comparison.changes.values()}
    return (
        f"the vectors of the two models have nothing in common ({figures}). A cosine "
        "between a row of one and a row of the other means nothing. If both should "
        f"hold the same data, check that their {' and '.join(sorted(keys))} fit their "
        "rows."
    )


def _why_same(comparison: Comparison, sameness: Sameness) -> str:
    """Say what the proven gauge changes and what it does not."""
    subject = "the models"
    if comparison.agreement is None:
        subject = "the rows"
    if sameness.group == IDENTITY:
        return _why_identical(comparison, sameness, subject)
    sentences = [
        f"up to rounding, {subject} differ only by "
        f"{_change_of_axes(comparison, sameness)}; "
        f"{_unchanged_numbers(comparison, sameness)}."
    ]
    if sameness.changes_lengths:
        sentences.append("Lengths of rows, which no prediction depends on, change too.")
    if changes_unseen(comparison):
        sentences.append("Cosines change in dimensions that no prediction sees.")
    sentences.append(
        "Switch all rows at once, because rows of the two models must not be mixed."
    )
    return " ".join(sentences)


def _why_identical(comparison: Comparison, sameness: Sameness, subject: str) -> str:
    """Say that no axis changes."""
    differences = []
    if sameness.changes_lengths:
        differences.append("by lengths of rows, which no prediction depends on")
    if changes_unseen(comparison):
        differences.append(
            "in dimensions that no prediction sees, where cosines change"
        )
    if not differences:
        return f"{subject} differ at most by the rounding of the files."
    return (
        f"up to rounding, {subject} differ only {' and '.join(differences)}; no "
        "prediction changes."
    )


def _change_of_axes(comparison: Comparison, sameness: Sameness) -> str:
    """Name the change of axes of a proven gauge."""
    if abs(sameness.scale - 1) <= FLOAT32_TIE:
        return AXES[sameness.group]
    lengths = f"{comparison.title('right')}s are {sameness.scale:.3g} times as long"
    if not sameness.turns:
        return f"one scale for all dimensions ({lengths})"
    return f"a rotation of the axes and one scale for all dimensions ({lengths})"


def _unchanged_numbers(comparison: Comparison, sameness: Sameness) -> str:
    """Say which numbers a proven change of axes leaves as they are."""
    if comparison.agreement is None:
        return "no cosine changes"
    if sameness.group != "rotation":
        return "no prediction changes, but cosines within a side do"
    if sameness.may_change_unseen:
        return "no prediction changes"
    return "no prediction and no cosine within a side changes"


def changes_unseen(comparison: Comparison) -> bool:
    """Return True if cosines of proven models change in unseen dimensions."""
    sameness = comparison.sameness
    if sameness is None or not sameness.may_change_unseen:
        return False
    return any(
        np.nanmax(change.unseen) > FLOAT32_TIE for change in comparison.changes.values()
    )


def _why_close(comparison: Comparison) -> str:
    """List the numbers that reach their limits."""
    limits = comparison.limits
    reached = []
    for name, limit in limits.items():
        value, title = min(comparison.kept_by_side[name])
        number = _reaching(value, limit)
        reached.append(f"{name} {number} ({meaning(name, title)}; limit {limit})")
    sentences = [
        f"every limit is reached: {', '.join(reached)}.",
        _weights_in(comparison, list(limits)),
    ]
    text = " ".join(filter(None, sentences))
    if comparison.reference is None:
        return text
    return f"the second model is as near to the first as the second seed is; {text}"


def meaning(name: str, title: str) -> str:
    """Say what one of `Comparison.shares_kept` measures.

    Examples
    --------
    >>> meaning("kept", "item"), meaning("scores", "")
    ('neighbours of items by cosine', 'correlation of scores')
    """
    meanings = {
        "shared": f"{title}s that both models hold",
        "kept": f"neighbours of {title}s by cosine",
        "predicted": f"neighbours of {title}s by prediction cosine",
        "top": f"recommended lists of {title}s",
        "scores": "correlation of scores",
        "rows": f"{title}s whose scores are like before",
    }
    return meanings[name]


def is_weighted(comparison: Comparison, change: RoleChange) -> bool:
    """Return True if limits judge the lists of a side, and its rows have weights."""
    has_limit = bool(set(comparison.limits) & set(WEIGHTED))
    return has_limit and change.weighted_by != "equal"


def share_kept(comparison: Comparison, change: RoleChange) -> float:
    """Return the share of neighbours kept that sentences and the first table show.

    It is the share that limits judge. Without limits, rows count equally.
    """
    if is_weighted(comparison, change):
        return change.weighted_kept
    return change.neighbour_shares["kept"]


def share_kept_by_prediction(
    comparison: Comparison, change: RoleChange
) -> float | None:
    """Return this share for neighbours by prediction cosine; None without scores."""
    if is_weighted(comparison, change):
        return change.weighted_predicted_kept
    return change.predicted_kept


def weights_of(comparison: Comparison) -> str:
    """Say how the rows of each side count; empty if all rows count equally."""
    words = {
        "interactions": "their interactions",
        "slots": f"their slots in the {comparison.title('left')}s' lists of ten",
    }
    weights = [
        f"{comparison.title(role)}s count by {words[change.weighted_by]}"
        for role, change in comparison.changes.items()
        if change.weighted_by in words
    ]
    if not weights:
        return ""
    return " and ".join(weights)


def _weights_in(comparison: Comparison, names: list[str]) -> str:
    """Say how rows count in weighted shares; empty if all rows count equally."""
    weights = weights_of(comparison)
    if not weights or not set(names) & set(WEIGHTED):
        return ""
    return f"In these shares, {weights}."


def _reaching(value: float, limit: float) -> str:
    """Write a number with two decimals, or as many as show that it reaches a limit.

    Examples
    --------
    >>> _reaching(0.8239, 0.5), _reaching(0.8239, 0.822)
    ('0.82', '0.824')
    """
    for digits in range(2, 18):
        text = f"{value:.{digits}f}"
        if float(text) >= limit:
            return text
    return str(value)
