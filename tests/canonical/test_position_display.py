"""What the display draws is what the position says."""

from __future__ import annotations

from functools import partial

import matplotlib as mpl
import numpy as np
import pytest
from models import random_model

from embaudit.canonical import at_exponent, position
from embaudit.errors import InputError
from embaudit.model import FactorModel
from embaudit.report.position_display import PositionDisplay


@pytest.fixture(autouse=True)
def _no_window():
    before = mpl.get_backend()
    mpl.use("agg")
    yield
    import matplotlib.pyplot as plt

    plt.close("all")
    mpl.use(before)


make = partial(random_model, k=4, scales=(1, [4, 2, 1, 0.5]))


def test_curve_and_mark():
    model = at_exponent(make(), 0.7)
    where = position(model)
    display = PositionDisplay.from_model(model).plot(name="mine")
    x, y = display.line_.get_data()
    assert x[[0, -1]].tolist() == [0, 1]
    ends = [np.exp(where.distances[name]) for name in ("left-whitened", "balanced", "right-whitened")]
    np.testing.assert_allclose(y[[0, 20, 40]], ends)
    mark = display.ax_.lines[1]
    assert mark.get_xdata()[0] == pytest.approx(0.7, abs=1e-4)
    assert y.min() >= mark.get_ydata()[0] - 1e-5
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert texts[0] == "mine"
    assert "nearest: 0.70" in texts[1]


def test_balancedness_is_flat_for_a_balanced_model_only():
    for exponent, flat in ((0.5, True), (0.9, False)):
        display = PositionDisplay.from_model(at_exponent(make(), exponent)).plot_balancedness()
        assert (np.ptp(display.line_.get_ydata()) < 1e-9) == flat


def test_it_draws_where_it_is_told():
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots()
    assert PositionDisplay.from_model(make()).plot(ax=axes).figure_ is figure


def test_one_side_is_refused():
    with pytest.raises(InputError, match="load the user factors"):
        PositionDisplay.from_model(FactorModel.from_vectors([[1.0, 2.0]]))
