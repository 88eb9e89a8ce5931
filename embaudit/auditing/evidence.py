"""Everything an audit measures, before anything is concluded from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from os import PathLike
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from embaudit.auditing.bias_columns import (
    bias_can_change_neighbours,
    neighbours_with_bias,
)
from embaudit.auditing.diagnosis import Diagnosis, diagnose
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
from embaudit.auditing.options import AuditOptions
from embaudit.auditing.predicted import (
    PenaltyForm,
    Predicted,
    by_prediction,
    penalty_form,
    without_unseen,
)
from embaudit.auditing.traits import Traits, traits_of
from embaudit.canonical import Position, position
from embaudit.canonical.equivalents import EquivalentModel
from embaudit.canonical.row_span import span_basis, stored_columns, turned
from embaudit.core.checked import Floats, Indices, as_count, require_one_of
from embaudit.core.parallel import one_blas_thread, results_of, row_blocks
from embaudit.core.progress import announced
from embaudit.core.ties import largest_first
from embaudit.errors import InputError, Option, Sentence, must_be
from embaudit.heads.conventions import NormEvidence, norm_evidence
from embaudit.heads.label_sample import only_labels
from embaudit.io.intake import Metric
from embaudit.linalg.nearest import list_length, require_length
from embaudit.linalg.rows import sample_rows
from embaudit.model import Equivalence, FactorModel, Pairs, Role, SideName
from embaudit.model.drift import Drift, DriftSample
from embaudit.model.final_norm import FinalNorm
from embaudit.model.side import Side
from embaudit.model.sizes import require_ordinary_size, shape_question
from embaudit.model.tying import Tying
from embaudit.movements import twins
from embaudit.movements.movement import Movement, MovementProbe
from embaudit.movements.neighbourhoods import Neighbourhood, find_rows, neighbourhoods
from embaudit.serving.index_metric import IndexMetric, has_metric, served_lists
from embaudit.serving.nearly_equal import NearlyEqual, nearly_equal
from embaudit.serving.queries import QueryReach, measure_reach

_Visit: TypeAlias = "tuple[Drift, tuple[Movement, ...]]"
SHOWN = 3
"""Number of rows whose neighbours are shown, unless the caller names rows."""
PROBES = 256
"""Left rows drawn to check the predictions of a one-sided model."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """Evidence measured on one model and its equivalent models."""

    model: FactorModel
    """The model that is compared with equivalent models.

    Of a head with very many labels, it has a sample of them. Of a long table, a quick
    audit compares a sample of the rows.
    """
    equivalence: EquivalenceClass
    """The models that predict the same, and whether their cosines differ."""
    seed: int = 0
    """Seed of every random draw; the same seed gives the same numbers."""
    options: AuditOptions = field(default_factory=AuditOptions)
    """Sample sizes, and the options that the caller requested and declared."""
    equivalents: tuple[EquivalentModel, ...] = ()
    """The equivalent models visited."""
    drift: tuple[Drift, ...] = ()
    """Change of the predictions, one record per equivalent model."""
    movement: tuple[tuple[Movement, ...], ...] = ()
    """Movement of the cosines, one record per role, for every equivalent model."""
    limits: Limits = field(default_factory=Limits)
    """Bounds of the movement of cosines within a budget."""
    declared_by: str = "as you declared"
    """Source of the training, or of how rows are compared, as sentences name it."""
    tying: Tying | None = None
    """Tying of a head to the input embeddings of its network; None if separate."""
    position: Position | None = None
    """Place of the model among its canonical forms; None for a one-sided model."""
    examples_gauge: str | None = None
    """The equivalent model whose neighbours are shown."""
    examples: tuple[Neighbourhood, ...] = ()
    """Neighbours of a few rows in the model and in the equivalent model shown."""
    bias_examples: tuple[Neighbourhood, ...] = ()
    """Neighbours of a few rows without the bias and with the bias as a column.

    Libraries that store the bias among the factors list the second kind.
    """
    columns: tuple[int, ...] | None = None
    """The stored column of each column of `model`, if columns of zeros were dropped."""
    width: int | None = None
    """Number of columns of the rows as stored; `model` may have fewer."""
    uncut: FactorModel | None = None
    """The table with all rows, if `model` has a sample of them; None for a head."""
    score_change: ScoreChange | None = None
    """Agreement of a few scores with the scores of a baseline; None without a
    baseline.
    """
    predicted: Predicted | None = None
    """Distance of the cosines from prediction cosines; None for one side alone."""
    unseen: tuple[Movement, ...] = ()
    """Movement of cosines when components that no prediction sees are removed.

    There is one record per side that has such components.
    """
    penalty: PenaltyForm | None = None
    """Form that the penalty of the declared training chooses, if its law is known."""
    nearly_equal: NearlyEqual | None = None
    """Neighbours that stay if scores change a little; None without the options
    tolerance and noise.
    """
    nearly_equal_shown: NearlyEqual | None = None
    """Neighbours that stay, for the rows to show."""
    head: HeadReport | None = None
    """Additional measurements of a softmax head, on all of its labels."""
    norm: NormEvidence | None = None
    """Differences of the cosines of a head between conventions of its final norm.

    None if the final norm is not available.
    """
    traits: tuple[Traits, ...] = ()
    """Traits of the rows, one record per side; for a head, traits of all its labels."""
    served: IndexMetric | None = None
    """The lists of an index of these vectors; None if its measure is not known."""
    stated: Metric | None = None
    """How the store of the model compares rows; None if the model is in no store."""
    reach: QueryReach | None = None
    """The rows that queries find; None without queries."""

    @property
    def declared_training(self) -> str:
        """The declared training, if there is one, and who declared it."""
        if self.model.objective is None:
            return self.declared_by
        return f"{self.model.objective}, {self.declared_by}"

    @property
    def roles(self) -> tuple[Role, ...]:
        """Kinds of pairs that were measured."""
        return tuple(self.equivalence.freedom)

    @property
    def role(self) -> Role:
        """Kind of pairs that the answer is about.

        It is the requested role, or else "right", or else the first role measured.
        """
        if self.options.role is not None:
            return self.model.role(self.options.role)
        if "right" in self.roles:
            return "right"
        return self.roles[0]

    @cached_property
    def diagnosis(self) -> Diagnosis:
        """The facts that decide the answer."""
        return diagnose(self)

    @property
    def whole(self) -> FactorModel:
        """The model with all rows, which the traits and the head report are about."""
        if self.head is not None:
            return self.head.model
        return self.model if self.uncut is None else self.uncut

    def n_sampled(self, role: Role) -> int | None:
        """Return the number of right rows that were sampled from a larger model.

        Return None if all rows were measured, or if the role has no right rows.
        """
        if role == "left":
            return None
        n_eligible = len(self.whole.right_side.eligible_rows)
        if n_eligible <= self.model.n_right:
            return None
        return self.model.n_right

    @property
    def n_visited(self) -> int:
        """Number of equivalent models whose predictions were checked.

        The equivalent models of all labels of a head are included.
        """
        if self.head is None:
            return len(self.drift)
        return len(self.drift) + len(self.head.verifiable)

    @property
    def predictions_hold(self) -> bool:
        """True if rounding explains every change of a prediction.

        If not, nothing else in the audit can be trusted.
        """
        if self.head is not None and not self.head.verified:
            return False
        if self.norm is not None and not self.norm.verified:
            return False
        return all(record.ok for record in self.drift)

    def visits(self, *roles: Role) -> list[tuple[EquivalentModel, Movement]]:
        """Pair each equivalent model with its movement of the roles, by default all."""
        pairs = zip(self.equivalents, self.movement, strict=True)
        return [
            (model, record)
            for model, records in pairs
            for record in records
            if not roles or record.role in roles
        ]


def default_roles(model: FactorModel) -> tuple[Role, ...]:
    """List the roles whose cosines can move.

    These are the sides with two or more rows that have a direction, and left-right
    pairs.

    Raises
    ------
    InputError
        If no side has two rows with a direction.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> users, items = [[2.0, 0.0], [0.0, 1.0]], [[1.0, 3.0], [2.0, 0.0]]
    >>> model = FactorModel.from_user_item(users, items)
    >>> default_roles(model)
    ('right', 'left', 'cross')
    >>> default_roles(model.replace(left=np.zeros((2, 2))))
    ('right',)
    >>> default_roles(model.replace(link="cosine"))
    ('right', 'left')
    >>> default_roles(model.take(left=np.array([0])))
    ('right', 'cross')
    >>> default_roles(FactorModel.from_vectors([[1.0, 2.0]]))
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: one side of a model to audit must be a table with at
    least two nonzero rows; got FactorModel(1 item, 2 dimensions, ...); if its columns
    are the entities, read it with transpose='right'.
    """
    rows = {side: len(model.side(side).directed) for side in model.sides}
    roles: list[Role] = [side for side in reversed(model.sides) if rows[side] > 1]
    if not roles:
        remedy: str | Sentence = ""
        if model.n_right == 1 and shape_question(model) is not None:
            remedy = Sentence(
                "if its columns are the entities, read it with {}",
                Option("transpose", "right"),
            )
        raise must_be(
            "one side of a model to audit",
            "a table with at least two nonzero rows",
            f"{model!r}",
            remedy,
        )
    # If cosines are predicted, the left-right cosines are the predictions, so no
    # equivalent model changes them.
    if (
        model.left is not None
        and min(rows.values()) > 0
        and model.predicts is not Equivalence.COSINES
    ):
        roles.append("cross")
    return tuple(roles)


def require_roles(
    model: FactorModel,
    roles: Sequence[Role | str] | None = None,
    primary_role: Role | str | None = None,
) -> tuple[Role, ...]:
    """Return the roles to measure, by default all that the model has.

    Raises
    ------
    InputError
        If `roles` is empty or has a role that the model lacks, or if `primary_role` is
        not one of the roles to measure.
    """
    possible = default_roles(model)
    selected = possible
    if roles is not None:
        selected = tuple(dict.fromkeys(model.role(name) for name in roles))
    if not selected:
        raise must_be("roles", "one or more of " + ", ".join(possible), "an empty list")
    for role in selected:
        require_one_of(role, "role", possible)
    if primary_role is not None:
        require_one_of(model.role(primary_role), "role", selected)
    return selected


def with_probes(model: FactorModel, rng: np.random.Generator) -> FactorModel:
    """Give a one-sided model random left rows, on which its predictions are checked.

    A model with left rows, or with rows that are compared with each other, is returned
    as it is.
    """
    if model.left is not None or model.compared is not None:
        return model
    k, x = model.rank, model.right
    means = [
        np.square(x[rows], dtype=np.float64).mean() for rows in row_blocks(len(x), k)
    ]
    # Normal probes divided by the typical length of a right row have scores of about 1,
    # at which a softmax is neither flat nor saturated. All blocks have the same weight
    # although the last may be shorter, because the scale need not be exact.
    length = float(np.sqrt(np.mean(means))) * np.sqrt(k)
    return model.replace(
        left=rng.standard_normal((PROBES, k)) / (length or 1.0), objective=None
    )


def gather(
    model: FactorModel,
    options: AuditOptions | None = None,
    *,
    final_norm: FinalNorm | None = None,
    parts: NDArray[np.str_] | None = None,
    rows: Indices | None = None,
    stated: Metric | None = None,
    queries: Side | None = None,
    listed: FactorModel | None = None,
    rng: int = 0,
) -> Evidence:
    """Measure drift and movement over the equivalent models.

    The steps are:

    1. Measure a softmax head on all of its labels. If there are very many labels, the
       later steps use a sample of them.
    2. Draw equivalent models, and sample pairs and lists.
    3. Visit the equivalent models: measure their drift and movement. Search for worse
       ones by attacks at the same time.
    4. Visit the models that the attacks found.

    Parameters
    ----------
    model : FactorModel
        The audited model.
    options : AuditOptions, optional
        Sample sizes and roles.
    final_norm : FinalNorm, optional
        Norm of the states of a network before its head.
    parts : array of str, optional
        The name of the part of each right row, if parts of one table are known.
    rows : array of int, optional
        Rows of one table on which cosines and lists are compared with equivalent
        models; by default all rows. Whether cosines are fixed is decided for all rows,
        and traits also describe all rows.
    stated : Metric, optional
        How the store of the model compares rows, unless the options say it.
    queries : Side, optional
        Queries of a search in the rows.
    listed : FactorModel, optional
        The model that the queries are searched in. By default the audited model, which
        can be a sample of `searched`.
    rng : int
        Seed of every draw.
    """
    if options is None:
        options = AuditOptions()
    effort = options.effort
    draw = np.random.default_rng(as_count(rng, "rng", least=0))
    side: SideName = "right"
    if options.role == "left":
        side = "left"
    require_length(options.n_neighbours, len(model.side(side)))
    sizes: dict[str, Any] = {
        "n_neighbours": options.n_neighbours,
        "n_lists": effort.n_lists,
    }
    stages = _stages(model, options, rows, sizes, rng)
    whole, head, labels = stages.whole, stages.head, stages.labels
    model = stages.compared
    norm = None
    if final_norm is not None:
        norm = norm_evidence(
            whole, final_norm, labels=labels, rng=np.random.default_rng(rng), **sizes
        )
    selected = require_roles(model, options.roles, options.role)
    require_ordinary_size(model)
    rows_to_show = None
    if options.show:
        rows_to_show = find_rows(model, side, options.show)
    checked = with_probes(model, draw)
    with announced("drawing equivalent models"):
        equivalents = equivalent_models(
            model,
            groups=options.groups,
            n_gauges=effort.n_gauges,
            max_condition=options.max_condition,
            basis=stages.basis,
            rng=draw,
        )
    with announced("sampling pairs and lists"):
        probe = MovementProbe(
            model, selected, n_pairs=effort.n_pairs, **sizes, rng=draw
        )
    # The products are small, so threads of BLAS would wait for each other longer than
    # they compute.
    with one_blas_thread():
        # Whether cosines can move at all is concluded for the whole class
        # (docs/theory.md, "There are no others"), because visits of any number of
        # models could not prove that nothing moves.
        equivalence = equivalence_class_of(
            stages.deciding,
            selected,
            uncut=stages.spanned,
            width=whole.rank,
            rng=rng,
        )
        bounded = bounded_roles(model, selected)
        visits = _visits(equivalents, checked, probe, draw)
        # An attack takes many small steps in turn while visits multiply matrices, so
        # both run at the same time. The last attack takes longest, so it starts first.
        jobs = attack_jobs(model, bounded, options, draw)[::-1]
        results = results_of([*jobs, *visits], "visiting equivalent models")
        attacks = results[: len(jobs)][::-1]
        visited = results[len(jobs) :]
        limits = limits_of(model, bounded, options, attacks, draw, stored=stages.stored)
        # Models that attacks found are measured on the same pairs and lists as all
        # other models, not on the sample of the attack.
        attacked = [
            *attacked_models(model, attacks),
            *rearranged_models(equivalence.pinning),
        ]
        # A new generator is seeded, so that the number of models that attacks add does
        # not change which rows are shown.
        again = _visits(attacked, checked, probe, np.random.default_rng(rng))
        # Measurements of the model itself need no gauge, so they run at the same time.
        as_it_is = partial(
            _as_it_is,
            whole,
            model,
            equivalence,
            visited[0][1],
            options.n_neighbours,
            parts,
            stages.columns,
            rng,
        )
        lists: list[Callable[[], Any]] = [
            partial(_served, whole, options, stated, rows, rng),
            partial(_reach, listed, whole, queries, options, stated, rows, rng),
        ]
        *visited_again, forms, served_by_index, reached = results_of(
            [*again, as_it_is, *lists], "visiting the worst"
        )
        if rows_to_show is None:
            rows_to_show = _long_rows(model, side, SHOWN, draw)
        visits_of_drawn = zip(equivalents, visited, strict=True)
        rearranged = _rearranged(zip(attacked, visited_again, strict=True))
        furthest = _furthest([*visits_of_drawn, *rearranged], side)
        with announced("comparing neighbours"):
            compared = _compared(probe, equivalence, furthest, side, rows_to_show)
            shown = _whole_rows(rows_to_show, side, head, labels)
            near = _nearly_equal(whole, options, side, shown, rng)
    all_visited = [*visited, *visited_again]
    return Evidence(
        model=model,
        columns=stages.columns,
        width=whole.rank,
        uncut=stages.uncut,
        equivalence=equivalence,
        seed=rng,
        options=options,
        tying=whole.tying,
        equivalents=(*equivalents, *attacked),
        drift=tuple(change for change, _ in all_visited),
        movement=tuple(moved for _, moved in all_visited),
        limits=limits,
        head=head,
        norm=norm,
        served=served_by_index,
        stated=stated,
        reach=reached,
        **forms,
        **compared,
        **near,
    )


@dataclass(frozen=True, eq=False)
class _Stages:
    """One model as stored, in the dimensions of its rows, and with fewer rows."""

    whole: FactorModel
    """The model as stored, with all rows."""
    basis: Floats | None
    """Basis of the dimensions that the rows span; None if they span all columns."""
    spanned: FactorModel
    """All rows in the dimensions that they span."""
    head: HeadReport | None
    """Measurements of all labels of a head; None for other models."""
    labels: Indices
    """Labels that are measured outside of the head's own evidence."""
    rows: Indices | None
    """Right rows of `compared`; None for all."""
    compared: FactorModel
    """The rows that are compared with the rows of equivalent models."""

    @property
    def columns(self) -> tuple[int, ...] | None:
        """The stored column of each column of `spanned`, if columns were dropped."""
        return stored_columns(self.basis)

    @property
    def deciding(self) -> FactorModel:
        """The rows that decide whether cosines can move.

        All rows of a table decide. Of a head the sampled labels do, in the dimensions
        that all labels span.
        """
        if self.head is None:
            return self.spanned
        return self.compared

    @property
    def stored(self) -> FactorModel:
        """The compared rows with their columns as stored."""
        if self.basis is None:
            return self.compared
        return _with_rows(self.whole, self.rows)

    @property
    def uncut(self) -> FactorModel | None:
        """All rows of a table, if only some of them are compared."""
        if self.head is not None or self.rows is None:
            return None
        return self.spanned


