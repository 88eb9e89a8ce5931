"""JUnit and Markdown of the gate are well-formed and escape hostile names."""

from __future__ import annotations

from types import SimpleNamespace
from xml.etree import ElementTree as ET

import pytest

from embaudit.auditing.answer import Answer
from embaudit.auditing.catalogue import CODES
from embaudit.auditing.certainty import Certainty
from embaudit.auditing.finding import THIS_MODEL, Finding, Kind, Severity
from embaudit.core.answer_word import AnswerWord
from embaudit.report.gate.forges import junit, markdown
from embaudit.report.gate.gate import Baseline, Gate

EVIL = (
    '<script>alert(1)</script> "q" & \u202e]]> a|b @all #1 http://x.y [l](u) \x00\n# h'
)


def made(text="Some rows are copies.", source="models/a b.npz", hold=True):
    rows = zip(
        ("EMB401", "EMB404", "EMB307"),
        (Severity.TIP, Severity.TIP, Severity.ISSUE),
        strict=True,
    )
    findings = tuple(
        Finding(
            code,
            severity,
            Kind.MEASURED,
            THIS_MODEL,
            "rows",
            text,
            0.2,
            f"{text} {code}",
            "Mend it.",
            "right",
        )
        for code, severity in rows
    )
    sure = Certainty(Kind.PROVEN, "it is proven")
    answer = Answer(
        AnswerWord.NO, text.removesuffix("."), (), "item-item cosines", "", sure
    )
    return SimpleNamespace(
        findings=findings,
        predictions_hold=hold,
        source=source,
        answer=answer,
        sample_sentence=None,
        evidence=SimpleNamespace(seed=3, score_change=None),
        model=SimpleNamespace(roles=("user", "item"), sides=(), objective=None),
    )


@pytest.fixture
def gate():
    known = {("EMB404", "right"): (Severity.TIP, 0.2)}
    return Gate.from_options(Severity.TIP, ignore=["EMB401"], baseline=Baseline(known))


def test_junit_has_one_test_case_per_code(gate):
    audit = made()
    suite = ET.fromstring(junit(audit, gate.judge(audit)))
    cases = {case.get("name").split()[0]: case for case in suite.iter("testcase")}
    assert len([*suite.iter("testcase")]) == 1 + len(CODES) == int(suite.get("tests"))
    assert (suite.get("failures"), suite.get("skipped"), suite.get("errors")) == (
        "1",
        "2",
        "0",
    )
    assert (
        cases["EMB307"].find("failure").get("message") == "Some rows are copies. EMB307"
    )
    assert cases["EMB307"].find("failure").get("type") == "issue"
    assert (
        cases["EMB401"].find("skipped").get("message")
        == "ignored by the settings of the gate"
    )
    assert cases["EMB404"].find("system-out").text == "EMB404 items (tip, known)"
    assert len(cases["EMB101"]) == len(cases["predictions"]) == 0
    failed = ET.fromstring(junit(made(hold=False), gate.judge(made(hold=False))))
    assert (
        failed[0].find("failure").get("message")
        == "an equivalent model predicts otherwise"
    )
    assert failed.get("failures") == "2"


def test_markdown_is_a_table_of_findings_with_the_gate_below(gate):
    audit = made()
    text = markdown(audit, gate.judge(audit))
    assert text.startswith(
        "### embaudit: models/a b.npz\n\n"
        "Are these item-item cosines fixed by what the model predicts? "
        "**NO: Some rows are copies.**\n\n"
        "How sure: it is proven. Quality is judged by `embaudit evaluate FILE --items "
        "TITLES --truth COLUMN`, not here. Retraining changes cosines, too: `embaudit "
        "compare FILE OTHER_SEED`.\n\n"
        "| | code | finding | what to do |\n|---|---|---|---|\n"
        "| tip, ignored | EMB401 | Some rows are copies. EMB401 | Mend it. |\n"
    )
    stop = "gate: stops at EMB307 items (issue: --fail-on tip); unlike the baseline: "
    stop += "predictions not compared, as there are no scores to compare"
    not_counted = "not counted: EMB401 items (tip, ignored), EMB404 items (tip, known)"
    assert f"\n**{stop}; {not_counted}**\n" in text
    assert text.endswith(", seed 3\n")
    assert "gate" not in markdown(audit, Gate.from_options(None).judge(audit))
    nothing = SimpleNamespace(**{**vars(audit), "findings": ()})
    bare = markdown(nothing, Gate.from_options(None).judge(nothing))
    assert "|---|" not in bare
    assert "<details>" not in bare


def test_hostile_names_are_escaped_in_every_format(gate):
    audit = made(text=EVIL, source=EVIL)
    outcome = gate.judge(audit)
    suite = ET.fromstring(junit(audit, outcome))
    assert "<script>" in suite.get("name")
    text = markdown(audit, outcome)
    for alive in (
        "<script>",
        "@all",
        "#1",
        "http://",
        "\u202e",
        "\x00",
        " a|b",
        "[l](u)",
    ):
        assert alive not in text.replace("\\<", "LT").replace("\\|", "BAR").replace(
            "\\[", "BRA"
        ), alive
    assert all(
        line.count(" | ") == 3
        for line in text.splitlines()
        if line.startswith(("| tip", "| issue"))
    )
