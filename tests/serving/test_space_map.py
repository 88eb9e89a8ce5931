"""Mapping old vectors into the space of a new encoder, and advice about it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import orthogonal_procrustes
from sklearn.linear_model import Ridge

from embaudit.errors import InputError
from embaudit.linalg.intervals import mean_share_interval
from embaudit.model import FactorModel
from embaudit.serving.map_fit import (
    RIDGES,
    PairedRows,
    PairSums,
    linear_fit,
    rotation,
)
from embaudit.serving.near_duplicates import near_duplicate_groups
from embaudit.serving.space_map import (
    Advice,
    _halves,
    condition_numbers,
    half_angles_of_pairs,
    least_angle,
    space_map,
)


def table(rows, **fields):
    return FactorModel.from_vectors(rows, **fields)


def random_rotation(k, draw):
    return np.linalg.qr(draw.standard_normal((k, k)))[0]


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def angles_between(x, y):
    cosines = (unit(x) * unit(y)).sum(axis=1)
    return np.arccos(np.clip(cosines, -1, 1))


def sums_of(x, y):
    rows = PairedRows(x, y, of_unit_length=False)
    return PairSums.from_rows(rows, np.arange(len(x)))


@pytest.fixture
def clusters():
    """Rows around 12 centres, so that lists are no matter of chance."""
    draw = np.random.default_rng(3)
    centres = 2 * draw.standard_normal((12, 8))
    return centres[draw.integers(12, size=600)] + draw.standard_normal((600, 8))


# The law: a rotated copy is mapped back without loss.


@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(20, 200),
    k=st.integers(2, 6),
    more=st.integers(0, 3),
)
def test_a_rotated_copy_keeps_all_lists(seed, n, k, more):
    draw = np.random.default_rng(seed)
    rows = draw.standard_normal((n, k))
    turn = random_rotation(k + more, draw)[:k]
    found = space_map(table(rows), table(5 * rows @ turn))
    # Half of few rows do not span all directions.
    if n // 2 >= k:
        assert found.rotation.mapped_rows.mean() == 1
        assert found.rotation.mapped_queries.mean() == 1
        assert found.rotation.angles.max() < 1e-5
        # Even if all lists are kept, few lists are not enough for 95 %.
        is_sure = len(found.without_map) >= 58
        assert (found.advice is Advice.ROTATION) == is_sure
    assert found.without_map.mean() == 1
    np.testing.assert_allclose(found.condition_numbers, 1, rtol=1e-6)


def test_fewer_new_columns_drop_directions(clusters):
    found = space_map(table(clusters), table(clusters[:, :3]))
    assert found.columns == (8, 3)
    # The linear map drops the last columns itself.
    assert found.linear.mapped_rows.mean() > 0.99
    assert found.advice is Advice.LINEAR
    matrix = found.final["rotation"].forward
    np.testing.assert_allclose(matrix.T @ matrix, np.eye(3), atol=1e-12)


def test_no_limit_is_stated_for_maps_that_drop_columns():
    """Such maps reach angles that no rotation of all columns reaches."""
    rows = np.random.default_rng(3).standard_normal((600, 8))
    found = space_map(table(rows), table(rows[:, :3]))
    pairs = np.array(np.triu_indices(300, 1)).T
    of_all_columns = least_angle(
        half_angles_of_pairs(rows, pairs), half_angles_of_pairs(rows[:, :3], pairs)
    )
    assert found.rotation.angles.mean() < of_all_columns
    assert found.least_angle is None
    assert found.condition_numbers is None
    assert found.to_dict()["least_angle_of_rotations"] is None
    assert "No rotation" not in found.explain()
    assert "condition number" not in found.explain()


def test_limits_are_rounded_down(clusters):
    found = space_map(table(clusters), table(clusters @ np.diag(np.geomspace(1, 3, 8))))
    found = replace(found, least_angle=12.379, condition_numbers=(1.459, np.inf))
    text = found.explain()
    assert "new vectors than 12.3° on average" in text
    assert "at least 1.45 for half of the pairs, and of ∞ for one" in text


# Fits, compared with other libraries.


def test_the_rotation_is_that_of_scipy(clusters):
    draw = np.random.default_rng(0)
    target = clusters @ random_rotation(8, draw) + draw.standard_normal(clusters.shape)
    expected, _ = orthogonal_procrustes(clusters, target)
    found = rotation(sums_of(clusters, target))
    np.testing.assert_allclose(found.forward, expected, atol=1e-10)
    np.testing.assert_allclose(found.backward, expected.T, atol=1e-10)


def test_the_linear_map_is_the_ridge_with_the_smallest_error_on_other_rows(clusters):
    draw = np.random.default_rng(0)
    source = np.hstack([clusters, draw.standard_normal((600, 30))])
    target = clusters @ draw.standard_normal((8, 5)) + 9 * draw.standard_normal(
        (600, 5)
    )
    rows = PairedRows(source, target, of_unit_length=False)
    found = linear_fit(rows, np.arange(60), np.arange(60, 90)).map
    tried, held = slice(0, 60), slice(60, 90)
    errors = []
    for ridge in RIDGES:
        penalty = ridge * (source[tried] ** 2).sum() / 38
        model = Ridge(penalty, fit_intercept=False).fit(source[tried], target[tried])
        errors.append(((model.predict(source[held]) - target[held]) ** 2).sum())
    best = int(np.argmin(errors))
    assert 0 < best < len(RIDGES) - 1
    penalty = RIDGES[best] * (source[:90] ** 2).sum() / 38
    expected = Ridge(penalty, fit_intercept=False).fit(source[:90], target[:90])
    np.testing.assert_allclose(found.forward, expected.coef_.T, rtol=1e-8)


def test_lengths_make_the_linear_map_no_worse_by_angle(clusters):
    """Rows compared by cosine may have any length, which plain ridge does not use."""
    draw = np.random.default_rng(0)
    target = clusters @ (np.eye(8) + draw.standard_normal((8, 8)))
    target += 0.1 * draw.standard_normal(target.shape)
    rows = PairedRows(clusters, target, of_unit_length=True)
    found = linear_fit(rows, np.arange(300), np.arange(300, 400)).map
    plain = Ridge(1e-6, fit_intercept=False).fit(
        unit(clusters[:400]), unit(target[:400])
    )
    others = slice(400, 600)
    angle = angles_between(clusters[others] @ found.forward, target[others]).mean()
    plain_angle = angles_between(plain.predict(clusters[others]), target[others]).mean()
    assert angle < 0.5 * plain_angle


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), kappa=st.floats(1, 10), k=st.integers(2, 5))
def test_a_linear_copy_keeps_all_lists(seed, kappa, k):
    draw = np.random.default_rng(seed)
    rows = draw.standard_normal((400, k))
    matrix = random_rotation(k, draw) * np.geomspace(1, kappa, k)
    found = space_map(table(rows), table(rows @ matrix @ random_rotation(k, draw)))
    assert found.linear.mapped_rows.mean() > 0.99
    assert found.advice in (Advice.ROTATION, Advice.LINEAR)


def test_rows_of_other_lengths_give_the_same_map_by_cosine(clusters):
    draw = np.random.default_rng(0)
    target = clusters @ draw.standard_normal((8, 8))
    first = space_map(table(clusters), table(target))
    lengths = draw.uniform(0.1, 10, (600, 1))
    second = space_map(table(lengths * clusters), table(target / lengths))
    np.testing.assert_allclose(
        first.final["linear"].forward, second.final["linear"].forward, rtol=1e-6
    )
    assert first.linear.mapped_rows.tolist() == second.linear.mapped_rows.tolist()


# Lists, angles and bounds, by brute force.


def lists_by_brute_force(queries, rows, places, n, measure="cosine"):
    if measure == "cosine":
        queries, rows = unit(queries), unit(rows)
    values = queries @ rows.T
    values[np.arange(len(places)), places] = -np.inf
    return [set(line[:n]) for line in np.argsort(-values, axis=1, kind="stable")]


@pytest.mark.parametrize("measure", ["cosine", "dot"])
def test_shares_and_angles_equal_brute_force(clusters, measure):
    draw = np.random.default_rng(1)
    new = np.tanh(clusters @ draw.standard_normal((8, 10)) / 4)
    compared = {} if measure == "cosine" else {"compared": "dot"}
    old_table, new_table = table(clusters, **compared), table(new, **compared)
    found = space_map(old_table, new_table, rng=7)
    # The order of the draws decides which rows are judged; all of them have lists.
    order = np.random.default_rng(7).permutation(600)
    judged = np.sort(order[300:])
    assert (found.n_fitted, found.n_judged, found.n) == (300, 300, 10)
    old, new = clusters[judged], new[judged]
    places = np.arange(300)
    wanted = lists_by_brute_force(new, new, places, 10, measure)
    for fitted in (found.rotation, found.linear):
        mapped = old @ fitted.fitted.forward
        among_mapped = lists_by_brute_force(new, mapped, places, 10, measure)
        queries = new @ fitted.fitted.backward
        among_old = lists_by_brute_force(queries, old, places, 10, measure)
        for shares, lists in (
            (fitted.mapped_rows, among_mapped),
            (fitted.mapped_queries, among_old),
        ):
            kept = [len(a & b) / 10 for a, b in zip(wanted, lists, strict=True)]
            np.testing.assert_allclose(shares, kept, atol=1e-12)
        expected = np.degrees(angles_between(mapped, new))
        np.testing.assert_allclose(fitted.angles, expected, atol=1e-5)
    alone = lists_by_brute_force(old, old, places, 10, measure)
    kept = [len(a & b) / 10 for a, b in zip(wanted, alone, strict=True)]
    np.testing.assert_allclose(found.without_map, kept, atol=1e-12)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), k=st.integers(2, 6))
def test_no_rotation_beats_the_least_angle(seed, k):
    draw = np.random.default_rng(seed)
    old, new = draw.standard_normal((2, 40, k))
    pairs = np.array(np.triu_indices(40, 1)).T
    bound = least_angle(
        half_angles_of_pairs(old, pairs), half_angles_of_pairs(new, pairs)
    )
    best, _ = orthogonal_procrustes(unit(old), unit(new))
    for turn in (best, random_rotation(k, draw), np.eye(k)):
        # Each row is in as many pairs, so the mean over pairs is that over rows.
        assert np.degrees(angles_between(old @ turn, new)).mean() >= bound - 1e-6


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), kappa=st.floats(1, 100), k=st.integers(2, 5))
def test_a_map_of_a_condition_number_needs_no_larger_one(seed, kappa, k):
    draw = np.random.default_rng(seed)
    old = draw.standard_normal((40, k))
    scales = np.geomspace(1, kappa, k)
    new = (old @ random_rotation(k, draw) * scales) @ random_rotation(k, draw)
    pairs = np.array(np.triu_indices(40, 1)).T
    half, most = condition_numbers(
        half_angles_of_pairs(old, pairs), half_angles_of_pairs(new, pairs)
    )
    assert 1 <= half <= most <= kappa * (1 + 1e-6)


def test_nine_in_ten_new_rows_lie_within_the_covering_angle():
    """The promise of split conformal prediction holds on average over draws."""
    draw = np.random.default_rng(0)
    turn = random_rotation(6, draw)
    shares = []
    for seed in range(60):
        old = draw.standard_normal((80, 6))
        new = old @ turn + 0.4 * draw.standard_normal((80, 6))
        found = space_map(table(old[:60]), table(new[:60]), rng=seed)
        mapped = old[60:] @ found.rotation.fitted.forward
        angles = np.degrees(angles_between(mapped, new[60:]))
        shares.append(np.mean(angles <= found.rotation.covering_angle))
    # The 28th of 30 angles covers 28 of 31 rows; the standard error is about .01.
    assert np.mean(shares) == pytest.approx(28 / 31, abs=0.04)


def test_few_judged_rows_have_no_covering_angle(clusters):
    found = space_map(table(clusters), table(clusters))
    few = replace(found.rotation, angles=np.arange(8.0))
    assert few.covering_angle is None
    assert replace(found.rotation, angles=np.arange(9.0)).covering_angle == 8
    assert replace(found.rotation, angles=np.arange(19.0)).covering_angle == 17


# Advice, with cases for and against.


def with_shares(found, rotation_kept, linear_kept):
    """Return the result with the same share for every list."""
    n_lists = len(found.without_map)
    return replace(
        found,
        rotation=with_kept(found.rotation, np.full(n_lists, rotation_kept)),
        linear=with_kept(found.linear, np.full(n_lists, linear_kept)),
    )


def with_kept(judged, shares):
    """Return the result of a map with other shares of the lists."""
    return replace(judged, mapped_rows=shares, mapped_rows_dense=shares)


@pytest.mark.parametrize(
    ("rotation_kept", "linear_kept", "advice", "words"),
    [
        (0.97, 0.99, Advice.ROTATION, "A rotation is enough: it keeps 97 %"),
        (0.97, 0.2, Advice.ROTATION, "A rotation is enough: it keeps 97 %"),
        (0.94, 0.97, Advice.LINEAR, "A linear map is enough: it keeps 97 %"),
        (0.94, 0.87, Advice.LOSSY, "A rotation keeps 94 %"),
        (0.86, 0.87, Advice.LOSSY, "A linear map keeps 87 %"),
        (0.94, 0.7, Advice.LOSSY, "A rotation keeps 94 %"),
        (0.79, 0.7, Advice.EMBED_AGAIN, "a rotation keeps only 79 %"),
        (0.5, 0.82, Advice.LOSSY, "only if you can lose the rest"),
        (0.5, 0.79, Advice.EMBED_AGAIN, "Embed the items again"),
    ],
)
def test_advice_follows_the_kept_lists(
    clusters, rotation_kept, linear_kept, advice, words
):
    found = space_map(table(clusters), table(clusters))
    found = with_shares(found, rotation_kept, linear_kept)
    assert found.advice is advice
    assert words in found.conclusion


def test_an_interval_that_reaches_below_the_limit_is_not_enough(clusters):
    found = space_map(table(clusters), table(clusters))
    draw = np.random.default_rng(0)
    shares = (draw.random(40) < 0.96).astype(float)
    found = replace(
        found,
        n_judged=len(shares),
        rotation=with_kept(found.rotation, shares),
        linear=with_kept(found.linear, shares),
    )
    assert shares.mean() >= 0.95
    assert found.rotation.kept_interval[0] < 0.95
    assert found.advice is Advice.LOSSY
    assert "would tell how much it loses" in found.conclusion


@pytest.mark.parametrize(
    ("kept", "advice", "words"),
    [
        # The share is below the limit of 95 %, and its interval reaches above it.
        (0.948, Advice.LOSSY, "A rotation keeps 94.8 % (93.9 % to 95.1 %)"),
        # The share is above the limit, but its interval reaches below it.
        (0.952, Advice.LOSSY, "A rotation keeps 95.2 % (94.3 % to 95.5 %)"),
        # The whole interval is above the limit.
        (0.96, Advice.ROTATION, "it keeps 96.0 % (95.1 % to 96.3 %)"),
        # The interval reaches below the limit of 80 %.
        (0.798, Advice.EMBED_AGAIN, "keeps only 79.8 % (79.1 % to 80.1 %)"),
    ],
)
def test_shares_next_to_a_limit_show_on_which_side_they_lie(kept, advice, words):
    draw = np.random.default_rng(3)
    rows = draw.standard_normal((600, 8))
    found = with_shares(space_map(table(rows), table(rows)), kept, 0.5)
    assert len(found.without_map) == 300
    assert found.advice is advice
    assert words in found.conclusion


def test_unrelated_vectors_are_to_be_embedded_again(clusters):
    other = np.random.default_rng(5).standard_normal((600, 6))
    found = space_map(table(clusters), table(other))
    assert found.advice is Advice.EMBED_AGAIN
    assert found.linear.mapped_rows.mean() < 0.1
    assert "threshold" not in found.explain()


def test_a_linear_map_of_few_rows_is_not_preferred_to_a_rotation():
    """With 150 rows of 128 columns, the linear map fits noise."""
    draw = np.random.default_rng(0)
    old = draw.standard_normal((40, 128))[draw.integers(40, size=300)]
    old += draw.standard_normal(old.shape)
    new = old @ random_rotation(128, draw) + 0.2 * draw.standard_normal(old.shape)
    found = space_map(table(old), table(new))
    assert found.rotation.mapped_rows.mean() > found.linear.mapped_rows.mean() + 0.03
    assert found.advice is Advice.LOSSY
    assert found.best is found.rotation


def test_stretched_axes_need_a_linear_map(clusters):
    new = (clusters - clusters.mean(axis=0)) * np.geomspace(1, 12, 8)
    old = clusters - clusters.mean(axis=0)
    found = space_map(table(old), table(new))
    assert found.advice is Advice.LINEAR
    assert found.rotation.mapped_rows.mean() < 0.9


def test_a_threshold_is_carried_at_an_equal_share_of_pairs(clusters):
    found = space_map(table(clusters), table(clusters @ np.diag(np.geomspace(1, 3, 8))))
    judged = np.sort(np.random.default_rng(0).permutation(600)[300:])
    old = unit(clusters[judged])
    new = unit(clusters[judged] @ np.diag(np.geomspace(1, 3, 8)))
    mapped = unit(clusters[judged] @ found.best.fitted.forward)
    pairs = np.triu_indices(300, 1)
    threshold = found.typical_threshold
    assert threshold.before == 0.8
    n_above = ((old @ old.T)[pairs] >= 0.8).sum()
    assert ((new @ mapped.T)[pairs] >= threshold.after).sum() == pytest.approx(
        n_above, rel=0.01
    )


# Pairing, and refusals.


def test_rows_are_paired_by_id(clusters):
    draw = np.random.default_rng(2)
    turn = random_rotation(8, draw)
    order = draw.permutation(600)[:500]
    old = table(clusters, ids=np.arange(600))
    new = table(clusters[order] @ turn, ids=order)
    found = space_map(old, new)
    assert found.n_paired == 500
    assert found.advice is Advice.ROTATION


def test_zero_rows_take_no_part(clusters):
    rows = clusters.copy()
    rows[::10] = 0
    found = space_map(table(rows), table(clusters))
    assert found.n_paired == 540


def test_duplicates_of_fitted_rows_do_not_judge():
    """Unrelated vectors: a linear map fits 60 texts, but it carries no other text."""
    draw = np.random.default_rng(0)
    old, new = np.repeat(draw.standard_normal((2, 60, 64)), 10, axis=1)
    found = space_map(table(old), table(new))
    assert found.n_paired == 60
    assert found.advice is Advice.EMBED_AGAIN


@pytest.mark.parametrize(("copies", "noise"), [(8, 0.001), (12, 0.03), (20, 0.3)])
def test_near_duplicates_of_fitted_rows_do_not_judge(copies, noise):
    """Unrelated encoders: within groups of similar texts, lists are easily kept."""
    draw = np.random.default_rng(0)
    old, new = np.repeat(draw.standard_normal((2, 60, 64)), copies, axis=1)
    old += noise * draw.standard_normal(old.shape)
    new += noise * draw.standard_normal(new.shape)
    found = space_map(table(old), table(new))
    assert found.advice is Advice.EMBED_AGAIN
    if noise < 0.1:
        assert found.n_groups == 60
        assert "nearly duplicate others in both tables" in found.explain()


def test_halves_divide_no_group():
    draw = np.random.default_rng(0)
    places = draw.permutation(1_000)[:300]
    groups = draw.integers(80, size=300)
    halves = _halves(places, groups)
    group_of = dict(zip(places.tolist(), groups.tolist(), strict=True))
    parts = [halves.fitted, halves.tuning, halves.judged]
    np.testing.assert_array_equal(np.sort(np.concatenate(parts)), np.sort(places))
    sets = [{group_of[place] for place in part.tolist()} for part in parts]
    assert not sets[0] & sets[1] | sets[0] & sets[2] | sets[1] & sets[2]
    assert 130 <= len(halves.fitted) + len(halves.tuning) <= 150
    # One query of each judged group.
    of_queries = [group_of[place] for place in halves.judged[halves.queries].tolist()]
    assert sorted(of_queries) == sorted(sets[2])
    assert halves.n_groups == len(np.unique(groups))


def test_rows_that_lie_everywhere_are_no_groups():
    """In two dimensions, neighbours join all rows of a circle."""
    turns = np.linspace(0, 2 * np.pi, 1_000)
    rows = np.column_stack([np.cos(turns), np.sin(turns)])
    groups = near_duplicate_groups(PairedRows(rows, rows, True), np.arange(1_000))
    assert np.bincount(groups).max() <= 50


@pytest.mark.parametrize("k", [8, 200])
def test_groups_are_near_duplicates_in_both_tables(k):
    draw = np.random.default_rng(0)
    rows = np.repeat(draw.standard_normal((150, k)), 4, axis=0)
    old = rows + 0.02 * draw.standard_normal(rows.shape)
    new = 3 + rows @ random_rotation(k, draw) + 0.02 * draw.standard_normal(rows.shape)
    copies = np.repeat(np.arange(150), 4)
    for first, second, expected in (
        (old, new, copies),
        (old, draw.standard_normal(rows.shape), np.arange(600)),
        (draw.standard_normal(rows.shape), new, np.arange(600)),
    ):
        groups = near_duplicate_groups(PairedRows(first, second, True), np.arange(600))
        # Equal groupings: both numbers change at the same rows.
        pairs = np.unique(np.column_stack([groups, expected]), axis=0)
        n_wrong = abs(len(pairs) - len(np.unique(expected)))
        assert n_wrong <= 2
        assert abs(len(np.unique(groups)) - len(np.unique(expected))) <= 2


def test_short_lists_of_half_of_the_rows_stand_for_lists_of_all_rows():
    """Noise that few rows do not show: compare with an index of twice as many rows."""
    draw = np.random.default_rng(0)
    centres = 2 * draw.standard_normal((30, 12))
    old = centres[draw.integers(30, size=3_000)] + draw.standard_normal((3_000, 12))
    turn = random_rotation(12, draw)
    new = old @ turn + 0.3 * draw.standard_normal(old.shape)
    found = space_map(table(old), table(new))
    assert (found.n, found.n_dense) == (10, 5)
    places = np.arange(400)
    wanted = lists_by_brute_force(new[:400], new, places, 10)
    lists = lists_by_brute_force(new[:400], old @ turn, places, 10)
    of_all = np.mean([len(a & b) / 10 for a, b in zip(wanted, lists, strict=True)])
    dense = found.rotation.mapped_rows_dense.mean()
    assert dense == pytest.approx(of_all, abs=0.03)
    assert found.rotation.mapped_rows.mean() > dense + 0.03


def test_clusters_whose_lists_are_easy_do_not_make_a_map_enough():
    """Each cluster fills a top 10 in one half of the rows, in any order."""
    draw = np.random.default_rng(0)
    cluster = np.repeat(np.arange(100), 20)
    old, new = draw.standard_normal((2, len(cluster), 100))
    centres = 5 * draw.standard_normal((100, 100))
    found = space_map(table(centres[cluster] + old), table(centres[cluster] + new))
    assert found.rotation.mapped_rows.mean() > 0.8
    assert found.advice is Advice.EMBED_AGAIN


def test_rows_of_other_documents_are_to_be_embedded_again(clusters):
    turn = random_rotation(8, np.random.default_rng(0))
    order = np.random.default_rng(1).permutation(600)
    found = space_map(table(clusters), table(clusters[order] @ turn))
    assert found.advice is Advice.EMBED_AGAIN


def test_intervals_of_kept_lists_cover_their_mean():
    """Draw rows again and again, and compare intervals with the mean over all draws."""
    shares = []
    intervals = []
    for seed in range(200):
        draw = np.random.default_rng(seed)
        old = draw.standard_normal((160, 6))
        new = old + 0.15 * draw.standard_normal(old.shape)
        found = space_map(table(old), table(new), rng=seed)
        shares.append(found.rotation.mapped_rows.mean())
        intervals.append(mean_share_interval(found.rotation.mapped_rows))
    low, high = np.array(intervals).T
    covered = (low <= np.mean(shares)) & (np.mean(shares) <= high)
    assert covered.mean() >= 0.93


def test_duplicates_in_one_table_only_are_different_rows(clusters):
    rows = clusters.copy()
    rows[300:] = rows[:300]
    assert space_map(table(rows), table(clusters)).n_paired == 600
    assert space_map(table(rows), table(2 * rows)).n_paired == 300


def test_an_old_encoder_that_merges_rows_is_not_mapped():
    """One hundred items share each old vector, and the new encoder tells them apart."""
    draw = np.random.default_rng(0)
    old = np.repeat(draw.standard_normal((20, 8)), 100, axis=0)
    new = old + 0.3 * draw.standard_normal(old.shape)
    found = space_map(table(old), table(new))
    # About 50 rows of the group judge, and any 10 of them can be listed.
    assert 0.15 < found.linear.mapped_rows.mean() < 0.3
    assert found.advice is Advice.EMBED_AGAIN


def test_results_depend_only_on_the_seed(clusters):
    other = np.tanh(clusters)
    first = space_map(table(clusters), table(other), rng=4)
    second = space_map(table(clusters), table(other), rng=4)
    assert first.to_dict() == second.to_dict()
    third = space_map(table(clusters), table(other), rng=5)
    assert first.to_dict() != third.to_dict()


def test_float32_rows_keep_their_lists(clusters):
    turn = random_rotation(8, np.random.default_rng(0))
    found = space_map(
        table(clusters.astype(np.float32)), table((clusters @ turn).astype(np.float32))
    )
    assert found.rotation.mapped_rows.mean() > 0.999


def test_too_few_rows_are_refused(clusters):
    with pytest.raises(
        InputError, match=r"a nonzero row in both encoders must be at least 20; got 19"
    ):
        space_map(table(clusters[:19]), table(clusters[:19]))


def test_lists_of_most_rows_are_refused(clusters):
    """Lists of nearly all rows agree, even if the vectors are unrelated."""
    other = table(np.random.default_rng(5).standard_normal((600, 6)))
    assert space_map(table(clusters), other, n_neighbours=100).n == 100
    with pytest.raises(
        InputError, match=r"at most 100, a third of the 299 other rows .*; got 290"
    ):
        space_map(table(clusters), other, n_neighbours=290)


def test_rows_of_the_ball_are_refused(clusters):
    rows = 0.01 * clusters
    ball = table(rows, compared="hyperbolic")
    with pytest.raises(
        InputError, match="compared by cosine, dot product or Euclidean"
    ):
        space_map(ball, ball)


def test_tables_of_other_lengths_without_ids_are_refused(clusters):
    with pytest.raises(InputError, match="the same in both models"):
        space_map(table(clusters), table(clusters[:500]))