def _stages(
    whole: FactorModel,
    options: AuditOptions,
    rows: Indices | None,
    sizes: Mapping[str, Any],
    rng: int,
) -> _Stages:
    """Find the span of the rows, measure all labels of a head, and select the rows.

    Parameters
    ----------
    whole : FactorModel
        The model as stored, with all rows.
    options : AuditOptions
        Sample sizes.
    rows : array of int, optional
        Rows of one table to compare; all by default. Of a head, labels are drawn.
    sizes : mapping
        Length and number of the neighbour lists.
    rng : int
        Seed of the draws. Labels and the report of a head have generators of their own,
        so that the sizes of their samples do not change later draws.
    """
    effort = options.effort
    with announced("finding the span of the rows"):
        basis = span_basis(whole)
        spanned = turned(whole, basis)
    # All eligible labels of a small head, a sample of them for a large one.
    n_labels = panel_size(spanned.rank, effort.n_lists)
    labels = sample_rows(
        spanned.right_side.eligible_rows, n_labels, np.random.default_rng(rng)
    )
    head = None
    if spanned.link.name == "softmax":
        head = head_report(
            spanned,
            n_labels=n_labels,
            n_pairs=min(N_PAIRS, effort.n_pairs),
            n_gauges=min(N_GAUGES, effort.n_gauges),
            max_condition=options.max_condition,
            hull=options.hull,
            rng=np.random.default_rng(rng),
            **sizes,
        )
        rows = labels
    compared = _with_rows(spanned, rows)
    return _Stages(whole, basis, spanned, head, labels, rows, compared)


