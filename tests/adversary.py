"""An adversary, which searches for equivalent models that move given cosines.

The search uses no gauge and no theorem. Equivalent models of one rank solve a system of
equations in all factors and free biases: their visible scores are equal. Each search
starts at random points near the model and far from it, and Gauss–Newton steps lead back
to the solutions until only rounding is left. If only the order of scores is visible,
the equations become inequalities, and a random walk proposes steps that satisfy them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve

from embaudit.core.checked import RNG, Floats, as_generator
from embaudit.core.tolerances import EPS
from embaudit.errors import must_be
from embaudit.linalg.rows import unit_rows
from embaudit.model import FactorModel, SideName
from embaudit.model.equivalence import Equivalence
from embaudit.model.objectives import Status
from embaudit.model.trainings import known_objective

MIN_MOVEMENT = 1e-3
"""A movement up to here breaks nothing: where constraints only bend, rounding leaves
its fourth root.
"""
LARGEST = 2_000
"""Most predictions that are kept: a system of as many equations is solved in every
step.
"""
PRIVATE = 2
"""Columns that one side of an equivalent model of another temperature has alone."""
TINY = 1e-100
"""A step along which differences are derivatives."""
FLAT = 1e-100
"""Largest slope at which no score changes in float64. A step squares the slopes, and
much smaller squares vanish.
"""


@dataclass(frozen=True, eq=False)
class Break:
    """The equivalent model that moves cosines the furthest, as far as the adversary
    found one.
    """

    model: FactorModel
    """The equivalent model, in float64."""
    gap: float
    """Largest change of a prediction, as the link measures it."""
    bound: float
    """Largest change that rounding explains."""
    mean_abs: float
    """Mean |Δcos| over all pairs of the side."""
    max_abs: float
    """Largest |Δcos|."""

    @property
    def found(self) -> bool:
        """True if the model breaks a claim that nothing moves."""
        return self.gap <= self.bound and self.max_abs > MIN_MOVEMENT


def break_claim(
    model: FactorModel, *, role: SideName = "right", starts: int = 8, rng: RNG = 0
) -> Break:
    """Search the equivalent models of the same rank for one that moves the cosines
    within a side.

    Of those that are met the one that moves cosines the furthest is returned; others
    may move them further.

    Parameters
    ----------
    model : FactorModel
        A small one. Its numbers are taken as exact. A bias that is given is free. Where
        left factors are missing, some of full rank stand in for them.
    role : {"left", "right"}
        Whose cosines are to move.
    starts : int
        Random starts.
    rng : numpy Generator or int, optional
        Draws them.

    Returns
    -------
    Break
        The model itself, with no movement, if no other was found.

    Raises
    ------
    InputError
        For more than 2,000 predictions, or where predictions of a missing side cannot
        be stood in for.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> users, items = rng.standard_normal((4, 2)), rng.standard_normal((5, 2))
    >>> free = FactorModel.from_user_item(users, items)
    >>> break_claim(free).found
    True
    >>> break_claim(free.replace(link="cosine")).found
    False
    """
    # Every candidate is judged by its own predictions, whatever the search believes of
    # it.
    draw = as_generator(rng)
    whole = _with_both_sides(model, draw)
    if whole.n_left * whole.n_right > LARGEST:
        raise must_be(
            "the model",
            f"of at most {LARGEST:,} predictions",
            whole.n_left * whole.n_right,
            "take some rows",
        )
    best = _judged(whole, whole, role)
    for twin_break in _equivalent(whole, role, starts, draw):
        if twin_break.max_abs > best.max_abs:
            best = twin_break
    return best


def other_temperatures(
    model: FactorModel, *, role: SideName, starts: int = 8, rng: RNG = 0
) -> list[FactorModel]:
    """Search for models of the same predictions, at any temperature above zero.

    Each of them has columns that rows of the role have alone. All rows of the given
    model must have a direction.
    """
    draw = as_generator(rng)
    found = _equivalent(_with_both_sides(model, draw), role, starts, draw)
    return [one.model for one in found]


def _equivalent(
    whole: FactorModel, role: SideName, starts: int, draw: np.random.Generator
) -> Iterator[Break]:
    """Yield the equivalent models that a search meets, each judged by its own
    predictions.
    """
    if whole.predicts is Equivalence.RANKINGS:
        twins = _by_orders(whole, starts, draw)
    else:
        twins = _by_equations(whole, role, starts, draw)
    for twin in twins:
        judged = _judged(whole, twin, role)
        if judged.gap <= judged.bound:
            yield judged


def _has_temperature(model: FactorModel) -> bool:
    """Check for cosines that are divided by a temperature, which may differ, too."""
    law = known_objective(model.objective)
    return law is not None and law.status is Status.TEMPERATURE


def _with_both_sides(model: FactorModel, draw: np.random.Generator) -> FactorModel:
    """Return the rows that have a direction, in float64."""
    units = model.link.unit_sides
    if model.left is None:
        if "left" in units or model.predicts is Equivalence.RANKINGS:
            raise must_be(
                "the left side",
                "given, as it decides what is predicted",
                "none",
                "load both sides",
            )
        model = model.replace(
            left=draw.standard_normal((2 * model.rank + 1, model.rank)), objective=None
        )
    directed = model.take(**{side: model.side(side).directed for side in units})
    return directed.replace(
        **{
            side: np.asarray(directed.factors(side), dtype=np.float64)
            for side in directed.sides
        }
    )


def _judged(before: FactorModel, after: FactorModel, role: SideName) -> Break:
    old, new = (unit_rows(m.factors(role)) for m in (before, after))
    change = np.abs(new @ new.T - old @ old.T)
    change = change[np.triu_indices(len(change), 1)]
    change = change[~np.isnan(change)]
    mean, largest = (
        (float(change.mean()), float(change.max())) if len(change) else (0.0, 0.0)
    )
    scores = after.scores()
    if _has_temperature(before):
        # The ratio of both temperatures, by least squares.
        ratio = float((scores * before.scores()).sum() / np.square(scores).sum())
        # A temperature is positive: with a negative one the order would turn around.
        scores = scores * max(ratio, 0.0)
    gap = before.link.gap(before.scores(), scores)
    # An order is kept or not.
    bound = 0.0 if before.predicts is Equivalence.RANKINGS else _rounding(before, after)
    return Break(after, gap, bound, mean, largest)


def _rounding(before: FactorModel, after: FactorModel) -> float:
    """Bound what rounding does to a prediction: some units of the largest product in
    either model.
    """
    size = 0.0
    for m in (before, after):
        longest = [
            1.0 if side in m.link.unit_sides else float(m.side(side).norms.max())
            for side in m.sides
        ]
        biases = [
            float(np.abs(b).max()) for b in (m.left_bias, m.right_bias) if b is not None
        ]
        size += longest[0] * longest[1] + abs(m.offset) + sum(biases)
    return 8 * (before.rank + 4) * EPS * before.link.sensitivity * size


class _System:
    """The equations of equal predictions in one vector of factors and free biases."""

    def __init__(self, model: FactorModel, role: SideName) -> None:
        """List all factors and free biases in one vector, and the predictions that
        every other vector must meet.

        If cosines are divided by a temperature, the vector ends with one over it, and
        rows of the role have columns that no row of the other side has.
        """
        self.model, self.units = model, model.link.unit_sides
        sides = {
            side: np.asarray(model.factors(side), dtype=np.float64)
            for side in ("left", "right")
        }
        for side in self.units:
            sides[side] = sides[side] / model.side(side).norms[:, None]
        names = ("left_bias", "right_bias") if model.link.sees_biases else ()
        self.biases = [name for name in names if getattr(model, name) is not None]
        # Scaled to sides of one length: a step must not change one of them a million
        # times as much.
        sizes = [float(np.linalg.norm(sides[side])) for side in ("right", "left")]
        even = (
            1.0 if self.units or not all(sizes) else float(np.sqrt(sizes[0] / sizes[1]))
        )
        parts = [
            sides["left"] * even,
            sides["right"] / even,
            *(getattr(model, name) for name in self.biases),
        ]
        self.has_temperature = _has_temperature(model)
        if self.has_temperature:
            i = ("left", "right").index(role)
            parts[i] = np.pad(parts[i], ((0, 0), (0, PRIVATE)))
            parts.append(np.ones(1))
        self.shapes = [array.shape for array in parts]
        self.start = np.concatenate([array.ravel() for array in parts])
        self.target = self.visible(self.start)

    def parts(self, x: Floats) -> list[Floats]:
        """Left rows, right rows and free biases: views of a vector, or of each of a
        stack of them.
        """
        parts = np.split(
            x, np.cumsum([math.prod(shape) for shape in self.shapes])[:-1], axis=-1
        )
        return [
            cut.reshape(*x.shape[:-1], *shape)
            for cut, shape in zip(parts, self.shapes, strict=True)
        ]

    def scores(self, x: Floats) -> Floats:
        """Scores of the model of a vector."""
        left, right, *rest = self.parts(x)
        if self.has_temperature:
            # One over the temperature, in units of that of the given model.
            left = left[..., : self.model.rank] * rest.pop()[..., None]
            right = right[..., : self.model.rank]
        added = [
            np.expand_dims(b, -2 + (name == "left_bias"))
            for name, b in zip(self.biases, rest, strict=True)
        ]
        return np.asarray(
            left @ right.swapaxes(-1, -2)
            + sum(added)
            + self.model.offset * self.model.link.sees_biases
        )

    def visible(self, x: Floats) -> Floats:
        """Compute the scores up to changes that no prediction shows, and the squared
        lengths that are 1.
        """
        # Complex vectors pass through for `jacobian`: no absolute value, maximum or
        # comparison may stand here.
        shown, cap = self.scores(x), self.model.link.soft_cap
        shown = shown if cap is None else cap * np.tanh(shown / cap)
        if self.model.link.level is Equivalence.PROBABILITIES:
            shown = shown - shown.mean(axis=-1, keepdims=True)
        sides = dict(zip(("left", "right"), self.parts(x), strict=False))
        lengths = [
            np.einsum("...j,...j->...", sides[side], sides[side]) for side in self.units
        ]
        return np.concatenate([shown.reshape(*x.shape[:-1], -1), *lengths], axis=-1)

    def jacobian(self, x: Floats) -> Floats:
        """Compute the derivative of `visible`, dense: imaginary parts of a step too
        small to round.
        """
        # f(x + ih) = f(x) + ih f'(x) + …: no difference is taken, so that none cancels
        # (Squire and Trapp, 1998).
        steps = x + 1j * TINY * np.eye(len(x))
        return np.ascontiguousarray(self.visible(steps).imag.T / TINY)

    def twin(self, x: Floats) -> FactorModel:
        """Build the model of a vector."""
        parts = self.parts(x)
        if self.has_temperature:
            width = self.model.rank + PRIVATE
            parts = [
                np.pad(part, ((0, 0), (0, width - part.shape[1]))) for part in parts[:2]
            ]
        return self.model.replace(
            **dict(zip(("left", "right", *self.biases), parts, strict=True))
        )


def _damped(jacobian: Floats, wanted: Floats) -> Floats:
    """Return the least step that changes the equations by `wanted`."""
    # A model of low rank cannot change each of its scores by itself: J Jᵀ is singular,
    # and a little damping solves it.
    normal = jacobian @ jacobian.T
    normal[np.diag_indices_from(normal)] += 1e-12 * np.trace(normal)
    return np.asarray(jacobian.T @ solve(normal, wanted, assume_a="pos"))


def _returned(system: _System, x: Floats, floor: float) -> Floats | None:
    """Walk back to the equations; None where that fails."""
    size = np.inf
    for _ in range(25):
        miss = system.target - system.visible(x)
        now = float(np.abs(miss).max())
        if now <= floor:
            return x
        # Close to rounding and no longer shrinking: the equations bend too much here to
        # be met.
        if not now < 0.9 * size and size < 1e3 * floor:
            return None
        size = now
        jacobian = system.jacobian(x)
        # Far beyond a cap, or where a softmax is all but certain, nothing changes any
        # more.
        if float(np.abs(jacobian).max()) <= FLAT:
            return None
        # Never more than half the length of x at once, where the linear model is far
        # from true.
        step = _damped(jacobian, miss)
        x = x + step * min(
            1.0, float(np.linalg.norm(x) / (2 * np.linalg.norm(step) + EPS**2))
        )
    return None


def _by_equations(
    model: FactorModel, role: SideName, starts: int, draw: np.random.Generator
) -> Iterator[FactorModel]:
    """Yield the equivalent models that near and far starts fall back to."""
    system = _System(model, role)
    largest = max(
        1.0 if system.units else 0.0, float(np.abs(system.scores(system.start)).max())
    )
    floor = 4 * (model.rank + 4) * EPS * largest
    for start in range(starts):
        x, noise = _far(system, start, draw)
        at = _returned(system, x, floor)
        # Cosines of rank 1 jump from one sign to the other: walk on, as no slope leads
        # there.
        for _ in range(9 if model.rank == 1 else 1):
            if at is None:
                break
            yield system.twin(at)
            # Along the random way, less the part that leaves the equations: a tangent
            # of the set of equivalent models.
            jacobian = system.jacobian(at)
            at = _returned(
                system, at + 0.5 * (noise - _damped(jacobian, jacobian @ noise)), floor
            )


def _far(
    system: _System, start: int, draw: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return a start near or far, and the way to it: rows moved each by itself, all
    alike, or some turned around.
    """
    x, noise = system.start.copy(), draw.standard_normal(len(system.start))
    for moved, turned in zip(
        system.parts(noise)[:2], system.parts(x)[:2], strict=True
    ):  # views
        moved += 3 * draw.standard_normal(moved.shape[1]) * (start % 3 == 1)
        turned *= np.where(draw.random(len(turned)) < (start % 3 == 2) / 2, -1, 1)[
            :, None
        ]
    noise *= np.linalg.norm(x) / np.linalg.norm(noise)
    return x + (0.1, 0.3, 1.0, 3.0)[start % 4] * noise, noise


