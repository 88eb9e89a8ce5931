"""One case for each finding and note of an audit.

A case is evidence with chosen numbers, or a model of a few rows.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np
from chosen_evidence import (
    FREE,
    HEAD,
    MODEL,
    OPEN,
    PINNED,
    VISIT,
    make_argmaxable,
    make_centred_head_report,
    make_drift,
    make_equivalence_class,
    make_equivalent_head,
    make_equivalent_model,
    make_evidence,
    make_head_evidence,
    make_head_report,
    make_movement,
    make_neighbour_change,
    make_projector_cosines,
    make_shift_summary,
)
from truth.table import TABLE as TRUTH_TABLE

from embaudit import audit
from embaudit.attacks import Attack
from embaudit.auditing.bias_columns import BiasColumns
from embaudit.auditing.catalogue import CODES, NAMES
from embaudit.auditing.common_direction import CommonDirection
from embaudit.auditing.finding import Kind
from embaudit.auditing.findings import conclusions
from embaudit.auditing.identity import ScoreChange
from embaudit.auditing.limits import Certificate, Limits
from embaudit.auditing.lora import audit_lora
from embaudit.auditing.near_duplicates import NearDuplicates
from embaudit.auditing.predicted import PenaltyForm, Predicted
from embaudit.auditing.spaces import Relation, TwoSpaces
from embaudit.auditing.traits import Traits, traits_of
from embaudit.canonical import Models, Moved, Pinning, Reason, Status
from embaudit.gauges import Affine, Gauge, GeneralLinear
from embaudit.heads.conventions import norm_evidence
from embaudit.io.intake import Metric
from embaudit.linalg.dimensions import Dimensions
from embaudit.linalg.hubs import Hubs
from embaudit.model import FactorModel, softmax_link
from embaudit.model.final_norm import FinalNorm
from embaudit.model.objectives import OBJECTIVES
from embaudit.model.trainings import StatedTraining
from embaudit.model.tying import Tying
from embaudit.movements import levels
from embaudit.movements.neighbourhoods import NearestChanged
from embaudit.ranges import RangeSummary
from embaudit.serving import nearly_equal
from embaudit.serving.index_metric import served_lists
from embaudit.serving.queries import query_reach

if TYPE_CHECKING:
    from embaudit.auditing.evidence import Evidence
    from embaudit.auditing.finding import Finding

ITEMS_ALONE = MODEL.replace(left=None)
"""The items of the model, without its users."""
HEAD_WITH_INPUTS = HEAD.replace(left=np.eye(3))
TWO_TOWERS = FactorModel.from_user_item(np.eye(3), HEAD.right, link="softmax")
CAPPED_HEAD = HEAD.replace(link=softmax_link(soft_cap=3.0))
UNIT_ROW_HEAD = HEAD.replace(link=softmax_link(unit_rows=True))
COSINE_MODEL = MODEL.replace(link="cosine")
TABLE_BY_PRODUCT = FactorModel.from_vectors(np.eye(3), compared="dot")
THREE_QUARTERS_KEPT = {"top_n": 10, "top_n_overlap": 0.75, "n_lists": 400}
"""Fields of a movement: 400 lists of 10 neighbours keep 75 % of their entries."""
HALF_KEPT = THREE_QUARTERS_KEPT | {"top_n_overlap": 0.5}
SAMPLED_PAIRS = {"exact": False, "n_pairs": 100, "n_all_pairs": 19_800}
"""Fields of a movement: 100 of 19,800 pairs were drawn."""
FOUR_OF_64_DIMENSIONS = Dimensions(
    width=64, used=4, effective_rank=3.9, n_rows=500, n_all_rows=500
)
TWO_SPACES = TwoSpaces(
    "rows 0 to 249",
    "250 to 499",
    boundaries=(250,),
    ids=(("w249", "w250"),),
    z_centred=1.25,
    z_uncentred=-0.5,
    relation=Relation(directions=0.75, shapes=(-1.5, 2.5)),
    z_own=22.0,
    across=0.5,
    mean_direction=0.5,
    shared=0.9,
    n_compared=500,
    n_distinct=500,
)
"""Two halves of a table whose moments do not align."""
HARMFUL_NAMES = ["{0}", "a\x1b[2Jb\n", 'it\'s "one"', "%s", "{item.__class__}"]
"""Names with braces, control characters, quotes and percent signs."""


def make_evidence_of_training(name: str, model: FactorModel = MODEL) -> Evidence:
    """Return evidence of a model with a declared training objective."""
    link = model.link
    if model.left is not None:
        link = OBJECTIVES[name].links[0]
    return make_evidence(model.replace(link=link, objective=name), VISIT)


def make_free_unit_row_fields(*roles: str) -> dict[str, Any]:
    """Return fields of evidence for unit rows whose cosines can change.

    The test of unit rows found an equivalent model that moves cosines.
    """
    moves = {"left": Moved(0.1, 0.2, 3), "right": Moved(0.3, 0.6, 3)}
    pinning = Pinning(
        Status.FREE,
        Reason.REACHES_INTO_UNSEEN,
        Models.SAME_RANK,
        rank=1,
        needed=3,
        number=1,
        moved=moves,
    )
    shown = replace(FREE, kind=Kind.SHOWN, because=pinning.explain())
    equivalence = make_equivalence_class(shown, *roles, pinning=pinning)
    return {"equivalence": equivalence}


def make_decay_evidence(
    mean_abs: float, *, objective: str = "factors", **lists: Any
) -> Evidence:
    """Return evidence of factors that are not at the minimum of their penalty.

    Their cosines differ from the cosines at the minimum by `mean_abs` on average.
    """
    form = PenaltyForm(1.5, (make_movement(mean_abs=mean_abs, **lists),))
    return make_evidence(MODEL.replace(objective=objective), penalty=form)


def make_unseen_evidence(
    mean_abs: float, max_abs: float, model: FactorModel = MODEL, **fields: Any
) -> Evidence:
    """Return evidence of items with components that no prediction sees.

    A row has up to a quarter of its squared length there. Removing these components
    moves cosines by `mean_abs` on average, and by `max_abs` at most.
    """
    outside = make_equivalence_class(
        FREE, outside={"right": 0.25}, seen_rank=1, unseen=2
    )
    model = model.replace(left=model.left * [1, 0, 0])
    return make_evidence(
        model,
        equivalence=outside,
        unseen=(make_movement(mean_abs=mean_abs, max_abs=max_abs, **fields),),
    )


def make_constant_rows(n: int, k: int, *, mixed: bool = False) -> Any:
    """Return n rows of k columns, all with the entry 2.5 in the last column.

    If `mixed`, the rows are rotated, so that no column is constant but a linear
    combination of the columns is.
    """
    rows = np.column_stack([make_centred_rows(n)[:, : k - 1], np.full(n, 2.5)])
    if not mixed:
        return rows
    rotation = np.linalg.qr(np.vander(np.arange(1.0, k + 1)))[0]
    return rows @ rotation


def make_predicted_evidence(
    mean_abs: float, model: FactorModel = MODEL, **fields: Any
) -> Evidence:
    """Return evidence of cosines that differ from prediction cosines by `mean_abs`."""
    movement = make_movement(mean_abs=mean_abs, **fields)
    return make_evidence(model, predicted=Predicted((movement,), ()))


def make_traits_evidence(
    model: FactorModel = MODEL,
    role: str = "right",
    off_unit: float = 0.5,
    orthonormal: bool = False,
    **fields: Any,
) -> Evidence:
    """Return evidence of the traits of 1,234 rows, such as hubs or near-duplicates."""
    traits = Traits(role, 1234, off_unit, orthonormal, **fields)
    return make_evidence(model, traits=(traits,))


def make_duplicates_evidence(model: FactorModel, *roles: str) -> Evidence:
    """Return evidence of a model with the measured traits of its rows."""
    traits = [
        traits_of(model, side, rng=np.random.default_rng(0))
        for side in roles or ["right"]
    ]
    evidence = make_evidence(model, traits=traits)
    if model.link.name == "softmax":
        evidence = replace(evidence, head=make_centred_head_report(model=model))
    return evidence


def make_norm_evidence(
    norm: FinalNorm,
    *,
    share: float = 0.32,
    n_rows: int = 400,
    sampled: bool = False,
    **fields: Any,
) -> Evidence:
    """Return evidence of a head behind a final norm.

    When the gains of the norm are multiplied into the head, a share of its labels gets
    another nearest label. In every other form of the norm, half of this share does.
    """
    measured = norm_evidence(
        HEAD, norm, labels=np.arange(5), n_neighbours=2, rng=np.random.default_rng(0)
    )
    half_width = 0.1 if sampled else 0.0
    nearest = NearestChanged(share, share - half_width, share + half_width, n_rows)
    half_nearest = replace(nearest, share=share / 2)
    folded = replace(measured.folded, nearest=nearest, mean_abs=0.0571)
    others = [replace(form, nearest=half_nearest) for form in measured.apart[1:]]
    chosen = replace(measured, apart=(folded, *others), **fields)
    return make_evidence(HEAD, norm=chosen)


def make_bounds_evidence(model: FactorModel = MODEL, **fields: Any) -> Evidence:
    """Return evidence of ranges, certificates and attacks by two sets of gauges."""
    widths = {0.25: 0.1, 0.5: 0.625, 0.75: 0.9}
    linear_range = RangeSummary(
        "right", "linear", 1.5, 0.0, 1234, 20_000, 0, 0.5, widths, 0, 0, 1, ranges=None
    )
    affine_range = replace(linear_range, role="cross", group="affine", max_shift=3.7)
    lists = {1.1: 0.75, 2.0: 0.5}
    linear_certificate = Certificate(
        "right", "linear", 0.0, 10, 1500, False, lists, lists, 0.0, certified=None
    )
    affine_certificate = replace(
        linear_certificate,
        role="left",
        group="affine",
        max_shift=0.1,
        n_rows=1,
        lists={2.0: 0.25},
    )
    attack_on_cosines = Attack(
        Gauge.identity(3),
        "movement",
        "right",
        GeneralLinear(3, max_condition=2.0),
        0.25,
        0.5,
        2_000,
        table=np.zeros((2_000, 2), int),
    )
    attack_on_lists = Attack(
        Gauge.identity(3),
        "neighbours",
        "left",
        Affine(3, side="right", max_condition=2.0, max_shift=7.0),
        0.125,
        0.75,
        50,
        np.zeros((5, 11), int),
        typical_row=7.0,
    )
    limits = Limits(
        (linear_range, affine_range),
        (linear_certificate, affine_certificate),
        (attack_on_cosines, attack_on_lists),
        3,
        3,
    )
    return make_evidence(model, limits=limits, **fields)


def make_attack_and_lists_evidence() -> Evidence:
    """Return evidence of an attack whose gauge is also measured on all lists.

    The gauge replaces 12 % of the entries of the attacked lists, and 4 % of the entries
    of all lists.
    """
    evidence = make_bounds_evidence()
    _, attack_on_lists = evidence.limits.attacks
    worst = replace(make_equivalent_model("worst"), gauge=attack_on_lists.gauge)
    all_lists = make_movement("left", top_n=10, top_n_overlap=0.96, n_lists=400)
    return replace(
        evidence, equivalents=(worst,), movement=((all_lists,),), drift=(make_drift(),)
    )


def sample_nearest_labels(evidence: Evidence, n_rows: int = 1_234) -> Evidence:
    """Return the evidence with nearest labels that are those of a sample of labels."""
    neighbours = replace(evidence.head.neighbours, exact=False, n_rows=n_rows)
    return replace(evidence, head=replace(evidence.head, neighbours=neighbours))


def make_centred_rows(n: int) -> Any:
    """Return n rows of three columns whose mean row is zero."""
    x = np.random.default_rng(0).standard_normal((n, 3))
    return x - x.mean(axis=0)


def prediction_cases() -> dict[str, Evidence]:
    """Return cases of predictions that are kept or changed, or that differ from a
    baseline.
    """
    norm = make_norm_evidence(FinalNorm("rms", [1.0, 2.0, 4.0])).norm
    broken = replace(norm.drift[0], max_abs=1.0, tolerance=1e-12)
    centred = make_equivalent_head("mean row removed", "centring", change=1.0)
    changed_head = make_head_report(centred=centred)
    visits = (
        VISIT,
        (make_equivalent_model("linear 2"), make_movement(mean_abs=0.4)),
        (make_equivalent_model("linear 3"), make_movement()),
    )
    return {
        "predictions stay": make_evidence(MODEL, *visits),
        "predictions of one side": make_evidence(ITEMS_ALONE, VISIT),
        "other scores than the baseline's": make_evidence(
            MODEL, score_change=ScoreChange(24, 20, 0.0234)
        ),
        "another training declared than the file states": make_evidence(
            MODEL.replace(
                objective="factors",
                overruled=StatedTraining("product", "objective in m.npz"),
            )
        ),
        "other scores than the baseline's, next to rows of zeros": make_evidence(
            MODEL.replace(right=0 * MODEL.right),
            score_change=ScoreChange(24, 90, 0.9, 3, 9),
        ),
        "scores within the noise of the ratings": make_evidence(
            MODEL, nearly_equal=nearly_equal(MODEL, tolerance=0.05, noise=0.3)
        ),
        "other scores than the baseline's of one table": make_evidence(
            TABLE_BY_PRODUCT,
            equivalence=make_equivalence_class(PINNED),
            score_change=ScoreChange(99, 99, 0.8, 8, 8),
        ),
        "scores changed": make_evidence(MODEL, VISIT, drift=(make_drift(1.0),)),
        "a probability changed": make_head_evidence(changed_head),
        "a form of the norm changed the predictions": make_evidence(
            HEAD, norm=replace(norm, drift=(broken, *norm.drift[1:]))
        ),
    }


def training_cases() -> dict[str, Evidence]:
    """Return cases of each declared training, for two sides and for one side."""
    free_items = make_free_unit_row_fields()
    free_users_and_items = make_free_unit_row_fields("right", "left")
    pinned = make_equivalence_class(PINNED)
    undecided = make_equivalence_class(OPEN)
    items_by_cosine = ITEMS_ALONE.replace(link="cosine")

    found: dict[str, Evidence] = {}
    for name, objective in OBJECTIVES.items():
        if objective.sides == 2 and objective.links != ("cosine",):
            found[f"two sides, {name}"] = make_evidence_of_training(name)
    for name in ("none", "factors", "decoupled-decay", "prediction", "word2vec"):
        found[f"one side, {name}"] = make_evidence_of_training(name, ITEMS_ALONE)
    found["two sides"] = make_evidence(MODEL)
    found["one side"] = make_evidence(ITEMS_ALONE)
    found["a head"] = make_evidence(HEAD)
    found["pinned"] = make_evidence(MODEL, equivalence=pinned)
    found["undecided"] = make_evidence(MODEL, equivalence=undecided)
    found["one side, undecided"] = make_evidence(ITEMS_ALONE, equivalence=undecided)
    found["two sides by cosine"] = make_evidence(COSINE_MODEL, **free_users_and_items)
    found["one side by cosine"] = make_evidence(items_by_cosine, **free_items)
    found["two sides, temperature"] = make_evidence_of_training(
        "temperature", COSINE_MODEL
    )
    found["one side, temperature"] = make_evidence_of_training(
        "temperature", items_by_cosine
    )
    found["labels of length 1"] = make_head_evidence(
        make_head_report(UNIT_ROW_HEAD), **free_items
    )
    found["decay"] = make_decay_evidence(0.125, **THREE_QUARTERS_KEPT)
    found["decay, half of the lists kept"] = make_decay_evidence(0.125, **HALF_KEPT)
    found["decay, most of the lists kept"] = make_decay_evidence(
        0.0625, **THREE_QUARTERS_KEPT | {"top_n_overlap": 0.9}
    )
    found["decay, no lists measured"] = make_decay_evidence(0.125)
    found["decay by counts"] = make_decay_evidence(
        0.125, objective="factors-counted", **THREE_QUARTERS_KEPT
    )
    found["decay with its own form"] = make_decay_evidence(0.0)
    return found


def movement_cases() -> dict[str, Evidence]:
    """Return cases of moved cosines, bounds, prediction cosines and biases."""
    shifted = make_equivalent_model("translation of items 1", "translation", 1.0, 0.75)
    head_with_inputs = HEAD.replace(left=MODEL.left)
    four_labels = make_evidence(
        head_with_inputs.take(right=np.arange(4)),
        (make_equivalent_model(), make_movement(**SAMPLED_PAIRS)),
        head=make_head_report(head_with_inputs),
    )
    with_unseen_part = make_equivalence_class(
        FREE, outside={"right": 0.25}, seen_rank=1, unseen=2
    )
    ranked = MODEL.replace(link="ranking")
    return {
        "moved": make_evidence(
            MODEL,
            (make_equivalent_model(), make_movement(**THREE_QUARTERS_KEPT)),
            (shifted, make_movement(mean_abs=0.4, **SAMPLED_PAIRS, **HALF_KEPT)),
        ),
        "moved within both sides": make_evidence(
            MODEL,
            (
                make_equivalent_model(),
                make_movement(**HALF_KEPT),
                make_movement("left"),
                make_movement("cross"),
            ),
        ),
        "moved by no gauge": make_evidence(
            MODEL,
            (
                replace(
                    make_equivalent_model("balanced", "canonical", float("nan")),
                    gauge=None,
                ),
                make_movement(),
            ),
        ),
        "moved, sampled labels": four_labels,
        "bounds": make_bounds_evidence(),
        "bounds next to an unseen part": make_bounds_evidence(
            equivalence=with_unseen_part
        ),
        "bounds, and all lists measured": make_attack_and_lists_evidence(),
        "no attack": make_evidence(limits=Limits(rank=20_000)),
        "as predicted": make_predicted_evidence(0.0, max_abs=1e-7),
        "nearly as predicted": make_predicted_evidence(
            0.04, **THREE_QUARTERS_KEPT | {"top_n_overlap": 0.99}
        ),
        "not as predicted": make_predicted_evidence(0.2, **THREE_QUARTERS_KEPT),
        "not as predicted, half of the lists kept": make_predicted_evidence(
            0.2, **HALF_KEPT
        ),
        "not as ranked": make_predicted_evidence(0.2, ranked, **THREE_QUARTERS_KEPT),
        "unseen, lists": make_unseen_evidence(0.2, 0.9, **THREE_QUARTERS_KEPT),
        "unseen, half of the lists kept, sampled pairs": make_unseen_evidence(
            0.2, 0.9, **SAMPLED_PAIRS, **HALF_KEPT
        ),
        "unseen, cosines": make_unseen_evidence(0.2, 0.9),
        "unseen, a little": make_unseen_evidence(
            0.01, 0.02, FactorModel.from_user_item(MODEL.left[:2], MODEL.right)
        ),
        "a bias": make_evidence(MODEL.replace(right_bias=np.arange(5.0))),
        "a bias of a head": make_head_evidence(
            make_head_report(HEAD.replace(right_bias=np.arange(5.0)))
        ),
        "a bias as a column": make_traits_evidence(
            MODEL.replace(right_bias=np.arange(5.0)),
            bias_columns=BiasColumns(0.4567, 10, 1234, 1),
        ),
        "a bias and a constant": make_traits_evidence(
            MODEL.replace(right_bias=np.arange(5.0)),
            bias_columns=BiasColumns(0.4567, 10, 1234, 2),
        ),
        "a constant column": make_evidence(
            MODEL.replace(left=make_constant_rows(6, 3))
        ),
        "a constant mixture": make_evidence(
            MODEL.replace(right=make_constant_rows(5, 3, mixed=True))
        ),
        "a constant column next to a bias": make_evidence(
            MODEL.replace(right=make_constant_rows(5, 3), left_bias=np.zeros(6))
        ),
        "two constant columns": make_evidence(
            MODEL.replace(left=[[1.5, 2.0, x] for x in range(6)])
        ),
        "two constant columns next to a bias": make_evidence(
            MODEL.replace(
                left=[[1.5, 2.0, x] for x in range(6)], right_bias=np.zeros(5)
            )
        ),
        "a constant column alone": make_evidence(
            FactorModel.from_vectors(make_constant_rows(5, 4))
        ),
        "a constant mixture alone": make_evidence(
            FactorModel.from_vectors(make_constant_rows(9, 4, mixed=True))
        ),
    }


def head_cases() -> dict[str, Evidence]:
    """Return one case for each finding and note on a softmax head."""
    return (
        origin_cases()
        | two_tower_cases()
        | label_independence_cases()
        | cap_and_length_cases()
        | final_norm_cases()
        | tied_table_cases()
    )


def origin_cases() -> dict[str, Evidence]:
    """Return heads whose origin decides cosines or lists, or does not."""
    nearest_changed = replace(make_neighbour_change(), n_rows=400)
    few_nearest_changed = replace(make_neighbour_change(0.75), n_rows=12)
    turned_pairs = replace(make_shift_summary(), n_pairs=185, n_fixed=595)
    sampled_pairs = replace(make_shift_summary(), exact=False, n_pairs=5)
    decaying = HEAD.replace(objective="softmax-decay")
    # Scores of long inputs are so far apart that no labels make this head a minimum.
    both_directions = np.vstack([np.eye(3), -np.eye(3)])
    unpenalised = HEAD.replace(left=1000 * both_directions, objective="logistic")

    cases: dict[str, Evidence] = {}
    cases["the origin decides lists"] = make_head_evidence(
        make_head_report(neighbours=nearest_changed)
    )
    cases["the origin decides lists of sampled labels"] = sample_nearest_labels(
        make_head_evidence(make_head_report(neighbours=nearest_changed))
    )
    cases["the origin decides lists of few sampled labels"] = sample_nearest_labels(
        make_head_evidence(
            make_head_report(neighbours=replace(nearest_changed, n_rows=6))
        ),
        n_rows=6,
    )
    cases["the origin decides few lists"] = make_head_evidence(
        make_head_report(neighbours=few_nearest_changed)
    )
    cases["the origin decides cosines"] = make_head_evidence(
        make_head_report(neighbours=make_neighbour_change(0.01))
    )
    cases["the origin lies at the mean"] = make_head_evidence(
        make_centred_head_report(0.002)
    )
    cases["the origin lies near the mean"] = sample_nearest_labels(
        make_head_evidence(make_centred_head_report())
    )
    cases["a mean row against decay"] = make_head_evidence(make_head_report(decaying))
    cases["pairs that a shift can turn"] = make_head_evidence(
        make_head_report(shifts=(turned_pairs,))
    )
    cases["sampled pairs that a shift can turn"] = make_head_evidence(
        make_head_report(shifts=(sampled_pairs,))
    )
    cases["no minimum without a penalty"] = make_head_evidence(
        make_head_report(unpenalised)
    )
    cases["logits"] = make_head_evidence(
        make_head_report(HEAD_WITH_INPUTS, logit_agreement=0.35)
    )
    return cases


def two_tower_cases() -> dict[str, Evidence]:
    """Return heads that score users and items with a softmax."""
    nearest_changed = replace(make_neighbour_change(), n_rows=400)
    independent = make_projector_cosines(4, 3)
    one_hidden = make_argmaxable(False, True, True, True)

    cases: dict[str, Evidence] = {}
    cases["two towers, the origin decides lists"] = make_head_evidence(
        make_head_report(TWO_TOWERS, neighbours=nearest_changed)
    )
    cases["two towers, scores"] = make_head_evidence(
        make_head_report(TWO_TOWERS, logit_agreement=0.35)
    )
    cases["two towers, independent items"] = make_head_evidence(
        make_head_report(TWO_TOWERS, projector=independent)
    )
    cases["two towers, hidden items"] = make_head_evidence(
        make_head_report(TWO_TOWERS, argmax=one_hidden)
    )
    return cases


def label_independence_cases() -> dict[str, Evidence]:
    """Return heads with independent labels, few labels, or labels that never win."""
    independent = make_projector_cosines(4, 3)
    few = make_projector_cosines(5, 3)
    one_hidden = make_argmaxable(False, True, True, True)
    four_hidden = make_argmaxable(False, False, False, False, True, n_labels=9)

    cases: dict[str, Evidence] = {}
    cases["independent labels"] = make_head_evidence(
        make_head_report(projector=independent)
    )
    cases["independent labels, capped"] = make_head_evidence(
        make_head_report(CAPPED_HEAD, projector=independent)
    )
    cases["independent labels of length 1"] = make_head_evidence(
        make_head_report(UNIT_ROW_HEAD, projector=independent, affine_rank=1)
    )
    cases["independent labels with inputs"] = make_head_evidence(
        make_head_report(HEAD_WITH_INPUTS, projector=independent)
    )
    cases["few labels"] = make_head_evidence(make_head_report(projector=few))
    cases["few labels with inputs"] = make_head_evidence(
        make_head_report(HEAD_WITH_INPUTS, projector=few)
    )
    cases["hidden labels"] = make_head_evidence(make_head_report(argmax=one_hidden))
    cases["hidden labels among the tested ones"] = make_head_evidence(
        make_head_report(argmax=four_hidden)
    )
    return cases


def cap_and_length_cases() -> dict[str, Evidence]:
    """Return heads with a soft cap, or with rows that are divided by their lengths."""
    at_the_mean = make_equivalent_head(change=0.5, tolerance=0.5)
    pinned = Pinning(Status.PINNED, Reason.FIXES_ALL, Models.HEADS, 6, 6)

    cases: dict[str, Evidence] = {}
    cases["a soft cap"] = make_head_evidence(
        make_head_report(CAPPED_HEAD, centred=make_equivalent_head(change=0.123))
    )
    cases["a tight soft cap"] = make_head_evidence(
        make_head_report(CAPPED_HEAD, centred=make_equivalent_head(change=4.56))
    )
    cases["a soft cap around the mean"] = make_head_evidence(
        make_head_report(CAPPED_HEAD, centred=at_the_mean)
    )
    cases["labels declared of length 1"] = make_head_evidence(
        make_head_report(UNIT_ROW_HEAD, centred=make_equivalent_head(change=0.5)),
        equivalence=make_equivalence_class(PINNED, pinning=pinned),
    )
    return cases


def final_norm_cases() -> dict[str, Evidence]:
    """Return heads behind a norm whose gains decide the nearest labels, or do not."""
    rms = FinalNorm("rms", [1.0, 2.0, 4.0])
    rms_with_zero = FinalNorm("rms", [1.0, 0.0, 4.0])
    layer = FinalNorm("layer", [1.0, 2.0, 4.0])

    cases: dict[str, Evidence] = {}
    cases["gains decide"] = make_norm_evidence(rms)
    cases["gains decide for sampled labels"] = make_norm_evidence(
        layer, sampled=True, n_copies=3, ones=0.123
    )
    cases["gains of zero decide"] = make_norm_evidence(rms_with_zero)
    cases["gains decide nothing"] = make_norm_evidence(rms, share=0.01)
    cases["independent labels behind a norm"] = replace(
        make_norm_evidence(rms),
        head=make_head_report(projector=make_projector_cosines(4, 3)),
    )
    cases["gains of zero decide nothing"] = make_norm_evidence(
        rms_with_zero, share=0.01
    )
    return cases


def tied_table_cases() -> dict[str, Evidence]:
    """Return heads that are, or may be, the input embeddings of their network."""
    nearest_changed = replace(make_neighbour_change(), n_rows=400)
    tied = Tying("tied", "wte.weight", "of these values")
    contradicted = Tying("contradicted", "wte.weight")

    cases: dict[str, Evidence] = {}
    cases["a tied head"] = replace(
        make_head_evidence(make_head_report(neighbours=nearest_changed)), tying=tied
    )
    cases["a head that may be tied"] = replace(
        make_head_evidence(make_head_report()), tying=Tying("unknown")
    )
    cases["two different tables declared as tied"] = replace(
        make_head_evidence(make_head_report()), tying=contradicted
    )
    return cases


def row_cases() -> dict[str, Evidence]:
    """Return cases of rows alone: zeros, duplicates, hubs, spaces and unit rows."""
    zero = FactorModel.from_user_item(
        np.diag([1.0, 1, 0]), [[1.0, 0, 0], [0, 0, 0], [0, 0, 0]]
    )
    draw = np.random.default_rng(0).standard_normal((40, 9))
    twice = np.vstack([draw[:36], draw[:4]])
    hubs = Hubs(400, 10, 7.25, (4, 2, 3, 1), (0.9, 0.5, 0.25, 0.1), 0.12)
    shared = CommonDirection(0.64, 0.8, NearestChanged(0.25, 0.2, 0.3, 400))
    few = Pinning(
        Status.UNDECIDED,
        Reason.NO_SIDE_ALONE,
        Models.SAME_RANK,
        rank=1932,
        needed=2080,
        rows_missing={"right": 148},
    )
    wide = Pinning(
        Status.UNDECIDED, Reason.TOO_LARGE, Models.SAME_RANK, rank=9, needed=131328
    )
    open_ = Pinning(
        Status.UNDECIDED, Reason.NO_SIDE_ALONE, Models.SAME_RANK, rank=5, needed=6
    )
    narrow = replace(few, dimensions=64, width=70)
    ugly = ITEMS_ALONE.replace(right_names=HARMFUL_NAMES)
    found = {
        "rows of zeros": make_evidence(zero),
        "very short rows": make_evidence(
            FactorModel.from_vectors(np.diag([1.0, 1, 1, 1, 1e-8, 1e-8, 1e-8, 1e-9]))
        ),
        "rows by distance": make_evidence(
            FactorModel.from_vectors(draw, compared="distance")
        ),
        "unit rows by distance": make_traits_evidence(
            FactorModel.from_vectors(np.eye(3), compared="distance"), off_unit=0.0
        ),
        "rows by hyperbolic distance": make_evidence(
            FactorModel.from_vectors(draw / 9, compared="hyperbolic")
        ),
        "equal rows by distance": make_evidence(
            FactorModel.from_vectors(np.ones((3, 2)), compared="distance"),
            equivalence=make_equivalence_class(OPEN),
        ),
        "labels of zeros": make_head_evidence(make_head_report(n_zero=1)),
        "a label at the mean row": make_head_evidence(
            make_head_report(n_zero=1, n_at_mean=1)
        ),
        "labels of zeros and at the mean row": make_head_evidence(
            make_head_report(n_zero=3, n_at_mean=2)
        ),
        "pairs of nonzero labels": make_head_evidence(
            make_head_report(
                n_zero=1, shifts=(replace(make_shift_summary(), n_pairs=6),)
            )
        ),
        "pairs of labels that are not set aside": make_head_evidence(
            make_head_report(
                n_aside=1, shifts=(replace(make_shift_summary(), n_pairs=6),)
            )
        ),
        "duplicates of items": make_duplicates_evidence(
            FactorModel.from_user_item(draw[:9], twice), "right", "left"
        ),
        "many duplicates of vectors": make_duplicates_evidence(
            FactorModel.from_vectors(np.vstack([draw[:5], draw[:5]]))
        ),
        "duplicates of labels and inputs": make_duplicates_evidence(
            FactorModel.from_softmax(twice, embeddings=twice), "right", "left"
        ),
        "hubs": make_traits_evidence(ugly, hubs=hubs),
        "near-duplicates": make_traits_evidence(
            ITEMS_ALONE, near_duplicates=NearDuplicates(512, 0.33, 0.33, 0.055, (1, 3))
        ),
        "near-duplicates, estimated from a sample": make_traits_evidence(
            ITEMS_ALONE, near_duplicates=NearDuplicates(512, 0.33, 0.3, 0.055, ())
        ),
        "near-duplicates of labels": replace(
            make_head_evidence(make_head_report()),
            traits=(
                Traits(
                    "right",
                    5,
                    0.5,
                    False,
                    near_duplicates=NearDuplicates(512, 0.33, 0.33, 0.055, (1, 3)),
                ),
            ),
        ),
        "one hub": make_traits_evidence(
            MODEL, hubs=replace(hubs, few=(3,), lists_with=(0.5,))
        ),
        "unit rows": make_traits_evidence(ITEMS_ALONE, off_unit=2e-8),
        "orthonormal columns": make_traits_evidence(ITEMS_ALONE, orthonormal=True),
        "rows at right angles": make_traits_evidence(MODEL, orthogonal_rows=True),
        "vectors at right angles": make_traits_evidence(
            ITEMS_ALONE, orthogonal_rows=True
        ),
        "collapsed rows": make_traits_evidence(MODEL, dimensions=FOUR_OF_64_DIMENSIONS),
        "two spaces": make_traits_evidence(TABLE_BY_PRODUCT, spaces=TWO_SPACES),
        "two spaces, named and drawn": make_traits_evidence(
            ITEMS_ALONE,
            spaces=replace(
                TWO_SPACES,
                first="rows of old",
                second="of new",
                boundaries=(),
                ids=(),
                n_distinct=98_765,
            ),
        ),
        "two spaces or topics": make_traits_evidence(
            TABLE_BY_PRODUCT,
            spaces=replace(TWO_SPACES, mean_direction=0.49, shared=0.49),
        ),
        "two spaces or one": make_traits_evidence(
            TABLE_BY_PRODUCT,
            spaces=replace(
                TWO_SPACES, relation=Relation(directions=0.75, shapes=(-1.5, 5.25))
            ),
        ),
        "unit rows of an unknown link": make_evidence(
            MODEL.replace(link="unknown"), equivalence=make_equivalence_class(OPEN)
        ),
        "too few unit rows": make_evidence(
            COSINE_MODEL, equivalence=make_equivalence_class(OPEN, pinning=few)
        ),
        "too few unit rows of one side": make_evidence(
            COSINE_MODEL,
            equivalence=make_equivalence_class(OPEN, pinning=replace(few, rank=2080)),
        ),
        "too few unit rows in the dimensions that they span": make_evidence(
            COSINE_MODEL, equivalence=make_equivalence_class(OPEN, pinning=narrow)
        ),
        "unit rows that no method decides": make_evidence(
            COSINE_MODEL, equivalence=make_equivalence_class(OPEN, pinning=open_)
        ),
        "too many numbers": make_evidence(
            COSINE_MODEL, equivalence=make_equivalence_class(OPEN, pinning=wide)
        ),
    }
    for how in ("dot", "cosine"):
        table = FactorModel.from_vectors(draw, compared=how)
        found[f"rows compared by {how}"] = replace(
            make_traits_evidence(table, levels=levels(table)),
            equivalence=make_equivalence_class(PINNED),
        )
    for name, model in {
        "": MODEL,
        ", a user bias": MODEL.replace(left_bias=np.zeros(6)),
        ", alone": ITEMS_ALONE,
        ", by cosine": COSINE_MODEL,
    }.items():
        found[f"a common direction{name}"] = make_traits_evidence(
            model, direction=shared
        )
    return found


def index_cases() -> dict[str, Evidence]:
    """Return cases of an index that ranks rows as the model does, or differently."""
    draw = np.random.default_rng(3)
    users, items = draw.standard_normal((30, 3)), draw.standard_normal((24, 3))
    items *= np.exp(np.linspace(-2, 2, 24))[:, None]
    ball = items / (1.1 * np.abs(items).sum(axis=1).max())
    two = FactorModel.from_user_item(users, items, link="identity")
    counted = two.replace(right_counts=np.arange(24) ** 2)
    biased = two.replace(right_bias=np.linspace(-20, 20, 24))
    unit = items / np.linalg.norm(items, axis=1, keepdims=True)
    alone = FactorModel.from_vectors
    header = Metric("dot", "the header of the index")
    models = {
        "by cosine": (two, "cosine", None),
        "by cosine, counts": (counted, "cosine", None),
        "by distance, assumed": (FactorModel.from_user_item(users, items), "l2", None),
        "by product": (two, "dot", None),
        "by product, assumed": (FactorModel.from_user_item(users, items), "dot", None),
        "by product, a bias": (biased, "dot", None),
        "by cosine, a bias": (biased, "cosine", None),
        "by product, cosines": (two.replace(link="cosine"), "dot", None),
        "by product, one table": (alone(items), None, header),
        "by distance, one table": (alone(items), "l2", None),
        "by cosine, one table": (alone(items), "cosine", header),
        "by product, compared by distance": (
            alone(items, compared="distance"),
            "dot",
            None,
        ),
        "by distance, hyperbolic": (alone(ball, compared="hyperbolic"), "l2", None),
        "lengths lost": (
            alone(unit),
            None,
            Metric("cosine", "the collection", unit_rows=True),
        ),
        "rows of length 1": (alone(unit), "l2", None),
        "rows of one length": (alone(3 * unit), "dot", None),
    }
    found = {
        f"an index {name}": make_evidence(
            model,
            served=served_lists(model, served, stated, rng=np.random.default_rng(0)),
        )
        for name, (model, served, stated) in models.items()
    }
    found["an index by sums of differences"] = make_evidence(
        alone(items), stated=Metric("l1", "the index i")
    )
    return found


def search_cases() -> dict[str, Evidence]:
    """Return cases of queries that find items always, never, or none nearby."""
    draw = np.random.default_rng(3)
    subjects = draw.standard_normal((10, 12))
    items = subjects[np.arange(300) % 10] + 0.5 * draw.standard_normal((300, 12))
    queries = subjects[draw.integers(10, size=900)]
    queries = queries + 0.5 * draw.standard_normal((900, 12))
    short, long = items.copy(), items.copy()
    short[:30] *= 0.01
    long[3], long[[5, 8]] = 9 * subjects.mean(axis=0), 40 * subjects[0]
    far = queries.copy()
    far[:40] = -4 * items.mean(axis=0) + 0.1 * draw.standard_normal((40, 12))
    zeros = np.vstack([queries[:300], queries[:9], np.zeros((2, 12))])
    turn = np.linalg.qr(draw.standard_normal((12, 12)))[0]
    alone = FactorModel.from_vectors
    found = {
        "few queries": (alone(items), queries[:40], None),
        "equal queries and zeros": (
            alone(items),
            zeros,
            "cosine",
        ),
        "short items": (alone(short), queries, "dot"),
        "missed items by cosine": (alone(items), queries[queries[:, 0] > 0], "cosine"),
        "long items": (alone(long), queries[:300], "dot"),
        "far queries": (alone(items), far, None),
        "far queries by distance": (alone(items), far, "l2"),
        "other queries": (alone(items), queries @ turn, "cosine"),
    }
    return {
        f"a search, {name}": make_evidence(
            model, reach=query_reach(model, rows, served=served)
        )
        for name, (model, rows, served) in found.items()
    }


@cache
def all_cases() -> dict[str, Evidence]:
    """Return the evidence of every case, by the name of the case."""
    return (
        prediction_cases()
        | training_cases()
        | movement_cases()
        | head_cases()
        | row_cases()
        | index_cases()
        | search_cases()
    )


def find_in_truth_table(codes: set[str]) -> list[Finding]:
    """Return the findings of these codes, each for the first model that has it."""
    sizes = {"n_gauges": 1, "n_pairs": 50, "n_starts": 0}
    found: list[Finding] = []
    for code in sorted(codes):
        models = [case for case in TRUTH_TABLE.values() if code in case.findings]
        if models:
            result = audit(models[0].model, **sizes, **models[0].options)
            found += [item for item in result.findings if item.code == code]
    return found


def find_in_adapter() -> list[Finding]:
    """Return the findings of the audit of a low-rank adapter."""
    draw = np.random.default_rng(0)
    factors = draw.normal(size=(200, 4)), draw.normal(size=(4, 100))
    return list(audit_lora(*factors).findings)


def list_distinct_findings() -> list[Finding]:
    """Return the findings and notes of all cases, sorted by code.

    Of findings whose texts differ in numbers only, the first is returned. A code that
    no case raises is shown on a model of the truth table.
    """
    found: list[Finding] = []
    for case in all_cases().values():
        found += conclusions(case)
    found += find_in_adapter()
    missing_codes = set(CODES) - {finding.code for finding in found}
    found += find_in_truth_table(missing_codes)

    first_by_text: dict[str, Finding] = {}
    for finding in found:
        text = (
            f"{finding.code} {finding.severity} {finding.title} "
            f"{finding.text} {finding.remedy}"
        )
        without_numbers = re.sub(r"[\d.,]+", "0", text)
        first_by_text.setdefault(without_numbers, finding)
    order = list(NAMES)
    return sorted(first_by_text.values(), key=lambda finding: order.index(finding.code))


def format_finding(finding: Finding) -> str:
    """Return the code, the subject and the sentences of a finding as indented text."""
    first = f"{finding.code} ({finding.severity.title}, {finding.kind}"
    first += ")" if finding.witness is None else ", with a witness)"
    about = f"of {finding.rows}; in {finding.scope}"
    if finding.value is not None:
        about += f"; {finding.value:.4g}"
    lines = [first]
    for part in filter(None, (about, finding.title, finding.text, finding.remedy)):
        lines += wrap(part, 100, initial_indent="    ", subsequent_indent="      ")
    return "\n".join(lines)


def format_all_findings() -> str:
    """Return the texts of all findings and notes."""
    return "\n\n".join(map(format_finding, list_distinct_findings())) + "\n"
