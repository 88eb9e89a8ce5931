"""A gate stops at what is grave enough, and counts neither what is ignored nor what was known and is no worse."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from embaudit.auditing.finding import AT_HAND, Finding, Kind, Severity
from embaudit.errors import InputError
from embaudit.report.gate.baseline import Baseline
from embaudit.report.gate.gate import Gate

ISSUE, TIP = Severity.ISSUE, Severity.TIP


def finding(code="EMB401", severity=TIP, value=0.2, role="right"):
    text, title = "Some rows are copies.", "rows are copies"
    return Finding(code, severity, Kind.MEASURED, AT_HAND, "item rows", text, value, title, "Keep one.", role)


def audit(*findings, hold=True):
    return SimpleNamespace(findings=findings, predictions_hold=hold)


def outcome(gate, *findings, hold=True):
    return gate.judge(audit(*findings, hold=hold))


@pytest.mark.parametrize(
    ("fail_on", "severity", "passes"),
    [(None, ISSUE, True), (ISSUE, TIP, True), (ISSUE, ISSUE, False), (TIP, TIP, False), (TIP, ISSUE, False)],
)
def test_severity_decides(fail_on, severity, passes):
    found = outcome(Gate.of(fail_on), finding(severity=severity))
    assert found.passes == passes
    title = severity.title
    assert str(found) == ("gate: passes" if passes else f"gate: stops at EMB401 ({title})")


def test_an_audit_that_failed_passes_nowhere():
    found = outcome(Gate.of(None), hold=False)
    assert not found.passes
    assert str(found) == "gate: stops, since the audit itself failed: predictions did not stay the same"


def test_ignored_codes_do_not_count_and_are_named():
    found = outcome(Gate.of(TIP, ignore=["EMB401"]), finding(), finding("EMB201"))
    assert [one.status for one in found.judged] == ["ignored", "new"]
    assert str(found) == "gate: stops at EMB201 (tip); not counted: EMB401 (tip, ignored)"
    assert outcome(Gate.of(TIP, ignore=["EMB401"]), finding()).passes


def test_codes_are_as_grave_as_they_are_called():
    gate = Gate.of(ISSUE, severities=["EMB401=ISSUE", "EMB101=tip"])
    found = outcome(gate, finding(), finding("EMB101", ISSUE))
    assert [(one.severity, one.stops) for one in found.judged] == [(ISSUE, True), (TIP, False)]


@pytest.mark.parametrize(
    ("now", "status"),
    [
        (finding(), "known"),
        (finding(value=0.22), "known"),
        (finding(value=0.2201), "worse"),
        (finding(value=-0.2201), "worse"),
        (finding(value=0.1), "known"),
        (finding(value=None), "known"),
        (finding(severity=ISSUE), "worse"),
        (finding(role="left"), "new"),
        (finding("EMB404"), "new"),
    ],
)
def test_a_baseline_tells_new_worse_and_known(tmp_path, now, status):
    file = tmp_path / "a.json"
    file.write_text(json.dumps({"findings": [finding().to_dict()]}))
    found = outcome(Gate.of(TIP, baseline=Baseline.load(file)), now)
    assert found.judged[0].status == status
    assert found.passes == (status == "known")


@pytest.mark.parametrize(
    ("before", "now", "status"), [(None, 0.1, "worse"), (None, None, "known"), (0.0, 0.1, "worse")]
)
def test_numbers_that_were_none(before, now, status):
    baseline = Baseline({("EMB401", "right"): (TIP, before)})
    assert baseline.status(finding(value=now)) == status


def test_a_number_without_direction_is_never_worse():
    baseline = Baseline({("EMB204", "right"): (TIP, 0.5)})
    assert baseline.status(finding("EMB204", value=50.0)) == "known"
    assert baseline.status(finding("EMB204", ISSUE, value=50.0)) == "worse"


def test_what_a_project_calls_a_code_makes_nothing_worse():
    baseline = Baseline({("EMB401", "right"): (TIP, 0.2)})
    found = outcome(Gate.of(ISSUE, severities=["EMB401=issue"], baseline=baseline), finding())
    assert [(one.severity, one.status, one.stops) for one in found.judged] == [(ISSUE, "known", False)]


def test_a_tip_that_was_an_issue_is_known():
    assert Baseline({("EMB401", "right"): (ISSUE, 0.2)}).status(finding()) == "known"


@pytest.mark.parametrize("text", ["", "[]", "3", "{}", '{"findings": 3}', '{"findings": [{}]}', '{"findings": [3]}'])
def test_what_is_no_audit_is_no_baseline(tmp_path, text):
    file = tmp_path / "a.json"
    file.write_text(text or " ")
    with pytest.raises(
        InputError, match=r"^the baseline must be the JSON of an audit; got .*a\.json, which is none; write"
    ):
        Baseline.load(file)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"ignore": ["EMB9"]}, "a code must be one that `embaudit explain` lists; got 'EMB9'; the nearest one is EMB"),
        ({"ignore": ["emb104"]}, "got 'emb104'; the nearest one is EMB104."),
        ({"severities": ["EMB104"]}, "a severity must be CODE=issue or CODE=tip; got 'EMB104'; name codes to leave"),
        ({"severities": ["EMB104=never"]}, "got 'EMB104=never'"),
        ({"severities": ["X=tip"]}, "got 'X'; the nearest one is EMB"),
    ],
)
def test_what_is_no_code_or_severity_is_refused(given, words):
    with pytest.raises(InputError) as error:
        Gate.of(TIP, **given)
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("gate", "asked"),
    [
        (Gate.of(None), False),
        (Gate.of(TIP), True),
        (Gate.of(None, ignore=["EMB104"]), True),
        (Gate.of(None, severities=["EMB104=tip"]), True),
        (Gate.of(None, baseline=Baseline()), True),
    ],
)
def test_whether_a_gate_is_asked_for(gate, asked):
    assert gate.is_asked == asked
    assert outcome(gate).is_asked == asked
