"""An audit as a whole: it repeats itself, and finds what the training leaves open."""

from __future__ import annotations

import json

import numpy as np
import pytest
from models import random_model

import embaudit as ea
from embaudit.auditing.audit import audit
from embaudit.errors import InputError

ONE_GAUGE = {"n_gauges": 1, "n_starts": 0}
"""Options of a short audit: one random gauge from each group, and no attack."""


def stretched_model(**fields):
    """Draw a model whose users have columns of different scales.

    Its cosines move much under a gauge, because the long columns dominate them.
    """
    return random_model(scales=([5, 3, 2, 1, 0.5], 1), **fields)


def balanced_model(**fields):
    """Return a stretched model in balanced form, to which weight decay leads."""
    return ea.at_exponent(stretched_model(), 0.5).replace(**fields)


def codes(result):
    return [finding.code for finding in result.findings]


# Repetition

SMALL_SAMPLES = {
    "n_gauges": 2,
    "n_pairs": 50,
    "n_lists": 9,
    "n_starts": 1,
    "n_steps": 2,
}
"""Options that draw some of the pairs and lists, so that the draws depend on a seed."""
TWO_SIDES = stretched_model(n=90, p=80)
HEAD = stretched_model(n=None, p=80, link="softmax")


def record_of(model, seed):
    return json.dumps(audit(model, rng=seed, **SMALL_SAMPLES).to_dict())


@pytest.mark.parametrize("model", [TWO_SIDES, HEAD], ids=["two sides", "a head"])
def test_the_same_seed_gives_the_same_record(model):
    assert record_of(model, seed=3) == record_of(model, seed=3)


@pytest.mark.parametrize("model", [TWO_SIDES, HEAD], ids=["two sides", "a head"])
def test_another_seed_gives_another_record(model):
    assert record_of(model, seed=4) != record_of(model, seed=3)


# Findings that follow from the declared training


@pytest.mark.parametrize(
    "options",
    [
        {"groups": ["canonical"]},
        {"groups": ["orthogonal"]},
        {"groups": ["diagonal"], "max_condition": 1.0},
        {"max_condition": 1.05},
        {"roles": ["cross"]},
    ],
    ids=str,
)
def test_free_cosines_are_reported_even_if_no_random_gauge_moves_them(options):
    """The product penalty leaves cosines free (EMB101), whatever the audit samples."""
    model = stretched_model(objective="product")
    result = audit(model, **ONE_GAUGE, **options)
    assert codes(result) == ["EMB101"]
    assert result.answer.word == "NO"


def test_cosines_that_weight_decay_chose_are_reported_as_a_convention():
    result = audit(balanced_model(objective="factors"), **ONE_GAUGE)
    assert codes(result) == ["EMB103"]


def test_factors_that_weight_decay_would_have_balanced_are_reported():
    """One column is three times as long as in the balanced form (EMB104)."""
    rescale = ea.Gauge.diagonal([1, 1, 1, 1, 3])
    rescaled = rescale.act(balanced_model()).replace(objective="factors")
    assert set(codes(audit(rescaled, **ONE_GAUGE))) == {"EMB103", "EMB104"}


# Models that an audit takes


@pytest.mark.parametrize(
    "link", ["identity", "softmax", "sigmoid", "cosine", "ranking"]
)
def test_an_audit_keeps_the_predictions_of_every_link(link):
    result = audit(stretched_model(link=link), n_gauges=1)
    assert result.predictions_hold


def test_an_audit_of_one_side_measures_the_cosines_of_that_side_alone():
    result = audit(stretched_model(n=None), n_gauges=1)
    measured_roles = set()
    for movements in result.evidence.movement:
        measured_roles |= {movement.role for movement in movements}
    assert measured_roles == {"right"}
    assert result.predictions_hold


def test_factors_of_one_side_have_no_position_between_two_sides():
    assert audit(stretched_model(n=None), n_gauges=1).evidence.position is None


def vectors_of_size(scale, dtype):
    rows = np.random.default_rng(0).standard_normal((12, 3)) * scale
    return ea.FactorModel.from_vectors(rows.astype(dtype))


@pytest.mark.parametrize(
    ("scale", "dtype", "longest", "limits"),
    [
        (1e200, np.float64, "2.6e+200", "between 1e-100 and 1e+100 long in float64"),
        (1e-310, np.float64, "2.6e-310", "between 1e-100 and 1e+100 long in float64"),
        (1e-30, np.float32, "2.6e-30", "between 1e-12 and 1e+12 long in float32"),
    ],
)
def test_factors_whose_squares_overflow_or_underflow_are_refused(
    scale, dtype, longest, limits
):
    with pytest.raises(InputError) as refused:
        audit(vectors_of_size(scale, dtype))
    assert str(refused.value) == (
        f"the longest row of the item factors must be {limits}; got {longest}; "
        "multiply the factors by a constant, which changes no cosine."
    )


@pytest.mark.parametrize(("scale", "dtype"), [(1e60, np.float64), (1e-6, np.float32)])
def test_large_and_small_factors_within_the_range_of_their_type_are_audited(
    scale, dtype
):
    result = audit(vectors_of_size(scale, dtype), **ONE_GAUGE)
    assert result.predictions_hold
