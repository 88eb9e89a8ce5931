"""Everything an audit measures, before anything is concluded from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from embaudit.auditing.equivalence_class import EquivalenceClass, equivalence_class_of
from embaudit.auditing.equivalents import (
    REARRANGED,
    attacked_models,
    equivalent_models,
    rearranged_models,
)
from embaudit.auditing.heads import (
    N_GAUGES,
    N_PAIRS,
    HeadReport,
    head_report,
    panel_size,
)
from embaudit.auditing.identity import ScoreChange
from embaudit.auditing.limits import Limits, attack_jobs, bounded_roles, limits_of
from embaudit.auditing.options import Options
from embaudit.auditing.predicted import (
    PenaltyForm,
    Predicted,
    by_prediction,
    penalty_form,
    without_unseen,
)
from embaudit.auditing.texts import DEFAULTS
from embaudit.auditing.traits import Traits, beside_bias, counts_bias, traits_of
from embaudit.canonical import Position, position
from embaudit.canonical.equivalents import EquivalentModel
from embaudit.canonical.row_span import span_basis, stored_columns, turned
from embaudit.core.checked import Indices, as_count, require_one_of
from embaudit.core.parallel import one_blas_thread, results_of, row_blocks
from embaudit.core.progress import announced
from embaudit.core.ties import largest_first
from embaudit.errors import InputError, must_be
from embaudit.linalg.nearest import list_length, require_length
from embaudit.linalg.rows import sample_rows
from embaudit.model import Equivalence, FactorModel, Pairs, Role, SideName, Softmax
from embaudit.model.drift import Drift, DriftSample
from embaudit.model.final_norm import FinalNorm
from embaudit.model.sizes import require_ordinary_size, shape_question
from embaudit.model.tying import Tying
from embaudit.movements import twins
from embaudit.movements.movement import Movement, MovementProbe
from embaudit.movements.neighbourhoods import Neighbourhood, find_rows, neighbourhoods
from embaudit.softmax.conventions import NormEvidence, norm_evidence
from embaudit.softmax.label_sample import only_labels

_Visit: TypeAlias = "tuple[Drift, tuple[Movement, ...]]"
SHOWN = 3
"""Rows whose neighbours are shown unless the caller names some."""
PROBES = 256
"""Left rows drawn to check the predictions of a one-sided model."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """Evidence measured on one model and its equivalent models."""

    model: FactorModel
    """The model at hand; of a head with very many labels, some of them."""
    equivalence: EquivalenceClass
    """The models that predict the same, and whether they have other cosines."""
    seed: int = 0
    """Seed of every random draw; given again, it gives the same numbers."""
    options: Options = field(default_factory=Options)
    """Sample sizes, and what was asked for and declared."""
    equivalents: tuple[EquivalentModel, ...] = ()
    """The equivalent models visited."""
    drift: tuple[Drift, ...] = ()
    """Change of the predictions, one an equivalent model."""
    movement: tuple[tuple[Movement, ...], ...] = ()
    """Movement of the cosines, one a role, for every equivalent model."""
    limits: Limits = field(default_factory=Limits)
    """Bounds of the movement of cosines within a budget."""
    declared_by: str = "as you declared"
    """Source of the training, or of how rows are compared, as a sentence names it."""
    tying: Tying | None = None
    """Whether a head is also the input embeddings of its network; None if it is not."""
    position: Position | None = None
    """Place of the model among its canonical forms; None for a one-sided model."""
    examples_gauge: str | None = None
    """The equivalent model whose neighbours are shown."""
    examples: tuple[Neighbourhood, ...] = ()
    """Neighbours of a few rows in the model and in that one."""
    beside_bias: tuple[Neighbourhood, ...] = ()
    """Neighbours without the bias and with it, as libraries list them that keep it among the factors."""
    columns: tuple[int, ...] | None = None
    """The stored column of each column of `model`, if columns of zeros were left out."""
    width: int | None = None
    """Columns of the rows as stored, if `model` has fewer."""
    score_change: ScoreChange | None = None
    """Agreement of a few scores with those of a baseline; None without one."""
    predicted: Predicted | None = None
    """Distance of the cosines from prediction cosines; None where one side alone is at hand."""
    unseen: tuple[Movement, ...] = ()
    """Movement of cosines when components that no prediction sees are removed, one a side that holds some."""
    penalty: PenaltyForm | None = None
    """The form that the penalty of the declared training would have chosen, where its law is known."""
    head: HeadReport | None = None
    """Measurements of a softmax head besides, on all of its labels."""
    norm: NormEvidence | None = None
    """Differences of the cosines of a head that its final norm leaves open, where that norm is available."""
    traits: tuple[Traits, ...] = ()
    """Traits of the rows, a record a side; of a head those of all of its labels."""
    thresholds: Mapping[str, float] = field(default_factory=lambda: DEFAULTS)
    """Reporting thresholds of the row-trait checks, by name; what is proven or shown depends on none."""

    @property
    def roles(self) -> tuple[Role, ...]:
        """Kinds of pairs that were looked at."""
        return tuple(self.equivalence.freedom)

    @property
    def role(self) -> Role:
        """Kind of pairs that the answer is on: the requested one, else right ones, else the first one measured."""
        if self.options.role is not None:
            return self.options.role
        return "right" if "right" in self.roles else next(iter(self.roles))

    def n_sampled(self, role: Role) -> int | None:
        """Return how many labels of a larger head were sampled for pairs; None where no label was left out."""
        some = (
            self.head is not None
            and len(self.head.model.right_side.eligible_rows) > self.model.n_right
        )
        return self.model.n_right if some and role != "left" else None

    @property
    def n_visited(self) -> int:
        """Return how many equivalent models had their predictions checked, those of a head's own labels included."""
        return len(self.drift) + (0 if self.head is None else len(self.head.verifiable))

    @property
    def predictions_hold(self) -> bool:
        """True if rounding explains every change of a prediction; if not, nothing else can be trusted."""
        measured = [
            record.verified for record in (self.head, self.norm) if record is not None
        ]
        return all(record.ok for record in self.drift) and all(measured)

    def visits(self, *roles: Role) -> list[tuple[EquivalentModel, Movement]]:
        """Pair the equivalent models with their movement of some roles, all by default."""
        pairs = zip(self.equivalents, self.movement, strict=True)
        return [
            (model, record)
            for model, records in pairs
            for record in records
            if not roles or record.role in roles
        ]


