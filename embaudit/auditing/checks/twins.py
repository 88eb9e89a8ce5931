"""Whether rows are copies of each other, so that lists of neighbours hold one direction many times (EMB401)."""

from __future__ import annotations

from collections.abc import Iterator

from embaudit.auditing.claims.claim import Claim, Kind, Scope
from embaudit.auditing.evidence import Evidence
from embaudit.auditing.finding import Finding, Severity
from embaudit.foundation.words import percent


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
        title = f"{percent(twins.ci_low)} of {twins.title} rows are copies of another row; keep one of each"
        remedy = "Keep one row of each group, or find out why they never parted; read figures with copies counted once."
        yield Finding("EMB401", severity, title, claim, remedy)
