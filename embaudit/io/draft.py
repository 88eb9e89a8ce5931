"""What `save` writes: the fields of a model, and the texts of some in metadata."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.errors import InputError, must_be
from embaudit.io.arrays import Stream
from embaudit.io.contents import Contents
from embaudit.io.json_text import parsed
from embaudit.io.options import Kind
from embaudit.model import ROW_FIELDS, FactorModel, Link, as_link, softmax_link

FIELDS = (
    "link",
    "offset",
    "roles",
    "objective",
    "final_norm",
    "tying",
    *ROW_FIELDS,
)
"""Fields of a model other than its factors."""
LINK = "embaudit_link"
"""Key of the metadata of a file whose text says how scores become predictions."""
OBJECTIVE = "embaudit_objective"
"""Key of the metadata whose text says how the model was trained."""
LEFT_NAME = "embaudit_left_name"
"""Key of the metadata whose text is the noun for a row of the left side."""
RIGHT_NAME = "embaudit_right_name"
"""Key of the metadata whose text is the noun for a row of the right side."""


def text_of(link: Link) -> str:
    """Write a link with its parameters.

    Examples
    --------
    >>> from embaudit.model import LINKS
    >>> text_of(LINKS["cosine"]), text_of(softmax_link(soft_cap=30.0))
    ('cosine', 'softmax {"soft_cap": 30.0}')
    """
    parameters: dict[str, Any] = {}
    if link.name == "identity" and link.is_assumed:
        parameters["is_assumed"] = True
    if link.soft_cap is not None:
        parameters["soft_cap"] = link.soft_cap
    if link.name == "softmax" and link.unit_sides:
        parameters["unit_rows"] = True
    return f"{link.name} {json.dumps(parameters)}" if parameters else link.name


def link_of(text: str) -> Link:
    """Read a link that `text_of` wrote.

    Raises
    ------
    InputError
        For anything else.
    """
    name, _, parameters = text.partition(" ")
    try:
        options = parsed(parameters or "{}")
        if name == "softmax":
            return softmax_link(**options)
        if options == {"is_assumed": True}:
            return replace(as_link(name), is_assumed=True)
        if not options:
            return as_link(name)
    except InputError:
        raise
    except (TypeError, ValueError):
        pass
    raise must_be(
        "the stored link", "a link that embaudit wrote", repr(text), "save it again"
    )


def fields_in(metadata: Mapping[str, str], kind: Kind) -> dict[str, Any]:
    """Read the link and the objective of a model from the metadata of a file.

    With kind "vectors", a link between two sides is skipped, because it says nothing of
    one side alone.

    Examples
    --------
    >>> fields_in({LINK: "cosine", "format": "pt"}, "auto")["link"].name
    'cosine'
    """
    link = link_of(metadata[LINK]) if LINK in metadata else None
    is_of_two_sides = link is not None and link.compares is None
    if kind == "vectors" and is_of_two_sides:
        link = None
    fields: dict[str, Any] = {}
    if link is not None:
        fields["link"] = link
    if OBJECTIVE in metadata:
        fields["objective"] = metadata[OBJECTIVE]
    return fields


def roles_in(metadata: Mapping[str, str], default: tuple[str, str]) -> tuple[str, str]:
    """Read the nouns for the rows of both sides from the metadata of a file.

    Examples
    --------
    >>> roles_in({RIGHT_NAME: "label"}, ("user", "item"))
    ('user', 'label')
    """
    left, right = default
    return metadata.get(LEFT_NAME, left), metadata.get(RIGHT_NAME, right)


@dataclass(frozen=True, eq=False)
class Draft:
    """The fields of a model, its factors as streams of rows.

    Examples
    --------
    >>> Draft.from_model(FactorModel.from_vectors([[1.0]], ids=["a"])).tokens
    array(['a'], dtype='<U1')
    """

    streams: Mapping[str, Stream]
    """ "right", and "left" where there is one."""
    fields: Mapping[str, Any]
    """Values of those `FIELDS` that the model has."""

    @classmethod
    def from_model(cls, model: FactorModel) -> Draft:
        """Take a model whose factors can be read."""
        factors = {name: getattr(model, name) for name in ("left", "right")}
        streams = {
            name: Stream.from_array(x) for name, x in factors.items() if x is not None
        }
        return cls(streams, {name: getattr(model, name) for name in FIELDS})

    @property
    def right(self) -> Stream:
        """The right factors."""
        return self.streams["right"]

    @property
    def link(self) -> Link:
        """How scores become predictions."""
        return as_link(self.fields.get("link", "identity"))

    @property
    def metadata(self) -> dict[str, str]:
        """Metadata of a file, by key."""
        metadata = {}
        if self.link.name != "identity":
            metadata[LINK] = text_of(self.link)
        objective = self.fields.get("objective")
        if objective is not None:
            metadata[OBJECTIVE] = objective
        if self.roles != Contents.roles:
            metadata[LEFT_NAME], metadata[RIGHT_NAME] = self.roles
        return metadata

    @property
    def roles(self) -> tuple[str, str]:
        """Nouns for the rows of both sides."""
        roles: tuple[str, str] = self.fields["roles"]
        return roles

    @property
    def tokens_are(self) -> str:
        """Field that names the rows in a format with one name per row.

        Titles stand in for ids if there are no ids and each title is unique.
        """
        names = self.fields.get("right_names")
        if self.fields.get("right_ids") is not None or names is None:
            return "right_ids"
        if len(np.unique(names)) < len(names):
            return "right_ids"
        return "right_names"

    @property
    def tokens(self) -> NDArray[Any]:
        """One name per row; the number of the row if it has no other name."""
        tokens: NDArray[Any] | None = self.fields.get(self.tokens_are)
        if tokens is None:
            return np.arange(self.right.shape[0])
        return tokens

    def losses(self, room: frozenset[str]) -> dict[str, str]:
        """Describe the fields that would be lost in a format.

        The format has room for the right factors and the fields of `room`.
        """
        user, item = self.roles
        comparison = self.link.comparison_words
        link = f"the {self.link.name} link"
        if comparison:
            link = f"the comparison of rows by {comparison}"
        stored = set(self.streams)
        for name in (*ROW_FIELDS, "final_norm"):
            if self.fields.get(name) is not None:
                stored.add(name)
        if LINK in self.metadata:
            stored.add("link")
        words = {
            "left": f"{user} factors",
            "right_bias": f"the {item} bias",
            "right_ids": "ids",
            "right_names": "titles",
            "right_counts": "counts",
            "link": link,
            "final_norm": "the final norm",
        }
        return {name: text for name, text in words.items() if name in stored - room}
