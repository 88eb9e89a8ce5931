"""Each step of the search for a shift and a metric together, and what drives entries out of lists, term by term."""

from __future__ import annotations

import numpy as np
import pytest

from embaudit.attacks import worst_gauge
from embaudit.attacks.joint import Found, JointSearch
from embaudit.attacks.metric import Metric
from embaudit.attacks.targets import Lists, Movement, _driven_out
from embaudit.gauges import GeneralLinear
from embaudit.gauges.group import random_rotation
from embaudit.kernels.rows import unit_rows
from embaudit.model import FactorModel
from embaudit.ranges import certified_neighbours


class Bowl:
    """A value that falls with the distance of a shift from a peak, whatever the metric."""

    def __init__(self, shift, peak, seen):
        self.shift, self.peak = shift, np.array(peak)
        seen.append(shift)

    def value(self, _):
        return -round(float(np.linalg.norm(self.shift - self.peak)), 9)

    def pull(self, _, side):
        assert side == "left"
        return self.peak - self.shift


def joint(peak=(10.0, 0.0), *, goal=np.inf, n_starts=3, n_steps=50, mean=(0.0, 3.0), search=None, seen=None):
    seen = [] if seen is None else seen
    searched = search or (lambda target, shift, metric: (target.value(None), metric))
    spread, draw = np.diag([4.0, 1.0]), np.random.default_rng(0)
    return JointSearch(
        lambda shift: Bowl(shift, peak, seen),
        searched,
        "left",
        spread,
        np.array(mean),
        2.0,
        goal,
        n_starts,
        n_steps,
        draw,
    )


def test_shifts_stay_a_hair_within_the_ball():
    search = joint()
    assert search._within(np.array([0.0, 1.9])).tolist() == [0.0, 1.9]
    assert search._within(np.array([0.0, 2.0])).tolist() == [0.0, 2.0 * (2.0 / (2.0 * (1 + 1e-12)))]
    assert np.linalg.norm(search._within(np.array([3.0, 4.0]))) == pytest.approx(2 * (1 - 1e-12), rel=1e-15)


def test_starts_are_of_the_whole_length_and_the_best_are_kept():
    seen = []
    found = joint(n_starts=3, seen=seen)._starts("metric")
    assert len(seen) == 2 + 4 + 4 * 3
    np.testing.assert_allclose(np.linalg.norm(seen, axis=1), 2.0, rtol=1e-11)
    # The mean and both principal axes, the larger last, both ways.
    np.testing.assert_allclose(seen[:2], [[0, -2], [0, 2]], atol=1e-10)
    assert np.abs(seen[2]).round(9).tolist() == [0.0, 2.0]
    assert np.abs(seen[4]).round(9).tolist() == [2.0, 0.0]
    np.testing.assert_allclose(seen[2], -seen[3])
    drawn = np.random.default_rng(0).standard_normal((12, 2))
    np.testing.assert_allclose(seen[6:], 2 * drawn / np.linalg.norm(drawn, axis=1, keepdims=True), rtol=1e-9)
    best = sorted((-round(float(np.linalg.norm(shift - [10.0, 0.0])), 9) for shift in seen), reverse=True)[:3]
    assert [one.value for one in found] == best
    assert {one.metric for one in found} == {"metric"}
    seen.clear()
    joint(mean=(0.0, 0.0), seen=seen)._starts("metric")
    assert len(seen) == 4 + 12, "a mean of 0 has no direction"


def test_ascent_goes_half_a_radius_first_doubles_after_a_gain_and_halves_after_a_loss():
    seen = []
    start = Found(-10.0, np.zeros(2), "metric")
    found = joint(seen=seen)._ascend(start)
    # Half the radius, its whole, and no further.
    np.testing.assert_allclose([shift[0] for shift in seen[:3]], [0.0, 1.0, 2.0], atol=1e-11)
    assert found.value == pytest.approx(-8.0, abs=1e-11)
    assert found.metric == "metric"
    # At the edge nothing gains: from twice the radius down to less than a ten-thousandth of it.
    assert len(seen) == 3 + 15
    seen.clear()
    near = joint(peak=(0.3, 0.0), seen=seen)._ascend(Found(-0.3, np.zeros(2), "metric"))
    np.testing.assert_allclose([shift[0] for shift in seen[:6]], [0.0, 1.0, 0.5, -0.5, 0.0, 0.25], atol=1e-12)
    assert near.value == pytest.approx(0.0, abs=1e-3)


@pytest.mark.parametrize(("options", "tried"), [({"n_steps": 2}, 2), ({"goal": -9.5}, 1), ({"goal": -10.0}, 0)])
def test_ascent_ends_with_its_steps_and_at_its_goal(options, tried):
    seen = []
    joint(seen=seen, **options)._ascend(Found(-10.0, np.zeros(2), None))
    assert len(seen) == 1 + tried


