"""Both sides of what kernels take for equal, for constant and for rounding; and the same from blocks of one row."""

from __future__ import annotations

import numpy as np
import pytest

from embaudit.errors import InputError
from embaudit.foundation.workers import row_blocks
from embaudit.kernels import moments as module
from embaudit.kernels import pairs, passes, rows
from embaudit.kernels.copies import first_copies, near_pairs, resolution
from embaudit.kernels.moments import Moments, moments
from embaudit.kernels.nearest import TIE, NeighbourLists, neighbours, tie_of
from embaudit.kernels.pair_sums import CosineSums, RowSums, cross_gram, pair_sums
from embaudit.kernels.pairs import all_pairs, pair_cosines, pairs_or_all
from embaudit.kernels.ranks import area_under_curve
from embaudit.kernels.rows import gram, row_norms, triangular_factor, unit_rows
from embaudit.kernels.spanned import rank_beside, spans
from embaudit.kernels.stretch import Spanned, Stretch, Turn, stretches

EPS = float(np.finfo(np.float64).eps)


def draw(n, k, seed=0):
    return np.random.default_rng(seed).standard_normal((n, k))


# --- structured maps ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1.0, 4.0])
def test_scales_cancel_within_64_roundings(scale):
    for units, undone in ((64, True), (65, False), (-64, True), (-65, False)):
        one, other = Stretch(np.array([scale, scale])), Stretch(np.array([1 / scale, (1 + units * EPS) / scale]))
        assert one.is_undone_by(other) is undone
        assert other.is_undone_by(one) is undone
    turn, same, different = (Turn.sample(2, np.random.default_rng(seed)) for seed in (0, 0, 5))
    ones = np.ones(2)
    assert (turn.signs != different.signs).any()
    for other, undone in ((same, True), (different, False), (same.T, False), (None, False)):
        assert Stretch(ones, turn).is_undone_by(Stretch(ones, other)) is undone
        assert Stretch(ones, None, turn).is_undone_by(Stretch(ones, None, other)) is undone
    assert Stretch(ones).is_undone_by(np.eye(2)) is False


def test_axes_of_a_span_are_orthonormal_within_64_roundings_a_dimension():
    for units, undone in ((128, True), (130, False)):
        axes = np.eye(3)[:, :2].copy()
        axes[0, 0] = np.sqrt(1 + units * EPS)
        assert abs(axes[0, 0] ** 2 - 1) == units * EPS
        one, other = Spanned(axes, np.array([2.0, 4.0]), 8.0), Spanned(axes, np.array([0.5, 0.25]), 0.125)
        assert one.is_undone_by(other) is undone
    axes = np.eye(3)[:, :2]
    one, other = Spanned(axes, np.array([2.0, 4.0]), 8.0), Spanned(axes, np.array([0.5, 0.25]), 0.25)
    assert one.is_undone_by(other) is False
    assert one.is_undone_by(Spanned(axes.copy(), np.array([0.5, 0.25]), 0.125)) is False
    assert stretches(one).tolist() == [8.0, 4.0, 2.0]
    assert Spanned(np.eye(2), np.array([2.0, 3.0]), 9.0).sizes.tolist() == [2.0, 3.0]


def test_a_turn_draws_three_rows_of_signs():
    signs = Turn.sample(5, np.random.default_rng(3)).signs
    assert signs.shape == (3, 5)
    np.testing.assert_array_equal(signs, np.where(np.random.default_rng(3).random((3, 5)) < 0.5, -1, 1))


# --- moments -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", [0.5, 2.0])
def test_a_column_is_constant_where_its_spread_is_rounding(level):
    for share, columns in ((16.0, (0, 2)), (16.5, (2,))):
        root = np.diag([share * 1e-3 * 3 * level, 1.0, 0.0, 0.0])
        found = Moments(9, np.array([-level, 0.1, 1e-9, 0.0]), root, 1e-3, "qr")
        assert found.constant_columns == columns
        np.testing.assert_allclose(found.column_norms[:2], np.hypot([3 * level, 0.3], np.diag(root)[:2]))


@pytest.mark.parametrize(
    ("s", "row", "rank"),
    [
        ((3.0, 2.0), (5.0, 1.0), 2),
        # The second lies between both bounds of the largest, 1e-2 · 3 and 1e-2 · √(9 + 16).
        ((3.0, 0.045), (0.0, 4.0), None),
        ((3.0, 0.051), (4.0, 0.0), 2),
        ((3.0, 0.0), (0.0, 0.0299), 1),
        ((3.0, 0.0), (4.0, 0.0), 1),
        ((3.0, 0.0), (0.0, 1.0), 2),
        ((3.0, 0.02), (0.0, 0.02), 1),
        ((3.0, 0.02), (0.0, 0.03), None),
        ((4.0, 0.0, 0.0), (3.0, 0.2, 0.2), 2),
        ((0.5, 0.0), (4.0, 0.3), None),
    ],
)
def test_a_rank_beside_a_mean_is_told_where_bounds_agree(s, row, rank):
    found = rank_beside(np.array(s), np.array(row), 1e-2)
    assert found == rank
    exact = np.linalg.svd(np.vstack([np.diag(s), row]), compute_uv=False)
    assert rank in (None, int((exact > 1e-2 * exact[0]).sum()))


