"""How a command reads its model: the options are the same on every command."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

from typer import Option

from embaudit.cli.app import File, Partial, Text
from embaudit.cli.terminal import shown_name
from embaudit.core.progress import announced
from embaudit.errors import must_be
from embaudit.io.options import Request

if TYPE_CHECKING:
    from embaudit.io import Reading
    from embaudit.io.tables.parts import Parts
    from embaudit.model import FactorModel

ARRAYS = ("npy", "npz", "hdf5", "csv", "table")
"""Formats that do not say whether rows or columns are entities."""


@dataclass(frozen=True, kw_only=True)
class Given(Request):
    """The options of `load` as they were typed.

    Examples
    --------
    >>> files = {"right_counts": Path("n.npy")}
    >>> reading = Given(kind="head", weight="W", ignore=["b"], **files)
    >>> reading.options
    {'weight': 'W', 'ignore': ('b',), 'right_counts': 'n.npy'}
    >>> reading.files
    ['n.npy']
    """

    @property
    def options(self) -> dict[str, Any]:
        """Options of `embaudit.load` that the user typed, except the kind."""
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

    def repeating(self, record: Mapping[str, Any]) -> Self:
        """Return the options without the training, if an audit declares it.

        An audit that declares no training can be of a model that was read with one.
        So the options stay unchanged then.

        Parameters
        ----------
        record : mapping
            The JSON of the audit.

        Raises
        ------
        InputError
            If a training was typed that differs from the declared one.
        """
        from embaudit.auditing.record import (
            declared_training,
            require_declared_training,
        )

        require_declared_training(
            record, objective=self.objective, compared=self.compared
        )
        if declared_training(record):
            return self.undeclared
        return self

    @property
    def files(self) -> list[str]:
        """Files that are read beside the model."""
        options = self.options
        return [
            options[option.name]
            for option in fields(self)
            if option.name in options and option.metadata["typed"].type is Path
        ]

    def require_no_left_file(self, option: str) -> None:
        """Raise InputError if a left side is given and `option` names another model.

        One file would be the left side of both models. Retrained models have different
        left rows, so scores of one of them would mean nothing.
        """
        if self.left_file is not None:
            raise must_be(
                "--left-file",
                f"left out with {option}, because it would give both models the same "
                "left rows",
                self.left_file,
                "save each model with its own left rows, "
                "`embaudit.save(embaudit.load(PATH, left_file=FILE), NEW)`, and use "
                "these files",
            )

    def read(self, path: Path, more: Sequence[Path] | None = None) -> Reading:
        """Read a model, with the rows of more tables below its own.

        If the model looks transposed, a question is written to standard error.
        """
        from embaudit.io import read
        from embaudit.model.sizes import shape_question

        result = read(model_paths(path, more), kind=self.kind, **self.options)
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


def model_paths(path: Path, more: Sequence[Path] | None) -> Path | list[Path]:
    """Return the path of a model, or the list of its tables if there are several.

    Examples
    --------
    >>> paths = model_paths(Path("a.csv"), [Path("b.csv")])
    >>> [path.name for path in paths], model_paths(Path("a.csv"), None).name
    (['a.csv', 'b.csv'], 'a.csv')
    """
    if not more:
        return path
    return [path, *more]


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
