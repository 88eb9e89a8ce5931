"""What forges and chats read: SARIF, JUnit and Markdown, of an audit and what a gate makes of it.

SARIF is version 2.1.0 of OASIS; JUnit has the elements that Jenkins, GitLab and GitHub actions agree on.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from xml.etree import ElementTree as ET

from embaudit._version import __version__
from embaudit.auditing.finding import Severity
from embaudit.auditing.glossary import CODES
from embaudit.errors import escaped
from embaudit.foundation.words import cut

if TYPE_CHECKING:
    from collections.abc import Iterator

    from embaudit.auditing import Audit
    from embaudit.auditing.glossary import Code
    from embaudit.report.gate.gate import Judged, Outcome

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS = {Severity.ISSUE: "error", Severity.TIP: "warning"}
STATES = {"new": "new", "worse": "updated", "known": "unchanged"}
WORDS = 300
"""Characters of a title or a path at most."""
MARKS = re.compile(r"([\\`*_{}\[\]<>|~&])")
ACTS = {"@": "&#64;", "#": "&#35;", "://": "&#58;//"}
"""What becomes a mention, a reference or a link although a backslash stands before it."""


def sarif(audit: Audit, outcome: Outcome) -> str:
    """Write findings as SARIF: issues are errors, tips warnings, ignored ones suppressed."""
    codes = dict.fromkeys(one.finding.code for one in outcome.judged)
    driver = {"name": "embaudit", "version": __version__, "rules": [_rule(code) for code in codes]}
    run = {
        "tool": {"driver": driver},
        "results": [_result(audit, one) for one in outcome.judged],
        "invocations": [{"executionSuccessful": outcome.predictions_hold}],
        "columnKind": "unicodeCodePoints",
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1, ensure_ascii=False) + "\n"


def _rule(name: str) -> dict[str, Any]:
    code = CODES[name]
    return {
        "id": name,
        "shortDescription": {"text": code.title},
        "fullDescription": {"text": f"{code.meaning} {code.why}"},
        "help": {
            "text": "\n".join(f"{heading}: {text}" for heading, text in code.sections),
            "markdown": "\n".join(_told(code)),
        },
        "defaultConfiguration": {"level": LEVELS[max(code.severities)]},
    }


def _result(audit: Audit, one: Judged) -> dict[str, Any]:
    finding = one.finding
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "level": LEVELS[one.severity],
        "message": {"text": _line(f"{finding.title}. {finding.explanation} {finding.remedy}", 10 * WORDS)},
        "partialFingerprints": {"claim/v1": f"{finding.code}:{finding.claim.name}"},
    }
    if audit.source is not None:
        place = {"artifactLocation": {"uri": quote(audit.source, safe="/", errors="backslashreplace")}}
        result["locations"] = [{"physicalLocation": place}]
    if one.status == "ignored":
        result["suppressions"] = [{"kind": "external", "justification": "ignored by the settings of the gate"}]
    else:
        result["baselineState"] = STATES[one.status]
    return result


def junit(audit: Audit, outcome: Outcome) -> str:
    """Write a test case for the predictions and for each code: failed where it stops, skipped where it is ignored."""
    suite = ET.Element("testsuite", name=f"embaudit {_line(audit.source or 'audit')}")
    failed = skipped = 0
    predictions = ET.SubElement(suite, "testcase", classname="embaudit", name="predictions stay the same")
    if not outcome.predictions_hold:
        failed += 1
        ET.SubElement(predictions, "failure", message="an equal model predicts otherwise")
    for name, code in CODES.items():
        case = ET.SubElement(suite, "testcase", classname="embaudit", name=f"{name} {code.title}")
        found = [one for one in outcome.judged if one.finding.code == name]
        stops = [one for one in found if one.stops]
        if stops:
            failed += 1
            message = "; ".join(_line(one.finding.title) for one in stops)
            text = "\n".join(_line(f"{one.finding.explanation} {one.finding.remedy}", 10 * WORDS) for one in stops)
            ET.SubElement(case, "failure", message=message, type=stops[0].severity.title).text = text
        elif any(one.status == "ignored" for one in found):
            skipped += 1
            ET.SubElement(case, "skipped", message="ignored by the settings of the gate")
        elif found:
            ET.SubElement(case, "system-out").text = "\n".join(_line(str(one)) for one in found)
    suite.attrib |= {"tests": str(1 + len(CODES)), "failures": str(failed), "errors": "0", "skipped": str(skipped)}
    ET.indent(suite)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(suite, encoding="unicode")}\n'


def markdown(audit: Audit, outcome: Outcome) -> str:
    """Write the answer and the findings for a comment on a change."""
    return "\n".join(_markdown(audit, outcome)) + "\n"


def _markdown(audit: Audit, outcome: Outcome) -> Iterator[str]:
    yield f"### embaudit: {plain_text(audit.source or 'audit')}"
    yield ""
    yield f"{plain_text(audit.answer.question)} **{plain_text(str(audit.answer))}**"
    yield ""
    if outcome.judged:
        yield "| | code | finding | what to do |"
        yield "|---|---|---|---|"
        yield from (_row(one) for one in outcome.judged)
        yield ""
    if outcome.is_asked:
        yield f"**{plain_text(str(outcome))}**"
        yield ""
    if outcome.judged:
        yield from ("<details><summary>What the codes mean</summary>", "")
        for name in dict.fromkeys(one.finding.code for one in outcome.judged):
            yield from (f"**{plain_text(CODES[name].heading)}**", "", *_told(CODES[name]), "")
        yield from ("</details>", "")
    yield f"embaudit {plain_text(__version__)}, seed {audit.evidence.seed}"


def _told(code: Code) -> Iterator[str]:
    """Yield as list in Markdown what `embaudit explain` says of a code; what it sets as code stays so."""
    for heading, text in code.sections:
        parts = re.split("(`[^`]*`)", text)
        yield f"- *{heading}*: {''.join(part if part.startswith('`') else plain_text(part) for part in parts)}"


def _row(one: Judged) -> str:
    said = one.severity.title if one.status == "new" else f"{one.severity.title}, {one.status}"
    cells = (said, one.finding.code, one.finding.title, one.finding.remedy)
    return f"| {' | '.join(map(plain_text, cells))} |"


def plain_text(text: str) -> str:
    r"""Write a text so that Markdown reads it as one line of text and nothing else.

    Examples
    --------
    >>> print(plain_text("a|b <script> [x](y) @z"))
    a\|b \<script\> \[x\](y) &#64;z
    """
    return re.sub("|".join(ACTS), lambda mark: ACTS[mark[0]], MARKS.sub(r"\\\1", _line(text, 10 * WORDS)))


def _line(text: str, most: int = WORDS) -> str:
    """Keep a text on one line, of characters that XML takes, and short enough to be read."""
    return cut(escaped(text.replace("\n", " ")), most)
