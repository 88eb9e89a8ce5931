"""The answer: what it needs, which findings it quotes, and what it advises."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from chosen_evidence import (
    FREE,
    MODEL,
    VISIT,
    make_drift,
    make_equivalence_class,
    make_evidence,
    make_head_evidence,
    make_head_report,
    make_movement,
)
from finding_cases import (
    COSINE_MODEL,
    HEAD_WITH_INPUTS,
    ITEMS_ALONE,
    THREE_QUARTERS_KEPT,
    all_cases,
    make_decay_evidence,
    make_free_unit_row_fields,
)
from models import random_model

from embaudit import audit
from embaudit.auditing.audit import VERDICT, Audit
from embaudit.auditing.identity import ScoreChange
from embaudit.auditing.predicted import Predicted
from embaudit.core.answer_word import AnswerWord
from embaudit.core.plain import plain
from embaudit.errors import InputError
from embaudit.model import FactorModel

RANKED = MODEL.replace(link="ranking")


def answer_of(evidence):
    """Return the answer of an audit with this evidence."""
    return Audit(evidence.model, evidence).answer


def ask_about_users(evidence):
    """Return the evidence of an audit that is asked about user-user cosines."""
    return replace(evidence, options=replace(evidence.options, role="left"))


@pytest.mark.parametrize("name", sorted(all_cases()))
def test_a_yes_needs_a_proof_and_a_no_needs_free_cosines(name):
    answer = answer_of(all_cases()[name])
    codes = set(answer.findings)
    if answer.word == AnswerWord.YES:
        assert codes in (
            {"pinned"},
            {"pinned", "compared", "together"},
            {"pinned", "products", "together"},
            {"made"},
        )
    if answer.word == AnswerWord.NO:
        assert "free" in codes
    if answer.word == AnswerWord.BY_CONVENTION:
        assert "free" in codes
        assert codes & {"EMB103", "cosines_agree", "cosines_near", "origin"}


def test_only_findings_about_the_cosines_in_question_decide_the_answer():
    evidence = make_evidence(
        MODEL,
        equivalence=make_equivalence_class(FREE, "right", "left"),
        predicted=Predicted((make_movement("left"),), ()),
    )
    about_items = answer_of(evidence)
    about_users = answer_of(ask_about_users(evidence))
    assert about_items.findings == ("free",)
    assert about_users.findings == ("cosines_differ", "free")


@pytest.mark.parametrize(
    ("share_kept", "word"), [(0.75, AnswerWord.NO), (0.9, AnswerWord.BY_CONVENTION)]
)
def test_factors_away_from_the_minimum_of_their_penalty_are_a_no_if_lists_change(
    share_kept, word
):
    lists = THREE_QUARTERS_KEPT | {"top_n_overlap": share_kept}
    assert answer_of(make_decay_evidence(0.1, **lists)).word == word


@pytest.mark.parametrize(
    ("evidence", "advice"),
    [
        (
            make_evidence(MODEL),
            "rank items by their scores, or use cosines of the predictions.",
        ),
        (make_evidence(RANKED), "This model's scores fix those, its rankings do not."),
        (
            make_evidence(COSINE_MODEL, **make_free_unit_row_fields()),
            "rank by the predicted cosines, or",
        ),
        (
            make_evidence(ITEMS_ALONE, **make_free_unit_row_fields()),
            "rank by the dot product with the other side.",
        ),
        (
            make_head_evidence(),
            "give inputs (`--inputs` or `--states`) and use logit cosines.",
        ),
        (
            make_head_evidence(make_head_report(HEAD_WITH_INPUTS)),
            "Do not read meaning into label cosines; use logit",
        ),
    ],
    ids=["scores", "rankings", "cosines", "one side", "head", "head with inputs"],
)
def test_a_no_says_what_to_use_instead(evidence, advice):
    answer = answer_of(evidence)
    assert answer.word == AnswerWord.NO
    assert advice in answer.advice


@pytest.mark.parametrize(
    ("evidence", "code"),
    [
        (make_evidence(MODEL, VISIT, drift=(make_drift(1.0),)), "EMB001"),
        (make_evidence(MODEL, score_change=ScoreChange(24, 20, 0.0234)), "EMB002"),
    ],
    ids=["predictions change", "other scores than the baseline"],
)
def test_an_audit_that_cannot_be_trusted_gives_no_advice(evidence, code):
    answer = answer_of(evidence)
    assert answer.findings == (code,)
    assert answer.word == AnswerWord.CHECK_FIRST
    assert answer.advice == ""


@pytest.mark.parametrize("name", sorted(all_cases()))
def test_every_answer_says_how_sure_it_is_and_that_it_does_not_judge_quality(name):
    how_sure, *_, quality = answer_of(all_cases()[name]).remarks
    assert how_sure.startswith("How sure: ")
    assert "`embaudit evaluate FILE --" in quality
    assert "`embaudit compare FILE OTHER_SEED`" in quality


@pytest.mark.parametrize("name", sorted(all_cases()))
def test_a_yes_and_a_convention_warn_against_cosines_across_two_models(name):
    answer = answer_of(all_cases()[name])
    _, *remarks_between, _ = answer.remarks
    if answer.word in (AnswerWord.YES, AnswerWord.BY_CONVENTION):
        (remark,) = remarks_between
        assert "never compare cosines of two models" in remark
    else:
        assert remarks_between == []


@pytest.mark.parametrize(
    ("evidence", "command"),
    [
        (make_evidence(MODEL), "`embaudit evaluate FILE --interactions HELD-OUT`"),
        (
            make_evidence(ITEMS_ALONE),
            "`embaudit evaluate FILE --items TITLES --truth COLUMN`",
        ),
        (
            make_head_evidence(),
            "`embaudit evaluate FILE --items TITLES --truth COLUMN`",
        ),
    ],
    ids=["users and items", "one side", "head"],
)
def test_the_quality_of_a_recommender_is_judged_by_interactions(evidence, command):
    assert command in answer_of(evidence).remarks[-1]


@pytest.fixture(params=sorted(all_cases()))
def result(request):
    """Return the audit of each case in turn."""
    evidence = all_cases()[request.param]
    return Audit(evidence.model, evidence)


def test_every_answer_quotes_conclusions_of_its_audit(result):
    codes = {finding.code for finding in result.conclusions}
    assert set(result.answer.findings) <= codes
    assert result.answer.word in AnswerWord


def test_no_answer_has_an_unfilled_template_or_a_double_space(result):
    assert not set("{}") & set(result.answer.advice)
    assert "  " not in result.verdict


def test_a_verdict_says_each_reason_and_the_advice_once(result):
    sentences = [reason.text for reason in result.reasons] + [result.answer.advice]
    distinct = dict.fromkeys(sentence for sentence in sentences if sentence)
    assert result.verdict == " ".join(distinct)


def test_reasons_stand_in_the_order_of_verdicts_and_are_about_the_role(result):
    order = [VERDICT.index(reason.code) for reason in result.reasons]
    assert order == sorted(order)
    for reason in result.reasons:
        assert reason.role in (None, result.evidence.role)


def audit_quickly(model, **options):
    """Audit a model with one random gauge and without attacks."""
    return audit(model, n_gauges=1, n_starts=0, **options)


@pytest.fixture
def centred_head():
    """Return a softmax head of 60 labels whose mean row is zero."""
    rows = np.random.default_rng(0).normal(size=(60, 4))
    return FactorModel.from_softmax(rows - rows.mean(axis=0))


def test_cosines_of_a_centred_head_without_inputs_are_a_convention(centred_head):
    answer = audit_quickly(centred_head).answer
    assert answer.word == AnswerWord.BY_CONVENTION
    assert "Give inputs (`--inputs FILE`) for cosines" in answer.because


@pytest.mark.parametrize(
    ("input_scales", "word"),
    [([1, 1, 1, 1], AnswerWord.BY_CONVENTION), ([1, 2, 4, 8], AnswerWord.NO)],
)
def test_inputs_of_unequal_columns_turn_the_convention_of_a_head_into_a_no(
    centred_head, input_scales, word
):
    inputs = np.random.default_rng(1).normal(size=(5000, 4)) * input_scales
    assert audit_quickly(centred_head.replace(left=inputs)).answer.word == word


@pytest.fixture(scope="module")
def model_with_user_names():
    model = random_model(3, n=30, p=12, k=4, scales=([4, 2, 1, 0.5], 1))
    return model.replace(left_names=[f"user {i}" for i in range(30)])


def test_an_audit_asked_about_users_answers_and_shows_examples_for_users(
    model_with_user_names,
):
    result = audit_quickly(model_with_user_names, role="user", show=["user 7"])
    assert result.answer.cosines == "user-user cosines"
    assert result.evidence.examples[0].name == "user 7"
    assert result.evidence.predicted.examples[0].name == "user 7"
    assert result.to_dict()["answer"] == plain(result.answer)
    assert result.explain().splitlines()[0] == str(result.answer)


def test_an_audit_of_items_refuses_a_question_about_users(model_with_user_names):
    with pytest.raises(InputError, match=r"role must be one of right; got 'left'\."):
        audit(model_with_user_names, roles=["right"], role="left")
