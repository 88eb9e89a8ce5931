"""Both sides of what decides about labels, and what is told of them that few heads show."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from head_examples import random_head

from embaudit.errors import InputError
from embaudit.foundation.parallel import row_blocks
from embaudit.model import FactorModel
from embaudit.softmax import argmaxable, feasibility, label_combinations, projector_cosines, shared_halves
from embaudit.softmax.coordinates import label_coordinates, of_ordinary_size, require_different
from embaudit.softmax.projector import projector_cosines_in
from embaudit.softmax.twins import first_twins

CROSS = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0], [0.0, 0.0]])


def rng(seed=0):
    return np.random.default_rng(seed)


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


# --- feasibility -------------------------------------------------------------------------------------------------


def test_labels_without_an_answer_are_told_as_such(monkeypatch):
    monkeypatch.setattr(feasibility, "ROUNDS", 0)
    monkeypatch.setattr(feasibility, "LEAST_ROUNDS", 0)
    head = FactorModel.from_softmax(np.vstack([CROSS[:4], 1e-3 * rng().standard_normal((60, 2))]))
    found = argmaxable(head)
    assert (found.n_can, found.n_cannot, found.n_undecided) == (4, 60, 0)
    assert found.to_dict()["cannot"] == [str(label) for label in range(4, 54)]
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


# --- combinations ------------------------------------------------------------------------------------------------


def test_without_a_margin_ties_are_still_none():
    without = FactorModel.from_softmax([[0.0, 0.0], [1.0, 0.0]])
    assert label_combinations(without, margin=0.0).on.shape == (0, 2)


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


# --- projector cosines -------------------------------------------------------------------------------------------


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
