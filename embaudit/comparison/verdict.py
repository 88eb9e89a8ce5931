"""May I switch from the first model to the second? The answer, in a word."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from embaudit.comparison.sameness import IDENTITY
from embaudit.core.tolerances import PRINTED_COSINE
from embaudit.core.words import percent

if TYPE_CHECKING:
    from embaudit.comparison.result import Comparison

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
    failures = comparison.failures()
    if _is_unrelated(comparison):
        return Verdict("OTHER SPACE", _why_unrelated(comparison))
    if failures:
        return Verdict("DIFFERENT", f"{'; '.join(failures)}.")
    if comparison.same_up_to is not None:
        return Verdict("SAME", _why_same(comparison))
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
        # Chance alone keeps some rows in a list of few.
        chance = change.n_neighbours / len(change.match)
        kept = max(change.neighbour_shares["kept"], change.predicted_kept or 0.0)
        if kept > UNRELATED + chance:
            return False
    return True


def _why_unrelated(comparison: Comparison) -> str:
    kept = []
    for role, change in comparison.changes.items():
        share = percent(change.neighbour_shares["kept"])
        kept.append(
            f"{share} of {change.n_neighbours} nearest {comparison.title(role)}s stay"
        )
    text = f"the vectors of the two models have nothing in common ({' and '.join(kept)}"
    if comparison.agreement is not None:
        text += (
            f", and scores correlate by {comparison.agreement.score_correlation:.2f}"
        )
    keys = {change.match.key for change in comparison.changes.values()}
    return (
        f"{text}). A cosine between a row of one and a row of the other means nothing. "
        "If both should hold the same data, check that their "
        f"{' and '.join(sorted(keys))} fit their rows."
    )


def _why_same(comparison: Comparison) -> str:
    """Say what the proven gauge changes and what it does not."""
    group = comparison.same_up_to
    assert group is not None
    one_side = comparison.agreement is None
    if group == IDENTITY and one_side:
        return "the rows differ at most by the rounding of the files."
    if group == IDENTITY:
        text = "the models differ at most by the rounding of the files."
        return f"{text} {_unseen_change(comparison)}".strip()
    if one_side:
        text = (
            f"up to rounding, the rows differ only by {AXES[group]}; no cosine changes."
        )
    elif group == "rotation":
        text = (
            f"up to rounding, the models differ only by {AXES[group]}; no prediction and "
            "no cosine within a side changes."
        )
    else:
        text = (
            f"up to rounding, the models differ only by {AXES[group]}; no prediction "
            "changes, but cosines within a side do."
        )
    mixing = (
        "Switch all rows at once, because rows on different axes must not be mixed."
    )
    return " ".join(part for part in (text, _unseen_change(comparison), mixing) if part)


def _unseen_change(comparison: Comparison) -> str:
    changes = comparison.changes.values()
    if all(change.mean_unseen < PRINTED_COSINE for change in changes):
        return ""
    return "Cosines change in dimensions that no prediction sees."


def _why_close(comparison: Comparison) -> str:
    """List the numbers that reach their limits."""
    shares = comparison.shares_kept()
    reached = [
        f"{name} {shares[name]:.2f} (limit {limit:.2f})"
        for name, limit in comparison.limits.items()
    ]
    text = f"every limit is reached: {', '.join(reached)}."
    if comparison.reference is None:
        return text
    return f"the second model is as near to the first as the second seed is; {text}"
