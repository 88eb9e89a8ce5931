"""Audits of the truth table draw all true conclusions and no others."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from textwrap import wrap

import numpy as np
import pytest
from answered import WAYS
from safetensors.numpy import save_file
from schemas import misfits
from truth.table import CHECK, CONTRADICTIONS, NEVER, NEVER_ALONE, TABLE

from embaudit import audit, save
from embaudit.auditing.catalogue import NAMES
from embaudit.auditing.finding import Kind
from embaudit.errors import InputError
from embaudit.model import FactorModel, softmax_link

FREEDOM = {"F": "free", "P": "pinned", "U": "undecided"}
KINDS = {"F": {Kind.SHOWN, Kind.PROVEN}, "P": {Kind.PROVEN}, "U": {Kind.UNDECIDED}}
OF_HEADS = {"EMB301", "EMB302", "EMB303", "EMB304", "EMB305"}
"""Findings that any head may have in addition to those of its case."""
GAUGES = {"n_gauges": 1, "n_pairs": 50}


@cache
def audited(name):
    case = TABLE[name]
    return audit(case.model, n_starts=case.n_starts, **GAUGES, **case.options)


def sentences(found):
    """Return the texts of the answer and of all conclusions, with their scopes."""
    conclusions = (
        f"{one.title}. {one.text} {one.remedy}\n{one.scope}\n{one.rows}"
        for one in found.conclusions
    )
    return "\n".join(
        [str(found.answer), *found.answer.remarks, found.verdict, *conclusions]
    )


def freedom(found, role):
    """Return the conclusion "free", "pinned" or "undecided" about a role."""
    (conclusion,) = (
        one
        for one in found.conclusions
        if one.code in FREEDOM.values() and one.role == role
    )
    return conclusion


@pytest.mark.parametrize("name", TABLE)
def test_a_title_of_a_finding_takes_at_most_two_lines_of_the_screen(name):
    for finding in audited(name).findings:
        line = f"{finding.code} {finding.severity.title}: {finding.title}"
        lines = wrap(line, 80, subsequent_indent="  ", break_on_hyphens=False)
        assert len(lines) <= 2, line


@pytest.mark.parametrize("name", TABLE)
def test_an_audit_says_correctly_whether_cosines_are_free_or_pinned(name):
    case, found = TABLE[name], audited(name)
    for role, letter in case.truth.items():
        conclusion = freedom(found, role)
        assert conclusion.code == FREEDOM[letter]
        assert conclusion.kind in KINDS[letter]
        if conclusion.kind is Kind.SHOWN:
            assert conclusion.value > 1e-3
        if conclusion.scope.whole:
            assert case.about_all_models or letter == "U"
        if letter == "P" and case.model.left is not None:
            assert conclusion.scope.whole


@pytest.mark.parametrize("name", TABLE)
def test_an_audit_raises_exactly_the_findings_that_are_true(name):
    case, found = TABLE[name], audited(name)
    severities = {finding.code: finding.severity.title for finding in found.findings}
    allowed = set(case.findings)
    if case.model.link.name == "softmax":
        allowed |= OF_HEADS
    assert set(severities) <= allowed
    assert dict(case.findings).items() <= severities.items()
    if found.worst is not None:
        assert (found.worst.title == "issue") == ("issue" in severities.values())


@pytest.mark.parametrize("name", TABLE)
def test_an_audit_uses_the_words_that_are_true_and_no_others(name):
    case, texts = TABLE[name], sentences(audited(name))
    assert [phrase for phrase in case.says if phrase not in texts] == []
    false = (*NEVER, *case.never)
    if are_vectors_alone(case.model):
        false += NEVER_ALONE
    assert [phrase for phrase in false if phrase in texts] == []


def are_vectors_alone(model):
    """Return True for one side of unknown predictions."""
    return (
        model.left is None
        and model.compared is None
        and model.link.name not in ("softmax", "sigmoid")
        and model.objective != "prediction"
    )


@pytest.mark.parametrize("name", TABLE)
def test_the_answer_is_the_true_one_and_the_advice_agrees(name):
    case, found = TABLE[name], audited(name)
    answer = found.answer
    assert answer.word == case.word, answer
    text = f"{answer.because} {answer.advice}"
    assert [phrase for phrase in CONTRADICTIONS[case.word] if phrase in text] == []
    assert set(answer.findings) <= {one.code for one in found.conclusions}
    assert answer.because[0].islower() or answer.because[0].isdigit()
    assert not answer.because.endswith(".")
    role = case.options.get("role", "right")
    assert answer.cosines == freedom(found, role).rows
    assert found.verdict == " ".join(
        dict.fromkeys([*(one.text for one in found.reasons), answer.advice])
    )


@pytest.mark.parametrize("name", TABLE)
def test_the_json_of_each_audit_fits_its_schema(name):
    written = json.dumps(audited(name).to_dict(), allow_nan=False)
    assert misfits(json.loads(written)) == []


def test_every_word_is_an_answer_to_several_models():
    words = [case.word for case in TABLE.values()]
    assert min(words.count(word) for word in CONTRADICTIONS if word != CHECK) >= 8
    assert words.count(CHECK) >= 3


@pytest.mark.parametrize("name", TABLE)
def test_conclusions_within_a_budget_are_not_about_all_equivalent_models(name):
    case, found = TABLE[name], audited(name)
    for one in found.conclusions:
        if one.code in ("range", "certified", "bound", "reached", "drawn", "moved"):
            assert not one.scope.whole
        if one.code in ("range", "certified", "bound", "drawn"):
            assert one.scope.max_condition is not None
        if case.model.link.name == "ranking" or case.model.link == softmax_link(
            soft_cap=3.0
        ):
            assert not (one.kind is Kind.PROVEN and one.scope.whole)
    canonical = [
        made
        for made in found.evidence.equivalents
        if made.kind == "canonical" and made.gauge is None
    ]
    assert all(np.isnan(made.condition_number) for made in canonical)
    for one in found.conclusions:
        if one.code == "moved" and one.scope.models in {
            made.name for made in canonical
        }:
            assert "κ" not in one.text


def test_every_code_has_models_for_and_against_it():
    drawn = {name: {one.code for one in audited(name).conclusions} for name in TABLE}
    having = {code: sum(code in codes for codes in drawn.values()) for code in NAMES}
    in_all = {code for code, count in having.items() if count == len(TABLE)}
    in_none = {code for code, count in having.items() if count == 0}
    lacking = sorted(in_none - ELSEWHERE)
    assert not lacking, f"no model of tests/truth/table has {lacking}; add one"
    found = sorted(ELSEWHERE - in_none)
    assert not found, f"models of the table have {found}; remove them from ELSEWHERE"
    assert in_all == ALWAYS, (
        f"every model of the table has {sorted(in_all)}, but only {sorted(ALWAYS)} "
        "may be in all: add a model without the others"
    )


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.model)
def test_each_way_to_answer_has_a_model(way):
    assert audited(way.model).answer.findings == way.findings


def test_every_answer_is_listed_and_no_way_to_answer_covers_most_models():
    given = [audited(name).answer.findings for name in TABLE]
    assert set(given) == {way.findings for way in WAYS}
    assert max(given.count(way.findings) for way in WAYS) < len(TABLE) / 2


@pytest.mark.parametrize("name", TABLE)
def test_the_certainty_of_an_answer_is_the_listed_one(name):
    """The certainty of each way to answer in `WAYS` was written by hand."""
    answer = audited(name).answer
    ways = {way.certainty for way in WAYS if way.findings == answer.findings}
    assert answer.certainty.kind in ways
    assert answer.certainty.kind in SURE[answer.word]
    truth = TABLE[name].truth.get(TABLE[name].options.get("role", "right"), "")
    if answer.certainty.kind in (Kind.PROVEN, Kind.SHOWN):
        assert truth == {"YES": "P", "NO": "F"}[answer.word]
    assert answer.remarks[0] == f"How sure: {answer.certainty.text}."


def test_each_certainty_has_a_model():
    assert {way.certainty for way in WAYS} == set(Kind)
    for way in WAYS:
        assert audited(way.model).answer.certainty.kind == way.certainty


def test_the_certainty_names_the_size_of_the_sample():
    users, items = np.random.default_rng(0).standard_normal((2, 60, 4))
    model = FactorModel.from_user_item(users * [9, 3, 1, 0.3], items)
    few = audit(model, n_lists=30, n_starts=0, **GAUGES).answer
    assert "Figures are measured on lists of 30 of 60 items" in few.certainty.text
    every = audit(model, n_lists=60, n_starts=0, **GAUGES).answer
    assert "Figures are measured on lists of all 60 items" in every.certainty.text


def test_cosines_of_users_with_items_are_answered_by_an_equivalent_model():
    """Prediction cosines compare items with items, so they cannot answer."""
    crossed = audit(
        FactorModel.from_user_item(np.eye(3) + 1, np.eye(3) - 2),
        role="cross",
        n_starts=0,
        **GAUGES,
    ).answer
    assert (crossed.word, crossed.findings) == ("NO", ("moved", "free"))


@pytest.mark.parametrize(
    ("changed", "is_fixed"),
    [
        ({}, True),
        ({"link": "sigmoid"}, True),
        ({"link": "ranking"}, False),
        ({"link": "softmax"}, False),
        ({"right_bias": [1.0, 2.0, 3.0]}, False),
    ],
    ids=["scores", "sigmoid", "ranking", "softmax", "item bias"],
)
def test_scores_fix_the_signs_of_cosines_across_sides(changed, is_fixed):
    """A cosine has the sign of its score, unless a shift or an order allows another."""
    model = FactorModel.from_user_item(np.eye(3) + 1, np.eye(3) - 2).replace(**changed)
    crossed = audit(model, role="cross", n_starts=0, **GAUGES).answer
    assert crossed.word == "NO"
    assert crossed.because.startswith("only the sign is fixed. ") == is_fixed


SURE = {
    "YES": {Kind.PROVEN, Kind.ASSUMED},
    "NO": {Kind.PROVEN, Kind.SHOWN},
    "BY CONVENTION": {Kind.MEASURED, Kind.ASSUMED},
    "UNKNOWN": {Kind.UNDECIDED},
    "CHECK FIRST": {Kind.MEASURED, Kind.ASSUMED},
}
"""The certainties that each answer can have.

