"""The picture of a head: the same two labels under three cosines, and how far the origin must move."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest

from embaudit.model import FactorModel
from embaudit.report.head_display import HeadDisplay

mpl.use("Agg")


@pytest.fixture
def head():
    rows = np.random.default_rng(0).standard_normal((60, 5)) + 0.5
    return FactorModel.from_softmax(rows, labels=[f"${i}" for i in range(60)])


def seen_from(origin, a, b):
    x, y = a - origin, b - origin
    return float(x @ y / np.linalg.norm(x) / np.linalg.norm(y))


def test_each_origin_sees_the_pair_under_its_cosine(head):
    display = HeadDisplay.from_model(head, pair=(3, 40))
    a, b = display.points[:2]
    assert display.names == ("$3", "$40")
    assert head.cosines("right", [[3, 40]])[0] == pytest.approx(display.cosines[0])
    for cosine, origin in zip(display.cosines, display.origins, strict=True):
        assert seen_from(origin, a, b) == pytest.approx(cosine, abs=1e-12)
    assert np.linalg.norm(a - b) == pytest.approx(np.linalg.norm(head.right[3] - head.right[40]))


def test_the_curves_rise_to_the_longest_shift(head):
    display = HeadDisplay.from_model(head)
    assert display.shifts.shape == (3, 101)
    assert (np.diff(display.shifts, axis=1) >= 0).all()
    assert (display.shifts[1] >= 0).all()


def test_it_draws_what_it_holds(head):
    display = HeadDisplay.from_model(head, pair=(3, 40))
    assert display.plot() is display
    plane, curves = display.axes_
    texts = [text.get_text() for text in plane.get_legend().get_texts()]
    assert texts[1:] == ["seen from here: cosine -1.00", "seen from here: cosine +1.00"]
    drawn = [line.get_xdata() for line in curves.get_lines()]
    assert all(np.array_equal(*rows) for rows in zip(drawn, display.shifts, strict=True))
    display.figure_.canvas.draw()
    mpl.pyplot.close(display.figure_)


def test_labels_on_one_line_and_of_one_dimension_can_be_drawn():
    for rows in ([[1.0, 1.0], [2.0, 2.0], [0.0, 1.0]], [[1.0], [2.0], [-1.0]]):
        display = HeadDisplay.from_model(FactorModel.from_softmax(rows), pair=(0, 1)).plot()
        mpl.pyplot.close(display.figure_)
        assert np.isfinite(display.points).all()
