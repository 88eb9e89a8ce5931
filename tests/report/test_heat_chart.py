"""The heatmaps of a page: every cell in the shade of its cosine, for few named rows or those asked for."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from models import random_model

import embaudit as ea
from embaudit.report.heat_chart import MOST_NAMED, MOST_ROWS, heat_chart

RUN = re.compile(r"M([\d.]+),([\d.]+)h([\d.]+)v([\d.]+)h-([\d.]+)z")
SIGNS = {"warm": 1, "cool": -1, "nothing": np.nan}

pytestmark = pytest.mark.usefixtures("without_attacks")


def audit(p=12, **fields):
    names = np.array([f"name {i}" for i in range(p)])
    return ea.audit(random_model(p=p, k=4, right_names=names, **fields), n_gauges=1)


def tenths(panel, size):
    """The cells of a panel as a matrix of tenths, each drawn at most once."""
    cell, found = 320 / size, np.zeros((size, size))
    for shade in panel.shades:
        assert re.sub(RUN, "", shade.path) == ""
        for run in RUN.findall(shade.path):
            x, y, width, height, back = map(float, run)
            row, first, last = round(y / cell), round((x - 116) / cell), round((x - 116 + width) / cell)
            assert height == pytest.approx(cell, rel=1e-4)
            assert back == width
            assert not found[row, first:last].any()
            found[row, first:last] = SIGNS[shade.kind] * round(10 * shade.opacity)
    return found


def unit(x):
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def order_of(chart):
    return [int(name.split()[1]) for name in chart.names]


def test_cells_have_the_shade_of_their_cosine_at_hand_and_predicted():
    found = audit(scales=([4, 2, 1, 0.3], 1))
    chart, rows = heat_chart(found), found.model.right
    order = order_of(chart)
    assert sorted(order) == list(range(12))
    at_hand, predicted = (unit(x)[order] for x in (rows, found.model.scores().T))
    assert [panel.title for panel in chart.panels] == ["model at hand", "prediction cosine"]
    for panel, x in zip(chart.panels, (at_hand, predicted), strict=True):
        assert np.abs(tenths(panel, 12) - np.round(10 * (x @ x.T))).max() == 0
    apart = np.abs(at_hand @ at_hand.T - predicted @ predicted.T)[np.triu_indices(12, 1)].mean()
    assert [panel.note for panel in chart.panels] == ["", f"of the same model; mean |Δcos| {apart:.2f}"]
    assert chart.caption == "Item-item cosines of all 12 items with a direction, like beside like in the first panel."


def test_a_head_stands_beside_logit_cosines_or_without_inputs_beside_its_furthest_equal():
    beside = [heat_chart(audit(n=n, link="softmax")).panels[1] for n in (40, None)]
    assert beside[0].title == "logit cosine"
    assert beside[1].note.startswith("same predictions, furthest of ")


def test_sides_that_are_small_and_named_are_shown():
    sizes = MOST_NAMED, MOST_NAMED + 1, MOST_ROWS, MOST_ROWS + 1
    audits = [audit(p=size) for size in sizes]
    charts = list(map(heat_chart, audits))
    assert [chart and (len(chart.names), len(chart.beside)) for chart in charts] == [(40, 40), (41, 0), (60, 0), None]
    pages = [one.report() for one in (audits[0], audits[1], audits[3])]
    assert ["The 41 rows, from the top down" in page for page in pages] == [False, True, False]
    assert ["Cosines of every pair" in page for page in pages] == [True, True, False]
    assert len(audits[2].report()) < 500_000
    without = ea.audit(random_model(p=12, k=4), n_gauges=1)
    assert heat_chart(without) is None
    by_id = ea.audit(random_model(p=12, k=4, right_ids=np.arange(12) + 100), n_gauges=1)
    assert sorted(heat_chart(by_id).names)[0] == "item 100"


def test_what_has_no_cosine_stands_last_and_grey_and_nothing_is_drawn_where_nothing_can_be():
    rows = np.array([[1.0, 0.0], [0.0, 0.0], [0.6, 0.8]])
    zeros = ea.FactorModel.from_user_item(np.eye(2), rows, item_ids=["a", "b", "c"])
    chart = heat_chart(ea.audit(zeros, n_gauges=1, show=["a", "b", "c"]))
    assert sorted(chart.names) == ["a", "c"]
    lonely = ea.FactorModel.from_user_item(np.eye(2), [[1.0, 1.0], [0.0, 0.0]], item_ids=["a", "b"])
    assert heat_chart(ea.audit(lonely, n_gauges=1)) is None
    found = audit()
    drift = tuple(replace(one, max_abs=1.0, tolerance=0.0) for one in found.evidence.drift)
    assert heat_chart(replace(found, evidence=replace(found.evidence, drift=drift))) is None
