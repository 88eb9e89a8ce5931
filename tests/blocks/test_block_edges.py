"""Block sums of operands that differ in precision and in scale by hundreds of powers of ten."""

from __future__ import annotations

import numpy as np
import pytest

import embaudit as ea

DRAW = np.random.default_rng(0)
WIDE, NARROW = DRAW.normal(size=(2, 600))


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
@pytest.mark.parametrize("scale", [1e300, 1e-300, 1e-160, 1.0])
@pytest.mark.parametrize("turned", [False, True])
def test_a_wide_operand_of_extreme_scale_beside_a_narrow_one(dtype, scale, turned):
    narrow = NARROW.astype(dtype)
    pair = [{"a": WIDE[:300] * scale, "b": WIDE[300:] * scale}, {"a": narrow[:300], "b": narrow[300:]}]
    found = ea.block_cosines(*(pair[::-1] if turned else pair))
    x, y = WIDE, narrow.astype(np.float64)
    cosine = x @ y / np.sqrt(x @ x * (y @ y))
    halves = [x[s] @ y[s] / np.sqrt(x[s] @ x[s] * (y[s] @ y[s])) for s in (slice(300), slice(300, None))]
    assert found.global_cosine == pytest.approx(cosine, rel=1e-12)
    np.testing.assert_allclose(found.cosines, halves, rtol=1e-12)


def test_narrow_operands_whose_squares_no_float32_holds():
    big, small = (NARROW * 1e30).astype(np.float32), (NARROW * 1e-30).astype(np.float32)
    assert ea.block_cosines({"a": big}, {"a": small}).global_cosine == pytest.approx(1.0, rel=1e-6)
