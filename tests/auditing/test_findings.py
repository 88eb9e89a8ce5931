"""From which effect on a finding is drawn, how grave it is then, and where it is silent."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from made import (
    FREE,
    HEAD,
    MODEL,
    PINNED,
    changed,
    drift,
    equal,
    equal_head,
    evidence,
    fibre,
    head,
    moved,
    of_head,
    opposite,
    projector,
    quiet,
)
from raised import (
    ALONE,
    CAPPED,
    COSINE,
    LISTS,
    UNIT,
    blind,
    compared,
    constant,
    decayed,
    gauged,
    like,
    normed,
    trained,
)

from embaudit.auditing.finding import Kind, Severity
from embaudit.auditing.findings import CHECKS, conclusions
from embaudit.auditing.findings.heads import origin_matters
from embaudit.auditing.findings.writing import is_effect, names_of
from embaudit.auditing.texts import THRESHOLDS
from embaudit.canonical import position
from embaudit.model import FactorModel, Softmax
from embaudit.model.final_norm import FinalNorm
from embaudit.model.objectives import OBJECTIVES, Status
from embaudit.movements.common_direction import CommonDirection
from embaudit.movements.hubs import Hubs
from embaudit.movements.nearest_changed import NearestChanged

ISSUE, TIP = Severity.ISSUE, Severity.TIP
RMS = FinalNorm("rms", [1.0, 2.0, 4.0])


def drawn(case, *codes):
    """Return what was drawn of some codes, with its severity."""
    return {one.code: one.severity for one in conclusions(case) if one.code in codes}


def value(case, code):
    return next(one.value for one in conclusions(case) if one.code == code)


def kept(overlap, n_lists=400, **fields):
    return LISTS | {"top_n_overlap": overlap, "n_lists": n_lists} | fields


@pytest.mark.parametrize(
    ("share", "n_lists", "effect"),
    [(0.05, 120, True), (0.0499, 10_000, False), (1.0, 5, False), (1.0, 6, True), (0.0625, 80, False)],
)
def test_lists_count_from_a_twentieth_on_and_more_than_five_of_them(share, n_lists, effect):
    assert is_effect(share, n_lists) is effect
    lists = kept(1 - share, n_lists)
    code = "lists_differ" if effect else "lists_near"
    assert list(drawn(compared(0.2, **lists), "lists_near", "lists_differ")) == [code]
    assert bool(drawn(decayed(0.0, **lists), "EMB104")) is effect
    assert (drawn(blind(0.006, 0.01, **lists), "EMB203") == {"EMB203": ISSUE}) is effect
    assert bool(drawn(normed(RMS, share=share, n_rows=n_lists), "EMB307")) is effect
    neighbours = replace(quiet().neighbours, top1_changed=share, n_rows=n_lists)
    assert bool(drawn(of_head(quiet(neighbours=neighbours)), "EMB301")) is effect


@pytest.mark.parametrize(("mean_abs", "effect"), [(0.05, True), (0.0499, False)])
def test_cosines_count_from_a_twentieth_on_average(mean_abs, effect):
    differ = drawn(compared(mean_abs), "cosines_near", "cosines_differ")
    assert list(differ) == ["cosines_differ" if effect else "cosines_near"]
    assert drawn(decayed(mean_abs), "EMB104") == ({"EMB104": TIP} if effect else {})
    assert drawn(blind(mean_abs, 0.5), "EMB203") == {"EMB203": ISSUE if effect else TIP}
    centred = quiet(centred=equal_head("mean row removed", "centring", mean_abs))
    assert drawn(of_head(centred), "EMB301", "origin") == ({"EMB301": ISSUE} if effect else {"origin": Severity.NOTE})
    tied = replace(centred, model=CAPPED)
    assert not origin_matters(tied), "a capped head has no other origin"


def test_what_two_decimals_would_not_show_is_no_tip():
    for mean_abs, most, tip in ((0.0049, 0.049, False), (0.005, 0.0, True), (0.0, 0.05, True)):
        assert drawn(blind(mean_abs, most), "EMB203") == ({"EMB203": TIP} if tip else {})
    assert drawn(evidence(fibre=fibre(outside={"right": 0.9}, seen_rank=1)), "EMB203") == {}, "by effect alone"


def test_a_penalty_cannot_have_chosen_from_a_quarter_of_the_lists_on():
    for overlap, severity in ((0.75, ISSUE), (0.7501, TIP)):
        assert drawn(decayed(0.0, **kept(overlap)), "EMB104") == {"EMB104": severity}
    assert drawn(decayed(0.5, **kept(0.0, 5)), "EMB104") == {"EMB104": TIP}, "five lists are a handful"
    assert drawn(evidence(MODEL.replace(objective="factors")), "EMB104") == {}


def test_what_rounding_may_have_moved_is_no_movement():
    still = (equal(), moved(mean_abs=1e-7, max_abs=1e-6))
    assert drawn(evidence(MODEL, still), "moved", "drawn") == {}
    case = evidence(MODEL, still, (equal("linear 2"), moved(mean_abs=1e-8, max_abs=1.1e-6)))
    assert (value(case, "moved"), value(case, "drawn")) == (1e-8, pytest.approx(5.5e-8))
    for most, code in ((1e-6, "cosines_agree"), (1.1e-6, "cosines_near")):
        case = compared(1e-9, max_abs=most, **LISTS)
        assert list(drawn(case, "cosines_agree", "cosines_near")) == [code]
        assert bool(drawn(case, "lists_differ")) == (code == "cosines_near")


def test_the_equal_model_that_moves_most_on_average_is_told():
    visits = (equal("linear 1"), moved(mean_abs=0.1, max_abs=1.9)), (equal("linear 2"), moved(mean_abs=0.4))
    (most,) = [one for one in conclusions(evidence(MODEL, *visits)) if one.code == "moved"]
    assert (most.value, most.scope.models, most.witness) == (0.4, "linear 2", visits[1][0].gauge)
    assert value(evidence(MODEL, *visits), "drawn") == pytest.approx(0.25)


def test_where_the_check_failed_nothing_else_is_told():
    for case in (evidence(MODEL, (equal(), moved())), of_head(), normed(RMS)):
        assert "EMB001" not in drawn(case, "EMB001")
        assert len(conclusions(case)) > 1
    failed = evidence(MODEL, (equal(), moved()), (equal("linear 2"), moved()), drift=(drift(), drift(2.0)))
    (one,) = conclusions(failed)
    assert (one.code, one.value, one.scope.models) == ("EMB001", 2.0, "linear 2")


@pytest.mark.parametrize("name", [name for name, row in OBJECTIVES.items() if name != "cosine"])
def test_what_training_says_of_free_cosines_follows_its_law(name):
    row = OBJECTIVES[name]
    case = trained(name, MODEL if row.sides == 2 else ALONE)
    expected = {Status.FREE: "EMB101", Status.CHOSEN: "EMB103", Status.INPUTS: "EMB103", Status.UNKNOWN: "EMB102"}
    found = [one for one in conclusions(case) if one.code.startswith("EMB10") or one.code == "made"]
    assert [one.code for one in found] == [expected.get(row.status, "made")]
    assert found[0].kind is (Kind.UNDECIDED if row.status is Status.UNKNOWN else Kind.ASSUMED)
    pinned = changed(case, fibre=fibre(PINNED))
    assert drawn(pinned, "EMB101", "EMB102", "EMB103", "EMB105", "made") == {}, "nothing is left to training"


def test_cosines_that_a_test_of_unit_rows_leaves_free_are_shown():
    case = evidence(COSINE, **gauged("right", "left"))
    shown = [one for one in conclusions(case) if one.code in ("free", "rearranged")]
    assert {(one.code, one.role, one.value) for one in shown} == {
        ("free", "right", 0.3), ("rearranged", "right", 0.3), ("free", "left", 0.1), ("rearranged", "left", 0.1),
    }  # fmt: skip
    assert drawn(case, "EMB101", "EMB102") == {"EMB101": ISSUE}
    assert drawn(changed(case, model=COSINE.replace(objective="cosine")), "EMB101") == {"EMB101": ISSUE}


def test_a_bias_is_told_where_it_differs_and_is_seen():
    items = MODEL.replace(right_bias=[1.0, 1.25, 1, 1.5, 1])
    assert value(evidence(items), "EMB202") == 0.5
    alike = MODEL.replace(right_bias=np.full(5, 2.0))
    for other in (MODEL, alike, items.replace(link="cosine"), MODEL.replace(left_bias=np.arange(6.0))):
        assert drawn(evidence(other), "EMB202") == {}


def test_a_constant_column_that_meets_zeros_acts_as_nothing():
    case = constant("left", 0)
    assert drawn(case, "EMB204") == {"EMB204": TIP}
    items = np.array(case.model.right)
    items[:, 0] = 0
    assert drawn(changed(case, model=case.model.replace(right=items)), "EMB204") == {}
    assert drawn(evidence(position=position(MODEL)), "EMB204") == {}


def test_vectors_alone_that_are_nearly_constant_are_no_bias():
    rows = np.column_stack([np.random.default_rng(0).standard_normal((12, 3)), np.full(12, 2.5)])
    assert drawn(evidence(FactorModel.from_vectors(rows)), "EMB407") == {"EMB407": TIP}
    almost = rows + 1e-9 * np.arange(12)[:, None]
    for model in (FactorModel.from_vectors(almost), FactorModel.from_user_item(rows, rows)):
        assert drawn(evidence(model), "EMB407") == {}
    assert drawn(of_head(head(FactorModel.from_softmax(rows))), "EMB407") == {}


@pytest.mark.parametrize("objective", ["softmax-decay", "logistic-decay"])
def test_a_mean_row_contradicts_weight_decay_from_a_hundredth_on(objective):
    model = HEAD.replace(objective=objective)
    assert value(of_head(head(model, mean_norm=0.0202)), "EMB306") == pytest.approx(0.0101)
    others = head(model, mean_norm=0.02), head(CAPPED.replace(objective=objective))
    for other in (*others, head(HEAD.replace(objective="softmax"))):
        assert drawn(of_head(other), "EMB306") == {}


def test_labels_are_few_below_two_a_dimension_and_independent_up_to_one_more():
    codes = ("EMB302", "EMB303")
    for labels, rank, code in ((4, 3, "EMB302"), (5, 3, "EMB303"), (6, 3, None), (3, 3, "EMB302")):
        assert list(drawn(of_head(head(projector=projector(labels, rank))), *codes)) == ([code] if code else [])


def test_what_a_declared_head_says_of_its_origin():
    for model in (CAPPED, UNIT):
        assert drawn(of_head(head(model)), "EMB301", "origin", "EMB305") == {"EMB305": TIP}
    assert drawn(of_head(), "EMB305") == {}


def test_a_shortest_shift_needs_a_pair_that_turns():
    assert value(of_head(head(shifts=(opposite(0.3, 1.0), opposite()))), "shortest") == 0.9
    nothing = [{"shifts": ()}, {"shifts": (opposite(0.3, 1.0),)}, {"constructions": ()}]
    for fields in (*nothing, {"shifts": (replace(opposite(), quantiles={}),)}):
        assert drawn(of_head(head(**fields)), "shortest") == {}


def test_a_final_norm_of_equal_gains_and_rows_without_ones_say_nothing():
    assert drawn(normed(FinalNorm("rms", [2.0, -2.0, 2.0])), "norm", "EMB307") == {}
    zero = normed(FinalNorm("rms", [1.0, 0.0, 4.0]))
    (one,) = [one for one in conclusions(zero) if one.code == "EMB307"]
    assert (one.kind, one.witness) == (Kind.MEASURED, None), "gains of zero have no gauge to show"
    (one,) = [one for one in conclusions(normed(RMS)) if one.code == "EMB307"]
    np.testing.assert_array_equal(one.witness.right, np.diag([1.0, 2.0, 4.0]))
    for ones, told in ((0.1, True), (float("nan"), False), (None, False)):
        assert bool(drawn(normed(RMS, ones=ones), "ones")) is told


@pytest.mark.parametrize("name", ["hubs", "common-direction"])
def test_traits_are_told_from_their_threshold_on(name):
    code, least = THRESHOLDS[name].code, THRESHOLDS[name].default
    for measured, told in ((least, True), (np.nextafter(least, 0), False)):
        hubs = Hubs(400, 10, 7.25, (4,), (0.9,), measured)
        shared = CommonDirection(measured, 0.8, NearestChanged(0.25, 0.2, 0.3, 400))
        case = like(MODEL, **({"hubs": hubs} if name == "hubs" else {"direction": shared}))
        assert bool(drawn(case, code)) is told
        assert drawn(changed(case, thresholds=case.thresholds | {name: 1.0}), code) == {}


def test_a_common_direction_is_not_repeated_of_a_head_whose_origin_matters():
    shared = CommonDirection(0.64, 0.8, NearestChanged(0.25, 0.2, 0.3, 400))
    case = like(HEAD.replace(left=np.eye(3)), direction=shared)
    traits = (*case.traits, replace(case.traits[0], role="left"))
    for found, roles in ((head(case.model), ["left"]), (quiet(model=case.model), ["right", "left"])):
        case = of_head(found, traits=traits)
        assert [one.role for one in conclusions(case) if one.code == "EMB403"] == roles


@pytest.mark.parametrize(
    ("model", "off_unit", "told"),
    [
        (ALONE, 1e-3, True),
        (ALONE, 1.1e-3, False),
        (MODEL, 0.0, False),
        (HEAD, 0.0, False),
        (ALONE.replace(link="cosine"), 0.0, False),
        (ALONE.replace(objective="factors"), 0.0, False),
    ],
)
def test_rows_of_length_one_are_asked_about_where_training_is_not_known(model, off_unit, told):
    assert bool(drawn(like(model, off_unit=off_unit), "EMB409")) is told


def test_orthonormal_columns_are_told_of_vectors_alone_and_of_several_columns():
    line = FactorModel.from_vectors([[1.0], [2.0], [-1.0]])
    for model, told in ((ALONE, True), (MODEL, False), (HEAD, False), (line, False)):
        assert bool(drawn(like(model, orthonormal=True), "EMB410")) is told


def test_names_are_those_of_the_side_asked_about():
    for role, item, user, cosines in (
        ("right", "item", "user", "item-item"), ("left", "user", "item", "user-user"),
        ("cross", "item", "user", "user-item"),
    ):  # fmt: skip
        names = names_of(MODEL, role)
        assert (names["item"], names["users"], names["cosines"]) == (item, f"{user}s", f"{cosines} cosines")
    assert names_of(ALONE)["predictions"] == "scores"
    assert names_of(HEAD)["predictions"] == "predictions"


def test_every_check_is_silent_of_evidence_that_has_nothing_to_tell():
    pinned = evidence(MODEL, fibre=fibre(PINNED))
    assert [one.code for one in conclusions(pinned)] == ["pinned"]
    assert len(set(CHECKS)) == len(CHECKS)
    assert FREE.moves
    assert Softmax().guard == ""