def test_where_bounds_do_not_agree_the_singular_values_tell():
    for root, mean, rank in ((np.diag([3.0, 0.04]), [0.0, 4.0], 2), (np.diag([3.0, 0.02]), [0.0, 0.001], 1)):
        assert Moments(1, np.array(mean), root, 1e-2, "qr").rank == rank
    for size, spanned in ((9.9, True), (10.1, False)):
        assert spans(np.zeros((2, 2)), np.diag([0.6, 0.8]), size, 0.1) is spanned
    for size, spanned in ((7.9, True), (8.1, False)):
        assert spans(np.diag([6.0, 0.0]), np.diag([1.0, 0.0]), size, 0.1) is spanned


def test_narrow_matrices_of_float32_are_summed_up_by_their_products_beyond_what_is_affordable(monkeypatch):
    x = (draw(40, 3) + 5).astype(np.float32)
    exact = x.astype(np.float64)
    monkeypatch.setattr(module, "AFFORDABLE", 120)
    routes = [moments(x).route]
    monkeypatch.setattr(module, "AFFORDABLE", 119)
    routes += [moments(x).route, moments(exact).route]
    assert routes == ["qr", "gram", "qr"]
    eps32 = float(np.finfo(np.float32).eps)
    assert moments(x).precision == max(eps32, np.sqrt(3 * EPS))
    assert moments(exact).precision == 3 * EPS
    for normalise in (False, True):
        found, rows_seen = moments(x, normalise=normalise), unit_rows(exact) if normalise else exact
        np.testing.assert_allclose(found.mean, rows_seen.mean(axis=0), rtol=1e-12)
        np.testing.assert_allclose(found.root.T @ found.root, rows_seen.T @ rows_seen, rtol=1e-9)


# --- ties, correlations, ranks -----------------------------------------------------------------------------------


def test_cosines_tie_within_16_roundings_of_what_is_stored():
    assert tie_of(np.eye(2)) == TIE == 1e-9
    assert tie_of(np.eye(2, dtype=np.float32)) == 16 * float(np.finfo(np.float32).eps)
    assert tie_of(np.eye(2, dtype=np.float16)) == 16 * float(np.finfo(np.float16).eps)
    cosines = np.array([[0.9, TIE], [0.9, np.nextafter(TIE, 1)], [0.1, 0.0], [0.5, np.nan]])
    nobody = np.zeros((4, 2), dtype=np.intp)
    lists = NeighbourLists(np.arange(4), nobody, cosines, np.array([0.0, 0.0, -np.inf, np.nan]), np.eye(4))
    assert lists.tied.tolist() == [True, False, False, False]


def test_a_correlation_is_told_where_variances_are_no_rounding():
    x, y = np.array([1.0, 2.0, 4.0, 8.0]), np.array([2.0, 1.0, 5.0, 3.0])
    sums = CosineSums(4, x.sum(), y.sum(), (x * x).sum(), (y * y).sum(), (x * y).sum())
    assert sums.pearson == pytest.approx(np.corrcoef(x, y)[0, 1])
    assert sums.rms == pytest.approx(np.sqrt(((y - x) ** 2).mean()))
    assert sums.mean == pytest.approx((y - x).mean())
    assert CosineSums(4, 4.0, 4.0, 4.0, 4.0, 4.0).rms == 0.0
    # A variance that is so many roundings of what was subtracted; one that is small by itself counts.
    for units, known in ((64, False), (65, True)):
        for other in (1.0, 4.0):
            assert np.isfinite(CosineSums(1, 1.0, 0.0, 1 + units * EPS, other, 0.0).pearson) == known
            assert np.isfinite(CosineSums(1, 0.0, 1.0, other, 1 + units * EPS, 0.0).pearson) == known
    small = 1e-14
    assert CosineSums(4, 0.0, 0.0, 3.0, small, 0.5 * np.sqrt(3 * small)).pearson == pytest.approx(0.5)


def test_ties_count_half_in_an_area():
    values = np.random.default_rng(0).integers(6, size=50).astype(float)
    positive = np.random.default_rng(1).random(50) < 0.3
    wins = [(a > b) + (a == b) / 2 for a in values[positive] for b in values[~positive]]
    assert area_under_curve(values, positive) == pytest.approx(np.mean(wins))


# --- blocks ------------------------------------------------------------------------------------------------------


