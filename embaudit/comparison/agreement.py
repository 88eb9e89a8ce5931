"""Agreement of two models in their predictions for the entities they share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.comparison.kept_neighbours import TieCounts, tied_fractions
from embaudit.comparison.matching import Match
from embaudit.comparison.weights import RowWeights, equal_weights
from embaudit.core.checked import Floats, Indices
from embaudit.core.plain import plain_dict
from embaudit.core.ties import above_and_tied
from embaudit.core.tolerances import SAME_SCORES, TIE
from embaudit.linalg.nearest import TopK
from embaudit.linalg.rows import sample_rows
from embaudit.model import FactorModel, SideName
from embaudit.model.equivalence import (
    Equivalence,
    largest_gap,
    log_softmax,
    row_correlations,
    unlike_rows,
)

ROWS = 512
"""Largest number of left rows whose predictions are compared."""
COLUMNS = 20_000
"""Largest number of right rows in the comparison."""
SMALL_DIVERGENCE = 0.1
"""Kullback-Leibler divergence up to which readers take models for close."""


@dataclass(frozen=True)
class Agreement:
    """Agreement of the predictions, over sampled left rows and shared right rows.

    At most 512 left rows and 20,000 right rows are compared. If rows of one table are
    compared with each other, they are left and right rows, and no number counts the
    score of a row with itself.
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
    rows.

    An item that ties with the last of the other model's best counts as kept. If many
    more items tie than in the first model, it counts by its chance to be listed."""
    score_distance: float
    """Root mean square difference of scores over the root mean square of the first
    model's scores."""
    difference_distance: float
    """The same of score differences within a row, which are differences of
    log-probabilities for a softmax."""
    scale: float
    """Root mean square of the second model's scores over that of the first model's,
    where the mean of each row is subtracted."""
    kl_divergence: float | None
    """Mean Kullback-Leibler divergence of the probabilities; None unless both models
    are softmax."""
    predicts: tuple[str, str]
    """Level of each model's predictions: scores, probabilities, rankings or cosines."""
    unlike: tuple[float, ...]
    """Shares of left and of right rows whose scores correlate by less than 0.3.

    Columns are centred first. For one table there is one share, that of its rows."""
    same: bool
    """True if the two models predict at the same level and agree there."""
    weighted_unlike: tuple[float, ...] = ()
    """The same shares as `unlike`, with rows weighted by interactions or slots in
    lists."""
    links: tuple[str, str] = ("", "")
    """Name of each model's link, which turns scores into predictions."""

    def to_dict(self) -> dict[str, Any]:
        """Return the record for JSON; NaN and infinity become None."""
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
        """Caution about a small divergence; empty if the divergence is not small."""
        if self.kl_divergence is None or self.kl_divergence > SMALL_DIVERGENCE:
            return ""
        return (
            "A small KL divergence proves little, because the few probable labels "
            "decide it. Two models can have a small divergence and vectors that are "
            "far apart. The distance of log-probability differences weighs all labels."
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
        Models with both sides, or of one table each.
    left, right : Match
        The shared entities.
    rng : numpy Generator
        Draws rows and columns if there are many.
    weights : pair of RowWeights, optional
        Weights of the left and the right rows of the first model; equal by default.
    top_n : int
        Length of the recommended lists that are compared.
    """
    is_one_table = before.compared is not None
    if weights is None:
        weights = (
            equal_weights(1 + max(left.before)),
            equal_weights(1 + max(right.before)),
        )
    columns = sample_rows(len(right), COLUMNS, rng)
    # In one table each sampled row is a column, too, so all rows are compared with as
    # many others.
    rows = sample_rows(columns if is_one_table else len(left), ROWS, rng)
    old = _scores(before, left.before[rows], right.before[columns])
    new = _scores(after, left.after[rows], right.after[columns])
    divergence = None
    if before.link.name == after.link.name == "softmax":
        divergence = _divergence(old, new)
    # The divergence needs the logits as they are. All other numbers are relative.
    has_same_undefined = _rescale(old, new)
    if is_one_table:
        old, new, is_unlike = _without_self(old, new, rows[:, None] == columns)
        shares = [
            _unlike_shares(before, "right", is_unlike, right.before[rows], weights[1])
        ]
    else:
        left_flags, right_flags = unlike_rows(old, new)
        shares = [
            _unlike_shares(before, "left", left_flags, left.before[rows], weights[0]),
            _unlike_shares(
                before, "right", right_flags, right.before[columns], weights[1]
            ),
        ]
    unlike = tuple(share for share, _ in shares)
    weighted_unlike = tuple(weighted for _, weighted in shares)
    correlations = row_correlations(old, new)
    score_correlation = 0.0
    if np.isfinite(correlations).any():
        score_correlation = float(np.nanmean(correlations))
    n = min(top_n, old.shape[1] - 1)
    old_centred = old - old.mean(axis=1, keepdims=True)
    new_centred = new - new.mean(axis=1, keepdims=True)
    distance = _distance(old, new)
    difference_distance = _distance(old_centred, new_centred)
    predict_the_same = False
    if has_same_undefined and before.link == after.link:
        level = before.link.level
        if level is Equivalence.RANKINGS:
            gap = largest_gap(level, old, new)
            predict_the_same = gap <= SAME_SCORES * _rms(old_centred)
        elif level is Equivalence.PROBABILITIES:
            predict_the_same = difference_distance <= SAME_SCORES
        else:
            predict_the_same = distance <= SAME_SCORES
    return Agreement(
        n_rows=len(rows),
        n_columns=len(columns),
        score_correlation=score_correlation,
        top_n=n,
        ranking_overlap=_overlap(old, new, n),
        score_distance=distance,
        difference_distance=difference_distance,
        scale=_rms(new_centred) / (_rms(old_centred) or 1.0),
        kl_divergence=divergence,
        unlike=unlike,
        weighted_unlike=weighted_unlike,
        predicts=(before.predicts.title, after.predicts.title),
        same=bool(predict_the_same),
        links=(before.link.name, after.link.name),
    )


def _unlike_shares(
    before: FactorModel,
    side: SideName,
    is_unlike: NDArray[np.bool_],
    rows: Indices,
    weights: RowWeights,
) -> tuple[float, float]:
    """Return the share of the rows of a side that have other scores.

    Rows of zeros of the first model are skipped, because a row that has got a vector,
    for example a new user, had no scores of its own.

    Returns
    -------
    tuple of float
        The share of the rows, and the share of their weights.
    """
    if not before.link.measures_distances:
        had_vector = before.side(side).norms[rows] > 0
        is_unlike, rows = is_unlike[had_vector], rows[had_vector]
    if not len(rows):
        return 0.0, 0.0
    return float(is_unlike.mean()), weights.mean(is_unlike.astype(np.float64), rows)


def _scores(model: FactorModel, left: Indices, right: Indices) -> Floats:
    """Compute the scores of some left rows with some right rows.

    In a model of one table, the left rows are rows of the table.
    """
    if model.compared is None:
        return model.take(left=left, right=right).scores()
    # The table is cut to the rows on either side of these scores, each of them once.
    table_rows, places = np.unique(np.concatenate([left, right]), return_inverse=True)
    left_places, right_places = places[: len(left)], places[len(left) :]
    scores = model.take(right=table_rows).scores(left_places)
    return np.asarray(scores[:, right_places])


def _rescale(old: NDArray[np.float64], new: NDArray[np.float64]) -> bool:
    """Divide the scores of both models by their largest size, in place.

    Undefined cosines become 0.

    Returns
    -------
    bool
        True if the same cosines are undefined in both models.
    """
    is_undefined_old, is_undefined_new = np.isnan(old), np.isnan(new)
    old[is_undefined_old] = 0.0
    new[is_undefined_new] = 0.0
    largest = max(float(np.abs(scores).max()) for scores in (old, new))
    if largest > 0:
        old /= largest
        new /= largest
    return bool((is_undefined_old == is_undefined_new).all())


def _without_self(
    old: NDArray[np.float64], new: NDArray[np.float64], own: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.bool_]]:
    """Remove the score of each row with itself, which is the largest in its row.

    Returns
    -------
    old, new : array of shape (n, m - 1)
        Scores of each row with the other rows.
    is_unlike : array of shape (n,)
        Flags of the rows whose scores correlate by less than 0.3.
    """
    old_others = old[~own].reshape(len(old), -1)
    new_others = new[~own].reshape(len(new), -1)
    # Columns are centred to find unlike rows, so they must stay columns there. The
    # score of a row with itself is replaced by the mean score of the row.
    old_neutral = np.where(own, old_others.mean(axis=1)[:, None], old)
    new_neutral = np.where(own, new_others.mean(axis=1)[:, None], new)
    is_unlike, _ = unlike_rows(old_neutral, new_neutral)
    return old_others, new_others, is_unlike


def _distance(old: NDArray[np.float64], new: NDArray[np.float64]) -> float:
    """Return the root mean square of `new - old` divided by that of `old`.

    If `old` is zero everywhere, return 0.0 if `new` is, too, and 1.0 otherwise.
    """
    size = _rms(old)
    if size > 0:
        return _rms(new - old) / size
    return float(_rms(new) > 0)


def _rms(x: NDArray[np.float64]) -> float:
    """Return the root mean square."""
    # `einsum` sums squares without a table of them.
    return float(np.sqrt(np.einsum("ij,ij->", x, x) / x.size))


def _overlap(old: NDArray[np.float64], new: NDArray[np.float64], n: int) -> float:
    """Return the mean share of a row's best `n` scores that are kept in another table.

    Entries are kept as neighbours are in `embaudit.comparison.kept_neighbours`, by
    scores instead of cosines.
    """
    best = TopK(len(old), n).add(old)
    old_last = best.threshold[:, None]
    new_last = TopK(len(new), n).add(new).threshold[:, None]
    fractions_if_tied = tied_fractions(
        TieCounts.from_values(old, old_last, TIE),
        TieCounts.from_values(new, new_last, TIE),
        length=n,
    )
    new_scores = np.take_along_axis(new, best.columns, axis=1)
    is_above, is_tied = above_and_tied(new_scores, new_last, TIE)
    kept = is_above + is_tied * fractions_if_tied[:, None]
    return float(kept.mean())


def _divergence(old: NDArray[np.float64], new: NDArray[np.float64]) -> float:
    """Return the mean Kullback-Leibler divergence of the softmax of each row."""
    p, q = log_softmax(old), log_softmax(new)
    return max(0.0, float(np.mean((np.exp(p) * (p - q)).sum(axis=1))))
