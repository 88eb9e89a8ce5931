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


@pytest.fixture(scope="module")
def model():
    return FactorModel.from_softmax(ROWS, embeddings=INPUTS)


@pytest.fixture(scope="module")
def report(model):
    return head_report(model, n_neighbours=5, max_condition=3.0, rng=0)


def test_a_report_counts_labels_inputs_and_the_affine_rank(model, report):
    assert report.model is model
    assert report.affine_rank == 3
    assert report.n_panel == 30
    assert report.n_inputs == 50
    assert report.n_zero == 0


def test_lengths_of_the_mean_row_and_of_the_median_row_are_computed_again(report):
    mean_length = np.linalg.norm(ROWS.mean(axis=0))
    median_length = np.median(np.linalg.norm(ROWS, axis=1))
    assert report.mean_norm == pytest.approx(mean_length)
    assert report.median_norm == pytest.approx(median_length)
    assert report.offset == pytest.approx(mean_length / median_length)


def test_the_centred_head_is_shifted_by_the_negative_mean_row(report):
    np.testing.assert_allclose(report.centred.gauge.right_shift, -ROWS.mean(axis=0))
