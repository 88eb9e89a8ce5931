"""What is known of a model that is compared beside its numbers: the final norm before it, and how it was rounded."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from embaudit.foundation.checked import Floats
from embaudit.io import Reading, Rounding, as_reading, norm_of, rounding_of
from embaudit.model import FactorModel
from embaudit.model.final_norm import FinalNorm
from embaudit.softmax.folding import Convention

STATES = 1000
"""Random states at least; two more for each dimension, so that they span them all in each half of a fit."""


@dataclass(frozen=True, eq=False)
class Given:
    """A model, and what its file or network says of it."""

    model: FactorModel
    norm: FinalNorm | None = None
    """What stands before a head that has no inputs of its own."""
    rounding: Rounding | None = None
    """How its right rows are rounded; None where they are not."""

    @classmethod
    def of(cls, given: object) -> Given:
        """Read what a caller gave.

        Examples
        --------
        >>> Given.of(FactorModel.from_vectors([[1.0, 2.0]])).norm is None
        True
        """
        model, intake = as_reading(given)
        source = intake.files[0] if isinstance(given, Reading) and intake is not None and intake.files else given
        norm = norm_of(source, model) if model.left is None else None
        return cls(model, norm, rounding_of(model, intake))

    def behind(self, states: Floats) -> Given:
        """Put normalised states through the norm, as inputs of the head.

        A shift β adds `Wβ` to the logits, so it is put there: then inputs leave out what no state reaches.
        """
        assert self.norm is not None
        head = self.model
        bias = Convention("folded", self.norm.gain).bias(head, self.norm)
        left = self.norm.gain * states
        return replace(self, model=head.replace(left=left, right_bias=bias, objective=None))


def with_states(before: Given, after: Given, draw: np.random.Generator) -> tuple[Given, Given, int]:
    """Give two heads behind norms of one kind the same random states; they are left as they are where they differ.

    Returns
    -------
    pair of Given, and how many states
    """
    one, two = before.norm, after.norm
    if one is None or two is None or one.kind != two.kind or one.width != two.width:
        return before, after, 0
    states = one.normalised(draw.standard_normal((STATES + 2 * one.width, one.width)))
    return before.behind(states), after.behind(states), len(states)
