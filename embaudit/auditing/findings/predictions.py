"""Findings on predictions: that they stay, cosines at hand beside prediction cosines, and what no prediction sees."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from embaudit.auditing.finding import Finding, Severity
from embaudit.auditing.findings.effect import MOVES, is_effect
from embaudit.auditing.findings.movement import SEEN
from embaudit.auditing.findings.writing import finding, template
from embaudit.auditing.wording import is_alone, is_head
from embaudit.canonical import HiddenBias, hidden_biases
from embaudit.canonical.row_span import reached_space
from embaudit.core.ties import first_best, reaches
from embaudit.core.words import counted, drawn_of, listed, percent
from embaudit.model import OPPOSITE, FactorModel, SideName
from embaudit.model.objectives import Status
from embaudit.model.trainings import known_objective
from embaudit.movements import Movement

if TYPE_CHECKING:
    from embaudit.auditing.evidence import Evidence

SAME = 0.5
"""Least correlation of scores with a baseline's: another seed gives .9 and more, shuffled rows or another side 0."""
MIN_MOVED, MOVED = 4, 0.03
"""Least number, and share, of a side's sampled rows with other scores that are reported: of 100 rows another seed moves
one; where a tenth of the rows is shuffled, 97 of 100 samples hold at least 4 of them."""
COLUMNS_NAMED = 3
"""Number of constant columns that a sentence names."""
ALIKE = 0.005
"""Mean |Δcos| below which two decimals would say that there is none."""


def predictions_stay(evidence: Evidence) -> Iterator[Finding]:
    """Report the largest change of a prediction in a model that should predict the same."""
    head = evidence.head
    changes = [record.max_abs for record in evidence.drift]
    changes += [] if head is None else [other.change for other in head.verifiable]
    if not changes:
        return
    made = counted(evidence.n_visited, "equivalent model")
    alone = evidence.model.left is None and evidence.model.compared is None
    yield finding(
        "predictions",
        evidence,
        value=max(changes),
        made=made,
        label=template("predictions", "label", *["alone"] * is_alone(evidence.model)),
        where=template("predictions", "where", *["alone"] * alone),
    )


def predictions_moved(evidence: Evidence) -> Iterator[Finding]:
    """Report predictions that are not those of the baseline (EMB002)."""
    change = evidence.score_change
    if change is None:
        return
    if not reaches(change.correlation, SAME):
        rows = f"scores of {change.n_rows} and {change.n_columns} sampled rows"
        what = rows.capitalize()
        yield finding(
            "EMB002", evidence, rows=rows, value=change.correlation, what=what
        )
        return
    counts = {
        "left": (change.moved_rows, change.n_rows),
        "right": (change.moved_columns, change.n_columns),
    }
    # Rows that are compared with each other are those of one side. Each side is judged by itself: of few rows, too few
    # to be reported may be the larger share.
    sides = [
        (*counts[side], evidence.model.side(side)) for side in evidence.model.sides
    ]
    moved = [
        (n / n_rows, n, n_rows, side)
        for n, n_rows, side in sides
        if n >= MIN_MOVED and n > MOVED * n_rows
    ]
    if moved:
        share, n, n_rows, side = max(moved, key=lambda each: each[:3])
        rows = f"scores of {n_rows} sampled {side.title}s"
        what = f"Of {n_rows} sampled {side.title}s {n}"
        zeros = len(side) - len(side.directed)
        common: dict[str, Any] = {
            "rows": rows,
            "value": share,
            "what": what,
            "zeros": counted(zeros, side.title),
        }
        yield finding("EMB002", evidence, *["zeros"] * bool(zeros), "rows", **common)


def check_failed(evidence: Evidence) -> Iterator[Finding]:
    """Name the first equivalent model whose predictions are others; of a head, the one furthest off (EMB001)."""
    head = evidence.head
    if head is not None and not head.verified:
        worst = first_best(
            head.verifiable, lambda other: other.change / other.tolerance
        )
        changed = f"a probability changed by {worst.change:.2g} of itself"
        yield _failed(evidence, worst.name, changed, worst.change, worst.tolerance)
        return
    failed = [
        (model.name, record)
        for model, record in zip(evidence.equivalents, evidence.drift, strict=True)
        if not record.ok
    ]
    if evidence.norm is not None and not evidence.norm.verified:
        furthest = first_best(
            evidence.norm.drift, lambda change: change.max_abs / change.tolerance
        )
        failed.append(("another form of the final norm", furthest))
    for name, record in failed[:1]:
        changed = f"the {record.level.title} changed by {record.max_abs:.2g}"
        yield _failed(evidence, name, changed, record.max_abs, record.tolerance)


