"""Two records of an audit are compared value by value."""

from __future__ import annotations

import pytest

from embaudit.auditing.record_difference import compare_records


def record(**entries):
    """Return a record without equivalent models, with some entries of its own."""
    return {"drift": [], "head": None, **entries}


def drift(size):
    """Return a record with the drift of one equivalent model."""
    return record(drift=[{"tolerance": 1e-12, "max_abs": size}])


def neighbours(*entries):
    """Return a record with one neighbour list."""
    return record(before=[list(entry) for entry in entries])


@pytest.mark.parametrize(
    ("recorded", "recomputed"),
    [
        (record(rms=0.25), record(rms=0.25 * (1 + 1e-10))),
        (record(rms=0.0), record(rms=1e-17)),
        (drift(1e-15), drift(9e-13)),
        (record(source="old/m.npz"), record(source="new/m.npz")),
        (record(files=["old/a.csv", "b.csv"]), record(files=["a.csv", "new/b.csv"])),
        (
            neighbours(("a", 0.9), ("b", 0.5), ("c", 0.5)),
            neighbours(("a", 0.9), ("c", 0.5), ("b", 0.5)),
        ),
        (neighbours(), neighbours()),
    ],
    ids=[
        "rounding",
        "rounding of 0",
        "drift",
        "a folder",
        "two folders",
        "ties",
        "no neighbours",
    ],
)
def test_records_agree_up_to_rounding_folders_and_ties(recorded, recomputed):
    assert compare_records(recorded, recomputed)[1] is None


@pytest.mark.parametrize(
    ("recorded", "recomputed", "sentence"),
    [
        (
            record(rms=0.25),
            record(rms=0.25 * (1 + 1e-8)),
            "rms: the file says 0.25; it is 0.2500000025.",
        ),
        (
            record(chance=1e-20),
            record(chance=2e-20),
            "chance: the file says 1e-20; it is 2e-20.",
        ),
        (
            drift(1e-15),
            drift(2e-12),
            "drift[0].max_abs: the file says 1e-15; it is 2e-12.",
        ),
        (
            record(source="m.npz"),
            record(source="n.npz"),
            'source: the file says "m.npz"; it is "n.npz".',
        ),
        (record(rank=True), record(rank=1), "rank: the file says true; it is 1."),
        (record(rank="1"), record(rank=1), 'rank: the file says "1"; it is 1.'),
        (record(rank=1), record(), "rank: the file says 1; it is nothing."),
        (record(), record(rank=1), "rank: the file says nothing; it is 1."),
        (
            record(notes=[1, 2]),
            record(notes=[1]),
            "notes: the file says a list of 2; it is a list of 1.",
        ),
        (
            neighbours(("a", 0.9), ("b", 0.5)),
            neighbours(("b", 0.9), ("a", 0.5)),
            'before[0][0]: the file says "a"; it is "b".',
        ),
        (
            neighbours(("a", 0.5), ("a", 0.5)),
            neighbours(("a", 0.5), ("b", 0.5)),
            'before[1][0]: the file says "a"; it is "b".',
        ),
    ],
)
def test_the_first_difference_is_named_with_both_values(recorded, recomputed, sentence):
    assert str(compare_records(recorded, recomputed)[1]) == sentence


def test_numbers_are_counted_up_to_the_first_difference():
    old = record(ranks=[1, 2, 3], title="a", ok=True)
    assert compare_records(old, old) == (3, None)
    n_numbers, difference = compare_records(old, old | {"ranks": [1, 2, 4]})
    assert n_numbers == 2
    assert difference.place == "ranks[2]"
