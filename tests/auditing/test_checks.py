"""Findings, word for word, on both sides of each threshold; from evidence made by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from made import (
    EVERY,
    FREE,
    HEAD,
    MODEL,
    PINNED,
    argmax,
    changed,
    equal,
    equal_head,
    evidence,
    fibre,
    flags,
    head,
    moved,
    of_head,
    projector,
)  # fmt: skip

from embaudit.auditing import checks
from embaudit.auditing.checks.argmax import hidden_labels
from embaudit.auditing.checks.balance import balance
from embaudit.auditing.checks.bias import bias
from embaudit.auditing.checks.declared import declared
from embaudit.auditing.checks.identification import identification
from embaudit.auditing.checks.norm import final_norm
from embaudit.auditing.checks.origin import origin, undeclared_mean
from embaudit.auditing.checks.predictions import predictions
from embaudit.auditing.checks.rank import absorbable, hidden_directions
from embaudit.auditing.checks.rows import undirected_rows
from embaudit.auditing.checks.simplex import simplex
from embaudit.auditing.claims import Claim, Kind, Scope
from embaudit.auditing.finding import Finding, Severity
from embaudit.auditing.traits import Traits
from embaudit.canonical import position
from embaudit.canonical.balance import BALANCED
from embaudit.canonical.pinning import Moved, Pinning
from embaudit.canonical.position import HiddenBias
from embaudit.model import FactorModel, Softmax
from embaudit.model.objectives import OBJECTIVES, Status
from embaudit.movements.bias_columns import BiasColumns

ISSUE, TIP = Severity.ISSUE, Severity.TIP
CAPPED = HEAD.replace(link=Softmax(soft_cap=3.0))
UNIT = HEAD.replace(link=Softmax(unit_rows=True))


def record(finding):
    """All of a finding and of the claim it is."""
    claim = finding.claim
    whole = (claim.name, claim.kind, claim.subject, str(claim.scope), claim.evidence, claim.witness is not None)
    return (finding.code, finding.severity, finding.title, finding.explanation, finding.remedy, finding.value, *whole)


def only(found):
    """Return the record of the one finding."""
    (finding,) = found
    return record(finding)


def codes(found):
    return [finding.code for finding in found]


def test_a_finding_is_plain_in_json():
    claim = Claim("bias", Kind.MEASURED, "the item bias", Scope("the model at hand"), "Because.", 2.0, "model")
    finding = Finding("EMB202", TIP, "something is so", claim, "Do that.")
    assert finding.to_dict() == {
        "code": "EMB202", "severity": "tip", "title": "something is so", "explanation": "Because.", "remedy": "Do "
        "that.",
        "value": 2.0, "claim": "bias",
    }  # fmt: skip
    assert flags(Finding) == (True, True, True)
    assert [(severity.value, severity.title) for severity in Severity] == [(1, "tip"), (2, "issue")]


def test_the_gravest_come_first_and_equals_in_the_order_of_the_checks():
    def check(code, severity):
        return lambda _: iter([Finding(code, severity, "", Claim("a", Kind.SHOWN, "", EVERY, ""), "")])

    given = [check("A", TIP), check("B", ISSUE), check("C", TIP), check("D", ISSUE)]
    assert codes(checks.findings(evidence(), given)) == ["B", "D", "A", "C"]
    assert codes(checks.findings(evidence())) == ["EMB102"]
    assert (
        predictions, origin, simplex, hidden_labels, declared, undeclared_mean, undirected_rows,
    ) == checks.ABOUT_HEADS  # fmt: skip
    own = (*checks.ABOUT_HEADS, final_norm, identification, balance, hidden_directions, absorbable, bias)
    assert (*own, *checks.OF_TRAITS) == checks.CHECKS


# EMB001


# EMB101, EMB102, EMB103, EMB105

INSTEAD = (
    "Rank by what is predicted of both sides together. Products of two items are no more fixed than their cosines. "
    "Cosines of the predictions are fixed; only a test on your task says whether they suit it."
)
CONVENTION = "Read them as one convention, never across models; check them against cosines of the predictions."
MOVED = (equal(), moved(mean_abs=0.25), moved("left", 0.5), moved("cross", 0.9))
OF = ("identification", Kind.ASSUMED, "item-item cosines", "every equal model", "movement", False)


def trained(name, **fields):
    model = MODEL if name is None else MODEL.replace(link=OBJECTIVES[name].links[0], objective=name)
    return evidence(model, (equal("linear 0"), moved(mean_abs=0.125)), MOVED, **fields)


@pytest.mark.parametrize("name", [name for name, row in OBJECTIVES.items() if row.sides == 2 and name != "cosine"])
def test_what_training_says_of_free_cosines(name):
    row = OBJECTIVES[name]
    text = f"Training minimised {row.loss}. Under it they are {row.cosines}."
    code, severity, title, remedy, kind = {
        Status.FREE: ("EMB101", ISSUE, "neither predictions nor training fix the cosines", INSTEAD, Kind.ASSUMED),
        Status.CHOSEN: ("EMB103", TIP, "the cosines are chosen by the regulariser", CONVENTION, Kind.ASSUMED),
        Status.INPUTS: ("EMB103", TIP, "the cosines are tied to the inputs", CONVENTION, Kind.ASSUMED),
        Status.UNKNOWN: (
            "EMB102", TIP, "no law tells which cosines the declared training chose",
            "Compare models and lists by what is predicted until there is one.", Kind.UNDECIDED,
        ),
    }[row.status]  # fmt: skip
    if row.status is Status.UNKNOWN:
        text = f"Training minimised {row.loss}. Under it the cosines are {row.cosines}."
    elif code == "EMB103":
        text += " The predictions alone would allow others."
    expected = (code, severity, title, text, remedy, 0.5, OF[0], kind, *OF[2:])
    assert only(identification(trained(name))) == expected


def test_training_that_is_not_known():
    assert only(identification(trained(None))) == (
        "EMB102", TIP, "the predictions do not fix the cosines, and training is not known",
        "Equally predicting models have other cosines; whether training chose one depends on its objective.",
        "Name the objective (product, factors, factors-counted, decoupled-decay, none or another one, `--objective`).",
        0.5, "identification", Kind.UNDECIDED, *OF[2:],
    )  # fmt: skip


def test_nothing_is_to_be_found_where_cosines_are_pinned_or_those_of_predictions():
    assert list(identification(trained("product", fibre=fibre(PINNED)))) == []
    vectors = FactorModel.from_vectors(np.eye(3)).replace(objective="prediction")
    assert list(identification(evidence(vectors))) == []


@pytest.mark.parametrize("objective", [None, "cosine"])
def test_models_of_cosines_whose_own_cosines_are_free(objective):
    moves = {"left": Moved(0.1, 0.2, 3), "right": Moved(0.3, 0.6, 3)}
    pinning = Pinning("free", "because", "scope", 1, 3, moved=moves)
    found = trained("cosine", fibre=fibre(FREE, pinning=pinning))
    text = "They may be others. Training on left-right cosines alone leaves them open."
    expected = (
        "EMB101",
        ISSUE,
        "the predictions do not fix the cosines",
        text,
        INSTEAD,
        0.6,
        OF[0],
        Kind.SHOWN,
        *OF[2:],
    )
    assert only(identification(changed(found, model=found.model.replace(objective=objective)))) == expected
    (of_labels,) = identification(of_head(head(UNIT), fibre=fibre(FREE, pinning=pinning)))
    assert of_labels.explanation == "They may be others."
    assert of_labels.claim.subject == "label-label cosines"


# EMB104

ROWS = np.linalg.qr(np.random.default_rng(0).standard_normal((9, 2)))[0]


def stretched(kappa, objective="factors", **fields):
    model = FactorModel.from_user_item(
        ROWS * [kappa, 1], ROWS[:8] @ np.linalg.inv(np.linalg.qr(ROWS[:8])[1]) / [kappa, 1]
    )
    model = model.replace(objective=objective, **fields)
    return evidence(model, position=position(model))


def test_factors_that_decay_would_not_leave_so():
    assert BALANCED == 1.1
    assert codes(balance(stretched(1.0999))) == []
    assert codes(balance(stretched(1.1001))) == ["EMB104"]
    law = (
        "At a minimum with such decay, users and items have {}. A gauge of condition number 1.5 lies between that "
        "and these factors; up to 1.1 counts as balanced."
    )
    remedy = "Check the objective and that training converged; if somebody rescaled the factors, no cosine is pinned."
    expected = (
        "EMB104", TIP, "the factors are not where the declared objective would leave them",
        law.format("equal Gram matrices"), f"{remedy} If decay counted ratings, declare factors-counted.",
        pytest.approx(1.5), "balance", Kind.MEASURED, "the factors", "minima of the declared objective", "position",
        False,
    )  # fmt: skip
    assert only(balance(stretched(1.5))) == expected
    known = {"left_counts": np.ones(9), "right_counts": np.ones(8)}
    text = law.format("equal Gram matrices, each row weighted by its interactions")
    assert only(balance(stretched(1.5, "factors-counted", **known))) == (*expected[:3], text, remedy, *expected[5:])
    assert codes(balance(stretched(1.5, "factors-counted"))) == [], "without counts nobody can judge"


# EMB201


def test_rows_without_direction():
    zero = FactorModel.from_user_item(np.diag([1.0, 1, 0]), [[1.0, 0, 0], [0, 0, 0], [0, 0, 0]])
    left, right = undirected_rows(evidence(zero))
    text, remedy = (
        "A zero vector has no cosine; pairs leave it out, and lists unless a shift gives it a direction.",
        "Give such rows no neighbours instead of arbitrary ones.",
    )
    tail = (Kind.MEASURED,)
    assert record(left) == (
        "EMB201", TIP, "1 user has no direction", text, remedy, 1.0, "no-direction:left", *tail, "users",
        "the model at hand", "model", False,
    )  # fmt: skip
    assert record(right) == (
        "EMB201", TIP, "2 items have no direction", text, remedy, 2.0, "no-direction:right", *tail, "items",
        "the model at hand", "model", False,
    )  # fmt: skip
    assert list(undirected_rows(evidence())) == []


# EMB202


def test_a_bias_that_no_cosine_sees():
    items = MODEL.replace(right_bias=[1.0, 1.25, 1, 1.5, 1])
    assert only(bias(evidence(items))) == (
        "EMB202", TIP, "the item bias takes no part in the cosines",
        "Predictions rank items with their bias, cosines without it: what the bias holds is thrown away.",
        "Rank by the score where popularity should count.",
        0.5, "bias", Kind.MEASURED, "the item bias", "the model at hand", "model", False,
    )  # fmt: skip
    for other in (
        MODEL,
        MODEL.replace(right_bias=np.full(5, 2.0)),
        items.replace(link="cosine"),
        MODEL.replace(left_bias=np.arange(6.0)),
    ):
        assert list(bias(evidence(other))) == []


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (1, "the bias as a column, as `similar_items` of implicit has it"),
        (2, "the bias and a constant as columns, as `similar_items` of implicit has them"),
    ],
)
def test_neighbours_that_count_the_bias_in(columns, words):
    items = MODEL.replace(right_bias=[1.0, 1.25, 1, 1.5, 1])
    counted_in = BiasColumns(0.4567, 10, 1234, columns)
    of_items = Traits("right", 1234, 0.5, False, bias_columns=counted_in)
    (found,) = bias(evidence(items, traits=(Traits("left", 3, 0.5, False, bias_columns=None), of_items)))
    assert found.claim.text == (
        "Predictions rank items with their bias, cosines without it: what the bias holds is thrown away. "
        f"With {words}, items keep 4.6 of their 10 nearest (mean of 1,234 items)."
    )


# EMB203


def blind(side="right", n=6, rank=3, seen=1, share=0.25):
    sizes = {"left": (n, 5), "right": (5, n)}[side]
    draw = np.random.default_rng(0)
    model = FactorModel.from_user_item(*(draw.standard_normal((size, rank)) for size in sizes[::-1]))
    return evidence(model, fibre=fibre(outside={side: share}, seen_rank=seen))


def test_directions_that_no_prediction_sees():
    assert only(hidden_directions(blind())) == (
        "EMB203", ISSUE, "item rows reach into 2 dimensions that no prediction sees",
        "Up to 25 % of a row's squared length lies in 2 of 3 dimensions that no user row has: no prediction sees them. "
        "What items hold there is arbitrary, and their cosines count it in full.",
        "Project those directions out (the canonical models of this audit do), or compare predictions.",
        2.0, "outside:right", Kind.PROVEN, "item cosines", "the 3 latent dimensions", "fibre", False,
    )  # fmt: skip
    assert only(hidden_directions(blind("left", seen=2)))[2:4] == (
        "user rows reach into 1 dimension that no prediction sees",
        "Up to 25 % of a row's squared length lies in 1 of 3 dimensions that no item row has: no prediction sees them. "
        "What users hold there is arbitrary, and their cosines count it in full.",
    )
    assert list(hidden_directions(evidence())) == []


# EMB204


def constant(role, column, value=2.0, **fields):
    draw = np.random.default_rng(0)
    model = FactorModel.from_user_item(draw.standard_normal((6, 3)), draw.standard_normal((5, 3)), **fields)
    place = position(model)
    return evidence(model, position=replace(place, hidden_biases=(HiddenBias(role, column, value),)))


def test_a_constant_direction_acts_as_a_bias():
    assert only(absorbable(constant("left", 2))) == (
        "EMB204", TIP, "item cosines count what acts as a bias",
        "Column 2 of the users is constant, 2. What items hold there adds a number to every score of one item, as a "
        "bias "
        "does. Their cosines count it as a likeness.",
        "Make it the item bias: take 2 times that component of the items, then drop it from both sides.",
        2.0, "absorbable:right", Kind.MEASURED, "item cosines", "the model at hand", "position", False,
    )  # fmt: skip
    assert only(absorbable(constant("right", None, -1.2345, user_bias=np.zeros(6)))) == (
        "EMB204", TIP, "user cosines count what acts as a bias",
        "A mixture of columns of the items is constant, -1.23. What users hold there adds a number to every score of "
        "one "
        "user, as a bias does. Their cosines count it as a likeness.",
        "The user bias could take it up: add -1.23 times that component of the users, then drop it from both sides.",
        -1.2345, "absorbable:left", Kind.MEASURED, "user cosines", "the model at hand", "position", False,
    )  # fmt: skip


def test_a_constant_column_that_meets_zeros_acts_as_nothing():
    found = constant("left", 0)
    for column, expected in ((0, []), (1, ["EMB204"])):
        items = np.array(found.model.right)
        items[:, column] = 0
        assert codes(absorbable(changed(found, model=found.model.replace(right=items)))) == expected
        items[1, column] = 1.0
        assert codes(absorbable(changed(found, model=found.model.replace(right=items)))) == ["EMB204"]
    assert list(absorbable(evidence())) == []
    assert list(absorbable(evidence(position=position(MODEL)))) == []


# EMB301, EMB306


def test_an_origin_that_decides_neighbours():
    assert only(origin(of_head(head(neighbours=replace(head().neighbours, top1_changed=0.35))))) == (
        "EMB301", ISSUE, "subtracting the average row changes 35 % of nearest labels",
        "Adding one vector to every label row changes no probability, so the origin that cosines are measured from "
        "is a "
        "convention. Here the mean row is 0.5 of a typical row long, and it decides neighbours.",
        "Do not read label cosines as similarity. Compare what the head predicts: logit cosines over your inputs "
        "(`embaudit fix --as prediction`, with `--inputs` or `--states` where the head has none).",
        0.35, "origin-decides", Kind.SHOWN, "label cosines", "the head less its mean row", "head", True,
    )  # fmt: skip


@pytest.mark.parametrize("objective", ["softmax-decay", "logistic-decay"])
def test_a_mean_row_against_weight_decay(objective):
    model = HEAD.replace(objective=objective)
    assert only(undeclared_mean(of_head(head(model, mean_norm=0.0202)))) == (
        "EMB306", TIP, f"the mean row contradicts the declared objective ({objective})",
        "Where weight decay on all labels has come to rest, the label rows add up to zero. Here their mean is 0.01 "
        "of a "
        "typical row long.",
        "Check the declaration: was training stopped early, were some labels or a tied embedding decayed otherwise, or "
        "was there no decay? Without it the origin of the labels is free.",
        0.0101, "mean-row", Kind.MEASURED, "label rows", "minima of the declared objective", "head", False,
    )  # fmt: skip
    assert list(undeclared_mean(of_head(head(model, mean_norm=0.02)))) == []
    assert list(undeclared_mean(of_head(head(CAPPED.replace(objective=objective))))) == []


# EMB302, EMB303


def test_affinely_independent_labels():
    found = head(projector=projector(4, 3), affine_rank=1)
    assert only(simplex(of_head(found))) == (
        "EMB302", TIP, "the labels are affinely independent",
        "5 labels span 1 dimension, so inputs can produce any logits, and affine gauges any cosines. By itself this "
        "head "
        "says nothing about which labels are alike. All its projector cosines are equal.",
        "Bring inputs and use logit cosines over them.",
        pytest.approx(4 / 3), "simplex", Kind.PROVEN, "label cosines", "affine gauges", "head", False,
    )  # fmt: skip
    with_inputs = replace(found, model=HEAD.replace(left=np.eye(3)))
    assert only(simplex(of_head(with_inputs)))[4] == "Use logit cosines over the inputs."


# EMB304


def test_labels_that_cannot_lead():
    can = np.array([False, True, False, False, True])
    assert only(hidden_labels(of_head(head(argmax=argmax(*can, n_labels=9))))) == (
        "EMB304", TIP, "3 of 5 labels asked can hardly be the most probable",
        "No input puts them ('label 0', 'label 2', 'label 3') ahead of every other label by more than 1e-06 of the "
        "spread "
        "of its logits. Their rows lie inside the hull of the others, or at its edge within that margin.",
        "Greedy decoding hardly ever emits them; lengthen those rows, or give the head more dimensions or a bias.",
        3.0, "argmax", Kind.PROVEN, "5 labels asked", "all inputs, and leads above 1e-06 of the spread of the logits",
        "head", False,
    )  # fmt: skip
    four = only(hidden_labels(of_head(head(argmax=argmax(False, False, True, False, False)))))
    assert four[2] == "4 of all labels can hardly be the most probable"
    assert four[3].startswith("No input puts them ('label 0', 'label 1', 'label 3'…) ahead")
    assert four[8] == "all labels"
    assert list(hidden_labels(of_head())) == list(hidden_labels(evidence())) == []


# EMB305


def declaring(model, change, tolerance=1e-12, **fields):
    return of_head(head(model, centred=equal_head(change=change, tolerance=tolerance)), **fields)


LINEAR = "Linear gauges still keep every probability."


@pytest.mark.parametrize(
    ("change", "size"),
    [(0.123, "a relative 0.12"), (0.9999, "a relative 1"), (1.0, "a factor e^1.0"), (4.56, "a factor e^4.6")],
)
def test_what_a_soft_cap_rules_out(change, size):
    assert only(declared(declaring(CAPPED, change))) == (
        "EMB305", TIP, "a logit soft-cap of 3 ties the origin of the labels",
        f"With it, removing the mean row changes a probability by {size}: that is another head. {LINEAR}",
        "If the declaration is wrong, audit again without it.",
        change, "declared", Kind.SHOWN, "label cosines", "the head less its mean row", "head", False,
    )  # fmt: skip


def test_what_a_declaration_leaves_where_the_mean_row_is_zero():
    at_mean = f"The labels lie at their mean row, whose removal changes no probability; other shifts would. {LINEAR}"
    assert only(declared(declaring(CAPPED, 0.5, tolerance=0.5)))[3] == at_mean
    pinning = Pinning("pinned", "that is so", "gauges near", 6, 6)
    found = declared(declaring(UNIT, 0.5, fibre=fibre(PINNED, pinning=pinning)))
    assert only(found)[2:4] == (
        "label rows of length 1 ties the origin of the labels",
        f"With it, removing the mean row changes a probability by a relative 0.5: that is another head. "
        f"{pinning.explain()}",
    )
