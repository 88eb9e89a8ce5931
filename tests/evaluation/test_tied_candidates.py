"""Candidates of one direction tie, whatever the rounding of their cosines."""

from __future__ import annotations

import numpy as np
import pytest

from embaudit.evaluation import evaluate_similarities
from embaudit.model import FactorModel

LENGTHS = np.array([1.0, 3.0, 0.7, 11.0])
"""Lengths of four items of one direction; their unit rows differ in the last bits."""


def judged(seed: int) -> dict[str, list[float]]:
    """Judge the cosine of 15 × 4 items whose labels differ within a direction.

    The items are rotated unless the seed is 0.
    """
    draw = np.random.default_rng(5)
    directions = draw.standard_normal((15, 6))
    items = (LENGTHS[:, None, None] * directions).reshape(-1, 6)
    labels = draw.integers(0, 3, size=len(items)).astype(str)
    if seed:
        square = np.random.default_rng(seed).standard_normal((6, 6))
        items = items @ np.linalg.qr(square)[0]
    found = evaluate_similarities(
        FactorModel.from_vectors(items), labels, n_neighbours=3
    )
    return {
        measure: [found.value("cosine", measure)]
        for measure in ("precision", "auc", "ndcg")
    }


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_measures_of_tied_candidates_are_the_same_after_a_rotation(seed: int) -> None:
    before, after = judged(0), judged(seed)
    for measure, value in before.items():
        assert after[measure] == pytest.approx(value, abs=1e-12)
