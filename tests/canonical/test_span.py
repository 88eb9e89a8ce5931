"""A model of very many columns is looked at in the dimensions its rows span: the same numbers, and little memory."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from embaudit import audit, verify
from embaudit.canonical import in_span
from embaudit.model import FactorModel
from embaudit.model.sizes import shape_question
from tests.models import random_model


@pytest.mark.parametrize("link", ["identity", "softmax", "cosine", "ranking"])
@pytest.mark.parametrize(("n", "biases"), [(4, ()), (4, ("left_bias", "right_bias")), (None, ())])
def test_products_and_cosines_are_the_same(link, n, biases):
    model = random_model(3, n=n, p=6, k=40, link=link, biases=biases, means=(0, 1), scales=(1e-9, 1e9))
    small = in_span(model, most=30)
    assert small.rank == (n or 0) + 6 + bool(model.free_shifts)
    assert small.cosines("right") == pytest.approx(model.cosines("right"), abs=1e-12)
    products = model.right @ model.right.T
    assert small.right @ small.right.T == pytest.approx(products, rel=1e-12, abs=1e-12 * products.max())
    if n is not None:
        assert small.scores() == pytest.approx(model.scores(), abs=1e-12 * np.abs(model.scores()).max())


def test_a_direction_outside_the_rows_is_kept_for_shifts():
    small = in_span(random_model(0, n=None, p=6, k=40, link="softmax"), most=30)
    assert np.linalg.matrix_rank(small.right) == 6 < small.rank == 7


@pytest.mark.parametrize(("k", "most", "rank"), [(11, 5, 10), (10, 5, 10), (31, 30, 10), (30, 30, 30)])
def test_few_columns_are_left_alone(k, most, rank):
    model = random_model(0, n=4, p=6, k=k)
    small = in_span(model, most=most)
    assert small.rank == rank
    assert (small is model) == (k == rank)


@pytest.mark.usefixtures("without_attacks")
def test_five_rows_of_six_thousand_columns_take_no_matrix_of_columns():
    model = FactorModel.from_vectors(np.random.default_rng(0).standard_normal((5, 6040)))
    tracemalloc.start()
    found = audit(model, n_gauges=1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6040 * 6040  # an eighth of one such matrix
    assert found.predictions_hold
    assert found.model.rank == 6040
    assert "6040" not in found.verdict
    assert verify(found.to_dict(), model).ok


def test_fewer_rows_than_columns_are_asked_about():
    said = (
        "This is read as 5 items of 6,040 numbers each. Did you mean 6,040 items? Then read it with --transpose right."
    )
    assert shape_question(random_model(0, n=None, p=5, k=6040)) == said
    assert shape_question(random_model(0, n=None, p=5, k=5)) is None
    assert shape_question(random_model(0, n=None, p=5, k=6, link="softmax")) is None
    assert shape_question(random_model(0, n=9, p=5, k=6)) is None


def test_the_command_asks_before_it_works(embaudit, tmp_path, monkeypatch):
    np.save(tmp_path / "wide.npy", np.random.default_rng(0).standard_normal((3, 40)))
    monkeypatch.setattr("embaudit.auditing.limits.ATTACKED_RANK", 0)
    asked = "Did you mean 40 items? Then read it with --transpose right."
    result = embaudit("audit", "wide.npy", "--kind", "vectors", "--gauges", 1)
    assert result.code == 0
    assert asked in result.err
    assert asked not in embaudit("audit", "wide.npy", "--kind", "vectors", "--gauges", 1, "--transpose", "right").err


def test_a_single_row_is_refused_in_one_sentence_that_asks_too(embaudit, tmp_path):
    refusal = "embaudit: a model to audit must be of two rows or more that are not zero on one side; got "
    asked = "; if its columns are the entities, read it with --transpose right.\n"
    np.save(tmp_path / "row.npy", np.ones((1, 4)))
    np.save(tmp_path / "number.npy", np.ones((1, 1)))
    np.save(tmp_path / "zeros.npy", np.zeros((2, 2)))
    row, number, zeros = (embaudit("audit", f"{name}.npy") for name in ("row", "number", "zeros"))
    assert {found.code for found in (row, number, zeros)} == {2}
    assert row.err.startswith(refusal)
    assert row.err.endswith(asked)
    for found in (number, zeros):
        assert found.err.startswith(refusal)
        assert "--transpose" not in found.err
    assert {found.err.count("\n") for found in (row, number, zeros)} == {1}
