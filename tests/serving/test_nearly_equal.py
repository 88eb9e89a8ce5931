"""Neighbours that are kept after small changes of the scores: laws and simulations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import embaudit as ea
from embaudit.errors import InputError, Option
from embaudit.linalg.nearest import neighbours
from embaudit.model import FactorModel
from embaudit.serving import NearlyEqual, nearly_equal, score_noise
from embaudit.serving.nearly_equal import _lead_variances, as_noise, cosine_ranges

N_USERS = 60
N_ITEMS = 40


def model_of_rank(rank: int, seed: int = 0) -> ea.FactorModel:
    """Draw a model whose items have different lengths."""
    draw = np.random.default_rng(seed)
    items = draw.normal(size=(N_ITEMS, rank))
    items *= np.exp(draw.normal(0, 0.5, size=(N_ITEMS, 1)))
    return ea.FactorModel.from_user_item(draw.normal(size=(N_USERS, rank)), items)


def columns_of(model: ea.FactorModel) -> np.ndarray:
    """Compute the column of scores of each item, as rows of length 1."""
    columns = model.scores().T
    return columns / np.linalg.norm(columns, axis=1, keepdims=True)


def turned(columns: np.ndarray, angles: np.ndarray, draw: np.random.Generator):
    """Turn each unit row by its angle in a random direction."""
    noise = draw.normal(size=columns.shape)
    noise -= np.einsum("ij,ij->i", noise, columns)[:, None] * columns
    noise /= np.linalg.norm(noise, axis=1, keepdims=True)
    return columns * np.cos(angles)[:, None] + noise * np.sin(angles)[:, None]


def is_listed(columns: np.ndarray, found: NearlyEqual) -> np.ndarray:
    """Flag the entries that are among the nearest by cosine of other rows."""
    cosines = columns @ columns.T
    np.fill_diagonal(cosines, -np.inf)
    last = -np.sort(-cosines, axis=1)[:, found.n - 1]
    listed = cosines >= last[:, None]
    return np.take_along_axis(listed[found.rows], found.indices, axis=1)


def test_lists_are_those_of_the_columns_of_the_score_matrix():
    model = model_of_rank(4)
    found = nearly_equal(model, tolerance=0.05, n_neighbours=5)
    columns = columns_of(model)
    cosines = columns @ columns.T
    np.fill_diagonal(cosines, -np.inf)
    by_hand = np.argsort(-cosines, axis=1)[:, :5]
    assert found.rows.tolist() == list(range(N_ITEMS))
    np.testing.assert_array_equal(found.indices, by_hand)
    np.testing.assert_allclose(
        found.cosines, np.take_along_axis(cosines, by_hand, axis=1), atol=1e-12
    )


def at_angles(angles: list[float]) -> np.ndarray:
    """Return unit rows at these angles in one plane of a space of 5 dimensions."""
    draw = np.random.default_rng(3)
    plane = np.linalg.qr(draw.normal(size=(5, 2)))[0]
    return np.column_stack([np.cos(angles), np.sin(angles)]) @ plane.T


@pytest.mark.parametrize("tolerance", [0.01, 0.05, 0.3])
@pytest.mark.parametrize("angle", [0.0, 0.3, 1.5, 3.0])
def test_the_ends_of_a_range_are_reached_by_turns_in_the_plane_of_a_pair(
    tolerance, angle
):
    first, second = at_angles([0, angle])
    lowest, highest = cosine_ranges(np.array(first @ second), tolerance)
    # Both rows turn away from each other, until they are opposite, or towards each
    # other, until they meet.
    turn = np.arcsin(tolerance)
    away = min(turn, (np.pi - angle) / 2)
    towards = min(turn, angle / 2)
    first_away, second_away = at_angles([-away, angle + away])
    first_near, second_near = at_angles([towards, angle - towards])
    assert lowest == pytest.approx(first_away @ second_away, abs=1e-7)
    assert highest == pytest.approx(first_near @ second_near, abs=1e-7)


def test_a_column_turned_by_the_arcsine_changes_by_the_tolerance():
    columns = columns_of(model_of_rank(4))
    draw = np.random.default_rng(1)
    # The nearest point on the ray of a turned column lies at its cosine.
    angles = np.full(N_ITEMS, np.arcsin(0.05))
    moved = turned(columns, angles, draw) * np.cos(angles)[:, None]
    np.testing.assert_allclose(np.linalg.norm(moved - columns, axis=1), 0.05)


def test_no_cosine_leaves_its_range_within_the_tolerance():
    model = model_of_rank(4)
    found = nearly_equal(model, tolerance=0.05, n_neighbours=5)
    lowest, highest = cosine_ranges(found.cosines, 0.05)
    columns, draw = columns_of(model), np.random.default_rng(2)
    for _ in range(50):
        moved = turned(columns, np.full(N_ITEMS, np.arcsin(0.05)), draw)
        cosines = np.einsum("mk,mnk->mn", moved[found.rows], moved[found.indices])
        assert (cosines >= lowest - 1e-12).all()
        assert (cosines <= highest + 1e-12).all()


def test_certain_neighbours_stay_under_every_change_within_the_tolerance():
    model = model_of_rank(3)
    found = nearly_equal(model, tolerance=0.02, n_neighbours=5)
    columns, draw = columns_of(model), np.random.default_rng(2)
    certain = found.certain
    assert 0.1 < certain.mean() < 0.9
    for _ in range(100):
        moved = turned(columns, np.full(N_ITEMS, np.arcsin(0.02)), draw)
        assert is_listed(moved, found)[certain].all()


def test_a_neighbour_that_is_not_certain_can_be_overtaken():
    # Seen from item 0, item 1 is at 0.2 rad, and item 2 at 0.3 rad on the other side.
    # Each of the three turns by the tolerance.
    angles = np.array([0.0, 0.2, -0.3, 2.0])
    items = np.column_stack([np.cos(angles), np.sin(angles)])
    model = ea.FactorModel.from_user_item(np.eye(2) * 3, items)
    turn = 0.1 / 4
    loose = nearly_equal(model, tolerance=np.sin(turn + 0.001), n_neighbours=1)
    tight = nearly_equal(model, tolerance=np.sin(turn - 0.001), n_neighbours=1)
    assert not loose.certain[0, 0]
    assert tight.certain[0, 0]
    turned_angles = angles + np.array([-1, 1, 1, 0]) * (turn + 0.001)
    apart = np.abs(turned_angles - turned_angles[0])
    assert apart[2] < apart[1]


def test_a_larger_tolerance_leaves_fewer_neighbours_certain():
    model = model_of_rank(4)
    shares = [
        nearly_equal(model, tolerance=tolerance).certain_share
        for tolerance in (0.001, 0.01, 0.05, 0.2)
    ]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] > shares[-1]


def test_equivalent_models_have_the_same_certain_and_stable_neighbours():
    model = model_of_rank(4)
    draw = np.random.default_rng(5)
    other = ea.Gauge.linear(draw.normal(size=(4, 4))).act(model)
    found = nearly_equal(model, tolerance=0.03, noise=0.3)
    found_in_other = nearly_equal(other, tolerance=0.03, noise=0.3)
    np.testing.assert_array_equal(found.indices, found_in_other.indices)
    np.testing.assert_array_equal(found.certain, found_in_other.certain)
    np.testing.assert_array_equal(found.stable, found_in_other.stable)
    np.testing.assert_allclose(found.standard_errors, found_in_other.standard_errors)
    assert 0 < found.certain.mean() < 1
    assert 0 < found.stable.mean() < 1


@dataclass
class Simulation:
    """Lists of a model, and what noise does to their entries."""

    found: NearlyEqual
    deviations: np.ndarray
    """(m, n) standard deviation of the angle of each entry."""
    kept: np.ndarray
    """(m, n) share of the noisy models that keep each entry."""


@pytest.fixture(scope="module")
def noisy():
    """Simulate 200 models whose scores have noise: the best of rank 4 for each."""
    model = model_of_rank(4)
    noise = 0.4
    found = nearly_equal(model, noise=noise, n_neighbours=5)
    draw = np.random.default_rng(7)
    scores = model.scores()
    angles = []
    is_kept = []
    for _ in range(200):
        noisy_scores = scores + noise * draw.normal(size=scores.shape)
        _, sizes, right = np.linalg.svd(noisy_scores, full_matrices=False)
        columns = right[:4].T * sizes[:4]
        columns /= np.linalg.norm(columns, axis=1, keepdims=True)
        cosines = np.einsum("mk,mnk->mn", columns[found.rows], columns[found.indices])
        angles.append(np.arccos(np.clip(cosines, -1, 1)))
        is_kept.append(is_listed(columns, found))
    return Simulation(found, np.std(angles, axis=0), np.mean(is_kept, axis=0))


def test_lead_errors_are_those_of_models_of_noisy_scores():
    """Noise moves the scores of three items: the row, the entry and its rival."""
    draw = np.random.default_rng(11)
    model = model_of_rank(4)
    noise = 0.02
    lists = neighbours(columns_of(model), 6)
    lengths = np.linalg.norm(model.scores(), axis=0)
    errors = noise * np.sqrt(_lead_variances(lists, lengths))
    scores = model.scores()
    leads = []
    for _ in range(400):
        noisy_scores = scores + noise * draw.normal(size=scores.shape)
        # To first order, noise outside the space of the columns changes no angle.
        columns = noisy_scores.T / np.linalg.norm(noisy_scores, axis=0)[:, None]
        cosines = np.einsum("mk,mnk->mn", columns[lists.rows], columns[lists.indices])
        angles = np.arccos(np.clip(cosines, -1, 1))
        leads.append(angles[:, -1:] - angles[:, :-1])
    ratios = np.std(leads, axis=0) / errors
    assert np.median(ratios) == pytest.approx(1, abs=0.03)
    # A standard deviation of 400 numbers is off by up to 4 × 3.5 %.
    assert ratios.min() > 0.8
    assert ratios.max() < 1.2


def test_standard_errors_are_those_of_models_of_noisy_scores(noisy):
    ratios = noisy.deviations / noisy.found.standard_errors
    assert np.median(ratios) == pytest.approx(1, abs=0.06)


def test_stable_neighbours_stay_in_models_of_noisy_scores(noisy):
    stable = noisy.found.stable
    assert 0.1 < stable.mean() < 0.9
    assert noisy.kept[stable].mean() > 0.99
    assert noisy.kept[stable].min() > 0.9


def test_neighbours_that_are_not_stable_are_lost_more_often(noisy):
    assert noisy.kept[~noisy.found.stable].mean() < 0.9


def test_noise_of_a_table_is_the_root_of_the_mean_squared_error(tmp_path):
    model = ratings_model()
    draw = np.random.default_rng(0)
    lines, errors = ["userId,movieId,rating"], []
    for user in range(N_USERS):
        item = int(draw.integers(N_ITEMS))
        rating = round(float(model.scores([user])[0, item] + draw.normal()), 3)
        errors.append(rating - model.scores([user])[0, item])
        lines.append(f"u{user},i{item},{rating}")
    table = tmp_path / "held-out.csv"
    table.write_text("\n".join(lines))
    expected = np.sqrt(np.mean(np.square(errors)))
    assert score_noise(model, table) == pytest.approx(expected, rel=1e-12)
    assert as_noise(model, str(table)) == score_noise(model, table)


def ratings_model() -> ea.FactorModel:
    """Draw a model of ratings with biases and ids."""
    draw = np.random.default_rng(4)
    return ea.FactorModel.from_arrays(
        left=draw.normal(size=(N_USERS, 3)),
        right=draw.normal(size=(N_ITEMS, 3)),
        left_bias=draw.normal(size=N_USERS),
        right_bias=draw.normal(size=N_ITEMS),
        offset=3.5,
        left_ids=[f"u{number}" for number in range(N_USERS)],
        right_ids=[f"i{number}" for number in range(N_ITEMS)],
    )


def test_an_audit_holds_the_figures_of_the_function():
    model = model_of_rank(4)
    audit = ea.audit(model, tolerance=0.05, noise=0.2, quick=True, n_starts=0)
    alone = nearly_equal(model, tolerance=0.05, noise=0.2, n_lists=100)
    record = audit.to_dict()["nearly_equal"]
    assert record["certain_share"] == alone.certain_share
    assert record["stable_share"] == alone.stable_share
    texts = {note.code: note.text for note in audit.notes}
    assert texts["certain"] in alone.explain()
    assert texts["stable"] in alone.explain()


def test_an_audit_without_tolerance_or_noise_says_nothing_of_them():
    audit = ea.audit(model_of_rank(4), quick=True, n_starts=0)
    assert audit.to_dict()["nearly_equal"] is None
    assert not {"certain", "stable"} & {note.code for note in audit.notes}


def test_duplicates_share_one_place_in_the_lists():
    model = model_of_rank(3)
    items = np.vstack([model.right, model.right[:3] * 2])
    twice = ea.FactorModel.from_user_item(model.left, items)
    found = nearly_equal(model, tolerance=0.02)
    found_with_copies = nearly_equal(twice, tolerance=0.02)
    np.testing.assert_array_equal(found.indices, found_with_copies.indices)
    np.testing.assert_array_equal(found.certain, found_with_copies.certain)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, "tolerance or noise must be given"),
        ({"tolerance": 0}, "tolerance must be a share above 0 and below 1"),
        ({"tolerance": 1}, "tolerance must be a share above 0 and below 1"),
        ({"tolerance": "5 %"}, "tolerance must be a share above 0 and below 1"),
        ({"noise": 0}, "noise must be a finite number above 0"),
        ({"noise": float("nan")}, "noise must be a finite number above 0"),
    ],
)
def test_wrong_sizes_are_refused(options, text):
    with pytest.raises(InputError, match=text):
        nearly_equal(model_of_rank(2), **options)


def test_one_side_alone_has_no_scores():
    with pytest.raises(InputError, match="got item factors only"):
        nearly_equal(np.eye(5), tolerance=0.05)


def test_scores_that_are_all_zero_are_refused():
    model = FactorModel.from_user_item(np.eye(3, 2), np.zeros((4, 2)))
    with pytest.raises(
        InputError, match="at least one score of the model must differ from 0"
    ):
        nearly_equal(model, tolerance=0.05)


def test_rows_too_long_for_float64_are_not_refused_as_scores_of_zero():
    model = FactorModel.from_user_item(1e200 * np.eye(3), np.eye(3))
    with pytest.raises(InputError, match="the longest row of the user factors must be"):
        nearly_equal(model, tolerance=0.05)


def test_scores_that_are_no_ratings_have_no_noise_to_estimate(tmp_path):
    model = model_of_rank(2).replace(link="softmax")
    with pytest.raises(InputError, match="must be ratings"):
        score_noise(model, tmp_path / "held-out.csv")


def test_a_table_of_other_ids_is_refused(tmp_path):
    table = tmp_path / "held-out.csv"
    table.write_text("userId,movieId,rating\nx,y,3.5\nz,w,2.5\n")
    with pytest.raises(InputError, match="at least 30; got 0"):
        score_noise(ratings_model(), table)


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ("who,movieId,rating\nx,y,3.5\n", "the user column of .*, such as user"),
        ("userId,what,rating\nx,y,3.5\n", "the item column of .*, such as item"),
        ("userId,uid,movieId\nx,x,y\n", "got userId and uid; .*, such as user"),
        ("userId,movieId,stars,rating\nx,y,3,3\n", "got stars and rating; .*such as"),
        ("x,y,964982703\nz,w,964982931\n", "a first line that names the columns"),
    ],
)
def test_a_table_of_noise_is_never_sent_to_an_option(lines, sentence, tmp_path):
    table = tmp_path / "held-out.csv"
    table.write_text(lines)
    with pytest.raises(InputError, match=sentence) as caught:
        score_noise(ratings_model(), table)
    assert not [
        part for part in caught.value.sentence.parts if isinstance(part, Option)
    ]


def test_a_model_without_ids_cannot_be_compared_with_ratings(tmp_path):
    table = tmp_path / "held-out.csv"
    table.write_text("userId,movieId,rating\nx,y,3.5\nz,w,2.5\n")
    model = ratings_model().replace(right_ids=None)
    with pytest.raises(InputError, match="rows without ids"):
        score_noise(model, table)


# Twins, words and noise at the extremes


def test_twins_whose_predictions_differ_are_listed_apart():
    """With a free user bias, scores are centred, so 2 q and q have other directions."""
    draw = np.random.default_rng(0)
    items = draw.normal(size=(12, 3))
    items[7] = 2 * items[0]
    model = FactorModel.from_user_item(
        draw.normal(size=(20, 3)), items, user_bias=draw.normal(size=20)
    )
    found = nearly_equal(model, tolerance=0.01, n_neighbours=3)
    centred = items - items.mean(axis=0)
    scores = model.left @ centred.T
    unit = scores / np.linalg.norm(scores, axis=0)
    cosines = unit.T @ unit
    np.fill_diagonal(cosines, -2)
    expected = np.argsort(-cosines, axis=1)[:, :3]
    np.testing.assert_array_equal(found.rows, np.arange(12))
    np.testing.assert_array_equal(found.indices, expected)


def test_twins_of_one_prediction_share_a_place():
    draw = np.random.default_rng(0)
    items = draw.normal(size=(12, 3))
    items[7] = 2 * items[0]
    model = FactorModel.from_user_item(draw.normal(size=(20, 3)), items)
    found = nearly_equal(model, tolerance=0.01, n_neighbours=3)
    assert 7 not in found.rows
    assert 7 not in found.indices


def near_model(**options):
    draw = np.random.default_rng(0)
    users, items = draw.normal(size=(20, 3)), draw.normal(size=(12, 3))
    return FactorModel.from_user_item(users, items, **options)


def test_the_sentence_names_the_scores_that_may_be_off():
    expected = {
        "scores": near_model(),
        "scores without biases": near_model(offset=3.5),
        "scores without means": near_model(link="softmax"),
        "scores without biases and means": near_model(item_bias=np.arange(12.0)),
    }
    for scores, model in expected.items():
        text = nearly_equal(model, tolerance=0.05).on_tolerance()
        assert text.startswith(f"If {scores} may be 5 % off")


def test_a_small_tolerance_is_written_with_enough_digits():
    text = nearly_equal(near_model(), tolerance=1e-5).on_tolerance()
    assert "If scores may be 0.001 % off" in text
    low, high = text.split(" is ")[1].split(", and")[0].split(" to ")
    assert float(low) < float(high)


def test_noise_that_drowns_the_scores_gives_no_standard_error():
    found = nearly_equal(near_model(), noise=1e9)
    assert "is lost in the noise, and 0 % of the" in found.on_noise()
    assert found.to_frame()["standard_error"].max() <= 1
