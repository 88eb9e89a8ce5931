"""A whole page around any fragment that a result shows in a notebook, with its picture inside."""

from __future__ import annotations

from html import escape
from io import StringIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>body{{margin:2rem auto;padding:0 1rem;max-width:62rem;font:15px/1.5 system-ui,sans-serif}}
table{{border-collapse:collapse}}td,th{{padding:.25rem .7rem;text-align:right}}svg{{max-width:100%;height:auto}}</style>
</head>
<body>
<h1>{title}</h1>
{fragment}
{picture}
</body>
</html>
"""


def picture(draw: Callable[[Axes], object]) -> str:
    """Draw on fresh axes and return the picture as inline SVG, the same bytes every time."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context({"svg.hashsalt": "embaudit", "svg.fonttype": "path"}):
        figure = Figure(figsize=(7.5, 4.5), layout="constrained")
        draw(figure.add_subplot())
        text = StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()[text.getvalue().index("<svg") :]


def page(title: str, fragment: str, drawn: str = "") -> str:
    """Put a fragment, and a picture if there is one, into a page.

    Examples
    --------
    >>> "<h1>a &lt; b</h1>" in page("a < b", "<p>text</p>")
    True
    """
    return PAGE.format(title=escape(title), fragment=fragment, picture=drawn)
