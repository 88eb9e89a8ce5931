"""Copies of vectors: kept lists and proofs, against brute force and adversaries."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import faiss
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import embaudit as ea
from embaudit.core.tolerances import FLOAT32_TIE
from embaudit.errors import InputError
from embaudit.linalg.best_matches import Order, best_matches
from embaudit.linalg.nearest import neighbours
from embaudit.report.copies_document import copies_table
from embaudit.serving import compare_copies, copy_proofs
from embaudit.serving import copies as serving_copies
from embaudit.serving.copies import truncated_range
from embaudit.serving.copy_formats import FORMATS, CopiedRows, format_named
from embaudit.serving.copy_proofs import (
    Changes,
    Lists,
    measure_changes,
    stays_for_queries,
    stays_for_stored_rows,
)

ALL = (*FORMATS, "first:9", "pca:9")
WORDS = Path(__file__).parents[3] / "shared" / "data" / "survey" / "wordvecs"


def clusters(n: int = 240, k: int = 24, seed: int = 0) -> np.ndarray:
    """Draw rows around 12 centres, which have near neighbours."""
    draw = np.random.default_rng(seed)
    centres = draw.normal(size=(12, k))
    rows = centres[draw.integers(0, 12, n)] + 0.6 * draw.normal(size=(n, k))
    return rows.astype(np.float32)


def unit(rows: np.ndarray) -> np.ndarray:
    """Divide rows by their lengths."""
    rows = np.asarray(rows, dtype=np.float64)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def in_original_space(copied: CopiedRows, k: int) -> np.ndarray:
    """Return the unit rows of a copy with the columns of the original."""
    after = unit(copied.rows[:])
    if copied.axes is not None:
        return after @ copied.axes
    return np.pad(after, ((0, 0), (0, k - after.shape[1])))


def lists_by_hand(x: np.ndarray, n: int) -> np.ndarray:
    """List the nearest rows by sorting all cosines."""
    cosines = unit(x) @ unit(x).T
    np.fill_diagonal(cosines, -np.inf)
    return np.argsort(-cosines, axis=1, kind="stable")[:, :n]


def lists_of(x: np.ndarray, n: int, longest: int = 50) -> Lists:
    """Return lists as `compare_copies` searches them."""
    found = neighbours(x, min(n + longest, len(x) - 1))
    return Lists(found.indices, found.cosines, found.runner_up, found.rows)


def least_margins(x: np.ndarray, copied: CopiedRows, listed: np.ndarray):
    """Compute the least margin of each entry over all rows left out, by §16.

    The first margins are those of angles for stored rows, the second ones those of
    cosines for queries that are rows of the original.
    """
    before, after = unit(x), in_original_space(copied, x.shape[1])
    cosines = np.clip(before @ before.T, -1, 1)
    angles = np.arccos(cosines)
    turns = np.arccos(np.clip(np.einsum("ij,ij->i", before, after), -1, 1))
    change = after - before
    moved = np.linalg.norm(change[:, None] - change[None], axis=2)
    stored = np.empty(listed.shape)
    for_queries = np.empty(listed.shape)
    for i, entries in enumerate(listed):
        left_out = np.setdiff1d(np.arange(len(x)), [i, *entries])
        for place, j in enumerate(entries):
            needed = 2 * turns[i] + turns[j] + turns[left_out]
            stored[i, place] = (angles[i, left_out] - angles[i, j] - needed).min()
            lead = cosines[i, j] - cosines[i, left_out]
            for_queries[i, place] = (lead - moved[j, left_out]).min()
    return stored, for_queries


@pytest.mark.parametrize("name", ALL)
def test_proofs_are_the_condition_of_all_pairs_by_brute_force(name):
    x = clusters(120)
    copied = format_named(name).copy(x)
    lists, changes = lists_of(x, 5, 200), measure_changes(x, copied)
    margins = least_margins(x, copied, lists.indices[:, :5])
    found = (
        stays_for_stored_rows(lists, 5, x, changes),
        stays_for_queries(lists, 5, x, x, copied, changes),
    )
    for flags, margin in zip(found, margins, strict=True):
        # A proof also asks for the rounding of an index in float32.
        assert not (flags & (margin <= 0)).any()
        assert flags[margin > 1e-4].all()
    if name in ("float16", "int8"):
        assert found[0].mean() > 0.2


@pytest.mark.parametrize("name", ["bfloat16", "int8", "int8-columns", "first:20"])
@pytest.mark.parametrize(("n_nearest", "n_turned"), [(0, 1), (3, 10), (50, 40)])
def test_bounds_for_rows_that_are_not_looked_at_prove_nothing_false(
    name, n_nearest, n_turned, monkeypatch
):
    monkeypatch.setattr(copy_proofs, "N_TURNED", n_turned)
    x = clusters(150)
    copied = format_named(name).copy(x)
    lists, changes = lists_of(x, 5, max(n_nearest, 1)), measure_changes(x, copied)
    stored, for_queries = least_margins(x, copied, lists.indices[:, :5])
    assert not (stays_for_stored_rows(lists, 5, x, changes) & (stored <= 0)).any()
    flags = stays_for_queries(lists, 5, x, x, copied, changes)
    assert not (flags & (for_queries <= 0)).any()


def test_a_million_triples_keep_every_proven_order():
    n_triples = n_proven = 0
    for seed in range(6):
        x = clusters(220, 12, seed)
        before = unit(x)
        listed = lists_by_hand(x, 10)
        lists = lists_of(x, 10)
        for name in ("float16", "bfloat16", "int8", "int8-columns", "first:11"):
            copied = format_named(name).copy(x)
            changes = measure_changes(x, copied)
            after = in_original_space(copied, x.shape[1])
            flags = (
                stays_for_stored_rows(lists, 10, x, changes),
                stays_for_queries(lists, 10, x, x, copied, changes),
            )
            for proven, queries in zip(flags, (after, before), strict=True):
                cosines = queries @ after.T
                is_left_out = np.ones(cosines.shape, dtype=bool)
                np.fill_diagonal(is_left_out, False)
                np.put_along_axis(is_left_out, listed, False, axis=1)
                rival = np.where(is_left_out, cosines, -np.inf).max(axis=1)
                entries = np.take_along_axis(cosines, lists.indices[:, :10], axis=1)
                n_triples += proven.size * (len(x) - 11)
                n_proven += int(proven.sum()) * (len(x) - 11)
                assert not (proven & (entries <= rival[:, None])).any()
    assert n_triples > 10**6
    assert n_proven > 10**6


def turned_towards(rows: np.ndarray, targets: np.ndarray, angles: np.ndarray):
    """Turn each unit row by an angle towards a target, in the plane of both."""
    directions = targets - np.einsum("ij,ij->i", targets, rows)[:, None] * rows
    directions = unit(directions)
    return rows * np.cos(angles)[:, None] + directions * np.sin(angles)[:, None]


@pytest.mark.parametrize("size", [1e-4, 0.01, 0.1])
def test_no_adversary_within_the_angles_breaks_a_proof_for_stored_rows(size):
    draw = np.random.default_rng(1)
    x = unit(clusters(200, 8, 3))
    turns = size * draw.uniform(0.2, 1, len(x))
    everywhere = np.ones(len(x), dtype=bool)
    changes = Changes(turns, 2 * np.sin(turns / 2), everywhere, 1e-12)
    lists = lists_of(x, 5)
    proven = stays_for_stored_rows(lists, 5, x, changes)
    n_attacks = n_broken = 0
    cosines = x @ x.T
    for i, place in np.ndindex(*proven.shape):
        j = lists.indices[i, place]
        rivals = np.setdiff1d(np.arange(len(x)), [i, *lists.indices[i, :5]])
        # The row and the rival turn towards each other, and the entry turns away.
        nearest = rivals[np.argsort(-cosines[i, rivals])[:3]]
        for rival in nearest:
            own, away, near = (
                turned_towards(x[[a]], sign * x[[b]], turns[[a]])[0]
                for a, b, sign in ((i, rival, 1), (j, i, -1), (rival, i, 1))
            )
            is_broken = own @ near >= own @ away
            n_broken += is_broken
            n_attacks += 1
            assert not (proven[i, place] and is_broken)
    assert n_attacks == proven.size * 3
    assert size < 0.1 or n_broken > 0
    assert size > 1e-4 or proven.any()


def test_the_bound_is_reached_by_three_turns_in_one_plane():
    # Seen from row 0, the entry is at 0.3 and the rival at 0.3 + 4 turns.
    turn = 0.02
    for extra, is_proven in ((1e-3, True), (-1e-3, False)):
        angles = np.array([0.0, 0.3, -(0.3 + 4 * turn + extra), 2.5])
        x = np.column_stack([np.cos(angles), np.sin(angles)])
        turns = np.full(4, turn)
        changes = Changes(turns, turns, np.ones(4, dtype=bool), 1e-12)
        proven = stays_for_stored_rows(lists_of(x, 1), 1, x, changes)
        assert proven[0, 0] == is_proven
        moved = angles + np.array([-turn, turn, turn, 0])
        distances = np.abs(moved - moved[0])
        assert (distances[1] < distances[2]) == is_proven


@given(seed=st.integers(0, 2**16), turn=st.sampled_from([0.0, 1e-9, 1e-7, 1e-5]))
@settings(max_examples=25, deadline=None)
def test_rows_that_are_nearly_equal_are_never_proven_by_rounding(seed, turn):
    """Rows 1e-9 apart have cosines of 1, whose angles are rounding."""
    draw = np.random.default_rng(seed)
    base = draw.normal(size=(1, 6))
    x = base + 1e-9 * draw.normal(size=(40, 6))
    copied = CopiedRows(x + turn * draw.normal(size=x.shape), 0)
    changes, lists = measure_changes(x, copied), lists_of(x, 3)
    assert not stays_for_stored_rows(lists, 3, x, changes).any()
    assert not stays_for_queries(lists, 3, x, x, copied, changes).any()


def test_an_exact_copy_keeps_all_lists_and_turns_nothing():
    x = clusters()
    found = compare_copies(x, [x.copy(), 3 * x])
    for copy in found.copies:
        assert copy.kept == 1
        assert copy.proven > 0.999
        assert copy.proven_for_queries > 0.999
    assert found.copies[0].most_turned() == []
    assert found.copies[0].largest_angle < 1e-9


def test_a_proven_entry_is_kept():
    x = clusters()
    for name in ALL:
        copied = format_named(name).copy(x)
        lists, changes = lists_of(x, 10), measure_changes(x, copied)
        proven = stays_for_stored_rows(lists, 10, x, changes)
        by_hand = lists_by_hand(copied.rows[:], 10)
        is_kept = (lists.indices[:, :10, None] == by_hand[:, None, :]).any(axis=2)
        assert is_kept[proven].all()


@pytest.mark.parametrize(
    "name", ["bfloat16", "int8", "int8-columns", "first:9", "pca:9"]
)
def test_kept_lists_are_those_of_a_sort_of_all_cosines(name):
    x = clusters()
    found = compare_copies(x, name)
    former = lists_by_hand(x, 10)
    latter = lists_by_hand(format_named(name).copy(x).rows[:], 10)
    by_hand = [
        len(np.intersect1d(*both)) / 10 for both in zip(former, latter, strict=True)
    ]
    assert found.copies[0].kept == pytest.approx(np.mean(by_hand), abs=1e-12)
    assert found.copies[0].interval == (found.copies[0].kept,) * 2


def shares_of_drawn_lists(before, after, n: int, n_draws: int) -> np.ndarray:
    """List rows of a copy with tied ones in random order, and average the kept share.

    Parameters
    ----------
    before, after : array (m, p)
        How near each row is to each query, -inf for the query itself. Numbers of the
        copy are equal if rows tie.
    """
    draw = np.random.default_rng(0)
    belongs = before >= np.sort(before, axis=1)[:, -n, None] - FLOAT32_TIE
    shares = np.zeros(len(before))
    for _ in range(n_draws):
        shuffled = draw.permutation(after.shape[1])
        order = np.argsort(-after[:, shuffled], axis=1, kind="stable")[:, :n]
        is_kept = np.take_along_axis(belongs, shuffled[order], axis=1)
        shares += is_kept.sum(axis=1) / n / n_draws
    return shares


@pytest.mark.parametrize("n_columns", [4, 8, 24, 90])
@pytest.mark.parametrize("n_nearest", [1, 50])
@pytest.mark.parametrize("has_duplicates", [False, True])
def test_rows_that_tie_are_kept_by_their_chance(
    n_columns, n_nearest, has_duplicates, monkeypatch
):
    """Few columns tie more rows than the longer lists of 60 hold, and 90 do not."""
    monkeypatch.setattr(serving_copies, "N_NEAREST", n_nearest)
    x = clusters(300, n_columns)
    if has_duplicates:
        x[:150] = x[np.arange(150) % 9]
    before = unit(x) @ unit(x).T
    agreements = (x[:, None] > 0) == (x[None] > 0)
    after = agreements.sum(axis=2).astype(float)
    for values in (before, after):
        np.fill_diagonal(values, -np.inf)
    by_hand = shares_of_drawn_lists(before, after, 10, 400)
    found = compare_copies(x, "binary", n_lists=None).copies[0].kept_by_list
    # The standard error of a share of ten places in 400 draws is at most 0.025.
    assert np.abs(found - by_hand).max() < 0.1
    assert found.mean() == pytest.approx(by_hand.mean(), abs=0.005)


@pytest.mark.parametrize("n_columns", [1, 2, 9])
def test_queries_keep_tied_rows_by_their_chance(n_columns):
    x = clusters(300)
    queries = clusters(40, seed=9)
    found = compare_copies(x, f"first:{n_columns}", queries=queries)
    before = unit(queries) @ unit(x).T
    after = unit(queries[:, :n_columns]) @ unit(x[:, :n_columns]).T
    by_hand = shares_of_drawn_lists(before, after.round(9), 10, 400)
    kept = found.copies[0].kept_by_query
    assert np.abs(kept - by_hand).max() < 0.1
    assert kept.mean() == pytest.approx(by_hand.mean(), abs=0.005)


def test_a_copy_that_loses_lists_of_queries_is_not_named():
    """The first 20 columns tell all rows apart, and queries differ in the last 20."""
    draw = np.random.default_rng(3)
    x = np.pad(draw.normal(size=(200, 20)), ((0, 0), (0, 20))).astype(np.float32)
    x[:, 20:] = 0.01 * draw.normal(size=(200, 20))
    queries = np.pad(draw.normal(size=(50, 20)), ((0, 0), (20, 0))).astype(np.float32)
    assert compare_copies(x, "first:20", n_neighbours=1).cheapest.name == "first:20"
    found = compare_copies(x, "first:20", queries=queries, n_neighbours=1)
    copy = found.copies[0]
    assert copy.kept > 0.99 > 0.5 > copy.kept_for_queries
    assert found.cheapest is None
    assert not copy.may_keep_enough
    assert "and of the lists of the given queries" in found.conclusion
    low, high = copy.interval_for_queries
    assert low == high == copy.kept_for_queries


def test_a_collapsed_copy_keeps_no_more_than_chance():
    x = clusters()
    for queries in (None, clusters(30, seed=9)):
        copy = compare_copies(x, [np.ones_like(x)], queries=queries).copies[0]
        assert copy.kept == pytest.approx(10 / 239)
        if queries is not None:
            assert copy.kept_for_queries == pytest.approx(10 / 240)


def test_an_exact_copy_keeps_all_lists_of_duplicates():
    x = clusters()
    x[:150] = x[0]
    for queries in (None, x[:1] + 0.1 * clusters(30, seed=9)):
        found = compare_copies(x, [x.copy()], queries=queries)
        assert found.copies[0].kept == 1
        assert found.copies[0].kept_for_queries in (None, 1)


def rows_in(name: str, x: np.ndarray) -> np.ndarray:
    """Return the rows of a copy in the format of this name."""
    return FORMATS[name].copy(x).rows[:]


def test_float16_rounds_as_numpy_does():
    x = clusters(40, 10)
    np.testing.assert_array_equal(rows_in("float16", x), x.astype(np.float16))


def test_int8_scales_each_row_to_127_and_rounds_by_at_most_half_a_step():
    x = clusters(40, 10)
    codes = rows_in("int8", x)
    steps = np.abs(x.astype(float)).max(axis=1, keepdims=True) / 127
    assert np.abs(codes).max() == 127
    assert (np.abs(codes * steps - x) <= 0.5 * steps * (1 + 1e-9)).all()


def test_int8_columns_rounds_by_at_most_half_a_step_of_the_column():
    x = clusters(40, 10)
    steps = np.ptp(x.astype(float), axis=0) / 255
    assert (np.abs(rows_in("int8-columns", x) - x) <= 0.5001 * steps).all()


def test_binary_holds_the_signs():
    x = clusters(40, 10)
    bits = np.packbits(x > 0, axis=1)
    signs = np.unpackbits(bits, axis=1)[:, :10] * 2.0 - 1
    np.testing.assert_array_equal(rows_in("binary", x), signs)


def test_bfloat16_holds_eight_binary_digits():
    x = clusters(40, 10)
    rounded = rows_in("bfloat16", x).astype(np.float32)
    last_16_bits = rounded.view(np.uint32) & 0xFFFF
    assert (last_16_bits == 0).all()
    # Rounding moves a number by at most half a unit of the eighth digit.
    assert (np.abs(rounded - x) <= np.abs(x) * 2.0**-8).all()


def test_principal_axes_hold_most_of_the_squared_length_of_unit_rows():
    x = clusters()
    values, vectors = np.linalg.eigh(unit(x).T @ unit(x))
    copied = format_named("pca:5").copy(x)
    shares = np.cos(measure_changes(x, copied).angles) ** 2
    assert shares.mean() == pytest.approx(values[-5:].sum() / values.sum())
    np.testing.assert_allclose(
        np.abs(copied.axes @ vectors[:, :-6:-1]), np.eye(5), atol=1e-6
    )


def test_truncated_range_is_sharp():
    draw = np.random.default_rng(0)
    pairs = unit(draw.normal(size=(4000, 6))).reshape(-1, 2, 6)
    heads = pairs[..., :4]
    lengths = np.linalg.norm(heads, axis=2)
    cosines = np.einsum("pk,pk->p", heads[:, 0], heads[:, 1]) / lengths.prod(axis=1)
    for (first, second), cosine, length in zip(pairs, cosines, lengths, strict=True):
        low, high = truncated_range(cosine, *(length**2))
        assert low - 1e-12 <= first @ second <= high + 1e-12
        # Tails of one direction, or of opposite ones, reach the ends.
        tail = np.sqrt(1 - length**2)
        ends = first[:4] @ second[:4] + np.array([-1, 1]) * tail.prod()
        assert (low, high) == pytest.approx(tuple(ends))


def test_typical_figures_of_truncated_rows():
    x = clusters()
    copy = compare_copies(x, "first:9").copies[0]
    shares = np.square(unit(x)[:, :9]).sum(axis=1)
    assert copy.head_share == pytest.approx(np.median(shares))
    assert copy.kept_in_principal_axes == compare_copies(x, "pca:9").copies[0].kept
    assert copy.bytes_per_vector == 9 * 4


def test_heads_of_zeros_hold_nothing_of_a_row():
    """The angle of a head of zeros is 180°, whose squared cosine is 1."""
    x = clusters(60)
    x[:40, :2] = 0
    x[59] = 0
    copy = compare_copies(x, "first:2").copies[0]
    shares = np.square(unit(x[:59])[:, :2]).sum(axis=1)
    assert copy.head_share == np.median(shares) == 0
    x[:25, :2] = 1
    copy = compare_copies(x, "first:2").copies[0]
    shares = np.square(unit(x[:59])[:, :2]).sum(axis=1)
    assert copy.head_share == pytest.approx(np.median(shares))
    assert 0 < copy.head_share < 1


def test_heads_that_are_all_zero_have_no_typical_cosine():
    x = clusters(60)
    x[:, :2] = 0
    found = compare_copies(x, "first:2")
    copy = found.copies[0]
    assert copy.kept == 0
    assert copy.head_share == 0
    assert copy.typical_head_cosine is None
    assert copy.typical_range is None
    assert "squared length of the median row" not in found.explain()


def test_sure_lead_holds_for_any_query():
    x = clusters()
    copied = format_named("int8").copy(x)
    lead = compare_copies(x, "int8").copies[0].sure_lead
    queries = unit(np.random.default_rng(4).normal(size=(500, x.shape[1])))
    before = queries @ unit(x).T
    after = queries @ unit(copied.rows[:]).T
    is_ahead = before[:, :, None] - before[:, None, :] > lead
    assert (after[:, :, None] > after[:, None, :])[is_ahead].all()
    assert is_ahead.any()


@pytest.mark.parametrize("name", ["int8", "float16", "bfloat16"])
def test_no_adversarial_query_breaks_a_proof_for_queries(name):
    """Queries between a row and a rival, moved along the difference of both changes."""
    x = clusters()
    copied = format_named(name).copy(x)
    changes = measure_changes(x, copied)
    before, after = unit(x), in_original_space(copied, x.shape[1])
    change = after - before
    listed = lists_by_hand(x, 11)
    entry = np.repeat(listed[:, 0], 10)
    rival = listed[:, 1:].ravel()
    against = change[rival] - change[entry]
    n_proven = n_broken = 0
    for step in (0.0, 0.1, 1.0, 10.0):
        middle = before[entry] + before[rival]
        size = step * np.linalg.norm(middle, axis=1) / np.linalg.norm(against, axis=1)
        queries = unit(middle + size[:, None] * against)
        order = Order("cosine", x)
        longest = best_matches(order, queries, 60)
        lists = Lists(longest.indices, longest.values, longest.values[:, -1], None)
        proven = stays_for_queries(lists, 1, queries, x, copied, changes)[:, 0]
        first_after = np.argmax(queries @ after.T, axis=1)
        is_broken = first_after != longest.indices[:, 0]
        assert not (proven & is_broken).any()
        n_proven += proven.sum()
        n_broken += is_broken.sum()
    assert n_proven > 0
    assert n_broken > 0


def test_given_queries_stay_as_they_are():
    x = clusters()
    queries = clusters(30, seed=9)
    found = compare_copies(x, ["int8", "first:9"], queries=queries)
    assert found.n_queries == 30
    for copy in found.copies:
        after = in_original_space(format_named(copy.name).copy(x), x.shape[1])
        former, latter = (
            np.argsort(-(queries @ rows.T), axis=1)[:, :10] for rows in (unit(x), after)
        )
        kept = [
            len(np.intersect1d(*both)) / 10 for both in zip(former, latter, strict=True)
        ]
        np.testing.assert_allclose(copy.kept_by_query, kept)


def test_signs_prove_nothing_and_are_said_to():
    found = compare_copies(clusters(), "binary")
    assert found.copies[0].proven == 0
    assert found.copies[0].proven_for_queries == 0
    assert "prove nothing" in found.explain()


def test_rows_that_moved_most_are_named():
    x = clusters(60)
    copy = x.copy()
    copy[7] = -copy[7]
    copy[9] = np.roll(copy[9], 1)
    model = ea.FactorModel.from_vectors(x, ids=[f"text {i}" for i in range(60)])
    moved = compare_copies(model, copy).copies[0].most_turned()
    assert [record["name"] for record in moved] == ["text 7", "text 9"]
    assert moved[0]["angle"] == pytest.approx(180)


def test_rows_without_direction_in_the_copy_or_the_original():
    x = clusters(60)
    copy = x.copy()
    copy[3] = 0
    lost = compare_copies(x, copy).copies[0]
    assert lost.n_lost == 1
    assert 0.9 < lost.kept < 1
    assert 0.5 < lost.proven < 1
    # A row that only the copy gives a direction could come before every other row.
    zero = x.copy()
    zero[3] = 0
    gained = compare_copies(zero, x).copies[0]
    assert gained.proven == 0
    assert gained.kept < 1


def test_a_rotated_copy_is_judged_after_the_best_rotation():
    x = clusters()
    turn = np.linalg.qr(np.random.default_rng(2).normal(size=(24, 24)))[0]
    copy = compare_copies(x, x @ turn).copies[0]
    assert copy.is_turned
    assert copy.largest_angle < 1e-3
    assert copy.kept == 1
    assert copy.proven > 0.99


def test_shuffled_rows_are_pointed_out_and_matched_by_ids():
    x = clusters()
    order = np.random.default_rng(0).permutation(len(x))
    assert "same order" in compare_copies(x, x[order]).explain()
    ids = np.arange(len(x))
    original = ea.FactorModel.from_vectors(x, ids=ids)
    shuffled = ea.FactorModel.from_vectors(x[order], ids=ids[order])
    assert compare_copies(original, shuffled).copies[0].kept == 1


# Copies as stores and files hold them


def codes_with(x: np.ndarray, kind: str) -> dict[str, np.ndarray]:
    """Quantise rows with scales of rows or of columns."""
    if kind == "rows":
        scale = np.abs(x).max(axis=1, keepdims=True) / 127
        return {"codes": np.rint(x / scale).astype(np.int8), "scale": scale}
    low = x.min(axis=0, keepdims=True)
    scale = np.ptp(x, axis=0, keepdims=True) / 255
    codes = np.rint((x - low) / scale).astype(np.uint8)
    return {"codes": codes, "scale": scale, "offset": low}


@pytest.mark.parametrize("kind", ["rows", "columns"])
@pytest.mark.parametrize("suffix", ["", ".npz", ".safetensors"])
def test_codes_are_read_with_their_scales(kind, suffix, tmp_path):
    x = clusters()
    codes = codes_with(x, kind)
    source = codes
    if suffix == ".npz":
        source = tmp_path / "codes.npz"
        np.savez(source, **codes)
    elif suffix == ".safetensors":
        from safetensors.numpy import save_file

        source = tmp_path / "codes.safetensors"
        save_file(codes, source)
    found = compare_copies(x, [source]).copies[0]
    made = compare_copies(x, "int8" if kind == "rows" else "int8-columns").copies[0]
    assert found.kept == made.kept
    assert found.bytes_per_vector == made.bytes_per_vector
    np.testing.assert_allclose(found.angles, made.angles, atol=1e-4)


def test_packed_signs_are_read():
    x = clusters()
    packed = np.packbits(x > 0, axis=1)
    found = compare_copies(x, [packed, "binary"]).copies
    assert found[0].kept == found[1].kept
    assert found[0].bytes_per_vector == found[1].bytes_per_vector == 3


def test_plain_codes_have_one_scale_per_row(tmp_path):
    x = clusters()
    np.save(tmp_path / "codes.npy", codes_with(x, "rows")["codes"])
    found = compare_copies(x, tmp_path / "codes.npy").copies[0]
    assert found.name == "codes.npy"
    assert found.kept == compare_copies(x, "int8").copies[0].kept


@pytest.mark.parametrize("kind", ["PQ6x4", "IVF4,PQ6x4", "SQ8", "HNSW8,SQ8", "Flat"])
@pytest.mark.parametrize("is_stored", [False, True])
def test_codes_of_faiss_are_compared_as_the_vectors_they_stand_for(
    kind, is_stored, tmp_path
):
    x = clusters()
    index = faiss.index_factory(24, kind)
    index.train(x)
    index.add(x)
    by_hand = compare_copies(x, [index.reconstruct_n()]).copies[0]
    source = index
    if is_stored:
        source = tmp_path / "i.faiss"
        faiss.write_index(index, str(source))
    found = compare_copies(x, source).copies[0]
    np.testing.assert_array_equal(found.kept_by_list, by_hand.kept_by_list)
    np.testing.assert_allclose(found.angles, by_hand.angles, atol=1e-6)
    assert found.proven == by_hand.proven
    n_bytes = {"PQ6x4": 3, "IVF4,PQ6x4": 3, "Flat": 96}
    assert found.bytes_per_vector == n_bytes.get(kind, 24)


def test_codes_of_faiss_are_matched_by_ids():
    x = clusters()
    ids = 3 * np.random.default_rng(0).permutation(len(x))
    index = faiss.index_factory(24, "IVF4,SQ8")
    index.train(x)
    index.add_with_ids(x, ids)
    original = ea.FactorModel.from_vectors(x, ids=ids)
    assert compare_copies(original, index).copies[0].largest_angle < 5
    unknown = ea.FactorModel.from_vectors(x, ids=ids + 1)
    with pytest.raises(InputError, match="no row with the id"):
        compare_copies(unknown, index)


def test_an_index_that_is_not_decoded_is_refused_with_a_line_that_works(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    x = clusters()
    index = faiss.index_factory(24, "PQ6x4fs")
    index.train(x)
    index.add(x)
    faiss.write_index(index, "i.faiss")
    with pytest.raises(InputError, match="got IndexPQFastScan") as error:
        compare_copies(x, "i.faiss")
    assert "\n" not in str(error.value)
    exec(str(error.value).split("`")[1], {"faiss": faiss, "numpy": np})
    found = compare_copies(x, "vectors.npy").copies[0]
    same = index.reconstruct_n()
    assert found.kept == compare_copies(x, [same]).copies[0].kept


# The result


@pytest.mark.parametrize(
    ("kept", "figure"),
    [(0.989, "98.9 %"), (0.98996, "98.996 %"), (0.99, "99 %"), (0.97, "97 %")],
)
def test_a_share_below_99_percent_is_not_written_as_99_percent(kept, figure):
    """All lists are measured, so the interval is the share itself."""
    found = compare_copies(clusters(), ["int8"], n_lists=None)
    shares = np.full(found.n_rows, kept)
    copy = dataclasses.replace(found.copies[0], kept_by_list=shares)
    found = dataclasses.replace(found, copies=(copy,))
    assert copy.keeps_enough == (kept >= 0.99)
    assert copy.kept_words == figure
    assert copies_table(found).frame["lists kept"].tolist() == [figure]
    # A decision and its figure stand in the same sentence.
    decision = "int8 does not keep 99 %"
    if copy.keeps_enough:
        decision = "int8 keeps 99 %"
    assert found.conclusion.startswith(decision)
    assert f"{figure}, in 28 bytes per vector" in found.conclusion


@pytest.mark.parametrize(
    "formats",
    [["int8"], ["binary"], ["float16", "int8", "binary"], ["binary", "pca:3"]],
)
def test_the_text_gives_the_share_of_each_copy_once(formats):
    found = compare_copies(clusters(), formats, n_lists=None)
    for copy in found.copies:
        texts = [text for text in found.paragraphs if copy.name in text]
        assert " ".join(texts).count(copy.kept_words) == 1


def test_the_cheapest_copy_keeps_enough_at_the_low_end_of_its_interval():
    x = clusters(900, 24)
    found = compare_copies(x, ["float16", "int8", "binary"], n_lists=50)
    for copy in found.copies:
        low, high = copy.interval
        assert low <= copy.kept <= high
        assert copy.keeps_enough == (low >= 0.99 - 1e-9)
    # Fifty lists cannot show losses in 6 % of all lists.
    assert found.cheapest is None
    assert "More lists can decide whether int8 and float16 keep 99 %" in (
        found.conclusion
    )
    # Four times as many lists make an interval half as long.
    assert "99 % (`--n-lists 200`)." in found.conclusion
    # No more lists can be drawn than there are rows.
    most = compare_copies(x, ["float16", "int8"], n_lists=290)
    assert "`--n-lists 900`" in most.conclusion
    assert (
        compare_copies(x, ["float16", "binary"], n_lists=None).cheapest.name
        == "float16"
    )


def whole_numbers() -> np.ndarray:
    """Draw rows that int8 holds exactly, because each largest entry is 127."""
    draw = np.random.default_rng(5)
    x = draw.integers(-127, 128, (300, 32)).astype(np.float32)
    x[np.arange(300), draw.integers(0, 32, 300)] = 127
    return x


def signs() -> np.ndarray:
    """Draw rows of 1 and -1, with few ties among 301 columns."""
    draw = np.random.default_rng(6)
    return np.where(draw.normal(size=(300, 301)) > 0, 1, -1).astype(np.float32)


def tight_clusters() -> np.ndarray:
    """Draw clusters of rows whose differences int8 loses, and float16 keeps in part."""
    draw = np.random.default_rng(7)
    centres = np.repeat(draw.normal(size=(20, 32)), 15, axis=0)
    return (centres + 3e-3 * draw.normal(size=centres.shape)).astype(np.float32)


@pytest.mark.parametrize(
    ("rows", "formats", "cheapest"),
    [
        (whole_numbers(), ["float16", "int8", "binary"], "int8"),
        (signs(), ["float16", "int8", "binary"], "binary"),
        (
            np.pad(whole_numbers(), ((0, 0), (0, 9))),
            ["first:32", "first:31"],
            "first:32",
        ),
        (tight_clusters(), ["int8", "binary", "first:16"], None),
        (tight_clusters(), ["int8", "float16"], "float16"),
        (clusters()[:, :9], ["binary", "first:4", "pca:4"], None),
    ],
)
def test_a_copy_is_named_if_it_is_exact_and_not_if_it_mixes_up_neighbours(
    rows, formats, cheapest
):
    found = compare_copies(rows, formats, n_lists=None)
    cosines = unit(rows) @ unit(rows).T
    np.fill_diagonal(cosines, -np.inf)
    by_hand = {}
    for name in formats:
        copied = unit(format_named(name).copy(rows).rows[:])
        after = (copied @ copied.T).round(9)
        np.fill_diagonal(after, -np.inf)
        by_hand[name] = shares_of_drawn_lists(cosines, after, 10, 50).mean()
    if cheapest is None:
        assert found.cheapest is None
        assert "No copy keeps 99 %" in found.conclusion
        assert max(by_hand.values()) < 0.99
    else:
        assert found.cheapest.name == cheapest
        assert f"{cheapest} is the smallest of these copies" in found.conclusion
        assert by_hand[cheapest] == pytest.approx(1)


@pytest.mark.parametrize("lost_share", [0.0101, 0.02])
def test_a_copy_that_loses_more_is_rarely_said_to_keep_enough(lost_share):
    """Of all samples, at most 5 % and the error of 2,000 of them say so."""
    template = compare_copies(clusters(60), "int8").copies[0]
    draw = np.random.default_rng(8)
    n_wrong = 0
    for _ in range(2_000):
        kept = (draw.random(300) >= lost_share).astype(float)
        copy = dataclasses.replace(template, kept_by_list=kept, n_rows=10**6)
        n_wrong += copy.keeps_enough
    assert n_wrong / 2_000 < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 2_000)


def test_the_record_is_plain_and_the_table_has_a_row_per_copy():
    found = compare_copies(clusters(), list(ALL))
    record = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert [copy["copy"] for copy in record["copies"]] == list(ALL)
    frame = found.to_frame()
    assert list(frame["copy"]) == list(ALL)
    assert list(frame["bytes_per_vector"]) == [48, 48, 28, 24, 3, 36, 36]
    assert (found.moved_frame()["angle"] > 0).all()
    assert set(found.records()[0]) == set(frame.columns)


def test_the_same_seed_gives_the_same_numbers():
    x = clusters(900)
    first, second = (compare_copies(x, "int8", n_lists=20, rng=3) for _ in range(2))
    assert first.to_dict() == second.to_dict()


@pytest.mark.parametrize(
    ("copies", "sentence"),
    [
        ("int4", "formats must be names of float16"),
        ("first:0", "formats must be names of"),
        ("first:24", "the columns of first:24 must be an integer from 1 to 23"),
        ("pca:99", "the columns of pca:99 must be an integer from 1 to 23"),
        ([], "copies must be names of formats, or copies of the vectors; got an"),
        (np.ones((5, 24)), "a copy must be of the 240 rows of the original"),
        (np.ones((240, 24), dtype=np.uint8), "signs packed by numpy.packbits, 3 bytes"),
        (
            {"codes": np.ones((240, 24), dtype=np.int8), "scale": np.ones(7)},
            "the scale of codes must be one number, or of shape (240, 1) or (1, 24)",
        ),
        (
            {"codes": np.ones((240, 24), dtype=np.int8), "ids": np.arange(480)},
            "the ids of codes must be a list of one id per row of codes, of "
            "shape (240,); got",
        ),
    ],
)
def test_copies_that_cannot_be_read_are_refused_in_one_sentence(copies, sentence):
    with pytest.raises(InputError) as caught:
        compare_copies(clusters(), copies)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def test_other_bad_input_is_refused():
    x = clusters()
    ids = ea.FactorModel.from_vectors(x, ids=np.arange(240))
    others = ea.FactorModel.from_vectors(x, ids=np.arange(1, 241))
    codes = np.ones((241, 24), dtype=np.int8)
    repeated = {"codes": codes, "ids": np.append(np.arange(240), 7)}
    calls = {
        "got the id '7' in several rows": lambda: compare_copies(ids, [repeated]),
        "no row with the id '0'": lambda: compare_copies(ids, others),
        "numbers of at most 65,504": lambda: compare_copies(1e6 * x, "float16"),
        "queries must be vectors of 24 columns": lambda: compare_copies(
            x, "int8", queries=x[:, :3]
        ),
        "at least 3": lambda: compare_copies(x[:2], "int8"),
        "n_neighbours must be": lambda: compare_copies(x, "int8", n_neighbours=240),
    }
    for sentence, call in calls.items():
        with pytest.raises(InputError, match=sentence):
            call()


@pytest.mark.skipif(not WORDS.exists(), reason="the folder of real inputs is absent")
def test_word_vectors_keep_their_lists_in_16_bits():
    file = next(WORDS.glob("*.json"))
    model = ea.load(file)
    found = compare_copies(
        model, ["float16", "int8", "binary", "first:64"], n_lists=None
    )
    by_name = {copy.name: copy for copy in found.copies}
    x = np.asarray(model.right)
    former = lists_by_hand(x, 10)
    latter = lists_by_hand(format_named("int8").copy(x).rows[:], 10)
    kept = [
        len(np.intersect1d(*both)) / 10 for both in zip(former, latter, strict=True)
    ]
    assert by_name["int8"].kept == pytest.approx(np.mean(kept), abs=1e-3)
    assert by_name["float16"].kept > 0.995
    assert by_name["float16"].proven > 0.9
    assert by_name["binary"].proven == 0
    assert by_name["first:64"].kept_in_principal_axes > by_name["first:64"].kept
    assert FLOAT32_TIE < by_name["float16"].sure_lead < by_name["int8"].sure_lead
