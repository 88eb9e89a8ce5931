"""What a probe plans and holds, how a movement is told, and rows found by name: each choice from both sides."""

from __future__ import annotations

import re
import sys

import numpy as np
import pytest
from models import random_model

from embaudit.core.checked import MOST_COUNT
from embaudit.errors import InputError
from embaudit.gauges import Gauge
from embaudit.linalg.seen import Seen
from embaudit.model import FactorModel
from embaudit.movements.moved import Movement
from embaudit.movements.movement import MovementProbe, movement
from embaudit.movements.neighbourhoods import find_rows
from embaudit.movements.panel import Panel, Shot

MOVEMENT, PANEL = (sys.modules[f"embaudit.movements.{name}"] for name in ("movement", "panel"))
STRETCH = Gauge.diagonal([1.0, 2.0, 0.7, 1.4, 1.0])


def moved(**fields):
    known = {
        "role": "cross", "n_pairs": 12_345, "n_all_pairs": 12_345, "exact": True, "n_zero": 0,
        "mean": 0.125, "rms": 0.5, "pearson": 0.75,
        "mean_abs": 0.1234, "ci_low": 0.1, "ci_high": 0.2, "max_abs": 0.876, "quantiles": {0.05: 0.1, 0.5: 0.25},
        "spearman": 0.625, "sign_flips": 0.03, "top_n": 0,
        "top_n_overlap": float("nan"), "n_lists": 0, "tied_lists": float("nan"),
    }  # fmt: skip
    return Movement(**known | fields)


def test_a_movement_is_told_in_full():
    assert moved().explain() == (
        "Over all 12,345 cross pairs cosines moved by 0.123 on average and by at most 0.88; 3 % change their sign."
    )
    some = moved(role="right", exact=False, n_all_pairs=19_800_123, n_zero=1, top_n=10, top_n_overlap=0.62)
    assert some.explain() == (
        "Over 12,345 of 19.8 million right pairs cosines moved by 0.123 on average and by at most 0.88 among these; "
        "3 % change their sign and 62 % of the 10 nearest rows stay. 1 row without direction left out."
    )


def test_the_record_of_a_movement_has_every_figure_by_its_name():
    assert moved().to_dict() == {
        "role": "cross", "mean_abs": 0.1234, "max_abs": 0.876, "rms": 0.5, "mean": 0.125, "pearson": 0.75,
        "spearman": 0.625, "sign_flips": 0.03, "top_n": 0, "top_n_overlap": None, "n_lists": 0, "tied_lists": None,
        "n_pairs": 12_345, "n_all_pairs": 12_345,
        "exact": True, "ci_low": 0.1,
        "ci_high": 0.2, "n_zero": 0, "margins": {}, "intervals": {}, "quantiles": {"0.05": 0.1, "0.5": 0.25},
    }  # fmt: skip


def test_models_of_other_rows_and_numbers_that_are_none_are_refused():
    model = random_model()
    with pytest.raises(InputError, match=r"^the model after must be of \[40, 30\] rows"):
        movement(model, random_model(p=29))
    for name in ("n_pairs", "n_neighbours"):
        for bad in (0, MOST_COUNT + 1):
            with pytest.raises(InputError, match=f"^{name} must be an integer from 1 to {MOST_COUNT}; got {bad}"):
                movement(model, model, **{name: bad})


def test_the_same_seed_draws_the_same_pairs():
    model = random_model()
    first, same, other = (movement(model, STRETCH.act(model), n_pairs=50, rng=seed) for seed in (4, 4, 5))
    assert first.pairs.tolist() == same.pairs.tolist() != other.pairs.tolist()
    assert first.pairs.shape == (50, 2)


def test_lists_that_end_in_a_tie_are_counted():
    x = np.array([[1.0, 0.0], [0.6, 0.8], [0.6, -0.8], [-1.0, 0.1]])
    model = FactorModel.from_vectors(x)
    found = movement(model, model, n_neighbours=1)
    # Of the first row two others are the nearest.
    assert (found.tied_lists, found.top_n) == (0.25, 1)
    assert movement(model, model, n_neighbours=9).top_n == 2


