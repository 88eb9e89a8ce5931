"""Results of a comparison are values; its bounds are those that the documentation names."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest
from models import random_model

from embaudit.comparison import compare
from embaudit.comparison.rounded import Given
from embaudit.model import FactorModel
from embaudit.model.final_norm import FinalNorm

COMPARE = import_module("embaudit.comparison.compare")
SEEDS = ({"rng": 1}, {"rng": 1})


def vectors(n=9, k=3, seed=0, **fields):
    return FactorModel.from_vectors(np.random.default_rng(seed).standard_normal((n, k)), **fields)


@pytest.mark.parametrize(("users", "items", "groups"), [(25, 30, 20), (25, 9, 9), (10, 30, 10)])
def test_as_many_groups_are_left_out_as_the_smaller_side_has_rows_and_at_most_twenty(users, items, groups):
    model, other = (random_model(seed, n=users, p=items, k=2) for seed in (0, 1))
    for role, change in compare(model, other).changes.items():
        assert change.role == role
        assert {len(values) for values in change.replicates.values()} == {groups}


def test_a_head_behind_a_norm_keeps_what_its_shift_adds_to_the_logits():
    draw = np.random.default_rng(0)
    rows, gain, shift, states = (draw.standard_normal(size) for size in ((6, 3), 3, 3, (4, 3)))
    norm = FinalNorm("layer", gain, shift)
    found = Given(FactorModel.from_softmax(rows, np.arange(6.0)), norm).behind(states).model
    np.testing.assert_allclose(found.scores(), (gain * states + shift) @ rows.T + np.arange(6.0), atol=1e-12)
