"""Two trained models: gauges recovered by the right group, an honest split, and no leak."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from embaudit.comparison import compare
from embaudit.comparison.change import folds
from embaudit.comparison.fits import GROUPS, fit_gauge, unexplained
from embaudit.errors import InputError
from embaudit.gauges import Diagonal, Gauge, GeneralLinear, Orthogonal
from embaudit.model import FactorModel

RANK = 4
SMALLER = {
    "rotation": (),
    "diagonal": ("rotation",),
    "linear": ("rotation", "diagonal"),
    "affine": ("rotation", "diagonal", "linear"),
}


def make(seed=0, *, n=120, p=90, k=RANK, dtype=np.float64, ids=True):
    draw = np.random.default_rng(seed)
    return FactorModel.from_user_item(
        draw.standard_normal((n, k)).astype(dtype),
        draw.standard_normal((p, k)).astype(dtype),
        user_bias=np.zeros(n),
        item_bias=np.zeros(p),
        user_ids=np.arange(n) if ids else None,
        item_ids=np.array([f"i{j}" for j in range(p)]) if ids else None,
    )


def gauge_of(group, seed=1):
    linear = {
        "rotation": Orthogonal(RANK),
        "diagonal": Diagonal(RANK, max_condition=5.0),
        "linear": GeneralLinear(RANK, max_condition=5.0),
        "affine": GeneralLinear(RANK, max_condition=5.0),
    }[group].sample(rng=seed)
    if group != "affine":
        return linear
    draw = np.random.default_rng(seed)
    return Gauge.translation(RANK, left=draw.standard_normal(RANK), right=draw.standard_normal(RANK)) @ linear


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("roles", [None, ["right"], ["left"]])
def test_an_exact_gauge_is_recovered_by_its_group_and_rejected_by_smaller_ones(group, dtype, roles):
    model = make(dtype=dtype)
    gauge = gauge_of(group)
    found = compare(model, gauge.act(model), roles=roles)
    assert found.group == group
    assert found.explained
    assert found.condition_number == pytest.approx(gauge.condition_number, rel=1e-4)
    assert found.agreement.same
    for change in found.changes.values():
        assert np.nanmax(change.remainder) < (1e-5 if dtype == np.float32 else 1e-9)
        assert all(change.unexplained[smaller] > 0.05 for smaller in SMALLER[group])
        assert (change.mean_total < 1e-6) == (group == "rotation")
        np.testing.assert_allclose(change.gauge, change.total, atol=1e-5)
        assert change.lost_to_learning.sum() == 0
        assert (change.lost_to_gauge.sum() > 0) == (group != "rotation")


@given(seed=st.integers(0, 99), group=st.sampled_from(GROUPS), sides=st.sampled_from(["left", "right", "both"]))
@settings(max_examples=20)
def test_a_fit_is_the_best_of_its_group(seed, group, sides):
    """Against a numerical optimiser that starts at the fit and at the identity, on noisy rows."""
    draw = np.random.default_rng(seed)
    k = 2
    rows = {
        role: (x := draw.standard_normal((12, k)), x + 0.4 * draw.standard_normal((12, k)))
        for role in ("left", "right")
        if sides in (role, "both")
    }

    def parts(z):
        if group == "rotation":
            c, s = np.cos(z[0]), np.sin(z[0])
            return np.array([[c, -s], [s, c]]), np.zeros(k), np.zeros(k)
        if group == "diagonal":
            return np.diag(z[:k]), np.zeros(k), np.zeros(k)
        shift = z[k * k :] if group == "affine" else np.zeros(2 * k)
        return z[: k * k].reshape(k, k), shift[:k], shift[k:]

    def loss(z):
        m, u, w = parts(z)
        total = 0.0
        if "left" in rows:
            p, after = rows["left"]
            total += ((p @ m + u - after) ** 2).sum() / (_centred(after, group) ** 2).sum()
        if "right" in rows:
            q, after = rows["right"]
            if sides == "right" and group in ("linear", "affine"):
                return ((q @ m + u - after) ** 2).sum()
            total += ((after @ m.T + w - q) ** 2).sum() / (_centred(q, group) ** 2).sum()
        return total

    fit = fit_gauge(rows, group)
    if group == "rotation":
        assert_rotation_is_best(fit, rows)
        return
    own = fit.right if sides == "right" and group in ("linear", "affine") else fit.left
    shifts = {
        "linear": [],
        "diagonal": [],
        "affine": [fit.right_shift if sides == "right" else fit.left_shift, -fit.right_shift @ fit.left.T],
    }[group]
    start = np.concatenate([np.diag(own) if group == "diagonal" else own.ravel(), *shifts])
    best = min(minimize(loss, z, method="BFGS").fun for z in (start, _identity(group, k)))
    assert loss(start) <= best * (1 + 1e-9) + 1e-12


def _centred(x, group):
    return x - x.mean(axis=0) if group == "affine" else x


def _identity(group, k):
    return {"diagonal": np.ones(k), "linear": np.eye(k).ravel(), "affine": np.r_[np.eye(k).ravel(), np.zeros(2 * k)]}[
        group
    ]


def assert_rotation_is_best(fit, rows):
    """No other rotation or reflection, at any scale, brings unit-weighted rows nearer."""
    target = sum(x.T @ y / np.linalg.norm(x) / np.linalg.norm(y) for x, y in rows.values())
    turn = fit.left / np.sqrt(abs(np.linalg.det(fit.left)))
    np.testing.assert_allclose(turn @ turn.T, np.eye(2), atol=1e-12)
    angles = np.linspace(0, 2 * np.pi, 721)
    others = [np.array([[np.cos(a), -f * np.sin(a)], [np.sin(a), f * np.cos(a)]]) for a in angles for f in (1, -1)]
    assert np.sum(turn * target) >= max(np.sum(r * target) for r in others) - 1e-9


def als(table, k, seed, *, rounds=200, weight=2.0):
    """A small alternating least squares with weight decay on both sides."""
    draw = np.random.default_rng(seed)
    right = draw.standard_normal((table.shape[1], k)) * 0.1
    for _ in range(rounds):
        left = np.linalg.solve(right.T @ right + weight * np.eye(k), right.T @ table.T).T
        right = np.linalg.solve(left.T @ left + weight * np.eye(k), left.T @ table).T
    return FactorModel.from_user_item(left, right)


def sgd(table, k, seed, *, start, epochs=25, rate=0.02):
    """A small stochastic factorisation without weight decay: its start decides the gauge."""
    draw = np.random.default_rng(seed)
    left, right = (draw.standard_normal((n, k)) * start for n in table.shape)
    cells = np.argwhere(np.ones_like(table, dtype=bool))
    for _ in range(epochs):
        for i, j in draw.permutation(cells):
            error = table[i, j] - left[i] @ right[j]
            left[i], right[j] = left[i] + rate * error * right[j], right[j] + rate * error * left[i]
    return FactorModel.from_user_item(left, right)


def table(seed=0, n=60, p=40, k=3, noise=0.3):
    draw = np.random.default_rng(seed)
    return draw.standard_normal((n, k)) @ draw.standard_normal((p, k)).T + noise * draw.standard_normal((n, p))


def test_two_seeds_of_als_differ_by_a_rotation_because_weight_decay_pins_the_rest():
    data = table(n=100, p=80)
    found = compare(als(data, 3, 0), als(data, 3, 1))
    assert found.group == "rotation"
    assert found.changes["right"].mean_total < 0.02


def test_two_seeds_of_sgd_from_a_wide_start_differ_by_a_linear_gauge_and_noise():
    data = table()
    found = compare(sgd(data, 3, 0, start=2.0), sgd(data, 3, 1, start=2.0))
    change = found.changes["right"]
    assert found.group == "linear"
    assert found.condition_number > 1.5
    assert 1e-5 < change.unexplained["linear"] < 0.01 < change.unexplained["rotation"]
    assert change.mean_remainder < 0.2 * change.mean_total
    assert change.gauged_correlation > 0.99 > change.correlation
    assert not found.explained  # the noise of the training remains


def test_two_seeds_of_sgd_from_a_narrow_start_are_nearly_balanced_and_differ_by_a_rotation():
    """Gradient steps keep PᵀP - QᵀQ but for their noise, and a narrow start makes it small."""
    data = table()
    found = compare(sgd(data, 3, 0, start=0.1), sgd(data, 3, 1, start=0.1))
    assert found.group == "rotation"
    assert found.changes["right"].mean_total < 0.05


def test_unrelated_models_are_not_explained_though_any_gauge_fits_few_rows():
    """With as many parameters as rows to fit the training part is met exactly, and held-out rows tell."""
    draw = np.random.default_rng(0)
    one, two = (FactorModel.from_vectors(draw.standard_normal((24, 12))) for _ in range(2))
    inner = {"right": (one.right[:12], two.right[:12])}
    assert unexplained(fit_gauge(inner, "linear"), "right", inner) < 1e-20
    found = compare(one, two)
    assert not found.explained
    assert found.changes["right"].unexplained["linear"] > 1
    assert found.changes["right"].gauged_correlation < 0.3


def test_no_row_is_judged_by_a_gauge_it_helped_to_fit():
    """Spoiling the rows of one half changes the gauge that judges the other half, and not their own."""
    model = make(3)
    other = gauge_of("linear").act(model)
    rows = {"left": (model.left, other.left), "right": (model.right, other.right)}
    clean = folds(rows, np.random.default_rng(5))
    half = clean[0].held_out
    assert sorted(np.concatenate([f.held_out["right"] for f in clean])) == list(range(90))
    spoilt = {role: (x, y.copy()) for role, (x, y) in rows.items()}
    for role, (_, y) in spoilt.items():
        y[half[role]] = np.random.default_rng(6).standard_normal(y[half[role]].shape) * 5
    again = folds(spoilt, np.random.default_rng(5))
    for group in GROUPS:
        np.testing.assert_array_equal(again[0].fits[group].left, clean[0].fits[group].left)
        assert np.abs(again[1].fits[group].left - clean[1].fits[group].left).max() > 1e-3
    assert again[0].chosen == clean[0].chosen


def test_what_one_item_learned_is_found_beside_the_gauge():
    model = make(4)
    other = gauge_of("linear").act(model)
    right = other.right.copy()
    right[7] = -right[7]
    found = compare(model, other.replace(right=right))
    frame = found.changes["right"].to_frame()
    assert frame.sort_values("remainder").iloc[-1]["name"] == "i7"
    assert found.group == "linear"
    others = frame[frame["name"] != "i7"]
    assert frame["remainder"].max() > 5 * others["remainder"].max()
    assert found.changes["right"].lost_to_learning.sum() > 0
    assert not found.explained


def test_entities_are_matched_by_id_and_missing_ones_counted():
    model = make(5)
    keep = np.random.default_rng(0).permutation(90)[:70]
    other = gauge_of("linear").act(model)
    fewer = other.replace(right=other.right[keep], right_ids=other.right_ids[keep], right_bias=other.right_bias[keep])
    found = compare(model, fewer)
    change = found.changes["right"]
    assert (len(change.match), change.match.only_before, change.match.only_after) == (70, 20, 0)
    assert np.nanmax(change.remainder) < 1e-9
    assert "20 items only in the first model and 0 only in the second were left out" in found.explain()
    assert found.agreement.same


@pytest.mark.parametrize("roles", [None, ["left"], ["right"]])
def test_one_scale_for_all_goes_with_a_rotation(roles):
    model = make(12)
    turned = Orthogonal(RANK).sample(rng=0)
    other = Gauge(3 * turned.left, turned.right / 3).act(model)
    found = compare(model, other, roles=roles)
    assert (found.group, found.explained) == ("rotation", True)
    assert all(change.unexplained["rotation"] < 1e-20 for change in found.changes.values())


def test_ties_between_parallel_items_are_nobodys_fault():
    """Twenty copies of every row leave it to rounding which ten of them are listed."""
    draw = np.random.default_rng(0)
    left, few = draw.standard_normal((60, RANK)), draw.standard_normal((6, RANK))
    right = np.repeat(few, 20, axis=0) * draw.uniform(0.5, 2, 120)[:, None]
    model = FactorModel.from_user_item(left, right)
    change = compare(model, Orthogonal(RANK).sample(rng=0).act(model)).changes["right"]
    assert change.neighbour_shares["kept"] == 1


def test_a_notebook_shows_it_with_every_name_escaped():
    names = np.array([f"<b>{i}</b>" for i in range(90)])
    model = make(13).replace(right_names=names)
    shown = compare(model, gauge_of("linear").act(model))._repr_html_()
    assert "users that moved most" in shown
    assert "mean_abs_remainder" in shown
    assert "&lt;b&gt;" in shown
    assert "<b>" not in shown


def test_number_ids_meet_their_texts():
    model = make(6)
    other = model.replace(left_ids=model.left_ids.astype(str)[::-1], left=model.left[::-1])
    assert compare(model, other).changes["left"].mean_total < 1e-12


def test_ranks_may_differ():
    model = make(7)
    wider = model.replace(
        left=np.column_stack([model.left, np.zeros(120)]), right=np.column_stack([model.right, np.zeros(90)])
    )
    found = compare(model, wider)
    assert found.group == "rotation"
    assert found.explained
    assert "diagonal" not in found.changes["right"].unexplained


def test_softmax_models_carry_the_divergence_and_its_warning():
    draw = np.random.default_rng(8)
    inputs, labels = draw.standard_normal((60, 3)), draw.standard_normal((20, 3))
    one = FactorModel.from_softmax(labels, embeddings=inputs)
    two = FactorModel.from_softmax(labels + 0.1 * draw.standard_normal((20, 3)), embeddings=inputs)
    found = compare(one, two).agreement
    p, q = one.predictions(), two.predictions()
    assert found.kl_divergence == pytest.approx(np.mean((p * np.log(p / q)).sum(axis=1)))
    logs = [np.log(x)[:, :, None] - np.log(x)[:, None, :] for x in (p, q)]
    expected = np.sqrt(np.mean((logs[1] - logs[0]) ** 2) / np.mean(logs[0] ** 2))
    assert found.difference_distance == pytest.approx(expected)
    assert "proves little" in compare(one, two).explain()
    assert not found.same
    shifted = Gauge.translation(3, right=[1.0, 2.0, 3.0]).act(one)
    assert compare(one, shifted).agreement.same
    assert compare(make(), make()).agreement.kl_divergence is None


def test_agreement_is_what_it_says():
    one, two = make(9), make(10)
    found = compare(one, two).agreement
    a, b = one.scores(), two.scores()
    assert found.score_correlation == pytest.approx(
        np.mean([np.corrcoef(x, y)[0, 1] for x, y in zip(a, b, strict=True)])
    )
    lists = [[set(np.argsort(-row)[:10]) for row in s] for s in (a, b)]
    assert found.ranking_overlap == pytest.approx(np.mean([len(x & y) / 10 for x, y in zip(*lists, strict=True)]))
    assert found.score_distance == pytest.approx(np.sqrt(np.mean((b - a) ** 2) / np.mean(a**2)))


def test_the_same_seed_gives_the_same_numbers_and_json_holds_them():
    model, other = make(11), gauge_of("linear").act(make(11))
    first, second, third = (compare(model, other, rng=seed).to_dict() for seed in (1, 1, 2))
    assert json.loads(json.dumps(first)) == json.loads(json.dumps(second))
    assert json.dumps(first) != json.dumps(third)


@pytest.mark.parametrize(
    ("one", "two", "message"),
    [
        (make(), make(p=80, ids=False), "item ids must be in both models or in neither|user ids must be in both"),
        (make(ids=False), make(p=80, ids=False), "as many in both models; got 90 and 80"),
        (make(n=5, p=5), make(n=5, p=5), "at least 8; got 5"),
    ],
)
def test_models_that_cannot_be_compared_are_refused(one, two, message):
    with pytest.raises(InputError, match=message):
        compare(one, two)


def test_a_side_that_is_missing_is_named():
    with pytest.raises(InputError, match="user factors must be at hand"):
        compare(make(), FactorModel.from_vectors(make().right), roles=["left"])
