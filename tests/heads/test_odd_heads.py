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


def test_a_centred_head_has_a_change_of_log_probabilities_and_a_shift():
    panel = draw_label_sample(random_head(2, 8, 3, inputs=20), 9, rng())
    probe = HeadProbe(panel, n_pairs=100, n_neighbours=2, rng=rng())
    made = centring(panel)
    sized = HeadProbe(panel, n_pairs=7, n_neighbours=3, n_lists=5, rng=rng()).probe
    assert (sized.n_pairs, sized.n_neighbours, sized.n_lists) == (7, 3, 5)
    assert (made.name, made.kind) == ("mean row removed", "centring")
    found = probe.measure(made)
    after = panel.model.replace(right=panel.model.right - panel.mean)
    rows = np.arange(panel.model.n_left)
    logs = [np.log(model.predictions()) for model in (panel.model, after)]
    assert found.change == pytest.approx(np.abs(logs[0] - logs[1]).max(), abs=1e-14)
    assert found.shift == pytest.approx(np.linalg.norm(panel.mean) / panel.median_norm)
    assert (found.name, found.kind, found.condition_number) == (
        "mean row removed",
        "centring",
        1.0,
    )
    assert found.tolerance == pytest.approx(
        rounding_bound(panel.model, after, 1.0, rows)
    )
    assert found.gauge is made.gauge
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
