"""How a command reads its model: one set of options, the same on every command that takes one."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from embaudit.cli.app import Partial
from embaudit.cli.commands import Group
from embaudit.cli.terminal import values_in
from embaudit.core.progress import announced

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from embaudit.io import Reading
    from embaudit.model import FactorModel

Text = str | None
# fmt: off
OPTIONS: dict[str, tuple[Any, Any]] = {
    "kind": (Annotated[str, typer.Option(help="What the file holds: auto, factors, head or vectors.")], "auto"),
    "format": (Annotated[Text, typer.Option(help="Name of its format, where suffix and content do not tell.")], None),
    "left": (Annotated[Text, typer.Option(help="Name of the left factors.")], None),
    "weight": (Annotated[Text, typer.Option("--weight", help="Name of the right factors.")], None),
    "left_bias": (Annotated[Text, typer.Option(help="Name of the left bias.")], None),
    "bias": (Annotated[Text, typer.Option(help="Name of the right bias.")], None),
    "ignore": (Annotated[list[str] | None, typer.Option(help="Leave out an array (* for letters) or a code.")], None),
    "left_name": (Annotated[Text, typer.Option(help="What a left row is called, such as text.")], None),
    "right_name": (Annotated[Text, typer.Option(help="The same for a right row, such as image.")], None),
    "transpose": (Annotated[Text, typer.Option(help="Sides stored a column an entity: left, right, both.")], None),
    "vector": (Annotated[Text, typer.Option(help="Column of the vectors, in a table of them.")], None),
    "ids": (Annotated[Text, typer.Option(help="Ids of the right rows: an array, or a FILE or FILE:COLUMN.")], None),
    "left_ids": (Annotated[Text, typer.Option(help="The same for the left rows.")], None),
    "labels": (Annotated[Path | None, typer.Option(help="File that names the right rows.")], None),
    "right_counts": (Annotated[Path | None, typer.Option(help="File of the interactions behind right rows.")], None),
    "left_counts": (Annotated[Path | None, typer.Option(help="The same for the left rows.")], None),
    "link": (Annotated[Text, typer.Option(help="identity (dot), softmax, cosine or ranking.")], None),
    "compared": (Annotated[Text, typer.Option(help="Rows are compared with each other, by cosine or dot.")], None),
    "objective": (Annotated[Text, typer.Option(help="How it was trained: implicit-als, clip, word2vec, ...")], None),
    "inputs": (Annotated[Path | None, typer.Option(help="File of inputs that the head is multiplied with.")], None),
    "states": (Annotated[Path | None, typer.Option(help="File of states before its final norm.")], None),
    "norm": (Annotated[Text, typer.Option(help="Tensor of the gains of the final norm before it, or none.")], None),
    "norm_kind": (Annotated[Text, typer.Option(help="What that norm is: rms or layer.")], None),
    "load": (Annotated[list[str] | None, typer.Option(help="The same as NAME=VALUE, such as right=items.")], None),
}
# fmt: on
ID: dict[str, tuple[Any, Any]] = {
    "id": (Annotated[Text, typer.Option("--id", help="Column of the ids, in a table of vectors.")], None)
}
"""Column of ids: of the titles where there is a table of them, else of a table of vectors."""
CODE = re.compile(r"EMB\d+", re.IGNORECASE)
"""Pattern of the code of a finding."""
ARRAYS = ("npy", "npz", "hdf5", "csv", "table")
"""Formats that do not say whether rows or columns are entities."""
FILES = ("labels", "right_counts", "left_counts", "inputs", "states")
"""Options that name files."""


@dataclass(frozen=True)
class Given(Group):
    """How the caller said that a model is to be read."""

    kind: str = "auto"
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options of `load` that were given."""
    more: tuple[Path, ...] = ()
    """Tables whose rows follow, as a shell spells a pattern out."""

    @classmethod
    def declared(cls) -> dict[str, tuple[Any, Any]]:
        """Annotations and defaults of the options, by their names."""
        return OPTIONS | ID

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Given:
        """Collect the options of a command.

        Examples
        --------
        >>> Given.of({"kind": "head", "right_counts": Path("n.npy"), "load": ["weight=W"], "ignore": ["b"]})
        Given(kind='head', options={'ignore': ('b',), 'right_counts': 'n.npy', 'weight': 'W'}, more=())
        """
        named = {name: values[name] for name in OPTIONS if values.get(name)}
        kind, loaded = named.pop("kind", "auto"), values_in(named.pop("load", None), "load", "left=users", str)
        plain = {name: tuple(x) if isinstance(x, list) else str(x) for name, x in named.items()}
        column = values.get("id") if values.get("items") is None else None
        # What `--load` says of a name goes before the option of that name.
        return cls(kind, plain | loaded | ({} if column is None else {"id": column}))

    def without_codes(self) -> tuple[Given, tuple[str, ...]]:
        """Separate arrays to leave out from codes of findings that do not count: both go by `--ignore`.

        Examples
        --------
        >>> Given("auto", {"ignore": ("b", "EMB104")}).without_codes()
        (Given(kind='auto', options={'ignore': ('b',)}, more=()), ('EMB104',))
        """
        names = self.options.get("ignore", ())
        codes = tuple(name for name in names if CODE.fullmatch(name))
        arrays = tuple(name for name in names if name not in codes)
        rest = {name: value for name, value in self.options.items() if name != "ignore"}
        return replace(self, options={**rest, "ignore": arrays} if arrays else rest), codes

    def without_training(self) -> tuple[Given, dict[str, Any]]:
        """Separate how the file is read from how it was trained, which an audit declares of a model and records.

        Examples
        --------
        >>> Given("auto", {"objective": "cosine", "bias": "b"}).without_training()
        (Given(kind='auto', options={'bias': 'b'}, more=()), {'objective': 'cosine', 'compared': None})
        """
        rest = dict(self.options)
        training = {name: rest.pop(name, None) for name in ("objective", "compared")}
        return replace(self, options=rest), training

    def beside(self, more: Sequence[Path] | None) -> Given:
        """Read the rows of more tables below those of the first."""
        return replace(self, more=tuple(more or ()))

    def files(self, path: Path) -> Iterator[str]:
        """Yield the files that are read beside the model."""
        # Beside a single array these are files; elsewhere they name arrays within the file.
        beside = ("left", "bias", "left_bias") if path.suffix == ".npy" else ()
        yield from (self.options[name] for name in (*FILES, *beside) if name in self.options)
        from embaudit.io.tables.rows import split_column

        yield from (str(split_column(self.options[name])[0]) for name in ("ids", "left_ids") if name in self.options)

    def read(self, path: Path) -> Reading:
        """Read a model, and ask at once where it looks transposed."""
        from embaudit.io import read
        from embaudit.model.sizes import shape_question

        result = read([path, *self.more] if self.more else path, kind=self.kind, **self.options)
        # A single row is refused wherever rows are compared, in a sentence that asks the same.
        oriented = result.intake.format not in ARRAYS
        if result.model.n_right > 1 and not oriented and (question := shape_question(result.model)):
            sys.stderr.write(f"{question}\n")
        return result


