"""Inputs of an attention head: given states, given inputs, or the token embeddings.

The *states* enter the layer. The *inputs* enter the projections of its heads: they are
the states after the norm before the attention, if the layer has one there.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import Floats, Indices, as_factors, detached
from embaudit.core.words import drawn_of
from embaudit.errors import InputError, Option, Sentence, must_be
from embaudit.io import load
from embaudit.io.attention import AttentionHead, require_ordinary
from embaudit.linalg.rows import sample_rows


@dataclass(frozen=True, eq=False)
class HeadInputs:
    """Inputs of the projections of a head."""

    rows: Floats
    """(n, D)"""
    labels: NDArray[Any]
    """(n,) tokens, ids or numbers."""
    description: str
    """Their number and kind, such as "9 of 17 states"."""


def draw_inputs(
    head: AttentionHead,
    *,
    states: Any = None,
    inputs: Any = None,
    n_rows: int,
    rng: np.random.Generator,
) -> HeadInputs:
    """Draw inputs of a head from states or inputs, or else from its token embeddings.

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
    if states is not None and inputs is not None:
        raise InputError(
            "{} must be omitted if {} is given.", Option("states"), Option("inputs")
        )
    if states is not None:
        sample = _sampled_rows(head, states, "state", n_rows, rng)
        rows = _normalised(head, sample.rows)
        return HeadInputs(rows, sample.labels, sample.description)
    if inputs is not None:
        return _sampled_rows(head, inputs, "input", n_rows, rng)
    return _sampled_tokens(head, n_rows, rng)


def _sampled_rows(
    head: AttentionHead, stored: Any, noun: str, n_rows: int, rng: np.random.Generator
) -> HeadInputs:
    """Draw rows of a file or an array.

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
    sample = sample_rows(len(rows), n_rows, rng)
    sampled = np.asarray(rows[sample], dtype=np.float64)
    require_ordinary(sampled, option)
    description = drawn_of(len(sample), len(rows), noun)
    return HeadInputs(sampled, labels[sample], description)


def _read_rows(stored: Any, name: str) -> tuple[Any, NDArray[Any]]:
    """Return vectors of a file or an array, with the label of each."""
    if isinstance(stored, str | os.PathLike):
        side = load(stored, kind="vectors").right_side
        return side.rows, side.labels
    rows = as_factors(detached(stored), name)
    return rows, np.arange(len(rows))


def _sampled_tokens(
    head: AttentionHead, n_rows: int, rng: np.random.Generator
) -> HeadInputs:
    """Draw token embeddings, and compute the inputs of the first layer from them.

    Raises
    ------
    InputError
        If the head is in another layer, because its inputs depend on a text.
    """
    if head.layer > 0:
        raise must_be(
            "states",
            f"given for layer {head.layer}",
            "None",
            Sentence(
                "only layer 0 has token embeddings as inputs; pass the states that "
                "enter the layer with {}",
                Option("states", placeholder="FILE"),
            ),
        )
    tokens, labels = _ordinary_tokens(head)
    sample = sample_rows(tokens, n_rows, rng)
    description = f"{drawn_of(len(sample), len(tokens), 'token')} of the vocabulary"
    if head.family.positions:
        description += ", each at the first position"
    rows = _normalised(head, head.embedded_tokens(sample))
    return HeadInputs(rows, labels[sample], description)


def _ordinary_tokens(head: AttentionHead) -> tuple[Indices, NDArray[Any]]:
    """Return the numbers of the tokens to draw from, and the labels of all tokens.

    Special tokens and padding are not drawn, unless at most one token would be left.
    Tokens without a vocabulary are labelled by their numbers.
    """
    tokens: Indices = np.arange(head.n_tokens)
    names = head.token_names
    if names is None:
        return tokens, tokens
    ordinary = np.flatnonzero(~names.aside)
    if len(ordinary) > 1:
        tokens = ordinary
    return tokens, names.names


def _normalised(head: AttentionHead, states: Floats) -> Floats:
    """Apply the norm before the attention to states, if the layer has one there."""
    if head.norm is None:
        return states
    return head.norm.applied(states)
