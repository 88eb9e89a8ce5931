"""Traits of rows: what is measured, of which rows, and what random or real rows are like."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

from embaudit import FactorPenaltyMF, ProductPenaltyMF, load
from embaudit.auditing.equivalence_class import equivalence_class_of
from embaudit.auditing.evidence import Evidence
from embaudit.auditing.findings import conclusions
from embaudit.auditing.traits import traits_of
from embaudit.model import FactorModel

TRAITS = ("EMB401", "EMB403", "EMB404", "EMB407")


def of(rows, role="right", **given):
    model = rows if isinstance(rows, FactorModel) else FactorModel.from_vectors(rows)
    return traits_of(model, role, rng=np.random.default_rng(0), **given)


def told(model):
    """Return what is found of the rows of both sides, with its severity."""
    traits = [of(model, side) for side in model.sides]
    found = conclusions(
        Evidence(model, equivalence_class_of(model, ("right",)), traits=traits)
    )
    return {one.code: one.severity.title for one in found if one.code in TRAITS}


@pytest.mark.parametrize("objective", [FactorPenaltyMF, ProductPenaltyMF])
def test_factors_of_movielens_are_copies_of_each_other_and_like_nothing_else(
    shared_data, objective
):
    ratings = pd.read_csv(shared_data("ml-latest-small") / "ratings.csv")
    rows, columns = (
        ratings[name].astype("category").cat.codes for name in ("userId", "movieId")
    )
    matrix = csr_matrix((ratings["rating"], (rows, columns)))
    model = objective(50, alpha=5.0, random_state=0).fit(matrix).model(matrix)
    assert set(told(model)) == {"EMB401"}


@pytest.mark.parametrize(
    "name",
    [
        "heads-charrnn/shakespeare",
        "heads-charrnn/charlotte_bronte",
        "head-doodlenet-345",
    ],
)
def test_real_heads_are_like_nothing(shared_data, name):
    assert told(load(shared_data(name) / "head.npz")) == {}
