"""Models whose rows were compared by distance: which cosines are pinned or free, and
which commands refuse such a model.
"""

from __future__ import annotations

import numpy as np
import pytest

import embaudit as ea
from embaudit.model import FactorModel, comparison_link, with_objective

DRAW = np.random.default_rng(0)
ROWS = DRAW.normal(size=(30, 3))
BALL = ROWS / (1.5 + np.linalg.norm(ROWS, axis=1, keepdims=True))


def euclidean(rows):
    """Compute the distances of all pairs of rows."""
    return np.linalg.norm(rows[:, None] - rows[None], axis=-1)


def poincare(rows):
    """Compute hyperbolic distances by the definition of Nickel and Kiela (2017)."""
    to_the_boundary = 1 - np.square(rows).sum(axis=1)
    products = np.outer(to_the_boundary, to_the_boundary)
    return np.arccosh(1 + 2 * euclidean(rows) ** 2 / products)


BY_DISTANCE = FactorModel.from_vectors(ROWS, compared="distance")
HYPERBOLIC = FactorModel.from_vectors(BALL, compared="hyperbolic")


def test_scores_by_distance_are_half_the_negative_squared_distances():
    expected = -(euclidean(ROWS) ** 2) / 2
    np.testing.assert_allclose(BY_DISTANCE.scores(), expected, atol=1e-12)


def test_hyperbolic_scores_fall_with_the_hyperbolic_distance():
    """A score is 1 - cosh d, which falls from 0 as the distance d grows."""
    expected = 1 - np.cosh(poincare(BALL))
    np.testing.assert_allclose(HYPERBOLIC.scores(), expected, atol=1e-12)


def test_a_shift_makes_two_rows_opposite_and_keeps_their_distance():
    """Rows (1, 1) and (1, 3) have the cosine 2/√5; less their midpoint it is −1."""
    model = FactorModel.from_vectors([[1.0, 1.0], [1.0, 3.0]], compared="distance")
    gauge = ea.gauges.Gauge.translation(2, right=[-1.0, -2.0])
    other = gauge.act(model)
    np.testing.assert_allclose(other.right, [[0.0, -1.0], [0.0, 1.0]])
    np.testing.assert_allclose(other.scores(), model.scores())
    pair = [(0, 1)]
    assert model.cosines("right", pair) == pytest.approx(2 / np.sqrt(5))
    assert other.cosines("right", pair) == pytest.approx(-1)


def test_a_stretch_changes_distances_and_is_refused():
    stretch = ea.gauges.Gauge.linear(np.diag([2.0, 1.0, 1.0]))
    with pytest.raises(ea.EquivalenceError, match="must be orthogonal"):
        stretch.act(BY_DISTANCE)


@pytest.fixture(scope="module")
def audit_by_distance():
    return ea.audit(BY_DISTANCE)


@pytest.fixture(scope="module")
def hyperbolic_audit():
    return ea.audit(HYPERBOLIC)


@pytest.fixture(params=["audit_by_distance", "hyperbolic_audit"])
def audit(request):
    """Each of the two audits in turn."""
    return request.getfixturevalue(request.param)


def visited_rows(audit):
    """Yield the rows of each equivalent model that the audit visited."""
    for equivalent in audit.evidence.equivalents:
        yield np.asarray(equivalent.rows(audit.model, "right"), dtype=np.float64)


def test_rotations_and_shifts_are_visited_for_distances(audit_by_distance):
    assert set(audit_by_distance.kinds) == {"orthogonal", "translation"}


def test_rotations_and_isometries_are_visited_for_hyperbolic_distances(
    hyperbolic_audit,
):
    assert set(hyperbolic_audit.kinds) == {"orthogonal", "isometry"}


def test_the_models_that_are_visited_keep_every_score_by_distance(audit_by_distance):
    expected = -(euclidean(ROWS) ** 2) / 2
    for rows in visited_rows(audit_by_distance):
        np.testing.assert_allclose(-(euclidean(rows) ** 2) / 2, expected, atol=1e-7)


def test_the_models_that_are_visited_keep_every_hyperbolic_distance(hyperbolic_audit):
    for rows in visited_rows(hyperbolic_audit):
        # The distance of a row to itself is the square root of a rounding error.
        np.testing.assert_allclose(poincare(rows), poincare(BALL), atol=1e-7)


def test_predictions_hold_in_models_of_distances(audit):
    assert audit.predictions_hold


