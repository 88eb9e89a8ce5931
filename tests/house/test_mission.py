"""Each item of the mission is one line of Python."""

from __future__ import annotations

import numpy as np
import pytest

import embaudit as ea

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
    "labels that can be the most probable": lambda: ea.heads.argmaxable(HEAD),
    "labels that can share the largest probability": lambda: ea.heads.shared_halves(
        HEAD, [(0, 1)]
    ),
    "comparison": lambda: ea.compare(
        MODEL, GROUP.sample(rng=0).act(MODEL), by_row=True
    ),
    "remedy": lambda: ea.fix(MODEL),
    "copies of vectors": lambda: ea.compare_copies(MODEL, "int8"),
    "lists of an index": lambda: ea.index_metric(MODEL, "cosine"),
    "rows that queries find": lambda: ea.query_reach(MODEL),
    "threshold on cosines": lambda: ea.threshold(MODEL),
    "local and global cosine": lambda: ea.block_cosines(
        {"a": np.ones(2), "b": [1.0]}, {"a": np.ones(2), "b": [2.0]}
    ),
    "Simpson's paradox": lambda: ea.similarity_reversal(
        MODEL.right, MODEL.right, np.repeat([0, 1], 10)
    ),
    "figures of the second paper": lambda: ea.reproduce.nielsen(),
}
"""The items of the mission, each as a user would ask for it."""


@pytest.mark.parametrize("item", MISSION)
def test_each_item_of_the_mission_has_a_public_function(item):
    assert MISSION[item]() is not None
