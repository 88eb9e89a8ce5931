"""Tables whose rows training compared by distance: what stays, what moves, and where they are refused."""

from __future__ import annotations

import numpy as np
import pytest

import embaudit as ea
from embaudit.model import FactorModel, Link, with_objective

DRAW = np.random.default_rng(0)
ROWS = DRAW.normal(size=(30, 3))
BALL = ROWS / (1.5 + np.linalg.norm(ROWS, axis=1, keepdims=True))


def poincare(rows):
    """Compute hyperbolic distances by the definition of Nickel and Kiela (2017)."""
    differences = np.square(rows[:, None] - rows[None]).sum(axis=-1)
    room = 1 - np.square(rows).sum(axis=1)
    return np.arccosh(1 + 2 * differences / np.outer(room, room))


def test_scores_have_the_order_of_the_distances():
    scores = FactorModel.from_vectors(ROWS, compared="distance").scores()
    distances = np.linalg.norm(ROWS[:, None] - ROWS[None], axis=-1)
    np.testing.assert_allclose(scores, -(distances**2) / 2, atol=1e-12)
    scores = FactorModel.from_vectors(BALL, compared="hyperbolic").scores()
    np.testing.assert_allclose(scores, 1 - np.cosh(poincare(BALL)), atol=1e-12)


def test_a_shift_makes_two_rows_opposite_and_keeps_their_distance():
    """Rows (1, 1) and (1, 3) have the cosine 2/√5; less their midpoint (1, 2) it is −1."""
    model = FactorModel.from_vectors([[1.0, 1.0], [1.0, 3.0]], compared="distance")
    gauge = ea.gauges.Gauge.translation(2, right=[-1.0, -2.0])
    other = gauge.act(model)
    np.testing.assert_allclose(other.right, [[0.0, -1.0], [0.0, 1.0]])
    np.testing.assert_allclose(other.scores(), model.scores())
    pair = [(0, 1)]
    assert model.cosines("right", pair) == pytest.approx(2 / np.sqrt(5))
    assert other.cosines("right", pair) == pytest.approx(-1)


def test_a_stretch_changes_distances_and_is_refused():
    model = FactorModel.from_vectors(ROWS, compared="distance")
    with pytest.raises(ea.EquivalenceError, match="must be orthogonal"):
        ea.gauges.Gauge.linear(np.diag([2.0, 1.0, 1.0])).act(model)


@pytest.mark.parametrize(
    ("how", "rows", "kinds"),
    [
        ("distance", ROWS, {"orthogonal", "translation"}),
        ("hyperbolic", BALL, {"orthogonal", "isometry"}),
    ],
)
def test_the_models_that_are_visited_keep_every_distance_and_move_cosines(
    how, rows, kinds
):
    found = ea.audit(FactorModel.from_vectors(rows, compared=how))
    assert set(found.kinds) == kinds
    assert found.predictions_hold
    before = poincare(rows) if how == "hyperbolic" else found.model.scores()
    for equivalent in found.evidence.equivalents:
        other = np.asarray(equivalent.rows(found.model, "right"), dtype=np.float64)
        after = (
            poincare(other)
            if how == "hyperbolic"
            else FactorModel.from_vectors(other, compared=how).scores()
        )
        # A distance of 0 is the root of what is rounding.
        np.testing.assert_allclose(after, before, atol=1e-7)
    moved = [record.mean_abs for _, record in found.evidence.visits("right")]
    assert max(moved) > 0.1
    # Bounds within a κ are of stretches, which are no equivalent models here.
    assert not found.evidence.limits.ranges


@pytest.mark.parametrize("word", ["transe", "metric-learning", "triplet-loss"])
def test_words_of_distance_training_compare_one_table_by_distance(word):
    vectors = FactorModel.from_vectors(ROWS)
    assert with_objective(vectors, word).compared == "distance"
    assert with_objective(FactorModel.from_vectors(BALL), "poincare").compared == (
        "hyperbolic"
    )


def test_neither_cosines_nor_centred_vectors_are_served_for_distances():
    model = FactorModel.from_vectors(ROWS, compared="distance")
    found = ea.audit(model, quick=True)
    assert found.answer.word == "NO"
    assert "rank items by distance" in found.answer.advice
    with pytest.raises(ea.InputError, match="rank by distance"):
        ea.fix(model)


@pytest.mark.parametrize(
    ("given", "objective", "part"),
    [
        (ROWS * 9, "poincare", "rows of the Poincaré ball must be shorter than 1"),
        ("pair", "transe", "one of dot products or cosines for a model of two sides"),
        ("pair", "poincare", "one of dot products or cosines for a model of two sides"),
    ],
)
def test_what_has_no_such_distances_is_refused(given, objective, part):
    model = (
        FactorModel.from_user_item(ROWS, BALL)
        if isinstance(given, str)
        else FactorModel.from_vectors(given)
    )
    with pytest.raises(ea.InputError, match=part):
        with_objective(model, objective)


def test_a_table_that_is_compared_by_distance_is_stored_as_one(tmp_path):
    for how, rows in (("distance", ROWS), ("hyperbolic", BALL)):
        path = tmp_path / f"{how}.npz"
        ea.save(FactorModel.from_vectors(rows, compared=how), path)
        assert ea.load(path).link == Link.comparing(how)


def test_one_table_of_unknown_training_is_asked_for_all_ways_to_compare(
    embaudit, tmp_path
):
    np.save(tmp_path / "v.npy", ROWS)
    screen = " ".join(embaudit("audit", "v.npy", "--quick").out.split())
    asked = "(`--compared cosine`, `dot` or `distance`), or multiplied with a second"
    assert asked in screen
    screen = " ".join(
        embaudit("audit", "v.npy", "--quick", "--objective", "transe").out.split()
    )
    assert "distances do not depend on the origin, so they fix no cosine" in screen
    assert "to serve items, index these rows by distance, as they are" in screen


def test_a_shifted_table_predicts_the_same_and_no_other_vectors_are_advised():
    one, other = (
        FactorModel.from_vectors(rows, compared="distance") for rows in (ROWS, ROWS + 1)
    )
    said = ea.compare(one, other).explain()
    assert "The two models predict the same." in said
    assert said.endswith("compare what the models predict.")
    assert "embaudit fix" not in said


def test_rows_near_the_origin_have_neighbours_by_distance():
    """Rows of zeros and very short ones have no reliable cosine, and are points like any other by distance."""
    table = np.vstack([ROWS, np.zeros((1, ROWS.shape[1])), 1e-9 * ROWS[:1]])
    codes = {
        compared: {
            one.code
            for one in ea.audit(
                FactorModel.from_vectors(table, compared=compared)
            ).findings
        }
        for compared in ("cosine", "distance")
    }
    assert codes["cosine"] >= {"EMB201", "EMB205"}
    assert not codes["distance"] & {"EMB201", "EMB205"}
