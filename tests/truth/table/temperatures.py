"""Towers of unit rows whose cosines a softmax divides by a temperature."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from truth.table.case import (
    BOTH_FREE,
    CONVENTION,
    UNKNOWN,
    Case,
    one_side,
    two_sides,
)
from truth.table.rows import drawn, unit

if TYPE_CHECKING:
    from collections.abc import Iterator


def cases() -> Iterator[Case]:
    """Yield towers with a learned and with a fixed temperature."""
    shared = 0.4
    p, q = unit(drawn(60, 4)), unit(drawn(50, 4, 1))
    private = unit(drawn(50, 3, 2))
    # The two models have the same probabilities. In the second model, items have 0.4 of
    # their squared length in the directions of users, so cosines between the sides and
    # the temperature are √0.4 times as large.
    wide = np.hstack([p, np.zeros((60, 3))])
    towers = {
        "": (p, q),
        ", items with directions of their own": (
            wide,
            np.hstack([np.sqrt(shared) * q, np.sqrt(1 - shared) * private]),
        ),
    }
    convention = (
        "they fix the order of the items for each user, but neither the level of "
        "those cosines nor item-item cosines",
    )
    exact = ("part of what the model predicts",)
    for name, (left, right) in towers.items():
        for word in ("clip", "siglip", "infonce", "two-tower-cosine", "temperature"):
            yield Case(
                f"{word}{name}",
                two_sides(left, right, objective=word),
                truth=BOTH_FREE,
                findings={"EMB103": "tip"},
                says=convention,
                never=exact,
                answer=CONVENTION,
            )
        yield Case(
            f"clip, one side{name}",
            one_side(right).replace(objective="clip", link="cosine"),
            truth={"right": "F"},
            findings={"EMB103": "tip"},
            says=("whatever the other side holds",),
            never=exact,
            answer=CONVENTION,
        )
    fixed = "fixed-temperature"
    yield Case(
        "fixed temperature, both sides of full rank",
        two_sides(p, q, objective=fixed),
        truth={"right": "P", "left": "P"},
        says=exact,
        never=convention,
    )
    yield Case(
        "fixed temperature, items with directions of their own",
        two_sides(*towers[", items with directions of their own"], objective=fixed),
        truth={"right": "F"},
        findings={"EMB101": "issue"},
        says=("reach into 3 directions no user has",),
        never=convention,
    )
    # For items on a circle of latitude, a linear function adds the same number to all
    # cosines of a user, and a softmax does not see this number.
    angles = np.arange(9.0)
    circle = np.stack([np.cos(angles), np.sin(angles), np.full(9, 0.5)], axis=1)
    flat = two_sides(unit(drawn(40, 3)), unit(circle), objective=fixed)
    yield Case(
        "fixed temperature, items on a circle",
        flat,
        truth={"right": "U", "left": "U"},
        findings={"EMB105": "tip", "EMB204": "tip"},
        says=("but not the numbers that a softmax adds to cosines unseen",),
        answer=UNKNOWN,
    )
    # All triangles on a circle are affine images of each other. These four inputs keep
    # their lengths under such a map; tests/canonical/test_temperature.py has one.
    third = np.array([[1, 0], [-0.5, 0.75**0.5], [-0.5, -(0.75**0.5)]])
    four = np.sqrt([0.28, 0.72]) * np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]])
    with_inputs = two_sides(four, third, objective="arcface")
    alone = one_side(third).replace(objective="arcface", link="cosine")
    for name, model, truth in (
        (
            "arcface, three labels in a plane",
            with_inputs,
            {"right": "U", "left": "U"},
        ),
        ("arcface, three labels in a plane alone", alone, {"right": "U"}),
    ):
        yield Case(
            name,
            model,
            truth=truth,
            findings={"EMB105": "tip"},
            never=exact,
            answer=UNKNOWN,
        )
    yield Case(
        "arcface, both sides of full rank",
        two_sides(p, q, objective="arcface"),
        truth={"right": "P", "left": "P"},
        says=exact,
        never=convention,
    )
    yield Case(
        "arcface, fifty labels alone",
        one_side(q).replace(objective="arcface", link="cosine"),
        truth={"right": "U"},
        findings={"EMB105": "tip"},
        about_all_models=False,
        answer=UNKNOWN,
    )
    yield Case(
        "cosines, items on a circle",
        flat.replace(objective="cosine"),
        truth={"right": "P", "left": "P"},
        findings={"EMB204": "tip"},
        says=exact,
    )
