"""Texts of all findings and notes, and the entries that `embaudit explain` finds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from raised import cases, drawn, page

import embaudit
from embaudit.auditing.catalogue import CODES, NAMES
from embaudit.auditing.finding import Kind, Severity
from embaudit.auditing.findings import MODULES, conclusions

PACKAGE = Path(embaudit.__file__).parent
CASES = sorted(cases())
SHOWN, MEASURED = Kind.SHOWN, Kind.MEASURED


def test_the_sentences_of_every_finding_are_those_that_were_reviewed(screen):
    assert page() == screen


def test_every_code_and_every_note_is_raised_by_some_model():
    assert [code for code in NAMES if code not in {one.code for one in drawn()}] == []


def test_no_two_findings_have_one_code():
    assert len(CODES) == len(MODULES)


def test_each_code_is_written_in_one_place_and_no_other_is_named():
    sources = {path: path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
    assert set(re.findall(r"EMB\d{3}", "".join(sources.values()))) == set(CODES)
    checks = "".join(
        text for path, text in sources.items() if path.parent.name == "findings"
    )
    assert set(re.findall(r'"(EMB\d{3})"', checks)) == set(CODES)


# Laws that all findings keep


@pytest.mark.parametrize("name", CASES)
def test_the_title_of_a_measured_finding_shows_a_number(name):
    # Short screens, full screens and Markdown print the title without the text.
    for one in conclusions(cases()[name]):
        is_note = one.severity is Severity.NOTE
        if is_note or one.value is None or one.kind not in (SHOWN, MEASURED):
            continue
        # What training and predictions leave free is measured by the first table.
        if one.code != "EMB101":
            assert re.search(r"\d", one.title), one.title


def told(finding):
    """All that a report may write of a finding."""
    return " | ".join(
        filter(
            None,
            (
                finding.title,
                finding.text,
                finding.remedy,
                finding.rows,
                str(finding.scope),
            ),
        )
    )


@pytest.mark.parametrize("name", CASES)
def test_what_is_proven_of_a_budget_is_of_its_set_alone(name):
    for one in conclusions(cases()[name]):
        if one.code in ("range", "certified", "bound"):
            assert one.kind is Kind.PROVEN
            assert one.scope.max_condition is not None
            assert str(one.scope) in one.text
        if one.code in ("range", "certified", "bound", "reached", "drawn", "moved"):
            assert not one.scope.whole
        if one.code in ("moved", "reached", "rearranged"):
            assert one.kind is Kind.SHOWN
        if one.code in ("reached", "EMB301"):
            assert one.witness is not None
