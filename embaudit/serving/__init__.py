"""Serving: what an index, a retrained model or another run does to served lists."""

from embaudit.serving.align import Alignment, align
from embaudit.serving.index_metric import IndexMetric, ServedLists, index_metric

__all__ = ["Alignment", "IndexMetric", "ServedLists", "align", "index_metric"]
