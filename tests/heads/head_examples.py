"""Heads and affine gauges for several tests."""

from __future__ import annotations

import numpy as np

from embaudit.gauges import Gauge
from embaudit.gauges.draws import random_rotation
from embaudit.model import FactorModel

S = float(np.sqrt(1 - 0.95**2))
SQUARE = FactorModel.from_softmax([[1, 1], [-1, 1], [-1, -1], [1, -1]])
"""Four labels at the corners of a square, in the order of a walk around it."""


def affine_gauge(
    rank: int, seed: int, *, condition: float = 4.0, shift: float = 2.0
) -> Gauge:
    """A translation after a linear gauge whose condition number is `condition`."""
    draw = np.random.default_rng(seed)
    scales = np.geomspace(1, condition, rank) if rank > 1 else np.array([condition])
    linear = Gauge.from_svd(
        random_rotation(rank, draw), scales, random_rotation(rank, draw)
    )
    return Gauge.translation(rank, right=shift * draw.standard_normal(rank)) @ linear


def biased_affine_gauge(rank: int, seed: int) -> Gauge:
    """The same and a shift of the inputs, which the bias of the head absorbs."""
    shift = np.random.default_rng(seed + 1).standard_normal(rank)
    return Gauge.translation(rank, left=shift) @ affine_gauge(rank, seed)


def random_head(
    seed: int, n_labels: int, rank: int, *, bias: bool = False, inputs: int = 0
) -> FactorModel:
    draw = np.random.default_rng(seed)
    return FactorModel.from_softmax(
        draw.standard_normal((n_labels, rank)) + 0.5,
        draw.standard_normal(n_labels) if bias else None,
        embeddings=draw.standard_normal((inputs, rank)) if inputs else None,
    )


def equivalent_head(head: FactorModel, seed: int) -> FactorModel:
    """Make another head with the same probabilities by an affine gauge."""
    make = affine_gauge if head.right_bias is None else biased_affine_gauge
    return make(head.rank, seed).act(head)


def figure_2_left() -> FactorModel:
    """Nielsen's Figure 2, left: centred rows of different lengths."""
    return FactorModel.from_softmax(
        [[1.4, -1], [1.4, 1], [-0.9, 0.3], [-1, 0], [-0.9, -0.3]]
    )


def figure_2_right() -> FactorModel:
    """Nielsen's Figure 2, right: centred rows of length 1."""
    return FactorModel.from_softmax(
        [[0.95, S], [-0.95, S], [-1, 0], [-0.95, -S], [0.95, -S], [1, 0]]
    )


def seven_labels(length_at_90: float = 5.0) -> FactorModel:
    """Version 2 of the paper: seven rows of length 5, one of which may be shortened."""
    angles = np.deg2rad([0, 45, 90, 135, 180, 225, 315])
    lengths = np.array([5, 5, length_at_90, 5, 5, 5, 5])
    return FactorModel.from_softmax(
        lengths[:, None] * np.column_stack([np.cos(angles), np.sin(angles)])
    )