def test_cosines_move_in_models_of_distances(audit):
    movements = [record.mean_abs for _, record in audit.evidence.visits("right")]
    assert max(movements) > 0.1


def test_ranges_of_stretches_are_not_computed_for_distances(audit):
    """A stretch is no equivalent model here, so bounds within a κ do not apply."""
    assert not audit.evidence.limits.ranges


@pytest.mark.parametrize("word", ["transe", "metric-learning", "triplet-loss"])
def test_words_of_distance_training_compare_one_table_by_distance(word):
    assert with_objective(FactorModel.from_vectors(ROWS), word).compared == "distance"


def test_poincare_training_compares_one_table_by_hyperbolic_distance():
    trained = with_objective(FactorModel.from_vectors(BALL), "poincare")
    assert trained.compared == "hyperbolic"


def test_an_audit_of_distances_advises_to_rank_by_distance():
    answer = ea.audit(BY_DISTANCE, quick=True).answer
    assert answer.word == "NO"
    assert "rank items by distance" in answer.advice


def test_no_other_vectors_are_served_for_distances():
    with pytest.raises(ea.InputError, match="rank by distance"):
        ea.fix(BY_DISTANCE)


TOO_LONG = FactorModel.from_vectors(9 * ROWS)
TWO_SIDES = FactorModel.from_user_item(ROWS, BALL)


@pytest.mark.parametrize(
    ("model", "objective", "sentence"),
    [
        (TOO_LONG, "poincare", "rows of the Poincaré ball must be shorter than 1"),
        (
            TWO_SIDES,
            "transe",
            "an objective of dot products or cosines for a model of two sides",
        ),
        (
            TWO_SIDES,
            "poincare",
            "an objective of dot products or cosines for a model of two sides",
        ),
    ],
)
def test_training_by_distance_is_refused(model, objective, sentence):
    with pytest.raises(ea.InputError, match=sentence):
        with_objective(model, objective)


@pytest.mark.parametrize(
    ("model", "link"),
    [
        (BY_DISTANCE, comparison_link("distance")),
        (HYPERBOLIC, comparison_link("hyperbolic")),
    ],
    ids=["distance", "hyperbolic"],
)
def test_a_stored_table_keeps_how_it_is_compared(tmp_path, model, link):
    ea.save(model, tmp_path / "m.npz")
    assert ea.load(tmp_path / "m.npz").link == link


@pytest.fixture
def screen(embaudit, tmp_path):
    """Return a function that audits the rows and returns the screen as one line."""
    np.save(tmp_path / "v.npy", ROWS)

    def run(*options):
        return " ".join(embaudit("audit", "v.npy", "--quick", *options).out.split())

    return run


def test_one_table_of_unknown_training_is_asked_for_all_ways_to_compare(screen):
    question = "(`--compared cosine`, `dot` or `distance`), or multiplied with a second"
    assert question in screen()


def test_the_screen_of_distances_says_that_no_cosine_is_fixed_and_what_to_serve(screen):
    text = screen("--objective", "transe")
    assert "distances do not depend on the origin, so they fix no cosine" in text
    assert "To serve items, index these rows by distance, as they are" in text


@pytest.fixture(scope="module")
def comparison_with_a_shifted_table():
    shifted = FactorModel.from_vectors(ROWS + 1, compared="distance")
    return ea.compare(BY_DISTANCE, shifted).explain()


def test_a_shifted_table_predicts_the_same(comparison_with_a_shifted_table):
    assert "The two models predict the same." in comparison_with_a_shifted_table


def test_a_comparison_of_distances_advises_no_other_vectors(
    comparison_with_a_shifted_table,
):
    text = comparison_with_a_shifted_table
    assert text.endswith("compare the predictions of the models.")
    assert "embaudit fix" not in text


def codes_of_rows_near_the_origin(compared):
    """Audit a table with a row of zeros and a very short row; return finding codes."""
    zeros, short = np.zeros((1, 3)), 1e-9 * ROWS[:1]
    table = np.vstack([ROWS, zeros, short])
    findings = ea.audit(FactorModel.from_vectors(table, compared=compared)).findings
    return {finding.code for finding in findings}


def test_rows_near_the_origin_have_no_reliable_cosine():
    assert codes_of_rows_near_the_origin("cosine") >= {"EMB201", "EMB205"}


def test_rows_near_the_origin_have_neighbours_by_distance():
    """Compared by distance, rows near the origin are points like any other."""
    assert not codes_of_rows_near_the_origin("distance") & {"EMB201", "EMB205"}
