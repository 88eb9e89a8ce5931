"""Results become bytes and come back the same; bytes that were cut off or changed are told from whole ones."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

import numpy as np
import pytest

from embaudit.attacks.metric import Metric
from embaudit.gauges import Affine, Gauge, GeneralLinear
from embaudit.io.pieces import UnknownError, told_apart
from embaudit.io.pieces.codec import packed, unpacked
from embaudit.model import Equivalence

VALUES = {
    "nothing": None,
    "truth": (True, False),
    "numbers": [1, -(2**70), 0.1, float("inf"), -0.0],
    "texts": ("é\n", "\ud800", ""),
    "keys that are no texts": {1.5: "a", ("b", 2): [], None: {}},
    "scalars": (np.float64(0.1), np.int32(3), np.str_("a"), np.bool_(True)),
    "an array of no axis": np.array(2.5),
    "an empty array": np.empty((0, 3), dtype=np.float32),
    "texts in an array": np.array(["a", "bcd"]),
    "rows in columns' order": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "a named member": Equivalence.SCORES,
    "a set of gauges": Affine(3, side="left", max_condition=2.0, max_shift=0.5),
    "a gauge": Gauge.diagonal([2.0, 0.5, 1.0]),
    "a gauge of structure": GeneralLinear(300, max_condition=2.0).sample(rng=0),
    "a named row": Metric(None, np.array([0.1, -0.1])),
    "a state of draws": np.random.default_rng(0).bit_generator.state,
}


def same(one, other):
    assert type(one) is type(other)
    if isinstance(one, np.ndarray):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        assert one.tobytes() == other.tobytes()
    elif isinstance(one, dict):
        assert len(one) == len(other)
        for mine, yours in zip(one.items(), other.items(), strict=True):
            same(mine, yours)
    elif isinstance(one, list | tuple):
        assert len(one) == len(other)
        for mine, yours in zip(one, other, strict=True):
            same(mine, yours)
    elif hasattr(one, "__dataclass_fields__"):
        for name in one.__dataclass_fields__:
            same(getattr(one, name), getattr(other, name))
    else:
        assert repr(one) == repr(other)


@pytest.mark.parametrize("name", VALUES)
def test_a_value_comes_back_as_it_was(name):
    same(VALUES[name], unpacked(packed(VALUES[name])))


def test_what_is_not_a_number_comes_back_as_that():
    assert np.isnan(unpacked(packed(float("nan"))))


def test_arrays_come_back_read_only():
    assert not unpacked(packed(np.arange(3))).flags.writeable


def test_an_array_at_hand_is_referred_to_and_no_other_view_of_it_is():
    rows = np.arange(30_000.0).reshape(-1, 3)
    known = [np.arange(2), rows]
    stored = packed((rows, rows[:], rows[1:2], rows[:, ::-1][:2]), known)
    assert len(stored) < 4_000
    whole, view, later, turned = unpacked(stored, known)
    assert whole is rows
    assert view is rows
    np.testing.assert_array_equal(later, rows[1:2])
    np.testing.assert_array_equal(turned, rows[:2, ::-1])


class Own(NamedTuple):
    a: int


class Mine(Enum):
    A = 1


@pytest.mark.parametrize("value", [Own(1), Mine.A, {1}, print, object(), np.array([None]), b"a", 1j, range(3)])
def test_what_is_not_made_of_known_things_is_refused(value):
    with pytest.raises(UnknownError, match=r"^what is kept must be made of "):
        packed((1, value))
    with pytest.raises(UnknownError):
        told_apart(value)


def test_a_value_of_another_title_is_told_before_it_is_read():
    rows = np.arange(3.0)
    stored = packed((rows,), [rows], "mine")
    assert unpacked(stored, [rows], "mine")[0] is rows
    with pytest.raises(UnknownError, match="what was asked for"):
        unpacked(stored, [], "yours")


def test_every_cut_and_every_changed_byte_is_told():
    stored = packed((1, np.arange(3.0)))
    for end in range(len(stored)):
        with pytest.raises(UnknownError):
            unpacked(stored[:end])
    for place in range(len(stored)):
        with pytest.raises(UnknownError):
            unpacked(stored[:place] + bytes([stored[place] ^ 1]) + stored[place + 1 :])


@pytest.mark.parametrize("name", ["os:system", "embaudit.errors:must_be", "embaudit.gauges:No", "builtins:list"])
def test_only_types_of_this_package_that_hold_values_are_made(monkeypatch, name):
    monkeypatch.setattr("embaudit.io.pieces.codec._name", lambda of: name)
    with pytest.raises(UnknownError):
        unpacked(packed(Equivalence.SCORES))


def test_a_piece_of_a_type_that_has_changed_since_is_none(tmp_path, monkeypatch):
    from embaudit.io.pieces import folder

    pieces = folder.Pieces(tmp_path, {"input": "one"})
    pieces.keep("a gauge", (GeneralLinear(2, max_condition=3.0),), ())
    assert pieces.found("a gauge", ()) == (GeneralLinear(2, max_condition=3.0),)
    for error in (TypeError("another field"), AttributeError("no such member"), KeyError("a7")):
        with monkeypatch.context() as patch:
            patch.setattr(folder, "unpacked", lambda *_, error=error: (_ for _ in ()).throw(error))
            assert pieces.found("a gauge", ()) is None


def test_values_are_told_apart_by_type_shape_and_bits():
    values = [*VALUES.values(), 1, 1.0, True, "1", [1], (1,), np.array([1]), np.array([[1]]), np.array([1.0]), 0.0]
    assert len({told_apart(value) for value in values}) == len(values)
    assert told_apart(np.arange(6)[::2]) == told_apart(np.array([0, 2, 4]))
