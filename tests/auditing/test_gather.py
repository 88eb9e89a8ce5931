"""What an audit measures, on which sample, and which neighbours it shows."""

from __future__ import annotations

import numpy as np
from models import random_model

from embaudit.auditing.evidence import gather
from embaudit.auditing.options import AuditOptions
from embaudit.model import FactorModel

SMALL = random_model(n=9, p=8, k=3)
ROWS = np.random.default_rng(1).standard_normal((12, 3))


def test_prediction_cosines_are_compared_on_the_pairs_and_lists_of_all_other_models():
    options = AuditOptions(
        n_gauges=1, n_pairs=20, n_lists=7, n_starts=0, n_neighbours=2
    )
    evidence = gather(SMALL, options)
    _, movement = next(iter(evidence.visits("right")))
    predicted = evidence.predicted.for_role("right")
    assert predicted.n_pairs == 20
    assert predicted.top_n == 2
    assert predicted.n_lists == 7
    assert predicted.pairs is movement.pairs
    assert predicted.lists is movement.lists


def test_one_side_alone_has_no_position_and_is_checked_on_256_probes():
    model = FactorModel.from_vectors(ROWS)
    evidence = gather(model, AuditOptions(n_gauges=1, n_starts=0))
    assert evidence.position is None
    assert {record.n_rows for record in evidence.drift} == {256}
    assert evidence.model.left is None
