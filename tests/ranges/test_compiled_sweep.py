"""Ranges are the same whether the sweep is compiled or not, and it is compiled for very many pairs."""

import numpy as np
import pytest

from embaudit.gauges import Diagonal
from embaudit.model import FactorModel
from embaudit.ranges import cosine_range, weights


@pytest.mark.parametrize("positive", [False, True])
def test_ranges_are_the_same(monkeypatch, positive):
    rows = np.random.default_rng(1).standard_normal((30, 12))
    model = FactorModel.from_vectors(np.abs(rows) if positive else rows)
    monkeypatch.setattr(weights, "COMPILED", 436)
    plain = cosine_range(model, Diagonal(12, max_condition=2.0))
    monkeypatch.setattr(weights, "COMPILED", 435)
    monkeypatch.setattr(weights, "best_interval", lambda *_: pytest.fail("not compiled"))
    found = cosine_range(model, Diagonal(12, max_condition=2.0))
    np.testing.assert_allclose(found.lower, plain.lower, atol=1e-14)
    np.testing.assert_allclose(found.upper, plain.upper, atol=1e-14)


@pytest.mark.parametrize(("square", "pairs", "there", "name"), [
    (4.0, 200_000, True, "compiled_best_interval"), (4.0, 199_999, True, "best_interval"),
    (4.0, 200_000, False, "best_interval"), (56_200.0, 0, True, "best_interval"), (56_400.0, 0, True, "every_interval"),
    (56_400.0, 200_000, True, "every_interval"),
])  # fmt: skip
def test_the_way_is_chosen_by_budget_and_pairs_and_what_is_installed(monkeypatch, square, pairs, there, name):
    monkeypatch.setattr(weights, "has_numba", lambda: there)
    # √64 · 2⁻⁵² of 56,295 is the share that rounding may take.
    assert weights.search_for(64, square, pairs).__name__ == name
