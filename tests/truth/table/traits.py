"""Traits of rows, each with a model just short of the trait."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from truth.table.case import (
    BOTH_FREE,
    UNDECLARED,
    UNKNOWN,
    Case,
    one_side,
    two_sides,
)
from truth.table.rows import drawn

if TYPE_CHECKING:
    from collections.abc import Iterator


def cases() -> Iterator[Case]:
    """Yield models with a shared direction, zero rows, hubs and constant columns."""
    alone = {"right": "F"}
    x, axis = drawn(200, 20, 1), np.eye(20)[0]
    shares = {"EMB403": "tip"}
    yield Case(
        "items share a direction",
        two_sides(drawn(30, 20), x + 5 * axis),
        truth=BOTH_FREE,
        findings={**shares, **UNDECLARED},
        says=("adds a number to all scores of each user",),
        never=("changes no score, so either",),
    )
    biased = two_sides(drawn(30, 20), x + 1.1, user_bias=np.zeros(30))
    yield Case(
        "items share a direction, with a user bias",
        biased,
        truth=BOTH_FREE,
        findings={**shares, **UNDECLARED},
        says=("changes no score, so lists with and without it are equally good",),
    )
    for n_zeros, severity in ((10, "issue"), (9, "tip")):
        zeros = x * (np.arange(200) >= n_zeros)[:, None]
        says = (f"{n_zeros} of 200 items are zero vectors, which have no cosine",)
        yield Case(
            f"{n_zeros} rows of zeros",
            two_sides(drawn(30, 20), zeros),
            truth=BOTH_FREE,
            findings={"EMB201": severity, **UNDECLARED},
            says=says,
        )
    yield Case(
        "items share a weaker direction",
        two_sides(drawn(30, 20), x + 0.9),
        truth=BOTH_FREE,
        findings=UNDECLARED,
        never=("so a high cosine says less",),
    )
    yield Case(
        "vectors share a direction",
        one_side(x + 1.1),
        truth=alone,
        findings={**shares, **UNDECLARED},
        says=("makes other vectors",),
        never=("to all scores",),
        answer=UNKNOWN,
    )
    crowded = drawn(200, 60, 1) + 0.9
    yield Case(
        "vectors without hubs",
        one_side(crowded),
        truth=alone,
        findings=UNDECLARED,
        never=("of 200 fill",),
        answer=UNKNOWN,
    )
    hubs = crowded.copy()
    hubs[5:7] = 0.9 + 0.01 * crowded[5:7]
    yield Case(
        "two hubs",
        one_side(hubs),
        truth=alone,
        findings={"EMB404": "tip", **UNDECLARED},
        says=("2 items of 200 fill",),
        answer=UNKNOWN,
    )
    constant = np.column_stack([x[:, 1:], np.full(200, 0.5)])
    says = ("Column 19 is 0.5 in every row",)
    yield Case(
        "a constant column of vectors",
        one_side(constant),
        truth=alone,
        findings={"EMB407": "tip", **UNDECLARED},
        says=says,
        answer=UNKNOWN,
    )
    yield Case(
        "a nearly constant column of vectors",
        one_side(constant + 1e-6 * axis[::-1] * np.arange(200)[:, None]),
        truth=alone,
        findings=UNDECLARED,
        answer=UNKNOWN,
    )
