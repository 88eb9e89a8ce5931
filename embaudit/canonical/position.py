"""A model's place among its equivalents.

The place says which exponent is nearest, how far away every canonical gauge is, and
which library writes factors of this shape.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from embaudit.canonical.balance import balanced_maps
from embaudit.canonical.distances import log_condition, nearest_exponent
from embaudit.canonical.factor_scaling import FactorScaling, factor_scaling
from embaudit.canonical.form import (
    EXPONENTS,
    CanonicalForm,
    canonical_form,
    require_both_sides,
)
from embaudit.canonical.hidden_bias import HiddenBias, hidden_biases
from embaudit.canonical.position_words import explain_position
from embaudit.canonical.row_span import in_span
from embaudit.core.checked import Floats, Vector, frozen
from embaudit.core.plain import plain_dict
from embaudit.core.results import Result
from embaudit.core.tolerances import TIE
from embaudit.model import FactorModel, Link

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Position(Result):
    """Place of a model's factors among all equivalent ones.

    Examples
    --------
    >>> import numpy as np
    >>> import embaudit as ea
    >>> users = np.diag([9.0, 4.0, 1.0])
    >>> found = ea.position(ea.FactorModel.from_user_item(users, np.eye(3)))
    >>> round(found.exponent, 6), found.score_rank, found.energy_rank
    (1.0, 3, 3)
    """

    roles: tuple[str, str]
    """Titles of the two sides, such as "user" and "item"."""
    link: Link
    """Link from scores to predictions."""
    exponent: float
    """The e in [0, 1] whose canonical gauge is nearest."""
    distance: float
    """ln κ of the gauge from this exponent to the model."""
    distances: dict[str, float]
    """ln κ between the model and each canonical gauge, by name."""
    counted_distance: float | None
    """ln κ to the model that is balanced with every row weighted by its interactions;
    None without counts."""
    balancedness: Vector
    """(r,) eigenvalues of `(PᵀP)^-½ (QᵀQ) (PᵀP)^-½`, largest first; all are equal if
    weight decay chose the gauge."""
    singular_values: Vector
    """(r,) of the scores."""
    rank: int
    """Latent dimensions k of the factors."""
    resolution: float
    """Largest singular value that the rounding of the stored rows can explain."""
    habit: FactorScaling
    """The split of a library that the factors look like."""
    hidden_biases: tuple[HiddenBias, ...]
    """Constant columns and directions of the factors."""
    form: CanonicalForm
    """The canonical form of the model."""

    def to_dict(self) -> dict[str, Any]:
        """Return the record for JSON; NaN and infinity become None."""
        return plain_dict(
            {
                "exponent": self.exponent,
                "distance": self.distance,
                "distances": self.distances,
                "counted_distance": self.counted_distance,
                "balancedness": self.balancedness,
                "singular_values": self.singular_values,
                "rank": self.rank,
                "score_rank": self.score_rank,
                "energy_rank": self.energy_rank,
                "resolution": self.resolution,
                "habit": self.habit,
                "hidden_biases": self.hidden_biases,
                "explanation": str(self),
            }
        )

    def __repr__(self) -> str:
        return (
            f"Position(exponent {self.exponent:.2f}, ln κ {self.distance:.3g} off, "
            f"{self.score_rank} of {self.rank} dimensions seen, {self.habit})"
        )

    @property
    def score_rank(self) -> int:
        """Rank of the scores: number of directions that the predictions see."""
        return len(self.singular_values)

    @property
    def energy_rank(self) -> int:
        """Fewest directions that hold 99 % of the scores' sum of squares."""
        energy = np.cumsum(self.singular_values**2)
        return int(np.searchsorted(energy, (0.99 - TIE) * energy[-1])) + 1

    def to_frame(self) -> pd.DataFrame:
        """Return one row per canonical gauge, and one for the nearest exponent.

        Columns are the exponent and κ of the gauge to it.
        """
        import pandas as pd

        places = {
            name: (EXPONENTS[name], np.exp(distance))
            for name, distance in self.distances.items()
        }
        places["nearest"] = (self.exponent, np.exp(self.distance))
        frame = pd.DataFrame.from_dict(
            places, orient="index", columns=["exponent", "condition"]
        )
        return frame.rename_axis("gauge")

    def explain(self) -> str:
        """Describe in plain words the place of the cosines.

        Examples
        --------
        >>> users = np.diag([9.0, 4.0, 1.0])
        >>> print(position(FactorModel.from_user_item(users, np.eye(3))).explain())
        Your cosines sit at exponent 1.00: the items are whitened. Every ... (UΣ, V).

        A constant column is a bias, and columns of zeros on one side are unseen.

        >>> users, items = np.random.default_rng(0).standard_normal((2, 9, 3))
        >>> items[:, 2] = 1.0
        >>> free = np.zeros(9)
        >>> model = FactorModel.from_user_item(users, items, user_bias=free)
        >>> print(position(model).explain())
        Your ... Column 2 of the items is constant, so the users hold a bias there ...
        >>> users, items = np.hstack([users, users]), np.hstack([items, 0 * items])
        >>> wider = FactorModel.from_user_item(users, items, user_bias=free)
        >>> print(position(wider).explain())
        Your ... 3 of the 6 dimensions are seen by no prediction; they move the ...
        """
        return explain_position(self)


