"""The largest movement that an audit states is at least as large as in every model that
its searches found.
"""

from __future__ import annotations

import numpy as np
import pytest
from models import random_model

import embaudit as ea
from embaudit.auditing.equivalents import WORST
from embaudit.movements import movement


def model_with_parallel_items(**options):
    """Draw 40 items, of which the last ten are twice the first ten.

    Half of the items have one interaction and the others have 90.
    """
    model = random_model(3, n=50, p=40, k=4, scales=([1.2, 1.1, 1, 0.9], 1))
    rows = np.array(model.right)
    rows[30:] = 2 * rows[:10]
    return model.replace(right=rows, right_counts=[1] * 20 + [90] * 20, **options)


@pytest.fixture(scope="module")
def audit_of_two_sides():
    return ea.audit(model_with_parallel_items(), n_gauges=2)


@pytest.fixture(scope="module")
def audit_of_a_head():
    head = random_model(4, n=None, p=40, k=4, means=(0, 1.0), link="softmax")
    return ea.audit(head, n_gauges=2)


@pytest.fixture(params=["audit_of_two_sides", "audit_of_a_head"])
def audit(request):
    """Return each of the two audits in turn."""
    return request.getfixturevalue(request.param)


def names_of_worst_models(audit):
    """Return the names of the equivalent models that the attacks found."""
    equivalents = audit.evidence.equivalents
    return [equivalent.name for equivalent in equivalents if equivalent.kind == WORST]


def test_the_worst_gauges_for_cosines_and_lists_of_two_sides_are_visited(
    audit_of_two_sides,
):
    assert names_of_worst_models(audit_of_two_sides) == [
        "worst found for item cosines",
        "worst found for item lists",
    ]


def test_the_worst_gauges_of_a_head_include_one_with_a_shift(audit_of_a_head):
    assert names_of_worst_models(audit_of_a_head) == [
        "worst found for item cosines",
        "worst found for item lists",
        "worst found for item cosines, with a shift",
    ]


def test_the_worst_models_are_checked_and_measured_like_all_equivalent_models(audit):
    evidence = audit.evidence
    assert len(evidence.drift) == len(evidence.equivalents)
    assert len(evidence.movement) == len(evidence.equivalents)
    assert evidence.predictions_hold


def test_the_movement_of_a_worst_model_is_that_of_its_gauge(audit):
    evidence = audit.evidence
    gauges = [attack.gauge for attack in evidence.limits.attacks]
    for equivalent, record in evidence.visits():
        if equivalent.kind != WORST:
            continue
        (gauge,) = (gauge for gauge in gauges if gauge is equivalent.gauge)
        expected = movement(
            evidence.model,
            gauge.act(evidence.model),
            role=record.role,
            n_neighbours=10,
        )
        assert record.mean_abs == pytest.approx(expected.mean_abs, rel=1e-9)
        assert record.n_pairs == expected.n_pairs
