"""Certified neighbours: exact lists, sound radii, ties, summary and pictures."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from models import random_model
from mpmath import mp, mpf

from embaudit.attacks import worst_gauge
from embaudit.errors import InputError
from embaudit.gauges import Affine, Diagonal, Gauge, GeneralLinear, Translation
from embaudit.linalg.nearest import neighbours
from embaudit.model import FactorModel
from embaudit.ranges import (
    CertifiedNeighbours,
    certified_neighbours,
    condition_to_reach,
)
from embaudit.ranges.cosine_range import range_solver_for


def vectors(p: int, k: int, seed: int = 0) -> FactorModel:
    return random_model(seed, n=None, p=p, k=k)


def test_radii_are_half_the_gap_in_artanh() -> None:
    model = vectors(30, 4)
    found = certified_neighbours(model, n=5)
    cosines = model.cosines("right", [[i, j] for i in range(30) for j in range(30)])
    cosines = cosines.reshape(30, 30).copy()
    np.fill_diagonal(cosines, -2)
    order = np.argsort(-cosines, axis=1)
    np.testing.assert_array_equal(found.indices, order[:, :5])
    z = np.arctanh(np.take_along_axis(cosines, order[:, :6], axis=1))
    np.testing.assert_allclose(
        found.radii, np.exp((z[:, :5] - z[:, 5:]) / 2), rtol=1e-9
    )
    np.testing.assert_allclose(
        found.radii**2,
        condition_to_reach(found.cosines, found.runner_up[:, None]),
        rtol=1e-9,
    )


@settings(max_examples=25)
@given(st.integers(2, 5), st.floats(1.05, 4), st.integers(0, 2**32 - 1))
def test_no_sampled_gauge_displaces_a_certified_entry(
    k: int, kappa: float, seed: int
) -> None:
    model = vectors(25, k, seed)
    found = certified_neighbours(model, n=4)
    safe = found.certified(kappa)
    for kind in (GeneralLinear, Diagonal):
        for draw in range(5):
            moved = kind(k, max_condition=kappa).sample(rng=draw).act(model)
            after = neighbours(moved.right, 4).indices
            kept = (found.indices[:, :, None] == after[:, None, :]).any(axis=2)
            assert kept[safe].all()


def test_some_gauge_beyond_the_radius_displaces_entries() -> None:
    model = vectors(40, 2)
    found = certified_neighbours(model, n=3)
    moved = GeneralLinear(2, max_condition=6.0).sample(rng=0).act(model)
    kept = (
        found.indices[:, :, None] == neighbours(moved.right, 3).indices[:, None, :]
    ).any(axis=2)
    assert not kept.all()
    assert found.radii[~kept].max() <= 6.0


def head(n: int, k: int, seed: int, far: float = 0.0) -> FactorModel:
    draw = np.random.default_rng(seed)
    return FactorModel.from_softmax(
        draw.normal(size=(n, k)) + far * draw.normal(size=k)
    )


def brute_radii(
    rows: np.ndarray, indices: np.ndarray, cosines: np.ndarray, shift: float
) -> np.ndarray:
    """Compute the radii from the ranges of all pairs.

    The largest tangent of an entry under shifts is compared with the smallest tangent
    of any row outside the list.
    """
    n, k = rows.shape
    n_entries = indices.shape[1]
    i, j = np.divmod(np.arange(n * n), n)
    solver = range_solver_for(Translation(k, max_shift=shift), "right", 2)
    ends = solver.ends(rows[i], rows[j])
    largest_tangents = ends.lower.tangent.reshape(n, n)
    entry_tangents = np.take_along_axis(largest_tangents, indices, axis=1)

    # Neither the row itself nor an entry of its list is a rival.
    rival_tangents = ends.upper.tangent.reshape(n, n).copy()
    np.fill_diagonal(rival_tangents, np.inf)
    np.put_along_axis(rival_tangents, indices, np.inf, axis=1)
    nearest_rival = rival_tangents.min(axis=1)[:, None]

    with np.errstate(divide="ignore", invalid="ignore"):
        radii = np.sqrt(nearest_rival / entry_tangents)
    other_cosines = np.where(np.eye(n), -2, cosines)
    descending = np.sort(other_cosines, axis=1)[:, ::-1]
    runner_up = descending[:, [n_entries]]
    is_tied = descending[:, :n_entries] <= runner_up + 1e-9
    return np.where(is_tied, 1, np.fmax(radii, 1))


@pytest.mark.parametrize("share", [1e-9, 1e-3, 0.05, 0.5])
@pytest.mark.parametrize("seed", range(8))
def test_radii_with_shifts_look_at_every_rival(seed: int, share: float) -> None:
    k = 1 + seed % 6
    model = head(40, k, seed, far=3.0)
    rows = model.right.copy()
    if seed % 2:
        rows[1], rows[2], rows[3], rows[5] = (
            rows[0],
            2 * rows[0],
            rows[0] * (1 + 1e-6),
            -rows[4],
        )
        model = FactorModel.from_softmax(rows)
    shift = share * float(np.median(np.linalg.norm(rows, axis=1)))
    found = certified_neighbours(model, n=4, group=Affine(k, max_shift=shift))
    cosines = model.cosines(
        "right", [[i, j] for i in range(40) for j in range(40)]
    ).reshape(40, 40)
    truth = brute_radii(rows, found.indices, cosines, shift)
    np.testing.assert_allclose(found.radii, truth, rtol=1e-11)
    assert (found.radii <= truth).all()
    assert found.max_shift == shift


@settings(max_examples=25)
@given(
    st.integers(2, 5),
    st.floats(1.001, 1.5),
    st.floats(1e-4, 0.05),
    st.integers(0, 2**32 - 1),
)
def test_no_affine_gauge_displaces_a_certified_entry(
    k: int, kappa: float, shift: float, seed: int
) -> None:
    model, group = (
        head(25, k, seed, far=2.0),
        Affine(k, max_condition=kappa, max_shift=shift),
    )
    found = certified_neighbours(model, n=4, group=group)
    for draw in range(8):
        assert_kept(model, found, group.sample(rng=draw), kappa)


def assert_kept(
    model: FactorModel, found: CertifiedNeighbours, gauge: Gauge, kappa: float
) -> None:
    after = neighbours(gauge.act(model).right, found.n).indices
    assert (
        (found.indices[:, :, None] == after[:, None, :])
        .any(axis=2)[found.certified(kappa)]
        .all()
    )


@pytest.mark.parametrize("seed", range(2))
def test_no_affine_attack_displaces_a_certified_entry(seed: int) -> None:
    k, kappa = 2 + seed, 1.05
    model, group = (
        head(25, k, seed, far=2.0),
        Affine(k, max_condition=kappa, max_shift=0.02),
    )
    found = certified_neighbours(model, n=4, group=group)
    assert found.certified(kappa).mean() > 0.1
    attack = worst_gauge(
        model,
        group,
        objective="neighbours",
        n=4,
        n_rows=25,
        n_starts=1,
        n_steps=3,
        rng=0,
    )
    assert_kept(model, found, attack.gauge, kappa)


def test_certificates_shrink_with_the_shift_and_have_something_to_lose() -> None:
    model, still = head(200, 4, 0), certified_neighbours(head(200, 4, 0), n=5)
    before, shares = still.radii, []
    for shift in (1e-12, 1e-3, 1e-2, 0.1):
        found = certified_neighbours(model, n=5, group=Translation(4, max_shift=shift))
        assert (found.radii <= before * (1 + 1e-12)).all()
        before = found.radii
        shares.append(1 - found.tied_share)
    least = certified_neighbours(model, n=5, group=Translation(4, max_shift=1e-12))
    np.testing.assert_allclose(least.radii, still.radii, rtol=1e-6)
    assert shares[0] > shares[2] > shares[3]
    assert shares[2] > 0.2
    # Nothing is certain once a row may be shifted past the origin.
    assert (certified_neighbours(model, n=5, group=Affine(4)).radii == 1).all()
    unshifted = Affine(4, max_condition=2.0, max_shift=0.0)
    assert (
        certified_neighbours(model, n=5, group=unshifted).radii == still.radii
    ).all()


def test_a_row_without_direction_gets_one_from_any_shift() -> None:
    rows = np.array([[1.0, 0.0], [1.0, 0.01], [0.0, 1.0], [0.0, 0.0]])
    group = Translation(2, max_shift=1e-3)
    assert (
        certified_neighbours(FactorModel.from_softmax(rows), n=1, group=group).radii[:3]
        == 1
    ).all()
    assert (
        certified_neighbours(
            FactorModel.from_softmax(rows[:3]), n=1, group=group
        ).radii[:2]
        > 1
    ).all()
    whole = certified_neighbours(FactorModel.from_softmax(rows[:3]), n=2, group=group)
    assert np.isinf(whole.radii).all()


def test_ties_with_the_first_excluded_item_certify_nothing() -> None:
    draw = np.random.default_rng(0)
    direction = draw.normal(size=(4, 6))
    rows = np.concatenate([direction * scale for scale in (1.0, 3.0, 0.1, 7.0)])
    found = certified_neighbours(FactorModel.from_vectors(rows), n=2)
    # Four rows of each direction: only row numbers choose two of three candidates.
    assert (found.radii == 1).all()
    assert found.tied_share == 1
    assert found.curve([1.0, 2.0]).tolist() == [0, 0]
    whole = certified_neighbours(FactorModel.from_vectors(rows), n=3)
    # All three fit: parallel rows never separate, so no gauge displaces them.
    assert np.isinf(whole.radii).all()
    assert whole.curve([1e8]).tolist() == [1]


def test_curves_fall_lists_are_harder_than_entries_and_rows_can_be_sampled() -> None:
    model = vectors(200, 8)
    found = certified_neighbours(model)
    kappas = np.geomspace(1, 5, 30)
    curve, whole = found.curve(kappas), found.list_curve(kappas)
    assert (np.diff(curve) <= 0).all()
    assert (whole <= curve).all()
    assert curve[0] == 1
    sample = certified_neighbours(model, rows=[5, 17])
    np.testing.assert_array_equal(sample.radii, found.radii[[5, 17]])
    with pytest.raises(InputError, match="at least 1"):
        found.curve([0.5])
    with pytest.raises(InputError, match="an array of real numbers"):
        found.curve(["a"])
    with pytest.raises(InputError, match="number of neighbours"):
        certified_neighbours(model, n=200)


@pytest.mark.parametrize("seed", range(2))
def test_no_radius_is_larger_than_the_exact_one(seed):
    """The cosine of an entry is rounded down and the cosine of a rival is rounded up.

    The exact radii are computed in 40 digits.
    """
    rows = np.random.default_rng(seed).standard_normal((12, 3))
    found = certified_neighbours(FactorModel.from_vectors(rows), n=3)
    with mp.workdps(40):
        exact = [[mpf(float(x)) for x in row] for row in rows]

        def artanh_of_cosine(i, j):
            a, b = exact[i], exact[j]
            squared_lengths = mp.fdot(a, a) * mp.fdot(b, b)
            return mp.atanh(mp.fdot(a, b) / mp.sqrt(squared_lengths))

        for i in range(12):
            entries = found.indices[i].tolist()
            rivals = set(range(12)) - {i, *entries}
            nearest_rival = max(artanh_of_cosine(i, j) for j in rivals)
            for j, radius in zip(entries, found.radii[i], strict=True):
                lead = artanh_of_cosine(i, j) - nearest_rival
                exact_radius = mp.exp(lead / 2)
                assert mpf(float(radius)) > exact_radius * (1 - mpf(10) ** -12)
                assert mpf(float(radius)) <= max(exact_radius, 1)
