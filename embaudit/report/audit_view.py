"""What the page of an audit shows, section by section, before a template writes it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from embaudit._version import __version__
from embaudit.auditing.alone import in_titles, said_of
from embaudit.auditing.equivalents import WORST
from embaudit.auditing.finding import Severity
from embaudit.auditing.findings.heads import origin_matters
from embaudit.auditing.findings.identification import cases
from embaudit.auditing.findings.predicted import ALIKE
from embaudit.auditing.limits import LENGTH, SHIFT, holds_shifts
from embaudit.auditing.texts import CODES, WORDS
from embaudit.canonical.equivalents import CANONICAL, PREDICTS
from embaudit.foundation.words import copied, in_typical_rows, percent
from embaudit.model import Pairs
from embaudit.report.certified_curve_display import CertifiedCurveDisplay
from embaudit.report.convention_grid import convention_grid
from embaudit.report.definitions import definitions
from embaudit.report.document import Charted, Lists, lists_of, read_parts
from embaudit.report.first_screen import RANGE, SEEN, is_proven, key, movement_grid, named, proven_title, sources
from embaudit.report.heatmaps import heatmap_of_page
from embaudit.report.movement_display import MovementDisplay
from embaudit.report.next_steps import Asked, by_logits, next_steps
from embaudit.report.prediction_display import PredictionDisplay
from embaudit.report.summary import (
    MOVED,
    attack_sentences,
    bias_grids,
    families,
    grids,
    head_grids,
    head_sentences,
    limit_grids,
    movement_grids,
    sentences,
    shown_neighbours,
    shown_side,
    without_direction,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from embaudit.auditing import Audit
    from embaudit.auditing.finding import Finding
    from embaudit.model import Role
    from embaudit.movements.levels import Levels
    from embaudit.movements.neighbourhoods import Neighbourhood
    from embaudit.report.grid import Grid
    from embaudit.report.heatmap_display import HeatmapDisplay

PAIRS = 20_000
"""Pairs that are drawn; all where there are no more."""


@dataclass(frozen=True)
class Glance:
    """The table of the first screen, its columns under what was done."""

    grid: Grid
    groups: tuple[tuple[str, int], ...]
    """What stands above the columns behind the first, and how many."""


@dataclass(frozen=True)
class CodeEntry:
    """What `embaudit explain` says of a code, in the words of a model."""

    name: str
    heading: str
    sections: tuple[tuple[str, str], ...]
    """Each with its own heading."""


@dataclass(frozen=True)
class AuditView:
    """Everything on the page of an audit, in order."""

    audit: Audit
    advice: str
    """What to do; empty where nothing can be trusted."""
    steps: tuple[tuple[str, str], ...]
    """Commands to type next, and what for."""
    said: tuple[str, ...]
    """What the advice rests on."""
    training: tuple[tuple[list[str], str], ...]
    """Kinds of training, and what each leaves of the cosines, where none is known."""
    on_movement: tuple[str, ...]
    """How to read tables of movement."""
    on_limits: tuple[str, ...]
    """How to read those of what could move."""
    picked: str
    """Whose neighbours are shown."""
    words: tuple[tuple[str, str], ...]
    """What the words of the page mean, in short."""
    findings: tuple[Finding, ...]
    codes: tuple[CodeEntry, ...]
    """What the codes of the findings mean, each once."""
    glance: Glance | None
    key: tuple[str, ...]
    """What its words mean, a sentence each."""
    movement: tuple[Charted, ...]
    beside_predictions: PredictionDisplay | None
    """Cosines of a sample of pairs against those of their predictions."""
    heat: HeatmapDisplay | None
    """Cosines of all pairs of a few rows, at hand and predicted side by side."""
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
    facts: tuple[tuple[str, str], ...]
    glossary: tuple[tuple[str, str, str], ...]
    """Words, what they mean, and an example."""

    @property
    def severity(self) -> str:
        """Of the gravest finding."""
        return self.audit.worst.title if self.audit.worst is not None else ""


def audit_view(audit: Audit, asked: Asked | None = None) -> AuditView:
    """Collect what the page of an audit shows; commands repeat how the model was read, as far as that is known.

    Examples
    --------
    >>> from embaudit.auditing import audit
    >>> from embaudit.model import FactorModel
    >>> view = audit_view(audit(FactorModel.from_user_item([[1.0], [2.0]], [[1.0], [-3.0], [2.0]])))
    >>> view.severity, [chart.title for chart in view.movement]
    ('', ['item-item cosines', 'user-user cosines', 'user-item cosines'])
    """
    evidence, model, explained = audit.evidence, audit.model, tuple(_key(audit))
    shown_in, examples = shown_neighbours(audit)
    usual = next((one.levels for one in evidence.traits if one.role == shown_side(audit)), None)
    heads = () if audit.head is None else tuple(head_grids(audit.head))
    norm = () if evidence.norm is None else (convention_grid(evidence.norm),)
    return AuditView(
        audit=audit,
        advice=advice_of(audit),
        steps=tuple(_steps(audit, asked)),
        said=tuple(_said(audit)),
        training=tuple(cases(model)) if _is_open(audit) else (),
        on_movement=tuple(_on_movement(audit)),
        on_limits=tuple(_on_limits(audit)),
        picked=" ".join(filter(None, (_picked(audit), _length(audit, examples), _unnamed(audit)))),
        words=tuple(_short(audit, explained)),
        findings=audit.findings,
        codes=tuple(_codes(audit)),
        glance=_glance(audit),
        key=explained,
        movement=tuple(_movement(audit)),
        beside_predictions=_beside_predictions(audit),
        heat=heatmap_of_page(audit),
        position="" if evidence.position is None else evidence.position.explain(),
        limits=tuple(_limits(audit)),
        reached=tuple(attack_sentences(audit)),
        neighbours=tuple(_lists(model.title(shown_side(audit)), example, shown_in, usual) for example in examples),
        beside_bias=bias_grids(audit),
        lists_end=tuple(without_direction(audit)),
        conventions=(*norm, *heads),
        said_of_head=() if audit.head is None else tuple(head_sentences(audit.head)),
        parts=() if audit.intake is None else tuple(read_parts(audit.intake)),
        facts=tuple(_facts(audit)),
        glossary=tuple((w.name, in_titles(model, w.meaning), in_titles(model, w.example)) for w in WORDS.values()),
    )


def _key(audit: Audit) -> Iterator[str]:
    """Explain the words of the table as the first screen does, and what there is no room for on it."""
    grid, model = movement_grid(audit.evidence), audit.evidence.model
    yield from key(audit, grid)
    if RANGE in grid.headings:
        yield "A range holds all that one cosine can be; its width is that of the median pair."
    met = [one for one in audit.evidence.equivalents if named(audit.evidence, one) in sources(audit.evidence)]
    for one, side in product(met, model.sides):
        if one.kind == CANONICAL and one.exponent == PREDICTS[side]:
            yield f"{one.title[0].upper()}{one.title[1:]}: {model.title(side)} cosines are prediction cosines."
    if any("–" in row for row in grid.rows):
        yield "–: not measured."


def advice_of(audit: Audit) -> str:
    """Return what to do; nothing where the check failed."""
    return audit.answer.advice


def _steps(audit: Audit, asked: Asked | None) -> Iterator[tuple[str, str]]:
    """Yield the commands that do what is advised; the page itself holds what the last one prints."""
    asked = Asked(audit.source) if asked is None and audit.source else asked
    if asked is not None:
        yield from (*by_logits(audit, asked), *list(next_steps(audit, asked))[:-1])


def _is_open(audit: Audit) -> bool:
    return audit.model.objective is None and any(one.code == "EMB102" for one in audit.findings)


def _said(audit: Audit) -> Iterator[str]:
    """Yield the notes of the verdict, and of the other side what is good; findings have cards of their own."""
    yield from (one.text for one in audit.reasons if one.severity is Severity.NOTE)
    for one in audit.conclusions:
        near = one.code in ("cosines_agree", "cosines_near") and (one.value or 0.0) < ALIKE
        if near and one.role != audit.evidence.role:
            yield one.text


def _on_movement(audit: Audit) -> Iterator[str]:
    """Tell what bounds κ, and over what models that were searched for are measured."""
    equivalents, budget = audit.evidence.equivalents, audit.evidence.max_condition
    yield (
        "κ is the largest over the smallest stretch of an axis. Named models stretch as far as they must; random ones "
        f"and searches keep to the budget, κ = {budget:g} (--max-condition)."
    )
    if any(one.kind == WORST for one in equivalents):
        yield (
            "Models that were searched for are measured here over the pairs and lists of all others. On the few that "
            "they were searched for they do more: the next section tells of those."
        )


def _on_limits(audit: Audit) -> Iterator[str]:
    """Tell how to read the ranges and the curve."""
    limits = audit.evidence.limits
    if limits.ranges:
        yield (
            "A range holds all values that a cosine takes while axes stretch up to κ, and its width says how free the "
            "cosine is. Rescaling stretches each stored column on its own; linear gauges stretch along any direction."
        )
    if any(one.tied_share for one in limits.certificates):
        yield (
            "Entries that tie with the first row left out are never certain, so curves start below 1. Copies stay near "
            "each other whatever is stretched, so figures with and without them differ both ways."
        )
    if limits.certificates and limits.attacks:
        yield "Whether more stays than is proven, and less than the worst gauge found leaves, is not known."
    if any(one.max_shift for one in limits.ranges):
        yield (
            f"“With a shift” allows for one of up to {in_typical_rows(LENGTH)} besides; lists are certified against "
            f"shifts of up to {in_typical_rows(SHIFT)}. What holds for stretches alone bounds no model that may be "
            "shifted."
        )


def _picked(audit: Audit) -> str:
    """Tell how the rows were chosen whose neighbours are shown."""
    head, title = audit.head, audit.model.title(shown_side(audit))
    if audit.evidence.chosen:
        return f"Of the {title}s that were asked for."
    if head is not None and origin_matters(head):
        return f"Of the {title}s whose neighbours change most, so these are no sample; figures over all stand above."
    few = f"Of a few {title}s drawn at random from the twentieth with the longest vectors"
    return f"{few}, which have much behind them as a rule."


def _length(audit: Audit, examples: tuple[Neighbourhood, ...]) -> str:
    """Tell how long the lists are that figures count, where those shown are shorter."""
    side, shown = shown_side(audit), max((len(one.before) for one in examples), default=0)
    counted = max((record.top_n or 0 for _, record in audit.evidence.visits(side)), default=0)
    return f"Each list shows the first {shown} of the {counted} nearest that figures count." if counted > shown else ""


def _unnamed(audit: Audit) -> str:
    """Tell how to name rows that go by their number."""
    side = audit.model.side(shown_side(audit))
    bare = side.names is None and side.ids is None and shown_side(audit) == "right"
    return f"These {side.title}s go by their number: `--labels FILE` names them, a name a line." if bare else ""


SHORT = ("gauge", "κ", "budget", "role", "exponent", "certified", "equal model", "label", "copy", "shift", "whitened",
         "prediction cosine", "logit cosine", "range")  # fmt: skip
"""Words that the page explains at its top, in an order in which each leans on those before it."""


def _short(audit: Audit, explained: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Explain the words of the top of the page, of its findings and of its tables."""
    met = [audit.verdict, str(audit.answer), *explained, "budget"]
    met += [f"{one.title} {one.text} {one.remedy}" for one in audit.findings]
    met += [*sentences(audit), *(" ".join((grid.caption, *grid.headings)) for grid in grids(audit))]
    for line in definitions(audit.model, met, SHORT):
        word, _, meaning = line.partition(": ")
        yield word, meaning


