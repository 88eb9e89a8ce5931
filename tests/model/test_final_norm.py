"""A final norm normalises as networks do, knows its condition, and refuses what is none."""

from __future__ import annotations

import numpy as np
import pytest

from embaudit.errors import InputError
from embaudit.model.final_norm import FinalNorm

STATES = np.random.default_rng(0).standard_normal((7, 5)) + 2
GAIN, SHIFT = np.array([1.0, -2.0, 0.5, 3.0, 1.5]), np.arange(5.0)


def test_an_rmsnorm_divides_by_the_root_mean_square():
    norm = FinalNorm("rms", GAIN)
    wanted = STATES / np.sqrt((STATES**2).mean(axis=1, keepdims=True))
    np.testing.assert_allclose(norm.normalised(STATES), wanted, rtol=1e-14)
    np.testing.assert_allclose(norm.applied(STATES), wanted * GAIN, rtol=1e-14)
    assert not norm.sums_to_zero
    assert norm.title == "RMSNorm"


def test_a_layernorm_takes_the_mean_off_and_adds_its_shift():
    norm = FinalNorm("layer", GAIN, SHIFT)
    wanted = (STATES - STATES.mean(axis=1, keepdims=True)) / STATES.std(axis=1, keepdims=True)
    np.testing.assert_allclose(norm.normalised(STATES), wanted, rtol=1e-13)
    np.testing.assert_allclose(norm.applied(STATES), wanted * GAIN + SHIFT, rtol=1e-13)
    assert norm.sums_to_zero
    assert np.abs(norm.normalised(STATES).sum(axis=1)).max() < 1e-13


def test_its_condition_is_that_of_its_gains_whatever_their_signs():
    norm = FinalNorm("rms", GAIN)
    assert norm.condition_number == 6.0
    assert FinalNorm("rms", [1.0, 0.0]).condition_number == np.inf
    assert (norm.width, norm.shift) == (5, None)
    assert repr(norm) == "FinalNorm(RMSNorm, width 5, κ = 6)"
    assert repr(FinalNorm("layer", GAIN, SHIFT)) == "FinalNorm(LayerNorm, width 5, κ = 6, with a shift)"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("batch", GAIN), "the kind of a norm must be rms or layer; got 'batch'"),
        (("rms", np.zeros(3)), "gain must be numbers that are not all 0; got zeros"),
        (("rms", [1.0, np.nan]), "gain"),
        (("rms", [[1.0]]), "gain must be a vector of 1 numbers"),
        (("rms", GAIN, None, -1e-6), "the epsilon of a norm must be a number >= 0; got -1e-06"),
        (("rms", GAIN, None, np.inf), "the epsilon of a norm must be a number >= 0; got inf"),
        (("layer", GAIN, [1.0]), "shift must be a vector of 5 numbers; got shape (1,)"),
    ],
)
def test_what_is_no_norm_is_refused(given, words):
    with pytest.raises(InputError) as refused:
        FinalNorm(*given)
    assert str(refused.value).startswith(words)
