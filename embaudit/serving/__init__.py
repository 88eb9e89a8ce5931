"""Serving: how an index, a retrained model or a noisy score changes served lists."""

from embaudit.serving.align import Alignment, align
from embaudit.serving.index_metric import IndexMetric, ServedLists, index_metric
from embaudit.serving.nearly_equal import NearlyEqual, nearly_equal, score_noise

__all__ = [
    "Alignment",
    "IndexMetric",
    "NearlyEqual",
    "ServedLists",
    "align",
    "index_metric",
    "nearly_equal",
    "score_noise",
]
