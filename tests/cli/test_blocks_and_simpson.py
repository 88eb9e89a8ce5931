"""`embaudit blocks` and `embaudit simpson`: what they print and write."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture
def tensors(tmp_path):
    np.savez(tmp_path / "x.npz", a=np.array([1.0]), b=np.array([1.0]))
    np.savez(tmp_path / "y.npz", a=np.array([1.0]), b=np.array([2.0]))
    np.savez(tmp_path / "z.npz", a=np.array([1.0]), c=np.array([2.0]))
    return tmp_path


def test_blocks_shows_the_example_of_the_literature(tensors, embaudit):
    result = embaudit("blocks", "x.npz", "y.npz", "--json", "b.json", "--out", "b.html", "--threshold", 1)
    assert result.code == 0
    assert "global cosine 0.9487 = 0.9487 (norm profiles) × 1.0000" in result.out
    assert "at least 0.9487 with these norms and 0 without them" in " ".join(result.out.split())
    assert json.loads(Path("b.json").read_text())["global_cosine"] == pytest.approx(3 / np.sqrt(10), abs=1e-15)
    page = Path("b.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "<svg" in page


@pytest.fixture
def table(tmp_path):
    rows = ["dose,health,age,noise"]
    draw = np.random.default_rng(0)
    for age, shift in (("young", 0), ("old", 6)):
        rows += [
            f"{dose + shift},{10 - dose + 2 * shift + draw.normal() / 10},{age},{draw.integers(2)}"
            for dose in draw.uniform(0, 3, 40)
        ]
    (tmp_path / "table.csv").write_text("\n".join(rows) + "\n")
    return "table.csv"


def test_simpson_finds_the_reversal(table, embaudit):
    result = embaudit("simpson", table, "--x", "dose", "--y", "health", "--json", "s.json", "--out", "s.html")
    assert result.code == 0
    assert "Reversal by age" in result.out
    assert len(result.out.splitlines()) <= 25
    assert max(map(len, result.out.splitlines())) <= 80
    assert json.loads(Path("s.json").read_text())["n_significant"] >= 1
    assert "<svg" in Path("s.html").read_text()


@pytest.mark.parametrize(("group", "fail_on", "code"), [("age", "issue", 1), ("age", "never", 0), ("noise", "tip", 0)])
def test_simpson_decides_the_exit_code(table, embaudit, group, fail_on, code):
    options = ("--x", "dose", "--y", "health", "--group", group, "--fail-on", fail_on, "--quiet")
    result = embaudit("simpson", table, *options)
    assert (result.code, result.out) == (code, "")
