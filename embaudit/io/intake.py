"""Report of a read: what each array became, what was left over and what was assumed."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from embaudit.core.plain import plain_dict
from embaudit.core.words import counted, listed
from embaudit.model import FactorModel
from embaudit.model.final_norm import FinalNorm
from embaudit.model.tying import Tying

WORDS = {
    "left": "left factors",
    "right": "right factors",
    "left_bias": "left bias",
    "right_bias": "right bias",
    "left_ids": "left ids",
    "right_ids": "right ids",
    "left_names": "left names",
    "right_names": "right names",
    "left_counts": "left counts",
    "right_counts": "right counts",
    "left_aside": "left rows set aside",
    "right_aside": "right rows set aside",
    "offset": "offset",
    "link": "link",
    "objective": "objective",
    "final_norm": "the final norm",
    "tying": "tying to the input embeddings",
}
"""Words for the fields of a model."""
GIVEN = "what was given"
"""Name of a part that the caller gave."""
FEW = 2
"""How many arrays left over a line names."""
SHIFTS = ("bias", "beta")
"""Names of the shift of a norm."""
NOT_STATED = "not stated"
"""Name of the metric of a collection that does not say how it compares its vectors."""
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
        """Return the record as JSON can hold it."""
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
class Metric:
    """How a store or an index of vectors compares the rows of one collection.

    Examples
    --------
    >>> print(Metric("cosine", "the index vector_idx"))
    cosine, as the index vector_idx says
    >>> print(Metric("l2", "LanceDB's default without an index", is_default=True))
    l2, LanceDB's default without an index
    >>> print(Metric("not stated", "the table has no index"))
    not stated: the table has no index
    >>> print(Metric("cosine", "the collection", unit_rows=True))
    cosine, as the collection says; the store divided the rows by their lengths, ...
    """

    name: str
    """Cosine, dot, l2, another name that the store uses, or "not stated"."""
    source: str
    """Place in the store that says so, in words; if nothing states it, the reason."""
    is_default: bool = False
    """True if the default of the store holds, as the collection does not say it."""
    unit_rows: bool = False
    """True if the store divided the rows by their lengths, which are lost."""
    codes: str = ""
    """Rounded copies of the vectors that the index searches, such as "int8 codes of
    them"; empty if it searches the vectors themselves.
    """

    @property
    def is_stated(self) -> bool:
        """True unless the metric could not be read."""
        return self.name != NOT_STATED

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON can hold it."""
        return plain_dict(
            {
                "name": self.name,
                "source": self.source,
                "is_default": self.is_default,
                "unit_rows": self.unit_rows,
                "codes": self.codes,
            }
        )

    def __str__(self) -> str:
        if not self.is_stated:
            return f"{self.name}: {self.source}"
        if self.is_default:
            text = f"{self.name}, {self.source}"
        else:
            text = f"{self.name}, as {self.source} says"
        if self.unit_rows:
            text += "; the store divided the rows by their lengths, which are lost"
        if self.codes:
            text += f"; its index searches {self.codes}"
        return text


