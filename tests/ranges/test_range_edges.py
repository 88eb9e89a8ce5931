"""Ranges where formulas divide by zero, meet at a pole, or hold for several reasons at once."""

from __future__ import annotations

import numpy as np
import pytest

import embaudit as ea
from embaudit.errors import InputError
from embaudit.ranges.cross_diagonal import CrossDiagonalReach, _shadow_limit
from embaudit.ranges.cross_translation import CrossTranslationReach
from embaudit.ranges.diagonal import DiagonalReach, weighing
from embaudit.ranges.half_angle import cosine_of
from embaudit.ranges.linear import bisector_and_normal, magnified
from embaudit.ranges.reach import as_pair_table
from embaudit.ranges.summary import summarise
from embaudit.ranges.sweep import NEVER, best_interval
from embaudit.ranges.translation import shift_to_reach
from embaudit.ranges.weights import _fine_scan, largest_cosine


def ends_of(found):
    return found.lower.tolist(), found.upper.tolist(), found.lower_attained.tolist(), found.upper_attained.tolist()


def cross(left, right, group, pairs=((0, 0),)):
    return ea.cosine_range(ea.FactorModel(left, right), group, role="cross", pairs=np.array(pairs))


@pytest.mark.parametrize(("right", "cosine"), [([[0.0, 3.0]], 1.0), ([[0.0, -3.0]], -1.0)])
def test_rows_on_one_axis_cannot_move_without_a_bound_on_diagonals(right, cosine):
    found = cross([[0.0, 2.0]], right, ea.gauges.Diagonal(2))
    assert ends_of(found) == ([cosine], [cosine], [True], [True])
    for end in ("lower", "upper"):
        gauge = found.witness(0, end)
        assert gauge.act(found_model([[0.0, 2.0]], right)).cosines("cross", np.array([[0, 0]]))[0] == cosine


def found_model(left, right):
    return ea.FactorModel(left, right)


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        # Both off an axis: towards 0 only in the limit, away from it the shared zero is no hindrance.
        ([[1.0, 1.0, 0.0]], [[1.0, 1.0, 0.0]], ([0.0], [1.0], [False], [True])),
        # One on an axis, the other beside it: neither end is attained.
        ([[1.0, 0.0]], [[1.0, 1.0]], ([0.0], [1.0], [False], [False])),
        ([[1.0, 0.0]], [[-1.0, 1.0]], ([-1.0], [0.0], [False], [False])),
        # At right angles nothing moves: both ends are attained for a third reason.
        ([[1.0, 0.0]], [[0.0, 1.0]], ([0.0], [0.0], [True], [True])),
        ([[1.0, 1.0]], [[1.0, -1.0]], ([0.0], [0.0], [True], [True])),
    ],
)
def test_what_is_attained_under_unbounded_diagonals(left, right, expected):
    found = cross(left, right, ea.gauges.Diagonal(len(left[0])))
    np.testing.assert_allclose(np.column_stack(ends_of(found)[:2]), np.column_stack(expected[:2]), atol=1e-15)
    assert ends_of(found)[2:] == expected[2:]


def test_each_cause_of_attaining_an_end_counts_by_itself():
    x = np.array([[0.0, 2.0], [1.0, 1.0], [1.0, 0.0], [3.0, 0.0]])
    y = np.array([[0.0, 1.0], [1.0, -1.0], [1.0, 1.0], [0.0, 4.0]])
    ends = CrossDiagonalReach(None).ends(x, y)
    assert ends.lower_attained.tolist() == [True, True, False, True]
    assert ends.upper_attained.tolist() == [True, True, False, True]


def test_a_tied_entry_is_certain_of_nothing_and_others_stay_at_a_condition_of_one():
    """At κ = 1 no cosine moves, yet of two neighbours as near as each other either may be in the list."""
    rows = np.array([[1.0, 0.0], [0.8, 0.6], [0.8, -0.6], [-1.0, 0.1]])
    found = ea.certified_neighbours(ea.FactorModel.from_vectors(rows), n=1)
    assert found.indices[0].tolist() == [1]
    assert found.radii[0].tolist() == [1.0]
    assert (found.radii[1:] > 1).all()
    assert found.tied_share == 0.25
    assert found.curve([1.0]).tolist() == [0.75]
    assert ea.certified_neighbours(ea.FactorModel.from_vectors(rows), n=2).radii[0].min() > 1


