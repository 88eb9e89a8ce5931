"""Audits of the truth table draw all true conclusions and no others."""

from __future__ import annotations

import json
import re
from pathlib import Path
from textwrap import wrap

import numpy as np
import pytest
from answered import WAYS
from safetensors.numpy import save_file
from schemas import misfits
from truth.audits import FEW_SAMPLES, audited, conclusion_on_freedom, texts_of
from truth.table import CHECK, CONTRADICTIONS, NEVER, NEVER_ALONE, TABLE

from embaudit import audit, save
from embaudit.auditing.catalogue import NAMES
from embaudit.auditing.finding import Kind
from embaudit.errors import InputError
from embaudit.model import FactorModel, softmax_link

FREEDOM = {"F": "free", "P": "pinned", "U": "undecided"}
"""The code of the conclusion for each letter of the truth table."""
KINDS = {"F": {Kind.SHOWN, Kind.PROVEN}, "P": {Kind.PROVEN}, "U": {Kind.UNDECIDED}}
"""The certainties of this conclusion."""
OF_HEADS = {"EMB301", "EMB302", "EMB303", "EMB304", "EMB305"}
"""Findings that any head may have in addition to those of its case."""
BUDGETED = ("range", "certified", "bound", "reached", "drawn", "moved")
"""Codes of conclusions that hold for gauges within a budget, or for one model."""
BOUNDED = ("range", "certified", "bound", "drawn")
"""Codes of conclusions whose scope names the largest condition number."""
ROLES = [(name, role) for name, case in TABLE.items() for role in case.truth]
CERTAINTIES = {
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
"""Codes that every audit has."""
ELSEWHERE = {"EMB001", "EMB002", "EMB601", "not_compared", "not_searched"}
"""Codes of failed audits, of adapters, of stores whose metric is not compared, and of
models too large for the table.

`test_low_rank_adapters` is the table of adapters; tests/auditing raises the others.
"""
LINKS_AND_BIASES = [name for name in TABLE if name.startswith("rank ")]
OTHERS = [name for name in TABLE if not name.startswith("rank ")]
BY_COMMAND = [*LINKS_AND_BIASES[::4], *OTHERS[::2]]


@pytest.mark.parametrize("name", TABLE)
def test_a_title_of_a_finding_takes_at_most_two_lines_of_the_screen(name):
    for finding in audited(name).findings:
        line = f"{finding.code} {finding.severity.title}: {finding.title}"
        lines = wrap(line, 80, subsequent_indent="  ", break_on_hyphens=False)
        assert len(lines) <= 2, line


# Free, pinned or undecided cosines


@pytest.mark.parametrize(("name", "role"), ROLES)
def test_an_audit_says_correctly_whether_cosines_are_free_or_pinned(name, role):
    letter = TABLE[name].truth[role]
    conclusion = conclusion_on_freedom(audited(name), role)
    assert conclusion.code == FREEDOM[letter]
    assert conclusion.kind in KINDS[letter]
    if conclusion.kind is Kind.SHOWN:
        assert conclusion.value > 1e-3


@pytest.mark.parametrize(("name", "role"), ROLES)
def test_the_conclusion_names_all_equivalent_models_only_if_it_may(name, role):
    case = TABLE[name]
    letter = case.truth[role]
    scope = conclusion_on_freedom(audited(name), role).scope
    if letter != "U" and not case.about_all_models:
        assert not scope.whole
    if letter == "P" and case.model.left is not None:
        assert scope.whole


# Findings


@pytest.mark.parametrize("name", TABLE)
def test_an_audit_raises_exactly_the_findings_that_are_true(name):
    case = TABLE[name]
    severities = {
        finding.code: finding.severity.title for finding in audited(name).findings
    }
    allowed = set(case.findings)
    if case.model.link.name == "softmax":
        allowed |= OF_HEADS
    assert set(severities) <= allowed
    assert dict(case.findings).items() <= severities.items()


@pytest.mark.parametrize("name", TABLE)
def test_an_audit_is_as_bad_as_its_worst_finding(name):
    result = audited(name)
    titles = [finding.severity.title for finding in result.findings]
    if "issue" in titles:
        assert result.worst.title == "issue"
    elif "tip" in titles:
        assert result.worst.title == "tip"
    else:
        assert result.worst is None or result.worst.title == "note"


@pytest.mark.parametrize("name", TABLE)
def test_an_audit_contains_the_true_phrases(name):
    texts = texts_of(audited(name))
    assert [phrase for phrase in TABLE[name].says if phrase not in texts] == []


@pytest.mark.parametrize("name", TABLE)
def test_an_audit_contains_no_false_phrases(name):
    case, texts = TABLE[name], texts_of(audited(name))
    false_phrases = (*NEVER, *case.never)
    if are_vectors_alone(case.model):
        false_phrases += NEVER_ALONE
    assert [phrase for phrase in false_phrases if phrase in texts] == []


def are_vectors_alone(model):
    """Return True for one side of unknown predictions."""
    return (
        model.left is None
        and model.compared is None
        and model.link.name not in ("softmax", "sigmoid")
        and model.objective != "prediction"
    )


# Answers


@pytest.mark.parametrize("name", TABLE)
def test_the_answer_is_the_true_one(name):
    answer = audited(name).answer
    assert answer.word == TABLE[name].word, answer


@pytest.mark.parametrize("name", TABLE)
def test_neither_the_reason_nor_the_advice_contradicts_the_answer(name):
    answer = audited(name).answer
    text = f"{answer.because} {answer.advice}"
    phrases = CONTRADICTIONS[TABLE[name].word]
    assert [phrase for phrase in phrases if phrase in text] == []


@pytest.mark.parametrize("name", TABLE)
def test_the_answer_follows_from_conclusions_of_the_audit(name):
    result = audited(name)
    codes = {conclusion.code for conclusion in result.conclusions}
    assert set(result.answer.findings) <= codes


@pytest.mark.parametrize("name", TABLE)
def test_the_reason_continues_the_sentence_of_the_answer(name):
    because = audited(name).answer.because
    assert because[0].islower() or because[0].isdigit()
    assert not because.endswith(".")


@pytest.mark.parametrize("name", TABLE)
def test_the_answer_names_the_rows_of_its_cosines(name):
    result = audited(name)
    role = TABLE[name].options.get("role", "right")
    assert result.answer.cosines == conclusion_on_freedom(result, role).rows


@pytest.mark.parametrize("name", TABLE)
def test_the_verdict_consists_of_the_different_reasons_and_the_advice(name):
    result = audited(name)
    sentences = [reason.text for reason in result.reasons]
    sentences.append(result.answer.advice)
    assert result.verdict == " ".join(dict.fromkeys(sentences))


@pytest.mark.parametrize("name", TABLE)
def test_the_json_of_each_audit_fits_its_schema(name):
    written = json.dumps(audited(name).to_dict(), allow_nan=False)
    assert misfits(json.loads(written)) == []


def test_every_word_is_an_answer_to_several_models():
    words = [case.word for case in TABLE.values()]
    assert min(words.count(word) for word in CONTRADICTIONS if word != CHECK) >= 8
    assert words.count(CHECK) >= 3


# Scopes of conclusions


@pytest.mark.parametrize("name", TABLE)
def test_conclusions_within_a_budget_are_not_about_all_equivalent_models(name):
    for conclusion in audited(name).conclusions:
        if conclusion.code in BUDGETED:
            assert not conclusion.scope.whole
        if conclusion.code in BOUNDED:
            assert conclusion.scope.max_condition is not None


@pytest.mark.parametrize("name", TABLE)
def test_nothing_is_proven_of_all_models_with_equal_rankings_or_capped_scores(name):
    link = TABLE[name].model.link
    if link.name == "ranking" or link == softmax_link(soft_cap=3.0):
        for conclusion in audited(name).conclusions:
            assert conclusion.kind is not Kind.PROVEN or not conclusion.scope.whole


@pytest.mark.parametrize("name", TABLE)
def test_equivalent_models_without_a_gauge_have_no_condition_number(name):
    result = audited(name)
    without_gauge = [
        equivalent
        for equivalent in result.evidence.equivalents
        if equivalent.kind == "canonical" and equivalent.gauge is None
    ]
    assert all(np.isnan(equivalent.condition_number) for equivalent in without_gauge)
    names = {equivalent.name for equivalent in without_gauge}
    for conclusion in result.conclusions:
        if conclusion.code == "moved" and conclusion.scope.models in names:
            assert "κ" not in conclusion.text


# Coverage of the table


def codes_of(name):
    """Return the codes of all conclusions of an audit."""
    return {conclusion.code for conclusion in audited(name).conclusions}


def test_every_code_has_models_for_it():
    missing = set(NAMES).difference(*map(codes_of, TABLE)) - ELSEWHERE
    assert not missing, f"no model of tests/truth/table has {sorted(missing)}; add one"


def test_codes_that_are_tested_elsewhere_have_no_models():
    present = ELSEWHERE & set().union(*map(codes_of, TABLE))
    assert not present, (
        f"models of the table have {sorted(present)}; remove them from ELSEWHERE"
    )


def test_every_code_has_models_against_it():
    in_all = set.intersection(*map(codes_of, TABLE))
    assert in_all == ALWAYS, (
        f"every model of the table has {sorted(in_all)}, but only {sorted(ALWAYS)} "
        "may be in all: add a model without the others"
    )


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.model)
def test_each_way_to_answer_has_a_model(way):
    assert audited(way.model).answer.findings == way.findings


