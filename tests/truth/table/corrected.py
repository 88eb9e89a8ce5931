"""Models that earlier audits judged wrongly."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from truth.table.case import (
    BOTH_FREE,
    CHECK,
    CONVENTION,
    NO,
    UNDECLARED,
    YES,
    Case,
    one_side,
    softmax_head,
    two_sides,
)
from truth.table.rows import centred, drawn, orthonormal, unit

from embaudit.model import FactorModel

if TYPE_CHECKING:
    from collections.abc import Iterator


def cases() -> Iterator[Case]:
    """Yield the models by the subject of the wrong judgement."""
    yield from _signs_on_a_line()
    yield from _unit_rows()
    yield from _bounds()
    yield from _penalties()
    yield from _heads()


def _signs_on_a_line() -> Iterator[Case]:
    """In one dimension a cosine is a sign, which only a shift can turn."""
    p, q = drawn(9, 2), drawn(8, 2, 1)
    line = two_sides(p[:, :1], q[:, :1])
    turned = ("can make two items opposite",)
    signs = {"right": "F", "left": "P"}
    yield Case(
        "a user bias on a line",
        line.replace(left_bias=np.zeros(9)),
        truth=signs,
        findings=UNDECLARED,
        says=turned,
        answer=CONVENTION,
    )
    yield Case(
        "rankings on a line",
        line.replace(link="ranking"),
        truth={"right": "F", "left": "U"},
        findings=UNDECLARED,
        says=turned,
        about_all_models=False,
        answer=CONVENTION,
    )
    biased = line.replace(left_bias=np.zeros(9), right_bias=np.zeros(8))
    yield Case(
        "both biases on a line",
        biased,
        truth=BOTH_FREE,
        findings=UNDECLARED,
        says=turned,
        answer=CONVENTION,
    )


def _unit_rows() -> Iterator[Case]:
    """Whether the lengths of unit rows fix their cosines."""
    wide = two_sides(drawn(30, 16), drawn(30, 16, 1), link="cosine")
    yield Case(
        "thirty unit rows in 16 dimensions",
        wide,
        truth={"right": "U", "left": "U"},
        findings={"EMB105": "tip"},
        says=("Too few rows: 60 conditions for 136 unknowns",),
    )
    spread = np.r_[np.ones(3), np.full(9, 1e-5)]
    sides = drawn(60, 12) * spread, drawn(50, 12, 1) * spread
    even = two_sides(*map(unit, sides), link="cosine")
    says = ("rows use 3 of 12 dimensions",)
    yield Case(
        "collapsed towers, spread evenly",
        even,
        truth={"right": "P", "left": "P"},
        findings={"EMB413": "tip"},
        says=(*says, "no other model has their predictions"),
    )
    # Rows that share a direction have equivalent models with more in other dimensions.
    leaning = two_sides(*(unit(x + 4 * np.eye(12)[0]) for x in sides), link="cosine")
    yield Case(
        "collapsed towers, on one side",
        leaning,
        truth={"right": "U", "left": "U"},
        findings={"EMB105": "tip", "EMB413": "tip", "EMB403": "tip"},
        says=(
            *says,
            "where rows of an equivalent model may hold more",
            "No method here decides it.",
        ),
        never=("more items",),
    )
    axes = softmax_head(np.vstack([np.eye(3), -np.eye(3)]))
    says = (
        "A change of axes has 9 numbers, and the rows fix 6 of them",
        "0.8 at most",
        "Subtracting the mean row changes no probability here",
    )
    never = (
        "only rotations",
        "part of what the model predicts",
        "that is another head",
    )
    free = {"right": "F"}
    yield Case(
        "unit labels along six half-axes",
        axes,
        truth=free,
        findings={"EMB101": "issue"},
        says=says,
        never=never,
        options={"normalised": True},
    )
    sixty = softmax_head(drawn(60, 16))
    yield Case(
        "sixty unit labels in 16 dimensions",
        sixty,
        truth=free,
        findings={"EMB101": "issue"},
        never=never[:2],
        options={"normalised": True},
    )


def _bounds() -> Iterator[Case]:
    """The set of gauges that bounds and advice speak of."""
    p, q = drawn(9, 2), drawn(8, 2, 1)
    bounded = two_sides(p, q, user_bias=np.zeros(9))
    yield Case(
        "bounds next to a free bias",
        bounded,
        truth=BOTH_FREE,
        n_starts=1,
        findings=UNDECLARED,
        says=("affine gauges within κ = 2 and a shift of",),
    )
    blind = two_sides(p * [1, 0], q)
    yield Case(
        "bounds of deficient factors",
        blind,
        truth=BOTH_FREE,
        n_starts=1,
        findings={"EMB203": "issue", **UNDECLARED},
        says=("more than 1 of 2",),
    )
    yield Case(
        "bounds of rankings",
        two_sides(p, q, link="ranking"),
        truth=BOTH_FREE,
        n_starts=1,
        findings=UNDECLARED,
        says=("its rankings do not",),
        never=("every equivalent",),
        about_all_models=False,
    )
    constant = two_sides(
        np.column_stack([p, np.full(9, 3.0)]), drawn(8, 3, 1), item_bias=np.zeros(8)
    )
    says = (
        "Make this component part of the item bias: add 3 times the component of the "
        "items",
    )
    yield Case(
        "a direction that a bias could absorb",
        constant,
        truth=BOTH_FREE,
        findings={"EMB204": "tip", **UNDECLARED},
        says=says,
    )
    square = two_sides(np.eye(4), np.eye(4), link="identity")
    says = ("A linear change of the axes",)
    yield Case(
        "axis-aligned rows, diagonal gauges",
        square,
        truth=BOTH_FREE,
        findings=UNDECLARED,
        says=says,
        options={"groups": ["diagonal"]},
        answer=CONVENTION,
    )
    yield Case(
        "a tiny budget",
        two_sides(p, q),
        truth=BOTH_FREE,
        findings=UNDECLARED,
        says=says,
        options={"max_condition": 1.0000005},
    )


def _penalties() -> Iterator[Case]:
    """Factors at the minimum of a penalty, and factors that are rescaled from there."""
    chosen = {"EMB103": "tip"}
    near_minimum = {**chosen, "EMB104": "tip"}
    far_from_minimum = {**chosen, "EMB104": "issue"}
    user_counts, item_counts = np.arange(1, 10), np.arange(2, 10)
    counts = {"left_counts": user_counts, "right_counts": item_counts}
    minimum = two_sides(
        orthonormal(9, 2) / np.sqrt(user_counts)[:, None],
        orthonormal(8, 2, 1) / np.sqrt(item_counts)[:, None],
        objective="factors-counted",
    )
    yield Case(
        "counted decay at its minimum",
        minimum.replace(**counts),
        truth=BOTH_FREE,
        findings=chosen,
        answer=CONVENTION,
    )
    stretch = np.array([1, 1.5])
    rescaled = minimum.replace(
        left=minimum.left * stretch, right=minimum.right / stretch
    )
    yield Case(
        "counted decay, rescaled",
        rescaled.replace(**counts),
        truth=BOTH_FREE,
        findings=near_minimum,
        says=("by its interactions",),
        answer=CONVENTION,
    )
    yield Case(
        "counted decay, rescaled, counts not loaded",
        rescaled,
        truth=BOTH_FREE,
        findings=chosen,
        never=("would leave them", "would leave other factors"),
        answer=CONVENTION,
    )
    yield Case(
        "counted factors declared as plain, with equal lists and cosines",
        _counted(),
        truth=BOTH_FREE,
        findings={**chosen, "EMB401": "issue"},
        answer=CONVENTION,
    )
    stopped = (
        "The penalty was too weak to undo the random start, training stopped early"
    )
    balanced = two_sides(orthonormal(90, 4), orthonormal(80, 4, 1), objective="factors")
    for power, findings, says, never, answer in (
        (1.03, chosen, (), (stopped,), CONVENTION),
        (1.1, near_minimum, (stopped,), ("chose the cosines",), CONVENTION),
        (2.0, far_from_minimum, (), (stopped, "chose the cosines"), NO),
    ):
        axes = power ** np.array([0, 1, 2, 3])
        yield Case(
            f"axes stretched by {power} against the penalty",
            balanced.replace(left=balanced.left * axes, right=balanced.right / axes),
            truth=BOTH_FREE,
            findings=findings,
            says=says,
            never=never,
            answer=answer,
        )
    for stretch, findings in ((1.09, chosen), (1.5, near_minimum)):
        axes = np.array([1, stretch])
        yield Case(
            f"axes stretched by {stretch} against balance",
            two_sides(
                orthonormal(9, 2) * axes,
                orthonormal(8, 2, 1) / axes,
                objective="factors",
            ),
            truth=BOTH_FREE,
            findings=findings,
            answer=CONVENTION,
        )


def _counted() -> FactorModel:
    """Return factors at the minimum of counted decay: κ = 16^¼ from plain balance.

    Users have 1 or 16 interactions and items have 4. The Gram matrices of both sides,
    weighted by the interactions, are equal.
    """
    axes = np.array([[1.0, 0], [0, 1.0], [-1.0, 0], [0, -1.0]] * 2) / 2
    users = axes / np.where(axes[:, :1] != 0, 1, 4)
    return two_sides(users, axes / 2, objective="factors")


def _heads() -> Iterator[Case]:
    """Heads with and without inputs, and prediction vectors."""
    chosen = {"EMB103": "tip"}
    free = {"right": "F"}
    yield Case(
        "inputs without a constant",
        softmax_head(centred(8, 2), objective="logistic"),
        truth=free,
        findings=chosen,
        says=("a constant",),
        answer=CONVENTION,
    )
    edge = np.array([[1.0, 0], [-0.5, 0.8], [-0.5, -0.8], [-0.5, 1e-9]]) - [-0.125, 0]
    says = ("more than 1e-06 of the spread",)
    yield Case(
        "a label at the edge of the hull",
        softmax_head(edge),
        truth=free,
        findings={"EMB304": "tip", **UNDECLARED},
        says=says,
        options={"hull": True},
        answer=CONVENTION,
    )
    yield Case(
        "a label at the edge of the hull, not requested",
        softmax_head(edge),
        truth=free,
        findings=UNDECLARED,
        never=says,
        answer=CONVENTION,
    )
    few = softmax_head(centred(4, 6), embeddings=drawn(20, 6, 1))
    # Four centred labels span three dimensions of six.
    says = (
        "4 labels cannot span",
        "The numbers of inputs in the other dimensions are arbitrary",
    )
    yield Case(
        "fewer labels than learned features",
        few.replace(objective="softmax-decay"),
        truth=BOTH_FREE,
        findings={**chosen, "EMB203": "issue"},
        says=says,
        answer=CONVENTION,
    )
    # Inputs that training did not learn are data, so no number in them is arbitrary.
    data = "Training did not learn these inputs: they are data"
    given = few.replace(objective="logistic")
    yield Case(
        "fewer labels than given features",
        given,
        truth=BOTH_FREE,
        findings=chosen,
        says=(data,),
        never=says,
        answer=CONVENTION,
    )
    yield Case(
        "cosines of given features",
        given,
        truth=BOTH_FREE,
        findings=chosen,
        says=(data,),
        never=says,
        options={"role": "left"},
        answer=CHECK,
    )
    yield Case(
        "prediction vectors",
        one_side(drawn(8, 2, 1)).replace(objective="prediction"),
        truth={"right": "P"},
        says=("cosines of those predictions",),
        answer=YES,
    )
    yield Case(
        "number of equivalent heads",
        softmax_head(centred(8, 2)),
        truth=free,
        findings=UNDECLARED,
        says=("9 equivalent models kept",),
        answer=CONVENTION,
    )
