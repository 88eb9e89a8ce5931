"""Which page belongs to a result of each type."""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING

from embaudit.blocks import BlockCosines
from embaudit.comparison import Comparison
from embaudit.evaluation import Evaluation
from embaudit.report.block_view import block_view
from embaudit.report.comparison_view import comparison_view
from embaudit.report.evaluation_view import evaluation_view
from embaudit.report.shown import ROWS, shown
from embaudit.report.simpson_view import simpson_view
from embaudit.report.view import LONGEST, Charted, ResultView, Section
from embaudit.reversals import SimpsonReport

if TYPE_CHECKING:
    from embaudit.foundation.results import Result


@singledispatch
def view_of(result: Result) -> ResultView:
    """Collect what the page of a result shows: its words and its tables, where nothing more is known of its type.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> from embaudit.movements import movement
    >>> model = FactorModel.from_vectors([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    >>> view = view_of(movement(model, model))
    >>> view.question, len(view.said), view.embedded[0].grid.title
    ('Movement', 1, 'Movement')
    """
    content = shown(result)
    said = tuple(part for part in content.parts if isinstance(part, str))
    parts = tuple(Charted("", grid.head(ROWS).shortened(LONGEST)) for grid in content.grids)
    section = Section("numbers", "Numbers", "In numbers", parts=parts)
    return ResultView(content.title, said, sections=(section,), notes=content.notes)


view_of.register(BlockCosines, block_view)
view_of.register(Comparison, comparison_view)
view_of.register(Evaluation, evaluation_view)
view_of.register(SimpsonReport, simpson_view)
