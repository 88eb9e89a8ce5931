"""Charts of pages as pictures that stand alone: one SVG file, light on dark pages too, its key drawn inside."""

from __future__ import annotations

import re
from functools import cache
from html import escape
from textwrap import wrap
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import jinja2

from embaudit.report.count_chart import CountChart

if TYPE_CHECKING:
    from collections.abc import Sequence

    from embaudit.report.view import Chart

FONT = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif"
MARGIN, LINE, SIGN = 20.0, 18.0, 34.0
"""Around everything, from one line of text to the next, and what a sign of the key takes."""
SMALL, LONGEST = 12, 66
"""Size of text, and characters of a line of it."""
WIDTH = 440.0
"""Of the charts of a page."""


def standalone(heading: str, charts: Sequence[Chart | CountChart]) -> str:
    """Write charts of a page below each other, each with its title, its key and what stands below it."""
    sheet = Sheet()
    sheet.write(heading, size=15, weight=600)
    for chart in charts:
        sheet.y += LINE / 2
        for part in ET.fromstring(_drawn(chart)):  # noqa: S314 (drawn by our own template)
            {"svg": sheet.draw, "figcaption": sheet.caption, "ul": sheet.key}[part.tag](part)
    return sheet.whole(heading)


class Sheet:
    """What is drawn so far, and where the next part begins."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.y = MARGIN

    def write(self, text: str, x: float = MARGIN, *, size: int = SMALL, weight: int = 400) -> None:
        """Write text below what is there, in as many lines as it takes."""
        for line in wrap(text, int(LONGEST * SMALL / size) - int(x - MARGIN) // 6):
            self.y += LINE
            font = f'font-size="{size}" font-weight="{weight}"'
            self.parts.append(f'<text x="{x:g}" y="{self.y - 4:g}" {font}>{escape(line)}</text>')

    def draw(self, svg: ET.Element) -> None:
        """Draw a chart, in the middle where it is narrow."""
        width, height = map(float, svg.attrib["viewBox"].split()[2:])
        self.place(svg, MARGIN + (WIDTH - width) / 2)
        self.y += height + LINE / 3

    def place(self, svg: ET.Element, x: float) -> None:
        """Put a drawing at a place of the next line."""
        drawn = "".join(ET.tostring(child, encoding="unicode").strip() + "\n" for child in svg)
        self.parts.append(f'<g transform="translate({x:g} {self.y:g})">\n{drawn}</g>')

    def caption(self, text: ET.Element) -> None:
        """Write what stands above or below a chart."""
        self.write("".join(text.itertext()).strip(), weight=600 if text.get("class") == "above" else 400)

    def key(self, items: ET.Element) -> None:
        """Draw each sign, and write beside it what it means."""
        for item in items:
            self.y += 3
            self.place(item[0], MARGIN)
            self.y -= 3
            self.write("".join(item.itertext()).strip(), MARGIN + SIGN)

    def whole(self, heading: str) -> str:
        """Put everything on a card."""
        body, width, height = "\n".join(self.parts), WIDTH + 2 * MARGIN, self.y + MARGIN
        box = f'viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{escape(heading)}"'
        card = f'width="{width - 2:g}" height="{height - 2:g}" rx="10" fill="#ffffff" stroke="#8b949e"'
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" {box}>\n<style>text{{font-family:{FONT};fill:#1c1b19}}\n'
            f"svg g text{{font-size:12px}}\n{_rules(body)}</style>\n"
            f'<rect x="1" y="1" {card}/>\n{body}\n</svg>\n'
        )


def _drawn(chart: Chart | CountChart) -> str:
    """Draw a chart as pages do."""
    drawn = _templates().get_template("charts.html.j2").module
    return str(drawn.counts(chart) if isinstance(chart, CountChart) else drawn.chart(chart)).strip()


def _rules(body: str) -> str:
    """Take the rules of the page for what is drawn, in the colours of light pages."""
    used = {name for names in re.findall(r'class="([^"]+)"', body) for name in names.split()}
    css, _, _ = (_source("content.css")).partition("@media")
    colours = dict(re.findall(r"--([\w-]+):([^;]+);", str(_templates().get_template("colours.css.j2").module.light())))
    css = re.sub(r"var\(--([\w-]+)\)", lambda found: colours[found[1]], css)
    kept = []
    for selectors, rule in re.findall(r"([^{}]+)\{([^{}]*)\}", css):
        mine = [one.strip() for one in selectors.split(",") if _classes(one) and _classes(one) <= used]
        kept += [f"{','.join(mine)}{{{rule}}}\n"] if mine else []
    return "".join(kept)


def _classes(selector: str) -> set[str]:
    return set(re.findall(r"\.([\w-]+)", selector))


@cache
def _templates() -> jinja2.Environment:
    loader = jinja2.PackageLoader("embaudit.report")
    return jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)


def _source(name: str) -> str:
    loader = _templates().loader
    assert loader is not None
    return loader.get_source(_templates(), name)[0]
