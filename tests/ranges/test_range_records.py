"""Every number and every word of what ranges and certificates are told by, and both sides of their bounds."""

from __future__ import annotations

import numpy as np
import pytest

from embaudit.gauges import GeneralLinear
from embaudit.model import FactorModel
from embaudit.ranges import cosine_range
from embaudit.ranges.summary import QUANTILES, summarise

ROWS = FactorModel.from_vectors([[1.0, 0.0], [3.0, 4.0], [0.0, 0.0], [-4.0, 3.0]])
HEAD = FactorModel.from_softmax([[1.0, 0.0], [3.0, 4.0], [-4.0, 3.0]])
TWO = GeneralLinear(2, max_condition=2.0)
FOUND = cosine_range(ROWS, TWO, pairs=[[0, 1], [0, 2], [1, 3]])


def test_ranges_in_words_and_numbers():
    """tan(θ/2) of 0.6 is 1/2: twice and half of it are 1 and 1/4; that of a right angle is 1: 2 and 1/2."""
    assert repr(FOUND) == "CosineRange(3 right pairs, GeneralLinear(rank=2, max_condition=2.0))"
    told = FOUND.to_dict(limit=2)
    first, second = told.pop("ranges")
    assert told == {
        "role": "right",
        "group": "GeneralLinear(rank=2, max_condition=2.0)",
        "n_pairs": 3,
        "n_undefined": 1,
    }
    ends = {"lower": pytest.approx(0.0, abs=1e-15), "upper": pytest.approx(15 / 17)}
    assert first == {"first": 0, "second": 1, "cosine": 0.6, **ends, "lower_attained": True, "upper_attained": True}
    nothing = dict.fromkeys(("cosine", "lower", "upper")) | {"lower_attained": False, "upper_attained": False}
    assert second == {"first": 0, "second": 2, **nothing}
    for part in ("2 right pairs have ranges 1.04 wide on average", "50 % keep their sign", "1 more have no cosine."):
        assert part in FOUND.explain()
    np.testing.assert_allclose(FOUND.lower_tangent, [1, np.nan, 2])
    np.testing.assert_allclose(FOUND.upper_tangent, [0.25, np.nan, 0.5])
    whole = cosine_range(ROWS, TWO, pairs=[[0, 1], [1, 3]])
    assert whole.explain().endswith("can be anything.")
    assert cosine_range(ROWS, TWO, pairs=[[0, 2]]).explain() == "None of 1 right pairs has a cosine."
    four = cosine_range(HEAD, TWO, pairs=[[0, 1, 2, 0]])
    assert four.to_frame().columns.tolist()[:5] == ["first", "second", "third", "fourth", "cosine"]
    assert four.before[0] == pytest.approx(np.array([-2, -4]) @ [-5, 3] / np.sqrt(20 * 34))


def test_a_summary_in_words_and_numbers():
    found = summarise(FOUND, "linear")
    widths = np.array([15 / 17, 1.2])
    assert found.to_dict() == {
        "role": "right",
        "group": "linear",
        "max_condition": 2.0,
        "max_shift": 0.0,
        "n_pairs": 2,
        "n_all_pairs": 3,
        "n_undefined": 1,
        "width_mean": pytest.approx(widths.mean()),
        "width_quantiles": {f"{q:g}": pytest.approx(np.quantile(widths, q)) for q in QUANTILES},
        "vacuous_share": 0.0,
        "sign_definite_share": 0.5,
        "attained_share": 1.0,
    }
    assert found.found is FOUND
    assert "found" not in repr(found)
    for part in ("linear gauges of κ ≤ 2", "2 of 3 right pairs have ranges 1.04 wide", "1 more have no cosine"):
        assert part in found.explain()
    nothing = summarise(cosine_range(ROWS, TWO, pairs=[[0, 2]]), "linear")
    assert np.isnan([nothing.width_mean, nothing.vacuous_share, *nothing.width_quantiles.values()]).all()
    free = summarise(cosine_range(ROWS, GeneralLinear(2), pairs=[[0, 1]]), "linear")
    assert (free.attained_share, free.vacuous_share, free.max_condition) == (0.0, 1.0, None)
