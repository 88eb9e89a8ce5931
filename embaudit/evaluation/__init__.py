"""Evaluation: which similarity lists rows that share a label or a user.

Labels are known of rows, for example genres. A user relates two items if both are among
the interactions of this user that were held out from training.
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
