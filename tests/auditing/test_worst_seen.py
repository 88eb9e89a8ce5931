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


def with_copies(**options):
    """Forty items, ten of them copies of others, most of few interactions."""
    model = random_model(3, n=50, p=40, k=4, scales=([1.2, 1.1, 1, 0.9], 1))
    rows = np.array(model.right)
    rows[30:] = 2 * rows[:10]
    return model.replace(right=rows, right_counts=[1] * 20 + [90] * 20, **options)


@pytest.fixture(scope="module")
def audits():
    head = random_model(4, n=None, p=40, k=4, means=(0, 1.0), link="softmax")
    return {
        "pair": ea.audit(with_copies(), n_gauges=2),
        "head": ea.audit(head, n_gauges=2),
    }


def found_by_search(audit):
    return [
        (one, record) for one, record in audit.evidence.visits() if one.kind == WORST
    ]


def test_worst_gauges_are_visited_like_all_equal_models(audits):
    names = {
        "pair": ["worst found for item cosines", "worst found for item lists"],
        "head": [
            "worst found for item cosines",
            "worst found for item lists",
            "worst found for item cosines, with a shift",
        ],
    }
    for name, audit in audits.items():
        evidence = audit.evidence
        assert [one.name for one in evidence.equivalents if one.kind == WORST] == names[
            name
        ]
        assert (
            len(evidence.drift) == len(evidence.equivalents) == len(evidence.movement)
        )
        assert evidence.predictions_hold
        for one, record in found_by_search(audit):
            attack = next(a for a in evidence.limits.attacks if a.gauge is one.gauge)
            again = movement(
                evidence.model,
                attack.gauge.act(evidence.model),
                role=record.role,
                n_neighbours=10,
            )
            assert record.mean_abs == pytest.approx(again.mean_abs, rel=1e-9)
            assert record.n_pairs == again.n_pairs
