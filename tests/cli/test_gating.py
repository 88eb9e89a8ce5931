"""`embaudit audit` as the gate of a release: options, settings in a file, and what forges are told."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from embaudit import FactorModel
from embaudit.io import save


@pytest.fixture
def model(tmp_path, monkeypatch):
    """Two factor matrices, objective product: EMB101, an issue, and nothing else that is one."""
    monkeypatch.chdir(tmp_path)
    draw = np.random.default_rng(0)
    made = FactorModel.from_user_item(
        draw.standard_normal((30, 4)),
        draw.standard_normal((20, 4)),
        objective="product",
    )
    save(made, "m.npz")
    return "m.npz"


def last(result):
    return result.out.splitlines()[-1]


@pytest.mark.parametrize("name", ["embaudit.toml", "pyproject.toml"])
def test_settings_are_read_said_and_overridden(
    model, embaudit, name, tmp_path, monkeypatch
):
    head = "[tool.embaudit]\n" if name == "pyproject.toml" else ""
    severity = "[tool.embaudit.severity]" if head else "[severity]"
    (tmp_path / name).write_text(
        f'{head}fail-on = "issue"\nn-gauges = 1\n{severity}\nEMB101 = "tip"\n'
    )
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    model = Path("..") / model
    few = ("--n-pairs", 50, "--n-starts", 0)
    passed = embaudit("audit", model, *few)
    assert passed.code == 0
    said = f"settings: fail-on, n-gauges, severity of {tmp_path / name}; options on the command line override this file.\n"
    assert passed.err == said
    assert "EMB101 items (tip" not in last(passed)
    typed = embaudit("audit", model, *few, "--fail-on", "tip", "--quiet")
    assert (typed.code, typed.err) == (1, "")
    own = embaudit("audit", model, *few, "--severity", "EMB101=issue")
    assert own.code == 1
