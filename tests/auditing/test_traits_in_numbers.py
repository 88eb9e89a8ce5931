"""Traits number by number: each bound from both sides, and what is drawn, against computations of their own."""

from __future__ import annotations

import numpy as np
import pytest

from embaudit.auditing.traits import ALIKE, traits_of
from embaudit.model import FactorModel


def of(rows, role="right", **given):
    model = rows if isinstance(rows, FactorModel) else FactorModel.from_vectors(rows)
    return traits_of(model, role, rng=np.random.default_rng(0), **given)


def spread(s, scale=1.0):
    """Five rows with these singular values, of columns that are equally long."""
    k = len(s)
    turn = np.array([[1, 1], [1, -1]]) / np.sqrt(2) if k == 2 else np.linalg.qr(np.vander(np.arange(1.0, k + 1)))[0]
    left = np.linalg.qr(np.random.default_rng(0).standard_normal((5, k)))[0]
    return scale * left @ np.diag(s) @ turn.T


@pytest.mark.parametrize("scale", [0.01, 1.0, 100.0])
def test_columns_are_orthonormal_but_for_a_scale_within_a_thousandth(scale):
    inside, outside = 1 - 0.9995 * ALIKE, 1 - 1.0005 * ALIKE
    assert of(spread([1.0, inside], scale)).orthonormal is True
    assert of(spread([1.0, outside], scale)).orthonormal is False
    assert of(spread([1.0, 1.0, 1.0], scale)).orthonormal is True
    # Columns that are not equally long, and none that could be told by its length.
    assert of(spread([1.0, 1.0], scale) * [1, 1.1]).orthonormal is False
    assert of(spread([1.0, 1.0], scale) * [1, 1 - 0.5 * ALIKE]).orthonormal is True
    circle = np.exp(2j * np.pi * np.arange(6) / 6)
    flat = np.column_stack([np.ones(6), circle.real, circle.imag]) * scale
    assert of(flat * [1, np.sqrt(2), np.sqrt(2)]).orthonormal is True
    # Two of three directions are alike, the third is shorter; columns are equally long.
    assert of(flat * [0.9, np.sqrt(2), np.sqrt(2)] @ np.linalg.qr(np.vander([1.0, 2.0, 4.0]))[0]).orthonormal is False
    assert of(np.eye(3) * scale).orthonormal is False  # no more rows than columns
    assert of(np.vstack([np.eye(3), np.zeros((1, 3))]) * scale).orthonormal is True