@pytest.mark.parametrize("max_shift", [None, 3.0])
def test_a_witness_where_the_moving_row_points_along_the_still_one(max_shift):
    """The plane of both rows is not known: any direction across the still row will do."""
    x, y = np.array([2.0, 0.0]), np.array([1.0, 0.0])
    reach = CrossTranslationReach("right", max_shift)
    for y in (np.array([1.0, 0.0]), np.array([-1.0, 0.0])):
        for end, wanted in (("lower", -1.0), ("upper", 1.0)):
            gauge = reach.witness(x, y, end, 1e-6)
            moved = gauge.act(ea.FactorModel(x[None], y[None], link="softmax"))
            assert moved.cosines("cross", np.array([[0, 0]]))[0] == pytest.approx(wanted, abs=1e-9)
            assert max_shift is None or np.linalg.norm(moved.right[0] - y) <= max_shift * (1 + 1e-15)


def test_a_witness_turns_about_a_pole_by_less_than_a_right_angle():
    x, y = np.array([0.0, 0.0, 2.0]), np.array([0.0, 0.0, 1.0])
    reach = CrossTranslationReach("right", 0.5)
    ends = reach.ends(x[None], y[None])
    angle = 2 * np.arctan([ends.lower[0], ends.upper[0]])
    np.testing.assert_allclose(angle, [np.pi / 6, 0], atol=1e-15)
    moved = y + (reach.witness(x, y, "lower", 1e-9).act(ea.FactorModel(x[None], y[None], link="softmax")).right[0] - y)
    assert moved @ x / np.linalg.norm(moved) / 2 == pytest.approx(np.cos(np.pi / 6), abs=1e-12)
    assert np.linalg.norm(moved - y) <= 0.5 * (1 + 1e-15)


def test_pairs_with_and_without_a_cosine_beside_each_other():
    rows = np.array([[1.0, 1.0], [0.0, 0.0], [1.0, -2.0]])
    model = ea.FactorModel.from_vectors(rows)
    pairs = np.array([[0, 2], [0, 1], [2, 0], [1, 2]])
    for group in (ea.gauges.Diagonal(2, max_condition=2), ea.gauges.GeneralLinear(2, max_condition=2)):
        found = ea.cosine_range(model, group, pairs=pairs)
        alone = ea.cosine_range(model, group, pairs=pairs[:1])
        assert np.isnan(found.lower).tolist() == np.isnan(found.upper).tolist() == [False, True, False, True]
        assert found.lower[0] == found.lower[2] == alone.lower[0]
        assert found.upper[0] == found.upper[2] == alone.upper[0]
        assert not found.lower_attained[[1, 3]].any()
        summary = summarise(found, "x")
        assert (summary.n_undefined, summary.attained_share) == (2, 1.0)


def test_cosines_of_which_some_are_none():
    given = np.array([0.5, np.nan, 0.0, -0.5])
    found = ea.condition_to_reach(given, 0.5)
    assert np.isnan(found).tolist() == [False, True, False, False]
    assert found[[0, 2, 3]].tolist() == [ea.condition_to_reach(cosine, 0.5) for cosine in (0.5, 0.0, -0.5)]
    assert found[0] == 1.0


@pytest.mark.parametrize("least", [5e-324, 1e-320, 1e-309])
def test_half_angles_whose_reciprocals_overflow(least):
    """Rows that differ by less than the smallest ordinary number: no warning, and ends of 1."""
    assert cosine_of(np.array([least, 1 / least if least > 1e-308 else np.inf])).tolist() == [1.0, -1.0]
    x, y = np.array([[1.0, 0.0]]), np.array([[1.0, least]])
    for right in (y, -y):
        for group in (ea.gauges.Diagonal(2, max_condition=2.0), ea.gauges.Diagonal(2), ea.gauges.GeneralLinear(2)):
            found = cross(x, right, group)
            assert (np.isfinite(found.lower) & np.isfinite(found.upper)).all()
            assert (found.lower <= found.upper).all()
    rows = ea.FactorModel.from_vectors(np.concatenate([x, y, -y]))
    found = ea.cosine_range(rows, ea.gauges.Diagonal(2, max_condition=2.0), pairs=[[0, 1], [0, 2]])
    np.testing.assert_array_equal([found.lower, found.upper], [[1.0, -1.0], [1.0, -1.0]])


