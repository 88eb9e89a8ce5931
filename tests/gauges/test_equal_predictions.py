"""Models with equal predictions differ by a gauge, whichever computation found them."""

import numpy as np
import pytest


def best_affine_map(rows: np.ndarray, images: np.ndarray) -> tuple[np.ndarray, float]:
    """Fit `images = rows M + 1 vᵀ`; return M and the largest error."""
    extended = np.column_stack([rows, np.ones(len(rows))])
    solution = np.linalg.lstsq(extended, images, rcond=None)[0]
    return solution[:-1], float(np.abs(extended @ solution - images).max())


def factors_of(scores: np.ndarray, rank: int) -> tuple[np.ndarray, np.ndarray]:
    """Factor scores of this rank by their singular value decomposition."""
    left, values, right = np.linalg.svd(scores, full_matrices=False)
    assert values[rank:].max() < 1e-10
    return left[:, :rank] * values[:rank], right[:rank].T


@pytest.mark.parametrize("seed", range(5))
def test_models_of_equal_probabilities_differ_by_an_affine_gauge_of_the_labels(seed):
    draw = np.random.default_rng(seed)
    inputs, labels = draw.normal(size=(20, 4)), draw.normal(size=(15, 4))
    logits = inputs @ labels.T
    log_probabilities = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    # Only the probabilities enter: other logits have them, too.
    centred = log_probabilities - log_probabilities.mean(axis=1, keepdims=True)
    other_inputs, other_labels = factors_of(centred, 4)
    of_labels, error_of_labels = best_affine_map(labels, other_labels)
    of_inputs = np.linalg.lstsq(inputs, other_inputs, rcond=None)[0]
    assert error_of_labels < 1e-9
    np.testing.assert_allclose(inputs @ of_inputs, other_inputs, atol=1e-9)
    np.testing.assert_allclose(of_labels @ of_inputs.T, np.eye(4), atol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_models_of_equal_scores_with_free_biases_differ_by_affine_gauges(seed):
    draw = np.random.default_rng(seed)
    users, items = draw.normal(size=(20, 4)), draw.normal(size=(15, 4))
    scores = users @ items.T + draw.normal(size=(20, 1)) + draw.normal(size=15)
    centred = scores - scores.mean(axis=1, keepdims=True)
    centred -= centred.mean(axis=0)
    other_users, other_items = factors_of(centred, 4)
    of_users, error_of_users = best_affine_map(users, other_users)
    of_items, error_of_items = best_affine_map(items, other_items)
    assert max(error_of_users, error_of_items) < 1e-9
    np.testing.assert_allclose(of_items @ of_users.T, np.eye(4), atol=1e-9)


def test_a_number_per_input_outside_of_the_columns_raises_the_rank():
    draw = np.random.default_rng(0)
    inputs, labels = draw.normal(size=(20, 4)), draw.normal(size=(15, 4))
    hidden = draw.normal(size=(20, 1))
    assert np.linalg.matrix_rank(inputs @ labels.T + hidden) == 5
    assert np.linalg.matrix_rank(inputs @ (labels + hidden[:4, 0]).T) == 4
