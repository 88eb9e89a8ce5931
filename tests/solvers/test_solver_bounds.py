"""Solvers on both sides of every bound: cuts of rows, looks at a basis, routes, residuals, and what is passed on."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg
import sklearn.utils.extmath

from embaudit.errors import InputError
from embaudit.foundation import parallel
from embaudit.gauges import GeneralLinear, Orthogonal
from embaudit.solvers import (
    RESCALINGS,
    FactorPenaltyMF,
    ProductPenaltyMF,
    krylov,
    linear_embedding,
    products,
    routes,
    svd,
)
from embaudit.solvers.linear_embedding import TINY, LinearEmbedding, _generator
from embaudit.solvers.svd import EXACT, FALLBACK_ENTRIES, TruncatedSVD, _Triplets, truncated_svd, zero_below

DRAW = np.random.default_rng(0)


# --- cuts of rows ------------------------------------------------------------------------------------------------


def sizes(X, columns):
    cuts = list(products._even_rows(X, columns))
    assert [c.start for c in cuts] == [0, *(c.stop for c in cuts[:-1])]
    return [c.stop - c.start for c in cuts]


def test_rows_are_cut_into_even_blocks_within_a_budget(monkeypatch):
    assert sizes(np.ones((33, 3)), 1) == [3] * 11
    assert sizes(np.ones((32, 3)), 1) == [2] * 16
    assert sizes(np.ones((10, 3)), 1) == [1] * 10
    uneven = sp.csr_array(np.tril(np.ones((20, 20))))
    # Row i ends at i (i + 1) / 2 of 210 entries, of which each block has a 16th or a row's worth more.
    ends = np.arange(21) * np.arange(1, 22) // 2
    wanted = np.unique([0, *(int(np.argmax(ends >= share * 210 / 16)) for share in range(1, 16)), 20])
    assert sizes(uneven, 1) == np.diff(wanted).tolist()
    # 12 numbers a block: of X 3 rows of 4 columns, of a product 2 rows of 6.
    monkeypatch.setitem(parallel.row_blocks.__kwdefaults__, "budget", 12 * 8)
    assert sizes(np.ones((160, 4)), 1) == [3] * 53 + [1]
    assert sizes(np.ones((160, 4)), 6) == [2] * 80
    assert sizes(np.ones((160, 4)), 12) == [1] * 160
    assert sizes(np.ones((160, 12)), 1) == [1] * 160
    assert sizes(sp.csr_array(np.eye(80)), 6) == np.diff(sorted({*range(0, 80, 2), *range(5, 80, 5), 80})).tolist()


def test_rows_of_a_sparse_matrix_are_cut_out_without_a_copy():
    X = sp.csr_array(DRAW.integers(0, 3, size=(9, 4)).astype(np.float64))
    part = products._csr_rows(X, slice(2, 6))
    np.testing.assert_array_equal(part.toarray(), X.toarray()[2:6])
    assert np.shares_memory(part.data, X.data)
    assert np.shares_memory(part.indices, X.indices)


def test_a_basis_is_looked_at_when_it_has_grown_enough_and_measured_exactly(monkeypatch):
    looks, errors = [], iter([1.0, 0.25 + 1e-9, 0.25])
    ritz = krylov._Subspace.ritz

    def look(space):
        values, coordinates = ritz(space)
        vectors = space.vectors(coordinates)
        gaps = gram @ vectors - vectors * values
        looks.append((space.size, values, np.linalg.norm(gaps, axis=0)))
        return values, coordinates

    def measured(values, residuals, k):
        np.testing.assert_allclose(values, looks[-1][1][:4])
        np.testing.assert_allclose(residuals, looks[-1][2][:4], rtol=1e-6, atol=1e-10)
        assert k == 3
        return np.array([0.0, next(errors), 0.0])

    monkeypatch.setattr(krylov._Subspace, "ritz", look)
    monkeypatch.setattr(krylov, "value_errors", measured)
    monkeypatch.setattr(krylov, "CHECK_GROWTH", 1.2)
    turn = np.linalg.qr(np.random.default_rng(1).standard_normal((60, 60)))[0]
    gram = (turn * np.linspace(1, 0, 60)) @ turn.T
    start = np.random.default_rng(2).standard_normal((60, 2))
    found = krylov.block_krylov(lambda v: gram @ v, start, 4, 3, tolerance=0.25)
    # From 2.5 times 4 vectors on, and then from 1.2 times as many as there were.
    assert [size for size, _, _ in looks] == [10, 12, 16]
    assert found.shape == (60, 4)
    np.testing.assert_allclose(found.T @ found, np.eye(4), atol=1e-12)


# --- routes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("shape", "k", "width", "n_vectors"), [((40, 30), 3, 16, 11), ((9, 12), 3, 9, 9)])
def test_an_iteration_starts_from_a_block_of_its_width(monkeypatch, shape, k, width, n_vectors):
    seen = []

    def recorded(multiply, start, *args, **options):
        seen.append((start, args, options, multiply(np.eye(min(shape), 2, dtype=start.dtype))))
        return np.eye(min(shape), n_vectors)

    monkeypatch.setattr(routes, "block_krylov", recorded)
    X = DRAW.standard_normal(shape)
    side = X.T @ X if shape[0] > shape[1] else X @ X.T
    routes.krylov(X, k, np.random.default_rng(5))
    begin = np.linalg.qr(DRAW.standard_normal((shape[1], k)))[0]
    routes.krylov(X, k, np.random.default_rng(5), start=begin)
    (first, *given, product), (second, *again, precise) = seen
    drawn = np.random.default_rng(5).standard_normal((min(shape), width), dtype=np.float32)
    np.testing.assert_array_equal(first, drawn)
    assert given == again == [(n_vectors, k), {"tolerance": 1e-9}]
    np.testing.assert_allclose(second, begin if shape[0] > shape[1] else X @ begin, rtol=1e-12)
    np.testing.assert_allclose(product, side[:, :2], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(precise, side[:, :2], rtol=1e-12, atol=1e-12)


def test_many_vectors_are_found_from_wider_blocks(monkeypatch):
    widths = []
    monkeypatch.setattr(
        routes, "block_krylov", lambda m, start, n, k, **o: widths.append(start.shape[1]) or np.eye(400, n)
    )
    for k in (127, 128, 135, 136, 192):
        routes.krylov(np.eye(400), k, np.random.default_rng(5))
    assert widths == [16, 17, 17, 18, 25]


def test_routes_of_others_are_asked_with_draws_of_ours(monkeypatch):
    X, seen = DRAW.standard_normal((12, 7)), []
    eigsh, randomized = scipy.sparse.linalg.eigsh, sklearn.utils.extmath.randomized_svd
    monkeypatch.setattr(scipy.sparse.linalg, "eigsh", lambda a, k, **o: seen.append((k, o)) or eigsh(a, k, **o))
    monkeypatch.setattr(
        sklearn.utils.extmath, "randomized_svd", lambda a, k, **o: seen.append((k, o)) or randomized(a, k, **o)
    )
    for given in (X, X.T):
        found = routes.lanczos(given, 3, np.random.default_rng(4))
        exact = np.linalg.svd(given)[2][:3].T
        np.testing.assert_allclose(found @ found.T, exact @ exact.T, atol=1e-9)
    assert routes.randomized(X, 3, np.random.default_rng(4)).shape == (7, 3)
    for k, options in seen[:2]:
        assert (k, set(options), options["tol"]) == (3, {"v0", "tol"}, 0)
        np.testing.assert_array_equal(options["v0"], np.random.default_rng(4).standard_normal(7))
    assert seen[2] == (3, {"n_oversamples": 8, "random_state": np.random.default_rng(4).integers(2**31)})


@pytest.mark.parametrize("shape", [(9, 5), (5, 9)])
def test_vectors_of_a_route_come_best_first(shape):
    left, right = (np.linalg.qr(DRAW.standard_normal((n, 5)))[0] for n in shape)
    X = (left * [5.0, 4.0, 3.0, 2.0, 1.0]) @ right.T
    for found in (routes.gram(X, 3), routes.lanczos(X, 3, np.random.default_rng(0))):
        np.testing.assert_allclose(np.abs(found.T @ right[:, :3]), np.eye(3), atol=1e-7)


def test_one_vector_more_guards_the_gap_of_a_gram_matrix(monkeypatch):
    asked, gram = [], routes.gram
    monkeypatch.setattr(routes, "gram", lambda X, k: asked.append(k) or gram(X, k))
    for shape, k in (((8, 6), 3), ((8, 6), 6), ((6, 8), 6), ((6, 8), 5)):
        truncated_svd(DRAW.standard_normal(shape), k, solver="gram")
    assert asked == [4, 6, 6, 6]


def test_small_values_of_a_basis_are_taken_from_a_triangle(monkeypatch):
    calls, factor = [], svd.triangular_factor
    monkeypatch.setattr(svd, "triangular_factor", lambda x: calls.append(len(x)) or factor(x))
    monkeypatch.setattr(svd, "RESOLVED", 0.5)
    for values, asked in (([2.0, 1.5, 1.0], 0), ([2.0, 1.5, 0.99], 1), ([2.0, 0.9, 1.1], 1), ([2.0, 1.1, 1.1], 0)):
        calls.clear()
        found = svd._polished(np.diag(values), np.eye(3))
        assert len(calls) == asked
        np.testing.assert_allclose(found.values, sorted(values, reverse=True), rtol=1e-14)


@pytest.mark.parametrize("resolved", [1e-6, 10.0])
def test_residuals_are_those_of_the_vectors(monkeypatch, resolved):
    monkeypatch.setattr(svd, "RESOLVED", resolved)
    X, basis = DRAW.standard_normal((15, 9)), DRAW.standard_normal((9, 4))
    found = svd._polished(X, basis)
    span = np.linalg.qr(basis)[0]
    np.testing.assert_allclose(found.values, np.linalg.svd(X @ span)[1], rtol=1e-12)
    gaps = X.T @ (X @ found.right) - found.right * found.values**2
    np.testing.assert_allclose(found.residuals, np.linalg.norm(gaps, axis=0), rtol=1e-10)
    assert found.residuals.min() > 0.1


def test_what_is_just_exact_is_exact():
    assert _Triplets(np.array([1.0]), np.eye(1), np.array([2 * EXACT])).is_exact(1)
    assert not _Triplets(np.array([1.0]), np.eye(1), np.array([2.001 * EXACT])).is_exact(1)
    for share, exact in ((0.9e-6, True), (1.1e-6, False)):
        assert _Triplets(np.array([4.0, 4 * share]), np.eye(2), np.array([0.0, 1.0])).is_exact(2) == exact


def test_entries_that_are_largest_up_to_rounding_count_as_equal():
    for entry, sign in ((1 - 1e-6, -1.0), (1 - 1.1e-6, 1.0), (1 - 0.9e-6, -1.0)):
        np.testing.assert_array_equal(svd._positive_signs(np.array([[-entry], [1.0]])), [[-sign * entry], [sign]])
    assert not np.signbit(svd._positive_signs(np.zeros((2, 1)))).any()


@pytest.mark.parametrize(
    ("shape", "values", "asked"),
    [
        ((FALLBACK_ENTRIES // 8, 8), [1.0, 1e-8], ["gram", "lapack"]),
        ((FALLBACK_ENTRIES // 8 + 1, 8), [1.0, 1e-8], ["gram"]),
        # Zero within rounding of the largest, 2e-14 of it, or not.
        ((100, 8), [1.0, 2e-14], ["gram"]),
        ((100, 8), [1.0, 3e-14], ["gram", "lapack"]),
    ],
)
def test_a_full_svd_steps_in_up_to_its_size(monkeypatch, shape, values, asked):
    seen = []
    triplets = _Triplets(np.array(values), np.eye(2), np.zeros(2))
    monkeypatch.setattr(svd, "_auto_route", lambda X, k: "gram")
    monkeypatch.setattr(svd, "_by_name", lambda X, k, name, rng: seen.append(name) or triplets)
    found, used = svd._automatic(type("Shaped", (), {"shape": shape})(), 2, np.random.default_rng(0))
    assert (seen, used) == (asked, asked[-1])
    assert found is triplets


def test_a_certificate_is_a_share_of_the_largest_square(monkeypatch):
    triplets = _Triplets(np.array([3.0, 2.0, 1.0]), np.eye(3), np.array([0.1, 0.9, 5.0]))
    monkeypatch.setattr(svd, "_by_name", lambda *_: triplets)
    assert truncated_svd(np.eye(3), 2, solver="gram").residual == pytest.approx(0.1, rel=1e-15)
    assert truncated_svd(np.zeros((3, 3)), 2, solver="gram").singular_values.tolist() == [3.0, 2.0]
    monkeypatch.setattr(svd, "_by_name", lambda *_: _Triplets(np.zeros(3), np.eye(3), np.zeros(3)))
    assert truncated_svd(np.eye(3), 2, solver="gram").residual == 0.0


@pytest.mark.parametrize(
    ("values", "used", "warned"),
    [
        ([1.0, 1e-8], "gram", True),
        ([1.0, 1e-8], "lapack", False),
        ([1.0, 4e-16], "gram", False),
        ([1.0, 1e-6], "gram", False),
    ],
)
def test_lost_values_are_told_where_they_were_asked_for(monkeypatch, values, used, warned):
    triplets = _Triplets(np.array(values), np.eye(3)[:, :2], np.zeros(2))
    monkeypatch.setattr(svd, "_automatic", lambda *_: (triplets, used))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        truncated_svd(np.eye(3), 2)
    assert [one.filename for one in told] == [__file__] * warned
    sentence = (
        "the smallest singular values asked for lie below 1e-6 of the largest and are not resolved; "
        "ask for fewer components."
    )
    assert [str(one.message) for one in told] == [sentence] * warned


# --- estimators --------------------------------------------------------------------------------------------------


class Halved(LinearEmbedding):
    """An estimator whose factors are none on one side or the other."""

    _objective_name = "halved"

    def _scales(self, sigma):
        self.given = sigma
        return np.array([2.0, 0.0, 3.0, 0.0]), np.array([0.0, 4.0, 5.0, 0.0])

    @property
    def symmetry(self):
        return GeneralLinear(self.effective_rank_)


def test_values_that_are_rounding_are_none_and_what_one_side_has_counts():
    floor = zero_below((30, 4), 2.0)
    values = np.array([2.0, np.nextafter(floor, 1), floor, 0.0])
    fit = Halved(4)._keep(TruncatedSVD(values, np.eye(4), 0.5, "gram"), np.zeros((30, 4), dtype=np.float32))
    assert fit.given.tolist() == [2.0, np.nextafter(floor, 1), 0.0, 0.0]
    assert fit.singular_values_.tolist() == values.tolist()
    assert fit.effective_rank_ == 3
    assert (fit.residual_, fit.svd_solver_) == (0.5, "gram")
    np.testing.assert_array_equal(fit.projection_, np.diag([2.0, 0.0, 3.0, 0.0]))
    np.testing.assert_array_equal(fit.components_, np.diag([0.0, 4.0, 5.0, 0.0]))
    assert fit.projection_.dtype == fit.components_.dtype == np.float32


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([0.0, 0.0], "X must be a matrix with an entry other than 0; got zeros only."),
        (
            [9e-101, 0.0],
            "X must be of a largest singular value of at least 1e-100; got 9e-101; multiply it by a constant.",
        ),
        ([TINY, 0.0], None),
        ([1.0, 9e-101], None),
    ],
)
def test_data_of_the_least_size_are_fitted(monkeypatch, values, words):
    asked = []
    given = TruncatedSVD(np.array(values), np.eye(3)[:, :2], 0.0, "gram")
    monkeypatch.setattr(linear_embedding, "truncated_svd", lambda X, k, **o: asked.append((k, o)) or given)
    mf = ProductPenaltyMF(2, svd_solver="krylov", random_state=7)
    if words is None:
        assert mf.fit(np.eye(3)).singular_values_.tolist() == values
    else:
        with pytest.raises(InputError) as refused:
            mf.fit(np.eye(3))
        assert str(refused.value) == words
    assert [(k, o["solver"], o["rng"].integers(99)) for k, o in asked] == [
        (2, "krylov", np.random.default_rng(7).integers(99))
    ]


def test_parameters_are_taken_up_to_their_bounds():
    X = np.diag([3.0, 2.0, 0.0])[:, :2]
    assert FactorPenaltyMF(1, alpha=0).fit(X).symmetry == GeneralLinear(1)
    assert FactorPenaltyMF(2, alpha=0.5).fit(X).symmetry == Orthogonal(2)
    assert FactorPenaltyMF(2, alpha=2.0).fit(X).effective_rank_ == 1
    assert FactorPenaltyMF(2, alpha=2.5).fit(X).singular_values_.tolist() == pytest.approx([3.0, 2.0])
    lame = FactorPenaltyMF(2, alpha=0.0).fit(np.ones((3, 2)))
    assert lame.effective_rank_ == 1
    assert np.isfinite(lame.projection_).all()
    for k, alpha, words in (
        (2, 3.0, "alpha must be below the largest singular value of X, σ₁ = 3; got 3.0; every factor would be zero: "
                 "choose a smaller one."),
        (2, -1e-300, "alpha must be a finite number >= 0; got -1e-300; 0 switches the penalty off."),
        (0, 1.0, "n_components must be from 1 to min(n, p) = 2; got 0; X has 3 sample(s) and 2 feature(s)."),
        (3, 1.0, "n_components must be from 1 to min(n, p) = 2; got 3; X has 3 sample(s) and 2 feature(s)."),
        (True, 1.0, "n_components must be from 1 to min(n, p) = 2; got True; X has 3 sample(s) and 2 feature(s)."),
    ):  # fmt: skip
        with pytest.raises(InputError) as refused:
            FactorPenaltyMF(k, alpha=alpha).fit(X)
        assert str(refused.value) == words
    for split in (0, 1, 0.0, 1.0, 0.25):
        mf = ProductPenaltyMF(2, alpha=1.0, split=split).fit(X)
        g = np.array([0.9, 0.8])
        np.testing.assert_allclose(np.linalg.norm(mf.projection_, axis=0), g**split, rtol=1e-12)
        np.testing.assert_allclose(np.linalg.norm(mf.components_, axis=1), g ** (1 - split), rtol=1e-12)
    for split in (-1e-9, 1 + 1e-9, True, "g"):
        with pytest.raises(InputError) as refused:
            ProductPenaltyMF(2, split=split).fit(X)
        known = ", ".join(RESCALINGS)
        assert str(refused.value) == f"split must be from 0 to 1 or one of {known}; got {split!r}."


def test_one_user_is_none_to_fit_and_enough_to_embed():
    X = np.array([[3.0, 1.0, 0.0], [1.0, 2.0, 1.0]])
    mf = ProductPenaltyMF(2, alpha=1.0).fit(X)
    assert mf.transform(X[:1]).shape == (1, 2)
    np.testing.assert_allclose(mf.inverse_transform(mf.transform(X)), X @ mf.projection_ @ mf.components_, rtol=1e-12)
    with pytest.raises(InputError) as refused:
        ProductPenaltyMF(1).fit(X[:1])
    assert str(refused.value) == (
        "X must be users × items with at least 2 users (rows); got 1 sample; add the other users' rows."
    )
    with pytest.raises(InputError) as refused:
        mf.inverse_transform(np.ones((4, 3)))
    assert str(refused.value) == "Z must be embedded users with 2 columns; got shape (4, 3)."


def test_a_model_of_an_estimator_has_the_names_it_is_given():
    X = np.array([[3.0, 1.0, 0.0], [1.0, 2.0, 1.0]])
    model = (
        ProductPenaltyMF(2, alpha=1.0).fit(X).model(X, user_ids=[8, 9], item_ids=[3, 4, 5], item_names=["a", "b", "c"])
    )
    assert model.side("left").ids.tolist() == [8, 9]
    assert model.side("right").ids.tolist() == [3, 4, 5]
    assert model.side("right").labels.tolist() == ["a", "b", "c"]
    assert model.objective == "product"


def test_what_is_no_matrix_is_told_with_its_shape():
    for given, got in ((np.ones(3), "float64 of shape (3,)"), (np.array([["a"]]), "<U1 of shape (1, 1)")):
        with pytest.raises(InputError) as refused:
            products.as_interactions(given)
        assert str(refused.value) == f"X must be a matrix of real numbers, dense or sparse; got {got}."


def test_what_others_refuse_is_refused_in_their_words():
    class Refusing:
        def __array__(self, dtype=None, copy=None):
            raise InputError("in its own words.")

    mf = ProductPenaltyMF(2, alpha=1.0).fit(np.eye(3))
    with pytest.raises(InputError, match=r"^in its own words\.$"):
        mf.transform(Refusing())
    with pytest.raises(InputError, match=r"^Expected 2D array, got 1D array instead"):
        mf.inverse_transform(np.ones(3))
    for bad in (np.inf, -np.inf, np.nan):
        for given in (np.array([[1.0, bad]]), sp.csr_array([[1.0, bad]])):
            with pytest.raises(InputError) as refused:
                truncated_svd(given, 1)
            assert str(refused.value) == "X must be finite; got entries that are not; repair or drop their rows."


def test_a_legacy_source_is_drawn_from_once():
    found = _generator(np.random.RandomState(3)).integers(2**60)
    assert found == np.random.default_rng(np.random.RandomState(3).randint(2**31)).integers(2**60)
