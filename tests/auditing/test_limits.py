"""Every equivalent model stays within the limits that an audit states."""

from __future__ import annotations

import numpy as np
import pytest
from limited import limits
from models import random_model

from embaudit.gauges import GeneralLinear
from embaudit.movements.movement import movement


@pytest.fixture(scope="module")
def model():
    return random_model(n=30, p=60, k=4, means=(0.5, 0.5))


@pytest.fixture(scope="module")
def found(model):
    return limits(model, ["right", "left", "cross"], max_condition=3.0, n_neighbours=5)


def test_ranges_widen_and_certificates_shrink_with_the_budget(found):
    for role in ("right", "left", "cross"):
        for group in ("linear", "diagonal"):
            widths = [
                r.width_quantiles[0.5]
                for r in found.ranges
                if (r.role, r.group) == (role, group)
            ]
            assert len(widths) == 5
            assert widths == sorted(widths)
            assert widths[0] < widths[-1]
    for certificate in found.certificates:
        shares = list(certificate.entries.values())
        assert shares == sorted(shares, reverse=True)
        assert all(
            certificate.lists[kappa] <= certificate.entries[kappa]
            for kappa in certificate.entries
        )
        assert list(certificate.entries) == [1.1, 1.25, 1.5, 2.0, 3.0]


def test_attacks_lie_between_chance_and_proof(model, found):
    by_kind = {attack.objective: attack for attack in found.attacks}
    assert set(by_kind) == {"movement", "neighbours"}
    for attack in found.attacks:
        assert attack.achieved <= attack.bound
        assert GeneralLinear(4, max_condition=3.0).contains(attack.gauge)
    drawn = [
        movement(
            model, GeneralLinear(4, max_condition=3.0).sample(rng=s).act(model)
        ).mean_abs
        for s in range(20)
    ]
    assert by_kind["movement"].achieved > np.median(drawn)


def test_where_rows_may_be_shifted_lists_are_certified_against_affine_gauges_too(model):
    head = model.replace(link="softmax", right_bias=np.zeros(60))
    certified = {
        (one.role, one.group, one.max_shift > 0)
        for one in limits(
            head, ["right", "left"], max_condition=2.0, n_neighbours=5
        ).certificates
    }
    assert certified == {
        (role, group, group == "affine")
        for role in ("right", "left")
        for group in ("linear", "affine")
    }


@pytest.mark.parametrize("scale", [0.3, 0.7, 1.1, 3.3])
def test_rounding_does_not_decide_whether_a_median_row_can_be_shifted_away(scale):
    """The median of seven lengths is that of one row, which a shift can just reach.

    Shifts are counted in median rows, so the scale of the rows changes no range.
    """
    model = random_model(seed=1, n=7, p=9, k=2, link="softmax", biases=["right_bias"])
    scaled = model.replace(left=scale * model.left)
    widths = [
        [
            summary.width_mean
            for summary in limits(one, ["left", "cross"], max_condition=2.0).ranges
            if summary.group == "affine"
        ]
        for one in (model, scaled)
    ]
    assert len(widths[0]) > 1
    np.testing.assert_allclose(widths[1], widths[0], rtol=1e-9)
