"""What commands share at the terminal: a console, progress bars, and outputs promised before the work starts."""

from __future__ import annotations

import json
import math
import os
import sys
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any, TypeVar

from embaudit.foundation.progress import reporting

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from contextlib import ExitStack
    from pathlib import Path

    import pandas as pd
    from rich.console import Console
    from rich.table import Table

T = TypeVar("T")


def make_console(*, quiet: bool) -> Console:
    """Make the console results are printed to; a quiet one swallows them.

    Away from a terminal lines are wide enough for every table.
    """
    from rich.console import Console

    class Output(Console):
        def on_broken_pipe(self) -> None:
            """End as programs do whose reader went away, not with the code that means findings."""
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(128 + 13)

    console = Output(quiet=quiet, highlight=False)
    return console if console.is_terminal else Output(quiet=quiet, highlight=False, width=140)


@contextmanager
def progress_bars(*, quiet: bool) -> Iterator[None]:
    """Show a bar for work above a second, on a terminal only."""
    from rich.console import Console
    from rich.progress import Progress

    errors = Console(stderr=True)
    if quiet or not errors.is_terminal:
        yield
        return
    with Progress(console=errors, transient=True) as bars:

        def report(steps: Iterable[T], description: str, total: int | None) -> Iterator[T]:
            return iter(bars.track(steps, description=description, total=total))

        with reporting(report):
            yield


def promised(stack: ExitStack, path: Path | None, *, force: bool, mode: str = "w") -> IO[Any] | None:
    """Open an output before the work starts, so that a path that cannot be written is refused at once."""
    from embaudit.io import written_whole

    return None if path is None else stack.enter_context(written_whole(path, force=force, mode=mode))  # type: ignore[call-overload]


def write_json(file: IO[str] | None, content: dict[str, Any]) -> None:
    """Write plain values, if a file was promised."""
    if file is not None:
        json.dump(content, file, indent=1, ensure_ascii=False, allow_nan=False)
        file.write("\n")


def frame_table(frame: pd.DataFrame, title: str) -> Table:
    """Draw a data frame: its index first, floats with four digits, a dash where there is no number."""
    from rich.table import Table
    from rich.text import Text

    # Text, not str: names from files may look like markup.
    drawn = Table(title=Text(title), title_justify="left", title_style="bold")
    rows = frame.reset_index()
    for number, name in enumerate(rows.columns):
        drawn.add_column(Text(str(name)), justify="right" if number else "left", overflow="fold")
    for row in rows.itertuples(index=False):
        drawn.add_row(*(Text(_cell(value)) for value in row))
    return drawn


def rows_table(rows: list[dict[str, Any]], title: str) -> Table:
    """Draw records of one shape: the first column is text, the others are numbers."""
    import pandas as pd

    frame = pd.DataFrame(rows)
    return frame_table(frame.set_index(frame.columns[0]), title)


def _cell(value: object) -> str:
    if isinstance(value, float):
        return "–" if math.isnan(value) else f"{value:.4g}"
    return str(value)


def reading_options(given: list[str] | None) -> dict[str, str]:
    """Split `--load NAME=VALUE` into options of `load`, which checks the names.

    Examples
    --------
    >>> reading_options(["left=enc", "weight=dec"])
    {'left': 'enc', 'weight': 'dec'}
    """
    from embaudit.errors import must_be

    options = {}
    for pair in given or ():
        name, separator, value = pair.partition("=")
        if not (name and separator and value):
            raise must_be("--load", "NAME=VALUE", repr(pair), "write for example --load left=users")
        options[name] = value
    return options
