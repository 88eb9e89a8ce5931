"""Small random models of all links and patterns of biases, and degenerate models."""

from __future__ import annotations

import numpy as np

from embaudit.model import FactorModel, softmax_link

LINKS = (
    "identity",
    "sigmoid",
    "softmax",
    softmax_link(soft_cap=3.0),
    softmax_link(unit_rows=True),
    softmax_link(soft_cap=3.0, unit_rows=True),
    "cosine",
    "ranking",
)
BIASES = ((), ("left_bias",), ("right_bias",), ("left_bias", "right_bias"))


def _plain(x, draw):
    return x


def _alike(x, draw):
    return np.repeat(x[:1], len(x), axis=0)


def _twins(x, draw):
    x[1] = x[0]
    return x


def _parallel(x, draw):
    return draw.standard_normal((len(x), 1)) * x[0]


def _zero_row(x, draw):
    x[-1] = 0
    return x


def _nothing(x, draw):
    return np.zeros_like(x)


def _constant_column(x, draw):
    x[:, 0] = 2
    return x


def _no_column(x, draw):
    x[:, -1] = 0
    return x


def _axes(x, draw):
    axes = np.vstack([np.eye(x.shape[1]), -np.eye(x.shape[1])])
    return axes[np.arange(len(x)) % len(axes)]


def _on_a_plane(x, draw):
    x[:, 0] = np.abs(x[0, 0])
    return (
        x / np.linalg.norm(x[:, 1:], axis=1, keepdims=True).clip(1e-3)
        if x.shape[1] > 1
        else x
    )


SHAPES = (
    *[_plain] * 8,
    _alike,
    _twins,
    _parallel,
    _zero_row,
    _nothing,
    _constant_column,
    _no_column,
    _axes,
    _on_a_plane,
)


def random_model(number: int) -> FactorModel:
    """Draw the model of a number."""
    draw = np.random.default_rng([2026, number])
    link = LINKS[number % len(LINKS)]
    given = BIASES[number // len(LINKS) % len(BIASES)]
    k, sizes = int(draw.integers(1, 4)), [int(n) for n in draw.integers(2, 7, size=2)]
    sides = [
        SHAPES[draw.integers(len(SHAPES))](draw.standard_normal((n, k)), draw)
        for n in sizes
    ]
    if (
        not isinstance(link, str) or link == "cosine"
    ):  # rows of no length have no direction to be divided by
        sides = [x if x.any() else draw.standard_normal(x.shape) for x in sides]
    biases = {name: draw.standard_normal(sizes[name == "right_bias"]) for name in given}
    alone = (
        not given
        and str(link) in ("identity", "sigmoid", "softmax")
        and draw.random() < 0.3
    )
    # Every second model of cosines divides them by a temperature.
    is_odd = number // (len(LINKS) * len(BIASES)) % 2 == 1
    objective = "temperature" if link == "cosine" and is_odd else None
    left = None if alone else sides[0]
    return FactorModel.from_arrays(
        left, sides[1], link=link, objective=objective, **biases
    )
