"""Texts of all findings and notes, and the entries that `embaudit explain` finds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from finding_cases import all_cases, format_all_findings, list_distinct_findings

import embaudit
from embaudit.auditing.catalogue import CODES, NAMES
from embaudit.auditing.finding import Kind, Severity
from embaudit.auditing.findings import MODULES, conclusions

PACKAGE = Path(embaudit.__file__).parent
CASES = sorted(all_cases())
SHOWN = Kind.SHOWN
MEASURED = Kind.MEASURED


def test_the_sentences_of_every_finding_are_those_that_were_reviewed(screen):
    assert format_all_findings() == screen


def test_every_code_and_every_note_is_raised_by_some_model():
    raised_codes = {finding.code for finding in list_distinct_findings()}
    assert [code for code in NAMES if code not in raised_codes] == []


def test_no_two_findings_have_one_code():
    assert len(CODES) == len(MODULES)


@pytest.fixture(scope="module")
def sources():
    """Return the text of each module of the package, by path."""
    return {path: path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}


def test_every_code_in_the_package_is_a_code_of_a_finding(sources):
    package = "".join(sources.values())
    assert set(re.findall(r"EMB\d{3}", package)) == set(CODES)


def test_every_code_is_defined_in_the_folder_of_findings(sources):
    findings = "".join(
        text for path, text in sources.items() if path.parent.name == "findings"
    )
    assert set(re.findall(r'"(EMB\d{3})"', findings)) == set(CODES)


# Laws that all findings keep


@pytest.mark.parametrize("name", CASES)
def test_the_title_of_a_measured_finding_shows_a_number(name):
    # Short screens, full screens and Markdown print the title without the text.
    for finding in conclusions(all_cases()[name]):
        is_note = finding.severity is Severity.NOTE
        has_value = finding.value is not None
        if is_note or not has_value or finding.kind not in (SHOWN, MEASURED):
            continue
        # The first table of a report shows the figures of EMB101.
        if finding.code != "EMB101":
            assert re.search(r"\d", finding.title), finding.title


@pytest.mark.parametrize("name", CASES)
def test_conclusions_about_some_gauges_name_them_and_do_not_claim_all_models(name):
    for finding in conclusions(all_cases()[name]):
        if finding.code in ("range", "certified", "bound"):
            assert finding.kind is Kind.PROVEN
            assert finding.scope.max_condition is not None
            assert str(finding.scope) in finding.text
        if finding.code in ("range", "certified", "bound", "reached", "drawn", "moved"):
            assert not finding.scope.whole
        if finding.code in ("moved", "reached", "rearranged"):
            assert finding.kind is Kind.SHOWN
        if finding.code in ("reached", "EMB301"):
            assert finding.witness is not None
