"""The document of a result of each type."""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING

from embaudit.auditing import Audit
from embaudit.blocks import BlockCosines
from embaudit.comparison import Comparison
from embaudit.evaluation import Evaluation
from embaudit.report.audit_document import audit_document
from embaudit.report.blocks import block_document
from embaudit.report.comparison import comparison_document
from embaudit.report.document import Document, Section
from embaudit.report.evaluation import evaluation_document
from embaudit.report.grid import Grid
from embaudit.report.simpson import simpson_document
from embaudit.reversals import SimpsonReport

if TYPE_CHECKING:
    from embaudit.core.results import Result


@singledispatch
def document(result: Result) -> Document:
    """Build the document of a result: its words and its table, where nothing more is registered for its type.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> from embaudit.movements import movement
    >>> model = FactorModel.from_vectors([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    >>> made = document(movement(model, model))
    >>> made.question, len(made.conclusion), made.embedded[0].grid.title
    ('Movement', 1, 'Movement')
    """
    title = type(result).__name__
    table = Grid.from_frame(result.to_frame(), title)
    return Document(
        title, tuple(result.explain().splitlines()), sections=(Section.of("numbers", "Numbers", "In numbers", table),)
    )


document.register(Audit, audit_document)
document.register(BlockCosines, block_document)
document.register(Comparison, comparison_document)
document.register(Evaluation, evaluation_document)
document.register(SimpsonReport, simpson_document)
