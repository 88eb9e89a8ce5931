"""Words at their limits, arrays that are checked entry by entry, and what is read once or said to somebody."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from embaudit.core.checked import (
    as_count,
    as_list,
    is_integer,
    is_number,
)
from embaudit.core.words import (
    cut,
    row_called,
    row_quoted,
    visible,
)
from embaudit.errors import InputError
from embaudit.model import lazy_array
from embaudit.model.lazy_array import LazyArray

LARGEST = float(np.finfo(float).max)


def test_texts_are_cut_where_they_are_longer():
    assert [cut("abcdef", most) for most in (7, 6, 5, 2)] == ["abcdef", "abcdef", "abcd…", "a…"]


def test_rows_are_called_by_what_they_are_where_their_name_is_a_number():
    assert [row_called("item", name) for name in ("7", "007", "7a", "-7", " 7", "")] == [
        "item 7", "item 007", "7a", "-7", "' 7'", "''",
    ]  # fmt: skip
    assert [row_quoted("label", name) for name in ("7", "7a", "it's", " 7")] == [
        "label 7", "'7a'", '"it\'s"', "' 7'",
    ]  # fmt: skip
    assert visible("caf\u00e9 \u202eabc") == "'caf\u00e9 \\u202eabc'"


def test_numbers_and_counts_are_told_from_what_looks_like_them():
    for value, number, integer in (
        (1, True, True), (np.int8(1), True, True), (1.5, True, False), (np.float16(1), True, False),
        (True, False, False), (np.bool_(1), False, False), ("1", False, False), (None, False, False),
        (float("inf"), False, False), (np.float32("nan"), False, False), (1j, False, False),
        (int(LARGEST), True, True), (-int(LARGEST), True, True), (2 * int(LARGEST), False, True),
        (LARGEST, True, False),
    ):  # fmt: skip
        assert (is_number(value), is_integer(value)) == (number, integer), value
    for bad, words in ((0, "an integer >= 1"), (1.0, "an integer >= 1"), (True, "an integer >= 1")):
        with pytest.raises(InputError) as refused:
            as_count(bad, "n")
        assert str(refused.value) == f"n must be {words}; got {bad}."
    assert [as_count(n, "n", least=2, most=3) for n in (2, 3)] == [2, 3]
    assert type(as_count(np.int64(2), "n")) is int
    for bad in (1, 4):
        with pytest.raises(InputError, match=rf"^n must be an integer from 2 to 3; got {bad}\.$"):
            as_count(bad, "n", least=2, most=3)
    for bad in ("ab", b"ab", {"a": 1}, np.array(3), None, 5):
        with pytest.raises(InputError, match=r"^names must be a list, such as \['a'\]; got "):
            as_list(bad, "names", "['a']")
    assert as_list(np.array([1, 2]), "names", "") == [1, 2]
    assert as_list({"a"}, "names", "") == ["a"]


def test_an_array_of_a_file_is_read_and_checked_once_and_travels_as_its_numbers(monkeypatch):
    asked = []

    def read():
        asked.append("read")
        return np.array([[1.0, 2.0]])

    def check(given, called):
        asked.append(called)
        return given + 1

    rows = LazyArray("v.npz", "Q", (1, 2), np.dtype(float), read, on_disk=True)
    assert [rows.checked(check, "factors").tolist() for _ in range(2)] == [[[2.0, 3.0]]] * 2
    assert asked == ["read", "factors (Q)"]
    alone = LazyArray("v.npy", "", (1, 2), np.dtype(float), read, on_disk=True)
    alone.checked(check, "factors")
    assert asked[-1] == "factors"
    monkeypatch.setattr(lazy_array, "AT_ONCE", 16)
    assert [LazyArray("", "", shape, np.dtype("f8"), read, on_disk=there).is_deferred for shape, there in (
        ((1, 2), True), ((1, 3), True), ((1, 3), False),
    )] == [False, True, False]  # fmt: skip
    there = pickle.loads(pickle.dumps(rows))
    assert (there.path, there.name, there.shape, there.dtype, there.on_disk) == ("v.npz", "Q", (1, 2), float, True)
    assert there.checked(check, "factors").tolist() == [[2.0, 3.0]]
    asked.clear()
    fresh = pickle.loads(pickle.dumps(LazyArray("w.npz", "", (1, 2), np.dtype(float), read, on_disk=True)))
    assert (asked, fresh.read().tolist()) == (["read"], [[1.0, 2.0]])
    nothing = LazyArray("v.npz", "Q", (1, 2), np.dtype(float), lambda: None, on_disk=True)
    assert nothing.checked(check, "factors") is None

    def refuse(given, called):
        raise InputError(f"{called} must be finite.")

    with pytest.raises(InputError, match=r"^v\.npz: factors \(Q\) must be finite\.$"):
        LazyArray("v.npz", "Q", (1, 2), np.dtype(float), read, on_disk=True).checked(refuse, "factors")
