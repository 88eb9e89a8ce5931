"""Both sides of each bound that decides about forms, positions and habits, to the last unit where it is one."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from embaudit.canonical import habits, positions
from embaudit.canonical.balance import BALANCED, counted_balance
from embaudit.canonical.equivalents import CANONICAL, EquivalentModel, canonical_models, equivalent_at
from embaudit.canonical.form import EXPONENTS, CanonicalForm, canonical_form, mapped_blocks, prediction_map
from embaudit.canonical.habits import NEAR, SAME_SHAPE, Habit, _is_diagonal, _is_level, log_condition, recognise
from embaudit.canonical.identified import prediction_view
from embaudit.canonical.position import Position
from embaudit.canonical.positions import hidden_biases, nearest_exponent, position
from embaudit.canonical.reduction import seen_directions
from embaudit.canonical.words import AT, _between, _counted, _next, _rank, _where
from embaudit.errors import InputError
from embaudit.gauges import Gauge
from embaudit.kernels import passes
from embaudit.model import Equivalence, FactorModel

EPS = float(np.finfo(np.float64).eps)


def near(value):
    return float(np.nextafter(value, np.inf))


# --- habits ------------------------------------------------------------------------------------------------------


def test_shapes_are_told_up_to_a_thousandth():
    for off, same in ((SAME_SHAPE, True), (near(SAME_SHAPE), False)):
        assert _is_diagonal(np.array([[1.0, off], [off, 1.0]])) is same
        assert _is_diagonal(np.array([[4.0, 6 * off], [6 * off, 9.0]])) is (same or off == 0)
    for least, same in ((999.0, True), (998.9, False)):
        assert _is_level(np.diag([1000.0, least])) is same


def test_a_gauge_of_just_the_balanced_condition_is_balanced(monkeypatch):
    skew = canonical_form(FactorModel([[3.0, 1.0], [0.0, 2.0]], [[1.0, 0.0], [2.0, 5.0]]))
    for distance, habit in ((np.log(BALANCED), Habit.BALANCED), (near(np.log(BALANCED)), Habit.UNKNOWN)):
        asked = []
        monkeypatch.setattr(habits, "log_condition", lambda form, e, d=distance, a=asked: a.append(e) or d)
        assert recognise(skew) is habit
        assert asked == [0.5]
    one = FactorModel([[3.0, 0.0], [1.0, 0.0]], [[1.0, 2.0], [4.0, 1.0]])
    assert recognise(canonical_form(one)) is Habit.UNKNOWN


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_a_condition_that_rounding_makes_is_1(monkeypatch, rank):
    form = SimpleNamespace(is_full_rank=True, rank=rank, left_metric="left", right_metric="right")
    for roundings, kept in ((64.0, False), (64.5, True)):
        distance = roundings * rank * EPS
        powers = []
        monkeypatch.setattr(habits, "_log_largest", lambda m, f, p, d=distance, a=powers: a.append((m, p)) or d)
        assert log_condition(form, 0.25) == (distance if kept else 0.0)
        assert powers == [("left", -0.75), ("right", -0.25)]


# --- positions ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("largest", [1.0, 8.0])
def test_where_rounding_parts_the_singular_values_every_exponent_is_the_same(monkeypatch, largest):
    monkeypatch.setattr(positions, "log_condition", lambda form, e: (e - 0.3) ** 2)
    for roundings, exponent in ((128, 0.5), (130, 0.3)):
        values = largest * np.array([1.0, 1 - roundings * EPS, 0.1])
        found, distance = nearest_exponent(SimpleNamespace(rank=2, singular_values=values))
        assert found == pytest.approx(exponent, abs=1e-6)
        assert distance == pytest.approx((found - 0.3) ** 2)
    # The ends are tried themselves.
    for end in (0.0, 0.5, 1.0):
        monkeypatch.setattr(positions, "log_condition", lambda form, e, to=end: abs(e - to))
        assert nearest_exponent(SimpleNamespace(rank=2, singular_values=np.array([2.0, 1.0]))) == (end, 0.0)


def side_of(spread, mean, *, n_rows=9, columns=()):
    return SimpleNamespace(
        constant_columns=columns,
        n_rows=n_rows,
        mean=np.array(mean),
        centred_root=np.diag(np.array(spread)),
        precision=1e-3,
    )


@pytest.mark.parametrize(
    ("spread", "mean", "found"),
    [
        # A direction is constant where its spread is rounding beside the widest one, or beside the mean.
        ((1.0, 0.016), (0.0, 0.5), 0.5),
        ((1.0, 0.0165), (0.0, 0.5), None),
        ((1.0, 0.0165), (0.0, 2.0), 2.0),
        ((1.0, 0.033), (0.0, 2.0), None),
        ((2.0, 0.031), (0.0, 0.5), 0.5),
        # And its value counts where it is no rounding of the mean.
        ((1.0, 0.0), (1.0, 0.032), 0.032),
        ((1.0, 0.0), (1.0, 0.0315), None),
        ((1.0, 0.0), (0.0, 0.0), None),
    ],
)
def test_a_hidden_bias_is_a_constant_that_is_seen(spread, mean, found):
    biases = hidden_biases("left", side_of(spread, mean))
    assert [(one.role, one.column) for one in biases] == ([] if found is None else [("left", None)])
    assert [one.value for one in biases] == ([] if found is None else [pytest.approx(found)])


def test_few_rows_lie_on_a_plane_whatever_they_are():
    for n_rows, found in ((3, 0), (4, 1)):
        assert len(hidden_biases("left", side_of((1.0, 0.0), (0.0, 0.5), n_rows=n_rows))) == found
    named = hidden_biases("right", side_of((1.0, 0.0), (7.0, 0.5), n_rows=2, columns=(1, 0)))
    assert [(one.role, one.column, one.value) for one in named] == [("right", 1, 0.5), ("right", 0, 7.0)]


# --- forms, balance, directions ----------------------------------------------------------------------------------


def test_a_map_that_is_singular_to_rounding_is_no_gauge():
    for roundings, there in ((2.0, False), (2.02, True)):
        form = SimpleNamespace(
            is_full_rank=True,
            left_map=lambda exponent, r=roundings: np.diag([8.0, 8.0 * r * 2 * EPS]),
            left_centre=np.array([1.0, 2.0]),
            right_centre=np.array([3.0, 4.0]),
            shifts_left=True,
        )
        gauge = CanonicalForm.gauge(form, 0.5)
        assert (gauge is not None) is there
    np.testing.assert_allclose(gauge.left_shift, -form.left_centre @ gauge.left)
    np.testing.assert_allclose(gauge.right_shift, -form.right_centre @ gauge.right)
    form.shifts_left = False
    assert not CanonicalForm.gauge(form, 0.5).shifts_left


@pytest.mark.parametrize("rank", [2, 3])
def test_counts_that_miss_a_direction_but_for_rounding_decide_nothing(rank):
    for roundings, known in ((63.9, False), (64.1, True)):
        left = np.diag([4.0] * (rank - 1) + [4.0 * roundings * rank * EPS])
        ones = {"user_counts": np.ones(rank), "item_counts": np.ones(rank)}
        model = FactorModel.from_user_item(left, np.eye(rank), **ones)
        assert (counted_balance(model, rank) is not None) is known
        assert counted_balance(model, rank - 1) == pytest.approx(1.0)
        assert counted_balance(model, rank + 1) is None


@pytest.mark.parametrize("side", ["left", "right"])
def test_a_column_is_used_where_its_spread_is_no_rounding_of_its_length(side):
    whole = np.diag([1.0, 1.0])
    for spread, width in ((0.016, 1), (0.0165, 2)):
        moved = SimpleNamespace(root=whole, centred_root=np.diag([1.0, spread]), precision=1e-3)
        still = SimpleNamespace(root=whole, centred_root=None, precision=1e-4)
        sides = {"left": still, "right": still} | {side: moved}
        model = SimpleNamespace(
            left=1, predicts=Equivalence.SCORES, sides=("left", "right"), rank=2, moments=sides.__getitem__
        )
        np.testing.assert_array_equal(seen_directions(model, (side,)), np.eye(2)[:, :width])


# --- equal models ------------------------------------------------------------------------------------------------


def test_of_two_equal_shifts_that_of_the_right_rows_is_told():
    model = FactorModel([[1.0, 0.0], [0.0, 1.0]], [[4.0, 0.0], [0.0, 4.0]])
    for left, right, told in ((2.0, 2.0, 0.5), (2.0, 1.9, 2.0), (1.9, 2.0, 0.5), (2.0, 0.0, 2.0)):
        gauge = Gauge.translation(2, left=[left, 0.0], right=[0.0, right])
        made = EquivalentModel.by(gauge, "one", "translation")
        assert (made.name, made.kind, made.title, made.shift, made.condition_number) == (
            "one", "translation", "one", 2.0, 1.0,
        )  # fmt: skip
        assert made.shift_in(model) == told
    named = EquivalentModel.by(gauge, "one", "affine", title="all", exponent=0.25, shift=9.0)
    assert (named.title, named.exponent, named.shift) == ("all", 0.25, 9.0)
    assert made.rows(model, "left")[:].tolist() == [[3.0, 0.0], [2.0, 1.0]]


def test_a_model_that_no_gauge_reaches_is_recorded_by_its_map():
    model = FactorModel([[2.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [[1.0, 1.0, 5.0], [1.0, -1.0, 2.0], [0.0, 3.0, 1.0]])
    form = canonical_form(model)
    found = equivalent_at(form, 0.25, "a quarter")
    kappa = np.linalg.cond(form.left_map(0.25))
    assert (found.name, found.kind, found.title, found.shift, found.gauge, found.exponent) == (
        "a quarter", CANONICAL, "a quarter", 0.0, None, 0.25,
    )  # fmt: skip
    assert np.isnan(found.condition_number)
    assert found.map_condition == found.amplification == pytest.approx(kappa)
    assert found.form is form
    assert found.shift_in(model) == 0.0
    for side in ("left", "right"):
        np.testing.assert_allclose(found.rows(model, side)[:], getattr(found.of(model), side), atol=1e-13)
    names = [(one.name, one.title, one.kind, one.exponent) for one in canonical_models(model)]
    assert names == [
        ("exponent 0 (users whitened)", "users whitened", CANONICAL, 0.0),
        ("exponent 0.5 (balanced)", "balanced", CANONICAL, 0.5),
        ("exponent 1 (items whitened)", "items whitened", CANONICAL, 1.0),
    ]
    first, middle, last = canonical_models(model)
    assert [one.called("right") for one in (first, middle, last)] == [
        "users whitened (prediction cosine)", "balanced", "items whitened",
    ]  # fmt: skip
    assert [one.called("left") for one in (first, middle, last)] == [
        "users whitened", "balanced", "items whitened (prediction cosine)",
    ]  # fmt: skip
    assert EquivalentModel.by(Gauge.identity(2), "one", "linear", title="all").called("right") == "one"


# --- words -------------------------------------------------------------------------------------------------------


def placed(**known):
    given = {
        "roles": ("user", "item"), "link": SimpleNamespace(predicts=None), "effective_rank": 2, "rank": 2,
        "exponent": 0.5, "distance": 0.0, "distances": {"left-whitened": 2.0, "balanced": 0.0, "right-whitened": 2.0},
    }  # fmt: skip
    return SimpleNamespace(**given | known)


def test_words_change_where_numbers_pass_a_bound():
    assert _where(placed(distance=NEAR)).startswith("Your cosines sit at exponent 0.50: balanced, each latent")
    assert _where(placed(distance=near(NEAR))).startswith("Your cosines sit at no standard place: the nearest exponent")
    below = float(np.log(BALANCED))
    while np.exp(below) > BALANCED:
        below = float(np.nextafter(below, 0))
    for away, words in (
        (AT, "nearly balanced, each"), (np.nextafter(AT, 0), "balanced, each"), (below, "nearly balanced, each"),
        (below + 1e-9, "between balanced (a gauge of condition number 1.1 away) and right-whitened (7.39 away), near"),
    ):  # fmt: skip
        place = placed(distances={"left-whitened": 2.0, "balanced": away, "right-whitened": 2.0})
        assert _where(place).startswith(f"Your cosines sit at exponent 0.50: {words}")
    assert _between(placed(exponent=np.nextafter(0.5, 0))).startswith("between left-whitened (a gauge of condition")
    assert _between(placed()).startswith("between balanced (a gauge of condition number 1 away) and right-whitened (7.")
    assert _counted(placed(counted_distance=below)).startswith("Weighted by interactions, they are balanced within κ")
    assert _counted(placed(counted_distance=below + 1e-9)).startswith("Training with weight decay at every interaction")
    assert _counted(placed(counted_distance=None)) == ""
    assert [_rank(placed(rank=rank)) for rank in (2, 3, 4)] == [
        "",
        "1 of the 3 dimensions is seen by no prediction; it moves the cosines and nothing else.",
        "2 of the 4 dimensions are seen by no prediction; they move the cosines and nothing else.",
    ]
    assert _next(placed(effective_rank=1)) == "Do not compare items by cosine; compare their scores."
    cosines = SimpleNamespace(predicts=Equivalence.COSINES)
    assert _next(placed(link=cosines)) == (
        "Check with the rank test whether training on the cosine pinned the factors."
    )


def test_scores_that_vanish_have_no_directions():
    apart = np.array([[1.0, 0.0], [2.0, 0.0]]), np.array([[0.0, 1.0], [0.0, 3.0]])
    turn = np.array([[0.6, 0.8], [-0.8, 0.6]])
    for left, right in (apart, (apart[0] @ turn, apart[1] @ turn)):
        with pytest.raises(InputError) as refused:
            seen_directions(FactorModel(left, right), ())
        assert str(refused.value) == (
            "the scores must differ from zero; got factors whose products all vanish; check the input."
        )
    assert seen_directions(FactorModel(np.eye(2), np.eye(2)[:1]), ()).tolist() == [[1.0], [0.0]]


def test_prediction_vectors_are_those_of_the_map_of_their_side():
    left, right = np.random.default_rng(2).standard_normal((2, 9, 3))
    model = FactorModel(left, right)
    form = canonical_form(model)
    for role, rows, other in (("right", right, left), ("left", left, right)):
        found = prediction_view(model, form, role)
        whole = rows @ prediction_map(form, role)
        np.testing.assert_allclose(np.vstack([found[:4], found[4:]]), whole, rtol=1e-9)
        scores = other @ rows.T
        np.testing.assert_allclose(whole @ whole.T, scores.T @ scores, rtol=1e-9, atol=1e-9)
    with pytest.raises(InputError) as refused:
        prediction_map(form, "cross")
    assert str(refused.value) == """role must be one of "left", "right"; got 'cross'."""


def test_a_position_is_a_table_of_all_gauges():
    model = FactorModel(*np.random.default_rng(3).standard_normal((2, 9, 3)))
    found = position(model)
    frame = found.to_frame()
    assert frame.index.name == "gauge"
    assert frame.index.tolist() == [*found.distances, "nearest"]
    assert frame["exponent"].tolist() == [*(EXPONENTS[name] for name in found.distances), found.exponent]
    wanted = np.exp([*found.distances.values(), found.distance])
    np.testing.assert_allclose(frame["condition"], wanted, rtol=1e-15)


@pytest.mark.parametrize(
    ("values", "rank"), [([9.0, 3.0, 0.94], 2), ([9.0, 3.0, 0.96], 3), ([10.0, 1.0], 1), ([1.0], 1)]
)
def test_directions_count_until_they_hold_nearly_all_of_the_scores(values, rank):
    assert Position.energy_rank.fget(SimpleNamespace(singular_values=np.array(values))) == rank


def test_each_chunk_of_mapped_rows_is_as_long_as_it_says(monkeypatch):
    x = np.arange(14.0).reshape(7, 2)
    chunks = [slice(0, 3), slice(3, 5), slice(5, 7)]
    real = passes.row_blocks
    monkeypatch.setattr(passes, "row_blocks", lambda *shape, **kept: real(*shape, **kept) if kept else chunks)
    found = list(mapped_blocks(x, lambda rows: rows[:, :1] + 1, 1))
    assert [rows for rows, _ in found] == chunks
    assert [block.ravel().tolist() for _, block in found] == [[1.0, 3.0, 5.0], [7.0, 9.0], [11.0, 13.0]]
