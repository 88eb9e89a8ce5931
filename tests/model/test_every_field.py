"""Each field of a model by itself: as given, replaced, taken in part, in a file; bounds from both sides."""

from __future__ import annotations

import numpy as np
import pytest

from embaudit.errors import InputError
from embaudit.model import FactorModel, lazy_array
from embaudit.model.lazy_array import LazyArray
from embaudit.model.links import Link, Softmax
from embaudit.model.side import Side, as_titles

LEFT, RIGHT = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), np.array([[7.0, 8.0], [9.0, 1.0]])
BESIDE = {
    "left_bias": [0.1, 0.2, 0.3], "right_bias": [0.4, 0.5],
    "left_ids": ["a", "b", "c"], "right_ids": ["d", "e"],
    "left_names": ["A", "B", "C"], "right_names": ["D", "E"],
    "left_counts": [1.0, 2.0, 3.0], "right_counts": [4.0, 5.0],
    "left_aside": [True, False, False], "right_aside": [False, True],
}  # fmt: skip
WHOLE = FactorModel(LEFT, RIGHT, "ranking", offset=1.5, roles=("buyer", "good"), objective="none", **BESIDE)
KEPT = ("offset", "roles", "objective", "link")


def told(model, sides=("left", "right")):
    fields = [name for name in BESIDE if name.split("_")[0] in sides]
    known = {name: getattr(model, name) for name in [*sides, *fields]}
    return {name: None if value is None else value.tolist() for name, value in known.items()}


def settled(model):
    return [getattr(model, name) for name in KEPT]


def test_each_field_is_what_was_given():
    assert told(WHOLE) == {"left": LEFT.tolist(), "right": RIGHT.tolist(), **BESIDE}
    assert settled(WHOLE) == [1.5, ("buyer", "good"), "none", Link.RANKING]
    named = {f"{'user' if name.startswith('left') else 'item'}_{name.split('_')[1]}": x for name, x in BESIDE.items()}
    for name in ("user_aside", "item_aside"):
        named.pop(name)
    made = FactorModel.from_user_item(LEFT, RIGHT, offset=1.5, link="ranking", objective="none", **named)
    assert told(made) == told(WHOLE) | {"left_aside": None, "right_aside": None}
    assert settled(made) == [1.5, ("user", "item"), "none", Link.RANKING]
    head = FactorModel.from_softmax(
        RIGHT, [0.4, 0.5], embeddings=LEFT, labels=["D", "E"], objective="logistic", link=Softmax(soft_cap=2.0)
    )
    kept = {"left", "right", "right_bias", "right_names"}
    assert told(head) == {name: value if name in kept else None for name, value in told(WHOLE).items()}
    assert settled(head) == [0.0, ("input", "label"), "logistic", Softmax(soft_cap=2.0)]
    vectors = FactorModel.from_vectors(RIGHT, ids=["d", "e"])
    assert told(vectors, ["right"]) == dict.fromkeys(told(WHOLE, ["right"])) | {
        "right": RIGHT.tolist(), "right_ids": ["d", "e"],
    }  # fmt: skip
    assert settled(vectors) == [0.0, ("user", "item"), None, Link.IDENTITY]


def test_each_field_is_replaced_alone_and_taken_with_its_rows():
    others = {name: np.roll(value, 1).tolist() for name, value in BESIDE.items()}
    others |= {"left": (LEFT + 1).tolist(), "right": (RIGHT + 1).tolist()}
    for name, value in others.items():
        changed = WHOLE.replace(**{name: value})
        assert told(changed) == told(WHOLE) | {name: value}
        assert settled(changed) == settled(WHOLE)
    for name, value in (
        ("offset", 2.0),
        ("roles", ("user", "item")),
        ("objective", "product"),
        ("link", Link.IDENTITY),
    ):
        changed = WHOLE.replace(**{name: value})
        assert told(changed) == told(WHOLE)
        assert settled(changed) == [value if one == name else getattr(WHOLE, one) for one in KEPT]
    assert [WHOLE.replace(roles=("user", "item")).side(side).title for side in ("left", "right")] == ["user", "item"]
    for left, right in ((np.array([2, 0]), None), (None, np.array([1])), (np.array([1]), np.array([1, 0]))):
        some = WHOLE.take(left=left, right=right)
        chosen = {"left": slice(None) if left is None else left, "right": slice(None) if right is None else right}
        whole = {name: np.array(value) for name, value in told(WHOLE).items()}
        assert told(some) == {name: value[chosen[name.split("_")[0]]].tolist() for name, value in whole.items()}
        assert settled(some) == settled(WHOLE)
    bare = FactorModel(LEFT, RIGHT).take(right=np.array([1]))
    assert told(bare, ["right"]) == dict.fromkeys(told(bare, ["right"])) | {"right": RIGHT[1:].tolist()}


