"""The figures of pages are few, small, reproducible, described and safe."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import matplotlib as mpl
import numpy as np
import pytest
from browsing import HOSTILE, images_of, read_text
from models import random_model
from report.results_shown import KINDS, shown

import embaudit as ea
from embaudit.report.display import DARK, LIGHT, drawn_on_page
from embaudit.report.figures import IntervalDisplay

SVG = "{http://www.w3.org/2000/svg}"


def audit(p=12, **fields):
    names = np.array([f"name {i}" for i in range(p)])
    return ea.audit(
        random_model(p=p, k=4, right_names=names, **fields), n_gauges=1, n_starts=0
    )


@pytest.fixture(scope="module")
def found():
    return audit(scales=([4, 2, 1, 0.3], 1))


def captions_of(html):
    return [
        read_text(caption)
        for caption in re.findall("<figcaption>(.*?)</figcaption>", html)
    ]


def test_figures_of_a_page_are_few_described_and_drawn_the_same_every_time(found):
    html = found.report()
    assert html == found.report()
    assert html.count("<figure>") == len(captions_of(html)) == 6
    assert len(html) < 500_000
    for result in (found, *map(shown, KINDS)):
        page = result.report()
        images, captions = images_of(page), captions_of(page)
        assert 1 <= len(captions) <= 8
        for theme in ("light", "dark"):
            words = [image.words for image in images if image.theme == theme]
            assert words == captions
            assert min(map(len, words)) >= 10
        for image in images:
            # No file says when it was written, or by which version of matplotlib.
            assert not re.search(r"<script|<dc:|20\d\d-", image.svg)


def test_figures_have_the_colours_of_a_light_and_of_a_dark_page(found):
    light, dark = (
        [image.svg for image in images_of(found.report()) if image.theme == theme]
        for theme in ("light", "dark")
    )
    for one, other in zip(light, dark, strict=True):
        for name in ("ink", "soft", "line"):
            assert (LIGHT[name] in one, LIGHT[name] in other) == (True, False)
            assert (DARK[name] in other, DARK[name] in one) == (True, False)
        assert texts_of(one) == texts_of(other)


def texts_of(svg):
    return [text.text for text in ET.fromstring(svg).iter(f"{SVG}text")]


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
    svg = drawn_on_page(intervals(HOSTILE, [0.1, 0.125, 0.15, 1.5, 2.0]), LIGHT)
    for harm in (b"<script", b"<img", "\u202e".encode()):
        assert harm not in svg
    assert len(svg) < 40_000
    texts = texts_of(drawn_on_page(intervals(["a", "b"], [0.0, 0.01]), LIGHT))
    assert {"a", "b", "share", "value", "chance", "0.0", "0.2"} <= set(texts)
    # The caption of a page takes the place of the title.
    assert "shares" not in texts


def test_drawing_for_a_page_does_not_depend_on_or_change_matplotlib_settings():
    with mpl.rc_context(
        {"font.size": 31, "axes.edgecolor": "red", "svg.fonttype": "path"}
    ):
        mpl.use("agg")
        before = dict(mpl.rcParams)
        one = drawn_on_page(intervals(["a"], [0.5]), DARK)
        assert before == dict(mpl.rcParams)
    assert one == drawn_on_page(intervals(["a"], [0.5]), DARK)
