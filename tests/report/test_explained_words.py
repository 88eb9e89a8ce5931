"""`embaudit explain` has an entry for every heading, code and answer of pages and
screens.
"""

from __future__ import annotations

import re

import pytest
from models import random_model
from report.results_shown import KINDS, shown

import embaudit as ea
from embaudit.auditing.catalogue import entry
from embaudit.auditing.words import WORDS
from embaudit.core.answer_word import AnswerWord
from embaudit.model.final_norm import FinalNorm
from embaudit.report.documents import document

HEAD = random_model(n=None, p=30, k=4, link="softmax", means=(0, 2))
AUDITED = {
    "recommender": random_model(p=30, k=4, right_bias=range(30)),
    "head": HEAD.replace(final_norm=FinalNorm("rms", [1, 2, 3, 4])),
    "one side": random_model(n=None, p=30, k=4),
}


def names(view):
    """Return the headings of a document, but for names of its own rows, sides and
    levels.
    """
    tables = [*view.tables, *(lists.table for lists in view.lists)]
    found = {heading for table in tables for heading in table.headings}
    if view.glance is not None:
        found |= set(view.glance.pairs)
        found |= {words for row in view.glance.rows for words in row[:2]}
    found = {heading for heading in found if not re.fullmatch(r"\d* ?%?", heading)}
    return {re.split(r" \(of | with the same | \d$", heading)[0] for heading in found}


def is_known(name):
    try:
        return bool(entry(name))
    except ea.InputError:
        return False


@pytest.mark.parametrize("kind", [*AUDITED, *KINDS])
def test_every_heading_of_a_page_is_explained(kind):
    result = (
        ea.audit(AUDITED[kind], n_gauges=1, n_starts=0)
        if kind in AUDITED
        else shown(kind)
    )
    view = document(result)
    sides = {"user", "item", "users", "items"} if kind == "compare" else set()
    own = {result.name[:40]} if kind == "simpson" else set()
    own |= {"in the first model", "in the second model"}
    unknown = [
        name
        for name in names(view) - sides
        if not any(name.startswith(part[:20]) for part in own)
    ]
    missing = [name for name in unknown if not is_known(name)]
    assert not missing, f"auditing/words.py lacks an entry for {missing}"
    for word, _ in (*view.words, *view.glossary):
        assert entry(word).name in WORDS


@pytest.mark.parametrize("kind", AUDITED)
def test_the_answer_and_the_codes_of_an_audit_are_explained(kind):
    audit = ea.audit(AUDITED[kind], quick=True)
    assert audit.findings
    for finding in audit.findings:
        assert entry(finding.code).name == finding.code
    word = audit.answer.word
    assert entry(word).name == word


@pytest.mark.parametrize(
    "word",
    [
        "Seen in",
        "item-item",
        "mean row",
        "special rows",
        "tip",
        "lost",
        "stretch",
        "rotation",
        "shared",
        "rows",
        "known",
        "direction",
        "balanced cosine",
    ],
)
def test_words_of_columns_and_statuses_are_explained(word):
    assert is_known(word)


def test_all_answers_are_explained():
    assert [entry(word).name for word in AnswerWord] == list(AnswerWord)


def test_a_number_in_a_heading_is_ignored_and_an_unknown_word_refused():
    assert entry("10 nearest kept") is entry("5 nearest kept") is WORDS["nearest kept"]
    assert entry("top-20 kept") is WORDS["nearest kept"]
    assert entry("emb202").name == "EMB202"
    with pytest.raises(ea.InputError, match="must be a code or a word"):
        entry("12")
