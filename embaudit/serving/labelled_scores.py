"""Scores of labelled pairs: errors of a threshold, and the choice of a threshold.

Pairs of one query are not independent, so all intervals are by a cluster bootstrap:
queries are drawn with replacement, each with all of its pairs. A query is the first row
of a pair. Pairs of different queries can share their second row, which the bootstrap
does not see. Their part of the variance is added by linearisation: an estimate is
nearly a mean of one value (its influence) per pair, and `PairErrors` gives the variance
of means over pairs that share rows. Shares get Wilson's interval with this standard
error, so that a share of 100 % of few queries has an interval, too.

Names follow scikit-learn: a pair counts as related if its score is at least the
threshold, and the threshold is chosen for the largest balanced accuracy, F1 or
accuracy.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import Flags, Floats, Indices
from embaudit.core.ties import level_ties
from embaudit.linalg.intervals import PairErrors, share_interval
from embaudit.serving.estimate import Estimate

Scoring: TypeAlias = Literal["balanced_accuracy", "f1", "accuracy"]
"""What a chosen threshold makes largest.

- Balanced accuracy: the mean of the share of related pairs that reach the threshold,
  and of the share of unrelated ones that do not. It does not depend on how many pairs
  of each kind were labelled.
- F1: the harmonic mean of precision and recall.
- Accuracy: the share of pairs on the right side of the threshold.
"""
N_RESAMPLES = 400
"""Number of resamples of the queries."""
CHANCE = 0.5
"""Area under the ROC curve, and balanced accuracy, of scores unrelated to labels."""
RECALLS = (0.99, 0.95, 0.9, 0.8, 0.7, 0.5, 0.3)
"""Shares of related pairs that reach the thresholds of the error table."""
AUC_TAIL = 0.005
"""Probability beyond each end of the interval of the area under the ROC curve.

