"""No gauge of a set takes a cosine out of its range, and witnesses reach both ends."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from range_ends import defined_ends

from embaudit.errors import EquivalenceError, InputError
from embaudit.gauges import (
    Affine,
    Diagonal,
    Gauge,
    GaugeGroup,
    GeneralLinear,
    Orthogonal,
    Translation,
)
from embaudit.gauges.constraint import Constraint
from embaudit.model import FactorModel
from embaudit.ranges import condition_to_reach, cosine_range
from embaudit.ranges.cosine_range import range_solver_for
from embaudit.ranges.half_angle import cosine_of

BULK = {1: 20_000, 2: 60_000, 3: 60_000, 4: 40_000, 8: 15_000, 32: 1_000}
SIZES = [
    pytest.param(k, marks=pytest.mark.slow) if k in (1, 4, 32) else k for k in BULK
]
KINDS = ("normal", "positive", "integer", "sparse", "twins")
ROLES = ("left", "right", "cross")


def rows(draw: np.random.Generator, shape: tuple[int, int], kind: str) -> np.ndarray:
    """Draw rows of one pattern of signs, zeros and ties.

    Every second of the "twins" is nearly parallel to the row before it.
    """
    x = draw.normal(size=shape)
    if kind in ("positive", "sparse"):
        x = np.abs(x)
    if kind == "integer":
        x = np.round(x)
    if kind == "sparse":
        x[draw.random(shape) < 0.3] = 0
    if kind == "twins":
        half = shape[0] // 2
        x[1 : 2 * half : 2] = 1.7 * x[: 2 * half : 2] + 1e-5 * draw.normal(
            size=(half, shape[1])
        )
    return x


def model_of(draw: np.random.Generator, n: int, k: int, kind: str) -> FactorModel:
    """Make a softmax model whose free biases absorb every translation."""
    return FactorModel.from_arrays(
        left=rows(draw, (n, k), kind),
        right=rows(draw, (n, k), kind),
        left_bias=np.zeros(n),
        right_bias=np.zeros(n),
        link="softmax",
    )


def cosines(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore", divide="ignore"):
        return (
            np.einsum("ij,ij->i", x, y)
            / np.linalg.norm(x, axis=1)
            / np.linalg.norm(y, axis=1)
        )


def spectra(
    draw: np.random.Generator, shape: tuple[int, int], budget: float
) -> np.ndarray:
    """Scales within a budget; half of the rows only use its two ends."""
    logs = draw.random(shape)
    logs[::2] = np.round(logs[::2])
    return budget**logs


def assert_inside(
    group: object, role: str, x: np.ndarray, y: np.ndarray, moved: np.ndarray
) -> None:
    ends = range_solver_for(group, role, 2).ends(x, y)
    known = ~np.isnan(ends.lower.tangent) & ~np.isnan(moved)
    assert known.mean() > 0.2
    assert (moved - cosine_of(ends.upper.tangent))[known].max() <= 1e-9
    assert (cosine_of(ends.lower.tangent) - moved)[known].max() <= 1e-9


@pytest.mark.parametrize("budget", [1.0, 1.3, 4.0, 100.0])
@pytest.mark.parametrize("k", SIZES)
def test_a_random_linear_gauge_for_each_pair_stays_inside(
    k: int, budget: float
) -> None:
    draw = np.random.default_rng(k)
    n = BULK[k]
    x, y = rows(draw, (n, k), "normal"), rows(draw, (n, k), KINDS[k % 5])
    axes = np.linalg.qr(draw.normal(size=(n, k, k))).Q
    scales = spectra(draw, (n, k), budget)
    in_axes = [np.einsum("ij,ijk->ik", z, axes) for z in (x, y)]
    group = GeneralLinear(k, max_condition=budget)
    assert_inside(
        group, "right", x, y, cosines(in_axes[0] * scales, in_axes[1] * scales)
    )
    assert_inside(
        group, "cross", x, y, cosines(in_axes[0] * scales, in_axes[1] / scales)
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", SIZES)
def test_random_diagonal_gauges_and_translations_for_each_pair_stay_inside(
    k: int, kind: str
) -> None:
    draw = np.random.default_rng(k)
    n = BULK[k] // 4
    both = rows(draw, (2 * n, k), kind)
    x, y = both[::2], both[1::2]
    for budget in (1.0, 1.3, 4.0, 100.0, None):
        scales = spectra(draw, (n, k), budget or 1e6)
        group = Diagonal(k, max_condition=budget)
        assert_inside(group, "left", x, y, cosines(x * scales, y * scales))
        assert_inside(group, "cross", x, y, cosines(x * scales, y / scales))
    for budget in (0.0, 0.1, 0.7, 2.0, 10.0):
        shift = draw.normal(size=(n, k))
        shift *= (
            budget
            * np.round(draw.random((n, 1)), 1) ** (1 / k)
            / np.linalg.norm(shift, axis=1, keepdims=True)
        )
        group = Translation(k, max_shift=budget)
        assert_inside(group, "right", x, y, cosines(x + shift, y + shift))
        assert_inside(group, "cross", x, y, cosines(x, y + shift))


def groups_of(k: int) -> list:
    linear = [
        kind(k, max_condition=budget)
        for kind in (Diagonal, GeneralLinear)
        for budget in (None, 1.0, 1.3, 20.0)
    ]
    shifts = [
        Translation(k, side=side, max_shift=r)
        for side in ("left", "right")
        for r in (None, 0.0, 0.5, 3.0)
    ]
    return [Orthogonal(k), *linear, *shifts]


def has_budget(group: GaugeGroup) -> bool:
    return getattr(group, "max_condition", None) is not None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", [1, 2, 5])
def test_witnesses_reach_both_ends_and_keep_predictions(k: int, kind: str) -> None:
    draw = np.random.default_rng(k)
    model = model_of(draw, 12, k, kind)
    before = model.predictions()
    for group, role in product(groups_of(k), ROLES):
        pairs = draw.integers(12, size=(3, 2))
        found = cosine_range(model, group, role=role, pairs=pairs)
        if k == 1:
            continue  # One dimension has two cosines only, so most ends are bounds.
        # The end towards 0 of a bounded diagonal range across the sides can be just a
        # bound.
        can_be_a_bound = (
            role == "cross" and isinstance(group, Diagonal) and has_budget(group)
        )
        for pair, end, cosine, is_attained in defined_ends(found):
            if can_be_a_bound and not is_attained:
                continue
            gauge = found.witness(pair, end)
            assert group.contains(gauge)
            after = gauge.act(model)
            # The witness itself was checked to 1e-7; the rows of the model are rounded
            # by the condition number of the gauge.
            reached = after.cosines(role, pairs[[pair]])[0]
            assert reached == pytest.approx(cosine, abs=2e-7)
            drift = np.abs(after.predictions() - before).max()
            assert drift <= 1e-13 * k * gauge.condition_number


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", [2, 5])
def test_an_attained_end_is_reached_whatever_the_tolerance_and_a_limit_within_it(
    k: int, kind: str
) -> None:
    draw = np.random.default_rng(k)
    model = model_of(draw, 12, k, kind)
    errors_at_limits = []
    for group, role in product(groups_of(k), ROLES):
        pairs = draw.integers(12, size=(3, 2))
        found = cosine_range(model, group, role=role, pairs=pairs)
        for pair, end, cosine, is_attained in defined_ends(found):
            if has_budget(group) and not is_attained:
                continue
            gauge = found.witness(pair, end, tol=0.01)
            error = abs(found.cosine_under(gauge, pair) - cosine)
            if is_attained:
                assert error <= 1e-11
            else:
                assert error <= 0.01
                errors_at_limits.append(error)
    # A limit need not be followed beyond the tolerance.
    assert max(errors_at_limits) > 1e-6


@example(2, "normal", 0, 2.0, 5e-324)
@settings(max_examples=25)
@given(
    st.integers(1, 6),
    st.sampled_from(KINDS),
    st.integers(0, 2**32 - 1),
    st.floats(1, 50),
    st.floats(0, 1),
)
def test_smaller_budgets_and_subgroups_have_contained_ranges(
    k: int, kind: str, seed: int, budget: float, share: float
) -> None:
    draw = np.random.default_rng(seed)
    model = model_of(draw, 8, k, kind)
    pairs = draw.integers(8, size=(10, 2))
    smaller = 1 + share * (budget - 1)
    chain = [
        Orthogonal(k),
        Diagonal(k, max_condition=smaller),
        GeneralLinear(k, max_condition=smaller),
        GeneralLinear(k, max_condition=budget),
        GeneralLinear(k),
    ]
    others = [
        Diagonal(k, max_condition=smaller),
        Diagonal(k, max_condition=budget),
        Diagonal(k),
        GeneralLinear(k),
    ]
    shifts = [Translation(k, max_shift=r) for r in (share * budget, budget, None)]
    for role in ("right", "cross"):
        for nested in (chain, others, shifts):
            found = [
                cosine_range(model, group, role=role, pairs=pairs) for group in nested
            ]
            for inner, outer in pairwise(found):
                known = ~np.isnan(inner.lower)
                assert outer.contains(inner.lower)[known].all()
                assert outer.contains(inner.upper)[known].all()
                assert outer.contains(inner.before)[known].all()


def test_a_gauge_beyond_the_budget_leaves_the_range() -> None:
    model = FactorModel.from_vectors(np.random.default_rng(0).normal(size=(20, 3)))
    pairs = [[i, i + 1] for i in range(19)]
    for kind in (GeneralLinear, Diagonal):
        narrow, wide = (
            cosine_range(model, kind(3, max_condition=b), pairs=pairs)
            for b in (1.5, 3.0)
        )
        outside = [
            wide.witness(i, "lower").act(model).cosines("right", pairs)[i]
            for i in range(19)
        ]
        assert not narrow.contains(outside).any()
    mixed = cosine_range(model, Diagonal(3, max_condition=2.0), pairs=pairs)
    linear = cosine_range(model, GeneralLinear(3, max_condition=2.0), pairs=pairs)
    assert (mixed.width < linear.width - 1e-6).any()


def test_differences_of_labels_move_under_linear_gauges_only() -> None:
    draw = np.random.default_rng(0)
    model = model_of(draw, 9, 4, "normal")
    table = draw.permuted(np.tile(np.arange(9), (40, 1)), axis=1)[:, :4]
    found = cosine_range(model, GeneralLinear(4, max_condition=2.0), pairs=table)
    for _ in range(200):
        q = GeneralLinear(4, max_condition=2.0).sample(rng=draw).act(model).right
        moved = cosines(
            q[table[:, 0]] - q[table[:, 1]], q[table[:, 2]] - q[table[:, 3]]
        )
        assert found.contains(moved).all()
    q = found.witness(5, "lower").act(model).right
    i, j, k, l = table[5]  # noqa: E741
    assert cosines((q[i] - q[j])[None], (q[k] - q[l])[None])[0] == pytest.approx(
        found.lower[5], abs=1e-9
    )
    still = cosine_range(model, Translation(4), pairs=table)
    np.testing.assert_allclose(still.width, 0)
    np.testing.assert_allclose(still.before, found.before)
    with pytest.raises(InputError, match="cross pairs"):
        cosine_range(
            model, GeneralLinear(4, max_condition=2.0), role="cross", pairs=table
        )


VECTORS = FactorModel.from_vectors(np.eye(3))
COSINES = FactorModel.from_user_item(np.eye(3), np.eye(3), link="cosine")
SOFTMAX = FactorModel.from_softmax(np.eye(3))
BUDGET = Diagonal(3, max_condition=2.0)


FIRST_ONLY = Constraint(
    "first column", lambda gauge: bool((np.diag(gauge.matrix("left"))[1:] == 1).all())
)


@dataclass(frozen=True)
class FirstColumn(GaugeGroup):
    """Scales of the first column alone: a set whose range nobody has derived."""

    kind = "first column"
    title = "scales of the first column"
    constraints = frozenset({*Diagonal.constraints, FIRST_ONLY})
    rank: int
    max_condition: float | None = field(default=None, kw_only=True)

    def sample(self, *, rng: np.random.Generator | int | None = None) -> Gauge:
        scales = np.ones(self.rank)
        scales[0] = np.exp(np.random.default_rng(rng).normal())
        return Gauge.diagonal(scales)


@dataclass(frozen=True)
class ShiftedScales(Affine):
    """Scales of the columns after a shift: a set whose range nobody has derived."""

    constraints = Diagonal.constraints


@pytest.mark.parametrize(
    ("model", "group", "options", "part"),
    [
        (
            VECTORS,
            Translation(3),
            {},
            "must preserve the scores that this model predicts",
        ),
        (
            COSINES,
            Diagonal(3),
            {},
            "must preserve the cosines that this model predicts",
        ),
        (VECTORS, Diagonal(2), {}, "got 2 for a model of rank 3"),
        (VECTORS, "linear", {}, "group must be a GaugeGroup; got 'linear'"),
        (VECTORS, FirstColumn(3), {}, "group must be a set of gauges whose range can"),
        (
            SOFTMAX,
            ShiftedScales(3),
            {},
            "group must be a set of gauges whose range can",
        ),
        (VECTORS, BUDGET, {"pairs": [[0, 1, 2]]}, "got int64 of shape (1, 3)"),
        (VECTORS, BUDGET, {"pairs": [[0, 1], [2]]}, "got rows that differ in length"),
        (VECTORS, BUDGET, {"role": "up"}, "role must be one of"),
    ],
)
def test_cosine_range_refuses_gauges_that_move_predictions_and_bad_pairs(
    model: FactorModel, group: Any, options: dict[str, Any], part: str
) -> None:
    options = {"pairs": [[0, 1]], **options}
    with pytest.raises((InputError, EquivalenceError), match=re.escape(part)):
        cosine_range(model, group, **options)


@pytest.mark.parametrize(
    ("pair", "end", "tol", "part"),
    [
        (0, "middle", 1e-7, "end must be one of lower, upper; got 'middle'"),
        *((0, "lower", tol, "tol must be a number > 0") for tol in (0, np.nan, np.inf)),
        (0, "lower", "1", "tol must be a number > 0; got '1'"),
        *(
            (pair, "lower", 1e-7, "pair must be a position in pairs, an integer from 0")
            for pair in (1, 5, -1, 0.0, "0", True)
        ),
    ],
)
def test_a_witness_refuses_other_pairs_ends_and_tolerances(
    pair: Any, end: Any, tol: Any, part: str
) -> None:
    found = cosine_range(VECTORS, BUDGET, pairs=[[0, 1]])
    with pytest.raises(InputError, match=re.escape(part)):
        found.witness(pair, end, tol=tol)


def test_a_pair_with_a_zero_row_has_no_witness() -> None:
    model = FactorModel.from_vectors([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    found = cosine_range(model, BUDGET)
    with pytest.raises(
        InputError, match="pair 0 has no range, because one of its rows is"
    ):
        found.witness(0, "lower")


def test_an_end_that_float64_cannot_come_near_is_refused_not_missed() -> None:
    model = FactorModel.from_vectors([[1.0, 1e-9], [1.0, -1e-9]])
    found = cosine_range(model, GeneralLinear(2), pairs=[[0, 1]])
    with pytest.raises(InputError, match="no gauge in float64"):
        found.witness(0, "lower", tol=1e-30)


def test_condition_to_reach_is_the_budget_at_which_the_range_arrives() -> None:
    draw = np.random.default_rng(0)
    model = FactorModel.from_vectors(draw.normal(size=(30, 3)))
    pairs = [[i, i + 1] for i in range(29)]
    start, target = model.cosines("right", pairs), draw.uniform(-0.99, 0.99, size=29)
    for i, kappa in enumerate(condition_to_reach(start, target)):
        found = cosine_range(
            model, GeneralLinear(3, max_condition=float(kappa)), pairs=pairs[i : i + 1]
        )
        end = found.upper if target[i] > start[i] else found.lower
        assert end[0] == pytest.approx(target[i], abs=1e-12)
    assert np.isnan(condition_to_reach(np.nan, 0.5))


@pytest.mark.parametrize(
    ("bad", "part"),
    [
        ("a", "got 'a'"),
        (None, "got None"),
        ([0.1, "b"], "got dtype <U32"),
        ([[0.1], [0.2, 0.3]], "got rows that differ in length"),
        (1j, "got 1j"),
        (True, "got True"),
    ],
)
def test_condition_to_reach_refuses_what_is_not_a_number(bad: Any, part: str) -> None:
    with pytest.raises(InputError, match=f"^cosine must be .*{re.escape(part)}"):
        condition_to_reach(bad, 0.5)
    with pytest.raises(InputError, match=f"^target must be .*{re.escape(part)}"):
        condition_to_reach(0.5, bad)


def test_condition_to_reach_refuses_cosines_beyond_1_and_different_shapes() -> None:
    with pytest.raises(InputError, match="target must be a cosine, from -1 to 1"):
        condition_to_reach(0.5, 1.5)
    with pytest.raises(InputError, match="cosine and target must be of one shape"):
        condition_to_reach([0.1, 0.2], [0.1, 0.2, 0.3])


def test_float32_rows_give_the_float64_range() -> None:
    x = np.random.default_rng(0).normal(size=(40, 5)).astype(np.float32)
    pairs = np.random.default_rng(1).integers(40, size=(100, 2))
    for group in (
        Diagonal(5),
        Diagonal(5, max_condition=2.0),
        GeneralLinear(5, max_condition=2.0),
    ):
        narrow, wide = (
            cosine_range(FactorModel.from_vectors(z), group, pairs=pairs)
            for z in (x, x.astype(float))
        )
        np.testing.assert_array_equal(narrow.lower, wide.lower)
        np.testing.assert_array_equal(narrow.upper, wide.upper)
