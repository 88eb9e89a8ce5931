"""Heads that are also the input embeddings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from truth.table.case import (
    CONVENTION,
    UNDECLARED,
    Case,
    softmax_head,
)
from truth.table.rows import centred

from embaudit.model.final_norm import FinalNorm
from embaudit.model.tying import Tying

if TYPE_CHECKING:
    from collections.abc import Iterator


def cases() -> Iterator[Case]:
    """Yield tied and untied heads, and heads that may be tied.

    Subtracting the mean row (1, 1, ..., 1) from a tied head changes the inputs of the
    network, too. The numbers of a head do not show whether it is tied.
    """
    alone = {"right": "F"}
    gains_of_norm = np.array([1.0, 5.0, 0.5, 2.0, 1.0])
    shares = Tying("tied", "wte.weight", "the checkpoint holds no other head")
    off_mean = softmax_head(centred(40, 5) + 1)
    issue = {"EMB301": "issue", **UNDECLARED}
    own_table = "needs a separate table"
    separated = "(if the head gets a table separate from the input embeddings)"
    yield Case(
        "a tied head off its mean",
        off_mean.replace(tying=shares),
        truth=alone,
        findings=issue,
        says=(own_table, separated, "(the checkpoint holds no other head)"),
    )
    yield Case(
        "an untied head off its mean",
        off_mean,
        truth=alone,
        findings=issue,
        never=("separate table",),
    )
    yield Case(
        "a head that may be tied",
        off_mean.replace(tying=Tying("unknown")),
        truth=alone,
        findings=issue,
        says=(
            own_table,
            "If it is, an equivalent model",
            "does not say if the head is also",
        ),
        never=(separated, "The head is also the input embeddings"),
    )
    yield Case(
        "two different tables that a configuration ties",
        off_mean.replace(tying=Tying("contradicted", "wte.weight")),
        truth=alone,
        findings=issue,
        says=(
            "two tables that differ",
            "`--weight wte.weight --kind head` audits the input embeddings",
        ),
        never=("separate table",),
    )
    centre = softmax_head(centred(40, 5)).replace(tying=shares)
    yield Case(
        "a tied head at its mean",
        centre,
        truth=alone,
        findings=UNDECLARED,
        says=(own_table,),
        answer=CONVENTION,
    )
    yield Case(
        "a tied head whose gains decide",
        centre,
        truth=alone,
        findings={"EMB307": "issue", **UNDECLARED},
        says=(own_table, separated),
        options={"final_norm": FinalNorm("rms", gains_of_norm)},
    )