def _with_rows(model: FactorModel, rows: Indices | None) -> FactorModel:
    """Return a model with some right rows only; None stands for all of them."""
    if rows is None:
        return model
    return only_labels(model, rows)


def _served(
    model: FactorModel,
    options: AuditOptions,
    stated: Metric | None,
    rows: Indices | None,
    rng: int,
) -> IndexMetric | None:
    """Compare lists of the index with lists of the model if its measure is known.

    A quick audit of a long table searches only its sample of rows, like all its other
    lists, and the size of the sample is stated with the lists.

    The generator is seeded anew, so that this changes no other draw.
    """
    if options.served is None and not has_metric(stated):
        return None
    return served_lists(
        model,
        options.served,
        stated,
        n_neighbours=options.n_neighbours,
        n_lists=options.effort.n_lists,
        rows=rows,
        rng=np.random.default_rng(rng),
    )


def _reach(
    listed: FactorModel | None,
    whole: FactorModel,
    queries: Side | None,
    options: AuditOptions,
    stated: Metric | None,
    rows: Indices | None,
    rng: int,
) -> QueryReach | None:
    """Count which rows the lists of the queries hold, if there are queries.

    A quick audit of a long table searches only its sample of rows, like all its other
    lists. If the audited model is itself a sample of `listed`, all rows are searched.

    The generator is seeded anew, so that this changes no other draw.
    """
    if queries is None:
        return None
    model = whole
    searched = rows
    if listed is not None:
        model = listed
        searched = None
    return measure_reach(
        model,
        queries,
        options.served,
        stated,
        n_neighbours=options.n_neighbours,
        searched=searched,
        rng=np.random.default_rng(rng),
    )


