"""Vectors alone: nothing is said of predictions or of users, and three ways to say the same thing say the same."""

from __future__ import annotations

from dataclasses import replace

import pytest
from models import random_model

from embaudit import audit
from embaudit.report.next_steps import Invocation, next_steps

VECTORS = random_model(0, n=None, p=40, k=4)
UNIT = VECTORS.replace(right=VECTORS.right / (VECTORS.right**2).sum(axis=1, keepdims=True) ** 0.5)
FEW = {"n_gauges": 1, "n_pairs": 50}
pytestmark = pytest.mark.usefixtures("without_attacks")


@pytest.fixture(scope="module")
def told():
    """Audits of unit rows that were declared in three ways."""
    ways = {
        "neither": {}, "link": {"link": "cosine"}, "objective": {"objective": "cosine"},
        "both": {"link": "cosine", "objective": "cosine"},
    }  # fmt: skip
    return {name: audit(UNIT.replace(**way), **FEW) for name, way in ways.items()}


def commands(found, *asked):
    return [command for _, command in next_steps(found, Invocation("v.npy", *asked))]


def test_what_to_type_next_is_the_declaration_that_decides(told):
    neither = told["neither"]
    side, full = "embaudit audit v.npy --left OTHER-SIDE.npy", "embaudit audit v.npy --full"
    assert commands(neither)[0] == side
    assert commands(neither)[-1] == full
    # Whoever says that these are vectors has no other side.
    assert "--left" not in " ".join(commands(neither, ("--kind", "vectors")))
    assert commands(told["link"]) == [full]
    stretched = replace(neither.evidence, traits=tuple(replace(one, off_unit=0.5) for one in neither.evidence.traits))
    assert "--objective cosine" not in " ".join(commands(replace(neither, evidence=stretched)))
    whitened = replace(stretched, traits=tuple(replace(one, orthonormal=True) for one in stretched.traits))
    assert commands(replace(neither, evidence=whitened)) == [side, full]
