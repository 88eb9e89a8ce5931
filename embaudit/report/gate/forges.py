"""An audit and the outcome of its gate as JUnit and Markdown, for forges and chats.

JUnit has the elements that Jenkins, GitLab and GitHub actions agree on.
"""

from __future__ import annotations

import re
from typing import Any

from embaudit._version import __version__
from embaudit.auditing.audit import Audit
from embaudit.auditing.catalogue import CODES
from embaudit.auditing.entry import Entry
from embaudit.core.results import Result
from embaudit.core.words import cut
from embaudit.errors import escaped
from embaudit.report.document import ROWS, Origin
from embaudit.report.documents import document
from embaudit.report.gate.gate import MOVED, Outcome

WORDS = 300
"""Characters of a title or a path at most."""
MARKS = re.compile(r"([\\`*_{}\[\]<>|~&])")
ACTS = {"@": "&#64;", "#": "&#35;", "://": "&#58;//"}
"""Replacements of what becomes a mention, a reference or a link although a backslash
stands before it.
"""


def junit(audit: Audit, outcome: Outcome) -> str:
    """Write a test case for the predictions and for each code.

    A test case fails if a finding stops the release, and is skipped if the code is
    ignored or could not be checked.
    """
    # Codes without a finding are test cases, too, so that a forge shows what passed.
    cases = {
        code: [judged for judged in outcome.judged if judged.finding.code == code.name]
        for code in CODES.values()
    }
    ignored = {
        name
        for name, findings in cases.items()
        if any(judged.status == "ignored" for judged in findings)
    }
    stopped = {
        name
        for name, findings in cases.items()
        if any(judged.stops for judged in findings)
    }
    # A code has failed as soon as one of its findings stops, whatever else of it is
    # ignored.
    skipped = (
        {CODES[MOVED]: "no scores of a baseline to compare with"}
        if audit.evidence.score_change is None
        else {}
    )
    skipped |= dict.fromkeys(ignored - stopped, "ignored by the settings of the gate")
    return filled(
        "junit.xml.j2",
        audit=audit,
        outcome=outcome,
        cases=cases,
        stopped=stopped,
        skipped=skipped,
    )


def markdown(audit: Audit, outcome: Outcome) -> str:
    """Write the answer and the findings for a comment on a change."""
    codes = [
        CODES[name]
        for name in dict.fromkeys(judged.finding.code for judged in outcome.judged)
    ]
    return filled("audit.md.j2", audit=audit, outcome=outcome, codes=codes)


def comment(result: Result, title: str = "", origin: Origin | None = None) -> str:
    r"""Write the conclusion, the first table and the notes of a result as Markdown.

    Examples
    --------
    >>> from embaudit.blocks import block_cosines
    >>> text = comment(block_cosines([1, 1], [1, 2]), "a.npy & b.npy")
    >>> print("\n".join(text.splitlines()[:3]))
    ### embaudit: a.npy \& b.npy
    <BLANKLINE>
    The global cosine is 0.9487: 0.9487, the cosine of the block norms, × 1.0000, ...
    """
    view = document(result)
    remarks = () if origin is None else origin.remarks
    return filled(
        "comment.md.j2",
        view=view,
        title=title,
        origin=origin,
        tables=[table.head(ROWS) for table in view.tables[:1]],
        notes=(*remarks, *view.notes),
    )


def filled(template: str, **values: Any) -> str:
    """Fill a template of Markdown or XML.

    Templates of Markdown escape texts by `plain`. Those of XML shorten texts by `line`,
    and jinja2 escapes them.
    """
    from embaudit.report.page import environment

    templates = environment(escapes=".xml" in template)
    templates.filters |= {
        "plain": plain_text,
        "line": _line,
        "explained": _explained,
        "coded": _coded,
    }
    return templates.get_template(template).render(version=__version__, **values) + "\n"


def _explained(code: Entry) -> str:
    """Write the explanation of a code as a list in Markdown."""
    return "\n".join(
        f"- *{heading}*: {_coded(text)}" for heading, text in code.sections
    )


def _coded(text: str) -> str:
    r"""Write a text of our own as Markdown, in which what it sets as code stays so.

    Examples
    --------
    >>> print(_coded("`--objective` of a|b"))
    `--objective` of a\|b
    """
    pieces = re.split("(`[^`|]*`)", text)
    return "".join(
        piece if piece.startswith("`") else plain_text(piece) for piece in pieces
    )


def plain_text(text: str) -> str:
    r"""Write a text so that Markdown reads it as one line of text and nothing else.

    Examples
    --------
    >>> print(plain_text("a|b <script> [x](y) @z"))
    a\|b \<script\> \[x\](y) &#64;z
    """
    # Marks are escaped first, since the replacements after them hold an ampersand of
    # their own.
    return re.sub(
        "|".join(ACTS),
        lambda mark: ACTS[mark[0]],
        MARKS.sub(r"\\\1", _line(text, 10 * WORDS)),
    )


def _line(text: str, most: int = WORDS) -> str:
    """Cut a text to one short line of characters that XML allows."""
    return cut(escaped(text.replace("\n", " ")), most)
