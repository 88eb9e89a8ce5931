"""Every training that users can declare."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from truth.table.case import (
    BOTH_FREE,
    CHECK,
    CONVENTION,
    NO,
    UNKNOWN,
    Case,
    one_side,
    softmax_head,
    two_sides,
)
from truth.table.rows import centred, drawn, orthonormal

if TYPE_CHECKING:
    from collections.abc import Iterator


def cases() -> Iterator[Case]:
    """Yield recommenders, single tables, heads and towers for every training."""
    p, q = orthonormal(9, 2), orthonormal(8, 2, 1)
    issue, chosen = {"EMB101": "issue"}, {"EMB103": "tip"}
    unknown = {"EMB102": "tip"}
    for link in ("identity", "ranking"):
        made = two_sides(p, q, link=link, objective="product")
        yield Case(
            f"product, {link}",
            made,
            truth=BOTH_FREE,
            findings=issue,
            says=("every rescaling",),
            about_all_models=link == "identity",
            answer=CONVENTION if link == "identity" else NO,
        )
    for link in ("identity", "sigmoid", "ranking"):
        options = {"about_all_models": link != "ranking"}
        made = two_sides(p, q, link=link)
        for name, found, says in (
            ("none", issue, "the objective sees the scores only"),
            ("factors", chosen, "given the predictions, but chosen by the regulariser"),
            ("factors-counted", chosen, "pinned by the penalty given the predictions"),
            ("decoupled-decay", unknown, "no law is known"),
        ):
            answer = CONVENTION
            if link == "ranking" and found is not chosen:
                # Cosines of the centred scores differ from the stored cosines, and no
                # penalty chose the stored cosines.
                answer = NO
            yield Case(
                f"{name}, {link}",
                made.replace(objective=name),
                truth=BOTH_FREE,
                findings=found,
                says=(says,),
                answer=answer,
                **options,
            )
    # A declaration that contradicts the statement of the model decides the answer, even
    # if the statement is more favourable. Two words for the same law do not contradict.
    for stated, declared, found in (
        ("product", "implicit-als", chosen),
        ("factors", "product", issue),
        ("als-wr", "factors", chosen),
    ):
        yield Case(
            f"trained as {stated}, declared as {declared}",
            made.replace(objective=stated, link="identity"),
            truth=BOTH_FREE,
            findings={"EMB106": "issue", **found},
            says=(
                f"You declared the objective {declared}, but the model says {stated}",
            ),
            options={"objective": declared},
            answer=CHECK,
        )
    yield Case(
        "trained as implicit-als, declared as factors",
        made.replace(objective="implicit-als", link="identity"),
        truth=BOTH_FREE,
        findings=chosen,
        never=("Only one of them can be right",),
        options={"objective": "factors"},
        answer=CONVENTION,
    )
    stretched = made.replace(
        left=p * [1, 1.5], right=q / [1, 1.5], link="identity", objective="factors"
    )
    yield Case(
        "factors, rescaled",
        stretched,
        truth=BOTH_FREE,
        findings={**chosen, "EMB104": "tip"},
        says=("at the penalty's minimum",),
        answer=CONVENTION,
    )
    contexts = one_side(drawn(8, 2)).replace(objective="word2vec")
    says = (
        "multiplied these rows with a second set",
        "no law is known for one table alone",
    )
    yield Case(
        "word2vec, one table",
        contexts,
        truth={"right": "F"},
        findings=unknown,
        says=says,
        answer=UNKNOWN,
    )
    labels = softmax_head(centred(8, 2))
    says = ("no law is known",)
    yield Case(
        "a last layer with decay, near its mean row",
        labels.replace(objective="last-layer-l2"),
        truth={"right": "F"},
        findings=unknown,
        says=says,
        answer=CONVENTION,
    )
    yield Case(
        "a last layer with decay, off its mean row",
        softmax_head(centred(8, 2) + 2, objective="last-layer-l2"),
        truth={"right": "F"},
        findings={"EMB301": "issue", **unknown},
        says=says,
    )
    for name, found, says in (
        ("softmax", issue, "neither the origin nor the axes"),
        (
            "softmax-decay",
            chosen,
            "given the predictions, but chosen by the regulariser",
        ),
        ("logistic", chosen, "if the inputs, with a constant, span every direction"),
        ("logistic-decay", chosen, "unique given the predictions for these inputs"),
        ("decoupled-decay", unknown, "no law is known"),
    ):
        answer = NO if name == "softmax" else CONVENTION
        yield Case(
            f"{name}, softmax",
            labels.replace(objective=name),
            truth={"right": "F"},
            findings=found,
            says=(says,),
            answer=answer,
        )
    made = softmax_head(centred(8, 2) + 1, objective="logistic-decay")
    against = {**chosen, "EMB306": "tip"}
    yield Case(
        "a mean row against decay",
        made,
        truth={"right": "F"},
        findings={**against, "EMB301": "issue"},
        says=("which contradicts the declared training (logistic-decay",),
    )
    for share, found in ((0.005, chosen), (0.02, against)):
        made = softmax_head(centred(40, 2) + share, objective="softmax-decay")
        contradiction = (
            "of a typical row long, which contradicts the declared training "
            "(softmax-decay, as you declared): equal decay of all rows ends with a "
            "mean row of zero"
        )
        if found is against:
            phrases = {"says": (contradiction,)}
        else:
            phrases = {"never": (contradiction,)}
        yield Case(
            f"a mean row of {share} under decay",
            made,
            truth={"right": "F"},
            findings=found,
            **phrases,
            answer=CONVENTION,
        )
    made = two_sides(drawn(7, 2), drawn(6, 2, 1), link="cosine", objective="cosine")
    yield Case("cosine, cosine", made, truth={"right": "P", "left": "P"})
    made = two_sides(np.eye(2, 3), drawn(6, 3, 1), link="cosine", objective="cosine")
    yield Case(
        "cosine, a direction that no user has",
        made,
        truth={"right": "F"},
        findings=issue,
        says=("reach into 1 direction no user has",),
    )
