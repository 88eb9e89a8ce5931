"""The document of block cosines: the blocks against the whole, and what each takes from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from embaudit.core.words import counted
from embaudit.report.document import Document, Section
from embaudit.report.figures import BlockDisplay
from embaudit.report.grid import Grid

if TYPE_CHECKING:
    from embaudit.blocks import BlockCosines

GLOSSARY = (
    ("block", "A part of both sets of tensors, such as one tensor, one row or one head."),
    ("local cosine", "The cosine of the two vectors within one block; none where a side is zero."),
    ("weight", "The product of the block's lengths over the product of the whole lengths."),
    ("norm profiles", "How the length of each side is shared out over the blocks; the weights add up to their cosine."),
    ("contribution", "Weight times local cosine. All of them add up to the global cosine."),
    ("norm_gap", "What a block takes from the global cosine because its lengths differ between the two sides."),
    ("direction_gap", "What it takes because its directions differ. All gaps add up to 1 less the global cosine."),
    ("gap_share", "The block's part of all gaps."),
    ("without", "The global cosine of all other blocks."),
)


def block_document(found: BlockCosines) -> Document:
    """Build the document of block cosines.

    Examples
    --------
    >>> from embaudit.blocks import block_cosines
    >>> made = block_document(block_cosines([1, 1], [1, 2]))
    >>> [section.id for section in made.shown_sections], list(made.top[0].names)
    (['gaps'], ['[0]', '[1]'])
    """
    drawn, frame = BlockDisplay.of(found), found.largest_gaps(share=None)
    note = f"{len(frame)} of {counted(len(found), 'block')}" if len(frame) < len(found) else ""
    columns = frame.drop(columns=["x_profile", "y_profile"])
    essential = ("cosine", "weight", "contribution", "gap_share")
    table = Grid.from_frame(columns, "blocks by their part of the gap to 1", note, essential=essential)
    return Document(
        "How do the cosines of the parts make up the cosine of the whole?",
        tuple(found.explain().splitlines()),
        top=(drawn,) if len(drawn.cosines) else (),
        sections=(Section.of("gaps", "Gaps", "What each block takes from a cosine of 1", table),),
        notes=found.notes,
        facts=(
            ("blocks", f"{counted(len(found), 'block')} by {found.names.cut}"),
            ("entries", f"{int(found.sizes.sum()):,}"),
            ("lengths", f"{found.x_norm:.6g} and {found.y_norm:.6g}"),
            ("rounding", f"{found.identity_error:.1g} between the two ways to compute the global cosine"),
        ),
        glossary=GLOSSARY,
    )
