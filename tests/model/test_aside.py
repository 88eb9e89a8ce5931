"""Rows that are set aside stay in a model and its files and enter no figure."""

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
    """Make a head of fifty tokens and ten special tokens, whose rows are set aside.

    The rows of special tokens all point one way, as rows that were never trained do.
    """
    rng = np.random.default_rng(3)
    rows = rng.standard_normal((N, K)) + 0.3
    rows[ASIDE] = [4, 3, 2, 1, 1, 1] + 0.05 * rng.standard_normal((10, K))
    return FactorModel.from_arrays(
        None, rows, "softmax", roles=("input", "label"), right_aside=aside
    )


def test_files_and_remedies_keep_the_flags_of_rows_set_aside(tmp_path: Path) -> None:
    save(head(), tmp_path / "head.npz")
    stored = load(tmp_path / "head.npz")
    np.testing.assert_array_equal(stored.right_aside, ASIDE)
    centred = fix(stored, as_="centred").to_model()
    np.testing.assert_array_equal(centred.right_aside, ASIDE)


@pytest.mark.parametrize(
    ("flags", "n_aside", "n_rows"), [(ASIDE, 10, 50), (None, 0, 60)]
)
def test_figures_of_a_head_are_of_the_rows_that_are_not_set_aside(
    flags: np.ndarray | None, n_aside: int, n_rows: int
) -> None:
    norm = FinalNorm("rms", np.linspace(1, 4, K))
    found = audit(head(flags), final_norm=norm, n_gauges=2, n_starts=0)
    assert found.head.n_aside == found.head.to_dict()["n_aside"] == n_aside
    assert found.head.n_panel == n_rows
    assert not found.head.panel.is_sample
    assert len(found.evidence.norm.labels) == n_rows
    # All of these rows are measured, so the interval has no width.
    nearest = found.evidence.norm.folded.nearest
    assert nearest.ci_low == nearest.ci_high
    movement = found.evidence.movement[0][0]
    assert movement.n_pairs == n_rows * (n_rows - 1) // 2
    assert movement.n_lists == n_rows


def test_the_mean_row_is_still_that_of_the_whole_head() -> None:
    """A shift acts on all rows, so the mean row is not that of fewer rows."""
    found = audit(head(), n_gauges=2, n_starts=0)
    mean_row = head().right.mean(axis=0)
    assert found.head.mean_norm == pytest.approx(np.linalg.norm(mean_row), rel=1e-12)
    assert found.head.n_labels == N
