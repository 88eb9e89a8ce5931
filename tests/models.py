"""Random models and settings that are small enough for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from embaudit.model import FactorModel
from embaudit.reproduce import NetflixSetting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, DTypeLike

ARRAY_FIELDS = (
    "left",
    "right",
    "left_bias",
    "right_bias",
    "left_ids",
    "right_ids",
    "left_names",
    "right_names",
    "left_counts",
    "right_counts",
)
"""The fields of a model that hold arrays; all but `right` can be None."""

TINY = NetflixSetting(800, 80, rank=10, alpha_product=200.0, alpha_factors=14.0)
"""The Netflix figure on little data."""


def random_model(
    seed: int = 0,
    *,
    n: int | None = 40,
    p: int = 30,
    k: int = 5,
    scales: tuple[ArrayLike, ArrayLike] = (1.0, 1.0),
    means: tuple[ArrayLike, ArrayLike] = (0.0, 0.0),
    biases: Sequence[str] = (),
    dtype: DTypeLike = np.float64,
    **fields: object,
) -> FactorModel:
    """Draw Gaussian rows, `scale · z + mean` on each side, then the biases named; other
    fields are as given.

    There are `n` left rows, or no left side where `n` is None, and `p` right ones of
    `k` columns.
    """
    draw = np.random.default_rng(seed)
    left, right = (
        None
        if rows is None
        else (draw.standard_normal((rows, k)) * scale + mean).astype(dtype)
        for rows, scale, mean in zip((n, p), scales, means, strict=True)
    )
    sizes = {"left_bias": n, "right_bias": p}
    drawn = {name: draw.standard_normal(sizes[name]) for name in biases}
    return FactorModel.from_arrays(left=left, right=right, **drawn, **fields)


def one_sided_vectors():
    """Draw vectors of one side that differ in lengths, columns or mean row.

    Their rows have length 1, or their columns are orthonormal, or their mean row
    is 0.8 times as long as a typical row.
    """
    rows = np.random.default_rng(0).standard_normal((300, 16))
    stretched = rows * np.linspace(3, 0.5, 16)
    mean = np.random.default_rng(1).standard_normal(16)
    mean *= 0.8 / 0.6 * 4 / np.linalg.norm(mean)
    return {
        "normalised": stretched / np.linalg.norm(stretched, axis=1, keepdims=True),
        "orthonormal": np.linalg.qr(stretched)[0],
        "common-mean": rows - rows.mean(axis=0) + mean,
    }
