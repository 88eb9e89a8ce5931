"""Queries, keys and values of one attention head for some inputs of its layer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import Floats
from embaudit.io.attention import AttentionHead, Projection
from embaudit.networks.head_gauges import HeadGauge, TableName
from embaudit.networks.head_inputs import HeadInputs


@dataclass(frozen=True, eq=False)
class HeadRows:
    """Queries, keys and values of the same inputs, before any rotation."""

    queries: Floats
    """(n, d) queries of the head."""
    group_queries: Floats
    """(m, d) queries of all heads that share the keys, including this head."""
    keys: Floats
    """(n, d) keys."""
    values: Floats
    """(n, d) values."""
    outputs: Floats
    """(D, d) output projections that follow the values; D counts the outputs of all
    heads that share them."""
    labels: NDArray[Any] = field(repr=False)
    """(n,) tokens, ids or numbers of the inputs."""
    description: str
    """Number and kind of the inputs, in words that follow "on"."""

    def table(self, name: TableName) -> Floats:
        """Return the keys, the queries or the values."""
        tables = {"keys": self.keys, "queries": self.queries, "values": self.values}
        return tables[name]

    def gauged(self, gauge: HeadGauge) -> dict[TableName, Floats]:
        """Return keys, queries and values of the head after a gauge."""
        return {
            "keys": (self.keys + gauge.key_shift) @ gauge.keys,
            "queries": self.queries @ gauge.queries,
            "values": (self.values + gauge.value_shift) @ gauge.values,
        }


def project_inputs(head: AttentionHead, inputs: HeadInputs) -> HeadRows:
    """Compute queries, keys and values of a head.

    Queries and keys are those after their norms, if the head has norms. The queries of
    all heads that share the keys are computed, too.
    """
    queries = [_projected(head, part, inputs.rows) for part in head.queries]
    keys = _projected(head, head.key, inputs.rows)
    if head.query_norm is not None:
        queries = [head.query_norm.applied(rows) for rows in queries]
    if head.key_norm is not None:
        keys = head.key_norm.applied(keys)
    return HeadRows(
        queries=queries[head.group.index(head.head)],
        group_queries=np.concatenate(queries),
        keys=keys,
        values=_projected(head, head.value, inputs.rows),
        outputs=np.concatenate([block.read(head.arrays).T for block in head.outputs]),
        labels=inputs.labels,
        description=inputs.description,
    )


def _projected(head: AttentionHead, projection: Projection, inputs: Floats) -> Floats:
    """Return `X Wᵀ + b` for the inputs X."""
    rows: Floats = inputs @ projection.weight.read(head.arrays).T
    if projection.bias is not None:
        rows += projection.bias.read(head.arrays)
    return rows
