"""The pages of comparisons, evaluations, blocks and Simpson reports: in order, true to the numbers, and harmless."""

from __future__ import annotations

import re

import numpy as np
import pytest
from browsing import LOADED, read, text_of
from results_shown import KINDS, reversing, shown

import embaudit as ea
from embaudit.comparison.change import PARTS
from embaudit.comparison.outcomes import OUTCOMES
from embaudit.evaluation.measures import MEASURES
from embaudit.io.intake import Intake, Part
from embaudit.report.axis import Axis
from embaudit.report.comparison import moved_grid, summary_grid
from embaudit.report.dots import Valued, dot_chart
from embaudit.report.page import coded, page
from embaudit.report.shown import evaluation_grid
from embaudit.report.slopes import slope_chart
from embaudit.report.stacks import stack_chart
from embaudit.report.steps import MOST, step_chart
from embaudit.report.view import Origin
from embaudit.report.views import view_of

ORDER = {
    "compare": ["verdict", "content", "changed", "moved", "neighbours", "intake", "appendix"],
    "evaluate": ["verdict", "content", "scores", "differences", "intake", "appendix"],
    "blocks": ["verdict", "content", "gaps", "whole", "intake", "appendix"],
    "simpson": ["verdict", "content", "groupings", "grouping-1", "grouping-2", "intake", "appendix"],
}
INTAKE = Intake("npz", ("m.npz",), (Part("Q", "right", (7, 2)),), (Part("<b>seed", ""),))
ORIGIN = Origin((("<i>m.npz", INTAKE), ("n.npz", None)), ("judged by <u>: all",), seed=7)


def value(axis, place):
    """What a place stands for, to the tenth of a unit it is rounded to."""
    return axis.low + (place - axis.start) / (axis.stop - axis.start) * (axis.high - axis.low)


def close(axis, expected):
    return pytest.approx(expected, abs=0.06 * abs((axis.high - axis.low) / (axis.stop - axis.start)))


