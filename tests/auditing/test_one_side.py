"""Vectors alone: nothing is said of predictions or of users, and three ways to say the
same thing say the same.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from models import random_model

from embaudit import audit
from embaudit.auditing.glance import glance_of
from embaudit.io.intake import Intake, Part
from embaudit.model import FactorModel
from embaudit.report.next_steps import Invocation, next_steps

VECTORS = random_model(0, n=None, p=40, k=4)
UNIT = VECTORS.replace(
    right=VECTORS.right / (VECTORS.right**2).sum(axis=1, keepdims=True) ** 0.5
)
FEW = {"n_gauges": 1, "n_pairs": 50, "n_starts": 0}


@pytest.fixture(scope="module")
def told():
    """Audits of unit rows that were declared in three ways."""
    ways = {
        "neither": {},
        "link": {"link": "cosine"},
        "objective": {"objective": "cosine"},
        "both": {"link": "cosine", "objective": "cosine"},
    }
    return {name: audit(UNIT.replace(**way), **FEW) for name, way in ways.items()}


def commands(found, *asked):
    return [
        command or what
        for what, command in next_steps(found, Invocation("v.npy", *asked))
    ]


def test_what_to_type_next_is_the_declaration_that_decides(told):
    neither = told["neither"]
    side = "embaudit audit v.npy --left-file OTHER-SIDE.npy"
    with_each_other = "embaudit audit v.npy --compared cosine"
    assert commands(neither) == [with_each_other, side]
    assert (
        commands(neither, ("--kind", "vectors"))[1]
        == "embaudit audit v.npy --kind vectors --left-file OTHER-SIDE.npy"
    )
    assert commands(told["link"]) == [side]
    stretched = replace(
        neither.evidence,
        traits=tuple(replace(one, off_unit=0.5) for one in neither.evidence.traits),
    )
    assert "--objective cosine" not in " ".join(
        commands(replace(neither, evidence=stretched))
    )
    whitened = replace(
        stretched,
        traits=tuple(replace(one, orthonormal=True) for one in stretched.traits),
    )
    assert commands(replace(neither, evidence=whitened)) == [side]


def test_distilled_rows_are_asked_for_their_training_and_others_if_they_were_compared(
    told,
):
    for name, way in (
        ("embeddings", "embaudit explain objectives"),
        ("vectors", "--compared cosine"),
    ):
        read = replace(
            told["neither"], intake=Intake("shards", ("m",), (Part(name, "right"),))
        )
        assert way in commands(read)[0]


def test_nothing_found_is_no_zero_unless_nothing_can_be_found():
    draw = np.random.default_rng(0)
    keys, steps = {}, {}
    for n in (20, 60):
        rows = draw.standard_normal((n, 8))
        unit = FactorModel.from_vectors(
            rows / np.linalg.norm(rows, axis=1, keepdims=True)
        ).replace(link="cosine")
        found = audit(unit, **FEW)
        glance = glance_of(found.evidence)
        assert glance.rows == ()
        keys[n] = glance.key[-1]
        steps[n] = commands(found)[0]
        # Enough rows fix their cosines only if the other side has full rank.
        assert found.answer.word == "UNKNOWN"
        assert " --left-file " in steps[n]
    open_end = (
        "No model with the same predicted cosines and other item-item cosines was "
        "found; there may still be one."
    )
    assert keys == {20: open_end, 60: open_end}
    fixed = audit(VECTORS, **FEW, compared="cosine")
    assert fixed.answer.word == "YES"
    rows = glance_of(fixed.evidence).rows
    assert {figure for *_, figures in rows for figure in figures} == {"100 %", "0.00"}
    assert commands(fixed) == []


@pytest.mark.parametrize(
    "path",
    [
        "texts.npz",
        "model2vec",
        "words.json",
        "clip-classes/embeddings.npz",
        "items.npy",
    ],
)
def test_both_ways_of_training_are_offered_whatever_the_format_and_the_likelier_first(
    told, path
):
    typed = [command for _, command in next_steps(told["neither"], Invocation(path))]
    assert all(path in command for command in typed[:2])
    ways = (
        ["--compared", "--left-file"]
        if path in ("texts.npz", "model2vec")
        else ["--left-file", "--compared"]
    )
    assert [way in command for way, command in zip(ways, typed[:2], strict=True)] == [
        True,
        True,
    ]
