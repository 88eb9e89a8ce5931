"""Certificates of shifts as long as 1, ends of cross pairs in full, and where float64 ends."""

from __future__ import annotations

import numpy as np
import pytest
from mpmath import mp, mpf

from embaudit.errors import InputError
from embaudit.gauges import Diagonal, GeneralLinear, Translation
from embaudit.gauges.gauge import EPS
from embaudit.kernels.nearest import neighbours
from embaudit.model import FactorModel
from embaudit.ranges import certificates, certified_neighbours, cosine_range, shift_to_reach
from embaudit.ranges.cross_translation import CrossTranslationReach
from embaudit.ranges.half_angle import cosine_of
from embaudit.ranges.linear import stretch
from embaudit.ranges.sweep import best_interval
from embaudit.ranges.translation import TranslationReach, _ends, _Scene, _short_of, shifts_to_reach


@pytest.mark.parametrize("shift", [1.0, 0.25])
def test_every_entry_is_held_against_what_the_shift_can_do(shift):
    rows = np.random.default_rng(4).standard_normal((9, 3)) + np.array([6.0, 0.0, 0.0])
    found = certified_neighbours(FactorModel.from_softmax(rows), n=2, group=Translation(3, max_shift=shift))
    i, j = np.indices((9, 9)).reshape(2, -1)
    ends = TranslationReach("right", shift).ends(rows[i], rows[j])
    apart, near = (end.reshape(9, 9).copy() for end in (ends.lower, ends.upper))
    for row, listed in enumerate(found.indices):
        rivals = np.setdiff1d(np.arange(9), [row, *listed])
        wanted = np.maximum(np.sqrt(near[row, rivals].min() / apart[row, listed]), 1)
        np.testing.assert_allclose(found.radii[row], wanted, rtol=1e-9)
    assert found.max_shift == shift
    assert (found.radii <= certified_neighbours(FactorModel.from_softmax(rows), n=2).radii).all()
    assert found.to_dict(limit=0)["entries"] == []
    assert [len(found.to_dict(limit=limit)["entries"]) for limit in (1, 18, 19)] == [1, 18, 18]


def test_a_copy_is_certain_of_nothing_where_a_rival_can_take_its_direction():
    """Nothing over nothing: the copy stays at an angle of 0, and the shift brings the other row there, too."""
    head = FactorModel.from_softmax([[1.0, 0.0], [1.0, 0.0], [0.9, 0.3]])
    found = certified_neighbours(head, n=1, group=Translation(2, max_shift=0.96))
    assert found.radii.ravel().tolist() == [1.0, 1.0, 1.0]
    tied = FactorModel.from_softmax([[1.0, 0.0], [0.8, 0.6], [0.8, -0.6], [5.0, 0.1]])
    assert certified_neighbours(tied, n=2, group=Translation(2, max_shift=1e-3)).radii[0, 1] == 1.0


@pytest.mark.parametrize("seed", range(2))
def test_no_radius_is_larger_than_the_exact_one(seed):
    """In 40 digits: an entry is taken a rounding lower than computed, what is left out one higher."""
    rows = np.random.default_rng(seed).standard_normal((12, 3))
    found = certified_neighbours(FactorModel.from_vectors(rows), n=3)
    with mp.workdps(40):
        exact = [[mpf(float(x)) for x in row] for row in rows]

        def depth(i, j):
            a, b = exact[i], exact[int(j)]
            dot, p, q = (mp.fdot(one, other) for one, other in ((a, b), (a, a), (b, b)))
            return mp.atanh(dot / mp.sqrt(p * q))

        for i, listed in enumerate(found.indices):
            out = max(depth(i, j) for j in set(range(12)) - {i, *listed.tolist()})
            for j, radius in zip(listed, found.radii[i], strict=True):
                truth = mp.exp((depth(i, j) - out) / 2)
                assert truth * (1 - mpf(10) ** -12) < mpf(float(radius)) <= max(truth, 1)


