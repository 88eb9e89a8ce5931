"""Every number and every word of what blocks are told by."""

from __future__ import annotations

import math

import numpy as np
import pytest
from records import open_records

from embaudit.blocks import Boundaries, Chunks, Heads, Labels, block_cosines
from embaudit.blocks.partition import as_partition

X = {"a": [0.3, 0.4], "b": [0.6, 0.0], "c": [0.0], "d": [0.0], "e": [0.2]}
Y = {"a": [0.4, 0.3], "b": [0.0, 0.5], "c": [0.0], "d": [0.1], "e": [0.0]}
TWO = block_cosines([1, 1], [1, 2])


def test_records_are_closed():
    assert open_records("blocks") == set()


def test_the_record_of_blocks_of_which_some_are_zero():
    found = block_cosines(X, Y)
    x, y = math.sqrt(0.65), math.sqrt(0.51)
    rho, cosine = (0.25 + 0.3) / (x * y), 0.24 / (x * y)
    told = found.to_dict(limit=2)
    blocks = told.pop("blocks")
    assert told == {
        "partition": "tensors",
        "n_blocks": 5,
        "n_entries": 7,
        "global_cosine": pytest.approx(cosine),
        "norm_cosine": pytest.approx(rho),
        "mean_cosine": pytest.approx(0.24 / 0.55),
        "plain_mean_cosine": pytest.approx(0.48),
        "identity_error": pytest.approx(0.0, abs=1e-16),
        "x_norm": pytest.approx(x),
        "y_norm": pytest.approx(y),
        "bounds": pytest.approx([0.0, 0.96 * rho]),
        "bounds_without_norms": pytest.approx([0.0, 0.96]),
        "norm_gap": pytest.approx(1 - rho),
        "direction_gap": pytest.approx(rho - cosine),
        "zero_blocks": {"x": 1, "y": 1, "both": 1},
        "blocks_left_out": 3,
        "notes": [],
    }
    largest, second = blocks
    assert largest == {
        "block": "b",
        "size": 2,
        "cosine": 0.0,
        "weight": pytest.approx(0.3 / (x * y)),
        "contribution": 0.0,
        "x_profile": pytest.approx(0.6 / x),
        "y_profile": pytest.approx(0.5 / y),
        "norm_gap": pytest.approx((0.6 / x - 0.5 / y) ** 2 / 2),
        "direction_gap": pytest.approx(0.3 / (x * y)),
        "without": pytest.approx(0.24 / math.sqrt(0.29 * 0.26)),
    }
    assert (second["block"], second["cosine"], second["norm_gap"]) == ("e", None, pytest.approx(0.04 / 0.65 / 2))
    assert repr(found) == "BlockCosines(5 blocks, 7 entries, by tensors: global 0.4168 = 0.9553 × 0.4364)"
    assert found.explain() == (
        "global cosine 0.4168 = 0.9553 (norm profiles) × 0.4364 (weighted mean of 5 blocks by tensors, 7 entries)\n"
        "with these norms the local cosines allow 0.0000 to 0.9170\n"
        "zero blocks: 1 in x only, 1 in y only, 1 in both"
    )


def test_blocks_that_no_side_shares_have_no_mean():
    assert (
        block_cosines([[1.0], [0.0]], [[0.0], [1.0]])
        .explain()
        .startswith(
            "global cosine 0.0000 = 0.0000 (norm profiles) (no block counts in both of 2 blocks by rows, 2 entries)\n"
        )
    )
    alone = block_cosines([[0.3, 0.4], [0.0, 0.0]], [[0.4, 0.3], [0.0, 0.0]])
    assert alone.bounds_without_norms == pytest.approx((0.96, 0.96))
    assert "zero blocks" not in TWO.explain()
    one = block_cosines([[0.3, 0.4], [0.0, 0.0]], [[0.4, 0.3], [1.0, 0.0]]).explain()
    assert one.endswith("\nzero blocks: 1 in x only, 0 in y only, 0 in both")


