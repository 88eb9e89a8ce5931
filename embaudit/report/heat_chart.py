"""HeatChart: the cosines between a few rows as cells, in the model at hand and beside it what its predictions say."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from embaudit.errors import InputError
from embaudit.foundation.words import cut_within, visible
from embaudit.report.heatmaps import FURTHEST, heatmap_of_audit
from embaudit.report.prediction_display import predicted_word
from embaudit.report.summary import shown_side

if TYPE_CHECKING:
    from collections.abc import Iterator

    from embaudit.auditing import Audit
    from embaudit.foundation.checked import Floats
    from embaudit.model import SideName
    from embaudit.report.heatmap_display import HeatmapDisplay, Panel

MOST_ROWS = 60
"""Rows of a side up to which a page shows the cosines of all pairs."""
MOST_NAMED = 40
"""Rows that have room for their names beside the cells; those of more are listed below."""
SHADES = 10
"""Shades of each sign."""
START, STOP = 116.0, 436.0
"""Between which the cells lie, across; names stand before them."""
CUT = 17
"""Characters of a name beside the cells."""


@dataclass(frozen=True)
class HeatShade:
    """The cells of one shade."""

    kind: str
    """What they are drawn as: "warm" above 0, "cool" below, "nothing" where there is no cosine."""
    opacity: float
    path: str


@dataclass(frozen=True)
class HeatPanel:
    """The cosines of one model."""

    title: str
    note: str
    """What is known of its predictions, and how far its cosines are from those at hand."""
    shades: tuple[HeatShade, ...]


@dataclass(frozen=True)
class HeatChart:
    """Cosines of the same rows in the same order, in one model or another."""

    caption: str
    panels: tuple[HeatPanel, ...]
    names: tuple[str, ...]
    """Of all rows, from the top down."""
    beside: tuple[tuple[float, str], ...]
    """Where names stand beside the cells, where there is room for them."""

    @property
    def height(self) -> float:
        """Of a panel."""
        return STOP - START + 8

    @property
    def size(self) -> float:
        """Of the letters of names."""
        return min(12.0, 0.95 * (STOP - START) / len(self.names))


def heat_chart(audit: Audit) -> HeatChart | None:
    """Place the cosines of all rows of a small side, or of the rows asked for and those near them.

    None where no row has a name, or nothing can be shown beside the cosines at hand.
    """
    model, side = audit.model, shown_side(audit)
    chosen = _asked(audit, side)
    few = len(model.side(side)) <= MOST_ROWS
    named = model.side(side).names is not None or model.side(side).ids is not None
    if not (named and audit.predictions_hold and (few or len(chosen) > 1)):
        return None
    beside = FURTHEST if model.left is None else predicted_word(model, side)
    with suppress(InputError):  # fewer than two rows with a direction, or scores that are all the same
        return _placed(heatmap_of_audit(audit, role=side, show=() if few else chosen, beside=[beside]))
    return None


def _asked(audit: Audit, side: SideName) -> list[str]:
    """Name the rows asked for and those near them in either model, as far as a name is that of one row."""
    if not audit.evidence.chosen:
        return []
    names = [name for one in audit.evidence.examples for name in (one.name, *map(_first, (*one.before, *one.after)))]
    labels = audit.model.names(side).astype(str)
    found, counts = np.unique(labels[np.isin(labels, names)], return_counts=True)
    alone = set(found[counts == 1].tolist())
    return [name for name in dict.fromkeys(names) if name in alone][:MOST_ROWS]


def _first(listed: tuple[str, float]) -> str:
    return listed[0]


def _placed(shown: HeatmapDisplay) -> HeatChart:
    """Draw the cells of every panel, and names where there is room.

    Examples
    --------
    >>> from embaudit.model import FactorModel
    >>> from embaudit.report.heatmaps import heatmap
    >>> model = FactorModel.from_vectors([[1.0, 0.0], [3.0, 4.0]], ids=["a", "b"])
    >>> chart = _placed(heatmap(model, beside=[]))
    >>> chart.beside, [(shade.opacity, shade.path) for shade in chart.panels[0].shades]
    (((80.0, 'a'), (240.0, 'b')), [(0.6, 'M276,0h160v160h-160zM116,160h160v160h-160z'), (1.0, ...)])
    """
    names, cell = tuple(map(visible, shown.names)), (STOP - START) / len(shown.names)
    beside = tuple((round(cell * (at + 0.5), 1), cut_within(name, CUT)) for at, name in enumerate(names))
    panels = tuple(HeatPanel(one.name, _note(shown, one), tuple(_shades(one.cosines))) for one in shown.panels)
    caption = f"{shown.said[0].upper()}{shown.said[1:]}."
    return HeatChart(caption, panels, names, beside if len(names) <= MOST_NAMED else ())


def _note(shown: HeatmapDisplay, panel: Panel) -> str:
    moved = shown.means(panel).get("moved")
    return "; ".join(filter(None, (panel.note, "" if moved is None else f"mean |Δcos| {moved:.2f}")))


def _shades(cosines: Floats) -> Iterator[HeatShade]:
    """Write the cells of each shade as one path; those next to 0 stay empty."""
    steps = np.where(np.isnan(cosines), np.nan, np.round(SHADES * cosines))
    for step in np.unique(steps[steps != 0]):  # NaN is one, too, and the last
        cells = np.isnan(steps) if np.isnan(step) else steps == step
        kind = "nothing" if np.isnan(step) else "warm" if step > 0 else "cool"
        opacity = 1.0 if np.isnan(step) else round(float(min(abs(step) / SHADES, 1.0)), 2)
        yield HeatShade(kind, opacity, "".join(_runs(cells)))


def _runs(cells: Floats) -> Iterator[str]:
    """Draw cells that touch in a line as one."""
    cell = (STOP - START) / len(cells)
    for row, line in enumerate(cells.tolist()):
        at = 0
        for filled, run in groupby(line):
            width = sum(1 for _ in run)
            if filled:
                x, y, w = START + cell * at, cell * row, cell * width
                yield f"M{x:.5g},{y:.5g}h{w:.5g}v{cell:.5g}h-{w:.5g}z"
            at += width
