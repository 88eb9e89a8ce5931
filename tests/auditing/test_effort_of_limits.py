"""What is searched for the limits of a model, with how much effort, on both sides of every size that changes it."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from limited import limits
from models import random_model

from embaudit.attacks import Attack
from embaudit.auditing import limits as module
from embaudit.auditing.effort import Effort
from embaudit.auditing.limits import Limits, LimitSearch
from embaudit.gauges import Gauge
from embaudit.model import FactorModel

MODEL = random_model(n=30, p=20, k=3)


class Searches:
    """Stands where the searches are, and notes what each was asked for."""

    def __init__(self, monkeypatch):
        self.ranged, self.certified, self.attacked, self.lists = [], [], [], []
        monkeypatch.setattr(module, "range_summary", self.summary)
        monkeypatch.setattr(module, "certified_neighbours", self.certificate)
        monkeypatch.setattr(module, "worst_gauge", self.attack)

    def summary(self, model, **asked):
        self.ranged.append(asked)
        return [f"range of {asked['role']}"]

    def certificate(self, model, **asked):
        self.certified.append(asked)
        found = SimpleNamespace(
            curve=lambda kappas: 1 / np.array(kappas), list_curve=lambda kappas: 0.5 / np.array(kappas), tied_share=0.25
        )
        self.lists.append(found)
        return found

    def attack(self, model, group, **asked):
        self.attacked.append((group, asked))
        nothing = np.zeros((1, 2), dtype=np.intp)
        return Attack(Gauge.identity(model.rank), asked["objective"], asked["role"], group, 0.25, 0.5, 1, nothing)


@pytest.fixture
def searches(monkeypatch):
    return Searches(monkeypatch)


def biased(model, *sides):
    return model.replace(**{f"{side}_bias": np.zeros(len(model.factors(side))) for side in sides})


def median(model, side):
    return np.median(np.linalg.norm(model.factors(side), axis=1))


@pytest.mark.parametrize(
    ("sides", "role", "side", "shifts"),
    [
        (("left",), "right", "right", True), (("left",), "left", "right", False), (("right",), "left", "left", True),
        (("right",), "right", "right", False), (("left",), "cross", "right", True), (("right",), "cross", "left", True),
        (("left", "right"), "cross", "right", True), (("left", "right"), "left", "left", True),
    ],
)  # fmt: skip
def test_ranges_allow_for_the_shifts_that_are_free(searches, sides, role, side, shifts):
    model = biased(MODEL, *sides)
    limits(model, [role], max_condition=2.0)
    (asked,) = searches.ranged
    assert asked["side"] == side
    assert asked["shifts"] == ([pytest.approx(median(model, side))] if shifts else [])


def test_rows_without_direction_are_not_certified(searches):
    rows = np.array(MODEL.right)
    rows[[3, 7]] = 0
    found = limits(biased(MODEL.replace(right=rows), "left"), ["right"], max_condition=2.0)
    assert [(c.group, c.n_rows, c.exact) for c in found.certificates] == [("linear", 18, True)]
    assert searches.certified[0]["rows"].tolist() == [row for row in range(20) if row not in (3, 7)]


@pytest.mark.parametrize(("n", "lists"), [(2, 0), (3, 1), (12, 10), (13, 10), (11, 9)])
def test_lists_are_shorter_than_the_rows_that_are_left(searches, n, lists):
    vectors = FactorModel.from_vectors(np.random.default_rng(0).standard_normal((n, 3)))
    found = limits(vectors, ["right"], max_condition=2.0)
    assert [c.top_n for c in found.certificates] == [lists] * (lists > 0)
    assert [asked["n"] for asked in searches.certified] == [lists] * (lists > 0)
    objectives = ["movement", "neighbours"] if lists else ["movement"]
    assert sorted(asked["objective"] for _, asked in searches.attacked) == objectives
    assert {asked["n"] for _, asked in searches.attacked} == {max(lists, 1)}


def test_sides_of_one_direction_are_left_out(searches):
    single = MODEL.replace(left=np.eye(30, 3) * [1, 0, 0])
    found = limits(single, ["left", "cross", "right"], max_condition=2.0)
    assert found.ranges == ("range of right",)
    assert [attack.objective for attack in found.attacks] == ["movement", "neighbours"]


def test_what_is_searched_is_the_model_as_it_is_stored(searches):
    flat = MODEL.replace(left=np.eye(30, 3) * [1, 1, 0])
    assert limits(flat, ["right"], max_condition=2.0).rank == 3
    assert {group.rank for group, _ in searches.attacked} == {3}


@pytest.mark.parametrize(
    ("model", "bounded"),
    [
        (random_model(k=1), False),
        (biased(random_model(k=1), "left"), True),
        (random_model(k=2), True),
        (random_model(k=2).replace(link="cosine"), False),
    ],
)
def test_only_what_can_move_is_bounded(searches, model, bounded):
    found = limits(model, ["right"], max_condition=2.0)
    assert bool(found.ranges) is bounded
    if not bounded:
        assert found == Limits(rank=model.rank)


@pytest.mark.parametrize(("others", "n"), [(3, 2), (2, 1), (1, None)])
def test_lists_of_one_row_of_each_twins_leave_one_to_exclude(others, n):
    rows = np.random.default_rng(0).standard_normal((others + 1, 2))
    model = FactorModel.from_vectors(rows[[*range(others + 1), 0]])
    search = LimitSearch(
        model, ("right",), (1.0, 2.0), 2.0, 9, 9, np.random.default_rng(0), Effort(n_starts=1, n_steps=1)
    )
    certificates = list(search.certificates("right"))
    assert [one.top_n for one in certificates] == ([] if n is None else [n])
    for one in certificates:
        assert one.found.rows.tolist() == list(range(others + 1))
        assert (one.n_rows, one.exact) == (others + 1, True)
