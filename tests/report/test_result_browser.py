"""Pages of results are accessible and fit the screen; notebooks keep their style."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from browsing import CHROMIUM, DESKTOP, HOSTILE, PHONE
from models import random_model
from report.results_shown import KINDS, shown

import embaudit as ea
from embaudit.io import Intake, Part
from embaudit.report.document import Origin
from embaudit.report.page import page as written_page

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        CHROMIUM is None, reason="no browser is installed: apt-get install chromium"
    ),
]
LOOKS = [(PHONE, "dark"), (DESKTOP, "light")]
NOTEBOOK = """<!doctype html><html lang="en"><head><title>notebook</title></head>
<body {theme}><main>
<h1>own</h1><h2>own</h2><p class="soft top">own <b>text</b></p>
<table class="card"><tr><th>own</th><td>own</td></tr></table>
<svg width="9" height="9"><text class="grid">own</text></svg>
<ul class="key"><li>own</li></ul>
{shown}</main></body></html>"""
STYLES = """const own = "body, main > :not(.embaudit), main > :not(.embaudit) *";
const places = /size$|origin|^(width|height|inset|top|left|right|bottom|margin)/;
Array.from(document.querySelectorAll(own)).map((one) => {
const all = getComputedStyle(one);
return Array.from(all).filter((name) => !places.test(name))
.map((name) => name + ":" + all[name]).join(";"); })"""
"""The styles, without sizes and places, of each element that is no part of a result."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("results")
    intake = Intake("npz", ("m.npz",), (Part("Q", "right", (7, 2)),))
    origin = Origin((("m.npz", intake), ("m.npz", intake)), (HOSTILE[0],), seed=0)
    for kind in KINDS:
        html = written_page(shown(kind), HOSTILE[1], origin)
        (made / f"{kind}.html").write_text(html, encoding="utf-8")
    return made


def broken(page):
    page.evaluate(
        "document.querySelectorAll('details').forEach((one) => { one.open = true; })"
    )
    return [
        (one["id"], one["nodes"][0]["html"])
        for one in Axe().run(page).response["violations"]
    ]


@pytest.mark.parametrize(
    ("kind", "viewport", "scheme"),
    [(kind, *LOOKS[at % 2]) for at, kind in enumerate(KINDS)],
)
def test_a_page_is_accessible_and_as_wide_as_the_screen(
    showing, folder, kind, viewport, scheme
):
    page = showing(
        folder / f"{kind}.html", viewport=viewport, color_scheme=scheme, bypass_csp=True
    )
    assert broken(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") == viewport["width"]
    assert page.locator("img:not(.light, .dark)").count() == 0


@pytest.mark.parametrize("theme", ["", 'data-jp-theme-light="false"'])
def test_a_notebook_keeps_its_style_and_results_in_it_are_accessible(
    showing, tmp_path, theme
):
    audit = ea.audit(random_model(p=30, k=3), n_gauges=1, n_pairs=50)
    results = [audit, *map(shown, KINDS), ea.levels(random_model(p=30, k=3))]
    bare, full = tmp_path / "bare.html", tmp_path / "full.html"
    bare.write_text(NOTEBOOK.format(theme=theme, shown=""), encoding="utf-8")
    both = "".join(one._repr_html_() for one in results)
    full.write_text(NOTEBOOK.format(theme=theme, shown=both), encoding="utf-8")
    one, other = (showing(path, color_scheme="light") for path in (bare, full))
    assert one.evaluate(STYLES) == other.evaluate(STYLES)
    assert len(one.evaluate(STYLES)) > 10
    assert other.locator(".embaudit").count() == len(results)
    paper = other.locator(".embaudit").first.evaluate(
        "one => getComputedStyle(one).backgroundColor"
    )
    assert paper == ("rgb(20, 21, 26)" if "false" in theme else "rgb(251, 250, 247)")
    visible, hidden = ("dark", "light") if "false" in theme else ("light", "dark")
    assert other.locator(f"img.{visible}").first.is_visible()
    assert not other.locator(f"img.{hidden}").first.is_visible()
    named = [
        one
        for one in broken(other)
        if one[0] not in ("landmark-unique", "heading-order", "page-has-heading-one")
    ]
    assert named == []
