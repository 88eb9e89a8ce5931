"""The answer: each row of its table is reached, none before it takes its place, and nothing of it lacks a name."""

from __future__ import annotations

import numpy as np
import pytest
from models import random_model
from raised import ALONE, COSINE, HEAD, MODEL, WITH_INPUTS, cases

from embaudit import audit
from embaudit.auditing import Audit
from embaudit.auditing.answer import Readability, answer
from embaudit.auditing.catalogue import CODES
from embaudit.auditing.finding import Finding, Kind, Scope, Severity
from embaudit.auditing.texts import ANSWERS, VERDICT
from embaudit.auditing.wording import kind_of, names_of
from embaudit.core.plain import plain
from embaudit.errors import InputError
from embaudit.model import FactorModel

WHOLE = Scope("every model of rank 2 with the same predictions", whole=True)
RANKED = MODEL.replace(link="ranking")
MODELS = [MODEL, RANKED, COSINE, ALONE, HEAD, WITH_INPUTS]
COSINES = "item-item cosines"


def drawn(need, role="right"):
    """Return the finding that a row needs, a tip where it asks for no severity."""
    code, _, severity = need.partition(" ")
    usual = Severity.TIP if code in CODES else Severity.NOTE
    severity = Severity[severity.upper()] if severity else usual
    title = f"the title of {code}" if code in CODES else ""
    return Finding(
        code,
        severity,
        Kind.PROVEN,
        WHOLE,
        COSINES,
        f"The text of {code}.",
        0.25,
        title,
        "",
        role,
    )


def answered(*needs, model=MODEL, role="right"):
    findings = [drawn(need) if isinstance(need, str) else need for need in needs]
    return answer(
        findings,
        role,
        cosines=COSINES,
        kind=kind_of(model),
        names=names_of(model, role),
    )


@pytest.mark.parametrize("row", ANSWERS, ids=lambda row: " ".join(row.needs))
@pytest.mark.parametrize("model", MODELS, ids=kind_of)
def test_every_row_answers_where_what_it_needs_was_drawn(row, model):
    found = answered(*row.needs, model=model)
    assert (found.word, found.findings) == (
        row.word,
        tuple(need.split()[0] for need in row.needs),
    )
    assert str(found) == f"{found.word}: {found.because}."
    assert (
        found.because[0].islower()
        or found.because.startswith("the ")
        or found.because[0].isdigit()
    )
    for text in (found.because, found.advice):
        assert not set("{}") & set(text)
    assert bool(found.advice) == (row.advice != "none")
    assert not found.advice or found.advice.endswith(".")


def names(row):
    return tuple(need.split()[0] for need in row.needs)


def test_a_yes_needs_a_proof_and_a_no_says_that_they_are_free():
    for row in ANSWERS:
        if row.word == Readability.YES:
            assert row.needs in (
                ("pinned",), ("pinned", "compared", "together"), ("pinned", "products", "together"), ("made",)
            )  # fmt: skip
        if row.word == Readability.NO:
            assert "free" in row.needs
        if row.word == Readability.CONVENTION:
            assert "free" in row.needs
            facts = {"EMB103", "cosines_agree", "cosines_near", "origin"}
            assert facts & set(row.needs)


def test_only_findings_of_the_cosines_asked_about_answer():
    free, whole, other = (
        drawn("free"),
        drawn("EMB101", None),
        drawn("lists_differ", "left"),
    )
    assert answered(free, whole, other).findings == ("EMB101", "free")
    assert answered(free, drawn("lists_differ")).findings == ("lists_differ", "free")
    assert answered(drawn("free", "left"), other, role="left").findings == (
        "lists_differ",
        "free",
    )
    tip, issue = drawn("EMB104"), drawn("EMB104 issue")
    assert answered(free, tip).findings == ("free",), (
        "a tip is not what the row asks for"
    )
    assert answered(free, issue).findings == ("EMB104", "free")


@pytest.mark.parametrize("name", sorted(cases()))
def test_every_case_has_an_answer_that_its_findings_hold(name):
    evidence = cases()[name]
    result = Audit(evidence.model, evidence)
    drawn = {one.code for one in result.conclusions}
    assert set(result.answer.findings) <= drawn
    assert result.answer.word in Readability
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
    assert alone.word == Readability.CONVENTION
    assert "Inputs (`--inputs FILE`) would show" in alone.because
    words = [
        audit(head.replace(left=inputs * scales), n_gauges=1, n_starts=0).answer.word
        for scales in ([1] * 4, [1, 2, 4, 8])
    ]
    assert words == [Readability.CONVENTION, Readability.NO]


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
