"""The result of `threshold`: a recommended threshold, its errors, and its words."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from embaudit._version import __version__
from embaudit.core.checked import (
    is_number,
)
from embaudit.core.plain import SCHEMA_VERSION, frame_of, plain_dict
from embaudit.core.results import PlottableResult
from embaudit.core.ties import exceeds, reaches
from embaudit.core.words import (
    counted,
    drawn_of,
    in_decimals,
    number_by_limit,
    percent,
    three_digits,
)
from embaudit.errors import must_be
from embaudit.linalg.best_matches import Measure
from embaudit.model import FactorModel, Role
from embaudit.model.fingerprint import fingerprint
from embaudit.serving.carried_score import (
    CarriedScore,
)
from embaudit.serving.estimate import Estimate
from embaudit.serving.index_metric import MEASURE_WORDS
from embaudit.serving.labelled_scores import (
    CHANCE,
    LabelledScores,
    Scoring,
    ThresholdErrors,
)
from embaudit.serving.unrelated_scores import UnrelatedScores

if TYPE_CHECKING:
    import pandas as pd

LEVELS = (0.05, 0.01, 0.001, 0.0001)
"""Shares of unrelated pairs whose thresholds are listed."""
SCORING_WORDS: dict[Scoring, str] = {
    "balanced_accuracy": "balanced accuracy",
    "f1": "F1",
    "accuracy": "accuracy",
}
"""What a threshold is chosen for, in words."""


@dataclass(frozen=True)
class ModelIdentity:
    """The model that a threshold holds for."""

    fingerprint: str
    """Hash of its rows, biases and link."""
    n_left: int | None
    """Number of left rows; None for one table."""
    n_right: int
    """Number of right rows."""
    n_columns: int
    """Number of columns."""

    @classmethod
    def from_model(cls, model: FactorModel) -> ModelIdentity:
        """Identify a model."""
        n_left = None if model.left_side is None else model.n_left
        return cls(fingerprint(model), n_left, model.n_right, model.rank)


@dataclass(frozen=True, eq=False)
class Labelled:
    """What labelled pairs say about thresholds."""

    scores: LabelledScores = field(repr=False)
    """Scores and labels of all pairs whose rows have a direction."""
    n_without_direction: int
    """Pairs that were skipped, because one of their rows is zero."""
    n_repeated: int
    """Rows of the table that repeat an earlier pair."""
    n_unknown: int
    """Rows of the table that were skipped, because the model lacks one of their ids."""
    scoring: Scoring
    """What the threshold was chosen for."""
    auc: Estimate
    """Area under the ROC curve of all pairs, with its 99 % interval."""
    chosen: float | None
    """Threshold chosen on one half of the queries; None if all scores are equal."""
    chosen_range: tuple[float, float] | None
    """Range of the thresholds that 95 % of the resamples of this half choose."""
    n_choosing: int
    """Number of queries of the half that chose."""
    judged: ThresholdErrors | None
    """Errors of the chosen threshold on the other half."""
    n_judging: int
    """Number of queries of the other half."""
    at_level: ThresholdErrors | None
    """Errors of the threshold that the level sets, on all pairs; None without one."""
    table: tuple[ThresholdErrors, ...]
    """Errors of several thresholds on all pairs, the lowest threshold first."""

    @property
    def separates(self) -> bool:
        """True if scores of related pairs are shown to be higher, on both tests."""
        if self.judged is None:
            return False
        is_shown = exceeds(self.auc.low, CHANCE)
        return is_shown and exceeds(self.judged.balanced_accuracy.low, CHANCE)


@dataclass(frozen=True, eq=False)
class Threshold(PlottableResult):
    """A threshold on scores, and what passes it.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.random.default_rng(0).standard_normal((200, 8))
    >>> from embaudit.model import FactorModel
    >>> from embaudit.serving.threshold import threshold
    >>> found = threshold(FactorModel.from_vectors(rows))
    >>> round(found.threshold, 2), round(found.share_reaching(0.9).value, 4)
    (0.75, 0.0005)
    """

    role: Role
    """Side of the rows, or "cross" for pairs of a left and a right row."""
    title: str
    """Title of a pair, such as "item-item"."""
    query_title: str
    """Title of the first row of a pair."""
    candidate_title: str
    """Title of the second row of a pair."""
    n_candidates: int
    """Number of rows that a query is compared with."""
    model: ModelIdentity
    """The model."""
    trained_measure: Measure | None
    """How training compared the rows of such pairs; None if this is not known."""
    level: float
    """Largest share of unrelated pairs that may reach a threshold without labels."""
    unrelated: UnrelatedScores = field(repr=False)
    """Scores of unrelated pairs."""
    n_left_out: int | None
    """Number of pairs of one group, which do not count; None without groups."""
    by_level: Estimate | None
    """Lowest threshold that at most this share reaches; None if there is none."""
    labelled: Labelled | None
    """What labelled pairs say; None without labels."""
    score: float | None
    """The score that was to be judged."""
    score_errors: ThresholdErrors | None
    """Its errors as a threshold on all labelled pairs; None without labels."""
    other: ModelIdentity | None = None
    """The model that thresholds are carried over to; None without one."""
    carried: tuple[CarriedScore, ...] | None = None
    """The recommended threshold and the score in another model, if there are any; None
    without another model."""

    @property
    def threshold(self) -> float | None:
        """The recommended threshold; None if no threshold separates the pairs."""
        if self.labelled is not None:
            return self.labelled.chosen if self.labelled.separates else None
        return None if self.by_level is None else self.by_level.value

    @property
    def interval(self) -> tuple[float, float] | None:
        """95 % interval of a threshold without labels.

        A threshold chosen by labels has none, because its errors have intervals; see
        `chosen_range` of `labelled`.
        """
        if self.labelled is not None or self.by_level is None:
            return None
        return self.by_level.low, self.by_level.high

    def share_reaching(self, score: float) -> Estimate:
        """Return the share of unrelated pairs with at least this score.

        Parameters
        ----------
        score : float
            A cosine, or a score in the unit of the threshold.

        Returns
        -------
        Estimate
            `value`, and the ends `low` and `high` of its 95 % interval.
        """
        if not is_number(score):
            raise must_be("score", "a finite number", repr(score))
        return self.unrelated.share_reaching(float(score))

    @property
    def is_high(self) -> bool | None:
        """True if at most `level` of unrelated pairs reach the score, False if more do.

        None if the interval includes the level, or no score was given.
        """
        if self.score is None:
            return None
        share = self.share_reaching(self.score)
        if reaches(self.level, share.high):
            return True
        if exceeds(share.low, self.level):
            return False
        return None

    # Sentences

    @property
    def decimals(self) -> int:
        """Decimals of printed scores: the fewest, from 2 on, that show an interval."""
        low, high = -1.0, 1.0
        if self.by_level is not None and self.by_level.low < self.by_level.high:
            low, high = self.by_level.low, self.by_level.high
        for decimals in range(2, 6):
            if in_decimals(low, decimals) != in_decimals(high, decimals):
                return decimals
        return 6

    @property
    def level_text(self) -> str:
        """The level in percent, exactly as it was given."""
        return f"{100 * self.level:.10g} %"

    def _number(self, score: float) -> str:
        return in_decimals(score, self.decimals)

    @property
    def conclusion(self) -> str:
        """The recommended threshold, or why there is none, in one or two sentences."""
        if self.labelled is not None:
            return self._on_labels(self.labelled)
        if self.by_level is None:
            pairs = counted(len(self.unrelated), f"unrelated {self.title} pair")
            return (
                f"No threshold lets only {self.level_text} of {pairs} pass: there "
                "are too few, or too many of them have the same largest score."
            )
        low, high = self._number(self.by_level.low), self._number(self.by_level.high)
        return (
            f"Cut at {self._number(self.by_level.value)}: at most "
            f"{self.level_text} of unrelated {self.title} pairs reach this cosine "
            f"(95 % interval of the cut: {low} to {high}; {self._sample})."
        )

    @property
    def _sample(self) -> str:
        return drawn_of(len(self.unrelated), self.unrelated.total, "pair")

    def _on_labels(self, found: Labelled) -> str:
        """Say which threshold the labels choose, or that there is none."""
        pairs = counted(len(found.scores), "pair")
        sample = f"{pairs} of {_queries(found.scores.n_queries)}"
        auc = self._auc(found)
        if found.judged is None or found.chosen is None:
            return (
                "No threshold separates these pairs: all scores of the half that "
                f"chooses are equal ({sample})."
            )
        judged = found.judged
        if found.separates:
            return (
                f"Cut at {self._number(found.chosen)}: {judged.recall} of the related "
                f"pairs and {judged.false_positive_rate} of those labelled unrelated "
                f"reach this cosine, for {_queries(found.n_judging)} that took no part "
                "in the choice."
            )
        if exceeds(CHANCE, found.auc.high):
            return (
                "No threshold separates these pairs, because related pairs have lower "
                f"scores than unrelated ones: {auc}; {sample}."
            )
        if not exceeds(found.auc.low, CHANCE):
            return (
                f"No threshold separates these pairs: {auc}, which includes 0.5, the "
                f"value of scores that are unrelated to the labels; {sample}."
            )
        return (
            "No threshold separates these pairs: the one that was chosen on "
            f"{_queries(found.n_choosing)} is not shown to be better than chance on "
            f"{found.n_judging:,} others: the balanced accuracy is "
            f"{judged.balanced_accuracy.by_limit(CHANCE)}, and 50 % is chance."
        )

    def _auc(self, found: Labelled) -> str:
        # The interval decides whether the area differs from chance.
        low = number_by_limit(found.auc.low, CHANCE)
        high = number_by_limit(found.auc.high, CHANCE)
        value = in_decimals(found.auc.value, 2)
        return (
            f"the area under the ROC curve is {value} (99 % interval {low} to {high})"
        )

    @property
    def details(self) -> list[str]:
        """Sentences with the figures behind the conclusion."""
        texts: list[str] = []
        if self.labelled is not None:
            texts += self._details_of_labels(self.labelled)
        if self.score is not None:
            texts.append(self._on_score(self.score))
        if self.threshold is not None:
            share = self.share_reaching(self.threshold)
            per_query = _with_interval(share.times(self.n_candidates))
            texts.append(
                f"{share} of unrelated pairs reach the cut: for each "
                f"{self.query_title}, {per_query} of "
                f"{counted(self.n_candidates, self.candidate_title)} if all are "
                f"unrelated ({self._sample})."
            )
        if self.labelled is None:
            texts.append(
                "This says how rare a cosine is among unrelated pairs. Only labelled "
                "pairs can say how many related pairs reach it."
            )
        if self.n_left_out is None:
            texts.append(
                "All pairs count as unrelated"
                + (", except those labelled related." if self.labelled else ".")
                + " If rows come in groups, such as parts of one text, name the groups."
            )
        elif self.n_left_out == 0:
            texts.append(
                "All pairs count as unrelated, because no two rows are of one group."
            )
        else:
            texts.append(
                f"{counted(self.n_left_out, 'pair')} of one group do not count as "
                "unrelated."
            )
        texts += [self._on_carried(carried) for carried in self.carried or ()]
        if self.trained_measure not in (None, "cosine"):
            texts.append(
                f"These are cosines, but training compared {self.title} pairs by "
                f"{MEASURE_WORDS[self.trained_measure]}. For an index that does the "
                "same, the cut does not hold."
            )
        texts.append(
            "The cut holds for these vectors only. Carry it to the vectors of another "
            "training or encoder, and never copy the number."
        )
        return texts

    def _details_of_labels(self, found: Labelled) -> list[str]:
        """Say how the threshold was chosen, and which pairs were skipped."""
        texts = []
        if found.separates and found.judged is not None:
            assert found.chosen_range is not None
            low, high = found.chosen_range
            judged = found.judged
            texts.append(
                f"It was chosen for the largest {SCORING_WORDS[found.scoring]} on "
                f"{_queries(found.n_choosing)}; a query is the first row of a pair. "
                f"Resampled, these choose {self._number(low)} to {self._number(high)} "
                f"(95 %). The {found.n_judging:,} others judge it: precision "
                f"{judged.precision}, {_with_interval(judged.false_positives)} false "
                "positives per query, and a balanced accuracy of "
                f"{judged.balanced_accuracy.by_limit(CHANCE)}."
            )
            texts.append(
                f"Over all {counted(len(found.scores), 'labelled pair')} of "
                f"{_queries(found.scores.n_queries)}, {self._auc(found)}; 0.5 would be "
                "chance."
            )
        if found.at_level is not None:
            recall = found.at_level.recall
            texts.append(
                f"At most {self.level_text} of unrelated pairs reach "
                f"{self._number(found.at_level.threshold)}, and {recall} of the "
                "related pairs."
            )
        skipped = []
        if found.n_repeated:
            skipped.append(f"{counted(found.n_repeated, 'row')} repeated a pair")
        if found.n_unknown:
            skipped.append(f"{counted(found.n_unknown, 'row')} had an unknown id")
        if found.n_without_direction:
            skipped.append(
                f"{counted(found.n_without_direction, 'pair')} had a row of zeros"
            )
        if skipped:
            texts.append(f"Skipped: {', '.join(skipped)}.")
        return texts

    def _on_score(self, score: float) -> str:
        """Say whether a score is high."""
        share = self.share_reaching(score).by_limit(self.level)
        word = {True: "is high", False: "is not high", None: "is a borderline score"}
        text = (
            f"{score:g} {word[self.is_high]}: {share} of unrelated {self.title} pairs "
            f"reach it, and {self.level_text} may."
        )
        if self.score_errors is not None:
            errors = self.score_errors
            text += (
                f" {errors.recall} of the pairs labelled related and "
                f"{errors.false_positive_rate} of those labelled unrelated reach it."
            )
        return text

    def _on_carried(self, carried: CarriedScore) -> str:
        """Say which threshold of the other model does the same."""
        found = carried.threshold
        before = self._number(carried.before)
        kind = "unrelated pairs"
        if carried.by == "error":
            kind = "pairs labelled unrelated"
        if found is None:
            return (
                f"No threshold of the other model lets as many {kind} pass as {before} "
                "does here: too few or all of them reach it, or too many have the same "
                "score there."
            )
        text = (
            f"In the other model, cut at {found} instead of {before}: the same share "
            f"of {kind} reaches it ({percent(found.share)} of "
            f"{counted(found.n_pairs, 'pair')})."
        )
        if carried.recall_before is not None and carried.recall_after is not None:
            text += (
                f" Of {counted(carried.n_related, 'related pair')}, "
                f"{carried.recall_after} reach it, and {carried.recall_before} reach "
                f"{before} here."
            )
        return text

    def explain(self) -> str:
        """Say where to cut, and what passes."""
        return "\n".join([self.conclusion, *self.details])

    def __repr__(self) -> str:
        value = "none"
        if self.threshold is not None:
            value = self._number(self.threshold)
        return f"Threshold({value} for {self.title} pairs)"

    # Tables

    def levels(self) -> list[dict[str, Any]]:
        """Return the thresholds that shares of unrelated pairs reach.

        Columns
        -------
        level : float
            Largest share of the unrelated pairs that may reach the threshold.
        threshold : float
            Lowest such threshold, with the ends of its 95 % interval.
        unrelated_per_query : float
            Number of unrelated rows that reach it for each query.
        """
        records = []
        for level in sorted({*LEVELS, self.level}, reverse=True):
            found = self.unrelated.threshold_at(level)
            if found is None:
                continue
            records.append(
                {
                    "level": level,
                    "threshold": found.value,
                    "threshold_ci_low": found.low,
                    "threshold_ci_high": found.high,
                    "unrelated_per_query": level * self.n_candidates,
                }
            )
        return records

    def errors(self) -> list[dict[str, Any]]:
        """Return the errors of thresholds on all labelled pairs; none without labels.

        Columns
        -------
        threshold : float
            The threshold; a pair passes if its score is at least this.
        precision, recall, false_positive_rate, balanced_accuracy : float
            Shares, with the ends of their 95 % intervals.
        false_positives : float
            Number of pairs labelled unrelated that pass, per query.
        unrelated_share : float
            Share of unrelated pairs of the whole model that pass.
        """
        if self.labelled is None:
            return []
        return [self._error_record(errors) for errors in self.labelled.table]

    def _error_record(self, errors: ThresholdErrors) -> dict[str, Any]:
        share = self.share_reaching(errors.threshold)
        estimates = {
            "precision": errors.precision,
            "recall": errors.recall,
            "false_positive_rate": errors.false_positive_rate,
            "false_positives": errors.false_positives,
            "balanced_accuracy": errors.balanced_accuracy,
            "unrelated_share": share,
        }
        record: dict[str, Any] = {"threshold": errors.threshold}
        for name, estimate in estimates.items():
            record[name] = estimate.value
            record[f"{name}_ci_low"] = estimate.low
            record[f"{name}_ci_high"] = estimate.high
        return record

    def to_frame(self) -> pd.DataFrame:
        """Return the errors of thresholds, or without labels the levels."""
        return frame_of(self.errors() or self.levels())

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; None stands for an undefined number."""
        low, high = self.interval or (None, None)
        return plain_dict(
            {
                "measure": "cosine",
                "role": self.role,
                "title": self.title,
                "threshold": self.threshold,
                "threshold_ci_low": low,
                "threshold_ci_high": high,
                "level": self.level,
                "unrelated": {
                    "n_pairs": len(self.unrelated),
                    "n_all_pairs": self.unrelated.total,
                    "n_left_out": self.n_left_out,
                    "levels": self.levels(),
                },
                "labelled": self._record_of_labels(),
                "score": self._record_of_score(),
                "carried": self.carried,
                "explanation": self.explain(),
            }
        )

    def _record_of_labels(self) -> dict[str, Any] | None:
        found = self.labelled
        if found is None:
            return None
        return {
            "n_pairs": len(found.scores),
            "n_related": found.scores.n_related,
            "n_queries": found.scores.n_queries,
            "n_repeated": found.n_repeated,
            "n_unknown": found.n_unknown,
            "n_without_direction": found.n_without_direction,
            "roc_auc": found.auc.value,
            "roc_auc_ci99_low": found.auc.low,
            "roc_auc_ci99_high": found.auc.high,
            "separates": found.separates,
            "scoring": found.scoring,
            "chosen": found.chosen,
            "chosen_range": found.chosen_range,
            "n_choosing": found.n_choosing,
            "n_judging": found.n_judging,
            "judged": None
            if found.judged is None
            else self._error_record(found.judged),
            "errors": self.errors(),
        }

    def _record_of_score(self) -> dict[str, Any] | None:
        if self.score is None:
            return None
        share = self.share_reaching(self.score)
        errors = self.score_errors
        return {
            "score": self.score,
            "is_high": self.is_high,
            "unrelated_share": share.value,
            "unrelated_share_ci_low": share.low,
            "unrelated_share_ci_high": share.high,
            "errors": None if errors is None else self._error_record(errors),
        }

    def settings(self) -> dict[str, Any]:
        """Return the fields that a service loads: the rule, and the model it holds for.

        A pair passes if its cosine is at least `threshold`. The JSON Schema of this
        record is printed by `embaudit schema threshold`.
        """
        found = self.labelled
        low, high = self.interval or (None, None)
        return plain_dict(
            {
                "embaudit_version": __version__,
                "schema_version": SCHEMA_VERSION,
                "measure": "cosine",
                "role": self.role,
                "threshold": self.threshold,
                "threshold_ci_low": low,
                "threshold_ci_high": high,
                "chosen_for": "level" if found is None else found.scoring,
                "level": self.level,
                "n_unrelated_pairs": len(self.unrelated),
                "n_labelled_pairs": None if found is None else len(found.scores),
                "n_queries": None if found is None else found.scores.n_queries,
                "model": self.model,
                "carried": self._carried_settings(),
                "explanation": self.conclusion,
            }
        )

    def _carried_settings(self) -> dict[str, Any] | None:
        """Return the recommended threshold in the other model, if there is one."""
        if self.other is None:
            return None
        record: dict[str, Any] = {
            "model": self.other,
            "by": None,
            "threshold": None,
            "threshold_ci_low": None,
            "threshold_ci_high": None,
        }
        for carried in self.carried or ():
            found = carried.threshold
            # A score that was only judged is no threshold of a service.
            if carried.before != self.threshold or found is None:
                continue
            record["by"] = carried.by
            record["threshold"] = found.after
            record["threshold_ci_low"] = found.low
            record["threshold_ci_high"] = found.high
        return record


def _with_interval(estimate: Estimate) -> str:
    """Write a number with its interval."""
    low, high = three_digits(estimate.low), three_digits(estimate.high)
    return f"{three_digits(estimate.value)} ({low} to {high})"


def _queries(count: int) -> str:
    """Write a number of queries."""
    noun = "query" if count == 1 else "queries"
    return f"{count:,} {noun}"
