"""The search for the entry of a code or a word, and its suggestions."""

from __future__ import annotations

import re

import pytest

from embaudit.auditing.catalogue import entry
from embaudit.errors import InputError


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [
        ("word2ve", "word2vec"),
        ("bprr", "bpr"),
        ("CHECK", "CHECK FIRST"),
        ("kapa", "kappa"),
        ("guage", "gauge"),
        ("EMB20", "EMB201"),
        ("condition", "condition number"),
    ],
)
def test_an_unknown_word_is_answered_with_the_spelling_that_is_similar(
    name: str, suggestion: str
) -> None:
    with pytest.raises(
        InputError, match=rf"did you mean {re.escape(suggestion)}\? `embaudit explain`"
    ):
        entry(name)


@pytest.mark.parametrize("name", ["", "12", "magic"])
def test_a_word_without_a_similar_one_gets_no_suggestion(name: str) -> None:
    with pytest.raises(
        InputError, match=r"got '.*'; `embaudit explain` lists them all"
    ):
        entry(name)


def test_a_suggested_word_can_be_looked_up() -> None:
    assert entry("word2vec").name == entry("bpr").name == "objective"
    assert entry("condition number") is entry("kappa")


@pytest.mark.parametrize("name", [None, 201, ["EMB201"]])
def test_a_value_that_is_no_text_is_refused_in_one_sentence(name):
    with pytest.raises(InputError, match=r"^the entry to explain must be a code or"):
        entry(name)
