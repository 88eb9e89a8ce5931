"""Notes on equal predictions, on the compared rows, and on prediction cosines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from embaudit.auditing.diagnosis import Agreement, agreement_of, given_side
from embaudit.auditing.effect import changes_lists
from embaudit.auditing.finding import THIS_MODEL, Finding, Kind, Scope, Severity
from embaudit.auditing.samples import lists_of, pairs_of
from embaudit.auditing.wording import Nouns, is_alone, prediction_noun
from embaudit.core.words import counted, percent
from embaudit.movements import Movement

if TYPE_CHECKING:
    from embaudit.auditing.evidence import Evidence

NOTES = (
    "predictions",
    "one_side",
    "data",
    "together",
    "distances",
    "compared",
    "products",
    "cosines_agree",
    "cosines_near",
    "cosines_differ",
    "lists_near",
    "lists_differ",
)
"""Words of the notes that this module can write."""


def predictions_stay(evidence: Evidence) -> Iterator[Finding]:
    """Report the largest change of a prediction in the visited equivalent models."""
    changes = [drift.max_abs for drift in evidence.drift]
    if evidence.head is not None:
        changes += [other.change for other in evidence.head.verifiable]
    if not changes:
        return
    model = evidence.model
    models = counted(evidence.n_visited, "equivalent model")
    noun = prediction_noun(model)
    heading = "Check" if is_alone(model) else "Predictions"
    where = ""
    if model.left is None and model.compared is None:
        where = ", on random probe rows in place of the missing side"
    yield Finding(
        code="predictions",
        severity=Severity.NOTE,
        kind=Kind.MEASURED,
        scope=Scope(f"the {models} visited"),
        rows=f"every {noun}",
        value=max(changes),
        text=f"{heading}: {models} kept every {noun} the same{where}, up to rounding.",
    )


def one_side(evidence: Evidence) -> Iterator[Finding]:
    """Report that the model has one side and nothing to predict with."""
    model = evidence.model
    if model.left is not None or model.compared is not None:
        return
    items = Nouns.from_model(model, evidence.role).items
    yield Finding(
        code="one_side",
        severity=Severity.NOTE,
        kind=Kind.MEASURED,
        scope=THIS_MODEL,
        rows=items,
        text=f"Only {items} were loaded.",
    )


def given_inputs(evidence: Evidence) -> Iterator[Finding]:
    """Report that the left rows are data, which training did not learn."""
    if given_side(evidence.model) not in evidence.model.sides:
        return
    nouns = Nouns.from_model(evidence.model, "left")
    yield Finding(
        code="data",
        severity=Severity.NOTE,
        kind=Kind.ASSUMED,
        scope=THIS_MODEL,
        rows=nouns.cosines,
        role="left",
        text=(
            f"Training did not learn these {nouns.items}: they are data, and the model "
            "says nothing about their cosines."
        ),
    )


def compared(evidence: Evidence) -> Iterator[Finding]:
    """Report that predictions compare the rows of one table with each other."""
    model = evidence.model
    if model.compared is None:
        return
    declared = evidence.declared_training
    yield _about_one_table(
        evidence,
        "together",
        f"Training compared these rows with each other ({declared}).",
    )
    if model.link.measures_distances:
        yield _about_one_table(
            evidence,
            "distances",
            "Predictions are the distances between these rows, so lists of the nearest "
            "rows by distance are fixed.",
        )
        return
    if model.compared == "cosine":
        code = "compared"
        text = (
            "Predictions are cosines of these rows with each other: who is nearest is "
            "fixed. If training compared them through a temperature, levels such as "
            "0.80 are a convention of this model."
        )
    elif evidence.diagnosis.freedom.moves is None:
        code = "products"
        text = (
            "Predictions are products of these rows with each other, or are made of "
            "such products."
        )
    else:
        code = "products"
        text = (
            "Predictions are products of these rows with each other, which fix every "
            "cosine between them. A softmax of such products would not fix them: a "
            "further column with the same number in every row keeps the softmax, but "
            "moves cosines."
        )
    yield _about_one_table(evidence, code, text + _scale(evidence))


def _about_one_table(evidence: Evidence, code: str, text: str) -> Finding:
    """Make a note on rows that are compared with each other."""
    return Finding(
        code=code,
        severity=Severity.NOTE,
        kind=Kind.ASSUMED,
        scope=evidence.equivalence.scope,
        rows=Nouns.from_model(evidence.model, "right").cosines,
        role="right",
        text=text,
    )


def _scale(evidence: Evidence) -> str:
    """Write which cosines are high in this table, if levels were measured."""
    for traits in evidence.traits:
        if traits.levels is not None:
            return f" {traits.levels.scale}" if traits.levels.scale else ""
    return ""


def predicted(evidence: Evidence) -> Iterator[Finding]:
    """Compare the cosines and lists of each side with prediction cosines."""
    if evidence.predicted is None:
        return
    for movement in evidence.predicted.movement:
        yield _cosines(evidence, movement)
        differs = agreement_of(movement) is not Agreement.EQUAL
        if differs and movement.top_n:
            yield _lists(evidence, movement)


def _cosines(evidence: Evidence, movement: Movement) -> Finding:
    """Report how far cosines are from prediction cosines."""
    nouns = Nouns.from_model(evidence.model, movement.role)
    value = movement.mean_abs
    agreement = agreement_of(movement)
    if agreement is Agreement.EQUAL:
        code, value = "cosines_agree", movement.max_abs
        text = (
            f"The {nouns.cosines} equal the cosines of {nouns.prediction_phrase}, up "
            "to rounding."
        )
    elif agreement is Agreement.DIFFERENT:
        code = "cosines_differ"
        text = (
            f"The {nouns.cosines} differ by {value:.2f} on average from the cosines "
            f"of {nouns.prediction_phrase}."
        )
    else:
        code = "cosines_near"
        text = (
            f"The {nouns.cosines} are close to the cosines of "
            f"{nouns.prediction_phrase}: they differ by {value:.2g} on average."
        )
    return Finding(
        code=code,
        severity=Severity.NOTE,
        kind=Kind.MEASURED,
        scope=Scope(f"the cosines of {nouns.prediction_phrase}"),
        rows=nouns.cosines,
        role=movement.role,
        value=value,
        text=text,
        measured_on=pairs_of(evidence.model, movement),
    )


def _lists(evidence: Evidence, movement: Movement) -> Finding:
    """Report the share of neighbours that stays by the predictions."""
    nouns = Nouns.from_model(evidence.model, movement.role)
    changed = 1 - movement.top_n_overlap
    is_large = changes_lists(movement)
    n_rows = counted(movement.n_lists, nouns.item)
    return Finding(
        code="lists_differ" if is_large else "lists_near",
        severity=Severity.NOTE,
        kind=Kind.MEASURED,
        scope=Scope(f"the cosines of {nouns.prediction_phrase}"),
        rows=f"the {movement.top_n} nearest of {n_rows}",
        role=movement.role,
        value=changed,
        text=(
            f"{percent(movement.top_n_overlap)} of the {movement.top_n} nearest "
            f"{nouns.items} stay when {nouns.items} are compared by "
            f"{nouns.prediction_phrase}."
        ),
        measured_on=lists_of(evidence.model, movement),
    )
