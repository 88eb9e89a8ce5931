"""What commands share at the terminal: a console, progress bars, and outputs promised before the work starts."""

from __future__ import annotations

from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from json import dump
from typing import TYPE_CHECKING, Any

from embaudit.errors import escaped
from embaudit.foundation.progress import reporting

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from rich.console import Console

    from embaudit.foundation.results import Result
    from embaudit.report.view import Origin


def make_console(*, quiet: bool) -> Console:
    """Make the console results are printed to; a quiet one swallows them.

    Away from a terminal lines are wide enough for every table.
    """
    from rich.console import Console

    class Output(Console):
        def print(self, *objects: Any, **options: Any) -> None:
            """Print names as they are written, whatever they would do to a terminal."""
            super().print(*map(_seen, objects), **options)

    console = Output(quiet=quiet, highlight=False)
    return console if console.is_terminal else Output(quiet=quiet, highlight=False, width=140)


def _seen(printed: Any) -> Any:
    """Escape what acts on a terminal; a text that has a colour of its own keeps it where it holds none of that."""
    from rich.text import Text

    if not isinstance(printed, (str, Text)):
        return printed
    plain = str(printed)
    lines = "\n".join(escaped(line) for line in plain.split("\n"))
    return printed if lines == plain else lines if isinstance(printed, str) else Text(lines)


def progress_bars(*, quiet: bool) -> AbstractContextManager[None]:
    """Show a bar with the remaining time for work of several steps, on a terminal only; none for a quiet command."""
    return reporting(None) if quiet else nullcontext()


@contextmanager
def _workers(jobs: int | None, dask: str | None) -> Iterator[None]:
    """Let so many threads, or the workers of a Dask scheduler, do what runs inside.

    Raises
    ------
    InputError
        If both are asked for, Dask is missing, or nobody answers there.
    """
    from joblib import parallel_config

    from embaudit.errors import InputError, must_be

    if dask is None:
        with parallel_config(n_jobs=jobs):
            yield
        return
    if jobs is not None:
        raise must_be("--jobs", "left out beside --dask", jobs)
    try:
        from distributed import Client

        client = Client(f"tcp://{dask}", timeout="5s", set_as_default=False)
    except ImportError as error:
        raise InputError("--dask needs distributed: pip install 'embaudit[dask]'.") from error
    except (OSError, ValueError, TimeoutError) as error:
        raise must_be("--dask", "HOST:PORT of a Dask scheduler that answers", repr(dask)) from error
    with client, parallel_config(backend="dask", client=client):
        yield


@contextmanager
def working(jobs: int | None, dask: str | None, *, quiet: bool) -> Iterator[None]:
    """Let workers do what runs inside, and show how far it is."""
    workers = nullcontext() if jobs is None and dask is None else _workers(jobs, dask)
    with progress_bars(quiet=quiet), workers:
        yield


@contextmanager
def outputs(
    json: Path | None, out: Path | None, markdown: Path | None = None, *, force: bool
) -> Iterator[Callable[..., None]]:
    """Open what a result shall be written to before the work starts, so that what cannot be written is refused at once.

    Yields what writes a result to the files asked for: as JSON, as a page under a title, and for a comment.
    """
    from embaudit.io import written_whole

    with ExitStack() as stack:
        paths = (json, out, markdown)
        files = [path and stack.enter_context(written_whole(path, force=force, mode="w")) for path in paths]

        def write(result: Result, title: str, origin: Origin | None = None) -> None:
            # Each takes a while to load, and most runs write none of them.
            if files[0]:
                from embaudit.report.schemas import record

                dump(record(result), files[0], indent=1, ensure_ascii=False, allow_nan=False)
                files[0].write("\n")
            if files[1]:
                from embaudit.report.page import page

                files[1].write(page(result, title, origin))
            if files[2]:
                from embaudit.report.gate.comment import comment

                files[2].write(comment(result, title, origin))

        yield write


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
