"""Random models with nearly vanishing directions, in every storage type."""

from __future__ import annotations

import numpy as np
from truth.random_models import BIASES

from embaudit.model import FactorModel

LINKS = ("identity", "softmax", "cosine", "ranking")
STORAGE = (np.float16, np.float32, np.float64)


def _rows(draw, n, spectrum, turn, *, unit):
    """Draw n rows with these lengths of their axes: plain, with copies, short of a
    column, or far from the origin.
    """
    k = len(spectrum)
    x = draw.standard_normal((n, k)) * spectrum @ turn
    shape = draw.integers(6)
    if shape == 0:
        x = x[draw.integers(max(1, n // 3), size=n)]
    if shape == 1:
        x[:, draw.integers(k)] = 0
    if shape == 2:
        x += draw.standard_normal(k) * 10.0 ** draw.integers(4)
    return (
        x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-300) if unit else x
    )


def collapsed_model(seed: int) -> FactorModel:
    """Draw a model: its link, biases, storage, one side or two, and spectra that fall
    to 1e-12 at once or gradually.
    """
    draw = np.random.default_rng(seed)
    low, high = (
        ([60, 60, 10], [250, 250, 24])
        if draw.random() < 0.25
        else ([4, 4, 2], [40, 40, 9])
    )
    n, p, k = (int(size) for size in draw.integers(low, high))
    held, least, unit = (
        int(draw.integers(1, min(k, 6))),
        10.0 ** -draw.uniform(0, 12),
        draw.random() < 0.5,
    )
    spectra = (
        np.where(np.arange(k) < held, 1.0, least),
        np.geomspace(1, least, k),
        np.ones(k),
    )
    turns = [np.linalg.qr(draw.standard_normal((k, k)))[0] for _ in range(2)]
    # Both sides collapse in the same directions, or each in its own.
    alike, shapes = draw.random() < 0.6, draw.choice(3, size=2, p=[0.6, 0.3, 0.1])
    sides = [
        _rows(
            draw, size, spectra[shapes[i]], turns[0 if alike else i], unit=unit
        ).astype(STORAGE[draw.integers(3)])
        for i, size in enumerate((n, p))
    ]
    link, given = LINKS[draw.integers(4)], BIASES[draw.integers(4)]
    biases = {
        name: draw.standard_normal(len(sides[name == "right_bias"])) for name in given
    }
    alone = "left_bias" not in biases and draw.random() < 0.15
    return FactorModel.from_arrays(
        None if alone else sides[0], sides[1], link=link, **biases
    )


def collapsed_towers(
    collapse: float, *, dtype=np.float32, link="identity"
) -> FactorModel:
    """Return two towers of 200 unit rows in four dimensions, and in twelve more as far
    as training left them.
    """
    draw = np.random.default_rng(1)
    lengths = np.append(np.linspace(1.3, 0.8, 4), np.full(12, collapse))
    turn = np.linalg.qr(draw.standard_normal((16, 16)))[0]
    sides = [draw.standard_normal((200, 16)) * lengths @ turn for _ in range(2)]
    return FactorModel.from_arrays(
        *[(x / np.linalg.norm(x, axis=1, keepdims=True)).astype(dtype) for x in sides],
        link=link,
    )
