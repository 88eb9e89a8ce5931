"""Traits: what the rows of one side are like, whatever the model predicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from embaudit.foundation.plain import plain
from embaudit.model import Pairs

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from embaudit.model import FactorModel, Role, SideName


@dataclass(frozen=True, eq=False)
class Traits:
    """What the rows of one side are like."""

    role: SideName
    """Which side."""
    n_rows: int
    """Rows that have a direction."""

    def to_dict(self) -> dict[str, Any]:
        """Return the record of the audit's JSON."""
        return dict(plain(vars(self)))


def traits_of(model: FactorModel, role: SideName, *, rng: np.random.Generator) -> Traits:  # noqa: ARG001
    """Look at the rows of one side.

    Parameters
    ----------
    model : FactorModel
        The whole model, also of a head with very many labels.
    role : {"left", "right"}
        Which side; two of its rows at least have a direction.
    rng : numpy Generator
        Draws rows and pairs where there are too many to look at all.

    Examples
    --------
    >>> import numpy as np
    >>> from embaudit.model import FactorModel
    >>> model = FactorModel.from_vectors([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    >>> traits_of(model, "right", rng=np.random.default_rng(0)).n_rows
    3
    """
    return Traits(role, len(model.side(role).directed))


def all_traits(model: FactorModel, roles: Sequence[Role], *, rng: np.random.Generator) -> tuple[Traits, ...]:
    """Look at every side that takes part in the pairs asked about and has cosines."""
    sides = dict.fromkeys(side for role in roles for side in Pairs(role).sides)
    return tuple(traits_of(model, side, rng=rng) for side in sides if len(model.side(side).directed) > 1)
