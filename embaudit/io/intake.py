"""The fields of a model as a file holds them, and the report of what became what, was left over and was assumed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from embaudit.core.plain import plain_dict
from embaudit.core.words import counted, listed
from embaudit.errors import InputError, Parameter
from embaudit.io.remote import naming
from embaudit.model import FactorModel, Link, as_link
from embaudit.model.final_norm import FinalNorm
from embaudit.model.side import OPTIONAL, checked_field
from embaudit.model.tying import Tying

WORDS = {
    "left": "left factors", "right": "right factors", "left_bias": "left bias", "right_bias": "right bias",
    "left_ids": "left ids", "right_ids": "right ids", "left_names": "left names", "right_names": "right names",
    "left_counts": "left counts", "right_counts": "right counts",
    "left_aside": "left rows set aside", "right_aside": "right rows set aside", "offset": "offset", "link": "link",
    "objective": "objective", "final_norm": "the final norm", "tying": "tying to the input embeddings",
}  # fmt: skip
"""Words for the fields of a model."""
GIVEN = "what was given"
"""Name of a part that the caller gave."""
FEW = 2
"""How many arrays left over a line names."""
SHIFTS = ("bias", "beta")
"""Names of the shift of a norm."""
OF_VECTORS = {
    "right",
    "right_ids",
    "right_names",
    "right_counts",
    "right_aside",
    "objective",
}
"""Fields that vectors alone have."""
SHOWN = 6
"""How many arrays left over a sentence names."""


@dataclass(frozen=True)
class Part:
    """One array, column or attribute, and what it became."""

    name: str
    """Name in the source."""
    became: str
    """The field of a model; empty where it was left over, and then absent from JSON."""
    shape: tuple[int | None, ...] = ()
    """Rows first; None for what only reading it all would tell."""
    rounded: str = ""
    """The type that its numbers are rounded to, such as "Q8_0"; empty where they are
    not, and then absent.
    """

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON can hold it; None for a number that does not exist."""
        written = {"name": self.name, "shape": self.shape}
        if self.became:
            written["became"] = self.became
        if self.rounded:
            written["rounded"] = self.rounded
        return plain_dict(written)

    def __str__(self) -> str:
        if self.shape in ((), (None,)):
            return self.name
        sizes = " × ".join("?" if size is None else f"{size:,}" for size in self.shape)
        return f"{self.name} ({sizes}{f', {self.rounded}' if self.rounded else ''})"


