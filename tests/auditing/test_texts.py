"""Every finding and note as people read it, that each is raised by some model, and what `embaudit explain` finds."""

from __future__ import annotations

import re
import string
from pathlib import Path

import pytest
from raised import UGLY, cases, drawn, page

import embaudit
from embaudit.auditing.catalogue import CODES, NAMES
from embaudit.auditing.finding import Kind
from embaudit.auditing.findings import conclusions
from embaudit.auditing.texts import SAYS

PACKAGE = Path(embaudit.__file__).parent
CASES = sorted(cases())


def test_the_sentences_of_every_finding_are_those_that_were_reviewed(screen):
    assert page() == screen


def test_every_code_and_every_note_is_raised_by_some_model():
    assert [code for code in NAMES if code not in {one.code for one in drawn()}] == []


def sentences_of(finding):
    """Return the texts of a finding, which are written from templates."""
    return [
        finding.title,
        finding.text,
        finding.remedy,
        finding.rows,
        str(finding.kind),
        str(finding.scope),
        finding.role or "",
    ]


def pattern_of(template):
    """Return a regular expression that finds a template, whatever its fields hold."""
    parts = string.Formatter().parse(template)
    return "".join(
        re.escape(text) + ("" if field is None else ".*") for text, field, _, _ in parts
    )


def test_every_template_is_written_by_some_model():
    written = {code: set() for code in NAMES}
    for case in cases().values():
        for finding in conclusions(case):
            written[finding.code].update(sentences_of(finding))
    for code, says in SAYS.items():
        for name, template in says.items():
            pattern = re.compile(pattern_of(template), re.DOTALL)
            assert any(map(pattern.search, written[code])), (code, name)


def test_each_code_is_written_in_one_place_and_no_other_is_named():
    sources = {path: path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
    assert set(re.findall(r"EMB\d{3}", "".join(sources.values()))) == set(CODES)
    checks = "".join(
        text for path, text in sources.items() if path.parent.name == "findings"
    )
    assert set(re.findall(r'"(EMB\d{3})"', checks)) == set(CODES)


# Laws that all findings keep


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


NUMBERS = (0.0, 1.0, 1e-9, 1e9, -1.0, 0.05, 0.5)


def fields_of(template):
    return [
        (name, spec)
        for _, name, spec, _ in string.Formatter().parse(template)
        if name is not None
    ]


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("name", ["Heat", *UGLY])
def test_every_template_takes_every_number_and_every_name(number, name):
    """A number where a format says so, else a name: all of it is told, and nothing of a name is taken for a field."""
    for code, says in SAYS.items():
        for key, text in says.items():
            fields = fields_of(text)
            values = {field: number if spec else name for field, spec in fields}
            told = text.format_map(values)
            assert told.count(name) + told.count(repr(name)) >= sum(
                not spec for _, spec in fields
            ), (code, key)
            assert "  " not in text.format_map(
                {field: number if spec else "x" for field, spec in fields}
            ), (code, key)
