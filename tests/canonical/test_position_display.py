"""What the picture draws is what the position says."""

from __future__ import annotations

from functools import partial

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from models import random_model

from embaudit.canonical import at_exponent, position
from embaudit.model import FactorModel

mpl.use("agg")

make = partial(random_model, k=4, scales=(1, [4, 2, 1, 0.5]))


def test_curve_and_mark():
    draw = np.random.default_rng(0)
    users, items = draw.standard_normal((40, 4)), draw.standard_normal((30, 4)) * [4, 2, 1, 0.5]
    where = position(at_exponent(FactorModel.from_user_item(users, items), 0.7))
    display = where.plot()
    x, y = display.ax_.lines[0].get_data()
    assert x[[0, -1]].tolist() == [0, 1]
    ends = [np.exp(where.distances[name]) for name in ("left-whitened", "balanced", "right-whitened")]
    np.testing.assert_allclose(y[[0, 20, 40]], ends)
    mark = display.ax_.lines[1]
    assert mark.get_xdata()[0] == pytest.approx(0.7, abs=1e-4)
    assert y.min() >= mark.get_ydata()[0] - 1e-5
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert "nearest: 0.70" in texts[1]
    assert display.ax_.get_title() == "40 users × 30 items, 4 dimensions"
    plt.close(display.figure_)