def _visits(
    equivalents: Sequence[EquivalentModel],
    checked: FactorModel,
    probe: MovementProbe,
    draw: np.random.Generator,
) -> list[Callable[[], _Visit]]:
    """Return one job per equivalent model, which measures its drift and movement.

    A job computes only the rows that it samples, never the whole equivalent model.
    """

    def visit(equivalent: EquivalentModel, sample: DriftSample) -> _Visit:
        moved = sample.drift(equivalent.apply(sample.model), equivalent.amplification)
        return moved, probe.measure_rows(
            {side: equivalent.rows(probe.model, side) for side in probe.sides}
        )

    samples = DriftSample.draw_several(checked, len(equivalents), draw)
    return [partial(visit, *pair) for pair in zip(equivalents, samples, strict=True)]


def _rearranged(
    visits: Iterable[tuple[EquivalentModel, _Visit]],
) -> list[tuple[EquivalentModel, _Visit]]:
    """Return the visits of rearranged models among those that were searched for.

    Lists are shown in a drawn model, because a model that an attack found was searched
    for its lists. A rearranged model was not. It exists where only rotations are drawn,
    which move nothing.
    """
    return [
        (equivalent, visit)
        for equivalent, visit in visits
        if equivalent.kind == REARRANGED
    ]


def _furthest(
    visits: Iterable[tuple[EquivalentModel, _Visit]], side: SideName
) -> EquivalentModel | None:
    """Return the equivalent model in which the lists of a side changed most.

    The first of equal models is taken. Return None if no model has lists of the side.
    """
    overlaps = [
        (record.top_n_overlap, model)
        for model, (_, records) in visits
        for record in records
        if record.role == side and record.top_n
    ]
    if not overlaps:
        return None
    _, furthest = min(overlaps, key=lambda pair: pair[0])
    return furthest


