"""Charts put the numbers of an audit where they belong."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from models import random_model

from embaudit.auditing.limits import limits
from embaudit.movements import movement
from embaudit.report.charts import certified_chart, movement_chart, width_chart


@pytest.fixture(scope="module")
def found():
    return limits(random_model(n=None, p=30, k=3), ["right"], max_condition=2.0, n_neighbours=4)


def test_movement_is_drawn_from_quantiles_and_means():
    model = random_model(k=3)
    moved = [movement(model, random_model(seed, k=3)) for seed in (1, 2)]
    still = movement(model, model)
    chart = movement_chart("item-item", {"a" * 40: moved[:1], "many": moved, "still": [still]})
    assert chart.axis.high == 2.0
    assert [row.lines for row in chart.rows] == [("a" * 27, "a" * 13), ("many",), ("still",)]
    assert chart.has_several
    assert not movement_chart("item-item", {"one": moved[:1]}).has_several
    assert replace(chart.rows[0], name="worst found for item cosines, with a shift that is long").lines == (
        "worst found for item", "cosines, with a shift …",
    )  # fmt: skip
    assert [row.y for row in chart.rows] == [27.5, 58.5, 89.5]
    assert chart.height == 145.0
    assert chart.label == "|Δcos| of item-item pairs"
    first = chart.rows[0].bars[0]
    levels = [chart.axis.at(moved[0].quantiles[level]) for level in (0.05, 0.25, 0.75, 0.95)]
    assert [first.ends[0], *first.middle, first.ends[1]] == levels
    assert [bar.mean for bar in chart.rows[1].bars] == [chart.axis.at(one.mean_abs) for one in moved]
    assert chart.rows[2].bars[0].mean == chart.axis.start == 196.0
    assert movement_chart("none", {"none": [replace(still, mean_abs=np.nan, quantiles=dict.fromkeys(
        still.quantiles, np.nan))]}) is None  # fmt: skip


def test_widths_start_at_a_point_and_follow_the_summaries(found):
    chart = width_chart("label", found.ranges)
    linear, rescaling = chart.curves
    assert (linear.name, rescaling.name, linear.kind, rescaling.kind) == ("linear", "rescaling", "first", "second")
    assert chart.across.high == 2.0
    stated = [one for one in found.ranges if one.group == "linear"]
    points = [(40.0, 196.0)] + [
        (chart.across.at(one.max_condition), chart.up.at(one.width_quantiles[0.5])) for one in stated
    ]
    assert linear.line == " ".join(f"{x},{y}" for x, y in points)
    band = linear.band.split()
    assert len(band) == 2 * len(points)
    assert band[len(points) - 1] == f"{points[-1][0]},{chart.up.at(stated[-1].width_quantiles[0.75])}"
    assert band[len(points)] == f"{points[-1][0]},{chart.up.at(stated[-1].width_quantiles[0.25])}"
    assert width_chart("none", []) is None


def test_certified_shares_and_attacks_share_their_axes(found):
    chart = certified_chart("lists", found.certificates, found.attacks)
    assert chart.label == "share of the 4 nearest"
    curve = found.certificates[0].found.curve([1.0, 2.0])
    points = chart.curves[0].line.split()
    assert (points[0], points[-1]) == (f"40.0,{chart.up.at(curve[0])}", f"428.0,{chart.up.at(curve[1])}")
    attack = next(one for one in found.attacks if one.objective == "neighbours")
    assert chart.across.high == 2.0
    lists = f"{len(attack.table)} lists"
    assert [point.name for point in chart.points] == [
        f"left by the worst gauge found, in the {lists} it was sought for"
    ]
    assert [(point.x, point.y) for point in chart.points] == [(chart.across.at(2.0), chart.up.at(1 - attack.achieved))]
    assert certified_chart("none", [], found.attacks) is None
