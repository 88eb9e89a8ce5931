"""Towers of unit rows with a temperature: other models with the same probabilities."""

from __future__ import annotations

import numpy as np
import pytest

import embaudit as ea
from embaudit.canonical import other_temperature, pinned_test
from embaudit.errors import InputError
from embaudit.model import FactorModel

QUICK = {"n_gauges": 1, "n_pairs": 50, "n_starts": 0}


def softmax(scores):
    return np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)


def unit(x):
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def assert_same_probabilities(scores, other_scores):
    """Compare the probabilities of the items for each user, and the other way round."""
    np.testing.assert_allclose(softmax(scores), softmax(other_scores), rtol=1e-12)
    np.testing.assert_allclose(softmax(scores.T), softmax(other_scores.T), rtol=1e-12)


def assert_unit_rows(rows):
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1)


# A hand-sized model whose items get directions that no user has. The share b = 0.36 of
# the squared length of each item stays where it is, so that √0.36 = 0.6 of the item is
# kept. √0.64 = 0.8 goes to a new direction: e3 for the first item, e4 for the second.
USERS = np.eye(2)
ITEMS = np.array([[1.0, 0.0], [0.6, 0.8]])
WIDER_USERS = np.eye(2, 4)
WIDER_ITEMS = np.array([[0.6, 0.0, 0.8, 0.0], [0.36, 0.48, 0.0, 0.8]])


def test_new_directions_of_items_scale_all_user_item_cosines():
    assert_unit_rows(WIDER_ITEMS)
    np.testing.assert_allclose(WIDER_USERS @ WIDER_ITEMS.T, 0.6 * USERS @ ITEMS.T)


def test_new_directions_of_items_move_item_cosines():
    """e3 and e4 are at right angles, so the item cosine 0.6 becomes 0.36 · 0.6."""
    assert ITEMS[0] @ ITEMS[1] == pytest.approx(0.6)
    assert WIDER_ITEMS[0] @ WIDER_ITEMS[1] == pytest.approx(0.216)


@pytest.mark.parametrize("temperature", [0.05, 1.0])
def test_new_directions_of_items_move_no_probability_at_another_temperature(
    temperature,
):
    """User-item cosines are 0.6 times as large, and so is the temperature."""
    assert_same_probabilities(
        USERS @ ITEMS.T / temperature,
        WIDER_USERS @ WIDER_ITEMS.T / (0.6 * temperature),
    )


def test_models_that_differ_by_the_temperature_get_the_same_answer():
    towers = FactorModel.from_arrays(USERS, ITEMS, link="cosine", objective="clip")
    wider = FactorModel.from_arrays(
        WIDER_USERS, WIDER_ITEMS, link="cosine", objective="clip"
    )
    answer = str(ea.audit(towers, **QUICK).answer)
    assert answer.startswith("BY CONVENTION")
    assert str(ea.audit(wider, **QUICK).answer) == answer


@pytest.fixture(scope="module")
def cosines_before_and_after_a_shared_column():
    """Rows x of both sides become (0.8 x, 0.6): user-item cosines before and after."""
    draw = np.random.default_rng(0)
    users = unit(draw.standard_normal((7, 3)))
    items = unit(draw.standard_normal((5, 3)))
    with_column_users = np.hstack([0.8 * users, np.full((7, 1), 0.6)])
    with_column_items = np.hstack([0.8 * items, np.full((5, 1), 0.6)])
    return users @ items.T, with_column_users @ with_column_items.T


def test_a_column_that_all_rows_share_moves_the_level_of_user_item_cosines(
    cosines_before_and_after_a_shared_column,
):
    """A cosine c becomes 0.8² c + 0.6²."""
    before, after = cosines_before_and_after_a_shared_column
    np.testing.assert_allclose(after, 0.64 * before + 0.36)


def test_a_column_that_all_rows_share_moves_no_probability_at_another_temperature(
    cosines_before_and_after_a_shared_column,
):
    """Cosines differ by 0.64 times as much, so the temperature 0.1 becomes 0.064."""
    before, after = cosines_before_and_after_a_shared_column
    assert_same_probabilities(before / 0.1, after / 0.064)


