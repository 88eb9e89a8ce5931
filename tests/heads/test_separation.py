"""A head excludes a minimum only if it is no minimum for any labels of its inputs."""

from itertools import product

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from embaudit.heads import excludes_minimum
from embaudit.model import FactorModel

N_INPUTS = 5
N_LABELS = 3


def growth_of_loss(scores, labels):
    """Differentiate the cross-entropy by a factor of all scores, at the factor 1."""
    step = 1e-5

    def loss(factor):
        scaled = factor * scores
        log_sums = np.logaddexp.reduce(scaled, axis=1)
        return (log_sums - scaled[np.arange(len(labels)), labels]).sum()

    return (loss(1 + step) - loss(1 - step)) / (2 * step)


def random_head(seed, *, scale, bias=None):
    rng = np.random.default_rng(seed)
    rows = scale * rng.standard_normal((N_LABELS, 2))
    inputs = rng.standard_normal((N_INPUTS, 2))
    return FactorModel.from_softmax(rows, bias=bias, embeddings=inputs)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("scale", [1.0, 20.0])
def test_no_labels_stop_the_growth_of_an_excluded_head(seed, scale):
    model = random_head(seed, scale=scale)
    scores = model.scores(np.arange(N_INPUTS))
    growths = [
        growth_of_loss(scores, np.array(labels))
        for labels in product(range(N_LABELS), repeat=N_INPUTS)
    ]
    # The head is excluded if the loss falls with the most probable labels (growth below
    # zero) and rises with all other labels.
    expected = min(growths) < -1e-8 and (np.sort(growths)[1:] > 1e-8).all()
    assert excludes_minimum(model) == expected


def test_large_heads_are_excluded_and_small_ones_are_not():
    excluded = [excludes_minimum(random_head(seed, scale=20.0)) for seed in range(20)]
    assert any(excluded)
    assert not excludes_minimum(random_head(0, scale=0.1))


def test_a_trained_head_of_overlapping_labels_is_not_excluded():
    rng = np.random.default_rng(0)
    inputs = rng.standard_normal((60, 2))
    labels = rng.integers(0, N_LABELS, 60)
    trained = LogisticRegression(C=np.inf, tol=1e-10).fit(inputs, labels)
    model = FactorModel.from_softmax(
        trained.coef_, bias=trained.intercept_, embeddings=inputs
    )
    assert not excludes_minimum(model)


def test_one_sigmoid_label_that_excludes_a_minimum_is_enough():
    inputs = [[1.0], [-1.0], [2.0]]
    rows = [[0.0], [30.0]]
    undecided = FactorModel.from_softmax(rows[:1], embeddings=inputs, link="sigmoid")
    one_is_sure = FactorModel.from_softmax(rows, embeddings=inputs, link="sigmoid")
    assert not excludes_minimum(undecided)
    assert excludes_minimum(one_is_sure)


def test_inputs_whose_labels_are_always_separable_exclude_nothing():
    rows = [[30.0], [-30.0]]
    inputs = [[1.0], [-1.0]]
    without_bias = FactorModel.from_softmax(rows, embeddings=inputs)
    with_bias = FactorModel.from_softmax(rows, bias=[1.0, 0.0], embeddings=inputs)
    assert excludes_minimum(without_bias)
    # With a bias, planes separate any labels of two inputs.
    assert not excludes_minimum(with_bias)


def test_a_single_label_excludes_nothing():
    model = FactorModel.from_softmax([[1.0]], embeddings=[[1.0], [2.0]])
    assert not excludes_minimum(model)


@pytest.mark.parametrize("link", ["softmax", "sigmoid"])
@pytest.mark.parametrize("scale", [10.0, 300.0, 1000.0])
def test_heads_whose_other_probabilities_underflow_to_zero_are_excluded(link, scale):
    """At a scale of 1000, e^-1000 is 0 in float64, and so is every shortfall."""
    rows = [[scale], [-scale]]
    inputs = [[1.0], [-1.0], [2.0]]
    assert excludes_minimum(
        FactorModel.from_softmax(rows, embeddings=inputs, link=link)
    )
