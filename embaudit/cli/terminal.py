"""Parts that commands share: a console, progress bars, and files of results.

Files are opened before the work starts.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from json import dumps
from pathlib import Path
from traceback import walk_tb
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar

from typer import Option

from embaudit.cli.app import File, Force, Jobs, Quiet, Text
from embaudit.core.progress import reporting
from embaudit.errors import InputError, escaped, must_be, without_secrets

if TYPE_CHECKING:
    from rich.console import Console

    from embaudit.core.results import Result
    from embaudit.report.document import Origin


SCHEDULER = re.compile(r"([^\s:/\[\]]+|\[[0-9a-fA-F:]+\]):[0-9]{1,5}")
"""Host and port."""
SUFFIXES = {
    "json": (".json",),
    "out": (".html", ".htm"),
    "markdown": (".md", ".markdown", ".txt"),
}
"""Suffixes of the files that options name. Files without a suffix are allowed, because
forges name files without one.
"""
T = TypeVar("T")
Promise: TypeAlias = tuple[Path | None, Callable[..., str | bytes]]
"""The path of an output, or None, and the function that makes its content."""


def make_console(*, quiet: bool) -> Console:
    """Make the console that results are printed to; a quiet console prints nothing.

    If the output is no terminal, lines are wide enough for every table.
    """
    from rich.console import Console

    class Output(Console):
        def print(self, *objects: Any, **options: Any) -> None:
            """Print objects with control characters as escapes."""
            super().print(*map(_harmless, objects), **options)

    console = Output(quiet=quiet, highlight=False)
    if console.is_terminal:
        return console
    return Output(quiet=quiet, highlight=False, width=140)


def _harmless(printed: Any) -> Any:
    """Write characters that steer a terminal as escapes.

    A text that has none of them keeps its colours.
    """
    from rich.text import Text

    if not isinstance(printed, (str, Text)):
        return printed
    plain = str(printed)
    lines = "\n".join(escaped(line) for line in plain.split("\n"))
    if lines == plain:
        return printed
    return lines if isinstance(printed, str) else Text(lines)


def shown_name(path: Path) -> str:
    """Return the name of a file for screens and titles, without the query of a URL.

    Examples
    --------
    >>> shown_name(Path("models/v.npy")), shown_name(Path("s3://models/v.npy?token=abc"))
    ('v.npy', 'v.npy')
    """
    return Path(without_secrets(str(path))).name


def progress_bars(*, quiet: bool) -> AbstractContextManager[None]:
    """Show the remaining time of work with several steps, on a terminal only.

    A quiet command shows nothing.
    """
    return reporting(None) if quiet else nullcontext()


def _scheduler(address: str | None) -> str | None:
    """Raise InputError unless the address is HOST:PORT, before anything is read.

    A Dask client would report a wrong address again and again.
    """
    if address is not None and not SCHEDULER.fullmatch(address):
        raise must_be("--dask", "HOST:PORT of a Dask scheduler", repr(address))
    return address


@dataclass(frozen=True)
class Workers:
    """The threads, or the workers of a Dask scheduler, that share the work."""

    jobs: Jobs = None
    dask: Annotated[
        Text,
        Option(
            callback=_scheduler,
            help="Address HOST:PORT of a Dask scheduler whose workers do the work.",
            rich_help_panel="Effort",
            hidden=True,
        ),
    ] = None

    @contextmanager
    def at_work(self, *, quiet: bool) -> Iterator[None]:
        """Let threads or workers do what runs inside, and show its progress.

        Raises
        ------
        InputError
            If both are given, if Dask is not installed, or if no scheduler answers.
        """
        from joblib import parallel_config

        # A scheduler decides itself how many workers share the work.
        if self.jobs is not None and self.dask is not None:
            raise must_be("--jobs", "omitted if --dask is given", self.jobs)
        try:
            with ExitStack() as stack:
                stack.enter_context(progress_bars(quiet=quiet))
                if self.dask is not None:
                    client = stack.enter_context(_client(self.dask))
                    stack.enter_context(parallel_config(backend="dask", client=client))
                elif self.jobs is not None:
                    stack.enter_context(parallel_config(n_jobs=self.jobs))
                yield
        except Exception as error:
            # Errors of Dask itself, also when its client closes.
            if self.dask is None or not _is_of_dask(error):
                raise
            error_type = type(error).__name__
            raise InputError(
                f"the Dask scheduler at {self.dask} stopped answering ({error_type}); "
                "start it, and run the command again."
            ) from error


def _client(address: str) -> Any:
    """Connect to a Dask scheduler."""
    try:
        from distributed import Client

        # A lost scheduler is one sentence of ours, not the tracebacks that Dask logs.
        for name in list(logging.root.manager.loggerDict):
            if name.split(".")[0] in ("distributed", "tornado", "asyncio"):
                logging.getLogger(name).setLevel(logging.CRITICAL)
        # Five seconds, as a wrong address would keep a command waiting; no default, so
        # that other uses of Dask are left alone.
        return Client(f"tcp://{address}", timeout="5s", set_as_default=False)
    except ImportError as error:
        raise InputError(
            "--dask needs distributed: pip install 'embaudit[dask]'."
        ) from error
    except (OSError, ValueError, TimeoutError) as error:
        raise must_be(
            "--dask", "HOST:PORT of a Dask scheduler that answers", repr(address)
        ) from error


def _is_of_dask(error: Exception) -> bool:
    """Return True for errors of Dask's types, of its code and of its connections."""
    is_its_type = type(error).__module__.startswith("distributed.")
    # A client that just lost its scheduler fails within its own code, with errors of
    # any type, such as an AttributeError.
    *_, (last_frame, _) = walk_tb(error.__traceback__)
    is_its_code = last_frame.f_globals["__name__"].startswith("distributed.")
    is_connection = isinstance(error, OSError) and "tcp://" in str(error)
    return is_its_type or is_its_code or is_connection


