"""The form of a model that the penalty of its declared training would have chosen.

At a stationary point of `Σ_u w_u ‖p_u‖² + Σ_i w_i ‖q_i‖²`, among all models of the same scores, no gauge lowers the
penalty, hence `Pᵀ diag(w) P = Qᵀ diag(w) Q` up to a scale. Rows that are not of this form were not chosen by it:
training stopped before that point, had another objective, or the rows were rescaled afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from embaudit.auditing.predicted import moved_to
from embaudit.canonical.balance import balanced_maps
from embaudit.linalg.transformed_rows import TransformedRows
from embaudit.model import Equivalence
from embaudit.model.objectives import known_objective

if TYPE_CHECKING:
    from embaudit.movements.movement import MovementProbe
    from embaudit.movements.result import Movement

PENALTIES = {"factors": False, "factors-counted": True}
"""Objectives whose penalty has this law, and whether it counts the interactions of each row."""


@dataclass(frozen=True, eq=False)
class PenaltyForm:
    """Distance of the rows from the form that their penalty would have chosen."""

    stretch: float
    """Condition number of the gauge that leads there."""
    movement: tuple[Movement, ...]
    """Movement of cosines and lists to that form, one a side."""


def penalty_form(probe: MovementProbe) -> PenaltyForm | None:
    """Measure how far a model is from where its declared penalty would have come to rest.

    None for other objectives, where biases take part, and where the counts of rows are not known.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> from embaudit.movements.movement import MovementProbe
    >>> draw = np.random.default_rng(0)
    >>> x = draw.normal(size=(40, 3))
    >>> model = FactorModel.from_user_item(x * [1.0, 2.0, 4.0], x, objective="factors")
    >>> round(penalty_form(MovementProbe(model, ["right"])).stretch, 6)
    2.0
    """
    model = probe.model
    plain = model.predicts is Equivalence.SCORES and model.left_bias is None and model.right_bias is None
    law = known_objective(model.objective)
    if not plain or model.left is None or law is None or law.name not in PENALTIES:
        return None
    maps = balanced_maps(model, counted=PENALTIES[law.name])
    if maps is None:
        return None
    rows = {
        side: TransformedRows(model.factors(side), linear, np.zeros(linear.shape[1]))
        for side, linear in maps.linear.items()
    }
    return PenaltyForm(maps.condition_number, moved_to(probe, rows))
