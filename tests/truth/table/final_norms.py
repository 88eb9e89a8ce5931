"""Heads behind a final norm."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from truth.table.case import (
    CONVENTION,
    NO,
    UNDECLARED,
    Case,
    softmax_head,
)
from truth.table.rows import centred

from embaudit.model import FactorModel
from embaudit.model.final_norm import FinalNorm

if TYPE_CHECKING:
    from collections.abc import Iterator


def cases() -> Iterator[Case]:
    """Yield heads whose gains change many, few and no nearest labels."""
    alone = {"right": "F"}
    turns = {"EMB307": "issue", **UNDECLARED}
    head = softmax_head(centred(40, 5))
    gains = np.array([1.0, 5.0, 0.5, 2.0, 1.0])
    says = (
        "The gains of the final RMSNorm, which differ by a factor of up to 10, can be "
        "applied",
        "folding in the norm keeps",
    )
    options = {"final_norm": FinalNorm("rms", gains)}
    yield Case(
        "gains of an RMSNorm decide",
        head,
        truth=alone,
        findings=turns,
        says=says,
        never=("along the ones vector",),
        options=options,
        answer=NO,
    )
    says = (
        "So if any multiple of the vector of ones is added to a folded row",
        "final LayerNorm, which differ by a factor of up to 10, can be applied",
    )
    yield Case(
        "gains of a LayerNorm decide",
        head,
        truth=alone,
        findings=turns,
        says=says,
        options={"final_norm": FinalNorm("layer", gains)},
        answer=NO,
    )
    never = ("folding in the norm keeps", "along the ones vector")
    options = {"final_norm": FinalNorm("rms", 1 + 1e-6 * gains)}
    yield Case(
        "nearly equal gains",
        head,
        truth=alone,
        findings=UNDECLARED,
        says=("Then 100 % of the labels keep their nearest label",),
        never=never,
        options=options,
        answer=CONVENTION,
    )
    options = {"final_norm": FinalNorm("rms", np.full(5, 3.0))}
    yield Case(
        "equal gains",
        head,
        truth=alone,
        findings=UNDECLARED,
        never=("change no logit", *never),
        options=options,
        answer=CONVENTION,
    )
    # Two labels raise no finding, whether they are 5 % of all labels or slightly less.
    for name, n_others in {
        "gains change the nearest label of 2 of 40": 15,
        "gains change the nearest label of 2 of 42": 16,
    }.items():
        yield Case(
            name,
            _head_with_two_changes(n_others),
            truth=alone,
            findings=UNDECLARED,
            says=("Then 95 % of the labels keep their nearest label",),
            never=("folding in the norm keeps",),
            options={"final_norm": FinalNorm("rms", [1.0, 1.0, 3.0])},
            answer=CONVENTION,
        )


def _head_with_two_changes(others: int) -> FactorModel:
    """Return a head of 10 + 2 `others` labels, two of which change their nearest label.

    The first label is (1, 0, 0). Its nearest label is 0.16 radians away towards the
    last axis, and the next one is 0.2 radians away towards the second axis. Gains that
    stretch the last axis exchange the two. Each of these two labels, and each of
    `others` labels in the plane of the first two axes, has a nearest label at 0.02
    radians, which the gains do not change. The second half of the labels is the first
    half times -1.
    """
    away = [
        (1.0, np.tan(0.2), 0.0),
        (1.0, np.tan(0.22), 0.0),
        (1.0, 0.0, np.tan(0.16)),
        (1.0, 0.0, np.tan(0.18)),
    ]
    angles = (
        0.6
        + 0.3 * (np.arange(others) // 2).clip(max=(others - 2) // 2)
        + 0.02 * (np.arange(others) % 2)
    )
    angles[others // 2 * 2 :] += 0.04
    rest = np.column_stack([np.cos(angles), np.sin(angles), 0 * angles])
    rows = np.vstack([(1.0, 0.0, 0.0), *away, rest])
    return softmax_head(np.vstack([rows, -rows]))
