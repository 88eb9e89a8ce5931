"""Queries, keys and values of one attention head for some inputs of its layer."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
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
    source: str
    """The inputs, in words that follow "on"."""

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


@dataclass(frozen=True, eq=False)
class _Inputs:
    """Inputs of the projections of a head."""

    rows: Floats
    """(n, D)"""
    labels: NDArray[Any]
    """(n,) tokens, ids or numbers."""
    source: str
    """Their number and kind, such as "9 of 17 states"."""


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
    found = _inputs(head, states, inputs, n_rows, rng)
    queries = [_projected(head, part, found.rows) for part in head.queries]
    keys = _projected(head, head.key, found.rows)
    if head.query_norm is not None:
        queries = [head.query_norm.applied(rows) for rows in queries]
    if head.key_norm is not None:
        keys = head.key_norm.applied(keys)
    return HeadRows(
        queries=queries[head.group.index(head.head)],
        group_queries=np.concatenate(queries),
        keys=keys,
        values=_projected(head, head.value, found.rows),
        outputs=np.concatenate([block.read(head.arrays).T for block in head.outputs]),
        labels=found.labels,
        source=found.source,
    )


def _projected(head: AttentionHead, part: Projection, inputs: Floats) -> Floats:
    """Return `X Wᵀ + b`."""
    rows: Floats = inputs @ part.weight.read(head.arrays).T
    if part.bias is not None:
        rows += part.bias.read(head.arrays)
    return rows


def _inputs(
    head: AttentionHead, states: Any, inputs: Any, n_rows: int, rng: np.random.Generator
) -> _Inputs:
    """Return a sample of the states or inputs, or of the tokens if neither is given."""
    if states is not None and inputs is not None:
        raise InputError(
            "{} must be omitted if {} is given.", Option("states"), Option("inputs")
        )
    if states is not None:
        sample = _sampled(head, states, "state", n_rows, rng)
        return replace(sample, rows=_normalised(head, sample.rows))
    if inputs is not None:
        return _sampled(head, inputs, "input", n_rows, rng)
    return _tokens(head, n_rows, rng)


def _sampled(
    head: AttentionHead, stored: Any, noun: str, n_rows: int, rng: np.random.Generator
) -> _Inputs:
    """Return a sample of the rows of a file or an array.

    Raises
    ------
    InputError
        If the rows have another width than the inputs of the layer.
    """
    option = f"{noun}s"
    rows, labels = _read_rows(stored, option)
    if rows.shape[1] != head.n_inputs:
        raise must_be(
            option,
            f"of {head.n_inputs} columns, the inputs of layer {head.layer}",
            f"{rows.shape[1]} columns",
        )
    kept = sample_rows(len(rows), n_rows, rng)
    sample = np.asarray(rows[kept], dtype=np.float64)
    require_ordinary(sample, option)
    return _Inputs(sample, labels[kept], drawn_of(len(kept), len(rows), noun))


def _normalised(head: AttentionHead, states: Floats) -> Floats:
    """Apply the norm of the layer to states, if the layer has one before the head."""
    if head.norm is None:
        return states
    return head.norm.applied(states)


def _read_rows(stored: Any, name: str) -> tuple[Any, NDArray[Any]]:
    """Return vectors of a file or an array, with the label of each."""
    if isinstance(stored, str | os.PathLike):
        side = load(stored, kind="vectors").right_side
        return side.rows, side.labels
    rows = as_factors(detached(stored), name)
    return rows, np.arange(len(rows))


def _tokens(head: AttentionHead, n_rows: int, rng: np.random.Generator) -> _Inputs:
    """Return the inputs of the first layer for a sample of the token embeddings.

    Raises
    ------
    InputError
        If the head is in another layer, because its inputs depend on a text.
    """
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
    eligible: Indices = np.arange(head.n_tokens)
    labels: NDArray[Any] = np.arange(head.n_tokens)
    names = head.token_names
    if names is not None:
        labels = names.names
        # Special tokens and padding are set aside, unless hardly a token would be left.
        ordinary = np.flatnonzero(~names.aside)
        if len(ordinary) > 1:
            eligible = ordinary
    kept = sample_rows(eligible, n_rows, rng)
    source = f"{drawn_of(len(kept), len(eligible), 'token')} of the vocabulary"
    if head.family.positions:
        source += ", each at the first position"
    rows = _normalised(head, head.embedded_tokens(kept))
    return _Inputs(rows, labels[kept], source)


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
    keys = centred @ _root(_averaged(freedom, rows.group_queries))
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