def test_weights_become_a_gauge_whose_extremes_are_each_others_inverse():
    """So neither side takes more of it; weights of which one side would lose a number are refused."""
    for side in ("left", "right"):
        scales = np.diag(weighing(np.array([4.0, 1.0, 9.0]), side).on(side)[0])
        np.testing.assert_allclose(scales, np.array([2.0, 1.0, 3.0]) / np.sqrt(3), rtol=1e-15)
    with pytest.raises(InputError) as raised:
        weighing(np.array([1e-310, 1e300]), "right")
    assert str(raised.value) == "no float64 gauge comes that close to this end; ask for a larger tol."


# --- steps of the exact intervals, each by itself -------------------------------------------------------------------


def test_how_much_larger_a_sine_became():
    found = magnified(np.array([1.0, 0.5, np.inf]), np.array([0.5, 0.5, 0.0]))
    assert found.tolist() == [1 / 0.8, 1.0, 1.0]


def test_a_shift_of_just_the_length_of_a_row_turns_it_by_a_right_angle_at_most():
    x, y = np.array([[1.0, 0.0]]), np.array([[2.0, 0.0]])
    for shift, tangent, attained in ((2.0, 1.0, False), (2.0000001, np.inf, True)):
        found = CrossTranslationReach("right", shift).ends(x, y)
        assert (found.lower.tolist(), found.lower_attained.tolist()) == ([tangent], [attained])
        assert (found.upper.tolist(), found.upper_attained.tolist()) == ([0.0], [attained])


def test_only_pairs_of_two_ratios_attain_an_end_of_unbounded_diagonals():
    x, y = np.array([[1.0, 1.0, 1.0]] * 3), np.array([[1.0, 2.0, 2.0], [1.0, 2.0, 3.0], [1.0, -2.0, 2.0]])
    ends = DiagonalReach("right").ends(x, y)
    assert ends.lower_attained.tolist() == [True, False, False]
    np.testing.assert_allclose(cosine_of(ends.lower[:2]), [2 * np.sqrt(2) / 3, 2 * np.sqrt(3) / 4])


@pytest.mark.parametrize("tol", [1e-2, 1e-4])
def test_an_end_of_zero_across_is_approached_to_half_the_tolerance(tol):
    model = found_model([[1.0, 1.0]], [[1.0, 0.5]])
    gauge = cross(model.left, model.right, ea.gauges.GeneralLinear(2)).witness(0, "lower", tol)
    # sech of log(4 / tol).
    assert gauge.act(model).cosines("cross", np.array([[0, 0]]))[0] == pytest.approx(2 / (4 / tol + tol / 4), rel=1e-6)


def test_a_pair_across_that_is_as_near_to_zero_as_asked_for_is_left_as_it_is():
    found = cross([[1.0, 0.0]], [[1e-4, 1.0]], ea.gauges.GeneralLinear(2))
    assert found.witness(0, "lower", 1e-3).condition_number == pytest.approx(1, rel=1e-12)
    assert found.witness(0, "lower", 1e-5).condition_number > 9


@pytest.mark.parametrize("role", ["right", "cross"])
def test_weights_that_vanish_do_so_by_fourths(role):
    rows = np.array([[1.0, 1.0, 1.0], [1.0, 2.0, 3.0]])
    model = found_model(rows[:1], rows[1:]) if role == "cross" else ea.FactorModel.from_vectors(rows)
    pairs = np.array([[0, 0]]) if role == "cross" else np.array([[0, 1]])
    found, scales = ea.cosine_range(model, ea.gauges.Diagonal(3), role=role, pairs=pairs), []
    for tol in (1e-2, 1e-5):
        gauge = found.witness(0, "lower", tol)
        assert abs(gauge.act(model).cosines(role, pairs) - found.lower)[0] <= tol / 2
        scales.append(np.log2(np.diag(np.asarray(gauge.left))))
    halvings = 2 * (scales[1] - scales[0])
    np.testing.assert_allclose(halvings, halvings.round(), atol=1e-9)
    assert halvings[0] == {"right": -5, "cross": 10}[role]


def test_a_shift_before_a_stretch_is_shortened_by_what_is_seen_after_it():
    rows = np.array([[1.0, 0.5], [0.5, 1.0]])
    # A budget of the rows' own length, with which no float64 shift is sure to pass them.
    own, shortened = float(np.linalg.norm(rows[0])), []
    for kappa in (1.0, 1e3):
        group = ea.gauges.Affine(2, max_condition=kappa, max_shift=own)
        found = ea.cosine_range(ea.FactorModel.from_softmax(rows), group, pairs=[[0, 1]])
        assert found.upper_attained.tolist() == [False]
        gauge = found.witness(0, "upper", 1e-3)
        shortened.append(np.log2(1 - np.linalg.norm(group.shift_of(gauge)) / own))
    # By a factor of 1 - 2**-p: the stretch hides most of what is missing.
    assert shortened == pytest.approx([-7, -4])