def _failed(
    evidence: Evidence, name: str, changed: str, value: float, tolerance: float
) -> Finding:
    """Report predictions that an equivalent model changes by more than rounding."""
    return finding(
        "EMB001", evidence, value=value, made=name, changed=changed, tolerance=tolerance
    )


def one_side(evidence: Evidence) -> Iterator[Finding]:
    """Report that the model has one side and nothing to predict with."""
    model = evidence.model
    if model.left is None and model.compared is None:
        yield finding("one_side", evidence)


def given_inputs(evidence: Evidence) -> Iterator[Finding]:
    """Report that the left rows are data, which training did not learn."""
    if given_side(evidence.model) in evidence.model.sides:
        yield finding("data", evidence, role="left")


def given_side(model: FactorModel) -> SideName | None:
    """Return the side that training is known not to have learned, or None."""
    objective = known_objective(model.objective)
    is_given = objective is not None and objective.status is Status.INPUTS
    return "left" if is_given else None


def compared(evidence: Evidence) -> Iterator[Finding]:
    """Report that predictions compare the rows of one table with each other, and what a high cosine is there."""
    model = evidence.model
    if model.compared is None:
        return
    levels = next(
        (traits.levels for traits in evidence.traits if traits.levels is not None), None
    )
    scale = ""
    if levels is not None and levels.scale:
        scale = template("compared", "scale").format(scale=levels.scale)
    yield finding("together", evidence, scope=evidence.equivalence.scope)
    if model.link.measures_distances:
        yield finding("distances", evidence, scope=evidence.equivalence.scope)
        return
    code = "compared" if model.compared == "cosine" else "products"
    yield finding(code, evidence, scope=evidence.equivalence.scope, scale=scale)


def predicted(evidence: Evidence) -> Iterator[Finding]:
    """Compare the cosines and lists of each side with those of what is predicted."""
    for record in () if evidence.predicted is None else evidence.predicted.movement:
        near = "cosines_differ" if reaches(record.mean_abs, MOVES) else "cosines_near"
        code = "cosines_agree" if record.max_abs <= SEEN else near
        value = record.max_abs if code == "cosines_agree" else record.mean_abs
        yield finding(code, evidence, role=record.role, value=value)
        if code != "cosines_agree" and record.top_n:
            yield _lists(evidence, record)


def _lists(evidence: Evidence, record: Movement) -> Finding:
    """Report the share of neighbour lists that one equivalent model changes."""
    changed = 1 - record.top_n_overlap
    return finding(
        "lists_differ" if is_effect(changed, record.n_lists) else "lists_near",
        evidence,
        role=record.role,
        value=changed,
        share=percent(changed),
        top_n=record.top_n,
        n_rows=counted(record.n_lists, evidence.model.title(record.role)),
    )


