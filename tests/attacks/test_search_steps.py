"""Each step of a search by itself: which metrics it tries, how far it goes, and when it stops."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from records import open_records
from scipy.linalg import expm, sqrtm

from embaudit.attacks import search as module
from embaudit.attacks.metric import Metric, clipped, drag, rate
from embaudit.attacks.search import BATCH, Search, Source
from embaudit.attacks.worst import _Plan
from embaudit.gauges import Diagonal, GeneralLinear
from embaudit.gauges.group import random_rotation
from embaudit.model import FactorModel

INSIDE = 1 - 1e-12
SOURCES = Source(4), Source(5)


class Scripted:
    """A target that answers what it is told to, and keeps what it was asked."""

    cost = (1e6, 1e3)

    def __init__(self, values=(), slope=None, screened=None):
        self.values, self.slope, self.screened = iter(values), slope, screened
        self.asked, self.slopes, self.screens = [], 0, []

    def value(self, metric):
        self.asked.append(metric)
        return next(self.values)

    def gradient(self, metric):
        self.slopes += 1
        return self.slope

    def screen(self, axes, logs):
        self.screens.append((axes, logs))
        return self.screened(axes, logs)


class Stepping:
    """A metric that keeps how far it was moved, and along what."""

    def __init__(self, steps=None):
        self.steps = [] if steps is None else steps

    def step(self, direction, size, window, *, diagonal):
        self.steps.append((direction.tolist(), size, window, diagonal))
        return Stepping(self.steps)


def search(
    target=None, *, spread=((3.0, 0.0), (0.0, 1.0)), window=2.0, goal=np.inf, diagonal=False, drawn=None, **options
):
    given = {"n_starts": 4, "n_steps": 100, "draw": np.random.default_rng(0), **options}
    return Search(
        target,
        np.array(spread),
        window,
        goal,
        given["n_starts"],
        given["n_steps"],
        diagonal,
        given["draw"],
        {} if drawn is None else drawn,
    )


# --- metrics -----------------------------------------------------------------------------------------------------


def test_spectra_are_clipped_about_the_middle_of_their_ends():
    found = clipped(np.array([[0.0, 1.0, 5.0], [4.0, 4.5, 4.0]]), 2.0)
    np.testing.assert_array_equal(found, np.array([[-1.0, -1.0, 1.0], [-0.25, 0.25, -0.25]]) * INSIDE)


def test_a_step_goes_along_the_geodesic():
    draw = np.random.default_rng(0)
    metric = Metric(random_rotation(4, draw), np.array([0.4, -0.4, 0.1, 0.2]))
    turn = draw.standard_normal((4, 4))
    direction = turn + turn.T
    whole = (metric.axes * np.exp(metric.logs)) @ metric.axes.T
    root = sqrtm(whole)
    moved = root @ expm(0.3 * direction) @ root
    found = metric.step(direction, 0.3, 50.0, diagonal=False)
    logs = np.linalg.eigvalsh(moved)
    expected = np.log(logs) - np.log(logs[[0, -1]]).mean()
    np.testing.assert_allclose(found.logs, expected, atol=1e-10)
    scaled = (found.axes * np.exp(found.logs)) @ found.axes.T
    np.testing.assert_allclose(scaled / scaled[0, 0], moved / moved[0, 0], atol=1e-10)


def test_a_step_too_far_loses_no_more_than_two_windows():
    still = Metric(None, np.zeros(3))
    found = still.step(np.diag([1.0, 0.86, -1.0]), 10.0, 1.0, diagonal=False)
    # 10, 8.6 and what is lifted to 8, about 9.
    np.testing.assert_allclose(found.logs, [-0.5, -0.4, 0.5], atol=1e-9)
    coordinates = still.step(np.diag([1.0, 0.86, -1.0]), 0.25, 9.0, diagonal=True)
    np.testing.assert_allclose(coordinates.logs, [0.25, 0.215, -0.25], atol=1e-11)
    assert coordinates.axes is None


@pytest.mark.parametrize("cross", [False, True])
def test_the_rate_is_the_slope_of_the_cosines(cross):
    draw = np.random.default_rng(1)
    x, y = draw.standard_normal((2, 6, 4))
    push, turn = draw.standard_normal(6), draw.standard_normal((4, 4))
    direction = turn + turn.T
    unit = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (x, y)]

    def pushed(t):
        a, b = unit[0] @ expm(t * direction / 2), unit[1] @ expm((-t if cross else t) * direction / 2)
        return push @ (np.einsum("ij,ij->i", a, b) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1))

    cosine = np.einsum("ij,ij->i", *unit)
    slope = (pushed(1e-5) - pushed(-1e-5)) / 2e-5
    assert (rate(*unit, cosine, push, cross=cross) * direction).sum() == pytest.approx(slope, rel=1e-7)
    shift = draw.standard_normal(4)

    def shifted(t):
        a = unit[0] + t * shift
        return push @ (np.einsum("ij,ij->i", a, unit[1]) / np.linalg.norm(a, axis=1))

    assert drag(*unit, cosine, push) @ shift == pytest.approx((shifted(1e-5) - shifted(-1e-5)) / 2e-5, rel=1e-7)


# --- ascent ------------------------------------------------------------------------------------------------------


def sizes(steps):
    return [size for _, size, _, _ in steps]


def test_ascent_doubles_its_step_after_a_gain_up_to_two_windows_and_halves_it_after_a_loss():
    target = Scripted([0.0, 1.0, 2.0, 3.0, 4.0, 4.0, *[3.0] * 40], slope=np.diag([4.0, -8.0]))
    metric = Stepping()
    best, found = search(target)._ascend(metric)
    # Half a window, one, two, two; then losses, a tie among them, until less than a ten-thousandth of a window.
    assert sizes(metric.steps) == [1.0, 2.0, 4.0, 4.0, *[4.0 / 2**i for i in range(15)]]
    assert sizes(metric.steps)[-1] / 2 < 1e-4 * 2.0 <= sizes(metric.steps)[-1]
    assert {str(step) for step, *_ in metric.steps} == {"[[0.5, 0.0], [0.0, -1.0]]"}
    assert {(window, diagonal) for *_, window, diagonal in metric.steps} == {(2.0, False)}
    assert (best, target.slopes) == (4.0, 5)
    assert found is target.asked[4]


@pytest.mark.parametrize(
    ("goal", "n_steps", "slope", "taken"),
    [(2.0, 9, 1.0, 2), (2.5, 9, 1.0, 3), (np.inf, 4, 1.0, 4), (0.0, 9, 1.0, 0), (np.inf, 9, 0.0, 0)],
)
def test_ascent_ends_at_its_goal_with_its_steps_and_where_nothing_slopes(goal, n_steps, slope, taken):
    target = Scripted(range(20), slope=slope * np.eye(2))
    metric = Stepping()
    best, _ = search(target, goal=goal, n_steps=n_steps)._ascend(metric)
    assert (best, len(metric.steps)) == (taken, taken)


def test_among_diagonal_gauges_the_slope_is_that_of_the_diagonal():
    slope = np.array([[2.0, 7.0], [7.0, -1.0]])
    assert search(Scripted(slope=slope), diagonal=True)._direction(None).tolist() == [[1.0, 0.0], [0.0, -0.5]]
    length = np.abs(np.linalg.eigvalsh(slope)).max()
    np.testing.assert_allclose(search(Scripted(slope=slope))._direction(None), slope / length)
    assert search(Scripted(slope=0 * slope))._direction(None).tolist() == [[0, 0], [0, 0]]
    # A slope of less than 1 is made as long as any other.
    np.testing.assert_allclose(search(Scripted(slope=0.01 * slope))._direction(None), slope / length)


# --- starts ------------------------------------------------------------------------------------------------------


def test_what_is_affordable_is_a_budget_over_the_cost(monkeypatch):
    monkeypatch.setattr(module, "BUDGET", 1e8)
    # Turning rows costs 1e6, each spectrum 1e3.
    assert search(Scripted())._affordable(64, 100, 3) == int(1e8 / 1.064e6)
    assert search(Scripted(), diagonal=True)._affordable(64, 2000, 3) == int(1e8 / 64e3)
    assert search(Scripted())._affordable(64, 50, 3) == 50
    monkeypatch.setattr(module, "BUDGET", 1e3)
    assert search(Scripted())._affordable(64, 50, 3) == 3


def test_ramps_follow_the_energy_along_each_axis_both_ways():
    spread = np.diag([3.0, 1.0, 2.0])
    ramps = search(spread=spread)._ramps(None)
    np.testing.assert_allclose(ramps, [[1.0, -1.0, 0.0], [-1.0, 1.0, 0.0]], atol=1e-11)
    turn = np.eye(3)[[1, 0, 2]]
    np.testing.assert_allclose(search(spread=spread)._ramps(turn), [[-1.0, 1.0, 0.0], [1.0, -1.0, 0.0]], atol=1e-11)
    assert search(spread=((1.0,),))._ramps(None).tolist() == [[0.0], [0.0]]


def test_few_vertices_are_all_tried_and_of_many_a_batch():
    corners, inner = search(spread=np.eye(3))._random_logs(vertices=True)
    assert {tuple(row) for row in np.sign(corners)} == set(product((-1.0, 1.0), repeat=3)) - {(-1,) * 3, (1,) * 3}
    assert len(corners) == 6
    np.testing.assert_allclose(np.abs(corners), 1.0, atol=1e-11)
    assert inner.shape == (BATCH // 4, 3)
    assert len(next(search(spread=np.eye(5))._random_logs(vertices=True))) == 30
    some = next(search(spread=np.eye(6))._random_logs(vertices=True))
    assert some.shape == (BATCH, 6)
    np.testing.assert_allclose(np.abs(some), 1.0, atol=1e-11)
    assert set((some > 0).sum(axis=1)) == {1, 2, 3, 4, 5}
    assert next(search(spread=((1.0,),))._random_logs(vertices=True)).tolist() == [[0.0]]
    (inner,) = search(spread=np.eye(6))._random_logs(vertices=False)
    assert inner.shape == (BATCH, 6)
    np.testing.assert_allclose(inner.max(axis=1), 1.0, atol=1e-11)
    np.testing.assert_allclose(inner.min(axis=1), -1.0, atol=1e-11)
    drawn = np.random.default_rng(7).standard_normal((BATCH, 6))
    (inner,) = search(spread=np.eye(6), draw=np.random.default_rng(7))._random_logs(vertices=False)
    # Their spread is that of the window, and between its ends they lie as they were drawn.
    share = (drawn - drawn.min(axis=1, keepdims=True)) / np.ptp(drawn, axis=1, keepdims=True)
    np.testing.assert_allclose(inner, 2 * share - 1, atol=1e-11)


@pytest.mark.parametrize(("diagonal", "batches"), [(False, [14, 14, 14]), (True, [14, 14, 32])])
def test_the_best_of_what_is_screened_in_principal_axes_in_coordinates_and_in_random_ones(
    monkeypatch, diagonal, batches
):
    monkeypatch.setattr(module, "MOST_AXES", 3)
    spread = np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 9.0]])
    target = Scripted(screened=lambda _, logs: logs[:, 0] + len(target.screens))
    starts = list(search(target, spread=spread, diagonal=diagonal)._starts())
    axes = [found for found, _ in target.screens]
    assert [len(logs) for _, logs in target.screens] == batches
    assert len(starts) == 2 + 2
    if diagonal:
        assert axes == [None] * 3
    else:
        np.testing.assert_allclose(np.abs(axes[0].T @ spread @ axes[0]), np.diag([1.0, 3.0, 9.0]), atol=1e-12)
        assert axes[1] is None
        np.testing.assert_allclose(axes[2].T @ axes[2], np.eye(3), atol=1e-12)
    order = np.argsort(-target.screens[2][1][:, 0], kind="stable")
    for start, at in zip(starts[2:], order, strict=False):
        assert start.axes is axes[2]
        assert start.logs[0] == target.screens[2][1][at, 0]
    np.testing.assert_array_equal(starts[0].logs, -starts[1].logs)
    alone, asked = Scripted(screened=lambda _, logs: logs[:, 0]), []
    afforded = Search._affordable
    monkeypatch.setattr(Search, "_affordable", lambda *given: asked.append(given[1:]) or afforded(*given))
    assert len(list(search(alone, spread=spread, diagonal=diagonal, n_starts=1)._starts())) == 1 + 1
    assert asked == [(2 * BATCH, 3, module.FEWEST_AXES)]


@pytest.mark.parametrize("diagonal", [False, True])
def test_searches_from_one_state_compare_what_the_first_drew_and_go_on_as_it_did(monkeypatch, diagonal):
    monkeypatch.setattr(module, "MOST_AXES", 4)

    def screens(spread, drawn):
        target = Scripted(screened=lambda _, logs: logs[:, 0])
        made = search(target, spread=spread, diagonal=diagonal, drawn=drawn)
        list(made._starts())
        return target.screens, made.draw.random()

    one, other = np.diag([2.0, 1.0, 3.0]), np.array([[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 9.0]])
    expected, drawn = screens(other, None), {}
    screens(one, drawn)
    assert sorted(drawn) == [0, 1, 2, 3]
    monkeypatch.setattr(module, "random_rotation", lambda *_: pytest.fail("drawn again"))
    monkeypatch.setattr(Search, "_random_logs", lambda *_, **__: pytest.fail("drawn again"))
    found = screens(other, drawn)
    assert found[1] == expected[1]
    for (axes, logs), (same, spectra) in zip(found[0], expected[0], strict=True):
        np.testing.assert_array_equal(np.eye(3) if axes is None else axes, np.eye(3) if same is None else same)
        np.testing.assert_array_equal(logs, spectra)
    # What comes after the fewer turns of a dearer target is drawn from where these end.
    monkeypatch.setattr(module, "MOST_AXES", 3)
    shorter = screens(other, drawn)
    assert len(shorter[0]) == 3
    assert shorter[1] != found[1]


def test_each_attack_keeps_what_its_two_kinds_of_searches_draw_apart(monkeypatch):
    seen = []

    def best(self, *_):
        seen.append((self.diagonal, self.drawn))
        return 0.0, Metric(None, np.zeros(2))

    monkeypatch.setattr(Search, "best", best)
    model, sources = FactorModel.from_vectors(np.eye(2)), (Source(4), Source(5))
    group = GeneralLinear(2, max_condition=2.0)
    plan = _Plan(model, group, "right", lambda _: None, np.inf, 2, 3, sources)
    plan.metric_for(Counted(), model.right)
    assert [diagonal for diagonal, _ in seen] == [True, False]
    assert seen[0][1] is sources[0].drawn
    assert seen[1][1] is sources[1].drawn


def test_the_best_starts_are_polished_and_the_goal_ends_all(monkeypatch):
    seen = []

    def ascend(_, metric):
        seen.append(metric)
        return float(metric), metric

    monkeypatch.setattr(Search, "_starts", lambda self: iter([3, 9, 1, 5, 7]))
    monkeypatch.setattr(Search, "_ascend", ascend)
    monkeypatch.setattr(Search, "_polish", lambda self, metric: metric + 0.5)
    assert search(n_starts=4).best(2) == (9.5, 9.5)
    assert seen == [2, 3, 9, 1, 5, 7, 9.5, 7.5, 5.5]
    seen.clear()
    assert search(n_starts=2).best() == (9.5, 9.5)
    assert seen == [3, 9, 1, 5, 7, 9.5, 7.5]
    seen.clear()
    assert search(goal=9.0).best(2) == (9.0, 9)
    assert seen == [2, 3, 9]


# --- polishing ---------------------------------------------------------------------------------------------------


def test_polishing_turns_further_after_a_gain_and_less_after_a_loss(monkeypatch):
    tried = []
    monkeypatch.setattr(
        Search, "_affordable", lambda self, n, most, fewest: 5 if (n, most, fewest) == (96, 40, 1) else 0
    )
    monkeypatch.setattr(Search, "_turned", lambda self, axes, size: tried.append(("turn", axes, size)) or len(tried))
    monkeypatch.setattr(
        Search,
        "_near",
        lambda self, logs, size: tried.append(("near", logs[0], size)) or np.array([[0.0], [logs[0] + 1]]),
    )
    answers = iter([[5.0], [1.0, 6.0], [6.0, 6.0], [2.0, 8.0], [0.0, 9.0], [0.0, 1.0]])
    target = Scripted(screened=lambda axes, logs: np.array(next(answers)))
    found = search(target)._polish(Metric("axes", np.array([10.0])))
    assert [size for kind, _, size in tried if kind == "turn"] == pytest.approx([0.5, 0.75, 0.675, 1.0, 1.0])
    assert [size for kind, _, size in tried if kind == "near"] == pytest.approx([0.5, 0.75, 0.675, 1.0, 1.0])
    assert [logs for kind, logs, _ in tried if kind == "near"] == [10.0, 11.0, 11.0, 12.0, 13.0]
    assert [axes for kind, axes, _ in tried if kind == "turn"] == ["axes", 1, 1, 5, 7]
    assert (found.axes, found.logs.tolist()) == (7, [13.0])
    tried.clear()
    answers = iter([[5.0], *[[6.0]] * 5])
    assert search(target, diagonal=True)._polish(Metric(None, np.array([1.0]))).axes is None
    assert {kind for kind, *_ in tried} == {"near"}


@pytest.mark.parametrize("axes", [None, random_rotation(4, np.random.default_rng(3))], ids=["coordinates", "axes"])
def test_axes_are_turned_by_what_was_drawn(axes):
    found = search(spread=np.eye(4), draw=np.random.default_rng(5))._turned(axes, 0.2)
    moved = (np.eye(4) if axes is None else axes) + 0.1 * np.random.default_rng(5).standard_normal((4, 4))
    # The one orthogonal factor whose triangle has a positive diagonal, by way of Cholesky.
    triangle = np.linalg.cholesky(moved.T @ moved).T
    np.testing.assert_allclose(found, moved @ np.linalg.inv(triangle), atol=1e-12)


def test_spectra_nearby_have_one_end_changed_two_exchanged_or_all_shaken():
    window, size, logs = 2.0, 0.5, np.array([0.9, -0.7, 0.0, 0.4])
    found = search(spread=np.eye(4), window=window, draw=np.random.default_rng(5))._near(logs, size)
    draw = np.random.default_rng(5)
    at, other = draw.integers(4, size=(2, 32))
    shaken = draw.standard_normal((12, 4))
    expected = np.tile(logs, (32, 1))
    for line in range(1, 10):
        expected[line, at[line]] = -1.0 if logs[at[line]] > 0 else 1.0
    for line in range(10, 20):
        expected[line, [at[line], other[line]]] = logs[[other[line], at[line]]]
    expected[20:] += 0.5 * shaken
    np.testing.assert_allclose(found, clipped(expected, window), atol=1e-12)


def test_records_are_closed():
    assert open_records("attacks") == set()


# --- which searches an attack makes ------------------------------------------------------------------------------


class Counted:
    """A target whose value is the first logarithm."""

    def value(self, metric):
        return float(metric.logs[0])


@pytest.mark.parametrize(
    ("kind", "first", "begun"),
    [
        # The linear search begins where the diagonal one ended.
        (GeneralLinear, None, [(True, []), (False, [1.0])]),
        (Diagonal, None, [(True, [])]),
        # What does nothing is no start.
        (GeneralLinear, Metric(None, np.array([0.0, 0.0])), [(True, []), (False, [1.0])]),
        (GeneralLinear, Metric(None, np.array([0.5, 0.0])), [(True, [0.5]), (False, [1.0])]),
        # A diagonal search does not begin at turned axes; the linear one does, as long as nothing better was found.
        (GeneralLinear, Metric(np.eye(2), np.array([0.5, 0.0])), [(True, []), (False, [1.0])]),
        (GeneralLinear, Metric(np.eye(2), np.array([3.0, 0.0])), [(True, []), (False, [3.0])]),
    ],
)
def test_a_search_begins_where_the_one_before_ended(monkeypatch, kind, first, begun):
    seen = []

    def best(self, *more):
        seen.append((self.diagonal, [float(one.logs[0]) for one in more]))
        value = float(len(seen))
        return value, Metric(None if self.diagonal else np.eye(2), np.array([value, 0.0]))

    monkeypatch.setattr(Search, "best", best)
    model = FactorModel.from_vectors(np.eye(2))
    plan = _Plan(model, kind(2, max_condition=2.0), "right", lambda _: None, np.inf, 2, 3, SOURCES)
    value, metric = plan.metric_for(Counted(), model.right, first)
    assert seen == begun
    most = max(float(len(begun)), 0.0 if first is None else first.logs[0])
    assert (value, metric.logs[0]) == (most, most)


def test_a_search_of_the_right_window_seed_and_goal_ends_at_the_goal(monkeypatch):
    seen = []

    def best(self, *more):
        seen.append((self.window, self.goal, self.n_starts, self.n_steps, self.draw.integers(1000)))
        return 7.0, Metric(None, np.array([7.0, 0.0]))

    monkeypatch.setattr(Search, "best", best)
    model = FactorModel.from_vectors(np.eye(2))
    group = GeneralLinear(2, max_condition=3.0)
    for goal, made in ((7.0, 1), (7.5, 2)):
        seen.clear()
        _Plan(model, group, "right", lambda _: None, goal, 2, 9, SOURCES).metric_for(Counted(), model.right)
        drawn = [np.random.default_rng(seed).integers(1000) for seed in (4, 5)]
        assert seen == [(2 * np.log(3.0), goal, 2, 9, draw) for draw in drawn[:made]]
    # Without a budget there is nothing to search.
    still = _Plan(model, GeneralLinear(2, max_condition=1.0), "right", lambda _: None, 7.0, 2, 9, SOURCES)
    assert still.metric_for(Counted(), model.right)[0] == 0
    assert len(seen) == 2