@dataclass(frozen=True)
class Intake:
    """Report of a read: which array became which field, and arrays left unused.

    Examples
    --------
    >>> parts = (Part("Q", "right", (7, 2)), Part("names", "right_ids", (7,)))
    >>> Intake("npz", ("a.npz",), parts, left_over=(Part("seed", ""),)).explain()
    'Read as npz: Q (7 × 2) as right factors, names (7) as right ids. Not used: seed.'
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
    metric: Metric | None = None
    """How the store or the index compares these vectors; None for other sources."""
    layout: str | None = None
    """Library or convention whose names told which array is what; None if the format
    itself tells.
    """

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON can hold it."""
        return plain_dict(
            {
                "format": self.format,
                "files": self.files,
                "parts": self.parts,
                "left_over": self.left_over,
                "assumed": self.assumed,
                "layout": self.layout,
                "metric": self.metric,
                "explanation": self.explain(),
            }
        )

    def of(self, model: FactorModel, *, declared: Iterable[str] = ()) -> Intake:
        """Add what the numbers tell.

        They tell shapes that headers did not, the source of the training, and whether
        the link is assumed.

        Parameters
        ----------
        model : FactorModel
            The model that was read; nothing is read for its shapes that still lies in a
            file.
        declared : iterable of str
            Options that the caller gave.
        """
        declared, fields = set(declared), {mapping.became for mapping in self.parts}
        parts: list[Part] = []
        left_over = list(self.left_over)
        for mapping in self.parts:
            if _is_missing(model, mapping.became):
                # Only reading the values showed that some rows have none.
                name = f"{mapping.name}, which some rows lack"
                left_over.append(replace(mapping, name=name, became=""))
            elif None in (mapping.shape or (None,)):
                shape = _shape_in(model, mapping.became)
                parts.append(replace(mapping, shape=shape))
            else:
                parts.append(mapping)
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
            parts=tuple(parts),
            left_over=tuple(left_over),
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
        """The source of the training, or of how rows are compared.

        None if the caller is the source, or if there is none.
        """
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
        """Add parts that came from elsewhere.

        They stand in place of what the source says of the same fields, and are no
        longer left over.

        Examples
        --------
        >>> left = (Part("norm.weight", "", (2,)), Part("seed", ""))
        >>> norm = Part("norm.weight", "final_norm", (2,))
        >>> Intake("npz", ("a.npz",), (), left).beside(norm).line()
        'read as npz: norm.weight; not used: seed'
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
        if self.layout:
            sentences.append(f"Layout: {self.layout}.")
        if self.left_over:
            sentences.append(f"Not used: {listed([*map(str, self.left_over)], SHOWN)}.")
        if self.assumed:
            sentences.append(f"Assumed: {', '.join(self.assumed)}.")
        if self.metric is not None:
            sentences.append(f"Metric of the index: {self.metric}.")
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
                rows = "names" if named else "number"
                noun = title.capitalize()
                yield f"{noun} ids: none, so rows go by their {rows}{give}."

    def line(self) -> str:
        """Describe the read in one line.

        Examples
        --------
        >>> parts, left_over = (Part("Q", "right", (7, 2)),), (Part("seed", ""),)
        >>> Intake("npz", ("a.npz",), parts, left_over).line()
        'read as npz: Q; not used: seed'
        >>> parts = (Part("output.weight", "right", (7, 2), "Q8_0"),)
        >>> Intake("gguf", ("a.gguf",), parts).line()
        'read as gguf: output.weight (Q8_0)'
        >>> metric = Metric("cosine", "the collection", unit_rows=True)
        >>> parts = (Part("vectors", "right", (7, 2)),)
        >>> Intake("qdrant", (), parts, metric=metric).line()
        'read as qdrant: vectors; metric cosine, original lengths lost'
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
        rest = f"; not used: {rest}" if self.left_over else ""
        metric = ""
        if self.metric is not None:
            metric = f"; metric {self.metric.name}"
            if self.metric.unit_rows:
                metric += ", original lengths lost"
        return f"read as {self.format}{f': {read}' if read else ''}{rest}{metric}"


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
        shift = " with a bias" if self.norm.shift is not None else ""
        # The condition number in words, because a reader need not know it.
        ratio = self.norm.condition_number
        if ratio == 1:
            stretch = "stretches all axes alike"
        elif math.isinf(ratio):
            stretch = "removes some axes"
        else:
            stretch = f"stretches some axes {ratio:.3g} times as much as others"
        return (
            f"final norm: {self.name} ({self.norm.title}{shift}, which {stretch}), "
            f"by {self.because}"
        )


@dataclass(frozen=True, eq=False)
class Reading:
    """A model and what it was made of."""

    model: FactorModel
    intake: Intake
    """What each array became; empty for a model that was already one."""
    norm: StoredNorm | None = None
    """The final norm before a head, and what says so."""


def _is_missing(model: FactorModel, name: str) -> bool:
    """Return whether a model has no titles or counts, although a source has some."""
    role, _, field = name.partition("_")
    if role not in ("left", "right") or field not in ("names", "counts"):
        return False
    side = {"left": model.left_side, "right": model.right_side}[role]
    return side is None or getattr(side, field) is None


def _shape_in(model: FactorModel, name: str) -> tuple[int, ...]:
    """Return the shape of a field; of what has none, nothing."""
    role, _, field = name.partition("_")
    side = {"left": model.left_side, "right": model.right_side}.get(role)
    if side is None or getattr(side, field or "rows") is None:
        return ()
    return (len(side),) if field else side.shape
