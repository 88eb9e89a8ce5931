"""Results of a comparison are values; its bounds are those that the documentation names."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, fields, replace
from importlib import import_module

import numpy as np
import pytest
from models import random_model

from embaudit.comparison import compare
from embaudit.comparison.agreement import agreement
from embaudit.comparison.fits import fit_gauge
from embaudit.comparison.folds import Fold
from embaudit.comparison.given import Given
from embaudit.comparison.matching import Match, match
from embaudit.comparison.outcomes import outcomes
from embaudit.comparison.path import Path
from embaudit.comparison.seen import pairing
from embaudit.model import FactorModel
from embaudit.model.final_norm import FinalNorm

COMPARE = import_module("embaudit.comparison.compare")
SEEDS = ({"rng": 1}, {"rng": 1})


def vectors(n=9, k=3, seed=0, **fields):
    return FactorModel.from_vectors(np.random.default_rng(seed).standard_normal((n, k)), **fields)


def everyone(n):
    return Match("right", np.arange(n), np.arange(n), np.arange(n), 0, 0, by_ids=False)


def fold_of(chosen, groups=("rotation", "diagonal", "linear")):
    return Fold({}, {}, dict.fromkeys(groups), chosen)


def paired(before, after):
    return pairing(before, after, {role: match(before, after, role) for role in before.sides})


def path(*versions, forward=True):
    steps = ("gauge", "learning") if forward else ("learning", "gauge")
    return Path(np.arange(len(versions[0])), versions, ("unseen", *steps, "unseen"))


@pytest.mark.parametrize(("users", "items", "groups"), [(25, 30, 20), (25, 9, 9), (10, 30, 10)])
def test_as_many_groups_are_left_out_as_the_smaller_side_has_rows_and_at_most_twenty(users, items, groups):
    model, other = (random_model(seed, n=users, p=items, k=2) for seed in (0, 1))
    for role, change in compare(model, other).changes.items():
        assert change.role == role
        assert {len(values) for values in change.replicates.values()} == {groups}


def test_gauges_are_fitted_again_for_the_halves_of_one_cut(monkeypatch):
    given, measured = [], COMPARE.role_change

    def noted(*given_, **named):
        given.append((given_, named))
        return measured(*given_, **named)

    monkeypatch.setattr(COMPARE, "role_change", noted)
    found = compare(vectors(), vectors(seed=1), n_neighbours=2)
    ((role, match_, _, parts, groups, refits), named), *others = given
    assert (role, len(match_), len(parts), others) == ("right", 9, 10, [])
    assert [fold for fold, _ in refits] == parts[:2]
    assert [len(without) for _, without in refits] == [9, 9]
    assert sorted(groups) == list(range(9))
    assert named["n"] == 2
    assert set(found.changes) == {"right"}


def test_predictions_are_sampled_by_the_same_seed_and_progress_is_named(monkeypatch):
    monkeypatch.setattr("embaudit.comparison.agreement.ROWS", 9)
    shown = []
    monkeypatch.setattr(COMPARE, "track", lambda steps, title, total: shown.append((title, total)) or steps)
    model, other = (random_model(seed, n=25, p=20, k=2) for seed in (0, 1))
    first, again, second, unasked = (compare(model, other, **seed).agreement for seed in (*SEEDS, {"rng": 0}, {}))
    assert first == again != second
    assert unasked == second
    assert first.n_rows == 9
    assert shown == [("comparing cosines", 2)] * 4


def test_results_cannot_be_changed_and_are_themselves_alone():
    found = compare(vectors(20), vectors(20))
    x = np.eye(9)
    fit = fit_gauge({"right": (x, x)}, "rotation")
    values = [found, found.changes["right"], found.changes["right"].match, fit, path(x, x, x, x, x), fold_of("linear")]
    values.append(paired(vectors(), vectors()))
    values.append(outcomes([path(x, x, x, x, x)], np.arange(9), 2, np.random.default_rng(0)))
    for value in values:
        with pytest.raises(FrozenInstanceError):
            setattr(value, fields(value)[0].name, None)
        assert value != replace(value)
    model = random_model(n=9, p=9, k=2)
    with pytest.raises(FrozenInstanceError):
        agreement(model, model, everyone(9), everyone(9), rng=np.random.default_rng(0)).top_n = 3


def test_a_head_behind_a_norm_keeps_what_its_shift_adds_to_the_logits():
    draw = np.random.default_rng(0)
    rows, gain, shift, states = (draw.standard_normal(size) for size in ((6, 3), 3, 3, (4, 3)))
    norm = FinalNorm("layer", gain, shift)
    found = Given(FactorModel.from_softmax(rows, np.arange(6.0)), norm).behind(states).model
    np.testing.assert_allclose(found.scores(), (gain * states + shift) @ rows.T + np.arange(6.0), atol=1e-12)
