"""Notes on whether the predictions fix cosines, and on what would decide it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from embaudit.auditing.diagnosis import Missing
from embaudit.auditing.finding import THIS_MODEL, Finding, Kind, Severity
from embaudit.auditing.wording import Nouns
from embaudit.canonical.quadratic_forms import LARGEST_SHOWN
from embaudit.core.words import counted, drawn_of
from embaudit.gauges import Gauge
from embaudit.linalg.pairs import n_pairs
from embaudit.model import Pairs, Role

if TYPE_CHECKING:
    from embaudit.auditing.equivalence_class import Freedom
    from embaudit.auditing.evidence import Evidence
    from embaudit.canonical import Moved, Pinning

NOTES = (
    "free",
    "pinned",
    "undecided",
    "rearranged",
    "unit_sides",
    "rows_missing",
    "untried",
    "to_decide",
)
"""Words of the notes that this module can write."""


def freedom(evidence: Evidence) -> Iterator[Finding]:
    """State for each kind of pairs whether equivalent models have other cosines."""
    equivalence = evidence.equivalence
    for role, argued in equivalence.freedom.items():
        moved = equivalence.rearrangement(role)
        if moved is None or equivalence.pinning is None:
            # A proof needs no witness.
            yield _freedom(evidence, role, argued, argued.mean_abs, None)
        else:
            witness = equivalence.pinning.witness
            yield _freedom(evidence, role, argued, moved.mean_abs, witness)
            yield _rearranged(evidence, role, moved, witness)


def _freedom(
    evidence: Evidence,
    role: Role,
    argued: Freedom,
    value: float | None,
    witness: Gauge | None,
) -> Finding:
    """State whether an equivalent model can have other cosines of one kind of pairs."""
    if argued.moves is None:
        code = "undecided"
    elif argued.moves:
        code = "free"
    else:
        code = "pinned"
    return Finding(
        code=code,
        severity=Severity.NOTE,
        kind=argued.kind,
        scope=evidence.equivalence.scope,
        rows=Nouns.from_model(evidence.model, role).cosines,
        role=role,
        value=value,
        witness=witness,
        text=argued.because,
    )


def _rearranged(
    evidence: Evidence, role: Role, moved: Moved, witness: Gauge | None
) -> Finding:
    """Report how far cosines move in a model whose rows keep their lengths."""
    pair_title = Pairs(role).titled(evidence.model)
    whole = evidence.model if evidence.uncut is None else evidence.uncut
    n_rows = len(whole.side(whole.side_name(role)).directed)
    nouns = Nouns.from_model(evidence.model, role)
    return Finding(
        code="rearranged",
        severity=Severity.NOTE,
        kind=Kind.SHOWN,
        scope=evidence.equivalence.scope,
        rows=nouns.cosines,
        role=role,
        value=moved.mean_abs,
        witness=witness,
        text=(
            "The rows can be rearranged, keeping their lengths and every "
            f"{nouns.prediction}. One such model moves {nouns.cosines} by "
            f"{moved.mean_abs:.2f} on average, and by {moved.max_abs:.2f} at most."
        ),
        measured_on=drawn_of(moved.n_pairs, n_pairs(n_rows), f"{pair_title} pair"),
    )


def unit_sides(evidence: Evidence) -> Iterator[Finding]:
    """Report unit rows if nobody declared how training compared them."""
    if not evidence.diagnosis.comparison_is_unknown:
        return
    yield Finding(
        code="unit_sides",
        severity=Severity.NOTE,
        kind=Kind.MEASURED,
        scope=THIS_MODEL,
        rows="rows of both sides",
        text=(
            "All rows of both sides have length 1, so dot products and cosines are the "
            "same. It is not declared which of the two was trained."
        ),
    )


def what_would_decide(evidence: Evidence) -> Iterator[Finding]:
    """Report what would decide whether the cosines are fixed, or that nothing would."""
    pinning, missing = evidence.equivalence.pinning, evidence.diagnosis.missing
    if pinning is None or missing is None:
        return
    if missing is Missing.METHOD:
        yield _undecided(
            evidence,
            "untried",
            f"A change of axes has {pinning.needed:,} numbers here, and embaudit tries "
            f"no proof above {LARGEST_SHOWN:,}.",
        )
    elif missing is Missing.ROWS:
        yield _rows_missing(evidence, pinning)
    else:
        cosines = Nouns.from_model(evidence.model, evidence.role).cosines
        clause = pinning.to_decide or "no method here decides it"
        yield _undecided(
            evidence,
            "to_decide",
            f"It is not decided whether an equivalent model has other {cosines}, and "
            f"{clause}.",
        )


def _undecided(
    evidence: Evidence, code: str, text: str, kind: Kind = Kind.UNDECIDED
) -> Finding:
    """Make a note on what would decide whether the cosines are fixed."""
    return Finding(
        code=code,
        severity=Severity.NOTE,
        kind=kind,
        scope=THIS_MODEL,
        rows=Nouns.from_model(evidence.model, evidence.role).cosines,
        text=text,
    )


def _rows_missing(evidence: Evidence, pinning: Pinning) -> Finding:
    """Report how many further rows would decide whether the cosines are fixed."""
    # Rows of both sides together can give as many conditions as there are unknowns.
    # Still nothing is proven, because one side alone has to give them.
    if pinning.rank == pinning.needed:
        text = (
            f"Too few rows: neither side alone fixes all {pinning.needed:,} unknowns."
        )
    else:
        text = (
            f"Too few rows: {counted(pinning.rank, 'condition')} for "
            f"{pinning.needed:,} unknowns."
        )
    text += f" {_missing_rows(evidence, pinning)} would decide it"
    if pinning.dimensions < pinning.width:
        text += f", if they span no more than these {pinning.dimensions:,} dimensions"
    return _undecided(evidence, "rows_missing", f"{text}.", Kind.MEASURED)


def _missing_rows(evidence: Evidence, pinning: Pinning) -> str:
    """Write how many further rows are missing on each side that could decide alone."""
    missing = pinning.rows_missing
    counts = set(missing.values())
    if len(missing) == 2 and len(counts) == 1:
        (count,) = counts
        plural = "row" if count == 1 else "rows"
        return f"{count:,} more {plural} of either side"
    parts = []
    for side, count in missing.items():
        title = evidence.model.title(side)
        plural = title if count == 1 else f"{title}s"
        parts.append(f"{count:,} more {plural}")
    return " or ".join(parts)
