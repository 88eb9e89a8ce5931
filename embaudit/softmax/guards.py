"""Heads whose logits are no longer linear in the label rows: a soft cap, or rows brought to length 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from embaudit.errors import must_be
from embaudit.foundation.checked import is_number
from embaudit.kernels.rows import unit_rows
from embaudit.model import Softmax
from embaudit.model.equivalence import log_softmax

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from embaudit.model import FactorModel, Link


@dataclass(frozen=True)
class Guard:
    """What a head does to its logits besides `x·w + b`, as declared by its link or in a call."""

    soft_cap: float | None = None
    """c of `c · tanh(s/c)`, or None."""
    normalised: bool = False
    """Whether every label row is divided by its length before use."""

    def __post_init__(self) -> None:
        if self.soft_cap is not None and not (is_number(self.soft_cap) and self.soft_cap > 0):
            raise must_be("soft_cap", "a positive number", repr(self.soft_cap), "None declares no cap")

    @classmethod
    def of(cls, link: Link, soft_cap: float | None = None, normalised: bool = False) -> Guard:
        """Take what a call declares, and what the link of the model says where the call is silent.

        Examples
        --------
        >>> from embaudit.model import Softmax
        >>> Guard.of(Softmax(soft_cap=30.0)).soft_cap, Guard.of(Softmax(soft_cap=30.0), soft_cap=50.0).soft_cap
        (30.0, 50.0)
        """
        known = link if isinstance(link, Softmax) else Softmax()
        return cls(known.soft_cap if soft_cap is None else soft_cap, normalised or known.unit_rows)

    @property
    def keeps_translations(self) -> bool:
        """Whether a translation of the labels leaves the probabilities alone."""
        return self.soft_cap is None and not self.normalised

    @property
    def keeps_linear(self) -> bool:
        """Whether a linear gauge does: it leaves every score alone, but not the lengths of rows."""
        return not self.normalised

    @property
    def title(self) -> str:
        """What was declared, in words."""
        parts = [f"a logit soft-cap of {self.soft_cap:g}"] if self.soft_cap is not None else []
        return " and ".join([*parts, "label rows of length 1"] if self.normalised else parts)

    def log_probabilities(self, model: FactorModel) -> NDArray[np.float64]:
        """Log-probabilities of every input of the model, with all that was declared."""
        if self.normalised:
            model = model.replace(right=unit_rows(model.right))
        scores = model.scores()
        return log_softmax(scores if self.soft_cap is None else self.soft_cap * np.tanh(scores / self.soft_cap))

    def change(self, before: FactorModel, after: FactorModel) -> float:
        """Largest change of a log-probability (a relative change of a probability) between two heads.

        Examples
        --------
        >>> from embaudit.gauges import Gauge
        >>> from embaudit.model import FactorModel
        >>> head = FactorModel.from_softmax([[1.0, 0.0], [0.0, 2.0]], embeddings=[[1.0, -2.0]])
        >>> moved = Gauge.translation(2, right=[3.0, 1.0]).act(head)
        >>> [Guard(cap).change(head, moved) > 1e-12 for cap in (None, 5.0)]
        [False, True]
        """
        return float(np.abs(self.log_probabilities(after) - self.log_probabilities(before)).max())
