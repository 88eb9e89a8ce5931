"""Pairs of rows that have a cosine: two rows of one side, or one row of each side."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from embaudit.core.checked import RNG, Floats, Indices, Matrix
from embaudit.errors import must_be
from embaudit.linalg.pair_cosines import pair_cosines
from embaudit.linalg.pairs import draw_pairs, n_pairs, pairs_or_all
from embaudit.model.side import Sided, SideName

Role: TypeAlias = Literal["left", "right", "cross"]
"""Names of the three kinds of pairs."""


class Pairs(StrEnum):
    """Left-left, right-right or left-right pairs of rows.

    A member equals its name, so strings can be used.

    Examples
    --------
    >>> Pairs("cross").sides, Pairs.RIGHT == "right"
    (('left', 'right'), True)
    >>> Pairs("middle")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: role must be one of "left", "right", "cross"; got
    'middle'.
    """

    LEFT = "left"
    """Two rows of the left side, such as two users."""
    RIGHT = "right"
    """Two rows of the right side, such as two items."""
    CROSS = "cross"
    """A left and a right row, such as a user and an item."""

    @classmethod
    def from_role(cls, role: str, titles: tuple[str, str]) -> Pairs:
        """Find pairs by their role, or by the titles of one or both sides.

        Examples
        --------
        >>> roles = ("cross", "item", "users", "item-item", "user-item")
        >>> [str(Pairs.from_role(role, ("user", "item"))) for role in roles]
        ['cross', 'right', 'left', 'right', 'cross']
        """
        pairs = None
        if isinstance(role, str):  # other types can have no hash
            pairs = _names_of_pairs(*titles).get(role)
        if pairs is None:
            users, items = titles
            both = f"{users}-{items}"
            raise must_be(
                "role",
                f'one of "left" ({users}), "right" ({items}), "cross" ({both})',
                repr(role),
            )
        return pairs

    @classmethod
    def _missing_(cls, value: object) -> Pairs:
        raise must_be(
            "role", "one of " + ", ".join(f'"{pairs}"' for pairs in cls), repr(value)
        )

    @property
    def sides(self) -> tuple[SideName, ...]:
        """The side or the two sides that the rows come from."""
        if self is Pairs.LEFT:
            return ("left",)
        if self is Pairs.RIGHT:
            return ("right",)
        return ("left", "right")

    def titled(self, model: Sided) -> str:
        """Return the title of such pairs, such as "item-item"."""
        titles = [model.side(side).title for side in self.sides]
        return f"{titles[0]}-{titles[-1]}"

    def rows(self, model: Sided) -> tuple[Matrix, Matrix]:
        """Return the factors that the first and the second row of a pair come from."""
        return model.side(self.sides[0]).rows, model.side(self.sides[-1]).rows

    def shape(self, model: Sided) -> tuple[int, int | None]:
        """Return the number of rows of one side and None, or of both sides."""
        first, second = self.rows(model)
        if self is Pairs.CROSS:
            return len(first), len(second)
        return len(first), None

    def directed(self, model: Sided) -> tuple[Indices, Indices]:
        """Return the rows with a direction of the first and of the second side."""
        return model.side(self.sides[0]).directed, model.side(self.sides[-1]).directed

    def n_pairs(self, model: Sided) -> int:
        """Count the pairs that have a cosine: both rows have a direction."""
        first, second = self.directed(model)
        return n_pairs(len(first), len(second) if self is Pairs.CROSS else None)

    def sample(self, model: Sided, size: int, *, rng: RNG = 0) -> NDArray[np.intp]:
        """Draw at most `size` different pairs that have a cosine, uniformly."""
        # Pairs are drawn among the rows that have a direction, and hold row numbers
        # among all rows.
        if n_pairs(*self.shape(model)) > 0 and self.n_pairs(model) == 0:
            return np.zeros((0, 2), dtype=np.intp)
        first, second = self.directed(model)
        pairs = draw_pairs(
            len(first),
            size,
            n_second=len(second) if self is Pairs.CROSS else None,
            rng=rng,
        )
        return np.column_stack([first[pairs[:, 0]], second[pairs[:, 1]]])

    def cosines(self, model: Sided, pairs: ArrayLike | None = None) -> Floats:
        """Compute the cosine of each pair, by default of all pairs.

        NaN if a row is zero.
        """
        return pair_cosines(*self.rows(model), pairs_or_all(pairs, *self.shape(model)))


@cache
def _names_of_pairs(users: str, items: str) -> Mapping[str, Pairs]:
    """Return all names of pairs for two sides with the titles `users` and `items`."""
    names: dict[str, Pairs] = {}
    # A title that both sides have names neither of them.
    if users != items:
        for pairs, title in ((Pairs.LEFT, users), (Pairs.RIGHT, items)):
            names |= dict.fromkeys((title, f"{title}s", f"{title}-{title}"), pairs)
        names[f"{users}-{items}"] = Pairs.CROSS
    # "left", "right" and "cross" have one meaning for all titles.
    return names | {str(pairs): pairs for pairs in Pairs}
