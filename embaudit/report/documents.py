"""The document of a result of each type."""

from __future__ import annotations

from functools import singledispatch

from embaudit.auditing.audit import Audit
from embaudit.auditing.lora import LoraAudit
from embaudit.blocks import BlockCosines
from embaudit.comparison import Comparison
from embaudit.core.results import Result
from embaudit.evaluation import Evaluation
from embaudit.networks import AttentionAudit, LoraComparison
from embaudit.report.attention_document import attention_document
from embaudit.report.audit_document import audit_document
from embaudit.report.block_document import block_document
from embaudit.report.comparison_document import comparison_document
from embaudit.report.copies_document import copies_document
from embaudit.report.document import Document, Section
from embaudit.report.evaluation_document import evaluation_document
from embaudit.report.lora_document import lora_comparison_document, lora_document
from embaudit.report.simpson_document import simpson_document
from embaudit.report.space_map_document import space_map_document
from embaudit.report.stable_neighbours_document import stable_neighbours_document
from embaudit.report.tables import Table, with_index_column
from embaudit.report.threshold_document import threshold_document
from embaudit.serving import CopyComparison, SpaceMap, StableNeighbours, Threshold
from embaudit.simpson import SimpsonReport


@singledispatch
def document(result: Result) -> Document:
    """Build the document of a result.

    A result whose type has no function below is shown by its sentences and its table.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> from embaudit.movements import movement
    >>> model = FactorModel.from_vectors([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    >>> built = document(movement(model, model))
    >>> built.question, len(built.conclusion), built.embedded[0].table.title
    ('Movement', 1, 'Movement')
    """
    title = type(result).__name__
    table = Table(title, with_index_column(result.to_frame()))
    return Document(
        title,
        tuple(result.explain().splitlines()),
        sections=(Section.from_tables("numbers", "Numbers", "In numbers", table),),
    )


document.register(AttentionAudit, attention_document)
document.register(Audit, audit_document)
document.register(BlockCosines, block_document)
document.register(Comparison, comparison_document)
document.register(CopyComparison, copies_document)
document.register(Evaluation, evaluation_document)
document.register(LoraAudit, lora_document)
document.register(LoraComparison, lora_comparison_document)
document.register(SimpsonReport, simpson_document)
document.register(SpaceMap, space_map_document)
document.register(StableNeighbours, stable_neighbours_document)
document.register(Threshold, threshold_document)
