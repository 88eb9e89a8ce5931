"""What the page of an audit shows, section by section, before a template writes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from embaudit._version import __version__
from embaudit.auditing.alone import said_of
from embaudit.auditing.finding import Severity
from embaudit.auditing.glossary import WORDS
from embaudit.foundation.words import copied, percent
from embaudit.model import Pairs
from embaudit.report.charts import certified_chart, movement_chart, width_chart
from embaudit.report.convention_grid import convention_grid
from embaudit.report.first_screen import PROVEN, SEEN, key, movement_grid
from embaudit.report.summary import (
    attack_sentences,
    audit_content,
    bias_grids,
    families,
    head_grids,
    head_sentences,
    limit_grids,
    movement_grids,
    shown_neighbours,
    shown_side,
    unattacked_sentences,
    without_direction,
)
from embaudit.report.view import Charted, Lists, lists_of, read_parts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from embaudit.auditing import Audit
    from embaudit.auditing.claims import Claim
    from embaudit.auditing.finding import Finding
    from embaudit.model import Role
    from embaudit.movements.levels import Levels
    from embaudit.movements.neighbourhoods import Neighbourhood
    from embaudit.report.grid import Grid


@dataclass(frozen=True)
class Glance:
    """The table of the first screen, its columns under what was done."""

    grid: Grid
    groups: tuple[tuple[str, int], ...]
    """What stands above the columns behind the first, and how many."""


@dataclass(frozen=True)
class AuditView:
    """Everything on the page of an audit, in order."""

    audit: Audit
    words: tuple[tuple[str, str], ...]
    """What the words of the page mean, in short."""
    findings: tuple[Finding, ...]
    glance: Glance | None
    key: str
    """What its words mean."""
    movement: tuple[Charted, ...]
    position: str
    limits: tuple[Charted, ...]
    reached: tuple[str, ...]
    neighbours: tuple[Lists, ...]
    beside_bias: tuple[Grid, ...]
    lists_end: tuple[str, ...]
    """Rows asked for that have no direction."""
    conventions: tuple[Grid, ...]
    said_of_head: tuple[str, ...]
    parts: tuple[tuple[str, str], ...]
    """What was read, and what it became."""
    claims: tuple[Claim, ...]
    facts: tuple[tuple[str, str], ...]
    glossary: tuple[tuple[str, str, str], ...]
    """Words, what they mean, and an example."""

    @property
    def severity(self) -> str:
        """Of the gravest finding."""
        return self.audit.worst.title if self.audit.worst is not None else ""

    @property
    def n_issues(self) -> int:
        """How many findings are issues."""
        return sum(finding.severity is Severity.ISSUE for finding in self.findings)


def audit_view(audit: Audit) -> AuditView:
    """Collect what the page of an audit shows.

    Examples
    --------
    >>> from embaudit.auditing import audit
    >>> from embaudit.model import FactorModel
    >>> view = audit_view(audit(FactorModel.from_user_item([[1.0], [2.0]], [[1.0], [-3.0], [2.0]])))
    >>> view.severity, [chart.title for chart in view.movement]
    ('', ['item-item cosines', 'user-user cosines', 'user-item cosines'])
    """
    evidence, model = audit.evidence, audit.model
    shown_in, examples = shown_neighbours(audit)
    usual = next((one.levels for one in evidence.traits if one.role == shown_side(audit)), None)
    heads = () if audit.head is None else tuple(head_grids(audit.head))
    norm = () if evidence.norm is None else (convention_grid(evidence.norm),)
    return AuditView(
        audit=audit,
        words=tuple(_short(audit)),
        findings=audit.findings,
        glance=_glance(audit),
        key=key(audit, movement_grid(evidence)),
        movement=tuple(_movement(audit)),
        position="" if evidence.position is None else evidence.position.explain(),
        limits=tuple(_limits(audit)),
        reached=(*attack_sentences(evidence.limits, evidence.model), *unattacked_sentences(audit)),
        neighbours=tuple(_lists(example, shown_in, usual) for example in examples),
        beside_bias=bias_grids(audit),
        lists_end=tuple(without_direction(audit)),
        conventions=(*norm, *heads),
        said_of_head=() if audit.head is None else tuple(head_sentences(audit.head)),
        parts=() if audit.intake is None else tuple(read_parts(audit.intake)),
        claims=audit.claims,
        facts=tuple(_facts(audit)),
        glossary=tuple((w.name, said_of(model, w.meaning), said_of(model, w.example)) for w in WORDS.values()),
    )


def _short(audit: Audit) -> Iterator[tuple[str, str]]:
    for line in audit_content(audit).definitions:
        word, _, meaning = line.partition(": ")
        yield word, meaning


def _glance(audit: Audit) -> Glance | None:
    """Take the table of the first screen, where models that should predict the same do."""
    if not audit.predictions_hold:
        return None
    grid = movement_grid(audit.evidence)
    proven = sum(name.startswith("range") or name.endswith("stay") for name in grid.headings)
    groups = ((SEEN, len(grid.headings) - 1 - proven), (PROVEN, proven))
    return Glance(grid, tuple((title, width) for title, width in groups if width))


def _movement(audit: Audit) -> Iterator[Charted]:
    for index, grid in enumerate(movement_grids(audit)):
        title = Pairs(audit.evidence.movement[0][index].role).titled(audit.evidence.model)
        moved = {name: [record for _, record, _ in some] for name, some in families(audit, index).items()}
        chart = movement_chart(title, moved)
        yield Charted(grid.title, grid, () if chart is None else (chart,))


def _limits(audit: Audit) -> Iterator[Charted]:
    limits, model = audit.evidence.limits, audit.evidence.model
    roles: list[Role] = list(dict.fromkeys(summary.role for summary in limits.ranges))
    for role, grid in zip(roles, limit_grids(audit), strict=True):
        title = f"{Pairs(role).titled(model)} cosines"
        certificates = [one for one in limits.certificates if one.role == role]
        attacks = [one for one in limits.attacks if one.role == role]
        drawn = (
            width_chart(title, (one for one in limits.ranges if one.role == role)),
            certified_chart(f"{Pairs(role).titled(model)} lists", certificates, attacks),
        )
        yield Charted(title, grid, tuple(chart for chart in drawn if chart is not None))


def _lists(example: Neighbourhood, shown_in: str, usual: Levels | None) -> Lists:
    cosines = [cosine for _, cosine in example.before]
    below = [np.nan] * len(cosines) if usual is None else usual.below(cosines).tolist()
    headings = "in the model at hand (cosine; higher than … of pairs)", f"in an equivalent model: {shown_in}"
    note = f"{copied(example.left_out)} left out" if example.left_out else ""
    return lists_of(example, headings, note=note, levels=[percent(share) for share in below])


def _facts(audit: Audit) -> Iterator[tuple[str, str]]:
    evidence = audit.evidence
    yield "model", str(audit.model).removeprefix("FactorModel")[1:-1]
    yield "input", audit.source or "in memory"
    yield "fingerprint", audit.fingerprint
    yield "equal models visited", f"{evidence.n_visited:,}"
    yield "budget", f"κ ≤ {evidence.max_condition:g}"
    yield "seed", str(evidence.seed)
    yield "embaudit", __version__