def test_every_answer_is_listed_and_no_way_to_answer_covers_most_models():
    reasons = [audited(name).answer.findings for name in TABLE]
    assert set(reasons) == {way.findings for way in WAYS}
    assert max(reasons.count(way.findings) for way in WAYS) < len(TABLE) / 2


@pytest.mark.parametrize("name", TABLE)
def test_the_certainty_of_an_answer_is_the_listed_one(name):
    """The certainty of each way to answer in `WAYS` was written by hand."""
    answer = audited(name).answer
    listed = {way.certainty for way in WAYS if way.findings == answer.findings}
    assert answer.certainty.kind in listed
    assert answer.certainty.kind in CERTAINTIES[answer.word]


@pytest.mark.parametrize("name", TABLE)
def test_a_proven_or_shown_answer_agrees_with_the_truth(name):
    case, answer = TABLE[name], audited(name).answer
    if answer.certainty.kind in (Kind.PROVEN, Kind.SHOWN):
        truth = case.truth[case.options.get("role", "right")]
        assert truth == {"YES": "P", "NO": "F"}[answer.word]


@pytest.mark.parametrize("name", TABLE)
def test_the_first_remark_states_the_certainty(name):
    answer = audited(name).answer
    assert answer.remarks[0] == f"How sure: {answer.certainty.text}."


