"""What is searched for the limits of a model, with how much effort, on both sides of every size that changes it."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from made import flags
from models import random_model

from embaudit.attacks import Attack
from embaudit.auditing import limits as module
from embaudit.auditing.limits import Certificate, Limits, LimitSearch, limits
from embaudit.gauges import Affine, Gauge, GeneralLinear
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


def test_what_is_stated_and_for_what(searches):
    found = limits(MODEL, ["left", "right", "cross"], max_condition=3.0, n_neighbours=4, rng=5)
    assert found.ranges == ("range of left", "range of right", "range of cross")
    assert [asked["role"] for asked in searches.ranged] == ["left", "right", "cross"]
    assert {asked["budgets"] for asked in searches.ranged} == {(1.1, 1.25, 1.5, 2.0, 3.0)}
    assert [asked["n_pairs"] for asked in searches.ranged] == [30 * 29 // 2, 20 * 19 // 2, 600]
    assert all(asked["shifts"] == [] and asked["side"] == "right" for asked in searches.ranged)
    assert [asked["role"] for asked in searches.certified] == ["left", "right"]
    assert [attack.objective for attack in found.attacks] == ["movement", "neighbours"], "on the first side alone"
    assert {asked["role"] for _, asked in searches.attacked} == {"left"}
    assert found.rank == 3
    kappas = (1.1, 1.25, 1.5, 2.0, 3.0)
    shares = [{k: part / k for k in kappas} for part in (1, 0.5)]
    stated = Certificate("left", "linear", 0.0, 4, 30, True, *shares, 0.25, searches.lists[0], *shares)
    assert found.certificates[0] == stated
    assert limits(MODEL, ["cross"], max_condition=2.0).certificates == ()
    assert searches.ranged[-1]["budgets"] == (1.1, 1.25, 1.5, 2.0), "a budget on the curve is stated once"


def test_the_attack_that_takes_longest_begins_first(searches, monkeypatch):
    monkeypatch.setenv("EMBAUDIT_WORKERS", "1")
    found = limits(MODEL.replace(link="ranking"), ["right"], max_condition=2.0)
    assert [type(group).__name__ for group, _ in searches.attacked] == ["Affine", "GeneralLinear", "GeneralLinear"]
    assert [attack.objective for attack in found.attacks] == ["movement", "neighbours", "movement"]


def test_one_generator_draws_for_all_but_attacks_which_have_one_each(searches):
    limits(MODEL, ["right"], max_condition=2.0, rng=5)
    assert len({id(asked["rng"]) for asked in searches.ranged}) == 1
    own = {asked["objective"]: asked["rng"].bit_generator.seed_seq for _, asked in searches.attacked}
    found = {objective: (seeds.entropy, seeds.spawn_key) for objective, seeds in own.items()}
    assert found == {"movement": (5, (0,)), "neighbours": (5, (1,))}
    assert searches.ranged[0]["rng"].random() == np.random.default_rng(5).random()
    limits(MODEL, ["right"], max_condition=2.0)
    assert searches.ranged[-1]["rng"].random() == np.random.default_rng(0).random()


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


def test_certificates_and_attacks_with_shifts(searches):
    model = biased(MODEL, "left")
    found = limits(model, ["right", "left"], max_condition=3.0)
    plain, shifted, left = searches.certified
    assert (plain["group"], left["group"]) == (None, None)
    assert shifted["group"].max_shift == pytest.approx(0.1 * median(model, "right"))
    assert (shifted["group"].side, shifted["role"], shifted["n"]) == ("right", "right", 10)
    assert [(c.role, c.group, c.max_shift) for c in found.certificates] == [
        ("right", "linear", 0.0), ("right", "affine", 0.1), ("left", "linear", 0.0),
    ]  # fmt: skip
    # They are searched side by side: who comes first is chance.
    linear, lists, affine = sorted(searches.attacked, key=lambda one: (isinstance(one[0], Affine), one[1]["objective"]))
    known = {"role": "right", "n": 10, "n_rows": 50, "n_starts": 3, "n_steps": 20, "n_pairs": 2_000}
    for (group, asked), objective in ((linear, "movement"), (lists, "neighbours")):
        assert isinstance(group, GeneralLinear)
        assert group.max_condition == 3.0
        assert {name: asked[name] for name in known} == known
        assert asked["objective"] == objective
    group, asked = affine
    assert isinstance(group, Affine)
    assert (group.side, group.max_condition, group.max_shift) == ("right", 3.0, pytest.approx(median(model, "right")))
    assert {name: asked[name] for name in known} == known | {"n_starts": 1, "n_steps": 3, "n_pairs": 500}
    assert asked["objective"] == "movement"


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


@pytest.mark.parametrize(
    ("n", "searched", "rows", "exact"),
    [(120, 12_001, 100, False), (120, 120 * 101, 101, False), (120, 120 * 120, 120, True), (99, 1, 99, True)],
)
def test_fewer_rows_are_certified_where_cosines_would_be_too_many(searches, monkeypatch, n, searched, rows, exact):
    monkeypatch.setattr(module, "SEARCHED", searched)
    vectors = FactorModel.from_vectors(np.random.default_rng(0).standard_normal((n, 3)))
    (certificate,) = limits(vectors, ["right"], max_condition=2.0).certificates
    assert (certificate.n_rows, certificate.exact) == (rows, exact)


def test_a_thousand_rows_stand_for_all_and_a_hundred_with_shifts(searches):
    head = FactorModel.from_softmax(np.random.default_rng(0).standard_normal((1_100, 2)))
    found = limits(head, ["right"], max_condition=2.0)
    assert [(c.n_rows, c.exact) for c in found.certificates] == [(1_000, False), (100, False)]
    assert searches.ranged[0]["n_pairs"] == 2_000
    assert (module.SEARCHED, module.ATTACKED_ROWS, module.ATTACKED_RANK, module.WIDE) == (
        50_000_000,
        50_000,
        16_384,
        256,
    )


@pytest.mark.parametrize(("most", "objectives"), [(20, ["movement", "neighbours"]), (19, ["movement"])])
def test_lists_of_very_many_rows_are_not_attacked(searches, monkeypatch, most, objectives):
    monkeypatch.setattr(module, "ATTACKED_ROWS", most)
    limits(MODEL, ["right"], max_condition=2.0)
    assert sorted(asked["objective"] for _, asked in searches.attacked) == objectives


@pytest.mark.parametrize(
    ("k", "n_pairs", "effort"),
    [(256, 2_000, (3, 20, 50)), (257, 500, (1, 10, 8)), (1_049, 499, (1, 10, 8)), (16_385, 100, None)],
)
def test_at_a_high_rank_less_has_to_do(searches, k, n_pairs, effort):
    wide = FactorModel.from_vectors(np.random.default_rng(0).standard_normal((70, k)))
    found = limits(wide, ["right"], max_condition=2.0)
    assert searches.ranged[0]["n_pairs"] == n_pairs
    assert {(a["n_starts"], a["n_steps"], a["n_rows"], a["n_pairs"]) for _, a in searches.attacked} == (
        {(*effort, n_pairs)} if effort else set()
    )
    assert found.rank == k


def test_sides_of_one_direction_are_left_out(searches):
    single = MODEL.replace(left=np.eye(30, 3) * [1, 0, 0])
    found = limits(single, ["left", "cross", "right"], max_condition=2.0)
    assert found.ranges == ("range of right",)
    assert [attack.objective for attack in found.attacks] == ["movement", "neighbours"]


def test_what_is_searched_is_the_model_that_the_predictions_see(searches):
    smaller = random_model(n=30, p=20, k=2)
    fibre = SimpleNamespace(reduction=SimpleNamespace(model=smaller))
    assert limits(MODEL, ["right"], fibre=fibre, max_condition=2.0).rank == 2
    assert {group.rank for group, _ in searches.attacked} == {2}
    assert limits(MODEL, ["right"], fibre=SimpleNamespace(reduction=None), max_condition=2.0).rank == 3


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


def test_the_json_of_limits():
    class Plain:
        def to_dict(self):
            return {"a": 1}

    certificate = Certificate("right", "linear", 0.0, 5, 10, True, {2.0: 0.5}, {2.0: 0.25}, 0.0, found=None)
    assert Limits((Plain(),), (certificate,), (Plain(), Plain()), 3).to_dict() == {
        "ranges": [{"a": 1}], "certificates": [certificate.to_dict()], "attacks": [{"a": 1}, {"a": 1}],
    }  # fmt: skip
    assert Limits() == Limits((), (), (), 0)
    assert flags(Limits) == flags(Certificate) == flags(module.LimitSearch) == (True, True, True)


@pytest.mark.parametrize("curve", ["curve", "list_curve"])
def test_a_share_is_stated_for_every_condition_number(monkeypatch, curve):
    short = {"curve": np.array, "list_curve": np.array, "tied_share": 0.0} | {curve: lambda kappas: np.ones(2)}
    Searches(monkeypatch)
    monkeypatch.setattr(module, "certified_neighbours", lambda *_, **__: SimpleNamespace(**short))
    with pytest.raises(ValueError, match="shorter"):
        limits(MODEL, ["right"], max_condition=2.0)


def test_progress_is_told_of_each_search(told):
    limits(biased(MODEL, "left"), ["right", "left", "cross"], max_condition=2.0)
    # Three attacks, and bounds.
    wanted = {("bounding cosines", 3): 3, ("certifying lists", 2): 2, ("searching limits", 4): 4}
    assert told == wanted


@pytest.mark.parametrize(("others", "n"), [(3, 2), (2, 1), (1, None)])
def test_lists_of_one_row_of_each_twins_leave_one_to_exclude(others, n):
    rows = np.random.default_rng(0).standard_normal((others + 1, 2))
    model = FactorModel.from_vectors(rows[[*range(others + 1), 0]])
    search = LimitSearch(model, ("right",), (1.0, 2.0), 2.0, 9, 9, np.random.default_rng(0), n_starts=1, n_steps=1)
    first = search._groups("right")
    assert first.tolist() == [*range(others + 1), 0]
    found = search._without_twins("right", first, np.array([1, others + 1]), 9, None)
    assert (found and found.n) == n
    if found:
        assert found.rows.tolist() == [0, 1]
