"""How the head of a checkpoint is rounded: the type, and the step of each of its numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from embaudit.io.checkpoints.opened import opened
from embaudit.io.codecs.gguf import Gguf
from embaudit.io.intake import Intake
from embaudit.model import FactorModel


@dataclass(frozen=True, eq=False)
class Rounding:
    """The type that the right rows of a model are rounded to."""

    kind: str
    """Such as "Q8_0"."""
    name: str
    """The tensor."""
    file: Gguf = field(repr=False)
    """The file that holds it."""

    def steps(self, rows: slice) -> NDArray[np.float32]:
        """Return how far apart the numbers are that each place of some rows can hold."""
        stored = self.file.steps(self.name, rows)
        assert stored is not None
        return stored


def rounding_of(model: FactorModel, intake: Intake | None) -> Rounding | None:
    """Determine how the right rows of a model were rounded in the file that it was read from.

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
    mapping = next((mapping for mapping in parts if mapping.became == "right" and mapping.rounded), None)
    if intake is None or mapping is None or mapping.shape != model.right.shape:
        return None
    file, _ = opened(Path(intake.files[0])) or (None, None)
    if not isinstance(file, Gguf) or file.steps(mapping.name, slice(0, 1)) is None:
        return None
    return Rounding(mapping.rounded, mapping.name, file)
