"""Label combinations against Cover's counts, sampling and the Gram of cosines."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from head_examples import affine_gauge, random_head
from hypothesis import given, settings
from hypothesis import strategies as st

from embaudit.errors import InputError
from embaudit.gauges import Gauge
from embaudit.heads import label_combinations

SEEDS = st.integers(0, 2**32 - 1)


def regions(n_labels: int, rank: int, *, bias: bool) -> int:
    """Cover's count of the regions of hyperplanes in general position."""
    if bias:
        return sum(comb(n_labels, i) for i in range(rank + 1))
    return 2 * sum(comb(n_labels - 1, i) for i in range(rank))


@given(seed=SEEDS, n=st.integers(1, 6), rank=st.integers(1, 3), bias=st.booleans())
@settings(max_examples=25, deadline=None)
def test_label_combinations_are_as_many_as_cover_counted(seed, n, rank, bias):
    assert len(label_combinations(random_head(seed, n, rank, bias=bias)).on) == regions(
        n, rank, bias=bias
    )


@pytest.mark.parametrize("bias", [False, True])
def test_label_combinations_are_those_that_random_inputs_give(bias):
    head = random_head(4, 5, 2, bias=bias)
    draw = np.random.default_rng(0)
    inputs = np.geomspace(0.1, 100, 200_000)[:, None] * draw.standard_normal(
        (200_000, 2)
    )
    logits = inputs @ head.right.T + (0 if head.right_bias is None else head.right_bias)
    seen = {tuple(row) for row in np.unique(logits > 0, axis=0).tolist()}
    listed = {tuple(row) for row in label_combinations(head).on.tolist()}
    assert seen == listed


@given(seed=SEEDS)
@settings(max_examples=10, deadline=None)
def test_linear_gauges_and_absorbed_input_shifts_change_no_label_combination(seed):
    head = random_head(seed, 5, 2, bias=True)
    before = label_combinations(head).on
    linear = affine_gauge(2, seed, shift=0.0)
    moved = (Gauge.translation(2, left=[1.0, -2.0]) @ linear).act(head)
    assert np.array_equal(label_combinations(moved).on, before)


@pytest.mark.parametrize("seed", range(3))
def test_a_translation_of_labels_changes_label_combinations(seed):
    head = random_head(seed, 5, 2, bias=True)
    translated = Gauge.translation(2, right=[30.0, 0.0]).act(head)
    assert not np.array_equal(
        label_combinations(translated).on, label_combinations(head).on
    )


def test_without_a_bias_rows_of_equal_cosines_have_equal_combinations():
    head = random_head(1, 6, 3)
    lengths = np.random.default_rng(2).uniform(0.01, 100, (6, 1))
    same_cosines = head.replace(right=lengths * head.right)
    assert np.array_equal(
        label_combinations(same_cosines).on, label_combinations(head).on
    )
    biased = head.replace(right_bias=np.ones(6))
    scaled = biased.replace(right=lengths * head.right)
    assert not np.array_equal(
        label_combinations(scaled).on, label_combinations(biased).on
    )


def test_too_many_label_combinations_are_refused():
    with pytest.raises(InputError, match=r"at most 100; got more after 7 of 30 labels"):
        label_combinations(random_head(0, 30, 7), max_combinations=100)
    with pytest.raises(InputError, match="margin must be a number; got 'wide'"):
        label_combinations(random_head(0, 3, 2), margin="wide")


def test_a_search_for_a_nearest_point_that_does_not_converge_is_refused(monkeypatch):
    def does_not_converge(*_arguments):
        raise RuntimeError("Maximum number of iterations reached.")

    monkeypatch.setattr("scipy.optimize.nnls", does_not_converge)
    with pytest.raises(InputError, match="search for a nearest point did not converge"):
        label_combinations(random_head(0, 3, 2))
