"""Words at their limits, arrays that are checked entry by entry, and what is read once or said to somebody."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from embaudit.errors import InputError
from embaudit.foundation import checked
from embaudit.foundation.checked import (
    as_count,
    as_factors,
    as_generator,
    as_list,
    as_numbers,
    as_rows,
    as_seed,
    as_texts,
    as_vector,
    detached,
    frozen,
    is_integer,
    is_number,
    storage_of,
)
from embaudit.foundation.parallel import row_blocks
from embaudit.foundation.plain import frame_of, plain
from embaudit.foundation.words import (
    ONCE,
    beside,
    copied,
    counted,
    cut,
    cut_within,
    in_typical_rows,
    listed,
    nearest_to,
    percent,
    row_called,
    row_quoted,
    two_decimals,
    visible,
)
from embaudit.model import lazy_array
from embaudit.model.lazy_array import LazyArray

LARGEST = float(np.finfo(float).max)


# --- words -------------------------------------------------------------------------------------------------------


def test_texts_are_cut_where_they_are_longer_and_keep_their_ends():
    assert [cut("abcdef", most) for most in (7, 6, 5, 2)] == ["abcdef", "abcdef", "abcd…", "a…"]
    letters = "abcdefghijklmnopqrstuvwxyz"
    assert [cut_within(letters[:n], 10) for n in (9, 10, 11, 26)] == [
        "abcdefghi", "abcdefghij", "abcde…hijk", "abcde…wxyz",
    ]  # fmt: skip
    assert {len(cut_within(letters, most)) for most in range(5, 26)} == set(range(5, 26))


def test_rows_are_called_by_what_they_are_where_their_name_is_a_number():
    assert [row_called("item", name) for name in ("7", "007", "7a", "-7", " 7", "")] == [
        "item 7", "item 007", "7a", "-7", "' 7'", "''",
    ]  # fmt: skip
    assert [row_quoted("label", name) for name in ("7", "7a", "it's", " 7")] == [
        "label 7", "'7a'", '"it\'s"', "' 7'",
    ]  # fmt: skip
    assert visible("caf\u00e9 \u202eabc") == "'caf\u00e9 \\u202eabc'"


def test_numbers_in_words():
    assert [two_decimals(x) for x in (-0.004, 0.006, -0.006, 2, 1e3)] == ["0.00", "0.01", "-0.01", "2.00", "1000.00"]
    assert [in_typical_rows(x) for x in (1.0, 1.004, 1.006, 0.0, 100.0)] == [
        "1 typical row", "1 typical row", "1.01 typical rows", "0 typical rows", "100 typical rows",
    ]  # fmt: skip
    assert [beside(0.5, other) for other in (0.5, 0.504, 0.506, float("nan"), 1.0)] == [
        "50 %", "50 %", "50 % (51 %)", "50 %", "50 % (100 %)",
    ]  # fmt: skip
    assert beside(float("nan"), 0.5) == "– (50 %)"
    assert beside(0.25, 0.5, ONCE) == "25 % (50 % with copies counted once)"
    assert [percent(x) for x in (0.00999, 0.0101, 0.9899, 0.9999, 0.0005)] == [
        "1.0 %", "1 %", "99 %", "99.9 %", "0.1 %",
    ]  # fmt: skip
    assert [copied(n) for n in (1, 2)] == ["1 copy", "2 copies"]
    assert [counted(n, "row") for n in (1, 2, 12345)] == ["1 row", "2 rows", "12,345 rows"]
    assert [listed(names, 1) for names in ([], ["a"], ["a", "b"])] == ["", "a", "a and 1 more"]


def test_the_nearest_name_is_found_however_far_it_is():
    assert nearest_to("itm", ["user", "item", "label"]) == "the nearest one is item"
    assert nearest_to("xyz", iter(["user"])) == "the nearest one is user"


# --- checks ------------------------------------------------------------------------------------------------------


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


def test_row_numbers_are_whole_and_inside():
    assert as_rows([0, 2], 3).tolist() == [0, 2]
    assert as_rows(np.array([1], dtype=np.uint8), 2).dtype == np.intp
    for bad, words in (
        ([3, 0], "rows must be row numbers from 0 to 2; got 3."),
        ([0, -1], "rows must be row numbers from 0 to 2; got -1."),
        ([[0]], "rows must be a vector of integers; got int64 of shape (1, 1)."),
        (0, "rows must be a vector of integers; got int64 of shape ()."),
        ([0, [1]], "rows must be a rectangular array; got rows that differ in length."),
        (np.ma.array([0, 1], mask=[True, False]),
         "rows must be finite; got masked entries; fill them or drop their rows."),
    ):  # fmt: skip
        with pytest.raises(InputError) as refused:
            as_rows(bad, 3)
        assert str(refused.value) == words
    with pytest.raises(InputError, match=r"^labels must be row numbers from 0 to 2; got 9\.$"):
        as_rows([9], 3, "labels")


def test_what_is_stored_keeps_its_precision_and_is_nobodys_to_change():
    kinds = {"f2": "f4", "f4": "f4", "f8": "f8", "i1": "f8", "u8": "f8", ">f4": "f8", ">f8": "f8"}
    for given, held in kinds.items():
        assert storage_of(np.dtype(given)) == np.dtype(held)
        assert as_factors(np.ones((2, 2), dtype=given), "rows").dtype == np.dtype(held)
    mine = np.ones((2, 2))
    kept = as_factors(mine, "rows")
    assert np.shares_memory(kept, mine)
    assert not kept.flags.writeable
    assert mine.flags.writeable
    view = frozen(mine)
    assert (view.flags.writeable, type(frozen(np.ma.array([1.0])))) == (False, np.ndarray)
    vector = as_vector([1, 2], "bias", 2)
    assert (vector.dtype, vector.flags.writeable) == (np.float64, False)


@pytest.mark.parametrize("place", [(0, 0), (4, 1), (2, 0)])
def test_what_is_not_finite_is_named_by_its_place_in_whichever_block(monkeypatch, place):
    rows = np.ones((5, 2))
    rows[place] = -np.inf
    rows[4, 1] = rows[4, 1] if place == (4, 1) else np.nan
    for budget in (2**20, 1, 32):
        monkeypatch.setattr(row_blocks, "__kwdefaults__", {"budget": budget})
        with pytest.raises(InputError) as refused:
            as_factors(rows, "rows")
        assert str(refused.value) == (
            f"rows must be finite; got -inf at row {place[0]}, column {place[1]}; repair or drop that row."
        )
    with pytest.raises(InputError, match=r"^bias must be finite; got nan at row 1, column 0; repair"):
        as_vector([0.0, np.nan], "bias", 2)


def test_what_is_no_matrix_is_described():
    for bad, words in (
        (np.ones(2), "a matrix with at least one row and one column; got shape (2,)."),
        (np.ones((0, 2)), "a matrix with at least one row and one column; got shape (0, 2)."),
        (np.ones((2, 0)), "a matrix with at least one row and one column; got shape (2, 0)."),
        (3.5, "a matrix with at least one row and one column; got one float."),
        ([["a"]], "an array of real numbers; got dtype <U1; convert it to float32 or float64."),
        ([[True]], "an array of real numbers; got dtype bool; convert it to float32 or float64."),
    ):
        with pytest.raises(InputError) as refused:
            as_factors(bad, "rows")
        assert str(refused.value) == f"rows must be {words}"
    for bad, words in (("a", "'a'"), (["a"], "dtype <U1"), ([1j], "dtype complex128")):
        with pytest.raises(InputError) as refused:
            as_numbers(bad, "target")
        assert str(refused.value) == f"target must be an array of real numbers; got {words}."
    assert as_numbers([], "target").dtype == as_numbers([True][:0], "target").dtype == np.float64
    assert as_numbers([1, 2], "target").dtype == np.float64


def test_a_text_far_longer_than_others_is_refused_where_it_costs_room(monkeypatch):
    monkeypatch.setattr(checked, "MOST_LETTERS", 64)
    texts = ["a" * 16, "b", "c", "d"]
    assert as_texts(texts, "titles").tolist() == texts
    long = ["a" * 33, *["b"] * 63]
    monkeypatch.setattr(checked, "PADDING", 22)
    # 33 letters times 64 texts are 22 times the 96 letters there are.
    assert len(as_texts(long, "titles")) == 64
    monkeypatch.setattr(checked, "PADDING", 21)
    with pytest.raises(InputError, match=r"^titles must be of like length; got one of 33 letters among 64; cut it\.$"):
        as_texts(long, "titles")
    monkeypatch.setattr(checked, "MOST_LETTERS", 33 * 64)
    assert len(as_texts(long, "titles")) == 64
    assert as_texts([], "titles").tolist() == []


class Tensor:
    """As a library for networks has them."""

    def __init__(self, numbers, dtype, steps=()):
        self.numbers, self.dtype, self.steps = numbers, dtype, steps

    def _after(self, step):
        return Tensor(self.numbers, self.dtype, (*self.steps, step))

    def detach(self):
        return self._after("detach")

    def cpu(self):
        return self._after("cpu")

    def float(self):
        return self._after("float")

    def numpy(self):
        return np.array([len(self.steps), "float" in self.steps], dtype=np.float64)


def test_tensors_are_detached_and_widened_where_numpy_has_no_such_numbers():
    assert detached(Tensor([1.0], "torch.bfloat16")).tolist() == [3.0, 1.0]
    assert detached(Tensor([1.0], "torch.float32")).tolist() == [2.0, 0.0]
    mine = np.ma.array([1.0])
    assert detached(mine) is mine


def test_seeds_and_generators():
    draw = np.random.default_rng(3)
    assert as_generator(draw) is draw
    assert as_generator(np.int64(5)).integers(10**6) == np.random.default_rng(5).integers(10**6)
    assert as_generator(0).integers(10**6) == np.random.default_rng(0).integers(10**6)
    for bad in (-1, True, 1.5, "1", [1]):
        with pytest.raises(InputError) as refused:
            as_generator(bad, "seed")
        assert str(refused.value) == f"seed must be a numpy Generator, an integer >= 0 or None; got {bad!r}."
    seed = as_seed(copy.deepcopy(draw))
    assert seed == draw.integers(2**31)
    assert [as_seed(seed) for seed in (0, np.int64(9))] == [0, 9]
    assert len({as_seed(None) for _ in range(3)}) == 3


# --- what is read once, said and compiled ------------------------------------------------------------------------


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


def test_tables_of_records_and_their_plain_values():
    frame = frame_of([{"a": None, "b": "x"}, {"a": 1, "b": None}])
    assert frame.columns.tolist() == ["a", "b"]
    assert plain(frame) == [{"a": None, "b": "x"}, {"a": 1.0, "b": None}]
    assert plain({"a": {1: [np.float32(0.5), (np.int8(1), None)]}}) == {"a": {"1": [0.5, [1, None]]}}
    assert [plain(x) for x in (float("inf"), 1.5, "text", 3, int)] == [None, 1.5, "text", 3, int]