def default_roles(model: FactorModel) -> tuple[Role, ...]:
    """List the roles whose cosines can move: sides with two rows or more that have a direction, and left-right pairs.

    Raises
    ------
    InputError
        If there is no such side.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> pair = FactorModel.from_user_item([[2.0, 0.0], [0.0, 1.0]], [[1.0, 3.0], [2.0, 0.0]])
    >>> others = pair.replace(left=np.zeros((2, 2))), pair.replace(link="cosine"), pair.take(left=np.array([0]))
    >>> [default_roles(model) for model in (pair, *others)]
    [('right', 'left', 'cross'), ('right',), ('right', 'left'), ('right', 'cross')]
    >>> default_roles(FactorModel.from_vectors([[1.0, 2.0]]))
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: a model to audit must be of two rows or more that are not zero on one side; got
    FactorModel(1 item, 2 dimensions, ...); if its columns are the entities, read it with transpose='right'.
    """
    rows = {side: len(model.side(side).directed) for side in model.sides}
    roles: list[Role] = [side for side in reversed(model.sides) if rows[side] > 1]
    if not roles:
        alone = model.n_right == 1 and shape_question(model) is not None
        remedy = (
            "if its columns are the entities, read it with --transpose=right"
            if alone
            else ""
        )
        raise must_be(
            "a model to audit",
            "of two rows or more that are not zero on one side",
            f"{model!r}",
            remedy,
        )
    # Where cosines are predicted, left-right cosines are the predictions, which no equivalent model changes.
    cross = (
        min(rows.values()) > 0
        and model.left is not None
        and model.predicts is not Equivalence.COSINES
    )
    return (*roles, "cross") if cross else tuple(roles)


