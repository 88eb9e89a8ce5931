"""Two trained models: gauges of the right group are recovered, and figures come from
rows that the fit did not use.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from models import random_model
from scipy.optimize import minimize

from embaudit.comparison import compare
from embaudit.comparison.fits import GROUPS, fit_gauge
from embaudit.gauges import Diagonal, Gauge, GeneralLinear, Orthogonal
from embaudit.model import FactorModel
from embaudit.report.comparison_document import moved_table
from embaudit.report.comparison_summary import summary_table

RANK = 4
SMALLER = {
    "rotation": (),
    "diagonal": ("rotation",),
    "linear": ("rotation", "diagonal"),
    "affine": ("rotation", "diagonal", "linear"),
}


def make(seed=0, *, n=120, p=90, k=RANK, dtype=np.float64, ids=True):
    named = (
        {"left_ids": np.arange(n), "right_ids": np.array([f"i{j}" for j in range(p)])}
        if ids
        else {}
    )
    zeros = {"left_bias": np.zeros(n), "right_bias": np.zeros(p)}
    return random_model(seed, n=n, p=p, k=k, dtype=dtype, **zeros, **named)


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
    return (
        Gauge.translation(
            RANK, left=draw.standard_normal(RANK), right=draw.standard_normal(RANK)
        )
        @ linear
    )


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize(
    ("dtype", "roles"),
    [
        (np.float32, None),
        (np.float64, None),
        (np.float64, ["right"]),
        (np.float32, ["left"]),
    ],
)
def test_an_exact_gauge_is_recovered_by_its_group_and_rejected_by_smaller_ones(
    group, dtype, roles
):
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
        assert change.outcomes["lost_to_learning"] == 0
        assert (change.outcomes["lost_to_gauge"] > 0) == (group != "rotation")


def noisy_rows(seed, sides):
    """Draw rows of two columns of some sides, and the same rows with noise."""
    draw = np.random.default_rng(seed)
    rows = {}
    for side in sides:
        before = draw.standard_normal((12, 2))
        rows[side] = (before, before + 0.4 * draw.standard_normal((12, 2)))
    return rows


def as_parameters(group, matrix, shift, back_shift):
    """Return the numbers that a group is free to choose, as one vector."""
    if group == "diagonal":
        return np.diag(matrix)
    if group == "linear":
        return matrix.ravel()
    return np.concatenate([matrix.ravel(), shift, back_shift])


def from_parameters(group, parameters):
    """Return the matrix and the two shifts of a vector of parameters."""
    if group == "diagonal":
        return np.diag(parameters), np.zeros(2), np.zeros(2)
    matrix = parameters[:4].reshape(2, 2)
    if group == "linear":
        return matrix, np.zeros(2), np.zeros(2)
    return matrix, parameters[4:6], parameters[6:8]


def sum_of_squares(group, rows):
    """Return the sum of squares, around the mean row if the group has shifts."""
    if group == "affine":
        rows = rows - rows.mean(axis=0)
    return (rows**2).sum()


def fit_error(group, rows, parameters):
    """Return the squared error of a gauge that acts on pairs of rows.

    A gauge M takes the left rows P to P M + u. It takes the right rows by M⁻ᵀ, so that
    `after Mᵀ + w` is near the right rows before.
    """
    matrix, shift, back_shift = from_parameters(group, parameters)
    error = 0.0
    if "left" in rows:
        before, after = rows["left"]
        residuals = before @ matrix + shift - after
        error += (residuals**2).sum() / sum_of_squares(group, after)
    if "right" in rows:
        before, after = rows["right"]
        residuals = after @ matrix.T + back_shift - before
        error += (residuals**2).sum() / sum_of_squares(group, before)
    return error


SIDES = st.sampled_from([["left"], ["right"], ["left", "right"]])


@given(
    seed=st.integers(0, 99),
    group=st.sampled_from(["diagonal", "linear", "affine"]),
    sides=SIDES,
)
@settings(max_examples=20)
def test_a_fitted_gauge_is_the_best_of_its_group(seed, group, sides):
    """A numerical optimiser starts at the fit and at the identity."""
    rows = noisy_rows(seed, sides)
    fit = fit_gauge(rows, group)
    if sides == ["right"] and group != "diagonal":
        # Right rows alone are fitted by a matrix of their own, as left rows are.
        rows = {"left": rows["right"]}
        fitted = as_parameters(group, fit.right, fit.right_shift, np.zeros(2))
    else:
        back_shift = -fit.right_shift @ fit.left.T
        fitted = as_parameters(group, fit.left, fit.left_shift, back_shift)
    identity = as_parameters(group, np.eye(2), np.zeros(2), np.zeros(2))

    def error(parameters):
        return fit_error(group, rows, parameters)

    from_fit = minimize(error, fitted, method="BFGS").fun
    from_identity = minimize(error, identity, method="BFGS").fun
    best = min(from_fit, from_identity)
    assert error(fitted) <= best * (1 + 1e-9) + 1e-12


@given(seed=st.integers(0, 99), sides=SIDES)
@settings(max_examples=20)
def test_no_rotation_or_reflection_is_nearer_than_the_fitted_one(seed, sides):
    """At any scale, with the rows of each side weighted to a sum of squares of 1."""
    rows = noisy_rows(seed, sides)
    fit = fit_gauge(rows, "rotation")
    target = np.zeros((2, 2))
    for before, after in rows.values():
        target += before.T @ after / np.linalg.norm(before) / np.linalg.norm(after)

    fitted = fit.left / np.sqrt(abs(np.linalg.det(fit.left)))
    np.testing.assert_allclose(fitted @ fitted.T, np.eye(2), atol=1e-12)
    for angle in np.linspace(0, 2 * np.pi, 721):
        cosine, sine = np.cos(angle), np.sin(angle)
        rotation = np.array([[cosine, -sine], [sine, cosine]])
        reflection = rotation * [1, -1]
        assert np.vdot(fitted, target) >= np.vdot(rotation, target) - 1e-9
        assert np.vdot(fitted, target) >= np.vdot(reflection, target) - 1e-9


def sgd(table, k, seed, *, start, epochs=25, rate=0.02):
    """A small stochastic factorisation without weight decay: its start decides the
    gauge.
    """
    draw = np.random.default_rng(seed)
    left, right = (draw.standard_normal((n, k)) * start for n in table.shape)
    cells = np.argwhere(np.ones_like(table, dtype=bool))
    for _ in range(epochs):
        for i, j in draw.permutation(cells):
            error = table[i, j] - left[i] @ right[j]
            left[i], right[j] = (
                left[i] + rate * error * right[j],
                right[j] + rate * error * left[i],
            )
    return FactorModel.from_user_item(left, right)


def table(seed=0, n=60, p=40, k=3, noise=0.3):
    draw = np.random.default_rng(seed)
    return draw.standard_normal((n, k)) @ draw.standard_normal(
        (p, k)
    ).T + noise * draw.standard_normal((n, p))


def als(table, k, seed, *, rounds=200, weight=2.0):
    """A small alternating least squares with weight decay on both sides."""
    draw = np.random.default_rng(seed)
    right = draw.standard_normal((table.shape[1], k)) * 0.1
    for _ in range(rounds):
        left = np.linalg.solve(
            right.T @ right + weight * np.eye(k), right.T @ table.T
        ).T
        right = np.linalg.solve(left.T @ left + weight * np.eye(k), left.T @ table).T
    return FactorModel.from_user_item(left, right)


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


def pair(seed=0, *, k=5):
    draw = np.random.default_rng(seed)
    return draw.standard_normal((100, k)), draw.standard_normal((80, k))


def user_item(left, right, **options):
    return FactorModel.from_user_item(left, right, **options)


def parts_add_up(found):
    for change in found.changes.values():
        np.testing.assert_allclose(
            change.gauge + change.unseen + change.remainder, change.total, atol=1e-12
        )
        for part in (change.gauge, change.unseen, change.remainder):
            assert np.nanmin(part) >= -1e-12


def different_predictions():
    """Pairs of models whose predictions differ though much of their factors agrees."""
    p, q = pair()
    b = np.random.default_rng(1).standard_normal((2, 80))
    return {
        "biases": (
            user_item(p, q, item_bias=3 * b[0]),
            user_item(p, q, item_bias=3 * b[1]),
        ),
        "link": (user_item(p, q), user_item(p, q, link="softmax")),
        "shift": (user_item(p, q), user_item(p, q + 2)),
        "shift of softmax inputs": (
            user_item(p, q, link="softmax"),
            user_item(p + 2, q, link="softmax"),
        ),
        "one side scaled": (user_item(p, q), user_item(p, q * np.arange(1, 6))),
        "sign": (user_item(p[:, :1], q[:, :1]), user_item(p[:, :1], -q[:, :1])),
        "dropped dimensions": (user_item(p, q), user_item(p[:, :2], q[:, :2])),
        "added dimensions": (user_item(p[:, :2], q[:, :2]), user_item(p, q)),
    }


@pytest.mark.parametrize("name", different_predictions())
@pytest.mark.parametrize("roles", [None, ["right"]])
def test_models_with_different_predictions_are_never_called_the_same(name, roles):
    found = compare(*different_predictions()[name], roles=roles)
    assert not found.agreement.same
    assert not found.explained
    text = found.explain()
    assert "predict the same" not in text
    assert "Nothing to do" not in text
    assert "same up to a" not in text
    assert all(change.mean_gauge < 1e-9 for change in found.changes.values()), (
        "no gauge was at work"
    )
    parts_add_up(found)


def test_users_are_not_explained_by_a_gauge_that_brings_only_items_nearer():
    """The items differ by a scale for each dimension, the users by noise, which their
    gauge does not take away.
    """
    p, q = pair()
    found = compare(
        user_item(p, q), user_item(p + pair(seed=1)[0], q * [1, 2, 4, 1, 3])
    )
    users, items = found.changes.values()
    assert users.outcomes["lost_to_gauge"] == 0 < users.outcomes["lost_to_learning"]
    assert items.outcomes["lost_to_gauge"] > items.outcomes["lost_to_learning"] > 0
    text = found.explain()
    assert "No change of axes explains any of it. Of 10 nearest users, " in text
    assert text.count(" are lost to a change of axes") == 1
    parts_add_up(found)


def test_a_gauge_that_explains_two_points_is_not_called_none():
    """A scale of 2.5 in one dimension of four, beside noise that is 0.6 times the rows.

    The gauge takes 0.02 of 0.35 away for users, less than the tenth that counts.
    """
    draw = np.random.default_rng(0)
    p, q, e, f = (draw.standard_normal((n, 4)) for n in (200, 150, 200, 150))
    scale = np.array([1, 1, 1, 2.5])
    after = {"left": (p + 0.6 * e) / scale, "right": (q + 0.6 * f) * scale}
    found = compare(user_item(p, q), user_item(after["left"], after["right"]))
    text = found.explain()
    assert "No change of axes explains any of it" not in text
    gauged = {"left": p / scale, "right": q * scale}
    before = {"left": p, "right": q}
    for role, change in found.changes.items():
        unit = [
            x[role] / np.linalg.norm(x[role], axis=1, keepdims=True)
            for x in (before, gauged, after)
        ]
        old, nearer, new = ((x @ x.T)[np.triu_indices(len(x), 1)] for x in unit)
        taken_away = np.abs(new - old).mean() - np.abs(new - nearer).mean()
        assert change.mean_gauge < 1e-12
        # A gauge that is fitted to noisy rows does not reach the one that was applied.
        assert 0.5 * taken_away < change.slight_gauge < taken_away
        assert 0.01 < change.slight_gauge < 0.03
        bound = np.ceil(100 * change.slight_gauge) / 100
        said = f" differ by {change.mean_total:.2f} "
        assert said in text
        assert f"A change of axes explains at most {bound:.2f} of it." in text


def test_a_gauge_that_spoils_the_other_side_explains_nothing():
    """Only items are stretched, so a gauge that stretches them moves the users away."""
    p, q = pair()
    found = compare(user_item(p, q), user_item(p, q * [1, 2, 4, 1, 3]))
    users, items = found.changes.values()
    assert (users.mean_total, users.slight_gauge) == (0, 0)
    assert items.slight_gauge <= 0.1 * items.mean_total


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("first", [False, True])
def test_change_in_dimensions_that_no_prediction_sees_counts_as_unseen(turned, first):
    p, q = pair()
    noise = np.random.default_rng(3).standard_normal((80, 1))
    wide = user_item(np.column_stack([p, np.zeros(100)]), np.column_stack([q, noise]))
    if turned:
        wide = Orthogonal(6).sample(rng=4).act(wide)
    models = (wide, user_item(p, q)) if first else (user_item(p, q), wide)
    found = compare(*models)
    change = found.changes["right"]
    assert found.explained
    assert change.mean_unseen == pytest.approx(change.mean_total)
    assert change.mean_total > 0.1
    assert change.outcomes["lost_to_unseen"] > 0
    assert change.outcomes["lost_to_gauge"] == change.outcomes["lost_to_learning"] == 0
    assert "Cosines change in dimensions that no prediction sees." in found.explain()
    assert "learned" not in found.explain()
    parts_add_up(found)


def head(rows):
    return FactorModel.from_softmax(rows, np.zeros(len(rows)))


def rows_of(n, k, seed=0):
    return np.random.default_rng(seed).standard_normal((n, k))


def linear(model):
    return GeneralLinear(model.rank, max_condition=4.0).sample(rng=0).act(model)


FEW, SOME = head(rows_of(65, 128)), head(rows_of(70, 32))
BOTH = user_item(rows_of(20, 15), rows_of(18, 15, 1))
CASES = [
    (
        FEW,
        linear(FEW),
        "These 65 labels are too few, or too alike, for 128 dimensions, so they do",
    ),
    (FEW, head(FEW.right + 0.5), "so they do not say which part"),
    (SOME, linear(SOME), "so they do not say which part"),
    (
        head(rows_of(300, 9) @ rows_of(9, 32, 1)),
        head(rows_of(300, 9) @ rows_of(9, 32, 2)),
        "so they do not say which part",
    ),
    (
        BOTH,
        user_item(rows_of(20, 15, 2), rows_of(18, 15, 3)),
        "20 users and 18 items are too few, or too alike",
    ),
    (
        BOTH,
        linear(BOTH),
        "the models differ only by a linear map of the axes",
    ),
    (
        FEW,
        Diagonal(128, max_condition=4.0).sample(rng=0).act(FEW),
        "A change of axes (one scale for each dimension, condition number",
    ),
    (
        head(rows_of(210, 32)),
        linear(head(rows_of(210, 32))),
        "A change of axes (a linear map of the axes, condition number",
    ),
    (head(rows_of(210, 32)), head(rows_of(210, 32, 1)), "OTHER SPACE"),
    (
        *(
            FactorModel.from_vectors(rows_of(65, 99, i)).replace(objective="prediction")
            for i in (0, 1)
        ),
        "OTHER SPACE",
    ),
    (
        user_item(rows_of(15, 20), rows_of(300, 20, 1)),
        user_item(rows_of(15, 20, 2), rows_of(300, 20, 3)),
        "OTHER SPACE",
    ),
]


@pytest.mark.parametrize(
    ("one", "two", "says", "too_few"),
    [(*case, at < 5) for at, case in enumerate(CASES)],
)
def test_no_gauge_is_claimed_for_fewer_rows_than_dimensions(one, two, says, too_few):
    found = compare(one, two)
    text, shown = found.explain(), str(summary_table(found))
    assert says in text
    assert ("so they do not say which part of the change" in text) == too_few
    assert (
        any(
            phrase in text
            for phrase in (
                "is a real change, on",
                "explain",
                "OTHER SPACE",
                "differ only by",
            )
        )
        != too_few
    )
    assert (
        any(
            name in shown
            for name in (
                "to a change of axes",
                "to a real change",
                "by a change of axes",
                "by a real change",
                "on the same axes",
            )
        )
        != too_few
    )
    assert len(moved_table(found, "right").headings) == 4 - 2 * too_few
    told = found.to_dict()
    assert (told["too_few_for"], told["condition_number"] is None) == (
        one.rank * too_few,
        too_few,
    )
    assert (told["changes"][0]["mean_abs_gauge"] is None) == too_few


def test_a_shift_counts_as_a_gauge_only_if_a_bias_or_the_link_absorbs_it():
    p, q = pair()
    shifted = [
        [user_item(p, x, link=link) for x in (q, q + 2)]
        for link in ("softmax", "ranking")
    ]
    shifted += [
        [
            user_item(p, q, user_bias=np.zeros(100)),
            user_item(p, q + 2, user_bias=-2 * p.sum(axis=1)),
        ]
    ]
    for models in shifted:
        found = compare(*models)
        assert (found.group, found.explained) == ("affine", True)
        assert (
            "the models differ only by a linear map of the axes and a shift"
            in found.explain()
        )
    plain = compare(user_item(p, q), user_item(p, q + 2))
    assert "affine" not in plain.changes["right"].unexplained
