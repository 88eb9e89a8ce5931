"""Cosines of unit rows: pinned cosines come with a proof, free cosines with an
equivalent model, and all others are undecided.
"""

from __future__ import annotations

from time import process_time

import numpy as np
import pytest
from adversary import break_claim
from hypothesis import given, settings
from hypothesis import strategies as st

from embaudit.canonical import pinned_test
from embaudit.core.progress import reporting
from embaudit.model import FactorModel, softmax_link

UNIT = softmax_link(unit_rows=True)
CAPPED = softmax_link(unit_rows=True, soft_cap=3.0)


def rows(n, k, seed=0):
    return np.random.default_rng(seed).standard_normal((n, k))


def unit(x):
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def cosine_model(n, p, k, seed=0):
    return FactorModel.from_arrays(
        rows(n, k, seed), rows(p, k, seed + 1000), link="cosine"
    )


def changes(before, after):
    pairs = np.triu_indices(len(before), 1)
    return np.abs(unit(after) @ unit(after).T - unit(before) @ unit(before).T)[pairs]


def second_metric(n, k, seed=0):
    """Unit rows of two sides, and S ≠ I with `p S p = 1` and `q S⁻¹ q = 1` on all of
    them."""
    draw = np.random.default_rng(seed)
    stretches = np.concatenate([np.full(k // 2, 0.5), np.full(k - k // 2, 1.8)])
    sides = []
    for values in (stretches, 1 / stretches):
        # The squared parts in both halves of the axes weigh the two values so that
        # their mean is 1.
        low, high = values[0], values[-1]
        share = (1 - high) / (low - high)
        halves = [
            np.sqrt(part) * unit(draw.standard_normal((n, width)))
            for part, width in ((share, k // 2), (1 - share, k - k // 2))
        ]
        sides.append(np.hstack(halves))
    return *sides, stretches


@pytest.mark.parametrize(("n", "k"), [(9, 2), (40, 4), (300, 12)])
def test_unit_rows_with_a_planted_second_metric_are_not_pinned(n, k):
    left, right, stretches = second_metric(n, k)
    model = FactorModel.from_arrays(left, right, link="cosine")
    other_left, other_right = left * np.sqrt(stretches), right / np.sqrt(stretches)
    # The planted model has unit rows and the same predictions, but other cosines.
    np.testing.assert_allclose(np.linalg.norm(other_left, axis=1), 1, atol=1e-14)
    np.testing.assert_allclose(np.linalg.norm(other_right, axis=1), 1, atol=1e-14)
    assert changes(right, other_right).max() > 0.1
    assert pinned_test(model).status == "undecided"
    turn = np.linalg.qr(rows(k, k, 5))[0]
    turned = FactorModel.from_arrays(left @ turn, right @ turn, link="cosine")
    assert pinned_test(turned).status == "undecided"


@pytest.mark.parametrize("k", [1, 2, 5, 20])
@pytest.mark.parametrize("swapped", [False, True])
def test_a_random_side_of_enough_rows_is_pinned_if_the_other_has_full_rank(k, swapped):
    needed = k * (k + 1) // 2
    enough, few = rows(needed + 5, k), rows(k, k, 1)
    sides = (enough, few) if not swapped else (few, enough)
    found = pinned_test(FactorModel.from_arrays(*sides, link="cosine"))
    assert (found.status, found.rank, found.needed) == ("pinned", needed, needed)


def test_rows_that_span_all_forms_are_free_if_the_other_side_lacks_a_direction():
    """The six items fix a metric, but one user sees one direction of three."""
    e1, e2, e3 = np.eye(3)
    items = np.vstack([e2, e3, e2 + e3, e1 + e2, e1 + e3, e1 + e2 + e3])
    found = pinned_test(FactorModel.from_arrays([e1], items, link="cosine"))
    assert found.status == "free"
    assert "item rows reach into 2 directions no user has" in found.because
    assert found.moved["right"].max_abs > 0.5
    # Users along all three axes see every direction.
    assert (
        pinned_test(FactorModel.from_arrays(np.eye(3), items, link="cosine")).status
        == "pinned"
    )


def collapsed(n, width, used, seed, lean=0.0):
    """Unit rows spread evenly over the first dimensions, with about 3e-6 of their
    length in each of the others; `lean` draws them to one axis."""
    x = rows(n, width, seed) * np.r_[np.ones(used), np.full(width - used, 3e-6)]
    x[:, 0] += lean
    return unit(x)


def test_towers_that_collapsed_evenly_are_pinned_in_the_dimensions_they_use():
    left, right = collapsed(300, 24, 4, 0), collapsed(200, 24, 4, 1)
    found = pinned_test(FactorModel.from_arrays(left, right, link="cosine"))
    # Four dimensions have 4 · 5 / 2 = 10 numbers.
    assert (found.status, found.rank, found.needed) == ("pinned", 10, 10)
    assert "in the 4 of 24 dimensions that these rows use" in found.because
    # What lies outside moves no cosine by a thousandth.
    inside = unit(right[:, :4])
    assert changes(right, inside).max() < 1e-3


def test_a_fiftieth_of_the_length_outside_the_used_dimensions_gives_room():
    """Frames leave room for movements like the root of the share: 0.02 for 0.0004.

    Items become longer inside by drawing their axes together, and shorter outside,
    where users become longer.
    """

    def axes(share):
        inside, outside = np.sqrt(1 - share) * np.eye(2), np.full((2, 1), share**0.5)
        return np.block([[inside, outside], [inside, -outside]])

    users, items = axes(1e-8), axes(4e-4)
    stretch = 100.0
    scale = (1 - 1e-8 * stretch) / (1 - 1e-8)
    lean = np.sqrt(1 - (1 - 4e-4) / (scale * (1 - 4e-4 / stretch)))
    gauge = np.zeros((3, 3))
    gauge[:2, :2] = np.linalg.cholesky(scale * np.array([[1, lean], [lean, 1]]))
    gauge[2, 2] = stretch**0.5
    left, right = users @ gauge, items @ np.linalg.inv(gauge).T
    for side in (left, right):
        np.testing.assert_allclose(np.linalg.norm(side, axis=1), 1, atol=1e-14)
    np.testing.assert_allclose(left @ right.T, users @ items.T, atol=1e-14)
    assert changes(items, right).max() > 0.02
    found = pinned_test(FactorModel.from_arrays(users, items, link="cosine"))
    assert found.status == "undecided"
    assert "use 2 of 3 dimensions and hold at most 0.0004" in found.because
    assert "in the other one, where rows of an equivalent model may" in found.because
    assert found.explain().endswith(" No method here decides it.")


def test_towers_that_collapsed_to_one_side_of_their_dimensions_stay_undecided():
    """Rows near one axis leave room: the towers of the next test are of this kind."""
    left, right = collapsed(300, 24, 4, 0, lean=9), collapsed(200, 24, 4, 1, lean=9)
    found = pinned_test(FactorModel.from_arrays(left, right, link="cosine"))
    assert (found.status, found.rows_missing) == ("undecided", {})
    assert "in the other 20, where rows of an equivalent model may" in found.because
    assert found.explain().endswith(" No method here decides it.")


def test_a_softmax_leaves_collapsed_towers_open_if_all_items_lean_to_one_side():
    """Axes are a tight frame.

    No weights bring the mean of the items to zero, unless there are opposite items.
    """
    users = collapsed(60, 12, 2, 0)
    axes = np.eye(2, 12)
    for items, status in ((axes, "undecided"), (np.vstack([axes, -axes]), "pinned")):
        model = FactorModel.from_arrays(
            users, items, link="cosine", objective="fixed-temperature"
        )
        assert pinned_test(model).status == status
    # Without a softmax the cosines themselves are fixed, and axes are enough.
    assert (
        pinned_test(FactorModel.from_arrays(users, axes, link="cosine")).status
        == "pinned"
    )


@pytest.mark.parametrize(
    ("length", "by_cosines", "by_softmax"),
    [
        (3e-5, "pinned", "pinned"),
        (1e-4, "pinned", "undecided"),
        (2e-4, "undecided", "undecided"),
    ],
)
def test_a_softmax_needs_a_smaller_share_outside_the_used_dimensions(
    length, by_cosines, by_softmax
):
    """Two of three dimensions are used: r ε is 2 length², at most 4.9e-8, or 5.5e-9
    behind a softmax."""
    axes = np.vstack([np.eye(2, 3), -np.eye(2, 3)])
    outside = np.array([0.0, 0.0, length])
    users, items = axes + outside, axes - outside
    for objective, status in ((None, by_cosines), ("fixed-temperature", by_softmax)):
        model = FactorModel.from_arrays(
            users, items, link="cosine", objective=objective
        )
        assert pinned_test(model).status == status


@pytest.fixture(scope="module")
def narrow_fans():
    """Return users near one axis of the plane, items near the other one, and an
    equivalent model of four dimensions with other cosines within both sides.

    Stretching the first axis by 0.8 and the second by 1/0.8 for users makes them
    shorter, and the inverse makes items shorter, too. A third axis of the users alone
    and a fourth of the items alone make both long again.
    """
    turn = 0.1 * np.linspace(-1, 1, 9)
    users = np.column_stack([np.cos(turn), np.sin(turn)])
    items = np.column_stack([np.sin(turn), np.cos(turn)])
    stretch = np.array([0.8, 1 / 0.8])
    other = [users * stretch, items / stretch]
    lengths = [np.linalg.norm(x, axis=1) for x in other]
    assert max(x.max() for x in lengths) < 1
    missing = [np.sqrt(1 - length**2) for length in lengths]
    none = np.zeros(9)
    other_users = np.column_stack([other[0], missing[0], none])
    other_items = np.column_stack([other[1], none, missing[1]])
    return (users, items), (other_users, other_items)


def test_narrow_fans_have_an_equivalent_model_in_more_dimensions(narrow_fans):
    (users, items), (other_users, other_items) = narrow_fans
    np.testing.assert_allclose(other_users @ other_items.T, users @ items.T, atol=1e-15)
    assert changes(users, other_users).max() > 1e-3


def test_dimensions_that_rows_hardly_use_give_room_to_another_model(narrow_fans):
    """About 1e-5 of each row lies in two further dimensions, which may be stretched."""
    sides = [
        np.hstack([x, 1e-5 * rows(9, 2, seed)]) for seed, x in enumerate(narrow_fans[0])
    ]
    assert (
        pinned_test(FactorModel.from_arrays(*sides, link="cosine")).status
        == "undecided"
    )


ROTATION = np.linalg.qr(rows(4, 4, 7))[0]


@pytest.mark.parametrize("rotation", [np.eye(4), ROTATION])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_zero_columns_change_no_result_and_rotated_ones_do_not_either(
    narrow_fans, rotation, dtype
):
    """Nine rows per side fix the three numbers of a metric of the plane.

    The equivalent model of four dimensions is no counterexample to "pinned", because
    its rows span three dimensions, and "pinned" speaks of models of the same rank.
    """
    sides = [np.hstack([x, np.zeros((9, 2))]) @ rotation for x in narrow_fans[0]]
    sides = [side.astype(dtype) for side in sides]
    found = pinned_test(FactorModel.from_arrays(*sides, link="cosine"))
    assert (found.status, found.rank, found.needed) == ("pinned", 3, 3)
    assert found.scope == "equivalent models of the same rank"
    assert (
        "These rows span 2 of 4 dimensions, and models whose rows span more are not "
        "ruled out." in found.explain()
    )


@pytest.mark.parametrize("rotation", [np.eye(4), ROTATION])
def test_a_head_with_zero_columns_is_decided_in_the_dimensions_of_its_labels(rotation):
    """In the plane, affine forms have five numbers, and a unit label fixes one."""
    angles = np.array([0.0, 1.0, 2.5, 3.5, 5.0])
    labels = np.column_stack([np.cos(angles), np.sin(angles), np.zeros((5, 2))])
    labels = labels @ rotation
    found = pinned_test(FactorModel.from_arrays(None, labels, link=UNIT))
    assert (found.status, found.rank, found.needed) == ("pinned", 5, 5)
    model = FactorModel.from_arrays(None, labels[:4], link=UNIT)
    found = pinned_test(model)
    assert (found.status, found.rank, found.needed) == ("free", 4, 5)
    # The witness is a gauge of the four stored columns.
    twin = found.twin(model)
    np.testing.assert_allclose(np.linalg.norm(twin.right, axis=1), 1, atol=1e-12)
    moved = changes(labels[:4], twin.right)
    assert moved.max() == pytest.approx(found.moved["right"].max_abs, abs=1e-9)
    assert moved.max() > 0.01
    assert found.witness.condition_number == pytest.approx(3.0)


@pytest.mark.parametrize(
    ("share", "dtype", "status"),
    [
        (0, np.float64, "pinned"),
        (1e-15, np.float64, "undecided"),
        (1e-13, np.float64, "undecided"),
        (1e-11, np.float64, "free"),
        (1e-15, np.float32, "pinned"),
        (1e-13, np.float32, "undecided"),
        (1e-11, np.float32, "free"),
        (1e-7, np.float16, "undecided"),
        (1e-6, np.float16, "free"),
    ],
)
def test_what_rounding_may_have_put_into_a_dimension_decides_nothing(
    share, dtype, status
):
    """Five labels fix the five numbers of the plane, but not the nine of the space.

    Rounding leaves shares of 3.6e-15 in float32, and of 2.4e-7 in float16.
    """
    angles = np.array([0.0, 1.0, 2.5, 3.5, 5.0])
    labels = np.column_stack([np.cos(angles), np.sin(angles), np.zeros(5)])
    labels[0, 2] = share**0.5
    found = pinned_test(FactorModel.from_arrays(None, labels.astype(dtype), link=UNIT))
    assert found.status == status
    if status == "undecided":
        text = found.explain()
        assert "rounding may have put it there" in text
        assert "without it the cosines are pinned, and with it they are free" in text
        assert text.endswith("Numbers stored with more digits would decide it.")


def test_what_float16_rounds_into_a_dimension_decides_nothing_either():
    """Rounding to float16 leaves up to 2e-7 of a squared length outside of a plane."""
    angles = np.array([0.0, 1.0, 2.5, 3.5, 5.0])
    labels = np.column_stack([np.cos(angles), np.sin(angles), np.zeros((5, 2))])
    rounded = (labels @ ROTATION).astype(np.float16)
    found = pinned_test(FactorModel.from_arrays(None, rounded, link=UNIT))
    assert found.status == "undecided"
    assert "rounding may have put it there" in found.because


def test_three_labels_in_many_columns_are_decided_like_three_labels_in_three_columns():
    """In three dimensions a change of axes has 6 + 3 numbers; each label fixes one."""
    labels = unit(rows(3, 3))
    for columns in (labels, labels @ np.linalg.qr(rows(200, 3))[0].T):
        found = pinned_test(FactorModel.from_arrays(None, columns, link=UNIT))
        assert (found.status, found.rank, found.needed) == ("free", 3, 9)


@pytest.mark.parametrize("rotation", [np.eye(4), ROTATION])
def test_a_reflection_acts_on_stored_columns_with_zeros_among_them(rotation):
    """Users lie on the first axis of the plane of the items."""
    items = np.column_stack([unit(rows(7, 2)), np.zeros((7, 2))]) @ rotation
    users = np.array([[1.0, 0, 0, 0], [-1.0, 0, 0, 0]]) @ rotation
    model = FactorModel.from_arrays(users, items, link="cosine")
    found = pinned_test(model)
    assert found.status == "free"
    assert "item rows reach into 1 direction no user has" in found.because
    twin = found.twin(model)
    np.testing.assert_allclose(twin.scores(), users @ items.T, atol=1e-12)
    assert changes(items, twin.right).max() > 0.1


def test_sixty_rows_do_not_fix_the_136_numbers_of_sixteen_dimensions():
    found = pinned_test(cosine_model(30, 30, 16))
    assert (found.status, found.rank, found.needed) == ("undecided", 60, 136)
    assert found.rows_missing == {"left": 106, "right": 106}


def test_unit_rows_of_48_dimensions_are_tested_in_seconds_and_in_steps():
    """Six hundred rows per side share a direction and do not fix 1,176 numbers."""
    steps = []
    x = unit(rows(600, 48))
    left = unit(0.8 * x + 2.2 * unit(rows(1, 48, 1)))
    right = unit(0.8 * unit(x + 0.5 * unit(rows(600, 48, 2))) + 1.6 * unit(rows(1, 48)))
    model = FactorModel.from_arrays(left, right, link="cosine", objective="clip")
    with reporting(lambda each, text, total: steps.append(text) or iter(each)):
        began = process_time()
        found = pinned_test(model)
        seconds = process_time() - began
    assert (found.status, found.rank, found.needed) == ("undecided", 1176, 1176)
    assert found.rows_missing == {"left": 576, "right": 576}
    assert seconds < 30
    assert "counting what unit rows fix" in steps


def test_the_adversary_agrees_with_every_answer():
    answers = {"pinned": 0, "free": 0, "undecided": 0}
    for seed in range(21):
        draw = np.random.default_rng(seed)
        k = int(draw.integers(1, 4))
        n, p = draw.integers(k, 9, size=2)
        link = ("cosine", UNIT, CAPPED)[seed % 3]
        bias = rows(p, 1, seed)[:, 0] if seed % 2 else None
        model = FactorModel.from_arrays(
            rows(n + 2, k, seed), rows(p, k, seed + 99), link=link, right_bias=bias
        )
        found = pinned_test(model, rng=seed)
        answers[found.status] += 1
        broken = break_claim(model, starts=3, rng=seed)
        assert not (found.status == "pinned" and broken.found), (
            seed,
            found,
            broken.max_abs,
        )
        if found.moved and found.moved["right"].max_abs > 1e-3:
            twin = found.twin(model)
            assert model.link.gap(model.scores(), twin.scores()) < 1e-12
            assert broken.found
    assert answers["pinned"] >= 4
    assert answers["free"] >= 4


def test_a_head_too_large_to_count_is_free_with_a_model_to_show():
    model = FactorModel.from_arrays(None, rows(200, 70), link=UNIT)
    found = pinned_test(model)
    twin = found.twin(model)
    assert (found.status, found.rank, found.needed) == ("free", 200, 2555)
    assert found.moved["right"].max_abs > 0.05
    assert changes(model.right, twin.right).max() == pytest.approx(
        found.moved["right"].max_abs, rel=0.2
    )
    np.testing.assert_allclose(np.linalg.norm(twin.right, axis=1), 1, atol=1e-11)


def test_a_large_head_is_decided_in_the_dimensions_that_its_labels_span():
    """Affine forms of 20 dimensions have 20 · 21 / 2 + 20 = 230 numbers."""
    labels = rows(200, 70) * (np.arange(70) < 20)
    found = pinned_test(FactorModel.from_arrays(None, labels, link=UNIT))
    assert (found.status, found.rank, found.needed) == ("free", 200, 230)


def test_sides_too_large_to_count_name_the_rows_that_are_missing():
    """Of 2,485 numbers 200 rows fix 200 at most; a fourth more rows than numbers is
    needed, here 621."""
    found = pinned_test(
        FactorModel.from_arrays(rows(80, 70), rows(200, 70), link="cosine")
    )
    assert found.rows_missing == {"left": 3026, "right": 2906}
    assert "2,906 more item rows in general position would decide it" in found.explain()
    assert "has 2,485 numbers, and the rows fix at most 280 of" in found.explain()


def test_no_proof_is_tried_above_129_dimensions():
    for left in (None, rows(150, 140, 1)):
        found = pinned_test(
            FactorModel.from_arrays(left, rows(200, 140), link="cosine")
        )
        assert found.status == "undecided"
        assert found.because.endswith("no proof is tried above 8,400")
        assert found.rows_missing == {}


def test_one_side_with_enough_rows_decides_above_the_size_that_is_counted():
    many, few = unit(rows(4500, 66)), unit(rows(300, 66, 1))
    for left, right in ((few, many), (many.astype(np.float32), few), (None, many)):
        assert (
            pinned_test(FactorModel.from_arrays(left, right, link="cosine")).status
            == "pinned"
        )
    assert (
        pinned_test(FactorModel.from_arrays(None, many, link=UNIT)).status == "pinned"
    )
    assert (
        pinned_test(FactorModel.from_arrays(None, many, link=CAPPED)).status
        == "undecided"
    )


@pytest.mark.parametrize("miss", [0.0, 1e-12, 1e-7])
def test_rows_of_66_dimensions_on_a_cone_are_not_pinned(miss):
    """One coordinate has half of the squared length of every row, but for a miss."""
    draw = np.random.default_rng(0)
    x = np.hstack([unit(rows(4500, 65)), 1 + miss * draw.standard_normal((4500, 1))])
    x = x @ np.linalg.qr(rows(66, 66, 3))[0]
    found = pinned_test(FactorModel.from_arrays(None, x, link="cosine"))
    assert (found.status, found.rows_missing) == ("undecided", {})


def test_the_rounding_of_bfloat16_hides_whether_rows_of_66_dimensions_span():
    """A form of norm 1 has a root mean square of about 0.02 on these rows, and rounding
    adds up to 0.01 to it."""
    stored = as_bfloat16(unit(rows(4500, 66)))
    assert (
        pinned_test(FactorModel.from_arrays(None, stored, link="cosine")).status
        == "undecided"
    )


def pinned_items(items):
    return pinned_test(FactorModel.from_arrays(None, items, link="cosine"))


# A symmetric k × k matrix has k (k + 1) / 2 numbers, and each of n rows in general
# position fixes one of them.
N_K_AND_MISSING = [(2, 2, 1), (7, 4, 3)]


def rows_with_redundant_ones(n, k):
    """n rows. Longer copies of them, and rows of zeros, fix no further number."""
    return np.vstack([rows(n, k), 3 * rows(n, k), np.zeros((2, k))])


@pytest.mark.parametrize(("n", "k", "missing"), N_K_AND_MISSING)
def test_copies_rows_of_zeros_and_lengths_do_not_count_as_rows(n, k, missing):
    found = pinned_items(rows_with_redundant_ones(n, k))
    assert found.status == "undecided"
    assert found.rows_missing == {"right": missing}
    assert found.to_dict()["rows_missing"] == {"right": missing}


@pytest.mark.parametrize(
    ("n", "k", "sentence"),
    [
        (2, 2, "1 more item row in general position would decide it."),
        (7, 4, "3 more item rows in general position would decide it."),
    ],
)
def test_the_explanation_says_how_many_rows_would_decide(n, k, sentence):
    text = pinned_items(rows_with_redundant_ones(n, k)).explain()
    assert text.endswith(f" {sentence}")


@pytest.mark.parametrize(("n", "k", "missing"), N_K_AND_MISSING)
def test_as_many_rows_more_as_are_missing_decide(n, k, missing):
    more = rows(missing, k, seed=9)
    found = pinned_items(np.vstack([rows_with_redundant_ones(n, k), more]))
    assert found.status == "pinned"
    assert not found.rows_missing


@pytest.mark.parametrize(("n", "k", "missing"), N_K_AND_MISSING)
def test_one_row_less_than_are_missing_leaves_it_undecided(n, k, missing):
    more = rows(missing - 1, k, seed=9)
    found = pinned_items(np.vstack([rows_with_redundant_ones(n, k), more]))
    assert found.status == "undecided"
    assert found.rows_missing == {"right": 1}


def rows_on_a_cone(n, axis_share, draw):
    """n unit rows whose last coordinate makes `axis_share` of their squared length."""
    angles = draw.uniform(0, 2 * np.pi, n)
    radius = np.sqrt(1 - axis_share)
    height = np.full(n, np.sqrt(axis_share))
    return np.column_stack([radius * np.cos(angles), radius * np.sin(angles), height])


# S is not the identity, but it keeps all lengths of cones(): for left rows p and right
# rows q, pᵀ S p = 0.5 · 0.64 + 17/9 · 0.36 = 1 and qᵀ S⁻¹ q = 2 · 0.32 + 9/17 · 0.68 =
# 1.
METRIC_OF_CONES = np.array([0.5, 0.5, 17 / 9])


def cones():
    """Left and right unit rows on one cone per side, with the same axis."""
    draw = np.random.default_rng(1)
    axes = np.linalg.qr(draw.normal(size=(3, 3)))[0]
    left = rows_on_a_cone(300, 0.36, draw) @ axes
    right = rows_on_a_cone(400, 0.68, draw) @ axes
    return left, right


def as_bfloat16(x):
    """Round float32 to its upper 16 bits."""
    bits = x.astype(np.float32).view(np.uint32) + np.uint32(0x8000)
    return (bits & np.uint32(0xFFFF0000)).view(np.float32)


def as_float16(x):
    return x.astype(np.float16)


def as_float32(x):
    return x.astype(np.float32)


STORED = pytest.mark.parametrize("stored", [as_float16, as_float32, as_bfloat16])


def test_a_metric_other_than_the_identity_keeps_all_lengths_on_two_cones():
    draw = np.random.default_rng(1)
    left = rows_on_a_cone(300, 0.36, draw)
    right = rows_on_a_cone(400, 0.68, draw)
    np.testing.assert_allclose(np.square(left) @ METRIC_OF_CONES, 1)
    np.testing.assert_allclose(np.square(right) @ (1 / METRIC_OF_CONES), 1)


def test_unit_rows_on_cones_are_undecided():
    assert (
        pinned_test(FactorModel.from_arrays(*cones(), link="cosine")).status
        == "undecided"
    )


@STORED
@pytest.mark.parametrize("widened", [False, True])
def test_the_rounding_of_storage_fixes_no_number(stored, widened):
    """Rounding moves rows off their cones, which does not prove a fixed metric."""
    left, right = (stored(side) for side in cones())
    if widened:
        left, right = left.astype(np.float64), right.astype(np.float64)
    both_sides = pinned_test(FactorModel.from_arrays(left, right, link="cosine"))
    assert both_sides.status == "undecided"
    assert both_sides.rows_missing == {}
    assert (
        pinned_test(FactorModel.from_arrays(None, right, link=UNIT)).status != "pinned"
    )


@STORED
@pytest.mark.parametrize("widened", [False, True])
def test_the_rounding_of_storage_fixes_no_number_if_two_columns_are_equal(
    stored, widened
):
    """These rows span 3 of 4 dimensions, so they are rotated before the test."""
    left, right = (
        stored(np.column_stack([side[:, [0, 0]] / np.sqrt(2), side[:, 1:]]))
        for side in cones()
    )
    if widened:
        left, right = left.astype(np.float64), right.astype(np.float64)
    found = pinned_test(FactorModel.from_arrays(left, right, link="cosine"))
    assert (found.status, found.dimensions) == ("undecided", 3)
    assert "differences that may be rounding" in found.because
    assert (
        pinned_test(FactorModel.from_arrays(None, right, link=UNIT)).status != "pinned"
    )


@STORED
@pytest.mark.parametrize("widened", [False, True])
def test_the_rounding_of_storage_gives_a_side_no_direction(stored, widened):
    """Items lie in a plane, so users can hold anything at right angles to it."""
    turn = np.linalg.qr(rows(3, 3, 7))[0]
    left = stored(unit(rows(50, 3)) @ turn)
    right = stored(unit(rows(40, 3, 1) * [1, 1, 0]) @ turn)
    if widened:
        left, right = left.astype(np.float64), right.astype(np.float64)
    found = pinned_test(FactorModel.from_arrays(left, right, link="cosine"))
    assert found.status != "pinned"


@STORED
@pytest.mark.parametrize("k", [3, 16])
def test_the_rounding_of_storage_does_not_hide_that_generic_rows_are_pinned(stored, k):
    left = stored(unit(rows(600, k, seed=1)))
    right = stored(unit(rows(600, k, seed=2)))
    assert (
        pinned_test(FactorModel.from_arrays(left, right, link="cosine")).status
        == "pinned"
    )
    assert (
        pinned_test(FactorModel.from_arrays(None, right, link=UNIT)).status == "pinned"
    )


# With M = diag(1.4, 1.4, 0.2), xᵀ M x = |x|² + 0.4 (x₁² + x₂² - 2 x₃²), which is |x|²
# on the cone x₁² + x₂² = 2 x₃². A unit row is on this cone if x₃² = 1/3.
CONE_METRIC = np.array([1.4, 1.4, 0.2])


def nearly_on_a_cone(gap):
    """24 unit rows whose x₃² differs from that of the cone, 1/3, by at most `gap`."""
    draw = np.random.default_rng(0)
    angles = draw.uniform(0, 2 * np.pi, 24)
    squared_height = 1 / 3 + gap * draw.uniform(-1, 1, 24)
    signs = np.sign(draw.standard_normal(24))
    radius = np.sqrt(1 - squared_height)
    return np.column_stack(
        [
            radius * np.cos(angles),
            radius * np.sin(angles),
            signs * np.sqrt(squared_height),
        ]
    )


UNDECIDED_GAPS = [
    (1e-12, np.float64),
    (1e-9, np.float64),
    (1e-8, np.float64),
    (1e-7, np.float64),
    (1e-6, np.float64),
    (1e-8, np.float32),
]
PINNED_GAPS = [(1e-3, np.float64), (1e-2, np.float64), (1e-2, np.float32)]


@pytest.fixture(params=["cosine", "unit-row softmax"])
def near_cone_model(request):
    """Return a function that makes a model of rows, for each of two links."""
    if request.param == "cosine":
        return lambda rows: FactorModel.from_arrays(None, rows, link="cosine")
    return lambda rows: FactorModel.from_arrays(np.eye(3), rows, link=UNIT)


@pytest.mark.parametrize(("gap", "dtype"), [*UNDECIDED_GAPS, *PINNED_GAPS])
def test_the_metric_of_a_cone_nearly_keeps_lengths_and_moves_cosines(gap, dtype):
    """Squared lengths change by 0.4 (1 - 3 x₃²), which is at most 1.2 gap."""
    items = nearly_on_a_cone(gap).astype(dtype).astype(np.float64)
    # |x √M|² = xᵀ M x.
    moved = items * np.sqrt(CONE_METRIC)
    assert np.abs(np.linalg.norm(moved, axis=1) - 1).max() < 2 * gap + 1e-6
    assert np.abs(moved @ moved.T - items @ items.T).max() > 0.3


@pytest.mark.parametrize(("gap", "dtype"), UNDECIDED_GAPS)
def test_rows_that_all_but_leave_a_metric_free_pin_nothing(gap, dtype, near_cone_model):
    """Training in float32 could not tell the lengths of the metric from 1."""
    found = pinned_test(near_cone_model(nearly_on_a_cone(gap).astype(dtype)))
    assert found.status == "undecided"
    assert "differences that may be rounding" in found.because


@pytest.mark.parametrize(("gap", "dtype"), PINNED_GAPS)
def test_rows_that_are_clearly_off_a_cone_are_pinned(gap, dtype, near_cone_model):
    found = pinned_test(near_cone_model(nearly_on_a_cone(gap).astype(dtype)))
    assert found.status == "pinned"


@pytest.mark.parametrize(("gap", "dtype"), [*UNDECIDED_GAPS, *PINNED_GAPS])
def test_a_cap_pins_nothing_because_equal_probabilities_do_not_fix_logits(gap, dtype):
    items = nearly_on_a_cone(gap).astype(dtype)
    capped = softmax_link(unit_rows=True, soft_cap=5.0)
    found = pinned_test(FactorModel.from_arrays(np.eye(3), items, link=capped))
    assert found.status == "undecided"


@pytest.mark.parametrize("k", [2, 3, 4])
def test_axes_on_both_sides_are_undecided_because_counting_is_not_necessary(k):
    """Only the identity has `tr S + tr S⁻¹ = 2k`, but neither side fixes more than k
    numbers."""
    found = pinned_test(FactorModel.from_arrays(np.eye(k), np.eye(k), link="cosine"))
    assert (found.status, found.rank) == ("undecided", k)
    missing = k * (k - 1) // 2
    assert found.rows_missing == {"left": missing, "right": missing}


def test_many_generic_rows_are_pinned_by_one_side():
    assert pinned_test(cosine_model(20, 400, 16)).status == "pinned"
    assert (
        pinned_test(FactorModel.from_arrays(None, rows(400, 16), link=UNIT)).status
        == "pinned"
    )


@given(n=st.integers(1, 20), k=st.integers(1, 5), seed=st.integers(0, 99))
@settings(max_examples=40)
def test_rank_is_that_of_the_flattened_products(n, k, seed):
    x = unit(rows(n, k, seed))
    expected = np.linalg.matrix_rank(
        np.einsum("ni,nj->nij", x, x).reshape(n, -1), tol=1e-5
    )
    found = pinned_test(FactorModel.from_arrays(None, x, link="cosine"))
    # Fewer rows than columns span as many dimensions as there are rows.
    r = min(n, k)
    assert (found.rank, found.needed) == (expected, r * (r + 1) // 2)
    assert found.rows_missing == (
        {"right": found.needed - expected} if expected < found.needed else {}
    )


def test_rows_on_a_cone_pin_nothing_however_many():
    """Rows with one coordinate fixed in a share of their length lie on a quadric, a
    matrix T of their own."""
    x = rows(5000, 3)
    x = np.column_stack(
        [x / np.linalg.norm(x, axis=1, keepdims=True), np.full(5000, 0.7)]
    )
    found = pinned_test(FactorModel.from_arrays(None, x, link="cosine"))
    assert (found.status, found.rank, found.needed, found.rows_missing) == (
        "undecided",
        9,
        10,
        {},
    )
