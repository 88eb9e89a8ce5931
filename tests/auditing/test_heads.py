"""What is measured of a head, computed again from its rows; and what its report is made of."""

from __future__ import annotations

import numpy as np
import pytest

from embaudit.auditing import head_report
from embaudit.model import FactorModel

ROWS = np.random.default_rng(3).standard_normal((30, 3)) + np.eye(3)[0]
INPUTS = np.random.default_rng(4).standard_normal((50, 3)) * [1, 2, 4]


def measured(model, rng=0, **options):
    known = {"n_neighbours": 5, "max_condition": 3.0}
    return head_report(model, rng=rng, **known | options)


def test_what_is_measured_of_a_head_is_computed_again():
    model = FactorModel.from_softmax(ROWS, embeddings=INPUTS)
    found = measured(model)
    norms, mean = np.linalg.norm(ROWS, axis=1), ROWS.mean(axis=0)
    assert found.model is model
    assert (found.affine_rank, found.n_panel, found.n_inputs, found.n_zero) == (3, 30, 50, 0)
    assert (found.mean_norm, found.median_norm) == (
        pytest.approx(np.linalg.norm(mean)),
        pytest.approx(np.median(norms)),
    )
    assert found.offset == pytest.approx(np.linalg.norm(mean) / np.median(norms))
    np.testing.assert_allclose(found.centred.gauge.right_shift, -mean)
    assert [made.name for made in found.equivalents] == [
        f"{k} {i}" for i in (1, 2) for k in ("linear", "translation", "affine")
    ]
    assert found.equivalents[0].condition_number == pytest.approx(3.0)
    assert [made.target for made in found.constructions] == [-1.0, 1.0]
    assert [summary.target for summary in found.shifts] == [0.0, -1.0, 1.0]
    assert all(summary.exact and summary.n_pairs + summary.n_fixed == 435 for summary in found.shifts)
    assert (found.neighbours.top_n, found.neighbours.exact, found.neighbours.n_rows) == (5, True, 30)
    assert found.centred.movement.top_n == 5
    assert len(found.argmax.labels) == 30
    assert len(found.projector.pairs) == 435
    assert found.logit_agreement is not None
