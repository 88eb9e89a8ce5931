"""implicit: ALS, BPR and logistic matrix factorisation."""

from __future__ import annotations

from typing import Any

import numpy as np

from embaudit.core.checked import Floats
from embaudit.io.formats.implicit import split_columns, trained_with
from embaudit.io.objects.libraries.library import Library, Query
from embaudit.io.options import Request
from embaudit.model import FactorModel


def _build(source: Any, fields: dict[str, Any], _request: Request) -> FactorModel:
    """Split the columns of constants and biases from the factors."""
    model = split_columns(fields["left"], fields["right"], int(source.factors))
    strength = getattr(source, "regularization", None)
    return model.replace(objective=trained_with(strength, model))


def _recommend(query: Query) -> Floats:
    """Return the scores of a user, which `recommend` lists with the best item first."""
    ranking, ranked_scores = query.source.recommend(
        query.left,
        None,
        N=len(query.right),
        filter_already_liked_items=False,
        items=query.right,
    )
    scores = np.full(len(query.right), np.nan)
    scores[np.searchsorted(query.right, np.asarray(ranking))] = ranked_scores
    return scores


IMPLICIT = Library(
    packages=("implicit",),
    classes=(
        "MatrixFactorizationBase",
        "AlternatingLeastSquares",
        "BayesianPersonalizedRanking",
        "LogisticMatrixFactorization",
    ),
    tables=(("user_factors", "item_factors"),),
    build=_build,
    predicts={"recommend": _recommend},
)
