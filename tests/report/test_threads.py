"""Results that are drawn in several threads do not change global settings."""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

import embaudit as ea


def test_pages_and_plots_in_threads_restore_settings_and_warning_filters():
    draw = np.random.default_rng(0)
    model = ea.FactorModel.from_arrays(
        draw.normal(size=(20, 3)), draw.normal(size=(12, 3))
    )
    movement = ea.movement(model, ea.Gauge.linear(np.diag([3.0, 1.0, 0.5])).act(model))
    movement._repr_html_()  # what it imports may have filters of its own
    settings, filters = dict(mpl.rcParams), list(warnings.filters)

    def show(number):
        if number % 2:
            return movement._repr_html_()
        return movement.plot(Figure(figsize=(2, 2)).add_subplot())

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(show, range(24)))
    assert dict(mpl.rcParams) == settings
    assert list(warnings.filters) == filters
