"""Rankings against enumeration; what fixes them and what does not."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from head_examples import equivalent_head, random_head
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from embaudit.errors import InputError
from embaudit.kernels.pairs import all_pairs, pair_cosines
from embaudit.model import FactorModel
from embaudit.softmax import argmaxable, label_rankings

SEEDS = st.integers(0, 2**32 - 1)


def differences(head: FactorModel) -> np.ndarray:
    first, second = all_pairs(head.n_right).T
    return np.asarray(head.right[first] - head.right[second])


def enumerated(head: FactorModel) -> set[tuple[int, ...]]:
    """Every order of which some input has successive logits at least 1 apart: one linear program a permutation."""
    bias = np.zeros(head.n_right) if head.right_bias is None else head.right_bias
    found = set()
    for order in permutations(range(head.n_right)):
        steps = np.diff(np.column_stack([head.right, bias])[list(order)], axis=0)
        solved = linprog(
            np.zeros(head.rank + 1), steps, -np.ones(len(steps)), bounds=[(None, None)] * head.rank + [(0, None)]
        )
        if solved.status == 0:
            found.add(order)
    return found


def rankings(head: FactorModel) -> set[tuple[int, ...]]:
    return {tuple(order) for order in label_rankings(head).tolist()}


@given(seed=SEEDS, n=st.integers(2, 5), rank=st.integers(1, 3), bias=st.booleans())
@settings(max_examples=12, deadline=None)
def test_they_are_the_orders_that_one_program_each_allows(seed, n, rank, bias):
    head = random_head(seed, n, rank, bias=bias)
    assert rankings(head) == enumerated(head)


@given(seed=SEEDS, bias=st.booleans())
@settings(max_examples=10, deadline=None)
def test_no_affine_gauge_changes_them(seed, bias):
    head = random_head(seed, 4, 2, bias=bias)
    assert rankings(equivalent_head(head, seed)) == rankings(head)


def test_the_first_of_some_ranking_is_what_can_be_the_argmax():
    head = random_head(9, 7, 2)
    assert np.array_equal(np.unique(label_rankings(head)[:, 0]), np.flatnonzero(argmaxable(head).can_lead))


def gram_signs(head: FactorModel) -> bytes:
    """For every two differences of labels, whether their angle is acute, right or obtuse."""
    d = differences(head)
    return np.sign(d @ d.T).astype(np.int8).tobytes()


def search_for_a_pair() -> tuple[FactorModel, FactorModel]:
    """Two heads of four labels in the plane with the same sign patterns and other rankings."""
    draw, seen = np.random.default_rng(0), {}
    while True:
        head = FactorModel.from_softmax(draw.integers(-3, 4, (4, 2)))
        if len(np.unique(head.right, axis=0)) < 4:
            continue
        other = seen.setdefault(gram_signs(head), head)
        if other is not head and rankings(other) != rankings(head):
            return other, head


def test_signs_of_cosines_of_differences_do_not_fix_the_rankings():
    one, other = search_for_a_pair()
    assert gram_signs(one) == gram_signs(other)
    assert enumerated(one) == rankings(one) != rankings(other) == enumerated(other)


def test_all_cosines_of_differences_do_fix_them():
    """They fix the differences up to a rotation and one scale a difference, which no sign sees."""
    head = random_head(3, 5, 2)
    similar = head.replace(right=3 * head.right @ [[0.6, 0.8], [-0.8, 0.6]] + 5)
    pairs = all_pairs(10)
    assert np.allclose(*(pair_cosines(differences(h), differences(h), pairs) for h in (head, similar)))
    assert rankings(similar) == rankings(head)


def test_but_they_need_not_be_equal_for_equal_rankings():
    head = random_head(3, 5, 2)
    moved = equivalent_head(head, 3)
    pairs = all_pairs(10)
    before, after = (pair_cosines(differences(h), differences(h), pairs) for h in (head, moved))
    assert np.abs(after - before).max() > 0.5
    assert rankings(moved) == rankings(head)


def test_too_many_are_refused():
    with pytest.raises(InputError, match="the number of rankings must be at most 100; got more after 5 of 9 labels"):
        label_rankings(random_head(0, 9, 5), max_rankings=100)
