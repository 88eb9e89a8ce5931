"""How much each row counts in the limits of a gate."""

from __future__ import annotations

import numpy as np

import embaudit as ea
from embaudit.comparison.weights import row_weights

RNG = np.random.default_rng(0)


def test_without_counts_an_item_counts_by_its_slots_in_lists():
    # Scores are 0 to 11, so the list of the only user holds items 2 to 11.
    model = ea.FactorModel.from_arrays([[1.0]], np.arange(12.0)[:, None])
    weights = row_weights(model, "right", RNG)
    assert weights.source == "slots"
    assert weights.values.tolist() == [0.0] * 2 + [0.1] * 10


def test_users_and_tables_of_one_side_count_equally():
    model = ea.FactorModel.from_arrays(np.eye(2), np.eye(2))
    table = ea.FactorModel.from_vectors(np.eye(4))
    assert row_weights(model, "left", RNG).source == "equal"
    assert row_weights(table, "right", RNG).values.tolist() == [0.25] * 4


def test_items_count_equally_if_no_user_has_a_list():
    model = ea.FactorModel.from_arrays(np.zeros((3, 2)), np.eye(2), link="cosine")
    weights = row_weights(model, "right", RNG)
    assert (weights.source, weights.values.tolist()) == ("equal", [0.5, 0.5])


def test_all_rows_have_exactly_the_whole_weight():
    model = ea.FactorModel.from_vectors(np.ones((7, 2)))
    weights = row_weights(model, "right", RNG)
    assert weights.share(np.arange(7)) == 1.0
