"""What a figure over all rows hides where most rows are of the tail: the same figure for rows with much behind them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, Self, TypeAlias

import numpy as np

from embaudit.foundation.checked import Indices, Vector
from embaudit.kernels.intervals import Z95
from embaudit.kernels.nearest import NeighbourLists, neighbours, tie_of
from embaudit.kernels.rows import sample_rows
from embaudit.kernels.seen import Rows
from embaudit.model.side import Side

Known: TypeAlias = Literal["counts", "length"]
FREQUENT = 5
"""Interactions from which a row counts as frequent."""
DRAWN = 200
"""Frequent rows, and rows drawn by their counts, that are looked at besides."""


@dataclass(frozen=True)
class Kept:
    """Share of the neighbours that stay, over some lists."""

    share: float
    """Mean over the lists."""
    ci_low: float
    """Lower end of its 95 % interval (normal); the share itself where all rows meant were asked."""
    ci_high: float
    """Upper end."""
    n_lists: int
    """Lists behind it."""

    @classmethod
    def of(cls, kept: Vector, weights: Vector, *, exact: bool) -> Self:
        """Average over lists, each with its weight.

        Examples
        --------
        >>> Kept.of(np.array([1.0, 0.4]), np.array([1.0, 3.0]), exact=True)
        Kept(share=0.55, ci_low=0.55, ci_high=0.55, n_lists=2)
        """
        share = float(np.average(kept, weights=weights))
        error = 0.0 if exact else float(np.linalg.norm(weights * (kept - share)) / weights.sum())
        return cls(share, max(0.0, share - Z95 * error), min(1.0, share + Z95 * error), len(kept))


@dataclass(frozen=True)
class Tail:
    """How many neighbours stay in an equal model: over all rows, over frequent ones, and weighted."""

    known: Known
    """What weighs a row: its interactions, or its length where these are not known."""
    top_n: int
    """Length of the lists."""
    n_rows: int
    """Rows with a direction."""
    n_frequent: int
    """Those with five interactions at least, or no shorter than the median."""
    over_all: Kept
    """Each row counts as one."""
    frequent: Kept
    """Over frequent rows alone; their neighbours are sought among all."""
    weighted: Kept
    """Each row counts by its interactions, or by its length."""

    @property
    def furthest(self) -> Kept:
        """Of the two others, the one that differs more from the figure over all rows."""
        return max(self.frequent, self.weighted, key=lambda other: abs(other.share - self.over_all.share))

    @property
    def gap(self) -> float:
        """By how much that one differs, as far as its interval and that of the figure over all rows are apart."""
        far, near = self.furthest, self.over_all
        apart = far.ci_low > near.ci_high or far.ci_high < near.ci_low
        return abs(far.share - near.share) if apart or far.ci_low == far.ci_high else 0.0


def tail(side: Side, after: Rows, lists: NeighbourLists, rng: np.random.Generator) -> Tail | None:
    """Measure how many neighbours stay in another matrix of the same rows.

    There is nothing to tell, hence None, where no row is frequent, or every one.

    Parameters
    ----------
    side : Side
        The rows.
    after : array of shape (p, k)
        The same rows in an equal model.
    lists : NeighbourLists
        The nearest rows of some of them, drawn evenly, as they are.
    rng : numpy Generator
        Draws frequent rows, and rows by their counts, where `lists` are not of all rows.

    Examples
    --------
    >>> from embaudit.model.side import Side
    >>> rows = np.random.default_rng(0).normal(size=(40, 3))
    >>> side = Side(rows, "item", counts=[1] * 20 + [9] * 20)
    >>> found = tail(side, rows * [1, 1, 9], neighbours(rows, 3), np.random.default_rng(0))
    >>> found.n_frequent, round(found.over_all.share, 2), round(found.weighted.share, 2)
    (20, 0.67, 0.69)
    """
    known: Known = "length" if side.counts is None else "counts"
    worth: Vector = side.norms if side.counts is None else side.counts
    frequent = side.directed[worth[side.directed] >= (side.median_length if known == "length" else FREQUENT)]
    if len(frequent) in (0, len(side.directed)):
        return None
    whole = len(lists.rows) == len(side.directed)
    samples = list(_samples(side, worth, frequent, lists.rows, rng, redraw=known == "counts" and not whole))
    shares, n = np.zeros(len(side)), lists.indices.shape[1]
    shares[lists.rows] = _kept(lists, after)
    others = np.setdiff1d(np.concatenate([chosen for chosen, _ in samples]), lists.rows)
    if len(others):
        shares[others] = _kept(neighbours(side.rows, n, rows=others), after)
    _, (asked, _), _ = samples
    over_all, common, weighted = (
        Kept.of(shares[chosen], weights, exact=exact)
        for (chosen, weights), exact in zip(samples, (whole, len(asked) == len(frequent), whole), strict=True)
    )
    return Tail(known, n, len(side.directed), len(frequent), over_all, common, weighted)


def _samples(
    side: Side, worth: Vector, frequent: Indices, drawn: Indices, rng: np.random.Generator, *, redraw: bool
) -> Iterator[tuple[Indices, Vector]]:
    """Choose rows and weights for the three figures: those drawn already, or others where few of these would count."""
    yield drawn, np.ones(len(drawn))
    chosen = np.intersect1d(drawn, frequent)
    if redraw or not len(chosen):
        chosen = sample_rows(frequent, DRAWN, rng)
    yield chosen, np.ones(len(chosen))
    if redraw:
        chances = worth[side.directed] / worth[side.directed].sum()
        by_worth = rng.choice(side.directed, DRAWN, p=chances)
        yield by_worth, np.ones(DRAWN)
    else:
        yield drawn, worth[drawn]


def _kept(lists: NeighbourLists, after: Rows) -> Vector:
    """Share of each row's neighbours that are kept."""
    kept = lists.kept_in(neighbours(after, lists.indices.shape[1], rows=lists.rows), tie=tie_of(after))
    return np.asarray(kept.mean(axis=1))
