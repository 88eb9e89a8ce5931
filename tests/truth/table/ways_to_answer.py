"""Models for ways to answer that no other model reaches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from truth.table.case import (
    BOTH_FREE,
    CONVENTION,
    UNDECLARED,
    UNKNOWN,
    Case,
    softmax_head,
    two_sides,
)
from truth.table.rows import centred, orthonormal

from embaudit.model import softmax_link

if TYPE_CHECKING:
    from collections.abc import Iterator


def cases() -> Iterator[Case]:
    """Yield a model for each remaining way to answer."""
    strengths = np.array([4.0, 2.0, 1.0, 0.5])
    p, q = orthonormal(90, 4), orthonormal(80, 4, 1)
    balanced = two_sides(
        p * np.sqrt(strengths), q * np.sqrt(strengths), objective="factors"
    )
    says = ("chose the cosines", "stay when items are compared by their predictions")
    yield Case(
        "balanced by its penalty, other lists predicted",
        balanced,
        truth=BOTH_FREE,
        findings={"EMB103": "tip"},
        says=says,
        answer=CONVENTION,
    )
    near = two_sides(p * [1, 1.01, 1, 1.01], q * strengths)
    yield Case(
        "nearly the cosines of predictions",
        near,
        truth=BOTH_FREE,
        findings=UNDECLARED,
        says=("nearly are the cosines",),
        answer=CONVENTION,
    )
    capped = softmax_head(centred(40, 4)).replace(link=softmax_link(soft_cap=30.0))
    yield Case(
        "a capped head alone",
        capped,
        truth={"right": "F"},
        findings={"EMB305": "tip", **UNDECLARED},
        says=("does not hold, would decide between BY CONVENTION and NO",),
        answer=UNKNOWN,
        about_all_models=False,
    )
