"""Law: figures of an equivalent model describe the rows of this model."""

from __future__ import annotations

import numpy as np
import pytest
from truth.collapsed_models import collapsed_model

from embaudit.auditing.equivalents import equivalent_models

LARGEST_CONDITION = 1e6
"""The numerical contract holds up to this condition number."""


@pytest.mark.parametrize("seed", range(60))
def test_measured_rows_are_those_of_the_equivalent_model(seed):
    """All links, with and without biases and with columns that no prediction sees."""
    model = collapsed_model(seed)
    draw = np.random.default_rng(seed)
    for one in equivalent_models(model, n_gauges=1, rng=draw):
        if one.amplification > LARGEST_CONDITION:
            continue
        after = one.apply(model)
        for side in model.sides:
            expected = after.factors(side)
            size = np.abs(expected).max()
            measured = one.rows(model, side)[:]
            np.testing.assert_allclose(measured, expected, rtol=0, atol=1e-4 * size)
