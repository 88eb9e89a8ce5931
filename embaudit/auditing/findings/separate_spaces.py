"""EMB411: two parts of one table that do not share one coordinate system."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from embaudit.auditing.entry import Entry
from embaudit.auditing.finding import THIS_MODEL, Finding, Kind, Severity
from embaudit.auditing.spaces import USUAL_DEVIATION
from embaudit.core.words import drawn_of, percent, visible

if TYPE_CHECKING:
    from embaudit.auditing.evidence import Evidence
    from embaudit.auditing.spaces import TwoSpaces

ENTRY = Entry(
    "EMB411",
    title="two parts of the rows do not share one coordinate system",
    severities=(Severity.TIP, Severity.ISSUE),
    measured=(
        "The rows are scaled to length 1, and equal rows count once. The table is cut "
        "into 20 blocks in the order of its rows, and every contiguous segment of "
        "blocks is compared with the other blocks. Files that were read as one table, "
        "and parts named by `--by`, are compared as they are. Two parts are compared "
        "by five measures, each in standard deviations from its value for two "
        "unrelated models. Two measures are alignments of second moments, with centred "
        "rows and with rows as they are: such an alignment is 1 on average if the "
        "coordinate systems are unrelated, and larger within one system. The other "
        "three measure centred rows: the overlap of groups of principal directions, "
        "and the agreement of third and of fourth moments. At most 20,000 rows are "
        "compared. With more than 500 columns the rows are fewer, down to 2,048."
    ),
    reported=(
        "If both alignments lie within 4 standard deviations of 1, although the halves "
        "of each part align by more than 8, and each block of a segment or of the "
        "other blocks aligns with its own part by 4 or more. In addition, the overlap "
        "of directions must be below 4, and the agreement of third and fourth moments "
        "below 6, because parts of one system with different contents can pass the "
        "first test. An issue if the root of the sum of squares of the five deviations "
        "is below 5.5, and if one of two conditions holds: the mean of the unit rows, "
        "of all rows and of each part, is 0.5 or longer; or the blocks of each part "
        "have at least half of their variance in common. Otherwise a tip. Checked for "
        "one table of 200 or more rows, and for named parts of 30 or more rows."
    ),
    meaning=(
        "By each of five measures, two parts of a table agree no better than parts of "
        "two unrelated models, although each part agrees with itself. This is "
        "evidence, not proof. If it is a tip, the parts can also be weakly related, or "
        "be topics with directions of their own in one space."
    ),
    why=(
        "A table can hold rows of two models, for example if a re-embedding stopped "
        "half way, or if a revision, a prompt or a prefix changed. Cosines between the "
        "two parts then mean nothing, and neighbour lists mix the parts by chance."
    ),
    remedy=(
        "Embed all rows with one model, revision and prefix. If a column says from "
        "which model each row comes, name this column with `--by` to compare these "
        "parts (`--items FILE --by COLUMN`)."
    ),
    reference=(
        "The formula and its proof are in docs/theory.md, Two spaces in one table."
    ),
)


def check(evidence: Evidence) -> Iterator[Finding]:
    """Report the two parts of each table that has such parts."""
    for traits in evidence.traits:
        spaces = traits.spaces
        if spaces is None:
            continue
        parts = f"{spaces.first} and {spaces.second}{_boundary(spaces)}"
        concerned = f", which concerns {percent(spaces.across)} of all pairs"
        if spaces.is_clear:
            severity = Severity.ISSUE
            title = f"{parts} do not share one coordinate system{concerned}"
            remedy = (
                "Check if all rows come from one model, revision and prefix, and embed "
                "them anew if they do not. This is evidence, not proof."
            )
        else:
            severity = Severity.TIP
            title = f"{parts} may not share one coordinate system{concerned}"
            if spaces.is_usual:
                reason = "Topics that have no direction in common look the same"
            else:
                reason = (
                    "Taken together, these figures are larger than the figures of "
                    "most unrelated models"
                )
            remedy = (
                "Check if all rows come from one model, revision and prefix. "
                f"{reason}, so this finding is not certain."
            )
        yield Finding(
            code=ENTRY.name,
            severity=severity,
            kind=Kind.MEASURED,
            scope=THIS_MODEL,
            rows=f"{evidence.model.title(traits.role)} rows",
            role=traits.role,
            value=spaces.across,
            measured_on=drawn_of(
                spaces.n_compared,
                spaces.n_distinct,
                f"{evidence.model.title(traits.role)} row",
            ),
            title=title,
            text=_text(spaces),
            remedy=remedy,
        )


def _boundary(spaces: TwoSpaces) -> str:
    """Write the ids of the rows on either side of each boundary, if rows have ids."""
    if not spaces.ids:
        return ""
    pairs = [f"{visible(last)} and {visible(first)}" for last, first in spaces.ids]
    return f" (between the ids {', and '.join(pairs)})"


def _text(spaces: TwoSpaces) -> str:
    """Write how well the parts agree with each other, and each with itself."""
    third, fourth = spaces.relation.shapes
    if spaces.is_usual:
        summary = (
            "The directions of the two parts agree no better than the directions of "
            "two unrelated models"
        )
    else:
        summary = (
            "No single measure tells the two parts from parts of two unrelated models, "
            f"but all five together deviate by {spaces.deviation:.1f}, where "
            f"less than {USUAL_DEVIATION} is usual"
        )
    text = (
        f"{summary}: the alignment of their second moments is {spaces.z_centred:.1f} "
        "standard deviations from its value for unrelated systems with centred rows, "
        f"and {spaces.z_uncentred:.1f} with rows as they are. In the same unit, their "
        f"principal directions agree by {spaces.relation.directions:.1f}, their third "
        f"moments by {third:.1f}, and their fourth moments by {fourth:.1f}. Within "
        f"each part, rows agree with the others by {spaces.z_own:.0f} standard "
        "deviations or more. If the parts come from different models, cosines between "
        f"them, {percent(spaces.across)} of all pairs, mean nothing."
    )
    if spaces.boundaries:
        text += " The boundary can be off by a few rows."
    if spaces.n_compared < spaces.n_distinct:
        text += (
            f" {spaces.n_compared:,} of {spaces.n_distinct:,} distinct rows were "
            "compared."
        )
    return text