def test_a_column_that_all_rows_share_keeps_the_order_of_items(
    cosines_before_and_after_a_shared_column,
):
    before, after = cosines_before_and_after_a_shared_column
    np.testing.assert_array_equal(np.argsort(-before), np.argsort(-after))


@pytest.fixture(scope="module")
def towers():
    draw = np.random.default_rng(0)
    users = draw.standard_normal((40, 4))
    items = draw.standard_normal((30, 4))
    return FactorModel.from_arrays(users, items, link="cosine")


@pytest.mark.parametrize("side", ["left", "right"])
def test_the_other_model_has_unit_rows(towers, side):
    assert_unit_rows(other_temperature(towers, share=0.25).model.factors(side))


def test_the_other_model_has_the_same_scores_times_the_temperature(towers):
    """√0.25 of each user times √0.25 of each item make 0.25 of each score."""
    other = other_temperature(towers, share=0.25)
    assert other.temperature == 0.25
    expected = 0.25 * towers.scores()
    np.testing.assert_allclose(other.model.scores(), expected, atol=1e-14)


@pytest.mark.parametrize("side", ["left", "right"])
def test_the_change_of_cosines_is_that_between_the_two_models(towers, side):
    other = other_temperature(towers, share=0.25)
    before = unit(towers.factors(side))
    after = other.model.factors(side)
    each_pair_once = np.triu_indices(len(before), 1)
    change = np.abs(after @ after.T - before @ before.T)[each_pair_once]
    # Every pair is drawn here, some of them more than once, so the mean is not exact.
    assert other.moved[side].max_abs == pytest.approx(change.max())
    assert other.moved[side].mean_abs == pytest.approx(change.mean(), rel=0.05)


def test_one_tower_alone_changes_the_temperature_by_the_length_that_stays(towers):
    """Users that are not loaded may keep all of their length: √0.25 = 0.5 remains."""
    items = towers.replace(left=None)
    other = other_temperature(items, share=0.25)
    assert other.temperature == 0.5
    assert set(other.moved) == {"right"}


def test_a_row_of_zeros_stays_one():
    towers = FactorModel.from_arrays(
        np.eye(2), [[1.0, 0.0], [0.0, 0.0], [0.6, 0.8]], link="cosine"
    )
    assert not other_temperature(towers).model.right[1].any()


DOT_PRODUCTS = FactorModel.from_arrays(np.eye(2), np.eye(2))
COSINES = DOT_PRODUCTS.replace(link="cosine")


@pytest.mark.parametrize(
    ("model", "options", "sentence"),
    [
        (DOT_PRODUCTS, {}, "the link must be cosine"),
        (COSINES, {"share": 1.0}, "between 0 and 1"),
    ],
)
def test_other_temperature_refuses(model, options, sentence):
    with pytest.raises(InputError, match=sentence):
        other_temperature(model, **options)


@pytest.fixture(scope="module")
def items_on_two_circles():
    """Return two models (users, items) of unit rows whose items lie on circles.

    Items (0.8 cos t, 0.8 sin t, 0.6) become (0.6 cos t, 0.6 sin t, 0.8).

    A user (x, y, z) becomes (4/3 x, 4/3 y, z'), so that the first two columns
    contribute the same to each score. The third one adds 0.8 z' − 0.6 z to all scores
    of a user, which no softmax shows. The user has length 1 for
    z'² = 1 − 16/9 (x² + y²), here with x² + y² ≤ 1/2 < 9/16.
    """
    angles = np.arange(9.0)
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    ones = np.ones((9, 1))
    items = np.hstack([0.8 * circle, 0.6 * ones])
    other_items = np.hstack([0.6 * circle, 0.8 * ones])

    flat = np.random.default_rng(0).uniform(-0.5, 0.5, size=(20, 2))
    squares = np.square(flat).sum(axis=1, keepdims=True)
    users = np.hstack([flat, np.sqrt(1 - squares)])
    other_users = np.hstack([4 / 3 * flat, np.sqrt(1 - 16 / 9 * squares)])
    return (users, items), (other_users, other_items)


