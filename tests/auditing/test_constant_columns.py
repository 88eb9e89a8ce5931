"""Columns that are constant over all rows of a side are one finding."""

from __future__ import annotations

import numpy as np
import pytest

import embaudit as ea

DRAW = np.random.default_rng(3)
ITEMS = DRAW.normal(size=(20, 6))
CONSTANTS = [3.0, 4.0, 0.0, 12.0, 84.0]


def users_with(constants):
    """Users with one random column behind columns of these constants."""
    return np.column_stack([np.tile(constants, (30, 1)), DRAW.normal(size=30)])


def constant_findings(users, items, **fields):
    model = ea.FactorModel.from_user_item(users, items, **fields)
    findings = ea.audit(model, quick=True).findings
    return [finding for finding in findings if finding.code == "EMB204"]


def test_several_constant_columns_are_one_finding_that_counts_and_names_them():
    """3² + 4² + 12² = 13², and with 84² it is 85²; the third column is 0 and adds
    nothing.
    """
    (found,) = constant_findings(users_with(CONSTANTS), ITEMS)
    assert found.text.startswith("4 columns (0, 1, 3 and 1 more) of the users are")
    assert found.value == pytest.approx(85)
    assert (found.role, "columns" in found.remedy) == ("right", True)


def test_a_stored_bias_is_told_to_take_up_the_constant_columns():
    (found,) = constant_findings(
        users_with(CONSTANTS), ITEMS, item_bias=np.arange(20.0)
    )
    assert found.remedy.startswith("Make these columns part of the item bias")


def test_one_constant_column_keeps_its_number_and_its_value():
    """Columns 0 and 1 are 0 on both sides, so the audit leaves them out."""
    users = np.column_stack([np.zeros((30, 2)), users_with([-2.5])])
    items = np.column_stack([np.zeros((20, 2)), ITEMS[:, :2]])
    (found,) = constant_findings(users, items)
    assert found.text.startswith("Column 2 of the users is constant, -2.5.")


def test_a_column_that_the_other_side_does_not_use_is_not_reported():
    items = ITEMS.copy()
    items[:, [0, 1, 4]] = 0
    (found,) = constant_findings(users_with(CONSTANTS), items)
    assert found.text.startswith("Column 3 of the users is constant, 12.")


def test_the_sentence_on_the_position_names_the_stored_column():
    """Columns 0 and 1 are 0 on both sides, so the audit leaves them out."""
    users = np.column_stack([np.zeros((30, 2)), users_with([2.5])])
    items = np.column_stack([np.zeros((20, 2)), ITEMS[:, :2]])
    model = ea.FactorModel.from_user_item(users, items)
    position = ea.audit(model, quick=True).evidence.position
    assert [bias.column for bias in position.hidden_biases] == [2]
