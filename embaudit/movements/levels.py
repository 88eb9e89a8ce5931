"""Levels: cosines of random pairs of one model, to compare a cosine with."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embaudit.core.checked import (
    RNG,
    Floats,
    Indices,
    as_generator,
    as_numbers,
    frozen,
)
from embaudit.core.parallel import parallel_map, row_blocks
from embaudit.core.plain import plain_dict
from embaudit.core.results import Result
from embaudit.core.tolerances import TIE
from embaudit.core.words import counted, down, drawn_of, in_decimals, percent, up
from embaudit.linalg.pairs import draw_pairs, n_pairs, pair_cosines
from embaudit.linalg.rows import unit_rows
from embaudit.linalg.transformed_rows import Rows
from embaudit.model import FactorModel, SideName
from embaudit.model.sizes import require_model

MOST_PAIRS = 20_000
"""Largest number of pairs that are drawn; all pairs of up to 200 rows are taken."""
MOST_PRODUCTS = 10**10
"""Most products of two entries for counting all pairs below a cosine (1 to 2 s)."""
FEW_PAIRS = 100
"""Largest number of pairs whose lowest and highest cosines are printed."""
MIN_DECIMALS = 2
"""Fewest decimals of a printed cosine."""
MAX_DECIMALS = 6
"""Most decimals of a printed cosine."""
MIN_STEPS = 10
"""Fewest steps of the last decimal between the quantiles 0.01 and 0.99 of cosines."""
USUAL_LEVELS = 0.99, 0.75, 0.5
"""Levels of quantiles that are tried in turn until one is printed as less than 1."""
QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 0.999)


@dataclass(frozen=True, eq=False)
class Levels(Result):
    """The cosines of random pairs of one side, against which a value is read."""

    role: SideName
    """Side of the rows."""
    title: str
    """Title of a row, such as "item"."""
    n_pairs: int
    """Pairs behind the quantiles, drawn without replacement."""
    n_all_pairs: int
    """Pairs of rows that have a direction."""
    exact: bool
    """True if all pairs were taken."""
    cosines: Floats = field(repr=False)
    """(n_pairs,) their cosines, in order."""
    rows: Rows = field(repr=False)
    """Rows of the side, whose pairs `below` counts."""
    directed: Indices = field(repr=False)
    """Numbers of the rows that have a direction."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; None stands for an undefined number."""
        return plain_dict(
            {
                "n_pairs": self.n_pairs,
                "n_all_pairs": self.n_all_pairs,
                "exact": self.exact,
                "quantiles": self.quantiles,
            }
        )

    def __repr__(self) -> str:
        return f"Levels({counted(self.n_pairs, 'pair')} of {self.title}s)"

    @property
    def n_counted(self) -> int:
        """Pairs that `below` counts: all pairs, or the drawn ones if all take too long."""
        n_products = self.n_all_pairs * self.rows.shape[1]
        return self.n_all_pairs if n_products <= MOST_PRODUCTS else self.n_pairs

    def below(self, cosines: ArrayLike) -> Floats:
        """Compute the share of pairs with a cosine below each value; NaN for NaN.

        All pairs are counted, a block of rows at a time, unless that takes more than
        10 billion products; then the drawn pairs are. Cosines within 1e-9 are one
        cosine, so a value is never higher than itself.
        """
        values = as_numbers(cosines, "cosines")
        if self.n_counted == self.n_pairs:
            counts = np.searchsorted(self.cosines, values - TIE)
        else:
            counts = self._count_below(values - TIE)
        share = counts / max(1, self.n_counted)
        return np.asarray(np.where(np.isnan(values), np.nan, share))

    def _count_below(self, limits: Floats) -> NDArray[np.int64]:
        """Count the pairs of all rows with a direction whose cosine is below each limit."""
        unit = unit_rows(self.rows[self.directed])
        order = np.argsort(limits, axis=None)
        rising = limits.ravel()[order]

        def count(block: slice) -> NDArray[np.int64]:
            # Each row is paired with later rows only, so that every pair counts once.
            tile = unit[block] @ unit[block.start :].T
            later = tile[np.triu(np.ones(tile.shape, dtype=bool), 1)]
            # A cosine below the first limit is below all of them, so counts add up.
            n_reached = np.searchsorted(rising, np.clip(later, -1, 1), "right")
            n_cosines = np.bincount(n_reached, minlength=len(rising) + 1)
            return np.cumsum(n_cosines)[: len(rising)]

        blocks = row_blocks(len(unit), len(unit))
        totals = sum(parallel_map(count, blocks), np.zeros(len(rising), dtype=np.int64))
        counts = np.empty(len(rising), dtype=np.int64)
        counts[order] = totals
        return counts.reshape(limits.shape)

    @property
    def quantiles(self) -> dict[float, float]:
        """Cosines that a stated share of the pairs does not exceed."""
        return {level: float(np.quantile(self.cosines, level)) for level in QUANTILES}

    @property
    def decimals(self) -> int:
        """Decimals that distinguish usual cosines: 2, or up to 6 in a small range."""
        if not self.n_pairs:
            return MIN_DECIMALS
        low, high = np.quantile(self.cosines, (0.01, 0.99))
        spread = float(high - low)
        # If all cosines are equal up to rounding, more decimals do not help.
        if spread < MIN_STEPS * 10.0**-MAX_DECIMALS:
            return MIN_DECIMALS
        needed = np.ceil(np.log10(MIN_STEPS / spread))
        return int(np.clip(needed, MIN_DECIMALS, MAX_DECIMALS))

    @property
    def scale(self) -> str:
        """Say in one sentence which cosines are usual; empty for fewer than two pairs.

        Examples
        --------
        >>> levels(FactorModel.from_vectors([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])).scale
        'All 3 cosines lie between 0.00 and 0.80.'
        """
        if self.n_pairs < 2:
            return ""
        digits = self.decimals
        low, high = float(self.cosines[0]), float(self.cosines[-1])
        if high - low < TIE:
            return f"All {self.n_pairs:,} cosines are {in_decimals(high, digits)}."
        if self.n_pairs <= FEW_PAIRS:
            # Adding 0.0 turns -0.0 into 0.0.
            low, high = down(low, digits) + 0.0, up(high, digits) + 0.0
            ends = f"{low:.{digits}f} and {high:.{digits}f}"
            return f"All {self.n_pairs} cosines lie between {ends}."
        # A bound of 1 says nothing. If many rows are nearly equal, try lower quantiles.
        for level in USUAL_LEVELS:
            # The smallest cosine that this share of pairs does not exceed, so that no
            # interpolation makes the sentence false.
            quantile = np.quantile(self.cosines, level, method="inverted_cdf")
            bound = up(float(quantile), digits) + 0.0
            if bound < 1:
                break
        pairs = f"all {self.n_pairs:,} pairs"
        if self.n_pairs < self.n_all_pairs:
            pairs = f"{self.n_pairs:,} random pairs"
        share = percent(level)
        return f"{share} of {pairs} have a cosine of at most {bound:.{digits}f}."

    def explain(self) -> str:
        """Describe usual and high cosines."""
        pairs = drawn_of(self.n_pairs, self.n_all_pairs, "pair")
        digits = self.decimals
        median = down(self.quantiles[0.5], digits)
        high = down(self.quantiles[0.99], digits)
        return (
            f"Of {pairs} of {self.title}s half have a cosine of at least "
            f"{median:.{digits}f}, one in a hundred of at least {high:.{digits}f}."
        )


