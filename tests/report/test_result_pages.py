"""The pages of comparisons, evaluations, blocks and Simpson reports: in order, true to the numbers, and harmless."""

from __future__ import annotations

import re

import numpy as np
import pytest
from browsing import LOADED, read, text_of
from results_shown import KINDS, reversing, shown

import embaudit as ea
from embaudit.comparison.change import PARTS
from embaudit.comparison.fates import OUTCOMES
from embaudit.io.intake import Intake, Part
from embaudit.report.page import page
from embaudit.report.slopes import slope_chart
from embaudit.report.steps import MOST, step_chart
from embaudit.report.view import Origin
from embaudit.report.views import view_of

INTAKE = Intake("npz", ("m.npz",), (Part("Q", "right", (7, 2)),), (Part("<b>seed", ""),))
ORIGIN = Origin((("<i>m.npz", INTAKE), ("n.npz", None)), ("judged by <u>: all",), seed=7)


def value(axis, place):
    """What a place stands for, to the tenth of a unit it is rounded to."""
    return axis.low + (place - axis.start) / (axis.stop - axis.start) * (axis.high - axis.low)


def close(axis, expected):
    return pytest.approx(expected, abs=0.06 * abs((axis.high - axis.low) / (axis.stop - axis.start)))


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_loaded_and_nothing_does_harm(kind):
    html = page(shown(kind), "</title><script>", ORIGIN)
    assert "default-src 'none'" in html
    assert not re.search(LOADED, html)
    assert "<script" not in html
    assert "\u202e" not in html
    for part in ("<b>seed", "<i>m.npz", "<u>"):
        assert part not in html
        assert part in text_of(html)
    assert len(html) < 300_000


def test_what_was_read_is_listed():
    part = page(shown("compare"), "t", ORIGIN).split('id="intake"')[1].split("</section>")[0]
    assert text_of(part) == (
        "> What was read judged by <u>: all <i>m.npz Read as npz: Q (7 × 2) as right factors. Left over: <b>seed. "
        "Item ids: none, so rows go by their number. 2 parts part became Q (7 × 2) right factors "
        "<b>seed left over n.npz"
    )  # fmt: skip


def test_the_parts_of_a_change_are_drawn_as_they_are():
    found = shown("compare")
    changed, former = view_of(found).top
    for chart, names in ((changed, PARTS[1:]), (former, OUTCOMES)):
        kinds = dict(
            zip(
                names,
                ("first", "second", "third") if names == PARTS[1:] else ("rest", "first", "second", "third"),
                strict=True,
            )
        )
        for row, change in zip(chart.rows, found.changes.values(), strict=True):
            known = (
                {f"mean_{n}": getattr(change, f"mean_{n}") for n in names}
                if names == PARTS[1:]
                else change.neighbour_shares
            )
            for name, expected in zip(names, known.values(), strict=True):
                pieces = [
                    value(chart.axis, one.stop) - value(chart.axis, one.start)
                    for one in row.pieces
                    if one.kind == kinds[name]
                ]
                assert sum(pieces) == pytest.approx(expected, abs=2e-3)
    assert [name for _, name in changed.key] == ["by the gauge", "remains"]
    assert (former.axis.low, former.axis.high) == (0.0, 1.0)
    assert former.rows[0].pieces[-1].stop == former.axis.stop
    assert [row.name for row in changed.rows] == ["users", "items"]
    assert [row.name for row in former.rows] == ["10 nearest users", "10 nearest items"]


def test_models_that_are_the_same_have_no_chart_and_nothing_that_moved():
    model = shown("compare")
    same = ea.FactorModel.from_user_item(*np.random.default_rng(0).standard_normal((2, 20, 3)))
    view = view_of(ea.compare(same, same))
    assert [section.id for section in view.shown_sections] == ["changed"]
    assert [chart.title for chart in view.top] == ["former neighbours"]
    assert view.top[0].key == (("rest", "kept"),)
    assert len(view_of(model).shown_sections) == 3


def test_local_cosines_stand_against_the_global_one():
    found = shown("blocks")
    view = view_of(found)
    (chart,), frame = view.top, found.largest_gaps(share=None, limit=12)
    assert [value(chart.axis, row.at) for row in chart.rows] == close(chart.axis, frame["cosine"].tolist())
    assert value(chart.axis, chart.level.at) == close(chart.axis, found.global_cosine)
    assert chart.level.name == f"global cosine {found.global_cosine:.4f}"
    assert chart.title == "local cosines of the 12 blocks of the largest gaps"
    (gaps,) = view.sections[0].parts[0].charts
    for row, (_, known) in zip(gaps.rows, frame.iterrows(), strict=True):
        widths = [value(gaps.axis, one.stop) - value(gaps.axis, one.start) for one in row.pieces]
        assert widths == pytest.approx([known["norm_gap"], known["direction_gap"]], abs=1e-3)
    assert len(view.sections[0].parts[0].grid.rows) == 20
    few = view_of(ea.block_cosines([1.0, 2.0], [2.0, 1.0])).top[0]
    assert few.title == "local cosines"


