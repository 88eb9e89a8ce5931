"""Rows about which nobody asks stay in the model, its files and its neighbours, and out of the figures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from embaudit import FactorModel, audit, fix
from embaudit.io import load, save
from embaudit.model.final_norm import FinalNorm

N, K = 60, 6
ASIDE = np.arange(N) >= 50


def head(aside: np.ndarray | None = ASIDE) -> FactorModel:
    """Fifty tokens, and ten of which nobody asks: their rows point all one way, as rows do that were never trained."""
    rng = np.random.default_rng(3)
    rows = rng.standard_normal((N, K)) + 0.3
    rows[ASIDE] = [4, 3, 2, 1, 1, 1] + 0.05 * rng.standard_normal((10, K))
    return FactorModel.from_arrays(
        None, rows, "softmax", roles=("input", "label"), right_aside=aside
    )


def test_files_and_remedies_keep_them(tmp_path: Path) -> None:
    save(head(), tmp_path / "head.npz")
    stored = load(tmp_path / "head.npz")
    np.testing.assert_array_equal(stored.right_aside, ASIDE)
    np.testing.assert_array_equal(
        fix(stored, as_="centred").to_model().right_aside, ASIDE
    )


def test_figures_of_a_head_are_of_those_asked() -> None:
    norm = FinalNorm("rms", np.linspace(1, 4, K))
    found, whole = (
        audit(head(flags), final_norm=norm, n_gauges=2, n_starts=0)
        for flags in (ASIDE, None)
    )
    assert (found.head.n_aside, whole.head.n_aside) == (10, 0)
    assert (found.head.n_panel, whole.head.n_panel) == (50, 60)
    assert not found.head.panel.is_sample
    assert found.head.to_dict()["n_aside"] == 10
    norms = found.evidence.norm, whole.evidence.norm
    assert [len(each.labels) for each in norms] == [50, 60]
    assert norms[0].folded.nearest.ci_low == norms[0].folded.nearest.ci_high, (
        "all that are asked are no sample"
    )
    moved = [each.evidence.movement[0][0] for each in (found, whole)]
    assert [record.n_pairs for record in moved] == [50 * 49 // 2, 60 * 59 // 2]
    assert [record.n_lists for record in moved] == [50, 60]


def test_the_mean_row_is_still_that_of_the_whole_head() -> None:
    """Only the rows asked about are fewer: what a shift does to probabilities concerns them all."""
    found = audit(head(), n_gauges=2, n_starts=0)
    assert found.head.mean_norm == pytest.approx(
        np.linalg.norm(head().right.mean(axis=0)), rel=1e-12
    )
    assert found.head.n_labels == N
