"""The search among 31,000 rows finds every neighbour, for rows of all kinds."""

import numpy as np
import pytest

from embaudit.linalg.mapped import multiplied_rows, shifted_rows
from embaudit.linalg.nearest import neighbours
from embaudit.linalg.rows import unit_rows

N = 31_000


def rows_of(kind, draw, k=6):
    x = draw.standard_normal((N, k))
    if kind == "twins":
        x[100:200] = x[:100] * draw.uniform(0.5, 2, (100, 1))
    if kind == "zero rows":
        x[::3] = 0
    if kind == "huge and tiny":
        x *= 10.0 ** draw.integers(-30, 30, (N, 1))
    if kind == "beyond float32":
        x *= 10.0 ** draw.choice([-60, 0, 60], (N, 1))
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
def test_the_lists_are_those_of_all_cosines_in_float64(kind, dtype, how):
    draw = np.random.default_rng(5)
    x = rows_of(kind, draw).astype(dtype)
    seen, first = x, np.arange(N)
    if how == "first of its twins":
        first[100:200] -= 100
    elif how != "as stored":
        shift = np.zeros(6) if how == "stretched" else draw.standard_normal(6)
        seen = shifted_rows(multiplied_rows(x, draw.standard_normal((6, 6))), shift)
    rows = np.append(np.arange(0, 200, 9), draw.choice(np.arange(200, N), 10))
    rows = rows[np.asarray(seen[rows]).any(axis=1)]
    chosen = first if how == "first of its twins" else None
    found = neighbours(seen, 5, rows=rows, first=chosen)

    unit = unit_rows(np.asarray(seen[:], dtype=np.float64))
    cosines = np.nan_to_num(unit[rows] @ unit.T, nan=-np.inf)
    cosines[:, first != np.arange(N)] = -np.inf
    cosines[first[rows][:, None] == first] = -np.inf
    order = np.argsort(-cosines, axis=1, kind="stable")[:, :6]
    best = np.take_along_axis(cosines, order, axis=1)
    np.testing.assert_allclose(found.cosines, best[:, :5], atol=1e-12)
    np.testing.assert_allclose(found.runner_up, best[:, 5], atol=1e-12)
    # A place is certain where its cosine differs from those before and behind it.
    apart = np.abs(np.diff(best, axis=1)) > 1e-12
    certain = apart & np.column_stack([np.ones(len(rows), dtype=bool), apart[:, :-1]])
    assert certain.any()
    assert (found.indices == order[:, :5])[certain].all()


def test_equal_cosines_are_listed_in_order_of_rows():
    x = np.tile(np.array([[1.0, 2.0, 3.0], [3.0, 1.0, 2.0]]), (N // 2, 1))
    assert neighbours(x, 4, rows=[6, 7]).indices.tolist() == [
        [0, 2, 4, 8],
        [1, 3, 5, 9],
    ]