def _codes(audit: Audit) -> Iterator[CodeEntry]:
    for name in dict.fromkeys(finding.code for finding in audit.findings):
        code = CODES[name]
        told = tuple((heading, in_titles(audit.model, text)) for heading, text in code.sections)
        yield CodeEntry(name, in_titles(audit.model, code.heading), told)


def _glance(audit: Audit) -> Glance | None:
    """Take the table of the first screen, where models that should predict the same do."""
    if not audit.predictions_hold:
        return None
    grid = movement_grid(audit.evidence)
    proven = sum(map(is_proven, grid.headings))
    groups = ((SEEN, len(grid.headings) - 1 - proven), (proven_title(audit.evidence), proven))
    return Glance(grid, tuple((title, width) for title, width in groups if width))


def _movement(audit: Audit) -> Iterator[Charted]:
    for index, grid in enumerate(movement_grids(audit)):
        title = Pairs(audit.evidence.movement[0][index].role).titled(audit.evidence.model)
        moved = {name: [record for _, record, _ in some] for name, some in families(audit, index).items()}
        shown = grid.without(said_of(audit.evidence.model, MOVED))
        drawn = MovementDisplay.of_families(moved, title)
        yield Charted(grid.title, shown, (drawn,) if len(drawn.means) else ())


def _beside_predictions(audit: Audit) -> PredictionDisplay | None:
    """Take pairs by both cosines, where something is predicted and equal models predict the same."""
    if audit.evidence.predicted is None or not audit.predictions_hold:
        return None
    drawn = PredictionDisplay.of_audit(audit, n_pairs=PAIRS)
    return drawn if len(drawn.pairs) else None