# Each takes a while to load, and most runs write none of them.
def written_record(result: Result, *_: object) -> str:
    """Write the numbers of a result as JSON."""
    from embaudit.report.schemas import record

    return dumps(record(result), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _page(result: Result, title: str, origin: Origin | None = None, *_: object) -> str:
    from embaudit.report.page import page

    return page(result, title, origin)


def _comment(result: Result, title: str, origin: Origin | None = None) -> str:
    from embaudit.report.gate.forges import comment

    return comment(result, title, origin)


@dataclass(frozen=True)
class Output:
    """Options of the output: files of a result, and how much of it is printed."""

    full: Annotated[
        bool,
        Option(
            "--full",
            help="Print everything instead of one screen.",
            rich_help_panel="Output",
        ),
    ] = False
    json: Annotated[
        File,
        Option(
            "--json",
            help="Write all numbers to this JSON file.",
            rich_help_panel="Output",
        ),
    ] = None
    out: Annotated[
        File,
        Option(
            "--out", help="Write a report to this HTML file.", rich_help_panel="Output"
        ),
    ] = None
    markdown: Annotated[
        File,
        Option(
            "--markdown",
            help="Write a summary in Markdown, for example for a "
            "comment on a pull request.",
            rich_help_panel="Output",
        ),
    ] = None
    quiet: Quiet = False
    force: Force = False

    @property
    def console(self) -> Console:
        """The console that results are printed to."""
        return make_console(quiet=self.quiet)

    @contextmanager
    def promised(
        self,
        inputs: Sequence[Path | str | None],
        *more: Promise,
        comment: Callable[..., str] = _comment,
    ) -> Iterator[Callable[..., None]]:
        """Open the outputs before the work starts, so that errors come at once.

        No output may be an input. Yield a function that writes a result, its title and
        its origin to the outputs.

        Raises
        ------
        InputError
            If an output cannot be written, or an input has changed since; then no
            output is written.
        """
        from embaudit.io import distinct_outputs, open_output
        from embaudit.io.outputs import COMPRESSED
        from embaudit.io.watched import unchanged

        promises: list[Promise] = [
            (self.json, written_record),
            (self.out, _page),
            *more,
            (self.markdown, comment),
        ]
        distinct_outputs(inputs, [path for path, _ in promises])
        for name, suffixes in SUFFIXES.items():
            path = getattr(self, name)
            if path is not None and path.suffix.lower() not in (
                "",
                *COMPRESSED,
                *suffixes,
            ):
                raise must_be(f"--{name}", f"a file that ends in {suffixes[0]}", path)
        with ExitStack() as stack:
            # All are opened before any is written: a path that cannot be used ends the
            # command before the work.
            opened = [
                (
                    stack.enter_context(open_output(path, force=self.force, mode="w")),
                    make,
                )
                for path, make in promises
                if path
            ]

            def write(*values: Any) -> None:
                for file, make in opened:
                    content = make(*values)
                    # A picture is bytes; all other contents are text.
                    if isinstance(content, str):
                        file.write(content)
                    else:
                        file.buffer.write(content)

            with unchanged(inputs):
                yield write

    def show(self, result: Result) -> None:
        """Print a result, or one screen of it."""
        from embaudit.report.terminal import print_result

        print_result(result, self.console, full=self.full)


@contextmanager
def removed_if_refused() -> Iterator[list[Path | str]]:
    """Yield a list for the outputs of a block; remove them if the block is refused.

    Rows of mapped files are read while they are written, so a file may hold vectors of
    two models if its input was replaced meanwhile.

    Examples
    --------
    >>> with removed_if_refused() as written:
    ...     written.append(Path("no-such-file"))
    """
    written: list[Path | str] = []
    try:
        yield written
    except InputError:
        from embaudit.io.saving import remove_output

        for output in written:
            remove_output(output)
        raise


def values_in(
    pairs: Sequence[str] | None, option: str, example: str, kind: Callable[[str], T]
) -> dict[str, T]:
    """Read the `NAME=VALUE` pairs of an option.

    Names are not checked.

    Examples
    --------
    >>> values_in(["left=enc"], "load", "left=users", str)
    {'left': 'enc'}
    >>> values_in(["kept=0.7"], "fail-below", "kept=0.7", float)
    {'kept': 0.7}
    """
    values: dict[str, T] = {}
    for pair in pairs or ():
        name, _, value = pair.partition("=")
        if name in values:
            raise must_be(
                f"{name} of --{option}", "given once", f"{values[name]} and {value}"
            )
        try:
            # An empty name or value is refused in the same sentence as a number that is
            # none.
            if not (name and value):
                raise ValueError
            values[name] = kind(value)
        except ValueError as error:
            form = "NAME=VALUE" if kind is str else "NAME=NUMBER"
            raise must_be(
                f"--{option}",
                form,
                repr(pair),
                f"write for example --{option} {example}",
            ) from error
    return values
