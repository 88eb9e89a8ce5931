"""Panels, pairs, shifts, equal heads and lists of neighbours: both sides of each bound, each field by itself."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from head_examples import random_head

from embaudit.canonical.equivalents import EquivalentModel
from embaudit.errors import InputError
from embaudit.gauges import Gauge
from embaudit.model import FactorModel, Softmax
from embaudit.model.drift import rounding_bound
from embaudit.softmax.equivalents import HeadProbe, centring
from embaudit.softmax.neighbour_change import neighbour_change
from embaudit.softmax.panel import make_panel, most_alike


def rng(seed=0):
    return np.random.default_rng(seed)


def head_of(angles, lengths=1.0):
    angles = np.deg2rad(angles)
    return FactorModel.from_softmax(np.column_stack([np.cos(angles), np.sin(angles)]) * np.reshape(lengths, (-1, 1)))


# --- panels ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("angles", "lengths", "pair"),
    [
        # Labels without twins come before groups of twins, also where they are two.
        ([0, 80, 40, 40], 1.0, (0, 1)),
        ([0, 40, 40], 1.0, (0, 1)),
        ([0, 0, 40, 40], 1.0, (0, 2)),
        # Of one direction: the first that differs from row 0.
        ([30, 30, 30], [1, 1, 2], (0, 2)),
        ([30, 30, 30], [1, 2, 1], (0, 1)),
        ([0, 0, 0], [1, 1, 2], (0, 2)),
        # Lists that begin with larger cosines than are sought hide the pair, 5.8 degrees apart: it is looked for.
        ([0, 1, 2, 7.8, 8.8, 9.8, 100, 160], 1.0, (2, 3)),
    ],
)
def test_the_pair_with_the_largest_cosine_that_reads_as_less_than_1(angles, lengths, pair):
    assert most_alike(make_panel(head_of(angles, lengths), 9, rng())) == pair


@pytest.mark.parametrize("seed", range(3))
def test_the_most_alike_pair_by_brute_force(seed):
    angles = rng(seed).uniform(0, 60, 40)
    cosines = np.cos(np.deg2rad(angles[:, None] - angles))
    told = np.where((cosines < 0.995) & ~np.eye(40, dtype=bool), cosines, -np.inf)
    pair = most_alike(make_panel(head_of(angles), 40, rng()))
    assert pair == tuple(sorted(np.unravel_index(np.argmax(told), told.shape)))


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


def test_copies_fill_no_place_of_the_lists_that_hold_one_of_each():
    """Three copies of the nearest: behind them stand the others, as many as are asked for."""
    angles = [0, 10, 10, 10, 10, 30, 60, 100]
    head, shift = head_of(angles), np.array([-0.7, -0.4])
    found = neighbour_change(head, np.arange(8), shift, n=3, exact=True)
    single = head_of([0, 10, 30, 60, 100])
    alone = neighbour_change(single, np.arange(5), shift, n=3, exact=True)
    assert (found.top1_changed, found.n_rows) == (alone.top1_changed, 5)
    assert found.top_n_changed == pytest.approx(alone.top_n_changed)


def test_heads_and_pairs_without_directions_are_refused_in_one_sentence():
    with pytest.raises(InputError, match=r"^a head must be one of at least two labels with a direction; got 1 of 3\.$"):
        make_panel(FactorModel.from_softmax([[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]]), 9, rng())
    aside = FactorModel(None, random_head(0, 6, 2).right, "softmax", right_aside=[True] * 2 + [False] * 4)
    assert make_panel(aside, 9, rng()).n_aside == 2
    assert make_panel(aside, 9, rng(), include=(0, 3)).labels.tolist() == [0, 2, 3, 4, 5]
