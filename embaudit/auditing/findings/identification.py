"""Findings on whether predictions and training fix the cosines (EMB101 to EMB105)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from embaudit.auditing.finding import Finding, Kind, Severity
from embaudit.auditing.findings import contradicted_decay
from embaudit.auditing.findings.effect import CHANGED, MOVES, is_effect
from embaudit.auditing.findings.writing import finding, template
from embaudit.auditing.wording import is_alone, worded_for
from embaudit.canonical.quadratic_forms import LARGEST_SHOWN
from embaudit.core.ties import reaches
from embaudit.core.words import counted, percent
from embaudit.heads import excludes_minimum
from embaudit.model import Equivalence, FactorModel
from embaudit.model.objectives import OBJECTIVES, Objective, Status, usual_objectives
from embaudit.model.trainings import known_objective

if TYPE_CHECKING:
    from embaudit.auditing.equivalence_class import Freedom
    from embaudit.auditing.evidence import Evidence
    from embaudit.canonical.pinned import Pinning

IN_SHORT = {
    Status.FREE: "free",
    Status.CHOSEN: "pinned by the penalty",
    Status.INPUTS: "tied to the inputs",
    Status.TRAINED: "what was trained",
    Status.TEMPERATURE: "a convention of the temperature",
    Status.UNKNOWN: "undecided",
}
FREEDOM = {True: "free", False: "pinned", None: "undecided"}
"""Name of the note on a kind of pairs, by whether equivalent models move its cosines."""
FAR = 0.25
"""Share of changed neighbours above which the declared penalty did not choose the rows.

