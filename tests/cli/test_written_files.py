"""What `--json`, `--out`, `--markdown` and `--junit` write."""

from __future__ import annotations

import json
from pathlib import Path
from shlex import split
from xml.etree import ElementTree as ET

import pytest
from browsing import read, text_of
from jsonschema import Draft202012Validator
from schemas import misfits

pytestmark = pytest.mark.usefixtures("inputs")
COMMANDS = {
    "audit": "audit model.npz --n-gauges 1 --n-pairs 50 --n-starts 0",
    "blocks": "blocks x.npz y.npz",
    "compare": "compare model.npz other.npz",
    "evaluate": "evaluate model.npz --items films.csv --truth kind",
    "simpson": (
        "simpson cases.csv --x x --y y --groups ward --min-size 2 --n-permutations 9"
    ),
}
TITLES = {
    "audit": "### embaudit: model.npz",
    "blocks": "### embaudit: x.npz and y.npz",
    "compare": "### embaudit: model.npz and other.npz",
    "evaluate": "### embaudit: which similarity serves kind best in model.npz",
    "simpson": "### embaudit: y on x in cases.csv",
}


def test_the_json_of_an_audit_follows_the_schema_that_the_command_line_prints(embaudit):
    result = embaudit(*split(COMMANDS["audit"]), "--json", "r.json", "--quiet")
    record = json.loads(Path("r.json").read_text())
    schema = json.loads(embaudit("schema").out)
    assert result.code == 0
    assert list(Draft202012Validator(schema).iter_errors(record)) == []
    assert misfits(record) == []


def test_json_holds_numbers_that_can_be_computed_by_hand(embaudit):
    """The local cosines of x and y are 24/25 and 0, and their global one is 24/26."""
    assert embaudit(*split(COMMANDS["blocks"]), "--json", "b.json").code == 0
    record = json.loads(Path("b.json").read_text())
    assert record["global_cosine"] == pytest.approx(24 / 26, abs=1e-15)
    cosines = {one["block"]: one["cosine"] for one in record["blocks"]}
    assert cosines == pytest.approx({"a": 24 / 25, "b": 0}, abs=1e-15)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_page_is_whole_and_says_what_the_screen_says(embaudit, command):
    shown = embaudit(*split(COMMANDS[command]), "--out", "page.html")
    page = Path("page.html").read_text(encoding="utf-8")
    read(page.partition("<body")[2].partition(">")[2].rpartition("</body>")[0])
    text = " ".join(shown.out.split())
    # The page sets the word of the answer, "NO", in a heading of its own.
    reason = text.partition("fixed by what the model predicts? NO: ")[2] or text
    assert page.startswith("<!doctype html>")
    assert reason.split(". ")[0].lower() in text_of(page).lower()


@pytest.mark.parametrize("command", COMMANDS)
def test_markdown_begins_with_a_title_that_names_the_inputs(embaudit, command):
    result = embaudit(*split(COMMANDS[command]), "--markdown", "r.md", "--quiet")
    lines = Path("r.md").read_text(encoding="utf-8").splitlines()
    assert result.code == 0
    assert lines[0] == TITLES[command]
    assert any(line.startswith("|--") for line in lines)


def test_forges_get_the_finding_and_the_decision_of_the_gate(embaudit):
    files = "--junit a.xml --markdown a.md"
    result = embaudit(*split(f"{COMMANDS['audit']} --fail-on issue {files}"))
    last = result.out.splitlines()[-1]
    suite = ET.parse("a.xml").getroot()
    failed = [case.get("name") for case in suite if case.find("failure") is not None]
    assert result.code == 1
    assert suite.get("failures") == "1"
    assert failed == ["EMB101 training does not fix the cosines"]
    assert suite.findtext("system-out") == last
    assert f"**{last}**" in Path("a.md").read_text().replace("\\", "")
