"""`gauge` keeps the declared objective if the written model still minimises it."""

from __future__ import annotations

import numpy as np
import pytest

import embaudit as ea


def orthonormal_columns(draw, n_rows):
    return np.linalg.qr(draw.standard_normal((n_rows, 3))).Q


@pytest.fixture
def balanced_model():
    """Return factors that minimise weight decay for their scores, in rotated axes."""
    draw = np.random.default_rng(2)
    roots_of_singular_values = np.array([3.0, 2.0, 1.0])
    rotation = orthonormal_columns(draw, 3)
    users = orthonormal_columns(draw, 9) * roots_of_singular_values @ rotation
    items = orthonormal_columns(draw, 8) * roots_of_singular_values @ rotation
    return ea.FactorModel.from_user_item(users, items)


def weight_decay(model):
    return np.sum(model.left**2) + np.sum(model.right**2)


@pytest.fixture
def gauged(embaudit, balanced_model, tmp_path):
    """Return a function that gauges the model with an objective by the command.

    It returns the output of the command and the written model.
    """

    def run(objective, options):
        ea.save(balanced_model.replace(objective=objective), tmp_path / "before.npz")
        result = embaudit("gauge", "before.npz", "--out=after.npz", *options)
        assert result.code == 0, result.err
        return result.out, ea.load(tmp_path / "after.npz")

    return run


@pytest.mark.parametrize(
    ("objective", "options"),
    [
        ("product", ["--group=linear"]),
        ("product", ["--exponent=0"]),
        ("none", ["--group=diagonal"]),
        ("factors", ["--group=orthogonal"]),
        ("factors", ["--exponent=0.5"]),
    ],
)
def test_an_objective_that_the_gauge_leaves_at_its_minimum_is_kept(
    gauged, objective, options
):
    out, after = gauged(objective, options)
    assert after.objective == objective
    assert "dropped" not in out


@pytest.mark.parametrize(
    "option", ["--group=diagonal", "--group=linear", "--exponent=0", "--exponent=1"]
)
def test_weight_decay_that_a_gauge_increases_is_dropped(gauged, option):
    out, after = gauged("factors", [option])
    assert after.objective is None
    assert "dropped" in out


@pytest.mark.parametrize(
    ("option", "is_equal"),
    [
        ("--group=orthogonal", True),
        ("--exponent=0.5", True),
        ("--group=diagonal", False),
        ("--group=linear", False),
        ("--exponent=0", False),
        ("--exponent=1", False),
    ],
)
def test_the_written_models_have_as_much_weight_decay_as_the_rule_assumes(
    gauged, balanced_model, option, is_equal
):
    """The two tests above would pass with any rule that agrees with their lists."""
    _, after = gauged("factors", [option])
    least, decay = weight_decay(balanced_model), weight_decay(after)
    if is_equal:
        assert decay == pytest.approx(least, rel=1e-9)
    else:
        assert decay > least * (1 + 1e-9)
