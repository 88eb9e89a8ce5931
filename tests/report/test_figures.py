"""The figures of pages are few, small, reproducible, described and harmless."""

from __future__ import annotations

import re

import matplotlib as mpl
import numpy as np
import pytest
from browsing import HOSTILE, read_text
from models import random_model
from report.results_shown import KINDS, shown

import embaudit as ea
from embaudit.report.display import drawn_inline
from embaudit.report.figures import IntervalDisplay


def audit(p=12, **fields):
    names = np.array([f"name {i}" for i in range(p)])
    return ea.audit(
        random_model(p=p, k=4, right_names=names, **fields), n_gauges=1, n_starts=0
    )


@pytest.fixture(scope="module")
def found():
    return audit(scales=([4, 2, 1, 0.3], 1))


def figures(html):
    return re.findall(
        r"<figure>\s*(<svg.*?</svg>)\s*<figcaption>(.*?)</figcaption>",
        html,
        flags=re.DOTALL,
    )


def test_figures_of_a_page_are_few_described_and_drawn_the_same_every_time(found):
    html = found.report()
    assert html == found.report()
    assert html.count("<figure>") == len(figures(html)) == 6
    assert len(html) < 500_000
    for result in (found, *map(shown, KINDS)):
        drawn = figures(result.report())
        assert 1 <= len(drawn) <= 8
        for svg, caption in drawn:
            words = re.search('role="img" aria-label="([^"]{10,})"', svg)[1]
            assert read_text(words) == read_text(caption)
            assert not re.search(
                r'( id|clip-path)="|<(style|script|defs|metadata)|20\d\d-', svg
            )


def intervals(names, values):
    at = np.array(values)
    columns = {
        "name": names,
        "value": at,
        "low": at - 0.1,
        "high": at + 0.1,
        "marked": at > 1,
    }
    return IntervalDisplay(
        columns, "shares", ("value", "marked"), "share", ("chance", 0.25)
    )


def test_hostile_names_in_a_figure_are_escaped():
    svg = drawn_inline(intervals(HOSTILE, [0.1, 0.125, 0.15, 1.5, 2.0]))
    assert "<script" not in svg
    assert "<img" not in svg
    assert "\u202e" not in svg
    assert len(svg) < 30_000
    texts = re.findall(
        "<text[^>]*>([^<]*)</text>", drawn_inline(intervals(["a", "b"], [0.0, 0.01]))
    )
    assert {"a", "b", "share", "value", "chance", "0.00", "0.25"} <= set(texts)
    assert not any("#" in text for text in texts)


def test_drawing_for_a_page_does_not_depend_on_or_change_matplotlib_settings():
    with mpl.rc_context(
        {"font.size": 31, "axes.edgecolor": "red", "svg.fonttype": "path"}
    ):
        mpl.use("agg")
        before = dict(mpl.rcParams)
        one = drawn_inline(intervals(["a"], [0.5]))
        assert before == dict(mpl.rcParams)
    assert one == drawn_inline(intervals(["a"], [0.5]))
