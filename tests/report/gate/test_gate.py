"""The gate fails at severe findings that are neither ignored nor in the baseline."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest

from embaudit.auditing.finding import THIS_MODEL, Finding, Kind, Severity
from embaudit.errors import InputError
from embaudit.report.gate.gate import Baseline, Gate

ISSUE, TIP = Severity.ISSUE, Severity.TIP


def finding(code="EMB401", severity=TIP, value=0.2, role="right"):
    text, title = "Some rows are copies.", "rows are copies"
    return Finding(
        code,
        severity,
        Kind.MEASURED,
        THIS_MODEL,
        "item rows",
        text,
        value,
        title,
        "Keep one.",
        role,
    )


def audit(*findings, hold=True):
    sides = SimpleNamespace(roles=("user", "item"), sides=(), objective=None)
    return SimpleNamespace(
        findings=findings,
        predictions_hold=hold,
        model=sides,
        evidence=SimpleNamespace(score_change=None),
    )


def outcome(gate, *findings, hold=True):
    return gate.judge(audit(*findings, hold=hold))


@pytest.mark.parametrize(
    ("fail_on", "severity", "passes"),
    [
        (None, ISSUE, True),
        (ISSUE, TIP, True),
        (ISSUE, ISSUE, False),
        (TIP, TIP, False),
        (TIP, ISSUE, False),
    ],
)
def test_the_gate_stops_at_findings_of_at_least_the_severity_given(
    fail_on, severity, passes
):
    found = outcome(Gate.from_options(fail_on), finding(severity=severity))
    assert found.passes == passes
    title = severity.title
    stops = (
        f"gate: stops at EMB401 items ({title}: --fail-on {fail_on and fail_on.title})"
    )
    assert str(found) == ("gate: passes" if passes else stops)


def test_the_gate_names_the_side_of_each_finding():
    found = outcome(
        Gate.from_options(TIP),
        finding(role="left"),
        finding(role="right"),
        finding(role="cross"),
        finding(role=None),
    )
    names = [
        each.partition(" (")[0]
        for each in str(found).removeprefix("gate: stops at ").split(", ")
    ]
    assert names == ["EMB401 users", "EMB401 items", "EMB401 user-item pairs", "EMB401"]


def test_an_audit_whose_predictions_changed_never_passes():
    found = outcome(Gate.from_options(None), hold=False)
    assert not found.passes
    assert str(found) == (
        "gate: stops, since the audit itself failed: predictions did not stay the same"
    )


def test_ignored_codes_do_not_stop_the_gate_and_are_listed():
    found = outcome(
        Gate.from_options(TIP, ignore=["EMB401"]), finding(), finding("EMB201")
    )
    assert [one.status for one in found.judged] == ["ignored", "new"]
    assert str(found) == (
        "gate: stops at EMB201 items (tip: --fail-on tip)"
        "; not counted: EMB401 items (tip, ignored)"
    )
    assert outcome(Gate.from_options(TIP, ignore=["EMB401"]), finding()).passes


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
def test_findings_are_new_worse_or_known_compared_with_a_baseline(
    tmp_path, now, status
):
    file = tmp_path / "a.json"
    file.write_text(json.dumps({"findings": [finding().to_dict()]}))
    found = outcome(Gate.from_options(TIP, baseline=Baseline.load(file)), now)
    # Some codes stop the gate even below --fail-on; the last line says why.
    below = str(
        outcome(
            Gate.from_options(ISSUE, baseline=Baseline.load(file)),
            replace(now, severity=TIP),
        )
    )
    assert (
        ", new: always stops)" in below or ", worse: always stops)" in below
    ) == below.startswith("gate: stops")
    assert found.judged[0].status == status
    assert found.passes == (status == "known")


@pytest.mark.parametrize(
    "text",
    ["", "[]", "3", "{}", '{"findings": 3}', '{"findings": [{}]}', '{"findings": [3]}'],
)
def test_a_file_that_holds_no_audit_is_refused_as_a_baseline(tmp_path, text):
    file = tmp_path / "a.json"
    file.write_text(text or " ")
    rule = "the baseline must be the JSON of an audit"
    message = rf"^{rule}; got .*a\.json, which is not an audit; write"
    with pytest.raises(InputError, match=message):
        Baseline.load(file)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_a_baseline_with_a_number_that_is_not_finite_is_refused(tmp_path, number):
    file = tmp_path / "a.json"
    record = {"findings": [finding(value=7.0).to_dict()]}
    file.write_text(json.dumps(record).replace("7.0", number))
    with pytest.raises(InputError, match="the baseline must be the JSON of an audit"):
        Baseline.load(file)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"ignore": ["EMB9"]}, "listed by `embaudit explain`; got 'EMB9'"),
        ({"ignore": ["emb104"]}, "got 'emb104'; the nearest one is EMB104"),
    ],
)
def test_unknown_codes_are_refused(setting, message):
    with pytest.raises(InputError) as refused:
        Gate.from_options(TIP, **setting)
    assert message in str(refused.value)
