"""Agreement of the sides, the link and the training of a model, and the link where none is declared."""

from __future__ import annotations

from typing import Any

from embaudit.errors import InputError, must_be
from embaudit.model.links import Identity, Link
from embaudit.model.side import Side
from embaudit.model.trainings import known_training, link_of_training


def require_nothing_of(title: str, fields: dict[str, Any]) -> None:
    """Refuse what belongs to rows that are not at hand."""
    for field, value in fields.items():
        if value is not None:
            raise must_be(f"{title} {field}", f"given beside {title} factors", f"no {title} factors", "leave it out")


def require_sides(link: Link, left: Side | None, right: Side, offset: float) -> None:
    """Refuse sides of different ranks, and what rows that are compared with each other have no place for."""
    if left is not None and left.shape[1] != right.shape[1]:
        raise InputError(
            f"{left.title} and {right.title} factors must have the same number of columns; got {left.shape[1]} and "
            f"{right.shape[1]}; a bias column kept on one side only has to be passed as a bias."
        )
    if link.compares is None:
        return
    extras = {"another side": left is not None, "a bias": "bias" in right.given, "an offset": bool(offset)}
    for got in (name for name, is_given in extras.items() if is_given):
        raise must_be(f"a model compared by {link.compares}", "one table of rows alone", got, "leave one of them out")


def assumed_link(objective: str | None, left: Side | None, right: Side) -> Link:
    """Return the link where none is declared: that of the training, else a dot product, else none that is known."""
    if known_training(objective) is None and left is not None and left.is_unit and right.is_unit:
        return Link.of("unknown")
    return link_of_training(objective, Identity(is_assumed=True), alone=left is None)
