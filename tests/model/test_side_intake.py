"""Rows of data frames with an index, and of tensors that require gradients."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from imitations import Tensor

from embaudit import FactorModel

ROWS = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]])


@pytest.mark.parametrize(
    "index", [["a", "b", "c"], [7, 8, 9], pd.RangeIndex(1, 4), pd.RangeIndex(0, 6, 2)]
)
def test_the_index_of_a_data_frame_is_its_ids(index: object) -> None:
    frame = pd.DataFrame(ROWS, index=pd.Index(index, name="asin"))
    expected = np.asarray(frame.index).tolist()
    vectors = FactorModel.from_vectors(frame)
    assert vectors.right_ids is not None
    assert vectors.right_ids.tolist() == expected
    both = FactorModel.from_user_item(frame, frame, item_ids=["x", "y", "z"])
    assert both.left_ids is not None
    assert both.right_ids is not None
    assert both.left_ids.tolist() == expected
    assert both.right_ids.tolist() == ["x", "y", "z"]


def test_a_tensor_can_require_gradients() -> None:
    head = FactorModel.from_softmax(
        Tensor(ROWS), Tensor([1.0, 2.0, 3.0]), embeddings=Tensor(ROWS, "torch.bfloat16")
    )
    np.testing.assert_allclose(head.scores(), ROWS @ ROWS.T + [1.0, 2.0, 3.0])
