"""Models in which one side lacks a direction, or has a constant column."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from truth.table.case import (
    BOTH_FREE,
    UNDECLARED,
    Case,
    two_sides,
)
from truth.table.rows import drawn

if TYPE_CHECKING:
    from collections.abc import Iterator


def cases() -> Iterator[Case]:
    """Yield models with missing directions, then models with constant columns."""
    p, q = drawn(7, 3), drawn(6, 3, 1)
    blind = {"EMB203": "issue", **UNDECLARED}
    says = ("more than 2 of 3 dimensions",)
    yield Case(
        "users miss a direction",
        two_sides(p * [1, 1, 0], q),
        truth=BOTH_FREE,
        findings=blind,
        says=says,
    )
    yield Case(
        "items miss a direction",
        two_sides(p, q * [1, 1, 0]),
        truth=BOTH_FREE,
        findings=blind,
        says=says,
    )
    # A column that is zero on both sides holds nothing in any model of the same rank.
    both = two_sides(p * [1, 1, 0], q * [1, 1, 0])
    yield Case(
        "both sides miss a direction",
        both,
        truth=BOTH_FREE,
        findings=UNDECLARED,
        says=("rank 2",),
        never=says,
    )
    yield Case(
        "users miss a mixture",
        two_sides(p @ (np.eye(3) - 1 / 3), q),
        truth=BOTH_FREE,
        findings=blind,
        says=says,
    )
    yield Case(
        "users miss a direction, ranking",
        two_sides(p * [1, 1, 0], q, link="ranking"),
        truth=BOTH_FREE,
        findings=blind,
        about_all_models=False,
    )
    yield Case(
        "one direction is left",
        two_sides(p * [1, 0, 0], q),
        truth=BOTH_FREE,
        findings=blind,
        says=("more than 1 of 3 dimensions",),
    )
    yield Case(
        "two users in three dimensions",
        two_sides(p[:2], q),
        truth=BOTH_FREE,
        findings=blind,
        says=("2 users cannot span 3 dimensions",),
    )
    yield Case(
        "two items in three dimensions",
        two_sides(p, q[:2]),
        truth=BOTH_FREE,
        findings=blind,
        says=("2 items cannot span 3 dimensions",),
    )
    line = two_sides(
        np.column_stack([p[:, :1], np.zeros(7)]),
        np.column_stack([q[:, :1], np.ones(6)]),
    )
    yield Case(
        "a line in the plane",
        line,
        truth=BOTH_FREE,
        findings=blind,
        says=("more than 1 of 2 dimensions",),
    )
    constant = np.column_stack([p[:, :2], np.full(7, 2.0)])
    absorbs = {"EMB204": "tip", **UNDECLARED}
    yield Case(
        "constant column of users",
        two_sides(constant, q),
        truth=BOTH_FREE,
        findings=absorbs,
        says=("Make this component the item bias",),
    )
    yield Case(
        "constant column of users, with an item bias",
        two_sides(constant, q, item_bias=np.zeros(6)),
        truth=BOTH_FREE,
        findings=absorbs,
        says=("to the bias, then drop it",),
    )
    constant = np.column_stack([q[:, :2], np.full(6, -3.0)])
    yield Case(
        "constant column of items",
        two_sides(p, constant),
        truth=BOTH_FREE,
        findings=absorbs,
        says=("Make this component the user bias",),
    )
    biased = two_sides(p, constant, user_bias=np.zeros(7))
    yield Case(
        "constant column of items, with a user bias",
        biased,
        truth=BOTH_FREE,
        findings=absorbs,
        says=("to the bias, then drop it",),
    )
    alike = two_sides(p[:, :1], np.full((6, 1), 2.0))
    pinned = {"right": "P", "left": "P"}
    yield Case("items alike on a line", alike, truth=pinned, findings={"EMB204": "tip"})
    biased = alike.replace(left_bias=np.zeros(7))
    yield Case("items alike, a user bias", biased, truth=BOTH_FREE, findings=absorbs)
    alike = two_sides(np.ones((7, 1)), q[:, :1])
    yield Case("users alike on a line", alike, truth=pinned, findings={"EMB204": "tip"})
    # The bias holds the scores completely.
    biased = alike.replace(right_bias=np.zeros(6))
    yield Case(
        "users alike, an item bias",
        biased,
        truth=BOTH_FREE,
        findings=absorbs,
        says=("may hold any rows",),
    )