def require_roles(
    model: FactorModel,
    roles: Sequence[Role] | None = None,
    primary_role: Role | None = None,
) -> tuple[Role, ...]:
    """Check chosen roles against those the model has, all by default, and the one asked about against the chosen."""
    possible = default_roles(model)
    selected = possible if roles is None else tuple(dict.fromkeys(roles))
    if not selected:
        raise must_be("roles", "one or more of " + ", ".join(possible), "none")
    for role, among in [
        *((role, possible) for role in selected),
        (primary_role or selected[0], selected),
    ]:
        require_one_of(role, "role", among)
    return selected


def with_probes(model: FactorModel, rng: np.random.Generator) -> FactorModel:
    """Give a model that lacks its left side such rows, at the scale of its right ones, to check its predictions on."""
    if model.left is not None or model.compared is not None:
        return model
    k, x = model.rank, model.right
    means = [
        np.square(x[rows], dtype=np.float64).mean() for rows in row_blocks(len(x), k)
    ]
    # Normal probes over the typical length of a right row have scores of about 1, where a softmax is neither flat nor
    # saturated. Blocks weigh alike although the last may be shorter: the scale need not be exact.
    length = float(np.sqrt(np.mean(means))) * np.sqrt(k)
    return model.replace(
        left=rng.standard_normal((PROBES, k)) / (length or 1.0), objective=None
    )


