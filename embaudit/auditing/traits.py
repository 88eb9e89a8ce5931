"""Traits: what the rows of one side are like, whatever the model predicts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from embaudit.linalg.nearest import neighbours
from embaudit.linalg.rows import sample_rows
from embaudit.model import Pairs
from embaudit.movements import Levels, Twins, levels, twins
from embaudit.movements.bias_columns import BiasColumns, bias_columns, counts_bias
from embaudit.movements.common_direction import CommonDirection, common_direction
from embaudit.movements.hubs import ONE_IN, Hubs, hubs
from embaudit.movements.movement import QUERIES, SEARCHED
from embaudit.movements.twins import once, standing_rows

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from embaudit.core.checked import Indices
    from embaudit.linalg.nearest import NeighbourLists
    from embaudit.model import FactorModel, Role, SideName
    from embaudit.model.side import Side

MIN_ROWS = 30
"""Rows with a direction below which what is typical of them is not asked."""
UNIT = 1e-3
"""Distance of the lengths of rows from 1 up to which they are unit rows: what rounding to a few digits leaves."""
ALIKE = 1e-3
"""Difference of singular values, relative to the largest, up to which columns are orthonormal but for a scale."""


@dataclass(frozen=True, eq=False)
class Traits:
    """Traits of the rows of one side; None where there is nothing to report, or there are too few rows."""

    role: SideName
    """Side of the rows."""
    n_rows: int
    """Rows that have a direction."""
    off_unit: float
    """Largest distance of the length of one of them from 1."""
    orthonormal: bool
    """True if the columns are at right angles and equally long; never with no more rows than columns."""
    twins: Twins | None = None
    """Copies among the rows."""
    levels: Levels | None = None
    """Levels that a value of their cosine is read against."""
    direction: CommonDirection | None = None
    """The direction that all rows share."""
    hubs: Hubs | None = None
    """Hub rows, copies counted once; None where one in a hundred is less than a row."""
    bias_columns: BiasColumns | None = None
    """Effect on neighbours of a bias kept as a column; of right rows only, and not of a softmax head."""

    @property
    def is_unit(self) -> bool:
        """True if all rows have length 1."""
        return self.off_unit <= UNIT


def traits_of(
    model: FactorModel,
    role: SideName,
    *,
    n_neighbours: int = 10,
    lists: NeighbourLists | None = None,
    rng: np.random.Generator,
) -> Traits:
    """Look at the rows of one side.

    Parameters
    ----------
    model : FactorModel
        The whole model, also of a head with very many labels.
    role : {"left", "right"}
        Which side; two of its rows at least have a direction.
    n_neighbours : int
        Length of the lists.
    lists : NeighbourLists, optional
        The `n_neighbours` nearest rows of those that are looked at, copies counted once; of drawn ones by default.
    rng : numpy Generator
        Draws rows and pairs where there are too many to look at all.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> model = FactorModel.from_vectors([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    >>> found = traits_of(model, "right", rng=np.random.default_rng(0))
    >>> found.n_rows, found.is_unit, found.direction
    (3, True, None)
    """
    side = model.side(role)
    alive = len(side.directed)
    off_unit = float(np.abs(side.norms[side.directed] - 1).max())
    copies, usual = twins(model, role=role), levels(model, role=role)
    plainly = Traits(role, alive, off_unit, _orthonormal(side), copies, usual)
    first = standing_rows(model, role)
    standing = once(side.directed, first)
    if len(standing) < MIN_ROWS:
        return plainly
    if lists is None:
        n = min(n_neighbours, len(standing) - 2)
        lists = neighbours(side.rows, n, rows=once(_drawn(side, rng), first), first=first)
    counted_in = role == "right" and counts_bias(model)
    return replace(
        plainly,
        direction=common_direction(side, lists, first),
        hubs=hubs(lists, standing) if len(standing) >= ONE_IN else None,
        bias_columns=bias_columns(side, lists, first, both=model.left_bias is not None) if counted_in else None,
    )


def _drawn(side: Side, rng: np.random.Generator) -> Indices:
    return sample_rows(side.directed, max(50, min(QUERIES, SEARCHED // len(side.directed))), rng)


def _orthonormal(side: Side) -> bool:
    if len(side) <= side.rows.shape[1]:
        return False
    norms = side.outline.column_norms
    # No column is longer than the largest singular value, none shorter than the smallest.
    if norms.max() - norms.min() > ALIKE * norms.max():
        return False
    s = np.linalg.svd(side.moments.root, compute_uv=False)
    return bool(s[0] - s[-1] <= ALIKE * s[0])


def all_traits(
    model: FactorModel,
    roles: Sequence[Role],
    *,
    n_neighbours: int = 10,
    lists: Mapping[Role, NeighbourLists] | None = None,
    rng: np.random.Generator,
) -> tuple[Traits, ...]:
    """Look at every side that takes part in the pairs asked about and has cosines."""
    sides = dict.fromkeys(side for role in roles for side in Pairs(role).sides)
    by_role = lists or {}
    return tuple(
        traits_of(model, side, n_neighbours=n_neighbours, lists=by_role.get(side), rng=rng)
        for side in sides
        if len(model.side(side).directed) > 1
    )
