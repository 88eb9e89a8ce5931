"""Near-duplicate rows: their definition at every scale, and their number in a table
with too many of them to search.
"""

from __future__ import annotations

import numpy as np
import pytest

from embaudit.auditing.near_duplicates import near_duplicates
from embaudit.linalg.nearest import neighbours


def on_a_circle(degrees):
    turn = np.radians(degrees)
    return np.column_stack([np.cos(turn), np.sin(turn)])


def found_in(rows):
    return near_duplicates(rows, np.arange(len(rows)), neighbours(rows, 1))


@pytest.mark.parametrize(("apart", "count"), [(0.089, 2), (0.091, 0)])
def test_the_limit_is_one_percent_of_the_typical_angle(apart, count):
    """Of 40 rows 9 degrees apart, one has another row a little further on:

    1 % is 0.09.
    """
    rows = on_a_circle([*np.arange(0, 360, 9), apart])
    found = found_in(rows)
    assert (0 if found is None else found.count) == count


def test_lengths_of_rows_and_the_unit_of_a_table_play_no_part():
    rows = on_a_circle([*np.arange(0, 360, 9), 0.05, 9.05])
    lengths = np.linspace(1, 1000, len(rows))[:, None]
    for scaled in (rows, 1e-200 * rows, rows * lengths):
        assert found_in(scaled).names == (0, 1, 40, 41)


def test_a_crowded_table_is_judged_by_a_sample_whose_interval_holds_the_share():
    """A third of 9,000 rows lies around one point: these are 4.5 million pairs."""
    draw = np.random.default_rng(0)
    rows = draw.normal(size=(9000, 16))
    crowd = draw.permutation(9000)[:3000]
    rows[crowd] = rows[0] + 1e-6 * draw.normal(size=(3000, 16))
    asked = draw.permutation(9000)[:400]
    found = near_duplicates(rows, np.arange(9000), neighbours(rows, 1, rows=asked))
    assert not found.exact
    assert found.ci_low < 1 / 3 < found.ci_low + 0.1
    assert found.names == ()
