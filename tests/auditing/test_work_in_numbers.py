"""What an audit counts as its work, each term written out for sizes that are all different."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from models import random_model
from test_cost import shaped

from embaudit.auditing.effort import Effort
from embaudit.auditing.head_work import head_work
from embaudit.auditing.work import _Sizes, work_of
from embaudit.model import Equivalence, FactorModel, Softmax

ALL = ("right", "left", "cross")


def sizes(*rows, k=8, roles=ALL, **effort):
    return _Sizes(rows, k, roles, Effort(**effort))


def test_pairs_of_a_side_are_half_a_square_and_left_right_ones_a_rectangle():
    assert [sizes(60, 40).pairs(role) for role in ALL] == [1_800, 800, 2_400]
    assert sizes(60, roles=("right",)).pairs("right") == 1_800


def test_sides_stand_in_their_own_pairs_and_in_left_right_ones():
    assert list(sizes(60, 40).looked_at) == [(60, ["right", "cross"]), (40, ["left", "cross"])]
    assert list(sizes(60, 40, roles=("left",)).looked_at) == [(40, ["left"])]
    assert list(sizes(60, 40, roles=("right",)).looked_at) == [(60, ["right"])]


BOTH = 2 * 16 * 60_000 * 8
"""Products of the scores that are compared, before and after: of as many left rows as make a million, at most."""


@pytest.mark.parametrize(
    ("found", "products"),
    [
        # All pairs: rows are mapped and searched, each pair is multiplied before and after, and so is each score.
        (sizes(60, 40), 60 * 64 + 60 * 60 * 8 + 40 * 64 + 40 * 40 * 8 + 16 * (1_800 + 800 + 2_400) + 16 * 2_400),
        # Few lists, and a role alone; all scores are compared all the same.
        (sizes(60, 40, roles=("left",), n_lists=7), 40 * 64 + 7 * 40 * 8 + 16 * 800 + 16 * 2_400),
        # Of 400,000 rows on 50 are asked; of more than 100,000 right ones some columns of the scores are made.
        (
            sizes(500_000, 3, roles=("right",), n_pairs=20_000),
            40_000 * 64 + 50 * 500_000 * 8 + 2 * 20_000 * 64 + 500_000 * 64 + 16 * 10_000 * 3,
        ),
        (
            sizes(100_001, 3, roles=("right",), n_pairs=5_000),
            10_000 * 64 + 199 * 100_001 * 8 + 2 * 10_000 * 64 + 100_001 * 64 + 16 * 10_000 * 3,
        ),
        (
            sizes(100_000, 3, roles=("right",), n_pairs=90_000),
            100_000 * 64 + 200 * 100_000 * 8 + 2 * 20_000 * 64 + 100_000 * 64 + 16 * 100_000 * 3,
        ),
        # Right rows are all held, since all left-right pairs are visited; 20,000 of them are summed.
        (
            sizes(60_000, 70, roles=("right", "cross")),
            60_000 * 64 + 333 * 60_000 * 8 + 2 * 20_000 * 64 + 70 * 64 + 70 * 70 * 8 + 16 * 4_200_000 + BOTH,
        ),
        # Both sides are searched; neither is held.
        (
            sizes(60_000, 51_000, n_pairs=10_000),
            2 * (20_000 * 64 + 2 * 20_000 * 64) + (60_000 + 51_000) * 64 + (333 * 60_000 + 392 * 51_000) * 8 + BOTH,
        ),
        # Of many columns maps cost next to nothing, and products before are kept.
        (sizes(60, 40, k=300), (60 * 60 + 40 * 40) * 300 + 300 * (1_800 + 800 + 2_400) + 2 * 2_400 * 300),
        (
            sizes(60_000, k=300, roles=("right",), n_pairs=10_000),
            333 * 60_000 * 300 + 2 * 20_000 * 300**2 + 2 * 256 * 256 * 300,
        ),
        # Of long rows few of either side.
        (sizes(1_000, 600, k=1_024, roles=()), 2 * 256 * 256 * 1_024),
    ],
)  # fmt: skip
def test_products_of_a_visit(found, products):
    assert found.products() == products


def test_cosines_of_a_visit_are_drawn_or_tallied():
    assert sizes(60, 40).cosines() == pytest.approx(5_000 / 13 + 45_000, rel=1e-12)
    mixed = sizes(60_000, 70, n_pairs=123)
    assert mixed.cosines() == pytest.approx((2_450 + 4_200_000) / 13 + 45_000 + 123, rel=1e-12)
    assert sizes(4_000, 5_000, n_pairs=123).cosines() == 45_000 + 3 * 123


def test_everything_but_visits_grows_with_numbers_and_with_kinds_of_pairs():
    assert sizes(60, 41).besides() == pytest.approx(101 * 8 / 3 + 9_000 * 3 * 8, rel=1e-12)
    assert sizes(60, k=300, roles=("right",)).besides() == pytest.approx(60 * 300 / 3 + 9_000 * 256, rel=1e-12)


def test_the_first_side_is_attacked():
    for roles, rows in ((ALL, 60), (("left", "right"), 40), (("cross", "left"), 40), (("cross",), 0)):
        assert sizes(60, 40, roles=roles).attacked == rows
    assert sizes(60, 40, k=16_384).attacked == 60
    assert sizes(60, 40, k=16_385).attacked == 0
    assert sizes(60, 40, roles=("cross",)).attacks(shifted=True) == 0.0


@pytest.mark.parametrize("shifted", [False, True])
@pytest.mark.parametrize(("n_starts", "n_steps"), [(3, 20), (12, 2)])
def test_attacks_cost_by_dimensions_starts_and_steps(shifted, n_starts, n_steps):
    effort = {"n_starts": n_starts, "n_steps": n_steps}
    climbs = (n_starts / 3) ** 0.6 * (n_steps + 7) / 27
    for rows, k, lists in ((50_000, 8, 6e5 + 4e5), (50_001, 8, 0.0), (60, 256, 6e5 + 5e4 * 256)):
        wanted = (9e5 + 240 * k**2 + lists) * (0.2 + 0.8 * climbs) + 3.6e4 * k * shifted
        assert sizes(rows, 40, k=k, **effort).attacks(shifted=shifted) == pytest.approx(wanted, rel=1e-12)
    wide = (1e6 + 3e6 * shifted) * (0.3 + 0.7 * (n_steps + 7) / 27)
    assert sizes(60, 40, k=257, **effort).attacks(shifted=shifted) == pytest.approx(wide, rel=1e-12)


@pytest.mark.parametrize("shifts", [(), ("right",), ("left",)])
def test_the_work_of_a_model_is_that_of_all_visits_and_of_what_is_besides(shifts):
    # A bias of one side takes up what shifts of the other change.
    model = random_model(
        n=40, p=70, k=8, biases=[{"right": "left_bias", "left": "right_bias"}[side] for side in shifts]
    )
    assert model.free_shifts == shifts
    work, one = work_of(model), sizes(70, 40)
    # A rotation, eight draws of two kinds, and of two more where rows may be shifted; three canonical models.
    drawn = 1 + 16 + 16 * len(shifts) + 3
    assert work.models == drawn + 2 + (shifts == ("right",))
    assert work.products == work.models * one.products()
    attacks = one.attacks(shifted=shifts == ("right",))
    assert work.cosines == pytest.approx(work.models * one.cosines() + one.besides() + attacks, rel=1e-12)
    assert work.read == (70 + 40) * 8 * 8


def test_rows_are_read_for_each_model_where_either_side_is_not_held():
    for right, left in ((50_001, 2), (2, 50_001)):
        work = work_of(shaped(right, left))
        assert work.read == (1 + work.models) * 50_003 * 8 * 8
    assert work_of(shaped(50_000, 2)).read == 50_002 * 8 * 8


def test_a_model_that_only_rotations_keep_is_not_attacked():
    model = random_model(n=7, p=9, k=3).replace(link="cosine")
    work, one = work_of(model), sizes(9, 7, k=3, roles=("right", "left"))
    assert (work.models, work.products) == (1, one.products())
    assert work.cosines == pytest.approx(one.cosines() + one.besides(), rel=1e-12)


def test_rows_span_no_more_dimensions_than_there_are_rows():
    work, one = work_of(random_model(n=3, p=2, k=9)), sizes(2, 3, k=5)
    assert work.products == work.models * one.products()
    assert work.cosines == work.models * one.cosines() + one.besides() + one.attacks(shifted=False)


def test_a_head_is_looked_at_on_a_panel_and_whitened_whole():
    draw = np.random.default_rng(0)
    head = FactorModel.from_softmax(draw.normal(size=(2_100, 3)), embeddings=draw.normal(size=(7, 3)))
    work, one = work_of(head), sizes(2_048, 7, k=3)
    # Each label of the panel is asked for its nearest ones.
    assert work.products == work.models * one.products() + 2 * 2_100 * 9 + 2_048 * 2_100 * 3
    looked_at = 2_048**2 / 45 + 0.7 * 2_048 * 3 + 20_000 * (1 + 3 / 60) + 128 * 2_100 / 30 + 2_100 * 3 / 25
    cosines = work.models * one.cosines() + one.besides() + one.attacks(shifted=True) + looked_at
    assert work.cosines == pytest.approx(cosines + 6 * 2_048**2 / 45, rel=1e-12)
    guarded = work_of(head.replace(link=Softmax(unit_rows=True)))
    few = sizes(2_048, 7, k=3, roles=("right", "left"))
    assert guarded.cosines == pytest.approx(guarded.models * few.cosines() + few.besides() + looked_at, rel=1e-12)
    capped, other = work_of(head.replace(link=Softmax(soft_cap=3.0))), sizes(2_048, 7, k=3)
    assert capped.cosines == pytest.approx(
        capped.models * other.cosines() + other.besides() + other.attacks(shifted=False) + looked_at
        + 2 * 2_048**2 / 45, rel=1e-12,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("effort", "panel", "pairs", "gauges", "asked", "led"),
    [
        (Effort(), 2_048, 20_000, 2, 2_048, 128),
        (Effort(n_gauges=1), 2_048, 20_000, 1, 2_048, 128),
        (Effort(n_pairs=19_999), 2_048, 19_999, 2, 2_048, 128),
        (Effort(n_lists=200), 1_024, 20_000, 2, 1_024, 64),
        (Effort(n_lists=50), 512, 20_000, 2, 256, 16),
        (Effort(n_gauges=9, n_pairs=200_000, n_lists=500), 2_048, 20_000, 2, 2_048, 128),
    ],
)
def test_each_number_of_an_effort_cuts_the_evidence_of_a_head(effort, panel, pairs, gauges, asked, led):
    head = FactorModel.from_softmax(np.ones((1, 4)).repeat(3_000, axis=0))
    products, cosines = head_work(head, effort)
    assert products == asked * 3_000 * 4
    wanted = (1 + 3 * gauges) * panel**2 / 45 + 0.7 * panel * 4 + pairs * (1 + 4 / 60) + led * 100 + 480
    assert cosines == pytest.approx(wanted, rel=1e-12)


def test_a_small_head_has_no_more_labels_to_ask_than_it_has():
    head = FactorModel.from_softmax(np.arange(40.0).reshape(10, 4))
    products, cosines = head_work(head, Effort(n_lists=20))
    assert products == 10 * 10 * 4
    wanted = 7 * 100 / 45 + 0.7 * 40 + 50 * (1 + 4 / 60) + 7 * 10 / 30 + 40 / 25
    assert cosines == pytest.approx(wanted, rel=1e-12)
    assert head_work(head, Effort())[1] - cosines == pytest.approx(3 * 10 / 30)


def test_a_search_among_very_many_long_labels_is_for_few():
    head = SimpleNamespace(n_right=128_000, rank=4_096, predicts=Equivalence.COSINES)
    for n_lists, asked in ((400, 400), (100, 100), (1, 1)):
        assert head_work(head, Effort(n_lists=n_lists))[0] == asked * 128_000 * 4_096
