"""Picture of the gate in three nights: the last night brings a new issue."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
from card import card

import embaudit as ea
from embaudit.auditing.finding import Severity
from embaudit.report.gate.gate import Baseline, Gate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from embaudit.auditing.finding import Finding
    from embaudit.model import FactorModel
    from embaudit.report.gate.gate import Outcome

WIDTH, LEFT, NAMES, COLUMN, ROW, TOP = 700, 20, 290, 132, 46, 104
"""Size of the picture, and places of its cells."""
FONT = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif"
INK, SOFT, GOOD, BAD = "#1c1b19", "#5c5851", "#1a6b3c", "#a8201a"
"""Colours of text; on white the contrast of each is above 4.5."""
COPIED = 15
"""Item rows that hold copies in the third night."""


def nights() -> dict[str, FactorModel]:
    """Fit a model, turn it as another solver could, and copy some of its items."""
    data = ea.simulate_interactions(80, 60, 3, max_items=25, rng=0)
    first = ea.ProductPenaltyMF(4, alpha=10.0).fit(data.matrix).model(data.matrix)
    items = np.array(first.right)
    items[-COPIED:] = items[:COPIED]
    second = ea.gauges.Orthogonal(first.rank).sample(rng=0).act(first)
    return {
        "approved": first,
        "another solver": second,
        "items copied": first.replace(right=items),
    }


def gate_picture() -> str:
    """Draw the findings of each night as the gate sees them, and what it says below.

    The first night is the baseline of all: its findings are known.
    """
    audits = {
        night: ea.audit(model, groups=["canonical"])
        for night, model in nights().items()
    }
    approved = {
        _key(finding): (finding.severity, finding.value)
        for finding in audits["approved"].findings
    }
    gate = Gate.from_options(Severity.ISSUE, baseline=Baseline(approved))
    outcomes = {night: gate.judge(audit) for night, audit in audits.items()}
    findings = {
        _key(finding): finding
        for audit in audits.values()
        for finding in audit.findings
    }
    height = TOP + ROW * (len(findings) + 1) + 12
    title = "Three nights before one gate: audit --fail-on issue --baseline"
    subtitle = "The findings of the first night were reviewed and are the baseline."
    parts = card(WIDTH, height, title)
    parts.append(_text(LEFT, 34, title, size=16, weight=600))
    parts.append(_text(LEFT, 58, subtitle, colour=SOFT))
    for place, night in enumerate(outcomes):
        parts.append(_text(_column(place), TOP - 14, night, weight=600))
    parts += _rows(findings, list(outcomes.values()))
    return "\n".join([*parts, "</svg>\n"])


def _rows(
    findings: dict[tuple[str, str], Finding], outcomes: list[Outcome]
) -> Iterator[str]:
    for at, (key, finding) in enumerate(sorted(findings.items())):
        y = TOP + ROW * at
        yield _line(y, "#dedad1")
        yield _text(LEFT, y + 20, finding.code, weight=600)
        yield _text(
            LEFT, y + 37, re.split("[;,]", finding.title)[0], size=12, colour=SOFT
        )
        for column, outcome in enumerate(outcomes):
            yield _text(_column(column), y + 28, *_status(key, outcome))
    y = TOP + ROW * len(findings)
    yield _line(y, INK)
    yield _text(LEFT, y + 28, "gate", weight=600)
    for column, outcome in enumerate(outcomes):
        outcome_text, colour = ("passes", GOOD) if outcome.passes else ("stops", BAD)
        yield _text(_column(column), y + 28, outcome_text, colour, weight=700)


def _status(key: tuple[str, str], outcome: Outcome) -> tuple[str, str]:
    """Say what the gate makes of a finding in one night."""
    for judged in outcome.judged:
        if _key(judged.finding) == key:
            return (
                f"{judged.finding.severity.title}, {judged.status}",
                BAD if judged.stops else INK,
            )
    return "–", SOFT


def _key(finding: Finding) -> tuple[str, str]:
    """Return the code of a finding and the side that it speaks of."""
    return finding.code, finding.role or ""


def _column(at: int) -> int:
    return LEFT + NAMES + COLUMN * at


def _line(y: int, colour: str) -> str:
    """Draw a horizontal line across the card."""
    ends = f'x1="{LEFT}" x2="{WIDTH - LEFT}" y1="{y}" y2="{y}"'
    return f'<line {ends} stroke="{colour}"/>'


def _text(
    x: int, y: int, text: str, colour: str = INK, *, size: int = 14, weight: int = 400
) -> str:
    """Write a line of text."""
    font = f'font-family="{FONT}" font-size="{size}" font-weight="{weight}"'
    return f'<text x="{x}" y="{y}" {font} fill="{colour}">{text}</text>'
