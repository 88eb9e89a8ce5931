"""What proves one claim: arrays, the numbers that must follow from them, and which rows to look at."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.auditing.evidence import Evidence, labels_looked_at
from embaudit.foundation.checked import Indices
from embaudit.gauges import Gauge
from embaudit.model import FactorModel, SideName

Arrays = dict[str, NDArray[Any]]

ROWS: dict[SideName, int] = {"left": 256, "right": 1024}
"""Rows whose scores are compared; more where there are more dimensions, since all of them are to be spanned."""


@dataclass(frozen=True)
class Part:
    """What the checker needs for one claim."""

    arrays: Arrays
    """By the names that the checker knows."""
    numbers: dict[str, float] = field(default_factory=dict)
    """What must come out besides the value of the claim."""
    facts: dict[str, Any] = field(default_factory=dict)
    """Which number is the value, which side, and whether dimensions are dropped."""

    def and_(self, **arrays: NDArray[Any] | None) -> Part:
        """Add arrays; None adds nothing."""
        more = {name: array for name, array in arrays.items() if array is not None}
        return Part({**self.arrays, **more}, self.numbers, self.facts)

    def giving(self, **numbers: float) -> Part:
        """Add numbers."""
        return Part(self.arrays, {**self.numbers, **numbers}, self.facts)


def table(indices: NDArray[Any]) -> NDArray[np.int32]:
    """Write row numbers in four bytes."""
    return np.asarray(indices, dtype=np.int32)


def compared(model: FactorModel) -> Arrays:
    """Draw the rows on which scores are compared; of a side that is not at hand all inputs are."""

    def some(side: SideName) -> Indices:
        alive, size = model.side(side).directed, max(ROWS[side], 2 * model.rank)
        draw = np.random.default_rng(0)
        return alive if len(alive) <= size else np.sort(draw.choice(alive, size, replace=False))

    return {f"rows_{side}": table(some(side)) for side in model.sides}


def witness(model: FactorModel, gauge: Gauge) -> Part:
    """Store a gauge, and the rows that show what it keeps."""
    shifts = {"shift_left": gauge.left_shift, "shift_right": gauge.right_shift}
    left, right = np.asarray(gauge.left), np.asarray(gauge.right)
    return Part({"gauge_left": left, "gauge_right": right, **shifts, **compared(model)})


def dropping(
    model: FactorModel,
    left: NDArray[Any],
    right: NDArray[Any],
    left_centre: NDArray[Any] | None = None,
    right_centre: NDArray[Any] | None = None,
) -> Part:
    """Store maps of both sides to the dimensions that predictions see."""
    zero = np.zeros(len(left))
    shifts = {
        "shift_left": -(zero if left_centre is None else left_centre) @ left,
        "shift_right": -(zero if right_centre is None else right_centre) @ right,
    }
    return Part({"gauge_left": left, "gauge_right": right, **shifts, **compared(model)}, facts={"map": True})


def looked_at(evidence: Evidence) -> dict[str, NDArray[Any] | None]:
    """Return the labels that the model of the evidence is cut down to, None where it is whole."""
    if evidence.head is None or evidence.head.n_labels == evidence.model.n_right:
        return {"labels": None}
    return {"labels": table(labels_looked_at(evidence.head.model, evidence.seed, evidence.model.n_right))}


def seen(evidence: Evidence) -> dict[str, NDArray[Any] | None]:
    """Return what picks the model that limits are about: labels, and a basis of what predictions see."""
    reduction = evidence.fibre.reduction
    basis = None if reduction is None or reduction.is_whole else reduction.basis
    return {**looked_at(evidence), "basis": basis}
