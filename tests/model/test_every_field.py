"""Each field of a model by itself: as given, replaced, taken in part; bounds from both sides."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from embaudit.errors import InputError
from embaudit.model.side import Side, as_titles

LEFT, RIGHT = (
    np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]),
    np.array([[7.0, 8.0], [9.0, 1.0]]),
)


@pytest.mark.parametrize(
    ("ids", "named"),
    [(["a", "b", "b"], "b 2"), (["c", "c", "a", "c", "b", "b"], "b 2")],
)
def test_the_first_id_that_is_not_unique_is_named(ids, named):
    with pytest.raises(InputError) as refused:
        Side(np.eye(len(ids)), "item", ids=ids)
    assert (
        str(refused.value)
        == f"item ids must be unique; got {named} times; keep one row for each id."
    )
    assert Side(np.eye(len(ids)), "item", names=ids).names.tolist() == ids


def test_counts_of_none_are_counts_and_flags_are_flags():
    assert Side(np.eye(2), "item", counts=[0, 0.5]).counts.tolist() == [0.0, 0.5]
    with pytest.raises(
        InputError, match=r"^item counts must be numbers >= 0; got -0\.5\.$"
    ):
        Side(np.eye(2), "item", counts=[1, -0.5])
    for bad, got in (([0, 1], "int64 of shape (2,)"), ([True], "bool of shape (1,)")):
        with pytest.raises(InputError) as refused:
            Side(np.eye(2), "item", aside=bad)
        assert (
            str(refused.value)
            == f"item aside must be 2 values True or False, one a row; got {got}."
        )
    for bad in ("ab", [["a"], ["b"]], ["a"]):
        with pytest.raises(
            InputError, match=r"^item names must be a list of 2, one a row; got shape "
        ):
            Side(np.eye(2), "item", names=bad)
    mixed = Side(np.eye(2), "item", ids=np.array(["a", 7], dtype=object)).ids
    assert (mixed.tolist(), mixed.dtype.kind) == (["a", "7"], "U")
    assert as_titles(["a\nb", "c\td"]) == ("a\\nb", "c\\td")


def test_a_copy_of_a_side_checks_its_fields_and_shares_its_rows():
    side = Side(RIGHT, "item", ids=["d", "e"], counts=[1, 2])
    renamed = replace(side, title="good\n", counts=[3, 4])
    assert (renamed.title, renamed.counts.tolist()) == ("good\\n", [3.0, 4.0])
    assert renamed.ids.tolist() == ["d", "e"]
    assert np.shares_memory(renamed.rows, RIGHT)
    with pytest.raises(InputError, match="item ids must be a list of 1, one a row"):
        replace(side, rows=RIGHT[:1])
