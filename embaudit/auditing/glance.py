"""The first table of an audit: what it shows, and what its words mean.

Screens and pages draw the table from its rows and columns.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from embaudit.auditing.entry import Entry
from embaudit.auditing.wording import Nouns, is_alone, prediction_phrase
from embaudit.core.tolerances import FLOAT32_TIE
from embaudit.core.words import percent, two_decimals
from embaudit.model import Equivalence, FactorModel, Pairs, Role

if TYPE_CHECKING:
    from embaudit.auditing.evidence import Evidence
    from embaudit.movements.movement import Movement

ENTRIES = (
    Entry(
        "change if compared by their predictions",
        meaning=(
            "How much changes if {items} are compared by their prediction cosines "
            "instead of the cosines of their vectors."
        ),
        also=(
            "change if compared by their scores",
            "change if compared by their scores without biases",
        ),
    ),
    Entry(
        "largest change found among models",
        meaning=(
            "The largest change in the equivalent models that the audit looked at. A "
            "search found these models, so another one can change more."
        ),
    ),
    Entry(
        "average change of a cosine",
        meaning=(
            "The mean absolute change of the cosines of a kind of pairs from your "
            "model to an equivalent one."
        ),
        example="0.20 means that a cosine of 0.50 typically becomes 0.30 or 0.70.",
    ),
)
"""The words of the table that no other table uses."""


@dataclass(frozen=True)
class Glance:
    """The first table of an audit: how much changes, by question and kind of pairs."""

    pairs: tuple[str, ...]
    """The kinds of pairs, which are the columns."""
    rows: tuple[tuple[str, str, tuple[str, ...]], ...]
    """A question, a measure, and a figure for each kind of pairs."""
    key: tuple[str, ...]
    """Sentences on the words of the table."""


def glance_of(evidence: Evidence) -> Glance:
    """Tabulate how many neighbours stay, and how far cosines move.

    The first question is how much changes if rows are compared by their predictions,
    the second how much changes at most in another model with the same predictions. The
    second has a dash unless a change was found, or is proven to be impossible.

    Examples
    --------
    >>> from embaudit.auditing.audit import audit
    >>> from embaudit.model import FactorModel
    >>> items = [[1.0], [-3.0], [2.0]]
    >>> model = FactorModel.from_user_item([[1.0], [2.0]], items)
    >>> glance = glance_of(audit(model).evidence)
    >>> glance.pairs
    ('item-item', 'user-user', 'user-item')
    >>> for _, measure, figures in glance.rows:
    ...     print(measure, figures)
    1 nearest kept ('100 %', '–', '–')
    average change of a cosine ('0.00', '0.00', '0.00')
    """
    model = evidence.model
    n_listed = {
        f"{model.title(record.role)}s": record.top_n
        for _, record in evidence.visits()
        if record.top_n
    }
    lengths_differ = len(set(n_listed.values())) > 1
    kept = "nearest kept"
    if n_listed and not lengths_differ:
        kept = f"{min(n_listed.values())} nearest kept"
    by_prediction = f"change if compared by {prediction_phrase(model)}"
    in_another = f"largest change found among models with the same {same_of(model)}"
    average = "average change of a cosine"
    rows = [
        (by_prediction, kept, _kept_by_predictions(evidence)),
        (in_another, kept, _fewest_kept(evidence)),
        (in_another, average, _most_moved(evidence)),
    ]
    # A line or a column of dashes says nothing.
    rows = [row for row in rows if set(row[2]) != {"–"}]
    roles = [
        role
        for place, role in enumerate(evidence.roles)
        if any(figures[place] != "–" for _, _, figures in rows)
    ]
    places = [evidence.roles.index(role) for role in roles]
    rows = [
        (question, measure, tuple(figures[place] for place in places))
        for question, measure, figures in rows
    ]
    key = []
    if is_alone(model) and same_of(model) == "scores":
        key.append("A score is the product of a row with a row of the second table.")
    is_listed = any(measure == kept for _, measure, _ in rows)
    if is_listed and lengths_differ:
        lists = " or ".join(f"{n} {titles}" for titles, n in n_listed.items())
        key.append(f"A list holds {lists}.")
    twin_shares = [traits.twins.share for traits in evidence.traits if traits.twins]
    if is_listed and any(twin_shares):
        key.append("Duplicate rows count once.")
    open_roles = [role for role in evidence.roles if _is_open(evidence, role)]
    if open_roles == list(evidence.roles):
        cosines = " or ".join(
            Nouns.from_model(model, role).cosines for role in open_roles
        )
        key.append(
            f"No model with the same {same_of(model)} and other {cosines} was found; "
            "there may still be one."
        )
    elif open_roles:
        key.append(
            "A dash: no such model was found that changes this; there may still be one."
        )
    return Glance(
        tuple(Pairs(role).titled(model) for role in roles),
        tuple(rows),
        tuple(key),
    )


def same_of(model: FactorModel) -> str:
    """Name the predictions that equivalent models have in common.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> vectors = FactorModel.from_vectors([[1.0, 2.0]])
    >>> same_of(vectors), same_of(vectors.replace(link="cosine"))
    ('scores', 'predicted cosines')
    >>> same_of(FactorModel.from_softmax([[1.0]]))
    'probabilities'
    """
    if model.link.measures_distances:
        return "distances"
    if model.compared == "dot":
        return "products"
    if model.predicts is Equivalence.COSINES:
        return "predicted cosines"
    return model.predicts.title


def _kept_by_predictions(evidence: Evidence) -> tuple[str, ...]:
    """Write which share of neighbours stays by predictions, for each kind of pairs.

    Lists hold one row of each group of copies.
    """
    figures = []
    for role in evidence.roles:
        record = None
        if evidence.predicted is not None:
            record = evidence.predicted.for_role(role)
        # Cosines that the predictions fix need no other way to compare rows.
        if record is None or evidence.equivalence.freedom[role].moves is False:
            figures.append("–")
        else:
            figures.append(percent(_share_kept(record)))
    return tuple(figures)


@dataclass(frozen=True)
class Change:
    """The change of the cosines of one kind of pairs in one equivalent model."""

    average: float
    """Mean absolute change of a cosine."""
    kept: float
    """Share of the nearest neighbours that stay; NaN without lists."""

    @classmethod
    def from_movement(cls, record: Movement) -> Change:
        """Take the change from a record of the movement."""
        return cls(record.mean_abs, _share_kept(record))


def _changes(evidence: Evidence, role: Role) -> list[Change]:
    """List the changes in all equivalent models that the audit looked at.

    The other conventions of a head predict the same, so they are among these models.
    """
    records = [record for _, record in evidence.visits(role)]
    changes = [Change.from_movement(record) for record in records]
    argued = evidence.equivalence.freedom[role].mean_abs
    if argued is not None:
        # The model that shows that the cosines are free is not among the visits.
        changes.append(Change(argued, np.nan))
    if role != "right":
        return changes
    n_listed = {record.top_n for record in records}
    others: list[tuple[float, float, int]] = []
    if evidence.head is not None and evidence.head.origin_is_free:
        lists = evidence.head.neighbours
        average = evidence.head.centred.movement.mean_abs
        others.append((average, 1 - lists.top_n_changed, lists.top_n))
    if evidence.norm is not None:
        stored, *forms = evidence.norm.forms
        for form in forms:
            apart = evidence.norm.between(stored.name, form.name)
            others.append((apart.mean_abs, 1 - apart.top_n_changed, apart.top_n))
    for average, kept, top_n in others:
        # Shares of lists of another length are not comparable.
        is_comparable = top_n in n_listed
        changes.append(Change(average, kept if is_comparable else np.nan))
    return changes


def _fewest_kept(evidence: Evidence) -> tuple[str, ...]:
    """Write the smallest share of neighbours that stays in an equivalent model."""
    figures = []
    for role in evidence.roles:
        is_fixed = evidence.equivalence.freedom[role].moves is False
        # A model that moves no cosine is no change, unless it is proven that none does.
        shares = [
            change.kept
            for change in _changes(evidence, role)
            if is_fixed or change.average > FLOAT32_TIE
        ]
        is_open = _is_open(evidence, role)
        figures.append("–" if is_open else percent(-_largest(-kept for kept in shares)))
    return tuple(figures)


def _most_moved(evidence: Evidence) -> tuple[str, ...]:
    """Write the largest average change of a cosine in an equivalent model."""
    figures = []
    for role in evidence.roles:
        most = _largest(change.average for change in _changes(evidence, role))
        is_open = _is_open(evidence, role)
        figures.append("–" if is_open or np.isnan(most) else two_decimals(most))
    return tuple(figures)


def _is_open(evidence: Evidence, role: Role) -> bool:
    """Return True if no model moves these cosines, and it is not proven that none does.

    A change of 0 is a figure only if it is proven.
    """
    if evidence.equivalence.freedom[role].moves is False:
        return False
    most = _largest(change.average for change in _changes(evidence, role))
    return not most > FLOAT32_TIE


def _largest(figures: Iterable[float]) -> float:
    """Return the largest figure; NaN if there is none."""
    return max((value for value in figures if not np.isnan(value)), default=np.nan)


def _share_kept(record: Movement) -> float:
    return record.top_n_overlap if record.top_n else np.nan
