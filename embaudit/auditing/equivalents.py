"""The equivalent models an audit visits: canonical ones, and random ones from each gauge group within its budget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from embaudit.canonical import EXPONENTS, CanonicalForm, at_exponent, canonical_form
from embaudit.errors import must_be
from embaudit.foundation.checked import RNG, as_generator
from embaudit.gauges import Diagonal, Gauge, GaugeGroup, GeneralLinear, Orthogonal, Translation
from embaudit.model.equivalence import Equivalence

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from embaudit.model import FactorModel

KINDS = ("canonical", "diagonal", "linear", "orthogonal", "translation")
"""The families of equivalent models, by the names the command line takes."""


@dataclass(frozen=True, eq=False)
class EquivalentModel:
    """One way to the same predictions."""

    name: str
    """Unique within an audit."""
    kind: str
    """One of `KINDS`."""
    condition_number: float
    """κ of the gauge."""
    shift: float
    """Length of the longer translation, 0 without one."""
    gauge: Gauge | None
    """The gauge, or None where the model has directions no prediction sees, so that none reaches it."""
    exponent: float | None = None
    """The exponent of a canonical model."""

    def of(self, model: FactorModel) -> FactorModel:
        """Make the equivalent model."""
        if self.gauge is not None:
            return self.gauge.act(model)
        assert self.exponent is not None
        return at_exponent(model, self.exponent)


def _from_gauge(name: str, kind: str, gauge: Gauge, exponent: float | None = None) -> EquivalentModel:
    shift = max(float(np.linalg.norm(gauge.left_shift)), float(np.linalg.norm(gauge.right_shift)))
    return EquivalentModel(name, kind, gauge.condition_number, shift, gauge, exponent)


def canonical_models(model: FactorModel) -> Iterator[EquivalentModel]:
    """Yield the models at exponent 0, ½ and 1, where both sides are at hand and scores are what is predicted."""
    if model.left is None or model.predicts is Equivalence.COSINES:
        return
    form = canonical_form(model)
    users, items = model.roles
    titles = {"left-whitened": f"{users}s whitened", "balanced": "balanced", "right-whitened": f"{items}s whitened"}
    for name, exponent in EXPONENTS.items():
        yield _at_exponent(form, exponent, f"exponent {exponent:g} ({titles[name]})")


def _at_exponent(form: CanonicalForm, exponent: float, name: str) -> EquivalentModel:
    gauge = form.gauge(exponent)
    if gauge is not None:
        return _from_gauge(name, "canonical", gauge, exponent)
    return EquivalentModel(name, "canonical", float(np.linalg.cond(form.left_map(exponent))), 0.0, None, exponent)


def default_groups(model: FactorModel, *, max_condition: float) -> tuple[GaugeGroup, ...]:
    """List the gauge groups that keep a model's predictions, within the budget.

    Translations are as long as the median row of the side they move.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> head = FactorModel.from_softmax([[1.0, 0.0], [0.0, 1.0]])
    >>> [type(group).__name__ for group in default_groups(head, max_condition=2.0)]
    ['Orthogonal', 'Diagonal', 'GeneralLinear', 'Translation']
    """
    k = model.rank
    rotations = (Orthogonal(k),)
    if model.predicts is Equivalence.COSINES:
        return rotations
    groups: list[GaugeGroup] = [
        *rotations,
        Diagonal(k, max_condition=max_condition),
        GeneralLinear(k, max_condition=max_condition),
    ]
    free = reversed(model.free_shifts)
    return (*groups, *(Translation(k, side=side, max_shift=model.side(side).median_length) for side in free))


def kind_of(group: GaugeGroup) -> str:
    """Name the family of a group as the command line does."""
    names = {Diagonal: "diagonal", GeneralLinear: "linear", Orthogonal: "orthogonal", Translation: "translation"}
    return names[type(group)]


def require_kinds(kinds: Iterable[str]) -> tuple[str, ...]:
    """Check the names of families; the empty choice means all of them."""
    chosen = tuple(kinds) or KINDS
    for kind in chosen:
        if kind not in KINDS:
            raise must_be("group", "one of " + ", ".join(KINDS), repr(kind))
    return chosen


def equivalent_models(
    model: FactorModel,
    *,
    groups: Sequence[str | GaugeGroup] = (),
    n_gauges: int = 8,
    max_condition: float = 2.0,
    rng: np.random.Generator,
) -> list[EquivalentModel]:
    """List the equivalent models to audit: canonical ones, one rotation as a control, and random draws.

    Parameters
    ----------
    model : FactorModel
        The model at hand.
    groups : sequence of str or GaugeGroup
        Families by name, or groups of your own; all that keep the predictions by default.
    n_gauges : int
        Draws from each group but the rotations, of which one suffices: they move nothing.
    max_condition : float
        Budget of the default groups.
    rng : numpy Generator
        Source of the draws.

    Raises
    ------
    InputError
        For an unknown family, or one that has no gauge for this model.
    """
    own = [group for group in groups if isinstance(group, GaugeGroup)]
    kinds = (
        require_kinds(group for group in groups if isinstance(group, str)) if len(own) < len(groups) or not own else ()
    )
    chosen = own + [g for g in default_groups(model, max_condition=max_condition) if kind_of(g) in kinds]
    found = list(canonical_models(model)) if "canonical" in kinds else []
    for group in chosen:
        kind = kind_of(group)
        label = f"{kind} of {model.title(group.side)}s" if isinstance(group, Translation) else kind
        for draw in range(1 if isinstance(group, Orthogonal) else n_gauges):
            found.append(_from_gauge(f"{label} {draw + 1}", kind, group.sample(rng=rng)))
    if not found:
        raise must_be(
            "group", f"a family that keeps the {model.predicts.title} of this model", ", ".join(map(str, groups))
        )
    return found


def one_equivalent(
    model: FactorModel,
    *,
    kind: str = "diagonal",
    exponent: float | None = None,
    max_condition: float = 2.0,
    rng: RNG = 0,
) -> EquivalentModel:
    """Draw one equivalent model, or go to the canonical one at an exponent.

    Parameters
    ----------
    model : FactorModel
        The model at hand.
    kind : str
        The family to draw from.
    exponent : float, optional
        From 0 (left-whitened) to 1 (right-whitened), instead of a draw.
    max_condition : float
        Budget of a draw.
    rng : numpy Generator or int
        Source of the draw.

    Raises
    ------
    InputError
        If the family has no gauge that keeps the predictions of this model.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> one_equivalent(FactorModel.from_vectors([[1.0, 2.0]])).name
    'diagonal 1'
    """
    if exponent is not None:
        return _at_exponent(canonical_form(model), exponent, f"exponent {exponent:g}")
    return equivalent_models(model, groups=[kind], n_gauges=1, max_condition=max_condition, rng=as_generator(rng))[0]
