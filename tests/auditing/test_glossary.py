"""The glossary has every code and no other, tells all of it in short sentences, and finds what people type."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import embaudit
from embaudit.auditing.finding import Severity
from embaudit.auditing.glossary import CODES, WORDS, entry
from embaudit.errors import InputError

PACKAGE = Path(embaudit.__file__).parent
EVERY = {**CODES, **WORDS}


def test_codes_are_those_that_checks_emit():
    checks = "".join(path.read_text() for path in (PACKAGE / "auditing" / "checks").glob("*.py"))
    assert set(re.findall(r'"(EMB\d{3})"', checks)) == set(CODES)


def test_no_other_code_is_named_anywhere():
    named = re.findall(r"EMB\d{3}", "".join(path.read_text() for path in PACKAGE.rglob("*.py")))
    assert set(named) == set(CODES)


def test_codes_are_sorted_and_names_lead_to_one_entry():
    assert list(CODES) == sorted(CODES)
    names = [name.lower() for one in EVERY.values() for name in (one.name, *one.also)]
    assert len(names) == len(set(names))
    assert all(names)
    for one in EVERY.values():
        for name in (one.name, *one.also):
            assert entry(name) is one


@pytest.mark.parametrize("name", EVERY)
def test_every_section_is_told_in_short_sentences(name):
    assert EVERY[name].heading.startswith(name)
    assert not EVERY[name].heading.endswith(": ")
    for heading, text in EVERY[name].sections:
        assert text.endswith((".", ")", "?")), heading
        for sentence in re.split(r"(?<=[.:;?]) ", text):
            assert len(sentence.split()) <= 25, sentence


def test_what_an_entry_is_headed_by():
    assert CODES["EMB001"].heading == "EMB001 (issue): predictions did not stay the same: the check itself failed"
    assert CODES["EMB203"].severities == (Severity.TIP, Severity.ISSUE)
    assert CODES["EMB203"].heading == "EMB203 (tip or issue): rows reach into dimensions that no prediction sees"
    assert [heading for heading, _ in CODES["EMB203"].sections] == [
        "What it means", "Why it matters", "What to do", "How it is computed", "Reference",
    ]  # fmt: skip
    assert WORDS["κ"].heading == "κ (also kappa, condition number)"
    assert WORDS["drift"].heading == "drift"
    assert [heading for heading, _ in WORDS["drift"].sections] == ["What it means", "For example"]


@pytest.mark.parametrize(
    ("given", "found"),
    [("emb301", "EMB301"), ("Twins", "copy"), ("K", None), ("Condition  Number", "κ"), ("scopes", "claim")],
)
def test_capitals_spaces_and_plurals_do_not_count(given, found):
    if found is not None:
        assert entry(given).name == found
        return
    with pytest.raises(InputError) as refused:
        entry(given)
    assert str(refused.value) == (
        "what to explain must be a code or a word that reports use; got 'K'; `embaudit explain` lists them all."
    )


def test_a_word_that_is_nearly_known_is_suggested():
    with pytest.raises(InputError) as refused:
        entry("guage")
    assert str(refused.value) == (
        "what to explain must be a code or a word that reports use; got 'guage'; did you mean gauge? "
        "`embaudit explain` lists them all."
    )
