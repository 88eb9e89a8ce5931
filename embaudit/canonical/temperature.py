"""Equivalent models of two towers whose cosines are divided by a temperature.

Predictions of such a model are functions of `cos / τ`. Let each row have private
dimensions, in which every row of the other side is 0: `p' = (√a p̂, √(1−a) v, 0)` and
`q' = (√b q̂, 0, √(1−b) w)` with any unit rows v and w. All rows have length 1, and
`p'·q' = √(ab) p̂·q̂`. With the temperature `τ' = √(ab) τ` every prediction is the same,
but a cosine c within the right side becomes `b c + (1−b) w·w'`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from embaudit.canonical.moved import Moved, moved_cosines
from embaudit.core.checked import RNG, Floats, as_generator, is_number
from embaudit.errors import must_be
from embaudit.linalg.rows import unit_rows
from embaudit.model import FactorModel, SideName

PRIVATE_DIMENSIONS = 8
"""Private dimensions that each side gets."""


@dataclass(frozen=True, eq=False)
class OtherTemperature:
    """An equivalent model with private dimensions and a temperature of its own."""

    model: FactorModel
    """The equivalent model: rows of length 1, in float64, with more columns."""
    temperature: float
    """Its temperature as a multiple of that of the given model."""
    moved: Mapping[SideName, Moved]
    """Movement of the cosines within each side."""


def other_temperature(
    model: FactorModel, *, share: float = 0.5, rng: RNG = 0
) -> OtherTemperature:
    """Build a model with the same cosines between the sides up to its temperature.

    Parameters
    ----------
    model : FactorModel
        Its link is the cosine. One side alone is enough.
    share : float
        Share of the squared length of each row that stays in the given dimensions; the
        rest lies in private dimensions, in random directions.
    rng : numpy Generator or int, optional
        Draws these directions.

    Raises
    ------
    InputError
        For another link, and for a share that does not lie between 0 and 1.

    Examples
    --------
    Half of each row is private on both sides, so cosines between the sides are halved.

    >>> towers = FactorModel(np.eye(2), [[0.6, 0.8], [0.8, 0.6]], link="cosine")
    >>> twin = other_temperature(towers)
    >>> twin.temperature
    0.5
    >>> np.allclose(twin.model.scores() / twin.temperature, towers.scores())
    True
    """
    if model.link.name != "cosine":
        raise must_be("the link", "cosine", model.link.name)
    if not is_number(share) or not 0 < share < 1:
        raise must_be("share", "a number between 0 and 1", repr(share))
    draw = as_generator(rng)
    rows: dict[str, Floats] = {}
    for i, side in enumerate(model.sides):
        unit = unit_rows(np.asarray(model.factors(side), dtype=np.float64), none=0)
        private = np.zeros((len(unit), len(model.sides) * PRIVATE_DIMENSIONS))
        own = slice(i * PRIVATE_DIMENSIONS, (i + 1) * PRIVATE_DIMENSIONS)
        directed = model.side(side).directed
        drawn = draw.standard_normal((len(directed), PRIVATE_DIMENSIONS))
        private[directed, own] = unit_rows(drawn)
        rows[side] = np.hstack([np.sqrt(share) * unit, np.sqrt(1 - share) * private])
    twin = model.replace(**rows)
    moved = {
        side: moved_cosines(model.factors(side), twin.factors(side))
        for side in model.sides
    }
    # The temperature changes by √(ab), where a and b are the shares of both sides. If a
    # side is not loaded, it gets no private dimensions, so its share is 1.
    temperature = share
    if len(model.sides) == 1:
        temperature = float(np.sqrt(share))
    return OtherTemperature(twin, temperature, moved)
