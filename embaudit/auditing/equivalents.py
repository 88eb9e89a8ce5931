"""The equivalent models that an audit visits.

They are the canonical models, random draws from each gauge group within its budget, and
the models that attacks and the test of unit rows find.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count

import numpy as np

from embaudit.attacks import Attack
from embaudit.auditing.equivalence_class import held_rank
from embaudit.canonical import Pinning
from embaudit.canonical.equivalents import (
    CANONICAL,
    EquivalentModel,
    GaugedModel,
    canonical_models,
    equivalent_at,
)
from embaudit.canonical.row_span import seen_directions, span_basis, turned
from embaudit.core.checked import (
    RNG,
    Floats,
    Matrix,
    Vector,
    as_generator,
    require_one_of,
)
from embaudit.errors import must_be
from embaudit.gauges import (
    GROUPS,
    Affine,
    Diagonal,
    Gauge,
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
"""The kind of the models with another origin of hyperbolic space."""
KINDS = (CANONICAL, *(group.kind for group in GROUPS))
"""The families of equivalent models, by the names the command line takes.

`default_groups` makes the groups of each family.
"""


def default_groups(
    model: FactorModel, *, max_condition: float, columns: int | None = None
) -> tuple[GaugeGroup, ...]:
    """List the gauge groups that keep a model's predictions, within the budget.

    Translations are as long as the median row of the side they move. An audit draws
    from the groups in this order with one generator, so a new group belongs at the end:
    the draws from the other groups then stay the same.

    Parameters
    ----------
    model : FactorModel
        Its rows can be expressed in the dimensions that they span.
    max_condition : float
        Budget of the stretches: largest factor over smallest.
    columns : int, optional
        Number of stored columns, which rescalings act on; by default the columns of the
        model.

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
        # A stretch keeps predicted cosines only if it keeps the ratios of lengths,
        # which the test of unit rows decides (docs/theory.md, "Rows of length 1 may pin
        # the rest"). Rotations always keep them.
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
    """List the equivalent models to audit.

    These are the canonical models, one rotation as a control, and random draws.

    Parameters
    ----------
    model : FactorModel
        The current model.
    groups : sequence of str or GaugeGroup
        Families by name, or groups of your own; by default all families that keep the
        predictions.
    n_gauges : int
        Draws from each group. A group that keeps all lengths, such as the rotations,
        moves no cosine within a side, so one draw from it is enough.
    max_condition : float
        Budget of the default groups.
    basis : array of shape (k, m), optional
        Orthonormal columns that span the rows in the stored columns, if `model` has
        been `turned` into them.
    parameter : str
        Name of the caller's parameter that holds `groups`, for error messages.
    rng : numpy Generator
        Source of the draws.

    Raises
    ------
    InputError
        If the family is unknown or has no gauge for this model.
    """
    requested = [group for group in groups if isinstance(group, GaugeGroup)]
    named = [group for group in groups if not isinstance(group, GaugeGroup)]
    kinds: Sequence[str] = named
    # If neither names nor groups are given, all families are visited.
    if not groups:
        kinds = KINDS
    for kind in kinds:
        require_one_of(kind, parameter, KINDS)
    columns = None if basis is None else len(basis)
    usual = default_groups(model, max_condition=max_condition, columns=columns)
    requested += [group for group in usual if group.kind in kinds]
    models: list[EquivalentModel] = []
    if CANONICAL in kinds and _has_canonical_models(model):
        models += canonical_models(model)
    numbers: dict[str, Iterator[int]] = defaultdict(lambda: count(1))
    for group in requested:
        family = group.name_in(model)
        # One rotation is enough as a control, because it moves no cosine within a side.
        n_draws = 1 if group.fixes_lengths else n_gauges
        for _ in range(n_draws):
            name = f"{family} {next(numbers[family])}"
            gauge = group.sample(rng=rng)
            shift = _shift_length(group, gauge)
            models.append(
                GaugedModel.from_gauge(
                    gauge, name, group.kind, title=group.title, shift=shift
                )
            )
    if model.compared == "hyperbolic" and kinds == KINDS:
        models += _with_other_origins(model, n_gauges, rng)
    if not models:
        raise must_be(
            parameter,
            f"a family of gauges that keeps the {model.predicts.title} of this model",
            ", ".join(map(str, groups)),
        )
    if basis is None:
        return models
    return [replace(equivalent, basis=basis) for equivalent in models]


def _has_canonical_models(model: FactorModel) -> bool:
    """Return False if free biases can hold every score.

    Factors in canonical form would then consist of rounding errors. A model whose
    scores see no direction at all has canonical models.
    """
    return held_rank(model) > 0 or not seen_directions(model, ()).size


def _shift_length(group: GaugeGroup, gauge: Gauge) -> float | None:
    """Return the length of the shift of an affine gauge, None for another group.

    The shift comes before the change of axes, so that its length can be compared with
    the lengths of the stored rows.
    """
    if isinstance(group, Affine):
        return float(np.linalg.norm(group.shift_of(gauge)))
    return None


