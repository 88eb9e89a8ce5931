"""Heads over given inputs, and rankings, as libraries train them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from truth.table.case import (
    BOTH_FREE,
    CONVENTION,
    NO,
    UNDECLARED,
    Case,
    softmax_head,
    two_sides,
)
from truth.table.rows import centred, drawn

if TYPE_CHECKING:
    from collections.abc import Iterator


def cases() -> Iterator[Case]:
    """Yield heads without a penalty, one sigmoid per label, and rankings."""
    axes = np.vstack([np.eye(2), -np.eye(2)])
    # A gauge near the identity, so that cosines are nearly those of the predictions.
    shear = np.array([[1.0, 0.02], [0.0, 1.0]])
    chosen, issue = {"EMB103": "tip"}, {"EMB101": "issue"}
    # The score of an input on an axis leads by 20, so each probability is 1 but for
    # about e⁻²⁰. A loss without a penalty has no minimum there, whatever the labels of
    # the inputs are. An input with two equal scores allows labels with a minimum.
    for name, inputs, found, answer, says in (
        ("sure of every input", 20 * axes, issue, NO, "at no minimum over them"),
        (
            "one input between two labels",
            np.vstack([20 * axes, [[3, 3]]]),
            chosen,
            CONVENTION,
            "rescaling the features changes these cosines",
        ),
    ):
        for link in ("softmax", "sigmoid"):
            inputs_seen = inputs
            if link == "sigmoid":
                # A sigmoid head needs inputs that are orthogonal to no label.
                inputs_seen = inputs @ [[1, 0.5], [-0.5, 1]]
            if link == "sigmoid" and found is chosen:
                inputs_seen = np.vstack([inputs_seen, 1e-9 * np.ones((1, 2))])
                found = chosen | {"EMB205": "tip"}
            yield Case(
                f"without a penalty, {link}, {name}",
                softmax_head(
                    axes @ shear,
                    embeddings=inputs_seen @ np.linalg.inv(shear).T,
                    objective="sklearn-logistic-no-penalty",
                    link=link,
                ),
                truth=BOTH_FREE,
                findings=found,
                says=(says,),
                answer=answer,
            )
    for word in ("sgd-classifier", "sklearn-logistic-l1"):
        yield Case(
            f"one sigmoid per label, {word}",
            softmax_head(centred(8, 2), link="sigmoid", objective=word),
            truth={"right": "F"},
            findings=chosen,
            says=("rescaling the features changes these cosines",),
            answer=CONVENTION,
        )
    ranked = two_sides(
        drawn(30, 4),
        drawn(40, 4, 1) * [1, 2, 4, 8],
        item_bias=np.linspace(-1, 1, 40),
        link="ranking",
    )
    for word in (None, "bpr"):
        yield Case(
            f"rankings, {word or 'training not known'}",
            ranked.replace(objective=word),
            truth=BOTH_FREE,
            findings={"EMB202": "tip", **UNDECLARED},
            never=("chose the cosines",),
            about_all_models=False,
        )