def sampled(whole, n_pairs):
    """A probe of all roles that holds all rows of a side up to `whole`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MOVEMENT, "WHOLE", whole)
        return MovementProbe(random_model(n=150, p=220), ["right", "left", "cross"], n_pairs=n_pairs, rng=2)


def test_a_side_of_as_many_rows_as_can_be_held_is_held():
    probe = sampled(150, 25)
    assert probe.before.panels["left"].rows is None
    held = probe.before.panels["right"].rows
    right, left, cross = (probe.drawn[role] for role in ("right", "left", "cross"))
    assert held.tolist() == np.unique(right).tolist()
    assert np.isin(cross[:, 1], right).all()
    assert not np.isin(cross[:, 0], left).all()


def test_a_side_of_which_all_pairs_are_visited_is_held_whatever_else_is_drawn():
    probe = sampled(10, 30_000)
    assert [plan.exact for plan in probe.plans] == [True, True, False]
    assert [panel.rows for panel in probe.before.panels.values()] == [None, None]


def test_directions_are_those_of_the_rows_held_whoever_makes_them():
    x, y = random_model(p=9).right, random_model(1, p=9).right
    panel, linear = Panel(x, np.array([2, 5])), np.diag(np.arange(1.0, 6.0))
    for rows in (y, Seen(x, linear, np.ones(5)), Seen(y, linear, np.ones(5))):
        some = rows[:][[2, 5]]
        unit = some / np.linalg.norm(some, axis=1, keepdims=True)
        np.testing.assert_allclose(panel.units(rows), unit, atol=1e-14)


def test_ends_of_pairs_are_in_order_of_the_first():
    panel = {"right": Panel(random_model(p=9).right)}
    one, other = Shot(panel, {"right": panel["right"].x}).places(("right",), np.array([[5, 1], [0, 7], [5, 0], [3, 2]]))
    assert (one.tolist(), other.tolist()) == ([0, 3, 5, 5], [7, 2, 1, 0])


def test_no_cosine_lies_beyond_one():
    x = random_model(p=400, k=7).right
    both = np.vstack([x, -x])
    panel = Panel(both)
    shot, rows = Shot({"right": panel}, {"right": both}), np.arange(400)
    unit = panel.units(both)
    assert (unit[rows] ** 2).sum(axis=1).max() > 1
    assert shot.cosines(("right",), [rows, rows]).max() == 1
    assert shot.cosines(("right",), [rows, rows + 400]).min() == -1


TITLES = ["Heat", "heat wave", "Heathers", "Solaris", "Solaris", "Alien"]


@pytest.mark.parametrize(
    ("wanted", "row"),
    [("8", 3), ("Heat", 0), ("HEAT", 0), ("heath", 2), ("heat w", 1), ("ALI", 5), ("Ali", 5), ("10", 5)],
)
def test_rows_are_found_by_id_by_title_and_by_its_beginning(wanted, row):
    model = random_model(p=6).replace(right_ids=np.arange(5, 11), right_names=TITLES)
    found = find_rows(model, "right", [wanted, "5"])
    assert (found.tolist(), found.dtype) == ([row, 0], np.intp)


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ("Solaris", "must be one id or title; got 'Solaris', which fits 2 ('Solaris', 'Solaris'); write more of it."),
        (
            "hea",
            "must be one id or title; got 'hea', which fits 3 ('Heat', 'heat wave', 'Heathers'); write more of it.",
        ),
        ("", "must be one id or title; got '', which fits 6 ('Heat', 'heat wave', 'Heathers'); write more of it."),
        ("Blade", "must be an id or title in the model; got 'Blade'."),
    ],
)
def test_what_fits_no_row_or_several_is_refused(wanted, said):
    model = random_model(p=6).replace(right_names=TITLES)
    with pytest.raises(InputError, match=f"^show {re.escape(said)}$"):
        find_rows(model, "right", [wanted])


def test_where_there_are_no_titles_it_is_said_how_to_add_them():
    model, head = random_model(p=6), FactorModel.from_softmax(random_model(p=6).right)
    for one, role, remedy in (
        (model, "right", "; no titles: add --items movies.csv"),
        (head, "right", "; no titles: add --labels labels.txt"),
        (model, "left", ""),
    ):
        with pytest.raises(InputError, match=f"^show must be an id or title in the model; got 'x'{remedy}\\.$"):
            find_rows(one, role, ["x"])


def test_a_probe_of_another_model_looks_at_as_much():
    probe = MovementProbe(random_model(), ["right"], n_pairs=9, n_neighbours=3, n_lists=8, rng=1)
    model = random_model(1)
    other = probe.over(model, ["left", "cross"])
    assert (other.n_pairs, other.n_neighbours, other.n_lists, other.rng) == (9, 3, 8, probe.rng)
    assert other.model is model
    everything = other.measure(STRETCH.act(model))
    (found,) = other.measure_rows({side: STRETCH.act(model).factors(side) for side in ("left", "right")}, ["cross"])
    assert [one.role for one in everything] == ["left", "cross"]
    assert found.to_dict() == everything[1].to_dict()
    assert (everything[0].top_n, everything[0].n_lists) == (3, 8)
