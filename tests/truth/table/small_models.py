"""Small models: duplicate and parallel rows, one side alone, few labels."""

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
from truth.table.rows import centred, drawn, orthonormal, unit

if TYPE_CHECKING:
    from collections.abc import Iterator


def cases() -> Iterator[Case]:
    """Yield models of duplicate or parallel rows, of one side alone, and heads."""
    yield from _users_and_items()
    yield from _vectors_alone()
    yield from _unit_vectors_alone()
    yield from _heads()


def _users_and_items() -> Iterator[Case]:
    """Two sides with duplicate, parallel and zero rows."""
    p, q = drawn(7, 2), drawn(6, 2, 1)
    says = (
        "80 % of item rows duplicate another row",
        "2 pairs, 2 groups, the largest of 2 rows",
    )
    yield Case(
        "twins",
        two_sides(p, q[[0, 0, 1, 2, 2]]),
        truth=BOTH_FREE,
        findings={"EMB401": "issue", **UNDECLARED},
        says=says,
    )
    parallel = two_sides(p, np.outer([1.0, 2, -3, 4], [1, 1]))
    yield Case(
        "parallel items",
        parallel,
        truth=BOTH_FREE,
        findings={"EMB203": "issue", **UNDECLARED},
        answer=CONVENTION,
    )
    # Items can change in a direction that no user has.
    for name, users in (("lack", np.eye(2, 3)), ("have", drawn(9, 3))):
        yield Case(
            f"cosines of items, a direction that users {name}",
            two_sides(users, drawn(6, 3, 1), link="cosine", objective="cosine"),
            truth={"right": "F"} if name == "lack" else {"right": "P", "left": "P"},
            findings={"EMB101": "issue"} if name == "lack" else {},
        )
    yield Case(
        "a row of zeros",
        two_sides(p, q * [[1], [1], [0], [1], [1], [1]]),
        truth=BOTH_FREE,
        findings={"EMB201": "tip", **UNDECLARED},
    )
    full = two_sides(drawn(7, 5), drawn(6, 5, 1))
    yield Case(
        "nearly as many dimensions as rows", full, truth=BOTH_FREE, findings=UNDECLARED
    )
    yield Case(
        "axes as cosines",
        two_sides(np.eye(2), np.eye(2), link="cosine"),
        # The cosines are pinned, but counting conditions does not prove it.
        truth={"right": "U", "left": "U"},
        findings={"EMB105": "tip"},
        says=("Too few rows: 2 conditions for 3 unknowns",),
    )


def _vectors_alone() -> Iterator[Case]:
    """One side without a declared training."""
    alone = {"right": "F"}
    q = drawn(6, 2, 1)
    line = np.outer([1.0, 2, -3, 4], [1, 1])
    yield Case(
        "parallel vectors",
        one_side(line),
        truth={"right": "U"},
        findings={"EMB105": "tip"},
        says=("vectors of rank 1", "if no bias takes part"),
        answer=UNKNOWN,
    )
    nearly = one_side(line + 1e-5 * drawn(4, 2, 1))
    yield Case(
        "nearly parallel vectors",
        nearly,
        truth=alone,
        findings=UNDECLARED,
        answer=UNKNOWN,
    )
    # About 1e-13 of the squared length of a row is orthogonal to the line.
    unsure = one_side(line + 6e-7 * drawn(4, 2, 1))
    yield Case(
        "vectors on a line but for rounding",
        unsure,
        truth={"right": "U"},
        findings={"EMB105": "tip", "EMB401": "issue"},
        says=(
            "rounding may have put it there",
            ", and numbers stored with more digits would",
        ),
        never=("no method here decides it",),
    )
    yield Case("vectors", one_side(q), truth=alone, findings=UNDECLARED, answer=UNKNOWN)
    yield Case(
        "vectors on a line",
        one_side(q[:, :1]),
        truth={"right": "U"},
        findings={"EMB105": "tip"},
        says=("if no bias takes part",),
        answer=UNKNOWN,
    )
    # If the users have a bias, a shift of these items can turn their signs.
    yield Case(
        "sigmoid vectors on a line",
        one_side(q[:, :1]).replace(link="sigmoid"),
        truth={"right": "U"},
        findings={"EMB105": "tip"},
        says=("if no bias takes part",),
        answer=UNKNOWN,
    )
    said = (
        "Every latent direction counts the same",
        "With as many directions as items, all these cosines would be 0",
        "weigh all directions alike",
    )
    turned = one_side(orthonormal(9, 3))
    yield Case(
        "orthonormal columns alone",
        turned,
        truth=alone,
        findings={"EMB410": "tip", **UNDECLARED},
        says=said,
        answer=UNKNOWN,
    )
    square = one_side(orthonormal(9, 9))
    yield Case(
        "as many directions as rows",
        square,
        truth=alone,
        findings={"EMB409": "tip", "EMB412": "issue", **UNDECLARED},
        says=("all item cosines are 0", "--transpose right"),
        never=said,
        answer=UNKNOWN,
    )


