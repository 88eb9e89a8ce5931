"""CountChart: how many pairs have which cosine at hand and which prediction cosine, for a template to draw."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from embaudit.report.axis import Axis

if TYPE_CHECKING:
    from collections.abc import Iterator

    from embaudit.foundation.checked import Indices
    from embaudit.report.prediction_display import PredictionDisplay

CELLS = 40
"""Cells in a row, and rows of them."""
SHADES = 5
"""Shades of cells, each for so many times as many pairs as the one before."""
PALEST = 0.3
"""Opacity that the palest shade exceeds: one pair has to be seen."""
START, STOP = 40.0, 240.0
"""The frame, in units of the picture."""


@dataclass(frozen=True)
class Shade:
    """The cells of one shade."""

    opacity: float
    path: str


@dataclass(frozen=True)
class CountChart:
    """Pairs counted in square cells, from -1 to 1 on both axes."""

    across: Axis
    """Prediction cosines."""
    up: Axis
    """Cosines at hand."""
    shades: tuple[Shade, ...]
    word: str
    """What stands across."""
    caption: str


def count_chart(shown: PredictionDisplay) -> CountChart | None:
    """Place the counts of pairs; None where there are none.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> from embaudit.report.prediction_display import PredictionDisplay
    >>> model = FactorModel.from_user_item([[2.0, 0.0], [0.0, 1.0]], [[1.0, 1.0], [1.0, -1.0]])
    >>> chart = count_chart(PredictionDisplay.of(model))
    >>> chart.across.at(0.6), chart.up.at(0.0), [shade.opacity for shade in chart.shades]
    (200.0, 140.0, [0.44])
    """
    if not len(shown.pairs):
        return None
    counts = counted_in_cells(shown)
    across, up = Axis(-1.0, 1.0, START, STOP), Axis(-1.0, 1.0, STOP, START)
    shades = f"Cells of stronger colour hold more pairs, up to {counts.max():,}."
    caption = f"{shown.caption} On the dashed line both agree. {shades}"
    return CountChart(across, up, tuple(_shades(counts)), shown.word, caption)


def counted_in_cells(shown: PredictionDisplay) -> Indices:
    """Count the pairs of every cell, (across, up); a cosine of 1 is in the last."""
    ends = ((-1.0, 1.0), (-1.0, 1.0))
    counts: Indices = np.histogram2d(shown.predicted, shown.cosines, bins=CELLS, range=ends)[0].astype(np.int64)
    return counts


def _shades(counts: Indices) -> Iterator[Shade]:
    """Write the cells of each shade as one path, the palest first."""
    step = (STOP - START) / CELLS
    with np.errstate(divide="ignore"):
        share = np.log(counts) / np.log(max(int(counts.max()), 2))
    place = np.minimum(np.floor(share * SHADES) + 1, SHADES)
    for shade in range(1, SHADES + 1):
        cells = np.argwhere(place == shade)
        if len(cells):
            corners = [(START + step * across, STOP - step * (up + 1)) for across, up in cells.tolist()]
            path = "".join(f"M{x:g},{y:g}h{step:g}v{step:g}h{-step:g}z" for x, y in corners)
            yield Shade(round(PALEST + (1 - PALEST) * shade / SHADES, 2), path)
