"""The equivalent models an audit visits: canonical ones, and random ones from each gauge group within its budget."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import numpy as np

from embaudit.attacks import Attack
from embaudit.auditing.equivalence_class import held_rank
from embaudit.canonical import Pinning, canonical_form
from embaudit.canonical.equivalents import (
    CANONICAL,
    EquivalentModel,
    canonical_models,
    equivalent_at,
)
from embaudit.canonical.row_span import seen_directions, span_basis, turned
from embaudit.core.checked import (
    RNG,
    Floats,
    Vector,
    as_generator,
    require_one_of,
)
from embaudit.errors import must_be
from embaudit.gauges import (
    Affine,
    Diagonal,
    GaugeGroup,
    GeneralLinear,
    Orthogonal,
    Translation,
)
from embaudit.linalg.rows import sample_rows
from embaudit.model import FactorModel, SideName
from embaudit.model.equivalence import Equivalence
from embaudit.model.sizes import require_ordinary_size

WORST = "worst"
"""The kind of the models that attacks found."""
REARRANGED = "rearranged"
"""The kind of the model that the test of unit rows found."""
ISOMETRY = "isometry"
"""The kind of the models whose origin lies elsewhere in hyperbolic space."""
GROUPS: tuple[type[GaugeGroup], ...] = (
    Diagonal,
    GeneralLinear,
    Orthogonal,
    Translation,
    Affine,
)
"""The gauge groups an audit draws from on its own."""
KINDS = (CANONICAL, *(group.kind for group in GROUPS))
"""The families of equivalent models, by the names the command line takes."""


def default_groups(
    model: FactorModel, *, max_condition: float, columns: int | None = None
) -> tuple[GaugeGroup, ...]:
    """List the gauge groups that keep a model's predictions, within the budget.

    Translations are as long as the median row of the side they move. Rescalings are those of the columns as stored, of
    which there are so many; the dimensions that rows span stand for them elsewhere.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> head = FactorModel.from_softmax([[1.0, 0.0], [0.0, 1.0]])
    >>> [type(group).__name__ for group in default_groups(head, max_condition=2.0)]
    ['Orthogonal', 'Diagonal', 'GeneralLinear', 'Translation', 'Affine']
    """
    k = model.rank
    rotations = (Orthogonal(k),)
    if model.predicts is Equivalence.COSINES:
        # A stretch keeps predicted cosines only if it keeps the ratios of lengths, which the test of unit rows decides
        # (docs/theory.md, "Rows of length 1 may pin the rest"); rotations always keep them.
        return rotations
    if model.link.measures_distances:
        # A stretch changes distances.
        shifts = (
            Translation(k, side=side, max_shift=model.side(side).median_length)
            for side in model.free_shifts
        )
        return (*rotations, *shifts)
    groups: list[GaugeGroup] = [
        *rotations,
        Diagonal(columns or k, max_condition=max_condition),
        GeneralLinear(k, max_condition=max_condition),
    ]
    for side in reversed(model.free_shifts):
        length = model.side(side).median_length
        groups.append(Translation(k, side=side, max_shift=length))
        groups.append(
            Affine(k, side=side, max_condition=max_condition, max_shift=length)
        )
    return tuple(groups)


def equivalent_models(
    model: FactorModel,
    *,
    groups: Sequence[str | GaugeGroup] = (),
    n_gauges: int = 8,
    max_condition: float = 2.0,
    basis: Floats | None = None,
    parameter: str = "groups",
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
    basis : array of shape (k, m), optional
        What spans the rows, in the columns as stored, where the model at hand is `turned` into it.
    parameter : str
        Name of the caller's parameter that holds `groups`, for error messages.
    rng : numpy Generator
        Source of the draws.

    Raises
    ------
    InputError
        For an unknown family, or one that has no gauge for this model.
    """
    requested = [group for group in groups if isinstance(group, GaugeGroup)]
    named = [group for group in groups if not isinstance(group, GaugeGroup)]
    # Groups of one's own stand alone; without any, no name means all families.
    kinds = named or (() if requested else KINDS)
    for kind in kinds:
        require_one_of(kind, parameter, KINDS)
    usual = default_groups(
        model,
        max_condition=max_condition,
        columns=None if basis is None else len(basis),
    )
    requested += [group for group in usual if group.kind in kinds]
    # Where free biases can hold every score there is, factors in canonical form would be rounding.
    is_held = held_rank(model) > 0 or not seen_directions(model, ()).size
    models = list(canonical_models(model)) if CANONICAL in kinds and is_held else []
    numbers: dict[str, Iterator[int]] = defaultdict(lambda: count(1))
    for group in requested:
        family = group.name_in(model)
        for _ in range(1 if isinstance(group, Orthogonal) else n_gauges):
            name = f"{family} {next(numbers[family])}"
            gauge = group.sample(rng=rng)
            # The length of a shift means something beside the rows at hand, before the axes change.
            shift = (
                float(np.linalg.norm(group.shift_of(gauge)))
                if isinstance(group, Affine)
                else None
            )
            models.append(
                EquivalentModel.by(
                    gauge, name, group.kind, title=group.title, shift=shift
                )
            )
    if model.compared == "hyperbolic" and kinds == KINDS:
        models += _with_other_origins(model, n_gauges, rng)
    if not models:
        raise must_be(
            parameter,
            f"a family that keeps the {model.predicts.title} of this model",
            ", ".join(map(str, groups)),
        )
    return (
        models if basis is None else [replace(equal, basis=basis) for equal in models]
    )