def test_ascent_does_not_begin_where_nothing_pulls():
    seen = []
    assert joint(peak=(0.0, 0.0), seen=seen)._ascend(Found(0.0, np.zeros(2), None)).value == 0
    assert len(seen) == 1


def test_metric_and_shift_take_turns_while_they_gain(monkeypatch):
    asked = []

    def search(target, shift, metric):
        asked.append(metric)
        return target.value(None), f"{len(asked)}"

    monkeypatch.setattr(
        JointSearch, "_ascend", lambda self, found: found._replace(value=found.value + 1.0 / len(asked))
    )
    found = joint(search=search)._in_turns(Found(-10.5, np.zeros(2), "given"))
    # The first turn searches from nothing; the second gains no more.
    assert asked == [None, "1"]
    assert found == (-9.0, found.shift, "1")
    asked.clear()
    monkeypatch.setattr(JointSearch, "_ascend", lambda self, found: found._replace(value=found.value + len(asked)))
    found = joint(search=search)._in_turns(Found(-10.5, np.zeros(2), "given"))
    assert asked == [None, "1", "2"]
    assert (found.value, found.metric) == (-7.0, "3")


@pytest.mark.parametrize(("n_starts", "improved"), [(3, 2), (6, 2), (9, 3)])
def test_the_best_third_of_the_starts_is_improved_and_two_at_least(monkeypatch, n_starts, improved):
    turns = []
    monkeypatch.setattr(
        JointSearch, "_starts", lambda self, metric: [Found(v, np.zeros(2), metric) for v in (5.0, 7.0, 6.0)]
    )
    monkeypatch.setattr(JointSearch, "_ascend", lambda self, found: found._replace(value=found.value + 0.25))
    monkeypatch.setattr(
        JointSearch, "_in_turns", lambda self, found: turns.append(found.value) or found._replace(value=8.5)
    )
    given = []

    def search(target, shift, metric):
        given.append((shift.tolist(), metric))
        return 1.0, Metric(None, np.ones(2))

    found = joint(n_starts=n_starts, search=search).best()
    assert found.value == 8.5
    # Starts under the metric of no gauge, and as many under the best metric without a shift.
    assert turns == [7.25, 7.25, 6.25][:improved]
    assert given == [([0.0, 0.0], None)]
    turns.clear()
    assert joint(n_starts=n_starts, search=search, goal=8.5).best().value == 8.5
    assert turns == [7.25]


# --- lists -------------------------------------------------------------------------------------------------------


def test_pushes_are_logistic_in_how_near_a_rival_is():
    rows = np.random.default_rng(0).standard_normal((12, 3))
    found = certified_neighbours(FactorModel.from_vectors(rows), n=2, rows=np.array([1, 7]))
    target = Lists(FactorModel.from_vectors(rows), "right", found)
    assert target.n_rivals == 6
    unit = unit_rows(rows)
    cosines = unit @ unit.T
    entries = found.indices
    rivals = [
        [j for j in np.argsort(-cosines[i]) if j not in (i, *mine)][:6] for i, mine in zip((1, 7), entries, strict=True)
    ]
    margins = np.array(
        [
            [[cosines[i, r] - cosines[i, e] for r in out] for e in mine]
            for i, mine, out in zip((1, 7), entries, rivals, strict=True)
        ]
    )
    width = np.abs(margins).mean() / 4
    push = 4 / (2 + np.exp(margins / width) + np.exp(-margins / width))
    (first, second, cosine, force), inner = target._pushes(unit)
    assert first.tolist() == [1] * 6 + [7] * 6
    assert second.tolist() == np.ravel(rivals).tolist()
    np.testing.assert_allclose(cosine, [cosines[i, r] for i, out in zip((1, 7), rivals, strict=True) for r in out])
    np.testing.assert_allclose(force, push.sum(axis=1).ravel(), rtol=1e-9)
    assert inner[0].tolist() == [1, 1, 7, 7]
    assert inner[1].tolist() == entries.ravel().tolist()
    np.testing.assert_allclose(inner[3], -push.sum(axis=2).ravel(), rtol=1e-9)
    still = Metric(None, np.zeros(3))
    slope = target.gradient(still)
    assert slope.shape == (3, 3)
    np.testing.assert_allclose(slope, slope.T)


def test_the_slopes_of_lists_are_those_of_what_is_pushed():
    """With the forces held as they are, against differences of the pushed cosines."""
    draw = np.random.default_rng(2)
    rows = draw.standard_normal((15, 3)) * draw.uniform(0.5, 2, (15, 1))
    model = FactorModel.from_vectors(rows)
    target = Lists(model, "right", certified_neighbours(model, n=2, rows=np.arange(4)))
    metric = Metric(random_rotation(3, draw), np.array([0.4, -0.1, -0.3]))
    forces = [(i, j, f) for i, j, _, f in target._pushes(unit_rows(metric.apply(rows)))]

    def pushed(moved):
        unit = unit_rows(moved)
        return sum(float(f @ np.einsum("ij,ij->i", unit[i], unit[j])) for i, j, f in forces)

    root = metric.root()
    numeric = [(pushed((rows + h) @ root) - pushed((rows - h) @ root)) / 2e-6 for h in 1e-6 * np.eye(3)]
    np.testing.assert_allclose(target.pull(metric, "right"), numeric, rtol=1e-5, atol=1e-7)
    turn = draw.standard_normal((3, 3))
    turn = turn + turn.T
    step = 1e-6
    moved = [rows @ root @ (np.eye(3) + sign * step * turn / 2) for sign in (1, -1)]
    slope = (pushed(moved[0]) - pushed(moved[1])) / (2 * step)
    assert (target.gradient(metric) * turn).sum() == pytest.approx(slope, rel=1e-5)


