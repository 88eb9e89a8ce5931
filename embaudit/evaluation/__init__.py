"""Where the truth is known: which similarity finds the entities that share a label."""

from embaudit.evaluation.evaluate import Evaluation, evaluate_similarities
from embaudit.evaluation.truth import Truth, as_truth

__all__ = ["Evaluation", "Truth", "as_truth", "evaluate_similarities"]
