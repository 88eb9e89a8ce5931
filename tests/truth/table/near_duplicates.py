"""Tables with near-duplicates, and tables without any."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from truth.table.case import (
    BOTH_FREE,
    CONVENTION,
    UNDECLARED,
    UNKNOWN,
    Case,
    one_side,
    softmax_head,
    two_sides,
)
from truth.table.rows import centred, drawn

if TYPE_CHECKING:
    from collections.abc import Iterator


def cases() -> Iterator[Case]:
    """Yield tables with near-duplicates, tables without any, and tables with copies.

    If a noisy copy of 20 of 100 rows is appended, 40 of the 120 rows are
    near-duplicates. Neighbour lists contain one row of each group of copies. So 100 of
    120 rows are listed if 20 rows are copies, and all 120 rows if the copies are noisy.
    """
    once = "duplicates counted once"
    alone = {"right": "F"}
    rows, noise = drawn(100, 16), drawn(20, 16, 1)
    near = {"EMB414": "tip", **UNDECLARED}
    says = ("40 of 120 items are near-duplicates of another item", "item 0")
    for name, size in (("rows", 1.0), ("tiny rows", 1e-30), ("huge rows", 1e30)):
        table = size * np.vstack([rows, rows[:20] + 1e-4 * noise])
        yield Case(
            f"{name} with noisy copies",
            one_side(table),
            truth=alone,
            findings=near,
            says=(*says, "the 10 nearest of 120 items"),
            never=(once,),
            answer=UNKNOWN,
        )
    head = softmax_head(centred(60, 16))
    hardly = np.vstack([head.right, head.right[:1] + 1e-5 * drawn(20, 16, 1)])
    yield Case(
        "hardly trained tokens",
        softmax_head(hardly - hardly.mean(axis=0)),
        truth=alone,
        findings=near,
        says=("21 of 80 labels are near-duplicates", "unused tokens"),
        answer=CONVENTION,
    )
    quiet = {
        "no copies": (rows, {}),
        "copies without noise": (
            np.vstack([rows, rows[:20]]),
            {"EMB401": "issue"},
        ),
        "copies with much noise": (np.vstack([rows, rows[:20] + 0.1 * noise]), {}),
        "two copies with noise": (np.vstack([rows, rows[:2] + 1e-4 * noise[:2]]), {}),
        "crowded rows": (rows + 1e4, {"EMB403": "tip", "EMB413": "tip"}),
        "a smooth density of four dimensions": (drawn(4000, 4), {}),
        "a smooth density of two dimensions": (drawn(3000, 2), {}),
    }
    for name, (table, found) in quiet.items():
        never: tuple[str, ...] = ("near-duplicate",)
        if "EMB401" not in found:
            never = ("near-duplicate", once)
        yield Case(
            name,
            one_side(table),
            truth=alone,
            findings={**found, **UNDECLARED},
            never=never,
            answer=UNKNOWN,
        )
    # Copies of a third of the length have other rounding errors in float16.
    rounded = np.vstack([rows, rows[:20] / 3]).astype(np.float16)
    for name, table in (
        ("copies that lists count once", np.vstack([rows, rows[:20]])),
        ("copies of another length", np.vstack([rows, 2 * rows[:20]])),
        ("copies but for the rounding to float16", rounded),
    ):
        yield Case(
            name,
            one_side(table),
            truth=alone,
            findings={"EMB401": "issue", **UNDECLARED},
            says=(f"the 10 nearest of 100 items, {once}",),
            never=("near-duplicate", "nearest of 120"),
            answer=UNKNOWN,
        )
    # Attacks count lists with one item of each group of copies.
    p, q = drawn(40, 4), drawn(30, 4, 1)
    searched = {"groups": ("linear",)}
    yield Case(
        "lists of items with copies",
        two_sides(p, np.vstack([q, q[:10]])),
        truth=BOTH_FREE,
        findings={"EMB401": "issue", **UNDECLARED},
        says=(f"listed neighbours of items, {once}",),
        options=searched,
        n_starts=1,
    )
    yield Case(
        "lists of items without copies",
        two_sides(p, q),
        truth=BOTH_FREE,
        findings=UNDECLARED,
        says=("listed neighbours of items",),
        never=(once,),
        options=searched,
        n_starts=1,
    )
    # Copies among users do not change lists of items.
    yield Case(
        "copies among users only",
        two_sides(np.vstack([p, p[:10]]), q),
        truth=BOTH_FREE,
        findings={"EMB401": "issue", **UNDECLARED},
        says=("listed neighbours of items",),
        never=(f"items, {once}",),
        options=searched,
        n_starts=1,
    )
