"""The record of an audit: its JSON, data frame, words and fingerprint."""

from __future__ import annotations

import numpy as np
import pytest
from chosen_evidence import (
    MODEL,
    make_drift,
    make_equivalent_model,
    make_evidence,
    make_movement,
)
from models import random_model

from embaudit.auditing.audit import Audit
from embaudit.auditing.identity import score_change, score_sample
from embaudit.auditing.options import AuditOptions
from embaudit.model import FactorModel
from embaudit.model.fingerprint import fingerprint

LISTS = {"top_n": 4, "top_n_overlap": 0.5}
FOUND = make_evidence(
    MODEL,
    (make_equivalent_model(), make_movement(**LISTS), make_movement("cross", 0.3)),
    (make_equivalent_model("translation 1", "translation", 1.0, 0.5), make_movement()),
    drift=(make_drift(2e-15), make_drift(3e-15)),
    seed=7,
    options=AuditOptions(max_condition=3.0),
)
RESULT = Audit(MODEL, FOUND, "model.npz")


def test_a_fingerprint_ignores_ids_and_training():
    named = MODEL.replace(right_ids=np.arange(5), objective="product")
    assert fingerprint(named) == fingerprint(MODEL) == RESULT.fingerprint


def test_a_fingerprint_does_not_depend_on_how_rows_lie_in_memory(tmp_path):
    by_column = MODEL.replace(right=np.asfortranarray(MODEL.right))
    assert fingerprint(by_column) == fingerprint(MODEL)

    np.save(tmp_path / "right.npy", MODEL.right)
    on_disk = MODEL.replace(right=np.load(tmp_path / "right.npy", mmap_mode="r"))
    assert fingerprint(on_disk) == fingerprint(MODEL)


def test_a_fingerprint_depends_on_the_last_row_of_a_table_of_many_blocks():
    """The table has 80 MiB in float64. It is hashed in blocks of 32 MiB."""
    rows = np.zeros((5 * 2**20, 2), dtype=np.float32)
    rows[0] = 1
    before = fingerprint(FactorModel.from_vectors(rows))
    rows[-1] = 1
    assert fingerprint(FactorModel.from_vectors(rows)) != before


# Scores of a model next to those of a baseline

PAIR = random_model(n=40, p=30, k=4)


def compared(other):
    return score_change(score_sample(PAIR), score_sample(other))


def test_scores_of_the_same_model_correlate_fully_at_the_same_scale():
    change = compared(PAIR)
    assert (change.n_rows, change.n_columns) == (40, 30)
    assert change.correlation == pytest.approx(1.0)
    assert change.scale == pytest.approx(1.0)
    assert (change.moved_rows, change.moved_columns) == (0, 0)


def test_scores_three_times_as_large_have_scale_three_and_no_moved_row():
    change = compared(PAIR.replace(right=3 * PAIR.right))
    # A sample keeps three digits of each score.
    assert change.scale == pytest.approx(3.0, rel=1e-3)
    assert change.correlation == pytest.approx(1.0, rel=1e-3)
    assert (change.moved_rows, change.moved_columns) == (0, 0)


def test_items_whose_vectors_are_negated_are_counted_as_moved():
    signs = np.where(np.arange(30) < 2, -1.0, 1.0)[:, None]
    change = compared(PAIR.replace(right=PAIR.right * signs))
    assert change.moved_columns == 2


def with_zeros(side, n=5):
    """Return the pair of tables with zeros in the first rows of one side."""
    rows = np.array(PAIR.factors(side))
    rows[:n] = 0
    return PAIR.replace(**{side: rows})


@pytest.mark.parametrize("side", ["left", "right"])
def test_rows_of_zeros_that_get_a_vector_are_not_compared(side):
    change = score_change(score_sample(with_zeros(side)), score_sample(PAIR))
    assert (change.moved_rows, change.moved_columns) == (0, 0)
    expected = {"left": (35, 30), "right": (40, 25)}[side]
    assert (change.n_rows, change.n_columns) == expected


def test_rows_whose_vectors_become_zero_are_compared():
    change = score_change(score_sample(PAIR), score_sample(with_zeros("left")))
    assert change.n_rows == 40
    assert change.moved_rows > 0


@pytest.mark.parametrize(
    "other",
    [
        PAIR.replace(left=2 * PAIR.left),
        PAIR.replace(right_bias=np.zeros(30)),
        PAIR.replace(offset=1.0),
        PAIR.replace(link="sigmoid"),
        PAIR.replace(left=None),
    ],
    ids=["left rows", "a bias", "an offset", "a link", "one side"],
)
def test_a_fingerprint_changes_with_each_part_that_predicts(other):
    assert fingerprint(other) != fingerprint(PAIR)