def attacked_models(
    model: FactorModel, attacks: Iterable[Attack]
) -> list[EquivalentModel]:
    """List the models that attacks found.

    Each is the worst one found for the cosines of a side or for its neighbour lists.

    Examples
    --------
    >>> from embaudit.attacks import worst_gauge
    >>> from embaudit.model import FactorModel
    >>> model = FactorModel.from_vectors([[1.0, 0.0], [0.0, 1.0]])
    >>> group = GeneralLinear(2, max_condition=3.0)
    >>> attack = worst_gauge(model, group, n_pairs=1, rng=0)
    >>> [(found.name, found.kind) for found in attacked_models(model, [attack])]
    [('worst found for item cosines', 'worst')]
    """
    models: list[EquivalentModel] = []
    for attack in attacks:
        measure = "lists" if attack.objective == "neighbours" else "cosines"
        name = f"worst found for {model.title(attack.role)} {measure}"
        if isinstance(attack.group, Affine):
            name += ", with a shift"
        shift = _shift_length(attack.group, attack.gauge)
        models.append(GaugedModel.from_gauge(attack.gauge, name, WORST, shift=shift))
    return models


@dataclass(frozen=True, eq=False, kw_only=True)
class RearrangedModel(EquivalentModel):
    """The equivalent model that the test of unit rows found.

    Its gauge keeps the lengths of the rows of one model, but not of other rows.
    """

    pinning: Pinning
    """The test."""
    gauge: Gauge

    @property
    def rank(self) -> int:
        """Number of columns that the gauge acts on."""
        return self.gauge.rank

    def apply_to_columns(self, model: FactorModel) -> FactorModel:
        """Make the equivalent model of a model with `rank` columns."""
        return self.pinning.twin(model)

    def rows(self, model: FactorModel, side: SideName) -> Matrix:
        """Return the rows of one side in the equivalent model."""
        return self.apply(model).factors(side)


@dataclass(frozen=True, eq=False, kw_only=True)
class OriginMoved(EquivalentModel):
    """Rows of the Poincaré ball after an isometry that takes `centre` to the origin.

    An isometry changes no hyperbolic distance.
    """

    centre: Vector
    """(k,) the point that becomes the origin."""

    @property
    def rank(self) -> int:
        """Number of columns that the isometry acts on."""
        return len(self.centre)

    def apply_to_columns(self, model: FactorModel) -> FactorModel:
        """Make the equivalent model of a model with `rank` columns."""
        return model.replace(right=self.rows(model, "right"))

    def rows(self, model: FactorModel, side: SideName) -> Matrix:
        """Return the Möbius sums of −a and each row x, with a the centre (Ungar, 2008).

        `(−a) ⊕ x = ((1 − ‖a‖²) x − (1 − 2 a·x + ‖x‖²) a) / (1 − 2 a·x + ‖a‖²‖x‖²)`.
        """
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
            gauge=None,
            condition_number=1.0,
            amplification=1.0,
            shift=0.0,
            shifted_side="right",
            centre=np.asarray(model.right[row], dtype=np.float64) / 2,
        )
        for number, row in enumerate(rows, 1)
    ]


def rearranged_models(pinning: Pinning | None) -> list[EquivalentModel]:
    """List the equivalent model that the test of unit rows found, if it found one.

    Where rows have length 1, the other visited models are rotations, which move no
    cosine.
    """
    if pinning is None or pinning.status != "free" or pinning.witness is None:
        return []
    kappa = pinning.witness.condition_number
    name = "rows rearranged at their lengths"
    return [
        RearrangedModel(
            name=name,
            kind=REARRANGED,
            title=name,
            gauge=pinning.witness,
            condition_number=kappa,
            amplification=kappa,
            shift=0.0,
            shifted_side="right",
            pinning=pinning,
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

    If the model has more columns than rows, a rescaling acts on its stored columns. The
    other families act on the dimensions that its rows span.

    Parameters
    ----------
    model : FactorModel
        The current model.
    group : str
        The family to draw from.
    exponent : float, optional
        Exponent of a canonical model, from 0 (left-whitened) to 1 (right-whitened),
        instead of a draw.
    max_condition : float
        Budget of a draw.
    rng : numpy Generator or int
        Source of the draw.

    Raises
    ------
    InputError
        If the family has no gauge that keeps the predictions of this model, or its
        products overflow.

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
        name = f"exponent {exponent:g}"
        return replace(equivalent_at(small, exponent, name), basis=basis)
    draw = as_generator(rng)
    # A family can have several models, for example one per side that can be shifted.
    drawn = equivalent_models(
        small,
        groups=[group],
        n_gauges=1,
        max_condition=max_condition,
        basis=basis,
        parameter="group",
        rng=draw,
    )
    return drawn[0]
