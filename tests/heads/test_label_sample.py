"""The labels and inputs that an audit of a head takes, and the pair it chooses."""

from __future__ import annotations

import numpy as np
import pytest
from head_examples import random_head

from embaudit.errors import InputError
from embaudit.heads.label_sample import (
    N_INPUTS,
    LabelSample,
    draw_label_sample,
    most_alike,
    with_mean_rows,
)
from embaudit.model import FactorModel

LAST_IS_MEAN = [[1.0, 1.0], [5.0, 1.0], [6.0, 1.0], [4.0, 1.0]]
"""Label rows of which the last one is the mean row."""


def draw(
    head: FactorModel, n_labels: int = 100, *, pair: tuple[int, ...] | None = None
) -> LabelSample:
    return draw_label_sample(head, n_labels, np.random.default_rng(0), pair=pair)


def float32_head(*, inputs: np.ndarray | None) -> FactorModel:
    rows = np.array(LAST_IS_MEAN, dtype=np.float32)
    return FactorModel.from_softmax(rows, embeddings=inputs)


def test_a_small_head_is_taken_with_all_labels_but_the_one_at_the_mean_row() -> None:
    sample = draw(FactorModel.from_softmax(LAST_IS_MEAN))
    assert sample.labels.tolist() == [0, 1, 2]
    assert sample.at_mean.tolist() == [3]
    assert not sample.is_sample


def test_labels_of_a_large_head_are_drawn_with_the_requested_pair() -> None:
    sample = draw(random_head(0, 50, 3), 10, pair=(7, 41))
    assert {7, 41} <= set(sample.labels.tolist())
    assert 10 <= len(sample.labels) <= 12
    assert sample.is_sample


def test_a_sampled_label_keeps_its_number_as_its_name() -> None:
    sample = draw(random_head(0, 50, 3), 10)
    assert sample.model.names("right").tolist() == sample.labels.tolist()


@pytest.mark.parametrize("pair", [(), (1,), (0, 1, 2), (0.0, 1.0)])
def test_a_pair_that_is_not_two_row_numbers_is_refused(pair) -> None:
    with pytest.raises(InputError, match="pair must be two row numbers"):
        draw(random_head(0, 9, 3), pair=pair)


def test_a_pair_with_the_label_at_the_mean_row_is_refused() -> None:
    with pytest.raises(InputError, match="neither zero nor the mean row"):
        draw(FactorModel.from_softmax(LAST_IS_MEAN), pair=(0, 3))


def test_many_inputs_of_a_head_are_sampled() -> None:
    head = random_head(0, 9, 3, inputs=N_INPUTS + 1)
    assert draw(head).model.n_left == N_INPUTS


@pytest.mark.parametrize("inputs", [None, np.eye(2, dtype=np.float32)])
def test_a_sample_is_in_float64(inputs) -> None:
    model = draw(float32_head(inputs=inputs)).model
    assert model.left.dtype == model.right.dtype == np.float64


@pytest.mark.parametrize("inputs", [None, np.eye(2, dtype=np.float32)])
def test_a_sample_with_mean_rows_is_in_float64(inputs) -> None:
    head = float32_head(inputs=inputs)
    model = with_mean_rows(draw(head), head).model
    assert model.left.dtype == model.right.dtype == np.float64


@pytest.mark.parametrize("inputs", [None, np.eye(2, dtype=np.float32)])
def test_a_sample_with_mean_rows_keeps_the_inputs_of_the_sample(inputs) -> None:
    head = float32_head(inputs=inputs)
    sample = draw(head)
    extended = with_mean_rows(sample, head)
    np.testing.assert_array_equal(extended.model.left, sample.model.left)


def test_a_sample_with_mean_rows_holds_all_labels_as_they_are_stored() -> None:
    head = FactorModel.from_softmax(LAST_IS_MEAN)
    extended = with_mean_rows(draw(head), head)
    assert extended.labels.tolist() == [0, 1, 2, 3]
    np.testing.assert_array_equal(extended.model.right, LAST_IS_MEAN)
    assert extended.n_zero == 0


def test_mean_rows_are_not_added_to_some_drawn_labels() -> None:
    head = FactorModel.from_softmax(LAST_IS_MEAN)
    sample = draw(head, 2)
    assert with_mean_rows(sample, head) is sample


def chosen_labels(rows: list[list[float]]) -> list[int]:
    """Return the row numbers of the pair that an audit chooses."""
    sample = draw(FactorModel.from_softmax(rows))
    return sample.labels[list(most_alike(sample))].tolist()


def test_the_chosen_pair_has_the_largest_cosine() -> None:
    assert chosen_labels([[1, 0], [0, 1], [4, 3], [-1, 0]]) == [0, 2]


def test_twins_are_not_chosen_if_other_labels_differ() -> None:
    rows = [[1, 0], [2, 0], [0, 1], [-1, 1], [-3, -1]]
    assert chosen_labels(rows) == [2, 3]


def test_a_pair_whose_cosine_is_printed_as_one_comes_after_pairs_below_it() -> None:
    rows = [[1, 0], [1, 0.01], [0, 1], [-1, 1]]
    assert chosen_labels(rows) == [2, 3]


def test_two_groups_of_twins_give_one_label_each() -> None:
    rows = [[1, 0], [2, 0], [1, 1], [3, 3]]
    assert chosen_labels(rows) == [0, 2]


def test_labels_of_one_direction_give_the_first_two_that_differ() -> None:
    assert chosen_labels([[1, 1], [1, 1], [2, 2]]) == [0, 2]
