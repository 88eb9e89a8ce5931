"""The verdict: which claims it is made of, in which order, and what it says to do about them."""

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
    quiet,
)  # fmt: skip

from embaudit.auditing.claims import claims
from embaudit.auditing.verdict import Statement, statements, verdict
from embaudit.canonical.pinning import Pinning
from embaudit.model import FactorModel
from embaudit.model.objectives import OBJECTIVES, Status

NOT = "Do not read meaning into these cosines; {}, or use {}."
CHECKED = "Read these cosines as a convention of this training run; check them against {}."
PREDICTIONS = "cosines of the predictions"
SCORES = "cosines of the scores, which this model's scores fix and its rankings do not"
BRING = "Do not read meaning into them; bring inputs and use logit cosines."
LATER = "Read them as a convention of this training run; with inputs, logit cosines are what the head pins down."


def said(found):
    """Return the statements of a verdict, and the names of their claims."""
    made = statements(found, claims(found))
    return made, [name for statement in made for name in statement.claims]


def advice(found):
    """Return what the verdict says to do, and the claims behind it."""
    *_, last = statements(found, claims(found))
    return last.text, last.claims


def seen(model=MODEL, **fields):
    return evidence(model, (equal(), moved(), moved("left")), **fields)


def test_a_verdict_is_one_paragraph():
    assert verdict([Statement("One.", ("a",)), Statement("Two.", ())]) == "One. Two."
    assert verdict([]) == ""
    assert flags(Statement) == (True, True, True)


def test_what_was_seen_comes_before_what_may_be_and_what_training_says():
    found = seen(fibre=fibre(FREE, "right", "left"))
    made, names = said(found)
    assert names == ["predictions", "moved:right", "drawn:right", "free:right", "training", "free:right", "training"]
    known = {claim.name: claim.text for claim in claims(found)}
    assert [statement.text for statement in made[:-1]] == [known[name] for name in names[:5]]
    assert [len(statement.claims) for statement in made] == [1, 1, 1, 1, 1, 2]


def test_the_verdict_speaks_of_items_or_else_of_the_first_that_was_looked_at():
    for roles, role in ((("left", "right"), "right"), (("left", "cross"), "left"), (("cross", "left"), "cross")):
        _, names = said(seen(fibre=fibre(FREE, *roles)))
        assert f"free:{role}" in names
        assert not {f"free:{other}" for other in set(roles) - {role}} & set(names)


def test_a_failed_check_is_all_that_is_said_beside_training():
    failed = seen(drift=(drift(1.0),))
    assert said(failed)[1] == ["predictions", "training"]
    assert said(failed)[0][0].text.startswith("The check failed")


@pytest.mark.parametrize("model", [MODEL, MODEL.replace(objective="product"), HEAD.replace(left=np.eye(3))])
def test_pinned_cosines_are_read_as_what_is_predicted_whatever_the_training(model):
    found = seen(model, fibre=fibre(PINNED, "right", "left"))
    expected = "Read these cosines as part of what the model predicts."
    assert advice(found) == (expected, ("pinned:right",))
    mixed = replace(fibre(PINNED, "right"), freedom={"right": PINNED, "left": FREE})
    made, names = said(changed(found, fibre=mixed))
    assert "training" not in names
    assert made[-1] == Statement(expected, ("pinned:right",))


def test_undecided_cosines_are_a_convention():
    text = "Read them as a convention of this training run, since nobody knows whether an equal model has others."
    for found in (
        seen(fibre=fibre(OPEN)),
        of_head(fibre=fibre(OPEN)),
        seen(MODEL.replace(objective="product"), fibre=fibre(OPEN)),
    ):
        assert advice(found) == (text, ("undecided:right",))
        assert "training" in said(found)[1]


@pytest.mark.parametrize(
    "name", [None, *(name for name, row in OBJECTIVES.items() if row.links[0] in ("identity", "cosine"))]
)
def test_what_to_do_follows_the_status_of_the_training(name):
    status = None if name is None else OBJECTIVES[name].status
    text, names = {
        Status.PREDICTED: ("Read these cosines as cosines of those predictions.", ("training",)),
        Status.CHOSEN: (CHECKED.format(PREDICTIONS), ("free:right", "training")),
        Status.INPUTS: (CHECKED.format(PREDICTIONS), ("free:right", "training")),
    }.get(status, (NOT.format("rank by the dot product", PREDICTIONS), ("free:right", "training")))
    model = FactorModel.from_vectors(np.eye(3)) if status is Status.PREDICTED else MODEL
    model = model.replace(objective=name, link="identity" if name is None else OBJECTIVES[name].links[0])
    if name == "cosine":
        text = NOT.format("rank by the predicted cosines", PREDICTIONS)
    assert advice(seen(model)) == (text, names)


def test_rankings_are_told_that_they_do_not_fix_cosines_of_scores():
    ranked = MODEL.replace(link="ranking")
    assert advice(seen(ranked))[0] == NOT.format("rank by the dot product", SCORES)
    assert advice(seen(ranked.replace(objective="factors")))[0] == CHECKED.format(SCORES)


def test_a_softmax_model_without_evidence_of_its_head_follows_its_training():
    for name in ("logistic", "logistic-decay", "softmax-decay"):
        assert advice(seen(HEAD.replace(objective=name)))[0] == CHECKED.format(PREDICTIONS)


def test_of_a_head_its_origin_shifts_and_stretches_are_told():
    full = head(equivalents=(equal_head(),), logit_agreement=0.5)
    _, names = said(of_head(full, equivalents=(equal(),), movement=((moved(),),), drift=(drift(),)))
    assert names[:-2] == ["predictions", "origin", "shortest", "stretched", "free:right", "logits", "training"]


def test_what_to_do_about_a_head():
    assert advice(of_head(head(logit_agreement=0.5))) == ("Use logit cosines.", ("logits", "free:right"))
    assert advice(of_head()) == (BRING, ("origin", "free:right"))
    assert advice(of_head(quiet())) == (LATER, ("free:right", "training"))
    tied = head(HEAD.replace(link=type(HEAD.link)(unit_rows=True)))
    pinning = Pinning("free", "because", "scope", 1, 3)
    assert advice(of_head(tied, fibre=fibre(FREE, pinning=pinning))) == (BRING, ("free:right",))
    capped = head(HEAD.replace(link=type(HEAD.link)(soft_cap=3.0)))
    assert advice(of_head(capped)) == (LATER, ("free:right", "training"))
