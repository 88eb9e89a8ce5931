"""Helpers for the tests of stores on a server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from embaudit.errors import InputError
from embaudit.io import read

if TYPE_CHECKING:
    from embaudit.io.intake import Reading


def check_refusal_without_secret(result: Any, sentence: str) -> None:
    """Check the result of a command whose address has a secret or cannot be read."""
    assert result.code == 2
    assert sentence in " ".join(result.err.split())
    assert "secret" not in result.out + result.err
    assert "Traceback" not in result.err


def read_with_secret(
    place: str, variable: str, monkeypatch: pytest.MonkeyPatch, *, refusal: str
) -> Reading:
    """Read a place whose secret stands in a variable of the environment.

    A wrong secret must lead to `refusal`, which does not repeat it.
    """
    monkeypatch.setenv(variable, "wrong-secret")
    with pytest.raises(InputError, match=refusal) as caught:
        read(place)
    assert "secret" not in str(caught.value)
    monkeypatch.setenv(variable, "secret")
    return read(place)
