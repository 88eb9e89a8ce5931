"""Fields of a side: labels, counts and flags are checked, and copies share the rows."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pytest

from embaudit.errors import InputError
from embaudit.model.side import Side, as_titles

RIGHT = np.array([[7.0, 8.0], [9.0, 1.0]])


@pytest.mark.parametrize(
    ("ids", "named"),
    [(["a", "b", "b"], "b in 2"), (["c", "c", "a", "c", "b", "b"], "b in 2")],
)
def test_the_first_id_that_is_not_unique_is_named(ids, named):
    with pytest.raises(InputError) as refused:
        Side(np.eye(len(ids)), "item", ids=ids)
    assert str(refused.value) == (
        f"item ids must be unique; got {named} rows; keep one row for each id."
    )
    assert Side(np.eye(len(ids)), "item", names=ids).names.tolist() == ids


def test_a_count_can_be_zero_or_a_fraction():
    side = Side(np.eye(2), "item", counts=[0, 0.5])
    assert side.counts.tolist() == [0.0, 0.5]


NO_FLAGS = "item aside must be 2 values True or False, one per row; got"
NO_NAMES = "item names must be a list of 2, one per row; got shape"


@pytest.mark.parametrize(
    ("field", "bad", "sentence"),
    [
        ("counts", [1, -0.5], "item counts must be numbers >= 0; got -0.5."),
        ("aside", [0, 1], f"{NO_FLAGS} int64 of shape (2,)."),
        ("aside", [True], f"{NO_FLAGS} bool of shape (1,)."),
        ("names", "ab", f"{NO_NAMES} ()."),
        ("names", [["a"], ["b"]], f"{NO_NAMES} (2, 1)."),
        ("names", ["a"], f"{NO_NAMES} (1,)."),
    ],
)
def test_fields_that_do_not_fit_the_rows_are_refused(field, bad, sentence):
    with pytest.raises(InputError) as refused:
        Side(np.eye(2), "item", **{field: bad})
    assert str(refused.value) == sentence


def test_ids_of_several_types_become_texts():
    ids = np.array(["a", 7], dtype=object)
    side = Side(np.eye(2), "item", ids=ids)
    assert side.ids.tolist() == ["a", "7"]
    assert side.ids.dtype.kind == "U"


def test_control_characters_in_titles_become_escapes():
    assert as_titles(["a\nb", "c\td"]) == ("a\\nb", "c\\td")


def test_a_copy_of_a_side_checks_its_fields_and_shares_its_rows():
    side = Side(RIGHT, "item", ids=["d", "e"], counts=[1, 2])
    renamed = replace(side, title="good\n", counts=[3, 4])
    assert (renamed.title, renamed.counts.tolist()) == ("good\\n", [3.0, 4.0])
    assert renamed.ids.tolist() == ["d", "e"]
    assert np.shares_memory(renamed.rows, RIGHT)
    with pytest.raises(InputError, match="item ids must be a list of 1, one per row"):
        replace(side, rows=RIGHT[:1])


WHOLE = {
    "rows": np.eye(3, 2),
    "title": "item",
    "bias": [1.0, 2.0, 3.0],
    "ids": ["a", "b", "c"],
    "names": ["x", "y", "z"],
    "counts": [3.0, 2.0, 1.0],
    "aside": [True, False, False],
}
OTHERS = {
    "rows": np.ones((3, 4)),
    "title": "user",
    "bias": [4.0, 5.0, 6.0],
    "ids": [7, 8, 9],
    "names": ["p", "q", "r"],
    "counts": [0.0, 1.0, 0.5],
    "aside": [False, False, True],
}


def fields_of(side):
    values = {field.name: getattr(side, field.name) for field in fields(side)}
    return {name: np.asarray(value).tolist() for name, value in values.items()}


@pytest.mark.parametrize("name", OTHERS)
def test_a_changed_side_is_the_side_of_the_changed_fields(name):
    side = Side(**WHOLE)
    _ = side.norms, side.moments, side.eligible_rows
    changed = side.replace(**{name: OTHERS[name]})
    whole = Side(**{**WHOLE, name: OTHERS[name]})
    assert fields_of(changed) == fields_of(whole)
    assert fields_of(side) == fields_of(Side(**WHOLE))
    assert changed.norms.tolist() == whole.norms.tolist()
    assert changed.eligible_rows.tolist() == whole.eligible_rows.tolist()
    if name not in ("rows", "title"):
        assert getattr(side.replace(**{name: None}), name) is None
        assert not getattr(changed, name).flags.writeable


def test_only_changed_fields_of_a_side_are_checked(monkeypatch):
    side = Side(**WHOLE)

    def fail(*_):
        raise AssertionError("ids that stay are checked again")

    monkeypatch.setattr("embaudit.model.side._require_unique", fail)
    side.replace(title="label", rows=np.ones((3, 2)), bias=[0.0, 0.0, 1.0])
    with pytest.raises(AssertionError):
        side.replace(ids=["a", "b", "d"])


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"ids": ["a", "a", "b"]}, "item ids must be unique"),
        ({"ids": ["a", "a", "b"], "title": "label"}, "label ids must be unique"),
        ({"rows": np.eye(4, 2)}, "item bias must be a vector of 4 numbers"),
        ({"rows": [[np.nan], [0], [0]]}, "item factors must be finite"),
    ],
)
def test_changes_that_do_not_fit_a_side_are_refused(changes, sentence):
    with pytest.raises(InputError, match=sentence):
        Side(**WHOLE).replace(**changes)


def test_a_side_without_ids_takes_the_index_of_new_rows():
    frame = pd.DataFrame(np.eye(3, 2), index=["p", "q", "r"])
    side = Side(np.ones((3, 2)), "item")
    assert side.replace(rows=frame).ids.tolist() == ["p", "q", "r"]


def test_a_side_keeps_its_ids_if_new_rows_have_an_index():
    frame = pd.DataFrame(np.eye(3, 2), index=["p", "q", "r"])
    side = Side(**WHOLE)
    assert side.replace(rows=frame).ids.tolist() == ["a", "b", "c"]


def test_a_field_that_a_side_does_not_have_is_named():
    with pytest.raises(TypeError, match="a side has no field label"):
        Side(**WHOLE).replace(label="x")
