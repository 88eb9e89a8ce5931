"""Findings about the rows of real tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

import embaudit as ea
from embaudit import FactorPenaltyMF, ProductPenaltyMF
from embaudit.auditing.equivalence_class import equivalence_class_of
from embaudit.auditing.evidence import Evidence
from embaudit.auditing.findings import conclusions
from embaudit.auditing.traits import traits_of

ABOUT_ROWS = {
    "EMB401": "duplicate rows",
    "EMB403": "all rows share one direction",
    "EMB404": "a few rows fill the lists of all others",
    "EMB407": "vectors have something the same in every row",
}


def codes_about_rows(model):
    """Return the findings about the rows of both sides, without a whole audit."""
    traits = [
        traits_of(model, side, rng=np.random.default_rng(0)) for side in model.sides
    ]
    equivalents = equivalence_class_of(model, ("right",))
    found = conclusions(Evidence(model, equivalents, traits=traits))
    return {finding.code for finding in found} & set(ABOUT_ROWS)


@pytest.fixture(scope="module")
def movielens(shared_data):
    """Return the ratings of 610 users and 9,724 films as a sparse matrix."""
    ratings = pd.read_csv(shared_data("ml-latest-small") / "ratings.csv")
    users = ratings["userId"].astype("category").cat.codes
    films = ratings["movieId"].astype("category").cat.codes
    return csr_matrix((ratings["rating"], (users, films)))


@pytest.mark.parametrize("estimator", [FactorPenaltyMF, ProductPenaltyMF])
def test_the_only_finding_about_rows_fitted_to_movielens_is_that_some_are_duplicates(
    movielens, estimator
):
    """Films that one user rated, and nobody else, have parallel vectors."""
    fitted = estimator(50, alpha=5.0, random_state=0).fit(movielens)
    assert codes_about_rows(fitted.model(movielens)) == {"EMB401"}


@pytest.mark.parametrize(
    "name",
    [
        "heads-charrnn/shakespeare",
        "heads-charrnn/charlotte_bronte",
        "head-doodlenet-345",
    ],
)
def test_nothing_is_found_about_the_label_rows_of_real_networks(shared_data, name):
    head = ea.load(shared_data(name) / "head.npz")
    assert codes_about_rows(head) == set()
