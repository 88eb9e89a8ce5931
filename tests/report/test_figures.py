"""The figures of pages: few, small, the same every time, described in words, harmless, in the colours of the page."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from browsing import HOSTILE, read_text
from models import random_model
from results_shown import KINDS, shown

import embaudit as ea
from embaudit.movements import movement
from embaudit.report.drawn_file import NAMES, drawn_inline
from embaudit.report.figures import IntervalDisplay, MovementDisplay
from embaudit.report.heatmap import FEW, heatmap_of_page

pytestmark = pytest.mark.usefixtures("without_attacks")
TEMPLATES = Path(ea.report.__file__).parent / "templates"


def audit(p=12, **fields):
    names = np.array([f"name {i}" for i in range(p)])
    return ea.audit(random_model(p=p, k=4, right_names=names, **fields), n_gauges=1)


@pytest.fixture(scope="module")
def found():
    return audit(scales=([4, 2, 1, 0.3], 1))


def figures(html):
    return re.findall(r"<figure>\s*(<svg.*?</svg>)\s*<figcaption>(.*?)</figcaption>", html, flags=re.DOTALL)


def test_pages_hold_few_figures_each_described_and_the_same_every_time(found):
    html = found.report()
    assert html == found.report()
    assert html.count("<figure>") == len(figures(html)) == 7
    assert len(html) < 500_000
    for result in (found, *map(shown, KINDS)):
        drawn = figures(result.report())
        assert 1 <= len(drawn) <= 8
        for svg, caption in drawn:
            words = re.search('role="img" aria-label="([^"]{10,})"', svg)[1]
            assert read_text(words) == read_text(caption)
            assert not re.search(r'( id|clip-path)="|<(style|script|defs|metadata)|20\d\d-', svg)


def test_colours_are_those_that_pages_call_so():
    css = (TEMPLATES / "colours.css.j2").read_text(encoding="utf-8")
    light = dict(re.findall(r"--(\w+):(#\w+);", css.partition("endmacro")[0]))
    assert {name: light[name] for name in NAMES.values()} == {name: colour for colour, name in NAMES.items()}


def intervals(names, values):
    at = np.array(values)
    ends = np.column_stack([at - 0.1, at + 0.1])
    return IntervalDisplay(names, "shares", at, ends, at > 1, ("value", "marked"), "share", ("chance", 0.25))


def test_numbers_and_names_are_written_as_they_are_and_do_no_harm():
    svg = drawn_inline(intervals(HOSTILE, [0.1, 0.125, 0.15, 1.5, 2.0]))
    assert "<script" not in svg
    assert "<img" not in svg
    assert "\u202e" not in svg
    assert len(svg) < 30_000
    texts = re.findall("<text[^>]*>([^<]*)</text>", drawn_inline(intervals(["a", "b"], [0.0, 0.01])))
    assert {"a", "b", "share", "value", "chance", "0.00", "0.25"} <= set(texts)
    assert not any("#" in text for text in texts)


def test_drawing_for_a_page_leaves_the_settings_of_matplotlib_alone():
    with mpl.rc_context({"font.size": 31, "axes.edgecolor": "red", "svg.fonttype": "path"}):
        mpl.use("agg")
        before = dict(mpl.rcParams)
        one = drawn_inline(intervals(["a"], [0.5]))
        assert before == dict(mpl.rcParams)
    assert one == drawn_inline(intervals(["a"], [0.5]))


def test_models_of_a_family_share_a_row_and_those_without_a_cosine_have_none():
    model = random_model(k=3)
    moved = [movement(model, random_model(seed, k=3)) for seed in (1, 2)]
    none = replace(moved[0], mean_abs=np.nan)
    shown_ = MovementDisplay.of_families({"one": moved[:1], "many": moved, "none": [none]}, "item-item")
    assert shown_.frame()["model"].tolist() == ["one", "many", "many"]
    assert shown_.means.tolist() == [moved[0].mean_abs, *(one.mean_abs for one in moved)]
    ax = shown_.plot(mpl.figure.Figure().add_subplot()).ax_
    assert [label.get_text() for label in ax.get_yticklabels()] == ["one", "many"]
    assert ax.lines[0].get_ydata().tolist() == [0, 1, 1]


def test_both_cosines_stand_on_the_page_where_something_is_predicted_and_checks_hold(found):
    html = found.report()
    assert "<h3>Cosines beside prediction cosines</h3>" in html
    assert "all 66 item-item pairs" in html
    alone = ea.audit(ea.FactorModel.from_vectors(found.model.right), n_gauges=1, n_pairs=100)
    assert "Cosines beside" not in alone.report()
    first, *others = found.evidence.drift
    failed = replace(found, evidence=replace(found.evidence, drift=(replace(first, max_abs=9.0), *others)))
    assert "Cosines beside" not in failed.report()
    assert heatmap_of_page(failed) is None


def test_heatmaps_show_small_sides_that_have_names():
    sizes = FEW, FEW + 1
    charts = [heatmap_of_page(audit(p=size)) for size in sizes]
    assert [chart and len(chart.names) for chart in charts] == [FEW, None]
    without = ea.audit(random_model(p=12, k=4), n_gauges=1)
    assert heatmap_of_page(without) is None
    by_id = ea.audit(random_model(p=12, k=4, right_ids=np.arange(12) + 100), n_gauges=1)
    assert min(heatmap_of_page(by_id).names) == "item 100"


def test_heatmaps_show_the_rows_asked_for_and_those_near_them():
    rows = random_model(p=FEW + 40, k=4, right_names=np.array([f"name {i}" for i in range(FEW + 40)]))
    asked = ea.audit(rows, n_gauges=1, show=["name 3", "name 7"])
    names = heatmap_of_page(asked).names
    assert {"name 3", "name 7"} <= set(names)
    assert 10 < len(names) <= FEW


def test_a_head_stands_beside_logit_cosines_or_without_inputs_beside_its_furthest_equal():
    beside = [heatmap_of_page(audit(n=n, link="softmax")).panels[1] for n in (40, None)]
    assert beside[0].name == "logit cosine"
    assert beside[1].note.startswith("same predictions, furthest of ")


def test_nothing_is_drawn_where_nothing_can_be():
    zeros = ea.FactorModel.from_user_item(np.eye(2), [[1.0, 0.0], [0.0, 0.0], [0.6, 0.8]], item_ids=["a", "b", "c"])
    assert sorted(heatmap_of_page(ea.audit(zeros, n_gauges=1, show=["a", "b", "c"])).names) == ["a", "c"]
    lonely = ea.FactorModel.from_user_item(np.eye(2), [[1.0, 1.0], [0.0, 0.0]], item_ids=["a", "b"])
    assert heatmap_of_page(ea.audit(lonely, n_gauges=1)) is None