def test_a_change_of_norms_in_words_and_numbers():
    breaks = TWO.norm_change(0.9)
    # The profile of x turns about that of y, (1, 2)/√5, to an angle of acos 0.9; the factors are what it becomes.
    turned = math.acos(0.9) - math.acos(3 / math.sqrt(10))
    told = breaks.to_dict()
    factors = np.array(told.pop("factors"))
    assert told == {
        "side": "x",
        "threshold": 0.9,
        "before": pytest.approx(3 / math.sqrt(10)),
        "breaks": True,
        "distance": pytest.approx(math.sin(turned), rel=1e-9),
        "reachable": pytest.approx([1 / math.sqrt(5), 1.0]),
    }
    changed = factors / math.sqrt(2)
    assert changed @ [1, 2] / math.sqrt(5) / np.linalg.norm(changed) == pytest.approx(0.9, abs=1e-9)
    assert len(breaks.to_dict(limit=1)["factors"]) == 1
    assert (
        str(breaks)
        == "Changing the block norms of x by 12.9% of its length would break a global cosine of 0.9 (now 0.9487)."
    )
    assert str(TWO.norm_change(0.99)) == (
        "Changing the block norms of x by 17.9% of its length would restore a global cosine of 0.99 (now 0.9487)."
    )
    none = block_cosines([1, 1], [1, -2]).norm_change(0.99, side="y")
    assert none.to_dict() == {
        "side": "y",
        "threshold": 0.99,
        "before": pytest.approx(-1 / math.sqrt(10)),
        "breaks": False,
        "distance": None,
        "reachable": pytest.approx([-math.sqrt(0.5), math.sqrt(0.5)]),
        "factors": None,
    }
    assert str(none) == "No block norms of y restore a global cosine of 0.99: they reach -0.7071 to 0.7071."


def test_a_local_threshold_in_words_and_numbers():
    assert TWO.local_threshold(1.0).to_dict() == {
        "level": 1.0,
        "holds": True,
        "n_below": 0,
        "n_undefined": 0,
        "norm_cosine": pytest.approx(3 / math.sqrt(10)),
        "guaranteed": pytest.approx(3 / math.sqrt(10)),
        "guaranteed_without_norms": 0.0,
        "global_cosine": pytest.approx(3 / math.sqrt(10)),
    }
    assert str(block_cosines([[1.0], [1.0]], [[1.0], [-2.0]]).local_threshold(0.5)) == (
        "Not every (1 below) local cosine is at least 0.5. If all were, the global cosine would be at least 0.4743 "
        "with these norms and 0 without them. It is -0.3162."
    )


@pytest.mark.parametrize(
    ("partition", "title", "names"),
    [
        ("tensors", "tensors", ["all"]),
        ("rows", "rows", ["[0]", "[1]"]),
        ("columns", "columns", ["[:, 0]", "[:, 1]"]),
        ("coordinates", "coordinates", ["[0, 0]", "[0, 1]", "[1, 0]", "[1, 1]"]),
        (Chunks(3), "chunks of 3", ["[0:3]", "[3:4]"]),
        (Heads(2), "2 heads", ["/head 0", "/head 1"]),
        (Heads(2, axis=1), "2 heads", ["/head 0", "/head 1"]),
        (lambda _: "one", "names", ["one"]),
        (Labels(["u", "v", "u", "w"]), "labels", ["u", "v", "w"]),
        (Boundaries([1, 3]), "boundaries", ["[0:1]", "[1:3]", "[3:4]"]),
    ],
    ids=["tensors", "rows", "columns", "entries", "chunks", "heads", "heads of columns", "names", "labels", "cuts"],
)
def test_each_partition_is_told_by_its_title_and_its_names(partition, title, names):
    given = np.array([[1.0, 2.0], [3.0, 5.0]])
    found = block_cosines(given, given[::-1], partition=partition)
    assert found.to_dict()["partition"] == title
    assert found.to_frame().index.tolist() == names
    assert found.sizes.sum() == 4
    assert found.global_cosine == pytest.approx((3 + 10) * 2 / 39)


def test_names_that_share_a_group_share_its_block():
    found = block_cosines(X, Y, partition="a,[b-d]*")
    assert found.to_frame().index.tolist() == ["a", "[b-d]*", "other"]
    assert found.sizes.tolist() == [2, 4, 1]
    assert as_partition({"first": "a", "rest": "*"}).owner("e") == "rest"
    assert as_partition(["a", "b"]).unmatched(["a", "c"]) == ["b"]
