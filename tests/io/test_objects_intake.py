"""The description of a live object that was read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from imitations import Tensor, imitation
from models import ARRAY_FIELDS
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import embaudit as ea
from embaudit.errors import InputError
from embaudit.io import read

DRAW = np.random.default_rng(7)
USERS, ITEMS, A, B = (
    DRAW.normal(size=(6, 3)),
    DRAW.normal(size=(8, 3)),
    DRAW.normal(size=6),
    DRAW.normal(size=8),
)
X, Y = DRAW.normal(size=(30, 3)), np.arange(30) % 3
BPR = imitation(
    "implicit.cpu.bpr.BayesianPersonalizedRanking",
    factors=3,
    item_factors=np.column_stack([ITEMS, B]),
    user_factors=np.column_stack([USERS, np.ones(6)]),
)
CORNAC = imitation(
    "cornac.models.mf.recom_mf.MF",
    "cornac.models.recommender.Recommender",
    u_factors=USERS,
    i_factors=ITEMS,
    u_biases=A,
    i_biases=B,
    global_mean=2.0,
    iid_map={f"i{row}": row for row in range(8)},
    score=lambda _, user: USERS[user] @ ITEMS.T + A[user] + B + 2.0,
)


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression().fit(X, Y),
        make_pipeline(StandardScaler(), LogisticRegression()).fit(X, Y),
        imitation(
            "torch.nn.modules.linear.Linear", weight=Tensor(ITEMS), bias=Tensor(B)
        ),
        imitation("torch.nn.modules.sparse.Embedding", weight=Tensor(ITEMS)),
        BPR,
        CORNAC,
    ],
    ids=lambda model: type(model).__name__,
)
def test_every_array_of_the_model_comes_from_somewhere(model: Any) -> None:
    reading = read(model)
    named = {part.became: part.shape for part in reading.intake.parts}
    for field in ARRAY_FIELDS:
        array = getattr(reading.model, field)
        assert (array is None) == (field not in named), field
        if array is not None:
            assert named[field] == array.shape


def test_vectors_of_a_classifier_are_its_rows_alone() -> None:
    reading = read(LogisticRegression().fit(X, Y), kind="vectors")
    assert {part.became for part in reading.intake.parts} == {
        "right",
        "right_names",
        "objective",
    }
    # The training of a classifier says that its rows were compared by a softmax.
    assert (
        reading.model.right_bias,
        reading.model.link.name,
        reading.intake.files,
    ) == (
        None,
        "softmax",
        (),
    )


def test_vectors_of_items_need_no_ids_of_users() -> None:
    reading = read(BPR, left_ids=np.arange(6), ids=np.arange(8) + 5, kind="vectors")
    assert (reading.model.left, reading.model.right_ids.tolist()) == (
        None,
        list(range(5, 13)),
    )


@pytest.mark.parametrize("suffix", ["npy", "txt"])
def test_vectors_of_a_model_of_rankings_predict_no_order_and_can_be_written(
    suffix: str, tmp_path: Path
) -> None:
    """Without users there is no order, so a file of plain vectors loses nothing."""
    decayed = imitation(
        "implicit.cpu.bpr.BayesianPersonalizedRanking",
        factors=3,
        regularization=0.01,
        user_factors=np.column_stack([USERS, np.ones(6)]),
        item_factors=np.column_stack([ITEMS, B]),
    )
    model = ea.load(decayed, kind="vectors")
    assert (model.link.name, model.objective, model.right_bias) == (
        "identity",
        "bpr",
        None,
    )
    ea.save(model, tmp_path / f"vectors.{suffix}")
    written = ea.load(tmp_path / f"vectors.{suffix}", kind="vectors")
    # A text file has six significant digits.
    np.testing.assert_allclose(written.right, ITEMS, rtol=5e-6)


def test_a_frame_is_no_file() -> None:
    frame = pd.DataFrame({"id": ["a", "b"], "vector": [[1.0, 2.0], [3.0, 4.0]]})
    assert read(frame).intake.files == ()
    with pytest.raises(InputError, match="holds one side only"):
        read(frame, kind="factors")