def _unit_vectors_alone() -> Iterator[Case]:
    """One side of rows that were divided by their lengths, with its declarations."""
    alone = {"right": "F"}
    yield Case(
        "cosines of the same items alone",
        one_side(drawn(6, 3, 1)).replace(link="cosine", objective="cosine"),
        truth={"right": "U"},
        findings={"EMB105": "tip"},
        says=("and the other side (`--left-file FILE`) would decide it",),
        never=("as part of what the model predicts",),
        answer=UNKNOWN,
        about_all_models=False,
    )
    single = one_side(drawn(8, 2)).replace(link="cosine")
    yield Case(
        "unit vectors alone",
        single,
        truth={"right": "U"},
        findings={"EMB105": "tip"},
        about_all_models=False,
        says=("if the other side has full rank",),
        answer=UNKNOWN,
    )
    unit_rows = one_side(unit(drawn(8, 2)))
    yield Case(
        "unit rows, nothing declared",
        unit_rows,
        truth=alone,
        findings={"EMB409": "tip", **UNDECLARED},
        says=(
            "have length 1",
            "In the first case the cosines can be fixed, "
            "if the rows span enough directions",
            "`--objective cosine`",
            "`--compared cosine`",
        ),
        never=("fixed, whatever",),
        answer=UNKNOWN,
    )
    same = ("if the other side has full rank", "The other side was not loaded")
    other = (
        "The declared training minimises",
        "have length 1",
        "is not known",
        "does not show what that fixes",
        "moves",
    )
    for name, declared in (
        ("link", {"link": "cosine"}),
        ("objective", {"objective": "cosine"}),
    ):
        yield Case(
            f"unit rows, {name} cosine",
            unit_rows.replace(**declared),
            truth={"right": "U"},
            findings={"EMB105": "tip"},
            says=same,
            never=other,
            about_all_models=False,
            answer=UNKNOWN,
        )
    few = one_side(np.eye(3)).replace(link="cosine")
    yield Case("axes alone", few, truth={"right": "U"}, findings={"EMB105": "tip"})


def _heads() -> Iterator[Case]:
    """Softmax heads without inputs."""
    alone = {"right": "F"}
    yield Case(
        "a head without inputs",
        softmax_head(centred(8, 2)),
        truth=alone,
        findings=UNDECLARED,
        answer=CONVENTION,
    )
    yield Case(
        "a head off its mean",
        softmax_head(centred(8, 2) + 2),
        truth=alone,
        findings={"EMB301": "issue", **UNDECLARED},
        says=("the origin that cosines are measured from is a convention",),
    )
    yield Case(
        "a head with a sample of labels",
        softmax_head(centred(40, 4) + 2),
        truth=alone,
        findings={"EMB301": "issue", **UNDECLARED},
        says=(
            " of 6 sampled labels keep their nearest label",
            "pairs looked at (50 of",
        ),
        never=("of the labels have another", "% of the labels", "all pairs"),
        options={"n_lists": 1},
    )
    # Subtracting the mean row changes the nearest label of each of the six directions.
    # If duplicates were not counted once, it would be the nearest label of four of 20.
    trained = [[1.0, -4.0], [-5.0, 2.0], [4.0, 5.0], [-1.0, 5.0]]
    untrained = [[5.0, 2.0]] * 8 + [[1.0, 1.0]] * 8
    yield Case(
        "a head with mostly untrained labels",
        softmax_head([*trained, *untrained]),
        truth=alone,
        findings={"EMB301": "issue", "EMB401": "issue", **UNDECLARED},
        says=("6 of 6 labels (duplicates counted once) get another nearest label",),
        never=("changes 20 %", "copies included"),
    )
    line = softmax_head([[float(x)] for x in range(-4, 5) if x])
    yield Case(
        "a head on a line",
        line,
        truth=alone,
        findings=UNDECLARED,
        says=(
            "subtracting the mean row changes little, but other shifts of all rows "
            "keep the predictions",
        ),
        never=("rescaled",),
        answer=CONVENTION,
    )
    yield Case(
        "a head of two labels",
        softmax_head([[1.0, 0.0], [0.0, 1.0]]),
        truth=alone,
        findings={"EMB301": "issue", **UNDECLARED},
    )
