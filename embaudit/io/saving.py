"""Writing: `save` picks a format by the suffix; vectors may be computed meanwhile, and nothing is lost in silence."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from embaudit.errors import InputError, must_be
from embaudit.io.catalogue import FORMATS, Format, module_of, writer_of
from embaudit.io.codecs import open_arrays
from embaudit.io.codecs.arrays import Stream
from embaudit.io.files import AnyPath, as_path, plain_suffix
from embaudit.io.json_text import parsed
from embaudit.io.outputs import writable, written_whole
from embaudit.io.registry import load
from embaudit.io.request import Kind
from embaudit.model import FactorModel, Link, as_link, softmax_link

LABELS = (
    "left_bias", "right_bias", "left_ids", "right_ids", "left_names", "right_names", "left_counts", "right_counts",
    "left_aside", "right_aside",
)  # fmt: skip
FIELDS = ("link", "offset", "roles", "objective", "final_norm", "tying", *LABELS)
"""Fields of a model beside its factors."""
LINK = "embaudit_link"
"""Under which name the metadata of a file says how scores become predictions."""
OBJECTIVE = "embaudit_objective"
"""Under which name it says how the model was trained."""


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
        "the stored link", "one that embaudit wrote", repr(text), "save it again"
    )


def fields_in(metadata: Mapping[str, str], kind: Kind) -> dict[str, Any]:
    """Read the fields of a model that the metadata of a file name; vectors alone need no link but one of their own.

    Examples
    --------
    >>> fields_in({LINK: "cosine", "format": "pt"}, "auto")["link"].name
    'cosine'
    """
    link = link_of(metadata[LINK]) if LINK in metadata else None
    # Vectors are multiplied by nothing: a link between two sides says nothing of them.
    link = (
        None
        if kind == "vectors" and link is not None and link.compares is None
        else link
    )
    fields = {"link": link, "objective": metadata.get(OBJECTIVE)}
    return {name: value for name, value in fields.items() if value is not None}


@dataclass(frozen=True, eq=False)
class Draft:
    """The fields of a model, its factors as streams of rows.

    Examples
    --------
    >>> Draft.of(FactorModel.from_vectors([[1.0]], ids=["a"])).tokens
    array(['a'], dtype='<U1')
    """

    streams: Mapping[str, Stream]
    """ "right", and "left" where there is one."""
    fields: Mapping[str, Any]
    """Values of those `FIELDS` that the model has."""

    @classmethod
    def of(cls, model: FactorModel) -> Draft:
        """Take a model whose factors are at hand."""
        factors = {name: getattr(model, name) for name in ("left", "right")}
        streams = {name: Stream.of(x) for name, x in factors.items() if x is not None}
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
        objective = self.fields.get("objective")
        link = {} if self.link.name == "identity" else {LINK: text_of(self.link)}
        return link if objective is None else {**link, OBJECTIVE: objective}

    @property
    def roles(self) -> tuple[str, str]:
        """Nouns for the rows of both sides."""
        roles: tuple[str, str] = self.fields["roles"]
        return roles

    @property
    def tokens_are(self) -> str:
        """Field that names the rows where a format has one name a row: titles stand in for ids if each is unique."""
        names = self.fields.get("right_names")
        stand_in = (
            self.fields.get("right_ids") is None
            and names is not None
            and len(np.unique(names)) == len(names)
        )
        return "right_names" if stand_in else "right_ids"

    @property
    def tokens(self) -> NDArray[Any]:
        """One name a row: the number of the row where there is no other."""
        tokens = self.fields.get(self.tokens_are)
        return np.arange(self.right.shape[0]) if tokens is None else tokens

    def losses(self, room: frozenset[str]) -> dict[str, str]:
        """Describe the fields that would be lost in a format that has room for the right factors and `room`."""
        (user, item), comparison = self.roles, self.link.comparison_words
        stored = {
            name
            for name in (*LABELS, "final_norm")
            if self.fields.get(name) is not None
        } | set(self.streams)
        words = {
            "left": f"{user} factors",
            "right_bias": f"the {item} bias",
            "right_ids": "ids",
            "right_names": "titles",
            "right_counts": "counts",
            "link": f"the comparison of rows by {comparison}"
            if comparison
            else f"the {self.link.name} link",
            "final_norm": "the final norm",
        }
        if LINK in self.metadata:
            stored.add("link")
        return {name: text for name, text in words.items() if name in stored - room}


def save(model: FactorModel | Draft, path: AnyPath, *, force: bool = False) -> None:
    """Write a model in the format its suffix names; `.npz` holds all of it, the others vectors (and ids) only.

    Parameters
    ----------
    model : FactorModel or Draft
        What to write; the rows of a draft may be computed while they are written.
    path : path
        The file; it appears only when it is complete.
    force : bool
        Whether an existing file may be replaced.

    Raises
    ------
    InputError
        If the suffix names no format that can be written, the file exists, or the
        format cannot hold the model.
    """
    if not isinstance(model, FactorModel | Draft):
        raise must_be(
            "the model",
            "a FactorModel",
            type(model).__name__,
            "make one of an object with from_object",
        )
    path = as_path(path, "the output")
    draft = Draft.of(model) if isinstance(model, FactorModel) else model
    entry, suffix = writer_of(path), plain_suffix(path)
    # Two sides have one format; of other losses, the formats that have room for the
    # whole draft are named.
    losses = draft.losses(room_in(entry, draft))
    if "left" in losses:
        got, remedy = (
            " and ".join(draft.roles),
            "save it as .npz, or keep one side only",
        )
        raise must_be(
            f"a model saved as {suffix}", "one side only", f"{got} factors", remedy
        )
    if losses:
        usable = [x for x in FORMATS if x.writes and x.is_usable]
        roomy = [x.suffixes[0] for x in usable if not draft.losses(room_in(x, draft))]
        needed = f"a file that can record {next(iter(losses.values()))}"
        raise must_be(
            "the output", needed, f"a {suffix} file", f"write {' or '.join(roomy)}"
        )
    with written_whole(path, force=force) as file:
        getattr(module_of(entry), entry.writer)(file, draft)


def room_in(entry: Format, draft: Draft) -> frozenset[str]:
    """Return the fields of a model that a format can hold beside its right factors."""
    fields: frozenset[str] = module_of(entry).keeps(draft) - entry.loses
    return fields


def stored_side(path: Path, side: str) -> Callable[[slice], NDArray[Any]]:
    """Return a reader of consecutive rows of a side of a file that `save` wrote; those of plain arrays stay there."""
    if plain_suffix(path) in (".npz", ".npy", ".safetensors"):
        arrays = open_arrays(path)
        return arrays.place(
            side if side in arrays.tensors else next(iter(arrays.tensors))
        ).rows
    return load(path, kind="vectors").right.__getitem__


def require_output(
    path: AnyPath, *, sides: Literal[1, 2] = 1, force: bool = False
) -> None:
    """Refuse an output that `save` could not write, before the work that leads to it.

    Parameters
    ----------
    path : path
        The file to write.
    sides : {1, 2}
        How many sides the model will have; only `.npz` holds two.
    force : bool
        Whether an existing file may be replaced.

    Raises
    ------
    InputError
        If the suffix names no format that can be written or holds that many sides, or
        the file exists and `force` is not set.

    Examples
    --------
    >>> require_output("vectors.npy")
    >>> require_output("model.npy", sides=2)
    Traceback (most recent call last):
        ...
    embaudit.errors.InputError: the output must be a file that ends in .npz, which holds both sides; got model.npy.
    """
    entry = writer_of(path)
    module_of(entry)
    if sides == 2 and entry.module != "native":
        raise must_be(
            "the output",
            f"a file that ends in {FORMATS[0].suffixes[0]}, which holds both sides",
            path,
        )
    writable(path, force=force)
