"""Claims, word for word, from evidence made by hand: names, how firmly they stand, of what, and the number."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from made import (
    FREE,
    HEAD,
    MODEL,
    OPEN,
    PINNED,
    changed,
    drift,
    equal,
    equal_head,
    evidence,
    fibre,
    flags,
    head,
    moved,
    of_head,
    opposite,
    quiet,
)  # fmt: skip

from embaudit.attacks import Attack
from embaudit.auditing import claims as package
from embaudit.auditing.claims import (
    Claim,
    Kind,
    Scope,
    claims,
    freedom,
    heads,
    limits,
    movement,
    predicted,
    predictions,
    training,
)
from embaudit.auditing.limits import Certificate, Limits
from embaudit.auditing.predicted import Predicted
from embaudit.gauges import Affine, Gauge, GeneralLinear
from embaudit.model import FactorModel
from embaudit.model.objectives import OBJECTIVES, Status
from embaudit.ranges import RangeSummary

S, P, M, A, U = Kind.SHOWN, Kind.PROVEN, Kind.MEASURED, Kind.ASSUMED, Kind.UNDECIDED


def record(claim):
    """All of a claim, with a mark where a witness is at hand."""
    scope = (str(claim.scope), claim.scope.whole)
    known = (claim.name, claim.kind, claim.subject, *scope, claim.text, claim.value, claim.evidence)
    return (*known, "witness") if claim.witness is not None else known


def records(found):
    return [record(claim) for claim in found]


def test_a_claim_and_its_scope_are_plain_in_json():
    scope = Scope("linear gauges", 2.0, 0.5)
    claim = Claim("moved:left", S, "user-user cosines", scope, "They move.", 0.25, "movement", Gauge.identity(2))
    assert claim.to_dict() == {
        "name": "moved:left", "subject": "user-user cosines", "text": "They move.", "value": 0.25,
        "evidence": "movement", "kind": "shown", "witness": True,
        "scope": {
            "models": "linear gauges", "max_condition": 2.0, "max_shift": 0.5, "whole": False,
            "title": "linear gauges within κ = 2 and a shift of 0.5 typical rows",
        },
    }  # fmt: skip
    assert (claim.about, claim.role) == ("moved", "left")
    assert str(Scope("shifts", max_shift=1.5)) == "shifts within a shift of 1.5 typical rows"
    assert [str(kind) for kind in Kind] == ["shown", "proven", "measured", "assumed", "undecided"]
    bare = Claim("training", U, "cosines", Scope("models"), "Who knows.")
    assert bare.to_dict() == {
        "name": "training", "subject": "cosines", "text": "Who knows.", "value": None, "evidence": "",
        "kind": "undecided", "witness": False,
        "scope": {"models": "models", "max_condition": None, "max_shift": None, "whole": False, "title": "models"},
    }  # fmt: skip
    assert (bare.about, bare.role) == ("training", "")
    assert flags(Claim) == flags(Scope) == (True, True, True)
    assert claim == replace(claim, witness=None), "two claims are the same whatever shows them"


def test_where_the_check_failed_only_that_and_the_training_is_claimed():
    found = evidence(MODEL, (equal(), moved()))
    assert [claim.name for claim in claims(found)] == [
        "predictions",
        "moved:right",
        "drawn:right",
        "free:right",
        "training",
    ]
    failed = changed(found, drift=(drift(1.0),))
    assert [claim.name for claim in claims(failed)] == ["predictions", "training"]
    declared = changed(failed, model=MODEL.replace(objective="product"))
    assert [claim.name for claim in claims(declared)] == ["predictions", "training", "left-open"]
    assert package.UNCHECKED == ("predictions", "training", "left-open", "chosen", "chosen", "trained", "made")


# What became of the predictions


def test_predictions():
    visits = [(equal(), moved()), (equal("linear 2"), moved()), (equal("linear 3"), moved())]
    found = evidence(MODEL, *visits, drift=(drift(2e-15), drift(6e-15), drift(4e-15)))
    text = "Predictions: 3 equal models made every score the same (largest change 6e-15)."
    assert records(predictions(found)) == [
        ("predictions", M, "every score", "the 3 equal models visited", False, text, 6e-15, "drift")
    ]
    assert list(predictions(evidence())) == []
    (alone,) = predictions(evidence(FactorModel.from_vectors(np.eye(3)), visits[0], drift=(drift(2e-15),)))
    probes = ", on probe rows for the side that is not at hand"
    assert alone.text == f"Check: 1 equal model made every score the same{probes} (largest change 2e-15)."


# What was seen of the cosines


def test_the_equal_model_that_moves_most_on_average_is_named():
    visits = [
        (equal("linear 1", kappa=2.0), moved(mean_abs=0.1, max_abs=1.9), moved("left", 0.3)),
        (
            equal("translation of items 1", "translation", 1.0, 0.75),
            moved(mean_abs=0.4, max_abs=1.25),
            moved("left", 0.2),
        ),
    ]
    found = evidence(MODEL, *visits, fibre=fibre(FREE, "right", "left"))
    told = f"{0.75 / np.median(np.linalg.norm(MODEL.right, axis=1)):.3g} typical rows"
    assert records(movement.moved(found)) == [
        (
            "moved:right", S, "item-item cosines", "translation of items 1", False,
            f"In one (translation of items 1, κ = 1, a shift of {told}) item-item cosines differ by 0.40 on average. "
            "At most they differ by 1.25.",
            0.4, "movement", "witness",
        ),
        (
            "moved:left", S, "user-user cosines", "linear 1", False,
            "In one (linear 1, κ = 2) user-user cosines differ by 0.30 on average. At most they differ by 0.50.",
            0.3, "movement", "witness",
        ),
    ]  # fmt: skip


def drawn_of_a_head(n_drawn, **fields):
    """Evidence of a head of five labels, some of which were drawn, with one equal model."""
    whole = HEAD.replace(left=MODEL.left)
    found = evidence(whole.take(right=np.arange(n_drawn)), (equal(), moved(**fields)), head=head(whole))
    return replace(found, fibre=fibre(FREE, fields.get("role", "right")))


def test_what_rounding_may_have_moved_is_no_movement():
    assert movement.SEEN == 1e-6
    still = (equal(), moved(mean_abs=1e-7, max_abs=1e-6))
    assert list(movement.moved(evidence(MODEL, still))) == []
    assert list(movement.drawn(evidence(MODEL, still))) == []
    just = (equal("linear 2"), moved(mean_abs=1e-8, max_abs=1.1e-6))
    assert [claim.value for claim in movement.moved(evidence(MODEL, still, just))] == [1e-8]
    assert [claim.value for claim in movement.drawn(evidence(MODEL, still, just))] == [pytest.approx(5.5e-8)]
    for draw in (movement.moved, movement.drawn):
        assert list(draw(evidence(MODEL, (equal(), moved()), drift=(drift(1.0),)))) == []


# What all equal models allow


def test_freedom():
    found = evidence(MODEL, fibre=fibre(FREE, "right", "left"))
    assert records(freedom(found)) == [
        (f"free:{role}", P, cosines, "every equal model", True, "They may be others.", None, "fibre")
        for role, cosines in (("right", "item-item cosines"), ("left", "user-user cosines"))
    ]
    names = [next(freedom(evidence(fibre=fibre(one)))).name for one in (FREE, PINNED, OPEN)]
    assert names == ["free:right", "pinned:right", "undecided:right"]


# How far cosines are from those of what is predicted


def compared(*records, model=MODEL, **fields):
    return list(predicted(evidence(model, predicted=Predicted(records, ()), **fields)))


def test_cosines_beside_those_of_what_is_predicted():
    lists = {"top_n": 10, "top_n_overlap": 0.75}
    seen = "the cosines of what is predicted"
    assert records(compared(moved(**lists), moved("left", 0.125))) == [
        (
            "differs:right", M, "item-item cosines", seen, False,
            "The item-item cosines differ by 0.20 on average from those of what is predicted.",
            0.2, "predicted",
        ),
        (
            "listed:right", M, "nearest items", seen, False,
            "25 % of the 10 nearest items differ when items are compared by their predictions.", 0.25,
            "predicted",
        ),
        (
            "differs:left", M, "user-user cosines", seen, False,
            "The user-user cosines differ by 0.12 on average from those of what is predicted.",
            0.125, "predicted",
        ),
    ]  # fmt: skip
    for mean, said in ((0.005, "differ by 0.01 on average from"), (0.00499, "nearly are")):
        found, _ = compared(moved("right", mean, **lists))
        assert (found.text, found.value) == (f"The item-item cosines {said} those of what is predicted.", mean)
    ranked = compared(moved(**lists), model=MODEL.replace(link="ranking"))
    assert [str(claim.scope) for claim in ranked] == ["the cosines of their scores"] * 2
    assert "from those of their scores." in ranked[0].text
    assert ranked[1].text.endswith("when items are compared by their scores.")


def test_shares_of_lists_stand_beside_those_with_copies_counted_once():
    lists = {"top_n": 10, "top_n_overlap": 0.75, "overlap_without_twins": 0.5}
    text = "50 % of the 10 nearest items differ when items are compared by their predictions, with copies "
    found = compared(moved(**lists))[1]
    assert (found.text, found.value) == (f"{text}counted once.", 0.5)
    alike = compared(moved(**lists | {"overlap_without_twins": 0.7501}))[1]
    assert alike.text.endswith("25 % of the 10 nearest items differ when items are compared by their predictions.")
    assert alike.value == 0.25
    drawn = evidence(MODEL, (equal(kappa=2.0), moved(**lists)), (equal(kappa=2.0), moved(**lists, mean_abs=0.4)))
    (claim, _) = (*movement.moved(drawn), None)
    assert claim.text.endswith("Of the 10 nearest, 75 % (50 % with copies counted once) stay.")
    (claim,) = movement.drawn(drawn)
    assert claim.text.endswith("on average, and 75 % (50 % with copies counted once) of the 10 nearest stay.")


def test_one_side_alone_is_told():
    head_alone = list(predicted(of_head()))
    assert records(head_alone) == [
        ("one-side", M, "labels", "the model at hand", False, "Only labels are at hand.", None, "model")
    ]
    assert list(predicted(evidence())) == []
    assert list(predicted(of_head(head(centred=equal_head(change=1.0))))) == []
    failed = {"drift": (drift(1.0),)}
    assert compared(moved(), **failed) == []


# What training pins


@pytest.mark.parametrize("name", [name for name, row in OBJECTIVES.items() if row.sides == 2])
def test_training_that_was_declared_is_assumed(name):
    row = OBJECTIVES[name]
    model = MODEL.replace(link=row.links[0], objective=name)
    text = f"Training: it minimised {row.loss}. Under that objective the cosines are {row.cosines}."
    subject, scope = "cosines within a side", "models of the same predictions"
    settled = {
        Status.FREE: ("left-open", "Training, as declared, leaves them open: equal models solve it equally well."),
        Status.CHOSEN: ("chosen", "The training named (in the file or by --objective) chose them by its penalty."),
        Status.INPUTS: (
            "chosen",
            "The training named (in the file or by --objective) ties them to its inputs: rescaled inputs would give "
            "others.",
        ),
        Status.TRAINED: (
            "trained", "The cosine was trained between two sides, and one side does not show what that fixes.",
        ),
    }  # fmt: skip
    parts = [("training", text), *([settled[row.status]] if row.status in settled else [])]
    assert records(training(evidence(model))) == [
        (name, A, subject, scope, False, text, None, "model") for name, text in parts
    ]


def test_vectors_that_were_made_to_hold_cosines():
    vectors = FactorModel.from_vectors(np.eye(3)).replace(objective="prediction")
    _, made = training(evidence(vectors))
    assert record(made)[:2] == ("made", A)
    assert made.text == "These vectors were made to hold the cosines of a model's predictions."


@pytest.mark.parametrize(
    ("link", "cases"),
    [
        (
            "identity",
            "free under product or none. They are pinned by the penalty under factors or factors-counted; "
            "undecided under decoupled-decay",
        ),
        (
            "softmax",
            "undecided under decoupled-decay. They are free under softmax; pinned by the penalty under softmax-decay; "
            "tied to the inputs under logistic or logistic-decay",
        ),
        ("cosine", "what was trained under cosine"),
    ],
)
def test_training_that_is_not_known_is_listed_case_by_case(link, cases):
    text = f"Training: how the model was trained is not known here. Given the predictions, the cosines are {cases}."
    assert records(training(evidence(MODEL.replace(link=link)))) == [
        ("training", U, "cosines within a side", "models of the same predictions", False, text, None, "model")
    ]


# What is proven of a budget, and what an attack reached


def summary(group, shift, role="right"):
    return RangeSummary(
        role, group, 1.5, shift, 1234, 20_000, 0, 0.5, {0.25: 0.1, 0.5: 0.625, 0.75: 0.9}, 0, 0, 1, found=None
    )


def test_ranges():
    found = evidence(limits=Limits((summary("linear", 0.0), summary("affine", 3.7, "cross"))))
    assert records(limits.ranges(found)) == [
        (
            "range:right:linear:1.5", P, "1,234 of 20,000 pairs of item-item cosines",
            "linear gauges within κ = 1.5", False,
            "No gauge among linear gauges within κ = 1.5 brings a cosine out of its range. Half of the ranges are "
            "wider "
            "than 0.62.",
            0.625, "ranges",
        ),
        (
            "range:cross:affine:1.5", P, "1,234 of 20,000 pairs of user-item cosines",
            "affine gauges within κ = 1.5 and a shift of 1 typical row", False,
            "No gauge among affine gauges within κ = 1.5 and a shift of 1 typical row brings a cosine out of its "
            "range. "
            "Half of the ranges are wider than 0.62.",
            0.625, "ranges",
        ),
    ]  # fmt: skip


def test_certificates():
    kappas = {1.1: 0.75, 2.0: 0.5}
    linear = Certificate("right", "linear", 0.0, 10, 1500, False, dict.fromkeys(kappas, 0.9), kappas, 0.0, found=None)
    affine = replace(linear, role="left", group="affine", max_shift=0.1, n_rows=1, lists={2.0: 0.25})
    assert records(limits.certificates(evidence(limits=Limits((), (linear, affine))))) == [
        (
            f"certified:right:linear:{kappa:g}", P, "the 10 nearest of 1,500 items", f"linear gauges within κ = "
            f"{kappa:g}",
            False,
            f"Proven to stay whole: {100 * share:.0f} % of the lists. That holds under linear gauges within κ = "
            f"{kappa:g}.",
            share,
            "certificates",
        )
        for kappa, share in kappas.items()
    ] + [
        (
            "certified:left:affine:2", P, "the 10 nearest of 1 user",
            "affine gauges within κ = 2 and a shift of 0.1 typical rows", False,
            "Proven to stay whole: 25 % of the lists. That holds under affine gauges within κ = 2 and a shift of "
            "0.1 typical rows.",
            0.25,
            "certificates",
        )
    ]  # fmt: skip
    once = replace(linear, lists={2.0: 0.5}, lists_without_twins={2.0: 0.25})
    (claim,) = limits.certificates(evidence(limits=Limits((), (once,))))
    assert claim.text.startswith(
        "Proven to stay whole: 50 % (25 % with copies counted once) of the lists. That holds under linear"
    )
    assert claim.value == 0.5


def test_attacks_tell_apart_what_was_reached_and_what_is_proven():
    gauge, linear = Gauge.identity(3), GeneralLinear(3, max_condition=2.0)
    affine = Affine(3, side="right", max_condition=2.0, max_shift=7.0)
    made = (
        Attack(gauge, "movement", "right", linear, 0.25, 0.5, 2_000, table=np.zeros((2_000, 2), int)),
        Attack(gauge, "neighbours", "left", affine, 0.125, 0.75, 50, np.zeros((5, 11), int), typical_row=7.0),
    )
    moves, drives = "moves item-item cosines by", "drives out"
    sought = "was sought for 2,000 item-item cosines. It moves them by"
    assert records(limits.attacks(evidence(limits=Limits((), (), made)))) == [
        (
            "reached:movement:right:linear", S, "2,000 pairs of item-item cosines", "linear gauges within κ = 2", False,
            f"The worst gauge found within κ = 2 {sought} 0.25 on average.", 0.25, "attacks", "witness",
        ),
        (
            "bound:movement:right:linear", P, "2,000 pairs of item-item cosines", "linear gauges within κ = 2", False,
            f"No gauge among linear gauges within κ = 2 {moves} more than 0.50 on average.", 0.5, "attacks",
        ),
        (
            "reached:neighbours:left:affine", S, "50 listed neighbours of users",
            "affine gauges within κ = 2 and a shift of 1 typical row", False,
            f"The worst gauge found within κ = 2 and shifts of items up to 1 typical row was sought for 5 user-user "
            f"lists. It {drives} 12 % of their entries.",
            0.125, "attacks", "witness",
        ),
        (
            "bound:neighbours:left:affine", P, "50 listed neighbours of users",
            "affine gauges within κ = 2 and a shift of 1 typical row", False,
            "No gauge among affine gauges within κ = 2 and a shift of 1 typical row drives out more than 75 % of the "
            "entries of user-user lists.",
            0.75, "attacks",
        ),
    ]  # fmt: skip


# What was seen of a head


def test_an_origin_that_decides_neighbours():
    assert records(heads.origin(of_head())) == [
        (
            "origin", S, "label cosines", "the head less its mean row", False,
            "Label cosines depend on an origin that no probability shows. The mean row is 0.5 of a typical row "
            "(median) long. Without it 50 % of labels have another nearest label, and cosines differ by 0.40 on "
            "average.",
            0.5, "head", "witness",
        )
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("share", "mean_abs", "matters"), [(0.05, 0.0, True), (0.049, 0.0499, False), (0.049, 0.05, True)]
)
def test_an_origin_matters_from_a_twentieth_on(share, mean_abs, matters):
    assert (heads.CHANGED, heads.MOVES, heads.CENTRED) == (0.05, 0.05, 1e-3)
    neighbours = replace(head().neighbours, top1_changed=share)
    found = head(neighbours=neighbours, centred=equal_head("mean row removed", "centring", mean_abs))
    assert heads.origin_matters(found) is matters
    assert heads.decides_neighbours(found) is (share == 0.05)
    (claim,) = heads.origin(of_head(found))
    assert claim.text.startswith("Label cosines depend" if matters else "Centring changes little")
    assert ("another nearest label, and" in claim.text) is (share == 0.05)
    tied = replace(found, model=HEAD.replace(link=type(HEAD.link)(soft_cap=3.0)))
    assert heads.origin_matters(tied) is False


QUIET = "Centring changes little: 99 % of labels keep their nearest label. Their origin lies {}"


@pytest.mark.parametrize(
    ("offset", "where"),
    [
        (
            1.01e-3,
            "near their mean row, which is only 0.001 of a typical row (median) long; other origins would predict the "
            "same.",
        ),
        (
            1e-3,
            "at their mean row. Weight decay on all labels puts it there, and so does gradient descent from zero; the "
            "probabilities alone do not.",
        ),
    ],
)
def test_an_origin_that_decides_nothing(offset, where):
    (claim,) = heads.origin(of_head(quiet(2 * offset, neighbours=replace(head().neighbours, top1_changed=0.01))))
    assert claim.text == QUIET.format(where)
    assert (claim.kind, claim.value) == (S, 0.01)


def some(found, share=0.5, n_rows=1_234):
    """A head of which some labels were asked for their nearest ones."""
    asked = replace(found.neighbours, exact=False, n_rows=n_rows, top1_changed=share)
    return replace(found, neighbours=asked)


def test_the_shortest_shift():
    shifts = (opposite(0.3, 1.0), opposite(), opposite(0.1, 0.0))
    text = (
        "A shift of 0.9 times {} makes 'cat' and 'dog' (cosine 0.80) exactly opposite. Half of all pairs need no more "
        "than 0.7."
    )
    assert records(heads.shortest(of_head(head(shifts=shifts)))) == [
        ("shortest", S, "two labels", "shifts of all labels", False, text.format("a typical row"), 0.9, "head")
    ]
    for exact, of in ((True, "780 pairs"), (False, "780 looked at")):
        fixed = replace(opposite(), n_pairs=185, n_fixed=595, exact=exact)
        (claim,) = heads.shortest(of_head(head(shifts=(fixed,))))
        counted = f"Half of the 185 pairs that a shift can turn (of {of}; equal rows stay equal) need no more than 0.7."
        assert claim.text.endswith(counted)
    for offset, typical in ((1e-3, "a typical row (median)"), (1.01e-3, "a typical row")):
        (claim,) = heads.shortest(of_head(quiet(2 * offset)))
        assert claim.text == text.format(typical)
    nothing = [{"shifts": ()}, {"shifts": (opposite(0.3, 1.0),)}, {"constructions": ()}]
    nothing += [{"shifts": (replace(opposite(), quantiles={}),)}]
    assert [list(heads.shortest(of_head(head(**fields)))) for fields in nothing] == [[]] * 4


def test_a_stretch():
    others = (equal_head("translation 1", "translation", 0.9), equal_head(mean_abs=0.1, condition_number=1.5))
    worst = equal_head("linear 2", mean_abs=0.25, condition_number=1.234)
    assert records(heads.stretched(of_head(head(equivalents=(*others, worst))))) == [
        (
            "stretched", S, "label cosines", "linear 2 within κ = 1.23", False,
            "Random linear gauges of condition number 1.23 move cosines by up to 0.25 on average. Only how the head "
            "was trained can rule that out, not what it predicts.",
            0.25, "head", "witness",
        )
    ]  # fmt: skip
    (claim,) = heads.stretched(of_head(quiet(equivalents=(worst,))))
    assert claim.text.startswith("But random linear gauges of condition number 1.23 move")
    assert list(heads.stretched(of_head(head(equivalents=others[:1])))) == []
    some = drawn_of_a_head(4)
    (claim,) = heads.stretched(replace(some, head=replace(some.head, equivalents=(worst,))))
    assert "by up to 0.25 on average among 4 labels drawn. Only how" in claim.text
    line = FactorModel.from_softmax([[1.0], [2.0], [-1.0]])
    assert list(heads.stretched(of_head(head(line, equivalents=(worst,))))) == []
    plane = FactorModel.from_softmax([[1.0, 2.0], [2.0, 0.0], [-1.0, 0.0]])
    assert len(list(heads.stretched(of_head(head(plane, equivalents=(worst,)))))) == 1


def test_logits():
    text = "Over its own inputs the logits of two labels agree with their cosine only as far as a correlation of 0.35."
    assert records(heads.logits(of_head(head(logit_agreement=0.35)))) == [
        ("logits", M, "label cosines", "the inputs at hand", False, text, 0.35, "head")
    ]
    assert list(heads.logits(of_head())) == []
