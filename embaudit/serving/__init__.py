"""Serving: how an index, another model or a noisy score changes served lists."""

from embaudit.serving.align import Alignment, align
from embaudit.serving.index_metric import IndexMetric, ServedLists, index_metric
from embaudit.serving.nearly_equal import NearlyEqual, nearly_equal, score_noise
from embaudit.serving.runs import StableNeighbours, stable_neighbours
from embaudit.serving.space_map import SpaceMap, space_map

__all__ = [
    "Alignment",
    "IndexMetric",
    "NearlyEqual",
    "ServedLists",
    "SpaceMap",
    "StableNeighbours",
    "align",
    "index_metric",
    "nearly_equal",
    "score_noise",
    "space_map",
    "stable_neighbours",
]
