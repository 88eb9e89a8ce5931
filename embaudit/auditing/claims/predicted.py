"""How the cosines at hand compare with those of what is predicted, or that there is only one side to predict with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from embaudit.auditing.claims.claim import Claim, Kind, Scope
from embaudit.auditing.claims.movement import SEEN
from embaudit.foundation.words import ONCE, percent
from embaudit.model import Equivalence, Pairs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from embaudit.auditing.evidence import Evidence
    from embaudit.model import FactorModel
    from embaudit.movements.moved import Movement


ALIKE = 0.005
"""Mean |Δcos| below which two decimals would say that there is none."""


def seen_of(model: FactorModel) -> str:
    """Name what prediction cosines are taken of: rankings do not fix them, the scores behind them do.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> model = FactorModel.from_user_item([[1.0]], [[1.0]])
    >>> seen_of(model), seen_of(model.replace(link="ranking"))
    ('what is predicted', 'their scores')
    """
    return "their scores" if model.predicts is Equivalence.RANKINGS else "what is predicted"


def theirs_of(model: FactorModel) -> str:
    """Name what entities are compared by there.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> theirs_of(FactorModel.from_user_item([[1.0]], [[1.0]]))
    'their predictions'
    """
    return seen_of(model) if model.predicts is Equivalence.RANKINGS else "their predictions"


def predicted(evidence: Evidence) -> Iterator[Claim]:
    """Tell for each side how far its cosines and lists are from those of what is predicted."""
    model = evidence.model
    if evidence.predictions_hold and model.left is None:
        titles = " and ".join(f"{model.title(side)}s" for side in model.sides)
        text = f"Only {titles} are at hand."
        yield Claim("one-side", Kind.MEASURED, titles, Scope("the model at hand"), text, evidence="model")
    for record in evidence.predicted.movement if evidence.predicted and evidence.predictions_hold else ():
        yield from _compared(model, record)


def _compared(model: FactorModel, record: Movement) -> Iterator[Claim]:
    title, seen, role = model.title(record.role), seen_of(model), record.role
    cosines, scope = f"{Pairs(role).titled(model)} cosines", Scope(f"the cosines of {seen}")
    if record.max_abs <= SEEN:
        text = f"The {cosines} are those of {seen}, but for rounding."
        yield Claim(f"agrees:{role}", Kind.MEASURED, cosines, scope, text, record.max_abs, "predicted")
        return
    far = f"differ by {record.mean_abs:.2f} on average from" if record.mean_abs >= ALIKE else "nearly are"
    text = f"The {cosines} {far} those of {seen}."
    yield Claim(f"differs:{role}", Kind.MEASURED, cosines, scope, text, record.mean_abs, "predicted")
    if record.top_n:
        # Copies stay with each other in every model, so lists that are full of them would hide what moves.
        folded = percent(record.overlap_without_twins) not in ("–", percent(record.top_n_overlap))
        changed = 1 - (record.overlap_without_twins if folded else record.top_n_overlap)
        text = (
            f"{percent(changed)} of the {record.top_n} nearest {title}s differ when {title}s are compared by "
            f"{theirs_of(model)}{f', {ONCE}' * folded}."
        )
        yield Claim(f"listed:{role}", Kind.MEASURED, f"nearest {title}s", scope, text, changed, "predicted")
