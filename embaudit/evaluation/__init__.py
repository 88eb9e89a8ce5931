"""Evaluation of similarities by known relations of entities.

Entities are related if they share a label or were consumed together.
"""

from embaudit.evaluation.evaluate import Evaluation, evaluate_similarities
from embaudit.evaluation.truth import (
    Truth,
    as_truth,
    labels_in,
    last_together,
    separator_in,
)

__all__ = [
    "Evaluation",
    "Truth",
    "as_truth",
    "evaluate_similarities",
    "labels_in",
    "last_together",
    "separator_in",
]
