"""EMB403: rows that all share one direction, so that any two have a high cosine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from embaudit.auditing.entry import Entry
from embaudit.auditing.finding import THIS_MODEL, Finding, Kind, Severity
from embaudit.auditing.wording import prediction_noun
from embaudit.core.ties import reaches
from embaudit.core.words import counted, percent
from embaudit.model import OPPOSITE, FactorModel, SideName

if TYPE_CHECKING:
    from embaudit.auditing.evidence import Evidence

ENTRY = Entry(
    "EMB403",
    also=("common direction",),
    title="all rows share one direction",
    severities=(Severity.TIP,),
    measured=(
        "The mean cosine of all pairs of rows, computed exactly from the sum of the "
        "unit rows. For at most 400 rows, the nearest rows before and after centring "
        "are compared. Zero rows do not count, except in a softmax head."
    ),
    reported=(
        "If the mean cosine is at least 0.5. Checked if at least 30 rows have "
        "different directions. Skipped for the labels of a head if EMB301 is reported."
    ),
    meaning=(
        "Two random rows have a high cosine, because all rows have a large component "
        "in common."
    ),
    why=(
        "A cosine of 0.8 says little if two random rows have a cosine of 0.7. The "
        "common component is no similarity of two rows."
    ),
    remedy=(
        "Compare a cosine with the cosines of random pairs. If centring is a gauge, "
        "centred rows are as good as the stored rows."
    ),
    reference="Mu, Viswanath: All-but-the-Top (ICLR 2018).",
)

ALIKE = 0.5
"""Smallest mean cosine of two rows that is reported."""


def check(evidence: Evidence) -> Iterator[Finding]:
    """Report sides whose rows have a high mean cosine."""
    for traits in evidence.traits:
        shared = traits.direction
        if shared is None or not reaches(shared.mean_cosine, ALIKE):
            continue
        if traits.role == "right" and _is_reported_as_mean_row(evidence):
            continue
        item = evidence.model.title(traits.role)
        n_rows = counted(shared.centring.n_rows, item)
        yield Finding(
            code=ENTRY.name,
            severity=Severity.TIP,
            kind=Kind.MEASURED,
            scope=THIS_MODEL,
            rows=f"{item} rows",
            role=traits.role,
            value=shared.mean_cosine,
            title=(
                f"any two {item}s have cosine {shared.mean_cosine:.2f} on average, so "
                "a high cosine says less"
            ),
            text=(
                f"The mean row is {shared.offset:.2g} of a typical row (median) long. "
                f"Without it, {percent(1 - shared.centring.share)} of {n_rows} keep "
                f"their nearest {item}. "
                f"{_effect_of_centring(evidence.model, traits.role)}"
            ),
            remedy=(
                f"Compare a cosine with the cosines of random {item}s, not with 0."
            ),
        )


def _is_reported_as_mean_row(evidence: Evidence) -> bool:
    """Return True if the finding on the mean row of a head (EMB301) says the same."""
    return evidence.head is not None and evidence.head.origin_matters


def _effect_of_centring(model: FactorModel, role: SideName) -> str:
    """Write if removing the mean row makes an equivalent model or another one."""
    if role in model.free_shifts:
        noun = prediction_noun(model)
        return (
            f"Removing it changes no {noun}, so lists with and without it are equally "
            "good."
        )
    if model.left is None:
        return (
            "Removing it makes other vectors: then cosines compare the remaining "
            f"parts of two {model.title(role)}s."
        )
    if role in model.link.unit_sides:
        return (
            f"Removing it changes the {model.link.noun}, so it would make another "
            "model."
        )
    other = model.title(OPPOSITE[role])
    return (
        f"Removing it adds a number to all scores of each {other}, so it would make "
        "another model."
    )
