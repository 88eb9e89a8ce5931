"""Rows of zeros: tables of vectors omit them and name their number and ids, and models
keep them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import embaudit as ea

if TYPE_CHECKING:
    from pathlib import Path

DRAW = np.random.default_rng(0)
USERS, ITEMS = DRAW.normal(size=(20, 3)), DRAW.normal(size=(9, 3))
COLD = ITEMS.copy()
COLD[[2, 6]] = 0
IDS = np.arange(100, 109)
OTHERS = [100, 101, 103, 104, 105, 107, 108]


def bpr() -> ea.FactorModel:
    return ea.FactorModel.from_user_item(USERS, COLD, item_ids=IDS, objective="bpr")


def test_cold_items_of_bpr_get_no_vector() -> None:
    """Each user's scores are centred over the items, so zero rows get a direction."""
    remedy = ea.fix(bpr(), unit=True)
    made = remedy.to_model()
    assert made.right_ids.tolist() == OTHERS
    assert remedy.vectors().shape == (7, 3)
    np.testing.assert_allclose(np.linalg.norm(remedy.vectors(), axis=1), 1)
    scores = USERS @ COLD.T
    columns = (scores - scores.mean(axis=1, keepdims=True))[:, np.array(OTHERS) - 100]
    columns /= np.linalg.norm(columns, axis=0)
    np.testing.assert_allclose(
        remedy.vectors() @ remedy.vectors().T, columns.T @ columns, atol=1e-9
    )
    assert (
        "2 items have no cosine (102, 106) and are left out; keep_empty=True keeps such"
    ) in remedy.explain()
    assert remedy.to_frame()["id"].tolist() == OTHERS


def test_cold_items_are_kept_where_the_caller_says_so() -> None:
    remedy = ea.fix(bpr(), unit=True, keep_empty=True)
    assert remedy.vectors().shape == (9, 3)
    np.testing.assert_allclose(np.linalg.norm(remedy.vectors()[[2, 6]], axis=1), 1)
    assert "(102, 106), kept: do not list their neighbours." in remedy.explain()


def test_an_item_that_no_prediction_sees_gets_no_vector() -> None:
    """Users have two dimensions, and item 4 lies in the third."""
    items = ITEMS.copy()
    items[4] = [0, 0, 5.0]
    users = USERS * [1, 1, 0]
    remedy = ea.fix(ea.FactorModel.from_user_item(users, items, item_ids=IDS))
    assert remedy.to_model().right_ids.tolist() == [*range(100, 104), *range(105, 109)]
    assert "1 item has no cosine (104) and is left out" in remedy.explain()


def test_an_item_at_the_mean_has_no_direction_once_centred() -> None:
    items = np.array([[0.1, 0.7], [0.5, 0.3], [0.3, 0.5], [0.6, 0.2], [0.0, 0.8]])
    remedy = ea.fix(ea.FactorModel.from_vectors(items))
    assert remedy.to_model().right_ids.tolist() == [0, 1, 3, 4]
    assert "1 item has no cosine (2) and is left out" in remedy.explain()


@pytest.mark.parametrize("suffix", ["npz", "parquet", "txt", "csv"])
def test_a_file_holds_the_rows_with_a_direction_under_their_ids(
    tmp_path: Path, suffix: str
) -> None:
    path = tmp_path / f"v.{suffix}"
    ea.fix(bpr(), role="item").write(path)
    written = ea.load(path)
    assert written.right_ids.astype(str).tolist() == list(map(str, OTHERS))
    np.testing.assert_allclose(written.right, ea.fix(bpr()).vectors(), rtol=1e-6)


def test_rows_without_ids_keep_their_numbers_or_all_rows(tmp_path: Path) -> None:
    remedy = ea.fix(ea.FactorModel.from_user_item(USERS, COLD))
    remedy.write(tmp_path / "v.npz")
    assert ea.load(tmp_path / "v.npz").right_ids.tolist() == [0, 1, 3, 4, 5, 7, 8]
    with pytest.raises(ea.InputError, match="keep all rows with keep_empty=True"):
        remedy.write(tmp_path / "v.npy")
    assert not (tmp_path / "v.npy").exists()
    kept = ea.fix(ea.FactorModel.from_user_item(USERS, COLD), keep_empty=True)
    kept.write(tmp_path / "v.npy")
    vectors = np.load(tmp_path / "v.npy")
    assert np.flatnonzero(~vectors.any(axis=1)).tolist() == [2, 6]


@pytest.mark.parametrize("kind", ["balanced", "centred"])
def test_an_equivalent_model_keeps_all_rows(kind: str) -> None:
    model = bpr()
    remedy = ea.fix(model, kind)
    made = remedy.to_model()
    assert (made.n_left, made.n_right) == (20, 9)
    scores, others = model.scores(), made.scores()
    np.testing.assert_allclose(
        others - others.mean(axis=1, keepdims=True),
        scores - scores.mean(axis=1, keepdims=True),
        atol=1e-9,
    )
    assert "(102, 106), kept because a model needs all of its rows" in remedy.explain()


def test_a_head_keeps_its_zero_row() -> None:
    """The row of a label of reference is zero, and its probability is not."""
    rows = np.vstack([np.zeros(3), ITEMS])
    remedy = ea.fix(ea.FactorModel.from_softmax(rows), "centred")
    assert remedy.to_model().n_right == 10
    assert "1 label has no cosine (0), kept" in remedy.explain()


@pytest.mark.parametrize("n_columns", [3, 300])
def test_centred_vectors_of_a_table_are_those_of_the_table_without_its_zero_rows(
    n_columns: int,
) -> None:
    """Otherwise zero rows would pull the centre towards the origin."""
    items = np.random.default_rng(1).normal(size=(9, n_columns)) + 2
    with_zero_rows = np.vstack([items, np.zeros((36, n_columns))])
    vectors = ea.fix(ea.FactorModel.from_vectors(with_zero_rows), "centred").vectors()
    np.testing.assert_allclose(vectors, items - items.mean(axis=0), atol=1e-12)


def test_nothing_is_said_where_every_row_has_a_direction() -> None:
    remedy = ea.fix(ea.FactorModel.from_user_item(USERS, ITEMS))
    assert remedy.vectors().shape == (9, 3)
    assert "direction" not in remedy.explain()


@pytest.mark.parametrize("rows", [np.ones((5, 3)), np.zeros((5, 3)), [[1.0, 2.0]]])
def test_vectors_without_any_direction_are_not_written(rows, tmp_path: Path) -> None:
    remedy = ea.fix(ea.FactorModel.from_vectors(rows), as_="centred")
    for name in ("v.npz", "v.npy", "v.parquet"):
        with pytest.raises(ea.InputError, match="at least one item with a direction"):
            remedy.write(tmp_path / name)
    assert list(tmp_path.iterdir()) == []
