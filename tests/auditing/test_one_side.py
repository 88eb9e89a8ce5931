"""Vectors alone: nothing is said of predictions or of users, and three ways to say the same thing say the same."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from models import random_model
from raised import cases

from embaudit import audit
from embaudit.auditing import Audit
from embaudit.auditing.alone import is_alone
from embaudit.report.next_steps import Asked, next_steps
from embaudit.report.terminal import first_screen

VECTORS = random_model(0, n=None, p=40, k=4)
UNIT = VECTORS.replace(right=VECTORS.right / (VECTORS.right**2).sum(axis=1, keepdims=True) ** 0.5)
FEW = {"n_gauges": 1, "n_pairs": 50}
ALONE = [name for name, case in cases().items() if is_alone(case.model) and "prediction" not in name]
pytestmark = pytest.mark.usefixtures("without_attacks")


@pytest.mark.parametrize("name", [name for name in ALONE if "by cosine" not in name])
def test_nobody_sees_a_prediction_of_vectors_alone(name):
    found = Audit(cases()[name].model, cases()[name])
    for text in (str(found.answer), found.verdict, *(f"{one.title} {one.remedy}" for one in found.findings)):
        assert not re.search(r"\b[Pp]redict|\busers?\b", text), text


@pytest.fixture(scope="module")
def told():
    """Audits of unit rows that were declared in three ways."""
    ways = {
        "neither": {}, "link": {"link": "cosine"}, "objective": {"objective": "cosine"},
        "both": {"link": "cosine", "objective": "cosine"},
    }  # fmt: skip
    return {name: audit(UNIT.replace(**way), **FEW) for name, way in ways.items()}


def commands(found, *asked):
    return [command for _, command in next_steps(found, Asked("v.npy", *asked))]


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


def test_the_first_screen_speaks_of_scores(told):
    screen = first_screen(told["neither"], Asked("v.npy"))
    assert "predict" not in screen
    assert "Equal models: same products of both sides." in screen
