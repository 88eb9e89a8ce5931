"""The document of block cosines: the blocks against the whole, and what each takes from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from embaudit.core.words import counted
from embaudit.report.definitions import glossary
from embaudit.report.document import Document, Section
from embaudit.report.figures import BlockDisplay
from embaudit.report.grid import Grid

if TYPE_CHECKING:
    from embaudit.blocks import BlockCosines


def block_document(blocks: BlockCosines) -> Document:
    """Build the document of block cosines.

    Examples
    --------
    >>> from embaudit.blocks import block_cosines
    >>> made = block_document(block_cosines([1, 1], [1, 2]))
    >>> [section.id for section in made.shown_sections], list(made.top[0].columns["name"])
    (['gaps'], ['[0]', '[1]'])
    """
    drawn, frame = BlockDisplay.of(blocks), blocks.largest_gaps(share=None)
    note = f"{len(frame)} of {counted(len(blocks), 'block')}" if len(frame) < len(blocks) else ""
    columns = frame.drop(columns=["x_profile", "y_profile"])
    essential = ("cosine", "weight", "contribution", "gap_share")
    table = Grid.from_frame(columns, "blocks by their part of the gap to 1", note, essential=essential)
    return Document(
        "How do the cosines of the parts make up the cosine of the whole?",
        tuple(blocks.explain().splitlines()),
        top=(drawn,) if len(drawn.columns["cosine"]) else (),
        sections=(Section.of("gaps", "Gaps", "What each block takes from a cosine of 1", table),),
        notes=blocks.notes,
        facts=(
            ("blocks", f"{counted(len(blocks), 'block')} by {blocks.names.cut}"),
            ("entries", f"{int(blocks.sizes.sum()):,}"),
            ("lengths", f"{blocks.x_norm:.6g} and {blocks.y_norm:.6g}"),
            ("rounding", f"{blocks.identity_error:.1g} between the two ways to compute the global cosine"),
        ),
        glossary=glossary("blocks"),
    )
