"""The fields of a model as a file or an object holds them.

Names and shapes are there at once. Values are read when a model is made of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from embaudit.core.checked import Indices
from embaudit.errors import InputError, Parameter
from embaudit.io.intake import WORDS, Intake, Metric, Part, StoredNorm
from embaudit.io.remote import naming
from embaudit.model import FactorModel, Link, as_link
from embaudit.model.side import OPTIONAL, checked_field

OF_VECTORS = {
    "right",
    "right_ids",
    "right_names",
    "right_counts",
    "right_aside",
    "objective",
}
"""Fields that vectors alone have."""


@dataclass(frozen=True, eq=False)
class Source:
    """The place in a file that one field of a model comes from.

    The value is read when a model is made of it.
    """

    name: str
    """Name in the file; empty if a report does not list it."""
    read: Callable[[], Any]
    """Returns the value; None if reading shows that the file has no such value."""
    shape: tuple[int | None, ...] = ()
    rounded: str = ""
    path: str = ""
    """File or URL that an error names; empty if the name of the model's file suffices.
    """
    array: str = ""
    """Name of the array in that file; empty if the file holds nothing else."""

    @classmethod
    def from_value(cls, name: str, value: Any) -> Source:
        """Make a source of a value that is there already."""
        return cls(name, lambda: value)


@dataclass(frozen=True, eq=False)
class OwnScores:
    """Scores as an object itself gives them.

    The scores of the arrays that were read of it are compared with them.
    """

    score: Callable[[Indices, Indices], Any]
    """Returns scores of pairs: left rows, equal ones side by side, and right rows."""
    method: str = "predict"
    """Name of the method that scores."""
    probes: NDArray[Any] | None = None
    """(n, k) left rows to score where the model has none, or where they choose the
    rows.
    """
    pairs: tuple[Indices, Indices] | None = None
    """Left rows and right rows of examples, where these choose the pairs."""


@dataclass(frozen=True, eq=False)
class Contents:
    """The fields of a model that a file or an object holds.

    Examples
    --------
    >>> contents = Contents({"right": Source("Q", lambda: [[1.0], [2.0]], (2, 1))})
    >>> contents.model()
    FactorModel(2 items, 1 dimension, identity link, float64, no users)
    >>> contents.intake("npz", "a.npz").line()
    'read as npz: Q'
    """

    fields: Mapping[str, Source]
    """By field of `FactorModel`."""
    left_over: tuple[Part, ...] = ()
    assumed: tuple[str, ...] = ()
    roles: tuple[str, str] = Intake.titles
    """Nouns for the rows of the left and the right side."""
    files: tuple[str, ...] = ()
    """Further files next to the named file."""
    norm: StoredNorm | None = None
    """The norm before a head, as a checkpoint holds it."""
    layout: str | None = None
    """Title of the recipe of `embaudit.io.layouts` that told which array is what; None
    if the format itself tells.
    """
    rows_of_files: Callable[[], tuple[tuple[str, int], ...]] = tuple
    """Returns the name and the number of rows of each file of one table."""
    metric: Metric | None = None
    """How a store or an index compares these vectors; None for other sources."""
    format: str = ""
    """Name of the format, or of the library of an object."""
    own: OwnScores | None = None
    """Scores of an object that can score by itself."""
    inputs: NDArray[Any] | None = None
    """(n, k) the caller's inputs as they reach the factors of an object."""

    @classmethod
    def from_model(
        cls,
        model: FactorModel,
        sources: Mapping[str, str],
        *,
        own: OwnScores | None = None,
        inputs: NDArray[Any] | None = None,
    ) -> Contents:
        """Take the fields of a model that was made of an object.

        Parameters
        ----------
        model : FactorModel
            The model.
        sources : mapping
            Places in the object, by field; the report lists the fields that have one.
        own, inputs
            As the fields of this class.

        Examples
        --------
        >>> model = FactorModel.from_user_item([[1.0]], [[2.0]], link="identity")
        >>> places = {"right": "qi", "link": "its class", "right_ids": "ids"}
        >>> Contents.from_model(model, places).intake("MF", None).line()
        'read as MF: qi'
        """
        unlisted = set()
        if not model.offset:
            unlisted.add("offset")
        if model.left_side is None and model.link.name == "identity":
            # Vectors of one side have no scores, so a report names no link.
            unlisted.add("link")
        fields = {}
        for field in WORDS:
            value = getattr(model, field)
            if value is None:
                continue
            name = "" if field in unlisted else sources.get(field, "")
            fields[field] = replace(
                Source.from_value(name, value), shape=np.shape(value)
            )
        return cls(fields, roles=model.roles, own=own, inputs=inputs)

    def of_kind(self, kind: str) -> Contents:
        """Restrict the fields to a kind of model.

        Vectors are rows with ids, names and counts alone.

        Raises
        ------
        InputError
            If the file holds less than was asked for.
        """
        link = self.link
        if kind == "factors" and "left" not in self.fields:
            raise InputError(
                '{} must be "vectors", because the file holds one side only; got '
                '"factors".',
                Parameter("kind"),
            )
        if kind == "head" and (link is None or link.name != "softmax"):
            raise InputError(
                '{} must be "factors" or "vectors", because the file holds no softmax '
                'head; got "head".',
                Parameter("kind"),
            )
        if kind != "vectors":
            return self
        names = set(OF_VECTORS)
        if link is not None and link.compares is not None:
            # This link compares the rows of one table.
            names.add("link")
        fields = {name: self.fields[name] for name in self.fields if name in names}
        return replace(self, fields=fields)

    @property
    def link(self) -> Link | None:
        """How scores become predictions; None where nothing says it."""
        link = self.fields["link"].read() if "link" in self.fields else None
        return None if link is None else as_link(link)

    def model(self) -> FactorModel:
        """Read all values and make a model of them."""
        values = {name: source.read() for name, source in self.fields.items()}
        values = {name: value for name, value in values.items() if value is not None}
        fields = {"left": None, "link": None, "roles": self.roles, **values}
        try:
            return FactorModel.from_arrays(**fields)
        except InputError:
            self._require_valid_arrays(fields)
            raise

    def _require_valid_arrays(self, fields: Mapping[str, Any]) -> None:
        """Raise the error of the first invalid array with its name and its file.

        The model refused its fields, and does not know which file they come from.
        """
        for side, title in zip(("left", "right"), fields["roles"], strict=True):
            if fields.get(side) is None:
                continue
            n_rows = 0
            for field in ("rows", *OPTIONAL):
                name = side if field == "rows" else f"{side}_{field}"
                source, values = self.fields.get(name), fields.get(name)
                if source is None or values is None:
                    continue
                called = f"{title} {'factors' if field == 'rows' else field}"
                if source.array:
                    called = f"{called} ({source.array})"
                with naming(source.path):
                    checked = checked_field(field, values, called, n_rows)
                n_rows = n_rows or len(checked)

    def intake(self, format: str, path: object) -> Intake:  # noqa: A002
        """Report which part of a file becomes which field; no values are read."""
        named = (
            (field, source) for field, source in self.fields.items() if source.name
        )
        parts = tuple(
            Part(source.name, field, source.shape, source.rounded)
            for field, source in named
        )
        files = self.files or (() if path is None else (str(path),))
        return Intake(
            format,
            files,
            parts,
            self.left_over,
            self.assumed,
            self.roles,
            metric=self.metric,
            layout=self.layout,
        )
