"""Movement against the full cosine matrices, sampled against exact, and what must not move."""

from __future__ import annotations

from functools import partial
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from models import random_model
from scipy.stats import spearmanr

from embaudit.auditing import audit
from embaudit.auditing.traits import mean_cosine
from embaudit.errors import InputError
from embaudit.gauges import Diagonal, Gauge, GeneralLinear, Orthogonal
from embaudit.linalg.nearest import neighbours
from embaudit.linalg.rows import unit_rows
from embaudit.model import FactorModel
from embaudit.movements import levels
from embaudit.movements.movement import MovementProbe, movement
from embaudit.movements.neighbourhoods import NearestChanged, neighbourhoods

ROLES = ("left", "right", "cross")


make = partial(random_model, means=(0.4, 0.2))


def full_cosines(model, role):
    unit = {
        side: f / np.linalg.norm(f, axis=1, keepdims=True)
        for side, f in (("left", model.left), ("right", model.right))
    }
    if role == "cross":
        return (unit["left"] @ unit["right"].T).ravel()
    return (unit[role] @ unit[role].T)[np.triu_indices(len(unit[role]), 1)]


@pytest.mark.parametrize("role", ROLES)
@given(seed=st.integers(0, 2**31), condition=st.floats(1.0, 50.0))
@settings(max_examples=25)
def test_every_figure_agrees_with_the_full_matrix(role, seed, condition):
    model = make(seed % 1000)
    after = GeneralLinear(5, max_condition=condition).sample(rng=seed).act(model)
    b, c = full_cosines(model, role), full_cosines(after, role)
    moved = movement(model, after, role=role)
    assert moved.exact
    assert moved.n_pairs == len(b)
    assert moved.mean == pytest.approx((c - b).mean(), abs=1e-10)
    assert moved.rms == pytest.approx(np.sqrt(((c - b) ** 2).mean()), abs=1e-7)
    assert moved.mean_abs == pytest.approx(np.abs(c - b).mean(), abs=1e-12)
    assert moved.max_abs == pytest.approx(np.abs(c - b).max(), abs=1e-12)
    assert moved.pearson == pytest.approx(np.corrcoef(b, c)[0, 1], abs=1e-9)
    assert moved.ci_low == moved.mean_abs == moved.ci_high
    assert moved.intervals == {}
    assert moved.spearman == pytest.approx(spearmanr(b, c)[0], abs=1e-3)
    for level, value in moved.quantiles.items():
        assert value == pytest.approx(np.quantile(np.abs(c - b), level), abs=1e-12)


@pytest.mark.parametrize("role", ROLES)
def test_sampled_pairs_estimate_the_exact_figures(role):
    model = make(n=300, p=200, k=6)
    after = Diagonal(6, max_condition=5.0).sample(rng=1).act(model)
    exact = movement(model, after, role=role)
    inside = 0
    for seed in range(20):
        sampled = movement(model, after, role=role, n_pairs=4_000, rng=seed)
        assert not sampled.exact
        assert sampled.n_pairs == 4_000
        assert sampled.ci_low < sampled.mean_abs < sampled.ci_high
        sums = (exact.mean, exact.rms, exact.pearson)
        assert (sampled.mean, sampled.rms, sampled.pearson) == pytest.approx(
            sums, rel=1e-12
        )
        assert sampled.max_abs <= exact.max_abs + 1e-15
        assert sampled.intervals.keys() == {
            "sign_flips",
            "spearman",
            *(f"{level:g}" for level in sampled.quantiles),
        }
        assert sampled.spearman == pytest.approx(exact.spearman, abs=0.03)
        inside += sampled.ci_low <= exact.mean_abs <= sampled.ci_high
    assert inside >= 15


