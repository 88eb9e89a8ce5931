"""Both sides of every bound of a gauge, to the last unit of rounding; draws made anew; whole sentences."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pytest

from embaudit.errors import EquivalenceError, InputError
from embaudit.gauges import Affine, Diagonal, Gauge, GeneralLinear, Orthogonal, Translation
from embaudit.gauges.gauge import EPS, MOST_RANK
from embaudit.gauges.group import covers, random_linear, require_budget, sample_spectrum, within_budget
from embaudit.model import FactorModel
from embaudit.model.objectives import Linear


def stretched(*scales: float) -> Gauge:
    return Gauge(np.diag(scales), np.diag([1 / scale for scale in scales]))


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_two_matrices_are_inverse_up_to_64_roundings_a_dimension(rank):
    for units, fits in ((64 * rank, True), (64 * rank + 1, False)):
        right = np.eye(rank)
        right[0, 0] += units * EPS
        if fits:
            assert Gauge(np.eye(rank), right).rank == rank
        else:
            with pytest.raises(InputError, match="must be the identity; got an error of"):
                Gauge(np.eye(rank), right)


@pytest.mark.parametrize(("product", "fits"), [(0.5, True), (0.49, False), (1.5, True), (1.51, False)])
def test_an_error_of_more_than_one_half_is_no_inverse_at_any_condition(product, fits):
    left, right = np.diag([1.0, 2.0**-60]), np.diag([1.0, product * 2.0**60])
    if fits:
        assert Gauge(left, right).condition_number == product * 2.0**60
        return
    with pytest.raises(InputError) as refused:
        Gauge(left, right)
    error = f"{abs(1 - product):.1e}"
    assert str(refused.value) == (
        f"left · rightᵀ must be the identity; got an error of {error}; build it with Gauge.linear."
    )


@pytest.mark.parametrize("largest", [1.0, 4.0])
def test_a_matrix_is_singular_from_one_rounding_a_dimension(largest):
    still = np.eye(2)
    for smallest in (1.99 * EPS * largest, 2 * EPS * largest):
        with pytest.raises(InputError) as refused:
            Gauge.from_svd(still, np.array([largest, smallest]), still)
        assert str(refused.value) == (
            f"matrix must be invertible; got singular values from {smallest:.1e} to {largest:.1e}."
        )
    assert Gauge.from_svd(still, np.array([largest, 2.01 * EPS * largest]), still).rank == 2
    with pytest.raises(InputError, match=r"^u and vt must be of one shape; got \(3, 3\) and \(2, 2\)\.$"):
        Gauge.from_svd(np.eye(3), np.ones(2), still)


def test_what_the_linear_part_does_is_told_up_to_rounding():
    for units, kind in ((128, Linear.IDENTITY), (129, Linear.ANY)):
        assert stretched(1 + units * EPS, 1.0).linear_kind is kind
    # The square of what it stretches by is compared with 1.
    for units, kind in ((64, Linear.ROTATION), (65, Linear.ANY)):
        assert stretched(-1 - units * EPS, 1.0).linear_kind is kind
    for units, conformal in ((32, True), (33, False)):
        assert stretched(1 + units * EPS, 1.0).is_conformal is conformal
        assert stretched(1 + units * EPS, 1 + units * EPS).is_isometry is conformal
        assert stretched(1 - units * EPS, 1 - units * EPS).is_isometry is conformal
        assert stretched(1 + units * EPS, 1 + units * EPS).is_conformal
    assert not stretched(2.0, 2.0).is_isometry
    assert not stretched(1.0, 2.0).is_isometry


@pytest.mark.parametrize("least", [1.0, 0.5])
def test_a_diagonal_is_one_up_to_64_roundings_of_its_least_scale(least):
    for units, belongs in ((64, True), (65, False)):
        off = units * EPS * least
        gauge = Gauge(np.array([[1.0, off], [0.0, least]]), np.array([[1.0, 0.0], [-off / least, 1 / least]]))
        assert Diagonal(2).contains(gauge) is belongs
        assert GeneralLinear(2).contains(gauge)


def test_budgets_are_kept_up_to_a_billionth():
    for budget in (2.0, 1e-20):
        assert within_budget(budget * (1 + 1e-9), budget)
        assert not within_budget(budget * (1 + 1.1e-9), budget)
    assert within_budget(1e300, None)
    for budget, other, found in (
        (2.0, 2.0, True), (2.0, 2.1, False), (2.0, None, False), (None, None, True), (None, 9.0, True)
    ):  # fmt: skip
        assert covers(budget, other) is found
    require_budget("length", 3.0, 3.0, 3.0)
    require_budget("length", None, 3.0, 3.0)
    for bad, words in (
        (2.9, "length must be a finite number >= 3; got 2.9; None sets no bound."),
        ("a", "length must be a finite number >= 3; got 'a'; None sets no bound."),
        (3.1, "length must be at most 3, what float64 can hold; got 3.1; None sets no bound."),
    ):
        with pytest.raises(InputError) as refused:
            require_budget("length", bad, 3.0, 3.0)
        assert str(refused.value) == words


@pytest.mark.parametrize("side", ["left", "right"])
def test_the_rounding_of_the_linear_part_is_allowed_for_in_the_length_of_a_shift(side):
    stretch = stretched(2.0**20, 2.0**-20)
    share = 8 * EPS * 2.0**40
    group = Affine(2, side=side, max_shift=0.5)
    for length, belongs in ((0.5 / (1 - share) - 1e-6, True), (0.5 / (1 - share) + 1e-6, False)):
        assert group.contains(group.after(np.array([length, 0.0]), stretch)) is belongs


@pytest.mark.parametrize("rank", [2, 10_000])
def test_a_spectrum_stays_below_its_budget_by_8_roundings_a_dimension(rank):
    logarithms = np.log(sample_spectrum(rank, 10.0, 3))
    short = 1 - np.ptp(logarithms) / np.log(10.0)
    assert short / EPS / rank == pytest.approx(8, abs=4 if rank == 2 else 0.1)
    drawn = np.random.default_rng(3).standard_normal(rank)
    wanted = (drawn - drawn.mean()) * np.log(10.0) / np.ptp(drawn)
    np.testing.assert_allclose(logarithms, wanted, atol=1e-11)
    np.testing.assert_allclose(np.log(sample_spectrum(rank, None, 3)), drawn, atol=1e-13)
    assert sample_spectrum(1, 10.0, 3).tolist() == [1.0]


def test_a_length_stays_below_its_budget_by_8_roundings():
    spent = [Translation(1, max_shift=3.0).sample(rng=seed).right_shift[0] for seed in range(300)]
    assert np.mean(np.abs(spent) / 3.0 - 1) / EPS == pytest.approx(-8, abs=0.3)
    assert 100 < np.count_nonzero(np.array(spent) > 0) < 200
    np.testing.assert_array_equal(
        Translation(4, side="left").sample(rng=5).left_shift, np.random.default_rng(5).standard_normal(4)
    )


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize(("condition", "length"), [(None, None), (3.0, None), (None, 2.0), (3.0, 2.0)])
def test_an_affine_draw_is_a_scaled_linear_one_after_a_shift(side, condition, length):
    group = Affine(3, side=side, max_condition=condition, max_shift=length)
    draw = np.random.default_rng(7)
    scale = np.exp(draw.standard_normal())
    linear = random_linear(scale * sample_spectrum(3, condition, draw), draw)
    shift = draw.standard_normal(3)
    shift = scale * shift if length is None else shift * length / np.linalg.norm(shift)
    found = group.sample(rng=7)
    for part in ("left", "right"):
        np.testing.assert_allclose(getattr(found, part), getattr(linear, part), rtol=1e-13)
        wanted = shift @ getattr(linear, part) if part == side else np.zeros(3)
        np.testing.assert_allclose(getattr(found, f"{part}_shift"), wanted, atol=1e-12)
    np.testing.assert_allclose(group.shift_of(found), shift, atol=1e-12)
    assert (group.sample().left != group.sample().left).any(), "without a seed each draw is another one"


def test_in_one_dimension_every_linear_gauge_is_a_scale():
    for one in (Diagonal(1, max_condition=2.0), GeneralLinear(1, max_condition=2.0)):
        for other in (Diagonal(1), GeneralLinear(1), Orthogonal(1)):
            assert other <= one
        assert one.is_group
        assert one.fixes_cosines
        assert not Translation(1) <= one
    for one, other in ((Diagonal(2, max_condition=2.0), GeneralLinear(2, max_condition=2.0)),):
        assert not one.is_group
        assert not one.fixes_cosines
        assert one <= other
        assert not other <= one
        assert not Diagonal(2) <= other
    for group in (Diagonal(2, max_condition=1.0), GeneralLinear(2, max_condition=1.0)):
        assert group.is_group
        assert group.fixes_cosines
        assert not Translation(2) <= group
    assert not Orthogonal(2) <= Diagonal(2)


def test_what_has_no_length_to_shift_is_within_the_sets_that_hold_its_linear_part():
    still = Affine(3, max_condition=2.0, max_shift=0.0)
    for larger in (GeneralLinear(3, max_condition=2.0), GeneralLinear(3), Affine(3, side="left", max_condition=2.0)):
        assert still <= larger
    for other in (GeneralLinear(3, max_condition=1.9), Diagonal(3), Translation(3), Affine(3, max_condition=1.9)):
        assert not still <= other
    assert not Affine(3, max_condition=2.0, max_shift=1e-9) <= GeneralLinear(3)
    assert not still.contains(Gauge.translation(3, right=[0.0, 0.0, 1e-300]))
    assert not still.contains(Gauge.translation(3, left=[0.0, 0.0, 1e-300]))
    assert still.contains(Gauge.identity(3))
    assert not Affine(3).contains(Gauge.identity(2))
    assert [Affine(3, max_shift=length).has_inverses for length in (None, 0, 1, 0.5)] == [True, True, False, False]
    assert [Translation(3, max_shift=length).is_group for length in (None, 0, 1, 0.5)] == [True, True, False, False]
    assert [Translation(3, max_shift=length).fixes_lengths for length in (None, 0, 1)] == [False, True, False]


def test_the_largest_number_of_single_precision_stays():
    most = float(np.finfo(np.float32).max)
    rows = np.full((2, 2), most, dtype=np.float32)
    assert (Gauge.identity(2).act(FactorModel.from_vectors(rows)).right == rows).all()


def test_ranks_end_at_a_million():
    assert Orthogonal(MOST_RANK).rank == 1_000_000
    with pytest.raises(InputError, match=r"^rank must be at most 1,000,000; got 1000001\.$"):
        Orthogonal(MOST_RANK + 1)
    with pytest.raises(InputError, match=r"^matrix must be a square matrix; got shape \(2, 1\)\.$"):
        Gauge.linear([[1.0], [2.0]])
    with pytest.raises(InputError, match=r"^the right matrix of a gauge must be of shape \(2, 2\); got shape \(3, 3\)"):
        Gauge(np.eye(2), np.eye(3))


def test_nothing_but_gauges_composes_and_nothing_but_sets_is_compared():
    for wrong in (
        lambda: Gauge.identity(2) @ "turn",
        lambda: Diagonal(2) <= 3,
        lambda: Diagonal(2) >= "linear",
    ):
        with pytest.raises(TypeError):
            wrong()
    assert not Diagonal(2) <= GeneralLinear(3)
    assert not GeneralLinear(3) >= Diagonal(2)


@dataclass(frozen=True)
class HalfTurns2D(Orthogonal):
    """Named by nobody."""


def test_sets_say_what_they_are():
    model = FactorModel.from_softmax(np.eye(2), embeddings=np.eye(2))
    assert (HalfTurns2D.kind, HalfTurns2D.title) == ("half turns2 d", "random half turns2 d gauges")
    assert [group(2).name_in(model) for group in (Diagonal, GeneralLinear, Orthogonal, Translation, Affine)] == [
        "diagonal", "linear", "orthogonal", "translation of labels", "affine of labels",
    ]  # fmt: skip
    assert [group.title for group in (Diagonal, GeneralLinear, Orthogonal, Translation, Affine)] == [
        "random rescalings", "random linear maps", "a rotation (control)", "random translations", "random affine maps",
    ]  # fmt: skip
    assert Translation(2, side="left").name_in(model) == "translation of inputs"
    assert Affine(2, side="left").name_in(model) == "affine of inputs"
    both = Gauge.translation(2, left=[3.0, 4.0], right=[0.0, 2.0]) @ Gauge.diagonal([2.0, 0.5])
    assert repr(both) == "Gauge(rank 2, condition number 4, left shift 5, right shift 2)"
    assert [Gauge.translation(2, **moved).shifts for moved in ({}, {"left": [1, 0]}, {"right": [1, 0]})] == [
        (), ("left",), ("right",),
    ]  # fmt: skip
    assert both.shifts == ("left", "right")
    for side in ("left", "right"):
        linear, shift = both.on(side)
        assert linear is getattr(both, side)
        assert shift is getattr(both, f"{side}_shift")
    undone = both.inverse()
    np.testing.assert_allclose(undone.left_shift, -both.left_shift @ np.diag([0.5, 2.0]))
    np.testing.assert_allclose(undone.right_shift, -both.right_shift @ np.diag([2.0, 0.5]))


def test_what_a_set_does_not_do_is_denied():
    for group in (Diagonal(2), GeneralLinear(2), Affine(2), Translation(2)):
        assert group.fixes_lengths is False
        assert group.fixes_cosines is False
        assert group.contains(Gauge.identity(3)) is False
        assert group.is_within(Orthogonal(2)) is False
    assert Orthogonal(2).fixes_lengths is Orthogonal(2).has_inverses is Diagonal(2).has_inverses is True


def test_a_scale_without_an_inverse_is_named():
    with pytest.raises(InputError) as refused:
        Gauge.diagonal([1.0, 2.0, 0.0, 1e-310])
    assert str(refused.value) == (
        "scales must be numbers whose inverse is finite; got 0.0 in column 2; drop that column."
    )


@pytest.mark.parametrize(
    ("link", "shift", "biases", "why"),
    [
        ("identity", {"right": [1.0]}, {}, "probabilities only: shifting the items adds a number to each user that "
         "only a free user bias could absorb"),
        ("identity", {"left": [1.0]}, {}, "nothing: shifting the users adds a number to each item that only a free "
         "item bias could absorb"),
        ("identity", {"left": [1.0], "right": [1.0]}, {"right_bias": [0.0]}, "probabilities only: shifting the items "
         "adds a number to each user that only a free user bias could absorb"),
        ("identity", {"left": [1.0], "right": [1.0]}, {"left_bias": [0.0]}, "nothing: shifting the users adds a number "
         "to each item that only a free item bias could absorb"),
        ("cosine", {"right": [1.0]}, {}, "probabilities only: it changes the lengths that the cosine divides by"),
    ],
)  # fmt: skip
def test_a_refusal_is_told_in_full(link, shift, biases, why):
    model = FactorModel([[1.0]], [[2.0]], link=link, **biases)
    with pytest.raises(EquivalenceError) as refused:
        Gauge.translation(1, **shift).act(model)
    level = {"identity": "scores", "cosine": "cosines"}[link]
    assert str(refused.value) == f"a gauge on this model must preserve its {level}; got one that preserves {why}."
    assert re.match(r"^[^;]+; [^;]+$", str(refused.value))


def test_a_gauge_and_its_inverse_cancel_at_the_largest_condition():
    gauge = GeneralLinear(5, max_condition=1e12).sample(rng=1)
    for both in (gauge @ gauge.inverse(), gauge.inverse() @ gauge):
        assert np.abs(both.left @ both.right.T - np.eye(5)).max() <= 16 * EPS * both.condition_number
