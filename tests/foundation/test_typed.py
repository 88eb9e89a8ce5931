"""Arguments are held against the annotations of a function, and what is wrong is named in the house's sentence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np
import pytest

from embaudit.errors import InputError
from embaudit.foundation.checked import RNG
from embaudit.foundation.typed import kind_of, typed
from embaudit.gauges import Affine, Gauge


class Own:
    """A class of somebody else."""


@pytest.mark.parametrize(
    ("hint", "words", "held", "refused"),
    [
        (bool, "True or False", (True, np.bool_(0)), (0, 1, "True", None)),
        (int, "an integer", (-3, np.int8(3), 10**400), (True, 3.0, "3", None, np.array(3))),
        (float, "a number", (0, 2.5, np.float32(1), np.inf, -np.inf), (np.nan, True, "1", 1j, 10**400, None)),
        (str, "text", ("", np.str_("a")), (b"a", None, 3)),
        (str | None, "text or None", ("a", None), (b"a", 0)),
        (Literal["x", "y"], 'one of "x", "y"', ("x", "z"), (3, None, np.array(["x"]))),
        (Literal[1, 2], "one of 1, 2", (1, 2), (3, 0, "1", True, None)),
        (Gauge, "a Gauge", (Gauge.identity(2),), (Gauge, None, "gauge")),
        (Affine | None, "an Affine or None", (Affine(2), None), (Gauge.identity(2),)),
        (Sequence[int], "a list, each an integer,", ([], (1, 2), np.array([1])), ("12", [1.5], {1}, {1: 2}, iter([1]))),
        (Iterable[int], "a list, each an integer,", ([1], {1}, iter([1])), ("12", [None], {1: 2}, np.array(3))),
        (tuple[int, ...], "a list, each an integer,", ((), (1, 2, 3), [1]), (1, (1, "a"))),
        (tuple[int, int], "2 values, each an integer,", ((1, 2), [1, 2]), ((1,), (1, 2, 3), None)),
        (Sequence[Any], "a list", ([object()],), ("ab", None)),
    ],
)  # fmt: skip
def test_a_type_is_a_set_of_values_with_a_name(hint, words, held, refused):
    kind = kind_of(hint)
    assert kind.words == words
    assert all(kind.holds(value) for value in held)
    assert not any(kind.holds(value) for value in refused)


@pytest.mark.parametrize("hint", [Any, object, np.ndarray, RNG, Own, str | Literal["x"], str | Sequence[str]])
def test_what_a_type_does_not_tell_is_left_to_the_function(hint):
    assert kind_of(hint) is None


def test_the_sentence_names_the_argument_however_it_was_given():
    @typed
    def scaled(values: Sequence[float], by: float = 1.0, *, names: Sequence[str] | None = None) -> int:
        """Count."""
        return len(values)

    assert scaled([1, 2]) == scaled(values=(1, 2), by=np.float64(2), names=["a"]) == 2
    assert scaled.__doc__ == "Count."
    for arguments, options, sentence in (
        ((3,), {}, "values must be a list, each a number; got 3."),
        (([1], "a"), {}, "by must be a number; got 'a'."),
        (([1],), {"names": "ab"}, "names must be a list, each text, or None; got 'ab'."),
    ):
        with pytest.raises(InputError) as refused:
            scaled(*arguments, **options)
        assert str(refused.value) == sentence
    with pytest.raises(TypeError, match="missing a required argument: 'values'"):
        scaled()


def test_long_values_are_cut_and_addresses_left_out():
    @typed
    def taken(count: int) -> None: ...

    with pytest.raises(InputError, match=r"^count must be an integer; got <object object>\.$"):
        taken(object())
    with pytest.raises(InputError) as refused:
        taken("x" * 1000)
    assert str(refused.value) == f"count must be an integer; got '{'x' * 299}...."
