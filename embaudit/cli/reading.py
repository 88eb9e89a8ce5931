"""How a command reads its model: the options are the same on every command."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

from typer import Option

from embaudit.cli.app import File, Partial, Text, Texts
from embaudit.cli.terminal import shown_name
from embaudit.core.progress import announced

if TYPE_CHECKING:
    from embaudit.io import Reading
    from embaudit.io.tables.parts import Parts
    from embaudit.model import FactorModel

ARRAYS = ("npy", "npz", "hdf5", "csv", "table")
"""Formats that do not say whether rows or columns are entities."""
FILES = (
    "left_file",
    "left_bias_file",
    "bias_file",
    "ids",
    "left_ids",
    "labels",
    "right_counts",
    "left_counts",
    "inputs",
    "states",
)
"""Options that name files."""


@dataclass(frozen=True)
class Given:
    """How the caller said that a model is to be read.

    Examples
    --------
    >>> files = {"right_counts": Path("n.npy")}
    >>> reading = Given(kind="head", weight="W", ignore=["b"], **files)
    >>> reading.options
    {'weight': 'W', 'ignore': ('b',), 'right_counts': 'n.npy'}
    """

    kind: Annotated[
        str,
        Option(
            help="Contents of the file: auto, factors (two sides), head or vectors.",
            rich_help_panel="Your file",
        ),
    ] = "auto"
    format: Annotated[
        Text,
        Option(
            help="Format of the file, if its suffix does not show it; see `embaudit formats`.",
            rich_help_panel="Your file",
            hidden=True,
        ),
    ] = None
    left: Annotated[
        Text,
        Option(
            help="Array in the file with the left (user) factors.",
            rich_help_panel="Your file",
        ),
    ] = None
    weight: Annotated[
        Text,
        Option(
            help="Array in the file with the right (item) factors, labels or vectors.",
            rich_help_panel="Your file",
        ),
    ] = None
    left_file: Annotated[
        File,
        Option(
            help="File with the vectors of the left side, if the model's file holds one side only.",
            rich_help_panel="Your file",
        ),
    ] = None
    left_bias: Annotated[
        Text,
        Option(
            help="Array in the file with the left biases.",
            rich_help_panel="Your file",
            hidden=True,
        ),
    ] = None
    bias: Annotated[
        Text,
        Option(
            help="Array or column in the file with the right biases.",
            rich_help_panel="Your file",
            hidden=True,
        ),
    ] = None
    left_bias_file: Annotated[
        File,
        Option(
            help="File (.npy) with the left biases, next to a .npy file of vectors.",
            rich_help_panel="Your file",
            hidden=True,
        ),
    ] = None
    bias_file: Annotated[
        File,
        Option(
            help="File (.npy) with the right biases, next to a .npy file of vectors.",
            rich_help_panel="Your file",
            hidden=True,
        ),
    ] = None
    ignore: Annotated[
        Texts,
        Option(
            help="Skip this array; * stands for any letters. Repeat "
            "it for several arrays.",
            rich_help_panel="Your file",
        ),
    ] = None
    left_name: Annotated[
        Text,
        Option(
            help="Word for a left row, such as text.",
            rich_help_panel="Your file",
            hidden=True,
        ),
    ] = None
    right_name: Annotated[
        Text,
        Option(
            help="Word for a right row, such as image.",
            rich_help_panel="Your file",
            hidden=True,
        ),
    ] = None
    transpose: Annotated[
        Text,
        Option(
            help="Sides with one entity per column: left, right, both or none.",
            rich_help_panel="Your file",
            hidden=True,
        ),
    ] = None
    vector: Annotated[
        Text,
        Option(
            help="In a table: column of the vectors, or a range FIRST:LAST of columns.",
            rich_help_panel="Your file",
            hidden=True,
        ),
    ] = None
    vector_id: Annotated[
        Text,
        Option(
            help="In a table: column of the ids.",
            rich_help_panel="Your file",
            hidden=True,
        ),
    ] = None
    id_array: Annotated[
        Text,
        Option(
            help="Array in the file with the ids of the right rows.",
            rich_help_panel="Your file",
            hidden=True,
        ),
    ] = None
    left_id_array: Annotated[
        Text,
        Option(
            help="Array in the file with the ids of the left rows.",
            rich_help_panel="Your file",
            hidden=True,
        ),
    ] = None
    ids: Annotated[
        File,
        Option(
            help="File with the ids of the right rows, in their order.",
            rich_help_panel="Your file",
        ),
    ] = None
    ids_column: Annotated[
        Text,
        Option(
            help="Column of the ids, if the file of --ids is a table.",
            rich_help_panel="Your file",
            hidden=True,
        ),
    ] = None
    left_ids: Annotated[
        File,
        Option(
            help="File with the ids of the left rows, in their order.",
            rich_help_panel="Your file",
            hidden=True,
        ),
    ] = None
    left_ids_column: Annotated[
        Text,
        Option(
            help="Column of the ids, if the file of --left-ids is a table.",
            rich_help_panel="Your file",
            hidden=True,
        ),
    ] = None
    labels: Annotated[
        File,
        Option(
            help="File with the names of the right rows, in their order.",
            rich_help_panel="Your file",
        ),
    ] = None
    right_counts: Annotated[
        File,
        Option(
            help="File with the number of interactions of each right row.",
            rich_help_panel="Your file",
            hidden=True,
        ),
    ] = None
    left_counts: Annotated[
        File,
        Option(
            help="File with the number of interactions of each left row.",
            rich_help_panel="Your file",
            hidden=True,
        ),
    ] = None
    link: Annotated[
        Text,
        Option(
            help="How scores become predictions: identity (dot product), softmax, sigmoid, cosine or ranking.",
            rich_help_panel="Training",
        ),
    ] = None
    compared: Annotated[
        Text,
        Option(
            help="How the model compares the rows of one table: cosine, dot, distance or hyperbolic.",
            rich_help_panel="Training",
        ),
    ] = None
    objective: Annotated[
        Text,
        Option(
            help="How the model was trained: implicit-als, clip, word2vec, ...",
            rich_help_panel="Training",
        ),
    ] = None
    inputs: Annotated[
        File,
        Option(
            help="File with inputs of the head, or of the vectors: what they are multiplied with.",
            rich_help_panel="Your file",
        ),
    ] = None
    states: Annotated[
        File,
        Option(
            help="File with states before the final norm of the head.",
            rich_help_panel="Your file",
            hidden=True,
        ),
    ] = None
    norm: Annotated[
        Text,
        Option(
            help="Tensor of the gains of the final norm before the head; none for no norm.",
            rich_help_panel="Your file",
            hidden=True,
        ),
    ] = None
    norm_kind: Annotated[
        Text,
        Option(
            help="Kind of the final norm: rms or layer.",
            rich_help_panel="Your file",
            hidden=True,
        ),
    ] = None

    @property
    def options(self) -> dict[str, Any]:
        """Options of `embaudit.load` that were typed."""
        options: dict[str, Any] = {}
        for name, value in vars(self).items():
            if not value or name == "kind":
                continue
            options[name] = tuple(value) if isinstance(value, list) else str(value)
        return options

    @property
    def undeclared(self) -> Self:
        """The same without the training, which an audit declares and records."""
        return replace(self, objective=None, compared=None)

    @property
    def files(self) -> list[str]:
        """Files that are read beside the model."""
        options = self.options
        return [options[name] for name in FILES if name in options]

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
        Option(
            help="Table with the titles of the items; see --id and --title.",
            rich_help_panel="Your file",
        ),
    ] = None
    id: Annotated[
        Text,
        Option(
            "--id",
            help="Column of the ids in the table of --items.",
            rich_help_panel="Your file",
        ),
    ] = None
    title: Annotated[
        Text,
        Option(
            help="Column of the titles in the table of --items.",
            rich_help_panel="Your file",
        ),
    ] = None
    by_row: Annotated[
        bool,
        Option(
            "--by-row",
            help="Match the table of --items by the order of its rows, not by ids.",
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
    other_column: str | None = None,
    quiet: bool,
) -> Reading:
    """Read a model with its titles, and name the tensor taken for its final norm.

    Label rows of length 1 have no norm. If another column of the table of items is
    read, the table can do without titles.
    """
    source = announced(f"reading {shown_name(path)}")(reading.read)(path, more)
    say_norm(source, quiet=quiet or normalised)
    if other_column is not None and not titles.are_given:
        return source
    return replace(source, model=titles.on(source.model, quiet=quiet))


def say_norm(source: Reading, *, quiet: bool) -> None:
    """Name the tensor that was taken for the final norm, where there is one."""
    if source.norm is not None and not quiet:
        sys.stderr.write(f"{source.norm}; --norm none reads the head without it.\n")
