"""Traits: what the rows of one side are like, whatever the model predicts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from embaudit.foundation.plain import plain
from embaudit.kernels.nearest import neighbours
from embaudit.kernels.rows import sample_rows
from embaudit.model import Pairs
from embaudit.movements import Levels, Twins, levels, twins
from embaudit.movements.bias_columns import BiasColumns, bias_columns, counts_bias
from embaudit.movements.common_direction import CommonDirection, common_direction, mean_row
from embaudit.movements.few_coordinates import FewCoordinates, few_coordinates
from embaudit.movements.hubs import ONE_IN, Hubs, hubs
from embaudit.movements.movement import QUERIES, SEARCHED
from embaudit.movements.rounding import Rounding, rounding
from embaudit.movements.row_lengths import LengthTrend, length_trend
from embaudit.movements.tail import Tail, tail

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from embaudit.canonical.equivalents import EquivalentModel
    from embaudit.foundation.checked import Indices
    from embaudit.kernels.nearest import NeighbourLists
    from embaudit.kernels.seen import Seen
    from embaudit.model import FactorModel, Role, SideName
    from embaudit.model.side import Side

FEWEST = 30
"""Rows with a direction below which what is typical of them is not asked."""
COPIED = 200_000
"""Rows without their copies up to which lists are made of these alone."""
UNIT = 1e-3
"""Distance of the lengths of rows from 1 up to which they are unit rows: what rounding to a few digits leaves."""
ALIKE = 1e-3
"""Difference of singular values, relative to the largest, up to which columns are orthonormal but for a scale."""


@dataclass(frozen=True, eq=False)
class Traits:
    """What the rows of one side are like; None where there is nothing to tell, or there are too few rows."""

    role: SideName
    """Which side."""
    n_rows: int
    """Rows that have a direction."""
    off_unit: float
    """Largest distance of the length of one of them from 1."""
    orthonormal: bool
    """Whether the columns are at right angles and equally long; never with no more rows than columns."""
    twins: Twins | None = None
    """Which rows are copies of each other."""
    levels: Levels | None = None
    """What a value of their cosine means here."""
    direction: CommonDirection | None = None
    """The direction that all rows share."""
    hubs: Hubs | None = None
    """Rows that stand in the lists of very many others, where one in a hundred is a row at least."""
    lengths: LengthTrend | None = None
    """Whether lengths tell what cosines leave out."""
    dimensions: FewCoordinates | None = None
    """What a few dimensions carry."""
    rounding: Rounding | None = None
    """What numbers were rounded to."""
    tail: Tail | None = None
    """What a figure over all rows hides; of a softmax head nothing, whose labels have no counts."""
    equal: str | None = None
    """The equal model that `tail` compares with."""
    bias_columns: BiasColumns | None = None
    """What the bias, kept as a column, does to neighbours; of right rows only, and not of a softmax head."""
    hubs_without_twins: Hubs | None = None
    """`hubs` of lists that hold one row of each group of twins; None where no rows are twins, or few are left."""
    tail_without_twins: Tail | None = None
    """`tail` of such lists."""

    @property
    def is_unit(self) -> bool:
        """Whether all rows have length 1."""
        return self.off_unit <= UNIT

    def to_dict(self) -> dict[str, Any]:
        """Return the record of the audit's JSON."""
        return dict(plain(vars(self)))


def traits_of(
    model: FactorModel,
    role: SideName,
    *,
    n_neighbours: int = 10,
    equal: EquivalentModel | None = None,
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
    equal : EquivalentModel, optional
        Where to see which neighbours stay.
    lists : NeighbourLists, optional
        The `n_neighbours` nearest rows of those that are looked at; of drawn ones by default.
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
    if alive < FEWEST:
        return plainly
    asked, centred = None if lists is None else lists.rows, None
    if lists is None:
        n, drawn = min(n_neighbours, alive - 2), _drawn(side, rng)
        lists = neighbours(side.rows, n, rows=drawn)
        centred = neighbours(side.rows, 1, rows=drawn, shift=-mean_row(side))
    after = None if equal is None else equal.rows(model, role)
    counted_in = role == "right" and counts_bias(model)
    return replace(
        plainly,
        direction=common_direction(side, lists, centred),
        hubs=hubs(lists) if alive >= ONE_IN else None,
        lengths=length_trend(side),
        dimensions=few_coordinates(side, lists),
        rounding=rounding(side, lists, rng),
        tail=None if after is None else tail(side, after, lists, rng),
        equal=None if equal is None else equal.name,
        bias_columns=bias_columns(side, lists, both=model.left_bias is not None) if counted_in else None,
        **_without_twins(side, copies, after, n_neighbours, asked),
    )


def _without_twins(side: Side, copies: Twins, after: Seen | None, n: int, asked: Indices | None) -> dict[str, Any]:
    """Look at lists of the rows that stand for a group, or for themselves."""
    kept = np.unique(copies.first[side.directed])
    if len(kept) == len(side.directed) or not FEWEST <= len(kept) <= COPIED:
        return {}
    own, some = np.random.default_rng(0), side.take(kept)
    rows = _drawn(some, own) if asked is None else np.searchsorted(kept, np.unique(copies.first[asked]))
    lists = neighbours(some.rows, min(n, len(kept) - 2), rows=rows)
    found = hubs(lists) if len(kept) >= ONE_IN else None
    return {
        "hubs_without_twins": None if found is None else replace(found, few=tuple(kept[list(found.few)].tolist())),
        "tail_without_twins": None if after is None else tail(some, replace(after, x=some.rows), lists, own),
    }


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
    equal: Mapping[Role, EquivalentModel] | None = None,
    lists: Mapping[Role, NeighbourLists] | None = None,
    rng: np.random.Generator,
) -> tuple[Traits, ...]:
    """Look at every side that takes part in the pairs asked about and has cosines."""
    sides = dict.fromkeys(side for role in roles for side in Pairs(role).sides)
    known, found = equal or {}, lists or {}
    return tuple(
        traits_of(model, side, n_neighbours=n_neighbours, equal=known.get(side), lists=found.get(side), rng=rng)
        for side in sides
        if len(model.side(side).directed) > 1
    )
