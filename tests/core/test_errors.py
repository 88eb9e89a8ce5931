"""Errors are one sentence; the kinds are what callers catch."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from embaudit.errors import EquivalenceError, InputError, must_be

WORDS = st.text(st.characters(categories=["L"]), min_size=1)


@given(WORDS, WORDS, WORDS, WORDS)
def test_the_sentence_has_four_parts(name: str, allowed: str, got: str, remedy: str) -> None:
    assert str(must_be(name, allowed, got, remedy)) == f"{name} must be {allowed}; got {got}; {remedy}."
    assert str(must_be(name, allowed, got)) == f"{name} must be {allowed}; got {got}."


def test_kinds() -> None:
    assert issubclass(InputError, ValueError)
    assert issubclass(EquivalenceError, InputError)
    assert type(must_be("a", "b", "c")) is InputError