@pytest.mark.parametrize("role", ["cross", "right"])
def test_ends_of_pairs_of_every_sign_in_full(role):
    rows = np.array([[1.0, 0.0], [0.6, 0.8], [-0.6, 0.8], [0.0, 2.0], [-3.0, 0.0], [0.0, 0.0]])
    model = FactorModel(rows[:1], rows) if role == "cross" else FactorModel.from_vectors(rows)
    pairs = [[0, j] for j in range(6)]
    kappa = 1.25
    free, bounded = (
        cosine_range(model, GeneralLinear(2, max_condition=b), role=role, pairs=pairs) for b in (None, kappa)
    )
    cosines = np.array([1.0, 0.6, -0.6, 0.0, -1.0])
    if role == "cross":
        lower, upper = [0.0, 0.0, -1.0, 0.0, -1.0], [1.0, 1.0, 0.0, 0.0, 0.0]
        attained = [False, False, True, True, True], [True, True, False, True, False]
        depth = np.arccosh(1 / np.abs(cosines[[0, 1, 2, 4]]))
        near, far = 1 / np.cosh(depth + np.log(kappa)), 1 / np.cosh(np.maximum(depth - np.log(kappa), 0))
        some = [near[0], near[1], -far[2], 0.0, -far[3]], [far[0], far[1], -near[2], 0.0, -near[3]]
    else:
        lower, upper = [1.0, -1.0, -1.0, -1.0, -1.0], [1.0, 1.0, 1.0, 1.0, -1.0]
        attained = [True, False, False, False, True], [True, False, False, False, True]
        tangent = np.sqrt((1 - cosines[1:4]) / (1 + cosines[1:4]))
        low, high = ((1 - t**2) / (1 + t**2) for t in (tangent * kappa, tangent / kappa))
        some = [1.0, *low, -1.0], [1.0, *high, -1.0]
    assert (free.lower[:5].tolist(), free.upper[:5].tolist()) == (lower, upper)
    assert (free.lower_attained[:5].tolist(), free.upper_attained[:5].tolist()) == attained
    np.testing.assert_allclose([bounded.lower[:5], bounded.upper[:5]], some, atol=1e-12)
    assert bounded.lower_attained[:5].all()
    assert bounded.upper_attained[:5].all()
    for group in (None, kappa):
        for found in (free, bounded, cosine_range(model, Diagonal(2, max_condition=group), role=role, pairs=pairs)):
            assert np.isnan([found.lower[5], found.upper[5]]).all()
            assert not found.lower_attained[5]
            assert not found.upper_attained[5]


@pytest.mark.parametrize("scale", [1e-200, 1e200])
@pytest.mark.parametrize("side", ["left", "right"])
def test_shifts_of_tiny_and_huge_rows_turn_them_as_far(side, scale):
    draw = np.random.default_rng(2)
    x, y = draw.standard_normal((2, 6, 3))
    plain = CrossTranslationReach(side, 0.4).ends(x, y)
    scaled = CrossTranslationReach(side, 0.4 * scale).ends(*((x, y * scale) if side == "right" else (x * scale, y)))
    for one, other in zip(plain, scaled, strict=True):
        np.testing.assert_allclose(np.asarray(one, dtype=float), np.asarray(other, dtype=float), rtol=1e-12)
    lengths = np.linalg.norm(y if side == "right" else x, axis=1)
    turn = np.arcsin(np.minimum(0.4 / lengths, 1))
    angle = np.arccos(np.einsum("ij,ij->i", x, y) / np.linalg.norm(x, axis=1) / np.linalg.norm(y, axis=1))
    np.testing.assert_allclose(2 * np.arctan(plain.lower), np.minimum(angle + turn, np.pi), atol=1e-12)
    np.testing.assert_allclose(2 * np.arctan(plain.upper), np.maximum(angle - turn, 0), atol=1e-12)


@pytest.mark.parametrize("k", [2, 3])
def test_a_stretch_is_refused_where_it_is_no_gauge_of_float64(k):
    first, second = np.eye(k)[:2]
    for factor, fits in ((1.01 * k * EPS, True), (0.99 * k * EPS, False)):
        for given in (factor, 1 / factor):
            if fits:
                gauge = stretch(first, second, given, "left")
                np.testing.assert_allclose(np.diag(gauge.left)[:2], [given**-0.5, given**0.5])
                continue
            with pytest.raises(InputError) as refused:
                stretch(first, second, given, "left")
            assert str(refused.value) == (
                f"no float64 gauge has the condition {1 / factor:.1e} this end asks for; ask for a larger tol."
            )


def test_the_best_interval_of_rows_of_one_direction_is_no_more_than_1():
    x = np.random.default_rng(0).uniform(0.5, 2.0, (200, 7))
    factors = np.random.default_rng(1).uniform(0.1, 9.0, (200, 1))
    _, _, cosine = best_interval(x, factors * x, np.log(factors) + np.zeros((200, 7)), 4.0)
    np.testing.assert_allclose(cosine, 1.0, rtol=1e-14)


def test_a_shift_to_reach_is_asked_of_rows_of_one_length_and_cosines():
    for a, b, target, words in (
        ([1.0, 0.0], [1.0], 0.5, "b must be one or more rows of at least 2 finite numbers; got shape (1,)."),
        (np.ones((2, 2, 2)), [1.0, 0.0], 0.5,
         "a must be one or more rows of at least 2 finite numbers; got shape (2, 2, 2)."),
        ([1.0, np.inf], [1.0, 0.0], 0.5, "a must be one or more rows of at least 2 finite numbers; got inf."),
        ([1.0, 0.0], [1.0, 0.0, 0.0], 0.5, "a, b and target must be as many rows of one length, and cosines; got "
         "shapes (2,), (3,) and ()."),
        ([1.0, 0.0], [1.0, 1.0], [0.5, -1.5], "target must be a cosine, from -1 to 1; got -1.5."),
    ):  # fmt: skip
        with pytest.raises(InputError) as refused:
            shift_to_reach(a, b, target)
        assert str(refused.value) == words
    assert shift_to_reach([[1.0, 0.0]], [[0.0, 1.0]], 0.0).tolist() == [0.0]


