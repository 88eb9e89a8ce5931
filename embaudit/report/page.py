"""The page of a result: one HTML file that loads nothing and holds its figures."""

from __future__ import annotations

from base64 import b64encode
from contextlib import suppress
from dataclasses import replace
from functools import cache

import jinja2
from markupsafe import Markup, escape

from embaudit._version import __version__
from embaudit.auditing.audit import Audit
from embaudit.auditing.catalogue import codes_for
from embaudit.auditing.wording import USERS_AND_ITEMS, Nouns
from embaudit.core.results import PlottableResult, Result
from embaudit.errors import InputError, escaped
from embaudit.report.audit_document import audit_document
from embaudit.report.display import DARK, LIGHT, Display, Palette, drawn_on_page
from embaudit.report.document import LONGEST, ROWS, Origin, read_parts
from embaudit.report.documents import document
from embaudit.report.explorer import explorer_parts
from embaudit.report.pictures import display
from embaudit.report.tables import Table

_CODE = Markup("<code>{}</code>")
_WHOLE = Markup('<span class="whole">{}</span>')


def environment(*, escapes: bool) -> jinja2.Environment:
    """Return the environment of the templates of reports.

    Parameters
    ----------
    escapes : bool
        True to escape characters that are markup in HTML and XML.
    """
    # A misspelt name in a template raises an error instead of leaving a gap on the
    # page.
    loader, undefined = jinja2.PackageLoader("embaudit.report"), jinja2.StrictUndefined
    return jinja2.Environment(
        loader=loader,
        autoescape=escapes,  # noqa: S701
        undefined=undefined,
        trim_blocks=True,
    )


@cache
def _template(name: str) -> jinja2.Template:
    templates = environment(escapes=True)
    templates.filters |= {
        "coded": coded,
        "unbroken": unbroken,
        "fitted": fitted,
        "table_text": table_text,
        "image": image,
    }
    templates.globals |= {"LIGHT": LIGHT, "DARK": DARK}
    return templates.get_template(name)


def image(shown: Display, palette: Palette) -> str:
    """Draw a figure in the colours of a palette, and return it as the URL of an SVG.

    Examples
    --------
    >>> import numpy as np
    >>> from base64 import b64decode
    >>> from embaudit.report.figures import StackDisplay
    >>> bars = StackDisplay({"name": ["items"], "all": np.ones(1)}, "bars", ("blue",))
    >>> url = image(bars, DARK)
    >>> url[:26], DARK["blue"] in b64decode(url[26:]).decode()
    ('data:image/svg+xml;base64,', True)
    """
    svg = drawn_on_page(shown, palette)
    return f"data:image/svg+xml;base64,{b64encode(svg).decode()}"


def coded(text: str) -> Markup:
    """Set what stands between backticks as code.

    Examples
    --------
    >>> str(coded("run `fix <MODEL>` now")), str(coded("a ` alone"))
    ('run <code>fix &lt;MODEL&gt;</code> now', 'a ` alone')
    """
    *pairs, last = text.split("`")
    parts = []
    for position, part in enumerate(pairs):
        is_code = position % 2 == 1
        parts.append(_CODE.format(unbroken(part)) if is_code else escape(part))
    # Without its partner a backtick is a letter.
    if len(pairs) % 2 == 1:
        parts.append(Markup("`"))
    return Markup("").join([*parts, escape(last)])


def unbroken(text: str) -> Markup:
    """Keep options and words between bars on one line.

    Browsers break lines behind the dashes of an option and behind a bar.

    Examples
    --------
    >>> str(unbroken("fix <MODEL> --as centred"))
    'fix &lt;MODEL&gt; <span class="whole">--as</span> centred'
    >>> str(unbroken("mean |Δcos|"))
    'mean <span class="whole">|Δcos|</span>'
    """
    return Markup(" ").join(
        _WHOLE.format(word) if word.startswith(("--", "|")) else escape(word)
        for word in text.split(" ")
    )


def table_text(text: str) -> Markup:
    r"""Write a heading or a value of a table, with a percentage on one line.

    Examples
    --------
    >>> str(table_text("84 % (76 %)"))
    '84\xa0% (76\xa0%)'
    """
    return unbroken(text.replace(" %", "\xa0%"))


def fitted(table: Table) -> Table:
    """Keep as many rows, and as much of a name, as can be read on a page."""
    return table.head(ROWS).shortened(LONGEST)


def fragment(result: Result) -> str:
    """Write the top of the page for a notebook, whose own style does not change.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> from embaudit.movements import movement
    >>> model = FactorModel.from_vectors([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    >>> fragment(movement(model, model)).count("<table>")
    1
    """
    return _harmless(_template("fragment.html.j2").render(view=document(result)))


def page(result: Result, title: str = "", origin: Origin | None = None) -> str:
    """Write a whole page, with pictures of the result where it has some.

    Parameters
    ----------
    result : Result
        What to show.
    title : str, optional
        What to call it, such as the file it is about.
    origin : Origin, optional
        Where it came from, as far as it does not know that itself.
    """
    origin = origin or Origin()
    seed = () if origin.seed is None else (("seed", str(origin.seed)),)
    if isinstance(result, Audit):
        title, parts = (
            title or f"Audit of {result.source or 'a model'}",
            explorer_parts(result),
        )
        origin = replace(
            origin, intakes=() if result.intake is None else (("", result.intake),)
        )
        view = audit_document(result, origin.invocation)
    else:
        view, parts = document(result), {"explorer": None, "allowed": ""}
    nouns = (
        Nouns.from_model(result.model) if isinstance(result, Audit) else USERS_AND_ITEMS
    )
    entries = codes_for(nouns)
    codes = [entries[name] for name in dict.fromkeys(one.code for one in view.findings)]
    return _harmless(
        _template("result.html.j2").render(
            view=view,
            title=title,
            origin=origin,
            parts_of=lambda intake: tuple(read_parts(intake)),
            made=(*view.facts, *seed, ("embaudit", __version__)),
            # Audits draw pictures in their sections, and other documents may have one
            # at the top.
            pictures=() if view.top or view.answer else _picture(result),
            codes=codes,
            conclusions=getattr(result, "conclusions", ()),
            **parts,
        )
    )


def _harmless(written: str) -> str:
    # Line by line: escaped as a whole, the text would lose its line breaks.
    return "\n".join(map(escaped, written.split("\n")))


def _picture(result: Result) -> tuple[Display, ...]:
    """Take the picture of a result, where it holds something that can be drawn."""
    # Some results hold nothing to draw, such as a report without groupings.
    with suppress(InputError):
        return (display(result),) if isinstance(result, PlottableResult) else ()
    return ()
