"""The common direction of rows, some of which are zero."""

from __future__ import annotations

import numpy as np
import pytest

from embaudit.auditing.traits import traits_of
from embaudit.model import FactorModel

ROWS = np.random.default_rng(0).standard_normal((100, 4)) + 3
"""Rows that share a direction."""


def direction_of(model):
    return traits_of(model, "right", rng=np.random.default_rng(0)).direction


@pytest.mark.parametrize("n_zero_rows", [1, 400])
def test_zero_rows_change_neither_the_mean_row_nor_the_neighbours_after_centring(
    n_zero_rows,
):
    with_zero_rows = np.vstack([ROWS, np.zeros((n_zero_rows, 4))])
    expected = direction_of(FactorModel.from_vectors(ROWS))
    direction = direction_of(FactorModel.from_vectors(with_zero_rows))
    assert direction.mean_cosine == pytest.approx(expected.mean_cosine, abs=1e-12)
    assert direction.offset == pytest.approx(expected.offset, abs=1e-12)
    assert direction.centring == expected.centring


def test_zero_rows_of_a_softmax_head_count_in_its_mean_row():
    """The label of reference can have a zero row, and a probability like any other."""
    with_zero_rows = np.vstack([ROWS, np.zeros((100, 4))])
    of_table = direction_of(FactorModel.from_vectors(with_zero_rows))
    of_head = direction_of(FactorModel.from_softmax(with_zero_rows))
    assert of_head.offset == pytest.approx(of_table.offset / 2, abs=1e-12)
