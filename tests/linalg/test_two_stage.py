"""The search in float32 with a proven bound finds what the one in float64 finds, ties by row included."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from embaudit.linalg import nearest
from embaudit.linalg.nearest import neighbours
from embaudit.linalg.rows import unit_rows
from embaudit.linalg.transformed_rows import TransformedRows


def rows_of(kind, draw, p=400, k=6):
    x = draw.standard_normal((p, k))
    if kind == "twins":
        x[100:200] = x[:100] * draw.uniform(0.5, 2, (100, 1))
    if kind == "zero rows":
        x[::3] = 0
    if kind == "huge and tiny":
        x *= 10.0 ** draw.integers(-30, 30, (p, 1))
    if kind == "beyond float32":
        x *= 10.0 ** draw.choice([-60, 0, 60], (p, 1))
    if kind == "one cluster":
        x = x * 1e-5 + draw.standard_normal(k)
    return x


KINDS = ["plain", "twins", "zero rows", "huge and tiny", "one cluster"]
STORED = [(kind, dtype) for kind in KINDS for dtype in (np.float32, np.float64)] + [
    ("beyond float32", np.float64)
]


@pytest.mark.parametrize(("kind", "dtype"), STORED)
@pytest.mark.parametrize(
    "how", ["as stored", "stretched", "shifted", "first of its twins"]
)
def test_lists_are_those_of_float64(monkeypatch, kind, dtype, how):
    draw = np.random.default_rng(5)
    x = rows_of(kind, draw).astype(dtype)
    first = None
    if how in ("stretched", "shifted"):
        shift = np.zeros(6) if how == "stretched" else draw.standard_normal(6)
        x = TransformedRows(x, draw.standard_normal((6, 6)), shift)
    elif how != "as stored":
        first = np.where(
            (np.arange(400) >= 100) & (np.arange(400) < 200),
            np.arange(400) - 100,
            np.arange(400),
        )
    rows = np.sort(draw.choice(400, 30, replace=False))
    monkeypatch.setattr(nearest, "MANY", 1_000)
    plain = neighbours(x, 5, rows=rows, first=first)
    monkeypatch.setattr(nearest, "MANY", 1)
    monkeypatch.setattr(nearest, "MAX_SINGLE_BLOCK", 64)
    quick = neighbours(x, 5, rows=rows, first=first)
    np.testing.assert_allclose(quick.cosines, plain.cosines, atol=1e-12)
    np.testing.assert_allclose(quick.runner_up, plain.runner_up, atol=1e-12)
    apart = (
        np.abs(np.diff(np.column_stack([plain.cosines, plain.runner_up]), axis=1))
        > 1e-12
    )
    sure = apart & np.column_stack([np.ones(len(rows), dtype=bool), apart[:, :-1]])
    assert (quick.indices == plain.indices)[sure].all()


def test_ties_are_in_order_of_rows(monkeypatch):
    monkeypatch.setattr(nearest, "MANY", 1)
    x = np.tile(np.array([[1.0, 2.0, 3.0], [3.0, 1.0, 2.0]]), (40, 1))
    assert neighbours(x, 4, rows=[6, 7]).indices.tolist() == [
        [0, 2, 4, 8],
        [1, 3, 5, 9],
    ]


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    k=st.integers(1, 40),
    power=st.floats(0, 6),
    shift=st.floats(0, 30),
)
def test_no_cosine_exceeds_its_bound(seed, k, power, shift):
    draw = np.random.default_rng(seed)
    x = draw.standard_normal((60, k)).astype(np.float32)
    seen = TransformedRows(
        x,
        draw.standard_normal((k, k)) * 10.0 ** draw.uniform(-power, 0, k),
        shift * draw.standard_normal(k),
    )
    queries = unit_rows(seen[np.arange(8)])
    rows, inverse, slack = nearest._inverse_lengths(seen, slice(0, 60))
    found = (queries.astype(np.float32) @ rows.T) * inverse
    exact = queries @ unit_rows(seen).T
    assert (np.abs(found - exact) <= slack).all()
