"""Agreement of two models in their predictions for the entities they share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.comparison.matching import Match
from embaudit.comparison.weights import RowWeights, equal_weights
from embaudit.core.checked import Floats, Indices
from embaudit.core.plain import plain_dict
from embaudit.core.tolerances import SAME_SCORES, TIE
from embaudit.linalg.nearest import TopK
from embaudit.linalg.rows import sample_rows
from embaudit.model import FactorModel
from embaudit.model.equivalence import (
    Equivalence,
    largest_gap,
    log_softmax,
    row_correlations,
    unlike_rows,
)

ROWS = 512
"""Left rows whose predictions are compared."""
COLUMNS = 20_000
"""Right rows they are compared over."""
SMALL = 0.1
"""Kullback-Leibler divergence up to which it reads as if the models were close."""


@dataclass(frozen=True)
class Agreement:
    """Predictions of two models side by side, over sampled left rows and all (or 20,000) shared right rows.

    Of one table, rows are left rows, too; no number counts the score of a row with
    itself.
    """

    n_rows: int
    """Left rows compared."""
    n_columns: int
    """Right rows compared."""
    score_correlation: float
    """Pearson correlation of the scores within a row, averaged over the rows."""
    top_n: int
    """Length of the lists compared."""
    ranking_overlap: float
    """Share of a row's best `top_n` that the other model has too, averaged over the
    rows."""
    score_distance: float
    """Root mean square difference of scores over the root mean square of the first
    model's."""
    difference_distance: float
    """Distance of score differences within a row, which for a softmax are
    log-probability differences."""
    scale: float
    """Size of the second model's scores, less the mean of each row, over that of the
    first's (root mean squares)."""
    kl_divergence: float | None
    """Mean Kullback-Leibler divergence of the probabilities; None unless both models
    are softmax."""
    predicts: tuple[str, str]
    """Level of each model's predictions: scores, probabilities, rankings or cosines."""
    unlike: tuple[float, ...]
    """Shares of left and of right rows whose scores are others: they correlate by less than 0.3, columns centred.

    Of one table there is one share, that of its rows.
    """
    same: bool
    """True if the two models predict at the same level and agree there."""
    weighted_unlike: tuple[float, ...] = ()
    """The same shares as `unlike`, with rows weighed by interactions or slots in
    lists."""

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON can hold it; None for a number that does not exist."""
        return plain_dict(
            {
                "n_rows": self.n_rows,
                "n_columns": self.n_columns,
                "score_correlation": self.score_correlation,
                "top_n": self.top_n,
                "ranking_overlap": self.ranking_overlap,
                "score_distance": self.score_distance,
                "difference_distance": self.difference_distance,
                "scale": self.scale,
                "kl_divergence": self.kl_divergence,
                "predicts": self.predicts,
                "unlike": self.unlike,
                "same": self.same,
                "weighted_unlike": self.weighted_unlike,
                "kl_warning": self.kl_warning,
            }
        )

    @property
    def of_one_table(self) -> bool:
        """True if the rows of one table are compared with each other."""
        return len(self.unlike) == 1

    @property
    def kl_warning(self) -> str:
        """Caution about a small divergence; empty where there is none."""
        if self.kl_divergence is None or self.kl_divergence > SMALL:
            return ""
        return (
            "A small KL divergence proves little, as the few probable labels decide it. Two models can be close "
            "in it and far apart in their vectors. The distance of log-probability differences weighs all labels."
        )


def agreement(
    before: FactorModel,
    after: FactorModel,
    left: Match,
    right: Match,
    *,
    rng: np.random.Generator,
    weights: tuple[RowWeights, RowWeights] | None = None,
    top_n: int = 10,
) -> Agreement:
    """Compare predictions of the shared entities.

    Parameters
    ----------
    before, after : FactorModel
        With both sides, or of one table each.
    left, right : Match
        The shared entities.
    rng : numpy Generator
        Chooses rows and columns where there are many.
    weights : pair of RowWeights, optional
        Of the left and the right rows of the first model; equal by default.
    top_n : int
        Length of the recommendation lists compared.

    Returns
    -------
    Agreement
    """
    one_table = before.compared is not None
    of_left, of_right = weights or (
        equal_weights(1 + max(left.before)),
        equal_weights(1 + max(right.before)),
    )
    columns = sample_rows(len(right), COLUMNS, rng)
    # Of one table each row is a column, too, so that all have as many others.
    rows = sample_rows(columns if one_table else len(left), ROWS, rng)
    old = _scores(before, left.before[rows], right.before[columns])
    new = _scores(after, left.after[rows], right.after[columns])
    divergence = (
        _divergence(old, new)
        if all(model.link.name == "softmax" for model in (before, after))
        else None
    )
    # Divergence needs the logits as they are; all that follows has a scale that counts
    # for nothing.
    alike = _comparable(old, new)
    if one_table:
        old, new, flags = _without_self(old, new, rows[:, None] == columns)
        flagged = [(flags, right.before[rows], of_right)]
    else:
        of_rows, of_columns = unlike_rows(old, new)
        flagged = [
            (of_rows, left.before[rows], of_left),
            (of_columns, right.before[columns], of_right),
        ]
    n, correlations = min(top_n, old.shape[1] - 1), row_correlations(old, new)
    centred = [s - s.mean(axis=1, keepdims=True) for s in (old, new)]
    return Agreement(
        n_rows=len(rows),
        n_columns=len(columns),
        score_correlation=float(np.nanmean(correlations))
        if np.isfinite(correlations).any()
        else 0.0,
        top_n=n,
        ranking_overlap=_overlap(old, new, n),
        score_distance=_distance(old, new),
        difference_distance=_distance(*centred),
        scale=_rms(centred[1]) / (_rms(centred[0]) or 1.0),
        kl_divergence=divergence,
        unlike=tuple(float(flags.mean()) for flags, _, _ in flagged),
        weighted_unlike=tuple(
            weight.mean(flags.astype(np.float64), drawn)
            for flags, drawn, weight in flagged
        ),
        predicts=(before.predicts.title, after.predicts.title),
        same=alike
        and before.link == after.link
        and _same(before.link.level, old, new, centred),
    )


def _scores(model: FactorModel, left: Indices, right: Indices) -> Floats:
    """Compute the scores of some rows, of a model of one table those of its own rows against the right ones."""
    if model.compared is None:
        return model.take(left=left, right=right).scores()
    # A model of one table is cut to the rows on either side of these scores, each one
    # once.
    some, places = np.unique(np.concatenate([left, right]), return_inverse=True)
    return np.asarray(
        model.take(right=some).scores(places[: len(left)])[:, places[len(left) :]]
    )


def _comparable(old: NDArray[np.float64], new: NDArray[np.float64]) -> bool:
    """Bring scores to a common ordinary size in place; undefined cosines become 0, and must be so in both models."""
    undefined = np.isnan(old), np.isnan(new)
    old[undefined[0]] = new[undefined[1]] = 0.0
    largest = (
        max(abs(float(end)) for x in (old, new) for end in (x.min(), x.max())) or 1.0
    )
    old /= largest
    new /= largest
    return bool((undefined[0] == undefined[1]).all())


def _without_self(
    old: NDArray[np.float64], new: NDArray[np.float64], own: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    """Leave out the score of each row with itself, the largest in every model, and flag the rows of other scores."""
    tables = [scores[~own].reshape(len(scores), -1) for scores in (old, new)]
    # Columns must stay columns where they are centred: there a row's score with itself
    # becomes its mean score.
    pairs = zip(tables, (old, new), strict=True)
    neutral = [
        np.where(own, table.mean(axis=1)[:, None], scores) for table, scores in pairs
    ]
    return tables[0], tables[1], unlike_rows(*neutral)[0]


def _same(
    level: Equivalence,
    old: NDArray[np.float64],
    new: NDArray[np.float64],
    centred: list[NDArray[np.float64]],
) -> bool:
    if level is Equivalence.RANKINGS:
        return largest_gap(Equivalence.RANKINGS, old, new) <= SAME_SCORES * _rms(
            centred[0]
        )
    return (
        _distance(*centred)
        if level is Equivalence.PROBABILITIES
        else _distance(old, new)
    ) <= SAME_SCORES


def _distance(old: NDArray[np.float64], new: NDArray[np.float64]) -> float:
    """Root mean square of the difference, relative to the first; 0 where both vanish."""
    size = _rms(old)
    return _rms(new - old) / size if size else float(_rms(new) > 0)


def _rms(x: NDArray[np.float64]) -> float:
    # This sums squares without a table of them.
    return float(np.sqrt(np.einsum("ij,ij->", x, x) / x.size))


def _overlap(old: NDArray[np.float64], new: NDArray[np.float64], n: int) -> float:
    """Mean share of a row's best `n` in one table of scores that are kept, ties included, in the other."""
    # A former entry is kept if its new score reaches the n-th best, so that ties lose
    # nothing.
    first, last = TopK(len(old), n).add(old), TopK(len(new), n).add(new).threshold
    return float(
        (np.take_along_axis(new, first.columns, axis=1) >= last[:, None] - TIE).mean()
    )


def _divergence(old: NDArray[np.float64], new: NDArray[np.float64]) -> float:
    p, q = log_softmax(old), log_softmax(new)
    return max(0.0, float(np.mean((np.exp(p) * (p - q)).sum(axis=1))))
