"""What an audit says could happen at most holds for whatever does happen."""

from __future__ import annotations

import numpy as np
import pytest
from limited import limits
from models import random_model

from embaudit.auditing import audit
from embaudit.auditing import limits as module
from embaudit.gauges import GeneralLinear
from embaudit.linalg.nearest import neighbours
from embaudit.model import FactorModel
from embaudit.movements.movement import movement


@pytest.fixture(scope="module")
def model():
    return random_model(n=30, p=60, k=4, means=(0.5, 0.5))


@pytest.fixture(scope="module")
def found(model):
    return limits(model, ["right", "left", "cross"], max_condition=3.0, n_neighbours=5)


def test_ranges_widen_and_certificates_shrink_with_the_budget(found):
    for role in ("right", "left", "cross"):
        for group in ("linear", "diagonal"):
            widths = [r.width_quantiles[0.5] for r in found.ranges if (r.role, r.group) == (role, group)]
            assert len(widths) == 5
            assert widths == sorted(widths)
            assert widths[0] < widths[-1]
    for certificate in found.certificates:
        shares = list(certificate.entries.values())
        assert shares == sorted(shares, reverse=True)
        assert all(certificate.lists[kappa] <= certificate.entries[kappa] for kappa in certificate.entries)
        assert list(certificate.entries) == [1.1, 1.25, 1.5, 2.0, 3.0]


def test_no_random_gauge_changes_more_than_the_certificate_allows(model, found):
    certificate = found.certificates[0]
    before = neighbours(model.right, 5).indices
    for kappa in (1.1, 1.5, 3.0):
        group = GeneralLinear(4, max_condition=kappa)
        for seed in range(20):
            after = neighbours(group.sample(rng=seed).act(model).right, 5).indices
            kept = np.mean([len(set(a) & set(b)) / 5 for a, b in zip(before, after, strict=True)])
            assert kept >= certificate.entries[kappa] - 1e-12


def test_attacks_lie_between_chance_and_proof(model, found):
    by_kind = {attack.objective: attack for attack in found.attacks}
    assert set(by_kind) == {"movement", "neighbours"}
    for attack in found.attacks:
        assert attack.achieved <= attack.bound
        assert GeneralLinear(4, max_condition=3.0).contains(attack.gauge)
    drawn = [movement(model, GeneralLinear(4, max_condition=3.0).sample(rng=s).act(model)).mean_abs for s in range(20)]
    assert by_kind["movement"].achieved > np.median(drawn)


@pytest.mark.parametrize("change", [{"link": "cosine"}, {"left": np.ones((3, 1)), "right": np.arange(1.0, 5)[:, None]}])
def test_where_nothing_can_move_there_is_nothing_to_bound(model, change):
    changed = model.replace(**change)
    assert limits(changed, ["right"], max_condition=2.0) == module.Limits(rank=changed.rank)


def test_the_work_is_bounded_where_there_is_very_much(model, monkeypatch):
    monkeypatch.setattr(module, "SEARCHED", 60 * 100)
    monkeypatch.setattr(module, "ATTACKED_ROWS", 59)
    draw = np.random.default_rng(1)
    many = FactorModel.from_vectors(draw.standard_normal((150, 3)))
    found = limits(many, ["right"], max_condition=2.0)
    assert (found.certificates[0].n_rows, found.certificates[0].exact) == (100, False)
    assert [attack.objective for attack in found.attacks] == ["movement"]
    monkeypatch.setattr(module, "ATTACKED_RANK", 2)
    assert limits(many, ["right"], max_condition=2.0).attacks == ()


def test_shifts_are_named_in_typical_rows_whatever_the_scale_of_the_head():
    draw = np.random.default_rng(0)
    head = FactorModel.from_softmax(40 * draw.standard_normal((20, 3)))
    found = audit(head, n_gauges=1)
    shifts = {one.scope.max_shift for one in found.conclusions if one.scope.models == "affine gauges"}
    assert shifts == {1.0, 0.1}


def test_what_an_attack_drives_out_of_lists_without_copies(model):
    """Copies of an item follow it in every list: an audit of each row once knows nothing of them."""
    copied = model.replace(right=np.vstack([model.right, np.repeat(model.right[:6] * 2, 5, axis=0)]))
    whole, plain = (
        next(
            a for a in limits(one, ["right"], max_condition=3.0, n_neighbours=5).attacks if a.objective == "neighbours"
        )
        for one in (copied, model)
    )
    assert (whole.achieved, whole.bound, whole.n_items) == (plain.achieved, plain.bound, plain.n_items)
    assert plain.achieved > 0
    assert whole.table.tolist() == plain.table.tolist()
    rows = whole.table[:, 0]
    unit = [x / np.linalg.norm(x, axis=1, keepdims=True) for x in (model.right, whole.gauge.act(model).right)]
    lists = [np.argsort(-(x @ x.T) + 9 * np.eye(60), axis=1)[rows, :5] for x in unit]
    kept = [len(set(a) & set(b)) / 5 for a, b in zip(*lists, strict=True)]
    assert whole.achieved == pytest.approx(1 - np.mean(kept))
    for n_groups, lists in ((2, 0), (3, 1)):
        few = FactorModel.from_vectors(np.repeat(model.right[:n_groups], 20, axis=0))
        made = limits(few, ["right"], max_condition=2.0, n_starts=1, n_steps=1).attacks
        assert sum(a.objective == "neighbours" for a in made) == lists
