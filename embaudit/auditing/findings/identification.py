"""Findings on the identification of cosines by predictions and training: free, pinned, undecided; EMB101 to EMB105."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from embaudit.auditing.finding import Finding, Kind, Severity
from embaudit.auditing.findings.heads import undeclared_mean
from embaudit.auditing.findings.writing import (
    CHANGED,
    MOVES,
    finding,
    is_effect,
    template,
)
from embaudit.auditing.wording import is_alone, worded_for
from embaudit.canonical.quadratic_forms import LARGEST_SHOWN
from embaudit.core.ties import reaches
from embaudit.core.words import counted, percent
from embaudit.model import Equivalence, FactorModel
from embaudit.model.objectives import (
    OBJECTIVES,
    Objective,
    Status,
    known_objective,
    usual_objectives,
)
from embaudit.softmax import excludes_minimum

if TYPE_CHECKING:
    from embaudit.auditing.equivalence_class import Freedom
    from embaudit.auditing.evidence import Evidence

IN_SHORT = {
    Status.FREE: "free",
    Status.CHOSEN: "pinned by the penalty",
    Status.INPUTS: "tied to the inputs",
    Status.TRAINED: "what was trained",
    Status.TEMPERATURE: "a convention of the temperature",
    Status.UNKNOWN: "undecided",
}
FREEDOM = {True: "free", False: "pinned", None: "undecided"}
"""The note on each kind of pairs, by whether equivalent models move its cosines."""
FAR = 0.25
"""Share of changed neighbours from which a penalty cannot be said to have chosen: trained ALS models stay below it."""


def freedom(evidence: Evidence) -> Iterator[Finding]:
    """Conclude for each kind of pairs whether an equivalent model may have other cosines."""
    equivalence = evidence.equivalence
    for role, argued in equivalence.freedom.items():
        # Freedom that an example shows has a gauge as its witness; a proof needs none.
        pinning = equivalence.pinning if argued.kind is Kind.SHOWN else None
        moved = None if pinning is None else pinning.moved_of(role)
        common: dict[str, Any] = {
            "role": role,
            "scope": equivalence.scope,
            "value": argued.mean_abs,
        }
        if pinning is not None and moved is not None:
            common |= {"value": moved.mean_abs, "witness": pinning.witness}
        yield finding(
            FREEDOM[argued.moves],
            evidence,
            kind=argued.kind,
            **common,
            because=argued.because,
        )
        if moved is not None:
            yield finding("rearranged", evidence, **common, most=moved.max_abs)


def undecided(evidence: Evidence) -> Iterator[Finding]:
    """Report what would decide whether cosines are fixed: how training compared unit rows, or more of them."""
    model, pinning = evidence.model, evidence.equivalence.pinning
    if model.link == "unknown":
        yield finding("unit_sides", evidence)
    if pinning is None or pinning.status != "undecided":
        return
    if pinning.needed > LARGEST_SHOWN:
        needed, largest = f"{pinning.needed:,}", f"{LARGEST_SHOWN:,}"
        yield finding("untried", evidence, needed=needed, largest=largest)
    elif pinning.rows_missing:
        missing = " or ".join(
            f"{n:,} more {model.title(side)}{'s' * (n > 1)}"
            for side, n in pinning.rows_missing.items()
        )
        # Both sides together may have a row for each number, or fix all numbers for models near this one. Neither is a
        # proof, and that all of so many are fixed would contradict the answer.
        alone = ["no_side"] * (pinning.rank == pinning.needed)
        yield finding(
            "rows_missing",
            evidence,
            *alone,
            fixed=f"{'' if pinning.is_counted else 'at most '}{pinning.rank:,}",
            needed=f"{pinning.needed:,}",
            missing=missing,
        )


def cases(model: FactorModel) -> Iterator[tuple[list[str], str]]:
    """Yield the objectives that a model may have been trained with, and what each leaves of its cosines.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> list(cases(FactorModel.from_softmax([[1.0], [2.0]])))[1]
    (['softmax'], 'free')
    """
    groups: dict[Status, list[str]] = {}
    for row in usual_objectives(model.link):
        groups.setdefault(row.status, []).append(row.name)
    yield from ((names, IN_SHORT[status]) for status, names in groups.items())


def objective_of(evidence: Evidence) -> Objective | None:
    """Look up how the model was trained, where it says so."""
    return known_objective(evidence.model.objective, alone=is_alone(evidence.model))


def identification(evidence: Evidence) -> Iterator[Finding]:
    """Ask what is left of the cosines once the objective has had its say (EMB101, EMB102, EMB103, EMB105)."""
    model, role, objective = evidence.model, evidence.role, objective_of(evidence)
    argued = evidence.equivalence.freedom[role]
    status = None if objective is None else objective.status
    if status is Status.PREDICTED:
        yield finding("made", evidence, role=role)
        return
    # What the predictions fix, no training can choose otherwise.
    if argued.moves is False or model.link.measures_distances:
        return
    if status is Status.TEMPERATURE and model.link == "cosine":
        yield from _up_to_a_temperature(evidence, argued)
        return
    pinning = evidence.equivalence.pinning
    largest = max(
        (m.mean_abs for _, m in evidence.visits() if m.role != "cross"), default=None
    )
    common: dict[str, Any] = {
        "role": role,
        "scope": evidence.equivalence.scope,
        "value": largest if pinning is None else pinning.largest,
        "because": argued.because,
        "loss": "" if objective is None else objective.loss,
        "trained": "" if objective is None else worded_for(model, objective.cosines),
    }
    alone = ["alone"] * is_alone(model)
    if argued.moves is None:
        yield finding("EMB105", evidence, kind=argued.kind, **common)
    elif model.predicts is Equivalence.COSINES:
        two = ["two_sides"] * ("left" in model.link.unit_sides)
        yield finding(
            "EMB101", evidence, *two, "untrained", *alone, kind=Kind.SHOWN, **common
        )
    elif objective is None:
        yield _undeclared(evidence, alone, common)
    elif status is Status.UNKNOWN:
        yield from _lawless(evidence, objective, alone, common)
    elif status is Status.FREE:
        yield finding("EMB101", evidence, *alone, kind=Kind.ASSUMED, **common)
    elif objective.name == "logistic" and excludes_minimum(model):
        yield finding("EMB101", evidence, "separated", kind=Kind.ASSUMED, **common)
        inputs = counted(model.n_left, model.title("left"))
        yield finding("no_minimum", evidence, inputs=inputs)
    else:
        yield _chosen(evidence, objective, alone, common)


def _undeclared(
    evidence: Evidence, alone: list[str], common: dict[str, Any]
) -> Finding:
    """List the usual objectives with what each leaves of the cosines (EMB102)."""
    # No training is named: each usual one is listed with what it leaves of the cosines.
    objectives = ", ".join(row.name for row in usual_objectives(evidence.model.link))
    listed = " ".join(
        f"Under {' or '.join(names)} they are {then}."
        for names, then in cases(evidence.model)
    )
    return finding(
        "EMB102", evidence, *alone, **common, cases=listed, objectives=objectives
    )


def _lawless(
    evidence: Evidence, objective: Objective, alone: list[str], common: dict[str, Any]
) -> Iterator[Finding]:
    """Report a training for which no law is known (EMB102)."""
    yield finding(
        "EMB102",
        evidence,
        *(f"lawless_{variant}" for variant in alone),
        "lawless",
        **common,
    )
    if alone and objective.name not in OBJECTIVES:
        yield finding("second_table", evidence, role=evidence.role)


def _chosen(
    evidence: Evidence, objective: Objective, alone: list[str], common: dict[str, Any]
) -> Finding:
    """Conclude that a penalty, or given inputs, chose among the equivalent models."""
    status = objective.status
    # That a penalty chose these very cosines is said only where its law was checked in the rows, and holds.
    contradicted = any(
        conclusion.role == evidence.role
        for conclusion in (*penalty(evidence), *undeclared_mean(evidence))
    )
    state = ["contradicted"] * contradicted or ["unsettled"] * (
        evidence.penalty is None
    )
    variants = [
        *(state if status is Status.CHOSEN else ()),
        str(status).replace(" ", "_"),
        *alone,
    ]
    return finding("EMB103", evidence, *variants, **common)


def _up_to_a_temperature(evidence: Evidence, argued: Freedom) -> Iterator[Finding]:
    """Report that a temperature fixes the order between the sides alone (EMB103)."""
    alone = "alone" if is_alone(evidence.model) else ""
    scope = evidence.equivalence.scope
    yield finding("order", evidence, alone, role=evidence.role, scope=scope)
    yield finding(
        "EMB103",
        evidence,
        f"temperature_{alone}",
        "temperature",
        role=evidence.role,
        scope=scope,
        value=argued.mean_abs,
    )


def distances(evidence: Evidence) -> Iterator[Finding]:
    """Report that training compared rows by their distance, which fixes no cosine (EMB101)."""
    model, role = evidence.model, evidence.role
    if not model.link.measures_distances:
        return
    argued = evidence.equivalence.freedom[role]
    common: dict[str, Any] = {"role": role, "scope": evidence.equivalence.scope}
    if argued.moves is None:
        yield finding(
            "EMB105", evidence, kind=argued.kind, because=argued.because, **common
        )
        return
    largest = max(
        (record.mean_abs for _, record in evidence.visits(role)), default=None
    )
    if model.compared == "hyperbolic":
        variants = ["hyperbolic"]
    elif evidence.traits and all(each.is_unit for each in evidence.traits):
        variants = ["distances_unit"]
    else:
        variants = []
    yield finding(
        "EMB101",
        evidence,
        *variants,
        "distances",
        kind=Kind.PROVEN,
        value=largest,
        **common,
    )


def penalty(evidence: Evidence) -> Iterator[Finding]:
    """Compare factors with those that the declared decay would have chosen, by neighbour lists (EMB104).

    Which rows a penalty chooses is a law of its minimum; whether training came to rest there is seen from the rows.
    """
    model, form = evidence.model, evidence.penalty
    for movement in () if form is None else form.movement:
        changed = 1 - movement.top_n_overlap if movement.top_n else float("nan")
        if not (
            is_effect(changed, movement.n_lists) or reaches(movement.mean_abs, MOVES)
        ):
            continue
        assert form is not None
        law = known_objective(model.objective)
        assert law is not None
        # Early stopping leaves trained models a little off; far off, the penalty did not choose these rows.
        far = reaches(changed, FAR) and is_effect(changed, movement.n_lists)
        yield finding(
            "EMB104",
            evidence,
            *["cosines"] * (not is_effect(changed, movement.n_lists)),
            role=movement.role,
            value=changed if reaches(changed, CHANGED) else movement.mean_abs,
            severity=Severity.ISSUE if far else Severity.TIP,
            law=template("EMB104", f"law_{law.name}"),
            counted=""
            if law.name == "factors-counted"
            else template("EMB104", "counted"),
            stretch=form.stretch,
            share=percent(changed),
            top_n=movement.top_n,
            mean=movement.mean_abs,
        )
