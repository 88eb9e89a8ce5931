"""Which picture belongs to a result of each type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from embaudit.auditing import Audit
from embaudit.blocks import BlockCosines
from embaudit.canonical import Position
from embaudit.movements import Movement
from embaudit.ranges import CertifiedNeighbours, CosineRange
from embaudit.report.block_display import BlockDisplay
from embaudit.report.certified_curve_display import CertifiedCurveDisplay
from embaudit.report.heatmaps import heatmap_of_audit
from embaudit.report.movement_display import MovementDisplay
from embaudit.report.position_display import PositionDisplay
from embaudit.report.prediction_display import PredictionDisplay
from embaudit.report.range_display import RangeDisplay
from embaudit.report.simpson_display import SimpsonDisplay
from embaudit.reversals import SimpsonReport

if TYPE_CHECKING:
    from embaudit.report.display import Display

_PICTURES: dict[type, Any] = {
    Audit: MovementDisplay.of_audit,
    BlockCosines: BlockDisplay.of,
    CertifiedNeighbours: CertifiedCurveDisplay.of,
    CosineRange: RangeDisplay.of,
    Movement: MovementDisplay.of,
    Position: PositionDisplay.of,
    SimpsonReport: SimpsonDisplay.of,
}


_OF_AUDITS: dict[str, Any] = {
    "certified": CertifiedCurveDisplay.of_audit,
    "heatmap": heatmap_of_audit,
    "prediction": PredictionDisplay.of_audit,
}
"""What else an audit can draw."""


def display(result: object, picture: str = "", **options: Any) -> Display:
    """Compute the picture of a result, the one named where it has several, without drawing it.

    Examples
    --------
    >>> from embaudit.blocks import block_cosines
    >>> display(block_cosines([1, 1], [1, 2])).cosines
    array([1., 1.])
    """
    of = _OF_AUDITS[picture] if picture else next(of for kind, of in _PICTURES.items() if isinstance(result, kind))
    made: Display = of(result, **options)
    return made
