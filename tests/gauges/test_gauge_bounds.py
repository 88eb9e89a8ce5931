"""Both sides of every bound of a gauge, to the last unit of rounding."""

from __future__ import annotations

import numpy as np
import pytest

from embaudit.errors import InputError
from embaudit.gauges import Gauge
from embaudit.gauges.gauge import EPS


@pytest.mark.parametrize("largest", [1.0, 4.0])
def test_a_matrix_is_singular_from_one_rounding_a_dimension(largest):
    still = np.eye(2)
    for smallest in (1.99 * EPS * largest, 2 * EPS * largest):
        with pytest.raises(InputError) as refused:
            Gauge.from_svd(still, np.array([largest, smallest]), still)
        assert str(refused.value) == (
            f"matrix must be invertible; got singular values from {smallest:.1e} to {largest:.1e}."
        )
    assert Gauge.from_svd(still, np.array([largest, 2.01 * EPS * largest]), still).rank == 2
    with pytest.raises(InputError, match=r"^u and vt must be of one shape; got \(3, 3\) and \(2, 2\)\.$"):
        Gauge.from_svd(np.eye(3), np.ones(2), still)
