"""One page for every result: one file, nothing loaded, no raw points; its pictures are drawn inside."""

from __future__ import annotations

import warnings
from functools import cache
from io import StringIO
from typing import TYPE_CHECKING

from embaudit.auditing import Audit
from embaudit.auditing.answer import Word
from embaudit.errors import InputError, escaped
from embaudit.foundation.results import Drawn
from embaudit.report.audit_view import audit_view
from embaudit.report.explorer import explorer
from embaudit.report.explorer.parts import explorer_parts
from embaudit.report.shown import ROWS, shown

KINDS = {Word.YES: "yes", Word.NO: "no", Word.CONVENTION: "convention", Word.UNSAID: "unsaid"}
"""How an answer is coloured."""

if TYPE_CHECKING:
    from collections.abc import Callable

    import jinja2
    from matplotlib.axes import Axes

    from embaudit.foundation.results import Result


@cache
def _template(name: str) -> jinja2.Template:
    import jinja2

    loader, undefined = jinja2.PackageLoader("embaudit.report"), jinja2.StrictUndefined
    drawn = jinja2.Environment(loader=loader, autoescape=True, undefined=undefined, trim_blocks=True)
    return drawn.get_template(name)


def fragment(result: Result) -> str:
    """Write what a notebook embeds.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> from embaudit.movements import movement
    >>> model = FactorModel.from_vectors([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    >>> fragment(movement(model, model)).count("<table>")
    1
    """
    return _template("fragment.html.j2").render(content=shown(result), most=ROWS, picture="")


def page(result: Result, title: str = "") -> str:
    """Write a whole page, with the picture of the result where it has one.

    Parameters
    ----------
    result : Result
        What to show.
    title : str, optional
        What to call it, such as the file it is about.
    """
    written = _audit_page(result, title) if isinstance(result, Audit) else _result_page(result, title)
    return "\n".join(map(escaped, written.split("\n")))


def _result_page(result: Result, title: str) -> str:
    content = shown(result)
    named, drawn = title or content.title, _picture(result)
    return _template("page.html.j2").render(content=content, title=named, most=ROWS, picture=drawn, allowed="")


def _audit_page(audit: Audit, title: str) -> str:
    named, kind = title or f"Audit of {audit.source or 'a model'}", KINDS[audit.answer.word]
    found = explorer(audit)
    parts = {"explorer": None, "allowed": ""} if found is None else explorer_parts(audit, found)
    return _template("audit.html.j2").render(view=audit_view(audit), title=named, kind=kind, **parts)


def _picture(result: Result) -> str:
    try:
        return picture(result.plot) if isinstance(result, Drawn) else ""
    except InputError:
        # Some results hold nothing that could be drawn.
        return ""


def picture(draw: Callable[[Axes], object]) -> str:
    """Draw on fresh axes and return the picture as inline SVG, the same bytes every time."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    # Text as text: a page stays small, and its pictures can be searched.
    with (
        mpl.rc_context({"svg.hashsalt": "embaudit", "svg.fonttype": "none", "font.sans-serif": ["DejaVu Sans"]}),
        warnings.catch_warnings(),
    ):
        # The reader's own fonts draw the text.
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        figure = Figure(figsize=(7.5, 4.5), layout="constrained")
        draw(figure.add_subplot())
        text = StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None})
    return text.getvalue()[text.getvalue().index("<svg") :]