def gather(
    model: FactorModel,
    options: Options | None = None,
    *,
    final_norm: FinalNorm | None = None,
    parts: NDArray[np.str_] | None = None,
    rng: int = 0,
) -> Evidence:
    """Measure drift and movement over the equivalent models.

    A softmax head is measured on all of its labels first, and on some of them from then on, if they are very many.
    Then equivalent models are drawn and, once pairs and lists are sampled, visited; what attacks make is visited last.

    Parameters
    ----------
    model : FactorModel
        The model at hand.
    options : Options, optional
        Sample sizes, and what to look at.
    final_norm : FinalNorm, optional
        What normalises the states of a network before its head.
    parts : array of str, optional
        The name of the part of each right row, if parts of one table are known.
    rng : int
        Seed of every draw.
    """
    options = Options() if options is None else options
    effort, draw = options.effort, np.random.default_rng(as_count(rng, "rng", least=0))
    side: SideName = "left" if options.role == "left" else "right"
    require_length(options.n_neighbours, len(model.side(side)))
    sizes: dict[str, Any] = {
        "n_neighbours": options.n_neighbours,
        "n_lists": effort.n_lists,
    }
    with announced("finding the span of the rows"):
        whole, basis = model, span_basis(model)
        columns = stored_columns(basis)
        model = turned(whole, basis)
    spanned, head, norm = model, None, None
    # The labels that take part beside those of the head's own evidence: of a small head all that are not set aside.
    n_labels = panel_size(model.rank, effort.n_lists)
    labels = sample_rows(
        model.right_side.eligible_rows, n_labels, np.random.default_rng(rng)
    )
    if isinstance(model.link, Softmax):
        of_head = sizes | {
            "n_labels": n_labels,
            "n_pairs": min(N_PAIRS, effort.n_pairs),
        }
        of_head |= {
            "n_gauges": min(N_GAUGES, effort.n_gauges),
            "max_condition": options.max_condition,
        }
        # A generator of its own, so that sizes of the head's samples do not move the draws of what follows.
        head = head_report(model, rng=np.random.default_rng(rng), **of_head)
        model = only_labels(model, labels)
    if final_norm is not None:
        norm = norm_evidence(
            whole, final_norm, labels=labels, rng=np.random.default_rng(rng), **sizes
        )
    selected = require_roles(model, options.roles, options.role)
    require_ordinary_size(model)
    shown = find_rows(model, side, options.show) if options.show else None
    checked = with_probes(model, draw)
    with announced("drawing equivalent models"):
        drawn: dict[str, Any] = {
            "n_gauges": effort.n_gauges,
            "max_condition": options.max_condition,
            "basis": basis,
        }
        equivalents = equivalent_models(model, groups=options.groups, **drawn, rng=draw)
    with announced("sampling pairs and lists"):
        probe = MovementProbe(
            model, selected, n_pairs=effort.n_pairs, **sizes, rng=draw
        )
    with one_blas_thread():  # the products are small: its threads would wait for each other longer than they compute
        # Whether cosines can move at all is concluded for the whole class (docs/theory.md, "There are no others"):
        # models visited, however many, could not prove that nothing moves.
        equivalence = equivalence_class_of(
            model, selected, uncut=spanned, width=whole.rank, rng=rng
        )
        bounded = bounded_roles(model, selected)
        visits = _visits(equivalents, checked, probe, draw)
        # Visits multiply while an attack does many small things in turn: both at once, the longest attack first.
        jobs = attack_jobs(model, bounded, options, draw)[::-1]
        results = results_of([*jobs, *visits], "visiting equivalent models")
        attacks, visited = results[: len(jobs)][::-1], results[len(jobs) :]
        stored = (
            model
            if basis is None
            else only_labels(whole, labels)
            if head is not None
            else whole
        )
        limits = limits_of(model, bounded, options, attacks, draw, stored=stored)
        # A search is judged by the pairs and lists of all models, not by those that it was made for.
        attacked = [
            *attacked_models(model, attacks),
            *rearranged_models(equivalence.pinning),
        ]
        # Seeded anew, so that how many models attacks add does not move the draw of the rows shown.
        again = _visits(attacked, checked, probe, np.random.default_rng(rng))
        # Measurements of the model as it is take no gauge: they run beside the visits of the worst models.
        as_it_is = partial(
            _as_it_is,
            whole,
            model,
            equivalence,
            visited[0][1],
            options.n_neighbours,
            parts,
            columns,
            rng,
        )
        *visited_again, forms = results_of([*again, as_it_is], "visiting the worst")
        shown = _long_rows(model, side, SHOWN, draw) if shown is None else shown
        # Lists are shown in a model that was not searched for its lists. The rearranged model counts: beside it only
        # rotations are drawn, which move nothing.
        pairs = [
            pair
            for pair in zip(attacked, visited_again, strict=True)
            if pair[0].kind == REARRANGED
        ]
        furthest = _furthest([*zip(equivalents, visited, strict=True), *pairs], side)
        with announced("comparing neighbours"):
            compared = _compared(probe, equivalence, furthest, side, shown)
    return Evidence(
        model=model,
        columns=columns,
        width=whole.rank,
        equivalence=equivalence,
        seed=rng,
        options=options,
        tying=whole.tying,
        equivalents=(*equivalents, *attacked),
        drift=tuple(change for change, _ in (*visited, *visited_again)),
        movement=tuple(moved for _, moved in (*visited, *visited_again)),
        limits=limits,
        head=head,
        norm=norm,
        **(forms | compared),
    )


def _visits(
    equivalents: Sequence[EquivalentModel],
    checked: FactorModel,
    probe: MovementProbe,
    draw: np.random.Generator,
) -> list[Callable[[], _Visit]]:
    """Measure what became of the predictions and the cosines in each equivalent model, which is never made whole."""

    def visit(equivalent: EquivalentModel, sample: DriftSample) -> _Visit:
        moved = sample.drift(equivalent.of(sample.model), equivalent.amplification)
        return moved, probe.measure_rows(
            {side: equivalent.rows(probe.model, side) for side in probe.sides}
        )

    samples = DriftSample.several(checked, len(equivalents), draw)
    return [partial(visit, *pair) for pair in zip(equivalents, samples, strict=True)]


