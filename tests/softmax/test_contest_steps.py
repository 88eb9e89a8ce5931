"""Each certificate of a contest by itself: what inputs make of the gaps, where they move, who enters a program."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from head_examples import random_head
from scipy.optimize import linprog, minimize

from embaudit.errors import InputError
from embaudit.kernels import moments
from embaudit.model import FactorModel
from embaudit.softmax import argmaxable, contests, coordinates
from embaudit.softmax.contests import (
    NO,
    OPEN,
    YES,
    _are_inside,
    _competing,
    _Field,
    _first_entrants,
    _from_lead,
    _nearest,
    _Survey,
    _survey,
    hold,
)
from embaudit.softmax.coordinates import LabelCoordinates, label_coordinates
from embaudit.softmax.nearest_points import nearest_point
from embaudit.softmax.programs import best_lead

HEAD = random_head(3, 9, 3, bias=True)
SPACE = label_coordinates(HEAD)
MEMBERS = np.array([[0, 0], [2, 7], [8, 8]])
FIELD = _Field.of(SPACE, MEMBERS)
INPUTS = np.random.default_rng(0).standard_normal((3, SPACE.rank + 1))


def test_leaders_stand_in_their_middle_and_are_tied_along_their_difference():
    z = SPACE.of(np.arange(9))
    np.testing.assert_allclose(FIELD.start, [z[0], (z[2] + z[7]) / 2, z[8]], atol=1e-14)
    difference = z[7] - z[2]
    np.testing.assert_allclose(FIELD.tie, [0 * difference, difference / np.linalg.norm(difference), 0 * difference])
    assert len(FIELD) == 3
    assert FIELD.take(np.array([1])).members.tolist() == [[2, 7]]
    moved = FIELD.untied(INPUTS)
    along = INPUTS - np.outer(INPUTS[1] @ FIELD.tie[1] * np.array([0, 1, 0]), FIELD.tie[1])
    np.testing.assert_allclose(moved[[0, 2], :-1], along[[0, 2], :-1])
    np.testing.assert_allclose(moved[[0, 2], -1], np.maximum(along[[0, 2], -1], 0))


@pytest.mark.parametrize("seed", range(5))
def test_inputs_move_to_the_nearest_that_tie_the_leaders(seed):
    inputs = np.random.default_rng(seed).standard_normal((3, SPACE.rank + 1))
    moved = FIELD.untied(inputs)
    for i in range(3):
        allowed = {"type": "eq", "fun": lambda x, i=i: x @ FIELD.tie[i]}, {"type": "ineq", "fun": lambda x: x[-1]}
        nearest = minimize(lambda x, i=i: np.sum((x - inputs[i]) ** 2), moved[i], constraints=allowed, method="SLSQP")
        np.testing.assert_allclose(moved[i], nearest.x, atol=1e-5)
        assert abs(moved[i] @ FIELD.tie[i]) <= 1e-14
        assert moved[i, -1] >= 0


def test_leaders_of_equal_rows_tie_far_out():
    head = random_head(3, 9, 3, bias=True)
    rows = np.array(head.right)
    rows[7] = rows[2]
    field = _Field.of(label_coordinates(head.replace(right=rows)), np.array([[2, 7]]))
    np.testing.assert_allclose(np.abs(field.tie[0]), [0, 0, 0, 1], atol=1e-12)
    for inputs in (INPUTS[:1], -INPUTS[:1]):
        moved = field.untied(inputs)
        np.testing.assert_allclose(moved, [[*inputs[0, :-1], 0.0]], atol=1e-12)


def test_wide_heads_are_whitened_by_a_triangle(monkeypatch):
    rows = random_head(5, 40, 9).right.astype(np.float32)
    axes = label_coordinates(FactorModel.from_softmax(rows))
    monkeypatch.setattr(moments, "AFFORDABLE", 0)
    monkeypatch.setattr(moments, "WIDE", 8)
    space = label_coordinates(FactorModel.from_softmax(rows))
    np.testing.assert_array_equal(space.whitening, np.triu(space.whitening))
    z, other = space.of(np.arange(40))[:, :-1], axes.of(np.arange(40))[:, :-1]
    np.testing.assert_allclose(z.T @ z / 40, np.eye(9), atol=1e-12)
    np.testing.assert_allclose(z @ z.T, other @ other.T, atol=1e-10, err_msg="but for a rotation they are the same")
    assert space.rank == axes.rank == 9


@pytest.mark.parametrize("twins", [None, [3, 5]])
@pytest.mark.parametrize("blocks", [9, 4])
def test_gaps_to_every_other_label_by_brute_force(monkeypatch, twins, blocks):
    parts = [slice(start, min(start + blocks, 9)) for start in range(0, 9, blocks)]
    monkeypatch.setattr("embaudit.softmax.coordinates.row_blocks", lambda *_: iter(parts))
    flags = None if twins is None else np.isin(np.arange(9), twins)
    field = _Field.of(replace(SPACE, twins=flags), MEMBERS)
    for inputs in (INPUTS, -INPUTS):
        check_gaps(_survey(field, inputs, 3), field, inputs, twins or ())


def check_gaps(found, field, inputs, twins):
    logits = SPACE.of(np.arange(9)) @ inputs.T
    for i, members in enumerate(MEMBERS):
        own = logits[members, i].min()
        others = [j for j in range(9) if j not in (*members, *twins)]
        gaps = {j: own - logits[j, i] for j in others}
        nearest = sorted(gaps, key=gaps.get)
        assert found.least[i] == pytest.approx(gaps[nearest[0]])
        assert found.largest[i] == pytest.approx(gaps[nearest[-1]])
        assert found.closest[i].tolist() == nearest[:3]
        *sides, last = field.tie[i]
        far = abs(inputs[i] @ field.tie[i]) * (1 + (abs(last) / np.linalg.norm(sides) if last else 0))
        slack = 4 * np.sqrt((SPACE.rank + 1) * 9) * far
        assert found.slack[i] == pytest.approx(slack, abs=1e-12)


@pytest.fixture
def long_field(monkeypatch):
    """Contests of a head whose rows count as very long; the last two labels are almost the same."""
    rows = random_head(5, 60, 20).right.astype(np.float32)
    rows[59] = rows[58] * np.float32(1 + 1e-6)
    monkeypatch.setattr(coordinates, "WIDE", 19)
    return _Field.of(label_coordinates(FactorModel.from_softmax(rows)), np.array([[0, 0], [3, 3], [58, 58]]))


def test_lengths_that_are_known_are_not_computed_again(monkeypatch):
    head = random_head(5, 60, 20)
    longest = np.linalg.norm(head.right, axis=1).max()
    scaled = label_coordinates(head.replace(right=head.right * 1e120))
    assert scaled.lengths is None
    assert scaled.longest == pytest.approx(longest * 1e120 / (head.right[0, 0] * 1e120) * scaled.rows[0, 0])
    space = label_coordinates(head)
    monkeypatch.setattr(coordinates, "row_norms", None)
    assert space.longest == pytest.approx(longest, rel=1e-14)
    assert space.lengths is head.right_side.norms


def test_leaders_are_brought_to_coordinates_once(monkeypatch):
    asked = np.array([[0, 0], [3, 3], [4, 4]])
    field = _Field.of(SPACE, asked)
    assert field.ends[1] is field.ends[0]
    np.testing.assert_allclose(field.ends[0], SPACE.of(asked[:, 0]), rtol=1e-14)
    part = field.take(np.array([2, 0]))
    assert part.ends[1] is part.ends[0]
    assert part.ends[0].tolist() == field.ends[0][[2, 0]].tolist()
    both = FIELD.take(np.array([1]))
    for column, ends in enumerate(both.ends):
        np.testing.assert_allclose(ends, SPACE.of(MEMBERS[[1], column]), rtol=1e-12)
    point = field.untied(field.start)
    before, products = _survey(field, point, 2), []
    monkeypatch.setattr(LabelCoordinates, "of", None)
    monkeypatch.setattr(
        LabelCoordinates, "weights", lambda space, x, own=LabelCoordinates.weights: products.append(x) or own(space, x)
    )
    after = _survey(field, point, 2)
    assert after.least.tolist() == before.least.tolist()
    assert len(products) == 1


def test_quick_logits_are_off_by_no_more_than_their_slack(long_field):
    space, inputs = (
        long_field.space,
        np.random.default_rng(2).standard_normal((40, 21)) * 10.0 ** np.arange(-4, 4).repeat(5)[:, None],
    )
    quick, exact = (np.concatenate([z for _, z in space.logit_blocks(inputs, quick=quick)]) for quick in (True, False))
    off, slack = np.abs(quick - exact).max(axis=0), space.slack(space.weights(inputs))
    assert (off <= slack).all()
    assert (off > 0).all()
    assert (slack <= 1e3 * off).all()
    lengths = np.linalg.norm(space.rows.astype(float), axis=1)
    np.testing.assert_allclose(
        slack, 22 * 2.0**-24 * lengths.max() * np.linalg.norm(space.whitening @ inputs[:, :-1].T, axis=0)
    )
    assert not SPACE.is_long
    assert not SPACE.slack(SPACE.weights(INPUTS)).any()
    np.testing.assert_array_equal(
        *(np.concatenate([z for _, z in SPACE.logit_blocks(INPUTS, quick=q)]) for q in (True, False))
    )


def test_quick_gaps_are_the_least_they_may_be_and_doubtful_ones_are_found_again(long_field, monkeypatch):
    passes, real = [], contests._compared

    def noted(field, inputs, n, *, weights=None, quick=False):
        passes.append((quick, field.members[:, 0].tolist()))
        return real(field, inputs, n, weights=weights, quick=quick)

    monkeypatch.setattr(contests, "_compared", noted)
    point = long_field.start
    found, exact = _survey(long_field, point, 2), real(long_field, point, 2)
    assert passes == [(True, [0, 3, 58]), (False, [58])]
    off = long_field.space.slack(long_field.space.weights(point))
    gap = exact.least - found.least
    assert (gap[:2] > 0).all()
    assert (gap[:2] <= 2 * off[:2]).all()
    assert (found.largest[:2] > exact.largest[:2]).all()
    assert (found.lead[:2] < exact.lead[:2]).all()
    for name in ("least", "largest", "closest", "slack"):
        np.testing.assert_allclose(getattr(found, name)[2], getattr(exact, name)[2], rtol=1e-12, atol=1e-13)
    np.testing.assert_array_equal(found.closest, exact.closest)


def test_a_lead_is_a_share_where_the_leaders_lead_by_more_than_slack():
    found = _Survey(
        np.array([1.0, 1.0, -1.0, 1.0]), np.array([4.0, 4.0, 4.0, np.inf]), None, np.array([0.0, 1.0, 0, 0])
    )
    assert found.lead.tolist() == [0.25, 0.0, 0.0, 0.0]
    assert _from_lead(np.array([0.0, 0.1, 0.2]), 0.1).tolist() == [OPEN, OPEN, YES]


def test_differences_are_at_right_angles_to_the_tie():
    labels = np.array([[5, 1, -1], [5, 1, 0], [1, -1, -1]])
    found = FIELD.differences(labels)
    for i, row in enumerate([[5, 1, 5], [5, 1, 0], [1, 1, 1]]):
        whole = FIELD.start[i] - SPACE.of(np.array(row))
        np.testing.assert_allclose(found[i], whole - np.outer(whole @ FIELD.tie[i], FIELD.tie[i]), atol=1e-13)
    np.testing.assert_allclose(found[1] @ FIELD.tie[1], 0, atol=1e-13)
    up = np.eye(SPACE.rank + 1)[-1]
    np.testing.assert_allclose(FIELD.upward[[0, 2], 0], [up, up])
    np.testing.assert_allclose(FIELD.upward[1, 0], up - up @ FIELD.tie[1] * FIELD.tie[1])
    np.testing.assert_array_equal(FIELD.halfspaces, FIELD.upward)
    assert _Field.of(SPACE.without_bias(), MEMBERS).halfspaces.shape == (3, 0, SPACE.rank + 1)


def test_rounds_are_fewer_where_rows_are_many_and_long(monkeypatch):
    assert FIELD.space.rows.size == 27
    for passed, rounds in ((27 * 9, 8), (27 * 8, 8), (27 * 8 - 1, 7), (27 * 3, 3), (27 * 3 - 1, 2), (27, 2), (0, 2)):
        monkeypatch.setattr(contests, "PASSED", passed)
        assert FIELD.n_rounds == rounds
    monkeypatch.setattr(contests, "ROUNDS", 1)
    assert FIELD.n_rounds == 1


@pytest.mark.parametrize("rounds", [1, 3])
def test_labels_join_as_often_as_there_are_rounds(monkeypatch, rounds):
    monkeypatch.setattr(contests, "ROUNDS", rounds)
    monkeypatch.setattr(contests, "RIVALS", 1)
    monkeypatch.setattr(contests, "_by_programs", lambda f, *_: (np.full(len(f), OPEN), np.zeros(len(f))))
    surveys, own = [], contests._survey
    monkeypatch.setattr(contests, "_survey", lambda field, *rest: surveys.append(len(field)) or own(field, *rest))
    space = label_coordinates(FactorModel.from_softmax(np.random.default_rng(0).standard_normal((400, 6))))
    hold(space, np.column_stack([np.arange(400)] * 2), title="")
    assert len(surveys) == 1 + rounds


def test_rivals_are_as_many_as_memory_allows_for(monkeypatch):
    assert FIELD.start.shape == (3, 4)
    for cells, n in ((12 * 64, 64), (12 * 64 - 1, 63), (12 * 65, 64), (24, 2), (11, 1), (0, 1)):
        monkeypatch.setattr(contests, "RIVAL_CELLS", cells)
        assert FIELD.n_rivals == n
    assert FIELD.take(np.arange(0)).n_rivals == 1


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_no_input_leads_by_more_than_its_nearest_point_allows_for(seed, bias):
    """Against every label, whichever few the hull is of."""
    n, r = 14, 2
    space = label_coordinates(random_head(seed, n, r, bias=bias))
    field = _Field.of(space, np.array([[i, (i + i % 2 * 5) % n] for i in range(n)]))
    draw, z = np.random.default_rng(seed), space.of(np.arange(n))
    closest = np.array([draw.permutation(np.setdiff1d(np.arange(n), pair))[:6] for pair in field.members])
    points, bounds, corners = _nearest(field, [np.zeros((0, r + 1))] * n, closest)
    below = 0
    for i, pair in enumerate(field.members):
        x = draw.standard_normal((3_000, r + 1)) * [1, 1, bias]
        x -= np.outer(x @ field.tie[i], field.tie[i])
        x = x[x[:, -1] >= -1e-15]
        gaps = np.delete((x @ z[pair[0]])[:, None] - x @ z.T, pair, axis=1)
        lead = gaps.min(axis=1) / gaps.max(axis=1)
        assert lead[gaps.max(axis=1) > 0].max() <= bounds[i] * (1 + 1e-9)
        below += bounds[i] < 1
        others = field.differences(closest)[i]
        assert (others @ points[i]).min() >= points[i] @ points[i] - 1e-10
        assert points[i][-1] >= -1e-12
        # What is left out is not missed.
        again, _ = nearest_point(np.vstack([field.halfspaces[i], corners[i]]))
        np.testing.assert_allclose(again, points[i], atol=1e-9)
        assert len(corners[i]) <= len(others)
    assert below
    more, tighter, _ = _nearest(field, corners, closest[:, :1])
    np.testing.assert_allclose(more, points, atol=1e-9, err_msg="a corner that was there changes nothing")
    np.testing.assert_allclose(tighter, bounds, rtol=1e-6, atol=1e-9)


def can_share(head, pair):
    """Whether a finite input ties two labels before all others, by a program in the rows and biases as stored."""
    rows, bias = np.asarray(head.right), np.asarray(head.right_bias)
    others = np.setdiff1d(np.arange(len(rows)), pair)
    first, second = pair
    solved = linprog(
        [*np.zeros(rows.shape[1]), -1],
        A_ub=np.column_stack([rows[others] - rows[first], np.ones(len(others))]), b_ub=bias[first] - bias[others],
        A_eq=[[*(rows[first] - rows[second]), 0.0]], b_eq=[bias[second] - bias[first]],
        bounds=[(None, None)] * rows.shape[1] + [(None, 1)],
    )  # fmt: skip
    return solved.status == 0 and -solved.fun > 1e-7


@pytest.mark.parametrize("rounds", [0, 8])
@pytest.mark.parametrize("seed", range(8))
def test_pairs_share_the_lead_as_rows_and_biases_say(monkeypatch, seed, rounds):
    monkeypatch.setattr(contests, "ROUNDS", rounds)
    head = random_head(seed, 16, 2 + seed % 2, bias=True)
    pairs = np.array([[i, j] for i in range(16) for j in range(i)])
    found = hold(label_coordinates(head), pairs, title="")
    assert (found.status == [YES if can_share(head, pair) else NO for pair in pairs]).all()
    assert {YES, NO} == set(found.status.tolist())


@pytest.mark.parametrize("eps", [1e-3, 1e-5, 1e-7, 1e-9, 1e-11])
@pytest.mark.parametrize("seed", range(4))
def test_pairs_of_almost_equal_rows_do_not_lead_where_their_only_ties_are_far_out(seed, eps):
    draw = np.random.default_rng(seed)
    rows, bias = draw.standard_normal((20, 1)), draw.standard_normal(20)
    bias[:2] += 3
    rows[1] = rows[0] + eps
    # One input ties them: there the others are told by hand.
    x = (bias[0] - bias[1]) / eps
    ahead = bias[0] + rows[0, 0] * x - (bias[2:] + rows[2:, 0] * x)
    found = hold(label_coordinates(FactorModel.from_softmax(rows, bias=bias)), np.array([[0, 1]]), title="")
    assert found.status[0] in ([YES, OPEN] if ahead.min() > 0 else [NO, OPEN])
    assert found.lead[0] <= max(0, ahead.min() / ahead.max()) * (1 + 1e-6)


@pytest.mark.parametrize("margin", [0.3, 0.1, 0.01])
def test_no_label_stays_open_for_a_large_margin(margin):
    """The label of the largest gap, which a lead is a share of, is none of the closest."""
    head = FactorModel.from_softmax(np.random.default_rng(0).standard_normal((90, 6)))
    found, z = argmaxable(head, margin=margin), label_coordinates(head).of(np.arange(90))
    leads = np.array([best_lead(z[i] - np.delete(z, i, axis=0), np.zeros(7))[0] for i in range(90)])
    assert found.decided.all()
    assert found.can_lead.tolist() == (leads > margin).tolist()
    assert 0 < found.n_can < 90


def test_a_hull_of_the_upward_direction_alone_bounds_nothing(monkeypatch):
    space = label_coordinates(random_head(3, 9, 3, bias=True))
    field = _Field.of(space, np.array([[0, 0]]))
    monkeypatch.setattr(_Field, "differences", lambda field, labels: 40 * field.upward)
    points, bounds, corners = _nearest(field, [np.zeros((0, 4))], np.array([[5]]))
    assert (points.tolist(), bounds.tolist()) == ([[0, 0, 0, 1]], [np.inf])
    assert [len(one) for one in corners] == [0]


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(("n", "r"), [(30, 2), (60, 4), (90, 7)])
def test_nearest_points_alone_answer_as_programs_do(monkeypatch, n, r, bias):
    monkeypatch.setattr(contests, "_are_inside", lambda field: np.zeros(len(field), dtype=bool))
    monkeypatch.setattr(contests, "_by_programs", lambda f, *_: (np.full(len(f), OPEN), np.zeros(len(f))))
    monkeypatch.setattr(contests, "RIVALS", 8)
    space = label_coordinates(random_head(n, n, r, bias=bias))
    draw = np.random.default_rng(r)
    pairs = np.array([draw.choice(n, 2, replace=False) for _ in range(n)])
    members = np.vstack([np.column_stack([np.arange(n)] * 2), pairs])
    found, field, z = hold(space, members, title=""), _Field.of(space, members), space.of(np.arange(n))
    best = np.array([
        best_lead(field.start[i] - np.delete(z, members[i], axis=0), field.tie[i])[0] for i in range(len(members))
    ])  # fmt: skip
    decided = found.status != OPEN
    assert (found.status[decided] == np.where(best > 1e-6, YES, NO)[decided]).all()
    assert decided.mean() > 0.95
    assert {YES, NO} <= set(found.status.tolist())
    won = found.status == YES
    assert (found.lead[won] <= best[won] + 1e-9).all()
    assert not found.lead[~won].any()
    # Programs find the largest leads; these are of the same size.
    assert np.median(found.lead[won] / best[won]) > 0.4


def test_a_bound_of_just_the_margin_settles_a_contest(monkeypatch):
    field = _Field.of(SPACE, np.array([[0, 0], [1, 1]]))
    still = field.untied(field.start)
    for bounds, expected in (([1e-3, 1.1e-3], [NO, OPEN]), ([1.1e-3, 1e-3], [OPEN, NO])):
        monkeypatch.setattr(contests, "_nearest", lambda f, c, n, b=bounds: (0 * still, np.array(b), c))
        rounds = contests._by_nearest_points(field, still.copy(), np.array([[3], [4]]), 1e-3, np.full(2, OPEN))
        rest, answers, leads = next(rounds)
        assert (rest.tolist(), answers.tolist(), leads.tolist()) == ([0, 1], expected, [0.0, 0.0])


def test_mixtures_are_of_other_labels_that_are_no_twins(monkeypatch):
    asked = []

    def are_mixtures(points, targets):
        asked.append((points, targets))
        return np.ones(len(targets), dtype=bool)

    monkeypatch.setattr(contests, "are_mixtures", are_mixtures)
    assert _are_inside(FIELD).all()
    # Only labels that stand in none of the contests: 1, 3, 4, 5, 6.
    np.testing.assert_allclose(asked[0][0], SPACE.of(np.array([1, 3, 4, 5, 6])))
    np.testing.assert_allclose(asked[0][1], FIELD.start)
    assert not _are_inside(_Field.of(SPACE, np.array([[0, 1], [2, 3], [4, 4]]))).any(), "four labels span no room"
    for mixed, cells in ((1, 9), (1, 2**24), (32, 9)):
        monkeypatch.setattr(contests, "MIXED", mixed)
        monkeypatch.setattr(contests, "MIXTURE_CELLS", cells)
        assert not _are_inside(FIELD).any(), "three of five labels are too few, by whichever bound"


def test_mixtures_are_settled_before_any_nearest_point_is_sought(monkeypatch):
    monkeypatch.setattr(contests, "_by_nearest_points", lambda *_: iter(()))
    monkeypatch.setattr(contests, "_by_programs", lambda f, *_: (np.full(len(f), OPEN), np.zeros(len(f))))
    rows = np.vstack([np.eye(2), -np.eye(2), 1e-3 * np.random.default_rng(0).standard_normal((30, 2))])
    space = label_coordinates(FactorModel.from_softmax(rows))
    found = hold(space, np.column_stack([np.arange(34)] * 2), title="")
    assert found.status.tolist() == [YES] * 4 + [NO] * 30


@pytest.mark.parametrize("seed", range(5))
def test_inputs_of_programs_do_not_see_the_tie(seed):
    draw = np.random.default_rng(seed)
    tie = draw.standard_normal(5)
    tie /= np.linalg.norm(tie)
    differences = draw.standard_normal((30, 5)) + 3 * draw.standard_normal(5)
    lead, x = best_lead(differences, tie)
    assert abs(x @ tie) <= 1e-12 * max(1.0, np.linalg.norm(x))
    assert x[-1] >= 0
    gaps = differences @ x
    assert gaps.max() <= 1 + 1e-8
    assert gaps.min() == pytest.approx(lead, abs=1e-8)


def test_who_enters_a_program_first():
    point = FIELD.untied(FIELD.start)
    everyone = _first_entrants(FIELD, point, 100)
    assert [one.tolist() for one in everyone] == [sorted(set(range(9)) - set(pair)) for pair in MEMBERS.tolist()]
    few = _first_entrants(FIELD, point, 5)
    logits = SPACE.of(np.arange(9)) @ point.T
    for i, members in enumerate(MEMBERS):
        order = [j for j in np.argsort(-logits[:, i]) if j not in members]
        assert few[i].tolist() == sorted(order[:5])
    flags = np.isin(np.arange(9), [1])
    assert _competing(replace(SPACE, twins=flags), np.array([1, -1, 4])).tolist() == [4]
    assert _competing(SPACE, np.array([1, -1, 4])).tolist() == [1, 4]


def test_answers_are_those_of_one_program_each(monkeypatch):
    members = np.column_stack([np.arange(9), np.arange(9)])
    z = SPACE.of(np.arange(9))
    leads = [best_lead(z[i] - np.delete(z, i, axis=0), np.zeros(z.shape[1]))[0] for i in range(9)]
    found = hold(SPACE, members, title="")
    assert found.status.tolist() == [YES if lead > 1e-6 else NO for lead in leads]
    assert (found.lead <= np.array(leads) + 1e-9).all()
    assert ((found.lead > 0) == (found.status == YES)).all()
    monkeypatch.setattr(contests, "CHUNK", 4)
    assert hold(SPACE, members, title="").status.tolist() == found.status.tolist()
    monkeypatch.setattr(contests, "ROUNDS", 0)
    by_programs = hold(SPACE, members, title="")
    assert by_programs.status.tolist() == found.status.tolist()
    # Where not even one label fits into a program, what it would settle stays open.
    width = z.shape[1]
    for cells in (1, width - 1, width):
        few = hold(SPACE, members, title="", max_cells=cells)
        assert ((few.status == OPEN) | (few.status == found.status)).all()
        assert (few.status == OPEN).any()
    nobody = hold(SPACE, members[:0], title="")
    assert (nobody.status.shape, nobody.lead.shape) == ((0,), (0,))
    for margin in (0.0, 1.0, -0.1):
        with pytest.raises(InputError, match="margin must be a share between 0 and 1; got"):
            hold(SPACE, members, title="", margin=margin)


def test_two_labels_that_are_all_there_are_lead_tied():
    space = label_coordinates(random_head(0, 2, 1))
    found = hold(space, np.array([[0, 1], [0, 0]])[:1], title="")
    assert (found.status.tolist(), found.lead.tolist()) == ([YES], [1.0])


@pytest.mark.parametrize("others", [0, 1])
def test_leaders_that_nobody_is_left_to_beat_lead_fully(monkeypatch, others):
    asked = []
    monkeypatch.setattr(contests, "_rounds", lambda *given: asked.append(given) or iter(()))
    twins = np.ones(9, dtype=np.bool_)
    twins[[0, 3, *range(5, 5 + others)]] = False
    found = hold(replace(SPACE, twins=twins), np.array([[0, 3], [3, 0]]), title="")
    assert len(asked) == others
    assert found.status.tolist() == [OPEN if others else YES] * 2
    assert found.lead.tolist() == [1.0 - others] * 2