def unseen_directions(evidence: Evidence) -> Iterator[Finding]:
    """Report components in directions that the other side does not have, by what they do to cosines (EMB203)."""
    model, equivalence = evidence.model, evidence.equivalence
    for record in evidence.unseen:
        if not (reaches(record.mean_abs, ALIKE) or reaches(record.max_abs, MOVES)):
            continue
        side = model.side_name(record.role)
        if side == given_side(model):
            # Inputs are data: training did not choose their unseen directions.
            continue
        other = OPPOSITE[side]
        seen = reached_space(model, side).shape[1]
        width = model.rank if evidence.width is None else evidence.width
        few = len(model.side(other)) < model.rank
        changed = 1 - record.top_n_overlap
        lists = bool(record.top_n) and is_effect(changed, record.n_lists)
        names: dict[str, Any] = {"share": percent(changed), "top_n": record.top_n}
        names |= {"items": f"{model.title(record.role)}s", "mean": record.mean_abs}
        effect = template("EMB203", "lists" if lists else "cosines").format_map(names)
        other_rows = counted(len(model.side(other)), model.title(other))
        yield finding(
            "EMB203",
            evidence,
            role=record.role,
            value=changed if lists else record.mean_abs,
            severity=Severity.ISSUE if lists or reaches(record.mean_abs, MOVES) else Severity.TIP,
            **names | {
                "effect": effect,
                # Rows hold nothing in columns of zeros, which `model` leaves out.
                "unseen": counted(model.rank - seen, "dimension"),
                "seen": seen,
                "width": counted(width, "dimension"),
                "why": template("EMB203", "why_few" if few else "why_blind").format(
                    others=other_rows, width=counted(width, "dimension")
                ),
                "outside": percent(equivalence.outside.get(side, 0.0)),
                "most": record.max_abs,
                "among": "" if record.exact else f" among {drawn_of(record.n_pairs, record.n_all_pairs, 'pair')}",
                "near": template("EMB203", "near").format_map(names) if record.top_n else "",
            },
        )  # fmt: skip


def bias(evidence: Evidence) -> Iterator[Finding]:
    """Report a bias that differs between items (EMB202)."""
    model, popularity = evidence.model, evidence.model.right_bias
    if popularity is None or not np.ptp(popularity) > 0 or not model.link.sees_biases:
        return
    items = model.title("right")
    measured = next(
        (traits.bias_columns for traits in evidence.traits if traits.role == "right"),
        None,
    )
    columns = "" if measured is None else template("EMB202", "columns").format(
        added="the bias as a column" if measured.columns == 1 else "the bias and a constant as columns",
        them="it" if measured.columns == 1 else "them",
        items=f"{items}s",
        kept=measured.kept * measured.n_neighbours,
        top_n=measured.n_neighbours,
        n_rows=counted(measured.n_rows, items),
    )  # fmt: skip
    head = ["head"] * is_head(model)
    spread = float(np.ptp(popularity))
    yield finding(
        "EMB202", evidence, *head, role="right", value=spread, columns=columns
    )


def hidden_bias(evidence: Evidence) -> Iterator[Finding]:
    """Report directions that one side has alike in every row: the other side holds a bias there (EMB204)."""
    model = evidence.model
    # Vectors alone have no other side (EMB407).
    if model.left is None:
        return
    for side in model.sides:
        other = OPPOSITE[side]
        factors = model.factors(other)
        # Where the other side is 0 in a column, the constant multiplies nothing and holds no bias.
        found = [
            bias
            for bias in hidden_biases(side, model.moments(side))
            if bias.column is None or factors[:, bias.column].any()
        ]
        if not found:
            continue
        variants = ["given"] if model.side(other).bias is not None else []
        if len(found) == 1:
            value = found[0].value
        else:
            # Together the constants are one direction, of the length of their vector.
            value = float(np.linalg.norm([bias.value for bias in found]))
            variants = [f"{variant}_several" for variant in variants] + ["several"]
        yield finding(
            "EMB204",
            evidence,
            *variants,
            role=other,
            value=value,
            where=_where("EMB204", found, evidence.columns),
        )


def constant_alone(evidence: Evidence) -> Iterator[Finding]:
    """Report a direction that vectors alone have alike in every row; of two sides EMB204 tells it (EMB407)."""
    model = evidence.model
    if model.left is not None or evidence.head is not None:
        return
    found = list(hidden_biases("right", model.right_side.moments))[:1]
    if found:
        yield finding(
            "EMB407",
            evidence,
            value=found[0].value,
            where=_where("EMB407", found, evidence.columns),
        )


def _where(
    code: str, found: Sequence[HiddenBias], stored: tuple[int, ...] | None
) -> str:
    """Name the constant columns by their stored numbers, or say that columns are mixed."""
    numbers = [bias.column for bias in found if bias.column is not None]
    if not numbers:
        return template(code, "where_mixture")
    if stored is not None:
        numbers = [stored[number] for number in numbers]
    if len(numbers) == 1:
        return template(code, "where_column").format(column=numbers[0])
    named = listed([str(number) for number in numbers], COLUMNS_NAMED)
    return template(code, "where_several").format(count=len(numbers), columns=named)