The interval decides whether any threshold separates the pairs, so it is a 99 % one."""


@dataclass(frozen=True)
class ThresholdErrors:
    """Errors of one threshold on labelled pairs, with 95 % intervals."""

    threshold: float
    """The threshold; a pair counts as related if its score is at least this."""
    precision: Estimate
    """Share of the pairs that reach it which are related; NaN if none reaches it."""
    recall: Estimate
    """Share of the related pairs that reach it."""
    false_positive_rate: Estimate
    """Share of the unrelated labelled pairs that reach it."""
    false_positives: Estimate
    """Number of the unrelated labelled pairs that reach it, per query."""
    balanced_accuracy: Estimate
    """Mean of the recall and of the share of unrelated pairs that do not reach it."""


@dataclass(frozen=True, eq=False)
class LabelledScores:
    """Scores of labelled pairs, with the query of each pair.

    Examples
    --------
    >>> found = LabelledScores.from_pairs(
    ...     np.array([0.9, 0.8, 0.3, 0.2]),
    ...     np.array([True, True, False, False]),
    ...     np.array([[7, 1], [8, 2], [7, 3], [8, 4]]),
    ... )
    >>> found.auc(), found.choose("f1"), found.n_queries
    (1.0, 0.55, 2)
    """

    scores: Floats = field(repr=False)
    """(m,) scores; scores that are equal up to rounding are exactly equal."""
    is_related: Flags = field(repr=False)
    """(m,) True for the label 1."""
    queries: Indices = field(repr=False)
    """(m,) number of the query of each pair, from 0 on."""
    ends: NDArray[np.intp] = field(repr=False)
    """(m, 2) both rows of each pair; equal numbers stand for one row of the model."""

    @classmethod
    def from_pairs(
        cls, scores: Floats, is_related: Flags, ends: NDArray[np.intp]
    ) -> LabelledScores:
        """Return scores of which those are equal that differ by rounding only."""
        _, numbers = np.unique(ends[:, 0], return_inverse=True)
        return cls(level_ties(scores[None])[0], is_related, numbers.ravel(), ends)

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return int(self.queries.max(initial=-1)) + 1

    @property
    def n_related(self) -> int:
        """Number of related pairs."""
        return int(np.count_nonzero(self.is_related))

    @property
    def n_unrelated(self) -> int:
        """Number of unrelated pairs."""
        return len(self) - self.n_related

    def n_queries_with(self, is_counted: Flags) -> int:
        """Return the number of queries that have one of the marked pairs."""
        return len(np.unique(self.queries[is_counted]))

    def n_clusters(self, is_counted: Flags) -> int:
        """Return the number of first or of second rows of pairs, the smaller one."""
        n_seconds = len(np.unique(self.ends[is_counted, 1]))
        return min(self.n_queries_with(is_counted), n_seconds)

    def of_queries(self, queries: Indices) -> LabelledScores:
        """Return the pairs of some queries."""
        kept = np.isin(self.queries, queries)
        return LabelledScores.from_pairs(
            self.scores[kept], self.is_related[kept], self.ends[kept]
        )

    # Levels: different scores, the largest one first.

    @cached_property
    def _order(self) -> Indices:
        return np.argsort(-self.scores, kind="stable")

    @cached_property
    def _starts(self) -> Indices:
        """Place in the order where each level starts."""
        ordered = self.scores[self._order]
        return np.flatnonzero(np.diff(ordered, prepend=np.inf) != 0)

    @cached_property
    def levels(self) -> Floats:
        """Different scores, the largest one first."""
        return np.asarray(self.scores[self._order][self._starts])

    def _counts(self, weights: Floats | None = None) -> tuple[Floats, Floats]:
        """Count the related and the unrelated pairs of each level.

        Parameters
        ----------
        weights : array of shape (n_queries,), optional
            How often each query counts.
        """
        order = self._order
        related = self.is_related[order].astype(np.float64)
        unrelated = 1 - related
        if weights is not None:
            of_pairs = weights[self.queries[order]]
            related *= of_pairs
            unrelated *= of_pairs
        return (
            np.add.reduceat(related, self._starts),
            np.add.reduceat(unrelated, self._starts),
        )

    def auc(self, weights: Floats | None = None) -> float:
        """Return the area under the ROC curve.

        It is the probability that a related pair has a higher score than an unrelated
        one; equal scores count half.
        """
        related, unrelated = self._counts(weights)
        n_lower = unrelated.sum() - np.cumsum(unrelated)
        n_both = related.sum() * unrelated.sum()
        if n_both == 0:
            return float("nan")
        return float((related * (n_lower + unrelated / 2)).sum() / n_both)

    def choose(self, scoring: Scoring, weights: Floats | None = None) -> float:
        """Return the threshold with the largest objective; the highest of equal ones.

        It lies half way between two neighbouring different scores, so some pairs reach
        it and some do not. There are at least two different scores.
        """
        related, unrelated = self._counts(weights)
        true_positives, false_positives = np.cumsum(related), np.cumsum(unrelated)
        values = _objective(
            true_positives, false_positives, related.sum(), unrelated.sum(), scoring
        )
        # The threshold below the lowest score lets all pairs pass.
        best = int(np.argmax(values[:-1]))
        return float(self.levels[best] + self.levels[best + 1]) / 2

    def resamples(self, rng: np.random.Generator) -> Iterator[Floats]:
        """Draw queries with replacement; yield how often each query was drawn."""
        n = self.n_queries
        for _ in range(N_RESAMPLES):
            drawn = rng.integers(n, size=n)
            yield np.bincount(drawn, minlength=n).astype(np.float64)

    @cached_property
    def _pair_errors(self) -> PairErrors:
        return PairErrors(self.ends)

    def _shared_variance(self, influence: Floats) -> float:
        """Return the variance that pairs of different queries add by shared rows.

        Parameters
        ----------
        influence : array of shape (m,)
            Change of the estimate with the weight of each pair. It adds up to 0.
        """
        of_all = self._pair_errors.variance(len(self) * influence)
        of_queries = np.bincount(self.queries, influence, self.n_queries) ** 2
        return max(of_all - float(of_queries.sum()), 0.0)

    def _auc_influence(self) -> Floats:
        """Return the influence of each pair on the area under the ROC curve."""
        related, unrelated = self._counts()
        n_related, n_unrelated = related.sum(), unrelated.sum()
        sizes = np.diff(np.append(self._starts, len(self)))
        # Levels are sorted from the largest score down.
        n_lower = n_unrelated - np.cumsum(unrelated) + unrelated / 2
        n_higher = np.cumsum(related) - related / 2
        area = float((related * n_lower).sum() / (n_related * n_unrelated))
        influence = np.empty(len(self))
        is_related = self.is_related[self._order]
        influence[self._order] = np.where(
            is_related,
            (np.repeat(n_lower, sizes) / n_unrelated - area) / n_related,
            (np.repeat(n_higher, sizes) / n_related - area) / n_unrelated,
        )
        return influence

    def auc_estimate(self, rng: np.random.Generator) -> Estimate:
        """Return the area under the ROC curve with its 99 % interval."""
        resampled = [self.auc(weights) for weights in self.resamples(rng)]
        n_clusters = min(
            self.n_clusters(self.is_related), self.n_clusters(~self.is_related)
        )
        value = self.auc()
        error = _with_variance(
            float(_error(np.array(resampled), self.n_queries)),
            self._shared_variance(self._auc_influence()),
        )
        return Estimate(value, *share_interval(value, error, n_clusters, tail=AUC_TAIL))

    def chosen_range(
        self, scoring: Scoring, rng: np.random.Generator
    ) -> tuple[float, float]:
        """Return the range of the thresholds that 95 % of the resamples choose."""
        chosen = [
            self.choose(scoring, weights)
            for weights in self.resamples(rng)
            if not np.isnan(self.auc(weights))
        ]
        if not chosen:
            return -np.inf, np.inf
        low, high = np.quantile(chosen, (0.025, 0.975))
        return float(low), float(high)

    def errors(
        self, thresholds: list[float], rng: np.random.Generator
    ) -> list[ThresholdErrors]:
        """Return the errors of each threshold, with intervals by cluster bootstrap."""
        related, unrelated = self._reaching_by_query(thresholds)
        n_related = np.bincount(self.queries[self.is_related], minlength=self.n_queries)
        n_unrelated = np.bincount(
            self.queries[~self.is_related], minlength=self.n_queries
        )
        resampled = [
            _shares(
                weights @ related,
                weights @ unrelated,
                float(weights @ n_related),
                float(weights @ n_unrelated),
            )
            for weights in self.resamples(rng)
        ]
        # One table of resamples and thresholds for each measure.
        by_measure = np.array(resampled).transpose(1, 0, 2)
        errors = [_error(values, self.n_queries) for values in by_measure]
        shares = _shares(
            related.sum(axis=0),
            unrelated.sum(axis=0),
            float(n_related.sum()),
            float(n_unrelated.sum()),
        )
        found = []
        for place, threshold in enumerate(thresholds):
            passes = self.scores >= threshold
            values = [float(share[place]) for share in shares]
            bootstrapped = [float(error[place]) for error in errors]
            found.append(self._errors_at(threshold, passes, values, bootstrapped))
        return found

    def _errors_at(
        self,
        threshold: float,
        passes: Flags,
        shares: list[float],
        bootstrapped: list[float],
    ) -> ThresholdErrors:
        """Return the errors of one threshold with their intervals.

        Parameters
        ----------
        passes : array of bool (m,)
            True for pairs that reach the threshold.
        shares, bootstrapped : list of float
            Precision, recall, false positive rate and balanced accuracy, and their
            standard errors by the bootstrap of queries.
        """
        n_clusters = [
            self.n_clusters(is_counted)
            for is_counted in (passes, self.is_related, ~self.is_related)
        ]
        n_clusters.append(min(n_clusters[1:]))
        estimates = []
        for share, error, influence, clusters in zip(
            shares,
            bootstrapped,
            self._influences(passes, shares),
            n_clusters,
            strict=True,
        ):
            whole_error = _with_variance(error, self._shared_variance(influence))
            ends = share_interval(share, whole_error, clusters)
            estimates.append(Estimate(share, *ends))
        precision, recall, rate, accuracy = estimates
        return ThresholdErrors(
            threshold=threshold,
            precision=precision,
            recall=recall,
            false_positive_rate=rate,
            false_positives=rate.times(self.n_unrelated / self.n_queries),
            balanced_accuracy=accuracy,
        )

    def _influences(self, passes: Flags, shares: list[float]) -> list[Floats]:
        """Return the influence of each pair on each of four shares."""
        precision, recall, rate, _ = shares
        n_passing = max(int(np.count_nonzero(passes)), 1)
        on_precision = np.where(passes, self.is_related - precision, 0) / n_passing
        on_recall = np.where(self.is_related, passes - recall, 0) / self.n_related
        on_rate = np.where(self.is_related, 0, passes - rate) / self.n_unrelated
        return [on_precision, on_recall, on_rate, (on_recall - on_rate) / 2]

    def _reaching_by_query(self, thresholds: list[float]) -> tuple[Floats, Floats]:
        """Count for each query the pairs that reach each threshold, (queries, t)."""
        shape = (self.n_queries, len(thresholds))
        related, unrelated = np.zeros(shape), np.zeros(shape)
        for place, threshold in enumerate(thresholds):
            reach = self.scores >= threshold
            for counts, is_kind in (
                (related, self.is_related),
                (unrelated, ~self.is_related),
            ):
                queries = self.queries[reach & is_kind]
                counts[:, place] = np.bincount(queries, minlength=self.n_queries)
        return related, unrelated

    def thresholds_of_recall(self) -> list[float]:
        """Return thresholds that 99 % to 30 % of the related pairs reach, rising."""
        related, _ = self._counts()
        recall = np.cumsum(related) / related.sum()
        places = {int(np.searchsorted(recall, share - 1e-12)) for share in RECALLS}
        lower = np.append(self.levels[1:], self.levels[-1])
        return sorted(float(self.levels[i] + lower[i]) / 2 for i in places)

    def halves(self, rng: np.random.Generator) -> tuple[Indices, Indices]:
        """Part the queries in two random halves.

        Queries that have related pairs, unrelated pairs, or both, are dealt to the
        halves in turn, so that both halves have pairs of both kinds if there are at
        least five queries with each.
        """
        has_related = np.zeros(self.n_queries, dtype=bool)
        has_unrelated = np.zeros(self.n_queries, dtype=bool)
        has_related[self.queries[self.is_related]] = True
        has_unrelated[self.queries[~self.is_related]] = True
        kinds = 2 * has_related + has_unrelated
        shuffled = rng.permutation(self.n_queries)
        dealt = shuffled[np.argsort(kinds[shuffled], kind="stable")]
        return np.sort(dealt[::2]), np.sort(dealt[1::2])


def _objective(
    true_positives: Floats,
    false_positives: Floats,
    n_related: float,
    n_unrelated: float,
    scoring: Scoring,
) -> Floats:
    """Return numbers that are largest where the objective is.

    Counts are whole numbers, so equal objectives are equal numbers.
    """
    if scoring == "f1":
        return 2 * true_positives / (true_positives + false_positives + n_related)
    if scoring == "accuracy":
        return true_positives - false_positives
    return true_positives * n_unrelated - false_positives * n_related


def _shares(
    true_positives: Floats,
    false_positives: Floats,
    n_related: float,
    n_unrelated: float,
) -> list[Floats]:
    """Return precision, recall, false positive rate and balanced accuracy."""
    with np.errstate(invalid="ignore", divide="ignore"):
        recall = true_positives / n_related
        rate = false_positives / n_unrelated
        precision = true_positives / (true_positives + false_positives)
    return [precision, recall, rate, (recall + 1 - rate) / 2]


def _with_variance(error: float, variance: float) -> float:
    """Return a standard error with another variance added."""
    return float(np.sqrt(error**2 + variance))


def _error(resampled: NDArray[np.float64], n_clusters: int) -> Floats:
    """Return the standard deviation over resamples, without undefined ones."""
    is_defined = ~np.isnan(resampled)
    count = is_defined.sum(axis=0)
    values = np.where(is_defined, resampled, 0)
    mean = values.sum(axis=0) / np.maximum(count, 1)
    squares = np.where(is_defined, (resampled - mean) ** 2, 0).sum(axis=0)
    # Resamples of n clusters vary by (n − 1)/n of the variance of samples.
    correction = n_clusters / max(n_clusters - 1, 1)
    return np.asarray(np.sqrt(squares / np.maximum(count - 1, 1) * correction))