def test_two_circles_of_items_have_the_same_probabilities(items_on_two_circles):
    (users, items), (other_users, other_items) = items_on_two_circles
    assert_unit_rows(other_users)
    np.testing.assert_allclose(
        softmax(users @ items.T), softmax(other_users @ other_items.T), rtol=1e-12
    )


def test_two_circles_of_items_have_different_cosines(items_on_two_circles):
    """An angle of t has the cosine 0.64 cos t + 0.36, and 0.36 cos t + 0.64 then.

    They differ by 0.28 (1 - cos t), which is above 0.3 for opposite items.
    """
    (_, items), (_, other_items) = items_on_two_circles
    assert np.abs(other_items @ other_items.T - items @ items.T).max() > 0.3


@pytest.mark.parametrize(
    ("objective", "status"),
    [
        # The model predicts scores, which differ between the two circles.
        ("cosine", "pinned"),
        # The model predicts probabilities, which are the same for both circles.
        ("fixed-temperature", "undecided"),
    ],
)
def test_items_on_a_circle_are_pinned_by_scores_but_not_by_probabilities(
    items_on_two_circles, objective, status
):
    (users, items), _ = items_on_two_circles
    towers = FactorModel.from_arrays(users, items, link="cosine", objective=objective)
    assert pinned_test(towers).status == status


# In 3 dimensions there are 6 quadratic forms, and 9 together with a linear part.
# 20 random rows span all of them.
MANY = np.random.default_rng(0).standard_normal((20, 3))
FEW = np.random.default_rng(1).standard_normal((4, 3))


@pytest.mark.parametrize(("users", "items"), [(MANY, FEW), (FEW, MANY)])
def test_a_fixed_temperature_pins_if_one_side_spans_all_forms(users, items):
    towers = FactorModel.from_arrays(
        users, items, link="cosine", objective="fixed-temperature"
    )
    assert pinned_test(towers).status == "pinned"


def test_a_fixed_temperature_leaves_three_items_undecided():
    """Any three items lie on a plane, as the items on the circle above do."""
    towers = FactorModel.from_arrays(
        MANY, FEW[:3], link="cosine", objective="fixed-temperature"
    )
    found = pinned_test(towers)
    assert found.status == "undecided"
    assert "One more item row off the hyperplane of the others" in found.explain()
    # The fourth item lies off that plane.
    assert pinned_test(towers.replace(right=FEW)).status == "pinned"


def test_a_fixed_temperature_says_how_many_more_items_decide():
    """Seven items fix six numbers of a metric, but only seven of nine with a shift.

    At most three more items in general position fix all nine.
    """
    towers = FactorModel.from_arrays(
        FEW, MANY[:7], link="cosine", objective="fixed-temperature"
    )
    found = pinned_test(towers)
    assert found.status == "undecided"
    assert "3 more item rows in general position would decide it." in found.explain()
    assert pinned_test(towers.replace(right=MANY[:10])).status == "pinned"


def band(width):
    """Return nine items at heights 0.6 and 0.6 + width in turn, of length 1."""
    angles = np.arange(9.0)
    height = 0.6 + width * (np.arange(9) % 2)
    flat = np.sqrt(1 - np.square(height))
    return np.column_stack([flat * np.cos(angles), flat * np.sin(angles), height])


