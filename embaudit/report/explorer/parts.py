"""What the template of the explorer is given besides numbers: words of claims and of the glossary, and the script."""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from hashlib import sha256
from importlib.resources import files
from json import dumps
from typing import TYPE_CHECKING, Any

from embaudit.auditing.alone import is_alone, said_of
from embaudit.auditing.glossary import WORDS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from embaudit.auditing import Audit
    from embaudit.report.explorer.explorer import Explorer

LABELS = {
    "exponent": "Exponent",
    "worst": "Budget κ, to the worst gauge found",
    "folded": "Final norm, folded in",
    "rotation": "A rotation (control)",
}
"""What sliders are called."""
NOUNS = {"identity": "scores", "sigmoid": "probabilities", "softmax": "probabilities", "cosine": "predicted cosines",
         "ranking": "leads"}  # fmt: skip
"""What a prediction that is shown is called."""


@cache
def script() -> str:
    """Read the script that computes in the page."""
    return files("embaudit.report").joinpath("templates/explorer.js").read_text(encoding="utf-8")


def explorer_parts(audit: Audit, found: Explorer) -> dict[str, Any]:
    """Collect what the template of the explorer shows; the page allows this script and no other."""
    digest = b64encode(sha256(script().encode()).digest()).decode()
    return {
        "explorer": found,
        "labels": LABELS,
        "noun": "scores" if is_alone(audit.model) else NOUNS[found.link],
        "heading": said_of(audit.model, "Predictions"),
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
    yield said_of(audit.model, WORDS["gauge"].meaning)
    role = audit.evidence.role
    yield from (claim.text for claim in audit.claims if claim.name in (f"pinned:{role}", f"undecided:{role}"))
    yield from (claim.text for claim in audit.claims if claim.name == "one-side")
    yield from (claim.text for claim in audit.claims if claim.name == "reached:none")


def _of_which(found: Explorer) -> str:
    few = f"{len(found.names):,} of {found.total:,} {found.title}s" if len(found.names) < found.total else "all"
    among = f"among {few}" if found.link in ("softmax", "ranking") and few != "all" else ""
    random = f"{found.other_title}s are drawn at random" if found.drawn else ""
    return "; ".join(part for part in (among, random) if part)
