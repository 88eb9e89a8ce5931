"""Models of few rows and very many columns: every command asks whether the table is
transposed, and builds no square matrix of the columns.
"""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from embaudit import save
from embaudit.model import FactorModel

COLUMNS = 6_040
COMMANDS = {
    "audit": ("audit", "pair.npz", "--n-gauges", 1, "--n-starts", 0),
    "fix": ("fix", "pair.npz", "--out", "vectors.npz"),
    "fix balanced": ("fix", "pair.npz", "--as", "balanced", "--out", "model.npz"),
    "fix centred": (
        "fix",
        "alone.npy",
        "--kind",
        "vectors",
        "--as",
        "centred",
        "--out",
        "vectors.npz",
    ),
    "gauge": ("gauge", "pair.npz", "--out", "other.npz"),
    "gauge linear": ("gauge", "pair.npz", "--group", "linear", "--out", "other.npz"),
    "gauge exponent": ("gauge", "pair.npz", "--exponent", 0.5, "--out", "other.npz"),
    "compare": ("compare", "pair.npz", "pair.npz", "--by-row"),
    "evaluate": (
        "evaluate",
        "pair.npz",
        "--items",
        "items.csv",
        "--truth",
        "kind",
        "--n-neighbours",
        2,
        "--by-row",
    ),
    "head": ("audit", "alone.npy", "--kind", "head", "--n-gauges", 1, "--n-starts", 0),
}


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    draw = np.random.default_rng(0)
    save(
        FactorModel.from_user_item(
            draw.standard_normal((9, COLUMNS)), draw.standard_normal((8, COLUMNS))
        ),
        "pair.npz",
    )
    np.save("alone.npy", draw.standard_normal((5, COLUMNS)))
    Path("items.csv").write_text(
        "id,kind\n" + "".join(f"{row},{'ab'[row % 2]}\n" for row in range(8))
    )


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    "name", [pytest.param("audit", marks=pytest.mark.slow), *list(COMMANDS)[1:]]
)
def test_no_command_makes_a_matrix_of_columns(embaudit, name):
    tracemalloc.start()
    result = embaudit(*COMMANDS[name])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert result.code == 0, result.err
    assert peak < 2 * COLUMNS**2  # bytes: a quarter of one such matrix
