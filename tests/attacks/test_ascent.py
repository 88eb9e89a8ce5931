"""The parts of an attack: slopes against differences, steps within the budget, and rows in the span of few."""

from __future__ import annotations

import numpy as np
import pytest

from embaudit.attacks import worst_gauge
from embaudit.attacks.ascent import Budget, Displacement, Slopes, Table
from embaudit.gauges import Affine, GeneralLinear
from embaudit.gauges.group import random_rotation
from embaudit.model import FactorModel
from embaudit.model.drift import drift

R = 4


def displaced(seed: int, size: float = 1.0) -> Displacement:
    draw = np.random.default_rng(seed)
    return Displacement(
        size * draw.normal(size=R),
        random_rotation(R, draw),
        size * draw.uniform(-0.5, 0.5, R),
    )


def table_of(kind: str) -> Table:
    x, y = np.random.default_rng(0).normal(size=(2, 12, R))
    shifted = {
        "within": (True, True),
        "left": (True, False),
        "right": (False, True),
        "across": (False, False),
    }[kind]
    return Table(x, None if kind == "within" else y, shifted)


@pytest.mark.parametrize("kind", ["within", "across", "left", "right"])
@pytest.mark.parametrize("diagonal", [False, True])
def test_slopes_of_cosines_are_those_of_differences(kind: str, diagonal: bool) -> None:
    table, draw = table_of(kind), np.random.default_rng(1)
    first, second, force = *draw.integers(6, size=(2, 30)), draw.normal(size=30)
    second = second + 6
    at = (
        displaced(2)
        if not diagonal
        else Displacement(0.3 * np.ones(R), None, np.linspace(-0.5, 0.5, R))
    )

    def value(shift: np.ndarray, h: np.ndarray) -> float:
        values, axes = np.linalg.eigh(h)
        metric = at.root() @ (axes * np.exp(values)) @ axes.T @ at.root()
        squares, axes = np.linalg.eigh((metric + metric.T) / 2)
        x, _, y, _ = table.moved(Displacement(at.shift + shift, axes, np.log(squares)))
        return float(force @ np.einsum("ij,ij->i", x[first], y[second]))

    slopes, nothing = (
        table.slopes(at, table.moved(at), first, second, force),
        np.zeros((R, R)),
    )
    steps = 1e-5 * np.eye(R)
    shifts = [(value(step, nothing) - value(-step, nothing)) / 2e-5 for step in steps]
    np.testing.assert_allclose(
        slopes.shift,
        np.array(shifts) if any(table.is_shifted) else 0,
        rtol=1e-5,
        atol=1e-7,
    )
    for seed in range(5):
        h = np.random.default_rng(seed).normal(size=(R, R))
        h = (h + h.T) * 1e-5
        numeric = (value(np.zeros(R), h) - value(np.zeros(R), -h)) / 2
        assert np.sum(slopes.metric * h) == pytest.approx(numeric, rel=1e-4, abs=1e-11)


@pytest.mark.parametrize("diagonal", [False, True])
def test_steps_stay_within_their_budgets_and_follow_the_slopes(diagonal: bool) -> None:
    draw = np.random.default_rng(0)
    for size in (1e-3, 0.5, 2.0):
        budget = Budget(2 * np.log(3.0), 0.7, diagonal)
        at = Displacement(np.zeros(R), None, np.zeros(R))
        for _ in range(5):
            h = draw.normal(size=(R, R))
            at = at.step(Slopes(h + h.T, draw.normal(size=R)), size, budget)
            assert np.ptp(at.logs) <= budget.window
            assert np.linalg.norm(at.shift) <= budget.radius
            assert (at.axes is None) == diagonal
    still = displaced(0, 0.1)
    same = still.step(Slopes(np.zeros((R, R)), np.zeros(R)), 0.5, Budget(2.0, 1.0))
    np.testing.assert_allclose(same.root() @ same.root(), still.root() @ still.root() / np.exp(
        (still.logs.max() + still.logs.min()) / 2), atol=1e-10)  # fmt: skip
    assert same.shift.tolist() == still.shift.tolist()
    h = np.diag([1.0, -1.0, 0.5, 0.0])
    step = Displacement(np.zeros(R), None, np.zeros(R)).step(
        Slopes(h, np.zeros(R)), 0.25, Budget(2.0)
    )
    np.testing.assert_allclose(
        step.root() @ step.root(), np.diag(np.exp([0.5, -0.5, 0.25, 0.0])), atol=1e-10
    )


# --- rows in the span of few -------------------------------------------------------------------------------------

K = 260
"""Above 256 columns an attack moves a sample of 64 rows, within their span."""


@pytest.fixture(scope="module")
def head() -> FactorModel:
    draw = np.random.default_rng(0)
    rows = draw.standard_normal((150, 6)) @ draw.standard_normal((6, K))
    rows += draw.standard_normal((150, K))
    return FactorModel.from_softmax(
        rows, np.zeros(150), embeddings=draw.standard_normal((140, K))
    )


@pytest.mark.parametrize("role", ["left", "right"])
@pytest.mark.parametrize("shift", [0.0, 3.0])
def test_an_attack_within_a_span_moves_cosines_as_far_as_it_says(
    head: FactorModel, role: str, shift: float
) -> None:
    group = (
        Affine(K, side=role, max_condition=3.0, max_shift=shift)
        if shift
        else GeneralLinear(K, max_condition=3.0)
    )
    found = worst_gauge(head, group, role=role, n_pairs=100, n_starts=2, n_steps=5)
    after = found.gauge.act(head)
    moved = after.cosines(role, found.table) - head.cosines(role, found.table)
    assert found.achieved == pytest.approx(np.abs(moved).mean(), abs=1e-12)
    assert 0.3 < found.achieved <= found.bound
    assert len(np.unique(found.table)) <= 64
    assert group.contains(found.gauge)
    assert drift(head, after, condition_number=3.0).ok
    if shift:
        linear = worst_gauge(
            head, group.linear, role=role, n_pairs=100, n_starts=2, n_steps=5
        )
        assert found.achieved > linear.achieved


def test_an_attack_within_a_span_reaches_what_one_in_all_dimensions_reaches(
    head: FactorModel,
) -> None:
    """The same rows, turned into the 64 dimensions that they span, have all of these."""
    found = worst_gauge(
        head, GeneralLinear(K, max_condition=3.0), n_pairs=400, n_starts=3, n_steps=40
    )
    rows = head.right[np.unique(found.table)]
    basis = np.linalg.qr(rows.T).Q
    few = FactorModel.from_softmax(rows @ basis)
    group = GeneralLinear(few.rank, max_condition=3.0)
    whole = worst_gauge(few, group, n_pairs=400, n_starts=3, n_steps=40)
    # Other pairs of the same rows are drawn.
    assert found.bound == pytest.approx(whole.bound, abs=0.02)
    assert found.achieved == pytest.approx(whole.achieved, abs=0.03)
