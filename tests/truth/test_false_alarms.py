"""The check of equal predictions raises no false alarm and misses no other model.

`EMBAUDIT_TOLERANCES=2000`, as in `make tolerances`, sets the number of random models
and audits each of them.
"""

from __future__ import annotations

import os
from collections import Counter

import numpy as np
import pytest
from truth.collapsed_models import collapsed_model, collapsed_towers

import embaudit as ea
from embaudit.auditing import evidence
from embaudit.auditing.equivalents import equivalent_models
from embaudit.canonical.equivalents import canonical_models
from embaudit.gauges import Gauge
from embaudit.model.drift import DriftSample

NUMBER, EVERY = (
    int(os.environ.get("EMBAUDIT_TOLERANCES", "200")),
    1 if "EMBAUDIT_TOLERANCES" in os.environ else 20,
)
FEW = {
    "n_gauges": 1,
    "n_pairs": 20,
    "n_lists": 3,
    "n_neighbours": 2,
    "n_starts": 1,
    "n_steps": 1,
}
CHANGE = 1e-3


def checked(seed):
    """Yield each equivalent model of a random one: its drift, and that of a thousandth
    added to each entry.
    """
    draw = np.random.default_rng(seed)
    model = collapsed_model(seed)
    whole = evidence.with_probes(model, draw)
    sample = DriftSample.draw(whole, draw)
    size = (
        np.abs(whole.left.astype(float) @ whole.right.astype(float).T).max()
        if whole.link.name != "cosine"
        else 0.3
    )
    for one in equivalent_models(model, n_gauges=1, rng=draw):
        after = one.apply(whole)
        side = ("left", "right")[draw.integers(2)]
        factor = 1 + CHANGE * draw.choice([-1, 1], size=after.factors(side).shape)
        other = after.replace(
            **{side: (after.factors(side) * factor).astype(after.factors(side).dtype)}
        )
        yield (
            one,
            size,
            sample.drift(after, one.amplification),
            sample.drift(other, one.amplification),
        )


def test_what_is_equal_counts_as_equal_and_what_differs_by_a_thousandth_does_not():
    alarms, noticed = [], Counter()
    for seed in range(NUMBER):
        for one, size, same, other in checked(seed):
            alarms += [] if same.ok else [(seed, one.name, same)]
            if other.max_abs > CHANGE * size:
                noticed[not other.ok] += 1
    assert not alarms
    assert noticed[True] > 3 * NUMBER
    # Where rows are a thousand times as long as scores are large, their storage rounds
    # as much.
    assert noticed[False] <= noticed[True] / 1000


def test_audits_of_healthy_models_trust_their_predictions():
    failed = []
    for seed in range(0, NUMBER, EVERY):
        model = collapsed_model(seed)
        if model.link.name == "softmax" and np.ptp(model.right, axis=0).max() == 0:
            continue  # labels that are all alike are refused
        failed += [] if ea.audit(model, **FEW).predictions_hold else [seed]
    assert not failed


@pytest.mark.parametrize("exponent", [0.0, 0.25, 0.5, 1.0])
@pytest.mark.parametrize("collapse", [1e-3, 2e-4, 1e-4, 1e-5, 1e-7])
def test_unit_rows_that_collapsed_to_four_dimensions_are_no_failure(collapse, exponent):
    model = collapsed_towers(collapse)
    gauge = ea.canonical_form(model).gauge(exponent)
    if gauge is not None:
        after = gauge.act(model)
        assert ea.drift(model, after, condition_number=gauge.condition_number).ok
    canonical = ea.at_exponent(model, exponent)
    assert ea.drift(model, canonical, condition_number=1.5).ok


@pytest.mark.parametrize("collapse", [1e-3, 2e-4, 1e-4, 1e-5, 1e-7])
def test_dimensions_above_the_rounding_of_float32_are_neither_dropped_nor_noise(
    collapse,
):
    """Without them predictions would change."""
    model = collapsed_towers(collapse)
    scores = model.left.astype(float) @ model.right.astype(float).T
    values = np.linalg.svd(scores, compute_uv=False)
    form = ea.canonical_form(model)
    assert form.n_firm == (values > 1.5e-8 * values[0]).sum()
    if form.keeps_weak_directions:
        assert ea.at_exponent(model, 0.5).rank == model.rank


def test_an_audit_of_collapsed_rows_trusts_their_predictions():
    assert ea.audit(collapsed_towers(2e-4), **FEW).predictions_hold


@pytest.mark.parametrize(
    ("collapse", "title"),
    [(1e-2, "users whitened (prediction cosine)"), (1e-5, "users whitened")],
)
def test_models_whitened_in_some_directions_only_have_no_prediction_cosines(
    collapse, title
):
    model = collapsed_towers(collapse, dtype=np.float64)
    whitened = next(canonical_models(model))
    assert whitened.title_for("right") == title


def test_an_audit_whose_equal_model_is_another_says_so(monkeypatch):
    """What a gauge makes of a model, off by a thousandth in one row in twenty: not
    equal, and so said.
    """
    model = collapsed_towers(2e-4)
    act = Gauge.act

    def tampered(gauge, model):
        made = act(gauge, model)
        left = np.array(made.left)
        left[::20] *= np.float32(1 + CHANGE)
        return made.replace(left=left)

    monkeypatch.setattr(Gauge, "act", tampered)
    audit = ea.audit(model, **FEW)
    assert not audit.predictions_hold
    assert [finding.code for finding in audit.findings if finding.code == "EMB001"]


@pytest.mark.parametrize("link", ["identity", "softmax", "cosine"])
def test_drift_between_two_models_notices_a_thousandth_whatever_the_gauge(link):
    model = collapsed_towers(2e-4, link=link)
    changed = model.replace(
        right=model.right
        * (1 + CHANGE * np.sign(model.right[:, :1])).astype(np.float32)
    )
    changed = (
        changed
        if link != "cosine"
        else model.replace(right=model.right + np.float32(CHANGE))
    )
    for kappa in (1.0, 1e4, 1e7):
        assert ea.drift(model, model, condition_number=kappa).ok
        assert not ea.drift(model, changed, condition_number=kappa).ok
