"""Each field of a model by itself: as given, replaced, taken in part, in a file; bounds from both sides."""

from __future__ import annotations

import numpy as np
import pytest

from embaudit.errors import InputError
from embaudit.model import FactorModel, lazy_array
from embaudit.model.drift import Sample, drift, require_same_rows
from embaudit.model.equivalence import Equivalence
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


def test_rows_as_the_link_multiplies_them():
    block = np.array([[3.0, 4.0], [0.0, 0.0]])
    unit = [[0.6, 0.8], [0.0, 0.0]]
    for link, left, right in (("identity", block, block), ("cosine", unit, unit), (Softmax(None, True), block, unit)):
        model = WHOLE.replace(link=link, objective=None)
        np.testing.assert_allclose(model.seen("left", block), left)
        np.testing.assert_allclose(model.seen("right", block), right)
        for side in ("left", "right"):
            rows = getattr(model, side) if side not in model.link.unit_sides else model.seen(side, getattr(model, side))
            np.testing.assert_allclose(model.moments(side).mean, rows.mean(axis=0))


def test_models_of_other_rows_are_not_compared():
    other = WHOLE.replace(right=np.ones((3, 2)), **{name: None for name in BESIDE if name.startswith("right")})
    words = "the model after must be of [3, 2] rows, as the one before; got [3, 3]; compare joins others."
    for compare in (
        lambda: require_same_rows(WHOLE, other),
        lambda: drift(WHOLE, other, condition_number=1.0),
        lambda: Sample.of(WHOLE, np.random.default_rng(0)).drift(other, 1.0),
    ):
        with pytest.raises(InputError) as refused:
            compare()
        assert str(refused.value) == words
    alone = FactorModel.from_vectors(RIGHT)
    require_same_rows(WHOLE, alone)
    with pytest.raises(InputError, match=r"of \[2\] rows, as the one before; got \[3\]; compare"):
        require_same_rows(alone, FactorModel(LEFT, np.ones((3, 2))))


def test_a_drift_is_measured_against_scores_of_any_size():
    small = FactorModel([[0.5], [0.25]], [[1.0]])
    found = drift(small, small.replace(left=[[0.5], [0.375]]), condition_number=0.5)
    assert (found.max_abs, found.max_rel) == (0.125, 0.25)
    with pytest.raises(InputError, match=r"^condition_number must be a number above 0; got -0\.5"):
        drift(small, small, condition_number=-0.5)
    undefined = FactorModel([[0.0], [1.0]], [[2.0]], link="cosine")
    assert drift(undefined, undefined, condition_number=1.0).max_rel == 0.0


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


def test_who_is_asked_about_where_rows_have_no_direction():
    rows = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 2.0], [0.5, 0.5]])
    for aside, asked in (
        ([True, False, False, False], [1, 2, 3]),
        ([True, False, True, False], [0, 1, 2, 3]),
        ([True, False, False, True], [0, 1, 2, 3]),
        ([False, True, False, True], [0, 2]),
    ):
        side = Side(rows, "item", aside=aside)
        assert side.asked.tolist() == asked
    assert side.zero_rows.tolist() == [1]
    assert side.directed.tolist() == [0, 2, 3]
    assert side.median_length == pytest.approx((1 + np.sqrt(0.5)) / 2)
    np.testing.assert_allclose(side.unit_moments.mean, [(1 + np.sqrt(0.5)) / 4] * 2)
    np.testing.assert_allclose(side.outline.mean, rows.mean(axis=0))


def test_links_by_name_and_by_what_they_declare():
    assert Link.of(Softmax(soft_cap=2.0)) == Softmax(soft_cap=2.0)
    assert Softmax(soft_cap=2.0) != Softmax(soft_cap=3.0)
    assert Link("sigmoid") is Link.SIGMOID
    assert repr(Link.of("ranking")) == "Ranking()"
    for bad in ("logit", None, ["identity"]):
        with pytest.raises(InputError) as refused:
            Link.of(bad)
        assert str(refused.value) == (f"link must be one of identity, softmax, sigmoid, cosine, ranking; got {bad!r}.")
    for bad in (1, None, "yes"):
        with pytest.raises(InputError) as refused:
            Softmax(unit_rows=bad)
        assert str(refused.value) == f"unit_rows must be True or False; got {bad!r}."
    for bad in (0, True, "a"):
        with pytest.raises(InputError, match=r"^soft_cap must be a positive number; got"):
            Softmax(soft_cap=bad)
    assert Softmax(soft_cap=0.5).soft_cap == 0.5
    # Equal scores stay in the order of their rows, however many there are.
    assert Link.RANKING.predict(np.zeros((1, 40))).tolist() == [list(range(40))]
    scores = np.array([[1.0, -2.0], [0.5, 0.25]])
    for cap in (None, 0.7):
        link = Softmax(soft_cap=cap)
        shown = [x if cap is None else cap * np.tanh(x / cap) for x in (scores, scores[:, ::-1])]
        logs = [x - np.log(np.exp(x).sum(axis=1, keepdims=True)) for x in shown]
        assert link.gap(scores, scores[:, ::-1]) == pytest.approx(np.abs(logs[0] - logs[1]).max())
    assert Link.IDENTITY.gap(scores, scores + 0.25) == 0.25


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


def test_other_rows_leave_in_its_file_what_lies_there(waiting):
    side, asked = waiting
    moved = side.replace(rows=RIGHT + 1)
    assert (moved.rows.tolist(), moved.counts.tolist(), set(moved.unread), asked) == (
        (RIGHT + 1).tolist(), [1.0, 2.0], {"ids"}, [],
    )  # fmt: skip
    assert moved.ids.tolist() == ["d", "e"]
    fresh = side.replace(rows=in_a_file(RIGHT + 2, "R", asked), ids=["x", "y"])
    assert (set(fresh.unread), fresh.ids.tolist(), fresh.rows[0, 0]) == ({"rows"}, ["x", "y"], 9.0)
    more = side.replace(rows=LEFT, ids=["a", "b", "c"], counts=None)
    assert (len(more), more.ids.tolist(), more.counts, more.given) == (3, ["a", "b", "c"], None, {"rows", "ids"})


def test_rows_in_a_file_that_are_no_matrix_of_numbers_are_refused_at_once(monkeypatch):
    monkeypatch.setattr(lazy_array, "AT_ONCE", 0)
    for bad in (np.ones((2, 2, 2)), np.array([["a", "b"]]), np.ones(2), np.ones((2, 2), dtype=bool)):
        asked = []
        with pytest.raises(InputError, match=r"item factors \(Q\) must "):
            Side(in_a_file(bad, "Q", asked), "item")
        assert asked == ["Q"]
    for kind in (np.float32, np.int64, np.uint8):
        asked = []
        assert Side(in_a_file(np.ones((2, 2), dtype=kind), "Q", asked), "item").title == "item"
        assert asked == []


def test_what_a_softmax_keeps_of_its_scores():
    assert Softmax().predicts == Equivalence.PROBABILITIES
    assert Softmax(soft_cap=30.0).predicts == Equivalence.SCORES
    assert Softmax(unit_rows=True).predicts == Equivalence.COSINES
    assert (Softmax().unit_sides, Softmax(unit_rows=True).unit_sides) == ((), ("right",))
    for link in (Softmax(), Softmax(soft_cap=30.0)):
        assert Link.folded.fget(link) is link
