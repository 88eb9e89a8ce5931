"""Queries, keys and values of one attention head for some inputs of its layer."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import Floats, Indices, as_factors, detached
from embaudit.core.words import drawn_of
from embaudit.errors import InputError, Option, Sentence, must_be
from embaudit.io import load
from embaudit.io.attention import AttentionHead, Projection, require_ordinary
from embaudit.linalg.rows import sample_rows
from embaudit.networks.head_gauges import HeadFreedom, HeadGauge, TableName


@dataclass(frozen=True, eq=False)
class HeadRows:
    """Queries, keys and values of the same inputs, before any rotation."""

    queries: Floats
    """(n, d) queries of the head."""
    shared: Floats
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
    source: str
    """The inputs, in words that follow "on"."""

    def named(self, name: TableName) -> Floats:
        """Return the keys, the queries or the values."""
        tables = {"keys": self.keys, "queries": self.queries, "values": self.values}
        return tables[name]

    def after(self, gauge: HeadGauge) -> dict[TableName, Floats]:
        """Return keys, queries and values of the head after a gauge."""
        return {
            "keys": (self.keys + gauge.key_shift) @ gauge.keys,
            "queries": self.queries @ gauge.queries,
            "values": (self.values + gauge.value_shift) @ gauge.values,
        }


def rows_of_head(
    head: AttentionHead,
    *,
    states: Any = None,
    inputs: Any = None,
    n_rows: int,
    rng: np.random.Generator,
) -> HeadRows:
    """Compute queries, keys and values of a head.

    Parameters
    ----------
    head : AttentionHead
        The head.
    states : path or array of shape (n, D), optional
        States that enter the layer. The norm of the layer is applied to them.
    inputs : path or array of shape (n, D), optional
        Inputs of the projections as they are, after any norm.
    n_rows : int
        Largest number of inputs; a larger number is sampled.
    rng : numpy Generator
        Draws the sample.

    Raises
    ------
    InputError
        If `states` and `inputs` are both given, or have another width than the inputs
        of the layer, or neither is given for a layer that is not the first.
    """
    given, labels, source = _inputs(head, states, inputs, n_rows, rng)
    queries = [_projected(head, part, given) for part in head.queries]
    keys = _projected(head, head.key, given)
    if head.query_norm is not None:
        queries = [head.query_norm.applied(rows) for rows in queries]
    if head.key_norm is not None:
        keys = head.key_norm.applied(keys)
    return HeadRows(
        queries=queries[head.group.index(head.head)],
        shared=np.concatenate(queries),
        keys=keys,
        values=_projected(head, head.value, given),
        outputs=np.concatenate([block.read(head.arrays).T for block in head.outputs]),
        labels=labels,
        source=source,
    )


def _projected(head: AttentionHead, part: Projection, inputs: Floats) -> Floats:
    """Return `X Wᵀ + b`."""
    rows: Floats = inputs @ part.weight.read(head.arrays).T
    if part.bias is not None:
        rows += part.bias.read(head.arrays)
    return rows


def _inputs(
    head: AttentionHead, states: Any, inputs: Any, n_rows: int, rng: np.random.Generator
) -> tuple[Floats, NDArray[Any], str]:
    """Return the inputs of the projections, their labels, and what they are."""
    if states is not None and inputs is not None:
        raise InputError(
            "{} must be left out if {} is given.", Option("states"), Option("inputs")
        )
    if states is None and inputs is None:
        return _tokens(head, n_rows, rng)
    if states is not None:
        name, noun, stored = "states", "state", states
    else:
        name, noun, stored = "inputs", "input", inputs
    rows, labels = _read_rows(stored, name)
    if rows.shape[1] != head.n_inputs:
        raise must_be(
            name,
            f"of {head.n_inputs} columns, the inputs of layer {head.layer}",
            f"{rows.shape[1]} columns",
        )
    kept = sample_rows(len(rows), n_rows, rng)
    given = np.asarray(rows[kept], dtype=np.float64)
    require_ordinary(given, name)
    if states is not None and head.norm is not None:
        given = head.norm.applied(given)
    return given, labels[kept], drawn_of(len(kept), len(rows), noun)


def _read_rows(stored: Any, name: str) -> tuple[Any, NDArray[Any]]:
    """Return vectors of a file or an array, with the label of each."""
    if isinstance(stored, str | os.PathLike):
        side = load(stored, kind="vectors").right_side
        return side.rows, side.labels
    rows = as_factors(detached(stored), name)
    return rows, np.arange(len(rows))


def _tokens(
    head: AttentionHead, n_rows: int, rng: np.random.Generator
) -> tuple[Floats, NDArray[Any], str]:
    """Return the inputs of the first layer for token embeddings."""
    if head.layer > 0:
        raise must_be(
            "states",
            f"given for layer {head.layer}",
            "none",
            Sentence(
                "only layer 0 has token embeddings as inputs; give the states that "
                "enter the layer with {}",
                Option("states", placeholder="FILE"),
            ),
        )
    n_tokens = head.n_tokens
    names = head.token_names
    eligible: Indices = np.arange(n_tokens)
    labels: NDArray[Any] = np.arange(n_tokens)
    if names is not None:
        labels = names.names
        if (~names.aside).sum() > 1:
            eligible = np.flatnonzero(~names.aside)
    kept = sample_rows(eligible, n_rows, rng)
    given = head.embedded_tokens(kept)
    if head.norm is not None:
        given = head.norm.applied(given)
    source = f"{drawn_of(len(kept), len(eligible), 'token')} of the vocabulary"
    if head.family.positions:
        source += ", each at the first position"
    return given, labels[kept], source


def prediction_rows(freedom: HeadFreedom, rows: HeadRows) -> dict[TableName, Floats]:
    """Compute keys, queries and values whose cosines no equivalent head changes.

    The cosine of two keys is the cosine of their columns of scores, with the queries of
    all heads that share the keys, and with the same weight for all distances of
    positions. The average over all angles turns `QᵀQ` into half of its trace in each
    plane. In the columns that no rotation reaches, scores are centred over the keys,
    because the softmax ignores a constant. Queries are compared by their rows of scores
    in the same way. Values are compared by the vectors that they add to the output of
    the layer, `V W_Oᵀ`. They are centred if a bias can absorb a constant.
    """
    free = freedom.free
    centred = np.array(rows.keys)
    centred[:, free] -= centred[:, free].mean(axis=0)
    queries = rows.queries @ _root(_averaged(freedom, centred))
    keys = centred @ _root(_averaged(freedom, rows.shared))
    values = rows.values
    if freedom.has_output_bias:
        values = values - values.mean(axis=0)
    return {
        "keys": keys,
        "queries": queries,
        "values": values @ _root(rows.outputs.T @ rows.outputs),
    }


def _averaged(freedom: HeadFreedom, rows: Floats) -> Floats:
    """Return the Gram matrix of rows, averaged over all rotations of all planes.

    The result is diagonal in the columns of blocks, with the mean square of the columns
    of each block. For a plane, this is the average over its rotations. For a column
    with a gain, products with other columns are left out.
    """
    metric = np.zeros((freedom.width, freedom.width))
    free = freedom.free
    metric[np.ix_(free, free)] = rows[:, free].T @ rows[:, free]
    for block in freedom.blocks:
        metric[block, block] = np.square(rows[:, block]).sum() / len(block)
    return metric / len(rows)


def _root(metric: Floats) -> Floats:
    """Return the symmetric root of a positive semi-definite matrix."""
    values, vectors = np.linalg.eigh(metric)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T)
