"""Broken releases as they occur in practice, judged by `embaudit compare` against the
previous model.

The limits come from two retrainings with other seeds, as docs/gate.md describes.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import embaudit as ea

pytestmark = pytest.mark.slow

N_USERS, N_ITEMS, RANK = 400, 200, 8


def simulated(seed=0):
    """Return interactions with clusters of taste and items of very different
    popularity.
    """
    draw = np.random.default_rng(seed)
    taste, topic = draw.normal(size=(N_USERS, 5)), draw.normal(size=(N_ITEMS, 5))
    popularity = -1.2 * np.log(np.arange(1, N_ITEMS + 1))
    scores = taste @ topic.T + popularity + draw.gumbel(size=(N_USERS, N_ITEMS))
    return scores > np.quantile(scores, 0.9)


def trained(interactions, seed, n_iterations=12, penalty=1.0, confidence=5.0):
    """Alternate weighted least squares, as implicit feedback is factorized."""
    draw = np.random.default_rng(seed)
    items = 0.1 * draw.normal(size=(N_ITEMS, RANK))
    for _ in range(n_iterations):
        users = solved(interactions, items, penalty, confidence)
        items = solved(interactions.T, users, penalty, confidence)
    return users, items


def solved(interactions, factors, penalty, confidence):
    gram = factors.T @ factors + penalty * np.eye(RANK)
    observed = interactions.astype(float)
    squares = np.einsum("rc,ci,cj->rij", confidence * observed, factors, factors)
    sides = (1 + confidence) * observed @ factors
    return np.linalg.solve(gram + squares, sides[..., None])[..., 0]


ALL = simulated()
COUNTS = {"user_counts": ALL.sum(axis=1), "item_counts": ALL.sum(axis=0)}
BASE = trained(ALL, seed=0)


def with_share_removed(share):
    """Return the interactions that were there before a share of them came in."""
    draw = np.random.default_rng(5)
    return ALL & (draw.random(ALL.shape) >= share)


def written(path, users, items, rows=slice(None), **fields):
    model = ea.FactorModel.from_user_item(
        users,
        items[rows],
        user_ids=np.arange(N_USERS),
        item_ids=np.arange(N_ITEMS)[rows],
        **fields,
    )
    ea.save(model, path, force=True)


@pytest.fixture(scope="module")
def limits(tmp_path_factory):
    """Return limits a little below what two retrainings with other seeds keep."""
    folder = tmp_path_factory.mktemp("seeds")
    written(folder / "base.npz", *BASE, **COUNTS)
    shares = []
    for seed in (1, 2):
        written(folder / f"{seed}.npz", *trained(ALL, seed), **COUNTS)
        change = ea.compare(folder / "base.npz", folder / f"{seed}.npz")
        shares.append(change.shares_kept())
    lowest = {name: min(share[name] for share in shares) for name in shares[0]}
    return {
        "top": lowest["top"] - 0.05,
        "predicted": lowest["predicted"] - 0.05,
        "rows": 0.97,
        "shared": 0.98,
    }


@pytest.fixture
def gate(embaudit, limits):
    def judge(users, items, *options, rows=slice(None), counts=COUNTS, **fields):
        written("base.npz", *BASE, **counts)
        written("new.npz", users, items, rows, **fields)
        asked = [f"--fail-below={name}={limit}" for name, limit in limits.items()]
        return embaudit("compare", "base.npz", "new.npz", *asked, *options)

    return judge


def permuted(items, rows):
    """Give each of some items the vector of the next one of them."""
    items = items.copy()
    items[rows] = items[np.roll(rows, 1)]
    return items


def rotation():
    return np.linalg.qr(np.random.default_rng(1).normal(size=(RANK, RANK)))[0]


def int8(x):
    step = np.abs(x).max() / 127
    return np.round(x / step) * step


def unit(x):
    """Make rows unit length; items that nobody interacted with stay at zero."""
    return x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12)


POPULAR = np.argsort(-COUNTS["item_counts"], kind="stable")[: N_ITEMS // 33]
USERS, ITEMS = BASE
HEALTHY = {
    "another seed": lambda: trained(ALL, seed=3),
    "two percent more data": lambda: trained(with_share_removed(0.02), seed=0),
    "rescaled axes": lambda: (
        USERS * np.geomspace(1, 3, RANK),
        ITEMS / np.geomspace(1, 3, RANK),
    ),
    "rotated axes": lambda: (USERS @ rotation(), ITEMS @ rotation()),
    "float16": lambda: (USERS.astype(np.float16), ITEMS.astype(np.float16)),
    "int8": lambda: (int8(USERS), int8(ITEMS)),
    "scores three times as large": lambda: (3 * USERS, ITEMS),
}
BROKEN = {
    "a quarter more data": lambda: trained(with_share_removed(0.25), seed=0),
    "shuffled items": lambda: (
        USERS,
        ITEMS[np.random.default_rng(2).permutation(N_ITEMS)],
    ),
    "popular items permuted": lambda: (USERS, permuted(ITEMS, POPULAR)),
    "popular items permuted and trained on": lambda: (
        USERS,
        permuted(ITEMS, POPULAR)
        + 1e-3 * np.random.default_rng(3).normal(size=ITEMS.shape),
    ),
    "popular items zeroed": lambda: (
        USERS,
        np.where(np.isin(np.arange(N_ITEMS), POPULAR)[:, None], 0, ITEMS),
    ),
    "noise": lambda: (
        USERS,
        ITEMS + ITEMS.std() * np.random.default_rng(4).normal(size=ITEMS.shape),
    ),
    "copies": lambda: (USERS, ITEMS[np.arange(N_ITEMS) % 120]),
    "users of another run": lambda: (trained(ALL, seed=7)[0], ITEMS),
    "items of unit length": lambda: (
        USERS,
        unit(ITEMS),
    ),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_release_passes(gate, name):
    result = gate(*HEALTHY[name]())
    assert result.code == 0, result.out
    assert result.out.splitlines()[-1] == "gate: passes"


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_release_stops(gate, name):
    result = gate(*BROKEN[name]())
    assert result.code == 1, result.out
    assert result.out.splitlines()[-1].startswith("gate: stops, ")


def test_missing_items_count_by_their_interactions(gate):
    rare = np.argsort(COUNTS["item_counts"], kind="stable")[: len(POPULAR)]
    without_rare = np.setdiff1d(np.arange(N_ITEMS), rare)
    without_popular = np.setdiff1d(np.arange(N_ITEMS), POPULAR)
    assert gate(USERS, ITEMS, rows=without_rare).code == 0
    result = gate(USERS, ITEMS, rows=without_popular)
    assert result.code == 1
    counts = COUNTS["item_counts"]
    share = counts[without_popular].sum() / counts.sum()
    assert (
        f"shared {share:.2f} (items that both models hold) is below"
        in result.out.splitlines()[-1]
    )


def test_without_counts_items_count_by_their_slots_in_lists(gate, tmp_path):
    result = gate(USERS, permuted(ITEMS, POPULAR), "--json", "c.json", counts={})
    assert result.code == 1
    assert "rows 0." in result.out.splitlines()[-1]
    sides = json.loads((tmp_path / "c.json").read_text())["changes"]
    by_role = {side["role"]: side["weighted_by"] for side in sides}
    assert by_role == {"left": "equal", "right": "slots"}


def test_swapped_vectors_stop_by_default_and_are_a_number_in_the_json(gate, tmp_path):
    rare = np.argsort(COUNTS["item_counts"], kind="stable")[20:30]
    items = permuted(ITEMS, rare)
    result = gate(USERS, items, "--json", "c.json")
    assert result.code == 1
    last = result.out.splitlines()[-1]
    assert last == "gate: stops, 10 items have the vector of another item"
    sides = json.loads((tmp_path / "c.json").read_text())["changes"]
    by_role = {side["role"]: side["n_displaced"] for side in sides}
    assert by_role == {"left": 0, "right": 10}
    assert gate(USERS, items, "--allow-swapped", "--force").code == 0


def test_numbers_that_are_not_finite_are_refused(embaudit):
    written("base.npz", *BASE)
    broken = ITEMS.copy()
    broken[3, 2] = np.nan
    np.savez("new.npz", user_factors=USERS, item_factors=broken)
    result = embaudit("compare", "base.npz", "new.npz", "--fail-below", "top=0.5")
    assert result.code == 2
    assert "must be finite; got nan" in result.err
    assert not Path("c.json").exists()
