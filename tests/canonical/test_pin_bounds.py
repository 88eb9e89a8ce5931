"""Both sides of the bounds of pins, spans, second metrics and what predictions see; which directions are tried."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from embaudit.canonical import pinned, second_metric
from embaudit.canonical.form import shifted_sides
from embaudit.canonical.lifts import _split, packed, span_of
from embaudit.canonical.pinned import CANDIDATES, _candidates, pinned_test
from embaudit.canonical.pinning import Flip
from embaudit.canonical.reduction import seen_directions
from embaudit.canonical.second_metric import cone_certificate, second_metrics
from embaudit.kernels.rows import unit_rows
from embaudit.model import Equivalence, FactorModel, Softmax

EPS = float(np.finfo(np.float64).eps)
UNIT = Softmax(unit_rows=True)
AXES = np.vstack([np.eye(3), -np.eye(3)])


def rows(n, k, seed=0):
    return np.random.default_rng(seed).standard_normal((n, k))


@pytest.mark.parametrize(("link", "left", "bound"), [(UNIT, None, 64 * 3 * 9.0), ("cosine", rows(4, 4), 64 * 4 * 3.0)])
def test_a_witness_may_miss_its_predictions_by_64_roundings(monkeypatch, link, left, bound):
    """A dimension, times the condition that is allowed; for a head, which shifts besides, times its square."""
    with_movement = pinned._with_movement
    for roundings, status in ((1.0, "free"), (1.01, "undecided")):

        def moved(model, found, r=roundings):
            shown = with_movement(model, found)
            return None if shown is None else replace(shown, residual=r * bound * EPS)

        monkeypatch.setattr(pinned, "_with_movement", moved)
        model = FactorModel(left, AXES if left is None else rows(4, 4, 1), link=link)
        found = pinned_test(model, max_condition=3.0)
        assert (found.status, found.residual) == (status, bound * EPS if status == "free" else found.residual)


@pytest.mark.parametrize("affine", [False, True])
def test_directions_are_tried_that_move_pairs_and_some_others(affine):
    units = unit_rows(rows(5, 4))
    span = span_of(units, np.eye(4), affine=affine)
    found = _candidates(span, units, np.random.default_rng(3), affine=affine)
    draw = np.random.default_rng(3)
    i, j = draw.integers(5, size=(2, CANDIDATES))
    wanted = []
    for one, other in zip(units[i], units[j], strict=True):
        form = packed((np.outer(one, other) + np.outer(other, one)) / 2)
        wanted.append(np.concatenate([form, one + other]) if affine else form)
    wanted += list(draw.standard_normal((8, len(wanted[0]))))
    projected = [span.free @ (span.free.T @ form) for form in wanted]
    kept = [form / np.linalg.norm(form) for form in projected if np.linalg.norm(form) > 1e-6]
    np.testing.assert_allclose(found, [*kept, *(-form for form in kept)], atol=1e-12)
    assert len(found) > 2 * 8


@pytest.mark.parametrize("stretch", [1.0, 4.0])
def test_a_second_metric_has_converged_within_64_roundings_and_keeps_its_condition(monkeypatch, stretch):
    left, right = (span_of(unit_rows(rows(3, 3, seed)), np.eye(3)) for seed in (0, 1))
    metric = np.diag([1.0, stretch, 1.0])
    for roundings, most, kept in ((1.0, 2.0, 9), (1.01, 2.0, 0), (1.0, np.sqrt(stretch), 9), (0.5, 0.99, 0)):
        gap = roundings * 64 * 3 * EPS * stretch
        monkeypatch.setattr(second_metric, "_solved", lambda *_, g=gap: (metric, g))
        assert len(second_metrics(left, right, 3, np.random.default_rng(0), most)) == kept


@pytest.mark.parametrize("k", [2, 3])
def test_weights_add_up_to_the_identity_within_64_roundings_a_dimension(monkeypatch, k):
    for roundings, there in ((1.0, True), (1.01, False)):
        monkeypatch.setattr("scipy.optimize.nnls", lambda *_, r=roundings: (None, r * 64 * k * EPS))
        assert cone_certificate(np.eye(k), np.eye(k), np.eye(k)) is there


@pytest.mark.parametrize("largest", [1.0, 8.0])
def test_a_span_counts_what_is_no_rounding_and_is_clear_where_that_is_firm(largest):
    for least, rank, clear in (
        (0.99 * 3 * EPS, 2, True), (1.01 * 3 * EPS, 3, False), (0.99e-6, 3, False), (1.01e-6, 3, True),
    ):  # fmt: skip
        found = _split(largest * np.diag([1.0, 0.5, least]), 1e-6)
        assert (found.rank, found.needed, found.clear) == (rank, 3, clear)
        assert (found.held is None) == (found.free is None) == (rank == 3)
        if rank < 3:
            np.testing.assert_allclose(np.abs(found.held), np.eye(3)[:, :2], atol=1e-12)
            np.testing.assert_allclose(np.abs(found.free), np.eye(3)[:, 2:], atol=1e-12)
    nothing = _split(np.zeros((2, 3)), 1e-6)
    assert (nothing.rank, nothing.clear, nothing.free.shape) == (0, True, (3, 3))


def seen(left, right, precision=1e-3, finer=1e-6):
    sides = {
        "left": SimpleNamespace(root=left, centred_root=None, precision=precision),
        "right": SimpleNamespace(root=right, centred_root=None, precision=finer),
    }
    model = SimpleNamespace(
        left=1, predicts=Equivalence.SCORES, sides=("left", "right"), rank=left.shape[1], moments=sides.__getitem__
    )
    return seen_directions(model, ())


@pytest.mark.parametrize("precisions", [(1e-3, 1e-6), (1e-6, 1e-3)])
def test_directions_are_seen_whose_products_are_no_rounding(precisions):
    """Beside the longest product, 2 · 3, at the coarser precision of both sides."""
    for other, width in ((0.0599, 1), (0.0601, 2)):
        found = seen(np.diag([2.0, 0.1]), np.diag([3.0, other]), *precisions)
        np.testing.assert_array_equal(found, np.eye(2)[:, :width])
    left, right = np.array([[2.0, 2.0], [0.0, 0.0]]), np.array([[3.0, 1.0], [0.0, 5.0]])
    mixed = seen(left, right, *precisions)
    assert mixed.shape == (2, 1)
    np.testing.assert_allclose(left @ mixed @ mixed.T @ right.T, left @ right.T, atol=1e-12)


@pytest.mark.parametrize("scale", [1.0, 64.0])
@pytest.mark.parametrize(("dtype", "rank"), [(np.float64, 3), (np.float32, 2)])
def test_a_side_moves_where_its_centre_is_no_rounding(scale, dtype, rank):
    x = (scale * rows(6, rank)).astype(dtype)
    model = FactorModel(x, rows(4, rank, 1).astype(np.float64))
    rounding = rank * np.finfo(dtype).eps * np.abs(model.moments("left").root).max()
    still = np.zeros(rank)
    for share, moved in ((0.99, ()), (1.01, ("left",))):
        centre = np.eye(rank)[0] * share * rounding
        assert shifted_sides(model, {"left": centre, "right": still}) == moved
    assert shifted_sides(model, {"left": still, "right": np.ones(rank)}) == ("right",)


def test_a_row_without_direction_has_none_in_the_equal_model():
    left, right = np.random.default_rng(0).standard_normal((2, 5, 4))
    left[2], right[4] = 0, 0
    model = FactorModel(left, right, link="cosine")
    found = pinned_test(model)
    twin = found.twin(model)
    assert (found.status, twin.left[2].tolist(), twin.right[4].tolist()) == ("free", [0.0] * 4, [0.0] * 4)
    assert np.linalg.norm(twin.left, axis=1).round(9).tolist() == [1, 1, 0, 1, 1]
    assert np.linalg.norm(twin.right, axis=1).round(9).tolist() == [1, 1, 1, 1, 0]
    np.testing.assert_allclose(
        twin.left @ twin.right.T, unit_rows(left, none=0) @ unit_rows(right, none=0).T, atol=1e-9
    )


@pytest.mark.parametrize(("largest", "status"), [(10, "free"), (9, "undecided")])
def test_both_sides_are_asked_up_to_so_many_numbers(monkeypatch, largest, status):
    monkeypatch.setattr(pinned, "LARGEST", largest)
    found = pinned_test(FactorModel(rows(4, 4), rows(4, 4, 1), link="cosine"))
    assert (found.status, found.needed) == (status, 10)


@pytest.mark.parametrize(("largest", "status"), [(2, "pinned"), (1, "undecided")])
@pytest.mark.parametrize("n", [2, 3])
def test_a_proof_by_weights_is_sought_up_to_so_many_rows_of_both_sides(monkeypatch, largest, status, n):
    monkeypatch.setattr(pinned, "LARGEST", largest * n / 2)
    plane = np.vstack([np.eye(3)[:2]] * 2)[:n]
    found = pinned_test(FactorModel(plane, plane, link="cosine"))
    assert (found.status, "add up to the identity" in found.because) == (status, status == "pinned")


def test_a_bias_takes_up_what_all_rows_of_the_other_side_have_of_a_reflected_direction():
    alike = np.hstack([rows(5, 2), np.full((5, 1), 7.0)])
    model = FactorModel(alike, rows(4, 3, 1), right_bias=np.arange(4.0), link="sigmoid")
    flip = Flip("right", np.array([0, 2]), np.diag([0.0, 0.0, 1.0]))
    changed = model.replace(**flip.flipped(model, np.asarray(model.right)))
    assert changed.right[:, 2].tolist() == (model.right[:, 2] * [-1, 1, -1, 1]).tolist()
    np.testing.assert_allclose(changed.scores(), model.scores(), atol=1e-12)
    assert np.abs(changed.right_bias - model.right_bias).min(where=[True, False, True, False], initial=9) > 0.1
