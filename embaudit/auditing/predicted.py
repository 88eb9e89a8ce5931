"""Cosines and neighbour lists of rows that are compared by their predictions.

Prediction cosines need the scores only, so every equivalent model has the same ones:
use these instead, or judge the cosines at hand by them. Measured in the same way are
the rows without components that no prediction sees, and the form that the penalty of
the declared training would have chosen.

At a stationary point of `Σ_u w_u ‖p_u‖² + Σ_i w_i ‖q_i‖²`, among all models of the same scores, no gauge lowers the
penalty, hence `Pᵀ diag(w) P = Qᵀ diag(w) Q` up to a scale. Rows that are not of this form were not chosen by it:
training stopped before its minimum, had another objective, or the rows were rescaled afterwards.
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
"""Objectives whose penalty has this law, and whether it counts the interactions of each
row.
"""


@dataclass(frozen=True)
class Predicted:
    """Distance of the cosines at hand from prediction cosines."""

    movement: tuple[Movement, ...]
    """Movement from the cosines within a side to its prediction cosines, one a side."""
    examples: tuple[Neighbourhood, ...]
    """Neighbours of a few rows by either."""

    def of(self, role: Role) -> Movement | None:
        """Return what was measured of a role; None for left-right pairs, or a side that was not looked at."""
        return next((record for record in self.movement if record.role == role), None)


@dataclass(frozen=True, eq=False)
class PenaltyForm:
    """Distance of the rows from the form that their penalty would have chosen."""

    stretch: float
    """Condition number of the gauge that leads there."""
    movement: tuple[Movement, ...]
    """Movement of cosines and lists to that form, one a side."""


def by_prediction(
    probe: MovementProbe, *, side: SideName, rows: Indices, n: int
) -> Predicted | None:
    """Compare both sides by what is predicted for their rows; None for one side alone, or where nothing is predicted.

    Parameters
    ----------
    probe : MovementProbe
        Probe of the model at hand, which measured the equivalent models, so that
        figures can be compared. It is drawn anew where rows are left out. Left-right
        cosines have no counterpart.
    side : {"left", "right"}
        Whose neighbours to list.
    rows : array of int
        Rows of that side.
    n : int
        How many neighbours.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> draw = np.random.default_rng(0)
    >>> model = FactorModel.from_user_item(draw.normal(size=(9, 2)) * [1, 5], draw.normal(size=(8, 2)))
    >>> found = by_prediction(MovementProbe(model, ["right"]), side="right", rows=np.array([0]), n=2)
    >>> found.of("right").mean_abs > 0.1, found.of("left")
    (True, None)
    """
    model = probe.model
    # The prediction cosine of right rows is that of Q in the metric PᵀP, so mapped rows
    # stand for columns of the score matrix (docs/theory.md, "Prediction cosines").
    after = prediction_views(model)
    if after is None:
        return None
    movements = moved_to(probe, after)
    if not movements:
        return None
    before = directed_in(model, {side: after[side]})
    n = min(n, len(before.side(side).directed) - 1)
    rows = rows[before.side(side).norms[rows] > 0]
    examples = (
        neighbourhoods(before, after[side], role=side, rows=rows, n=n)
        if n > 0 and len(rows)
        else ()
    )
    return Predicted(movements, examples)


def moved_to(
    probe: MovementProbe, rows: Mapping[SideName, Mapped]
) -> tuple[Movement, ...]:
    """Measure how the cosines within some sides move to other rows, which may leave rows without a direction.

    Left-right cosines are not measured.
    """
    # A probe measures rows of all of its sides: those that are not mapped pass as they
    # are.
    rest = {side: probe.model.factors(side) for side in probe.model.sides}
    return probe.measure_rows(
        {**rest, **rows}, [plan.role for plan in probe.plans if plan.role in rows]
    )


def without_unseen(
    probe: MovementProbe, outside: Collection[SideName]
) -> tuple[Movement, ...]:
    """Measure how cosines move when the components that no prediction sees are removed from some sides.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> draw = np.random.default_rng(0)
    >>> model = FactorModel.from_user_item(draw.normal(size=(9, 3)) * [1, 1, 0], draw.normal(size=(8, 3)))
    >>> without_unseen(MovementProbe(model, ["right"]), ["right"])[0].mean_abs > 0.1
    True
    """
    model = probe.model
    vectors: dict[SideName, Mapped] = {}
    for side in outside:
        basis = reached_space(model, side)
        # B Bᵀ projects rows on the directions that predictions see, in the columns as
        # stored.
        onto = affine(
            np.zeros(model.rank), basis @ basis.T, model.moments(side).precision
        )
        vectors[side] = Mapped(model.factors(side), onto, model.rank)
    return moved_to(probe, vectors) if vectors else ()


def penalty_form(probe: MovementProbe) -> PenaltyForm | None:
    """Measure how far a model is from where its declared penalty would have come to rest.

    None for other objectives, where biases take part, and where the counts of rows are
    not known.

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
    # The law is one of scores made by the factors alone (docs/theory.md, "Weight decay
    # on both sides chooses one").
    plain = (
        model.predicts is Equivalence.SCORES
        and model.left_bias is None
        and model.right_bias is None
    )
    law = known_objective(model.objective)
    if not plain or model.left is None or law is None or law.name not in PENALTIES:
        return None
    # The gauge to `Pᵀ diag(w) P = Qᵀ diag(w) Q`: where rows rest at a minimum of the
    # penalty, it is a rotation.
    maps = balanced_maps(model, counted=PENALTIES[law.name])
    if maps is None:
        return None
    rows = {
        side: multiplied_rows(model.factors(side), linear)
        for side, linear in maps.linear.items()
    }
    return PenaltyForm(maps.condition_number, moved_to(probe, rows))
