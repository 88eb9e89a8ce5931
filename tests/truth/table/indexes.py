"""An index that compares by the measure of the training or by another one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from truth.table.case import (
    BOTH_FREE,
    NEVER_ALONE,
    UNDECLARED,
    UNKNOWN,
    Case,
    one_side,
)
from truth.table.rows import drawn, unit

from embaudit.model import FactorModel

if TYPE_CHECKING:
    from collections.abc import Iterator


def cases() -> Iterator[Case]:
    """Yield models of both kinds for each measure of an index.

    If items have equal lengths and no bias, cosine, inner product and distance give the
    same lists. Otherwise long items lead by inner product, and short items by distance.
    """
    users, items = drawn(40, 3), unit(drawn(40, 3, 1))
    lengths = np.exp(np.linspace(-2, 2, 40))[:, None]
    issue = {"EMB501": "issue"}
    names = {"cosine": "cosine", "dot": "inner product", "l2": "Euclidean distance"}
    for served, name in names.items():
        is_trained = served == "dot"
        yield Case(
            f"served by {name}: items of length 1",
            FactorModel.from_arrays(users, items, link="identity"),
            truth=BOTH_FREE,
            findings=UNDECLARED,
            says=("top 10 stays", "rank them alike"),
            never=("unlike the model", "items are shown"),
            options={"served": served},
        )
        yield Case(
            f"served by {name}: items of different lengths",
            FactorModel.from_arrays(users, items * lengths, link="identity"),
            truth=BOTH_FREE,
            findings=UNDECLARED if is_trained else UNDECLARED | issue,
            says=(f"Your index compares by {name}",),
            never=("unlike the model",) if is_trained else ("top 10 stays",),
            options={"served": served},
        )
    yield Case(
        "served by product: trained on cosines",
        FactorModel.from_arrays(users, items * lengths, link="cosine"),
        truth={"right": "P", "left": "P"},
        findings=issue,
        says=("the model was trained on cosines", "divide the item vectors by their"),
        options={"served": "dot"},
    )
    yield Case(
        "served by cosine: trained on cosines",
        FactorModel.from_arrays(users, items * lengths, link="cosine"),
        truth={"right": "P", "left": "P"},
        says=("all of each user's top 10 stays",),
        options={"served": "cosine"},
    )
    # The bias is larger than any inner product, so it alone decides the lists.
    bias = np.linspace(-90, 90, 40)
    yield Case(
        "served by product: the index lacks the bias",
        FactorModel.from_arrays(users, items, link="identity", right_bias=bias),
        truth=BOTH_FREE,
        findings=UNDECLARED | issue | {"EMB202": "tip"},
        says=("lacks the item bias", "hold the item bias"),
        never=("unlike the model",),
        options={"served": "dot"},
    )
    yield Case(
        "served by product: all items have the same bias",
        FactorModel.from_arrays(
            users, items, link="identity", right_bias=np.full(40, 3.0)
        ),
        truth=BOTH_FREE,
        findings=UNDECLARED,
        says=("all of each user's top 10 stays",),
        never=("lacks the item bias",),
        options={"served": "dot"},
    )
    for how, served in (("dot", "cosine"), ("cosine", "l2")):
        yield Case(
            f"served by {served}: rows compared by {how}",
            one_side(items * lengths, compared=how),
            truth={"right": "P"},
            findings=issue,
            says=(
                f"the model was trained on {'dot product' if how == 'dot' else how}s",
            ),
            options={"served": served},
        )
    yield Case(
        "served by distance: rows compared by distance",
        one_side(items * lengths, compared="distance"),
        truth={"right": "F"},
        findings={"EMB101": "issue"},
        says=("all of each item's top 10 stays",),
        options={"served": "l2"},
    )
    yield Case(
        "served by product: one table alone",
        one_side(items * lengths),
        truth={"right": "F"},
        findings=UNDECLARED | {"EMB501": "tip"},
        says=("not by the cosine that this audit is about", "are their own best match"),
        never=NEVER_ALONE,
        options={"served": "dot"},
        answer=UNKNOWN,
    )
    yield Case(
        "served by product: one table of rows of length 1",
        one_side(items),
        truth={"right": "F"},
        findings=UNDECLARED | {"EMB409": "tip"},
        says=("rank them alike",),
        never=("not by the cosine that this audit is about",),
        options={"served": "dot"},
        answer=UNKNOWN,
    )
