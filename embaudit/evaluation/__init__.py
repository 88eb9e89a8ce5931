"""Evaluation on labels: which similarity finds the entities that share one, or were consumed together."""

from embaudit.evaluation.evaluate import Evaluation, evaluate_similarities
from embaudit.evaluation.last_together import last_together
from embaudit.evaluation.truth import Truth, as_truth

__all__ = ["Evaluation", "Truth", "as_truth", "evaluate_similarities", "last_together"]
