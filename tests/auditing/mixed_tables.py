"""Tables whose rows lie in one space or in two, known by construction."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable


def rotation(n_columns: int, rng: np.random.Generator) -> np.ndarray:
    """Draw an orthogonal matrix."""
    return np.linalg.qr(rng.normal(size=(n_columns, n_columns)))[0]


def one_space(
    rng: np.random.Generator,
    n_rows: int = 3000,
    n_columns: int = 64,
    power: float = 0.7,
    mean: float = 0.0,
) -> np.ndarray:
    """Draw normally distributed rows with random principal axes.

    The variances fall by the power law `power`. The mean row is `mean` times as long as
    a typical row.
    """
    spectrum = 1 / np.arange(1, n_columns + 1) ** power
    rows = rng.normal(size=(n_rows, n_columns)) * np.sqrt(spectrum)
    direction = rng.normal(size=n_columns)
    direction *= mean * np.sqrt(spectrum.sum()) / np.linalg.norm(direction)
    return (rows + direction) @ rotation(n_columns, rng)


def mixed(
    rng: np.random.Generator,
    n_rows: int = 1000,
    n_columns: int = 48,
    power: float = 0.7,
    mean: float = 0.0,
) -> np.ndarray:
    """Draw rows of one space, and rotate a contiguous part of them.

    The part has between a fifth and four fifths of the rows.
    """
    rows = one_space(rng, n_rows, n_columns, power, mean)
    size = int(n_rows * rng.uniform(0.2, 0.8))
    start = int(rng.integers(0, n_rows - size + 1))
    part = slice(start, start + size)
    rows[part] = rows[part] @ rotation(n_columns, rng)
    return rows


def drift(
    rng: np.random.Generator, n_rows: int = 3000, n_columns: int = 64
) -> np.ndarray:
    """Draw rows whose spectrum changes slowly from the first row to the last."""
    spectrum = 1 / np.arange(1, n_columns + 1) ** 0.7
    other = rng.permutation(spectrum)
    t = np.linspace(0, 1, n_rows)[:, None]
    scales = np.sqrt((1 - t) * spectrum + t * other)
    return (rng.normal(size=(n_rows, n_columns)) * scales) @ rotation(n_columns, rng)


def complementing(
    rng: np.random.Generator, n_rows: int = 2000, n_columns: int = 48
) -> np.ndarray:
    """Draw two halves with equal principal axes and an alignment of moments of 1.

    The axes of largest variance of the second half are the first and the last axes of
    the first half. With spectra a and b, the alignment of the moments is 1 because
    Σ (a_i − mean a)(b_i − mean b) is 0.
    """
    spectrum = 1 / np.arange(1, n_columns + 1) ** 0.7
    excess = spectrum - spectrum.mean()
    against = -float(excess @ excess[::-1]) / float(excess @ excess)
    weight = against / (1 + against)
    other = weight * spectrum + (1 - weight) * spectrum[::-1]
    rows = rng.normal(size=(n_rows, n_columns))
    rows[: n_rows // 2] *= np.sqrt(spectrum)
    rows[n_rows // 2 :] *= np.sqrt(other)
    return rows @ rotation(n_columns, rng)


def duplicates(rng: np.random.Generator) -> np.ndarray:
    """Draw rows with two blocks of 300 rows that hold 10 and 3 distinct rows."""
    rows = one_space(rng)
    rows[300:600] = rows[300:310][np.arange(300) % 10]
    rows[1500:1800] = rows[1500:1503][np.arange(300) % 3]
    return rows


def topics(
    rng: np.random.Generator,
    n_topics: int = 10,
    n_rows: int = 3000,
    n_columns: int = 64,
    width: int = 8,
    shared: float = 0.2,
    mean: float = 0.5,
) -> np.ndarray:
    """Draw rows that are sorted by topic.

    Each topic has its own subspace and its own centre. All topics also have one
    subspace and one mean row in common.
    """
    common = rotation(n_columns, rng)[:, :width]
    direction = rng.normal(size=n_columns)
    direction *= mean / np.linalg.norm(direction)
    parts = []
    for _ in range(n_topics):
        own = rotation(n_columns, rng)[:, :width]
        centre = rng.normal(size=n_columns)
        centre *= mean / np.linalg.norm(centre)
        size = n_rows // n_topics
        private = rng.normal(size=(size, width)) @ own.T / np.sqrt(width)
        joint = rng.normal(size=(size, width)) @ common.T / np.sqrt(width)
        rows = np.sqrt(1 - shared) * private + np.sqrt(shared) * joint
        parts.append(rows + centre + direction)
    return np.vstack(parts)


MIXED: dict[str, Callable[[np.random.Generator], np.ndarray]] = {
    "two spaces": mixed,
    "two spaces with a mean direction": lambda rng: mixed(rng, 4000, 64, 0.7, 1.0),
    "two spaces with a steep spectrum": lambda rng: mixed(rng, 1000, 48, 1.2),
    "two spaces of 128 dimensions": lambda rng: mixed(rng, 8000, 128),
}
ONE_SPACE: dict[str, Callable[[np.random.Generator], np.ndarray]] = {
    "one space": one_space,
    "drift": drift,
    "parts that complement each other": complementing,
    "duplicates": duplicates,
    "topics with a shared mean": topics,
}