def test_each_certainty_has_a_model():
    assert {way.certainty for way in WAYS} == set(Kind)
    for way in WAYS:
        assert audited(way.model).answer.certainty.kind == way.certainty


def test_the_certainty_names_the_size_of_the_sample():
    users, items = np.random.default_rng(0).standard_normal((2, 60, 4))
    model = FactorModel.from_user_item(users * [9, 3, 1, 0.3], items)
    few = audit(model, n_lists=30, n_starts=0, **FEW_SAMPLES).answer
    assert "Figures are measured on lists of 30 of 60 items" in few.certainty.text
    every = audit(model, n_lists=60, n_starts=0, **FEW_SAMPLES).answer
    assert "Figures are measured on lists of all 60 items" in every.certainty.text


def test_cosines_of_users_with_items_are_answered_by_an_equivalent_model():
    """Prediction cosines compare items with items, so they cannot answer."""
    crossed = audit(
        FactorModel.from_user_item(np.eye(3) + 1, np.eye(3) - 2),
        role="cross",
        n_starts=0,
        **FEW_SAMPLES,
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
    crossed = audit(model, role="cross", n_starts=0, **FEW_SAMPLES).answer
    assert crossed.word == "NO"
    assert crossed.because.startswith("only the sign is fixed. ") == is_fixed


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
    case, expected = TABLE[name], audited(name)
    arguments = ["audit", saved(case), "--full", "--fail-on", "issue"]
    arguments += ["--n-gauges", 1, "--n-starts", 0, "--n-pairs", 50]
    for option, value in case.options.items():
        arguments += on_command_line(option, value)
    printed = embaudit(*arguments)
    has_issue = "issue" in {finding.severity.title for finding in expected.findings}
    assert printed.code == (1 if has_issue else 0), printed.err
    if case.fails:
        assert printed.code == 1
    if case.n_starts == 0:
        screen = as_in_python(printed.out)
        assert " ".join(expected.verdict.split()) in screen
        assert f"{expected.answer.question} {expected.answer}" in screen


def as_in_python(screen):
    """Replace the source of a declaration, which the command reads from the file.

    The same declaration is an argument in Python. Lines are joined.
    """
    text = " ".join(screen.replace("│", " ").split())
    text = text.replace("objective in model.npz says", "the model says")
    return re.sub(r"as (?:\S+ in \S+|the model) says", "as you declared", text)


def test_a_third_of_the_table_is_tested_through_the_command_line():
    assert 3 * len(BY_COMMAND) >= len(TABLE)


@pytest.mark.parametrize("link", ["identity", "ranking", "sigmoid"])
def test_an_objective_of_another_link_is_refused(link):
    with pytest.raises(InputError, match="choose link cosine"):
        FactorModel.from_user_item(np.eye(3), np.eye(3), link=link, objective="cosine")
