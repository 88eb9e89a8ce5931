"""Pictures of pages that stand alone: one SVG file, light on dark pages too, under a heading of its own."""

from __future__ import annotations

import re
from html import escape
from io import StringIO
from textwrap import wrap
from typing import TYPE_CHECKING

from embaudit.report.display import NAMES, drawn_inline

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

    from embaudit.report.display import Display

FONT = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif"
HEADING = 'font-size="15" font-weight="600"'
MARGIN, LINE, LONGEST, SHORT = 16, 16, 62, 40
"""Margin, height of a line, and most characters of a line and of a heading."""

PLAIN = {
    "svg.fonttype": "none",
    "svg.hashsalt": "embaudit",
    "font.family": "sans-serif",
    "font.size": 10,
}
"""How matplotlib draws figures of these pages."""
WITHIN = (0.02, 0.02, 0.96, 0.96)
"""The part of a card that a figure takes."""


def on_card(figure: Figure, label: str) -> str:
    """Write a figure of matplotlib on a white card: the same bytes for the same numbers."""
    file = StringIO()
    figure.savefig(
        file,
        format="svg",
        transparent=True,
        metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")),
    )
    body = file.getvalue().partition("<svg ")[2].partition(">")[2]
    for number, name in enumerate(
        dict.fromkeys(re.findall(r'id="([mp][0-9a-f]{10})"', body))
    ):
        body = body.replace(name, f"shape_{number}")
    width, height = (round(72 * length) for length in figure.get_size_inches())
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'width="{width}" viewBox="0 0 {width} {height}" role="img" aria-label="{escape(label)}">\n'
        f'<rect x="1" y="1" width="{width - 2}" height="{height - 2}" rx="10" fill="#ffffff" stroke="#8b949e"/>{body}'
    )


def standalone(heading: str, displays: Sequence[Display]) -> str:
    """Write pictures below each other, each with its caption, on a white card."""
    width, y = 72 * max(shown.size[0] for shown in displays), MARGIN + 18
    first, *more = wrap(heading, SHORT)
    parts = [_text(first, y, HEADING)]
    for line in more:
        y += LINE + 4
        parts.append(_text(line, y, HEADING))
    for shown in displays:
        parts.append(f'<g transform="translate({MARGIN} {y + 12})">{_body(shown)}</g>')
        y += 12 + round(72 * shown.size[1])
        for line in wrap(shown.caption, LONGEST):
            y += LINE
            parts.append(_text(line, y, 'font-size="11"'))
    body, width, height = "\n".join(parts), round(width) + 2 * MARGIN, y + MARGIN
    box = f'width="{width}" viewBox="0 0 {width} {height}" role="img" aria-label="{escape(heading)}"'
    card = f'width="{width - 2}" height="{height - 2}" rx="10" fill="#ffffff" stroke="#8b949e"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {box}>\n<style>text{{font-family:{FONT}}}</style>\n'
        f'<rect x="1" y="1" {card}/>\n{body}\n</svg>\n'
    )


def _body(shown: Display) -> str:
    """Draw as pages do, in the colours of light ones."""
    body = re.sub(r"^<svg [^>]*>|</svg>$", "", drawn_inline(shown))
    for colour, name in NAMES.items():
        body = body.replace(f"var(--{name})", colour)
    return body


def _text(words: str, y: int, how: str) -> str:
    return f'<text x="{MARGIN}" y="{y}" fill="#1c1b19" {how}>{escape(words)}</text>'
