"""Distances of two heads in steps of the types that they are rounded to, against what was put in by hand."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from embaudit.comparison.matching import Match
from embaudit.comparison.rounded import LoadedModel, rounded
from embaudit.model import FactorModel
from embaudit.model.final_norm import FinalNorm

ROWS = np.random.default_rng(0).normal(size=(40, 2))
GAINS, OTHERS = np.array([8.0, 6.0]), np.array([2.0, 2.0])
SCALE = GAINS / OTHERS
EVERY = np.arange(40)
AWAY = np.array([5.0, -3.0])


def rounding(step, kind="Q8_0"):
    """Steps of one size, and that size times the number of the row from row 20 on."""
    sizes = np.full((40, 2), step) * np.where(EVERY < 20, 1, EVERY)[:, None]
    return SimpleNamespace(kind=kind, steps=lambda rows: sizes[rows])


def given(rows, gains=None, found=None, **fields):
    norm = None if gains is None else FinalNorm("rms", gains)
    return LoadedModel(FactorModel.from_softmax(rows, **fields), norm, found)


def match(before, after=None):
    before = np.asarray(before)
    names = np.array([str(row) for row in before])
    return Match(
        "right",
        before,
        before if after is None else np.asarray(after),
        names,
        0,
        0,
        key="ids",
    )


def test_distances_of_rounded_rows_are_counted_in_quantisation_steps_of_both_files():
    away = np.zeros((40, 2))
    # A step of 0.5 is 2 and 1.5 long in the other norm; one of 0.25 there is added.
    away[0], away[1], away[2] = (2.24, -1.74), (2.26, 0.0), (0.0, -1.76)
    before = LoadedModel(
        FactorModel.from_vectors(ROWS), FinalNorm("rms", GAINS), rounding(0.5)
    )
    after = LoadedModel(
        FactorModel.from_vectors(ROWS * SCALE + away),
        FinalNorm("rms", OTHERS),
        rounding(0.25, "Q6_K"),
    )
    found = rounded(before, after, match(EVERY[:20]))
    assert found.kinds == ("Q8_0", "Q6_K")
    assert found.condition_number == pytest.approx(4 / 3, rel=1e-12)
    assert found.beyond == 2 / 40
    assert found.largest == pytest.approx(1.76 / 1.75, rel=1e-5)
    assert not found.explains


def test_rounding_explains_another_mean_row_only_if_no_prediction_shows_it():
    before, after = given(ROWS, None, rounding(0.01)), given(ROWS + AWAY)
    found = rounded(before, after, match(EVERY))
    assert (found.beyond, found.explains, found.kinds, found.condition_number) == (
        0.0,
        True,
        ("Q8_0", ""),
        1.0,
    )
    assert found.largest < 1e-9
    seen = LoadedModel(FactorModel.from_vectors(ROWS), None, rounding(0.01))
    found = rounded(
        seen, LoadedModel(FactorModel.from_vectors(ROWS + AWAY)), match(EVERY)
    )
    assert (found.beyond, found.largest) == (1.0, pytest.approx(500, rel=1e-3))
