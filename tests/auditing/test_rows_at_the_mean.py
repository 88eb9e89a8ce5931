"""Labels that equal the mean row have a direction before centring and none after it."""

from __future__ import annotations

import numpy as np
import pytest

import embaudit as ea


def audit_of(rows):
    return ea.audit(ea.FactorModel.from_softmax(rows), quick=True, n_gauges=1)


def said(rows, code):
    return [one for one in audit_of(rows).conclusions if one.code == code]


AT_MEAN = np.array([[1.0, 1.0], [5.0, 1.0], [6.0, 1.0], [4.0, 1.0]])
"""The last label is the mean row."""


def test_half_of_all_pairs_counts_the_pairs_of_a_label_at_the_mean_row():
    """A shift makes two labels opposite when it moves the origin onto their segment.

    All labels lie on the line y = 1, so the shortest shift is the distance of the
    origin from the nearer label of a pair: 3 times sqrt(2), 2 times sqrt(17) and once
    sqrt(26). Half of the 6 pairs need at most (sqrt(2) + sqrt(17)) / 2, and the median
    row is (sqrt(17) + sqrt(26)) / 2 long: 0.6004, rounded up.
    """
    (shortest,) = said(AT_MEAN, "shortest")
    assert shortest.text.endswith("Half of all pairs need no more than 0.61.")


def test_pairs_of_zero_rows_are_not_among_all_pairs():
    rows = np.vstack([AT_MEAN[:3], np.zeros(2)])
    (shortest,) = said(rows, "shortest")
    assert "Half of all pairs of labels that have a cosine need" in shortest.text


@pytest.mark.parametrize(
    ("rows", "titles"),
    [
        (
            AT_MEAN,
            ["1 of 4 labels equals the mean row, so it has no cosine without it"],
        ),
        (
            AT_MEAN * [[1], [1], [1], [0]],
            ["1 of 4 labels is a zero vector, which has no cosine"],
        ),
        (AT_MEAN * [[1], [1], [1], [2]], []),
    ],
    ids=["at the mean row", "zero", "neither"],
)
def test_a_row_at_the_mean_row_has_a_direction_as_stored(rows, titles):
    found = [f.title for f in audit_of(rows).findings if f.code == "EMB201"]
    assert found == titles


def test_labels_of_zeros_and_at_the_mean_row_are_one_finding():
    """The last label is the mean of the five rows, which sum to (20, 5)."""
    rows = [[1.0, 1.0], [5.0, 1.0], [10.0, 2.0], [0.0, 0.0], [4.0, 1.0]]
    (found,) = said(np.array(rows), "EMB201")
    assert found.title == "1 of 5 labels is a zero vector, which has no cosine"
    assert "In addition, 1 equals the mean row" in found.text
