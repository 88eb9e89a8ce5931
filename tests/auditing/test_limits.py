"""Every equivalent model stays within the limits that an audit states."""

from __future__ import annotations

import numpy as np
import pytest
from limited import limits
from models import random_model

from embaudit.gauges import GeneralLinear
from embaudit.movements.movement import movement

KAPPA = 3.0
LINEAR = GeneralLinear(4, max_condition=KAPPA)


@pytest.fixture(scope="module")
def model():
    return random_model(n=30, p=60, k=4, means=(0.5, 0.5))


@pytest.fixture(scope="module")
def limits_of_model(model):
    """Return the limits of all cosines of the model within κ = 3."""
    roles = ["right", "left", "cross"]
    return limits(model, roles, max_condition=KAPPA, n_neighbours=5)


@pytest.mark.parametrize("role", ["right", "left", "cross"])
@pytest.mark.parametrize("group", ["linear", "diagonal"])
def test_ranges_widen_with_the_budget(limits_of_model, role, group):
    widths = [
        summary.width_quantiles[0.5]
        for summary in limits_of_model.ranges
        if summary.role == role and summary.group == group
    ]
    assert len(widths) == 5
    assert widths == sorted(widths)
    assert widths[0] < widths[-1]


def test_fewer_entries_of_lists_are_certified_for_a_larger_budget(limits_of_model):
    for certificate in limits_of_model.certificates:
        shares = list(certificate.entries.values())
        assert list(certificate.entries) == [1.1, 1.25, 1.5, 2.0, 3.0]
        assert shares == sorted(shares, reverse=True)


def test_no_more_whole_lists_than_entries_are_certified(limits_of_model):
    for certificate in limits_of_model.certificates:
        for kappa, share in certificate.entries.items():
            assert certificate.lists[kappa] <= share


def test_attacks_stay_within_their_budget_and_below_their_bound(limits_of_model):
    objectives = {attack.objective for attack in limits_of_model.attacks}
    assert objectives == {"movement", "neighbours"}
    for attack in limits_of_model.attacks:
        assert attack.achieved <= attack.bound
        assert LINEAR.contains(attack.gauge)


def test_an_attack_on_cosines_moves_them_more_than_a_typical_random_gauge(
    model, limits_of_model
):
    (attack,) = (
        attack for attack in limits_of_model.attacks if attack.objective == "movement"
    )
    random_movements = [
        movement(model, LINEAR.sample(rng=seed).act(model)).mean_abs
        for seed in range(20)
    ]
    assert attack.achieved > np.median(random_movements)


def test_lists_are_certified_against_affine_gauges_too_if_rows_can_be_shifted(model):
    head = model.replace(link="softmax", right_bias=np.zeros(60))
    found = limits(head, ["right", "left"], max_condition=2.0, n_neighbours=5)
    certified = {
        (certificate.role, certificate.group, certificate.max_shift > 0)
        for certificate in found.certificates
    }
    assert certified == {
        ("right", "linear", False),
        ("right", "affine", True),
        ("left", "linear", False),
        ("left", "affine", True),
    }


def mean_widths_of_affine_ranges(model):
    """Return the mean width of each range against affine gauges within κ = 2."""
    found = limits(model, ["left", "cross"], max_condition=2.0)
    return [summary.width_mean for summary in found.ranges if summary.group == "affine"]


@pytest.mark.parametrize("scale", [0.3, 0.7, 1.1, 3.3])
def test_rounding_does_not_decide_whether_a_median_row_can_be_shifted_away(scale):
    """The median of seven lengths is that of one row, which a shift can just reach.

    Shifts are counted in median rows, so the scale of the rows changes no range.
    """
    model = random_model(seed=1, n=7, p=9, k=2, link="softmax", biases=["right_bias"])
    scaled = model.replace(left=scale * model.left)
    widths = mean_widths_of_affine_ranges(model)
    assert len(widths) > 1
    np.testing.assert_allclose(mean_widths_of_affine_ranges(scaled), widths, rtol=1e-9)