def _by_orders(
    model: FactorModel, starts: int, draw: np.random.Generator
) -> Iterator[FactorModel]:
    """Yield models that keep the order in every row: proposals at all scales, walking
    on from each that does.
    """
    before = model.scores()
    for _ in range(starts):
        twin = model
        for step in range(200):
            proposal = _proposal(twin, 10.0 ** draw.uniform(-5, 0.5), step % 4, draw)
            after = proposal.scores()
            # In both directions: no order may be lost in a tie, and no tie be broken.
            if (
                model.link.gap(before, after) == 0
                and model.link.gap(after, before) == 0
            ):
                twin = proposal
        yield twin


def _proposal(
    model: FactorModel, size: float, kind: int, draw: np.random.Generator
) -> FactorModel:
    """Change everything a little, one side only, the length of every left row, or shift
    the right rows.
    """
    left, right = model.factors("left"), model.right
    # A positive factor for each left row keeps its order, and a shift of all right rows
    # moves a row by one constant.
    if kind == 2:
        factors = np.exp(size * draw.standard_normal((len(left), 1)))
        biases = (
            {}
            if model.left_bias is None
            else {"left_bias": model.left_bias * factors[:, 0]}
        )
        return model.replace(left=left * factors, **biases)
    shape = (model.rank,) if kind == 3 else right.shape
    moved = right + size * (right.std() + EPS) * draw.standard_normal(shape)
    turned = (
        size * (left.std() + EPS) * draw.standard_normal(left.shape)
        if kind == 0
        else 0.0
    )
    return model.replace(left=left + turned, right=moved)
