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
    head,
    moved,
    of_head,
)  # fmt: skip

from embaudit.auditing.answer import Answer, Word, answer
from embaudit.auditing.claims import claims
from embaudit.auditing.verdict import Statement, statements

NO, YES, CONVENTION, UNSAID = Word.NO, Word.YES, Word.CONVENTION, Word.UNSAID
ANSWER = Answer(NO, "it is so", ("left-open", "free:right"))


def said(found, given=ANSWER):
    """Return the statements of a verdict, and the names of their claims."""
    made = statements(found, claims(found), given)
    return made, [name for statement in made for name in statement.claims]


def seen(model=MODEL, **fields):
    return evidence(model, (equal(), moved(), moved("left")), **fields)


def test_what_was_seen_comes_before_what_may_be_and_what_training_says():
    found = seen(fibre=fibre(FREE, "right", "left"))
    made, names = said(found)
    assert names == ["predictions", "moved:right", "drawn:right", "free:right", "training", "left-open", "free:right"]
    known = {claim.name: claim.text for claim in claims(found)}
    assert [statement.text for statement in made[:-1]] == [known[name] for name in names[:5]]
    assert [len(statement.claims) for statement in made] == [1, 1, 1, 1, 1, 2]


def test_the_verdict_speaks_of_items_or_of_what_was_asked_about():
    for roles, about, role in (
        (("left", "right"), None, "right"), (("left", "cross"), None, "left"), (("cross", "left"), None, "cross"),
        (("right", "left"), "left", "left"),
    ):  # fmt: skip
        _, names = said(seen(fibre=fibre(FREE, *roles), about=about), replace(ANSWER, claims=()))
        assert [name for name in names if name.startswith("free")] == [f"free:{role}"]


def test_training_is_beside_the_point_where_cosines_are_pinned():
    mixed = replace(fibre(PINNED, "right"), freedom={"right": PINNED, "left": FREE})
    assert "training" not in said(seen(fibre=mixed))[1]
    for other in (FREE, OPEN):
        assert "training" in said(seen(fibre=fibre(other)))[1]


def test_of_a_head_its_origin_shifts_and_stretches_are_told():
    full = head(equivalents=(equal_head(),), logit_agreement=0.5)
    found = of_head(full, equivalents=(equal(),), movement=((moved(),),), drift=(drift(),))
    assert said(found)[1][:-2] == [
        "predictions", "origin", "shortest", "stretched", "free:right", "logits", "training",
    ]  # fmt: skip


NOT, RANK = "Do not read meaning into these cosines; ", "rank items by their scores"
DOT = "rank by the dot product with the other side"
CONVENTIONAL = "Read these cosines as a convention of this training run"
UNTIL = "Until that is known, read these cosines as a convention of this training run"
LATER = "; with inputs, logit cosines are what the head pins down."
RANKED = MODEL.replace(link="ranking")
ALONE = MODEL.replace(left=None)
WITH_INPUTS = HEAD.replace(left=np.eye(3))


@pytest.mark.parametrize(
    ("found", "word", "cited", "text"),
    [
        (seen(), YES, ("pinned:right",), "Read these cosines as part of what the model predicts."),
        (evidence(ALONE), YES, ("made",), "Read these cosines as cosines of those predictions."),
        (seen(), NO, ("free:right",), f"{NOT}{RANK}, or use cosines of the predictions."),
        (
            seen(RANKED), NO, ("free:right",),
            f"{NOT}{RANK}, or use cosines of the scores. This model's scores fix those, its rankings do not.",
        ),
        (
            seen(MODEL.replace(link="cosine")), NO, ("free:right",),
            f"{NOT}rank by the predicted cosines, or use cosines of the predictions.",
        ),
        (evidence(ALONE), NO, ("outside:right",), f"{NOT}{DOT}."),
        (evidence(RANKED.replace(left=None)), NO, ("outside:right",), f"{NOT}{DOT}."),
        (
            of_head(), NO, ("origin",),
            "Do not read meaning into them; give inputs (--inputs or --states) and use logit cosines.",
        ),
        (of_head(head(WITH_INPUTS)), NO, ("origin",), "Do not read meaning into them; use logit cosines."),
        (seen(), CONVENTION, ("chosen",), f"{CONVENTIONAL}; check them against cosines of what is predicted."),
        (seen(RANKED), CONVENTION, ("chosen",), f"{CONVENTIONAL}; check them against cosines of their scores."),
        (evidence(ALONE), CONVENTION, ("chosen",), f"{CONVENTIONAL}."),
        (of_head(), CONVENTION, ("chosen",), f"{CONVENTIONAL}{LATER}"),
        (
            of_head(head(WITH_INPUTS)), CONVENTION, ("chosen",),
            f"{CONVENTIONAL}; check them against cosines of what is predicted.",
        ),
        (
            seen(), CONVENTION, ("chosen", "agrees:right"),
            "Read these cosines as those of what is predicted, as long as the vectors stay as they are.",
        ),
        (
            seen(RANKED), CONVENTION, ("agrees:right",),
            "Read these cosines as those of their scores, as long as the vectors stay as they are.",
        ),
        (seen(), UNSAID, ("undecided:right",), f"{UNTIL}."),
        (evidence(ALONE), UNSAID, ("one-side",), f"{UNTIL}."),
        (of_head(), UNSAID, ("one-side",), f"{UNTIL}{LATER}"),
        (of_head(head(WITH_INPUTS)), UNSAID, ("undecided:right",), f"{UNTIL}."),
    ],
)  # fmt: skip
def test_what_to_do_follows_the_answer(found, word, cited, text):
    *_, last = said(found, Answer(word, "it is so", cited))[0]
    assert last == Statement(text, cited)


def test_a_head_of_a_softmax_is_known_by_its_evidence():
    found = changed(seen(HEAD.replace(left=np.eye(3)), fibre=fibre(FREE)), model=WITH_INPUTS)
    assert said(found)[0][-1].text == f"{NOT}rank labels by their scores, or use cosines of the predictions."
    assert answer(claims(found), "right").word is not YES
