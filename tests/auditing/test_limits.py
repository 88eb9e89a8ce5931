"""What an audit says could happen at most holds for whatever does happen."""

from __future__ import annotations

import numpy as np
import pytest
from limited import limits
from models import random_model

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
