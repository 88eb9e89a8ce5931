"""Attacks keep budgets and predictions, come near the truth, and pass no bound."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from models import random_model

from embaudit.attacks import Attack, worst_gauge
from embaudit.core.words import up
from embaudit.errors import InputError
from embaudit.gauges import (
    Affine,
    Diagonal,
    GaugeGroup,
    GeneralLinear,
    Orthogonal,
    Translation,
)
from embaudit.gauges.constraint import Constraint
from embaudit.linalg.nearest import neighbours
from embaudit.linalg.pairs import draw_pairs
from embaudit.model import FactorModel
from embaudit.ranges import certified_neighbours

GROUPS = (GeneralLinear, Diagonal)


def model_of(seed: int, n: int = 40, k: int = 3) -> FactorModel:
    scale = np.random.default_rng(seed).uniform(0.3, 3, size=k)
    return random_model(seed, n=n, p=n, k=k, scales=(scale, 1 / scale))


def quick(model: FactorModel, group: GaugeGroup, **options: object) -> Attack:
    return worst_gauge(
        model,
        group,
        **{
            "n_pairs": 300,
            "n_rows": 40,
            "n": 5,
            "n_steps": 15,
            "n_starts": 4,
            **options,
        },
    )


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("kind", GROUPS)
@pytest.mark.parametrize("kappa", [1.05, 1.5, 5.0])
def test_no_attack_breaks_a_certificate(kind: type, kappa: float, seed: int) -> None:
    k = 2 + seed % 4
    model = model_of(seed, n=16, k=k)
    group = kind(k, max_condition=kappa)
    # Both sides take the same way; each is attacked with half of the seeds.
    side = ("left", "right")[seed // 2]
    for role in (side, "cross"):
        attack = quick(model, group, role=role, rng=seed)
        assert group.contains(attack.gauge)
        assert 0 < attack.achieved <= attack.bound + 1e-9
        assert attack.gap == attack.bound - attack.achieved
        assert f"Proven: by at most {up(attack.bound):.2f}." in attack.explain()
    attack = quick(model, group, role=side, objective="neighbours", rng=seed)
    assert group.contains(attack.gauge)
    assert attack.achieved <= attack.bound
    assert_lists_keep_what_is_certified(model, side, attack.gauge, kappa)


def assert_lists_keep_what_is_certified(
    model: FactorModel, role: str, gauge: object, kappa: float
) -> None:
    found = certified_neighbours(model, role=role, n=5)
    after = neighbours(gauge.act(model).factors(role), 5).indices
    kept = (found.indices[:, :, None] == after[:, None, :]).any(axis=2)
    assert kept[found.certified(kappa)].all()


@pytest.mark.parametrize("role", ["left", "right", "cross"])
@pytest.mark.parametrize("kind", GROUPS)
def test_what_is_reported_is_what_the_gauge_does(kind: type, role: str) -> None:
    model = model_of(1)
    group = kind(3, max_condition=2.0)
    attack = quick(model, group, role=role, rng=5)
    n_second = model.n_right if role == "cross" else None
    pairs = draw_pairs(40, 300, n_second=n_second, rng=5)
    after = attack.gauge.act(model)
    moved = np.abs(after.cosines(role, pairs) - model.cosines(role, pairs)).mean()
    assert moved == pytest.approx(attack.achieved, abs=1e-9)
    np.testing.assert_allclose(after.scores(), model.scores(), atol=1e-9)


def test_one_pair_is_moved_to_the_end_of_its_range() -> None:
    # With a single pair the certificate is the truth, so only the search can leave a
    # gap.
    for seed in range(5):
        draw = np.random.default_rng(seed)
        model = FactorModel.from_user_item(
            draw.normal(size=(1, 3)), draw.normal(size=(2, 3))
        )
        for kappa in (1.2, 3.0):
            for kind in GROUPS:
                attack = worst_gauge(
                    model, kind(3, max_condition=kappa), n_pairs=1, n_starts=20, rng=0
                )
                assert attack.gap == pytest.approx(0, abs=0.02 * attack.bound)


def test_in_two_dimensions_the_search_finds_the_truth() -> None:
    """The gap that remains is the gap between the truth and the certificate."""
    # All metrics of two dimensions within the budget fit on a grid, whose best value is
    # the truth to 1e-3.
    for seed in range(3):
        model = model_of(seed, n=15, k=2)
        attack = worst_gauge(
            model, GeneralLinear(2, max_condition=1.5), n_pairs=400, rng=seed
        )
        pairs = draw_pairs(15, 400, rng=seed)
        before, truth = model.cosines("right", pairs), 0.0
        for angle in np.linspace(0, np.pi, 181):
            axes = np.array(
                [[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]]
            )
            moved = FactorModel.from_vectors(model.right @ axes.T * [1.5, 1.0])
            truth = max(truth, np.abs(moved.cosines("right", pairs) - before).mean())
        assert attack.achieved >= 0.95 * truth
        assert truth <= attack.bound + 1e-12
        assert attack.gap > 0.1 * attack.bound, (
            "no one gauge is the worst for every pair"
        )


def test_it_beats_random_gauges_of_the_same_budget() -> None:
    model = model_of(3, n=60, k=6)
    pairs = draw_pairs(60, 300, rng=0)
    for kind in GROUPS:
        group = kind(6, max_condition=2.0)
        tried = [
            np.abs(
                group.sample(rng=i).act(model).cosines("right", pairs)
                - model.cosines("right", pairs)
            ).mean()
            for i in range(50)
        ]
        assert quick(model, group, rng=0, n_steps=30).achieved > max(tried)


@pytest.mark.parametrize("objective", ["movement", "neighbours"])
@pytest.mark.parametrize("role", ["right", "left", "cross"])
def test_a_linear_attack_never_ends_below_the_diagonal_one(
    role: str, objective: str
) -> None:
    if role == "cross" and objective == "neighbours":
        return
    for seed in range(8):
        k = 2 + seed
        model = model_of(seed, n=16, k=k)
        # So little effort that a search of its own would often lose.
        options = {
            "role": role,
            "objective": objective,
            "rng": seed,
            "n_starts": 1,
            "n_steps": seed % 3,
        }
        linear, diagonal = (
            quick(model, kind(k, max_condition=1.5), **options) for kind in GROUPS
        )
        assert linear.achieved >= diagonal.achieved
        assert linear.n_items == diagonal.n_items


@pytest.mark.parametrize(
    ("kind", "least", "most"), [(np.float32, 0.0, 0.0), (np.float64, 0.2, 0.5)]
)
@pytest.mark.parametrize(
    "group",
    [GeneralLinear(3, max_condition=2.0), Affine(3, max_condition=1.5, max_shift=0.1)],
)
def test_near_copies_drive_each_other_out_only_as_far_as_their_numbers_are_stored(
    kind: type, least: float, most: float, group: GaugeGroup
) -> None:
    # Twelve directions with three rows each, whose cosines differ by about 1e-8, which
    # is less than float32 can tell apart.
    draw = np.random.default_rng(0)
    rows = np.repeat(draw.normal(size=(12, 3)), 3, axis=0) + 2e-4 * draw.normal(
        size=(36, 3)
    )
    model = FactorModel.from_softmax(rows.astype(np.float32).astype(kind))
    attack = worst_gauge(
        model,
        group,
        objective="neighbours",
        n=1,
        n_rows=36,
        n_starts=2,
        n_steps=5,
        rng=0,
    )
    assert least <= attack.achieved <= most
    assert attack.bound == 32 / 36


def test_the_same_seed_gives_the_same_attack() -> None:
    model = model_of(4)
    one, two, three = (
        quick(model, Diagonal(3, max_condition=2.0), rng=seed) for seed in (7, 7, 8)
    )
    np.testing.assert_array_equal(one.gauge.left, two.gauge.left)
    assert one.achieved == two.achieved
    assert three.bound != one.bound


def test_where_nothing_can_move_the_attack_is_the_identity() -> None:
    parallel = FactorModel.from_vectors(np.outer([1.0, 2.0, 3.0], [1.0, 1.0]))
    for model, group in (
        (parallel, GeneralLinear(2, max_condition=1.0)),
        (
            FactorModel.from_vectors(np.zeros((4, 2))),
            GeneralLinear(2, max_condition=2.0),
        ),
        (
            FactorModel.from_vectors([[1.0], [-2.0], [3.0]]),
            Diagonal(1, max_condition=2.0),
        ),
    ):
        for objective in ("movement", "neighbours"):
            attack = worst_gauge(
                model, group, objective=objective, n=1, n_pairs=5, rng=0
            )
            assert attack.achieved == 0
            assert attack.gauge.condition_number == 1
    few = worst_gauge(
        model_of(0, n=6),
        GeneralLinear(3, max_condition=9.0),
        objective="neighbours",
        n=5,
        rng=0,
    )
    assert (few.achieved, few.bound) == (0, 0)


def head(seed: int, n: int = 40, k: int = 3, far: float = 1.0) -> FactorModel:
    """A model whose free biases absorb shifts of both sides."""
    draw = np.random.default_rng(seed)
    left, right = draw.normal(size=(2, n, k)) + far * draw.normal(size=k)
    return FactorModel.from_arrays(
        left=left,
        right=right,
        left_bias=np.zeros(n),
        right_bias=np.zeros(n),
        link="softmax",
    )


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("kappa", "tau"), [(1.0, 0.3), (1.3, 0.02), (2.0, 0.5), (2.0, 0.0)]
)
def test_affine_attacks_keep_their_budgets_and_never_pass_the_bound(
    kappa: float, tau: float, seed: int
) -> None:
    k = 6 + seed
    model = head(seed, n=20, k=k)
    few = {"n_starts": 1, "n_steps": 4, "n_pairs": 100}
    for side in ("left", "right"):
        group = Affine(k, side=side, max_condition=kappa, max_shift=tau)
        for role in ("left", "right", "cross"):
            attack = quick(model, group, role=role, rng=seed, **few)
            assert group.contains(attack.gauge)
            assert attack.achieved <= attack.bound + 1e-12
            assert attack.achieved > 0 or (kappa == 1 and role not in ("cross", side))
            pairs = draw_pairs(
                20, 100, n_second=20 if role == "cross" else None, rng=seed
            )
            after = attack.gauge.act(model)
            moved = np.abs(
                after.cosines(role, pairs) - model.cosines(role, pairs)
            ).mean()
            assert moved == pytest.approx(attack.achieved, abs=1e-12)
            np.testing.assert_allclose(
                after.predictions(), model.predictions(), atol=1e-12
            )


@pytest.mark.parametrize(
    ("objective", "role"),
    [("movement", "right"), ("movement", "cross"), ("neighbours", "right")],
)
def test_an_affine_attack_never_ends_below_either_part(
    objective: str, role: str
) -> None:
    for seed in range(3):
        model = head(seed, k=4)
        options = {
            "objective": objective,
            "role": role,
            "rng": seed,
            "n_starts": 2,
            "n_steps": 8,
        }
        whole = quick(
            model, Affine(4, max_condition=1.3, max_shift=0.3), **options
        ).achieved
        linear = quick(model, GeneralLinear(4, max_condition=1.3), **options).achieved
        shift = quick(
            model, Affine(4, max_condition=1.0, max_shift=0.3), **options
        ).achieved
        assert whole >= linear
        assert whole >= 0.97 * shift
        assert min(linear, shift) > 0
        assert whole > 1.02 * max(linear, shift), "together they do more than alone"


@dataclass(frozen=True)
class PositiveScales(Diagonal):
    """A set within the scales, which a search of all scales could leave."""

    constraints = frozenset(
        {*Diagonal.constraints, Constraint("own", lambda gauge: True)}
    )


def test_bad_input_is_refused() -> None:
    model = model_of(0)
    for group in (
        GeneralLinear(3),
        Orthogonal(3),
        Translation(3, max_shift=1.0),
        Affine(3, max_condition=2.0),
        PositiveScales(3, max_condition=2.0),
    ):
        with pytest.raises(InputError, match="with a max_condition"):
            worst_gauge(model, group)
    group = Diagonal(3, max_condition=2.0)
    with pytest.raises(InputError, match="objective must be"):
        worst_gauge(model, group, objective="chaos")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="neighbour lists"):
        worst_gauge(model, group, objective="neighbours", role="cross")


def test_sizes_of_lists_do_not_matter_to_the_movement_of_cosines() -> None:
    group = Diagonal(3, max_condition=2.0)
    attack = worst_gauge(model_of(0), group, n=0, n_rows=0, n_steps=0, rng=0)
    assert attack.achieved > 0