def test_blocks_of_one_row_give_what_the_whole_does(monkeypatch):
    x, y = draw(23, 4), draw(23, 3, 1)
    x[5], x[9], x[17] = 0, x[2], -3 * x[2]
    x[11] *= 1e-200
    flags = np.isnan(unit_rows(x)[:, 0])
    weights = np.arange(23.0)
    chosen = np.array([0, 5, 9, 22])

    def everything():
        found = neighbours(x, 3, rows=chosen)
        unit, other = unit_rows(x), unit_rows(draw(23, 4, 2))
        sums = [RowSums.of(unit), RowSums.of(other)]
        factor = triangular_factor(y, weights)
        one = moments(y, normalise=True)
        return [
            row_norms(x), unit, unit_rows(x, none=0), gram(x), gram(x, y), factor.T @ factor,
            moments(y).mean, moments(y).root.T @ moments(y).root, one.mean, one.root.T @ one.root,
            found.indices, found.cosines, found.runner_up, pair_cosines(x, x, all_pairs(23)),
            sums[0].count, sums[0].total, sums[0].gram, cross_gram(unit, other),
            [*vars(pair_sums(sums[:1], sums[1:], [cross_gram(unit, other)])).values()],
            first_copies(y[[0, 1, 0, 2, 1]], np.arange(5)), near_pairs(y, np.arange(23), 0.9),
        ]  # fmt: skip

    whole = everything()
    monkeypatch.setattr(row_blocks, "__kwdefaults__", {"budget": 1})
    for owner, name in ((rows, "CACHE_BYTES"), (rows, "PASS_BYTES"), (passes, "CACHE_BYTES")):
        monkeypatch.setattr(owner, name, 1)
    for one, other in zip(whole, everything(), strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(whole[5], (y * weights[:, None]).T @ y)
    assert np.flatnonzero(flags).tolist() == [5]
    assert resolution(4) == 12 * EPS


def test_a_rank_that_bounds_leave_open_is_counted(monkeypatch):
    monkeypatch.setattr(module, "rank_beside", lambda *_: None)
    for last, rank in ((0.031, 2), (0.029, 1)):
        assert Moments(1, np.zeros(2), np.diag([3.0, last]), 1e-2, "qr").rank == rank
    assert moments(draw(9, 2) @ draw(2, 4, 1)).rank == 2


def test_a_triangle_is_none_where_no_factor_exists():
    root, inverse = module._triangles(np.array([[4.0, 2.0], [2.0, 5.0]]))
    np.testing.assert_allclose(root.T @ root, [[4.0, 2.0], [2.0, 5.0]], rtol=1e-15)
    np.testing.assert_allclose(root @ inverse, np.eye(2), atol=1e-15)
    for bad in (np.diag([1.0, -1.0]), np.ones((2, 2)), np.zeros((2, 2))):
        assert module._triangles(bad) is None


def test_all_pairs_are_taken_up_to_a_number(monkeypatch):
    monkeypatch.setattr(pairs, "ALL_PAIRS", 6)
    given = np.array([[0, 1]])
    assert pairs_or_all(given, 100) is given
    assert pairs_or_all(None, 4).tolist() == [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]
    assert pairs_or_all(None, 2, 3).tolist() == [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]
    for sizes, count in (((5,), 10), ((7, 1), 7)):
        with pytest.raises(InputError) as refused:
            pairs_or_all(None, *sizes)
        assert str(refused.value) == (
            f"pairs must be named where there are more than 6; got None for {count}; pass row numbers (m, 2), or see "
            "movement and range_summary, which sample."
        )


def test_lists_are_of_two_rows_at_least_with_one_copy_each():
    no_matrix = "x must be a matrix of real numbers; got ndarray; np.asarray makes one of rows."
    no_table = "table must be of 3 rows and columns, of rows that are not shifted; got shape"
    for x, options, words in (
        (np.ones(3), {}, no_matrix),
        (np.array([["a"], ["b"]]), {}, no_matrix),
        ([[1.0], [2.0]], {}, "x must be a matrix of real numbers; got list; np.asarray makes one of rows."),
        (np.ones((1, 2)), {}, "the number of rows must be at least 2 to have neighbours; got 1."),
        (np.eye(3), {"first": [0, 1]}, "first must be a vector of 3 row numbers; got 2."),
        (np.eye(3), {"rows": []}, "rows must be at least one row number; got none."),
        (np.eye(3), {"table": np.ones((3, 2))}, f"{no_table} (3, 2)."),
        (np.eye(3), {"table": np.eye(3), "shift": np.ones(3)}, f"{no_table} (3, 3)."),
    ):  # fmt: skip
        with pytest.raises(InputError) as refused:
            neighbours(x, 1, **options)
        assert str(refused.value) == words
    assert neighbours(np.eye(2), 1).indices.tolist() == [[1], [0]]
