"""EMB203: rows reach into dimensions that no prediction sees."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from embaudit.auditing.diagnosis import given_side, is_unseen_noticed
from embaudit.auditing.effect import MOVES, changes_lists
from embaudit.auditing.entry import Entry
from embaudit.auditing.finding import THIS_MODEL, Finding, Kind, Severity
from embaudit.auditing.samples import lists_of, pairs_of
from embaudit.canonical.row_span import reached_space
from embaudit.core.ties import reaches
from embaudit.core.words import counted, drawn_of, percent
from embaudit.model import OPPOSITE, SideName
from embaudit.movements import Movement

if TYPE_CHECKING:
    from embaudit.auditing.evidence import Evidence

ENTRY = Entry(
    "EMB203",
    title="rows reach into dimensions that no prediction sees",
    severities=(Severity.TIP, Severity.ISSUE),
    measured=(
        "The rank of each side is read from its singular values (for labels and ranked "
        "{items}, after their mean row is subtracted). The audit removes the part of "
        "each row that lies outside the span of the other side, and compares cosines "
        "and neighbour lists before and after."
    ),
    reported=(
        "If the mean change of the cosines is at least 0.005, or the largest change at "
        "least 0.05. An issue if the mean change is at least 0.05, or if at least 5 % "
        "of the neighbours and more than five lists differ; otherwise a tip."
    ),
    meaning=(
        "No row of the other side has a component in some dimensions, so the numbers "
        "of a row in these dimensions change no {prediction}. A softmax or a ranking "
        "does not depend on a constant that is added to all scores of a row. So it "
        "also ignores dimensions in which all rows of the other side are equal."
    ),
    why="Cosines count these numbers in full, although they are arbitrary.",
    remedy="Project these dimensions out (`embaudit fix`), or compare {predictions}.",
    reference=(
        "Steck, Ekanadham, Kallus: Is Cosine-Similarity of Embeddings Really About "
        "Similarity? (WWW Companion 2024)."
    ),
)


def check(evidence: Evidence) -> Iterator[Finding]:
    """Report components outside the other side's span by their effect on cosines."""
    for movement in evidence.unseen:
        side = evidence.model.side_name(movement.role)
        # Inputs are data: training did not choose their components.
        if side == given_side(evidence.model):
            continue
        if is_unseen_noticed(movement):
            yield _reported(evidence, movement, side)


def _reported(evidence: Evidence, movement: Movement, side: SideName) -> Finding:
    """Report what becomes of the cosines of a side without such components."""
    model = evidence.model
    item = model.title(movement.role)
    changed = 1 - movement.top_n_overlap
    lists_change = changes_lists(movement)
    kept_lists = (
        f"{percent(movement.top_n_overlap)} of the {movement.top_n} nearest {item}s "
        "stay"
    )
    if lists_change:
        effect, value = kept_lists, changed
        measured_on = lists_of(model, movement)
    else:
        effect = f"cosines differ by {movement.mean_abs:.2f} on average"
        value = movement.mean_abs
        measured_on = pairs_of(model, movement)
    is_issue = lists_change or reaches(movement.mean_abs, MOVES)
    # The number of dimensions that predictions see. Rows hold nothing in columns of
    # zeros, which `model` leaves out but `evidence.width` counts.
    n_seen = reached_space(model, side).shape[1]
    width = model.rank if evidence.width is None else evidence.width
    among = ""
    if not movement.exact:
        among = f" among {drawn_of(movement.n_pairs, movement.n_all_pairs, 'pair')}"
    lists = ""
    if movement.top_n:
        lists = f" Then {kept_lists}."
    outside = percent(evidence.equivalence.outside.get(side, 0.0))
    unseen = counted(model.rank - n_seen, "dimension")
    return Finding(
        code=ENTRY.name,
        severity=Severity.ISSUE if is_issue else Severity.TIP,
        kind=Kind.PROVEN,
        scope=THIS_MODEL,
        rows=f"{item}-{item} cosines",
        role=movement.role,
        value=value,
        measured_on=measured_on,
        title=(
            f"{item} rows use {unseen} that no prediction sees: without this part "
            f"{effect}"
        ),
        text=(
            f"Predictions see {item} rows in only {n_seen} of "
            f"{counted(width, 'dimension')}: {_reason(evidence, side, width)}. The "
            f"numbers of {item}s in the other dimensions are arbitrary, but cosines "
            f"count them in full: up to {outside} of a row's squared length. Without "
            f"them {item} cosines differ by {movement.mean_abs:.2g} on average and by "
            f"{movement.max_abs:.2g} at most{among}.{lists}"
        ),
        remedy=(
            "Project these dimensions out (`embaudit fix`), or compare predictions."
        ),
    )


def _reason(evidence: Evidence, side: SideName, width: int) -> str:
    """Write why predictions do not see all dimensions of a side."""
    other = OPPOSITE[side]
    n_others = len(evidence.model.side(other))
    if n_others < evidence.model.rank:
        others = counted(n_others, evidence.model.title(other))
        return f"{others} cannot span {counted(width, 'dimension')}"
    return "the other side makes no difference in the other dimensions"
