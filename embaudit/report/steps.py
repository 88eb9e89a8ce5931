"""StepChart: local cosines over their weights, whose area is the global cosine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from embaudit.report.axis import Axis
from embaudit.report.block_display import BlockDisplay
from embaudit.report.charts import HIGH, LEFT, LOW, RIGHT

if TYPE_CHECKING:
    from embaudit.blocks import BlockCosines
    from embaudit.foundation.checked import Floats

MOST = 200
"""Steps of a picture; more blocks are drawn as so many bundles of equal weight."""


@dataclass(frozen=True)
class StepChart:
    """Steps as wide as blocks weigh and as high as their cosine."""

    SHAPE: ClassVar[str] = "steps"

    title: str
    across: Axis
    up: Axis
    outline: str
    """Points of the filled shape."""
    end: float
    """Where the weights end: the strip behind it is what different norms cost."""
    lines: tuple[tuple[str, str, float], ...]
    """How a level is drawn, what it is, and its place."""


def step_chart(found: BlockCosines) -> StepChart | None:
    """Place the blocks that have a weight, the highest cosine first; None where none has one.

    Examples
    --------
    >>> from embaudit.blocks import block_cosines
    >>> chart = step_chart(block_cosines([1, 1], [1, 2]))
    >>> chart.end == chart.across.at(0.9486832980505138), chart.outline
    (True, '40.0,196.0 40.0,16.0 162.7,16.0 162.7,16.0 408.1,16.0 408.1,196.0')
    """
    shown = BlockDisplay.of(found)
    if not len(shown.cosines):
        return None
    cosines, weights = _bundled(shown.cosines, shown.weights)
    low = -1.0 if cosines.min() < -0.5 else -0.5 if cosines.min() < 0 else 0.0
    across, up = Axis(0.0, 1.0, LEFT, RIGHT), Axis(low, 1.0, LOW, HIGH)
    edges = np.minimum(np.concatenate([[0.0], np.cumsum(weights)]), 1.0)
    corners = [(0.0, 0.0), *((edge, cosine) for i, cosine in enumerate(cosines) for edge in edges[i : i + 2])]
    points = [*corners, (edges[-1], 0.0)]
    levels = (("first", "weighted mean", shown.mean_cosine), ("third", "global cosine", shown.global_cosine))
    return StepChart(
        "local cosines over their weights",
        across,
        up,
        " ".join(f"{across.at(x)},{up.at(y)}" for x, y in points),
        across.at(shown.norm_cosine),
        tuple((kind, f"{name} {value:.4f}", up.at(value)) for kind, name, value in levels),
    )


def _bundled(cosines: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Draw many blocks as few steps of about equal weight that cover the same area.

    Examples
    --------
    >>> cosines, weights = _bundled(np.linspace(1, 0, 1000), np.full(1000, 0.001))
    >>> len(weights), round(float(weights.sum()), 9), round(float(cosines @ weights), 9)
    (200, 1.0, 0.5)
    """
    if len(cosines) <= MOST:
        return cosines, weights
    middles = np.cumsum(weights) - weights / 2
    bundle = np.minimum((middles / weights.sum() * MOST).astype(np.intp), MOST - 1)
    sums, areas = (np.zeros(MOST), np.zeros(MOST))
    np.add.at(sums, bundle, weights)
    np.add.at(areas, bundle, weights * cosines)
    return areas[sums > 0] / sums[sums > 0], sums[sums > 0]
