"""Evaluation of similarities by known relations of entities.

Entities are related if they share a label, or if one user consumed both.
"""

from embaudit.evaluation.evaluate import evaluate_similarities
from embaudit.evaluation.held_out import HeldOut, held_out_interactions
from embaudit.evaluation.result import Evaluation
from embaudit.evaluation.truth import Truth, as_truth, labels_in, separator_in

__all__ = [
    "Evaluation",
    "HeldOut",
    "Truth",
    "as_truth",
    "evaluate_similarities",
    "held_out_interactions",
    "labels_in",
    "separator_in",
]
