"""A display as a file or as a part of a page: the same bytes for the same numbers."""

from __future__ import annotations

import re
import warnings
from html import escape
from io import BytesIO
from typing import TYPE_CHECKING, Any

from embaudit.errors import must_be
from embaudit.io.files import AnyPath, as_path
from embaudit.report.display import AMBER, BLUE, INK, LINE, RED, SOFT, TEAL, TITLE

if TYPE_CHECKING:
    from embaudit.report.display import Display

UNDATED: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "svg": {"Date": None, "Creator": None, "Format": None, "Type": None},
    "pdf": {"Creator": None, "Producer": None, "CreationDate": None},
}
"""Formats, and what each would say of when and with what it was written."""
DOTS = 150
"""Dots an inch, of cells too."""
FIXED: dict[Any, Any] = {"svg.hashsalt": "embaudit", "pdf.fonttype": 42, "font.sans-serif": ["DejaVu Sans"]}
PAGE: dict[Any, Any] = {
    **FIXED,
    "svg.fonttype": "none",
    "font.size": 10,
    "text.color": INK,
    "axes.edgecolor": SOFT,
    "axes.labelcolor": SOFT,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": LINE,
    "legend.frameon": False,
    **{f"{axis}tick.{what}": value for axis in "xy" for what, value in (
        ("color", SOFT), ("labelcolor", INK), ("labelsize", 9), ("major.size", 0), ("minor.size", 0))},
}  # fmt: skip
"""How matplotlib draws for a page: text as text, and no marks that would need names of their own."""
NAMES = {BLUE: "blue", TEAL: "teal", AMBER: "warn", RED: "bad", INK: "ink", SOFT: "soft", LINE: "line"}
"""Names of the colours of pictures on a page."""
BARE = (
    (r' (?:id|clip-path)="[^"]*"| transform="rotate\(-0 [^"]*"', ""),
    ("xlink:href", "href"),
    (r"font: ([\d.]+px) [^;\"]*", r"font-size: \1"),
    (r"font-family: [^;\"]*;? ?", ""),
    (r"\s*\n\s*", "\n"),
    (r"<g/>\n|<g>\n</g>\n", ""),
)
"""Patterns within SVG that a page does without, and their replacements."""


def picture_format(path: AnyPath) -> str:
    """Return the format that the suffix of a picture names.

    Raises
    ------
    InputError
        For any other suffix.

    Examples
    --------
    >>> picture_format("heat.PNG")
    'png'
    >>> picture_format("heat.gif")
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: a picture must be a file that ends in .png, .svg or .pdf; got heat.gif.
    """
    where = as_path(path, "a picture")
    suffix = where.suffix.lower().removeprefix(".")
    if suffix not in UNDATED:
        raise must_be("a picture", "a file that ends in .png, .svg or .pdf", where)
    return suffix


def drawn_file(shown: Display, kind: str) -> bytes:
    """Draw numbers on a figure of their own and render it as PNG, SVG or PDF."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    contents = BytesIO()
    # A fixed salt for ids, one font, and no dates: the same numbers give the same bytes.
    with rc_context(FIXED):
        figure = Figure(figsize=shown.size, layout="constrained")
        shown.plot(figure.add_subplot())
        figure.savefig(contents, format=kind, dpi=DOTS, metadata=UNDATED[kind])
    return contents.getvalue()


def drawn_inline(shown: Display) -> str:
    """Draw numbers as SVG within HTML, in the colours and letters of the page around it, described by its caption.

    Nothing in it has an id, so that any number of pictures may stand on one page.
    """
    from matplotlib import style
    from matplotlib.figure import Figure

    contents = BytesIO()
    with style.context(["default", PAGE]), warnings.catch_warnings():
        # The reader's own fonts draw the text.
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        figure = Figure(figsize=shown.size, layout="constrained")
        shown.plot(figure.add_subplot())
        # A page writes the title below the picture, in text that breaks into lines.
        for text in figure.findobj(lambda each: each.get_gid() == TITLE):
            text.set_visible(False)
        figure.savefig(contents, format="svg", dpi=DOTS, transparent=True, metadata=UNDATED["svg"])
    width, height = (72 * length for length in shown.size)
    words = f'viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{escape(shown.caption)}"'
    return f"<svg {words}>{_bare(contents.getvalue())}</svg>"


def _bare(file: bytes) -> str:
    """Take what a file draws, without ids, outside references and the font that it was measured with."""
    # Head, style and outer element are made for a file; within a page the caller writes its own.
    body = file.decode().partition("</style>\n </defs>\n")[2].removesuffix("</svg>\n")
    # Marks are defined once and placed by id. Written out at each place they need no id, which must be unique on a
    # page.
    shapes = dict(re.findall(r'<path id="(\w+)" d="([^"]*)"', body))
    body = re.sub(r"<defs>.*?</defs>", "", body, flags=re.DOTALL)

    def placed(use: re.Match[str]) -> str:
        attributes = dict(re.findall(r'([\w:]+)="([^"]*)"', use[0]))
        shape, x, y = shapes[attributes["xlink:href"][1:]], attributes.get("x", 0), attributes.get("y", 0)
        return f'<path d="{shape}" transform="translate({x} {y})" style="{attributes.get("style", "")}"/>'

    body = re.sub(r"<use [^>]*/>", placed, body)
    for pattern, instead in BARE:
        body = re.sub(pattern, instead, body)
    # The page decides what a colour looks like, in light and in dark.
    for colour, name in NAMES.items():
        body = body.replace(colour, f"var(--{name})")
    # Bare groups say nothing; they can be removed by pattern only where no other group needs its closing tag.
    body = body if "<g " in body else re.sub("</?g>\n?", "", body)
    return re.sub("<[^>]*>", _rounded, body)


def _rounded(tag: re.Match[str]) -> str:
    """Place what a tag draws to a hundredth of a point; text between tags stays."""
    return re.sub(r"\d+\.\d{3,}", lambda number: f"{float(number[0]):.2f}", tag[0])
