"""The answer: what it needs, which findings it quotes, and what it advises."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from made import FREE, MODEL, drift, equal, equivalence, evidence, head, moved, of_head
from models import random_model
from raised import ALONE, COSINE, LISTS, WITH_INPUTS, cases, decayed, gauged

from embaudit import audit
from embaudit.auditing.audit import VERDICT, Audit
from embaudit.auditing.identity import ScoreChange
from embaudit.auditing.predicted import Predicted
from embaudit.core.answer_word import AnswerWord
from embaudit.core.plain import plain
from embaudit.errors import InputError
from embaudit.model import FactorModel

RANKED = MODEL.replace(link="ranking")


def answered(found):
    """Return the answer to hand-made evidence."""
    return Audit(found.model, found).answer


def asked_of_users(found):
    return replace(found, options=replace(found.options, role="left"))


@pytest.mark.parametrize("name", sorted(cases()))
def test_a_yes_needs_a_proof_and_a_no_says_that_they_are_free(name):
    found = answered(cases()[name])
    codes = set(found.findings)
    if found.word == AnswerWord.YES:
        assert codes in (
            {"pinned"},
            {"pinned", "compared", "together"},
            {"pinned", "products", "together"},
            {"made"},
        )
    if found.word == AnswerWord.NO:
        assert "free" in codes
    if found.word == AnswerWord.BY_CONVENTION:
        assert "free" in codes
        assert codes & {"EMB103", "cosines_agree", "cosines_near", "origin"}


def test_only_findings_of_the_cosines_asked_about_answer():
    users = Predicted((moved("left"),), ())
    found = evidence(
        MODEL, equivalence=equivalence(FREE, "right", "left"), predicted=users
    )
    assert answered(found).findings == ("free",)
    assert answered(asked_of_users(found)).findings == ("cosines_differ", "free")


def test_a_penalty_that_did_not_choose_is_a_no_and_one_a_little_off_a_convention():
    little = LISTS | {"top_n_overlap": 0.9}
    words = [answered(decayed(0.1, **lists)).word for lists in (LISTS, little)]
    assert words == [AnswerWord.NO, AnswerWord.BY_CONVENTION]


@pytest.mark.parametrize(
    ("found", "advice"),
    [
        (
            evidence(MODEL),
            "rank items by their scores, or use cosines of the predictions.",
        ),
        (evidence(RANKED), "This model's scores fix those, its rankings do not."),
        (evidence(COSINE, **gauged()), "rank by the predicted cosines, or"),
        (evidence(ALONE, **gauged()), "rank by the dot product with the other side."),
        (of_head(), "give inputs (`--inputs` or `--states`) and use logit cosines."),
        (
            of_head(head(WITH_INPUTS)),
            "Do not read meaning into label cosines; use logit",
        ),
    ],
    ids=["scores", "rankings", "cosines", "one side", "head", "head with inputs"],
)
def test_a_no_says_what_to_use_instead(found, advice):
    answer = answered(found)
    assert answer.word == AnswerWord.NO
    assert advice in answer.advice


def test_an_audit_that_cannot_be_trusted_gives_no_advice():
    moves_predictions = evidence(MODEL, (equal(), moved()), drift=(drift(1.0),))
    other_scores = evidence(MODEL, score_change=ScoreChange(24, 20, 0.0234))
    found = [answered(moves_predictions), answered(other_scores)]
    assert [one.findings for one in found] == [("EMB001",), ("EMB002",)]
    assert {(one.word, one.advice) for one in found} == {(AnswerWord.CHECK_FIRST, "")}


@pytest.mark.parametrize("name", sorted(cases()))
def test_every_answer_says_that_it_judges_no_quality_and_a_yes_where_it_holds(name):
    answer = answered(cases()[name])
    how_sure, *within, quality = answer.remarks
    assert how_sure.startswith("How sure: ")
    assert "`embaudit evaluate FILE --" in quality
    assert "`embaudit compare FILE OTHER_SEED`" in quality
    if answer.word in (AnswerWord.YES, AnswerWord.BY_CONVENTION):
        assert ["never compare cosines of two models" in one for one in within] == [
            True
        ]
    else:
        assert within == []


@pytest.mark.parametrize(
    ("found", "command"),
    [
        (evidence(MODEL), "`embaudit evaluate FILE --interactions HELD-OUT`"),
        (evidence(ALONE), "`embaudit evaluate FILE --items TITLES --truth COLUMN`"),
        (of_head(), "`embaudit evaluate FILE --items TITLES --truth COLUMN`"),
    ],
    ids=["users and items", "one side", "head"],
)
def test_the_quality_of_a_recommender_is_judged_by_interactions(found, command):
    assert command in answered(found).remarks[-1]


@pytest.mark.parametrize("name", sorted(cases()))
def test_every_case_has_an_answer_that_its_findings_hold(name):
    evidence = cases()[name]
    result = Audit(evidence.model, evidence)
    drawn = {one.code for one in result.conclusions}
    assert set(result.answer.findings) <= drawn
    assert result.answer.word in AnswerWord
    assert not set("{}") & set(result.answer.advice)
    assert "  " not in result.verdict
    said = dict.fromkeys(
        [*(one.text for one in result.reasons), result.answer.advice]
    )  # each sentence once
    assert result.verdict == " ".join(filter(None, said))
    order = [VERDICT.index(one.code) for one in result.reasons]
    assert order == sorted(order)
    assert all(one.role in (None, evidence.role) for one in result.reasons)


def test_a_head_near_its_mean_row_is_a_convention_until_inputs_show_more():
    draw = np.random.default_rng(0)
    rows, inputs = draw.normal(size=(60, 4)), draw.normal(size=(5000, 4))
    head = FactorModel.from_softmax(rows - rows.mean(axis=0))
    alone = audit(head, n_gauges=1, n_starts=0).answer
    assert alone.word == AnswerWord.BY_CONVENTION
    assert "Give inputs (`--inputs FILE`) for cosines" in alone.because
    words = [
        audit(head.replace(left=inputs * scales), n_gauges=1, n_starts=0).answer.word
        for scales in ([1] * 4, [1, 2, 4, 8])
    ]
    assert words == [AnswerWord.BY_CONVENTION, AnswerWord.NO]


def test_an_audit_answers_for_the_cosines_asked_about():
    names = {"left_names": [f"user {i}" for i in range(30)]}
    model = random_model(3, n=30, p=12, k=4, scales=([4, 2, 1, 0.5], 1)).replace(
        **names
    )
    found = audit(model, role="user", show=["user 7"], n_gauges=1, n_starts=0)
    assert found.answer.cosines == "user-user cosines"
    assert (
        found.evidence.predicted.examples[0].name
        == found.evidence.examples[0].name
        == "user 7"
    )
    assert found.to_dict()["answer"] == plain(found.answer)
    assert found.explain().splitlines()[0] == str(found.answer)
    with pytest.raises(InputError, match=r"role must be one of right; got 'left'\."):
        audit(model, roles=["right"], role="left")
