"""Heads of very long and very short rows, equivalent heads, and shifted labels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from head_examples import random_head

from embaudit.errors import InputError
from embaudit.heads import (
    argmaxable,
    label_combinations,
    logit_cosines,
    projector_cosines,
    shared_halves,
)
from embaudit.heads.equivalents import HeadProbe, centring
from embaudit.heads.label_sample import draw_label_sample
from embaudit.heads.shifts import neighbour_change
from embaudit.model import FactorModel
from embaudit.model.drift import rounding_bound

# --- combinations ---


CIRCLE = np.linspace(0, 2 * np.pi, 20_001)


@pytest.mark.parametrize("seed", range(3))
def test_label_combinations_leave_out_those_with_less_than_the_margin(seed):
    head = random_head(seed, 4, 2)
    inputs = np.vstack([np.cos(CIRCLE), np.sin(CIRCLE)])
    unit = head.right / np.linalg.norm(head.right, axis=1, keepdims=True)
    for margin in (0.05, 0.2, 0.5):
        logits = unit @ inputs
        kept = np.abs(logits).min(axis=0) > margin
        wanted = {tuple(row) for row in (logits[:, kept] > 0).T.tolist()}
        assert {
            tuple(row) for row in label_combinations(head, margin=margin).on.tolist()
        } == wanted


# --- projector cosines ---


@pytest.mark.parametrize("scale", [1e99, 1e-99])
def test_properties_of_a_head_do_not_depend_on_its_scale(scale):
    head = random_head(0, 12, 3, inputs=20)
    scaled = head.replace(right=head.right * scale)
    pairs = [[0, 1], [2, 3]]
    small, same = (
        FactorModel.from_softmax(model.right[:4]) for model in (scaled, head)
    )
    assert projector_cosines(scaled, pairs=pairs).cosines == pytest.approx(
        projector_cosines(head, pairs=pairs).cosines
    )
    assert logit_cosines(scaled, pairs=pairs) == pytest.approx(
        logit_cosines(head, pairs=pairs)
    )
    assert (argmaxable(scaled).can_lead == argmaxable(head).can_lead).all()
    assert (
        shared_halves(scaled, pairs).can_share == shared_halves(head, pairs).can_share
    ).all()
    assert (label_combinations(small).on == label_combinations(same).on).all()


@pytest.mark.parametrize("scale", [1e200, 1e-200])
def test_a_head_of_rows_beyond_the_stated_lengths_is_refused(scale):
    head = random_head(0, 12, 3, inputs=20)
    head = head.replace(right=head.right * scale)
    pairs = [[0, 1], [2, 3]]
    for call in (
        lambda: projector_cosines(head, pairs=pairs),
        lambda: logit_cosines(head, pairs=pairs),
        lambda: argmaxable(head),
        lambda: shared_halves(head, pairs),
    ):
        with pytest.raises(InputError, match="must be between 1e-100 and"):
            call()


def rng(seed=0):
    return np.random.default_rng(seed)


# --- shifts, equivalents, folding ---


@pytest.fixture
def panel():
    """Return a sample of the labels of a small head with its inputs."""
    return draw_label_sample(random_head(2, 8, 3, inputs=20), 9, rng())


def measured_centring(panel):
    probe = HeadProbe(panel, n_pairs=100, n_neighbours=2, rng=rng())
    return probe.measure(centring(panel))


def without_mean_row(model, panel):
    return model.replace(right=model.right - panel.mean)


def test_a_probe_of_a_head_has_the_sizes_that_were_given(panel):
    probe = HeadProbe(panel, n_pairs=7, n_neighbours=3, n_lists=5, rng=rng()).probe
    assert probe.n_pairs == 7
    assert probe.n_neighbours == 3
    assert probe.n_lists == 5


def test_a_centred_head_is_named_and_has_its_gauge(panel):
    centred = centring(panel)
    found = HeadProbe(panel, n_pairs=100, n_neighbours=2, rng=rng()).measure(centred)
    assert found.name == centred.name == "mean row removed"
    assert found.kind == centred.kind == "centring"
    assert found.condition_number == 1.0
    assert found.gauge is centred.gauge


def test_the_change_of_a_centred_head_is_that_of_its_log_probabilities(panel):
    found = measured_centring(panel)
    before = np.log(panel.model.predictions())
    after = np.log(without_mean_row(panel.model, panel).predictions())
    assert found.change == pytest.approx(np.abs(after - before).max(), abs=1e-14)


def test_the_shift_of_a_centred_head_is_counted_in_typical_rows(panel):
    expected = np.linalg.norm(panel.mean) / panel.median_norm
    assert measured_centring(panel).shift == pytest.approx(expected)


def test_a_centred_head_can_change_by_rounding_only(panel):
    found = measured_centring(panel)
    after = without_mean_row(panel.model, panel)
    inputs = np.arange(panel.model.n_left)
    expected = rounding_bound(panel.model, after, 1.0, inputs)
    assert found.tolerance == pytest.approx(expected)
    assert replace(found, change=found.tolerance).ok
    assert not replace(found, change=np.nextafter(found.tolerance, 1)).ok


# --- neighbours ---


def test_the_interval_of_changed_nearest_labels_holds_at_its_rate():
    draw = np.random.default_rng(0)
    head = FactorModel.from_softmax(draw.standard_normal((1_500, 3)) + 0.3)
    shift = -head.right.mean(axis=0)
    truth = neighbour_change(head, np.arange(1_500), shift, n=3, exact=True)
    assert 0.2 < truth.top1_changed < 0.8
    assert truth.ci_low == truth.ci_high == truth.top1_changed
    ends = []
    for _ in range(300):
        found = neighbour_change(
            head, draw.permutation(1_500)[:60], shift, n=3, exact=False
        )
        ends.append((found.ci_low, found.ci_high))
    ends = np.array(ends)
    held = np.mean(
        (ends[:, 0] <= truth.top1_changed) & (truth.top1_changed <= ends[:, 1])
    )
    assert 0.93 <= held <= 0.985
    middle = ends.mean(axis=1, keepdims=True)
    shorter = middle + 1.44 / 1.96 * (ends - middle)
    assert (
        np.mean(
            (shorter[:, 0] <= truth.top1_changed)
            & (truth.top1_changed <= shorter[:, 1])
        )
        < 0.92
    )
