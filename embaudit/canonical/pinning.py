"""Results of the test of unit rows: pinned, free with an equivalent model at hand, or undecided."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np

from embaudit.canonical.quadratic_span import LARGEST
from embaudit.core.checked import Floats, Indices, Matrix
from embaudit.core.results import Result
from embaudit.errors import must_be
from embaudit.gauges import Gauge
from embaudit.linalg.rows import unit_rows
from embaudit.model import FactorModel, Role, SideName

Status: TypeAlias = Literal["pinned", "free", "undecided"]
TABLE = "models that compare these rows with each other in the same way"
"""The set of models that predict products, or cosines, of the rows of one table."""


@dataclass(frozen=True)
class Moved:
    """Movement of the cosines between rows of one side in an equivalent model."""

    mean_abs: float
    """Mean ``|Δcos|``."""
    max_abs: float
    """Largest ``|Δcos|``."""
    n_pairs: int
    """Pairs looked at."""


@dataclass(frozen=True, eq=False)
class Flip:
    """An equivalent model that is no gauge: some rows are reflected in directions that the other side does not have."""

    side: SideName
    """Whose rows."""
    rows: Indices
    """Row numbers of those reflected."""
    unseen: Matrix
    """(k, k) projector onto the directions that no row of the other side has, or all have alike if a bias is free."""

    def flipped(self, model: FactorModel, rows: Floats) -> dict[str, Floats]:
        """Return the reflected rows, and the bias that takes up what all rows of the other side have alike."""
        change = np.zeros_like(rows)
        change[self.rows] = -2 * (rows[self.rows] @ self.unseen)
        changed = {str(self.side): rows + change}
        if self.side == "right" and model.right_bias is not None and model.link.sees_biases:
            changed["right_bias"] = model.right_bias - change @ model.side("left").moments.mean
        return changed


@dataclass(frozen=True, eq=False)
class Pinning(Result):
    """Freedom that predictions of rows of length 1 leave to the cosines between rows of one side."""

    status: Status
    """Answer: no model moves them (proven), an equivalent model moves them (shown), or neither is decided."""
    because: str
    """The argument, one sentence."""
    scope: str
    """The set of models that "pinned" speaks of."""
    rank: int
    """Independent constraints that the rows put on a gauge near I, of all sides together; at most so many where they
    were not counted."""
    needed: int
    """Numbers that a gauge has; fewer constraints leave some free."""
    witness: Gauge | None = None
    """A gauge of rows of length 1 that keeps every length, hence every prediction."""
    flip: Flip | None = None
    """Reflection of some rows, if the equivalent model is no gauge."""
    moved: Mapping[SideName, Moved] = field(default_factory=dict)
    """Movement of the cosines of each side in the equivalent model; empty without one."""
    residual: float = 0.0
    """Largest distance of a row of the equivalent model from length 1, before it is divided by its length."""
    rows_missing: Mapping[SideName, int] = field(default_factory=dict)
    """Number of further rows of each side alone, in general position, that decide; empty where the test decides, or
    where rows would not."""

    RECORD = (
        *("status", "because", "scope", "rank", "needed", "residual", "rows_missing"),
        *("condition_number=witness.condition_number", "moved"),
    )

    def __repr__(self) -> str:
        return f"Pinning({self.status}, {self.rank} of {self.needed} constraints)"

    def moved_of(self, role: Role) -> Moved | None:
        """Return the movement of the cosines of a role in the equivalent model; None for left-right pairs."""
        return next((moved for side, moved in self.moved.items() if side == role), None)

    @property
    def is_counted(self) -> bool:
        """True if independent constraints were counted; False if rows were, each of which puts one at most."""
        return self.status == "pinned" or self.needed <= LARGEST

    @property
    def largest(self) -> float:
        """Largest ``|Δcos|`` that was shown on either side, 0 without an equivalent model."""
        return max((m.max_abs for m in self.moved.values()), default=0.0)

    def twin(self, model: FactorModel) -> FactorModel:
        """Return the equivalent model: rows of length 1, in float64, moved by the witness.

        Raises
        ------
        InputError
            If there is none.
        """
        rows = {side: np.asarray(model.factors(side), dtype=np.float64) for side in model.sides}
        rows |= {side: unit_rows(rows[side], none=0) for side in model.link.unit_sides}
        if self.flip is not None:
            return model.replace(**rows | self.flip.flipped(model, rows[self.flip.side]))
        if self.witness is None:
            raise must_be(
                "an equivalent model", "asked for where one was found", f"none: {self.status}, as {self.because}"
            )
        for side, x in rows.items():
            shift = getattr(self.witness, f"{side}_shift")
            zero = np.abs(x).max(axis=1, keepdims=True) == 0
            rows[side] = np.where(zero, 0.0, x @ getattr(self.witness, side) + shift)
        return model.replace(**rows)

    def explain(self) -> str:
        """Describe in plain words the result of the test."""
        # All numbers may be fixed near this model while another one is not ruled out.
        silent = self.flip is not None or (self.status == "undecided" and self.rank == self.needed)
        most = "" if self.is_counted else "At most "
        count = "" if silent else f" {most}{self.rank:,} of {self.needed:,} numbers of a change of axes are fixed."
        because = f"{self.because[0].upper()}{self.because[1:]}.{'' if self.scope == TABLE else count}"
        if self.scope == TABLE:
            return f"The predictions fix every cosine, among {self.scope}. {because}"
        if self.status == "pinned":
            return f"The predictions pin the cosines within each side, among {self.scope}. {because}"
        if self.status == "undecided":
            return f"Whether the predictions pin the cosines within each side is undecided. {because}"
        text = f"The predictions do not pin the cosines within each side. {because}"
        if not self.moved:
            return text
        parts = [f"{m.mean_abs:.2g} on average and {m.max_abs:.2g} at most ({side})" for side, m in self.moved.items()]
        return f"{text} An equivalent model moves them by {' and by '.join(parts)}."
