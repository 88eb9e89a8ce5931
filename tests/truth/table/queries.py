"""Queries that find all items equally often, and queries that do not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from truth.table.case import (
    Case,
    one_side,
)
from truth.table.rows import drawn, orthonormal

if TYPE_CHECKING:
    from collections.abc import Iterator


def cases() -> Iterator[Case]:
    """Yield queries that find all items, queries that miss items, and far queries.

    Queries on a circle find all items on the circle equally often by cosine.
    """
    angles = np.linspace(0, 2 * np.pi, 300, endpoint=False)
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    turns = np.random.default_rng(0).uniform(0, 2 * np.pi, 1_500)
    around = np.column_stack([np.cos(turns), np.sin(turns)])
    yield Case(
        "queries find all items alike",
        one_side(circle, compared="cosine"),
        truth={"right": "P"},
        findings={},
        says=("Each of 300 items is in the top 10 of some query",),
        never=("nobody finds", "far from all", "fill"),
        options={"queries": around},
    )
    yield Case(
        "too few queries to miss an item",
        one_side(circle, compared="cosine"),
        truth={"right": "P"},
        findings={},
        says=("too few queries to say which items nobody finds",),
        never=("no query finds", "fill"),
        options={"queries": around[:40]},
    )
    # A longer item in nearly the same direction has a larger inner product.
    short = np.where(np.arange(300) % 10 == 0, 0.1, 1.0)[:, None]
    yield Case(
        "queries miss short items by product",
        one_side(circle * short, compared="dot"),
        truth={"right": "P"},
        findings={"EMB503": "tip"},
        says=(
            "no query finds 10 % of the items",
            "proven",
            "compare with `--served cosine`",
        ),
        never=("far from all",),
        options={"queries": around},
    )
    yield Case(
        "queries find short items by cosine",
        one_side(circle * short, compared="cosine"),
        truth={"right": "P"},
        says=("Each of 300 items is in the top 10 of some query",),
        never=("no query finds",),
        options={"queries": around},
    )
    long = np.ones((300, 1))
    long[[7, 107, 207]] = 50.0
    yield Case(
        "long items fill the lists of queries by product",
        one_side(circle * long, compared="dot"),
        truth={"right": "P"},
        findings={"EMB502": "tip"},
        says=("3 items of 300 fill", "long vectors are hubs"),
        options={"queries": around[:60]},
    )
    subjects = drawn(12, 16)
    items = np.repeat(subjects, 20, axis=0) + 0.5 * drawn(240, 16, 1)
    asked = np.repeat(subjects, 25, axis=0) + 0.5 * drawn(300, 16, 2)
    yield Case(
        "queries about the subjects of items",
        one_side(items, compared="cosine"),
        truth={"right": "P"},
        never=("far from all items: ", "do not fit"),
        options={"queries": asked},
    )
    others = asked.copy()
    others[::30] = 3 * drawn(10, 16, 3) - items.mean(axis=0)
    yield Case(
        "some queries are far from all items",
        one_side(items, compared="cosine"),
        truth={"right": "P"},
        findings={"EMB504": "tip"},
        says=("of the queries are far from all items",),
        never=("do not fit",),
        options={"queries": others},
    )
    yield Case(
        "queries of another model",
        one_side(items, compared="cosine"),
        truth={"right": "P"},
        findings={"EMB503": "tip", "EMB504": "tip"},
        says=("the queries do not fit these items",),
        options={"queries": asked @ orthonormal(16, 16, 4)},
    )