def _limits(audit: Audit) -> Iterator[Charted]:
    limits, model = audit.evidence.limits, audit.evidence.model
    roles: list[Role] = list(dict.fromkeys(summary.role for summary in limits.ranges))
    curves = {one.role for one in limits.certificates if holds_shifts(model, one.role, one.group)}
    for role, grid in zip(roles, limit_grids(audit), strict=True):
        drawn = (CertifiedCurveDisplay.of_audit(audit, role=role),) if role in curves else ()
        yield Charted(f"{Pairs(role).titled(model)} cosines", grid, drawn)


def _lists(title: str, example: Neighbourhood, shown_in: str, usual: Levels | None) -> Lists:
    cosines = [cosine for _, cosine in example.before]
    below = [np.nan] * len(cosines) if usual is None else usual.below(cosines).tolist()
    headings = "in your model: cosine, and the share of all pairs below it", f"in an equal model: {shown_in}"
    note = f"{copied(example.left_out)} left out" if example.left_out else ""
    return lists_of(example, headings, title=title, note=note, levels=[percent(share) for share in below])


def _facts(audit: Audit) -> Iterator[tuple[str, str]]:
    evidence = audit.evidence
    yield "model", str(audit.model).removeprefix("FactorModel")[1:-1]
    yield "input", audit.source or "in memory"
    yield "fingerprint", audit.fingerprint
    yield "equal models visited", f"{evidence.n_visited:,}"
    yield from [("quick audit", str(audit.effort))] if audit.quick else ()
    yield "budget", f"κ ≤ {evidence.max_condition:g}"
    yield "seed", str(evidence.seed)
    yield "embaudit", __version__
