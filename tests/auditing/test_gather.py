"""What an audit measures, on which sample, and which neighbours it shows."""

from __future__ import annotations

import numpy as np
from models import random_model

from embaudit.auditing.evidence import gather
from embaudit.auditing.options import AuditOptions
from embaudit.model import FactorModel

SMALL = random_model(n=9, p=8, k=3)
ROWS = np.random.default_rng(1).standard_normal((12, 3))


def test_what_is_predicted_is_compared_on_the_pairs_and_lists_of_all_other_models():
    found = gather(
        SMALL,
        AuditOptions(n_gauges=1, n_pairs=20, n_lists=7, n_starts=0, n_neighbours=2),
    )
    visited = next(record for _, record in found.visits("right"))
    beside = found.predicted.for_role("right")
    assert (beside.n_pairs, beside.top_n, beside.n_lists) == (20, 2, 7)
    assert beside.pairs is visited.pairs
    assert beside.lists is visited.lists


def test_one_side_alone_has_no_position_and_is_checked_on_probes():
    found = gather(FactorModel.from_vectors(ROWS), AuditOptions(n_gauges=1, n_starts=0))
    assert found.position is None
    assert {record.n_rows for record in found.drift} == {256}
    assert found.model.left is None
