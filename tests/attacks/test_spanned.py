"""Attacks in the span of few rows: what they find holds in all dimensions, and nothing better is outside the span."""

from __future__ import annotations

import numpy as np
import pytest

from embaudit.attacks import spanned, worst, worst_gauge
from embaudit.attacks.metric import Metric
from embaudit.attacks.spanned import Lifted, span_of
from embaudit.gauges import Affine, Diagonal, GeneralLinear
from embaudit.kernels.nearest import neighbours
from embaudit.model import FactorModel
from embaudit.model.drift import drift

K = 24


@pytest.fixture
def long(monkeypatch):
    """Keep to spans from a rank on that small models have."""
    monkeypatch.setattr(worst, "SPANNED", 10)
    monkeypatch.setattr(worst, "ROWS", 6)
    monkeypatch.setattr(worst, "NEAREST", 4)


@pytest.fixture(scope="module")
def head():
    draw = np.random.default_rng(0)
    rows = draw.standard_normal((30, 6)) @ draw.standard_normal((6, K)) + draw.standard_normal((30, K))
    return FactorModel.from_softmax(rows, embeddings=draw.standard_normal((40, K)))


def test_a_span_holds_the_rows_and_directions_beside_them():
    rows = np.random.default_rng(1).standard_normal((3, K)) * [[1e30], [1], [1e-30]]
    axes = span_of(rows, more=2)
    assert axes.shape == (K, 5)
    assert np.abs(axes.T @ axes - np.eye(5)).max() < 1e-14
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    assert np.abs(unit - unit @ axes[:, :3] @ axes[:, :3].T).max() < 1e-13
    assert np.abs(unit @ axes[:, 3:]).max() < 1e-13
    assert span_of(np.eye(2, 5) * 0).shape == (5, 2)
    np.testing.assert_allclose(np.abs(span_of([[3e10, 0.0, 4e10]])), [[0.6], [0.0], [0.8]], rtol=1e-15)


def test_lifted_metrics_show_the_rows_of_the_span_the_same():
    draw = np.random.default_rng(2)
    rows, (u, _) = draw.standard_normal((4, K)), np.linalg.qr(draw.standard_normal((4, 4)))
    axes, logs = span_of(rows), np.array([-0.7, 0.1, 0.3, 0.7])
    for metric in (Metric(u, logs), Metric(None, logs)):
        lifted = Lifted.of(metric, axes)
        small, large = metric.apply(rows @ axes), lifted.apply(rows)
        assert np.abs(small @ small.T - large @ large.T).max() < 1e-12
        for role in ("left", "right"):
            gauge = lifted.gauge(role)
            assert gauge.condition_number == pytest.approx(np.exp(0.7), rel=1e-12)
            assert gauge.condition_number == pytest.approx(metric.gauge(role).condition_number)
        moved = rows @ np.asarray(lifted.gauge("right").right)
        assert np.abs(moved @ moved.T - large @ large.T).max() < 1e-12
        moved = rows @ np.asarray(lifted.gauge("left").left)
        assert np.abs(moved @ moved.T - large @ large.T).max() < 1e-12


@pytest.mark.usefixtures("long")
@pytest.mark.parametrize("role", ["left", "right"])
def test_what_is_achieved_holds_in_all_dimensions(head, role):
    group = GeneralLinear(K, max_condition=3.0)
    found = worst_gauge(head, group, role=role, n_pairs=100, n_starts=2, n_steps=10)
    after = found.gauge.act(head)
    change = np.abs(after.cosines(role, found.table) - head.cosines(role, found.table)).mean()
    assert found.achieved == pytest.approx(change, abs=1e-12)
    assert 0.3 < found.achieved <= found.bound
    assert (found.n_items, len(np.unique(found.table)), found.role, found.group) == (15, 6, role, group)
    assert found.gauge.condition_number <= 3 * (1 + 1e-9)
    assert group.contains(found.gauge)
    assert drift(head, after, condition_number=3.0).ok


@pytest.mark.usefixtures("long")
def test_it_reaches_what_an_attack_in_all_dimensions_does(head, monkeypatch):
    group = GeneralLinear(K, max_condition=3.0)
    found = worst_gauge(head, group, n_pairs=400, n_starts=3, n_steps=40)
    monkeypatch.undo()
    few = head.take(right=np.unique(found.table))
    whole = worst_gauge(few, group, n_pairs=400, n_starts=3, n_steps=40)
    # Other pairs of the same rows are drawn.
    assert found.bound == pytest.approx(whole.bound, abs=0.02)
    assert found.achieved == pytest.approx(whole.achieved, abs=0.03)


@pytest.mark.usefixtures("long")
@pytest.mark.parametrize("side", ["right", "left"])
def test_shifts_are_lifted_too(head, side):
    model = head.replace(right_bias=np.zeros(30))
    group = Affine(K, side=side, max_condition=2.0, max_shift=3.0)
    found = worst_gauge(model, group, role=side, n_pairs=100, n_starts=1, n_steps=5)
    after = found.gauge.act(model)
    change = np.abs(after.cosines(side, found.table) - model.cosines(side, found.table)).mean()
    assert found.achieved == pytest.approx(change, abs=1e-12)
    assert found.achieved <= found.bound
    assert group.contains(found.gauge)
    assert 0 < np.linalg.norm(group.shift_of(found.gauge)) <= 3 * (1 + 1e-9)
    linear = worst_gauge(model, GeneralLinear(K, max_condition=2.0), role=side, n_pairs=100, n_starts=1, n_steps=5)
    assert found.achieved > linear.achieved
    assert drift(model, after, condition_number=2.0).ok


@pytest.mark.usefixtures("long")
def test_lists_are_attacked_in_the_span_of_what_is_near(head):
    found = worst_gauge(head, GeneralLinear(K, max_condition=3.0), objective="neighbours", n=3, n_rows=2, rng=1)
    after = found.gauge.act(head)
    now = neighbours(after.right, 3, rows=found.table[:, 0]).indices
    lost = np.mean(
        [entry not in row for row, entries in zip(now, found.table[:, 1:], strict=True) for entry in entries]
    )
    assert found.achieved == pytest.approx(lost)
    assert 0 < found.achieved <= found.bound
    assert found.gauge.condition_number <= 3 * (1 + 1e-9)


@pytest.mark.usefixtures("long")
def test_scales_of_columns_and_pairs_across_need_all_dimensions(head, monkeypatch):
    monkeypatch.setattr(worst, "span_of", lambda *_, **__: pytest.fail("a span was taken"))
    worst_gauge(head, Diagonal(K, max_condition=2.0), n_pairs=5, n_starts=1, n_steps=1)
    worst_gauge(head, GeneralLinear(K, max_condition=2.0), role="cross", n_pairs=5, n_starts=1, n_steps=1)
    monkeypatch.setattr(worst, "SPANNED", K)
    worst_gauge(head, GeneralLinear(K, max_condition=2.0), n_pairs=5, n_starts=1, n_steps=1)


@pytest.mark.usefixtures("long")
def test_a_budget_of_one_moves_nothing(head):
    found = worst_gauge(head, GeneralLinear(K, max_condition=1.0), n_pairs=100)
    assert (found.achieved, found.gauge.condition_number) == (0.0, 1.0)
    assert 0 <= found.bound < 1e-15
    assert (found.objective, found.role, found.n_items) == ("movement", "right", 15)
    assert (found.table.shape, len(np.unique(found.table))) == ((15, 2), 6)


def test_the_rank_from_which_spans_are_taken():
    assert (spanned.SPANNED, spanned.ROWS, spanned.LISTS, spanned.NEAREST) == (256, 64, 8, 5)
