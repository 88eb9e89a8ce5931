"""Serving: what an index, another model, noise or queries do to served lists."""

from embaudit.serving.align import Alignment, align, with_mixable_lists
from embaudit.serving.copies import CopyComparison, StoredCopy, compare_copies
from embaudit.serving.index_metric import IndexMetric, ServedLists, index_metric
from embaudit.serving.nearly_equal import NearlyEqual, nearly_equal, score_noise
from embaudit.serving.queries import QueryReach, query_reach
from embaudit.serving.runs import StableNeighbours, stable_neighbours
from embaudit.serving.space_map import SpaceMap, space_map
from embaudit.serving.threshold import threshold
from embaudit.serving.threshold_result import Threshold

__all__ = [
    "Alignment",
    "CopyComparison",
    "IndexMetric",
    "NearlyEqual",
    "QueryReach",
    "ServedLists",
    "SpaceMap",
    "StableNeighbours",
    "StoredCopy",
    "Threshold",
    "align",
    "compare_copies",
    "index_metric",
    "nearly_equal",
    "query_reach",
    "score_noise",
    "space_map",
    "stable_neighbours",
    "threshold",
    "with_mixable_lists",
]
