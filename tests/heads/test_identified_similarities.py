"""Logit and projector cosines against dense computations and affine gauges."""

from __future__ import annotations

import numpy as np
import pytest
from head_examples import SQUARE, affine_gauge, equivalent_head, random_head
from hypothesis import given, settings
from hypothesis import strategies as st

from embaudit.errors import InputError
from embaudit.heads import logit_cosines, projector_cosines
from embaudit.linalg.pairs import all_pairs
from embaudit.model import FactorModel

SEEDS = st.integers(0, 2**32 - 1)


def dense_logit_cosines(head: FactorModel) -> np.ndarray:
    logits = head.scores()
    centred = (
        logits
        - logits.mean(axis=0)
        - logits.mean(axis=1, keepdims=True)
        + logits.mean()
    )
    gram = centred.T @ centred
    return gram / np.sqrt(np.outer(np.diag(gram), np.diag(gram)))


def hat_matrix(head: FactorModel) -> np.ndarray:
    centred = head.right - head.right.mean(axis=0)
    return centred @ np.linalg.pinv(centred)


@given(seed=SEEDS, inputs=st.sampled_from([3, 10, 50]), bias=st.booleans())
@settings(max_examples=25, deadline=None)
def test_logit_cosines_are_those_of_the_double_centred_logits(seed, inputs, bias):
    head = random_head(seed, 9, 4, bias=bias, inputs=inputs)
    pairs = all_pairs(9)
    expected = dense_logit_cosines(head)[tuple(pairs.T)]
    assert np.allclose(logit_cosines(head, pairs=pairs), expected, atol=1e-10)
    assert np.allclose(
        logit_cosines(equivalent_head(head, seed), pairs=pairs), expected, atol=1e-9
    )


def test_logit_cosines_are_about_the_inputs_declared():
    head = random_head(0, 9, 4, inputs=50)
    other = np.random.default_rng(1).standard_normal((50, 4)) * [5.0, 1.0, 1.0, 1.0]
    pairs = all_pairs(9)
    moved = logit_cosines(head, pairs=pairs, inputs=other)
    assert np.abs(moved - logit_cosines(head, pairs=pairs)).max() > 0.1
    assert np.allclose(moved, logit_cosines(head.replace(left=other), pairs=pairs))


def test_logit_cosines_need_inputs_and_a_softmax():
    with pytest.raises(
        InputError, match="must be computed over inputs; got a head without"
    ):
        logit_cosines(random_head(0, 5, 2), pairs=[[0, 1]])
    with pytest.raises(InputError, match="softmax head"):
        logit_cosines(
            FactorModel.from_user_item([[1.0]], [[1.0], [2.0]]), pairs=[[0, 1]]
        )


@given(seed=SEEDS, n=st.integers(8, 30), rank=st.integers(1, 6))
@settings(max_examples=25, deadline=None)
def test_projector_cosines_are_those_of_the_hat_matrix(seed, n, rank):
    head = random_head(seed, n, rank)
    pairs, hat = all_pairs(n), hat_matrix(head)
    expected = (hat / np.sqrt(np.outer(np.diag(hat), np.diag(hat))))[tuple(pairs.T)]
    assert np.allclose(
        projector_cosines(head, pairs=pairs).cosines, expected, atol=1e-9
    )
    moved = affine_gauge(rank, seed).act(head)
    assert np.allclose(
        projector_cosines(moved, pairs=pairs).cosines, expected, atol=1e-8
    )


def test_dimensions_that_only_the_rounding_of_a_far_mean_fills_do_not_count():
    rows = random_head(0, 40, 2).right @ [[1.0, 0.3, -0.5], [0.2, 1.0, 0.7]]
    for mean in (0.0, 1e6 * np.array([1.0, -2.0, 0.7])):
        assert (
            projector_cosines(
                FactorModel.from_softmax(rows + mean), pairs=[[0, 1]]
            ).rank
            == 2
        )


@pytest.mark.parametrize(("n", "rank"), [(5, 4), (5, 9), (2, 3)])
def test_projector_cosines_degenerate_where_labels_are_affinely_independent(n, rank):
    found = projector_cosines(random_head(3, n, rank), pairs=all_pairs(n))
    assert found.degenerate
    assert found.warning.endswith("they say nothing about this head.")
    assert np.allclose(found.cosines, -1 / (n - 1))


def test_opposite_corners_of_a_square_have_the_projector_cosine_minus_1():
    """The rows are centred and W'W = 4 I, so `H = W W' / 4`."""
    found = projector_cosines(SQUARE, pairs=[[0, 2], [1, 3]])
    np.testing.assert_allclose(found.cosines, -1, atol=1e-12)


def test_neighbouring_corners_of_a_square_have_the_projector_cosine_0():
    found = projector_cosines(SQUARE, pairs=[[0, 1], [1, 2], [2, 3], [3, 0]])
    np.testing.assert_allclose(found.cosines, 0, atol=1e-12)


def test_the_typical_projector_cosine_of_a_square_is_the_root_of_its_mean_square():
    """Each label has cosine -1 with one other label and 0 with two other labels."""
    mean_square = (1 + 0 + 0) / 3
    found = projector_cosines(SQUARE, pairs=[[0, 2]])
    assert found.typical == pytest.approx(np.sqrt(mean_square))


def test_two_labels_per_dimension_are_neither_degenerate_nor_thin():
    found = projector_cosines(SQUARE, pairs=[[0, 1]])
    assert found.n_labels == 4
    assert found.rank == 2
    assert found.labels_per_dimension == 2
    assert not found.degenerate
    assert not found.thin
    assert found.warning == ""


def test_fewer_than_two_labels_per_dimension_are_thin():
    found = projector_cosines(random_head(0, 9, 5), pairs=[[0, 1]])
    assert found.labels_per_dimension == 1.8
    assert found.thin
    assert not found.degenerate
    assert found.warning.startswith("With 1.80 labels per dimension")