@dataclass(frozen=True)
class Titles(Group):
    """A table that names the items, and how it is joined."""

    items: Annotated[Path | None, typer.Option(help="Table with titles of the items.")] = None
    id: Annotated[
        str | None, typer.Option("--id", help="Its column of ids, or without it that of a table of vectors.")
    ] = None
    title: Annotated[str | None, typer.Option(help="Its column of titles.")] = None
    by_row: Annotated[bool, typer.Option("--by-row", help="Join by the order of the rows, not by ids.")] = False
    partial: Partial = False

    @property
    def joining(self) -> dict[str, Any]:
        """How the table is joined."""
        column = self.id if self.items is not None else None
        return {"id": column, "by_row": self.by_row, "partial": self.partial}

    def on(self, model: FactorModel, *, quiet: bool) -> FactorModel:
        """Name the items of a model, and say how many matched."""
        from embaudit.errors import InputError
        from embaudit.io import with_titles

        if self.items is None:
            if self.title is not None:
                raise InputError("--title must be given with --items, the table whose column it names.")
            return model
        named, joined = with_titles(model, self.items, title=self.title, **self.joining)
        if not quiet:
            sys.stderr.write(f"titles: {joined.explain()}\n")
        return named


def read_for_audit(path: Path, reading: Given, titles: Titles, *, normalised: bool = False, quiet: bool) -> Reading:
    """Read a model with its titles, and say which tensor was taken for the final norm before it.

    Label rows of length 1 have none.
    """
    source = announced(f"reading {path.name}")(reading.read)(path)
    say_norm(source, quiet=quiet or normalised)
    return replace(source, model=titles.on(source.model, quiet=quiet))


def say_norm(source: Reading, *, quiet: bool) -> None:
    """Name the tensor that was taken for the final norm, where there is one."""
    if source.norm is not None and not quiet:
        sys.stderr.write(f"{source.norm}; --norm none reads the head without it.\n")
