"""What a probe plans and holds, how a movement is told, and rows found by name: each choice from both sides."""

from __future__ import annotations

import numpy as np
import pytest
from models import random_model

from embaudit.movements.neighbourhoods import find_rows
from embaudit.movements.result import Movement
from embaudit.movements.row_sample import RowSample, SampleSnapshot


def moved(**fields):
    known = {
        "role": "cross", "n_pairs": 12_345, "n_all_pairs": 12_345, "exact": True, "n_zero": 0,
        "mean": 0.125, "rms": 0.5, "pearson": 0.75,
        "mean_abs": 0.1234, "ci_low": 0.1, "ci_high": 0.2, "max_abs": 0.876, "quantiles": {0.05: 0.1, 0.5: 0.25},
        "spearman": 0.625, "sign_flips": 0.03, "top_n": 0,
        "top_n_overlap": float("nan"), "n_lists": 0, "tied_lists": float("nan"),
    }  # fmt: skip
    return Movement(**known | fields)


def test_no_cosine_lies_beyond_one():
    x = random_model(p=400, k=7).right
    both = np.vstack([x, -x])
    sample = RowSample(both)
    snapshot, rows = SampleSnapshot({"right": sample}, {"right": both}), np.arange(400)
    unit = sample.units(both)
    assert (unit[rows] ** 2).sum(axis=1).max() > 1
    assert snapshot.cosines(("right",), [rows, rows]).max() == 1
    assert snapshot.cosines(("right",), [rows, rows + 400]).min() == -1


TITLES = ["Heat", "heat wave", "Heathers", "Solaris", "Solaris", "Alien"]


@pytest.mark.parametrize(
    ("wanted", "row"),
    [("8", 3), ("Heat", 0), ("HEAT", 0), ("heath", 2), ("heat w", 1), ("ALI", 5), ("Ali", 5), ("10", 5)],
)
def test_rows_are_found_by_id_by_title_and_by_its_beginning(wanted, row):
    model = random_model(p=6).replace(right_ids=np.arange(5, 11), right_names=TITLES)
    found = find_rows(model, "right", [wanted, "5"])
    assert (found.tolist(), found.dtype) == ([row, 0], np.intp)
