"""Times as people write them: each limit between two ways of writing has both of its sides here."""

from __future__ import annotations

import numpy as np
import pytest

from embaudit.errors import InputError
from embaudit.foundation.durations import as_duration, duration, outlook, pace


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0.0 s"), (9.94, "9.9 s"), (9.95, "10 s"), (119.49, "119 s"), (119.5, "2 min"), (7169, "119 min"),
        (7170, "2 h 0 min"), (7289, "2 h 1 min"), (3_600_000, "1,000 h 0 min"),
    ],
)  # fmt: skip
def test_a_duration_is_written_in_the_unit_of_its_size(seconds, text):
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        ("60s", 60), ("60 s", 60), (" 5min ", 300), ("1.5h", 5400), ("720h", 2_592_000), ("0.001s", 0.001), (2.5, 2.5),
        (np.float32(2.5), 2.5), (2_592_000, 2_592_000),
    ],
)  # fmt: skip
def test_a_duration_is_read_in_seconds(given, seconds):
    assert as_duration(given, "time") == seconds


@pytest.mark.parametrize(
    "given",
    [
        "0s", "-3s", "5 parsecs", "", "60", "s", "nan s", "1e3s", "1h 5min", "720.1h", "60  s", "٣s", 0, -1, 2_592_001,
        True, None, float("nan"), float("inf"), 10**400, "9" * 400 + "s",
    ],
)  # fmt: skip
def test_what_is_no_duration_is_refused_with_an_example(given):
    with pytest.raises(InputError) as refused:
        as_duration(given, "time")
    assert str(refused.value).startswith("time must be a time above 0 and up to 30 days; got ")
    assert str(refused.value).endswith("; write for example 60s, 5min or 1.5h.")


@pytest.mark.parametrize(
    ("done", "seconds", "text"),
    [
        (1, 1, "1.0 a second"), (995, 100, "10 a second"), (994, 100, "9.9 a second"), (2_000, 1, "2,000 a second"),
        (99, 100, "59 a minute"), (1, 60, "1.0 a minute"), (1, 60.1, "60 an hour"), (0, 5, ""), (5, 0, ""),
    ],
)  # fmt: skip
def test_a_pace_is_written_in_the_unit_in_which_it_is_at_least_one(done, seconds, text):
    assert pace(done, seconds) == text


def test_what_is_left_is_told_once_something_is_done_and_not_when_all_is():
    assert outlook(0, 4, 100) == "0 of 4"
    assert outlook(1, 4, 100) == "1 of 4, 36 an hour, about 5 min left"
    assert outlook(4, 4, 100) == "4 of 4, 2.4 a minute"
    assert outlook(19, 20, 9.5) == "19 of 20, 2.0 a second, about 0.5 s left"
    assert outlook(3, None, 1) == "3, 3.0 a second"
