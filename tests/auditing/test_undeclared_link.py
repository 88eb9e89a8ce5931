"""The class of models whose link nobody declared, and whose rows have length 1."""

from __future__ import annotations

import numpy as np
import pytest

from embaudit.auditing.equivalence_class import equivalence_class_of
from embaudit.model import FactorModel


def unit(n, k, seed=0):
    x = np.random.default_rng(seed).standard_normal((n, k))
    return x / np.linalg.norm(x, axis=1, keepdims=True)


ITEMS = unit(25, 3, 2)
OPEN = FactorModel.from_user_item(unit(30, 3, 1), ITEMS)
"""Cosines of its rows are pinned if the link is a cosine, and free if it is not."""
FREE = FactorModel.from_user_item(unit(30, 2, 3) @ np.eye(2, 3), ITEMS)
"""Free with both links, because no user has the third direction of the items."""


@pytest.mark.parametrize("role", ["right", "left"])
def test_cosines_are_undecided_if_the_two_possible_links_disagree(role):
    found = equivalence_class_of(OPEN, ["left", "right"]).freedom[role]
    assert (found.moves, str(found.kind)) == (None, "undecided")
    assert "nobody said which was trained" in found.because
    with_cosine = equivalence_class_of(OPEN.replace(link="cosine"), [role])
    assert with_cosine.moves(role) is False
    with_identity = equivalence_class_of(OPEN.replace(link="identity"), [role])
    assert with_identity.moves(role) is True


def test_cosines_are_free_if_they_are_free_with_both_possible_links():
    free = equivalence_class_of(FREE, ["right"])
    assert (free.moves("right"), str(free.freedom["right"].kind)) == (True, "shown")
    twin = free.pinning.twin(FREE.replace(link="cosine"))
    np.testing.assert_allclose(twin.left @ twin.right.T, FREE.scores(), atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(twin.right, axis=1), 1, atol=1e-12)
    assert np.abs(twin.cosines("right") - FREE.cosines("right")).max() > 0.1


LINE = FactorModel.from_user_item([[1.0], [-1.0]], [[1.0], [1.0]])


def test_on_a_line_only_a_temperature_leaves_the_signs_open():
    """Users ±1 and items 1 have the scores ±1, and no model of one dimension turns one.

    The users (±1, 0) and the items (1/2, ±√3/2) have half of these scores, so they
    predict the same with half of the temperature, and the items have the cosine −1/2.
    """
    users = [[1.0, 0.0], [-1.0, 0.0]]
    items = [[0.5, 0.75**0.5], [0.5, -(0.75**0.5)]]
    twin = FactorModel.from_user_item(users, items)
    np.testing.assert_allclose(twin.scores() / 0.5, LINE.scores())
    np.testing.assert_allclose(twin.cosines("right"), [-0.5])
    for role, cosines in (("right", "item-item"), ("left", "user-user")):
        found = equivalence_class_of(LINE, [role]).freedom[role]
        assert (found.moves, str(found.kind)) == (None, "undecided")
        assert f"{cosines} cosines are signs, which dot products and cosines fix" in (
            found.because
        )
        assert f"Dot products leave {cosines} cosines open" not in found.because
        assert "divided by a temperature leave them open" in found.because
        for link in ("identity", "cosine"):
            model = LINE.replace(link=link)
            assert equivalence_class_of(model, [role]).moves(role) is False


def test_on_a_line_a_user_bias_lets_dot_products_turn_signs_of_items():
    """A shift of both items by −1.5 makes them −0.5; the bias of users takes it up."""
    biased = LINE.replace(left_bias=np.zeros(2), right=[[1.0], [-1.0]])
    freedom = equivalence_class_of(biased, ["right", "left"]).freedom
    assert "Dot products leave item-item cosines open" in freedom["right"].because
    assert "user-user cosines are signs" in freedom["left"].because