@pytest.mark.parametrize("role", ROLES)
def test_a_rotation_moves_nothing(role):
    model = make(n=60, p=50, k=7)
    moved = movement(model, Orthogonal(7).sample(rng=0).act(model), role=role)
    assert moved.max_abs < 1e-13
    assert moved.sign_flips == 0
    assert role == "cross" or moved.top_n_overlap == 1


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize(
    "gauge",
    [
        Diagonal(5, max_condition=2.0).sample(rng=0),
        GeneralLinear(5, max_condition=2.0).sample(rng=0),
    ],
    ids=["diagonal", "linear"],
)
def test_a_linear_gauge_moves_every_role(role, gauge):
    model = make()
    moved = movement(model, gauge.act(model), role=role)
    assert moved.mean_abs > 1e-3


def test_a_linear_gauge_never_turns_the_sign_of_a_user_item_cosine():
    model = make(3, n=80, p=70, k=4)
    for seed in range(10):
        after = GeneralLinear(4, max_condition=100.0).sample(rng=seed).act(model)
        assert movement(model, after, role="cross").sign_flips == 0
    assert movement(model, after, role="right").sign_flips > 0


def test_rows_without_direction_are_left_out_and_counted():
    model = make()
    items = np.array(model.right)
    items[[3, 11]] = 0
    holed = model.replace(right=items)
    kept = model.replace(right=np.delete(items, [3, 11], axis=0))
    gauge = Gauge.diagonal([1, 2, 3, 4, 5])
    for role in ROLES:
        without = movement(kept, gauge.act(kept), role=role)
        # A row that loses its direction on the way is left out as if it had none before.
        for before in (holed, model):
            with_holes = movement(before, gauge.act(holed), role=role)
            assert with_holes.n_zero == (0 if role == "left" else 2)
            assert with_holes.n_pairs == without.n_pairs
            assert with_holes.mean_abs == pytest.approx(without.mean_abs, abs=1e-13)
            assert with_holes.rms == pytest.approx(without.rms, abs=1e-9)
            assert with_holes.pearson == pytest.approx(without.pearson, abs=1e-9)
            assert role == "cross" or with_holes.top_n_overlap == without.top_n_overlap
    assert movement(holed, gauge.act(model)).n_zero == 2
    one = model.replace(right=items * (np.arange(len(items)) == 0)[:, None])
    with pytest.raises(
        InputError,
        match="two or more that have a direction in both models; got fewer right rows",
    ):
        movement(model, one)


def test_an_item_that_no_score_sees_has_no_cosine_in_some_equivalent_models():
    users, items = (np.abs(random_model(n=n, p=n, k=6).right) for n in (40, 50))
    users[:, -1], items[0] = 0, np.eye(6)[-1]
    model = FactorModel.from_user_item(users, items)
    movements = [each for moved in audit(model).evidence.movement for each in moved]
    assert {each.n_zero for each in movements if each.role == "right"} == {0, 1}
    assert all(np.isfinite(each.pearson) for each in movements)
    # Models are measured side by side, and drawing anew for one of them must not move the draws of the next.
    probe, after = (
        MovementProbe(model, ["right"], n_lists=9),
        model.replace(right=items * [1, 2, 3, 4, 5, 0]),
    )
    assert len({probe.measure(after)[0].top_n_overlap for _ in range(9)}) == 1


def test_overlap_agrees_with_sets_where_there_are_no_ties():
    model = make(n=30, p=200, k=8)
    after = Diagonal(8, max_condition=4.0).sample(rng=2).act(model)
    lists = [neighbours(m.right, 10).indices for m in (model, after)]
    shared = np.mean([len(set(a) & set(b)) / 10 for a, b in zip(*lists, strict=True)])
    assert movement(model, after).top_n_overlap == pytest.approx(shared, abs=1e-12)
    assert shared < 1


def named(rows: list[list[float]]) -> FactorModel:
    return FactorModel.from_vectors(rows).replace(
        right_names=["Solaris", "Stalker", "Solaris", "Mirror"]
    )