Trained ALS models stay below it.
"""


def freedom(evidence: Evidence) -> Iterator[Finding]:
    """State for each kind of pairs whether an equivalent model can have other cosines."""
    equivalence = evidence.equivalence
    for role, argued in equivalence.freedom.items():
        # If an equivalent model shows the freedom, its gauge is the witness. A proof
        # needs no witness.
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
    """Report what would decide whether the cosines are fixed.

    This is either how training compared unit rows, or a number of further rows.
    """
    if evidence.model.link.name == "unknown":
        yield finding("unit_sides", evidence)
    pinning = evidence.equivalence.pinning
    if pinning is None or pinning.status != "undecided":
        return
    needed = f"{pinning.needed:,}"
    if pinning.needed > LARGEST_SHOWN:
        largest = f"{LARGEST_SHOWN:,}"
        yield finding("untried", evidence, needed=needed, largest=largest)
    elif pinning.rows_missing:
        yield _rows_missing(evidence, pinning)
    else:
        clause = pinning.to_decide or "no method here decides it"
        yield finding("to_decide", evidence, clause=clause)


def _rows_missing(evidence: Evidence, pinning: Pinning) -> Finding:
    """Report how many further rows could decide whether the cosines are fixed."""
    missing = []
    for side, count in pinning.rows_missing.items():
        plural = "s" if count > 1 else ""
        missing.append(f"{count:,} more {evidence.model.title(side)}{plural}")
    variants = []
    # Rows of both sides together can reach the needed number. Still nothing is proven,
    # and "the rows fix all numbers" would contradict the answer.
    if pinning.rank == pinning.needed:
        variants.append("no_side")
    fixed = f"{pinning.rank:,}"
    if not pinning.is_counted:
        fixed = f"at most {fixed}"
    where = ""
    if pinning.dimensions < pinning.width:
        where = f", if they span no more than these {pinning.dimensions:,} dimensions"
    return finding(
        "rows_missing",
        evidence,
        *variants,
        fixed=fixed,
        needed=f"{pinning.needed:,}",
        missing=" or ".join(missing),
        where=where,
    )


def cases(model: FactorModel) -> Iterator[tuple[list[str], str]]:
    """Yield groups of usual objectives, and the state of the cosines under each group.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> list(cases(FactorModel.from_softmax([[1.0], [2.0]])))[1]
    (['softmax'], 'free')
    """
    groups: dict[Status, list[str]] = {}
    for row in usual_objectives(model.link):
        groups.setdefault(row.status, []).append(row.name)
    for status, names in groups.items():
        yield names, IN_SHORT[status]


def objective_of(evidence: Evidence) -> Objective | None:
    """Look up the declared objective. Return None if no known one is declared."""
    return known_objective(evidence.model.objective, alone=is_alone(evidence.model))


def identification(evidence: Evidence) -> Iterator[Finding]:
    """State whether training fixes cosines that predictions leave free.

    Yields EMB101, EMB102, EMB103 or EMB105, or a note about vectors of predictions.
    """
    model, role, objective = evidence.model, evidence.role, objective_of(evidence)
    argued = evidence.equivalence.freedom[role]
    status = None if objective is None else objective.status
    if status is Status.PREDICTED:
        yield finding("made", evidence, role=role)
        return
    # Training cannot change cosines that the predictions fix.
    if argued.moves is False or model.link.measures_distances:
        return
    if status is Status.TEMPERATURE and model.link.name == "cosine":
        yield from _up_to_a_temperature(evidence, argued)
    elif argued.moves is None:
        yield finding("EMB105", evidence, kind=argued.kind, **_common(evidence))
    elif model.predicts is Equivalence.COSINES:
        variants = ["untrained", *_alone_variant(model)]
        if "left" in model.link.unit_sides:
            variants.insert(0, "two_sides")
        yield finding(
            "EMB101", evidence, *variants, kind=Kind.SHOWN, **_common(evidence)
        )
    elif objective is None:
        yield _undeclared(evidence)
    else:
        yield from _declared(evidence, objective)


def _declared(evidence: Evidence, objective: Objective) -> Iterator[Finding]:
    """State how the declared training chose among models with other cosines."""
    model, common = evidence.model, _common(evidence)
    if objective.status is Status.UNKNOWN:
        yield from _without_a_law(evidence, objective)
    elif objective.status is Status.FREE:
        variants = _alone_variant(model)
        yield finding("EMB101", evidence, *variants, kind=Kind.ASSUMED, **common)
    elif objective.name == "logistic" and excludes_minimum(model):
        yield finding("EMB101", evidence, "separated", kind=Kind.ASSUMED, **common)
        inputs = counted(model.n_left, model.title("left"))
        yield finding("no_minimum", evidence, inputs=inputs)
    else:
        yield _chosen(evidence, objective)


def _common(evidence: Evidence) -> dict[str, Any]:
    """Collect the fields that the findings on identification share."""
    model, role, objective = evidence.model, evidence.role, objective_of(evidence)
    common: dict[str, Any] = {
        "role": role,
        "scope": evidence.equivalence.scope,
        "value": _largest_movement(evidence),
        "because": evidence.equivalence.freedom[role].because,
        "loss": "",
        "trained": "",
    }
    if objective is not None:
        common["loss"] = objective.loss
        common["trained"] = worded_for(model, objective.cosines)
    return common


def _largest_movement(evidence: Evidence) -> float | None:
    """Return the largest mean |Δcos| within a side.

    The test of unit rows has it if there is one; otherwise it is that of the visits.
    """
    pinning = evidence.equivalence.pinning
    if pinning is not None:
        return pinning.largest
    movements = [
        record.mean_abs for _, record in evidence.visits() if record.role != "cross"
    ]
    return max(movements, default=None)


def _alone_variant(model: FactorModel) -> list[str]:
    """Return the variant of texts about one side that was loaded without the other."""
    return ["alone"] if is_alone(model) else []


def _undeclared(evidence: Evidence) -> Finding:
    """List the usual objectives and the state of the cosines under each (EMB102)."""
    model = evidence.model
    listed = " ".join(
        f"Under {' or '.join(names)} they are {state}." for names, state in cases(model)
    )
    return finding(
        "EMB102",
        evidence,
        *_alone_variant(model),
        **_common(evidence),
        cases=listed,
        objectives=", ".join(row.name for row in usual_objectives(model.link)),
    )


def _without_a_law(evidence: Evidence, objective: Objective) -> Iterator[Finding]:
    """Report a training for which no law is known (EMB102)."""
    alone = is_alone(evidence.model)
    variants = ["lawless_alone", "lawless"] if alone else ["lawless"]
    yield finding("EMB102", evidence, *variants, **_common(evidence))
    if alone and objective.name not in OBJECTIVES:
        yield finding("second_table", evidence, role=evidence.role)


def _chosen(evidence: Evidence, objective: Objective) -> Finding:
    """Report that a penalty, or given inputs, chose one equivalent model (EMB103)."""
    variants = [str(objective.status).replace(" ", "_")]
    if objective.status is Status.CHOSEN:
        # The law of the penalty is checked in the rows. Only if it was checked and
        # holds, the finding says that the penalty chose these cosines.
        if _contradicts_the_penalty(evidence):
            variants.insert(0, "contradicted")
        elif evidence.penalty is None:
            variants.insert(0, "unsettled")
    variants += _alone_variant(evidence.model)
    return finding("EMB103", evidence, *variants, **_common(evidence))


def _contradicts_the_penalty(evidence: Evidence) -> bool:
    """Return True if the rows are not at a minimum of the declared penalty."""
    contradictions = [*penalty(evidence), *contradicted_decay.check(evidence)]
    return any(found.role == evidence.role for found in contradictions)


def _up_to_a_temperature(evidence: Evidence, argued: Freedom) -> Iterator[Finding]:
    """Report that a temperature fixes only the order between the sides (EMB103)."""
    role, scope = evidence.role, evidence.equivalence.scope
    alone = _alone_variant(evidence.model)
    yield finding("order", evidence, *alone, role=role, scope=scope)
    variants = ["temperature_alone", "temperature"] if alone else ["temperature"]
    yield finding(
        "EMB103", evidence, *variants, role=role, scope=scope, value=argued.mean_abs
    )


def distances(evidence: Evidence) -> Iterator[Finding]:
    """Report that training compared rows by distance, which fixes no cosine (EMB101)."""
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
    movements = [record.mean_abs for _, record in evidence.visits(role)]
    variants = ["distances"]
    if model.compared == "hyperbolic":
        variants.insert(0, "hyperbolic")
    elif evidence.traits and all(traits.is_unit for traits in evidence.traits):
        variants.insert(0, "distances_unit")
    yield finding(
        "EMB101",
        evidence,
        *variants,
        kind=Kind.PROVEN,
        value=max(movements, default=None),
        **common,
    )


def penalty(evidence: Evidence) -> Iterator[Finding]:
    """Compare the rows with those that the declared penalty would have chosen (EMB104).

    The law says which rows are at a minimum of the penalty. Whether training reached a
    minimum is seen from the rows: their cosines and neighbour lists are compared with
    those at the minimum.
    """
    form = evidence.penalty
    if form is None:
        return
    for movement in form.movement:
        changed = 1 - movement.top_n_overlap if movement.top_n else float("nan")
        lists_change = is_effect(changed, movement.n_lists)
        if not lists_change and not reaches(movement.mean_abs, MOVES):
            continue
        law = known_objective(evidence.model.objective)
        assert law is not None
        # Trained models are a little off the minimum, because training stops early. If
        # they are far off, the penalty did not choose these rows.
        is_far = lists_change and reaches(changed, FAR)
        counted_penalty = ""
        if law.name != "factors-counted":
            counted_penalty = template("EMB104", "counted")
        yield finding(
            "EMB104",
            evidence,
            *([] if lists_change else ["cosines"]),
            role=movement.role,
            value=changed if reaches(changed, CHANGED) else movement.mean_abs,
            severity=Severity.ISSUE if is_far else Severity.TIP,
            law=template("EMB104", f"law_{law.name}"),
            counted=counted_penalty,
            stretch=form.stretch,
            share=percent(changed),
            top_n=movement.top_n,
            mean=movement.mean_abs,
        )
