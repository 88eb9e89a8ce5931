"""A threshold that is carried over from one model to another of the same rows.

Scores of two models have different scales, so the same number is another threshold. Two
rules carry it over: as many unrelated pairs reach it (equal share), or as many of the
pairs that are labelled unrelated (equal error).

Both models see the same pairs. Let F(t) and G(t) be the shares of these pairs that
reach t in the first and in the second model. The carried threshold s has G(s) = F(t).
The standard error of F(t) − G(s), in which pairs count that change sides, gives the
interval of G(s), and quantiles of the second model's scores make it one of s (Woodruff,
JASA 47, 1952).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from embaudit.comparison.matching import match
from embaudit.comparison.thresholds import CarriedThreshold
from embaudit.core.checked import Floats, Indices
from embaudit.core.tolerances import TIE
from embaudit.linalg.intervals import PairErrors, share_interval
from embaudit.linalg.pair_cosines import pair_cosines
from embaudit.model import FactorModel, Pairs, Role
from embaudit.serving.estimate import Estimate
from embaudit.serving.unrelated_scores import LARGEST_COSINE

By: TypeAlias = Literal["error", "share"]
"""What stays the same: the share of labelled unrelated pairs, or of unrelated pairs."""
MOST_OFF = 0.01
"""Largest relative error of the number of pairs that reach a carried threshold.

It is larger if many pairs have the same score, which no threshold can part."""


@dataclass(frozen=True)
class CarriedScore:
    """A threshold in two models, and the pairs that pass it in each model."""

    by: By
    """What stays the same."""
    before: float
    """The threshold in the first model."""
    threshold: CarriedThreshold | None
    """Both thresholds; None if no threshold of the second model does it, because too
    few pairs reach the first threshold, or too many have the same score."""
    n_pairs: int
    """Number of pairs that decide."""
    n_related: int
    """Number of related pairs that both models have; 0 without labels."""
    recall_before: Estimate | None
    """Share of the related pairs that reach the threshold of the first model."""
    recall_after: Estimate | None
    """Share of the related pairs that reach the carried threshold."""


@dataclass(frozen=True, eq=False)
class Counterparts:
    """The rows of a second model that are entities of the first model, too."""

    first: Indices
    """(n,) row in the second model of each row of the first side; -1 without one."""
    second: Indices
    """(p,) the same for the second side."""

    @classmethod
    def from_models(
        cls,
        before: FactorModel,
        after: FactorModel,
        role: Role,
        *,
        by_row: bool | None = None,
        partial: bool = False,
        same_numbers: bool = False,
    ) -> Counterparts:
        """Match the rows of the sides of pairs as `compare` does."""
        found = []
        for side in Pairs(role).sides:
            pairs = match(
                before,
                after,
                side,
                by_row=by_row,
                partial=partial,
                same_numbers=same_numbers,
            )
            rows = np.full(len(before.side(side)), -1, dtype=np.intp)
            rows[pairs.before] = pairs.after
            # A row of zeros has no cosine in the second model.
            has_cosine = np.zeros(len(after.side(side)) + 1, dtype=bool)
            has_cosine[after.side(side).directed] = True
            found.append(np.where(has_cosine[rows], rows, -1))
        return cls(found[0], found[-1])

    def pairs(self, pairs: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the same pairs in the second model, with -1 for missing rows."""
        return np.column_stack([self.first[pairs[:, 0]], self.second[pairs[:, 1]]])


def scores_in(model: FactorModel, role: Role, pairs: NDArray[np.intp]) -> Floats:
    """Return the scores of pairs; NaN if a row is missing (-1)."""
    scores = np.full(len(pairs), np.nan)
    is_there = (pairs >= 0).all(axis=1)
    scores[is_there] = pair_cosines(*Pairs(role).rows(model), pairs[is_there])
    return scores


def carry(
    threshold: float,
    before: Floats,
    after: Floats,
    error_of: Callable[[Floats], float],
    n_clusters: int,
) -> CarriedThreshold | None:
    """Return the threshold that as many pairs reach in the second model.

    Parameters
    ----------
    threshold : float
        Threshold in the first model.
    before, after : array of shape (m,)
        Scores of the same pairs in both models.
    error_of : function
        Returns the standard error of the mean of one value per pair.
    n_clusters : int
        Number of independent units that the pairs are made of.

    Returns
    -------
    CarriedThreshold or None
        None if no pair reaches the threshold, or all do, or if no threshold of the
        second model lets nearly as many pass.

    Examples
    --------
    >>> scores = np.linspace(0, 1, 101)
    >>> errors = PairErrors(np.column_stack([np.arange(101), np.arange(101, 202)]))
    >>> found = carry(0.8, scores, scores / 2, errors.of_mean, 202)
    >>> round(found.after, 4), round(found.share, 3)
    (0.3975, 0.208)
    """
    m = len(before)
    reaches_before = before >= threshold - TIE
    count = int(np.count_nonzero(reaches_before))
    if not 0 < count < m:
        return None
    share = count / m
    if np.abs(before - after).max() <= TIE:
        # A rotated or scaled copy has the same cosines.
        return CarriedThreshold(threshold, share, threshold, threshold, threshold, m)
    scores = np.sort(after)[::-1]
    # Number of pairs above each gap between two scores that differ.
    parted = 1 + np.flatnonzero(scores[:-1] - scores[1:] > TIE)
    if not len(parted):
        return None
    n_above = int(parted[np.argmin(np.abs(parted - count))])
    if abs(n_above - count) > MOST_OFF * count:
        return None
    carried = float(scores[n_above - 1] + scores[n_above]) / 2
    change = reaches_before.astype(np.float64) - (after >= carried)
    low_share, high_share = share_interval(share, error_of(change), n_clusters)
    first = min(max(math.ceil(high_share * m), n_above), m - 1)
    low = min(float(scores[first]), carried)
    last = min(math.floor(low_share * m), n_above)
    high = LARGEST_COSINE
    if last >= 1:
        high = max(float(scores[last - 1]), carried)
    return CarriedThreshold(threshold, share, carried, low, high, m)


def labelled_errors(ends: NDArray[np.intp]) -> Callable[[Floats], float]:
    """Return a function that computes the standard error of a mean over pairs.

    Pairs of one query, the first row, are not independent. Other pairs that share rows
    can only add to the variance, because an estimate of their part can be negative.

    Parameters
    ----------
    ends : array of int (m, 2)
        Both rows of each pair; equal numbers stand for one row of the model.
    """
    _, numbers = np.unique(ends[:, 0], return_inverse=True)
    queries = numbers.ravel()
    n = int(queries.max()) + 1
    shared = PairErrors(ends)

    def error_of(values: Floats) -> float:
        sums = np.bincount(queries, values - values.mean(), n)
        correction = n / max(n - 1, 1)
        of_queries = correction * float((sums**2).sum()) / len(values) ** 2
        return math.sqrt(max(of_queries, shared.variance(values)))

    return error_of
