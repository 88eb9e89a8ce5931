"""Gauges: changes of both factor matrices that keep predictions, and sets of gauges."""

from embaudit.gauges.affine import Affine
from embaudit.gauges.diagonal import Diagonal
from embaudit.gauges.gauge import Gauge
from embaudit.gauges.group import GaugeGroup
from embaudit.gauges.linear import GeneralLinear
from embaudit.gauges.orthogonal import Orthogonal
from embaudit.gauges.translation import Translation

__all__ = [
    "Affine",
    "Diagonal",
    "Gauge",
    "GaugeGroup",
    "GeneralLinear",
    "Orthogonal",
    "Translation",
]

GROUPS: tuple[type[GaugeGroup], ...] = (
    Affine,
    Diagonal,
    GeneralLinear,
    Orthogonal,
    Translation,
)
"""The gauge groups of this package, in the order of their kinds."""
