"""A model's place among its equivalents: the nearest exponent, how far every canonical gauge is, which library's split.

The distance between two gauges that cosines can feel is ln κ of the step between them, which is half of Hilbert's
projective metric between their metrics `S = M Mᵀ`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from embaudit.canonical.balance import BALANCED, balanced_maps
from embaudit.canonical.form import (
    EXPONENTS,
    CanonicalForm,
    canonical_form,
    require_both_sides,
)
from embaudit.canonical.row_span import in_span
from embaudit.core.checked import Floats, Matrix, Vector, frozen
from embaudit.core.plain import plain_dict
from embaudit.core.results import Result
from embaudit.core.ties import TIE, exceeds, first_best, reaches
from embaudit.io import as_model
from embaudit.io.files import AnyPath
from embaudit.linalg.moments import Moments
from embaudit.model import Equivalence, FactorModel, Link, SideName

if TYPE_CHECKING:
    import pandas as pd

SAME_SHAPE = 1e-3
"""Relative distance of a Gram matrix from a shape that a library writes exactly (float32 stays below)."""
NEAR = float(np.log(1.25))
"""A gauge of condition below 1.25 moves no cosine by more than 0.22: it counts as near."""


class FactorScaling(StrEnum):
    """Split of the scores between the two factor matrices by which a library can be recognised."""

    TRUNCATED_SVD = "UΣ, V"
    """Scaled left and orthonormal right factors: scikit-learn TruncatedSVD, LensKit BiasedSVD."""
    PURE_SVD = "U, VΣ"
    """Orthonormal left and scaled right factors: RecTools PureSVD."""
    BALANCED = "balanced"
    """`PᵀP ∝ QᵀQ`: weight decay on both sides, such as alternating least squares at convergence."""
    ALIGNED = "U D, V D'"
    """Singular directions with scales of their own: a closed form of the product penalty with some D."""
    UNKNOWN = "none known"
    """Unknown shape, written by none of these libraries."""


@dataclass(frozen=True)
class HiddenBias:
    """A direction in which one side is constant: what the other side holds there is a bias."""

    role: SideName
    """The side that is constant."""
    column: int | None
    """Column number; None where it is a mixture of several, as after a rotation."""
    value: float
    """The constant; for a mixture, in units of its unit direction."""


@dataclass(frozen=True, eq=False)
class Position(Result):
    """Place of a model's factors among all equivalent ones."""

    roles: tuple[str, str]
    """Titles of the two sides, such as "user" and "item"."""
    link: Link
    """Link from scores to predictions."""
    exponent: float
    """The e in [0, 1] whose canonical gauge is nearest."""
    distance: float
    """ln κ of the gauge from there to the model: what no exponent explains."""
    distances: dict[str, float]
    """ln κ between the model and each canonical gauge, by name."""
    counted_distance: float | None
    """ln κ to the model that is balanced with every row weighted by its interactions; None without counts."""
    balancedness: Vector
    """(r,) eigenvalues of `(PᵀP)^-½ (QᵀQ) (PᵀP)^-½`, largest first; all equal where weight decay pinned the gauge."""
    singular_values: Vector
    """(r,) of the scores."""
    rank: int
    """Latent dimensions k of the factors."""
    resolution: float
    """Singular values up to here could not be told from zero."""
    habit: FactorScaling
    """Library's split that the factors look like."""
    hidden_biases: tuple[HiddenBias, ...]
    """Constant columns and directions found in the factors."""
    form: CanonicalForm
    """The canonical form of the model."""

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON can hold it; None for a number that does not exist."""
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
        """Return one row for each canonical gauge, and one for the nearest: exponent, and κ of the gauge to it."""
        import pandas as pd

        places = {
            name: (EXPONENTS[name], np.exp(d)) for name, d in self.distances.items()
        }
        places["nearest"] = (self.exponent, np.exp(self.distance))
        return pd.DataFrame.from_dict(
            places, orient="index", columns=["exponent", "condition"]
        ).rename_axis("gauge")

    def explain(self) -> str:
        """Describe in plain words the place of the cosines.

        Examples
        --------
        >>> print(position(FactorModel.from_user_item(np.diag([9.0, 4.0, 1.0]), np.eye(3))).explain())
        Your cosines sit at exponent 1.00: the items are whitened. Every ... (UΣ, V).
        """
        parts = [
            _place(self),
            _counted(self),
            LIBRARIES.get(self.habit, ""),
            *_unseen(self),
        ]
        return " ".join(filter(None, parts))


def position(model: FactorModel | AnyPath | object) -> Position:
    """Locate a model among its equivalents.

    A model of very many columns is looked at in the dimensions that its rows span, where no column is constant.

    Parameters
    ----------
    model : FactorModel, path or object
        With both sides, or what `embaudit.io.as_model` makes it of.

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
    >>> counts = [np.array([1.0, 1.0, 4.0]), np.array([1.0, 0.0, 0.0])]  # the last leaves directions without a count
    >>> models = [FactorModel.from_user_item(scores, np.eye(3)).replace(left_counts=n) for n in counts]
    >>> [position(model.replace(right_counts=np.ones(3))).counted_distance for model in models]
    [0.752038698388137, None]
    """
    model = as_model(model)
    require_both_sides(model, "the gauge position")
    rank = model.rank
    model = in_span(model)
    form = canonical_form(model)
    exponent, distance = nearest_exponent(form)
    counted = balanced_maps(model, counted=True)
    # Rows that have interactions may not span what the predictions see.
    if counted is not None and counted.linear["left"].shape[1] < form.rank:
        counted = None
    return Position(
        roles=model.roles,
        link=model.link,
        exponent=exponent,
        distance=distance,
        distances={name: log_condition(form, e) for name, e in EXPONENTS.items()},
        counted_distance=None
        if counted is None
        else float(np.log(counted.condition_number)),
        balancedness=frozen(balancedness(form)),
        singular_values=frozen(form.singular_values[: form.rank]),
        rank=rank,
        resolution=form.resolution,
        habit=recognise(form),
        hidden_biases=hidden_biases("left", form.left)
        + hidden_biases("right", form.right),
        form=form,
    )


def nearest_exponent(form: CanonicalForm) -> tuple[float, float]:
    """Minimise ln κ over e in [0, 1]: convex in e, since the norms of `A sᵉ` and of its inverse are log-convex.

    Returns
    -------
    exponent, ln κ
    """
    s = form.singular_values[: form.rank]
    if s[0] - s[-1] <= 64 * form.rank * np.finfo(np.float64).eps * s[0]:
        return 0.5, log_condition(form, 0.5)  # every exponent is the same gauge
    from scipy.optimize import minimize_scalar

    minimum = minimize_scalar(
        lambda e: log_condition(form, e),
        bounds=(0, 1),
        method="bounded",
        options={"xatol": 1e-6},
    )
    # A bounded search ends near the minimum, not at it. A named exponent comes first,
    # so it is returned if it is as near as the end of the search.
    candidates = [(e, log_condition(form, e)) for e in EXPONENTS.values()]
    candidates.append((float(minimum.x), float(minimum.fun)))
    return first_best(candidates, lambda pair: -pair[1], TIE)


def balancedness(form: CanonicalForm) -> Floats:
    """Compute the eigenvalues of `(PᵀP)^-½ (QᵀQ) (PᵀP)^-½`, as squared singular values of `R_Q R_P⁻¹`."""
    # `(PᵀP)^-½ (QᵀQ) (PᵀP)^-½` has the eigenvalues of `R_Q (R_PᵀR_P)⁻¹ R_Qᵀ`, whose square root is R_Q R_P⁻¹.
    ratio = form.right_root @ np.linalg.pinv(form.left_root, rcond=form.left.precision)
    values: Floats = np.linalg.svd(ratio, compute_uv=False)[: form.rank] ** 2
    return values


def hidden_biases(role: SideName, side: Moments) -> tuple[HiddenBias, ...]:
    """Find what one side has alike in every row: columns, or else one direction that mixes them.

    Examples
    --------
    >>> from embaudit.linalg.moments import moments
    >>> hidden_biases("right", moments(np.array([[1.0, 3.0], [2.0, 3.0], [5.0, 3.0]])))
    (HiddenBias(role='right', column=1, value=3.0...),)
    """
    columns = side.constant_columns
    if columns:
        return tuple(
            HiddenBias(role, column, float(side.mean[column])) for column in columns
        )
    if side.n_rows <= len(side.mean):
        return ()  # so few rows lie on a plane whatever they are
    # No single column is constant: look for a direction in which the centred rows have no spread but rounding.
    _, spread, directions = np.linalg.svd(side.centred_root)
    still = directions[
        spread <= 16 * side.precision * max(spread[0], np.linalg.norm(side.mean))
    ]
    levels = still @ side.mean
    value = float(np.linalg.norm(levels))
    is_bias = value > np.sqrt(side.precision) * np.linalg.norm(side.mean)
    return (HiddenBias(role, None, value),) if is_bias and value else ()


def log_condition(form: CanonicalForm, exponent: float) -> float:
    """Compute ln κ of the step from the model to exponent e, on the directions that the predictions see.

    With full rank `κ = ‖A‖ ‖B‖`, since `AᵀB = I`: no small singular value has to be found. Otherwise one side
    holds directions that the other lacks, and the map of the other side is free of them.
    """
    if form.is_full_rank:
        s = form.singular_values
        scales = (s / s[0]) ** (exponent - 1), (s / s[0]) ** -exponent
        scaled = [
            scale[:, None] * metric * scale
            for scale, metric in zip(scales, form.metrics, strict=True)
        ]
        # All eigenvalues: LAPACK's search for the largest fails on some multiples of the identity, as balanced factors
        # have.
        distance = sum(
            float(np.log(np.linalg.eigvalsh(metric)[-1])) for metric in scaled
        ) / 2 - float(np.log(s[0]))
    else:
        maps = (form.left_map(exponent), form.right_map(exponent))
        spectra = [np.linalg.svd(linear, compute_uv=False) for linear in maps]
        distance = min(float(np.log(s[0] / s[-1])) for s in spectra)
    # κ = 1 is computed as 1 + rounding.
    return distance if distance > 64 * form.rank * np.finfo(np.float64).eps else 0.0


def recognise(form: CanonicalForm) -> FactorScaling:
    """Recognise a split of the scores by the two Gram matrices of the factors as they are, not centred."""
    grams = [side.root.T @ side.root for side in (form.left, form.right)]
    # Columns of zeros say nothing of a split; libraries leave them where a rank was not reached.
    used = (np.diag(grams[0]) > 0) & (np.diag(grams[1]) > 0)
    left, right = (g[np.ix_(used, used)] for g in grams)
    if used.sum() < 2:
        return FactorScaling.UNKNOWN
    aligned = _is_diagonal(left) and _is_diagonal(right)
    if aligned and _is_level(right) and not _is_level(left):
        return FactorScaling.TRUNCATED_SVD
    if aligned and _is_level(left) and not _is_level(right):
        return FactorScaling.PURE_SVD
    if not exceeds(log_condition(form, 0.5), np.log(BALANCED)):
        return FactorScaling.BALANCED
    return FactorScaling.ALIGNED if aligned else FactorScaling.UNKNOWN


def _is_diagonal(gram: Matrix) -> bool:
    lengths = np.sqrt(np.diag(gram))
    return bool(
        np.abs(gram / lengths[:, None] / lengths - np.eye(len(gram))).max()
        <= SAME_SHAPE
    )


def _is_level(gram: Matrix) -> bool:
    squares = np.diag(gram)
    return bool(np.ptp(squares) <= SAME_SHAPE * squares.max())


AT = 0.01
"""ln κ below which a model counts as being at a canonical gauge."""
MEANINGS = {
    "left-whitened": (
        "the {users}s are {near}whitened, so the {items}s' cosines are {near}prediction cosines. Those compare "
        "{items}s by their scores for all {users}s. The {users}s' own cosines are the doubtful ones"
    ),
    "balanced": (
        "{near}balanced, each latent direction shared out equally between {users}s and {items}s within κ = "
        "{kappa:.3f}. Equal weight decay on both sides leaves them so: a convention of training, which the predictions "
        "do not ask for"
    ),
    "right-whitened": (
        "the {items}s are {near}whitened. Every latent direction counts {near}the same in their cosines, however "
        "little it matters to a score. With as many directions as {items}s, all these cosines would be {near}0"
    ),
}
"""Cosines at each canonical gauge."""
LIBRARIES = {
    FactorScaling.TRUNCATED_SVD: (
        "TruncatedSVD of scikit-learn and BiasedSVD of LensKit write factors of this shape (UΣ, V)."
    ),
    FactorScaling.PURE_SVD: "RecTools' PureSVD writes factors of this shape (U, VΣ).",
    FactorScaling.ALIGNED: (
        "The columns are singular directions with scales of their own, as a product penalty leaves them."
    ),
}
"""Libraries that write factors of a shape."""


def _place(position: Position) -> str:
    """Describe the exponent nearest to the factors, and its distance."""
    users, items = position.roles
    if position.link.predicts is Equivalence.COSINES:
        return "This model predicts cosines, so nothing but a rotation can be told from its own factors by them."
    if position.score_rank == 1:
        return "The predictions see a single direction: every prediction cosine is 1 or -1, there is nothing to compare."
    kappas = {
        name: float(np.exp(distance)) for name, distance in position.distances.items()
    }
    nearest = first_best(list(kappas), lambda name: -kappas[name])
    if exceeds(position.distance, NEAR):
        return (
            f"Your vectors are in none of the three standard forms; the {nearest} form is nearest, a stretch of "
            f"{kappas[nearest]:.2g} away. Training or storage decided which {items}s look alike, the predictions did "
            f"not."
        )
    start = f"Your cosines sit at exponent {position.exponent:.2f}:"
    if exceeds(kappas[nearest], BALANCED):
        low, high = (
            ("left-whitened", "balanced")
            if position.exponent < 0.5
            else ("balanced", "right-whitened")
        )
        return (
            f"{start} between {low} (a gauge of condition number {kappas[low]:.3g} away) and {high} "
            f"({kappas[high]:.3g} away), near neither. Training or storage shared the directions out so, and the "
            f"predictions leave it open."
        )
    near = "nearly " if reaches(position.distances[nearest], AT) else ""
    return f"{start} {MEANINGS[nearest].format(users=users, items=items, near=near, kappa=kappas[nearest])}."


def _counted(position: Position) -> str:
    """Describe the distance of the factors from those that decay at every interaction leaves, where these are known."""
    if position.counted_distance is None:
        return ""
    kappa = float(np.exp(position.counted_distance))
    if not exceeds(kappa, BALANCED):
        return f"Weighted by interactions, they are balanced within κ = {kappa:.3f}."
    return (
        "Training with weight decay at every interaction would have left other factors: these, with axes stretched by "
        f"up to {kappa:.3f} against each other."
    )


def _unseen(position: Position) -> list[str]:
    """Count the dimensions that no prediction sees, and name each bias in a constant direction of the other side.

    Examples
    --------
    >>> users, items = np.random.default_rng(0).standard_normal((2, 9, 3))
    >>> items[:, 2] = 1.0
    >>> model = FactorModel.from_user_item(users, items, user_bias=np.zeros(9))
    >>> print(*_unseen(position(model)))
    Column 2 of the items is constant, so the users hold a bias there that their cosines count as a similarity. ...
    >>> wider = FactorModel.from_user_item(np.c_[users, users], np.c_[items, 0 * items], user_bias=np.zeros(9))
    >>> _unseen(position(wider))[0]
    '3 of the 6 dimensions are seen by no prediction; they move the cosines and nothing else.'
    """
    # The direction in which a centred side is constant acts as a bias, which predictions see.
    biased = {
        bias.role
        for bias in position.hidden_biases
        if getattr(position.form, f"{bias.role}_centre").any()
    }
    sentences, lost = [], position.rank - position.score_rank - len(biased)
    if lost > 0:
        verb = (
            "is seen by no prediction; it moves"
            if lost == 1
            else "are seen by no prediction; they move"
        )
        sentences.append(
            f"{lost} of the {position.rank} dimensions {verb} the cosines and nothing else."
        )
    for bias in position.hidden_biases:
        constant, other = (
            position.roles if bias.role == "left" else position.roles[::-1]
        )
        where = (
            "A mixture of columns" if bias.column is None else f"Column {bias.column}"
        )
        sentences.append(
            f"{where} of the {constant}s is constant, so the {other}s hold a bias there that their cosines count "
            f"as a similarity. Split it off."
        )
    return sentences
