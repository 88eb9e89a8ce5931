"""The document of block cosines."""

from __future__ import annotations

from embaudit.blocks import BlockCosines
from embaudit.core.words import change_size, counted
from embaudit.report.document import Document, Section, glossary
from embaudit.report.figures import BlockDisplay
from embaudit.report.tables import Table, with_index_column


def block_document(blocks: BlockCosines) -> Document:
    """Build the document of block cosines.

    Examples
    --------
    >>> from embaudit.blocks import block_cosines
    >>> document = block_document(block_cosines([1, 1], [1, 2]))
    >>> [section.id for section in document.shown_sections]
    ['gaps']
    >>> list(document.top[0].columns["name"])
    ['[0]', '[1]']
    """
    figure = BlockDisplay.from_blocks(blocks)
    has_bars = len(figure.columns["cosine"]) > 0
    title = "What each block takes from a cosine of 1"
    rounding = change_size(blocks.identity_error)
    return Document(
        "How do the cosines of the parts make up the cosine of the whole?",
        tuple(blocks.explain().splitlines()),
        top=(figure,) if has_bars else (),
        sections=(Section.from_tables("gaps", "Gaps", title, gap_table(blocks)),),
        notes=blocks.notes,
        facts=(
            ("blocks", f"{counted(len(blocks), 'block')} by {blocks.partition}"),
            ("entries", f"{int(blocks.sizes.sum()):,}"),
            ("lengths", f"{blocks.x_norm:.6g} and {blocks.y_norm:.6g}"),
            (
                "rounding",
                f"{rounding} between the two ways to compute the global cosine",
            ),
        ),
        glossary=glossary("blocks"),
    )


def gap_table(blocks: BlockCosines) -> Table:
    """Tabulate the blocks with the largest parts of the gap between 1 and the cosine.

    Examples
    --------
    >>> from embaudit.blocks import block_cosines
    >>> gap_table(block_cosines([1, 1], [1, 2])).headings[:3]
    ('block', 'size', 'cosine')
    """
    gaps = blocks.largest_gaps(share=None)
    note = ""
    if len(gaps) < len(blocks):
        note = f"{len(gaps)} of {counted(len(blocks), 'block')}"
    return Table(
        "blocks by their part of the gap to 1",
        with_index_column(gaps.drop(columns=["x_profile", "y_profile"])),
        note,
        essential=("cosine", "weight", "contribution", "gap_share"),
    )
