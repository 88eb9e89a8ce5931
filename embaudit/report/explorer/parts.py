"""What the template of the explorer is given besides numbers: words of claims and of the glossary, and the script."""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.resources import files
from json import dumps
from typing import TYPE_CHECKING, Any

from embaudit.auditing.one_sided_wording import in_titles, is_alone, worded_for
from embaudit.auditing.texts import WORDS
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
"""What sliders are called, but for that of exponents, which names the sides."""
NOUNS = {"identity": "scores", "sigmoid": "probabilities", "softmax": "probabilities", "cosine": "predicted cosines",
         "ranking": "leads"}  # fmt: skip
"""What a prediction that is shown is called."""


@cache
def script() -> str:
    """Read the script that computes in the page."""
    return files("embaudit.report").joinpath("templates/explorer.js").read_text(encoding="utf-8")


def explorer_parts(audit: Audit, found: Explorer) -> dict[str, Any]:
    """Collect what the template of the explorer shows; the page allows this script and no other."""
    right, left = (f"{audit.evidence.model.title(side)}s" for side in ("right", "left"))
    digest = b64encode(sha256(script().encode()).digest()).decode()
    return {
        "explorer": found,
        "labels": LABELS | {EXPONENT: f"From {left} whitened (0) to {right} whitened (1)"},
        "shows": found.shows,
        "among": _among(found, counted_rows=audit.evidence.model.side(shown_side(audit)).counts is not None),
        "noun": "scores" if is_alone(audit.model) else NOUNS.get(found.link, "scores"),
        "heading": worded_for(audit.model, "Predictions"),
        "explained": tuple(_explained(audit)),
        "of_which": _of_which(found),
        "held": held(found),
        "script": script(),
        "allowed": f"; script-src 'sha256-{digest}'",
    }


def held(found: Explorer) -> str:
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
    text = dumps(found.to_dict(), ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _explained(audit: Audit) -> Iterator[str]:
    """Say what a gauge is, and what is known of the cosines explored."""
    gauge = in_titles(audit.model, WORDS["gauge"].meaning)
    yield f"Each setting is a gauge: {gauge[0].lower()}{gauge[1:]}"
    role = audit.evidence.role
    told = [one for one in audit.conclusions if one.role in (None, role)]
    yield from (one.text for one in told if one.code in ("pinned", "undecided", "one_side", "not_searched"))


def _among(found: Explorer, *, counted_rows: bool) -> str:
    """Say which rows are looked at, so that a share among them is not taken for one among all."""
    few, title = f"{len(found.names):,}", f"{found.title}s"
    if len(found.names) == found.total:
        return f"all {few} {title}"
    which = "those with most interactions" if counted_rows else "the longest"
    return f"{few} of {found.total:,} {title}: {which}, one of each group of copies; lists are of these alone"


def _of_which(found: Explorer) -> str:
    few = f"{len(found.names):,} of {found.total:,} {found.title}s" if len(found.names) < found.total else "all"
    among = f"among {few}" if found.link in ("softmax", "ranking") and few != "all" else ""
    random = f"{found.other_title}s are drawn at random" if found.drawn else ""
    return "; ".join(part for part in (among, random) if part)
