"""Neighbours by name: rows are compared, never names."""

from __future__ import annotations

import numpy as np

from embaudit.model import FactorModel
from embaudit.movements.neighbourhoods import neighbourhoods


def named(rows: list[list[float]]) -> FactorModel:
    return FactorModel.from_vectors(rows).replace(right_names=["Solaris", "Stalker", "Solaris", "Mirror"])


def test_two_rows_of_one_title_are_two_rows():
    """The other Solaris takes the place of the first: the names agree, the neighbour is lost."""
    before, after = named([[1, 0.1], [1, 0], [0, 1], [-1, 0]]), named([[0, 1], [1, 0], [1, 0.1], [-1, 0]])
    (found,) = neighbourhoods(before, after.right, rows=np.array([1]), n=1)
    assert found.before[0][0] == found.after[0][0] == "Solaris"
    assert (found.kept, found.stay, found.stayed) == (0, (False,), (False,))


def test_a_tie_with_the_last_one_listed_is_kept():
    before, after = named([[1, 0.1], [1, 0], [1, 0.3], [-1, 0]]), named([[2, 0.2], [1, 0], [2, 0.2], [1, 0.1]])
    (found,) = neighbourhoods(before, after.right, rows=np.array([1]), n=2)
    assert [name for name, _ in found.after] == ["Solaris", "Solaris"]
    assert (found.kept, found.stay) == (2, (True, True))
    (other,) = neighbourhoods(after, before.right, rows=np.array([1]), n=1)
    assert other.stay == other.stayed == (True,)
