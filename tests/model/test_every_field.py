"""Fields of a side: labels, counts and flags are checked, and copies share rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from embaudit.errors import InputError
from embaudit.model.side import Side, as_titles

RIGHT = np.array([[7.0, 8.0], [9.0, 1.0]])


@pytest.mark.parametrize(
    ("ids", "named"),
    [(["a", "b", "b"], "b 2"), (["c", "c", "a", "c", "b", "b"], "b 2")],
)
def test_the_first_id_that_is_not_unique_is_named(ids, named):
    with pytest.raises(InputError) as refused:
        Side(np.eye(len(ids)), "item", ids=ids)
    assert str(refused.value) == (
        f"item ids must be unique; got {named} times; keep one row for each id."
    )
    assert Side(np.eye(len(ids)), "item", names=ids).names.tolist() == ids


def test_a_count_can_be_zero_or_a_fraction():
    assert Side(np.eye(2), "item", counts=[0, 0.5]).counts.tolist() == [0.0, 0.5]


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
    mixed = Side(np.eye(2), "item", ids=np.array(["a", 7], dtype=object)).ids
    assert (mixed.tolist(), mixed.dtype.kind) == (["a", "7"], "U")


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