def levels(
    model: FactorModel, *, role: SideName | str = "right", rng: RNG = 0
) -> Levels:
    """Collect the cosines of all pairs of one side, or of 20,000 drawn pairs.

    Parameters
    ----------
    model : FactorModel
        The model; one side is enough. Rows without direction are skipped.
    role : {"right", "left"}
        Side of the rows. At least two of its rows have a direction.
    rng : numpy Generator or int
        Draws the pairs, if there are too many.

    Returns
    -------
    Levels

    Examples
    --------
    >>> rows = [[1.0, 0.0], [0.6, 0.8], [0.0, 1.0], [0.0, 0.0]]
    >>> found = levels(FactorModel.from_vectors(rows))
    >>> found.cosines.round(6).tolist(), found.below([0.8, 0.9]).round(3).tolist()
    ([0.0, 0.6, 0.8], [0.667, 1.0])
    """
    require_model(model)
    role, draw = model.side_name(role), as_generator(rng)
    side = model.side(role)
    rows = side.directed
    pairs = draw_pairs(len(rows), MOST_PAIRS, rng=draw)
    total = n_pairs(len(rows))
    # Sorted once, so that the share below a value is a binary search.
    cosines = np.sort(pair_cosines(side.rows, side.rows, rows[pairs]))
    return Levels(
        role=role,
        title=model.title(role),
        n_pairs=len(pairs),
        n_all_pairs=total,
        exact=len(pairs) == total,
        cosines=frozen(cosines),
        rows=side.rows,
        directed=rows,
    )
