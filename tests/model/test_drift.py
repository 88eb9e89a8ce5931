"""Drift stays below its rounding bound for every gauge, and a model that predicts otherwise exceeds it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from models import random_model

from embaudit.gauges import GeneralLinear, Orthogonal, Translation
from embaudit.model import drift as module
from embaudit.model.drift import drift
from embaudit.model.equivalence import Equivalence

LINKS = ("identity", "softmax", "ranking")


def make(link, seed=0, **options):
    return random_model(seed, **{"n": 20, "p": 15, "k": 6, "biases": ["right_bias"], "link": link, **options})


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(seed=st.integers(0, 2**31), log_kappa=st.floats(0, 6), log_scale=st.floats(-3, 3))
@settings(max_examples=30)
def test_rounding_never_exceeds_the_bound(link, dtype, seed, log_kappa, log_scale):
    model = make(link, seed, scales=2 * (10.0**log_scale,), dtype=dtype)
    gauge = GeneralLinear(6, max_condition=10.0**log_kappa).sample(rng=seed)
    found = drift(model, gauge.act(model), condition_number=gauge.condition_number)
    assert found.ok, found
    assert found.level is model.predicts


@pytest.mark.parametrize("link", LINKS)
@given(seed=st.integers(0, 2**31))
@settings(max_examples=30)
def test_another_model_exceeds_the_bound(link, seed):
    model = make(link, seed)
    left = np.array(model.left)
    left[seed % 20] *= -1
    gauge = GeneralLinear(6, max_condition=100.0).sample(rng=seed)
    found = drift(model, gauge.act(model.replace(left=left)), condition_number=gauge.condition_number)
    assert not found.ok
    assert found.max_abs > 1e-3


def test_the_bound_is_no_loose_constant():
    model = make("identity")
    gauge = GeneralLinear(6, max_condition=2.0).sample(rng=0)
    after = gauge.act(model)
    assert drift(model, after, condition_number=2.0).tolerance < 1e-11
    nearly = after.replace(right=after.right * (1 + 1e-10))
    assert not drift(model, nearly, condition_number=2.0).ok


@given(seed=st.integers(0, 2**31), length=st.floats(0.1, 1e4))
@settings(max_examples=30)
def test_translations_keep_probabilities_within_the_bound(seed, length):
    model = make("softmax", seed)
    for side in ("right", "left"):
        after = Translation(6, side=side, max_shift=length).sample(rng=seed).act(model)
        found = drift(model, after, condition_number=1.0)
        assert found.ok, (side, found)


def test_cosine_models_are_compared_by_their_cosines():
    model = make("cosine", biases=())
    found = drift(model, Orthogonal(6).sample(rng=0).act(model), condition_number=1.0)
    assert found.level is Equivalence.COSINES
    assert found.ok
    assert found.max_abs < 1e-14


def test_large_models_are_checked_on_sampled_rows(monkeypatch):
    monkeypatch.setattr(module, "MAX_SCORES", 60)
    model = make("identity")
    found = drift(model, model, condition_number=1.0)
    assert (found.n_rows, found.exact, found.max_abs) == (4, False, 0.0)
    assert drift(model, model, condition_number=1.0, rng=1) == drift(model, model, condition_number=1.0, rng=1)
