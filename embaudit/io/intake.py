"""Report of a read: what each array became, what was left over and what was assumed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
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
FROM_CALLER = "values you passed"
"""Name of a part whose values the caller passed as an option, instead of a file."""
FEW = 2
"""Number of arrays left over up to which a line names them."""
SHIFTS = ("bias", "beta")
"""Names of the shift of a norm."""
NOT_STATED = "not stated"
"""Name of the metric of a collection that does not say how it compares its vectors."""
SHOWN = 6
"""Number of arrays left over that a sentence names, at most."""


@dataclass(frozen=True)
class Part:
    """One array, column or attribute, and what it became."""

    name: str
    """Name in the source."""
    became: str
    """The field of a model; empty for an array that was left over. JSON has no key for
    an empty field.
    """
    shape: tuple[int | None, ...] = ()
    """Lengths of its axes, rows first; None for a length that no header tells."""
    rounded: str = ""
    """The type that its numbers are rounded to, such as "Q8_0"; empty if they are not
    rounded. JSON has no key for an empty text.
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
        if self.rounded:
            return f"{self.name} ({sizes}, {self.rounded})"
        return f"{self.name} ({sizes})"


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

    def with_model(self, model: FactorModel, *, declared: Iterable[str] = ()) -> Intake:
        """Complete the report with the model, after its values were read.

        Add the shapes that headers did not tell, the source of the training, and the
        link if it is assumed. A part whose values some rows lack is moved to the parts
        that are left over.

        Parameters
        ----------
        model : FactorModel
            The model that was read. Only shapes are taken of arrays that still lie in a
            file.
        declared : iterable of str
            Options that the caller gave.
        """
        declared = set(declared)
        fields = {part.became for part in self.parts}
        parts: list[Part] = []
        left_over = list(self.left_over)
        for part in self.parts:
            if _is_missing(model, part.became):
                # Only reading the values showed that some rows have none.
                name = f"{part.name}, which some rows lack"
                left_over.append(replace(part, name=name, became=""))
            elif not part.shape or None in part.shape:
                parts.append(replace(part, shape=_shape_in(model, part.became)))
            else:
                parts.append(part)
        assumed = list(self.assumed)
        is_stated = bool((fields | declared) & {"link", "objective"})
        is_known = model.link.name == "unknown" or (
            is_stated and not model.link.is_assumed
        )
        if not is_known and model.left_side is not None:
            assumed.append(f"the {model.link.name} link")
        intake = replace(
            self,
            parts=tuple(parts),
            left_over=tuple(left_over),
            assumed=tuple(assumed),
            titles=model.roles,
            tying=model.tying,
        )
        if model.objective is None:
            return intake
        if "objective" in declared:
            return intake.beside(Part(FROM_CALLER, "objective"))
        if "objective" in fields:
            return intake
        return intake.beside(Part(self.format, "objective"))

    @property
    def training_source(self) -> str | None:
        """The source of the training, or of how rows are compared.

        None if the caller is the source, or if there is none.
        """
        parts = {part.became: part for part in self.parts}
        part = parts.get("objective", parts.get("link"))
        if part is None or part.name == FROM_CALLER:
            return None
        if part.name.endswith(".json"):
            return part.name
        if part.name == self.format or not self.files:
            return self.format
        return f"{part.name} in {Path(self.files[0]).name}"

    def beside(self, *parts: Part) -> Intake:
        """Add parts that came from other files or from options.

        A field has one source, so an added part replaces the part of the source that
        became the same field. An added part is no longer left over.

        Examples
        --------
        >>> left = (Part("norm.weight", "", (2,)), Part("seed", ""))
        >>> norm = Part("norm.weight", "final_norm", (2,))
        >>> Intake("npz", ("a.npz",), (), left).beside(norm).line()
        'read as npz: norm.weight; not used: seed'
        """
        fields = {part.became for part in parts}
        names = {part.name for part in parts}
        kept = [part for part in self.parts if part.became not in fields]
        left_over = [part for part in self.left_over if part.name not in names]
        return replace(self, parts=(*kept, *parts), left_over=tuple(left_over))

    def explain(self) -> str:
        """Return what was read in one short paragraph."""
        read = ", ".join(
            f"{part} as {WORDS.get(part.became, part.became)}" for part in self.parts
        )
        sentences = [f"Read as {self.format}."]
        if read:
            sentences = [f"Read as {self.format}: {read}."]
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
        return " ".join([*sentences, *self._missing_ids()])

    def _missing_ids(self) -> Iterator[str]:
        """Yield a sentence for each side whose rows have no ids."""
        fields = {part.became for part in self.parts}
        for side, title in zip(("left", "right"), self.titles, strict=True):
            if side not in fields or f"{side}_ids" in fields:
                continue
            beginning = f"{title.capitalize()} ids: none, so rows go by their"
            if f"{side}_names" in fields:
                yield f"{beginning} names."
            elif title == "label":
                # A reader cannot tell tokens or classes by their numbers.
                yield f"{beginning} number; a file of labels names them."
            else:
                yield f"{beginning} number."

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
        >>> metric = Metric("l2", "LanceDB's default without an index", is_default=True)
        >>> Intake("lancedb", (), parts, metric=metric).line()
        'read as lancedb: vectors; metric l2 by default'
        """
        names = []
        for part in self.parts:
            if part.became in ("link", "objective"):
                continue
            name = part.name
            if part.rounded:
                name += f" ({part.rounded})"
            names.append(name)
        line = f"read as {self.format}"
        if names:
            line += f": {', '.join(names)}"
        if len(self.left_over) > FEW:
            line += f"; not used: {counted(len(self.left_over), 'other')}"
        elif self.left_over:
            line += f"; not used: {', '.join(map(str, self.left_over))}"
        if self.metric is not None:
            line += f"; metric {self.metric.name}"
            if self.metric.is_default:
                line += " by default"
            if self.metric.unit_rows:
                line += ", original lengths lost"
        return line


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
        """Its arrays as parts of an intake, under each name that a shift can have."""
        names = [self.name]
        if self.norm.shift is not None:
            layer = self.name.rpartition(".")[0]
            names += [f"{layer}.{shift}" for shift in SHIFTS]
        shape = self.norm.gain.shape
        return tuple(Part(name, "final_norm", shape) for name in names)

    def recorded(self, intake: Intake) -> Intake:
        """Report the arrays of this norm as used; the intake has them as left over."""
        left_over = {part.name for part in intake.left_over}
        return intake.beside(*(part for part in self.parts if part.name in left_over))

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
    """A model, and the report of how it was read."""

    model: FactorModel
    intake: Intake
    """What each array became; without parts if the source was a FactorModel already."""
    norm: StoredNorm | None = None
    """The final norm before a head, and its place in the checkpoint."""


def _is_missing(model: FactorModel, name: str) -> bool:
    """Return True for titles or counts of a source that the model does not have."""
    role, _, field = name.partition("_")
    if role not in ("left", "right") or field not in ("names", "counts"):
        return False
    side = {"left": model.left_side, "right": model.right_side}[role]
    return side is None or getattr(side, field) is None


def _shape_in(model: FactorModel, name: str) -> tuple[int, ...]:
    """Return the shape of a field of one side; empty for other fields."""
    role, _, field = name.partition("_")
    side = {"left": model.left_side, "right": model.right_side}.get(role)
    if side is None or getattr(side, field or "rows") is None:
        return ()
    if field:
        return (len(side),)
    return side.shape
