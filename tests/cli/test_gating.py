"""`embaudit audit` as the gate of a release: options, settings in a file, and what forges are told."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from embaudit import FactorModel
from embaudit.io import save

FEW = ("--gauges", 1, "--pairs", 50)


@pytest.fixture
def model(tmp_path, monkeypatch, without_attacks):
    """Two factor matrices, objective product: EMB101, an issue, and nothing else that is one."""
    monkeypatch.chdir(tmp_path)
    draw = np.random.default_rng(0)
    made = FactorModel.from_user_item(draw.standard_normal((30, 4)), draw.standard_normal((20, 4)), objective="product")
    save(made, "m.npz")
    return "m.npz"


def last(result):
    return result.out.splitlines()[-1]


def test_only_what_is_new_counts_beside_a_baseline(model, embaudit):
    assert embaudit("audit", model, *FEW, "--quiet", "--json", "base.json").code == 0
    known = embaudit("audit", model, *FEW, "--fail-on", "tip", "--baseline", "base.json")
    assert known.code == 0
    assert "EMB101 items (issue, known)" in last(known)
    record = json.loads(Path("base.json").read_text())
    record["findings"] = []
    Path("base.json").write_text(json.dumps(record))
    assert embaudit("audit", model, *FEW, "--fail-on", "tip", "--baseline", "base.json").code == 1
    again = embaudit("audit", model, *FEW, "--baseline", "base.json", "--json", "base.json", "--force")
    assert again.code == 2, "the baseline is an input"


def test_forges_are_told(model, embaudit):
    files = ("--sarif", "s.sarif", "--junit", "j.xml", "--markdown", "m.md")
    assert embaudit("audit", model, *FEW, "--fail-on", "issue", *files).code == 1
    run = json.loads(Path("s.sarif").read_text())["runs"][0]
    assert ("EMB101", "error") in [(one["ruleId"], one["level"]) for one in run["results"]]
    assert run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "m.npz"
    assert ET.fromstring(Path("j.xml").read_text()).get("failures") == "1"
    assert "**gate: stops at EMB101 items (issue: --fail-on issue)" in Path("m.md").read_text()
    refused = embaudit("audit", model, *FEW, *files)
    assert refused.code == 2
    assert "s.sarif" in refused.err


@pytest.mark.parametrize("name", ["embaudit.toml", "pyproject.toml"])
def test_settings_are_read_said_and_overridden(model, embaudit, name, tmp_path, monkeypatch):
    head = "[tool.embaudit]\n" if name == "pyproject.toml" else ""
    severity = "[tool.embaudit.severity]" if head else "[severity]"
    (tmp_path / name).write_text(f'{head}fail-on = "issue"\ngauges = 1\n{severity}\nEMB101 = "tip"\n')
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    model = Path("..") / model
    passed = embaudit("audit", model, "--pairs", 50)
    assert passed.code == 0
    said = f"settings: fail-on, n-gauges, severity of {tmp_path / name}; what is typed goes before them.\n"
    assert passed.err == said
    assert "EMB101 items (tip" not in last(passed)
    typed = embaudit("audit", model, "--pairs", 50, "--fail-on", "tip", "--quiet")
    assert (typed.code, typed.err) == (1, "")
    own = embaudit("audit", model, "--pairs", 50, "--severity", "EMB101=issue")
    assert own.code == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("fail_on = 'tip'", "must be one of objective, role, groups, "),
        ("fail_on = 'tip'", "; got 'fail_on'; the nearest one is fail-on."),
        ("top = 'ten'", "top in {path} must be a whole number; got 'ten'."),
        ("top = true", "top in {path} must be a whole number; got True."),
        ("top = 1.5", "top in {path} must be a whole number; got 1.5."),
        ("max-condition = '2'", "max-condition in {path} must be a number; got '2'."),
        ("normalised = 1", "normalised in {path} must be true or false; got 1."),
        ("ignore = 'EMB101'", "ignore in {path} must be a list of texts; got 'EMB101'."),
        ("ignore = [1]", "ignore in {path} must be a list of texts; got [1]."),
        ("severity = 'EMB101'", "severity in {path} must be a table of codes with issue or tip; got 'EMB101'."),
        ("[severity]\nEMB101 = 3", "severity in {path} must be a table of codes with issue or tip; got "),
        ("[severity]\nEMB101 = 'never'", "a severity must be CODE=issue or CODE=tip; got 'EMB101=never'"),
        ("ignore = ['EMB1O1']", "a code must be one that `embaudit explain` lists; got 'EMB1O1'"),
        ("fail-on = 'sometimes'", "fail-on in {path} must be one of issue, tip, never; got 'sometimes'."),
        ("fail-on = 3", "fail-on in {path} must be one of issue, tip, never; got 3."),
        ("seed = -1", "seed in {path} must be a whole number >= 0; got -1."),
        ("seed = 1.0", "seed in {path} must be a whole number >= 0; got 1.0."),
        ("fail-on = ", "embaudit.toml must be TOML; got "),
        ("a = " + "[" * 100_000, "embaudit.toml must be TOML; got "),
    ],
)
def test_settings_that_mean_nothing_are_refused(model, embaudit, tmp_path, text, words):
    path = tmp_path / "embaudit.toml"
    path.write_text(text)
    result = embaudit("audit", model, *FEW)
    assert result.code == 2
    assert words.format(path=path) in result.err
    assert len(result.err.splitlines()) <= 2
