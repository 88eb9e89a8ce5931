"""A display as a file: PNG, SVG or PDF, with the same bytes for the same numbers."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, Any

from embaudit.errors import must_be
from embaudit.io.files import AnyPath, as_path

if TYPE_CHECKING:
    from embaudit.report.display import Display

UNDATED: dict[str, dict[str, Any]] = {
    "png": {"Software": None},
    "svg": {"Date": None},
    "pdf": {"Creator": None, "Producer": None, "CreationDate": None},
}
"""Formats, and what each would say of when and with what it was written."""
DOTS = 150
"""Dots an inch, of cells too."""


def picture_format(path: AnyPath) -> str:
    """Tell by its suffix what a picture shall be written as.

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
    found = where.suffix.lower().removeprefix(".")
    if found not in UNDATED:
        raise must_be("a picture", "a file that ends in .png, .svg or .pdf", where)
    return found


def drawn_file(shown: Display, kind: str) -> bytes:
    """Draw numbers on a figure of their own and render it as PNG, SVG or PDF."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    contents = BytesIO()
    with rc_context({"svg.hashsalt": "embaudit", "pdf.fonttype": 42, "font.sans-serif": ["DejaVu Sans"]}):
        figure = Figure(figsize=shown.size, layout="constrained")
        shown.plot(figure.add_subplot())
        figure.savefig(contents, format=kind, dpi=DOTS, metadata=UNDATED[kind])
    return contents.getvalue()
