"""What audits and their parts make of edges: `edges.txt` has expressions, and below each what is made, for people."""

from __future__ import annotations

from pathlib import Path

import made
import numpy as np
import raised
from expressions import assert_expressions, error_of, shown
from golden.test_kept_calls import numbers, room
from models import random_model
from report.test_told import HEAD, MODELS, PAIR
from snapshots import as_locked

import embaudit as ea
from embaudit.auditing.answer import answer
from embaudit.auditing.findings import conclusions


def drawn(evidence, *codes):
    """What is concluded, in numbers, and of some codes in words."""
    return [
        [
            x.code,
            x.severity.title,
            str(x.kind),
            x.role,
            x.value,
            *words(x) * (x.code in codes),
        ]
        for x in conclusions(evidence)
    ]


def words(found):
    return [found.rows, str(found.scope), found.title, found.text]


@as_locked
def test_edges():
    told = {
        "PAIR": PAIR,
        "HEAD": HEAD,
        "MODELS": MODELS,
        "drawn": drawn,
        "draw": np.random.default_rng,
    }
    names = {
        each.__name__: each
        for each in (error_of, shown, answer, random_model, room, numbers)
    }
    assert_expressions(
        Path(__file__).with_name("edges.txt"),
        vars(raised) | vars(made) | names | told | {"ea": ea, "np": np},
    )
