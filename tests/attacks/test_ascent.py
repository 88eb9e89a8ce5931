"""The parts of an attack: slopes, steps within the budget, and the span of few rows."""

from __future__ import annotations

import numpy as np
import pytest

from embaudit.attacks import worst_gauge
from embaudit.attacks.ascent import Budget, Displacement, Slopes, Table
from embaudit.gauges import Affine, GeneralLinear
from embaudit.gauges.draws import random_rotation
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
    table = table_of(kind)
    draw = np.random.default_rng(1)
    first, second = draw.integers(6, size=(2, 30))
    second = second + 6
    force = draw.normal(size=30)
    at = displaced(2)
    if diagonal:
        at = Displacement(0.3 * np.ones(R), None, np.linspace(-0.5, 0.5, R))

    def value(shift: np.ndarray, h: np.ndarray) -> float:
        values, axes = np.linalg.eigh(h)
        metric = at.root() @ (axes * np.exp(values)) @ axes.T @ at.root()
        squares, axes = np.linalg.eigh((metric + metric.T) / 2)
        x, _, y, _ = table.move(Displacement(at.shift + shift, axes, np.log(squares)))
        return float(force @ np.einsum("ij,ij->i", x[first], y[second]))

    slopes = table.slopes(at, table.move(at), first, second, force)
    no_stretch = np.zeros((R, R))
    on_shift = np.zeros(R)
    if any(table.is_shifted):
        for i, step in enumerate(1e-5 * np.eye(R)):
            rise = value(step, no_stretch) - value(-step, no_stretch)
            on_shift[i] = rise / 2e-5
    np.testing.assert_allclose(slopes.shift, on_shift, rtol=1e-5, atol=1e-7)
    for seed in range(5):
        h = np.random.default_rng(seed).normal(size=(R, R))
        h = (h + h.T) * 1e-5
        numeric = (value(np.zeros(R), h) - value(np.zeros(R), -h)) / 2
        assert np.sum(slopes.metric * h) == pytest.approx(numeric, rel=1e-4, abs=1e-11)


@pytest.mark.parametrize("diagonal", [False, True])
def test_steps_stay_within_their_budgets(diagonal: bool) -> None:
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


def metric_of(displacement: Displacement) -> np.ndarray:
    return displacement.root() @ displacement.root()


def test_a_step_along_no_slope_only_centres_the_window_on_0() -> None:
    start = displaced(0, 0.1)
    flat = Slopes(np.zeros((R, R)), np.zeros(R))
    step = start.step(flat, 0.5, Budget(2.0, 1.0))
    middle = (start.logs.max() + start.logs.min()) / 2
    expected = metric_of(start) / np.exp(middle)
    np.testing.assert_allclose(metric_of(step), expected, atol=1e-10)
    assert step.shift.tolist() == start.shift.tolist()


def test_a_step_multiplies_the_metric_by_the_exponential_of_its_slope() -> None:
    """A quarter of a window of width 2 is 1/2, which the largest slope of 1 takes."""
    start = Displacement(np.zeros(R), None, np.zeros(R))
    slopes = Slopes(np.diag([1.0, -1.0, 0.5, 0.0]), np.zeros(R))
    step = start.step(slopes, 0.25, Budget(2.0))
    expected = np.diag(np.exp([0.5, -0.5, 0.25, 0.0]))
    np.testing.assert_allclose(metric_of(step), expected, atol=1e-10)


# --- the span of few rows ----------------------------------------------------------

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
    """The same rows are attacked in the 64 dimensions that they span."""
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
