"""The output of an audit does not depend on the last bits of the stored numbers."""

from __future__ import annotations

import numpy as np
import pytest

import embaudit as ea
from embaudit.model import FactorModel


def rotated_unit_items(seed: int) -> FactorModel:
    """Return 60 items of length 1 and 30 users, both turned by one rotation (none for
    seed 0).

    Users hold the same predictions in every rotation, and item lengths differ from 1 in
    their last bits only.
    """
    draw = np.random.default_rng(1)
    users, items = draw.standard_normal((30, 4)), draw.standard_normal((60, 4))
    items /= np.linalg.norm(items, axis=1, keepdims=True)
    turn = np.eye(4)
    if seed:
        square = np.random.default_rng(seed).standard_normal((4, 4))
        turn = np.linalg.qr(square)[0]
    return FactorModel.from_user_item(users @ turn, items @ turn)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_same_rows_are_shown_of_items_of_one_length_after_a_rotation(
    seed: int,
) -> None:
    """The longest rows are shown, and all are as long as each other."""
    shown = [
        {
            near.name: [name for name, _ in near.before]
            for near in ea.audit(rotated_unit_items(turn), quick=True).evidence.examples
        }
        for turn in (0, seed)
    ]
    assert len(shown[0]) == 3
    assert shown[0] == shown[1]
