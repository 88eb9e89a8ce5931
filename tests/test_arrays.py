"""Validation, dtype policy and streamed row computations, against independent arithmetic."""

from __future__ import annotations

import numpy as np

from embaudit.arrays import as_factors, unit_rows


def test_unit_rows_leaves_its_input_alone() -> None:
    given = np.array([[3.0, 4.0], [1.0, 0.0]])
    before = given.copy()
    unit_rows(given)
    np.testing.assert_array_equal(given, before)


def test_unit_rows_takes_read_only_factors() -> None:
    np.testing.assert_allclose(unit_rows(as_factors([[3.0, 4.0]], "item factors")), [[0.6, 0.8]])