def _furthest(
    visits: Iterable[tuple[EquivalentModel, _Visit]], side: SideName
) -> EquivalentModel | None:
    """Find the equivalent model where the lists of a side changed most, the first of those alike."""
    overlaps = [
        (record.top_n_overlap, model)
        for model, (_, records) in visits
        for record in records
        if record.role == side and record.top_n
    ]
    return min(overlaps, key=lambda pair: pair[0])[1] if overlaps else None


def _compared(
    probe: MovementProbe,
    equivalence: EquivalenceClass,
    equal: EquivalentModel | None,
    side: SideName,
    rows: Indices,
) -> dict[str, Any]:
    """Compare the neighbours of a few rows with those in an equivalent model, and cosines with prediction cosines."""
    model = probe.model
    n = list_length(probe.n_neighbours, len(model.side(side).directed))
    biased = side == "right" and counts_bias(model)
    return {
        "examples_gauge": None if equal is None else equal.name,
        "examples": ()
        if equal is None
        else neighbourhoods(model, equal.rows(model, side), role=side, rows=rows, n=n),
        "predicted": by_prediction(probe, side=side, rows=rows, n=n),
        "beside_bias": beside_bias(
            model.right_side, rows, n, both=model.left_bias is not None
        )
        if biased
        else (),
        "unseen": without_unseen(probe, equivalence.outside),
        "penalty": penalty_form(probe),
    }


def _as_it_is(
    whole: FactorModel,
    looked_at: FactorModel,
    equivalence: EquivalenceClass,
    records: Sequence[Movement],
    n_neighbours: int | None,
    parts: NDArray[np.str_] | None,
    columns: tuple[int, ...] | None,
    rng: int,
) -> dict[str, Any]:
    """Measure what belongs to this model: where it lies among equivalent ones, and what all of its rows are like."""
    # Figures of the same lists are the same figures; labels of a head are looked at in lists of all of them.
    same = looked_at is whole and not isinstance(whole.link, Softmax)
    lists = {
        record.role: record.lists
        for record in records
        if same and record.lists is not None
    }
    draw = np.random.default_rng(rng)
    traits = tuple(
        traits_of(
            whole,
            side,
            n_neighbours=n_neighbours,
            lists=lists.get(side),
            parts=parts,
            rng=draw,
        )
        for side in dict.fromkeys(
            side for role in equivalence.freedom for side in Pairs(role).sides
        )
        if len(whole.side(side).directed) > 1
    )
    try:
        place = None if looked_at.left is None else position(looked_at)
    except InputError:  # biases can hold every score, so that nothing of the factors lies among canonical forms
        place = None
    if place is not None and columns is not None:
        # Sentences name the columns that the user knows.
        biases = tuple(
            bias if bias.column is None else replace(bias, column=columns[bias.column])
            for bias in place.hidden_biases
        )
        place = replace(place, hidden_biases=biases)
    return {"position": place, "traits": traits}


def _long_rows(
    model: FactorModel, role: SideName, count: int, draw: np.random.Generator
) -> Indices:
    """Draw from the longest twentieth of the rows without twins: entities with much behind them, which people know.

    Rows that all have length 1 are drawn from all of them.
    """
    side, groups = model.side(role), twins(model, role=role)
    # Rows with a twin are struck out, as a copy would be their nearest row; where all have one, the first row of each
    # group stands for it.
    norms = side.norms * (
        groups.alone
        if groups.alone[side.directed].any()
        else groups.first == np.arange(len(side))
    )
    has_lengths = not (side.is_unit or model.link.unit_sides)
    n_longest = max(count, len(norms) // 20) if has_lengths else len(norms)
    longest = largest_first(norms)[:n_longest]
    longest = longest[norms[longest] > 0]
    return sample_rows(longest, count, draw)