@pytest.mark.parametrize(("ids", "named"), [(["a", "b", "b"], "b 2"), (["c", "c", "a", "c", "b", "b"], "b 2")])
def test_the_first_id_that_is_not_unique_is_named(ids, named):
    with pytest.raises(InputError) as refused:
        Side(np.eye(len(ids)), "item", ids=ids)
    assert str(refused.value) == f"item ids must be unique; got {named} times; keep one row for each id."
    assert Side(np.eye(len(ids)), "item", names=ids).names.tolist() == ids


def test_counts_of_none_are_counts_and_flags_are_flags():
    assert Side(np.eye(2), "item", counts=[0, 0.5]).counts.tolist() == [0.0, 0.5]
    with pytest.raises(InputError, match=r"^item counts must be numbers >= 0; got -0\.5\.$"):
        Side(np.eye(2), "item", counts=[1, -0.5])
    for bad, got in (([0, 1], "int64 of shape (2,)"), ([True], "bool of shape (1,)")):
        with pytest.raises(InputError) as refused:
            Side(np.eye(2), "item", aside=bad)
        assert str(refused.value) == f"item aside must be 2 values True or False, one a row; got {got}."
    for bad in ("ab", [["a"], ["b"]], ["a"]):
        with pytest.raises(InputError, match=r"^item names must be a list of 2, one a row; got shape "):
            Side(np.eye(2), "item", names=bad)
    mixed = Side(np.eye(2), "item", ids=np.array(["a", 7], dtype=object)).ids
    assert (mixed.tolist(), mixed.dtype.kind) == (["a", "7"], "U")
    assert as_titles(["a\nb", "c\td"]) == ("a\\nb", "c\\td")


def in_a_file(array, name, asked):
    given = np.asarray(array)

    def read():
        asked.append(name)
        return given

    return LazyArray("v.npz", name, given.shape, given.dtype, read, on_disk=True)


@pytest.fixture
def waiting(monkeypatch):
    monkeypatch.setattr(lazy_array, "AT_ONCE", 0)
    asked = []
    side = Side(in_a_file(RIGHT, "Q", asked), "item", ids=in_a_file(["d", "e"], "I", asked), counts=[1, 2])
    return side, asked


def test_what_lies_in_a_file_is_read_when_it_is_asked_for_and_only_once(waiting):
    side, asked = waiting
    assert (side.shape, len(side), side.dtype, set(side.unread)) == ((2, 2), 2, np.float64, {"rows", "ids"})
    assert side.given == {"rows", "ids", "counts"}
    renamed = side.replace(title="good\n")
    assert (renamed.title, set(renamed.unread), asked) == ("good\\n", {"rows", "ids"}, [])
    counted = side.replace(counts=[3, 4])
    assert (counted.counts.tolist(), set(counted.unread), asked) == ([3.0, 4.0], {"rows", "ids"}, [])
    assert (side.rows.tolist(), side.rows is side.rows, asked) == (RIGHT.tolist(), True, ["Q"])
    assert (side.ids.tolist(), asked) == (["d", "e"], ["Q", "I"])
    named = side.replace(ids=["x", "y"])
    assert (named.ids.tolist(), set(named.unread), asked) == (["x", "y"], {"rows"}, ["Q", "I"])
