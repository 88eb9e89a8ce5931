"""What the page of block cosines shows: the blocks against the whole, and what each takes from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from embaudit.foundation.words import counted
from embaudit.report.dots import Valued, dot_chart
from embaudit.report.shown import ROWS, shown
from embaudit.report.stacks import stack_chart
from embaudit.report.steps import step_chart
from embaudit.report.view import LONGEST, Charted, ResultView, Section

if TYPE_CHECKING:
    import pandas as pd

    from embaudit.blocks import BlockCosines
    from embaudit.report.dots import DotChart
    from embaudit.report.stacks import StackChart

DRAWN = 12
"""Blocks that are drawn by name."""
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
NAMED = f"the {DRAWN} blocks of the largest gaps"


def block_view(found: BlockCosines) -> ResultView:
    """Collect what the page of block cosines shows.

    Examples
    --------
    >>> from embaudit.blocks import block_cosines
    >>> view = block_view(block_cosines([1, 1], [1, 2]))
    >>> [section.id for section in view.shown_sections], [row.name for row in view.top[0].rows]
    (['gaps', 'whole'], ['[0]', '[1]'])
    """
    content, frame = shown(found), found.largest_gaps(share=None, limit=DRAWN)
    steps, local, gaps, table = step_chart(found), _local(found, frame), _gaps(found, frame), content.grids[0]
    return ResultView(
        question="How do the cosines of the parts make up the cosine of the whole?",
        said=tuple(part for part in content.parts if isinstance(part, str)),
        top=(local,) if local else (),
        sections=(
            Section("gaps", "Gaps", "What each block takes from a cosine of 1",
                    parts=(Charted("", table.head(ROWS).shortened(LONGEST), (gaps,) if gaps else ()),)),
            Section("whole", "The whole", "The area of the blocks is the global cosine",
                    parts=(Charted("", None, (steps,)),) if steps else ()),
        ),
        notes=content.notes,
        facts=(
            ("blocks", f"{counted(len(found), 'block')} by {found.names.cut}"),
            ("entries", f"{int(found.sizes.sum()):,}"),
            ("lengths", f"{found.x_norm:.6g} and {found.y_norm:.6g}"),
            ("rounding", f"{found.identity_error:.1g} between the two ways to compute the global cosine"),
        ),
        glossary=GLOSSARY,
    )  # fmt: skip


def _gaps(found: BlockCosines, frame: pd.DataFrame) -> StackChart | None:
    """Place what the blocks of the largest gaps take from the global cosine, and by which of two reasons."""
    rows = [(str(name), gaps) for name, *gaps in frame[["norm_gap", "direction_gap"]].itertuples()]
    title = f"parts of the gap to 1{f': {NAMED}' if len(found) > DRAWN else ''}"
    return stack_chart(title, "part of the gap", {"first": "lengths differ", "third": "directions differ"}, rows)


def _local(found: BlockCosines, frame: pd.DataFrame) -> DotChart | None:
    """Place the local cosines of the blocks of the largest gaps against the global one."""
    rows = [Valued(str(name), float(cosine)) for name, cosine in zip(frame.index, frame["cosine"], strict=True)]
    title = f"local cosines{f' of {NAMED}' if len(found) > DRAWN else ''}"
    level = f"global cosine {found.global_cosine:.4f}", found.global_cosine
    return dot_chart(title, "cosine", rows, key=[("dot", "local cosine")], level=level, among=())