def position(model: FactorModel) -> Position:
    """Locate a model among its equivalents.

    A model of very many columns is located in the dimensions that its rows span, where
    no column is constant.

    Parameters
    ----------
    model : FactorModel
        With both sides.

    Raises
    ------
    InputError
        If a side is missing, or every score is zero.

    Examples
    --------
    >>> scores = np.diag([9.0, 4.0, 1.0])
    >>> where = position(FactorModel.from_user_item(scores, np.eye(3)))
    >>> where
    Position(exponent 1.00, ln κ 0 off, 3 of 3 dimensions seen, UΣ, V)
    >>> {name: round(float(np.exp(d)), 9) for name, d in where.distances.items()}
    {'left-whitened': 9.0, 'balanced': 3.0, 'right-whitened': 1.0}
    """
    require_both_sides(model, "the gauge position")
    n_columns = model.rank
    model = in_span(model)
    form = canonical_form(model)
    exponent, distance = nearest_exponent(form)
    return Position(
        roles=model.roles,
        link=model.link,
        exponent=exponent,
        distance=distance,
        distances={name: log_condition(form, e) for name, e in EXPONENTS.items()},
        counted_distance=_counted_distance(model, form),
        balancedness=frozen(_balancedness(form)),
        singular_values=frozen(form.singular_values[: form.rank]),
        rank=n_columns,
        resolution=form.resolution,
        habit=factor_scaling(form),
        hidden_biases=(
            *hidden_biases("left", form.left),
            *hidden_biases("right", form.right),
        ),
        form=form,
    )


def _counted_distance(model: FactorModel, form: CanonicalForm) -> float | None:
    """Compute ln κ to the model that is balanced with rows weighted by interactions.

    None if interactions are not known, or if rows that have some do not span what the
    predictions see.

    Examples
    --------
    The last count leaves directions without a count.

    >>> model = FactorModel.from_user_item(np.diag([9.0, 4.0, 1.0]), np.eye(3))
    >>> form = canonical_form(model)
    >>> for counts in ([1.0, 1.0, 4.0], [1.0, 0.0, 0.0]):
    ...     counted = model.replace(left_counts=counts, right_counts=np.ones(3))
    ...     print(_counted_distance(counted, form))
    0.752038698388137
    None
    """
    counted = balanced_maps(model, counted=True)
    if counted is None or counted.linear["left"].shape[1] < form.rank:
        return None
    return float(np.log(counted.condition_number))


def _balancedness(form: CanonicalForm) -> Floats:
    """Compute the eigenvalues of `(PᵀP)^-½ (QᵀQ) (PᵀP)^-½`.

    They are those of `R_Q (R_PᵀR_P)⁻¹ R_Qᵀ`, whose square root is `R_Q R_P⁻¹`.
    """
    ratio = form.right_root @ np.linalg.pinv(form.left_root, rcond=form.left.precision)
    values: Floats = np.linalg.svd(ratio, compute_uv=False)[: form.rank] ** 2
    return values
