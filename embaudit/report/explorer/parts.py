"""Values for the template of the explorer besides numbers: words of claims and of the glossary, and the script."""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.resources import files
from json import dumps
from typing import TYPE_CHECKING, Any

from embaudit.auditing.texts import WORDS
from embaudit.auditing.wording import in_titles, is_alone, worded_for
from embaudit.report.audit_tables import shown_side
from embaudit.report.explorer.family import EXPONENT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from embaudit.auditing import Audit
    from embaudit.report.explorer.explorer import Explorer

LABELS = {
    "worst": "Distort the axes, up to the worst case found",
    "folded": "Fold the final norm in, step by step",
    "rotation": "Rotate the axes (control: moves nothing)",
}
"""Labels of sliders, but for that of exponents, which names the sides."""
NOUNS = {"identity": "scores", "sigmoid": "probabilities", "softmax": "probabilities", "cosine": "predicted cosines",
         "ranking": "leads"}  # fmt: skip
"""Nouns for the predictions that are shown."""


@cache
def script() -> str:
    """Read the script that computes in the page."""
    return files("embaudit.report").joinpath("templates/explorer.js").read_text(encoding="utf-8")


def explorer_parts(audit: Audit, explored: Explorer) -> dict[str, Any]:
    """Collect what the template of the explorer shows; the page allows this script and no other."""
    right, left = (f"{audit.evidence.model.title(side)}s" for side in ("right", "left"))
    digest = b64encode(sha256(script().encode()).digest()).decode()
    return {
        "explorer": explored,
        "labels": LABELS | {EXPONENT: f"From {left} whitened (0) to {right} whitened (1)"},
        "shows": explored.shows,
        "among": _among(explored, counted_rows=audit.evidence.model.side(shown_side(audit)).counts is not None),
        "noun": "scores" if is_alone(audit.model) else NOUNS.get(explored.link, "scores"),
        "heading": worded_for(audit.model, "Predictions"),
        "explained": tuple(_explained(audit)),
        "of_which": _of_which(explored),
        "held": held(explored),
        "script": script(),
        "allowed": f"; script-src 'sha256-{digest}'",
    }


def held(explored: Explorer) -> str:
    r"""Write numbers and names so that no name ends the element they stand in.

    Examples
    --------
    >>> from embaudit.auditing import audit
    >>> from embaudit.model import FactorModel
    >>> from embaudit.report.explorer import explorer
    >>> model = FactorModel.from_vectors([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], ids=["</script>", "b", "c"])
    >>> "\\u003c/script\\u003e" in held(explorer(audit(model)))
    True
    """
    text = dumps(explored.to_dict(), ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _explained(audit: Audit) -> Iterator[str]:
    """Yield the meaning of a gauge, and findings on the cosines explored."""
    gauge = in_titles(audit.model, WORDS["gauge"].meaning)
    yield f"Each setting is a gauge: {gauge[0].lower()}{gauge[1:]}"
    role = audit.evidence.role
    told = [each for each in audit.conclusions if each.role in (None, role)]
    yield from (each.text for each in told if each.code in ("pinned", "undecided", "one_side", "not_searched"))


def _among(explored: Explorer, *, counted_rows: bool) -> str:
    """Name the rows that are explored, so that a share among them is not taken for one among all."""
    few, title = f"{len(explored.names):,}", f"{explored.title}s"
    if len(explored.names) == explored.total:
        return f"all {few} {title}"
    which = "those with most interactions" if counted_rows else "the longest"
    return f"{few} of {explored.total:,} {title}: {which}, one of each group of duplicates; lists are of these alone"


def _of_which(explored: Explorer) -> str:
    few = (
        f"{len(explored.names):,} of {explored.total:,} {explored.title}s"
        if len(explored.names) < explored.total
        else "all"
    )
    among = f"among {few}" if explored.link in ("softmax", "ranking") and few != "all" else ""
    random = f"{explored.other_title}s are drawn at random" if explored.drawn else ""
    return "; ".join(text for text in (among, random) if text)
