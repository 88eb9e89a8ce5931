"""Metrics of indexes, under one name for all stores."""

from __future__ import annotations

from collections.abc import Mapping

from embaudit.io.intake import NOT_STATED, Metric

METRICS: Mapping[str, str] = {
    "cosine": "cosine",
    "cosinesim": "cosine",
    "dot": "dot",
    "dotproduct": "dot",
    "innerproduct": "dot",
    "ip": "dot",
    "euclid": "l2",
    "euclidean": "l2",
    "l2": "l2",
    "l2sq": "l2",
    "manhattan": "l1",
    "taxicab": "l1",
}
"""The one name of each metric, by the names that stores give it, in lower case and
without blanks or underscores.
"""


def metric_named(name: str) -> str:
    """Return the one name of a metric. An unknown name is returned in lower case.

    Examples
    --------
    >>> metric_named("Cosine"), metric_named("inner_product"), metric_named("l1")
    ('cosine', 'dot', 'l1')
    """
    key = name.lower().replace("_", "").replace(" ", "")
    return METRICS.get(key, name.lower())


def metric_of_indexes(metrics: Mapping[str, str]) -> Metric | None:
    """Return the metric of a column of vectors, which its indexes state.

    Parameters
    ----------
    metrics : mapping of str to str
        Metric of each index, by the name of the index.

    Returns
    -------
    Metric or None
        The source of the metric is the first index. If the indexes differ, the metric
        is not stated. None if the column has no index.

    Examples
    --------
    >>> print(metric_of_indexes({"by_id": "cosine", "by_year": "cosine"}))
    cosine, as the index by_id says
    >>> print(metric_of_indexes({"by_id": "cosine", "by_year": "dot"}))
    not stated: its indexes differ (by_id cosine, by_year dot)
    >>> metric_of_indexes({}) is None
    True
    """
    if not metrics:
        return None
    if len(set(metrics.values())) > 1:
        listing = ", ".join(f"{name} {metric}" for name, metric in metrics.items())
        return Metric(NOT_STATED, f"its indexes differ ({listing})")
    first_index, metric = next(iter(metrics.items()))
    return Metric(metric, f"the index {first_index}")
