"""Whether rows are copies of each other, so that lists of neighbours hold one direction many times (EMB401)."""

from __future__ import annotations

from collections.abc import Iterator

from embaudit.auditing.claims.claim import Claim, Kind, Scope
from embaudit.auditing.evidence import Evidence
from embaudit.auditing.finding import Finding, Severity
from embaudit.foundation.words import percent
from embaudit.model import FactorModel, SideName, Softmax


def twin_rows(evidence: Evidence) -> Iterator[Finding]:
    """Tell how many rows of a side have a twin, where that is no matter of chance; of a sample, how many at least."""
    for traits in evidence.traits:
        twins = traits.twins
        if twins is None or twins.ci_low < evidence.thresholds["copies"] or not twins.beyond_chance:
            continue
        severity = Severity.ISSUE if twins.ci_low >= evidence.thresholds["many-copies"] else Severity.TIP
        text = f"{twins.explain()} Such rows fill each other's lists of neighbours."
        subject, scope = f"{twins.title} rows", Scope("the model at hand")
        claim = Claim(f"twins:{traits.role}", Kind.MEASURED, subject, scope, text, twins.share, "traits")
        title = f"{percent(twins.ci_low)} of {twins.title} rows are copies of another row; count them once"
        yield Finding("EMB401", severity, title, claim, _remedy(evidence.model, traits.role))


def _remedy(model: FactorModel, role: SideName) -> str:
    """Say where copies come from in such a model, and what to do about them.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> print(_remedy(FactorModel.from_user_item([[1.0]], [[1.0]]), "right"))
    Look at a few groups: items with the same few interactions end as copies, and so does what is listed twice. Show ...
    """
    title = model.title(role)
    if isinstance(model.link, Softmax) and role == "left":
        why = f"{title}s that are given twice are copies"
    elif isinstance(model.link, Softmax):
        why = f"{title}s that training hardly touched, such as unused tokens, stay copies"
    elif model.left is None:
        why = f"{title}s that training hardly touched stay copies, and so does what is listed twice"
    else:
        why = f"{title}s with the same few interactions end as copies, and so does what is listed twice"
    return f"Look at a few groups: {why}. Show one of each group, and read figures with copies counted once."
