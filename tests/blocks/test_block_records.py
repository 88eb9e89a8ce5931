"""Numbers and words of a result, and operands that differ in precision and in scale by hundreds of powers of ten."""

from __future__ import annotations

import math

import numpy as np
import pytest

from embaudit.blocks import block_cosines, sums

DRAW = np.random.default_rng(0)
WIDE, NARROW = DRAW.normal(size=(2, 600))
X = {"a": [0.3, 0.4], "b": [0.6, 0.0], "c": [0.0], "d": [0.0], "e": [0.2]}
Y = {"a": [0.4, 0.3], "b": [0.0, 0.5], "c": [0.0], "d": [0.1], "e": [0.0]}


def test_the_record_of_blocks_of_which_some_are_zero():
    found = block_cosines(X, Y)
    x, y = math.sqrt(0.65), math.sqrt(0.51)
    rho, cosine = (0.25 + 0.3) / (x * y), 0.24 / (x * y)
    told = found.to_dict(limit=2)
    expected = {
        "n_blocks": 5, "n_entries": 7, "global_cosine": cosine, "norm_cosine": rho, "mean_cosine": 0.24 / 0.55,
        "plain_mean_cosine": 0.48, "x_norm": x, "y_norm": y, "norm_gap": 1 - rho, "direction_gap": rho - cosine,
        "blocks_left_out": 3,
    }  # fmt: skip
    assert {name: told[name] for name in expected} == pytest.approx(expected)
    assert told["bounds"] == pytest.approx([0.0, 0.96 * rho])
    assert told["bounds_without_norms"] == pytest.approx([0.0, 0.96])
    assert (told["zero_blocks"], told["notes"]) == ({"x": 1, "y": 1, "both": 1}, [])
    largest, second = told["blocks"]
    expected = {
        "size": 2, "cosine": 0.0, "weight": 0.3 / (x * y), "contribution": 0.0, "x_profile": 0.6 / x,
        "y_profile": 0.5 / y, "norm_gap": (0.6 / x - 0.5 / y) ** 2 / 2, "direction_gap": 0.3 / (x * y),
        "without": 0.24 / math.sqrt(0.29 * 0.26),
    }  # fmt: skip
    assert {name: largest[name] for name in expected} == pytest.approx(expected)
    assert (largest["block"], second["block"], second["cosine"]) == ("b", "e", None)
    assert "with these norms the local cosines allow 0.0000 to 0.9170" in found.explain()
    assert found.explain().endswith("zero blocks: 1 in x only, 1 in y only, 1 in both")


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


def test_narrow_operands_whose_squares_no_float32_holds():
    big, small = (NARROW * 1e30).astype(np.float32), (NARROW * 1e-30).astype(np.float32)
    assert block_cosines({"a": big}, {"a": small}).global_cosine == pytest.approx(1.0, rel=1e-6)


def test_what_is_small_beside_the_sum_so_far_is_added_all_the_same(monkeypatch):
    """Four squares of 1/4 vanish beside 2^54; of a thousand such pieces a plain sum would lose all."""
    monkeypatch.setattr(sums, "PIECE", 4)
    x = np.full(4_004, 0.5)
    x[:4], y = [2.0**27, 0, 0, 0], np.cos(np.arange(4_004))
    xx, yy, xy = (math.fsum(one * other) for one, other in ((x, x), (y, y), (x, y)))
    assert xx - 2.0**54 == 1_000
    found = block_cosines({"a": x}, {"a": y}).global_cosine
    np.testing.assert_allclose(found, xy / math.sqrt(xx * yy), rtol=2e-15)
