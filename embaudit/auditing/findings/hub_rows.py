"""EMB404: hubs, which are rows that stand in the lists of very many others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from embaudit.auditing.entry import Entry
from embaudit.auditing.finding import THIS_MODEL, Finding, Kind, Severity
from embaudit.core.ties import reaches
from embaudit.core.words import counted, percent, row_called

if TYPE_CHECKING:
    from embaudit.auditing.evidence import Evidence

ENTRY = Entry(
    "EMB404",
    also=("hub",),
    title="a few rows fill the lists of all others",
    severities=(Severity.TIP,),
    measured=(
        "How often each row occurs in the neighbour lists of at most 400 rows. The "
        "rows that occur most often are counted: one row in a hundred, and at most "
        "ten. The skewness of the numbers of occurrences is given as well; by chance "
        "alone, it is one divided by the square root of their mean."
    ),
    reported=(
        "If these few rows fill at least 10 % of all places. Checked if at least 100 "
        "rows have different directions."
    ),
    meaning="Some rows, called hubs, are among the nearest rows of very many others.",
    why=(
        "Readers of the lists see the same few names again and again. A hub in a list "
        "says little about the row whose list it is."
    ),
    remedy="Give hubs less weight, or centre the rows first.",
    reference="Radovanović, Nanopoulos, Ivanović: Hubs in Space (JMLR 11, 2010).",
)

FILLED = 0.1
"""Smallest share of all places in lists that is reported, if 1 % of the rows fill it.
"""
SHOWN = 3
"""Hubs that are named."""


def check(evidence: Evidence) -> Iterator[Finding]:
    """Name the rows of each side that fill much of the lists."""
    model = evidence.whole
    for traits in evidence.traits:
        hubs = traits.hubs
        if hubs is None or not reaches(hubs.filled, FILLED):
            continue
        item, names = model.title(traits.role), model.names(traits.role)
        row_title = model.row_title(traits.role)
        named = [
            f"{row_called(row_title, str(names[row]))} in {percent(share)}"
            for row, share in zip(hubs.few[:SHOWN], hubs.lists_with, strict=False)
        ]
        few = counted(len(hubs.few), item)
        verb = "fills" if len(hubs.few) == 1 else "fill"
        yield Finding(
            code=ENTRY.name,
            severity=Severity.TIP,
            kind=Kind.MEASURED,
            scope=THIS_MODEL,
            rows=f"{item} lists",
            role=traits.role,
            value=hubs.filled,
            title=(
                f"{few} of {traits.n_rows:,} {verb} {percent(hubs.filled)} of the lists"
            ),
            text=(
                f"Of the lists of {counted(hubs.n_lists, item)}, the {hubs.top_n} "
                f"nearest each, {', '.join(named)}. How often each {item} occurs has a "
                f"skewness of {hubs.skewness:.1f}."
            ),
            remedy=(
                "Give hubs less weight: a row that is near to everything says little. "
                "Centring often weakens hubs."
            ),
        )
