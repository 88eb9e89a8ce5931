"""Tables whose rows were compared by distance."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from truth.table.case import (
    UNDECLARED,
    UNKNOWN,
    Case,
    one_side,
)
from truth.table.rows import drawn, unit

from embaudit.model import with_objective

if TYPE_CHECKING:
    from collections.abc import Iterator


def cases() -> Iterator[Case]:
    """Yield tables by Euclidean and hyperbolic distance, and tables with a short row.

    Distances do not fix cosines.
    """
    alone, issue = {"right": "F"}, {"EMB101": "issue"}
    rows = drawn(40, 4)
    in_ball = unit(rows) * np.linspace(0.1, 0.9, 40)[:, None]
    never = ("Only items were loaded", "multiplied with", "change of the axes", "YES")
    says = (
        "distances do not depend on the origin",
        "Rank by Euclidean distance",
        "rank items by distance",
    )
    unit_rows = "so declare `--compared cosine`"
    shifted = "One vector added to every item row changes no distance"
    for name, table in (
        ("rows", one_side(rows, compared="distance")),
        ("rows off the origin", one_side(rows + 3, compared="distance")),
        ("rows on a line", one_side(rows[:, :1], compared="distance")),
        ("rows of float32", one_side(rows.astype("f4"), compared="distance")),
        ("transe", with_objective(one_side(rows), "transe")),
    ):
        found = issue | ({"EMB403": "tip"} if name == "rows off the origin" else {})
        yield Case(
            f"{name} by distance",
            table,
            truth=alone,
            findings=found,
            says=(*says, shifted),
            never=(*never, unit_rows),
        )
    yield Case(
        "rows of length 1 by distance",
        one_side(unit(rows), compared="distance"),
        truth=alone,
        findings=issue,
        says=(unit_rows, shifted),
        never=never,
    )
    yield Case(
        "equal rows by distance",
        one_side(np.ones((5, 2)), compared="distance"),
        truth={"right": "U"},
        findings={"EMB105": "tip", "EMB407": "tip"},
        says=("every distance is 0",),
        about_all_models=False,
    )
    for name, table in (
        ("rows", one_side(in_ball, compared="hyperbolic")),
        ("poincare", with_objective(one_side(in_ball), "poincare")),
    ):
        yield Case(
            f"{name} by hyperbolic distance",
            table,
            truth=alone,
            findings=issue,
            says=("An isometry of hyperbolic space", "Rank by hyperbolic distance"),
            never=(*never, shifted, "Euclidean"),
        )
    tiny = rows * np.where(np.arange(40) == 7, 1e-8, 1.0)[:, None]
    yield Case(
        "a row 1e-8 as long as the others",
        one_side(tiny),
        truth=alone,
        findings={"EMB205": "tip", **UNDECLARED},
        says=("1 of 40 items is much shorter than the others: item 7",),
        answer=UNKNOWN,
    )
    yield Case(
        "a row 1e-5 as long as the others",
        one_side(rows * np.where(np.arange(40) == 7, 1e-5, 1.0)[:, None]),
        truth=alone,
        findings=UNDECLARED,
        says=(),
        never=("much shorter",),
        answer=UNKNOWN,
    )
