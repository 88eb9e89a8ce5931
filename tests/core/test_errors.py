"""Errors are one sentence; the kinds are what callers catch."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embaudit.errors import EquivalenceError, InputError, must_be

WORDS = st.text(st.characters(categories=["L"]), min_size=1)


@given(WORDS, WORDS, WORDS, WORDS)
def test_the_sentence_has_four_parts(name: str, allowed: str, got: str, remedy: str) -> None:
    assert str(must_be(name, allowed, got, remedy)) == f"{name} must be {allowed}; got {got}; {remedy}."
    assert str(must_be(name, allowed, got)) == f"{name} must be {allowed}; got {got}."


@pytest.mark.parametrize("got", [0, None, False, ""])
def test_a_value_that_is_false_is_still_shown(got: object) -> None:
    assert f"; got {got}." in str(must_be("rank", "an integer >= 1", got))


def test_kinds() -> None:
    assert issubclass(InputError, ValueError)
    assert issubclass(EquivalenceError, InputError)
    assert type(must_be("a", "b", "c")) is InputError
