"""A reader asks whether the columns of a table are the entities if the shape suggests
it.
"""

from __future__ import annotations

import numpy as np
import pytest

from embaudit import FactorModel
from embaudit.model.sizes import shape_question

DRAW = np.random.default_rng(5)
BASIS = np.linalg.qr(DRAW.normal(size=(30, 4)))[0].T
"""Four orthonormal rows of 30 numbers, as Vᵀ of a singular value decomposition."""
ROWS = DRAW.normal(size=(4, 30))
UNIT_ROWS = ROWS / np.linalg.norm(ROWS, axis=1, keepdims=True)
# Each sign flips half of the pairs, so that products with signs could cancel.
HADAMARD = np.array([[1, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]]) / 2


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_orthonormal_rows_are_asked_about(kind: type) -> None:
    question = shape_question(FactorModel.from_vectors(BASIS.astype(kind)))
    assert question is not None
    assert "4 items of 30 numbers each, orthonormal" in str(question)
    assert "Did you mean 30 items?" in str(question)


def test_longer_rows_are_asked_about() -> None:
    question = shape_question(FactorModel.from_vectors(2 * BASIS))
    assert question is not None
    assert "orthonormal" not in str(question)


@pytest.mark.parametrize(
    "rows",
    [
        BASIS.T,  # V: one row per entity
        np.eye(4),  # the transpose is no other reading
        BASIS[:1],
        UNIT_ROWS,
        # One pair that is not at right angles, whichever it is.
        np.vstack([BASIS, BASIS[0]]),
        np.vstack([BASIS, (BASIS[2] + BASIS[3]) / np.sqrt(2)]),
        np.vstack([BASIS, -BASIS[3]]),
        np.hstack([HADAMARD, np.zeros((4, 2))])[[0, 1, 2, 2]],
    ],
)
def test_rows_that_show_to_be_entities_are_not_asked_about(rows: np.ndarray) -> None:
    assert shape_question(FactorModel.from_vectors(rows)) is None


def test_heads_and_pairs_are_not_asked_about() -> None:
    assert shape_question(FactorModel.from_softmax(BASIS)) is None
    pair = FactorModel.from_user_item(ROWS, BASIS)
    assert shape_question(pair) is None
