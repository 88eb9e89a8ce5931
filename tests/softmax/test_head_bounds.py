"""Both sides of what decides about labels, and what is told of them that few heads show."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from head_examples import random_head

from embaudit.errors import InputError
from embaudit.foundation.workers import row_blocks
from embaudit.model import FactorModel
from embaudit.softmax import (
    argmaxable,
    contests,
    label_combinations,
    label_rankings,
    programs,
    projector_cosines,
    shared_halves,
)  # fmt: skip
from embaudit.softmax.contests import NO, OPEN, _competing, _Field, _first_entrants, hold
from embaudit.softmax.coordinates import label_coordinates, of_ordinary_size, require_different
from embaudit.softmax.mixtures import are_mixtures
from embaudit.softmax.programs import best_lead, best_leads, even_input
from embaudit.softmax.projector import projector_cosines_in
from embaudit.softmax.twins import ROUNDING, first_twins

CROSS = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0], [0.0, 0.0]])


def rng(seed=0):
    return np.random.default_rng(seed)


def head_of(angles, lengths=1.0):
    angles = np.deg2rad(angles)
    return FactorModel.from_softmax(np.column_stack([np.cos(angles), np.sin(angles)]) * np.reshape(lengths, (-1, 1)))


@pytest.fixture
def row_by_row(monkeypatch):
    """Everything that is worked on in blocks of rows is worked on one row at a time."""
    monkeypatch.setattr(row_blocks, "__kwdefaults__", {"budget": 1})


# --- coordinates -------------------------------------------------------------------------------------------------


def test_the_residual_of_a_bias_is_what_a_least_squares_fit_leaves_at_spread_1():
    head = random_head(2, 12, 3, bias=True)
    table = np.column_stack([np.ones(12), head.right])
    rest = head.right_bias - table @ np.linalg.lstsq(table, head.right_bias, rcond=None)[0]
    space = label_coordinates(head)
    np.testing.assert_allclose(space.residual, rest / np.sqrt((rest**2).mean()), atol=1e-12)
    assert repr(space) == "LabelCoordinates(12 labels, affine rank 3)"
    assert label_coordinates(head.replace(right_bias=np.full(12, 3.0))).residual.tolist() == [0.0] * 12
    spread = float(np.sqrt((rest**2).mean()))
    linear = head.right @ [1.0, -2.0, 0.5]
    for share, left in ((0.5e-9, False), (2e-9, True)):
        bias = linear + share * np.ptp(linear) / spread * rest
        assert label_coordinates(head.replace(right_bias=bias)).residual.any() == left


def test_a_simplex_has_no_more_labels_than_one_a_dimension_and_one():
    spaces = [label_coordinates(random_head(0, n, 3)) for n in (3, 4, 5)]
    assert [space.is_simplex for space in spaces] == [True, True, False]
    assert [space.rank for space in spaces] == [2, 3, 3]
    assert [space.competitors.tolist() for space in spaces[:1]] == [[0, 1, 2]]


def test_rows_are_long_beyond_the_width_alone(monkeypatch):
    monkeypatch.setattr("embaudit.softmax.coordinates.WIDE", 3)
    rows = random_head(0, 9, 4).right
    for width, dtype, is_long in ((4, np.float32, True), (3, np.float32, False), (4, np.float64, False)):
        space = label_coordinates(FactorModel.from_softmax(rows[:, :width].astype(dtype)))
        assert space.is_long is is_long


@pytest.mark.usefixtures("row_by_row")
@pytest.mark.parametrize("order", [1, -1])
def test_sizes_and_differences_are_looked_for_in_all_blocks(order):
    rows = np.array([[1.0, 1.0], [2.0**600, 1.0], [1.0, 1.0]])[::order]
    assert of_ordinary_size(rows).max() == 1.0
    ordinary = np.array([[2.0, 1.0], [1e99, 0.0]])[::order]
    assert of_ordinary_size(ordinary) is ordinary
    nothing = np.zeros((2, 2))
    assert of_ordinary_size(nothing) is nothing
    require_different(np.array([[1.0, 1.0], [1.0, 1.0], [1.0, 2.0]])[::order], "rows")
    for same in (np.ones((3, 2)), np.ones((1, 2))):
        with pytest.raises(InputError) as refused:
            require_different(same, "label rows")
        assert str(refused.value) == ("label rows must differ from each other; all rows are equal; check the input.")
    head = random_head(1, 9, 2, bias=True)
    head = FactorModel.from_softmax(
        np.vstack([head.right, head.right[:2]])[::order], np.append(head.right_bias, head.right_bias[:2])[::order]
    )
    assert first_twins(label_coordinates(head), head.right_bias).tolist() == [*range(9), 0, 1]


# --- contests ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("apart", "tied"), [(5e-13, False), (5e-12, True)])
def test_two_leaders_are_one_where_rounding_parts_them(apart, tied):
    space = label_coordinates(FactorModel.from_softmax(CROSS * [3.0, 1.0]))
    step = np.zeros((5, 1))
    step[1] = apart * 2 * np.linalg.norm(space.of(np.array([0])))
    rows = space.rows[[0, 0]] + step[:2] * np.linalg.pinv(space.whitening)[0]
    near = replace(space, rows=rows, residual=np.zeros(2))
    field = _Field.of(near, np.array([[0, 1]]))
    assert np.linalg.norm(field.tie) == pytest.approx(float(tied))
    assert _Field.of(space, np.array([[4, 4]])).tie.tolist() == [[0.0, 0.0, 0.0]]


@pytest.mark.parametrize(("n", "size"), [(16, 15), (17, 8)])
def test_all_labels_enter_a_program_where_they_are_few(n, size):
    space = label_coordinates(random_head(3, n, 3))
    field = _Field.of(space, np.array([[0, 0]]))
    logits = space.of(np.arange(n)) @ field.start[0]
    nearest = [label for label in np.argsort(-logits) if label != 0][:size]
    assert _first_entrants(field, field.start, 100)[0].tolist() == sorted(nearest)
    assert _competing(space, np.array([0, -1, 4])).tolist() == [0, 4]


def test_a_bound_of_just_the_margin_is_no_lead(monkeypatch):
    space = label_coordinates(random_head(3, 9, 3))
    monkeypatch.setattr(contests, "ROUNDS", 0)
    monkeypatch.setattr(contests, "_are_inside", lambda field: np.zeros(len(field), dtype=bool))
    asked, bounds = [], [1e-3, np.nextafter(1e-3, 1)]

    def solved(tasks, total, title):
        differences, ties = zip(*tasks, strict=True)
        asked.append((total, title, [len(one) for one in differences], [tie.any() for tie in ties]))
        return np.full(total, bounds[len(asked) - 1]), np.zeros((total, 4))

    monkeypatch.setattr(contests, "_solve", solved)
    for status in (NO, OPEN):
        left_open = hold(space, np.array([[4, 4]]), margin=1e-3, title="contest")
        assert left_open.status.tolist() == [status]
        assert left_open.lead.tolist() == [0.0]
    assert asked == [(1, "contest", [8], [False])] * 2


def test_a_program_may_be_just_as_large_as_allowed(monkeypatch):
    monkeypatch.setattr(contests, "ROUNDS", 0)
    monkeypatch.setattr(contests, "ADDED", 4)
    monkeypatch.setattr(contests, "_are_inside", lambda field: np.zeros(len(field), dtype=bool))
    monkeypatch.setattr(contests, "_first_entrants", lambda f, p, room: [np.arange(3) for _ in range(len(f))])
    sizes = []

    def leads(tasks):
        tasks = list(tasks)
        sizes.extend(len(differences) for differences, _ in tasks)
        return iter([best_lead(*task) for task in tasks])

    monkeypatch.setattr(contests, "best_leads", leads)
    head = random_head(4, 60, 2)
    # Over no more labels than dimensions every label leads, which tells nothing.
    for room, solved in ((2, set()), (3, {3}), (6, {3}), (7, {3, 7})):
        sizes.clear()
        argmaxable(head, rows=np.arange(3, 60), max_cells=3 * room + 2)
        assert set(sizes) == solved


def test_labels_without_an_answer_are_told_as_such(monkeypatch):
    monkeypatch.setattr(contests, "ROUNDS", 0)
    head = FactorModel.from_softmax(np.vstack([CROSS[:4], 1e-3 * rng().standard_normal((60, 2))]))
    found = argmaxable(head)
    assert (found.n_can, found.n_cannot, found.n_undecided) == (4, 60, 0)
    assert found.to_dict()["cannot"] == [str(label) for label in range(4, 54)]
    monkeypatch.setattr(contests, "_are_inside", lambda field: np.zeros(len(field), dtype=bool))
    few = argmaxable(head, rows=[0, 4, 5], max_cells=1)
    assert repr(few) == "Argmaxable(1 of 3 labels can be the argmax, 0 cannot, 2 undecided)"
    assert few.explain() == "Of 3 labels asked, 1 can be the most probable one, 0 cannot, 2 are undecided."
    assert few.to_frame()["argmaxable"].tolist() == ["yes", "undecided", "undecided"]
    assert few.to_dict() == {
        "n_labels": 64, "n_asked": 3, "n_can": 1, "n_tied": 0, "n_cannot": 0, "n_undecided": 2, "cannot": [],
    }  # fmt: skip
    pairs = shared_halves(head, [[0, 2], [0, 1], [4, 5]], max_cells=1)
    assert repr(pairs) == "SharedHalves(1 of 3 pairs can share ½/½, 2 undecided)"
    assert pairs.explain() == "Of 3 pairs of labels, 1 can share ½/½, 0 cannot, 2 are undecided."
    assert pairs.to_dict() == {"n_pairs": 3, "n_can": 1, "n_cannot": 0, "n_undecided": 2}
    frame = pairs.to_frame()
    assert frame["shared_half"].tolist() == ["yes", "undecided", "undecided"]
    assert frame[["first", "second", "first_name", "second_name"]].to_numpy().tolist() == [
        [0, 2, 0, 2], [0, 1, 0, 1], [4, 5, 4, 5],
    ]  # fmt: skip


@pytest.mark.parametrize("rows", [[[1, 1]], [[0, 1], [3, 3], [2, 2]]])
def test_the_first_label_paired_with_itself_is_named(rows):
    with pytest.raises(InputError) as refused:
        shared_halves(random_head(0, 5, 2), rows)
    label = rows[0][0] if len(rows) == 1 else 3
    assert str(refused.value) == f"pairs must be of two different labels; got label {label} with itself."


# --- programs and mixtures ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_an_input_has_the_lead_that_is_told_of_it(seed, bias):
    differences = rng(seed).standard_normal((9, 3)) + np.array([0.9, 0.2, 0.1])
    differences[:, -1] *= bias
    lead, x = best_lead(differences, np.zeros(3))
    gaps = differences @ x
    assert gaps.min() == pytest.approx(lead * gaps.max(), abs=1e-9)
    assert gaps.max() == pytest.approx(1.0) or lead == 0
    assert x[-1] >= 0
    assert bias or x[-1] == 0


def test_an_input_far_along_the_bias_needs_its_sign():
    up = np.array([[1.0, 0.0, 0.5], [-1.0, 0.0, 0.5]])
    lead, x = best_lead(up, np.zeros(3))
    assert lead == pytest.approx(1.0)
    np.testing.assert_allclose(up @ x, 1, atol=1e-9)
    assert best_lead(up * [1, 1, -1], np.zeros(3))[0] == 0.0
    assert even_input(np.zeros((1, 3)), np.zeros(3)) is None
    assert not are_mixtures(np.ones((4, 2)), np.ones((1, 2))).any()


def test_programs_that_are_few_or_small_are_solved_here(monkeypatch):
    task = (np.array([[1.0, 0.0], [-1.0, 0.0]]), np.zeros(2))
    batches = []

    def elsewhere(batch):
        batches.append(len(batch))
        return (best_lead(*one) for one in batch)

    monkeypatch.setattr(programs, "_in_processes", elsewhere)
    for cells, count, sent in (
        (8, 2, [2]), (9, 2, []), (4, 1, []), (4, 2, [2]), (64, 16, [16]), (64, 17, [16]), (4, 18, [16, 2]),
    ):  # fmt: skip
        monkeypatch.setattr(programs, "PARALLEL_CELLS", cells)
        batches.clear()
        assert [lead for lead, _ in best_leads([task] * count)] == [0.0] * count
        assert batches == sent


@pytest.mark.parametrize("status", [1, 2, 3, 4])
def test_a_solver_that_fails_is_told(monkeypatch, status):
    failed = SimpleNamespace(status=status, message="it went wrong")
    monkeypatch.setattr("scipy.optimize.linprog", lambda *_, **__: failed)
    with pytest.raises(InputError) as refused:
        best_lead(np.array([[1.0, 0.0], [-1.0, 0.0]]), np.zeros(2))
    assert str(refused.value) == ("the linear program of a label must be solvable; got it went wrong; check the input.")


# --- rankings and combinations -----------------------------------------------------------------------------------


def test_what_is_enumerated_is_announced_with_its_length(announced):
    label_rankings(random_head(0, 4, 2))
    label_combinations(random_head(0, 4, 2))
    assert announced == [("enumerating rankings of labels", 3), ("enumerating combinations of labels", 4)]


def test_without_a_margin_ties_are_still_none():
    equal = FactorModel.from_softmax([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    assert label_rankings(equal, margin=0.0).shape == (0, 3)
    without = FactorModel.from_softmax([[0.0, 0.0], [1.0, 0.0]])
    assert label_combinations(without, margin=0.0).on.shape == (0, 2)
    assert label_rankings(FactorModel.from_softmax([[0.0], [1.0]]), margin=0.0).tolist() == [[0, 1], [1, 0]]


CIRCLE = np.linspace(0, 2 * np.pi, 20_001)


@pytest.mark.parametrize("seed", range(3))
def test_a_margin_leaves_out_what_only_few_inputs_give(seed):
    head = random_head(seed, 4, 2)
    inputs = np.vstack([np.cos(CIRCLE), np.sin(CIRCLE)])
    unit = head.right / np.linalg.norm(head.right, axis=1, keepdims=True)
    for margin in (0.05, 0.2, 0.5):
        logits = unit @ inputs
        sizes = np.abs(logits)
        kept = sizes.min(axis=0) > margin * sizes.max(axis=0)
        wanted = {tuple(row) for row in (logits[:, kept] > 0).T.tolist()}
        assert {tuple(row) for row in label_combinations(head, margin=margin).on.tolist()} == wanted
        logits = label_coordinates(head).of(np.arange(4))[:, :-1] @ inputs
        order = np.argsort(-logits, axis=0)
        steps = -np.diff(np.take_along_axis(logits, order, axis=0), axis=0)
        kept = steps.min(axis=0) > margin * steps.max(axis=0)
        assert {tuple(row) for row in label_rankings(head, margin=margin).tolist()} == {
            tuple(row) for row in order[:, kept].T.tolist()
        }


# --- projector cosines, twins ------------------------------------------------------------------------------------


def test_no_pair_has_no_projector_cosine():
    found = projector_cosines(random_head(0, 9, 2), pairs=np.zeros((0, 2), dtype=int))
    assert (found.cosines.shape, found.n_labels, found.rank) == ((0,), 9, 2)
    assert found.explain().startswith("The projector cosines of 0 pairs of 9 labels are undefined; even shares")


@pytest.mark.parametrize(("share", "known"), [(0.995, False), (1.005, True)])
def test_a_label_this_near_to_the_mean_has_no_direction(share, known):
    turn = np.array([[0.6, 0.8], [-0.8, 0.6]])
    rows = np.vstack([CROSS[:4] * [1.0, 1e-3], [[0.0, 0.0]]]) @ turn
    space = label_coordinates(FactorModel.from_softmax(rows))
    stretch = np.linalg.norm(space.whitening, axis=0).max()
    least = 64 * np.finfo(float).eps * (np.linalg.norm(space.mean) + np.abs(rows).max()) * stretch
    rows[4] = share * least / stretch * (space.whitening[:, 1] / np.linalg.norm(space.whitening[:, 1]))
    near = replace(space, rows=rows)
    assert np.linalg.norm(near.of(np.array([4]))) == pytest.approx(share * least, rel=1e-4)
    assert np.isfinite(projector_cosines_in(near, np.array([[0, 4]])).cosines).tolist() == [known]


def test_biases_that_rounding_just_parts_are_those_of_twins():
    rows = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 1.0], [1.0, 0.0], [-2.0, 1.0]])
    bias = np.array([1.0, -5.0, 0.0, 1.0 + ROUNDING * 5.0, 2.0])
    assert bias[3] - bias[0] == ROUNDING * 5.0
    assert first_twins(label_coordinates(FactorModel.from_softmax(rows)), bias).tolist() == [0, 1, 2, 0, 4]