@pytest.mark.parametrize(
    ("width", "status"),
    [(0, "undecided"), (1e-7, "undecided"), (1e-3, "pinned"), (0.1, "pinned")],
)
def test_items_leave_a_plane_by_a_firm_share_of_their_length(width, status):
    """The least singular value of (items, 1) is about the width, the largest about 4.

    Items count as off the plane if the ratio is above 1e-5, in any number format.
    """
    towers = FactorModel.from_arrays(
        MANY, band(width), link="cosine", objective="fixed-temperature"
    )
    assert pinned_test(towers).status == status


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_rounding_takes_no_item_off_its_plane(dtype):
    """Items on a circle have another model, in whatever format they are stored."""
    items = band(0).astype(dtype)
    towers = FactorModel.from_arrays(
        MANY, items, link="cosine", objective="fixed-temperature"
    )
    assert pinned_test(towers).status == "undecided"


@pytest.fixture(scope="module")
def two_triangles():
    """Return two models (inputs, labels) of unit rows with three labels on a circle.

    Labels q become N q + v with N = diag(0.8, √1.28), v = (0.2, 0), and inputs p become
    p / (0.8, √1.28). So p' · q' is p · q plus p' · v, one number per input.

    Lengths: the label (1, 0) stays. The labels (−1/2, ±√(3/4)) become
    (−0.2, ±√0.96), and 0.04 + 0.96 = 1. The squares (0.28, 0.72) of an input become
    0.28 / 0.64 + 0.72 / 1.28 = 0.4375 + 0.5625 = 1.
    """
    labels = np.array([[1, 0], [-0.5, 0.75**0.5], [-0.5, -(0.75**0.5)]])
    inputs = np.sqrt([0.28, 0.72]) * [[1, 1], [1, -1], [-1, 1], [-1, -1]]
    stretch = np.array([0.8, 1.28**0.5])
    return (inputs, labels), (inputs / stretch, labels * stretch + [0.2, 0])


def test_two_triangles_of_labels_have_the_same_probabilities(two_triangles):
    (inputs, labels), (other_inputs, other_labels) = two_triangles
    for rows in (other_inputs, other_labels):
        assert_unit_rows(rows)
    scale = 30
    np.testing.assert_allclose(
        softmax(scale * inputs @ labels.T),
        softmax(scale * other_inputs @ other_labels.T),
        rtol=1e-12,
    )


def test_two_triangles_of_labels_have_different_cosines(two_triangles):
    """The last two labels: 1/4 − 3/4 = −0.5 becomes 0.04 − 0.96 = −0.92."""
    (_, labels), (_, other_labels) = two_triangles
    assert labels[1] @ labels[2] == pytest.approx(-0.5)
    assert other_labels[1] @ other_labels[2] == pytest.approx(-0.92)


HEADS_OF_COSINES = ("arcface", "cosface", "normalised-head", "fixed-temperature")


@pytest.mark.parametrize("objective", HEADS_OF_COSINES)
@pytest.mark.parametrize("alone", [False, True])
def test_a_head_of_cosines_with_three_labels_in_a_plane_is_undecided(
    two_triangles, objective, alone
):
    for inputs, labels in two_triangles:
        left = None if alone else inputs
        head = FactorModel.from_arrays(left, labels, link="cosine", objective=objective)
        assert pinned_test(head).status == "undecided"


@pytest.mark.parametrize("objective", HEADS_OF_COSINES)
def test_a_head_of_cosines_is_pinned_by_labels_that_span_every_affine_form(objective):
    """In the plane, five labels fix the three numbers of T and the two of g.

    Four labels leave one of them: any four points lie on a second conic.
    """
    angles = np.array([0.0, 1.0, 2.5, 3.5, 5.0])
    labels = np.column_stack([np.cos(angles), np.sin(angles)])
    for n, status in ((5, "pinned"), (4, "undecided")):
        head = FactorModel.from_arrays(
            None, labels[:n], link="cosine", objective=objective
        )
        found = pinned_test(head)
        assert (found.status, found.rank, found.needed) == (status, n, 5)


def test_a_head_of_cosines_says_how_many_more_labels_decide():
    """Five numbers of a change of axes of the plane; three labels fix three of them."""
    head = FactorModel.from_arrays(
        None, np.eye(3, 2) + 0.1, link="cosine", objective="arcface"
    )
    assert pinned_test(head).rows_missing == {"right": 2}