@pytest.mark.parametrize("pairs", [[1, 2], [3, 1, 0, 2]])
def test_a_pair_by_itself_needs_no_table(pairs):
    assert as_pair_table(pairs, 4, 4).tolist() == [pairs]


def test_what_tells_cosines_near_one_apart_finds_the_same_intervals():
    draw = np.random.default_rng(0)
    count, x = draw.integers(1, 5, 30), draw.uniform(0.5, 2.0, (4, 30))
    y = x * np.sort(draw.uniform(0.5, 4.0, (4, 30)), axis=0) * np.where(np.arange(4)[:, None] < count, 1.0, -0.1)
    ratios = np.where(np.arange(4)[:, None] < count, np.log(np.abs(y / x)), NEVER)
    start, stop, cosine = best_interval(x.T, y.T, ratios.T, 9.0)
    again, until, tangent = _fine_scan(x, y, count, 9.0)
    assert start.tolist() == again.tolist()
    assert stop.tolist() == until.tolist()
    np.testing.assert_allclose(1 / (1 + tangent**2), cosine**2, rtol=1e-12)


def test_where_gain_and_loss_are_level_the_gaining_coordinates_are_heavy():
    found = largest_cosine(np.array([[0.1, 0.2]]), np.array([[0.1, -0.2]]), 2.0)
    assert (found.tangent.tolist(), found.weights.tolist()) == ([1.0], [[4.0, 1.0]])


def test_weights_reach_the_cosine_that_they_stand_for_however_far_apart_they_may_be():
    x = np.array([[0.048324624414523384, 1.029035549437811, 3.9097722167013955e-05]])
    y = np.array([[-2499.1757985122217, -1.876918992454176, -1.4999798155719431e-05]])
    found = largest_cosine(x, y, 1e8)
    w, a, b = (z.astype(np.longdouble) for z in (found.weights, x, y))
    reached = (w * a * b).sum(axis=1) / np.sqrt((w * a * a).sum(axis=1) * (w * b * b).sum(axis=1))
    np.testing.assert_allclose(reached.astype(float), cosine_of(found.tangent), rtol=1e-7)


def test_axes_of_nearly_parallel_rows_are_exact():
    x, y = np.array([1.0, 0.0]), np.array([1.0, 1e-12])
    for sign in (1.0, -1.0):
        bisector, normal = bisector_and_normal(x, sign * y)
        if sign < 0:
            bisector, normal = normal, bisector
        np.testing.assert_allclose(np.abs(bisector), [1.0, 5e-13], rtol=1e-9)
        np.testing.assert_allclose(np.abs(normal), [5e-13, 1.0], rtol=1e-9)


def test_equal_rows_reach_nothing_but_themselves():
    assert shift_to_reach([1.0, 1.0], [1.0, 1.0], [1.0, 0.5, -1.0]).tolist() == [0.0, np.inf, np.inf]
    # Half of the chord's length, as the middle is at a right angle to the origin.
    assert shift_to_reach([1.0, 0.5], [1.0, -0.5], -1.0) == pytest.approx(1.0)
    assert shift_to_reach([1.0, 0.5], [1.0, -0.5], 0.0) == pytest.approx(0.5)


def test_a_lone_zero_is_weighed_as_lightly_or_as_heavily_as_asked():
    x, y = np.array([[1.0, 2.0, 0.0, 1.0, 0.0]]), np.array([[3.0, 1.0, 1.0, 0.0, 0.0]])
    assert _shadow_limit(x, y, 0.25).tolist() == [[3.0, 0.5, 12.0, 0.125, 1.75]]


def test_cosines_of_a_range_are_those_of_the_model():
    draw = np.random.default_rng(0)
    model = ea.FactorModel.from_vectors(draw.standard_normal((20, 7)))
    pairs = draw.integers(20, size=(50, 2))
    found = ea.cosine_range(model, ea.gauges.GeneralLinear(7), pairs=pairs)
    np.testing.assert_array_equal(found.before, model.cosines("right", pairs))


