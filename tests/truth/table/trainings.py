"""Every training that users can declare."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from truth.table.case import (
    BOTH_FREE,
    CHECK,
    CONVENTION,
    NO,
    UNDECLARED,
    UNKNOWN,
    Case,
    one_side,
    softmax_head,
    two_sides,
)
from truth.table.rows import centred, drawn, orthonormal

if TYPE_CHECKING:
    from collections.abc import Iterator

USERS, ITEMS = orthonormal(9, 2), orthonormal(8, 2, 1)
ARBITRARY = {"EMB101": "issue"}
CHOSEN = {"EMB103": "tip"}
RIGHT_FREE = {"right": "F"}


def cases() -> Iterator[Case]:
    """Yield recommenders, single tables, heads and towers for every training."""
    yield from _product_penalty()
    yield from _objectives_of_two_sides()
    yield from _statements_of_files()
    yield from _single_tables()
    yield from _objectives_of_heads()
    yield from _mean_rows_under_decay()
    yield from _cosines()


def _product_penalty() -> Iterator[Case]:
    """A penalty on the product does not fix the rescaling of the factors."""
    for link, is_about_all, answer in (
        ("identity", True, CONVENTION),
        ("ranking", False, NO),
    ):
        yield Case(
            f"product, {link}",
            two_sides(USERS, ITEMS, link=link, objective="product"),
            truth=BOTH_FREE,
            findings=ARBITRARY,
            says=("every rescaling",),
            about_all_models=is_about_all,
            answer=answer,
        )


def _objectives_of_two_sides() -> Iterator[Case]:
    """Objectives with and without a penalty on the factors.

    Cosines of the centred scores of rankings differ from the stored cosines. So the
    answer for rankings is NO unless a penalty chose the stored cosines.
    """
    unseen = "the objective sees the scores only"
    regularised = "given the predictions, but chosen by the regulariser"
    counted = "pinned by the penalty given the predictions"
    unknown = "no law is known"
    for objective, link, findings, phrase, answer in (
        ("none", "identity", ARBITRARY, unseen, CONVENTION),
        ("none", "sigmoid", ARBITRARY, unseen, CONVENTION),
        ("none", "ranking", ARBITRARY, unseen, NO),
        ("factors", "identity", CHOSEN, regularised, CONVENTION),
        ("factors", "sigmoid", CHOSEN, regularised, CONVENTION),
        ("factors", "ranking", CHOSEN, regularised, CONVENTION),
        ("factors-counted", "identity", CHOSEN, counted, CONVENTION),
        ("factors-counted", "sigmoid", CHOSEN, counted, CONVENTION),
        ("factors-counted", "ranking", CHOSEN, counted, CONVENTION),
        ("decoupled-decay", "identity", UNDECLARED, unknown, CONVENTION),
        ("decoupled-decay", "sigmoid", UNDECLARED, unknown, CONVENTION),
        ("decoupled-decay", "ranking", UNDECLARED, unknown, NO),
    ):
        yield Case(
            f"{objective}, {link}",
            two_sides(USERS, ITEMS, link=link).replace(objective=objective),
            truth=BOTH_FREE,
            findings=findings,
            says=(phrase,),
            answer=answer,
            about_all_models=link != "ranking",
        )
    axes = np.array([1, 1.5])
    yield Case(
        "factors, rescaled",
        two_sides(USERS * axes, ITEMS / axes, link="identity", objective="factors"),
        truth=BOTH_FREE,
        findings={**CHOSEN, "EMB104": "tip"},
        says=("at the penalty's minimum",),
        answer=CONVENTION,
    )


def _statements_of_files() -> Iterator[Case]:
    """Declarations of users next to the objective that the model states.

    A declaration that contradicts the statement decides the answer, even if the
    statement is more favourable. Two words for the same law do not contradict.
    """
    for stated, declared, findings in (
        ("product", "implicit-als", CHOSEN),
        ("factors", "product", ARBITRARY),
        ("als-wr", "factors", CHOSEN),
    ):
        yield Case(
            f"trained as {stated}, declared as {declared}",
            two_sides(USERS, ITEMS, link="identity", objective=stated),
            truth=BOTH_FREE,
            findings={"EMB106": "issue", **findings},
            says=(
                f"You declared the objective {declared}, but the model says {stated}",
            ),
            options={"objective": declared},
            answer=CHECK,
        )
    yield Case(
        "trained as implicit-als, declared as factors",
        two_sides(USERS, ITEMS, link="identity", objective="implicit-als"),
        truth=BOTH_FREE,
        findings=CHOSEN,
        never=("Only one of them can be right",),
        options={"objective": "factors"},
        answer=CONVENTION,
    )


def _single_tables() -> Iterator[Case]:
    """One table of a training of two tables."""
    yield Case(
        "word2vec, one table",
        one_side(drawn(8, 2)).replace(objective="word2vec"),
        truth=RIGHT_FREE,
        findings=UNDECLARED,
        says=(
            "multiplied these rows with a second set",
            "no law is known for one table alone",
        ),
        answer=UNKNOWN,
    )


def _objectives_of_heads() -> Iterator[Case]:
    """Objectives of softmax heads, whose mean row is 0 or not."""
    labels = softmax_head(centred(8, 2))
    yield Case(
        "a last layer with decay, near its mean row",
        labels.replace(objective="last-layer-l2"),
        truth=RIGHT_FREE,
        findings=UNDECLARED,
        says=("no law is known",),
        answer=CONVENTION,
    )
    yield Case(
        "a last layer with decay, off its mean row",
        softmax_head(centred(8, 2) + 2, objective="last-layer-l2"),
        truth=RIGHT_FREE,
        findings={"EMB301": "issue", **UNDECLARED},
        says=("no law is known",),
    )
    regularised = "given the predictions, but chosen by the regulariser"
    spanning = "if the inputs, with a constant, span every direction"
    unique = "unique given the predictions for these inputs"
    for objective, findings, phrase, answer in (
        ("softmax", ARBITRARY, "neither the origin nor the axes", NO),
        ("softmax-decay", CHOSEN, regularised, CONVENTION),
        ("logistic", CHOSEN, spanning, CONVENTION),
        ("logistic-decay", CHOSEN, unique, CONVENTION),
        ("decoupled-decay", UNDECLARED, "no law is known", CONVENTION),
    ):
        yield Case(
            f"{objective}, softmax",
            labels.replace(objective=objective),
            truth=RIGHT_FREE,
            findings=findings,
            says=(phrase,),
            answer=answer,
        )


def _mean_rows_under_decay() -> Iterator[Case]:
    """Equal decay of all rows ends with a mean row of 0."""
    contradicted = {**CHOSEN, "EMB306": "tip"}
    yield Case(
        "a mean row against decay",
        softmax_head(centred(8, 2) + 1, objective="logistic-decay"),
        truth=RIGHT_FREE,
        findings={**contradicted, "EMB301": "issue"},
        says=("which contradicts the declared training (logistic-decay",),
    )
    contradiction = (
        "of a typical row long, which contradicts the declared training "
        "(softmax-decay, as you declared): equal decay of all rows ends with a "
        "mean row of zero"
    )
    yield Case(
        "a mean row of 0.005 under decay",
        softmax_head(centred(40, 2) + 0.005, objective="softmax-decay"),
        truth=RIGHT_FREE,
        findings=CHOSEN,
        never=(contradiction,),
        answer=CONVENTION,
    )
    yield Case(
        "a mean row of 0.02 under decay",
        softmax_head(centred(40, 2) + 0.02, objective="softmax-decay"),
        truth=RIGHT_FREE,
        findings=contradicted,
        says=(contradiction,),
        answer=CONVENTION,
    )


def _cosines() -> Iterator[Case]:
    """Towers that were trained on the cosines themselves."""
    items = drawn(6, 2, 1)
    yield Case(
        "cosine, cosine",
        two_sides(drawn(7, 2), items, link="cosine", objective="cosine"),
        truth={"right": "P", "left": "P"},
    )
    yield Case(
        "cosine, a direction that no user has",
        two_sides(np.eye(2, 3), drawn(6, 3, 1), link="cosine", objective="cosine"),
        truth=RIGHT_FREE,
        findings=ARBITRARY,
        says=("reach into 1 direction no user has",),
    )
