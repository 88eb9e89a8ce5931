"""Pictures of the documentation: figures of matplotlib on a white card, as SVG."""

from __future__ import annotations

import re
from io import BytesIO
from textwrap import fill
from typing import TYPE_CHECKING

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from embaudit.report.display import LIGHT, page_style

if TYPE_CHECKING:
    from collections.abc import Sequence

    from embaudit.report.display import Display

PLAIN = {
    "svg.fonttype": "none",
    "svg.hashsalt": "embaudit",
    "font.family": "sans-serif",
    "font.size": 10,
}
"""How matplotlib draws figures of these pages."""
WITHIN = (0.02, 0.02, 0.96, 0.96)
"""The part of a card that a figure takes."""
MARGIN = 0.15
"""Inches between the edge of a card and its text."""
HEADING_SIZE, CAPTION_SIZE = 13, 9
"""Sizes of letters, in points."""
HEADING_WIDTH, CAPTION_WIDTH = 42, 66
"""Characters of a line, of which a card of 5.2 inches has room for so many."""
DOTS = 100
"""Dots per inch of the points of a scatter plot."""
HASHED_ID = re.compile(r'\bid="([a-z][0-9a-f]{10})"')
"""An id that matplotlib computes from the coordinates of a clip path or marker."""


def on_card(figure: Figure, label: str) -> str:
    """Write a figure on a white card as SVG.

    Figures that look the same give the same text on every machine.
    """
    figure.set(facecolor="white", edgecolor="#8b949e", linewidth=1)
    file = BytesIO()
    metadata = {"Title": label, "Date": None, "Creator": None}
    figure.savefig(file, format="svg", dpi=DOTS, metadata=metadata)
    return _with_numbered_ids(file.getvalue().decode())


def standalone(heading: str, displays: Sequence[Display]) -> str:
    """Write figures below each other, each with its caption, on a white card."""
    heading_text = fill(heading, HEADING_WIDTH)
    captions = [fill(shown.caption, CAPTION_WIDTH) for shown in displays]
    # A row for the heading, and a row for each figure and for each caption.
    heights = [_height(heading_text, HEADING_SIZE)]
    for shown, caption in zip(displays, captions, strict=True):
        heights += [shown.size[1], _height(caption, CAPTION_SIZE)]
    width = max(shown.size[0] for shown in displays)
    with mpl.rc_context(page_style(LIGHT)):
        layout = ConstrainedLayoutEngine(w_pad=MARGIN / 2)
        card = Figure(figsize=(width + MARGIN, sum(heights)), layout=layout)
        first, *rows = card.subfigures(len(heights), 1, height_ratios=heights)
        _write(first, heading_text, fontsize=HEADING_SIZE, fontweight="bold")
        for shown, caption, figure_row, caption_row in zip(
            displays, captions, rows[::2], rows[1::2], strict=True
        ):
            shown.plot(figure_row.add_subplot()).ax_.set_title("")
            _write(caption_row, caption, fontsize=CAPTION_SIZE)
        return on_card(card, heading)


def _with_numbered_ids(svg: str) -> str:
    """Replace hashes in ids by numbers.

    A hash depends on the last bits of coordinates, which differ between processors.
    """
    for number, hashed in enumerate(HASHED_ID.findall(svg), start=1):
        svg = re.sub(rf"\b{hashed}\b", f"shape{number}", svg)
    return svg


def _height(text: str, size: float) -> float:
    """Return the inches that lines of text take with a margin around them."""
    return 1.25 * size / 72 * (text.count("\n") + 1) + 2 * MARGIN


def _write(row: Figure, text: str, **font: object) -> None:
    left = MARGIN / row.bbox.width * row.dpi
    row.text(left, 0.5, text, va="center", **font)
