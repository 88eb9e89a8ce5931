"""Where a model sits among its equivalents: the nearest exponent and how far every canonical gauge is.

The distance between two gauges that cosines can feel is ln κ of the step between them, which is half of
Hilbert's projective metric between their metrics `S = M Mᵀ`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from embaudit.canonical.form import EXPONENTS, CanonicalForm, canonical_form, require_both_sides
from embaudit.canonical.habits import Habit, log_condition, recognise
from embaudit.canonical.words import explain
from embaudit.foundation.checked import Vector, frozen
from embaudit.foundation.results import Drawn

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from embaudit.kernels.moments import Moments
    from embaudit.model import FactorModel, Link, SideName


@dataclass(frozen=True)
class HiddenBias:
    """A direction in which one side is constant: what the other side holds there is a bias."""

    role: SideName
    """The side that is constant."""
    column: int | None
    """Which column; None where it is a mixture of several, as after a rotation."""
    value: float
    """The constant; for a mixture, in units of its unit direction."""


@dataclass(frozen=True, eq=False, repr=False)
class Position(Drawn):
    """Where a model's factors sit among all equivalent ones."""

    roles: tuple[str, str]
    """What people call the two sides."""
    link: Link
    """How scores become predictions."""
    exponent: float
    """The e in [0, 1] whose canonical gauge is nearest."""
    distance: float
    """ln κ of the gauge from there to the model: what no exponent explains."""
    distances: dict[str, float]
    """ln κ between the model and each canonical gauge, by name."""
    balancedness: Vector
    """(r,) eigenvalues of `(PᵀP)^-½ (QᵀQ) (PᵀP)^-½`, largest first; all equal where weight decay pinned the gauge."""
    singular_values: Vector
    """(r,) of the scores."""
    rank: int
    """Latent dimensions k of the factors."""
    resolution: float
    """Singular values up to here could not be told from zero."""
    habit: Habit
    """Which library's split it looks like."""
    hidden_biases: tuple[HiddenBias, ...]
    """Constant columns and directions found in the factors."""
    form: CanonicalForm
    """The canonical form of the model."""

    def __repr__(self) -> str:
        return (
            f"Position(exponent {self.exponent:.2f}, ln κ {self.distance:.3g} off, "
            f"effective rank {self.effective_rank} of {self.rank}, {self.habit})"
        )

    @property
    def effective_rank(self) -> int:
        """Number of directions that the predictions see."""
        return len(self.singular_values)

    @property
    def energy_rank(self) -> int:
        """Fewest directions that hold 99 % of the scores' sum of squares."""
        energy = np.cumsum(self.singular_values**2)
        return int(np.searchsorted(energy, 0.99 * energy[-1])) + 1

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each canonical gauge, and one for the nearest: exponent, and κ of the gauge to it."""
        import pandas as pd

        places = {name: (EXPONENTS[name], np.exp(d)) for name, d in self.distances.items()}
        places["nearest"] = (self.exponent, np.exp(self.distance))
        return pd.DataFrame.from_dict(places, orient="index", columns=["exponent", "condition"]).rename_axis("gauge")

    def explain(self) -> str:
        """Say in plain words where the cosines sit, and what to do next."""
        return explain(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as JSON can hold them."""
        return {
            "exponent": self.exponent,
            "distance": self.distance,
            "distances": dict(self.distances),
            "balancedness": self.balancedness.tolist(),
            "singular_values": self.singular_values.tolist(),
            "rank": self.rank,
            "effective_rank": self.effective_rank,
            "energy_rank": self.energy_rank,
            "resolution": self.resolution,
            "habit": str(self.habit),
            "hidden_biases": [{"role": b.role, "column": b.column, "value": b.value} for b in self.hidden_biases],
            "explanation": self.explain(),
        }


def position(model: FactorModel, *, form: CanonicalForm | None = None) -> Position:
    """Locate a model among its equivalents.

    Parameters
    ----------
    model : FactorModel
        With both sides.
    form : CanonicalForm, optional
        The form of this model, where it is at hand already.

    Returns
    -------
    Position

    Raises
    ------
    InputError
        If a side is missing or every score is zero.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> scores = np.diag([9.0, 4.0, 1.0])
    >>> where = position(FactorModel.from_user_item(scores, np.eye(3)))
    >>> where
    Position(exponent 1.00, ln κ 0 off, effective rank 3 of 3, UΣ, V)
    >>> {name: round(float(np.exp(d)), 9) for name, d in where.distances.items()}
    {'left-whitened': 9.0, 'balanced': 3.0, 'right-whitened': 1.0}
    """
    require_both_sides(model, "the gauge position")
    form = canonical_form(model) if form is None else form
    exponent, distance = nearest_exponent(form)
    return Position(
        roles=model.roles,
        link=model.link,
        exponent=exponent,
        distance=distance,
        distances={name: log_condition(form, e) for name, e in EXPONENTS.items()},
        balancedness=frozen(balancedness(form)),
        singular_values=frozen(form.singular_values[: form.rank]),
        rank=model.rank,
        resolution=form.resolution,
        habit=recognise(form),
        hidden_biases=_hidden_biases("left", form.left) + _hidden_biases("right", form.right),
        form=form,
    )


def nearest_exponent(form: CanonicalForm) -> tuple[float, float]:
    """Minimise ln κ over e in [0, 1]: convex in e, since the norms of `A sᵉ` and of its inverse are log-convex.

    Returns
    -------
    exponent, ln κ
    """
    from scipy.optimize import minimize_scalar

    s = form.singular_values[: form.rank]
    if s[0] - s[-1] <= 64 * form.rank * np.finfo(np.float64).eps * s[0]:
        return 0.5, log_condition(form, 0.5)  # every exponent is the same gauge
    found = minimize_scalar(lambda e: log_condition(form, e), bounds=(0, 1), method="bounded", options={"xatol": 1e-6})
    candidates = {float(found.x): float(found.fun)} | {e: log_condition(form, e) for e in EXPONENTS.values()}
    return min(((e, d) for e, d in candidates.items()), key=lambda pair: pair[1])


def balancedness(form: CanonicalForm) -> NDArray[np.float64]:
    """Compute the eigenvalues of `(PᵀP)^-½ (QᵀQ) (PᵀP)^-½`, as squared singular values of `R_Q R_P⁻¹`."""
    ratio = form.right_root @ np.linalg.pinv(form.left_root, rcond=form.left.precision)
    values: NDArray[np.float64] = np.linalg.svd(ratio, compute_uv=False)[: form.rank] ** 2
    return values


def _hidden_biases(role: SideName, side: Moments) -> tuple[HiddenBias, ...]:
    columns = side.constant_columns
    if columns:
        return tuple(HiddenBias(role, column, float(side.mean[column])) for column in columns)
    if side.n_rows <= len(side.mean) + 1:
        return ()  # so few rows lie on a plane whatever they are
    _, spread, directions = np.linalg.svd(side.centred_root)
    still = directions[spread <= 16 * side.precision * max(spread[0], np.linalg.norm(side.mean))]
    levels = still @ side.mean
    value = float(np.linalg.norm(levels))
    seen = value > np.sqrt(side.precision) * np.linalg.norm(side.mean)
    return (HiddenBias(role, None, value),) if seen and value else ()
