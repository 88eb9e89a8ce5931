"""Cosines and neighbour lists of rows that are compared by their predictions.

Prediction cosines depend on the scores only, so every equivalent model has the same
ones. The cosines of the audited model are compared with them. Two other comparisons are
measured in the same way: with the rows without components that no prediction sees, and
with the form that the penalty of the declared training would have chosen.

Let `Σ_u w_u ‖p_u‖² + Σ_i w_i ‖q_i‖²` be stationary among all models of the same scores.
Then no gauge lowers the penalty, so `Pᵀ diag(w) P = Qᵀ diag(w) Q` up to a scale. If
rows are not of this form, the penalty did not choose them: training stopped before its
minimum, had another objective, or the rows were rescaled afterwards.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from embaudit.canonical.balance import balanced_maps
from embaudit.canonical.identified import prediction_views
from embaudit.canonical.row_span import reached_space
from embaudit.core.checked import Indices
from embaudit.linalg.mapped import Mapped, affine, multiplied_rows
from embaudit.model import Equivalence, Role, SideName
from embaudit.model.trainings import known_objective
from embaudit.movements.movement import Movement, MovementProbe, directed_in
from embaudit.movements.neighbourhoods import Neighbourhood, neighbourhoods

PENALTIES = {"factors": False, "factors-counted": True}
"""Objectives with a penalty of this law; True if the penalty counts the interactions of
rows.
"""


@dataclass(frozen=True)
class Predicted:
    """Distance of the cosines of the audited model from prediction cosines."""

    movement: tuple[Movement, ...]
    """Movement from cosines to prediction cosines, one record per measured side."""
    examples: tuple[Neighbourhood, ...]
    """Neighbours of a few rows by cosine and by prediction cosine."""

    def for_role(self, role: Role) -> Movement | None:
        """Return the movement of a role; None for left-right pairs or another side."""
        for record in self.movement:
            if record.role == role:
                return record
        return None


@dataclass(frozen=True, eq=False)
class PenaltyForm:
    """Distance of the rows from the form that their penalty would have chosen."""

    stretch: float
    """Condition number of the gauge that leads to that form."""
    movement: tuple[Movement, ...]
    """Movement of cosines and lists to that form, one record per side."""


def by_prediction(
    probe: MovementProbe, *, side: SideName, rows: Indices, n: int
) -> Predicted | None:
    """Compare the cosines within each side with prediction cosines.

    Return None for one side alone, and if no prediction cosine is defined.

    Parameters
    ----------
    probe : MovementProbe
        The probe that measured the equivalent models, so that figures can be compared.
        Its samples are drawn anew if rows have no prediction cosine. Left-right cosines
        have no counterpart.
    side : {"left", "right"}
        Side for the lists of neighbours.
    rows : array of int
        Rows of that side for which neighbours are listed.
    n : int
        Number of neighbours.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> draw = np.random.default_rng(0)
    >>> users, items = draw.normal(size=(9, 2)), draw.normal(size=(8, 2))
    >>> model = FactorModel.from_user_item(users * [1, 5], items)
    >>> probe = MovementProbe(model, ["right"])
    >>> found = by_prediction(probe, side="right", rows=np.array([0]), n=2)
    >>> found.for_role("right").mean_abs > 0.1, found.for_role("left")
    (True, None)
    """
    model = probe.model
    # The prediction cosine of right rows is the cosine of rows of Q in the metric PᵀP,
    # so mapped rows stand for columns of the score matrix (docs/theory.md, "Prediction
    # cosines").
    after = prediction_views(model)
    if after is None:
        return None
    movements = moved_to(probe, after)
    if not movements:
        return None
    before = directed_in(model, {side: after[side]})
    n = min(n, len(before.side(side).directed) - 1)
    rows = rows[before.side(side).norms[rows] > 0]
    examples: tuple[Neighbourhood, ...] = ()
    if n > 0 and len(rows):
        examples = neighbourhoods(before, after[side], role=side, rows=rows, n=n)
    return Predicted(movements, examples)


def moved_to(
    probe: MovementProbe, rows: Mapping[SideName, Mapped]
) -> tuple[Movement, ...]:
    """Measure how cosines within sides move if other rows replace the stored ones.

    The other rows may have no direction. Left-right cosines are not measured.
    """
    roles = [plan.role for plan in probe.plans if plan.role in rows]
    return probe.measure_rows(rows, roles)


def without_unseen(
    probe: MovementProbe, outside: Collection[SideName]
) -> tuple[Movement, ...]:
    """Measure how cosines move if components that no prediction sees are removed.

    Parameters
    ----------
    probe : MovementProbe
        The probe of the audited model.
    outside : collection of {"left", "right"}
        Sides that have such components.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> draw = np.random.default_rng(0)
    >>> users, items = draw.normal(size=(9, 3)), draw.normal(size=(8, 3))
    >>> model = FactorModel.from_user_item(users * [1, 1, 0], items)
    >>> without_unseen(MovementProbe(model, ["right"]), ["right"])[0].mean_abs > 0.1
    True
    """
    model = probe.model
    vectors: dict[SideName, Mapped] = {}
    for side in outside:
        basis = reached_space(model, side)
        # B Bᵀ projects rows on the directions that predictions see.
        onto = affine(
            np.zeros(model.rank), basis @ basis.T, model.moments(side).precision
        )
        vectors[side] = Mapped(model.factors(side), onto, model.rank)
    if not vectors:
        return ()
    return moved_to(probe, vectors)


def penalty_form(probe: MovementProbe) -> PenaltyForm | None:
    """Measure how far a model is from a minimum of its declared penalty.

    Return None for other objectives, for models with biases, and if the counts of the
    interactions are needed but not known.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> draw = np.random.default_rng(0)
    >>> x = draw.normal(size=(40, 3))
    >>> model = FactorModel.from_user_item(x * [1.0, 2.0, 4.0], x, objective="factors")
    >>> round(penalty_form(MovementProbe(model, ["right"])).stretch, 6)
    2.0
    """
    model = probe.model
    # The law holds for scores without biases (docs/theory.md, "Weight decay on both
    # sides chooses one equivalent model").
    has_law = (
        model.predicts is Equivalence.SCORES
        and model.left_bias is None
        and model.right_bias is None
    )
    law = known_objective(model.objective)
    if not has_law or model.left is None or law is None or law.name not in PENALTIES:
        return None
    # This gauge leads to `Pᵀ diag(w) P = Qᵀ diag(w) Q`. If the rows are at a minimum of
    # the penalty, it is a rotation.
    maps = balanced_maps(model, counted=PENALTIES[law.name])
    if maps is None:
        return None
    rows = {
        side: multiplied_rows(model.factors(side), linear)
        for side, linear in maps.linear.items()
    }
    return PenaltyForm(maps.condition_number, moved_to(probe, rows))
