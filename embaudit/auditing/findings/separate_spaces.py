"""EMB411: two parts of one table that do not share one coordinate system."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from embaudit.auditing.entry import Entry
from embaudit.auditing.finding import THIS_MODEL, Finding, Kind, Severity
from embaudit.auditing.spaces import (
    BLOCKS,
    MIN_BLOCK,
    MIN_EFFECTIVE_RANK,
    MIN_MEAN_DIRECTION,
    MIN_PART,
    MIN_SHARED,
    MOST_ROWS,
    MOST_WIDE_ROWS,
    POWER,
    UNRELATED,
    UNRELATED_SHAPES,
    USUAL_DEVIATION,
)
from embaudit.core.words import drawn_of, percent, visible
from embaudit.model import FactorModel, SideName

if TYPE_CHECKING:
    from embaudit.auditing.evidence import Evidence
    from embaudit.auditing.spaces import TwoSpaces

ENTRY = Entry(
    "EMB411",
    title="two parts of the rows do not share one coordinate system",
    severities=(Severity.TIP, Severity.ISSUE),
    measured=(
        "The rows are scaled to length 1, and equal rows count once. The table is cut "
        f"into {BLOCKS} blocks in the order of its rows, and every contiguous segment "
        "of blocks is compared with the other blocks. Files that were read as one "
        "table, and parts named by `--by`, are compared as they are. Two parts are "
        "compared by five measures, each in standard deviations from its value for two "
        "unrelated models. Two measures are alignments of second moments, with centred "
        "rows and with rows as they are: such an alignment is 1 on average if the "
        "coordinate systems are unrelated, and larger within one system. The other "
        "three measure centred rows: the overlap of groups of principal directions, "
        "and the agreement of third and of fourth moments. At most "
        f"{MOST_ROWS:,} rows are compared, and fewer if they have very many columns, "
        f"down to {MOST_WIDE_ROWS:,}."
    ),
    reported=(
        "If five conditions hold. Both alignments of the two parts lie within "
        f"{UNRELATED:.0f} standard deviations of 1. The halves of each part align by "
        f"more than {POWER:.0f}, and each part has an effective rank of "
        f"{MIN_EFFECTIVE_RANK:.0f} or more. In a segment and in the other blocks, each "
        f"block aligns with its own part by {UNRELATED:.0f} or more. The overlap of "
        f"principal directions is below {UNRELATED:.0f}. The agreement of third and of "
        f"fourth moments is below {UNRELATED_SHAPES:.0f}. The last two conditions are "
        "necessary because parts of one system with different contents can pass the "
        "others. An issue if, in addition, the root of the sum of squares of the five "
        f"deviations is below {USUAL_DEVIATION}, and the parts do not look like topics "
        "of one space: the mean of the unit rows, of all rows and of each part, is "
        f"{MIN_MEAN_DIRECTION} or longer, or the blocks of each part have at least "
        f"{percent(MIN_SHARED)} of their variance in common. Otherwise a tip. Checked "
        f"for one table of {BLOCKS * MIN_BLOCK} or more rows, and for named parts of "
        f"{MIN_PART} or more rows."
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
        if traits.spaces is not None:
            yield _finding(evidence.model, traits.role, traits.spaces)


def _finding(model: FactorModel, role: SideName, spaces: TwoSpaces) -> Finding:
    """Build the finding on two parts: an issue if they are clear, else a tip."""
    row = f"{model.title(role)} row"
    if spaces.is_clear:
        severity = Severity.ISSUE
        verb = "do not share"
    else:
        severity = Severity.TIP
        verb = "may not share"
    return Finding(
        code=ENTRY.name,
        severity=severity,
        kind=Kind.MEASURED,
        scope=THIS_MODEL,
        rows=f"{row}s",
        role=role,
        value=spaces.across,
        measured_on=drawn_of(spaces.n_compared, spaces.n_distinct, row),
        title=(
            f"{spaces.first} and {spaces.second}{_boundary(spaces)} {verb} one "
            f"coordinate system, which concerns {percent(spaces.across)} of all pairs"
        ),
        text=_text(spaces),
        remedy=_remedy(spaces),
    )


def _boundary(spaces: TwoSpaces) -> str:
    """Write the ids of the rows on either side of each boundary, if rows have ids."""
    if not spaces.ids:
        return ""
    pairs = [f"{visible(last)} and {visible(first)}" for last, first in spaces.ids]
    return f" (between the ids {', and '.join(pairs)})"


def _remedy(spaces: TwoSpaces) -> str:
    """Write what to check, and how sure the finding is."""
    if spaces.is_clear:
        return (
            "Check if all rows come from one model, revision and prefix, and embed "
            "them anew if they do not. This is evidence, not proof."
        )
    if spaces.is_usual:
        reason = "Topics that have no direction in common look the same"
    else:
        reason = "Parts of unrelated models rarely deviate by as much as these parts"
    return (
        "Check if all rows come from one model, revision and prefix. "
        f"{reason}, so this finding is not certain."
    )


def _text(spaces: TwoSpaces) -> str:
    """Write how well the parts agree with each other, and each with itself."""
    third, fourth = spaces.relation.shapes
    sentences = [
        f"{_summary(spaces)}: the alignment of their second moments is "
        f"{spaces.z_centred:.1f} standard deviations from its value for unrelated "
        f"systems with centred rows, and {spaces.z_uncentred:.1f} with rows as they "
        "are.",
        "In the same unit, their principal directions agree by "
        f"{spaces.relation.directions:.1f}, their third moments by {third:.1f}, and "
        f"their fourth moments by {fourth:.1f}.",
        f"Within each part, rows agree with the others by {spaces.z_own:.0f} standard "
        "deviations or more.",
        "If the parts come from different models, cosines between them, "
        f"{percent(spaces.across)} of all pairs, mean nothing.",
    ]
    if spaces.boundaries:
        sentences.append("The boundary can be off by a few rows.")
    if spaces.n_compared < spaces.n_distinct:
        sentences.append(
            f"{spaces.n_compared:,} of {spaces.n_distinct:,} distinct rows were "
            "compared."
        )
    return " ".join(sentences)


def _summary(spaces: TwoSpaces) -> str:
    """Write the result of the five measures in one clause."""
    if spaces.is_usual:
        return (
            "The directions of the two parts agree no better than the directions of "
            "two unrelated models"
        )
    return (
        "No single measure tells the two parts from parts of two unrelated models, but "
        f"all five together deviate by {spaces.deviation:.1f}, where less than "
        f"{USUAL_DEVIATION} is usual"
    )
