"""An adversary: it tries to move cosines without moving predictions, whatever a theorem says.

It knows no gauge. The equal models of a model, at its rank, are the solutions of one system of equations in all factors
and free biases: the same visible scores. The search walks on them: a step along what they leave free to first order,
uphill in the movement of the cosines, then Gauss–Newton back until only rounding is left. Orders of scores are
inequalities; there it climbs by proposals that keep each of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve

from embaudit.errors import must_be
from embaudit.foundation.checked import RNG, Floats, Matrix, as_generator
from embaudit.model import FactorModel, SideName
from embaudit.model.equivalence import Equivalence

EPS = float(np.finfo(np.float64).eps)
LEAST = 1e-3
"""A movement up to here breaks nothing: where constraints only bend, rounding leaves its fourth root."""
LARGEST = 2_000
"""Most predictions that are kept: a system of as many equations is solved in every step."""
STEPS = 30
"""Steps uphill from each start."""


@dataclass(frozen=True, eq=False)
class Break:
    """The equal model that moves cosines the furthest, as far as the adversary found one."""

    model: FactorModel
    """The equal model, in float64."""
    gap: float
    """Largest change of a prediction, as the link measures it."""
    bound: float
    """What rounding explains of it."""
    mean_abs: float
    """Mean |Δcos| over all pairs of the side."""
    max_abs: float
    """Largest |Δcos|."""

    @property
    def found(self) -> bool:
        """Whether a claim that nothing moves is broken."""
        return self.gap <= self.bound and self.max_abs > LEAST


def break_claim(model: FactorModel, *, role: SideName = "right", starts: int = 8, rng: RNG = 0) -> Break:
    """Search the equal models of the same rank for one that moves the cosines within a side.

    Parameters
    ----------
    model : FactorModel
        A small one. Its numbers are taken as exact. A bias that is given is free. Where left factors are missing, some
        of full rank stand in for them.
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
        For more than 2,000 predictions, or where predictions of a missing side cannot be stood in for.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> free = FactorModel.from_user_item(rng.standard_normal((4, 2)), rng.standard_normal((5, 2)))
    >>> break_claim(free).found
    True
    >>> break_claim(free.replace(link="cosine")).found
    False
    """
    draw = as_generator(rng)
    whole = _with_both_sides(model, draw)
    if whole.n_left * whole.n_right > LARGEST:
        raise must_be(
            "the model", f"of at most {LARGEST:,} predictions", whole.n_left * whole.n_right, "take some rows"
        )
    search = _by_orders if whole.predicts is Equivalence.RANKINGS else _by_equations
    best = _judged(whole, whole, role)
    for twin in search(whole, role, starts, draw):
        found = _judged(whole, twin, role)
        if found.gap <= found.bound and found.max_abs > best.max_abs:
            best = found
    return best


def _with_both_sides(model: FactorModel, draw: np.random.Generator) -> FactorModel:
    """Return the rows that have a direction, in float64."""
    units = model.link.unit_sides
    if model.left is None:
        if "left" in units or model.predicts is Equivalence.RANKINGS:
            raise must_be("the left side", "at hand, as it decides what is equal", "none", "load both sides")
        model = model.replace(left=draw.standard_normal((2 * model.rank + 1, model.rank)), objective=None)
    kept = model.take(**{side: model.side(side).directed for side in units})
    return kept.replace(**{side: np.asarray(kept.factors(side), dtype=np.float64) for side in kept.sides})


def _judged(before: FactorModel, after: FactorModel, role: SideName) -> Break:
    change = np.abs(_cosines(after.factors(role)) - _cosines(before.factors(role)))
    change = change[np.triu_indices(len(change), 1)]
    change = change[~np.isnan(change)]
    mean, largest = (float(change.mean()), float(change.max())) if len(change) else (0.0, 0.0)
    gap = before.link.gap(before.scores(), after.scores())
    # An order is kept or not.
    bound = 0.0 if before.predicts is Equivalence.RANKINGS else _rounding(before, after)
    return Break(after, gap, bound, mean, largest)


def _rounding(before: FactorModel, after: FactorModel) -> float:
    """Bound what rounding does to a prediction: some units of the largest product in either model."""
    size = 0.0
    for m in (before, after):
        longest = [1.0 if side in m.link.unit_sides else float(m.side(side).norms.max()) for side in m.sides]
        biases = [float(np.abs(b).max()) for b in (m.left_bias, m.right_bias) if b is not None]
        size += longest[0] * longest[1] + abs(m.offset) + sum(biases)
    return 8 * (before.rank + 4) * EPS * before.link.sensitivity * size


def _cosines(x: Matrix) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    return np.asarray(unit @ unit.T)


class _System:
    """The equations of equal predictions, in one vector of all factors and free biases."""

    def __init__(self, model: FactorModel, role: SideName) -> None:
        self.model, self.role, self.units = model, role, model.link.unit_sides
        rows = {side: np.asarray(model.factors(side), dtype=np.float64) for side in model.sides}
        for side in self.units:
            rows[side] = rows[side] / model.side(side).norms[:, None]
        self.n, self.p, self.k = model.n_left, model.n_right, model.rank
        self.cap: float | None = getattr(model.link, "soft_cap", None)
        self.centred = model.link.level is Equivalence.PROBABILITIES
        seen = model.link.sees_biases
        given = {"left_bias": model.left_bias, "right_bias": model.right_bias}
        self.biases = {name: b for name, b in given.items() if seen and b is not None}
        # Sides of one length: a step must not change one of them a million times as much.
        sizes = [float(np.linalg.norm(rows[side])) for side in ("right", "left")]
        even = 1.0 if self.units or not all(sizes) else float(np.sqrt(sizes[0] / sizes[1]))
        parts = [rows["left"] * even, rows["right"] / even, *self.biases.values()]
        self.start = np.concatenate([part.ravel() for part in parts])
        self.target = self.visible(self.start)
        self.cosines = _cosines(rows[role])

    def parts(self, x: Floats) -> tuple[Floats, Floats, list[Floats]]:
        n, p, k = self.n, self.p, self.k
        rest = np.split(x[(n + p) * k :], np.cumsum([len(b) for b in self.biases.values()])[:-1]) if self.biases else []
        return x[: n * k].reshape(n, k), x[n * k : (n + p) * k].reshape(p, k), rest

    def scores(self, x: Floats) -> Floats:
        left, right, biases = self.parts(x)
        total: Floats = left @ right.T
        for name, bias in zip(self.biases, biases, strict=True):
            total = total + (bias[:, None] if name == "left_bias" else bias)
        return total + (self.model.offset if self.model.link.sees_biases else 0.0)

    def visible(self, x: Floats) -> Floats:
        """What predictions show of the scores, and the lengths that are 1."""
        scores = self.scores(x)
        shown = scores if self.cap is None else self.cap * np.tanh(scores / self.cap)
        shown = shown - shown.mean(axis=1, keepdims=True) if self.centred else shown
        left, right, _ = self.parts(x)
        lengths = [np.einsum("ij,ij->i", rows, rows) for rows in self._unit_rows(left, right)]
        return np.concatenate([shown.ravel(), *lengths])

    def _unit_rows(self, left: Floats, right: Floats) -> list[Floats]:
        return [rows for side, rows in (("left", left), ("right", right)) if side in self.units]

    def jacobian(self, x: Floats) -> Floats:
        """Derivative of `visible`, dense."""
        n, p, k = self.n, self.p, self.k
        left, right, _ = self.parts(x)
        full = np.zeros((n, p, len(x)))
        for i in range(n):
            full[i, :, i * k : (i + 1) * k] = right
        for j in range(p):
            full[:, j, (n + j) * k : (n + j + 1) * k] = left
        at = (n + p) * k
        for name, bias in self.biases.items():
            rows, columns = np.indices((n, p))
            full[rows, columns, at + (rows if name == "left_bias" else columns)] = 1
            at += len(bias)
        if self.cap is not None:
            full *= (1 - np.tanh(self.scores(x) / self.cap) ** 2)[:, :, None]
        full = full - full.mean(axis=1, keepdims=True) if self.centred else full
        return np.vstack([full.reshape(n * p, -1), *self._lengths(left, right, len(x))])

    def _lengths(self, left: Floats, right: Floats, width: int) -> list[Floats]:
        slopes = []
        for side, rows, at in (("left", left, 0), ("right", right, self.n)):
            if side in self.units:
                slope = np.zeros((len(rows), width))
                for i, row in enumerate(rows):
                    slope[i, (at + i) * self.k : (at + i + 1) * self.k] = 2 * row
                slopes.append(slope)
        return slopes

    def movement(self, x: Floats) -> tuple[float, Floats]:
        """Sum of squared changes of the cosines, and its gradient."""
        at = 0 if self.role == "left" else self.n * self.k
        rows = self.parts(x)[self.role == "right"]
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        unit = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
        change = np.nan_to_num(unit @ unit.T - self.cosines)
        np.fill_diagonal(change, 0)
        slope = 4 * change @ unit
        slope -= np.einsum("ij,ij->i", slope, unit)[:, None] * unit
        slope = np.divide(slope, lengths, out=np.zeros_like(slope), where=lengths > 0)
        gradient = np.zeros_like(x)
        gradient[at : at + slope.size] = slope.ravel()
        return float((change**2).sum()), gradient

    def twin(self, x: Floats) -> FactorModel:
        """The model of a vector."""
        left, right, biases = self.parts(x)
        return self.model.replace(left=left, right=right, **dict(zip(self.biases, biases, strict=True)))


def _damped(jacobian: Floats, wanted: Floats) -> Floats:
    """Return the least step that changes the equations by `wanted`."""
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
        if not now < 0.9 * size and size < 1e3 * floor:
            return None
        size = now
        jacobian = system.jacobian(x)
        if not jacobian.any():  # far beyond a cap nothing changes any more
            return None
        step = _damped(jacobian, miss)
        x = x + step * min(1.0, float(np.linalg.norm(x) / (2 * np.linalg.norm(step) + EPS**2)))
    return None


def _by_equations(model: FactorModel, role: SideName, starts: int, draw: np.random.Generator) -> Iterator[FactorModel]:
    """Yield equal models: near ones uphill, and those that a far start falls back to."""
    system = _System(model, role)
    scale = float(np.linalg.norm(system.start))
    floor = (
        4 * (model.rank + 4) * EPS * max(1.0 if system.units else 0.0, float(np.abs(system.scores(system.start)).max()))
    )
    for start in range(starts):
        x, noise = _far(system, start, scale, draw)
        at = _returned(system, x, floor)
        if at is None:
            continue
        yield system.twin(at)
        yield system.twin(_uphill(system, at, scale, floor))
        if model.rank == 1:  # cosines jump from one sign to the other: no slope leads there
            yield from map(system.twin, _straight(system, at, noise, floor))


def _far(system: _System, start: int, scale: float, draw: np.random.Generator) -> tuple[Floats, Floats]:
    """Return a start near or far, and the way to it: rows moved each by itself, all alike, or some turned around."""
    x, noise = system.start.copy(), draw.standard_normal(len(system.start))
    for moved, turned in zip(system.parts(noise)[:2], system.parts(x)[:2], strict=True):  # views
        moved += 3 * draw.standard_normal(system.k) * (start % 3 == 1)
        turned *= np.where(draw.random(len(turned)) < (start % 3 == 2) / 2, -1, 1)[:, None]
    noise *= scale / np.linalg.norm(noise)
    return x + (0.1, 0.3, 1.0, 3.0)[start % 4] * noise, noise


def _straight(system: _System, x: Floats, direction: Floats, floor: float) -> Iterator[Floats]:
    """Walk along the equal models in one direction."""
    for _ in range(8):
        jacobian = system.jacobian(x)
        along = direction - _damped(jacobian, jacobian @ direction)
        there = _returned(system, x + 0.5 * along, floor)
        if there is None:
            return
        yield there
        x = there


def _uphill(system: _System, x: Floats, scale: float, floor: float) -> Floats:
    """Walk along the equal models while the cosines move away from where they were."""
    height, gradient = system.movement(x)
    length = 0.1 * scale
    for _ in range(STEPS):
        jacobian = system.jacobian(x)
        along = gradient - _damped(jacobian, jacobian @ gradient)
        size = float(np.linalg.norm(along))
        if size <= 1e-12 * (1 + height) or length < 1e-6 * scale:
            break
        there = _returned(system, x + along * (length / size), floor)
        higher, slope = system.movement(there) if there is not None else (0.0, gradient)
        if there is not None and higher > height and np.linalg.norm(there) < 10 * scale:
            x, height, gradient, length = there, higher, slope, 1.5 * length
        else:
            length /= 4
    return x


def _by_orders(model: FactorModel, role: SideName, starts: int, draw: np.random.Generator) -> Iterator[FactorModel]:
    """Yield models that keep the order in every row: proposals at all scales, kept where cosines move further."""
    before = model.scores()
    for _ in range(starts):
        best, height = model, 0.0
        for step in range(200):
            twin = _proposal(best, 10.0 ** draw.uniform(-5, 0.5), step % 4, draw)
            if model.link.gap(before, twin.scores()) > 0 or model.link.gap(twin.scores(), before) > 0:
                continue
            moved = _judged(model, twin, role).mean_abs
            best, height = (twin, moved) if moved > height else (best, height)
        yield best


def _proposal(model: FactorModel, size: float, kind: int, draw: np.random.Generator) -> FactorModel:
    """Change everything a little, one side only, the length of every left row, or shift the right rows."""
    left, right = model.factors("left"), model.right
    spread = {"left": float(left.std()) + EPS, "right": float(right.std()) + EPS}
    if kind == 2:
        factors = np.exp(size * draw.standard_normal(len(left)))[:, None]
        biases = {} if model.left_bias is None else {"left_bias": model.left_bias * factors[:, 0]}
        return model.replace(left=left * factors, **biases)
    if kind == 3:
        return model.replace(right=right + size * spread["right"] * draw.standard_normal(model.rank))
    moved = right + size * spread["right"] * draw.standard_normal(right.shape)
    return model.replace(
        left=left if kind else left + size * spread["left"] * draw.standard_normal(left.shape), right=moved
    )
