"""Scores of unrelated pairs: which share reaches a score, and which score a share has.

The pairs are drawn, or all pairs of few rows, and pairs share rows. So standard errors
allow for pairs that share a row, or a group if rows are grouped. Intervals are about
rows drawn like the rows of the model, and not about these rows alone, because a
threshold is meant for rows to come.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import Flags, Floats
from embaudit.core.tolerances import TIE
from embaudit.linalg.intervals import PairErrors, share_interval
from embaudit.linalg.pair_cosines import pair_cosines
from embaudit.linalg.unrelated_pairs import UnrelatedPairs
from embaudit.model import FactorModel, Pairs, Role
from embaudit.serving.estimate import Estimate

N_PAIRS = 200_000
"""Number of unrelated pairs that are drawn, if there are more."""
FEW_PAIRS = 20
"""Number of pairs below which a share has its upper end from a lower threshold."""
LARGEST_COSINE = 1.0
"""Upper end of an interval of a threshold that no pair limits."""


@dataclass(frozen=True, eq=False)
class UnrelatedScores:
    """Scores of pairs of unrelated rows.

    Examples
    --------
    >>> rows = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    >>> pairs = UnrelatedPairs(np.arange(3), np.arange(3))
    >>> found = UnrelatedScores.draw(
    ...     FactorModel.from_vectors(rows), "right", pairs, np.random.default_rng(0)
    ... )
    >>> found.share_reaching(0.7).value  # 1 of the 3 pairs
    0.3333333333333333
    """

    pairs: NDArray[np.intp] = field(repr=False)
    """(m, 2) row numbers of the pairs."""
    scores: Floats = field(repr=False)
    """(m,) their scores."""
    entities: NDArray[np.intp] = field(repr=False)
    """(m, 2) the groups of both rows; a row without a group is its own group."""
    total: int
    """Number of all unrelated pairs of the model."""

    @classmethod
    def draw(
        cls,
        model: FactorModel,
        role: Role,
        space: UnrelatedPairs,
        rng: np.random.Generator,
        excluded: NDArray[np.intp] | None = None,
    ) -> UnrelatedScores:
        """Draw pairs and compute their scores.

        Parameters
        ----------
        role : {"right", "left", "cross"}
            Side of the rows.
        space : UnrelatedPairs
            All pairs of different groups.
        excluded : array of int (e, 2), optional
            Different pairs of rows that are known to be related.
        """
        pairs = space.draw(N_PAIRS, rng=rng)
        total = space.total
        if excluded is not None and len(excluded):
            is_excluded = space.contains(excluded)
            total -= int(np.count_nonzero(is_excluded))
            pairs = pairs[~_is_among(pairs, excluded, of_one_side=role != "cross")]
        return cls(
            pairs=pairs,
            scores=pair_cosines(*Pairs(role).rows(model), pairs),
            entities=space.groups_of(pairs),
            total=total,
        )

    def __len__(self) -> int:
        return len(self.scores)

    @cached_property
    def _errors(self) -> PairErrors:
        return PairErrors(self.entities)

    @cached_property
    def _descending(self) -> Floats:
        return np.sort(self.scores)[::-1]

    @property
    def n_entities(self) -> int:
        """Number of rows, or of groups of rows, that these pairs are made of."""
        return self._errors.n_entities

    def share_reaching(self, threshold: float) -> Estimate:
        """Return the share of unrelated pairs with at least this score.

        Scores that fall short by rounding (1e-9) reach it.
        """
        estimate = self._share(self.scores >= threshold - TIE)
        # A lower threshold is reached by at least as many pairs, so an upper end for it
        # is one for this threshold, too. With more pairs it is often smaller.
        few = min(FEW_PAIRS, len(self.scores))
        lower = self._descending[few - 1]
        if lower >= threshold - TIE:
            return estimate
        high = min(estimate.high, self._share(self.scores >= lower).high)
        return Estimate(estimate.value, estimate.low, high)

    def _share(self, is_counted: Flags) -> Estimate:
        """Return the share of marked pairs."""
        values = is_counted.astype(np.float64)
        share = float(values.mean())
        error = self._errors.of_mean(values)
        return Estimate(share, *share_interval(share, error, self.n_entities))

    def threshold_at(self, level: float) -> Estimate | None:
        """Return the lowest threshold that at most a share of unrelated pairs reaches.

        It lies half way between two scores. The interval is that of a quantile
        (Woodruff, JASA 47, 1952), with the standard error of pairs that share rows.

        Returns
        -------
        Estimate or None
            None if there is no such threshold below the largest score, because there
            are fewer than 1/level pairs, or because too many pairs have the largest
            score.
        """
        scores = self._descending
        m = len(scores)
        # No threshold can part scores that are equal up to rounding.
        gaps = scores[:-1] - scores[1:] > TIE
        most = math.floor(level * m + TIE)
        parted = np.flatnonzero(gaps[:most])
        if not len(parted):
            return None
        last = int(parted[-1])
        threshold = float(scores[last] + scores[last + 1]) / 2
        reaches = (self.scores >= threshold).astype(np.float64)
        error = self._errors.of_mean(reaches)
        low_share, high_share = share_interval(level, error, self.n_entities)
        low = float(scores[min(math.ceil(high_share * m), m - 1)])
        n_above = math.floor(low_share * m)
        high = LARGEST_COSINE
        if n_above >= 1:
            high = float(scores[n_above - 1])
        return Estimate(threshold, min(low, threshold), max(high, threshold))


def _is_among(
    pairs: NDArray[np.intp], others: NDArray[np.intp], *, of_one_side: bool
) -> NDArray[np.bool_]:
    """Return True for each pair that is also in `others`.

    Pairs of two sides are ordered. Pairs of one side are not, so (1, 2) is (2, 1).
    """
    if of_one_side:
        pairs = np.sort(pairs, axis=1)
        others = np.sort(others, axis=1)
    # One integer per pair: row numbers are the digits of a number of base `base`.
    largest = max(int(pairs.max(initial=0)), int(others.max(initial=0)))
    base = np.int64(largest + 1)
    keys = pairs[:, 0] * base + pairs[:, 1]
    other_keys = others[:, 0] * base + others[:, 1]
    return np.isin(keys, other_keys)
