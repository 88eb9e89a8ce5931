"""How much each row counts in the limits of a gate."""

from __future__ import annotations

import numpy as np

import embaudit as ea
from embaudit.comparison.weights import row_weights
from embaudit.core.words import percent
from embaudit.report.comparison_summary import summary_table
from embaudit.report.documents import document

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


def test_sentences_and_the_table_show_the_share_that_limits_judge():
    """Items of the first half fill nearly all lists of the users, and stay as they
    were.
    """
    draw = np.random.default_rng(0)
    users, items = draw.standard_normal((60, 4)), draw.standard_normal((40, 4))
    changed = items.copy()
    changed[20:] = draw.standard_normal((20, 4))
    counts = np.r_[np.full(20, 1000), np.ones(20)]
    before = ea.FactorModel.from_user_item(users, items, item_counts=counts)
    after = ea.FactorModel.from_user_item(users, changed, item_counts=counts)
    judged = ea.compare(before, after, by_row=True, fail_below={"kept": 0.01})
    change = judged.changes["right"]
    assert change.weighted_kept > change.neighbour_shares["kept"]
    weighted = percent(change.weighted_kept)
    once = percent(change.neighbour_shares["kept"])
    summary = summary_table(judged)
    column = summary.frame.set_index("measure")["items"]
    assert column["10 nearest kept"] == weighted
    assert "kept: items count by their interactions" in summary.caption
    text = judged.explain()
    assert f"Of 10 nearest items, {weighted} stay." in text
    assert f"kept {change.weighted_kept:.2f} (neighbours of items" in text
    # The share in which each row counts once stands in a table of its own.
    shown = "\n".join(map(str, document(judged).tables))
    assert shown.count("each row counted once") == 1
    assert once not in str(summary)
    assert once in shown


def test_rows_count_once_without_limits_on_lists():
    draw = np.random.default_rng(0)
    users, items = draw.standard_normal((60, 4)), draw.standard_normal((40, 4))
    before = ea.FactorModel.from_user_item(users, items)
    after = ea.FactorModel.from_user_item(users, items + draw.standard_normal((40, 4)))
    for limits in ({}, {"scores": 0.01}):
        compared = ea.compare(before, after, by_row=True, fail_below=limits or None)
        change = compared.changes["right"]
        column = summary_table(compared).frame.set_index("measure")["items"]
        once = percent(change.neighbour_shares["kept"])
        assert column["10 nearest kept"].startswith(f"{once} (")
        shown = "\n".join(map(str, document(compared).tables))
        assert "each row counted once" not in shown
