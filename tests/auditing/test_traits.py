"""Traits of rows: what is measured, of which rows, and what random or real rows are like."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from models import random_model
from scipy.sparse import csr_matrix

from embaudit import FactorPenaltyMF, ProductPenaltyMF, audit, load
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


def with_copies(n, n_copies):
    """Return vectors the last of which are copies of the first ones."""
    x = np.random.default_rng(0).standard_normal((n, 9))
    return FactorModel.from_vectors(np.vstack([x[: n - n_copies], x[:n_copies]]))


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


@pytest.mark.usefixtures("without_attacks")
def test_an_audit_holds_the_traits_of_the_whole_model(monkeypatch):
    monkeypatch.setattr("embaudit.auditing.heads.PANEL", 20)
    found = audit(FactorModel.from_softmax(random_model(p=40, k=3).right), n_gauges=1, n_pairs=50)
    assert found.evidence.model.n_right == 20
    (record,) = found.to_dict()["traits"]
    assert (record["role"], record["n_rows"], record["twins"]["n_rows"]) == ("right", 40, 40)
    assert record["levels"]["n_pairs"] == 40 * 39 // 2


@pytest.mark.parametrize(
    ("n", "n_copies", "found"),
    [(8, 1, "issue"), (9, 1, "tip"), (200, 1, "tip"), (201, 1, None), (50, 0, None)],
)
def test_copies_are_a_tip_from_one_row_in_a_hundred_and_an_issue_from_a_quarter(n, n_copies, found):
    assert told(with_copies(n, n_copies)) == ({} if found is None else {"EMB401": found})


def test_lists_are_as_long_as_asked_and_leave_a_row_out():
    model = random_model(0, n=None, p=100)
    (usual,) = all_traits(model, ("right",), rng=np.random.default_rng(0))
    assert usual.hubs.top_n == of(model).hubs.top_n == 10
    assert of(model, n_neighbours=200).hubs.top_n == 98


def test_biases_kept_as_columns_are_looked_at_on_the_right_alone():
    model = random_model(0, n=40, p=40, biases=("left_bias", "right_bias"))
    right, left = all_traits(model, ["right", "left"], rng=np.random.default_rng(0))
    assert right.bias_columns.columns == 2
    assert left.bias_columns is None


@pytest.mark.parametrize(("off", "unit"), [(9e-4, True), (-9e-4, True), (1.1e-3, False)])
def test_unit_rows_are_so_within_a_thousandth(off, unit):
    x = np.random.default_rng(0).standard_normal((9, 3))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    x[2] *= 1 + off
    found = of(np.vstack([x, np.zeros(3)]))
    assert found.is_unit == unit
    assert found.off_unit == pytest.approx(abs(off), rel=1e-9)


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


@pytest.mark.parametrize(("p", "k"), [(500, 8), (2000, 50), (300, 100), (120, 400)])
def test_random_rows_are_like_nothing(p, k):
    assert told(random_model(1, n=40, p=p, k=k)) == {}
    assert told(random_model(2, n=None, p=p, k=k, dtype=np.float32)) == {}


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
