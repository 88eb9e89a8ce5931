"""Measurements of heads against independent computations from the rows, and the parts
of the report.
"""

from __future__ import annotations

import numpy as np
import pytest

from embaudit.auditing.heads import head_report
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
    assert (found.affine_rank, found.n_panel, found.n_inputs, found.n_zero) == (
        3,
        30,
        50,
        0,
    )
    assert (found.mean_norm, found.median_norm) == (
        pytest.approx(np.linalg.norm(mean)),
        pytest.approx(np.median(norms)),
    )
    assert found.offset == pytest.approx(np.linalg.norm(mean) / np.median(norms))
    np.testing.assert_allclose(found.centred.gauge.right_shift, -mean)
