"""EMB413: learned rows that use at most half of their dimensions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from embaudit.auditing.diagnosis import given_side
from embaudit.auditing.entry import Entry
from embaudit.auditing.finding import THIS_MODEL, Finding, Kind, Severity
from embaudit.core.words import drawn_of

if TYPE_CHECKING:
    from embaudit.auditing.evidence import Evidence

ENTRY = Entry(
    "EMB413",
    also=("collapse", "dimensional collapse"),
    title="rows use few of their dimensions",
    severities=(Severity.TIP,),
    measured=(
        "The number of used dimensions: the fewest eigenvalues of S that add up to "
        "99.9 % of tr S. Here S is the matrix of second moments of the unit rows (at "
        "most 100,000 of them). The effective rank is (tr S)² / tr(S²)."
    ),
    reported=(
        "If at most half of the dimensions are used. Because n rows can use at most n "
        "dimensions, only n dimensions count if n is smaller than the number of "
        "columns. Not checked for fewer than 8 rows or 8 columns."
    ),
    meaning=(
        "At most half of the dimensions that the rows could use hold 99.9 % of the "
        "squared length of the unit rows."
    ),
    why=(
        "The other dimensions hardly tell rows apart. Encoders whose training "
        "collapsed look like this, and so does a table that was padded with zeros. Two "
        "rows are similar by chance more often than in a table that uses all of its "
        "dimensions."
    ),
    remedy=(
        "Compare with an earlier checkpoint. If training was meant to use so few "
        "dimensions, you can store only these: without the others, a cosine changes by "
        "at most 0.001 on average."
    ),
    reference=(
        "Jing, Vincent, LeCun, Tian: Understanding Dimensional Collapse in Contrastive "
        "Self-supervised Learning (ICLR 2022)."
    ),
)


def check(evidence: Evidence) -> Iterator[Finding]:
    """Report learned sides that use at most half of their dimensions."""
    model = evidence.model
    for traits in evidence.traits:
        dimensions = traits.dimensions
        if model.side_name(traits.role) == given_side(model):
            continue
        if dimensions is None or not dimensions.collapsed:
            continue
        item = model.title(traits.role)
        rows = drawn_of(dimensions.n_rows, dimensions.n_all_rows, f"{item} row")
        yield Finding(
            code=ENTRY.name,
            severity=Severity.TIP,
            kind=Kind.MEASURED,
            scope=THIS_MODEL,
            rows=f"{item} rows",
            role=traits.role,
            value=dimensions.effective_rank,
            title=(
                f"{item} rows use {dimensions.used} of {dimensions.width} dimensions "
                f"(effective rank {dimensions.effective_rank:.3g})"
            ),
            text=(
                f"{dimensions.used} of {dimensions.width} dimensions hold 99.9 % of "
                f"the squared length of {rows}, scaled to unit length. Without the "
                "other dimensions, a cosine changes by 0.001 on average at most."
            ),
            remedy=(
                "If training was meant to use more dimensions, it collapsed. Otherwise "
                "you can store fewer dimensions."
            ),
        )
