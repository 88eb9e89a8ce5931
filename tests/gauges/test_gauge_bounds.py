"""Both sides of every bound of a gauge, to the last unit of rounding."""

from __future__ import annotations

import numpy as np
import pytest

from embaudit.errors import InputError
from embaudit.gauges import Gauge
from embaudit.gauges.gauge import EPS


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_two_matrices_are_inverse_up_to_64_roundings_a_dimension(rank):
    for units, fits in ((64 * rank, True), (64 * rank + 1, False)):
        right = np.eye(rank)
        right[0, 0] += units * EPS
        if fits:
            assert Gauge(np.eye(rank), right).rank == rank
        else:
            with pytest.raises(InputError, match="must be the identity; got an error of"):
                Gauge(np.eye(rank), right)


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
