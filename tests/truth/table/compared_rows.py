"""One table whose rows were compared with each other, and unit rows."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from truth.table.case import (
    BOTH_FREE,
    CHECK,
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
    """Yield compared rows of one space and of two, unit rows, and wide tables."""
    yield from _compared_rows()
    yield from _undetermined_products()
    yield from _spaces()
    yield from _undeclared_unit_rows()
    yield from _unused_columns()
    yield from _few_rows()


def _compared_rows() -> Iterator[Case]:
    """Rows compared by dot product or by cosine, in tables of all kinds."""
    never = ("Only items were loaded", "multiplied with", "probe rows")
    tables = {
        "rows in general position": (drawn(40, 4), {}),
        "rows of length 1": (unit(drawn(40, 4)), {}),
        "fewer rows than dimensions": (drawn(3, 5), {}),
        "a column of zeros": (drawn(20, 4) * [1, 1, 1, 0], {}),
        "collapsed axes": (drawn(20, 4) * [1, 1e-3, 1e-6, 1e-9], {}),
        "rows of float32": (drawn(20, 4).astype(np.float32), {}),
        "a row of zeros": (np.vstack([drawn(20, 4), np.zeros(4)]), {"EMB201": "tip"}),
        "every row twice": (np.tile(drawn(20, 4), (2, 1)), {"EMB401": "issue"}),
        "rows that share a direction": (drawn(60, 8) + 3, {"EMB403": "tip"}),
    }
    temperature = (
        "Levels (such as 0.80) are fixed only if no temperature divided the cosines"
    )
    fixed = ("who is nearest is fixed", "never compare cosines of two models")
    for how, (name, (rows, found)) in product(("dot", "cosine"), tables.items()):
        table = one_side(rows, compared=how)
        n, k = rows.shape
        if how == "dot" and n <= k:
            # Rows of other lengths can have the same products of different rows.
            yield Case(
                f"compared by {how}: {name}",
                table,
                truth={"right": "U"},
                findings=found | {"EMB105": "tip"},
                says=("rows of other lengths can have the same products",),
                never=("who is nearest is fixed",),
                answer=UNKNOWN,
            )
        elif how == "dot":
            yield Case(
                f"compared by {how}: {name}",
                table,
                truth={"right": "P"},
                findings=found,
                says=("products of these rows", *fixed),
                never=(*never, temperature),
            )
        else:
            yield Case(
                f"compared by {how}: {name}",
                table,
                truth={"right": "P"},
                findings=found,
                says=("a convention of this model", temperature, *fixed),
                never=never,
            )


def _undetermined_products() -> Iterator[Case]:
    """Products of different rows that do not determine who is nearest."""
    # The two tables have equal products of different rows. Their rows have different
    # lengths, and the first row has different nearest rows.
    for name, squares in (("second", [3, 2, 9]), ("third", [3, 9, 2])):
        gram = np.ones((3, 3))
        np.fill_diagonal(gram, squares)
        yield Case(
            f"compared by dot: three rows, the {name} nearest to the first",
            one_side(np.linalg.cholesky(gram), compared="dot"),
            truth={"right": "U"},
            findings={"EMB105": "tip"},
            says=("more items of the same model would decide it",),
            answer=UNKNOWN,
        )
    # A softmax does not show the constant that a further column adds to all products.
    for name, rows in (
        ("", drawn(40, 4)),
        (" and a constant", np.hstack([drawn(40, 4), np.ones((40, 1))])),
    ):
        yield Case(
            f"dpr: rows{name}",
            one_side(rows, compared="dot").replace(objective="dpr"),
            truth={"right": "U"},
            findings={"EMB105": "tip", **({"EMB407": "tip"} if name else {})},
            says=("do not show a constant that is added to every product",),
            never=("who is nearest is fixed",),
            answer=UNKNOWN,
        )


def _spaces() -> Iterator[Case]:
    """Tables of one space, and tables whose second part was rotated."""
    pinned = {"right": "P"}
    spectrum = np.sqrt(1 / np.arange(1.0, 25))
    one_space = drawn(400, 24) * spectrum
    turned = np.vstack([one_space[:160], one_space[160:] @ orthonormal(24, 24)])
    # The variances of the first half decay. The variances of the second half are
    # largest in the first and last directions, so that both halves have alignment 1.
    variances = np.square(spectrum)
    excess = variances - variances.mean()
    against = -float(excess @ excess[::-1]) / float(excess @ excess)
    other = np.sqrt((against * variances + variances[::-1]) / (1 + against))
    early, late = drawn(800, 24, 1) * spectrum, drawn(800, 24, 2) * other
    yield Case(
        "one space: parts that complement each other",
        one_side(np.vstack([early, late]), compared="cosine"),
        truth=pinned,
        never=("one coordinate system",),
    )
    yield Case(
        "two spaces: rotated parts that complemented each other",
        one_side(np.vstack([early, late @ orthonormal(24, 24)]), compared="cosine"),
        truth=pinned,
        findings={"EMB411": "issue"},
        says=("do not share one coordinate system",),
        answer=CHECK,
    )
    for how in ("dot", "cosine"):
        yield Case(
            f"compared by {how}: one space",
            one_side(one_space, compared=how),
            truth=pinned,
            never=("one coordinate system",),
        )
        yield Case(
            f"compared by {how}: two spaces",
            one_side(turned, compared=how),
            truth=pinned,
            findings={"EMB411": "issue"},
            says=("do not share one coordinate system",),
            answer=CHECK,
        )


def _undeclared_unit_rows() -> Iterator[Case]:
    """Two sides of unit rows, which were trained by dot products or by cosines."""
    says = (
        "nobody said which was trained",
        "`--objective cosine`",
        "`--link identity`",
    )
    for n in (7, 40):
        made = two_sides(unit(drawn(n, 3)), unit(drawn(n - 1, 3, 1)))
        yield Case(
            f"unit rows of an unknown link, {n} users",
            made,
            truth={"right": "U"},
            findings={"EMB105": "tip"},
            says=says,
        )
        yield Case(
            f"unit rows, dot products, {n} users",
            made.replace(link="identity"),
            truth=BOTH_FREE,
            findings=UNDECLARED,
            never=says[:1],
        )
        fixed = {"right": "P", "left": "P"}
        yield Case(
            f"unit rows, cosines, {n} users",
            made.replace(link="cosine"),
            truth=fixed,
            never=says[:1],
        )
    # On a line cosines are signs. Dot products fix them, but a temperature does not.
    line = two_sides([[1.0], [-1], [1], [-1]], [[1.0], [-1], [1], [1], [-1]])
    signs = ("cosines are signs, which dot products and cosines fix",)
    yield Case(
        "unit rows of an unknown link on a line",
        line,
        truth={"right": "U", "left": "U"},
        findings={"EMB105": "tip"},
        says=(*signs, *says),
        never=("Dot products leave",),
    )
    yield Case(
        "unit rows, dot products, on a line",
        line.replace(link="identity"),
        truth=fixed,
        never=signs,
    )


def _few_rows() -> Iterator[Case]:
    """Rows that are too few, or too long, for a proof."""
    few = one_side(unit(drawn(9, 4))).replace(link="cosine")
    tip = {"EMB105": "tip"}
    yield Case(
        "nine unit rows of four columns",
        few,
        truth={"right": "U"},
        findings=tip,
        says=(
            "too few rows: 9 conditions for 10 unknowns",
            "1 more item would decide it",
        ),
        never=("tries no proof",),
        about_all_models=False,
    )
    wide = one_side(unit(drawn(9, 512))).replace(link="cosine")
    yield Case(
        "nine unit rows of 512 columns",
        wide,
        truth={"right": "U"},
        findings=tip,
        says=(
            "9 conditions for 45 unknowns",
            "if they span no more than these 9 dimensions",
        ),
        never=("tries no proof",),
        about_all_models=False,
    )
    long = one_side(unit(drawn(131, 130))).replace(link="cosine")
    yield Case(
        "unit rows of too many columns for a proof",
        long,
        truth={"right": "U"},
        findings=tip,
        says=("a change of axes has 8,515 numbers here", "tries no proof above 8,400"),
        never=("more items",),
        about_all_models=False,
    )
    thin = softmax_head(centred(60, 40))
    yield Case(
        "fewer than two labels per dimension",
        thin,
        truth={"right": "F"},
        findings={"EMB303": "tip", **UNDECLARED},
        answer=CONVENTION,
    )


def _unused_columns() -> Iterator[Case]:
    """Unit rows in two of five dimensions, and unit rows with 1e-5 in the others.

    Equivalent models of the same rank have zeros in the same dimensions. If rows have
    small numbers in a dimension, an equivalent model can have larger ones there.
    """
    rotation = orthonormal(5, 5)
    lean = np.array([4.0, 0.0])
    for size, name in ((0, "no part"), (1e-5, "a small part")):
        sides = [
            unit(np.hstack([rows + lean, size * drawn(8, 3, 9)]) @ rotation)
            for rows in (drawn(8, 2), drawn(8, 2, 1))
        ]
        towers = two_sides(*sides, link="cosine")
        labels = unit(np.hstack([drawn(8, 2), size * drawn(8, 3, 9)]) @ rotation)
        head = softmax_head(labels)
        if size == 0:
            yield Case(
                f"rotated towers with {name} in three columns",
                towers,
                truth={"right": "P", "left": "P"},
                says=("equivalent models of the same rank",),
            )
            yield Case(
                f"rotated unit labels with {name} in three columns",
                head,
                truth={"right": "P"},
                findings={},
                says=("whose labels span no more dimensions",),
                options={"normalised": True},
            )
        else:
            yield Case(
                f"rotated towers with {name} in three columns",
                towers,
                truth={"right": "U", "left": "U"},
                findings={"EMB105": "tip"},
                says=("use 2 of 5 dimensions", "No method here decides it."),
            )
            yield Case(
                f"rotated unit labels with {name} in three columns",
                head,
                truth={"right": "F"},
                findings={"EMB101": "issue"},
                options={"normalised": True},
            )
