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
from made import (
    FREE,
    HEAD,
    MODEL,
    OPEN,
    PINNED,
    argmax,
    change,
    changed,
    drift,
    equal,
    equal_head,
    equivalence,
    evidence,
    head,
    moved,
    of_head,
    opposite,
    projector,
    quiet,
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

ALONE = MODEL.replace(left=None)
WITH_INPUTS = HEAD.replace(left=np.eye(3))
TOWERS = FactorModel.from_user_item(np.eye(3), HEAD.right, link="softmax")
CAPPED, UNIT = (
    HEAD.replace(link=softmax_link(**guard))
    for guard in ({"soft_cap": 3.0}, {"unit_rows": True})
)
COSINE, TABLE = (
    MODEL.replace(link="cosine"),
    FactorModel.from_vectors(np.eye(3), compared="dot"),
)
LISTS = {"top_n": 10, "top_n_overlap": 0.75, "n_lists": 400}
HALF = LISTS | {"top_n_overlap": 0.5}
SAMPLED = {"exact": False, "n_pairs": 100, "n_all_pairs": 19_800}
COLLAPSED = Dimensions(width=64, used=4, effective_rank=3.9, n_rows=500, n_all_rows=500)
SPACES = TwoSpaces(
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
"""Two halves of a table that do not align."""
UGLY = ["{0}", "a\x1b[2Jb\n", 'it\'s "one"', "%s", "{item.__class__}"]
"""Names that only mean harm."""


def trained(name: str, model: FactorModel = MODEL) -> Evidence:
    """Evidence of a model of which one objective is declared."""
    link = model.link if model.left is None else OBJECTIVES[name].links[0]
    return evidence(model.replace(link=link, objective=name), (equal(), moved()))


def gauged(*roles: str) -> dict[str, Any]:
    """The test of unit rows found an equivalent model that moves cosines."""
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
    return {"equivalence": equivalence(shown, *roles or ("right",), pinning=pinning)}


def decayed(mean_abs: float, *, objective: str = "factors", **lists: Any) -> Evidence:
    """Factors that lie away from where their penalty would have left them."""
    form = PenaltyForm(1.5, (moved(mean_abs=mean_abs, **lists),))
    return evidence(MODEL.replace(objective=objective), penalty=form)


def blind(
    mean_abs: float, most: float, model: FactorModel = MODEL, **fields: Any
) -> Evidence:
    """A side that holds a quarter of a row where no prediction looks."""
    outside = equivalence(FREE, outside={"right": 0.25}, seen_rank=1, unseen=2)
    model = model.replace(left=model.left * [1, 0, 0])
    return evidence(
        model,
        equivalence=outside,
        unseen=(moved(mean_abs=mean_abs, max_abs=most, **fields),),
    )


def constant(n: int, k: int, *, mixed: bool = False) -> Any:
    """Rows that are constant in one direction: the last column, or a mixture of all of
    them.
    """
    rows = np.column_stack([centred(n)[:, : k - 1], np.full(n, 2.5)])
    return rows @ np.linalg.qr(np.vander(np.arange(1.0, k + 1)))[0] if mixed else rows


def compared(mean_abs: float, model: FactorModel = MODEL, **fields: Any) -> Evidence:
    """Cosines and prediction cosines."""
    return evidence(
        model, predicted=Predicted((moved(mean_abs=mean_abs, **fields),), ())
    )


def like(
    model: FactorModel = MODEL,
    role: str = "right",
    off_unit: float = 0.5,
    **traits: Any,
) -> Evidence:
    """Evidence of what rows are like."""
    return evidence(
        model,
        traits=(
            Traits(role, 1234, off_unit, traits.pop("orthonormal", False), **traits),
        ),
    )


def copied(model: FactorModel, *roles: str) -> Evidence:
    """Evidence of which rows are copies."""
    found = evidence(
        model,
        traits=[
            traits_of(model, side, rng=np.random.default_rng(0))
            for side in roles or ["right"]
        ],
    )
    return (
        found
        if model.link.name != "softmax"
        else changed(found, head=quiet(model=model))
    )


def normed(
    norm: FinalNorm,
    *,
    share: float = 0.32,
    n_rows: int = 400,
    sampled: bool = False,
    **own: Any,
) -> Evidence:
    """Evidence of a norm before a small head, with some numbers of the folded head as
    one likes.
    """
    found = norm_evidence(
        HEAD, norm, labels=np.arange(5), n_neighbours=2, rng=np.random.default_rng(0)
    )
    width = 0.1 * sampled
    nearest = NearestChanged(share, share - width, share + width, n_rows)
    first = replace(found.folded, nearest=nearest, mean_abs=0.0571)
    others = tuple(
        replace(apart, nearest=replace(nearest, share=share / 2))
        for apart in found.apart[1:]
    )
    return evidence(HEAD, norm=replace(found, apart=(first, *others), **own))


def bounded(model: FactorModel = MODEL, **fields: Any) -> Evidence:
    """Bounds and what attacks reached, of linear gauges and with shifts."""
    widths = {0.25: 0.1, 0.5: 0.625, 0.75: 0.9}
    ranged = RangeSummary(
        "right", "linear", 1.5, 0.0, 1234, 20_000, 0, 0.5, widths, 0, 0, 1, ranges=None
    )
    shifted = replace(ranged, role="cross", group="affine", max_shift=3.7)
    lists = {1.1: 0.75, 2.0: 0.5}
    certain = Certificate(
        "right", "linear", 0.0, 10, 1500, False, lists, lists, 0.0, certified=None
    )
    little = replace(
        certain, role="left", group="affine", max_shift=0.1, n_rows=1, lists={2.0: 0.25}
    )
    gauge, linear = Gauge.identity(3), GeneralLinear(3, max_condition=2.0)
    affine = Affine(3, side="right", max_condition=2.0, max_shift=7.0)
    attacks = (
        Attack(
            gauge,
            "movement",
            "right",
            linear,
            0.25,
            0.5,
            2_000,
            table=np.zeros((2_000, 2), int),
        ),
        Attack(
            gauge,
            "neighbours",
            "left",
            affine,
            0.125,
            0.75,
            50,
            np.zeros((5, 11), int),
            typical_row=7.0,
        ),
    )
    return evidence(
        model,
        limits=Limits((ranged, shifted), (certain, little), attacks, 3, 3),
        **fields,
    )


def attacked_and_measured() -> Evidence:
    """An attack that drives 12 % out of its own lists, and 4 % out of all lists."""
    found = bounded()
    _, on_lists = found.limits.attacks
    worst = replace(equal("worst"), gauge=on_lists.gauge)
    all_lists = moved("left", top_n=10, top_n_overlap=0.96, n_lists=400)
    return replace(
        found, equivalents=(worst,), movement=((all_lists,),), drift=(drift(),)
    )


def of_some(found: Evidence, n_rows: int = 1_234) -> Evidence:
    """A head of which some labels were asked for their nearest ones."""
    neighbours = replace(found.head.neighbours, exact=False, n_rows=n_rows)
    return changed(found, head=replace(found.head, neighbours=neighbours))


def centred(n: int) -> Any:
    """Rows whose sum is 0."""
    x = np.random.default_rng(0).standard_normal((n, 3))
    return x - x.mean(axis=0)


def predictions() -> dict[str, Evidence]:
    """Predictions that stay, and three ways in which the check fails."""
    norm = normed(FinalNorm("rms", [1.0, 2.0, 4.0])).norm
    broken = replace(norm.drift[0], max_abs=1.0, tolerance=1e-12)
    far = head(centred=equal_head("mean row removed", "centring", change=1.0))
    visits = (
        (equal(), moved()),
        (equal("linear 2"), moved(mean_abs=0.4)),
        (equal("linear 3"), moved()),
    )
    return {
        "predictions stay": evidence(MODEL, *visits),
        "predictions of one side": evidence(ALONE, (equal(), moved())),
        "other scores than the baseline's": evidence(
            MODEL, score_change=ScoreChange(24, 20, 0.0234)
        ),
        "declared otherwise than the file says": evidence(
            MODEL.replace(
                objective="factors",
                overruled=StatedTraining("product", "objective in m.npz"),
            )
        ),
        "beside zeros": evidence(
            MODEL.replace(right=0 * MODEL.right),
            score_change=ScoreChange(24, 90, 0.9, 3, 9),
        ),
        "scores that may be off": evidence(
            MODEL, nearly_equal=nearly_equal(MODEL, tolerance=0.05, noise=0.3)
        ),
        "of one table": evidence(
            TABLE,
            equivalence=equivalence(PINNED),
            score_change=ScoreChange(99, 99, 0.8, 8, 8),
        ),
        "scores changed": evidence(MODEL, (equal(), moved()), drift=(drift(1.0),)),
        "a probability changed": of_head(far),
        "a form of the norm changed them": evidence(
            HEAD, norm=replace(norm, drift=(broken, *norm.drift[1:]))
        ),
    }


def training() -> dict[str, Evidence]:
    """Every way in which a model may have been trained, of two sides and of one."""
    two = [
        name
        for name, row in OBJECTIVES.items()
        if row.sides == 2 and row.links != ("cosine",)
    ]
    found = {f"two sides, {name}": trained(name) for name in two}
    for name in ("none", "factors", "decoupled-decay", "prediction", "word2vec"):
        found[f"one side, {name}"] = trained(name, ALONE)
    found |= {
        name: evidence(model)
        for name, model in (("two sides", MODEL), ("one side", ALONE), ("a head", HEAD))
    }
    found |= {
        name: evidence(MODEL, equivalence=equivalence(one))
        for name, one in (("pinned", PINNED), ("undecided", OPEN))
    }
    found["one side, undecided"] = evidence(ALONE, equivalence=equivalence(OPEN))
    found["two sides by cosine"] = evidence(COSINE, **gauged("right", "left"))
    found["one side by cosine"] = evidence(ALONE.replace(link="cosine"), **gauged())
    found["two sides, temperature"] = trained("temperature", COSINE)
    towers_alone = ALONE.replace(link="cosine")
    found["one side, temperature"] = trained("temperature", towers_alone)
    found["labels of length 1"] = of_head(head(UNIT), **gauged())
    found["decay"] = decayed(0.125, **LISTS)
    found["decay, copies"] = decayed(0.125, **HALF)
    found["decay, a little"] = decayed(0.0625, **LISTS | {"top_n_overlap": 0.9})
    found["decay, cosines alone"] = decayed(0.125)
    found["decay by counts"] = decayed(0.125, objective="factors-counted", **LISTS)
    found["decay that chose"] = decayed(0.0)
    return found


def movements() -> dict[str, Evidence]:
    """Equivalent models that move cosines, bounds, and predictions."""
    shifted = equal("translation of items 1", "translation", 1.0, 0.75)
    whole = HEAD.replace(left=MODEL.left)
    some = evidence(
        whole.take(right=np.arange(4)), (equal(), moved(**SAMPLED)), head=head(whole)
    )
    flat = equivalence(FREE, outside={"right": 0.25}, seen_rank=1, unseen=2)
    ranked = MODEL.replace(link="ranking")
    return {
        "moved": evidence(
            MODEL,
            (equal(), moved(**LISTS)),
            (shifted, moved(mean_abs=0.4, **SAMPLED, **HALF)),
        ),
        "moved within both sides": evidence(
            MODEL, (equal(), moved(**HALF), moved("left"), moved("cross"))
        ),
        "moved by no gauge": evidence(
            MODEL,
            (
                replace(equal("balanced", "canonical", float("nan")), gauge=None),
                moved(),
            ),
        ),
        "moved, of labels drawn": some,
        "bounds": bounded(),
        "bounds beside what is unseen": bounded(equivalence=flat),
        "bounds, and all lists measured": attacked_and_measured(),
        "no attack": evidence(limits=Limits(rank=20_000)),
        "as predicted": compared(0.0, max_abs=1e-7),
        "nearly as predicted": compared(0.04, **LISTS | {"top_n_overlap": 0.99}),
        "not as predicted": compared(0.2, **LISTS),
        "not as predicted, copies": compared(0.2, **HALF),
        "not as ranked": compared(0.2, ranked, **LISTS),
        "unseen, lists": blind(0.2, 0.9, **LISTS),
        "unseen, copies of a sample": blind(0.2, 0.9, **SAMPLED, **HALF),
        "unseen, cosines": blind(0.2, 0.9),
        "unseen, a little": blind(
            0.01, 0.02, FactorModel.from_user_item(MODEL.left[:2], MODEL.right)
        ),
        "a bias": evidence(MODEL.replace(right_bias=np.arange(5.0))),
        "a bias of a head": of_head(head(HEAD.replace(right_bias=np.arange(5.0)))),
        "a bias as a column": like(
            MODEL.replace(right_bias=np.arange(5.0)),
            bias_columns=BiasColumns(0.4567, 10, 1234, 1),
        ),
        "a bias and a constant": like(
            MODEL.replace(right_bias=np.arange(5.0)),
            bias_columns=BiasColumns(0.4567, 10, 1234, 2),
        ),
        "a constant column": evidence(MODEL.replace(left=constant(6, 3))),
        "a constant mixture": evidence(MODEL.replace(right=constant(5, 3, mixed=True))),
        "a constant column beside a bias": evidence(
            MODEL.replace(right=constant(5, 3), left_bias=np.zeros(6))
        ),
        "two constant columns": evidence(
            MODEL.replace(left=[[1.5, 2.0, x] for x in range(6)])
        ),
        "two constant columns beside a bias": evidence(
            MODEL.replace(
                left=[[1.5, 2.0, x] for x in range(6)], right_bias=np.zeros(5)
            )
        ),
        "a constant column alone": evidence(FactorModel.from_vectors(constant(5, 4))),
        "a constant mixture alone": evidence(
            FactorModel.from_vectors(constant(9, 4, mixed=True))
        ),
    }


def heads() -> dict[str, Evidence]:
    """Return one case for each finding and note on a softmax head."""
    return (
        origins()
        | two_towers()
        | labels_by_independence()
        | caps_and_lengths()
        | final_norms()
        | tied_tables()
    )


def origins() -> dict[str, Evidence]:
    """Return heads whose origin decides cosines or lists, or does not."""
    nearest_changed = replace(change(), n_rows=400)
    few_nearest_changed = replace(change(0.75), n_rows=12)
    turned_pairs = replace(opposite(), n_pairs=185, n_fixed=595)
    sampled_pairs = replace(opposite(), exact=False, n_pairs=5)
    decaying = HEAD.replace(objective="softmax-decay")
    # Scores of long inputs are so far apart that no labels make this head a minimum.
    both_directions = np.vstack([np.eye(3), -np.eye(3)])
    unpenalised = HEAD.replace(left=1000 * both_directions, objective="logistic")

    cases: dict[str, Evidence] = {}
    cases["the origin decides lists"] = of_head(head(neighbours=nearest_changed))
    cases["the origin decides lists of labels asked"] = of_some(
        of_head(head(neighbours=nearest_changed))
    )
    cases["the origin decides lists of few labels asked"] = of_some(
        of_head(head(neighbours=replace(nearest_changed, n_rows=6))), n_rows=6
    )
    cases["the origin decides few lists"] = of_head(
        head(neighbours=few_nearest_changed)
    )
    cases["the origin decides cosines"] = of_head(head(neighbours=change(0.01)))
    cases["the origin lies at the mean"] = of_head(quiet(0.002))
    cases["the origin lies near the mean"] = of_some(of_head(quiet()))
    cases["a mean row against decay"] = of_head(head(decaying))
    cases["pairs that a shift can turn"] = of_head(head(shifts=(turned_pairs,)))
    cases["pairs looked at"] = of_head(head(shifts=(sampled_pairs,)))
    cases["no minimum without a penalty"] = of_head(head(unpenalised))
    cases["logits"] = of_head(head(WITH_INPUTS, logit_agreement=0.35))
    return cases


def two_towers() -> dict[str, Evidence]:
    """Return heads that score users and items with a softmax."""
    nearest_changed = replace(change(), n_rows=400)
    independent = projector(4, 3)
    one_hidden = argmax(False, True, True, True)

    cases: dict[str, Evidence] = {}
    cases["two towers, the origin decides lists"] = of_head(
        head(TOWERS, neighbours=nearest_changed)
    )
    cases["two towers, scores"] = of_head(head(TOWERS, logit_agreement=0.35))
    cases["two towers, independent items"] = of_head(
        head(TOWERS, projector=independent)
    )
    cases["two towers, hidden items"] = of_head(head(TOWERS, argmax=one_hidden))
    return cases


def labels_by_independence() -> dict[str, Evidence]:
    """Return heads with independent labels, few labels, or labels that never win."""
    independent = projector(4, 3)
    few = projector(5, 3)
    one_hidden = argmax(False, True, True, True)
    four_hidden = argmax(False, False, False, False, True, n_labels=9)

    cases: dict[str, Evidence] = {}
    cases["independent labels"] = of_head(head(projector=independent))
    cases["independent labels, capped"] = of_head(head(CAPPED, projector=independent))
    cases["independent labels of length 1"] = of_head(
        head(UNIT, projector=independent, affine_rank=1)
    )
    cases["independent labels with inputs"] = of_head(
        head(WITH_INPUTS, projector=independent)
    )
    cases["few labels"] = of_head(head(projector=few))
    cases["few labels with inputs"] = of_head(head(WITH_INPUTS, projector=few))
    cases["hidden labels"] = of_head(head(argmax=one_hidden))
    cases["hidden labels of those asked"] = of_head(head(argmax=four_hidden))
    return cases


def caps_and_lengths() -> dict[str, Evidence]:
    """Return heads with a soft cap, or with rows that are divided by their lengths."""
    at_the_mean = equal_head(change=0.5, tolerance=0.5)
    pinned = Pinning(Status.PINNED, Reason.FIXES_ALL, Models.HEADS, 6, 6)

    cases: dict[str, Evidence] = {}
    cases["a soft cap"] = of_head(head(CAPPED, centred=equal_head(change=0.123)))
    cases["a tight soft cap"] = of_head(head(CAPPED, centred=equal_head(change=4.56)))
    cases["a soft cap around the mean"] = of_head(head(CAPPED, centred=at_the_mean))
    cases["labels declared of length 1"] = of_head(
        head(UNIT, centred=equal_head(change=0.5)),
        equivalence=equivalence(PINNED, pinning=pinned),
    )
    return cases


def final_norms() -> dict[str, Evidence]:
    """Return heads behind a norm whose gains decide the nearest labels, or do not."""
    rms = FinalNorm("rms", [1.0, 2.0, 4.0])
    rms_with_zero = FinalNorm("rms", [1.0, 0.0, 4.0])
    layer = FinalNorm("layer", [1.0, 2.0, 4.0])

    cases: dict[str, Evidence] = {}
    cases["gains decide"] = normed(rms)
    cases["gains decide for labels asked"] = normed(
        layer, sampled=True, n_copies=3, ones=0.123
    )
    cases["gains of zero decide"] = normed(rms_with_zero)
    cases["gains decide nothing"] = normed(rms, share=0.01)
    cases["independent labels behind a norm"] = changed(
        normed(rms), head=head(projector=projector(4, 3))
    )
    cases["gains of zero decide nothing"] = normed(rms_with_zero, share=0.01)
    return cases


def tied_tables() -> dict[str, Evidence]:
    """Return heads that are, or may be, the input embeddings of their network."""
    nearest_changed = replace(change(), n_rows=400)
    tied = Tying("tied", "wte.weight", "of these values")
    contradicted = Tying("contradicted", "wte.weight")

    cases: dict[str, Evidence] = {}
    cases["a tied head"] = changed(
        of_head(head(neighbours=nearest_changed)), tying=tied
    )
    cases["a head that may be tied"] = changed(of_head(head()), tying=Tying("unknown"))
    cases["two tables said to be one"] = changed(of_head(head()), tying=contradicted)
    return cases


def rows() -> dict[str, Evidence]:
    """What rows are like, whatever they predict."""
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
    ugly = ALONE.replace(right_names=UGLY)
    found = {
        "rows of zeros": evidence(zero),
        "rows of hardly any length": evidence(
            FactorModel.from_vectors(np.diag([1.0, 1, 1, 1, 1e-8, 1e-8, 1e-8, 1e-9]))
        ),
        "rows by distance": evidence(
            FactorModel.from_vectors(draw, compared="distance")
        ),
        "unit rows by distance": like(
            FactorModel.from_vectors(np.eye(3), compared="distance"), off_unit=0.0
        ),
        "rows by hyperbolic distance": evidence(
            FactorModel.from_vectors(draw / 9, compared="hyperbolic")
        ),
        "equal rows by distance": evidence(
            FactorModel.from_vectors(np.ones((3, 2)), compared="distance"),
            equivalence=equivalence(OPEN),
        ),
        "labels of zeros": of_head(head(n_zero=1)),
        "a label at the mean row": of_head(head(n_zero=1, n_at_mean=1)),
        "labels of zeros and at the mean row": of_head(head(n_zero=3, n_at_mean=2)),
        "pairs beside zeros": of_head(
            head(n_zero=1, shifts=(replace(opposite(), n_pairs=6),))
        ),
        "pairs beside labels set aside": of_head(
            head(n_aside=1, shifts=(replace(opposite(), n_pairs=6),))
        ),
        "copies of items": copied(
            FactorModel.from_user_item(draw[:9], twice), "right", "left"
        ),
        "many copies of vectors": copied(
            FactorModel.from_vectors(np.vstack([draw[:5], draw[:5]]))
        ),
        "copies of labels and inputs": copied(
            FactorModel.from_softmax(twice, embeddings=twice), "right", "left"
        ),
        "hubs": like(ugly, hubs=hubs),
        "near-duplicates": like(
            ALONE, near_duplicates=NearDuplicates(512, 0.33, 0.33, 0.055, (1, 3))
        ),
        "near-duplicates of a sample": like(
            ALONE, near_duplicates=NearDuplicates(512, 0.33, 0.3, 0.055, ())
        ),
        "near-duplicates of labels": changed(
            of_head(head()),
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
        "one hub": like(MODEL, hubs=replace(hubs, few=(3,), lists_with=(0.5,))),
        "unit rows": like(ALONE, off_unit=2e-8),
        "orthonormal columns": like(ALONE, orthonormal=True),
        "rows at right angles": like(MODEL, orthogonal_rows=True),
        "vectors at right angles": like(ALONE, orthogonal_rows=True),
        "collapsed rows": like(MODEL, dimensions=COLLAPSED),
        "two spaces": like(TABLE, spaces=SPACES),
        "two spaces, named and drawn": like(
            ALONE,
            spaces=replace(
                SPACES,
                first="rows of old",
                second="of new",
                boundaries=(),
                ids=(),
                n_distinct=98_765,
            ),
        ),
        "two spaces or topics": like(
            TABLE, spaces=replace(SPACES, mean_direction=0.49, shared=0.49)
        ),
        "two spaces or one": like(
            TABLE,
            spaces=replace(
                SPACES, relation=Relation(directions=0.75, shapes=(-1.5, 5.25))
            ),
        ),
        "unit rows of an unknown link": evidence(
            MODEL.replace(link="unknown"), equivalence=equivalence(OPEN)
        ),
        "too few unit rows": evidence(
            COSINE, equivalence=equivalence(OPEN, pinning=few)
        ),
        "too few unit rows of one side": evidence(
            COSINE, equivalence=equivalence(OPEN, pinning=replace(few, rank=2080))
        ),
        "too few unit rows in the dimensions that they span": evidence(
            COSINE, equivalence=equivalence(OPEN, pinning=narrow)
        ),
        "unit rows that no method decides": evidence(
            COSINE, equivalence=equivalence(OPEN, pinning=open_)
        ),
        "too many numbers": evidence(
            COSINE, equivalence=equivalence(OPEN, pinning=wide)
        ),
    }
    for how in ("dot", "cosine"):
        table = FactorModel.from_vectors(draw, compared=how)
        found[f"rows compared by {how}"] = replace(
            like(table, levels=levels(table)), equivalence=equivalence(PINNED)
        )
    for name, model in {
        "": MODEL,
        ", a user bias": MODEL.replace(left_bias=np.zeros(6)),
        ", alone": ALONE,
        ", by cosine": COSINE,
    }.items():
        found[f"a common direction{name}"] = like(model, direction=shared)
    return found


def indexes() -> dict[str, Evidence]:
    """Indexes that list what the model lists, or other rows."""
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
        f"an index {name}": evidence(
            model,
            served=served_lists(model, served, stated, rng=np.random.default_rng(0)),
        )
        for name, (model, served, stated) in models.items()
    }
    found["an index by sums of differences"] = evidence(
        alone(items), stated=Metric("l1", "the index i")
    )
    return found


def searches() -> dict[str, Evidence]:
    """Queries that find some items always, some never, or none near to them."""
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
        f"a search, {name}": evidence(
            model, reach=query_reach(model, rows, served=served)
        )
        for name, (model, rows, served) in found.items()
    }


@cache
def cases() -> dict[str, Evidence]:
    """Return all cases by name."""
    made = predictions() | training() | movements() | heads() | rows()
    return made | indexes() | searches()


def of_truth_table(codes: set[str]) -> list[Finding]:
    """Return the findings of some codes, each of the first model that has it."""
    found = []
    for code in sorted(codes):
        rows = (row for row in TRUTH_TABLE.values() if code in row.findings)
        row = next(rows, None)
        if row is not None:
            sizes = {"n_gauges": 1, "n_pairs": 50, "n_starts": 0}
            result = audit(row.model, **sizes, **row.options)
            found += [one for one in result.findings if one.code == code]
    return found


def of_adapter() -> list[Finding]:
    """Return what the audit of a low-rank adapter finds."""
    draw = np.random.default_rng(0)
    factors = draw.normal(size=(200, 4)), draw.normal(size=(4, 100))
    return list(audit_lora(*factors).findings)


def drawn() -> list[Finding]:
    """Return every finding and note sorted by code, each text once, whatever its
    numbers.

    A code that no case made by hand raises is shown on a model of the truth table.
    """
    found = [one for case in cases().values() for one in conclusions(case)]
    found += of_adapter()
    found += of_truth_table(set(CODES) - {one.code for one in found})
    order = list(NAMES)
    texts: dict[str, Finding] = {}
    for one in found:
        text = f"{one.code} {one.severity} {one.title} {one.text} {one.remedy}"
        texts.setdefault(re.sub(r"[\d.,]+", "0", text), one)
    return sorted(texts.values(), key=lambda one: order.index(one.code))


def printed(finding: Finding) -> str:
    """Return a finding as people read it, under its code and what it is about."""
    value = "" if finding.value is None else f"; {finding.value:.4g}"
    shown = ", with a witness" * (finding.witness is not None)
    first = f"{finding.code} ({finding.severity.title}, {finding.kind}{shown})"
    about = f"of {finding.rows}; in {finding.scope}{value}"
    lines = [first]
    for part in filter(None, (about, finding.title, finding.text, finding.remedy)):
        lines += wrap(part, 100, initial_indent="    ", subsequent_indent="      ")
    return "\n".join(lines)


def page() -> str:
    """Return all of them."""
    return "\n\n".join(map(printed, drawn())) + "\n"