def test_two_rows_of_one_title_are_two_rows():
    """The other Solaris takes the place of the first: the names agree, the neighbour is lost."""
    before, after = (
        named([[1, 0.1], [1, 0], [0, 1], [-1, 0]]),
        named([[0, 1], [1, 0], [1, 0.1], [-1, 0]]),
    )
    (found,) = neighbourhoods(before, after.right, rows=np.array([1]), n=1)
    assert found.before[0][0] == found.after[0][0] == "Solaris"
    assert (found.kept, found.stay, found.stayed) == (0, (False,), (False,))


def test_a_tie_with_the_last_one_listed_is_kept():
    before, after = (
        named([[1, 0.1], [1, 0], [1, 0.3], [-1, 0]]),
        named([[2, 0.2], [1, 0], [2, 0.2], [1, 0.1]]),
    )
    (found,) = neighbourhoods(before, after.right, rows=np.array([1]), n=2)
    assert [name for name, _ in found.after] == ["Solaris", "Solaris"]
    assert (found.kept, found.stay) == (2, (True, True))
    (other,) = neighbourhoods(after, before.right, rows=np.array([1]), n=1)
    assert other.stay == other.stayed == (True,)


QUANTILES = ["0.01", "0.05", "0.25", "0.5", "0.75", "0.95", "0.99", "0.999"]


def all_cosines(model, role="right"):
    unit = unit_rows(model.factors(role))
    return np.sort((unit @ unit.T)[np.triu_indices(len(unit), 1)])


def test_few_rows_are_read_against_all_their_pairs():
    model = random_model(p=30)
    found, wanted = levels(model), all_cosines(model)
    assert (found.n_pairs, found.exact) == (435, True)
    np.testing.assert_allclose(found.cosines, wanted, atol=1e-14)
    values = np.linspace(-1.1, 1.1, 23)
    assert found.below(values).tolist() == [(wanted < value).mean() for value in values]
    quantiles = found.to_dict()["quantiles"]
    assert list(quantiles) == QUANTILES
    assert quantiles["0.75"] == pytest.approx(np.quantile(wanted, 0.75))
    assert repr(found) == "Levels(435 pairs of items)"


def test_many_rows_are_read_against_drawn_pairs():
    model = random_model(p=201, n=200)
    found = levels(model)
    assert (found.n_pairs, found.exact) == (20_000, False)
    wanted = all_cosines(model)
    grid = np.linspace(-0.9, 0.9, 19)
    assert np.abs(
        found.below(grid) - [(wanted < value).mean() for value in grid]
    ).max() < 1.63 / np.sqrt(20_000)
    left = levels(model, role="user")
    assert (left.n_pairs, left.exact) == (19_900, True)
    assert levels(model, rng=1).cosines.tolist() != found.cosines.tolist()


def drawn(p, k, seed=0, mean=0.0):
    return np.random.default_rng(seed).standard_normal((p, k)) + mean


def cosine(x, i, j):
    return float(x[i] @ x[j] / np.sqrt((x[i] @ x[i]) * (x[j] @ x[j])))


def nearest(x, i):
    """The nearest row by a loop over all others."""
    return max((j for j in range(len(x)) if j != i), key=lambda j: cosine(x, i, j))


@pytest.mark.parametrize("mean", [0.0, 1.5])
def test_the_mean_cosine_is_that_over_all_pairs(mean):
    x = drawn(23, 4, mean=mean)
    expected = np.mean([cosine(x, i, j) for i, j in combinations(range(23), 2)])
    assert mean_cosine(x) == pytest.approx(expected, abs=1e-12)
    assert mean_cosine(np.vstack([x, np.zeros((5, 4))])) == pytest.approx(
        expected, abs=1e-12
    )


def test_some_rows_give_an_interval_and_all_of_them_give_none():
    x = drawn(40, 5)
    some = neighbours(x, 1, rows=np.arange(0, 40, 2))
    other = neighbours(x * [9, 1, 1, 1, 1], 1, rows=some.rows)
    found = NearestChanged.of(some, other, exact=False)
    assert found.ci_low < found.share < found.ci_high
    assert NearestChanged.of(some, other, exact=True).ci_high == found.share
