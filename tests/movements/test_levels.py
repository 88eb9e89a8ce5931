"""Levels: shares of pairs below a value, exact for few rows, near the truth for many."""

from __future__ import annotations

import numpy as np
import pytest
from models import random_model

from embaudit.linalg.rows import unit_rows
from embaudit.movements import levels

QUANTILES = ["0.01", "0.05", "0.25", "0.5", "0.75", "0.95", "0.99", "0.999"]


def all_cosines(model, role="right"):
    unit = unit_rows(model.factors(role))
    return np.sort((unit @ unit.T)[np.triu_indices(len(unit), 1)])


def test_few_rows_are_read_against_all_their_pairs():
    model = random_model(p=30)
    found, wanted = levels(model), all_cosines(model)
    assert (found.n_pairs, found.exact) == (435, True)
    np.testing.assert_allclose(found.cosines, wanted, atol=1e-14)
    values = np.linspace(-1.1, 1.1, 23)
    assert found.below(values).tolist() == [(wanted < value).mean() for value in values]
    record = found.to_dict()
    assert record == {"n_pairs": 435, "n_all_pairs": 435, "exact": True, "quantiles": record["quantiles"]}
    assert list(record["quantiles"]) == QUANTILES
    assert record["quantiles"]["0.75"] == pytest.approx(np.quantile(wanted, 0.75))
    assert repr(found) == "Levels(435 pairs of items)"


def test_many_rows_are_read_against_drawn_pairs():
    model = random_model(p=201, n=200)
    found = levels(model)
    assert (found.n_pairs, found.exact) == (20_000, False)
    wanted = all_cosines(model)
    grid = np.linspace(-0.9, 0.9, 19)
    assert np.abs(found.below(grid) - [(wanted < value).mean() for value in grid]).max() < 1.63 / np.sqrt(20_000)
    left = levels(model, role="user")
    assert (left.n_pairs, left.exact) == (19_900, True)
    assert levels(model, rng=1).cosines.tolist() != found.cosines.tolist()