def test_nothing_moves_where_a_cosine_is_within_half_the_tolerance():
    model = ea.FactorModel.from_vectors([[1.0, 1.0, 1.0], [1.0, 2.0, 3.0]])
    found = ea.cosine_range(model, ea.gauges.Diagonal(3), pairs=[[0, 1]])
    away = float((found.before - found.lower)[0])
    for share, still in ((2.01, True), (1.99, False)):
        gauge = found.witness(0, "lower", share * away)
        assert (gauge.condition_number == 1) == still


@pytest.mark.parametrize("apart", [0.3, 0.02, 0.004])
def test_the_largest_cosine_is_that_of_the_best_weights(apart):
    draw = np.random.default_rng(3)
    x = draw.uniform(0.5, 2.0, (20, 3))
    y = x * (1 + apart * draw.uniform(-1, 1, (20, 3)))
    found = largest_cosine(x, y, 1.5)
    best = np.full(20, -1.0)
    for weights in np.array(np.meshgrid(*[[1.0, 1.5**2]] * 3)).reshape(3, -1).T:
        a, b = x * np.sqrt(weights), y * np.sqrt(weights)
        norms = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
        best = np.maximum(best, np.einsum("ij,ij->i", a, b) / norms)
    np.testing.assert_allclose(found.tangent, np.sqrt((1 - best) / (1 + best)), rtol=1e-8)


@pytest.mark.parametrize("tol", [1e-2, 1e-4])
def test_an_end_that_is_a_limit_of_stretches_is_approached_to_a_quarter_of_the_tolerance(tol):
    model = ea.FactorModel.from_vectors([[1.0, 0.5], [0.5, 1.0]])
    found = ea.cosine_range(model, ea.gauges.GeneralLinear(2), pairs=[[0, 1]])
    for end, sign in (("upper", 1.0), ("lower", -1.0)):
        after = found.witness(0, end, tol).act(model).cosines("right", np.array([[0, 1]]))[0]
        assert 1 - sign * after == pytest.approx(tol / 4, rel=tol)
    # Where it is as near already, nothing is stretched.
    near = ea.FactorModel.from_vectors([[1.0, 0.0], [1.0, 1e-3]])
    still = ea.cosine_range(near, ea.gauges.GeneralLinear(2), pairs=[[0, 1]]).witness(0, "upper", tol)
    assert still.condition_number == pytest.approx(1.0)


def test_rows_of_one_length_are_shifted_straight_towards_each_other_or_apart():
    model = ea.FactorModel.from_softmax([[1.0, 0.5], [0.5, 1.0]])
    found = ea.cosine_range(model, ea.gauges.Translation(2, max_shift=0.3), pairs=[[0, 1]])
    middle, half = np.array([0.75, 0.75]), np.hypot(0.25, 0.25)
    for end, way in (("lower", -1), ("upper", 1)):
        gauge = found.witness(0, end)
        np.testing.assert_allclose(gauge.right_shift, way * 0.3 * middle / np.linalg.norm(middle), atol=1e-9)
        height = np.linalg.norm(middle) + way * 0.3
        assert getattr(found, end)[0] == pytest.approx((height**2 - half**2) / (height**2 + half**2))
    assert found.to_dict(limit=0)["ranges"] == []


def test_no_weights_are_looked_for_where_the_cosine_is_half_a_tolerance_from_its_end():
    x, y = np.array([1.0, 0.1]), np.array([1.0, 0.05])
    off = 1 - cosine_of_rows(x, y)
    reach = DiagonalReach("right")
    assert reach.ends(x[None], y[None]).upper[0] == 0
    assert np.array_equal(reach.witness(x, y, "upper", 2.2 * off).right, np.eye(2))
    found = reach.witness(x, y, "upper", 1.9 * off)
    assert not np.array_equal(found.right, np.eye(2))
    assert 1 - cosine_of_rows(x @ found.right, y @ found.right) <= 0.95 * off


def test_weight_is_taken_from_the_rest_by_quarters_until_half_a_tolerance_is_left():
    x, y = np.array([1.0, 0.1]), np.array([1.0, 0.05])
    off = [1 - cosine_of_rows(x * [1, 2.0**-i], y * [1, 2.0**-i]) for i in range(4)]
    for i in (1, 2, 3):
        for tolerance, quarters in ((2.1 * off[i], i), (2.9 * off[i], i), (1.9 * off[i - 1], i)):
            found = DiagonalReach("right").witness(x, y, "upper", tolerance)
            assert found.condition_number == pytest.approx(2.0**quarters)


def cosine_of_rows(x, y):
    return float(x @ y / np.sqrt(x @ x * (y @ y)))
