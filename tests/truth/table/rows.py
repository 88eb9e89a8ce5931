"""Rows of the models of the truth table."""

from __future__ import annotations

import numpy as np


def drawn(n: int, k: int, seed: int = 0) -> np.ndarray:
    """Return n random rows of k columns, which are in general position."""
    return np.random.default_rng(seed).standard_normal((n, k))


def centred(n: int, k: int, seed: int = 0) -> np.ndarray:
    """Return random rows whose mean row is 0."""
    x = drawn(n, k, seed)
    return x - x.mean(axis=0)


def orthonormal(n: int, k: int, seed: int = 0) -> np.ndarray:
    """Return random rows with orthonormal columns."""
    return np.linalg.qr(drawn(n, k, seed))[0]


def unit(rows: np.ndarray) -> np.ndarray:
    """Divide rows by their lengths."""
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)