def _compared(
    probe: MovementProbe,
    equivalence: EquivalenceClass,
    furthest: EquivalentModel | None,
    side: SideName,
    rows: Indices,
) -> dict[str, Any]:
    """Compare the cosines of the model with other cosines of the same rows.

    The neighbours of a few rows are compared with their neighbours in an equivalent
    model and, if the bias is counted, with their neighbours with the bias as a column.
    Cosines are compared with prediction cosines.

    Returns
    -------
    dict
        Fields of `Evidence` by name.
    """
    model = probe.model
    n = list_length(probe.n_neighbours, len(model.side(side).directed))
    examples_gauge = None
    examples: tuple[Neighbourhood, ...] = ()
    if furthest is not None:
        examples_gauge = furthest.name
        moved_rows = furthest.rows(model, side)
        examples = neighbourhoods(model, moved_rows, role=side, rows=rows, n=n)
    predicted = by_prediction(probe, side=side, rows=rows, n=n)
    bias_examples: tuple[Neighbourhood, ...] = ()
    if side == "right" and bias_can_change_neighbours(model):
        bias_examples = neighbours_with_bias(model, rows, n)
    return {
        "examples_gauge": examples_gauge,
        "examples": examples,
        "predicted": predicted,
        "bias_examples": bias_examples,
        "unseen": without_unseen(probe, equivalence.outside),
        "penalty": penalty_form(probe),
    }


