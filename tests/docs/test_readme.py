"""The README is one screen: what this is, a picture, two commands, and where to read on."""

from __future__ import annotations

import re

import yaml
from pages import ALONE, PAGES, ROOT, links

from embaudit import __version__

README = (ROOT / "README.md").read_text()


def test_it_is_about_a_screen():
    assert 50 <= README.count("\n") <= 80


def test_the_two_commands_exist():
    makefile = (ROOT / "Makefile").read_text()
    for target in ("demo", "test", "docs"):
        assert f"`make {target}`" in README
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)
    assert "make test" in (ROOT / ".ci" / "run").read_text()


def test_continuous_integration_runs_both_on_every_python():
    job = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())["jobs"]["readme"]
    assert job["strategy"]["matrix"]["python"] == ["3.11", "3.12", "3.13"]
    assert [step["run"] for step in job["steps"] if "run" in step] == ["make demo", "make test"]


def test_hooks_run_tools_of_the_project():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    assert [hook["entry"].split()[0] for hook in hooks] == [
        f".venv/bin/{tool}" for tool in ("ruff", "ruff", "codespell")
    ]


def test_it_leads_to_every_page():
    of_the_theme = {"docs/index.md", "docs/gallery.md", "docs/api.md"}
    assert set(PAGES) - {"README.md", *of_the_theme} - ALONE <= set(links(README))


def test_the_citation_is_of_this_version():
    cited = (ROOT / "CITATION.cff").read_text()
    assert f"\nversion: {__version__}\n" in cited
    assert cited.startswith("cff-version: 1.2.0\n")
    for number in ("2403.05440", "2603.29488"):
        assert number in cited
        assert number in README