def test_differences_are_told_by_four_numbers():
    model = FactorModel.from_vectors([[1.0, 0.0], [0.0, 1.0], [3.0, 1.0], [0.0, 0.0]])
    found = cosine_range(model, GeneralLinear(2, max_condition=2.0), pairs=[[0, 1, 2, 3], [0, 0, 1, 2]])
    frame = found.to_frame()
    assert frame.columns.tolist() == [
        "first", "second", "third", "fourth", "cosine", "lower", "upper", "lower_attained", "upper_attained",
    ]  # fmt: skip
    assert frame.iloc[0, :4].tolist() == [0, 1, 2, 3]
    cosine = 2 / np.sqrt(20)
    assert frame["cosine"][0] == pytest.approx(cosine)
    assert frame["lower"][0] == pytest.approx(np.tanh(np.arctanh(cosine) - np.log(2)))
    assert np.isnan(frame["cosine"][1])
    assert found.explain() == (
        "Under GeneralLinear(rank=2, max_condition=2.0) the cosines of 1 right pairs have ranges "
        f"{found.width[0]:.2f} wide on average; 0 % keep their sign and 0 % can be anything. 1 more have no cosine."
    )
    nothing = cosine_range(model, GeneralLinear(2), pairs=[[0, 3]])
    assert nothing.explain() == "None of 1 right pairs has a cosine."
    assert found.to_dict()["ranges"][0] == {
        name: pytest.approx(value) for name, value in frame.iloc[0].to_dict().items()
    }


def test_shifts_to_several_targets_are_those_to_each():
    a, b = np.random.default_rng(3).standard_normal((2, 7, 3))
    found = shifts_to_reach(a, b, [-1.0, 0.25, 1.0])
    np.testing.assert_array_equal(found, [shift_to_reach(a, b, target) for target in (-1.0, 0.25, 1.0)])


def test_a_budget_of_the_distance_to_the_line_turns_two_rows_around():
    x, y = np.random.default_rng(0).standard_normal((2, 400, 3))
    scene = _Scene.of(x, y)
    chosen = np.flatnonzero(scene.inside)
    assert len(chosen) > 100
    scene = _Scene.of(x[chosen], y[chosen])
    just, almost = (_ends(scene, scene.nearest * share, flat=False) for share in (1.0, 1 - 1e-9))
    assert np.isinf(just.lower).all()
    assert just.lower_attained.all()
    assert np.isfinite(almost.lower).all()


@pytest.mark.parametrize(
    ("end", "x", "y"), [("upper", [-1.2, -1.4], [-0.2, 2.3]), ("lower", [-0.19, -0.67], [-0.26, -0.77])]
)
def test_an_end_that_no_shift_reaches_is_neared_within_half_a_tolerance_once_it_is_widened(end, x, y):
    scene = _Scene.of(np.array([x]), np.array([y]))
    radius = float(scene.corner[0])
    tangent = [float(getattr(_ends(scene, np.array([radius * (1 - 2.0**-p)]), flat=False), end)[0]) for p in range(53)]
    limit = float(getattr(_ends(scene, np.array([radius]), flat=False), end)[0])

    def places(tolerance, factor):
        off = [abs(cosine_of(np.array(t * factor)) - cosine_of(np.array(limit * factor))) for t in tangent]
        return next(p for p in range(4, 53) if off[p] <= tolerance / 2)

    factor = 5.0 if end == "lower" else 1 / 5.0
    found = [_short_of(scene, radius, end, tolerance, 5.0) for tolerance in (1e-2, 1e-4, 1e-6)]
    assert found == [radius * (1 - 2.0 ** -places(tolerance, factor)) for tolerance in (1e-2, 1e-4, 1e-6)]
    assert any(places(tolerance, factor) != places(tolerance, 1 / factor) for tolerance in (1e-2, 1e-4, 1e-6))


def test_radii_are_of_cosines_a_rounding_apart(monkeypatch):
    rows = np.random.default_rng(1).standard_normal((9, 25))
    found, seen, depth = neighbours(rows, 2), [], certificates._depth
    monkeypatch.setattr(certificates, "_depth", lambda cosines: seen.append(cosines) or depth(cosines))
    certificates._radii(rows, found)
    rounding = 4 * 13 * np.finfo(np.float64).eps
    np.testing.assert_array_equal(seen[0], found.cosines - rounding)
    np.testing.assert_array_equal(seen[1], found.runner_up + rounding)
