"""Nothing that commit 54a366e offered goes in silence: docs/migration.md names what replaces it."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np
import pytest
from inventory import ROOT, inventory

import embaudit as ea

FROZEN = Path(__file__).with_name("inventory.txt")
ROW = re.compile(r"^\| `([^`]+)` \| (.+) \|$", re.MULTILINE)


@pytest.fixture(scope="module")
def missing():
    """Return what commit 54a366e offered and this one does not."""
    return set(FROZEN.read_text(encoding="utf-8").splitlines()) - set(inventory())


@pytest.fixture(scope="module")
def replacements():
    """Return the table of docs/migration.md: patterns of what is gone, and what to use instead."""
    return dict(
        ROW.findall((ROOT / "docs" / "migration.md").read_text(encoding="utf-8"))
    )


def matches(line, pattern):
    """Compare literally but for a `*` at the end."""
    literal = pattern.removesuffix("*").replace("[", "[[]").replace("?", "[?]")
    return fnmatchcase(line, literal + "*" * pattern.endswith("*"))


def test_all_that_is_gone_has_a_replacement(missing, replacements):
    silent = sorted(
        line
        for line in missing
        if not any(matches(line, pattern) for pattern in replacements)
    )
    assert not silent, "\n".join(["give each a row in docs/migration.md:", *silent])


def test_all_that_is_called_gone_is_gone(missing, replacements):
    stale = sorted(
        row for row in replacements if not any(matches(line, row) for line in missing)
    )
    assert not stale, "\n".join(
        ["these rows of docs/migration.md name nothing that is gone:", *stale]
    )


def test_every_replacement_says_something(replacements):
    assert all(len(instead.split()) >= 2 for instead in replacements.values()), (
        replacements
    )


DRAW = np.random.default_rng(0)
MODEL = ea.FactorModel.from_user_item(
    DRAW.normal(size=(30, 3)), DRAW.normal(size=(20, 3))
)
HEAD = ea.FactorModel.from_softmax(DRAW.normal(size=(6, 3)), DRAW.normal(size=6))
DATA = ea.simulate_interactions(60, 30, 3, rng=0).matrix
GROUP = ea.gauges.GeneralLinear(3, max_condition=2.0)
MISSION = {
    "closed form, penalty on the product": lambda: (
        ea.ProductPenaltyMF(3, alpha=5.0).fit(DATA).model(DATA)
    ),
    "closed form, penalty on the factors": lambda: (
        ea.FactorPenaltyMF(3, alpha=1.0).fit(DATA).model(DATA)
    ),
    "diagonal gauges": lambda: (
        ea.gauges.Diagonal(3, max_condition=2.0).sample(rng=0).act(MODEL)
    ),
    "general linear gauges": lambda: GROUP.sample(rng=0).act(MODEL),
    "orthogonal gauges": lambda: ea.gauges.Orthogonal(3).sample(rng=0).act(MODEL),
    "translations": lambda: (
        ea.gauges.Translation(3, side="right", max_shift=1.0).sample(rng=0).act(HEAD)
    ),
    "affine gauges": lambda: (
        ea.gauges.Affine(3, side="right", max_condition=2.0, max_shift=1.0)
        .sample(rng=0)
        .act(HEAD)
    ),
    "movement of items": lambda: ea.movement(
        MODEL, GROUP.sample(rng=0).act(MODEL), role="right"
    ),
    "movement of users": lambda: ea.movement(
        MODEL, GROUP.sample(rng=0).act(MODEL), role="left"
    ),
    "movement between users and items": lambda: ea.movement(
        MODEL, GROUP.sample(rng=0).act(MODEL), role="cross"
    ),
    "movement of labels": lambda: ea.audit(HEAD, n_gauges=1).to_frame(),
    "ranges": lambda: ea.cosine_range(MODEL, GROUP, role="right", pairs=[(0, 1)]),
    "certificates": lambda: ea.certified_neighbours(MODEL, role="right", n=3),
    "attacks": lambda: ea.worst_gauge(MODEL, GROUP, n_starts=1, n_steps=2),
    "prediction cosines": lambda: ea.identified_cosines(
        MODEL, role="right", pairs=[(0, 1)]
    ),
    "canonical form": lambda: ea.canonical_form(MODEL),
    "robustness of a head": lambda: ea.head_report(HEAD),
    "labels that can be the most probable": lambda: ea.softmax.argmaxable(HEAD),
    "labels that can share the largest probability": lambda: ea.softmax.shared_halves(
        HEAD, [(0, 1)]
    ),
    "comparison": lambda: ea.compare(
        MODEL, GROUP.sample(rng=0).act(MODEL), by_row=True
    ),
    "remedy": lambda: ea.fix(MODEL),
    "local and global cosine": lambda: ea.block_cosines(
        {"a": np.ones(2), "b": [1.0]}, {"a": np.ones(2), "b": [2.0]}
    ),
    "Simpson's paradox": lambda: ea.similarity_reversal(
        MODEL.right, MODEL.right, np.repeat([0, 1], 10)
    ),
    "figures of the second paper": lambda: ea.reproduce.nielsen(),
}
"""The items of the mission, each as a user would ask for it; none may ever lose its line."""


@pytest.mark.parametrize("item", MISSION)
def test_the_mission_is_whole(item):
    assert MISSION[item]() is not None
