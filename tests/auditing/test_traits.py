"""Traits of rows: what is measured, of which rows, and what random or real rows are like."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from models import random_model
from scipy.sparse import csr_matrix

from embaudit import FactorPenaltyMF, ProductPenaltyMF, load
from embaudit.auditing.evidence import Evidence
from embaudit.auditing.fibre import fibre_of
from embaudit.auditing.findings import conclusions
from embaudit.auditing.traits import ALIKE, all_traits, traits_of
from embaudit.model import FactorModel

TRAITS = ("EMB401", "EMB403", "EMB404", "EMB407")


def of(rows, role="right", **given):
    model = rows if isinstance(rows, FactorModel) else FactorModel.from_vectors(rows)
    return traits_of(model, role, rng=np.random.default_rng(0), **given)


def told(model):
    """Return what is found of the rows of both sides, with its severity."""
    traits = all_traits(model, model.sides, rng=np.random.default_rng(0))
    found = conclusions(Evidence(model, fibre_of(model, ("right",)), traits=traits))
    return {one.code: one.severity.title for one in found if one.code in TRAITS}


def test_every_side_that_is_asked_about_and_has_cosines_has_traits():
    model = random_model(n=5, p=4)
    rng = np.random.default_rng(0)
    for roles, sides in (
        (("right",), ["right"]), (("cross",), ["left", "right"]), (("right", "left"), ["right", "left"]),
    ):  # fmt: skip
        assert [one.role for one in all_traits(model, roles, rng=rng)] == sides
    one = model.replace(left=model.left[:1])
    assert [one.role for one in all_traits(one, ("cross",), rng=rng)] == ["right"]
    zero = model.replace(right=model.right * [[0], [1], [1], [0]])
    (found,) = all_traits(zero, ("right",), rng=rng)
    assert (found.n_rows, found.twins.n_rows, found.levels.n_pairs) == (2, 2, 1)


def spread(s, scale=1.0):
    """Return five rows with these singular values, of columns that are equally long."""
    k = len(s)
    turn = np.array([[1, 1], [1, -1]]) / np.sqrt(2) if k == 2 else np.linalg.qr(np.vander(np.arange(1.0, k + 1)))[0]
    left = np.linalg.qr(np.random.default_rng(0).standard_normal((5, k)))[0]
    return scale * left @ np.diag(s) @ turn.T


@pytest.mark.parametrize("scale", [0.01, 1.0, 100.0])
def test_columns_are_orthonormal_but_for_a_scale_within_a_thousandth(scale):
    assert of(spread([1.0, 1 - 0.9995 * ALIKE], scale)).orthonormal is True
    assert of(spread([1.0, 1 - 1.0005 * ALIKE], scale)).orthonormal is False
    assert of(spread([1.0, 1.0, 1.0], scale)).orthonormal is True
    # Columns that are not equally long, and none that could be told by its length.
    assert of(spread([1.0, 1.0], scale) * [1, 1.1]).orthonormal is False
    circle = np.exp(2j * np.pi * np.arange(6) / 6)
    flat = np.column_stack([np.ones(6), circle.real, circle.imag]) * scale
    assert of(flat * [1, np.sqrt(2), np.sqrt(2)]).orthonormal is True
    # Two of three directions are alike, the third is shorter; columns are equally long.
    assert of(flat * [0.9, np.sqrt(2), np.sqrt(2)] @ np.linalg.qr(np.vander([1.0, 2.0, 4.0]))[0]).orthonormal is False
    assert of(np.eye(3) * scale).orthonormal is False, "no more rows than columns"


@pytest.mark.parametrize("objective", [FactorPenaltyMF, ProductPenaltyMF])
def test_factors_of_movielens_are_copies_of_each_other_and_like_nothing_else(shared_data, objective):
    ratings = pd.read_csv(shared_data("ml-latest-small") / "ratings.csv")
    rows, columns = (ratings[name].astype("category").cat.codes for name in ("userId", "movieId"))
    matrix = csr_matrix((ratings["rating"], (rows, columns)))
    model = objective(50, alpha=5.0, random_state=0).fit(matrix).model(matrix)
    assert set(told(model)) == {"EMB401"}


@pytest.mark.parametrize("name", ["heads-charrnn/shakespeare", "heads-charrnn/charlotte_bronte", "head-doodlenet-345"])
def test_real_heads_are_like_nothing(shared_data, name):
    assert told(load(shared_data(name) / "head.npz")) == {}
