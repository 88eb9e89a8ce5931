"""Levels: cosines of random pairs of one model, to compare a cosine with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embaudit.core.checked import (
    RNG,
    Floats,
    as_generator,
    as_list,
    as_numbers,
    frozen,
)
from embaudit.core.parallel import parallel_map, row_blocks
from embaudit.core.plain import plain_dict
from embaudit.core.results import Result
from embaudit.core.tolerances import TIE
from embaudit.core.words import counted, down, drawn_of, in_decimals, percent, up
from embaudit.errors import must_be
from embaudit.linalg.pair_cosines import pair_cosines
from embaudit.linalg.rows import PASS_BYTES, unit_rows
from embaudit.linalg.unrelated_pairs import (
    UnrelatedPairs,
    checked_groups,
    group_codes,
)
from embaudit.model import FactorModel, Pairs, Role
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
    """The cosines of random pairs of rows, among which a value can be ranked.

    Examples
    --------
    >>> import embaudit as ea
    >>> rows = [[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]]
    >>> found = ea.levels(ea.FactorModel.from_vectors(rows))
    >>> found.n_pairs, found.cosines.round(6).tolist()
    (3, [0.0, 0.6, 0.8])
    >>> print(found.scale)
    All 3 cosines lie between 0.00 and 0.80.
    """

    role: Role
    """Side of the rows, or "cross" for pairs of a left and a right row."""
    title: str
    """Title of such pairs, such as "items" or "users and items"."""
    n_pairs: int
    """Pairs behind the quantiles, drawn without replacement."""
    n_all_pairs: int
    """Pairs of rows that have a direction, and are of different groups."""
    exact: bool
    """True if all pairs were taken."""
    cosines: Floats = field(repr=False)
    """(n_pairs,) their cosines, in order."""
    model: FactorModel = field(repr=False)
    """The model, whose pairs `below` counts."""
    pairs: UnrelatedPairs = field(repr=False)
    """All pairs of rows that have a direction, and are of different groups."""

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
        return f"Levels({counted(self.n_pairs, 'pair')} of {self.title})"

    @property
    def n_counted(self) -> int:
        """Pairs that `below` counts: all, or the drawn ones if all take too long."""
        n_products = self.n_all_pairs * self.model.rank
        return self.n_all_pairs if n_products <= MOST_PRODUCTS else self.n_pairs

    def below(self, cosines: ArrayLike) -> Floats:
        """Compute the share of pairs with a cosine below each value; NaN for NaN.

        All pairs are counted, a block of rows at a time, unless that takes more than
        10 billion products; then the drawn pairs are. Cosines within 1e-9 are one
        cosine, so a value is never higher than itself.
        """
        values = as_numbers(cosines, "cosines")
        if self.n_counted == self.n_pairs or not values.size:
            counts = np.searchsorted(self.cosines, values - TIE)
        else:
            counts = self._count_below(values - TIE)
        share = counts / max(1, self.n_counted)
        return np.asarray(np.where(np.isnan(values), np.nan, share))

    def _count_below(self, limits: Floats) -> NDArray[np.int64]:
        """Count the pairs of all directed rows whose cosine is below each limit."""
        first_rows, second_rows = Pairs(self.role).rows(self.model)
        first = unit_rows(first_rows[self.pairs.first_rows])
        first_groups = self.pairs.first_groups
        second, second_groups = first, first_groups
        of_one_side = self.pairs.second_rows is None
        if self.pairs.second_rows is not None:
            assert self.pairs.second_groups is not None
            second = unit_rows(second_rows[self.pairs.second_rows])
            second_groups = self.pairs.second_groups
        order = np.argsort(limits, axis=None)
        rising = limits.ravel()[order]

        def count(block: slice) -> NDArray[np.int64]:
            # Of one side, each row is paired with later rows only, so that every pair
            # counts once.
            start = block.start if of_one_side else 0
            cosines = np.clip(first[block] @ second[start:].T, -1, 1)
            is_pair = first_groups[block, None] != second_groups[None, start:]
            if of_one_side:
                m = len(cosines)
                is_pair[:, :m] &= np.triu(np.ones((m, m), dtype=bool), 1)
            # A cosine below the lowest limit is below all of them. Limits are usually
            # cosines of neighbours, so few cosines are left for the binary search.
            is_high = is_pair & (cosines >= rising[0])
            n_reached = np.searchsorted(rising, cosines[is_high], "right")
            n_cosines = np.bincount(n_reached, minlength=len(rising) + 1)
            n_cosines[0] += np.count_nonzero(is_pair) - len(n_reached)
            return np.cumsum(n_cosines)[: len(rising)]

        # A count holds several arrays of the size of a block.
        blocks = row_blocks(len(first), len(second), budget=PASS_BYTES)
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
            f"Of {pairs} of {self.title} half have a cosine of at least "
            f"{median:.{digits}f}, one in a hundred of at least {high:.{digits}f}."
        )


def levels(
    model: FactorModel,
    *,
    role: Role | str = "right",
    groups: Sequence[Any] | None = None,
    rng: RNG = 0,
) -> Levels:
    """Collect the cosines of all pairs of unrelated rows, or of 20,000 drawn pairs.

    Parameters
    ----------
    model : FactorModel
        The model; one side is enough. Rows without direction are skipped.
    role : {"right", "left", "cross"}
        Side of the rows, or "cross" for pairs of a left and a right row, such as a
        query and a document.
    groups : sequence of labels, optional
        The group of each row. Pairs of one group are related, so they do not count. A
        row whose group is None or empty is in no group. For "cross" give a pair of such
        sequences, of the left and of the right rows.
    rng : numpy Generator or int
        Draws the pairs, if there are too many.

    Returns
    -------
    Levels
        The sorted cosines; `below` ranks a value among them.

    Raises
    ------
    InputError
        If there are no pairs: fewer than two rows have a direction, or all rows are in
        one group.

    Examples
    --------
    >>> rows = [[1.0, 0.0], [0.6, 0.8], [0.0, 1.0], [0.0, 0.0]]
    >>> found = levels(FactorModel.from_vectors(rows))
    >>> found.cosines.round(6).tolist(), found.below([0.8, 0.9]).round(3).tolist()
    ([0.0, 0.6, 0.8], [0.667, 1.0])
    >>> model = FactorModel.from_user_item([[1.0, 0.0]], [[0.6, 0.8], [0.0, 1.0]])
    >>> levels(model, role="cross").cosines.round(6).tolist()
    [0.0, 0.6]
    """
    require_model(model)
    role, draw = model.role(role), as_generator(rng)
    space = unrelated_pairs(model, role, groups)
    pairs = space.draw(MOST_PAIRS, rng=draw)
    # Sorted once, so that the share below a value is a binary search.
    cosines = np.sort(pair_cosines(*Pairs(role).rows(model), pairs))
    return Levels(
        role=role,
        title=pairs_title(model, role),
        n_pairs=len(pairs),
        n_all_pairs=space.total,
        exact=len(pairs) == space.total,
        cosines=frozen(cosines),
        model=model,
        pairs=space,
    )


def pairs_title(model: FactorModel, role: Role) -> str:
    """Name the rows of pairs, such as "items" or "users and items"."""
    titles = [f"{model.title(side)}s" for side in Pairs(role).sides]
    return " and ".join(titles)


def unrelated_pairs(
    model: FactorModel, role: Role, groups: Sequence[Any] | None = None
) -> UnrelatedPairs:
    """Return all pairs of rows that have a direction and are of different groups.

    Parameters
    ----------
    role : {"right", "left", "cross"}
        Side of the rows.
    groups : sequence, optional
        As for `levels`.

    Raises
    ------
    InputError
        If there are no such pairs.
    """
    sides = [model.side(side) for side in Pairs(role).sides]
    rows = [side.directed for side in sides]
    for side, directed in zip(sides, rows, strict=True):
        least = 3 - len(sides)
        if len(directed) < least:
            raise must_be(
                f"the number of {side.title}s with a nonzero row",
                f"at least {least} to form a pair",
                len(directed),
            )
    if groups is None:
        # Each row is a group of its own.
        numbers = np.arange(sum(len(side) for side in sides))
        codes = np.split(numbers, [len(sides[0])])[: len(sides)]
    elif len(sides) == 1:
        codes = group_codes(checked_groups(groups, len(sides[0])))
    else:
        codes = group_codes(*_groups_of_both(groups, len(sides[0]), len(sides[1])))
    parts = []
    for directed, code in zip(rows, codes, strict=True):
        parts += [directed, code[directed]]
    space = UnrelatedPairs(*parts)
    if space.total == 0:
        raise must_be(
            "groups",
            "labels that differ between some rows",
            "all rows in one group",
            "choose labels by which some rows are unrelated",
        )
    return space


def _groups_of_both(groups: Any, n_left: int, n_right: int) -> list[list[str]]:
    """Check the groups of the left and of the right rows."""
    both = as_list(groups, "groups", "[left_groups, right_groups]")
    if len(both) != 2:
        raise must_be(
            "groups",
            "two lists for pairs of both sides, for the left and the right rows",
            len(both),
        )
    left, right = both
    return [
        checked_groups(left, n_left, "groups of the left rows"),
        checked_groups(right, n_right, "groups of the right rows"),
    ]
