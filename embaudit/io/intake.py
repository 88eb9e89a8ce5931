"""What a reading made of a file: which array became what, what was left over, and what nobody said."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from embaudit.foundation.words import counted
from embaudit.model import FactorModel

WORDS = {
    "left": "left factors", "right": "right factors", "left_bias": "left bias", "right_bias": "right bias",
    "left_ids": "left ids", "right_ids": "right ids", "left_names": "left names", "right_names": "right names",
    "left_counts": "left counts", "right_counts": "right counts",
    "left_aside": "left rows set aside", "right_aside": "right rows set aside", "offset": "offset", "link": "link",
    "objective": "objective", "final_norm": "the final norm",
}  # fmt: skip
"""What the fields of a model are called."""
FEW = 2
"""How many of them a line names."""
SHOWN = 6
"""How many arrays left over a sentence names."""


@dataclass(frozen=True)
class Part:
    """One array, column or attribute, and what it became."""

    name: str
    """What the source calls it."""
    became: str
    """The field of a model, None of them where it was left over."""
    shape: tuple[int | None, ...] = ()
    """Rows first; None for what only reading it all would tell."""
    rounded: str = ""
    """The type that its numbers are rounded to, such as "Q8_0"; empty where they are not."""

    def __str__(self) -> str:
        return f"{self.name} {_shape(self.shape, self.rounded)}" if self.shape else self.name


@dataclass(frozen=True)
class Intake:
    """What was read as what.

    Examples
    --------
    >>> intake = Intake("npz", ("a.npz",), (Part("Q", "right", (7, 2)),), left_over=(Part("seed", ""),))
    >>> intake.explain()
    'Read as npz: Q (7 × 2) as right factors. Left over: seed. Item ids: none, so rows go by their number.'
    """

    format: str
    """The format, or the library of an object."""
    files: tuple[str, ...]
    """What was read."""
    parts: tuple[Part, ...] = ()
    """What became part of the model."""
    left_over: tuple[Part, ...] = ()
    """What did not."""
    assumed: tuple[str, ...] = ()
    """What neither the source nor the caller said."""
    titles: tuple[str, str] = ("user", "item")
    """What people call the sides."""

    def of(self, model: FactorModel, *, said: Iterable[str] = ()) -> Intake:
        """Add what was assumed of a model: its link, where neither the source nor the caller (`said`) told it."""
        told = {part.became for part in self.parts} | set(said)
        known = model.link == "unknown" or (told & {"link", "objective"} and not model.link.is_assumed)
        link = () if known or model.left_side is None else (f"the {model.link} link",)
        return replace(self, assumed=(*self.assumed, *link), titles=model.roles)

    def beside(self, *parts: Part) -> Intake:
        """Add what came from elsewhere, in place of what the source says of it; what is added is not left over.

        Examples
        --------
        >>> left = (Part("norm.weight", "", (2,)), Part("seed", ""))
        >>> Intake("npz", ("a.npz",), (), left).beside(Part("norm.weight", "final_norm", (2,))).line()
        'read as npz: norm.weight; left over: seed'
        """
        named, added = {part.became for part in parts}, {part.name for part in parts}
        kept = (part for part in self.parts if part.became not in named)
        rest = tuple(part for part in self.left_over if part.name not in added)
        return replace(self, parts=(*kept, *parts), left_over=rest)

    def explain(self) -> str:
        """Tell it in one short paragraph."""
        read = ", ".join(f"{part} as {WORDS.get(part.became, part.became)}" for part in self.parts)
        sentences = [f"Read as {self.format}{f': {read}' if read else ''}."]
        if self.left_over:
            sentences.append(f"Left over: {_some(self.left_over)}.")
        if self.assumed:
            sentences.append(f"Assumed: {', '.join(self.assumed)}.")
        return " ".join([*sentences, *self._ids()])

    def _ids(self) -> Iterable[str]:
        found = {part.became for part in self.parts}
        for side, title in zip(("left", "right"), self.titles, strict=True):
            if side in found and f"{side}_ids" not in found:
                named = f"{side}_names" in found
                # Tokens and classes are nothing to a reader without their names.
                give = "; `labels` (--labels FILE) names them" if title == "label" and not named else ""
                yield f"{title.capitalize()} ids: none, so rows go by their {'names' if named else 'number'}{give}."

    def line(self) -> str:
        """Tell the most of it in one line.

        Examples
        --------
        >>> Intake("npz", ("a.npz",), (Part("Q", "right", (7, 2)),), left_over=(Part("seed", ""),)).line()
        'read as npz: Q; left over: seed'
        >>> Intake("gguf", ("a.gguf",), (Part("output.weight", "right", (7, 2), "Q8_0"),)).line()
        'read as gguf: output.weight (Q8_0)'
        """
        shown = ((part.name, part.rounded) for part in self.parts if part.became != "link")
        read = ", ".join(f"{name} ({rounded})" if rounded else name for name, rounded in shown)
        few = len(self.left_over) <= FEW
        rest = ", ".join(map(str, self.left_over)) if few else counted(len(self.left_over), "other")
        rest = f"; left over: {rest}" if self.left_over else ""
        return f"read as {self.format}{f': {read}' if read else ''}{rest}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""

        def plain(part: Part) -> dict[str, Any]:
            became = {"became": part.became} if part.became else {}
            rounded = {"rounded": part.rounded} if part.rounded else {}
            return {"name": part.name, **became, "shape": list(part.shape), **rounded}

        return {
            "format": self.format,
            "files": list(self.files),
            "parts": [plain(part) for part in self.parts],
            "left_over": [plain(part) for part in self.left_over],
            "assumed": list(self.assumed),
            "explanation": self.explain(),
        }


@dataclass(frozen=True, eq=False)
class Reading:
    """A model and what it was made of."""

    model: FactorModel
    intake: Intake


def _shape(shape: tuple[int | None, ...], rounded: str = "") -> str:
    sizes = " × ".join("?" if size is None else f"{size:,}" for size in shape)
    return f"({sizes}, {rounded})" if rounded else f"({sizes})"


def _some(parts: tuple[Part, ...]) -> str:
    named = ", ".join(str(part) for part in parts[:SHOWN])
    return named if len(parts) <= SHOWN else f"{named} and {counted(len(parts) - SHOWN, 'other')}"
