"""What the page of block cosines shows: the blocks against the whole, and what each takes from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from embaudit.foundation.words import counted
from embaudit.report.block_display import BlockDisplay
from embaudit.report.shown import ROWS, shown
from embaudit.report.view import LONGEST, Charted, ResultView, Section

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


def block_view(found: BlockCosines) -> ResultView:
    """Collect what the page of block cosines shows.

    Examples
    --------
    >>> from embaudit.blocks import block_cosines
    >>> view = block_view(block_cosines([1, 1], [1, 2]))
    >>> [section.id for section in view.shown_sections], list(view.top[0].names)
    (['gaps'], ['[0]', '[1]'])
    """
    content, drawn = shown(found), BlockDisplay.of(found)
    table = content.grids[0].head(ROWS).shortened(LONGEST)
    return ResultView(
        question="How do the cosines of the parts make up the cosine of the whole?",
        said=tuple(part for part in content.parts if isinstance(part, str)),
        top=(drawn,) if len(drawn.cosines) else (),
        sections=(Section("gaps", "Gaps", "What each block takes from a cosine of 1", parts=(Charted("", table),)),),
        notes=content.notes,
        facts=(
            ("blocks", f"{counted(len(found), 'block')} by {found.names.cut}"),
            ("entries", f"{int(found.sizes.sum()):,}"),
            ("lengths", f"{found.x_norm:.6g} and {found.y_norm:.6g}"),
            ("rounding", f"{found.identity_error:.1g} between the two ways to compute the global cosine"),
        ),
        glossary=GLOSSARY,
    )
