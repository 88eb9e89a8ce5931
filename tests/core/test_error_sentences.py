"""The sentences of errors, which are shown without the secrets of URLs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embaudit.errors import (
    EquivalenceError,
    InputError,
    must_be,
    without_secrets,
)

WORDS = st.text(st.characters(categories=["L"]), min_size=1)


@given(WORDS, WORDS, WORDS, WORDS)
def test_must_be_joins_name_allowed_values_value_and_remedy(
    name: str, allowed: str, got: str, remedy: str
) -> None:
    with_remedy = str(must_be(name, allowed, got, remedy))
    assert with_remedy == f"{name} must be {allowed}; got {got}; {remedy}."
    assert str(must_be(name, allowed, got)) == f"{name} must be {allowed}; got {got}."


def test_every_error_of_a_user_is_an_input_error() -> None:
    assert issubclass(InputError, ValueError)
    assert issubclass(EquivalenceError, InputError)
    assert type(must_be("a", "b", "c")) is InputError


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://host/v.npy#token=abc; check it.", "https://host/v.npy; check it."),
        ("https://host/v.npy?a=1#token", "https://host/v.npy"),
        ("'https://me:secret@host/v.npy#x'", "'https://host/v.npy'"),
        # A `Path` has lost one of the slashes.
        ("s3:/me:secret@bucket/v.npy#x", "s3:/bucket/v.npy"),
        # Passwords with characters that should be escaped.
        ("https://me:p@ss@host/v.npy", "https://host/v.npy"),
        ("https://me:pa/ss@host/v.npy", "https://host/v.npy"),
        ("https://host:8080/a@2/v.npy", "https://host:8080/a@2/v.npy"),
        # One URL inside another.
        (
            "zip://v.npy::https://me:secret@host/v.zip?token=abc",
            "zip://v.npy::https://host/v.zip",
        ),
        ("s3://bucket/my v.npy?token=abc must be", "s3://bucket/my v.npy must be"),
        # Without a URL, these characters are part of a name.
        ("v.npy?a=b and v#a=b.npy", "v.npy?a=b and v#a=b.npy"),
    ],
)
def test_texts_are_shown_without_the_secrets_of_urls(text, shown):
    assert without_secrets(text) == shown
    assert str(InputError(text)) == shown


def test_a_password_that_is_longer_than_a_refusal_is_dropped_whole():
    url = f"https://me:{'secret' * 100}@host/v.npy"
    assert str(must_be("the input", "a model", url)) == (
        "the input must be a model; got https://host/v.npy."
    )
