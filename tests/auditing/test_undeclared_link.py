"""The set of equivalent models if all rows have length 1 and no link is declared."""

from __future__ import annotations

import numpy as np
import pytest

from embaudit.auditing.equivalence_class import equivalence_class_of
from embaudit.model import FactorModel


def unit_rows(n, k, seed):
    """Draw n rows of length 1 in k dimensions."""
    x = np.random.default_rng(seed).standard_normal((n, k))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def freedom_of(model, role):
    return equivalence_class_of(model, [role]).freedom[role]


# 30 users and 25 items in three dimensions. Enough unit rows in general position pin
# the cosines if the link is a cosine, and dot products leave them free.
ITEMS = unit_rows(25, 3, seed=2)
PINNED_BY_COSINES = FactorModel.from_user_item(unit_rows(30, 3, seed=1), ITEMS)


@pytest.mark.parametrize("role", ["right", "left"])
def test_the_example_is_fixed_by_cosines(role):
    model = PINNED_BY_COSINES.replace(link="cosine")
    assert freedom_of(model, role).moves is False


@pytest.mark.parametrize("role", ["right", "left"])
def test_the_example_is_left_free_by_dot_products(role):
    model = PINNED_BY_COSINES.replace(link="identity")
    assert freedom_of(model, role).moves is True


@pytest.mark.parametrize("role", ["right", "left"])
def test_cosines_are_undecided_if_the_two_possible_links_disagree(role):
    freedom = freedom_of(PINNED_BY_COSINES, role)
    assert freedom.moves is None
    assert freedom.kind == "undecided"
    assert "nobody said which was trained" in freedom.because


# All users lie in the plane of the first two coordinates. No user has the third
# direction of the items, so the items can move there with both links.
USERS_IN_A_PLANE = np.column_stack([unit_rows(30, 2, seed=3), np.zeros(30)])
FREE_WITH_BOTH = FactorModel.from_user_item(USERS_IN_A_PLANE, ITEMS)


def test_cosines_are_free_if_they_are_free_with_both_possible_links():
    freedom = freedom_of(FREE_WITH_BOTH, "right")
    assert freedom.moves is True
    assert freedom.kind == "shown"


def test_a_model_with_other_cosines_shows_that_they_are_free_with_both_links():
    """It has the same scores and rows of length 1, so both readings allow it."""
    equivalent = equivalence_class_of(FREE_WITH_BOTH, ["right"])
    twin = equivalent.pinning.twin(FREE_WITH_BOTH.replace(link="cosine"))
    scores = twin.left @ twin.right.T
    np.testing.assert_allclose(scores, FREE_WITH_BOTH.scores(), atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(twin.right, axis=1), 1, atol=1e-12)
    change = twin.cosines("right") - FREE_WITH_BOTH.cosines("right")
    assert np.abs(change).max() > 0.1


# Two users, 1 and −1, and two items, both 1, on a line: each cosine is a sign.
LINE = FactorModel.from_user_item([[1.0], [-1.0]], [[1.0], [1.0]])
ROLES = pytest.mark.parametrize(
    ("role", "cosines"),
    [("right", "item-item cosines"), ("left", "user-user cosines")],
)


@pytest.mark.parametrize("role", ["right", "left"])
@pytest.mark.parametrize("link", ["identity", "cosine"])
def test_on_a_line_both_possible_links_fix_the_signs(link, role):
    assert freedom_of(LINE.replace(link=link), role).moves is False


def test_in_a_plane_another_temperature_turns_the_items_of_a_line():
    """The users (±1, 0) and the items (1/2, ±√3/2) have half of the scores.

    So they predict the same with half of the temperature, and the items have the cosine
    1/4 − 3/4 instead of 1.
    """
    users = [[1.0, 0.0], [-1.0, 0.0]]
    items = [[0.5, 0.75**0.5], [0.5, -(0.75**0.5)]]
    twin = FactorModel.from_user_item(users, items)
    np.testing.assert_allclose(twin.scores() / 0.5, LINE.scores())
    np.testing.assert_allclose(twin.cosines("right"), [-0.5])


@ROLES
def test_on_a_line_signs_are_undecided_because_of_a_temperature(role, cosines):
    freedom = freedom_of(LINE, role)
    assert freedom.moves is None
    assert freedom.kind == "undecided"
    assert "divided by a temperature leave them open" in freedom.because


@ROLES
def test_on_a_line_the_reason_says_that_both_links_fix_the_signs(role, cosines):
    reason = freedom_of(LINE, role).because
    assert f"{cosines} are signs, which dot products and cosines fix" in reason
    assert f"Dot products leave {cosines} open" not in reason


# A free bias of the users takes up any shift of the items. A shift by −1.5 makes the
# items 1 and −1 both negative.
LINE_WITH_BIAS = LINE.replace(left_bias=np.zeros(2), right=[[1.0], [-1.0]])


def test_on_a_line_a_user_bias_lets_dot_products_turn_signs_of_items():
    reason = freedom_of(LINE_WITH_BIAS, "right").because
    assert "Dot products leave item-item cosines open" in reason


def test_on_a_line_a_user_bias_turns_no_sign_of_users():
    reason = freedom_of(LINE_WITH_BIAS, "left").because
    assert "user-user cosines are signs" in reason
