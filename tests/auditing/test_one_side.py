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
    with_each_other = "embaudit audit v.npy --compared cosine"
    assert commands(neither) == [with_each_other, side, full]
    # What was told of these vectors, and a format with room for one table, do not fit a second one.
    assert commands(neither, ("--kind", "vectors"))[1] == "embaudit audit ROWS.npy --left OTHER-SIDE.npy"
    assert commands(told["link"]) == [full]
    stretched = replace(neither.evidence, traits=tuple(replace(one, off_unit=0.5) for one in neither.evidence.traits))
    assert "--objective cosine" not in " ".join(commands(replace(neither, evidence=stretched)))
    whitened = replace(stretched, traits=tuple(replace(one, orthonormal=True) for one in stretched.traits))
    assert commands(replace(neither, evidence=whitened)) == [side, full]


@pytest.mark.parametrize("path", ["texts.npz", "model2vec", "words.json", "clip-classes/embeddings.npz", "items.npy"])
def test_both_ways_of_training_are_offered_whatever_the_format_and_the_likelier_first(told, path):
    typed = [command for _, command in next_steps(told["neither"], Invocation(path))]
    ways = ["--compared", "--left"] if path in ("texts.npz", "model2vec") else ["--left", "--compared"]
    assert [way in command for way, command in zip(ways, typed[:2], strict=True)] == [True, True]