def _whole_rows(
    rows: Indices, side: SideName, head: HeadReport | None, labels: Indices
) -> Indices:
    """Return the rows as the whole model numbers them.

    A head was cut to some of its labels, so its right rows have other numbers.
    """
    if head is None or side == "left":
        return rows
    return labels[rows]


def _nearly_equal(
    model: FactorModel,
    options: AuditOptions,
    side: SideName,
    shown: Indices,
    rng: int,
) -> dict[str, Any]:
    """Judge which neighbours stay if scores are a little different.

    Parameters
    ----------
    model : FactorModel
        The model as stored, with all rows.
    options : AuditOptions
        The tolerance, the noise, and the length and the number of the lists.
    side : {"left", "right"}
        Side of the lists.
    shown : array of int
        Rows whose neighbours are shown.
    rng : int
        Seed that draws the rows of the other lists.

    Returns
    -------
    dict
        Fields of `Evidence` by name; empty without tolerance and noise.
    """
    if options.tolerance is None and options.noise is None:
        return {}
    if isinstance(options.noise, str | PathLike):
        raise must_be("noise", "a number", repr(options.noise))
    sizes: dict[str, Any] = {
        "tolerance": options.tolerance,
        "noise": options.noise,
        "role": side,
        "n_neighbours": options.n_neighbours or None,
    }
    return {
        "nearly_equal": nearly_equal(
            model, n_lists=options.effort.n_lists, rng=rng, **sizes
        ),
        "nearly_equal_shown": nearly_equal(model, rows=shown, **sizes),
    }


