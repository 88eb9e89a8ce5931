"""Both sides of every bound of a gauge, to the last unit of rounding."""

from __future__ import annotations

import numpy as np
import pytest

from embaudit.errors import InputError
from embaudit.gauges import Affine, Diagonal, Gauge, GeneralLinear, Orthogonal, Translation
from embaudit.gauges.gauge import EPS, MOST_RANK
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


@pytest.mark.parametrize("side", ["left", "right"])
def test_the_rounding_of_the_linear_part_is_allowed_for_in_the_length_of_a_shift(side):
    stretch = stretched(2.0**20, 2.0**-20)
    share = 8 * EPS * 2.0**40
    group = Affine(2, side=side, max_shift=0.5)
    for length, belongs in ((0.5 / (1 - share) - 1e-6, True), (0.5 / (1 - share) + 1e-6, False)):
        assert group.contains(group.after(np.array([length, 0.0]), stretch)) is belongs


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