def area(chart):
    """What the outline encloses, in values."""
    points = [tuple(map(float, point.split(","))) for point in chart.outline.split()]
    x, y = ([value(axis, point[i]) for point in points] for i, axis in enumerate((chart.across, chart.up)))
    steps = zip(x, x[1:], y[1:], strict=False)
    return sum((right - left) * height for left, right, height in steps)


@pytest.mark.parametrize("count", [20, MOST, MOST + 1, 3000])
def test_the_area_of_the_blocks_is_the_global_cosine(count):
    draw = np.random.default_rng(count)
    x = draw.standard_normal((count, 5))
    y = x * draw.uniform(0.3, 2, (count, 1)) + 2 * draw.standard_normal((count, 5)) * draw.random((count, 1))
    found = ea.block_cosines(x, y, blocks="rows")
    chart = step_chart(found)
    n_steps = (len(chart.outline.split()) - 2) / 2
    assert n_steps == count if count <= MOST else 0.7 * MOST < n_steps <= MOST
    assert area(chart) == pytest.approx(found.global_cosine, abs=5e-3)
    assert value(chart.across, chart.end) == close(chart.across, found.norm_cosine)
    for (_, name, place), known in zip(chart.lines, (found.mean_cosine, found.global_cosine), strict=True):
        assert value(chart.up, place) == close(chart.up, known)
        assert name.endswith(f" {known:.4f}")
    assert len(found.report()) < 150_000


def test_blocks_without_weight_have_no_picture():
    found = ea.block_cosines([1.0, 0.0], [0.0, 1.0])
    assert step_chart(found) is None
    assert [section.id for section in view_of(found).shown_sections] == ["gaps"]
    assert view_of(found).top == ()


def test_lines_of_groups_are_least_squares_over_their_rows():
    found, table = shown("simpson"), reversing()
    chart = view_of(found).top[0]
    x = table.columns[0]
    grouping = found.groupings[0]
    lines = {round(value(chart.across, one.middle[0]), 1): one for one in chart.groups}
    assert len(lines) == 5
    for level in grouping.levels:
        rows = table[table["ward"] == level]
        line = lines[min(lines, key=lambda middle: abs(middle - rows[x].mean()))]
        slope, start = np.polyfit(rows[x], rows["y"], 1)
        for at in (0, 2):
            across, up = value(chart.across, line.ends[at]), value(chart.up, line.ends[at + 1])
            assert across == close(chart.across, rows[x].agg(["min", "max"]).iloc[at // 2])
            assert up == pytest.approx(start + slope * across, abs=0.15)
        assert line.opposed
        assert line.size == 7.0
    slope, start = np.polyfit(table[x], table["y"], 1)
    assert [value(chart.up, chart.pooled[i]) for i in (1, 3)] == pytest.approx(
        [start + slope * value(chart.across, chart.pooled[i]) for i in (0, 2)], abs=0.15
    )
    assert chart.left_out == 0


def test_many_groups_are_drawn_as_far_as_they_can_be_seen():
    draw = np.random.default_rng(0)
    group = np.repeat(np.arange(60), np.arange(60) + 6)
    x, y = draw.standard_normal((2, len(group)))
    found = ea.simpson({"x": x, "y": y, "g": [f"g{i}" for i in group]}, x="x", y="y", groups="g", n_permutations=9)
    chart = slope_chart(found, found.groupings[0])
    assert (len(chart.groups), chart.left_out) == (40, 20)
    assert max(one.size for one in chart.groups) == 7.0
    html = found.report()
    assert "20 smaller groups are not drawn" in html
    assert "groups of g <small>(60 groups; the first 20 of 60 rows)" in html
    assert "the 12 largest of 60 groups" in html


def test_a_report_of_no_grouping_has_no_picture():
    found = ea.simpson(
        {"x": [1.0, 2, 3], "y": [1.0, 3, 2], "g": list("aaa")}, x="x", y="y", groups="g", n_permutations=9
    )
    view = view_of(found)
    assert view.top == ()
    assert [section.id for section in view.shown_sections] == ["groupings"]
    read(found.report())