@pytest.mark.parametrize(
    ("total", "n", "pool", "rivals"), [(200, 2, 50, 6), (200, 8, 80, 24), (30, 2, 27, 6), (7, 2, 4, 4)]
)
def test_how_many_rivals_are_screened_and_what_that_costs(total, n, pool, rivals):
    rows = np.random.default_rng(0).standard_normal((total + 1, 3))
    rows[4] = 0
    model = FactorModel.from_vectors(rows)
    target = Lists(model, "right", certified_neighbours(model, n=n, rows=np.array([1, 4, 6])))
    # The row of zeros has no list, and is nobody's rival.
    assert target.rows.tolist() == [1, 6]
    assert target.n_rivals == rivals
    assert target.places.shape == (2, 1 + n + pool)
    assert (target.known[target.places[:, 0]] == [1, 6]).all()
    assert (target.known[target.places[:, 1 : 1 + n]] == target.entries).all()
    size, many = target.places.size, len(target.known)
    assert many == len(np.unique(target.known)) <= total
    assert target.cost == (many * 3 * 3 + 10 * size * 3, size * (3 + 60))


def test_where_lists_hold_every_row_none_is_a_rival():
    model = FactorModel.from_vectors(np.random.default_rng(0).standard_normal((4, 3)))
    target = Lists(model, "right", certified_neighbours(model, n=3))
    assert (target.n_rivals, target.places.shape) == (0, (4, 1 + 3 + 3))
    found = worst_gauge(model, GeneralLinear(3, max_condition=2.0), objective="neighbours", n=3)
    assert (found.n_items, found.achieved, found.gauge.condition_number) == (0, 0.0, 1.0)
    assert (found.objective, found.role) == ("neighbours", "right")


def test_what_pairs_cost_and_which_are_known():
    model = FactorModel.from_vectors([[1.0, 0.0, 2.0], [0.0, 0.0, 0.0], [3.0, 1.0, 0.0]])
    pairs = np.array([[0, 2], [0, 1], [2, 0], [2, 2]])
    target = Movement(model, "right", pairs, model.cosines("right", pairs))
    assert target.pairs.tolist() == [[0, 2], [2, 0], [2, 2]]
    assert target.cost == (2 * 3 * 9 + 30 * 3 * 3, 3 * 3 * 23)
    np.testing.assert_allclose(target.lengths, np.sqrt([[5, 10]] * 2))
    assert [target.i.tolist(), target.j.tolist()] == [[0, 1, 1], [1, 0, 1]]
    assert target.x.shape == (2, 3), "each row once"
    assert target.y is target.x
    np.testing.assert_allclose(target.before, [3 / np.sqrt(50)] * 2 + [1.0])


@pytest.mark.parametrize("n", [1, 2, 7, 39])
def test_what_has_n_others_ahead_is_driven_out(n):
    negated = np.random.default_rng(n).integers(0, 25, size=(30, 40)).astype(float)
    ahead = (negated[:, None, :] < negated[:, :n, None] - 1.5).sum(axis=2)
    np.testing.assert_array_equal(_driven_out(negated[:, :n], negated, n, 1.5), ahead >= n)


def test_the_width_of_pushes_is_that_of_margins_however_small():
    tiny = np.array([[1.0, 0.0, 0.0], [1.0, 1e-3, 0.0], [1.0, 0.0, 1.000000004e-3], [1.0, -1.000000008e-3, 0.0]])
    model = FactorModel.from_vectors(tiny)
    target = Lists(model, "right", certified_neighbours(model, n=1, rows=np.array([0])))
    unit = unit_rows(tiny)
    (_, _, _, force), _ = target._pushes(unit)
    inside, outside = unit[0] @ unit[1], unit[2:] @ unit[0]
    margins = outside - inside
    assert 1e-15 < np.abs(margins).max() < 1e-14
    np.testing.assert_allclose(force, 1 / np.cosh(margins / (np.abs(margins).mean() / 4 + 1e-12) / 2) ** 2, rtol=1e-12)


def test_pairs_without_a_cosine_are_no_target():
    zeros = FactorModel.from_vectors(np.zeros((4, 2)))
    found = worst_gauge(zeros, GeneralLinear(2, max_condition=2.0))
    assert (found.n_items, found.achieved, found.bound) == (0, 0.0, 0.0)
