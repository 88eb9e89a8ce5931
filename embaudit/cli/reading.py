"""How a command reads its model: the options are the same on every command."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

from typer import Option

from embaudit.cli.app import File, Partial, Text, Texts
from embaudit.cli.terminal import shown_name, values_in
from embaudit.core.progress import announced

if TYPE_CHECKING:
    from embaudit.io import Reading
    from embaudit.io.tables.parts import Parts
    from embaudit.model import FactorModel

ARRAYS = ("npy", "npz", "hdf5", "csv", "table")
"""Formats that do not say whether rows or columns are entities."""
FILES = ("labels", "right_counts", "left_counts", "inputs", "states")
"""Options that name files."""


@dataclass(frozen=True)
class Given:
    """How the caller said that a model is to be read.

    Examples
    --------
    >>> files = {"right_counts": Path("n.npy")}
    >>> reading = Given(kind="head", load=["weight=W"], ignore=["b"], **files)
    >>> reading.options
    {'ignore': ('b',), 'right_counts': 'n.npy', 'weight': 'W'}
    """

    kind: Annotated[
        str,
        Option(
            help="What the file holds: auto, factors, head or vectors.",
            rich_help_panel="Your file",
        ),
    ] = "auto"
    format: Annotated[
        Text,
        Option(
            help="Name of its format, where suffix and content do not tell.",
            rich_help_panel="Your file",
            hidden=True,
        ),
    ] = None
    left: Annotated[
        Text, Option(help="Name of the left factors.", rich_help_panel="Your file")
    ] = None
    weight: Annotated[
        Text,
        Option(
            "--weight", help="Name of the right factors.", rich_help_panel="Your file"
        ),
    ] = None
    left_bias: Annotated[
        Text,
        Option(help="Name of the left bias.", rich_help_panel="Your file", hidden=True),
    ] = None
    bias: Annotated[
        Text,
        Option(
            help="Name of the right bias.", rich_help_panel="Your file", hidden=True
        ),
    ] = None
    ignore: Annotated[
        Texts,
        Option(
            help="Leave out an array; * stands for any letters.",
            rich_help_panel="Your file",
        ),
    ] = None
    left_name: Annotated[
        Text,
        Option(
            help="What a left row is called, such as text.",
            rich_help_panel="Your file",
            hidden=True,
        ),
    ] = None
    right_name: Annotated[
        Text,
        Option(
            help="The same for a right row, such as image.",
            rich_help_panel="Your file",
            hidden=True,
        ),
    ] = None
    transpose: Annotated[
        Text,
        Option(
            help="Sides stored a column an entity: left, right, both.",
            rich_help_panel="Your file",
            hidden=True,
        ),
    ] = None
    vector: Annotated[
        Text,
        Option(
            help="Column of the vectors, in a table of them.",
            rich_help_panel="Your file",
            hidden=True,
        ),
    ] = None
    ids: Annotated[
        Text,
        Option(
            help="Ids of the right rows: an array, or a FILE or FILE:COLUMN.",
            rich_help_panel="Your file",
        ),
    ] = None
    left_ids: Annotated[
        Text,
        Option(
            help="The same for the left rows.", rich_help_panel="Your file", hidden=True
        ),
    ] = None
    labels: Annotated[
        File,
        Option(help="File that names the right rows.", rich_help_panel="Your file"),
    ] = None
    right_counts: Annotated[
        File,
        Option(
            help="File of the interactions behind right rows.",
            rich_help_panel="Your file",
            hidden=True,
        ),
    ] = None
    left_counts: Annotated[
        File,
        Option(
            help="The same for the left rows.", rich_help_panel="Your file", hidden=True
        ),
    ] = None
    link: Annotated[
        Text,
        Option(
            help="identity (dot), softmax, cosine or ranking.",
            rich_help_panel="Training",
        ),
    ] = None
    compared: Annotated[
        Text,
        Option(
            help="Rows compared by cosine, dot, distance or hyperbolic.",
            rich_help_panel="Training",
        ),
    ] = None
    objective: Annotated[
        Text,
        Option(
            help="How it was trained: implicit-als, clip, word2vec, ...",
            rich_help_panel="Training",
        ),
    ] = None
    inputs: Annotated[
        File,
        Option(
            help="File of inputs that the head is multiplied with.",
            rich_help_panel="Your file",
        ),
    ] = None
    states: Annotated[
        File,
        Option(
            help="File of states before its final norm.",
            rich_help_panel="Your file",
            hidden=True,
        ),
    ] = None
    norm: Annotated[
        Text,
        Option(
            help="Tensor of the gains of the final norm before it, or none.",
            rich_help_panel="Your file",
            hidden=True,
        ),
    ] = None
    norm_kind: Annotated[
        Text,
        Option(
            help="What that norm is: rms or layer.",
            rich_help_panel="Your file",
            hidden=True,
        ),
    ] = None
    load: Annotated[
        Texts,
        Option(
            help="A keyword of `ea.load`, such as right=items.",
            rich_help_panel="Your file",
            hidden=True,
        ),
    ] = None
    vector_id: Annotated[
        Text,
        Option(
            help="Column of the ids, in a table of vectors.",
            rich_help_panel="Your file",
            hidden=True,
        ),
    ] = None

    @property
    def options(self) -> dict[str, Any]:
        """Options of `embaudit.load` that were typed.

        A name in `--load` takes precedence over the option with this name.
        """
        named = {
            name: x
            for name, x in vars(self).items()
            if x and name not in ("kind", "load")
        }
        plain = {
            name: tuple(x) if isinstance(x, list) else str(x)
            for name, x in named.items()
        }
        return plain | values_in(self.load, "load", "left=users", str)

    @property
    def undeclared(self) -> Self:
        """The same without the training, which an audit declares and records."""
        return replace(self, objective=None, compared=None)

    def files(self, path: Path) -> Iterator[str]:
        """Yield the files that are read beside the model."""
        from embaudit.io.tables.rows import split_column

        # Beside a single array biases are files, and beside vectors the left side;
        # elsewhere these name arrays.
        beside, options = (
            ("bias", "left_bias") if path.suffix == ".npy" else (),
            self.options,
        )
        beside = (
            (*beside, "left")
            if "left" in options and Path(options["left"]).exists()
            else beside
        )
        yield from (options[name] for name in (*FILES, *beside) if name in options)
        yield from (
            str(split_column(options[name])[0])
            for name in ("ids", "left_ids")
            if name in options
        )

    def read(self, path: Path, more: Sequence[Path] | None = None) -> Reading:
        """Read a model, with the rows of more tables below its own.

        If the model looks transposed, a question is written to standard error.
        """
        from embaudit.io import read
        from embaudit.model.sizes import shape_question

        result = read(
            [path, *more] if more else path, **{"kind": self.kind} | self.options
        )
        # A single row is refused wherever rows are compared, in a sentence that asks
        # the same; who said how the file lies is not asked.
        oriented = result.intake.format not in ARRAYS or "transpose" in self.options
        question = shape_question(result.model)
        if question is not None and result.model.n_right > 1 and not oriented:
            sys.stderr.write(f"{question.for_cli()}\n")
        return result


@dataclass(frozen=True)
class Titles:
    """A table that names the items, and how it is joined."""

    items: Annotated[
        File,
        Option(help="Table with titles of the items.", rich_help_panel="Your file"),
    ] = None
    id: Annotated[
        Text,
        Option("--id", help="Its column of ids.", rich_help_panel="Your file"),
    ] = None
    title: Annotated[
        Text, Option(help="Its column of titles.", rich_help_panel="Your file")
    ] = None
    by_row: Annotated[
        bool,
        Option(
            "--by-row",
            help="Join by the order of the rows, not by ids.",
            rich_help_panel="Your file",
            hidden=True,
        ),
    ] = False
    partial: Partial = False

    @property
    def joining(self) -> dict[str, Any]:
        """How the table is joined."""
        column = self.id if self.items is not None else None
        return {"id": column, "by_row": self.by_row, "partial": self.partial}

    @property
    def are_given(self) -> bool:
        """True if a column of titles was named, or the table has one."""
        from embaudit.io.tables.parts import has_titles

        if self.items is None or self.title is not None:
            return True
        return has_titles(self.items, id=self.id)

    def parts(self, model: FactorModel, column: str) -> Parts:
        """Read the part of each item from a column of the table."""
        from embaudit.io.tables.parts import parts_by_column

        return parts_by_column(model.right_side, self.items, column, **self.joining)

    def on(self, model: FactorModel, *, quiet: bool) -> FactorModel:
        """Name the items of a model, and say how many matched."""
        from embaudit.errors import InputError
        from embaudit.io import with_titles

        if self.items is None:
            if self.title is not None:
                raise InputError(
                    "--title must be given with --items, the table whose column it "
                    "names."
                )
            return model
        named, joined = with_titles(model, self.items, title=self.title, **self.joining)
        if not quiet:
            sys.stderr.write(f"titles: {joined.explain()}\n")
        return named


def read_for_audit(
    path: Path,
    reading: Given,
    titles: Titles,
    more: Sequence[Path] | None = None,
    *,
    normalised: bool = False,
    by: str | None = None,
    quiet: bool,
) -> Reading:
    """Read a model with its titles, and name the tensor taken for its final norm.

    Label rows of length 1 have no norm. A table that names parts of the rows (`by`)
    can do without titles.
    """
    source = announced(f"reading {shown_name(path)}")(reading.read)(path, more)
    say_norm(source, quiet=quiet or normalised)
    if by is not None and not titles.are_given:
        return source
    return replace(source, model=titles.on(source.model, quiet=quiet))


def say_norm(source: Reading, *, quiet: bool) -> None:
    """Name the tensor that was taken for the final norm, where there is one."""
    if source.norm is not None and not quiet:
        sys.stderr.write(f"{source.norm}; --norm none reads the head without it.\n")
