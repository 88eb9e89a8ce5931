"""Proofs about the labels of a head: those no input makes lead, and how many dimensions they span."""

from __future__ import annotations

from typing import Any

import numpy as np

from embaudit.auditing.claims import Claim
from embaudit.auditing.evidence import Evidence
from embaudit.auditing.proof.part import Part, table
from embaudit.foundation.checked import Floats, Indices
from embaudit.softmax.coordinates import LabelCoordinates, label_coordinates
from embaudit.softmax.feasibility import MARGIN
from embaudit.softmax.programs import lead_program

NEGLIGIBLE = 1e-14
"""A weight below this is none."""
ROUNDS = 30
"""Programs solved for one label at most, each over more of its rivals."""


def simplex(evidence: Evidence, claim: Claim) -> Part:  # noqa: ARG001
    """Store nothing: the rows themselves show what they span."""
    return Part({})


def argmax(evidence: Evidence, claim: Claim) -> Part:  # noqa: ARG001
    """Store for each label that cannot lead the weights λ, μ of others that bound its lead by Σμ."""
    assert evidence.head is not None
    found, space = evidence.head.argmax, label_coordinates(evidence.head.model)
    hidden = found.labels[found.cannot]
    weights = [_weights(space, int(label)) for label in hidden]
    width = max(len(others) for others, _, _ in weights)

    def padded(values: list[Any]) -> Floats:
        return np.array([np.pad(v, (0, width - len(v))) for v in values])

    others, ahead, most = (padded([part[i] for part in weights]) for i in range(3))
    return Part({"hidden": table(hidden), "others": table(others), "ahead": ahead, "most": most})


def _weights(space: LabelCoordinates, label: int) -> tuple[Indices, Floats, Floats]:
    """Solve programs over a growing set of rivals until one of them leaves no lead."""
    own = space.of(np.array([label]))[0]
    point, rivals, size = own, np.empty(0, dtype=np.intp), 4 * (space.rank + 1)
    for _ in range(ROUNDS):
        logits = np.concatenate([block[:, 0] for _, block in space.logit_blocks(point[None])])
        logits[[label, *rivals]] = -np.inf
        new = np.argsort(-logits, kind="stable")[: min(size, space.n_labels - 1 - len(rivals))]
        rivals = np.concatenate([rivals, new])
        solution = lead_program(own - space.of(rivals))
        if solution.fun <= MARGIN or not len(new):
            break
        upward = -float(solution.ineqlin.marginals[0]) if len(solution.ineqlin.marginals) else 0.0
        point = np.append(np.asarray(solution.eqlin.marginals[:-1]), max(0.0, upward))
    ahead, most = np.split(np.asarray(solution.x), 2)
    used = np.flatnonzero((ahead > NEGLIGIBLE) | (most > NEGLIGIBLE))
    ahead, most = np.maximum(ahead[used], 0), np.maximum(most[used], 0)
    return rivals[used], ahead / ahead.sum(), most / ahead.sum()
