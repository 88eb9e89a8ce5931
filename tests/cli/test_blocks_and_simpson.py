"""`embaudit blocks` and `embaudit simpson`: what they print, write and refuse."""

from __future__ import annotations

import json
import subprocess
import sys
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


def test_blocks_refuses_other_names_unless_told_to_skip_them(tensors, embaudit):
    refused = embaudit("blocks", "x.npz", "z.npz")
    assert refused.code == 2
    assert refused.err.count("\n") == 1
    skipped = embaudit("blocks", "x.npz", "z.npz", "--skip-missing")
    assert skipped.code == 0
    assert "1.0000" in skipped.out
    assert embaudit("blocks", "x.npz", "none.npz").code == 2
    assert embaudit("blocks", "x.npz", "y.npz", "--blocks", "magic:3").code == 2
    for spelling in ("--blocks", "--partition"):
        assert "by coordinates" in " ".join(embaudit("blocks", "x.npz", "y.npz", spelling, "coordinates").out.split())


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
    full = embaudit("simpson", table, "--x", "dose", "--y", "health", "--full").out
    assert "share_reversed" in full
    assert "share_reversed" not in result.out
    assert json.loads(Path("s.json").read_text())["n_significant"] >= 1
    assert "<svg" in Path("s.html").read_text()


@pytest.mark.parametrize(("group", "fail_on", "code"), [("age", "issue", 1), ("age", "never", 0), ("noise", "tip", 0)])
def test_simpson_decides_the_exit_code(table, embaudit, group, fail_on, code):
    options = ("--x", "dose", "--y", "health", "--group", group, "--fail-on", fail_on, "--quiet")
    result = embaudit("simpson", table, *options)
    assert (result.code, result.out) == (code, "")


@pytest.mark.parametrize(
    "options",
    [
        ("--x", "dose", "--y", "nothing"),
        ("--x", "dose", "--y", "health", "--group", "nothing"),
        ("--x", "dose", "--y", "dose"),
    ],
)
def test_simpson_refuses_bad_columns(table, embaudit, options):
    result = embaudit("simpson", table, *options)
    assert result.code == 2
    assert result.err.startswith("embaudit: ")
    assert result.err.count("\n") == 1


def test_names_that_look_like_markup_are_shown_as_they_are(tmp_path, embaudit):
    for name in ("x", "y"):
        np.savez(tmp_path / f"{name}.npz", **{"w[/]": np.arange(3.0) + (name == "y"), "[red]v": np.ones(2)})
    result = embaudit("blocks", "x.npz", "y.npz")
    assert result.code == 0
    assert "w[/]" in result.out
    assert "w[/]" in embaudit("blocks", "x.npz", "y.npz", "--full").out


def test_many_blocks_have_one_screen_and_all_of_them_a_page(tmp_path, embaudit):
    draw = np.random.default_rng(0)
    for name in ("x", "y"):
        np.savez(
            tmp_path / f"{name}.npz", **{f"a_layer_with_a_long_name_indeed_{i}": draw.normal(size=4) for i in range(40)}
        )
    brief = embaudit("blocks", "x.npz", "y.npz").out.splitlines()
    assert len(brief) <= 25
    assert max(map(len, brief)) <= 80
    assert brief[-1] == "Everything: --full"
    assert len(embaudit("blocks", "x.npz", "y.npz", "--full").out.splitlines()) > 25


def test_a_closed_pipe_costs_no_result_and_is_no_finding(tensors):
    program = f"{sys.executable} -m embaudit blocks x.npz y.npz --json b.json"
    script = f"set -o pipefail; {program} | true; echo ${{PIPESTATUS[0]}}"
    found = subprocess.run(["bash", "-c", script], capture_output=True, text=True, cwd=tensors)
    assert found.stdout.strip() in ("0", "141")
    assert json.loads((tensors / "b.json").read_text())["global_cosine"] == pytest.approx(3 / np.sqrt(10))
