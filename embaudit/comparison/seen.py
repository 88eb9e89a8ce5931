"""The rows of two models as they are, and as far as predictions see them.

What a left row holds in a direction that no right row has, and the other way round, moves its cosines and no score. A
gauge is fitted on the rest, in which `P Qᵀ` is the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from embaudit.canonical.reduction import seen_directions
from embaudit.comparison.fits import GROUPS
from embaudit.comparison.matching import LEAST
from embaudit.errors import must_be
from embaudit.model.equivalence import Equivalence

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from embaudit.comparison.fits import Rows
    from embaudit.comparison.matching import Match
    from embaudit.foundation.checked import Indices
    from embaudit.model import FactorModel, SideName


@dataclass(frozen=True, eq=False)
class Pairing:
    """Shared rows of two models, and what a gauge between them may do."""

    raw: Rows
    """Rows before and after, of length 1 where a model predicts cosines."""
    seen: Rows
    """The same without what no prediction sees, in fewer dimensions where there are such."""
    groups: tuple[str, ...]
    """Gauge groups that keep the predictions."""
    shifts: tuple[SideName, ...]
    """Sides that a translation may move."""
    forward: bool
    """Whether the gauge carries the first model to the second; the other way where the second has a lower rank."""

    @property
    def fitted(self) -> Rows:
        """The seen rows as (source, target) of the gauge."""
        return self.seen if self.forward else {role: (y, x) for role, (x, y) in self.seen.items()}


def pairing(before: FactorModel, after: FactorModel, matches: dict[SideName, Match]) -> Pairing:
    """Gather the shared rows in float64, and what predictions see of them."""
    raw = {role: (_rows(before, role, m.before), _rows(after, role, m.after)) for role, m in matches.items()}
    for role, (x, y) in raw.items():
        _require_directions(x, y, before.title(role))
    shifts = tuple(side for side in before.free_shifts if side in after.free_shifts)
    one, two = (seen_directions(model, shifts) for model in (before, after))
    seen = {role: (_in(x, one), _in(y, two)) for role, (x, y) in raw.items()}
    cosines = Equivalence.COSINES in (before.predicts, after.predicts)
    aligned = one.shape[1] == two.shape[1] and all(_picks_columns(basis) for basis in (one, two))
    groups = [g for g in GROUPS if (g != "diagonal" or aligned) and (g != "affine" or shifts)]
    return Pairing(raw, seen, ("rotation",) if cosines else tuple(groups), shifts, one.shape[1] <= two.shape[1])


def _rows(model: FactorModel, role: SideName, chosen: Indices) -> NDArray[np.float64]:
    rows = np.asarray(model.factors(role)[chosen], dtype=np.float64)
    return model.seen(role, rows)


def _require_directions(x: NDArray[np.float64], y: NDArray[np.float64], title: str) -> None:
    count = int((x.any(axis=1) & y.any(axis=1)).sum())
    if count < LEAST:
        remedy = "a row of zeros has no cosine"
        raise must_be(f"the shared {title}s that are not zero in both models", f"at least {LEAST}", count, remedy)


def _picks_columns(basis: NDArray[np.float64]) -> bool:
    return bool(((basis == 0) | (basis == 1)).all())


def _in(x: NDArray[np.float64], basis: NDArray[np.float64]) -> NDArray[np.float64]:
    return x if basis.shape[0] == basis.shape[1] and _picks_columns(basis) else x @ basis
