"""No search moves a cosine that an audit calls pinned, and a search moves each cosine
that it calls free.

`EMBAUDIT_ADVERSARY=500`, as in `make adversary`, sets the number of random models.
"""

from __future__ import annotations

import os

import numpy as np
import pytest
from adversary import break_claim
from random_models import BIASES, LINKS, random_model

from embaudit.auditing.equivalence_class import equivalence_class_of
from embaudit.auditing.evidence import default_roles
from embaudit.errors import InputError

NUMBER = int(os.environ.get("EMBAUDIT_ADVERSARY", "64"))
CONFIRMED = 0.8
"""Share of free sides at least that a short search moves; degenerate models need a long
way.
"""


def sides(model):
    try:
        return [role for role in default_roles(model) if role != "cross"]
    except InputError:  # no side has two rows with a direction
        return []


@pytest.fixture(scope="module")
def searched():
    """Whether the fibre says that a side moves, and whether it was moved, by number and
    role.
    """
    found = {}
    for number in range(NUMBER):
        model = random_model(number)
        equivalence = equivalence_class_of(model, sides(model))
        for role in sides(model):
            says = equivalence.moves(role)
            if says is not None:
                found[number, role] = (
                    says,
                    break_claim(model, role=role, starts=3 if says else 8),
                )
    return found


def test_no_search_moves_cosines_that_an_audit_calls_pinned(searched):
    pinned = {key: search for key, (says, search) in searched.items() if says is False}
    assert len(pinned) >= NUMBER / 8
    assert [key for key, search in pinned.items() if search.found] == []


def test_a_search_moves_cosines_that_an_audit_calls_free(searched):
    free = [search.found for says, search in searched.values() if says]
    assert len(free) >= NUMBER / 2
    assert np.mean(free) >= CONFIRMED


def test_the_models_are_of_every_link_and_pattern():
    models = [random_model(number) for number in range(64)]
    patterns = {
        (m.link, m.left_bias is not None, m.right_bias is not None) for m in models
    }
    assert len(patterns) == len(LINKS) * len(BIASES)
    assert {m.rank for m in models} == {1, 2, 3}
    assert any(m.left is None for m in models)
