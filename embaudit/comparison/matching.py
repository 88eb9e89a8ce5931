"""Which rows of two models are the same entity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from embaudit.errors import InputError, must_be
from embaudit.foundation.checked import Indices

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from embaudit.model import FactorModel, SideName

LEAST = 8
"""Fewest shared entities that can be fitted on one half and judged on the other."""


@dataclass(frozen=True, eq=False)
class Match:
    """The entities of one side that both models hold."""

    role: SideName
    """Which side."""
    before: Indices
    """(m,) their rows in the first model."""
    after: Indices
    """(m,) their rows in the second model."""
    names: NDArray[Any]
    """(m,) what to call them."""
    only_before: int
    """Entities that the second model lacks."""
    only_after: int
    """Entities that the first model lacks."""
    by_ids: bool
    """Whether ids told which is which; otherwise the order of the rows did."""

    def __len__(self) -> int:
        return len(self.before)

    def take(self, chosen: Indices) -> Match:
        """Keep some of the shared entities."""
        return Match(
            self.role, self.before[chosen], self.after[chosen], self.names[chosen],
            self.only_before, self.only_after, self.by_ids,
        )  # fmt: skip


def match(before: FactorModel, after: FactorModel, role: SideName) -> Match:
    """Match the rows of a side by id, or by order where neither model has ids.

    Raises
    ------
    InputError
        If one has ids and the other has not, the numbers of rows differ without ids, or too few are shared.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> one = FactorModel.from_vectors(np.eye(9), ids=list("abcdefghi"))
    >>> two = FactorModel.from_vectors(np.eye(9), ids=list("jihgfedcb"))
    >>> found = match(one, two, "right")
    >>> found.before[:3], found.after[:3], found.only_before, found.only_after
    (array([1, 2, 3]), array([8, 7, 6]), 1, 1)
    """
    title = before.title(role)
    one, two = (_ids(model, role) for model in (before, after))
    sizes = [len(model.factors(role)) for model in (before, after)]
    remedy = "compare the same data"
    if one is None and two is None:
        if sizes[0] != sizes[1]:
            got = f"{sizes[0]} and {sizes[1]}"
            raise must_be(f"{title}s without ids", "as many in both models", got, "add ids, to match them by")
        rows: Indices = np.arange(sizes[0])
        found = Match(role, rows, rows, np.asarray(before.names(role)), 0, 0, by_ids=False)
    elif one is None or two is None:
        which = "second" if two is None else "first"
        raise InputError(f"{title} ids must be in both models or in neither; the {which} has none; add them to it.")
    else:
        rows, others = _shared(one, two)
        alone = sizes[0] - len(rows), sizes[1] - len(rows)
        found = Match(role, rows, others, before.names(role)[rows], *alone, by_ids=True)
        first, second = (repr(ids[0].item()) for ids in (one, two))
        remedy += f", under the same ids: the first model's start with {first}, the second's with {second}"
    if len(found) < LEAST:
        raise must_be(f"the {title}s that both models hold", f"at least {LEAST}", len(found), remedy)
    return found


def _ids(model: FactorModel, role: SideName) -> NDArray[Any] | None:
    ids: NDArray[Any] | None = model.side(role).ids
    return ids


def _shared(one: NDArray[Any], two: NDArray[Any]) -> tuple[Indices, Indices]:
    """Return the rows of the shared ids, in the order of the first model.

    Numbers are read as text where the other model's ids are text, as formats of text leave them.
    """
    if (one.dtype.kind in "US") != (two.dtype.kind in "US"):
        one, two = one.astype(np.str_), two.astype(np.str_)
    first, second = (np.argsort(ids, kind="stable") for ids in (one, two))
    place = np.searchsorted(two[second], one[first])
    found = np.minimum(place, len(two) - 1)
    shared = two[second][found] == one[first]
    rows, others = first[shared], second[found[shared]]
    order = np.argsort(rows)
    return rows[order], others[order]