def _as_it_is(
    whole: FactorModel,
    sampled: FactorModel,
    equivalence: EquivalenceClass,
    records: Sequence[Movement],
    n_neighbours: int | None,
    parts: NDArray[np.str_] | None,
    columns: tuple[int, ...] | None,
    rng: int,
) -> dict[str, Any]:
    """Measure the model itself: its place among canonical forms and its row traits.

    Parameters
    ----------
    whole : FactorModel
        The model as stored, with all rows.
    sampled : FactorModel
        The model that equivalent models were made from.
    equivalence : EquivalenceClass
        Its roles name the sides to measure.
    records : sequence of Movement
        Movement records of one visit; their lists are used again if possible.
    n_neighbours : int, optional
        Length of the neighbour lists.
    parts : array of str, optional
        The name of the part of each right row.
    columns : tuple of int, optional
        The stored column of each column of `sampled`.
    rng : int
        Seed of the draws.

    Returns
    -------
    dict
        Fields of `Evidence` by name.
    """
    # The lists of the visit are used again if they are of the same rows. Labels of a
    # head need lists of all labels.
    lists = {}
    if sampled is whole and whole.link.name != "softmax":
        lists = {
            record.role: record.lists for record in records if record.lists is not None
        }
    draw = np.random.default_rng(rng)
    sides = dict.fromkeys(
        side for role in equivalence.freedom for side in Pairs(role).sides
    )
    traits = tuple(
        traits_of(
            whole,
            side,
            n_neighbours=n_neighbours,
            lists=lists.get(side),
            parts=parts,
            rng=draw,
        )
        for side in sides
        if len(whole.side(side).directed) > 1
    )
    place = None
    if sampled.left is not None:
        # If free biases can hold every score, the factors have no canonical form.
        with suppress(InputError):
            place = position(sampled)
    if place is not None and columns is not None:
        # Sentences name the columns as the user stored them.
        biases = tuple(
            bias if bias.column is None else replace(bias, column=columns[bias.column])
            for bias in place.hidden_biases
        )
        place = replace(place, hidden_biases=biases)
    return {"position": place, "traits": traits}


def _long_rows(
    model: FactorModel, role: SideName, count: int, draw: np.random.Generator
) -> Indices:
    """Draw rows from the longest twentieth of the rows without duplicates.

    Long rows usually belong to well-known entities with many observations. If all rows
    have length 1, the rows are drawn from all of them.
    """
    side = model.side(role)
    groups = twins(model, role=role)
    # A duplicate would be the nearest row, so rows with duplicates are excluded. If all
    # rows have duplicates, the first row of each group stands for its group.
    if groups.alone[side.directed].any():
        eligible = groups.alone
    else:
        eligible = groups.first == np.arange(len(side))
    norms = side.norms * eligible
    if side.is_unit or model.link.unit_sides:
        n_longest = len(norms)
    else:
        n_longest = max(count, len(norms) // 20)
    longest = largest_first(norms)[:n_longest]
    longest = longest[norms[longest] > 0]
    return sample_rows(longest, count, draw)
