"""Random states before the final norms of two heads, which stand in for inputs.

A head behind a final norm with gain γ gives the logits `W (γ ∘ h)` of a normalised
state h. Two heads `(W, γ)` and `(W', γ')` without inputs of their own are compared on
random states, because no trained network is at hand that would produce any.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from embaudit.core.checked import Floats
from embaudit.heads.conventions import Convention
from embaudit.io import model_of
from embaudit.model import FactorModel
from embaudit.model.final_norm import FinalNorm

MIN_STATES = 1000
"""Number of random states, to which two per dimension are added.

With this number, each half of a fit spans all dimensions."""


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """A model, and the final norm before its head if the head has no inputs."""

    model: FactorModel
    norm: FinalNorm | None = None
    """Norm before a head that has no inputs of its own."""

    @classmethod
    def load(cls, source: object) -> LoadedModel:
        """Load a model from a path or an object.

        Examples
        --------
        >>> LoadedModel.load(FactorModel.from_vectors([[1.0, 2.0]])).norm is None
        True
        """
        model = model_of(source)
        norm = model.final_norm if model.left is None else None
        return cls(model, norm)

    def with_inputs(self, states: Floats) -> FactorModel:
        """Return the head with normalised states, scaled by the norm, as its inputs.

        A shift β of the norm adds `W β` to the logits. It is added to the biases, so
        the inputs span the directions of the states and no other direction.
        """
        assert self.norm is not None
        bias = Convention("folded", self.norm.gain).bias(self.model, self.norm)
        return self.model.replace(
            left=self.norm.gain * states, right_bias=bias, objective=None
        )


def with_states(
    before: LoadedModel, after: LoadedModel, draw: np.random.Generator
) -> tuple[FactorModel, FactorModel, int]:
    """Give two heads the same random states as inputs.

    Both heads must lie behind norms of the same kind and width. Other models are
    returned as they are.

    Returns
    -------
    before, after : FactorModel
        The two models.
    n_states : int
        Number of random states; 0 if the models are returned as they are.
    """
    first, second = before.norm, after.norm
    if (
        first is None
        or second is None
        or first.kind != second.kind
        or first.width != second.width
    ):
        return before.model, after.model, 0
    n_states = MIN_STATES + 2 * first.width
    states = first.normalised(draw.standard_normal((n_states, first.width)))
    return before.with_inputs(states), after.with_inputs(states), n_states
