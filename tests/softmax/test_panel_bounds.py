"""Panels, pairs, shifts, equal heads and lists of neighbours: both sides of each bound, each field by itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from head_examples import random_head

from embaudit.canonical.equivalents import EquivalentModel
from embaudit.gauges import Gauge
from embaudit.model import Softmax
from embaudit.model.drift import rounding_bound
from embaudit.softmax.equivalents import HeadProbe, centring
from embaudit.softmax.label_sample import make_panel


def rng(seed=0):
    return np.random.default_rng(seed)


# --- panels ------------------------------------------------------------------------------------------------------


# --- shifts, equivalents, folding --------------------------------------------------------------------------------


def test_equal_heads_are_measured_field_by_field():
    panel = make_panel(random_head(2, 8, 3, inputs=20), 9, rng())
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
    assert (found.name, found.kind, found.condition_number) == ("mean row removed", "centring", 1.0)
    assert found.tolerance == pytest.approx(rounding_bound(panel.model, after, 1.0, rows))
    assert found.gauge is made.gauge
    told = found.to_dict()
    assert told == found.movement.to_dict() | {
        "name": "mean row removed", "kind": "centring", "condition_number": 1.0, "shift": found.shift,
        "change": found.change, "tolerance": found.tolerance, "ok": True,
    }  # fmt: skip
    assert replace(found, change=found.tolerance).ok
    assert not replace(found, change=np.nextafter(found.tolerance, 1)).ok


@pytest.mark.parametrize("link", [Softmax(), Softmax(soft_cap=3.0), Softmax(unit_rows=True)])
def test_a_pair_is_brought_to_both_ends_by_a_shift(link):
    head = random_head(2, 8, 3, inputs=20).replace(link=link, right_names=list("abcdefgh"))
    panel = make_panel(head, 9, rng())
    a, b = panel.model.right[[1, 4]]
    probe = HeadProbe(panel, n_pairs=100, n_neighbours=2, rng=rng())
    ends = list(probe.construct((1, 4)))
    for end, target, shift in zip(ends, (-1.0, 1.0), (-(a + b) / 2, (b - 3 * a) / 2), strict=True):
        assert (end.names, end.target) == (("b", "e"), target)
        assert end.before == pytest.approx(a @ b / np.linalg.norm(a) / np.linalg.norm(b))
        assert end.after == pytest.approx(target)
        assert end.shift == pytest.approx(np.linalg.norm(shift) / panel.median_norm)
        moved = panel.model.replace(right=panel.model.right + shift)
        logs = [np.log(model.predictions()) for model in (panel.model, moved)]
        assert end.change == pytest.approx(np.abs(logs[0] - logs[1]).max(), abs=1e-12)
        assert (end.change < 1e-12) == (link == Softmax())
    stretch = EquivalentModel.by(Gauge.diagonal([1.0, 2.0, 4.0]), "by hand", "linear")
    assert (probe.measure(stretch).condition_number, probe.measure(stretch).ok) == (
        4.0,
        link != Softmax(unit_rows=True),
    )


# --- neighbours --------------------------------------------------------------------------------------------------