@pytest.mark.parametrize("kind", KINDS)
def test_sections_stand_in_their_order_and_every_link_leads_to_one(kind):
    tags = read(page(shown(kind), "title", ORIGIN))
    assert tags.ids == ORDER[kind]
    assert [link[1:] for link in tags.links] == ["content", *ORDER[kind][2:]]
    bare = read(shown(kind).report())
    assert bare.ids == [one for one in ORDER[kind] if one != "intake"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_page_says_what_the_text_says_and_nothing_before_it(kind):
    result = shown(kind)
    view = view_of(result)
    said = " ".join([*view.said, *([view.next] if view.next else [])])
    limit = {"limit": 10} if kind == "simpson" else {}
    assert said == result.explain(**limit).replace("\n", " ")
    verdict = page(result).split('id="verdict"')[1].split("</div>")[0].split(">", 1)[1]
    assert text_of(re.sub("</?code>", "`", verdict)) == " ".join(ea.errors.escaped(said).split())


def test_only_a_comparison_says_what_to_do():
    assert [bool(view_of(shown(kind)).next) for kind in KINDS] == [True, False, False, False]
    found = shown("compare")
    assert f'<p class="next">{coded(str(found.statements[-1]))}</p>' in page(found)


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


@pytest.mark.parametrize("kind", ["compare", "blocks", "simpson"])
def test_names_of_ten_thousand_characters_are_cut_where_they_are_listed(kind):
    html = page(shown(kind))
    assert "&lt;script&gt;alert(1)" in html
    assert "x" * 121 not in html
    fragment = shown(kind)._repr_html_()
    assert "x" * 121 not in fragment
    assert "<script" not in fragment


@pytest.mark.parametrize("kind", KINDS)
def test_the_appendix_tells_how_it_was_made(kind):
    html = page(shown(kind), "t", ORIGIN)
    made = html.split("How this was made")[1].split("</details>")[0]
    assert "<dt>seed</dt><dd>7</dd>" in made
    assert f"<dt>embaudit</dt><dd>{ea.__version__}</dd>" in made
    facts = view_of(shown(kind)).facts
    assert facts
    assert all(name in made and value_ in made for name, value_ in facts)
    assert "<dt>seed</dt>" not in page(shown(kind))
    for word, meaning in view_of(shown(kind)).glossary:
        assert f"<dt>{word}</dt><dd>{meaning}</dd>" in html.replace("&#39;", "'")


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


def test_who_moved_most_stands_in_chart_and_table_with_the_same_numbers():
    found = shown("compare")
    view = view_of(found)
    assert view.sections[0].parts[0].grid == summary_grid(found)
    for role, part in zip(found.changes, view.sections[1].parts, strict=True):
        (chart,), frame = part.charts, found.moved_most(role)
        assert [row[1:] for row in part.grid.rows] == [row[1:] for row in moved_grid(found, role).rows]
        ends = [value(chart.axis, row.pieces[-1].stop) for row in chart.rows]
        assert ends == pytest.approx(frame["total"].tolist(), abs=2e-3)
    lists = view.sections[2].lists
    assert [one.note for one in lists] == [
        *["among those that moved most"] * 2, *["moved about as much as the median user"] * 2,
        *["among those that moved most"] * 2, *["moved about as much as the median item"] * 2,
    ]  # fmt: skip
    assert view.sections[2].said == (
        "Nearest by the cosine of either model, among the 40 users and 30 items that both hold.",
    )
    assert lists[4].kept == found.changes["right"].examples[0].kept


def test_models_that_are_the_same_have_no_chart_and_nothing_that_moved():
    model = shown("compare")
    same = ea.FactorModel.from_user_item(*np.random.default_rng(0).standard_normal((2, 20, 3)))
    view = view_of(ea.compare(same, same))
    assert [section.id for section in view.shown_sections] == ["changed"]
    assert [chart.title for chart in view.top] == ["former neighbours"]
    assert view.top[0].key == (("rest", "kept"),)
    assert len(view_of(model).shown_sections) == 3


def test_scores_have_their_intervals_and_chance():
    found = shown("evaluate")
    view, records = view_of(found), found.records()
    charts = (*view.top, *view.sections[0].parts[0].charts)
    assert [(chart.title, chart.label) for chart in charts] == [
        ("precision", "precision at 5"), ("AUC", "AUC"), ("NDCG", "NDCG at 5"),
    ]  # fmt: skip
    for chart, measure in zip(charts, MEASURES, strict=True):
        known = [one for one in records if one["measure"] == measure]
        assert [row.name for row in chart.rows] == [one["similarity"] for one in known]
        for row, one in zip(chart.rows, known, strict=True):
            placed = [value(chart.axis, place) for place in (row.at, *row.ends)]
            assert placed == close(chart.axis, [one["value"], one["ci_low"], one["ci_high"]])
            assert row.marked == (not one["difference_ci_low"] <= 0 <= one["difference_ci_high"])
    assert charts[0].level.name == "chance"
    assert value(charts[0].axis, charts[0].level.at) == close(charts[0].axis, found.chance)
    assert charts[1].level is charts[2].level is None
    assert view.sections[0].parts[0].grid == evaluation_grid(found)


def test_differences_leave_the_raw_cosine_out_and_show_zero():
    found = shown("evaluate")
    (part,) = view_of(found).sections[1].parts
    for chart, measure in zip(part.charts, MEASURES, strict=True):
        known = [one for one in found.records() if one["measure"] == measure][1:]
        assert [row.name for row in chart.rows] == [one["similarity"] for one in known]
        for row, one in zip(chart.rows, known, strict=True):
            ends = [one["difference"], one["difference_ci_low"], one["difference_ci_high"]]
            assert [value(chart.axis, place) for place in (row.at, *row.ends)] == close(chart.axis, ends)
        assert value(chart.axis, chart.zero) == close(chart.axis, 0.0)
    assert len(part.grid.rows) == len(found.records())


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
    found = ea.block_cosines(x, y, partition="rows")
    chart = step_chart(found)
    n_steps = (len(chart.outline.split()) - 2) / 2
    assert n_steps == count if count <= MOST else 0.7 * MOST < n_steps <= MOST
    assert area(chart) == pytest.approx(found.global_cosine, abs=5e-3)
    assert value(chart.across, chart.end) == close(chart.across, found.norm_cosine)
    for (_, name, place), known in zip(chart.lines, (found.mean_cosine, found.global_cosine), strict=True):
        assert value(chart.up, place) == close(chart.up, known)
        assert name.endswith(f" {known:.4f}")
    assert len(found.report()) < 150_000


@pytest.mark.parametrize(("cosine", "low"), [(0.1, 0.0), (-0.4, -0.5), (-0.6, -1.0)])
def test_the_frame_of_the_steps_reaches_as_low_as_they_do(cosine, low):
    found = ea.block_cosines(
        [1.0, 1.0, 0.0], [1.0, cosine, (1 - cosine**2) ** 0.5], partition=ea.blocks.Boundaries([1])
    )
    assert step_chart(found).up.low == low


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


def test_groupings_lead_from_all_rows_to_within_groups():
    found = shown("simpson")
    (part,) = view_of(found).sections[0].parts
    (chart,) = part.charts
    for row, grouping in zip(chart.rows, found.groupings, strict=True):
        placed = [value(chart.axis, row.other), value(chart.axis, row.at)]
        assert placed == close(chart.axis, [grouping.pooled.r, grouping.within.r])
        assert row.marked == grouping.is_finding
    assert [row.marked for row in chart.rows] == [True, True, False]
    section = view_of(found).sections[1]
    assert section.title == "Reversal by ward"
    groups = section.parts[0].charts[1]
    frame = found.groupings[0].to_frame().sort_values("n", ascending=False, kind="stable")
    assert [value(groups.axis, row.at) for row in groups.rows] == close(groups.axis, frame["r"].tolist())
    assert all(row.marked for row in groups.rows)
    assert value(groups.axis, groups.level.at) == close(groups.axis, found.pooled.r)
    assert groups.rows[1].name.endswith(" (40)")


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


def test_axes_have_round_ends_that_hold_everything():
    axis = Axis.around([0.611, 0.44], (0.0, 1.0), (0.0, 1.0))
    assert (axis.low, axis.high) == (0.4, 0.65)
    assert (Axis.around([-0.07, 0.01], (0.0, 1.0), (-1.0, 1.0)).low) == -0.08
    clipped = Axis.around([0.9, 0.999], (0.0, 1.0), (0.0, 1.0))
    assert clipped.high == 1.0
    alone = Axis.around([0.5, 0.5], (0.0, 1.0), (0.0, 1.0))
    assert (alone.low, alone.high) == (0.44, 0.56)


def test_charts_of_nothing_are_none():
    assert stack_chart("t", "l", {"first": "a"}, [("x", [0.0])]) is None
    assert stack_chart("t", "l", {"first": "a"}, []) is None
    assert dot_chart("t", "l", [Valued("a", float("nan"))], key=()) is None
