"""How the head of a checkpoint is rounded: the type, and the step of each of its numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from embaudit.io.checkpoints.opened import opened
from embaudit.io.codecs.arrays import Arrays
from embaudit.io.codecs.steps import steps_of
from embaudit.io.intake import Intake
from embaudit.model import FactorModel


@dataclass(frozen=True, eq=False)
class Rounding:
    """The type that the right rows of a model are rounded to."""

    kind: str
    """Such as "Q8_0"."""
    name: str
    """The tensor."""
    file: Arrays = field(repr=False)
    """Where it is."""

    def steps(self, rows: slice) -> NDArray[np.float32]:
        """Return how far apart the numbers are that each place of some rows can hold."""
        found = steps_of(self.file, self.name, rows)
        assert found is not None
        return found


def rounding_of(model: FactorModel, intake: Intake | None) -> Rounding | None:
    """Tell how the right rows of a model were rounded in the file that it was read from.

    Returns
    -------
    Rounding or None
        None where they were not, nothing says so, or the steps of the type are not known.

    Examples
    --------
    >>> rounding_of(FactorModel.from_vectors([[1.0, 2.0]]), None) is None
    True
    """
    parts = () if intake is None else intake.parts
    part = next((part for part in parts if part.became == "right" and part.rounded), None)
    if intake is None or part is None or part.shape != model.right.shape:
        return None
    found = opened(Path(intake.files[0]))
    if found is None or steps_of(found[0], part.name, slice(0, 1)) is None:
        return None
    return Rounding(part.rounded, part.name, found[0])
