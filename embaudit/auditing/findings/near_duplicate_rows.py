"""EMB414: rows that are far closer to their nearest row than usual, but not equal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from embaudit.auditing.effect import HANDFUL
from embaudit.auditing.entry import Entry
from embaudit.auditing.finding import THIS_MODEL, Finding, Kind, Severity
from embaudit.auditing.near_duplicates import NEAR
from embaudit.core.ties import exceeds, reaches
from embaudit.core.words import counted, row_called

if TYPE_CHECKING:
    from embaudit.auditing.evidence import Evidence

ENTRY = Entry(
    "EMB414",
    also=("near-duplicate",),
    title="near-duplicates: rows far closer to their nearest row than usual",
    severities=(Severity.TIP,),
    measured=(
        "The angle between each row and its nearest row, compared with the typical "
        "(median) angle between nearest rows. The median is taken over at most 400 "
        "rows, and duplicates count once. Tables of up to 200,000 rows are searched "
        "for all near-duplicates; in a larger table they are counted in a sample."
    ),
    reported=(
        "If the angle is at most 1 % of the median for at least 2 % of the rows, and "
        "for more than five rows. By chance alone, a share of about 0.7 · 0.01^m of "
        "the rows are near-duplicates in m dimensions, if their density is smooth. "
        "Checked if at least 30 rows have different directions."
    ),
    meaning=(
        "Each of these rows is at least 100 times nearer to its nearest row than a "
        "typical row is. Unlike duplicates (EMB401), the two rows are not equal."
    ),
    why=(
        "Such rows are often tokens that training never updated, or copies with noise. "
        "They fill each other's neighbour lists, and they count in every share of "
        "changed lists."
    ),
    remedy=(
        "Look at some of them. Remove them from neighbour lists, or show one row of "
        "each group."
    ),
    reference=(
        "Land, Bartolo: Fishing for Magikarp (EMNLP 2024), on tokens that training "
        "never updated."
    ),
)

FEW = 0.02
"""Smallest share of near-duplicates that is reported; chance alone makes 0.7 % on a
circle."""


def check(evidence: Evidence) -> Iterator[Finding]:
    """Report sides with many rows that are near-duplicates of another one."""
    model = evidence.whole
    for traits in evidence.traits:
        near = traits.near_duplicates
        if near is None:
            continue
        if not (reaches(near.ci_low, FEW) and exceeds(near.count, HANDFUL)):
            continue
        item, names = model.title(traits.role), model.names(traits.role)
        row_title = model.row_title(traits.role)
        count = f"{near.count:,}" if near.exact else f"at least {near.count:,}"
        text = (
            f"The angle to the nearest {item} is at most {NEAR * near.typical:.1g} "
            f"radians, 1 % of the typical (median) angle of {near.typical:.2g}. They "
            "fill each other's lists."
        )
        if near.names:
            named = [row_called(row_title, str(names[row])) for row in near.names]
            text = f"Examples are {', '.join(named)}. {text}"
        if model.link.name == "softmax" and traits.role == "right":
            remedy = (
                f"Look at some of them: {item}s that training hardly touched, such as "
                "unused tokens, stay near each other. Remove them from lists and from "
                "shares of changed lists."
            )
        else:
            remedy = (
                "Look at some of them: copies with noise list each other. Remove them "
                "from lists, or show one row of each group."
            )
        yield Finding(
            code=ENTRY.name,
            severity=Severity.TIP,
            kind=Kind.MEASURED,
            scope=THIS_MODEL,
            rows=f"{item}s",
            role=traits.role,
            value=near.share,
            title=(
                f"{count} of {counted(near.n_rows, item)} are near-duplicates of "
                f"another {item}"
            ),
            text=text,
            remedy=remedy,
        )