def attacked_models(
    model: FactorModel, attacks: Iterable[Attack]
) -> list[EquivalentModel]:
    """List the models that attacks made of this one: the worst found for the cosines of a side, or for its lists.

    Examples
    --------
    >>> from embaudit.attacks import worst_gauge
    >>> from embaudit.model import FactorModel
    >>> model = FactorModel.from_vectors([[1.0, 0.0], [0.0, 1.0]])
    >>> attack = worst_gauge(model, GeneralLinear(2, max_condition=3.0), n_pairs=1, rng=0)
    >>> [(one.name, one.kind) for one in attacked_models(model, [attack])]
    [('worst found for item cosines', 'worst')]
    """
    models = []
    for attack in attacks:
        group, lists = attack.group, attack.objective == "neighbours"
        name = f"worst found for {model.title(attack.role)} {'lists' if lists else 'cosines'}"
        name += ", with a shift" * isinstance(group, Affine)
        shift = (
            float(np.linalg.norm(group.shift_of(attack.gauge)))
            if isinstance(group, Affine)
            else None
        )
        models.append(EquivalentModel.by(attack.gauge, name, WORST, shift=shift))
    return models


@dataclass(frozen=True, eq=False)
class RearrangedModel(EquivalentModel):
    """The equivalent model that the test of unit rows made: its gauge keeps the lengths of these rows, of no others."""

    pinning: Pinning | None = None
    """The test."""

    def of(self, model: FactorModel) -> FactorModel:
        """Make the equivalent model."""
        assert self.pinning is not None
        return self.pinning.twin(model)

    def rows(self, model: FactorModel, side: SideName) -> Any:
        """Return the rows of one side in the equivalent model."""
        return self.of(model).factors(side)


@dataclass(frozen=True, eq=False)
class OriginMoved(EquivalentModel):
    """Rows of the Poincaré ball after an isometry that takes `centre` to the origin: no hyperbolic distance changes."""

    centre: Vector | None = None
    """(k,) the point that becomes the origin."""

    @property
    def rank(self) -> int:
        """Number of columns that the isometry acts on."""
        assert self.centre is not None
        return len(self.centre)

    def of(self, model: FactorModel) -> FactorModel:
        """Make the equivalent model."""
        return model.replace(right=self.rows(model, "right"))

    def rows(self, model: FactorModel, side: SideName) -> Any:
        """Return the Möbius sums of −a and each row x, with a the centre (Ungar, 2008).

        `(−a) ⊕ x = ((1 − ‖a‖²) x − (1 − 2 a·x + ‖x‖²) a) / (1 − 2 a·x + ‖a‖²‖x‖²)`.
        """
        assert self.centre is not None
        x = np.asarray(model.factors(side), dtype=np.float64)
        a = self.centre
        if self.basis is not None and len(a) != model.rank:
            # The centre was chosen in coordinates of the span of the rows.
            a = self.basis @ a
        squared_a = float(a @ a)
        squared_x = np.square(x).sum(axis=1, keepdims=True)
        products = (x @ a)[:, None]
        numerators = (1 - squared_a) * x - (1 - 2 * products + squared_x) * a
        denominators = 1 - 2 * products + squared_a * squared_x
        sums: Floats = numerators / denominators
        return sums


def _with_other_origins(
    model: FactorModel, count: int, rng: np.random.Generator
) -> list[EquivalentModel]:
    """Draw isometries that take half of a random row to the origin of the ball."""
    rows = sample_rows(model.right_side.directed, count, rng)
    return [
        OriginMoved(
            name=f"isometry {number}",
            kind=ISOMETRY,
            title="hyperbolic isometries",
            condition_number=1.0,
            shift=0.0,
            gauge=None,
            map_condition=1.0,
            centre=np.asarray(model.right[row], dtype=np.float64) / 2,
        )
        for number, row in enumerate(rows, 1)
    ]


def rearranged_models(pinning: Pinning | None) -> list[EquivalentModel]:
    """List the equivalent model that the test of unit rows found, if it did: rotations alone move no cosine."""
    if pinning is None or pinning.status != "free" or pinning.witness is None:
        return []
    kappa = pinning.witness.condition_number
    name = "rows rearranged at their lengths"
    return [
        RearrangedModel(
            name, REARRANGED, name, kappa, 0.0, pinning.witness, pinning=pinning
        )
    ]


def one_equivalent(
    model: FactorModel,
    *,
    group: str = "diagonal",
    exponent: float | None = None,
    max_condition: float = 2.0,
    rng: RNG = 0,
) -> EquivalentModel:
    """Draw one equivalent model, or go to the canonical one at an exponent.

    Of a model of very many columns a rescaling changes all; others change the dimensions that its rows span.

    Parameters
    ----------
    model : FactorModel
        The model at hand.
    group : str
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
        If the family has no gauge that keeps the predictions of this model, or its products overflow.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> one_equivalent(FactorModel.from_vectors([[1.0, 2.0]])).name
    'diagonal 1'
    """
    require_ordinary_size(model)
    basis = span_basis(model)
    small = turned(model, basis)
    if exponent is not None:
        return replace(
            equivalent_at(canonical_form(small), exponent, f"exponent {exponent:g}"),
            basis=basis,
        )
    draw = as_generator(rng)
    return equivalent_models(
        small,
        groups=[group],
        n_gauges=1,
        max_condition=max_condition,
        basis=basis,
        parameter="group",
        rng=draw,
    )[0]
