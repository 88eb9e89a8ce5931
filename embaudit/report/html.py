"""An audit as a page or as a fragment for notebooks: no scripts, nothing loaded, no raw points."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from embaudit._version import __version__
from embaudit.foundation.words import visible
from embaudit.report.summary import grids, neighbour_lists, sentences

if TYPE_CHECKING:
    import jinja2

    from embaudit.auditing import Audit


@cache
def _environment() -> jinja2.Environment:
    import jinja2

    loader = jinja2.PackageLoader("embaudit.report")
    return jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)


def render(audit: Audit, *, template: str = "page.html.j2") -> str:
    """Render an audit to HTML.

    Parameters
    ----------
    audit : Audit
        What to show.
    template : {"page.html.j2", "fragment.html.j2"}
        A whole page, or the part a notebook embeds.
    """
    shown_in, examples = neighbour_lists(audit)
    content = {"audit": audit, "grids": grids(audit), "sentences": sentences(audit), "version": __version__}
    drawn = _environment().get_template(template)
    return drawn.render(**content, shown_in=shown_in, examples=examples, visible=visible)
