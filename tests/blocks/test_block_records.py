"""Numbers and words of a result, and operands that differ in precision and in scale by hundreds of powers of ten."""

from __future__ import annotations

import numpy as np
import pytest

from embaudit.blocks import block_cosines

DRAW = np.random.default_rng(0)
WIDE, NARROW = DRAW.normal(size=(2, 600))


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("scale", [1e300, 1e-300, 1e-160, 1.0])
@pytest.mark.parametrize("turned", [False, True])
def test_a_wide_operand_of_extreme_scale_beside_a_narrow_one(dtype, scale, turned):
    narrow = NARROW.astype(dtype)
    pair = [{"a": WIDE[:300] * scale, "b": WIDE[300:] * scale}, {"a": narrow[:300], "b": narrow[300:]}]
    found = block_cosines(*(pair[::-1] if turned else pair))
    x, y = WIDE, narrow.astype(np.float64)
    cosine = x @ y / np.sqrt(x @ x * (y @ y))
    halves = [x[s] @ y[s] / np.sqrt(x[s] @ x[s] * (y[s] @ y[s])) for s in (slice(300), slice(300, None))]
    assert found.global_cosine == pytest.approx(cosine, rel=1e-12)
    np.testing.assert_allclose(found.cosines, halves, rtol=1e-12)