@dataclass(frozen=True)
class Intake:
    """Report of a read: source arrays, the model field each filled, and arrays left unused.

    Examples
    --------
    >>> intake = Intake("npz", ("a.npz",), (Part("Q", "right", (7, 2)),), left_over=(Part("seed", ""),))
    >>> intake.explain()
    'Read as npz: Q (7 × 2) as right factors. Left over: seed. Item ids: none, so rows go by their number.'
    """

    format: str
    """The format, or the library of an object."""
    files: tuple[str, ...]
    """Paths of the files that were read."""
    parts: tuple[Part, ...] = ()
    """Arrays that became fields of the model."""
    left_over: tuple[Part, ...] = ()
    """Arrays that became no field."""
    assumed: tuple[str, ...] = ()
    """Assumptions that neither the source nor the caller stated."""
    titles: tuple[str, str] = ("user", "item")
    """Nouns for the rows of both sides."""
    rows_of_files: tuple[tuple[str, int], ...] = ()
    """Name and number of rows of each file, if one table was read from several files.
    """
    tying: Tying | None = None
    """Whether a head is also the input embeddings; None if it is not, and for other
    models.
    """

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON can hold it; None for a number that does not exist."""
        return plain_dict(
            {
                "format": self.format,
                "files": self.files,
                "parts": self.parts,
                "left_over": self.left_over,
                "assumed": self.assumed,
                "explanation": self.explain(),
            }
        )

    def of(self, model: FactorModel, *, declared: Iterable[str] = ()) -> Intake:
        """Add what the numbers tell: shapes that headers did not, the source of the training, an assumed link.

        Parameters
        ----------
        model : FactorModel
            The model that was read; nothing is read for its shapes that still lies in a
            file.
        declared : iterable of str
            Options that the caller gave.
        """
        declared, fields = set(declared), {mapping.became for mapping in self.parts}
        parts = tuple(
            replace(mapping, shape=_shape_in(model, mapping.became))
            if None in (mapping.shape or (None,))
            else mapping
            for mapping in self.parts
        )
        is_told = model.link.name == "unknown" or (
            (fields | declared) & {"link", "objective"} and not model.link.is_assumed
        )
        link = (
            ()
            if is_told or model.left_side is None
            else (f"the {model.link.name} link",)
        )
        intake = replace(
            self,
            parts=parts,
            assumed=(*self.assumed, *link),
            titles=model.roles,
            tying=model.tying,
        )
        if model.objective is None or (
            "objective" in fields and "objective" not in declared
        ):
            return intake
        return intake.beside(
            Part(GIVEN if "objective" in declared else self.format, "objective")
        )

    @property
    def training_source(self) -> str | None:
        """The source of the training, or of how rows are compared; None where the caller is it, or there is none."""
        parts = {mapping.became: mapping for mapping in self.parts}
        mapping = parts.get("objective", parts.get("link"))
        if mapping is None or mapping.name == GIVEN:
            return None
        if mapping.name.endswith(".json"):
            return mapping.name
        inside = (
            ""
            if mapping.name == self.format or not self.files
            else f"{mapping.name} in "
        )
        return f"{inside}{Path(self.files[0]).name if inside else self.format}"

    def beside(self, *parts: Part) -> Intake:
        """Add what came from elsewhere, in place of what the source says of it; what is added is not left over.

        Examples
        --------
        >>> left = (Part("norm.weight", "", (2,)), Part("seed", ""))
        >>> Intake("npz", ("a.npz",), (), left).beside(Part("norm.weight", "final_norm", (2,))).line()
        'read as npz: norm.weight; left over: seed'
        """
        # A field has one source: what is added replaces what the file itself says of
        # it.
        named, added = (
            {mapping.became for mapping in parts},
            {mapping.name for mapping in parts},
        )
        remaining = (mapping for mapping in self.parts if mapping.became not in named)
        rest = tuple(mapping for mapping in self.left_over if mapping.name not in added)
        return replace(self, parts=(*remaining, *parts), left_over=rest)

    def explain(self) -> str:
        """Return what was read in one short paragraph."""
        read = ", ".join(
            f"{mapping} as {WORDS.get(mapping.became, mapping.became)}"
            for mapping in self.parts
        )
        sentences = [f"Read as {self.format}{f': {read}' if read else ''}."]
        if self.left_over:
            sentences.append(
                f"Left over: {listed([*map(str, self.left_over)], SHOWN)}."
            )
        if self.assumed:
            sentences.append(f"Assumed: {', '.join(self.assumed)}.")
        if self.tying is not None:
            sentences.append(str(self.tying))
        return " ".join([*sentences, *self._ids()])

    def _ids(self) -> Iterable[str]:
        fields = {mapping.became for mapping in self.parts}
        for side, title in zip(("left", "right"), self.titles, strict=True):
            if side in fields and f"{side}_ids" not in fields:
                named = f"{side}_names" in fields
                # Tokens and classes are nothing to a reader without their names.
                give = (
                    "; a file of labels names them"
                    if title == "label" and not named
                    else ""
                )
                yield f"{title.capitalize()} ids: none, so rows go by their {'names' if named else 'number'}{give}."

    def line(self) -> str:
        """Describe the read in one line.

        Examples
        --------
        >>> Intake("npz", ("a.npz",), (Part("Q", "right", (7, 2)),), left_over=(Part("seed", ""),)).line()
        'read as npz: Q; left over: seed'
        >>> Intake("gguf", ("a.gguf",), (Part("output.weight", "right", (7, 2), "Q8_0"),)).line()
        'read as gguf: output.weight (Q8_0)'
        """
        shown = [
            mapping
            for mapping in self.parts
            if mapping.became not in ("link", "objective")
        ]
        read = ", ".join(
            f"{x.name} ({x.rounded})" if x.rounded else x.name for x in shown
        )
        few = len(self.left_over) <= FEW
        rest = (
            ", ".join(map(str, self.left_over))
            if few
            else counted(len(self.left_over), "other")
        )
        rest = f"; left over: {rest}" if self.left_over else ""
        return f"read as {self.format}{f': {read}' if read else ''}{rest}"


@dataclass(frozen=True, eq=False)
class StoredNorm:
    """A final norm and its place in a checkpoint."""

    norm: FinalNorm
    """The norm."""
    name: str
    """Name of its gains in the checkpoint."""
    because: str
    """Key of a configuration or name of a tensor that this was inferred from."""

    @property
    def parts(self) -> tuple[Part, ...]:
        """Its arrays as parts of an intake, under each name that a shift may have."""
        layer, shape = self.name.rpartition(".")[0], self.norm.gain.shape
        shifts = SHIFTS if self.norm.shift is not None else ()
        return tuple(
            Part(name, "final_norm", shape)
            for name in (self.name, *(f"{layer}.{s}" for s in shifts))
        )

    def recorded(self, intake: Intake) -> Intake:
        """Name those arrays that an intake left over as the final norm."""
        rest = {mapping.name for mapping in intake.left_over}
        return intake.beside(
            *(mapping for mapping in self.parts if mapping.name in rest)
        )

    def __str__(self) -> str:
        shift = ", with a bias" if self.norm.shift is not None else ""
        size = f"{self.norm.title}, κ = {self.norm.condition_number:.3g}{shift}"
        return f"final norm: {self.name} ({size}), by {self.because}"


@dataclass(frozen=True, eq=False)
class Reading:
    """A model and what it was made of."""

    model: FactorModel
    intake: Intake
    norm: StoredNorm | None = None
    """The final norm before a head, and what says so."""


@dataclass(frozen=True, eq=False)
class Source:
    """The place in a file that one field of a model comes from; its value is read when a model is made of it."""

    name: str
    """Name in the file; empty where a report does not list it."""
    read: Callable[[], Any]
    """Returns the value; None for what the file does not hold after all."""
    shape: tuple[int | None, ...] = ()
    rounded: str = ""
    path: str = ""
    """File or URL that an error names; empty if the name of the model's file suffices.
    """
    array: str = ""
    """Name of the array in that file; empty if the file holds nothing else."""

    @classmethod
    def of(cls, name: str, value: Any) -> Source:
        """Make a source of a value that is there already."""
        return cls(name, lambda: value)


@dataclass(frozen=True, eq=False)
class Contents:
    """The fields of a model that a file holds: names and shapes at once, values when a model is made of them.

    Examples
    --------
    >>> contents = Contents({"right": Source("Q", lambda: [[1.0], [2.0]], (2, 1))})
    >>> contents.model(), contents.intake("npz", "a.npz").line()
    (FactorModel(2 items, 1 dimension, identity link, float64, no users), 'read as npz: Q')
    """

    fields: Mapping[str, Source]
    """By field of `FactorModel`."""
    left_over: tuple[Part, ...] = ()
    assumed: tuple[str, ...] = ()
    roles: tuple[str, str] = Intake.titles
    """Nouns for the rows of the left and the right side."""
    files: tuple[str, ...] = ()
    """Files besides the one that was named."""
    norm: StoredNorm | None = None
    """The norm before a head, as a checkpoint holds it."""
    rows_of_files: Callable[[], tuple[tuple[str, int], ...]] = tuple
    """Returns the name and the number of rows of each file of one table."""

    @classmethod
    def of(cls, model: FactorModel, sources: Mapping[str, str]) -> Contents:
        """Take the fields of a model; a report lists those whose place in an object is named.

        Examples
        --------
        >>> model = FactorModel.from_user_item([[1.0]], [[2.0]], link="identity")
        >>> Contents.of(model, {"right": "qi", "link": "its class", "right_ids": "ids"}).intake("MF", None).line()
        'read as MF: qi'
        """
        # Vectors alone are scored by nothing.
        unlisted = {"offset"} if not model.offset else set()
        unlisted |= (
            {"link"}
            if model.left_side is None and model.link.name == "identity"
            else set()
        )
        values = {field: getattr(model, field) for field in WORDS}
        fields = {
            field: replace(
                Source.of("" if field in unlisted else sources.get(field, ""), value),
                shape=np.shape(value),
            )
            for field, value in values.items()
            if value is not None
        }
        return cls(fields, roles=model.roles)

    def of_kind(self, kind: str) -> Contents:
        """Restrict the fields to a kind of model; vectors are rows with ids, names and counts alone.

        Raises
        ------
        InputError
            If the file holds less than was asked for.
        """
        link = self.link
        if kind == "factors" and "left" not in self.fields:
            raise InputError(
                '{} must be "vectors" here: the file holds one side only; got "factors".',
                Parameter("kind"),
            )
        if kind == "head" and (link is None or link.name != "softmax"):
            raise InputError(
                '{} must be "factors" or "vectors" here: the file holds no softmax head; '
                'got "head".',
                Parameter("kind"),
            )
        if kind != "vectors":
            return self
        compares = link is not None and link.compares is not None
        fields = OF_VECTORS | ({"link"} if compares else set())
        return replace(
            self,
            fields={
                name: source for name, source in self.fields.items() if name in fields
            },
        )

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
        """Raise the error of the first invalid array with the names of its file and itself.

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
        return Intake(format, files, parts, self.left_over, self.assumed, self.roles)


def _shape_in(model: FactorModel, name: str) -> tuple[int, ...]:
    """Return the shape of a field; of what has none, nothing."""
    role, _, field = name.partition("_")
    side = {"left": model.left_side, "right": model.right_side}.get(role)
    if side is None or getattr(side, field or "rows") is None:
        return ()
    return (len(side),) if field else side.shape
