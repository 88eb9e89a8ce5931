"""Evaluation on labels: which similarity finds the entities that share one, or were consumed together."""

from embaudit.evaluation.evaluate import Evaluation, evaluate_similarities
from embaudit.evaluation.truth import Truth, as_truth, last_together

__all__ = ["Evaluation", "Truth", "as_truth", "evaluate_similarities", "last_together"]
