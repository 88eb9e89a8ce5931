"""Lists of one neighbour, and pairs of which some have no cosine."""

from __future__ import annotations

import numpy as np

import embaudit as ea
from embaudit.movements import movement

ROWS = np.array([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 0.9], [0.0, 0.0]])


def test_lists_of_one_neighbour_are_kept_or_not():
    model = ea.FactorModel.from_vectors(ROWS)
    assert movement(model, model, n_neighbours=1).top_n_overlap == 1.0
    turned = ea.FactorModel.from_vectors(ROWS[[0, 2, 1, 3, 4]])
    assert movement(model, turned, n_neighbours=1).top_n_overlap == 0.0
    half = ROWS.copy()
    half[3] = [-1.0, 0.1]
    found = movement(model, ea.FactorModel.from_vectors(half), n_neighbours=1)
    assert found.top_n_overlap == 0.75
    assert found.n_zero == 1


def test_an_audit_of_one_neighbour(monkeypatch):
    monkeypatch.setattr("embaudit.auditing.limits.ATTACKED_RANK", 0)
    model = ea.FactorModel.from_user_item(ROWS[:4], ROWS[:4] + 0.1)
    found = ea.audit(model, n_neighbours=1, n_gauges=1, n_pairs=6)
    shares = [one["top_n_overlap"] for one in found.to_dict()["movement"] if one["role"] == "right"]
    assert len(shares) > 1
    assert set(shares) <= {0.0, 0.25, 0.5, 0.75, 1.0}


def test_all_pairs_are_visited_where_there_are_no_more_than_asked_for():
    model = ea.FactorModel.from_vectors(ROWS[:4])
    for most, exact in ((6, True), (5, False)):
        found = movement(model, model, n_pairs=most)
        assert (found.n_pairs, found.n_all_pairs, found.exact) == (most, 6, exact)