BY CONVENTION is never proven, because the training that chose the cosines is measured
or declared. YES is assumed only if a file states that its vectors are prediction
vectors.
"""
ALWAYS = {"predictions"}
ELSEWHERE = {"EMB001", "EMB002", "EMB601", "not_compared", "not_searched"}
"""Codes of failed audits, of adapters, of stores whose metric is not compared, and of
models too large for the table.

`test_low_rank_adapters` is the table of adapters; tests/auditing raises the others.
"""
LINKS_AND_BIASES = [name for name in TABLE if name.startswith("rank ")]
OTHERS = [name for name in TABLE if not name.startswith("rank ")]
BY_COMMAND = [*LINKS_AND_BIASES[::4], *OTHERS[::2]]


def saved(case):
    """Write the model as .npz, or as a checkpoint if it has a final norm."""
    norm = case.options.get("final_norm")
    if norm is None:
        save(case.model, "model.npz")
        return "model.npz"
    config = {"model_type": {"rms": "llama", "layer": "cohere"}[norm.kind]}
    if case.model.tying is None:
        head, config["tie_word_embeddings"] = "lm_head.weight", False
    else:
        head = "model.embed_tokens.weight"
    save_file(
        {head: case.model.right, "model.norm.weight": norm.gain}, "model.safetensors"
    )
    Path("config.json").write_text(json.dumps(config))
    return "model.safetensors"


def on_command_line(option, value):
    """Return the arguments of the command for an option of `audit`."""
    name = f"--{option.replace('_', '-')}"
    if option == "final_norm":
        return []  # It is part of the file.
    if option in ("normalised", "hull"):
        return [name]
    if option == "groups":
        return [name, *value]
    if option == "queries":
        np.save("queries.npy", value)
        return [name, "queries.npy"]
    return [name, value]


@pytest.mark.parametrize("name", BY_COMMAND)
def test_the_command_line_says_the_same(embaudit, name):
    case = TABLE[name]
    arguments = [
        "audit",
        saved(case),
        "--full",
        "--n-gauges",
        1,
        "--n-starts",
        0,
        "--n-pairs",
        50,
    ]
    for option, value in case.options.items():
        arguments += on_command_line(option, value)
    result = embaudit(*arguments, "--fail-on", "issue")
    found = audited(name)
    # The declaration of the model in Python is a statement of the file.
    of_model = result.out.replace("objective in model.npz says", "the model says")
    printed = re.sub(
        r"as (?:\S+ in \S+|the model) says",
        "as you declared",
        " ".join(of_model.replace("│", " ").split()),
    )
    severities = {finding.severity.title for finding in found.findings}
    assert result.code == ("issue" in severities), result.err
    assert case.fails <= result.code
    if case.n_starts == 0:
        assert " ".join(found.verdict.split()) in printed
        assert f"{found.answer.question} {found.answer}" in printed


def test_a_third_of_the_table_is_tested_through_the_command_line():
    assert 3 * len(BY_COMMAND) >= len(TABLE)


@pytest.mark.parametrize("link", ["identity", "ranking", "sigmoid"])
def test_an_objective_of_another_link_is_refused(link):
    with pytest.raises(InputError, match="choose link cosine"):
        FactorModel.from_user_item(np.eye(3), np.eye(3), link=link, objective="cosine")
